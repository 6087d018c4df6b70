/* Decoded attributes of the ops that have structure, one struct an op kind.
 *
 * All results are values (ir_matrix apart, which is owned). Lists have at most IR_MAX_RANK entries. After
 * ir_verify every function succeeds on every op of the program, and all dimensions are in range and not
 * negative. Names and meanings are those of the StableHLO specification
 * (https://openxla.org/stablehlo/spec). */
#ifndef TOAST_IR_ATTRS_H
#define TOAST_IR_ATTRS_H

#include "ir/program.h"

/* The most dimensions that a tensor may have, and so the longest list of dimensions; ir_verify refuses more
 * (ERROR_UNSUPPORTED_MODULE). Every array over dimensions has this size. Every
 * module under tests/ and bench/ has at most 5. */
enum { IR_MAX_RANK = 16 };

struct ir_dims {
    int64_t at[IR_MAX_RANK];
    uint32_t count;
};

struct ir_dot { /* dot_general; dot is given as contracting [rank-1] x [0] */
    struct ir_dims lhs_batch, rhs_batch, lhs_contract, rhs_contract;
};
struct ir_window {
    /* one entry a window dim */
    struct ir_dims size, stride, low, high, base_dilation, window_dilation, reversal;
};
struct ir_conv {
    int64_t input_batch, input_feature, kernel_input, kernel_output, output_batch, output_feature;
    struct ir_dims input_spatial, kernel_spatial, output_spatial;
    struct ir_window window; /* size = kernel's spatial sizes */
    int64_t feature_groups, batch_groups;
};
struct ir_gather {
    struct ir_dims offset_dims, collapsed_dims, operand_batch, indices_batch, start_index_map, slice_sizes;
    int64_t index_vector_dim;
};
struct ir_scatter {
    struct ir_dims update_window_dims, inserted_window_dims, input_batch, indices_batch, dims_to_operand;
    int64_t index_vector_dim;
    uint32_t input_count; /* operands: inputs, indices, updates */
    bool unique_indices;
};

/* is dim among the list's? */
bool ir_dims_has(const struct ir_dims *list, int64_t dim);
/* 0 on success, -1 when the attribute is absent or malformed (never after ir_verify) */
int ir_dot(const struct ir_program *program, uint32_t op, struct ir_dot *out);
int ir_conv(const struct ir_program *program, uint32_t op, struct ir_conv *out);
int ir_gather(const struct ir_program *program, uint32_t op, struct ir_gather *out);
int ir_scatter(const struct ir_program *program, uint32_t op, struct ir_scatter *out);
int ir_reduce_window(const struct ir_program *program, uint32_t op, struct ir_window *out);
int ir_select_and_scatter(const struct ir_program *program, uint32_t op, struct ir_window *out);
/* any list of integers: array<i64: ..>, dense<..> : tensor<Nxi64>, [1, 2]; count 0 when absent */
int ir_dims(const struct ir_program *program, uint32_t op, const char *name, struct ir_dims *out);
/* integer or bool attribute */
int64_t ir_int(const struct ir_program *program, uint32_t op, const char *name, int64_t absent);
/* the word of an enum attribute: "LT" of #stablehlo<comparison_direction LT>; out[0] = 0 when absent */
void ir_word(const struct ir_program *program, uint32_t op, const char *name, char out[32]);
/* a 2-d list of integers such as replica_groups or source_target_pairs: rows x columns, owned; NULL when
 * absent */
int64_t *ir_matrix(const struct ir_program *program, uint32_t op, const char *name, uint32_t *rows,
                   uint32_t *columns);
/* an element of a constant as a double / an integer (complex: real part) */
double ir_constant_double(const struct ir_program *program, const struct ir_attr *dense, uint64_t index);
int64_t ir_constant_int(const struct ir_program *program, const struct ir_attr *dense, uint64_t index);
/* Hash of what an op is, whatever its operands are: opcode, attributes, types of operands and results,
 * regions. What constants hold does not count. Never 0. */
uint64_t ir_op_key(const struct ir_program *program, uint32_t op);
/* .. with what the op's own constants hold: equal, and of equal operands, two pure ops compute the same */
uint64_t ir_op_content_key(const struct ir_program *program, uint32_t op);

#endif
