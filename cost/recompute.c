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
#include "cost/internal.h"

/* ---------------------------------------------------------------- forward: what computing it anew reads */
static void add_root(struct recompute *again, uint32_t value, int64_t bytes)
{
    for (uint32_t i = 0; i < again->count; i++)
        if (again->roots[i].value == value) {
            if (bytes > again->roots[i].bytes) {
                again->total += bytes - again->roots[i].bytes;
                again->roots[i].bytes = bytes;
            }
            return;
        }
    again->total += bytes;
    if (again->count < RECOMPUTE_ROOTS)
        again->roots[again->count++] = (struct root){value, bytes};
}

static inline int64_t at_most(int64_t bytes, int64_t cut)
{
    return bytes < cut ? bytes : cut;
}

/* what an operand adds: its roots if reading and computing from them takes no more than reading it */
static void add_operand(const struct price_scratch *scratch, const struct spmd_local *local,
                        struct recompute *out, uint32_t operand, int64_t cut)
{
    const struct recompute *again = &scratch->again[operand];
    int64_t bytes = local->values[operand].bytes;
    if (again->total + again->effort > bytes) {
        add_root(out, operand, at_most(bytes, cut));
        return;
    }
    for (uint32_t i = 0; i < again->count; i++)
        add_root(out, again->roots[i].value, at_most(again->roots[i].bytes, cut));
    out->effort = out->effort > again->effort ? out->effort : again->effort;
}

static inline void stands_alone(struct price_scratch *scratch, const struct spmd_local *local, uint32_t value)
{
    int64_t bytes = local->values[value].bytes;
    struct recompute *again = &scratch->again[value];
    again->roots[0] = (struct root){value, bytes};
    again->total = bytes;
    again->effort = 0;
    again->count = 1;
}

/* result number `result` of a step that fuses */
static void weigh(struct price_scratch *scratch, const struct spmd_local *local, const struct spmd_step *step,
                  const struct op_info *info, uint32_t result)
{
    uint32_t value = step->results + result;
    const uint32_t *operands = local->operands + step->operands;
    struct recompute *again = &scratch->again[value];
    again->total = again->effort = 0;
    again->count = 0;
    if (info->class == OP_FREE)
        return;
    if (info->class == OP_ALIAS) {
        add_operand(scratch, local, again, operands[result], INT64_MAX);
        return;
    }
    int64_t cut = info->class == OP_CUT ? local->values[value].bytes : INT64_MAX;
    for (uint32_t operand = 0; operand < step->operand_count; operand++)
        add_operand(scratch, local, again, operands[operand], cut);
    if (info->effort)
        again->effort +=
            (int64_t)(scratch->effort_scale * (double)(info->effort * value_elements(local, value)));
}

static inline bool fuses(const struct op_info *info)
{
    return info->class >= OP_FREE && info->class <= OP_ELEMENTWISE;
}

void price_weigh(struct price_scratch *scratch, const struct spmd_local *local)
{
    for (uint32_t argument = 0; argument < local->argument_count; argument++)
        stands_alone(scratch, local, argument);
    for (uint32_t i = 0; i < local->step_count; i++) {
        const struct spmd_step *step = &local->steps[i];
        const struct op_info *info = price_info_of(scratch, step);
        for (uint32_t result = 0; result < step->result_count; result++)
            if (fuses(info))
                weigh(scratch, local, step, info, result);
            else
                stands_alone(scratch, local, step->results + result);
    }
}

/* ---------------------------------------------------------------- backward: which kernels use it */
static inline void add_kernel(struct kernel_set *set, uint32_t kernel)
{
    for (uint32_t i = 0; i < set->count && i < KERNELS_KNOWN; i++)
        if (set->at[i] == kernel)
            return;
    if (set->count < KERNELS_KNOWN)
        set->at[set->count] = kernel;
    if (set->count <= KERNELS_KNOWN)
        set->count++;
}

static inline void add_kernels(struct kernel_set *set, const struct kernel_set *more)
{
    for (uint32_t i = 0; i < more->count && i < KERNELS_KNOWN; i++)
        add_kernel(set, more->at[i]);
    if (more->count > KERNELS_KNOWN)
        set->count = KERNELS_KNOWN + 1;
}

void price_note_uses(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step,
                     enum step_fate fate)
{
    const struct spmd_step *entry = &local->steps[step];
    bool transposes = price_info_of(scratch, entry)->class == OP_TRANSPOSE;
    for (uint32_t operand = 0; operand < entry->operand_count; operand++) {
        struct kernel_set *set = &scratch->sets[local->operands[entry->operands + operand]];
        set->user = step;
        set->transposed |= transposes;
        if (fate == FATE_ALIAS)
            add_kernels(set, &scratch->sets[entry->results + operand]);
        else if (fate == FATE_FUSED)
            add_kernels(set, &scratch->sets[entry->results]);
        else
            add_kernel(set, step + 1);
    }
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

static bool rather_repeated(const struct price_scratch *scratch, const struct spmd_local *local,
                            uint32_t value)
{
    const struct recompute *again = &scratch->again[value];
    int64_t users = scratch->sets[value].count,
            bytes = local->values[value].bytes << price_widens(scratch, local, value);
    if (users > KERNELS_KNOWN) /* how many is not known */
        return again->total * 2 <= bytes;
    int64_t repeated = users * again->total, stored = again->total + (users + 1) * bytes;
    if (scratch->rules & COST_FUSE_EFFORT)
        repeated += (users - 1) * again->effort;
    if (scratch->rules & COST_FUSE_LAUNCH)
        stored += LAUNCH_BYTES;
    return repeated <= stored;
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
        const struct spmd_step *user = &local->steps[scratch->sets[value].user];
        if (user->kind != SPMD_OP || user->result_count != 1)
            return false;
        const struct op_info *info = step_info(scratch, user);
        if (info->class != OP_ELEMENTWISE && info->class != OP_CHEAP && info->class != OP_ALIAS)
            return false;
        value = user->results;
        if (info->class == OP_ELEMENTWISE && local->values[value].bytes >= local->values[from].bytes)
            return scratch->sets[value].count > 0;
    }
    return false;
}

bool price_rather_fused(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct spmd_step *step, const struct op_info *info)
{
    if (info->class == OP_REDUCE)
        return info->short_row && scratch->rules & COST_FUSE_ROWS && row_stays(scratch, local, step);
    uint32_t users = scratch->sets[step->results].count;
    if (scratch->uses[step->results].hard || users == 0)
        return false;
    return users == 1 || rather_repeated(scratch, local, step->results);
}
