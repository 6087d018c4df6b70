/* The best plans that really differ from the one that a job answers with, and from one another.
 *
 *   candidates   the plans that raced (experts, network, segments, yours), the search's archive, best first
 *   chosen       in order of cost, those that are at least APART from the plan and from all chosen before
 *
 * "Apart" is a share of bytes (planner/distance.h): weights, or results of ops, that are sharded
 * differently. A candidate is priced anew, in full, before it is compared, and its modules are written
 * before it counts: what cannot be written is no alternative. The archive has many plans that differ in
 * next to nothing; a plan whose *heavy* decisions (those that alone move APART of the bytes) are the same
 * as of one looked at before is left out unpriced. Equal jobs choose alike. */
#include "planner/distance.h"
#include "planner/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART 0.05 /* of the bytes; chosen: under it plans cost the same within a percent or two */
enum {
    MOST_ARCHIVED = 256,     /* plans of the archive that are priced; about 2 ms each for t2b */
    MOST_LOOKED_AT = 1 << 15 /* lists of it whose decisions are looked at */
};

struct chooser {
    const struct planner_job *j;
    struct planner_distance *distance;
    struct evaluator_session *session;
    VEC(struct search_plan) candidates;
    VEC(uint64_t) kinds;                             /* signatures of archived plans that are candidates */
    struct plan plans[PLANNER_MAX_ALTERNATIVES + 1]; /* the plan itself, then those chosen */
    uint32_t count;
    VEC(struct weighed) weighed;
    uint32_t looked_at;
    struct plan scratch;
};
struct weighed { /* a decision that was met, and whether it is heavy */
    struct plan_decision decision;
    bool heavy;
};

static void take_runners(struct chooser *chooser)
{
    struct search_plan plan;
    for (uint32_t i = 0; planner_job_runner(chooser->j, i, &plan); i++) {
        if (!plan.factor_count && strcmp(plan.found_by, "yours") != 0) {
            char name[sizeof plan.found_by];
            snprintf(name, sizeof name, "%s", plan.found_by);
            snprintf(plan.found_by, sizeof plan.found_by, "baseline %.150s", name);
        }
        VEC_PUSH(&chooser->candidates, plan);
    }
}

/* ---- the archive ---- */

static bool same_decision(struct plan_decision one, struct plan_decision other)
{
    return one.group == other.group && one.bits == other.bits && one.axis == other.axis &&
           one.scope == other.scope;
}

/* a decision is heavy where it moves enough bytes alone */
static bool is_heavy(struct chooser *chooser, struct plan_decision decision)
{
    for (size_t i = 0; i < chooser->weighed.count; i++)
        if (same_decision(chooser->weighed.at[i].decision, decision))
            return chooser->weighed.at[i].heavy;
    const struct plan *start = plan_context_start(chooser->j->context);
    plan_copy(&chooser->scratch, start);
    plan_apply(chooser->j->context, &chooser->scratch, decision);
    struct planner_difference difference = planner_distance_of(chooser->distance, &chooser->scratch, start);
    /* one that has an effect only after others is looked at with them */
    bool none = hash128_compare(chooser->scratch.hash, start->hash) == 0;
    struct weighed weighed = {decision, none || planner_difference_share(difference) >= APART};
    VEC_PUSH(&chooser->weighed, weighed);
    return weighed.heavy;
}

/* of the set of heavy decisions: their order seldom matters */
static uint64_t kind_of(struct chooser *chooser, const struct plan_decision *decisions, uint32_t count)
{
    uint64_t kind = 0;
    for (uint32_t i = 0; i < count; i++)
        if (is_heavy(chooser, decisions[i]))
            kind ^= hash_combine(hash_combine(decisions[i].group + 1, decisions[i].bits),
                                 (uint64_t)decisions[i].axis << 8 | decisions[i].scope);
    return kind;
}

static bool visit(const struct plan_decision *decisions, uint32_t count, void *user)
{
    struct chooser *chooser = user;
    if (++chooser->looked_at > MOST_LOOKED_AT)
        return false;
    uint64_t kind = kind_of(chooser, decisions, count);
    for (size_t i = 0; i < chooser->kinds.count; i++)
        if (chooser->kinds.at[i] == kind)
            return true;
    VEC_PUSH(&chooser->kinds, kind);
    struct search_plan plan = {.count = count, .found_by = "search"};
    memcpy(plan.decisions, decisions, count * sizeof *decisions);
    plan_copy(&chooser->scratch, plan_context_start(chooser->j->context));
    for (uint32_t i = 0; i < count; i++)
        plan_apply(chooser->j->context, &chooser->scratch, decisions[i]);
    plan.hash = chooser->scratch.hash;
    VEC_PUSH(&chooser->candidates, plan);
    return chooser->kinds.count < MOST_ARCHIVED;
}

/* ---- choosing ---- */

static enum error_code price_all(struct chooser *chooser, struct error *e)
{
    for (size_t i = 0; i < chooser->candidates.count; i++) {
        struct search_plan *plan = &chooser->candidates.at[i];
        if (!search_plan_replay(chooser->j->context, plan, &chooser->scratch))
            return error_set(e, ERROR_INTERNAL, "the decisions of %s do not replay to its hash",
                             plan->found_by);
        TRY(evaluator_price(chooser->session, &chooser->scratch, &plan->price, &plan->cost, e));
    }
    return ERROR_OK;
}

static int by_cost(const void *left, const void *right)
{
    const struct search_plan *one = left, *other = right;
    int order = cost_compare(one->cost, one->hash, other->cost, other->hash);
    return order ? order : strcmp(one->found_by, other->found_by);
}

/* whether the scratch plan is far enough from all chosen so far; *from_plan, *least: how far */
static bool is_apart(const struct chooser *chooser, struct planner_difference *from_plan, double *least)
{
    *least = 1;
    for (uint32_t i = 0; i < chooser->count; i++) {
        struct planner_difference difference =
            planner_distance_of(chooser->distance, &chooser->plans[i], &chooser->scratch);
        double share = planner_difference_share(difference);
        if (i == 0)
            *from_plan = difference;
        *least = share < *least ? share : *least;
    }
    return *least >= APART;
}

static void keep_plan(struct chooser *chooser)
{
    struct plan *plan = &chooser->plans[chooser->count++];
    plan_init(plan, chooser->j->nda, &chooser->j->request->mesh);
    plan_copy(plan, &chooser->scratch);
}

/* A candidate becomes an alternative once its modules are written; one that cannot be written is passed
 * over. */
static enum error_code take(struct chooser *chooser, const struct search_plan *candidate, bool whole,
                            struct planner_outcome *out, bool *taken, struct error *e)
{
    struct planner_alternative *alternative = &out->alternatives[out->alternative_count];
    struct planner_proof proof;
    TRY(report_create(chooser->j->evaluator, NULL, NULL, candidate, NULL, &alternative->report, e));
    planner_job_describe(chooser->j, whole, alternative->report);
    enum error_code code = planner_job_write(chooser->j, alternative->report, alternative->modules,
                                             &alternative->module_count, &proof, e);
    *taken = code == ERROR_OK && (!chooser->j->request->proof || proof.status != VERIFY_PROOF_DIFFERENT);
    if (*taken) {
        out->alternative_count++;
        return ERROR_OK;
    }
    for (uint32_t i = 0; i < alternative->module_count; i++)
        free(alternative->modules[i].text);
    report_destroy(alternative->report);
    *alternative = (struct planner_alternative){0};
    return code == ERROR_UNSUPPORTED_MODULE ? ERROR_OK : code;
}

static enum error_code choose(struct chooser *chooser, bool whole, struct planner_outcome *out,
                              struct error *e)
{
    struct report *report = out->report;
    uint32_t wanted = chooser->j->request->alternatives;
    report->alternatives = arena_alloc(report->arena, (wanted + 1) * sizeof *report->alternatives);
    for (size_t i = 0; i < chooser->candidates.count && out->alternative_count < wanted; i++) {
        struct planner_difference difference = {0};
        double least;
        bool taken = false;
        const struct search_plan *candidate = &chooser->candidates.at[i];
        if (!search_plan_replay(chooser->j->context, candidate, &chooser->scratch) ||
            !is_apart(chooser, &difference, &least))
            continue;
        TRY(take(chooser, candidate, whole, out, &taken, e));
        if (!taken)
            continue;
        struct report_alternative *row = &report->alternatives[report->alternative_count++];
        report_alternative_describe(report, out->alternatives[out->alternative_count - 1].report, row);
        row->argument_share = difference.arguments;
        row->result_share = difference.results;
        row->nearest_share = least;
        keep_plan(chooser);
    }
    return ERROR_OK;
}

static enum error_code run(struct chooser *chooser, const struct search_blob *snapshot, bool whole,
                           struct planner_outcome *out, struct error *e)
{
    if (!search_plan_replay(chooser->j->context, &out->report->plan, &chooser->scratch))
        return error_set(e, ERROR_INTERNAL, "the plan's decisions do not replay to its hash");
    keep_plan(chooser);
    take_runners(chooser);
    if (snapshot && snapshot->bytes)
        TRY(search_seen(chooser->j->search, snapshot->bytes, snapshot->size, visit, chooser, e));
    TRY(price_all(chooser, e));
    if (chooser->candidates.count)
        qsort(chooser->candidates.at, chooser->candidates.count, sizeof *chooser->candidates.at, by_cost);
    return choose(chooser, whole, out, e);
}

enum error_code planner_job_alternatives(const struct planner_job *j, const struct search_blob *snapshot,
                                         bool whole, struct planner_outcome *out, struct error *e)
{
    struct report *report = out->report;
    struct chooser chooser = {.j = j,
                              .distance = planner_distance_create(j->context, &j->machine),
                              .session = evaluator_session_create(j->evaluator)};
    plan_init(&chooser.scratch, j->nda, &j->request->mesh);
    enum error_code code = run(&chooser, snapshot, whole, out, e);
    report->alternatives_wanted = j->request->alternatives;
    report->alternatives_apart = APART;
    for (uint32_t i = 0; i < chooser.count; i++)
        plan_release(&chooser.plans[i]);
    plan_release(&chooser.scratch);
    VEC_FREE(&chooser.candidates);
    VEC_FREE(&chooser.kinds);
    VEC_FREE(&chooser.weighed);
    evaluator_session_destroy(chooser.session);
    planner_distance_destroy(chooser.distance);
    return code;
}
