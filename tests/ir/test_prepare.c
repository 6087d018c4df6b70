/* Preparing: the op counts that a prototype of the analysis measured on every model, what is inlined,
 * dropped and cloned, and what is refused. */
/* timeout: 120 */
#include "support.h"

#include "ir/prepare.h"
#include "ir/print.h"
#include "ir/read.h"

#include <stdlib.h>
#include <string.h>

static enum error_code prepare(const char *text, struct ir_program *out, struct error *e)
{
    struct ir_program program = {0};
    ASSERT_OK(ir_read(text, strlen(text), NULL, &program, e), e);
    enum error_code code = ir_prepare(&program, out, e);
    ir_program_release(&program);
    return code;
}

/* The prototype's count: arguments of main, one for each result, and the ops of main, of while and of case
 * (with the returns of those, without main's), not those of reducer bodies. */
static uint32_t prototype_ops(const struct ir_program *program)
{
    uint32_t body = ir_region_block(program, ir_function(program, "main"), 0),
             end = ir_block_terminator(program, body);
    uint32_t n = program->blocks[body].arg_count + program->ops[end].operand_count;
    for (uint32_t op = 1; op < program->op_count; op++) {
        uint32_t block = program->ops[op].block, parent = program->regions[program->blocks[block].region].op;
        n += op != end &&
             (block == body || program->ops[parent].code == IR_WHILE || program->ops[parent].code == IR_CASE);
    }
    return n;
}

static void op_counts_are_the_prototypes(void **state)
{
    static const struct {
        const char *model;
        uint32_t ops;
    } rows[] = {{"mlp.mlir", 9},
                {"paper_attention.mlir", 16},
                {"t2b.mlir.gz", 21011},
                {"t2b_16k.mlir.gz", 21011},
                {"t7b.mlir.gz", 32391},
                {"t2b_remat.mlir.gz", 21047},
                {"t2b_scan.mlir.gz", 1529},
                {"gpt.mlir.gz", 29584},
                {"gns.mlir.gz", 20225},
                {"unet.mlir.gz", 10573},
                {"itx.mlir.gz", 6074},
                {"t2b_flat.mlir.gz", 22055}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *path = mem_printf("%s%s", SUPPORT_MODELS, rows[i].model), *text = support_read(path, NULL);
        struct ir_program program;
        struct error e;
        ASSERT_OK(prepare(text, &program, &e), &e);
        if (prototype_ops(&program) != rows[i].ops)
            fail_msg("%s: %u ops, the prototype had %u", rows[i].model, prototype_ops(&program), rows[i].ops);
        for (uint32_t op = 0; op < program.op_count; op++)
            assert_true(program.ops[op].code != IR_CALL);
        struct ir_program checked;
        ASSERT_OK(ir_image_open(program.image, program.image_size, &checked, &e), &e);
        ir_program_release(&program);
        free(text);
        free(path);
    }
}

static void expect_text(const char *text, const char *expected)
{
    struct ir_program program;
    struct error e;
    struct text out = {0};
    ASSERT_OK(prepare(text, &program, &e), &e);
    ir_print(&program, &out);
    const char *at = strstr(out.at, "^bb0"), *end = strstr(at, "  }) {function_type");
    out.at[end - out.at] = 0;
    assert_string_equal(at, expected);
    text_release(&out);
    ir_program_release(&program);
}

#define TWO_FUNCTIONS                                                                                        \
    "func.func private @half(%a: tensor<4xf32>) -> tensor<4xf32> {\n"                                        \
    "  %0 = stablehlo.negate %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n"                           \
    "func.func @train(%a: tensor<4xf32>) -> tensor<4xf32> {\n"                                               \
    "  %0 = call @half(%a) : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n"

static void a_module_without_main_has_an_entry_all_the_same(void **state)
{
    expect_text(TWO_FUNCTIONS, "^bb0(%0: tensor<4xf32>):\n"
                               "    %1 = \"stablehlo.negate\"(%0) : (tensor<4xf32>) -> tensor<4xf32>\n"
                               "    \"func.return\"(%1) : (tensor<4xf32>) -> ()\n");
    static const char more[] = TWO_FUNCTIONS "func.func @serve(%a: tensor<2xf32>) -> tensor<2xf32> {\n"
                                             "  return %a : tensor<2xf32>\n}\n";
    struct ir_program read, out;
    struct error e;
    ASSERT_OK(ir_read(more, strlen(more), NULL, &read, &e), &e);
    assert_int_equal(ir_prepare(&read, &out, &e), ERROR_UNSUPPORTED_MODULE);
    assert_non_null(strstr(e.message, "(@train, @serve)"));
    assert_int_equal(ir_prepare_entry(&read, "serf", &out, &e), ERROR_UNSUPPORTED_MODULE);
    assert_non_null(strstr(e.message, "no function @serf; it has @train, @serve"));
    static const struct {
        const char *entry;
        int64_t size;
    } rows[] = {{"serve", 2}, {"train", 4}, {"half", 4}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        ASSERT_OK(ir_prepare_entry(&read, rows[i].entry, &out, &e), &e);
        uint32_t body = ir_region_block(&out, ir_function(&out, "main"), 0);
        assert_int_equal(ir_type_dims(&out, ir_value_type(&out, out.blocks[body].args))[0], rows[i].size);
        const struct ir_attr *visibility = ir_attr_find(&out, ir_function(&out, "main"), "sym_visibility");
        assert_true(!visibility || strcmp(ir_string(&out, visibility->first), "public") == 0);
        ir_program_release(&out);
    }
    ir_program_release(&read);
}

static void calls_are_inlined_and_dead_code_goes(void **state)
{
    expect_text(
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %dead = stablehlo.negate %a : tensor<4xf32>\n"
        "  %0:2 = call @twice(%a) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)\n"
        "  %1 = stablehlo.composite \"my.neg\" %0#1 {decomposition = @neg} : (tensor<4xf32>) -> "
        "tensor<4xf32>\n"
        "  return %1 : tensor<4xf32>\n}\n"
        "func.func private @neg(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %0 = stablehlo.negate %a : tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n"
        "func.func private @twice(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
        "  %0 = func.call @neg(%a) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "  %1 = stablehlo.add %0, %0 : tensor<4xf32>\n  return %0, %1 : tensor<4xf32>, tensor<4xf32>\n}\n",
        "^bb0(%0: tensor<4xf32>):\n"
        "    %1 = \"stablehlo.negate\"(%0) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "    %2 = \"stablehlo.add\"(%1, %1) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
        "    %3 = \"stablehlo.negate\"(%2) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "    \"func.return\"(%3) : (tensor<4xf32>) -> ()\n");
}

static void named_computations_are_inlined(void **state)
{
    expect_text("func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
                "  %0 = sdy.named_computation<\"half\">(%a) (%b: tensor<4xf32>) {\n"
                "    %1 = stablehlo.negate %b : tensor<4xf32>\n    sdy.return %1 : tensor<4xf32>\n"
                "  } : (tensor<4xf32>) -> tensor<4xf32>\n  return %0 : tensor<4xf32>\n}\n",
                "^bb0(%0: tensor<4xf32>):\n"
                "    %1 = \"stablehlo.negate\"(%0) : (tensor<4xf32>) -> tensor<4xf32>\n"
                "    \"func.return\"(%1) : (tensor<4xf32>) -> ()\n");
}

static void broadcasts_and_constants_are_cloned(void **state)
{
    expect_text(
        "func.func @main(%a: tensor<4xf32>, %s: tensor<f32>) -> tensor<4xf32> {\n"
        "  %c = stablehlo.constant dense<2.0> : tensor<f32>\n"
        "  %b = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<f32>) -> tensor<4xf32>\n"
        "  %t = stablehlo.broadcast_in_dim %s, dims = [] : (tensor<f32>) -> tensor<4xf32>\n"
        "  %0 = stablehlo.add %a, %b : tensor<4xf32>\n"
        "  %1 = stablehlo.multiply %0, %b : tensor<4xf32>\n"
        "  %2 = stablehlo.add %1, %t : tensor<4xf32>\n"
        "  %3 = stablehlo.add %2, %t : tensor<4xf32>\n"
        "  return %3 : tensor<4xf32>\n}\n",
        "^bb0(%0: tensor<4xf32>, %1: tensor<f32>):\n"
        "    %2 = \"stablehlo.constant\"() {value = dense<2.000000e+00> : tensor<f32>} : () -> tensor<f32>\n"
        "    %3 = \"stablehlo.broadcast_in_dim\"(%2) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> "
        "tensor<4xf32>\n"
        "    %4 = \"stablehlo.add\"(%0, %3) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
        "    %5 = \"stablehlo.constant\"() {value = dense<2.000000e+00> : tensor<f32>} : () -> tensor<f32>\n"
        "    %6 = \"stablehlo.broadcast_in_dim\"(%5) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> "
        "tensor<4xf32>\n"
        "    %7 = \"stablehlo.multiply\"(%4, %6) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
        "    %8 = \"stablehlo.broadcast_in_dim\"(%1) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> "
        "tensor<4xf32>\n"
        "    %9 = \"stablehlo.add\"(%7, %8) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
        "    %10 = \"stablehlo.broadcast_in_dim\"(%1) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> "
        "tensor<4xf32>\n"
        "    %11 = \"stablehlo.add\"(%9, %10) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
        "    \"func.return\"(%11) : (tensor<4xf32>) -> ()\n");
}

/* layers that share a weight cast it each: one cast to each type */
static void arguments_are_cast_once(void **state)
{
    (void)state;
    expect_text(
        "func.func @main(%w: tensor<4xf32>, %x: tensor<4xbf16>) -> (tensor<4xbf16>, tensor<4xf16>) {\n"
        "  %0 = stablehlo.convert %w : (tensor<4xf32>) -> tensor<4xbf16>\n"
        "  %1 = stablehlo.add %x, %0 : tensor<4xbf16>\n"
        "  %2 = stablehlo.convert %w : (tensor<4xf32>) -> tensor<4xf16>\n"
        "  %3 = stablehlo.convert %w : (tensor<4xf32>) -> tensor<4xbf16>\n"
        "  %4 = stablehlo.add %1, %3 : tensor<4xbf16>\n"
        "  %5 = stablehlo.convert %w : (tensor<4xf32>) -> tensor<4xf16>\n"
        "  %6 = stablehlo.add %2, %5 : tensor<4xf16>\n"
        "  %7 = stablehlo.convert %4 : (tensor<4xbf16>) -> tensor<4xf32>\n"
        "  %8 = stablehlo.convert %7 : (tensor<4xf32>) -> tensor<4xbf16>\n"
        "  return %8, %6 : tensor<4xbf16>, tensor<4xf16>\n}\n",
        "^bb0(%0: tensor<4xf32>, %1: tensor<4xbf16>):\n"
        "    %2 = \"stablehlo.convert\"(%0) : (tensor<4xf32>) -> tensor<4xbf16>\n"
        "    %3 = \"stablehlo.add\"(%1, %2) : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>\n"
        "    %4 = \"stablehlo.convert\"(%0) : (tensor<4xf32>) -> tensor<4xf16>\n"
        "    %5 = \"stablehlo.add\"(%3, %2) : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>\n"
        "    %6 = \"stablehlo.add\"(%4, %4) : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>\n"
        "    %7 = \"stablehlo.convert\"(%5) : (tensor<4xbf16>) -> tensor<4xf32>\n"
        "    %8 = \"stablehlo.convert\"(%7) : (tensor<4xf32>) -> tensor<4xbf16>\n"
        "    \"func.return\"(%8, %6) : (tensor<4xbf16>, tensor<4xf16>) -> ()\n");
}

/* as associative_scan and its gradient write them: empty parts of joins, empty tensors padded, arithmetic
 * on them */
static void empty_tensors_go(void **state)
{
    expect_text(
        "func.func @main(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>, %s: tensor<f32>) -> (tensor<4x8xf32>, "
        "tensor<4x16xf32>, "
        "tensor<4x8xf32>, tensor<4x0xf32>) {\n"
        "  %e = stablehlo.slice %a [0:4, 8:8] : (tensor<4x8xf32>) -> tensor<4x0xf32>\n"
        "  %f = stablehlo.add %e, %e : tensor<4x0xf32>\n"
        "  %0 = stablehlo.concatenate %a, %e, dim = 1 : (tensor<4x8xf32>, tensor<4x0xf32>) -> "
        "tensor<4x8xf32>\n"
        "  %1 = stablehlo.concatenate %f, %0, %b, dim = 1 : (tensor<4x0xf32>, tensor<4x8xf32>, "
        "tensor<4x8xf32>) -> tensor<4x16xf32>\n"
        "  %2 = stablehlo.pad %f, %s, low = [0, 8], high = [0, 0], interior = [0, 1] : (tensor<4x0xf32>, "
        "tensor<f32>) -> tensor<4x8xf32>\n"
        "  %3 = stablehlo.negate %2 : tensor<4x8xf32>\n"
        "  return %0, %1, %3, %f : tensor<4x8xf32>, tensor<4x16xf32>, tensor<4x8xf32>, tensor<4x0xf32>\n}\n",
        "^bb0(%0: tensor<4x8xf32>, %1: tensor<4x8xf32>, %2: tensor<f32>):\n"
        "    %3 = \"stablehlo.concatenate\"(%0, %1) {dimension = 1 : i64} : (tensor<4x8xf32>, "
        "tensor<4x8xf32>) -> tensor<4x16xf32>\n"
        "    %4 = \"stablehlo.broadcast_in_dim\"(%2) {broadcast_dimensions = array<i64>} : (tensor<f32>) -> "
        "tensor<4x8xf32>\n"
        "    %5 = \"stablehlo.negate\"(%4) : (tensor<4x8xf32>) -> tensor<4x8xf32>\n"
        "    %6 = \"stablehlo.constant\"() {value = dense<0.000000e+00> : tensor<4x0xf32>} : () -> "
        "tensor<4x0xf32>\n"
        "    \"func.return\"(%0, %3, %5, %6) : (tensor<4x8xf32>, tensor<4x16xf32>, tensor<4x8xf32>, "
        "tensor<4x0xf32>) -> ()\n");
}

/* values of outside that a loop's body uses are cloned inside it; carried values that change stay, also
 * unused ones */
static void loops_keep_what_changes(void **state)
{
    expect_text(
        "func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {\n"
        "  %c = stablehlo.constant dense<0> : tensor<i32>\n  %n = stablehlo.constant dense<3> : tensor<i32>\n"
        "  %0:2 = stablehlo.while(%i = %c, %x = %a) : tensor<i32>, tensor<4xf32>\n"
        "  cond {\n    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %p : tensor<i1>\n"
        "  } do {\n    %d = stablehlo.negate %x : tensor<4xf32>\n"
        "    stablehlo.return %i, %x : tensor<i32>, tensor<4xf32>\n  }\n  return %a : tensor<4xf32>\n}\n",
        "^bb0(%0: tensor<4xf32>):\n    \"func.return\"(%0) : (tensor<4xf32>) -> ()\n");
    expect_text(
        "func.func @main(%a: tensor<4xf32>) -> tensor<i32> {\n"
        "  %c = stablehlo.constant dense<0> : tensor<i32>\n  %n = stablehlo.constant dense<3> : tensor<i32>\n"
        "  %0:2 = stablehlo.while(%i = %c, %x = %a) : tensor<i32>, tensor<4xf32>\n"
        "  cond {\n    %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %p : tensor<i1>\n"
        "  } do {\n    %d = stablehlo.negate %x : tensor<4xf32>\n"
        "    stablehlo.return %n, %d : tensor<i32>, tensor<4xf32>\n  }\n  return %0#0 : tensor<i32>\n}\n",
        "^bb0(%0: tensor<4xf32>):\n"
        "    %1 = \"stablehlo.constant\"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>\n"
        "    %2:2 = \"stablehlo.while\"(%1, %0) ({\n"
        "    ^bb0(%3: tensor<i32>, %4: tensor<4xf32>):\n"
        "      %5 = \"stablehlo.constant\"() {value = dense<3> : tensor<i32>} : () -> tensor<i32>\n"
        "      %6 = \"stablehlo.compare\"(%3, %5) {comparison_direction = #stablehlo<comparison_direction "
        "LT>} : "
        "(tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "      \"stablehlo.return\"(%6) : (tensor<i1>) -> ()\n"
        "    }, {\n"
        "    ^bb0(%7: tensor<i32>, %8: tensor<4xf32>):\n"
        "      %9 = \"stablehlo.negate\"(%8) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "      %10 = \"stablehlo.constant\"() {value = dense<3> : tensor<i32>} : () -> tensor<i32>\n"
        "      \"stablehlo.return\"(%10, %9) : (tensor<i32>, tensor<4xf32>) -> ()\n"
        "    }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)\n"
        "    \"func.return\"(%2#0) : (tensor<i32>) -> ()\n");
}

/* carried unchanged: the bound, a weight (through a call and an inner loop); two values that change
 * places change */
static void invariants_leave_loops(void **state)
{
    expect_text(
        "func.func @main(%a: tensor<4xf32>, %w: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
        "  %c = stablehlo.constant dense<0> : tensor<i32>\n  %n = stablehlo.constant dense<3> : tensor<i32>\n"
        "  %0:4 = stablehlo.while(%i = %c, %x = %a, %v = %w, %m = %n) : tensor<i32>, tensor<4xf32>, "
        "tensor<4xf32>, tensor<i32>\n"
        "  cond {\n    %p = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %p : tensor<i1>\n"
        "  } do {\n    %1:2 = func.call @body(%x, %v) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, "
        "tensor<4xf32>)\n"
        "    %j = stablehlo.add %i, %i : tensor<i32>\n"
        "    stablehlo.return %j, %1#0, %1#1, %m : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<i32>\n  "
        "}\n"
        "  %2 = stablehlo.negate %0#2 : tensor<4xf32>\n"
        "  return %0#1, %2 : tensor<4xf32>, tensor<4xf32>\n}\n"
        "func.func private @body(%x: tensor<4xf32>, %v: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {\n"
        "  %0:3 = stablehlo.while(%y = %x, %z = %x, %k = %v) : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>\n"
        "  cond {\n    %t = stablehlo.constant dense<false> : tensor<i1>\n    stablehlo.return %t : "
        "tensor<i1>\n"
        "  } do {\n    %s = stablehlo.add %z, %k : tensor<4xf32>\n"
        "    stablehlo.return %z, %y, %k : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>\n  }\n"
        "  return %0#0, %0#2 : tensor<4xf32>, tensor<4xf32>\n}\n",
        "^bb0(%0: tensor<4xf32>, %1: tensor<4xf32>):\n"
        "    %2 = \"stablehlo.constant\"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>\n"
        "    %3:2 = \"stablehlo.while\"(%2, %0) ({\n"
        "    ^bb0(%4: tensor<i32>, %5: tensor<4xf32>):\n"
        "      %6 = \"stablehlo.constant\"() {value = dense<3> : tensor<i32>} : () -> tensor<i32>\n"
        "      %7 = \"stablehlo.compare\"(%4, %6) {comparison_direction = #stablehlo<comparison_direction "
        "LT>} : "
        "(tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "      \"stablehlo.return\"(%7) : (tensor<i1>) -> ()\n"
        "    }, {\n"
        "    ^bb0(%8: tensor<i32>, %9: tensor<4xf32>):\n"
        "      %10:2 = \"stablehlo.while\"(%9, %9) ({\n"
        "      ^bb0(%11: tensor<4xf32>, %12: tensor<4xf32>):\n"
        "        %13 = \"stablehlo.constant\"() {value = dense<false> : tensor<i1>} : () -> tensor<i1>\n"
        "        \"stablehlo.return\"(%13) : (tensor<i1>) -> ()\n"
        "      }, {\n"
        "      ^bb0(%14: tensor<4xf32>, %15: tensor<4xf32>):\n"
        "        \"stablehlo.return\"(%15, %14) : (tensor<4xf32>, tensor<4xf32>) -> ()\n"
        "      }) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)\n"
        "      %16 = \"stablehlo.add\"(%8, %8) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n"
        "      \"stablehlo.return\"(%16, %10#0) : (tensor<i32>, tensor<4xf32>) -> ()\n"
        "    }) : (tensor<i32>, tensor<4xf32>) -> (tensor<i32>, tensor<4xf32>)\n"
        "    %17 = \"stablehlo.negate\"(%1) : (tensor<4xf32>) -> tensor<4xf32>\n"
        "    \"func.return\"(%3#1, %17) : (tensor<4xf32>, tensor<4xf32>) -> ()\n");
}

/* carried unchanged all the same: a stack of which the body takes slices, a table of constants, what
 * nothing uses */
static void invariants_that_stay(void **state)
{
    expect_text(
        "func.func @main(%a: tensor<4xf32>, %w: tensor<3x4xf32>, %u: tensor<8xf32>) -> tensor<4xf32> {\n"
        "  %c = stablehlo.constant dense<0> : tensor<i32>\n  %t = stablehlo.iota dim = 0 : tensor<4xf32>\n"
        "  %0:5 = stablehlo.while(%i = %c, %x = %a, %v = %w, %m = %t, %o = %u) : tensor<i32>, tensor<4xf32>, "
        "tensor<3x4xf32>, "
        "tensor<4xf32>, tensor<8xf32>\n"
        "  cond {\n    %p = stablehlo.compare LT, %i, %i : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "    stablehlo.return %p : tensor<i1>\n"
        "  } do {\n    %j = stablehlo.add %i, %i : tensor<i32>\n"
        "    %s = stablehlo.dynamic_slice %v, %i, %c, sizes = [1, 4] : (tensor<3x4xf32>, tensor<i32>, "
        "tensor<i32>) -> tensor<1x4xf32>\n"
        "    %r = stablehlo.reshape %s : (tensor<1x4xf32>) -> tensor<4xf32>\n"
        "    %y = stablehlo.add %r, %m : tensor<4xf32>\n"
        "    stablehlo.return %j, %y, %v, %m, %o : tensor<i32>, tensor<4xf32>, tensor<3x4xf32>, "
        "tensor<4xf32>, tensor<8xf32>\n  }\n"
        "  return %0#1 : tensor<4xf32>\n}\n",
        "^bb0(%0: tensor<4xf32>, %1: tensor<3x4xf32>, %2: tensor<8xf32>):\n"
        "    %3 = \"stablehlo.constant\"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>\n"
        "    %4 = \"stablehlo.iota\"() {iota_dimension = 0 : i64} : () -> tensor<4xf32>\n"
        "    %5:5 = \"stablehlo.while\"(%3, %0, %1, %4, %2) ({\n"
        "    ^bb0(%6: tensor<i32>, %7: tensor<4xf32>, %8: tensor<3x4xf32>, %9: tensor<4xf32>, %10: "
        "tensor<8xf32>):\n"
        "      %11 = \"stablehlo.compare\"(%6, %6) {comparison_direction = #stablehlo<comparison_direction "
        "LT>} : "
        "(tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "      \"stablehlo.return\"(%11) : (tensor<i1>) -> ()\n"
        "    }, {\n"
        "    ^bb0(%12: tensor<i32>, %13: tensor<4xf32>, %14: tensor<3x4xf32>, %15: tensor<4xf32>, %16: "
        "tensor<8xf32>):\n"
        "      %17 = \"stablehlo.add\"(%12, %12) : (tensor<i32>, tensor<i32>) -> tensor<i32>\n"
        "      %18 = \"stablehlo.constant\"() {value = dense<0> : tensor<i32>} : () -> tensor<i32>\n"
        "      %19 = \"stablehlo.dynamic_slice\"(%14, %12, %18) {slice_sizes = array<i64: 1, 4>} : "
        "(tensor<3x4xf32>, tensor<i32>, "
        "tensor<i32>) -> tensor<1x4xf32>\n"
        "      %20 = \"stablehlo.reshape\"(%19) : (tensor<1x4xf32>) -> tensor<4xf32>\n"
        "      %21 = \"stablehlo.add\"(%20, %15) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>\n"
        "      \"stablehlo.return\"(%17, %21, %14, %15, %16) : (tensor<i32>, tensor<4xf32>, tensor<3x4xf32>, "
        "tensor<4xf32>, "
        "tensor<8xf32>) -> ()\n"
        "    }) : (tensor<i32>, tensor<4xf32>, tensor<3x4xf32>, tensor<4xf32>, tensor<8xf32>) -> "
        "(tensor<i32>, tensor<4xf32>, "
        "tensor<3x4xf32>, tensor<4xf32>, tensor<8xf32>)\n"
        "    \"func.return\"(%5#1) : (tensor<4xf32>) -> ()\n");
}

/* a loop that changes nothing ends at once or never: as it is */
static void loops_carry_something(void **state)
{
    expect_text("func.func @main(%a: tensor<i1>) -> tensor<i1> {\n"
                "  %0 = stablehlo.while(%x = %a) : tensor<i1>\n"
                "  cond {\n    stablehlo.return %x : tensor<i1>\n  } do {\n    stablehlo.return %x : "
                "tensor<i1>\n  }\n"
                "  return %0 : tensor<i1>\n}\n",
                "^bb0(%0: tensor<i1>):\n"
                "    %1 = \"stablehlo.while\"(%0) ({\n"
                "    ^bb0(%2: tensor<i1>):\n"
                "      \"stablehlo.return\"(%2) : (tensor<i1>) -> ()\n"
                "    }, {\n"
                "    ^bb0(%3: tensor<i1>):\n"
                "      \"stablehlo.return\"(%3) : (tensor<i1>) -> ()\n"
                "    }) : (tensor<i1>) -> tensor<i1>\n"
                "    \"func.return\"(%1) : (tensor<i1>) -> ()\n");
}

#define F32 "tensor<4xf32>"
static void refusals_say_where(void **state)
{
    static const struct {
        const char *text;
        enum error_code code;
        int line;
        const char *says;
    } rows[] = {
        {"func.func private @f() { return }", ERROR_UNSUPPORTED_MODULE, 1, "@main"},
        {"sdy.mesh @m = <[\"x\"=2]>\nfunc.func @main(%a: " F32 ") -> " F32
         " {\n %0 = sdy.manual_computation(%a) in_shardings=[<@m, [{\"x\"}]>] "
         "out_shardings=[<@m, [{\"x\"}]>] manual_axes={\"x\"} (%b: tensor<2xf32>) {\n sdy.return %b : "
         "tensor<2xf32>\n } : (" F32 ") -> " F32 "\n return %0 : " F32 " }",
         ERROR_UNSUPPORTED_MODULE, 3, "shard_map"},
        {"func.func @main(%a: tensor<?xf32>) -> tensor<?xf32> {\n return %a : tensor<?xf32> }",
         ERROR_UNSUPPORTED_MODULE, 1, "dynamic"},
        {"func.func @main(%a: " F32 ") -> " F32
         " {\n %0 = \"stablehlo.custom_call\"(%a) {call_target_name = \"x\"} : (" F32
         ") -> tensor<?xf32>\n return %a : " F32 " }",
         ERROR_UNSUPPORTED_MODULE, 2, "dynamic"},
        {"func.func @main(%a: tensor<4x!quant.uniform<i8:f32, 1.0>>) {\n return }", ERROR_UNSUPPORTED_MODULE,
         1, "quantized"},
        {"func.func @main(%a: " F32 ", %b: memref<8x8xf32>) {\n return }", ERROR_UNSUPPORTED_MODULE, 1,
         "argument 1 has type memref<8x8xf32>: an argument is a tensor"},
        {"func.func @main(%a: tensor<4xi7>) {\n return }", ERROR_UNSUPPORTED_MODULE, 1,
         "argument 0 has type tensor<4xi7>: StableHLO has no such elements"},
        {"func.func @main(%a: " F32 ") -> " F32 " {\n %0 = stablehlo.convert %a : (" F32
         ") -> tensor<4xi7>\n %1 = stablehlo.convert %0 : (tensor<4xi7>) -> " F32 "\n return %1 : " F32 " }",
         ERROR_UNSUPPORTED_MODULE, 2, "stablehlo.convert: result 0 has type tensor<4xi7>"},
        {"func.func @main(%a: " F32 ") -> " F32 " {\n %0 = call @g(%a) : (" F32 ") -> " F32
         "\n return %0 : " F32 " }",
         ERROR_INVALID_MODULE, 2, "@g"},
        {"func.func @main(%a: " F32 ") -> " F32 " {\n %0 = call @main(%a) : (" F32 ") -> " F32
         "\n return %0 : " F32 " }",
         ERROR_UNSUPPORTED_MODULE, 2, "calls itself"},
        {"func.func @main(%a: " F32 ") -> " F32 " {\n %0 = stablehlo.add %a, %a : (" F32 ", " F32
         ") -> tensor<5xf32>\n"
         "return %a : " F32 " }",
         ERROR_INVALID_MODULE, 2, ""},
        {"%0 = stablehlo.constant dense<1> : tensor<i32>\n\"foo.bar\"(%0) : (tensor<i32>) -> ()\nfunc.func "
         "@main() { return }",
         ERROR_UNSUPPORTED_MODULE, 1, "outside of any function"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct ir_program program = {0};
        struct error e = {.code = ERROR_OK};
        enum error_code code = prepare(rows[i].text, &program, &e);
        if (code != rows[i].code || e.line != rows[i].line || !strstr(e.message, rows[i].says))
            fail_msg("row %zu: %s at line %d: %s", i, error_code_text(code), e.line, e.message);
    }
}

/* hostile growth: calls that double at every level, chains of broadcasts that are all used */
static void growth_is_bounded(void **state)
{
    struct text text = {0};
    struct ir_program program = {0};
    struct error e;
    text_add(&text, "func.func @main(%a: " F32 ") -> " F32 " { %0 = call @f0(%a) : (" F32 ") -> " F32
                    " return %0 : " F32 " }\n");
    for (int i = 0; i < 40; i++)
        text_printf(&text,
                    "func.func private @f%d(%%a: " F32 ") -> " F32 " { %%0 = call @f%d(%%a) : (" F32
                    ") -> " F32 " %%1 = call @f%d(%%0) : (" F32 ") -> " F32 " return %%1 : " F32 " }\n",
                    i, i + 1, i + 1);
    text_add(&text, "func.func private @f40(%a: " F32 ") -> " F32 " { %0 = stablehlo.negate %a : " F32
                    " return %0 : " F32 " }\n");
    assert_int_equal(prepare(text.at, &program, &e), ERROR_MODULE_TOO_LARGE);
    text.size = 0;
    text_add(&text, "func.func @main(%v0: " F32 ") -> " F32 " {\n%s0 = stablehlo.negate %v0 : " F32 "\n");
    for (int i = 0; i < 5000; i++)
        text_printf(&text,
                    "%%v%d = stablehlo.broadcast_in_dim %%v%d, dims = [0] : (" F32 ") -> " F32 "\n"
                    "%%s%d = stablehlo.add %%s%d, %%v%d : " F32 "\n",
                    i + 1, i, i + 1, i, i + 1);
    text_add(&text, "return %s5000 : " F32 " }\n");
    ASSERT_OK(prepare(text.at, &program, &e), &e);
    assert_true(program.op_count < 5000u * 80);
    ir_program_release(&program);
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(op_counts_are_the_prototypes),
        cmocka_unit_test(a_module_without_main_has_an_entry_all_the_same),
        cmocka_unit_test(calls_are_inlined_and_dead_code_goes),
        cmocka_unit_test(broadcasts_and_constants_are_cloned),
        cmocka_unit_test(arguments_are_cast_once),
        cmocka_unit_test(loops_keep_what_changes),
        cmocka_unit_test(invariants_leave_loops),
        cmocka_unit_test(loops_carry_something),
        cmocka_unit_test(invariants_that_stay),
        cmocka_unit_test(named_computations_are_inlined),
        cmocka_unit_test(empty_tensors_go),
        cmocka_unit_test(refusals_say_where),
        cmocka_unit_test(growth_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
