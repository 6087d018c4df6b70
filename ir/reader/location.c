/* `loc(..)` -> what an op or an argument says of where it comes from: as a short text for people, and whole,
 * as locations of the program, for whoever reads what is written of it. The short text:
 *
 *     loc("a.py":3:5)             "a.py:3"
 *     loc("name"(X))              for an op the text of X, for an argument "name"
 *     loc(callsite(X at Y))       X
 *     loc(fused<..>[X, ..])       the first that says something
 *     loc("a.py":3:5 to 3:9)      the start of the range
 *
 * What is not understood says nothing: a location never refuses a text that MLIR accepts. */
#include "ir/reader/walk.h"

#include <stdlib.h>
#include <string.h>

/* Locations nest by inlining and transformations; what lies deeper than this says nothing. */
enum { LOCATION_DEPTH = 64 };

struct resolve {
    struct scan *scan;
    struct text *out;
    bool name_first;
};

static bool location(struct resolve *resolve, unsigned depth);

/* `"x"` then `:3:5`, `(X)` or nothing */
static bool named(struct resolve *resolve, unsigned depth)
{
    struct scan *scan = resolve->scan;
    struct span name = scan_string(scan), text = {name.at + 1, name.end - 1};
    if (scan_accept(scan, ":")) {
        struct span line = scan_integer(scan);
        text_add_n(resolve->out, scan->text + text.at, text.end - text.at);
        text_add_char(resolve->out, ':');
        text_add_n(resolve->out, scan->text + line.at, line.end - line.at);
        if (scan_accept(scan, ":"))
            scan_integer(scan);
        return true;
    }
    if (scan_peek(scan) == '(') {
        uint32_t inner = scan->at + 1;
        struct span body = scan_balanced(scan);
        if (!resolve->name_first) {
            scan->at = inner;
            bool found = location(resolve, depth + 1);
            scan->at = body.end;
            if (found)
                return true;
        }
    }
    text_add_n(resolve->out, scan->text + text.at, text.end - text.at);
    return text.end > text.at;
}

static bool aliased(struct resolve *resolve, unsigned depth)
{
    struct scan *scan = resolve->scan;
    struct span name = {scan->at++, 0};
    name.end = scan_word(scan).end;
    struct alias *alias = scan_alias(scan, name);
    uint32_t after = scan->at;
    bool found = false;
    if (alias && alias->is_location) {
        scan->at = alias->source.at + 3;
        scan_expect(scan, "(");
        found = location(resolve, depth + 1);
    }
    scan->at = after;
    return found;
}

/* the X of `loc(X)`; s->at is moved behind what was understood */
static bool location(struct resolve *resolve, unsigned depth)
{
    struct scan *scan = resolve->scan;
    char character = scan_peek(scan);
    if (depth > LOCATION_DEPTH)
        return false;
    if (character == '"')
        return named(resolve, depth);
    if (character == '#')
        return aliased(resolve, depth);
    struct span word = scan_word(scan);
    if (scan_is(scan, word, "callsite") && scan_accept(scan, "("))
        return location(resolve, depth + 1);
    if (!scan_is(scan, word, "fused"))
        return false;
    if (scan_peek(scan) == '<')
        scan_balanced(scan);
    if (!scan_accept(scan, "["))
        return false;
    do {
        uint32_t item = scan->at;
        if (location(resolve, depth + 1))
            return true;
        scan->at = item; /* what was not understood is skipped as a whole */
        scan_attr(scan, NULL);
    } while (scan_accept(scan, ","));
    return false;
}

bool location_resolve(struct scan *scan, uint32_t loc, bool name_first, struct text *out)
{
    struct resolve resolve = {scan, out, name_first};
    out->size = 0;
    scan->at = loc + 3;
    scan_expect(scan, "(");
    return location(&resolve, 0);
}

/* ---------------------------------------------------------------- the whole location */
/* What is under way; a part deeper than IR_LOCATION_DEPTH, inline or by alias, is unknown. */
struct whole {
    struct scan *scan;
    struct ir_builder *builder;
    unsigned depth; /* of the part that is being read */
    unsigned below; /* how deep what was read last nests */
};

typedef VEC(uint32_t) part_list;

static uint32_t read_part(struct whole *whole);

/* behind the item of a list that was not understood: before its comma or bracket */
static void skip_item(struct scan *scan)
{
    for (char next = scan_peek(scan); next && next != ',' && !strchr(")]}>", next); next = scan_peek(scan))
        if (next == '"')
            scan_string(scan);
        else if (strchr("([{<", next))
            scan_balanced(scan);
        else
            scan->at++;
}

/* parts until `end`, which is taken; between them `between` */
static void read_parts(struct whole *whole, part_list *parts, const char *between, const char *end)
{
    unsigned below = 0;
    whole->depth++;
    do {
        VEC_PUSH(parts, read_part(whole));
        below = whole->below > below ? whole->below : below;
        skip_item(whole->scan);
    } while (between[0] == ',' ? scan_accept(whole->scan, between) : false);
    scan_accept(whole->scan, end);
    whole->depth--;
    whole->below = below + 1;
}

static uint32_t number(struct scan *scan)
{
    uint64_t value = 0;
    if (scan_peek(scan) < '0' || scan_peek(scan) > '9')
        return 0;
    struct span digits = scan_integer(scan);
    for (uint32_t i = digits.at; i < digits.end && value <= INT32_MAX; i++)
        value = value * 10 + (uint64_t)(scan->text[i] - '0');
    return value <= INT32_MAX ? (uint32_t)value : 0;
}

/* behind `"file":`: `3:5`, and maybe `to :9` or `to 4:9` */
static void read_range(struct scan *scan, struct ir_location *file)
{
    file->kind = IR_LOCATION_FILE;
    file->line = number(scan);
    if (scan_accept(scan, ":"))
        file->column = number(scan);
    if (!scan_accept_word(scan, "to"))
        return;
    file->end_line = scan_peek(scan) == ':' ? file->line : number(scan);
    if (scan_accept(scan, ":"))
        file->end_column = number(scan);
}

static uint32_t read_named(struct whole *whole)
{
    struct scan *scan = whole->scan;
    struct span name = scan_string(scan);
    struct ir_location location = {.kind = IR_LOCATION_NAME};
    part_list parts = {0};
    location.text = ir_build_string(whole->builder, scan->text + name.at + 1, name.end - name.at - 2);
    whole->below = 0;
    if (scan_accept(scan, ":"))
        read_range(scan, &location);
    else if (scan_accept(scan, "("))
        read_parts(whole, &parts, "", ")");
    if (parts.count && !parts.at[0])
        parts.count = 0;
    uint32_t made = ir_build_location(whole->builder, &location, parts.at, (uint32_t)parts.count);
    VEC_FREE(&parts);
    return made;
}

static uint32_t read_alias(struct whole *whole)
{
    struct span name = {whole->scan->at++, 0};
    name.end = scan_word(whole->scan).end;
    struct alias *alias = scan_alias(whole->scan, name);
    bool fits = alias && alias->is_location && whole->depth + alias->location_depth < IR_LOCATION_DEPTH;
    whole->below = fits ? alias->location_depth : 0;
    return fits ? alias->location : 0;
}

/* `callsite(X at Y)`; where only one of the two says something, that */
static uint32_t read_callsite(struct whole *whole)
{
    struct ir_location site = {.kind = IR_LOCATION_CALLSITE, .text = IR_NONE};
    uint32_t parts[2] = {0, 0};
    unsigned below = 0;
    whole->depth++;
    if (scan_accept(whole->scan, "(")) {
        parts[0] = read_part(whole);
        below = whole->below;
        if (scan_accept_word(whole->scan, "at"))
            parts[1] = read_part(whole);
        skip_item(whole->scan);
        scan_accept(whole->scan, ")");
    }
    whole->depth--;
    whole->below = (whole->below > below ? whole->below : below) + 1;
    return parts[0] && parts[1] ? ir_build_location(whole->builder, &site, parts, 2)
                                : parts[parts[0] ? 0 : 1];
}

/* `fused<metadata>[X, ..]`. Metadata that names an alias is left out: the alias is not written again. */
static uint32_t read_fused(struct whole *whole)
{
    struct scan *scan = whole->scan;
    struct ir_location fused = {.kind = IR_LOCATION_FUSED, .text = IR_NONE};
    part_list parts = {0};
    if (scan_peek(scan) == '<') {
        struct span metadata = scan_balanced(scan);
        size_t size = metadata.end - metadata.at - 2;
        const char *text = scan->text + metadata.at + 1;
        if (!memchr(text, '#', size) && !memchr(text, '!', size) && !memchr(text, '\n', size))
            fused.text = ir_build_string(whole->builder, text, size);
    }
    whole->below = 0;
    if (scan_accept(scan, "["))
        read_parts(whole, &parts, ",", "]");
    size_t kept = 0;
    for (size_t i = 0; i < parts.count; i++)
        if (parts.at[i])
            parts.at[kept++] = parts.at[i];
    parts.count = kept;
    uint32_t made = !kept ? 0 : ir_build_location(whole->builder, &fused, parts.at, (uint32_t)parts.count);
    VEC_FREE(&parts);
    return made;
}

/* the X of `loc(X)`; 0 where it says nothing or is not understood, scan->at is then within it or behind */
static uint32_t read_part(struct whole *whole)
{
    struct scan *scan = whole->scan;
    char character = scan_peek(scan);
    whole->below = 0;
    if (whole->depth >= IR_LOCATION_DEPTH) {
        skip_item(scan);
        return 0;
    }
    if (character == '"')
        return read_named(whole);
    if (character == '#')
        return read_alias(whole);
    struct span word = scan_word(scan);
    if (scan_is(scan, word, "callsite"))
        return read_callsite(whole);
    if (scan_is(scan, word, "fused"))
        return read_fused(whole);
    return 0;
}

static uint32_t read_whole(struct whole *whole, uint32_t loc)
{
    whole->scan->at = loc + 3;
    whole->depth = 0;
    scan_expect(whole->scan, "(");
    return read_part(whole);
}

uint32_t location_whole(struct scan *scan, struct ir_builder *builder, uint32_t loc)
{
    struct whole whole = {.scan = scan, .builder = builder};
    return read_whole(&whole, loc);
}

void location_aliases(struct scan *scan, struct ir_builder *builder)
{
    struct whole whole = {.scan = scan, .builder = builder};
    for (size_t i = 0; i < scan->aliases.count; i++) {
        struct alias *alias = &scan->aliases.at[i];
        if (!alias->is_location)
            continue;
        alias->location = read_whole(&whole, alias->source.at);
        alias->location_depth = whole.below;
    }
}
