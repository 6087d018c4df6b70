/* What is alive at the peak, by kind: what ops of one place make of one type, and arguments of one role that
 * are named alike up to numbers, are one row with how many they are, as twelve layers hold the same twelve
 * times. Rows sum to the peak where there are no more than PEAK_ROWS of them; never says what an op is good
 * for. */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PEAK_ROWS = 20 }; /* what a person looks through */

struct row {
    struct report_tensor tensor;
    char one[sizeof((struct report_tensor *)0)->name]; /* the name of the only one */
    int role;                                          /* of arguments; -1: an op's or a loop's */
};

/* Is it another form of a value that a collective made, and not by adding parts up? */
static bool is_gathered(const struct spmd_local *local, const struct spmd_value *value)
{
    const struct spmd_step *step = value->step == SPMD_NONE ? NULL : &local->steps[value->step];
    return step && spmd_step_is_collective(step) && step->kind != SPMD_ALL_REDUCE &&
           step->kind != SPMD_REDUCE_SCATTER;
}

static void describe(const struct nda *n, const struct spmd_local *local, const struct price_live *live,
                     struct row *row)
{
    const struct ir_program *program = n->program;
    uint32_t origin = local->values[live->value].origin;
    struct report_tensor *tensor = &row->tensor;
    uint32_t op = program->values[origin].op;
    tensor->bytes = live->bytes;
    tensor->gathered = is_gathered(local, &local->values[live->value]);
    tensor->count = 1;
    row->role = -1;
    report_type(program, origin, tensor->type, sizeof tensor->type);
    snprintf(row->one, sizeof row->one, "%s", op != IR_NONE ? ir_op_name(program, op) : "loop value");
    if (op != IR_NONE)
        report_where(program, op, tensor->location, sizeof tensor->location);
    if (op == IR_NONE && program->values[origin].block == n->block) {
        const struct nda_argument *argument = &n->arguments[program->values[origin].index];
        snprintf(row->one, sizeof row->one, "%s", argument->name);
        row->role = (int)argument->role;
    }
    memcpy(tensor->name, row->one, sizeof tensor->name);
    if (row->role >= 0)
        report_pattern(row->one, tensor->name, sizeof tensor->name);
}

static int by_kind(const void *left, const void *right)
{
    const struct row *one = left, *other = right;
    int order = strcmp(one->tensor.name, other->tensor.name);
    if (!order)
        order = strcmp(one->tensor.type, other->tensor.type);
    if (!order && !report_same_place(one->tensor.location, other->tensor.location))
        order = strcmp(one->tensor.location, other->tensor.location);
    if (!order)
        order = (int)one->tensor.gathered - (int)other->tensor.gathered;
    return order ? order : (one->role > other->role) - (one->role < other->role);
}

static int by_kind_and_name(const void *left, const void *right)
{
    const struct row *one = left, *other = right;
    int order = by_kind(left, right);
    if (!order)
        order = strcmp(one->one, other->one);
    return order ? order : report_compare_places(one->tensor.location, other->tensor.location);
}

static int by_bytes(const void *left, const void *right)
{
    const struct row *one = left, *other = right;
    if (one->tensor.bytes != other->tensor.bytes)
        return one->tensor.bytes > other->tensor.bytes ? -1 : 1;
    return by_kind(left, right);
}

void report_find_peak(const struct nda *n, const struct spmd_local *local, const struct price_held *held,
                      struct report *report)
{
    struct row *rows = mem_zalloc(held->live_count + 1, sizeof *rows);
    uint32_t count = 0;
    for (uint32_t i = 0; i < held->live_count; i++)
        describe(n, local, &held->live[i], &rows[i]);
    qsort(rows, held->live_count, sizeof *rows, by_kind_and_name);
    char last[sizeof rows->one] = "";
    for (uint32_t i = 0; i < held->live_count; i++) {
        bool again = rows[i].role >= 0 && strcmp(last, rows[i].one) == 0; /* what was gathered of it */
        memcpy(last, rows[i].one, sizeof last);
        if (count && by_kind(&rows[count - 1], &rows[i]) == 0) {
            rows[count - 1].tensor.bytes += rows[i].tensor.bytes;
            rows[count - 1].tensor.count += !again;
        } else {
            rows[count++] = rows[i];
        }
    }
    qsort(rows, count, sizeof *rows, by_bytes);
    report->at_peak_count = count < PEAK_ROWS ? count : PEAK_ROWS;
    report->at_peak = arena_alloc(report->arena, (report->at_peak_count + 1) * sizeof *report->at_peak);
    for (uint32_t i = 0; i < report->at_peak_count; i++) {
        report->at_peak[i] = rows[i].tensor;
        if (rows[i].tensor.count == 1)
            memcpy(report->at_peak[i].name, rows[i].one, sizeof rows[i].one);
    }
    free(rows);
}
