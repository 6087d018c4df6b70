/* Messages, exit statuses, reading modules; see output.h. */
#include "cli/output.h"

#include "api/limits.h"
#include "base/file.h"
#include "ir/prepare.h"
#include "ir/read.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cli_fail(const char *command, const char *file, const struct error *e)
{
    if (file && e->line)
        fprintf(stderr, "%s:%d:%d: %s\n", file, e->line, e->column, e->message);
    else if (file && error_code_exit_status(e->code) == 6)
        fprintf(stderr, "%s: %s\n", file, e->message);
    else if (e->pointer[0])
        fprintf(stderr, "toast %s: %s: %s\n", command, e->pointer, e->message);
    else
        fprintf(stderr, "toast %s: %s\n", command, e->message);
    return error_code_exit_status(e->code);
}

bool cli_help(int argc, char **argv, const char *usage)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            return true;
        }
    return false;
}

int cli_usage(const char *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    fprintf(stderr, "toast %s: ", command);
    vfprintf(stderr, format, args);
    fprintf(stderr, "; see toast %s --help\n", command);
    va_end(args);
    return 2;
}

/* A file whose content cannot be unpacked or is too large is a refused module. cli_fail puts the path in
 * front of such an error, so it must not stand in the message a second time. */
static enum error_code refuse_file(const char *path, const struct error *unread, struct error *e)
{
    size_t size = strlen(path);
    bool named = strncmp(unread->message, path, size) == 0 && strncmp(unread->message + size, ": ", 2) == 0;
    const char *what = named ? unread->message + size + 2 : unread->message;
    if (unread->code == ERROR_INVALID_REQUEST)
        return error_set(e, ERROR_INVALID_MODULE, "%s", what);
    if (unread->code == ERROR_TOO_LARGE)
        return error_set(e, ERROR_MODULE_TOO_LARGE, "%s", what);
    return error_set(e, unread->code, "%s", unread->message);
}

enum error_code cli_read_module(const char *path, struct ir_program *out, struct error *e)
{
    char *text = NULL;
    size_t size = 0;
    struct error unread = {0};
    enum error_code code = file_read(path, LIMIT_MODULE, &text, &size, &unread);
    if (code != ERROR_OK)
        return refuse_file(path, &unread, e);
    code = ir_read(text, size, NULL, out, e);
    free(text);
    return code;
}

enum error_code cli_prepare_module(const char *path, const char *entry, struct ir_program *out,
                                   struct error *e)
{
    struct ir_program image = {0};
    enum error_code code = cli_read_module(path, &image, e);
    if (code != ERROR_OK)
        return code;
    code = ir_prepare_entry(&image, entry, out, e);
    ir_program_release(&image);
    return code;
}
