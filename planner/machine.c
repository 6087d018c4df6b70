/* Device, profile and overrides -> machine; see machine.h. */
#include "planner/machine.h"

enum error_code planner_machine_create(const struct planner_request *r, struct cost_machine *out,
                                       struct error *e)
{
    struct cost_device device = *cost_device_find(r->device); /* known: the request was decoded */
    const struct planner_profile *p = r->profile;
    if (r->profile_ref[0])
        return error_set_pointer(e, ERROR_NOT_AVAILABLE, "/device/profile",
                                 "profiles are looked up by the service; here the profile itself is needed");
    /* a profile has what was achieved; the catalogue has peaks and which share of a peak is achieved */
    if (p && p->memory_bytes_per_s > 0)
        device.memory_bytes_per_s = p->memory_bytes_per_s / device.memory_fraction;
    for (int i = 0; p && i < COST_RATES; i++)
        if (p->rate_flops[i] > 0)
            device.rate_flops[i] = p->rate_flops[i] / device.flops_fraction;
    /* what the request itself says wins over both */
    if (r->overrides.memory_bytes)
        device.memory_bytes = r->overrides.memory_bytes;
    if (r->overrides.memory_bytes_per_s > 0)
        device.memory_bytes_per_s = r->overrides.memory_bytes_per_s;
    for (int i = 0; i < COST_RATES; i++)
        if (r->overrides.rate_flops[i] > 0)
            device.rate_flops[i] = r->overrides.rate_flops[i];
    enum error_code code = cost_machine_create_device(&r->mesh, &device, r->memory_limit_bytes, out, e);
    if (code == ERROR_OK && p) {
        out->tables = p->tables;
        out->table_count = p->table_count;
        out->profile = p->ref[0] ? p->ref : NULL;
    }
    return code;
}
