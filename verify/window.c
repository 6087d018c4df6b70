/* reduce_window and select_and_scatter.
 *
 * Both go through the positions of the window one by one and treat all results at once, by the lanes of the
 * body. At each position the operand's elements are collected, and results whose window lies there on
 * padding or between dilated elements are marked; marked results keep what they have. So padding never
 * reaches the body. */
#include "verify/value.h"

#include <string.h>

struct places {
    uint32_t rank;
    const int64_t *in, *out;
    struct ir_window w;
    int64_t strides[IR_MAX_RANK];
    int64_t count, positions; /* results, window positions */
};

/* operand offset of result `index` at window position `k`, -1 on padding */
static int64_t place(const struct places *p, int64_t index, int64_t k)
{
    int64_t offset = 0;
    for (uint32_t i = p->rank; i-- > 0;) {
        int64_t at = index % p->out[i] * p->w.stride.at[i] +
                     k % p->w.size.at[i] * p->w.window_dilation.at[i] - p->w.low.at[i];
        index /= p->out[i];
        k /= p->w.size.at[i];
        if (at < 0 || at % p->w.base_dilation.at[i] || at / p->w.base_dilation.at[i] >= p->in[i])
            return -1;
        offset += at / p->w.base_dilation.at[i] * p->strides[i];
    }
    return offset;
}

static bool places_make(const struct verify_state *s, struct places *p, const struct ir_type *in,
                        const struct ir_type *out)
{
    p->rank = in->rank;
    p->in = ir_type_dims(s->p, in);
    p->out = ir_type_dims(s->p, out);
    p->positions = 1;
    p->count = verify_type_count(s, out);
    if (p->w.size.count != p->rank || out->rank != p->rank)
        return false;
    verify_strides(p->rank, p->in, p->strides);
    for (uint32_t i = 0; i < p->rank; i++) {
        const struct ir_window *w = &p->w;
        if (w->size.at[i] < 1 || w->stride.at[i] < 1 || w->base_dilation.at[i] < 1 ||
            w->window_dilation.at[i] < 1)
            return false;
        int64_t base = p->in[i] ? (p->in[i] - 1) * w->base_dilation.at[i] + 1 : 0;
        int64_t padded = base + w->low.at[i] + w->high.at[i],
                size = (w->size.at[i] - 1) * w->window_dilation.at[i] + 1;
        if (p->out[i] != (padded < size ? 0 : (padded - size) / w->stride.at[i] + 1))
            return false;
        p->positions *= w->size.at[i];
    }
    return true;
}

static void collect(size_t size, const void *from, const int64_t *at, int64_t n, void *to)
{
    for (int64_t i = 0; i < n; i++)
        if (at[i] >= 0)
            memcpy((char *)to + (size_t)i * size, (const char *)from + (size_t)at[i] * size, size);
}

/* results[i] = where at[i] >= 0: fresh[i] */
static void keep_marked(size_t size, const void *fresh, const int64_t *at, int64_t n, void *results)
{
    for (int64_t i = 0; i < n; i++)
        if (at[i] >= 0)
            memcpy((char *)results + (size_t)i * size, (const char *)fresh + (size_t)i * size, size);
}

static void reduce_places(struct verify_state *s, struct verify_lanes *lanes, const struct places *p,
                          uint32_t count, const struct verify_value *in, struct verify_value *out)
{
    struct verify_array args[2 * IR_MAX_RANK];
    void *fresh[IR_MAX_RANK];
    struct verify_buffer *owners[2 * IR_MAX_RANK], *marks;
    int64_t *at = verify_scratch(s, (size_t)(p->count + 1) * sizeof *at, &marks);
    for (uint32_t k = 0; k < count; k++) {
        enum ir_element element = (enum ir_element)in[k].type->element;
        fresh[k] = verify_scratch(s, (size_t)(p->count + 1) * IR_ELEMENT_BYTES, &owners[2 * k]);
        args[k] = (struct verify_array){element, false, verify_data(&out[k])};
        args[count + k] = (struct verify_array){
            element, false, verify_scratch(s, (size_t)(p->count + 1) * IR_ELEMENT_BYTES, &owners[2 * k + 1])};
        memset((void *)(uintptr_t)args[count + k].data, 0, (size_t)(p->count + 1) * IR_ELEMENT_BYTES);
    }
    for (int64_t position = 0; position < p->positions; position++) {
        for (int64_t i = 0; i < p->count; i++)
            at[i] = place(p, i, position);
        for (uint32_t k = 0; k < count; k++)
            collect(verify_element_size(args[k].element), verify_data(&in[k]), at, p->count,
                    (void *)(uintptr_t)args[count + k].data);
        verify_lanes_run(lanes, args, p->count, fresh);
        for (uint32_t k = 0; k < count; k++)
            keep_marked(verify_element_size(args[k].element), fresh[k], at, p->count, verify_data(&out[k]));
    }
    for (uint32_t k = 0; k < 2 * count; k++)
        verify_scratch_drop(s, owners[k]);
    verify_scratch_drop(s, marks);
}

enum error_code verify_eval_reduce_window(struct verify_state *s, uint32_t op, struct verify_value *in,
                                          struct verify_value *out, struct error *e)
{
    const struct ir_op *o = &s->p->ops[op];
    uint32_t count = o->operand_count / 2;
    struct places p = {0};
    struct verify_lanes *lanes = NULL;
    if (count < 1 || count > IR_MAX_RANK || o->result_count != count ||
        ir_reduce_window(s->p, op, &p.w) != 0 || !places_make(s, &p, in->type, out->type))
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "operands, results and window do not fit");
    for (uint32_t k = 0; k < count; k++) {
        if (verify_type_count(s, in[k].type) != verify_type_count(s, in->type) ||
            in[k].type->element != out[k].type->element || verify_type_count(s, in[count + k].type) != 1)
            return verify_fail(s, op, ERROR_INVALID_MODULE, e, "operand %u does not fit", k);
        verify_value_dense(s, &in[k]);
    }
    enum error_code code = verify_lanes_create(s, op, 0, &lanes, e);
    for (uint32_t k = 0; k < count && !code; k++) {
        verify_value_share(&out[k], &in[count + k]);
        out[k].splat = true;
        verify_value_dense(s, &out[k]);
    }
    if (!code)
        reduce_places(s, lanes, &p, count, in, out);
    verify_lanes_destroy(s, lanes);
    return code;
}

/* the operand offset that each window selects, -1 for a window wholly on padding */
static void select_places(struct verify_state *s, struct verify_lanes *select, const struct places *p,
                          const struct verify_value *operand, int64_t *chosen)
{
    enum ir_element element = (enum ir_element)operand->type->element;
    size_t size = verify_element_size(element);
    struct verify_buffer *owners[4];
    int64_t *at = verify_scratch(s, (size_t)(p->count + 1) * sizeof *at, &owners[0]);
    char *best = verify_scratch(s, (size_t)(p->count + 1) * IR_ELEMENT_BYTES, &owners[1]);
    char *other = verify_scratch(s, (size_t)(p->count + 1) * IR_ELEMENT_BYTES, &owners[2]);
    uint8_t *keep = verify_scratch(s, (size_t)(p->count + 1), &owners[3]);
    memset(best, 0, (size_t)(p->count + 1) * IR_ELEMENT_BYTES);
    memset(other, 0, (size_t)(p->count + 1) * IR_ELEMENT_BYTES);
    for (int64_t i = 0; i < p->count; i++)
        chosen[i] = -1;
    for (int64_t position = 0; position < p->positions; position++) {
        struct verify_array args[2] = {{element, false, best}, {element, false, other}};
        void *results[1] = {keep};
        for (int64_t i = 0; i < p->count; i++)
            at[i] = place(p, i, position);
        collect(size, verify_data(operand), at, p->count, other);
        verify_lanes_run(select, args, p->count, results);
        for (int64_t i = 0; i < p->count; i++)
            if (at[i] >= 0 && (chosen[i] < 0 || !keep[i])) {
                chosen[i] = at[i];
                memcpy(best + (size_t)i * size, other + (size_t)i * size, size);
            }
    }
    for (int i = 0; i < 4; i++)
        verify_scratch_drop(s, owners[i]);
}

enum error_code verify_eval_select_and_scatter(struct verify_state *s, uint32_t op, struct verify_value *in,
                                               struct verify_value *out, struct error *e)
{
    struct places p = {0};
    struct verify_lanes *select = NULL, *scatter = NULL;
    if (s->p->ops[op].operand_count != 3 || ir_select_and_scatter(s->p, op, &p.w) != 0 ||
        !places_make(s, &p, in[0].type, in[1].type) || in[0].type->element != out->type->element)
        return verify_fail(s, op, ERROR_INVALID_MODULE, e, "operands and window do not fit");
    enum error_code code = verify_lanes_create(s, op, 0, &select, e);
    code = code ? code : verify_lanes_create(s, op, 1, &scatter, e);
    if (!code) {
        struct verify_buffer *owner;
        int64_t *chosen = verify_scratch(s, (size_t)(p.count + 1) * sizeof *chosen, &owner);
        enum ir_element element = (enum ir_element)out->type->element;
        size_t size = verify_element_size(element);
        verify_value_dense(s, &in[0]);
        verify_value_dense(s, &in[1]);
        verify_value_share(out, &in[2]);
        out->splat = true;
        verify_value_dense(s, out);
        select_places(s, select, &p, in, chosen);
        for (int64_t i = 0; i < p.count; i++) {
            if (chosen[i] < 0)
                continue;
            void *to = (char *)verify_data(out) + (size_t)chosen[i] * size;
            struct verify_array args[2] = {{element, false, to},
                                           {element, false, (char *)verify_data(&in[1]) + (size_t)i * size}};
            void *results[1] = {to};
            verify_lanes_run(scatter, args, 1, results);
        }
        verify_scratch_drop(s, owner);
    }
    verify_lanes_destroy(s, select);
    verify_lanes_destroy(s, scatter);
    return code;
}
