/* What every program of bench/ does with its command line: --help prints the text below and ends with status
 * 0; what it does not know is refused with status 2, before anything is measured. */
#ifndef TOAST_BENCH_USAGE_H
#define TOAST_BENCH_USAGE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ends the process when --help or -h is among the arguments */
static inline void usage_help(int argc, char **argv, const char *text)
{
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(text, stdout);
            exit(0);
        }
}

static inline _Noreturn void usage_refuse(const char *argument, const char *why)
{
    fprintf(stderr, "%s: %s (--help says what there is)\n", argument, why);
    exit(2);
}

/* the value of option argv[*i], which it steps over; refuses an option without one */
static inline const char *usage_value(int argc, char **argv, int *i)
{
    if (*i + 1 >= argc)
        usage_refuse(argv[*i], "needs a value");
    return argv[++*i];
}

/* a whole number of at least `least`, all of the text */
static inline unsigned long long usage_number(int argc, char **argv, int *i, unsigned long long least)
{
    const char *option = argv[*i], *text = usage_value(argc, argv, i);
    char *end;
    unsigned long long number = strtoull(text, &end, 10);
    if (end == text || *end || *text == '-' || number < least)
        usage_refuse(option, "needs a whole number");
    return number;
}

/* an argument that is no option; refuses what begins with a dash */
static inline const char *usage_operand(const char *argument)
{
    if (argument[0] == '-')
        usage_refuse(argument, "no such option");
    return argument;
}

#endif
