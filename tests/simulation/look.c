/* See look.h. */
#include "look.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* functions whose first arguments are a task and the token that holds it */
static bool of_task(const char *name)
{
    static const char *const names[] = {"task_done", "epoch_commit", "finish", "release", "died", "reset"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

bool look_changes_nothing(const char *name)
{
    static const char *const names[] = {"beat", "assist", "due", "settings", "hello", "list", "stream_open"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return strncmp(name, "audit", 5) == 0;
}

const char *look_member(const struct wire_call *call)
{
    return of_task(call->name)               ? wire_argument(call, 0)
           : strcmp(call->name, "beat") == 0 ? wire_argument(call, 4)
                                             : "";
}

int look_before(void *user, const struct wire_call *call, struct wire_look *looks)
{
    char id[QUEUE_ID_SIZE], epoch[16], index[16];
    const char *member = look_member(call);
    if (sscanf(member, "%28[^/]/%*[^/]/%15[0-9]/%15[0-9]", id, epoch, index) != 3)
        return 0;
    struct wire_look *look = &looks[0];
    look->argc = 4;
    snprintf(look->text[0], sizeof look->text[0], "{t}:k:%s:%s", id, epoch);
    snprintf(look->text[1], sizeof look->text[1], "o:%s", index);
    snprintf(look->text[2], sizeof look->text[2], "x:%s", index);
    look->argv[0] = "HMGET";
    for (int i = 0; i < 3; i++)
        look->argv[i + 1] = look->text[i];
    looks[1] = (struct wire_look){.argc = 3, .argv = {"ZSCORE", "{t}:lease", member}};
    return 2;
}

bool look_terminal(const char *state)
{
    static const char *const states[] = {"succeeded", "failed", "expired", "cancelled", "dead"};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (strcmp(state, states[i]) == 0)
            return true;
    return false;
}

enum { STATE, STOP, RETRIED, VERSION, ATTEMPT, FENCE, EPOCH, DONE, TASKS, KIND, ERROR, ARTIFACT, FIELDS };

int look_after(void *user, const struct wire_call *call, struct wire_look *looks)
{
    static const char *const fields[] = {"state", "stop", "retried", "ver",  "attempt", "fence",
                                         "epoch", "done", "tasks",   "kind", "error"};
    struct world *world = user;
    int count = 0;
    if (look_changes_nothing(call->name))
        return 0;
    for (int i = 0; i < world->job_count; i++) {
        struct job *job = &world->jobs[i];
        struct wire_look *look = &looks[count++];
        look->argc = 0;
        snprintf(look->text[0], sizeof look->text[0], "{t}:j:%s", job->id);
        snprintf(look->text[1], sizeof look->text[1], "a:%s", work_artifact(&job->shape));
        look->argv[look->argc++] = "HMGET";
        look->argv[look->argc++] = look->text[0];
        for (size_t k = 0; k < sizeof fields / sizeof *fields; k++)
            look->argv[look->argc++] = fields[k];
        look->argv[look->argc++] = look->text[1];
        look = &looks[count++];
        look->argc = 0;
        if (job->seen.present && !look_terminal(job->seen.state))
            continue; /* it cannot be in the archive */
        look->argc = 5;
        snprintf(look->text[0], sizeof look->text[0], "{t}:o:%s", job->id);
        look->argv[0] = "HMGET";
        look->argv[1] = look->text[0];
        look->argv[2] = "state";
        look->argv[3] = "ver";
        look->argv[4] = "blob";
    }
    return count;
}

const char *look_text(const redisReply *reply, size_t i)
{
    return reply->type == REDIS_REPLY_ARRAY && i < reply->elements && reply->element[i]->str
               ? reply->element[i]->str
               : "";
}

static long long number_of(const redisReply *reply, size_t i)
{
    return strtoll(look_text(reply, i), NULL, 10);
}

void look_read(const redisReply *hash, const redisReply *entry, const struct job_seen *last,
               struct job_seen *out)
{
    *out = (struct job_seen){0};
    if (look_text(hash, STATE)[0]) {
        out->present = true;
        snprintf(out->state, sizeof out->state, "%s", look_text(hash, STATE));
        snprintf(out->stop, sizeof out->stop, "%s", look_text(hash, STOP));
        snprintf(out->retried, sizeof out->retried, "%s", look_text(hash, RETRIED));
        snprintf(out->kind, sizeof out->kind, "%s", look_text(hash, KIND));
        snprintf(out->error, sizeof out->error, "%s", look_text(hash, ERROR));
        snprintf(out->artifact, sizeof out->artifact, "%s", look_text(hash, ARTIFACT));
        out->version = number_of(hash, VERSION);
        out->attempt = number_of(hash, ATTEMPT);
        out->fence = number_of(hash, FENCE);
        out->epoch = number_of(hash, EPOCH);
        out->done = number_of(hash, DONE);
        out->tasks = number_of(hash, TASKS);
        return;
    }
    if (!entry || !look_text(entry, 0)[0])
        return;
    *out = *last; /* what the archive does not say */
    out->present = true;
    out->archived = true;
    out->gone = strcmp(look_text(entry, 0), "gone") == 0;
    if (out->gone)
        return;
    snprintf(out->state, sizeof out->state, "%s", look_text(entry, 0));
    out->version = number_of(entry, 1);
}
