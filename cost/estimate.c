/* The roofline of roofline.c on single ops. */
#include "cost/estimate.h"

#include "cost/internal.h"

#include <stdlib.h>

struct cost_estimate {
    struct price_program *program;
    double ps_per_flop[COST_RATES], ps_per_byte, weight;
    int64_t launch_ps;
};

struct cost_estimate *cost_estimate_create(const struct nda *n, const struct cost_machine *machine)
{
    struct cost_estimate *s = mem_zalloc(1, sizeof *s);
    const struct cost_device *d = &machine->device;
    s->program = price_program_create(n);
    for (int i = 0; i < COST_RATES; i++)
        s->ps_per_flop[i] = 1e12 / (d->rate_flops[i] * d->flops_fraction);
    s->ps_per_byte = 1e12 / (d->memory_bytes_per_s * d->memory_fraction);
    s->weight = machine->fusion_weight;
    s->launch_ps = d->launch_ps;
    return s;
}

void cost_estimate_destroy(struct cost_estimate *s)
{
    if (!s)
        return;
    price_program_destroy(s->program);
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
    double moved = (double)operand_bytes + (double)result_bytes;
    switch ((enum op_class)info->class) {
    case OP_NOTHING:
    case OP_FREE:
    case OP_ALIAS:
    case OP_TRANSPOSE:
    case OP_CHEAP:
    case OP_CUT:
        return 0;
    case OP_ELEMENTWISE: /* in a chain: what it reads was just computed, and every second result stays in registers */
        return round_ps(s->weight * 0.5 * (double)result_bytes * s->ps_per_byte);
    case OP_GATHER:
    case OP_UPDATE:
        return round_ps(s->weight * (2.0 * (double)result_bytes * s->ps_per_byte + (double)s->launch_ps));
    case OP_MATMUL: {
        double compute = info->flops / (double)shards * s->ps_per_flop[info->rate], memory = moved * s->ps_per_byte;
        return round_ps(compute > memory ? compute : memory) + s->launch_ps;
    }
    case OP_REDUCE:
    case OP_OTHER:
        break;
    }
    return round_ps(s->weight * (moved * s->ps_per_byte + (double)s->launch_ps));
}

int64_t cost_estimate_floor(const struct cost_estimate *s, uint32_t op, int64_t shards)
{
    const struct op_info *info = &s->program->ops[op];
    if (info->class != OP_MATMUL)
        return 0;
    double ps = info->flops / (double)shards * s->ps_per_flop[info->rate] * (1 - 1e-9) - 1;
    return (ps > 0 && ps < 4e17 ? (int64_t)ps : 0) + s->launch_ps;
}

enum cost_storage cost_estimate_storage(const struct cost_estimate *s, uint32_t op)
{
    switch ((enum op_class)s->program->ops[op].class) {
    case OP_ALIAS:
    case OP_TRANSPOSE:
        return COST_ALIAS;
    case OP_NOTHING:
    case OP_FREE:
    case OP_CHEAP:
    case OP_CUT:
        return COST_UNSTORED;
    case OP_ELEMENTWISE:
    case OP_REDUCE:
    case OP_GATHER:
    case OP_UPDATE:
    case OP_MATMUL:
    case OP_OTHER:
        break;
    }
    return COST_STORED;
}
