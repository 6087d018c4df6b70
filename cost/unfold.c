/* The kernels of a fold as the whole program would run them, for the makespan.
 *
 *   fold        .. | layer 1 | layer 16 | ..             layers 2 to 15 are gone
 *   unfolded    .. | layer 1 | 1, 1, .. | layer 16 |     copies of layer 1: each kernel where that of
 *                                                        its layer would stand
 *
 * What is combined with what, and what hides which collective, depend on how many layers there are: so the
 * makespan has to meet all of them, and only the passes that cost more (walk, fusion, memory) are spared. A
 * copy takes as long as what it is a copy of; what collectives take beside others is found again, in the new
 * order.
 *
 * Where a copy stands: the walk makes a kernel while it is at some op (its anchor); the copy for a layer that
 * is gone stands at the anchor's like of that layer, or, where the anchor is of no layer, at the anchor. What
 * the function's results want comes last, result by result. Small all_reduces wait in buckets, as in the walk
 * (spmd/combine.c): they are unfolded where they were made, and the buckets are filled again.
 *
 * What a copy reads: what its model reads, as many layers on, arguments too. What a kernel that is left reads
 * across the cut: as many layers further off as are gone between. The value of a layer that stays is the
 * version made as the same version there.
 *
 * Local program and scratch of the fold stay as they are. */
#include "cost/unfold.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- where copies stand */
/* Is it an all_reduce that may have waited in a bucket? */
static bool may_wait(const struct unfold *unfold, const struct spmd_step *step)
{
    return step->kind == SPMD_ALL_REDUCE &&
           unfold->local->values[step->results].bytes < spmd_combine_bytes(&unfold->local->options);
}

/* The walk goes through the body in order; what it makes before an op's own step, it makes for that op.
 * false: nothing waits. */
static bool find_anchors(struct unfold *unfold)
{
    const struct spmd_local *local = unfold->local;
    uint32_t reached = 0, waiting = 0;
    bool any = false;
    GROW(unfold->anchors, unfold->anchor_room, local->step_count + 1);
    for (uint32_t step = 0; step < local->step_count; step++) {
        uint32_t position = unfold->places->position[local->steps[step].op];
        bool waits = may_wait(unfold, &local->steps[step]);
        any |= waits;
        if (position < reached || waits)
            continue;
        reached = position;
        for (; waiting <= step; waiting++)
            unfold->anchors[waiting] = position;
    }
    for (; waiting < local->step_count; waiting++)
        unfold->anchors[waiting] = reached;
    return any;
}

/* where what waited was made: right after the value before it */
static uint32_t made_at(const struct unfold *unfold, uint32_t value)
{
    const struct spmd_local *local = unfold->local;
    while (value-- > 0) {
        uint32_t step = local->values[value].step;
        if (step != SPMD_NONE && !may_wait(unfold, &local->steps[step]))
            return unfold->anchors[step];
    }
    return 0;
}

/* where what waited was used first, be it by what takes no kernel */
static void find_uses(struct unfold *unfold)
{
    const struct spmd_local *local = unfold->local;
    GROW(unfold->used, unfold->used_room, local->value_count + 1);
    for (uint32_t value = 0; value < local->value_count; value++)
        unfold->used[value] = NDA_NONE;
    for (uint32_t step = local->step_count; step-- > 0;) {
        const struct spmd_step *entry = &local->steps[step];
        for (uint32_t i = entry->operands; i < entry->operands + entry->operand_count; i++)
            unfold->used[local->operands[i]] = unfold->anchors[step];
    }
}

static uint32_t position_of(const struct unfold *unfold, uint32_t kernel)
{
    uint32_t index = unfold->scratch->kernels[kernel].step;
    const struct spmd_step *step = &unfold->local->steps[index];
    return may_wait(unfold, step) ? made_at(unfold, step->results) : unfold->anchors[index];
}

static void add_instance(struct unfold *unfold, uint32_t kernel, uint32_t copy, uint32_t position, bool use)
{
    GROW(unfold->instances, unfold->instance_room, unfold->instance_count + 1);
    unfold->instances[unfold->instance_count++] = (struct instance){kernel, copy, 2 * position + !use};
}

/* Does the walk make the kernel when all else is there, for the function's results? */
static bool is_of_results(const struct unfold *unfold, uint32_t kernel)
{
    uint32_t index = unfold->scratch->kernels[kernel].step;
    return unfold->anchors[index] + 1 >= unfold->places->positions &&
           !may_wait(unfold, &unfold->local->steps[index]);
}

/* What a result of the function wants is made result by result: the place among them of what a kernel makes
 * that makes something, for which `node` makes what the kernel's op does. NDA_NONE: of none. */
static uint32_t place_of_result(const struct unfold *unfold, const struct spmd_step *step, uint32_t node)
{
    const struct fold_places *places = unfold->places;
    if (node == NDA_NONE)
        return NDA_NONE;
    uint32_t value =
        fold_value(places, unfold->local->nda->program, node, unfold->local->values[step->results].origin);
    return places->result[value] == NDA_NONE ? NDA_NONE : places->positions + places->result[value];
}

static uint32_t result_position(const struct unfold *unfold, const struct spmd_step *step)
{
    if (!step->result_count)
        return unfold->places->positions + unfold->places->results;
    return place_of_result(
        unfold, step,
        fold_maker(unfold->places, unfold->local->nda->program, unfold->local->values[step->results].origin));
}

/* position: of the kernel, or of the first use of what it makes */
static void add_copies_of(struct unfold *unfold, uint32_t kernel, uint32_t position, bool use)
{
    const struct fold_places *places = unfold->places;
    uint32_t anchor = places->at[position < places->positions ? position : places->positions - 1],
             copies = unfold->copies;
    int32_t layer = places->layer[anchor];
    /* an anchor beyond the cut is as many layers of the fold on, and those of the cut fewer of the whole */
    uint32_t op = layer != FOLD_NO_LAYER && layer >= places->until
                      ? layers_on(places, anchor, -(int32_t)copies)
                      : anchor;
    const struct spmd_step *step = &unfold->local->steps[unfold->scratch->kernels[kernel].step];
    bool of_results = !use && is_of_results(unfold, kernel), of_none = of_results && !step->result_count;
    uint32_t made = of_results && !of_none ? fold_maker(places, unfold->local->nda->program,
                                                        unfold->local->values[step->results].origin)
                                           : (uint32_t)NDA_NONE;
    for (uint32_t copy = 1; copy <= copies; copy++) {
        if (layer != FOLD_NO_LAYER && op != NDA_NONE)
            op = places->next[op];
        made = made == NDA_NONE ? made : places->next[made];
        bool there = layer != FOLD_NO_LAYER && op != NDA_NONE;
        uint32_t result = of_none ? places->positions + places->results : place_of_result(unfold, step, made);
        add_instance(unfold, kernel, copy,
                     result != NDA_NONE ? result
                     : there            ? places->position[op]
                                        : position,
                     use);
    }
}

static void add_instances(struct unfold *unfold)
{
    const struct price_scratch *scratch = unfold->scratch;
    const struct spmd_local *local = unfold->local;
    uint32_t count = (uint32_t)scratch->kernel_count;
    GROW(unfold->copied, unfold->copied_room, count + 1);
    unfold->instance_count = 0;
    unfold->value_count = local->value_count;
    for (uint32_t kernel = 0; kernel < count; kernel++) {
        const struct spmd_step *step = &local->steps[scratch->kernels[kernel].step];
        unfold->copied[kernel] = 0;
        uint32_t position = position_of(unfold, kernel),
                 used = may_wait(unfold, step) ? unfold->used[step->results] : NDA_NONE;
        bool copied = part_of(scratch, local, step) == 1;
        uint32_t result = is_of_results(unfold, kernel) ? result_position(unfold, step) : (uint32_t)NDA_NONE;
        position = result != NDA_NONE ? result : position;
        add_instance(unfold, kernel, 0, position, false);
        if (used != NDA_NONE)
            add_instance(unfold, kernel, 0, used, true);
        if (!copied)
            continue;
        unfold->copied[kernel] = unfold->value_count;
        unfold->value_count += unfold->copies * step->result_count;
        add_copies_of(unfold, kernel, position, false);
        if (used != NDA_NONE)
            add_copies_of(unfold, kernel, used, true);
    }
}

enum { DIGIT_BITS = 11 }; /* of positions: two digits have those of a million ops. Not tuned */

/* by one digit of the position; of one digit as they are */
static void sort_digit(const struct instance *from, struct instance *to, uint32_t count, uint32_t shift)
{
    uint32_t next[1 << DIGIT_BITS] = {0}, mask = (1u << DIGIT_BITS) - 1;
    for (uint32_t i = 0; i < count; i++)
        next[from[i].position >> shift & mask]++;
    for (uint32_t digit = 0, sum = 0; digit <= mask; digit++) {
        uint32_t here = next[digit];
        next[digit] = sum;
        sum += here;
    }
    for (uint32_t i = 0; i < count; i++)
        to[next[from[i].position >> shift & mask]++] = from[i];
}

static void swap_instances(struct unfold *unfold)
{
    struct instance *instances = unfold->instances;
    size_t room = unfold->instance_room;
    unfold->instances = unfold->sorted;
    unfold->instance_room = unfold->sorted_room;
    unfold->sorted = instances;
    unfold->sorted_room = room;
}

/* by position; of one position as they are */
static void sort_instances(struct unfold *unfold)
{
    uint32_t last = 2 * (unfold->places->positions + unfold->places->results + 1);
    GROW(unfold->sorted, unfold->sorted_room, (size_t)unfold->instance_count + 1);
    for (uint32_t shift = 0; shift < 32 && last >> shift; shift += DIGIT_BITS) {
        if (shift)
            swap_instances(unfold);
        sort_digit(unfold->instances, unfold->sorted, unfold->instance_count, shift);
    }
}

/* ---------------------------------------------------------------- what copies read */
static void list_versions(struct unfold *unfold)
{
    const struct spmd_local *local = unfold->local;
    GROW(unfold->later, unfold->later_room, (size_t)local->value_count + 1);
    GROW(unfold->ordinal, unfold->ordinal_room, (size_t)local->value_count + 1);
    size_t known = unfold->version_room;
    GROW(unfold->versions, unfold->version_room, (size_t)local->nda->program->value_count + 1);
    if (unfold->version_room > known)
        memset(unfold->versions + known, 0, (unfold->version_room - known) * sizeof *unfold->versions);
    unfold->stamp++;
    for (uint32_t k = 0; k < unfold->scratch->kernel_count; k++) {
        const struct spmd_step *step = &local->steps[unfold->scratch->kernels[k].step];
        for (uint32_t value = step->results; value < step->results + step->result_count; value++) {
            struct version *version = &unfold->versions[local->values[value].origin];
            unfold->later[value] = SPMD_NONE;
            unfold->ordinal[value] = 0;
            if (version->stamp == unfold->stamp) {
                unfold->later[version->last] = value;
                unfold->ordinal[value] = unfold->ordinal[version->last] + 1;
            } else {
                version->first = value;
            }
            version->stamp = unfold->stamp;
            version->last = value;
        }
    }
}

static int32_t layer_of(const struct unfold *unfold, uint32_t value)
{
    uint32_t node =
        fold_maker(unfold->places, unfold->local->nda->program, unfold->local->values[value].origin);
    return node == NDA_NONE ? FOLD_NO_LAYER : unfold->places->layer[node];
}

/* the value's like in a layer that is left, so many layers of the whole on; itself where there is none */
static uint32_t like_of(const struct unfold *unfold, uint32_t value, int32_t by)
{
    const struct ir_program *program = unfold->local->nda->program;
    uint32_t origin = unfold->local->values[value].origin;
    uint32_t node =
        by ? layers_on(unfold->places, fold_maker(unfold->places, program, origin), by) : NDA_NONE;
    if (node == NDA_NONE)
        return value;
    const struct version *version = &unfold->versions[fold_value(unfold->places, program, node, origin)];
    if (version->stamp != unfold->stamp)
        return value;
    uint32_t like = version->first;
    for (uint32_t n = unfold->ordinal[value]; n-- > 0 && unfold->later[like] != SPMD_NONE;)
        like = unfold->later[like];
    return like;
}

struct reading unfold_read(const struct unfold *unfold, uint32_t value)
{
    const struct fold_places *places = unfold->places;
    struct reading reading = {.value = value, .model = value, .layer = layer_of(unfold, value)};
    if (reading.layer == FOLD_NO_LAYER || unfold->local->values[value].step == SPMD_NONE)
        return reading;
    int32_t beyond = reading.layer >= places->until ? (int32_t)unfold->copies : 0;
    reading.by = reading.layer - beyond - (places->from - 1);
    reading.model = like_of(unfold, value, places->from - 1 - reading.layer);
    uint32_t step = unfold->local->values[reading.model].step, kernel = unfold->scratch->at[step];
    if (!unfold->copied[kernel])
        return reading;
    const struct spmd_step *entry = &unfold->local->steps[step];
    reading.results = entry->result_count;
    reading.copied = unfold->copied[kernel] + (reading.model - entry->results);
    return reading;
}

uint32_t unfold_read_by(const struct unfold *unfold, const struct reading *reading, uint32_t copy)
{
    const struct fold_places *places = unfold->places;
    if (!reading->copied)
        return reading->value;
    int32_t layer = places->from - 1 + (int32_t)copy + reading->by;
    if (layer >= places->from && layer < places->until)
        return reading->copied + (uint32_t)(layer - places->from) * reading->results;
    return like_of(unfold, reading->value, layer - reading->layer);
}

/* ---------------------------------------------------------------- the view */
/* of an argument that a kernel reads: what its copies read, each `apart` further on */
static void add_argument(const struct unfold *unfold, struct root root, uint32_t apart, struct root *to)
{
    const struct fold_places *places = unfold->places;
    uint32_t node = places->op_count + root.value;
    int32_t layer = places->layer[node];
    /* what is beyond the cut is as many layers nearer by the fold */
    if (layer != FOLD_NO_LAYER && layer >= places->until)
        node = layers_on(places, node, -(int32_t)unfold->copies);
    for (uint32_t copy = 1; copy <= unfold->copies; copy++) {
        node = layer == FOLD_NO_LAYER || node == NDA_NONE ? NDA_NONE : places->next[node];
        to[(size_t)copy * apart] =
            (struct root){node == NDA_NONE ? root.value : node - places->op_count, root.bytes};
    }
}

/* the layer that a kernel of the fold is of */
static int32_t layer_of_kernel(const struct unfold *unfold, uint32_t kernel)
{
    const struct spmd_step *step = &unfold->local->steps[unfold->scratch->kernels[kernel].step];
    int32_t layer = unfold->places->layer[step->op];
    return layer != FOLD_NO_LAYER || step->kind == SPMD_OP || !step->result_count
               ? layer
               : layer_of(unfold, step->results);
}

/* What a kernel that is left reads across the cut: the fold has it read as many layers nearer. */
static uint32_t read_across(const struct unfold *unfold, int32_t kernel_layer, uint32_t value)
{
    const struct fold_places *places = unfold->places;
    int32_t layer = layer_of(unfold, value), copies = (int32_t)unfold->copies;
    bool before = kernel_layer < places->from, made_before = layer < places->from;
    if (kernel_layer == FOLD_NO_LAYER || layer == FOLD_NO_LAYER || before == made_before)
        return value;
    int32_t gone = made_before ? layer + copies : layer - copies;
    if (gone < places->from || gone >= places->until)
        return value;
    if (value < unfold->local->argument_count) {
        uint32_t node = layers_on(places, places->op_count + value, gone - layer);
        return node == NDA_NONE ? value : node - places->op_count;
    }
    struct reading reading = unfold_read(unfold, value);
    return reading.copied ? reading.copied + (uint32_t)(gone - places->from) * reading.results : value;
}

/* the roots of a kernel and of its copies, on end; *pool: how many there are so far */
static void add_roots(struct price_unfolded *out, uint32_t kernel, uint32_t *pool)
{
    struct unfold *unfold = out->work;
    const struct kernel *k = &unfold->scratch->kernels[kernel];
    uint32_t copies = unfold->copied[kernel] ? unfold->copies : 0;
    int32_t layer = layer_of_kernel(unfold, kernel);
    GROW(out->scratch->pool, out->scratch->pool_room, (size_t)*pool + (size_t)k->root_count * (copies + 1));
    for (uint32_t i = 0; i < k->root_count; i++) {
        struct root root = unfold->scratch->pool[k->roots + i];
        struct root *to = &out->scratch->pool[*pool + i];
        to[0] = (struct root){read_across(unfold, layer, root.value), root.bytes};
        if (!copies)
            continue;
        if (root.value < unfold->local->argument_count) {
            add_argument(unfold, root, k->root_count, to);
            continue;
        }
        struct reading reading = unfold_read(unfold, root.value);
        for (uint32_t copy = 1; copy <= copies; copy++)
            to[copy * k->root_count] = (struct root){unfold_read_by(unfold, &reading, copy), root.bytes};
    }
    *pool += k->root_count * (copies + 1);
}

static void add_values(struct price_unfolded *out, const struct spmd_step *step, uint32_t to, uint32_t index)
{
    const struct price_scratch *scratch = out->work->scratch;
    const struct spmd_local *local = out->work->local;
    for (uint32_t i = 0; i < step->result_count; i++) {
        uint32_t value = step->results + i;
        out->local.values[to + i].bytes = local->values[value].bytes;
        out->local.values[to + i].step = index;
        out->scratch->times[to + i] = (struct value_times){.of_weights = scratch->times[value].of_weights};
        out->scratch->uses[to + i].feeds_matmul = scratch->uses[value].feeds_matmul;
    }
}

static void grow(struct price_unfolded *out)
{
    struct unfold *unfold = out->work;
    GROW(out->local.values, unfold->value_room, (size_t)unfold->value_count + 1);
    GROW(out->scratch->times, out->scratch->time_room, (size_t)unfold->value_count + 1);
    GROW(out->scratch->uses, out->scratch->use_room, (size_t)unfold->value_count + 1);
    size_t known = unfold->waits_room;
    GROW(unfold->waits, unfold->waits_room, (size_t)unfold->value_count + 1);
    if (unfold->waits_room > known)
        memset(unfold->waits + known, 0, unfold->waits_room - known);
    GROW(out->local.steps, unfold->step_room, (size_t)unfold->instance_count + 1);
    GROW(out->scratch->kernels, out->scratch->kernel_room, (size_t)unfold->instance_count + 1);
    GROW(unfold->placed_as, unfold->placed_room, (size_t)unfold->instance_count + 1);
}

/* first root of each kernel in `counts` */
static void add_pool(struct price_unfolded *out)
{
    struct unfold *unfold = out->work;
    uint32_t pool = 0;
    GROW(unfold->counts, unfold->count_room, unfold->scratch->kernel_count + 1);
    for (uint32_t kernel = 0; kernel < unfold->scratch->kernel_count; kernel++) {
        unfold->counts[kernel] = pool;
        add_roots(out, kernel, &pool);
    }
    out->scratch->pool_count = pool;
}

static uint32_t results_of(const struct unfold *unfold, const struct instance *instance)
{
    const struct spmd_step *step = unfold_step(unfold, instance);
    return instance->copy ? unfold->copied[instance->kernel] + (instance->copy - 1) * step->result_count
                          : step->results;
}

static uint8_t element_of(const struct unfold *unfold, const struct spmd_step *step)
{
    const struct spmd_local *local = unfold->local;
    return (uint8_t)ir_value_type(local->nda->program, local->values[step->results].origin)->element;
}

static bool may_join(const struct unfold *unfold, const struct spmd_step *step, const struct spmd_step *other)
{
    return step->kind == other->kind && step->reducer == other->reducer &&
           step->axis_count == other->axis_count && memcmp(step->axes, other->axes, step->axis_count) == 0 &&
           element_of(unfold, step) == element_of(unfold, other);
}

static void place(struct price_unfolded *out, const struct instance *instance, enum tuple_place in_tuple)
{
    struct unfold *unfold = out->work;
    const struct kernel *model = &unfold->scratch->kernels[instance->kernel];
    const struct spmd_step *step = &unfold->local->steps[model->step];
    uint32_t i = unfold->placed++;
    struct kernel *k = &out->scratch->kernels[i];
    *k = *model;
    k->roots = unfold->counts[instance->kernel] + instance->copy * model->root_count;
    if (spmd_step_is_collective(step))
        price_collective(unfold->scratch, unfold->local, unfold->machine, out->scratch->kernels, i, in_tuple,
                         &unfold->joining);
    else if (!step_is_local(step->kind))
        unfold->joining.count = 0;
    k->step = i;
    out->local.steps[i] = *step;
    out->local.steps[i].results = results_of(unfold, instance);
    unfold->placed_as[i] = instance;
    unfold->tuples += in_tuple != TUPLE_NEXT;
    out->local.steps[i].combined = in_tuple == TUPLE_NONE ? 0 : unfold->tuples;
    add_values(out, step, out->local.steps[i].results, i);
}

/* places the bucket of that all_reduce */
static void empty_bucket(struct price_unfolded *out, const struct spmd_step *like)
{
    struct unfold *unfold = out->work;
    uint32_t members = 0, placed = 0, left = 0;
    for (size_t i = 0; i < unfold->waiting.count; i++)
        members += may_join(unfold, unfold_step(unfold, &unfold->sorted[unfold->waiting.at[i]]), like);
    for (size_t i = 0; i < unfold->waiting.count; i++) {
        const struct instance *instance = &unfold->sorted[unfold->waiting.at[i]];
        if (!may_join(unfold, unfold_step(unfold, instance), like)) {
            unfold->waiting.at[left++] = unfold->waiting.at[i];
            continue;
        }
        place(out, instance, members == 1 ? TUPLE_NONE : placed++ ? TUPLE_NEXT : TUPLE_FIRST);
        unfold->waits[results_of(unfold, instance)] = 0;
    }
    unfold->waiting.count = left;
}

static void put_into_bucket(struct price_unfolded *out, uint32_t index)
{
    struct unfold *unfold = out->work;
    const struct spmd_step *step = unfold_step(unfold, &unfold->sorted[index]);
    int64_t sum = unfold->local->values[step->results].bytes;
    for (size_t i = 0; i < unfold->waiting.count; i++) {
        const struct spmd_step *other = unfold_step(unfold, &unfold->sorted[unfold->waiting.at[i]]);
        sum += may_join(unfold, step, other) ? unfold->local->values[other->results].bytes : 0;
    }
    if (sum > spmd_combine_bytes(&unfold->local->options))
        empty_bucket(out, step);
    VEC_PUSH(&unfold->waiting, index);
    unfold->waits[results_of(unfold, &unfold->sorted[index])] = 1;
}

/* all buckets that the kernel wants something of; a mark wants everything */
static void empty_buckets(struct price_unfolded *out, const struct instance *instance)
{
    struct unfold *unfold = out->work;
    const struct spmd_step *step = unfold_step(unfold, instance);
    uint32_t count = unfold->scratch->kernels[instance->kernel].root_count;
    const struct root *roots =
        out->scratch->pool + unfold->counts[instance->kernel] + instance->copy * (size_t)count;
    bool mark = !step_is_local(step->kind) && !spmd_step_is_collective(step);
    while (mark && unfold->waiting.count)
        empty_bucket(out, unfold_step(unfold, &unfold->sorted[unfold->waiting.at[0]]));
    for (uint32_t i = 0; i < count && unfold->waiting.count; i++)
        for (size_t k = 0; unfold->waits[roots[i].value] && k < unfold->waiting.count; k++) {
            const struct instance *other = &unfold->sorted[unfold->waiting.at[k]];
            if (results_of(unfold, other) == roots[i].value)
                empty_bucket(out, unfold_step(unfold, other));
        }
}

/* gathers that follow each other, as far as the walk combined them */
static enum tuple_place place_in_run(struct unfold *unfold, const struct spmd_step *step,
                                     const struct spmd_step *before)
{
    int64_t bytes = unfold->local->values[step->results].bytes;
    if (step->kind != SPMD_ALL_GATHER || !step->combined)
        return TUPLE_NONE;
    bool joins = before && before->combined && may_join(unfold, step, before) &&
                 unfold->run_bytes + bytes <= spmd_combine_bytes(&unfold->local->options);
    unfold->run_bytes = joins ? unfold->run_bytes + bytes : bytes;
    return joins ? TUPLE_NEXT : TUPLE_FIRST;
}

static void add_kernels(struct price_unfolded *out)
{
    struct unfold *unfold = out->work;
    const struct spmd_step *before = NULL;
    for (uint32_t i = 0; i < unfold->instance_count; i++) {
        const struct instance *instance = &unfold->sorted[i];
        const struct spmd_step *step = unfold_step(unfold, instance);
        if (instance->position % 2 == 0) {
            if (unfold->waits[results_of(unfold, instance)])
                empty_bucket(out, step);
            continue;
        }
        if (unfold->waiting.count)
            empty_buckets(out, instance);
        if (may_wait(unfold, step)) {
            put_into_bucket(out, i);
            continue;
        }
        place(out, instance, place_in_run(unfold, step, before));
        before = step;
    }
}

struct price_unfolded *price_unfold(struct price_scratch *scratch, const struct spmd_local *local,
                                    const struct cost_machine *machine, const struct fold_shorter *shorter)
{
    struct price_unfolded **kept = shorter ? &scratch->shorter : &scratch->unfolded, *out = *kept;
    if (!out) {
        out = *kept = mem_zalloc(1, sizeof *out);
        out->work = mem_zalloc(1, sizeof *out->work);
        out->scratch = price_scratch_create(scratch->program);
    }
    struct unfold *unfold = out->work;
    unfold->scratch = scratch;
    unfold->local = local;
    unfold->places = shorter ? &shorter->places : scratch->fold->places;
    unfold->copies = shorter ? shorter->copies : (uint32_t)scratch->fold->copies;
    unfold->machine = machine;
    unfold->joining = (struct joining){.count = 0};
    unfold->placed = unfold->tuples = 0;
    if (find_anchors(unfold))
        find_uses(unfold);
    add_instances(unfold);
    sort_instances(unfold);
    list_versions(unfold);
    grow(out);
    for (uint32_t argument = 0; argument < local->argument_count; argument++)
        out->scratch->times[argument] = scratch->times[argument];
    add_pool(out);
    add_kernels(out);
    out->scratch->kernel_count = unfold->placed;
    out->scratch->hidden_graph = out->prepared = false;
    out->scratch->beaten_ps = scratch->beaten_ps;
    out->scratch->program = scratch->program;
    price_take_rules(out->scratch, machine);
    out->local.nda = local->nda;
    out->local.mesh = local->mesh;
    out->local.step_count = unfold->placed;
    out->local.value_count = unfold->value_count;
    out->local.argument_count = local->argument_count;
    return out;
}

void price_unfolded_destroy(struct price_unfolded *unfolded)
{
    if (!unfolded)
        return;
    struct unfold *unfold = unfolded->work;
    free(unfold->anchors);
    free(unfold->used);
    free(unfold->waits);
    VEC_FREE(&unfold->waiting);
    free(unfold->instances);
    free(unfold->sorted);
    free(unfold->counts);
    free(unfold->copied);
    free(unfold->versions);
    free(unfold->later);
    free(unfold->ordinal);
    free(unfold->placed_as);
    free(unfold->among_roots);
    free(unfold);
    price_scratch_destroy(unfolded->scratch);
    free(unfolded->local.steps);
    free(unfolded->local.values);
    free(unfolded->local.operands);
    free(unfolded);
}
