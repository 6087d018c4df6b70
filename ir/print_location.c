/* Locations in printed text: each that is used gets an alias, `#loc7 = loc("mul"(#loc3))`, so that the text
 * grows by some bytes an op however deep its stack of calls is. MLIR wants the aliases of block arguments
 * defined before the module; the others stand behind it, as MLIR's own printer has them. Aliases are numbered
 * in the order of their definitions, parts before what they are part of. */
#include "ir/printer.h"

#include <stdlib.h>

/* where an alias is defined */
enum { NOWHERE, BEHIND, BEFORE };

static bool stands_inline(const struct ir_location *location)
{
    return location->kind == IR_LOCATION_NAME && !location->count;
}

/* parts come before what they are part of: one pass from the end reaches all */
static void mark_parts(const struct ir_program *program, uint8_t *where)
{
    for (uint32_t i = program->location_count; i-- > 1;)
        for (uint32_t k = 0; k < program->locations[i].count && where[i]; k++) {
            uint8_t *part = &where[program->location_parts[program->locations[i].first + k]];
            if (*part < where[i])
                *part = where[i];
        }
}

void printer_locations_begin(struct printer *printer)
{
    const struct ir_program *program = printer->program;
    uint8_t *where = mem_zalloc(program->location_count + 1, 1);
    for (uint32_t i = 0; i < program->op_count; i++) {
        where[program->ops[i].loc] = BEHIND;
        printer->located |= program->ops[i].loc != 0;
    }
    for (uint32_t i = 0; i < program->value_location_count; i++) {
        uint32_t loc = program->value_locations[i].loc;
        printer->located |= loc != 0;
        if (loc && !stands_inline(&program->locations[loc]))
            where[loc] = BEFORE;
    }
    mark_parts(program, where);
    printer->aliases = mem_zalloc(program->location_count + 1, sizeof *printer->aliases);
    uint32_t next = 0;
    for (unsigned pass = BEFORE; pass > NOWHERE; pass--) {
        for (uint32_t i = 1; i < program->location_count; i++)
            if (where[i] == pass)
                printer->aliases[i] = ++next;
        if (pass == BEFORE)
            printer->aliases_before = next;
    }
    free(where);
}

void printer_locations_end(struct printer *printer)
{
    free(printer->aliases);
}

static void reference(struct printer *printer, uint32_t location)
{
    if (!location)
        text_add(printer->out, "unknown");
    else
        text_printf(printer->out, "#loc%u", printer->aliases[location]);
}

static void name(struct printer *printer, const struct ir_location *location)
{
    text_add_char(printer->out, '"');
    text_add(printer->out, ir_string(printer->program, location->text));
    text_add_char(printer->out, '"');
}

static void parts(struct printer *printer, const struct ir_location *location, const char *between)
{
    for (uint32_t i = 0; i < location->count; i++) {
        text_add(printer->out, i ? between : "");
        reference(printer, printer->program->location_parts[location->first + i]);
    }
}

static void file(struct printer *printer, const struct ir_location *location)
{
    name(printer, location);
    text_printf(printer->out, ":%u:%u", location->line, location->column);
    if (location->end_line && location->end_line != location->line)
        text_printf(printer->out, " to %u:%u", location->end_line, location->end_column);
    else if (location->end_line)
        text_printf(printer->out, " to :%u", location->end_column);
}

static void whole(struct printer *printer, const struct ir_location *location)
{
    switch ((enum ir_location_kind)location->kind) {
    case IR_LOCATION_UNKNOWN: text_add(printer->out, "unknown"); break;
    case IR_LOCATION_FILE: file(printer, location); break;
    case IR_LOCATION_NAME:
        name(printer, location);
        text_add(printer->out, location->count ? "(" : "");
        parts(printer, location, "");
        text_add(printer->out, location->count ? ")" : "");
        break;
    case IR_LOCATION_CALLSITE:
        text_add(printer->out, "callsite(");
        parts(printer, location, " at ");
        text_add_char(printer->out, ')');
        break;
    case IR_LOCATION_FUSED:
        text_add(printer->out, "fused");
        if (location->text != IR_NONE)
            text_printf(printer->out, "<%s>", ir_string(printer->program, location->text));
        text_add_char(printer->out, '[');
        parts(printer, location, ", ");
        text_add_char(printer->out, ']');
        break;
    }
}

void printer_location(struct printer *printer, uint32_t location)
{
    if (!printer->located)
        return;
    text_add(printer->out, " loc(");
    reference(printer, location);
    text_add_char(printer->out, ')');
}

void printer_value_location(struct printer *printer, uint32_t value)
{
    if (!printer->located)
        return;
    uint32_t location = ir_value_loc(printer->program, value);
    text_add(printer->out, " loc(");
    if (stands_inline(&printer->program->locations[location]))
        whole(printer, &printer->program->locations[location]);
    else
        reference(printer, location);
    text_add_char(printer->out, ')');
}

void printer_location_definitions(struct printer *printer, bool before)
{
    for (uint32_t i = 1; i < printer->program->location_count; i++) {
        uint32_t alias = printer->aliases[i];
        if (!alias || (alias <= printer->aliases_before) != before)
            continue;
        text_printf(printer->out, "#loc%u = loc(", alias);
        whole(printer, &printer->program->locations[i]);
        text_add(printer->out, ")\n");
    }
}
