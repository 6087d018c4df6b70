/* Bytes sharded differently by two plans; see distance.h.
 *
 * A space's cells say how its op (or argument) is split; the space's weight is the bytes of what it
 * defines. Two plans differ in a space when some axis shards another factor of it; which of two axes on
 * one factor is the major one makes the same parts on other devices, no other plan. The exchanges of axes
 * that are tried are all of them while there are at most MOST_EXCHANGES, else only those of two axes. */
#include "planner/distance.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_EXCHANGES = 120 }; /* five axes alike: 5!; each costs one pass over the spaces */

struct exchange {
    uint8_t axis[MESH_MAX_AXES]; /* axis a of one plan is axis[a] of the other */
};
struct planner_distance {
    const struct plan_context *context;
    uint32_t space_count, axis_count, argument_count;
    double *weights;          /* of each space: bytes */
    uint32_t *argument_space; /* of each argument */
    uint8_t *is_argument;     /* of each space */
    double argument_bytes, result_bytes;
    VEC(struct exchange) exchanges; /* the first one changes nothing */
};

double planner_difference_share(struct planner_difference difference)
{
    return difference.arguments > difference.results ? difference.arguments : difference.results;
}

/* ---- axes that nobody can tell apart ---- */

static uint32_t swapped(uint32_t set, uint32_t a, uint32_t b)
{
    uint32_t bits = (set >> a ^ set >> b) & 1;
    return set ^ (bits << a | bits << b);
}

static bool same_group(const struct cost_group *group, const struct cost_group *other)
{
    return group->devices == other->devices && group->hosts == other->hosts &&
           group->on_host == other->on_host;
}

static bool alike(const struct mesh *mesh, const struct cost_machine *machine, uint32_t a, uint32_t b)
{
    const struct cost_link *link = &machine->links[a], *other = &machine->links[b];
    if (mesh->axes[a].size != mesh->axes[b].size || link->bytes_per_s != other->bytes_per_s ||
        link->latency_ps != other->latency_ps || link->topology != other->topology ||
        link->spans_hosts != other->spans_hosts)
        return false;
    for (uint32_t set = 1; set < 1u << mesh->axis_count; set++)
        if (!same_group(&machine->groups[set], &machine->groups[swapped(set, a, b)]))
            return false;
    return true;
}

struct finder {
    struct planner_distance *distance;
    bool alike[MESH_MAX_AXES][MESH_MAX_AXES];
    bool full; /* MOST_EXCHANGES were not enough */
};

static void add_exchanges(struct finder *finder, struct exchange *exchange, uint32_t axis, uint32_t used)
{
    if (axis == finder->distance->axis_count) {
        if (finder->distance->exchanges.count == MOST_EXCHANGES)
            finder->full = true;
        else
            VEC_PUSH(&finder->distance->exchanges, *exchange);
        return;
    }
    /* the axis itself first, so that the first exchange of all changes nothing */
    for (uint32_t k = 0; k <= finder->distance->axis_count && !finder->full; k++) {
        uint32_t to = k ? k - 1 : axis;
        if ((k && to == axis) || used >> to & 1 || !finder->alike[axis][to])
            continue;
        exchange->axis[axis] = (uint8_t)to;
        add_exchanges(finder, exchange, axis + 1, used | 1u << to);
    }
}

static void add_pairs(struct finder *finder)
{
    struct planner_distance *distance = finder->distance;
    distance->exchanges.count = 1;
    for (uint32_t a = 0; a < distance->axis_count; a++)
        for (uint32_t b = a + 1; b < distance->axis_count; b++) {
            struct exchange exchange = distance->exchanges.at[0];
            exchange.axis[a] = (uint8_t)b;
            exchange.axis[b] = (uint8_t)a;
            if (finder->alike[a][b])
                VEC_PUSH(&distance->exchanges, exchange);
        }
}

static void find_exchanges(struct planner_distance *distance, const struct cost_machine *machine)
{
    const struct mesh *mesh = plan_context_mesh(distance->context);
    struct finder finder = {.distance = distance};
    struct exchange exchange = {{0}};
    for (uint32_t a = 0; a < mesh->axis_count; a++)
        for (uint32_t b = 0; b < mesh->axis_count; b++)
            finder.alike[a][b] = a == b || alike(mesh, machine, a, b);
    add_exchanges(&finder, &exchange, 0, 0);
    if (finder.full)
        add_pairs(&finder);
}

/* ---- weights ---- */

static void weigh(struct planner_distance *distance, const struct nda *n)
{
    for (uint32_t i = 0; i < n->argument_count; i++) {
        uint32_t space = distance->argument_space[i] = n->arguments[i].space;
        const struct ir_type *type = ir_value_type(n->program, n->arguments[i].value);
        if (space == NDA_NONE || type->kind != IR_TYPE_TENSOR)
            continue;
        distance->is_argument[space] = 1;
        distance->weights[space] = (double)ir_type_bytes(n->program, type);
        distance->argument_bytes += distance->weights[space];
    }
    for (uint32_t space = 0; space < n->space_count; space++) {
        if (n->spaces[space].kind != NDA_SPACE_OP || distance->is_argument[space])
            continue;
        for (uint32_t k = 0; k < n->spaces[space].slot_count; k++) {
            const struct nda_slot *slot = &n->slots[n->spaces[space].slots + k];
            const struct ir_type *type = ir_value_type(n->program, slot->value);
            if (slot->is_result && type->kind == IR_TYPE_TENSOR)
                distance->weights[space] += (double)ir_type_bytes(n->program, type);
        }
        distance->result_bytes += distance->weights[space];
    }
}

struct planner_distance *planner_distance_create(const struct plan_context *context,
                                                 const struct cost_machine *machine)
{
    const struct nda *n = plan_context_nda(context);
    struct planner_distance *distance = mem_zalloc(1, sizeof *distance);
    distance->context = context;
    distance->space_count = n->space_count;
    distance->axis_count = plan_context_mesh(context)->axis_count;
    distance->argument_count = n->argument_count;
    distance->weights = mem_zalloc((size_t)n->space_count + 1, sizeof *distance->weights);
    distance->is_argument = mem_zalloc((size_t)n->space_count + 1, sizeof *distance->is_argument);
    distance->argument_space = mem_zalloc((size_t)n->argument_count + 1, sizeof *distance->argument_space);
    weigh(distance, n);
    find_exchanges(distance, machine);
    return distance;
}

void planner_distance_destroy(struct planner_distance *distance)
{
    if (!distance)
        return;
    VEC_FREE(&distance->exchanges);
    free(distance->weights);
    free(distance->is_argument);
    free(distance->argument_space);
    free(distance);
}

/* ---- the difference ---- */

static bool same_cells(const struct plan_cell *cells, const struct plan_cell *other,
                       const struct exchange *exchange, uint32_t axis_count)
{
    for (uint32_t axis = 0; axis < axis_count; axis++)
        if (cells[axis].factor != other[exchange->axis[axis]].factor)
            return false;
    return true;
}

static bool same_regather(uint8_t axes, uint8_t other, const struct exchange *exchange, uint32_t axis_count)
{
    for (uint32_t axis = 0; axis < axis_count; axis++)
        if ((axes >> axis & 1) != (other >> exchange->axis[axis] & 1))
            return false;
    return true;
}

static struct planner_difference measure(const struct planner_distance *distance, const struct plan *plan,
                                         const struct plan *other, const struct exchange *exchange)
{
    double arguments = 0, results = 0;
    for (uint32_t space = 0; space < distance->space_count; space++) {
        if (distance->weights[space] == 0 ||
            same_cells(plan_space(plan, space), plan_space(other, space), exchange, distance->axis_count))
            continue;
        *(distance->is_argument[space] ? &arguments : &results) += distance->weights[space];
    }
    for (uint32_t i = 0; i < distance->argument_count; i++) {
        uint32_t space = distance->argument_space[i];
        if (space != NDA_NONE &&
            !same_regather(plan->regather[i], other->regather[i], exchange, distance->axis_count) &&
            same_cells(plan_space(plan, space), plan_space(other, space), exchange, distance->axis_count))
            arguments += distance->weights[space];
    }
    return (struct planner_difference){distance->argument_bytes > 0 ? arguments / distance->argument_bytes
                                                                    : 0,
                                       distance->result_bytes > 0 ? results / distance->result_bytes : 0};
}

struct planner_difference planner_distance_of(const struct planner_distance *distance,
                                              const struct plan *plan, const struct plan *other)
{
    struct planner_difference least = measure(distance, plan, other, &distance->exchanges.at[0]);
    for (size_t i = 1; i < distance->exchanges.count; i++) {
        struct planner_difference one = measure(distance, plan, other, &distance->exchanges.at[i]);
        if (planner_difference_share(one) < planner_difference_share(least))
            least = one;
    }
    return least;
}
