/* Live ranges: where every buffer takes memory, and the peak.
 *
 * As XLA counts it: arguments and results take memory throughout (a result that takes a donated argument's
 * buffer once), everything else from the kernel that writes it to the last that reads it. A buffer can have a
 * *home*, memory that is counted elsewhere: a result is written where the caller gets it, the body's new
 * value of a loop where the old one was, a branch's result where the op's result will be. It takes memory of
 * its own only while its home still holds something that is needed. Members of a combined collective are
 * packed into one array, and their results are parts of one: operands die at the first member's step, results
 * live from the last member's on, as long as any of them. Elementwise kernels and updates take over an
 * operand's buffer on its last use; collectives hold operand and result.
 *
 *   time of the line     0   1   2   3   4   5
 *   argument             ########################   throughout
 *   temporary                |###########|          written by kernel 1, last read by kernel 3: [1, 4), or
 *   elementwise of it                |#######|      [1, 3) where kernel 3 writes its result over it
 *   homed in a result        (none)                 its memory is the result's, counted throughout
 *   deltas               0   +t  0   e-t 0   -e     bytes begun less ended; their sum so far is alive
 *
 * Time is a kernel's place in the line: the order that is priced, of kernels alone. What stands between two
 * kernels is fused, free or a name, and takes no memory. */
#include "cost/internal.h"

#include <string.h>

/* ---------------------------------------------------------------- when */
enum { MOST_LOOPS = 64 }; /* nested */
struct open_loops {
    uint32_t count;
    /* LOOP steps, outermost first; deeper ones only lose the extension of live ranges */
    uint32_t at[MOST_LOOPS];
};

/* A buffer from outside a loop that the loop reads lives until the loop ends. */
static inline void use_root(struct price_scratch *s, const struct spmd_local *l,
                            const struct open_loops *loops, uint32_t root, uint32_t time)
{
    uint32_t until = time;
    for (uint32_t i = 0; i < loops->count; i++) {
        uint32_t defined = l->values[root].step;
        if (defined == SPMD_NONE || defined < loops->at[i]) {
            until = s->at[s->loop_end[loops->at[i]]];
            break;
        }
    }
    if (s->values[root].last < until)
        s->values[root].last = until;
}

static void begin_values(struct price_scratch *s, const struct spmd_local *l)
{
    for (uint32_t v = 0; v < l->argument_count; v++) {
        s->values[v].last = 0;
        s->values[v].homed = s->values[v].lent = 0;
    }
    for (uint32_t t = 0; t < s->kernel_count; t++) {
        const struct spmd_step *step = step_at(s, l, t);
        s->at[s->line[t].step] = t;
        for (uint32_t v = step->results; v < step->results + step->result_count; v++) {
            s->values[v].last = t;
            s->values[v].homed = s->values[v].lent = 0;
        }
    }
}

/* at, last: every kernel's place and the last one that needs each buffer */
static void find_times(struct price_scratch *s, const struct spmd_local *l)
{
    struct open_loops loops = {0};
    begin_values(s, l);
    for (uint32_t t = 0, packed = 0; t < s->kernel_count; t++) {
        const struct kernel *k = &s->line[t];
        const struct spmd_step *step = &l->steps[k->step];
        if (!step->combined || t == 0 || step_at(s, l, t - 1)->combined != step->combined)
            packed = t; /* the first member's step packs the operands of all */
        for (uint32_t r = k->roots; r < k->roots + k->root_count; r++)
            use_root(s, l, &loops, s->pool[r].value, packed);
        if (step->kind == SPMD_LOOP && loops.count < MOST_LOOPS)
            loops.at[loops.count++] = k->step;
        else if (step->kind == SPMD_LOOP_END && loops.count &&
                 loops.at[loops.count - 1] == s->loop_end[k->step])
            loops.count--;
    }
}

/* ---------------------------------------------------------------- homes */
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
        s->values[carry].last = s->at[step]; /* the buffer stays until the loop ends, whatever it holds */
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
        s->values[value].homed || s->values[value].last != s->at[step])
        return;
    give_home(s, value, s->values[successor].home_free);
}

static void find_homes(struct price_scratch *s, const struct spmd_local *l)
{
    uint32_t branch_at = NDA_NONE; /* BRANCH whose END was met last (reverse order) */
    for (size_t k = s->kernel_count; k-- > 0;) {
        uint32_t i = s->line[k].step;
        const struct spmd_step *t = &l->steps[i];
        switch ((enum spmd_step_kind)t->kind) {
        case SPMD_RESULT: home_results(s, l, t); break;
        case SPMD_LOOP_END: home_loop(s, l, i); break;
        case SPMD_LOOP:
            for (uint32_t c = 0; c < t->operand_count; c++)
                if (is_buffer(s, t->results + t->operand_count + c))
                    home_operand(s, l, i, l->operands[t->operands + c], t->results + t->operand_count + c);
            break;
        case SPMD_BRANCH_END:
            branch_at = s->loop_end[i];
            home_branch(s, l, i, branch_at);
            break;
        case SPMD_BRANCH_NEXT: home_branch(s, l, i, branch_at == NDA_NONE ? i : branch_at); break;
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
        case SPMD_BRANCH: break;
        }
    }
}

/* may the step's result lie where an operand lies that it reads? */
static inline bool writes_in_place(const struct price_scratch *s, const struct spmd_step *t)
{
    return t->kind == SPMD_OP ? step_info(s, t)->in_place : t->kind == SPMD_LOOP || t->kind == SPMD_LOOP_END;
}

/* ---------------------------------------------------------------- ranges */
/* memory of a value's own during [from, until) */
static struct live_range range_of(const struct price_scratch *s, const struct spmd_local *l, uint32_t value)
{
    const struct value_work *v = &s->values[value];
    uint32_t step = l->values[value].step;
    if (v->state != VALUE_BUFFER || step == SPMD_NONE)
        return (struct live_range){0, 0};
    if (l->steps[step].kind == SPMD_BRANCH_END)
        step = s->loop_end[step];
    uint32_t from = s->at[step];
    if (v->homed) {
        bool waits = v->home_free > from + writes_in_place(s, &l->steps[step]);
        return (struct live_range){from, waits ? v->home_free : from};
    }
    return (struct live_range){from, v->last + 1};
}

/* A buffer that dies now and can be written over: the new one begins where it ends. */
static bool take_over(struct price_scratch *s, const struct spmd_local *l, uint32_t now, uint32_t donor,
                      uint32_t value)
{
    struct live_range *r = &s->ranges[donor];
    if (s->ranges[value].from >= s->ranges[value].until || s->ranges[value].from != now)
        return false;
    if (r->from >= r->until || r->until != now + 1 || r->from == now ||
        l->values[donor].bytes < l->values[value].bytes)
        return false;
    r->until = now;
    s->deltas[now + 1] += l->values[donor].bytes;
    s->deltas[now] -= l->values[donor].bytes;
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
            (void)take_over(s, l, s->at[step], donor, first + c);
    }
}

static void share_in_kernel(struct price_scratch *s, const struct spmd_local *l, uint32_t now)
{
    const struct kernel *k = &s->line[now];
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
        if (whole && take_over(s, l, now, roots[i].value, t->results))
            return;
    }
}

static void place_results(struct price_scratch *s, const struct spmd_local *l, const struct spmd_step *t)
{
    for (uint32_t v = t->results; v < t->results + t->result_count; v++) {
        s->ranges[v] = range_of(s, l, v);
        add_range(s, l->values[v].bytes, s->ranges[v]);
    }
}

/* kernels [first, first + count) of the line: the members of one combined collective */
static void place_combined(struct price_scratch *s, const struct spmd_local *l, uint32_t first,
                           uint32_t count)
{
    struct live_range packed = {first, first + count};
    uint32_t last = packed.until - 1;
    for (uint32_t k = first; k < first + count; k++) {
        const struct spmd_step *t = step_at(s, l, k);
        add_range(s, l->values[l->operands[t->operands]].bytes, packed);
        if (s->values[t->results].last > last)
            last = s->values[t->results].last;
    }
    for (uint32_t k = first; k < first + count; k++) {
        uint32_t result = step_at(s, l, k)->results;
        struct live_range r = range_of(s, l, result);
        r = (struct live_range){packed.until - 1, s->values[result].homed ? r.until : last + 1};
        s->ranges[result] = r;
        add_range(s, l->values[result].bytes, r);
    }
}

static uint32_t combined_members(const struct price_scratch *s, const struct spmd_local *l, uint32_t kernel)
{
    uint32_t id = step_at(s, l, kernel)->combined, count = 1;
    while (id && kernel + count < s->kernel_count && step_at(s, l, kernel + count)->combined == id)
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

/* the line's peak and its step; bytes alive at each time from now on in deltas */
static void find_peak(struct price_scratch *s, struct price *out)
{
    int64_t alive = out->argument_bytes + out->output_bytes - out->alias_bytes;
    out->peak_bytes = alive;
    out->peak_step = 0;
    for (uint32_t t = 0; t < s->kernel_count; t++) {
        alive += s->deltas[t];
        s->deltas[t] = alive;
        if (alive > out->peak_bytes) {
            out->peak_bytes = alive;
            out->peak_step = s->line[t].step;
        }
    }
}

void price_memory(struct price_scratch *s, const struct spmd_local *l, const struct kernel *line,
                  struct price *out)
{
    s->line = line;
    memset(s->deltas, 0, (s->kernel_count + 2) * sizeof *s->deltas);
    find_times(s, l);
    find_homes(s, l);
    for (uint32_t a = 0; a < l->argument_count; a++)
        s->ranges[a] = (struct live_range){0, 0};
    for (uint32_t i = 0, count; i < s->kernel_count; i += count) {
        count = combined_members(s, l, i);
        if (count > 1) {
            place_combined(s, l, i, count);
            continue;
        }
        const struct spmd_step *t = step_at(s, l, i);
        place_results(s, l, t);
        add_range(s, price_ordered_copy(s, l, t), (struct live_range){i, i + 1});
        share_in_kernel(s, l, i);
    }
    count_boundary(s, l, out);
    price_lend(s, l, out->argument_bytes + out->output_bytes);
    find_peak(s, out);
}
