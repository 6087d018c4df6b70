/* Iterations of while loops: `i < constant` in the condition, `i + constant` in the body, a constant to begin with (JAX's
 * scan and fori_loop print so); else the request's trip_counts; else 0 (unknown) and a warning. */
#include "analysis/stages.h"

#include <stdio.h>
#include <string.h>

static bool constant_of(const struct nda *n, uint32_t value, int64_t *out)
{
    const struct ir_program *p = n->program;
    uint32_t op = p->values[value].op;
    const struct ir_attr *a;
    while (op != IR_NONE && (p->ops[op].code == IR_CONVERT || p->ops[op].code == IR_BROADCAST_IN_DIM ||
                             p->ops[op].code == IR_RESHAPE))
        op = p->values[ir_operand(p, op, 0)].op;
    if (op == IR_NONE || p->ops[op].code != IR_CONSTANT)
        return false;
    a = ir_attr_find(p, op, "value");
    if (!a || a->kind != IR_ATTR_DENSE || ir_type_elements(p, ir_value_type(p, ir_result(p, op, 0))) != 1 ||
        ir_element_is_float(ir_value_type(p, ir_result(p, op, 0))->element))
        return false;
    *out = ir_constant_int(p, a, 0);
    return true;
}

/* the operand of an op that is this block's argument; the other one is *other */
static bool argument_of(const struct ir_program *p, uint32_t op, uint32_t block, uint32_t *index, uint32_t *other)
{
    for (uint32_t i = 0; i < 2 && p->ops[op].operand_count == 2; i++) {
        const struct ir_value *v = &p->values[ir_operand(p, op, i)];
        if (v->op == IR_NONE && v->block == block) {
            *index = v->index;
            *other = ir_operand(p, op, 1 - i);
            return true;
        }
    }
    return false;
}

static int64_t count_trips(const struct nda *n, uint32_t op)
{
    const struct ir_program *p = n->program;
    uint32_t cond = ir_region_block(p, op, 0), body = ir_region_block(p, op, 1), test, step, index, back, bound, by;
    int64_t first, limit, stride;
    char direction[32];
    test = p->values[ir_operand(p, ir_block_terminator(p, cond), 0)].op;
    if (test == IR_NONE || p->ops[test].code != IR_COMPARE || !argument_of(p, test, cond, &index, &bound) ||
        p->values[ir_operand(p, test, 0)].op != IR_NONE || !constant_of(n, bound, &limit))
        return 0;
    ir_word(p, test, "comparison_direction", direction);
    step = p->values[ir_operand(p, ir_block_terminator(p, body), index)].op;
    if (step == IR_NONE || p->ops[step].code != IR_ADD || !argument_of(p, step, body, &back, &by) || back != index ||
        !constant_of(n, by, &stride) || !constant_of(n, ir_operand(p, op, index), &first))
        return 0;
    if (strcmp(direction, "LE") == 0 && limit < INT64_MAX)
        limit++;
    else if (strcmp(direction, "LT") != 0)
        return 0;
    if (stride < 1 || limit <= first || first < -(INT64_MAX / 2) || limit > INT64_MAX / 2)
        return 0;
    return (limit - first + stride - 1) / stride;
}

/* "while@file:line" of the location, or "while@line" of the text */
static int64_t given_trips(const struct nda *n, uint32_t op, const struct nda_options *options)
{
    const struct ir_op *o = &n->program->ops[op];
    char line[32];
    snprintf(line, sizeof line, "while@%u", o->line);
    for (uint32_t i = 0; options && i < options->trip_count_count; i++) {
        const char *where = options->trip_counts[i].where;
        if (strcmp(where, line) == 0 || (strncmp(where, "while@", 6) == 0 && o->location != IR_NONE &&
                                         strcmp(where + 6, ir_string(n->program, o->location)) == 0))
            return options->trip_counts[i].trips;
    }
    return 0;
}

void stage_trip_counts(struct nda *n, const struct nda_options *options)
{
    const struct ir_program *p = n->program;
    n->trip_count = arena_alloc(n->arena, sizeof *n->trip_count * ((size_t)p->op_count + 1));
    for (uint32_t op = 0; op < p->op_count; op++) {
        n->trip_count[op] = 1;
        if (p->ops[op].code != IR_WHILE || n->op_space[op] == NDA_NONE)
            continue;
        n->trip_count[op] = count_trips(n, op);
        if (n->trip_count[op] == 0)
            n->trip_count[op] = given_trips(n, op, options);
        if (n->trip_count[op] == 0)
            nda_warn(n, op, "has a number of iterations that its condition does not tell: counted as 1; "
                            "trip_counts in the request can say it");
    }
}
