/* The proof of a module that is too large to be interpreted, at smaller sizes; see proof.h and shrunken.h. */
#include "planner/proof.h"

#include "emit/emit.h"
#include "planner/shrunken.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the smaller module may take: scalar operations of the original once, and of one form on all devices.
 * Each is run a handful of times; measured 2 to 5 * 10^8 a second. */
static const uint64_t MAX_OPERATIONS = 500000000u;
static const uint64_t MAX_DEVICE_OPERATIONS = 2000000000u;
/* elements that a dimension keeps on a device: tried from the first down */
enum { LARGEST_CAP = 64, SMALLEST_CAP = 2 };

struct attempt {
    const struct plan_context *context;
    const struct plan *plan;
    const struct spmd_local *local;
    struct nda_shrink shrink;
    int64_t *sizes; /* of classes */
    struct planner_shrunken smaller;
};

/* ---- what was cut ---- */
/* the group's label of a class: of the first of its atoms that a factor has */
static const char *class_name(const struct nda *n, uint32_t atom)
{
    uint32_t low = 0, high = n->program->value_count;
    while (low + 1 < high) { /* the value of the atom */
        uint32_t middle = low + (high - low) / 2;
        if (n->value_atoms[middle] <= atom)
            low = middle;
        else
            high = middle;
    }
    uint32_t slot = n->value_def_slot[low],
             color = slot == NDA_NONE ? NDA_NONE : nda_slot_color(n, slot, atom - n->value_atoms[low]);
    return color == NDA_NONE ? "" : n->groups[n->colors[color].group].label;
}

static void add_factor(struct planner_proof_shrunken *out, const char *name, int64_t from, int64_t to)
{
    for (uint32_t i = 0; i < out->factor_count; i++)
        if (out->factors[i].from == from && out->factors[i].to == to &&
            strcmp(out->factors[i].name, name) == 0)
            return;
    if (out->factor_count == PLANNER_PROOF_FACTORS)
        return;
    struct planner_proof_factor *factor = &out->factors[out->factor_count++];
    snprintf(factor->name, sizeof factor->name, "%.63s", name);
    factor->from = from;
    factor->to = to;
}

static void describe(const struct attempt *attempt, struct planner_proof_shrunken *out)
{
    for (uint32_t i = 0; i < attempt->shrink.class_count; i++) {
        const struct nda_shrink_class *class = &attempt->shrink.classes[i];
        if (attempt->sizes[i] != class->size)
            add_factor(out, class_name(attempt->shrink.nda, class->atom), class->size, attempt->sizes[i]);
    }
}

/* the largest dimension that stayed whole although it could not be interpreted so */
static void describe_whole(const struct attempt *attempt, char *reason, size_t size)
{
    const struct nda_shrink_class *largest = NULL;
    for (uint32_t i = 0; i < attempt->shrink.class_count; i++) {
        const struct nda_shrink_class *class = &attempt->shrink.classes[i];
        if (attempt->sizes[i] == class->size && (!largest || class->size > largest->size))
            largest = class;
    }
    if (largest)
        snprintf(reason, size, "too_large: the dimension of %lld elements (%.60s) cannot be made smaller",
                 (long long)largest->size, class_name(attempt->shrink.nda, largest->atom));
    else
        snprintf(reason, size, "too_large: also with its dimensions at their smallest");
}

/* ---- is it the same lowering? ---- */
static enum error_code same_lowering(const struct attempt *attempt, struct planner_proof_shrunken *out,
                                     struct error *e)
{
    struct ir_program large = {0}, small = {0};
    TRY(spmd_emit(attempt->context, attempt->plan, attempt->local, EMIT_MANUAL, &large, e));
    enum error_code code =
        spmd_emit(attempt->smaller.context, attempt->plan, &attempt->smaller.local, EMIT_MANUAL, &small, e);
    if (code == ERROR_OK) {
        out->ops = small.op_count;
        out->same = large.op_count == small.op_count && large.operand_count == small.operand_count &&
                    memcmp(large.operands, small.operands, sizeof *large.operands * large.operand_count) == 0;
        for (uint32_t op = 0; out->same && op < large.op_count; op++)
            out->same = large.ops[op].code == small.ops[op].code;
        for (uint32_t op = 0; op < small.op_count; op++)
            out->collectives += ir_opcode_family(small.ops[op].code) == IR_FAMILY_COLLECTIVE &&
                                small.ops[op].code != IR_PARTITION_ID && small.ops[op].code != IR_REPLICA_ID;
    }
    ir_program_release(&large);
    ir_program_release(&small);
    return code;
}

/* ---- sizes that fit ---- */
static bool small_enough(const struct attempt *attempt, uint64_t *operations)
{
    struct ir_program module = {0};
    uint32_t unknown = 0;
    uint64_t devices = (uint64_t)mesh_devices(plan_context_mesh(attempt->context));
    *operations = verify_operations(&attempt->smaller.program, &unknown);
    if (*operations > MAX_OPERATIONS ||
        spmd_emit(attempt->smaller.context, attempt->plan, &attempt->smaller.local, EMIT_LOCAL, &module,
                  NULL) != ERROR_OK)
        return false;
    uint64_t local = verify_operations(&module, &unknown);
    ir_program_release(&module);
    return local <= MAX_DEVICE_OPERATIONS / devices;
}

/* true: attempt->smaller is one that fits. *e: why the last could not be made, else empty */
static bool find_sizes(struct attempt *attempt, bool widen, uint64_t *operations, struct error *e)
{
    for (int64_t cap = LARGEST_CAP; cap >= SMALLEST_CAP; cap /= 2) {
        *e = (struct error){0};
        nda_shrink_sizes(&attempt->shrink, cap, attempt->sizes);
        if (planner_shrunken_create(&attempt->shrink, attempt->sizes, widen, attempt->context, attempt->local,
                                    &attempt->smaller, e) != ERROR_OK)
            continue;
        if (small_enough(attempt, operations))
            return true;
        planner_shrunken_release(&attempt->smaller);
    }
    return false;
}

static enum error_code prove_smaller(struct attempt *attempt, uint64_t seed,
                                     const struct verify_options *options, struct planner_proof *out,
                                     struct error *e)
{
    struct error inner = {0};
    struct planner_proof_shrunken shrunken = {0};
    uint64_t operations = out->operations;
    out->reason[0] = 0;
    /* bits of narrow floats that are taken for integers cannot be widened */
    shrunken.widened = find_sizes(attempt, true, &shrunken.operations, &inner);
    if (!shrunken.widened && !find_sizes(attempt, false, &shrunken.operations, &inner)) {
        if (inner.message[0])
            snprintf(out->reason, sizeof out->reason, "too_large: %.380s", inner.message);
        else
            describe_whole(attempt, out->reason, sizeof out->reason);
        return ERROR_OK;
    }
    describe(attempt, &shrunken);
    TRY(same_lowering(attempt, &shrunken, e));
    if (!shrunken.same) {
        snprintf(out->reason, sizeof out->reason, "too_large: at smaller sizes the lowering has other ops");
        return ERROR_OK;
    }
    TRY(planner_proof_run(&attempt->smaller.program, attempt->smaller.context, attempt->plan,
                          &attempt->smaller.local, seed, options, out, e));
    out->operations = operations;
    out->shrunken = shrunken;
    return ERROR_OK;
}

enum error_code planner_proof_any_size(const struct ir_program *prepared, const struct plan_context *context,
                                       const struct plan *plan, const struct spmd_local *local, uint64_t seed,
                                       const struct verify_options *options, struct planner_proof *out,
                                       struct error *e)
{
    TRY(planner_proof_run(prepared, context, plan, local, seed, options, out, e));
    if (!out->too_large || (options && options->given))
        return ERROR_OK;
    struct attempt attempt = {.context = context, .plan = plan, .local = local};
    int64_t *shards = planner_shrink_shards(local);
    nda_shrink_create(plan_context_nda(context), shards, &attempt.shrink);
    attempt.sizes = mem_zalloc((size_t)attempt.shrink.class_count + 1, sizeof *attempt.sizes);
    enum error_code code = prove_smaller(&attempt, seed, options, out, e);
    planner_shrunken_release(&attempt.smaller);
    nda_shrink_release(&attempt.shrink);
    free(attempt.sizes);
    free(shards);
    return code;
}

void planner_proof_sizes_text(const struct planner_proof *proof, struct text *out)
{
    const struct planner_proof_shrunken *shrunken = &proof->shrunken;
    for (uint32_t i = 0; i < shrunken->factor_count; i++)
        text_printf(out, "%s%s %lld -> %lld", i ? ", " : "at smaller sizes: ", shrunken->factors[i].name,
                    (long long)shrunken->factors[i].from, (long long)shrunken->factors[i].to);
}
