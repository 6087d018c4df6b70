/* Fields of posted forms, found in the body as it came; nothing is kept between calls. See form.h. */
#include "server/http/form.h"
#include "server/http/headers.h"

#include "base/encode.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

bool form_is_type(const char *content_type)
{
    return header_is_type(content_type, "application/x-www-form-urlencoded");
}

static char *decode(const char *at, size_t size)
{
    char *out = mem_alloc(size + 1);
    size_t n = 0;
    for (size_t i = 0; i < size; i++) {
        bool escaped = at[i] == '%';
        int c = escaped ? encode_from_percent(at + i, size - i) : at[i] == '+' ? ' ' : (unsigned char)at[i];
        if (c <= 0) {
            free(out);
            return NULL;
        }
        out[n++] = (char)c;
        i += escaped ? 2 : 0;
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
