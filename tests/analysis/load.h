/* What the tests of the analysis share: a module of the source tree, read, prepared and analysed; golden
 * files. */
#ifndef TOAST_TESTS_ANALYSIS_LOAD_H
#define TOAST_TESTS_ANALYSIS_LOAD_H

#include "subject.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void load_text(struct subject *l, const char *text, size_t size)
{
    struct error e = {0};
    ASSERT_OK(subject_text(l, text, size, &e), &e);
}

/* path below the source tree */
static inline void load(struct subject *l, const char *path)
{
    struct error e = {0};
    char *full = mem_printf("%s/%s", TOAST_SOURCE_DIR, path);
    ASSERT_OK(subject_file(l, full, &e), &e);
    free(full);
}

static inline struct plan_context *context(const struct subject *l, const char *mesh_text)
{
    struct error e = {0};
    struct mesh mesh;
    struct plan_context *c = NULL;
    ASSERT_OK(mesh_parse(mesh_text, &mesh, &e), &e);
    ASSERT_OK(plan_context_create(l->nda, &mesh, NULL, 0, &c, &e), &e);
    return c;
}

/* compares with tests/analysis/golden/NAME; TOAST_GOLDEN=accept writes it instead */
static inline void assert_golden(const char *name, const struct text *t)
{
    char *path = mem_printf("%s/tests/analysis/golden/%s", TOAST_SOURCE_DIR, name), *want;
    const char *mode = getenv("TOAST_GOLDEN");
    struct error e = {0};
    size_t size;
    if (mode && strcmp(mode, "accept") == 0) {
        ASSERT_OK(file_write(path, t->at, t->size, &e), &e);
    } else {
        want = support_read(path, &size);
        if (size != t->size || memcmp(want, t->at, size) != 0) {
            size_t at = 0, line = 1;
            for (; at < size && at < t->size && want[at] == t->at[at]; at++)
                line += want[at] == '\n';
            fail_msg(
                "%s differs from line %zu on; scripts/golden --accept writes it anew (review the difference)",
                name, line);
        }
        free(want);
    }
    free(path);
}

#endif
