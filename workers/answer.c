/* What a child makes of a task: the frame that its slot sent goes in, the one that it is sent comes out. What
 * is large goes to the store first, so that whoever hears of a digest finds its bytes. Opens nothing, waits
 * for nothing; keeps the parsed state of the last jobs. See internal.h. */
#include "workers/internal.h"

#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a task's result up to this goes through Redis (deltas: 1,024 edges of 24 B), above it is a blob */
enum { INLINE_MAX = 32 << 10 };

static enum error_code context_of(struct answerer *answerer, const struct tasks_task *task, void **out,
                                  struct error *e)
{
    struct answerer_kept *oldest = &answerer->kept[0];
    for (int i = 0; i < ANSWER_CONTEXTS; i++) {
        struct answerer_kept *k = &answerer->kept[i];
        if (k->context && strcmp(k->job, task->job) == 0) {
            k->used = ++answerer->clock;
            *out = k->context;
            return ERROR_OK;
        }
        if (!k->context || (oldest->context && k->used < oldest->used))
            oldest = k;
    }
    if (oldest->context)
        answerer->table->close(oldest->context);
    *oldest = (struct answerer_kept){.used = ++answerer->clock};
    enum error_code code = answerer->table->open(task, &oldest->context, e);
    if (code != ERROR_OK) {
        oldest->context = NULL;
        return code;
    }
    snprintf(oldest->job, sizeof oldest->job, "%s", task->job);
    *out = oldest->context;
    return ERROR_OK;
}

static void forget_context(struct answerer *answerer, const char *job)
{
    for (int i = 0; i < ANSWER_CONTEXTS; i++)
        if (answerer->kept[i].context && strcmp(answerer->kept[i].job, job) == 0) {
            answerer->table->close(answerer->kept[i].context);
            answerer->kept[i] = (struct answerer_kept){0};
        }
}

/* what the tasks of the step before left: 'i' + bytes, or 'b' + digest of a blob */
static enum error_code read_parts(struct answerer *answerer, const struct frame *frame, uint32_t count,
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
        enum error_code code = store_get(answerer->store, found->value + 1, &views[i], e);
        if (code != ERROR_OK)
            return code;
        parts[i] = (struct tasks_part){views[i].bytes, views[i].size};
    }
    return ERROR_OK;
}

/* one of several tasks: its only output, inline or as a blob */
static enum error_code answer_part(struct answerer *answerer, const struct tasks_result *result,
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
        enum error_code code = store_put(answerer->store, output->bytes, output->size, digest, e);
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
static enum error_code answer_step(struct answerer *answerer, const struct tasks_result *result,
                                   struct frame *answer, struct error *e)
{
    for (size_t i = 0; i < result->outputs.count; i++) {
        const struct tasks_output *output = &result->outputs.at[i];
        char digest[STORE_DIGEST_SIZE], name[80], value[160];
        enum error_code code = store_put(answerer->store, output->bytes, output->size, digest, e);
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

static enum error_code run_task(struct answerer *answerer, const struct tasks_task *task,
                                struct frame *answer, struct error *e)
{
    void *context;
    struct tasks_result result = {0};
    enum error_code code = context_of(answerer, task, &context, e);
    if (code == ERROR_OK)
        code = answerer->table->run(context, task, &result, e);
    if (code == ERROR_OK)
        code = task->count > 1 ? answer_part(answerer, &result, answer, e)
                               : answer_step(answerer, &result, answer, e);
    if (code == ERROR_OK && result.finished)
        forget_context(answerer, task->job);
    tasks_result_release(&result);
    return code;
}

static void answer_error(const struct answerer *answerer, enum error_code code, const struct error *e,
                         struct frame *answer)
{
    frame_release(answer);
    frame_add_text(answer, "outcome",
                   code == ERROR_CANCELLED     ? "cancelled"
                   : code == ERROR_UNAVAILABLE ? "again" /* the store's server is gone for a while */
                   : error_code_is_host(code)  ? "host"  /* counts, and is tried again after a pause */
                   : code == ERROR_NOT_FOUND   ? "reset" /* a blob of an earlier step is gone */
                                               : "fail");
    char *json = answerer->table->error_json(e);
    frame_add_text(answer, "error", json);
    free(json);
}

void answer_task(struct answerer *answerer, const struct frame *frame, struct frame *answer)
{
    struct error e = {0};
    uint32_t parts = (uint32_t)queue_number(&frame->fields, "parts");
    struct tasks_part *part = mem_zalloc(parts + 1, sizeof *part);
    struct store_view *views = mem_zalloc(parts + 1, sizeof *views);
    struct tasks_task task = {.job = queue_field(&frame->fields, "task-job"),
                              .kind = queue_field(&frame->fields, "task-kind"),
                              .epoch = (uint32_t)queue_number(&frame->fields, "task-epoch"),
                              .index = (uint32_t)queue_number(&frame->fields, "task-index"),
                              .count = (uint32_t)queue_number(&frame->fields, "tasks"),
                              .fields = &frame->fields,
                              .store = answerer->store,
                              .parts = part,
                              .part_count = parts,
                              .stopping = answerer->stopping,
                              .user = answerer->user};
    enum error_code code = read_parts(answerer, frame, parts, part, views, &e);
    if (code == ERROR_OK)
        code = run_task(answerer, &task, answer, &e);
    if (code != ERROR_OK)
        answer_error(answerer, code, &e, answer);
    for (uint32_t i = 0; i < parts; i++)
        store_view_release(&views[i]);
    free(views);
    free(part);
}

void answerer_release(struct answerer *answerer)
{
    for (int i = 0; i < ANSWER_CONTEXTS; i++)
        if (answerer->kept[i].context)
            answerer->table->close(answerer->kept[i].context);
    *answerer = (struct answerer){0};
}
