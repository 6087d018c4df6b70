/* See what_if.h. Threads take requests from a list; each starts a child, waits for its end (at most RUN_S)
 * and wakes the exchange. Program images are kept in the store; Redis knows which image belongs to a module
 * and a build, and forgets what nobody asked for in a week. */
#include "server/resources/what_if.h"

#include "api/what_if.h"
#include "base/log.h"
#include "queue/images.h"
#include "server/resources/what_if_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    THREADS_MAX = 8,         /* children at a time; each may take a processor for RUN_S */
    WAITING_MAX = 256,       /* requests; further ones are told to come again */
    WAITING_PER_TENANT = 32, /* an eighth of them: one tenant leaves room for others */
    RUN_S = 120,             /* then a child is killed */
    ASIDE_FD = 32            /* descriptors from here on are above WHAT_IF_DESCRIPTORS */
};
/* RLIMIT_DATA of a child: the planner's own, and what a byte of the module's text may become (the reader
 * alone takes 16 of the 64) */
static const size_t CHILD_MEMORY = (size_t)2 << 30, CHILD_MEMORY_PER_BYTE = 64;

struct work {
    struct work *next;
    struct exchange *x;
    char tenant[QUEUE_TENANT_SIZE], module[STORE_DIGEST_SIZE];
    char *request, *plan;
    size_t plan_size;
    struct what_if_result *result;
    pid_t child;                                                   /* 0: none */
    void (*run)(struct server *, void *, struct what_if_result *); /* NULL: a child prices */
    void *user;
};

struct what_if_pool {
    struct server *server;
    pthread_mutex_t lock;
    pthread_cond_t some;
    struct work *first, **last, *running[THREADS_MAX];
    int waiting, thread_count;
    bool ended, stop;
    pthread_t threads[THREADS_MAX];
};

void what_if_release(struct what_if_result *r)
{
    if (!r)
        return;
    free(r->json);
    free(r);
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

/* the module's image when this build made one, else its text */
static enum error_code open_module(struct server *s, const char *module, bool reread, struct child *c,
                                   struct error *e)
{
    char image[STORE_DIGEST_SIZE] = "";
    struct queue *q = pool_take(s);
    enum error_code code = reread ? ERROR_OK : queue_image_find(q, module, api_build(), image, e);
    pool_give(s, q);
    if (code != ERROR_OK)
        return code;
    c->is_image =
        image[0] && store_open(s->store, image, &c->fd[WHAT_IF_MODULE], &c->module_size, NULL) == ERROR_OK;
    if (c->is_image)
        return ERROR_OK;
    code = store_open(s->store, module, &c->fd[WHAT_IF_MODULE], &c->module_size, e);
    return code == ERROR_NOT_FOUND ? error_set_pointer(e, ERROR_INVALID_REQUEST, "/module",
                                                       "there is no module sha256:%s", module)
                                   : code;
}

static enum error_code prepare(struct server *s, const struct work *w, bool reread, struct child *c,
                               struct error *e)
{
    int alive[2];
    *c = (struct child){.alive = -1};
    for (int i = 0; i < WHAT_IF_DESCRIPTORS; i++)
        c->fd[i] = -1;
    enum error_code code = open_module(s, w->module, reread, c, e);
    if (code != ERROR_OK)
        return code;
    if (pipe2(alive, O_CLOEXEC) != 0)
        return error_set(e, ERROR_UNAVAILABLE, "the server has no descriptors left");
    c->alive = alive[0];
    c->fd[WHAT_IF_ALIVE] = alive[1];
    c->fd[WHAT_IF_REQUEST] = memory_file("toast-request", w->request, strlen(w->request));
    c->fd[WHAT_IF_PLAN] = memory_file("toast-plan", w->plan, w->plan_size);
    c->fd[WHAT_IF_ANSWER] = memory_file("toast-answer", NULL, 0);
    c->fd[WHAT_IF_IMAGE] = memory_file("toast-image", NULL, 0);
    for (int i = WHAT_IF_REQUEST; i < WHAT_IF_DESCRIPTORS; i++)
        if (c->fd[i] < 0)
            return error_set(e, ERROR_UNAVAILABLE, "the server has no memory or descriptors left");
    return ERROR_OK;
}

static void child_release(struct child *c)
{
    for (int i = WHAT_IF_REQUEST; i < WHAT_IF_DESCRIPTORS; i++)
        if (c->fd[i] >= 0)
            close(c->fd[i]);
    if (c->alive >= 0)
        close(c->alive);
}

static int spawn(struct child *c, const char *module, pid_t *pid)
{
    extern char **environ;
    char name[] = "toast-server", mode[] = "--what-if", memory[32], digest[STORE_DIGEST_SIZE];
    char text[] = "text", image[] = "image";
    char *argv[] = {name, mode, c->is_image ? image : text, memory, digest, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int moved[WHAT_IF_DESCRIPTORS];
    snprintf(memory, sizeof memory, "%zu", CHILD_MEMORY + CHILD_MEMORY_PER_BYTE * c->module_size);
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
    /* first out of the way, then into place */
    for (int i = WHAT_IF_REQUEST; i < WHAT_IF_DESCRIPTORS; i++) {
        moved[i] = fcntl(c->fd[i], F_DUPFD_CLOEXEC, ASIDE_FD);
        posix_spawn_file_actions_adddup2(&actions, moved[i], i);
    }
    int failed = posix_spawn(pid, "/proc/self/exe", &actions, &attributes, argv, environ);
    for (int i = WHAT_IF_REQUEST; i < WHAT_IF_DESCRIPTORS; i++)
        if (moved[i] >= 0)
            close(moved[i]);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(c->fd[WHAT_IF_ALIVE]);
    c->fd[WHAT_IF_ALIVE] = -1;
    return failed;
}

/* waits for the child's end; false: it took too long and was killed */
static bool wait_for(const struct child *c, pid_t pid, int *status)
{
    struct pollfd p = {c->alive, POLLIN, 0};
    int n;
    do
        n = poll(&p, 1, RUN_S * 1000);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        kill(-pid, SIGKILL);
    while (waitpid(pid, status, 0) < 0 && errno == EINTR)
        ;
    return n != 0;
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

static enum error_code read_answer(const struct child *c, int status, char **json, struct error *e)
{
    struct what_if_answer a;
    size_t size;
    int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    if (signal == SIGKILL)
        return error_set(e, ERROR_UNAVAILABLE, "pricing was ended from outside; try again");
    if (signal || WEXITSTATUS(status) != 0)
        return error_set(e, ERROR_RESOURCE,
                         "pricing this module ended by %s %d: it takes more memory than there is for it",
                         signal ? "signal" : "status", signal ? signal : WEXITSTATUS(status));
    if (pread(c->fd[WHAT_IF_ANSWER], &a, sizeof a, 0) != (ssize_t)sizeof a || a.magic != WHAT_IF_MAGIC)
        return error_set(e, ERROR_INTERNAL, "pricing gave no answer");
    a.error.pointer[sizeof a.error.pointer - 1] = a.error.message[sizeof a.error.message - 1] = 0;
    if (a.error.code != ERROR_OK) {
        *e = a.error;
        return (unsigned)a.error.code < ERROR_CODES ? a.error.code : (e->code = ERROR_INTERNAL);
    }
    *json = read_all(c->fd[WHAT_IF_ANSWER], sizeof a, &size);
    return *json ? ERROR_OK : error_set(e, ERROR_INTERNAL, "pricing's answer cannot be read");
}

/* the image that the child made: for the next one. Failure costs only time. */
static void keep_image(struct server *s, const struct child *c, const char *module)
{
    char digest[STORE_DIGEST_SIZE];
    size_t size = 0;
    char *image = c->is_image ? NULL : read_all(c->fd[WHAT_IF_IMAGE], 0, &size);
    if (image && size && store_put(s->store, image, size, digest, NULL) == ERROR_OK) {
        struct queue *q = pool_take(s);
        if (queue_image_keep(q, module, api_build(), digest, NULL) != ERROR_OK)
            log_event("image_not_kept", "module", module, NULL);
        pool_give(s, q);
    }
    free(image);
}

/* *no_image: the child found that the image in the store was not made by this build, and answered nothing */
static enum error_code run_child(struct what_if_pool *p, struct work *w, bool reread, bool *no_image,
                                 struct error *e)
{
    struct child c;
    int status = 0;
    pid_t pid = 0;
    enum error_code code = prepare(p->server, w, reread, &c, e);
    if (code == ERROR_OK && spawn(&c, w->module, &pid) != 0)
        code = error_set(e, ERROR_UNAVAILABLE, "no process could be started for this");
    if (code == ERROR_OK) {
        pthread_mutex_lock(&p->lock);
        w->child = pid;
        bool ended = p->ended;
        pthread_mutex_unlock(&p->lock);
        if (ended)
            kill(-pid, SIGKILL);
        bool in_time = wait_for(&c, pid, &status);
        pthread_mutex_lock(&p->lock);
        w->child = 0;
        pthread_mutex_unlock(&p->lock);
        *no_image = in_time && WIFEXITED(status) && WEXITSTATUS(status) == WHAT_IF_NO_IMAGE;
        code = in_time ? read_answer(&c, status, &w->result->json, e)
                       : error_set(e, ERROR_RESOURCE, "pricing this module takes more than %d s", RUN_S);
        keep_image(p->server, &c, w->module);
    }
    child_release(&c);
    return code;
}

static void price(struct what_if_pool *p, struct work *w, struct error *e)
{
    bool no_image = false;
    enum error_code code = run_child(p, w, false, &no_image, e);
    if (no_image)
        code = run_child(p, w, true, &no_image, e);
    if (code == ERROR_OK)
        e->code = ERROR_OK;
}

/* ---- the pool ---- */

static void work_free(struct work *w)
{
    free(w->request);
    free(w->plan);
    free(w->user);
    free(w);
}

static void finish(struct work *w)
{
    struct exchange *x = w->x;
    x->errand->what_if = w->result;
    work_free(w);
    MHD_resume_connection(x->connection);
}

static void *run(void *user)
{
    struct what_if_pool *p = user;
    pthread_mutex_lock(&p->lock);
    int own = p->thread_count++;
    while (!p->stop) {
        struct work *w = p->first;
        if (!w) {
            pthread_cond_wait(&p->some, &p->lock);
            continue;
        }
        p->first = w->next;
        if (!p->first)
            p->last = &p->first;
        p->waiting--;
        p->running[own] = w;
        bool ended = p->ended;
        pthread_mutex_unlock(&p->lock);
        struct error e = {0};
        if (ended)
            error_set(&e, ERROR_UNAVAILABLE, "this server is going away; use another");
        else if (w->run)
            w->run(p->server, w->user, w->result);
        else
            price(p, w, &e);
        if (ended || !w->run)
            w->result->error = e;
        pthread_mutex_lock(&p->lock);
        p->running[own] = NULL;
        pthread_mutex_unlock(&p->lock);
        finish(w);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct what_if_pool *what_if_create(struct server *s)
{
    struct what_if_pool *p = mem_zalloc(1, sizeof *p);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int threads = processors < 2 ? 2 : processors > THREADS_MAX ? THREADS_MAX : (int)processors;
    p->server = s;
    p->last = &p->first;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->some, NULL);
    for (int i = 0; i < threads; i++)
        BASE_CHECK(pthread_create(&p->threads[i], NULL, run, p) == 0);
    return p;
}

void what_if_end(struct what_if_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->ended = true;
    for (int i = 0; i < THREADS_MAX; i++)
        if (p->running[i] && p->running[i]->child > 0)
            kill(-p->running[i]->child, SIGKILL);
    pthread_mutex_unlock(&p->lock);
}

void what_if_destroy(struct what_if_pool *p)
{
    pthread_mutex_lock(&p->lock);
    p->stop = true;
    pthread_cond_broadcast(&p->some);
    pthread_mutex_unlock(&p->lock);
    for (int i = 0; i < THREADS_MAX; i++)
        if (p->threads[i])
            pthread_join(p->threads[i], NULL);
    pthread_cond_destroy(&p->some);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

/* takes the work when there is room for it, and suspends the exchange */
static enum error_code enqueue(struct exchange *x, struct work *work, void (*again)(struct exchange *),
                               struct error *e)
{
    struct what_if_pool *p = x->server->resources->what_ifs;
    int own = 0;
    work->x = x;
    work->result = mem_zalloc(1, sizeof *work->result);
    snprintf(work->tenant, sizeof work->tenant, "%s", x->tenant);
    pthread_mutex_lock(&p->lock);
    for (const struct work *at = p->first; at; at = at->next)
        own += strcmp(at->tenant, x->tenant) == 0;
    bool full = p->ended || p->waiting >= WAITING_MAX || own >= WAITING_PER_TENANT;
    if (!full) {
        x->again = again;
        x->waiting = true;
        MHD_suspend_connection(x->connection);
        *p->last = work;
        p->last = &work->next;
        p->waiting++;
        pthread_cond_signal(&p->some);
    }
    pthread_mutex_unlock(&p->lock);
    if (!full)
        return ERROR_OK;
    what_if_release(work->result);
    work->user = NULL; /* the caller keeps it */
    work_free(work);
    return error_set(e, ERROR_UNAVAILABLE, "too many requests wait to be computed; try again");
}

enum error_code what_if_begin(struct exchange *x, const struct api_what_if *w, const char *module,
                              void (*again)(struct exchange *), struct error *e)
{
    struct work *work = mem_zalloc(1, sizeof *work);
    const char *plan;
    work->request = mem_strdup(api_what_if_forward(w, &plan, &work->plan_size));
    work->plan = plan ? mem_strndup(plan, work->plan_size) : NULL;
    snprintf(work->module, sizeof work->module, "%s", module);
    return enqueue(x, work, again, e);
}

void what_if_reply(struct exchange *x)
{
    struct what_if_result *r = x->errand->what_if;
    if (r->error.code != ERROR_OK) {
        reply_problem(x, &r->error);
        return;
    }
    struct text t = {.at = r->json, .size = strlen(r->json)};
    r->json = NULL;
    reply_json(x, 200, &t, NULL, 0);
}

enum error_code what_if_begin_other(struct exchange *x,
                                    void (*run)(struct server *, void *, struct what_if_result *), void *user,
                                    struct error *e)
{
    struct work *work = mem_zalloc(1, sizeof *work);
    work->run = run;
    work->user = user;
    return enqueue(x, work, what_if_reply, e);
}
