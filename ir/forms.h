/* Pretty forms that have no region, as a table (forms.def), and the parts of a format that take more than one
 * character. The reader (ir/reader/forms.c) and the printer (print_form.c) walk the same formats. */
#ifndef TOAST_IR_FORMS_H
#define TOAST_IR_FORMS_H

/* `{attr|second|third}` of a format: the attribute's name, and what is written around or before its value */
struct ir_form_item {
    char attr[40], second[40], third[4]; /* the longest in the table have 20, 27 and 1 characters */
};

/* The format of an op by its full name ("stablehlo.add"); NULL: it has no pretty form, or one with
 * regions. */
const char *ir_form_find(const char *name);
/* `format` is at a quote: the word up to the next quote, which is returned */
const char *ir_form_keyword(const char *format, char word[32]);
/* `format` is at a brace: fills the item and returns the place of the closing brace */
const char *ir_form_braces(const char *format, struct ir_form_item *item);

#endif
