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

/* Nested loops multiply; a product that has come to this grows no further: it stays far from the end of 64
 * bits. */
static const int64_t MANY_TRIPS = INT64_C(1) << 40;

/* iterations of the loops around an op */
static int64_t trips_around(const struct nda *nda, uint32_t op)
{
    int64_t trips = 1;
    for (uint32_t block = nda->program->ops[op].block; block != IR_NONE && block != nda->block;) {
        uint32_t region = nda->program->blocks[block].region, parent = nda->program->regions[region].op;
        if (nda->trip_count[parent] > 1 && trips < MANY_TRIPS)
            trips *= nda->trip_count[parent];
        block = nda->program->ops[parent].block;
    }
    return trips;
}

static void fill_tables(struct plan_cfn *n)
{
    const struct nda *nda = n->nda;
    n->slot_space = mem_alloc(((size_t)nda->slot_count + 1) * sizeof *n->slot_space);
    n->trips = mem_alloc(((size_t)nda->space_count + 1) * sizeof *n->trips);
    for (uint32_t space = 0; space < nda->space_count; space++) {
        bool boundary =
            nda->spaces[space].kind == NDA_SPACE_ARGUMENT || nda->spaces[space].kind == NDA_SPACE_RESULT;
        n->trips[space] = boundary ? 1 : trips_around(nda, nda->spaces[space].op);
        for (uint32_t k = 0; k < nda->spaces[space].slot_count; k++)
            n->slot_space[nda->spaces[space].slots + k] = space;
    }
}

static void count_uses(struct plan_cfn *n)
{
    const struct nda *nda = n->nda;
    n->uses = mem_zalloc((size_t)nda->program->value_count + 1, sizeof *n->uses);
    for (uint32_t i = 0; i < nda->space_count; i++) {
        const struct nda_space *space = &nda->spaces[i];
        if (n->node_of[i] == NDA_NONE)
            continue;
        for (uint32_t k = space->slots; k < space->slots + space->slot_count; k++)
            n->uses[nda->slots[k].value] += !nda->slots[k].is_result;
    }
}

static bool makes_partials(const struct nda *nda, const struct nda_space *space)
{
    for (uint32_t factor = 0; factor < space->factor_count; factor++)
        if (nda->factors[space->factors + factor].kind == NDA_CONTRACTING ||
            nda->factors[space->factors + factor].kind == NDA_LOOKUP)
            return true;
    return false;
}

/* a value that the body may return partial may be carried so, and leave the loop so */
static bool carry_partial(struct plan_cfn *n, const struct nda_space *end)
{
    const struct ir_program *program = n->nda->program;
    uint32_t body = ir_region_block(program, end->op, 1);
    uint32_t returned = ir_operand(program, ir_block_terminator(program, body), end->index);
    uint32_t carried = program->blocks[body].args + end->index;
    if (!n->may_be_partial[returned] || n->may_be_partial[carried])
        return false;
    n->may_be_partial[carried] = n->may_be_partial[ir_result(program, end->op, end->index)] = 1;
    return true;
}

static bool pass_partials_on(struct plan_cfn *n)
{
    const struct nda *nda = n->nda;
    bool changed = false;
    for (uint32_t space = 0; space < nda->space_count; space++) {
        const struct nda_space *sp = &nda->spaces[space];
        if (sp->kind == NDA_SPACE_LOOP_END)
            changed |= carry_partial(n, sp);
        if (sp->kind != NDA_SPACE_OP)
            continue;
        bool partial = makes_partials(nda, sp);
        for (uint32_t i = 0; i < nda->program->ops[sp->op].operand_count; i++)
            partial |= spmd_forms_passes_partials(n->forms, sp->op) &&
                       n->may_be_partial[ir_operand(nda->program, sp->op, i)];
        for (uint32_t i = 0; partial && i < nda->program->ops[sp->op].result_count; i++) {
            changed |= !n->may_be_partial[ir_result(nda->program, sp->op, i)];
            n->may_be_partial[ir_result(nda->program, sp->op, i)] = 1;
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
    const struct nda_space *nda_space = &n->nda->spaces[space];
    int64_t bytes[2] = {0, 0}, shards = 1;
    if (nda_space->kind != NDA_SPACE_OP)
        return 0;
    for (uint32_t axis = 0; axis < n->mesh->axis_count; axis++)
        if (cells[axis].factor != NDA_NO_FACTOR)
            shards *= n->mesh->axes[axis].size;
    if (n->kind == PLAN_CFN_ADMISSIBLE)
        return n->trips[space] * cost_estimate_floor(n->estimate, nda_space->op, shards);
    for (uint32_t k = nda_space->slots; k < nda_space->slots + nda_space->slot_count; k++) {
        struct spmd_form form;
        spmd_forms_slot(n->forms, space, k, cells, &form);
        bytes[n->nda->slots[k].is_result] += spmd_local_bytes(n->nda, n->mesh, n->nda->slots[k].value, &form);
    }
    return n->trips[space] * cost_estimate_op(n->estimate, nda_space->op, shards, bytes[0], bytes[1]);
}

static void make_nodes(struct plan_cfn *n)
{
    struct cfn_problem *problem = &n->problem;
    problem->value_count = n->first_option[problem->node_count];
    problem->nodes = mem_zalloc((size_t)problem->node_count + 1, sizeof *problem->nodes);
    problem->costs = mem_zalloc(problem->value_count + 1, sizeof *problem->costs);
    problem->usages = mem_zalloc(problem->value_count + 1, sizeof *problem->usages);
    for (uint32_t i = 0; i < problem->node_count; i++) {
        problem->nodes[i].first_value = n->first_option[i];
        problem->nodes[i].domain = (int32_t)plan_cfn_domain(n, i);
    }
}

enum error_code plan_cfn_switch(struct plan_cfn *n, enum plan_cfn_kind kind, struct error *e)
{
    struct cfn_problem *problem = &n->problem;
    n->kind = kind;
    if (n->like)
        plan_cfn_count_shared(n);
    for (uint32_t i = 0; i < problem->node_count; i++)
        for (uint32_t k = 0; k < plan_cfn_domain(n, i); k++)
            problem->costs[n->first_option[i] + k] = (n->shared ? n->shared[i].count : 1) *
                                                     option_cost(n, n->space_of[i], plan_cfn_option(n, i, k));
    plan_cfn_memory(n);
    free(problem->edges);
    free(problem->matrices);
    free(problem->entries);
    TRY(plan_cfn_edges(n, e));
    return n->like ? plan_cfn_share_edges(n, e) : ERROR_OK;
}

static enum error_code create(const struct evaluator *evaluator, enum plan_cfn_kind kind,
                              const struct fold *fold, struct plan_cfn **out, struct error *e)
{
    struct plan_cfn *n = mem_zalloc(1, sizeof *n);
    n->context = evaluator_context(evaluator);
    n->nda = plan_context_nda(n->context);
    n->mesh = plan_context_mesh(n->context);
    n->machine = evaluator_machine(evaluator);
    n->estimate = evaluator_estimate(evaluator);
    enum error_code code = spmd_forms_create(n->context, evaluator_options(evaluator), &n->forms, e);
    if (code == ERROR_OK) {
        fill_tables(n);
        if (fold)
            plan_cfn_share(n, fold);
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

enum error_code plan_cfn_create(const struct evaluator *evaluator, enum plan_cfn_kind kind,
                                struct plan_cfn **out, struct error *e)
{
    return create(evaluator, kind, NULL, out, e);
}

enum error_code plan_cfn_create_folded(const struct evaluator *evaluator, enum plan_cfn_kind kind,
                                       struct plan_cfn **out, struct error *e)
{
    return create(evaluator, kind, evaluator_fold_of(evaluator), out, e);
}

void plan_cfn_destroy(struct plan_cfn *n)
{
    if (!n)
        return;
    spmd_forms_destroy(n->forms);
    free(n->node_of);
    free(n->space_of);
    free(n->like);
    free(n->shared);
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
    for (uint32_t space = 0; space < n->nda->space_count; space++) {
        uint32_t node = n->node_of[space];
        if (node == NDA_NONE)
            continue;
        const struct plan_cell *cells = plan_cfn_option(n, node, (uint32_t)values[node]);
        const struct plan_cell *start = plan_space(plan_context_start(n->context), space);
        for (uint32_t position = 0; position < axes; position++)
            for (uint32_t axis = 0; axis < axes; axis++)
                if (cells[axis].factor != NDA_NO_FACTOR && cells[axis].position == position &&
                    start[axis].factor == NDA_NO_FACTOR)
                    /* 0: its tied space did */
                    plan_apply_factor(n->context, out, space, cells[axis].factor, axis);
    }
}
