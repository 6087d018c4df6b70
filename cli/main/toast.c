/* toast: one program for all subcommands (cli/commands.def). Exit status, the same for every command: 0
 * done and fits, 1 internal error, 2 usage, 3 nothing fits, 4 deadline with best-so-far, 5 service
 * unreachable, 6 module refused. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define CLI_COMMAND(name, line) int cmd_##name(int argc, char **argv);
#include "cli/commands.def"
#undef CLI_COMMAND

static const struct {
    const char *name, *line;
    int (*run)(int argc, char **argv);
} commands[] = {
#define CLI_COMMAND(name, line) {#name, line, cmd_##name},
#include "cli/commands.def"
#undef CLI_COMMAND
    {NULL, NULL, NULL},
};

static void help(FILE *out)
{
    fprintf(out, "usage: toast COMMAND [options]    (toast COMMAND --help for each)\n\n");
    for (int i = 0; commands[i].name; i++)
        fprintf(out, "  %-10s %s\n", commands[i].name, commands[i].line);
    fprintf(out, "\nexample:\n  toast plan model.mlir --mesh data=4,model=2 --device a100-40 -o plan/\n");
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        help(stderr);
        return 2;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
        help(stdout);
        return 0;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("toast %s\n", TOAST_VERSION);
        return 0;
    }
    for (int i = 0; commands[i].name; i++)
        if (strcmp(argv[1], commands[i].name) == 0)
            return commands[i].run(argc - 1, argv + 1);
    fprintf(stderr, "toast: there is no command '%s'; toast --help lists them\n", argv[1]);
    return 2;
}
