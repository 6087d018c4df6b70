/* Names of equal layers: which numbers count layers, and which tell weights of one layer apart. */
#include "report/causes.h"
#include "support.h"

#include <string.h>

static void expect(const char *name, const char *pattern)
{
    char out[80];
    report_pattern(name, out, sizeof out);
    assert_string_equal(out, pattern);
}

static void test_layers(void **state)
{
    (void)state;
    expect("params/layer_07/wq", "params/layer_*/wq");
    expect("params/h/0/mlp/kernel", "params/h/*/mlp/kernel");
    expect("layers[3].up", "layers[*].up");
    expect("params/l12/w1", "params/l*/w1");
    expect("state/1/l0/w2", "state/*/l*/w2");
    expect("block3.conv.weight", "block*.conv.weight");
    expect("arg12", "arg*");
    expect("params/h10_mlp_fc/w", "params/h*_mlp_fc/w");
    expect("params/enc0_self/q/kernel", "params/enc*_self/q/kernel");
}

static void test_weights_of_one_layer(void **state)
{
    (void)state;
    expect("params/w1", "params/w1");
    expect("params/l1/dense2/kernel", "params/l*/dense2/kernel");
    expect("params/h/0/dense1/kernel", "params/h/*/dense1/kernel");
    expect("params/h3_conv1_bn/scale", "params/h*_conv1_bn/scale");
    expect("layers.0.norm1.weight", "layers.*.norm1.weight");
    expect("exp_avg/layers.11.norm2.weight", "exp_avg/layers.*.norm2.weight");
}

static void test_places(void **state)
{
    (void)state;
    assert_true(report_same_place("line 9", "line 10") && report_same_place("a.py:3", "a.py:3"));
    assert_false(report_same_place("a.py:3", "a.py:4") || report_same_place("line 9", "a.py:9"));
    assert_true(report_compare_places("line 9", "line 10") < 0 &&
                report_compare_places("line 10", "line 9") > 0);
    assert_int_equal(report_compare_places("a.py:3", "a.py:3"), 0);
}

static void test_causes(void **state)
{
    (void)state;
    struct arena *arena = arena_create();
    const char *const batch[] = {"batch@data", "batch@model"}, *const both[] = {"batch@data", "ffn@model"};
    const char *const other[] = {"update:ffn@data", "ffn@model", "ffn@pod"};
    assert_string_equal(report_join_causes(arena, batch, 0), "a pin");
    assert_string_equal(report_join_causes(arena, batch, 1), "batch@data");
    assert_string_equal(report_join_causes(arena, batch, 2), "batch@data+model");
    assert_string_equal(report_join_causes(arena, both, 2), "batch@data, ffn@model");
    assert_string_equal(report_join_causes(arena, other, 3), "update:ffn@data, ffn@model+pod");
    arena_destroy(arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_weights_of_one_layer),
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_causes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
