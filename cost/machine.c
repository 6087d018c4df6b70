/* From a mesh and a device to the links of its axes.
 *
 * Devices are numbered with the last axis innermost, and consecutive numbers fill a host. An axis whose
 * groups lie within one host each has the host's link; any other has the network's, also when only some
 * neighbours are on other hosts. Rates of the catalogue are per device, so groups that run at the same time
 * through a switch do not share them. On a torus every axis has rings of its own while there are dimensions
 * left; further axes share the first dimension, and the rings of an axis then lie side by side, as many as
 * the axes inside it have members. */
#include "cost/machine.h"

#include <inttypes.h>
#include <string.h>

static bool positive(double x)
{
    return x > 0 && x < 1e30; /* false for NaN */
}

static bool share(double x)
{
    return x > 0 && x <= 1;
}

static enum error_code check_device(const struct cost_device *device, struct error *e)
{
    bool good = device->memory_bytes > 0 && positive(device->memory_bytes_per_s) &&
                share(device->flops_fraction) && share(device->memory_fraction) &&
                share(device->link_fraction) && device->devices_per_host > 0 &&
                positive(device->host_link_bytes_per_s) && positive(device->network_bytes_per_s) &&
                device->host_latency_ps >= 0 && device->network_latency_ps >= 0 && device->launch_ps >= 0;
    for (int r = 0; r < COST_RATES; r++)
        good = good && positive(device->rate_flops[r]);
    if (!good)
        return error_set(
            e, ERROR_INVALID_REQUEST,
            "device '%.64s': every rate, size and bandwidth must be above 0, latencies at least 0, and "
            "achievable shares in (0, 1]",
            device->name ? device->name : "");
    return ERROR_OK;
}

/* How many rings of `axis` run through one link of a torus (see above). */
static int64_t rings_per_link(const struct mesh *mesh, uint32_t axis, uint32_t dimensions)
{
    uint32_t wide = 0, before = 0;
    for (uint32_t a = 0; a < mesh->axis_count; a++)
        if (mesh->axes[a].size > 1) {
            wide++;
            before += a < axis;
        }
    if (wide <= dimensions)
        return 1;
    uint32_t shared = wide - dimensions + 1; /* the outermost axes, all on the first dimension */
    if (before >= shared)
        return 1;
    int64_t rings = 1;
    uint32_t seen = before + 1;
    for (uint32_t a = axis + 1; a < mesh->axis_count && seen < shared; a++)
        if (mesh->axes[a].size > 1) {
            rings *= mesh->axes[a].size;
            seen++;
        }
    return rings;
}

static struct cost_link derive_link(const struct mesh *mesh, const struct cost_device *device,
                                    const struct cost_backend *backend, uint32_t axis)
{
    int64_t host = mesh->devices_per_host ? mesh->devices_per_host : device->devices_per_host;
    int64_t stride = 1;
    for (uint32_t a = axis + 1; a < mesh->axis_count; a++)
        stride *= mesh->axes[a].size;
    /* the groups' devices lie in aligned runs of stride x size numbers; all in one host only if a host holds
     * whole runs */
    int64_t run = stride * mesh->axes[axis].size;
    struct cost_link link = {.spans_hosts = mesh->axes[axis].size > 1 && (run > host || host % run != 0)};
    if (mesh_devices(mesh) <= host)
        link.spans_hosts = 0;
    link.bytes_per_s = link.spans_hosts ? device->network_bytes_per_s : device->host_link_bytes_per_s;
    link.latency_ps = link.spans_hosts ? device->network_latency_ps : device->host_latency_ps;
    link.topology = link.spans_hosts ? device->network_topology : device->host_topology;
    if (link.topology == COST_TORUS)
        link.bytes_per_s /=
            (double)rings_per_link(mesh, axis, device->torus_dimensions ? device->torus_dimensions : 1);
    if (mesh->axes[axis].link_bytes_per_s > 0)
        link.bytes_per_s = (double)mesh->axes[axis].link_bytes_per_s;
    if (mesh->axes[axis].link_latency_ps > 0)
        link.latency_ps = mesh->axes[axis].link_latency_ps;
    link.bytes_per_s *=
        link.spans_hosts && backend->network_fraction > 0 && mesh->axes[axis].link_bytes_per_s <= 0
            ? backend->network_fraction
            : device->link_fraction;
    return link;
}

/* what follows from the device and its backend */
static void derive(struct cost_machine *machine, const struct mesh *mesh)
{
    int64_t host = mesh->devices_per_host ? mesh->devices_per_host : machine->device.devices_per_host;
    machine->backend = cost_backend((enum cost_compiler)machine->device.compiler);
    machine->asynchronous = machine->backend->asynchronous;
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        machine->links[axis] = derive_link(mesh, &machine->device, machine->backend, axis);
    for (uint32_t axes = 0; axes < 1u << mesh->axis_count; axes++)
        machine->groups[axes] = cost_group_place(mesh, host, axes);
}

void cost_machine_set_backend(struct cost_machine *machine, const struct mesh *mesh,
                              enum cost_compiler compiler)
{
    machine->device.compiler = (uint8_t)compiler;
    derive(machine, mesh);
}

enum error_code cost_machine_create_device(const struct mesh *mesh, const struct cost_device *device,
                                           int64_t memory_limit_bytes, struct cost_machine *out,
                                           struct error *e)
{
    enum error_code code = check_device(device, e);
    if (code == ERROR_OK)
        code = mesh_check(mesh, e);
    if (code != ERROR_OK)
        return code;
    if (memory_limit_bytes < 0)
        return error_set(e, ERROR_INVALID_REQUEST,
                         "the memory limit is %" PRId64 " bytes; it must be above 0", memory_limit_bytes);
    memset(out, 0, sizeof *out);
    out->device = *device;
    derive(out, mesh);
    out->memory_limit_bytes =
        memory_limit_bytes ? memory_limit_bytes : device->memory_bytes - device->memory_bytes / 10;
    out->fusion_weight = 1;
    return ERROR_OK;
}

enum error_code cost_machine_create(const struct mesh *mesh, const char *device, int64_t memory_limit_bytes,
                                    struct cost_machine *out, struct error *e)
{
    const struct cost_device *found = cost_device_find(device);
    if (!found) {
        struct text names = {0};
        uint32_t count;
        const struct cost_device *all = cost_devices(&count);
        for (uint32_t i = 0; i < count; i++)
            text_printf(&names, "%s%s", i ? ", " : "", all[i].name);
        error_set(e, ERROR_UNKNOWN_DEVICE, "there is no device '%.64s'; known are %s", device, names.at);
        text_release(&names);
        return ERROR_UNKNOWN_DEVICE;
    }
    return cost_machine_create_device(mesh, found, memory_limit_bytes, out, e);
}

/* true when axis a is to be listed before b */
static bool slower(const struct cost_machine *machine, uint8_t a, uint8_t b)
{
    const struct cost_link *one = &machine->links[a], *other = &machine->links[b];
    if (one->bytes_per_s != other->bytes_per_s)
        return one->bytes_per_s < other->bytes_per_s;
    if (one->latency_ps != other->latency_ps)
        return one->latency_ps > other->latency_ps;
    return a < b;
}

void cost_walk_options(const struct cost_machine *machine, const struct mesh *mesh, struct spmd_options *walk)
{
    uint8_t *order = walk->axis_order;
    memset(order, 0, MESH_MAX_AXES);
    for (uint32_t i = 0; i < mesh->axis_count; i++) {
        uint32_t at = i;
        for (; at > 0 && slower(machine, (uint8_t)i, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = (uint8_t)i;
    }
    walk->keep_layouts = machine->backend->lays_out;
}
