/* What a plan's step takes at least: its matrix products, each on the devices that the plan gives it, and
 * what its collectives move.
 *
 * FLOPs / rate of a product are the least that matmul_time (roofline.c) gives it, and all computation runs on
 * one stream (makespan.c), so no step is shorter. It is found from the cells alone, without a walk, in a
 * thousandth of a pricing. Of a fold the products of the layer before the cut count for every layer that is
 * gone, as their copies do (unfold.c). Products in a branch may not run: they are left out. */
#include "analysis/fold.h"
#include "cost/internal.h"
#include "cost/joining.h"

#include <stdlib.h>
#include <string.h>

struct product {
    uint32_t space;
    double ps; /* on one device, of all trips */
};
struct price_least {
    uint32_t count;
    struct product products[];
};

/* how often an op runs, at least, and the op of the body that it is in */
static int64_t runs_of(const struct nda *n, uint32_t op, uint32_t *outermost)
{
    const struct ir_program *program = n->program;
    int64_t runs = 1;
    *outermost = op;
    while (program->ops[op].block != n->block) {
        uint32_t around = program->regions[program->blocks[program->ops[op].block].region].op;
        int64_t times = program->ops[around].code == IR_WHILE ? n->trip_count[around] : 0;
        runs = times > 0 && runs < INT64_MAX / times ? runs * times : times > 0 ? INT64_MAX : 0;
        *outermost = op = around;
    }
    return runs;
}

/* the layers that an op of the body stands for; 0: it is gone itself */
static int64_t layers_of(const struct fold *fold, uint32_t op)
{
    if (!fold)
        return 1;
    int32_t layer = fold->places.layer[op];
    if (layer != FOLD_NO_LAYER && layer >= fold->places.from && layer < fold->places.until)
        return 0;
    return fold->part[op] == 1 ? 1 + (int64_t)fold->copies : 1;
}

struct price_least *price_least_create(const struct price_program *program,
                                       const struct cost_machine *machine, const struct fold *fold)
{
    const struct nda *n = program->nda;
    struct price_rates rates = price_rates_of(machine);
    uint32_t most = 0;
    for (uint32_t op = 0; op < n->program->op_count; op++)
        most += program->ops[op].class == OP_MATMUL;
    struct price_least *least = mem_alloc(sizeof *least + ((size_t)most + 1) * sizeof *least->products);
    least->count = 0;
    for (uint32_t op = 0; op < n->program->op_count; op++) {
        const struct op_info *info = &program->ops[op];
        uint32_t outermost, space = n->op_space[op]; /* none where @main does not come */
        if (info->class != OP_MATMUL || space == NDA_NONE)
            continue;
        int64_t runs = runs_of(n, op, &outermost), layers = runs > 0 ? layers_of(fold, outermost) : 0;
        if (layers > 0)
            least->products[least->count++] = (struct product){
                space, info->flops * rates.ps_per_flop[info->rate] * (double)runs * (double)layers};
    }
    return least;
}

void price_least_destroy(struct price_least *least)
{
    free(least);
}

int64_t price_least_ps(const struct price_least *least, const struct mesh *mesh, const struct plan *plan)
{
    double ps = 0;
    for (uint32_t i = 0; i < least->count; i++) {
        const struct plan_cell *cells = plan_space(plan, least->products[i].space);
        int64_t devices = 1;
        for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
            if (cells[axis].factor != NDA_NO_FACTOR)
                devices *= mesh->axes[axis].size;
        ps += least->products[i].ps / (double)devices;
    }
    return ps < 9e18 ? (int64_t)ps : INT64_C(9000000000000000000);
}

/* of collectives of one kind over the same axes */
struct moved {
    const struct spmd_step *like;
    double bytes;
};
enum { MOVED_KINDS = 32 }; /* what is of more kinds is left out */

static bool is_alike(const struct spmd_step *one, const struct spmd_step *other)
{
    return one->kind == other->kind && one->axis_count == other->axis_count &&
           memcmp(one->axes, other->axes, one->axis_count) == 0;
}

/* What the link is busy for, at least: all collectives of one kind over the same axes as one, so that latency
 * is paid once. */
int64_t price_least_moved_ps(const struct spmd_local *local, const struct cost_machine *machine,
                             const struct price_fold *fold)
{
    struct moved moved[MOVED_KINDS];
    uint32_t count = 0;
    int64_t ps = 0;
    for (uint32_t i = 0; i < local->step_count; i++) {
        const struct spmd_step *step = &local->steps[i];
        if (!spmd_step_is_collective(step))
            continue;
        uint32_t k = 0;
        while (k < count && !is_alike(moved[k].like, step))
            k++;
        if (k == MOVED_KINDS)
            continue;
        if (k == count)
            moved[count++] = (struct moved){step, 0};
        uint8_t part = fold ? price_fold_part(fold, local, step) : 0;
        moved[k].bytes += (double)price_collective_bytes(local, step) * (double)step->trips *
                          (part == 1 ? 1 + (double)fold->copies : 1);
    }
    for (uint32_t k = 0; k < count; k++)
        ps += cost_collective_price(machine, local->mesh, moved[k].like->kind, moved[k].like->axes,
                                    moved[k].like->axis_count,
                                    moved[k].bytes < 9e18 ? (int64_t)moved[k].bytes : INT64_MAX)
                  .time_ps;
    return ps;
}
