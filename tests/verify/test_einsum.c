/* What ir_prepare makes of einsum, unary_einsum, torch_index_select and tuples means what the specification
 * says: prepared and interpreted, beside a loop over all letters. What cannot be taken apart stays. */
#include "support.h"

#include "ir/prepare.h"
#include "ir/read.h"
#include "verify/interpret.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LETTERS = 128, MOST = 4 };

/* sizes of letters a, b, .. and, by their place from the end, of the dimensions of "..." */
static const int64_t size_of[LETTERS] = {
    [1] = 2, [2] = 3, ['a'] = 4, ['b'] = 3, ['c'] = 2, ['d'] = 5, ['e'] = 2, ['Z'] = 1};

static const struct row {
    const char *config, *letters[3]; /* "..." written as \2\1 in letters */
} rows[] = {
    {"ab,bc->ac", {"ab", "bc", "ac"}},
    {"abc,acd->adb", {"abc", "acd", "adb"}}, /* batch, and turned */
    {"ab,ab->", {"ab", "ab", ""}},
    {"ab,ab->ba", {"ab", "ab", "ba"}},     /* all batch */
    {"a,b->ba", {"a", "b", "ba"}},         /* outer */
    {"abe,bcd->ac", {"abe", "bcd", "ac"}}, /* letters of one operand alone */
    {"dab , Zbd -> aZ", {"dab", "Zbd", "aZ"}},
    {"...ab,...bc->...ac", {"\2\1ab", "\2\1bc", "\2\1ac"}},
    {"...ab,bc->c...a", {"\2\1ab", "bc", "c\2\1a"}},
    {"abc->cb", {"abc", NULL, "cb"}},
    {"abc->cab", {"abc", NULL, "cab"}},
    {"ab...->a...", {"ab\2\1", NULL, "a\2\1"}},
};

static void add_type(struct text *text, const char *letters)
{
    text_add(text, "tensor<");
    for (const char *c = letters; *c; c++)
        text_printf(text, "%lldx", (long long)size_of[(unsigned char)*c]);
    text_add(text, "f32>");
}

static char *module_of(const struct row *row)
{
    struct text text = {0};
    text_add(&text, "func.func @main(%x: ");
    add_type(&text, row->letters[0]);
    text_add(&text, ", %y: ");
    add_type(&text, row->letters[1] ? row->letters[1] : "");
    text_add(&text, ") -> ");
    add_type(&text, row->letters[2]);
    text_printf(&text, " {\n%%r = \"stablehlo.%s\"(%%x%s) {einsum_config = \"%s\"} : (",
                row->letters[1] ? "einsum" : "unary_einsum", row->letters[1] ? ", %y" : "", row->config);
    add_type(&text, row->letters[0]);
    if (row->letters[1]) {
        text_add(&text, ", ");
        add_type(&text, row->letters[1]);
    }
    text_add(&text, ") -> ");
    add_type(&text, row->letters[2]);
    text_add(&text, "\nreturn %r : ");
    add_type(&text, row->letters[2]);
    text_add(&text, "\n}\n");
    return text.at;
}

static bool has_op(const struct ir_program *program, const char *name)
{
    bool found = false;
    for (uint32_t op = 0; op < program->op_count; op++)
        found |= strcmp(ir_op_name(program, op), name) == 0;
    return found;
}

/* Reads, prepares and runs; program and tensors are the caller's. Inputs are small integers, sums exact. */
static void run(const char *module, struct ir_program *program, struct verify_tensor *in,
                struct verify_tensor *out)
{
    struct ir_program read = {0};
    struct rng rng = {.state = support_seed(5)};
    struct error e;
    ASSERT_OK(ir_read(module, strlen(module), NULL, &read, &e), &e);
    ASSERT_OK(ir_prepare(&read, program, &e), &e);
    ir_program_release(&read);
    uint32_t body = ir_region_block(program, ir_function(program, "main"), 0);
    for (uint32_t i = 0; i < program->blocks[body].arg_count; i++) {
        uint32_t type = program->values[program->blocks[body].args + i].type;
        ASSERT_OK(verify_tensor_create(program, type, &in[i], &e), &e);
        for (int64_t k = 0; k < verify_tensor_count(&in[i]); k++)
            if (in[i].element == IR_F32)
                ((float *)in[i].data)[k] = (float)rng_below(&rng, 17) - 8;
            else /* an index: some out of range */
                ((int64_t *)in[i].data)[k] = (int64_t)rng_below(&rng, 9) - 2;
    }
    ASSERT_OK(verify_run(program, "main", 1, in, out, NULL, NULL, &e), &e);
}

static int64_t place(const char *letters, const int64_t *index)
{
    int64_t at = 0;
    for (const char *c = letters; *c; c++)
        at = at * size_of[(unsigned char)*c] + index[(unsigned char)*c];
    return at;
}

/* every combination of all letters, in turn; false after the last */
static bool next(const char *letters, int64_t *index)
{
    for (const char *c = letters; *c; c++) {
        if (++index[(unsigned char)*c] < size_of[(unsigned char)*c])
            return true;
        index[(unsigned char)*c] = 0;
    }
    return false;
}

static void sums_are_those_of_the_letters(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const *letters = rows[i].letters;
        struct verify_tensor in[MOST] = {{0}}, out = {0};
        struct ir_program program = {0};
        char *module = module_of(&rows[i]), all[32] = "";
        int64_t index[LETTERS] = {0};
        run(module, &program, in, &out);
        if (has_op(&program, "stablehlo.einsum") || has_op(&program, "stablehlo.unary_einsum"))
            fail_msg("%s stays", rows[i].config);
        for (int k = 0; k < 2; k++)
            for (const char *c = letters[k] ? letters[k] : ""; *c; c++)
                if (!strchr(all, *c))
                    strncat(all, c, 1);
        float *wanted = mem_zalloc((size_t)verify_tensor_count(&out) + 1, sizeof *wanted);
        do
            wanted[place(letters[2], index)] +=
                ((float *)in[0].data)[place(letters[0], index)] *
                (letters[1] ? ((float *)in[1].data)[place(letters[1], index)] : 1);
        while (next(all, index));
        for (int64_t k = 0; k < verify_tensor_count(&out); k++)
            if (wanted[k] != ((float *)out.data)[k])
                fail_msg("%s: element %lld is %g, not %g", rows[i].config, (long long)k,
                         (double)((float *)out.data)[k], (double)wanted[k]);
        for (int k = 0; k < MOST; k++)
            verify_tensor_release(&in[k]);
        verify_tensor_release(&out);
        ir_program_release(&program);
        free(wanted);
        free(module);
    }
}

/* diagonals, sizes that differ, letters from nowhere: not taken apart, and said to be replicated */
static void others_stay(void **state)
{
    static const char *const lines[] = {
        "%r = \"stablehlo.unary_einsum\"(%x) {einsum_config = \"aab->ab\"} : (tensor<4x4x2xf32>) -> "
        "tensor<4x2xf32>",
        "%r = \"stablehlo.unary_einsum\"(%x) {einsum_config = \"abc->bd\"} : (tensor<4x4x2xf32>) -> "
        "tensor<4x2xf32>",
        "%r = \"stablehlo.einsum\"(%x, %x) {einsum_config = \"abc,bca->bc\"} : (tensor<4x4x2xf32>, "
        "tensor<4x4x2xf32>) -> tensor<4x2xf32>",
        "%r = \"stablehlo.einsum\"(%x, %x) {einsum_config = \"abc,abc\"} : (tensor<4x4x2xf32>, "
        "tensor<4x4x2xf32>) -> tensor<4x2xf32>",
        "%r = \"stablehlo.torch_index_select\"(%x, %x) {dim = 3 : i64, batch_dims = 0 : i64} : "
        "(tensor<4x4x2xf32>, tensor<4x4x2xf32>) -> tensor<4x2xf32>",
    };
    struct error e;
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char *module = mem_printf("func.func @main(%%x: tensor<4x4x2xf32>) -> tensor<4x2xf32> {\n%s\n"
                                  "return %%r : tensor<4x2xf32>\n}\n",
                                  lines[i]);
        struct ir_program read = {0}, program = {0};
        ASSERT_OK(ir_read(module, strlen(module), NULL, &read, &e), &e);
        ASSERT_OK(ir_prepare(&read, &program, &e), &e);
        assert_true(has_op(&program, "stablehlo.einsum") || has_op(&program, "stablehlo.unary_einsum") ||
                    has_op(&program, "stablehlo.torch_index_select"));
        ir_program_release(&read);
        ir_program_release(&program);
        free(module);
    }
}

/* operand [2, 3, 4, 5] along dim 2 by index [2, 6], one batching dim: result [2, 3, 6, 5] */
static void rows_by_index(void **state)
{
    static const char module[] =
        "func.func @main(%x: tensor<2x3x4x5xf32>, %i: tensor<2x6xi32>) -> tensor<2x3x6x5xf32> {\n"
        "%r = \"stablehlo.torch_index_select\"(%x, %i) {dim = 2 : i64, batch_dims = 1 : i64} : "
        "(tensor<2x3x4x5xf32>, tensor<2x6xi32>) -> tensor<2x3x6x5xf32>\n"
        "return %r : tensor<2x3x6x5xf32>\n}\n";
    struct verify_tensor in[MOST] = {{0}}, out = {0};
    struct ir_program program = {0};
    (void)state;
    run(module, &program, in, &out);
    assert_false(has_op(&program, "stablehlo.torch_index_select"));
    const float *from = in[0].data, *to = out.data;
    const int64_t *index = in[1].data;
    for (int64_t k = 0; k < 2 * 3 * 6 * 5; k++) {
        int64_t b = k / 90, row = k / 30 % 3, place_in = k / 5 % 6, column = k % 5;
        int64_t at = index[b * 6 + place_in];
        at = at < 0 ? 0 : at > 3 ? 3 : at; /* as gather clamps */
        assert_true(to[k] == from[((b * 3 + row) * 4 + at) * 5 + column]);
    }
    for (int k = 0; k < MOST; k++)
        verify_tensor_release(&in[k]);
    verify_tensor_release(&out);
    ir_program_release(&program);
}

static void tuples_are_their_parts(void **state)
{
    static const char module[] =
        "func.func private @pair(%a: tensor<4xf32>, %b: tensor<2xf32>) -> "
        "tuple<tensor<2xf32>, tuple<tensor<4xf32>>> {\n"
        "%t = stablehlo.tuple %a : tuple<tensor<4xf32>>\n"
        "%u = stablehlo.tuple %b, %t : tuple<tensor<2xf32>, tuple<tensor<4xf32>>>\n"
        "return %u : tuple<tensor<2xf32>, tuple<tensor<4xf32>>>\n}\n"
        "func.func @main(%a: tensor<4xf32>, %b: tensor<2xf32>) -> (tensor<2xf32>, tensor<4xf32>) {\n"
        "%u = call @pair(%a, %b) : (tensor<4xf32>, tensor<2xf32>) -> "
        "tuple<tensor<2xf32>, tuple<tensor<4xf32>>>\n"
        "%x = stablehlo.get_tuple_element %u[0] : (tuple<tensor<2xf32>, tuple<tensor<4xf32>>>) -> "
        "tensor<2xf32>\n"
        "%t = stablehlo.get_tuple_element %u[1] : (tuple<tensor<2xf32>, tuple<tensor<4xf32>>>) -> "
        "tuple<tensor<4xf32>>\n"
        "%y = stablehlo.get_tuple_element %t[0] : (tuple<tensor<4xf32>>) -> tensor<4xf32>\n"
        "return %x, %y : tensor<2xf32>, tensor<4xf32>\n}\n";
    struct verify_tensor in[MOST] = {{0}}, out[2] = {{0}};
    struct ir_program program = {0};
    (void)state;
    run(module, &program, in, out);
    assert_false(has_op(&program, "stablehlo.tuple") || has_op(&program, "stablehlo.get_tuple_element"));
    assert_memory_equal(out[0].data, in[1].data, 2 * sizeof(float));
    assert_memory_equal(out[1].data, in[0].data, 4 * sizeof(float));
    for (int k = 0; k < MOST; k++)
        verify_tensor_release(&in[k]);
    for (int k = 0; k < 2; k++)
        verify_tensor_release(&out[k]);
    ir_program_release(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_are_those_of_the_letters),
        cmocka_unit_test(others_stay),
        cmocka_unit_test(rows_by_index),
        cmocka_unit_test(tuples_are_their_parts),
    };
    ir_read_program(TOAST_BINARY_DIR "/toast-read");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
