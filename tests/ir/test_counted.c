/* Index vectors that count: every way of writing positions that is one, and those that only look like it. */
/* timeout: 60 */
#include "support.h"

#include "ir/counted.h"
#include "ir/prepare.h"
#include "ir/read.h"

#include <stdlib.h>
#include <string.h>

/* Into %c, a column tensor<8x1xi32> for the operand's 8 rows. */
#define IOTA "%i = stablehlo.iota dim = 0 : tensor<8x1xi32>\n"
#define NUMBER(name, number) "%" name " = stablehlo.constant dense<" number "> : tensor<8x1xi32>\n"
#define COMPARE(how)                                                                                         \
    "%p = stablehlo.compare " how ", %i, %z, SIGNED : (tensor<8x1xi32>, tensor<8x1xi32>) -> "                \
    "tensor<8x1xi1>\n"
#define SELECT(yes, no) "%c = stablehlo.select %p, %" yes ", %" no " : tensor<8x1xi1>, tensor<8x1xi32>\n"

static const struct row {
    const char *name, *column;
    bool counts;
} rows[] = {
    {"an iota", "%c = stablehlo.iota dim = 0 : tensor<8x1xi32>\n", true},
    {"an iota along the vectors' dim", "%c = stablehlo.iota dim = 1 : tensor<8x1xi32>\n", false},
    {"moved if negative",
     IOTA NUMBER("z", "0") NUMBER("n", "8") COMPARE("LT") "%m = stablehlo.add %i, %n : tensor<8x1xi32>\n" //
     SELECT("m", "i"),
     true},
    {"moved if positive",
     IOTA NUMBER("z", "0") NUMBER("n", "8") COMPARE("GT") "%m = stablehlo.add %i, %n : tensor<8x1xi32>\n" //
     SELECT("m", "i"),
     false},
    {"chosen from the other side", IOTA NUMBER("z", "0") NUMBER("n", "3") COMPARE("GE") SELECT("i", "n"),
     true},
    {"chosen by what is not certain", IOTA NUMBER("z", "7") NUMBER("n", "3") COMPARE("LT") SELECT("i", "n"),
     false},
    {"a constant",
     "%c = stablehlo.constant dense<[[0], [1], [2], [3], [4], [5], [6], [7]]> : tensor<8x1xi32>\n", true},
    {"a constant with two places exchanged",
     "%c = stablehlo.constant dense<[[0], [1], [2], [4], [3], [5], [6], [7]]> : tensor<8x1xi32>\n", false},
    {"one later", IOTA NUMBER("z", "1") "%c = stablehlo.add %i, %z : tensor<8x1xi32>\n", false},
    {"there and back",
     IOTA NUMBER("z", "1") "%j = stablehlo.add %i, %z : tensor<8x1xi32>\n"
                           "%c = stablehlo.subtract %j, %z : tensor<8x1xi32>\n",
     true},
    {"backwards", IOTA NUMBER("z", "7") "%c = stablehlo.subtract %z, %i : tensor<8x1xi32>\n", false},
    {"twice", IOTA "%c = stablehlo.add %i, %i : tensor<8x1xi32>\n", false},
    {"clamped to the rows",
     IOTA
     "%a = stablehlo.constant dense<0> : tensor<i32>\n%b = stablehlo.constant dense<7> : tensor<i32>\n"
     "%c = stablehlo.clamp %a, %i, %b : (tensor<i32>, tensor<8x1xi32>, tensor<i32>) -> tensor<8x1xi32>\n",
     true},
    {"clamped to fewer rows",
     IOTA
     "%a = stablehlo.constant dense<0> : tensor<i32>\n%b = stablehlo.constant dense<6> : tensor<i32>\n"
     "%c = stablehlo.clamp %a, %i, %b : (tensor<i32>, tensor<8x1xi32>, tensor<i32>) -> tensor<8x1xi32>\n",
     false},
    {"at least zero", IOTA NUMBER("z", "0") "%c = stablehlo.maximum %i, %z : tensor<8x1xi32>\n", true},
    {"at most five", IOTA NUMBER("z", "5") "%c = stablehlo.minimum %i, %z : tensor<8x1xi32>\n", false},
    {"a slice of a longer one, moved to where it begins",
     "%i = stablehlo.iota dim = 0 : tensor<20xi32>\n"
     "%s = stablehlo.slice %i [5:13] : (tensor<20xi32>) -> tensor<8xi32>\n"
     "%r = stablehlo.reshape %s : (tensor<8xi32>) -> tensor<8x1xi32>\n" //
     NUMBER("z", "5") "%c = stablehlo.subtract %r, %z : tensor<8x1xi32>\n",
     true},
    {"every second one",
     "%i = stablehlo.iota dim = 0 : tensor<16xi32>\n"
     "%s = stablehlo.slice %i [0:16:2] : (tensor<16xi32>) -> tensor<8xi32>\n"
     "%c = stablehlo.reshape %s : (tensor<8xi32>) -> tensor<8x1xi32>\n",
     false},
    {"narrow, turned, spread and widened",
     "%i = stablehlo.iota dim = 1 : tensor<1x8xui8>\n"
     "%t = stablehlo.transpose %i, dims = [1, 0] : (tensor<1x8xui8>) -> tensor<8x1xui8>\n"
     "%b = stablehlo.broadcast_in_dim %t, dims = [0, 1] : (tensor<8x1xui8>) -> tensor<8x1xui8>\n"
     "%c = stablehlo.convert %b : (tensor<8x1xui8>) -> tensor<8x1xi32>\n",
     true},
    {"one number in all rows",
     "%i = stablehlo.iota dim = 0 : tensor<1x1xi32>\n"
     "%c = stablehlo.broadcast_in_dim %i, dims = [0, 1] : (tensor<1x1xi32>) -> tensor<8x1xi32>\n",
     false},
    {"an argument", "%c = stablehlo.reshape %y : (tensor<8x1xi32>) -> tensor<8x1xi32>\n", false},
    {"the argument's own", IOTA "%c = stablehlo.maximum %i, %y : tensor<8x1xi32>\n", false},
    {"behind a barrier",
     IOTA "%q:2 = stablehlo.optimization_barrier %y, %i : tensor<8x1xi32>, tensor<8x1xi32>\n"
          "%c = stablehlo.reshape %q#1 : (tensor<8x1xi32>) -> tensor<8x1xi32>\n",
     true},
};

static void read_gather(int columns, const char *column, const char *joined, struct ir_program *program,
                        struct ir_gather *gather, struct ir_dims *counted)
{
    struct ir_program read = {0};
    struct error e;
    char *text = mem_printf(
        "func.func @main(%%x: tensor<8x%dxf32>, %%y: tensor<8x1xi32>) -> tensor<8xf32> {\n%s"
        "%%v = stablehlo.concatenate %s, dim = 1 : (tensor<8x1xi32>, tensor<8x1xi32>) -> tensor<8x2xi32>\n"
        "%%g = \"stablehlo.gather\"(%%x, %%v) {dimension_numbers = #stablehlo.gather<collapsed_slice_dims = "
        "[0, 1], start_index_map = [%s], index_vector_dim = 1>, slice_sizes = array<i64: 1, 1>} : "
        "(tensor<8x%dxf32>, tensor<8x2xi32>) -> tensor<8xf32>\nreturn %%g : tensor<8xf32>\n}\n",
        columns, column, joined, strcmp(joined, "%y, %c") == 0 ? "1, 0" : "0, 1", columns);
    ASSERT_OK(ir_read(text, strlen(text), NULL, &read, &e), &e);
    ASSERT_OK(ir_prepare(&read, program, &e), &e);
    ir_program_release(&read);
    free(text);
    uint32_t op = 0;
    while (program->ops[op].code != IR_GATHER)
        op++;
    assert_int_equal(ir_gather_counted(program, op, gather, counted), 0);
}

static void positions_are_followed(void **state)
{
    static const char *const joined[] = {"%c, %y", "%y, %c"};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (uint32_t order = 0; order < 2; order++) {
            struct ir_program program;
            struct ir_gather gather;
            struct ir_dims counted;
            read_gather(16, rows[i].column, joined[order], &program, &gather, &counted);
            if (counted.count != rows[i].counts)
                fail_msg("%s: %u components count", rows[i].name, counted.count);
            assert_int_equal(gather.operand_batch.count, rows[i].counts);
            assert_int_equal(gather.start_index_map.count, 2 - (uint32_t)rows[i].counts);
            if (rows[i].counts) {
                assert_int_equal(counted.at[0], order);
                assert_int_equal(gather.operand_batch.at[0], 0);
                assert_int_equal(gather.indices_batch.at[0], 0);
                assert_int_equal(gather.start_index_map.at[0], 1);
                assert_int_equal(gather.collapsed_dims.at[0], 1);
            }
            ir_program_release(&program);
        }
}

/* The diagonal: both components count along the same dimension, which can be one batch only. */
static void one_dimension_counts_once(void **state)
{
    struct ir_program program;
    struct ir_gather gather;
    struct ir_dims counted;
    (void)state;
    read_gather(8, IOTA "%c = stablehlo.reshape %i : (tensor<8x1xi32>) -> tensor<8x1xi32>\n", "%c, %i",
                &program, &gather, &counted);
    assert_int_equal(counted.count, 1);
    assert_int_equal(gather.start_index_map.count, 1);
    assert_int_equal(gather.start_index_map.at[0], 1);
    ir_program_release(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(positions_are_followed),
        cmocka_unit_test(one_dimension_counts_once),
    };
    ir_read_program(TOAST_BINARY_DIR "/toast-read");
    return cmocka_run_group_tests(tests, NULL, NULL);
}
