/* The contest's JSON as a problem, in one pass over text that is mapped where it can be. The largest part is
 * edge matrices, of which most are copies: the text of each is hashed first, and one that was seen is taken
 * over unparsed.
 *
 *   "[0,3,1,9]"  -> hash -> seen: matrix 17            text compared too: equal hashes alone are not trusted
 *                        -> new: parsed, matrix 18
 *
 * Keys come in any order, so lengths are compared at the end, when all lists are there. Never trusts a
 * count, never keeps a pointer into the text after it returns. */
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "cfn/json.h"
#include "cfn/problem.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const size_t max_bytes = (size_t)2 << 30; /* of text; the contest's A, the largest we have, is 93 MB */
enum {
    MOST_VALUES = 1 << 20, /* of a node */
    FIRST_BUCKETS = 4096,  /* of matrices by their text; */
    GROWTH = 4,            /* a bucket holds one on average, at most */
};

struct seen {
    const char *text;
    size_t size;
    uint64_t hash;
    uint32_t matrix;
    struct seen *next;
};

struct reader {
    struct cfn_json j;
    struct cfn_problem *problem;
    VEC(int64_t) costs, usages, entries;
    VEC(uint32_t) cost_counts, usage_counts;
    VEC(uint64_t) matrix_offsets; /* of each edge's matrix in the text */
    VEC(struct cfn_node) nodes;
    VEC(struct cfn_edge) edges;
    VEC(uint32_t) edge_matrices;
    VEC(struct cfn_matrix) matrices;
    struct seen **buckets;
    uint32_t bucket_count;
    struct arena *arena;
    bool intervals_read, costs_read, usages_read, ends_read, matrices_read;
    bool problem_read, nodes_read, edges_read, limit_read;
};

static void once(struct reader *reader, bool *flag, const char *what)
{
    if (*flag)
        cfn_json_reject(&reader->j, ERROR_INVALID_REQUEST, NULL, "%s appears twice", what);
    *flag = true;
}

static void read_intervals(struct reader *reader)
{
    struct cfn_json *j = &reader->j;
    once(reader, &reader->intervals_read, "intervals");
    for (bool more = cfn_json_array_begin(j); more; more = cfn_json_array_next(j)) {
        struct cfn_node n = {0};
        cfn_json_expect(j, '[');
        n.lower = cfn_json_integer(j);
        cfn_json_expect(j, ',');
        n.upper = cfn_json_integer(j);
        cfn_json_expect(j, ']');
        if (n.lower > n.upper)
            cfn_json_reject(j, ERROR_INVALID_REQUEST, NULL, "the interval ends before it begins");
        VEC_PUSH(&reader->nodes, n);
    }
}

/* a list of lists of integers: all numbers in turn, and the lengths */
#define READ_LISTS(r, values, counts, check)                                                                 \
    for (bool more = cfn_json_array_begin(&(r)->j); more; more = cfn_json_array_next(&(r)->j)) {             \
        uint32_t count = 0;                                                                                  \
        for (bool next = cfn_json_array_begin(&(r)->j); next;                                                \
             next = cfn_json_array_next(&(r)->j), count++) {                                                 \
            int64_t v = cfn_json_integer(&(r)->j);                                                           \
            check;                                                                                           \
            VEC_PUSH(values, v);                                                                             \
        }                                                                                                    \
        if (count == 0)                                                                                      \
            cfn_json_reject(&(r)->j, ERROR_INVALID_REQUEST, NULL, "a node needs a value");                   \
        VEC_PUSH(counts, count);                                                                             \
    }

static void read_costs(struct reader *reader)
{
    once(reader, &reader->costs_read, "costs");
    READ_LISTS(reader, &reader->costs, &reader->cost_counts, (void)v)
}

static void read_usages(struct reader *reader)
{
    once(reader, &reader->usages_read, "usages");
    READ_LISTS(reader, &reader->usages, &reader->usage_counts, {
        if (v < 0)
            cfn_json_reject(&reader->j, ERROR_INVALID_REQUEST, NULL, "a usage is below 0");
    })
}

static void read_edge_nodes(struct reader *reader)
{
    struct cfn_json *j = &reader->j;
    once(reader, &reader->ends_read, "nodes of edges");
    for (bool more = cfn_json_array_begin(j); more; more = cfn_json_array_next(j)) {
        int64_t ends[2] = {CFN_NO_NODE, CFN_NO_NODE};
        int count = 0;
        for (bool next = cfn_json_array_begin(j); next; next = cfn_json_array_next(j), count++) {
            int64_t v = cfn_json_integer(j);
            if (count == 2)
                cfn_json_reject(j, ERROR_INVALID_REQUEST, NULL,
                                "edges over three nodes or more are not supported");
            else if (v < 0 || v >= INT32_MAX)
                cfn_json_reject(j, ERROR_INVALID_REQUEST, NULL, "there is no such node");
            else
                ends[count] = v;
        }
        if (count == 0)
            cfn_json_reject(j, ERROR_INVALID_REQUEST, NULL, "an edge needs a node");
        VEC_PUSH(&reader->edges, ((struct cfn_edge){(int32_t)ends[0], (int32_t)ends[1], 0}));
    }
}

static void grow_buckets(struct reader *reader)
{
    uint32_t old_count = reader->bucket_count, count = old_count ? old_count * GROWTH : FIRST_BUCKETS;
    struct seen **old = reader->buckets, **made = mem_zalloc(count, sizeof *made);
    for (uint32_t b = 0; b < old_count; b++)
        for (struct seen *seen = old[b], *next; seen; seen = next) {
            next = seen->next;
            seen->next = made[seen->hash % count];
            made[seen->hash % count] = seen;
        }
    free(old);
    reader->buckets = made;
    reader->bucket_count = count;
}

static uint32_t read_new_matrix(struct reader *reader, const char *text, size_t size, uint64_t hash)
{
    struct cfn_matrix matrix = {.start = reader->entries.count};
    for (bool more = cfn_json_array_begin(&reader->j); more; more = cfn_json_array_next(&reader->j)) {
        int64_t v = cfn_json_integer(&reader->j);
        VEC_PUSH(&reader->entries, v);
    }
    if (cfn_json_failed(&reader->j))
        return 0;
    matrix.count = reader->entries.count - matrix.start;
    struct seen *seen = arena_alloc(reader->arena, sizeof *seen);
    if (reader->matrices.count >= reader->bucket_count)
        grow_buckets(reader);
    *seen = (struct seen){text, size, hash, (uint32_t)reader->matrices.count,
                          reader->buckets[hash % reader->bucket_count]};
    reader->buckets[hash % reader->bucket_count] = seen;
    VEC_PUSH(&reader->matrices, matrix);
    return seen->matrix;
}

static void read_edge_costs(struct reader *reader)
{
    struct cfn_json *j = &reader->j;
    once(reader, &reader->matrices_read, "costs of edges");
    for (bool more = cfn_json_array_begin(j); more; more = cfn_json_array_next(j)) {
        cfn_json_peek(j);
        const char *close = memchr(j->at, ']', (size_t)(j->end - j->at));
        size_t size = close ? (size_t)(close + 1 - j->at) : (size_t)(j->end - j->at);
        uint64_t hash = hash_bytes(j->at, size, 0);
        uint32_t matrix = UINT32_MAX;
        VEC_PUSH(&reader->matrix_offsets, (uint64_t)(j->at - j->start));
        for (struct seen *seen = reader->bucket_count ? reader->buckets[hash % reader->bucket_count] : NULL;
             seen; seen = seen->next)
            if (seen->hash == hash && seen->size == size && memcmp(seen->text, j->at, size) == 0)
                matrix = seen->matrix;
        if (matrix == UINT32_MAX)
            matrix = read_new_matrix(reader, j->at, size, hash);
        else
            j->at += size;
        VEC_PUSH(&reader->edge_matrices, matrix);
    }
}

static void read_edges(struct reader *reader)
{
    for (bool more = cfn_json_object_begin(&reader->j); more; more = cfn_json_object_next(&reader->j)) {
        if (cfn_json_key_is(&reader->j, "nodes"))
            read_edge_nodes(reader);
        else if (cfn_json_key_is(&reader->j, "costs"))
            read_edge_costs(reader);
        else
            cfn_json_skip(&reader->j);
    }
}

static bool read_node_lists(struct reader *reader)
{
    if (cfn_json_key_is(&reader->j, "intervals"))
        read_intervals(reader);
    else if (cfn_json_key_is(&reader->j, "costs"))
        read_costs(reader);
    else if (cfn_json_key_is(&reader->j, "usages"))
        read_usages(reader);
    else
        return false;
    return true;
}

static void read_nodes(struct reader *reader)
{
    for (bool more = cfn_json_object_begin(&reader->j); more; more = cfn_json_object_next(&reader->j))
        if (!read_node_lists(reader))
            cfn_json_skip(&reader->j);
}

static void read_limit(struct reader *reader)
{
    if (cfn_json_null(&reader->j))
        return;
    reader->problem->limit = cfn_json_integer(&reader->j);
    reader->problem->has_limit = 1;
    if (reader->problem->limit < 0)
        cfn_json_reject(&reader->j, ERROR_INVALID_REQUEST, NULL, "the usage limit is below 0");
}

static void read_problem(struct reader *reader, bool outermost)
{
    struct cfn_json *j = &reader->j;
    bool named = false; /* a file and its problem may each have a name */
    for (bool more = cfn_json_object_begin(j); more; more = cfn_json_object_next(j)) {
        size_t size;
        if (cfn_json_key_is(j, "problem") && outermost) {
            once(reader, &reader->problem_read, "problem");
            read_problem(reader, false);
        } else if (cfn_json_key_is(j, "nodes")) {
            once(reader, &reader->nodes_read, "nodes");
            read_nodes(reader);
        } else if (cfn_json_key_is(j, "edges")) {
            once(reader, &reader->edges_read, "edges");
            read_edges(reader);
        } else if (cfn_json_key_is(j, "usage_limit")) {
            once(reader, &reader->limit_read, "usage_limit");
            read_limit(reader);
        } else if (cfn_json_key_is(j, "name") && cfn_json_peek(j) == '"') {
            once(reader, &named, "name");
            const char *name = cfn_json_string(j, &size);
            size = size < sizeof reader->problem->name ? size : sizeof reader->problem->name - 1;
            memcpy(reader->problem->name, name, size);
            reader->problem->name[size] = 0;
        } else if (!read_node_lists(reader)) {
            cfn_json_skip(j);
        }
    }
}

/* the place to name in a refusal: /<list> */
static void point_at(struct reader *reader, const char *list)
{
    reader->j.path[0] = (struct cfn_json_step){.key = list, .size = strlen(list)};
    reader->j.depth = 1;
}

static void check_nodes(struct reader *reader)
{
    uint64_t values = 0;
    size_t n = reader->nodes.count;
    if (!reader->intervals_read || !reader->costs_read || !reader->usages_read)
        cfn_json_reject(&reader->j, ERROR_INVALID_REQUEST, NULL, "the problem has no list of %s",
                        !reader->intervals_read ? "intervals"
                        : !reader->costs_read   ? "costs"
                                                : "usages");
    if (reader->cost_counts.count != n || reader->usage_counts.count != n) {
        point_at(reader, reader->cost_counts.count != n ? "costs" : "usages");
        cfn_json_reject(&reader->j, ERROR_INVALID_REQUEST, NULL,
                        "%zu intervals, %zu lists of costs, %zu of usages", n, reader->cost_counts.count,
                        reader->usage_counts.count);
    }
    if (n >= INT32_MAX)
        cfn_json_reject(&reader->j, ERROR_INVALID_REQUEST, NULL, "too many nodes");
    for (size_t i = 0; i < n && !cfn_json_failed(&reader->j); i++) {
        if (reader->cost_counts.at[i] != reader->usage_counts.at[i] ||
            reader->cost_counts.at[i] > MOST_VALUES) {
            point_at(reader, reader->cost_counts.at[i] > MOST_VALUES ? "costs" : "usages");
            reader->j.path[reader->j.depth++] = (struct cfn_json_step){.index = i};
            cfn_json_reject(&reader->j, ERROR_INVALID_REQUEST, NULL,
                            "node %zu has %u costs and %u usages (both lists need "
                            "the same length, at most %u)",
                            i, reader->cost_counts.at[i], reader->usage_counts.at[i], MOST_VALUES);
        }
        reader->nodes.at[i].domain = (int32_t)reader->cost_counts.at[i];
        reader->nodes.at[i].first_value = values;
        values += reader->cost_counts.at[i];
    }
}

static void check_edges(struct reader *reader)
{
    if (reader->edges.count != reader->edge_matrices.count || reader->edges.count >= UINT32_MAX) {
        point_at(reader, "edges");
        reader->j.path[reader->j.depth++] = (struct cfn_json_step){.key = "costs", .size = 5};
        cfn_json_reject(&reader->j, ERROR_INVALID_REQUEST, NULL, "%zu edges with %zu lists of costs",
                        reader->edges.count, reader->edge_matrices.count);
    }
    for (size_t i = 0; i < reader->edges.count && !cfn_json_failed(&reader->j); i++) {
        struct cfn_edge *edge = &reader->edges.at[i];
        reader->j.depth = 3; /* the place to name: /edges/costs/i */
        reader->j.path[0] = (struct cfn_json_step){.key = "edges", .size = 5};
        reader->j.path[1] = (struct cfn_json_step){.key = "nodes", .size = 5};
        reader->j.path[2] = (struct cfn_json_step){.index = i};
        const char *at = reader->j.start + reader->matrix_offsets.at[i];
        if ((size_t)edge->first >= reader->nodes.count ||
            (edge->second >= 0 && (size_t)edge->second >= reader->nodes.count)) {
            cfn_json_reject(&reader->j, ERROR_INVALID_REQUEST, at,
                            "edge %zu joins a node that does not exist", i);
            return;
        }
        uint64_t want = (uint64_t)reader->nodes.at[edge->first].domain;
        edge->matrix = reader->edge_matrices.at[i];
        if (edge->second != CFN_NO_NODE)
            want *= (uint64_t)reader->nodes.at[edge->second].domain;
        reader->j.path[1].key = "costs";
        if (reader->matrices.at[edge->matrix].count != want)
            cfn_json_reject(
                &reader->j, ERROR_INVALID_REQUEST, at, "edge %zu has %llu costs where its nodes need %llu", i,
                (unsigned long long)reader->matrices.at[edge->matrix].count, (unsigned long long)want);
    }
}

enum error_code cfn_problem_read(const char *text, size_t size, struct cfn_problem *out, struct error *e)
{
    *out = (struct cfn_problem){.limit = INT64_MAX};
    struct reader reader = {.j = {.start = text, .at = text, .end = text + size, .e = e}, .problem = out};
    reader.arena = arena_create();
    read_problem(&reader, true);
    if (!cfn_json_failed(&reader.j) && cfn_json_peek(&reader.j))
        cfn_json_reject(&reader.j, ERROR_INVALID_JSON, NULL, "text after the problem");
    check_nodes(&reader);
    check_edges(&reader);
    out->node_count = (uint32_t)reader.nodes.count;
    out->edge_count = (uint32_t)reader.edges.count;
    out->matrix_count = (uint32_t)reader.matrices.count;
    out->value_count = reader.costs.count;
    out->entry_count = reader.entries.count;
    out->nodes = reader.nodes.at;
    out->costs = reader.costs.at;
    out->usages = reader.usages.at;
    out->edges = reader.edges.at;
    out->matrices = reader.matrices.at;
    out->entries = reader.entries.at;
    if (!out->has_limit)
        out->limit = INT64_MAX;
    VEC_FREE(&reader.cost_counts);
    VEC_FREE(&reader.usage_counts);
    VEC_FREE(&reader.matrix_offsets);
    VEC_FREE(&reader.edge_matrices);
    free(reader.buckets);
    arena_destroy(reader.arena);
    return reader.j.code;
}

void cfn_problem_release(struct cfn_problem *problem)
{
    free(problem->nodes);
    free(problem->costs);
    free(problem->usages);
    free(problem->edges);
    free(problem->matrices);
    free(problem->entries);
    *problem = (struct cfn_problem){0};
}

/* a plain regular file of at least two bytes; NULL when it must be read otherwise */
static char *map_file(const char *path, size_t *size)
{
    struct stat st;
    unsigned char magic[2];
    char *text = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 2 && (size_t)st.st_size <= max_bytes &&
        pread(fd, magic, 2, 0) == 2 && !(magic[0] == 0x1f && magic[1] == 0x8b)) {
        text = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
        text = text == MAP_FAILED ? NULL : text;
        *size = (size_t)st.st_size;
    }
    close(fd);
    return text;
}

enum error_code cfn_problem_open(const char *path, struct cfn_problem *out, struct error *e)
{
    size_t size = 0;
    char *text = strcmp(path, "-") ? map_file(path, &size) : NULL;
    *out = (struct cfn_problem){0};
    if (text) {
        enum error_code code = cfn_problem_read(text, size, out, e);
        munmap(text, size);
        return code;
    }
    enum error_code code = file_read(path, max_bytes, &text, &size, e);
    if (code == ERROR_OK) {
        code = cfn_problem_read(text, size, out, e);
        free(text);
    }
    return code;
}
