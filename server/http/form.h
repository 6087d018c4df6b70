/* Fields of HTML forms (application/x-www-form-urlencoded; WHATWG URL, section 5). */
#ifndef TOAST_SERVER_FORM_H
#define TOAST_SERVER_FORM_H

#include <stdbool.h>
#include <stddef.h>

bool form_is_type(const char *content_type);
/* the first field of this name, decoded (owned); NULL: absent, a damaged escape or a NUL in it */
char *form_field(const char *body, size_t size, const char *name);

#endif
