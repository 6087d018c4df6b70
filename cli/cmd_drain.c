/* toast drain: asks a worker to take no more tasks, so that it can be taken away or upgraded in peace. */
#include "cli/output.h"
#include "queue/queue.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "usage: toast drain [--redis ADDRESS] [--undo] WORKER\n\n"
    "The worker ends or gives back what it is doing and takes nothing more until --undo or its end.\n"
    "WORKER is its name as its log and the dashboard say it (host:pid:number).\n\n"
    "  --redis  unix:PATH or redis://[:PASSWORD@]HOST:PORT   (TOAST_REDIS, redis://127.0.0.1:6379)\n"
    "  --undo   it takes tasks again\n\n"
    "Exit status: 0 done, 2 no such worker, 5 Redis cannot be reached.\n\n"
    "example:\n  toast drain --redis unix:toast-data/redis/redis.sock host1:4711:5eed1234\n";

int cmd_drain(int argc, char **argv)
{
    static const struct option options[] = {
        {"redis", 1, NULL, 'r'}, {"undo", 0, NULL, 'u'}, {"help", 0, NULL, 'h'}, {NULL, 0, NULL, 0}};
    const char *redis = getenv("TOAST_REDIS");
    struct queue *q;
    struct error e = {0};
    bool undo = false, known = false;
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;)
        if (c == 'h') {
            fputs(usage, stdout);
            return 0;
        } else if (c == 'r') {
            redis = optarg;
        } else if (c == 'u') {
            undo = true;
        } else {
            return cli_usage("drain", "unknown option");
        }
    if (optind + 1 != argc)
        return cli_usage("drain", "it needs one worker's name");
    enum error_code code = queue_create(redis ? redis : "redis://127.0.0.1:6379", &q, &e);
    if (code == ERROR_OK) {
        code = queue_drain(q, argv[optind], !undo, &known, &e);
        queue_destroy(q);
    }
    if (code == ERROR_OK && !known)
        code = error_set(&e, ERROR_NOT_FOUND, "no worker of this name beats");
    return code == ERROR_OK ? 0 : cli_fail("drain", NULL, &e);
}
