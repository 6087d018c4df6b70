/* Device, profile and overrides -> machine; see machine.h. */
#include "planner/machine.h"

static const double WITHOUT_LIMIT = 1e6; /* times a rate: what it takes is nothing */

/* Collectives take what their bytes take over the links, products what their FLOPs take; no latency, no
 * launch, no memory traffic, nothing beside anything else. Products count because else the plan that splits
 * nothing would be free. */
static void only_volume(struct cost_machine *machine)
{
    for (uint32_t axis = 0; axis < MESH_MAX_AXES; axis++)
        machine->links[axis].latency_ps = 0;
    machine->asynchronous = false;
    machine->fusion_weight = 0;
    machine->tables = NULL;
    machine->table_count = 0;
    machine->volume_only = true;
}

enum error_code planner_machine_create(const struct planner_request *request, struct cost_machine *out,
                                       struct error *e)
{
    struct cost_device device = *cost_device_find(request->device); /* known: the request was decoded */
    const struct planner_profile *profile = request->profile;
    if (request->profile_ref[0])
        return error_set_pointer(e, ERROR_NOT_AVAILABLE, "/device/profile",
                                 "profiles are looked up by the service; here the profile itself is needed");
    /* a profile has what was achieved; the catalogue has peaks and which share of a peak is achieved */
    if (profile && profile->memory_bytes_per_s > 0)
        device.memory_bytes_per_s = profile->memory_bytes_per_s / device.memory_fraction;
    for (int i = 0; profile && i < COST_RATES; i++)
        if (profile->rate_flops[i] > 0)
            device.rate_flops[i] = profile->rate_flops[i] / device.flops_fraction;
    /* what the request itself says wins over both */
    if (request->overrides.memory_bytes)
        device.memory_bytes = request->overrides.memory_bytes;
    if (request->overrides.memory_bytes_per_s > 0)
        device.memory_bytes_per_s = request->overrides.memory_bytes_per_s;
    for (int i = 0; i < COST_RATES; i++)
        if (request->overrides.rate_flops[i] > 0)
            device.rate_flops[i] = request->overrides.rate_flops[i];
    if (request->overrides.has_compiler)
        device.compiler = request->overrides.compiler;
    if (request->volume_price) {
        device.launch_ps = device.host_latency_ps = device.network_latency_ps = 0;
        device.memory_bytes_per_s *= WITHOUT_LIMIT;
    }
    enum error_code code =
        cost_machine_create_device(&request->mesh, &device, request->memory_limit_bytes, out, e);
    out->asynchronous &= !request->no_overlap;
    if (code == ERROR_OK && profile) {
        out->tables = profile->tables;
        out->table_count = profile->table_count;
        out->profile = profile->ref[0] ? profile->ref : NULL;
        for (int i = 0; i < COST_RATES; i++)
            out->measured_flops |= profile->rate_flops[i] > 0;
    }
    if (request->volume_price)
        only_volume(out);
    return code;
}
