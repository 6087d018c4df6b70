/* multipart/form-data (RFC 7578, RFC 2046) over a body that is here whole. Strict: CRLF, a boundary at the
 * very start, one Content-Disposition a part, no transfer encodings, nothing after the end. */
#include "server/http/body.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    BOUNDARY_MAX = 70,      /* RFC 2046, 5.1.1 */
    PART_HEADERS_MAX = 4096 /* bytes of a part's headers; a Content-Disposition and a Content-Type take 200 */
};

char *multipart_boundary(const char *content_type)
{
    const char *at = strchr(content_type, ';');
    for (; at; at = strchr(at, ';')) {
        at += 1 + strspn(at + 1, " \t");
        if (strncasecmp(at, "boundary=", 9) != 0)
            continue;
        at += 9;
        bool quoted = *at == '"';
        at += quoted;
        size_t n = strcspn(at, quoted ? "\"" : "; \t");
        if (n == 0 || n > BOUNDARY_MAX || (quoted && at[n] != '"'))
            return NULL;
        return mem_strndup(at, n);
    }
    return NULL;
}

static enum error_code bad(struct error *e, const char *what)
{
    return error_set(e, ERROR_MALFORMED, "the multipart body is malformed: %s", what);
}

/* name="..." of one header line when it is the Content-Disposition of form data */
static bool disposition(const char *line, size_t size, char *name, size_t room)
{
    static const char head[] = "content-disposition:";
    if (size < sizeof head - 1 || strncasecmp(line, head, sizeof head - 1) != 0)
        return false;
    for (size_t i = sizeof head - 1; i + 7 < size; i++) {
        if (strncasecmp(line + i, " name=\"", 7) != 0 && strncasecmp(line + i, ";name=\"", 7) != 0)
            continue;
        const char *from = line + i + 7, *end = memchr(from, '"', size - i - 7);
        if (!end || (size_t)(end - from) >= room)
            return false;
        memcpy(name, from, (size_t)(end - from));
        name[end - from] = 0;
        return true;
    }
    return false;
}

/* the headers of a part: *at moves behind the empty line */
static enum error_code part_headers(const char **at, const char *end, struct part *part, struct error *e)
{
    const char *start = *at;
    for (;;) {
        const char *line_end = memmem(*at, (size_t)(end - *at), "\r\n", 2);
        if (!line_end || line_end - start > PART_HEADERS_MAX)
            return bad(e, "a part's headers do not end");
        size_t size = (size_t)(line_end - *at);
        if (size == 0)
            break;
        if (size > 26 && strncasecmp(*at, "content-transfer-encoding:", 26) == 0)
            return bad(e, "Content-Transfer-Encoding is not allowed (RFC 7578)");
        if (strncasecmp(*at, "content-disposition:", size < 20 ? size : 20) == 0 && size > 20) {
            if (part->name[0] || !disposition(*at, size, part->name, sizeof part->name))
                return bad(e, "a part needs one Content-Disposition with a name of at most 31 bytes");
        }
        *at = line_end + 2;
    }
    *at += 2;
    return part->name[0] ? ERROR_OK : bad(e, "a part needs a Content-Disposition with a name");
}

enum error_code multipart_parse(const char *body, size_t size, const char *boundary,
                                struct part parts[MULTIPART_MAX], size_t *count, struct error *e)
{
    char *delimiter = mem_printf("\r\n--%s", boundary);
    size_t n = strlen(delimiter);
    const char *at = body, *end = body + size;
    enum error_code code = ERROR_OK;
    *count = 0;
    if (size < n - 2 || memcmp(at, delimiter + 2, n - 2) != 0) {
        free(delimiter);
        return bad(e, "it does not begin with the boundary");
    }
    at += n - 2;
    while (code == ERROR_OK) {
        if (end - at >= 2 && memcmp(at, "--", 2) == 0) {
            at += 2;
            if (end - at > 2 || (end - at == 2 && memcmp(at, "\r\n", 2) != 0))
                code = bad(e, "bytes follow the last boundary");
            break;
        }
        if (end - at < 2 || memcmp(at, "\r\n", 2) != 0) {
            code = bad(e, "a boundary is not followed by a line end");
            break;
        }
        if (*count == MULTIPART_MAX) {
            code = bad(e, "too many parts");
            break;
        }
        at += 2;
        struct part *part = &parts[*count];
        *part = (struct part){0};
        code = part_headers(&at, end, part, e);
        if (code != ERROR_OK)
            break;
        const char *stop = memmem(at, (size_t)(end - at), delimiter, n);
        if (!stop) {
            code = bad(e, "the last boundary is missing");
            break;
        }
        part->bytes = at;
        part->size = (size_t)(stop - at);
        ++*count;
        at = stop + n;
    }
    free(delimiter);
    return code;
}
