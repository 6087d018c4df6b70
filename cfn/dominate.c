#include "cfn/dominate.h"

#include <stdlib.h>

static const size_t max_work = (size_t)1
                               << 23; /* pairs times rows: beyond it the search gains more from the time */

static bool uses_no_more(const struct cfn_super *s, int32_t b, int32_t a)
{
    for (size_t k = 0; k < s->items.count; k++)
        if (s->items.at[k].use[b] > s->items.at[k].use[a])
            return false;
    return true;
}

/* the most that b can cost more than a over one link; CFN_INFINITE when b forbids what a allows */
static int64_t worst_loss(const struct cfn_view *v, int32_t b, int32_t a)
{
    int64_t worst = -CFN_INFINITE;
    const int64_t *row_a = v->at + (size_t)a * v->own, *row_b = v->at + (size_t)b * v->own;
    for (int32_t y = 0; y < v->size; y++) {
        int64_t cost_a = row_a[(size_t)y * v->step], cost_b = row_b[(size_t)y * v->step];
        if (cfn_infinite(cost_a))
            continue;
        if (cfn_infinite(cost_b))
            return CFN_INFINITE;
        worst = cost_b - cost_a > worst ? cost_b - cost_a : worst;
    }
    return worst;
}

static bool never_worse(const struct cfn_network *n, int32_t node, int32_t b, int32_t a)
{
    const struct cfn_super *s = &n->nodes[node];
    int64_t loss = s->unary[b] - s->unary[a];
    if (!uses_no_more(s, b, a))
        return false;
    for (size_t i = 0; i < s->links.count; i++) {
        struct cfn_view v = cfn_network_view(n, node, s->links.at[i]);
        int64_t worst = worst_loss(&v, b, a);
        if (worst == CFN_INFINITE || worst == -CFN_INFINITE)
            return false; /* the latter: a has no support; consistency will drop it */
        loss += worst;
    }
    return loss <= 0;
}

bool cfn_dominate_node(struct cfn_network *n, int32_t node)
{
    struct cfn_super *s = &n->nodes[node];
    size_t work = 0;
    for (size_t i = 0; i < s->links.count; i++)
        work += (size_t)cfn_network_view(n, node, s->links.at[i]).size;
    if (s->size < 2 || work * (size_t)s->size * (size_t)s->size > max_work)
        return false;
    int32_t *kept = mem_alloc((size_t)s->size * sizeof *kept), count = 0;
    bool *gone = mem_zalloc((size_t)s->size, sizeof *gone);
    for (int32_t a = 0; a < s->size; a++)
        if (cfn_infinite(s->unary[a]))
            goto out; /* consistency first */
    for (int32_t a = s->size; a-- > 0;)
        for (int32_t b = 0; b < s->size && !gone[a]; b++)
            gone[a] = b != a && !gone[b] && never_worse(n, node, b, a);
    for (int32_t a = 0; a < s->size; a++)
        if (!gone[a])
            kept[count++] = a;
    if (count < s->size)
        cfn_network_keep(n, node, kept, count);
    else
        count = 0;
out:
    free(kept);
    free(gone);
    return count > 0;
}
