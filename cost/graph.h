/* The units of a local program and which of them read which: what schedule.c orders. scratch.c owns the
 * memory.
 *
 *   units   [arguments ..][barriers ..][units in program order ..][the unit that returns the results]
 *   edges   one list after another:  [reads of unit i ..][reads of unit i + 1 ..]
 *                                      ^ units[i].reads, read_count of them: numbers of units
 */
#ifndef TOAST_COST_GRAPH_H
#define TOAST_COST_GRAPH_H

#include "cost/internal.h"

/* depth first: not met; on the stack, what it reads goes first; in the order */
enum unit_state { UNIT_WAITS, UNIT_OPEN, UNIT_PLACED };

struct unit {
    uint32_t first, last;       /* kernels [first, last] of the scratch; of a barrier first > last */
    uint32_t reads, read_count; /* range of graph.edges: units and arguments whose buffers it reads */
    uint32_t users;
    int64_t bytes;        /* of the buffers it makes */
    int64_t beside;       /* .. of what it makes for a gather alone, less those it gathers from */
    int64_t shared, cone; /* depth first: uses beside the one, bytes, of everything behind it, capped */
    uint32_t read_by;     /* 1 + the last unit whose reads it was put into */
    /* overwrites.c: 1 + number in graph.waits of the first reader that it waits for, of the first writer that
     * waits for it; 0: none. Of an argument 1 + the unit that writes over it; a place in some topological
     * order, from 1 on */
    uint32_t waits_for, releases, writer, number;
    uint8_t state; /* enum unit_state */
};

/* A writer runs behind a reader of what it is written over: in lists, by the numbers from 1 on. */
struct wait {
    uint32_t reader, writer;
    uint32_t next_released, next_waited; /* of the same reader; of the same writer */
};

/* a unit to be sorted among those that one unit reads */
struct read {
    int64_t shared, cone;
    uint32_t unit;
};

/* What orders by memory: a unit's readers, as a range of graph.feeds, and what is not placed yet. */
struct link {
    uint32_t start, filled;
    uint32_t left;  /* readers */
    uint32_t waits; /* units that it reads, and readers that it waits for */
    uint32_t entry; /* number of its entry among the ready that counts */
};

/* is depth_ps known? */
enum noted { NOTED_NOT, NOTED_OPEN, NOTED };

/* What orders by hiding (hiding.c): of a unit. */
struct hidden {
    int64_t ps;
    int64_t before_ps, depth_ps; /* collectives that it waits for, the longest chain; and with itself */
    int64_t ready_ps;            /* of what stalls: until when */
    uint32_t readers;            /* that are not placed */
    uint32_t place;              /* in the program, from 1 on, barriers among the kernels */
    bool collective, early;      /* early: it waits for no product and no collective */
    bool barrier;
    bool region;          /* a loop or branch: its inside is ordered by itself */
    bool stalls, several; /* what it reads stalls; it stalls whatever reads it, having several results */
    uint8_t noted;        /* enum noted */
    bool placed;
};

/* a unit that waits in one of hiding.c's heaps, and what it is compared by */
struct hidden_ready {
    int64_t depth_ps;
    uint32_t place, unit;
};

/* a unit that may run, in a heap */
struct ready {
    int64_t bytes; /* that it frees */
    uint32_t users, number, unit;
};

/* Kept from one pricing to the next, so that none of it is allocated again. */
struct price_graph {
    const struct spmd_local *local;
    const struct price_scratch *scratch;
    struct unit *units; /* arguments first, then in program order; the last one returns the results */
    size_t unit_room;
    uint32_t count;
    uint32_t barriers; /* units without kernels, behind the arguments */
    bool weighs;       /* units have their bytes */
    bool whole;        /* of the program: the last unit returns the results */
    /* per value: the unit that makes it, or argument; NDA_NONE: another region's, or in no memory */
    uint32_t *unit_of;
    size_t unit_of_room;
    VEC(uint32_t) edges;
    VEC(uint32_t) stack;
    VEC(struct wait) waits;
    VEC(struct read) reads; /* being sorted */
    struct link *links;     /* per unit */
    size_t link_room;
    uint32_t *feeds;
    size_t feed_room;
    VEC(struct ready) ready; /* heap */
    uint32_t numbered;       /* entries that were put into it */
    uint32_t *order, placed; /* units but arguments */
    size_t order_room;
    struct hidden *hidden; /* per unit */
    size_t hidden_room;
    struct hidden_ready *computations, *dones; /* heaps */
    size_t computation_room, done_room;
    VEC(uint32_t) fresh; /* computations that stall, or did, in the order of their time */
    int64_t waited_ps;   /* that nothing was computed beside collectives */
    VEC(uint32_t) done;  /* per collective, in the order of their ends from the last one: its unit, .. */
    VEC(uint32_t) placed_then; /* .. and how many units ran behind that end */
    struct kernel *line;       /* the kernels in that order */
    size_t line_room;
    uint32_t
        *inside; /* per place among the kernels, which one stands there: loops and branches in their order */
    size_t inside_room;
    bool ordered_inside; /* there are some */
};

/* the kernel after k in the unit's order; 0: there is none */
static inline uint32_t price_next_in_unit(const struct price_graph *graph, const struct unit *unit,
                                          uint32_t k)
{
    if (unit->first == unit->last)
        return graph->scratch->kernels[k].next;
    return k < unit->last ? k + 1 : 0;
}

/* schedule.c: the units of the kernels first .. first + count - 1, the inside of a loop or branch; what is
 * made elsewhere is there before. *graph is made at first use. */
void price_region_units(struct price_scratch *scratch, const struct spmd_local *local,
                        struct price_graph **graph, uint32_t first, uint32_t count);
/* hiding.c: the order of the units, which are as make_units leaves them; kernels have their times */
void price_order_hiding(struct price_graph *graph);
/* hidden_time.c: what the insides of loops and branches take, into scratch->regions; apart_ps of a loop's
 * mark: what one turn waits for. Before the outermost order. */
void price_run_regions(struct price_scratch *scratch, const struct spmd_local *local,
                       struct price_interval *trace);
/* schedule.c, after price_times: the units of all kernels in that order */
const struct price_graph *price_hidden_graph(struct price_scratch *scratch, const struct spmd_local *local);
/* overwrites.c, by least_order: the graph's waits; units and edges are there */
void price_find_overwrites(struct price_graph *graph);

#endif
