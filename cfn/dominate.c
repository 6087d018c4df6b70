/* Dominance, or dead-end elimination (R. Goldstein, "Efficient rotamer elimination applied to protein
 * side-chains and related spin glasses", Biophysical Journal 1994): value a of a node goes when some value b
 * is never worse.
 *
 *   unary[b] - unary[a] + SUM over links max over y (table[b][y] - table[a][y]) <= 0
 *   and no item of b uses more than the same item of a
 *
 * Every pair of values is looked at, every row compared entry by entry; that is quadratic in values, so sums
 * of least entries turn most pairs down first. At least one value of each node stays, and an optimum with
 * it: of two equal values one goes. Nodes that would take more than max_work steps are left alone, which
 * loses only time later. */
#include "cfn/dominate.h"

#include <stdlib.h>

static const size_t max_work = (size_t)1
                               /* pairs times rows; most pairs are turned down by their sums alone */
                               << 26;

/* Least entries of every row, by link and value, and each value's unary cost with all of them. That sum is a
 * lower bound on what the value costs, and a difference of two bounds a loss from below: at the neighbour's
 * value where a is cheapest, b costs at least its own least entry. */
struct rows {
    int64_t *least; /* [link * size + value] */
    int64_t *sum;   /* by value */
};

static bool uses_no_more(const struct cfn_super *super, int32_t b, int32_t a)
{
    for (size_t k = 0; k < super->items.count; k++)
        if (super->items.at[k].use[b] > super->items.at[k].use[a])
            return false;
    return true;
}

static int64_t least_of_row(const struct cfn_view *view, int32_t a)
{
    int64_t least = CFN_INFINITE;
    for (int32_t y = 0; y < view->size; y++) {
        int64_t c = view->at[(size_t)a * view->own + (size_t)y * view->step];
        least = c < least ? c : least;
    }
    return least;
}

/* false when a value is infinite, or has a row without support: consistency first */
static bool rows_init(const struct cfn_network *n, int32_t node, struct rows *rows)
{
    const struct cfn_super *super = &n->nodes[node];
    bool supported = true;
    rows->least = mem_alloc((super->links.count + 1) * (size_t)super->size * sizeof *rows->least);
    rows->sum = mem_alloc((size_t)super->size * sizeof *rows->sum);
    for (int32_t a = 0; a < super->size; a++)
        rows->sum[a] = super->unary[a];
    for (size_t i = 0; i < super->links.count; i++) {
        struct cfn_view view = cfn_network_view(n, node, super->links.at[i]);
        for (int32_t a = 0; a < super->size; a++) {
            int64_t least = least_of_row(&view, a);
            rows->least[i * (size_t)super->size + (size_t)a] = least;
            rows->sum[a] = cfn_add(rows->sum[a], least);
        }
    }
    for (int32_t a = 0; a < super->size; a++)
        supported = supported && !cfn_infinite(rows->sum[a]);
    return supported;
}

static void rows_release(struct rows *rows)
{
    free(rows->least);
    free(rows->sum);
}

/* the most that b can cost more than a over one link; more than `most` when b forbids what a allows, or as
 * soon as that is certain */
static int64_t worst_loss(const struct cfn_view *view, int32_t b, int32_t a, int64_t most)
{
    int64_t worst = -CFN_INFINITE;
    const int64_t *row_a = view->at + (size_t)a * view->own, *row_b = view->at + (size_t)b * view->own;
    for (int32_t y = 0; y < view->size && worst <= most; y++) {
        int64_t cost_a = row_a[(size_t)y * view->step], cost_b = row_b[(size_t)y * view->step];
        if (cfn_infinite(cost_a))
            continue;
        if (cfn_infinite(cost_b))
            return CFN_INFINITE;
        worst = cost_b - cost_a > worst ? cost_b - cost_a : worst;
    }
    return worst;
}

static bool never_worse(const struct cfn_network *n, int32_t node, const struct rows *rows, int32_t b,
                        int32_t a)
{
    const struct cfn_super *super = &n->nodes[node];
    int64_t loss = rows->sum[b] - rows->sum[a]; /* links not yet looked at: by their least entries */
    if (loss > 0 || !uses_no_more(super, b, a))
        return false;
    for (size_t i = 0; i < super->links.count && loss <= 0; i++) {
        struct cfn_view view = cfn_network_view(n, node, super->links.at[i]);
        const int64_t *least = rows->least + i * (size_t)super->size;
        loss -= least[b] - least[a];
        loss = cfn_add(loss, worst_loss(&view, b, a, -loss));
    }
    return loss <= 0;
}

bool cfn_dominate_node(struct cfn_network *n, int32_t node)
{
    struct cfn_super *super = &n->nodes[node];
    size_t work = 0;
    for (size_t i = 0; i < super->links.count; i++)
        work += (size_t)cfn_network_view(n, node, super->links.at[i]).size;
    if (super->size < 2 || work * (size_t)super->size * (size_t)super->size > max_work)
        return false;
    struct rows rows;
    int32_t *kept = mem_alloc((size_t)super->size * sizeof *kept), count = 0;
    bool *gone = mem_zalloc((size_t)super->size, sizeof *gone);
    if (rows_init(n, node, &rows))
        for (int32_t a = super->size; a-- > 0;)
            for (int32_t b = 0; b < super->size && !gone[a]; b++)
                gone[a] = b != a && !gone[b] && never_worse(n, node, &rows, b, a);
    for (int32_t a = 0; a < super->size; a++)
        if (!gone[a])
            kept[count++] = a;
    bool dropped = count < super->size;
    if (dropped)
        cfn_network_keep(n, node, kept, count);
    rows_release(&rows);
    free(kept);
    free(gone);
    return dropped;
}
