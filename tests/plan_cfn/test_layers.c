/* label: proof */
/* timeout: 120 */
/* Networks whose layers share their nodes: what layers that are split alike cost in the whole network, to the
 * picosecond, and about what they hold; plans that split layers alike; whole networks where pins tell layers
 * apart. */
#include "subject.h"
#include "support.h"

#include "analysis/fold.h"
#include "plan_cfn/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void open_model(const char *name, struct subject *subject)
{
    char path[600];
    struct error e;
    snprintf(path, sizeof path, "%s/tests/models/%s", TOAST_SOURCE_DIR, name);
    ASSERT_OK(subject_file(subject, path, &e), &e);
    ASSERT_OK(subject_mesh(subject, "data=4,model=4", &e), &e);
    ASSERT_OK(subject_device(subject, "a100-40", 0, &e), &e);
    assert_true(evaluator_fold(subject->evaluator, 4));
}

/* tied: arguments and results as they are pinned, so that what is tied agrees; all else by chance */
static void draw(const struct plan_cfn *folded, const struct plan_cfn *whole, bool tied, struct rng *rng,
                 int32_t *few, int32_t *all)
{
    for (uint32_t i = 0; i < folded->problem.node_count; i++) {
        uint8_t kind = folded->nda->spaces[folded->space_of[i]].kind;
        bool stays = tied && (kind == NDA_SPACE_ARGUMENT || kind == NDA_SPACE_RESULT);
        few[i] = stays ? 0 : (int32_t)rng_below(rng, plan_cfn_domain(folded, i));
    }
    for (uint32_t space = 0; space < whole->nda->space_count; space++) {
        assert_int_equal(folded->node_of[space] == NDA_NONE, whole->node_of[space] == NDA_NONE);
        if (whole->node_of[space] != NDA_NONE)
            all[whole->node_of[space]] = few[folded->node_of[space]];
    }
}

static void costs_are_the_whole_networks(void **state)
{
    (void)state;
    static const char *const models[] = {"t2b.mlir.gz", "t2b_flat.mlir.gz", "gpt_torch.mlir.gz"};
    static const enum plan_cfn_kind kinds[] = {PLAN_CFN_FULL, PLAN_CFN_SHARED, PLAN_CFN_MOVING};
    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        struct subject subject;
        struct plan_cfn *folded, *whole;
        struct error e;
        struct rng rng = {5 + m};
        double least = 1e9, most = 0;
        open_model(models[m], &subject);
        ASSERT_OK(plan_cfn_create_folded(subject.evaluator, kinds[0], &folded, &e), &e);
        ASSERT_OK(plan_cfn_create(subject.evaluator, kinds[0], &whole, &e), &e);
        uint32_t few_nodes = folded->problem.node_count, nodes = whole->problem.node_count;
        assert_true(few_nodes < nodes);
        int32_t *few = mem_zalloc(few_nodes + 1, sizeof *few), *all = mem_zalloc(nodes + 1, sizeof *all);
        for (uint32_t k = 0; k < 30; k++) {
            struct cfn_verdict mine, its;
            if (k % 10 == 0 && k) {
                ASSERT_OK(plan_cfn_switch(folded, kinds[k / 10], &e), &e);
                ASSERT_OK(plan_cfn_switch(whole, kinds[k / 10], &e), &e);
            }
            draw(folded, whole, true, &rng, few, all);
            ASSERT_OK(cfn_evaluate(plan_cfn_problem(folded), few, &mine, &e), &e);
            ASSERT_OK(cfn_evaluate(plan_cfn_problem(whole), all, &its, &e), &e);
            assert_true(its.cost < PLAN_CFN_FORBIDDEN);
            assert_true(mine.cost == its.cost);
            draw(folded, whole, false, &rng, few, all);
            ASSERT_OK(cfn_evaluate(plan_cfn_problem(folded), few, &mine, &e), &e);
            ASSERT_OK(cfn_evaluate(plan_cfn_problem(whole), all, &its, &e), &e);
            double ratio = (double)mine.peak / (double)its.peak;
            least = ratio < least ? ratio : least;
            most = ratio > most ? ratio : most;
        }
        print_message("%s: %u nodes for %u, %u edges for %u, peaks %.3f to %.3f\n", models[m], few_nodes,
                      nodes, folded->problem.edge_count, whole->problem.edge_count, least, most);
        assert_true(least >= 0.95 && most <= 1.05);
        free(few);
        free(all);
        plan_cfn_destroy(folded);
        plan_cfn_destroy(whole);
        subject_close(&subject);
    }
}

static void plans_split_layers_alike(void **state)
{
    (void)state;
    struct subject subject;
    struct plan_cfn *n;
    struct plan plan;
    struct error e;
    struct rng rng = {9};
    open_model("gpt_torch.mlir.gz", &subject);
    ASSERT_OK(plan_cfn_create_folded(subject.evaluator, PLAN_CFN_SHARED, &n, &e), &e);
    int32_t *values = mem_zalloc(n->problem.node_count + 1, sizeof *values);
    plan_init(&plan, subject.nda, &subject.mesh);
    for (uint32_t k = 0; k < 20; k++) {
        for (uint32_t i = 0; i < n->problem.node_count; i++)
            values[i] = (int32_t)rng_below(&rng, plan_cfn_domain(n, i));
        plan_cfn_plan(n, values, &plan);
        assert_true(hash128_compare(plan.hash, plan_context_start(subject.context)->hash) != 0);
        assert_true(fold_holds(evaluator_fold_of(subject.evaluator), &plan));
    }
    free(values);
    plan_release(&plan);
    plan_cfn_destroy(n);
    subject_close(&subject);
}

/* without a fold, and where one layer is pinned otherwise */
static void what_is_not_alike_has_nodes_of_its_own(void **state)
{
    (void)state;
    struct subject subject;
    struct plan_cfn *folded, *whole, *pinned;
    struct error e;
    open_model("gpt_torch.mlir.gz", &subject);
    const struct fold *fold = evaluator_fold_of(subject.evaluator);
    ASSERT_OK(plan_cfn_create(subject.evaluator, PLAN_CFN_SHARED, &whole, &e), &e);
    ASSERT_OK(plan_cfn_create_folded(subject.evaluator, PLAN_CFN_SHARED, &folded, &e), &e);
    struct plan *start = (struct plan *)(uintptr_t)plan_context_start(subject.context);
    uint32_t set = 0;
    for (uint32_t i = 0; i < fold->space_count && !set; i++)
        for (uint32_t factor = 0; factor < subject.nda->spaces[fold->spaces[i].gone].factor_count && !set;
             factor++)
            set = plan_apply_factor(subject.context, start, fold->spaces[i].gone, factor, 0);
    assert_true(set > 0);
    ASSERT_OK(plan_cfn_create_folded(subject.evaluator, PLAN_CFN_SHARED, &pinned, &e), &e);
    assert_int_equal(pinned->problem.node_count, whole->problem.node_count);
    assert_true(folded->problem.node_count < whole->problem.node_count);
    plan_cfn_destroy(folded);
    plan_cfn_destroy(whole);
    plan_cfn_destroy(pinned);
    assert_true(!evaluator_fold(subject.evaluator, 0));
    ASSERT_OK(plan_cfn_create_folded(subject.evaluator, PLAN_CFN_SHARED, &folded, &e), &e);
    assert_null(folded->like);
    plan_cfn_destroy(folded);
    subject_close(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(costs_are_the_whole_networks),
                                       cmocka_unit_test(plans_split_layers_alike),
                                       cmocka_unit_test(what_is_not_alike_has_nodes_of_its_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
