/* What a group of dimensions is, in words: most labels say it ("batch", "ffn"), "dim3584_3" does not. */
#include "report/report.h"

#include <stdio.h>
#include <string.h>

/* the argument's dimension that is of the group; -1: none */
static int dimension_of(const struct nda *n, uint32_t argument, uint32_t group)
{
    uint32_t slot = n->spaces[n->arguments[argument].space].slots, value = n->slots[slot].value;
    for (uint32_t k = 0; k < nda_atom_count(n, value); k++) {
        uint32_t factor = nda_slot_factor(n, slot, k);
        if (factor != NDA_NONE && n->colors[n->factors[factor].color].group == group)
            return nda_atoms(n, value)[k].dim;
    }
    return -1;
}

/* parameters come before data, data before what is kept */
static int rank_of(uint8_t role)
{
    return role == NDA_ROLE_PARAMETER ? 2 : role == NDA_ROLE_OPTIMIZER ? 0 : 1;
}

void report_dimension(const struct nda *n, uint32_t group, char *out, size_t room)
{
    uint32_t best = NDA_NONE, count = 0;
    int64_t bytes = -1;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct ir_type *type = ir_value_type(n->program, n->arguments[i].value);
        if (dimension_of(n, i, group) < 0)
            continue;
        int better = best == NDA_NONE ? 1 : rank_of(n->arguments[i].role) - rank_of(n->arguments[best].role);
        count = better > 0 ? 1 : count + (better == 0);
        if (better > 0 || (better == 0 && ir_type_bytes(n->program, type) > bytes)) {
            best = i;
            bytes = ir_type_bytes(n->program, type);
        }
    }
    if (best == NDA_NONE) {
        snprintf(out, room, "%lld elements, of no argument", (long long)n->groups[group].size);
        return;
    }
    char type[96];
    report_type(n->program, n->arguments[best].value, type, sizeof type);
    size_t at = (size_t)snprintf(out, room, "dimension %d of %.80s %s", dimension_of(n, best, group),
                                 n->arguments[best].name, type);
    if (count > 1 && at < room)
        at += (size_t)snprintf(out + at, room - at, " and of %u more", count - 1);
    const struct nda_group *all = &n->groups[group];
    if (all->bundled && all->least_size < all->most_size && at < room)
        snprintf(out + at, room - at, ", of %lld to %lld elements", (long long)all->least_size,
                 (long long)all->most_size);
}
