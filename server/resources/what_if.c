/* See what_if.h. Threads take requests from a list; each starts a child, waits for its end (at most RUN_S)
 * and wakes the exchange. Program images are kept in the store; Redis knows which image belongs to a module
 * and a build, and forgets what nobody asked for in a week. */
#include "server/resources/what_if.h"

#include "api/what_if.h"
#include "base/host.h"
#include "base/log.h"
#include "queue/images.h"
#include "server/resources/shares.h"
#include "server/resources/what_if_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    THREADS_MAX = 8,         /* children at a time; each may take a processor for RUN_S */
    WAITING_MAX = 256,       /* requests; further ones of tenants that have one are told to come again */
    WAITING_ALL = 1024,      /* the same for everybody */
    WAITING_PER_TENANT = 32, /* an eighth of them: one tenant leaves room for others */
    RUN_S = 120,             /* then a child is killed */
    ASIDE_FD = 32            /* descriptors from here on are above WHAT_IF_DESCRIPTORS */
};
/* RLIMIT_DATA of a child: the planner's own, and what a byte of the module's text may become (the reader
 * alone takes 16 of the 64) */
static const size_t CHILD_MEMORY = (size_t)2 << 30, CHILD_MEMORY_PER_BYTE = 64;

struct work {
    struct work *next;
    struct exchange *exchange;
    char tenant[QUEUE_TENANT_SIZE], module[STORE_DIGEST_SIZE];
    char *request, *plan;
    size_t plan_size;
    struct what_if_result *result;
    pid_t child;                                                   /* 0: none */
    long long charged_us;                                          /* of the tenant's share */
    void (*run)(struct server *, void *, struct what_if_result *); /* NULL: a child prices */
    void *user;
};

struct what_if_pool {
    struct server *server;
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct work *first, **last, *running[THREADS_MAX]; /* first: in the order of arrival */
    struct shares shares;                              /* whose turn it is */
    int waiting, thread_count;
    bool ended, stop;
    pthread_t threads[THREADS_MAX];
};

void what_if_release(struct what_if_result *what_if_result)
{
    if (!what_if_result)
        return;
    free(what_if_result->json);
    free(what_if_result);
}

/* ---- one child ---- */

/* what a child gets and leaves; -1: none */
struct child {
    int fd[WHAT_IF_DESCRIPTORS]; /* by number in the child */
    int alive;                   /* our end of WHAT_IF_ALIVE */
    bool is_image;
    size_t module_size;
};

static int memory_file(const char *name, const void *bytes, size_t size)
{
    int fd = memfd_create(name, MFD_CLOEXEC);
    const char *at = bytes;
    while (fd >= 0 && size) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            close(fd);
            return -1;
        }
        at += n;
        size -= (size_t)n;
    }
    return fd;
}

/* The module's image when this build made one for this tenant, else its text: an image that somebody
 * else's request has left would tell by its time that somebody else has the module. */
static enum error_code open_module(struct server *server, const char *tenant, const char *module, bool reread,
                                   struct child *child, struct error *e)
{
    char image[STORE_DIGEST_SIZE] = "";
    struct queue *queue = pool_take(server);
    enum error_code code = reread ? ERROR_OK : queue_image_find(queue, tenant, module, api_build(), image, e);
    pool_give(server, queue);
    if (code != ERROR_OK)
        return code;
    child->is_image = image[0] && store_open(server->store, image, &child->fd[WHAT_IF_MODULE],
                                             &child->module_size, NULL) == ERROR_OK;
    if (child->is_image)
        return ERROR_OK;
    code = store_open(server->store, module, &child->fd[WHAT_IF_MODULE], &child->module_size, e);
    return code == ERROR_NOT_FOUND ? error_set_pointer(e, ERROR_INVALID_REQUEST, "/module",
                                                       "there is no module sha256:%s", module)
                                   : code;
}

static enum error_code prepare(struct server *server, const struct work *work, bool reread,
                               struct child *child, struct error *e)
{
    int alive[2];
    *child = (struct child){.alive = -1};
    for (int i = 0; i < WHAT_IF_DESCRIPTORS; i++)
        child->fd[i] = -1;
    enum error_code code = open_module(server, work->tenant, work->module, reread, child, e);
    if (code != ERROR_OK)
        return code;
    if (pipe2(alive, O_CLOEXEC) != 0)
        return error_set(e, ERROR_UNAVAILABLE, "the server has no descriptors left");
    child->alive = alive[0];
    child->fd[WHAT_IF_ALIVE] = alive[1];
    child->fd[WHAT_IF_REQUEST] = memory_file("toast-request", work->request, strlen(work->request));
    child->fd[WHAT_IF_PLAN] = memory_file("toast-plan", work->plan, work->plan_size);
    child->fd[WHAT_IF_ANSWER] = memory_file("toast-answer", NULL, 0);
    child->fd[WHAT_IF_IMAGE] = memory_file("toast-image", NULL, 0);
    for (int i = WHAT_IF_REQUEST; i < WHAT_IF_DESCRIPTORS; i++)
        if (child->fd[i] < 0)
            return error_set(e, ERROR_UNAVAILABLE, "the server has no memory or descriptors left");
    return ERROR_OK;
}

static void child_release(struct child *child)
{
    for (int i = WHAT_IF_REQUEST; i < WHAT_IF_DESCRIPTORS; i++)
        if (child->fd[i] >= 0)
            close(child->fd[i]);
    if (child->alive >= 0)
        close(child->alive);
}

static size_t memory_of(const struct child *child)
{
    return CHILD_MEMORY + CHILD_MEMORY_PER_BYTE * child->module_size;
}

/* the child's descriptors out of the way of those that it will have; false: there are none left */
static bool move_aside(const struct child *child, int moved[WHAT_IF_DESCRIPTORS])
{
    bool good = true;
    for (int i = WHAT_IF_REQUEST; i < WHAT_IF_DESCRIPTORS; i++)
        good &= (moved[i] = fcntl(child->fd[i], F_DUPFD_CLOEXEC, ASIDE_FD)) >= 0;
    return good;
}

static int spawn(struct child *child, const char *module, pid_t *pid)
{
    char name[] = "toast-server", mode[] = "--what-if", memory[32], digest[STORE_DIGEST_SIZE];
    char text[] = "text", image[] = "image";
    char locale[] = "LC_ALL=C", *environment[] = {locale, NULL}; /* nothing of ours: tokens stand there */
    char *argv[] = {name, mode, child->is_image ? image : text, memory, digest, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int moved[WHAT_IF_DESCRIPTORS];
    snprintf(memory, sizeof memory, "%zu", memory_of(child));
    snprintf(digest, sizeof digest, "%s", module);
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setpgroup(&attributes, 0); /* killed together with its reader */
    posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
    int failed = move_aside(child, moved) ? 0 : EMFILE;
    for (int i = WHAT_IF_REQUEST; !failed && i < WHAT_IF_DESCRIPTORS; i++)
        failed = posix_spawn_file_actions_adddup2(&actions, moved[i], i);
    if (!failed)
        failed = posix_spawn(pid, "/proc/self/exe", &actions, &attributes, argv, environment);
    for (int i = WHAT_IF_REQUEST; i < WHAT_IF_DESCRIPTORS; i++)
        if (moved[i] >= 0)
            close(moved[i]);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(child->fd[WHAT_IF_ALIVE]);
    child->fd[WHAT_IF_ALIVE] = -1;
    return failed;
}

static long long now_us(void)
{
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    return when.tv_sec * 1000000LL + when.tv_nsec / 1000;
}

/* waits for the child's end; one that takes too long is killed */
static void wait_for(const struct child *child, pid_t pid, struct what_if_end *end)
{
    struct pollfd pollfd = {child->alive, POLLIN, 0};
    struct rusage usage = {0};
    long long until_us = now_us() + RUN_S * 1000000LL, left_us;
    int n = 0;
    while (n <= 0 && (left_us = until_us - now_us()) > 0) {
        n = poll(&pollfd, 1, (int)(left_us / 1000) + 1);
        if (n < 0 && errno != EINTR) /* the kernel has no memory for the call */
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    end->late = n <= 0;
    if (end->late)
        kill(-pid, SIGKILL);
    while (wait4(pid, &end->status, 0, &usage) < 0 && errno == EINTR)
        ;
    end->cpu_s = (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
                 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static char *read_all(int fd, size_t skip, size_t *size)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || (size_t)st.st_size < skip)
        return NULL;
    *size = (size_t)st.st_size - skip;
    char *out = mem_alloc(*size + 1);
    for (size_t at = 0; at < *size;) {
        ssize_t n = pread(fd, out + at, *size - at, (off_t)(skip + at));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            free(out);
            return NULL;
        }
        at += (size_t)n;
    }
    out[*size] = 0;
    return out;
}

static enum error_code read_answer(const struct child *child, const struct what_if_end *end, char **json,
                                   struct error *e)
{
    struct what_if_answer what_if_answer;
    size_t size;
    if (end->late || !WIFEXITED(end->status) || WEXITSTATUS(end->status) != 0)
        return what_if_judge(end, RUN_S, e);
    if (pread(child->fd[WHAT_IF_ANSWER], &what_if_answer, sizeof what_if_answer, 0) !=
            (ssize_t)sizeof what_if_answer ||
        what_if_answer.magic != WHAT_IF_MAGIC)
        return error_set(e, ERROR_INTERNAL, "pricing gave no answer");
    what_if_answer.error.pointer[sizeof what_if_answer.error.pointer - 1] =
        what_if_answer.error.message[sizeof what_if_answer.error.message - 1] = 0;
    if (what_if_answer.error.code != ERROR_OK) {
        *e = what_if_answer.error;
        return (unsigned)what_if_answer.error.code < ERROR_CODES ? what_if_answer.error.code
                                                                 : (e->code = ERROR_INTERNAL);
    }
    *json = read_all(child->fd[WHAT_IF_ANSWER], sizeof what_if_answer, &size);
    return *json ? ERROR_OK : error_set(e, ERROR_INTERNAL, "pricing's answer cannot be read");
}

/* the image that the child made: for the next one. Failure costs only time. */
static void keep_image(struct server *server, const struct child *child, const struct work *work)
{
    const char *module = work->module;
    char digest[STORE_DIGEST_SIZE];
    size_t size = 0;
    char *image = child->is_image ? NULL : read_all(child->fd[WHAT_IF_IMAGE], 0, &size);
    if (image && size && store_put(server->store, image, size, digest, NULL) == ERROR_OK) {
        struct queue *queue = pool_take(server);
        if (queue_image_keep(queue, work->tenant, module, api_build(), digest, NULL) != ERROR_OK)
            log_event("image_not_kept", "module", module, NULL);
        pool_give(server, queue);
    }
    free(image);
}

/* *no_image: the child found that the image in the store was not made by this build, and answered nothing */
static enum error_code run_child(struct what_if_pool *what_if_pool, struct work *work, bool reread,
                                 bool *no_image, struct error *e)
{
    struct child child;
    pid_t pid = 0;
    enum error_code code = prepare(what_if_pool->server, work, reread, &child, e);
    struct what_if_end end = {.memory_bytes = memory_of(&child)};
    int64_t oom_kills = host_oom_kills();
    if (code == ERROR_OK && spawn(&child, work->module, &pid) != 0)
        code = error_set(e, ERROR_UNAVAILABLE, "no process could be started for this");
    if (code == ERROR_OK) {
        pthread_mutex_lock(&what_if_pool->lock);
        work->child = pid;
        bool ended = what_if_pool->ended;
        pthread_mutex_unlock(&what_if_pool->lock);
        if (ended)
            kill(-pid, SIGKILL);
        wait_for(&child, pid, &end);
        end.oom_killed = host_oom_kills() > oom_kills;
        pthread_mutex_lock(&what_if_pool->lock);
        work->child = 0;
        pthread_mutex_unlock(&what_if_pool->lock);
        *no_image = WIFEXITED(end.status) && WEXITSTATUS(end.status) == WHAT_IF_NO_IMAGE;
        code = read_answer(&child, &end, &work->result->json, e);
        if (WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0) /* else the image may be a part of one */
            keep_image(what_if_pool->server, &child, work);
    }
    child_release(&child);
    return code;
}

static void price(struct what_if_pool *what_if_pool, struct work *work, struct error *e)
{
    bool no_image = false;
    enum error_code code = run_child(what_if_pool, work, false, &no_image, e);
    if (no_image)
        code = run_child(what_if_pool, work, true, &no_image, e);
    if (code == ERROR_OK)
        e->code = ERROR_OK;
}

/* ---- the pool ---- */

static void work_free(struct work *work)
{
    free(work->request);
    free(work->plan);
    free(work->user);
    free(work);
}

static void finish(struct work *work)
{
    struct exchange *exchange = work->exchange;
    exchange->errand->what_if = work->result;
    work_free(work);
    exchange_resume(exchange);
}

/* under the lock: the oldest work of the tenant whose turn it is; NULL: none waits */
static struct work *take(struct what_if_pool *what_if_pool)
{
    const char *tenant = shares_next(&what_if_pool->shares);
    struct work **slot = &what_if_pool->first;
    if (!tenant)
        return NULL;
    while (strcmp((*slot)->tenant, tenant) != 0)
        slot = &(*slot)->next;
    struct work *work = *slot;
    *slot = work->next;
    if (!work->next)
        what_if_pool->last = slot;
    what_if_pool->waiting--;
    work->charged_us = shares_charge(&what_if_pool->shares, tenant);
    return work;
}

static void *run(void *user)
{
    struct what_if_pool *what_if_pool = user;
    pthread_mutex_lock(&what_if_pool->lock);
    int own = what_if_pool->thread_count++;
    while (!what_if_pool->stop) {
        struct work *work = take(what_if_pool);
        if (!work) {
            pthread_cond_wait(&what_if_pool->some, &what_if_pool->lock);
            continue;
        }
        long long began_us = now_us();
        what_if_pool->running[own] = work;
        bool ended = what_if_pool->ended;
        pthread_mutex_unlock(&what_if_pool->lock);
        struct error e = {0};
        if (ended)
            error_set(&e, ERROR_UNAVAILABLE, "this server is going away; use another");
        else if (work->run)
            work->run(what_if_pool->server, work->user, work->result);
        else
            price(what_if_pool, work, &e);
        if (ended || !work->run)
            work->result->error = e;
        pthread_mutex_lock(&what_if_pool->lock);
        what_if_pool->running[own] = NULL;
        shares_done(&what_if_pool->shares, work->tenant, work->charged_us, now_us() - began_us);
        pthread_mutex_unlock(&what_if_pool->lock);
        finish(work);
        pthread_mutex_lock(&what_if_pool->lock);
    }
    pthread_mutex_unlock(&what_if_pool->lock);
    return NULL;
}

struct what_if_pool *what_if_create(struct server *server)
{
    struct what_if_pool *what_if_pool = mem_zalloc(1, sizeof *what_if_pool);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = processors < 2 ? 2 : processors > THREADS_MAX ? THREADS_MAX : (int)processors;
    what_if_pool->server = server;
    what_if_pool->last = &what_if_pool->first;
    pthread_mutex_init(&what_if_pool->lock, NULL);
    pthread_cond_init(&what_if_pool->some, NULL);
    for (int i = 0; i < threads; i++)
        BASE_CHECK(pthread_create(&what_if_pool->threads[i], NULL, run, what_if_pool) == 0);
    return what_if_pool;
}

void what_if_end(struct what_if_pool *what_if_pool)
{
    pthread_mutex_lock(&what_if_pool->lock);
    what_if_pool->ended = true;
    for (int i = 0; i < THREADS_MAX; i++)
        if (what_if_pool->running[i] && what_if_pool->running[i]->child > 0)
            kill(-what_if_pool->running[i]->child, SIGKILL);
    pthread_mutex_unlock(&what_if_pool->lock);
}

void what_if_destroy(struct what_if_pool *what_if_pool)
{
    pthread_mutex_lock(&what_if_pool->lock);
    what_if_pool->stop = true;
    pthread_cond_broadcast(&what_if_pool->some);
    pthread_mutex_unlock(&what_if_pool->lock);
    for (int i = 0; i < THREADS_MAX; i++)
        if (what_if_pool->threads[i])
            pthread_join(what_if_pool->threads[i], NULL);
    shares_release(&what_if_pool->shares);
    pthread_cond_destroy(&what_if_pool->some);
    pthread_mutex_destroy(&what_if_pool->lock);
    free(what_if_pool);
}

/* takes the work when there is room for it, and suspends the exchange */
static enum error_code enqueue(struct exchange *exchange, struct work *work, void (*again)(struct exchange *),
                               struct error *e)
{
    struct what_if_pool *what_if_pool = exchange->server->resources->what_ifs;
    work->exchange = exchange;
    work->result = mem_zalloc(1, sizeof *work->result);
    snprintf(work->tenant, sizeof work->tenant, "%s", exchange->tenant);
    pthread_mutex_lock(&what_if_pool->lock);
    int own = 0;
    for (const struct work *at = what_if_pool->first; at; at = at->next)
        own += strcmp(at->tenant, exchange->tenant) == 0;
    bool full = what_if_pool->ended || own >= WAITING_PER_TENANT ||
                what_if_pool->waiting >= (own ? WAITING_MAX : WAITING_ALL);
    if (!full) {
        shares_wait(&what_if_pool->shares, exchange->tenant);
        exchange->again = again;
        exchange->waiting = true;
        exchange_suspend(exchange);
        *what_if_pool->last = work;
        what_if_pool->last = &work->next;
        what_if_pool->waiting++;
        pthread_cond_signal(&what_if_pool->some);
    }
    pthread_mutex_unlock(&what_if_pool->lock);
    if (!full)
        return ERROR_OK;
    what_if_release(work->result);
    work->user = NULL; /* the caller keeps it */
    work_free(work);
    return error_set(e, ERROR_UNAVAILABLE, "too many requests wait to be computed; try again");
}

enum error_code what_if_begin(struct exchange *exchange, const struct api_what_if *what_if,
                              const char *module, void (*again)(struct exchange *), struct error *e)
{
    struct work *work = mem_zalloc(1, sizeof *work);
    const char *plan;
    work->request = mem_strdup(api_what_if_forward(what_if, &plan, &work->plan_size));
    work->plan = plan ? mem_strndup(plan, work->plan_size) : NULL;
    snprintf(work->module, sizeof work->module, "%s", module);
    return enqueue(exchange, work, again, e);
}

void what_if_reply(struct exchange *exchange)
{
    struct what_if_result *what_if_result = exchange->errand->what_if;
    if (what_if_result->error.code != ERROR_OK) {
        reply_problem(exchange, &what_if_result->error);
        return;
    }
    struct text text = {.at = what_if_result->json, .size = strlen(what_if_result->json)};
    what_if_result->json = NULL;
    reply_json(exchange, 200, &text, NULL, 0);
}

enum error_code what_if_begin_other(struct exchange *exchange,
                                    void (*run)(struct server *, void *, struct what_if_result *), void *user,
                                    struct error *e)
{
    struct work *work = mem_zalloc(1, sizeof *work);
    work->run = run;
    work->user = user;
    return enqueue(exchange, work, what_if_reply, e);
}
