/* What a reader is told once: experts of one and the same price, bits of a dimension whose conflicts nobody
 * had to decide; and a time of nothing, which has no unit. */
#include "report/report.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct report_baseline expert(const char *name, int64_t step_ps, int64_t peak_bytes)
{
    struct report_baseline baseline = {.cost = {step_ps, 0}};
    snprintf(baseline.name, sizeof baseline.name, "%s", name);
    baseline.price.step_ps = step_ps;
    baseline.price.peak_bytes = peak_bytes;
    return baseline;
}

static void test_experts(void **state)
{
    (void)state;
    struct report_baseline all[] = {expert("batch:data+sequence:data", 5, 7),
                                    expert("replicated", 9, 9),
                                    expert("yours", 5, 7),
                                    expert("fsdp:data", 5, 6),
                                    expert("batch:data", 5, 7),
                                    expert("cfn", 5, 7),
                                    expert("zero1:data", 5, 7)};
    static const char *const shown[] = {"cfn", "yours", "fsdp:data", "batch:data", "replicated"};
    all[6].price.exposed_ps = 1; /* as long in all, made of other parts */
    struct report report = {.baselines = all, .baseline_count = 6};
    uint32_t count;
    struct report_baseline *rows = report_baselines_distinct(&report, &count);
    assert_int_equal(count, 5);
    for (uint32_t i = 0; i < count; i++)
        assert_string_equal(rows[i].name, shown[i]);
    free(rows);
    report.baseline_count = 7;
    rows = report_baselines_distinct(&report, &count);
    assert_int_equal(count, 6);
    free(rows);
}

static void test_conflicts(void **state)
{
    (void)state;
    struct report_conflict all[] = {
        {.group = "hidden", .bit = 0, .sets = 1, .conflicts = 30, .decision = -1},
        {.group = "sequence", .bit = 0, .sets = 4, .conflicts = 20, .decision = 2},
        {.group = "sequence", .bit = 1, .sets = 4, .conflicts = 20, .decision = 2},
        {.group = "hidden", .bit = 1, .sets = 2, .conflicts = 12, .decision = -1},
        {.group = "hidden", .bit = 2, .sets = 3, .conflicts = 5, .decision = -1, .by_choices = true},
    };
    static const uint32_t bits[] = {2, 1, 1, 0, 1}, conflicts[] = {42, 20, 20, 12, 5},
                          sets[] = {3, 4, 4, 2, 3};
    struct report report = {.conflicts = all, .conflict_count = 5};
    for (uint32_t i = 0; i < 5; i++) {
        struct report_conflict sum;
        assert_int_equal(report_conflicts_alike(&report, i, &sum), bits[i]);
        assert_int_equal(sum.conflicts, conflicts[i]);
        assert_int_equal(sum.sets, sets[i]);
    }
}

static void test_no_time(void **state)
{
    (void)state;
    char out[32];
    report_time(0, out);
    assert_string_equal(out, "0");
    report_time(1, out);
    assert_string_equal(out, "<1 ns");
    report_time(999, out);
    assert_string_equal(out, "<1 ns");
    report_time(1234, out);
    assert_string_equal(out, "1.23 ns");
    report_time(76400, out);
    assert_string_equal(out, "76.4 ns");
    report_time(317000, out);
    assert_string_equal(out, "317 ns");
    report_time(119000000000, out);
    assert_string_equal(out, "119 ms");
}

/* a list that moves less than the plan makes another one: its reader is told */
static void test_less_is_told(void **state)
{
    (void)state;
    struct report_constraint line = {.op = "stablehlo.add",
                                     .location = "line 3",
                                     .name = "",
                                     .type = "f32[8]",
                                     .spec = "PartitionSpec('data',)",
                                     .worth_bytes = 1};
    struct report report = {.has_constraints = true,
                            .constraints = &line,
                            .constraint_count = 1,
                            .moved_plan_bytes = 1000,
                            .moved_specs_bytes = 5000,
                            .moved_list_bytes = 700,
                            .moved_sums_bytes = 700,
                            .moved_annotated_bytes = 1000};
    static const char said[] = "The list moves 0.70 of the plan's bytes";
    struct text text = {0};
    report_text_constraints(&report, &text);
    assert_non_null(strstr(text.at, said));
    text_release(&text);
    report.moved_list_bytes = report.moved_sums_bytes = 950; /* within a tenth */
    report_text_constraints(&report, &text);
    assert_null(strstr(text.at, said));
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_experts),
        cmocka_unit_test(test_conflicts),
        cmocka_unit_test(test_no_time),
        cmocka_unit_test(test_less_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
