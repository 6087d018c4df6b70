/* einsum: letters that only one operand has and the result lacks are summed first; what both have is a
 * batching dimension where the result has it, else contracted; one transpose brings the product's
 * dimensions into the result's order. torch_index_select: one gather. (StableHLO specification, and its
 * pass stablehlo-legalize-deprecated-ops.) */
#include "ir/expand_einsum.h"

#include "ir/attrs.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* one operand or the result: the letter and size of each dimension; those of "..." are numbered from its
 * end */
struct letters {
    uint32_t count, value;
    char at[IR_MAX_RANK];
    int64_t sizes[IR_MAX_RANK];
};

static int find(const struct letters *letters, char letter)
{
    for (uint32_t i = 0; i < letters->count; i++)
        if (letters->at[i] == letter)
            return (int)i;
    return -1;
}

static bool has(const struct letters *letters, char letter)
{
    return find(letters, letter) >= 0;
}

static bool add_letter(struct letters *letters, char letter, const struct ir_type *type)
{
    if (letters->count == type->rank || has(letters, letter))
        return false;
    letters->at[letters->count++] = letter;
    return true;
}

/* "ab...c" for a tensor of the type; *at moves behind it */
static bool read_letters(const struct ir_program *program, const char **at, uint32_t value,
                         struct letters *out)
{
    const struct ir_type *type = ir_value_type(program, value);
    uint32_t named = 0;
    out->count = 0;
    if (type->kind != IR_TYPE_TENSOR || type->rank > IR_MAX_RANK)
        return false;
    for (const char *c = *at; *c && *c != ',' && *c != '-'; c++)
        named += isalpha((unsigned char)*c) != 0;
    for (; **at && **at != ',' && **at != '-'; (*at)++) {
        if (strncmp(*at, "...", 3) == 0) {
            for (uint32_t left = type->rank < named ? 0 : type->rank - named; left > 0; left--)
                if (!add_letter(out, (char)left, type))
                    return false;
            *at += 2;
        } else if (!isspace((unsigned char)**at) &&
                   (!isalpha((unsigned char)**at) || !add_letter(out, **at, type))) {
            return false;
        }
    }
    memcpy(out->sizes, ir_type_dims(program, type), out->count * sizeof *out->sizes);
    return out->count == type->rank;
}

static bool sizes_agree(const struct letters *one, const struct letters *other)
{
    for (uint32_t i = 0; i < one->count; i++) {
        int at = find(other, one->at[i]);
        if (at >= 0 && other->sizes[at] != one->sizes[i])
            return false;
    }
    return true;
}

/* the operands' letters and the result's, which has none of its own */
static bool read_config(const struct ir_program *program, uint32_t op, uint32_t count, struct letters in[2],
                        struct letters *out)
{
    const struct ir_attr *config = ir_attr_find(program, op, "einsum_config");
    const char *at = config && config->kind == IR_ATTR_STRING ? ir_string(program, config->first) : "";
    if (program->ops[op].result_count != 1 || program->ops[op].operand_count != count)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        if (i > 0 && *at++ != ',')
            return false;
        if (!read_letters(program, &at, ir_operand(program, op, i), &in[i]))
            return false;
    }
    if (strncmp(at, "->", 2) != 0)
        return false;
    at += 2;
    if (!read_letters(program, &at, program->ops[op].results, out) || *at)
        return false;
    for (uint32_t i = 0; i < out->count; i++)
        if (!has(&in[0], out->at[i]) && (count == 1 || !has(&in[1], out->at[i])))
            return false;
    return sizes_agree(&in[0], out) &&
           (count == 1 || (sizes_agree(&in[1], out) && sizes_agree(&in[0], &in[1])));
}

static uint32_t type_of(const struct expand_parts *parts, enum ir_element element,
                        const struct letters *letters)
{
    return ir_build_tensor_type(parts->builder, element, letters->count, letters->sizes);
}

/* sums the letters that neither the other operand nor the result has */
static void sum_own(const struct expand_parts *parts, enum ir_element element, struct letters *letters,
                    const struct letters *other, const struct letters *result)
{
    static const unsigned char zero[IR_ELEMENT_BYTES];
    struct letters left = {.value = letters->value};
    int64_t dims[IR_MAX_RANK];
    uint32_t count = 0;
    for (uint32_t i = 0; i < letters->count; i++) {
        if (!has(result, letters->at[i]) && !(other && has(other, letters->at[i]))) {
            dims[count++] = i;
            continue;
        }
        left.at[left.count] = letters->at[i];
        left.sizes[left.count++] = letters->sizes[i];
    }
    if (!count)
        return;
    uint32_t number = ir_build_tensor_type(parts->builder, element, 0, NULL);
    struct ir_attr value = ir_build_named(
        parts->builder, "value",
        ir_build_dense(parts->builder, number, zero, (ir_element_bits(element) + 7) / 8, true));
    uint32_t start = expand_op(parts, "stablehlo.constant", NULL, 0, number, &value, 1);
    left.value = expand_sum(parts, letters->value, start, dims, count, type_of(parts, element, &left));
    *letters = left;
}

static void add_dims(struct text *text, const char *name, const struct ir_dims *dims)
{
    if (!dims->count)
        return;
    text_printf(text, "%s%s = [", text->at[text->size - 1] == '<' ? "" : ", ", name);
    for (uint32_t i = 0; i < dims->count; i++)
        text_printf(text, "%s%lld", i ? ", " : "", (long long)dims->at[i]);
    text_add(text, "]");
}

static void push(struct ir_dims *dims, int64_t dim)
{
    dims->at[dims->count++] = dim;
}

static void take(struct letters *product, const struct letters *from, uint32_t i)
{
    product->at[product->count] = from->at[i];
    product->sizes[product->count++] = from->sizes[i];
}

/* the op's precision, if it says one */
static uint32_t copy_precision(const struct expand_parts *parts, const struct ir_program *program,
                               uint32_t op, struct ir_attr *attrs, uint32_t count)
{
    const struct ir_attr *precision = ir_attr_find(program, op, "precision_config");
    if (precision)
        attrs[count++] = ir_build_copy_attr(parts->builder, program, precision);
    return count;
}

/* the product of two operands whose letters are all in the other or in the result */
static void multiply(const struct expand_parts *parts, const struct ir_program *program, uint32_t op,
                     const struct letters in[2], const struct letters *result, struct letters *product)
{
    struct ir_dims batch[2] = {{.count = 0}, {.count = 0}}, contract[2] = {{.count = 0}, {.count = 0}};
    product->count = 0;
    for (uint32_t i = 0; i < in[0].count; i++) {
        int at = find(&in[1], in[0].at[i]);
        bool kept = has(result, in[0].at[i]);
        if (at < 0)
            continue;
        push(kept ? &batch[0] : &contract[0], i);
        push(kept ? &batch[1] : &contract[1], at);
        if (kept)
            take(product, &in[0], i);
    }
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t i = 0; i < in[k].count; i++)
            if (!has(&in[1 - k], in[k].at[i]))
                take(product, &in[k], i);
    struct text text = {0};
    text_add(&text, "#stablehlo.dot<");
    add_dims(&text, "lhs_batching_dimensions", &batch[0]);
    add_dims(&text, "rhs_batching_dimensions", &batch[1]);
    add_dims(&text, "lhs_contracting_dimensions", &contract[0]);
    add_dims(&text, "rhs_contracting_dimensions", &contract[1]);
    text_add(&text, ">");
    struct ir_attr attrs[2] = {
        ir_build_named(parts->builder, "dot_dimension_numbers", ir_build_text(parts->builder, text.at))};
    text_release(&text);
    enum ir_element element = (enum ir_element)ir_value_type(program, program->ops[op].results)->element;
    product->value =
        expand_op(parts, "stablehlo.dot_general", (uint32_t[]){in[0].value, in[1].value}, 2,
                  type_of(parts, element, product), attrs, copy_precision(parts, program, op, attrs, 1));
}

static uint32_t in_order(const struct expand_parts *parts, enum ir_element element,
                         const struct letters *letters, const struct letters *result)
{
    int64_t permutation[IR_MAX_RANK];
    bool moves = false;
    for (uint32_t i = 0; i < result->count; i++) {
        permutation[i] = find(letters, result->at[i]);
        moves |= permutation[i] != i;
    }
    if (!moves)
        return letters->value;
    struct ir_attr attr = ir_build_named(parts->builder, "permutation",
                                         ir_build_ints(parts->builder, permutation, result->count));
    return expand_op(parts, "stablehlo.transpose", &letters->value, 1, type_of(parts, element, result), &attr,
                     1);
}

/* would the product have more dimensions than a tensor may? */
static bool fits(const struct letters in[2])
{
    uint32_t count = in[0].count;
    for (uint32_t i = 0; i < in[1].count; i++)
        count += !has(&in[0], in[1].at[i]);
    return count <= IR_MAX_RANK;
}

bool expand_einsum(const struct expand_parts *parts, const struct ir_program *program, uint32_t op,
                   uint32_t operand_count, const uint32_t *operands, uint32_t *result)
{
    struct letters in[2], out, product;
    bool both = operand_count == 2;
    if (!read_config(program, op, operand_count, in, &out) || (both && !fits(in)))
        return false;
    enum ir_element element = (enum ir_element)ir_value_type(program, program->ops[op].results)->element;
    for (uint32_t i = 0; i < 1U + both; i++) {
        enum ir_element own = (enum ir_element)ir_value_type(program, ir_operand(program, op, i))->element;
        if (own == IR_I1 || (!both && own != element))
            return false;
    }
    for (uint32_t i = 0; i < 1U + both; i++) {
        in[i].value = operands[i];
        sum_own(parts, (enum ir_element)ir_value_type(program, ir_operand(program, op, i))->element, &in[i],
                both ? &in[1 - i] : NULL, &out);
    }
    if (both)
        multiply(parts, program, op, in, &out, &product);
    *result = in_order(parts, element, both ? &product : &in[0], &out);
    return true;
}

/* ---- torch_index_select ---- */

/* result[b.., o.., i.., p..] = operand[b.., o.., index[b.., i..], p..], where o.. end before dim */
struct selection {
    const struct ir_type *operand, *index, *result;
    int64_t dim, batch;
};

static bool read_selection(const struct ir_program *program, uint32_t op, struct selection *out)
{
    if (program->ops[op].operand_count != 2 || program->ops[op].result_count != 1)
        return false;
    out->operand = ir_value_type(program, ir_operand(program, op, 0));
    out->index = ir_value_type(program, ir_operand(program, op, 1));
    out->result = ir_value_type(program, program->ops[op].results);
    out->dim = ir_int(program, op, "dim", -1);
    out->batch = ir_int(program, op, "batch_dims", 0);
    if (out->operand->kind != IR_TYPE_TENSOR || out->index->kind != IR_TYPE_TENSOR ||
        out->result->kind != IR_TYPE_TENSOR || out->operand->rank > IR_MAX_RANK ||
        out->index->rank > IR_MAX_RANK || out->result->rank > IR_MAX_RANK ||
        out->operand->element != out->result->element || out->batch < 0 || out->batch > out->dim ||
        out->dim >= out->operand->rank || out->batch > out->index->rank ||
        out->result->rank + 1 + out->batch != (int64_t)out->operand->rank + out->index->rank)
        return false;
    const int64_t *operand = ir_type_dims(program, out->operand), *index = ir_type_dims(program, out->index),
                  *result = ir_type_dims(program, out->result);
    int64_t places = out->index->rank - out->batch;
    for (int64_t i = 0; i < out->result->rank; i++) {
        int64_t wanted = i < out->dim            ? operand[i]
                         : i < out->dim + places ? index[out->batch + i - out->dim]
                                                 : operand[i - places + 1];
        if (result[i] != wanted || (i < out->batch && index[i] != wanted))
            return false;
    }
    return operand[out->dim] > 0;
}

static struct ir_dims range(int64_t from, int64_t to)
{
    struct ir_dims out = {.count = 0};
    while (from < to)
        push(&out, from++);
    return out;
}

bool expand_index_select(const struct expand_parts *parts, const struct ir_program *program, uint32_t op,
                         const uint32_t *operands, uint32_t *result)
{
    struct selection selection;
    if (!read_selection(program, op, &selection))
        return false;
    int64_t places = selection.index->rank - selection.batch, sizes[IR_MAX_RANK];
    struct ir_dims batch = range(0, selection.batch), dim = range(selection.dim, selection.dim + 1);
    struct ir_dims offset = range(selection.batch, selection.dim);
    for (int64_t i = selection.dim + places; i < selection.result->rank; i++)
        push(&offset, i);
    for (uint32_t i = 0; i < selection.operand->rank; i++)
        sizes[i] =
            i < selection.batch || i == selection.dim ? 1 : ir_type_dims(program, selection.operand)[i];
    struct text text = {0};
    text_add(&text, "#stablehlo.gather<");
    add_dims(&text, "offset_dims", &offset);
    add_dims(&text, "collapsed_slice_dims", &dim);
    add_dims(&text, "operand_batching_dims", &batch);
    add_dims(&text, "start_indices_batching_dims", &batch);
    add_dims(&text, "start_index_map", &dim);
    text_printf(&text, ", index_vector_dim = %u>", selection.index->rank);
    struct ir_attr attrs[] = {
        ir_build_named(parts->builder, "dimension_numbers", ir_build_text(parts->builder, text.at)),
        ir_build_named(parts->builder, "slice_sizes",
                       ir_build_ints(parts->builder, sizes, selection.operand->rank)),
        ir_build_named(parts->builder, "indices_are_sorted", ir_build_bool(parts->builder, false))};
    text_release(&text);
    uint32_t type =
        ir_build_copy_type(parts->builder, program, program->values[program->ops[op].results].type);
    *result = expand_op(parts, "stablehlo.gather", operands, 2, type, attrs, sizeof attrs / sizeof *attrs);
    return true;
}
