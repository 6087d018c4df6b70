/* Character classes and looking ahead, for the files of the scanner. ASCII only: whatever else a text has
 * may stand in strings and comments, and the scanner passes it through byte by byte. */
#ifndef TOAST_IR_READER_CHARACTERS_H
#define TOAST_IR_READER_CHARACTERS_H

#include "ir/reader/scan.h"

#include <string.h>

enum { BLANK = 1, LETTER = 2, DIGIT = 4, NAME = 8, OPEN = 16, CLOSE = 32, VALUE = 64 };
static const unsigned char character_classes[256] = {
    [' '] = BLANK,
    ['\t'] = BLANK,
    ['\n'] = BLANK,
    ['\r'] = BLANK,
    ['a' ... 'z'] = LETTER | NAME | VALUE,
    ['A' ... 'Z'] = LETTER | NAME | VALUE,
    ['_'] = LETTER | NAME | VALUE,
    ['0' ... '9'] = DIGIT | NAME | VALUE,
    ['$'] = NAME | VALUE,
    ['.'] = NAME | VALUE,
    ['-'] = VALUE,
    ['('] = OPEN,
    ['['] = OPEN,
    ['{'] = OPEN,
    ['<'] = OPEN,
    [')'] = CLOSE,
    [']'] = CLOSE,
    ['}'] = CLOSE,
    ['>'] = CLOSE,
};
static inline bool is_a(char character, unsigned kind)
{
    return character_classes[(unsigned char)character] & kind;
}

static inline char look(const struct scan *scan, uint32_t ahead)
{
    return scan->at + ahead < scan->size ? scan->text[scan->at + ahead] : 0;
}

static inline uint32_t comment_end(const struct scan *scan, uint32_t at)
{
    const char *newline = memchr(scan->text + at, '\n', scan->size - at);
    return newline ? (uint32_t)(newline - scan->text) : scan->size;
}

static inline void dotted_name(struct scan *scan)
{
    while (scan->at < scan->size && is_a(scan->text[scan->at], NAME))
        scan->at++;
}

#endif
