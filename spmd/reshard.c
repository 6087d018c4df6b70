/* The steps from one form of a value to another.
 *
 * State: which axes stand on which atom, in order. The moves append or remove axes at the minor end of an
 * atom: slice and reduce_scatter append, all_gather removes, all_to_all does both; permute reorders. One pass
 * brings any form to any other:
 *   1 slice     axes that become sharded (free, and everything after it is smaller)
 *   2 reduce    partial axes: reduce_scatter where the target is sharded, then one all_reduce for the rest
 *   3 move      all_to_all of axes that go to another atom, minor-most first
 *   4 permute   every atom's staying axes into the target's order, leaving ones to the minor end
 *   5 gather    leaving axes, one step an atom
 *   6 slice     what had no room in 1, permute if the order still differs
 * Where an axis leaves an atom that another one enters, gathering first (5 before 1) can move less: both are
 * priced. Axes on whole dims (the function's boundary) are gathered before all of this and sliced after it,
 * or exchanged with another dim that has room for them: two all_to_alls instead of a gather and a slice. Axes
 * on one atom go in one step (the price knows how a group over several links is best served). Steps of one
 * phase on different atoms go in the order of axis_order: a reduce_scatter takes the fast axes first, so that
 * the slow link gets the smaller piece, an all_gather the slow ones first. */
#include "spmd/walk.h"

#include <string.h>

/* A collective's fixed price in bytes: about 10 us on a link of 3 GB/s; it only breaks near ties. */
enum { RESHARD_LATENCY_BYTES = 32 << 10 };

struct state {
    const struct walk *walk;
    const struct nda_atom *atoms;
    uint32_t atom_count;
    struct spmd_form now;
    const struct spmd_form *to;
    int64_t bytes;           /* per device, in form `now` */
    struct spmd_form parked; /* `to` without axes on whole dims */
    struct reshard *out;
};

static bool is_atom(uint8_t at)
{
    return at < SPMD_WHOLE;
}

static uint8_t axes_on(const struct state *state, const struct spmd_form *form, uint8_t atom)
{
    uint8_t count = 0;

    for (uint32_t axis = 0; axis < state->walk->axes; axis++)
        count += form->at[axis] == atom;
    return count;
}

static int64_t local_size(const struct state *state, uint8_t atom)
{
    int64_t size = state->atoms[atom].size;

    for (uint32_t axis = 0; axis < state->walk->axes; axis++)
        if (state->now.at[axis] == atom)
            size /= state->walk->size[axis];
    return size;
}

/* axis of form at this position of an atom, or axes when none */
static uint32_t axis_at(const struct state *state, const struct spmd_form *form, uint8_t atom,
                        uint8_t position)
{
    uint32_t axis = 0;

    while (axis < state->walk->axes && !(form->at[axis] == atom && form->position[axis] == position))
        axis++;
    return axis;
}

static int64_t group_size(const struct state *state, const uint8_t *axes, uint8_t count)
{
    int64_t size = 1;

    for (uint8_t i = 0; i < count; i++)
        size *= state->walk->size[axes[i]];
    return size;
}

static void add_step(struct state *state, enum spmd_step_kind kind, const uint8_t *axes, uint8_t count,
                     uint8_t atom, uint8_t to_atom, uint8_t reducer)
{
    struct reshard *reshard = state->out;
    int64_t n = group_size(state, axes, count), moved = 0, before = state->bytes;

    BASE_CHECK(reshard->count < RESHARD_MAX_STEPS);
    struct reshard_step *step = &reshard->steps[reshard->count++];
    *step = (struct reshard_step){(uint8_t)kind, reducer, count, atom, to_atom, {0}, state->now};
    memcpy(step->axes, axes, count);
    if (kind == SPMD_ALL_GATHER) {
        state->bytes *= n;
        moved = state->bytes / n * (n - 1);
    } else if (kind == SPMD_ALL_REDUCE) {
        moved = before / n * (n - 1) * 2;
    } else if (kind == SPMD_REDUCE_SCATTER) {
        state->bytes /= n;
        moved = before / n * (n - 1);
    } else if (kind == SPMD_ALL_TO_ALL) {
        moved = before / n * (n - 1);
    } else if (kind == SPMD_PERMUTE) {
        moved = before;
    } else {
        state->bytes /= n;
        return; /* slice */
    }
    reshard->price += moved + RESHARD_LATENCY_BYTES;
}

static void append(struct state *state, uint32_t axis, uint8_t atom)
{
    uint8_t position = axes_on(state, &state->now, atom);

    state->now.at[axis] = atom;
    state->now.position[axis] = position;
}

/* ------------------------------------------------------------------------------------------- slice,
 * reduce */
static bool some_axis_leaves(const struct state *state, uint8_t atom)
{
    for (uint32_t axis = 0; axis < state->walk->axes; axis++)
        if (state->now.at[axis] == atom && state->to->at[axis] != atom)
            return true;
    return false;
}

static void enter_atom(struct state *state, uint8_t from, uint8_t atom)
{
    uint8_t axes[MESH_MAX_AXES], count = 0, wanted = axes_on(state, state->to, atom);
    int64_t left = wanted ? local_size(state, atom) : 1;

    for (uint8_t i = 0; i < wanted; i++) {
        uint32_t a = axis_at(state, state->to, atom, i);
        if (a == state->walk->axes || state->now.at[a] != from || left % state->walk->size[a] != 0)
            continue;
        left /= state->walk->size[a];
        axes[count++] = (uint8_t)a;
    }
    if (!count)
        return;
    for (uint8_t i = 0; i < count; i++)
        append(state, axes[i], atom);
    if (from == SPMD_REPLICATED)
        add_step(state, SPMD_SLICE, axes, count, SPMD_REPLICATED, atom, NDA_REDUCE_NONE);
    else
        add_step(state, SPMD_REDUCE_SCATTER, axes, count, SPMD_REPLICATED, atom,
                 (uint8_t)(from - SPMD_PARTIAL));
}

/* axes that are `from` (replicated, or a partial) and sharded in the target, onto their atoms in the
 * target's order; the atoms of fast axes first */
static void enter(struct state *state, uint8_t from, bool past_leaving)
{
    for (uint32_t i = state->walk->axes; i-- > 0;) {
        uint32_t a = state->walk->slow_first[i];
        if (state->now.at[a] == from && is_atom(state->to->at[a]) &&
            (past_leaving || !some_axis_leaves(state, state->to->at[a])))
            enter_atom(state, from, state->to->at[a]);
    }
}

static void all_reduce_rest(struct state *state, uint8_t from)
{
    uint8_t axes[MESH_MAX_AXES], count = 0;

    for (uint32_t axis = 0; axis < state->walk->axes; axis++)
        if (state->now.at[axis] == from && state->to->at[axis] != from) {
            axes[count++] = (uint8_t)axis;
            state->now.at[axis] = SPMD_REPLICATED;
        }
    if (count)
        add_step(state, SPMD_ALL_REDUCE, axes, count, SPMD_REPLICATED, SPMD_REPLICATED,
                 (uint8_t)(from - SPMD_PARTIAL));
}

static void reduce(struct state *state, bool past_leaving)
{
    for (uint8_t from = SPMD_PARTIAL + 1; from <= SPMD_PARTIAL + NDA_REDUCE_OR; from++) {
        bool any = false;
        for (uint32_t axis = 0; axis < state->walk->axes; axis++)
            any |= state->now.at[axis] == from && state->to->at[axis] != from;
        if (!any)
            continue;
        enter(state, from, past_leaving);
        all_reduce_rest(state, from);
    }
}

/* ------------------------------------------------------------------------------------------- permute,
 * move, gather */
/* Orders the axes of every atom: those that stay in the target's order, then those that become replicated,
 * then those that move to another atom (`movers_last`). One permute for all atoms. */
static void permute(struct state *state)
{
    struct spmd_form form = state->now;
    uint8_t axes[MESH_MAX_AXES], count = 0;

    for (uint8_t atom = 0; atom < state->atom_count; atom++) {
        uint8_t position = 0, here = axes_on(state, &state->now, atom);
        if (here < 2)
            continue;
        for (uint8_t i = 0; i < axes_on(state, state->to, atom); i++) {
            uint32_t axis = axis_at(state, state->to, atom, i);
            if (axis < state->walk->axes && state->now.at[axis] == atom)
                form.position[axis] = position++;
        }
        for (uint8_t moves = 0; moves < 2; moves++)
            for (uint8_t i = 0; i < here; i++) {
                uint32_t a = axis_at(state, &state->now, atom, i);
                if (state->to->at[a] != atom && is_atom(state->to->at[a]) == moves)
                    form.position[a] = position++;
            }
    }
    for (uint32_t axis = 0; axis < state->walk->axes; axis++)
        if (is_atom(form.at[axis]) && form.position[axis] != state->now.position[axis])
            axes[count++] = (uint8_t)axis;
    if (!count)
        return;
    state->now = form;
    add_step(state, SPMD_PERMUTE, axes, count, SPMD_REPLICATED, SPMD_REPLICATED, NDA_REDUCE_NONE);
}

/* Moves the longest minor run of an atom's axes that goes to one other atom in the target, if it fits
 * there. */
static bool move_from(struct state *state, uint8_t atom)
{
    uint8_t here = axes_on(state, &state->now, atom), count = 0, axes[MESH_MAX_AXES];
    if (!here)
        return false;
    uint8_t to = state->to->at[axis_at(state, &state->now, atom, (uint8_t)(here - 1))];
    if (!is_atom(to) || to == atom)
        return false;
    int64_t left = local_size(state, to), n = 1;
    while (count < here) {
        uint32_t a = axis_at(state, &state->now, atom, (uint8_t)(here - 1 - count));
        if (state->to->at[a] != to || left % (n * state->walk->size[a]) != 0)
            break;
        n *= state->walk->size[a];
        count++;
    }
    if (!count)
        return false;
    for (uint8_t i = 0; i < count; i++)
        axes[i] = (uint8_t)axis_at(state, &state->now, atom, (uint8_t)(here - count + i));
    for (uint8_t i = 0; i < count; i++)
        append(state, axes[i], to);
    add_step(state, SPMD_ALL_TO_ALL, axes, count, atom, to, NDA_REDUCE_NONE);
    return true;
}

static bool any_mover(const struct state *state)
{
    for (uint32_t axis = 0; axis < state->walk->axes; axis++)
        if (is_atom(state->now.at[axis]) && is_atom(state->to->at[axis]) &&
            state->now.at[axis] != state->to->at[axis])
            return true;
    return false;
}

static void move(struct state *state)
{
    for (int tries = 0; any_mover(state) && tries < 2 * MESH_MAX_AXES;) {
        bool moved = false;
        for (uint8_t atom = 0; atom < state->atom_count; atom++)
            moved |= move_from(state, atom);
        if (!moved) {
            struct spmd_form before = state->now;
            permute(state);
            if (spmd_form_equal(&before, &state->now))
                return; /* no room: gathered, then sliced */
        }
        tries++;
    }
}

/* removes the axes of an atom from the minor end while they are not wanted there */
static void gather(struct state *state, uint8_t atom)
{
    uint8_t here = axes_on(state, &state->now, atom), count = 0, axes[MESH_MAX_AXES];

    while (count < here &&
           state->to->at[axis_at(state, &state->now, atom, (uint8_t)(here - 1 - count))] != atom)
        count++;
    if (!count)
        return;
    for (uint8_t i = 0; i < count; i++)
        axes[i] = (uint8_t)axis_at(state, &state->now, atom, (uint8_t)(here - count + i));
    for (uint8_t i = 0; i < count; i++) {
        state->now.at[axes[i]] = SPMD_REPLICATED;
        state->now.position[axes[i]] = 0;
    }
    add_step(state, SPMD_ALL_GATHER, axes, count, atom, SPMD_REPLICATED, NDA_REDUCE_NONE);
}

static void gather_all(struct state *state)
{
    for (uint32_t i = 0; i < state->walk->axes; i++) {
        uint8_t atom = state->now.at[state->walk->slow_first[i]];
        if (is_atom(atom))
            gather(state, atom);
    }
}

/* The same axes, the same number of shards of every atom: one permute does it. */
static bool only_permuted(struct state *state)
{
    for (uint32_t axis = 0; axis < state->walk->axes; axis++) {
        if (is_atom(state->now.at[axis]) != is_atom(state->to->at[axis]))
            return false;
        if (!is_atom(state->now.at[axis]) && state->now.at[axis] != state->to->at[axis])
            return false;
    }
    for (uint8_t atom = 0; atom < state->atom_count; atom++) {
        int64_t now = 1, to = 1;
        for (uint32_t axis = 0; axis < state->walk->axes; axis++) {
            now *= state->now.at[axis] == atom ? state->walk->size[axis] : 1;
            to *= state->to->at[axis] == atom ? state->walk->size[axis] : 1;
        }
        if (now != to)
            return false;
    }
    return true;
}

static void run(struct state *state, bool gather_first)
{
    uint8_t axes[MESH_MAX_AXES], count = 0;

    if (only_permuted(state)) {
        for (uint32_t axis = 0; axis < state->walk->axes; axis++)
            if (state->now.at[axis] != state->to->at[axis] ||
                state->now.position[axis] != state->to->position[axis])
                axes[count++] = (uint8_t)axis;
        state->now = *state->to;
        if (count)
            add_step(state, SPMD_PERMUTE, axes, count, SPMD_REPLICATED, SPMD_REPLICATED, NDA_REDUCE_NONE);
        return;
    }
    enter(state, SPMD_REPLICATED, !gather_first);
    reduce(state, !gather_first);
    move(state);
    permute(state);
    gather_all(state);
    enter(state, SPMD_REPLICATED, true);
    permute(state);
    if (spmd_form_equal(&state->now, state->to))
        return;
    /* An order of axes that the passes above cannot reach: everything gathered, then every block cut out. */
    struct spmd_form target = *state->to, whole = target;
    for (uint32_t axis = 0; axis < state->walk->axes; axis++)
        if (is_atom(whole.at[axis])) {
            whole.at[axis] = SPMD_REPLICATED;
            whole.position[axis] = 0;
        }
    state->to = &whole;
    gather_all(state);
    state->to = &target;
    enter(state, SPMD_REPLICATED, true);
    BASE_CHECK(spmd_form_equal(&state->now, state->to));
}

static bool enters_where_another_leaves(struct state *state)
{
    for (uint8_t atom = 0; atom < state->atom_count; atom++) {
        bool enters = false;
        for (uint32_t axis = 0; axis < state->walk->axes; axis++)
            enters |= state->to->at[axis] == atom && !is_atom(state->now.at[axis]);
        if (enters && some_axis_leaves(state, atom))
            return true;
    }
    return false;
}

static bool any_whole(const struct walk *walk, const struct spmd_form *form)
{
    for (uint32_t axis = 0; axis < walk->axes; axis++)
        if (spmd_is_whole(form->at[axis]))
            return true;
    return false;
}

/* The outermost atom of a dim without whole-dim axes where these axes have room, behind those that are
 * there: what an all_to_all exchanges with the whole dim. SPMD_REPLICATED when there is none. */
static uint8_t parking(const struct state *state, uint32_t whole, const uint8_t *axes, uint8_t count)
{
    for (uint8_t atom = 0; atom < state->atom_count; atom++) {
        uint32_t dim = state->atoms[atom].dim;
        if (state->atoms[atom].level == 0 && SPMD_WHOLE + dim != whole &&
            !axes_on(state, &state->now, (uint8_t)(SPMD_WHOLE + dim)) &&
            local_size(state, atom) % group_size(state, axes, count) == 0)
            return atom;
    }
    return SPMD_REPLICATED;
}

/* The axes on each whole dim leave: to another dim's atom (`park`, where one has room), or gathered. */
static void leave_whole(struct state *state, bool park)
{
    for (uint32_t whole = SPMD_WHOLE; whole < SPMD_PARTIAL; whole++) {
        uint8_t count = axes_on(state, &state->now, (uint8_t)whole), axes[MESH_MAX_AXES];
        for (uint8_t i = 0; i < count; i++)
            axes[i] = (uint8_t)axis_at(state, &state->now, (uint8_t)whole, i);
        if (!count)
            continue;
        uint8_t to = park ? parking(state, whole, axes, count) : SPMD_REPLICATED;
        for (uint8_t i = 0; i < count; i++) {
            state->now.at[axes[i]] = SPMD_REPLICATED;
            state->now.position[axes[i]] = 0;
        }
        for (uint8_t i = 0; to != SPMD_REPLICATED && i < count; i++)
            append(state, axes[i], to);
        add_step(state, to == SPMD_REPLICATED ? SPMD_ALL_GATHER : SPMD_ALL_TO_ALL, axes, count,
                 (uint8_t)whole, to, NDA_REDUCE_NONE);
    }
}

/* The last steps, from s->now without the whole dims to s->to: slices, or all_to_alls from where the axes
 * are parked. */
static void enter_whole(struct state *state)
{
    for (uint32_t whole = SPMD_WHOLE; whole < SPMD_PARTIAL; whole++) {
        uint8_t count = axes_on(state, state->to, (uint8_t)whole), axes[MESH_MAX_AXES],
                from = SPMD_REPLICATED;
        for (uint8_t i = 0; i < count; i++)
            axes[i] = (uint8_t)axis_at(state, state->to, (uint8_t)whole, i);
        for (uint8_t i = 0; i < count; i++) {
            from = state->now.at[axes[i]];
            state->now.at[axes[i]] = (uint8_t)whole;
            state->now.position[axes[i]] = i;
        }
        if (count)
            add_step(state, from == SPMD_REPLICATED ? SPMD_SLICE : SPMD_ALL_TO_ALL, axes, count, from,
                     (uint8_t)whole, NDA_REDUCE_NONE);
    }
}

/* `to` with its whole-dim axes on other dims' atoms where they have room, in the order in which
 * enter_whole takes them away again (last parked, first gone), else replicated */
static void park_target(struct state *state, bool park)
{
    struct spmd_form now = state->now;

    state->now = *state->to;
    for (uint32_t whole = SPMD_PARTIAL; whole-- > SPMD_WHOLE;) {
        uint8_t count = axes_on(state, state->to, (uint8_t)whole), axes[MESH_MAX_AXES];
        for (uint8_t i = 0; i < count; i++)
            axes[i] = (uint8_t)axis_at(state, state->to, (uint8_t)whole, i);
        uint8_t at = count && park ? parking(state, whole, axes, count) : SPMD_REPLICATED;
        for (uint8_t i = 0; i < count; i++) {
            state->now.at[axes[i]] = SPMD_REPLICATED;
            state->now.position[axes[i]] = 0;
        }
        for (uint8_t i = 0; at != SPMD_REPLICATED && i < count; i++)
            append(state, axes[i], at);
    }
    struct spmd_form target = state->now;
    state->now = now;
    state->parked = target;
}

static void through_atoms(struct state *state, uint32_t origin, const struct spmd_form *to, bool park_from,
                          bool park_to)
{
    struct reshard between;

    state->out->count = 0;
    state->out->price = 0;
    leave_whole(state, park_from);
    park_target(state, park_to);
    walk_reshard(state->walk, origin, &state->now, &state->parked, &between);
    BASE_CHECK(state->out->count + between.count <= RESHARD_MAX_STEPS);
    memcpy(state->out->steps + state->out->count, between.steps, between.count * sizeof *between.steps);
    state->out->count += between.count;
    state->out->price += between.price;
    state->now = state->parked;
    state->bytes = walk_bytes(state->walk, origin, &state->parked);
    enter_whole(state);
    BASE_CHECK(spmd_form_equal(&state->now, to));
}

/* the cheapest of gathering and parking on either side */
static void reshard_whole(const struct state *start, uint32_t origin, const struct spmd_form *from,
                          const struct spmd_form *to)
{
    for (int way = 0; way < 4; way++) {
        struct reshard other = {.count = 0, .price = 0};
        struct state state = *start;
        if (((way & 1) && !any_whole(state.walk, from)) || ((way & 2) && !any_whole(state.walk, to)))
            continue;
        state.out = way ? &other : start->out;
        through_atoms(&state, origin, to, way & 1, way & 2);
        if (way && other.price < start->out->price)
            *start->out = other;
    }
}

void walk_reshard(const struct walk *walk, uint32_t origin, const struct spmd_form *from,
                  const struct spmd_form *to, struct reshard *out)
{
    struct state state = {walk,
                          nda_atoms(walk->nda, origin),
                          nda_atom_count(walk->nda, origin),
                          *from,
                          to,
                          walk_bytes(walk, origin, from),
                          spmd_form_none,
                          out};

    out->count = 0;
    out->price = 0;
    if (spmd_form_equal(from, to))
        return;
    if (any_whole(walk, from) || any_whole(walk, to)) {
        reshard_whole(&state, origin, from, to);
        return;
    }
    run(&state, false);
    state.now = *from;
    if (!enters_where_another_leaves(&state))
        return;
    struct reshard other = {.count = 0, .price = 0};
    state.bytes = walk_bytes(walk, origin, from);
    state.out = &other;
    state.to = to;
    run(&state, true);
    if (other.price < out->price)
        *out = other;
}
