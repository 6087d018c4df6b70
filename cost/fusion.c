/* What fuses, and which buffers every kernel reads.
 *
 * A simple model of a compiler's loop fusion. Broadcasts, converts, compares, slices and the like are
 * computed inside whatever uses them. An elementwise op is when all its uses end in one kernel; a cheap one
 * that reads a single array also when they end in several, unless that would go on upwards: of a chain every
 * second value is stored. Nothing fuses into a dot, a convolution, a collective, a sort, a loop's carried
 * values or the function's results: what these use is in memory. A reshape is another name of its operand's
 * buffer.
 *
 * The *roots* of a fused value are the buffers that a kernel computing it reads; they live until the last
 * such kernel (memory.c). */
#include "cost/internal.h"

/* ---------------------------------------------------------------- backward: uses */
static inline void add_use(struct value_use *value_use, uint32_t kernel, uint8_t hard)
{
    value_use->uses++;
    value_use->hard |= hard;
    value_use->kernel = value_use->kernel == 0 || value_use->kernel == kernel ? kernel : KERNEL_SEVERAL;
}

/* what becomes of an op, by how its (first) result is used */
static inline enum step_fate op_fate(const struct value_use *result, const struct op_info *info)
{
    switch ((enum op_class)info->class) {
    case OP_FREE: return FATE_FREE;
    case OP_ALIAS: return FATE_ALIAS;
    case OP_TRANSPOSE: return result->hard & HARD_OTHER ? FATE_KERNEL : FATE_ALIAS;
    case OP_CHEAP:
    case OP_CUT: return result->hard ? FATE_KERNEL : FATE_FUSED;
    case OP_ELEMENTWISE:
        if (result->hard || result->kernel == 0)
            return FATE_KERNEL;
        return result->kernel != KERNEL_SEVERAL || (info->repeatable && !result->kept) ? FATE_FUSED
                                                                                       : FATE_KERNEL;
    case OP_NOTHING:
    case OP_REDUCE:
    case OP_GATHER:
    case OP_UPDATE:
    case OP_MATMUL:
    case OP_OTHER: break;
    }
    return FATE_KERNEL;
}

const struct op_info price_slice_info = {.class = OP_CUT}, price_masked_info = {.class = OP_CHEAP},
                     price_partial_info = {.class = OP_ALIAS}, price_mark_info = {.class = OP_OTHER},
                     price_pick_info = {.class = OP_ELEMENTWISE, .in_place = 1},
                     price_join_info = {.class = OP_ELEMENTWISE}, price_idle_info = {.class = OP_CHEAP};

static inline enum step_fate fate_of(const struct price_scratch *scratch, const struct spmd_local *local,
                                     const struct spmd_step *step, const struct op_info *info)
{
    if (step->result_count != 1 && info->class != OP_ALIAS)
        return FATE_KERNEL;
    if (scratch->rules & COST_FUSE_BYTES && step->kind == SPMD_OP && info->class <= OP_GATHER &&
        info->class != OP_NOTHING && !scratch->uses[step->results].uses)
        return FATE_FREE; /* for ops that are other names, or for nothing */
    if (scratch->rules & COST_FUSE_BYTES && info->congruent && price_is_named(scratch, local, step->results))
        return FATE_NAMED;
    if (info->added && price_added_by(scratch, local, step) != SPMD_NONE)
        return FATE_ADDED;
    bool weighed = info->class == OP_ELEMENTWISE || info->class == OP_CHEAP || info->class == OP_REDUCE ||
                   (info->class == OP_GATHER && scratch->rules & COST_FUSE_GATHERED);
    if (weighed && scratch->rules & COST_FUSE_BYTES)
        return price_rather_fused(scratch, local, step, info) ? FATE_FUSED : FATE_KERNEL;
    return op_fate(&scratch->uses[step->results], info);
}

/* loop_end of a region's first step is its last, and the other way round; *open is the innermost region open
 * below step, and the chain of those around it stands in loop_end itself */
static void match_region(struct price_scratch *scratch, uint8_t kind, uint32_t step, uint32_t *open)
{
    if (kind == SPMD_LOOP_END || kind == SPMD_BRANCH_END) {
        scratch->loop_end[step] = *open;
        *open = step;
    } else if (kind == SPMD_LOOP || kind == SPMD_BRANCH) {
        uint32_t end = *open;
        BASE_CHECK(end != NDA_NONE);
        *open = scratch->loop_end[end];
        scratch->loop_end[end] = step;
        scratch->loop_end[step] = end;
    }
}

/* of a loop: what it carries feeds a product where the body's own makes one of it, or what comes out does */
static void note_carried(struct price_scratch *scratch, const struct spmd_local *local,
                         const struct spmd_step *step)
{
    uint32_t first = step->results + (step->kind == SPMD_LOOP ? step->operand_count : 0);
    for (uint32_t carried = 0; carried < step->operand_count; carried++)
        scratch->uses[local->operands[step->operands + carried]].feeds_matmul |=
            scratch->uses[first + carried].feeds_matmul;
}

/* what a product, or something that feeds one, is computed from feeds one */
static void note_matmuls(struct price_scratch *scratch, const struct spmd_local *local,
                         const struct spmd_step *step, const struct op_info *info)
{
    uint8_t feeds = info->class == OP_MATMUL;
    if (step->kind == SPMD_LOOP || step->kind == SPMD_LOOP_END) {
        note_carried(scratch, local, step);
        return;
    }
    for (uint32_t result = 0; result < step->result_count; result++)
        feeds |= scratch->uses[step->results + result].feeds_matmul;
    for (uint32_t operand = 0; feeds && operand < step->operand_count; operand++)
        scratch->uses[local->operands[step->operands + operand]].feeds_matmul = 1;
}

/* the step uses its operands: as XLA for CPUs sees it (recompute.c has the other way) */
static void note_uses(struct price_scratch *scratch, const struct spmd_local *local, uint32_t index,
                      enum step_fate fate)
{
    const struct spmd_step *step = &local->steps[index];
    const struct op_info *info = price_info_of(scratch, step);
    const uint32_t *operands = local->operands + step->operands;
    const struct value_use *result = &scratch->uses[step->results];
    if (fate == FATE_ALIAS) {
        for (uint32_t operand = 0; operand < step->operand_count; operand++)
            add_use(&scratch->uses[operands[operand]], result[operand].kernel, result[operand].hard);
        return;
    }
    uint32_t kernel = fate == FATE_FUSED ? result->kernel : index + 1;
    uint8_t repeated = info->class == OP_ELEMENTWISE && kernel == KERNEL_SEVERAL;
    for (uint32_t operand = 0; operand < step->operand_count; operand++) {
        add_use(&scratch->uses[operands[operand]], kernel, price_wants_buffer(scratch, info, operand));
        scratch->uses[operands[operand]].kept |= repeated;
    }
}

static void find_uses(struct price_scratch *scratch, const struct spmd_local *local)
{
    uint32_t open = NDA_NONE;
    for (uint32_t i = local->step_count; i-- > 0;) {
        const struct spmd_step *step = &local->steps[i];
        const struct op_info *info = price_info_of(scratch, step);
        enum step_fate fate = fate_of(scratch, local, step, info);
        scratch->fates[i] = (uint8_t)fate;
        if (fate == FATE_FREE)
            continue;
        note_matmuls(scratch, local, step, info);
        if (scratch->rules & COST_FUSE_WORK)
            price_add_work(scratch, local, i, fate);
        if (scratch->rules & COST_FUSE_BYTES)
            price_note_uses(scratch, local, i, fate);
        else
            note_uses(scratch, local, i, fate);
        if (fate != FATE_ALIAS && !step_is_local(step->kind) && !spmd_step_is_collective(step)) {
            scratch->fates[i] = FATE_MARK;
            match_region(scratch, step->kind, i, &open);
        }
    }
}

/* ---------------------------------------------------------------- forward: roots */
static inline void push_root(struct price_scratch *scratch, uint32_t value, int64_t bytes, int64_t cut)
{
    if (bytes > cut)
        bytes = cut;
    struct value_work *work = &scratch->values[value];
    if (work->mark == scratch->mark) {
        struct root *known = &scratch->pool[work->slot];
        if (bytes > known->bytes)
            known->bytes = bytes;
        return;
    }
    work->mark = scratch->mark;
    work->slot = (uint32_t)scratch->pool_count;
    if (scratch->pool_count == scratch->pool_room) {
        scratch->pool_room = scratch->pool_room ? scratch->pool_room * 2 : 4096;
        scratch->pool = mem_realloc(scratch->pool, scratch->pool_room, sizeof *scratch->pool);
    }
    scratch->pool[scratch->pool_count++] = (struct root){value, bytes};
}

/* what a value is computed of; of a buffer what the kernel read that made it */
static inline void push_roots_of(struct price_scratch *scratch, uint32_t value, int64_t cut)
{
    uint32_t first = scratch->values[value].roots, count = scratch->values[value].root_count;
    for (uint32_t i = 0; i < count; i++)
        push_root(scratch, scratch->pool[first + i].value, scratch->pool[first + i].bytes, cut);
}

static inline void push_value(struct price_scratch *scratch, const struct spmd_local *local, uint32_t value,
                              int64_t cut)
{
    if (scratch->values[value].state == VALUE_BUFFER)
        push_root(scratch, value, stored_bytes(scratch, local, value), cut);
    else
        push_roots_of(scratch, value, cut);
}

/* the union of the operands' roots, at the end of the pool */
static uint32_t collect_roots(struct price_scratch *scratch, const struct spmd_local *local,
                              const struct spmd_step *step)
{
    uint8_t class = price_info_of(scratch, step)->class;
    uint32_t first = (uint32_t)scratch->pool_count,
             anew = class == OP_MATMUL ? price_made_anew(scratch, local, step) : SPMD_NONE;
    scratch->mark++;
    int64_t result_bytes = step->result_count ? local->values[step->results].bytes : 0;
    for (uint32_t operand = 0; operand < step->operand_count; operand++) {
        uint32_t value = local->operands[step->operands + operand];
        if (class == OP_UPDATE && operand == 0)
            value = price_written_into(scratch, local, step);
        bool gathers = class == OP_GATHER && operand == 0;
        int64_t cut = class == OP_CUT || gathers ? result_bytes : INT64_MAX;
        if (gathers && scratch->rules & COST_FUSE_GATHERED && cut >= local->values[value].bytes)
            cut = local->values[value].bytes -
                  1; /* it is not read element by element: nothing is written over it */
        if (value == anew && scratch->values[value].root_count)
            push_roots_of(scratch, value, cut);
        else
            push_value(scratch, local, value, cut);
    }
    return first;
}

/* the last barrier that the step reads an operand through */
static uint32_t behind_of(const struct price_scratch *scratch, const struct spmd_local *local,
                          const struct spmd_step *step)
{
    uint32_t last = 0;
    for (uint32_t operand = 0; scratch->barrier_count && operand < step->operand_count; operand++) {
        uint32_t behind = scratch->values[local->operands[step->operands + operand]].behind;
        last = behind > last ? behind : last;
    }
    return last;
}

static uint16_t traits_of_op(const struct op_info *info, const struct spmd_step *step)
{
    if (info->class == OP_MATMUL)
        return KERNEL_MULTIPLIES | (info->dot ? KERNEL_DOT : 0) | (info->reshapes ? KERNEL_RESHAPES : 0);
    uint16_t reduces = info->class == OP_REDUCE ? KERNEL_REDUCES : 0;
    bool shares = reduces || info->class == OP_ELEMENTWISE || info->class == OP_CHEAP;
    return reduces | (shares && step->result_count == 1 ? KERNEL_SHARES : 0);
}

static uint16_t traits_of(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t at)
{
    const struct spmd_step *step = &local->steps[at];
    uint16_t inside = step->depth ? KERNEL_INSIDE : 0;
    bool rows = scratch->rules & COST_FUSE_WORK && scratch->work[at] < 0;
    if (spmd_step_is_collective(step))
        return inside | KERNEL_SENDS | (step->kind == SPMD_REDUCE_SCATTER ? KERNEL_SCATTERS : 0);
    if (step->kind == SPMD_OP)
        return inside | KERNEL_COMPUTES | (rows ? KERNEL_ROWS : 0) |
               traits_of_op(step_info(scratch, step), step);
    if (step_is_local(step->kind))
        return inside | KERNEL_COMPUTES | (step->kind == SPMD_MASK ? KERNEL_SHARES : 0);
    if (step->kind == SPMD_RESULT)
        return inside;
    bool opens = step->kind == SPMD_LOOP || step->kind == SPMD_BRANCH;
    return inside | KERNEL_MARKS | (opens ? KERNEL_OPENS : 0);
}

static int64_t elements_of(const struct spmd_local *local, const struct spmd_step *step, uint16_t traits)
{
    if (!(traits & KERNEL_SHARES))
        return 0;
    return value_elements(local, traits & KERNEL_REDUCES ? local->operands[step->operands] : step->results);
}

/* a step that reads its roots now: a kernel, a collective or a mark */
static void add_kernel(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step,
                       uint32_t first)
{
    uint16_t traits = traits_of(scratch, local, step);
    GROW(scratch->kernels, scratch->kernel_room, scratch->kernel_count + 1);
    scratch->kernels[scratch->kernel_count++] =
        (struct kernel){.step = step,
                        .traits = traits,
                        .elements = elements_of(local, &local->steps[step], traits),
                        .roots = first,
                        .root_count = (uint32_t)scratch->pool_count - first,
                        .behind = behind_of(scratch, local, &local->steps[step])};
}

static void use_operands(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step)
{
    add_kernel(scratch, local, step, collect_roots(scratch, local, &local->steps[step]));
}

static void set_roots(struct price_scratch *scratch, uint32_t value, uint8_t state, uint32_t first)
{
    scratch->values[value].state = state;
    scratch->values[value].roots = first;
    scratch->values[value].root_count = (uint8_t)(scratch->pool_count - first);
}

static int64_t group_size(const struct spmd_local *local, const struct spmd_step *collective)
{
    int64_t size = 1;
    for (uint32_t i = 0; i < collective->axis_count; i++)
        size *= local->mesh->axes[collective->axes[i]].size;
    return size;
}

/* What is read as it is and transposed, too, is computed and stored in both shapes (a mixer's residual
 * stream): the fusion that makes one of them is not that which makes the other. */
static bool stored_twice(const struct price_scratch *scratch, const struct spmd_local *local,
                         const struct spmd_step *entry)
{
    const struct value_use *use = &scratch->uses[entry->results];
    return scratch->rules & COST_FUSE_EPILOGUE && entry->kind == SPMD_OP &&
           use->across == (READ_ACROSS | READ_ALONG) && step_info(scratch, entry)->class == OP_ELEMENTWISE;
}

static void make_kernel(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step,
                        uint32_t first)
{
    const struct spmd_step *entry = &local->steps[step];
    add_kernel(scratch, local, step, first);
    for (uint32_t result = 0; result < entry->result_count; result++) {
        scratch->values[entry->results + result].state = VALUE_BUFFER;
        scratch->values[entry->results + result].wide =
            scratch->wide_bf16 && price_widens(scratch, local, entry->results + result);
    }
    scratch->values[entry->results].roots = first;
    scratch->values[entry->results].root_count =
        (uint8_t)at_most((int64_t)scratch->pool_count - first, UINT8_MAX);
    scratch->values[entry->results].twice = entry->result_count == 1 && stored_twice(scratch, local, entry);
    scratch->values[entry->results].flat = price_flat(scratch, local, entry);
    if (entry->kind == SPMD_REDUCE_SCATTER)
        scratch->values[entry->results].whole =
            group_size(local, entry) > scratch->scatter_most || price_scatters_lanes(scratch, local, entry);
    if (scratch->rules & COST_FUSE_STRIDED && price_turns_wide(scratch, local, entry))
        scratch->values[entry->results].wide = 1;
}

/* value becomes another name of `of` if that is one buffer */
static bool make_alias(struct price_scratch *scratch, const struct spmd_local *local, uint32_t value,
                       uint32_t of)
{
    const struct value_work *work = &scratch->values[of];
    if (work->state != VALUE_BUFFER && work->state != VALUE_ALIAS)
        return false;
    uint32_t root = work->state == VALUE_BUFFER ? of : scratch->pool[work->roots].value,
             first = (uint32_t)scratch->pool_count;
    scratch->mark++;
    push_root(scratch, root, local->values[value].bytes, INT64_MAX);
    set_roots(scratch, value, VALUE_ALIAS, first);
    return true;
}

/* value becomes another name of `of`, a buffer or not */
static void name_value(struct price_scratch *scratch, const struct spmd_local *local, uint32_t value,
                       uint32_t of)
{
    scratch->values[value].behind = scratch->values[of].behind;
    if (make_alias(scratch, local, value, of))
        return;
    uint32_t first = (uint32_t)scratch->pool_count;
    scratch->mark++;
    push_roots_of(scratch, of, INT64_MAX);
    set_roots(scratch, value, VALUE_FUSED, first);
}

/* its number */
static uint32_t add_barrier(struct price_scratch *scratch, const struct spmd_local *local,
                            const struct spmd_step *step)
{
    uint32_t first = collect_roots(scratch, local, step);
    GROW(scratch->barriers, scratch->barrier_room, scratch->barrier_count + 1);
    scratch->barriers[scratch->barrier_count] =
        (struct barrier){.roots = first,
                         .root_count = (uint32_t)scratch->pool_count - first,
                         .behind = behind_of(scratch, local, step),
                         .step = (uint32_t)(step - local->steps)};
    return (uint32_t)++scratch->barrier_count;
}

static void fuse_alias(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step)
{
    const struct spmd_step *entry = &local->steps[step];
    uint32_t barrier = price_is_barrier(scratch, entry) ? add_barrier(scratch, local, entry) : 0;
    for (uint32_t o = 0; o < entry->operand_count; o++) {
        uint32_t operand = local->operands[entry->operands + o], result = entry->results + o;
        scratch->values[result].behind = barrier ? barrier : scratch->values[operand].behind;
        if (make_alias(scratch, local, result, operand))
            continue;
        uint32_t first = (uint32_t)scratch->pool_count;
        scratch->mark++;
        push_value(scratch, local, operand, INT64_MAX);
        if (scratch->uses[result].hard && entry->result_count == 1 && entry->kind == SPMD_OP)
            make_kernel(scratch, local, step, first);
        else
            set_roots(scratch, result, VALUE_FUSED, first);
    }
}

static bool sinks(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t loop,
                  uint32_t carried)
{
    return scratch->rules & COST_FUSE_BYTES && price_is_sunk(scratch, local, loop, carried);
}

/* Block arguments: the cond's are the body's; a carried value that the body returns as it came is its init.
 */
static void open_loop(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step)
{
    const struct spmd_step *entry = &local->steps[step], *end = &local->steps[scratch->loop_end[step]];
    use_operands(scratch, local, step);
    uint32_t n = entry->operand_count;
    for (uint32_t operand = 0; operand < n; operand++) {
        uint32_t body = entry->results + n + operand, init = local->operands[entry->operands + operand];
        bool same = operand < end->operand_count && local->operands[end->operands + operand] == body;
        if (scratch->values[init].state == VALUE_FUSED && same && sinks(scratch, local, step, operand)) {
            set_roots(scratch, body, VALUE_FUSED, (uint32_t)scratch->pool_count);
            set_roots(scratch, entry->results + operand, VALUE_FUSED, (uint32_t)scratch->pool_count);
            continue;
        }
        if (!same || !make_alias(scratch, local, body, init))
            scratch->values[body].state = VALUE_BUFFER;
        make_alias(scratch, local, entry->results + operand, body);
    }
}

static void close_region(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step)
{
    const struct spmd_step *entry = &local->steps[step];
    uint32_t open = scratch->loop_end[step];
    use_operands(scratch, local, step);
    for (uint32_t result = 0; result < entry->result_count; result++) {
        uint32_t operand = local->operands[entry->operands + result],
                 carry = local->steps[open].results + entry->result_count + result;
        bool same =
            entry->kind == SPMD_LOOP_END && operand == carry && scratch->values[carry].state == VALUE_ALIAS;
        if (entry->kind == SPMD_LOOP_END && operand == carry && scratch->values[carry].state == VALUE_FUSED) {
            set_roots(scratch, entry->results + result, VALUE_FUSED, (uint32_t)scratch->pool_count);
            continue;
        }
        if (!same || !make_alias(scratch, local, entry->results + result, carry))
            scratch->values[entry->results + result].state = VALUE_BUFFER;
    }
}

/* a value's record, as far as nothing is known of it */
static inline void begin_value(struct value_work *work)
{
    work->state = VALUE_BUFFER;
    work->mark = work->behind = 0;
    work->root_count = 0;
    work->wide = work->scattered = work->turned = work->whole = work->inner = work->twice = 0;
    work->flat = work->reduced = work->chain = 0;
}

static void fuse_mark(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step)
{
    uint8_t kind = local->steps[step].kind;
    if (kind == SPMD_LOOP)
        open_loop(scratch, local, step);
    else if (kind == SPMD_LOOP_END || kind == SPMD_BRANCH_END)
        close_region(scratch, local, step);
    else
        use_operands(scratch, local, step);
}

void price_fuse(struct price_scratch *scratch, const struct spmd_local *local)
{
    if (scratch->rules & COST_FUSE_BYTES)
        price_weigh(scratch, local);
    find_uses(scratch, local);
    for (uint32_t argument = 0; argument < local->argument_count; argument++) {
        begin_value(&scratch->values[argument]);
        scratch->times[argument] = (struct value_times){.of_weights = 1};
    }
    for (uint32_t i = 0; i < local->step_count; i++) {
        const struct spmd_step *step = &local->steps[i];
        for (uint32_t result = 0; result < step->result_count; result++)
            begin_value(&scratch->values[step->results + result]);
        switch ((enum step_fate)scratch->fates[i]) {
        case FATE_FREE:
            for (uint32_t result = 0; result < step->result_count; result++)
                set_roots(scratch, step->results + result, VALUE_FUSED, (uint32_t)scratch->pool_count);
            break;
        case FATE_ALIAS: fuse_alias(scratch, local, i); break;
        case FATE_FUSED: {
            uint32_t first = collect_roots(scratch, local, step);
            if (scratch->pool_count - first <= ROOTS_MAX) {
                set_roots(scratch, step->results, VALUE_FUSED, first);
                scratch->values[step->results].behind = behind_of(scratch, local, step);
            } else {
                make_kernel(scratch, local, i, first);
            }
            break;
        }
        case FATE_NAMED: name_value(scratch, local, step->results, scratch->named[step->results]); break;
        case FATE_ADDED:
            name_value(scratch, local, step->results,
                       local->steps[price_added_by(scratch, local, step)].results);
            break;
        case FATE_KERNEL: make_kernel(scratch, local, i, collect_roots(scratch, local, step)); break;
        case FATE_MARK: fuse_mark(scratch, local, i); break;
        }
    }
}
