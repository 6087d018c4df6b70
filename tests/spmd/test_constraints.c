/* label: unit */
/* timeout: 240 */
/* Propagation as Shardy does it, on programs of a few ops; and the list of constraints: as good as all of
 * them, none too many, the same each time. */
#include "small_support.h"

#include "base/hash.h"
#include "spmd/constraints.h"

/* the plan that comes of argument dims split over axes, without constraints */
static void propagated(struct model *model, const struct plan *boundary, struct plan *out)
{
    struct propagate *propagate = propagate_create(model->context, NULL);
    plan_init(out, model->nda, &model->mesh);
    propagate_run(propagate, boundary, NULL, NULL, 0, out);
    propagate_destroy(propagate);
}

/* shards one dimension of one argument, at its own space alone */
static void give(const struct model *model, struct plan *plan, uint32_t argument, uint32_t dim, uint32_t axis)
{
    const struct nda *n = model->nda;
    uint32_t space = n->arguments[argument].space, value = n->arguments[argument].value;
    for (uint32_t i = 0; i < nda_atom_count(n, value); i++)
        if (nda_atoms(n, value)[i].dim == dim) {
            uint8_t factor = n->factor_of[n->slots[n->spaces[space].slots].map + i];
            assert_int_equal(plan_apply_factor(model->context, plan, space, factor, axis), 1);
            return;
        }
    fail();
}

/* the dimension of an op's result that an axis splits; -1: none; -2: a dimension that is summed */
static int split(const struct model *model, const struct plan *plan, enum ir_opcode code, uint32_t axis)
{
    const struct nda *n = model->nda;
    for (uint32_t space = 0; space < n->space_count; space++) {
        if (n->spaces[space].kind != NDA_SPACE_OP || n->program->ops[n->spaces[space].op].code != code)
            continue;
        uint8_t factor = plan_space(plan, space)[axis].factor;
        uint32_t slot = n->spaces[space].slots + n->spaces[space].slot_count - 1;
        if (factor == NDA_NO_FACTOR)
            return -1;
        for (uint32_t i = 0; i < nda_atom_count(n, n->slots[slot].value); i++)
            if (n->factor_of[n->slots[slot].map + i] == factor)
                return nda_atoms(n, n->slots[slot].value)[i].dim;
        return -2;
    }
    fail();
    return 0;
}

static const char layer[] =
    "func.func @main(%x: tensor<64x32xf32>, %w: tensor<32x16xf32>) -> tensor<64x16xf32> {\n"
    "  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : "
    "(tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>\n"
    "  %z = stablehlo.tanh %y : tensor<64x16xf32>\n"
    "  return %z : tensor<64x16xf32>\n}\n";

/* rows of x and columns of w meet in the product; of x' rows and w's rows over one axis the larger tensor
 * wins */
static void test_products(void **state)
{
    struct model model;
    struct plan boundary, out;
    (void)state;
    open_small(&model, layer, "a=4,b=2");
    plan_init(&boundary, model.nda, &model.mesh);
    give(&model, &boundary, 0, 0, 0);
    give(&model, &boundary, 1, 1, 1);
    propagated(&model, &boundary, &out);
    assert_int_equal(split(&model, &out, IR_DOT_GENERAL, 0), 0);
    assert_int_equal(split(&model, &out, IR_DOT_GENERAL, 1), 1);
    plan_release(&out);
    plan_release(&boundary);
    plan_init(&boundary, model.nda, &model.mesh);
    give(&model, &boundary, 0, 0, 0);
    give(&model, &boundary, 1, 0, 0);
    propagated(&model, &boundary, &out);
    assert_int_equal(split(&model, &out, IR_DOT_GENERAL, 0), 0);
    plan_release(&out);
    plan_release(&boundary);
    plan_init(&boundary, model.nda, &model.mesh);
    give(&model, &boundary, 0, 1, 0);
    give(&model, &boundary, 1, 0, 0);
    propagated(&model, &boundary, &out);
    assert_int_equal(split(&model, &out, IR_DOT_GENERAL, 0), -2);
    assert_int_equal(split(&model, &out, IR_TANH, 0), -1);
    plan_release(&out);
    plan_release(&boundary);
    model_close(&model);
}

static const char sums[] =
    "func.func @main(%x: tensor<64x32xf32>, %y: tensor<64x32xf32>, %v: tensor<32xf32>) -> "
    "tensor<64x32xf32> {\n"
    "  %0 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<32xf32>) -> "
    "tensor<64x32xf32>\n"
    "  %1 = stablehlo.add %x, %y : tensor<64x32xf32>\n"
    "  %2 = stablehlo.multiply %1, %0 : tensor<64x32xf32>\n"
    "  return %2 : tensor<64x32xf32>\n}\n";

/* a conflict between equals goes to the first; a vector's sharding goes forward through a broadcast only
 * where nothing else was there before */
static void test_conflicts(void **state)
{
    struct model model;
    struct plan boundary, out;
    (void)state;
    open_small(&model, sums, "a=4");
    plan_init(&boundary, model.nda, &model.mesh);
    give(&model, &boundary, 0, 1, 0);
    give(&model, &boundary, 1, 0, 0);
    propagated(&model, &boundary, &out);
    assert_int_equal(split(&model, &out, IR_ADD, 0), 1);
    plan_release(&out);
    plan_release(&boundary);
    plan_init(&boundary, model.nda, &model.mesh);
    give(&model, &boundary, 0, 0, 0);
    give(&model, &boundary, 2, 0, 0);
    propagated(&model, &boundary, &out);
    assert_int_equal(split(&model, &out, IR_MULTIPLY, 0), 0);
    plan_release(&out);
    plan_release(&boundary);
    plan_init(&boundary, model.nda, &model.mesh);
    give(&model, &boundary, 2, 0, 0);
    propagated(&model, &boundary, &out);
    assert_int_equal(split(&model, &out, IR_MULTIPLY, 0), 1);
    plan_release(&out);
    plan_release(&boundary);
    model_close(&model);
}

/* one of the two sums is constrained: what reads it does as the constraint says */
static void test_constraint(void **state)
{
    struct model model;
    struct plan boundary, out;
    (void)state;
    open_small(&model, sums, "a=4");
    const struct nda *n = model.nda;
    plan_init(&boundary, n, &model.mesh);
    plan_init(&out, n, &model.mesh);
    give(&model, &boundary, 0, 0, 0);
    struct propagate_constraint constraint = {.form = spmd_form_none};
    for (uint32_t op = 0; op < n->program->op_count; op++)
        if (n->program->ops[op].code == IR_ADD)
            constraint.value = n->program->ops[op].results;
    constraint.form.at[0] = 1;
    constraint.form.position[0] = 0;
    struct propagate *propagate = propagate_create(model.context, NULL);
    propagate_run(propagate, &boundary, &constraint, NULL, 1, &out);
    assert_int_equal(split(&model, &out, IR_ADD, 0), 1);
    assert_int_equal(split(&model, &out, IR_MULTIPLY, 0), 1);
    bool off = false;
    propagate_run(propagate, &boundary, &constraint, &off, 1, &out);
    assert_int_equal(split(&model, &out, IR_ADD, 0), 0);
    propagate_destroy(propagate);
    plan_release(&out);
    plan_release(&boundary);
    model_close(&model);
}

static void plan_of(const struct model *model, const char *name, struct plan *plan)
{
    struct plan_baseline baseline;
    struct error e = {0};
    ASSERT_OK(plan_baseline_find(model->context, name, &baseline, &e), &e);
    plan_init(plan, model->nda, &model->mesh);
    plan_copy(plan, plan_context_start(model->context));
    for (uint32_t i = 0; i < baseline.count; i++)
        plan_apply(model->context, plan, baseline.decisions[i]);
}

/* nobody can write a constraint into a loop's condition: its arguments are no candidates */
static void check_outside_conditions(const struct ir_program *program, const struct spmd_constraints *found)
{
    for (uint32_t i = 0; i < found->count; i++) {
        const struct ir_value *value = &program->values[found->list[i].value];
        uint32_t op = program->regions[program->blocks[value->block].region].op;
        assert_false(value->op == IR_NONE && program->ops[op].code == IR_WHILE &&
                     value->block == ir_region_block(program, op, 0));
    }
}

static const struct spmd_constraints_limits no_effort = {.effort = 1};

/* weighed: lists whose one constraint's worth is what the specs alone move more */
static void check_list(const char *name, const char *plan_name, bool wanted, uint32_t *weighed)
{
    struct model model;
    struct plan plan;
    struct error e = {0};
    struct spmd_constraints list, again, none;
    model_open(&model, name, "data=4,model=2");
    plan_of(&model, plan_name, &plan);
    struct spmd_options options = spmd_default_options(&model.mesh);
    ASSERT_OK(spmd_constraints_find(model.context, &plan, &options, NULL, NULL, &list, &e), &e);
    ASSERT_OK(spmd_constraints_find(model.context, &plan, &options, NULL, NULL, &again, &e), &e);
    ASSERT_OK(spmd_constraints_find(model.context, &plan, &options, NULL, &no_effort, &none, &e), &e);
    print_message("%s %s: %u of %u constraints, %u runs; bytes: plan %lld, specs %lld, list %lld\n", name,
                  plan_name, list.count, list.candidates, list.runs, (long long)list.plan_bytes,
                  (long long)list.specs_bytes, (long long)list.list_bytes);
    /* with specs and list XLA reduces each partial sum by itself: the plan's bytes and some more */
    int64_t most = list.all_bytes > list.plan_bytes ? list.all_bytes : list.plan_bytes;
    assert_true(list.list_bytes <= most + most / 4);
    assert_true(list.count <= list.candidates / 20);
    assert_int_equal(list.count > 0, wanted);
    assert_true(wanted ? none.count == none.candidates : none.count == 0); /* no effort, no list */
    check_outside_conditions(model.nda->program, &none); /* all candidates, where any is wanted */
    assert_int_equal(list.count, again.count);
    for (uint32_t i = 0; i < none.count; i++)
        assert_int_equal(none.list[i].worth_bytes, -1);
    if (list.count == 1 && list.list[0].worth_bytes >= 0) {
        int64_t more = list.specs_bytes - list.list_bytes;
        if (list.deferred_bytes == list.list_bytes) /* no sums: of both what is reduced where it is made */
            assert_int_equal(list.list[0].worth_bytes, more > 0 ? more : 0);
        assert_true(list.list[0].worth_bytes <= (more > 0 ? more + list.list_bytes : 0));
        *weighed += list.list[0].worth_bytes > 0;
    }
    for (uint32_t i = 0; i < list.count; i++) {
        struct plan_sharding sharding;
        assert_int_equal(list.list[i].value, again.list[i].value);
        assert_true(i == 0 || list.list[i].value >= list.list[i - 1].value);
        assert_true(
            spmd_form_sharding(model.nda, &model.mesh, list.list[i].value, &list.list[i].form, &sharding));
    }
    spmd_constraints_release(&list);
    spmd_constraints_release(&again);
    spmd_constraints_release(&none);
    plan_release(&plan);
    model_close(&model);
}

/* the factor of a dim of an op's tensor (operands first) over an axis, at that op alone */
static void give_op(const struct model *model, struct plan *plan, enum ir_opcode code, uint32_t tensor,
                    uint32_t dim, uint32_t axis)
{
    const struct nda *n = model->nda;
    for (uint32_t space = 0; space < n->space_count; space++) {
        if (n->spaces[space].kind != NDA_SPACE_OP || n->program->ops[n->spaces[space].op].code != code)
            continue;
        const struct nda_slot *slot = &n->slots[n->spaces[space].slots + tensor];
        for (uint32_t i = 0; i < nda_atom_count(n, slot->value); i++)
            if (nda_atoms(n, slot->value)[i].dim == dim)
                assert_int_equal(
                    plan_apply_factor(model->context, plan, space, n->factor_of[slot->map + i], axis), 1);
    }
}

static const char added[] =
    "func.func @main(%x: tensor<64x32xf32>, %w: tensor<32x16xf32>, %h: tensor<64x16xf32>) -> "
    "tensor<64x16xf32> {\n"
    "  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : "
    "(tensor<64x32xf32>, tensor<32x16xf32>) -> tensor<64x16xf32>\n"
    "  %z = stablehlo.add %h, %y : tensor<64x16xf32>\n"
    "  return %z : tensor<64x16xf32>\n}\n";

/* A product that is split over rows by one axis and summed over the other, its result over rows by both:
 * XLA's partitioner gathers the rows instead, so the user says how the product itself is split. */
static void test_products_are_seen(void **state)
{
    struct model model;
    struct plan plan;
    struct error e = {0};
    struct spmd_constraints list;
    uint32_t seen = 0;
    (void)state;
    open_small(&model, added, "a=4,b=2");
    plan_init(&plan, model.nda, &model.mesh);
    give(&model, &plan, 0, 0, 0);
    give(&model, &plan, 0, 1, 1);
    give(&model, &plan, 1, 0, 1);
    for (uint32_t axis = 0; axis < 2; axis++) {
        give(&model, &plan, 2, 0, axis);
        give_op(&model, &plan, IR_ADD, 0, 0, axis);
        assert_int_equal(plan_apply_factor(model.context, &plan, model.nda->result_spaces[0], 0, axis), 1);
    }
    give_op(&model, &plan, IR_DOT_GENERAL, 0, 0, 0);
    give_op(&model, &plan, IR_DOT_GENERAL, 0, 1, 1);
    struct spmd_options options = spmd_default_options(&model.mesh);
    ASSERT_OK(spmd_constraints_find(model.context, &plan, &options, NULL, NULL, &list, &e), &e);
    for (uint32_t i = 0; i < list.count; i++) {
        const struct propagate_constraint *constraint = &list.list[i];
        uint32_t op = model.nda->program->values[constraint->value].op;
        seen += op != IR_NONE && model.nda->program->ops[op].code == IR_DOT_GENERAL && !constraint->uses &&
                constraint->form.at[0] == 0 && constraint->form.at[1] == SPMD_REPLICATED;
    }
    assert_int_equal(seen, 1);
    spmd_constraints_release(&list);
    plan_release(&plan);
    model_close(&model);
}

static const char looked_up[] =
    "func.func @main(%t: tensor<64x16xf32>, %i: tensor<32x1xi32>) -> tensor<32x16xf32> {\n"
    "  %y = \"stablehlo.gather\"(%t, %i) {dimension_numbers = #stablehlo.gather<offset_dims = [1], "
    "collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, "
    "16>, "
    "indices_are_sorted = false} : (tensor<64x16xf32>, tensor<32x1xi32>) -> tensor<32x16xf32>\n"
    "  %z = stablehlo.tanh %y : tensor<32x16xf32>\n"
    "  return %z : tensor<32x16xf32>\n}\n";

/* A table that is split, its rows wanted split over the same axis: what is found is summed up, and the list
 * says that it is whole there; split as its reader wants it, the table would be moved instead. */
static void test_lookups(void **state)
{
    struct model model;
    struct plan plan;
    struct error e = {0};
    struct spmd_constraints list;
    (void)state;
    open_small(&model, looked_up, "a=4");
    plan_init(&plan, model.nda, &model.mesh);
    give(&model, &plan, 0, 0, 0);
    give_op(&model, &plan, IR_GATHER, 0, 0, 0);
    give_op(&model, &plan, IR_TANH, 0, 0, 0);
    assert_int_equal(plan_apply_factor(model.context, &plan, model.nda->result_spaces[0], 0, 0), 1);
    struct spmd_options options = spmd_default_options(&model.mesh);
    ASSERT_OK(spmd_constraints_find(model.context, &plan, &options, NULL, NULL, &list, &e), &e);
    assert_int_equal(list.plan_bytes, 32 * 16 * 4); /* a reduce_scatter's operand */
    assert_int_equal(list.list_bytes, list.plan_bytes);
    assert_int_equal(list.all_bytes, list.plan_bytes);
    spmd_constraints_release(&list);
    plan_release(&plan);
    model_close(&model);
}

static bool count_down(void *user)
{
    uint32_t *left = user;
    return *left == 0 || --*left == 0;
}

/* When the time is over there is a list that is good, longer than it need be, or none. */
static void test_time(void **state)
{
    struct model model;
    struct plan plan;
    struct error e = {0};
    struct spmd_constraints list;
    uint32_t none = 0, found = 0;
    (void)state;
    model_open(&model, "small/t2b_scan.mlir", "data=4,model=2");
    plan_of(&model, "fsdp:data+megatron:model", &plan);
    struct spmd_options options = spmd_default_options(&model.mesh);
    for (uint32_t runs = 1; runs <= 32; runs *= 2) {
        uint32_t left = runs;
        struct spmd_constraints_limits limits = {.late = count_down, .late_user = &left};
        enum error_code code =
            spmd_constraints_find(model.context, &plan, &options, NULL, &limits, &list, &e);
        assert_true(code == ERROR_OK || (code == ERROR_CANCELLED && !found));
        none += code != ERROR_OK;
        if (code != ERROR_OK)
            continue;
        found++;
        assert_true(list.list_bytes <= list.specs_bytes && list.runs <= runs);
        assert_int_equal(list.list[0].worth_bytes, -1);
        spmd_constraints_release(&list);
    }
    assert_true(none > 0 && found > 0);
    plan_release(&plan);
    model_close(&model);
}

static void test_lists(void **state)
{
    uint32_t weighed = 0;
    (void)state;
    check_list("small/t2b.mlir", "batch:data+megatron:model", false, &weighed);
    check_list("small/t2b.mlir", "fsdp:data+megatron:model", true, &weighed);
    check_list("small/t2b.mlir", "fsdp:data", true, &weighed);
    check_list("small/t2b_scan.mlir", "fsdp:data+megatron:model", true, &weighed);
    check_list("small/gpt.mlir", "fsdp:data+megatron:model", true, &weighed);
    check_list("small/itx.mlir", "fsdp:data+megatron:model", true, &weighed);
    assert_true(weighed > 0);
}

enum { LAYERS = 12, WAYS = 3 }; /* constraints of a layer are at its product, its tanh or its weight's use */

/* layers of x w, of which the weights are larger and split over what they contract */
static void deep_text(struct text *text)
{
    text_add(text, "func.func @main(%z0: tensor<16x32xf32>");
    for (int i = 0; i < LAYERS; i++)
        text_printf(text, ", %%w%d: tensor<32x32xf32>", i);
    text_add(text, ") -> tensor<16x32xf32> {\n");
    for (int i = 0; i < LAYERS; i++)
        text_printf(text,
                    "  %%y%d = stablehlo.dot_general %%z%d, %%w%d, contracting_dims = [1] x [0] : "
                    "(tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>\n"
                    "  %%z%d = stablehlo.tanh %%y%d : tensor<16x32xf32>\n",
                    i, i, i, i + 1, i);
    text_printf(text, "  return %%z%d : tensor<16x32xf32>\n}\n", LAYERS);
}

/* columns over the axis everywhere, but of weights and of what is given and returned their rows */
static void deep_plan(const struct model *model, struct plan *plan)
{
    const struct nda *n = model->nda;
    plan_init(plan, n, &model->mesh);
    for (uint32_t i = 0; i < n->argument_count; i++)
        give(model, plan, i, 0, 0);
    for (uint32_t space = 0; space < n->space_count; space++)
        if (n->spaces[space].kind == NDA_SPACE_OP && n->spaces[space].slot_count) {
            const struct nda_slot *slot = &n->slots[n->spaces[space].slots + n->spaces[space].slot_count - 1];
            assert_int_equal(plan_apply_factor(model->context, plan, space, n->factor_of[slot->map + 1], 0),
                             1);
        }
    assert_int_equal(plan_apply_factor(model->context, plan, n->result_spaces[0], 0, 0), 1);
}

/* With runs for a small part of what leaving out takes the list is found on the fold: as good as all, short,
 * and the same in all layers but the first and the last two. */
static void test_deep(void **state)
{
    struct model model;
    struct plan plan;
    struct error e = {0};
    struct spmd_constraints list;
    struct text text = {0};
    uint32_t seen[LAYERS][WAYS] = {{0}}, first = IR_NONE;
    int64_t worth[LAYERS][WAYS] = {{0}}, all = 0;
    (void)state;
    deep_text(&text);
    open_small(&model, text.at, "a=4");
    const struct ir_program *program = model.nda->program;
    deep_plan(&model, &plan);
    struct spmd_options options = spmd_default_options(&model.mesh);
    ASSERT_OK(spmd_constraints_find(
                  model.context, &plan, &options, NULL,
                  &(struct spmd_constraints_limits){.effort = 30 * (int64_t)model.nda->space_count}, &list,
                  &e),
              &e);
    print_message("%u of %u constraints, %u runs; bytes: plan %lld, specs %lld, list %lld\n", list.count,
                  list.candidates, list.runs, (long long)list.plan_bytes, (long long)list.specs_bytes,
                  (long long)list.list_bytes);
    assert_true(list.list_bytes <= list.plan_bytes + list.plan_bytes / 100);
    assert_true(list.specs_bytes > list.list_bytes);
    assert_in_range(list.count, 1, LAYERS + 2);
    for (uint32_t op = 0; op < program->op_count && first == IR_NONE; op++)
        first = program->ops[op].code == IR_DOT_GENERAL ? op : IR_NONE;
    for (uint32_t i = 0; i < list.count; i++) {
        const struct ir_value *value = &program->values[list.list[i].value];
        uint32_t layer = value->op == IR_NONE ? value->index - 1 : (value->op - first) / 2;
        uint32_t way = value->op == IR_NONE ? 2 : (value->op - first) % 2;
        seen[layer][way]++;
        worth[layer][way] += list.list[i].worth_bytes;
        all += list.list[i].worth_bytes;
    }
    for (uint32_t layer = 3; layer + 2 < LAYERS; layer++) {
        assert_memory_equal(seen[layer], seen[2], sizeof seen[2]);
        assert_memory_equal(worth[layer], worth[2], sizeof worth[2]);
    }
    assert_in_range(all, 1, list.specs_bytes);
    spmd_constraints_release(&list);
    plan_release(&plan);
    model_close(&model);
    text_release(&text);
}

/* A run knows nothing of the one before it: whichever of all constraints stand, and whatever the boundary,
 * the plan and the forms are those of a propagation that has run once. */
static void test_runs_are_apart(void **state)
{
    struct model model;
    struct plan plans[2], out, fresh;
    struct error e = {0};
    struct spmd_constraints all;
    struct rng rng = {7};
    (void)state;
    model_open(&model, "small/gpt.mlir", "data=4,model=2");
    plan_of(&model, "fsdp:data+megatron:model", &plans[0]);
    plan_of(&model, "batch:data", &plans[1]);
    struct spmd_options options = spmd_default_options(&model.mesh);
    ASSERT_OK(spmd_constraints_find(model.context, &plans[0], &options, NULL, &no_effort, &all, &e), &e);
    assert_true(all.count > 20); /* no effort: all candidates */
    bool *on = mem_zalloc(all.count, sizeof *on);
    struct propagate *propagate = propagate_create(model.context, NULL);
    plan_init(&out, model.nda, &model.mesh);
    plan_init(&fresh, model.nda, &model.mesh);
    for (uint32_t run = 0; run < 12; run++) {
        for (uint32_t i = 0; i < all.count; i++)
            on[i] = rng_below(&rng, 12) < run;
        struct propagate *once = propagate_create(model.context, NULL);
        propagate_run(propagate, &plans[run % 3 == 2], all.list, on, all.count, &out);
        propagate_run(once, &plans[run % 3 == 2], all.list, on, all.count, &fresh);
        assert_int_equal(hash128_compare(out.hash, fresh.hash), 0);
        assert_memory_equal(propagate_forms(propagate), propagate_forms(once),
                            model.nda->program->value_count * sizeof *propagate_forms(once));
        propagate_destroy(once);
    }
    propagate_destroy(propagate);
    plan_release(&out);
    plan_release(&fresh);
    plan_release(&plans[0]);
    plan_release(&plans[1]);
    free(on);
    spmd_constraints_release(&all);
    model_close(&model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products),      cmocka_unit_test(test_conflicts),
        cmocka_unit_test(test_constraint),    cmocka_unit_test(test_products_are_seen),
        cmocka_unit_test(test_lookups),       cmocka_unit_test(test_time),
        cmocka_unit_test(test_lists),         cmocka_unit_test(test_deep),
        cmocka_unit_test(test_runs_are_apart)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
