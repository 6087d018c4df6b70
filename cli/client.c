/* The client side of the service's API; see client.h. */
#include "cli/client.h"

#include "base/memory.h"
#include "cli/output.h"
#include "http/client.h"
#include "report/report.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static enum error_code exchange(const char *method, const char *path, const char *content_type,
                                const void *body, size_t size, const char *prefer, struct http_reply *reply,
                                struct error *e)
{
    const char *base = getenv("TOAST_URL");
    base = base && *base ? base : "http://127.0.0.1:8080";
    size_t n = strlen(base);
    char *url = mem_printf("%.*s%s", (int)(n && base[n - 1] == '/' ? n - 1 : n), base, path);
    struct http_request request = {.method = method,
                                   .url = url,
                                   .token = getenv("TOAST_KEY"),
                                   .content_type = content_type,
                                   .prefer = prefer,
                                   .body = body,
                                   .body_size = size,
                                   .max_reply_bytes = (size_t)1 << 31,
                                   .timeout_s = 600};
    enum error_code code = http_exchange(&request, reply, e);
    free(url);
    return code;
}

const char *client_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));
    return text ? text : "";
}

static enum error_code problem(const struct http_reply *reply, const char *path, struct error *e)
{
    json_t *json = json_loadb(reply->body, reply->size, 0, NULL);
    const char *detail = client_text(json, "detail");
    enum error_code code = error_code_from_text(client_text(json, "code"));
    if (!json || !detail[0])
        code = error_set(e, reply->status >= 500 ? ERROR_UNAVAILABLE : ERROR_INTERNAL,
                         "the service answered %d to %.200s", reply->status, path);
    else
        error_set_at(e, code, (int)json_integer_value(json_object_get(json, "line")),
                     (int)json_integer_value(json_object_get(json, "column")), "%s", detail);
    if (e && json)
        snprintf(e->pointer, sizeof e->pointer, "%s",
                 client_text(json_array_get(json_object_get(json, "errors"), 0), "pointer"));
    json_decref(json);
    return code;
}

/* client_json that says what it prefers */
static enum error_code ask(const char *method, const char *path, const char *content_type, const void *body,
                           size_t size, const char *prefer, json_t **out, struct error *e)
{
    struct http_reply reply;
    enum error_code code = exchange(method, path, content_type, body, size, prefer, &reply, e);
    if (code != ERROR_OK)
        return code;
    if (reply.status >= 400)
        code = problem(&reply, path, e);
    else
        *out = reply.size ? json_loadb(reply.body, reply.size, JSON_REJECT_DUPLICATES, NULL) : NULL;
    http_reply_release(&reply);
    return code;
}

enum error_code client_json(const char *method, const char *path, const char *content_type, const void *body,
                            size_t size, json_t **out, struct error *e)
{
    return ask(method, path, content_type, body, size, NULL, out, e);
}

enum error_code client_bytes(const char *path, char **bytes, size_t *size, struct error *e)
{
    struct http_reply reply;
    enum error_code code = exchange("GET", path, NULL, NULL, 0, NULL, &reply, e);
    if (code != ERROR_OK)
        return code;
    if (reply.status != 200) {
        code = problem(&reply, path, e);
        http_reply_release(&reply);
        return code;
    }
    *bytes = reply.body;
    *size = reply.size;
    return ERROR_OK;
}

bool client_ended(const json_t *job)
{
    static const char *const ends[] = {"succeeded", "failed", "cancelled", "expired", "dead"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strcmp(client_text(job, "state"), ends[i]) == 0)
            return true;
    return false;
}

static void print_safe(FILE *out, const char *text)
{
    for (; *text; text++)
        fputc(iscntrl((unsigned char)*text) ? ' ' : *text, out);
}

void client_print(FILE *out, const json_t *job)
{
    const json_t *progress = json_object_get(job, "progress"), *best = json_object_get(progress, "best");
    const json_t *error = json_object_get(job, "error");
    print_safe(out, client_text(job, "id"));
    fputs("  ", out);
    print_safe(out, client_text(job, "state"));
    if (client_text(progress, "stage")[0] && !client_ended(job)) {
        fputs(", ", out);
        print_safe(out, client_text(progress, "stage"));
    }
    if (json_object_get(progress, "rollouts"))
        fprintf(out, ", %lld rollouts", (long long)json_integer_value(json_object_get(progress, "rollouts")));
    if (best) {
        char step[32], peak[32];
        report_time(json_integer_value(json_object_get(best, "step_ps")), step);
        report_bytes(json_integer_value(json_object_get(best, "peak_bytes")), peak);
        fprintf(out, ", best %s, %s a device%s (", step, peak,
                json_is_false(json_object_get(best, "fits")) ? ", does not fit" : "");
        print_safe(out, client_text(best, "found_by"));
        fputc(')', out);
    }
    if (json_is_object(error)) {
        const json_t *line = json_object_get(error, "line");
        fputs("\n  ", out);
        print_safe(out, client_text(error, "code"));
        fputs(": ", out);
        print_safe(out, client_text(error, "message")[0] ? client_text(error, "message")
                                                         : client_text(error, "detail"));
        if (line)
            fprintf(out, " (line %lld, column %lld)", (long long)json_integer_value(line),
                    (long long)json_integer_value(json_object_get(error, "column")));
    }
    fputc('\n', out);
}

/* A service that has answered before may be away for this long (a restart) without ending the wait; what
 * takes less than SOON_S needs no line of progress, and no answer that was waited for comes sooner. */
static const double AWAY_S = 30, SOON_S = 0.2;

enum error_code client_wait(const char *id, double timeout_s, bool quiet, json_t **job, struct error *e)
{
    char *path = mem_printf("/v1/jobs/%s", id);
    double start = clock_seconds(), asked;
    const char *prefer = NULL; /* the first answer comes at once */
    double shown = -1; /* rollouts and first letter of the stage that the last line showed, as one number */
    enum error_code code;
    *job = NULL;
    for (;;) {
        json_t *now = NULL;
        asked = clock_seconds();
        code = ask("GET", path, NULL, NULL, 0, prefer, &now, e);
        if (code == ERROR_UNAVAILABLE && clock_seconds() - start < AWAY_S && *job)
            now = json_incref(*job); /* a restart of the server is not the job's end */
        else if (code != ERROR_OK)
            break;
        json_decref(*job);
        *job = now;
        const json_t *progress = json_object_get(now, "progress");
        double said = (double)json_integer_value(json_object_get(progress, "rollouts")) +
                      (double)client_text(progress, "stage")[0] / 256.0;
        if (!quiet && said != shown && !client_ended(now) && clock_seconds() - start > SOON_S) {
            client_print(stderr, now);
            shown = said;
        }
        code = ERROR_OK;
        if (client_ended(now))
            break;
        if (timeout_s > 0 && clock_seconds() - start > timeout_s) {
            code = error_set(e, ERROR_DEADLINE,
                             "the job has not ended after %.0f s; it goes on: toast wait %s", timeout_s, id);
            break;
        }
        /* The service holds its answer back until the job has ended or the time is over. One that answers
         * at once all the same, or is away, is asked again after a pause. */
        if (prefer && clock_seconds() - asked < SOON_S) {
            struct timespec when = {0, 300000000};
            nanosleep(&when, NULL);
        }
        prefer = quiet && !(timeout_s > 0) ? "wait=20" : "wait=1";
    }
    free(path);
    if (code != ERROR_OK) {
        json_decref(*job);
        *job = NULL;
    }
    return code;
}

int client_status(const json_t *job)
{
    const char *state = client_text(job, "state");
    const json_t *best = json_object_get(json_object_get(job, "progress"), "best");
    if (strcmp(state, "succeeded") == 0)
        return json_is_false(json_object_get(best, "fits")) ? 3 : client_text(job, "stopped_by")[0] ? 4 : 0;
    if (strcmp(state, "failed") == 0)
        return error_code_exit_status(
            error_code_from_text(client_text(json_object_get(job, "error"), "code")));
    return strcmp(state, "dead") == 0 ? 1 : 4;
}

int client_arguments_take(const char *command, const char *usage, int argc, char **argv,
                          struct client_arguments *out)
{
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--json") == 0)
            out->json = true;
        else if (strcmp(argv[i], "--quiet") == 0)
            out->quiet = true;
        else if (strcmp(argv[i], "--follow") == 0)
            out->follow = true;
        else if (strcmp(argv[i], "--discard") == 0)
            out->discard = true;
        else if (strcmp(argv[i], "-o") == 0 && more)
            out->directory = argv[++i];
        else if (strcmp(argv[i], "--timeout") == 0 && more)
            out->timeout_s = strtod(argv[++i], NULL);
        else if (argv[i][0] == '-')
            return cli_usage(command, "unknown option or missing value: '%s'", argv[i]);
        else if (out->id)
            return cli_usage(command, "one job at a time; '%s' is a second one", argv[i]);
        else
            out->id = argv[i];
    }
    if (!out->id)
        return cli_usage(command, "a job id is needed");
    /* the service's own ids and those that clients chose with PUT */
    if (strspn(out->id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") !=
            strlen(out->id) ||
        out->id[0] == '.')
        return cli_usage(command, "that is no job id");
    return -1;
}
