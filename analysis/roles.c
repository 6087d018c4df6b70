/* Roles: what arguments are for, what colors do, and names for the groups (planner.md section 3).
 *
 * Everything comes from dataflow: which values reach a contraction (dot, convolution), directly (through shape ops and
 * converts, or as part of what depends on no example yet) or at all, and which are needed for the results that are not tied to state (the forward pass). */
#include "analysis/stages.h"

#include <stdlib.h>
#include <string.h>

struct facts {          /* of a color */
    double flops;       /* of forward contractions that have it in their result */
    uint32_t results;   /* how many these are */
    uint32_t parameter_dims;
    uint8_t contracted, produced;       /* in a forward contraction; by one from a parameter */
    uint8_t seen;                       /* in a result that is no state, or reduced on the way to one */
    uint8_t kept;                       /* in a result that is state */
    uint8_t given;                      /* in an argument that is no state */
    uint8_t lookup, gather_batch, parameter_batch, attention, shardable, dominated;
    uint8_t square;                     /* two dimensions of one parameter */
};

struct roles {
    struct nda *n;
    uint8_t *direct, *reaches, *forward;   /* of each value; forward: of each value needed for untied results */
    uint8_t *metrics;                      /* of each result: made of gradients; NULL: none is */
    uint8_t *ends;                         /* of each value: the forward pass is not followed back through it */
    uint8_t *apart;                        /* of each value: it depends on no example */
    struct facts *facts;
    uint8_t *batch;                        /* of each color: it is a batch; none while they are unknown */
    bool train;
};

bool stage_is_contraction(const struct nda *n, uint32_t op)
{
    enum ir_family f = ir_opcode_family(n->program->ops[op].code);
    return f == IR_FAMILY_DOT || f == IR_FAMILY_CONVOLUTION;
}

bool stage_moves_only(const struct nda *n, const struct nda_space *sp)
{
    enum ir_opcode code;
    enum ir_family f;
    if (sp->kind != NDA_SPACE_OP)
        return sp->kind != NDA_SPACE_ARGUMENT && sp->kind != NDA_SPACE_RESULT;
    code = n->program->ops[sp->op].code;
    f = ir_opcode_family(code);
    return code == IR_CONVERT || f == IR_FAMILY_BROADCAST || f == IR_FAMILY_TRANSPOSE || f == IR_FAMILY_RESHAPE ||
           f == IR_FAMILY_SLICE || f == IR_FAMILY_DYNAMIC_SLICE || f == IR_FAMILY_CONCATENATE ||
           f == IR_FAMILY_SHARDY;
}

/* one step backward over a space; returns whether something became known */
static bool flow_back(struct roles *r, const struct nda_space *sp, const uint8_t *untied)
{
    struct nda *n = r->n;
    bool contraction = sp->kind == NDA_SPACE_OP && stage_is_contraction(n, sp->op), direct = false, reaches = contraction;
    bool forward = sp->kind == NDA_SPACE_RESULT && untied[sp->index], changed = false, moves = stage_moves_only(n, sp);
    bool gather = sp->kind == NDA_SPACE_OP && n->program->ops[sp->op].code == IR_GATHER;
    for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++) {
        uint32_t v = n->slots[k].value;
        if (!n->slots[k].is_result)
            continue;
        direct |= (moves || r->apart[v]) && r->direct[v];
        reaches |= r->reaches[v];
        forward |= r->forward[v];
    }
    for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++) {
        uint32_t v = n->slots[k].value;
        uint8_t d = direct || contraction || (gather && n->slots[k].operand == 0);
        if (n->slots[k].is_result)
            continue;
        changed |= (d && !r->direct[v]) || (reaches && !r->reaches[v]) || (forward && !r->ends[v] && !r->forward[v]);
        r->direct[v] |= d;
        r->reaches[v] |= reaches;
        r->forward[v] |= forward && !r->ends[v];
    }
    return changed;
}

/* around a loop: what the next iteration needs, the last operation of the body gives */
static bool flow_around(struct roles *r, uint32_t begin, uint32_t end)
{
    const struct nda *n = r->n;
    uint32_t arg = n->slots[n->spaces[begin].slots + 2].value, last = n->slots[n->spaces[end].slots].value;
    bool changed = (r->reaches[arg] && !r->reaches[last]) || (r->forward[arg] && !r->forward[last]);
    r->reaches[last] |= r->reaches[arg];
    r->forward[last] |= r->forward[arg];
    return changed;
}

static void flow_values(struct roles *r)
{
    struct nda *n = r->n;
    uint8_t *untied = mem_alloc((size_t)n->result_count + 1);
    bool changed = true;
    memset(untied, 1, (size_t)n->result_count + 1);
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].becomes != NDA_NONE)
            untied[n->arguments[i].becomes] = 0;
    for (uint32_t i = 0; i < n->result_count && r->metrics; i++)
        untied[i] &= !r->metrics[i];
    for (int round = 0; round < 16 && changed; round++) {   /* loops nest no deeper in practice; more is only blurrier */
        bool loops = false;
        changed = false;
        for (uint32_t s = n->space_count; s-- > 0;)
            flow_back(r, &n->spaces[s], untied);
        for (uint32_t s = 0; s < n->space_count; s++)
            if (n->spaces[s].kind == NDA_SPACE_LOOP_END) {
                loops = true;
                changed |= flow_around(r, n->op_space[n->spaces[s].op] + n->spaces[s].index, s);
            }
        changed &= loops;
    }
    free(untied);
}

static bool holds_batch(const struct roles *r, uint32_t argument)
{
    const struct nda_space *sp = &r->n->spaces[r->n->arguments[argument].space];
    for (uint32_t f = 0; f < sp->name_count; f++)
        if (r->batch[r->n->names[sp->names + f].color])
            return true;
    return false;
}

/* Examples are what is not tied to state; once the batch is known, of untied arguments those that hold it. */
static void set_apart(struct roles *r, bool known)
{
    struct nda *n = r->n;
    uint8_t *examples = mem_zalloc((size_t)n->argument_count + 1, 1);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        bool tied = n->arguments[i].becomes != NDA_NONE;
        examples[i] = tied ? known && !r->train : !known || holds_batch(r, i);
    }
    free(r->apart);
    r->apart = stage_independent_of(n, examples);
    free(examples);
    flow_values(r);
}

/* every dimension of the argument is one of trained weights too: a weight that is not trained (adapters' base) */
static bool dims_of_weights(const struct roles *r, uint32_t argument, const uint8_t *color)
{
    const struct nda *n = r->n;
    const struct nda_space *sp = &n->spaces[n->arguments[argument].space];
    for (uint32_t f = 0; f < sp->name_count; f++)
        if (!color[n->names[sp->names + f].color])
            return false;
    return true;
}

static uint8_t *colors_of_weights(const struct nda *n)
{
    uint8_t *color = mem_zalloc((size_t)n->color_count + 1, 1);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_space *sp = &n->spaces[n->arguments[i].space];
        for (uint32_t f = 0; f < sp->name_count && n->arguments[i].role == NDA_ROLE_PARAMETER; f++)
            color[n->names[sp->names + f].color] = 1;
    }
    return color;
}

/* floats, complex numbers and quantized weights; wider integers are indices and counts */
static bool weight_element(enum ir_element e)
{
    return ir_element_is_float(e) || e == IR_C64 || e == IR_C128 || (ir_element_bits(e) <= 8 && e != IR_I1);
}

/* of a tied argument of a train step: it is needed for the loss, and for a contraction */
static bool is_trained(const struct roles *r, const struct nda_argument *a)
{
    return r->reaches[a->value] && r->forward[a->value] &&
           weight_element((enum ir_element)ir_value_type(r->n->program, a->value)->element);
}

static void argument_roles(struct roles *r)
{
    struct nda *n = r->n;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        struct nda_argument *a = &n->arguments[i];
        const struct ir_type *t = ir_value_type(n->program, a->value);
        bool weight = t->kind == IR_TYPE_TENSOR && weight_element((enum ir_element)t->element) && t->rank > 0 &&
                      (r->direct[a->value] || t->rank == 1) && !holds_batch(r, i);
        if (a->becomes != NDA_NONE)
            a->role = !r->train ? NDA_ROLE_CACHE : is_trained(r, a) ? NDA_ROLE_PARAMETER : NDA_ROLE_OPTIMIZER;
        else
            a->role = !r->train && weight ? NDA_ROLE_PARAMETER : NDA_ROLE_DATA;
    }
    uint8_t *color = colors_of_weights(n);
    for (uint32_t i = 0; i < n->argument_count && r->train; i++) {
        struct nda_argument *a = &n->arguments[i];
        const struct ir_type *t = ir_value_type(n->program, a->value);
        if (a->role == NDA_ROLE_DATA && t->kind == IR_TYPE_TENSOR && t->rank > 1 && r->direct[a->value] &&
            weight_element((enum ir_element)t->element) && dims_of_weights(r, i, color))
            a->role = NDA_ROLE_PARAMETER;
    }
    free(color);
}

static double space_flops(const struct nda *n, const struct nda_space *sp)
{
    double f = 2;
    for (uint32_t k = 0; k < sp->name_count; k++)
        f *= (double)n->names[sp->names + k].size;
    return f;
}

static bool result_forward(const struct roles *r, const struct nda_space *sp)
{
    for (uint32_t k = sp->slots; k < sp->slots + sp->slot_count; k++)
        if (r->n->slots[k].is_result && r->forward[r->n->slots[k].value])
            return true;
    return false;
}

static void contraction_facts(struct roles *r, const struct nda_space *sp)
{
    const struct nda *n = r->n;
    uint32_t result = sp->slots + sp->slot_count - 1;
    double flops = space_flops(n, sp);
    for (uint32_t f = 0; f < sp->name_count; f++)
        if (n->names[sp->names + f].kind == NDA_CONTRACTING)
            r->facts[n->names[sp->names + f].color].contracted = 1;
    for (uint32_t k = 0; k < nda_atom_count(n, n->slots[result].value); k++) {
        uint32_t name = nda_slot_name(n, result, k);
        if (name == NDA_NONE)
            continue;
        r->facts[n->names[name].color].flops += flops;
        r->facts[n->names[name].color].results++;
    }
}

/* which operands of a forward contraction are parameters, and what they do there */
static void parameter_facts(struct roles *r, const struct nda_space *sp, const uint8_t *weight)
{
    const struct nda *n = r->n;
    uint32_t result = sp->slots + sp->slot_count - 1, operands[2] = {sp->slots, sp->slots + 1};
    bool weights[2] = {weight[n->slots[operands[0]].value], weight[n->slots[operands[1]].value]};
    uint32_t value = n->slots[result].value;
    bool dot = ir_opcode_family(n->program->ops[sp->op].code) == IR_FAMILY_DOT;   /* a convolution's groups are no experts */
    for (uint32_t k = 0; k < nda_atom_count(n, value); k++) {
        uint32_t name = nda_slot_name(n, result, k), in = 0;
        if (name == NDA_NONE)
            continue;
        for (uint32_t o = 0; o < 2; o++)
            for (uint32_t j = 0; j < nda_atom_count(n, n->slots[operands[o]].value); j++)
                if (nda_slot_name(n, operands[o], j) == name)
                    in |= 1u << o;
        if (in != 3) {
            r->facts[n->names[name].color].produced |= weights[in >> 1];
            r->facts[n->names[name].color].attention |= !weights[0] && !weights[1];
        } else if (weights[0] || weights[1]) {
            r->facts[n->names[name].color].parameter_batch |= dot;
        } else {
            r->facts[n->names[name].color].attention = 1;
        }
    }
}

static void index_facts(struct roles *r, const struct nda_space *sp, const uint8_t *weight)
{
    const struct nda *n = r->n;
    bool table = weight[n->slots[sp->slots].value];
    for (uint32_t f = 0; f < sp->name_count; f++)
        r->facts[n->names[sp->names + f].color].lookup |= table && n->names[sp->names + f].kind == NDA_LOOKUP;
    for (uint32_t k = 0; !table && k < nda_atom_count(n, n->slots[sp->slots + 1].value); k++) {
        uint32_t name = nda_slot_name(n, sp->slots + 1, k);
        if (name != NDA_NONE && n->names[name].kind == NDA_PARALLEL)
            r->facts[n->names[name].color].gather_batch = 1;
    }
}

static void collect_facts(struct roles *r)
{
    struct nda *n = r->n;
    uint8_t *weight = stage_weight_values(n);
    for (uint32_t s = 0; s < n->space_count; s++) {
        const struct nda_space *sp = &n->spaces[s];
        enum ir_family family = ir_opcode_family(n->program->ops[sp->op].code);
        bool op = sp->kind == NDA_SPACE_OP, argument = sp->kind == NDA_SPACE_ARGUMENT;
        bool untied = sp->kind == NDA_SPACE_RESULT;
        for (uint32_t i = 0; untied && i < n->argument_count; i++)
            untied = n->arguments[i].becomes != sp->index;
        untied &= !(untied && r->metrics && r->metrics[sp->index]);
        for (uint32_t f = 0; f < sp->name_count; f++) {
            struct facts *c = &r->facts[n->names[sp->names + f].color];
            c->shardable |= n->names[sp->names + f].shardable;
            c->given |= argument && n->arguments[sp->index].role == NDA_ROLE_DATA;
            c->kept |= sp->kind == NDA_SPACE_RESULT && !untied;
            c->seen |= untied || (op && family == IR_FAMILY_REDUCE && result_forward(r, sp) &&
                                  n->names[sp->names + f].kind == NDA_CONTRACTING);
            if (!argument || n->arguments[sp->index].role != NDA_ROLE_PARAMETER)
                continue;
            c->parameter_dims++;
            for (uint32_t g = 0; g < f; g++)
                c->square |= n->names[sp->names + f].color == n->names[sp->names + g].color;
        }
        if (!op || !result_forward(r, sp))
            continue;
        if (stage_is_contraction(n, sp->op) && sp->slot_count == 3) {
            contraction_facts(r, sp);
            parameter_facts(r, sp, weight);
        } else if (n->program->ops[sp->op].code == IR_GATHER) {
            index_facts(r, sp, weight);
        }
    }
    free(weight);
}

/* how little is asked of a batch. LATE, when no other is left: also a color that some forward contraction sums over, or that only
 * state holds (a sampler's step gives nothing else). LAST, of train steps: neither among the results nor reduced on the way to one
 * (gradients without their loss, sorted examples), but on an argument. */
enum how { EARLY, LATE, LAST };

static uint32_t best_batch(const struct roles *r, enum how how)
{
    uint32_t best = NDA_NONE;
    for (uint32_t c = 0; c < r->n->color_count; c++) {
        const struct facts *f = &r->facts[c];
        bool seen = f->seen || (how == LATE && !r->train && f->kept) || (how == LAST && f->given);
        if (r->train && f->parameter_dims)
            continue;   /* a train step's inputs are no state */
        if (f->contracted && (how == EARLY || !r->train || r->n->colors[c].set_count))
            continue;
        if (f->flops > 0 && seen && (best == NDA_NONE || f->flops > r->facts[best].flops))
            best = c;
    }
    return best;
}

static void find_facts(struct roles *r)
{
    argument_roles(r);
    memset(r->facts, 0, ((size_t)r->n->color_count + 1) * sizeof *r->facts);
    collect_facts(r);
}

/* New weights that another loss of the same step uses (a generator's against the judge just updated) make gradients part of
 * what results need: the forward pass ends at new state then. */
static void end_at_state(struct roles *r)
{
    const struct nda *n = r->n;
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].becomes != NDA_NONE) {
            uint32_t v = n->slots[n->spaces[n->result_spaces[n->arguments[i].becomes]].slots].value;
            r->ends[v] = n->program->values[v].op != IR_NONE;
        }
    memset(r->forward, 0, (size_t)n->program->value_count + 1);
    flow_values(r);
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
    memset(r->forward, 1, (size_t)r->n->program->value_count + 1);   /* no loss among the results: every op may be forward */
    find_facts(r);
    batch = best_batch(r, LATE);
    return batch != NDA_NONE ? batch : best_batch(r, LAST);
}

static int64_t size_of(const struct nda *n, uint32_t color)
{
    return n->names[n->color_names[n->colors[color].names]].size;
}

/* Other examples in the same number (a second tower's, a judge's real ones): what is asked of a batch, through several
 * contractions, on arguments of their own. */
static void find_more_batches(struct roles *r, uint32_t batch)
{
    const struct nda *n = r->n;
    r->batch[batch] = 1;
    for (uint32_t c = 0; c < n->color_count; c++) {
        const struct facts *f = &r->facts[c];
        r->batch[c] |= f->seen && !f->contracted && !n->colors[c].set_count && f->results > 1 && size_of(n, c) == size_of(n, batch) &&
                       f->flops * 8 >= r->facts[batch].flops && (r->train ? f->given && !f->parameter_dims : f->parameter_dims <= 1);
    }
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_space *sp = &n->spaces[n->arguments[i].space];
        bool both = false;
        for (uint32_t f = 0; f < sp->name_count; f++)
            both |= n->names[sp->names + f].color == batch;
        for (uint32_t f = 0; f < sp->name_count && both; f++)
            r->batch[n->names[sp->names + f].color] &= n->names[sp->names + f].color == batch;
    }
}

/* The vocabulary: looked up in a parameter, or made by the last contraction and several times wider than the model
 * dimension. Small tables (positions) are no vocabulary. */
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

/* Megatron's dims: made by one contraction with a parameter and summed by another (or the vocabulary), on few parameters:
 * the model dimension itself is on most of them. Of two on one parameter the major one counts (heads, not keys). */
static bool is_model_color(const struct facts *f, uint32_t most)
{
    bool few = most < 6 || f->parameter_dims * 2 <= most;
    return f->shardable && f->parameter_dims && few && ((f->produced && f->contracted) || f->lookup);
}

/* by_vocabulary: only what stands behind a vocabulary on its table (the model dimension of a model too small to tell it by the
 * number of its parameters); what is dominated dominates no more */
static void mark_dominated(struct roles *r, uint32_t most, bool by_vocabulary)
{
    const struct nda *n = r->n;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        uint32_t slot = n->spaces[n->arguments[i].space].slots;
        bool before = false;
        for (uint32_t k = 0; n->arguments[i].role == NDA_ROLE_PARAMETER && k < nda_atom_count(n, n->slots[slot].value);
             k++) {
            uint32_t name = nda_slot_name(n, slot, k);
            struct facts *f = name == NDA_NONE ? NULL : &r->facts[n->names[name].color];
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
            (sequence == NDA_NONE || n->colors[c].name_count > n->colors[sequence].name_count))
            sequence = c;
        if (f->gather_batch && !n->colors[c].set_count && !(f->parameter_batch && f->parameter_dims) &&
            (edge == NDA_NONE || size > size_of(n, edge)))
            edge = c;
        if (f->parameter_batch && f->parameter_dims &&
            (expert == NDA_NONE || size > size_of(n, expert)))
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

/* Labels: by role, else "embed" for the color on most parameters, else by size; numbered in group order when equal. */
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
    set_apart(&r, false);
    r.train = stage_find_state(n, r.direct);
    if (r.train)
        set_apart(&r, false);
    r.train = r.train || stage_is_train_step(n, r.direct, r.reaches);
    r.metrics = r.train ? stage_metrics(n, r.direct) : NULL;
    memset(r.forward, !r.train, (size_t)n->program->value_count + 1);   /* without training there is no backward pass */
    flow_values(&r);
    batch = find_batch(&r);
    if (batch != NDA_NONE) {
        find_more_batches(&r, batch);
        set_apart(&r, true);
    }
    find_facts(&r);   /* inputs hold the batch, parameters do not */
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
