/* Both device-local forms of a plan, proved against the original; see proof.h. */
#include "planner/proof.h"

#include "emit/emit.h"
#include "ir/attrs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is run at most. The interpreter runs the module once whole and once in each form, and every simulated
 * device holds its own copy of a replicated argument: so operations, arguments, their copies and values are
 * bounded each. MAX_OPERATIONS is also what verify_reference_create refuses by itself; it is asked here
 * first, before the inputs are made. */
static const uint64_t MAX_OPERATIONS = 20000000000u;
static const int64_t MAX_ARGUMENT_BYTES = (int64_t)1 << 30;
static const int64_t MAX_VALUE_BYTES = (int64_t)1 << 29;  /* of one value, in the module's own types */
static const int64_t MAX_COPIED_BYTES = (int64_t)8 << 30; /* arguments times devices */
static const int64_t MAX_DEVICES = 4096;

/* a value that is made with few operations (rows looked up, a broadcast) and does not fit beside others */
static bool makes_too_much(const struct ir_program *program)
{
    for (uint32_t value = 0; value < program->value_count; value++) {
        const struct ir_type *type = ir_value_type(program, value);
        if (type->kind == IR_TYPE_TENSOR && ir_type_bytes(program, type) > MAX_VALUE_BYTES)
            return true;
    }
    return false;
}

/* the arguments, the copies of them that the devices would be given, or a value */
static bool too_large(const struct plan_context *context)
{
    const struct nda *n = plan_context_nda(context);
    int64_t bytes = 0, devices = mesh_devices(plan_context_mesh(context));
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct ir_type *type = ir_value_type(n->program, n->arguments[i].value);
        bytes += type->kind == IR_TYPE_TENSOR ? ir_type_bytes(n->program, type) : 0;
    }
    return bytes > MAX_ARGUMENT_BYTES || devices > MAX_DEVICES || bytes * devices > MAX_COPIED_BYTES ||
           makes_too_much(n->program);
}

static void fill_sharding(const struct plan_context *context, const struct plan *plan, uint32_t space,
                          struct verify_sharding *out)
{
    struct plan_sharding sharding;
    plan_boundary_sharding(context, plan, space, &sharding);
    memset(out, 0, sizeof *out);
    out->rank = sharding.rank;
    for (uint32_t dim = 0; dim < sharding.rank; dim++)
        for (uint32_t a = 0; a < sharding.dims[dim].count; a++) {
            uint32_t axis = sharding.dims[dim].axes[a];
            out->dims[dim].at[out->dims[dim].count++] =
                (struct verify_axis){axis, 1, plan_context_mesh(context)->axes[axis].size};
        }
}

static struct verify_sharding *shardings(const struct plan_context *context, const struct plan *plan,
                                         bool results)
{
    const struct nda *n = plan_context_nda(context);
    uint32_t count = results ? n->result_count : n->argument_count;
    struct verify_sharding *out = mem_zalloc((size_t)count + 1, sizeof *out);
    for (uint32_t i = 0; i < count; i++)
        fill_sharding(context, plan, results ? n->result_spaces[i] : n->arguments[i].space, &out[i]);
    return out;
}

/* how one device's part of arguments and results is cut; owned */
struct boundary {
    struct verify_mesh mesh;
    struct verify_sharding *arguments, *results;
};

static enum error_code boundary_make(const struct plan_context *context, const struct plan *plan,
                                     struct boundary *out, struct error *e)
{
    const struct mesh *mesh = plan_context_mesh(context);
    int64_t sizes[MESH_MAX_AXES];
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        sizes[axis] = mesh->axes[axis].size;
    TRY(verify_mesh_make(&out->mesh, mesh->axis_count, sizes, NULL, e));
    out->arguments = shardings(context, plan, false);
    out->results = shardings(context, plan, true);
    return ERROR_OK;
}

static void boundary_release(struct boundary *boundary)
{
    free(boundary->arguments);
    free(boundary->results);
    verify_mesh_release(&boundary->mesh);
}

static enum error_code prove_form(const struct verify_reference *reference,
                                  const struct plan_context *context, const struct plan *plan,
                                  const struct spmd_local *local, enum emit_output form,
                                  const struct verify_boundary *boundary,
                                  const struct verify_options *options, struct verify_report *out,
                                  struct error *e)
{
    struct ir_program module = {0};
    TRY(spmd_emit(context, plan, local, form, &module, e));
    enum error_code code = verify_prove(reference, &module, boundary, options, out, e);
    ir_program_release(&module);
    return code;
}

static enum error_code prove_forms(const struct verify_reference *reference,
                                   const struct plan_context *context, const struct plan *plan,
                                   const struct spmd_local *local, const struct verify_options *options,
                                   struct planner_proof *out, struct error *e)
{
    struct boundary boundary = {.arguments = NULL};
    TRY(boundary_make(context, plan, &boundary, e));
    enum error_code code =
        prove_form(reference, context, plan, local, EMIT_MANUAL, NULL, options, &out->manual, e);
    if (code == ERROR_OK)
        code = prove_form(reference, context, plan, local, EMIT_LOCAL,
                          &(struct verify_boundary){&boundary.mesh, boundary.arguments, boundary.results},
                          options, &out->local, e);
    boundary_release(&boundary);
    return code;
}

/* how bad a status is: different, not run, inconclusive, equal */
static int badness(enum verify_status status)
{
    return status == VERIFY_PROOF_DIFFERENT ? 3
           : status == VERIFY_PROOF_NOT_RUN ? 2
                                            : status == VERIFY_PROOF_INCONCLUSIVE;
}

/* Both forms together: the worse; of two alike the manual form speaks. */
static void join(struct planner_proof *out)
{
    const struct verify_report *worse =
        badness(out->local.status) > badness(out->manual.status) ? &out->local : &out->manual;
    out->status = worse->status;
    if (worse->status == VERIFY_PROOF_INCONCLUSIVE) /* "rounding: .." first */
        snprintf(out->reason, sizeof out->reason, "%.380s (%s form)", worse->reason,
                 worse == &out->manual ? "manual" : "local");
    else if (worse->status != VERIFY_PROOF_EQUAL)
        snprintf(out->reason, sizeof out->reason, "%s form: %.380s",
                 worse == &out->manual ? "manual" : "local", worse->reason);
}

/* the caller's options, with the results' names */
static struct verify_options named(const struct plan_context *context, const struct verify_options *options)
{
    struct verify_options out = options ? *options : (struct verify_options){0};
    out.result_names = plan_context_nda(context)->result_names;
    return out;
}

enum error_code planner_proof_against(const struct verify_reference *reference,
                                      const struct plan_context *context, const struct plan *plan,
                                      const struct spmd_local *local, const struct verify_options *options,
                                      struct planner_proof *out, struct error *e)
{
    out->status = out->manual.status = out->local.status = VERIFY_PROOF_NOT_RUN;
    if (too_large(context)) {
        out->too_large = true;
        snprintf(out->reason, sizeof out->reason, "too_large");
        return ERROR_OK;
    }
    if (verify_reference_runs(reference) == 0) {
        snprintf(out->reason, sizeof out->reason, "the original gives NaN on every input tried");
        return ERROR_OK;
    }
    struct verify_options own = named(context, options);
    TRY(prove_forms(reference, context, plan, local, &own, out, e));
    join(out);
    /* the devices together compute more than the original: what is replicated, each for itself */
    out->too_large = out->status == VERIFY_PROOF_NOT_RUN && (out->manual.too_large || out->local.too_large);
    return ERROR_OK;
}

static bool is_large(uint64_t operations, const struct plan_context *context)
{
    return operations > MAX_OPERATIONS || too_large(context);
}

bool planner_proof_is_large(const struct ir_program *prepared, const struct plan_context *context)
{
    return is_large(verify_operations(prepared, &(uint32_t){0}), context);
}

/* The original's inputs and results; *reference stays NULL where `out` says why there are none. */
static enum error_code make_reference(const struct ir_program *prepared, const struct plan_context *context,
                                      uint64_t seed, const struct verify_options *options,
                                      struct planner_proof *out, struct verify_reference **reference,
                                      struct error *e)
{
    struct error inner = {0};
    memset(out, 0, sizeof *out);
    out->seed = seed;
    out->operations = verify_operations(prepared, &(uint32_t){0});
    out->status = out->manual.status = out->local.status = VERIFY_PROOF_NOT_RUN;
    if (is_large(out->operations, context)) { /* before anything of that size is made */
        out->too_large = true;
        snprintf(out->reason, sizeof out->reason, "too_large");
        return ERROR_OK;
    }
    enum error_code code = verify_reference_create(prepared, seed, options, reference, &inner);
    if (code == ERROR_TOO_LARGE || code == ERROR_NOT_AVAILABLE) {
        out->too_large = code == ERROR_TOO_LARGE;
        snprintf(out->reason, sizeof out->reason, "%s%.370s", out->too_large ? "too_large: " : "",
                 inner.message);
        return ERROR_OK;
    }
    if (code != ERROR_OK && e)
        *e = inner;
    return code;
}

enum error_code planner_proof_run(const struct ir_program *prepared, const struct plan_context *context,
                                  const struct plan *plan, const struct spmd_local *local, uint64_t seed,
                                  const struct verify_options *options, struct planner_proof *out,
                                  struct error *e)
{
    struct verify_reference *reference = NULL;
    enum error_code code = make_reference(prepared, context, seed, options, out, &reference, e);
    if (!code && reference)
        code = planner_proof_against(reference, context, plan, local, options, out, e);
    verify_reference_destroy(reference);
    return code;
}

static bool has_op(const struct ir_program *program, enum ir_opcode code)
{
    for (uint32_t op = 0; op < program->op_count; op++)
        if (program->ops[op].code == code)
            return true;
    return false;
}

enum error_code planner_proof_lowered(const struct ir_program *prepared, const struct plan_context *context,
                                      const struct plan *plan, const struct ir_program *lowered,
                                      uint64_t seed, const struct verify_options *options,
                                      struct planner_proof *out, struct error *e)
{
    struct verify_reference *reference = NULL;
    struct boundary boundary = {.arguments = NULL};
    bool local =
        ir_int(lowered, 0, "mhlo.num_replicas", 1) > 1 && !has_op(lowered, IR_SDY_MANUAL_COMPUTATION);
    struct verify_report *given = local ? &out->local : &out->manual,
                         *other = local ? &out->manual : &out->local;
    enum error_code code = make_reference(prepared, context, seed, options, out, &reference, e);
    if (!code && reference)
        code = boundary_make(context, plan, &boundary, e);
    if (!code && reference) {
        struct verify_options own = named(context, options);
        struct verify_boundary cut = {&boundary.mesh, boundary.arguments, boundary.results};
        code = verify_prove(reference, lowered, local ? &cut : NULL, &own, given, e);
        boundary_release(&boundary);
        snprintf(other->reason, sizeof other->reason, "not given");
        out->status = given->status;
        snprintf(out->reason, sizeof out->reason, "%s", given->reason);
    }
    verify_reference_destroy(reference);
    return code;
}
