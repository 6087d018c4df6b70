/* A machine whose times are bytes: it moves a byte in a picosecond and launches for nothing; its arithmetic
 * is as fast beside its memory as an H100's. */
#ifndef TOAST_TESTS_COST_PLAIN_H
#define TOAST_TESTS_COST_PLAIN_H

#include "subject.h"

/* rules: bits of enum cost_fusion_rule. backend: room for the machine's. */
static inline void make_plain(struct cost_machine *machine, struct cost_backend *backend, uint32_t rules)
{
    *backend = *cost_backend(COST_XLA_CPU);
    backend->fusion = rules;
    machine->backend = backend;
    machine->asynchronous = false;
    machine->device.memory_bytes_per_s = 1e12;
    machine->device.memory_fraction = 1;
    machine->device.rate_flops[COST_RATE_F32] = 20e12;
    machine->device.launch_ps = 0;
}

#endif
