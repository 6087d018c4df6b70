/* Where a compiler turns a value in memory so that its elements lie far apart when they are read.
 *
 * A dot writes its result as [batch, left, right]. A transpose behind it moves nothing: what is computed from
 * it elementwise has its dimensions in the dot's order, too.
 *
 *     dot [b, t, s, h] --transpose--> [b, h, s, t] --softmax--> p, in memory [b, t, s, h] --> dot over t
 *
 * The dot that reads p takes [b, t, (h s)] or [b, (h s), t], where (h s) is one run in this order. Memory has
 * neither, so the kernel that makes p writes [b, t, h, s]; where a batch dimension has length 1 on a device,
 * and the dot is simplified to one without it, [h, s, t]. It turns tiles of the two innermost dimensions in
 * shared memory when both are long enough; of elements of two bytes and fewer also when one is short and the
 * dimension outside of both fills the tile with it. Else threads that follow one another read elements that
 * lie apart, and each costs a whole transaction of the memory. Where an elementwise op reads two values of
 * different orders, the later one is turned into the order of the earlier one, and stored in float32 if that
 * is what is read (gradients of scores that a softmax has in another order). A row that does not lie
 * innermost stays in no kernel: its maximum, its sum and what is made of them take one each.
 *
 * A later dot of several batch dimensions that wants another order of what a first one has turned has it made
 * anew, in a kernel that reads what the first one's read; with one batch dimension both read the same array.
 * Where rows or columns are sharded what is made is stored in the order it is made in, and turned for each.
 *
 * Facts of the program, found once: per dot, the operands and the result that are turned; per reduction,
 * whether its rows lie innermost. Sizes are of a device, so what is long enough is found per pricing. Nothing
 * here makes a kernel or a buffer.
 *
 * Source: XLA:GPU's layout assignment and dot decomposer (orders), its transpose emitters (tiles, packed
 * tiles), its coalescing analysis (transactions). */
#include "cost/internal.h"

#include "ir/attrs.h"

#include <stdlib.h>
#include <string.h>

enum { ORDER_DIMS = 8 };
/* dimensions of a value from the outermost to the innermost one */
struct order {
    uint8_t at[ORDER_DIMS];
    uint8_t rank;   /* 0: of a scalar or of more than ORDER_DIMS, of which nothing is known */
    bool any;       /* constants and broadcasts: as their reader wants it */
    bool computed;  /* elementwise: its kernel can write another order */
    uint32_t birth; /* 1 + the op whose order it has; 0: an argument's */
    uint32_t dot;   /* 1 + the dot of whose result alone it was computed; 0: of none */
};

struct orders {
    struct price_program *out;
    const struct ir_program *program;
    struct order *values; /* per value */
    struct order *turned; /* per value: the order that a dot has had it turned into; of rank 0: none has */
};

static struct order plain_order(const struct ir_program *program, uint32_t value, uint32_t birth)
{
    uint16_t rank = ir_value_type(program, value)->rank;
    struct order order = {.rank = (uint8_t)(rank > ORDER_DIMS ? 0 : rank), .birth = birth};
    for (uint8_t dim = 0; dim < order.rank; dim++)
        order.at[dim] = dim;
    return order;
}

/* ---------------------------------------------------------------- what is turned */
/* the dimensions of `order` at its place `last` and outwards, as bits, that stand in `beside` in the same
 * sequence */
static uint8_t run_at(const struct order *order, const struct order *beside, int last)
{
    uint8_t run = (uint8_t)(1u << order->at[last]);
    for (int i = last; i > 0; i--) {
        int place = 0;
        while (beside->at[place] != order->at[i])
            place++;
        if (place == 0 || beside->at[place - 1] != order->at[i - 1])
            break;
        run |= (uint8_t)(1u << order->at[i - 1]);
    }
    return run;
}

/* the run of dimensions outside of an innermost run; 0: there is none */
static uint8_t run_outside(const struct order *order, const struct order *beside, uint8_t innermost)
{
    int last = order->rank - 1 - __builtin_popcount(innermost);
    return last < 0 ? 0 : run_at(order, beside, last);
}

/* without the dimensions of one element: compilers remove those first */
static struct order without_thin(const struct ir_program *program, uint32_t value, const struct order *order)
{
    const int64_t *dims = ir_type_dims(program, ir_value_type(program, value));
    struct order thick = *order;
    thick.rank = 0;
    for (uint8_t i = 0; i < order->rank; i++)
        if (dims[order->at[i]] != 1)
            thick.at[thick.rank++] = order->at[i];
    return thick;
}

/* of a value, in its dimensions */
static struct price_turn turn_between(const struct ir_program *program, uint32_t value,
                                      const struct order *before, const struct order *behind)
{
    if (before->rank != behind->rank)
        return (struct price_turn){0, 0, 0};
    struct order from = without_thin(program, value, before), to = without_thin(program, value, behind);
    if (from.rank < 2 || from.at[from.rank - 1] == to.at[to.rank - 1])
        return (struct price_turn){0, 0, 0};
    struct price_turn turn = {run_at(&from, &to, from.rank - 1), run_at(&to, &from, to.rank - 1), 0};
    uint8_t outside = run_outside(&from, &to, turn.from);
    turn.between = outside == run_outside(&to, &from, turn.to) ? outside : 0;
    return turn;
}

static uint8_t append(struct order *order, uint8_t count, const struct ir_dims *dims)
{
    for (uint32_t i = 0; i < dims->count && count < ORDER_DIMS; i++)
        order->at[count++] = (uint8_t)dims->at[i];
    return count;
}

/* a matrix of an operand: batch, rows, columns */
static struct order matrix(const struct ir_dims *batch, const struct ir_dims *rows,
                           const struct ir_dims *columns)
{
    struct order order = {.rank = 0};
    uint8_t count = append(&order, 0, batch);
    count = append(&order, count, rows);
    order.rank = append(&order, count, columns);
    return order;
}

static struct ir_dims other_dims(uint8_t rank, const struct ir_dims *batch, const struct ir_dims *contract)
{
    struct ir_dims others = {.count = 0};
    unsigned taken = 0;
    for (uint32_t i = 0; i < batch->count; i++)
        taken |= 1u << batch->at[i];
    for (uint32_t i = 0; i < contract->count; i++)
        taken |= 1u << contract->at[i];
    for (uint8_t dim = 0; dim < rank; dim++)
        if (!(taken >> dim & 1))
            others.at[others.count++] = dim;
    return others;
}

/* A value that the first dot has turned into another order than this dot wants it in: it is made anew. */
static void make_anew(struct orders *orders, uint32_t op, uint32_t operand, const struct ir_dims *batch)
{
    struct op_info *info = &orders->out->ops[op];
    info->anew = (uint8_t)(operand + 1);
    info->anew_bits = 0;
    for (uint32_t i = 0; i < batch->count; i++)
        info->anew_bits |= (uint8_t)(1u << batch->at[i]);
}

/* an operand that no matrix is, and that an elementwise kernel makes: the first dot that reads it has it
 * turned */
static void turn_operand(struct orders *orders, uint32_t op, uint32_t operand, const struct ir_dims *batch,
                         const struct ir_dims *contract)
{
    uint32_t value = ir_operand(orders->program, op, operand);
    const struct order *order = &orders->values[value];
    if (!order->rank || order->any || !order->computed)
        return;
    struct ir_dims others = other_dims(order->rank, batch, contract);
    struct order left = matrix(batch, &others, contract), right = matrix(batch, contract, &others);
    if (memcmp(order->at, left.at, order->rank) == 0 || memcmp(order->at, right.at, order->rank) == 0)
        return;
    struct op_info *info = &orders->out->ops[op];
    const struct order *wanted = operand ? &right : &left, *first = &orders->turned[value];
    if (first->rank) {
        if (memcmp(first->at, wanted->at, wanted->rank) != 0)
            make_anew(orders, op, operand, batch);
        return;
    }
    orders->turned[value] = *wanted;
    info->turns[operand] = turn_between(orders->program, value, order, wanted);
    if (operand == 0)
        return;
    info->thin_turn = turn_between(orders->program, value, order, &left);
    for (uint32_t i = 0; i < batch->count; i++)
        info->batch_bits |= (uint8_t)(1u << batch->at[i]);
}

/* ---------------------------------------------------------------- the order of each op's results */
static struct order dot_order(struct orders *orders, uint32_t op)
{
    struct ir_dot dot;
    if (orders->out->ops[op].class == OP_MATMUL && ir_dot(orders->program, op, &dot) == 0) {
        turn_operand(orders, op, 0, &dot.lhs_batch, &dot.lhs_contract);
        turn_operand(orders, op, 1, &dot.rhs_batch, &dot.rhs_contract);
    }
    struct order order = plain_order(orders->program, ir_result(orders->program, op, 0), op + 1);
    order.dot = op + 1;
    return order;
}

static struct order transposed_order(const struct orders *orders, uint32_t op)
{
    struct order from = orders->values[ir_operand(orders->program, op, 0)], order = from;
    struct ir_dims to;
    if (ir_dims(orders->program, op, "permutation", &to) != 0 || to.count != from.rank)
        return plain_order(orders->program, ir_result(orders->program, op, 0), op + 1);
    for (uint8_t i = 0; i < from.rank; i++)
        for (uint8_t dim = 0; dim < from.rank; dim++)
            if (to.at[dim] == from.at[i])
                order.at[i] = dim;
    return order;
}

static struct order reduced_order(const struct orders *orders, uint32_t op)
{
    const struct order *from = &orders->values[ir_operand(orders->program, op, 0)];
    struct order order = plain_order(orders->program, ir_result(orders->program, op, 0), from->birth);
    struct ir_dims dims;
    if (!from->rank || ir_dims(orders->program, op, "dimensions", &dims) != 0)
        return order;
    unsigned gone = 0;
    for (uint32_t i = 0; i < dims.count; i++)
        gone |= 1u << dims.at[i];
    struct order thick = without_thin(orders->program, ir_operand(orders->program, op, 0), from);
    if (!from->any && thick.rank && !(gone >> thick.at[thick.rank - 1] & 1))
        orders->out->ops[op].short_row = 0;
    order.rank = 0;
    for (uint8_t i = 0; i < from->rank; i++)
        if (!(gone >> from->at[i] & 1)) {
            uint8_t before = 0;
            for (uint8_t dim = 0; dim < from->at[i]; dim++)
                before += gone >> dim & 1;
            order.at[order.rank++] = (uint8_t)(from->at[i] - before);
        }
    return order;
}

/* A transpose renumbers a dot's dimensions and leaves them where they are: in the dot's result dimension i is
 * at place i. */
static struct price_turn in_places(const struct order *order, struct price_turn turn)
{
    struct price_turn places = {0, 0, 0};
    for (uint8_t i = 0; i < order->rank; i++) {
        places.from |= (uint8_t)((turn.from >> order->at[i] & 1) << i);
        places.to |= (uint8_t)((turn.to >> order->at[i] & 1) << i);
        places.between |= (uint8_t)((turn.between >> order->at[i] & 1) << i);
    }
    return places;
}

/* is 1 + an op's number that of a dot? */
static bool is_dot(const struct ir_program *program, uint32_t birth)
{
    return birth && ir_opcode_family((enum ir_opcode)program->ops[birth - 1].code) == IR_FAMILY_DOT;
}

/* of the earliest operand; the dots that made the others write results that are turned */
static struct order joint_order(struct orders *orders, uint32_t op)
{
    const struct ir_program *program = orders->program;
    uint32_t count = program->ops[op].operand_count;
    const struct order *first = NULL;
    for (uint32_t i = 0; i < count; i++) {
        const struct order *order = &orders->values[ir_operand(program, op, i)];
        if (order->rank && !order->any && (!first || order->birth < first->birth))
            first = order;
    }
    struct order joint = plain_order(program, ir_result(program, op, 0), op + 1);
    if (!first || first->rank != joint.rank) {
        joint.any = !first;
        return joint;
    }
    joint = *first;
    joint.computed = true;
    for (uint32_t i = 0; i < count; i++) {
        const struct order *order = &orders->values[ir_operand(program, op, i)];
        if (order->rank && !order->any && order->birth != first->birth)
            joint.dot = 0;
        if (order->any || !order->dot || memcmp(order->at, first->at, first->rank) == 0)
            continue;
        struct price_turn *turn = &orders->out->ops[order->dot - 1].turns[2];
        if (turn->from)
            continue;
        *turn = in_places(order, turn_between(program, ir_operand(program, op, i), order, first));
        orders->out->ops[order->dot - 1].turned_wide =
            is_dot(program, first->birth) &&
            ir_value_type(program, ir_operand(program, op, i))->element == IR_F32 &&
            ir_value_type(program, ir_result(program, order->dot - 1, 0))->element == IR_BF16;
    }
    return joint;
}

static struct order result_order(struct orders *orders, uint32_t op)
{
    enum ir_family family = ir_opcode_family((enum ir_opcode)orders->program->ops[op].code);
    if (family == IR_FAMILY_TRANSPOSE)
        return transposed_order(orders, op);
    if (family == IR_FAMILY_ELEMENTWISE)
        return joint_order(orders, op);
    if (family == IR_FAMILY_REDUCE)
        return reduced_order(orders, op);
    if (family == IR_FAMILY_DOT)
        return dot_order(orders, op);
    struct order order = plain_order(orders->program, ir_result(orders->program, op, 0), op + 1);
    order.any = family == IR_FAMILY_CONSTANT || family == IR_FAMILY_IOTA || family == IR_FAMILY_BROADCAST;
    return order;
}

/* ---------------------------------------------------------------- on a device */
static int64_t extent(const struct spmd_local *local, uint32_t value, uint8_t dims)
{
    const struct spmd_value *spmd_value = &local->values[value];
    const struct nda_atom *atoms = nda_atoms(local->nda, spmd_value->origin);
    uint32_t count = nda_atom_count(local->nda, spmd_value->origin);
    int64_t product = 1;
    for (uint32_t i = 0; i < count; i++)
        if (dims >> atoms[i].dim & 1)
            product *= atoms[i].size;
    for (uint32_t axis = 0; axis < local->mesh->axis_count; axis++) {
        uint8_t at = spmd_value->form.at[axis];
        uint32_t dim = spmd_is_whole(at) ? at - SPMD_WHOLE : at < count ? atoms[at].dim : ORDER_DIMS;
        if (dim < ORDER_DIMS && dims >> dim & 1)
            product /= local->mesh->axes[axis].size;
    }
    return product;
}

enum { BANKS = 32, BANK_BITS = 32, ROWS_LEAST = 10 };
/* A packed tile is `side` rows and columns of the shared memory, of elements that share its banks: rows along
 * what is written, columns along what is read, and what is between where that leaves room. */
static bool is_packed(int64_t from, int64_t to, int64_t between, int64_t bits)
{
    if (bits >= BANK_BITS)
        return false;
    int64_t packed = BANK_BITS / bits, side = BANKS * packed, rows = at_most(to, side);
    int64_t columns = at_most(from, side) * at_most(between, side / at_most(from, side));
    return rows >= ROWS_LEAST * packed && columns >= ROWS_LEAST * packed && rows % packed == 0 &&
           columns % packed == 0 && to % rows % packed == 0;
}

enum { TILE = 16, TILE_LEAST = 8, TILES_TOTAL = 8192 };
/* bits: of an element when it is turned */
static int64_t strided_bytes(const struct price_scratch *scratch, const struct spmd_local *local,
                             uint32_t value, struct price_turn turn, unsigned bits)
{
    if (!turn.from)
        return 0;
    int64_t from = extent(local, value, turn.from), to = extent(local, value, turn.to),
            least = at_most(from, to);
    if (least <= 1 || least >= TILE || (least >= TILE_LEAST && from * to >= TILES_TOTAL) ||
        is_packed(from, to, turn.between ? extent(local, value, turn.between) : 1, bits))
        return 0;
    double apart = scratch->kernel_bytes.apart * (double)value_elements(local, value) -
                   (double)local->values[value].bytes;
    return apart > 0 ? (int64_t)apart : 0;
}

uint32_t price_made_anew(const struct price_scratch *scratch, const struct spmd_local *local,
                         const struct spmd_step *step)
{
    const struct op_info *info = step->kind == SPMD_OP ? step_info(scratch, step) : NULL;
    if (!info || !info->anew || !(scratch->rules & COST_FUSE_STRIDED))
        return SPMD_NONE;
    uint32_t value = local->operands[step->operands + info->anew - 1], by = local->values[value].step,
             batches = 0;
    if (by == SPMD_NONE || local->steps[by].kind != SPMD_OP ||
        !step_info(scratch, &local->steps[by])->in_place)
        return SPMD_NONE;
    const struct ir_type *type = ir_value_type(local->nda->program, local->values[value].origin);
    for (uint8_t dim = 0; dim < type->rank; dim++) {
        int64_t here = extent(local, value, (uint8_t)(1u << dim));
        bool batch = info->anew_bits >> dim & 1;
        if (!batch && here < ir_type_dims(local->nda->program, type)[dim])
            return SPMD_NONE; /* its mask depends on the device */
        batches += batch && here > 1;
    }
    return batches > 1 ? value : SPMD_NONE;
}

static bool has_thin_dim(const struct spmd_local *local, uint32_t value, uint8_t dims)
{
    for (uint8_t dim = 0; dim < ORDER_DIMS; dim++)
        if (dims >> dim & 1 && extent(local, value, (uint8_t)(1u << dim)) == 1)
            return true;
    return false;
}

static unsigned bits_of(const struct spmd_local *local, uint32_t value)
{
    const struct ir_type *type = ir_value_type(local->nda->program, local->values[value].origin);
    return ir_element_bits((enum ir_element)type->element);
}

static int64_t strided_result(const struct price_scratch *scratch, const struct spmd_local *local,
                              const struct spmd_step *step, const struct op_info *info)
{
    return strided_bytes(scratch, local, step->results, info->turns[2],
                         info->turned_wide ? BANK_BITS : bits_of(local, step->results));
}

bool price_turns_wide(const struct price_scratch *scratch, const struct spmd_local *local,
                      const struct spmd_step *step)
{
    const struct op_info *info = step->kind == SPMD_OP ? step_info(scratch, step) : NULL;
    return info && info->turned_wide && extent(local, step->results, info->turns[2].from) > 1 &&
           extent(local, step->results, info->turns[2].to) > 1;
}

int64_t price_strided_bytes(const struct price_scratch *scratch, const struct spmd_local *local,
                            const struct spmd_step *step)
{
    const struct op_info *info = step_info(scratch, step);
    const uint32_t *operands = local->operands + step->operands;
    int64_t bytes = strided_result(scratch, local, step, info);
    uint32_t anew = price_made_anew(scratch, local, step);
    bytes += anew != SPMD_NONE ? local->values[anew].bytes : 0;
    for (uint32_t operand = 0; operand < 2 && operand < step->operand_count; operand++) {
        bool thin = operand == 1 && has_thin_dim(local, operands[1], info->batch_bits);
        bytes +=
            strided_bytes(scratch, local, operands[operand], thin ? info->thin_turn : info->turns[operand],
                          bits_of(local, operands[operand]));
    }
    return bytes;
}

void price_find_turns(struct price_program *out)
{
    const struct ir_program *program = out->nda->program;
    struct orders orders = {.out = out, .program = program};
    orders.values = mem_alloc(((size_t)program->value_count + 1) * sizeof *orders.values);
    orders.turned = mem_zalloc((size_t)program->value_count + 1, sizeof *orders.turned);
    for (uint32_t value = 0; value < program->value_count; value++)
        orders.values[value] = plain_order(program, value, 0);
    for (uint32_t op = 0; op < program->op_count; op++)
        if (program->ops[op].result_count == 1)
            orders.values[ir_result(program, op, 0)] = result_order(&orders, op);
    free(orders.values);
    free(orders.turned);
}
