/* Roles, step 6: the vote for the batch.
 *
 * The batch is the color over most FLOPs of forward contractions among those that qualify, of equals the one
 * on most arguments. What a color must
 * show is asked strictly first (EARLY); only where no color qualifies is less asked, in up to four rounds,
 * each of which may take other values for the forward pass and therefore collects the facts again. */
#include "analysis/roles.h"

#include <stdlib.h>
#include <string.h>

/* How much a color must show to be the batch.
 *   EARLY  it is in a result that is no state, or reduced on the way to one, and no forward contraction sums
 *          over it
 *   LATE   a train step's may be summed over, if it is in no conflict; another module's may be in state only
 *          (a sampler's step gives nothing else)
 *   LAST   of train steps: it need not be in any result (gradients without their loss, sorted examples), but
 *          on an argument that is data */
enum how { EARLY, LATE, LAST };

/* A second batch goes through at least one eighth of the FLOPs of the first. Chosen, not tuned. */
enum { SECOND_BATCH_SHARE = 8 };

/* steps and environments go through the same contractions; a reward's steps are those of a scan */
static bool is_more(const struct facts *facts, const struct facts *best)
{
    return facts->flops != best->flops ? facts->flops > best->flops
                                       : facts->argument_dims > best->argument_dims;
}

static uint32_t best_batch(const struct roles *roles, enum how how)
{
    uint32_t best = NDA_NONE;
    for (uint32_t color = 0; color < roles->n->color_count; color++) {
        const struct facts *facts = &roles->facts[color];
        bool seen =
            facts->seen || (how == LATE && !roles->train && facts->kept) || (how == LAST && facts->given);
        if (roles->train && facts->parameter_dims)
            continue; /* a train step's inputs are no state */
        if (facts->contracted && (how == EARLY || !roles->train || roles->n->colors[color].set_count))
            continue;
        if (facts->flops > 0 && seen && (best == NDA_NONE || is_more(facts, &roles->facts[best])))
            best = color;
    }
    return best;
}

void roles_find_facts(struct roles *roles)
{
    roles_of_arguments(roles);
    memset(roles->facts, 0, ((size_t)roles->n->color_count + 1) * sizeof *roles->facts);
    roles_collect_facts(roles);
}

/* New weights that another loss of the same step uses (a generator's against the judge just updated) make
 * gradients part of what results need: the forward pass ends at new state then. */
static void end_at_state(struct roles *roles)
{
    const struct nda *n = roles->n;
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].becomes != NDA_NONE) {
            uint32_t value = n->slots[n->spaces[n->result_spaces[n->arguments[i].becomes]].slots].value;
            roles->ends[value] = n->program->values[value].op != IR_NONE;
        }
    memset(roles->forward, 0, (size_t)n->program->value_count + 1);
    roles_flow(roles);
}

/* some contraction is needed for a result that is no state */
static bool has_forward_pass(const struct roles *roles)
{
    const struct nda *n = roles->n;
    for (uint32_t space = 0; space < n->space_count; space++) {
        const struct nda_space *sp = &n->spaces[space];
        if (sp->kind == NDA_SPACE_OP && nda_is_contraction(n, sp->op) &&
            roles->forward[n->slots[sp->slots + sp->slot_count - 1].value])
            return true;
    }
    return false;
}

/* Of all ops, as if every one was forward. Where there is a loss (experts' tokens are summed up on the way
 * to it, so that no batch was found there), the forward pass is what it was again. */
static uint32_t find_batch_anywhere(struct roles *roles)
{
    size_t values = (size_t)roles->n->program->value_count + 1;
    uint8_t *forward = mem_alloc(values);
    memcpy(forward, roles->forward, values);
    bool keep = !has_forward_pass(roles);
    memset(roles->forward, 1, values);
    roles_find_facts(roles);
    uint32_t batch = best_batch(roles, LATE);
    if (batch == NDA_NONE)
        batch = best_batch(roles, LAST);
    if (batch != NDA_NONE && !keep) {
        memcpy(roles->forward, forward, values);
        roles_find_facts(roles);
    }
    free(forward);
    return batch;
}

static uint32_t find_batch(struct roles *roles)
{
    uint32_t batch;
    roles_find_facts(roles);
    batch = best_batch(roles, EARLY);
    if (batch != NDA_NONE || !roles->train)
        return batch != NDA_NONE ? batch : best_batch(roles, LATE);
    end_at_state(roles);
    roles_find_facts(roles);
    batch = best_batch(roles, EARLY);
    return batch != NDA_NONE ? batch : find_batch_anywhere(roles);
}

/* Other examples in the same number (a second tower's, a judge's real ones): what is asked of a batch,
 * through several contractions, on arguments of their own. */
static void find_more_batches(struct roles *roles, uint32_t batch)
{
    const struct nda *n = roles->n;
    roles->batch[batch] = 1;
    for (uint32_t color = 0; color < n->color_count; color++) {
        const struct facts *facts = &roles->facts[color];
        roles->batch[color] |=
            facts->seen && !facts->contracted && !n->colors[color].set_count && facts->results > 1 &&
            roles_color_size(n, color) == roles_color_size(n, batch) &&
            facts->flops * SECOND_BATCH_SHARE >= roles->facts[batch].flops &&
            (roles->train ? facts->given && !facts->parameter_dims : facts->parameter_dims <= 1);
    }
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_space *sp = &n->spaces[n->arguments[i].space];
        bool both = false;
        for (uint32_t factor = 0; factor < sp->factor_count; factor++)
            both |= n->factors[sp->factors + factor].color == batch;
        for (uint32_t factor = 0; factor < sp->factor_count && both; factor++)
            roles->batch[n->factors[sp->factors + factor].color] &=
                n->factors[sp->factors + factor].color == batch;
    }
}

bool roles_find_batches(struct roles *roles)
{
    uint32_t batch = find_batch(roles);
    if (batch == NDA_NONE)
        return false;
    find_more_batches(roles, batch);
    return true;
}
