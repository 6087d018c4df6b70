/* An ended job's fields as one JSON object of strings, which is what the archive keeps of it in the store. */
#ifndef TOAST_API_ARCHIVE_H
#define TOAST_API_ARCHIVE_H

#include "base/error.h"

#include <stddef.h>

struct api_archive_field {
    char *name, *value; /* texts; owned after a parse, borrowed for writing */
};

/* owned text; equal fields in any order give equal bytes. Bytes that are not UTF-8 become '?'. */
char *api_archive_json(const struct api_archive_field *fields, size_t count);
/* *fields owned (each name, each value, the array). ERROR_INTERNAL: not such an object. */
enum error_code api_archive_parse(const char *json, size_t size, struct api_archive_field **fields,
                                  size_t *count, struct error *e) BASE_CHECKED;

#endif
