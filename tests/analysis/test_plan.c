/* timeout: 120 */
/* Meshes, plans, decisions, pins, baselines: the rules of apply as properties over random plans, and the
 * papers' plans. */
#include "load.h"

static void meshes(void **state)
{
    static const char *const bad[] = {"",
                                      "a",
                                      "a=",
                                      "a=0",
                                      "a=-2",
                                      "a=2,a=2",
                                      "a=2,",
                                      "1a=2",
                                      "a=4x",
                                      "a b=2",
                                      "a=1048576,b=2",
                                      "a=2,b=2,c=2,d=2,e=2,f=2,g=2,h=2,i=2",
                                      "a=9999999999999999999"};
    struct mesh m;
    struct error e = {0};
    ASSERT_OK(mesh_parse("data=4,model=2", &m, &e), &e);
    assert_int_equal(m.axis_count, 2);
    assert_int_equal(mesh_devices(&m), 8);
    assert_int_equal(mesh_axis_find(&m, "model"), 1);
    assert_int_equal(mesh_axis_find(&m, "none"), -1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        e.message[0] = 0;
        assert_int_equal(mesh_parse(bad[i], &m, &e), ERROR_INVALID_MESH);
        assert_int_not_equal(e.message[0], 0);
    }
}

/* one axis shards one factor of a space, positions count up, sizes divide, kinds can be lowered, ties
 * agree */
static void check_plan(const struct plan_context *c, const struct plan *p)
{
    const struct nda *n = plan_context_nda(c);
    const struct mesh *m = plan_context_mesh(c);
    struct hash128 full = plan_hash_full(p, n);
    assert_int_equal(hash128_compare(p->hash, full), 0);
    for (uint32_t s = 0; s < n->space_count; s++)
        for (uint32_t a = 0; a < m->axis_count; a++) {
            struct plan_cell cell = plan_space(p, s)[a];
            const struct nda_factor *nm;
            uint32_t before = 0;
            if (cell.factor == NDA_NO_FACTOR)
                continue;
            assert_true(cell.factor < n->spaces[s].factor_count);
            nm = &n->factors[n->spaces[s].factors + cell.factor];
            assert_true(nm->shardable);
            assert_int_equal(nm->size % plan_factor_shards(p, m, s, cell.factor), 0);
            for (uint32_t b = 0; b < m->axis_count; b++)
                before +=
                    plan_space(p, s)[b].factor == cell.factor && plan_space(p, s)[b].position < cell.position;
            assert_int_equal(before, cell.position);
        }
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].tied_result != NDA_NONE)
            assert_memory_equal(plan_space(p, n->arguments[i].space),
                                plan_space(p, n->result_spaces[n->arguments[i].tied_result]),
                                m->axis_count * sizeof(struct plan_cell));
    for (uint32_t op = 0; op < n->program->op_count; op++)
        for (uint32_t k = 0; n->op_end_space[op] != NDA_NONE && k < n->op_space_count[op]; k++)
            assert_memory_equal(plan_space(p, n->op_space[op] + k), plan_space(p, n->op_end_space[op] + k),
                                m->axis_count * sizeof(struct plan_cell));
}

static void random_plans_keep_the_rules(void **state)
{
    static const char *const models[] = {"mlp.mlir",
                                         "paper_attention.mlir",
                                         "small/t2b.mlir",
                                         "small/t2b_scan.mlir",
                                         "small/t2b_flat.mlir",
                                         "small/gns.mlir",
                                         "small/unet.mlir",
                                         "small/itx.mlir",
                                         "small/gpt_torch.mlir"};
    static const char *const meshes[] = {"a=8", "a=4,b=2", "a=2,b=2,c=2"};
    struct rng r = {support_seed(7)};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct subject l;
        char path[80];
        snprintf(path, sizeof path, "tests/models/%s", models[i]);
        load(&l, path);
        for (int k = 0; k < 3; k++) {
            struct plan_context *c = context(&l, meshes[k]);
            struct plan p;
            plan_init(&p, l.nda, plan_context_mesh(c));
            for (int round = 0; round < 40; round++) {
                plan_random(c, &r, &p);
                check_plan(c, &p);
                assert_int_not_equal(hash128_compare(p.hash, plan_context_start(c)->hash), 0);
            }
            plan_release(&p);
            plan_context_destroy(c);
        }
        subject_close(&l);
    }
}

static struct plan_decision decision(const struct plan_context *c, const char *group, const char *axis,
                                     const char *bits, const char *scope)
{
    struct plan_decision d;
    struct error e = {0};
    ASSERT_OK(plan_decision_find(c, group, axis, bits, scope, &d, &e), &e);
    return d;
}

static void order_is_priority_and_plans_are_states(void **state)
{
    struct subject l;
    struct plan_context *c;
    struct plan p, q;
    struct plan_decision list[4];
    uint32_t count = 3;
    load(&l, "tests/models/small/t2b.mlir");
    c = context(&l, "b=2,m=2");
    plan_init(&p, l.nda, plan_context_mesh(c));
    plan_init(&q, l.nda, plan_context_mesh(c));
    list[0] = decision(c, "batch", "b", NULL, NULL);
    list[1] = decision(c, "batch", "b", NULL, NULL); /* again: no effect, dropped */
    list[2] = decision(c, "ffn", "m", NULL, NULL);
    plan_replay(c, list, &count, &p);
    assert_int_equal(count, 2);
    check_plan(c, &p);
    count = 2;
    list[0] = decision(c, "ffn", "m", NULL, NULL); /* other axes, other factors: order does not matter */
    list[1] = decision(c, "batch", "b", NULL, NULL);
    plan_replay(c, list, &count, &q);
    assert_int_equal(hash128_compare(p.hash, q.hash), 0);
    assert_memory_equal(p.cells, q.cells, (size_t)p.space_count * p.axis_count * sizeof *p.cells);
    list[0] = decision(c, "batch", "b", NULL, NULL); /* one axis: who comes first has it */
    list[1] = decision(c, "embed", "b", NULL, NULL);
    plan_replay(c, list, &count, &p);
    list[0] = decision(c, "embed", "b", NULL, NULL);
    list[1] = decision(c, "batch", "b", NULL, NULL);
    plan_replay(c, list, &count, &q);
    check_plan(c, &p);
    check_plan(c, &q);
    assert_int_not_equal(hash128_compare(p.hash, q.hash), 0);
    plan_release(&p);
    plan_release(&q);
    plan_context_destroy(c);
    subject_close(&l);
}

/* figure 5b: side with the last dimension of a, c and d sharded; the other side has the first */
static void resolutions_choose_a_side(void **state)
{
    struct subject l;
    struct plan_context *c;
    struct plan p;
    uint32_t sides = 0;
    load(&l, "tests/models/paper_attention.mlir");
    c = context(&l, "s=4");
    plan_init(&p, l.nda, plan_context_mesh(c));
    for (uint32_t bit = 0; bit < 2; bit++) {
        uint32_t space[3], dim = NDA_NONE, found = 0;
        plan_copy(&p, plan_context_start(c));
        assert_true(plan_apply(c, &p, decision(c, "sequence", "s", bit ? "1" : "0", NULL)) > 0);
        check_plan(c, &p);
        for (uint32_t s = 0; s < l.nda->space_count; s++) {
            uint32_t slot = l.nda->spaces[s].slots + l.nda->spaces[s].slot_count - 1;
            if (l.nda->spaces[s].kind == NDA_SPACE_OP &&
                nda_atom_count(l.nda, l.nda->slots[slot].value) == 2 &&
                nda_atoms(l.nda, l.nda->slots[slot].value)[1].size == 128 &&
                nda_atoms(l.nda, l.nda->slots[slot].value)[0].size == 128 && found < 3) {
                space[found++] = s;
                for (uint32_t k = 0; k < 2; k++)
                    if (l.nda->factor_of[l.nda->slots[slot].map + k] == plan_space(&p, s)[0].factor) {
                        assert_true(dim == NDA_NONE || dim == k); /* the same dimension of a, c and d */
                        dim = k;
                    }
            }
        }
        assert_int_equal(found, 3);
        assert_int_not_equal(space[0], space[2]);
        sides |= 1u << dim;
    }
    assert_int_equal(sides, 3);
    plan_release(&p);
    plan_context_destroy(c);
    subject_close(&l);
}

static uint32_t sharded_arguments(const struct plan_context *c, const struct plan *p, uint8_t role,
                                  uint32_t *all)
{
    const struct nda *n = plan_context_nda(c);
    uint32_t sharded = 0;
    *all = 0;
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].role == role) {
            ++*all;
            sharded += plan_space(p, n->arguments[i].space)[0].factor != NDA_NO_FACTOR;
        }
    return sharded;
}

/* ZeRO-1 shards the moments and leaves the parameters whole; FSDP shards both */
static void experts_store_what_they_say(void **state)
{
    struct subject l;
    struct plan_context *c;
    struct plan p;
    struct plan_baseline b;
    struct error e = {0};
    uint32_t all, sharded;
    load(&l, "tests/models/t2b.mlir.gz");
    c = context(&l, "data=8");
    plan_init(&p, l.nda, plan_context_mesh(c));
    ASSERT_OK(plan_baseline_find(c, "zero1:data", &b, &e), &e);
    plan_replay(c, b.decisions, &b.count, &p);
    check_plan(c, &p);
    assert_int_equal(sharded_arguments(c, &p, NDA_ROLE_PARAMETER, &all), 0);
    sharded = sharded_arguments(c, &p, NDA_ROLE_OPTIMIZER, &all);
    assert_int_equal(sharded, all - 1); /* the step counter is a scalar */
    ASSERT_OK(plan_baseline_find(c, "fsdp:data", &b, &e), &e);
    plan_replay(c, b.decisions, &b.count, &p);
    check_plan(c, &p);
    sharded = sharded_arguments(c, &p, NDA_ROLE_PARAMETER, &all);
    assert_int_equal(sharded, all);
    assert_int_equal(plan_baseline_find(c, "fsdp:nowhere", &b, &e), ERROR_INVALID_PLAN);
    assert_int_equal(plan_baseline_find(c, "magic:data", &b, &e), ERROR_INVALID_PLAN);
    plan_release(&p);
    plan_context_destroy(c);
    subject_close(&l);
}

static void baselines_are_distinct_and_replay(void **state)
{
    static const char *const models[] = {"mlp.mlir", "t2b.mlir.gz", "gns.mlir.gz", "unet.mlir.gz",
                                         "itx.mlir.gz"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct subject l;
        struct plan_context *c;
        struct plan_baseline *list;
        struct hash128 hashes[128];
        struct plan p;
        uint32_t count;
        char path[80];
        snprintf(path, sizeof path, "tests/models/%s", models[i]);
        load(&l, path);
        c = context(&l, "data=4,model=4");
        plan_init(&p, l.nda, plan_context_mesh(c));
        list = plan_baselines(c, &count);
        assert_in_range(count, 4, 128);
        assert_string_equal(list[0].name, "replicated");
        for (uint32_t k = 0; k < count; k++) {
            struct plan_baseline again;
            struct error e = {0};
            uint32_t kept = list[k].count;
            plan_replay(c, list[k].decisions, &kept, &p);
            assert_int_equal(kept, list[k].count); /* every decision of a baseline does something */
            check_plan(c, &p);
            hashes[k] = p.hash;
            for (uint32_t j = 0; j < k; j++)
                assert_int_not_equal(hash128_compare(hashes[j], hashes[k]), 0);
            ASSERT_OK(plan_baseline_find(c, list[k].name, &again, &e), &e);
            assert_int_equal(again.count, list[k].count);
        }
        free(list);
        plan_release(&p);
        plan_context_destroy(c);
        subject_close(&l);
    }
}

/* Many axes: what people write comes before the race is full, and every axis is used (the first was left
 * out once). */
static void baselines_over_many_axes(void **state)
{
    static const struct {
        const char *mesh, *wanted[4];
    } cases[] = {
        {"x=2,y=2,z=2",
         {"fsdp:x+fsdp:y+fsdp:z", "batch:x+fsdp:y+megatron:z", "fsdp:x+megatron:y+megatron:z",
          "zero1:x+megatron:y+sequence:z"}},
        {"w=2,x=2,y=2,z=2",
         {"zero1:w+zero1:x+zero1:y+zero1:z", "fsdp:w+fsdp:x+fsdp:y+megatron:z",
          "fsdp:w+fsdp:x+megatron:y+megatron:z", "batch:w+fsdp:x+megatron:y+megatron:z"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct subject l;
        uint32_t count;
        load(&l, "tests/models/small/t2b.mlir");
        struct plan_context *c = context(&l, cases[i].mesh);
        struct plan_baseline *list = plan_baselines(c, &count);
        for (size_t w = 0; w < 4; w++) {
            uint32_t k = 0;
            while (k < count && strcmp(list[k].name, cases[i].wanted[w]) != 0)
                k++;
            if (k == count)
                fail_msg("%s does not race on %s", cases[i].wanted[w], cases[i].mesh);
        }
        free(list);
        plan_context_destroy(c);
        subject_close(&l);
    }
    /* axes of one device change nothing: as many plans as without them */
    struct subject l;
    uint32_t two, four;
    load(&l, "tests/models/small/t2b.mlir");
    struct plan_context *a = context(&l, "x=2,z=2"), *b = context(&l, "one=1,x=2,y=1,z=2");
    free(plan_baselines(a, &two));
    free(plan_baselines(b, &four));
    assert_int_equal(two, four);
    plan_context_destroy(a);
    plan_context_destroy(b);
    subject_close(&l);
    (void)state;
}

static void decisions_have_text_and_back(void **state)
{
    struct subject l;
    struct plan_context *c;
    struct plan_decision d;
    struct error e = {0};
    struct text t = {0};
    load(&l, "tests/models/small/t2b_remat.mlir");
    c = context(&l, "data=2,model=2");
    d = decision(c, "sequence", "model", "10", "all");
    plan_decision_text(c, d, &t);
    assert_string_equal(t.at, "sequence[10]@model");
    assert_int_equal(d.bits, 1);
    t.size = 0;
    plan_decision_text(c, decision(c, "embed", "data", NULL, "update"), &t);
    assert_string_equal(t.at, "update:embed@data");
    assert_int_equal(plan_decision_find(c, "nobody", "data", NULL, NULL, &d, &e), ERROR_INVALID_PLAN);
    assert_int_equal(plan_decision_find(c, "embed", "x", NULL, NULL, &d, &e), ERROR_INVALID_PLAN);
    assert_int_equal(plan_decision_find(c, "embed", "data", "1", NULL, &d, &e), ERROR_INVALID_PLAN);
    assert_int_equal(plan_decision_find(c, "sequence", "data", "1x", NULL, &d, &e), ERROR_INVALID_PLAN);
    assert_int_equal(plan_decision_find(c, "embed", "data", NULL, "some", &d, &e), ERROR_INVALID_PLAN);
    for (uint8_t scope = PLAN_SCOPE_ALL; scope <= PLAN_SCOPE_REGATHER; scope++) {
        struct text t = {0};
        ASSERT_OK(plan_decision_find(c, "embed", "data", NULL, plan_scope_name(scope), &d, &e), &e);
        assert_int_equal(d.scope, scope);
        plan_decision_text(c, d, &t);
        assert_string_equal(t.at, scope == PLAN_SCOPE_ALL      ? "embed@data"
                                  : scope == PLAN_SCOPE_UPDATE ? "update:embed@data"
                                                               : "regather:embed@data");
        text_release(&t);
    }
    text_release(&t);
    plan_context_destroy(c);
    subject_close(&l);
}

static enum error_code pin(const struct subject *l, const struct plan_pin *pin, struct plan_context **c,
                           struct error *e)
{
    struct mesh mesh;
    ASSERT_OK(mesh_parse("a=4,b=2", &mesh, e), e);
    return plan_context_create(l->nda, &mesh, pin, 1, c, e);
}

static void pins_are_kept(void **state)
{
    struct subject l;
    struct plan_context *c = NULL;
    struct plan p;
    struct plan_sharding s;
    struct error e = {0};
    struct plan_pin on = {.index = 0, .value = NDA_NONE, .rank = 2};
    load(&l, "tests/models/mlp.mlir");
    on.dims[0].count = 2; /* x : [{b, a}, {}] */
    on.dims[0].axes[0] = 1;
    ASSERT_OK(pin(&l, &on, &c, &e), &e);
    plan_boundary_sharding(c, plan_context_start(c), 0, &s);
    assert_int_equal(s.dims[0].count, 2);
    assert_int_equal(s.dims[0].axes[0], 1);
    assert_int_equal(s.dims[0].axes[1], 0);
    assert_int_equal(s.dims[1].count, 0);
    plan_init(&p, l.nda, plan_context_mesh(c));
    plan_copy(&p, plan_context_start(c));
    plan_apply(c, &p, decision(c, "embed", "a", NULL, NULL));
    plan_boundary_sharding(c, &p, 0, &s);
    assert_int_equal(s.dims[1].count, 0); /* closed */
    plan_release(&p);
    plan_context_destroy(c);
    on.dims[0].count = on.dims[1].count = 1;
    on.dims[0].axes[0] = on.dims[1].axes[0] = 0;
    assert_int_equal(pin(&l, &on, &c, &e), ERROR_INVALID_CONSTRAINT); /* an axis twice */
    assert_string_equal(e.pointer, "/constraints/0");
    on.rank = 3;
    assert_int_equal(pin(&l, &on, &c, &e), ERROR_INVALID_CONSTRAINT);
    on.rank = 2;
    on.index = 99;
    assert_int_equal(pin(&l, &on, &c, &e), ERROR_INVALID_CONSTRAINT);
    subject_close(&l);
}

/* x : [{a}, {}] alone gives the batch plan: y, z and w follow, the weights stay whole */
static void pins_propagate(void **state)
{
    struct subject l;
    struct plan_context *c = NULL;
    struct plan p, q;
    struct error e = {0};
    struct plan_pin on = {.index = 0, .value = NDA_NONE, .rank = 2};
    struct plan_sharding s;
    load(&l, "tests/models/mlp.mlir");
    on.dims[0].count = 1;
    ASSERT_OK(pin(&l, &on, &c, &e), &e);
    plan_init(&p, l.nda, plan_context_mesh(c));
    plan_init(&q, l.nda, plan_context_mesh(c));
    plan_copy(&p, plan_context_start(c));
    assert_int_equal(plan_propagate(c, &p), 5); /* dot, maximum and its broadcast, dot, result */
    check_plan(c, &p);
    plan_copy(&q, plan_context_start(c));
    plan_apply(c, &q, decision(c, "batch", "a", NULL, NULL));
    assert_int_equal(hash128_compare(p.hash, q.hash), 0);
    plan_boundary_sharding(c, &p, l.nda->result_spaces[0], &s);
    assert_int_equal(s.dims[0].count, 1);
    plan_release(&p);
    plan_release(&q);
    plan_context_destroy(c);
    subject_close(&l);
}

/* state that goes in and comes out as the user pins both, also where they differ; pinned on one side, both
 * agree */
static void both_ends_of_state_are_pinned(void **state)
{
    static const char *const files[] = {"tests/analysis/data/undonated.mlir", "tests/analysis/data/sgd.mlir"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (uint32_t both = 0; both < 2; both++) {
            struct subject l;
            struct plan_context *c;
            struct plan_sharding s;
            struct error e = {0};
            struct mesh mesh;
            load(&l, files[i]);
            uint32_t result = l.nda->arguments[0].becomes;
            struct plan_pin pins[2] = {{.index = 0, .value = NDA_NONE, .rank = 2},
                                       {.is_result = 1, .index = result, .value = NDA_NONE, .rank = 2}};
            assert_int_not_equal(result, NDA_NONE);
            pins[0].dims[1].count = 1; /* {}, {a}; the result {}, {} */
            ASSERT_OK(mesh_parse("a=4,b=2", &mesh, &e), &e);
            ASSERT_OK(plan_context_create(l.nda, &mesh, pins, 1 + both, &c, &e), &e);
            plan_boundary_sharding(c, plan_context_start(c), l.nda->arguments[0].space, &s);
            assert_int_equal(s.dims[1].count, 1);
            plan_boundary_sharding(c, plan_context_start(c), l.nda->result_spaces[result], &s);
            assert_int_equal(s.dims[1].count, both ? 0 : 1);
            plan_context_destroy(c);
            subject_close(&l);
        }
    (void)state;
}

static void an_indivisible_pin_is_refused(void **state)
{
    static const char module[] =
        "func.func @main(%a: tensor<6x4xf32>) -> tensor<6x4xf32> {\n"
        "  %0 = stablehlo.negate %a : tensor<6x4xf32>\n  return %0 : tensor<6x4xf32>\n}\n";
    struct subject l;
    struct plan_context *c = NULL;
    struct error e = {0};
    struct plan_pin on = {.index = 0, .value = NDA_NONE, .rank = 2};
    load_text(&l, module, sizeof module - 1);
    on.dims[0].count = 1; /* 6 over a=4 */
    assert_int_equal(pin(&l, &on, &c, &e), ERROR_INVALID_CONSTRAINT);
    assert_non_null(strstr(e.message, "arg0"));
    assert_non_null(strstr(e.message, "size 6"));
    assert_non_null(strstr(e.message, "does not divide it evenly"));
    subject_close(&l);
    /* 4 over a=4, but used as 2 x 2 */
    static const char apart[] =
        "func.func @main(%a: tensor<4x6xf32>) -> tensor<2x6xf32> {\n"
        "  %0 = stablehlo.reshape %a : (tensor<4x6xf32>) -> tensor<2x2x6xf32>\n"
        "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : "
        "(tensor<2x2x6xf32>, tensor<f32>) -> tensor<2x6xf32>\n  return %1 : tensor<2x6xf32>\n}\n";
    load_text(&l, apart, sizeof apart - 1);
    assert_int_equal(pin(&l, &on, &c, &e), ERROR_INVALID_CONSTRAINT);
    assert_non_null(strstr(e.message, "divides it, but not the parts"));
    subject_close(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(meshes),
        cmocka_unit_test(random_plans_keep_the_rules),
        cmocka_unit_test(order_is_priority_and_plans_are_states),
        cmocka_unit_test(resolutions_choose_a_side),
        cmocka_unit_test(experts_store_what_they_say),
        cmocka_unit_test(baselines_are_distinct_and_replay),
        cmocka_unit_test(baselines_over_many_axes),
        cmocka_unit_test(decisions_have_text_and_back),
        cmocka_unit_test(pins_are_kept),
        cmocka_unit_test(both_ends_of_state_are_pinned),
        cmocka_unit_test(pins_propagate),
        cmocka_unit_test(an_indivisible_pin_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
