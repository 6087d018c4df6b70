/* All of a search in this process: threads take the tasks of an epoch in order, the caller's thread merges.
 *
 * The result has the same bytes on one thread and on many. The only file here that reads a clock, for the one
 * option that can cut a search short; a search that was cut says that it is not reproducible. */
#include "mcts/core.h"

#include "base/clock.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct crew {
    const struct search *search;
    const struct search_blob *snapshot;
    struct search_blob *deltas;
    uint32_t tasks;
    atomic_uint next, failed;
    double end_s; /* 0: no limit */
    struct search_control control;
};

struct hand {
    struct crew *crew;
    pthread_t thread;
    struct evaluator_session *session;
    enum error_code code;
    struct error error;
};

static bool out_of_time(void *user)
{
    const struct crew *crew = user;
    return atomic_load(&crew->failed) || (crew->end_s > 0 && clock_seconds() >= crew->end_s);
}

static void *work(void *arg)
{
    struct hand *hand = arg;
    struct crew *crew = hand->crew;
    for (;;) {
        uint32_t i = atomic_fetch_add(&crew->next, 1);
        if (i >= crew->tasks || hand->code)
            return NULL;
        hand->code = search_task(crew->search, crew->snapshot->bytes, crew->snapshot->size, i, hand->session,
                                 &crew->control, &crew->deltas[i], &hand->error);
        if (hand->code)
            atomic_store(&crew->failed, 1);
    }
}

static void close_session(const struct search *search, struct hand *hand)
{
    if (hand->session)
        search->domain->evaluator_destroy(hand->session);
    hand->session = NULL;
}

/* Kept from epoch to epoch, but on a fold, where whoever settles the epoch takes over what sessions have
 * grown (cost/evaluator.c). */
static void open_sessions(const struct search *search, struct hand *hands, uint32_t threads)
{
    for (uint32_t i = 0; i < threads && search->domain->evaluator_create; i++)
        if (!hands[i].session)
            hands[i].session = search->domain->evaluator_create(search->domain);
}

static void rest_sessions(const struct search *search, struct hand *hands, uint32_t threads)
{
    for (uint32_t i = 0; i < threads && search->domain->price_whole; i++)
        close_session(search, &hands[i]);
}

static enum error_code run_tasks(struct crew *crew, struct hand *hands, uint32_t threads, struct error *e)
{
    atomic_store(&crew->next, 0);
    uint32_t started = 1;
    open_sessions(crew->search, hands, threads);
    for (; started < threads && started < crew->tasks; started++)
        if (pthread_create(&hands[started].thread, NULL, work, &hands[started]) != 0)
            break; /* fewer threads, the same result */
    work(&hands[0]);
    for (uint32_t i = 1; i < started; i++)
        pthread_join(hands[i].thread, NULL);
    rest_sessions(crew->search, hands, threads);
    enum error_code code = ERROR_OK;
    /* a failure explains more than the cancellations it caused */
    for (uint32_t i = 0; i < threads; i++) {
        if (hands[i].code && (!code || code == ERROR_CANCELLED)) {
            code = hands[i].code;
            if (e)
                *e = hands[i].error;
        }
    }
    return code;
}

/* Out of time within an epoch: the best of the tasks that had ended counts. */
static enum error_code salvage(const struct crew *crew, struct search_state *out, struct error *e)
{
    struct core_whole whole = {.search = crew->search};
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; i < crew->tasks && !code; i++) {
        struct core_delta delta;
        if (!crew->deltas[i].bytes)
            continue;
        code = core_delta_read(crew->search, crew->deltas[i].bytes, crew->deltas[i].size, &delta, e);
        if (code)
            break;
        struct core_plan best = delta.elites.at[0];
        code = core_whole_price(&whole, &best, e);
        if (!code && cost_compare(best.cost, best.hash, out->best.cost, out->best.hash) < 0)
            core_plan_publish(crew->search, &best, &out->best);
        out->rollouts += delta.rollouts;
        core_delta_release(&delta);
    }
    core_whole_end(&whole);
    if (code)
        return code;
    out->phase = SEARCH_DONE;
    snprintf(out->stop_reason, sizeof out->stop_reason, "seconds");
    return ERROR_OK;
}

static enum error_code epochs(struct crew *crew, struct hand *hands, uint32_t threads,
                              struct search_blob *snapshot,
                              void (*progress)(const struct search_state *state, void *user), void *user,
                              struct search_state *out, bool *reproducible, struct error *e)
{
    for (;;) {
        enum error_code code = search_open(crew->search, snapshot->bytes, snapshot->size, out, e);
        if (code)
            return code;
        if (progress)
            progress(out, user);
        if (out->phase == SEARCH_DONE)
            return ERROR_OK;
        crew->tasks = out->tasks;
        crew->deltas = mem_zalloc(crew->tasks, sizeof *crew->deltas);
        code = run_tasks(crew, hands, threads, e);
        struct search_blob next = {0};
        if (code == ERROR_CANCELLED) {
            *reproducible = false;
            code = salvage(crew, out, e);
        } else if (!code) {
            code = search_merge(crew->search, snapshot->bytes, snapshot->size, crew->deltas, crew->tasks,
                                &next, e);
        }
        for (uint32_t i = 0; i < crew->tasks; i++)
            free(crew->deltas[i].bytes);
        free(crew->deltas);
        if (code || !*reproducible)
            return code;
        free(snapshot->bytes);
        *snapshot = next;
    }
}

enum error_code search_run(const struct search *search, uint32_t threads, double seconds,
                           void (*progress)(const struct search_state *state, void *user), void *user,
                           struct search_state *out, struct search_blob *last, bool *reproducible,
                           struct error *e)
{
    threads = threads < 1 ? 1 : threads > CORE_MAX_TASKS ? CORE_MAX_TASKS : threads;
    struct search_blob snapshot;
    struct crew crew = {
        .search = search, .snapshot = &snapshot, .end_s = seconds > 0 ? clock_seconds() + seconds : 0};
    crew.control = (struct search_control){out_of_time, &crew};
    struct hand *hands = mem_zalloc(threads, sizeof *hands);
    for (uint32_t i = 0; i < threads; i++)
        hands[i].crew = &crew;
    bool whole = true;
    search_begin(search, &snapshot);
    enum error_code code = epochs(&crew, hands, threads, &snapshot, progress, user, out, &whole, e);
    if (reproducible)
        *reproducible = whole;
    for (uint32_t i = 0; i < threads; i++)
        close_session(search, &hands[i]);
    free(hands);
    if (last && !code)
        *last = snapshot;
    else
        free(snapshot.bytes);
    return code;
}
