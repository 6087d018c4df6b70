/* Which clusters there are, and the model that they relax. Pairs of nodes with a common neighbour decide:
 *
 *   joined pair    a triangle with each common neighbour
 *   other pair     with two common neighbours or more: a chord, unless the chord the other way is there
 *
 * The cheapest first, by the values of all three, so that a limit on the work of a sweep keeps most of them.
 * A square gets its cheaper chord. */
#include "cfn/clusters.h"

#include "cfn/kernel.h"

#include <stdlib.h>

enum { MOST_DEGREE = 24 }; /* pairs of neighbours of a node beyond it are not looked at: hubs have too many */
/* Conflicts: of a pair's table, at least; entries of all, of the model's tables, at most: they make every
 * pass dearer. */
static const double least_share = 0.08, most_tables = 0.5;
static const double most_entries = 1 << 21; /* that all clusters move: 16 MiB of a session's bytes a worker */

struct pair { /* nodes one < other with a common neighbour */
    int32_t one, other, common;
};

struct candidate {         /* pairs[from .. to) are of the same two nodes */
    double cells, entries; /* of its clusters: that a sweep touches, that they move */
    size_t from, to;
    bool joined, linked; /* by a link of the model; by one of conflicts */
};

struct choice {
    const struct cfn_model *model;
    int32_t *chord_of; /* by lower node, the last chord; -1 */
    VEC(struct pair) pairs;
    VEC(struct candidate) candidates;
    VEC(struct cfn_relaxed_link) links;
    VEC(int32_t) next_chord; /* by link, of the same lower node; -1 */
    VEC(struct cfn_cluster) clusters;
};

static int pair_order(const void *left, const void *right)
{
    const struct pair *x = left, *y = right;
    return x->one != y->one       ? x->one - y->one
           : x->other != y->other ? x->other - y->other
                                  : x->common - y->common;
}

static int candidate_order(const void *left, const void *right)
{
    const struct candidate *x = left, *y = right;
    return x->cells != y->cells ? (x->cells < y->cells ? -1 : 1) : x->from < y->from ? -1 : x->from > y->from;
}

static void collect_pairs(struct choice *choice)
{
    const struct cfn_model *model = choice->model;
    for (int32_t i = 0; i < model->node_count; i++) {
        uint32_t from = model->first_arc[i], to = model->first_arc[i + 1];
        for (uint32_t k = from; k < to && to - from <= MOST_DEGREE; k++)
            for (uint32_t j = k + 1; j < to; j++)
                VEC_PUSH(&choice->pairs, ((struct pair){model->arcs[k].other, model->arcs[j].other, i}));
    }
    if (choice->pairs.count)
        qsort(choice->pairs.at, choice->pairs.count, sizeof *choice->pairs.at, pair_order);
}

static const struct cfn_arc *arc_between(const struct cfn_model *model, int32_t one, int32_t other)
{
    for (uint32_t k = model->first_arc[one]; k < model->first_arc[one + 1]; k++)
        if (model->arcs[k].other == other)
            return &model->arcs[k];
    return NULL;
}

static double cells_of(const struct cfn_model *model, const struct pair *pair)
{
    return (double)CFN_CLUSTER_LINKS * model->size[pair->one] * model->size[pair->other] *
           model->size[pair->common];
}

/* at most: tables have rows of either end */
static double entries_of(const struct cfn_model *model, const struct pair *pair)
{
    double one = model->width[pair->one], other = model->width[pair->other],
           common = model->width[pair->common];
    return one * other + other * common + one * common;
}

/* ---- chords ---- */

/* the chord's number among links; -1: none */
static int32_t chord_between(const struct choice *choice, int32_t one, int32_t other)
{
    int32_t low = one < other ? one : other, high = one < other ? other : one, k = choice->chord_of[low];
    while (k >= 0 && choice->links.at[k].second != high)
        k = choice->next_chord.at[k];
    return k;
}

static void add_chord(struct choice *choice, int32_t one, int32_t other)
{
    VEC_PUSH(&choice->next_chord, choice->chord_of[one]);
    choice->chord_of[one] = (int32_t)choice->links.count;
    VEC_PUSH(&choice->links, ((struct cfn_relaxed_link){.first = one, .second = other}));
}

/* whether chords that there are make triangles of all cycles of four through the pair */
static bool crossed(const struct choice *choice, const struct candidate *candidate)
{
    const struct pair *pairs = choice->pairs.at;
    for (size_t k = candidate->from + 1; k < candidate->to; k++)
        if (chord_between(choice, pairs[candidate->from].common, pairs[k].common) < 0 &&
            !arc_between(choice->model, pairs[candidate->from].common, pairs[k].common))
            return false;
    return true;
}

static int32_t link_between(const struct choice *choice, int32_t one, int32_t other)
{
    const struct cfn_arc *arc = arc_between(choice->model, one, other);
    return arc ? (int32_t)arc->link : chord_between(choice, one, other);
}

static void collect_candidates(struct choice *choice)
{
    const struct cfn_model *model = choice->model;
    const struct pair *pairs = choice->pairs.at;
    for (size_t from = 0, to; from < choice->pairs.count; from = to) {
        struct candidate candidate = {
            .from = from,
            .joined = arc_between(model, pairs[from].one, pairs[from].other) != NULL,
            .linked = chord_between(choice, pairs[from].one, pairs[from].other) >= 0};
        for (to = from; to < choice->pairs.count && pairs[to].one == pairs[from].one &&
                        pairs[to].other == pairs[from].other;
             to++)
            if (!candidate.joined || pairs[to].common > pairs[to].other) { /* each triangle once */
                candidate.cells += cells_of(model, &pairs[to]);
                candidate.entries += entries_of(model, &pairs[to]);
            }
        candidate.to = to;
        if (candidate.cells > 0 && (candidate.joined || candidate.linked || to - from > 1))
            VEC_PUSH(&choice->candidates, candidate);
    }
    if (choice->candidates.count)
        qsort(choice->candidates.at, choice->candidates.count, sizeof *choice->candidates.at,
              candidate_order);
}

static void order(int32_t *one, int32_t *other)
{
    int32_t low = *one < *other ? *one : *other, high = *one < *other ? *other : *one;
    *one = low;
    *other = high;
}

static void add_cluster(struct choice *choice, const struct pair *pair)
{
    struct cfn_cluster cluster = {.node = {pair->one, pair->other, pair->common}};
    order(&cluster.node[0], &cluster.node[1]);
    order(&cluster.node[1], &cluster.node[2]);
    order(&cluster.node[0], &cluster.node[1]);
    cluster.link[0] = link_between(choice, cluster.node[0], cluster.node[1]);
    cluster.link[1] = link_between(choice, cluster.node[1], cluster.node[2]);
    cluster.link[2] = link_between(choice, cluster.node[0], cluster.node[2]);
    VEC_PUSH(&choice->clusters, cluster);
}

static double choose(struct choice *choice, double most_cells)
{
    double cells = 0, entries = 0;
    for (size_t k = 0; k < choice->candidates.count; k++) {
        const struct candidate *candidate = &choice->candidates.at[k];
        const struct pair *pairs = choice->pairs.at;
        if (cells + candidate->cells > most_cells || entries + candidate->entries > most_entries)
            break;
        bool chord = !candidate->joined && !candidate->linked;
        if (chord && crossed(choice, candidate))
            continue;
        if (chord)
            add_chord(choice, pairs[candidate->from].one, pairs[candidate->from].other);
        cells += candidate->cells;
        entries += candidate->entries;
        for (size_t i = candidate->from; i < candidate->to; i++)
            if (!candidate->joined || pairs[i].common > pairs[i].other)
                add_cluster(choice, &pairs[i]);
    }
    return cells;
}

static void list_links(struct choice *choice)
{
    const struct cfn_model *model = choice->model;
    for (int32_t k = 0; k < model->link_count; k++) {
        VEC_PUSH(&choice->links, ((struct cfn_relaxed_link){0}));
        VEC_PUSH(&choice->next_chord, -1);
    }
    for (int32_t i = 0; i < model->node_count; i++)
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++)
            if (model->arcs[k].other > i)
                choice->links.at[model->arcs[k].link] = (struct cfn_relaxed_link){
                    .first = i, .second = model->arcs[k].other, .arc = &model->arcs[k]};
}

/* links with conflicts, and further ones where there is none: at most as many as the model has */
static void add_conflicts(struct choice *choice, const struct cfn_conflicts *conflicts)
{
    for (int32_t k = 0; k < conflicts->count && k < choice->model->link_count; k++) {
        const struct cfn_conflict *conflict = &conflicts->at[k];
        int32_t link = link_between(choice, conflict->one, conflict->other);
        if (link < 0) {
            link = (int32_t)choice->links.count;
            add_chord(choice, conflict->one, conflict->other);
        }
        choice->links.at[link].never = conflicts->never + conflict->never;
    }
}

/* What no assignment costs more than, as far as that fits beside what clusters move. */
static int64_t greatest_cost(const struct cfn_model *model)
{
    int64_t sum = 1;
    for (int32_t i = 0; i < model->node_count; i++) {
        int64_t most = 0;
        for (int32_t a = 0; a < model->size[i]; a++) {
            int64_t cost = model->unary[model->offset[i] + (size_t)a];
            most = cfn_infinite(cost) || llabs(cost) < most ? most : llabs(cost);
        }
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1] && sum < CFN_MOST_MOVED; k++) {
            const struct cfn_arc *arc = &model->arcs[k];
            int64_t entry_most = 0;
            for (int32_t a = 0; a < model->size[i] && arc->other > i; a++)
                for (int32_t b = 0; b < model->size[arc->other]; b++) {
                    int64_t entry = arc->exact[(size_t)a * arc->own + (size_t)b * arc->step];
                    entry_most = cfn_infinite(entry) || llabs(entry) < entry_most ? entry_most : llabs(entry);
                }
            sum += entry_most < CFN_MOST_MOVED ? entry_most : CFN_MOST_MOVED;
        }
        sum += most < CFN_MOST_MOVED ? most : CFN_MOST_MOVED;
        sum = sum < CFN_MOST_MOVED ? sum : CFN_MOST_MOVED;
    }
    return sum;
}

/* ---- the relaxed model ---- */

/* once for each link that needs one; -> its size */
static size_t place_table(struct cfn_clusters *clusters, int32_t number)
{
    const struct cfn_model *model = clusters->model;
    struct cfn_relaxed_link *link = &clusters->links[number];
    size_t size = (size_t)model->size[link->first] * (size_t)model->width[link->second];
    if (link->clustered)
        return size;
    link->clustered = true;
    link->table = clusters->entry_count;
    link->columns = clusters->column_count;
    clusters->entry_count += size;
    clusters->column_count += (size_t)model->size[link->second] * (size_t)model->width[link->first];
    return size;
}

static void place_tables(struct cfn_clusters *clusters, int32_t link_count)
{
    for (int32_t k = 0; k < clusters->count; k++)
        for (int l = 0; l < CFN_CLUSTER_LINKS; l++) {
            clusters->at[k].moved[l] = clusters->moved_count;
            clusters->moved_count += place_table(clusters, clusters->at[k].link[l]);
        }
    for (int32_t k = 0; k < link_count; k++)
        if (clusters->links[k].never)
            (void)place_table(clusters, k);
}

static void add_arc(struct cfn_clusters *clusters, uint32_t *next, int32_t number, bool turned)
{
    const struct cfn_relaxed_link *link = &clusters->links[number];
    struct cfn_model *relaxed = &clusters->relaxed;
    int32_t node = turned ? link->second : link->first, other = turned ? link->first : link->second;
    struct cfn_arc *arc = &relaxed->arcs[next[node]++];
    size_t second_width = (size_t)relaxed->width[link->second];
    const float *rows = relaxed->rows + link->table, *columns = clusters->columns + link->columns;
    if (!link->clustered) {
        const struct cfn_model *model = clusters->model;
        *arc = *link->arc;
        if (turned)
            *arc = *arc_between(model, link->second, link->first);
        arc->link = (uint32_t)number;
    } else {
        *arc = (struct cfn_arc){.other = other,
                                .link = (uint32_t)number,
                                .row_width = relaxed->width[other],
                                .column_width = relaxed->width[node],
                                .rows = turned ? columns : rows,
                                .columns = turned ? rows : columns,
                                .exact = clusters->exact + link->table,
                                .own = turned ? 1 : second_width,
                                .step = turned ? second_width : 1};
    }
    relaxed->table_work += (uint64_t)relaxed->size[node] * (uint64_t)relaxed->width[other] / 2;
    relaxed->forest_work += (uint64_t)relaxed->width[node];
}

static int arc_order(const void *left, const void *right)
{
    return ((const struct cfn_arc *)left)->other - ((const struct cfn_arc *)right)->other;
}

static void make_relaxed(struct cfn_clusters *clusters, int32_t link_count)
{
    const struct cfn_model *model = clusters->model;
    struct cfn_model *relaxed = &clusters->relaxed;
    uint32_t *next = mem_zalloc((size_t)model->node_count + 2, sizeof *next);
    *relaxed = *model;
    relaxed->link_count = link_count;
    relaxed->table_work = relaxed->forest_work = 0;
    relaxed->rows = mem_alloc((clusters->entry_count + 16) * sizeof *relaxed->rows);
    relaxed->first_arc = mem_zalloc((size_t)model->node_count + 2, sizeof *relaxed->first_arc);
    relaxed->arcs = mem_zalloc(2 * (size_t)link_count + 1, sizeof *relaxed->arcs);
    relaxed->message_offset = mem_zalloc((size_t)link_count + 1, sizeof *relaxed->message_offset);
    relaxed->message_count = 0;
    for (int32_t k = 0; k < link_count; k++) {
        const struct cfn_relaxed_link *link = &clusters->links[k];
        int32_t one = model->width[link->first], other = model->width[link->second];
        relaxed->first_arc[link->first + 1]++;
        relaxed->first_arc[link->second + 1]++;
        relaxed->message_offset[k] = relaxed->message_count;
        relaxed->message_count += (size_t)(one > other ? one : other);
    }
    for (int32_t i = 0; i < model->node_count; i++) {
        relaxed->first_arc[i + 1] += relaxed->first_arc[i];
        next[i] = relaxed->first_arc[i];
        relaxed->forest_work += 2 * (uint64_t)model->width[i];
    }
    for (int32_t k = 0; k < link_count; k++) {
        add_arc(clusters, next, k, false);
        add_arc(clusters, next, k, true);
    }
    for (int32_t i = 0; i < model->node_count; i++)
        qsort(relaxed->arcs + relaxed->first_arc[i], relaxed->first_arc[i + 1] - relaxed->first_arc[i],
              sizeof *relaxed->arcs, arc_order);
    free(next);
}

void cfn_clusters_create(const struct cfn_model *model, double most_cells, bool excludes,
                         struct cfn_clusters *clusters)
{
    struct choice choice = {.model = model,
                            .chord_of = mem_alloc(((size_t)model->node_count + 1) * sizeof(int32_t))};
    memset(choice.chord_of, 0xff, ((size_t)model->node_count + 1) * sizeof(int32_t));
    list_links(&choice);
    *clusters = (struct cfn_clusters){.model = model};
    if (excludes)
        cfn_conflicts_create(model, least_share, most_tables * (double)model->table_work,
                             &clusters->conflicts);
    clusters->penalty = greatest_cost(model);
    add_conflicts(&choice, &clusters->conflicts);
    collect_pairs(&choice);
    collect_candidates(&choice);
    clusters->cells = (uint64_t)choose(&choice, most_cells);
    clusters->count = (int32_t)choice.clusters.count;
    clusters->at = choice.clusters.at;
    clusters->links = choice.links.at;
    place_tables(clusters, (int32_t)choice.links.count);
    clusters->moved = mem_zalloc(clusters->moved_count + 1, sizeof *clusters->moved);
    clusters->exact = mem_zalloc(clusters->entry_count + 1, sizeof *clusters->exact);
    clusters->columns = mem_alloc((clusters->column_count + 16) * sizeof *clusters->columns);
    make_relaxed(clusters, (int32_t)choice.links.count);
    cfn_clusters_load(clusters);
    VEC_FREE(&choice.pairs);
    VEC_FREE(&choice.candidates);
    VEC_FREE(&choice.next_chord);
    free(choice.chord_of);
}

void cfn_clusters_release(struct cfn_clusters *clusters)
{
    cfn_conflicts_release(&clusters->conflicts);
    free(clusters->at);
    free(clusters->links);
    free(clusters->moved);
    free(clusters->exact);
    free(clusters->columns);
    free(clusters->relaxed.rows);
    free(clusters->relaxed.first_arc);
    free(clusters->relaxed.arcs);
    free(clusters->relaxed.message_offset);
    *clusters = (struct cfn_clusters){0};
}

/* ---- tables ---- */

static void load_link(struct cfn_clusters *clusters, const struct cfn_relaxed_link *link)
{
    struct cfn_model *relaxed = &clusters->relaxed;
    int32_t width = relaxed->width[link->second], column_width = relaxed->width[link->first];
    float *columns = clusters->columns + link->columns;
    for (int32_t k = 0; k < relaxed->size[link->second] * column_width; k++)
        columns[k] = CFN_HUGE;
    for (int32_t a = 0; a < relaxed->size[link->first]; a++)
        for (int32_t b = 0; b < width; b++) {
            size_t at = link->table + (size_t)a * (size_t)width + (size_t)b;
            float entry = b < relaxed->size[link->second] ? cfn_round_down(clusters->exact[at]) : CFN_HUGE;
            relaxed->rows[at] = entry;
            if (b < relaxed->size[link->second])
                columns[(size_t)b * (size_t)column_width + (size_t)a] = entry;
        }
}

/* the model's table of a clustered link; zeros for a chord; with the penalty where there is a conflict */
static void start_link(struct cfn_clusters *clusters, const struct cfn_relaxed_link *link)
{
    const struct cfn_model *model = clusters->model;
    int32_t width = model->width[link->second];
    for (int32_t a = 0; a < model->size[link->first]; a++)
        for (int32_t b = 0; b < model->size[link->second]; b++)
            clusters->exact[link->table + (size_t)a * (size_t)width + (size_t)b] = cfn_add(
                link->arc ? link->arc->exact[(size_t)a * link->arc->own + (size_t)b * link->arc->step] : 0,
                link->never && link->never[(size_t)a * (size_t)model->size[link->second] + (size_t)b]
                    ? clusters->penalty
                    : 0);
}

void cfn_clusters_load(struct cfn_clusters *clusters)
{
    for (int32_t k = 0; k < clusters->relaxed.link_count; k++)
        if (clusters->links[k].clustered)
            start_link(clusters, &clusters->links[k]);
    for (int32_t k = 0; k < clusters->count; k++)
        for (int l = 0; l < CFN_CLUSTER_LINKS; l++) {
            const struct cfn_relaxed_link *link = &clusters->links[clusters->at[k].link[l]];
            size_t size =
                (size_t)clusters->model->size[link->first] * (size_t)clusters->model->width[link->second];
            const int64_t *moved = clusters->moved + clusters->at[k].moved[l];
            for (size_t i = 0; i < size; i++)
                if (!cfn_infinite(clusters->exact[link->table + i]))
                    clusters->exact[link->table + i] += moved[i];
        }
    for (int32_t k = 0; k < clusters->relaxed.link_count; k++)
        if (clusters->links[k].clustered)
            load_link(clusters, &clusters->links[k]);
}

static bool cluster_valid(const struct cfn_clusters *clusters, const struct cfn_cluster *at)
{
    const struct cfn_model *model = clusters->model;
    size_t width = (size_t)model->width[at->node[1]], last_width = (size_t)model->width[at->node[2]];
    const int64_t *first = clusters->moved + at->moved[0], *second = clusters->moved + at->moved[1],
                  *last = clusters->moved + at->moved[2];
    for (size_t a = 0; a < (size_t)model->size[at->node[0]]; a++)
        for (size_t b = 0; b < (size_t)model->size[at->node[1]]; b++)
            for (size_t c = 0; c < (size_t)model->size[at->node[2]]; c++)
                if (first[a * width + b] + second[b * last_width + c] + last[a * last_width + c] > 0)
                    return false;
    return true;
}

bool cfn_clusters_valid(const struct cfn_clusters *clusters)
{
    for (size_t k = 0; k < clusters->moved_count; k++)
        if (clusters->moved[k] < -2 * CFN_MOST_MOVED || clusters->moved[k] > 2 * CFN_MOST_MOVED)
            return false;
    for (int32_t k = 0; k < clusters->count; k++)
        if (!cluster_valid(clusters, &clusters->at[k]))
            return false;
    return true;
}
