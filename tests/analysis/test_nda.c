/* timeout: 120 */
/* Counts of every model against what a prototype measured (docs/analysis.md says where ours differ and
 * why), the paper's two examples by name, boxes and paths across, trip counts. Roles and names:
 * test_roles.c. */
#include "layers.h"
#include "load.h"

static const struct {
    const char *model;
    uint32_t operations, names, colors, conflicts, sets, classes, groups;
} table[] = {
    {"mlp.mlir", 9, 18, 4, 0, 0, 0, 4},
    {"paper_attention.mlir", 16, 34, 4, 5, 1, 1, 4},
    {"t2b.mlir.gz", 21011, 37219, 184, 972, 18, 1, 13},
    {"t2b_16k.mlir.gz", 21011, 37219, 184, 972, 18, 1, 13},
    {"t7b.mlir.gz", 32391, 60021, 284, 1512, 28, 1, 11},
    {"t2b_remat.mlir.gz", 21047, 41431, 202, 1422, 36, 2, 14},
    {"t2b_scan.mlir.gz", 1529, 3289, 26, 83, 2, 2, 19},
    {"t2b_flat.mlir.gz", 22055, 40693, 184, 972, 18, 1, 14},
    {"gpt.mlir.gz", 29584, 49205, 132, 1728, 32, 1, 8},
    {"gpt_torch.mlir.gz", 1191, 3369, 38, 114, 1, 1, 10},
    {"gns.mlir.gz", 20225, 22975, 158, 0, 0, 0, 13},
    {"unet.mlir.gz", 10573, 32567, 380, 30, 1, 1, 69},
    {"itx.mlir.gz", 6074, 10304, 292, 0, 0, 0, 13},
};

static void counts_of_every_model(void **state)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        struct subject subject;
        char path[80], found[200], want[200];
        snprintf(path, sizeof path, "tests/models/%s", table[i].model);
        load(&subject, path);
        snprintf(found, sizeof found,
                 "%s: operations %u names %u colors %u conflicts %u sets %u classes %u groups %u",
                 table[i].model, nda_operation_count(subject.nda), subject.nda->factor_count,
                 subject.nda->color_count, subject.nda->conflict_count, subject.nda->set_count,
                 subject.nda->class_count, subject.nda->group_count);
        snprintf(want, sizeof want,
                 "%s: operations %u names %u colors %u conflicts %u sets %u classes %u groups %u",
                 table[i].model, table[i].operations, table[i].names, table[i].colors, table[i].conflicts,
                 table[i].sets, table[i].classes, table[i].groups);
        assert_string_equal(found, want);
        for (uint32_t set = 0; set < subject.nda->set_count; set++)
            assert_false(subject.nda->sets[set].inconsistent);
        subject_close(&subject);
    }
}

/* the small models: counts, groups and what is offered on a mesh of 4 x 2 */
static void small_models(void **state)
{
    static const char *const models[] = {"gns",      "gpt",       "gpt_torch", "itx", "t2b",
                                         "t2b_flat", "t2b_remat", "t2b_scan",  "unet"};
    struct text out = {0};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct subject subject;
        struct plan_context *plan_context;
        struct plan_baseline *baselines;
        uint32_t count;
        char path[80];
        snprintf(path, sizeof path, "tests/models/small/%s.mlir", models[i]);
        load(&subject, path);
        plan_context = context(&subject, "data=4,model=2");
        text_printf(
            &out,
            "%s\n  operations %u names %u colors %u conflicts %u sets %u classes %u boxes %u crossed %u\n",
            models[i], nda_operation_count(subject.nda), subject.nda->factor_count, subject.nda->color_count,
            subject.nda->conflict_count, subject.nda->set_count, subject.nda->class_count, subject.nda->boxes,
            subject.nda->crossed_boxes);
        for (uint32_t group = 0; group < subject.nda->group_count; group++)
            text_printf(&out, "  %s size %lld colors %u names %u%s\n", subject.nda->groups[group].label,
                        (long long)subject.nda->groups[group].size, subject.nda->groups[group].color_count,
                        subject.nda->groups[group].factor_count,
                        subject.nda->groups[group].touches_argument ? "" : " (on no argument)");
        baselines = plan_baselines(plan_context, &count);
        for (uint32_t k = 0; k < count; k++) {
            text_printf(&out, "  %s =", baselines[k].name);
            for (uint32_t d = 0; d < baselines[k].count; d++) {
                text_add_char(&out, ' ');
                plan_decision_text(plan_context, baselines[k].decisions[d], &out);
            }
            text_add_char(&out, '\n');
        }
        for (uint32_t warning = 0; warning < subject.nda->warning_count; warning++)
            text_printf(&out, "  warning: %s\n", subject.nda->warnings[warning]);
        free(baselines);
        plan_context_destroy(plan_context);
        subject_close(&subject);
    }
    assert_golden("small.txt", &out);
    text_release(&out);
}

static uint32_t result_color(const struct nda *n, uint32_t atom)
{
    return n->factors[nda_slot_factor(n, n->spaces[n->result_spaces[0]].slots, atom)].color;
}

/* the paper's figure 4: mlp(x : [B, X], w1 : [X, U], w2 : [U, W]) -> [B, W] */
static void mlp_has_the_colors_of_figure_4(void **state)
{
    struct subject subject;
    uint32_t color, x, u, w;
    load(&subject, "tests/models/mlp.mlir");
    color = argument_color(subject.nda, 0, 0);
    x = argument_color(subject.nda, 0, 1);
    u = argument_color(subject.nda, 1, 1);
    w = argument_color(subject.nda, 2, 1);
    assert_int_equal(argument_color(subject.nda, 1, 0), x);
    assert_int_equal(argument_color(subject.nda, 2, 0), u);
    assert_int_equal(result_color(subject.nda, 0), color);
    assert_int_equal(result_color(subject.nda, 1), w);
    assert_true(color != x && color != u && color != w && x != u && x != w && u != w);
    assert_int_equal(subject.nda->color_count, 4);
    assert_int_equal(subject.nda->groups[subject.nda->colors[color].group].roles, NDA_COLOR_BATCH);
    assert_string_equal(subject.nda->groups[subject.nda->colors[u].group].label, "ffn");
    subject_close(&subject);
}

/* the opcode of the op whose factors a conflict is between */
static const char *conflict_op(const struct subject *subject, uint32_t i)
{
    return ir_op_name(&subject->program,
                      subject->nda->spaces[subject->nda->factors[subject->nda->conflicts[i].a].space].op);
}

/* the paper's figure 5d: conflicts at the definitions of a, c, d and the uses of a (by the reduce) and d (by
 * the last matmul) */
static void attention_has_the_conflicts_of_figure_5(void **state)
{
    static const char *const ops[] = {"stablehlo.dot_general", "stablehlo.reduce",
                                      "stablehlo.broadcast_in_dim", "stablehlo.divide",
                                      "stablehlo.dot_general"};
    struct subject subject;
    load(&subject, "tests/models/paper_attention.mlir");
    assert_int_equal(subject.nda->conflict_count, 5);
    assert_int_equal(subject.nda->set_count, 1);
    assert_int_equal(subject.nda->classes[0].bit, 0);
    for (uint32_t i = 0; i < 5; i++) {
        const struct nda_conflict *k = &subject.nda->conflicts[i];
        assert_string_equal(conflict_op(&subject, i), ops[i]);
        assert_int_equal(k->set, 0);
        assert_int_equal(subject.nda->factors[k->a].size, 128);
        assert_int_equal(subject.nda->factors[k->a].color, argument_color(subject.nda, 0, 0));
    }
    /* one side of the set is the score rows in all five places: same dimension of the 128x128 tensor */
    for (uint32_t i = 1; i < 5; i++) {
        const struct nda_conflict *k = &subject.nda->conflicts[i];
        uint32_t kept = k->flipped ? k->b : k->a, slot = k->slot, at = NDA_NONE;
        for (uint32_t atom = 0; atom < 2; atom++)
            if (nda_slot_factor(subject.nda, slot, atom) == kept)
                at = atom;
        assert_int_equal(at, subject.nda->conflicts[0].flipped ? 1 : 0);
    }
    subject_close(&subject);
}

/* reduced over the other dimension, the averaged vector runs across the box */
static void a_path_across_splits_the_set(void **state)
{
    struct subject subject;
    load(&subject, "tests/analysis/data/paper_attention_other.mlir");
    assert_int_equal(subject.nda->conflict_count, 5);
    assert_int_equal(subject.nda->boxes, 3);
    assert_int_equal(subject.nda->crossed_boxes, 1);
    assert_int_equal(subject.nda->set_count, 2);
    assert_int_equal(subject.nda->class_count, 2);
    subject_close(&subject);
}

static void flat_agrees_with_t2b(void **state)
{
    struct subject subject, other_subject;
    load(&subject, "tests/models/t2b.mlir.gz");
    load(&other_subject, "tests/models/t2b_flat.mlir.gz");
    assert_int_equal(subject.nda->conflict_count, other_subject.nda->conflict_count);
    assert_int_equal(subject.nda->set_count, other_subject.nda->set_count);
    assert_int_equal(subject.nda->class_count, other_subject.nda->class_count);
    assert_int_equal(subject.nda->color_count, other_subject.nda->color_count);
    for (uint32_t group = 0; group < subject.nda->group_count; group++) {
        uint32_t roles = subject.nda->groups[group].roles, found = 0;
        for (uint32_t h = 0; h < other_subject.nda->group_count; h++)
            found |= other_subject.nda->groups[h].roles == roles &&
                     other_subject.nda->groups[h].size == subject.nda->groups[group].size;
        assert_true(roles == 0 || found);
    }
    subject_close(&subject);
    subject_close(&other_subject);
}

static void scans_tell_their_trips(void **state)
{
    struct subject subject;
    uint32_t loops = 0;
    load(&subject, "tests/models/t2b_scan.mlir.gz");
    for (uint32_t op = 0; op < subject.program.op_count; op++)
        if (subject.program.ops[op].code == IR_WHILE) {
            assert_int_equal(subject.nda->trip_count[op], 18);
            assert_int_not_equal(subject.nda->op_end_space[op], NDA_NONE);
            loops++;
        }
    assert_int_equal(loops, 2);
    assert_int_equal(subject.nda->warning_count, 0);
    subject_close(&subject);
}

/* `i < 12 and r > limit`, as a solver stops: 12 at most, with a warning */
static void early_ends_have_a_bound(void **state)
{
    static const char text[] =
        "func.func @main(%x: tensor<8xf32>, %l: tensor<f32>) -> tensor<8xf32> {\n"
        "  %zero = stablehlo.constant dense<0> : tensor<i32>\n"
        "  %0:2 = stablehlo.while(%i = %zero, %c = %x) : tensor<i32>, tensor<8xf32>\n"
        "  cond {\n    %n = stablehlo.constant dense<12> : tensor<i32>\n    %m = stablehlo.constant "
        "dense<40> : tensor<i32>\n"
        "    %f = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "    %s = stablehlo.reduce(%c init: %f) applies stablehlo.add across dimensions = [0] : "
        "(tensor<8xf32>, tensor<f32>) -> tensor<f32>\n"
        "    %p = stablehlo.compare GT, %s, %l : (tensor<f32>, tensor<f32>) -> tensor<i1>\n"
        "    %q = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    %r = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    %z = stablehlo.constant dense<false> : tensor<i1>\n"
        "    %t = stablehlo.compare NE, %q, %z : (tensor<i1>, tensor<i1>) -> tensor<i1>\n    %u = "
        "stablehlo.convert %t : tensor<i1>\n"
        "    %a = stablehlo.and %p, %r : tensor<i1>\n    %b = stablehlo.and %a, %u : tensor<i1>\n    "
        "stablehlo.return %b : tensor<i1>\n"
        "  } do {\n    %one = stablehlo.constant dense<1> : tensor<i32>\n    %j = stablehlo.add %i, %one : "
        "tensor<i32>\n"
        "    %d = stablehlo.tanh %c : tensor<8xf32>\n    stablehlo.return %j, %d : tensor<i32>, "
        "tensor<8xf32>\n  }\n"
        "  return %0#1 : tensor<8xf32>\n}\n";
    struct subject subject;
    load_text(&subject, text, sizeof text - 1);
    for (uint32_t op = 0; op < subject.program.op_count; op++)
        if (subject.program.ops[op].code == IR_WHILE)
            assert_int_equal(subject.nda->trip_count[op], 12);
    assert_int_equal(subject.nda->warning_count, 1);
    subject_close(&subject);
}

/* a transformer of 8, 18 and 28 layers has one set a layer, and the same classes, groups and decisions */
static void depth_changes_no_decision(void **state)
{
    static const int layers[] = {8, 18, 28};
    struct text text = {0}, first = {0}, now = {0};
    for (int i = 0; i < 3; i++) {
        struct subject subject;
        struct plan_context *plan_context;
        uint32_t count;
        const struct plan_decision *list;
        layers_generate(&text, layers[i]);
        load_text(&subject, text.at, text.size);
        plan_context = context(&subject, "data=4,model=2");
        assert_int_equal(subject.nda->set_count, layers[i]);
        now.size = 0;
        text_printf(&now, "classes %u groups %u:", subject.nda->class_count, subject.nda->group_count);
        list = plan_context_decisions(plan_context, &count);
        for (uint32_t k = 0; k < count; k++) {
            text_add_char(&now, ' ');
            plan_decision_text(plan_context, list[k], &now);
        }
        if (i == 0)
            text_add(&first, now.at);
        assert_string_equal(now.at, first.at);
        plan_context_destroy(plan_context);
        subject_close(&subject);
    }
    text_release(&text);
    text_release(&first);
    text_release(&now);
}

/* `count` products after each other, or each of the same rows and summed; no two widths are equal */
static void write_products(struct text *text, uint32_t count, bool chained)
{
    text_add(text, "func.func @main(%x0: tensor<64x8xf32>");
    for (uint32_t i = 0; i < count; i++)
        if (chained)
            text_printf(text, ", %%w%u: tensor<%ux%uxf32>", i, 8 + 8 * i, 16 + 8 * i);
        else
            text_printf(text, ", %%w%u: tensor<8x%uxf32>, %%v%u: tensor<%ux4xf32>", i, 8 + 8 * i, i,
                        8 + 8 * i);
    text_printf(text, ") -> tensor<64x%uxf32> {\n", chained ? 8 + 8 * count : 4);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t in = chained ? 8 + 8 * i : 8, out = chained ? 16 + 8 * i : 8 + 8 * i;
        text_printf(text,
                    "%%%c%u = stablehlo.dot_general %%x%u, %%w%u, contracting_dims = [1] x [0] : "
                    "(tensor<64x%uxf32>, tensor<%ux%uxf32>) -> tensor<64x%uxf32>\n",
                    chained ? 'x' : 'h', chained ? i + 1 : i, chained ? i : 0, i, in, in, out, out);
        if (chained)
            continue;
        text_printf(text,
                    "%%y%u = stablehlo.dot_general %%h%u, %%v%u, contracting_dims = [1] x [0] : "
                    "(tensor<64x%uxf32>, tensor<%ux4xf32>) -> tensor<64x4xf32>\n",
                    i, i, i, out, out);
        if (i > 0)
            text_printf(text, "%%s%u = stablehlo.add %%%c%u, %%y%u : tensor<64x4xf32>\n", i,
                        i > 1 ? 's' : 'y', i - 1, i);
    }
    text_printf(text, "return %%%c%u : tensor<64x%uxf32>\n}\n", chained ? 'x' : 's',
                chained ? count : count - 1, chained ? 8 + 8 * count : 4);
}

/* 99 towers of 99 widths are some decisions, not a hundred; 20 stay twenty */
static void widths_are_decided_together(void **state)
{
    static const uint32_t towers[] = {20, 99};
    struct text text = {0};
    for (size_t i = 0; i < 2; i++) {
        struct subject subject;
        text.size = 0;
        write_products(&text, towers[i], false);
        load_text(&subject, text.at, text.size);
        const struct nda *n = subject.nda;
        uint32_t fifth = group_of_dimension(n, 1 + 2 * 4, 1);
        assert_int_equal(n->kind_count, towers[i] + 3); /* rows, the towers' first and last dimension */
        assert_int_equal(n->group_count, i == 0 ? towers[i] + 3 : 10);
        assert_int_equal(n->groups[fifth].bundled, i == 1);
        assert_int_equal(group_of_dimension(n, 2 + 2 * 4, 0), fifth);
        assert_int_equal(group_of_dimension(n, 1 + 2 * 5, 1) == fifth, i == 1); /* 40 and 48 */
        assert_int_not_equal(group_of_dimension(n, 1 + 2 * 9, 1), fifth);       /* 80 */
        assert_int_equal(n->groups[fifth].least_size, i == 1 ? 32 : 40);
        assert_int_equal(n->groups[fifth].most_size, i == 1 ? 56 : 40);
        subject_close(&subject);
    }
    text_release(&text);
}

/* of a chain of widths no two that meet in a weight are one decision */
static void neighbours_in_a_chain_stay_apart(void **state)
{
    struct subject subject;
    struct text text = {0};
    write_products(&text, 99, true);
    load_text(&subject, text.at, text.size);
    const struct nda *n = subject.nda;
    assert_in_range(n->group_count, 3, 30);
    for (uint32_t i = 1; i <= 99; i++)
        assert_int_not_equal(group_of_dimension(n, i, 0), group_of_dimension(n, i, 1));
    subject_close(&subject);
    text_release(&text);
}

/* invariants of the tables on a model with everything in it */
static void edges_go_forward_and_join_equal_atoms(void **state)
{
    struct subject subject;
    load(&subject, "tests/models/small/t2b_scan.mlir");
    for (uint32_t i = 0; i < subject.nda->edge_count; i++) {
        const struct nda_factor *from = &subject.nda->factors[subject.nda->edge_from[i]],
                                *to = &subject.nda->factors[subject.nda->edge_to[i]];
        assert_true(subject.nda->edge_from[i] < subject.nda->edge_to[i]);
        assert_int_equal(from->size, to->size);
        assert_int_equal(from->color, to->color);
    }
    for (uint32_t slot = 0; slot < subject.nda->slot_count; slot++) {
        uint32_t value = subject.nda->slots[slot].value;
        for (uint32_t k = 0; k < nda_atom_count(subject.nda, value); k++) {
            uint32_t factor_index = nda_slot_factor(subject.nda, slot, k);
            assert_int_not_equal(factor_index, NDA_NONE);
            assert_int_equal(subject.nda->factors[factor_index].size, nda_atoms(subject.nda, value)[k].size);
        }
    }
    subject_close(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_every_model),
        cmocka_unit_test(small_models),
        cmocka_unit_test(mlp_has_the_colors_of_figure_4),
        cmocka_unit_test(attention_has_the_conflicts_of_figure_5),
        cmocka_unit_test(a_path_across_splits_the_set),
        cmocka_unit_test(flat_agrees_with_t2b),
        cmocka_unit_test(scans_tell_their_trips),
        cmocka_unit_test(early_ends_have_a_bound),
        cmocka_unit_test(depth_changes_no_decision),
        cmocka_unit_test(widths_are_decided_together),
        cmocka_unit_test(neighbours_in_a_chain_stay_apart),
        cmocka_unit_test(edges_go_forward_and_join_equal_atoms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
