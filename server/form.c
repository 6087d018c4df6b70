/* See form.h. */
#include "server/form.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char type[] = "application/x-www-form-urlencoded";

bool form_is_type(const char *content_type)
{
    char end = strncasecmp(content_type, type, sizeof type - 1) == 0 ? content_type[sizeof type - 1] : 'x';
    return end == 0 || end == ';' || end == ' ';
}

static int digit(char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static char *decode(const char *at, size_t size)
{
    char *out = mem_alloc(size + 1);
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        int c = at[i] == '+' ? ' ' : (unsigned char)at[i];
        if (at[i] == '%') {
            int high = i + 2 < size ? digit(at[i + 1]) : -1, low = high < 0 ? -1 : digit(at[i + 2]);
            c = low < 0 ? 0 : high << 4 | low;
            i += 2;
        }
        if (c == 0) {
            free(out);
            return NULL;
        }
        out[n++] = (char)c;
    }
    out[n] = 0;
    return out;
}

char *form_field(const char *body, size_t size, const char *name)
{
    size_t length = strlen(name);
    for (size_t at = 0; at < size;) {
        const char *end = memchr(body + at, '&', size - at);
        size_t n = end ? (size_t)(end - body) - at : size - at;
        if (n > length && memcmp(body + at, name, length) == 0 && body[at + length] == '=')
            return decode(body + at + length + 1, n - length - 1);
        at += n + 1;
    }
    return NULL;
}
