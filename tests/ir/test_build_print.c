/* Programs made with the builder: what is printed, what is found again, copies between programs. */
#include "support.h"

#include "ir/build.h"
#include "ir/print.h"

#include <stdlib.h>
#include <string.h>

static void function_attrs(struct ir_builder *builder, struct ir_attr out[3])
{
    uint32_t type = ir_build_type(builder, "(tensor<2x3xf32>) -> tensor<3xf32>", 34);
    struct ir_attr entry = ir_build_named(builder, "tf.aliasing_output", ir_build_int(builder, 0, "i32"));
    struct ir_attr dictionary = ir_build_dictionary(builder, &entry, 1);
    out[0] = ir_build_named(builder, "arg_attrs", ir_build_array(builder, &dictionary, 1));
    out[1] = ir_build_named(builder, "function_type", ir_build_type_attr(builder, type));
    out[2] = ir_build_named(builder, "sym_name", ir_build_str(builder, "main"));
}

/* main: reduce of a [2, 3] argument over dimension 0, then an add with a constant */
static struct ir_program build(void)
{
    struct ir_builder *builder = ir_builder_create();
    const int64_t dims[] = {2, 3}, row[] = {3}, zero[] = {0};
    uint32_t matrix = ir_build_tensor_type(builder, IR_F32, 2, dims),
             vector = ir_build_tensor_type(builder, IR_F32, 1, row);
    uint32_t scalar = ir_build_tensor_type(builder, IR_F32, 0, NULL), pair[] = {scalar, scalar};
    struct ir_attr attrs[3], list;
    ir_build_begin(builder, &(struct ir_op_spec){.name = "builtin.module"});
    ir_build_region(builder);
    ir_build_block(builder, NULL, 0);
    function_attrs(builder, attrs);
    ir_build_begin(builder, &(struct ir_op_spec){.name = "func.func",
                                                 .attrs = attrs,
                                                 .attr_count = 3,
                                                 .position = {.line = 7, .column = 3}});
    ir_build_region(builder);
    uint32_t x = ir_build_block(builder, &matrix, 1);
    ir_build_value_location(builder, x, "params['w']", 11, 0);
    float f = 0.5f, three[3] = {1, -2.25f, 1e-30f};
    list = ir_build_named(builder, "value", ir_build_dense(builder, scalar, &f, sizeof f, false));
    uint32_t init = ir_builder_result(builder,
                                      ir_build_op(builder, &(struct ir_op_spec){.name = "stablehlo.constant",
                                                                                .attrs = &list,
                                                                                .attr_count = 1,
                                                                                .result_types = &scalar,
                                                                                .result_count = 1}),
                                      0);
    list = ir_build_named(builder, "dimensions", ir_build_ints(builder, zero, 1));
    uint32_t operands[] = {x, init};
    uint32_t reduce = ir_build_begin(builder, &(struct ir_op_spec){.name = "stablehlo.reduce",
                                                                   .operands = operands,
                                                                   .operand_count = 2,
                                                                   .attrs = &list,
                                                                   .attr_count = 1,
                                                                   .result_types = &vector,
                                                                   .result_count = 1});
    ir_build_region(builder);
    uint32_t inner[2];
    inner[0] = ir_build_block(builder, pair, 2);
    inner[1] = inner[0] + 1;
    uint32_t sum = ir_builder_result(builder,
                                     ir_build_op(builder, &(struct ir_op_spec){.name = "stablehlo.add",
                                                                               .operands = inner,
                                                                               .operand_count = 2,
                                                                               .result_types = &scalar,
                                                                               .result_count = 1}),
                                     0);
    ir_build_op(builder,
                &(struct ir_op_spec){.name = "stablehlo.return", .operands = &sum, .operand_count = 1});
    ir_build_end_block(builder);
    ir_build_end_region(builder);
    ir_build_end(builder);
    list = ir_build_named(builder, "value", ir_build_dense(builder, vector, three, sizeof three, false));
    operands[0] = ir_builder_result(builder, reduce, 0);
    operands[1] = ir_builder_result(builder,
                                    ir_build_op(builder, &(struct ir_op_spec){.name = "stablehlo.constant",
                                                                              .attrs = &list,
                                                                              .attr_count = 1,
                                                                              .result_types = &vector,
                                                                              .result_count = 1}),
                                    0);
    uint32_t out = ir_builder_result(builder,
                                     ir_build_op(builder, &(struct ir_op_spec){.name = "stablehlo.add",
                                                                               .operands = operands,
                                                                               .operand_count = 2,
                                                                               .result_types = &vector,
                                                                               .result_count = 1}),
                                     0);
    ir_build_op(builder, &(struct ir_op_spec){.name = "func.return", .operands = &out, .operand_count = 1});
    ir_build_end_block(builder);
    ir_build_end_region(builder);
    ir_build_end(builder);
    ir_build_end_block(builder);
    ir_build_end_region(builder);
    ir_build_end(builder);
    struct ir_program program;
    ir_builder_finish(builder, NULL, &program);
    return program;
}

static const char expected[] =
    "\"builtin.module\"() ({\n"
    "  \"func.func\"() ({\n"
    "  ^bb0(%0: tensor<2x3xf32>):\n"
    "    %1 = \"stablehlo.constant\"() {value = dense<5.000000e-01> : tensor<f32>} : () -> tensor<f32>\n"
    "    %2 = \"stablehlo.reduce\"(%0, %1) ({\n"
    "    ^bb0(%3: tensor<f32>, %4: tensor<f32>):\n"
    "      %5 = \"stablehlo.add\"(%3, %4) : (tensor<f32>, tensor<f32>) -> tensor<f32>\n"
    "      \"stablehlo.return\"(%5) : (tensor<f32>) -> ()\n"
    "    }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>\n"
    "    %6 = \"stablehlo.constant\"() {value = dense<[1.000000e+00, -2.250000e+00, 1.000000e-30]> : "
    "tensor<3xf32>} "
    ": () -> tensor<3xf32>\n"
    "    %7 = \"stablehlo.add\"(%2, %6) : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>\n"
    "    \"func.return\"(%7) : (tensor<3xf32>) -> ()\n"
    "  }) {arg_attrs = [{tf.aliasing_output = 0 : i32}], function_type = (tensor<2x3xf32>) -> tensor<3xf32>, "
    "sym_name = \"main\"} : () -> ()\n"
    "}) : () -> ()\n";

static void built_program_prints(void **state)
{
    struct ir_program program = build();
    struct text out = {0};
    ir_print(&program, &out);
    assert_string_equal(out.at, expected);
    text_release(&out);
    ir_program_release(&program);
}

static void built_program_is_checked_and_found(void **state)
{
    struct ir_program program = build(), ir_program;
    struct error e;
    ASSERT_OK(ir_image_open(program.image, program.image_size, &ir_program, &e), &e);
    uint32_t main_op = ir_function(&ir_program, "main");
    assert_int_equal(main_op, 1);
    assert_int_equal(ir_function(&ir_program, "other"), IR_NONE);
    assert_int_equal(ir_program.ops[main_op].line, 7);
    const struct ir_attr *donated =
        ir_attr_entry(&ir_program, ir_function_arg_attrs(&ir_program, main_op, 0), "tf.aliasing_output");
    assert_non_null(donated);
    assert_int_equal(donated->kind, IR_ATTR_INT);
    assert_null(ir_function_arg_attrs(&ir_program, main_op, 1));
    assert_null(ir_function_result_attrs(&ir_program, main_op, 0));
    uint32_t body = ir_region_block(&ir_program, main_op, 0);
    assert_string_equal(ir_value_location(&ir_program, ir_program.blocks[body].args), "params['w']");
    assert_string_equal(ir_value_location(&ir_program, ir_program.ops[2].results), "");
    assert_int_equal(ir_program.blocks[body].op_count, 5);
    assert_int_equal(ir_program.ops[ir_block_terminator(&ir_program, body)].code, IR_FUNC_RETURN);
    uint32_t reduce = ir_program.block_ops[ir_program.blocks[body].ops + 1];
    assert_int_equal(ir_program.ops[reduce].code, IR_REDUCE);
    assert_int_equal(ir_region_reducer(&ir_program, reduce, 0), IR_ADD);
    assert_int_equal(ir_region_block(&ir_program, reduce, 1), IR_NONE);
    ir_program_release(&program);
}

static void attributes_print_and_copy(void **state)
{
    struct ir_builder *builder = ir_builder_create();
    const int64_t ints[] = {3, -1}, bits[] = {1, 0}, two[] = {2}, many[] = {100};
    uint32_t flags = ir_build_tensor_type(builder, IR_I1, 1, two),
             z = ir_build_tensor_type(builder, IR_C64, 0, NULL);
    uint32_t half = ir_build_tensor_type(builder, IR_F16, 1, two),
             large = ir_build_tensor_type(builder, IR_I32, 1, many);
    const unsigned char yes_no[] = {1, 0}, halves[] = {0x00, 0x3c, 0x00, 0x7e}; /* 1 and a quiet NaN */
    const float complex_one[] = {1, -1};
    int32_t hundred[100], splat = 9;
    for (int i = 0; i < 100; i++)
        hundred[i] = i;
    struct ir_attr entries[] = {
        ir_build_named(builder, "a", ir_build_unit(builder)),
        ir_build_named(builder, "b", ir_build_bool(builder, true)),
        ir_build_named(builder, "c", ir_build_int(builder, -5, "i64")),
        ir_build_named(builder, "d", ir_build_int(builder, -1, "ui64")),
        ir_build_named(builder, "e e", ir_build_str(builder, "a\"b\\c\n\xc3\xa9")),
        ir_build_named(builder, "f", ir_build_symbol(builder, "f x")),
        ir_build_named(builder, "g", ir_build_ints(builder, ints, 2)),
        ir_build_named(builder, "h", ir_build_bools(builder, bits, 2)),
        ir_build_named(builder, "i", ir_build_ints(builder, ints, 0)),
        ir_build_named(builder, "j", ir_build_text(builder, "#stablehlo<precision HIGH>")),
        ir_build_named(builder, "k", ir_build_dense(builder, flags, yes_no, 2, false)),
        ir_build_named(builder, "l", ir_build_dense(builder, z, complex_one, 8, false)),
        ir_build_named(builder, "m", ir_build_dense(builder, half, halves, 4, false)),
        ir_build_named(builder, "n", ir_build_dense(builder, large, &splat, 4, true)),
        ir_build_named(builder, "o", ir_build_dense(builder, large, hundred, 400, false)),
    };
    struct ir_attr all = ir_build_named(builder, "all", ir_build_dictionary(builder, entries, 15));
    ir_build_op(builder, &(struct ir_op_spec){.name = "builtin.module", .attrs = &all, .attr_count = 1});
    struct ir_program program, ir_program;
    ir_builder_finish(builder, NULL, &program);
    struct text out = {0}, copied = {0};
    ir_print_attr(&program, &program.attrs[program.ops[0].attrs], &out);
    assert_non_null(
        strstr(out.at, "{a, b = true, c = -5 : i64, d = 18446744073709551615 : ui64, "
                       "\"e e\" = \"a\\\"b\\\\c\\0A\\C3\\A9\", f = @\"f x\", g = array<i64: 3, -1>, "
                       "h = array<i1: true, false>, i = array<i64>, j = #stablehlo<precision HIGH>, "
                       "k = dense<[true, false]> : tensor<2xi1>, "
                       "l = dense<(1.000000e+00,-1.000000e+00)> : tensor<complex<f32>>, "
                       "m = dense<[1.000000e+00, 0x7E00]> : tensor<2xf16>, n = dense<9> : tensor<100xi32>, "
                       "o = dense<\"0x000000000100000002000000"));
    struct ir_builder *ir_builder = ir_builder_create();
    struct ir_attr twice[] = {ir_build_copy_attr(ir_builder, &program, &program.attrs[program.ops[0].attrs]),
                              ir_build_copy_attr(ir_builder, &program, &program.attrs[program.ops[0].attrs])};
    twice[1].name = ir_build_cstring(ir_builder, "again");
    ir_build_op(ir_builder, &(struct ir_op_spec){.name = "builtin.module", .attrs = twice, .attr_count = 2});
    ir_builder_finish(ir_builder, NULL, &ir_program);
    ir_print_attr(&ir_program, ir_attr_find(&ir_program, 0, "again"), &copied);
    assert_string_equal(out.at, copied.at);
    assert_int_equal(ir_program.constant_count, program.constant_count); /* copied once */
    assert_int_equal(ir_program.byte_count, program.byte_count);
    text_release(&out);
    text_release(&copied);
    ir_program_release(&program);
    ir_program_release(&ir_program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(built_program_prints),
        cmocka_unit_test(built_program_is_checked_and_found),
        cmocka_unit_test(attributes_print_and_copy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
