/* The table of error codes and the functions that fill struct error (error.h). Knows nothing of HTTP or of
 * command lines beyond the two columns of the table. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *text;
    int http, exit;
} table[] = {
#define X(name, text, http, exit) {text, http, exit},
    ERROR_TABLE(X)
#undef X
};

const char *error_code_text(enum error_code code)
{
    return (unsigned)code < ERROR_CODES ? table[code].text : "internal";
}

int error_code_http_status(enum error_code code)
{
    return (unsigned)code < ERROR_CODES ? table[code].http : 500;
}

int error_code_exit_status(enum error_code code)
{
    return (unsigned)code < ERROR_CODES ? table[code].exit : 1;
}

bool error_code_is_host(enum error_code code)
{
    return code == ERROR_HOST || code == ERROR_IO || code == ERROR_NO_SPACE;
}

enum error_code error_code_from_text(const char *text)
{
    for (int i = 0; i < ERROR_CODES; i++)
        if (text && strcmp(text, table[i].text) == 0)
            return (enum error_code)i;
    return ERROR_INTERNAL;
}

static enum error_code fill(struct error *e, enum error_code code, int line, int column, const char *pointer,
                            const char *format, va_list args)
{
    if (!e)
        return code;
    memset(e, 0, sizeof *e);
    e->code = code;
    e->line = line;
    e->column = column;
    snprintf(e->pointer, sizeof e->pointer, "%s", pointer);
    vsnprintf(e->message, sizeof e->message, format, args);
    return code;
}

enum error_code error_set(struct error *e, enum error_code code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(e, code, 0, 0, "", format, args);
    va_end(args);
    return code;
}

enum error_code error_set_at(struct error *e, enum error_code code, int line, int column, const char *format,
                             ...)
{
    va_list args;
    va_start(args, format);
    fill(e, code, line, column, "", format, args);
    va_end(args);
    return code;
}

enum error_code error_set_pointer(struct error *e, enum error_code code, const char *pointer,
                                  const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fill(e, code, 0, 0, pointer, format, args);
    va_end(args);
    return code;
}

void base_check_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "check failed at %s:%d: %s\n", file, line, what);
    abort();
}
