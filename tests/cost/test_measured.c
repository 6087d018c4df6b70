/* Measured collectives: interpolation, which table is taken, and that what was not measured keeps its
 * closed form. */
#include "support.h"

#include "cost/machine.h"
#include "spmd/local.h"

#include <string.h>

static const struct cost_point points[] = {{1000, 5000000}, {2000, 6000000}, {4000, 10000000}};
static const struct cost_point slower[] = {{1000, 50000000}};

static void check_interpolation(void **state)
{
    const struct cost_table tables[] = {{SPMD_ALL_REDUCE, -1, 4, points, 3},
                                        {SPMD_ALL_REDUCE, 1, 4, slower, 1}};
    const struct cost_machine machine = {.tables = tables, .table_count = 2};
    double ps;
    (void)state;
    const struct {
        double bytes, ps;
    } expected[] = {{1, 5e6}, {1000, 5e6}, {1500, 5.5e6}, {2000, 6e6}, {3000, 8e6}, {4000, 1e7}, {8000, 2e7}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_true(cost_measured_price(&machine, SPMD_ALL_REDUCE, 4, false, expected[i].bytes, &ps));
        assert_true(ps == expected[i].ps);
    }
    double before = 0; /* never falls */
    for (double bytes = 1; bytes < 1e6; bytes *= 1.1) {
        assert_true(cost_measured_price(&machine, SPMD_ALL_REDUCE, 4, false, bytes, &ps));
        assert_true(ps >= before);
        before = ps;
    }
    /* the more exact table */
    assert_true(cost_measured_price(&machine, SPMD_ALL_REDUCE, 4, true, 1, &ps) && ps == 5e7);
    assert_false(cost_measured_price(&machine, SPMD_ALL_REDUCE, 8, false, 1, &ps));
    assert_false(cost_measured_price(&machine, SPMD_ALL_GATHER, 4, false, 1, &ps));
}

static void check_prices(void **state)
{
    struct mesh mesh;
    struct cost_machine machine, closed;
    struct error e;
    const uint8_t data = 0, both[] = {0, 1};
    (void)state;
    assert_int_equal(mesh_parse("data=4,model=2", &mesh, &e), ERROR_OK);
    assert_int_equal(cost_machine_create(&mesh, "a100-40", 0, &closed, &e), ERROR_OK);
    machine = closed;
    const struct cost_table tables[] = {{SPMD_ALL_REDUCE, -1, 4, points, 3},
                                        {SPMD_ALL_GATHER, -1, 8, points, 3}};
    machine.tables = tables;
    machine.table_count = 2;
    struct cost_collective collective =
        cost_collective_price(&machine, &mesh, SPMD_ALL_REDUCE, &data, 1, 3000);
    assert_int_equal(collective.time_ps, 8000000);
    assert_string_equal(collective.algorithm, "measured");
    /* the whole group of eight was measured */
    collective = cost_collective_price(&machine, &mesh, SPMD_ALL_GATHER, both, 2, 1500);
    assert_int_equal(collective.time_ps, 5500000);
    assert_string_equal(collective.algorithm, "measured");
    struct cost_collective cost_collective =
        cost_collective_price(&machine, &mesh, SPMD_ALL_TO_ALL, &data, 1, 3000);
    struct cost_collective other_collective =
        cost_collective_price(&closed, &mesh, SPMD_ALL_TO_ALL, &data, 1, 3000);
    assert_int_equal(cost_collective.time_ps, other_collective.time_ps);
    assert_string_equal(cost_collective.algorithm, other_collective.algorithm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(check_interpolation), cmocka_unit_test(check_prices)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
