/* From the network to the arrays that the search reads, and points over them. Tables are laid out once
 * however many links share them, in both directions, padded to whole vectors with CFN_HUGE, so that inner
 * loops need no remainder and never turn a table. Floats are rounded down: what they bound from below stays
 * a lower bound. Points are priced in exact int64 from the same entries. Nothing here changes the network. */
#include "cfn/model.h"

#include "cfn/kernel.h"

#include <stdlib.h>

float cfn_round_down(int64_t c)
{
    if (cfn_infinite(c))
        return CFN_HUGE;
    float f = (float)c;
    if ((double)f > (double)c || ((double)f == (double)c && (int64_t)(double)f > c)) {
        union {
            float f;
            uint32_t bits;
        } u = {.f = f};
        u.bits += f > 0 ? (uint32_t)-1 : 1;
        f = u.f;
    }
    return f;
}

struct layout {
    size_t rows, columns; /* offsets of the two orientations */
};

static size_t place_tables(const struct cfn_network *n, struct layout **out)
{
    uint32_t count = 0;
    size_t used = 0;
    for (size_t i = 0; i < n->links.count; i++)
        if (n->links.at[i].table)
            n->links.at[i].table->mark = UINT32_MAX;
    *out = mem_zalloc(n->tables.count + 1, sizeof **out);
    for (size_t i = 0; i < n->links.count; i++) {
        struct cfn_table *table = n->links.at[i].table;
        if (!table || table->mark != UINT32_MAX)
            continue;
        table->mark = count;
        (*out)[count].rows = used;
        used += (size_t)table->rows * (size_t)cfn_padded(table->cols);
        (*out)[count++].columns = used;
        used += (size_t)table->cols * (size_t)cfn_padded(table->rows);
    }
    return used;
}

static void fill_table(const struct cfn_table *table, float *rows, float *columns)
{
    int32_t row_width = cfn_padded(table->cols), column_width = cfn_padded(table->rows);
    for (int32_t a = 0; a < table->rows; a++)
        for (int32_t b = 0; b < table->cols; b++) {
            float c = cfn_round_down(table->entry[(size_t)a * (size_t)table->cols + (size_t)b]);
            rows[(size_t)a * (size_t)row_width + (size_t)b] = c;
            columns[(size_t)b * (size_t)column_width + (size_t)a] = c;
        }
}

static void number_nodes(struct cfn_model *model, int32_t *dense)
{
    const struct cfn_network *n = model->network;
    uint32_t total = n->problem->node_count, arcs = 0, items = 0;
    model->node = mem_zalloc(total + 1, sizeof *model->node);
    model->size = mem_zalloc(total + 1, sizeof *model->size);
    model->width = mem_zalloc(total + 1, sizeof *model->width);
    model->offset = mem_zalloc(total + 1, sizeof *model->offset);
    model->first_arc = mem_zalloc(total + 2, sizeof *model->first_arc);
    model->first_item = mem_zalloc(total + 2, sizeof *model->first_item);
    for (uint32_t i = 0; i < total; i++) {
        const struct cfn_super *super = &n->nodes[i];
        int32_t k = model->node_count;
        dense[i] = k;
        if (!super->size)
            continue;
        model->node[k] = (int32_t)i;
        model->size[k] = super->size;
        model->width[k] = cfn_padded(super->size);
        model->offset[k] = model->value_count;
        model->value_count += (size_t)model->width[k];
        model->largest = model->width[k] > model->largest ? model->width[k] : model->largest;
        arcs += (uint32_t)super->links.count;
        items += (uint32_t)super->items.count;
        model->node_count++;
        model->first_arc[model->node_count] = arcs;
        model->first_item[model->node_count] = items;
    }
    model->link_count = (int32_t)(arcs / 2);
    model->arcs = mem_zalloc((size_t)arcs + 1, sizeof *model->arcs);
    model->items = mem_zalloc((size_t)items + 1, sizeof *model->items);
}

static int arc_order(const void *left, const void *right)
{
    return ((const struct cfn_arc *)left)->other - ((const struct cfn_arc *)right)->other;
}

static void fill_node(struct cfn_model *model, int32_t k, const struct layout *layout, const int32_t *dense,
                      const uint32_t *link_number)
{
    const struct cfn_network *n = model->network;
    const struct cfn_super *super = &n->nodes[model->node[k]];
    for (int32_t a = 0; a < model->width[k]; a++)
        model->unary[model->offset[k] + (size_t)a] = a < super->size ? super->unary[a] : CFN_INFINITE;
    for (size_t i = 0; i < super->items.count; i++)
        model->items[model->first_item[k] + i] = (struct cfn_model_item){
            super->items.at[i].left, super->items.at[i].right, super->items.at[i].use};
    for (size_t i = 0; i < super->links.count; i++) {
        struct cfn_view view = cfn_network_view(n, model->node[k], super->links.at[i]);
        const struct layout *at = &layout[view.table->mark];
        model->arcs[model->first_arc[k] + i] = (struct cfn_arc){
            .other = dense[view.other],
            .link = link_number[super->links.at[i]],
            .row_width = cfn_padded(view.size),
            .column_width = model->width[k],
            .rows = model->rows + (view.turned ? at->columns : at->rows),
            .columns = model->rows + (view.turned ? at->rows : at->columns),
            .exact = view.at,
            .own = view.own,
            .step = view.step,
        };
        model->table_work += (uint64_t)model->size[k] * (uint64_t)cfn_padded(view.size) / 2;
    }
    model->forest_work += (uint64_t)model->width[k] * (super->links.count + 2);
    qsort(model->arcs + model->first_arc[k], super->links.count, sizeof *model->arcs, arc_order);
}

void cfn_model_create(const struct cfn_network *n, struct cfn_model *model)
{
    struct layout *layout;
    size_t total = place_tables(n, &layout), next_message = 0;
    int32_t *dense = mem_zalloc((size_t)n->problem->node_count + 1, sizeof *dense);
    uint32_t *link_number = mem_zalloc(n->links.count + 1, sizeof *link_number), link = 0;
    *model = (struct cfn_model){.network = n,
                                .time_count = n->time_count,
                                .limit = n->limit,
                                .base = n->base,
                                .constant = n->constant,
                                .largest = 8};
    model->rows = mem_alloc((total + 16) * sizeof *model->rows);
    for (size_t i = 0; i < total; i++)
        model->rows[i] = CFN_HUGE;
    number_nodes(model, dense);
    model->unary = mem_alloc((model->value_count + 1) * sizeof *model->unary);
    model->message_offset = mem_zalloc((size_t)model->link_count + 1, sizeof *model->message_offset);
    for (size_t i = 0; i < n->links.count; i++) {
        const struct cfn_table *table = n->links.at[i].table;
        if (!table)
            continue;
        fill_table(table, model->rows + layout[table->mark].rows, model->rows + layout[table->mark].columns);
        link_number[i] = link;
        model->message_offset[link++] = next_message;
        next_message += (size_t)cfn_padded(table->rows > table->cols ? table->rows : table->cols);
    }
    model->message_count = next_message;
    for (int32_t k = 0; k < model->node_count; k++)
        fill_node(model, k, layout, dense, link_number);
    free(layout);
    free(dense);
    free(link_number);
}

void cfn_model_release(struct cfn_model *model)
{
    free(model->node);
    free(model->size);
    free(model->width);
    free(model->offset);
    free(model->unary);
    free(model->first_arc);
    free(model->first_item);
    free(model->arcs);
    free(model->items);
    free(model->message_offset);
    free(model->rows);
    *model = (struct cfn_model){0};
}

void cfn_point_create(const struct cfn_model *model, struct cfn_point *point)
{
    *point = (struct cfn_point){.value = mem_zalloc((size_t)model->node_count + 1, sizeof *point->value)};
}

void cfn_point_release(struct cfn_point *point)
{
    free(point->value);
    point->value = NULL;
}

void cfn_point_copy(const struct cfn_model *model, struct cfn_point *to, const struct cfn_point *from)
{
    int32_t *value = to->value;
    memcpy(value, from->value, (size_t)model->node_count * sizeof *value);
    *to = *from;
    to->value = value;
}

void cfn_point_evaluate(const struct cfn_model *model, struct cfn_point *point, int64_t *profile)
{
    point->cost = model->constant;
    point->forbidden = 0;
    point->worst = INT64_MIN;
    memset(profile, 0, ((size_t)model->time_count + 1) * sizeof *profile);
    for (int32_t i = 0; i < model->node_count; i++) {
        int32_t a = point->value[i];
        int64_t c = model->unary[model->offset[i] + (size_t)a];
        point->forbidden += cfn_infinite(c);
        point->cost += cfn_infinite(c) ? 0 : c;
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1] && model->arcs[k].other < i; k++) {
            c = model->arcs[k].exact[(size_t)a * model->arcs[k].own +
                                     (size_t)point->value[model->arcs[k].other] * model->arcs[k].step];
            point->forbidden += cfn_infinite(c);
            point->cost += cfn_infinite(c) ? 0 : c;
        }
        for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++) {
            profile[model->items[k].left] += model->items[k].use[a];
            profile[model->items[k].right] -= model->items[k].use[a];
        }
    }
    int64_t sum = 0;
    for (int32_t time = 0; time < model->time_count; time++) {
        sum += profile[time];
        profile[time] = model->base[time] + sum;
        point->worst =
            profile[time] - model->limit > point->worst ? profile[time] - model->limit : point->worst;
    }
}

int64_t cfn_point_flip_cost(const struct cfn_model *model, const struct cfn_point *point, int32_t i,
                            int32_t a, int32_t *forbidden)
{
    int32_t old = point->value[i];
    int64_t before = model->unary[model->offset[i] + (size_t)old],
            after = model->unary[model->offset[i] + (size_t)a];
    int64_t change = (cfn_infinite(after) ? 0 : after) - (cfn_infinite(before) ? 0 : before);
    *forbidden = cfn_infinite(after) - cfn_infinite(before);
    for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++) {
        const struct cfn_arc *arc = &model->arcs[k];
        size_t b = (size_t)point->value[arc->other] * arc->step;
        before = arc->exact[(size_t)old * arc->own + b];
        after = arc->exact[(size_t)a * arc->own + b];
        change += (cfn_infinite(after) ? 0 : after) - (cfn_infinite(before) ? 0 : before);
        *forbidden += cfn_infinite(after) - cfn_infinite(before);
    }
    return change;
}

void cfn_point_expand(const struct cfn_model *model, const struct cfn_point *point, int32_t *values)
{
    for (uint32_t i = 0; i < model->network->problem->node_count; i++)
        values[i] = 0;
    for (int32_t k = 0; k < model->node_count; k++)
        values[model->node[k]] = point->value[k];
    cfn_undo_apply(&model->network->undo, values);
}
