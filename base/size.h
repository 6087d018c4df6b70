/* Sizes as people write them: 1500000, 40GB, 37.5GiB. */
#ifndef TOAST_BASE_SIZE_H
#define TOAST_BASE_SIZE_H

#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes: digits, with a fraction where a unit follows, then B, KB, MB, GB, TB (powers of 1000), KiB, MiB,
 * GiB, TiB (of 1024), in any case, or nothing. What is left of a byte is dropped. False: it is no such size,
 * or more than 2^62. */
bool size_parse(const char *text, int64_t *bytes);
/* the same for an option; ERROR_USAGE says what it takes */
enum error_code size_option(const char *option, const char *text, int64_t *bytes,
                            struct error *e) BASE_CHECKED;

#endif
