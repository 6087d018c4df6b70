/* Tables as plain numbers: room, digits of configurations, sums, and the network that they are. */
#include "segments/compose.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* of a block that has no strategy there is one: to be left alone */
static uint32_t radix(const struct segments *segments, uint32_t block)
{
    return segments->blocks[block].strategy_count ? segments->blocks[block].strategy_count : 1;
}

static const struct segments_segment *example_of(const struct segments *segments, uint32_t kind)
{
    return &segments->segments[segments->kinds[kind].example];
}

static size_t pair_size(const struct segments *segments, uint32_t pair)
{
    const struct segments_pair *it = &segments->pairs[pair];
    return (size_t)radix(segments, example_of(segments, it->from_kind)->first + it->from_block) *
           radix(segments, example_of(segments, it->to_kind)->first + it->to_block);
}

void segments_tables_create(const struct segments *segments, struct segments_tables *out)
{
    *out = (struct segments_tables){.segments = segments};
    out->time_ps = mem_zalloc(segments->kind_count + 1, sizeof *out->time_ps);
    out->bytes = mem_zalloc(segments->kind_count + 1, sizeof *out->bytes);
    out->computation_ps = mem_zalloc(segments->kind_count + 1, sizeof *out->computation_ps);
    out->reshard_ps = mem_zalloc(segments->pair_count + 1, sizeof *out->reshard_ps);
    for (uint32_t kind = 0; kind < segments->kind_count; kind++) {
        out->time_ps[kind] = mem_zalloc(segments->kinds[kind].configurations, sizeof **out->time_ps);
        out->bytes[kind] = mem_zalloc(segments->kinds[kind].configurations, sizeof **out->bytes);
        out->computation_ps[kind] =
            mem_zalloc(segments->kinds[kind].configurations, sizeof **out->computation_ps);
    }
    for (uint32_t pair = 0; pair < segments->pair_count; pair++)
        out->reshard_ps[pair] = mem_zalloc(pair_size(segments, pair), sizeof **out->reshard_ps);
}

void segments_tables_release(struct segments_tables *tables)
{
    for (uint32_t kind = 0; tables->segments && kind < tables->segments->kind_count; kind++) {
        free(tables->time_ps[kind]);
        free(tables->bytes[kind]);
        free(tables->computation_ps[kind]);
    }
    for (uint32_t pair = 0; tables->segments && pair < tables->segments->pair_count; pair++)
        free(tables->reshard_ps[pair]);
    free(tables->time_ps);
    free(tables->bytes);
    free(tables->computation_ps);
    free(tables->reshard_ps);
    *tables = (struct segments_tables){0};
}

/* ---- crossing dependences, one for each two blocks ---- */

struct crossing {
    uint32_t from, to; /* segments, from < to */
    uint32_t pair;
};

static uint32_t pair_of(const struct segments *segments, uint32_t from, uint32_t to)
{
    const struct segments_segment *a = &segments->segments[segments->segment_of[from]],
                                  *b = &segments->segments[segments->segment_of[to]];
    for (uint32_t i = 0; i < segments->pair_count; i++) {
        const struct segments_pair *it = &segments->pairs[i];
        if (it->from_kind == a->kind && it->from_block == from - a->first && it->to_kind == b->kind &&
            it->to_block == to - b->first)
            return i;
    }
    return NDA_NONE;
}

static int by_segments(const void *a, const void *b)
{
    const struct crossing *one = a, *other = b;
    if (one->from != other->from)
        return one->from < other->from ? -1 : 1;
    if (one->to != other->to)
        return one->to < other->to ? -1 : 1;
    return one->pair < other->pair ? -1 : one->pair > other->pair;
}

/* sorted, without doubles; owned */
static struct crossing *list_crossings(const struct segments *segments, size_t *count)
{
    VEC(struct crossing) list = {0};
    for (uint32_t i = 0; i < segments->dependence_count; i++) {
        uint32_t from = segments->contractions[segments->dependences[i].from].block;
        uint32_t to = segments->contractions[segments->dependences[i].to].block;
        if (segments->segment_of[from] == segments->segment_of[to])
            continue;
        VEC_PUSH(&list, ((struct crossing){segments->segment_of[from], segments->segment_of[to],
                                           pair_of(segments, from, to)}));
    }
    if (list.count)
        qsort(list.at, list.count, sizeof *list.at, by_segments);
    size_t kept = 0;
    for (size_t i = 0; i < list.count; i++)
        if (!kept || by_segments(&list.at[kept - 1], &list.at[i]) != 0)
            list.at[kept++] = list.at[i];
    *count = kept;
    return list.at;
}

static int64_t reshard(const struct segments_tables *tables, const struct crossing *crossing, uint64_t one,
                       uint64_t other)
{
    const struct segments *segments = tables->segments;
    const struct segments_pair *pair = &segments->pairs[crossing->pair];
    uint32_t later = example_of(segments, pair->to_kind)->first + pair->to_block;
    return tables
        ->reshard_ps[crossing->pair][segments_digit(segments, crossing->from, one, pair->from_block) *
                                         radix(segments, later) +
                                     segments_digit(segments, crossing->to, other, pair->to_block)];
}

int64_t segments_reshards_ps(const struct segments_tables *tables, const uint32_t *configurations)
{
    size_t count;
    struct crossing *crossings = list_crossings(tables->segments, &count);
    int64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += reshard(tables, &crossings[i], configurations[crossings[i].from],
                       configurations[crossings[i].to]);
    free(crossings);
    return sum;
}

int64_t segments_composed_ps(const struct segments_tables *tables, const uint32_t *configurations)
{
    int64_t sum = tables->base_ps + segments_reshards_ps(tables, configurations);
    for (uint32_t i = 0; i < tables->segments->segment_count; i++)
        sum += tables->time_ps[tables->segments->segments[i].kind][configurations[i]];
    return sum;
}

int64_t segments_composed_bytes(const struct segments_tables *tables, const uint32_t *configurations)
{
    int64_t sum = tables->base_bytes;
    for (uint32_t i = 0; i < tables->segments->segment_count; i++)
        sum += tables->bytes[tables->segments->segments[i].kind][configurations[i]];
    return sum;
}

int64_t segments_composed_computation_ps(const struct segments_tables *tables, const uint32_t *configurations)
{
    int64_t sum = 0;
    for (uint32_t i = 0; tables->has_parts && i < tables->segments->segment_count; i++)
        sum += tables->computation_ps[tables->segments->segments[i].kind][configurations[i]];
    return tables->has_parts ? sum : -1;
}

/* ---- the network ---- */

static int64_t least_of(const int64_t *values, uint64_t count)
{
    int64_t least = values[0];
    for (uint64_t i = 1; i < count; i++)
        least = values[i] < least ? values[i] : least;
    return least;
}

static void add_nodes(const struct segments_tables *tables, struct cfn_problem *out, int64_t *shift_ps,
                      int64_t *shift_bytes)
{
    const struct segments *segments = tables->segments;
    for (uint32_t i = 0; i < segments->segment_count; i++)
        out->value_count += segments->kinds[segments->segments[i].kind].configurations;
    out->node_count = segments->segment_count;
    out->nodes = mem_zalloc((size_t)out->node_count + 1, sizeof *out->nodes);
    out->costs = mem_zalloc(out->value_count + 1, sizeof *out->costs);
    out->usages = mem_zalloc(out->value_count + 1, sizeof *out->usages);
    uint64_t first = 0;
    for (uint32_t i = 0; i < segments->segment_count; i++) {
        uint32_t kind = segments->segments[i].kind;
        uint64_t count = segments->kinds[kind].configurations;
        int64_t fastest = least_of(tables->time_ps[kind], count),
                smallest = least_of(tables->bytes[kind], count);
        out->nodes[i] = (struct cfn_node){.upper = 1, .first_value = first, .domain = (int32_t)count};
        for (uint64_t k = 0; k < count; k++) {
            out->costs[first + k] = tables->time_ps[kind][k] - fastest;
            out->usages[first + k] = tables->bytes[kind][k] - smallest;
        }
        *shift_ps += fastest;
        *shift_bytes += smallest;
        first += count;
    }
}

/* one edge of the crossings between two segments; equal ones share a matrix */
static void add_edge(const struct segments_tables *tables, const struct crossing *at, size_t count,
                     struct cfn_problem *out, size_t *matrix_room, size_t *entry_room, int64_t *shift_ps)
{
    const struct segments *segments = tables->segments;
    uint64_t rows = segments->kinds[segments->segments[at->from].kind].configurations;
    uint64_t columns = segments->kinds[segments->segments[at->to].kind].configurations, size = rows * columns;
    int64_t *entries = mem_zalloc(size, sizeof *entries);
    for (uint64_t one = 0; one < rows; one++)
        for (uint64_t other = 0; other < columns; other++)
            for (size_t i = 0; i < count; i++)
                entries[one * columns + other] += reshard(tables, &at[i], one, other);
    int64_t least = least_of(entries, size);
    for (uint64_t i = 0; i < size; i++)
        entries[i] -= least;
    *shift_ps += least;
    uint32_t matrix = 0;
    while (matrix < out->matrix_count &&
           (out->matrices[matrix].count != size ||
            memcmp(out->entries + out->matrices[matrix].start, entries, size * sizeof *entries) != 0))
        matrix++;
    if (matrix == out->matrix_count) {
        MEM_GROW(out->matrices, *matrix_room, (size_t)out->matrix_count + 1);
        MEM_GROW(out->entries, *entry_room, out->entry_count + size);
        memcpy(out->entries + out->entry_count, entries, size * sizeof *entries);
        out->matrices[out->matrix_count++] = (struct cfn_matrix){out->entry_count, size};
        out->entry_count += size;
    }
    out->edges[out->edge_count++] = (struct cfn_edge){(int32_t)at->from, (int32_t)at->to, matrix};
    free(entries);
}

bool segments_problem(const struct segments_tables *tables, int64_t limit_bytes, struct cfn_problem *out,
                      int64_t *shift_ps)
{
    size_t count, matrix_room = 0, entry_room = 0;
    int64_t shift_bytes = tables->base_bytes;
    struct crossing *crossings = list_crossings(tables->segments, &count);
    *out = (struct cfn_problem){.name = "segments", .has_limit = 1};
    *shift_ps = tables->base_ps;
    add_nodes(tables, out, shift_ps, &shift_bytes);
    out->limit = limit_bytes > shift_bytes ? limit_bytes - shift_bytes : 0;
    out->edges = mem_zalloc(count + 1, sizeof *out->edges);
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i;
             end < count && crossings[end].from == crossings[i].from && crossings[end].to == crossings[i].to;)
            end++;
        add_edge(tables, crossings + i, end - i, out, &matrix_room, &entry_room, shift_ps);
    }
    free(crossings);
    return limit_bytes >= shift_bytes;
}
