/* The scanner: positions in the user's text, tokens, balanced skips, and copies that MLIR 19 can read.
 *
 * The rewriter reads the text once and writes generic form. Whatever it does not take apart (types, attribute
 * values) is a *span* of the text: skipped first, copied later by scan_copy. A copy drops comments, expands
 * aliases, hides what MLIR 19 does not know under the dialect name READER_DIALECT, and puts `#..hex<k : T>`
 * in place of the k-th hex constant, so that megabytes of digits are neither copied nor parsed twice.
 *
 * What a pass leaves in struct scan for the walk over MLIR's module (walk.c):
 *   out         the generic text
 *   ops, args   where the k-th op and block argument stand in the user's text, and their locations
 *   hexes       the digits of the k-th hex constant
 *   traces      with s->tracing: which part of `out` comes from which part of the text
 *
 * Offsets are in bytes. Errors leave by longjmp (s->escape) with line and column in *s->error; the process
 * ends soon after, so nothing is freed on that way. */
#ifndef TOAST_IR_READER_SCAN_H
#define TOAST_IR_READER_SCAN_H

#include "base/error.h"
#include "base/memory.h"

#include <setjmp.h>
#include <stdint.h>

#define READER_DIALECT "toast_reader"
enum {
    SCAN_DEPTH = 256,  /* brackets and regions; deeper text would overflow MLIR's stack */
    SCAN_NAME = 65536, /* bytes of a value's, op's or symbol's name */
    SCAN_FORMS = 256 /* entries of the cache of formats: a power of two, more than the table has ops (153) */
};

struct span {
    uint32_t at, end;
};

/* `#a = ..`, `!t = ..`, `#loc1 = loc(..)` */
struct alias {
    struct span name;               /* with its first character */
    struct span source;             /* of a location */
    size_t text, size;              /* expanded, in scan.aliases_text */
    size_t type, type_size;         /* the part after the value's colon, in scan.aliases_text */
    uint32_t op_string, arg_string; /* location resolved: string index + 1, 0 = not yet (location.c) */
    uint32_t location;              /* the whole, of the builder (location.c) */
    unsigned location_depth;        /* how deep it nests */
    bool is_location;
};

struct op_place {
    uint32_t at;  /* offset of the op's name */
    uint32_t loc; /* offset of `loc`, 0 = none */
};
struct arg_place {
    uint32_t arg; /* which of all block arguments, in the order of the written text */
    uint32_t loc;
};
struct hex_place {
    struct span digits;
};
/* out[out .. out + size) comes from text[at .. at + size) */
struct trace {
    size_t out;
    uint32_t at, size;
};

/* A format that was looked up (forms.c), by the op's full name; longer names are looked up each time. */
struct cached {
    char name[60];
    const char *format;
};

struct scan {
    const char *text;
    uint32_t size, at;
    unsigned depth;
    struct text out;   /* the generic text */
    struct text attrs; /* attributes of the op being read */
    bool tracing;
    VEC(struct trace) traces;      /* of out */
    VEC(struct trace) attr_traces; /* of attrs, offsets in attrs */
    VEC(struct alias) aliases;
    VEC(uint32_t) alias_slots;
    struct text aliases_text;
    VEC(struct op_place) ops;
    VEC(struct arg_place) args;
    VEC(struct hex_place) hexes;
    VEC(struct span) operands; /* of the op being read, when it has no region */
    uint32_t arg_count;
    struct cached forms[SCAN_FORMS];
    struct span resources;   /* `{-# .. #-}`, empty when absent */
    bool has_alien;          /* some element type that MLIR 19 does not know is named somewhere */
    bool wrapped;            /* the text has no single module of its own: MLIR supplies one */
    uint32_t pretty, quoted; /* ops of dialects in pretty form; in generic form that have a pretty one */
    uint32_t inherit; /* of a short reduce: the ops, from this one on, that have its location; 0: none */
    struct error *error;
    jmp_buf escape;
};

/* line and column (bytes, from 1) of an offset */
void scan_position(const struct scan *scan, uint32_t at, int *line, int *column);
void scan_fail(struct scan *scan, enum error_code code, uint32_t at, const char *format, ...)
    __attribute__((noreturn, format(printf, 4, 5)));
/* what stands at an offset, for messages: at most 40 characters, quoted, printable */
const char *scan_quote(const struct scan *scan, uint32_t at, char out[64]);

void scan_blank(struct scan *scan); /* white space and comments */
/* next character after blanks; 0 at the end */
char scan_peek(struct scan *scan);
bool scan_accept(struct scan *scan, const char *punctuation);
void scan_expect(struct scan *scan, const char *punctuation);
/* [A-Za-z_][A-Za-z0-9_$.]*; empty when none */
struct span scan_word(struct scan *scan);
bool scan_is(const struct scan *scan, struct span span, const char *word);
bool scan_accept_word(struct scan *scan, const char *word);
void scan_expect_word(struct scan *scan, const char *word);
struct span scan_value(struct scan *scan);  /* `%name` or `%name#1` */
struct span scan_string(struct scan *scan); /* with its quotes */
struct span scan_symbol(struct scan *scan); /* `@a`, `@"a b"`, nested `@a::@b` */
struct span scan_integer(struct scan *scan);
/* from an opening bracket to its closing one */
struct span scan_balanced(struct scan *scan);
struct span scan_type(struct scan *scan);
/* an attribute value with its `: type`; type (may be NULL) is the part behind the colon, empty when none */
struct span scan_attr(struct scan *scan, struct span *type);
void scan_enter(struct scan *scan); /* a region: depth + 1, capped */

void scan_copy(struct scan *scan, struct text *to, struct span from);
void scan_write(struct scan *scan, const char *text); /* to out */
/* alias by name span (`#a`); NULL when not defined */
struct alias *scan_alias(struct scan *scan, struct span name);
void scan_define_alias(struct scan *scan); /* at `#` or `!` of a definition */
/* the trailing `loc(..)` of an op or argument: its offset, 0 = none */
uint32_t scan_loc(struct scan *scan);

#endif
