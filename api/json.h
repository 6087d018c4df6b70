/* Strict reading of JSON values (RFC 8259), and writing. Every reader refuses a wrong type with the
 * value's JSON pointer (RFC 6901); none converts, rounds or fills in. Inside api/. */
#ifndef TOAST_API_JSON_H
#define TOAST_API_JSON_H

#include "base/error.h"
#include "base/memory.h"

#include <jansson.h>

/* A value and where it stands; children's pointers are built as they are reached. */
struct json_at {
    json_t *value;
    char pointer[160];
};

/* A document may have so many values a member on average: lists of axes and of points are short. */
enum { JSON_VALUES_A_KEY = 10 };

/* Text -> owned value. ERROR_INVALID_JSON with line and column; duplicate keys, trailing bytes, NUL and
 * (by a count before parsing) more than max_keys members or ten times as many values are refused. */
enum error_code json_parse(const char *text, size_t size, size_t max_keys, json_t **out,
                           struct error *e) BASE_CHECKED;

/* Member of an object; value NULL when absent. */
struct json_at json_member(const struct json_at *object, const char *key);
/* Item of an array; value NULL beyond its end. */
struct json_at json_item(const struct json_at *array, size_t index);
/* Refuses members that are not in the NULL-terminated list; refuses anything but an object. */
enum error_code json_only(const struct json_at *object, const char *const *known,
                          struct error *e) BASE_CHECKED;

/* Absent values leave *out as it is. Ranges are inclusive. */
enum error_code json_int(struct json_at at, int64_t low, int64_t high, int64_t *out,
                         struct error *e) BASE_CHECKED;
enum error_code json_number(struct json_at at, double low, double high, double *out,
                            struct error *e) BASE_CHECKED;
enum error_code json_bool(struct json_at at, bool *out, struct error *e) BASE_CHECKED;
/* out borrowed from the value; longer than max_size bytes is refused */
enum error_code json_text(struct json_at at, size_t max_size, const char **out, struct error *e) BASE_CHECKED;
/* *count: items; 0 when absent. More than `max` is refused. */
enum error_code json_list(struct json_at at, size_t max, size_t *count, struct error *e) BASE_CHECKED;
/* fills e with code, the value's pointer and a message */
enum error_code json_refuse_to(struct error *e, struct json_at at, enum error_code code, const char *format,
                               ...) __attribute__((format(printf, 4, 5)));

/* A string value of any bytes: what is not UTF-8 becomes '?' (names may be cut in mid-character). */
json_t *json_safe(const char *text);

/* Owned texts, reals with nine digits. compact: one line, members sorted, so that equal values give equal
 * bytes. pretty: indented by one, members in the order in which they were set, a newline at the end. */
char *json_compact(const json_t *value);
char *json_pretty(const json_t *value);

/* {"target": "([i, j])->([i, j]) {i=8, j=16}"}: rules of custom calls by target, kept in the arena */
struct nda_given_rule;
enum error_code json_given_rules(struct json_at at, struct arena *arena, const struct nda_given_rule **out,
                                 uint32_t *count, struct error *e) BASE_CHECKED;

#endif
