/* What fuses, and which buffers every kernel reads.
 *
 * A simple model of a compiler's loop fusion. Broadcasts, converts, compares, slices and the like are
 * computed inside whatever uses them. An elementwise op is when all its uses end in one kernel; a cheap one
 * that reads a single array also when they end in several, unless that would go on upwards: of a chain every
 * second value is stored. Nothing fuses into a dot, a convolution, a collective, a sort, a loop's carried
 * values or the function's results: what these use is in memory. A reshape is another name of its operand's
 * buffer.
 *
 * The *roots* of a fused value are the buffers that a kernel computing it reads; they live until the last
 * such kernel (memory.c). */
#include "cost/internal.h"

#include <stdlib.h>
#include <string.h>

struct price_scratch *price_scratch_create(struct price_program *shared)
{
    struct price_scratch *s = mem_zalloc(1, sizeof *s);
    s->program = shared;
    s->program_shared = shared != NULL;
    return s;
}

void price_scratch_destroy(struct price_scratch *s)
{
    if (!s)
        return;
    if (!s->program_shared)
        price_program_destroy(s->program);
    free(s->uses);
    free(s->values);
    free(s->times);
    free(s->fates);
    free(s->ranges);
    free(s->deltas);
    free(s->kernels);
    free(s->pool);
    free(s->loop_end);
    free(s->at);
    price_graph_destroy(s->graph);
    free(s);
}

void price_prepare(struct price_scratch *s, const struct spmd_local *l)
{
    if (!s->program || s->program->nda != l->nda) {
        BASE_CHECK(!s->program_shared);
        price_program_destroy(s->program);
        s->program = price_program_create(l->nda);
    }
    GROW(s->uses, s->use_room, l->value_count + 1);
    GROW(s->values, s->value_room, l->value_count + 1);
    GROW(s->times, s->time_room, l->value_count + 1);
    GROW(s->fates, s->fate_room, l->step_count + 1);
    GROW(s->ranges, s->range_room, l->value_count + 1);
    GROW(s->deltas, s->delta_room, l->step_count + 2);
    GROW(s->at, s->at_room, l->step_count + 1);
    GROW(s->kernels, s->kernel_room, l->step_count + 1);
    GROW(s->loop_end, s->loop_room, l->step_count + 1);
    memset(s->uses, 0, (size_t)l->value_count * sizeof *s->uses);
    s->pool_count = s->kernel_count = 0;
    s->mark = 0;
}

/* ---------------------------------------------------------------- backward: uses */
/* does operand o of a kernel have to be in memory? */
static inline uint8_t wants_buffer(const struct op_info *info, uint32_t o)
{
    bool other = info->class == OP_OTHER || (info->class == OP_GATHER && o == 0) ||
                 (info->class == OP_UPDATE && (o == 0 || info->update == 2));
    return info->class == OP_MATMUL ? HARD_MATMUL : other ? HARD_OTHER : 0;
}

static inline void add_use(struct value_use *v, uint32_t kernel, uint8_t hard)
{
    v->uses++;
    v->hard |= hard;
    v->kernel = v->kernel == 0 || v->kernel == kernel ? kernel : KERNEL_SEVERAL;
}

/* what becomes of an op, by how its (first) result is used */
static inline enum step_fate op_fate(const struct value_use *result, const struct op_info *info)
{
    switch ((enum op_class)info->class) {
    case OP_FREE: return FATE_FREE;
    case OP_ALIAS: return FATE_ALIAS;
    case OP_TRANSPOSE: return result->hard & HARD_OTHER ? FATE_KERNEL : FATE_ALIAS;
    case OP_CHEAP:
    case OP_CUT: return result->hard ? FATE_KERNEL : FATE_FUSED;
    case OP_ELEMENTWISE:
        if (result->hard || result->kernel == 0)
            return FATE_KERNEL;
        return result->kernel != KERNEL_SEVERAL || (info->repeatable && !result->kept) ? FATE_FUSED
                                                                                       : FATE_KERNEL;
    case OP_NOTHING:
    case OP_REDUCE:
    case OP_GATHER:
    case OP_UPDATE:
    case OP_MATMUL:
    case OP_OTHER: break;
    }
    return FATE_KERNEL;
}

static const struct op_info slice_info = {.class = OP_CUT}, masked_info = {.class = OP_CHEAP},
                            partial_info = {.class = OP_ALIAS}, mark_info = {.class = OP_OTHER};

static inline const struct op_info *info_of(const struct price_scratch *s, const struct spmd_step *t)
{
    if (t->kind == SPMD_OP)
        return step_info(s, t);
    if (t->kind == SPMD_MASK)
        return t->mask_initial ? &masked_info : &partial_info;
    return t->kind == SPMD_SLICE ? &slice_info : &mark_info;
}

/* loop_end of a region's first step is its last, and the other way round; *open is the innermost region open
 * below step, and the chain of those around it stands in loop_end itself */
static void match_region(struct price_scratch *s, uint8_t kind, uint32_t step, uint32_t *open)
{
    if (kind == SPMD_LOOP_END || kind == SPMD_BRANCH_END) {
        s->loop_end[step] = *open;
        *open = step;
    } else if (kind == SPMD_LOOP || kind == SPMD_BRANCH) {
        uint32_t end = *open;
        BASE_CHECK(end != NDA_NONE);
        *open = s->loop_end[end];
        s->loop_end[end] = step;
        s->loop_end[step] = end;
    }
}

static void find_uses(struct price_scratch *s, const struct spmd_local *l)
{
    uint32_t open = NDA_NONE;
    for (uint32_t i = l->step_count; i-- > 0;) {
        const struct spmd_step *t = &l->steps[i];
        const struct op_info *info = info_of(s, t);
        const uint32_t *operands = l->operands + t->operands;
        const struct value_use *result = &s->uses[t->results];
        enum step_fate fate =
            t->result_count == 1 || info->class == OP_ALIAS ? op_fate(result, info) : FATE_KERNEL;
        s->fates[i] = (uint8_t)fate;
        if (fate == FATE_FREE)
            continue;
        if (fate == FATE_ALIAS) {
            for (uint32_t o = 0; o < t->operand_count; o++)
                add_use(&s->uses[operands[o]], result[o].kernel, result[o].hard);
            continue;
        }
        uint32_t kernel = fate == FATE_FUSED ? result->kernel : i + 1;
        uint8_t repeated = info->class == OP_ELEMENTWISE && kernel == KERNEL_SEVERAL;
        for (uint32_t o = 0; o < t->operand_count; o++) {
            add_use(&s->uses[operands[o]], kernel, wants_buffer(info, o));
            s->uses[operands[o]].kept |= repeated;
        }
        if (!step_is_local(t->kind) && !spmd_step_is_collective(t)) {
            s->fates[i] = FATE_MARK;
            match_region(s, t->kind, i, &open);
        }
    }
}

/* ---------------------------------------------------------------- forward: roots */
static inline void push_root(struct price_scratch *s, uint32_t value, int64_t bytes, int64_t cut)
{
    if (bytes > cut)
        bytes = cut;
    struct value_work *v = &s->values[value];
    if (v->mark == s->mark) {
        struct root *known = &s->pool[v->slot];
        if (bytes > known->bytes)
            known->bytes = bytes;
        return;
    }
    v->mark = s->mark;
    v->slot = (uint32_t)s->pool_count;
    if (s->pool_count == s->pool_room) {
        s->pool_room = s->pool_room ? s->pool_room * 2 : 4096;
        s->pool = mem_realloc(s->pool, s->pool_room, sizeof *s->pool);
    }
    s->pool[s->pool_count++] = (struct root){value, bytes};
}

static inline void push_value(struct price_scratch *s, const struct spmd_local *l, uint32_t value,
                              int64_t cut)
{
    const struct value_work *v = &s->values[value];
    if (v->state == VALUE_BUFFER) {
        push_root(s, value, l->values[value].bytes, cut);
        return;
    }
    uint32_t first = v->roots, count = v->root_count;
    for (uint32_t i = 0; i < count; i++)
        push_root(s, s->pool[first + i].value, s->pool[first + i].bytes, cut);
}

/* the union of the operands' roots, at the end of the pool */
static uint32_t collect_roots(struct price_scratch *s, const struct spmd_local *l, const struct spmd_step *t)
{
    uint8_t class = info_of(s, t)->class;
    uint32_t first = (uint32_t)s->pool_count;
    s->mark++;
    int64_t result_bytes = t->result_count ? l->values[t->results].bytes : 0;
    for (uint32_t o = 0; o < t->operand_count; o++) {
        bool cut = class == OP_CUT || (class == OP_GATHER && o == 0);
        push_value(s, l, l->operands[t->operands + o], cut ? result_bytes : INT64_MAX);
    }
    return first;
}

/* a step that reads its roots now: a kernel, a collective or a mark */
static void add_kernel(struct price_scratch *s, uint32_t step, uint32_t first)
{
    s->kernels[s->kernel_count++] =
        (struct kernel){.step = step, .roots = first, .root_count = (uint32_t)s->pool_count - first};
}

static void use_operands(struct price_scratch *s, const struct spmd_local *l, uint32_t step)
{
    add_kernel(s, step, collect_roots(s, l, &l->steps[step]));
}

static void set_roots(struct price_scratch *s, uint32_t value, uint8_t state, uint32_t first)
{
    s->values[value].state = state;
    s->values[value].roots = first;
    s->values[value].root_count = (uint8_t)(s->pool_count - first);
}

static void make_kernel(struct price_scratch *s, const struct spmd_local *l, uint32_t step, uint32_t first)
{
    const struct spmd_step *t = &l->steps[step];
    add_kernel(s, step, first);
    for (uint32_t r = 0; r < t->result_count; r++)
        s->values[t->results + r].state = VALUE_BUFFER;
}

/* value becomes another name of `of` if that is one buffer */
static bool make_alias(struct price_scratch *s, const struct spmd_local *l, uint32_t value, uint32_t of)
{
    const struct value_work *v = &s->values[of];
    if (v->state != VALUE_BUFFER && v->state != VALUE_ALIAS)
        return false;
    uint32_t root = v->state == VALUE_BUFFER ? of : s->pool[v->roots].value, first = (uint32_t)s->pool_count;
    s->mark++;
    push_root(s, root, l->values[value].bytes, INT64_MAX);
    set_roots(s, value, VALUE_ALIAS, first);
    return true;
}

static void fuse_alias(struct price_scratch *s, const struct spmd_local *l, uint32_t step)
{
    const struct spmd_step *t = &l->steps[step];
    for (uint32_t o = 0; o < t->operand_count; o++) {
        uint32_t operand = l->operands[t->operands + o], result = t->results + o;
        if (make_alias(s, l, result, operand))
            continue;
        uint32_t first = (uint32_t)s->pool_count;
        s->mark++;
        push_value(s, l, operand, INT64_MAX);
        if (s->uses[result].hard && t->result_count == 1 && t->kind == SPMD_OP)
            make_kernel(s, l, step, first);
        else
            set_roots(s, result, VALUE_FUSED, first);
    }
}

/* Block arguments: the cond's are the body's; a carried value that the body returns as it came is its init.
 */
static void open_loop(struct price_scratch *s, const struct spmd_local *l, uint32_t step)
{
    const struct spmd_step *t = &l->steps[step], *end = &l->steps[s->loop_end[step]];
    use_operands(s, l, step);
    uint32_t n = t->operand_count;
    for (uint32_t c = 0; c < n; c++) {
        uint32_t body = t->results + n + c, init = l->operands[t->operands + c];
        bool same = c < end->operand_count && l->operands[end->operands + c] == body;
        if (!same || !make_alias(s, l, body, init))
            s->values[body].state = VALUE_BUFFER;
        make_alias(s, l, t->results + c, body);
    }
}

static void close_region(struct price_scratch *s, const struct spmd_local *l, uint32_t step)
{
    const struct spmd_step *t = &l->steps[step];
    uint32_t open = s->loop_end[step];
    use_operands(s, l, step);
    for (uint32_t r = 0; r < t->result_count; r++) {
        uint32_t operand = l->operands[t->operands + r], carry = l->steps[open].results + t->result_count + r;
        bool same = t->kind == SPMD_LOOP_END && operand == carry && s->values[carry].state == VALUE_ALIAS;
        if (!same || !make_alias(s, l, t->results + r, carry))
            s->values[t->results + r].state = VALUE_BUFFER;
    }
}

/* a value's record, as far as nothing is known of it */
static inline void begin_value(struct value_work *v)
{
    v->state = VALUE_BUFFER;
    v->mark = 0;
}

static void fuse_mark(struct price_scratch *s, const struct spmd_local *l, uint32_t step)
{
    uint8_t kind = l->steps[step].kind;
    if (kind == SPMD_LOOP)
        open_loop(s, l, step);
    else if (kind == SPMD_LOOP_END || kind == SPMD_BRANCH_END)
        close_region(s, l, step);
    else
        use_operands(s, l, step);
}

void price_fuse(struct price_scratch *s, const struct spmd_local *l)
{
    find_uses(s, l);
    for (uint32_t v = 0; v < l->argument_count; v++) {
        begin_value(&s->values[v]);
        s->times[v] = (struct value_times){0, 0};
    }
    for (uint32_t i = 0; i < l->step_count; i++) {
        const struct spmd_step *t = &l->steps[i];
        for (uint32_t r = 0; r < t->result_count; r++)
            begin_value(&s->values[t->results + r]);
        switch ((enum step_fate)s->fates[i]) {
        case FATE_FREE:
            for (uint32_t r = 0; r < t->result_count; r++)
                set_roots(s, t->results + r, VALUE_FUSED, (uint32_t)s->pool_count);
            break;
        case FATE_ALIAS: fuse_alias(s, l, i); break;
        case FATE_FUSED: {
            uint32_t first = collect_roots(s, l, t);
            if (s->pool_count - first <= ROOTS_MAX)
                set_roots(s, t->results, VALUE_FUSED, first);
            else
                make_kernel(s, l, i, first);
            break;
        }
        case FATE_KERNEL: make_kernel(s, l, i, collect_roots(s, l, t)); break;
        case FATE_MARK: fuse_mark(s, l, i); break;
        }
    }
}
