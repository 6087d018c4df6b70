/* The network of a module, put together: nodes with their costs here, edges and memory by their files, and
 * the way back from an answer to a plan.
 *
 *   create     spaces -> options -> nodes; uses of values; which values some plan may leave partial
 *   switch     the same nodes as another kind of network: other costs, usages, edges
 *
 * Values that may be partial are found by passing them on until nothing changes: what contracts makes them,
 * what is linear passes them on, loops carry them. The admissible network promises nothing about those. */
#include "plan_cfn/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* iterations of the loops around an op */
static int64_t trips_around(const struct nda *a, uint32_t op)
{
    int64_t trips = 1;
    for (uint32_t block = a->program->ops[op].block; block != IR_NONE && block != a->block;) {
        uint32_t region = a->program->blocks[block].region, parent = a->program->regions[region].op;
        if (a->trip_count[parent] > 1 && trips < INT64_C(1) << 40)
            trips *= a->trip_count[parent];
        block = a->program->ops[parent].block;
    }
    return trips;
}

static void fill_tables(struct plan_cfn *n)
{
    const struct nda *a = n->nda;
    n->slot_space = mem_alloc(((size_t)a->slot_count + 1) * sizeof *n->slot_space);
    n->trips = mem_alloc(((size_t)a->space_count + 1) * sizeof *n->trips);
    for (uint32_t s = 0; s < a->space_count; s++) {
        bool boundary = a->spaces[s].kind == NDA_SPACE_ARGUMENT || a->spaces[s].kind == NDA_SPACE_RESULT;
        n->trips[s] = boundary ? 1 : trips_around(a, a->spaces[s].op);
        for (uint32_t k = 0; k < a->spaces[s].slot_count; k++)
            n->slot_space[a->spaces[s].slots + k] = s;
    }
}

static void count_uses(struct plan_cfn *n)
{
    const struct nda *a = n->nda;
    n->uses = mem_zalloc((size_t)a->program->value_count + 1, sizeof *n->uses);
    for (uint32_t i = 0; i < n->problem.node_count; i++) {
        const struct nda_space *s = &a->spaces[n->space_of[i]];
        for (uint32_t k = s->slots; k < s->slots + s->slot_count; k++)
            n->uses[a->slots[k].value] += !a->slots[k].is_result;
    }
}

static bool makes_partials(const struct nda *a, const struct nda_space *s)
{
    for (uint32_t f = 0; f < s->name_count; f++)
        if (a->names[s->names + f].kind == NDA_CONTRACTING || a->names[s->names + f].kind == NDA_LOOKUP)
            return true;
    return false;
}

/* a value that the body may return partial may be carried so, and leave the loop so */
static bool carry_partial(struct plan_cfn *n, const struct nda_space *end)
{
    const struct ir_program *p = n->nda->program;
    uint32_t body = ir_region_block(p, end->op, 1);
    uint32_t returned = ir_operand(p, ir_block_terminator(p, body), end->index);
    uint32_t carried = p->blocks[body].args + end->index;
    if (!n->may_be_partial[returned] || n->may_be_partial[carried])
        return false;
    n->may_be_partial[carried] = n->may_be_partial[ir_result(p, end->op, end->index)] = 1;
    return true;
}

static bool pass_partials_on(struct plan_cfn *n)
{
    const struct nda *a = n->nda;
    bool changed = false;
    for (uint32_t s = 0; s < a->space_count; s++) {
        const struct nda_space *sp = &a->spaces[s];
        if (sp->kind == NDA_SPACE_LOOP_END)
            changed |= carry_partial(n, sp);
        if (sp->kind != NDA_SPACE_OP)
            continue;
        bool partial = makes_partials(a, sp);
        for (uint32_t i = 0; i < a->program->ops[sp->op].operand_count; i++)
            partial |= spmd_forms_passes_partials(n->forms, sp->op) &&
                       n->may_be_partial[ir_operand(a->program, sp->op, i)];
        for (uint32_t i = 0; partial && i < a->program->ops[sp->op].result_count; i++) {
            changed |= !n->may_be_partial[ir_result(a->program, sp->op, i)];
            n->may_be_partial[ir_result(a->program, sp->op, i)] = 1;
        }
    }
    return changed;
}

/* what an op contracts, what ops that a partial passes make of it, and what loops carry of it */
static void find_partials(struct plan_cfn *n)
{
    n->may_be_partial = mem_zalloc((size_t)n->nda->program->value_count + 1, 1);
    while (pass_partials_on(n))
        continue;
}

static int64_t option_cost(const struct plan_cfn *n, uint32_t space, const struct plan_cell *cells)
{
    const struct nda_space *s = &n->nda->spaces[space];
    int64_t bytes[2] = {0, 0}, shards = 1;
    if (s->kind != NDA_SPACE_OP)
        return 0;
    for (uint32_t a = 0; a < n->mesh->axis_count; a++)
        if (cells[a].factor != NDA_NO_FACTOR)
            shards *= n->mesh->axes[a].size;
    if (n->kind == PLAN_CFN_ADMISSIBLE)
        return n->trips[space] * cost_estimate_floor(n->estimate, s->op, shards);
    for (uint32_t k = s->slots; k < s->slots + s->slot_count; k++) {
        struct spmd_form f;
        spmd_forms_slot(n->forms, space, k, cells, &f);
        bytes[n->nda->slots[k].is_result] += spmd_local_bytes(n->nda, n->mesh, n->nda->slots[k].value, &f);
    }
    return n->trips[space] * cost_estimate_op(n->estimate, s->op, shards, bytes[0], bytes[1]);
}

static void make_nodes(struct plan_cfn *n)
{
    struct cfn_problem *p = &n->problem;
    p->value_count = n->first_option[p->node_count];
    p->nodes = mem_zalloc((size_t)p->node_count + 1, sizeof *p->nodes);
    p->costs = mem_zalloc(p->value_count + 1, sizeof *p->costs);
    p->usages = mem_zalloc(p->value_count + 1, sizeof *p->usages);
    for (uint32_t i = 0; i < p->node_count; i++) {
        p->nodes[i].first_value = n->first_option[i];
        p->nodes[i].domain = (int32_t)plan_cfn_domain(n, i);
    }
}

enum error_code plan_cfn_switch(struct plan_cfn *n, enum plan_cfn_kind kind, struct error *e)
{
    struct cfn_problem *p = &n->problem;
    n->kind = kind;
    for (uint32_t i = 0; i < p->node_count; i++)
        for (uint32_t k = 0; k < plan_cfn_domain(n, i); k++)
            p->costs[n->first_option[i] + k] = option_cost(n, n->space_of[i], plan_cfn_option(n, i, k));
    plan_cfn_memory(n);
    free(p->edges);
    free(p->matrices);
    free(p->entries);
    return plan_cfn_edges(n, e);
}

enum error_code plan_cfn_create(const struct evaluator *v, enum plan_cfn_kind kind, struct plan_cfn **out,
                                struct error *e)
{
    struct plan_cfn *n = mem_zalloc(1, sizeof *n);
    n->context = evaluator_context(v);
    n->nda = plan_context_nda(n->context);
    n->mesh = plan_context_mesh(n->context);
    n->machine = evaluator_machine(v);
    enum error_code code = spmd_forms_create(n->context, evaluator_options(v), &n->forms, e);
    if (code == ERROR_OK)
        code = cost_estimate_create(n->context, n->machine, evaluator_options(v), &n->estimate, e);
    if (code == ERROR_OK) {
        fill_tables(n);
        plan_cfn_options(n);
        count_uses(n);
        find_partials(n);
        make_nodes(n);
        code = plan_cfn_switch(n, kind, e);
    }
    if (code != ERROR_OK) {
        plan_cfn_destroy(n);
        return code;
    }
    *out = n;
    return ERROR_OK;
}

void plan_cfn_destroy(struct plan_cfn *n)
{
    if (!n)
        return;
    spmd_forms_destroy(n->forms);
    cost_estimate_destroy(n->estimate);
    free(n->node_of);
    free(n->space_of);
    free(n->first_option);
    VEC_FREE(&n->cells);
    free(n->slot_space);
    free(n->uses);
    free(n->trips);
    free(n->may_be_partial);
    cfn_problem_release(&n->problem);
    free(n);
}

const struct cfn_problem *plan_cfn_problem(const struct plan_cfn *n)
{
    return &n->problem;
}

void plan_cfn_set_limit(struct plan_cfn *n, int64_t bytes)
{
    n->problem.limit = bytes;
}

bool plan_cfn_complete(const struct plan_cfn *n)
{
    return !n->cut;
}

void plan_cfn_plan(const struct plan_cfn *n, const int32_t *values, struct plan *out)
{
    uint32_t axes = n->mesh->axis_count;
    plan_copy(out, plan_context_start(n->context));
    for (uint32_t i = 0; i < n->problem.node_count; i++) {
        const struct plan_cell *cells = plan_cfn_option(n, i, (uint32_t)values[i]);
        const struct plan_cell *start = plan_space(plan_context_start(n->context), n->space_of[i]);
        for (uint32_t position = 0; position < axes; position++)
            for (uint32_t a = 0; a < axes; a++)
                if (cells[a].factor != NDA_NO_FACTOR && cells[a].position == position &&
                    start[a].factor == NDA_NO_FACTOR)
                    /* 0: its tied space did */
                    plan_apply_factor(n->context, out, n->space_of[i], cells[a].factor, a);
    }
}
