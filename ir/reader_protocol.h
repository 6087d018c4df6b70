/* What toast-read and ir_read (ir/read.c) say to each other.
 *
 * The child is started as `toast-read TEXT_BYTES MEMORY_BYTES CPU_SECONDS`, with the text in descriptor 3
 * (to be mapped) and an empty file for the answer as descriptor 4. It ends in one of five ways:
 *
 *     exit 0                  4 holds a program image (ir/image.h)
 *     exit READER_REFUSED     4 holds a struct reader_refusal: the text's fault
 *     exit READER_NO_MEMORY   address space ran out
 *     exit READER_HOST        the host refused what it needs beside the text (127: a library)
 *     anything else           a limit, a signal or a bug; 1 and 2 may hold what the libraries printed
 *
 * The parent believes nothing of it before checking. */
#ifndef TOAST_IR_READER_PROTOCOL_H
#define TOAST_IR_READER_PROTOCOL_H

#include <stdint.h>

enum { READER_TEXT_FD = 3, READER_ANSWER_FD = 4 };

/* Exit statuses. 6 is also what the command line ends with for a module that is refused (base/error.h). */
enum { READER_REFUSED = 6, READER_NO_MEMORY = 7, READER_HOST = 8, READER_NOT_LOADED = 127 };

struct reader_refusal {
    char magic[8]; /* "TOASTNO" */
    int32_t code;  /* enum error_code */
    int32_t line, column;
    char message[800];
};
#define READER_REFUSAL_MAGIC "TOASTNO"

#endif
