/* Copying spans of the text into what MLIR 19 reads, and the aliases that copies expand (scan.h).
 *
 * A copy drops comments, expands `#a` and `!a`, and hides what MLIR 19 does not know (newer element types,
 * hex constants, attributes that name either) under the reader's own dialect name. attribute.c reveals
 * it again. Never changes a name, a string or a number. */
#include "ir/reader/characters.h"

#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- aliases */
static uint64_t name_hash(const struct scan *scan, struct span name)
{
    return hash_bytes(scan->text + name.at, name.end - name.at, 1);
}

static bool same_name(const struct scan *scan, struct span span, struct span other_span)
{
    return span.end - span.at == other_span.end - other_span.at &&
           memcmp(scan->text + span.at, scan->text + other_span.at, span.end - span.at) == 0;
}

struct alias *scan_alias(struct scan *scan, struct span name)
{
    if (!scan->alias_slots.count)
        return NULL;
    size_t mask = scan->alias_slots.count - 1;
    for (size_t i = name_hash(scan, name) & mask; scan->alias_slots.at[i]; i = (i + 1) & mask)
        if (same_name(scan, scan->aliases.at[scan->alias_slots.at[i] - 1].name, name))
            return &scan->aliases.at[scan->alias_slots.at[i] - 1];
    return NULL;
}

static void alias_add(struct scan *scan, struct alias alias)
{
    VEC_PUSH(&scan->aliases, alias);
    if (scan->aliases.count * 2 >= scan->alias_slots.count) {
        size_t room = scan->alias_slots.count ? scan->alias_slots.count * 2 : 64;
        free(scan->alias_slots.at);
        scan->alias_slots.at = mem_zalloc(room, sizeof *scan->alias_slots.at);
        scan->alias_slots.count = scan->alias_slots.room = room;
        for (size_t k = 0; k + 1 < scan->aliases.count; k++) {
            size_t i = name_hash(scan, scan->aliases.at[k].name) & (room - 1);
            while (scan->alias_slots.at[i])
                i = (i + 1) & (room - 1);
            scan->alias_slots.at[i] = (uint32_t)k + 1;
        }
    }
    size_t i = name_hash(scan, alias.name) & (scan->alias_slots.count - 1);
    while (scan->alias_slots.at[i])
        i = (i + 1) & (scan->alias_slots.count - 1);
    scan->alias_slots.at[i] = (uint32_t)scan->aliases.count;
}

void scan_define_alias(struct scan *scan)
{
    struct alias alias = {.name = {scan->at, 0}};
    bool is_type = scan->text[scan->at] == '!';
    scan->at++;
    dotted_name(scan);
    alias.name.end = scan->at;
    if (alias.name.end == alias.name.at + 1 ||
        memchr(scan->text + alias.name.at, '.', alias.name.end - alias.name.at))
        scan_fail(scan, ERROR_INVALID_MODULE, alias.name.at, "expected the name of an alias, without dots");
    if (scan_alias(scan, alias.name))
        scan_fail(scan, ERROR_INVALID_MODULE, alias.name.at, "redefinition of alias '%.*s'",
                  (int)(alias.name.end - alias.name.at < 60 ? alias.name.end - alias.name.at : 60),
                  scan->text + alias.name.at);
    scan_expect(scan, "=");
    uint32_t loc = is_type ? 0 : scan_loc(scan);
    if (loc) {
        alias.is_location = true;
        alias.source = (struct span){loc, scan->at};
    } else {
        struct span type = {0, 0}, value = is_type ? scan_type(scan) : scan_attr(scan, &type);
        struct text expanded = {0};
        scan_copy(scan, &expanded, value);
        alias.text = scan->aliases_text.size;
        alias.size = expanded.size;
        text_add_n(&scan->aliases_text, expanded.at, expanded.size);
        expanded.size = 0;
        if (type.end) {
            scan_copy(scan, &expanded, type);
            alias.type = scan->aliases_text.size;
            alias.type_size = expanded.size;
            text_add_n(&scan->aliases_text, expanded.at, expanded.size);
        }
        text_release(&expanded);
    }
    alias_add(scan, alias);
}

uint32_t scan_loc(struct scan *scan)
{
    struct span word = scan_word(scan);
    if (word.end - word.at == 3 && memcmp(scan->text + word.at, "loc", 3) == 0 && scan_peek(scan) == '(') {
        scan_balanced(scan);
        return word.at;
    }
    scan->at = word.at;
    return 0;
}

/* ---------------------------------------------------------------- copies */
void scan_write(struct scan *scan, const char *text)
{
    text_add(&scan->out, text);
}

enum { ALIAS_GROWTH = 8, ALIAS_GROWTH_FREE = 1 << 20 };

/* Aliases of aliases can double the text at every step. Honest text does not grow eightfold; small
 * texts may grow by a MiB. */
static void check_growth(struct scan *scan, uint32_t at, const struct text *to)
{
    if (to->size > (size_t)scan->size * ALIAS_GROWTH + ALIAS_GROWTH_FREE)
        scan_fail(scan, ERROR_MODULE_TOO_LARGE, at,
                  "the aliases of this text expand to more than eight times its size");
}

static bool is_alien(const char *word, size_t size)
{
    static const char *const names[] = {"f4E2M1FN", "f6E2M3FN", "f6E3M2FN", "f8E3M4", "f8E8M0FNU"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (size == strlen(names[i]) && memcmp(word, names[i], size) == 0)
            return true;
    return false;
}

static bool names_alien(const struct scan *scan, struct span type)
{
    for (uint32_t i = type.at; i < type.end; i++) {
        uint32_t end = i;
        while (end < type.end && is_a(scan->text[end], NAME))
            end++;
        if (end == i)
            continue;
        for (uint32_t k = i; k < end; k++)
            if (scan->text[k] == 'f' && is_alien(scan->text + k, end - k))
                return true;
        i = end;
    }
    return false;
}

/* At `dense` or `dense_resource`: constants that MLIR 19 must not see. Returns where to go on, or 0. */
static uint32_t copy_constant(struct scan *scan, struct text *to, struct span word, uint32_t end)
{
    bool resource = scan_is(scan, word, "dense_resource");
    uint32_t keep = scan->at, next = 0;
    if ((!resource && !scan_is(scan, word, "dense")) || word.end >= end || scan->text[word.end] != '<')
        return 0;
    bool hex = !resource && end - word.end > 4 && memcmp(scan->text + word.end, "<\"0x", 4) == 0;
    if (!hex && !resource && !scan->has_alien)
        return 0;
    scan->at = word.end;
    struct span body = scan_balanced(scan);
    if (scan_peek(scan) == ':' && look(scan, 1) != ':') {
        scan->at++;
        struct span type = scan_type(scan);
        char head[80];
        if (hex) {
            struct hex_place hex_place = {{body.at + 4, body.end - 2}};
            if (scan->text[body.end - 2] != '"')
                scan_fail(scan, ERROR_INVALID_MODULE, body.at, "expected one hex string in this constant");
            VEC_PUSH(&scan->hexes, hex_place);
            snprintf(head, sizeof head, "#" READER_DIALECT ".hex<%zu : ", scan->hexes.count - 1);
            text_add(to, head);
            scan_copy(scan, to, type);
            text_add_char(to, '>');
            next = type.end;
        } else if (resource || names_alien(scan, type)) {
            text_add(to, "#" READER_DIALECT ".text<");
            text_add_n(to, scan->text + word.at, type.end - word.at);
            text_add_char(to, '>');
            next = type.end;
        }
    }
    scan->at = keep;
    return next;
}

/* `#a` or `!a`: expands an alias; returns where to go on, 0 when it is a dialect's own name */
static uint32_t copy_alias(struct scan *scan, struct text *to, uint32_t at, uint32_t end)
{
    struct span name = {at, at + 1};
    if (name.end >= end || !is_a(scan->text[name.end], LETTER))
        return 0;
    bool dotted = false;
    while (name.end < end && is_a(scan->text[name.end], NAME))
        dotted |= scan->text[name.end++] == '.';
    size_t own = strlen(READER_DIALECT);
    if (name.end - at > own && memcmp(scan->text + at + 1, READER_DIALECT, own) == 0)
        scan_fail(scan, ERROR_INVALID_MODULE, at,
                  "'" READER_DIALECT "' is the reader's own name and stands in no module");
    if (dotted || (name.end < end && scan->text[name.end] == '<'))
        return 0;
    struct alias *alias = scan_alias(scan, name);
    if (!alias)
        scan_fail(scan, ERROR_INVALID_MODULE, at, "alias '%.*s' is not defined before this use",
                  (int)(name.end - at < 60 ? name.end - at : 60), scan->text + at);
    if (alias->is_location) {
        text_add(to, "unknown");
        return name.end;
    }
    text_add_n(to, scan->aliases_text.at + alias->text, alias->size);
    check_growth(scan, at, to);
    return name.end;
}

void scan_copy(struct scan *scan, struct text *to, struct span from)
{
    if (scan->tracing && (to == &scan->out || to == &scan->attrs)) {
        struct trace trace = {to->size, from.at, from.end - from.at};
        if (to == &scan->out)
            VEC_PUSH(&scan->traces, trace);
        else
            VEC_PUSH(&scan->attr_traces, trace);
    }
    uint32_t i = from.at,
             kept = from.at; /* text[kept..i) is to be copied unchanged, at the next change or at the end */
    while (i < from.end) {
        char character = scan->text[i];
        uint32_t next = 0, start = i;
        if (is_a(character, LETTER | DIGIT)) {
            struct span word = {i, i};
            while (word.end < from.end && is_a(scan->text[word.end], NAME))
                word.end++;
            i = word.end;
            if (character == 'd') {
                text_add_n(to, scan->text + kept, start - kept);
                kept = start;
                next = copy_constant(scan, to, word, from.end);
            } else if (scan->has_alien) {
                for (uint32_t k = word.at; k < word.end; k++)
                    if (scan->text[k] == 'f' && is_alien(scan->text + k, word.end - k)) {
                        text_add_n(to, scan->text + kept, k - kept);
                        text_add(to, "!" READER_DIALECT ".");
                        kept = k;
                        break;
                    }
            }
        } else if (character == '@' ||
                   character == '%') { /* a name, also when it looks like a type that is hidden elsewhere */
            for (i++; i < from.end && is_a(scan->text[i], VALUE);)
                i++;
        } else if (character == '#' || character == '!') {
            text_add_n(to, scan->text + kept, i - kept);
            kept = i++;
            next = copy_alias(scan, to, start, from.end);
        } else if (character == '"') {
            for (i++; i < from.end && scan->text[i] != '"'; i++)
                i += scan->text[i] == '\\';
            i++;
        } else if (character == '/' && i + 1 < from.end && scan->text[i + 1] == '/') {
            text_add_n(to, scan->text + kept, i - kept);
            next = comment_end(scan, i);
        } else {
            i++;
        }
        if (next)
            i = kept = next < from.end ? next : from.end;
    }
    text_add_n(to, scan->text + kept, from.end - kept);
}
