/* Between the four files of the interpreter's driver: interpret.c (blocks and runs), slots.c (live values),
 * dispatch.c (op -> family) and control.c (branches, loops, calls).
 *
 * Shapes: `in` and `out` hold the values of all devices, [i * devices + d]. Ownership: a callee that takes
 * values over leaves NULL buffers behind, so that the caller's drop does nothing. */
#ifndef TOAST_VERIFY_DRIVER_H
#define TOAST_VERIFY_DRIVER_H

#include "verify/value.h"

/* ---- slots.c */
/* state->release and state->release_at, once a run; freed by verify_state_release */
void verify_slots_plan(struct verify_state *state);
void verify_slot_clear(struct verify_state *state, uint32_t value);
/* takes the values over (one a device); what the slot held is dropped */
void verify_slot_set(struct verify_state *state, uint32_t value, uint32_t devices,
                     const struct verify_value *values);
/* clears the slots of the values that nobody uses after op */
void verify_slots_release(struct verify_state *state, uint32_t op);
/* The operands of op for all devices, as references into `in`. Values whose last use this is leave their
 * slots at once, unless op has regions, which may name them. ERROR_INVALID_MODULE when an operand has no
 * value. */
enum error_code verify_slots_fetch(struct verify_state *state, uint32_t op, uint32_t devices,
                                   struct verify_value *in, struct error *e) BASE_CHECKED;
void verify_values_drop(struct verify_state *state, struct verify_value *values, size_t count);

/* ---- dispatch.c */
/* Runs one op on all devices. Operands may be taken over; out[..].type is set, buffers are filled in. Errors
 * as verify_run has them. */
enum error_code verify_eval_op(struct verify_state *state, uint32_t op, uint32_t devices,
                               struct verify_value *in, struct verify_value *out,
                               struct error *e) BASE_CHECKED;
/* Charges one execution of op to the budget: ERROR_TOO_LARGE when it is spent; now and then asks whether the
 * caller wants to stop (ERROR_CANCELLED). */
enum error_code verify_count_operations(struct verify_state *state, uint32_t op,
                                        struct error *e) BASE_CHECKED;

/* ---- control.c: operands are taken over by the blocks that they enter */
enum error_code verify_eval_while(struct verify_state *state, uint32_t op, uint32_t devices,
                                  struct verify_value *in, struct verify_value *out,
                                  struct error *e) BASE_CHECKED;
/* if and case */
enum error_code verify_eval_branch(struct verify_state *state, uint32_t op, uint32_t devices,
                                   struct verify_value *in, struct verify_value *out,
                                   struct error *e) BASE_CHECKED;
/* call and composite (through its decomposition) */
enum error_code verify_eval_call(struct verify_state *state, uint32_t op, uint32_t devices,
                                 struct verify_value *in, struct verify_value *out,
                                 struct error *e) BASE_CHECKED;

#endif
