/* An interpreter of StableHLO: the program's own meaning, computed slowly and plainly, all devices in one
 * process.
 *
 * Every op is executed for each device before the next op (lock-step), so a collective simply sees the
 * operands of all devices. A device whose operands are the same buffers as an earlier device's shares that
 * device's results, so replicated work is done once.
 *
 * Meaning is the StableHLO specification's (https://openxla.org/stablehlo/spec); where that leaves room,
 * XLA's:
 *   - a scatter window that does not lie wholly inside the operand is dropped as a whole
 *   - float to integer conversion saturates, NaN gives 0; for integers x / 0 = -1 and x % 0 = x; shifts by
 *     the width or more give 0 (arithmetic ones: the sign)
 *   - padding of reduce_window and select_and_scatter never reaches the reducer
 *
 * Arithmetic: f32 is float and f64 double; narrower floats are kept as floats and rounded to nearest even
 * after each op. Dots, convolutions and sums accumulate in double and round once, so that a sum split over
 * devices agrees closely with the whole one. Integers wrap to their width. Transcendental functions are
 * libm's, which differ between machines: results are for comparison, not for search.
 *
 * Programs must have passed ir_verify (ir_prepare calls it); what the interpreter relies on beyond that it
 * checks. Pure: no files, clocks or globals. Any number of runs may go on in different threads. */
#ifndef TOAST_VERIFY_INTERPRET_H
#define TOAST_VERIFY_INTERPRET_H

#include "ir/attrs.h"
#include "ir/program.h"

/* A dense row-major tensor. Layout of `data` by element type, whatever the width in the module:
 *   i1: uint8_t 0 or 1;  other integers: int64_t (ui64: its bits);  f64: double;  complex<f32>: two floats;
 *   complex<f64>: two doubles;  all other floats: float, already rounded to the element type */
struct verify_tensor {
    enum ir_element element;
    uint32_t rank;
    int64_t dims[IR_MAX_RANK];
    /* owned by whoever holds the tensor; free(). Never NULL, and of an empty tensor there is room for one
     * element. */
    void *data;
};

void verify_tensor_release(struct verify_tensor *tensor); /* zeroed is fine */
int64_t verify_tensor_count(const struct verify_tensor *tensor);
/* bytes of one element in the layout above; 0 for element types that cannot be interpreted */
size_t verify_element_size(enum ir_element element);
/* zeros of a tensor type. ERROR_NOT_AVAILABLE when the element type cannot be interpreted or is not a
 * static tensor */
enum error_code verify_tensor_create(const struct ir_program *program, uint32_t type,
                                     struct verify_tensor *out, struct error *e) BASE_CHECKED;

/* How collectives number devices (XLA runs either, never both in one module):
 *   REPLICA    no channels; replica_groups and replica_id mean replicas
 *   PARTITION  channel_handle > 0, with use_global_device_ids on all_gather, all_reduce, reduce_scatter;
 *              groups and partition_id mean partitions
 * The first collective decides when the caller does not; one of the other kind is an error, as under XLA it
 * would be silently wrong. The body of sdy.manual_computation is always PARTITION. */
enum verify_style { VERIFY_STYLE_ANY, VERIFY_STYLE_REPLICA, VERIFY_STYLE_PARTITION };

/* Scalar operations of one run when the caller names no limit: a module that is too large for the
 * interpreter ends by this budget, the same on every machine, and not by a clock. */
#define VERIFY_MAX_OPERATIONS 20000000000u
/* Turns of all loops of one run: a loop of little work that does not end would take hours to spend the budget
 * above. A turn costs some microseconds. */
#define VERIFY_MAX_TURNS 500000u

/* Of one op, the largest over its executions. */
struct verify_magnitude {
    double largest; /* magnitude of an element of its first result */
    double summed;  /* sums, dots, convolutions: mean over the result of the sum of magnitudes added up */
};

/* Floats of rank 0 that a run watches, whatever block they stand in: each comes out behind the results, as
 * one f64: the sum over all times that it was computed of the number times a weight between 1 and 2 that
 * depends on the time. What is not finite adds its weight alone. */
struct verify_watch {
    uint32_t *number; /* [value_count]: 1 + its place behind the results; 0: not watched. Owned */
    uint32_t count;
};

struct verify_options {
    enum verify_style style;
    uint64_t max_operations; /* scalar operations executed, all devices together; 0 = VERIFY_MAX_OPERATIONS */
    bool (*cancelled)(void *context); /* asked now and then; may be NULL */
    void *cancel_context;
    /* read by verify_prove only: 0 = each of its runs; k = only the k-th (modulo their number; that of turned
     * choices goes with the one before it) */
    uint32_t only_run;
    /* not 0: rounded numbers move by their last bit or not, by this seed (verify_noise) */
    uint64_t shake;
    /* [op_count]: sizes of what each op computed are noted there (verify_magnitudes); NULL: not */
    struct verify_magnitude *magnitudes;
    /* what is chosen by comparing numbers is chosen the other way round (turned.c) */
    bool turned;
    /* of the original's results, for the reports of verify_prove (borrowed); NULL: numbers alone */
    const char *const *result_names;
    /* read by verify_reference_create only: inputs of @main that the caller has, one an argument (borrowed),
     * in place of the seeded ones; NULL: none */
    const struct verify_tensor *given;
    /* The program's types before they were widened (verify_wide in prove.h; borrowed), one for each of its
     * own: bitcast_convert reads and makes the bits of these. NULL: its own */
    const struct ir_type *narrow;
    /* borrowed; NULL: nothing. Outputs are then results + count of each device. */
    const struct verify_watch *watch;
};

/* What a run did, for tests and reports. */
struct verify_statistics {
    uint64_t operations;   /* scalar operations executed */
    uint64_t ops_executed; /* ops, once a device that did not share */
    uint64_t ops_shared;   /* ops whose result another device's was */
    uint64_t turns;        /* of loops, once for all devices */
    uint64_t collectives;  /* executed, once for all devices */
    /* sdy.manual_computation: largest difference between copies of one result shard, relative to the
     * result's largest magnitude; 0 = bit for bit equal */
    double divergence;
    uint32_t divergent_result; /* which result; IR_NONE when all copies are equal */
};

/* Runs a function on `devices` devices. inputs[d * arguments + i] is argument i of device d (borrowed;
 * shapes and element types must be the function's); outputs[d * results + i] receives owned tensors
 * (untouched on failure). statistics may be NULL. `devices` is 1 for an original, annotated or manual
 * module: sdy.manual_computation runs its body on the devices of its mesh by itself. Other sdy ops are the
 * identity.
 *
 * ERROR_NOT_AVAILABLE    an op, attribute or type that is not interpreted, with its name, line and column
 * ERROR_INVALID_MODULE   the module is wrong in a way that only running shows: groups that do not cover the
 *                        devices once, mixed styles, a predicate that differs between devices (a deadlock),
 *                        a wrong shape
 * ERROR_UNSUPPORTED_MODULE  a recursive call
 * ERROR_TOO_LARGE        the budget is spent, or loops do not end
 * ERROR_CANCELLED        the caller's `cancelled` said so */
enum error_code verify_run(const struct ir_program *program, const char *function, uint32_t devices,
                           const struct verify_tensor *inputs, struct verify_tensor *outputs,
                           const struct verify_options *options, struct verify_statistics *statistics,
                           struct error *e) BASE_CHECKED;

/* Scalar operations that running @main once on one device takes, roughly (a multiply-add counts 2); loops
 * by their trip count when it can be read off the text, else once and *unknown_loops is raised. Saturates
 * at 2^63. */
uint64_t verify_operations(const struct ir_program *program, uint32_t *unknown_loops);
/* The same of one execution of an op, its regions not counted */
uint64_t verify_op_operations(const struct ir_program *program, uint32_t op);

#endif
