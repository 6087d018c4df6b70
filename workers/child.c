/* A worker's child: takes tasks from the socket, runs them, stores what is large, answers with what is
 * small. It is confined (base/confine.h): no files, no connections, no processes; blobs are lent to it by its
 * slot (store/lent.h). A second thread reads the socket, so that a cancel reaches a running
 * task and the supervisor's death ends the child. */
#include "workers/worker.h"

#include "base/confine.h"
#include "base/hash.h"
#include "store/lent.h"
#include "workers/frame.h"
#include "workers/internal.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum {
    /* a task's result up to this goes through Redis (deltas: 1,024 edges of 24 B), above it is a blob */
    INLINE_MAX = 32 << 10,
    CONTEXTS = 2, /* jobs whose parsed state is kept */
};

struct kept {
    char job[QUEUE_ID_SIZE];
    void *context;
    uint64_t used;
};

struct child {
    const struct tasks_table *table;
    struct store *store;
    pthread_mutex_t lock;
    pthread_cond_t arrived;
    struct frame task; /* under lock; valid when has_task */
    bool has_task;
    atomic_bool stop;
    struct kept kept[CONTEXTS];
    uint64_t clock;
};

static void *read_socket(void *user)
{
    struct child *child = user;
    struct frame frame;
    while (frame_read(WORKER_SOCKET, &frame, NULL) == ERROR_OK) {
        if (strcmp(queue_field(&frame.fields, "op"), "cancel") == 0) {
            atomic_store(&child->stop, true);
            frame_release(&frame);
            continue;
        }
        pthread_mutex_lock(&child->lock);
        atomic_store(&child->stop, false);
        child->task = frame;
        child->has_task = true;
        pthread_cond_signal(&child->arrived);
        pthread_mutex_unlock(&child->lock);
    }
    _exit(0); /* the supervisor is gone or closed our socket */
}

static bool stopping(void *user)
{
    return atomic_load(&((struct child *)user)->stop);
}

static enum error_code context_of(struct child *child, const struct tasks_task *task, void **out,
                                  struct error *e)
{
    struct kept *oldest = &child->kept[0];
    for (int i = 0; i < CONTEXTS; i++) {
        struct kept *k = &child->kept[i];
        if (k->context && strcmp(k->job, task->job) == 0) {
            k->used = ++child->clock;
            *out = k->context;
            return ERROR_OK;
        }
        if (!k->context || (oldest->context && k->used < oldest->used))
            oldest = k;
    }
    if (oldest->context)
        child->table->close(oldest->context);
    *oldest = (struct kept){.used = ++child->clock};
    enum error_code code = child->table->open(task, &oldest->context, e);
    if (code != ERROR_OK) {
        oldest->context = NULL;
        return code;
    }
    snprintf(oldest->job, sizeof oldest->job, "%s", task->job);
    *out = oldest->context;
    return ERROR_OK;
}

static void forget_context(struct child *child, const char *job)
{
    for (int i = 0; i < CONTEXTS; i++)
        if (child->kept[i].context && strcmp(child->kept[i].job, job) == 0) {
            child->table->close(child->kept[i].context);
            child->kept[i] = (struct kept){0};
        }
}

/* what the tasks of the step before left: 'i' + bytes, or 'b' + digest of a blob */
static enum error_code read_parts(struct child *child, const struct frame *frame, uint32_t count,
                                  struct tasks_part *parts, struct store_view *views, struct error *e)
{
    for (uint32_t i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof name, "d:%u", i);
        const struct queue_field *found = NULL;
        for (size_t k = 0; k < frame->fields.count && !found; k++)
            if (strcmp(frame->fields.at[k].name, name) == 0)
                found = &frame->fields.at[k];
        if (!found || found->size == 0)
            return error_set(e, ERROR_INTERNAL, "the result of task %u is missing", i);
        if (found->value[0] == 'i') {
            parts[i] = (struct tasks_part){found->value + 1, found->size - 1};
            continue;
        }
        enum error_code code = store_get(child->store, found->value + 1, &views[i], e);
        if (code != ERROR_OK)
            return code;
        parts[i] = (struct tasks_part){views[i].bytes, views[i].size};
    }
    return ERROR_OK;
}

/* one of several tasks: its only output, inline or as a blob */
static enum error_code answer_part(struct child *child, const struct tasks_result *result,
                                   struct frame *answer, struct error *e)
{
    char digest[STORE_DIGEST_SIZE];
    uint8_t raw[32];
    if (result->outputs.count != 1)
        return error_set(e, ERROR_INTERNAL, "a task left %zu outputs instead of one", result->outputs.count);
    const struct tasks_output *output = &result->outputs.at[0];
    sha256_bytes(output->bytes, output->size, raw);
    sha256_format(raw, digest);
    struct text payload = {0};
    text_add_char(&payload, output->size <= INLINE_MAX ? 'i' : 'b');
    if (output->size <= INLINE_MAX) {
        text_add_n(&payload, output->bytes, output->size);
    } else {
        enum error_code code = store_put(child->store, output->bytes, output->size, digest, e);
        if (code != ERROR_OK) {
            text_release(&payload);
            return code;
        }
        text_add(&payload, digest);
    }
    frame_add_text(answer, "outcome", "done");
    frame_add_text(answer, "digest", digest);
    frame_add(answer, "payload", payload.at, payload.size);
    text_release(&payload);
    return ERROR_OK;
}

/* the only task of its step: blobs b:<name> = digest, artifacts a:<name> = digest:size:media type */
static enum error_code answer_step(struct child *child, const struct tasks_result *result,
                                   struct frame *answer, struct error *e)
{
    for (size_t i = 0; i < result->outputs.count; i++) {
        const struct tasks_output *output = &result->outputs.at[i];
        char digest[STORE_DIGEST_SIZE], name[80], value[160];
        enum error_code code = store_put(child->store, output->bytes, output->size, digest, e);
        if (code != ERROR_OK)
            return code;
        snprintf(name, sizeof name, "%c:%s", output->artifact ? 'a' : 'b', output->name);
        if (output->artifact)
            snprintf(value, sizeof value, "%s:%zu:%s", digest, output->size, output->media_type);
        frame_add_text(answer, name, output->artifact ? value : digest);
    }
    frame_add_text(answer, "outcome", result->finished ? "finish" : "step");
    frame_add_text(answer, "progress", result->progress ? result->progress : "");
    frame_add_number(answer, "rollouts", result->rollouts);
    frame_add_number(answer, "dropped", result->dropped);
    if (result->finished)
        return ERROR_OK;
    frame_add_text(answer, "kind", result->kind);
    frame_add_text(answer, "join", result->join ? result->join : "");
    frame_add_text(answer, "wrap", result->wrap ? result->wrap : "");
    frame_add_text(answer, "state", result->state);
    frame_add_number(answer, "tasks", result->tasks);
    return ERROR_OK;
}

static enum error_code run_task(struct child *child, const struct tasks_task *task, struct frame *answer,
                                struct error *e)
{
    void *context;
    struct tasks_result result = {0};
    enum error_code code = context_of(child, task, &context, e);
    if (code == ERROR_OK)
        code = child->table->run(context, task, &result, e);
    if (code == ERROR_OK)
        code =
            task->count > 1 ? answer_part(child, &result, answer, e) : answer_step(child, &result, answer, e);
    if (code == ERROR_OK && result.finished)
        forget_context(child, task->job);
    tasks_result_release(&result);
    return code;
}

static void answer_error(const struct child *child, enum error_code code, const struct error *e,
                         struct frame *answer)
{
    frame_release(answer);
    bool host = code == ERROR_IO || code == ERROR_NO_SPACE || code == ERROR_HOST;
    frame_add_text(answer, "outcome",
                   code == ERROR_CANCELLED     ? "cancelled"
                   : code == ERROR_UNAVAILABLE ? "again" /* the store's server is gone for a while */
                   : host                      ? "host"  /* counts, and is tried again after a pause */
                   : code == ERROR_NOT_FOUND   ? "reset" /* a blob of an earlier step is gone */
                                               : "fail");
    char *json = child->table->error_json(e);
    frame_add_text(answer, "error", json);
    free(json);
}

static void handle(struct child *child, const struct frame *frame)
{
    struct error e = {0};
    struct frame answer = {0};
    uint32_t parts = (uint32_t)queue_number(&frame->fields, "parts");
    struct tasks_part *part = mem_zalloc(parts + 1, sizeof *part);
    struct store_view *views = mem_zalloc(parts + 1, sizeof *views);
    struct tasks_task task = {.job = queue_field(&frame->fields, "task-job"),
                              .kind = queue_field(&frame->fields, "task-kind"),
                              .epoch = (uint32_t)queue_number(&frame->fields, "task-epoch"),
                              .index = (uint32_t)queue_number(&frame->fields, "task-index"),
                              .count = (uint32_t)queue_number(&frame->fields, "tasks"),
                              .fields = &frame->fields,
                              .store = child->store,
                              .parts = part,
                              .part_count = parts,
                              .stopping = stopping,
                              .user = child};
    enum error_code code = read_parts(child, frame, parts, part, views, &e);
    if (code == ERROR_OK)
        code = run_task(child, &task, &answer, &e);
    if (code != ERROR_OK)
        answer_error(child, code, &e, &answer);
    for (uint32_t i = 0; i < parts; i++)
        store_view_release(&views[i]);
    free(views);
    free(part);
    if (frame_write(WORKER_SOCKET, &answer, &e) != ERROR_OK)
        _exit(0);
    frame_release(&answer);
}

static void exhausted(size_t bytes)
{
    _exit(WORKER_EXIT_MEMORY); /* from any thread: the supervisor reports the job's end */
}

/* RLIMIT_DATA counts private writable memory (Linux 4.7), not mapped blobs, stacks of others or address space
 */
static void limit_memory(long long bytes)
{
    struct rlimit limit = {.rlim_cur = (rlim_t)bytes, .rlim_max = (rlim_t)bytes};
    mem_on_exhaustion(exhausted);
    if (bytes && setrlimit(RLIMIT_DATA, &limit) != 0)
        fprintf(stderr, "toast-worker: the memory limit cannot be set: %s\n", strerror(errno));
}

/* what libraries open or ask for at their first use, before nothing can be opened any more */
static void warm_up(const struct child *child)
{
    struct error none = {.code = ERROR_INTERNAL};
    uint8_t digest[32];
    sha256_bytes("", 0, digest);
    if (child->table->error_json)
        free(child->table->error_json(&none));
}

int worker_child_run(int argc, char **argv, const struct tasks_table *table)
{
    struct child *child = mem_zalloc(1, sizeof *child);
    pthread_t reader;
    if (argc != 4 || close_range(WORKER_BLOBS + 1, ~0u, 0) != 0)
        return 2;
    signal(SIGPIPE, SIG_IGN);
    limit_memory(strtoll(argv[2], NULL, 10));
    setpriority(PRIO_PROCESS, 0, atoi(argv[3]));
    child->table = table;
    pthread_mutex_init(&child->lock, NULL);
    pthread_cond_init(&child->arrived, NULL);
    store_lent_create(WORKER_BLOBS, &child->store);
    warm_up(child);
    /* no thread can be made behind the filter */
    if (confine_files(NULL) != 0 || pthread_create(&reader, NULL, read_socket, child) != 0 ||
        confine_calls() != 0) {
        fprintf(stderr, "toast-worker: this kernel does not let a child be confined\n");
        return 1;
    }
    for (;;) {
        pthread_mutex_lock(&child->lock);
        while (!child->has_task)
            pthread_cond_wait(&child->arrived, &child->lock);
        struct frame frame = child->task;
        child->has_task = false;
        pthread_mutex_unlock(&child->lock);
        handle(child, &frame);
        frame_release(&frame);
    }
}
