/* Reading text: a sandboxed child (`toast-read`, the only program that links MLIR) turns StableHLO text
 * into a program image; this side checks and maps it.
 *
 * The child is exec'd at once (no fork from threads: posix_spawn), reads the text from a descriptor, and
 * runs under RLIMIT_AS / CPU / FSIZE / NOFILE, no_new_privs and a seccomp filter; it writes the image to a
 * memfd. */
#ifndef TOAST_IR_READ_H
#define TOAST_IR_READ_H

#include "ir/program.h"

struct ir_read_limits {
    size_t text_bytes;    /* 0: 512 MiB */
    size_t memory_bytes;  /* of the child; 0: 512 MiB + 16 x text */
    unsigned cpu_seconds; /* 0: 60 + text / 1 MB */
};

/* Text (pretty or generic StableHLO, not compressed) -> program. Errors carry the user's line and column:
 * ERROR_INVALID_MODULE (not StableHLO text, undefined value, truncated, binary, nesting above 256 ..),
 * ERROR_UNSUPPORTED_MODULE (a dialect or construct that the reader refuses by name), ERROR_MODULE_TOO_LARGE,
 * ERROR_RESOURCE (a limit was hit), ERROR_INTERNAL (the child died or its image is damaged). Thread-safe. */
enum error_code ir_read(const char *text, size_t size, const struct ir_read_limits *limits,
                        struct ir_program *out, struct error *e) BASE_CHECKED;

/* Path of the child's program, for tests and unusual installations; default: beside the running program, then
 * $TOAST_READER. Call before threads exist. */
void ir_read_program(const char *path);

#endif
