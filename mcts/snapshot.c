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
 *       stage_end stage_gained barren               u8 count, best plans
 *   u64 rollouts evaluations                        u32 count, gains: u16 decision  i32 gain
 *       polish_evaluations cut                      u32 count, nodes: u64 state  i32 value  list
 *   u8 count, best plans; the best by exact price   u32 count, edges, 24 bytes each: what is added up
 *   u32 count, curve: 4 x u64                           u64 state  u32 action  u32 visits  i64 sum of rewards
 *   i32 gain of every decision                      for every edge again: what is not
 *   u32 count, nodes: u64 state  i32 value  list        u64 child  i32 best reward
 *   u32 count, edges, 32 bytes each:
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

static void put_list(struct bytes_writer *bytes_writer, const uint16_t *list, uint32_t count)
{
    bytes_put(bytes_writer, count, 2);
    for (uint32_t i = 0; i < count; i++)
        bytes_put(bytes_writer, list[i], 2);
}

static void get_list(struct bytes_reader *bytes_reader, const struct search *search, struct search_list *out)
{
    out->count = (uint32_t)bytes_get(bytes_reader, 2);
    if (out->count > SEARCH_MAX_LIST) {
        bytes_reader->bad = 1;
        out->count = 0;
    }
    for (uint32_t i = 0; i < out->count; i++) {
        out->at[i] = (uint16_t)bytes_get(bytes_reader, 2);
        if (out->at[i] >= search->domain->total_count) {
            bytes_reader->bad = 1;
            out->at[i] = 0;
        }
    }
}

/* struct price, field by field: the one place that knows their order */
/* clang-format off */
#define PRICE_FIELDS(X) \
    X(step_ps) X(compute_ps) X(matmul_ps) X(communication_ps) X(exposed_ps) \
    X(critical_path_ps) X(peak_bytes) X(program_peak_bytes) X(depth_first_peak_bytes) X(memory_peak_bytes) \
    X(hiding_peak_bytes) X(rematerialised_bytes) \
    X(peak_order) X(peak_step) \
    X(argument_bytes) X(output_bytes) X(alias_bytes)
/* clang-format on */

static void put_plan(struct bytes_writer *bytes_writer, const struct core_plan *plan)
{
    put_list(bytes_writer, plan->list.at, plan->list.count);
    bytes_put(bytes_writer, plan->hash.hi, 8);
    bytes_put(bytes_writer, plan->hash.lo, 8);
    bytes_put(bytes_writer, (uint64_t)plan->cost.c, 8);
    bytes_put(bytes_writer, (uint64_t)plan->cost.over_steps, 8);
#define X(field) bytes_put(bytes_writer, (uint64_t)plan->price.field, 8);
    PRICE_FIELDS(X)
#undef X
    bytes_put(bytes_writer, plan->found, 2);
    bytes_put(bytes_writer, plan->baseline, 2);
}

static void get_plan(struct bytes_reader *bytes_reader, const struct search *search, struct core_plan *plan)
{
    get_list(bytes_reader, search, &plan->list);
    plan->hash.hi = bytes_get(bytes_reader, 8);
    plan->hash.lo = bytes_get(bytes_reader, 8);
    plan->cost.c = (int64_t)bytes_get(bytes_reader, 8);
    plan->cost.over_steps = (int64_t)bytes_get(bytes_reader, 8);
#define X(field) plan->price.field = (__typeof__(plan->price.field))bytes_get(bytes_reader, 8);
    PRICE_FIELDS(X)
#undef X
    plan->found = (uint16_t)bytes_get(bytes_reader, 2);
    plan->baseline = (uint16_t)bytes_get(bytes_reader, 2);
    if (plan->found > FOUND_CLIMB ||
        (plan->found == FOUND_BASELINE && plan->baseline >= search->domain->baseline_count) ||
        plan->cost.c < 0 || plan->cost.over_steps < 0)
        bytes_reader->bad = 1;
}

static void put_elites(struct bytes_writer *bytes_writer, const struct core_elites *e)
{
    bytes_put(bytes_writer, e->count, 1);
    for (uint32_t i = 0; i < e->count; i++)
        put_plan(bytes_writer, &e->at[i]);
}

static void get_elites(struct bytes_reader *bytes_reader, const struct search *search, struct core_elites *e)
{
    uint32_t count = (uint32_t)bytes_get(bytes_reader, 1);
    if (count < 1 || count > CORE_ELITES)
        bytes_reader->bad = 1;
    *e = (struct core_elites){0};
    for (uint32_t i = 0; i < count && !bytes_reader->bad; i++) {
        struct core_plan plan = {0};
        get_plan(bytes_reader, search, &plan);
        if (!bytes_reader->bad)
            core_elites_offer(e, &plan);
    }
    if (!e->count)
        bytes_reader->bad = 1;
}

/* ---- header ---- */

static void put_header(struct bytes_writer *bytes_writer, const struct search *search, uint64_t magic)
{
    bytes_put(bytes_writer, magic, 8);
    bytes_put(bytes_writer, 0, 8);
    bytes_put(bytes_writer, 0, 8);
    bytes_put(bytes_writer, search->id, 8);
}

static void seal(struct bytes_writer *bytes_writer, struct search_blob *out)
{
    struct bytes_writer head = {0};
    bytes_put(&head, bytes_writer->out.count, 8);
    bytes_put(&head,
              hash_bytes(bytes_writer->out.at + CHECKED_FROM, bytes_writer->out.count - CHECKED_FROM,
                         bytes_writer->out.count),
              8);
    memcpy(bytes_writer->out.at + 8, head.out.at, 16);
    VEC_FREE(&head.out);
    out->bytes = bytes_writer->out.at;
    out->size = bytes_writer->out.count;
}

static enum error_code get_header(struct bytes_reader *bytes_reader, const struct search *search,
                                  const void *bytes, size_t size, uint64_t magic, const char *what,
                                  struct error *e)
{
    *bytes_reader = (struct bytes_reader){bytes, size, 0};
    if (size < HEADER_SIZE || bytes_get(bytes_reader, 8) != magic || bytes_get(bytes_reader, 8) != size ||
        bytes_get(bytes_reader, 8) !=
            hash_bytes((const unsigned char *)bytes + CHECKED_FROM, size - CHECKED_FROM, size))
        return error_set(e, ERROR_INVALID_REQUEST, "the %s is damaged (size or checksum); fetch it again",
                         what);
    if (bytes_get(bytes_reader, 8) != search->id)
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

void core_snapshot_release(struct core_snapshot *snapshot)
{
    free(snapshot->gains);
    tree_release(&snapshot->tree);
    *snapshot = (struct core_snapshot){0};
}

static void put_tree(struct bytes_writer *bytes_writer, const struct tree *tree)
{
    bytes_put(bytes_writer, tree->nodes.count, 4);
    for (size_t i = 0; i < tree->nodes.count; i++) {
        const struct tree_node *n = &tree->nodes.at[i];
        bytes_put(bytes_writer, n->state, 8);
        bytes_put(bytes_writer, (uint32_t)n->value, 4);
        put_list(bytes_writer, tree->pool.at + n->list, n->list_count);
    }
    bytes_put(bytes_writer, tree->edges.count, 4);
    for (size_t i = 0; i < tree->edges.count; i++) {
        const struct tree_edge *edge = &tree->edges.at[i];
        bytes_put(bytes_writer, edge->node, 4);
        bytes_put(bytes_writer, edge->action, 4);
        bytes_put(bytes_writer, edge->child, 8);
        bytes_put(bytes_writer, edge->n, 4);
        bytes_put(bytes_writer, (uint64_t)edge->w, 8);
        bytes_put(bytes_writer, (uint32_t)edge->best, 4);
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

static void get_tree(struct bytes_reader *bytes_reader, const struct search *search, struct tree *tree)
{
    uint32_t nodes = bytes_get_count(bytes_reader, NODE_LEAST);
    for (uint32_t i = 0; i < nodes && !bytes_reader->bad; i++) {
        uint64_t state = bytes_get(bytes_reader, 8);
        int32_t value = bytes_get_i32(bytes_reader);
        struct search_list list;
        get_list(bytes_reader, search, &list);
        if (tree_find(tree, state) != TREE_NONE || (value != TREE_UNKNOWN && !reward_in_range(value)))
            bytes_reader->bad = 1;
        if (bytes_reader->bad)
            return;
        uint32_t node = tree_node(tree, state, list.at, list.count);
        tree->nodes.at[node].value = value;
        tree->nodes.at[node].fresh = 0;
    }
    uint32_t edges = bytes_get_count(bytes_reader, EDGE_SIZE);
    for (uint32_t i = 0; i < edges && !bytes_reader->bad; i++) {
        uint32_t node = (uint32_t)bytes_get(bytes_reader, 4), action = (uint32_t)bytes_get(bytes_reader, 4);
        uint64_t child = bytes_get(bytes_reader, 8);
        uint32_t n = (uint32_t)bytes_get(bytes_reader, 4);
        int64_t sum = (int64_t)bytes_get(bytes_reader, 8);
        int32_t best = bytes_get_i32(bytes_reader);
        if (bytes_reader->bad || node >= nodes ||
            (action != TREE_STOP && action >= core_action_count(search)) || n > MAX_VISITS ||
            !sum_in_range(sum, n) || (n && !reward_in_range(best)) ||
            tree_edge_find(tree, node, action) != TREE_NONE) {
            bytes_reader->bad = 1;
            return;
        }
        uint32_t at_d = tree_edge(tree, node, action, child); /* may move the edges */
        struct tree_edge *edge = &tree->edges.at[at_d];
        edge->n = edge->base_n = n;
        edge->w = edge->base_w = sum;
        edge->best = n ? best : -INT32_MAX;
        edge->fresh = 0;
    }
}

void core_snapshot_write(const struct search *search, const struct core_snapshot *snapshot,
                         struct search_blob *out)
{
    struct bytes_writer bytes_writer = {0};
    put_header(&bytes_writer, search, snapshot_magic);
    const uint32_t words[] = {snapshot->epoch,         snapshot->phase,     snapshot->tasks,
                              snapshot->idle,          snapshot->stop,      snapshot->polish_round,
                              snapshot->polish_offset, snapshot->stage_end, snapshot->stage_gained,
                              snapshot->barren};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        bytes_put(&bytes_writer, words[i], 4);
    bytes_put(&bytes_writer, snapshot->rollouts, 8);
    bytes_put(&bytes_writer, snapshot->evaluations, 8);
    bytes_put(&bytes_writer, snapshot->polish_evaluations, 8);
    bytes_put(&bytes_writer, snapshot->cut, 8);
    put_elites(&bytes_writer, &snapshot->elites);
    put_plan(&bytes_writer, &snapshot->best);
    bytes_put(&bytes_writer, snapshot->curve_count, 4);
    for (uint32_t i = 0; i < snapshot->curve_count; i++) {
        bytes_put(&bytes_writer, snapshot->curve[i].rollouts, 8);
        bytes_put(&bytes_writer, (uint64_t)snapshot->curve[i].cost.c, 8);
        bytes_put(&bytes_writer, (uint64_t)snapshot->curve[i].cost.over_steps, 8);
        bytes_put(&bytes_writer, (uint64_t)snapshot->curve[i].step_ps, 8);
    }
    for (uint32_t i = 0; i < search->domain->decision_count; i++)
        bytes_put(&bytes_writer, (uint32_t)snapshot->gains[i], 4);
    put_tree(&bytes_writer, &snapshot->tree);
    seal(&bytes_writer, out);
}

enum error_code core_snapshot_read(const struct search *search, const void *bytes, size_t size,
                                   struct core_snapshot *snapshot, struct error *e)
{
    *snapshot = (struct core_snapshot){0};
    struct bytes_reader bytes_reader;
    enum error_code code =
        get_header(&bytes_reader, search, bytes, size, snapshot_magic, "search snapshot", e);
    if (code)
        return code;
    uint32_t *words[] = {&snapshot->epoch,         &snapshot->phase,     &snapshot->tasks,
                         &snapshot->idle,          &snapshot->stop,      &snapshot->polish_round,
                         &snapshot->polish_offset, &snapshot->stage_end, &snapshot->stage_gained,
                         &snapshot->barren};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        *words[i] = (uint32_t)bytes_get(&bytes_reader, 4);
    snapshot->rollouts = bytes_get(&bytes_reader, 8);
    snapshot->evaluations = bytes_get(&bytes_reader, 8);
    snapshot->polish_evaluations = bytes_get(&bytes_reader, 8);
    snapshot->cut = bytes_get(&bytes_reader, 8);
    get_elites(&bytes_reader, search, &snapshot->elites);
    get_plan(&bytes_reader, search, &snapshot->best);
    snapshot->curve_count = bytes_get_count(&bytes_reader, CURVE_SIZE);
    if (snapshot->curve_count > CORE_CURVE || snapshot->phase > SEARCH_DONE ||
        snapshot->tasks > CORE_MAX_TASKS || snapshot->stop > STOP_EXHAUSTED ||
        snapshot->rollouts > UINT64_MAX / 4 || snapshot->stage_end > search->options.rollouts ||
        snapshot->stage_gained > 1)
        bytes_reader.bad = 1;
    for (uint32_t i = 0; i < snapshot->curve_count && !bytes_reader.bad; i++) {
        snapshot->curve[i].rollouts = bytes_get(&bytes_reader, 8);
        snapshot->curve[i].cost.c = (int64_t)bytes_get(&bytes_reader, 8);
        snapshot->curve[i].cost.over_steps = (int64_t)bytes_get(&bytes_reader, 8);
        snapshot->curve[i].step_ps = (int64_t)bytes_get(&bytes_reader, 8);
    }
    snapshot->gains = mem_zalloc(search->domain->decision_count, sizeof *snapshot->gains);
    for (uint32_t i = 0; i < search->domain->decision_count; i++) {
        snapshot->gains[i] = bytes_get_i32(&bytes_reader);
        if (snapshot->gains[i] != TREE_UNKNOWN && !reward_in_range(snapshot->gains[i]))
            bytes_reader.bad = 1;
    }
    if (!bytes_reader.bad)
        get_tree(&bytes_reader, search, &snapshot->tree);
    if (!bytes_reader.bad && !bytes_reader.left)
        return ERROR_OK;
    core_snapshot_release(snapshot);
    return damaged("search snapshot", e);
}

/* ---- delta ---- */

void core_delta_release(struct core_delta *delta)
{
    VEC_FREE(&delta->gains);
    VEC_FREE(&delta->nodes);
    VEC_FREE(&delta->edges);
    *delta = (struct core_delta){0};
}

void core_delta_write(const struct search *search, const struct core_delta *delta, struct search_blob *out)
{
    struct bytes_writer bytes_writer = {0};
    put_header(&bytes_writer, search, delta_magic);
    bytes_put(&bytes_writer, delta->epoch, 4);
    bytes_put(&bytes_writer, delta->phase, 4);
    bytes_put(&bytes_writer, delta->index, 4);
    bytes_put(&bytes_writer, delta->polish_tried, 4);
    bytes_put(&bytes_writer, delta->rollouts, 8);
    bytes_put(&bytes_writer, delta->evaluations, 8);
    bytes_put(&bytes_writer, delta->cut, 8);
    put_elites(&bytes_writer, &delta->elites);
    bytes_put(&bytes_writer, delta->gains.count, 4);
    for (size_t i = 0; i < delta->gains.count; i++) {
        bytes_put(&bytes_writer, delta->gains.at[i].decision, 2);
        bytes_put(&bytes_writer, (uint32_t)delta->gains.at[i].gain, 4);
    }
    bytes_put(&bytes_writer, delta->nodes.count, 4);
    for (size_t i = 0; i < delta->nodes.count; i++) {
        bytes_put(&bytes_writer, delta->nodes.at[i].state, 8);
        bytes_put(&bytes_writer, (uint32_t)delta->nodes.at[i].value, 4);
        put_list(&bytes_writer, delta->nodes.at[i].list.at, delta->nodes.at[i].list.count);
    }
    bytes_put(&bytes_writer, delta->edges.count, 4);
    for (size_t i = 0; i < delta->edges.count; i++) {
        bytes_put(&bytes_writer, delta->edges.at[i].state, 8);
        bytes_put(&bytes_writer, delta->edges.at[i].action, 4);
        bytes_put(&bytes_writer, delta->edges.at[i].dn, 4);
        bytes_put(&bytes_writer, (uint64_t)delta->edges.at[i].dw, 8);
    }
    for (size_t i = 0; i < delta->edges.count; i++) {
        bytes_put(&bytes_writer, delta->edges.at[i].child, 8);
        bytes_put(&bytes_writer, (uint32_t)delta->edges.at[i].best, 4);
    }
    seal(&bytes_writer, out);
}

static void get_delta_nodes(struct bytes_reader *bytes_reader, const struct search *search,
                            struct core_delta *delta)
{
    uint32_t nodes = bytes_get_count(bytes_reader, NODE_LEAST);
    for (uint32_t i = 0; i < nodes && !bytes_reader->bad; i++) {
        struct core_delta_node n = {.state = bytes_get(bytes_reader, 8)};
        n.value = bytes_get_i32(bytes_reader);
        get_list(bytes_reader, search, &n.list);
        if (n.value != TREE_UNKNOWN && !reward_in_range(n.value))
            bytes_reader->bad = 1;
        VEC_PUSH(&delta->nodes, n);
    }
}

static void get_delta_edges(struct bytes_reader *bytes_reader, const struct search *search,
                            struct core_delta *delta)
{
    uint32_t edges = bytes_get_count(bytes_reader, DELTA_EDGE_SIZE);
    if (edges > CORE_DELTA_EDGES)
        bytes_reader->bad = 1;
    for (uint32_t i = 0; i < edges && !bytes_reader->bad; i++) {
        struct core_delta_edge delta_edge = {.state = bytes_get(bytes_reader, 8)};
        delta_edge.action = (uint32_t)bytes_get(bytes_reader, 4);
        delta_edge.dn = (uint32_t)bytes_get(bytes_reader, 4);
        delta_edge.dw = (int64_t)bytes_get(bytes_reader, 8);
        if ((delta_edge.action != TREE_STOP && delta_edge.action >= core_action_count(search)) ||
            delta_edge.dn > MAX_DELTA_VISITS || !sum_in_range(delta_edge.dw, delta_edge.dn))
            bytes_reader->bad = 1;
        VEC_PUSH(&delta->edges, delta_edge);
    }
    for (uint32_t i = 0; i < edges && !bytes_reader->bad; i++) {
        struct core_delta_edge *delta_edge = &delta->edges.at[i];
        delta_edge->child = bytes_get(bytes_reader, 8);
        delta_edge->best = bytes_get_i32(bytes_reader);
        if (delta_edge->dn && !reward_in_range(delta_edge->best))
            bytes_reader->bad = 1;
    }
}

enum error_code core_delta_read(const struct search *search, const void *bytes, size_t size,
                                struct core_delta *delta, struct error *e)
{
    *delta = (struct core_delta){0};
    struct bytes_reader bytes_reader;
    enum error_code code = get_header(&bytes_reader, search, bytes, size, delta_magic, "search delta", e);
    if (code)
        return code;
    delta->epoch = (uint32_t)bytes_get(&bytes_reader, 4);
    delta->phase = (uint32_t)bytes_get(&bytes_reader, 4);
    delta->index = (uint32_t)bytes_get(&bytes_reader, 4);
    delta->polish_tried = (uint32_t)bytes_get(&bytes_reader, 4);
    delta->rollouts = bytes_get(&bytes_reader, 8);
    delta->evaluations = bytes_get(&bytes_reader, 8);
    delta->cut = bytes_get(&bytes_reader, 8);
    if (delta->rollouts > CORE_MAX_ROLLOUTS || delta->evaluations > UINT32_MAX || delta->cut > UINT32_MAX)
        bytes_reader.bad = 1;
    get_elites(&bytes_reader, search, &delta->elites);
    uint32_t gains = bytes_get_count(&bytes_reader, GAIN_SIZE);
    for (uint32_t i = 0; i < gains && !bytes_reader.bad; i++) {
        struct core_gain gain = {.decision = (uint16_t)bytes_get(&bytes_reader, 2)};
        gain.gain = bytes_get_i32(&bytes_reader);
        if (gain.decision >= search->domain->decision_count || !reward_in_range(gain.gain))
            bytes_reader.bad = 1;
        VEC_PUSH(&delta->gains, gain);
    }
    get_delta_nodes(&bytes_reader, search, delta);
    if (!bytes_reader.bad)
        get_delta_edges(&bytes_reader, search, delta);
    if (!bytes_reader.bad && !bytes_reader.left)
        return ERROR_OK;
    core_delta_release(delta);
    return damaged("search delta", e);
}

enum error_code core_best_check(const struct search *search, const struct core_elites *elites,
                                struct core_checked *checked, struct error *e)
{
    const struct core_plan *best = &elites->at[0];
    struct search_list list = best->list;
    struct hash128 hash;
    if (checked && checked->any && hash128_compare(checked->hash, best->hash) == 0 &&
        tree_list_compare(checked->list.at, checked->list.count, list.at, list.count) == 0)
        return ERROR_OK;
    void *session = search->domain->session_create(search->domain, NULL);
    search->domain->replay(session, &list, &hash);
    search->domain->session_destroy(session);
    if (hash128_compare(hash, best->hash) != 0)
        return error_set(e, ERROR_INVALID_REQUEST,
                         "the best plan's decisions do not lead to its hash: the blob was made "
                         "by another build or is damaged");
    if (checked)
        *checked = (struct core_checked){best->list, best->hash, true};
    return ERROR_OK;
}
