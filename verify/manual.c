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

static const char *text_of(const struct verify_state *s, uint32_t op, const char *name)
{
    const struct ir_attr *a = ir_attr_find(s->p, op, name);
    return a && a->kind == IR_ATTR_TEXT ? ir_string(s->p, a->first) : "";
}

/* The text of the `sdy.mesh` of this name at top level. An op without operands and results names no mesh;
 * it gets the first one. */
static const char *find_mesh(const struct verify_state *s, const char *name)
{
    for (uint32_t op = 0; op < s->p->op_count; op++) {
        if (s->p->ops[op].code != IR_SDY_MESH)
            continue;
        const struct ir_attr *symbol = ir_attr_find(s->p, op, "sym_name");
        if (symbol && (!*name || strcmp(ir_string(s->p, symbol->first), name) == 0))
            return text_of(s, op, "mesh");
    }
    return NULL;
}

static enum error_code decode(struct verify_state *s, uint32_t op, struct manual *m, struct error *e)
{
    char name[64];
    const char *in = text_of(s, op, "in_shardings"), *out = text_of(s, op, "out_shardings");
    const char *axes = text_of(s, op, "manual_axes");
    verify_sharding_mesh_name(strchr(in, '@') ? in : out, name);
    const char *mesh = find_mesh(s, name);
    if (!mesh)
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "there is no mesh @%s", name);
    struct error own = {0};
    enum error_code code = verify_mesh_parse(mesh, &m->mesh, &own);
    code = code ? code : verify_shardings_parse(in, &m->mesh, &m->in, &m->in_count, &own);
    code = code ? code : verify_shardings_parse(out, &m->mesh, &m->out, &m->out_count, &own);
    if (code)
        return verify_fail(s, op, code, e, "%.500s", own.message);
    for (uint32_t i = 0; i < m->mesh.axis_count && !code; i++) {
        char quoted[70];
        snprintf(quoted, sizeof quoted, "\"%s\"", m->mesh.names[i]);
        if (m->mesh.sizes[i] > 1 && !strstr(axes, quoted))
            code =
                verify_fail(s, op, ERROR_NOT_AVAILABLE, e,
                            "axis %s is not manual: partly manual computations are not interpreted", quoted);
    }
    return code;
}

/* A dense value as a tensor that borrows its data: both have one layout. */
static struct verify_tensor tensor_of(const struct verify_state *s, const struct verify_value *v)
{
    struct verify_tensor t = {(enum ir_element)v->type->element, v->type->rank, {0}, verify_data(v)};
    memcpy(t.dims, ir_type_dims(s->p, v->type), t.rank * sizeof *t.dims);
    return t;
}

static bool same_block(const struct verify_sharding *sh, const struct verify_mesh *m, uint32_t a, uint32_t b)
{
    for (uint32_t i = 0; i < sh->rank; i++)
        if (verify_sharding_block(sh, m, a, i) != verify_sharding_block(sh, m, b, i))
            return false;
    return true;
}

/* Operand i, cut for all devices. Devices with the same block share one buffer. */
static enum error_code cut(struct verify_state *s, uint32_t op, const struct manual *m, uint32_t i,
                           struct verify_value *in, const struct ir_type *local, struct verify_value *args,
                           struct error *e)
{
    const struct verify_sharding *sh = &m->in[i];
    const int64_t *whole = ir_type_dims(s->p, in->type), *part = ir_type_dims(s->p, local);
    int64_t strides[IR_MAX_RANK], own[IR_MAX_RANK];
    bool fits = sh->rank == in->type->rank && local->rank == sh->rank && local->element == in->type->element;
    for (uint32_t d = 0; d < sh->rank && fits; d++)
        fits = part[d] * verify_sharding_blocks(sh, d) == whole[d];
    if (!fits)
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "in_shardings do not give the body's argument %u",
                           i);
    verify_value_dense(s, in);
    verify_strides(sh->rank, whole, strides);
    verify_strides(sh->rank, part, own);
    size_t size = verify_element_size((enum ir_element)local->element);
    for (uint32_t p = 0; p < m->mesh.devices; p++) {
        struct verify_value *to = &args[verify_mesh_device(&m->mesh, p)];
        uint32_t first = 0;
        while (!same_block(sh, &m->mesh, first, p))
            first++;
        to->type = local;
        if (first < p) {
            verify_value_share(to, &args[verify_mesh_device(&m->mesh, first)]);
            continue;
        }
        int64_t offset = 0;
        for (uint32_t d = 0; d < sh->rank; d++)
            offset += verify_sharding_block(sh, &m->mesh, p, d) * part[d] * strides[d];
        verify_value_alloc(s, to, false);
        verify_copy(size, sh->rank, part, verify_data(to), own,
                    (char *)verify_data(in) + offset * (int64_t)size, strides);
    }
    return ERROR_OK;
}

static enum error_code join(struct verify_state *s, uint32_t op, const struct manual *m, uint32_t i,
                            struct verify_value *parts, struct verify_value *out, struct error *e)
{
    struct verify_tensor whole = {0};
    struct verify_tensor *local = mem_zalloc(m->mesh.devices, sizeof *local);
    double divergence = 0;
    for (uint32_t d = 0; d < m->mesh.devices; d++) {
        verify_value_dense(s, &parts[d]);
        local[d] = tensor_of(s, &parts[d]);
    }
    enum error_code code = verify_unshard(&m->mesh, &m->out[i], local, &whole, &divergence, e);
    bool fits =
        !code && whole.rank == out->type->rank && whole.element == (enum ir_element)out->type->element;
    for (uint32_t d = 0; d < whole.rank && fits; d++)
        fits = whole.dims[d] == ir_type_dims(s->p, out->type)[d];
    if (!code && !fits)
        code = verify_fail(s, op, ERROR_INVALID_MODULE, e, "out_shardings do not give result %u", i);
    if (!code) {
        verify_value_alloc(s, out, false);
        memcpy(verify_data(out), whole.data,
               (size_t)verify_tensor_count(&whole) * verify_element_size(whole.element));
        if (divergence > s->statistics.divergence) {
            s->statistics.divergence = divergence;
            s->statistics.divergent_result = i;
        }
    }
    verify_tensor_release(&whole);
    free(local);
    return code;
}

static enum error_code run_body(struct verify_state *s, uint32_t op, const struct manual *m,
                                struct verify_value *in, struct verify_value *out, struct error *e)
{
    const struct ir_op *o = &s->p->ops[op];
    uint32_t block = ir_region_block(s->p, op, 0), devices = m->mesh.devices;
    uint32_t last = block == IR_NONE ? IR_NONE : ir_block_terminator(s->p, block);
    if (last == IR_NONE || s->p->blocks[block].arg_count != o->operand_count ||
        m->in_count != o->operand_count || m->out_count != o->result_count ||
        s->p->ops[last].operand_count != o->result_count)
        return verify_fail(s, op, ERROR_INVALID_MODULE, e,
                           "shardings, operands, results and body do not fit");
    struct verify_value *args = mem_zalloc((size_t)o->operand_count * devices + 1, sizeof *args);
    struct verify_value *results = mem_zalloc((size_t)o->result_count * devices + 1, sizeof *results);
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; i < o->operand_count && !code; i++)
        code = cut(s, op, m, i, &in[i], ir_value_type(s->p, s->p->blocks[block].args + i), args + i * devices,
                   e);
    if (code)
        for (size_t i = 0; i < (size_t)o->operand_count * devices; i++)
            verify_value_drop(s, &args[i]);
    else
        code = verify_block(s, block, devices, args, results, e);
    for (uint32_t i = 0; i < o->result_count && !code; i++)
        code = join(s, op, m, i, results + i * devices, &out[i], e);
    for (size_t i = 0; i < (size_t)o->result_count * devices; i++)
        verify_value_drop(s, &results[i]);
    free(args);
    free(results);
    return code;
}

enum error_code verify_eval_manual(struct verify_state *s, uint32_t op, struct verify_value *in,
                                   struct verify_value *out, struct error *e)
{
    struct manual m = {0};
    if (s->style == VERIFY_STYLE_REPLICA)
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "a manual computation in a replica-style module");
    s->style = VERIFY_STYLE_PARTITION;
    enum error_code code = decode(s, op, &m, e);
    if (!code)
        code = run_body(s, op, &m, in, out, e);
    verify_mesh_release(&m.mesh);
    free(m.in);
    free(m.out);
    return code;
}
