/* toast drain: asks a worker to take no more tasks, so that its process can be ended without losing work.
 * It only asks: the worker goes on running. */
#include "cli/output.h"
#include "cli/service_address.h"
#include "queue/queue.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "usage: toast drain [--data DIR | --redis ADDRESS] [--undo] WORKER\n\n"
    "The worker ends or gives back what it is doing and takes nothing more until --undo or its end.\n"
    "WORKER is its name as its log and the dashboard say it "
    "(host:pid:number).\n\n" SERVICE_ADDRESS_DATA_HELP SERVICE_ADDRESS_REDIS_HELP
    "  --undo             it takes tasks again\n\n"
    "Exit status: 0 done, 2 no such worker, 5 Redis cannot be reached.\n\n"
    "example:\n  toast drain --data /var/lib/toast host1:4711:5eed1234\n";

int cmd_drain(int argc, char **argv)
{
    static const struct option options[] = {{"redis", 1, NULL, 'r'},
                                            {"data", 1, NULL, 'd'},
                                            {"undo", 0, NULL, 'u'},
                                            {"help", 0, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    struct service_address where = {0};
    struct queue *queue;
    struct error e = {0};
    bool undo = false, known = false;
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;)
        if (c == 'h') {
            fputs(usage, stdout);
            return 0;
        } else if (c == 'r') {
            where.redis = optarg;
        } else if (c == 'd') {
            where.data = optarg;
        } else if (c == 'u') {
            undo = true;
        } else {
            return cli_usage("drain", "unknown option");
        }
    if (optind + 1 != argc)
        return cli_usage("drain", "it needs one worker's name");
    int status = service_address_check(&where, "drain");
    if (status >= 0)
        return status;
    char *redis = service_address_redis(&where);
    enum error_code code = queue_create(redis, &queue, &e);
    free(redis);
    if (code == ERROR_OK) {
        code = queue_drain(queue, argv[optind], !undo, &known, &e);
        queue_destroy(queue);
    }
    if (code == ERROR_OK && !known)
        code = error_set(&e, ERROR_NOT_FOUND, "no worker of this name beats");
    return code == ERROR_OK ? 0 : cli_fail("drain", NULL, &e);
}
