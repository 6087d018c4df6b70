/* The peak of an unfolded program, in the order that hides collectives.
 *
 *   fold        4 layers' products and reductions: little waits for the link       peak up to a quarter off
 *   unfolded    all layers' kernels, ordered and held as those of the whole are    peak as of the whole
 *
 * How much such an order puts off depends on how many layers there are to put off, so the fold's own peak
 * (memory.c: what both layers at the cut hold) says little of it. unfold.c has every kernel of the whole
 * program already, with what it reads and how long it takes. Here each gets what its memory is priced by,
 * which is its model's: the states of its results, how they are used, and the operands that tell where a
 * result lies and what is copied. Then it is combined, ordered and held by the passes that price a whole
 * program, a fifth of whose time that is: the walk, fusion and times of kernels are spared. */
#include "cost/rematerialise.h"
#include "cost/unfold.h"

#include <string.h>

/* as it stands when fusion is done */
static void take_value(const struct price_unfolded *out, uint32_t model, uint32_t to)
{
    const struct price_scratch *from = out->work->scratch;
    struct value_work *work = &out->scratch->values[to];
    *work = from->values[model];
    work->scattered = work->reduced = work->inner = work->turned = 0;
    if (work->state == VALUE_ALIAS) /* operands name buffers here */
        work->state = VALUE_FUSED;
    out->scratch->uses[to] = from->uses[model];
}

/* Arguments of layers that are gone are used as those of the layer that is copied. */
static void take_arguments(const struct price_unfolded *out)
{
    const struct fold_places *places = out->work->places;
    for (uint32_t argument = 0; argument < out->local.argument_count; argument++) {
        uint32_t node = places->op_count + argument;
        if (places->layer[node] != places->from - 1)
            continue;
        for (uint32_t copy = 1; copy <= out->work->copies && node != NDA_NONE; copy++) {
            node = places->next[node];
            if (node != NDA_NONE)
                take_value(out, argument, node - places->op_count);
        }
    }
}

/* arguments, what kernels make and what their copies do; of the fold's other values what needs no memory */
static void take_values(struct price_unfolded *out)
{
    const struct unfold *unfold = out->work;
    const struct spmd_local *local = unfold->local;
    GROW(out->scratch->values, out->scratch->value_room, (size_t)unfold->value_count + 1);
    GROW(out->scratch->ranges, out->scratch->range_room, (size_t)unfold->value_count + 1);
    for (uint32_t value = 0; value < local->value_count; value++) {
        out->local.values[value] = local->values[value];
        out->local.values[value].step = SPMD_NONE;
    }
    for (uint32_t argument = 0; argument < local->argument_count; argument++)
        take_value(out, argument, argument);
    take_arguments(out);
    for (uint32_t i = 0; i < unfold->placed; i++) {
        const struct spmd_step *model = unfold_step(unfold, unfold->placed_as[i]);
        uint32_t first = out->local.steps[i].results;
        for (uint32_t k = 0; k < model->result_count; k++) {
            take_value(out, model->results + k, first + k);
            out->local.values[first + k] = local->values[model->results + k];
            out->local.values[first + k].step = i;
        }
    }
}

/* The op and the values of the program that a kernel's copies stand for: what is combined goes by them. */
static void name_copies(const struct price_unfolded *out, uint32_t kernel)
{
    const struct unfold *unfold = out->work;
    const struct fold_places *places = unfold->places;
    const struct ir_program *program = unfold->local->nda->program;
    const struct spmd_step *step = &unfold->local->steps[unfold->scratch->kernels[kernel].step];
    uint32_t op = step->op;
    for (uint32_t copy = 1; copy <= unfold->copies; copy++) {
        uint32_t first = unfold->copied[kernel] + (copy - 1) * step->result_count;
        op = op == NDA_NONE ? op : places->next[op];
        if (op != NDA_NONE)
            out->local.steps[out->local.values[first].step].op = op;
    }
    for (uint32_t k = 0; k < step->result_count; k++) {
        uint32_t origin = unfold->local->values[step->results + k].origin,
                 node = fold_maker(places, program, origin);
        for (uint32_t copy = 1; copy <= unfold->copies && node != NDA_NONE; copy++) {
            node = places->next[node];
            if (node != NDA_NONE)
                out->local.values[unfold->copied[kernel] + (copy - 1) * step->result_count + k].origin =
                    fold_value(places, program, node, origin);
        }
    }
}

/* ---------------------------------------------------------------- operands */
static uint32_t begin_operands(struct price_unfolded *out, uint32_t step, uint32_t more)
{
    uint32_t first = out->local.operand_count;
    GROW(out->local.operands, out->work->operand_room, (size_t)first + more + 1);
    out->local.operand_count += more;
    out->local.steps[step].operands = first;
    return first;
}

/* An operand that is no buffer, as itself: little of the fold's values is. */
static uint32_t take_other(const struct price_unfolded *out, uint32_t operand)
{
    take_value(out, operand, operand);
    return operand;
}

/* Does somebody ask for the operands of such a kernel? What is written over its operand, gathered, moved or
 * multiplied (products of one array may run as one) has them. */
static bool has_operands(const struct unfold *unfold, const struct kernel *kernel)
{
    const struct spmd_step *step = &unfold->local->steps[kernel->step];
    if (step->kind != SPMD_OP)
        return kernel->traits & KERNEL_SENDS;
    uint8_t class = step_info(unfold->scratch, step)->class;
    return class == OP_UPDATE || class == OP_GATHER || class == OP_MATMUL;
}

/* operand i; of an update what it writes into (added.c) */
static uint32_t operand_meant(const struct unfold *unfold, const struct spmd_step *step, uint32_t i)
{
    bool into = i == 0 && step->kind == SPMD_OP && step_info(unfold->scratch, step)->class == OP_UPDATE;
    return into ? price_written_into(unfold->scratch, unfold->local, step)
                : unfold->local->operands[step->operands + i];
}

/* the place of what an operand is or names among the buffers that the fold's kernel reads; NDA_NONE */
static uint32_t place_among_roots(const struct price_scratch *scratch, const struct kernel *kernel,
                                  uint32_t operand)
{
    uint32_t buffer = buffer_of(scratch, operand);
    for (uint32_t i = 0; i < kernel->root_count && buffer != NDA_NONE; i++)
        if (scratch->pool[kernel->roots + i].value == buffer)
            return i;
    return NDA_NONE;
}

/* .. of all operands that somebody asks for: a kernel's copies read what it reads, in its order */
static void find_places(struct unfold *unfold)
{
    const struct price_scratch *scratch = unfold->scratch;
    GROW(unfold->among_roots, unfold->among_room, (size_t)unfold->local->operand_count + 1);
    for (uint32_t k = 0; k < scratch->kernel_count; k++) {
        const struct kernel *kernel = &scratch->kernels[k];
        const struct spmd_step *step = &unfold->local->steps[kernel->step];
        uint32_t count = has_operands(unfold, kernel) ? step->operand_count : 0;
        for (uint32_t i = 0; i < count; i++)
            unfold->among_roots[step->operands + i] =
                place_among_roots(scratch, kernel, operand_meant(unfold, step, i));
    }
}

/* The buffer that an operand of the fold's kernel is or names, as the kernel placed there has it. */
static uint32_t operand_of(const struct price_unfolded *out, uint32_t at, uint32_t index, uint32_t operand)
{
    uint32_t place = out->work->among_roots[index];
    if (place != NDA_NONE)
        return out->scratch->pool[out->scratch->kernels[at].roots + place].value;
    uint32_t buffer = buffer_of(out->work->scratch, operand);
    return buffer == NDA_NONE ? take_other(out, operand) : buffer;
}

/* What moves keeps its operand's form, though that be another name of a buffer. */
static void take_operands(struct price_unfolded *out, uint32_t at)
{
    const struct unfold *unfold = out->work;
    const struct kernel *kernel = &unfold->scratch->kernels[unfold->placed_as[at]->kernel];
    if (!has_operands(unfold, kernel))
        return;
    const struct spmd_step *model = &unfold->local->steps[kernel->step];
    uint32_t first = begin_operands(out, at, model->operand_count);
    for (uint32_t i = 0; i < model->operand_count; i++) {
        uint32_t operand = operand_meant(unfold, model, i);
        bool kept = kernel->traits & KERNEL_SENDS && !is_buffer(unfold->scratch, operand);
        out->local.operands[first + i] =
            kept ? take_other(out, operand) : operand_of(out, at, model->operands + i, operand);
    }
}

/* The fold returns in the place of a result of a layer that is gone that of the layer which is copied. */
static uint32_t returned(const struct price_unfolded *out, uint32_t result, uint32_t operand)
{
    const struct unfold *unfold = out->work;
    const struct fold_places *places = unfold->places;
    uint32_t buffer = buffer_of(unfold->scratch, operand);
    if (buffer == NDA_NONE || buffer < unfold->local->argument_count)
        return buffer == NDA_NONE ? take_other(out, operand) : buffer;
    uint32_t step = unfold->local->values[buffer].step, kernel = unfold->scratch->at[step],
             node = fold_maker(places, unfold->local->nda->program, places->returned[result]);
    int32_t layer = node == NDA_NONE ? FOLD_NO_LAYER : places->layer[node];
    if (!unfold->copied[kernel] || layer < places->from || layer >= places->until)
        return buffer;
    const struct spmd_step *made = &unfold->local->steps[step];
    return unfold->copied[kernel] + (uint32_t)(layer - places->from) * made->result_count +
           (buffer - made->results);
}

static void push_root(struct price_scratch *scratch, uint32_t value, int64_t bytes)
{
    if (scratch->values[value].mark == scratch->mark)
        return;
    scratch->values[value].mark = scratch->mark;
    GROW(scratch->pool, scratch->pool_room, scratch->pool_count + 1);
    scratch->pool[scratch->pool_count++] = (struct root){value, bytes};
}

/* What is returned is read: that of layers that are gone, too, or it would be ready before all else. */
static void read_results(struct price_unfolded *out, uint32_t at)
{
    struct price_scratch *scratch = out->scratch;
    const struct price_scratch *from = out->work->scratch;
    const struct spmd_step *step = &out->local.steps[at];
    struct kernel *kernel = &scratch->kernels[at];
    kernel->roots = (uint32_t)scratch->pool_count;
    scratch->mark = from->mark + 1;
    for (uint32_t i = step->operands; i < step->operands + step->operand_count; i++) {
        uint32_t value = out->local.operands[i];
        if (scratch->values[value].state == VALUE_BUFFER) {
            push_root(scratch, value, stored_bytes(scratch, &out->local, value));
            continue;
        }
        const struct value_work *work = &from->values[value];
        for (const struct root *root = from->pool + work->roots;
             root < from->pool + work->roots + work->root_count; root++)
            push_root(scratch, root->value, root->bytes);
    }
    kernel->root_count = (uint32_t)scratch->pool_count - kernel->roots;
}

static void take_results(struct price_unfolded *out, uint32_t at)
{
    const struct unfold *unfold = out->work;
    const struct spmd_step *model = unfold_step(unfold, unfold->placed_as[at]);
    uint32_t first = begin_operands(out, at, model->operand_count);
    for (uint32_t i = 0; i < model->operand_count; i++)
        out->local.operands[first + i] = returned(out, i, unfold->local->operands[model->operands + i]);
    read_results(out, at);
}

static void take_all_operands(struct price_unfolded *out)
{
    const struct spmd_local *local = out->work->local;
    out->local.operand_count = 0;
    GROW(out->local.operands, out->work->operand_room, (size_t)local->operand_count + 1);
    if (local->operand_count)
        memcpy(out->local.operands, local->operands, local->operand_count * sizeof *local->operands);
    out->local.operand_count = local->operand_count;
    find_places(out->work);
    for (uint32_t at = 0; at < out->work->placed; at++)
        if (out->local.steps[at].kind == SPMD_RESULT)
            take_results(out, at);
        else
            take_operands(out, at);
}

/* loop_end of the first step of a loop or branch is its last */
static void find_regions(struct price_unfolded *out)
{
    struct price_scratch *scratch = out->scratch;
    uint32_t open =
        SPMD_NONE; /* the innermost one; that around it stands in its loop_end until its end is known */
    GROW(scratch->loop_end, scratch->loop_room, (size_t)out->work->placed + 1);
    for (uint32_t i = 0; i < out->work->placed; i++) {
        uint8_t kind = out->local.steps[i].kind;
        if (kind == SPMD_LOOP || kind == SPMD_BRANCH) {
            scratch->loop_end[i] = open;
            open = i;
        } else if ((kind == SPMD_LOOP_END || kind == SPMD_BRANCH_END) && open != SPMD_NONE) {
            uint32_t around = scratch->loop_end[open];
            scratch->loop_end[open] = i;
            open = around;
        }
    }
}

/* ---------------------------------------------------------------- the peak */
static bool has_regions(const struct price_unfolded *out)
{
    for (uint32_t i = 0; i < out->work->placed; i++)
        if (out->local.steps[i].kind > SPMD_MASK && out->local.steps[i].kind != SPMD_RESULT)
            return true;
    return false;
}

void price_unfolded_prepare(struct price_unfolded *unfolded)
{
    struct price_scratch *scratch = unfolded->scratch;
    if (unfolded->prepared)
        return;
    unfolded->prepared = scratch->of_buffers = true;
    take_values(unfolded);
    for (uint32_t kernel = 0; kernel < unfolded->work->scratch->kernel_count; kernel++)
        if (unfolded->work->copied[kernel] &&
            unfolded->work->scratch->kernels[kernel].traits & KERNEL_SCATTERS)
            name_copies(unfolded, kernel);
    take_all_operands(unfolded);
    find_regions(unfolded);
    for (uint32_t i = 0; i < scratch->kernel_count; i++) {
        struct kernel *kernel = &scratch->kernels[i];
        kernel->next = kernel->together = kernel->behind = 0;
        kernel->shared_bytes = 0;
        kernel->follows = false;
    }
    GROW(scratch->at, scratch->at_room, scratch->kernel_count + 1);
    price_combine(scratch, &unfolded->local);
    price_siblings(scratch, &unfolded->local);
    price_combine_reductions(scratch, &unfolded->local);
}

bool price_unfolded_peak(struct price_unfolded *unfolded, const struct cost_machine *machine,
                         struct price *out)
{
    struct price_scratch *scratch = unfolded->scratch;
    struct price whole = {0};
    if (has_regions(unfolded))
        return false;
    price_unfolded_prepare(unfolded);
    price_memory(scratch, &unfolded->local, price_hiding(scratch, &unfolded->local), COST_ORDER_HIDING,
                 &whole);
    price_find_kept(scratch, &unfolded->local, machine, &whole);
    out->peak_bytes = out->hiding_peak_bytes = whole.peak_bytes;
    return true;
}
