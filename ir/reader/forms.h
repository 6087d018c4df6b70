/* Between the files that read pretty forms without regions: forms.c (the table and the loop over a format),
 * form_types.c and form_attrs.c.
 *
 * All of them read at s->at and write the generic form: operands to s->operands, attributes to s->attrs,
 * types to s->out. Errors leave by s->escape (scan_fail), at the place in the user's text. */
#ifndef TOAST_IR_READER_FORMS_H
#define TOAST_IR_READER_FORMS_H

#include "ir/forms.h"
#include "ir/reader/rewrite.h"

/* ---- form_types.c */
/* reads the type of kind `:kind`, with its colon, and writes ` : (operands) -> results` */
void form_write_type(struct scan *scan, char kind);
/* `T, T, ..` as it is, at least one */
void form_type_list(struct scan *scan);
void form_result_type(struct scan *scan, struct span type);

/* ---- form_attrs.c: each appends one attribute, or two */
void form_attr_item(struct scan *scan, char kind, const struct ir_form_item *i); /* I N n E B S Y y G v */
void form_precisions(struct scan *scan);
void form_exponent_mantissa(struct scan *scan);
void form_direction(struct scan *scan);

#endif
