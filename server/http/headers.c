/* Parsers of single header values. They take any text and never fail hard: what is not understood counts as
 * not sent. See headers.h. */
#include "server/http/headers.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

int header_range(const char *text, size_t size, size_t *from, size_t *length)
{
    unsigned long long a = 0, b = 0;
    char *end;
    if (!text || strncmp(text, "bytes=", 6) != 0 || strchr(text, ','))
        return 0;
    text += 6;
    if (*text == '-') {
        b = strtoull(text + 1, &end, 10);
        if (end == text + 1 || *end || text[1] < '0' || text[1] > '9')
            return 0;
        if (b == 0 || size == 0)
            return -1;
        *length = b < size ? b : size;
        *from = size - *length;
        return 1;
    }
    if (*text < '0' || *text > '9')
        return 0;
    a = strtoull(text, &end, 10);
    if (*end++ != '-')
        return 0;
    b = *end ? strtoull(end, &end, 10) : size - 1;
    if (*end || (b < a && *(end - 1) != '-'))
        return 0;
    if (a >= size)
        return -1;
    *from = a;
    *length = (b < size ? b + 1 : size) - a;
    return 1;
}

bool header_if_range(const char *text, const char *etag)
{
    return !text || strcmp(text, etag) == 0;
}

int header_wait_s(const char *text, int max)
{
    for (const char *at = text; at && *at; at = strchr(at, ',')) {
        at += strspn(at, ", \t");
        if (strncasecmp(at, "wait=", 5) != 0 || at[5] < '0' || at[5] > '9')
            continue;
        long n = strtol(at + 5, NULL, 10);
        return n > max ? max : (int)n;
    }
    return 0;
}

static bool is_hex(const char *at, size_t n)
{
    bool some = false;
    for (size_t i = 0; i < n; i++) {
        if (!((at[i] >= '0' && at[i] <= '9') || (at[i] >= 'a' && at[i] <= 'f')))
            return false;
        some |= at[i] != '0';
    }
    return some; /* ids of zeros are none */
}

bool header_traceparent_valid(const char *text)
{
    size_t n = text ? strlen(text) : 0;
    bool later = n > 55 && text[55] == '-' && strncmp(text, "00", 2) != 0;
    return (n == 55 || later) && text[2] == '-' && text[35] == '-' && text[52] == '-' &&
           strncmp(text, "ff", 2) != 0 && (is_hex(text, 2) || strncmp(text, "00", 2) == 0) &&
           is_hex(text + 3, 32) && is_hex(text + 36, 16) &&
           (is_hex(text + 53, 2) || strncmp(text + 53, "00", 2) == 0);
}

bool header_is_type(const char *text, const char *wanted)
{
    size_t n = strlen(wanted);
    return strncasecmp(text, wanted, n) == 0 && (text[n] == 0 || text[n] == ';' || text[n] == ' ');
}
