/* The tables of opcodes and element types, and the checker of untrusted images: whatever bytes change,
 * opening and printing either work or refuse. */
/* timeout: 120 */
#include "support.h"

#include "ir/build.h"
#include "ir/print.h"
#include "ir/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void opcodes_are_sorted_and_found(void **state)
{
    for (int code = 1; code < IR_OPCODES; code++) {
        const char *name = ir_opcode_name((enum ir_opcode)code);
        if (code > 1)
            assert_true(strcmp(ir_opcode_name((enum ir_opcode)(code - 1)), name) < 0);
        assert_int_equal(ir_opcode_find(name, strlen(name)), code);
        assert_int_equal(ir_opcode_find(name, strlen(name) - 1) == (enum ir_opcode)code, 0);
    }
    assert_int_equal(ir_opcode_find("stablehlo.nothing", 17), IR_UNKNOWN);
    assert_int_equal(ir_opcode_find("", 0), IR_UNKNOWN);
    assert_int_equal(ir_opcode_family(IR_ADD), IR_FAMILY_ELEMENTWISE);
    assert_int_equal(ir_opcode_family(IR_UNKNOWN), IR_FAMILY_UNKNOWN);
    assert_null(ir_opcode_name(IR_UNKNOWN));
    for (int f = 0; f < IR_FAMILIES; f++)
        assert_non_null(ir_family_name((enum ir_family)f));
}

static void elements_have_sizes(void **state)
{
    static const struct {
        enum ir_element e;
        const char *name;
        unsigned bits;
        bool is_float;
    } rows[] = {{IR_I1, "i1", 8, false},
                {IR_I4, "i4", 8, false},
                {IR_UI64, "ui64", 64, false},
                {IR_BF16, "bf16", 16, true},
                {IR_F8E5M2, "f8E5M2", 8, true},
                {IR_C64, "complex<f32>", 64, false},
                {IR_C128, "complex<f64>", 128, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_string_equal(ir_element_name(rows[i].e), rows[i].name);
        assert_int_equal(ir_element_bits(rows[i].e), rows[i].bits);
        assert_int_equal(ir_element_is_float(rows[i].e), rows[i].is_float);
    }
}

static void types_are_decoded(void **state)
{
    static const struct {
        const char *text;
        int kind, element, rank, flags;
        int64_t elements, bytes;
    } rows[] = {
        {"tensor<2x3xf32>", IR_TYPE_TENSOR, IR_F32, 2, 0, 6, 24},
        {"tensor<bf16>", IR_TYPE_TENSOR, IR_BF16, 0, 0, 1, 2},
        {"tensor<0x5xi1>", IR_TYPE_TENSOR, IR_I1, 2, 0, 0, 0},
        {"tensor<?x4xcomplex<f32>>", IR_TYPE_TENSOR, IR_C64, 2, IR_TYPE_DYNAMIC, -1, -1},
        {"tensor<*xf32>", IR_TYPE_TENSOR, IR_F32, 0, IR_TYPE_UNRANKED, 1, 4},
        {"tensor<?xf32, #stablehlo.bounds<4>>", IR_TYPE_TENSOR, IR_F32, 1, IR_TYPE_DYNAMIC | IR_TYPE_ENCODED,
         -1, -1},
        {"tensor<2x!quant.uniform<i8:f32, 1.0>>", IR_TYPE_TENSOR, IR_ELEMENT_OTHER, 1, IR_TYPE_QUANTIZED, 2,
         0},
        {"tensor<9223372036854775807x4xf32>", IR_TYPE_TENSOR, IR_F32, 2, 0, INT64_MAX, INT64_MAX},
        {"tensor<3xf4E2M1FN>", IR_TYPE_TENSOR, IR_F4E2M1FN, 1, 0, 3, 3},
        {"!stablehlo.token", IR_TYPE_TOKEN, 0, 0, 0, 1, 0},
        {"tuple<i32, f32>", IR_TYPE_TUPLE, 0, 0, 0, 1, 0},
        {"(tensor<f32>) -> tensor<f32>", IR_TYPE_FUNCTION, 0, 0, 0, 1, 0},
        {"tensor<99999999999999999999xf32>", IR_TYPE_OTHER, 0, 0, 0, 1, 0},
        {"vector<4xf32>", IR_TYPE_OTHER, 0, 0, 0, 1, 0},
    };
    struct ir_builder *builder = ir_builder_create();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t index = ir_build_type(builder, rows[i].text, strlen(rows[i].text));
        assert_int_equal(ir_build_type(builder, rows[i].text, strlen(rows[i].text)), index);
        struct ir_program program = ir_builder_view(builder);
        const struct ir_type *type = &program.types[index];
        assert_int_equal(type->kind, rows[i].kind);
        assert_int_equal(type->element, rows[i].element);
        assert_int_equal(type->rank, rows[i].rank);
        assert_int_equal(type->flags, rows[i].flags);
        assert_int_equal(ir_type_elements(&program, type), rows[i].elements);
        if (type->kind == IR_TYPE_TENSOR)
            assert_int_equal(ir_type_bytes(&program, type), rows[i].bytes);
    }
    ir_builder_destroy(builder);
}

static void reducers_are_recognised(void **state)
{
    static const struct {
        const char *body;
        enum ir_opcode reducer;
    } rows[] = {
        {"%r = stablehlo.add %a, %b : tensor<f32> stablehlo.return %r : tensor<f32>", IR_ADD},
        {"%r = stablehlo.maximum %b, %a : tensor<f32> stablehlo.return %r : tensor<f32>", IR_MAXIMUM},
        {"%r = stablehlo.minimum %a, %b : tensor<f32> stablehlo.return %r : tensor<f32>", IR_MINIMUM},
        {"%r = stablehlo.multiply %a, %b : tensor<f32> stablehlo.return %r : tensor<f32>", IR_MULTIPLY},
        {"stablehlo.return %b : tensor<f32>", IR_SELECT},
        {"stablehlo.return %a : tensor<f32>", IR_UNKNOWN},
        {"%r = stablehlo.add %a, %a : tensor<f32> stablehlo.return %r : tensor<f32>", IR_UNKNOWN},
        {"%r = stablehlo.subtract %a, %b : tensor<f32> stablehlo.return %r : tensor<f32>", IR_UNKNOWN},
        {"%r = stablehlo.add %a, %b : tensor<f32> %s = stablehlo.negate %r : tensor<f32> stablehlo.return %s "
         ": tensor<f32>",
         IR_UNKNOWN},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *text = mem_printf(
            "func.func @main(%%x: tensor<4xf32>, %%i: tensor<f32>) -> tensor<f32> {\n"
            "%%0 = \"stablehlo.reduce\"(%%x, %%i) ({ ^bb0(%%a: tensor<f32>, %%b: tensor<f32>): %s })\n"
            "{dimensions = array<i64: 0>} : (tensor<4xf32>, tensor<f32>) -> tensor<f32>\n"
            "return %%0 : tensor<f32> }",
            rows[i].body);
        struct ir_program program;
        struct error e;
        ASSERT_OK(ir_read(text, strlen(text), NULL, &program, &e), &e);
        assert_int_equal(program.ops[2].code, IR_REDUCE);
        assert_int_equal(ir_region_reducer(&program, 2, 0), rows[i].reducer);
        ir_program_release(&program);
        free(text);
    }
}

/* A model's image with some bytes changed: opened or refused, and what is opened can be walked and
 * printed. */
static void mutate(const unsigned char *image, size_t size, struct rng *rng, unsigned *opened)
{
    unsigned char *copy = mem_alloc(size);
    memcpy(copy, image, size);
    unsigned changes = 1 + (unsigned)rng_below(rng, 3);
    for (unsigned i = 0; i < changes; i++) {
        size_t at = (size_t)rng_below(rng, rng_below(rng, 4) ? size : 400);
        copy[at] = rng_below(rng, 2) ? (unsigned char)rng_next(rng)
                                     : (unsigned char)(copy[at] ^ 1u << rng_below(rng, 8));
    }
    size_t given = rng_below(rng, 16) ? size : (size_t)rng_below(rng, size);
    struct ir_program program;
    struct error e = {.code = ERROR_OK};
    if (ir_image_open(copy, given, &program, &e) == ERROR_OK) {
        struct text out = {0};
        ir_print(&program, &out);
        for (uint32_t op = 0; op < program.op_count; op++)
            for (uint32_t region = 0; region < program.ops[op].region_count; region++)
                (void)ir_region_reducer(&program, op, region);
        (void)ir_function(&program, "main");
        text_release(&out);
        ++*opened;
    } else {
        assert_int_equal(e.code, ERROR_INTERNAL);
        assert_true(e.message[0] != 0);
    }
    free(copy);
}

static void damaged_images_never_crash(void **state)
{
    static const char *const models[] = {"mlp.mlir", "paper_attention.mlir", "small/t2b_scan.mlir"};
    struct rng rng = {support_seed(20261120)};
    for (size_t m = 0; m < 3; m++) {
        size_t size;
        char *path = mem_printf("%s%s", SUPPORT_MODELS, models[m]), *text = support_read(path, &size);
        struct ir_program program;
        struct error e;
        unsigned opened = 0, tries = m == 2 ? 300 : 6000;
        ASSERT_OK(ir_read(text, size, NULL, &program, &e), &e);
        for (unsigned i = 0; i < tries; i++)
            mutate(program.image, program.image_size, &rng, &opened);
        printf("%s: %u of %u damaged images were refused\n", models[m], tries - opened, tries);
        assert_true(opened < tries * 9 / 10);
        ir_program_release(&program);
        free(text);
        free(path);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(opcodes_are_sorted_and_found),
        cmocka_unit_test(elements_have_sizes),
        cmocka_unit_test(types_are_decoded),
        cmocka_unit_test(reducers_are_recognised),
        cmocka_unit_test(damaged_images_never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
