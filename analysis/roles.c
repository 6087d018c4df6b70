/* Roles: what arguments are for, what colors do, and names for the groups (planner.md section 3).
 *
 * Everything comes from dataflow: which values reach a contraction (dot, convolution), directly (through
 * shape ops and converts, or as part of what depends on no example yet) or at all, and which are needed
 * for the results that are not tied to state, the forward pass (roles_values.c); and what the forward pass
 * does with a color (roles_facts.c). Here: which colors are batches, vocabulary, heads and so on, from
 * these facts. */
#include "analysis/roles.h"

#include <stdlib.h>
#include <string.h>

/* how little is asked of a batch. LATE, when no other is left: also a color that some forward contraction
 * sums over, or that only state holds (a sampler's step gives nothing else). LAST, of train steps: neither
 * among the results nor reduced on the way to one (gradients without their loss, sorted examples), but on
 * an argument. */
enum how { EARLY, LATE, LAST };

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

static void find_facts(struct roles *r)
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
    find_facts(r);
    batch = best_batch(r, EARLY);
    if (batch != NDA_NONE || !r->train)
        return batch != NDA_NONE ? batch : best_batch(r, LATE);
    end_at_state(r);
    find_facts(r);
    batch = best_batch(r, EARLY);
    if (batch != NDA_NONE)
        return batch;
    /* no loss among the results: every op may be forward */
    memset(r->forward, 1, (size_t)r->n->program->value_count + 1);
    find_facts(r);
    batch = best_batch(r, LATE);
    return batch != NDA_NONE ? batch : best_batch(r, LAST);
}

static int64_t size_of(const struct nda *n, uint32_t color)
{
    return n->factors[n->color_factors[n->colors[color].factors]].size;
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
                       size_of(n, c) == size_of(n, batch) && f->flops * 8 >= r->facts[batch].flops &&
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

/* The vocabulary: looked up in a parameter, or made by the last contraction and several times wider than
 * the model dimension. Small tables (positions) are no vocabulary. */
static void mark_vocabulary(struct roles *r)
{
    const struct nda *n = r->n;
    int64_t widest = 0, model = 0;
    uint32_t most = 0;
    for (uint32_t c = 0; c < n->color_count; c++) {
        int64_t size = size_of(n, c);
        if (r->facts[c].lookup && size > widest)
            widest = size;
        if (r->facts[c].parameter_dims > most) {
            most = r->facts[c].parameter_dims;
            model = size;
        }
    }
    for (uint32_t c = 0; c < n->color_count; c++) {
        struct facts *f = &r->facts[c];
        int64_t size = size_of(n, c);
        f->lookup = f->parameter_dims && ((f->lookup && size >= widest / 16) ||
                                          (f->produced && !f->contracted && f->seen && size >= 4 * model));
    }
}

/* Megatron's dims: made by one contraction with a parameter and summed by another (or the vocabulary), on
 * few parameters: the model dimension itself is on most of them. Of two on one parameter the major one
 * counts (heads, not keys). */
static bool is_model_color(const struct facts *f, uint32_t most)
{
    bool few = most < 6 || f->parameter_dims * 2 <= most;
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

static void color_roles(struct roles *r)
{
    struct nda *n = r->n;
    uint32_t most = 0, sequence = NDA_NONE, edge = NDA_NONE, expert = NDA_NONE;
    for (uint32_t c = 0; c < n->color_count; c++) {
        const struct facts *f = &r->facts[c];
        int64_t size = size_of(n, c);
        most = f->parameter_dims > most ? f->parameter_dims : most;
        if (r->batch[c])
            continue;
        if (n->colors[c].set_count && !f->square &&
            (sequence == NDA_NONE || n->colors[c].factor_count > n->colors[sequence].factor_count))
            sequence = c;
        if (f->gather_batch && !n->colors[c].set_count && !(f->parameter_batch && f->parameter_dims) &&
            (edge == NDA_NONE || size > size_of(n, edge)))
            edge = c;
        if (f->parameter_batch && f->parameter_dims && (expert == NDA_NONE || size > size_of(n, expert)))
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

static bool label_taken(const struct nda *n, uint32_t count, const char *label)
{
    for (uint32_t g = 0; g < count; g++)
        if (strcmp(n->groups[g].label, label) == 0)
            return true;
    return false;
}

/* Labels: by role, else "embed" for the color on most parameters, else by size; numbered in group order
 * when equal. */
static void label_groups(struct roles *r)
{
    struct nda *n = r->n;
    uint32_t embed = NDA_NONE, *used = mem_zalloc((size_t)n->group_count + 1, sizeof *used);
    for (uint32_t c = 0; c < n->color_count; c++)
        if (!n->colors[c].roles && r->facts[c].parameter_dims &&
            (embed == NDA_NONE || r->facts[c].parameter_dims > r->facts[embed].parameter_dims))
            embed = c;
    for (uint32_t g = 0; g < n->group_count; g++) {
        struct nda_group *group = &n->groups[g];
        bool heads = false;
        const char *base;
        for (uint32_t i = 0; i < group->color_count; i++)
            heads |= r->facts[n->group_colors[group->colors + i]].attention;
        base = group->roles & NDA_COLOR_BATCH        ? "batch"
               : group->roles & NDA_COLOR_SEQUENCE   ? "sequence"
               : group->roles & NDA_COLOR_EDGE       ? "edges"
               : group->roles & NDA_COLOR_EXPERT     ? "experts"
               : group->roles & NDA_COLOR_VOCABULARY ? "vocab"
               : group->roles & NDA_COLOR_MODEL      ? (heads ? "heads" : "ffn")
               : embed != NDA_NONE && n->colors[embed].group == g
                   ? "embed"
                   : arena_printf(n->arena, "dim%lld", (long long)group->size);
        group->label = base;
        for (uint32_t k = 2; label_taken(n, g, group->label); k++)
            group->label = arena_printf(n->arena, "%s_%u", base, k);
    }
    free(used);
}

void stage_roles(struct nda *n)
{
    struct roles r = {.n = n};
    uint32_t batch;
    r.direct = mem_zalloc((size_t)n->program->value_count + 1, 1);
    r.reaches = mem_zalloc((size_t)n->program->value_count + 1, 1);
    r.forward = mem_zalloc((size_t)n->program->value_count + 1, 1);
    r.ends = mem_zalloc((size_t)n->program->value_count + 1, 1);
    r.facts = mem_zalloc((size_t)n->color_count + 1, sizeof *r.facts);
    r.batch = mem_zalloc((size_t)n->color_count + 1, 1);
    roles_set_apart(&r, false);
    r.train = stage_find_state(n, r.direct);
    if (r.train)
        roles_set_apart(&r, false);
    r.train = r.train || stage_is_train_step(n, r.direct, r.reaches);
    r.metrics = r.train ? stage_metrics(n, r.direct) : NULL;
    /* without training there is no backward pass */
    memset(r.forward, !r.train, (size_t)n->program->value_count + 1);
    roles_flow(&r);
    batch = find_batch(&r);
    if (batch != NDA_NONE) {
        find_more_batches(&r, batch);
        roles_set_apart(&r, true);
    }
    find_facts(&r); /* inputs hold the batch, parameters do not */
    color_roles(&r);
    label_groups(&r);
    free(r.direct);
    free(r.reaches);
    free(r.forward);
    free(r.metrics);
    free(r.ends);
    free(r.apart);
    free(r.facts);
    free(r.batch);
}
