/* Options of toast-worker: from the command line and the environment to struct worker_options, or a help
 * text and status 2. With --child first it is a child instead. */
#include "workers/worker.h"

#include "base/host.h"
#include "base/sanitizer.h"
#include "base/secret.h"
#include "http/client.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CHILD_MEMORY_MIN = 16 << 20, /* with less a child does not even start */
    TASK_LIMIT_S = 3600,
};

static void help(FILE *out)
{
    fprintf(
        out,
        "usage: toast-worker [--redis ADDRESS] [--store ADDRESS] [--threads N] [--child-memory BYTES] "
        "[--nice N]\n"
        "       [--cache-limit BYTES]\n\n"
        "  --redis    unix:PATH or redis://[USER@]HOST:PORT               (TOAST_REDIS, "
        "redis://127.0.0.1:6379)\n"
        "             Its password never stands here, where every user of the machine can read it, but in\n"
        "             TOAST_REDIS_PASSWORD or in the file that TOAST_REDIS_PASSWORD_FILE names.\n"
        "  --store    dir:PATH, or http://HOST:PORT of the server         (TOAST_STORE, dir:toast-data)\n"
        "  --threads  tasks at a time, each in a process of its own       (number of processors)\n"
        "  --child-memory  bytes of memory of each of these processes; a job that needs more fails with\n"
        "                  memory_limit; 0: no limit      (nine tenths of the cgroup's or the machine's, "
        "divided by\n"
        "                  --threads)\n"
        "  --task-limit    seconds; a task that takes longer is ended and counts as crashed (3600; 0: none)\n"
        "  --nice     their priority                                      (19)\n"
        "  --cache-limit   bytes that TOAST_CACHE may hold                (2000000000)\n\n"
        "With an http store, TOAST_WORKER_TOKEN (or the file that TOAST_WORKER_TOKEN_FILE names) is what the "
        "server\nwas given, and TOAST_CACHE a folder for "
        "what was read.\n"
        "SIGTERM: ends or gives back its tasks within 5 seconds. Any number of workers may come and go.\n\n"
        "example:\n  toast-worker --redis unix:/run/toast/redis.sock --store dir:/var/lib/toast --threads "
        "2\n");
}

/* what each of several children may take, so that a job that is too big fails by itself and is not ended,
 * with others, by the host; a tenth stays for readers' texts and the supervisor */
static long long default_memory(int threads)
{
    long long share = host_memory_bytes() / 10 * 9 / threads;
    return SANITIZED || share <= 0 ? 0 : share < CHILD_MEMORY_MIN ? CHILD_MEMORY_MIN : share;
}

/* whole decimal number in [low, high]; -1 otherwise */
static long long number(const char *text, long long low, long long high)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    return *text && !*end && value >= low && value <= high ? value : -1;
}

int worker_main(int argc, char **argv, const struct tasks_table *table)
{
    if (argc > 1 && strcmp(argv[1], "--child") == 0)
        return worker_child_run(argc, argv, table);
    const char *redis = getenv("TOAST_REDIS"), *store = getenv("TOAST_STORE");
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    struct worker_options worker_options = {
        .redis = redis ? redis : "redis://127.0.0.1:6379",
        .store = store ? store : "dir:toast-data",
        .threads = processors > 0 && processors <= WORKER_MAX_THREADS ? (int)processors : 1,
        .memory_bytes = -1,
        .task_limit_s = TASK_LIMIT_S,
        .nice = 19};
    static const struct option options[] = {
        {"redis", 1, NULL, 'r'},        {"store", 1, NULL, 's'},       {"threads", 1, NULL, 't'},
        {"child-memory", 1, NULL, 'm'}, {"cache-limit", 1, NULL, 'c'}, {"task-limit", 1, NULL, 'l'},
        {"nice", 1, NULL, 'n'},         {"help", 0, NULL, 'h'},        {NULL, 0, NULL, 0}};
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        long long value = 0;
        if (c == 'h') {
            help(stdout);
            return 0;
        }
        if (c == 'r') {
            worker_options.redis = optarg;
            value = secret_in_address(optarg) ? -1 : 0;
        } else if (c == 's')
            worker_options.store = optarg;
        else if (c == 't')
            worker_options.threads = (int)(value = number(optarg, 1, WORKER_MAX_THREADS));
        else if (c == 'm')
            worker_options.memory_bytes = value =
                strcmp(optarg, "0") == 0 ? 0 : number(optarg, CHILD_MEMORY_MIN, INT64_MAX);
        else if (c == 'c')
            worker_options.cache_bytes = value = number(optarg, 1, INT64_MAX);
        else if (c == 'l')
            worker_options.task_limit_s = (int)(value = number(optarg, 0, INT32_MAX));
        else if (c == 'n')
            worker_options.nice = (int)(value = number(optarg, 0, 19));
        else
            value = -1;
        if (value < 0) {
            help(stderr);
            return 2;
        }
    }
    if (optind < argc) {
        help(stderr);
        return 2;
    }
    if (worker_options.memory_bytes < 0)
        worker_options.memory_bytes = default_memory(worker_options.threads);
    http_client_start();
    return worker_run(&worker_options, table);
}
