/* `loc(..)` -> what an op or an argument says of where it comes from, as a short text for people.
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
    struct scan *s;
    struct text *out;
    bool name_first;
};

static bool location(struct resolve *r, unsigned depth);

/* `"x"` then `:3:5`, `(X)` or nothing */
static bool named(struct resolve *r, unsigned depth)
{
    struct scan *s = r->s;
    struct span name = scan_string(s), text = {name.at + 1, name.end - 1};
    if (scan_accept(s, ":")) {
        struct span line = scan_integer(s);
        text_add_n(r->out, s->text + text.at, text.end - text.at);
        text_add_char(r->out, ':');
        text_add_n(r->out, s->text + line.at, line.end - line.at);
        if (scan_accept(s, ":"))
            scan_integer(s);
        return true;
    }
    if (scan_peek(s) == '(') {
        uint32_t inner = s->at + 1;
        struct span body = scan_balanced(s);
        if (!r->name_first) {
            s->at = inner;
            bool found = location(r, depth + 1);
            s->at = body.end;
            if (found)
                return true;
        }
    }
    text_add_n(r->out, s->text + text.at, text.end - text.at);
    return text.end > text.at;
}

static bool aliased(struct resolve *r, unsigned depth)
{
    struct scan *s = r->s;
    struct span name = {s->at++, 0};
    name.end = scan_word(s).end;
    struct alias *a = scan_alias(s, name);
    uint32_t after = s->at;
    bool found = false;
    if (a && a->is_location) {
        s->at = a->source.at + 3;
        scan_expect(s, "(");
        found = location(r, depth + 1);
    }
    s->at = after;
    return found;
}

/* the X of `loc(X)`; s->at is moved behind what was understood */
static bool location(struct resolve *r, unsigned depth)
{
    struct scan *s = r->s;
    char c = scan_peek(s);
    if (depth > LOCATION_DEPTH)
        return false;
    if (c == '"')
        return named(r, depth);
    if (c == '#')
        return aliased(r, depth);
    struct span word = scan_word(s);
    if (scan_is(s, word, "callsite") && scan_accept(s, "("))
        return location(r, depth + 1);
    if (!scan_is(s, word, "fused"))
        return false;
    if (scan_peek(s) == '<')
        scan_balanced(s);
    if (!scan_accept(s, "["))
        return false;
    do {
        uint32_t item = s->at;
        if (location(r, depth + 1))
            return true;
        s->at = item; /* what was not understood is skipped as a whole */
        scan_attr(s, NULL);
    } while (scan_accept(s, ","));
    return false;
}

bool location_resolve(struct scan *s, uint32_t loc, bool name_first, struct text *out)
{
    struct resolve r = {s, out, name_first};
    out->size = 0;
    s->at = loc + 3;
    scan_expect(s, "(");
    return location(&r, 0);
}
