/* A cursor over JSON text (RFC 8259), recursive only in skip_at and there at most SKIP_DEPTH deep. Numbers
 * are read as integers: fractions and exponents are accepted where the value is integral and fits 64 bits,
 * as some writers print 1e3 for 1000. Strings keep their escapes; the problem's keys have none. Never reads
 * past `end`, never allocates; after the first error every call returns at once and the error stays the
 * first one. */
#include "cfn/json.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    SKIP_DEPTH = 64,   /* of values that nobody reads */
    PLAIN_DIGITS = 19, /* of an integer that cannot pass 2^64 */
    STEP_ROOM = 24,    /* one step of a path as text: '/' and 20 digits */
};

static void path_format(const struct cfn_json *j, char *out, size_t room)
{
    size_t used = 0;
    out[0] = 0;
    for (int i = 0; i < j->depth && used + STEP_ROOM < room; i++) {
        const struct cfn_json_step *json_step = &j->path[i];
        if (!json_step->key) {
            used += (size_t)snprintf(out + used, room - used, "/%llu", (unsigned long long)json_step->index);
            continue;
        }
        out[used++] = '/';
        for (size_t c = 0; c < json_step->size && used + STEP_ROOM < room; c++)
            out[used++] = json_step->key[c] >= ' ' && json_step->key[c] < 127 ? json_step->key[c] : '?';
        out[used] = 0;
    }
}

void cfn_json_reject(struct cfn_json *j, enum error_code code, const char *at, const char *format, ...)
{
    char message[400], pointer[200];
    va_list args;
    if (cfn_json_failed(j))
        return;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    path_format(j, pointer, sizeof pointer);
    j->code = error_set_pointer(j->e, code, pointer, "%s (at %s, byte %zu)", message,
                                pointer[0] ? pointer : "the top", (size_t)((at ? at : j->at) - j->start));
}

char cfn_json_peek(struct cfn_json *j)
{
    while (j->at < j->end && (*j->at == ' ' || *j->at == '\n' || *j->at == '\t' || *j->at == '\r'))
        j->at++;
    return j->at < j->end && !cfn_json_failed(j) ? *j->at : 0;
}

bool cfn_json_take(struct cfn_json *j, char character)
{
    if (cfn_json_peek(j) != character || cfn_json_failed(j))
        return false;
    j->at++;
    return true;
}

void cfn_json_expect(struct cfn_json *j, char character)
{
    if (!cfn_json_take(j, character))
        cfn_json_reject(j, ERROR_INVALID_JSON, NULL, "'%c' is expected here", character);
}

static bool enter(struct cfn_json *j, char open, char close)
{
    if (!cfn_json_take(j, open)) {
        cfn_json_reject(j, ERROR_INVALID_REQUEST, NULL, "%s is expected here",
                        open == '[' ? "a list" : "an object");
        return false;
    }
    if (cfn_json_take(j, close))
        return false;
    if (j->depth == CFN_JSON_DEPTH) {
        cfn_json_reject(j, ERROR_INVALID_JSON, NULL, "too deeply nested");
        return false;
    }
    j->path[j->depth++] = (struct cfn_json_step){0};
    return true;
}

/* after a value: true when another follows */
static bool follow(struct cfn_json *j, char close)
{
    if (cfn_json_failed(j))
        return false;
    if (cfn_json_take(j, ','))
        return true;
    cfn_json_expect(j, close);
    if (!cfn_json_failed(j))
        j->depth--;
    return false;
}

bool cfn_json_array_begin(struct cfn_json *j)
{
    return enter(j, '[', ']') && !cfn_json_failed(j);
}

bool cfn_json_array_next(struct cfn_json *j)
{
    if (!follow(j, ']'))
        return false;
    j->path[j->depth - 1].index++;
    return true;
}

static bool read_key(struct cfn_json *j)
{
    size_t size;
    const char *key = cfn_json_string(j, &size);
    if (cfn_json_failed(j))
        return false;
    j->path[j->depth - 1] = (struct cfn_json_step){.key = key, .size = size};
    cfn_json_expect(j, ':');
    return !cfn_json_failed(j);
}

bool cfn_json_object_begin(struct cfn_json *j)
{
    return enter(j, '{', '}') && read_key(j);
}

bool cfn_json_object_next(struct cfn_json *j)
{
    return follow(j, '}') && read_key(j);
}

bool cfn_json_key_is(const struct cfn_json *j, const char *key)
{
    const struct cfn_json_step *json_step = &j->path[j->depth - 1];
    return json_step->size == strlen(key) && memcmp(json_step->key, key, json_step->size) == 0;
}

/* digits [.digits] [e digits] with an integral value; at the first byte that is no plain digit */
static int64_t scientific(struct cfn_json *j, const char *from, bool negative)
{
    __int128 value = 0;
    int exponent = 0, written = 0;
    const char *at = from;
    bool fraction = false;
    for (; at < j->end && ((*at >= '0' && *at <= '9') || (*at == '.' && !fraction)); at++) {
        if (*at == '.') {
            fraction = true;
            continue;
        }
        if (value > (__int128)1 << 100) {
            cfn_json_reject(j, ERROR_INVALID_REQUEST, from, "the number does not fit 64 bits");
            return 0;
        }
        value = value * 10 + (*at - '0');
        exponent -= fraction;
    }
    if (at < j->end && (*at == 'e' || *at == 'E')) {
        bool down = ++at < j->end && *at == '-';
        at += at < j->end && (*at == '-' || *at == '+');
        for (const char *digits = at; at < j->end && *at >= '0' && *at <= '9' && at < digits + 4; at++)
            written = written * 10 + (*at - '0');
        if (at == j->end || at[-1] < '0' || at[-1] > '9')
            cfn_json_reject(j, ERROR_INVALID_JSON, at, "a number is expected here");
        exponent += down ? -written : written;
    }
    for (; exponent < 0 && value % 10 == 0 && value; exponent++)
        value /= 10;
    for (; exponent > 0 && value && value < ((__int128)1 << 70); exponent--)
        value *= 10;
    if (value && exponent < 0)
        cfn_json_reject(j, ERROR_INVALID_REQUEST, from, "an integer is expected here");
    if (value > INT64_MAX)
        cfn_json_reject(j, ERROR_INVALID_REQUEST, from, "the number does not fit 64 bits");
    j->at = at;
    return cfn_json_failed(j) ? 0 : negative ? -(int64_t)value : (int64_t)value;
}

int64_t cfn_json_integer(struct cfn_json *j)
{
    char character = cfn_json_peek(j);
    const char *from = j->at, *at = j->at;
    bool negative = character == '-';
    uint64_t value = 0;
    if (cfn_json_failed(j))
        return 0;
    at += negative;
    const char *digits = at;
    while (at < j->end && *at >= '0' && *at <= '9' && at - digits < PLAIN_DIGITS)
        value = value * 10 + (uint64_t)(*at++ - '0');
    if (at == digits) {
        cfn_json_reject(j, ERROR_INVALID_REQUEST, from,
                        "an integer is expected here (NaN and infinity are refused)");
        return 0;
    }
    if (at < j->end && ((*at >= '0' && *at <= '9') || *at == '.' || *at == 'e' || *at == 'E'))
        return scientific(j, digits, negative);
    if (value > INT64_MAX) {
        cfn_json_reject(j, ERROR_INVALID_REQUEST, from, "the number does not fit 64 bits");
        return 0;
    }
    if (*digits == '0' && at - digits > 1)
        cfn_json_reject(j, ERROR_INVALID_JSON, from, "a number does not begin with 0");
    j->at = at;
    return negative ? -(int64_t)value : (int64_t)value;
}

static bool word(struct cfn_json *j, const char *text)
{
    size_t size = strlen(text);
    cfn_json_peek(j);
    if (cfn_json_failed(j) || (size_t)(j->end - j->at) < size || memcmp(j->at, text, size) != 0)
        return false;
    j->at += size;
    return true;
}

bool cfn_json_null(struct cfn_json *j)
{
    return word(j, "null");
}

const char *cfn_json_string(struct cfn_json *j, size_t *size)
{
    *size = 0;
    if (cfn_json_peek(j) != '"') {
        cfn_json_reject(j, ERROR_INVALID_JSON, NULL, "a string is expected here");
        return "";
    }
    const char *from = ++j->at;
    while (j->at < j->end && *j->at != '"') {
        if ((unsigned char)*j->at < ' ')
            cfn_json_reject(j, ERROR_INVALID_JSON, NULL, "a control character in a string");
        if (cfn_json_failed(j))
            return "";
        j->at += 1 + (*j->at == '\\' && j->at + 1 < j->end);
    }
    if (j->at >= j->end) {
        j->at = j->end;
        cfn_json_reject(j, ERROR_INVALID_JSON, from, "the string does not end");
        return "";
    }
    *size = (size_t)(j->at++ - from);
    return from;
}

static void skip_number(struct cfn_json *j)
{
    const char *from = j->at;
    while (j->at < j->end && ((*j->at >= '0' && *j->at <= '9') || (*j->at && strchr("+-.eE", *j->at))))
        j->at++;
    if (j->at == from)
        cfn_json_reject(j, ERROR_INVALID_JSON, NULL, "a value is expected here");
}

static void skip_at(struct cfn_json *j, int depth)
{
    size_t size;
    char character = cfn_json_peek(j), close = character == '[' ? ']' : '}';
    if (depth == SKIP_DEPTH)
        cfn_json_reject(j, ERROR_INVALID_JSON, NULL, "too deeply nested");
    if (cfn_json_failed(j))
        return;
    if (character == '[' || character == '{') {
        j->at++;
        if (cfn_json_take(j, close))
            return;
        do {
            if (character == '{') {
                cfn_json_string(j, &size);
                cfn_json_expect(j, ':');
            }
            skip_at(j, depth + 1);
        } while (!cfn_json_failed(j) && cfn_json_take(j, ','));
        cfn_json_expect(j, close);
    } else if (character == '"') {
        cfn_json_string(j, &size);
    } else if (!word(j, "null") && !word(j, "true") && !word(j, "false")) {
        skip_number(j);
    }
}

void cfn_json_skip(struct cfn_json *j)
{
    skip_at(j, 0);
}
