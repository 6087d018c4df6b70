/* A fuzz target is one file fuzz_<name>.c with LLVMFuzzerTestOneInput (and perhaps LLVMFuzzerInitialize).
 *
 * With the preset `fuzz` (clang) libFuzzer drives it; in every other build replay.c does, as a ctest: over
 * the corpus in corpus/<name> and seeded damaged copies of it. A finding is a crash, a sanitizer's report, a
 * FUZZ_CHECK or a hang. */
#ifndef TOAST_TESTS_FUZZ_H
#define TOAST_TESTS_FUZZ_H

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define FUZZ_CHECK(x) ((x) ? (void)0 : fuzz_failed(__FILE__, __LINE__, #x))
static inline void fuzz_failed(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: does not hold: %s\n", file, line, what);
    abort();
}

/* Every refusal says what is wrong, and where it says where, the place lies in the text. */
static inline void fuzz_check_error(enum error_code code, const struct error *e, const uint8_t *text,
                                    size_t size)
{
    int lines = 1;
    if (code == ERROR_OK)
        return;
    FUZZ_CHECK(e->code == code && e->message[0]);
    FUZZ_CHECK(memchr(e->message, 0, sizeof e->message) && memchr(e->pointer, 0, sizeof e->pointer));
    for (size_t i = 0; i < size; i++)
        lines += text[i] == '\n';
    FUZZ_CHECK(e->line >= 0 && e->line <= lines && e->column >= 0 && (size_t)e->column <= size + 1);
}

/* Writes bytes to $TOAST_FUZZ_SEEDS/<name> when that is set: what a target needs to begin from
 * (scripts/fuzz). */
static inline void fuzz_seed(const char *name, const void *bytes, size_t size)
{
    const char *folder = getenv("TOAST_FUZZ_SEEDS");
    struct error e = {0};
    if (!folder)
        return;
    char *path = mem_printf("%s/%s", folder, name);
    FUZZ_CHECK(file_write(path, bytes, size, &e) == ERROR_OK);
    free(path);
}

/* a file of the source tree; owned */
static inline char *fuzz_read(const char *path, size_t *size)
{
    char *full = mem_printf("%s/%s", TOAST_SOURCE_DIR, path), *text = NULL;
    FILE *file = fopen(full, "rb");
    FUZZ_CHECK(file && fseek(file, 0, SEEK_END) == 0);
    *size = (size_t)ftell(file);
    FUZZ_CHECK(fseek(file, 0, SEEK_SET) == 0);
    text = mem_alloc(*size + 1);
    FUZZ_CHECK(fread(text, 1, *size, file) == *size);
    text[*size] = 0;
    fclose(file);
    free(full);
    return text;
}

#endif
