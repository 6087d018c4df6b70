/* Collectives: with the operands of every device at hand, each is a few copies or one sum.
 *
 * The style (interpret.h) is settled by the first collective. Groups must hold every device exactly once.
 * Where all members of a group get the same result (all_gather, all_reduce), it is one buffer that they
 * share, so that what follows is again computed once. Refused is what XLA refuses, and what would
 * deadlock. */
#include "verify/value.h"

#include <stdlib.h>
#include <string.h>

struct groups {
    int64_t *ids;
    uint32_t count, size; /* rows x columns, -1 pads a row */
};

static int64_t channel_of(const struct verify_state *state, uint32_t op)
{
    const struct ir_attr *attr = ir_attr_find(state->program, op, "channel_handle");
    const char *text = attr && attr->kind == IR_ATTR_TEXT
                           ? strstr(ir_string(state->program, attr->first), "handle = ")
                           : NULL;
    if (attr && attr->kind == IR_ATTR_INT)
        return attr->value;
    return text ? strtoll(text + strlen("handle = "), NULL, 10) : 0;
}

static enum error_code settle(struct verify_state *state, uint32_t op, enum verify_style style,
                              struct error *e)
{
    static const char *const names[] = {"any", "replica", "partition"};
    if (state->style == VERIFY_STYLE_ANY)
        state->style = style;
    if (state->style != style)
        return verify_fail(
            state, op, ERROR_INVALID_MODULE, e,
            "a %s-style collective in a %s-style module: XLA would silently compute something else",
            names[style], names[state->style]);
    return ERROR_OK;
}

/* which style a collective is written in; refuses what XLA refuses */
static enum error_code check_style(struct verify_state *state, uint32_t op, struct error *e)
{
    enum ir_opcode code = (enum ir_opcode)state->program->ops[op].code;
    int64_t channel = channel_of(state, op);
    bool global = ir_attr_find(state->program, op, "use_global_device_ids") != NULL;
    bool needs_global = code == IR_ALL_GATHER || code == IR_ALL_REDUCE || code == IR_REDUCE_SCATTER;
    if (code == IR_PARTITION_ID)
        return settle(state, op, VERIFY_STYLE_PARTITION, e);
    if (code == IR_REPLICA_ID)
        return settle(state, op, VERIFY_STYLE_REPLICA, e);
    if (global && channel <= 0)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                           "channel_id must be positive when use_global_device_ids is set");
    if (channel > 0 && needs_global && !global)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                           "a channel without use_global_device_ids groups replicas and partitions together: "
                           "not interpreted");
    return settle(state, op, channel > 0 ? VERIFY_STYLE_PARTITION : VERIFY_STYLE_REPLICA, e);
}

static enum error_code groups_of(struct verify_state *state, uint32_t op, uint32_t devices,
                                 struct groups *groups, struct error *e)
{
    unsigned char *seen = mem_zalloc(devices + 1, 1);
    uint32_t covered = 0;
    bool fits = true;
    groups->ids = ir_matrix(state->program, op, "replica_groups", &groups->count, &groups->size);
    if (!groups->ids || (size_t)groups->count * groups->size == 0) { /* empty: one group of all */
        const struct ir_attr *attr = ir_attr_find(state->program, op, "replica_groups");
        free(groups->ids);
        groups->count = 1;
        groups->size = devices;
        groups->ids = mem_alloc((devices + 1) * sizeof *groups->ids);
        for (uint32_t d = 0; d < devices; d++)
            groups->ids[d] = d;
        if (attr && attr->kind == IR_ATTR_TEXT) {
            free(seen);
            return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "replica groups %.60s are not interpreted",
                               ir_string(state->program, attr->first));
        }
    }
    for (uint32_t i = 0; i < groups->count * groups->size; i++) {
        if (groups->ids[i] == -1)
            continue;
        fits = fits && groups->ids[i] >= 0 && groups->ids[i] < devices && !seen[groups->ids[i]];
        if (fits) {
            seen[groups->ids[i]] = 1;
            covered++;
        }
    }
    free(seen);
    if (!fits || covered != devices)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                           "replica_groups must hold each of %u devices exactly once", devices);
    return ERROR_OK;
}

static uint32_t group_size(const struct groups *groups, uint32_t row)
{
    uint32_t n = 0;
    while (n < groups->size && groups->ids[row * groups->size + n] >= 0)
        n++;
    return n;
}

/* Copies between a part (shape of `from`) and its place in the whole, at an offset along `dim`;
 * either way. */
static void copy_part(const struct verify_state *state, const struct ir_type *part,
                      const struct ir_type *whole, uint32_t dim, int64_t at, void *whole_data,
                      void *part_data, bool into_whole)
{
    int64_t wide[IR_MAX_RANK], narrow[IR_MAX_RANK];
    size_t size = verify_element_size((enum ir_element)part->element);
    verify_strides(whole->rank, ir_type_dims(state->program, whole), wide);
    verify_strides(part->rank, ir_type_dims(state->program, part), narrow);
    char *place = (char *)whole_data + at * wide[dim] * (int64_t)size;
    if (into_whole)
        verify_copy(size, part->rank, ir_type_dims(state->program, part), place, wide, part_data, narrow);
    else
        verify_copy(size, part->rank, ir_type_dims(state->program, part), part_data, narrow, place, wide);
}

/* whether `whole` is `part` with dimension `dim` times n */
static bool scales(const struct verify_state *state, const struct ir_type *part, const struct ir_type *whole,
                   int64_t dim, int64_t n)
{
    if (part->rank != whole->rank || part->element != whole->element || dim < 0 || dim >= part->rank)
        return false;
    for (uint32_t i = 0; i < part->rank; i++)
        if (ir_type_dims(state->program, part)[i] * (i == (uint32_t)dim ? n : 1) !=
            ir_type_dims(state->program, whole)[i])
            return false;
    return true;
}

static enum error_code all_gather(struct verify_state *state, uint32_t op, uint32_t devices,
                                  const int64_t *ids, uint32_t n, struct verify_value *in,
                                  struct verify_value *out, struct error *e)
{
    int64_t dim = ir_int(state->program, op, "all_gather_dim", -1);
    for (uint32_t i = 0; i < state->program->ops[op].operand_count; i++) {
        struct verify_value *parts = in + i * devices, *wholes = out + i * devices;
        if (!scales(state, parts->type, wholes->type, dim, n))
            return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                               "result %u is not operand times %u along dimension %lld", i, n,
                               (long long)dim);
        struct verify_value *first = &wholes[ids[0]];
        verify_value_alloc(state, first, false);
        for (uint32_t k = 0; k < n; k++) {
            struct verify_value *from = &parts[ids[k]];
            verify_value_dense(state, from);
            copy_part(state, from->type, wholes->type, (uint32_t)dim,
                      k * ir_type_dims(state->program, from->type)[dim], verify_data(first),
                      verify_data(from), true);
        }
        for (uint32_t k = 1; k < n; k++)
            verify_value_share(&wholes[ids[k]], first);
    }
    return ERROR_OK;
}

/* the group's combination of operand i, dense; sums of floats in double over the devices in group order */
static enum error_code combine(struct verify_state *state, uint32_t op, const int64_t *ids, uint32_t n,
                               struct verify_value *value, struct verify_value *out, struct error *e)
{
    enum ir_element element = (enum ir_element)value->type->element;
    enum ir_opcode reducer = ir_region_reducer(state->program, op, 0);
    int64_t count = verify_type_count(state, value->type);
    struct verify_lanes *lanes = NULL;
    out->type = value->type;
    for (uint32_t k = 0; k < n; k++)
        verify_value_dense(state, &value[ids[k]]);
    if (reducer == IR_ADD && verify_store_of(element) == VERIFY_F32) {
        verify_value_alloc(state, out, false);
        for (int64_t i = 0; i < count; i++) {
            double sum = 0;
            for (uint32_t k = 0; k < n; k++)
                sum += (double)((const float *)verify_data(&value[ids[k]]))[i];
            ((float *)verify_data(out))[i] = (float)sum;
        }
        verify_round_all(element, verify_data(out), count);
        return ERROR_OK;
    }
    enum error_code code = verify_lanes_create(state, op, 0, &lanes, e);
    if (!code) {
        verify_value_alloc(state, out, false);
        memcpy(verify_data(out), verify_data(&value[ids[0]]), (size_t)count * verify_element_size(element));
        void *results[1] = {verify_data(out)};
        for (uint32_t k = 1; k < n; k++) {
            struct verify_array args[2] = {{element, false, results[0]},
                                           {element, false, verify_data(&value[ids[k]])}};
            verify_lanes_run(lanes, args, count, results);
        }
    }
    verify_lanes_destroy(state, lanes);
    return code;
}

static enum error_code all_reduce(struct verify_state *state, uint32_t op, uint32_t devices,
                                  const int64_t *ids, uint32_t n, struct verify_value *in,
                                  struct verify_value *out, struct error *e)
{
    for (uint32_t i = 0; i < state->program->ops[op].operand_count; i++) {
        struct verify_value sum = {0}, *value = out + i * devices;
        if (!scales(state, in[i * devices].type, value->type, 0, 1) && in[i * devices].type != value->type)
            return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                               "result %u has another type than its operand", i);
        enum error_code code = combine(state, op, ids, n, in + i * devices, &sum, e);
        if (code)
            return code;
        for (uint32_t k = 0; k < n; k++)
            verify_value_share(&value[ids[k]], &sum);
        verify_value_drop(state, &sum);
    }
    return ERROR_OK;
}

static enum error_code reduce_scatter(struct verify_state *state, uint32_t op, uint32_t devices,
                                      const int64_t *ids, uint32_t n, struct verify_value *in,
                                      struct verify_value *out, struct error *e)
{
    int64_t dim = ir_int(state->program, op, "scatter_dimension", -1);
    for (uint32_t i = 0; i < state->program->ops[op].operand_count; i++) {
        struct verify_value sum = {0}, *value = out + i * devices;
        if (!scales(state, value->type, in[i * devices].type, dim, n))
            return verify_fail(state, op, ERROR_INVALID_MODULE, e,
                               "operand is not result times %u along dimension %lld", n, (long long)dim);
        enum error_code code = combine(state, op, ids, n, in + i * devices, &sum, e);
        if (code)
            return code;
        for (uint32_t k = 0; k < n; k++) {
            verify_value_alloc(state, &value[ids[k]], false);
            copy_part(state, value->type, sum.type, (uint32_t)dim,
                      k * ir_type_dims(state->program, value->type)[dim], verify_data(&sum),
                      verify_data(&value[ids[k]]), false);
        }
        verify_value_drop(state, &sum);
    }
    return ERROR_OK;
}

/* The k-th device of a group gets the k-th block of every member, cut along split_dimension and joined in
 * group order along concat_dimension. */
static enum error_code all_to_all(struct verify_state *state, uint32_t op, uint32_t devices,
                                  const int64_t *ids, uint32_t n, struct verify_value *in,
                                  struct verify_value *out, struct error *e)
{
    int64_t split = ir_int(state->program, op, "split_dimension", -1),
            join = ir_int(state->program, op, "concat_dimension", -1);
    if (ir_int(state->program, op, "split_count", n) != n)
        return verify_fail(state, op, ERROR_INVALID_MODULE, e, "split_count is not the size of a group");
    for (uint32_t i = 0; i < state->program->ops[op].operand_count; i++) {
        struct verify_value *given = in + i * devices, *taken = out + i * devices;
        const int64_t *from = ir_type_dims(state->program, given->type),
                      *to = ir_type_dims(state->program, taken->type);
        int64_t block[IR_MAX_RANK], fs[IR_MAX_RANK], ts[IR_MAX_RANK];
        uint32_t rank = given->type->rank;
        if (split < 0 || split >= rank || join < 0 || join >= rank || taken->type->rank != rank ||
            from[split] % n)
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operand %u cannot be split", i);
        for (uint32_t k = 0; k < rank; k++) {
            block[k] = from[k] / (k == (uint32_t)split ? n : 1);
            if (block[k] * (k == (uint32_t)join ? n : 1) != to[k])
                return verify_fail(state, op, ERROR_INVALID_MODULE, e, "result %u does not fit", i);
        }
        verify_strides(rank, from, fs);
        verify_strides(rank, to, ts);
        int64_t size = (int64_t)verify_element_size((enum ir_element)given->type->element);
        for (uint32_t k = 0; k < n; k++)
            verify_value_dense(state, &given[ids[k]]);
        for (uint32_t me = 0; me < n; me++) {
            verify_value_alloc(state, &taken[ids[me]], false);
            for (uint32_t k = 0; k < n; k++)
                verify_copy((size_t)size, rank, block,
                            (char *)verify_data(&taken[ids[me]]) + k * block[join] * ts[join] * size, ts,
                            (char *)verify_data(&given[ids[k]]) + me * block[split] * fs[split] * size, fs);
        }
    }
    return ERROR_OK;
}

static void zeros(struct verify_state *state, struct verify_value *value)
{
    verify_value_alloc(state, value, true);
    memset(verify_data(value), 0, verify_element_size((enum ir_element)value->type->element));
}

/* collective_permute (source_target_pairs) and collective_broadcast (first of each group); others get zeros
 */
static enum error_code permute(struct verify_state *state, uint32_t op, uint32_t devices,
                               struct verify_value *in, struct verify_value *out, struct error *e)
{
    bool broadcast = state->program->ops[op].code == IR_COLLECTIVE_BROADCAST;
    uint32_t rows = 0, columns = 0;
    int64_t *ids =
        ir_matrix(state->program, op, broadcast ? "replica_groups" : "source_target_pairs", &rows, &columns);
    enum error_code code = ERROR_OK;
    if ((!ids && !broadcast) || (ids && !broadcast && rows && columns != 2))
        code =
            verify_fail(state, op, ERROR_INVALID_MODULE, e, "source_target_pairs are missing or malformed");
    unsigned char *sent = mem_zalloc(devices + 1, 1);
    for (uint32_t i = 0; i < rows && !code; i++)
        for (uint32_t k = broadcast ? 0 : 1; k < columns && !code; k++) {
            int64_t from = ids[i * columns], to = ids[i * columns + k];
            if (to == -1 && broadcast)
                continue;
            if (from < 0 || from >= devices || to < 0 || to >= devices || out[to].buffer ||
                (!broadcast && sent[from]))
                code = verify_fail(state, op, ERROR_INVALID_MODULE, e,
                                   "device %lld or %lld is out of range or named twice", (long long)from,
                                   (long long)to);
            else
                verify_value_share(&out[to], &in[from]);
            if (!code)
                sent[from] = 1;
        }
    for (uint32_t d = 0; d < devices && !code; d++)
        if (!out[d].buffer)
            zeros(state, &out[d]);
    free(sent);
    free(ids);
    return code;
}

static void own_id(struct verify_state *state, uint32_t devices, struct verify_value *out)
{
    for (uint32_t d = 0; d < devices; d++) {
        int64_t id = d;
        verify_value_alloc(state, &out[d], true);
        verify_convert(IR_I64, &id, (enum ir_element)out[d].type->element, verify_data(&out[d]), 1);
    }
}

static enum error_code in_groups(struct verify_state *state, uint32_t op, uint32_t devices,
                                 struct verify_value *in, struct verify_value *out, struct error *e)
{
    struct groups groups = {0};
    enum error_code code = groups_of(state, op, devices, &groups, e);
    for (uint32_t i = 0; i < groups.count && !code; i++) {
        const int64_t *ids = groups.ids + (size_t)i * groups.size;
        uint32_t n = group_size(&groups, i);
        if (n == 0)
            continue;
        switch ((int)state->program->ops[op].code) {
        case IR_ALL_GATHER: code = all_gather(state, op, devices, ids, n, in, out, e); break;
        case IR_ALL_REDUCE: code = all_reduce(state, op, devices, ids, n, in, out, e); break;
        case IR_REDUCE_SCATTER: code = reduce_scatter(state, op, devices, ids, n, in, out, e); break;
        default: code = all_to_all(state, op, devices, ids, n, in, out, e);
        }
    }
    free(groups.ids);
    return code;
}

enum error_code verify_eval_collective(struct verify_state *state, uint32_t op, uint32_t devices,
                                       struct verify_value *in, struct verify_value *out, struct error *e)
{
    const struct ir_op *ir_op = &state->program->ops[op];
    enum error_code code = check_style(state, op, e);
    if (code)
        return code;
    for (uint32_t i = 0; i < ir_op->operand_count * devices; i++)
        if (!in[i].buffer)
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operands must be tensors");
    state->device = 0;
    switch ((int)ir_op->code) {
    case IR_PARTITION_ID:
    case IR_REPLICA_ID: own_id(state, devices, out); return ERROR_OK;
    case IR_COLLECTIVE_PERMUTE:
    case IR_COLLECTIVE_BROADCAST:
        if (ir_op->operand_count != 1 || ir_op->result_count != 1)
            return verify_fail(state, op, ERROR_NOT_AVAILABLE, e, "only one operand is interpreted");
        return permute(state, op, devices, in, out, e);
    default:
        if (ir_op->operand_count != ir_op->result_count)
            return verify_fail(state, op, ERROR_INVALID_MODULE, e, "operands and results differ in number");
        return in_groups(state, op, devices, in, out, e);
    }
}
