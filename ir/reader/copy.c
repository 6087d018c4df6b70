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
static uint64_t name_hash(const struct scan *s, struct span name)
{
    return hash_bytes(s->text + name.at, name.end - name.at, 1);
}

static bool same_name(const struct scan *s, struct span a, struct span b)
{
    return a.end - a.at == b.end - b.at && memcmp(s->text + a.at, s->text + b.at, a.end - a.at) == 0;
}

struct alias *scan_alias(struct scan *s, struct span name)
{
    if (!s->alias_slots.count)
        return NULL;
    size_t mask = s->alias_slots.count - 1;
    for (size_t i = name_hash(s, name) & mask; s->alias_slots.at[i]; i = (i + 1) & mask)
        if (same_name(s, s->aliases.at[s->alias_slots.at[i] - 1].name, name))
            return &s->aliases.at[s->alias_slots.at[i] - 1];
    return NULL;
}

static void alias_add(struct scan *s, struct alias a)
{
    VEC_PUSH(&s->aliases, a);
    if (s->aliases.count * 2 >= s->alias_slots.count) {
        size_t room = s->alias_slots.count ? s->alias_slots.count * 2 : 64;
        free(s->alias_slots.at);
        s->alias_slots.at = mem_zalloc(room, sizeof *s->alias_slots.at);
        s->alias_slots.count = s->alias_slots.room = room;
        for (size_t k = 0; k + 1 < s->aliases.count; k++) {
            size_t i = name_hash(s, s->aliases.at[k].name) & (room - 1);
            while (s->alias_slots.at[i])
                i = (i + 1) & (room - 1);
            s->alias_slots.at[i] = (uint32_t)k + 1;
        }
    }
    size_t i = name_hash(s, a.name) & (s->alias_slots.count - 1);
    while (s->alias_slots.at[i])
        i = (i + 1) & (s->alias_slots.count - 1);
    s->alias_slots.at[i] = (uint32_t)s->aliases.count;
}

void scan_define_alias(struct scan *s)
{
    struct alias a = {.name = {s->at, 0}};
    bool is_type = s->text[s->at] == '!';
    s->at++;
    dotted_name(s);
    a.name.end = s->at;
    if (a.name.end == a.name.at + 1 || memchr(s->text + a.name.at, '.', a.name.end - a.name.at))
        scan_fail(s, ERROR_INVALID_MODULE, a.name.at, "expected the name of an alias, without dots");
    if (scan_alias(s, a.name))
        scan_fail(s, ERROR_INVALID_MODULE, a.name.at, "redefinition of alias '%.*s'",
                  (int)(a.name.end - a.name.at < 60 ? a.name.end - a.name.at : 60), s->text + a.name.at);
    scan_expect(s, "=");
    uint32_t loc = is_type ? 0 : scan_loc(s);
    if (loc) {
        a.is_location = true;
        a.source = (struct span){loc, s->at};
    } else {
        struct span type = {0, 0}, value = is_type ? scan_type(s) : scan_attr(s, &type);
        struct text expanded = {0};
        scan_copy(s, &expanded, value);
        a.text = s->aliases_text.size;
        a.size = expanded.size;
        text_add_n(&s->aliases_text, expanded.at, expanded.size);
        expanded.size = 0;
        if (type.end) {
            scan_copy(s, &expanded, type);
            a.type = s->aliases_text.size;
            a.type_size = expanded.size;
            text_add_n(&s->aliases_text, expanded.at, expanded.size);
        }
        text_release(&expanded);
    }
    alias_add(s, a);
}

uint32_t scan_loc(struct scan *s)
{
    struct span w = scan_word(s);
    if (w.end - w.at == 3 && memcmp(s->text + w.at, "loc", 3) == 0 && scan_peek(s) == '(') {
        scan_balanced(s);
        return w.at;
    }
    s->at = w.at;
    return 0;
}

/* ---------------------------------------------------------------- copies */
void scan_write(struct scan *s, const char *text)
{
    text_add(&s->out, text);
}

enum { ALIAS_GROWTH = 8, ALIAS_GROWTH_FREE = 1 << 20 };

/* Aliases of aliases can double the text at every step. Honest text does not grow eightfold; small
 * texts may grow by a MiB. */
static void check_growth(struct scan *s, uint32_t at, const struct text *to)
{
    if (to->size > (size_t)s->size * ALIAS_GROWTH + ALIAS_GROWTH_FREE)
        scan_fail(s, ERROR_MODULE_TOO_LARGE, at,
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

static bool names_alien(const struct scan *s, struct span type)
{
    for (uint32_t i = type.at; i < type.end; i++) {
        uint32_t end = i;
        while (end < type.end && is_a(s->text[end], NAME))
            end++;
        if (end == i)
            continue;
        for (uint32_t k = i; k < end; k++)
            if (s->text[k] == 'f' && is_alien(s->text + k, end - k))
                return true;
        i = end;
    }
    return false;
}

/* At `dense` or `dense_resource`: constants that MLIR 19 must not see. Returns where to go on, or 0. */
static uint32_t copy_constant(struct scan *s, struct text *to, struct span word, uint32_t end)
{
    bool resource = scan_is(s, word, "dense_resource");
    uint32_t keep = s->at, next = 0;
    if ((!resource && !scan_is(s, word, "dense")) || word.end >= end || s->text[word.end] != '<')
        return 0;
    bool hex = !resource && end - word.end > 4 && memcmp(s->text + word.end, "<\"0x", 4) == 0;
    if (!hex && !resource && !s->has_alien)
        return 0;
    s->at = word.end;
    struct span body = scan_balanced(s);
    if (scan_peek(s) == ':' && look(s, 1) != ':') {
        s->at++;
        struct span type = scan_type(s);
        char head[80];
        if (hex) {
            struct hex_place h = {{body.at + 4, body.end - 2}};
            if (s->text[body.end - 2] != '"')
                scan_fail(s, ERROR_INVALID_MODULE, body.at, "expected one hex string in this constant");
            VEC_PUSH(&s->hexes, h);
            snprintf(head, sizeof head, "#" READER_DIALECT ".hex<%zu : ", s->hexes.count - 1);
            text_add(to, head);
            scan_copy(s, to, type);
            text_add_char(to, '>');
            next = type.end;
        } else if (resource || names_alien(s, type)) {
            text_add(to, "#" READER_DIALECT ".text<");
            text_add_n(to, s->text + word.at, type.end - word.at);
            text_add_char(to, '>');
            next = type.end;
        }
    }
    s->at = keep;
    return next;
}

/* `#a` or `!a`: expands an alias; returns where to go on, 0 when it is a dialect's own name */
static uint32_t copy_alias(struct scan *s, struct text *to, uint32_t at, uint32_t end)
{
    struct span name = {at, at + 1};
    if (name.end >= end || !is_a(s->text[name.end], LETTER))
        return 0;
    bool dotted = false;
    while (name.end < end && is_a(s->text[name.end], NAME))
        dotted |= s->text[name.end++] == '.';
    size_t own = strlen(READER_DIALECT);
    if (name.end - at > own && memcmp(s->text + at + 1, READER_DIALECT, own) == 0)
        scan_fail(s, ERROR_INVALID_MODULE, at,
                  "'" READER_DIALECT "' is the reader's own name and stands in no module");
    if (dotted || (name.end < end && s->text[name.end] == '<'))
        return 0;
    struct alias *a = scan_alias(s, name);
    if (!a)
        scan_fail(s, ERROR_INVALID_MODULE, at, "alias '%.*s' is not defined before this use",
                  (int)(name.end - at < 60 ? name.end - at : 60), s->text + at);
    if (a->is_location) {
        text_add(to, "unknown");
        return name.end;
    }
    text_add_n(to, s->aliases_text.at + a->text, a->size);
    check_growth(s, at, to);
    return name.end;
}

void scan_copy(struct scan *s, struct text *to, struct span from)
{
    if (s->tracing && (to == &s->out || to == &s->attrs)) {
        struct trace t = {to->size, from.at, from.end - from.at};
        if (to == &s->out)
            VEC_PUSH(&s->traces, t);
        else
            VEC_PUSH(&s->attr_traces, t);
    }
    uint32_t i = from.at,
             kept = from.at; /* text[kept..i) is to be copied unchanged, at the next change or at the end */
    while (i < from.end) {
        char c = s->text[i];
        uint32_t next = 0, start = i;
        if (is_a(c, LETTER | DIGIT)) {
            struct span word = {i, i};
            while (word.end < from.end && is_a(s->text[word.end], NAME))
                word.end++;
            i = word.end;
            if (c == 'd') {
                text_add_n(to, s->text + kept, start - kept);
                kept = start;
                next = copy_constant(s, to, word, from.end);
            } else if (s->has_alien) {
                for (uint32_t k = word.at; k < word.end; k++)
                    if (s->text[k] == 'f' && is_alien(s->text + k, word.end - k)) {
                        text_add_n(to, s->text + kept, k - kept);
                        text_add(to, "!" READER_DIALECT ".");
                        kept = k;
                        break;
                    }
            }
        } else if (c == '@' ||
                   c == '%') { /* a name, also when it looks like a type that is hidden elsewhere */
            for (i++; i < from.end && is_a(s->text[i], VALUE);)
                i++;
        } else if (c == '#' || c == '!') {
            text_add_n(to, s->text + kept, i - kept);
            kept = i++;
            next = copy_alias(s, to, start, from.end);
        } else if (c == '"') {
            for (i++; i < from.end && s->text[i] != '"'; i++)
                i += s->text[i] == '\\';
            i++;
        } else if (c == '/' && i + 1 < from.end && s->text[i + 1] == '/') {
            text_add_n(to, s->text + kept, i - kept);
            next = comment_end(s, i);
        } else {
            i++;
        }
        if (next)
            i = kept = next < from.end ? next : from.end;
    }
    text_add_n(to, s->text + kept, from.end - kept);
}
