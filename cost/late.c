/* What runs behind the rest: what no product needs.
 *
 *   chain of products     dx 4 | dx 3 | dx 2 | dx 1 |
 *   weights' gradients                              | dW 4 | dW 3 | dW 2 | dW 1 | updates ..
 *   their reductions                                       | reduce 4 | reduce 3 | ..
 *
 * XLA for GPUs schedules from the end: reductions of gradients come last, hidden behind the products that
 * make weights' gradients and behind the updates of other parameters. Here these kernels are put into lists,
 * which price.c runs when the chain is through, or, where the chain waits for collectives of its own, list 0
 * from its front in between: list 0 what waits for no late collective (products, in program order, and the
 * reductions of what they make), list n what is computed from late collective n and none of a higher number.
 * So no update holds up the products behind it. Reductions that are combined have one list, which runs at the
 * number of the last of them. Late collectives of what is there from the beginning (moments that change
 * their sharding) have a list of their own, from which one goes wherever the link is free. Nothing here knows
 * times. */
#include "cost/internal.h"

#include <string.h>

/* Collectives run beside a loop that has none, as beside any computation: random numbers, scans. */
void price_find_looped(struct price_scratch *scratch, const struct spmd_local *local)
{
    enum { DEPTH = 16 };
    uint32_t open[DEPTH], depth = 0, sent = 0; /* sent: 1 + the last kernel that lets no loop around it be */
    for (uint32_t i = 0; i < scratch->kernel_count; i++) {
        uint8_t kind = local->steps[scratch->kernels[i].step].kind;
        scratch->kernels[i].looped = false;
        if (kind == SPMD_LOOP) {
            if (depth < DEPTH)
                open[depth] = i;
            depth++;
        } else if (kind == SPMD_LOOP_END && depth > 0) {
            uint32_t first = --depth < DEPTH ? open[depth] : i;
            for (uint32_t k = first; sent <= first && k < i + 1 && first < i; k++)
                scratch->kernels[k].looped = true;
        } else if (!step_is_local(kind) && kind != SPMD_LOOP_BODY) {
            sent = i + 1;
        }
    }
}

/* is the step to run behind what products wait for? */
static bool is_late(const struct price_scratch *scratch, const struct spmd_step *step)
{
    for (uint32_t result = step->results; result < step->results + step->result_count; result++)
        if (scratch->uses[result].feeds_matmul)
            return false;
    return step->result_count > 0;
}

/* what the passes over the kernels ask of each again and again: steps and values are far apart */
static uint8_t traits_of(const struct price_scratch *scratch, const struct spmd_step *step)
{
    bool of_weights = step->result_count && scratch->times[step->results].of_weights;
    return (uint8_t)((spmd_step_is_collective(step) ? KERNEL_SENDS : 0) |
                     (step_is_local(step->kind) ? KERNEL_COMPUTES : 0) |
                     (is_late(scratch, step) ? KERNEL_LATE : 0) | (of_weights ? KERNEL_OF_WEIGHTS : 0));
}

void price_late_begin(struct price_scratch *scratch, const struct spmd_local *local)
{
    GROW(scratch->late, scratch->late_room, scratch->kernel_count + 2);
    memset(scratch->late, 0, (scratch->kernel_count + 2) * sizeof *scratch->late);
    for (uint32_t i = 0; i < scratch->kernel_count; i++)
        scratch->kernels[i].traits = traits_of(scratch, &local->steps[scratch->kernels[i].step]);
}

static void append(struct price_scratch *scratch, uint32_t list, uint32_t kernel)
{
    struct late_kernel *late = scratch->late;
    if (late[list].last)
        late[late[list].last - 1].next = kernel + 1;
    else
        late[list].first = kernel + 1;
    late[list].last = kernel + 1;
}

/* The list of what is computed from a late collective. Members of a group have one, which runs when the last
 * of them is done. What is computed from another late collective joins none: its operands come behind. */
static uint32_t list_of(struct price_scratch *scratch, uint32_t kernel, uint32_t after, uint32_t *count)
{
    uint32_t group = scratch->kernels[kernel].joined, number = ++*count;
    if (!group || after)
        return number;
    struct late_kernel *of_group = &scratch->late[group];
    scratch->late[number].group = group;
    of_group->list = of_group->list ? of_group->list : number;
    of_group->number = number;
    of_group->members++;
    return of_group->list;
}

/* the number of the late collective that a list waits for, as far as is known */
static inline uint32_t number_of(const struct late_kernel *late, uint32_t list)
{
    return late[list].group ? late[late[list].group].number : list;
}

uint32_t price_late_list(const struct price_scratch *scratch, uint32_t number)
{
    const struct late_kernel *late = scratch->late;
    uint32_t group = late[number].group;
    return !group ? number : late[group].number == number ? late[group].list : LATE_NONE;
}

void price_late_add(struct price_scratch *scratch, const struct spmd_local *local, uint32_t kernel,
                    uint32_t behind, uint32_t *count)
{
    const struct kernel *k = &scratch->kernels[kernel];
    const struct spmd_step *step = &local->steps[k->step];
    uint32_t list = 0;
    for (uint32_t i = k->roots; i < k->roots + k->root_count; i++) {
        uint32_t late = scratch->times[scratch->pool[i].value].late;
        list = number_of(scratch->late, late) > number_of(scratch->late, list) ? late : list;
    }
    bool collective = spmd_step_is_collective(step);
    append(scratch, collective && scratch->times[step->results].of_weights ? price_idle_list(scratch) : list,
           kernel);
    scratch->late[kernel].behind = behind;
    uint32_t next = collective ? list_of(scratch, kernel, list, count) : list;
    for (uint32_t result = 0; result < step->result_count; result++)
        scratch->times[step->results + result].late = next;
}
