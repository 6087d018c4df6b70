/* Collectives against their closed forms, and monotone in bytes and devices on every kind of link. */
#include "support.h"

#include "cost/machine.h"
#include "spmd/local.h"

#include <stdlib.h>
#include <string.h>

/* one axis of p devices whose link the mesh gives, so that the closed forms count: 1 GB/s (1000 ps a byte),
 * latency 10 us */
static struct cost_machine machine_of(struct mesh *mesh, int64_t p, uint8_t topology, uint8_t spans_hosts)
{
    struct cost_machine machine = {.device = *cost_device_find("a100-40")};
    *mesh =
        (struct mesh){.axis_count = 1, .axes = {{.name = "x", .size = p, .link_bytes_per_s = 1000000000}}};
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
                        .axes = {{.name = "hosts", .size = 4, .link_bytes_per_s = 1000000000},
                                 {.name = "inside", .size = 4, .link_bytes_per_s = 10000000000}}};
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
                    /* tables are as they were measured: an all_reduce over 8 is faster than over 4 */
                    cost_machine_set_backend(&machine, &mesh, COST_XLA_CPU);
                    cost_machine_set_backend(&cost_machine, &wider, COST_XLA_CPU);
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

static struct cost_collective over(const char *axes, const char *device, enum cost_compiler compiler,
                                   uint8_t kind, int64_t bytes, uint32_t mask)
{
    struct mesh mesh;
    struct error e;
    struct cost_machine machine;
    ASSERT_OK(mesh_parse(axes, &mesh, &e), &e);
    ASSERT_OK(cost_machine_create(&mesh, device, 0, &machine, &e), &e);
    cost_machine_set_backend(&machine, &mesh, compiler);
    uint8_t list[MESH_MAX_AXES];
    uint32_t count = 0;
    for (uint8_t axis = 0; axis < mesh.axis_count; axis++)
        if (mask >> axis & 1)
            list[count++] = axis;
    return cost_collective_price(&machine, &mesh, kind, list, count, bytes);
}

/* The same devices in the same groups cost the same, however the mesh is written: every way to write 16 and
 * 64 devices as axes, over all of them and over those that span the inner or outer 4, 8 and 16 devices. */
static void same_groups_cost_the_same(void **state)
{
    static const struct {
        const char *axes;
        uint32_t mask;
        int group;
    } ways[] = {
        {"a=16", 1, 0},        {"a=2,b=8", 3, 0},          {"a=8,b=2", 3, 0},          {"a=4,b=4", 3, 0},
        {"a=2,b=2,c=4", 7, 0}, {"a=2,b=2,c=2,d=2", 15, 0}, {"a=4,b=2,c=2", 7, 0},      {"a=4,b=4", 2, 1},
        {"a=2,b=2,c=4", 4, 1}, {"a=4,b=2,c=2", 6, 1},      {"a=2,b=2,c=2,d=2", 12, 1}, {"a=4,b=4", 1, 2},
        {"a=2,b=2,c=4", 3, 2}, {"a=4,b=2,c=2", 1, 2},      {"a=2,b=2,c=2,d=2", 3, 2},  {"a=64", 1, 3},
        {"a=8,b=8", 3, 3},     {"a=4,b=16", 3, 3},         {"a=2,b=2,c=16", 7, 3},     {"a=8,b=8", 1, 4},
        {"a=2,b=4,c=8", 3, 4}, {"a=4,b=2,c=2,d=4", 3, 4},  {"a=2,b=2,c=2,d=8", 7, 4},  {"a=4,b=16", 2, 5},
        {"a=4,b=2,c=8", 6, 5}, {"a=4,b=4,c=4", 6, 5},      {"a=2,b=2,c=2,d=8", 12, 5},
    };
    static const uint8_t kinds[] = {SPMD_ALL_GATHER, SPMD_ALL_REDUCE, SPMD_REDUCE_SCATTER, SPMD_ALL_TO_ALL,
                                    SPMD_PERMUTE};
    static const char *const devices[] = {"h100", "a100-40"};
    for (size_t k = 0; k < sizeof kinds; k++)
        for (int compiler = COST_XLA_CPU; compiler <= COST_XLA_GPU; compiler++)
            for (int d = 0; d < 2; d++)
                for (int64_t bytes = 1000; bytes < INT64_C(1) << 34; bytes *= 100) {
                    int64_t known[6] = {0};
                    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
                        int64_t ps = over(ways[i].axes, devices[d], (enum cost_compiler)compiler, kinds[k],
                                          bytes, ways[i].mask)
                                         .time_ps;
                        int64_t *first = &known[ways[i].group];
                        assert_true(ps > 0 && (*first == 0 || *first == ps));
                        *first = ps;
                    }
                }
}

/* Sixteen H100 on two hosts: eight ports a host carry a ring over all, and XLA takes 22.6 ms for 1.93 GB. */
static void all_ports_of_a_host_carry_a_ring(void **state)
{
    struct cost_collective ring = over("a=2,b=8", "h100", COST_XLA_GPU, SPMD_ALL_REDUCE, 1930000000, 3);
    assert_string_equal(ring.algorithm, "rails");
    assert_in_range(ring.time_ps / 1000000, 19000, 24000);
    /* inside a host: XLA's table has 4,720.9 us for 1 GiB over eight */
    struct cost_collective host = over("a=8", "h100", COST_XLA_GPU, SPMD_ALL_REDUCE, INT64_C(1) << 30, 1);
    assert_string_equal(host.algorithm, "table");
    assert_in_range(host.time_ps / 1000000, 4500, 4950);
}

/* Small messages inside a host have a protocol of their own: XLA's estimates for an H100, in microseconds,
 * where a line through large ones gives up to 3 times as long; more bytes never take less. */
static void small_messages_inside_a_host(void **state)
{
    static const struct {
        const char *axes;
        uint8_t kind;
        int64_t kib;
        double us;
    } known[] = {{"a=2", SPMD_ALL_GATHER, 1024, 17.5},     {"a=4", SPMD_ALL_GATHER, 2048, 28.6},
                 {"a=8", SPMD_ALL_GATHER, 4096, 47.1},     {"a=2", SPMD_ALL_REDUCE, 512, 19.3},
                 {"a=4", SPMD_ALL_REDUCE, 128, 26.0},      {"a=8", SPMD_ALL_REDUCE, 1024, 51.9},
                 {"a=4", SPMD_REDUCE_SCATTER, 8192, 54.8}, {"a=8", SPMD_REDUCE_SCATTER, 4096, 35.6},
                 {"a=4", SPMD_ALL_TO_ALL, 2048, 35.8},     {"a=8", SPMD_ALL_REDUCE, 131072, 670.1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double us =
            (double)over(known[i].axes, "h100", COST_XLA_GPU, known[i].kind, known[i].kib * 1024, 1).time_ps /
            1e6;
        assert_true(us > 0.75 * known[i].us && us < 1.25 * known[i].us);
        int64_t before = 0;
        for (int64_t bytes = 1; bytes < INT64_C(1) << 32; bytes += 1 + bytes / 5) {
            int64_t now = over(known[i].axes, "h100", COST_XLA_GPU, known[i].kind, bytes, 1).time_ps;
            assert_true(before <= now);
            before = now;
        }
    }
}

/* Between hosts of eight H100: XLA's estimates in microseconds, of next to no bytes and of many. What a
 * message takes depends on how many of a host's devices take part. */
static void between_hosts_as_xla_has_it(void **state)
{
    static const struct {
        const char *axes;
        uint32_t mask;
        uint8_t kind;
        int64_t bytes;
        double us;
    } known[] = {{"a=2,b=8", 1, SPMD_ALL_REDUCE, 4, 119},
                 {"a=4,b=4", 1, SPMD_ALL_GATHER, 16384, 175},
                 {"a=4,b=4", 3, SPMD_ALL_GATHER, 61440, 115},
                 {"a=4,b=4", 1, SPMD_ALL_REDUCE, 32768, 305},
                 {"a=4,b=4", 3, SPMD_ALL_REDUCE, 36864, 184},
                 {"a=4,b=4", 1, SPMD_ALL_TO_ALL, 131072, 272},
                 {"a=4,b=4", 3, SPMD_ALL_TO_ALL, 16777216, 718},
                 {"a=2,b=8", 1, SPMD_ALL_GATHER, 256 << 20, 5970.8},
                 {"a=4,b=4", 1, SPMD_ALL_GATHER, 256 << 20, 5356.5},
                 {"a=8,b=2", 1, SPMD_ALL_REDUCE, 64 << 20, 1972.0},
                 {"a=4,b=4", 3, SPMD_REDUCE_SCATTER, 256 << 20, 1673.2},
                 {"a=8,b=2", 1, SPMD_ALL_TO_ALL, 16 << 20, 1712.4},
                 {"a=2,b=8", 1, SPMD_ALL_TO_ALL, 64 << 20, 2963.3},
                 {"a=4,b=8", 1, SPMD_ALL_GATHER, 64 << 20, 2328.5},
                 {"a=8,b=4", 1, SPMD_ALL_REDUCE, 256 << 20, 11270.4},
                 {"a=4,b=8", 3, SPMD_REDUCE_SCATTER, 64 << 20, 581.0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int64_t ps =
            over(known[i].axes, "h100", COST_XLA_GPU, known[i].kind, known[i].bytes, known[i].mask).time_ps;
        assert_in_range(ps, (int64_t)(known[i].us * 0.99e6), (int64_t)(known[i].us * 1.01e6));
    }
}

/* a host of eight that twelve devices do not fill evenly: as if every device of a group had one to itself */
static void uneven_hosts_are_taken_at_their_slowest(void **state)
{
    struct mesh mesh;
    struct error e;
    ASSERT_OK(mesh_parse("a=3,b=4", &mesh, &e), &e);
    struct cost_group inner = cost_group_place(&mesh, 8, 2), outer = cost_group_place(&mesh, 8, 1);
    assert_true(inner.devices == 4 && inner.hosts == 1 && inner.on_host == 4);
    assert_true(outer.devices == 3 && outer.hosts == 3 && outer.on_host == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(same_groups_cost_the_same),
        cmocka_unit_test(all_ports_of_a_host_carry_a_ring),
        cmocka_unit_test(small_messages_inside_a_host),
        cmocka_unit_test(between_hosts_as_xla_has_it),
        cmocka_unit_test(uneven_hosts_are_taken_at_their_slowest),
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
