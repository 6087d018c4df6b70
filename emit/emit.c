/* The module around the steps: attributes, mesh, @main's signature with its argument and result attributes,
 * and for the manual output the manual_computation that holds the steps. */
#include "emit/annotate_summands.h"
#include "emit/build.h"
#include "emit/grouped.h"

#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- module */
static bool is_device_count(const char *name)
{
    return strcmp(name, "mhlo.num_partitions") == 0 || strcmp(name, "mhlo.num_replicas") == 0 ||
           strncmp(name, "mhlo.spmd_", 10) == 0 || strncmp(name, "mhlo.use_auto_spmd", 18) == 0;
}

static enum error_code begin_module(struct emit *e, struct error *error)
{
    const struct ir_program *program = e->program;
    const struct ir_op *ir_op = &program->ops[0];
    struct ir_attr attrs[EMIT_MAX_ATTRS];
    uint32_t n = 0;
    for (uint32_t i = 0; i < ir_op->attr_count && n < EMIT_MAX_ATTRS - 2; i++) {
        const struct ir_attr *attr = &program->attrs[ir_op->attrs + i];
        const char *name = ir_string(program, attr->name);
        if (!is_device_count(name) && strcmp(name, "mhlo.sharding") != 0 && strncmp(name, "sdy.", 4) != 0)
            attrs[n++] = ir_build_copy_attr(e->builder, program, attr);
    }
    int64_t devices = mesh_devices(e->mesh);
    bool local = e->output == EMIT_LOCAL;
    attrs[n++] = ir_build_named(e->builder, "mhlo.num_partitions",
                                ir_build_int(e->builder, local ? 1 : devices, "i32"));
    attrs[n++] =
        ir_build_named(e->builder, "mhlo.num_replicas", ir_build_int(e->builder, local ? devices : 1, "i32"));
    struct ir_op_spec spec = {.name = "builtin.module",
                              .attrs = attrs,
                              .attr_count = n,
                              .position = ir_build_position(e->builder, program, 0)};
    ir_build_begin(e->builder, &spec);
    ir_build_region(e->builder);
    ir_build_block(e->builder, NULL, 0);
    if (!local) {
        struct ir_attr mesh[2] = {ir_build_named(e->builder, "sym_name", ir_build_str(e->builder, "mesh")),
                                  emit_mesh_attr(e)};
        struct ir_op_spec op = {.name = "sdy.mesh", .attrs = mesh, .attr_count = 2};
        ir_build_op(e->builder, &op);
    }
    return ir_op->attr_count > EMIT_MAX_ATTRS - 2
               ? emit_reject(e, error, "more than %d attributes", EMIT_MAX_ATTRS - 2)
               : ERROR_OK;
}

/* ---------------------------------------------------------------- signature */
struct signature {
    const struct spmd_step *results; /* the SPMD_RESULT step */
    uint32_t argument_count, result_count;
};

static uint32_t result_value(const struct emit *e, const struct signature *signature, uint32_t i)
{
    return spmd_operand(e->local, signature->results, i);
}

/* The function's types are the program's but for the local output. */
static uint32_t boundary_type(struct emit *e, uint32_t spmd_value)
{
    return e->output == EMIT_LOCAL
               ? emit_value_type(e, spmd_value)
               : ir_build_copy_type(e->builder, e->program,
                                    e->program->values[e->local->values[spmd_value].origin].type);
}

static void add_type(struct emit *e, uint32_t type, struct text *out)
{
    struct ir_program view = ir_builder_view(e->builder);
    text_add(out, ir_string(&view, view.types[type].text));
}

static uint32_t function_type(struct emit *e, const struct signature *signature)
{
    struct text text = {0};
    text_add(&text, "(");
    for (uint32_t i = 0; i < signature->argument_count; i++) {
        text_add(&text, i ? ", " : "");
        add_type(e, boundary_type(e, i), &text);
    }
    text_add(&text, ") -> (");
    for (uint32_t i = 0; i < signature->result_count; i++) {
        text_add(&text, i ? ", " : "");
        add_type(e, boundary_type(e, result_value(e, signature, i)), &text);
    }
    text_add(&text, ")");
    if (signature->result_count == 1) { /* one result type stands without parentheses */
        char *arrow = strstr(text.at, ") -> (");
        memmove(arrow + 5, arrow + 6, strlen(arrow + 6) + 1);
        text.size -= 1;
        text.at[--text.size] = 0;
    }
    uint32_t type = ir_build_type(e->builder, text.at, text.size);
    text_release(&text);
    return type;
}

/* Does the argument still occupy on each device what the result it donates to does? */
static bool can_alias(const struct emit *e, const struct signature *signature, uint32_t argument,
                      int64_t result)
{
    if (result < 0 || result >= signature->result_count)
        return false;
    int64_t have[IR_MAX_RANK], want[IR_MAX_RANK];
    const struct spmd_value *from = &e->local->values[argument];
    const struct spmd_value *to = &e->local->values[result_value(e, signature, (uint32_t)result)];
    if (e->program->values[from->origin].type != e->program->values[to->origin].type)
        return false;
    const struct ir_type *type = ir_value_type(e->program, to->origin);
    if (type->kind != IR_TYPE_TENSOR)
        return true;
    spmd_local_dims(e->nda, e->mesh, from->origin, &from->form, have);
    spmd_local_dims(e->nda, e->mesh, to->origin, &to->form, want);
    return memcmp(have, want, type->rank * sizeof *have) == 0;
}

/* Attributes of one argument or result: the program's, without annotations, donation as far as shapes allow
 * it. */
static struct ir_attr boundary_attrs(struct emit *e, const struct signature *signature, uint32_t spmd_value,
                                     bool argument, const struct ir_attr *from, bool *any)
{
    struct ir_attr entries[EMIT_MAX_ATTRS];
    uint32_t n = 0, first = from ? from->first : 0, count = from ? from->count : 0;
    const struct ir_value *origin = &e->program->values[e->local->values[spmd_value].origin];
    for (uint32_t i = 0; i < count && n < EMIT_MAX_ATTRS - 1; i++) {
        const struct ir_attr *attr = &e->program->attrs[first + i];
        const char *name = ir_string(e->program, attr->name);
        if (strncmp(name, "mhlo.sharding", 13) == 0 || strncmp(name, "sdy.", 4) == 0)
            continue;
        if (argument && strcmp(name, "tf.aliasing_output") == 0 &&
            !can_alias(e, signature, spmd_value, attr->value))
            entries[n++] = ir_build_named(e->builder, "jax.buffer_donor", ir_build_bool(e->builder, true));
        else
            entries[n++] = ir_build_copy_attr(e->builder, e->program, attr);
    }
    if (e->output != EMIT_LOCAL && e->program->types[origin->type].kind == IR_TYPE_TENSOR) {
        struct text text = {0};
        text_add(&text, "#sdy.sharding");
        emit_sharding_text(e, e->local->values[spmd_value].origin, &e->local->values[spmd_value].form, &text);
        entries[n++] = ir_build_named(e->builder, "sdy.sharding", ir_build_text(e->builder, text.at));
        text_release(&text);
    }
    *any |= n != 0;
    return ir_build_dictionary(e->builder, entries, n);
}

static uint32_t signature_attrs(struct emit *e, const struct signature *signature, struct ir_attr *out)
{
    struct ir_attr *items =
        mem_zalloc(signature->argument_count + signature->result_count + 1, sizeof *items);
    uint32_t n = 0, func = e->nda->function;
    bool any = false;
    for (uint32_t i = 0; i < signature->argument_count; i++)
        items[i] = boundary_attrs(e, signature, i, true, ir_function_arg_attrs(e->program, func, i), &any);
    if (any)
        out[n++] = ir_build_named(e->builder, "arg_attrs",
                                  ir_build_array(e->builder, items, signature->argument_count));
    any = false;
    for (uint32_t i = 0; i < signature->result_count; i++)
        items[i] = boundary_attrs(e, signature, result_value(e, signature, i), false,
                                  ir_function_result_attrs(e->program, func, i), &any);
    if (any)
        out[n++] = ir_build_named(e->builder, "res_attrs",
                                  ir_build_array(e->builder, items, signature->result_count));
    free(items);
    return n;
}

/* the arguments say where they come from as the program's do: their names */
static void name_arguments(struct emit *e, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        ir_build_copy_value_location(e->builder, first + i, e->program, e->local->values[i].origin);
}

/* opens @main and its block; returns the first argument */
static uint32_t begin_function(struct emit *e, const struct signature *signature)
{
    struct ir_attr attrs[8];
    uint32_t n = 0, *types = mem_alloc((signature->argument_count + 1) * sizeof *types);
    attrs[n++] = ir_build_named(e->builder, "sym_name", ir_build_str(e->builder, "main"));
    attrs[n++] = ir_build_named(e->builder, "function_type",
                                ir_build_type_attr(e->builder, function_type(e, signature)));
    attrs[n++] = ir_build_named(e->builder, "sym_visibility", ir_build_str(e->builder, "public"));
    n += signature_attrs(e, signature, attrs + n);
    for (uint32_t i = 0; i < signature->argument_count; i++)
        types[i] = boundary_type(e, i);
    struct ir_op_spec spec = {.name = "func.func",
                              .attrs = attrs,
                              .attr_count = n,
                              .position = ir_build_position(e->builder, e->program, e->nda->function)};
    ir_build_begin(e->builder, &spec);
    ir_build_region(e->builder);
    uint32_t first = ir_build_block(e->builder, types, signature->argument_count);
    name_arguments(e, first, signature->argument_count);
    free(types);
    return first;
}

/* Every boundary value must lie in ranges of its dims: neither Shardy nor a caller can say anything else. */
static enum error_code check_boundary(const struct emit *e, const struct signature *signature,
                                      struct error *error)
{
    for (uint32_t i = 0; i < signature->argument_count + signature->result_count; i++) {
        uint32_t value =
            i < signature->argument_count ? i : result_value(e, signature, i - signature->argument_count);
        uint32_t origin = e->local->values[value].origin;
        for (uint32_t d = 0; d < ir_value_type(e->program, origin)->rank; d++)
            if (!emit_layout(e, origin, &e->local->values[value].form, d).contiguous)
                return error_set(error, ERROR_INTERNAL,
                                 "%s %u is not in contiguous blocks along dimension %u",
                                 i < signature->argument_count ? "argument" : "result",
                                 i < signature->argument_count ? i : i - signature->argument_count, d);
    }
    return ERROR_OK;
}

/* ---------------------------------------------------------------- bodies */
static struct ir_attr shardings(struct emit *e, const char *name, const struct signature *signature,
                                bool arguments)
{
    struct text text = {0};
    uint32_t count = arguments ? signature->argument_count : signature->result_count;
    text_add(&text, "#sdy.sharding_per_value<[");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value = arguments ? i : result_value(e, signature, i);
        text_add(&text, i ? ", " : "");
        emit_sharding_text(e, e->local->values[value].origin, &e->local->values[value].form, &text);
    }
    text_add(&text, "]>");
    struct ir_attr attr = ir_build_named(e->builder, name, ir_build_text(e->builder, text.at));
    text_release(&text);
    return attr;
}

static struct ir_attr manual_axes(struct emit *e)
{
    struct text text = {0};
    text_add(&text, "#sdy<manual_axes{");
    for (uint32_t axis = 0; axis < e->mesh->axis_count; axis++)
        text_printf(&text, "%s\"%s\"", axis ? ", " : "", e->mesh->axes[axis].name);
    text_add(&text, "}>");
    struct ir_attr attr = ir_build_named(e->builder, "manual_axes", ir_build_text(e->builder, text.at));
    text_release(&text);
    return attr;
}

/* "jit(step)" of "jit(step)/jvp(mlp)/mul" */
static size_t root_size(const char *name)
{
    return strcspn(name, "/");
}

/* XLA calls what stands in a manual_computation and then inlines it: an op keeps its name when it begins with
 * the call's, and gets the call's before its own when not ("call.1/", where the call has none). So the call
 * is named as most of the ops begin (the majority of Boyer and Moore's vote, where there is one). */
static uint32_t root_location(struct emit *e)
{
    const struct ir_program *program = e->program;
    const char *root = "";
    uint32_t votes = 0;
    for (uint32_t i = 0; i < program->op_count; i++) {
        uint32_t name = ir_location_name(program, program->ops[i].loc, NULL);
        if (name == IR_NONE)
            continue;
        const char *text = ir_string(program, name);
        bool same = root_size(text) == root_size(root) && strncmp(text, root, root_size(text)) == 0;
        if (!votes)
            root = text;
        votes = same || !votes ? votes + 1 : votes - 1;
    }
    if (!root_size(root))
        return 0;
    struct ir_location named = {.kind = IR_LOCATION_NAME,
                                .text = ir_build_string(e->builder, root, root_size(root))};
    return ir_build_location(e->builder, &named, NULL, 0);
}

/* opens the manual_computation and its block; returns the op, *first the block's first argument */
static uint32_t begin_manual(struct emit *e, const struct signature *signature, uint32_t *first)
{
    struct ir_attr attrs[3] = {shardings(e, "in_shardings", signature, true),
                               shardings(e, "out_shardings", signature, false), manual_axes(e)};
    uint32_t total = signature->argument_count + signature->result_count,
             *types = mem_alloc((total + 1) * sizeof *types);
    uint32_t *operands = mem_alloc((signature->argument_count + 1) * sizeof *operands);
    for (uint32_t i = 0; i < signature->argument_count; i++)
        operands[i] = *first + i;
    for (uint32_t i = 0; i < signature->result_count; i++)
        types[i] = boundary_type(e, result_value(e, signature, i));
    struct ir_op_spec spec = {.name = "sdy.manual_computation",
                              .operands = operands,
                              .operand_count = signature->argument_count,
                              .result_types = types,
                              .result_count = signature->result_count,
                              .attrs = attrs,
                              .attr_count = 3,
                              .position.loc = root_location(e)};
    uint32_t op = ir_build_begin(e->builder, &spec);
    for (uint32_t i = 0; i < signature->argument_count; i++)
        types[i] = emit_value_type(e, i);
    ir_build_region(e->builder);
    *first = ir_build_block(e->builder, types, signature->argument_count);
    name_arguments(e, *first, signature->argument_count);
    free(operands);
    free(types);
    return op;
}

static enum error_code write_function(struct emit *e, const struct signature *signature, struct error *error)
{
    uint32_t first = begin_function(e, signature), manual = IR_NONE, *results, count;
    if (e->output == EMIT_MANUAL)
        manual = begin_manual(e, signature, &first);
    for (uint32_t i = 0; i < signature->argument_count; i++)
        e->value_of[i] = first + i;
    enum error_code code = emit_steps(e, &results, &count, error);
    if (code)
        return code;
    e->op = e->nda->function;
    if (manual != IR_NONE) {
        emit_op(e, "sdy.return", results, count, NULL, 0, NULL, 0);
        ir_build_end_block(e->builder);
        ir_build_end_region(e->builder);
        ir_build_end(e->builder);
        for (uint32_t i = 0; i < count; i++)
            results[i] = ir_builder_result(e->builder, manual, i);
    }
    emit_op(e, "func.return", results, count, NULL, 0, NULL, 0);
    free(results);
    for (int i = 0; i < 2; i++) { /* the function, the module */
        ir_build_end_block(e->builder);
        ir_build_end_region(e->builder);
        ir_build_end(e->builder);
    }
    return ERROR_OK;
}

/* @main as it is, but for the constraints */
static enum error_code copy_function(struct emit *e, const struct signature *signature, struct error *error)
{
    uint32_t first = begin_function(e, signature);
    const struct ir_block *block = &e->program->blocks[e->nda->block];
    e->op = e->nda->function;
    for (uint32_t i = 0; i < block->arg_count; i++)
        emit_copied(e, block->args + i, first + i);
    enum error_code code = emit_block_ops(e, e->nda->block, error);
    for (int i = 0; i < 2 && !code; i++) { /* the function, the module */
        ir_build_end_block(e->builder);
        ir_build_end_region(e->builder);
        ir_build_end(e->builder);
    }
    return code;
}

static enum error_code emit_open(struct emit *e, const struct plan_context *context,
                                 const struct spmd_local *local, enum emit_output output, struct error *error)
{
    if (!local->step_count || local->steps[local->step_count - 1].kind != SPMD_RESULT)
        return error_set(error, ERROR_INTERNAL, "the local program has no results step");
    e->context = context;
    e->nda = local->nda;
    e->mesh = local->mesh;
    e->program = local->nda->program;
    e->local = local;
    e->output = output;
    e->keeps_layouts = output != EMIT_ANNOTATED && local->options.keep_layouts;
    e->moved = IR_NONE;
    e->builder = ir_builder_create();
    e->value_of = mem_alloc((local->value_count + 1) * sizeof *e->value_of);
    e->copied = mem_alloc((e->program->value_count + 1) * sizeof *e->copied);
    memset(e->value_of, 0xff, (local->value_count + 1) * sizeof *e->value_of);
    memset(e->copied, 0xff, (e->program->value_count + 1) * sizeof *e->copied);
    return ERROR_OK;
}

static enum error_code emit_all(struct emit *e, struct error *error)
{
    const struct spmd_local *local = e->local;
    struct signature signature = {&local->steps[local->step_count - 1], local->argument_count,
                                  local->steps[local->step_count - 1].operand_count};
    TRY(check_boundary(e, &signature, error));
    TRY(begin_module(e, error));
    return e->constrained ? copy_function(e, &signature, error) : write_function(e, &signature, error);
}

static enum error_code emit_close(struct emit *e, enum error_code code, struct ir_program *out)
{
    if (!code)
        ir_builder_finish(e->builder, NULL, out);
    else if (e->builder)
        ir_builder_destroy(e->builder);
    annotate_destroy(e->annotate);
    free(e->value_of);
    free(e->copied);
    free(e);
    return code;
}

enum error_code spmd_emit(const struct plan_context *context, const struct plan *plan,
                          const struct spmd_local *local, enum emit_output output, struct ir_program *out,
                          struct error *error)
{
    struct emit *e = mem_zalloc(1, sizeof *e);
    enum error_code code = emit_open(e, context, local, output, error);
    if (!code) {
        e->annotate = output == EMIT_ANNOTATED ? annotate_create(e) : NULL;
        code = emit_all(e, error);
    }
    return emit_close(e, code, out);
}

enum error_code spmd_emit_list_sums(const struct plan_context *context, const struct spmd_local *local,
                                    struct emit_sums *out, struct error *error)
{
    struct emit *e = mem_zalloc(1, sizeof *e);
    *out = (struct emit_sums){0};
    enum error_code code = emit_open(e, context, local, EMIT_ANNOTATED, error);
    if (!code) {
        struct summands *summands = summands_create(e);
        summands_list(e, summands, out);
        summands_destroy(summands);
    }
    (void)emit_close(e, ERROR_CANCELLED, NULL); /* nothing was written */
    return code;
}

enum error_code spmd_emit_add_grouped(const struct plan_context *context, const struct spmd_local *local,
                                      struct spmd_constraints *list, uint32_t *added, struct error *error)
{
    struct emit *e = mem_zalloc(1, sizeof *e);
    *added = 0;
    enum error_code code = emit_open(e, context, local, EMIT_ANNOTATED, error);
    if (!code)
        *added = grouped_add(e, list);
    (void)emit_close(e, ERROR_CANCELLED, NULL); /* nothing was written */
    return code;
}

void spmd_emit_sums_release(struct emit_sums *sums)
{
    free(sums->at);
    *sums = (struct emit_sums){0};
}

enum error_code spmd_emit_constrained(const struct plan_context *context, const struct spmd_local *local,
                                      const struct propagate_constraint *list, uint32_t count,
                                      const struct spmd_form *forms, struct ir_program *out,
                                      struct error *error)
{
    struct emit *e = mem_zalloc(1, sizeof *e);
    struct constrained *constrained = NULL;
    enum error_code code = emit_open(e, context, local, EMIT_ANNOTATED, error);
    if (!code) {
        constrained = constrained_create(e, list, count);
        e->constrained = constrained;
        e->forms = forms;
        code = emit_all(e, error);
    }
    constrained_destroy(constrained);
    return emit_close(e, code, out);
}
