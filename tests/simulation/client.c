/* Clients and servers of the simulation. A client's wish becomes the call of queue/ that the server's handler
 * makes (server/resources/submit.c, jobs.c), answers that got lost are asked for again as a client would; a
 * server's house-keeping and janitor are what ships. */
#include "world.h"

#include "queue/audit.h"
#include "server/resources/archive.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HOUSE_MS = 1500, CALM_HOUSE_MS = 2800, JANITOR_MS = 20000, QUICK_MS = 1500 };

/* ---- submissions ---- */

static void invent(struct world *world, struct job *job, int number)
{
    static const char *const kinds[2][3] = {{"analyse", "merge", "rollouts"}, {"problem", "cfn", "cfn-join"}};
    static const enum fate poisons[] = {FATE_DIES, FATE_HANGS, FATE_IS_KILLED};
    static const long long deadlines_ms[] = {0, 0, 0, 0, 0, 600, 3000, 20000};
    struct choices *choices = &world->choices;
    char text[64];
    struct error e;
    *job = (struct job){.submitted = true};
    job->shape =
        (struct work_shape){.problem = choose(choices, 4) == 3,
                            .rounds = (1 + (int)choose(choices, WORK_ROUNDS + 1)) % (WORK_ROUNDS + 1),
                            .tasks = 1 + (int)choose(choices, WORK_TASKS),
                            .network = choose(choices, 4) == 3};
    if (job->shape.problem)
        job->shape.tasks = 2;
    job->shape.referee = !job->shape.problem && choose(choices, 6) == 5;
    if (job->shape.referee) /* in one of four worlds none ever comes */
        world->referees |= choose(choices, 4) != 3;
    snprintf(job->id, sizeof job->id, "j_%025d0", number);
    snprintf(job->tenant, sizeof job->tenant, "%s", choose(choices, 2) ? "two" : "one");
    snprintf(job->print, sizeof job->print, "p%d", number);
    uint32_t how = choose(choices, 3);
    if (how == 1)
        snprintf(job->key, sizeof job->key, "key%d", number);
    if (how == 2) {
        snprintf(job->name, sizeof job->name, "name%d", number);
        queue_named_id(job->tenant, job->name, job->id);
    }
    if (choose(choices, 8) == 7) {
        job->poison = poisons[choose(choices, 3)];
        snprintf(job->poison_kind, sizeof job->poison_kind, "%s",
                 kinds[job->shape.problem][choose(choices, 3)]);
    }
    job->deadline_ms = deadlines_ms[choose(choices, 8)];
    job->seconds_ms = choose(choices, 8) == 7 ? 1000 : 0;
    job->fails_late = choose(choices, 3) == 2;
    snprintf(text, sizeof text, "module %u", choose(choices, 3));
    if (store_put(world->store, text, strlen(text), job->module, &e) != ERROR_OK)
        abort();
    work_request(&job->shape, text);
    if (store_put(world->store, text, strlen(text), job->request, &e) != ERROR_OK)
        abort();
    tell(world, "%s: a %s of %d rounds of %d tasks%s%s%s%s", job->id, job->shape.problem ? "problem" : "plan",
         job->shape.rounds, job->shape.tasks, job->deadline_ms ? ", with a deadline" : "",
         job->seconds_ms ? ", for a second" : "", job->poison ? ", whose children end at " : "",
         job->poison_kind);
}

/* as often as the archive has to be asked first */
static enum error_code accept(struct world *world, const struct queue_submission *submission,
                              struct queue_accepted *out, struct error *e)
{
    struct queue_submission again = *submission;
    struct queue_fields fields = {0};
    char source[QUEUE_ID_SIZE];
    enum error_code code = queue_accept(world->client, submission, out, e);
    if (code != ERROR_OK || out->outcome != QUEUE_ARCHIVED)
        return code;
    memcpy(source, out->id, sizeof source);
    code = archive_read(world->store, out->blob, &fields, e);
    again.source = source;
    again.source_fields = &fields;
    if (code == ERROR_OK)
        code = queue_accept(world->client, &again, out, e);
    queue_fields_release(&fields);
    return code;
}

static void submit(struct world *world, struct job *job)
{
    char seconds[16], digest[160];
    struct error e;
    struct queue_accepted accepted = {0};
    snprintf(seconds, sizeof seconds, "%d", job->seconds_ms);
    snprintf(digest, sizeof digest, "%s:%s", job->module, job->request);
    const struct queue_pair fields[] = {{"request", job->request},
                                        {"module", job->module},
                                        {"labels", ""},
                                        {"referee", job->shape.referee ? "xla_cpu" : ""},
                                        {"seconds_ms", seconds},
                                        {"digest", digest},
                                        {"digest_build", "one"},
                                        {"on_deadline", job->fails_late ? "fail" : "best"}};
    struct queue_submission submission = {.id = job->id,
                                          .tenant = job->tenant,
                                          .first_kind =
                                              job->shape.problem ? QUEUE_PROBLEM_KIND : QUEUE_FIRST_KIND,
                                          .deadline_ms = job->deadline_ms,
                                          .fields = fields,
                                          .field_count = sizeof fields / sizeof *fields,
                                          .print = job->print,
                                          .key = job->key[0] ? job->key : NULL,
                                          .name = job->name[0] ? job->name : NULL,
                                          .digest = job->deadline_ms || job->poison ? NULL : digest};
    enum error_code code = accept(world, &submission, &accepted, &e);
    tell(world, "%s is submitted: %s", job->id, code == ERROR_OK ? accepted.id : "no answer");
    if (code == ERROR_OK) {
        bool good = accepted.outcome == QUEUE_ACCEPTED || accepted.outcome == QUEUE_EXISTS ||
                    accepted.outcome == QUEUE_REPLAYED ||
                    (accepted.outcome == QUEUE_GONE && job->seen.gone) ||
                    accepted.outcome == QUEUE_ARCHIVED; /* of another version than we read: asked for again */
        if (!good)
            blame(world, "%s is refused: outcome %d", job->id, accepted.outcome);
        if (strcmp(accepted.id, job->id) != 0 && job->acknowledged)
            blame(world, "%s is now another job: %s", job->id, accepted.id);
        if (strcmp(accepted.id, job->id) != 0 && accepted.outcome != QUEUE_ARCHIVED)
            snprintf(job->id, sizeof job->id, "%s", accepted.id);
        job->acknowledged |= accepted.outcome != QUEUE_ARCHIVED;
        queue_fields_release(&accepted.job);
    } else if (job->key[0] && !job->seen.present) { /* the next try has an id of its own */
        job->id[27] = (char)(job->id[27] == '9' ? '9' : job->id[27] + 1);
    }
}

/* ---- other wishes ---- */

static void cancel(struct world *world, struct job *job)
{
    char state[32];
    bool over;
    struct error e;
    bool discard = choose(&world->choices, 4) == 3;
    enum error_code code = queue_cancel(world->client, job->id, discard, state, &over, &e);
    tell(world, "%s is cancelled%s: %s", job->id, discard ? ", discarded" : "",
         code == ERROR_OK ? state : "no answer");
}

static void retry(struct world *world, struct job *job)
{
    char blob[65];
    struct error e;
    enum error_code code = queue_retry(world->client, job->id, 0, NULL, blob, &e);
    if (code == ERROR_OK && blob[0]) {
        struct queue_fields fields;
        code = archive_read(world->store, blob, &fields, &e);
        if (code != ERROR_OK) {
            blame(world, "the archive of %s cannot be read: %s", job->id, e.message);
            return;
        }
        code = queue_retry(world->client, job->id, 0, &fields, blob, &e);
        queue_fields_release(&fields);
    }
    tell(world, "%s is tried again: %s", job->id, code == ERROR_OK ? "yes" : "no");
}

static void delete(struct world *world, struct job *job)
{
    struct error e;
    job->deleted = true; /* from here on it may be gone, whenever the request arrives */
    enum error_code code = queue_delete(world->client, job->id, NULL, 0, &e);
    tell(world, "%s is deleted: %s", job->id, code == ERROR_OK ? "yes" : "no");
}

static void follow(struct world *world, struct job *job)
{
    struct queue_events events;
    struct error e;
    struct queue_place place = {.after = job->follow};
    memcpy(place.job, job->id, sizeof place.job);
    if (queue_events_follow(world->client, &place, 1, 0, &events, &e) != ERROR_OK)
        return;
    for (size_t i = 0; i < events.count && job->followed_count < SEEN; i++) {
        job->followed[job->followed_count++] = events.at[i].version;
        job->follow = events.at[i].id;
    }
    queue_events_release(&events);
}

/* what a client reads is what Redis has, archived or not */
static void look(struct world *world, struct job *job)
{
    struct queue_fields fields;
    struct error e;
    enum error_code code = queue_job(world->client, job->id, &fields, &e);
    if (code == ERROR_NOT_FOUND && job->seen.present && !world->lost)
        blame(world, "%s is there and is not found", job->id);
    if (code != ERROR_OK)
        return;
    code = archive_expand(world->store, &fields, &e);
    if (code != ERROR_OK && code != ERROR_GONE)
        blame(world, "%s cannot be read: %s", job->id, e.message);
    /* a job that its client knew by another id until now is first seen after the next call */
    if (code == ERROR_OK && job->seen.present && strcmp(queue_field(&fields, "state"), job->seen.state) != 0)
        blame(world, "%s is %s, and read as %s", job->id, job->seen.state, queue_field(&fields, "state"));
    queue_fields_release(&fields);
}

void client_act(struct world *world)
{
    static const int often_ms[] = {20, 50, 100, 200, 500, 1000, 3000, 10000};
    struct choices *choices = &world->choices;
    uint32_t wish = choose(choices, 16);
    if (!world->job_count || (wish >= 13 && world->job_count < JOBS)) {
        struct job *job = &world->jobs[world->job_count];
        invent(world, job, ++world->job_count);
        submit(world, job);
    } else {
        struct job *job = &world->jobs[choose(choices, (uint32_t)world->job_count)];
        bool over = strcmp(job->seen.state, "failed") == 0 || strcmp(job->seen.state, "dead") == 0;
        bool repeatable = job->key[0] || job->name[0]; /* else it would make another job */
        if (repeatable && (wish == 12 || !job->acknowledged))
            submit(world, job);
        else if (wish == 11)
            cancel(world, job);
        else if (wish >= 9 || (over && choose(choices, 2)))
            retry(world, job);
        else if (wish == 8 && choose(choices, 3) == 2)
            delete (world, job);
        else if (wish == 7 && choose(choices, 2))
            judge_audit(world);
        else if (wish >= 5)
            follow(world, job);
        else
            look(world, job);
    }
    world->client_ms = world->mono_ms + often_ms[choose(choices, 8)];
}

/* ---- servers ---- */

static void janitor(struct world *world, struct server *server)
{
    const struct queue_times times = {.archive_ms = world->quick ? 5000 : 0,
                                      .keep_ms = world->quick ? 400000 : 0};
    struct error e;
    size_t done;
    enum error_code code = server->set ? ERROR_OK : queue_settings(server->janitor, &times, &e);
    server->set = code == ERROR_OK;
    if (code == ERROR_OK)
        code = archive_due(world->store, server->janitor, 10, &done, &e);
    if (server->set && code != ERROR_UNAVAILABLE)
        code = queue_tidy(server->janitor, &e);
    if (code != ERROR_OK && code != ERROR_UNAVAILABLE)
        blame(world, "the janitor fails: %s", e.message);
}

void server_act(struct world *world, struct server *server, bool janitors)
{
    struct error e;
    if (janitors) {
        janitor(world, server);
        server->janitor_ms = world->mono_ms + (world->quick ? QUICK_MS : JANITOR_MS);
    } else {
        enum error_code code = queue_reap(server->house, &e);
        if (code != ERROR_OK && code != ERROR_UNAVAILABLE)
            blame(world, "nobody reaps: %s", e.message);
        /* each second, as a rule; a gap of three would be taken for an outage and prolong every lease */
        server->house_ms = world->mono_ms + (choices_over(&world->choices) ? CALM_HOUSE_MS : HOUSE_MS);
    }
}
