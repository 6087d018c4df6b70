/* What the search needs to know about a problem, and nothing else: decisions by number, what an ordered
 * list of them comes to, and its price. domain.c makes one of an evaluator; tests make artificial
 * landscapes.
 *
 * A list is ordered decision numbers. replay() drops those without effect and gives the hash of the plan;
 * lists that give the same plan give the same hash. Both calls are pure functions of the list; `session`
 * is scratch of a thread. */
#ifndef TOAST_MCTS_DOMAIN_H
#define TOAST_MCTS_DOMAIN_H

#include "mcts/search.h"

struct search_list {
    uint32_t count;
    uint16_t at[SEARCH_MAX_LIST];
};

struct search_domain_baseline {
    char name[160];
    struct search_list list;
};

struct search_domain {
    void *self;                      /* owned; released by destroy */
    struct plan_decision *decisions; /* owned; what the numbers stand for */
    uint32_t decision_count;         /* 0 .. decision_count: offered, the search's actions */
    /* .. + regather_count: become actions where memory binds: no baseline fits */
    uint32_t regather_count;
    uint32_t total_count;                     /* .. total_count: further ones that only baselines use */
    struct search_domain_baseline *baselines; /* owned */
    /* expert plans around the one of that name (plan_baseline_variants); owned (free); may number decisions
     * anew. NULL where there are none. */
    struct search_domain_baseline *(*variants)(struct search_domain *d, const char *name, uint32_t turn,
                                               bool again, uint32_t *count);
    uint32_t variant_turns; /* the turn of that number: other orders of the axes */
    /* what two of them change, at once (plan_baseline_join); may number decisions anew. false: it cannot
     * be */
    bool (*join)(struct search_domain *d, const char *name, const char *one, const char *other,
                 struct search_domain_baseline *out);
    uint32_t baseline_count;
    /* Prices of plans that cannot be the best may be rough. The search sets them when all experts are priced,
     * so that prices are the same in every process and thread, and before that beside an expert that is
     * climbed from. */
    struct price_limits limits;
    bool has_limits;
    uint64_t operations; /* size of the program: sets budget and tasks */
    uint64_t devices;
    int64_t memory_limit_bytes; /* 0: none behind it */
    void (*destroy)(struct search_domain *d);
    /* evaluator may be NULL: such a session can replay, not price */
    void *(*session_create)(const struct search_domain *d, struct evaluator_session *evaluator);
    void (*session_destroy)(void *session);
    /* for threads that search_run starts; NULL where no evaluator is behind the domain */
    struct evaluator_session *(*evaluator_create)(const struct search_domain *d);
    void (*evaluator_destroy)(struct evaluator_session *evaluator);
    void (*replay)(void *session, struct search_list *list, struct hash128 *hash);
    /* replays and prices; beaten: price_limits.beaten, beside `limits` */
    enum error_code (*price)(void *session, const struct search_list *list, int64_t beaten,
                             struct price *price, struct cost *cost, struct error *e) BASE_CHECKED;
    /* The same, exact, where price is an estimate (a folded program's): what is published is priced so. NULL:
     * price is exact. */
    enum error_code (*price_whole)(void *session, const struct search_list *list, struct price *price,
                                   struct cost *cost, struct error *e) BASE_CHECKED;
};

/* From an evaluator (borrowed; must outlive the domain). */
enum error_code search_domain_create(const struct evaluator *evaluator, struct search_domain **out,
                                     struct error *e) BASE_CHECKED;
/* AutoMap's way (per-action propagation): decisions are (argument dimension, axis), each spreads along the
 * program until something stands in its way. For bench/search: no baselines, decisions have no
 * plan_decision. */
enum error_code search_domain_create_per_action(const struct evaluator *evaluator, struct search_domain **out,
                                                struct error *e) BASE_CHECKED;

/* The search on any domain (owned from now on, also on failure). */
enum error_code search_create_on(struct search_domain *domain, const struct search_options *options,
                                 struct search **out, struct error *e) BASE_CHECKED;

#endif
