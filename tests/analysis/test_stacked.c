/* timeout: 120 */
/* Scope `stacked` on a train step of routed experts: products with the experts' weights and what lies between
 * them go by expert, all else by examples; nothing is in it where no weights are stacked. */
#include "load.h"

static const char ROUTED[] = "tests/models/shrunken/routed.mlir.gz";

static uint32_t experts_group(const struct nda *n)
{
    for (uint32_t group = 0; group < n->group_count; group++)
        if (n->groups[group].roles & NDA_COLOR_EXPERT)
            return group;
    fail_msg("no group of experts");
    return NDA_NONE;
}

/* of the factor that the axis shards in a space; 0: none */
static uint32_t roles_on(const struct plan_context *context, const struct plan *plan, uint32_t space,
                         uint32_t axis)
{
    const struct nda *n = plan_context_nda(context);
    struct plan_cell cell = plan_space(plan, space)[axis];
    return cell.factor == NDA_NO_FACTOR
               ? 0
               : n->colors[n->factors[n->spaces[space].factors + cell.factor].color].roles;
}

/* "batching_dims" of the op, which both operands and the result have */
static bool multiplies_stacks(const struct nda *n, uint32_t space)
{
    const struct nda_space *sp = &n->spaces[space];
    if (sp->kind != NDA_SPACE_OP || !nda_is_contraction(n, sp->op))
        return false;
    for (uint32_t slot = sp->slots; slot < sp->slots + sp->slot_count; slot++) {
        bool has = false;
        for (uint32_t k = 0; k < nda_atom_count(n, n->slots[slot].value); k++) {
            uint32_t color = nda_slot_color(n, slot, k);
            has |= color != NDA_NONE && n->colors[color].roles & NDA_COLOR_EXPERT;
        }
        if (!has || ir_value_type(n->program, n->slots[slot].value)->rank != 3)
            return false;
    }
    return true;
}

static void experts_keep_their_products_and_examples_the_rest(void **state)
{
    struct subject subject;
    load(&subject, ROUTED);
    const struct nda *n = subject.nda;
    struct plan_context *plan_context = context(&subject, "data=4");
    uint32_t group = experts_group(n), products = 0, by_examples = 0;
    struct plan plan;
    plan_init(&plan, n, plan_context_mesh(plan_context));
    assert_true(plan_context_stacks(plan_context, group));
    assert_true(plan_apply(plan_context, &plan, (struct plan_decision){group, 0, 0, PLAN_SCOPE_STACKED}) > 0);
    for (uint32_t i = 0; i < n->group_count; i++)
        if (n->groups[i].roles & NDA_COLOR_BATCH)
            plan_apply(plan_context, &plan, (struct plan_decision){i, 0, 0, PLAN_SCOPE_ALL});
    for (uint32_t space = 0; space < n->space_count; space++) {
        const struct nda_space *sp = &n->spaces[space];
        uint32_t roles = roles_on(plan_context, &plan, space, 0);
        if (multiplies_stacks(n, space)) {
            assert_true(roles & NDA_COLOR_EXPERT);
            products++;
        } else if (sp->kind == NDA_SPACE_OP && nda_is_contraction(n, sp->op)) {
            assert_true(roles & NDA_COLOR_BATCH);
            by_examples++;
        }
    }
    /* forward, back to what comes in and to the weights, of two products; router, dispatch, combine, the
     * embedding and the head likewise */
    assert_int_equal(products, 6);
    assert_int_equal(by_examples, 13);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        bool stacks = ir_value_type(n->program, n->arguments[i].value)->rank == 3;
        uint32_t roles = roles_on(plan_context, &plan, n->arguments[i].space, 0);
        if (n->arguments[i].role != NDA_ROLE_DATA)
            assert_int_equal(roles, stacks ? NDA_COLOR_EXPERT : 0); /* not the router's */
    }
    plan_release(&plan);
    plan_context_destroy(plan_context);
    subject_close(&subject);
}

/* what lies between two products: the activation and its gradient, on [experts, room, hidden] */
static void the_activation_goes_with_the_products(void **state)
{
    struct subject subject;
    load(&subject, ROUTED);
    const struct nda *n = subject.nda;
    struct plan_context *plan_context = context(&subject, "data=4");
    struct plan plan;
    uint32_t group = experts_group(n), inside = 0;
    plan_init(&plan, n, plan_context_mesh(plan_context));
    plan_apply(plan_context, &plan, (struct plan_decision){group, 0, 0, PLAN_SCOPE_STACKED});
    for (uint32_t space = 0; space < n->space_count; space++) {
        const struct nda_space *sp = &n->spaces[space];
        const struct ir_type *type =
            ir_value_type(n->program, n->slots[sp->slots + sp->slot_count - 1].value);
        const int64_t *sizes = ir_type_dims(n->program, type);
        if (sp->kind == NDA_SPACE_OP && !nda_is_contraction(n, sp->op) && sp->slot_count == 3 &&
            type->rank == 3 && sizes[0] == 16 && sizes[1] == 4096 && sizes[2] == 4096) {
            assert_true(roles_on(plan_context, &plan, space, 0) & NDA_COLOR_EXPERT);
            inside++;
        }
    }
    assert_true(inside > 4);
    plan_release(&plan);
    plan_context_destroy(plan_context);
    subject_close(&subject);
}

static void experts_by_all_to_all_race(void **state)
{
    struct subject subject;
    struct error e = {0};
    load(&subject, ROUTED);
    struct plan_context *plan_context = context(&subject, "data=2,model=2");
    struct plan_baseline stacked, expert, found;
    uint32_t count, races = 0;
    ASSERT_OK(plan_baseline_find(plan_context, "stacked:model+batch:model", &stacked, &e), &e);
    ASSERT_OK(plan_baseline_find(plan_context, "expert:model+batch:model", &expert, &e), &e);
    assert_int_equal(stacked.decisions[0].scope, PLAN_SCOPE_STACKED);
    assert_int_equal(expert.decisions[0].scope, PLAN_SCOPE_ALL);
    struct plan_baseline *list = plan_baselines(plan_context, &count);
    for (uint32_t i = 0; i < count; i++)
        races += strstr(list[i].name, "stacked:") != NULL;
    assert_true(races > 4);
    free(list);
    struct text text = {0};
    plan_decision_text(plan_context, stacked.decisions[0], &text);
    assert_string_equal(text.at, "stacked:experts@model");
    text_release(&text);
    ASSERT_OK(plan_decision_find(plan_context, "experts", "model", "", "stacked", &found.decisions[0], &e),
              &e);
    assert_int_equal(found.decisions[0].group, stacked.decisions[0].group);
    assert_int_equal(found.decisions[0].axis, stacked.decisions[0].axis);
    assert_int_equal(found.decisions[0].scope, stacked.decisions[0].scope);
    plan_context_destroy(plan_context);
    subject_close(&subject);
}

static void without_stacked_weights_there_is_no_such_scope(void **state)
{
    static const char *const models[] = {"tests/models/small/t2b.mlir", "tests/models/small/unet.mlir",
                                         "tests/models/small/gns.mlir", "tests/models/mlp.mlir"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct subject subject;
        struct error e = {0};
        struct plan_baseline out;
        uint32_t count;
        load(&subject, models[i]);
        struct plan_context *plan_context = context(&subject, "data=2");
        const struct plan_decision *offered = plan_context_decisions(plan_context, &count);
        for (uint32_t k = 0; k < count; k++)
            assert_int_not_equal(offered[k].scope, PLAN_SCOPE_STACKED);
        assert_int_equal(plan_baseline_find(plan_context, "stacked:data", &out, &e), ERROR_INVALID_PLAN);
        for (uint32_t group = 0; group < subject.nda->group_count; group++)
            assert_false(plan_context_stacks(plan_context, group));
        plan_context_destroy(plan_context);
        subject_close(&subject);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(experts_keep_their_products_and_examples_the_rest),
        cmocka_unit_test(the_activation_goes_with_the_products),
        cmocka_unit_test(experts_by_all_to_all_race),
        cmocka_unit_test(without_stacked_weights_there_is_no_such_scope),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
