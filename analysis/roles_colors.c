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
static void mark_vocabulary(struct roles *roles)
{
    const struct nda *n = roles->n;
    int64_t widest = 0, model = 0;
    uint32_t most = 0;
    for (uint32_t color = 0; color < n->color_count; color++) {
        int64_t size = roles_color_size(n, color);
        if (roles->facts[color].lookup && size > widest)
            widest = size;
        if (roles->facts[color].parameter_dims > most) {
            most = roles->facts[color].parameter_dims;
            model = size;
        }
    }
    for (uint32_t color = 0; color < n->color_count; color++) {
        struct facts *facts = &roles->facts[color];
        int64_t size = roles_color_size(n, color);
        facts->lookup =
            facts->parameter_dims &&
            ((facts->lookup && size >= widest / SMALLEST_TABLE) ||
             (facts->produced && !facts->contracted && facts->seen && size >= VOCABULARY_WIDTH * model));
    }
}

/* Megatron's dims: made by one contraction with a parameter and summed by another (or the vocabulary), on
 * few parameters: the model dimension itself is on most of them, and heads, as attention goes
 * through them one by one, may be on as many. A bottleneck (an adapter's rank) is none. Of
 * two on one parameter the major one counts (heads, not keys). */
static bool is_model_color(const struct facts *facts, uint32_t most)
{
    bool few = most < FEW_PARAMETERS || facts->parameter_dims * 2 <= most || facts->beside;
    return facts->shardable && facts->parameter_dims && few &&
           ((facts->produced && facts->contracted && facts->wide) || facts->lookup);
}

/* Of model colors on one parameter: what attention goes through one by one, behind a rank that queries are
 * made of (latent attention); there the rank is none. */
static bool has_heads(const struct roles *roles, uint32_t slot, uint32_t most)
{
    const struct nda *n = roles->n;
    for (uint32_t k = 0; k < nda_atom_count(n, n->slots[slot].value); k++) {
        uint32_t factor = nda_slot_factor(n, slot, k);
        const struct facts *facts = factor == NDA_NONE ? NULL : &roles->facts[n->factors[factor].color];
        if (facts && facts->beside && !facts->dominated && is_model_color(facts, most))
            return true;
    }
    return false;
}

/* by_vocabulary: only what stands behind a vocabulary on its table (the model dimension of a model too
 * small to tell it by the number of its parameters); what is dominated dominates no more */
static void mark_dominated(struct roles *roles, uint32_t most, uint32_t experts, bool by_vocabulary)
{
    const struct nda *n = roles->n;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        uint32_t slot = n->spaces[n->arguments[i].space].slots;
        bool before = false, heads = !by_vocabulary && has_heads(roles, slot, most);
        for (uint32_t k = 0;
             n->arguments[i].role == NDA_ROLE_PARAMETER && k < nda_atom_count(n, n->slots[slot].value); k++) {
            uint32_t factor_index = nda_slot_factor(n, slot, k);
            struct facts *facts =
                factor_index == NDA_NONE ? NULL : &roles->facts[n->factors[factor_index].color];
            if (!facts || facts->dominated || !is_model_color(facts, most) ||
                n->colors[n->factors[factor_index].color].group == experts)
                continue;
            if (heads && !facts->attention && !facts->lookup) {
                facts->dominated = 1;
                continue;
            }
            facts->dominated |= before;
            before |= !by_vocabulary || facts->lookup;
        }
    }
}

void roles_of_colors(struct roles *found)
{
    struct nda *n = found->n;
    uint32_t most = 0, sequence = NDA_NONE, edge = NDA_NONE, expert = NDA_NONE;
    for (uint32_t color = 0; color < n->color_count; color++) {
        const struct facts *facts = &found->facts[color];
        int64_t size = roles_color_size(n, color);
        most = facts->parameter_dims > most ? facts->parameter_dims : most;
        if (found->batch[color])
            continue;
        if (n->colors[color].set_count && !facts->square &&
            (sequence == NDA_NONE || n->colors[color].factor_count > n->colors[sequence].factor_count))
            sequence = color;
        if (facts->gather_batch && !n->colors[color].set_count &&
            !(facts->parameter_batch && facts->parameter_dims) &&
            (edge == NDA_NONE || size > roles_color_size(n, edge)))
            edge = color;
        if ((facts->parameter_batch || (facts->chosen && facts->stacked)) && facts->parameter_dims &&
            (expert == NDA_NONE || size > roles_color_size(n, expert)))
            expert = color;
    }
    found->mixture = expert != NDA_NONE;
    mark_vocabulary(found);
    uint32_t experts = expert == NDA_NONE ? (uint32_t)NDA_NONE : n->colors[expert].group;
    mark_dominated(found, most, experts, true);
    mark_dominated(found, most, experts, false);
    for (uint32_t color = 0; color < n->color_count; color++) {
        const struct facts *facts = &found->facts[color];
        uint32_t roles = 0;
        roles |= found->batch[color] ? NDA_COLOR_BATCH : 0;
        roles |= color == sequence ? NDA_COLOR_SEQUENCE : 0;
        roles |= color == edge ? NDA_COLOR_EDGE : 0;
        roles |= color == expert ? NDA_COLOR_EXPERT : 0;
        if (!roles) {
            roles |= facts->lookup && facts->parameter_dims ? NDA_COLOR_VOCABULARY : 0;
            roles |= is_model_color(facts, most) && !facts->dominated && n->colors[color].group != experts
                         ? NDA_COLOR_MODEL
                         : 0;
        }
        n->colors[color].roles = roles;
        n->groups[n->colors[color].group].roles |= roles;
    }
}
