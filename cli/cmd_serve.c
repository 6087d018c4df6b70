/* toast serve: the whole service on this machine: a private redis-server on a unix socket, toast-server
 * and workers, all children of this process. One that dies is started again. On SIGTERM they are ended in
 * an order that loses nothing: the server first (no new jobs), then the workers, then Redis, which has
 * everything on disk. */
#include "base/file.h"
#include "base/log.h"
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { PROCESSES_MAX = 66, ARGUMENTS_MAX = 80, NAMES_MAX = 64, REDIS_READY_S = 30 };
enum {
    STOP_S = 20
}; /* until a child is killed: the server lets exchanges end for 10 s and may then wait for Redis */

struct process {
    const char *name;
    char *argv[ARGUMENTS_MAX]; /* owned; NULL-terminated */
    pid_t pid;                 /* 0: not running */
    /* seconds before it is started again; doubles up to 8 while it dies at once */
    double started, pause;
};

struct serve {
    long workers, threads;
    const char *listen;
    const char *names[NAMES_MAX]; /* --host-name and --cors-origin with their values, for the server */
    int name_count;
    char *data, *programs, *socket;
    bool insecure, require_keys, stopping;
    struct process processes[PROCESSES_MAX]; /* [0] redis, [1] server, then workers */
    int count;
};

static const char usage[] =
    "usage: toast serve [--workers N] [--threads N] [--data DIR] [--listen ADDRESS:PORT] "
    "[--require-keys]\n                   [--insecure-listen] [--host-name NAME].. [--cors-origin "
    "ORIGIN]..\n\n"
    "Runs the whole service on this machine: a private Redis on a unix socket, the server and workers.\n\n"
    "  --workers          N             worker processes (1)\n"
    "  --threads          N             tasks at a time in each (number of processors / workers)\n"
    "  --data             DIR           everything that must survive a restart (toast-data)\n"
    "  --listen           ADDRESS:PORT  (127.0.0.1:8080); TOAST_LISTEN\n"
    "  --require-keys                   let nobody in without a key, even while there is none\n"
    "  --insecure-listen                allow an address other than loopback although there are no keys\n"
    "  --host-name        NAME          another name of this machine: without keys only localhost is "
    "answered\n"
    "  --cors-origin      ORIGIN        https://HOST[:PORT] whose pages may use the API; none without "
    "this\n\n"
    "Keys: toast keys add --data DIR. While there are none, a loopback address is open.\n"
    "Limits, as for toast-server: TOAST_OPEN_JOBS, TOAST_SUBMITS_PER_S, TOAST_TENANT_BYTES, "
    "TOAST_EVENT_STREAMS.\n"
    "Logs: one line of JSON per event on stderr; Redis' own in DIR/redis.log. Stop with ^C or SIGTERM.\n\n"
    "example:\n  toast serve --workers 2 --data /var/lib/toast\n";

static void sleep_s(double s)
{
    struct timespec when = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
    nanosleep(&when, NULL);
}

/* ---- processes ---- */

static struct process *add_process(struct serve *serve, const char *name, const char *const *arguments)
{
    struct process *process = &serve->processes[serve->count++];
    process->name = name;
    for (int i = 0; arguments[i]; i++) {
        BASE_CHECK(i + 1 < ARGUMENTS_MAX);
        process->argv[i] = mem_strdup(arguments[i]);
    }
    return process;
}

static void start_process(struct process *process)
{
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    /* ^C reaches this process, which stops the others in order */
    posix_spawnattr_setpgroup(&attributes, 0);
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int result = posix_spawnp(&process->pid, process->argv[0], NULL, &attributes, process->argv, environ);
    posix_spawnattr_destroy(&attributes);
    process->started = clock_seconds();
    if (result != 0) {
        log_event("not_started", "process", process->name, "reason", strerror(result), NULL);
        process->pid = 0;
    }
}

static void note_death(struct serve *serve, pid_t pid, int status)
{
    for (int i = 0; i < serve->count; i++) {
        struct process *process = &serve->processes[i];
        if (process->pid != pid)
            continue;
        char how[48];
        snprintf(how, sizeof how, WIFSIGNALED(status) ? "signal %d" : "exit status %d",
                 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
        log_event(serve->stopping ? "stopped" : "died", "process", process->name, "how", how, NULL);
        process->pid = 0;
        process->pause = clock_seconds() - process->started > 5 ? 0
                         : process->pause > 0 ? (process->pause < 8 ? process->pause * 2 : 8)
                                              : 0.1;
        process->started = clock_seconds(); /* of the pause */
    }
}

static void reap(struct serve *serve)
{
    int status;
    for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
        note_death(serve, pid, status);
}

static void stop_processes(struct serve *serve, int from, int to)
{
    for (int i = from; i < to; i++)
        if (serve->processes[i].pid)
            kill(serve->processes[i].pid, SIGTERM);
    for (double start = clock_seconds(); clock_seconds() - start < STOP_S; sleep_s(0.02)) {
        bool running = false;
        reap(serve);
        for (int i = from; i < to; i++)
            running |= serve->processes[i].pid != 0;
        if (!running)
            return;
    }
    for (int i = from; i < to; i++)
        if (serve->processes[i].pid)
            kill(serve->processes[i].pid, SIGKILL);
}

/* ---- what runs ---- */

static void add_redis(struct serve *serve)
{
    char *directory = mem_printf("%s/redis", serve->data), *log = mem_printf("%s/redis.log", serve->data);
    const char *const arguments[] = {"redis-server",
                                     "--port",
                                     "0",
                                     "--unixsocket",
                                     serve->socket,
                                     "--unixsocketperm",
                                     "700",
                                     "--dir",
                                     directory,
                                     "--logfile",
                                     log,
                                     "--appendonly",
                                     "yes",
                                     "--appendfsync",
                                     "always",
                                     "--maxmemory",
                                     "1gb",
                                     "--maxmemory-policy",
                                     "noeviction",
                                     "--save",
                                     "",
                                     NULL};
    add_process(serve, "redis", arguments);
    free(directory);
    free(log);
}

static void add_ours(struct serve *serve)
{
    char *redis = mem_printf("unix:%s", serve->socket), *store = mem_printf("dir:%s", serve->data);
    char *server = mem_printf("%s/toast-server", serve->programs),
         *worker = mem_printf("%s/toast-worker", serve->programs);
    char *ready = mem_printf("%s/port", serve->data), threads[16];
    snprintf(threads, sizeof threads, "%ld", serve->threads);
    const char *server_arguments[12 + NAMES_MAX] = {
        server, "--redis", redis, "--store", store, "--listen", serve->listen, "--ready-file", ready};
    const char **more = server_arguments + 9;
    if (serve->require_keys)
        *more++ = "--require-keys";
    if (serve->insecure)
        *more++ = "--insecure-listen";
    for (int i = 0; i < serve->name_count; i++)
        *more++ = serve->names[i];
    const char *const worker_arguments[] = {worker, "--redis",   redis,   "--store",
                                            store,  "--threads", threads, NULL};
    add_process(serve, "server", server_arguments);
    for (long i = 0; i < serve->workers; i++)
        add_process(serve, "worker", worker_arguments);
    free(redis);
    free(store);
    free(server);
    free(worker);
    free(ready);
}

static bool redis_answers(const struct serve *serve)
{
    struct sockaddr_un where = {.sun_family = AF_UNIX};
    char answer[8] = "";
    snprintf(where.sun_path, sizeof where.sun_path, "%s", serve->socket);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = fd >= 0 && connect(fd, (struct sockaddr *)&where, sizeof where) == 0 &&
                send(fd, "PING\r\n", 6, 0) == 6 && recv(fd, answer, sizeof answer - 1, 0) > 0 &&
                strncmp(answer, "+PONG", 5) == 0;
    if (fd >= 0)
        close(fd);
    return good;
}

/* ---- life ---- */

static int take_options(struct serve *serve, int argc, char **argv)
{
    const char *where = getenv("TOAST_LISTEN");
    serve->workers = 1;
    serve->listen = where && *where ? where : "127.0.0.1:8080";
    const char *data = "toast-data";
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            fputs(usage, stdout);
            return 0;
        }
        if (strcmp(argv[i], "--insecure-listen") == 0)
            serve->insecure = true;
        else if (strcmp(argv[i], "--require-keys") == 0)
            serve->require_keys = true;
        else if ((strcmp(argv[i], "--host-name") == 0 || strcmp(argv[i], "--cors-origin") == 0) && more &&
                 serve->name_count < NAMES_MAX) {
            serve->names[serve->name_count++] = argv[i];
            serve->names[serve->name_count++] = argv[++i];
        } else if (strcmp(argv[i], "--workers") == 0 && more)
            serve->workers = strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--threads") == 0 && more)
            serve->threads = strtol(argv[++i], NULL, 10);
        else if (strcmp(argv[i], "--data") == 0 && more)
            data = argv[++i];
        else if (strcmp(argv[i], "--listen") == 0 && more)
            serve->listen = argv[++i];
        else
            return cli_usage("serve", "unknown option or missing value: '%s'", argv[i]);
    }
    if (serve->workers < 0 || serve->workers > PROCESSES_MAX - 2)
        return cli_usage("serve", "--workers needs 0 to %d", PROCESSES_MAX - 2);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    if (serve->threads == 0)
        serve->threads = serve->workers && processors > serve->workers ? processors / serve->workers : 1;
    if (serve->threads < 1 || serve->threads > 256)
        return cli_usage("serve", "--threads needs 1 to 256");
    serve->data = mem_strdup(data);
    return -1;
}

/* the folder is ours alone while we run; the socket's path must fit into sockaddr_un */
static enum error_code prepare(struct serve *serve, struct error *e)
{
    char *redis = mem_printf("%s/redis", serve->data);
    enum error_code code = file_make_directory(redis, e);
    if (code == ERROR_OK) /* an older service made it for all to see */
        (void)!chmod(redis, 0700);
    free(redis);
    if (code != ERROR_OK)
        return code;
    char *absolute = realpath(serve->data, NULL);
    if (!absolute)
        return error_set(e, ERROR_IO, "%s: %s", serve->data, strerror(errno));
    free(serve->data);
    serve->data = absolute;
    char *lock = mem_printf("%s/serve.lock", serve->data); /* blobs.lock is the store's */
    int fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    free(lock);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0)
        return error_set(e, ERROR_CONFLICT, "another toast serve runs on %s", serve->data);
    serve->socket = mem_printf("%s/redis/redis.sock", serve->data);
    if (strlen(serve->socket) >= sizeof((struct sockaddr_un *)0)->sun_path)
        return error_set(e, ERROR_USAGE, "%s: this path is too long for a socket; choose a shorter --data",
                         serve->data);
    unlink(serve->socket);
    char *port = mem_printf("%s/port", serve->data);
    unlink(port);
    free(port);
    serve->programs = file_program_directory();
    return ERROR_OK;
}

static enum error_code start_all(struct serve *serve, struct error *e)
{
    add_redis(serve);
    add_ours(serve);
    start_process(&serve->processes[0]);
    for (double start = clock_seconds(); !redis_answers(serve); sleep_s(0.02)) {
        reap(serve);
        if (!serve->processes[0].pid || clock_seconds() - start > REDIS_READY_S)
            return error_set(e, ERROR_UNAVAILABLE,
                             "redis-server does not run; see %s/redis.log (is it installed?)", serve->data);
    }
    for (int i = 1; i < serve->count; i++)
        start_process(&serve->processes[i]);
    return ERROR_OK;
}

/* "ADDRESS:0" takes any port: a server that is started again must take the same one */
static void keep_port(struct serve *serve, const char *file)
{
    char *port = NULL;
    size_t size = 0;
    struct process *server = &serve->processes[1];
    if (file_read(file, 16, &port, &size, NULL) != ERROR_OK)
        return;
    for (int i = 0; server->argv[i]; i++)
        if (strcmp(server->argv[i], "--listen") == 0 && server->argv[i + 1]) {
            char *old = server->argv[i + 1], *colon = strrchr(old, ':');
            server->argv[i + 1] = mem_printf("%.*s:%s", colon ? (int)(colon - old) : 0, old, port);
            free(old);
        }
    free(port);
}

/* until SIGTERM or SIGINT; the server's first death at once (a port in use) is final */
static enum error_code watch(struct serve *serve, struct error *e)
{
    sigset_t wanted;
    struct timespec tick = {0, 200000000};
    char *port = mem_printf("%s/port", serve->data);
    bool ready = false;
    enum error_code code = ERROR_OK;
    sigemptyset(&wanted);
    sigaddset(&wanted, SIGTERM);
    sigaddset(&wanted, SIGINT);
    sigaddset(&wanted, SIGCHLD);
    while (code == ERROR_OK) {
        int got = sigtimedwait(&wanted, NULL, &tick);
        if (got == SIGTERM || got == SIGINT)
            break;
        reap(serve);
        if (!ready && access(port, F_OK) == 0) {
            ready = true;
            keep_port(serve, port);
        }
        if (!ready && !serve->processes[1].pid)
            code = error_set(e, ERROR_UNAVAILABLE, "the server does not start; its reason stands above");
        for (int i = 0; code == ERROR_OK && i < serve->count; i++)
            if (!serve->processes[i].pid &&
                clock_seconds() - serve->processes[i].started >= serve->processes[i].pause)
                start_process(&serve->processes[i]);
    }
    free(port);
    return code;
}

int cmd_serve(int argc, char **argv)
{
    umask(077); /* modules, plans and digests of keys are for nobody else; children have it, too */
    struct serve serve = {0};
    struct error e = {0};
    sigset_t blocked;
    int status = take_options(&serve, argc, argv);
    if (status >= 0)
        return status;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigaddset(&blocked, SIGINT);
    sigaddset(&blocked, SIGCHLD);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    enum error_code code = prepare(&serve, &e);
    if (code == ERROR_OK)
        code = start_all(&serve, &e);
    if (code == ERROR_OK)
        code = watch(&serve, &e);
    serve.stopping = true;
    if (serve.count) {
        stop_processes(&serve, 1, 2);
        stop_processes(&serve, 2, serve.count);
        stop_processes(&serve, 0, 1);
    }
    for (int i = 0; i < serve.count; i++)
        for (int k = 0; serve.processes[i].argv[k]; k++)
            free(serve.processes[i].argv[k]);
    free(serve.data);
    free(serve.programs);
    free(serve.socket);
    return code == ERROR_OK ? 0 : cli_fail("serve", NULL, &e);
}
