/* Device, profile and overrides -> machine; see machine.h. */
#include "planner/machine.h"

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
    return code;
}
