#include "ir/reader/scan.h"

#include "base/hash.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- positions and errors */
void scan_position(const struct scan *s, uint32_t at, int *line, int *column)
{
    uint32_t start = 0;
    *line = 1;
    for (uint32_t i = 0; i < at && i < s->size; i++)
        if (s->text[i] == '\n') {
            ++*line;
            start = i + 1;
        }
    *column = (int)(at - start) + 1;
}

void scan_fail(struct scan *s, enum error_code code, uint32_t at, const char *format, ...)
{
    char message[700];
    int line, column;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    scan_position(s, at, &line, &column);
    (void)!error_set_at(s->error, code, line, column, "%s", message);
    longjmp(s->escape, 1);
}

const char *scan_quote(const struct scan *s, uint32_t at, char out[64])
{
    size_t n = 0;
    if (at >= s->size)
        return strcpy(out, "the end of the text");
    out[n++] = '\'';
    for (; at < s->size && n < 44; at++) {
        char c = s->text[at];
        if (c == '\n' || c == '\r')
            break;
        out[n++] = c >= 0x20 && c < 0x7f ? c : '?';
        if (n > 8 && (c == ' ' || c == ','))
            break;
    }
    out[n++] = '\'';
    out[n] = 0;
    return out;
}

static void unexpected(struct scan *s, const char *wanted) __attribute__((noreturn));
static void unexpected(struct scan *s, const char *wanted)
{
    char found[64];
    scan_blank(s);
    scan_fail(s, ERROR_INVALID_MODULE, s->at, "expected %s, found %s", wanted, scan_quote(s, s->at, found));
}

/* Names of megabytes are nobody's program, but they would stand in every message and table. */
static void check_name(struct scan *s, struct span name)
{
    if (name.end - name.at > SCAN_NAME)
        scan_fail(s, ERROR_INVALID_MODULE, name.at, "a name of %u characters; the longest allowed has %d",
                  name.end - name.at, SCAN_NAME);
}

/* ---------------------------------------------------------------- tokens */
enum { BLANK = 1, LETTER = 2, DIGIT = 4, NAME = 8, OPEN = 16, CLOSE = 32, VALUE = 64 };
static const unsigned char classes[256] = {
    [' '] = BLANK, ['\t'] = BLANK, ['\n'] = BLANK, ['\r'] = BLANK,
    ['a' ... 'z'] = LETTER | NAME | VALUE, ['A' ... 'Z'] = LETTER | NAME | VALUE, ['_'] = LETTER | NAME | VALUE,
    ['0' ... '9'] = DIGIT | NAME | VALUE, ['$'] = NAME | VALUE, ['.'] = NAME | VALUE, ['-'] = VALUE,
    ['('] = OPEN, ['['] = OPEN, ['{'] = OPEN, ['<'] = OPEN,
    [')'] = CLOSE, [']'] = CLOSE, ['}'] = CLOSE, ['>'] = CLOSE,
};
static inline bool is_a(char c, unsigned kind)
{
    return classes[(unsigned char)c] & kind;
}

static inline char look(const struct scan *s, uint32_t ahead)
{
    return s->at + ahead < s->size ? s->text[s->at + ahead] : 0;
}

static uint32_t comment_end(const struct scan *s, uint32_t at)
{
    const char *newline = memchr(s->text + at, '\n', s->size - at);
    return newline ? (uint32_t)(newline - s->text) : s->size;
}

void scan_blank(struct scan *s)
{
    for (;;) {
        while (s->at < s->size && is_a(s->text[s->at], BLANK))
            s->at++;
        if (look(s, 0) != '/' || look(s, 1) != '/')
            return;
        s->at = comment_end(s, s->at);
    }
}

char scan_peek(struct scan *s)
{
    scan_blank(s);
    return look(s, 0);
}

bool scan_accept(struct scan *s, const char *punctuation)
{
    size_t n = strlen(punctuation);
    scan_blank(s);
    if (s->size - s->at < n || memcmp(s->text + s->at, punctuation, n) != 0)
        return false;
    s->at += (uint32_t)n;
    return true;
}

void scan_expect(struct scan *s, const char *punctuation)
{
    if (!scan_accept(s, punctuation)) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "'%s'", punctuation);
        unexpected(s, wanted);
    }
}

struct span scan_word(struct scan *s)
{
    scan_blank(s);
    struct span w = {s->at, s->at};
    if (is_a(look(s, 0), LETTER))
        while (s->at < s->size && is_a(s->text[s->at], NAME))
            s->at++;
    w.end = s->at;
    check_name(s, w);
    return w;
}

bool scan_is(const struct scan *s, struct span w, const char *word)
{
    size_t n = strlen(word);
    return w.end - w.at == n && memcmp(s->text + w.at, word, n) == 0;
}

bool scan_accept_word(struct scan *s, const char *word)
{
    struct span w = scan_word(s);
    if (scan_is(s, w, word))
        return true;
    s->at = w.at;
    return false;
}

void scan_expect_word(struct scan *s, const char *word)
{
    if (!scan_accept_word(s, word)) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "'%s'", word);
        unexpected(s, wanted);
    }
}

struct span scan_value(struct scan *s)
{
    if (scan_peek(s) != '%' || !is_a(look(s, 1), VALUE))
        unexpected(s, "a value like '%0'");
    struct span v = {s->at++, 0};
    while (s->at < s->size && is_a(s->text[s->at], VALUE))
        s->at++;
    if (look(s, 0) == '#' && is_a(look(s, 1), DIGIT))
        for (s->at++; is_a(look(s, 0), DIGIT);)
            s->at++;
    v.end = s->at;
    check_name(s, v);
    return v;
}

struct span scan_string(struct scan *s)
{
    if (scan_peek(s) != '"')
        unexpected(s, "a string");
    struct span v = {s->at++, 0};
    for (; s->at < s->size && s->text[s->at] != '"'; s->at++) {
        if (s->text[s->at] == '\n')
            break;
        s->at += s->text[s->at] == '\\';
    }
    if (s->at >= s->size || s->text[s->at] != '"')
        scan_fail(s, ERROR_INVALID_MODULE, v.at, "this string is not closed on its line");
    v.end = ++s->at;
    return v;
}

struct span scan_symbol(struct scan *s)
{
    if (scan_peek(s) != '@')
        unexpected(s, "a symbol like '@main'");
    struct span v = {s->at, 0};
    for (;;) {
        s->at++;
        if (look(s, 0) == '"')
            scan_string(s);
        else if (is_a(look(s, 0), VALUE))
            while (s->at < s->size && is_a(s->text[s->at], VALUE))
                s->at++;
        else
            unexpected(s, "a name after '@'");
        v.end = s->at;
        check_name(s, v);
        if (look(s, 0) != ':' || look(s, 1) != ':' || look(s, 2) != '@')
            return v;
        s->at += 2;
    }
}

struct span scan_integer(struct scan *s)
{
    scan_blank(s);
    struct span v = {s->at, 0};
    if (look(s, 0) == '-')
        s->at++;
    if (!is_a(look(s, 0), DIGIT))
        unexpected(s, "an integer");
    while (is_a(look(s, 0), DIGIT))
        s->at++;
    v.end = s->at;
    return v;
}

/* ---------------------------------------------------------------- balanced skips */
static char closing(char open)
{
    return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : '>';
}

static void too_deep(struct scan *s) __attribute__((noreturn));
static void too_deep(struct scan *s)
{
    scan_fail(s, ERROR_INVALID_MODULE, s->at, "nesting deeper than %d; no such module is planned", SCAN_DEPTH);
}

void scan_enter(struct scan *s)
{
    if (++s->depth > SCAN_DEPTH)
        too_deep(s);
}

struct span scan_balanced(struct scan *s)
{
    char open[SCAN_DEPTH + 1];
    unsigned depth = 0;
    scan_blank(s);
    struct span v = {s->at, 0};
    do {
        if (s->at >= s->size)
            scan_fail(s, ERROR_INVALID_MODULE, v.at, "this '%c' is not closed: the text ends first", s->text[v.at]);
        char c = s->text[s->at];
        if (is_a(c, OPEN)) {
            if (s->depth + depth >= SCAN_DEPTH)
                too_deep(s);
            open[depth++] = c;
        } else if (is_a(c, CLOSE)) {
            if (c == '>' && (s->text[s->at - 1] == '-' || look(s, 1) == '=')) {
                s->at++; /* `->` and `>=` close nothing */
                continue;
            }
            if (!depth || closing(open[depth - 1]) != c)
                scan_fail(s, ERROR_INVALID_MODULE, s->at, "'%c' closes nothing; expected '%c'", c,
                          depth ? closing(open[depth - 1]) : ' ');
            depth--;
        } else if (c == '"') {
            scan_string(s);
            continue;
        } else if (c == '/' && look(s, 1) == '/') {
            s->at = comment_end(s, s->at);
            continue;
        }
        s->at++;
    } while (depth);
    v.end = s->at;
    return v;
}

static void dotted_name(struct scan *s)
{
    while (s->at < s->size && is_a(s->text[s->at], NAME))
        s->at++;
}

struct span scan_type(struct scan *s)
{
    char c = scan_peek(s);
    struct span v = {s->at, 0};
    if (c == '(') {
        scan_balanced(s);
        v.end = s->at;
        if (scan_accept(s, "->"))
            v.end = scan_type(s).end;
    } else if (c == '!' || is_a(c, LETTER)) {
        s->at++;
        dotted_name(s);
        v.end = s->at;
        if (look(s, 0) == '<') {
            scan_balanced(s);
            v.end = s->at;
        }
    } else {
        unexpected(s, "a type");
    }
    return v;
}

/* `: T` or, for function types, `-> T` behind a value */
static void value_tail(struct scan *s, struct span *v, struct span *type)
{
    v->end = s->at;
    if (scan_peek(s) == ':' && look(s, 1) != ':') {
        s->at++;
        *type = scan_type(s);
        v->end = type->end;
    } else if (look(s, 0) == '-' && look(s, 1) == '>') {
        s->at += 2;
        v->end = scan_type(s).end;
    }
    s->at = v->end;
}

struct span scan_attr(struct scan *s, struct span *type)
{
    struct span none;
    char c = scan_peek(s);
    struct span v = {s->at, s->at};
    if (!type)
        type = &none;
    *type = (struct span){0, 0};
    if (c == '@') {
        return scan_symbol(s);
    } else if (c == '"') {
        scan_string(s);
    } else if (c == '#' || c == '!' || is_a(c, LETTER)) {
        s->at++;
        dotted_name(s);
        for (char next = look(s, 0); next == '<' || next == '[' || next == '('; next = look(s, 0))
            scan_balanced(s);
    } else if (is_a(c, OPEN)) {
        scan_balanced(s);
    } else if (c == '-' || is_a(c, DIGIT)) {
        for (s->at++; is_a(look(s, 0), NAME) || ((look(s, 0) == '+' || look(s, 0) == '-') &&
                                                  (s->text[s->at - 1] == 'e' || s->text[s->at - 1] == 'E'));)
            s->at++;
    } else {
        unexpected(s, "an attribute");
    }
    value_tail(s, &v, type);
    return v;
}

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

/* Aliases of aliases can double at every step; honest text does not grow eightfold. */
static void check_growth(struct scan *s, uint32_t at, const struct text *to)
{
    if (to->size > (size_t)s->size * 8 + (1 << 20))
        scan_fail(s, ERROR_MODULE_TOO_LARGE, at, "the aliases of this text expand to more than eight times its size");
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
        scan_fail(s, ERROR_INVALID_MODULE, at, "'" READER_DIALECT "' is the reader's own name and stands in no module");
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
    uint32_t i = from.at, kept = from.at;   /* text[kept..i) waits to be copied as it is */
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
        } else if (c == '@' || c == '%') { /* names are kept, whatever they say */
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
