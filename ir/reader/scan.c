/* Tokens, balanced skips, positions and errors (scan.h). Reads the text only forwards, never beyond its
 * size, and never writes to it. */
#include "ir/reader/characters.h"

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

/* No program has names of 64 KiB; a hostile text's would stand in every message and table. */
static void check_name(struct scan *s, struct span name)
{
    if (name.end - name.at > SCAN_NAME)
        scan_fail(s, ERROR_INVALID_MODULE, name.at, "a name of %u characters; the longest allowed has %d",
                  name.end - name.at, SCAN_NAME);
}

/* ---------------------------------------------------------------- tokens */
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
    scan_fail(s, ERROR_INVALID_MODULE, s->at, "nesting deeper than %d; no such module is planned",
              SCAN_DEPTH);
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
            scan_fail(s, ERROR_INVALID_MODULE, v.at, "this '%c' is not closed: the text ends first",
                      s->text[v.at]);
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
