/* Layout of a program image, shared by the writer (build.c) and the checker (image.c) only.
 *
 *     0        struct ir_image_header      magic, version, digest, and per section its offset and count
 *     offset   struct ir_string[..]        each section at a multiple of 8 bytes, in the order of
 *     offset   struct ir_type[..]          IR_IMAGE_SECTIONS, one array of struct ir_program each
 *       ..
 *     offset   unsigned char[..]           the bytes of constants
 *
 * Byte order and struct layout are the machine's own: an image is shared between processes of one build,
 * and its version is raised when the layout changes. */
#ifndef TOAST_IR_IMAGE_H
#define TOAST_IR_IMAGE_H

#include "ir/program.h"

/* array, its count, its element type: fields of struct ir_program, in the order of the file */
#define IR_IMAGE_SECTIONS(X)                                                                                 \
    X(strings, string_count, struct ir_string)                                                               \
    X(types, type_count, struct ir_type)                                                                     \
    X(values, value_count, struct ir_value)                                                                  \
    X(ops, op_count, struct ir_op)                                                                           \
    X(regions, region_count, struct ir_region)                                                               \
    X(blocks, block_count, struct ir_block)                                                                  \
    X(attrs, attr_count, struct ir_attr)                                                                     \
    X(constants, constant_count, struct ir_constant)                                                         \
    X(operands, operand_count, uint32_t)                                                                     \
    X(block_ops, block_op_count, uint32_t)                                                                   \
    X(ints, int_count, int64_t)                                                                              \
    X(value_locations, value_location_count, struct ir_value_location)                                       \
    X(locations, location_count, struct ir_location)                                                         \
    X(location_parts, location_part_count, uint32_t)                                                         \
    X(characters, character_count, char)                                                                     \
    X(bytes, byte_count, unsigned char)

enum ir_image_section {
#define X(array, count, type) IR_SECTION_##array,
    IR_IMAGE_SECTIONS(X)
#undef X
        IR_IMAGE_SECTION_COUNT
};

struct ir_image_header {
    char magic[8]; /* "TOASTIR" and NUL */
    uint32_t version;
    uint32_t sections; /* IR_IMAGE_SECTION_COUNT */
    uint64_t size;     /* of the whole image */
    uint8_t digest[32];
    struct {
        uint64_t offset, count;
    } section[IR_IMAGE_SECTION_COUNT];
};

#define IR_IMAGE_MAGIC "TOASTIR"
enum {
    IR_IMAGE_VERSION = 2,
    /* Ops and attributes nest at most this deep, so recursion over an image needs little stack. Above what
     * the reader lets pass (SCAN_DEPTH, 256), so that no image of its is refused. */
    IR_IMAGE_DEPTH = 600
};

/* one element of a dense constant, as stored; 0 when constants of this element type are kept as text */
uint32_t ir_element_storage(enum ir_element e);

#endif
