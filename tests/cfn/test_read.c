/* links: cfn */
/* The reader and the referee: every key order, every kind of damage with its place, truncation anywhere. */
#include "support.h"

#include "cfn/evaluate.h"

#include <stdlib.h>
#include <string.h>

#define INTERVALS "\"intervals\":[[30,70],[40,70],[50,120],[110,140],[110,150]]"
#define COSTS "\"costs\":[[15],[55,65],[25,45,35],[85,75],[95]]"
#define USAGES "\"usages\":[[10],[25,25],[15,20,15],[10,10],[15]]"
#define EDGE_NODES "\"nodes\":[[0,1],[0,2],[1,3],[2,4],[3,4]]"
#define EDGE_COSTS "\"costs\":[[30,40],[50,10,40],[90,10,20,80],[60,20,30],[70,60]]"

static enum error_code read_text(const char *text, struct cfn_problem *problem, struct error *e)
{
    *e = (struct error){0};
    return cfn_problem_read(text, strlen(text), problem, e);
}

static void check_example(const char *text)
{
    struct cfn_problem problem;
    struct error e;
    struct cfn_verdict verdict;
    ASSERT_OK(read_text(text, &problem, &e), &e);
    assert_int_equal(problem.node_count, 5);
    assert_int_equal(problem.edge_count, 5);
    assert_int_equal(problem.limit, 50);
    const int32_t best[] = {0, 0, 2, 1, 0};
    ASSERT_OK(cfn_evaluate(&problem, best, &verdict, &e), &e);
    assert_true(verdict.cost == 445);
    assert_true(verdict.feasible);
    assert_true(verdict.peak == 50);
    assert_int_equal(verdict.peak_time, 50);
    const int32_t heavy[] = {0, 0, 1, 1, 0};
    ASSERT_OK(cfn_evaluate(&problem, heavy, &verdict, &e), &e);
    assert_false(verdict.feasible);
    assert_int_equal(verdict.violated_time, 50);
    assert_true(verdict.violated_usage == 55);
    const int32_t outside[] = {0, 2, 0, 0, 0};
    assert_int_equal(cfn_evaluate(&problem, outside, &verdict, &e), ERROR_INVALID_REQUEST);
    cfn_problem_release(&problem);
}

static void example_in_any_order(void **state)
{
    check_example("{\"problem\":{\"name\":\"example\",\"nodes\":{" INTERVALS "," COSTS "," USAGES
                  "},\"edges\":{" EDGE_NODES "," EDGE_COSTS "},\"usage_limit\":50}}");
    check_example("{\"problem\":{\"usage_limit\":5e1,\"edges\":{" EDGE_COSTS ",\n" EDGE_NODES
                  "},\"extra\":[{\"a\":null}],"
                  "\"nodes\":{" USAGES " , " COSTS "," INTERVALS "}},\"more\":\"\\\"\"}");
    check_example("{" INTERVALS "," COSTS "," USAGES ",\"edges\":{" EDGE_NODES "," EDGE_COSTS
                  "},\"usage_limit\":50.0}");
}

static void refuse(const char *text, const char *pointer, const char *part)
{
    struct cfn_problem problem;
    struct error e;
    assert_int_not_equal(read_text(text, &problem, &e), ERROR_OK);
    cfn_problem_release(&problem);
    if (strcmp(e.pointer, pointer) != 0 || !strstr(e.message, part) || !strstr(e.message, "byte "))
        fail_msg("%s\ngave %s %s", text, e.pointer, e.message);
}

static void damage_is_named(void **state)
{
    refuse("[]", "", "an object");
    refuse("", "", "an object");
    refuse("{\"nodes\":{\"intervals\":[[1,2],[5,4]]}}", "/nodes/intervals/1", "ends before");
    refuse("{\"nodes\":{\"usages\":[[1,2],[5,-4]]}}", "/nodes/usages/1/1", "below 0");
    refuse("{\"nodes\":{\"usages\":[[1,Infinity]]}}", "/nodes/usages/0/1", "infinity");
    refuse("{\"nodes\":{\"costs\":[[1,99999999999999999999]]}}", "/nodes/costs/0/1", "64 bits");
    refuse("{\"nodes\":{\"costs\":[[1.5]]}}", "/nodes/costs/0/0", "integer");
    refuse("{\"nodes\":{\"costs\":[[]]}}", "/nodes/costs/0", "needs a value");
    refuse("{\"edges\":{\"nodes\":[[0,1,2]]}}", "/edges/nodes/0/2", "three nodes");
    refuse("{\"edges\":{\"nodes\":[[0,-1]]}}", "/edges/nodes/0/1", "no such node");
    refuse("{\"usage_limit\":-1}", "/usage_limit", "below 0");
    refuse("{\"intervals\":[[0,1]],\"costs\":[[1,2]],\"usages\":[[1]]}", "/usages/0", "same length");
    refuse("{\"intervals\":[[0,1]],\"costs\":[[1,2]],\"usages\":[[1,1]],\"edges\":{\"nodes\":[[0,0]],"
           "\"costs\":[[1,2]]}}",
           "/edges/costs/0", "need 4");
    refuse("{\"intervals\":[[0,1]],\"costs\":[[1,2]],\"usages\":[[1,1]],\"edges\":{\"nodes\":[[0,7]],"
           "\"costs\":[[1,2]]}}",
           "/edges/nodes/0", "does not exist");
    refuse("{\"usage_limit\":1} x", "", "text after");
    refuse("{\"usage_limit\":1,\"usage_limit\":2}", "/usage_limit", "appears twice");
    refuse("{\"name\":\"a\",\"name\":\"b\"}", "/name", "appears twice");
    refuse("{\"problem\":{\"nodes\":{},\"nodes\":{}}}", "/problem/nodes", "appears twice");
    refuse("{\"edges\":{},\"edges\":{}}", "/edges", "appears twice");
    refuse("{\"problem\":{},\"problem\":{}}", "/problem", "appears twice");
    refuse("{\"problem\":{\"costs\":[[1]],\"nodes\":{\"costs\":[[1]]}}}", "/problem/nodes/costs",
           "appears twice");
    refuse("{\"costs\":[[9223372036854775807,9223372036854775808]]}", "/costs/0/1", "64 bits");
    refuse("{\"costs\":[[9.3e18]]}", "/costs/0/0", "64 bits");
    refuse("{\"a\":[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", "/a",
           "nested");
}

static void no_limit_and_odd_edges(void **state)
{
    struct cfn_problem problem;
    struct error e;
    struct cfn_verdict verdict;
    ASSERT_OK(
        read_text(
            "{\"intervals\":[[0,9],[3,3]],\"costs\":[[1,2],[0,1000000000000000000]],"
            "\"usages\":[[9223372036854775807,0],[9223372036854775807,1]],\"usage_limit\":null,\"edges\":{"
            "\"nodes\":[[0,0],[1,0],[1,0],[1]],\"costs\":[[1,2,3,4],[0,1,2,3],[0,1,2,3],[5,-6]]}}",
            &problem, &e),
        &e);
    assert_false(problem.has_limit);
    assert_int_equal(problem.matrix_count, 3); /* the parallel edges share theirs */
    const int32_t x[] = {0, 1};
    ASSERT_OK(cfn_evaluate(&problem, x, &verdict, &e), &e);
    assert_true(verdict.cost == 1 + (__int128)1000000000000000000 + 1 + 2 + 2 - 6);
    assert_true(verdict.peak == INT64_MAX); /* the second node's interval is empty */
    assert_true(verdict.feasible);
    cfn_problem_release(&problem);
}

/* every prefix and thousands of random edits end in a verdict, never in a crash */
static void random_damage(void **state)
{
    static const char text[] =
        "{\"problem\":{\"edges\":{" EDGE_COSTS "," EDGE_NODES "},\"name\":\"e\\n\",\"nodes\":{" USAGES
        "," COSTS "," INTERVALS "},\"usage_limit\":50}}";
    struct rng rng = {support_seed(1)};
    struct cfn_problem problem;
    struct error e;
    for (size_t cut = 0; cut + 1 < sizeof text; cut++) {
        char *copy = mem_strndup(text, cut);
        assert_int_not_equal(cfn_problem_read(copy, cut, &problem, &e), ERROR_OK);
        cfn_problem_release(&problem);
        free(copy);
    }
    for (int round = 0; round < 20000; round++) {
        char *copy = mem_strndup(text, sizeof text - 1);
        for (uint64_t edits = 1 + rng_below(&rng, 4); edits; edits--)
            copy[rng_below(&rng, sizeof text - 1)] =
                "[]{},:\"\\-0123456789.enul \x01\xff"[rng_below(&rng, 28)];
        if (cfn_problem_read(copy, sizeof text - 1, &problem, &e) == ERROR_OK) {
            int32_t zero[64] = {0};
            struct cfn_verdict verdict;
            assert_true(problem.node_count >= 1 && problem.node_count < 64);
            ASSERT_OK(cfn_evaluate(&problem, zero, &verdict, &e), &e);
        } else {
            assert_true(e.message[0]);
        }
        cfn_problem_release(&problem);
        free(copy);
    }
}

static void solutions(void **state)
{
    struct cfn_problem problem;
    struct error e;
    int32_t *values;
    ASSERT_OK(read_text("{\"intervals\":[[0,9],[3,3]],\"costs\":[[1,2],[0,1]],\"usages\":[[1,1],[1,1]]}",
                        &problem, &e),
              &e);
    const char good[] = "cost 3\n[1, 1]\nnoise\n[0, 1]\n";
    ASSERT_OK(cfn_solution_read(&problem, good, strlen(good), &values, &e), &e);
    assert_int_equal(values[0], 0);
    assert_int_equal(values[1], 1);
    free(values);
    static const char *const bad[] = {"", "[0]", "[0,1,1]", "[0,2]", "[0,1", "[0,-1]", "[0,1] x", "none"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_not_equal(cfn_solution_read(&problem, bad[i], strlen(bad[i]), &values, &e), ERROR_OK);
    cfn_problem_release(&problem);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(example_in_any_order),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(no_limit_and_odd_edges),
        cmocka_unit_test(random_damage),
        cmocka_unit_test(solutions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
