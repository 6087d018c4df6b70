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
        const struct cfn_json_step *s = &j->path[i];
        if (!s->key) {
            used += (size_t)snprintf(out + used, room - used, "/%llu", (unsigned long long)s->index);
            continue;
        }
        out[used++] = '/';
        for (size_t c = 0; c < s->size && used + STEP_ROOM < room; c++)
            out[used++] = s->key[c] >= ' ' && s->key[c] < 127 ? s->key[c] : '?';
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

bool cfn_json_take(struct cfn_json *j, char c)
{
    if (cfn_json_peek(j) != c || cfn_json_failed(j))
        return false;
    j->at++;
    return true;
}

void cfn_json_expect(struct cfn_json *j, char c)
{
    if (!cfn_json_take(j, c))
        cfn_json_reject(j, ERROR_INVALID_JSON, NULL, "'%c' is expected here", c);
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
    const struct cfn_json_step *s = &j->path[j->depth - 1];
    return s->size == strlen(key) && memcmp(s->key, key, s->size) == 0;
}

/* digits [.digits] [e digits] with an integral value; at the first byte that is no plain digit */
static int64_t scientific(struct cfn_json *j, const char *from, bool negative)
{
    __int128 value = 0;
    int exponent = 0, written = 0;
    const char *p = from;
    bool fraction = false;
    for (; p < j->end && ((*p >= '0' && *p <= '9') || (*p == '.' && !fraction)); p++) {
        if (*p == '.') {
            fraction = true;
            continue;
        }
        if (value > (__int128)1 << 100) {
            cfn_json_reject(j, ERROR_INVALID_REQUEST, from, "the number does not fit 64 bits");
            return 0;
        }
        value = value * 10 + (*p - '0');
        exponent -= fraction;
    }
    if (p < j->end && (*p == 'e' || *p == 'E')) {
        bool down = ++p < j->end && *p == '-';
        p += p < j->end && (*p == '-' || *p == '+');
        for (const char *digits = p; p < j->end && *p >= '0' && *p <= '9' && p < digits + 4; p++)
            written = written * 10 + (*p - '0');
        if (p == j->end || p[-1] < '0' || p[-1] > '9')
            cfn_json_reject(j, ERROR_INVALID_JSON, p, "a number is expected here");
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
    j->at = p;
    return cfn_json_failed(j) ? 0 : negative ? -(int64_t)value : (int64_t)value;
}

int64_t cfn_json_integer(struct cfn_json *j)
{
    char c = cfn_json_peek(j);
    const char *from = j->at, *p = j->at;
    bool negative = c == '-';
    uint64_t value = 0;
    if (cfn_json_failed(j))
        return 0;
    p += negative;
    const char *digits = p;
    while (p < j->end && *p >= '0' && *p <= '9' && p - digits < PLAIN_DIGITS)
        value = value * 10 + (uint64_t)(*p++ - '0');
    if (p == digits) {
        cfn_json_reject(j, ERROR_INVALID_REQUEST, from,
                        "an integer is expected here (NaN and infinity are refused)");
        return 0;
    }
    if (p < j->end && ((*p >= '0' && *p <= '9') || *p == '.' || *p == 'e' || *p == 'E'))
        return scientific(j, digits, negative);
    if (value > INT64_MAX) {
        cfn_json_reject(j, ERROR_INVALID_REQUEST, from, "the number does not fit 64 bits");
        return 0;
    }
    if (*digits == '0' && p - digits > 1)
        cfn_json_reject(j, ERROR_INVALID_JSON, from, "a number does not begin with 0");
    j->at = p;
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
    char c = cfn_json_peek(j), close = c == '[' ? ']' : '}';
    if (depth == SKIP_DEPTH)
        cfn_json_reject(j, ERROR_INVALID_JSON, NULL, "too deeply nested");
    if (cfn_json_failed(j))
        return;
    if (c == '[' || c == '{') {
        j->at++;
        if (cfn_json_take(j, close))
            return;
        do {
            if (c == '{') {
                cfn_json_string(j, &size);
                cfn_json_expect(j, ':');
            }
            skip_at(j, depth + 1);
        } while (!cfn_json_failed(j) && cfn_json_take(j, ','));
        cfn_json_expect(j, close);
    } else if (c == '"') {
        cfn_json_string(j, &size);
    } else if (!word(j, "null") && !word(j, "true") && !word(j, "false")) {
        skip_number(j);
    }
}

void cfn_json_skip(struct cfn_json *j)
{
    skip_at(j, 0);
}
