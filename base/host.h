/* What the host gives this process, and what it took away: the memory that may be used here (the cgroup's
 * limit, or the machine's), how many processes the kernel has ended for want of it, and which errors of
 * system calls are the host's and not the caller's. Thread-safe; reads /proc and /sys; never fails. */
#ifndef TOAST_BASE_HOST_H
#define TOAST_BASE_HOST_H

#include <stdbool.h>
#include <stdint.h>

/* errno of a call that fails for want of something that the host has for all (processes, memory,
 * descriptors, disk): what failed may succeed later or elsewhere */
bool host_fault(int error_number);

/* After a call on a connection that failed: when the kernel had no memory for it (ENOMEM, ENOBUFS), waits
 * 10 ms and returns true, to try again; false for other errors, and the hundredth time. *tries is 0 before
 * the first. */
bool host_pause(int error_number, int *tries);

/* Bytes that all processes of this cgroup may use together: the least limit on the way up from it (version 2
 * or 1), at most the machine's memory; 0 when nothing can be read. */
int64_t host_memory_bytes(void);

/* How often the out-of-memory killer has ended a process of this cgroup, or of the machine where no cgroup
 * can be read; -1 when neither can. Two values, before and after, tell whether a SIGKILL may be its. */
int64_t host_oom_kills(void);

#endif
