/* toast submit: sends a module and a request to the service in one exchange, and waits for the job with
 * --wait. The module's bytes are sent as they are: the service reads and judges them. */
#include "api/flags.h"
#include "base/file.h"
#include "cli/client.h"
#include "cli/output.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct submit_command {
    struct api_flags flags;
    const char *module;
    char *request_text;
    bool wait, json, quiet;
};

static int help(void)
{
    struct text text = {0};
    text_add(&text,
             "usage: toast submit MODULE --mesh AXES --device NAME [options] [--wait]\n\n"
             "Sends a StableHLO module (text or gzip; - reads standard input) to the service and prints "
             "the job's id.\n\n");
    api_flags_help(&text);
    text_add(&text,
             "  --request          FILE   a job request (JSON); flags override it\n"
             "  --wait                    wait for the job's end; exit status as of toast wait\n"
             "  --json                    print the job's body\n"
             "  --quiet                   no progress\n\n"
             "TOAST_URL says where the service is (http://127.0.0.1:8080), TOAST_KEY holds the key where "
             "it wants one.\n\n"
             "example:\n  toast submit model.mlir.gz --mesh data=8,model=8 --device a100-40 --wait\n");
    fputs(text.at, stdout);
    text_release(&text);
    return 0;
}

/* -1: go on; else the exit status */
static int take_options(struct submit_command *submit_command, int argc, char **argv)
{
    struct error e;
    for (int i = 1; i < argc; i++) {
        int taken = api_flags_take(&submit_command->flags, argc, argv, &i, &e);
        if (taken < 0)
            return cli_usage("submit", "%s", e.message);
        if (taken > 0)
            continue;
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return help();
        if (strcmp(argv[i], "--wait") == 0)
            submit_command->wait = true;
        else if (strcmp(argv[i], "--json") == 0)
            submit_command->json = true;
        else if (strcmp(argv[i], "--quiet") == 0)
            submit_command->quiet = true;
        else if (strcmp(argv[i], "--request") == 0 && more) {
            free(submit_command->request_text);
            if (file_read(argv[++i], API_MAX_JSON_BYTES, &submit_command->request_text,
                          &submit_command->flags.request_size, &e) != ERROR_OK)
                return cli_fail("submit", NULL, &e);
            submit_command->flags.request = submit_command->request_text;
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return cli_usage("submit", "unknown option or missing value: '%s'", argv[i]);
        } else if (submit_command->module) {
            return cli_usage("submit", "one module at a time; '%s' is a second one", argv[i]);
        } else {
            submit_command->module = argv[i];
        }
    }
    return submit_command->module ? -1 : cli_usage("submit", "a module is needed");
}

/* the file ("-": standard input) as it is: gzip stays gzip */
static enum error_code add_file(struct text *body, const char *path, struct error *e)
{
    char chunk[1 << 16];
    bool standard_input = strcmp(path, "-") == 0;
    FILE *file = standard_input ? stdin : fopen(path, "rb");
    if (!file)
        return error_set(e, ERROR_USAGE, "%s: %s", path, strerror(errno));
    for (size_t n; (n = fread(chunk, 1, sizeof chunk, file)) > 0;)
        text_add_n(body, chunk, n);
    bool failed = ferror(file);
    if (!standard_input)
        fclose(file);
    return failed ? error_set(e, ERROR_USAGE, "%s: cannot be read", path) : ERROR_OK;
}

static enum error_code post(const struct submit_command *submit_command, const char *json, json_t **job,
                            struct error *e)
{
    static const char boundary[] =
        "toast-part-5f2c1d0b9a"; /* "\r\n--" and this do not stand in a module or in JSON */
    struct text body = {0};
    text_printf(&body,
                "--%s\r\nContent-Disposition: form-data; name=\"request\"\r\nContent-Type: "
                "application/json\r\n\r\n%s\r\n"
                "--%s\r\nContent-Disposition: form-data; name=\"module\"; filename=\"module\"\r\n\r\n",
                boundary, json, boundary);
    enum error_code code = add_file(&body, submit_command->module, e);
    text_printf(&body, "\r\n--%s--\r\n", boundary);
    char *type = mem_printf("multipart/form-data; boundary=%s", boundary);
    if (code == ERROR_OK)
        code = client_json("POST", "/v1/jobs", type, body.at, body.size, job, e);
    free(type);
    text_release(&body);
    return code;
}

int cmd_submit(int argc, char **argv)
{
    struct submit_command submit_command = {0};
    struct error e = {0};
    char *json = NULL;
    json_t *job = NULL;
    int status = take_options(&submit_command, argc, argv);
    if (status >= 0)
        goto out;
    enum error_code code = api_flags_request(&submit_command.flags, &json, &e);
    if (code == ERROR_OK)
        code = post(&submit_command, json, &job, &e);
    if (code == ERROR_OK && submit_command.wait) {
        char *id = mem_strdup(client_text(job, "id"));
        json_decref(job);
        code = client_wait(id, 0, submit_command.quiet, &job, &e);
        free(id);
    }
    if (code != ERROR_OK) {
        status = cli_fail("submit", submit_command.module, &e);
    } else {
        status = submit_command.wait ? client_status(job) : 0;
        if (submit_command.json) {
            json_dumpf(job, stdout, JSON_INDENT(2));
            putchar('\n');
        } else if (submit_command.wait) {
            client_print(stdout, job);
        } else {
            puts(client_text(job, "id"));
        }
    }
out:
    json_decref(job);
    free(json);
    free(submit_command.request_text);
    return status;
}
