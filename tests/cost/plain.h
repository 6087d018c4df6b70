/* A machine whose times are bytes: it moves a byte in a picosecond and launches for nothing; its arithmetic
 * is as fast beside its memory as an H100's. And modules priced on two of it. */
#ifndef TOAST_TESTS_COST_PLAIN_H
#define TOAST_TESTS_COST_PLAIN_H

#include "subject.h"
#include "support.h"

#include <string.h>

/* rules: bits of enum cost_fusion_rule. backend: room for the machine's. */
static inline void make_plain(struct cost_machine *machine, struct cost_backend *backend, uint32_t rules)
{
    *backend = *cost_backend(COST_XLA_CPU);
    backend->fusion = rules;
    backend->kernel_bytes = (struct cost_kernel_bytes){.rows = 3, .element = 0, .apart = 64};
    machine->backend = backend;
    machine->asynchronous = false;
    machine->device.memory_bytes_per_s = 1e12;
    machine->device.memory_fraction = 1;
    machine->device.rate_flops[COST_RATE_F32] = 20e12;
    machine->device.launch_ps = 0;
}

/* The module on two devices of such a machine, made of `device`, before it is priced: the backend may be
 * changed. Closed by subject_close. */
static inline void plain_begin(struct subject *subject, struct cost_backend *backend, const char *device,
                               const char *text, uint32_t rules)
{
    struct error e;
    ASSERT_OK(subject_text(subject, text, strlen(text), &e), &e);
    ASSERT_OK(subject_mesh(subject, "x=2", &e), &e);
    ASSERT_OK(cost_machine_create(&subject->mesh, device, 0, &subject->machine, &e), &e);
    make_plain(&subject->machine, backend, rules);
}

/* .. and priced */
static inline void plain_open(struct subject *subject, struct cost_backend *backend, const char *device,
                              const char *text, uint32_t rules)
{
    struct error e;
    plain_begin(subject, backend, device, text, rules);
    ASSERT_OK(subject_evaluator(subject, &e), &e);
}

/* What the unsharded module takes beside arguments and results, and the bytes that its kernels move. */
struct moved {
    int64_t temporary, bytes;
};
static inline struct moved plain_moved(const char *device, const char *text, uint32_t rules)
{
    struct subject subject;
    struct cost_backend backend;
    plain_open(&subject, &backend, device, text, rules);
    const struct price *price = evaluator_unsharded(subject.evaluator);
    struct moved moved = {price->peak_bytes - price->argument_bytes - price->output_bytes +
                              price->alias_bytes,
                          price->compute_ps};
    subject_close(&subject);
    return moved;
}

#endif
