/* What the subcommands share: messages and exit statuses, --help, reading modules. Only here and in a
 * command itself is anything printed; libraries below never print or exit. */
#ifndef TOAST_CLI_OUTPUT_H
#define TOAST_CLI_OUTPUT_H

#include "base/clock.h"
#include "base/error.h"
#include "ir/program.h"

/* of a plan.json or report.json that a command reads */
static const size_t CLI_PLAN_MAX_BYTES = (size_t)256 << 20;

/* "toast plan: message" (or FILE:LINE:COL: message for module errors) on stderr; returns the exit status
 * of the code. */
int cli_fail(const char *command, const char *file, const struct error *e);
/* usage error: message and a pointer to --help; returns 2 */
int cli_usage(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* --help or -h anywhere: the usage on stdout, and true */
bool cli_help(int argc, char **argv, const char *usage);
/* StableHLO text (gzip is read directly) -> program image; "-" is standard input */
enum error_code cli_read_module(const char *path, struct ir_program *out, struct error *e) BASE_CHECKED;
/* module as planned: read, then prepared; entry: the function, or NULL */
enum error_code cli_prepare_module(const char *path, const char *entry, struct ir_program *out,
                                   struct error *e) BASE_CHECKED;

#endif
