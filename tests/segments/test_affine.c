/* Affine expressions: CFP's (4), (5), (6) composing to (3), a case a row of its table 1, equation 2. */
#include "support.h"

#include "segments/affine.h"
#include "subject.h"

#include <string.h>

/* batch 4, tokens 8, heads 2, features 16: V is [4*8, 2*16] */
static const char VALUES[] =
    "module @m {\n"
    "  func.func public @main(%v: tensor<32x32xf32>, %p: tensor<4x2x8x8xf32>) -> tensor<32x32xf32> {\n"
    "    %0 = stablehlo.reshape %v : (tensor<32x32xf32>) -> tensor<4x8x2x16xf32>\n"
    "    %1 = stablehlo.transpose %0, dims = [0, 2, 1, 3] : (tensor<4x8x2x16xf32>) -> tensor<4x2x8x16xf32>\n"
    "    %2 = stablehlo.dot_general %p, %1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : "
    "(tensor<4x2x8x8xf32>, tensor<4x2x8x16xf32>) -> tensor<4x2x8x16xf32>\n"
    "    %3 = stablehlo.transpose %2, dims = [0, 2, 1, 3] : (tensor<4x2x8x16xf32>) -> tensor<4x8x2x16xf32>\n"
    "    %4 = stablehlo.reshape %3 : (tensor<4x8x2x16xf32>) -> tensor<32x32xf32>\n"
    "    %5 = stablehlo.add %4, %4 : tensor<32x32xf32>\n"
    "    return %5 : tensor<32x32xf32>\n"
    "  }\n"
    "}\n";

static const char BROADCAST[] =
    "module @m {\n"
    "  func.func public @main(%v: tensor<32xf32>) -> tensor<8x32xf32> {\n"
    "    %0 = stablehlo.broadcast_in_dim %v, dims = [1] : (tensor<32xf32>) -> tensor<8x32xf32>\n"
    "    return %0 : tensor<8x32xf32>\n"
    "  }\n"
    "}\n";

/* the number-th op with this name: result -> operand */
static void expression(const struct nda *n, const char *name, uint32_t number, uint32_t operand,
                       struct affine *out)
{
    for (uint32_t space = 0; space < n->space_count; space++) {
        if (n->spaces[space].kind != NDA_SPACE_OP ||
            strcmp(ir_op_name(n->program, n->spaces[space].op), name) != 0)
            continue;
        if (number-- > 0)
            continue;
        uint32_t slots = n->spaces[space].slots;
        affine_of_slots(n, slots + n->spaces[space].slot_count - 1, slots + operand, out);
        return;
    }
    fail_msg("there is no %s", name);
}

static void assert_text(const struct affine *it, const char *expected)
{
    struct text text = {0};
    affine_text(it, &text);
    assert_string_equal(text.at, expected);
    text_release(&text);
}

static void open_text(struct subject *subject, const char *module)
{
    struct error e = {0};
    ASSERT_OK(subject_text(subject, module, strlen(module), &e), &e);
}

static void table_1(void **state)
{
    struct subject subject;
    struct affine it;
    open_text(&subject, VALUES);
    expression(subject.nda, "stablehlo.add", 0, 0, &it);
    assert_text(&it, "(a0, a1) -> (a0, a1)");
    expression(subject.nda, "stablehlo.reshape", 0, 0, &it); /* one dim becomes two */
    assert_text(&it, "(a0, a1, a2, a3) -> (a0*8 + a1, a2*16 + a3)");
    expression(subject.nda, "stablehlo.reshape", 1, 0, &it); /* two dims become one */
    assert_text(&it, "(a0, a1) -> (a0/8, a0%8, a1/16, a1%16)");
    expression(subject.nda, "stablehlo.transpose", 0, 0, &it);
    assert_text(&it, "(a0, a1, a2, a3) -> (a0, a2, a1, a3)");
    expression(subject.nda, "stablehlo.dot_general", 0, 1, &it);
    assert_text(&it, "(a0, a1, a2, a3) -> (a0, a1, *, a3)");
    expression(subject.nda, "stablehlo.dot_general", 0, 0, &it);
    assert_text(&it, "(a0, a1, a2, a3) -> (a0, a1, a2, *)");
    subject_close(&subject);
    open_text(&subject, BROADCAST);
    expression(subject.nda, "stablehlo.broadcast_in_dim", 0, 0, &it);
    assert_text(&it, "(a0, a1) -> (a1)");
    subject_close(&subject);
}

/* Y -> I_M -> I_R -> V */
static void equation_3(void **state)
{
    struct subject subject;
    struct affine reshape, transpose, split, matmul, back, merge, mixed, whole;
    open_text(&subject, VALUES);
    expression(subject.nda, "stablehlo.reshape", 0, 0, &reshape);
    expression(subject.nda, "stablehlo.transpose", 0, 0, &transpose);
    affine_compose(&transpose, &reshape, &split);
    assert_text(&split, "(a0, a1, a2, a3) -> (a0*8 + a2, a1*16 + a3)"); /* (4) */
    expression(subject.nda, "stablehlo.dot_general", 0, 1, &matmul);
    assert_text(&matmul, "(a0, a1, a2, a3) -> (a0, a1, *, a3)"); /* (5) */
    expression(subject.nda, "stablehlo.transpose", 1, 0, &back);
    expression(subject.nda, "stablehlo.reshape", 1, 0, &merge);
    affine_compose(&merge, &back, &mixed);
    assert_text(&mixed, "(a0, a1) -> (a0/8, a1/16, a0%8, a1%16)"); /* (6) */
    affine_compose(&mixed, &matmul, &whole);
    affine_compose(&whole, &split, &reshape);
    assert_text(&reshape, "(a0, a1) -> (a0/8*8 + *, a1)"); /* (3) */
    assert_int_equal(affine_splits(&reshape, 0, 4), 0);
    assert_int_equal(affine_splits(&reshape, 0, 8), -1); /* 4 blocks of rows for 8 devices */
    assert_int_equal(affine_splits(&reshape, 0, 3), -1);
    assert_int_equal(affine_splits(&reshape, 1, 8), 1);
    assert_int_equal(affine_splits(&matmul, 2, 2), -1); /* contracted */
    subject_close(&subject);
}

/* identity is neutral; digits that no whole number cuts become any */
static void composing(void **state)
{
    int64_t sizes[] = {12, 5};
    struct affine identity, one, other, out;
    affine_identity(sizes, 2, &identity);
    affine_compose(&identity, &identity, &out);
    assert_text(&out, "(a0, a1) -> (a0, a1)");
    one = other = identity;
    one.at[0] = (struct affine_index){2, {{0, 3, 4}, {0, 1, 3}}}; /* [12] as 4 x 3, the same number */
    affine_compose(&identity, &one, &out);
    assert_text(&out, "(a0, a1) -> (a0, a1)");
    one.at[0] = (struct affine_index){2, {{0, 1, 3}, {0, 3, 4}}};   /* 3 x 4 with the digits changed over */
    other.at[0] = (struct affine_index){2, {{0, 2, 6}, {0, 1, 2}}}; /* cut at 2: through the digit of 4 */
    affine_compose(&one, &other, &out);
    assert_true(out.at[0].count > 0);
    assert_int_equal(affine_splits(&out, 0, 4), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(table_1), cmocka_unit_test(equation_3),
                                       cmocka_unit_test(composing)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
