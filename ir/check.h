/* What the checks of ir_verify share (within ir/).
 *
 * struct ir_check is the op being checked; IR_NEED is one requirement. A check is one function a family of
 * ops and reads like a list of what the StableHLO specification demands of it, as far as layers above rely
 * on it. Each returns ERROR_OK or ERROR_INVALID_MODULE with the op's name, line and column. */
#ifndef TOAST_IR_CHECK_H
#define TOAST_IR_CHECK_H

#include <string.h>

#include "ir/attrs.h"

/* all borrowed */
struct ir_check {
    const struct ir_program *program;
    uint32_t op;
    const struct ir_op *ir_op; /* p->ops[op] */
    struct error *e;
};

/* ERROR_INVALID_MODULE: "<op>: <what>" at the op's place */
enum error_code ir_check_complain(const struct ir_check *check, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ends the function whose `check`'s condition does not hold */
#define IR_NEED(condition, ...)                                                                              \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            return ir_check_complain(check, __VA_ARGS__);                                                    \
    } while (0)

/* ---- the op's types ---- */
static inline const struct ir_type *operand_type(const struct ir_check *check, uint32_t i)
{
    return ir_value_type(check->program, ir_operand(check->program, check->op, i));
}

static inline const struct ir_type *result_type(const struct ir_check *check, uint32_t i)
{
    return ir_value_type(check->program, check->ir_op->results + i);
}

static inline const int64_t *dims_of(const struct ir_check *check, const struct ir_type *type)
{
    return ir_type_dims(check->program, type);
}

static inline bool same_shape(const struct ir_check *check, const struct ir_type *one,
                              const struct ir_type *other)
{
    return one->rank == other->rank && (one->rank == 0 || memcmp(dims_of(check, one), dims_of(check, other),
                                                                 one->rank * sizeof(int64_t)) == 0);
}

/* ---- what several families need ---- */
enum error_code ir_need_counts(const struct ir_check *check, uint32_t operands,
                               uint32_t results) BASE_CHECKED;
/* operands and results are tensors */
enum error_code ir_need_tensors(const struct ir_check *check) BASE_CHECKED;
/* every entry in [0, rank), no entry twice */
enum error_code ir_need_dims(const struct ir_check *check, const char *name, const struct ir_dims *dims,
                             uint32_t rank) BASE_CHECKED;
/* an attribute that is a list of `count` numbers */
enum error_code ir_need_list(const struct ir_check *check, const char *name, struct ir_dims *out,
                             uint32_t count) BASE_CHECKED;
/* result i has these sizes */
enum error_code ir_need_result(const struct ir_check *check, uint32_t i, uint32_t rank,
                               const int64_t *dims) BASE_CHECKED;
/* region g is one block with so many arguments, which ends in an op with so many operands */
enum error_code ir_need_region(const struct ir_check *check, uint32_t g, uint32_t args,
                               uint32_t results) BASE_CHECKED;

/* ---- families; operands and results are known to be tensors ---- */
enum error_code ir_check_elementwise(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_constant(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_iota(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_broadcast(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_transpose(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_reshape(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_dot(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_convolution(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_reduce(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_reduce_window(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_batch_norm(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_gather(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_scatter(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_slice(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_pad(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_concatenate(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_reverse(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_dynamic_slice(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_dynamic_update(const struct ir_check *check) BASE_CHECKED;
enum error_code ir_check_sort(const struct ir_check *check) BASE_CHECKED;

#endif
