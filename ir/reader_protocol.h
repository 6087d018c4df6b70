/* What toast-read and ir_read say to each other.
 *
 * The child is started as `toast-read TEXT_BYTES MEMORY_BYTES CPU_SECONDS` with descriptors 3 (the text,
 * to be mapped) and 4 (an empty file for the answer). It exits with 0 and a program image in 4, or with
 * READER_REFUSED and a struct reader_refusal there. Anything else is its death. */
#ifndef TOAST_IR_READER_PROTOCOL_H
#define TOAST_IR_READER_PROTOCOL_H

#include <stdint.h>

enum { READER_TEXT_FD = 3, READER_ANSWER_FD = 4, READER_REFUSED = 6, READER_NO_MEMORY = 7 };

struct reader_refusal {
    char magic[8]; /* "TOASTNO" */
    int32_t code;  /* enum error_code */
    int32_t line, column;
    char message[800];
};
#define READER_REFUSAL_MAGIC "TOASTNO"

#endif
