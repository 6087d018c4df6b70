/* Collectives against their closed forms, and monotone in bytes and devices on every kind of link. */
#include "support.h"

#include "cost/machine.h"
#include "spmd/local.h"

#include <stdlib.h>
#include <string.h>

/* one axis of p devices, 1 GB/s (1000 ps a byte), latency 10 us */
static struct cost_machine machine_of(struct mesh *mesh, int64_t p, uint8_t topology, uint8_t spans_hosts)
{
    struct cost_machine machine = {.device = *cost_device_find("a100-40")};
    *mesh = (struct mesh){.axis_count = 1, .axes = {{.name = "x", .size = p}}};
    machine.links[0] = (struct cost_link){1e9, 10000000, topology, spans_hosts};
    return machine;
}

static struct cost_collective price(int64_t p, uint8_t topology, uint8_t spans_hosts, uint8_t kind,
                                    int64_t bytes)
{
    struct mesh mesh;
    struct cost_machine machine = machine_of(&mesh, p, topology, spans_hosts);
    uint8_t axis = 0;
    return cost_collective_price(&machine, &mesh, kind, &axis, 1, bytes);
}

static void expect(struct cost_collective collective, int64_t ps, const char *algorithm)
{
    assert_string_equal(collective.algorithm, algorithm);
    assert_int_equal(collective.time_ps, ps);
}

enum { US = 1000000, BYTE = 1000 }; /* ps */

static void switch_in_a_host(void **state)
{
    /* log2 8 = 3 rounds, 7/8 of the bytes */
    expect(price(8, COST_SWITCH, 0, SPMD_ALL_GATHER, 8000000), 30 * US + 7000000LL * BYTE,
           "recursive_doubling");
    expect(price(8, COST_SWITCH, 0, SPMD_REDUCE_SCATTER, 8000000), 30 * US + 7000000LL * BYTE,
           "recursive_halving");
    expect(price(8, COST_SWITCH, 0, SPMD_ALL_REDUCE, 8000000), 60 * US + 14000000LL * BYTE,
           "halving_doubling");
    /* large blocks pairwise: 7 rounds, 7/8 of the bytes; small ones by Bruck: 3 rounds, 3/2 of the bytes */
    expect(price(8, COST_SWITCH, 0, SPMD_ALL_TO_ALL, 8000000), 70 * US + 7000000LL * BYTE, "pairwise");
    expect(price(8, COST_SWITCH, 0, SPMD_ALL_TO_ALL, 8), 30 * US + 12 * BYTE, "bruck");
    expect(price(8, COST_SWITCH, 0, SPMD_PERMUTE, 4000), 10 * US + 4000 * BYTE, "direct");
}

static void switch_between_hosts(void **state)
{
    /* a gather's tree moves what the ring moves, in 3 rounds; an all_reduce's moves 2n against 14/8 n */
    expect(price(8, COST_SWITCH, 1, SPMD_ALL_GATHER, 8000000), 30 * US + 7000000LL * BYTE, "tree");
    expect(price(8, COST_SWITCH, 1, SPMD_ALL_REDUCE, 8000000), 140 * US + 14000000LL * BYTE, "ring");
    expect(price(8, COST_SWITCH, 1, SPMD_ALL_REDUCE, 8), 60 * US + 16 * BYTE, "tree");
}

static void rings(void **state)
{
    for (uint8_t topology = COST_RING; topology <= COST_TORUS; topology++) {
        expect(price(8, topology, 0, SPMD_ALL_GATHER, 8000000), 40 * US + 3500000LL * BYTE,
               "bidirectional_ring");
        expect(price(8, topology, 0, SPMD_ALL_REDUCE, 8000000), 80 * US + 7000000LL * BYTE,
               "bidirectional_ring");
        /* blocks of n/8 travel 1+2+3+4+3+2+1 = 16 hops on two rings: n */
        expect(price(8, topology, 0, SPMD_ALL_TO_ALL, 8000000), 40 * US + 8000000LL * BYTE,
               "bidirectional_ring");
        /* two neighbours: one hop either way */
        expect(price(2, topology, 0, SPMD_ALL_GATHER, 1000), 10 * US + 250 * BYTE, "bidirectional_ring");
    }
}

static void nothing_costs_nothing(void **state)
{
    expect(price(1, COST_SWITCH, 0, SPMD_ALL_REDUCE, 1000), 0, "none");
    expect(price(8, COST_SWITCH, 0, SPMD_ALL_REDUCE, 0), 0, "none");
    expect(price(8, COST_SWITCH, 0, SPMD_SLICE, 1000), 0, "none");
}

/* 16 devices, 4 in a host (10 GB/s) and 4 hosts (1 GB/s): scatter inside, reduce a quarter across, gather
 * inside */
static void hierarchy_carries_the_small_piece_across(void **state)
{
    struct mesh mesh = {.axis_count = 2,
                        .axes = {{.name = "hosts", .size = 4}, {.name = "inside", .size = 4}}};
    struct cost_machine machine = {.device = *cost_device_find("a100-40")};
    machine.links[0] = (struct cost_link){1e9, 10000000, COST_SWITCH, 1};
    machine.links[1] = (struct cost_link){1e10, 1000000, COST_SWITCH, 0};
    int64_t n = 16000000;
    int64_t inside = 2 * US + n * 3 / 4 * 100, across = 2 * (3 * 10 * US + n / 4 * 3 / 4 * BYTE);
    for (int swap = 0; swap < 2; swap++) {
        uint8_t axes[2] = {(uint8_t)swap, (uint8_t)!swap};
        expect(cost_collective_price(&machine, &mesh, SPMD_ALL_REDUCE, axes, 2, n), 2 * inside + across,
               "hierarchical");
        expect(cost_collective_price(&machine, &mesh, SPMD_ALL_GATHER, axes, 2, n),
               inside + 20 * US + n / 4 * 3 / 4 * BYTE, "hierarchical");
    }
}

static void monotone_in_bytes_and_devices(void **state)
{
    static const uint8_t kinds[] = {SPMD_ALL_GATHER, SPMD_ALL_REDUCE, SPMD_REDUCE_SCATTER, SPMD_ALL_TO_ALL,
                                    SPMD_PERMUTE};
    for (int link = 0; link < 4; link++)
        for (size_t k = 0; k < sizeof kinds; k++)
            for (int64_t p = 1; p <= 65; p++)
                for (int64_t bytes = 1; bytes < INT64_C(1) << 40; bytes += 1 + bytes / 3) {
                    uint8_t topology = link < 2 ? COST_SWITCH : link == 2 ? COST_RING : COST_TORUS;
                    int64_t now = price(p, topology, link == 1, kinds[k], bytes).time_ps;
                    assert_true(now <= price(p + 1, topology, link == 1, kinds[k], bytes).time_ps);
                    assert_true(now <= price(p, topology, link == 1, kinds[k], bytes + 1).time_ps);
                }
}

/* the same over two axes of catalogue devices */
static void monotone_over_several_axes(void **state)
{
    static const char *const devices[] = {"a100-40", "tpu-v5e", "p100"};
    static const uint8_t kinds[] = {SPMD_ALL_GATHER, SPMD_ALL_REDUCE, SPMD_REDUCE_SCATTER, SPMD_ALL_TO_ALL};
    for (size_t d = 0; d < 3; d++)
        for (size_t k = 0; k < sizeof kinds; k++)
            for (int64_t p = 1; p <= 16; p *= 2) {
                int64_t before = 0;
                for (int64_t bytes = 1; bytes < INT64_C(1) << 36; bytes *= 3) {
                    struct mesh mesh = {.axis_count = 2,
                                        .axes = {{.name = "x", .size = p}, {.name = "y", .size = 4}}};
                    struct mesh wider = mesh;
                    struct cost_machine machine, cost_machine;
                    struct error e;
                    wider.axes[0].size *= 2;
                    ASSERT_OK(cost_machine_create(&mesh, devices[d], 0, &machine, &e), &e);
                    ASSERT_OK(cost_machine_create(&wider, devices[d], 0, &cost_machine, &e), &e);
                    uint8_t axes[2] = {0, 1};
                    int64_t now = cost_collective_price(&machine, &mesh, kinds[k], axes, 2, bytes).time_ps;
                    assert_true(
                        now <=
                        cost_collective_price(&cost_machine, &wider, kinds[k], axes, 2, bytes).time_ps);
                    assert_true(before <= now);
                    before = now;
                }
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(switch_in_a_host),
        cmocka_unit_test(switch_between_hosts),
        cmocka_unit_test(rings),
        cmocka_unit_test(nothing_costs_nothing),
        cmocka_unit_test(hierarchy_carries_the_small_piece_across),
        cmocka_unit_test(monotone_in_bytes_and_devices),
        cmocka_unit_test(monotone_over_several_axes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
