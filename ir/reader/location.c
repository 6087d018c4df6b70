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
