/* Golden rule text of every op family, and what refinement does to reshapes and slices. */
#include "load.h"

static void every_family(void **state)
{
    struct subject subject;
    struct text out = {0};
    bool seen[IR_FAMILIES] = {0};
    load(&subject, "tests/analysis/data/ops.mlir");
    for (uint32_t space = 0; space < subject.nda->space_count; space++) {
        const struct nda_space *sp = &subject.nda->spaces[space];
        if (sp->kind == NDA_SPACE_ARGUMENT || sp->kind == NDA_SPACE_RESULT)
            continue;
        seen[ir_opcode_family(subject.program.ops[sp->op].code)] = true;
        text_printf(&out, "%-34s ", ir_op_name(&subject.program, sp->op));
        nda_rule_text(subject.nda, space, &out);
        text_add_char(&out, '\n');
    }
    for (uint32_t i = 0; i < subject.nda->warning_count; i++)
        text_printf(&out, "warning: %s\n", subject.nda->warnings[i]);
    assert_golden("ops.txt", &out);
    for (int f = IR_FAMILY_ELEMENTWISE; f < IR_FAMILIES; f++)
        if (f != IR_FAMILY_COLLECTIVE && !seen[f])
            fail_msg("no op of family %s in ops.mlir", ir_family_name((enum ir_family)f));
    text_release(&out);
    subject_close(&subject);
}

static void rule_of(const char *module, const char *op, char *out, size_t room)
{
    struct subject subject;
    struct text text = {0};
    load_text(&subject, module, strlen(module));
    out[0] = 0;
    for (uint32_t space = 0; space < subject.nda->space_count; space++) {
        if (subject.nda->spaces[space].kind != NDA_SPACE_OP ||
            strcmp(ir_op_name(&subject.program, subject.nda->spaces[space].op), op) != 0)
            continue;
        text.size = 0;
        nda_rule_text(subject.nda, space, &text);
        snprintf(out, room, "%s", text.at);
        break;
    }
    text_release(&text);
    subject_close(&subject);
}

static void reshape_chain_cuts_through(void **state)
{
    char rule[300];
    /* [8,16] -> [128] -> [4,32]: 1 < 16 < 32 < 128 is a chain, so all three are cut at both points */
    rule_of("func.func @main(%a: tensor<8x16xf32>) -> tensor<4x32xf32> {\n"
            "  %0 = stablehlo.reshape %a : (tensor<8x16xf32>) -> tensor<128xf32>\n"
            "  %1 = stablehlo.reshape %0 : (tensor<128xf32>) -> tensor<4x32xf32>\n"
            "  return %1 : tensor<4x32xf32>\n}\n",
            "stablehlo.reshape", rule, sizeof rule);
    assert_string_equal(rule, "([ij, k]) -> ([ijk]) {i=4, j=2, k=16}");
    /* 6 and 4 do not divide one another: the second reshape ties nothing */
    rule_of("func.func @main(%a: tensor<2x6xf32>) -> tensor<3x4xf32> {\n"
            "  %0 = stablehlo.reshape %a : (tensor<2x6xf32>) -> tensor<3x4xf32>\n"
            "  return %0 : tensor<3x4xf32>\n}\n",
            "stablehlo.reshape", rule, sizeof rule);
    assert_string_equal(rule,
                        "([i, j]) -> ([k, l]) {i=2 replicate, j=6 replicate, k=3 replicate, l=4 replicate}");
}

enum { WIDE = 11 };

static const char wide_type[] = "tensor<32x32x32x32x32x32x32x32x32x32x32xf32>";
static const char product_type[] = "tensor<32x32x32x32x32x32x32x32x32x32xf32>";

/* a tensor of 11 dims of 32, each cut into five atoms of 2: vectors made by a reshape, broadcast and added */
static void add_wide(struct text *text, char name)
{
    for (int i = 0; i < WIDE; i++) {
        text_printf(text, "  %%%cv%d = stablehlo.reshape %%x : (tensor<2x2x2x2x2xf32>) -> tensor<32xf32>\n",
                    name, i);
        text_printf(text,
                    "  %%%cb%d = stablehlo.broadcast_in_dim %%%cv%d, dims = [%d] : (tensor<32xf32>) -> %s\n",
                    name, i, name, i, i, wide_type);
        if (i == 0)
            text_printf(text, "  %%%cs0 = stablehlo.negate %%%cb0 : %s\n", name, name, wide_type);
        else
            text_printf(text, "  %%%cs%d = stablehlo.add %%%cs%d, %%%cb%d : %s\n", name, i, name, i - 1, name,
                        i, wide_type);
    }
}

static void factors_above_64_are_refused(void **state)
{
    struct ir_program read = {0}, program = {0};
    struct nda *nda = NULL;
    struct error e = {0};
    struct text text = {0};
    text_printf(&text, "func.func @main(%%x: tensor<2x2x2x2x2xf32>) -> %s {\n", product_type);
    add_wide(&text, 'l');
    add_wide(&text, 'r');
    text_printf(&text,
                "  %%d = stablehlo.dot_general %%ls10, %%rs10, contracting_dims = [0, 1, 2, 3, 4, 5] x "
                "[0, 1, 2, 3, 4, 5] : (%s, %s) -> %s\n  return %%d : %s\n}\n",
                wide_type, wide_type, product_type, product_type);
    ir_read_program(TOAST_BINARY_DIR "/toast-read");
    ASSERT_OK(ir_read(text.at, text.size, NULL, &read, &e), &e);
    ASSERT_OK(ir_prepare(&read, &program, &e), &e);
    assert_int_equal(nda_create(&program, NULL, &nda, &e), ERROR_UNSUPPORTED_MODULE);
    assert_int_equal(e.line, 2 + 2 * 3 * WIDE);
    assert_non_null(strstr(e.message, "64 factors"));
    ir_program_release(&program);
    ir_program_release(&read);
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_family),
        cmocka_unit_test(reshape_chain_cuts_through),
        cmocka_unit_test(factors_above_64_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
