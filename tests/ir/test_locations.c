/* Locations: read whole, joined where calls are inlined, printed as aliases, and harmless where they are
 * hostile. */
#include "support.h"

#include "ir/build.h"
#include "ir/prepare.h"
#include "ir/print.h"
#include "ir/read.h"

#include <stdlib.h>
#include <string.h>

static char *printed(const struct ir_program *program)
{
    struct text out = {0};
    ir_print(program, &out);
    return out.at;
}

static void load(const char *text, struct ir_program *program)
{
    struct error e;
    ASSERT_OK(ir_read(text, strlen(text), NULL, program, &e), &e);
}

static void expect(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("'%s' is not in\n%s", part, text);
}

static const char kinds[] =
    "#a = loc(\"m.py\":7:3 to :9)\n#b = loc(\"mul\\22\"(#a))\n"
    "func.func @main(%a: tensor<f32> loc(\"x['k']\"), %b: tensor<f32>, %c: tensor<f32> loc(#b)) -> "
    "tensor<f32> {\n"
    "%0 = stablehlo.add %a, %b : tensor<f32> loc(#b)\n"
    "%1 = stablehlo.add %a, %0 : tensor<f32> loc(callsite(\"f\"(\"z\":1:2 to 3:4) at #late))\n"
    "%2 = stablehlo.add %a, %1 : tensor<f32> loc(fused<\"x\">[unknown, #b])\n"
    "%3 = stablehlo.add %a, %2 : tensor<f32> loc(\"never used again\":1)\n"
    "return %3 : tensor<f32>\n} loc(unknown)\n#unused = loc(\"unused\")\n#late = loc(\"z.py\":4:4)\n";

static void every_kind_is_kept(void **state)
{
    struct ir_program program, again;
    load(kinds, &program);
    char *text = printed(&program);
    expect(text,
           "%0: tensor<f32> loc(\"x['k']\"), %1: tensor<f32> loc(unknown), %2: tensor<f32> loc(#loc2)):");
    expect(text, "#loc1 = loc(\"m.py\":7:3 to :9)\n#loc2 = loc(\"mul\\22\"(#loc1))\n\"builtin.module\"");
    expect(text, "loc(callsite(#loc");
    expect(text, "loc(\"z\":1:2 to 3:4)");
    expect(text, "= loc(fused<\"x\">[#loc2])");
    assert_null(strstr(text, "unused"));
    load(text, &again);
    char *twice = printed(&again);
    assert_string_equal(text, twice);
    free(text);
    free(twice);
    ir_program_release(&program);
    ir_program_release(&again);
}

static void a_module_without_stays_without(void **state)
{
    struct ir_program program;
    load("func.func @main(%a: tensor<f32>) -> tensor<f32> {\n return %a : tensor<f32>\n}", &program);
    char *text = printed(&program);
    assert_null(strstr(text, "loc("));
    free(text);
    ir_program_release(&program);
}

/* the names of XLA when it inlines: the call's before the callee's, but where the callee's is whole
 * already */
static void inlined_names_join(void **state)
{
    static const char text[] =
        "func.func @main(%a: tensor<f32>) -> tensor<f32> {\n"
        "%0 = call @f(%a) : (tensor<f32>) -> tensor<f32> loc(\"jit(s)/call\"(\"main.py\":1:2))\n"
        "return %0 : tensor<f32>\n}\n"
        "func.func private @f(%a: tensor<f32>) -> tensor<f32> {\n"
        "%0 = stablehlo.sine %a : tensor<f32> loc(\"sin\"(\"f.py\":3:4))\n"
        "%1 = stablehlo.cosine %0 : tensor<f32> loc(\"jit(s)/other/cos\")\n"
        "%2 = stablehlo.tanh %1 : tensor<f32> loc(unknown)\n"
        "%3 = stablehlo.abs %2 : tensor<f32> loc(\"g.py\":5:6)\n"
        "return %3 : tensor<f32>\n}\n";
    static const char *const names[] = {"jit(s)/call/sin", "jit(s)/other/cos", "jit(s)/call", "jit(s)/call"};
    struct ir_program program, prepared;
    struct error e;
    unsigned found = 0;
    load(text, &program);
    ASSERT_OK(ir_prepare(&program, &prepared, &e), &e);
    for (uint32_t op = 0; op < prepared.op_count; op++) {
        uint32_t name = ir_location_name(&prepared, prepared.ops[op].loc, NULL);
        if (name == IR_NONE)
            continue;
        assert_true(found < 4);
        assert_string_equal(ir_string(&prepared, name), names[found++]);
    }
    assert_int_equal(found, 4);
    char *out = printed(&prepared);
    expect(out, "loc(callsite(#loc"); /* f.py's line called at main.py's */
    free(out);
    ir_program_release(&program);
    ir_program_release(&prepared);
}

/* an alias of an alias of an alias ..: cut at a depth that recursion can bear */
static void deep_aliases_are_cut(void **state)
{
    enum { DEEP = 20000 };
    struct text text = {0};
    struct ir_program program, prepared;
    struct error e;
    text_add(&text, "#l0 = loc(\"a.py\":1:1)\n");
    for (int i = 1; i < DEEP; i++)
        text_printf(&text, "#l%d = loc(callsite(\"f\" at #l%d))\n", i, i - 1);
    text_printf(&text,
                "func.func @main(%%a: tensor<f32>) -> tensor<f32> {\n return %%a : tensor<f32> loc(#l%d)\n}",
                DEEP - 1);
    load(text.at, &program);
    ASSERT_OK(ir_prepare(&program, &prepared, &e), &e);
    assert_true(prepared.location_count > 1 && prepared.location_count < 2 * IR_LOCATION_DEPTH + 8);
    text_release(&text);
    ir_program_release(&program);
    ir_program_release(&prepared);
}

/* Locations that MLIR would not print: the text is read or refused, and what is read prints as text that
 * reads. */
static void bad_locations_do_no_harm(void **state)
{
    static const char *const bad[] = {
        "\"a\":x:y",
        "\"a\":99999999999999999999:1",
        "\"a\"()",
        "\"a\"(\"b\"",
        "callsite(",
        "callsite(\"a\")",
        "callsite(at)",
        "callsite(\"a\" at )",
        "fused",
        "fused[",
        "fused[]",
        "fused<>[\"a\"]",
        "fused<#x>[\"a\"]",
        "fused[\"a\" \"b\"]",
        "#nowhere",
        "#self",
        "#x.dialect<\"a\">",
        "\"\"",
        "\"a:\"",
        "\"a\\\"b\\5C\"(\"c\")",
        "\"a\":1:2 to",
        "\"a\":1:2 to :",
        "unknown unknown",
        "fused[[[[\"a\"]]]]",
        "\"a\"(\"b\"(\"c:\"))",
        "5",
        ", , ,",
        "callsite(callsite(\"a\" at \"b\") at #self)",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *text = mem_printf(
            "#self = loc(\"s\"(#self))\nfunc.func @main(%%a: tensor<f32> loc(%s)) -> tensor<f32> {\n"
            "%%0 = stablehlo.abs %%a : tensor<f32> loc(%s)\nreturn %%0 : tensor<f32>\n}\n",
            bad[i], bad[i]);
        struct ir_program program, again;
        struct error e;
        if (ir_read(text, strlen(text), NULL, &program, &e) == ERROR_OK) {
            char *out = printed(&program);
            load(out, &again);
            free(out);
            ir_program_release(&again);
            ir_program_release(&program);
        } else {
            assert_int_equal(e.code, ERROR_INVALID_MODULE);
        }
        free(text);
    }
}

/* equal stacks are written once: a thousand ops of one line add a thousand references, not a thousand
 * stacks */
static void equal_locations_are_one(void **state)
{
    struct text text = {0};
    struct ir_program program;
    text_add(&text,
             "func.func @main(%a: tensor<f32>) -> tensor<f32> {\n%v0 = stablehlo.abs %a : tensor<f32>\n");
    for (int i = 1; i < 1000; i++)
        text_printf(&text,
                    "%%v%d = stablehlo.abs %%v%d : tensor<f32> loc(\"abs\"(callsite(\"f\"(\"a.py\":3:4) at "
                    "\"main\"(\"b.py\":5:6))))\n",
                    i, i - 1);
    text_add(&text, "return %v999 : tensor<f32>\n}\n");
    load(text.at, &program);
    assert_int_equal(program.location_count, 1 + 6);
    char *out = printed(&program);
    assert_true(strlen(out) < text.size);
    free(out);
    text_release(&text);
    ir_program_release(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_is_kept),       cmocka_unit_test(a_module_without_stays_without),
        cmocka_unit_test(inlined_names_join),       cmocka_unit_test(deep_aliases_are_cut),
        cmocka_unit_test(bad_locations_do_no_harm), cmocka_unit_test(equal_locations_are_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
