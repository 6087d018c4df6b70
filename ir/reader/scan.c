/* Tokens, balanced skips, positions and errors (scan.h). Reads the text only forwards, never beyond its
 * size, and never writes to it. */
#include "ir/reader/characters.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- positions and errors */
void scan_position(const struct scan *scan, uint32_t at, int *line, int *column)
{
    uint32_t start = 0;
    *line = 1;
    for (uint32_t i = 0; i < at && i < scan->size; i++)
        if (scan->text[i] == '\n') {
            ++*line;
            start = i + 1;
        }
    *column = (int)(at - start) + 1;
}

void scan_fail(struct scan *scan, enum error_code code, uint32_t at, const char *format, ...)
{
    char message[700];
    int line, column;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    scan_position(scan, at, &line, &column);
    (void)!error_set_at(scan->error, code, line, column, "%s", message);
    longjmp(scan->escape, 1);
}

const char *scan_quote(const struct scan *scan, uint32_t at, char out[64])
{
    size_t n = 0;
    if (at >= scan->size)
        return strcpy(out, "the end of the text");
    out[n++] = '\'';
    for (; at < scan->size && n < 44; at++) {
        char character = scan->text[at];
        if (character == '\n' || character == '\r')
            break;
        out[n++] = character >= 0x20 && character < 0x7f ? character : '?';
        if (n > 8 && (character == ' ' || character == ','))
            break;
    }
    out[n++] = '\'';
    out[n] = 0;
    return out;
}

static void unexpected(struct scan *scan, const char *wanted) __attribute__((noreturn));
static void unexpected(struct scan *scan, const char *wanted)
{
    char found[64];
    scan_blank(scan);
    scan_fail(scan, ERROR_INVALID_MODULE, scan->at, "expected %s, found %s", wanted,
              scan_quote(scan, scan->at, found));
}

/* No program has names of 64 KiB; a hostile text's would stand in every message and table. */
static void check_name(struct scan *scan, struct span name)
{
    if (name.end - name.at > SCAN_NAME)
        scan_fail(scan, ERROR_INVALID_MODULE, name.at, "a name of %u characters; the longest allowed has %d",
                  name.end - name.at, SCAN_NAME);
}

/* ---------------------------------------------------------------- tokens */
void scan_blank(struct scan *scan)
{
    for (;;) {
        while (scan->at < scan->size && is_a(scan->text[scan->at], BLANK))
            scan->at++;
        if (look(scan, 0) != '/' || look(scan, 1) != '/')
            return;
        scan->at = comment_end(scan, scan->at);
    }
}

char scan_peek(struct scan *scan)
{
    scan_blank(scan);
    return look(scan, 0);
}

bool scan_accept(struct scan *scan, const char *punctuation)
{
    size_t n = strlen(punctuation);
    scan_blank(scan);
    if (scan->size - scan->at < n || memcmp(scan->text + scan->at, punctuation, n) != 0)
        return false;
    scan->at += (uint32_t)n;
    return true;
}

void scan_expect(struct scan *scan, const char *punctuation)
{
    if (!scan_accept(scan, punctuation)) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "'%s'", punctuation);
        unexpected(scan, wanted);
    }
}

struct span scan_word(struct scan *scan)
{
    scan_blank(scan);
    struct span word = {scan->at, scan->at};
    if (is_a(look(scan, 0), LETTER))
        while (scan->at < scan->size && is_a(scan->text[scan->at], NAME))
            scan->at++;
    word.end = scan->at;
    check_name(scan, word);
    return word;
}

bool scan_is(const struct scan *scan, struct span span, const char *word)
{
    size_t n = strlen(word);
    return span.end - span.at == n && memcmp(scan->text + span.at, word, n) == 0;
}

bool scan_accept_word(struct scan *scan, const char *word)
{
    struct span span = scan_word(scan);
    if (scan_is(scan, span, word))
        return true;
    scan->at = span.at;
    return false;
}

void scan_expect_word(struct scan *scan, const char *word)
{
    if (!scan_accept_word(scan, word)) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "'%s'", word);
        unexpected(scan, wanted);
    }
}

struct span scan_value(struct scan *scan)
{
    if (scan_peek(scan) != '%' || !is_a(look(scan, 1), VALUE))
        unexpected(scan, "a value like '%0'");
    struct span value = {scan->at++, 0};
    while (scan->at < scan->size && is_a(scan->text[scan->at], VALUE))
        scan->at++;
    if (look(scan, 0) == '#' && is_a(look(scan, 1), DIGIT))
        for (scan->at++; is_a(look(scan, 0), DIGIT);)
            scan->at++;
    value.end = scan->at;
    check_name(scan, value);
    return value;
}

struct span scan_string(struct scan *scan)
{
    if (scan_peek(scan) != '"')
        unexpected(scan, "a string");
    struct span value = {scan->at++, 0};
    for (; scan->at < scan->size && scan->text[scan->at] != '"'; scan->at++) {
        if (scan->text[scan->at] == '\n')
            break;
        scan->at += scan->text[scan->at] == '\\';
    }
    if (scan->at >= scan->size || scan->text[scan->at] != '"')
        scan_fail(scan, ERROR_INVALID_MODULE, value.at, "this string is not closed on its line");
    value.end = ++scan->at;
    return value;
}

struct span scan_symbol(struct scan *scan)
{
    if (scan_peek(scan) != '@')
        unexpected(scan, "a symbol like '@main'");
    struct span value = {scan->at, 0};
    for (;;) {
        scan->at++;
        if (look(scan, 0) == '"')
            scan_string(scan);
        else if (is_a(look(scan, 0), VALUE))
            while (scan->at < scan->size && is_a(scan->text[scan->at], VALUE))
                scan->at++;
        else
            unexpected(scan, "a name after '@'");
        value.end = scan->at;
        check_name(scan, value);
        if (look(scan, 0) != ':' || look(scan, 1) != ':' || look(scan, 2) != '@')
            return value;
        scan->at += 2;
    }
}

struct span scan_integer(struct scan *scan)
{
    scan_blank(scan);
    struct span value = {scan->at, 0};
    if (look(scan, 0) == '-')
        scan->at++;
    if (!is_a(look(scan, 0), DIGIT))
        unexpected(scan, "an integer");
    while (is_a(look(scan, 0), DIGIT))
        scan->at++;
    value.end = scan->at;
    return value;
}

/* ---------------------------------------------------------------- balanced skips */
static char closing(char open)
{
    return open == '(' ? ')' : open == '[' ? ']' : open == '{' ? '}' : '>';
}

static void too_deep(struct scan *scan) __attribute__((noreturn));
static void too_deep(struct scan *scan)
{
    scan_fail(scan, ERROR_INVALID_MODULE, scan->at, "nesting deeper than %d; no such module is planned",
              SCAN_DEPTH);
}

void scan_enter(struct scan *scan)
{
    if (++scan->depth > SCAN_DEPTH)
        too_deep(scan);
}

struct span scan_balanced(struct scan *scan)
{
    char open[SCAN_DEPTH + 1];
    unsigned depth = 0;
    scan_blank(scan);
    struct span value = {scan->at, 0};
    do {
        if (scan->at >= scan->size)
            scan_fail(scan, ERROR_INVALID_MODULE, value.at, "this '%c' is not closed: the text ends first",
                      scan->text[value.at]);
        char character = scan->text[scan->at];
        if (is_a(character, OPEN)) {
            if (scan->depth + depth >= SCAN_DEPTH)
                too_deep(scan);
            open[depth++] = character;
        } else if (is_a(character, CLOSE)) {
            if (character == '>' && (scan->text[scan->at - 1] == '-' || look(scan, 1) == '=')) {
                scan->at++; /* `->` and `>=` close nothing */
                continue;
            }
            if (!depth || closing(open[depth - 1]) != character)
                scan_fail(scan, ERROR_INVALID_MODULE, scan->at, "'%c' closes nothing; expected '%c'",
                          character, depth ? closing(open[depth - 1]) : ' ');
            depth--;
        } else if (character == '"') {
            scan_string(scan);
            continue;
        } else if (character == '/' && look(scan, 1) == '/') {
            scan->at = comment_end(scan, scan->at);
            continue;
        }
        scan->at++;
    } while (depth);
    value.end = scan->at;
    return value;
}

struct span scan_type(struct scan *scan)
{
    char character = scan_peek(scan);
    struct span value = {scan->at, 0};
    if (character == '(') {
        scan_balanced(scan);
        value.end = scan->at;
        if (scan_accept(scan, "->"))
            value.end = scan_type(scan).end;
    } else if (character == '!' || is_a(character, LETTER)) {
        scan->at++;
        dotted_name(scan);
        value.end = scan->at;
        if (look(scan, 0) == '<') {
            scan_balanced(scan);
            value.end = scan->at;
        }
    } else {
        unexpected(scan, "a type");
    }
    return value;
}

/* `: T` or, for function types, `-> T` behind a value */
static void value_tail(struct scan *scan, struct span *value, struct span *type)
{
    value->end = scan->at;
    if (scan_peek(scan) == ':' && look(scan, 1) != ':') {
        scan->at++;
        *type = scan_type(scan);
        value->end = type->end;
    } else if (look(scan, 0) == '-' && look(scan, 1) == '>') {
        scan->at += 2;
        value->end = scan_type(scan).end;
    }
    scan->at = value->end;
}

struct span scan_attr(struct scan *scan, struct span *type)
{
    struct span none;
    char character = scan_peek(scan);
    struct span value = {scan->at, scan->at};
    if (!type)
        type = &none;
    *type = (struct span){0, 0};
    if (character == '@') {
        return scan_symbol(scan);
    } else if (character == '"') {
        scan_string(scan);
    } else if (character == '#' || character == '!' || is_a(character, LETTER)) {
        scan->at++;
        dotted_name(scan);
        for (char next = look(scan, 0); next == '<' || next == '[' || next == '('; next = look(scan, 0))
            scan_balanced(scan);
    } else if (is_a(character, OPEN)) {
        scan_balanced(scan);
    } else if (character == '-' || is_a(character, DIGIT)) {
        for (scan->at++; is_a(look(scan, 0), NAME) ||
                         ((look(scan, 0) == '+' || look(scan, 0) == '-') &&
                          (scan->text[scan->at - 1] == 'e' || scan->text[scan->at - 1] == 'E'));)
            scan->at++;
    } else {
        unexpected(scan, "an attribute");
    }
    value_tail(scan, &value, type);
    return value;
}
