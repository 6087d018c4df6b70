/* Texts that are refused: each with a code, line, column and a message that says what. None ends the
 * reader. */
/* timeout: 120 */
#include "support.h"

#include "ir/print.h"
#include "ir/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
#define TAIL "return %a : tensor<4xf32>\n}\n"

static const struct row {
    const char *name, *text;
    enum error_code code;
    int line, column;
    const char *says;
} rows[] = {
    {"empty", "", ERROR_INVALID_MODULE, 1, 1, "no op"},
    {"comments only", "  // nothing\n\n", ERROR_INVALID_MODULE, 3, 1, "no op"},
    {"not MLIR", "hello world\n", ERROR_INVALID_MODULE, 1, 1, "'hello'"},
    {"JSON", "{\"module\": 1}", ERROR_INVALID_MODULE, 1, 1, "expected an op"},
    {"HLO text", "HloModule jit_f, entry_computation_layout={(f32[8]{0})->f32[8]{0}}\n\nENTRY main {\n",
     ERROR_UNSUPPORTED_MODULE, 1, 1, "this is HLO text"},
    {"bytecode", "ML\xefR\x01StableHLO_v1.0.0", ERROR_UNSUPPORTED_MODULE, 1, 1, "bytecode"},
    {"truncated in a type", HEAD "%0 = stablehlo.add %a, %a : tensor<4xf3", ERROR_INVALID_MODULE, 2, 35,
     "'<' is not closed"},
    {"truncated in a body", "module @x {\n" HEAD "%0 = stablehlo.negate %a : tensor<4xf32>\n",
     ERROR_INVALID_MODULE, 2, 53, "'{' is not closed"},
    {"closed too often", HEAD TAIL "}\n", ERROR_INVALID_MODULE, 4, 1, "'}'"},
    {"wrong bracket",
     HEAD "%0 = stablehlo.transpose %a, dims = [0) : (tensor<4xf32>) -> tensor<4xf32>\n" TAIL,
     ERROR_INVALID_MODULE, 2, 39, "closes nothing"},
    {"undefined value", HEAD "%0 = stablehlo.add %a, %nope : tensor<4xf32>\n" TAIL, ERROR_INVALID_MODULE, 2,
     24, "%nope"},
    {"used before defined",
     HEAD "%0 = stablehlo.negate %1 : tensor<4xf32>\n%1 = stablehlo.negate %a : tensor<4xf32>\n" TAIL,
     ERROR_INVALID_MODULE, 2, 6, "before it is defined"},
    {"defined twice",
     HEAD "%0 = stablehlo.negate %a : tensor<4xf32>\n%0 = stablehlo.negate %a : tensor<4xf32>\n" TAIL,
     ERROR_INVALID_MODULE, 3, 1, "redefinition"},
    {"another type than defined", HEAD "%0 = stablehlo.negate %a : tensor<5xf32>\n" TAIL,
     ERROR_INVALID_MODULE, 2, 23, "different type"},
    {"unknown element type", HEAD "%0 = stablehlo.negate %a : tensor<4xq7>\n" TAIL, ERROR_INVALID_MODULE, 2,
     37, "type"},
    {"too few operand types", HEAD "%0 = \"stablehlo.add\"(%a, %a) : (tensor<4xf32>) -> tensor<4xf32>\n" TAIL,
     ERROR_INVALID_MODULE, 2, 32, "operand types"},
    {"size out of range", HEAD "%0 = stablehlo.constant dense<1.0> : tensor<99999999999999999999xf32>\n" TAIL,
     ERROR_INVALID_MODULE, 2, 45, "dimension"},
    {"function twice", "func.func @f() { return }\nfunc.func @f() { return }\n", ERROR_INVALID_MODULE, 2, 1,
     "redefinition"},
    {"op of another dialect", HEAD "%0 = arith.addf %a, %a : tensor<4xf32>\n" TAIL, ERROR_UNSUPPORTED_MODULE,
     2, 6, "arith.addf"},
    {"misspelt op", HEAD "%0 = stablehlo.ad %a, %a : tensor<4xf32>\n" TAIL, ERROR_UNSUPPORTED_MODULE, 2, 6,
     "stablehlo.ad"},
    {"missing keyword",
     HEAD "%0 = stablehlo.transpose %a, dim = [0] : (tensor<4xf32>) -> tensor<4xf32>\n" TAIL,
     ERROR_INVALID_MODULE, 2, 30, "expected 'dims'"},
    {"missing operand", HEAD "%0 = stablehlo.add %a : tensor<4xf32>\n" TAIL, ERROR_INVALID_MODULE, 2, 23,
     "expected ','"},
    {"branches", HEAD "\"cf.br\"()[^bb1] : () -> ()\n^bb1:\n" TAIL, ERROR_UNSUPPORTED_MODULE, 2, 10,
     "branches"},
    {"alias not defined", "module attributes {a.x = #a} {}\n", ERROR_INVALID_MODULE, 1, 26, "'#a'"},
    {"alias twice", "#a = 1\n#a = 2\nmodule {}\n", ERROR_INVALID_MODULE, 2, 1, "redefinition of alias"},
    {"string over the line's end", "module attributes {a.x = \"abc\n\"} {}", ERROR_INVALID_MODULE, 1, 26,
     "string"},
    {"name outside ASCII", "module @\xc3\xa9 {}", ERROR_INVALID_MODULE, 1, 9, "a name after '@'"},
    {"odd hex", HEAD "%0 = stablehlo.constant dense<\"0x123\"> : tensor<4xf32>\n" TAIL, ERROR_INVALID_MODULE,
     2, 34, "bytes"},
    {"short hex", HEAD "%0 = stablehlo.constant dense<\"0x1234\"> : tensor<4xf32>\n" TAIL,
     ERROR_INVALID_MODULE, 2, 34, "2 bytes; its type needs 16"},
    {"not hex", HEAD "%0 = stablehlo.constant dense<\"0x123456zz\"> : tensor<4xf32>\n" TAIL,
     ERROR_INVALID_MODULE, 2, 40, "hex digit"},
    {"short list", HEAD "%0 = stablehlo.constant dense<[1.0, 2.0]> : tensor<4xf32>\n" TAIL,
     ERROR_INVALID_MODULE, 2, 43, "does not match type"},
    {"the reader's own dialect", HEAD "\"x\"() {a = #toast_reader.hex<7 : i32>} : () -> ()\n" TAIL,
     ERROR_INVALID_MODULE, 2, 12, "toast_reader"},
    {"resources not closed", "module {}\n{-# dialect_resources: {", ERROR_INVALID_MODULE, 2, 1, "#-}"},
    {"not an attribute of modules", "module attributes {flag} {}\n", ERROR_INVALID_MODULE, 1, 1,
     "dialect-prefixed"},
};

static void refused(const char *name, const char *text, size_t size, enum error_code code, int line,
                    int column, const char *says)
{
    struct ir_program program = {0};
    struct error e = {.code = ERROR_OK};
    enum error_code got = ir_read(text, size, NULL, &program, &e);
    if (got != code || e.line != line || e.column != column || !strstr(e.message, says))
        fail_msg("%s: %s, line %d column %d: %s", name, error_code_text(got), e.line, e.column, e.message);
    assert_true(strlen(e.message) < 400);
}

static void each_says_what_and_where(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        refused(rows[i].name, rows[i].text, strlen(rows[i].text), rows[i].code, rows[i].line, rows[i].column,
                rows[i].says);
    refused("NUL", "module {\n\0}", 11, ERROR_INVALID_MODULE, 2, 1, "NUL");
}

static char *repeated(const char *head, const char *piece, size_t count, const char *tail)
{
    struct text text = {0};
    text_add(&text, head);
    for (size_t i = 0; i < count; i++)
        text_add(&text, piece);
    text_add(&text, tail);
    return text.at;
}

/* nesting of 100,000 of everything that nests: refused at the 256th, before MLIR would overflow its stack */
static void deep_nesting_is_refused(void **state)
{
    static const struct {
        const char *name, *head, *piece;
        int line, column;
    } deep[] = {{"regions", HEAD, "\"a\"() ({\n", 257, 9},
                {"loops", HEAD, "stablehlo.while() cond {\n", 257, 25},
                {"lists", HEAD "%0 = stablehlo.constant dense<", "[", 2, 285},
                {"function types", "func.func @f(%a: ", "(", 1, 274},
                {"tuples", "func.func @f(%a: ", "tuple<", 1, 1559},
                {"dictionaries", "module attributes {a.b=", "{a=", 1, 789},
                {"locations", "func.func @f() { return loc(", "fused[", 1, 1558}};
    for (size_t i = 0; i < sizeof deep / sizeof *deep; i++) {
        char *text = repeated(deep[i].head, deep[i].piece, 100000, "");
        refused(deep[i].name, text, strlen(text), ERROR_INVALID_MODULE, deep[i].line, deep[i].column,
                "nesting deeper than 256");
        free(text);
    }
    char *fine = repeated("", "module {\n", 250, "");
    struct text other_text = {0};
    struct ir_program program;
    struct error e;
    text_add(&other_text, fine);
    for (int i = 0; i < 250; i++)
        text_add(&other_text, "}");
    ASSERT_OK(ir_read(other_text.at, other_text.size, NULL, &program, &e), &e);
    assert_int_equal(program.op_count, 250);
    ir_program_release(&program);
    text_release(&other_text);
    free(fine);
}

static void long_names_are_refused(void **state)
{
    char *value = repeated(HEAD "%", "a", 10000000, " = stablehlo.negate %a : tensor<4xf32>\n" TAIL);
    refused("value", value, strlen(value), ERROR_INVALID_MODULE, 2, 1, "a name of 10000001 characters");
    char *op = repeated(HEAD "%0 = ", "a", 10000000, " %a : tensor<4xf32>\n" TAIL);
    refused("op", op, strlen(op), ERROR_INVALID_MODULE, 2, 6, "a name of 10000000 characters");
    char *symbol = repeated("func.func @", "a", 10000000, "() { return }\n");
    refused("symbol", symbol, strlen(symbol), ERROR_INVALID_MODULE, 1, 11, "a name of 10000001 characters");
    free(value);
    free(op);
    free(symbol);
}

/* each alias names the one before ten times: 10^19 numbers */
static void alias_bombs_are_refused(void **state)
{
    struct text text = {0};
    text_add(&text, "#a0 = [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n");
    for (int i = 1; i < 20; i++) {
        text_printf(&text, "#a%d = [", i);
        for (int k = 0; k < 10; k++)
            text_printf(&text, "%s#a%d", k ? ", " : "", i - 1);
        text_add(&text, "]\n");
    }
    text_add(&text, "module attributes {a.x = #a19} {}\n");
    struct ir_program program;
    struct error e;
    assert_int_equal(ir_read(text.at, text.size, NULL, &program, &e), ERROR_MODULE_TOO_LARGE);
    assert_non_null(strstr(e.message, "aliases"));
    text_release(&text);
}

static void limits_are_kept(void **state)
{
    struct ir_program program;
    struct error e;
    struct ir_read_limits read_limits = {.text_bytes = 10};
    assert_int_equal(ir_read("module @long {}", 15, &read_limits, &program, &e), ERROR_MODULE_TOO_LARGE);
    char *many = repeated("module {\n", "\"a.b\"() : () -> ()\n", 400000, "}\n");
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    read_limits = (struct ir_read_limits){.memory_bytes = (size_t)300 << 20};
    assert_int_equal(ir_read(many, strlen(many), &read_limits, &program, &e), ERROR_RESOURCE);
    assert_non_null(strstr(e.message, "300 MiB"));
#endif
    free(many);
    char *slow = repeated("module {\n", "\"a.b\"() : () -> ()\n", 1500000, "}\n");
    read_limits = (struct ir_read_limits){.cpu_seconds = 1};
    assert_int_equal(ir_read(slow, strlen(slow), &read_limits, &program, &e), ERROR_RESOURCE);
    assert_non_null(strstr(e.message, "processor time"));
    free(slow);
}

/* A model with some bytes changed: read or refused with a place inside the text, never a death of the
 * reader. */
static void damaged_texts_never_crash(void **state)
{
    size_t size;
    char *text = support_read(SUPPORT_MODELS "paper_attention.mlir", &size), *copy = mem_alloc(size);
    static const char letters[] = "(){}[]<>\"#!%@:,=-^/\\ \n0x1aA.?";
    struct rng rng = {support_seed(7)};
    unsigned accepted = 0, tries = 250;
    for (unsigned i = 0; i < tries; i++) {
        memcpy(copy, text, size);
        for (unsigned k = 0, n = 1 + (unsigned)rng_below(&rng, 4); k < n; k++)
            copy[rng_below(&rng, size)] =
                rng_below(&rng, 4) ? letters[rng_below(&rng, sizeof letters - 1)] : (char)rng_next(&rng);
        struct ir_program program;
        struct error e = {.code = ERROR_OK};
        enum error_code code =
            ir_read(copy, rng_below(&rng, 5) ? size : (size_t)rng_below(&rng, size), NULL, &program, &e);
        if (code == ERROR_OK)
            accepted++;
        else if ((code != ERROR_INVALID_MODULE && code != ERROR_UNSUPPORTED_MODULE) || e.line < 1 ||
                 e.column < 1)
            fail_msg("try %u: %s at line %d: %s", i, error_code_text(code), e.line, e.message);
        ir_program_release(&program);
    }
    printf("%u of %u damaged texts were refused\n", tries - accepted, tries);
    assert_true(accepted < tries / 2);
    free(copy);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_says_what_and_where), cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(long_names_are_refused),   cmocka_unit_test(alias_bombs_are_refused),
        cmocka_unit_test(limits_are_kept),          cmocka_unit_test(damaged_texts_never_crash),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
