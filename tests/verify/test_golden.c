/* verify: every op against XLA's results on small cases (tests/verify/golden, written by generate.py). */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/prepare.h"
#include "ir/read.h"
#include "verify/prove.h"
#include "verify/value.h"

/* numbers after `// in 3:` or `// out 0:` of a case, into t */
static void numbers(const char *text, const char *word, uint32_t index, struct verify_tensor *t)
{
    char mark[32];
    snprintf(mark, sizeof mark, "// %s %u:", word, index);
    const char *at = strstr(text, mark);
    if (!at)
        fail_msg("no '%s' in\n%s", mark, text);
    at += strlen(mark);
    enum verify_store store = verify_store_of(t->element);
    int64_t n = verify_tensor_count(t) * (store == VERIFY_C64 || store == VERIFY_C128 ? 2 : 1);
    for (int64_t i = 0; i < n; i++) {
        char *end;
        if (store == VERIFY_I64)
            ((int64_t *)t->data)[i] = t->element == IR_UI64 ? (int64_t)strtoull(at, &end, 10) : strtoll(at, &end, 10);
        else if (store == VERIFY_U8)
            ((uint8_t *)t->data)[i] = (uint8_t)strtoul(at, &end, 10);
        else if (store == VERIFY_F32 || store == VERIFY_C64)
            ((float *)t->data)[i] = strtof(at, &end);
        else
            ((double *)t->data)[i] = strtod(at, &end);
        assert_ptr_not_equal(end, at);
        at = end;
    }
}

/* NaN where NaN is expected is equal here: these are the ops' own edge cases */
static void replace_nans(struct verify_tensor *a, struct verify_tensor *b)
{
    enum verify_store store = verify_store_of(a->element);
    if (store != VERIFY_F32)
        return;
    float *x = a->data, *y = b->data;
    for (int64_t i = 0; i < verify_tensor_count(a); i++)
        if (isnan(x[i]) && isnan(y[i]))
            x[i] = y[i] = 0;
}

static void run_case(const char *text, size_t size, int *failures)
{
    struct ir_program p = {0};
    struct error e = {0};
    ASSERT_OK(ir_read(text, size, NULL, &p, &e), &e);
    ASSERT_OK(ir_verify(&p, &e), &e);
    uint32_t block = ir_region_block(&p, ir_function(&p, "main"), 0), last = ir_block_terminator(&p, block);
    uint32_t in_count = p.blocks[block].arg_count, out_count = p.ops[last].operand_count;
    struct verify_tensor in[8] = {0}, out[8] = {0}, expected[8] = {0};
    for (uint32_t i = 0; i < in_count; i++) {
        ASSERT_OK(verify_tensor_create(&p, p.values[p.blocks[block].args + i].type, &in[i], &e), &e);
        numbers(text, "in", i, &in[i]);
    }
    for (uint32_t i = 0; i < out_count; i++) {
        ASSERT_OK(verify_tensor_create(&p, p.values[ir_operand(&p, last, i)].type, &expected[i], &e), &e);
        numbers(text, "out", i, &expected[i]);
    }
    enum error_code code = verify_run(&p, "main", 1, in, out, NULL, NULL, &e);
    if (code) {
        print_message("%s:%d:%d %s\n%s\n", error_code_text(code), e.line, e.column, e.message, text);
        ++*failures;
    } else {
        double tolerance = verify_tolerance(&p) < 1e-3 ? 2e-6 : 8e-3;   /* one rounding of a narrow type */
        for (uint32_t i = 0; i < out_count; i++)
            replace_nans(&expected[i], &out[i]);
        struct verify_difference d = verify_compare(expected, out, out_count, tolerance, 0);
        if (d.verdict != VERIFY_EQUAL) {
            print_message("%s (error %g)\n%s\n", d.what, d.worst, text);
            ++*failures;
        }
    }
    for (int i = 0; i < 8; i++) {
        verify_tensor_release(&in[i]);
        verify_tensor_release(&out[i]);
        verify_tensor_release(&expected[i]);
    }
    ir_program_release(&p);
}

static void run_file(const char *name, int least)
{
    char *path = mem_printf("%s/tests/verify/golden/%s.mlir", TOAST_SOURCE_DIR, name);
    size_t size;
    char *text = support_read(path, &size), *at = text;
    int failures = 0, cases = 0;
    while (at) {
        char *end = strstr(at, "// -----\n");
        if (end)
            *end = 0;
        run_case(at, strlen(at), &failures);
        cases++;
        at = end ? end + strlen("// -----\n") : NULL;
    }
    free(text);
    free(path);
    assert_int_equal(failures, 0);
    assert_in_range(cases, least, 1000);
}

#define GOLDEN(name, least)                                                                                   \
    static void name(void **state)                                                                            \
    {                                                                                                         \
        (void)state;                                                                                          \
        run_file(#name, least);                                                                               \
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
