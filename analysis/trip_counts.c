/* Iterations of while loops: `i < constant` in the condition, `i + constant` in the body, a constant to begin
 * with (JAX's scan and fori_loop print so); else the request's trip_counts; else what bounds them (`i <
 * constant and ..`) and a warning; else 0 (unknown) and a warning. Nothing is executed. */
#include "analysis/shrink.h"
#include "analysis/stages.h"

#include <stdio.h>
#include <string.h>

/* the constant op behind a value that is one integer, through conversions; IR_NONE: another */
static uint32_t constant_behind(const struct ir_program *program, uint32_t value)
{
    uint32_t op = program->values[value].op;
    while (op != IR_NONE &&
           (program->ops[op].code == IR_CONVERT || program->ops[op].code == IR_BROADCAST_IN_DIM ||
            program->ops[op].code == IR_RESHAPE))
        op = program->values[ir_operand(program, op, 0)].op;
    return op == IR_NONE || program->ops[op].code != IR_CONSTANT ? IR_NONE : op;
}

static bool constant_of(const struct nda *n, uint32_t value, int64_t *out)
{
    const struct ir_program *program = n->program;
    uint32_t op = constant_behind(program, value);
    const struct ir_attr *attr;
    if (op == IR_NONE)
        return false;
    attr = ir_attr_find(program, op, "value");
    if (!attr || attr->kind != IR_ATTR_DENSE ||
        ir_type_elements(program, ir_value_type(program, ir_result(program, op, 0))) != 1 ||
        ir_element_is_float(ir_value_type(program, ir_result(program, op, 0))->element))
        return false;
    *out = ir_constant_int(program, attr, 0);
    return true;
}

/* the operand of an op that is this block's argument; the other one is *other */
static bool argument_of(const struct ir_program *program, uint32_t op, uint32_t block, uint32_t *index,
                        uint32_t *other)
{
    for (uint32_t i = 0; i < 2 && program->ops[op].operand_count == 2; i++) {
        const struct ir_value *value = &program->values[ir_operand(program, op, i)];
        if (value->op == IR_NONE && value->block == block) {
            *index = value->index;
            *other = ir_operand(program, op, 1 - i);
            return true;
        }
    }
    return false;
}

/* iterations after which this comparison of the condition of `op` is false; 0: unknown */
static int64_t count_trips(const struct nda *n, uint32_t op, uint32_t test)
{
    const struct ir_program *program = n->program;
    uint32_t cond = ir_region_block(program, op, 0), body = ir_region_block(program, op, 1), step, index,
             back, bound, by;
    int64_t first, limit, stride;
    char direction[32];
    if (test == IR_NONE || program->ops[test].code != IR_COMPARE ||
        !argument_of(program, test, cond, &index, &bound) ||
        program->values[ir_operand(program, test, 0)].op != IR_NONE || !constant_of(n, bound, &limit))
        return 0;
    ir_word(program, test, "comparison_direction", direction);
    step = program->values[ir_operand(program, ir_block_terminator(program, body), index)].op;
    if (step == IR_NONE || program->ops[step].code != IR_ADD ||
        !argument_of(program, step, body, &back, &by) || back != index || !constant_of(n, by, &stride) ||
        !constant_of(n, ir_operand(program, op, index), &first))
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
static uint32_t condition_of(const struct ir_program *program, uint32_t op)
{
    return program
        ->values[ir_operand(program, ir_block_terminator(program, ir_region_block(program, op, 0)), 0)]
        .op;
}

/* what gives a truth value, without `!= false` and conversions to itself (JAX writes them around a plain
 * bool) */
static uint32_t plain_test(const struct nda *n, uint32_t test)
{
    const struct ir_program *program = n->program;
    char direction[32];
    int64_t other;
    while (test != IR_NONE) {
        bool same = program->ops[test].code == IR_CONVERT;
        if (program->ops[test].code == IR_COMPARE) {
            ir_word(program, test, "comparison_direction", direction);
            same = strcmp(direction, "NE") == 0 && constant_of(n, ir_operand(program, test, 1), &other) &&
                   other == 0;
        }
        if (!same || ir_value_type(program, ir_operand(program, test, 0))->element != IR_I1)
            break;
        test = program->values[ir_operand(program, test, 0)].op;
    }
    return test;
}

uint32_t nda_trip_bound(const struct nda *n, uint32_t loop, int64_t *stride)
{
    const struct ir_program *program = n->program;
    uint32_t test = plain_test(n, condition_of(program, loop)), index, bound, by,
             body = ir_region_block(program, loop, 1);
    if (count_trips(n, loop, test) == 0 ||
        !argument_of(program, test, ir_region_block(program, loop, 0), &index, &bound))
        return NDA_NONE;
    uint32_t step = program->values[ir_operand(program, ir_block_terminator(program, body), index)].op;
    if (!argument_of(program, step, body, &index, &by) || !constant_of(n, by, stride))
        return NDA_NONE;
    return constant_behind(program, bound);
}

/* Of a condition that joins several (`i < n and not done`) the least count of those that are known: it may
 * end earlier. */
static int64_t most_trips(const struct nda *n, uint32_t op, uint32_t test, uint32_t depth)
{
    enum { DEPTH = 8 };
    const struct ir_program *program = n->program;
    test = plain_test(n, test);
    if (test == IR_NONE || program->ops[test].code != IR_AND || depth == DEPTH)
        return count_trips(n, op, test);
    int64_t a = most_trips(n, op, program->values[ir_operand(program, test, 0)].op, depth + 1),
            b = most_trips(n, op, program->values[ir_operand(program, test, 1)].op, depth + 1);
    return a == 0 ? b : b == 0 || a < b ? a : b;
}

/* "while@file:line" of the location, or "while@line" of the text */
static bool is_named(const struct nda *n, uint32_t op, const char *where)
{
    const struct ir_op *ir_op = &n->program->ops[op];
    char line[32];
    snprintf(line, sizeof line, "while@%u", ir_op->line);
    return strcmp(where, line) == 0 || (strncmp(where, "while@", 6) == 0 && ir_op->location != IR_NONE &&
                                        strcmp(where + 6, ir_string(n->program, ir_op->location)) == 0);
}

static int64_t given_trips(const struct nda *n, uint32_t op, const struct nda_options *options)
{
    for (uint32_t i = 0; options && i < options->trip_count_count; i++)
        if (is_named(n, op, options->trip_counts[i].where))
            return options->trip_counts[i].trips;
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

static bool is_loop(const struct nda *n, uint32_t op)
{
    return n->program->ops[op].code == IR_WHILE && n->op_space[op] != NDA_NONE;
}

/* a count that would have no effect is refused: it names no loop, or one whose condition says another */
static enum error_code check_given(const struct nda *n, const struct nda_trip_count *given, struct error *e)
{
    char pointer[160];
    bool found = false;
    snprintf(pointer, sizeof pointer, "/trip_counts/%.120s", given->where);
    for (uint32_t op = 0; op < n->program->op_count; op++) {
        if (!is_loop(n, op) || !is_named(n, op, given->where))
            continue;
        int64_t own = count_trips(n, op, condition_of(n->program, op));
        found = true;
        if (own && own != given->trips)
            return error_set_pointer(e, ERROR_INVALID_REQUEST, pointer,
                                     "the loop runs %lld times by its own condition, not %lld: leave it out",
                                     (long long)own, (long long)given->trips);
    }
    return found ? ERROR_OK
                 : error_set_pointer(
                       e, ERROR_INVALID_REQUEST, pointer,
                       "the module has no loop at '%.120s'; loops are named while@file:line by their "
                       "location, or while@line of the module's text",
                       given->where);
}

enum error_code stage_trip_counts(struct nda *n, const struct nda_options *options, struct error *e)
{
    const struct ir_program *program = n->program;
    n->trip_count = arena_alloc(n->arena, sizeof *n->trip_count * ((size_t)program->op_count + 1));
    for (uint32_t op = 0; op < program->op_count; op++)
        n->trip_count[op] = is_loop(n, op) ? trips_of(n, op, options) : 1;
    for (uint32_t i = 0; options && i < options->trip_count_count; i++)
        TRY(check_given(n, &options->trip_counts[i], e));
    return ERROR_OK;
}
