/* A search between two phases as bytes, and back. One function a struct describes the layout for both
 * directions: `bytes` copies out of the struct or into it.
 *
 *   search    "cfs2" seed units | schedule | hall | worker 0 | worker 1
 *   worker    "cfw1" sizes | random state, work, points, pool, multipliers, bound, leaves, messages
 *
 * Native byte order and sizes: the same build reads what it wrote, others see another magic or other sizes
 * and refuse. What is read is checked before it is used as an index or a count; floats may be anything and
 * can only lead to poor steps, as answers pass the referee. Bounds are believed: whoever hands over bytes
 * answers for where they come from. */
#include "cfn/saved.h"

#include <string.h>

static const uint32_t magic_search = 0x32736663, magic_worker = 0x31776663; /* "cfs2", "cfw1" */

/* One description of the layout for both directions: `out` when writing, else from `at` to `end`. */
struct pass {
    struct text *out;
    const char *at, *end;
    bool damaged;
};

static void bytes(struct pass *p, void *data, size_t size)
{
    if (!size)
        return;
    if (p->out) {
        text_add_n(p->out, data, size);
    } else if (!p->damaged && (size_t)(p->end - p->at) >= size) {
        memcpy(data, p->at, size);
        p->at += size;
    } else {
        p->damaged = true;
    }
}

#define FIELD(p, x) bytes(p, &(x), sizeof(x))

static void flag(struct pass *p, bool *x)
{
    uint8_t byte = *x;
    FIELD(p, byte);
    p->damaged = p->damaged || byte > 1;
    *x = byte == 1;
}

/* a number that both sides must have the same */
static void agree(struct pass *p, uint64_t expected)
{
    uint64_t x = expected;
    FIELD(p, x);
    p->damaged = p->damaged || x != expected;
}

static void values(struct pass *p, const struct cfn_model *m, int32_t *value)
{
    bytes(p, value, (size_t)m->node_count * sizeof *value);
    for (int32_t i = 0; i < m->node_count && !p->out; i++)
        if (value[i] < 0 || value[i] >= m->size[i]) {
            p->damaged = true;
            value[i] = 0;
        }
}

static void point(struct pass *p, const struct cfn_model *m, struct cfn_point *x)
{
    values(p, m, x->value);
    FIELD(p, x->cost);
    FIELD(p, x->forbidden);
    FIELD(p, x->worst);
}

static void tree(struct pass *p, const struct cfn_model *m, struct cfn_leaves *v)
{
    int32_t count = v->count;
    flag(p, &v->begun);
    if (!v->begun)
        return;
    FIELD(p, count);
    size_t each = m->value_count + sizeof *v->bound;
    if (!p->out && (p->damaged || count < 0 || (size_t)count > (size_t)(p->end - p->at) / each)) {
        p->damaged = true;
        return;
    }
    cfn_leaves_reserve(m, v, count);
    v->count = count;
    bytes(p, v->bound, (size_t)count * sizeof *v->bound);
    bytes(p, v->mask, (size_t)count * m->value_count);
    bytes(p, v->gain, (size_t)m->node_count * sizeof *v->gain);
}

static void pool(struct pass *p, const struct cfn_model *m, struct cfn_pool *x)
{
    FIELD(p, x->count);
    p->damaged = p->damaged || x->count < 0 || x->count > CFN_POOL;
    x->count = p->damaged ? 0 : x->count;
    for (int i = 0; i < x->count && !p->damaged; i++)
        point(p, m, &x->at[i]);
}

static void worker(struct pass *p, struct cfn_worker *w)
{
    const struct cfn_model *m = w->m;
    size_t times = (size_t)m->time_count;
    agree(p, magic_worker);
    agree(p, (uint64_t)m->node_count);
    agree(p, m->value_count);
    agree(p, m->message_count);
    agree(p, times);
    FIELD(p, w->rng);
    FIELD(p, w->work);
    point(p, m, &w->x);
    flag(p, &w->has_best);
    if (w->has_best)
        point(p, m, &w->best);
    pool(p, m, &w->pool);
    bytes(p, w->lambda, times * sizeof *w->lambda);
    bytes(p, w->best_lambda, times * sizeof *w->best_lambda);
    bytes(p, w->rate, times * sizeof *w->rate);
    bytes(p, w->average, times * sizeof *w->average);
    bytes(p, w->sign, times * sizeof *w->sign);
    FIELD(p, w->sign_steps);
    FIELD(p, w->best_estimate);
    FIELD(p, w->level);
    FIELD(p, w->level_estimate);
    FIELD(p, w->level_steps);
    FIELD(p, w->bound);
    FIELD(p, w->rho);
    tree(p, m, &w->leaves);
    bytes(p, w->trws.message, m->message_count * sizeof *w->trws.message);
}

static void search(struct pass *p, struct cfn_search *s)
{
    uint32_t part = (uint32_t)s->part;
    agree(p, magic_search);
    agree(p, s->budget->seed);
    agree(p, s->budget->units);
    FIELD(p, part);
    p->damaged = p->damaged || part > CFN_PART_OVER;
    s->part = p->damaged ? CFN_PART_OVER : (enum cfn_part)part;
    FIELD(p, s->round);
    FIELD(p, s->idle);
    FIELD(p, s->units);
    FIELD(p, s->position);
    FIELD(p, s->bound);
    FIELD(p, s->before);
    flag(p, &s->begun);
    pool(p, s->m, &s->hall);
    FIELD(p, s->run_best);
    FIELD(p, s->stale);
    flag(p, &s->joint);
    for (int k = 0; k < CFN_WORKERS; k++)
        worker(p, &s->worker[k]);
}

static enum error_code verdict(const struct pass *p, struct error *e)
{
    if (!p->damaged && p->at == p->end)
        return ERROR_OK;
    return error_set(e, ERROR_INVALID_REQUEST, "these are not the bytes of this search");
}

void cfn_saved_write(const struct cfn_search *s, struct text *out)
{
    struct pass p = {.out = out};
    search(&p, (struct cfn_search *)(uintptr_t)s); /* only read while writing */
}

void cfn_saved_write_worker(const struct cfn_worker *w, struct text *out)
{
    struct pass p = {.out = out};
    worker(&p, (struct cfn_worker *)(uintptr_t)w);
}

enum error_code cfn_saved_read(const void *data, size_t size, struct cfn_search *s, struct error *e)
{
    struct pass p = {.at = data, .end = (const char *)data + size};
    search(&p, s);
    return verdict(&p, e);
}

enum error_code cfn_saved_read_worker(const void *data, size_t size, struct cfn_worker *w, struct error *e)
{
    struct pass p = {.at = data, .end = (const char *)data + size};
    worker(&p, w);
    return verdict(&p, e);
}
