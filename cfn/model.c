/* From the network to the arrays that the search reads, and points over them. Tables are laid out once
 * however many links share them, in both directions, padded to whole vectors with CFN_HUGE, so that inner
 * loops need no remainder and never turn a table. Floats are rounded down: what they bound from below stays
 * a lower bound. Points are priced in exact int64 from the same entries. Nothing here changes the network. */
#include "cfn/model.h"

#include "cfn/kernel.h"

#include <stdlib.h>

/* the greatest float not above c */
static float round_down(int64_t c)
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
        struct cfn_table *t = n->links.at[i].table;
        if (!t || t->mark != UINT32_MAX)
            continue;
        t->mark = count;
        (*out)[count].rows = used;
        used += (size_t)t->rows * (size_t)cfn_padded(t->cols);
        (*out)[count++].columns = used;
        used += (size_t)t->cols * (size_t)cfn_padded(t->rows);
    }
    return used;
}

static void fill_table(const struct cfn_table *t, float *rows, float *columns)
{
    int32_t row_width = cfn_padded(t->cols), column_width = cfn_padded(t->rows);
    for (int32_t a = 0; a < t->rows; a++)
        for (int32_t b = 0; b < t->cols; b++) {
            float c = round_down(t->entry[(size_t)a * (size_t)t->cols + (size_t)b]);
            rows[(size_t)a * (size_t)row_width + (size_t)b] = c;
            columns[(size_t)b * (size_t)column_width + (size_t)a] = c;
        }
}

static void number_nodes(struct cfn_model *m, int32_t *dense)
{
    const struct cfn_network *n = m->network;
    uint32_t total = n->problem->node_count, arcs = 0, items = 0;
    m->node = mem_zalloc(total + 1, sizeof *m->node);
    m->size = mem_zalloc(total + 1, sizeof *m->size);
    m->width = mem_zalloc(total + 1, sizeof *m->width);
    m->offset = mem_zalloc(total + 1, sizeof *m->offset);
    m->first_arc = mem_zalloc(total + 2, sizeof *m->first_arc);
    m->first_item = mem_zalloc(total + 2, sizeof *m->first_item);
    for (uint32_t i = 0; i < total; i++) {
        const struct cfn_super *s = &n->nodes[i];
        int32_t k = m->node_count;
        dense[i] = k;
        if (!s->size)
            continue;
        m->node[k] = (int32_t)i;
        m->size[k] = s->size;
        m->width[k] = cfn_padded(s->size);
        m->offset[k] = m->value_count;
        m->value_count += (size_t)m->width[k];
        m->largest = m->width[k] > m->largest ? m->width[k] : m->largest;
        arcs += (uint32_t)s->links.count;
        items += (uint32_t)s->items.count;
        m->node_count++;
        m->first_arc[m->node_count] = arcs;
        m->first_item[m->node_count] = items;
    }
    m->link_count = (int32_t)(arcs / 2);
    m->arcs = mem_zalloc((size_t)arcs + 1, sizeof *m->arcs);
    m->items = mem_zalloc((size_t)items + 1, sizeof *m->items);
}

static int arc_order(const void *a, const void *b)
{
    return ((const struct cfn_arc *)a)->other - ((const struct cfn_arc *)b)->other;
}

static void fill_node(struct cfn_model *m, int32_t k, const struct layout *layout, const int32_t *dense,
                      const uint32_t *link_number)
{
    const struct cfn_network *n = m->network;
    const struct cfn_super *s = &n->nodes[m->node[k]];
    for (int32_t a = 0; a < m->width[k]; a++)
        m->unary[m->offset[k] + (size_t)a] = a < s->size ? s->unary[a] : CFN_INFINITE;
    for (size_t i = 0; i < s->items.count; i++)
        m->items[m->first_item[k] + i] =
            (struct cfn_model_item){s->items.at[i].left, s->items.at[i].right, s->items.at[i].use};
    for (size_t i = 0; i < s->links.count; i++) {
        struct cfn_view v = cfn_network_view(n, m->node[k], s->links.at[i]);
        const struct layout *at = &layout[v.table->mark];
        m->arcs[m->first_arc[k] + i] = (struct cfn_arc){
            .other = dense[v.other],
            .link = link_number[s->links.at[i]],
            .row_width = cfn_padded(v.size),
            .column_width = m->width[k],
            .rows = m->rows + (v.turned ? at->columns : at->rows),
            .columns = m->rows + (v.turned ? at->rows : at->columns),
            .exact = v.at,
            .own = v.own,
            .step = v.step,
        };
        m->table_work += (uint64_t)m->size[k] * (uint64_t)cfn_padded(v.size) / 2;
    }
    m->forest_work += (uint64_t)m->width[k] * (s->links.count + 2);
    qsort(m->arcs + m->first_arc[k], s->links.count, sizeof *m->arcs, arc_order);
}

void cfn_model_create(const struct cfn_network *n, struct cfn_model *m)
{
    struct layout *layout;
    size_t total = place_tables(n, &layout), next_message = 0;
    int32_t *dense = mem_zalloc((size_t)n->problem->node_count + 1, sizeof *dense);
    uint32_t *link_number = mem_zalloc(n->links.count + 1, sizeof *link_number), link = 0;
    *m = (struct cfn_model){.network = n,
                            .time_count = n->time_count,
                            .limit = n->limit,
                            .base = n->base,
                            .constant = n->constant,
                            .largest = 8};
    m->rows = mem_alloc((total + 16) * sizeof *m->rows);
    for (size_t i = 0; i < total; i++)
        m->rows[i] = CFN_HUGE;
    number_nodes(m, dense);
    m->unary = mem_alloc((m->value_count + 1) * sizeof *m->unary);
    m->message_offset = mem_zalloc((size_t)m->link_count + 1, sizeof *m->message_offset);
    for (size_t i = 0; i < n->links.count; i++) {
        const struct cfn_table *t = n->links.at[i].table;
        if (!t)
            continue;
        fill_table(t, m->rows + layout[t->mark].rows, m->rows + layout[t->mark].columns);
        link_number[i] = link;
        m->message_offset[link++] = next_message;
        next_message += (size_t)cfn_padded(t->rows > t->cols ? t->rows : t->cols);
    }
    m->message_count = next_message;
    for (int32_t k = 0; k < m->node_count; k++)
        fill_node(m, k, layout, dense, link_number);
    free(layout);
    free(dense);
    free(link_number);
}

void cfn_model_release(struct cfn_model *m)
{
    free(m->node);
    free(m->size);
    free(m->width);
    free(m->offset);
    free(m->unary);
    free(m->first_arc);
    free(m->first_item);
    free(m->arcs);
    free(m->items);
    free(m->message_offset);
    free(m->rows);
    *m = (struct cfn_model){0};
}

void cfn_point_create(const struct cfn_model *m, struct cfn_point *p)
{
    *p = (struct cfn_point){.value = mem_zalloc((size_t)m->node_count + 1, sizeof *p->value)};
}

void cfn_point_release(struct cfn_point *p)
{
    free(p->value);
    p->value = NULL;
}

void cfn_point_copy(const struct cfn_model *m, struct cfn_point *to, const struct cfn_point *from)
{
    int32_t *value = to->value;
    memcpy(value, from->value, (size_t)m->node_count * sizeof *value);
    *to = *from;
    to->value = value;
}

void cfn_point_evaluate(const struct cfn_model *m, struct cfn_point *p, int64_t *profile)
{
    p->cost = m->constant;
    p->forbidden = 0;
    p->worst = INT64_MIN;
    memset(profile, 0, ((size_t)m->time_count + 1) * sizeof *profile);
    for (int32_t i = 0; i < m->node_count; i++) {
        int32_t a = p->value[i];
        int64_t c = m->unary[m->offset[i] + (size_t)a];
        p->forbidden += cfn_infinite(c);
        p->cost += cfn_infinite(c) ? 0 : c;
        for (uint32_t k = m->first_arc[i]; k < m->first_arc[i + 1] && m->arcs[k].other < i; k++) {
            c = m->arcs[k]
                    .exact[(size_t)a * m->arcs[k].own + (size_t)p->value[m->arcs[k].other] * m->arcs[k].step];
            p->forbidden += cfn_infinite(c);
            p->cost += cfn_infinite(c) ? 0 : c;
        }
        for (uint32_t k = m->first_item[i]; k < m->first_item[i + 1]; k++) {
            profile[m->items[k].left] += m->items[k].use[a];
            profile[m->items[k].right] -= m->items[k].use[a];
        }
    }
    int64_t sum = 0;
    for (int32_t t = 0; t < m->time_count; t++) {
        sum += profile[t];
        profile[t] = m->base[t] + sum;
        p->worst = profile[t] - m->limit > p->worst ? profile[t] - m->limit : p->worst;
    }
}

int64_t cfn_point_flip_cost(const struct cfn_model *m, const struct cfn_point *p, int32_t i, int32_t a,
                            int32_t *forbidden)
{
    int32_t old = p->value[i];
    int64_t before = m->unary[m->offset[i] + (size_t)old], after = m->unary[m->offset[i] + (size_t)a];
    int64_t change = (cfn_infinite(after) ? 0 : after) - (cfn_infinite(before) ? 0 : before);
    *forbidden = cfn_infinite(after) - cfn_infinite(before);
    for (uint32_t k = m->first_arc[i]; k < m->first_arc[i + 1]; k++) {
        const struct cfn_arc *arc = &m->arcs[k];
        size_t b = (size_t)p->value[arc->other] * arc->step;
        before = arc->exact[(size_t)old * arc->own + b];
        after = arc->exact[(size_t)a * arc->own + b];
        change += (cfn_infinite(after) ? 0 : after) - (cfn_infinite(before) ? 0 : before);
        *forbidden += cfn_infinite(after) - cfn_infinite(before);
    }
    return change;
}

void cfn_point_expand(const struct cfn_model *m, const struct cfn_point *p, int32_t *values)
{
    for (uint32_t i = 0; i < m->network->problem->node_count; i++)
        values[i] = 0;
    for (int32_t k = 0; k < m->node_count; k++)
        values[m->node[k]] = p->value[k];
    cfn_undo_apply(&m->network->undo, values);
}
