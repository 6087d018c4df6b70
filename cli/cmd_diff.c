/* toast diff: two plans or more side by side, each a folder or a plan.json of `toast plan`, or a job of
 * the service. Nothing is priced anew: what was written is compared (api/compare.h). */
#include "api/compare.h"
#include "base/file.h"
#include "base/memory.h"
#include "cli/client.h"
#include "cli/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char usage[] = "usage: toast diff A B .. [--json]\n\n"
                            "Plans side by side: price, decisions, collectives, and the tensors that are "
                            "sharded differently. Each is a job's id, a\n"
                            "folder with plan.json and report.json (toast plan -o, toast fetch -o), or a "
                            "plan.json (report.json beside it is used).\n"
                            "Two to eight.\n\n"
                            "examples:\n  toast diff plan-a/ plan-b/\n  toast diff j_01... j_02... --json\n";

struct texts {
    char *plan, *report, *state;
};

static bool is_job(const char *name)
{
    struct stat st;
    return strncmp(name, "j_", 2) == 0 && stat(name, &st) != 0;
}

static enum error_code from_service(const char *id, struct texts *texts, struct api_compare_item *item,
                                    struct error *e)
{
    json_t *job = NULL;
    char *path = mem_printf("/v1/jobs/%s", id);
    enum error_code code = client_json("GET", path, NULL, NULL, 0, &job, e);
    free(path);
    if (code != ERROR_OK)
        return code;
    texts->state = mem_strdup(client_text(job, "state"));
    item->state = texts->state;
    json_decref(job);
    path = mem_printf("/v1/jobs/%s/plan", id);
    code = client_bytes(path, &texts->plan, &item->plan_size, e);
    free(path);
    if (code != ERROR_OK)
        return code;
    path = mem_printf("/v1/jobs/%s/artifacts/report.json", id);
    code = client_bytes(path, &texts->report, &item->report_size, e);
    free(path);
    bool running = code == ERROR_NOT_FOUND || code == ERROR_NOT_READY; /* there is only a plan so far */
    return running ? ERROR_OK : code;
}

static enum error_code from_files(const char *name, struct texts *texts, struct api_compare_item *item,
                                  struct error *e)
{
    struct stat st;
    if (stat(name, &st) != 0)
        return error_set(e, ERROR_USAGE, "%s: %s", name, strerror(errno));
    const char *slash = strrchr(name, '/');
    bool folder = S_ISDIR(st.st_mode);
    char *plan = folder ? mem_printf("%s/plan.json", name) : mem_strdup(name);
    char *report = folder  ? mem_printf("%s/report.json", name)
                   : slash ? mem_printf("%.*s/report.json", (int)(slash - name), name)
                           : mem_strdup("report.json");
    enum error_code code = file_read(plan, CLI_PLAN_MAX_BYTES, &texts->plan, &item->plan_size, e);
    if (code == ERROR_OK && stat(report, &st) == 0)
        code = file_read(report, CLI_PLAN_MAX_BYTES, &texts->report, &item->report_size, e);
    free(plan);
    free(report);
    return code;
}

static enum error_code compare(const char *const *names, size_t count, char **json, struct error *e)
{
    struct api_compare_item items[API_COMPARE_MAX] = {0};
    struct texts texts[API_COMPARE_MAX] = {0};
    enum error_code code = ERROR_OK;
    for (size_t i = 0; i < count && code == ERROR_OK; i++) {
        items[i].name = names[i];
        code = is_job(names[i]) ? from_service(names[i], &texts[i], &items[i], e)
                                : from_files(names[i], &texts[i], &items[i], e);
        items[i].plan = texts[i].plan;
        items[i].report = texts[i].report;
    }
    if (code == ERROR_OK)
        code = api_compare(items, count, json, e);
    for (size_t i = 0; i < count; i++) {
        free(texts[i].plan);
        free(texts[i].report);
        free(texts[i].state);
    }
    return code;
}

int cmd_diff(int argc, char **argv)
{
    const char *names[API_COMPARE_MAX];
    size_t count = 0;
    bool as_json = false;
    char *json = NULL;
    struct error e = {0};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--json") == 0)
            as_json = true;
        else if (argv[i][0] == '-')
            return cli_usage("diff", "unknown option '%s'", argv[i]);
        else if (count == API_COMPARE_MAX)
            return cli_usage("diff", "at most %d plans", API_COMPARE_MAX);
        else
            names[count++] = argv[i];
    }
    if (count < API_COMPARE_MIN)
        return cli_usage("diff", "two plans or more are needed");
    if (compare(names, count, &json, &e) != ERROR_OK)
        return cli_fail("diff", NULL, &e);
    char *text = as_json ? mem_strdup(json) : api_compare_text(json);
    fputs(text, stdout);
    if (as_json)
        putchar('\n');
    free(text);
    free(json);
    return 0;
}
