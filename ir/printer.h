/* Inside printing (print.h): what print.c, which prints programs, types and attributes, shares with
 * print_location.c, print_form.c and print_special.c. */
#ifndef TOAST_IR_PRINTER_H
#define TOAST_IR_PRINTER_H

#include "ir/print.h"

struct printer {
    const struct ir_program *program;
    struct text *out;
    uint32_t *numbers; /* by value: number of its op or of the argument */
    uint32_t next, next_label;
    bool pretty;
    uint32_t next_argument;          /* in pretty form: arguments are numbered by themselves */
    const char *formats[IR_OPCODES]; /* of pretty forms, looked up once (print_form.c) */
    bool formats_known[IR_OPCODES];
    /* of locations: does the program have any; by location its alias' number, 0: none; those up to
     * aliases_before are defined before the module */
    bool located;
    uint32_t *aliases, aliases_before;
};

/* An op of more attributes than this is printed in generic form. */
enum { PRINTER_ATTRS = 64 };

/* ---- print.c */
void printer_indent(struct printer *printer, unsigned depth);
void printer_value(struct printer *printer, uint32_t value);
void printer_type(struct printer *printer, uint32_t value);              /* a value's */
void printer_operands(struct printer *printer, const struct ir_op *op);  /* `%0, %1` */
void printer_signature(struct printer *printer, const struct ir_op *op); /* ` : (T, U) -> V` */
/* `@name` */
void printer_symbol(struct printer *printer, uint32_t string);
/* ` {..}`, or ` word {..}`, of the op's attributes whose bit is not in `used`; nothing when there is none */
void printer_dictionary(struct printer *printer, const struct ir_op *op, uint64_t used, const char *word);
/* an index in 0 .. attr_count - 1, or IR_NONE */
uint32_t printer_attr(const struct printer *printer, const struct ir_op *op, const char *name);
void printer_number_arguments(struct printer *printer, uint32_t block);
void printer_ops(struct printer *printer, uint32_t block, unsigned depth);

/* ---- print_form.c: an op without regions from its name to its type. false: it has no pretty form or cannot
 * be said in it, and nothing was printed. */
bool printer_form(struct printer *printer, uint32_t op);

/* ---- print_special.c: the same of module, func.func, while, reduce and manual_computation */
bool printer_special(struct printer *printer, uint32_t op, unsigned depth);

/* ---- print_location.c */
void printer_locations_begin(struct printer *printer); /* numbers the aliases */
void printer_locations_end(struct printer *printer);
/* ` loc(..)` of an op; nothing in a program without any */
void printer_location(struct printer *printer, uint32_t location);
/* the same of a block argument */
void printer_value_location(struct printer *printer, uint32_t value);
void printer_location_definitions(struct printer *printer, bool before);

#endif
