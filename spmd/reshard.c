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
    const struct walk *w;
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

static uint8_t axes_on(const struct state *s, const struct spmd_form *f, uint8_t atom)
{
    uint8_t count = 0;

    for (uint32_t a = 0; a < s->w->axes; a++)
        count += f->at[a] == atom;
    return count;
}

static int64_t local_size(const struct state *s, uint8_t atom)
{
    int64_t size = s->atoms[atom].size;

    for (uint32_t a = 0; a < s->w->axes; a++)
        if (s->now.at[a] == atom)
            size /= s->w->size[a];
    return size;
}

/* axis of form f at this position of an atom, or axes when none */
static uint32_t axis_at(const struct state *s, const struct spmd_form *f, uint8_t atom, uint8_t position)
{
    uint32_t a = 0;

    while (a < s->w->axes && !(f->at[a] == atom && f->position[a] == position))
        a++;
    return a;
}

static int64_t group_size(const struct state *s, const uint8_t *axes, uint8_t count)
{
    int64_t size = 1;

    for (uint8_t i = 0; i < count; i++)
        size *= s->w->size[axes[i]];
    return size;
}

static void add_step(struct state *s, enum spmd_step_kind kind, const uint8_t *axes, uint8_t count,
                     uint8_t atom, uint8_t to_atom, uint8_t reducer)
{
    struct reshard *r = s->out;
    int64_t n = group_size(s, axes, count), moved = 0, before = s->bytes;

    BASE_CHECK(r->count < RESHARD_MAX_STEPS);
    struct reshard_step *step = &r->steps[r->count++];
    *step = (struct reshard_step){(uint8_t)kind, reducer, count, atom, to_atom, {0}, s->now};
    memcpy(step->axes, axes, count);
    if (kind == SPMD_ALL_GATHER) {
        s->bytes *= n;
        moved = s->bytes / n * (n - 1);
    } else if (kind == SPMD_ALL_REDUCE) {
        moved = before / n * (n - 1) * 2;
    } else if (kind == SPMD_REDUCE_SCATTER) {
        s->bytes /= n;
        moved = before / n * (n - 1);
    } else if (kind == SPMD_ALL_TO_ALL) {
        moved = before / n * (n - 1);
    } else if (kind == SPMD_PERMUTE) {
        moved = before;
    } else {
        s->bytes /= n;
        return; /* slice */
    }
    r->price += moved + RESHARD_LATENCY_BYTES;
}

static void append(struct state *s, uint32_t axis, uint8_t atom)
{
    uint8_t position = axes_on(s, &s->now, atom);

    s->now.at[axis] = atom;
    s->now.position[axis] = position;
}

/* ------------------------------------------------------------------------------------------- slice,
 * reduce */
static bool some_axis_leaves(const struct state *s, uint8_t atom)
{
    for (uint32_t a = 0; a < s->w->axes; a++)
        if (s->now.at[a] == atom && s->to->at[a] != atom)
            return true;
    return false;
}

static void enter_atom(struct state *s, uint8_t from, uint8_t atom)
{
    uint8_t axes[MESH_MAX_AXES], count = 0, wanted = axes_on(s, s->to, atom);
    int64_t left = wanted ? local_size(s, atom) : 1;

    for (uint8_t i = 0; i < wanted; i++) {
        uint32_t a = axis_at(s, s->to, atom, i);
        if (a == s->w->axes || s->now.at[a] != from || left % s->w->size[a] != 0)
            continue;
        left /= s->w->size[a];
        axes[count++] = (uint8_t)a;
    }
    if (!count)
        return;
    for (uint8_t i = 0; i < count; i++)
        append(s, axes[i], atom);
    if (from == SPMD_REPLICATED)
        add_step(s, SPMD_SLICE, axes, count, SPMD_REPLICATED, atom, NDA_REDUCE_NONE);
    else
        add_step(s, SPMD_REDUCE_SCATTER, axes, count, SPMD_REPLICATED, atom, (uint8_t)(from - SPMD_PARTIAL));
}

/* axes that are `from` (replicated, or a partial) and sharded in the target, onto their atoms in the
 * target's order; the atoms of fast axes first */
static void enter(struct state *s, uint8_t from, bool past_leaving)
{
    for (uint32_t i = s->w->axes; i-- > 0;) {
        uint32_t a = s->w->slow_first[i];
        if (s->now.at[a] == from && is_atom(s->to->at[a]) &&
            (past_leaving || !some_axis_leaves(s, s->to->at[a])))
            enter_atom(s, from, s->to->at[a]);
    }
}

static void all_reduce_rest(struct state *s, uint8_t from)
{
    uint8_t axes[MESH_MAX_AXES], count = 0;

    for (uint32_t a = 0; a < s->w->axes; a++)
        if (s->now.at[a] == from && s->to->at[a] != from) {
            axes[count++] = (uint8_t)a;
            s->now.at[a] = SPMD_REPLICATED;
        }
    if (count)
        add_step(s, SPMD_ALL_REDUCE, axes, count, SPMD_REPLICATED, SPMD_REPLICATED,
                 (uint8_t)(from - SPMD_PARTIAL));
}

static void reduce(struct state *s, bool past_leaving)
{
    for (uint8_t from = SPMD_PARTIAL + 1; from <= SPMD_PARTIAL + NDA_REDUCE_OR; from++) {
        bool any = false;
        for (uint32_t a = 0; a < s->w->axes; a++)
            any |= s->now.at[a] == from && s->to->at[a] != from;
        if (!any)
            continue;
        enter(s, from, past_leaving);
        all_reduce_rest(s, from);
    }
}

/* ------------------------------------------------------------------------------------------- permute,
 * move, gather */
/* Orders the axes of every atom: those that stay in the target's order, then those that become replicated,
 * then those that move to another atom (`movers_last`). One permute for all atoms. */
static void permute(struct state *s)
{
    struct spmd_form f = s->now;
    uint8_t axes[MESH_MAX_AXES], count = 0;

    for (uint8_t atom = 0; atom < s->atom_count; atom++) {
        uint8_t position = 0, here = axes_on(s, &s->now, atom);
        if (here < 2)
            continue;
        for (uint8_t i = 0; i < axes_on(s, s->to, atom); i++) {
            uint32_t a = axis_at(s, s->to, atom, i);
            if (a < s->w->axes && s->now.at[a] == atom)
                f.position[a] = position++;
        }
        for (uint8_t moves = 0; moves < 2; moves++)
            for (uint8_t i = 0; i < here; i++) {
                uint32_t a = axis_at(s, &s->now, atom, i);
                if (s->to->at[a] != atom && is_atom(s->to->at[a]) == moves)
                    f.position[a] = position++;
            }
    }
    for (uint32_t a = 0; a < s->w->axes; a++)
        if (is_atom(f.at[a]) && f.position[a] != s->now.position[a])
            axes[count++] = (uint8_t)a;
    if (!count)
        return;
    s->now = f;
    add_step(s, SPMD_PERMUTE, axes, count, SPMD_REPLICATED, SPMD_REPLICATED, NDA_REDUCE_NONE);
}

/* Moves the longest minor run of an atom's axes that goes to one other atom in the target, if it fits
 * there. */
static bool move_from(struct state *s, uint8_t atom)
{
    uint8_t here = axes_on(s, &s->now, atom), count = 0, axes[MESH_MAX_AXES];
    if (!here)
        return false;
    uint8_t to = s->to->at[axis_at(s, &s->now, atom, (uint8_t)(here - 1))];
    if (!is_atom(to) || to == atom)
        return false;
    int64_t left = local_size(s, to), n = 1;
    while (count < here) {
        uint32_t a = axis_at(s, &s->now, atom, (uint8_t)(here - 1 - count));
        if (s->to->at[a] != to || left % (n * s->w->size[a]) != 0)
            break;
        n *= s->w->size[a];
        count++;
    }
    if (!count)
        return false;
    for (uint8_t i = 0; i < count; i++)
        axes[i] = (uint8_t)axis_at(s, &s->now, atom, (uint8_t)(here - count + i));
    for (uint8_t i = 0; i < count; i++)
        append(s, axes[i], to);
    add_step(s, SPMD_ALL_TO_ALL, axes, count, atom, to, NDA_REDUCE_NONE);
    return true;
}

static bool any_mover(const struct state *s)
{
    for (uint32_t a = 0; a < s->w->axes; a++)
        if (is_atom(s->now.at[a]) && is_atom(s->to->at[a]) && s->now.at[a] != s->to->at[a])
            return true;
    return false;
}

static void move(struct state *s)
{
    for (int tries = 0; any_mover(s) && tries < 2 * MESH_MAX_AXES;) {
        bool moved = false;
        for (uint8_t atom = 0; atom < s->atom_count; atom++)
            moved |= move_from(s, atom);
        if (!moved) {
            struct spmd_form before = s->now;
            permute(s);
            if (spmd_form_equal(&before, &s->now))
                return; /* no room: gathered, then sliced */
        }
        tries++;
    }
}

/* removes the axes of an atom from the minor end while they are not wanted there */
static void gather(struct state *s, uint8_t atom)
{
    uint8_t here = axes_on(s, &s->now, atom), count = 0, axes[MESH_MAX_AXES];

    while (count < here && s->to->at[axis_at(s, &s->now, atom, (uint8_t)(here - 1 - count))] != atom)
        count++;
    if (!count)
        return;
    for (uint8_t i = 0; i < count; i++)
        axes[i] = (uint8_t)axis_at(s, &s->now, atom, (uint8_t)(here - count + i));
    for (uint8_t i = 0; i < count; i++) {
        s->now.at[axes[i]] = SPMD_REPLICATED;
        s->now.position[axes[i]] = 0;
    }
    add_step(s, SPMD_ALL_GATHER, axes, count, atom, SPMD_REPLICATED, NDA_REDUCE_NONE);
}

static void gather_all(struct state *s)
{
    for (uint32_t i = 0; i < s->w->axes; i++) {
        uint8_t atom = s->now.at[s->w->slow_first[i]];
        if (is_atom(atom))
            gather(s, atom);
    }
}

/* The same axes, the same number of shards of every atom: one permute does it. */
static bool only_permuted(struct state *s)
{
    for (uint32_t a = 0; a < s->w->axes; a++) {
        if (is_atom(s->now.at[a]) != is_atom(s->to->at[a]))
            return false;
        if (!is_atom(s->now.at[a]) && s->now.at[a] != s->to->at[a])
            return false;
    }
    for (uint8_t atom = 0; atom < s->atom_count; atom++) {
        int64_t now = 1, to = 1;
        for (uint32_t a = 0; a < s->w->axes; a++) {
            now *= s->now.at[a] == atom ? s->w->size[a] : 1;
            to *= s->to->at[a] == atom ? s->w->size[a] : 1;
        }
        if (now != to)
            return false;
    }
    return true;
}

static void run(struct state *s, bool gather_first)
{
    uint8_t axes[MESH_MAX_AXES], count = 0;

    if (only_permuted(s)) {
        for (uint32_t a = 0; a < s->w->axes; a++)
            if (s->now.at[a] != s->to->at[a] || s->now.position[a] != s->to->position[a])
                axes[count++] = (uint8_t)a;
        s->now = *s->to;
        if (count)
            add_step(s, SPMD_PERMUTE, axes, count, SPMD_REPLICATED, SPMD_REPLICATED, NDA_REDUCE_NONE);
        return;
    }
    enter(s, SPMD_REPLICATED, !gather_first);
    reduce(s, !gather_first);
    move(s);
    permute(s);
    gather_all(s);
    enter(s, SPMD_REPLICATED, true);
    permute(s);
    if (spmd_form_equal(&s->now, s->to))
        return;
    /* An order of axes that the passes above cannot reach: everything gathered, then every block cut out. */
    struct spmd_form target = *s->to, whole = target;
    for (uint32_t a = 0; a < s->w->axes; a++)
        if (is_atom(whole.at[a])) {
            whole.at[a] = SPMD_REPLICATED;
            whole.position[a] = 0;
        }
    s->to = &whole;
    gather_all(s);
    s->to = &target;
    enter(s, SPMD_REPLICATED, true);
    BASE_CHECK(spmd_form_equal(&s->now, s->to));
}

static bool enters_where_another_leaves(struct state *s)
{
    for (uint8_t atom = 0; atom < s->atom_count; atom++) {
        bool enters = false;
        for (uint32_t a = 0; a < s->w->axes; a++)
            enters |= s->to->at[a] == atom && !is_atom(s->now.at[a]);
        if (enters && some_axis_leaves(s, atom))
            return true;
    }
    return false;
}

static bool any_whole(const struct walk *w, const struct spmd_form *f)
{
    for (uint32_t a = 0; a < w->axes; a++)
        if (spmd_is_whole(f->at[a]))
            return true;
    return false;
}

/* The outermost atom of a dim without whole-dim axes where these axes have room, behind those that are
 * there: what an all_to_all exchanges with the whole dim. SPMD_REPLICATED when there is none. */
static uint8_t parking(const struct state *s, uint32_t whole, const uint8_t *axes, uint8_t count)
{
    for (uint8_t atom = 0; atom < s->atom_count; atom++) {
        uint32_t dim = s->atoms[atom].dim;
        if (s->atoms[atom].level == 0 && SPMD_WHOLE + dim != whole &&
            !axes_on(s, &s->now, (uint8_t)(SPMD_WHOLE + dim)) &&
            local_size(s, atom) % group_size(s, axes, count) == 0)
            return atom;
    }
    return SPMD_REPLICATED;
}

/* The axes on each whole dim leave: to another dim's atom (`park`, where one has room), or gathered. */
static void leave_whole(struct state *s, bool park)
{
    for (uint32_t whole = SPMD_WHOLE; whole < SPMD_PARTIAL; whole++) {
        uint8_t count = axes_on(s, &s->now, (uint8_t)whole), axes[MESH_MAX_AXES];
        for (uint8_t i = 0; i < count; i++)
            axes[i] = (uint8_t)axis_at(s, &s->now, (uint8_t)whole, i);
        if (!count)
            continue;
        uint8_t to = park ? parking(s, whole, axes, count) : SPMD_REPLICATED;
        for (uint8_t i = 0; i < count; i++) {
            s->now.at[axes[i]] = SPMD_REPLICATED;
            s->now.position[axes[i]] = 0;
        }
        for (uint8_t i = 0; to != SPMD_REPLICATED && i < count; i++)
            append(s, axes[i], to);
        add_step(s, to == SPMD_REPLICATED ? SPMD_ALL_GATHER : SPMD_ALL_TO_ALL, axes, count, (uint8_t)whole,
                 to, NDA_REDUCE_NONE);
    }
}

/* The last steps, from s->now without the whole dims to s->to: slices, or all_to_alls from where the axes
 * are parked. */
static void enter_whole(struct state *s)
{
    for (uint32_t whole = SPMD_WHOLE; whole < SPMD_PARTIAL; whole++) {
        uint8_t count = axes_on(s, s->to, (uint8_t)whole), axes[MESH_MAX_AXES], from = SPMD_REPLICATED;
        for (uint8_t i = 0; i < count; i++)
            axes[i] = (uint8_t)axis_at(s, s->to, (uint8_t)whole, i);
        for (uint8_t i = 0; i < count; i++) {
            from = s->now.at[axes[i]];
            s->now.at[axes[i]] = (uint8_t)whole;
            s->now.position[axes[i]] = i;
        }
        if (count)
            add_step(s, from == SPMD_REPLICATED ? SPMD_SLICE : SPMD_ALL_TO_ALL, axes, count, from,
                     (uint8_t)whole, NDA_REDUCE_NONE);
    }
}

/* `to` with its whole-dim axes on other dims' atoms where they have room, in the order in which
 * enter_whole takes them away again (last parked, first gone), else replicated */
static void park_target(struct state *s, bool park)
{
    struct spmd_form now = s->now;

    s->now = *s->to;
    for (uint32_t whole = SPMD_PARTIAL; whole-- > SPMD_WHOLE;) {
        uint8_t count = axes_on(s, s->to, (uint8_t)whole), axes[MESH_MAX_AXES];
        for (uint8_t i = 0; i < count; i++)
            axes[i] = (uint8_t)axis_at(s, s->to, (uint8_t)whole, i);
        uint8_t at = count && park ? parking(s, whole, axes, count) : SPMD_REPLICATED;
        for (uint8_t i = 0; i < count; i++) {
            s->now.at[axes[i]] = SPMD_REPLICATED;
            s->now.position[axes[i]] = 0;
        }
        for (uint8_t i = 0; at != SPMD_REPLICATED && i < count; i++)
            append(s, axes[i], at);
    }
    struct spmd_form target = s->now;
    s->now = now;
    s->parked = target;
}

static void through_atoms(struct state *s, uint32_t origin, const struct spmd_form *to, bool park_from,
                          bool park_to)
{
    struct reshard between;

    s->out->count = 0;
    s->out->price = 0;
    leave_whole(s, park_from);
    park_target(s, park_to);
    walk_reshard(s->w, origin, &s->now, &s->parked, &between);
    BASE_CHECK(s->out->count + between.count <= RESHARD_MAX_STEPS);
    memcpy(s->out->steps + s->out->count, between.steps, between.count * sizeof *between.steps);
    s->out->count += between.count;
    s->out->price += between.price;
    s->now = s->parked;
    s->bytes = walk_bytes(s->w, origin, &s->parked);
    enter_whole(s);
    BASE_CHECK(spmd_form_equal(&s->now, to));
}

/* the cheapest of gathering and parking on either side */
static void reshard_whole(const struct state *start, uint32_t origin, const struct spmd_form *from,
                          const struct spmd_form *to)
{
    for (int way = 0; way < 4; way++) {
        struct reshard other = {.count = 0, .price = 0};
        struct state s = *start;
        if (((way & 1) && !any_whole(s.w, from)) || ((way & 2) && !any_whole(s.w, to)))
            continue;
        s.out = way ? &other : start->out;
        through_atoms(&s, origin, to, way & 1, way & 2);
        if (way && other.price < start->out->price)
            *start->out = other;
    }
}

void walk_reshard(const struct walk *w, uint32_t origin, const struct spmd_form *from,
                  const struct spmd_form *to, struct reshard *out)
{
    struct state s = {w,
                      nda_atoms(w->nda, origin),
                      nda_atom_count(w->nda, origin),
                      *from,
                      to,
                      walk_bytes(w, origin, from),
                      spmd_form_none,
                      out};

    out->count = 0;
    out->price = 0;
    if (spmd_form_equal(from, to))
        return;
    if (any_whole(w, from) || any_whole(w, to)) {
        reshard_whole(&s, origin, from, to);
        return;
    }
    run(&s, false);
    s.now = *from;
    if (!enters_where_another_leaves(&s))
        return;
    struct reshard other = {.count = 0, .price = 0};
    s.bytes = walk_bytes(w, origin, from);
    s.out = &other;
    s.to = to;
    run(&s, true);
    if (other.price < out->price)
        *out = other;
}
