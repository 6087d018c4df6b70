/* toast status: one job of the service as a line (--follow: again whenever there is news), or the newest
 * ones. */
#include "base/memory.h"
#include "cli/client.h"
#include "cli/output.h"

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: toast status [JOB [--follow]] [--json]\n\n"
    "One line about a job, or about the 50 newest. --follow: a line whenever there is news, until\n"
    "the job has ended. TOAST_URL says where the service is.\n\n"
    "example:\n  toast status j_01...\n";

int cmd_status(int argc, char **argv)
{
    struct client_arguments client_arguments = {0};
    struct error e = {0};
    json_t *reply = NULL;
    bool all = argc == 1 || (argc == 2 && strcmp(argv[1], "--json") == 0);
    int status = all ? -1 : client_arguments_take("status", usage, argc, argv, &client_arguments);
    if (status >= 0)
        return status;
    char *path = all ? mem_strdup("/v1/jobs") : mem_printf("/v1/jobs/%s", client_arguments.id);
    enum error_code code = client_arguments.follow ? client_wait(client_arguments.id, 0, false, &reply, &e)
                                                   : client_json("GET", path, NULL, NULL, 0, &reply, &e);
    free(path);
    if (code != ERROR_OK)
        return cli_fail("status", NULL, &e);
    if (client_arguments.json || (all && argc == 2)) {
        json_dumpf(reply, stdout, JSON_INDENT(2));
        putchar('\n');
    } else if (all) {
        size_t i;
        json_t *job;
        json_array_foreach(json_object_get(reply, "jobs"), i, job) client_print(stdout, job);
    } else {
        client_print(stdout, reply);
    }
    json_decref(reply);
    return 0;
}
