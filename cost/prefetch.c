/* When gathers of weights are issued, where the compiler schedules from the end of the program.
 *
 *   program    | gather a | reduce 1 | gather b, c | dot b | dot c | reduce 2 | ..
 *   backward                       b <-- c <-- free at dot b        time runs to the left
 *   issued     c before reduce 1's readers, b beside what stands before reduce 1, ..
 *
 * XLA for GPUs takes a collective up when all that reads it is scheduled, one at a time: of those that wait
 * one of the chain of products first, then the gather that takes longest. It lets the collective go between
 * two kernels, when what runs meanwhile has taken as long, or when nothing else is left to run. So gathers
 * lie as late as the link allows, and what finds no room lies before the first kernel, where nothing hides
 * it.
 *
 * Here that is done once backward over the kernels in the order of the program, without those that run late
 * (late.c) and those that run ahead of the program. Each gather is put into the list of the kernel that it is
 * issued before; makespan.c runs the lists. Times are the kernels' alone: O(n log n), nothing allocates but
 * arrays that grow. */
#include "cost/internal.h"

/* a sweep over one region of the program, from its end */
struct sweep {
    struct price_scratch *scratch;
    const struct spmd_local *local;
    int64_t now_ps, free_ps;    /* since its end: of the compute stream; when the link is free */
    uint32_t flying;            /* 1 + the gather that is under way; 0: none */
    uint32_t before;            /* 1 + the kernel that was swept last */
    uint32_t heap_count;        /* gathers that wait, in scratch->waiting, longest first */
    uint32_t chain, chain_last; /* 1 + the first and last of the chain's collectives that wait */
};

static int64_t kernel_ps(const struct sweep *sweep, uint32_t kernel)
{
    const struct kernel *k = &sweep->scratch->kernels[kernel];
    return times_trips(k->ps - k->apart_ps, sweep->local->steps[k->step].trips);
}

/* does gather a go before gather b? Of equals the later one of the program. */
static bool goes_first(const struct sweep *sweep, uint32_t a, uint32_t b)
{
    int64_t a_ps = sweep->scratch->kernels[a].ps, b_ps = sweep->scratch->kernels[b].ps;
    return a_ps != b_ps ? a_ps > b_ps : a > b;
}

static void push_gather(struct sweep *sweep, uint32_t kernel)
{
    uint32_t *heap = sweep->scratch->waiting, at = sweep->heap_count++;
    for (; at > 0 && goes_first(sweep, kernel, heap[(at - 1) / 2]); at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    heap[at] = kernel;
}

static uint32_t pop_gather(struct sweep *sweep)
{
    uint32_t *heap = sweep->scratch->waiting, first = heap[0], last = heap[--sweep->heap_count], at = 0;
    for (uint32_t child; (child = 2 * at + 1) < sweep->heap_count; at = child) {
        if (child + 1 < sweep->heap_count && goes_first(sweep, heap[child + 1], heap[child]))
            child++;
        if (!goes_first(sweep, heap[child], last))
            break;
        heap[at] = heap[child];
    }
    heap[at] = last;
    return first;
}

/* the gather under way has had its time: it is issued before the kernel that was swept last */
static void let_go(struct sweep *sweep)
{
    struct late_kernel *late = sweep->scratch->late;
    if (sweep->flying && sweep->before) {
        late[sweep->flying - 1].issued = true;
        late[sweep->flying - 1].issue_next = late[sweep->before - 1].issue;
        late[sweep->before - 1].issue = sweep->flying;
    }
    sweep->flying = 0;
}

/* between two kernels: where the link is free the next collective is taken up */
static void use_link(struct sweep *sweep)
{
    struct late_kernel *late = sweep->scratch->late;
    while (sweep->free_ps <= sweep->now_ps) {
        uint32_t next;
        let_go(sweep);
        if (sweep->chain) {
            next = sweep->chain - 1;
            sweep->chain = late[next].issue_next;
        } else if (sweep->heap_count) {
            next = pop_gather(sweep);
            sweep->flying = next + 1;
        } else {
            return;
        }
        sweep->free_ps = sweep->now_ps + kernel_ps(sweep, next);
        late[next].taken = true;
        late[next].left_ps = sweep->free_ps;
    }
}

/* the value is made now: the collective that reads it must have been issued */
static void settle(struct sweep *sweep, uint32_t value)
{
    uint32_t wanted = sweep->scratch->times[value].wanted;
    if (!wanted)
        return;
    const struct late_kernel *reader = &sweep->scratch->late[wanted - 1];
    while (!reader->taken && (sweep->chain || sweep->heap_count)) {
        sweep->now_ps = sweep->now_ps > sweep->free_ps ? sweep->now_ps : sweep->free_ps;
        use_link(sweep);
    }
    if (reader->taken && reader->left_ps > sweep->now_ps) {
        sweep->now_ps = reader->left_ps;
        use_link(sweep);
    }
}

static void note_wanted(const struct sweep *sweep, const struct kernel *kernel, uint32_t wanted)
{
    for (uint32_t i = kernel->roots; i < kernel->roots + kernel->root_count; i++)
        sweep->scratch->times[sweep->scratch->pool[i].value].wanted = wanted;
}

static void sweep_collective(struct sweep *sweep, uint32_t at)
{
    struct price_scratch *scratch = sweep->scratch;
    const struct kernel *kernel = &scratch->kernels[at];
    const struct spmd_step *step = &sweep->local->steps[kernel->step];
    if (kernel->led_by) { /* the first of them is taken up for all */
        note_wanted(sweep, kernel, kernel->led_by);
        scratch->late[at].issue_next = scratch->late[kernel->led_by - 1].leads;
        scratch->late[kernel->led_by - 1].leads = at + 1;
        return;
    }
    for (uint32_t result = 0; result < step->result_count; result++)
        settle(sweep, step->results + result);
    note_wanted(sweep, kernel, at + 1);
    if (kernel->traits & KERNEL_OF_WEIGHTS && step->kind == SPMD_ALL_GATHER) {
        push_gather(sweep, at);
    } else {
        scratch->late[at].issue_next = 0;
        if (sweep->chain)
            scratch->late[sweep->chain_last - 1].issue_next = at + 1;
        else
            sweep->chain = at + 1;
        sweep->chain_last = at + 1;
    }
    use_link(sweep);
}

static void sweep_computation(struct sweep *sweep, uint32_t at)
{
    const struct kernel *kernel = &sweep->scratch->kernels[at];
    const struct spmd_step *step = &sweep->local->steps[kernel->step];
    if (kernel->traits & KERNEL_OF_WEIGHTS) {
        if (sweep->scratch->times[step->results].wanted)
            note_wanted(sweep, kernel, sweep->scratch->times[step->results].wanted);
        return;
    }
    for (uint32_t result = 0; result < step->result_count; result++)
        settle(sweep, step->results + result);
    sweep->now_ps += kernel_ps(sweep, at);
    sweep->before = at + 1;
    use_link(sweep);
}

/* the begin of a region: all that waits is issued before its first kernel */
static void end_region(struct sweep *sweep)
{
    while (sweep->chain || sweep->heap_count || sweep->flying) {
        sweep->now_ps = sweep->now_ps > sweep->free_ps ? sweep->now_ps : sweep->free_ps;
        use_link(sweep);
    }
    sweep->now_ps = sweep->free_ps = 0;
    sweep->before = 0;
}

void price_prefetch(struct price_scratch *scratch, const struct spmd_local *local)
{
    struct sweep sweep = {.scratch = scratch, .local = local};
    GROW(scratch->waiting, scratch->waiting_room, scratch->kernel_count + 1);
    for (uint32_t at = (uint32_t)scratch->kernel_count; at-- > 0;) {
        bool looped = scratch->kernels[at].looped;
        uint8_t traits = scratch->kernels[at].traits;
        if (!(traits & (KERNEL_SENDS | KERNEL_COMPUTES)) && !looped)
            end_region(&sweep);
        else if (!looped && traits & KERNEL_LATE)
            continue;
        else if (traits & KERNEL_SENDS)
            sweep_collective(&sweep, at);
        else
            sweep_computation(&sweep, at);
    }
    end_region(&sweep);
}
