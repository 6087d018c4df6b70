/* What the reader process gives up before it looks at the text. Linux only. */
#ifndef TOAST_IR_READER_SANDBOX_H
#define TOAST_IR_READER_SANDBOX_H

#include <stddef.h>

/* Sets limits of memory (bytes; 0: none), processor time, file size and descriptors, gives up new
 * privileges, and loads a seccomp filter that leaves memory, writing to open descriptors and the exit: any
 * other system call ends the process. Under sanitizers the memory limit and the filter are left out. 0, or
 * -1 when the kernel refuses. */
int sandbox_enter(size_t memory_bytes, unsigned cpu_seconds);

#endif
