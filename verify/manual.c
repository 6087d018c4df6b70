/* sdy.manual_computation: cuts the global operands by in_shardings, runs the body on all devices of the
 * mesh in partition style, joins the results by out_shardings, and notes by how much the copies of one
 * block differ (verify_statistics.divergence). The devices exist only inside: outside the op the
 * interpreter runs on one. */
#include "verify/sharding.h"
#include "verify/value.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct manual {
    struct verify_mesh mesh;
    struct verify_sharding *in, *out;
    uint32_t in_count, out_count;
};

static const char *text_of(const struct verify_state *state, uint32_t op, const char *name)
{
    const struct ir_attr *attr = ir_attr_find(state->program, op, name);
    return attr && attr->kind == IR_ATTR_TEXT ? ir_string(state->program, attr->first) : "";
}

/* The text of the `sdy.mesh` of this name at top level. An op without operands and results names no mesh;
 * it gets the first one. */
static const char *find_mesh(const struct verify_state *state, const char *name)
{
    for (uint32_t op = 0; op < state->program->op_count; op++) {
        if (state->program->ops[op].code != IR_SDY_MESH)
            continue;
        const struct ir_attr *symbol = ir_attr_find(state->program, op, "sym_name");
        if (symbol && (!*name || strcmp(ir_string(state->program, symbol->first), name) == 0))
            return text_of(state, op, "mesh");
    }
    return NULL;
}

static enum error_code decode(struct verify_state *state, uint32_t op, struct manual *manual, struct error *e)
{
    char name[64];
    const char *in = text_of(state, op, "in_shardings"), *out = text_of(state, op, "out_shardings");
    const char *axes = text_of(state, op, "manual_axes");
    verify_sharding_mesh_name(strchr(in, '@') ? in : out, name);
    const char *mesh = find_mesh(state, name);
    if (!mesh)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "there is no mesh @%s", name);
    struct error own = {0};
    enum error_code code = verify_mesh_parse(mesh, &manual->mesh, &own);
    code = code ? code : verify_shardings_parse(in, &manual->mesh, &manual->in, &manual->in_count, &own);
    code = code ? code : verify_shardings_parse(out, &manual->mesh, &manual->out, &manual->out_count, &own);
    if (code)
        return verify_fail(state, op, code, e, "%.500s", own.message);
    for (uint32_t i = 0; i < manual->mesh.axis_count && !code; i++) {
        char quoted[70];
        snprintf(quoted, sizeof quoted, "\"%s\"", manual->mesh.names[i]);
        if (manual->mesh.sizes[i] > 1 && !strstr(axes, quoted))
            code =
                verify_fail(state, op, ERROR_NOT_AVAILABLE, e,
                            "axis %s is not manual: partly manual computations are not interpreted", quoted);
    }
    return code;
}

/* A dense value as a tensor that borrows its data: both have one layout. */
static struct verify_tensor tensor_of(const struct verify_state *state, const struct verify_value *value)
{
    struct verify_tensor tensor = {
        (enum ir_element)value->type->element, value->type->rank, {0}, verify_data(value)};
    memcpy(tensor.dims, ir_type_dims(state->program, value->type), tensor.rank * sizeof *tensor.dims);
    return tensor;
}

static bool same_block(const struct verify_sharding *sh, const struct verify_mesh *mesh, uint32_t a,
                       uint32_t b)
{
    for (uint32_t i = 0; i < sh->rank; i++)
        if (verify_sharding_block(sh, mesh, a, i) != verify_sharding_block(sh, mesh, b, i))
            return false;
    return true;
}

/* Operand i, cut for all devices. Devices with the same block share one buffer. */
static enum error_code cut(struct verify_state *state, uint32_t op, const struct manual *manual, uint32_t i,
                           struct verify_value *in, const struct ir_type *local, struct verify_value *args,
                           struct error *e)
{
    const struct verify_sharding *sh = &manual->in[i];
    const int64_t *whole = ir_type_dims(state->program, in->type),
                  *part = ir_type_dims(state->program, local);
    int64_t strides[IR_MAX_RANK], own[IR_MAX_RANK];
    bool fits = sh->rank == in->type->rank && local->rank == sh->rank && local->element == in->type->element;
    for (uint32_t dim = 0; dim < sh->rank && fits; dim++)
        fits = part[dim] * verify_sharding_blocks(sh, dim) == whole[dim];
    if (!fits)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                           "in_shardings do not give the body's argument %u", i);
    verify_value_dense(state, in);
    verify_strides(sh->rank, whole, strides);
    verify_strides(sh->rank, part, own);
    size_t size = verify_element_size((enum ir_element)local->element);
    for (uint32_t p = 0; p < manual->mesh.devices; p++) {
        struct verify_value *to = &args[verify_mesh_device(&manual->mesh, p)];
        uint32_t first = 0;
        while (!same_block(sh, &manual->mesh, first, p))
            first++;
        to->type = local;
        if (first < p) {
            verify_value_share(to, &args[verify_mesh_device(&manual->mesh, first)]);
            continue;
        }
        int64_t offset = 0;
        for (uint32_t dim = 0; dim < sh->rank; dim++)
            offset += verify_sharding_block(sh, &manual->mesh, p, dim) * part[dim] * strides[dim];
        verify_value_alloc(state, to, false);
        verify_copy(size, sh->rank, part, verify_data(to), own,
                    (char *)verify_data(in) + offset * (int64_t)size, strides);
    }
    return ERROR_OK;
}

static enum error_code join(struct verify_state *state, uint32_t op, const struct manual *manual, uint32_t i,
                            struct verify_value *parts, struct verify_value *out, struct error *e)
{
    struct verify_tensor whole = {0};
    struct verify_tensor *local = mem_zalloc(manual->mesh.devices, sizeof *local);
    double divergence = 0;
    for (uint32_t d = 0; d < manual->mesh.devices; d++) {
        verify_value_dense(state, &parts[d]);
        local[d] = tensor_of(state, &parts[d]);
    }
    enum error_code code = verify_unshard(&manual->mesh, &manual->out[i], local, &whole, &divergence, e);
    bool fits =
        !code && whole.rank == out->type->rank && whole.element == (enum ir_element)out->type->element;
    for (uint32_t dim = 0; dim < whole.rank && fits; dim++)
        fits = whole.dims[dim] == ir_type_dims(state->program, out->type)[dim];
    if (!code && !fits)
        code = verify_fail(state, op, ERROR_INVALID_MODULE, e, "out_shardings do not give result %u", i);
    if (!code) {
        verify_value_alloc(state, out, false);
        memcpy(verify_data(out), whole.data,
               (size_t)verify_tensor_count(&whole) * verify_element_size(whole.element));
        if (divergence > state->statistics.divergence) {
            state->statistics.divergence = divergence;
            state->statistics.divergent_result = i;
        }
    }
    verify_tensor_release(&whole);
    free(local);
    return code;
}

static enum error_code run_body(struct verify_state *state, uint32_t op, const struct manual *manual,
                                struct verify_value *in, struct verify_value *out, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    uint32_t block = ir_region_block(state->program, op, 0), devices = manual->mesh.devices;
    uint32_t last = block == IR_NONE ? IR_NONE : ir_block_terminator(state->program, block);
    if (last == IR_NONE || state->program->blocks[block].arg_count != ir_op->operand_count ||
        manual->in_count != ir_op->operand_count || manual->out_count != ir_op->result_count ||
        state->program->ops[last].operand_count != ir_op->result_count)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                           "shardings, operands, results and body do not fit");
    struct verify_value *args = mem_zalloc((size_t)ir_op->operand_count * devices + 1, sizeof *args);
    struct verify_value *results = mem_zalloc((size_t)ir_op->result_count * devices + 1, sizeof *results);
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; i < ir_op->operand_count && !code; i++)
        code =
            cut(state, op, manual, i, &in[i],
                ir_value_type(state->program, state->program->blocks[block].args + i), args + i * devices, e);
    if (code)
        for (size_t i = 0; i < (size_t)ir_op->operand_count * devices; i++)
            verify_value_drop(state, &args[i]);
    else
        code = verify_block(state, block, devices, args, results, e);
    for (uint32_t i = 0; i < ir_op->result_count && !code; i++)
        code = join(state, op, manual, i, results + i * devices, &out[i], e);
    for (size_t i = 0; i < (size_t)ir_op->result_count * devices; i++)
        verify_value_drop(state, &results[i]);
    free(args);
    free(results);
    return code;
}

enum error_code verify_eval_manual(struct verify_state *state, uint32_t op, struct verify_value *in,
                                   struct verify_value *out, struct error *e)
{
    struct manual manual = {0};
    if (state->style == VERIFY_STYLE_REPLICA)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                           "a manual computation in a replica-style module");
    state->style = VERIFY_STYLE_PARTITION;
    enum error_code code = decode(state, op, &manual, e);
    if (!code)
        code = run_body(state, op, &manual, in, out, e);
    verify_mesh_release(&manual.mesh);
    free(manual.in);
    free(manual.out);
    return code;
}
