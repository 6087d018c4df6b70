/* The program: a StableHLO module as arrays of structs that refer to each other by index, in one
 * position-independent block (the *program image*).
 *
 * There are no pointers and no MLIR handles inside: every reference is a 32-bit index into one of the
 * arrays, and a list is a range of an array (first, count). So an image can be written by the sandboxed
 * reader, stored as a blob, mapped read-only by anyone, and checked before use (ir_image_open).
 *
 *     ops        [ 0: module | 1: func @main | 2: constant | 3: add | .. ]   in program order, parents first
 *                      |            |                          |
 *                      | regions    | regions                  +- operands, 2 of them: range of `operands`
 *                      v            v                          |     [ .. | %0 | %arg0 | .. ] -> values
 *     regions    [ 0: of module | 1: of func | .. ]            +- results: consecutive `values`
 *                      | blocks     | blocks                   +- attrs: range of `attrs`
 *                      v            v
 *     blocks     [ 0: of region 0 | 1: of region 1 | .. ]      args: consecutive `values`
 *                                   | ops
 *                                   v
 *     block_ops  [ .. | 2 | 3 | .. ]                           indices of ops, in order
 *
 * Upwards, an op knows its block, a block its region, a region its op, and a value its op (or the block whose
 * argument it is). There are no lists of uses: who needs them builds them (verify/slots.c, the analysis).
 *
 * Shape of a module: op 0 is `builtin.module`; its region 0, block 0 holds the functions (`func.func`, one
 * region) and whatever else stands at top level (`sdy.mesh`). Attributes and types that are not decoded
 * keep their text.
 *
 * `struct ir_program` is a view: pointers into the block. A program is never changed in place; passes
 * (prepare.h) and writers build new ones (build.h). */
#ifndef TOAST_IR_PROGRAM_H
#define TOAST_IR_PROGRAM_H

#include "base/error.h"
#include "base/memory.h"

#include <stddef.h>
#include <stdint.h>

enum {
    IR_NONE = UINT32_MAX, /* "no such index" everywhere */
};
enum { IR_ELEMENT_BYTES = 16 }; /* of the widest element, complex<f64> */

/* ---------------------------------------------------------------- op codes, families, element types */
enum ir_opcode {
    IR_UNKNOWN, /* any op without a row in ops.def: its name says which */
#define IR_OP(code, name, family) IR_##code,
#include "ir/ops.def"
#undef IR_OP
    IR_OPCODES
};

/* What layers above switch over (-Wswitch-enum). */
enum ir_family {
    IR_FAMILY_UNKNOWN,   /* replicate, warn */
    IR_FAMILY_STRUCTURE, /* module, func, return, call */
    /* same shape in, same shape out (scalar predicate of select, scalar bounds of clamp) */
    IR_FAMILY_ELEMENTWISE,
    IR_FAMILY_CONSTANT,
    IR_FAMILY_IOTA,
    IR_FAMILY_BROADCAST, /* broadcast_in_dim, broadcast */
    IR_FAMILY_TRANSPOSE,
    IR_FAMILY_RESHAPE,
    IR_FAMILY_DOT, /* dot_general, dot */
    IR_FAMILY_CONVOLUTION,
    IR_FAMILY_REDUCE,
    IR_FAMILY_REDUCE_WINDOW, /* reduce_window, select_and_scatter */
    IR_FAMILY_BATCH_NORM,
    IR_FAMILY_GATHER,
    IR_FAMILY_SCATTER,
    IR_FAMILY_SLICE,
    IR_FAMILY_PAD,
    IR_FAMILY_CONCATENATE,
    IR_FAMILY_REVERSE,
    IR_FAMILY_DYNAMIC_SLICE,
    IR_FAMILY_DYNAMIC_UPDATE, /* dynamic_update_slice */
    IR_FAMILY_SORT,           /* sort, chlo.top_k */
    IR_FAMILY_RNG,
    IR_FAMILY_LINALG,  /* fft, cholesky, triangular_solve */
    IR_FAMILY_BITCAST, /* bitcast_convert, complex parts that change rank */
    IR_FAMILY_CONTROL, /* while, case, if */
    IR_FAMILY_BARRIER, /* optimization_barrier */
    IR_FAMILY_CUSTOM_CALL,
    /* all_gather, all_reduce, reduce_scatter, all_to_all, collective_permute, partition_id, replica_id */
    IR_FAMILY_COLLECTIVE,
    IR_FAMILY_SHARDY, /* sdy.* */
    IR_FAMILIES
};

enum ir_element {
    IR_ELEMENT_NONE,
    IR_I1,
    IR_I2,
    IR_I4,
    IR_I8,
    IR_I16,
    IR_I32,
    IR_I64, /* signless = signed in StableHLO */
    IR_UI2,
    IR_UI4,
    IR_UI8,
    IR_UI16,
    IR_UI32,
    IR_UI64,
    IR_BF16,
    IR_F16,
    IR_F32,
    IR_F64,
    IR_F8E4M3,
    IR_F8E4M3FN,
    IR_F8E4M3FNUZ,
    IR_F8E4M3B11FNUZ,
    IR_F8E5M2,
    IR_F8E5M2FNUZ,
    IR_F8E3M4,
    IR_F8E8M0FNU,
    IR_F4E2M1FN,
    IR_F6E2M3FN,
    IR_F6E3M2FN,
    IR_TF32,
    IR_C64,
    IR_C128, /* complex<f32>, complex<f64> */
    IR_INDEX,
    IR_ELEMENT_OTHER,
    IR_ELEMENTS
};

const char *ir_opcode_name(enum ir_opcode code); /* "stablehlo.add"; NULL for IR_UNKNOWN */
/* what hashes that outlive a build are made of: the same whatever is added to ir/ops.def; 0 of IR_UNKNOWN */
uint64_t ir_opcode_number(enum ir_opcode code);
enum ir_family ir_opcode_family(enum ir_opcode code);
const char *ir_family_name(enum ir_family family);
enum ir_opcode ir_opcode_find(const char *name, size_t size);
const char *ir_element_name(enum ir_element e); /* "bf16", "ui8", "complex<f32>" */
/* bits one element takes in device memory (i1, i2, i4: 8) */
unsigned ir_element_bits(enum ir_element e);
bool ir_element_is_float(enum ir_element e);
/* floats, to f32 or f64 from fewer bits: exact */
bool ir_element_widens(enum ir_element from, enum ir_element to);

/* ---------------------------------------------------------------- arrays of the image */
struct ir_string {
    uint32_t offset, size; /* in bytes; NUL-terminated, the NUL is not counted */
};

enum ir_type_kind { IR_TYPE_TENSOR, IR_TYPE_TOKEN, IR_TYPE_TUPLE, IR_TYPE_FUNCTION, IR_TYPE_OTHER };
enum { IR_TYPE_DYNAMIC = 1, IR_TYPE_QUANTIZED = 2, IR_TYPE_UNRANKED = 4, IR_TYPE_ENCODED = 8 };

struct ir_type {
    uint16_t kind;    /* enum ir_type_kind */
    uint16_t element; /* enum ir_element, of tensors */
    uint16_t flags;
    uint16_t rank;
    uint32_t ints; /* tensors: first of `rank` sizes in program->ints; -1 = dynamic */
    uint32_t text; /* the type as spelt, a string; equal types have equal index */
};

struct ir_value {
    uint32_t type;
    uint32_t op;    /* defining op, or IR_NONE for a block argument */
    uint32_t block; /* block whose argument it is, or that holds the op */
    uint32_t index; /* which result or which argument */
};

struct ir_op {
    uint32_t name;                    /* string, "stablehlo.add" */
    uint16_t code, flags;             /* enum ir_opcode */
    uint32_t operands, operand_count; /* range of program->operands (value indices) */
    uint32_t results, result_count;   /* range of program->values: results are consecutive */
    uint32_t regions, region_count;   /* range of program->regions */
    uint32_t attrs, attr_count;       /* range of program->attrs, in the text's order */
    uint32_t block;                   /* the block it stands in; IR_NONE for op 0 */
    uint32_t line, column;            /* of the op in the text that was read; 0 = made by us */
    uint32_t location;                /* string: "file:line" of a loc(), or IR_NONE */
    uint32_t loc;                     /* the loc() itself, of program->locations; 0: unknown */
};

struct ir_region {
    uint32_t op;
    uint32_t blocks, block_count; /* range of program->blocks */
};

struct ir_block {
    uint32_t region;
    uint32_t args, arg_count; /* range of program->values */
    uint32_t ops, op_count;   /* range of program->block_ops (op indices, in order) */
};

enum ir_attr_kind {
    IR_ATTR_UNIT,
    IR_ATTR_BOOL,       /* value */
    IR_ATTR_INT,        /* value; type: a type index (i32, i64 ..) */
    IR_ATTR_FLOAT,      /* first: string, as spelt without the type; type */
    IR_ATTR_STRING,     /* first: string, unescaped bytes */
    IR_ATTR_SYMBOL,     /* first: string, without '@' */
    IR_ATTR_TYPE,       /* type */
    IR_ATTR_INTS,       /* array<i8|i16|i32|i64: ..>: range of program->ints; type: the element type */
    IR_ATTR_BOOLS,      /* array<i1: ..>: range of program->ints, 0 or 1 */
    IR_ATTR_DENSE,      /* first: index of program->constants; type: the tensor type */
    IR_ATTR_ARRAY,      /* [..]: range of program->attrs, names IR_NONE */
    IR_ATTR_DICTIONARY, /* {..}: range of program->attrs */
    IR_ATTR_TEXT /* first: string, anything else as spelt: `#stablehlo.gather<..>`, `dense_resource<..> : ..`;
                          * type: of a constant that is not decoded, else IR_NONE */
};

/* The name of a hidden IR_ATTR_TEXT of op 0: the contents of `dense_resource<key>` constants, which is the
 * text's `{-# .. #-}` as spelt. */
#define IR_RESOURCES "{-#"
/* The name of a hidden IR_ATTR_UNIT of op 0: most ops of the text that was read stood in pretty form. Writers
 * keep it, so that ir_print_as_read knows. */
#define IR_PRETTY "{pretty"

struct ir_attr {
    uint32_t name; /* string; IR_NONE inside an array */
    uint32_t kind;
    uint32_t type; /* type index or IR_NONE */
    uint32_t first, count;
    uint32_t pad;
    int64_t value;
};

/* Elements of a dense constant: little-endian, `element_bytes` each (i1 and i4 take a byte; complex two
 * floats). */
struct ir_constant {
    uint64_t offset; /* in program->bytes */
    uint64_t size;   /* bytes stored: one element when splat */
    uint32_t element_bytes;
    uint32_t splat; /* 1: one element stands for all */
};

/* MLIR's locations, which compilers hand on to profilers: `loc("jit(step)/mul"(callsite(.. at ..)))`. Equal
 * ones have one index, and parts stand before what they are part of. Number 0 is `loc(unknown)` in every
 * program. */
enum ir_location_kind {
    IR_LOCATION_UNKNOWN,
    IR_LOCATION_FILE,     /* "text":line:column, to end_line:end_column unless these are 0 */
    IR_LOCATION_NAME,     /* "text", then its part in parentheses, if any */
    IR_LOCATION_CALLSITE, /* parts: callee, caller */
    IR_LOCATION_FUSED     /* parts; text: the metadata as spelt, or IR_NONE */
};

struct ir_location {
    uint32_t kind;
    uint32_t text;         /* string, as spelt between its quotes; IR_NONE */
    uint32_t first, count; /* range of program->location_parts: indices of locations */
    uint32_t line, column, end_line, end_column;
};

/* Locations nest at most this deep as read; what lies deeper is unknown. Inlining adds what calls nest. */
enum { IR_LOCATION_DEPTH = 256 };

/* Where a block argument says it comes from: `%arg0: tensor<..> loc("params['embed']")`. Sorted by value. */
struct ir_value_location {
    uint32_t value;
    uint32_t text; /* string: the name, or "file:line" when there is none; "": neither */
    uint32_t loc;  /* the whole, of program->locations */
};

struct ir_program {
    const struct ir_string *strings;
    uint32_t string_count;
    const struct ir_type *types;
    uint32_t type_count;
    const struct ir_value *values;
    uint32_t value_count;
    const struct ir_op *ops;
    uint32_t op_count;
    const struct ir_region *regions;
    uint32_t region_count;
    const struct ir_block *blocks;
    uint32_t block_count;
    const struct ir_attr *attrs;
    uint32_t attr_count;
    const struct ir_constant *constants;
    uint32_t constant_count;
    const uint32_t *operands;
    uint32_t operand_count;
    const uint32_t *block_ops;
    uint32_t block_op_count;
    const int64_t *ints;
    uint32_t int_count;
    const char *characters;
    uint64_t character_count; /* of strings */
    const unsigned char *bytes;
    uint64_t byte_count; /* of constants */
    const struct ir_value_location *value_locations;
    uint32_t value_location_count;
    const struct ir_location *locations;
    uint32_t location_count;
    const uint32_t *location_parts;
    uint32_t location_part_count;
    uint8_t digest[32]; /* SHA-256 of the text that was read; zeros for built programs */
    const void *image;  /* the block all of the above lies in */
    size_t image_size;
    bool owned; /* image was allocated (free) rather than mapped (munmap) */
};

/* Checks every index, range, string and count of an untrusted block before giving a view of it.
 * ERROR_INTERNAL naming what is wrong. The block must outlive the view; `owned` says who frees it. */
enum error_code ir_image_open(const void *image, size_t size, struct ir_program *program,
                              struct error *e) BASE_CHECKED;
void ir_program_release(struct ir_program *program); /* frees or unmaps; zeroed is fine */

/* ---------------------------------------------------------------- access */
static inline const char *ir_string(const struct ir_program *program, uint32_t s)
{
    return s == IR_NONE ? "" : program->characters + program->strings[s].offset;
}
static inline const struct ir_type *ir_value_type(const struct ir_program *program, uint32_t value)
{
    return &program->types[program->values[value].type];
}
static inline const int64_t *ir_type_dims(const struct ir_program *program, const struct ir_type *type)
{
    return program->ints + type->ints;
}
static inline uint32_t ir_operand(const struct ir_program *program, uint32_t op, uint32_t i)
{
    return program->operands[program->ops[op].operands + i];
}
static inline uint32_t ir_result(const struct ir_program *program, uint32_t op, uint32_t i)
{
    return program->ops[op].results + i;
}
static inline const char *ir_op_name(const struct ir_program *program, uint32_t op)
{
    return ir_string(program, program->ops[op].name);
}
/* product of sizes; tensors only */
int64_t ir_type_elements(const struct ir_program *program, const struct ir_type *type);
/* elements x ir_element_bits / 8 */
int64_t ir_type_bytes(const struct ir_program *program, const struct ir_type *type);
/* the only block of a region, e.g. of a function's body; IR_NONE when the region is empty */
uint32_t ir_region_block(const struct ir_program *program, uint32_t op, uint32_t region);
/* the last op of a block (its terminator), IR_NONE when empty */
uint32_t ir_block_terminator(const struct ir_program *program, uint32_t block);
/* the func.func op with this symbol, or IR_NONE; "main" is the entry */
uint32_t ir_function(const struct ir_program *program, const char *symbol);
/* NULL: none */
const struct ir_attr *ir_attr_find(const struct ir_program *program, uint32_t op, const char *name);
/* entry of a dictionary attribute, or NULL */
const struct ir_attr *ir_attr_entry(const struct ir_program *program, const struct ir_attr *dictionary,
                                    const char *name);
/* dictionary of argument i (arg_attrs) or result i (res_attrs) of a function; NULL when there is none */
const struct ir_attr *ir_function_arg_attrs(const struct ir_program *program, uint32_t func, uint32_t i);
const struct ir_attr *ir_function_result_attrs(const struct ir_program *program, uint32_t func, uint32_t i);

/* name of a block argument as its location says ("params['embed']", else "file:line"); "" when it has none */
const char *ir_value_location(const struct ir_program *program, uint32_t value);
/* The name that compilers give an op at this location ("jit(step)/mul"; a string), and in *behind, if not
 * NULL, what the location says besides it. Names that end in a colon are XLA's types of ops and are passed
 * over; of a call the callee's counts, of fused locations the first that has one. IR_NONE: none has. */
uint32_t ir_location_name(const struct ir_program *program, uint32_t location, uint32_t *behind);
/* the location of a block argument, of program->locations; 0 when it has none */
uint32_t ir_value_loc(const struct ir_program *program, uint32_t value);

/* Recognises a reducer body: two scalar arguments, one op of both, return. Gives its opcode
 * (IR_ADD, IR_MULTIPLY, IR_MAXIMUM, IR_MINIMUM, IR_AND, IR_OR, IR_XOR) or IR_UNKNOWN when opaque. A body that
 * returns its second argument (overwriting scatter) gives IR_SELECT. For N-ary bodies: IR_UNKNOWN. */
enum ir_opcode ir_region_reducer(const struct ir_program *program, uint32_t op, uint32_t region);

#endif
