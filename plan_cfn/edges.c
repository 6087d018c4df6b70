/* Edges: from where a value is made to every use of it, and between spaces whose shardings must be equal (a
 * donated argument and its result, the ends of a loop).
 *
 *       op A makes v            op B uses v                matrix (options of A) x (options of B):
 *       option 0: v by data     option 0: v by data             0   gather
 *       option 1: v whole       option 1: v whole           slice        0
 *
 * An entry is the price of the collectives between the two forms of v, times the trips of the loops that
 * both are in, by the network's kind divided by the number of uses. Tied spaces have 0 where both agree and
 * PLAN_CFN_FORBIDDEN elsewhere. Equal forms of equal values have equal matrices: each is looked up by its
 * key, and made once. A matrix of zeros is no edge. Refuses a module whose matrices would pass
 * PLAN_CFN_MAX_ENTRIES; never prices a whole plan. */
#include "plan_cfn/internal.h"

#include <stdlib.h>
#include <string.h>

struct maker {
    struct plan_cfn *n;
    double ps_per_byte; /* of the fastest group; admissible only */
    VEC(struct cfn_edge) edges;
    VEC(struct cfn_matrix) matrices;
    VEC(int64_t) entries;
    VEC(unsigned char) key;
    struct known {
        uint64_t hash, check;
        uint32_t matrix;
        bool used;
    } *known; /* by key: matrices made so far; open addressing */
    size_t room;
    struct spmd_form from[PLAN_CFN_MAX_OPTIONS], to[PLAN_CFN_MAX_OPTIONS];
};

enum { NO_MATRIX = UINT32_MAX }; /* all zero: no edge */
enum { FIRST_ROOM = 4096 };      /* matrices by key, before the table grows: a power of two */
/* what a rate is measured with: so much that latencies do not count */
static const int64_t MANY_BYTES = INT64_C(1) << 40;
/* ps: a dearer edge costs this, below what the solver may read as infinite (4 x 10^17) */
static const double MOST_PRICE = 1e17;
/* of a rate, so that rounding to whole picoseconds cannot take an admissible price above the true one */
static const double RATE_SLACK = 0.999;

static void grow_known(struct maker *maker)
{
    struct known *old = maker->known;
    size_t room = maker->room;
    maker->room = room ? room * 2 : FIRST_ROOM;
    maker->known = mem_zalloc(maker->room, sizeof *maker->known);
    for (size_t i = 0; i < room; i++)
        if (old[i].used) {
            size_t at = old[i].hash & (maker->room - 1);
            while (maker->known[at].used)
                at = (at + 1) & (maker->room - 1);
            maker->known[at] = old[i];
        }
    free(old);
}

/* the matrix that the key stands for; *fresh: it has to be made */
static struct known *find_matrix(struct maker *maker, bool *fresh)
{
    uint64_t hash = hash_bytes(maker->key.at, maker->key.count, 1),
             check = hash_bytes(maker->key.at, maker->key.count, 2);
    if (maker->matrices.count * 2 + 2 >= maker->room)
        grow_known(maker);
    size_t at = hash & (maker->room - 1);
    while (maker->known[at].used && !(maker->known[at].hash == hash && maker->known[at].check == check))
        at = (at + 1) & (maker->room - 1);
    *fresh = !maker->known[at].used;
    maker->known[at] = *fresh ? (struct known){hash, check, NO_MATRIX, true} : maker->known[at];
    return &maker->known[at];
}

static void key_add(struct maker *maker, const void *bytes, size_t size)
{
    VEC_RESERVE(&maker->key, maker->key.count + size);
    memcpy(maker->key.at + maker->key.count, bytes, size);
    maker->key.count += size;
}

static enum error_code add_matrix(struct maker *maker, struct known *known, const int64_t *entries,
                                  size_t count, struct error *e)
{
    size_t k = 0;
    while (k < count && entries[k] == 0)
        k++;
    if (k == count)
        return ERROR_OK;
    if (maker->entries.count + count > PLAN_CFN_MAX_ENTRIES)
        return error_set(e, ERROR_TOO_LARGE, "the module as a network has more than %d matrix entries",
                         PLAN_CFN_MAX_ENTRIES);
    known->matrix = (uint32_t)maker->matrices.count;
    VEC_PUSH(&maker->matrices, ((struct cfn_matrix){maker->entries.count, count}));
    VEC_RESERVE(&maker->entries, maker->entries.count + count);
    memcpy(maker->entries.at + maker->entries.count, entries, count * sizeof *entries);
    maker->entries.count += count;
    return ERROR_OK;
}

/* ---- prices of reshards ---- */

static int64_t moves_price(const struct plan_cfn *n, uint32_t value, const struct spmd_form *from,
                           const struct spmd_form *to)
{
    struct spmd_move moves[SPMD_MAX_MOVES];
    uint32_t count = spmd_forms_moves(n->forms, value, from, to, moves);
    int64_t ps = 0;
    for (uint32_t i = 0; i < count; i++)
        ps += moves[i].kind == SPMD_SLICE
                  ? (n->kind == PLAN_CFN_MOVING ? 0 : cost_estimate_slice(n->estimate, moves[i].bytes))
                  : cost_collective_price(n->machine, n->mesh, moves[i].kind, moves[i].axes,
                                          moves[i].axis_count, moves[i].bytes)
                        .time_ps;
    return ps;
}

/* What a device lacks of the form `to` when it holds `from`: an axis that shards another atom (or none) in
 * `to` leaves it one part of the axis' size. A partial counts as held: it may be completed where that
 * costs nothing. */
static int64_t lacking_bytes(const struct plan_cfn *n, uint32_t value, const struct spmd_form *from,
                             const struct spmd_form *to)
{
    int64_t bytes = spmd_local_bytes(n->nda, n->mesh, value, to), parts = 1;
    for (uint32_t axis = 0; axis < n->mesh->axis_count; axis++)
        if (from->at[axis] < SPMD_WHOLE && to->at[axis] != from->at[axis])
            parts *= n->mesh->axes[axis].size;
    return bytes - (bytes + parts - 1) / parts;
}

/* the most bytes a picosecond that any group's cheapest all_gather brings to a device */
static double fastest_ps_per_byte(const struct plan_cfn *n)
{
    double best = 0;
    for (uint32_t mask = 1; mask < 1u << n->mesh->axis_count; mask++) {
        uint8_t axes[MESH_MAX_AXES];
        uint32_t count = 0;
        int64_t devices = 1;
        for (uint32_t axis = 0; axis < n->mesh->axis_count; axis++)
            if (mask >> axis & 1) {
                axes[count++] = (uint8_t)axis;
                devices *= n->mesh->axes[axis].size;
            }
        if (devices == 1)
            continue;
        static const uint8_t kinds[] = {SPMD_ALL_GATHER, SPMD_ALL_TO_ALL, SPMD_PERMUTE, SPMD_REDUCE_SCATTER,
                                        SPMD_ALL_REDUCE};
        for (size_t k = 0; k < sizeof kinds; k++) {
            double ps =
                (double)cost_collective_price(n->machine, n->mesh, kinds[k], axes, count, MANY_BYTES).time_ps;
            double per_byte = ps / (double)MANY_BYTES;
            best = best == 0 || per_byte < best ? per_byte : best;
        }
    }
    return best * RATE_SLACK;
}

/* Where the walk may have the value in another form than its node's, or not want it in the use's, an edge
 * promises nothing. */
static bool promises(const struct plan_cfn *n, uint32_t def_space, uint32_t use_space, uint32_t value)
{
    const struct nda_space *def = &n->nda->spaces[def_space], *use = &n->nda->spaces[use_space];
    const struct nda_space *ends[] = {def, use};
    uint32_t atoms = n->nda->value_atoms[value + 1] - n->nda->value_atoms[value];
    const struct nda_atom *atom = n->nda->atoms + n->nda->value_atoms[value];
    for (int i = 0; i < 2; i++) {
        if (ends[i]->kind == NDA_SPACE_OP) {
            if (spmd_forms_freedom(n->forms, ends[i]->op) != SPMD_FIXED)
                return false;
        } else if (ends[i]->kind != NDA_SPACE_ARGUMENT && ends[i]->kind != NDA_SPACE_RESULT) {
            return false; /* loops, branches, barriers: forms follow their uses */
        } else {
            for (uint32_t k = 1; k < atoms; k++)
                if (atom[k].dim == atom[k - 1].dim)
                    return false; /* the boundary's blocks are not the atoms' */
        }
    }
    if (def->kind == NDA_SPACE_OP && spmd_forms_passes_partials(n->forms, def->op))
        for (uint32_t i = 0; i < n->nda->program->ops[def->op].operand_count; i++)
            if (n->may_be_partial[ir_operand(n->nda->program, def->op, i)])
                return false;
    return true;
}

static int64_t edge_price(const struct maker *maker, uint32_t value, int64_t trips,
                          const struct spmd_form *from, const struct spmd_form *to)
{
    const struct plan_cfn *n = maker->n;
    uint32_t uses = n->kind == PLAN_CFN_FULL ? 1 : n->uses[value];
    double ps;
    if (n->kind == PLAN_CFN_ADMISSIBLE)
        ps = n->machine->asynchronous ? 0 : (double)lacking_bytes(n, value, from, to) * maker->ps_per_byte;
    else
        ps = (double)moves_price(n, value, from, to);
    ps = ps * (double)trips / (double)(uses ? uses : 1);
    return ps < MOST_PRICE ? (int64_t)ps : (int64_t)MOST_PRICE;
}

/* ---- edges ---- */

static void take_forms(struct maker *maker, uint32_t space, uint32_t slot, struct spmd_form *out)
{
    uint32_t node = maker->n->node_of[space];
    for (uint32_t i = 0; i < plan_cfn_domain(maker->n, node); i++)
        spmd_forms_slot(maker->n->forms, space, slot, plan_cfn_option(maker->n, node, i), &out[i]);
}

static enum error_code value_edge(struct maker *maker, uint32_t def_slot, uint32_t use_space,
                                  uint32_t use_slot, struct error *e)
{
    struct plan_cfn *n = maker->n;
    uint32_t value = n->nda->slots[use_slot].value, def_space = n->slot_space[def_slot];
    uint32_t first = n->node_of[def_space], second = n->node_of[use_space];
    uint32_t rows = plan_cfn_domain(n, first), columns = plan_cfn_domain(n, second);
    const struct ir_type *type = ir_value_type(n->nda->program, value);
    if (type->kind != IR_TYPE_TENSOR || (rows == 1 && columns == 1 && n->mesh->axis_count == 0))
        return ERROR_OK;
    if (n->kind == PLAN_CFN_ADMISSIBLE && !promises(n, def_space, use_space, value))
        return ERROR_OK;
    int64_t trips = n->trips[def_space] < n->trips[use_space] ? n->trips[def_space] : n->trips[use_space];
    int64_t about[] = {ir_type_bytes(n->nda->program, type), trips, n->uses[value], rows, columns};
    const struct nda_atom *atoms = n->nda->atoms + n->nda->value_atoms[value];
    bool fresh;
    take_forms(maker, def_space, def_slot, maker->from);
    take_forms(maker, use_space, use_slot, maker->to);
    maker->key.count = 0;
    key_add(maker, about, sizeof about);
    for (uint32_t i = 0; i < n->nda->value_atoms[value + 1] - n->nda->value_atoms[value]; i++) {
        int64_t atom[] = {atoms[i].size, atoms[i].dim};
        key_add(maker, atom, sizeof atom);
    }
    key_add(maker, maker->from, rows * sizeof *maker->from);
    key_add(maker, maker->to, columns * sizeof *maker->to);
    struct known *known = find_matrix(maker, &fresh);
    if (fresh) {
        int64_t *entries = mem_alloc((size_t)rows * columns * sizeof *entries);
        for (uint32_t i = 0; i < rows; i++)
            for (uint32_t k = 0; k < columns; k++)
                entries[i * columns + k] = edge_price(maker, value, trips, &maker->from[i], &maker->to[k]);
        enum error_code code = add_matrix(maker, known, entries, (size_t)rows * columns, e);
        free(entries);
        if (code != ERROR_OK)
            return code;
    }
    if (known->matrix != NO_MATRIX)
        VEC_PUSH(&maker->edges, ((struct cfn_edge){(int32_t)first, (int32_t)second, known->matrix}));
    return ERROR_OK;
}

static bool tied_options(const struct plan_cfn *n, uint32_t space, const struct plan_cell *mine,
                         uint32_t other, const struct plan_cell *its)
{
    uint32_t first = n->nda->spaces[space].factors, other_first = n->nda->spaces[other].factors;
    for (uint32_t axis = 0; axis < n->mesh->axis_count; axis++) {
        uint32_t tied = mine[axis].factor == NDA_NO_FACTOR
                            ? NDA_NONE
                            : plan_tied_factor(n->context, first + mine[axis].factor);
        uint32_t back = its[axis].factor == NDA_NO_FACTOR
                            ? NDA_NONE
                            : plan_tied_factor(n->context, other_first + its[axis].factor);
        if (tied != NDA_NONE && n->nda->factors[tied].space == other &&
            (its[axis].factor == NDA_NO_FACTOR || tied != other_first + its[axis].factor ||
             its[axis].position != mine[axis].position))
            return false;
        if (back != NDA_NONE && n->nda->factors[back].space == space &&
            (mine[axis].factor == NDA_NO_FACTOR || back != first + mine[axis].factor))
            return false;
    }
    return true;
}

/* the later space that this one is tied to, NDA_NONE */
static uint32_t tied_space(const struct plan_cfn *n, uint32_t space)
{
    const struct nda_space *nda_space = &n->nda->spaces[space];
    for (uint32_t factor = 0; factor < nda_space->factor_count; factor++) {
        uint32_t tied = plan_tied_factor(n->context, nda_space->factors + factor);
        if (tied != NDA_NONE && tied > nda_space->factors + factor)
            return n->nda->factors[tied].space;
    }
    return NDA_NONE;
}

static enum error_code tie_edge(struct maker *maker, uint32_t space, uint32_t other, struct error *e)
{
    struct plan_cfn *n = maker->n;
    uint32_t first = n->node_of[space], second = n->node_of[other];
    if (first == NDA_NONE || second == NDA_NONE)
        return ERROR_OK;
    uint32_t rows = plan_cfn_domain(n, first), columns = plan_cfn_domain(n, second);
    int64_t *entries = mem_alloc((size_t)rows * columns * sizeof *entries);
    bool fresh;
    for (uint32_t i = 0; i < rows; i++)
        for (uint32_t k = 0; k < columns; k++)
            entries[i * columns + k] =
                tied_options(n, space, plan_cfn_option(n, first, i), other, plan_cfn_option(n, second, k))
                    ? 0
                    : PLAN_CFN_FORBIDDEN;
    maker->key.count = 0;
    key_add(maker, entries, (size_t)rows * columns * sizeof *entries);
    struct known *known = find_matrix(maker, &fresh);
    enum error_code code = fresh ? add_matrix(maker, known, entries, (size_t)rows * columns, e) : ERROR_OK;
    free(entries);
    if (code == ERROR_OK && known->matrix != NO_MATRIX)
        VEC_PUSH(&maker->edges, ((struct cfn_edge){(int32_t)first, (int32_t)second, known->matrix}));
    return code;
}

static enum error_code space_edges(struct maker *maker, uint32_t space, struct error *e)
{
    struct plan_cfn *n = maker->n;
    const struct nda_space *nda_space = &n->nda->spaces[space];
    enum error_code code = ERROR_OK;
    for (uint32_t k = nda_space->slots; k < nda_space->slots + nda_space->slot_count && code == ERROR_OK;
         k++) {
        uint32_t def = n->nda->slots[k].is_result ? NDA_NONE : n->nda->value_def_slot[n->nda->slots[k].value];
        if (def != NDA_NONE && n->node_of[n->slot_space[def]] != NDA_NONE && n->slot_space[def] != space)
            code = value_edge(maker, def, space, k, e);
    }
    uint32_t tied = tied_space(n, space);
    return code != ERROR_OK || tied == NDA_NONE ? code : tie_edge(maker, space, tied, e);
}

enum error_code plan_cfn_edges(struct plan_cfn *n, struct error *e)
{
    struct maker maker = {.n = n, .ps_per_byte = n->kind == PLAN_CFN_ADMISSIBLE ? fastest_ps_per_byte(n) : 0};
    enum error_code code = ERROR_OK;
    for (uint32_t space = 0; space < n->nda->space_count && code == ERROR_OK; space++)
        if (n->node_of[space] != NDA_NONE)
            code = space_edges(&maker, space, e);
    free(maker.known);
    VEC_FREE(&maker.key);
    n->problem.edges = maker.edges.at;
    n->problem.edge_count = (uint32_t)maker.edges.count;
    n->problem.matrices = maker.matrices.at;
    n->problem.matrix_count = (uint32_t)maker.matrices.count;
    n->problem.entries = maker.entries.at;
    n->problem.entry_count = maker.entries.count;
    return code;
}
