/* reduce_window and select_and_scatter.
 *
 * Running sums (of what stands before or behind, inclusive) go along their dimension once. Else both go
 * through the positions of the window one by one and treat all results at once, by the lanes of the body. At
 * each position the operand's elements are collected, and results whose window lies there on padding or
 * between dilated elements are marked; marked results keep what they have. So padding never reaches the body.
 */
#include "verify/value.h"

#include <string.h>

struct places {
    uint32_t rank;
    const int64_t *in, *out;
    struct ir_window window;
    int64_t strides[IR_MAX_RANK];
    int64_t count, positions; /* results, window positions */
};

/* operand offset of result `index` at window position `k`, -1 on padding */
static int64_t place(const struct places *places, int64_t index, int64_t k)
{
    int64_t offset = 0;
    for (uint32_t i = places->rank; i-- > 0;) {
        int64_t at = index % places->out[i] * places->window.stride.at[i] +
                     k % places->window.size.at[i] * places->window.window_dilation.at[i] -
                     places->window.low.at[i];
        index /= places->out[i];
        k /= places->window.size.at[i];
        if (at < 0 || at % places->window.base_dilation.at[i] ||
            at / places->window.base_dilation.at[i] >= places->in[i])
            return -1;
        offset += at / places->window.base_dilation.at[i] * places->strides[i];
    }
    return offset;
}

static bool places_make(const struct verify_state *state, struct places *places, const struct ir_type *in,
                        const struct ir_type *out)
{
    places->rank = in->rank;
    places->in = ir_type_dims(state->program, in);
    places->out = ir_type_dims(state->program, out);
    places->positions = 1;
    places->count = verify_type_count(state, out);
    if (places->window.size.count != places->rank || out->rank != places->rank)
        return false;
    verify_strides(places->rank, places->in, places->strides);
    for (uint32_t i = 0; i < places->rank; i++) {
        const struct ir_window *window = &places->window;
        if (window->size.at[i] < 1 || window->stride.at[i] < 1 || window->base_dilation.at[i] < 1 ||
            window->window_dilation.at[i] < 1)
            return false;
        int64_t base = places->in[i] ? (places->in[i] - 1) * window->base_dilation.at[i] + 1 : 0;
        int64_t padded = base + window->low.at[i] + window->high.at[i],
                size = (window->size.at[i] - 1) * window->window_dilation.at[i] + 1;
        if (places->out[i] != (padded < size ? 0 : (padded - size) / window->stride.at[i] + 1))
            return false;
        places->positions *= window->size.at[i];
    }
    return true;
}

bool verify_window_runs(const struct ir_window *window, const int64_t *dims, uint32_t *along, bool *backwards)
{
    *along = IR_NONE;
    for (uint32_t i = 0; i < window->size.count; i++) {
        int64_t low = window->low.at[i], high = window->high.at[i], size = window->size.at[i];
        if (window->stride.at[i] != 1 || window->base_dilation.at[i] != 1 ||
            window->window_dilation.at[i] != 1)
            return false;
        if (size == 1 && low == 0 && high == 0)
            continue;
        if (*along != IR_NONE || size < dims[i] || low + high != size - 1 || (low != 0 && high != 0))
            return false;
        *along = i;
        *backwards = low == 0;
    }
    return *along != IR_NONE;
}

/* elements `at` of dimension `along` of the array, one behind the other, or back */
static void copy_row(const struct places *places, uint32_t along, int64_t at, size_t size, char *array,
                     char *row, bool back)
{
    int64_t inner = places->strides[along], whole = inner * places->in[along];
    for (int64_t from = at * inner; from < places->count; from += whole, row += (size_t)inner * size)
        memcpy(back ? array + (size_t)from * size : row, back ? row : array + (size_t)from * size,
               (size_t)inner * size);
}

/* out holds the initial values */
static void reduce_running(struct verify_state *state, struct verify_lanes *lanes,
                           const struct places *places, uint32_t along, bool backwards, uint32_t count,
                           const struct verify_value *in, struct verify_value *out)
{
    struct verify_array args[2 * IR_MAX_RANK];
    void *fresh[IR_MAX_RANK], *rows[2 * IR_MAX_RANK];
    struct verify_buffer *owners[3 * IR_MAX_RANK];
    int64_t n = places->in[along], lane_count = n ? places->count / n : 0;
    for (uint32_t k = 0; k < 3 * count; k++) {
        void *row = verify_scratch(state, (size_t)(lane_count + 1) * IR_ELEMENT_BYTES, &owners[k]);
        if (k >= 2 * count)
            fresh[k - 2 * count] = row;
        else
            rows[k] = row;
    }
    for (uint32_t k = 0; k < 2 * count; k++) /* what stands before comes first */
        args[k] = (struct verify_array){(enum ir_element)in[k % count].type->element, false,
                                        rows[backwards ? (k + count) % (2 * count) : k]};
    for (int64_t step = 0; step < n; step++) {
        int64_t at = backwards ? n - 1 - step : step;
        for (uint32_t k = 0; k < count; k++) {
            size_t size = verify_element_size(args[k].element);
            if (step == 0)
                copy_row(places, along, at, size, verify_data(&out[k]), rows[k], false);
            copy_row(places, along, at, size, verify_data(&in[k]), rows[count + k], false);
        }
        verify_lanes_run(lanes, args, lane_count, fresh);
        for (uint32_t k = 0; k < count; k++) {
            size_t size = verify_element_size(args[k].element);
            copy_row(places, along, at, size, verify_data(&out[k]), fresh[k], true);
            memcpy(rows[k], fresh[k], (size_t)lane_count * size);
        }
    }
    for (uint32_t k = 0; k < 3 * count; k++)
        verify_scratch_drop(state, owners[k]);
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

static void reduce_places(struct verify_state *state, struct verify_lanes *lanes, const struct places *places,
                          uint32_t count, const struct verify_value *in, struct verify_value *out)
{
    struct verify_array args[2 * IR_MAX_RANK];
    void *fresh[IR_MAX_RANK];
    struct verify_buffer *owners[2 * IR_MAX_RANK], *marks;
    int64_t *at = verify_scratch(state, (size_t)(places->count + 1) * sizeof *at, &marks);
    for (uint32_t k = 0; k < count; k++) {
        enum ir_element element = (enum ir_element)in[k].type->element;
        fresh[k] = verify_scratch(state, (size_t)(places->count + 1) * IR_ELEMENT_BYTES, &owners[2 * k]);
        args[k] = (struct verify_array){element, false, verify_data(&out[k])};
        args[count + k] = (struct verify_array){
            element, false,
            verify_scratch(state, (size_t)(places->count + 1) * IR_ELEMENT_BYTES, &owners[2 * k + 1])};
        memset((void *)(uintptr_t)args[count + k].data, 0, (size_t)(places->count + 1) * IR_ELEMENT_BYTES);
    }
    for (int64_t position = 0; position < places->positions; position++) {
        for (int64_t i = 0; i < places->count; i++)
            at[i] = place(places, i, position);
        for (uint32_t k = 0; k < count; k++)
            collect(verify_element_size(args[k].element), verify_data(&in[k]), at, places->count,
                    (void *)(uintptr_t)args[count + k].data);
        verify_lanes_run(lanes, args, places->count, fresh);
        for (uint32_t k = 0; k < count; k++)
            keep_marked(verify_element_size(args[k].element), fresh[k], at, places->count,
                        verify_data(&out[k]));
    }
    for (uint32_t k = 0; k < 2 * count; k++)
        verify_scratch_drop(state, owners[k]);
    verify_scratch_drop(state, marks);
}

enum error_code verify_eval_reduce_window(struct verify_state *state, uint32_t op, struct verify_value *in,
                                          struct verify_value *out, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    uint32_t count = ir_op->operand_count / 2;
    struct places places = {0};
    struct verify_lanes *lanes = NULL;
    if (count < 1 || count > IR_MAX_RANK || ir_op->result_count != count ||
        ir_reduce_window(state->program, op, &places.window) != 0 ||
        !places_make(state, &places, in->type, out->type))
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operands, results and window do not fit");
    for (uint32_t k = 0; k < count; k++) {
        if (verify_type_count(state, in[k].type) != verify_type_count(state, in->type) ||
            in[k].type->element != out[k].type->element || verify_type_count(state, in[count + k].type) != 1)
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operand %u does not fit", k);
        verify_value_dense(state, &in[k]);
    }
    enum error_code code = verify_lanes_create(state, op, 0, &lanes, e);
    for (uint32_t k = 0; k < count && !code; k++) {
        verify_value_share(&out[k], &in[count + k]);
        out[k].splat = true;
        verify_value_dense(state, &out[k]);
    }
    uint32_t along;
    bool backwards;
    if (!code && verify_window_runs(&places.window, places.in, &along, &backwards))
        reduce_running(state, lanes, &places, along, backwards, count, in, out);
    else if (!code)
        reduce_places(state, lanes, &places, count, in, out);
    verify_lanes_destroy(state, lanes);
    return code;
}

/* the operand offset that each window selects, -1 for a window wholly on padding */
static void select_places(struct verify_state *state, struct verify_lanes *select,
                          const struct places *places, const struct verify_value *operand, int64_t *chosen)
{
    enum ir_element element = (enum ir_element)operand->type->element;
    size_t size = verify_element_size(element);
    struct verify_buffer *owners[4];
    int64_t *at = verify_scratch(state, (size_t)(places->count + 1) * sizeof *at, &owners[0]);
    char *best = verify_scratch(state, (size_t)(places->count + 1) * IR_ELEMENT_BYTES, &owners[1]);
    char *other = verify_scratch(state, (size_t)(places->count + 1) * IR_ELEMENT_BYTES, &owners[2]);
    uint8_t *keep = verify_scratch(state, (size_t)(places->count + 1), &owners[3]);
    memset(best, 0, (size_t)(places->count + 1) * IR_ELEMENT_BYTES);
    memset(other, 0, (size_t)(places->count + 1) * IR_ELEMENT_BYTES);
    for (int64_t i = 0; i < places->count; i++)
        chosen[i] = -1;
    for (int64_t position = 0; position < places->positions; position++) {
        struct verify_array args[2] = {{element, false, best}, {element, false, other}};
        void *results[1] = {keep};
        for (int64_t i = 0; i < places->count; i++)
            at[i] = place(places, i, position);
        collect(size, verify_data(operand), at, places->count, other);
        verify_lanes_run(select, args, places->count, results);
        for (int64_t i = 0; i < places->count; i++)
            if (at[i] >= 0 && (chosen[i] < 0 || !keep[i])) {
                chosen[i] = at[i];
                memcpy(best + (size_t)i * size, other + (size_t)i * size, size);
            }
    }
    for (int i = 0; i < 4; i++)
        verify_scratch_drop(state, owners[i]);
}

enum error_code verify_eval_select_and_scatter(struct verify_state *state, uint32_t op,
                                               struct verify_value *in, struct verify_value *out,
                                               struct error *e)
{
    struct places places = {0};
    struct verify_lanes *select = NULL, *scatter = NULL;
    if (state->program->ops[op].operand_count != 3 ||
        ir_select_and_scatter(state->program, op, &places.window) != 0 ||
        !places_make(state, &places, in[0].type, in[1].type) || in[0].type->element != out->type->element)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operands and window do not fit");
    enum error_code code = verify_lanes_create(state, op, 0, &select, e);
    code = code ? code : verify_lanes_create(state, op, 1, &scatter, e);
    if (!code) {
        struct verify_buffer *owner;
        int64_t *chosen = verify_scratch(state, (size_t)(places.count + 1) * sizeof *chosen, &owner);
        enum ir_element element = (enum ir_element)out->type->element;
        size_t size = verify_element_size(element);
        verify_value_dense(state, &in[0]);
        verify_value_dense(state, &in[1]);
        verify_value_share(out, &in[2]);
        out->splat = true;
        verify_value_dense(state, out);
        select_places(state, select, &places, in, chosen);
        for (int64_t i = 0; i < places.count; i++) {
            if (chosen[i] < 0)
                continue;
            void *to = (char *)verify_data(out) + (size_t)chosen[i] * size;
            struct verify_array args[2] = {{element, false, to},
                                           {element, false, (char *)verify_data(&in[1]) + (size_t)i * size}};
            void *results[1] = {to};
            verify_lanes_run(scatter, args, 1, results);
        }
        verify_scratch_drop(state, owner);
    }
    verify_lanes_destroy(state, select);
    verify_lanes_destroy(state, scatter);
    return code;
}
