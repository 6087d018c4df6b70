/* Modules for compilers that lay out arrays in memory: nothing asks for another order than the program's. */
#include "emit_support.h"

/* A sum over the batch that leaves two dims has a result of one dim, and an all_to_all splits the outermost
 * dim; in the annotated output, and for compilers that do not lay out, both are the program's. */
static void test_layouts_are_kept(void **state)
{
    static const char program[] =
        MAIN("%x: tensor<24x6x8xf32>, %y: tensor<24x6x8xf32>", "tensor<6x8xf32>, tensor<24x6x8xf32>",
             "%c = stablehlo.constant dense<0.0> : tensor<f32>\n"
             "%0 = stablehlo.reduce(%x init: %c) applies stablehlo.add across dimensions = [0] : "
             "(tensor<24x6x8xf32>, tensor<f32>) -> tensor<6x8xf32>\n"
             "%1 = stablehlo.negate %x : tensor<24x6x8xf32>\n"
             "%2 = stablehlo.multiply %1, %y : tensor<24x6x8xf32>\n"
             "return %0, %2 : tensor<6x8xf32>, tensor<24x6x8xf32>");
    static const char sum[] = "{dimensions = array<i64: 0, 1>} : (tensor<3x2x48xf32>, tensor<f32>) -> "
                              "tensor<48xf32>";
    static const char plain[] = "{dimensions = array<i64: 0>} : (tensor<6x6x8xf32>, tensor<f32>) -> "
                                "tensor<6x8xf32>";
    (void)state;
    for (uint8_t keep = 0; keep < 2; keep++) {
        struct setup setup;
        open_text(&setup, program, "a=4");
        struct spmd_options options = spmd_default_options(&setup.mesh);
        options.keep_layouts = keep;
        shard(&setup, IR_REDUCE, false, 0, 0, 0);
        shard(&setup, IR_NEGATE, true, 0, 0, 0);   /* rows of the batch .. */
        shard(&setup, IR_MULTIPLY, true, 0, 2, 0); /* .. become columns */
        walk_with(&setup, &options);
        for (int form = EMIT_ANNOTATED; form <= EMIT_LOCAL; form++) {
            char *text = emit_text(&setup, (enum emit_output)form);
            bool kept = keep && form != EMIT_ANNOTATED;
            assert_int_equal(occurrences(text, sum), kept);
            assert_int_equal(occurrences(text, plain), form != EMIT_ANNOTATED && !keep);
            assert_int_equal(occurrences(text, "split_dimension = 0"), kept);
            assert_int_equal(occurrences(text, "split_dimension = 2"), form != EMIT_ANNOTATED && !keep);
            free(text);
        }
        close_setup(&setup);
    }
}

/* What a convolution gives of its kernel is reduced as one row, what it gives of an image as it is. */
static void test_kernels_gradients_are_rows(void **state)
{
    static const char program[] = MAIN(
        "%x: tensor<8x16x16x4xf32>, %g: tensor<8x16x16x6xf32>, %k: tensor<3x3x4x6xf32>",
        "tensor<3x3x4x6xf32>, tensor<8x16x16x6xf32>",
        "%0 = stablehlo.convolution(%x, %g) dim_numbers = [f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f], window = "
        "{pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
        "(tensor<8x16x16x4xf32>, tensor<8x16x16x6xf32>) -> tensor<3x3x4x6xf32>\n"
        "%1 = stablehlo.convolution(%x, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = "
        "{pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : "
        "(tensor<8x16x16x4xf32>, tensor<3x3x4x6xf32>) -> tensor<8x16x16x6xf32>\n"
        "return %0, %1 : tensor<3x3x4x6xf32>, tensor<8x16x16x6xf32>");
    static const char row[] = "(tensor<1x216xf32>) -> tensor<1x216xf32>";
    static const char image[] = "(tensor<8x16x16x6xf32>) -> tensor<8x16x16x6xf32>";
    (void)state;
    for (uint8_t keep = 0; keep < 2; keep++) {
        struct setup setup;
        open_text(&setup, program, "a=4,b=2");
        struct spmd_options options = spmd_default_options(&setup.mesh);
        options.keep_layouts = keep;
        options.combine_bytes = 1;
        shard_nth(&setup, IR_CONVOLUTION, 0, false, 0, 0, 0); /* examples */
        shard_nth(&setup, IR_CONVOLUTION, 1, false, 0, 3, 1); /* features */
        walk_with(&setup, &options);
        for (int form = EMIT_MANUAL; form <= EMIT_LOCAL; form++) {
            char *text = emit_text(&setup, (enum emit_output)form);
            assert_int_equal(occurrences(text, row), keep);
            assert_int_equal(occurrences(text, image), 1);
            free(text);
        }
        close_setup(&setup);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts_are_kept),
        cmocka_unit_test(test_kernels_gradients_are_rows),
    };
    ir_read_program(TOAST_BINARY_DIR "/toast-read");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
