/* Exact elimination of one node of degree at most two (U. Bertele and F. Brioschi, "Nonserial Dynamic
 * Programming", 1972): the table of its neighbours is the least over its values of everything it takes part
 * in; the value that is least goes onto the undo stack, cell by cell. Ties keep the lower value. A node with
 * usage of its own stays, as its choice is not free; so does one whose table would take more than max_work
 * steps. */
#include "cfn/eliminate.h"

#include <stdlib.h>

/* values of three nodes multiplied: 16 M steps, some 30 ms */
static const size_t max_work = (size_t)1 << 24;

bool cfn_eliminate_node(struct cfn_network *n, int32_t node)
{
    struct cfn_super *super = &n->nodes[node];
    size_t degree = super->links.count;
    if (super->items.count || degree > 2)
        return false;
    static const int64_t nothing = 0;
    struct cfn_view one = {.other = -1, .size = 1, .at = &nothing}, other = one;
    if (degree > 0)
        one = cfn_network_view(n, node, super->links.at[0]);
    if (degree > 1)
        other = cfn_network_view(n, node, super->links.at[1]);
    size_t cells = (size_t)one.size * (size_t)other.size;
    if (cells * (size_t)super->size > max_work)
        return false;
    int32_t *map = cfn_undo_push(&n->undo,
                                 (struct cfn_undo_step){.kind = CFN_UNDO_ELIMINATE,
                                                        .node = node,
                                                        .one = one.other,
                                                        .other = other.other,
                                                        .width = other.size},
                                 cells);
    int64_t *entry = mem_alloc(cells * sizeof *entry);
    for (int32_t x = 0; x < one.size; x++)
        for (int32_t y = 0; y < other.size; y++) {
            size_t cell = (size_t)x * (size_t)other.size + (size_t)y;
            entry[cell] = CFN_INFINITE;
            for (int32_t a = 0; a < super->size; a++) {
                int64_t c = cfn_add(super->unary[a],
                                    cfn_add(one.at[(size_t)a * one.own + (size_t)x * one.step],
                                            other.at[(size_t)a * other.own + (size_t)y * other.step]));
                if (c < entry[cell]) {
                    entry[cell] = c;
                    map[cell] = a;
                }
            }
        }
    while (super->links.count)
        cfn_network_cut(n, super->links.at[super->links.count - 1]);
    cfn_network_remove(n, node);
    if (degree == 0) {
        n->wiped = n->wiped || cfn_infinite(entry[0]);
        n->constant += entry[0];
    } else if (degree == 1) {
        struct cfn_super *left = &n->nodes[one.other];
        for (int32_t x = 0; x < one.size; x++)
            left->unary[x] = cfn_add(left->unary[x], entry[x]);
        cfn_network_push(n, one.other);
    } else {
        cfn_network_connect(n, one.other, other.other,
                            cfn_table_intern(&n->tables, one.size, other.size, entry));
    }
    free(entry);
    return true;
}
