/* A cursor over JSON text for readers of large numeric documents: no tree, no copies; errors say where.
 *
 * The reader keeps the path of keys and indices it is in; the first error freezes the cursor, so that loops
 * only test cfn_json_failed. Internal to cfn/. */
#ifndef TOAST_CFN_JSON_H
#define TOAST_CFN_JSON_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CFN_JSON_DEPTH = 12 };

struct cfn_json_step {
    const char *key; /* into the text or a literal; NULL: an index */
    size_t size;
    uint64_t index;
};

struct cfn_json {
    const char *start, *at, *end;
    struct cfn_json_step path[CFN_JSON_DEPTH];
    int depth;
    struct error *e;
    enum error_code code;
};

static inline bool cfn_json_failed(const struct cfn_json *j)
{
    return j->code != ERROR_OK;
}

/* records the first error at the cursor (or at `at` when not NULL) */
void cfn_json_reject(struct cfn_json *j, enum error_code code, const char *at, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* next significant byte, 0 at the end; does not consume it */
char cfn_json_peek(struct cfn_json *j);
bool cfn_json_take(struct cfn_json *j, char character);   /* consumes character when it is next */
void cfn_json_expect(struct cfn_json *j, char character); /* consumes c or rejects */

/* `for (more = begin; more; more = next)`: enters '[' or '{', steps the path, leaves at the closing bracket.
 * Object steps have consumed the key and the colon; path[depth - 1] names it. */
bool cfn_json_array_begin(struct cfn_json *j);
bool cfn_json_array_next(struct cfn_json *j);
bool cfn_json_object_begin(struct cfn_json *j);
bool cfn_json_object_next(struct cfn_json *j);
bool cfn_json_key_is(const struct cfn_json *j, const char *key);

/* an integer that fits 64 bits; fractions and exponents only when the value is integral */
int64_t cfn_json_integer(struct cfn_json *j);
bool cfn_json_null(struct cfn_json *j); /* consumes null when it is next */
/* a string without escapes is needed; returns its bytes in the text */
const char *cfn_json_string(struct cfn_json *j, size_t *size);
void cfn_json_skip(struct cfn_json *j); /* any value */

#endif
