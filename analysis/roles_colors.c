/* Roles, step 7: what each color does, from the facts: batch, sequence, edges, experts, vocabulary, model.
 *
 * The batches are known (roles_batch.c). Sequence, edges and experts are one color each, the one that shows
 * most of it; vocabulary and model dimensions are all colors that qualify and have none of the other roles. A
 * group has the roles of all its colors. */
#include "analysis/roles.h"

/* All chosen, not tuned. */
enum {
    /* a table of less than a 16th of the widest one's rows (positions, token types) is no vocabulary */
    SMALLEST_TABLE = 16,
    /* a last layer's output is a vocabulary from 4 times the model dimension on: feed-forward layers are up
     * to that wide too, but something contracts them */
    VOCABULARY_WIDTH = 4,
    /* a color on at most half as many parameter dimensions as the commonest is no model dimension; with fewer
     * than 6 on the commonest (one or two layers) the count tells nothing */
    FEW_PARAMETERS = 6
};

/* The vocabulary: looked up in a parameter, or made by the last contraction and several times wider than
 * the model dimension. Small tables (positions) are no vocabulary. */
static void mark_vocabulary(struct roles *r)
{
    const struct nda *n = r->n;
    int64_t widest = 0, model = 0;
    uint32_t most = 0;
    for (uint32_t c = 0; c < n->color_count; c++) {
        int64_t size = roles_color_size(n, c);
        if (r->facts[c].lookup && size > widest)
            widest = size;
        if (r->facts[c].parameter_dims > most) {
            most = r->facts[c].parameter_dims;
            model = size;
        }
    }
    for (uint32_t c = 0; c < n->color_count; c++) {
        struct facts *f = &r->facts[c];
        int64_t size = roles_color_size(n, c);
        f->lookup = f->parameter_dims &&
                    ((f->lookup && size >= widest / SMALLEST_TABLE) ||
                     (f->produced && !f->contracted && f->seen && size >= VOCABULARY_WIDTH * model));
    }
}

/* Megatron's dims: made by one contraction with a parameter and summed by another (or the vocabulary), on
 * few parameters: the model dimension itself is on most of them. Of two on one parameter the major one
 * counts (heads, not keys). */
static bool is_model_color(const struct facts *f, uint32_t most)
{
    bool few = most < FEW_PARAMETERS || f->parameter_dims * 2 <= most;
    return f->shardable && f->parameter_dims && few && ((f->produced && f->contracted) || f->lookup);
}

/* by_vocabulary: only what stands behind a vocabulary on its table (the model dimension of a model too
 * small to tell it by the number of its parameters); what is dominated dominates no more */
static void mark_dominated(struct roles *r, uint32_t most, bool by_vocabulary)
{
    const struct nda *n = r->n;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        uint32_t slot = n->spaces[n->arguments[i].space].slots;
        bool before = false;
        for (uint32_t k = 0;
             n->arguments[i].role == NDA_ROLE_PARAMETER && k < nda_atom_count(n, n->slots[slot].value); k++) {
            uint32_t factor_index = nda_slot_factor(n, slot, k);
            struct facts *f = factor_index == NDA_NONE ? NULL : &r->facts[n->factors[factor_index].color];
            if (!f || f->dominated || !is_model_color(f, most))
                continue;
            f->dominated |= before;
            before |= !by_vocabulary || f->lookup;
        }
    }
}

void roles_of_colors(struct roles *r)
{
    struct nda *n = r->n;
    uint32_t most = 0, sequence = NDA_NONE, edge = NDA_NONE, expert = NDA_NONE;
    for (uint32_t c = 0; c < n->color_count; c++) {
        const struct facts *f = &r->facts[c];
        int64_t size = roles_color_size(n, c);
        most = f->parameter_dims > most ? f->parameter_dims : most;
        if (r->batch[c])
            continue;
        if (n->colors[c].set_count && !f->square &&
            (sequence == NDA_NONE || n->colors[c].factor_count > n->colors[sequence].factor_count))
            sequence = c;
        if (f->gather_batch && !n->colors[c].set_count && !(f->parameter_batch && f->parameter_dims) &&
            (edge == NDA_NONE || size > roles_color_size(n, edge)))
            edge = c;
        if (f->parameter_batch && f->parameter_dims &&
            (expert == NDA_NONE || size > roles_color_size(n, expert)))
            expert = c;
    }
    mark_vocabulary(r);
    mark_dominated(r, most, true);
    mark_dominated(r, most, false);
    for (uint32_t c = 0; c < n->color_count; c++) {
        const struct facts *f = &r->facts[c];
        uint32_t roles = 0;
        roles |= r->batch[c] ? NDA_COLOR_BATCH : 0;
        roles |= c == sequence ? NDA_COLOR_SEQUENCE : 0;
        roles |= c == edge ? NDA_COLOR_EDGE : 0;
        roles |= c == expert ? NDA_COLOR_EXPERT : 0;
        if (!roles) {
            roles |= f->lookup && f->parameter_dims ? NDA_COLOR_VOCABULARY : 0;
            roles |= is_model_color(f, most) && !f->dominated ? NDA_COLOR_MODEL : 0;
        }
        n->colors[c].roles = roles;
        n->groups[n->colors[c].group].roles |= roles;
    }
}
