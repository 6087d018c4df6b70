/* The catalogue, and the links that meshes get on it. */
#include "support.h"

#include "cost/machine.h"

#include <string.h>

static struct mesh mesh_of(const char *text)
{
    struct mesh mesh;
    struct error e;
    ASSERT_OK(mesh_parse(text, &mesh, &e), &e);
    return mesh;
}

static struct cost_machine machine_of(const struct mesh *mesh, const char *device)
{
    struct cost_machine machine;
    struct error e;
    ASSERT_OK(cost_machine_create(mesh, device, 0, &machine, &e), &e);
    return machine;
}

static void catalogue_is_sorted_and_complete(void **state)
{
    static const char *const wanted[] = {"p100",    "v100",    "a100-40", "a100-80", "h100",
                                         "h200",    "b200",    "tpu-v2",  "tpu-v3",  "tpu-v4",
                                         "tpu-v5e", "tpu-v5p", "tpu-v6e"};
    uint32_t count;
    const struct cost_device *all = cost_devices(&count);
    assert_int_equal(count, 13);
    for (uint32_t i = 1; i < count; i++)
        assert_true(strcmp(all[i - 1].name, all[i].name) < 0);
    for (size_t i = 0; i < 13; i++)
        assert_non_null(cost_device_find(wanted[i]));
    for (uint32_t i = 0; i < count; i++) {
        assert_non_null(all[i].source);
        assert_true(all[i].rate_flops[COST_RATE_F64] <= all[i].rate_flops[COST_RATE_F32]);
        assert_true(all[i].rate_flops[COST_RATE_F32] <= all[i].rate_flops[COST_RATE_TF32]);
        assert_true(all[i].host_link_bytes_per_s >= all[i].network_bytes_per_s);
    }
    const struct cost_device *a100 = cost_device_find("a100-40");
    assert_int_equal(a100->memory_bytes, 42949672960);
    assert_int_equal(a100->devices_per_host, 8);
    assert_null(cost_device_find("a100"));
}

/* each name means one device: the memory spelt out, and what JAX's device_kind says, in any case */
static void other_names_mean_one_device(void **state)
{
    static const char *const means[][2] = {{"h100-80", "h100"},
                                           {"NVIDIA H100 80GB HBM3", "h100"},
                                           {"nvidia a100-sxm4-80gb", "a100-80"},
                                           {"V5P", "tpu-v5p"},
                                           {"TPU v5 lite", "tpu-v5e"}};
    for (size_t i = 0; i < sizeof means / sizeof means[0]; i++) {
        const struct cost_device *found = cost_device_find(means[i][0]);
        assert_non_null(found);
        assert_string_equal(found->name, means[i][1]);
    }
    uint32_t count;
    const struct cost_device *all = cost_devices(&count);
    for (uint32_t i = 0; i < count; i++)
        for (int k = 0; k < COST_DEVICE_NAMES && all[i].also[k]; k++)
            assert_ptr_equal(cost_device_find(all[i].also[k]), &all[i]);
}

static void unknown_device_names_the_known(void **state)
{
    struct mesh mesh = mesh_of("data=4");
    struct cost_machine machine;
    struct error e;
    assert_int_equal(cost_machine_create(&mesh, "a100", 0, &machine, &e), ERROR_UNKNOWN_DEVICE);
    assert_non_null(strstr(e.message, "a100-40"));
    assert_non_null(strstr(e.message, "tpu-v6e"));
}

static void memory_limit_defaults_to_nine_tenths(void **state)
{
    struct mesh mesh = mesh_of("data=4");
    struct cost_machine machine = machine_of(&mesh, "a100-40");
    struct error e;
    assert_int_equal(machine.memory_limit_bytes, 42949672960 - 4294967296);
    ASSERT_OK(cost_machine_create(&mesh, "a100-40", 12345, &machine, &e), &e);
    assert_int_equal(machine.memory_limit_bytes, 12345);
    assert_int_equal(cost_machine_create(&mesh, "a100-40", -1, &machine, &e), ERROR_INVALID_REQUEST);
}

/* NVLink 300 GB/s, of which 90 % are achieved, network 25 GB/s, of which XLA for GPUs expects 44 % */
static void axes_inside_a_host_are_fast(void **state)
{
    struct mesh mesh = mesh_of("b=4,m=4");
    struct cost_machine machine = machine_of(&mesh, "a100-40");
    assert_true(machine.links[0].bytes_per_s == 25e9 * 0.4878 && machine.links[0].spans_hosts);
    assert_true(machine.links[1].bytes_per_s == 300e9 * 0.9 && !machine.links[1].spans_hosts);
    mesh = mesh_of("b=2,m=4"); /* one host: both inside */
    machine = machine_of(&mesh, "a100-40");
    assert_true(!machine.links[0].spans_hosts && !machine.links[1].spans_hosts);
    mesh = mesh_of("b=4,m=6"); /* runs of 6 in hosts of 8: the second run lies in two hosts */
    machine = machine_of(&mesh, "a100-40");
    assert_true(machine.links[0].spans_hosts && machine.links[1].spans_hosts);
    mesh = mesh_of("b=4,m=4");
    mesh.devices_per_host = 16;
    machine = machine_of(&mesh, "a100-40");
    assert_true(!machine.links[0].spans_hosts && !machine.links[1].spans_hosts);
}

static void explicit_links_win(void **state)
{
    struct mesh mesh = mesh_of("b=4,m=4");
    mesh.axes[0].link_bytes_per_s = 100000000000;
    mesh.axes[0].link_latency_ps = 7000000;
    struct cost_machine machine = machine_of(&mesh, "a100-40");
    assert_true(machine.links[0].bytes_per_s == 100e9 * 0.9);
    assert_int_equal(machine.links[0].latency_ps, 7000000);
}

/* Two dimensions for three axes: the outer two share the first, and the rings of a lie b's size side by side.
 */
static void axes_beyond_the_torus_share_links(void **state)
{
    struct mesh mesh = mesh_of("a=4,b=2,c=8");
    struct cost_machine machine = machine_of(&mesh, "tpu-v5e");
    assert_true(machine.links[0].bytes_per_s == 50e9 / 2 * 0.9);
    assert_true(machine.links[1].bytes_per_s == 50e9 * 0.9);
    assert_true(machine.links[2].bytes_per_s == 50e9 * 0.9);
    machine = machine_of(&mesh, "tpu-v5p");
    assert_true(machine.links[0].bytes_per_s == 100e9 * 0.9);
    mesh = mesh_of("a=4,one=1,c=8"); /* an axis of one device needs no dimension */
    machine = machine_of(&mesh, "tpu-v5e");
    assert_true(machine.links[0].bytes_per_s == 50e9 * 0.9);
}

static void slowest_axis_comes_first(void **state)
{
    struct mesh mesh = mesh_of("x=2,y=4,z=4");
    mesh.axes[1].link_bytes_per_s = 1000000000;
    struct cost_machine machine = machine_of(&mesh, "a100-40");
    struct spmd_options walk = spmd_default_options(&mesh);
    cost_walk_options(&machine, &mesh, &walk);
    assert_int_equal(walk.axis_order[0], 1);
    assert_int_equal(walk.axis_order[1], 0);
    assert_int_equal(walk.axis_order[2], 2);
    assert_true(walk.keep_layouts); /* XLA:GPU lays out */
    cost_machine_set_backend(&machine, &mesh, COST_XLA_TPU);
    cost_walk_options(&machine, &mesh, &walk);
    assert_false(walk.keep_layouts);
}

static void overrides_are_checked(void **state)
{
    struct mesh mesh = mesh_of("data=4");
    struct cost_device device = *cost_device_find("h100");
    struct cost_machine machine;
    struct error e;
    device.memory_bytes = 1000;
    ASSERT_OK(cost_machine_create_device(&mesh, &device, 0, &machine, &e), &e);
    assert_int_equal(machine.memory_limit_bytes, 900);
    device.rate_flops[COST_RATE_BF16] = 0;
    assert_int_equal(cost_machine_create_device(&mesh, &device, 0, &machine, &e), ERROR_INVALID_REQUEST);
    device = *cost_device_find("h100");
    device.link_fraction = 1.5;
    assert_int_equal(cost_machine_create_device(&mesh, &device, 0, &machine, &e), ERROR_INVALID_REQUEST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(catalogue_is_sorted_and_complete),
        cmocka_unit_test(other_names_mean_one_device),
        cmocka_unit_test(unknown_device_names_the_known),
        cmocka_unit_test(memory_limit_defaults_to_nine_tenths),
        cmocka_unit_test(axes_inside_a_host_are_fast),
        cmocka_unit_test(explicit_links_win),
        cmocka_unit_test(axes_beyond_the_torus_share_links),
        cmocka_unit_test(slowest_axis_comes_first),
        cmocka_unit_test(overrides_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
