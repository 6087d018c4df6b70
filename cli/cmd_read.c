/* toast read: prints what the sandboxed reader understood of each file, from the program image, in generic
 * or pretty form. */
#include "base/file.h"
#include "cli/output.h"
#include "ir/print.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: toast read FILE... [--generic|--pretty] [-o DIR]\n\n"
    "Reads StableHLO text (pretty or generic, gzip too, - is standard input) and prints the module as it "
    "was\n"
    "understood. A file that is refused gets a message FILE:LINE:COLUMN: on stderr; the others are still\n"
    "read, and the exit status is 6.\n\n"
    "  --generic             MLIR's generic form (the default)\n"
    "  --pretty              StableHLO's pretty form, for ops that have one\n"
    "  -o DIR                write DIR/NAME.mlir for each file, made when absent; standard output when "
    "absent\n\n"
    "examples:\n"
    "  toast read model.mlir --generic\n"
    "  toast read models/*.mlir.gz --pretty -o understood/\n";

/* DIR/NAME without the folder and without .gz; owned */
static char *output_path(const char *directory, const char *file)
{
    const char *slash = strrchr(file, '/'), *base = slash ? slash + 1 : file;
    size_t size = strlen(base);
    if (size > 3 && strcmp(base + size - 3, ".gz") == 0)
        size -= 3;
    if (strcmp(file, "-") == 0)
        return mem_printf("%s/stdin.mlir", directory);
    return mem_printf("%s/%.*s", directory, (int)size, base);
}

static int read_one(const char *file, bool pretty, const char *directory)
{
    struct ir_program program = {0};
    struct text out = {0};
    struct error e = {.code = ERROR_OK};
    enum error_code code = cli_read_module(file, &program, &e);
    if (code == ERROR_OK) {
        (pretty ? ir_print_pretty : ir_print)(&program, &out);
        if (directory) {
            char *path = output_path(directory, file);
            code = file_write(path, out.at, out.size, &e);
            free(path);
        } else if (fwrite(out.at, 1, out.size, stdout) != out.size) {
            code = error_set(&e, ERROR_IO, "standard output: it could not be written");
        }
    }
    text_release(&out);
    ir_program_release(&program);
    return code == ERROR_OK ? 0 : cli_fail("read", file, &e);
}

static bool is_form(const char *option)
{
    return strcmp(option, "--generic") == 0 || strcmp(option, "--pretty") == 0;
}

int cmd_read(int argc, char **argv)
{
    const char *directory = NULL;
    bool pretty = false;
    int files = 0, status = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        } else if (strcmp(argv[i], "-o") == 0) {
            if (++i == argc)
                return cli_usage("read", "-o needs a folder");
            directory = argv[i];
        } else if (!is_form(argv[i]) && argv[i][0] == '-' && argv[i][1]) {
            return cli_usage("read", "there is no option %s", argv[i]);
        } else if (is_form(argv[i])) {
            pretty = strcmp(argv[i], "--pretty") == 0;
        } else {
            files++;
        }
    }
    if (files == 0)
        return cli_usage("read", "which files?");
    struct error e;
    if (directory && file_make_directory(directory, &e) != ERROR_OK)
        return cli_fail("read", directory, &e);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-o") == 0) {
            i++;
        } else if (!is_form(argv[i])) {
            int failed = read_one(argv[i], pretty, directory);
            if (failed && status != 6) /* a refused module is what the status tells first */
                status = failed;
        }
    }
    fflush(stdout);
    return ferror(stdout) && !status ? 1 : status;
}
