/* Inside the interpreter: values, buffers, the state of a run, and what each family of ops provides.
 *
 *     state.slots[SSA value] -> slot: one verify_value a device
 *                                 verify_value { type, splat, buffer } --+
 *                                 verify_value { type, splat, buffer } --+--> verify_buffer { uses = 2 }
 *
 * A value is a type of the program, a shared buffer, and whether the buffer holds one element that stands
 * for all (splat: constants and their broadcasts are most of a JAX module). Buffers are counted; one whose
 * count falls to zero waits in the free list of its size class. A family may write into an operand's buffer
 * only while `uses` is 1.
 *
 * Element layout is verify_tensor's (interpret.h). Not thread-safe: one state a run. */
#ifndef TOAST_VERIFY_VALUE_H
#define TOAST_VERIFY_VALUE_H

#include "verify/interpret.h"

/* How elements are stored; anything but VERIFY_NONE can be interpreted. */
enum verify_store { VERIFY_NONE, VERIFY_U8, VERIFY_I64, VERIFY_F32, VERIFY_F64, VERIFY_C64, VERIFY_C128 };

enum verify_store verify_store_of(enum ir_element element);
bool verify_element_unsigned(enum ir_element element); /* ui2 .. ui64 and i1 */

struct verify_buffer {
    uint32_t uses;              /* references */
    uint32_t bin;               /* size class: room for 2^bin bytes */
    struct verify_buffer *next; /* in the free list of its class */
    _Alignas(64) unsigned char data[];
};

struct verify_value {
    const struct ir_type *type;
    struct verify_buffer *buffer; /* NULL: not there (also tokens) */
    bool splat;
};

struct verify_slot { /* of one SSA value: one verify_value a device */
    struct verify_value *at;
    uint32_t devices;
};

enum {
    VERIFY_BINS = 48,       /* size classes: up to 2^47 bytes, the address space of a process */
    VERIFY_MAX_DEPTH = 64,  /* blocks that are open at once (regions and calls); bounds the C stack */
    VERIFY_PANEL_WIDTH = 8, /* the widest panel that verify_gemm asks a verify_pack function for */
};

struct verify_state {
    const struct ir_program *program;
    struct verify_options options;
    struct verify_statistics statistics;
    struct verify_slot *slots; /* one a value of the program */
    /* values that nobody uses after op o (slots.c): release[release_at[o] .. release_at[o + 1]) */
    const uint32_t *release, *release_at;
    struct verify_buffer *free[VERIFY_BINS];
    unsigned char *active; /* functions on the call stack */
    uint32_t depth;
    /* the device being evaluated: which copy a reducer body captures */
    uint32_t device;
    enum verify_style style;
    double *watched; /* by number and device; NULL: nothing is watched */
    uint64_t *times; /* by number: how often it was computed */
};

/* ---- value.c */
/* elements of a tensor type */
int64_t verify_type_count(const struct verify_state *state, const struct ir_type *type);
void *verify_data(const struct verify_value *value); /* its elements; the value must have a buffer */
/* allocates v's buffer for its type (not cleared); splat: one element */
void verify_value_alloc(struct verify_state *state, struct verify_value *value, bool splat);
void verify_value_share(struct verify_value *to, const struct verify_value *from); /* keeps to->type */
void verify_value_drop(struct verify_state *state, struct verify_value *value);
/* makes value dense: a splat gets a buffer of its own with every element */
void verify_value_dense(struct verify_state *state, struct verify_value *value);
/* memory for the caller alone (not cleared), from the same free lists; *owner gives it back */
void *verify_scratch(struct verify_state *state, size_t bytes, struct verify_buffer **owner);
void verify_scratch_drop(struct verify_state *state, struct verify_buffer *buffer);
void verify_state_release(struct verify_state *state);
/* index-th element of an integer or boolean value */
int64_t verify_value_int(const struct verify_value *value, int64_t index);
/* returns code with the message "stablehlo.x: <why>" at the op's line and column */
enum error_code verify_fail(const struct verify_state *state, uint32_t op, enum error_code code,
                            struct error *e, const char *format, ...) __attribute__((format(printf, 5, 6)));
/* A dense attribute as a value of the type in out->type. ERROR_NOT_AVAILABLE when there is none or it is
 * not dense, ERROR_INVALID_MODULE when its data does not fit the type. */
enum error_code verify_constant(struct verify_state *state, uint32_t op, const struct ir_attr *dense,
                                struct verify_value *out, struct error *e) BASE_CHECKED;

/* ---- round.c: storage of narrow floats */
float verify_round(enum ir_element element, double x);
void verify_round_all(enum ir_element element, void *data, int64_t n); /* floats and integers (wraps) */
double verify_decode_float(enum ir_element element, uint32_t bits);    /* 8- and 16-bit formats */
/* x with as many exponent and mantissa bits (reduce_precision) */
double verify_reduce_precision(double x, int exponent_bits, int mantissa_bits);

/* ---- an array of n elements, or of one that stands for all */
struct verify_array {
    enum ir_element element;
    bool splat;
    const void *data;
};
/* ---- convert.c: n elements from one type to another */
void verify_convert(enum ir_element from, const void *in, enum ir_element to, void *out, int64_t n);

/* ---- move.c */
/* strides of a dense row-major array, in elements; out: strides[rank] */
void verify_strides(uint32_t rank, const int64_t *dims, int64_t *strides);
/* ---- copy.c: copies a box of elements of `element` bytes each; strides in elements, may be 0 or
 * negative. The two arrays do not overlap. */
void verify_copy(size_t element, uint32_t rank, const int64_t *dims, void *to, const int64_t *to_strides,
                 const void *from, const int64_t *from_strides);

/* window.c: does each window cover all that stands before its result, or all behind it (backwards), itself
 * included, along one dimension of an operand of these dims? */
bool verify_window_runs(const struct ir_window *window, const int64_t *dims, uint32_t *along,
                        bool *backwards);

/* ---- lanes.c: reducer bodies run over many lanes at once */
/* The body of a region of op, decoded; owned, destroyed with the state that made it. ERROR_NOT_AVAILABLE
 * when it has an op or element type without a kernel. */
struct verify_lanes;
enum error_code verify_lanes_create(struct verify_state *state, uint32_t op, uint32_t region,
                                    struct verify_lanes **out, struct error *e) BASE_CHECKED;
void verify_lanes_destroy(struct verify_state *state, struct verify_lanes *lanes);
/* args[i]: n elements (or one, splat); results[i] receive n elements and may be an argument's own array */
void verify_lanes_run(struct verify_lanes *lanes, const struct verify_array *args, int64_t n,
                      void *const *results);
/* Has this reducer, a[i] = op(a[i], b[i]), a kernel of its own? */
bool verify_reducer_known(enum ir_opcode reducer, enum ir_element element);

/* ---- gemm.c */
/* out[m * columns + n] = sum over k < depth of a(m, k) b(n, k), in double. The operands are read through
 * functions that fill panels: pack(context, first, count, width, panel) writes panel[k * width + i] =
 * element (first + i, k) for all k and i < count, and 0 for count <= i < width; width <=
 * VERIFY_PANEL_WIDTH. */
typedef void verify_pack(const void *context, int64_t first, int64_t count, int64_t width, double *panel);
void verify_gemm(struct verify_state *state, int64_t rows, int64_t columns, int64_t depth, verify_pack *a,
                 const void *ac, verify_pack *b, const void *bc, double *out);
/* sums rounded to the element type of the storage they go to */
void verify_store_sums(enum ir_element element, const double *sums, void *to, int64_t n);

/* ---- families: operands and results of one device; out[i].type is set, buffers are allocated by the
 * family */
#define VERIFY_FAMILY(name)                                                                                  \
    enum error_code name(struct verify_state *s, uint32_t op, struct verify_value *in,                       \
                         struct verify_value *out, struct error *e) BASE_CHECKED
VERIFY_FAMILY(verify_eval_elementwise);
VERIFY_FAMILY(verify_eval_iota);
VERIFY_FAMILY(verify_eval_broadcast);
VERIFY_FAMILY(verify_eval_transpose);
VERIFY_FAMILY(verify_eval_slice);
VERIFY_FAMILY(verify_eval_pad);
VERIFY_FAMILY(verify_eval_concatenate);
VERIFY_FAMILY(verify_eval_reverse);
VERIFY_FAMILY(verify_eval_dynamic_slice);
VERIFY_FAMILY(verify_eval_dynamic_update);
VERIFY_FAMILY(verify_eval_bitcast);
VERIFY_FAMILY(verify_eval_dot);
VERIFY_FAMILY(verify_eval_convolution);
VERIFY_FAMILY(verify_eval_reduce);
VERIFY_FAMILY(verify_eval_map);
VERIFY_FAMILY(verify_eval_reduce_window);
VERIFY_FAMILY(verify_eval_select_and_scatter);
VERIFY_FAMILY(verify_eval_batch_norm);
VERIFY_FAMILY(verify_eval_gather);
VERIFY_FAMILY(verify_eval_scatter);
VERIFY_FAMILY(verify_eval_sort);
VERIFY_FAMILY(verify_eval_top_k);
VERIFY_FAMILY(verify_eval_rng);
VERIFY_FAMILY(verify_eval_linalg);
/* ---- turned.c: the op chooses by comparing numbers, and is turned; how many do */
bool verify_turns(const struct ir_program *program, uint32_t op);
uint32_t verify_turned_count(const struct ir_program *program);
/* a value that is made of constants alone, so far as a short walk tells */
bool verify_is_known(const struct ir_program *program, uint32_t value);
/* ---- lapack.c: custom calls named lapack_*_ffi or cusolver_*_ffi, and those of TPUs; ERROR_NOT_AVAILABLE
 * names one that is not interpreted. And what makes an order of rows of their pivots */
bool verify_is_lapack(const char *target);
VERIFY_FAMILY(verify_eval_lapack);
VERIFY_FAMILY(verify_eval_permutation);

/* ---- linalg.c: element i of a dense value of real or complex numbers */
double _Complex verify_number(const struct verify_value *value, int64_t i);
void verify_set_number(struct verify_value *value, int64_t i, double _Complex x);

/* ---- collective.c: operands and results of all devices, [i * devices + d] */
enum error_code verify_eval_collective(struct verify_state *state, uint32_t op, uint32_t devices,
                                       struct verify_value *in, struct verify_value *out,
                                       struct error *e) BASE_CHECKED;
/* ---- manual.c: an sdy.manual_computation on one device's (global) operands */
VERIFY_FAMILY(verify_eval_manual);
/* ---- noise.c: moves a rounded result by its last bit or not */
void verify_shake(struct verify_state *state, uint32_t op, struct verify_value *out);
/* ---- magnitude.c: notes in options.magnitudes what an op is about to sum, and what it gave */
void verify_note_summed(struct verify_state *state, uint32_t op, const struct verify_value *in);
void verify_note_largest(struct verify_state *state, uint32_t op, const struct verify_value *out);
/* ---- interpret.c: runs a block; args and results [i * devices + d]; args are taken over, results handed
 * over */
enum error_code verify_block(struct verify_state *state, uint32_t block, uint32_t devices,
                             struct verify_value *args, struct verify_value *results,
                             struct error *e) BASE_CHECKED;

#endif
