/* verify: every op against XLA's results on small cases (tests/verify/golden, written by generate.py). */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/prepare.h"
#include "ir/read.h"
#include "verify/prove.h"
#include "verify/value.h"

/* numbers after `// case 7 in 3:` or `// case 7 out 0:`, into tensor */
static void numbers(const char *text, int number, const char *word, uint32_t index,
                    struct verify_tensor *tensor)
{
    char mark[48];
    snprintf(mark, sizeof mark, "// case %d %s %u:", number, word, index);
    const char *at = strstr(text, mark);
    if (!at)
        fail_msg("no '%s'", mark);
    at += strlen(mark);
    enum verify_store store = verify_store_of(tensor->element);
    int64_t n = verify_tensor_count(tensor) * (store == VERIFY_C64 || store == VERIFY_C128 ? 2 : 1);
    for (int64_t i = 0; i < n; i++) {
        char *end;
        if (store == VERIFY_I64)
            ((int64_t *)tensor->data)[i] =
                tensor->element == IR_UI64 ? (int64_t)strtoull(at, &end, 10) : strtoll(at, &end, 10);
        else if (store == VERIFY_U8)
            ((uint8_t *)tensor->data)[i] = (uint8_t)strtoul(at, &end, 10);
        else if (store == VERIFY_F32 || store == VERIFY_C64)
            ((float *)tensor->data)[i] = strtof(at, &end);
        else
            ((double *)tensor->data)[i] = strtod(at, &end);
        assert_ptr_not_equal(end, at);
        at = end;
    }
}

/* NaN where NaN is expected is equal here: these are the ops' own edge cases */
static void replace_nans(struct verify_tensor *tensor, struct verify_tensor *verify_tensor)
{
    enum verify_store store = verify_store_of(tensor->element);
    if (store != VERIFY_F32)
        return;
    float *x = tensor->data, *y = verify_tensor->data;
    for (int64_t i = 0; i < verify_tensor_count(tensor); i++)
        if (isnan(x[i]) && isnan(y[i]))
            x[i] = y[i] = 0;
}

/* whether the interpreter gives what XLA gave */
static bool run_case(const struct ir_program *program, const char *text, int number)
{
    char name[32];
    snprintf(name, sizeof name, "main%d", number);
    uint32_t block = ir_region_block(program, ir_function(program, name), 0),
             last = ir_block_terminator(program, block);
    uint32_t in_count = program->blocks[block].arg_count, out_count = program->ops[last].operand_count;
    struct verify_tensor in[8] = {0}, out[8] = {0}, expected[8] = {0};
    struct error e = {0};
    bool right = false;
    for (uint32_t i = 0; i < in_count; i++) {
        ASSERT_OK(
            verify_tensor_create(program, program->values[program->blocks[block].args + i].type, &in[i], &e),
            &e);
        numbers(text, number, "in", i, &in[i]);
    }
    for (uint32_t i = 0; i < out_count; i++) {
        ASSERT_OK(verify_tensor_create(program, program->values[ir_operand(program, last, i)].type,
                                       &expected[i], &e),
                  &e);
        numbers(text, number, "out", i, &expected[i]);
    }
    enum error_code code = verify_run(program, name, 1, in, out, NULL, NULL, &e);
    if (code) {
        print_message("@%s: %s:%d:%d %s\n", name, error_code_text(code), e.line, e.column, e.message);
    } else {
        bool narrow = expected[0].element == IR_BF16 || expected[0].element == IR_F16;
        for (uint32_t i = 0; i < out_count; i++)
            replace_nans(&expected[i], &out[i]);
        /* a narrow type may differ by one rounding */
        struct verify_difference difference =
            verify_compare(expected, out, out_count, narrow ? 8e-3 : 2e-6, 0);
        right = difference.verdict == VERIFY_EQUAL;
        if (!right)
            print_message("@%s: %s (error %g)\n", name, difference.what, difference.worst);
    }
    for (int i = 0; i < 8; i++) {
        verify_tensor_release(&in[i]);
        verify_tensor_release(&out[i]);
        verify_tensor_release(&expected[i]);
    }
    return right;
}

static void run_file(const char *file, int least)
{
    char *path = mem_printf("%s/tests/verify/golden/%s.mlir", TOAST_SOURCE_DIR, file), name[32] = "main0";
    size_t size;
    char *text = support_read(path, &size);
    struct ir_program program = {0};
    struct error e = {0};
    int failures = 0, cases = 0;
    ASSERT_OK(ir_read(text, size, NULL, &program, &e), &e);
    ASSERT_OK(ir_verify(&program, &e), &e);
    while (ir_function(&program, name) != IR_NONE) {
        failures += !run_case(&program, text, cases++);
        snprintf(name, sizeof name, "main%d", cases);
    }
    ir_program_release(&program);
    free(text);
    free(path);
    assert_int_equal(failures, 0);
    assert_in_range(cases, least, 1000);
}

#define GOLDEN(name, least)                                                                                  \
    static void name(void **state)                                                                           \
    {                                                                                                        \
        (void)state;                                                                                         \
        run_file(#name, least);                                                                              \
    }
GOLDEN(elementwise, 130)
GOLDEN(movement, 30)
GOLDEN(contraction, 20)
GOLDEN(reduction, 45)
GOLDEN(indexing, 15)
GOLDEN(linear, 10)
GOLDEN(control, 4)

int main(void)
{
    ir_read_program(TOAST_BINARY_DIR "/toast-read");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementwise), cmocka_unit_test(movement), cmocka_unit_test(contraction),
        cmocka_unit_test(reduction),   cmocka_unit_test(indexing), cmocka_unit_test(linear),
        cmocka_unit_test(control),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
