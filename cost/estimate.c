/* Times and lives of single ops: one pricing of the unsharded program, kept by op and value. */
#include "cost/estimate.h"

#include "cost/internal.h"

#include <stdlib.h>

struct cost_estimate {
    struct price_program *program;
    struct price_rates rates;
    int64_t *op_ps;          /* per op: its kernels, launches apart; NOT_A_KERNEL */
    struct cost_life *lives; /* per program value */
    uint32_t steps;
};
enum { NOT_A_KERNEL = -1 };

static void take_kernels(struct cost_estimate *s, const struct price_scratch *scratch,
                         const struct spmd_local *l, const struct ir_program *p)
{
    int64_t launch = (int64_t)(s->rates.weight * (double)s->rates.launch_ps);
    s->op_ps = mem_alloc(((size_t)p->op_count + 1) * sizeof *s->op_ps);
    for (uint32_t op = 0; op < p->op_count; op++)
        s->op_ps[op] = NOT_A_KERNEL;
    for (size_t i = 0; i < scratch->kernel_count; i++) {
        const struct spmd_step *t = &l->steps[scratch->kernels[i].step];
        if (t->kind != SPMD_OP)
            continue;
        int64_t ps = scratch->kernels[i].ps - launch;
        if (ps > s->op_ps[t->op])
            s->op_ps[t->op] = ps > 0 ? ps : 0;
    }
}

static void take_lives(struct cost_estimate *s, const struct price_scratch *scratch,
                       const struct spmd_local *l, const struct ir_program *p)
{
    s->steps = l->step_count;
    s->lives = mem_zalloc((size_t)p->value_count + 1, sizeof *s->lives);
    for (uint32_t v = l->argument_count; v < l->value_count; v++) {
        struct live_range r = scratch->ranges[v];
        struct cost_life *life = &s->lives[l->values[v].origin];
        if (scratch->values[v].state != VALUE_BUFFER || r.from >= r.until)
            continue;
        uint32_t from = scratch->kernels[r.from].step, until = scratch->kernels[r.until - 1].step + 1;
        bool first = life->from == life->until;
        life->from = first || from < life->from ? from : life->from;
        life->until = first || until > life->until ? until : life->until;
    }
}

enum error_code cost_estimate_create(const struct plan_context *c, const struct cost_machine *machine,
                                     const struct spmd_options *options, struct cost_estimate **out,
                                     struct error *e)
{
    const struct nda *n = plan_context_nda(c);
    struct spmd_local local = {0};
    struct plan nothing;
    plan_init(&nothing, n, plan_context_mesh(c));
    enum error_code code = spmd_walk(c, &nothing, options, &local, e);
    plan_release(&nothing);
    if (code != ERROR_OK) {
        spmd_local_release(&local);
        return code;
    }
    struct cost_estimate *s = mem_zalloc(1, sizeof *s);
    struct price price;
    s->program = price_program_create(n);
    struct price_scratch *scratch = price_scratch_create(s->program);
    s->rates = price_rates_of(machine);
    price_local(&local, machine, &scratch, &price);
    take_kernels(s, scratch, &local, n->program);
    take_lives(s, scratch, &local, n->program);
    price_scratch_destroy(scratch);
    spmd_local_release(&local);
    *out = s;
    return ERROR_OK;
}

void cost_estimate_destroy(struct cost_estimate *s)
{
    if (!s)
        return;
    price_program_destroy(s->program);
    free(s->op_ps);
    free(s->lives);
    free(s);
}

static int64_t round_ps(double ps)
{
    return ps < 4e17 ? (int64_t)(ps + 0.5) : INT64_C(400000000000000000);
}

int64_t cost_estimate_op(const struct cost_estimate *s, uint32_t op, int64_t shards, int64_t operand_bytes,
                         int64_t result_bytes)
{
    const struct op_info *info = &s->program->ops[op];
    if (s->op_ps[op] == NOT_A_KERNEL)
        return 0;
    if (info->class == OP_MATMUL) {
        double compute = info->flops / (double)shards * s->rates.ps_per_flop[info->rate];
        double memory = ((double)operand_bytes + (double)result_bytes) * s->rates.ps_per_byte;
        return round_ps(compute > memory ? compute : memory) + s->rates.launch_ps;
    }
    return round_ps((double)s->op_ps[op] / (double)shards + s->rates.weight * (double)s->rates.launch_ps);
}

int64_t cost_estimate_floor(const struct cost_estimate *s, uint32_t op, int64_t shards)
{
    const struct op_info *info = &s->program->ops[op];
    if (info->class != OP_MATMUL)
        return 0;
    double ps = info->flops / (double)shards * s->rates.ps_per_flop[info->rate] * (1 - 1e-9) - 1;
    return (ps > 0 && ps < 4e17 ? (int64_t)ps : 0) + s->rates.launch_ps;
}

int64_t cost_estimate_slice(const struct cost_estimate *s, int64_t bytes)
{
    return round_ps(s->rates.weight *
                    (2.0 * (double)bytes * s->rates.ps_per_byte + (double)s->rates.launch_ps));
}

struct cost_life cost_estimate_life(const struct cost_estimate *s, uint32_t value)
{
    return s->lives[value];
}

uint32_t cost_estimate_steps(const struct cost_estimate *s)
{
    return s->steps;
}
