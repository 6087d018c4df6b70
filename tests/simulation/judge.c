/* See world.h. What must hold of a simulated world, looked at around every call that reaches Redis: what the
 * call may do to the job that it names, and what clients would see of every job after it. And the weather. */
#include "engine.h"
#include "look.h"

#include "queue/audit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OWN_CAP = 3, HOST_CAP = 12, ATTEMPTS = 5 }; /* queue/library.lua's, on purpose a second time */

/* ---- weather ---- */

static enum wire_fault weather(void *user, const struct wire_call *call)
{
    static const char *const names[] = {"", "the answer is lost", "the request is lost", "it is done twice",
                                        "it is late"};
    static const enum wire_fault often[] = {WIRE_REPLY_LOST, WIRE_REPLY_LOST, WIRE_REQUEST_LOST, WIRE_DOUBLED,
                                            WIRE_LATE};
    enum { FAIR = 40, ALL = FAIR + sizeof often / sizeof *often };
    struct world *world = user;
    world_interrupt(world);
    if (world->mono_ms < world->away_ms)
        return WIRE_REQUEST_LOST;
    uint32_t number = choose(&world->choices, ALL);
    enum wire_fault fault = number < FAIR ? WIRE_GOOD : often[number - FAIR];
    if (fault)
        tell(world, "  %s(%s): %s", call->name, wire_argument(call, 0), names[fault]);
    return fault;
}

/* ---- what a job may become ---- */

static int rank_of(const char *state)
{
    static const char *const states[] = {"queued", "validating", "running", "finalizing", "cancelling"};
    for (int i = 0; i < 5; i++)
        if (strcmp(state, states[i]) == 0)
            return i;
    return 9;
}

/* the artifact is one that the search can have had, and its bytes are there */
static void judge_artifact(struct world *world, const struct job *job, const struct job_seen *now)
{
    char right[STORE_DIGEST_SIZE];
    bool whole = strcmp(now->state, "succeeded") == 0 && !now->stop[0];
    if (whole && !now->artifact[0])
        blame(world, "%s succeeded without %s", job->id, work_artifact(&job->shape));
    if (!now->artifact[0])
        return;
    int round = whole ? job->shape.rounds : 0;
    for (;; round++) {
        if (round > job->shape.rounds) {
            blame(world, "%s is %s with a result that %s", job->id, now->state,
                  whole ? "is not the whole search's" : "no search has");
            return;
        }
        work_result(&job->shape, job->module, round, right);
        if (strcmp(right, now->artifact) == 0)
            break;
    }
    if (!memory_store_has(world->store, now->artifact))
        blame(world, "%s names a result that the store does not have", job->id);
}

static int most_deaths(const struct job *job)
{
    int most = 0;
    for (int i = 0; i < job->death_count; i++)
        most = job->deaths[i].count > most ? job->deaths[i].count : most;
    return most;
}

static void judge_end_of_life(struct world *world, struct job *job, const struct job_seen *now)
{
    const char *error = now->error;
    judge_artifact(world, job, now);
    if (strcmp(now->stop, "cancel") == 0 && strcmp(now->state, "cancelled") != 0)
        blame(world, "%s was cancelled and is %s", job->id, now->state);
    if (strcmp(now->state, "failed") == 0 && !strstr(error, "\"invalid_request\"") &&
        !strstr(error, "\"memory_limit\"") && !(world->lost_blobs && strstr(error, "\"not_found\"")))
        blame(world, "%s failed by itself: %s", job->id, error);
    if (strcmp(now->state, "expired") == 0 && !job->deadline_ms)
        blame(world, "%s expired without a deadline", job->id);
    if (strcmp(now->state, "dead") == 0) {
        const char *lost = strstr(error, " lost ");
        bool hosts = strstr(error, "\"host_fault\"") != NULL;
        if (hosts ? !lost || atoi(lost + 6) < HOST_CAP
                  : !strstr(error, "\"not_found\"") && most_deaths(job) != OWN_CAP && !world->lost)
            blame(world, "%s is dead too early: %s", job->id, error);
    }
}

static bool new_life(const struct job *job, const struct job_seen *now)
{
    return now->retried[0] && strcmp(now->retried, job->seen.retried) != 0;
}

static void judge_step(struct world *world, struct job *job, const struct job_seen *last,
                       const struct job_seen *now)
{
    bool same = strcmp(now->state, last->state) == 0 && strcmp(now->stop, last->stop) == 0 &&
                now->attempt == last->attempt && now->epoch == last->epoch && now->done == last->done &&
                strcmp(now->artifact, last->artifact) == 0;
    if (now->version < last->version)
        blame(world, "%s had version %lld and has %lld", job->id, last->version, now->version);
    if (!same && now->version == last->version)
        blame(world, "%s changes within version %lld: it is %s at step %lld", job->id, now->version,
              now->state, now->epoch);
    if (now->fence < last->fence || now->epoch < last->epoch)
        blame(world, "%s goes back from step %lld to %lld", job->id, last->epoch, now->epoch);
    if (now->done > now->tasks)
        blame(world, "%s has %lld results of %lld tasks", job->id, now->done, now->tasks);
    if (new_life(job, now)) {
        if (strcmp(last->state, "failed") != 0 && strcmp(last->state, "dead") != 0)
            blame(world, "%s was %s and starts again", job->id, last->state);
        job->lives++;
        job->death_count = 0;
        return;
    }
    if (look_terminal(last->state) && !same)
        blame(world, "%s had ended as %s and changes: it is %s", job->id, last->state, now->state);
    if (now->attempt < last->attempt || now->attempt > ATTEMPTS + 1)
        blame(world, "%s is at attempt %lld after %lld", job->id, now->attempt, last->attempt);
    if (now->attempt == last->attempt && rank_of(now->state) < rank_of(last->state))
        blame(world, "%s was %s and is %s", job->id, last->state, now->state);
}

static void judge_job(struct world *world, struct job *job, const struct job_seen *now)
{
    const struct job_seen last = job->seen;
    if (!now->present) {
        if (last.present && !last.gone)
            blame(world, "%s was %s and is not there any more", job->id, last.state);
        return;
    }
    if (now->gone) {
        if (!last.gone && (!look_terminal(last.state) || !(job->deleted || world->quick)))
            blame(world, "%s was %s and is forgotten", job->id, last.state);
    } else {
        if (last.gone)
            blame(world, "%s was forgotten and is %s", job->id, now->state);
        if (last.present)
            judge_step(world, job, &last, now);
        if (look_terminal(now->state) && (!last.present || !look_terminal(last.state) || job->lives > 0))
            judge_end_of_life(world, job, now);
    }
    if (now->version != last.version) {
        world->changes++;
        tell(world, "  %s is %s, version %lld, step %lld %s%s%s", job->id + 26, now->state, now->version,
             now->epoch, now->kind, now->stop[0] ? ", stopped by " : "", now->stop);
    }
    job->seen = *now;
}

/* ---- what a call may do ---- */

static void count_death(struct world *world, const struct wire_call *call, const char *member)
{
    char id[QUEUE_ID_SIZE];
    snprintf(id, sizeof id, "%.28s", member);
    struct job *job = job_of(world, id);
    const char *reason = wire_argument(call, 4);
    if (!job || (strcmp(reason, "fault") != 0 && strcmp(reason, "time_limit") != 0))
        return;
    int i = 0;
    while (i < job->death_count && strcmp(job->deaths[i].member, member) != 0)
        i++;
    if (i == DEATHS)
        return;
    if (i == job->death_count) {
        job->death_count++;
        job->deaths[i].count = 0;
        snprintf(job->deaths[i].member, sizeof job->deaths[i].member, "%s", member);
    }
    if (++job->deaths[i].count > OWN_CAP)
        blame(world, "task %s has ended %d processes", member, job->deaths[i].count);
}

/* a call of who does not hold the task has no effect, but that a repeated one gives what it gave before */
static void judge_call(struct world *world, const struct wire_call *call, const redisReply *reply,
                       redisReply *const *before, const struct job_seen *was, const struct job_seen *is)
{
    const char *name = call->name, *member = look_member(call);
    bool beat = strcmp(name, "beat") == 0;
    const char *token = wire_argument(call, beat ? 5 : 1);
    const redisReply *holder = before[0];
    bool held = strcmp(look_text(holder, 0), token) == 0 && before[1]->type == REDIS_REPLY_STRING,
         assists = strcmp(look_text(holder, 1), token) == 0;
    if (beat) {
        bool told = reply->type == REDIS_REPLY_ARRAY && reply->elements && reply->element[0]->integer == 1;
        if (told && !held && !assists)
            blame(world, "%s was told that it holds %s, which %s holds", token, member,
                  look_text(holder, 0)[0] ? look_text(holder, 0) : "nobody");
        return;
    }
    if (held || strcmp(name, "task_done") == 0 || !was || !is)
        return;
    if (was->epoch != is->epoch || was->attempt != is->attempt || strcmp(was->state, is->state) != 0 ||
        strcmp(was->artifact, is->artifact) != 0)
        blame(world, "%s of %s changes the job, though %s holds it", name, member,
              look_text(holder, 0)[0] ? look_text(holder, 0) : "nobody");
}

/* whoever asks once more because the answer was lost is given the same task: one slot never holds two */
static void judge_token(struct world *world, const char *token, const char *member)
{
    struct given *given = &world->given[world->given_count % GIVEN];
    for (int i = 0; i < GIVEN; i++)
        if (strcmp(world->given[i].token, token) == 0 && strcmp(world->given[i].member, member) != 0)
            blame(world, "token %s is given %s and %s", token, world->given[i].member, member);
    snprintf(given->token, sizeof given->token, "%s", token);
    snprintf(given->member, sizeof given->member, "%s", member);
    world->given_count++;
}

/* planning workers are given tasks of jobs that are of their build */
static void judge_given(struct world *world, const struct wire_call *call, const redisReply *reply)
{
    if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 5)
        return;
    bool referee = strcmp(call->name, "referee_claim") == 0;
    judge_token(world, wire_argument(call, referee), look_text(reply, 0));
    if (referee)
        return;
    const redisReply *fields = reply->element[4];
    for (size_t i = 0; i + 1 < fields->elements; i += 2)
        if (strcmp(look_text(fields, i), "build") == 0 &&
            strcmp(look_text(fields, i + 1), wire_argument(call, 1)) != 0)
            blame(world, "%s, a job of build %s, is given to build %s", look_text(reply, 0),
                  look_text(fields, i + 1), wire_argument(call, 1));
}

/* whoever asks once more because the answer was lost must hear that it was done */
static void judge_retry(struct world *world, const struct wire_call *call, const redisReply *reply)
{
    const struct job *job = job_of(world, wire_argument(call, 0));
    if (job && strcmp(look_text(reply, 0), "state") == 0 &&
        strcmp(job->seen.retried, wire_argument(call, 1)) == 0)
        blame(world, "%s was started again by this very call, which is refused", job->id);
}

static void note_change(struct world *world, const struct wire_call *call, const redisReply *reply)
{
    if (strcmp(call->name, "reap") == 0)
        world->changes += reply->integer > 0;
    else if (strcmp(call->name, "claim") != 0 && strcmp(call->name, "tidy") != 0)
        world->changes++;
}

static void seen(void *user, const struct wire_call *call, const redisReply *reply,
                 redisReply *const *before_call, redisReply *const *after_call)
{
    struct world *world = user;
    if (reply->type == REDIS_REPLY_ERROR && !strstr(reply->str, "Function not found"))
        blame(world, "Redis refuses %s: %s", call->name, reply->str);
    if (reply->type == REDIS_REPLY_ERROR)
        return;
    const char *member = look_member(call);
    char id[QUEUE_ID_SIZE];
    snprintf(id, sizeof id, "%.28s", member);
    if (strcmp(call->name, "died") == 0 && reply->str && strcmp(reply->str, "stale") != 0)
        count_death(world, call, member);
    if (strcmp(call->name, "claim") == 0 || strcmp(call->name, "assist") == 0 ||
        strcmp(call->name, "referee_claim") == 0)
        judge_given(world, call, reply);
    if (strcmp(call->name, "retry") == 0)
        judge_retry(world, call, reply);
    bool changes = !look_changes_nothing(call->name);
    for (int i = 0; i < world->job_count; i++) {
        struct job *job = &world->jobs[i];
        struct job_seen now = job->seen;
        const struct job_seen was = job->seen;
        if (changes) {
            look_read(after_call[2 * i], after_call[2 * i + 1], &job->seen, &now);
            judge_job(world, job, &now);
        }
        if (member[0] && before_call[0] && strcmp(id, job->id) == 0)
            judge_call(world, call, reply, before_call, was.present ? &was : NULL, now.present ? &now : NULL);
    }
    if (changes)
        note_change(world, call, reply);
}

void judge_attach(struct world *world)
{
    world->wire =
        (struct wire_world){weather, look_before, look_after, seen, world, &world->now_us, world->loses};
    wire_attach(&world->wire);
}

void judge_go_back(struct world *world)
{
    static const struct wire_call any = {.name = "reap"};
    struct wire_look looks[WIRE_LOOKS];
    redisReply *replies[WIRE_LOOKS];
    memset(world->given, 0, sizeof world->given);
    for (int i = 0; i < world->job_count; i++)
        world->jobs[i].seen = (struct job_seen){0}; /* all is looked at */
    int count = look_after(world, &any, looks);
    engine_begin(world->now_us);
    for (int i = 0; i < count; i++)
        engine_append(looks[i].argc, looks[i].argv, NULL);
    engine_exchange(replies, (size_t)count);
    for (int i = 0; i < world->job_count; i++) {
        struct job *job = &world->jobs[i];
        const struct job_seen none = {0};
        look_read(replies[2 * i], replies[2 * i + 1], &none, &job->seen);
        job->acknowledged &= job->seen.present;
        job->follow = (struct queue_event_id){0};
        job->followed_count = job->death_count = 0;
        tell(world, "  %s is %s again, version %lld", job->id + 26,
             job->seen.present ? job->seen.state : "not there", job->seen.version);
    }
    for (int i = 0; i < count; i++)
        freeReplyObject(replies[i]);
    world->lost = true;
    world->changes++;
}

/* ---- at the end ---- */

bool judge_at_rest(const struct world *world)
{
    for (int i = 0; i < world->job_count; i++) {
        const struct job *job = &world->jobs[i];
        if (job->submitted && job->seen.present && !job->seen.gone && !look_terminal(job->seen.state))
            return false;
    }
    return wire_late_count() == 0;
}

void judge_audit(struct world *world)
{
    struct queue_audit audit;
    struct error e;
    const char *ids[JOBS];
    size_t count = 0;
    for (int i = 0; i < world->job_count; i++)
        if (world->jobs[i].acknowledged && world->jobs[i].seen.present)
            ids[count++] = world->jobs[i].id;
    if (queue_audit_run(world->client, ids, count, &audit, &e) != ERROR_OK)
        return; /* no answer */
    for (size_t i = 0; i < audit.violations.count; i++)
        blame(world, "audit, invariant %d: %s %s", audit.violations.at[i].invariant,
              audit.violations.at[i].subject, audit.violations.at[i].text);
    for (size_t i = 0; i < audit.blobs.count; i++)
        if (audit.blobs.at[i].name[0] != 'b' && !memory_store_has(world->store, audit.blobs.at[i].digest))
            blame(world, "%s of %s is not in the store", audit.blobs.at[i].name, audit.blobs.at[i].job);
    queue_audit_release(&audit);
}

/* whoever followed the job was sent every event once, in order, and the last one says how it ended */
static void judge_events(struct world *world, const struct job *job)
{
    struct queue_events events;
    struct error e;
    if (job->seen.archived || !job->seen.present || job->seen.gone)
        return;
    if (queue_events_since(world->client, job->id, (struct queue_event_id){0}, &events, &e) != ERROR_OK) {
        blame(world, "%s has no events: %s", job->id, e.message);
        return;
    }
    int first =
        0; /* that it was sent and that is not in the store, as of a job that came out of the archive */
    while (first < job->followed_count && events.count && job->followed[first] < events.at[0].version)
        first++;
    size_t at = 0;
    while (first < job->followed_count && at < events.count && events.at[at].version < job->followed[first])
        at++;
    for (int i = first; i < job->followed_count; i++, at++)
        if (at >= events.count || events.at[at].version != job->followed[i]) {
            blame(world, "the follower of %s was sent version %lld, not what stands there", job->id,
                  job->followed[i]);
            break;
        }
    int ends = 0;
    for (size_t i = 0; i < events.count; i++)
        ends += queue_event_ends(&events.at[i]);
    if (!events.count || !queue_event_ends(&events.at[events.count - 1]))
        blame(world, "the last event of %s is not its end", job->id);
    else if (ends > job->lives + 1)
        blame(world, "%s ended %d times in %d lives", job->id, ends, job->lives + 1);
    queue_events_release(&events);
}

void judge_end(struct world *world)
{
    for (int i = 0; i < world->job_count && !world->failure[0]; i++) {
        struct job *job = &world->jobs[i];
        if (job->acknowledged && !job->seen.present)
            blame(world, "%s was acknowledged and is not there", job->id);
        judge_events(world, job);
    }
    if (!world->failure[0])
        judge_audit(world);
}
