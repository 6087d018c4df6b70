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
    struct mesh mesh;
    struct error e = {0};
    ASSERT_OK(mesh_parse("data=4,model=2", &mesh, &e), &e);
    assert_int_equal(mesh.axis_count, 2);
    assert_int_equal(mesh_devices(&mesh), 8);
    assert_int_equal(mesh_axis_find(&mesh, "model"), 1);
    assert_int_equal(mesh_axis_find(&mesh, "none"), -1);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        e.message[0] = 0;
        assert_int_equal(mesh_parse(bad[i], &mesh, &e), ERROR_INVALID_MESH);
        assert_int_not_equal(e.message[0], 0);
    }
}

/* one axis shards one factor of a space, positions count up, sizes divide, kinds can be lowered, ties
 * agree */
static void check_plan(const struct plan_context *context, const struct plan *plan)
{
    const struct nda *n = plan_context_nda(context);
    const struct mesh *mesh = plan_context_mesh(context);
    struct hash128 full = plan_hash_full(plan, n);
    assert_int_equal(hash128_compare(plan->hash, full), 0);
    for (uint32_t space = 0; space < n->space_count; space++)
        for (uint32_t axis = 0; axis < mesh->axis_count; axis++) {
            struct plan_cell cell = plan_space(plan, space)[axis];
            const struct nda_factor *nm;
            uint32_t before = 0;
            if (cell.factor == NDA_NO_FACTOR)
                continue;
            assert_true(cell.factor < n->spaces[space].factor_count);
            nm = &n->factors[n->spaces[space].factors + cell.factor];
            assert_true(nm->shardable);
            assert_int_equal(nm->size % plan_factor_shards(plan, mesh, space, cell.factor), 0);
            for (uint32_t b = 0; b < mesh->axis_count; b++)
                before += plan_space(plan, space)[b].factor == cell.factor &&
                          plan_space(plan, space)[b].position < cell.position;
            assert_int_equal(before, cell.position);
        }
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].tied_result != NDA_NONE)
            assert_memory_equal(plan_space(plan, n->arguments[i].space),
                                plan_space(plan, n->result_spaces[n->arguments[i].tied_result]),
                                mesh->axis_count * sizeof(struct plan_cell));
    for (uint32_t op = 0; op < n->program->op_count; op++)
        for (uint32_t k = 0; n->op_end_space[op] != NDA_NONE && k < n->op_space_count[op]; k++)
            assert_memory_equal(plan_space(plan, n->op_space[op] + k),
                                plan_space(plan, n->op_end_space[op] + k),
                                mesh->axis_count * sizeof(struct plan_cell));
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
    struct rng rng = {support_seed(7)};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct subject subject;
        char path[80];
        snprintf(path, sizeof path, "tests/models/%s", models[i]);
        load(&subject, path);
        for (int k = 0; k < 3; k++) {
            struct plan_context *plan_context = context(&subject, meshes[k]);
            struct plan plan;
            plan_init(&plan, subject.nda, plan_context_mesh(plan_context));
            for (int round = 0; round < 40; round++) {
                plan_random(plan_context, &rng, &plan);
                check_plan(plan_context, &plan);
                assert_int_not_equal(hash128_compare(plan.hash, plan_context_start(plan_context)->hash), 0);
            }
            plan_release(&plan);
            plan_context_destroy(plan_context);
        }
        subject_close(&subject);
    }
}

static struct plan_decision decision(const struct plan_context *context, const char *group, const char *axis,
                                     const char *bits, const char *scope)
{
    struct plan_decision decision;
    struct error e = {0};
    ASSERT_OK(plan_decision_find(context, group, axis, bits, scope, &decision, &e), &e);
    return decision;
}

static void order_is_priority_and_plans_are_states(void **state)
{
    struct subject subject;
    struct plan_context *plan_context;
    struct plan plan, other_plan;
    struct plan_decision list[4];
    uint32_t count = 3;
    load(&subject, "tests/models/small/t2b.mlir");
    plan_context = context(&subject, "b=2,m=2");
    plan_init(&plan, subject.nda, plan_context_mesh(plan_context));
    plan_init(&other_plan, subject.nda, plan_context_mesh(plan_context));
    list[0] = decision(plan_context, "batch", "b", NULL, NULL);
    list[1] = decision(plan_context, "batch", "b", NULL, NULL); /* again: no effect, dropped */
    list[2] = decision(plan_context, "ffn", "m", NULL, NULL);
    plan_replay(plan_context, list, &count, &plan);
    assert_int_equal(count, 2);
    check_plan(plan_context, &plan);
    count = 2;
    list[0] =
        decision(plan_context, "ffn", "m", NULL, NULL); /* other axes, other factors: order does not matter */
    list[1] = decision(plan_context, "batch", "b", NULL, NULL);
    plan_replay(plan_context, list, &count, &other_plan);
    assert_int_equal(hash128_compare(plan.hash, other_plan.hash), 0);
    assert_memory_equal(plan.cells, other_plan.cells,
                        (size_t)plan.space_count * plan.axis_count * sizeof *plan.cells);
    list[0] = decision(plan_context, "batch", "b", NULL, NULL); /* one axis: who comes first has it */
    list[1] = decision(plan_context, "embed", "b", NULL, NULL);
    plan_replay(plan_context, list, &count, &plan);
    list[0] = decision(plan_context, "embed", "b", NULL, NULL);
    list[1] = decision(plan_context, "batch", "b", NULL, NULL);
    plan_replay(plan_context, list, &count, &other_plan);
    check_plan(plan_context, &plan);
    check_plan(plan_context, &other_plan);
    assert_int_not_equal(hash128_compare(plan.hash, other_plan.hash), 0);
    plan_release(&plan);
    plan_release(&other_plan);
    plan_context_destroy(plan_context);
    subject_close(&subject);
}

/* the paper's figure 5b: side with the last dimension of a, c and d sharded; the other side has the first */
static void resolutions_choose_a_side(void **state)
{
    struct subject subject;
    struct plan_context *plan_context;
    struct plan plan;
    uint32_t sides = 0;
    load(&subject, "tests/models/paper_attention.mlir");
    plan_context = context(&subject, "s=4");
    plan_init(&plan, subject.nda, plan_context_mesh(plan_context));
    for (uint32_t bit = 0; bit < 2; bit++) {
        uint32_t space[3], dim = NDA_NONE, found = 0;
        plan_copy(&plan, plan_context_start(plan_context));
        assert_true(plan_apply(plan_context, &plan,
                               decision(plan_context, "sequence", "s", bit ? "1" : "0", NULL)) > 0);
        check_plan(plan_context, &plan);
        for (uint32_t s = 0; s < subject.nda->space_count; s++) {
            uint32_t slot = subject.nda->spaces[s].slots + subject.nda->spaces[s].slot_count - 1;
            if (subject.nda->spaces[s].kind == NDA_SPACE_OP &&
                nda_atom_count(subject.nda, subject.nda->slots[slot].value) == 2 &&
                nda_atoms(subject.nda, subject.nda->slots[slot].value)[1].size == 128 &&
                nda_atoms(subject.nda, subject.nda->slots[slot].value)[0].size == 128 && found < 3) {
                space[found++] = s;
                for (uint32_t k = 0; k < 2; k++)
                    if (subject.nda->factor_of[subject.nda->slots[slot].map + k] ==
                        plan_space(&plan, s)[0].factor) {
                        assert_true(dim == NDA_NONE ||
                                    dim == k); /* the same dimension of a, plan_context and d */
                        dim = k;
                    }
            }
        }
        assert_int_equal(found, 3);
        assert_int_not_equal(space[0], space[2]);
        sides |= 1u << dim;
    }
    assert_int_equal(sides, 3);
    plan_release(&plan);
    plan_context_destroy(plan_context);
    subject_close(&subject);
}

static uint32_t sharded_arguments(const struct plan_context *context, const struct plan *plan, uint8_t role,
                                  uint32_t *all)
{
    const struct nda *n = plan_context_nda(context);
    uint32_t sharded = 0;
    *all = 0;
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].role == role) {
            ++*all;
            sharded += plan_space(plan, n->arguments[i].space)[0].factor != NDA_NO_FACTOR;
        }
    return sharded;
}

/* ZeRO-1 shards the moments and leaves the parameters whole; FSDP shards both */
static void experts_store_what_they_say(void **state)
{
    struct subject subject;
    struct plan_context *plan_context;
    struct plan plan;
    struct plan_baseline baseline;
    struct error e = {0};
    uint32_t all, sharded;
    load(&subject, "tests/models/t2b.mlir.gz");
    plan_context = context(&subject, "data=8");
    plan_init(&plan, subject.nda, plan_context_mesh(plan_context));
    ASSERT_OK(plan_baseline_find(plan_context, "zero2:data", &baseline, &e), &e);
    plan_replay(plan_context, baseline.decisions, &baseline.count, &plan);
    check_plan(plan_context, &plan);
    assert_int_equal(sharded_arguments(plan_context, &plan, NDA_ROLE_PARAMETER, &all), 0);
    sharded = sharded_arguments(plan_context, &plan, NDA_ROLE_OPTIMIZER, &all);
    assert_int_equal(sharded, all - 1); /* the step counter is a scalar */
    ASSERT_OK(plan_baseline_find(plan_context, "fsdp:data", &baseline, &e), &e);
    plan_replay(plan_context, baseline.decisions, &baseline.count, &plan);
    check_plan(plan_context, &plan);
    sharded = sharded_arguments(plan_context, &plan, NDA_ROLE_PARAMETER, &all);
    assert_int_equal(sharded, all);
    assert_int_equal(plan_baseline_find(plan_context, "fsdp:nowhere", &baseline, &e), ERROR_INVALID_PLAN);
    assert_int_equal(plan_baseline_find(plan_context, "magic:data", &baseline, &e), ERROR_INVALID_PLAN);
    plan_release(&plan);
    plan_context_destroy(plan_context);
    subject_close(&subject);
}

static void baselines_are_distinct_and_replay(void **state)
{
    static const char *const models[] = {"mlp.mlir", "t2b.mlir.gz", "gns.mlir.gz", "unet.mlir.gz",
                                         "itx.mlir.gz"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct subject subject;
        struct plan_context *plan_context;
        struct plan_baseline *list;
        struct hash128 hashes[176];
        struct plan plan;
        uint32_t count;
        char path[80];
        snprintf(path, sizeof path, "tests/models/%s", models[i]);
        load(&subject, path);
        plan_context = context(&subject, "data=4,model=4");
        plan_init(&plan, subject.nda, plan_context_mesh(plan_context));
        list = plan_baselines(plan_context, &count);
        assert_in_range(count, 4, 128);
        assert_string_equal(list[0].name, "replicated");
        for (uint32_t k = 0; k < count; k++) {
            struct plan_baseline again;
            struct error e = {0};
            uint32_t kept = list[k].count;
            plan_replay(plan_context, list[k].decisions, &kept, &plan);
            assert_int_equal(kept, list[k].count); /* every decision of a baseline does something */
            check_plan(plan_context, &plan);
            hashes[k] = plan.hash;
            for (uint32_t j = 0; j < k; j++)
                assert_int_not_equal(hash128_compare(hashes[j], hashes[k]), 0);
            ASSERT_OK(plan_baseline_find(plan_context, list[k].name, &again, &e), &e);
            assert_int_equal(again.count, list[k].count);
        }
        free(list);
        plan_release(&plan);
        plan_context_destroy(plan_context);
        subject_close(&subject);
    }
}

/* two products of a matrix with itself: both the batch and the sequence have sides */
static void baselines_name_their_sides(void **state)
{
    static const char text[] =
        "func.func @main(%x: tensor<32x4xf32>, %u: tensor<4x16xf32>) -> (tensor<32x32xf32>, "
        "tensor<16x16xf32>, "
        "tensor<32x16xf32>) {\n"
        "  %y = stablehlo.transpose %x, dims = [1, 0] : (tensor<32x4xf32>) -> tensor<4x32xf32>\n"
        "  %z = stablehlo.dot_general %x, %y, contracting_dims = [1] x [0] : (tensor<32x4xf32>, "
        "tensor<4x32xf32>) -> "
        "tensor<32x32xf32>\n"
        "  %v = stablehlo.dot_general %u, %u, contracting_dims = [0] x [0] : (tensor<4x16xf32>, "
        "tensor<4x16xf32>) -> "
        "tensor<16x16xf32>\n"
        "  %o = stablehlo.dot_general %x, %u, contracting_dims = [1] x [0] : (tensor<32x4xf32>, "
        "tensor<4x16xf32>) -> "
        "tensor<32x16xf32>\n"
        "  return %z, %v, %o : tensor<32x32xf32>, tensor<16x16xf32>, tensor<32x16xf32>\n}\n";
    static const struct {
        const char *name;
        uint32_t bits; /* of the first decision */
    } good[] = {{"batch:data", 0},
                {"batch[1]:data", 1},
                {"sequence[1]:data", 1},
                {"batch[1]:data+sequence:model", 1},
                {"batch:data+sequence[1]:data", 0}};
    static const char *const bad[] = {"batch[]:data",
                                      "batch[11]:data",
                                      "batch[2]:data",
                                      "batch[1:data",
                                      "embed[1]:data",
                                      "batch[1]:data+sequence:data",
                                      "sequence:data+batch[1]:data",
                                      "batch[1]:data+sequence[1]:data"};
    struct subject subject;
    struct plan_baseline baseline;
    struct error e = {0};
    load_text(&subject, text, sizeof text - 1);
    struct plan_context *plan_context = context(&subject, "data=2,model=2");
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        ASSERT_OK(plan_baseline_find(plan_context, good[i].name, &baseline, &e), &e);
        assert_string_equal(baseline.name, good[i].name);
        assert_int_equal(baseline.decisions[0].bits, good[i].bits);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (plan_baseline_find(plan_context, bad[i], &baseline, &e) != ERROR_INVALID_PLAN)
            fail_msg("%s is a baseline", bad[i]);
    assert_non_null(strstr(e.message, "sides of two strategies on axis 'data'"));
    plan_context_destroy(plan_context);
    subject_close(&subject);
    (void)state;
}

static bool splits(const struct plan_baseline *baseline, struct plan_decision wanted)
{
    for (uint32_t i = 0; i < baseline->count; i++)
        if (baseline->decisions[i].group == wanted.group && baseline->decisions[i].axis == wanted.axis)
            return true;
    return false;
}

/* eight heads over one of two axes of four: whichever is named first */
static void baselines_name_their_order(void **state)
{
    static const char *const names[] = {"megatron:outer+megatron:inner", "megatron:inner+megatron:outer"};
    struct subject subject;
    struct plan_baseline baseline;
    struct error e = {0};
    load(&subject, "tests/models/small/t2b.mlir");
    struct plan_context *plan_context = context(&subject, "outer=4,inner=4");
    for (int inner = 0; inner < 2; inner++) {
        ASSERT_OK(plan_baseline_find(plan_context, names[inner], &baseline, &e), &e);
        assert_string_equal(baseline.name, names[inner]);
        for (int axis = 0; axis < 2; axis++)
            assert_int_equal(
                splits(&baseline, decision(plan_context, "heads", axis ? "inner" : "outer", NULL, NULL)),
                axis == inner);
    }
    plan_context_destroy(plan_context);
    subject_close(&subject);
    (void)state;
}

/* variants of one axis on the other, in the turn for other orders; how many of them are called so */
static uint32_t variants_in_other_orders(const char *mesh, const char *base, const char *wanted)
{
    struct subject subject;
    uint32_t count, found = 0;
    load(&subject, "tests/models/small/t2b.mlir");
    struct plan_context *plan_context = context(&subject, mesh);
    struct plan_baseline *list = plan_baseline_variants(plan_context, base, 3, false, &count);
    for (uint32_t i = 0; i < count; i++) {
        struct plan_baseline again;
        struct error e = {0};
        ASSERT_OK(plan_baseline_find(plan_context, list[i].name, &again, &e), &e);
        assert_string_equal(again.name, list[i].name);
        assert_int_equal(again.count, list[i].count);
        for (uint32_t k = 0; k < again.count; k++)
            assert_true(again.decisions[k].group == list[i].decisions[k].group &&
                        again.decisions[k].axis == list[i].decisions[k].axis);
        found += strcmp(list[i].name, wanted) == 0;
    }
    free(list);
    plan_context_destroy(plan_context);
    subject_close(&subject);
    return found;
}

static void variants_have_other_orders(void **state)
{
    static const char wanted[] = "megatron:inner+megatron:outer";
    assert_int_equal(variants_in_other_orders("outer=4,inner=4", "megatron:inner", wanted), 1);
    /* everything divides by both: the order would change positions alone */
    assert_int_equal(variants_in_other_orders("outer=2,inner=2", "megatron:inner", wanted), 0);
    (void)state;
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
          "zero2:x+megatron:y+sequence:z"}},
        {"w=2,x=2,y=2,z=2",
         {"zero2:w+zero2:x+zero2:y+zero2:z", "fsdp:w+fsdp:x+fsdp:y+megatron:z",
          "fsdp:w+fsdp:x+megatron:y+megatron:z", "batch:w+fsdp:x+megatron:y+megatron:z"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct subject other_subject;
        uint32_t count;
        load(&other_subject, "tests/models/small/t2b.mlir");
        struct plan_context *c = context(&other_subject, cases[i].mesh);
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
        subject_close(&other_subject);
    }
    /* axes of one device change nothing: as many plans as without them */
    struct subject subject;
    uint32_t two, four;
    load(&subject, "tests/models/small/t2b.mlir");
    struct plan_context *plan_context = context(&subject, "x=2,z=2"),
                        *other_context = context(&subject, "one=1,x=2,y=1,z=2");
    free(plan_baselines(plan_context, &two));
    free(plan_baselines(other_context, &four));
    assert_int_equal(two, four);
    plan_context_destroy(plan_context);
    plan_context_destroy(other_context);
    subject_close(&subject);
    (void)state;
}

static bool is_offered(const struct plan_context *plan_context, uint32_t group, uint32_t axis)
{
    uint32_t count;
    const struct plan_decision *decisions = plan_context_decisions(plan_context, &count);
    for (uint32_t i = 0; i < count; i++)
        if (decisions[i].group == group && decisions[i].axis == axis)
            return true;
    return false;
}

/* Embeddings touch few factors and take most of the bytes: whatever divides an argument of a 100th of them is
 * offered, on every axis. */
static void what_large_arguments_have_is_offered(void **state)
{
    (void)state;
    struct subject subject;
    uint32_t few = 0; /* offered for its bytes alone */
    load(&subject, "tests/models/small/gpt_torch.mlir");
    const struct nda *n = subject.nda;
    struct plan_context *plan_context = context(&subject, "data=2,model=2");
    struct plan plan;
    plan_init(&plan, n, plan_context_mesh(plan_context));
    int64_t all = 0;
    for (uint32_t i = 0; i < n->argument_count; i++)
        all += ir_type_bytes(n->program, ir_value_type(n->program, n->arguments[i].value));
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_space *sp = &n->spaces[n->arguments[i].space];
        if (ir_type_bytes(n->program, ir_value_type(n->program, n->arguments[i].value)) * 100 < all)
            continue;
        for (uint32_t factor = 0; factor < sp->factor_count; factor++)
            for (uint8_t axis = 0; axis < 2; axis++) {
                uint32_t group = n->colors[n->factors[sp->factors + factor].color].group;
                plan_copy(&plan, plan_context_start(plan_context));
                uint32_t changed =
                    plan_apply(plan_context, &plan, (struct plan_decision){group, 0, axis, PLAN_SCOPE_ALL});
                assert_true(!changed || is_offered(plan_context, group, axis));
                few += changed > 0 && changed < 10;
            }
    }
    assert_true(few > 0);
    plan_release(&plan);
    plan_context_destroy(plan_context);
    subject_close(&subject);
}

static void decisions_have_text_and_back(void **state)
{
    struct subject subject;
    struct plan_context *plan_context;
    struct plan_decision plan_decision;
    struct error e = {0};
    struct text text = {0};
    load(&subject, "tests/models/small/t2b_remat.mlir");
    plan_context = context(&subject, "data=2,model=2");
    plan_decision = decision(plan_context, "sequence", "model", "10", "all");
    plan_decision_text(plan_context, plan_decision, &text);
    assert_string_equal(text.at, "sequence[10]@model");
    assert_int_equal(plan_decision.bits, 1);
    text.size = 0;
    plan_decision_text(plan_context, decision(plan_context, "embed", "data", NULL, "update"), &text);
    assert_string_equal(text.at, "update:embed@data");
    assert_int_equal(plan_decision_find(plan_context, "nobody", "data", NULL, NULL, &plan_decision, &e),
                     ERROR_INVALID_PLAN);
    assert_int_equal(plan_decision_find(plan_context, "embed", "x", NULL, NULL, &plan_decision, &e),
                     ERROR_INVALID_PLAN);
    assert_int_equal(plan_decision_find(plan_context, "embed", "data", "1", NULL, &plan_decision, &e),
                     ERROR_INVALID_PLAN);
    assert_int_equal(plan_decision_find(plan_context, "sequence", "data", "1x", NULL, &plan_decision, &e),
                     ERROR_INVALID_PLAN);
    assert_int_equal(plan_decision_find(plan_context, "embed", "data", NULL, "some", &plan_decision, &e),
                     ERROR_INVALID_PLAN);
    for (uint8_t scope = PLAN_SCOPE_ALL; scope <= PLAN_SCOPE_REGATHER; scope++) {
        struct text other_text = {0};
        ASSERT_OK(plan_decision_find(plan_context, "embed", "data", NULL, plan_scope_name(scope),
                                     &plan_decision, &e),
                  &e);
        assert_int_equal(plan_decision.scope, scope);
        plan_decision_text(plan_context, plan_decision, &other_text);
        assert_string_equal(other_text.at, scope == PLAN_SCOPE_ALL      ? "embed@data"
                                           : scope == PLAN_SCOPE_UPDATE ? "update:embed@data"
                                                                        : "regather:embed@data");
        text_release(&other_text);
    }
    text_release(&text);
    plan_context_destroy(plan_context);
    subject_close(&subject);
}

static enum error_code pin(const struct subject *subject, const struct plan_pin *pin,
                           struct plan_context **context, struct error *e)
{
    struct mesh mesh;
    ASSERT_OK(mesh_parse("a=4,b=2", &mesh, e), e);
    return plan_context_create(subject->nda, &mesh, pin, 1, context, e);
}

static void pins_are_kept(void **state)
{
    struct subject subject;
    struct plan_context *context = NULL;
    struct plan plan;
    struct plan_sharding sharding;
    struct error e = {0};
    struct plan_pin on = {.index = 0, .value = NDA_NONE, .rank = 2, .pointer = "/constraints/7"};
    load(&subject, "tests/models/mlp.mlir");
    on.dims[0].count = 2; /* x : [{b, a}, {}] */
    on.dims[0].axes[0] = 1;
    ASSERT_OK(pin(&subject, &on, &context, &e), &e);
    plan_boundary_sharding(context, plan_context_start(context), 0, &sharding);
    assert_int_equal(sharding.dims[0].count, 2);
    assert_int_equal(sharding.dims[0].axes[0], 1);
    assert_int_equal(sharding.dims[0].axes[1], 0);
    assert_int_equal(sharding.dims[1].count, 0);
    plan_init(&plan, subject.nda, plan_context_mesh(context));
    plan_copy(&plan, plan_context_start(context));
    plan_apply(context, &plan, decision(context, "embed", "a", NULL, NULL));
    plan_boundary_sharding(context, &plan, 0, &sharding);
    assert_int_equal(sharding.dims[1].count, 0); /* closed */
    plan_release(&plan);
    plan_context_destroy(context);
    on.dims[0].count = on.dims[1].count = 1;
    on.dims[0].axes[0] = on.dims[1].axes[0] = 0;
    assert_int_equal(pin(&subject, &on, &context, &e), ERROR_INVALID_CONSTRAINT); /* an axis twice */
    assert_string_equal(e.pointer, "/constraints/7");
    on.pointer = NULL; /* the module's own */
    on.line = 12;
    assert_int_equal(pin(&subject, &on, &context, &e), ERROR_INVALID_CONSTRAINT);
    assert_int_equal(e.line, 12);
    on.rank = 3;
    assert_int_equal(pin(&subject, &on, &context, &e), ERROR_INVALID_CONSTRAINT);
    on.rank = 2;
    on.index = 99;
    assert_int_equal(pin(&subject, &on, &context, &e), ERROR_INVALID_CONSTRAINT);
    subject_close(&subject);
}

/* x : [{a}, {}] alone gives the batch plan: y, z and w follow, the weights stay whole */
static void pins_propagate(void **state)
{
    struct subject subject;
    struct plan_context *context = NULL;
    struct plan plan, other_plan;
    struct error e = {0};
    struct plan_pin on = {.index = 0, .value = NDA_NONE, .rank = 2};
    struct plan_sharding sharding;
    load(&subject, "tests/models/mlp.mlir");
    on.dims[0].count = 1;
    ASSERT_OK(pin(&subject, &on, &context, &e), &e);
    plan_init(&plan, subject.nda, plan_context_mesh(context));
    plan_init(&other_plan, subject.nda, plan_context_mesh(context));
    plan_copy(&plan, plan_context_start(context));
    assert_int_equal(plan_propagate(context, &plan), 5); /* dot, maximum and its broadcast, dot, result */
    check_plan(context, &plan);
    plan_copy(&other_plan, plan_context_start(context));
    plan_apply(context, &other_plan, decision(context, "batch", "a", NULL, NULL));
    assert_int_equal(hash128_compare(plan.hash, other_plan.hash), 0);
    plan_boundary_sharding(context, &plan, subject.nda->result_spaces[0], &sharding);
    assert_int_equal(sharding.dims[0].count, 1);
    plan_release(&plan);
    plan_release(&other_plan);
    plan_context_destroy(context);
    subject_close(&subject);
}

/* state that goes in and comes out as the user pins both, also where they differ; pinned on one side, both
 * agree */
static void both_ends_of_state_are_pinned(void **state)
{
    static const char *const files[] = {"tests/analysis/data/undonated.mlir", "tests/analysis/data/sgd.mlir"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        for (uint32_t both = 0; both < 2; both++) {
            struct subject subject;
            struct plan_context *context;
            struct plan_sharding sharding;
            struct error e = {0};
            struct mesh mesh;
            load(&subject, files[i]);
            uint32_t result = subject.nda->arguments[0].becomes;
            struct plan_pin pins[2] = {{.index = 0, .value = NDA_NONE, .rank = 2},
                                       {.is_result = 1, .index = result, .value = NDA_NONE, .rank = 2}};
            assert_int_not_equal(result, NDA_NONE);
            pins[0].dims[1].count = 1; /* {}, {a}; the result {}, {} */
            ASSERT_OK(mesh_parse("a=4,b=2", &mesh, &e), &e);
            ASSERT_OK(plan_context_create(subject.nda, &mesh, pins, 1 + both, &context, &e), &e);
            plan_boundary_sharding(context, plan_context_start(context), subject.nda->arguments[0].space,
                                   &sharding);
            assert_int_equal(sharding.dims[1].count, 1);
            plan_boundary_sharding(context, plan_context_start(context), subject.nda->result_spaces[result],
                                   &sharding);
            assert_int_equal(sharding.dims[1].count, both ? 0 : 1);
            plan_context_destroy(context);
            subject_close(&subject);
        }
    (void)state;
}

static void an_indivisible_pin_is_refused(void **state)
{
    static const char module[] =
        "func.func @main(%a: tensor<6x4xf32>) -> tensor<6x4xf32> {\n"
        "  %0 = stablehlo.negate %a : tensor<6x4xf32>\n  return %0 : tensor<6x4xf32>\n}\n";
    struct subject subject;
    struct plan_context *context = NULL;
    struct error e = {0};
    struct plan_pin on = {.index = 0, .value = NDA_NONE, .rank = 2};
    load_text(&subject, module, sizeof module - 1);
    on.dims[0].count = 1; /* 6 over a=4 */
    assert_int_equal(pin(&subject, &on, &context, &e), ERROR_INVALID_CONSTRAINT);
    assert_non_null(strstr(e.message, "arg0"));
    assert_non_null(strstr(e.message, "size 6"));
    assert_non_null(strstr(e.message, "does not divide it evenly"));
    subject_close(&subject);
    /* 4 over a=4, but used as 2 x 2 */
    static const char apart[] =
        "func.func @main(%a: tensor<4x6xf32>) -> tensor<2x6xf32> {\n"
        "  %0 = stablehlo.reshape %a : (tensor<4x6xf32>) -> tensor<2x2x6xf32>\n"
        "  %z = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %1 = stablehlo.reduce(%0 init: %z) applies stablehlo.add across dimensions = [0] : "
        "(tensor<2x2x6xf32>, tensor<f32>) -> tensor<2x6xf32>\n  return %1 : tensor<2x6xf32>\n}\n";
    load_text(&subject, apart, sizeof apart - 1);
    assert_int_equal(pin(&subject, &on, &context, &e), ERROR_INVALID_CONSTRAINT);
    assert_non_null(strstr(e.message, "divides it, but not the parts"));
    subject_close(&subject);
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
        cmocka_unit_test(baselines_name_their_sides),
        cmocka_unit_test(baselines_name_their_order),
        cmocka_unit_test(variants_have_other_orders),
        cmocka_unit_test(baselines_over_many_axes),
        cmocka_unit_test(what_large_arguments_have_is_offered),
        cmocka_unit_test(decisions_have_text_and_back),
        cmocka_unit_test(pins_are_kept),
        cmocka_unit_test(both_ends_of_state_are_pinned),
        cmocka_unit_test(pins_propagate),
        cmocka_unit_test(an_indivisible_pin_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
