#include "api/machine.h"

enum error_code api_machine_create(const struct api_request *r, struct cost_machine *out, struct error *e)
{
    struct cost_device device = *cost_device_find(r->device); /* known: the request was decoded */
    if (r->overrides.memory_bytes)
        device.memory_bytes = r->overrides.memory_bytes;
    if (r->overrides.memory_bytes_per_s > 0)
        device.memory_bytes_per_s = r->overrides.memory_bytes_per_s;
    for (int i = 0; i < COST_RATES; i++)
        if (r->overrides.rate_flops[i] > 0)
            device.rate_flops[i] = r->overrides.rate_flops[i];
    return cost_machine_create_device(&r->mesh, &device, r->memory_limit_bytes, out, e);
}
