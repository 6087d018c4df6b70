/* One slot: claims a task, hands it to its child, reports what came of it, and begins again. A state machine:
 * each step asks Redis for one thing or looks once at the child; the time and the child come through struct
 * worker_hands, so a step never hangs on either, and the simulation runs the same steps as a worker's thread.
 * Calls to Redis are idempotent and repeated until Redis answers; a task whose lease was lost is never
 * reported as done by this slot's own judgement, the queue refuses it. See internal.h. */
#include "workers/internal.h"

#include "base/log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A child that was told to stop and does not answer for so long is ended: its task is another's now. */
enum { DEAF_MS = 2000 };
/* How long an idle slot waits for the doorbell before it looks by itself: a job whose bell was lost to a
 * crash waits no longer than that. */
enum { DOORBELL_MS = 500 };

static long long now_ms(const struct slot *slot)
{
    return slot->supervisor->hands->now_ms(slot->supervisor);
}

/* after a call to Redis: whether to try again */
static bool again(const struct slot *slot, enum error_code code)
{
    return code == ERROR_UNAVAILABLE && !worker_must_leave(slot->supervisor);
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

void slot_init(struct slot *slot, struct supervisor *supervisor, int index)
{
    *slot = (struct slot){.supervisor = supervisor, .index = index, .store = supervisor->store};
    process_init(&slot->child);
    pthread_mutex_init(&slot->lock, NULL);
}

void slot_release(struct slot *slot)
{
    hold(slot, NULL);
    queue_task_release(&slot->task);
    queue_fields_release(&slot->lend.parts);
    frame_release(&slot->answer);
    free(slot->next_token);
    free(slot->claim_token);
    slot->next_token = slot->claim_token = NULL;
    queue_destroy(slot->queue);
    slot->queue = NULL;
    pthread_mutex_destroy(&slot->lock);
}

/* whether the slot takes no more tasks; one that came with an answer is then given back */
static bool resting(const struct slot *slot)
{
    return worker_leaving(slot->supervisor) || atomic_load(&slot->supervisor->draining);
}

static int report_next(struct slot *slot, enum slot_report what)
{
    slot->what = what;
    slot->phase = SLOT_REPORTING;
    return 0;
}

/* the task is done with; `next` (taken) is one that came with the answer, where there is one */
static int let_go(struct slot *slot, struct queue_task *next)
{
    hold(slot, NULL);
    queue_fields_release(&slot->lend.parts);
    frame_release(&slot->answer);
    free(slot->next_token);
    slot->next_token = NULL;
    queue_task_release(&slot->task);
    slot->phase = next && next->member ? SLOT_GIVEN : SLOT_FREE;
    if (next)
        slot->task = *next;
    return 0;
}

/* ---- FREE ---- */

static void forget_claim(struct slot *slot)
{
    free(slot->claim_token);
    slot->claim_token = NULL;
}

/* Finds a task: one to claim; when there was none the last time either, one that another worker is slow with.
 * Else waits for the doorbell. What Redis has not answered is asked again under the same token: it may have
 * given a task. */
static enum error_code find_task(struct slot *slot, bool *found, struct error *e)
{
    const char *build = slot->supervisor->table->build;
    if (!slot->claim_token)
        slot->claim_token = new_token(slot);
    const char *token = slot->claim_token;
    enum error_code code = queue_claim(slot->queue, token, build, slot->tenant, &slot->task, found, e);
    if (code == ERROR_OK && !*found && slot->idle++ > 0)
        code = queue_assist(slot->queue, token, build, &slot->task, found, e);
    if (code != ERROR_UNAVAILABLE)
        forget_claim(slot);
    if (code == ERROR_OK && !*found)
        return queue_wait(slot->queue, DOORBELL_MS, e);
    slot->idle = 0;
    return code;
}

/* no task is wanted any more; a claim that was not answered may have been given one */
static int rest(struct slot *slot)
{
    struct error e;
    if (!slot->claim_token)
        return WORKER_TICK_MS;
    if (again(slot, queue_unclaim(slot->queue, slot->claim_token, &e)))
        return WORKER_RETRY_MS;
    forget_claim(slot);
    return 0;
}

bool slot_idle(const struct slot *slot)
{
    return slot->phase == SLOT_FREE && !slot->claim_token;
}

static int look_for_task(struct slot *slot)
{
    struct error e;
    bool found = false;
    if (resting(slot))
        return rest(slot);
    enum error_code code = find_task(slot, &found, &e);
    if (code != ERROR_OK && !slot->silent)
        log_event("redis_unavailable", "reason", e.message, NULL);
    slot->silent = code != ERROR_OK;
    if (code == ERROR_OK && found)
        slot->phase = SLOT_GIVEN;
    return code == ERROR_OK ? 0 : WORKER_RETRY_MS;
}

/* ---- GIVEN, SENDING ---- */

static int take_up(struct slot *slot)
{
    if (resting(slot))
        return report_next(slot, SLOT_REPORT_BACK);
    slot->lend = (struct lend){.slot = slot, .task = &slot->task, .began_ms = now_ms(slot)};
    slot->told_ms = 0;
    snprintf(slot->tenant, sizeof slot->tenant, "%s", queue_field(&slot->task.job, "tenant"));
    hold(slot, &slot->task);
    slot->phase = SLOT_SENDING;
    return 0;
}

static enum error_code send_task(struct slot *slot, struct error *e)
{
    struct frame frame = {0};
    const struct queue_task *task = &slot->task;
    const struct queue_fields *parts = &slot->lend.parts;
    frame_add_text(&frame, "op", "task");
    frame_add_text(&frame, "task-job", task->id);
    frame_add_text(&frame, "task-kind", task->kind);
    frame_add_number(&frame, "task-epoch", task->epoch);
    frame_add_number(&frame, "task-index", task->index);
    frame_add_number(&frame, "parts", parts->count);
    for (size_t i = 0; i < parts->count; i++) {
        char name[32];
        snprintf(name, sizeof name, "d:%s", parts->at[i].name);
        frame_add(&frame, name, parts->at[i].value, parts->at[i].size);
    }
    for (size_t i = 0; i < task->job.count; i++)
        frame_add(&frame, task->job.at[i].name, task->job.at[i].value, task->job.at[i].size);
    enum error_code code = slot->supervisor->hands->send(slot, &frame, e);
    frame_release(&frame);
    return code;
}

static int give_to_child(struct slot *slot)
{
    struct error e;
    const struct worker_hands *hands = slot->supervisor->hands;
    enum error_code code = ERROR_HOST;
    if (hands->ready(slot)) {
        /* results of the step before: a join reads them; for any other task there are none */
        code = queue_results(slot->queue, slot->task.id, slot->task.epoch, &slot->lend.parts, &e);
        if (again(slot, code))
            return WORKER_RETRY_MS;
        if (code == ERROR_OK)
            code = send_task(slot, &e);
    }
    if (code == ERROR_OK) {
        slot->phase = SLOT_WORKING;
        return 0;
    }
    hands->end(slot);
    return report_next(slot, SLOT_REPORT_BACK);
}

/* ---- WORKING ---- */

/* of the request that made the job: the middle of its traceparent */
static const char *trace_id(const struct queue_task *task)
{
    static _Thread_local char id[33];
    const char *trace = queue_field(&task->job, "trace");
    snprintf(id, sizeof id, "%.32s", strlen(trace) == 55 ? trace + 3 : "");
    return id;
}

static void tell_stop(struct slot *slot)
{
    struct frame cancel = {0};
    struct error e;
    frame_add_text(&cancel, "op", "cancel");
    if (slot->supervisor->hands->send(slot, &cancel, &e) != ERROR_OK)
        log_event("child_gone", "reason", e.message, NULL);
    frame_release(&cancel);
    slot->told_ms = now_ms(slot);
}

static int end_child(struct slot *slot, bool late)
{
    slot->end = slot->supervisor->hands->end(slot);
    if (late)
        slot->end.verdict = PROCESS_LATE;
    else if (worker_leaving(slot->supervisor)) /* told to go at the same time as we, perhaps */
        return report_next(slot, SLOT_REPORT_BACK);
    char *how = process_end_text(&slot->end);
    log_event("child_died", "task", slot->task.member, "trace_id", trace_id(&slot->task), "how", how,
              "verdict", process_verdict_text(slot->end.verdict), NULL);
    free(how);
    return report_next(slot, SLOT_REPORT_DEATH);
}

/* Until the child answers, dies, or we must leave; a lost lease is passed on as a cancel. */
static int watch_child(struct slot *slot)
{
    switch (slot->supervisor->hands->look(slot, &slot->answer)) {
    case HAND_ANSWER: return report_next(slot, SLOT_REPORT_ANSWER);
    case HAND_DEATH: return end_child(slot, false);
    case HAND_BUSY: break;
    }
    if (worker_must_leave(slot->supervisor))
        return report_next(slot, SLOT_REPORT_BACK);
    if (lend_late(&slot->lend))
        return end_child(slot, true);
    if (slot->told_ms && now_ms(slot) - slot->told_ms > DEAF_MS) {
        slot->supervisor->hands->end(slot);
        return let_go(slot, NULL);
    }
    if (!slot->told_ms && slot_lost(slot))
        tell_stop(slot);
    return 0;
}

/* ---- REPORTING ---- */

/* the attempt is lost: whose doing it was decides what becomes of the task */
static enum error_code report_lost(struct slot *slot, enum process_verdict verdict, const char *json,
                                   struct error *e)
{
    return queue_died(slot->queue, &slot->task, json, process_verdict_text(verdict),
                      slot->supervisor->hands->random(slot), e);
}

/* the child died in the middle of a task */
static enum error_code report_death(struct slot *slot, struct error *e)
{
    const struct queue_task *task = &slot->task;
    const struct process_end *end = &slot->end;
    char *how = process_end_text(end), *json = NULL;
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
    enum error_code code = report_lost(slot, end->verdict, json, e);
    free(json);
    free(how);
    return code;
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

static size_t size_of(const struct queue_fields *fields, const char *name)
{
    for (size_t i = 0; i < fields->count; i++)
        if (strcmp(fields->at[i].name, name) == 0)
            return fields->at[i].size;
    return 0;
}

/* `next` is a task that came with Redis' answer; *fenced: the job had ended without us */
static enum error_code send_answer(struct slot *slot, const char *outcome, struct queue_task *next,
                                   bool *fenced, struct error *e)
{
    const struct queue_fields *fields = &slot->answer.fields;
    const struct queue_task *task = &slot->task;
    bool found = false;
    size_t count;
    enum error_code code;
    struct queue_pair *pairs = pairs_of(&slot->answer, &count);
    if (strcmp(outcome, "done") == 0) {
        code =
            queue_task_done(slot->queue, task, queue_field(fields, "digest"), queue_field(fields, "payload"),
                            size_of(fields, "payload"), slot->next_token, next, &found, e);
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
        code = queue_commit(slot->queue, task, &step, slot->next_token, next, &found, e);
    } else if (strcmp(outcome, "finish") == 0) {
        code = queue_finish(slot->queue, task, "succeeded", "", queue_field(fields, "progress"), pairs, count,
                            fenced, e);
    } else if (strcmp(outcome, "fail") == 0) {
        code =
            queue_finish(slot->queue, task, "failed", queue_field(fields, "error"), "", NULL, 0, fenced, e);
    } else if (strcmp(outcome, "reset") == 0) {
        code = queue_reset(slot->queue, task, queue_field(fields, "error"), e);
    } else if (strcmp(outcome, "host") == 0) {
        code = report_lost(slot, PROCESS_HOST, queue_field(fields, "error"), e);
    } else {
        /* cancelled, or the store did not answer: another slot does the task if the job still runs */
        code = queue_release(slot->queue, task, e);
    }
    free(pairs);
    return code;
}

/* what the child said -> Redis */
static enum error_code report_answer(struct slot *slot, struct queue_task *next, int *pause_ms,
                                     struct error *e)
{
    const struct queue_task *task = &slot->task;
    const char *outcome = queue_field(&slot->answer.fields, "outcome"),
               *error = queue_field(&slot->answer.fields, "error");
    bool fenced = false;
    if (!slot->next_token)
        slot->next_token = new_token(slot);
    enum error_code code = send_answer(slot, outcome, next, &fenced, e);
    if (again(slot, code))
        return code;
    if (code == ERROR_OK && (strcmp(outcome, "finish") == 0 || strcmp(outcome, "fail") == 0))
        log_event("job_ended", "job", task->id, "trace_id", trace_id(task), "outcome",
                  fenced ? "too late" : outcome, "error", error, NULL);
    if (strcmp(outcome, "again") == 0 || strcmp(outcome, "reset") == 0 || strcmp(outcome, "host") == 0)
        log_event("task_again", "task", task->member, "trace_id", trace_id(task), "outcome", outcome, "error",
                  error, NULL);
    if (strcmp(outcome, "again") == 0)
        *pause_ms = WORKER_RETRY_MS;
    if (code != ERROR_OK)
        log_event("not_reported", "task", task->member, "reason", e->message, NULL);
    return code;
}

static int report(struct slot *slot)
{
    struct error e;
    struct queue_task next = {0};
    enum error_code code = ERROR_OK;
    int pause_ms = 0;
    switch (slot->what) {
    case SLOT_REPORT_ANSWER: code = report_answer(slot, &next, &pause_ms, &e); break;
    case SLOT_REPORT_DEATH: code = report_death(slot, &e); break;
    case SLOT_REPORT_BACK: code = queue_release(slot->queue, &slot->task, &e); break;
    }
    if (again(slot, code))
        return WORKER_RETRY_MS;
    let_go(slot, &next);
    return pause_ms;
}

int slot_step(struct slot *slot)
{
    switch (slot->phase) {
    case SLOT_FREE: return look_for_task(slot);
    case SLOT_GIVEN: return take_up(slot);
    case SLOT_SENDING: return give_to_child(slot);
    case SLOT_WORKING: return watch_child(slot);
    case SLOT_REPORTING: return report(slot);
    }
    return 0;
}
