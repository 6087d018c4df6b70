/* Sessions that price plans at the same time, a thread each, before there are tasks. */
#include "mcts/core.h"

#include "base/threads.h"

void core_pricers_open(const struct search *search, struct core_pricers *pricers)
{
    const struct search_options *options = &search->options;
    struct search_domain *domain = search->domain;
    uint32_t wanted = options->threads ? options->threads : 1;
    *pricers = (struct core_pricers){.count = wanted < SEARCH_THREADS ? wanted : SEARCH_THREADS,
                                     .own = !options->sessions && domain->evaluator_create};
    for (uint32_t i = 0; i < pricers->count; i++) {
        if (options->sessions)
            pricers->evaluators[i] = options->sessions[i];
        else if (domain->evaluator_create)
            pricers->evaluators[i] = domain->evaluator_create(domain);
        pricers->sessions[i] = domain->session_create(domain, pricers->evaluators[i]);
    }
}

void core_pricers_close(const struct search *search, const struct core_pricers *pricers)
{
    for (uint32_t i = 0; i < pricers->count; i++) {
        search->domain->session_destroy(pricers->sessions[i]);
        if (pricers->own)
            search->domain->evaluator_destroy(pricers->evaluators[i]);
    }
}

struct round {
    const struct core_pricers *pricers;
    core_pricing *one;
    void *user;
    enum error_code codes[SEARCH_THREADS];
    struct error errors[SEARCH_THREADS];
};

static void price_one(void *user, uint32_t number, uint32_t i)
{
    struct round *round = user;
    if (!round->codes[number])
        round->codes[number] =
            round->one(round->user, round->pricers->sessions[number], i, &round->errors[number]);
}

enum error_code core_pricers_run(const struct core_pricers *pricers, uint32_t count, core_pricing *one,
                                 void *user, struct error *e)
{
    struct round round = {.pricers = pricers, .one = one, .user = user};
    threads_share(pricers->count, count, price_one, &round);
    for (uint32_t i = 0; i < pricers->count; i++)
        if (round.codes[i]) {
            if (e)
                *e = round.errors[i];
            return round.codes[i];
        }
    return ERROR_OK;
}
