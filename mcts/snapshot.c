/* Snapshots and deltas as bytes. Integers are little-endian; a list is u16 count and u16 a decision; a plan
 * is list, hash, cost, price field by field, found, baseline.
 *
 *   offset  both
 *   0       u64 magic
 *   8       u64 size of the whole blob
 *   16      u64 checksum of all from 24 on
 *   24      u64 search: identity of problem, options and tuning
 *
 *   snapshot, from 32                               delta, from 32
 *   u32 epoch phase tasks idle stop                 u32 epoch phase index polish_tried
 *       polish_round polish_offset                  u64 rollouts evaluations cut
 *   u64 rollouts evaluations                        u8 count, best plans
 *       polish_evaluations cut                      u32 count, gains: u16 decision  i32 gain
 *   u8 count, best plans                            u32 count, nodes: u64 state  i32 value  list
 *   u32 count, curve: 4 x u64                       u32 count, edges, 24 bytes each: what is added up
 *   i32 gain of every decision                          u64 state  u32 action  u32 visits  i64 sum of rewards
 *   u32 count, nodes: u64 state  i32 value  list    for every edge again: what is not
 *   u32 count, edges, 32 bytes each:                    u64 child  i32 best reward
 *       u32 node  u32 action  u64 child
 *       u32 visits  i64 sum  i32 best
 *
 * They come over a network: every count is checked against the bytes that are left, every number against its
 * range, before anything is used. */
#include "mcts/bytes.h"
#include "mcts/core.h"

#include <stdlib.h>

static const uint64_t snapshot_magic = 0x31504e5354534f54u, delta_magic = 0x31544c4454534f54u;
enum { HEADER_SIZE = 32, CHECKED_FROM = 24 };
/* bytes that the smallest of each takes: what bounds a count that came over a network */
enum { NODE_LEAST = 14, EDGE_SIZE = 32, CURVE_SIZE = 32, GAIN_SIZE = 6, DELTA_EDGE_SIZE = 36 };
/* of one edge; sums of rewards (2^30 each) stay within 64 bits */
enum { MAX_VISITS = 1 << 30, MAX_DELTA_VISITS = 1 << 20 };

/* ---- plans ---- */

static void put_list(struct bytes_writer *w, const uint16_t *list, uint32_t count)
{
    bytes_put(w, count, 2);
    for (uint32_t i = 0; i < count; i++)
        bytes_put(w, list[i], 2);
}

static void get_list(struct bytes_reader *r, const struct search *s, struct search_list *out)
{
    out->count = (uint32_t)bytes_get(r, 2);
    if (out->count > SEARCH_MAX_LIST) {
        r->bad = 1;
        out->count = 0;
    }
    for (uint32_t i = 0; i < out->count; i++) {
        out->at[i] = (uint16_t)bytes_get(r, 2);
        if (out->at[i] >= s->domain->total_count) {
            r->bad = 1;
            out->at[i] = 0;
        }
    }
}

/* struct price, field by field: the one place that knows their order */
/* clang-format off */
#define PRICE_FIELDS(X) \
    X(step_ps) X(compute_ps) X(matmul_ps) X(communication_ps) X(exposed_ps) \
    X(critical_path_ps) X(peak_bytes) X(program_peak_bytes) X(depth_first_peak_bytes) X(peak_step) \
    X(argument_bytes) X(output_bytes) X(alias_bytes)
/* clang-format on */

static void put_plan(struct bytes_writer *w, const struct core_plan *p)
{
    put_list(w, p->list.at, p->list.count);
    bytes_put(w, p->hash.hi, 8);
    bytes_put(w, p->hash.lo, 8);
    bytes_put(w, (uint64_t)p->cost.c, 8);
    bytes_put(w, (uint64_t)p->cost.over_steps, 8);
#define X(field) bytes_put(w, (uint64_t)p->price.field, 8);
    PRICE_FIELDS(X)
#undef X
    bytes_put(w, p->found, 2);
    bytes_put(w, p->baseline, 2);
}

static void get_plan(struct bytes_reader *r, const struct search *s, struct core_plan *p)
{
    get_list(r, s, &p->list);
    p->hash.hi = bytes_get(r, 8);
    p->hash.lo = bytes_get(r, 8);
    p->cost.c = (int64_t)bytes_get(r, 8);
    p->cost.over_steps = (int64_t)bytes_get(r, 8);
#define X(field) p->price.field = (__typeof__(p->price.field))bytes_get(r, 8);
    PRICE_FIELDS(X)
#undef X
    p->found = (uint16_t)bytes_get(r, 2);
    p->baseline = (uint16_t)bytes_get(r, 2);
    if (p->found > FOUND_PER_ACTION ||
        (p->found == FOUND_BASELINE && p->baseline >= s->domain->baseline_count) || p->cost.c < 0 ||
        p->cost.over_steps < 0)
        r->bad = 1;
}

static void put_elites(struct bytes_writer *w, const struct core_elites *e)
{
    bytes_put(w, e->count, 1);
    for (uint32_t i = 0; i < e->count; i++)
        put_plan(w, &e->at[i]);
}

static void get_elites(struct bytes_reader *r, const struct search *s, struct core_elites *e)
{
    uint32_t count = (uint32_t)bytes_get(r, 1);
    if (count < 1 || count > CORE_ELITES)
        r->bad = 1;
    *e = (struct core_elites){0};
    for (uint32_t i = 0; i < count && !r->bad; i++) {
        struct core_plan p = {0};
        get_plan(r, s, &p);
        if (!r->bad)
            core_elites_offer(e, &p);
    }
    if (!e->count)
        r->bad = 1;
}

/* ---- header ---- */

static void put_header(struct bytes_writer *w, const struct search *s, uint64_t magic)
{
    bytes_put(w, magic, 8);
    bytes_put(w, 0, 8);
    bytes_put(w, 0, 8);
    bytes_put(w, s->id, 8);
}

static void seal(struct bytes_writer *w, struct search_blob *out)
{
    struct bytes_writer head = {0};
    bytes_put(&head, w->out.count, 8);
    bytes_put(&head, hash_bytes(w->out.at + CHECKED_FROM, w->out.count - CHECKED_FROM, w->out.count), 8);
    memcpy(w->out.at + 8, head.out.at, 16);
    VEC_FREE(&head.out);
    out->bytes = w->out.at;
    out->size = w->out.count;
}

static enum error_code get_header(struct bytes_reader *r, const struct search *s, const void *bytes,
                                  size_t size, uint64_t magic, const char *what, struct error *e)
{
    *r = (struct bytes_reader){bytes, size, 0};
    if (size < HEADER_SIZE || bytes_get(r, 8) != magic || bytes_get(r, 8) != size ||
        bytes_get(r, 8) != hash_bytes((const unsigned char *)bytes + CHECKED_FROM, size - CHECKED_FROM, size))
        return error_set(e, ERROR_INVALID_REQUEST, "the %s is damaged (size or checksum); fetch it again",
                         what);
    if (bytes_get(r, 8) != s->id)
        return error_set(e, ERROR_INVALID_REQUEST,
                         "the %s belongs to another search (other module, mesh, device, "
                         "options or build)",
                         what);
    return ERROR_OK;
}

static enum error_code damaged(const char *what, struct error *e)
{
    return error_set(e, ERROR_INVALID_REQUEST, "the %s is damaged (a number out of range); fetch it again",
                     what);
}

/* ---- snapshot ---- */

void core_snapshot_release(struct core_snapshot *p)
{
    free(p->gains);
    tree_release(&p->tree);
    *p = (struct core_snapshot){0};
}

static void put_tree(struct bytes_writer *w, const struct tree *t)
{
    bytes_put(w, t->nodes.count, 4);
    for (size_t i = 0; i < t->nodes.count; i++) {
        const struct tree_node *n = &t->nodes.at[i];
        bytes_put(w, n->state, 8);
        bytes_put(w, (uint32_t)n->value, 4);
        put_list(w, t->pool.at + n->list, n->list_count);
    }
    bytes_put(w, t->edges.count, 4);
    for (size_t i = 0; i < t->edges.count; i++) {
        const struct tree_edge *d = &t->edges.at[i];
        bytes_put(w, d->node, 4);
        bytes_put(w, d->action, 4);
        bytes_put(w, d->child, 8);
        bytes_put(w, d->n, 4);
        bytes_put(w, (uint64_t)d->w, 8);
        bytes_put(w, (uint32_t)d->best, 4);
    }
}

static bool reward_in_range(int32_t r)
{
    /* a reward, less what its decisions cost */
    return r >= -REWARD_ONE - 2 * SEARCH_MAX_LIST * REWARD_DEPTH &&
           r <= REWARD_ONE + 2 * SEARCH_MAX_LIST * REWARD_DEPTH;
}

static bool sum_in_range(int64_t w, uint32_t n)
{
    int64_t most = (int64_t)n * 2 * REWARD_ONE;
    return w >= -most && w <= most;
}

static void get_tree(struct bytes_reader *r, const struct search *s, struct tree *t)
{
    uint32_t nodes = bytes_get_count(r, NODE_LEAST);
    for (uint32_t i = 0; i < nodes && !r->bad; i++) {
        uint64_t state = bytes_get(r, 8);
        int32_t value = bytes_get_i32(r);
        struct search_list list;
        get_list(r, s, &list);
        if (tree_find(t, state) != TREE_NONE || (value != TREE_UNKNOWN && !reward_in_range(value)))
            r->bad = 1;
        if (r->bad)
            return;
        uint32_t node = tree_node(t, state, list.at, list.count);
        t->nodes.at[node].value = value;
        t->nodes.at[node].fresh = 0;
    }
    uint32_t edges = bytes_get_count(r, EDGE_SIZE);
    for (uint32_t i = 0; i < edges && !r->bad; i++) {
        uint32_t node = (uint32_t)bytes_get(r, 4), action = (uint32_t)bytes_get(r, 4);
        uint64_t child = bytes_get(r, 8);
        uint32_t n = (uint32_t)bytes_get(r, 4);
        int64_t sum = (int64_t)bytes_get(r, 8);
        int32_t best = bytes_get_i32(r);
        if (r->bad || node >= nodes || (action != TREE_STOP && action >= core_action_count(s)) ||
            n > MAX_VISITS || !sum_in_range(sum, n) || (n && !reward_in_range(best)) ||
            tree_edge_find(t, node, action) != TREE_NONE) {
            r->bad = 1;
            return;
        }
        uint32_t at_d = tree_edge(t, node, action, child); /* may move the edges */
        struct tree_edge *d = &t->edges.at[at_d];
        d->n = d->base_n = n;
        d->w = d->base_w = sum;
        d->best = n ? best : -INT32_MAX;
        d->fresh = 0;
    }
}

void core_snapshot_write(const struct search *s, const struct core_snapshot *p, struct search_blob *out)
{
    struct bytes_writer w = {0};
    put_header(&w, s, snapshot_magic);
    const uint32_t words[] = {p->epoch, p->phase,        p->tasks,        p->idle,
                              p->stop,  p->polish_round, p->polish_offset};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        bytes_put(&w, words[i], 4);
    bytes_put(&w, p->rollouts, 8);
    bytes_put(&w, p->evaluations, 8);
    bytes_put(&w, p->polish_evaluations, 8);
    bytes_put(&w, p->cut, 8);
    put_elites(&w, &p->elites);
    bytes_put(&w, p->curve_count, 4);
    for (uint32_t i = 0; i < p->curve_count; i++) {
        bytes_put(&w, p->curve[i].rollouts, 8);
        bytes_put(&w, (uint64_t)p->curve[i].cost.c, 8);
        bytes_put(&w, (uint64_t)p->curve[i].cost.over_steps, 8);
        bytes_put(&w, (uint64_t)p->curve[i].step_ps, 8);
    }
    for (uint32_t i = 0; i < s->domain->decision_count; i++)
        bytes_put(&w, (uint32_t)p->gains[i], 4);
    put_tree(&w, &p->tree);
    seal(&w, out);
}

enum error_code core_snapshot_read(const struct search *s, const void *bytes, size_t size,
                                   struct core_snapshot *p, struct error *e)
{
    *p = (struct core_snapshot){0};
    struct bytes_reader r;
    enum error_code code = get_header(&r, s, bytes, size, snapshot_magic, "search snapshot", e);
    if (code)
        return code;
    uint32_t *words[] = {&p->epoch, &p->phase,        &p->tasks,        &p->idle,
                         &p->stop,  &p->polish_round, &p->polish_offset};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        *words[i] = (uint32_t)bytes_get(&r, 4);
    p->rollouts = bytes_get(&r, 8);
    p->evaluations = bytes_get(&r, 8);
    p->polish_evaluations = bytes_get(&r, 8);
    p->cut = bytes_get(&r, 8);
    get_elites(&r, s, &p->elites);
    p->curve_count = bytes_get_count(&r, CURVE_SIZE);
    if (p->curve_count > CORE_CURVE || p->phase > SEARCH_DONE || p->tasks > CORE_MAX_TASKS ||
        p->stop > STOP_EXHAUSTED || p->rollouts > UINT64_MAX / 4)
        r.bad = 1;
    for (uint32_t i = 0; i < p->curve_count && !r.bad; i++) {
        p->curve[i].rollouts = bytes_get(&r, 8);
        p->curve[i].cost.c = (int64_t)bytes_get(&r, 8);
        p->curve[i].cost.over_steps = (int64_t)bytes_get(&r, 8);
        p->curve[i].step_ps = (int64_t)bytes_get(&r, 8);
    }
    p->gains = mem_zalloc(s->domain->decision_count, sizeof *p->gains);
    for (uint32_t i = 0; i < s->domain->decision_count; i++) {
        p->gains[i] = bytes_get_i32(&r);
        if (p->gains[i] != TREE_UNKNOWN && !reward_in_range(p->gains[i]))
            r.bad = 1;
    }
    if (!r.bad)
        get_tree(&r, s, &p->tree);
    if (!r.bad && !r.left)
        return ERROR_OK;
    core_snapshot_release(p);
    return damaged("search snapshot", e);
}

/* ---- delta ---- */

void core_delta_release(struct core_delta *d)
{
    VEC_FREE(&d->gains);
    VEC_FREE(&d->nodes);
    VEC_FREE(&d->edges);
    *d = (struct core_delta){0};
}

void core_delta_write(const struct search *s, const struct core_delta *d, struct search_blob *out)
{
    struct bytes_writer w = {0};
    put_header(&w, s, delta_magic);
    bytes_put(&w, d->epoch, 4);
    bytes_put(&w, d->phase, 4);
    bytes_put(&w, d->index, 4);
    bytes_put(&w, d->polish_tried, 4);
    bytes_put(&w, d->rollouts, 8);
    bytes_put(&w, d->evaluations, 8);
    bytes_put(&w, d->cut, 8);
    put_elites(&w, &d->elites);
    bytes_put(&w, d->gains.count, 4);
    for (size_t i = 0; i < d->gains.count; i++) {
        bytes_put(&w, d->gains.at[i].decision, 2);
        bytes_put(&w, (uint32_t)d->gains.at[i].gain, 4);
    }
    bytes_put(&w, d->nodes.count, 4);
    for (size_t i = 0; i < d->nodes.count; i++) {
        bytes_put(&w, d->nodes.at[i].state, 8);
        bytes_put(&w, (uint32_t)d->nodes.at[i].value, 4);
        put_list(&w, d->nodes.at[i].list.at, d->nodes.at[i].list.count);
    }
    bytes_put(&w, d->edges.count, 4);
    for (size_t i = 0; i < d->edges.count; i++) {
        bytes_put(&w, d->edges.at[i].state, 8);
        bytes_put(&w, d->edges.at[i].action, 4);
        bytes_put(&w, d->edges.at[i].dn, 4);
        bytes_put(&w, (uint64_t)d->edges.at[i].dw, 8);
    }
    for (size_t i = 0; i < d->edges.count; i++) {
        bytes_put(&w, d->edges.at[i].child, 8);
        bytes_put(&w, (uint32_t)d->edges.at[i].best, 4);
    }
    seal(&w, out);
}

static void get_delta_nodes(struct bytes_reader *r, const struct search *s, struct core_delta *d)
{
    uint32_t nodes = bytes_get_count(r, NODE_LEAST);
    for (uint32_t i = 0; i < nodes && !r->bad; i++) {
        struct core_delta_node n = {.state = bytes_get(r, 8)};
        n.value = bytes_get_i32(r);
        get_list(r, s, &n.list);
        if (n.value != TREE_UNKNOWN && !reward_in_range(n.value))
            r->bad = 1;
        VEC_PUSH(&d->nodes, n);
    }
}

static void get_delta_edges(struct bytes_reader *r, const struct search *s, struct core_delta *d)
{
    uint32_t edges = bytes_get_count(r, DELTA_EDGE_SIZE);
    if (edges > CORE_DELTA_EDGES)
        r->bad = 1;
    for (uint32_t i = 0; i < edges && !r->bad; i++) {
        struct core_delta_edge x = {.state = bytes_get(r, 8)};
        x.action = (uint32_t)bytes_get(r, 4);
        x.dn = (uint32_t)bytes_get(r, 4);
        x.dw = (int64_t)bytes_get(r, 8);
        if ((x.action != TREE_STOP && x.action >= core_action_count(s)) || x.dn > MAX_DELTA_VISITS ||
            !sum_in_range(x.dw, x.dn))
            r->bad = 1;
        VEC_PUSH(&d->edges, x);
    }
    for (uint32_t i = 0; i < edges && !r->bad; i++) {
        struct core_delta_edge *x = &d->edges.at[i];
        x->child = bytes_get(r, 8);
        x->best = bytes_get_i32(r);
        if (x->dn && !reward_in_range(x->best))
            r->bad = 1;
    }
}

enum error_code core_delta_read(const struct search *s, const void *bytes, size_t size, struct core_delta *d,
                                struct error *e)
{
    *d = (struct core_delta){0};
    struct bytes_reader r;
    enum error_code code = get_header(&r, s, bytes, size, delta_magic, "search delta", e);
    if (code)
        return code;
    d->epoch = (uint32_t)bytes_get(&r, 4);
    d->phase = (uint32_t)bytes_get(&r, 4);
    d->index = (uint32_t)bytes_get(&r, 4);
    d->polish_tried = (uint32_t)bytes_get(&r, 4);
    d->rollouts = bytes_get(&r, 8);
    d->evaluations = bytes_get(&r, 8);
    d->cut = bytes_get(&r, 8);
    if (d->rollouts > CORE_MAX_ROLLOUTS || d->evaluations > UINT32_MAX || d->cut > UINT32_MAX)
        r.bad = 1;
    get_elites(&r, s, &d->elites);
    uint32_t gains = bytes_get_count(&r, GAIN_SIZE);
    for (uint32_t i = 0; i < gains && !r.bad; i++) {
        struct core_gain g = {.decision = (uint16_t)bytes_get(&r, 2)};
        g.gain = bytes_get_i32(&r);
        if (g.decision >= s->domain->decision_count || !reward_in_range(g.gain))
            r.bad = 1;
        VEC_PUSH(&d->gains, g);
    }
    get_delta_nodes(&r, s, d);
    if (!r.bad)
        get_delta_edges(&r, s, d);
    if (!r.bad && !r.left)
        return ERROR_OK;
    core_delta_release(d);
    return damaged("search delta", e);
}

enum error_code core_best_check(const struct search *s, const struct core_elites *elites,
                                struct core_checked *checked, struct error *e)
{
    const struct core_plan *best = &elites->at[0];
    struct search_list list = best->list;
    struct hash128 hash;
    if (checked && checked->any && hash128_compare(checked->hash, best->hash) == 0 &&
        tree_list_compare(checked->list.at, checked->list.count, list.at, list.count) == 0)
        return ERROR_OK;
    void *session = s->domain->session_create(s->domain, NULL);
    s->domain->replay(session, &list, &hash);
    s->domain->session_destroy(session);
    if (hash128_compare(hash, best->hash) != 0)
        return error_set(e, ERROR_INVALID_REQUEST,
                         "the best plan's decisions do not lead to its hash: the blob was made "
                         "by another build or is damaged");
    if (checked)
        *checked = (struct core_checked){best->list, best->hash, true};
    return ERROR_OK;
}
