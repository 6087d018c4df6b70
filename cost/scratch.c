/* The working memory of one pricing: made, grown and freed here, filled by the passes.
 *
 * Arrays only grow, so that after the first few plans of a search no pricing allocates. Nothing in them is
 * kept from one pricing to the next but the facts of the program (struct price_program), and those only while
 * the program is the same. */
#include "cost/graph.h"
#include "cost/rematerialise.h"

#include <stdlib.h>
#include <string.h>

static void graph_destroy(struct price_graph *graph)
{
    if (!graph)
        return;
    free(graph->units);
    free(graph->unit_of);
    free(graph->order);
    free(graph->line);
    free(graph->inside);
    VEC_FREE(&graph->edges);
    VEC_FREE(&graph->stack);
    VEC_FREE(&graph->waits);
    VEC_FREE(&graph->reads);
    VEC_FREE(&graph->ready);
    VEC_FREE(&graph->fresh);
    free(graph->links);
    free(graph->feeds);
    VEC_FREE(&graph->done);
    VEC_FREE(&graph->placed_then);
    free(graph->hidden);
    free(graph->computations);
    free(graph->dones);
    free(graph);
}

struct price_scratch *price_scratch_create(struct price_program *shared)
{
    struct price_scratch *scratch = mem_zalloc(1, sizeof *scratch);
    scratch->program = shared;
    scratch->program_shared = shared != NULL;
    return scratch;
}

void price_scratch_destroy(struct price_scratch *scratch)
{
    if (!scratch)
        return;
    if (!scratch->program_shared)
        price_program_destroy(scratch->program);
    free(scratch->uses);
    free(scratch->values);
    free(scratch->times);
    free(scratch->fates);
    free(scratch->ranges);
    free(scratch->deltas);
    free(scratch->part_deltas[0]);
    free(scratch->part_deltas[1]);
    free(scratch->kernels);
    free(scratch->pool);
    free(scratch->loop_end);
    free(scratch->at);
    free(scratch->again);
    free(scratch->named);
    free(scratch->congruent_step);
    free(scratch->work);
    free(scratch->again_roots);
    free(scratch->sets);
    free(scratch->groups);
    free(scratch->readers);
    free(scratch->barriers);
    VEC_FREE(&scratch->walk);
    free(scratch->scatters);
    free(scratch->reductions);
    free(scratch->reached);
    free(scratch->combined_last);
    price_unfolded_destroy(scratch->unfolded);
    price_unfolded_destroy(scratch->shorter);
    graph_destroy(scratch->graph);
    graph_destroy(scratch->region_graph);
    VEC_FREE(&scratch->regions);
    free(scratch->growth);
    price_hoists_destroy(scratch->hoists);
    price_kept_destroy(scratch->kept);
    free(scratch->copied_bytes);
    free(scratch->padding);
    price_heap_destroy(scratch->heap);
    for (int part = 0; part < COUNTED_PARTS; part++)
        free(scratch->counted[part]);
    free(scratch);
}

/* FLOPs of an H100's f32 units while it moves one byte, by its datasheet: what op_info.effort is counted
 * in */
static const double h100_flops_per_byte = 67e12 / 3350e9;

void price_take_rules(struct price_scratch *scratch, const struct cost_machine *machine)
{
    const struct cost_device *device = &machine->device;
    scratch->rules = machine->backend->fusion;
    scratch->combine_bytes = machine->backend->combine_bytes;
    scratch->reduce_bytes = machine->backend->reduce_bytes;
    scratch->best_fit = machine->backend->best_fit;
    scratch->idle_least = machine->backend->idle_least;
    scratch->idle_most = machine->backend->idle_most;
    scratch->results_apart = machine->backend->results_apart;
    scratch->tiled = machine->backend->tiled;
    scratch->reduces_in_place = machine->backend->reduces_in_place;
    scratch->scatter_most = machine->backend->scatters_in_host ? device->devices_per_host : INT64_MAX;
    scratch->least_order = machine->backend->least_order;
    scratch->hides = machine->backend->hides;
    scratch->effort_scale =
        h100_flops_per_byte * device->memory_bytes_per_s / device->rate_flops[COST_RATE_F32];
    scratch->kernel_bytes =
        (struct cost_kernel_bytes){.rows = scratch->effort_scale * machine->backend->kernel_bytes.rows,
                                   .element = scratch->effort_scale * machine->backend->kernel_bytes.element,
                                   .apart = scratch->effort_scale * machine->backend->kernel_bytes.apart};
    bool takes_in = scratch->rules & COST_FUSE_PRODUCTS;
    scratch->wide_bf16 = device->no_bf16_arithmetic && scratch->rules & COST_FUSE_BYTES && !takes_in;
    scratch->stores_softmax = device->no_bf16_arithmetic && scratch->rules & COST_FUSE_SCORES && takes_in;
}

void price_prepare(struct price_scratch *scratch, const struct spmd_local *local,
                   const struct cost_machine *machine)
{
    price_take_rules(scratch, machine);
    if (!scratch->program || scratch->program->nda != local->nda) {
        BASE_CHECK(!scratch->program_shared);
        price_program_destroy(scratch->program);
        scratch->program = price_program_create(local->nda);
    }
    scratch->barriers_bind = (scratch->least_order || scratch->hides) && scratch->program->has_barriers;
    GROW(scratch->uses, scratch->use_room, local->value_count + 1);
    GROW(scratch->values, scratch->value_room, local->value_count + 1);
    GROW(scratch->times, scratch->time_room, local->value_count + 1);
    GROW(scratch->fates, scratch->fate_room, local->step_count + 1);
    GROW(scratch->ranges, scratch->range_room, local->value_count + 1);
    GROW(scratch->at, scratch->at_room, local->step_count + 1);
    GROW(scratch->loop_end, scratch->loop_room, local->step_count + 1);
    memset(scratch->uses, 0, (size_t)local->value_count * sizeof *scratch->uses);
    if (scratch->rules & COST_FUSE_BYTES) {
        GROW(scratch->again, scratch->again_room, local->value_count + 1);
        GROW(scratch->named, scratch->named_room, local->value_count + 1);
        if (scratch->congruent_step_room < local->nda->program->op_count) {
            free(scratch->congruent_step);
            scratch->congruent_step_room = local->nda->program->op_count;
            scratch->congruent_step =
                mem_zalloc(scratch->congruent_step_room, sizeof *scratch->congruent_step);
        }
    }
    if (scratch->rules & COST_FUSE_WORK) {
        GROW(scratch->work, scratch->work_room, local->step_count + 1);
        memset(scratch->work, 0, (size_t)local->step_count * sizeof *scratch->work);
    }
    if (scratch->tiled)
        price_tile(scratch, local);
    scratch->hidden_graph = false;
    scratch->again_root_count = scratch->set_count = 0;
    scratch->pool_count = scratch->kernel_count = scratch->barrier_count = 0;
    scratch->mark = 0;
}
