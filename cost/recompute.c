/* Whether a value that several kernels use is stored once or computed in each of them.
 *
 * Two halves that fusion.c puts together. Forward, what computing a value anew would read and take:
 *
 *     logits bf16 --convert--> f32 --subtract--> exp          roots {logits, max}, effort 4 bytes an element
 *                                  max --'
 *
 * its roots are results of dots, collectives, reductions, gathers, updates and arguments; constants and iota
 * have none. An operand counts by its roots where they are no more bytes than it has itself, else it is one.
 * Backward, the distinct kernels that a value's uses end in. A value that k kernels use goes into all of them
 * or into none, as XLA decides: into all when k readings of its roots take less than reading them once,
 * writing the value and reading it k times. What its arithmetic takes counts as the bytes that could be moved
 * meanwhile. docs/design/price.md says where the constants come from. Nothing here stores a value or makes a
 * kernel. */
#include "cost/effort.h"
#include "cost/internal.h"

/* ---------------------------------------------------------------- forward: what computing it anew reads */
static void add_root(struct price_scratch *scratch, struct recompute *again, uint32_t value, int64_t bytes)
{
    struct root *roots = scratch->again_roots + again->roots;
    for (uint32_t i = 0; i < again->count; i++)
        if (roots[i].value == value) {
            if (bytes > roots[i].bytes) {
                again->total += bytes - roots[i].bytes;
                roots[i].bytes = bytes;
            }
            return;
        }
    again->total += bytes;
    if (again->count < RECOMPUTE_ROOTS)
        roots[again->count++] = (struct root){value, bytes};
}

/* what the roots may be more than a value, where products take them in: statistics of its rows */
static inline int64_t statistics(const struct price_scratch *scratch, int64_t bytes)
{
    return scratch->rules & COST_FUSE_PRODUCTS ? bytes / 8 : 0;
}

/* is reading the operand no better than reading its roots and computing from them? */
static inline bool by_roots(const struct price_scratch *scratch, const struct recompute *again, int64_t bytes)
{
    return again->count != RECOMPUTE_ITSELF &&
           again->total + again->effort <= bytes + statistics(scratch, bytes);
}

/* What is computed from two gathered arrays is rather stored: XLA:GPU stores the sum of two (messages of a
 * graph's edges), whose roots would be read in half of the time. */
enum { GATHERS_APART = 2 };

/* what an operand adds: its roots, or itself */
static void add_operand(struct price_scratch *scratch, const struct spmd_local *local, struct recompute *out,
                        uint32_t operand, int64_t cut)
{
    const struct recompute *again = &scratch->again[operand];
    int64_t bytes = local->values[operand].bytes;
    if (!by_roots(scratch, again, bytes)) {
        add_root(scratch, out, operand, at_most(bytes, cut));
        if (again->gathered && out->gathers++)
            out->effort += GATHERS_APART * bytes;
        return;
    }
    for (uint32_t i = 0; i < again->count; i++) {
        const struct root *root = &scratch->again_roots[again->roots + i];
        add_root(scratch, out, root->value, at_most(root->bytes, cut));
    }
    out->effort = out->effort > again->effort ? out->effort : again->effort;
}

static inline void stands_alone(struct price_scratch *scratch, const struct spmd_local *local, uint32_t value)
{
    struct recompute *again = &scratch->again[value];
    again->total = local->values[value].bytes;
    again->effort = 0;
    again->gathered = false;
    again->count = RECOMPUTE_ITSELF;
}

/* Is it computed from a row less its maximum? Kernels that keep rows read that, whose arithmetic is free. */
static bool of_centred(const struct price_scratch *scratch, const struct spmd_local *local,
                       const struct spmd_step *step)
{
    uint32_t from = local->values[local->operands[step->operands]].step;
    return scratch->rules & COST_FUSE_ROWS && step->operand_count == 1 && from != SPMD_NONE &&
           local->steps[from].kind == SPMD_OP && step_info(scratch, &local->steps[from])->centred;
}

/* of a gather: as many bytes as it has, wherever they lie, and its indices */
static struct recompute weigh_gather(struct price_scratch *scratch, const struct spmd_local *local,
                                     const struct spmd_step *step)
{
    const uint32_t *operands = local->operands + step->operands;
    struct recompute again = {.roots = (uint32_t)scratch->again_root_count, .gathered = true};
    GROW(scratch->again_roots, scratch->again_root_room, again.roots + RECOMPUTE_ROOTS);
    add_root(scratch, &again, operands[0], local->values[step->results].bytes);
    for (uint32_t operand = 1; operand < step->operand_count; operand++)
        add_operand(scratch, local, &again, operands[operand], INT64_MAX);
    scratch->again_root_count += again.count;
    return again;
}

/* result number `result` of a step that fuses */
static void weigh(struct price_scratch *scratch, const struct spmd_local *local, const struct spmd_step *step,
                  const struct op_info *info, uint32_t result)
{
    uint32_t value = step->results + result;
    const uint32_t *operands = local->operands + step->operands;
    struct recompute again = {.roots = (uint32_t)scratch->again_root_count};
    bool alias = info->class == OP_ALIAS, cuts = info->class == OP_CUT;
    uint32_t only = step->operand_count == 1 || alias ? operands[result] : SPMD_NONE;
    if (only != SPMD_NONE && !cuts && by_roots(scratch, &scratch->again[only], local->values[only].bytes)) {
        again = scratch->again[only]; /* the same roots, which nothing changes any more */
        again.gathered = false;
    } else if (info->class != OP_FREE) {
        GROW(scratch->again_roots, scratch->again_root_room, again.roots + RECOMPUTE_ROOTS);
        for (uint32_t operand = 0; operand < step->operand_count; operand++)
            if (!alias || operand == result)
                add_operand(scratch, local, &again, operands[operand],
                            cuts ? local->values[value].bytes : INT64_MAX);
        scratch->again_root_count += again.count;
    }
    if (info->effort && scratch->rules & COST_FUSE_EFFORT && !of_centred(scratch, local, step))
        again.effort +=
            (int64_t)(scratch->effort_scale * (double)(info->effort * value_elements(local, value)));
    scratch->again[value] = again;
}

static inline bool fuses(const struct op_info *info)
{
    return info->class >= OP_FREE && info->class <= OP_ELEMENTWISE;
}

/* loops that a pass over the steps is in; of deeper ones nothing is sunk */
enum { MOST_LOOPS = 16 };
struct nest {
    uint32_t depth, at[MOST_LOOPS];
};

/* loop_end of a loop's first step is its last, and the other way round */
static void match_loop(struct price_scratch *scratch, const struct spmd_step *entry, uint32_t step,
                       struct nest *nest)
{
    if (entry->kind == SPMD_LOOP) {
        scratch->loop_end[step] = SPMD_NONE;
        if (nest->depth < MOST_LOOPS)
            nest->at[nest->depth] = step;
        nest->depth++;
    } else if (entry->kind == SPMD_LOOP_END && nest->depth) {
        bool known = --nest->depth < MOST_LOOPS;
        scratch->loop_end[step] = known ? nest->at[nest->depth] : SPMD_NONE;
        if (known)
            scratch->loop_end[nest->at[nest->depth]] = step;
    }
}

void price_weigh(struct price_scratch *scratch, const struct spmd_local *local)
{
    struct nest nest = {.depth = 0};
    for (uint32_t argument = 0; argument < local->argument_count; argument++)
        stands_alone(scratch, local, argument);
    for (uint32_t i = 0; i < local->step_count; i++) {
        const struct spmd_step *step = &local->steps[i];
        const struct op_info *info = price_info_of(scratch, step);
        if (step->kind == SPMD_LOOP || step->kind == SPMD_LOOP_END)
            match_loop(scratch, step, i, &nest);
        if (info->congruent) {
            price_name_congruent(scratch, local, i);
            if (scratch->named[step->results] != step->results) {
                scratch->again[step->results] = scratch->again[scratch->named[step->results]];
                continue;
            }
        }
        for (uint32_t result = 0; result < step->result_count; result++)
            if (info->class == OP_GATHER && scratch->rules & COST_FUSE_GATHERED)
                scratch->again[step->results + result] = weigh_gather(scratch, local, step);
            else if (fuses(info) && !(info->scores && scratch->stores_softmax) &&
                     !price_is_barrier(scratch, step) &&
                     !(info->added && price_added_by(scratch, local, step) != SPMD_NONE))
                weigh(scratch, local, step, info, result);
            else
                stands_alone(scratch, local, step->results + result);
    }
}

/* ---------------------------------------------------------------- backward: which kernels use it */
static void set_add(struct kernel_set *set, uint32_t kernel)
{
    for (uint32_t i = 0; i < set->count && i < KERNELS_KNOWN; i++)
        if (set->at[i] == kernel)
            return;
    if (set->count < KERNELS_KNOWN)
        set->at[set->count] = kernel;
    if (set->count <= KERNELS_KNOWN)
        set->count++;
}

static void make_several(struct price_scratch *scratch, struct value_use *use, struct kernel_set set)
{
    GROW(scratch->sets, scratch->set_room, scratch->set_count + 1);
    use->kernel = KERNEL_SEVERAL;
    use->set = (uint32_t)scratch->set_count++;
    scratch->sets[use->set] = set;
}

static inline void add_kernel(struct price_scratch *scratch, struct value_use *use, uint32_t kernel)
{
    if (use->kernel == 0)
        use->kernel = kernel;
    else if (use->kernel == KERNEL_SEVERAL)
        set_add(&scratch->sets[use->set], kernel);
    else if (use->kernel != kernel)
        make_several(scratch, use, (struct kernel_set){.at = {use->kernel, kernel}, .count = 2});
}

/* all kernels that the uses of a result end in use the operand, too */
static void add_kernels(struct price_scratch *scratch, struct value_use *use, const struct value_use *result)
{
    if (result->kernel != KERNEL_SEVERAL) {
        if (result->kernel)
            add_kernel(scratch, use, result->kernel);
        return;
    }
    struct kernel_set more = scratch->sets[result->set];
    if (use->kernel == 0) {
        make_several(scratch, use, more);
        return;
    }
    for (uint32_t i = 0; i < more.count && i < KERNELS_KNOWN; i++)
        add_kernel(scratch, use, more.at[i]);
    if (more.count > KERNELS_KNOWN)
        scratch->sets[use->set].count = KERNELS_KNOWN + 1;
}

/* what is wanted of a value whose reshape is wanted so: its dimensions need not be those of the matrices */
static inline uint8_t reshaped(uint8_t hard)
{
    return hard & HARD_STACKED ? (uint8_t)((hard & ~HARD_STACKED) | HARD_MATMUL) : hard;
}

/* is all that reads a product's result one other product, without batches? */
static bool ends_in_product(const struct price_scratch *scratch, const struct spmd_local *local,
                            const struct value_use *result)
{
    if (!result->kernel || result->kernel == KERNEL_SEVERAL)
        return false;
    const struct op_info *info = price_info_of(scratch, &local->steps[result->kernel - 1]);
    return info->class == OP_MATMUL && !info->batch_dims;
}

/* how a product reads its operands, by its batches on a device and by who reads its result */
static uint8_t read_in_batches(const struct price_scratch *scratch, const struct spmd_local *local,
                               const struct spmd_step *product, uint8_t batch_dims)
{
    int64_t dims[IR_MAX_RANK], batches = 1;
    const struct spmd_value *result = &local->values[product->results];
    if (!batch_dims)
        return 0;
    spmd_local_dims(local->nda, local->mesh, result->origin, &result->form, dims);
    for (uint8_t dim = 0; dim < batch_dims; dim++)
        batches *= dims[dim];
    return (uint8_t)(READ_BATCHED | (batches <= FEW_BATCHES ? READ_FEW : 0) |
                     (ends_in_product(scratch, local, &scratch->uses[product->results]) ? READ_ENDS : 0));
}

enum { ADDED_HOPS = 4 };
/* is the value in memory anyway, or a sum with something that is? */
static bool is_stored_sum(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t value,
                          int hops)
{
    uint32_t by = local->values[value].step;
    const struct spmd_step *step = by == SPMD_NONE ? NULL : &local->steps[by];
    if (!step || !fuses(price_info_of(scratch, step)))
        return true;
    bool sum = step->kind == SPMD_OP && local->nda->program->ops[step->op].code == IR_ADD;
    for (uint32_t operand = 0; sum && hops && operand < step->operand_count; operand++)
        if (is_stored_sum(scratch, local, local->operands[step->operands + operand], hops - 1))
            return true;
    return false;
}

/* Is the only thing that reads a scatter's result a sum with what is in memory anyway? XLA scatters into that
 * (algebraic simplifier; final HLO of tied embeddings). */
static bool is_added(const struct price_scratch *scratch, const struct spmd_local *local,
                     const struct spmd_step *scatter)
{
    const struct spmd_step *user = &local->steps[scratch->uses[scatter->results].user];
    if (scratch->uses[scatter->results].uses != 1 || user->kind != SPMD_OP ||
        local->nda->program->ops[user->op].code != IR_ADD)
        return false;
    const uint32_t *operands = local->operands + user->operands;
    return is_stored_sum(scratch, local, operands[operands[0] == scatter->results], ADDED_HOPS);
}

/* Does the scatter make the zeros that it adds to? libtpu scatters what is added to something into that; many
 * rows are sorted first, and each of the result's is written once. Few are added to zeros that a kernel of
 * their own has written. */
enum { MANY_ROWS = 16 }; /* .. of so many of the result, or more */
static bool makes_zeros(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct spmd_step *scatter, const struct op_info *info)
{
    if (!(scratch->rules & (COST_FUSE_ZEROS | COST_FUSE_ADDED)) || info->class != OP_UPDATE ||
        info->update != 2)
        return false;
    const uint32_t *operands = local->operands + scatter->operands;
    uint32_t into = local->values[operands[0]].step;
    if (into == SPMD_NONE || local->steps[into].kind != SPMD_OP ||
        ir_opcode_family((enum ir_opcode)local->nda->program->ops[local->steps[into].op].code) !=
            IR_FAMILY_BROADCAST)
        return false;
    if (scratch->rules & COST_FUSE_ADDED)
        return price_written_into(scratch, local, scatter) != operands[0] ||
               is_added(scratch, local, scatter);
    const struct value_use *result = &scratch->uses[scatter->results];
    bool added =
        result->uses == 1 && price_info_of(scratch, &local->steps[result->user])->class == OP_ELEMENTWISE;
    return added || local->values[operands[2]].bytes * MANY_ROWS > local->values[scatter->results].bytes;
}

/* What a convolution reads as a part of a concatenation, or with strides where there is no bf16 arithmetic
 * (v5p, not v6e), libtpu does not compute in the convolution: it is stored beside what it was computed
 * from. */
static uint8_t read_in_windows(const struct price_scratch *scratch, const struct spmd_step *step,
                               const struct value_use *result, enum step_fate fate, uint32_t operand)
{
    const struct op_info *info = step->kind == SPMD_OP ? &scratch->program->ops[step->op] : NULL;
    if (!(scratch->rules & COST_FUSE_PRODUCTS) || !info)
        return 0;
    if (fate == FATE_FUSED && info->joins)
        return result->windows & WINDOW_ANY ? WINDOW_ANY | WINDOW_APART : 0;
    uint8_t own = scratch->stores_softmax ? info->windows : info->windows & WINDOW_ANY;
    return fate == FATE_ALIAS ? result->windows : operand == 0 ? own : 0;
}

/* a constant, broadcast */
enum { SPLAT_HOPS = 4 };
static bool is_splat(const struct spmd_local *local, uint32_t value)
{
    const struct ir_program *program = local->nda->program;
    for (int hop = 0; hop < SPLAT_HOPS; hop++) {
        uint32_t made = local->values[value].step;
        const struct spmd_step *step = made == SPMD_NONE ? NULL : &local->steps[made];
        if (!step || step->kind != SPMD_OP)
            return false;
        enum ir_opcode code = (enum ir_opcode)program->ops[step->op].code;
        enum ir_family family = ir_opcode_family(code);
        if (family == IR_FAMILY_CONSTANT)
            return true;
        if (family != IR_FAMILY_BROADCAST && family != IR_FAMILY_RESHAPE && code != IR_CONVERT)
            return false;
        value = local->operands[step->operands];
    }
    return false;
}

bool price_is_sunk(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t loop,
                   uint32_t carried)
{
    if (!(scratch->rules & COST_FUSE_BYTES) || loop == SPMD_NONE || scratch->loop_end[loop] == SPMD_NONE)
        return false;
    if (!(scratch->rules & COST_FUSE_PRODUCTS) &&
        !is_splat(local, local->operands[local->steps[loop].operands + carried]))
        return false;
    const struct spmd_step *entry = &local->steps[loop], *end = &local->steps[scratch->loop_end[loop]];
    const struct recompute *again = &scratch->again[local->operands[entry->operands + carried]];
    return again->count == 0 && again->total == 0 && carried < end->operand_count &&
           local->operands[end->operands + carried] == entry->results + entry->operand_count + carried;
}

/* of a loop or its end: what goes on as this operand, where it is sunk; else NULL */
static const struct value_use *sunk_as(const struct price_scratch *scratch, const struct spmd_local *local,
                                       uint32_t step, uint32_t operand)
{
    const struct spmd_step *entry = &local->steps[step];
    bool opens = entry->kind == SPMD_LOOP;
    if (!price_is_sunk(scratch, local, opens ? step : scratch->loop_end[step], operand))
        return NULL;
    return &scratch->uses[entry->results + (opens ? entry->operand_count : 0) + operand];
}

/* what reads a name of a value reads the value */
static void note_name(struct price_scratch *scratch, uint32_t step, uint32_t name, uint32_t value)
{
    struct value_use *use = &scratch->uses[value];
    const struct value_use *result = &scratch->uses[name];
    use->uses++;
    use->user = step;
    use->hard |= result->hard;
    use->kept |= result->kept;
    use->feeds_matmul |= result->feeds_matmul;
    use->batched |= result->batched;
    use->across |= result->across;
    use->windows |= result->windows;
    use->transposed |= result->transposed;
    add_kernels(scratch, use, result);
}

/* a sum that is another name of a scatter's result: the scatter writes into the other operand */
static void note_added(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step)
{
    const struct spmd_step *sum = &local->steps[step];
    uint32_t scatter = price_added_by(scratch, local, sum);
    for (uint32_t operand = 0; operand < 2; operand++) {
        uint32_t value = local->operands[sum->operands + operand];
        struct value_use *use = &scratch->uses[value];
        if (value == local->steps[scatter].results) {
            note_name(scratch, step, sum->results, value);
            continue;
        }
        use->uses++;
        use->user = step;
        use->across |= READ_ALONG;
        use->hard |= HARD_MATMUL; /* in any order of its dimensions */
        add_kernel(scratch, use, scatter + 1);
    }
}

void price_note_uses(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step,
                     enum step_fate fate)
{
    if (fate == FATE_NAMED) {
        uint32_t name = local->steps[step].results;
        note_name(scratch, step, name, scratch->named[name]);
        return;
    }
    if (fate == FATE_ADDED) {
        note_added(scratch, local, step);
        return;
    }
    const struct spmd_step *entry = &local->steps[step];
    const struct op_info *info = price_info_of(scratch, entry);
    const struct value_use *results = &scratch->uses[entry->results];
    uint8_t batched = info->class == OP_MATMUL && scratch->rules & COST_FUSE_BATCHES
                          ? read_in_batches(scratch, local, entry, info->batch_dims)
                          : 0;
    uint32_t made = makes_zeros(scratch, local, entry, info) ? 0 : NDA_NONE; /* the operand that it makes */
    uint8_t held = price_is_barrier(scratch, entry) ? HARD_OTHER : 0;
    bool loops = entry->kind == SPMD_LOOP || entry->kind == SPMD_LOOP_END;
    /* of the fusions that make both shapes of a value each reads what it is computed of in its own */
    uint8_t along =
        info->class == OP_ELEMENTWISE && results->across & READ_ACROSS ? results->across : READ_ALONG;
    for (uint32_t operand = 0; operand < entry->operand_count; operand++) {
        struct value_use *use = &scratch->uses[local->operands[entry->operands + operand]];
        const struct value_use *result = fate == FATE_ALIAS ? &results[operand] : results,
                               *sunk = loops ? sunk_as(scratch, local, step, operand) : NULL;
        use->uses += !sunk;
        use->user = step;
        use->transposed |= info->class == OP_TRANSPOSE;
        use->across |= info->class == OP_TRANSPOSE ? READ_ACROSS
                       : fate == FATE_FUSED        ? result->across
                                                   : along;
        use->batched |= fate == FATE_ALIAS ? result->batched : batched;
        use->windows |= read_in_windows(scratch, entry, result, fate, operand);
        use->hard |= operand == made               ? 0
                     : held                        ? held
                     : sunk                        ? sunk->hard
                     : fate != FATE_ALIAS          ? price_wants_buffer(scratch, info, operand)
                     : info->class == OP_TRANSPOSE ? result->hard
                                                   : reshaped(result->hard);
        if (sunk || fate == FATE_ALIAS || fate == FATE_FUSED)
            add_kernels(scratch, use, sunk ? sunk : result);
        else
            add_kernel(scratch, use, step + 1);
    }
}

/* of several rows in one kernel the first counts: their sum would leave int64_t */
static void add_work(int64_t *at, int64_t work)
{
    if (*at >= 0 || work >= 0)
        *at += work;
}

void price_add_work(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step,
                    enum step_fate fate)
{
    const struct spmd_step *entry = &local->steps[step];
    const struct op_info *info = price_info_of(scratch, entry);
    bool rows = info->class == OP_REDUCE && fate == FATE_FUSED;
    if ((!info->work && !rows) || !entry->result_count || fate == FATE_ALIAS || fate == FATE_NAMED ||
        fate == FATE_ADDED)
        return;
    const struct value_use *use = &scratch->uses[entry->results];
    int64_t work = rows ? PRICE_ROWS_WORK : info->work * value_elements(local, entry->results) / 8;
    if (fate == FATE_KERNEL)
        add_work(&scratch->work[step], work);
    else if (use->kernel != KERNEL_SEVERAL)
        add_work(&scratch->work[use->kernel - 1], work);
    else
        for (uint32_t i = 0; i < scratch->sets[use->set].count && i < KERNELS_KNOWN; i++)
            add_work(&scratch->work[scratch->sets[use->set].at[i] - 1], work);
}

static inline uint32_t kernels_of(const struct price_scratch *scratch, uint32_t value)
{
    const struct value_use *use = &scratch->uses[value];
    return use->kernel == KERNEL_SEVERAL ? scratch->sets[use->set].count : use->kernel != 0;
}

/* ---------------------------------------------------------------- the decision */
bool price_widens(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t value)
{
    if (!scratch->wide_bf16 || scratch->uses[value].hard || local->values[value].step == SPMD_NONE)
        return false;
    const struct spmd_step *step = &local->steps[local->values[value].step];
    const struct ir_type *type = ir_value_type(local->nda->program, local->values[value].origin);
    return type->element == IR_BF16 && step->kind == SPMD_OP &&
           (step_info(scratch, step)->class == OP_ELEMENTWISE || step_info(scratch, step)->class == OP_CHEAP);
}

enum { LAUNCH_BYTES = 3 << 20 }; /* what a device moves while a kernel is launched */

/* libtpu stores it, though products read it, and beside the arrays, not over one of them */
bool price_is_of_rows(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t value)
{
    if (!(scratch->rules & COST_FUSE_PRODUCTS))
        return false;
    const struct recompute *again = &scratch->again[value];
    int64_t bytes = local->values[value].bytes;
    uint32_t large = 0;
    for (uint32_t i = 0; again->count != RECOMPUTE_ITSELF && i < again->count; i++)
        large += scratch->again_roots[again->roots + i].bytes >= bytes;
    return large == 2 && again->total > large * bytes;
}

static bool rather_repeated(const struct price_scratch *scratch, const struct spmd_local *local,
                            uint32_t value)
{
    const struct recompute *again = &scratch->again[value];
    int64_t users = kernels_of(scratch, value),
            bytes = local->values[value].bytes << price_widens(scratch, local, value);
    /* roots no larger than it (statistics of its rows apart): no kernel reads more */
    if (scratch->rules & COST_FUSE_PRODUCTS && again->total <= bytes + statistics(scratch, bytes))
        return true;
    if (price_is_of_rows(scratch, local, value))
        return false;
    if (users > KERNELS_KNOWN) /* how many is not known */
        return again->total * 2 <= bytes;
    int64_t repeated = users * again->total, stored = again->total + (users + 1) * bytes;
    if (scratch->rules & COST_FUSE_EFFORT)
        repeated += (users - 1) * again->effort;
    if (scratch->rules & COST_FUSE_LAUNCH)
        stored += LAUNCH_BYTES;
    return scratch->rules & COST_FUSE_PRODUCTS ? repeated < stored : repeated <= stored;
}

enum { ROW_HOPS = 8 }; /* ops between a reduction and what its row is broadcast into: more is no softmax */

/* reduce --> cheap ops --> broadcast --> one elementwise op as large as what was reduced: a block of threads
 * keeps the row, reads it once and uses it twice */
static bool row_stays(const struct price_scratch *scratch, const struct spmd_local *local,
                      const struct spmd_step *step)
{
    uint32_t value = step->results, from = local->operands[step->operands];
    for (int hop = 0; hop < ROW_HOPS; hop++) {
        if (scratch->uses[value].uses != 1 || scratch->uses[value].hard)
            return false;
        const struct spmd_step *user = &local->steps[scratch->uses[value].user];
        if (user->kind != SPMD_OP || user->result_count != 1)
            return false;
        const struct op_info *info = step_info(scratch, user);
        if (info->class != OP_ELEMENTWISE && info->class != OP_CHEAP && info->class != OP_ALIAS)
            return false;
        value = user->results;
        if (info->class == OP_ELEMENTWISE && value_elements(local, value) >= value_elements(local, from))
            return scratch->uses[value].kernel != 0;
    }
    return false;
}

/* Rows of a block of threads take a power of two of them. Where that is more than five thirds of the row, XLA
 * does not think computing x - max(x) in every kernel that reads it worth while (blocks of several short rows
 * fill up). */
enum { ROW_FILLS = 256 };
static bool pads_badly(const struct price_scratch *scratch, const struct spmd_local *local,
                       const struct spmd_step *step)
{
    uint32_t value = local->operands[step->operands + 1];
    for (int hop = 0; hop < ROW_HOPS && local->values[value].step != SPMD_NONE; hop++) {
        const struct spmd_step *by = &local->steps[local->values[value].step];
        if (by->kind != SPMD_OP)
            return false;
        if (step_info(scratch, by)->class == OP_REDUCE) {
            int64_t rows = value_elements(local, value), padded = 1,
                    row = value_elements(local, step->results) / (rows ? rows : 1);
            while (padded < row)
                padded *= 2;
            return row > ROW_FILLS && padded * 3 > row * 5;
        }
        value = local->operands[by->operands + by->operand_count - 1];
    }
    return false;
}

/* The kernel that normalises rows is one of its own, which writes them and is never repeated. What multiplies
 * them by a gain runs in the product that reads it when the gain is an argument: only one of the two is
 * stored. A gain that was gathered is no product's operand: both are. */
static bool before_gathered_gain(const struct price_scratch *scratch, const struct spmd_local *local,
                                 uint32_t value)
{
    const struct spmd_step *user = &local->steps[scratch->uses[value].user]; /* the first one */
    if (user->kind != SPMD_OP || local->nda->program->ops[user->op].code != IR_MULTIPLY)
        return false;
    const uint32_t *operands = local->operands + user->operands;
    uint32_t gain = operands[operands[0] == value];
    for (int hop = 0; hop < ROW_HOPS && local->values[gain].step != SPMD_NONE; hop++) {
        const struct spmd_step *by = &local->steps[local->values[gain].step];
        if (by->kind == SPMD_ALL_GATHER)
            return local->values[by->results].bytes < local->values[value].bytes;
        if (by->kind != SPMD_OP || !by->operand_count || !fuses(step_info(scratch, by)))
            return false;
        gain = local->operands[by->operands + by->operand_count - 1];
    }
    return false;
}

/* libtpu does not repeat rows inside a product: keys that several heads share are stored once a head. What
 * has one row to repeat is a product with fewer dimensions. */
static bool repeats_for_product(const struct price_scratch *scratch, const struct spmd_local *local,
                                const struct spmd_step *step, uint8_t dim)
{
    int64_t dims[IR_MAX_RANK];
    const struct spmd_value *result = &local->values[step->results];
    spmd_local_dims(local->nda, local->mesh, result->origin, &result->form, dims);
    if (dims[dim] == 1 || dims[dim - 1] == 1)
        return false;
    uint32_t value = step->results;
    for (int hop = 0; hop < ROW_HOPS && scratch->uses[value].uses; hop++) {
        const struct spmd_step *user = &local->steps[scratch->uses[value].user];
        uint8_t class = price_info_of(scratch, user)->class;
        if (class == OP_MATMUL)
            return true;
        bool joins = user->kind == SPMD_OP && scratch->program->ops[user->op].joins;
        if ((class != OP_ALIAS && class != OP_TRANSPOSE && class != OP_CUT && !joins) ||
            user->result_count != 1)
            return false;
        value = user->results;
    }
    return false;
}

/* of the op that a value is the result of; NULL: of none */
static const struct op_info *made_by(const struct price_scratch *scratch, const struct spmd_local *local,
                                     uint32_t value)
{
    uint32_t by = local->values[value].step;
    return by != SPMD_NONE && local->steps[by].kind == SPMD_OP ? step_info(scratch, &local->steps[by]) : NULL;
}

/* libtpu stores what a product with batches reads where it is computed from a result of another such product
 * alone (activations of stacked experts). Without bf16 arithmetic (v5p, not v6e) it stores probabilities,
 * too: where exponentials are stored in float32, where the batches are few, and where the gradient of what
 * they weigh goes nowhere but into a weight's gradient (attention to the program's input). */
static bool stored_for_batches(const struct price_scratch *scratch, const struct spmd_local *local,
                               uint32_t value)
{
    uint8_t batched = scratch->uses[value].batched;
    const struct recompute *again = &scratch->again[value];
    const struct root *roots = scratch->again_roots + again->roots, *large = NULL;
    for (uint32_t i = 0; batched && again->count != RECOMPUTE_ITSELF && i < again->count; i++) {
        if (roots[i].bytes < local->values[value].bytes)
            continue;
        if (large)
            return false;
        large = &roots[i];
    }
    const struct op_info *made = large ? made_by(scratch, local, large->value) : NULL;
    if (!made || (made->scores && scratch->stores_softmax))
        return made;
    if (again->total > large->bytes)
        return scratch->stores_softmax &&
               (batched & READ_FEW || (batched & READ_ENDS && kernels_of(scratch, value) > 1));
    return made->batch_dims;
}

enum { EPILOGUE_HOPS = 8 };
static uint32_t product_behind(const struct price_scratch *scratch, const struct spmd_local *local,
                               const struct spmd_step *step, uint32_t product, int hops)
{
    for (uint32_t operand = 0; operand < step->operand_count; operand++) {
        uint32_t value = local->operands[step->operands + operand], by = local->values[value].step;
        if (by == SPMD_NONE || local->steps[by].kind != SPMD_OP || local->steps[by].op < product)
            continue;
        if (local->steps[by].op == product)
            return value;
        uint32_t found =
            hops ? product_behind(scratch, local, &local->steps[by], product, hops - 1) : NDA_NONE;
        if (found != NDA_NONE)
            return found;
    }
    return NDA_NONE;
}

uint32_t price_epilogue_of(const struct price_scratch *scratch, const struct spmd_local *local,
                           const struct spmd_step *step)
{
    if (!(scratch->rules & COST_FUSE_EPILOGUE) || step->kind != SPMD_OP || step->result_count != 1 ||
        step->depth || !step_info(scratch, step)->product)
        return NDA_NONE;
    uint32_t product =
        product_behind(scratch, local, step, step_info(scratch, step)->product - 1, EPILOGUE_HOPS);
    bool as_large = product != NDA_NONE && local->values[product].bytes == local->values[step->results].bytes;
    return as_large ? product : NDA_NONE;
}

/* computed from polynomials in several cases, which libtpu does once */
static bool is_polynomial(const struct spmd_local *local, const struct spmd_step *step)
{
    uint16_t code = step->kind == SPMD_OP ? local->nda->program->ops[step->op].code : IR_UNKNOWN;
    return code == IR_CHLO_ERF || code == IR_CHLO_ERFC || code == IR_SINE || code == IR_COSINE;
}

bool price_rather_fused(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct spmd_step *step, const struct op_info *info)
{
    if (info->class == OP_REDUCE)
        return info->short_row && scratch->rules & COST_FUSE_ROWS && row_stays(scratch, local, step);
    const struct value_use *use = &scratch->uses[step->results];
    if (!use->uses && scratch->rules & COST_FUSE_PRODUCTS && !scratch->again[step->results].total)
        return true; /* constants alone make it: a loop hands it on, and nothing in it reads it */
    if (use->hard || use->kernel == 0 || (info->scores && scratch->rules & COST_FUSE_SCORES) ||
        (info->centred && scratch->rules & COST_FUSE_PADDED && pads_badly(scratch, local, step)))
        return false;
    if (info->row_mask && scratch->rules & COST_FUSE_PRODUCTS)
        return true;
    if (use->windows & WINDOW_APART && info->class == OP_ELEMENTWISE &&
        !(step->kind == SPMD_OP && scratch->program->ops[step->op].joins))
        return false;
    if (info->repeats && scratch->rules & COST_FUSE_REPEATS &&
        repeats_for_product(scratch, local, step, info->repeats))
        return false;
    if (use->kernel == KERNEL_SEVERAL && stored_for_batches(scratch, local, step->results))
        return false;
    if (use->kernel == KERNEL_SEVERAL && info->normal && scratch->rules & COST_FUSE_NORMS &&
        before_gathered_gain(scratch, local, step->results))
        return false;
    if (use->kernel == KERNEL_SEVERAL && price_epilogue_of(scratch, local, step) != NDA_NONE)
        return false;
    if (use->kernel == KERNEL_SEVERAL && info->to_erfc && scratch->rules & COST_FUSE_EFFORT)
        return false; /* its arithmetic takes longer than its bytes; final HLO of exact GELUs behind a bias */
    if (use->kernel == KERNEL_SEVERAL && scratch->rules & COST_FUSE_POLYNOMIALS &&
        is_polynomial(local, step) && scratch->again[step->results].total)
        return false;
    return use->kernel != KERNEL_SEVERAL || rather_repeated(scratch, local, step->results);
}
