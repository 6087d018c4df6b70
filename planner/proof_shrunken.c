/* The proof of a module that is too large to be interpreted, at smaller sizes; see proof.h and shrunken.h. */
#include "planner/proof.h"

#include "emit/emit.h"
#include "planner/shrunken.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What the smaller module may take: scalar operations of the original once, and of one form on all devices.
 * Each is run a handful of times; measured 2 to 5 * 10^8 a second. The second is for what does not come under
 * the first at its smallest. */
static const struct budget {
    uint64_t operations, device_operations;
} BUDGETS[] = {{500000000u, 2000000000u}, {2000000000u, 8000000000u}};
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

/* the smaller program is the larger one op for op */
static void add_loops(const struct nda *large, const struct nda *small, struct planner_proof_shrunken *out)
{
    for (uint32_t op = 0; op < large->program->op_count && out->loop_count < PLANNER_PROOF_LOOPS; op++)
        if (large->program->ops[op].code == IR_WHILE && large->trip_count[op] != small->trip_count[op])
            out->loops[out->loop_count++] = (struct planner_proof_loop){
                large->program->ops[op].line, large->trip_count[op], small->trip_count[op]};
}

static void describe(const struct attempt *attempt, struct planner_proof_shrunken *out)
{
    out->instead = true;
    add_loops(attempt->shrink.nda, attempt->smaller.nda, out);
    for (uint32_t i = 0; i < attempt->shrink.class_count; i++) {
        const struct nda_shrink_class *class = &attempt->shrink.classes[i];
        if (attempt->sizes[i] != class->size)
            add_factor(out, class_name(attempt->shrink.nda, class->atom), class->size, attempt->sizes[i]);
    }
}

/* ---- what stands in the way ---- */
struct op_name {
    char text[160];
};

/* "stablehlo.reshape at line 12 (model.py:34)" */
static struct op_name name_op(const struct ir_program *program, uint32_t op)
{
    struct op_name out;
    const struct ir_op *ir_op = &program->ops[op];
    int length =
        snprintf(out.text, sizeof out.text, "%.60s at line %u", ir_op_name(program, op), ir_op->line);
    const char *place = ir_op->location == IR_NONE ? NULL : ir_string(program, ir_op->location);
    const char *file = place ? strrchr(place, '/') : NULL;
    if (place)
        snprintf(out.text + length, sizeof out.text - (size_t)length, " (%.60s)", file ? file + 1 : place);
    return out;
}

/* the op that takes most at the sizes that were tried; those of the smaller program and of the larger have
 * one number */
static uint32_t costliest(const struct ir_program *program, uint64_t *operations)
{
    uint32_t most = 0;
    *operations = 0;
    for (uint32_t op = 0; op < program->op_count; op++) {
        uint64_t count = program->ops[op].region_count ? 0 : verify_op_operations(program, op);
        if (count > *operations) {
            *operations = count;
            most = op;
        }
    }
    return most;
}

/* the largest class of the op's operands and results that stayed as it was; NDA_NONE: all became smaller */
static uint32_t largest_whole(const struct attempt *attempt, uint32_t op)
{
    const struct nda *n = attempt->shrink.nda;
    uint32_t best = NDA_NONE, values = n->program->ops[op].operand_count;
    for (uint32_t i = 0; i < values + n->program->ops[op].result_count; i++) {
        uint32_t value = i < values ? ir_operand(n->program, op, i) : ir_result(n->program, op, i - values);
        for (uint32_t at = n->value_atoms[value]; at < n->value_atoms[value + 1]; at++) {
            uint32_t class = attempt->shrink.class_of[at];
            const struct nda_shrink_class *classes = attempt->shrink.classes;
            if (attempt->sizes[class] == classes[class].size &&
                (best == NDA_NONE || classes[class].size > classes[best].size))
                best = class;
        }
    }
    return best;
}

static void describe_class(const struct attempt *attempt, uint32_t class, char *reason, size_t size)
{
    const struct nda_shrink *shrink = &attempt->shrink;
    const struct nda_shrink_class *found = &shrink->classes[class];
    uint32_t keeper = shrink->kept_by[found->group];
    const char *name = class_name(shrink->nda, found->atom);
    int length = snprintf(reason, size, "; its dimension of %lld elements (%.60s) cannot be made smaller",
                          (long long)found->size, name);
    for (uint32_t i = 0; keeper == NDA_NONE && i < shrink->product_count; i++)
        for (uint32_t k = 0; k < shrink->products[i].left + shrink->products[i].right; k++)
            if (shrink->members[shrink->products[i].first + k] == found->group)
                keeper = shrink->products[i].op;
    if (keeper != NDA_NONE)
        snprintf(reason + length, size - (size_t)length, ": %s keeps it",
                 name_op(shrink->nda->program, keeper).text);
    else
        snprintf(reason + length, size - (size_t)length,
                 ": what it is added to, cut from or split over has no"
                 " divisor in common with it");
}

/* The op that takes most at the sizes that were tried last, the smallest, and what keeps its largest
 * dimension. */
static void describe_whole(struct attempt *attempt, char *reason, size_t size)
{
    uint64_t operations = 0;
    struct error e = {0};
    if (planner_shrunken_create(&attempt->shrink, attempt->sizes, false, attempt->context, attempt->local,
                                &attempt->smaller, &e) != ERROR_OK)
        return;
    uint32_t op = costliest(&attempt->smaller.program, &operations), class = largest_whole(attempt, op);
    int length = snprintf(reason, size, "too_large: also at its smallest sizes %s takes %.1e operations",
                          name_op(attempt->shrink.nda->program, op).text, (double)operations);
    if (class != NDA_NONE)
        describe_class(attempt, class, reason + length, size - (size_t)length);
    planner_shrunken_release(&attempt->smaller);
}

/* ---- is it the same lowering? ---- */
/* *other: the line of the first op that is another; IR_NONE where only operands are */
static enum error_code same_lowering(const struct attempt *attempt, struct planner_proof_shrunken *out,
                                     uint32_t *other, struct error *e)
{
    struct ir_program large = {0}, small = {0};
    TRY(spmd_emit(attempt->context, attempt->plan, attempt->local, EMIT_MANUAL, &large, e));
    enum error_code code =
        spmd_emit(attempt->smaller.context, attempt->plan, &attempt->smaller.local, EMIT_MANUAL, &small, e);
    if (code == ERROR_OK) {
        out->ops = small.op_count;
        out->same = large.op_count == small.op_count && large.operand_count == small.operand_count &&
                    memcmp(large.operands, small.operands, sizeof *large.operands * large.operand_count) == 0;
        for (uint32_t op = 0; op < large.op_count && op < small.op_count && *other == IR_NONE; op++)
            if (large.ops[op].code != small.ops[op].code) {
                *other = large.ops[op].line;
                out->same = false;
            }
        for (uint32_t op = 0; op < small.op_count; op++)
            out->collectives += ir_opcode_family(small.ops[op].code) == IR_FAMILY_COLLECTIVE &&
                                small.ops[op].code != IR_PARTITION_ID && small.ops[op].code != IR_REPLICA_ID;
    }
    ir_program_release(&large);
    ir_program_release(&small);
    return code;
}

/* ---- sizes that fit ---- */
static bool small_enough(const struct attempt *attempt, const struct budget *budget, uint64_t *operations)
{
    struct ir_program module = {0};
    uint32_t unknown = 0;
    uint64_t devices = (uint64_t)mesh_devices(plan_context_mesh(attempt->context));
    *operations = verify_operations(&attempt->smaller.program, &unknown);
    if (*operations > budget->operations ||
        spmd_emit(attempt->smaller.context, attempt->plan, &attempt->smaller.local, EMIT_LOCAL, &module,
                  NULL) != ERROR_OK)
        return false;
    uint64_t local = verify_operations(&module, &unknown);
    ir_program_release(&module);
    return local <= budget->device_operations / devices;
}

/* true: attempt->smaller is one that fits. *e: why the last could not be made, else empty */
static bool try_sizes(struct attempt *attempt, int64_t cap, const struct budget *budget, bool widen,
                      uint64_t *operations, struct error *e)
{
    *e = (struct error){0};
    nda_shrink_sizes(&attempt->shrink, cap, attempt->sizes);
    if (planner_shrunken_create(&attempt->shrink, attempt->sizes, widen, attempt->context, attempt->local,
                                &attempt->smaller, e) != ERROR_OK)
        return false;
    if (small_enough(attempt, budget, operations))
        return true;
    planner_shrunken_release(&attempt->smaller);
    return false;
}

static bool find_sizes(struct attempt *attempt, bool widen, uint64_t *operations, struct error *e)
{
    for (int64_t cap = LARGEST_CAP; cap >= SMALLEST_CAP; cap /= 2)
        if (try_sizes(attempt, cap, &BUDGETS[0], widen, operations, e))
            return true;
    /* at 1 element what is split has as many as devices: no order within a block is left to be wrong */
    return try_sizes(attempt, SMALLEST_CAP, &BUDGETS[1], widen, operations, e) ||
           try_sizes(attempt, 1, &BUDGETS[1], widen, operations, e);
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
    uint32_t line = IR_NONE;
    TRY(same_lowering(attempt, &shrunken, &line, e));
    if (!shrunken.same) {
        int length = snprintf(out->reason, sizeof out->reason,
                              "too_large: at smaller sizes the lowering has other ops");
        if (line != IR_NONE)
            snprintf(out->reason + length, sizeof out->reason - (size_t)length, " from line %u on", line);
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
    enum { SHOWN = 8 };
    const struct planner_proof_shrunken *shrunken = &proof->shrunken;
    if (planner_proof_is_smaller(proof))
        text_add(out, "at smaller sizes: ");
    for (uint32_t i = 0; i < shrunken->factor_count && i < SHOWN; i++)
        text_printf(out, "%s%s %lld -> %lld", i ? ", " : "", shrunken->factors[i].name,
                    (long long)shrunken->factors[i].from, (long long)shrunken->factors[i].to);
    if (shrunken->factor_count > SHOWN)
        text_printf(out, " and %u more in proof.json", shrunken->factor_count - SHOWN);
    if (shrunken->loop_count)
        text_printf(out, "%s%u %s", shrunken->factor_count ? ", " : "", shrunken->loop_count,
                    shrunken->loop_count == 1 ? "loop runs fewer times" : "loops run fewer times");
}
