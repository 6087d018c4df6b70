/* What tests share: the source tree's and the programs' folders, files, scratch folders, seeds. */
#ifndef TOAST_TESTS_SUPPORT_H
#define TOAST_TESTS_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"

#define SUPPORT_MODELS TOAST_SOURCE_DIR "/tests/models/"

/* fails the test with the error's text when code is not ok */
#define ASSERT_OK(code, e)                                                                                   \
    do {                                                                                                     \
        enum error_code code_ = (code);                                                                      \
        if (code_ != ERROR_OK)                                                                               \
            fail_msg("%s:%d: %s (line %d column %d %s)", error_code_text(code_), __LINE__, (e)->message,     \
                     (e)->line, (e)->column, (e)->pointer);                                                  \
    } while (0)

/* a file of the source tree, decompressed; owned; fails the test when it cannot be read */
char *support_read(const char *path, size_t *size);
/* a fresh folder under $TMPDIR, removed at exit; owned */
char *support_scratch(void);
/* $TOAST_SEED or the default; printed once so that a failure can be replayed */
uint64_t support_seed(uint64_t standard);

#endif
