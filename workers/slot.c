/* One slot: claims a task, hands it to its child, reports what came of it, and begins again. Calls to
 * Redis are idempotent and repeated until Redis answers; a task whose lease was lost is never reported as
 * done by this slot's own judgement, the queue refuses it. See internal.h. */
#include "workers/internal.h"

#include "base/log.h"
#include "workers/frame.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

/* A child that was told to stop and does not answer for so long is killed: its task is another's now. */
enum { DEAF_MS = 2000 };
/* How long an idle slot waits for the doorbell before it looks by itself: a job whose bell was lost to a
 * crash waits no longer than that. */
enum { DOORBELL_MS = 500 };

/* after a failed call to Redis: whether to try again */
static bool again(const struct slot *slot, enum error_code code)
{
    if (code != ERROR_UNAVAILABLE || worker_must_leave(slot->supervisor))
        return false;
    worker_sleep_ms(WORKER_RETRY_MS);
    return true;
}

static char *new_token(struct slot *slot)
{
    return mem_printf("%s#%d.%lu", slot->supervisor->name, slot->index, ++slot->tokens);
}

static void hold(struct slot *slot, const struct queue_task *task)
{
    pthread_mutex_lock(&slot->lock);
    free(slot->member);
    free(slot->token);
    slot->member = task ? mem_strdup(task->member) : NULL;
    slot->token = task ? mem_strdup(task->token) : NULL;
    slot->lost = false;
    pthread_mutex_unlock(&slot->lock);
}

bool slot_lost(struct slot *slot)
{
    pthread_mutex_lock(&slot->lock);
    bool lost = slot->lost;
    pthread_mutex_unlock(&slot->lock);
    return lost;
}

static void give_back(struct slot *slot, const struct queue_task *task)
{
    struct error e;
    while (again(slot, queue_release(slot->queue, task, &e)))
        ;
}

static enum error_code send_task(struct slot *slot, struct lend *lend, struct error *e)
{
    struct frame frame = {0};
    const struct queue_task *task = lend->task;
    enum error_code code;
    /* results of the step before: a join reads them; for any other task there are none */
    while (again(slot, code = queue_results(slot->queue, task->id, task->epoch, &lend->parts, e)))
        ;
    const struct queue_fields parts = lend->parts;
    if (code != ERROR_OK)
        return code;
    frame_add_text(&frame, "op", "task");
    frame_add_text(&frame, "task-job", task->id);
    frame_add_text(&frame, "task-kind", task->kind);
    frame_add_number(&frame, "task-epoch", task->epoch);
    frame_add_number(&frame, "task-index", task->index);
    frame_add_number(&frame, "parts", parts.count);
    for (size_t i = 0; i < parts.count; i++) {
        char name[32];
        snprintf(name, sizeof name, "d:%s", parts.at[i].name);
        frame_add(&frame, name, parts.at[i].value, parts.at[i].size);
    }
    for (size_t i = 0; i < task->job.count; i++)
        frame_add(&frame, task->job.at[i].name, task->job.at[i].value, task->job.at[i].size);
    code = frame_write(slot->child.fd, &frame, e);
    frame_release(&frame);
    return code;
}

enum waited { WAITED_ANSWER, WAITED_DEATH, WAITED_LEAVE, WAITED_DEAF, WAITED_LATE };

static void tell_stop(struct slot *slot)
{
    struct frame cancel = {0};
    struct error e;
    frame_add_text(&cancel, "op", "cancel");
    if (frame_write(slot->child.fd, &cancel, &e) != ERROR_OK)
        log_event("child_gone", "reason", e.message, NULL);
    frame_release(&cancel);
}

/* Until the child answers, dies, or we must leave; lends it blobs, and passes a lost lease on as a cancel. */
static enum waited wait_child(struct slot *slot, struct lend *lend, struct frame *answer)
{
    struct timespec told = {0}, now; /* when the child was told to stop */
    struct error e;
    for (;;) {
        struct pollfd polled[] = {{.fd = slot->child.fd, .events = POLLIN},
                                  {.fd = slot->child.blobs, .events = POLLIN}};
        int ready = poll(polled, 2, WORKER_TICK_MS);
        if (ready > 0 && polled[0].revents)
            return frame_read(slot->child.fd, answer, NULL) == ERROR_OK ? WAITED_ANSWER : WAITED_DEATH;
        if (ready > 0 && lend_answer(lend, &e) != ERROR_OK)
            return WAITED_DEATH;
        if (worker_must_leave(slot->supervisor))
            return WAITED_LEAVE;
        if (lend_late(lend))
            return WAITED_LATE;
        clock_gettime(CLOCK_MONOTONIC, &now);
        if (told.tv_sec &&
            (now.tv_sec - told.tv_sec) * 1000 + (now.tv_nsec - told.tv_nsec) / 1000000 > DEAF_MS)
            return WAITED_DEAF;
        if (!told.tv_sec && slot_lost(slot)) {
            tell_stop(slot);
            told = now;
        }
    }
}

static uint32_t random_number(void)
{
    uint32_t n = 0;
    if (getrandom(&n, sizeof n, 0) != sizeof n)
        n = (uint32_t)time(NULL);
    return n;
}

/* of the request that made the job: the middle of its traceparent */
static const char *trace_id(const struct queue_task *task)
{
    static _Thread_local char id[33];
    const char *trace = queue_field(&task->job, "trace");
    snprintf(id, sizeof id, "%.32s", strlen(trace) == 55 ? trace + 3 : "");
    return id;
}

/* the attempt is lost: whose doing it was decides what becomes of the task */
static void report_lost(struct slot *slot, const struct queue_task *task, enum process_verdict verdict,
                        const char *json)
{
    struct error e;
    while (
        again(slot, queue_died(slot->queue, task, json, process_verdict_text(verdict), random_number(), &e)))
        ;
}

/* the child died in the middle of a task */
static void report_death(struct slot *slot, const struct queue_task *task, const struct process_end *end)
{
    char *how = process_end_text(end), *json = NULL;
    log_event("child_died", "task", task->member, "trace_id", trace_id(task), "how", how, "verdict",
              process_verdict_text(end->verdict), NULL);
    if (end->verdict == PROCESS_MEMORY)
        json = mem_printf(
            "{\"code\":\"%s\",\"message\":\"task %s needs more memory than the %lld MiB that this worker "
            "allows (--child-memory)\"}",
            error_code_text(ERROR_MEMORY_LIMIT), task->kind,
            (long long)(slot->supervisor->options->memory_bytes >> 20));
    else if (end->verdict == PROCESS_FAULT || end->verdict == PROCESS_LATE)
        json = mem_printf(
            "{\"code\":\"internal\",\"message\":\"task %s ended its process three times, last by %s\"}",
            task->kind, how);
    else
        json = mem_printf("{\"code\":\"%s\",\"message\":\"%s on %s\"}", error_code_text(ERROR_HOST), how,
                          slot->supervisor->host);
    report_lost(slot, task, end->verdict, json);
    free(json);
    free(how);
}

static struct queue_pair *pairs_of(const struct frame *answer, size_t *count)
{
    struct queue_pair *pairs = mem_zalloc(answer->fields.count + 1, sizeof *pairs);
    *count = 0;
    for (size_t i = 0; i < answer->fields.count; i++) {
        const struct queue_field *field = &answer->fields.at[i];
        if ((field->name[0] == 'a' || field->name[0] == 'b') && field->name[1] == ':')
            pairs[(*count)++] = (struct queue_pair){field->name, field->value};
    }
    return pairs;
}

/* what the child said -> Redis; *found: `next` is a task that came with the answer */
static enum error_code report(struct slot *slot, const struct queue_task *task, const struct frame *answer,
                              struct queue_task *next, bool *found, struct error *e)
{
    const struct queue_fields *fields = &answer->fields;
    const char *outcome = queue_field(fields, "outcome");
    size_t count;
    bool fenced = false;
    enum error_code code;
    struct queue_pair *pairs = pairs_of(answer, &count);
    char *token = new_token(slot);
    *found = false;
    do {
        if (strcmp(outcome, "done") == 0) {
            size_t size = 0;
            for (size_t i = 0; i < fields->count; i++)
                if (strcmp(fields->at[i].name, "payload") == 0)
                    size = fields->at[i].size;
            code = queue_task_done(slot->queue, task, queue_field(fields, "digest"),
                                   queue_field(fields, "payload"), size, token, next, found, e);
        } else if (strcmp(outcome, "step") == 0) {
            struct queue_step step = {.kind = queue_field(fields, "kind"),
                                      .join = queue_field(fields, "join"),
                                      .wrap = queue_field(fields, "wrap"),
                                      .tasks = (uint32_t)queue_number(fields, "tasks"),
                                      .state = queue_field(fields, "state"),
                                      .progress = queue_field(fields, "progress"),
                                      .rollouts = (uint64_t)queue_number(fields, "rollouts"),
                                      .dropped = (uint64_t)queue_number(fields, "dropped"),
                                      .fields = pairs,
                                      .field_count = count};
            code = queue_commit(slot->queue, task, &step, token, next, found, e);
        } else if (strcmp(outcome, "finish") == 0) {
            code = queue_finish(slot->queue, task, "succeeded", "", queue_field(fields, "progress"), pairs,
                                count, &fenced, e);
        } else if (strcmp(outcome, "fail") == 0) {
            code = queue_finish(slot->queue, task, "failed", queue_field(fields, "error"), "", NULL, 0,
                                &fenced, e);
        } else if (strcmp(outcome, "reset") == 0) {
            code = queue_reset(slot->queue, task, queue_field(fields, "error"), e);
        } else if (strcmp(outcome, "host") == 0) {
            code = queue_died(slot->queue, task, queue_field(fields, "error"),
                              process_verdict_text(PROCESS_HOST), random_number(), e);
        } else {
            /* cancelled, or the store did not answer: another slot does the task if the job still runs */
            code = queue_release(slot->queue, task, e);
        }
    } while (again(slot, code));
    if (code == ERROR_OK && (strcmp(outcome, "finish") == 0 || strcmp(outcome, "fail") == 0))
        log_event("job_ended", "job", task->id, "trace_id", trace_id(task), "outcome",
                  fenced ? "too late" : outcome, "error", queue_field(fields, "error"), NULL);
    if (strcmp(outcome, "again") == 0 || strcmp(outcome, "reset") == 0 || strcmp(outcome, "host") == 0)
        log_event("task_again", "task", task->member, "trace_id", trace_id(task), "outcome", outcome, "error",
                  queue_field(fields, "error"), NULL);
    if (strcmp(outcome, "again") == 0)
        worker_sleep_ms(WORKER_RETRY_MS);
    free(token);
    free(pairs);
    return code;
}

/* one task from claim to report; consumes *task and leaves the next in it when one came with the answer */
static bool work(struct slot *slot, struct queue_task *task)
{
    struct error e;
    struct frame answer = {0};
    struct queue_task next = {0};
    struct process_end end;
    bool found = false;
    struct lend lend = {.slot = slot, .task = task};
    clock_gettime(CLOCK_MONOTONIC, &lend.began);
    snprintf(slot->tenant, sizeof slot->tenant, "%s", queue_field(&task->job, "tenant"));
    hold(slot, task);
    if (slot->child.fd < 0)
        process_start(&slot->child, slot->supervisor->options, &slot->supervisor->stopping);
    if (slot->child.fd < 0 || send_task(slot, &lend, &e) != ERROR_OK) {
        process_end(&slot->child, true);
        give_back(slot, task);
        hold(slot, NULL);
        queue_fields_release(&lend.parts);
        queue_task_release(task);
        return false;
    }
    switch (wait_child(slot, &lend, &answer)) {
    case WAITED_ANSWER:
        if (report(slot, task, &answer, &next, &found, &e) != ERROR_OK)
            log_event("not_reported", "task", task->member, "reason", e.message, NULL);
        break;
    case WAITED_DEATH:
        end = process_end_broken(&slot->child);
        if (worker_leaving(slot->supervisor)) /* told to go at the same time as we, perhaps */
            give_back(slot, task);
        else
            report_death(slot, task, &end);
        break;
    case WAITED_LEAVE: give_back(slot, task); break;
    case WAITED_LATE:
        end = process_end(&slot->child, true);
        end.verdict = PROCESS_LATE;
        report_death(slot, task, &end);
        break;
    case WAITED_DEAF: process_end(&slot->child, true); break;
    }
    hold(slot, NULL);
    queue_fields_release(&lend.parts);
    frame_release(&answer);
    queue_task_release(task);
    *task = next;
    return found;
}

/* whether the slot takes no more tasks; one that came with an answer is then given back */
static bool resting(const struct slot *slot)
{
    return worker_leaving(slot->supervisor) || atomic_load(&slot->supervisor->draining);
}

/* Finds a task: one to claim; when there was none the last time either, one that another worker is slow with.
 * Else waits for the doorbell. */
static enum error_code find_task(struct slot *slot, int *idle, struct queue_task *task, bool *found,
                                 struct error *e)
{
    const char *build = slot->supervisor->table->build;
    char *token = new_token(slot);
    enum error_code code = queue_claim(slot->queue, token, build, slot->tenant, task, found, e);
    if (code == ERROR_OK && !*found && (*idle)++ > 0)
        code = queue_assist(slot->queue, token, build, task, found, e);
    free(token);
    if (code == ERROR_OK && !*found)
        return queue_wait(slot->queue, DOORBELL_MS, e);
    *idle = 0;
    return code;
}

void *slot_run(void *user)
{
    struct slot *slot = user;
    struct error e;
    struct queue_task task = {0};
    bool found = false, silent = false;
    int idle = 0;
    process_start(&slot->child, slot->supervisor->options,
                  &slot->supervisor->stopping); /* ready before its first task */
    while (!worker_leaving(slot->supervisor) || found) {
        if (found && resting(slot)) {
            give_back(slot, &task);
            queue_task_release(&task);
            found = false;
        } else if (found) {
            found = work(slot, &task);
        } else if (resting(slot)) {
            worker_sleep_ms(WORKER_TICK_MS);
        } else {
            enum error_code code = find_task(slot, &idle, &task, &found, &e);
            if (code != ERROR_OK) {
                if (!silent)
                    log_event("redis_unavailable", "reason", e.message, NULL);
                worker_sleep_ms(WORKER_RETRY_MS);
            }
            silent = code != ERROR_OK;
        }
    }
    process_end(&slot->child, true);
    atomic_store(&slot->ended, true);
    return NULL;
}
