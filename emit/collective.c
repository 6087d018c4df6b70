/* Reshard steps as collectives.
 *
 * A collective works on one dim of an array. An atom that is the outermost one with more than one element
 * left in its dim is moved along the dim itself; any other along a view of the value as an array of its
 * atoms. Several steps of one combined collective become one op, over a tuple or over one array that holds
 * them all. */
#include "emit/build.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct move { /* one member: operand and result, and the step's axes */
    const struct spmd_step *step;
    uint32_t origin;
    const struct spmd_form *from, *to;
    struct emit_tensor tensor;
    uint32_t result;
};

static struct emit_axes step_axes(const struct spmd_step *step)
{
    struct emit_axes axes = {.count = step->axis_count};
    memcpy(axes.at, step->axes, step->axis_count);
    return axes;
}

/* attributes that say who takes part; returns how many */
static uint32_t participants(struct emit *e, const struct emit_axes *axes, bool global_ids,
                             struct ir_attr *out)
{
    uint32_t n = 0;
    out[n++] = emit_replica_groups(e, axes);
    if (e->output == EMIT_MANUAL) {
        char text[80];
        snprintf(text, sizeof text, "#stablehlo.channel_handle<handle = %lld, type = 1>",
                 (long long)++e->channel);
        out[n++] = ir_build_named(e->builder, "channel_handle", ir_build_text(e->builder, text));
        if (global_ids)
            out[n++] = ir_build_named(e->builder, "use_global_device_ids", ir_build_unit(e->builder));
    }
    return n;
}

static struct ir_attr dim_attr(struct emit *e, const char *name, int64_t value)
{
    return ir_build_named(e->builder, name, ir_build_int(e->builder, value, "i64"));
}

/* One collective op over tensors whose results have the given sizes; xs become the results. */
static void build(struct emit *e, const char *name, struct emit_tensor *xs, uint32_t count,
                  int64_t (*dims)[EMIT_MAX_RANK], const struct ir_attr *attrs, uint32_t attr_count,
                  enum nda_reducer reducer)
{
    uint32_t *values = mem_alloc(2 * count * sizeof *values), *types = values + count;
    for (uint32_t i = 0; i < count; i++) {
        values[i] = xs[i].value;
        types[i] = emit_type(e, xs[i].element, xs[i].rank, dims[i]);
    }
    struct ir_op_spec spec = {name, values, count, types, count, attrs, attr_count, emit_position(e)};
    uint32_t op = ir_build_begin(e->builder, &spec);
    if (reducer != NDA_REDUCE_NONE)
        emit_reducer_region(e, reducer, xs[0].element);
    ir_build_end(e->builder);
    for (uint32_t i = 0; i < count; i++) {
        xs[i].value = ir_builder_result(e->builder, op, i);
        memcpy(xs[i].dims, dims[i], sizeof dims[i]);
    }
    free(values);
}

/* ---------------------------------------------------------------- one array, one dim */
/* The dim along which the atom can be moved as it stands, or -1: outermost in its dim but for atoms of which
 * each device holds one element. A whole dim (boundary forms, always alone) is moved as it stands. */
static int direct_dim(const struct emit *e, const struct move *move, uint8_t atom)
{
    const struct nda_atom *atoms = nda_atoms(e->nda, move->origin);
    if (spmd_is_whole(atom))
        return atom - SPMD_WHOLE;
    for (uint8_t i = atom; i-- > 0 && atoms[i].dim == atoms[atom].dim;) {
        struct emit_axes axes = emit_atom_axes(e, move->from, i);
        if (atoms[i].size != emit_shards(e, &axes))
            return -1;
    }
    return atoms[atom].dim;
}

/* Works out the view: x becomes an array in which `atom` (and `to_atom`) are moved along *dim (and *to_dim).
 */
static void view(struct emit *e, struct move *move, uint8_t atom, uint8_t to_atom, uint32_t *dim,
                 uint32_t *to_dim)
{
    int d = atom == SPMD_NO_ATOM ? 0 : direct_dim(e, move, atom);
    int t = to_atom == SPMD_NO_ATOM ? 0 : direct_dim(e, move, to_atom);
    bool both = atom != SPMD_NO_ATOM && to_atom != SPMD_NO_ATOM;
    if (d < 0 || t < 0 || (both && d == t)) {
        move->tensor = emit_to_atoms(e, move->tensor, move->origin, move->from);
        d = atom;
        t = to_atom;
    }
    *dim = (uint32_t)d;
    *to_dim = (uint32_t)t;
}

static void finish(struct emit *e, struct move *move)
{
    move->tensor = emit_from_atoms(e, move->tensor, move->origin, move->to);
    e->value_of[move->result] = move->tensor.value;
}

static void single(struct emit *e, struct move *move)
{
    const struct spmd_step *step = move->step;
    struct emit_axes axes = step_axes(step);
    int64_t devices = emit_shards(e, &axes), dims[1][EMIT_MAX_RANK];
    struct ir_attr attrs[8];
    uint32_t dim = 0, to_dim = 0, n = participants(e, &axes, step->kind != SPMD_ALL_TO_ALL, attrs);
    if (step->kind != SPMD_ALL_REDUCE)
        view(e, move, step->kind == SPMD_REDUCE_SCATTER ? SPMD_NO_ATOM : step->atom,
             step->kind == SPMD_ALL_GATHER ? SPMD_NO_ATOM : step->to_atom, &dim, &to_dim);
    memcpy(dims[0], move->tensor.dims, sizeof dims[0]);
    if (step->kind == SPMD_ALL_GATHER) {
        dims[0][dim] *= devices;
        attrs[n++] = dim_attr(e, "all_gather_dim", dim);
        build(e, "stablehlo.all_gather", &move->tensor, 1, dims, attrs, n, NDA_REDUCE_NONE);
    } else if (step->kind == SPMD_ALL_TO_ALL) {
        dims[0][dim] *= devices;
        dims[0][to_dim] /= devices;
        attrs[n++] = dim_attr(e, "split_dimension", to_dim);
        attrs[n++] = dim_attr(e, "concat_dimension", dim);
        attrs[n++] = dim_attr(e, "split_count", devices);
        build(e, "stablehlo.all_to_all", &move->tensor, 1, dims, attrs, n, NDA_REDUCE_NONE);
    } else if (step->kind == SPMD_REDUCE_SCATTER) {
        dims[0][to_dim] /= devices;
        attrs[n++] = dim_attr(e, "scatter_dimension", to_dim);
        build(e, "stablehlo.reduce_scatter", &move->tensor, 1, dims, attrs, n,
              (enum nda_reducer)step->reducer);
    } else {
        build(e, "stablehlo.all_reduce", &move->tensor, 1, dims, attrs, n, (enum nda_reducer)step->reducer);
    }
    finish(e, move);
}

/* ---------------------------------------------------------------- several arrays, one op */
static int64_t elements(const struct emit_tensor *tensor)
{
    int64_t n = 1;
    for (uint32_t dim = 0; dim < tensor->rank; dim++)
        n *= tensor->dims[dim];
    return n;
}

static struct emit_tensor rows(struct emit *e, struct emit_tensor tensor, int64_t count)
{
    int64_t dims[2] = {count, elements(&tensor) / count};
    return emit_reshape(e, tensor, 2, dims);
}

/* [.., n, ..] of atoms -> [devices, rest], row i being block i of the atom */
static struct emit_tensor split_rows(struct emit *e, const struct move *move, int64_t devices)
{
    struct emit_tensor tensor = emit_to_atoms(e, move->tensor, move->origin, move->from);
    int64_t dims[EMIT_MAX_RANK], order[EMIT_MAX_RANK];
    uint8_t atom = move->step->to_atom;
    uint32_t n = 0, rank = tensor.rank + 1;
    for (uint32_t dim = 0; dim < tensor.rank; dim++) {
        if (dim == atom)
            dims[n++] = devices;
        dims[n++] = dim == atom ? tensor.dims[dim] / devices : tensor.dims[dim];
    }
    order[0] = atom;
    for (uint32_t dim = 0, k = 1; dim < rank; dim++)
        if (dim != atom)
            order[k++] = dim;
    return rows(e, emit_transpose(e, emit_reshape(e, tensor, rank, dims), order), devices);
}

/* the inverse for `atom` of the result: row i becomes block i of the atom */
static void join_rows(struct emit *e, struct move *move, int64_t devices, uint8_t atom)
{
    const struct nda_atom *atoms = nda_atoms(e->nda, move->origin);
    uint32_t count = nda_atom_count(e->nda, move->origin), n = 1;
    int64_t dims[EMIT_MAX_RANK], order[EMIT_MAX_RANK];
    dims[0] = devices;
    for (uint32_t i = 0; i < count; i++) {
        struct emit_axes axes = emit_atom_axes(e, move->to, (uint8_t)i);
        dims[n++] = atoms[i].size / emit_shards(e, &axes) / (i == atom ? devices : 1);
    }
    for (uint32_t d = 0; d < n; d++)
        order[d] = d < atom ? d + 1 : d == atom ? 0 : d;
    move->tensor = emit_transpose(e, emit_reshape(e, move->tensor, n, dims), order);
    finish(e, move);
}

/* what a member brings: its rows, [devices, rest] where blocks go apart, [1, all] where the whole goes */
static struct emit_tensor member_rows(struct emit *e, const struct move *move, int64_t devices)
{
    bool apart = move->step->kind == SPMD_REDUCE_SCATTER || move->step->kind == SPMD_ALL_TO_ALL;
    return apart ? split_rows(e, move, devices) : rows(e, move->tensor, 1);
}

static void member_result(struct emit *e, struct move *move, struct emit_tensor tensor, int64_t devices)
{
    move->tensor = tensor;
    if (move->step->kind == SPMD_REDUCE_SCATTER || move->step->kind == SPMD_ALL_REDUCE)
        finish(e, move);
    else
        join_rows(e, move, devices, move->step->atom);
}

static const char *const names[] = {
    [SPMD_ALL_GATHER] = "stablehlo.all_gather",
    [SPMD_ALL_REDUCE] = "stablehlo.all_reduce",
    [SPMD_REDUCE_SCATTER] = "stablehlo.reduce_scatter",
    [SPMD_ALL_TO_ALL] = "stablehlo.all_to_all",
};

/* rows -> rows of the result, along dim 0 */
static int64_t result_rows(uint8_t kind, int64_t devices)
{
    return kind == SPMD_REDUCE_SCATTER || kind == SPMD_ALL_REDUCE ? 1 : devices;
}

enum { MADE_HOPS = 4 }; /* ops between a sum or product and what is reduced of it */

/* the op of the family whose result the value is, or is computed from elementwise; IR_NONE */
static uint32_t made_by(const struct emit *e, uint32_t value, enum ir_family wanted)
{
    const struct ir_program *program = e->nda->program;
    uint32_t by = program->values[value].op;
    for (int hop = 0; hop < MADE_HOPS && by != IR_NONE; hop++) {
        enum ir_family family = ir_opcode_family((enum ir_opcode)program->ops[by].code);
        if (family == wanted)
            return by;
        if (family != IR_FAMILY_ELEMENTWISE && family != IR_FAMILY_RESHAPE && family != IR_FAMILY_TRANSPOSE)
            return IR_NONE;
        by = program->values[ir_operand(program, by, 0)].op;
    }
    return IR_NONE;
}

/* Is the value the gradient of a convolution's kernel? Its window is an image, its result as large as the
 * kernel's window was. */
static bool is_kernel_gradient(const struct emit *e, uint32_t value)
{
    const struct ir_program *program = e->nda->program;
    uint32_t op = made_by(e, value, IR_FAMILY_CONVOLUTION);
    struct ir_conv conv;
    if (op == IR_NONE || ir_conv(program, op, &conv) != 0)
        return false;
    const int64_t *dims = ir_type_dims(program, ir_value_type(program, ir_result(program, op, 0)));
    double window = 1, result = 1;
    for (uint32_t i = 0; i < conv.window.size.count; i++) {
        window *= (double)conv.window.size.at[i];
        result *= (double)dims[conv.output_spatial.at[i]];
    }
    return window > result;
}

/* A sum in a kernel with the concatenation that it goes into is one thread's work for each element: on an
 * H200 1.15 ms for the bias of 7,680 columns beside its weights, 0.02 in a kernel of its own. */
static void keep_sums_apart(struct emit *e, const struct move *moves, struct emit_tensor *xs, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (made_by(e, moves[i].origin, IR_FAMILY_REDUCE) != IR_NONE)
            xs[i] = emit_one(e, "stablehlo.optimization_barrier", &xs[i], 1, xs[i].element, xs[i].rank,
                             xs[i].dims, NULL, 0);
}

/* Does the compiler want the operand of the array's own collective in an order of its own, which all that the
 * operand is computed of, or the result goes into, has to follow? As rows it lies as the program has it.
 *
 * XLA:GPU has the dim that an all_to_all splits outermost in memory (rows have it so): on an H100's schedule
 * 1.9 ms of 50, turned values and sums of rows that lie apart. What cuDNN gives of a convolution's kernel has
 * the kernel's output features outermost, and so an all_reduce of it, whose result each update turns; since
 * what is turned is not written in place, XLA copied all moments of a U-Net before their updates, 16.8 of 59
 * GB (input_transpose_fusion and copies in its final HLO, data parallel on 16 H100). */
static bool wants_rows(const struct emit *e, const struct move *move)
{
    const struct spmd_step *step = move->step;
    if (!e->keeps_layouts)
        return false;
    if (step->kind == SPMD_ALL_REDUCE)
        return is_kernel_gradient(e, move->origin);
    return step->kind == SPMD_ALL_TO_ALL && !spmd_is_whole(step->atom) && !spmd_is_whole(step->to_atom) &&
           direct_dim(e, move, step->to_atom) != 0;
}

/* Several arrays, or rows of one (wants_rows), in one op. all_reduce and all_gather take several operands,
 * but not inside a manual_computation: Shardy gives their results one tuple of shardings, which XLA refuses
 * ("Sharding is tuple-shaped but validation shape is not"). There, and where an op takes one operand only,
 * the rows of all stand in one array. */
static void together(struct emit *e, struct move *moves, uint32_t count)
{
    const struct spmd_step *step = moves[0].step;
    struct emit_axes axes = step_axes(step);
    int64_t devices = emit_shards(e, &axes), at = 0;
    bool tuple = e->output == EMIT_LOCAL && (step->kind == SPMD_ALL_REDUCE || step->kind == SPMD_ALL_GATHER);
    int64_t(*dims)[EMIT_MAX_RANK] = mem_zalloc(count, sizeof *dims);
    struct emit_tensor *xs = mem_alloc(count * sizeof *xs), all;
    struct ir_attr attrs[8];
    uint32_t n = participants(e, &axes, step->kind != SPMD_ALL_TO_ALL, attrs);
    if (step->kind == SPMD_ALL_GATHER)
        attrs[n++] = dim_attr(e, "all_gather_dim", 0);
    if (step->kind == SPMD_REDUCE_SCATTER)
        attrs[n++] = dim_attr(e, "scatter_dimension", 0);
    if (step->kind == SPMD_ALL_TO_ALL) {
        attrs[n++] = dim_attr(e, "split_dimension", 0);
        attrs[n++] = dim_attr(e, "concat_dimension", 0);
        attrs[n++] = dim_attr(e, "split_count", devices);
    }
    bool reduces = step->kind == SPMD_REDUCE_SCATTER || step->kind == SPMD_ALL_REDUCE;
    enum nda_reducer reducer = reduces ? (enum nda_reducer)step->reducer : NDA_REDUCE_NONE;
    for (uint32_t i = 0; i < count; i++) {
        bool as_it_is = tuple && reduces && !wants_rows(e, &moves[i]);
        xs[i] = as_it_is ? moves[i].tensor : member_rows(e, &moves[i], devices);
        memcpy(dims[i], xs[i].dims, sizeof dims[i]);
        if (!reduces)
            dims[i][0] = result_rows(step->kind, devices);
    }
    if (tuple) {
        build(e, names[step->kind], xs, count, dims, attrs, n, reducer);
    } else {
        int64_t shape[1][EMIT_MAX_RANK];
        if (count > 1)
            keep_sums_apart(e, moves, xs, count);
        all = emit_concatenate(e, xs, count, 1);
        shape[0][0] = result_rows(step->kind, devices);
        shape[0][1] = all.dims[1];
        build(e, names[step->kind], &all, 1, shape, attrs, n, reducer);
    }
    for (uint32_t i = 0; i < count; at += xs[i++].dims[1])
        member_result(e, &moves[i], tuple ? xs[i] : emit_slice(e, all, 1, at, at + xs[i].dims[1]), devices);
    free(xs);
    free(dims);
}

/* ---------------------------------------------------------------- permutation of blocks */
/* Which device holds, under `from`, the block that device `to_device` has under `to`. Axes that shard nothing
 * in either form keep their coordinate; an axis that stops sharding stands for one that starts, in mesh
 * order. */
static int64_t block_source(const struct emit *e, const struct move *move, int64_t to_device)
{
    int64_t have[MESH_MAX_AXES], want[MESH_MAX_AXES], freed = 0;
    uint32_t count = nda_atom_count(e->nda, move->origin), axes = e->mesh->axis_count;
    for (uint32_t axis = axes; axis-- > 0; to_device /= e->mesh->axes[axis].size)
        want[axis] = have[axis] = to_device % e->mesh->axes[axis].size;
    for (uint32_t i = 0; i < count; i++) {
        struct emit_axes now = emit_atom_axes(e, move->to, (uint8_t)i),
                         before = emit_atom_axes(e, move->from, (uint8_t)i);
        int64_t block = 0;
        for (uint8_t k = 0; k < now.count; k++)
            block = block * e->mesh->axes[now.at[k]].size + want[now.at[k]];
        for (uint8_t k = before.count; k-- > 0; block /= e->mesh->axes[before.at[k]].size)
            have[before.at[k]] = block % e->mesh->axes[before.at[k]].size;
    }
    for (uint32_t axis = 0; axis < axes; axis++)
        if (move->from->at[axis] < SPMD_PARTIAL && move->to->at[axis] >= SPMD_PARTIAL)
            freed = freed * e->mesh->axes[axis].size + want[axis];
    for (uint32_t axis = axes; axis-- > 0;)
        if (move->from->at[axis] >= SPMD_PARTIAL && move->to->at[axis] < SPMD_PARTIAL) {
            have[axis] = freed % e->mesh->axes[axis].size;
            freed /= e->mesh->axes[axis].size;
        }
    int64_t device = 0;
    for (uint32_t axis = 0; axis < axes; axis++)
        device = device * e->mesh->axes[axis].size + have[axis];
    return device;
}

static enum error_code permute(struct emit *e, struct move *move, struct error *error)
{
    const struct nda_atom *atoms = nda_atoms(e->nda, move->origin);
    for (uint32_t i = 0; i < nda_atom_count(e->nda, move->origin); i++) {
        struct emit_axes from = emit_atom_axes(e, move->from, (uint8_t)i),
                         to = emit_atom_axes(e, move->to, (uint8_t)i);
        if (emit_shards(e, &from) != emit_shards(e, &to))
            return emit_reject(e, error,
                               "a permutation of blocks would change the local size of dimension %d",
                               atoms[i].dim);
    }
    int64_t devices = mesh_devices(e->mesh), *pairs = mem_alloc((size_t)devices * 2 * sizeof *pairs);
    for (int64_t d = 0; d < devices; d++) {
        pairs[2 * d] = block_source(e, move, d);
        pairs[2 * d + 1] = d;
    }
    int64_t shape[2] = {devices, 2}, dims[1][EMIT_MAX_RANK];
    struct ir_attr attrs[8];
    struct emit_axes none = {0};
    uint32_t type = emit_type(e, IR_I64, 2, shape), n = participants(e, &none, false, attrs);
    attrs[0] =
        ir_build_named(e->builder, "source_target_pairs",
                       ir_build_dense(e->builder, type, pairs, (size_t)devices * 2 * sizeof *pairs, false));
    free(pairs);
    memcpy(dims[0], move->tensor.dims, sizeof dims[0]);
    build(e, "stablehlo.collective_permute", &move->tensor, 1, dims, attrs, n, NDA_REDUCE_NONE);
    finish(e, move);
    return ERROR_OK;
}

/* the group's first device keeps x, the others have the reducer's neutral value */
static enum error_code mask(struct emit *e, struct move *move, struct error *error)
{
    struct emit_axes axes = step_axes(move->step);
    struct emit_tensor identity;
    if (!move->step->mask_initial)
        return ERROR_OK;
    if (!emit_identity(e, (enum nda_reducer)move->step->reducer, move->tensor.element, move->tensor.rank,
                       move->tensor.dims, &identity))
        return emit_reject(e, error, "no neutral element of this reducer for element type %s",
                           ir_element_name(move->tensor.element));
    move->tensor = emit_select(e, emit_is_first(e, &axes), move->tensor, identity);
    return ERROR_OK;
}

enum error_code emit_collective(struct emit *e, uint32_t first, uint32_t count, struct error *error)
{
    struct move *moves = mem_zalloc(count, sizeof *moves);
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; i < count && !code; i++) {
        const struct spmd_step *entry = &e->local->steps[first + i];
        uint32_t operand = spmd_operand(e->local, entry, 0);
        moves[i] = (struct move){entry,
                                 e->local->values[operand].origin,
                                 &e->local->values[operand].form,
                                 &e->local->values[entry->results].form,
                                 emit_local_tensor(e, operand),
                                 entry->results};
        e->op = entry->op;
        if (nda_atom_count(e->nda, moves[i].origin) >= EMIT_MAX_RANK)
            code = emit_reject(e, error, "a value has more than %d atomic factors", EMIT_MAX_RANK - 1);
    }
    const struct spmd_step *step = &e->local->steps[first];
    e->moved = moves->origin; /* of several that go together the first */
    if (code)
        ;
    else if (step->kind == SPMD_SLICE && spmd_is_whole(step->to_atom))
        moves->tensor = emit_keep_range(e, moves->tensor, moves->to, step->to_atom);
    else if (step->kind == SPMD_SLICE)
        code =
            emit_keep_block(e, moves->tensor, moves->origin, moves->from, moves->to, &moves->tensor, error);
    else if (step->kind == SPMD_MASK)
        code = mask(e, moves, error);
    else if (step->kind == SPMD_PERMUTE)
        code = permute(e, moves, error);
    else if (count == 1 && !wants_rows(e, moves))
        single(e, moves);
    else
        together(e, moves, count);
    if (!code && (step->kind == SPMD_SLICE || step->kind == SPMD_MASK))
        e->value_of[moves->result] = moves->tensor.value;
    e->moved = IR_NONE;
    free(moves);
    return code;
}
