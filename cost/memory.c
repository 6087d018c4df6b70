/* Live ranges: where every buffer takes memory, and the peak.
 *
 * As XLA counts it: arguments and results take memory throughout (a result that takes a donated argument's
 * buffer once), everything else from the kernel that writes it to the last that reads it. A buffer can have a
 * *home*, memory that is counted elsewhere: a result is written where the caller gets it, the body's new
 * value of a loop where the old one was, a branch's result where the op's result will be. It takes memory of
 * its own only while its home still holds something that is needed. Members of a combined collective are
 * packed into one array, and their results are parts of one: operands die at the first member's step, results
 * live from the last member's on, as long as any of them. Elementwise kernels and updates take over an
 * operand's buffer on its last use; collectives hold operand and result. Until a result that takes no
 * argument's buffer is written, its memory serves temporaries that fit in. */
#include "cost/internal.h"

#include <stdlib.h>

static inline bool is_buffer(const struct price_scratch *s, uint32_t value)
{
    return s->values[value].state == VALUE_BUFFER;
}

/* the one buffer that a value is or names; NDA_NONE when it has none */
static inline uint32_t buffer_of(const struct price_scratch *s, uint32_t value)
{
    const struct value_work *v = &s->values[value];
    return v->state == VALUE_BUFFER ? value : v->state == VALUE_ALIAS ? s->pool[v->roots].value : NDA_NONE;
}

static void give_home(struct price_scratch *s, uint32_t value, uint32_t home_free)
{
    s->values[value].homed = 1;
    s->values[value].home_free = home_free;
}

static void home_results(struct price_scratch *s, const struct spmd_local *l, const struct spmd_step *t)
{
    for (uint32_t r = 0; r < t->operand_count; r++) {
        uint32_t buffer = buffer_of(s, l->operands[t->operands + r]);
        if (buffer == NDA_NONE || buffer < l->argument_count || s->values[buffer].homed)
            continue;
        uint32_t argument = s->program->alias_argument[r];
        if (argument != NDA_NONE &&
            l->values[argument].bytes != l->values[l->operands[t->operands + r]].bytes)
            argument = NDA_NONE;
        bool taken = argument != NDA_NONE && s->uses[argument].uses > 0;
        give_home(s, buffer, taken ? s->values[argument].last + 1 : 0);
    }
}

/* The body's new values go where the carried ones are; a carried value goes where the loop's result goes. */
static void home_loop(struct price_scratch *s, const struct spmd_local *l, uint32_t step)
{
    const struct spmd_step *end = &l->steps[step], *loop = &l->steps[s->loop_end[step]];
    uint32_t n = end->result_count;
    for (uint32_t c = 0; c < n; c++) {
        uint32_t result = end->results + c, carry = loop->results + n + c;
        if (!is_buffer(s, carry))
            continue;
        uint32_t value = buffer_of(s, l->operands[end->operands + c]);
        if (value != NDA_NONE && value >= l->argument_count && value != carry && !s->values[value].homed &&
            l->values[value].step > s->loop_end[step])
            give_home(s, value, s->uses[carry].uses ? s->values[carry].last + 1 : 0);
        if (is_buffer(s, result) && s->values[result].homed)
            give_home(s, carry, s->values[result].home_free);
        s->values[carry].last = step; /* the buffer stays until the loop ends, whatever it holds */
    }
}

static void home_branch(struct price_scratch *s, const struct spmd_local *l, uint32_t step, uint32_t open)
{
    const struct spmd_step *t = &l->steps[step];
    for (uint32_t r = 0; r < t->operand_count; r++) {
        uint32_t value = buffer_of(s, l->operands[t->operands + r]);
        if (value != NDA_NONE && value >= l->argument_count && !s->values[value].homed &&
            l->values[value].step > open)
            give_home(s, value, 0);
    }
}

/* An operand that is used for the last time where its successor is written passes that one's home on. */
static void home_operand(struct price_scratch *s, const struct spmd_local *l, uint32_t step, uint32_t operand,
                         uint32_t successor)
{
    uint32_t value = buffer_of(s, operand);
    if (!s->values[successor].homed || value == NDA_NONE || value < l->argument_count ||
        s->values[value].homed || s->values[value].last != step)
        return;
    give_home(s, value, s->values[successor].home_free);
}

static void find_homes(struct price_scratch *s, const struct spmd_local *l)
{
    uint32_t branch_at = NDA_NONE; /* BRANCH whose END was met last (reverse order) */
    for (size_t k = s->kernel_count; k-- > 0;) {
        uint32_t i = s->kernels[k].step;
        const struct spmd_step *t = &l->steps[i];
        switch ((enum spmd_step_kind)t->kind) {
        case SPMD_RESULT:
            home_results(s, l, t);
            break;
        case SPMD_LOOP_END:
            home_loop(s, l, i);
            break;
        case SPMD_LOOP:
            for (uint32_t c = 0; c < t->operand_count; c++)
                if (is_buffer(s, t->results + t->operand_count + c))
                    home_operand(s, l, i, l->operands[t->operands + c], t->results + t->operand_count + c);
            break;
        case SPMD_BRANCH_END:
            branch_at = s->loop_end[i];
            home_branch(s, l, i, branch_at);
            break;
        case SPMD_BRANCH_NEXT:
            home_branch(s, l, i, branch_at == NDA_NONE ? i : branch_at);
            break;
        case SPMD_OP:
            if (step_info(s, t)->class == OP_UPDATE && is_buffer(s, t->results))
                home_operand(s, l, i, l->operands[t->operands], t->results);
            break;
        case SPMD_ALL_REDUCE:
        case SPMD_ALL_GATHER:
        case SPMD_REDUCE_SCATTER:
        case SPMD_ALL_TO_ALL:
        case SPMD_PERMUTE:
        case SPMD_SLICE:
        case SPMD_MASK:
        case SPMD_LOOP_BODY:
        case SPMD_BRANCH:
            break;
        }
    }
}

/* may the step's result lie where an operand lies that it reads? */
static inline bool writes_in_place(const struct price_scratch *s, const struct spmd_step *t)
{
    return t->kind == SPMD_OP ? step_info(s, t)->in_place : t->kind == SPMD_LOOP || t->kind == SPMD_LOOP_END;
}

/* memory of a value's own during [from, until) */
static struct live_range range_of(const struct price_scratch *s, const struct spmd_local *l, uint32_t value)
{
    const struct value_work *v = &s->values[value];
    uint32_t from = l->values[value].step;
    if (v->state != VALUE_BUFFER || from == SPMD_NONE)
        return (struct live_range){0, 0};
    if (l->steps[from].kind == SPMD_BRANCH_END)
        from = s->loop_end[from];
    if (v->homed) {
        bool waits = v->home_free > from + writes_in_place(s, &l->steps[from]);
        return (struct live_range){from, waits ? v->home_free : from};
    }
    return (struct live_range){from, v->last + 1};
}

/* A buffer that dies in this step and can be written over: the new one begins where it ends. */
static bool take_over(struct price_scratch *s, const struct spmd_local *l, uint32_t step, uint32_t donor,
                      uint32_t value)
{
    struct live_range *r = &s->ranges[donor];
    if (s->ranges[value].from >= s->ranges[value].until || s->ranges[value].from != step)
        return false;
    if (r->from >= r->until || r->until != step + 1 || r->from == step ||
        l->values[donor].bytes < l->values[value].bytes)
        return false;
    r->until = step;
    s->deltas[step + 1] += l->values[donor].bytes;
    s->deltas[step] -= l->values[donor].bytes;
    return true;
}

static void share_carried(struct price_scratch *s, const struct spmd_local *l, uint32_t step)
{
    const struct spmd_step *t = &l->steps[step];
    uint32_t n = t->operand_count, first = t->kind == SPMD_LOOP ? t->results + n : t->results;
    for (uint32_t c = 0; c < n && first + c < t->results + t->result_count; c++) {
        uint32_t donor = t->kind == SPMD_LOOP ? buffer_of(s, l->operands[t->operands + c])
                                              : l->steps[s->loop_end[step]].results + n + c;
        if (donor != NDA_NONE && is_buffer(s, donor))
            (void)take_over(s, l, step, donor, first + c);
    }
}

static void share_in_kernel(struct price_scratch *s, const struct spmd_local *l, const struct kernel *k)
{
    const struct spmd_step *t = &l->steps[k->step];
    if (t->kind == SPMD_LOOP || t->kind == SPMD_LOOP_END) {
        share_carried(s, l, k->step);
        return;
    }
    if (t->kind != SPMD_OP || t->result_count != 1 || !step_info(s, t)->in_place)
        return;
    const struct root *roots = s->pool + k->roots;
    for (uint32_t i = 0; i < k->root_count; i++) {
        /* if only part of it is read, elements would be written before they are read */
        bool whole = roots[i].bytes >= l->values[roots[i].value].bytes;
        if (whole && take_over(s, l, k->step, roots[i].value, t->results))
            return;
    }
}

static void add_range(struct price_scratch *s, int64_t bytes, struct live_range r)
{
    if (r.from < r.until) {
        s->deltas[r.from] += bytes;
        s->deltas[r.until] -= bytes;
    }
}

static void place_results(struct price_scratch *s, const struct spmd_local *l, const struct spmd_step *t)
{
    for (uint32_t v = t->results; v < t->results + t->result_count; v++) {
        s->ranges[v] = range_of(s, l, v);
        add_range(s, l->values[v].bytes, s->ranges[v]);
    }
}

/* is there more than one block of the value outside this atom (or whole dim)? */
static bool has_outer(const struct spmd_local *l, uint32_t value, uint8_t atom)
{
    const struct spmd_value *v = &l->values[value];
    int64_t outer = 1;
    if (atom == 0 || atom == 255)
        return false;
    const struct nda_atom *atoms = nda_atoms(l->nda, v->origin);
    for (uint32_t i = 0; i < nda_atom_count(l->nda, v->origin); i++) {
        if (spmd_is_whole(atom) ? atoms[i].dim >= atom - SPMD_WHOLE : i >= atom)
            break;
        int64_t size = atoms[i].size;
        for (uint32_t a = 0; a < l->mesh->axis_count; a++)
            if (v->form.at[a] == i)
                size /= l->mesh->axes[a].size;
        outer *= size;
    }
    return outer > 1;
}

/* Blocks travel whole. Where the dimension is not the outermost one they are brought into order by a copy: of
 * what was gathered, if a kernel wants it in memory; of what is to be scattered. */
static int64_t ordered_copy(const struct price_scratch *s, const struct spmd_local *l,
                            const struct spmd_step *t)
{
    uint32_t operand = l->operands[t->operands];
    if (t->kind == SPMD_ALL_GATHER && s->uses[t->results].hard && has_outer(l, t->results, t->atom))
        return l->values[t->results].bytes;
    if (t->kind == SPMD_REDUCE_SCATTER && has_outer(l, operand, t->to_atom))
        return l->values[operand].bytes;
    return 0;
}

/* kernels [first, first + count): the members of one combined collective */
static void place_combined(struct price_scratch *s, const struct spmd_local *l, size_t first, size_t count)
{
    struct live_range packed = {s->kernels[first].step, s->kernels[first + count - 1].step + 1};
    uint32_t last = packed.until - 1;
    for (size_t k = first; k < first + count; k++) {
        uint32_t result = l->steps[s->kernels[k].step].results;
        add_range(s, l->values[l->operands[l->steps[s->kernels[k].step].operands]].bytes, packed);
        if (s->values[result].last > last)
            last = s->values[result].last;
    }
    for (size_t k = first; k < first + count; k++) {
        uint32_t result = l->steps[s->kernels[k].step].results;
        struct live_range r = range_of(s, l, result);
        r = (struct live_range){packed.until - 1, s->values[result].homed ? r.until : last + 1};
        s->ranges[result] = r;
        add_range(s, l->values[result].bytes, r);
    }
}

static size_t combined_members(const struct price_scratch *s, const struct spmd_local *l, size_t kernel)
{
    uint32_t id = l->steps[s->kernels[kernel].step].combined;
    size_t count = 1;
    while (id && kernel + count < s->kernel_count && l->steps[s->kernels[kernel + count].step].combined == id)
        count++;
    return count;
}

static void count_boundary(const struct price_scratch *s, const struct spmd_local *l, struct price *out)
{
    out->argument_bytes = out->output_bytes = out->alias_bytes = 0;
    for (uint32_t a = 0; a < l->argument_count; a++)
        out->argument_bytes += l->values[a].bytes;
    if (!l->step_count || l->steps[l->step_count - 1].kind != SPMD_RESULT)
        return;
    const struct spmd_step *t = &l->steps[l->step_count - 1];
    for (uint32_t r = 0; r < t->operand_count; r++) {
        int64_t bytes = l->values[l->operands[t->operands + r]].bytes;
        uint32_t argument = s->program->alias_argument[r];
        out->output_bytes += bytes;
        if (argument != NDA_NONE && l->values[argument].bytes == bytes)
            out->alias_bytes += bytes;
    }
}

/* ---------------------------------------------------------------- results' memory before they are written */
enum {
    LENDERS = 8,
    SMALLEST_PART = 64
}; /* the largest results; what is smaller than a 64th of one stays out */
struct lender {
    uint32_t value, until;
    int64_t bytes;
};

static int larger_lender(const void *a, const void *b)
{
    const struct lender *x = a, *y = b;
    return x->bytes != y->bytes  ? (x->bytes < y->bytes ? 1 : -1)
           : x->value < y->value ? -1
                                 : x->value > y->value;
}

static bool is_free(const struct price_scratch *s, const uint32_t *placed, size_t count, struct live_range r)
{
    for (size_t i = 0; i < count; i++)
        if (s->ranges[placed[i]].from < r.until && r.from < s->ranges[placed[i]].until)
            return false;
    return true;
}

/* first fit, largest first, of the temporaries that are dead before the result is written */
static void lend(struct price_scratch *s, const struct spmd_local *l, const struct lender *result)
{
    VEC(struct lender) fit = {0};
    VEC(uint32_t) placed = {0};
    for (uint32_t v = l->argument_count; v < l->value_count; v++) {
        struct live_range r = s->ranges[v];
        int64_t bytes = l->values[v].bytes;
        if (is_buffer(s, v) && r.from < r.until && r.until <= result->until && bytes <= result->bytes &&
            bytes >= result->bytes / SMALLEST_PART)
            VEC_PUSH(&fit, ((struct lender){v, r.until, bytes}));
    }
    if (fit.count)
        qsort(fit.at, fit.count, sizeof *fit.at, larger_lender);
    for (size_t i = 0; i < fit.count; i++) {
        struct live_range r = s->ranges[fit.at[i].value];
        if (!is_free(s, placed.at, placed.count, r))
            continue;
        VEC_PUSH(&placed, fit.at[i].value);
        add_range(s, -fit.at[i].bytes, r);
    }
    for (size_t i = 0; i < placed.count; i++)
        s->ranges[placed.at[i]] = (struct live_range){0, 0};
    VEC_FREE(&fit);
    VEC_FREE(&placed);
}

static void lend_results(struct price_scratch *s, const struct spmd_local *l, int64_t boundary_bytes)
{
    struct lender largest[LENDERS + 1];
    uint32_t count = 0;
    const struct spmd_step *t = l->step_count ? &l->steps[l->step_count - 1] : NULL;
    for (uint32_t r = 0; t && t->kind == SPMD_RESULT && r < t->operand_count; r++) {
        uint32_t value = l->operands[t->operands + r], argument = s->program->alias_argument[r];
        uint32_t buffer = buffer_of(s, value);
        bool taken = argument != NDA_NONE && l->values[argument].bytes == l->values[value].bytes;
        if (taken || buffer == NDA_NONE || buffer < l->argument_count || !s->values[buffer].homed ||
            l->values[value].bytes < boundary_bytes / SMALLEST_PART)
            continue;
        largest[count++] = (struct lender){value, l->values[buffer].step, l->values[value].bytes};
        qsort(largest, count, sizeof *largest, larger_lender);
        count = count > LENDERS ? LENDERS : count;
    }
    for (uint32_t i = 0; i < count; i++)
        lend(s, l, &largest[i]);
}

void price_memory(struct price_scratch *s, const struct spmd_local *l, struct price *out)
{
    find_homes(s, l);
    for (uint32_t a = 0; a < l->argument_count; a++)
        s->ranges[a] = (struct live_range){0, 0};
    for (size_t i = 0, count; i < s->kernel_count; i += count) {
        count = combined_members(s, l, i);
        if (count > 1) {
            place_combined(s, l, i, count);
            continue;
        }
        const struct spmd_step *t = &l->steps[s->kernels[i].step];
        place_results(s, l, t);
        if (t->kind == SPMD_ALL_GATHER || t->kind == SPMD_REDUCE_SCATTER)
            add_range(s, ordered_copy(s, l, t),
                      (struct live_range){s->kernels[i].step, s->kernels[i].step + 1});
        share_in_kernel(s, l, &s->kernels[i]);
    }
    count_boundary(s, l, out);
    lend_results(s, l, out->argument_bytes + out->output_bytes);
    int64_t alive = out->argument_bytes + out->output_bytes - out->alias_bytes;
    out->peak_bytes = alive;
    out->peak_step = 0;
    for (uint32_t i = 0; i < l->step_count; i++) {
        alive += s->deltas[i];
        s->deltas[i] = alive; /* from now on: bytes alive in each step */
        if (alive > out->peak_bytes) {
            out->peak_bytes = alive;
            out->peak_step = i;
        }
    }
}
