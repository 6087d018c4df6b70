/* The narrow model is laid out link by link: where links shared a table, each now has its own, as their
 * nodes keep different values. Both directions of a link are filled in one sweep. Padding is as in model.c:
 * CFN_HUGE in rows, CFN_INFINITE in unary costs. */
#include "cfn/narrow.h"

#include "cfn/kernel.h"

#include <stdlib.h>

static void keep_values(const struct cfn_model *of, const uint8_t *mask, struct cfn_narrow *narrow)
{
    struct cfn_model *model = &narrow->model;
    for (int32_t i = 0; i < of->node_count; i++) {
        model->offset[i] = model->value_count;
        for (int32_t a = 0; a < of->size[i]; a++) {
            if (mask[of->offset[i] + (size_t)a])
                continue;
            size_t at = model->offset[i] + (size_t)model->size[i]++;
            narrow->value[at] = a;
            model->unary[at] = of->unary[of->offset[i] + (size_t)a];
        }
        model->width[i] = cfn_padded(model->size[i]);
        model->value_count += (size_t)model->width[i];
        for (size_t at = model->offset[i] + (size_t)model->size[i]; at < model->value_count; at++)
            model->unary[at] = CFN_INFINITE;
        model->largest = model->width[i] > model->largest ? model->width[i] : model->largest;
    }
}

static void keep_uses(struct cfn_narrow *narrow)
{
    const struct cfn_model *of = narrow->of;
    struct cfn_model *model = &narrow->model;
    size_t count = 0;
    for (int32_t i = 0; i < of->node_count; i++)
        for (uint32_t k = of->first_item[i]; k < of->first_item[i + 1]; k++) {
            int64_t *use = narrow->use + count;
            for (int32_t a = 0; a < model->size[i]; a++)
                use[a] = of->items[k].use[narrow->value[model->offset[i] + (size_t)a]];
            model->items[k] = (struct cfn_model_item){of->items[k].left, of->items[k].right, use};
            count += (size_t)model->size[i];
        }
}

/* where the tables and messages of each link begin; -> entries of all in one direction and the other */
static size_t place_tables(struct cfn_model *model, const struct cfn_model *of, size_t *rows, size_t *columns)
{
    size_t used = 0;
    for (int32_t i = 0; i < of->node_count; i++)
        for (uint32_t k = of->first_arc[i]; k < of->first_arc[i + 1]; k++) {
            int32_t other = of->arcs[k].other;
            uint32_t link = of->arcs[k].link;
            if (other < i)
                continue;
            rows[link] = used;
            used += (size_t)model->size[i] * (size_t)model->width[other];
            columns[link] = used;
            used += (size_t)model->size[other] * (size_t)model->width[i];
            model->message_offset[link] =
                (size_t)(model->width[i] > model->width[other] ? model->width[i] : model->width[other]);
        }
    for (int32_t k = 0; k < of->link_count; k++) {
        size_t width = model->message_offset[k];
        model->message_offset[k] = model->message_count;
        model->message_count += width;
    }
    return used;
}

/* both tables of the link whose arc at its lower node i this is */
static void fill_tables(struct cfn_narrow *narrow, int32_t i, const struct cfn_arc *arc, float *rows,
                        float *columns, int64_t *exact)
{
    const struct cfn_model *model = &narrow->model;
    int32_t other = arc->other, width = model->width[other], column_width = model->width[i];
    const int32_t *first = narrow->value + model->offset[i], *second = narrow->value + model->offset[other];
    for (int32_t k = 0; k < model->size[i] * width; k++)
        rows[k] = CFN_HUGE;
    for (int32_t k = 0; k < model->size[other] * column_width; k++)
        columns[k] = CFN_HUGE;
    for (int32_t a = 0; a < model->size[i]; a++) {
        const float *from = arc->rows + (size_t)first[a] * (size_t)arc->row_width;
        const int64_t *exact_from = arc->exact + (size_t)first[a] * arc->own;
        for (int32_t b = 0; b < model->size[other]; b++) {
            rows[a * width + b] = columns[b * column_width + a] = from[second[b]];
            exact[a * width + b] = exact_from[(size_t)second[b] * arc->step];
        }
    }
}

static void add_arcs(struct cfn_narrow *narrow, int32_t i, const size_t *rows, const size_t *columns)
{
    const struct cfn_model *of = narrow->of;
    struct cfn_model *model = &narrow->model;
    for (uint32_t k = of->first_arc[i]; k < of->first_arc[i + 1]; k++) {
        const struct cfn_arc *from = &of->arcs[k];
        int32_t other = from->other;
        bool turned = other < i;
        float *row = model->rows + rows[from->link], *column = model->rows + columns[from->link];
        int64_t *exact = narrow->exact + rows[from->link];
        size_t width = (size_t)model->width[turned ? i : other];
        if (!turned)
            fill_tables(narrow, i, from, row, column, exact);
        model->arcs[k] = (struct cfn_arc){.other = other,
                                          .link = from->link,
                                          .row_width = model->width[other],
                                          .column_width = model->width[i],
                                          .rows = turned ? column : row,
                                          .columns = turned ? row : column,
                                          .exact = exact,
                                          .own = turned ? 1 : width,
                                          .step = turned ? width : 1};
        model->table_work += (uint64_t)model->size[i] * (uint64_t)model->width[other] / 2;
    }
    model->forest_work += (uint64_t)model->width[i] * (of->first_arc[i + 1] - of->first_arc[i] + 2);
}

static void borrow(const struct cfn_model *of, struct cfn_model *model)
{
    *model = (struct cfn_model){.network = of->network,
                                .node_count = of->node_count,
                                .link_count = of->link_count,
                                .time_count = of->time_count,
                                .largest = cfn_padded(1),
                                .constant = of->constant,
                                .limit = of->limit,
                                .base = of->base,
                                .node = of->node,
                                .first_arc = of->first_arc,
                                .first_item = of->first_item};
}

static size_t uses_of(const struct cfn_narrow *narrow)
{
    size_t count = 0;
    for (int32_t i = 0; i < narrow->of->node_count; i++)
        count += (size_t)narrow->model.size[i] * (narrow->of->first_item[i + 1] - narrow->of->first_item[i]);
    return count;
}

void cfn_narrow_create(const struct cfn_model *of, const uint8_t *mask, struct cfn_narrow *out)
{
    struct cfn_model *model = &out->model;
    size_t nodes = (size_t)of->node_count + 1, links = (size_t)of->link_count + 1;
    size_t *rows = mem_zalloc(links, sizeof *rows), *columns = mem_zalloc(links, sizeof *columns);
    *out = (struct cfn_narrow){.of = of};
    borrow(of, model);
    model->size = mem_zalloc(nodes, sizeof *model->size);
    model->width = mem_zalloc(nodes, sizeof *model->width);
    model->offset = mem_zalloc(nodes, sizeof *model->offset);
    model->unary = mem_alloc((of->value_count + 16) * sizeof *model->unary);
    out->value = mem_zalloc(of->value_count + 16, sizeof *out->value);
    out->first_arc = mem_zalloc(nodes, sizeof *out->first_arc);
    keep_values(of, mask, out);
    model->items = mem_zalloc((size_t)of->first_item[of->node_count] + 1, sizeof *model->items);
    out->use = mem_zalloc(uses_of(out) + 1, sizeof *out->use);
    keep_uses(out);
    model->message_offset = mem_zalloc(links, sizeof *model->message_offset);
    size_t entries = place_tables(model, of, rows, columns);
    model->rows = mem_alloc((entries + 16) * sizeof *model->rows);
    out->exact = mem_alloc((entries + 16) * sizeof *out->exact);
    model->arcs = mem_zalloc(2 * links, sizeof *model->arcs);
    for (int32_t i = 0; i < of->node_count; i++)
        add_arcs(out, i, rows, columns);
    out->work = 3 * model->table_work + of->value_count;
    free(rows);
    free(columns);
}

/* ---- links of nodes with one value ---- */

/* beside the only value of one end the link is a cost of the other's values */
static void fold(struct cfn_model *model, int32_t i, const struct cfn_arc *arc)
{
    bool own = model->size[arc->other] == 1;
    int32_t to = own ? i : arc->other;
    size_t step = own ? arc->own : arc->step;
    int64_t *unary = model->unary + model->offset[to];
    for (int32_t a = 0; a < model->size[to]; a++)
        unary[a] = cfn_add(unary[a], arc->exact[(size_t)a * step]);
}

void cfn_narrow_fold(struct cfn_narrow *narrow)
{
    struct cfn_model *model = &narrow->model;
    const uint32_t *first = narrow->of->first_arc;
    uint32_t kept = 0;
    model->table_work = model->forest_work = 0;
    for (int32_t i = 0; i < model->node_count; i++) {
        narrow->first_arc[i] = kept;
        for (uint32_t k = first[i]; k < first[i + 1]; k++) {
            struct cfn_arc arc = model->arcs[k];
            if (model->size[i] > 1 && model->size[arc.other] > 1) {
                model->table_work += (uint64_t)model->size[i] * (uint64_t)arc.row_width / 2;
                model->arcs[kept++] = arc;
            } else if (arc.other > i) {
                fold(model, i, &arc);
            }
        }
        model->forest_work += (uint64_t)model->width[i] * (kept - narrow->first_arc[i] + 2);
    }
    narrow->first_arc[model->node_count] = kept;
    model->first_arc = narrow->first_arc;
}

void cfn_narrow_release(struct cfn_narrow *narrow)
{
    free(narrow->first_arc);
    free(narrow->model.size);
    free(narrow->model.width);
    free(narrow->model.offset);
    free(narrow->model.unary);
    free(narrow->model.items);
    free(narrow->model.message_offset);
    free(narrow->model.rows);
    free(narrow->model.arcs);
    free(narrow->value);
    free(narrow->use);
    free(narrow->exact);
    *narrow = (struct cfn_narrow){0};
}

void cfn_narrow_messages(const struct cfn_narrow *narrow, const double *whole, double *message)
{
    const struct cfn_model *model = &narrow->model, *of = narrow->of;
    for (int32_t i = 0; i < model->node_count; i++)
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++) {
            uint32_t link = model->arcs[k].link;
            if (model->arcs[k].other < i)
                continue; /* after a backward pass a message is the lower node's */
            for (int32_t a = 0; a < model->size[i]; a++)
                message[model->message_offset[link] + (size_t)a] =
                    whole[of->message_offset[link] + (size_t)narrow->value[model->offset[i] + (size_t)a]];
        }
}

void cfn_narrow_widen(const struct cfn_narrow *narrow, const double *message, double *whole)
{
    const struct cfn_model *model = &narrow->model, *of = narrow->of;
    for (int32_t i = 0; i < model->node_count; i++)
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++) {
            uint32_t link = model->arcs[k].link;
            if (model->arcs[k].other < i)
                continue;
            for (int32_t a = 0; a < model->size[i]; a++)
                whole[of->message_offset[link] + (size_t)narrow->value[model->offset[i] + (size_t)a]] =
                    message[model->message_offset[link] + (size_t)a];
        }
}

/* ---- what clusters moved ---- */

static const struct cfn_arc *arc_of(const struct cfn_model *model, int32_t node, int32_t link)
{
    const struct cfn_arc *arc = model->arcs + model->first_arc[node];
    while (arc->link != (uint32_t)link)
        arc++;
    return arc;
}

/* an entry of the link whose arc at its lower node this is */
static void add_to_entry(struct cfn_narrow *narrow, const struct cfn_arc *arc, int32_t a, int32_t c,
                         int64_t more)
{
    float *rows = narrow->model.rows + (arc->rows - narrow->model.rows),
          *columns = narrow->model.rows + (arc->columns - narrow->model.rows);
    int64_t *entry =
        narrow->exact + (arc->exact - narrow->exact) + (size_t)a * arc->own + (size_t)c * arc->step;
    if (more <= 0 || cfn_infinite(*entry))
        return;
    *entry += more;
    rows[(size_t)a * (size_t)arc->row_width + (size_t)c] = cfn_round_down(*entry);
    columns[(size_t)c * (size_t)arc->column_width + (size_t)a] = cfn_round_down(*entry);
}

static void complete(struct cfn_narrow *narrow, const struct cfn_clusters *clusters,
                     const struct cfn_cluster *at)
{
    const struct cfn_model *model = &narrow->model, *of = narrow->of;
    const int32_t *value[CFN_CLUSTER_LINKS], *size = model->size, *node = at->node;
    for (int k = 0; k < CFN_CLUSTER_LINKS; k++)
        value[k] = narrow->value + model->offset[node[k]];
    size_t width = (size_t)of->width[node[1]], last_width = (size_t)of->width[node[2]];
    const int64_t *first = clusters->moved + at->moved[0], *second = clusters->moved + at->moved[1],
                  *last = clusters->moved + at->moved[2];
    const struct cfn_arc *arc = arc_of(model, node[0], at->link[2]);
    for (int32_t a = 0; a < size[node[0]]; a++)
        for (int32_t c = 0; c < size[node[2]]; c++) {
            size_t row = (size_t)value[0][a], column = (size_t)value[2][c];
            int64_t most = INT64_MIN;
            for (int32_t b = 0; b < size[node[1]]; b++) {
                size_t between = (size_t)value[1][b];
                int64_t sum = first[row * width + between] + second[between * last_width + column];
                most = sum > most ? sum : most;
            }
            add_to_entry(narrow, arc, a, c, -most - last[row * last_width + column]);
        }
    narrow->work += (uint64_t)size[node[0]] * (uint64_t)size[node[1]] * (uint64_t)size[node[2]];
}

void cfn_narrow_complete(struct cfn_narrow *narrow, const struct cfn_clusters *clusters)
{
    for (int32_t k = 0; k < clusters->count; k++) {
        int32_t between = clusters->at[k].node[1];
        if (narrow->model.size[between] < narrow->of->size[between]) /* otherwise it is complete */
            complete(narrow, clusters, &clusters->at[k]);
    }
}
