/* Iterations of while loops: `i < constant` in the condition, `i + constant` in the body, a constant to begin
 * with (JAX's scan and fori_loop print so); else the request's trip_counts; else what bounds them (`i <
 * constant and ..`) and a warning; else 0 (unknown) and a warning. Nothing is executed. */
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
static bool argument_of(const struct ir_program *p, uint32_t op, uint32_t block, uint32_t *index,
                        uint32_t *other)
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

/* iterations after which this comparison of the condition of `op` is false; 0: unknown */
static int64_t count_trips(const struct nda *n, uint32_t op, uint32_t test)
{
    const struct ir_program *p = n->program;
    uint32_t cond = ir_region_block(p, op, 0), body = ir_region_block(p, op, 1), step, index, back, bound, by;
    int64_t first, limit, stride;
    char direction[32];
    if (test == IR_NONE || p->ops[test].code != IR_COMPARE || !argument_of(p, test, cond, &index, &bound) ||
        p->values[ir_operand(p, test, 0)].op != IR_NONE || !constant_of(n, bound, &limit))
        return 0;
    ir_word(p, test, "comparison_direction", direction);
    step = p->values[ir_operand(p, ir_block_terminator(p, body), index)].op;
    if (step == IR_NONE || p->ops[step].code != IR_ADD || !argument_of(p, step, body, &back, &by) ||
        back != index || !constant_of(n, by, &stride) || !constant_of(n, ir_operand(p, op, index), &first))
        return 0;
    if (strcmp(direction, "LE") == 0 && limit < INT64_MAX)
        limit++;
    else if (strcmp(direction, "LT") != 0)
        return 0;
    if (stride < 1 || limit <= first || first < -(INT64_MAX / 2) || limit > INT64_MAX / 2)
        return 0;
    return (limit - first + stride - 1) / stride;
}

/* the op that gives the condition of a while */
static uint32_t condition_of(const struct ir_program *p, uint32_t op)
{
    return p->values[ir_operand(p, ir_block_terminator(p, ir_region_block(p, op, 0)), 0)].op;
}

/* what gives a truth value, without `!= false` and conversions to itself (JAX writes them around a plain
 * bool) */
static uint32_t plain_test(const struct nda *n, uint32_t test)
{
    const struct ir_program *p = n->program;
    char direction[32];
    int64_t other;
    while (test != IR_NONE) {
        bool same = p->ops[test].code == IR_CONVERT;
        if (p->ops[test].code == IR_COMPARE) {
            ir_word(p, test, "comparison_direction", direction);
            same =
                strcmp(direction, "NE") == 0 && constant_of(n, ir_operand(p, test, 1), &other) && other == 0;
        }
        if (!same || ir_value_type(p, ir_operand(p, test, 0))->element != IR_I1)
            break;
        test = p->values[ir_operand(p, test, 0)].op;
    }
    return test;
}

/* Of a condition that joins several (`i < n and not done`) the least count of those that are known: it may
 * end earlier. */
static int64_t most_trips(const struct nda *n, uint32_t op, uint32_t test, uint32_t depth)
{
    enum { DEPTH = 8 };
    const struct ir_program *p = n->program;
    test = plain_test(n, test);
    if (test == IR_NONE || p->ops[test].code != IR_AND || depth == DEPTH)
        return count_trips(n, op, test);
    int64_t a = most_trips(n, op, p->values[ir_operand(p, test, 0)].op, depth + 1),
            b = most_trips(n, op, p->values[ir_operand(p, test, 1)].op, depth + 1);
    return a == 0 ? b : b == 0 || a < b ? a : b;
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

static int64_t trips_of(struct nda *n, uint32_t op, const struct nda_options *options)
{
    uint32_t test = condition_of(n->program, op);
    int64_t trips = count_trips(n, op, test);
    if (trips == 0)
        trips = given_trips(n, op, options);
    if (trips != 0)
        return trips;
    trips = most_trips(n, op, test, 0);
    if (trips != 0)
        nda_warn(
            n, op,
            "may end early: counted at its most iterations; trip_counts in the request can say how many");
    else
        nda_warn(n, op,
                 "has a number of iterations that its condition does not tell: counted as 1; "
                 "trip_counts in the request can say it");
    return trips;
}

void stage_trip_counts(struct nda *n, const struct nda_options *options)
{
    const struct ir_program *p = n->program;
    n->trip_count = arena_alloc(n->arena, sizeof *n->trip_count * ((size_t)p->op_count + 1));
    for (uint32_t op = 0; op < p->op_count; op++)
        n->trip_count[op] =
            p->ops[op].code == IR_WHILE && n->op_space[op] != NDA_NONE ? trips_of(n, op, options) : 1;
}
