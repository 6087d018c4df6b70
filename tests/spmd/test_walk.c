/* Walks whose communication is worked out by hand, and the invariants of any local program on random
 * plans. */
/* timeout: 120 */
#include "walk_support.h"

static void print_walk(const struct model *model)
{
    struct text text = {0};

    spmd_local_text(&model->local, &text);
    print_message("%s", text.at);
    text_release(&text);
}

static void expect_count(const struct model *model, enum spmd_step_kind kind, int64_t count, int64_t bytes)
{
    int64_t b, n = model_count(model, kind, &b);

    if (n == count && (bytes < 0 || b == bytes))
        return;
    print_walk(model);
    fail_msg("%s: %lld of %lld bytes, expected %lld of %lld", spmd_step_kind_name(kind), (long long)n,
             (long long)b, (long long)count, (long long)bytes);
}

static void expect_none_but(const struct model *model, uint32_t kinds)
{
    for (int k = SPMD_ALL_GATHER; k <= SPMD_PERMUTE; k++)
        if (!(kinds >> k & 1))
            expect_count(model, (enum spmd_step_kind)k, 0, 0);
}

static void apply(const struct model *model, struct plan *plan, uint32_t group, uint32_t bits, uint8_t axis)
{
    struct plan_decision decision = {.group = group, .bits = bits, .axis = axis, .scope = PLAN_SCOPE_ALL};

    assert_true(plan_apply(model->context, plan, decision) > 0);
}

/* The paper's figure 2: batch alone is free of communication; the hidden dimension is Megatron's split. */
static void test_mlp(void **state)
{
    struct model model;
    struct plan plan = {0};

    (void)state;
    model_open(&model, "mlp.mlir", "b=4,m=2");
    plan_init(&plan, model.nda, &model.mesh);
    apply(&model, &plan, model_group(&model, 0, 0), 0, 0);
    model_walk(&model, &plan, NULL);
    expect_none_but(&model, 0);
    apply(&model, &plan, model_group(&model, 1, 1), 0, 1);
    model_walk(&model, &plan, NULL);
    expect_none_but(&model, 1u << SPMD_ALL_REDUCE);
    expect_count(&model, SPMD_ALL_REDUCE, 1, 256 / 4 * 16 * 4); /* [256{b}, 16] f32, the paper's figure 2c */
    plan_release(&plan);
    model_close(&model);
}

/* The paper's figure 5: one side of the conflict is figure 5b, the other gathers q and v and completes b. */
static void test_attention(void **state)
{
    struct model model;
    uint32_t figure_5b = 0;

    (void)state;
    model_open(&model, "paper_attention.mlir", "s=4");
    uint32_t group = model_group(&model, 0, 0);
    assert_int_equal(model.nda->groups[group].bits, 1);
    for (uint32_t bits = 0; bits < 2; bits++) {
        struct plan plan = {0};
        plan_init(&plan, model.nda, &model.mesh);
        apply(&model, &plan, group, bits, 0);
        model_walk(&model, &plan, NULL);
        if (model_count(&model, SPMD_REDUCE_SCATTER, NULL) == 1 &&
            model_count(&model, SPMD_ALL_GATHER, NULL) == 1) {
            figure_5b++;
            expect_none_but(&model, 1u << SPMD_ALL_GATHER | 1u << SPMD_REDUCE_SCATTER);
            expect_count(&model, SPMD_ALL_GATHER, 1, 128 * 16 * 4);         /* k : [S, H1] */
            expect_count(&model, SPMD_REDUCE_SCATTER, 1, 128 / 4 * 24 * 4); /* z : [S{s}, H2] */
        } else {
            expect_none_but(&model, 1u << SPMD_ALL_GATHER | 1u << SPMD_ALL_REDUCE);
            expect_count(&model, SPMD_ALL_GATHER, 2, 128 * 16 * 4 + 128 * 24 * 4); /* q, v */
            expect_count(&model, SPMD_ALL_REDUCE, 1, 128 * 4);                     /* b */
        }
        plan_release(&plan);
    }
    assert_int_equal(figure_5b, 1);
    model_close(&model);
}

/* Data parallel T2B: every parameter's gradient is reduced once (164 of them) and the loss's two sums. */
static void test_gradients(void **state)
{
    struct model model;
    struct plan plan = {0};
    struct plan_baseline baseline;
    struct error e = {0};
    struct spmd_options options;

    (void)state;
    model_open(&model, "t2b.mlir.gz", "data=16");
    plan_init(&plan, model.nda, &model.mesh);
    ASSERT_OK(plan_baseline_find(model.context, "batch:data", &baseline, &e), &e);
    plan_replay(model.context, baseline.decisions, &baseline.count, &plan);
    options = spmd_default_options(&model.mesh);
    options.combine_bytes = 1;
    model_walk(&model, &plan, &options);
    expect_none_but(&model, 1u << SPMD_ALL_REDUCE);
    uint32_t gradients = 0, scalars = 0;
    for (uint32_t i = 0; i < model.local.step_count; i++)
        if (model.local.steps[i].kind == SPMD_ALL_REDUCE) {
            uint32_t origin = model.local.values[model.local.steps[i].results].origin;
            if (nda_atom_count(model.nda, origin))
                gradients++;
            else
                scalars++;
        }
    assert_int_equal(gradients, 164);
    assert_in_range(scalars, 1, 2);
    options.combine_bytes = 0;
    model_walk(&model, &plan, &options);
    assert_in_range(model_count(&model, SPMD_ALL_REDUCE, NULL), 20, 140);
    plan_release(&plan);
    model_close(&model);
}

/* Gradient accumulation by a scan, batch-sharded: every parameter's gradient and the loss are summed over
 * the devices once, after the loop, where they combine to one op. ZeRO-1 scatters the three gradients
 * there and gathers the parameters; FSDP scatters in every one of the four iterations, as its carried sums
 * are sharded. */
static void test_accumulated_step(void **state)
{
    static const struct {
        const char *baseline;
        int64_t all_reduces, scatters, combined;
    } cases[] = {{"batch:data", 3 + 1, 0, 1}, {"zero2:data", 1, 3, 1}, {"fsdp:data", 1, 3 * 4, 1}};
    struct model model;
    struct error e = {0};
    size_t size;
    char *text = support_read(TOAST_SOURCE_DIR "/tests/spmd/accumulated_step.mlir", &size);

    (void)state;
    model_text(&model, text, size, "data=8");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct plan plan = {0};
        struct plan_baseline baseline;
        struct spmd_options options = spmd_default_options(&model.mesh);
        plan_init(&plan, model.nda, &model.mesh);
        ASSERT_OK(plan_baseline_find(model.context, cases[i].baseline, &baseline, &e), &e);
        plan_replay(model.context, baseline.decisions, &baseline.count, &plan);
        options.combine_bytes = 1;
        model_walk(&model, &plan, &options);
        expect_count(&model, SPMD_ALL_REDUCE, cases[i].all_reduces, -1);
        assert_int_equal(model_count(&model, SPMD_REDUCE_SCATTER, NULL), cases[i].scatters);
        for (uint32_t k = 0; k < model.local.step_count; k++)
            if (model.local.steps[k].kind == SPMD_ALL_REDUCE)
                assert_int_equal(model.local.steps[k].trips, 1);
        options.combine_bytes = 0;
        model_walk(&model, &plan, &options);
        assert_int_equal(model_count(&model, SPMD_ALL_REDUCE, NULL), cases[i].combined);
        plan_release(&plan);
    }
    model_close(&model);
    free(text);
}

/* FSDP T2B gathers each parameter once, or (regather) again for the backward pass and the next distant
 * use. */
static void test_regather(void **state)
{
    struct model model;
    struct plan plan = {0};
    struct plan_baseline baseline;
    struct error e = {0};
    struct spmd_options options;
    int64_t bytes, again;

    (void)state;
    model_open(&model, "t2b.mlir.gz", "data=16");
    plan_init(&plan, model.nda, &model.mesh);
    ASSERT_OK(plan_baseline_find(model.context, "fsdp:data", &baseline, &e), &e);
    plan_replay(model.context, baseline.decisions, &baseline.count, &plan);
    options = spmd_default_options(&model.mesh);
    options.combine_bytes = 1;
    model_walk(&model, &plan, &options);
    expect_none_but(&model, 1u << SPMD_ALL_REDUCE | 1u << SPMD_ALL_GATHER | 1u << SPMD_REDUCE_SCATTER);
    assert_int_equal(model_count(&model, SPMD_ALL_GATHER, &bytes), 164);
    assert_int_equal(model_count(&model, SPMD_REDUCE_SCATTER, NULL), 164);
    options.regather = 1;
    model_walk(&model, &plan, &options);
    assert_in_range(model_count(&model, SPMD_ALL_GATHER, &again), 280, 164 * 2 + 2);
    assert_true(again > bytes * 3 / 2);
    plan_release(&plan);
    model_close(&model);
}

/* The same as a decision: only the weights that one group shards are gathered again; without the sharding
 * it does nothing, and it shards nothing itself. */
static void test_regather_decision(void **state)
{
    static const char *const sharding[][2] = {
        {"batch", "data"}, {"batch", "model"}, {"embed", "data"}, {"ffn", "model"}};
    struct model model;
    struct plan plan = {0}, other_plan = {0};
    struct error e = {0};
    struct spmd_options options;
    struct plan_decision decision;
    uint32_t count, again = 0, in_list = 0;
    int64_t whole;

    (void)state;
    model_open(&model, "small/t2b.mlir", "data=4,model=2");
    plan_init(&plan, model.nda, &model.mesh);
    plan_init(&other_plan, model.nda, &model.mesh);
    for (size_t i = 0; i < sizeof sharding / sizeof *sharding; i++) {
        ASSERT_OK(plan_decision_find(model.context, sharding[i][0], sharding[i][1], "", "all", &decision, &e),
                  &e);
        assert_true(plan_apply(model.context, &plan, decision) > 0);
    }
    const struct plan_decision *offered = plan_context_regathers(model.context, &count);
    ASSERT_OK(plan_decision_find(model.context, "ffn", "model", "", "regather", &decision, &e), &e);
    assert_int_equal(plan_apply(model.context, &other_plan, decision), 0);
    options = spmd_default_options(&model.mesh);
    options.combine_bytes = 1;
    model_walk(&model, &plan, &options);
    int64_t kept = model_count(&model, SPMD_ALL_GATHER, NULL), last = kept;
    options.regather = 1;
    model_walk(&model, &plan, &options);
    int64_t most = model_count(&model, SPMD_ALL_GATHER, &whole);
    options.regather = 0;
    for (uint32_t i = 0; i < count; i++) {
        in_list += offered[i].group == decision.group && offered[i].axis == decision.axis;
        struct hash128 before = plan.hash;
        uint32_t changed = plan_apply(model.context, &plan, offered[i]);
        assert_int_equal(changed > 0, hash128_compare(before, plan.hash) != 0);
        struct hash128 full = plan_hash_full(&plan, model.nda);
        assert_int_equal(hash128_compare(full, plan.hash), 0);
        assert_int_equal(plan_apply(model.context, &plan, offered[i]), 0); /* twice is once */
        model_walk(&model, &plan, &options);
        int64_t now = model_count(&model, SPMD_ALL_GATHER, NULL);
        assert_true(changed ? now >= last && now <= most : now == last);
        again += now > last;
        last = now;
    }
    assert_int_equal(in_list, 1);
    assert_true(again >= 2);   /* a choice per group, not one for all */
    assert_true(last <= most); /* the walk's option lets go what is no weight, too */
    plan_copy(&other_plan, &plan);
    assert_memory_equal(other_plan.regather, plan.regather, model.nda->argument_count);
    plan_release(&other_plan);
    plan_release(&plan);
    model_close(&model);
}

static const char *const models[] = {"mlp.mlir",
                                     "paper_attention.mlir",
                                     "small/t2b.mlir",
                                     "small/t2b_flat.mlir",
                                     "small/t2b_remat.mlir",
                                     "small/t2b_scan.mlir",
                                     "small/gpt.mlir",
                                     "small/gpt_torch.mlir",
                                     "small/gns.mlir",
                                     "small/unet.mlir",
                                     "small/itx.mlir"};

static void check_random(struct model *model, struct rng *rng, uint32_t plans)
{
    struct spmd_options options = spmd_default_options(&model->mesh);

    for (uint32_t i = 0; i < plans; i++) {
        struct plan plan = {0};
        plan_init(&plan, model->nda, &model->mesh);
        plan_random(model->context, rng, &plan);
        options.defer_partials = i % 4 != 3;
        options.gather_everything = i % 8 == 7;
        options.combine_bytes = i % 3 ? 0 : 1;
        model_walk(model, &plan, &options);
        plan_release(&plan);
    }
}

static void test_random_plans(void **state)
{
    static const char *const meshes[] = {"a=8", "a=4,b=2", "a=2,b=2,c=2"};
    struct rng rng = {support_seed(11)};

    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct model model;
        model_open(&model, models[i], meshes[0]);
        for (size_t k = 0; k < 3; k++) {
            if (k) {
                spmd_local_release(&model.local);
                model_mesh(&model, meshes[k]);
            }
            check_random(&model, &rng, 40);
        }
        model_close(&model);
    }
}

/* a walk into a used struct gives what one into a fresh struct gives */
static void test_reuse(void **state)
{
    struct model model;
    struct rng rng = {support_seed(3)};

    (void)state;
    model_open(&model, "small/t2b.mlir", "a=4,b=2");
    for (int i = 0; i < 20; i++) {
        struct plan plan = {0};
        struct spmd_local fresh = {0};
        struct text text = {0}, other_text = {0};
        struct error e = {0};
        plan_init(&plan, model.nda, &model.mesh);
        plan_random(model.context, &rng, &plan);
        model_walk(&model, &plan, NULL);
        ASSERT_OK(spmd_walk(model.context, &plan, NULL, &fresh, &e), &e);
        spmd_local_text(&model.local, &text);
        spmd_local_text(&fresh, &other_text);
        assert_string_equal(text.at, other_text.at);
        text_release(&text);
        text_release(&other_text);
        spmd_local_release(&fresh);
        plan_release(&plan);
    }
    model_close(&model);
}

static void expect_boundary(const struct model *model, const struct plan *plan)
{
    const struct spmd_local *local = &model->local;
    const struct spmd_step *results = &local->steps[local->step_count - 1];
    struct spmd_form form;

    for (uint32_t i = 0; i < model->nda->argument_count; i++) {
        spmd_boundary_form(model->context, plan, model->nda->arguments[i].space, &form);
        assert_memory_equal(&local->values[i].form, &form, sizeof form);
    }
    assert_int_equal(results->operand_count, model->nda->result_count);
    for (uint32_t i = 0; i < results->operand_count; i++) {
        spmd_boundary_form(model->context, plan, model->nda->result_spaces[i], &form);
        assert_memory_equal(&local->values[local->operands[results->operands + i]].form, &form, sizeof form);
    }
}

/* Arguments and results, whose forms are remembered for all that are alike, have those of their own cells;
 * so they do on a mesh of other sizes. */
static void test_boundary(void **state)
{
    static const char *const meshes[] = {"a=2,b=4", "a=4,b=2"};
    struct model model;
    struct rng rng = {.state = support_seed(9)};

    (void)state;
    model_open(&model, "small/t2b.mlir", meshes[0]);
    for (int m = 0; m < 2; m++) {
        struct plan plan;
        uint32_t offered;
        model_mesh(&model, meshes[m]);
        const struct plan_decision *decisions = plan_context_decisions(model.context, &offered);
        plan_init(&plan, model.nda, &model.mesh);
        for (int k = 0; k < 24; k++) {
            if (k % 6 == 0)
                plan_copy(&plan, plan_context_start(model.context));
            plan_apply(model.context, &plan, decisions[rng_below(&rng, offered)]);
            model_walk(&model, &plan, NULL);
            expect_boundary(&model, &plan);
        }
        plan_release(&plan);
    }
    model_close(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mlp),          cmocka_unit_test(test_attention),
        cmocka_unit_test(test_gradients),    cmocka_unit_test(test_accumulated_step),
        cmocka_unit_test(test_regather),     cmocka_unit_test(test_regather_decision),
        cmocka_unit_test(test_random_plans), cmocka_unit_test(test_reuse),
        cmocka_unit_test(test_boundary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
