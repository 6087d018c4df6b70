/* toast wait: returns when a job has ended; the exit status says how. */
#include "cli/client.h"
#include "cli/output.h"

static const char usage[] = "usage: toast wait JOB [--timeout SECONDS] [--json] [--quiet]\n\n"
                            "Waits until the job has ended, progress on stderr.\n"
                            "exit status: 0 done and fits, 1 internal error, 2 the request is at fault, 3 "
                            "nothing fits, 4 stopped early (deadline, cancel) or\n"
                            "--timeout passed, 5 service unreachable, 6 module refused\n\n"
                            "example:\n  toast wait j_01... && toast fetch j_01... -o plan/\n";

int cmd_wait(int argc, char **argv)
{
    struct client_arguments client_arguments = {0};
    struct error e = {0};
    json_t *job = NULL;
    int status = client_arguments_take("wait", usage, argc, argv, &client_arguments);
    if (status >= 0)
        return status;
    if (client_wait(client_arguments.id, client_arguments.timeout_s, client_arguments.quiet, &job, &e) !=
        ERROR_OK)
        return cli_fail("wait", NULL, &e);
    if (client_arguments.json) {
        json_dumpf(job, stdout, JSON_INDENT(2));
        putchar('\n');
    } else {
        client_print(stdout, job);
    }
    status = client_status(job);
    json_decref(job);
    return status;
}
