/* toast cancel: asks the service to stop a job. The job ends with the artifacts of its best plan so far,
 * or without any (--discard). */
#include "base/memory.h"
#include "cli/client.h"
#include "cli/output.h"

#include <stdlib.h>

static const char usage[] =
    "usage: toast cancel JOB [--discard]\n\n"
    "Stops a job. What it had found is written as its artifacts, unless --discard.\n\n"
    "example:\n  toast cancel j_01...\n";

int cmd_cancel(int argc, char **argv)
{
    struct client_arguments client_arguments = {0};
    struct error e = {0};
    json_t *job = NULL;
    int status = client_arguments_take("cancel", usage, argc, argv, &client_arguments);
    if (status >= 0)
        return status;
    char *path = mem_printf("/v1/jobs/%s:cancel%s", client_arguments.id,
                            client_arguments.discard ? "?discard=true" : "");
    enum error_code code = client_json("POST", path, NULL, NULL, 0, &job, &e);
    free(path);
    if (code != ERROR_OK)
        return cli_fail("cancel", NULL, &e);
    client_print(stdout, job);
    json_decref(job);
    return 0;
}
