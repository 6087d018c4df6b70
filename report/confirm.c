/* The one line that asks the compiler whether a plan fits, for whoever does not believe the estimate. It
 * names a target that toast-referee knows (clients/python/src/toast_referee/devices.py): GPUs by their
 * name, TPUs by the most cubic slice of so many chips, all else the devices at hand. Nothing is run here. */
#include "report/report.h"

#include <stdio.h>
#include <string.h>

static bool is_gpu_target(const char *device)
{
    static const char *const known[] = {"h100", "h200", "a100-40", "a100-80"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(known[i], device) == 0)
            return true;
    return false;
}

/* 16 chips in three dimensions: "2x2x4"; a dimension of one comes last. Where they are no power of two, the
 * shape is the reader's to fill in. */
static void slice_of(int64_t chips, uint32_t dimensions, char *out, size_t room)
{
    uint32_t powers = 0, n = 0;
    while (chips > 1 && chips % 2 == 0) {
        chips /= 2;
        powers++;
    }
    if (chips != 1 || dimensions < 1) {
        snprintf(out, room, "TOPOLOGY");
        return;
    }
    out[0] = 0;
    for (int ones = 0; ones < 2; ones++)
        for (uint32_t i = 0; i < dimensions; i++) {
            uint32_t exponent = powers / dimensions + (i >= dimensions - powers % dimensions);
            if ((exponent == 0) == (ones == 1))
                n += (uint32_t)snprintf(out + n, room - n, "%s%u", n ? "x" : "", 1u << exponent);
        }
}

void report_confirming(const struct report *report, const char *folder, char *out, size_t room)
{
    const struct cost_device *device = &evaluator_machine(report->evaluator)->device;
    char slice[40], target[80] = "here";
    if (strncmp(device->name, "tpu-", 4) == 0) {
        slice_of(mesh_devices(plan_context_mesh(evaluator_context(report->evaluator))),
                 device->torus_dimensions, slice, sizeof slice);
        snprintf(target, sizeof target, "%.30s:%s", device->name + 4, slice);
    } else if (is_gpu_target(device->name)) {
        snprintf(target, sizeof target, "%.30s", device->name);
    }
    if (report->alternative_count)
        snprintf(out, room, "toast-referee --target %s %s %salternatives/*", target, folder, folder);
    else
        snprintf(out, room, "toast-referee --target %s %s", target, folder);
}
