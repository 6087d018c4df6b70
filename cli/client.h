/* What the subcommands that talk to the service share: one exchange, a job as a line, waiting for a job.
 * The service's address is TOAST_URL (http://127.0.0.1:8080), the key TOAST_KEY. A request is sent once:
 * whether it may be repeated is the caller's to know. */
#ifndef TOAST_CLI_CLIENT_H
#define TOAST_CLI_CLIENT_H

#include "base/error.h"

#include <jansson.h>
#include <stddef.h>
#include <stdio.h>

/* One exchange; body NULL: none. The reply's JSON (owned; NULL when it has none). A problem becomes its
 * error: code, message, line, column, pointer. ERROR_UNAVAILABLE: the service is not there. */
enum error_code client_json(const char *method, const char *path, const char *content_type, const void *body,
                            size_t size, json_t **out, struct error *e) BASE_CHECKED;
/* bytes of an artifact (owned) */
enum error_code client_bytes(const char *path, char **bytes, size_t *size, struct error *e) BASE_CHECKED;

/* the string member, or "" */
const char *client_text(const json_t *object, const char *name);
bool client_ended(const json_t *job);
/* one line about a job on `out`, control characters replaced */
void client_print(FILE *out, const json_t *job);
/* Waits until the job has ended (Prefer: wait); progress on stderr unless quiet. *job owned. timeout_s 0:
 * none (ERROR_DEADLINE). */
enum error_code client_wait(const char *id, double timeout_s, bool quiet, json_t **job,
                            struct error *e) BASE_CHECKED;
/* exit status that a job's end means: 0 fits, 3 nothing fits, 4 stopped early, 6 module refused .. */
int client_status(const json_t *job);
/* exactly one job id among the arguments, --json, -h; -1: go on, else the exit status */
struct client_arguments {
    const char *id, *directory;
    bool json, quiet, discard, follow;
    double timeout_s;
};
int client_arguments_take(const char *command, const char *usage, int argc, char **argv,
                          struct client_arguments *out);

#endif
