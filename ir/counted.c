/* Positions along dimensions, followed back to the iota or constant that they come from (counted.h).
 *
 * Of a value at a fixed place along one dimension (the index vectors': which component) is asked whether it
 * is a constant, or a constant plus the place along another dimension. Where neither is certain, the value
 * counts nothing; work is bounded by STEPS ops and ELEMENTS of constants a question. */
#include "ir/counted.h"

#include <string.h>

enum { STEPS = 128, ELEMENTS = 1 << 22, NO_DIM = -1, MAX_DEPTH = 64 };
/* numbers and sizes beyond these are left alone, so that no sum of two overflows */
static const int64_t largest_number = (int64_t)1 << 60, largest_size = (int64_t)1 << 40;

/* first + (the place along dim), of `size` places; NO_DIM: the constant `first` */
struct count {
    int64_t first, size;
    int dim;
};

struct question {
    const struct ir_program *program;
    uint32_t steps;
};

/* which place of a value is asked about: `at` along dim; NO_DIM: none is fixed */
struct place {
    int dim;
    int64_t at;
};

static bool ask(struct question *question, uint32_t value, struct place place, uint32_t depth,
                struct count *out);

static bool is_constant(const struct count *count)
{
    return count->dim == NO_DIM;
}

static int64_t last(const struct count *count)
{
    return count->first + count->size - 1;
}

static struct count constant(int64_t number)
{
    return (struct count){.first = number, .size = 1, .dim = NO_DIM};
}

static const struct ir_type *type_of(const struct question *question, uint32_t value)
{
    return ir_value_type(question->program, value);
}

static int64_t size_of(const struct question *question, uint32_t value, uint32_t dim)
{
    return ir_type_dims(question->program, type_of(question, value))[dim];
}

/* is every number of the count one of this element type? */
static bool fits(enum ir_element element, const struct count *count)
{
    unsigned bits = ir_element_bits(element);
    switch ((int)element) {
    case IR_I1: return count->first >= 0 && last(count) <= 1;
    case IR_I8:
    case IR_I16:
    case IR_I32: return count->first >= -((int64_t)1 << (bits - 1)) && last(count) < (int64_t)1 << (bits - 1);
    case IR_UI8:
    case IR_UI16:
    case IR_UI32: return count->first >= 0 && last(count) < (int64_t)1 << bits;
    case IR_I64: return count->first >= -largest_number && last(count) <= largest_number;
    case IR_UI64: return count->first >= 0 && last(count) <= largest_number;
    default: return false;
    }
}

/* the counted place is along `dim` of a value with such a size there; nothing is counted along one place */
static struct count along(const struct question *question, uint32_t value, uint32_t dim, struct place place,
                          int64_t first)
{
    int64_t size = size_of(question, value, dim);
    if (place.dim == (int)dim)
        return constant(first + place.at);
    return size == 1 ? constant(first) : (struct count){first, size, (int)dim};
}

/* ---- constants ---- */

/* The constant's elements at the place: all one number, or counted along one dimension. */
static bool ask_constant(const struct question *question, uint32_t op, struct place place, struct count *out)
{
    const struct ir_program *program = question->program;
    const struct ir_attr *attr = ir_attr_find(program, op, "value");
    uint32_t value = program->ops[op].results;
    const struct ir_type *type = type_of(question, value);
    const int64_t *dims = ir_type_dims(program, type);
    int64_t elements = ir_type_elements(program, type), index[IR_MAX_RANK] = {0}, seen = 0, first = 0;
    bool same = true, follows[IR_MAX_RANK]; /* every number is `first`; .. plus its place along the dim */
    if (!attr || attr->kind != IR_ATTR_DENSE || elements < 1 || elements > ELEMENTS)
        return false;
    memset(follows, true, sizeof follows);
    for (int64_t i = 0; i < (program->constants[attr->first].splat ? 1 : elements); i++) {
        if (place.dim == NO_DIM || index[place.dim] == place.at) {
            int64_t number = ir_constant_int(program, attr, (uint64_t)i);
            first = seen++ ? first : number;
            same &= number == first;
            for (uint32_t dim = 0; dim < type->rank; dim++)
                follows[dim] &= number == first + index[dim];
        } else if (program->constants[attr->first].splat) {
            first = ir_constant_int(program, attr, 0);
        }
        for (uint32_t dim = type->rank; dim-- > 0 && ++index[dim] == dims[dim];)
            index[dim] = 0;
    }
    *out = constant(first);
    if (!fits((enum ir_element)type->element, out))
        return false;
    for (uint32_t dim = 0; dim < type->rank && !same; dim++)
        if (follows[dim] && place.dim != (int)dim) {
            *out = along(question, value, dim, place, first);
            return true;
        }
    return same;
}

/* ---- movement: the place in the operand, and where the operand's dimensions are in the result ---- */

/* asks the operand of an op whose result's dimension to[j] is the operand's j */
static bool ask_moved(struct question *question, uint32_t operand, const int64_t *to, struct place place,
                      uint32_t depth, struct count *out)
{
    struct place inner = {NO_DIM, 0};
    uint32_t rank = type_of(question, operand)->rank;
    for (uint32_t j = 0; j < rank; j++)
        if (to[j] == place.dim && place.dim != NO_DIM && size_of(question, operand, j) > 1)
            inner = (struct place){(int)j, place.at};
    if (!ask(question, operand, inner, depth, out))
        return false;
    if (!is_constant(out))
        out->dim = (int)to[out->dim];
    return true;
}

/* a reshape that only adds and drops dimensions of one place */
static bool ask_reshaped(struct question *question, uint32_t op, uint32_t operand, struct place place,
                         uint32_t depth, struct count *out)
{
    uint32_t result = question->program->ops[op].results, dim = 0;
    uint32_t rank = type_of(question, result)->rank;
    int64_t to[IR_MAX_RANK];
    for (uint32_t j = 0; j < type_of(question, operand)->rank; j++) {
        int64_t size = size_of(question, operand, j);
        to[j] = NO_DIM;
        if (size == 1)
            continue;
        while (dim < rank && size_of(question, result, dim) == 1)
            dim++;
        if (dim == rank || size_of(question, result, dim) != size)
            return false;
        to[j] = dim++;
    }
    return ask_moved(question, operand, to, place, depth, out);
}

static bool ask_sliced(struct question *question, uint32_t op, uint32_t operand, struct place place,
                       uint32_t depth, struct count *out)
{
    const struct ir_program *program = question->program;
    struct ir_dims start, stride;
    if (ir_dims(program, op, "start_indices", &start) || ir_dims(program, op, "strides", &stride))
        return false;
    if (place.dim != NO_DIM)
        place.at = start.at[place.dim] + place.at * (stride.count ? stride.at[place.dim] : 1);
    if (!ask(question, operand, place, depth, out))
        return false;
    if (is_constant(out))
        return true;
    if (stride.count && stride.at[out->dim] != 1)
        return false;
    *out = along(question, program->ops[op].results, (uint32_t)out->dim, (struct place){NO_DIM, 0},
                 out->first + start.at[out->dim]);
    return true;
}

static bool ask_joined(struct question *question, uint32_t op, struct place place, uint32_t depth,
                       struct count *out)
{
    const struct ir_program *program = question->program;
    int64_t dim = ir_int(program, op, "dimension", -1);
    if (dim < 0 || dim != place.dim)
        return false;
    for (uint32_t i = 0; i < program->ops[op].operand_count; i++) {
        uint32_t operand = ir_operand(program, op, i);
        int64_t size = size_of(question, operand, (uint32_t)dim);
        if (place.at < size)
            return ask(question, operand, place, depth, out);
        place.at -= size;
    }
    return false;
}

/* ---- arithmetic ---- */

static bool ask_sum(enum ir_opcode code, enum ir_element element, const struct count *one,
                    const struct count *other, struct count *out)
{
    if (!is_constant(other) && (code == IR_SUBTRACT || !is_constant(one)))
        return false;
    *out = is_constant(other) ? *one : *other;
    out->first = code == IR_ADD ? one->first + other->first : one->first - other->first;
    return fits(element, out);
}

/* maximum and minimum, where one of the two always is it */
static bool ask_extreme(bool most, const struct count *one, const struct count *other, struct count *out)
{
    if (one->first >= last(other))
        *out = most ? *one : *other;
    else if (other->first >= last(one))
        *out = most ? *other : *one;
    else
        return false;
    return true;
}

static bool ask_compared(const struct ir_program *program, uint32_t op, const struct count *one,
                         const struct count *other, struct count *out)
{
    char how[32];
    ir_word(program, op, "comparison_direction", how);
    bool less = last(one)<other->first, more = one->first> last(other);
    bool not_more = last(one) <= other->first, not_less = one->first >= last(other);
    bool equal = is_constant(one) && is_constant(other) && one->first == other->first;
    bool yes = strcmp(how, "LT") == 0   ? less
               : strcmp(how, "GT") == 0 ? more
               : strcmp(how, "LE") == 0 ? not_more
               : strcmp(how, "GE") == 0 ? not_less
               : strcmp(how, "EQ") == 0 ? equal
               : strcmp(how, "NE") == 0 ? less || more
                                        : false;
    bool no = strcmp(how, "LT") == 0   ? not_less
              : strcmp(how, "GT") == 0 ? not_more
              : strcmp(how, "LE") == 0 ? more
              : strcmp(how, "GE") == 0 ? less
              : strcmp(how, "EQ") == 0 ? less || more
              : strcmp(how, "NE") == 0 ? equal
                                       : false;
    *out = constant(yes);
    return yes != no;
}

/* operand i of an op whose operands are of one shape, or scalars */
static bool ask_operand(struct question *question, uint32_t op, uint32_t i, struct place place,
                        uint32_t depth, struct count *out)
{
    uint32_t operand = ir_operand(question->program, op, i);
    struct place scalar = {NO_DIM, 0};
    return ask(question, operand, type_of(question, operand)->rank ? place : scalar, depth, out);
}

static bool ask_elementwise(struct question *question, uint32_t op, struct place place, uint32_t depth,
                            struct count *out)
{
    const struct ir_program *program = question->program;
    enum ir_opcode code = (enum ir_opcode)program->ops[op].code;
    enum ir_element element = (enum ir_element)type_of(question, program->ops[op].results)->element;
    struct count in[3], low;
    uint32_t count = program->ops[op].operand_count;
    if (code == IR_SELECT)
        return ask_operand(question, op, 0, place, depth, &in[0]) && is_constant(&in[0]) &&
               ask_operand(question, op, in[0].first ? 1 : 2, place, depth, out);
    for (uint32_t i = 0; i < count && i < 3; i++)
        if (!ask_operand(question, op, i, place, depth, &in[i]))
            return false;
    switch ((int)code) {
    case IR_CONVERT: *out = in[0]; return fits(element, out);
    case IR_ADD:
    case IR_SUBTRACT: return ask_sum(code, element, &in[0], &in[1], out);
    case IR_MAXIMUM: return ask_extreme(true, &in[0], &in[1], out);
    case IR_MINIMUM: return ask_extreme(false, &in[0], &in[1], out);
    case IR_CLAMP: return ask_extreme(true, &in[1], &in[0], &low) && ask_extreme(false, &low, &in[2], out);
    case IR_COMPARE: return ask_compared(program, op, &in[0], &in[1], out);
    default: return false;
    }
}

/* integers of sizes that can be added up: of nothing else is anything asked */
static bool counts(const struct question *question, uint32_t value)
{
    const struct ir_type *type = type_of(question, value);
    struct count zero = constant(0);
    if (type->kind != IR_TYPE_TENSOR || type->rank > IR_MAX_RANK ||
        !fits((enum ir_element)type->element, &zero))
        return false;
    for (uint32_t dim = 0; dim < type->rank; dim++)
        if (size_of(question, value, dim) > largest_size)
            return false;
    return true;
}

static bool ask(struct question *question, uint32_t value, struct place place, uint32_t depth,
                struct count *out)
{
    const struct ir_program *program = question->program;
    uint32_t op = program->values[value].op, operand;
    struct ir_dims dims;
    if (op == IR_NONE || question->steps == 0 || depth == MAX_DEPTH || !counts(question, value))
        return false;
    question->steps--;
    operand = program->ops[op].operand_count ? ir_operand(program, op, 0) : IR_NONE;
    switch ((int)program->ops[op].code) {
    case IR_IOTA:
        *out = along(question, value, (uint32_t)ir_int(program, op, "iota_dimension", 0), place, 0);
        return fits((enum ir_element)type_of(question, value)->element, out);
    case IR_CONSTANT: return ask_constant(question, op, place, out);
    case IR_BROADCAST_IN_DIM:
        return ir_dims(program, op, "broadcast_dimensions", &dims) == 0 &&
               ask_moved(question, operand, dims.at, place, depth + 1, out);
    case IR_RESHAPE: return ask_reshaped(question, op, operand, place, depth + 1, out);
    case IR_TRANSPOSE: {
        int64_t to[IR_MAX_RANK];
        if (ir_dims(program, op, "permutation", &dims) != 0)
            return false;
        for (uint32_t dim = 0; dim < dims.count; dim++)
            to[dims.at[dim]] = dim;
        return ask_moved(question, operand, to, place, depth + 1, out);
    }
    case IR_SLICE: return ask_sliced(question, op, operand, place, depth + 1, out);
    case IR_CONCATENATE: return ask_joined(question, op, place, depth + 1, out);
    case IR_OPTIMIZATION_BARRIER:
        return ask(question, ir_operand(program, op, program->values[value].index), place, depth + 1, out);
    case IR_ADD:
    case IR_SUBTRACT:
    case IR_MAXIMUM:
    case IR_MINIMUM:
    case IR_CLAMP:
    case IR_COMPARE:
    case IR_SELECT:
    case IR_CONVERT: return ask_elementwise(question, op, place, depth + 1, out);
    default: return false;
    }
}

/* ---- gather and scatter ---- */

/* What the two have in common, by reference into ir_gather or ir_scatter. */
struct lookup {
    const struct ir_program *program;
    uint32_t operand, indices;
    int64_t vector_dim;
    struct ir_dims *alone; /* operand dims of which one element is read or written: collapsed, inserted */
    struct ir_dims *map, *operand_batch, *indices_batch;
};

static void drop(struct ir_dims *list, uint32_t at)
{
    for (list->count--; at < list->count; at++)
        list->at[at] = list->at[at + 1];
}

static uint32_t place_in(const struct ir_dims *list, int64_t dim)
{
    uint32_t at = 0;
    while (at < list->count && list->at[at] != dim)
        at++;
    return at;
}

/* operand batching dims ascend, the indices' go with them */
static void add_batch(struct lookup *lookup, int64_t operand, int64_t indices)
{
    uint32_t at = lookup->operand_batch->count++;
    lookup->indices_batch->count++;
    for (; at > 0 && lookup->operand_batch->at[at - 1] > operand; at--) {
        lookup->operand_batch->at[at] = lookup->operand_batch->at[at - 1];
        lookup->indices_batch->at[at] = lookup->indices_batch->at[at - 1];
    }
    lookup->operand_batch->at[at] = operand;
    lookup->indices_batch->at[at] = indices;
}

/* the dimension of the indices that component c counts along, for the operand's dim; NO_DIM */
static int counted_along(const struct lookup *lookup, uint32_t c, int64_t dim)
{
    struct question question = {lookup->program, STEPS};
    const struct ir_type *operand = ir_value_type(lookup->program, lookup->operand);
    struct place place = {(int)lookup->vector_dim, c};
    struct count count;
    if (!ask(&question, lookup->indices, place, 0, &count) || is_constant(&count) || count.first != 0 ||
        count.size != ir_type_dims(lookup->program, operand)[dim] ||
        ir_dims_has(lookup->indices_batch, count.dim))
        return NO_DIM;
    return count.dim;
}

static void find_counted(struct lookup *lookup, struct ir_dims *counted)
{
    uint32_t rank = ir_value_type(lookup->program, lookup->indices)->rank, kept = 0;
    counted->count = 0;
    if (lookup->vector_dim >= rank) /* one component, which stays */
        return;
    for (uint32_t c = 0, count = lookup->map->count; c < count; c++) {
        int64_t dim = lookup->map->at[kept];
        uint32_t at = place_in(lookup->alone, dim);
        int along_dim =
            at < lookup->alone->count && lookup->map->count > 1 ? counted_along(lookup, c, dim) : NO_DIM;
        if (along_dim == NO_DIM) {
            kept++;
            continue;
        }
        drop(lookup->map, kept);
        drop(lookup->alone, at);
        add_batch(lookup, dim, along_dim);
        counted->at[counted->count++] = c;
    }
}

int ir_gather_counted(const struct ir_program *program, uint32_t op, struct ir_gather *out,
                      struct ir_dims *counted)
{
    counted->count = 0;
    if (ir_gather(program, op, out) != 0)
        return -1;
    struct lookup lookup = {program,
                            ir_operand(program, op, 0),
                            ir_operand(program, op, 1),
                            out->index_vector_dim,
                            &out->collapsed_dims,
                            &out->start_index_map,
                            &out->operand_batch,
                            &out->indices_batch};
    find_counted(&lookup, counted);
    return 0;
}

int ir_scatter_counted(const struct ir_program *program, uint32_t op, struct ir_scatter *out,
                       struct ir_dims *counted)
{
    counted->count = 0;
    if (ir_scatter(program, op, out) != 0)
        return -1;
    struct lookup lookup = {program,
                            ir_operand(program, op, 0),
                            ir_operand(program, op, out->input_count),
                            out->index_vector_dim,
                            &out->inserted_window_dims,
                            &out->dims_to_operand,
                            &out->input_batch,
                            &out->indices_batch};
    find_counted(&lookup, counted);
    return 0;
}
