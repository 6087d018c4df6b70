/* The part of an address behind '?'. A parameter that its route does not have is refused: a client that
 * writes dry_run=true there, and not into the request, must not find a job submitted. Values are decoded
 * on every look; nothing is kept. */
#include "server/http/request.h"

#include "base/encode.h"

bool query_decode(const char *from, size_t n, char *out, size_t room)
{
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        bool escaped = from[i] == '%';
        int c = escaped ? encode_from_percent(from + i, n - i) : (unsigned char)from[i];
        i += escaped ? 2 : 0;
        if (c <= 0x20 || c >= 0x7f || (escaped && (c == '/' || c == '\\' || c == '%')) || at + 1 >= room)
            return false;
        out[at++] = (char)c;
    }
    out[at] = 0;
    return true;
}

/* the name for a message, with '?' for bytes that must not stand in one */
static void show_name(const char *from, size_t n, char out[64])
{
    size_t most = n < 63 ? n : 63;
    for (size_t i = 0; i < most; i++)
        out[i] = (char)(from[i] > 0x20 && from[i] < 0x7f ? from[i] : '?');
    out[most] = 0;
}

/* whether names ("a b* c") has this name; *repeats: it has a '*', so it may come several times */
static bool listed(const char *names, const char *name, size_t n, bool *repeats)
{
    for (const char *at = names; *at;) {
        size_t length = strcspn(at, " ");
        *repeats = length > 0 && at[length - 1] == '*';
        if (length - *repeats == n && memcmp(at, name, n) == 0)
            return true;
        at += length + (at[length] == ' ');
    }
    return false;
}

static bool writes(const struct exchange *exchange)
{
    return strcmp(exchange->route->method, "GET") != 0;
}

static enum error_code unknown(const struct exchange *exchange, const char *name, struct error *e)
{
    char names[160];
    size_t at = 0;
    for (const char *cursor = exchange->route->query; *cursor && at + 3 < sizeof names; cursor++)
        if (*cursor == ' ')
            at += (size_t)snprintf(names + at, sizeof names - at, ", ");
        else if (*cursor != '*')
            names[at++] = *cursor;
    names[at] = 0;
    return error_set_pointer(e, ERROR_UNKNOWN_PARAMETER, name,
                             at ? "%s %s has no parameter %s; those that exist: %s"
                                : "%s %s has no parameter %s, nor any other%s",
                             exchange->method, exchange->route->pattern, name, names);
}

static bool escapes_whole(const char *from, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (from[i] == '%' && encode_from_percent(from + i, n - i) < 0)
            return false;
    return true;
}

/* whether this name stood before `at` as well */
static bool seen(const struct exchange *exchange, const char *at, size_t n)
{
    for (const char *before = exchange->query; before < at; before += strcspn(before, "&") + 1)
        if (strcspn(before, "=&") == n && memcmp(before, at, n) == 0)
            return true;
    return false;
}

enum error_code query_check(const struct exchange *exchange, struct error *e)
{
    char name[64];
    bool repeats;
    for (const char *at = exchange->query; *at;) {
        size_t length = strcspn(at, "&"), n = strcspn(at, "=&");
        show_name(at, n, name);
        repeats = false;
        if (length && !listed(exchange->route->query, at, n, &repeats) &&
            !(writes(exchange) && n == 4 && memcmp(at, "csrf", 4) == 0))
            return unknown(exchange, name, e);
        if (length && (n == length || !escapes_whole(at + n, length - n)))
            return error_set_pointer(e, ERROR_MALFORMED, name,
                                     "the parameter %s needs a value with whole percent escapes", name);
        if (length && !repeats && seen(exchange, at, n))
            return error_set_pointer(e, ERROR_UNKNOWN_PARAMETER, name, "the parameter %s may be given once",
                                     name);
        at += length + (at[length] == '&');
    }
    return ERROR_OK;
}

/* the value of a parameter, undecoded; NULL: absent */
static const char *find(const struct exchange *exchange, const char *name, size_t *length)
{
    size_t n = strlen(name);
    for (const char *at = exchange->query; *at;) {
        *length = strcspn(at, "&");
        if (*length > n && strncmp(at, name, n) == 0 && at[n] == '=') {
            *length -= n + 1;
            return at + n + 1;
        }
        at += *length + (at[*length] == '&');
    }
    return NULL;
}

bool request_query(const struct exchange *exchange, const char *name, char *out, size_t room)
{
    size_t length;
    const char *value = find(exchange, name, &length);
    if (value && !query_decode(value, length, out, room))
        out[0] = 0;
    return value != NULL;
}

bool request_query_empty(const struct exchange *exchange, const char *name)
{
    size_t length;
    return find(exchange, name, &length) && length == 0;
}

enum error_code request_query_flag(const struct exchange *exchange, const char *name, bool *out,
                                   struct error *e)
{
    char value[8];
    if (!request_query(exchange, name, value, sizeof value))
        return ERROR_OK;
    *out = strcmp(value, "true") == 0;
    return *out || strcmp(value, "false") == 0
               ? ERROR_OK
               : error_set_pointer(e, ERROR_MALFORMED, name, "%s is true or false", name);
}
