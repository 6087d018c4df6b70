/* Roles, step 6: the vote for the batch.
 *
 * The batch is the color over most FLOPs of forward contractions among those that qualify. What a color must
 * show is asked strictly first (EARLY); only where no color qualifies is less asked, in up to four rounds,
 * each of which may take other values for the forward pass and therefore collects the facts again. */
#include "analysis/roles.h"

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

static uint32_t best_batch(const struct roles *r, enum how how)
{
    uint32_t best = NDA_NONE;
    for (uint32_t c = 0; c < r->n->color_count; c++) {
        const struct facts *f = &r->facts[c];
        bool seen = f->seen || (how == LATE && !r->train && f->kept) || (how == LAST && f->given);
        if (r->train && f->parameter_dims)
            continue; /* a train step's inputs are no state */
        if (f->contracted && (how == EARLY || !r->train || r->n->colors[c].set_count))
            continue;
        if (f->flops > 0 && seen && (best == NDA_NONE || f->flops > r->facts[best].flops))
            best = c;
    }
    return best;
}

void roles_find_facts(struct roles *r)
{
    roles_of_arguments(r);
    memset(r->facts, 0, ((size_t)r->n->color_count + 1) * sizeof *r->facts);
    roles_collect_facts(r);
}

/* New weights that another loss of the same step uses (a generator's against the judge just updated) make
 * gradients part of what results need: the forward pass ends at new state then. */
static void end_at_state(struct roles *r)
{
    const struct nda *n = r->n;
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].becomes != NDA_NONE) {
            uint32_t v = n->slots[n->spaces[n->result_spaces[n->arguments[i].becomes]].slots].value;
            r->ends[v] = n->program->values[v].op != IR_NONE;
        }
    memset(r->forward, 0, (size_t)n->program->value_count + 1);
    roles_flow(r);
}

static uint32_t find_batch(struct roles *r)
{
    uint32_t batch;
    roles_find_facts(r);
    batch = best_batch(r, EARLY);
    if (batch != NDA_NONE || !r->train)
        return batch != NDA_NONE ? batch : best_batch(r, LATE);
    end_at_state(r);
    roles_find_facts(r);
    batch = best_batch(r, EARLY);
    if (batch != NDA_NONE)
        return batch;
    /* no loss among the results: every op may be forward */
    memset(r->forward, 1, (size_t)r->n->program->value_count + 1);
    roles_find_facts(r);
    batch = best_batch(r, LATE);
    return batch != NDA_NONE ? batch : best_batch(r, LAST);
}

/* Other examples in the same number (a second tower's, a judge's real ones): what is asked of a batch,
 * through several contractions, on arguments of their own. */
static void find_more_batches(struct roles *r, uint32_t batch)
{
    const struct nda *n = r->n;
    r->batch[batch] = 1;
    for (uint32_t c = 0; c < n->color_count; c++) {
        const struct facts *f = &r->facts[c];
        r->batch[c] |= f->seen && !f->contracted && !n->colors[c].set_count && f->results > 1 &&
                       roles_color_size(n, c) == roles_color_size(n, batch) &&
                       f->flops * SECOND_BATCH_SHARE >= r->facts[batch].flops &&
                       (r->train ? f->given && !f->parameter_dims : f->parameter_dims <= 1);
    }
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_space *sp = &n->spaces[n->arguments[i].space];
        bool both = false;
        for (uint32_t f = 0; f < sp->factor_count; f++)
            both |= n->factors[sp->factors + f].color == batch;
        for (uint32_t f = 0; f < sp->factor_count && both; f++)
            r->batch[n->factors[sp->factors + f].color] &= n->factors[sp->factors + f].color == batch;
    }
}

bool roles_find_batches(struct roles *r)
{
    uint32_t batch = find_batch(r);
    if (batch == NDA_NONE)
        return false;
    find_more_batches(r, batch);
    return true;
}
