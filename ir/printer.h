/* Inside printing (print.h): what print.c, which prints programs and attributes, shares with
 * print_location.c. */
#ifndef TOAST_IR_PRINTER_H
#define TOAST_IR_PRINTER_H

#include "ir/print.h"

struct printer {
    const struct ir_program *program;
    struct text *out;
    uint32_t *numbers; /* by value: number of its op or of the argument */
    uint32_t next, next_label;
    /* of locations: does the program have any; by location its alias' number, 0: none; those up to
     * aliases_before are defined before the module */
    bool located;
    uint32_t *aliases, aliases_before;
};

/* ---- print_location.c */
void printer_locations_begin(struct printer *printer); /* numbers the aliases */
void printer_locations_end(struct printer *printer);
/* ` loc(..)` of an op; nothing in a program without any */
void printer_location(struct printer *printer, uint32_t location);
/* the same of a block argument */
void printer_value_location(struct printer *printer, uint32_t value);
void printer_location_definitions(struct printer *printer, bool before);

#endif
