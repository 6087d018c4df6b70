/* Times and lives of single ops: one pricing of the unsharded program, kept by op and value. */
#include "cost/estimate.h"

#include "cost/internal.h"

#include <stdlib.h>

struct cost_estimate {
    const struct price_program *program;
    struct price_rates rates;
    int64_t *op_ps;          /* per op: its kernels, launches apart; NOT_A_KERNEL */
    struct cost_life *lives; /* per program value */
    uint32_t steps;
};
enum { NOT_A_KERNEL = -1 };

static void take_kernels(struct cost_estimate *estimate, const struct price_scratch *scratch,
                         const struct spmd_local *local, const struct ir_program *program)
{
    int64_t launch = (int64_t)(estimate->rates.weight * (double)estimate->rates.launch_ps);
    estimate->op_ps = mem_alloc(((size_t)program->op_count + 1) * sizeof *estimate->op_ps);
    for (uint32_t op = 0; op < program->op_count; op++)
        estimate->op_ps[op] = NOT_A_KERNEL;
    for (size_t i = 0; i < scratch->kernel_count; i++) {
        const struct spmd_step *step = &local->steps[scratch->kernels[i].step];
        if (step->kind != SPMD_OP)
            continue;
        int64_t ps = scratch->kernels[i].ps - launch;
        if (ps > estimate->op_ps[step->op])
            estimate->op_ps[step->op] = ps > 0 ? ps : 0;
    }
}

static void take_lives(struct cost_estimate *estimate, const struct price_scratch *scratch,
                       const struct spmd_local *local, const struct ir_program *program)
{
    estimate->steps = local->step_count;
    estimate->lives = mem_zalloc((size_t)program->value_count + 1, sizeof *estimate->lives);
    for (uint32_t value = local->argument_count; value < local->value_count; value++) {
        struct live_range live_range = scratch->ranges[value];
        struct cost_life *life = &estimate->lives[local->values[value].origin];
        if (scratch->values[value].state != VALUE_BUFFER || live_range.from >= live_range.until)
            continue;
        uint32_t from = scratch->kernels[live_range.from].step,
                 until = scratch->kernels[live_range.until - 1].step + 1;
        bool first = life->from == life->until;
        life->from = first || from < life->from ? from : life->from;
        life->until = first || until > life->until ? until : life->until;
    }
}

struct cost_estimate *cost_estimate_create(const struct price_program *program,
                                           const struct cost_machine *machine,
                                           const struct price_scratch *scratch,
                                           const struct spmd_local *local)
{
    struct cost_estimate *estimate = mem_zalloc(1, sizeof *estimate);
    estimate->program = program;
    estimate->rates = price_rates_of(machine);
    take_kernels(estimate, scratch, local, local->nda->program);
    take_lives(estimate, scratch, local, local->nda->program);
    return estimate;
}

void cost_estimate_destroy(struct cost_estimate *estimate)
{
    if (!estimate)
        return;
    free(estimate->op_ps);
    free(estimate->lives);
    free(estimate);
}

static int64_t round_ps(double ps)
{
    return ps < 4e17 ? (int64_t)(ps + 0.5) : INT64_C(400000000000000000);
}

int64_t cost_estimate_op(const struct cost_estimate *estimate, uint32_t op, int64_t shards,
                         int64_t operand_bytes, int64_t result_bytes)
{
    const struct op_info *info = &estimate->program->ops[op];
    if (estimate->op_ps[op] == NOT_A_KERNEL)
        return 0;
    if (info->class == OP_MATMUL) {
        double compute = info->flops / (double)shards * estimate->rates.ps_per_flop[info->rate];
        double memory = ((double)operand_bytes + (double)result_bytes) * estimate->rates.ps_per_byte;
        return price_matmul_ps(&estimate->rates, compute, memory);
    }
    return round_ps((double)estimate->op_ps[op] / (double)shards +
                    estimate->rates.weight * (double)estimate->rates.launch_ps);
}

int64_t cost_estimate_floor(const struct cost_estimate *estimate, uint32_t op, int64_t shards)
{
    const struct op_info *info = &estimate->program->ops[op];
    if (info->class != OP_MATMUL)
        return 0;
    double ps = info->flops / (double)shards * estimate->rates.ps_per_flop[info->rate] * (1 - 1e-9) - 1;
    return (ps > 0 && ps < 4e17 ? (int64_t)ps : 0) + estimate->rates.matmul_fixed_ps;
}

int64_t cost_estimate_slice(const struct cost_estimate *estimate, int64_t bytes)
{
    return round_ps(estimate->rates.weight *
                    (2.0 * (double)bytes * estimate->rates.ps_per_byte + (double)estimate->rates.launch_ps));
}

struct cost_life cost_estimate_life(const struct cost_estimate *estimate, uint32_t value)
{
    return estimate->lives[value];
}

uint32_t cost_estimate_steps(const struct cost_estimate *estimate)
{
    return estimate->steps;
}
