/* Reading text: a sandboxed child process (`toast-read`, the only program that links MLIR) turns StableHLO
 * text into a program image; this side checks and maps the image.
 *
 * A module comes from anywhere, and MLIR's parser is a large C++ program: a crash or a takeover in it must
 * cost one request at most. The child runs under limits of memory, processor time, file size and
 * descriptors, without new privileges and behind a seccomp filter (ir/reader/sandbox.h). It is started by
 * posix_spawn, so that threads of this process are not forked. */
#ifndef TOAST_IR_READ_H
#define TOAST_IR_READ_H

#include "ir/program.h"

/* Limits where the caller names none. Memory and time grow with the text, as MLIR's own objects do. */
enum {
    IR_READ_TEXT_BYTES = 512 << 20,
    IR_READ_MEMORY_BYTES = 512 << 20, /* of the child, for any text */
    IR_READ_MEMORY_FACTOR = 16,       /* and this much more a byte of text */
    IR_READ_CPU_SECONDS = 60          /* of the child, and one second more a MiB of text */
};

struct ir_read_limits { /* 0 in any of them: the limit above */
    size_t text_bytes;
    size_t memory_bytes;  /* of the child */
    unsigned cpu_seconds; /* of the child */
    /* NULL, or asked ten times a second: true ends the child, and ir_read gives ERROR_CANCELLED */
    bool (*cancelled)(void *user);
    void *user;
};

/* Text (pretty or generic StableHLO, not compressed; borrowed) -> program (owned, ir_program_release;
 * untouched on failure but for zeros). Errors carry line and column of the text where there are any:
 * ERROR_INVALID_MODULE        not StableHLO text, an undefined value, truncated, binary, nesting above 256 ..
 * ERROR_UNSUPPORTED_MODULE    a dialect or construct that the reader refuses by name
 * ERROR_MODULE_TOO_LARGE      the text, a name in it, or what its aliases expand to
 * ERROR_RESOURCE              the child reached a limit
 * ERROR_HOST                  the host had no process, memory or descriptor for it, or it was ended from
 *                             outside: the same text may be read later or elsewhere
 * ERROR_INTERNAL              the child died by its own fault, or its image is damaged
 * Thread-safe. */
enum error_code ir_read(const char *text, size_t size, const struct ir_read_limits *limits,
                        struct ir_program *out, struct error *e) BASE_CHECKED;

/* The same without looking at the image: *image is a descriptor of a file in memory (owned) that holds it,
 * unchecked, for whoever opens it (ir_image_open); -1 on failure. */
enum error_code ir_read_file(const char *text, size_t size, const struct ir_read_limits *limits, int *image,
                             struct error *e) BASE_CHECKED;

/* Maps and checks such a file; the descriptor stays the caller's. ERROR_INTERNAL: damaged; ERROR_HOST: no
 * memory to map it. */
enum error_code ir_read_map(int image, struct ir_program *out, struct error *e) BASE_CHECKED;

/* Path of the child's program (borrowed, must last), for tests and unusual installations. By default it is
 * looked for beside the running program, then in $TOAST_READER. Call before threads exist. */
void ir_read_program(const char *path);

#endif
