/* Where the devices of a group stand: how many there are, on how many hosts, how many of them on one.
 *
 * Devices are numbered with the last axis innermost, and consecutive numbers fill a host. A group is what a
 * set of mesh axes spans from device 0. What it costs to reach depends on these three numbers alone, so the
 * same devices cost the same however the mesh is written:
 *
 *   16 devices, 8 a host:   data=16           16 devices, 2 hosts, 8 on each
 *                           a=2,b=8 over a,b  16 devices, 2 hosts, 8 on each
 *                           a=4,b=4 over a    0 4 8 12: 4 devices, 2 hosts, 2 on each
 *
 * Where a host is not filled evenly by an axis (12 devices as 3 x 4 on hosts of 8) some groups cross hosts
 * that others do not: the group is then taken as crossing with one device on each host, the slowest of them.
 * Computed once a machine, for every set of axes; nothing here allocates. */
#include "cost/machine.h"

/* members of one axis that share a host, given the distance of neighbours; 0: the axis fills hosts unevenly
 * */
static int64_t members_on_host(int64_t size, int64_t stride, int64_t host)
{
    if (stride >= host)
        return stride % host == 0 ? 1 : 0;
    if (stride * size <= host)
        return host % (stride * size) == 0 ? size : 0;
    return host % stride == 0 && size % (host / stride) == 0 ? host / stride : 0;
}

struct cost_group cost_group_place(const struct mesh *mesh, int64_t devices_per_host, uint32_t axes)
{
    struct cost_group group = {.devices = 1, .on_host = 1};
    int64_t stride = 1;
    bool even = true, one_host = mesh_devices(mesh) <= devices_per_host;
    for (uint32_t axis = mesh->axis_count; axis-- > 0;) {
        int64_t size = mesh->axes[axis].size;
        if ((axes >> axis & 1) && size > 1) {
            int64_t together = one_host ? size : members_on_host(size, stride, devices_per_host);
            group.devices *= size;
            group.on_host *= together;
            even &= together > 0;
        }
        stride *= size;
    }
    if (!even)
        group.on_host = 1;
    group.hosts = group.devices / group.on_host;
    group.whole_hosts = group.on_host == devices_per_host;
    return group;
}
