/* How the reader's process ended when it left no answer, judged by evidence: a limit's verdict only where the
 * limit was reached, the reader's own fault only for what a process does to itself; anything else was done to
 * it by its host, and the same text may be read again. */
#ifndef TOAST_IR_READER_DEATH_H
#define TOAST_IR_READER_DEATH_H

#include "base/error.h"

#include <stddef.h>

struct reader_death {
    int status;           /* as wait4 gives it */
    double cpu_s;         /* processor time that it used */
    long long peak_bytes; /* of its resident memory */
    bool oom_killed;      /* the out-of-memory killer struck here while it ran */
    unsigned cpu_seconds; /* the limits that it was given */
    size_t memory_bytes;
    const char *tail; /* the end of what it printed; borrowed */
};

/* Fills *e and returns the code, never ERROR_OK:
 * ERROR_RESOURCE  a limit was reached
 * ERROR_INTERNAL  its own fault: a crash, a forbidden system call, an unknown exit status
 * ERROR_HOST      ended from outside: the out-of-memory killer, a signal that nobody here sent */
enum error_code reader_death_judge(const struct reader_death *death, struct error *e);

#endif
