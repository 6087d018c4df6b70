/* What ir_prepare makes of batch norms and loops means what they mean: the module as read and as prepared,
 * interpreted on the same inputs. */
#include "support.h"

#include "ir/prepare.h"
#include "ir/read.h"
#include "verify/interpret.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INPUTS = 4, RESULTS = 6 };

/* %s: element; feature_index is the middle dim */
static const char text[] = "func.func @main(%%x: tensor<6x5x4x%1$s>, %%s: tensor<5x%1$s>, %%o: "
                           "tensor<5x%1$s>, %%g: tensor<6x5x4x%1$s>) -> "
                           "(tensor<6x5x4x%1$s>, tensor<5x%1$s>, tensor<5x%1$s>, tensor<6x5x4x%1$s>, "
                           "tensor<5x%1$s>, tensor<5x%1$s>) {\n"
                           "  %%y, %%m, %%v = \"stablehlo.batch_norm_training\"(%%x, %%s, %%o) <{epsilon = "
                           "0.25 : f32, feature_index = 1 : i64}> : "
                           "(tensor<6x5x4x%1$s>, tensor<5x%1$s>, tensor<5x%1$s>) -> (tensor<6x5x4x%1$s>, "
                           "tensor<5x%1$s>, tensor<5x%1$s>)\n"
                           "  %%a, %%b, %%c = \"stablehlo.batch_norm_grad\"(%%x, %%s, %%o, %%v, %%g) "
                           "<{epsilon = 0.25 : f32, feature_index = 1 : i64}> : "
                           "(tensor<6x5x4x%1$s>, tensor<5x%1$s>, tensor<5x%1$s>, tensor<5x%1$s>, "
                           "tensor<6x5x4x%1$s>) -> (tensor<6x5x4x%1$s>, "
                           "tensor<5x%1$s>, tensor<5x%1$s>)\n"
                           "  return %%y, %%m, %%v, %%a, %%b, %%c : tensor<6x5x4x%1$s>, tensor<5x%1$s>, "
                           "tensor<5x%1$s>, tensor<6x5x4x%1$s>, "
                           "tensor<5x%1$s>, tensor<5x%1$s>\n}\n";

/* weights and a bound carried unchanged, by two loops, of which the inner one runs in the first iteration
 * only; results that are operands */
static const char loops[] =
    "func.func @main(%x: tensor<6x4xf32>, %w: tensor<4x4xf32>, %u: tensor<4xf32>, %g: tensor<4x4xf32>) -> "
    "(tensor<6x4xf32>, "
    "tensor<4x4xf32>, tensor<4xf32>) {\n"
    "  %zero = stablehlo.constant dense<0> : tensor<i32>\n  %three = stablehlo.constant dense<3> : "
    "tensor<i32>\n"
    "  %h = stablehlo.add %w, %g : tensor<4x4xf32>\n"
    "  %0:5 = stablehlo.while(%i = %zero, %n = %three, %a = %x, %m = %h, %b = %u) : tensor<i32>, "
    "tensor<i32>, tensor<6x4xf32>, "
    "tensor<4x4xf32>, tensor<4xf32>\n"
    "    cond {\n    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "    stablehlo.return %p : tensor<i1>\n"
    "  } do {\n"
    "    %one = stablehlo.constant dense<1> : tensor<i32>\n"
    "    %1:3 = stablehlo.while(%k = %i, %c = %a, %v = %m) : tensor<i32>, tensor<6x4xf32>, tensor<4x4xf32>\n"
    "      cond {\n      %p = stablehlo.compare LT, %k, %one : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
    "      stablehlo.return %p : tensor<i1>\n"
    "    } do {\n"
    "      %d = stablehlo.dot_general %c, %v, contracting_dims = [1] x [0] : (tensor<6x4xf32>, "
    "tensor<4x4xf32>) -> tensor<6x4xf32>\n"
    "      %l = stablehlo.add %k, %one : tensor<i32>\n"
    "      stablehlo.return %l, %d, %v : tensor<i32>, tensor<6x4xf32>, tensor<4x4xf32>\n    }\n"
    "    %e = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<4xf32>) -> tensor<6x4xf32>\n"
    "    %f = stablehlo.add %1#1, %e : tensor<6x4xf32>\n"
    "    %j = stablehlo.add %i, %one : tensor<i32>\n"
    "    stablehlo.return %j, %n, %f, %1#2, %b : tensor<i32>, tensor<i32>, tensor<6x4xf32>, tensor<4x4xf32>, "
    "tensor<4xf32>\n  }\n"
    "  return %0#2, %0#3, %0#4 : tensor<6x4xf32>, tensor<4x4xf32>, tensor<4xf32>\n}\n";

static double at(const struct verify_tensor *tensor, int64_t i)
{
    return tensor->element == IR_F64 ? ((const double *)tensor->data)[i]
                                     : (double)((const float *)tensor->data)[i];
}

static void fill(const struct ir_program *program, struct verify_tensor in[INPUTS])
{
    struct rng rng = {.state = support_seed(3)};
    struct error e;
    uint32_t body = ir_region_block(program, ir_function(program, "main"), 0);
    for (uint32_t i = 0; i < INPUTS; i++) {
        ASSERT_OK(
            verify_tensor_create(program, program->values[program->blocks[body].args + i].type, &in[i], &e),
            &e);
        for (int64_t k = 0; k < verify_tensor_count(&in[i]); k++) {
            double x = (double)rng_below(&rng, 33) / 16 - 1; /* exact in every float type */
            if (in[i].element == IR_F64)
                ((double *)in[i].data)[k] = x;
            else
                ((float *)in[i].data)[k] = (float)x;
        }
    }
}

static bool has_op(const struct ir_program *program, uint16_t code)
{
    bool found = false;
    for (uint32_t op = 0; op < program->op_count; op++)
        found |= program->ops[op].code == code;
    return found;
}

/* reads and prepares the module, then the same inputs for both */
static void compare(const char *module, uint32_t results, double tolerance, struct ir_program *read,
                    struct ir_program *prepared)
{
    struct verify_tensor in[INPUTS] = {{0}}, whole[RESULTS] = {{0}}, parts[RESULTS] = {{0}};
    struct error e;
    ASSERT_OK(ir_read(module, strlen(module), NULL, read, &e), &e);
    ASSERT_OK(ir_prepare(read, prepared, &e), &e);
    fill(read, in);
    ASSERT_OK(verify_run(read, "main", 1, in, whole, NULL, NULL, &e), &e);
    ASSERT_OK(verify_run(prepared, "main", 1, in, parts, NULL, NULL, &e), &e);
    for (uint32_t r = 0; r < results; r++) {
        double largest = 0, error = 0;
        assert_int_equal(whole[r].element, parts[r].element);
        for (int64_t k = 0; k < verify_tensor_count(&whole[r]); k++) {
            largest = fmax(largest, fabs(at(&whole[r], k)));
            error = fmax(error, fabs(at(&whole[r], k) - at(&parts[r], k)));
        }
        assert_true(largest > 0);
        if (error > tolerance * largest)
            fail_msg("%s\nresult %u: off by %g of %g", module, r, error, largest);
        verify_tensor_release(&whole[r]);
        verify_tensor_release(&parts[r]);
    }
    for (uint32_t i = 0; i < INPUTS; i++)
        verify_tensor_release(&in[i]);
}

static void check(const char *element, double tolerance)
{
    struct ir_program read = {0}, prepared = {0};
    char *module = mem_printf(text, element);
    compare(module, RESULTS, tolerance, &read, &prepared);
    assert_true(has_op(&read, IR_BATCH_NORM_TRAINING) && has_op(&read, IR_BATCH_NORM_GRAD));
    assert_false(has_op(&prepared, IR_BATCH_NORM_TRAINING) || has_op(&prepared, IR_BATCH_NORM_GRAD));
    free(module);
    ir_program_release(&read);
    ir_program_release(&prepared);
}

static void batch_norm(void **state)
{
    (void)state;
    ir_read_program(TOAST_BINARY_DIR "/toast-read");
    check("f32", 2e-6);
    check("f64", 1e-12);
    check("bf16", 1e-2);
}

static uint32_t most_carried(const struct ir_program *program)
{
    uint32_t most = 0;
    for (uint32_t op = 0; op < program->op_count; op++)
        if (program->ops[op].code == IR_WHILE && program->ops[op].result_count > most)
            most = program->ops[op].result_count;
    return most;
}

static void carried_unchanged(void **state)
{
    struct ir_program read = {0}, prepared = {0};
    (void)state;
    compare(loops, 3, 0, &read, &prepared);
    assert_int_equal(most_carried(&read), 5);
    assert_int_equal(most_carried(&prepared), 2);
    ir_program_release(&read);
    ir_program_release(&prepared);
}

/* operands that do not fit are still the op's fault, named as such */
static void unsound(void **state)
{
    static const char wrong[] =
        "func.func @main(%x: tensor<6x5xf32>, %s: tensor<4xf32>) -> tensor<6x5xf32> {\n"
        "  %y, %m, %v = \"stablehlo.batch_norm_training\"(%x, %s, %s) <{epsilon = 0.25 : f32, feature_index "
        "= 1 : i64}> : "
        "(tensor<6x5xf32>, tensor<4xf32>, tensor<4xf32>) -> (tensor<6x5xf32>, tensor<4xf32>, tensor<4xf32>)\n"
        "  return %y : tensor<6x5xf32>\n}\n";
    struct ir_program read = {0}, prepared = {0};
    struct error e;
    (void)state;
    ASSERT_OK(ir_read(wrong, strlen(wrong), NULL, &read, &e), &e);
    assert_int_equal(ir_prepare(&read, &prepared, &e), ERROR_INVALID_MODULE);
    assert_non_null(strstr(e.message, "batch_norm_training"));
    ir_program_release(&read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(batch_norm), cmocka_unit_test(carried_unchanged),
                                       cmocka_unit_test(unsound)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
