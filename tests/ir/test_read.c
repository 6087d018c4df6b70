/* Reading every model: the ops by name are those of the text, printing reads back as the same text, and
 * each op, location and argument name stands where the text has it. */
/* timeout: 240 */
#include "support.h"

#include "ir/print.h"
#include "ir/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const models[] = {"mlp.mlir",
                                     "paper_attention.mlir",
                                     "gns.mlir.gz",
                                     "gpt.mlir.gz",
                                     "gpt_torch.mlir.gz",
                                     "itx.mlir.gz",
                                     "t2b.mlir.gz",
                                     "t2b_16k.mlir.gz",
                                     "t2b_flat.mlir.gz",
                                     "t2b_remat.mlir.gz",
                                     "t2b_scan.mlir.gz",
                                     "t7b.mlir.gz",
                                     "unet.mlir.gz",
                                     "small/gns.mlir",
                                     "small/gpt.mlir",
                                     "small/gpt_torch.mlir",
                                     "small/itx.mlir",
                                     "small/t2b.loc.mlir.gz",
                                     "small/t2b.mlir",
                                     "small/t2b_flat.mlir",
                                     "small/t2b_remat.mlir",
                                     "small/t2b_scan.mlir",
                                     "small/unet.mlir"};
enum { MODELS = sizeof models / sizeof *models };

static void load(const char *text, size_t size, struct ir_program *program)
{
    struct error e;
    ASSERT_OK(ir_read(text, size, NULL, program, &e), &e);
}

/* ops a text names: `stablehlo.x` at the start of a statement or quoted, by a scan that knows nothing else */
static unsigned count_in_text(const char *text, const char *name)
{
    unsigned n = 0;
    size_t size = strlen(name);
    for (const char *at = strstr(text, name); at; at = strstr(at + size, name)) {
        char before = at == text ? '\n' : at[-1], after = at[size];
        bool quoted = before == '"' && after == '"', start = before == ' ' || before == '\n';
        n += quoted || (start && (after == ' ' || after == '(' || after == '\n'));
    }
    return n;
}

static void ops_are_those_of_the_text(void **state)
{
    for (int m = 0; m < MODELS; m++) {
        char *path = mem_printf("%s%s", SUPPORT_MODELS, models[m]);
        size_t size;
        char *text = support_read(path, &size);
        struct ir_program program;
        load(text, size, &program);
        unsigned found[IR_OPCODES] = {0}, expected[IR_OPCODES] = {0};
        for (uint32_t op = 0; op < program.op_count; op++)
            found[program.ops[op].code]++;
        for (int code = 1; code < IR_OPCODES; code++)
            expected[code] = count_in_text(text, ir_opcode_name((enum ir_opcode)code));
        /* short reduces name no return; module, return and call are written without their dialect */
        expected[IR_RETURN] += count_in_text(text, "applies");
        expected[IR_MODULE] += count_in_text(text, "module");
        expected[IR_FUNC_RETURN] += count_in_text(text, "return");
        expected[IR_CALL] += count_in_text(text, "call");
        assert_int_equal(found[IR_UNKNOWN], 0);
        for (int code = 1; code < IR_OPCODES; code++)
            if (found[code] != expected[code])
                fail_msg("%s: %u %s, the text has %u", models[m], found[code],
                         ir_opcode_name((enum ir_opcode)code), expected[code]);
        ir_program_release(&program);
        free(text);
        free(path);
    }
}

static void printing_is_a_fixpoint(void **state)
{
    for (int m = 0; m < MODELS; m++) {
        char *path = mem_printf("%s%s", SUPPORT_MODELS, models[m]);
        size_t size;
        char *text = support_read(path, &size);
        struct ir_program program, ir_program;
        struct text first = {0}, second = {0};
        load(text, size, &program);
        ir_print(&program, &first);
        load(first.at, first.size, &ir_program);
        ir_print(&ir_program, &second);
        assert_int_equal(first.size, second.size);
        assert_memory_equal(first.at, second.at, first.size);
        assert_int_equal(program.op_count, ir_program.op_count);
        assert_int_equal(program.value_count, ir_program.value_count);
        assert_int_equal(program.byte_count, ir_program.byte_count);
        text_release(&first);
        text_release(&second);
        ir_program_release(&program);
        ir_program_release(&ir_program);
        free(text);
        free(path);
    }
}

/* where line `n` of a text begins */
static const char *line_of(const char *text, uint32_t n)
{
    for (; n > 1; n--)
        text = strchr(text, '\n') + 1;
    return text;
}

static void ops_know_their_places(void **state)
{
    char *text = support_read(SUPPORT_MODELS "small/unet.mlir", NULL);
    struct ir_program program;
    load(text, strlen(text), &program);
    const char *line = text;
    uint32_t number = 1;
    for (uint32_t op = 0; op < program.op_count; op++) {
        const struct ir_op *ir_op = &program.ops[op];
        assert_true(ir_op->line >= number);
        for (; number < ir_op->line; number++)
            line = strchr(line, '\n') + 1;
        const char *at = line + ir_op->column - 1, *name = ir_op_name(&program, op),
                   *dot = strchr(name, '.') + 1;
        bool quoted = at[0] == '"' && strncmp(at + 1, name, strlen(name)) == 0;
        bool full = strncmp(at, name, strlen(name)) == 0, bare = strncmp(at, dot, strlen(dot)) == 0;
        /* the return of a short reduce stands where its op is named */
        bool applied = ir_op->code == IR_RETURN && strncmp(at - 8, "applies ", 8) == 0;
        if (!quoted && !full && !bare && !applied)
            fail_msg("op %u, %s, is not at line %u column %u: %.40s", op, name, ir_op->line, ir_op->column,
                     at);
    }
    ir_program_release(&program);
    free(text);
}

static void locations_are_kept(void **state)
{
    char *text = support_read(SUPPORT_MODELS "small/t2b.loc.mlir.gz", NULL);
    struct ir_program program;
    load(text, strlen(text), &program);
    uint32_t main_op = ir_function(&program, "main"), body = ir_region_block(&program, main_op, 0), named = 0,
             files = 0;
    assert_string_equal(ir_value_location(&program, program.blocks[body].args), "params['embed']");
    for (uint32_t i = 0; i < program.blocks[body].arg_count; i++)
        named += strchr(ir_value_location(&program, program.blocks[body].args + i), '[') != NULL;
    assert_true(named + 1 >= program.blocks[body].arg_count);
    for (uint32_t op = 0; op < program.op_count; op++)
        files += program.ops[op].location != IR_NONE &&
                 strstr(ir_string(&program, program.ops[op].location), ".py:") != NULL;
    assert_true(files > program.op_count / 2);
    ir_program_release(&program);
    free(text);

    static const char forms[] =
        "#loc1 = loc(\"m.py\":7:3 to :9)\n#loc2 = loc(\"mul\"(#loc1))\n"
        "func.func @main(%a: tensor<f32> loc(\"x['k']\"(#loc1)), %b: tensor<f32>, %c: tensor<f32> "
        "loc(#loc1)) -> tensor<f32> {\n"
        "%0 = stablehlo.add %a, %b : tensor<f32> loc(#loc2)\n"
        "%1 = stablehlo.add %a, %b : tensor<f32> loc(callsite(\"f\" at \"g.py\":1:2))\n"
        "%2 = stablehlo.add %a, %b : tensor<f32> loc(fused<\"x\">[unknown, #later])\n"
        "%3 = stablehlo.add %a, %b : tensor<f32> loc(unknown)\n"
        "return %3 : tensor<f32> loc(\"r.py\":10:1)\n} loc(\"main.py\":1:1)\n#later = loc(\"z.py\":4:4)\n";
    static const char *const expected[] = {"main.py:1", "m.py:7", "f", "z.py:4", "", "r.py:10"};
    load(forms, strlen(forms), &program);
    for (uint32_t op = 1; op < program.op_count; op++)
        assert_string_equal(ir_string(&program, program.ops[op].location), expected[op - 1]);
    body = ir_region_block(&program, 1, 0);
    assert_string_equal(ir_value_location(&program, program.blocks[body].args), "x['k']");
    assert_string_equal(ir_value_location(&program, program.blocks[body].args + 1), "");
    assert_string_equal(ir_value_location(&program, program.blocks[body].args + 2), "m.py:7");
    ir_program_release(&program);
}

static void attributes_are_decoded(void **state)
{
    static const char text[] =
        "#s = #sdy.sharding<@m, [{\"x\"}]>\n!v = tensor<4xf32>\n"
        "module @m attributes {a.b = [1 : i32, \"two\", @three], a.flag} {\n"
        "  sdy.mesh @m = <[\"x\"=2]>\n"
        "  func.func @main(%a: !v {tf.aliasing_output = 0 : i32, sdy.sharding = #s}, %i: tensor<i32>) -> (!v "
        "{jax.result_info = \"result\"}) {\n"
        "    // a comment with \"quotes\" and {\n"
        "    %c = stablehlo.constant dense<\"0x0000803F0000004000004040000080BF\"> : !v\n"
        "    %p = stablehlo.constant dense<\"0x05\"> : tensor<4xi1>\n"
        "    %e = stablehlo.constant dense<[1.0, 0.5]> : tensor<2xf4E2M1FN>\n"
        "    %0 = \"stablehlo.slice\"(%a) {start_indices = dense<0> : tensor<1xi64>, limit_indices = "
        "dense<4> : "
        "tensor<1xi64>, strides = dense<[1]> : tensor<1xi64>} : (!v) -> !v\n"
        "    %1 = stablehlo.add %0, %c : !v\n    return %1 : !v\n  }\n}\n";
    struct ir_program program;
    load(text, strlen(text), &program);
    const struct ir_attr *list = ir_attr_find(&program, 0, "a.b");
    assert_int_equal(list->kind, IR_ATTR_ARRAY);
    assert_int_equal(program.attrs[list->first].value, 1);
    assert_string_equal(ir_string(&program, program.attrs[list->first + 1].first), "two");
    assert_int_equal(program.attrs[list->first + 2].kind, IR_ATTR_SYMBOL);
    assert_int_equal(ir_attr_find(&program, 0, "a.flag")->kind, IR_ATTR_UNIT);
    uint32_t f = ir_function(&program, "main");
    const struct ir_attr *attr =
        ir_attr_entry(&program, ir_function_arg_attrs(&program, f, 0), "sdy.sharding");
    assert_int_equal(attr->kind, IR_ATTR_TEXT);
    assert_string_equal(ir_string(&program, attr->first), "#sdy.sharding<@m, [{\"x\"}]>");
    assert_null(ir_function_arg_attrs(&program, f, 1));
    attr = ir_attr_entry(&program, ir_function_result_attrs(&program, f, 0), "jax.result_info");
    assert_string_equal(ir_string(&program, attr->first), "result");
    uint32_t c = f + 1, packed = f + 2, alien = f + 3, slice = f + 4;
    attr = ir_attr_find(&program, c, "value");
    const float *values =
        (const float *)(const void *)(program.bytes + program.constants[attr->first].offset);
    assert_true(values[0] == 1 && values[1] == 2 && values[2] == 3 && values[3] == -1);
    attr = ir_attr_find(&program, packed, "value");
    assert_memory_equal(program.bytes + program.constants[attr->first].offset, "\1\0\1\0", 4);
    attr = ir_attr_find(&program, alien, "value");
    assert_string_equal(ir_string(&program, attr->first), "dense<[1.0, 0.5]> : tensor<2xf4E2M1FN>");
    assert_int_equal(ir_value_type(&program, program.ops[alien].results)->element, IR_F4E2M1FN);
    attr = ir_attr_find(&program, slice, "limit_indices");
    assert_int_equal(attr->kind, IR_ATTR_INTS);
    assert_int_equal(program.ints[attr->first], 4);
    assert_int_equal(line_of(text, program.ops[slice].line)[program.ops[slice].column - 1], '"');
    ir_program_release(&program);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ops_are_those_of_the_text), cmocka_unit_test(printing_is_a_fixpoint),
        cmocka_unit_test(ops_know_their_places),     cmocka_unit_test(locations_are_kept),
        cmocka_unit_test(attributes_are_decoded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
