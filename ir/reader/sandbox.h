/* What the reader gives up before it looks at the text. */
#ifndef TOAST_IR_READER_SANDBOX_H
#define TOAST_IR_READER_SANDBOX_H

#include <stddef.h>

/* Limits of memory (0: none), processor time, file size and descriptors; no new privileges; a seccomp
 * filter that leaves memory, the two open descriptors and the exit: any other system call ends the
 * process. 0, or -1. */
int sandbox_enter(size_t memory_bytes, unsigned cpu_seconds);

#endif
