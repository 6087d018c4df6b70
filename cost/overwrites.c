/* What is written over an argument waits for all that reads the argument.
 *
 *     weight --> product (forward) --> .. --> gradient --> update --> new weight, where the weight lies
 *          '---> product (of the gradient that goes on) ..         waits: it still reads the old one
 *
 * A result that takes a donated argument's memory is written in place; the compiler holds what writes it
 * behind every other reader of the argument by an edge without a value. Mostly such an edge follows from the
 * values; not where a gradient is updated from without a collective between, for the product that the old
 * weight is still read by comes later in the text. What the update reads (an activation, a gradient) then
 * waits with it.
 *
 * Edges go along one topological order of the units, so they close no cycle: what reads both an argument and
 * its new value (the compiler keeps a copy for it) does not hold its update.
 *
 * Source: libtpu 0.0.51, `control-predecessors` of modules as they come to its scheduler. */
#include "cost/graph.h"

enum { NUMBER_OPEN = UINT32_MAX }; /* on the stack, what it reads goes first */

/* numbers the unit behind all that it reads */
static void number_unit(struct price_graph *graph, uint32_t self, uint32_t *count)
{
    VEC_PUSH(&graph->stack, self);
    while (graph->stack.count) {
        struct unit *unit = &graph->units[graph->stack.at[graph->stack.count - 1]];
        if (unit->number) {
            unit->number = unit->number == NUMBER_OPEN ? ++*count : unit->number;
            graph->stack.count--;
            continue;
        }
        unit->number = NUMBER_OPEN;
        for (uint32_t k = 0; k < unit->read_count; k++)
            if (!graph->units[graph->edges.at[unit->reads + k]].number)
                VEC_PUSH(&graph->stack, graph->edges.at[unit->reads + k]);
    }
}

/* of an argument's unit the writer: 1 + the unit whose result takes its memory */
static bool find_writers(struct price_graph *graph)
{
    const struct price_scratch *scratch = graph->scratch;
    const struct spmd_local *local = graph->local;
    const struct spmd_step *results = &local->steps[local->step_count - 1];
    bool found = false;
    for (uint32_t i = 0; results->kind == SPMD_RESULT && i < results->operand_count; i++) {
        uint32_t value = local->operands[results->operands + i],
                 argument = scratch->program->alias_argument[i];
        if (argument == NDA_NONE || local->values[argument].bytes != local->values[value].bytes ||
            (scratch->fold && !scratch->uses[argument].uses)) /* of a layer that is gone */
            continue;
        uint32_t buffer = buffer_of(scratch, value);
        if (buffer == NDA_NONE || local->values[buffer].step == SPMD_NONE)
            continue;
        graph->units[argument].writer = graph->unit_of[buffer] + 1;
        found = true;
    }
    return found;
}

static void add_wait(struct price_graph *graph, uint32_t reader, uint32_t writer)
{
    struct unit *from = &graph->units[reader], *to = &graph->units[writer];
    VEC_PUSH(&graph->waits, ((struct wait){reader, writer, from->releases, to->waits_for}));
    from->releases = to->waits_for = (uint32_t)graph->waits.count;
}

void price_find_overwrites(struct price_graph *graph)
{
    uint32_t arguments = graph->local->argument_count, count = 0;
    graph->waits.count = 0;
    if (!graph->scratch->least_order || !find_writers(graph))
        return;
    for (uint32_t i = 0; i < graph->count; i++)
        if (!graph->units[i].number)
            number_unit(graph, i, &count);
    for (uint32_t i = arguments; i < graph->count; i++)
        for (uint32_t k = 0; k < graph->units[i].read_count; k++) {
            uint32_t from = graph->edges.at[graph->units[i].reads + k];
            uint32_t writer = from < arguments ? graph->units[from].writer : 0;
            if (writer && graph->units[i].number < graph->units[writer - 1].number)
                add_wait(graph, i, writer - 1);
        }
}
