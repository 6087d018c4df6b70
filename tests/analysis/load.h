/* What the tests of the analysis share: a module of the source tree, read, prepared and analysed; golden
 * files. */
#ifndef TOAST_TESTS_ANALYSIS_LOAD_H
#define TOAST_TESTS_ANALYSIS_LOAD_H

#include "subject.h"
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void load_text(struct subject *subject, const char *text, size_t size)
{
    struct error e = {0};
    ASSERT_OK(subject_text(subject, text, size, &e), &e);
}

/* path below the source tree */
static inline void load(struct subject *subject, const char *path)
{
    struct error e = {0};
    char *full = mem_printf("%s/%s", TOAST_SOURCE_DIR, path);
    ASSERT_OK(subject_file(subject, full, &e), &e);
    free(full);
}

static inline struct plan_context *context(const struct subject *subject, const char *mesh_text)
{
    struct error e = {0};
    struct mesh mesh;
    struct plan_context *context = NULL;
    ASSERT_OK(mesh_parse(mesh_text, &mesh, &e), &e);
    ASSERT_OK(plan_context_create(subject->nda, &mesh, NULL, 0, &context, &e), &e);
    return context;
}

/* compares with tests/analysis/golden/NAME; TOAST_GOLDEN=accept writes it instead */
static inline void assert_golden(const char *name, const struct text *text)
{
    char *path = mem_printf("%s/tests/analysis/golden/%s", TOAST_SOURCE_DIR, name), *want;
    const char *mode = getenv("TOAST_GOLDEN");
    struct error e = {0};
    size_t size;
    if (mode && strcmp(mode, "accept") == 0) {
        ASSERT_OK(file_write(path, text->at, text->size, &e), &e);
    } else {
        want = support_read(path, &size);
        if (size != text->size || memcmp(want, text->at, size) != 0) {
            size_t at = 0, line = 1;
            for (; at < size && at < text->size && want[at] == text->at[at]; at++)
                line += want[at] == '\n';
            fail_msg(
                "%s differs from line %zu on; scripts/golden --accept writes it anew (review the difference)",
                name, line);
        }
        free(want);
    }
    free(path);
}

/* the color of an argument's atom */
static inline uint32_t argument_color(const struct nda *n, uint32_t argument, uint32_t atom)
{
    return n->factors[nda_slot_factor(n, n->spaces[n->arguments[argument].space].slots, atom)].color;
}

/* the group of an argument's dimension that is one atom */
static inline uint32_t group_of_dimension(const struct nda *n, uint32_t argument, uint32_t dim)
{
    uint32_t factor = nda_slot_factor(n, n->spaces[n->arguments[argument].space].slots, dim);
    return n->colors[n->factors[factor].color].group;
}

#endif
