/* Giving up what a process that looks at a client's bytes has no need of: files, connections, other
 * processes, new privileges. What remains is memory, the descriptors that it holds, and the exit. Linux only.
 *
 * Files are closed twice: by Landlock where the kernel has it, and by the filter of system calls, which the
 * kernel must have. Under sanitizers, whose runtimes open files, only privileges are given up. */
#ifndef TOAST_BASE_CONFINE_H
#define TOAST_BASE_CONFINE_H

#include <stdbool.h>

/* No new privileges, no core file, and no file or TCP connection by Landlock where there is one (else
 * *landlocked, which may be NULL, is false). Holds for this thread and those that it makes from now on. 0, or
 * -1 when the kernel refuses. */
int confine_files(bool *landlocked);

/* Whether the kernel has Landlock, so that files are closed twice. */
bool confine_landlock(void);

/* The filter, for all threads of the process: a call that it does not know ends the process with SIGSYS, and
 * opening a file fails with EACCES. It allows memory without PROT_EXEC, reading and writing descriptors,
 * passing them on sockets that are open, files in memory, waiting, and signals to itself; no thread or
 * process can be made any more. Call confine_files before. 0, or -1. */
int confine_calls(void);

#endif
