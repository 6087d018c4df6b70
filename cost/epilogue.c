/* Products that a compiler never stores: what is computed from their results is written instead.
 *
 *     dh = dy . W          dgate, dup are as large as dh, what else they read is there before:
 *     dgate = dh * f(gate)     one kernel writes dgate and dup; dh lies nowhere, and what only they read
 *     dup = dh * g(gate)       (gate) can go when it has run
 *
 * The *cone* of a product are the elementwise ops that its result reaches through such ops alone. It is
 * closed when every other operand in it can be there before the product runs, so that nothing in it waits
 * for something later (a forward activation is also read in the backward pass: not closed). The cone's
 * values that something else reads are its *ends*: those are stored.
 *
 * Facts of the program, found once: per op, the product of whose cone it is an end. Source: libtpu 0.0.51,
 * fusions with a product inside and one or two results; XLA's output fusion. */
#include "cost/internal.h"

#include <stdlib.h>
#include <string.h>

enum { CONE_MOST = 24, ENDS_MOST = 2, BEFORE_HOPS = 6 };

struct readers { /* ops that read each value, as ranges */
    uint32_t *start, *op;
};

struct cone {
    const struct price_program *out;
    const struct readers *readers;
    uint32_t product;        /* op */
    uint32_t ops[CONE_MOST]; /* the product first */
    uint32_t count, ends[ENDS_MOST], end_count;
};

static struct readers find_readers(const struct price_program *out)
{
    const struct ir_program *program = out->nda->program;
    uint32_t total = 0, values = program->value_count;
    struct readers readers = {.start = mem_zalloc((size_t)values + 2, sizeof *readers.start)};
    for (uint32_t op = 0; op < program->op_count; op++)
        for (uint32_t i = 0; i < program->ops[op].operand_count; i++, total++)
            readers.start[ir_operand(program, op, i) + 1]++;
    for (uint32_t value = 0; value < values; value++)
        readers.start[value + 1] += readers.start[value];
    readers.op = mem_alloc(((size_t)total + 1) * sizeof *readers.op);
    uint32_t *at = mem_alloc(((size_t)values + 1) * sizeof *at);
    memcpy(at, readers.start, (size_t)values * sizeof *at);
    for (uint32_t op = 0; op < program->op_count; op++)
        for (uint32_t i = 0; i < program->ops[op].operand_count; i++)
            readers.op[at[ir_operand(program, op, i)]++] = op;
    free(at);
    return readers;
}

static bool is_light(const struct price_program *out, uint32_t op)
{
    uint8_t class = out->ops[op].class;
    return class == OP_ELEMENTWISE || class == OP_CHEAP || class == OP_ALIAS || class == OP_TRANSPOSE ||
           class == OP_FREE;
}

static bool in_cone(const struct cone *cone, uint32_t op)
{
    for (uint32_t i = 0; i < cone->count; i++)
        if (cone->ops[i] == op)
            return true;
    return false;
}

/* can the value be there before the product runs? */
static bool is_before(const struct cone *cone, uint32_t value, int hops)
{
    const struct ir_program *program = cone->out->nda->program;
    uint32_t op = program->values[value].op;
    if (op == IR_NONE || op < cone->product)
        return true;
    if (!hops || !is_light(cone->out, op) || in_cone(cone, op))
        return false;
    for (uint32_t i = 0; i < program->ops[op].operand_count; i++)
        if (!is_before(cone, ir_operand(program, op, i), hops - 1))
            return false;
    return true;
}

static bool same_elements(const struct ir_program *program, uint32_t a, uint32_t b)
{
    return ir_type_elements(program, ir_value_type(program, a)) ==
           ir_type_elements(program, ir_value_type(program, b));
}

/* the op computes the value, behind reshapes and transposes; false: there are too many */
static bool add_end(struct cone *cone, uint32_t op)
{
    const struct ir_program *program = cone->out->nda->program;
    while (cone->out->ops[op].class == OP_ALIAS || cone->out->ops[op].class == OP_TRANSPOSE) {
        op = program->values[ir_operand(program, op, 0)].op;
        if (!in_cone(cone, op))
            return false;
    }
    for (uint32_t i = 0; i < cone->end_count; i++)
        if (cone->ends[i] == op)
            return true;
    if (op == cone->product || cone->end_count == ENDS_MOST)
        return false;
    cone->ends[cone->end_count++] = op;
    return true;
}

/* adds the readers of one of the cone's values; false: it is not closed, or too large */
static bool grow(struct cone *cone, uint32_t from)
{
    const struct ir_program *program = cone->out->nda->program;
    uint32_t value = ir_result(program, cone->ops[from], 0);
    bool end = false;
    for (uint32_t i = cone->readers->start[value]; i < cone->readers->start[value + 1]; i++) {
        uint32_t op = cone->readers->op[i];
        bool inside = is_light(cone->out, op) && program->ops[op].result_count == 1 &&
                      same_elements(program, value, ir_result(program, op, 0)) &&
                      !cone->out->ops[op].row_mask;
        end |= !inside;
        if (!inside || in_cone(cone, op))
            continue;
        if (cone->count == CONE_MOST)
            return false;
        cone->ops[cone->count++] = op;
    }
    return !end || add_end(cone, cone->ops[from]);
}

static bool is_closed(const struct cone *cone)
{
    const struct ir_program *program = cone->out->nda->program;
    for (uint32_t i = 1; i < cone->count; i++)
        for (uint32_t k = 0; k < program->ops[cone->ops[i]].operand_count; k++) {
            uint32_t value = ir_operand(program, cone->ops[i], k);
            if (!in_cone(cone, program->values[value].op) && !is_before(cone, value, BEFORE_HOPS))
                return false;
        }
    return true;
}

void price_find_epilogues(struct price_program *out)
{
    const struct ir_program *program = out->nda->program;
    struct readers readers = find_readers(out);
    for (uint32_t op = 0; op < program->op_count; op++) {
        if (out->ops[op].class != OP_MATMUL || program->ops[op].result_count != 1)
            continue;
        struct cone cone = {.out = out, .readers = &readers, .product = op, .ops = {op}, .count = 1};
        bool fits = true;
        for (uint32_t i = 0; fits && i < cone.count; i++)
            fits = grow(&cone, i);
        if (!fits || !is_closed(&cone))
            continue;
        for (uint32_t i = 0; i < cone.end_count; i++)
            out->ops[cone.ends[i]].product = op + 1;
    }
    free(readers.start);
    free(readers.op);
}
