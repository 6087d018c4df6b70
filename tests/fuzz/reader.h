/* What the targets share that read modules through the sandboxed reader, which is no part of the target:
 * $TOAST_READER, or the build's own. */
#ifndef TOAST_TESTS_FUZZ_READER_H
#define TOAST_TESTS_FUZZ_READER_H

#include "fuzz.h"

#include "ir/read.h"

static inline void fuzz_reader(void)
{
    const char *reader = getenv("TOAST_READER");
    ir_read_program(reader ? reader : TOAST_BINARY_DIR "/toast-read");
}

/* the program of a text; initialises *out */
static inline void fuzz_program(const char *text, size_t size, struct ir_program *out)
{
    struct error e = {0};
    enum error_code code = ir_read(text, size, NULL, out, &e);
    if (code != ERROR_OK)
        fprintf(stderr, "%.*s\n%s\n", (int)size, text, e.message);
    FUZZ_CHECK(code == ERROR_OK);
}

/* the small module on which targets try plans: tests/models/mlp.mlir */
static inline void fuzz_model(struct ir_program *out)
{
    size_t size;
    char *text = fuzz_read("tests/models/mlp.mlir", &size);
    fuzz_reader();
    fuzz_program(text, size, out);
    free(text);
}

#endif
