/* A search between two phases as bytes, and back. One function a struct describes the layout for both
 * directions: `bytes` copies out of the struct or into it.
 *
 *   search    "cfs9" seed units | schedule | hall | worker 0 | worker 1
 *   worker    "cfw7" sizes | random state, work, points, pool, multipliers, bound, rewards, leaves, clusters'
 *             limit and what they moved, messages
 *
 * Native byte order and sizes: the same build reads what it wrote, others see another magic or other sizes
 * and refuse. What is read is checked before it is used as an index or a count; floats may be anything and
 * can only lead to poor steps, as answers pass the referee. Bounds are believed: whoever hands over bytes
 * answers for where they come from. */
#include "cfn/saved.h"

#include "cfn/tighten.h"

#include <string.h>

static const uint32_t magic_search = 0x39736663, magic_worker = 0x37776663; /* "cfs9", "cfw7" */
/* what earlier builds wrote: their schedule had other parts, their reductions left other times, their moves
 * had no rewards, their bounds no clusters, or clusters without conflicts, their leaves no starts,
 * or were one worker's, or nothing in their schedule was among likely values */
static const uint32_t oldest_search = 0x31736663, oldest_worker = 0x31776663, /* "cfs1", "cfw1" */
    one_number = UINT32_C(1) << 24;                                           /* the magic's last digit */

/* One description of the layout for both directions: `out` when writing, else from `at` to `end`. */
struct pass {
    struct text *out;
    const char *at, *end;
    bool damaged, earlier; /* earlier: of a build before this one */
};

static void bytes(struct pass *pass, void *data, size_t size)
{
    if (!size)
        return;
    if (pass->out) {
        text_add_n(pass->out, data, size);
    } else if (!pass->damaged && (size_t)(pass->end - pass->at) >= size) {
        memcpy(data, pass->at, size);
        pass->at += size;
    } else {
        pass->damaged = true;
    }
}

#define FIELD(p, x) bytes(p, &(x), sizeof(x))

static void flag(struct pass *pass, bool *x)
{
    uint8_t byte = *x;
    FIELD(pass, byte);
    pass->damaged = pass->damaged || byte > 1;
    *x = byte == 1;
}

/* a number that both sides must have the same */
static void agree(struct pass *pass, uint64_t expected)
{
    uint64_t x = expected;
    FIELD(pass, x);
    pass->damaged = pass->damaged || x != expected;
}

/* the magic of this build; those of earlier ones, from `oldest` on, are told apart from damage */
static void magic(struct pass *pass, uint32_t expected, uint32_t oldest)
{
    uint64_t number = expected;
    FIELD(pass, number);
    for (uint64_t old = oldest; old < expected; old += one_number)
        pass->earlier = pass->earlier || (!pass->damaged && number == old);
    pass->damaged = pass->damaged || number != expected;
}

static void values(struct pass *pass, const struct cfn_model *model, int32_t *value)
{
    bytes(pass, value, (size_t)model->node_count * sizeof *value);
    for (int32_t i = 0; i < model->node_count && !pass->out; i++)
        if (value[i] < 0 || value[i] >= model->size[i]) {
            pass->damaged = true;
            value[i] = 0;
        }
}

static void point(struct pass *pass, const struct cfn_model *model, struct cfn_point *cfn_point)
{
    values(pass, model, cfn_point->value);
    FIELD(pass, cfn_point->cost);
    FIELD(pass, cfn_point->forbidden);
    FIELD(pass, cfn_point->worst);
}

static void tree(struct pass *pass, const struct cfn_model *model, struct cfn_leaves *leaves)
{
    int32_t count = leaves->count;
    flag(pass, &leaves->begun);
    if (!leaves->begun) {
        if (!pass->out) { /* what is here is of a later state */
            leaves->count = 0;
            leaves->shared = false;
        }
        return;
    }
    flag(pass, &leaves->shared);
    FIELD(pass, leaves->elsewhere);
    FIELD(pass, count);
    size_t each = model->value_count + sizeof *leaves->bound + sizeof *leaves->started;
    if (!pass->out && (pass->damaged || count < 0 || (size_t)count > (size_t)(pass->end - pass->at) / each)) {
        pass->damaged = true;
        return;
    }
    cfn_leaves_reserve(model, leaves, count);
    leaves->count = count;
    bytes(pass, leaves->bound, (size_t)count * sizeof *leaves->bound);
    bytes(pass, leaves->mask, (size_t)count * model->value_count);
    bytes(pass, leaves->gain, (size_t)model->node_count * sizeof *leaves->gain);
    size_t start_size = leaves->start_size;
    FIELD(pass, start_size);
    if (!pass->out && count)
        (void)cfn_leaves_start(leaves, 0, start_size); /* starts of another size are forgotten */
    bytes(pass, leaves->started, (size_t)count * sizeof *leaves->started);
    for (int32_t k = 0; k < count && !pass->damaged; k++) {
        float *start = leaves->started[k] ? cfn_leaves_start(leaves, k, start_size) : NULL;
        if (start && !pass->out && start_size > (size_t)(pass->end - pass->at) / sizeof *start)
            pass->damaged = true;
        else if (start)
            bytes(pass, start, start_size * sizeof *start);
        else
            pass->damaged = pass->damaged || leaves->started[k];
    }
}

/* The clusters are those that the limit gives on this model; what they moved stays in bounds that cannot
 * overflow. */
static void clusters(struct pass *pass, struct cfn_worker *cfn_worker)
{
    double cells = cfn_worker->cluster_cells;
    FIELD(pass, cells);
    if (!(cells >= 0 && cells < 1e18))
        pass->damaged = true;
    if (pass->damaged)
        return;
    if (cells != cfn_worker->cluster_cells)
        cfn_tighten_end(cfn_worker); /* of an earlier state, or of a search with another limit */
    if (cells == 0)
        return;
    if (!cfn_worker->clusters)
        cfn_tighten_begin(cfn_worker, cells);
    agree(pass, cfn_worker->clusters->moved_count);
    bytes(pass, cfn_worker->clusters->moved, cfn_worker->clusters->moved_count * sizeof(int64_t));
    if (pass->out || pass->damaged)
        return;
    pass->damaged = !cfn_clusters_valid(cfn_worker->clusters);
    if (pass->damaged)
        memset(cfn_worker->clusters->moved, 0, cfn_worker->clusters->moved_count * sizeof(int64_t));
    cfn_clusters_load(cfn_worker->clusters);
}

static void pool(struct pass *pass, const struct cfn_model *model, struct cfn_pool *cfn_pool)
{
    FIELD(pass, cfn_pool->count);
    pass->damaged = pass->damaged || cfn_pool->count < 0 || cfn_pool->count > CFN_POOL;
    cfn_pool->count = pass->damaged ? 0 : cfn_pool->count;
    for (int i = 0; i < cfn_pool->count && !pass->damaged; i++)
        point(pass, model, &cfn_pool->at[i]);
}

static void worker(struct pass *pass, struct cfn_worker *cfn_worker)
{
    const struct cfn_model *model = cfn_worker->model;
    size_t times = (size_t)model->time_count;
    magic(pass, magic_worker, oldest_worker);
    agree(pass, (uint64_t)model->node_count);
    agree(pass, model->value_count);
    agree(pass, times);
    FIELD(pass, cfn_worker->rng);
    FIELD(pass, cfn_worker->work);
    point(pass, model, &cfn_worker->point);
    flag(pass, &cfn_worker->has_best);
    if (cfn_worker->has_best)
        point(pass, model, &cfn_worker->best);
    pool(pass, model, &cfn_worker->pool);
    bytes(pass, cfn_worker->lambda, times * sizeof *cfn_worker->lambda);
    bytes(pass, cfn_worker->best_lambda, times * sizeof *cfn_worker->best_lambda);
    bytes(pass, cfn_worker->rate, times * sizeof *cfn_worker->rate);
    bytes(pass, cfn_worker->average, times * sizeof *cfn_worker->average);
    bytes(pass, cfn_worker->sign, times * sizeof *cfn_worker->sign);
    FIELD(pass, cfn_worker->sign_steps);
    FIELD(pass, cfn_worker->best_estimate);
    FIELD(pass, cfn_worker->level);
    FIELD(pass, cfn_worker->level_estimate);
    FIELD(pass, cfn_worker->level_steps);
    FIELD(pass, cfn_worker->bound);
    FIELD(pass, cfn_worker->rho);
    FIELD(pass, cfn_worker->forests);
    FIELD(pass, cfn_worker->wides);
    tree(pass, model, &cfn_worker->leaves);
    clusters(pass, cfn_worker);
    agree(pass, cfn_worker->trws.model->message_count);
    bytes(pass, cfn_worker->trws.message,
          cfn_worker->trws.model->message_count * sizeof *cfn_worker->trws.message);
}

static void search(struct pass *pass, struct cfn_search *cfn_search)
{
    uint32_t part = (uint32_t)cfn_search->part;
    magic(pass, magic_search, oldest_search);
    agree(pass, cfn_search->budget->seed);
    agree(pass, cfn_search->budget->units);
    FIELD(pass, part);
    pass->damaged = pass->damaged || part > CFN_PART_OVER;
    cfn_search->part = pass->damaged ? CFN_PART_OVER : (enum cfn_part)part;
    FIELD(pass, cfn_search->round);
    FIELD(pass, cfn_search->idle);
    FIELD(pass, cfn_search->tighten_from);
    FIELD(pass, cfn_search->units);
    FIELD(pass, cfn_search->position);
    FIELD(pass, cfn_search->bound);
    FIELD(pass, cfn_search->before);
    flag(pass, &cfn_search->begun);
    pool(pass, cfn_search->model, &cfn_search->hall);
    FIELD(pass, cfn_search->run_best);
    FIELD(pass, cfn_search->stale);
    flag(pass, &cfn_search->joint);
    for (int k = 0; k < CFN_WORKERS; k++)
        worker(pass, &cfn_search->worker[k]);
}

static enum error_code verdict(const struct pass *pass, struct error *e)
{
    if (!pass->damaged && pass->at == pass->end)
        return ERROR_OK;
    if (pass->earlier)
        return error_set(e, ERROR_INVALID_REQUEST, "these are the bytes of a search of an earlier build");
    return error_set(e, ERROR_INVALID_REQUEST, "these are not the bytes of this search");
}

void cfn_saved_write(const struct cfn_search *cfn_search, struct text *out)
{
    struct pass pass = {.out = out};
    search(&pass, (struct cfn_search *)(uintptr_t)cfn_search); /* only read while writing */
}

void cfn_saved_write_worker(const struct cfn_worker *cfn_worker, struct text *out)
{
    struct pass pass = {.out = out};
    worker(&pass, (struct cfn_worker *)(uintptr_t)cfn_worker);
}

enum error_code cfn_saved_read(const void *data, size_t size, struct cfn_search *cfn_search, struct error *e)
{
    struct pass pass = {.at = data, .end = (const char *)data + size};
    search(&pass, cfn_search);
    return verdict(&pass, e);
}

enum error_code cfn_saved_read_worker(const void *data, size_t size, struct cfn_worker *cfn_worker,
                                      struct error *e)
{
    struct pass pass = {.at = data, .end = (const char *)data + size};
    worker(&pass, cfn_worker);
    return verdict(&pass, e);
}
