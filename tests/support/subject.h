/* What tests and benchmarks begin from: a module read, prepared and analysed; then put on a mesh; then
 * priced on a device. The steps are separate so that a caller may change what one left (the machine, the
 * mesh) before the next. Each function fails with what failed in it; subject_close takes a zeroed subject
 * and one that was opened in part. */
#ifndef TOAST_TESTS_SUBJECT_H
#define TOAST_TESTS_SUBJECT_H

#include <stdlib.h>

#include "base/file.h"
#include "cost/price.h"
#include "ir/prepare.h"
#include "ir/read.h"

struct subject {
    struct ir_program read, program; /* as it was read; prepared */
    struct nda *nda;
    struct mesh mesh;
    struct plan_context *context;
    struct cost_machine machine;
    struct evaluator *evaluator;
};

/* zeroes *s; text is borrowed */
static inline enum error_code BASE_CHECKED subject_text(struct subject *s, const char *text, size_t size,
                                                        struct error *e)
{
    *s = (struct subject){0};
    TRY(ir_read(text, size, NULL, &s->read, e));
    TRY(ir_prepare(&s->read, &s->program, e));
    return nda_create(&s->program, NULL, &s->nda, e);
}

/* zeroes *s; a file, decompressed when it ends in .gz */
static inline enum error_code BASE_CHECKED subject_file(struct subject *s, const char *path, struct error *e)
{
    char *text;
    size_t size;
    *s = (struct subject){0};
    TRY(file_read(path, (size_t)1 << 30, &text, &size, e));
    enum error_code code = subject_text(s, text, size, e);
    free(text);
    return code;
}

/* the plans of a mesh (data=4,model=2), which take the place of another mesh's */
static inline enum error_code BASE_CHECKED subject_mesh(struct subject *s, const char *mesh, struct error *e)
{
    plan_context_destroy(s->context);
    s->context = NULL;
    TRY(mesh_parse(mesh, &s->mesh, e));
    return plan_context_create(s->nda, &s->mesh, NULL, 0, &s->context, e);
}

/* prices of plans of that mesh on s->machine, as the planner walks them */
static inline enum error_code BASE_CHECKED subject_evaluator(struct subject *s, struct error *e)
{
    struct spmd_options walk = spmd_default_options(&s->mesh);
    cost_axis_order(&s->machine, &s->mesh, walk.axis_order);
    evaluator_destroy(s->evaluator);
    s->evaluator = NULL;
    return evaluator_create(s->context, &s->machine, &walk, &s->evaluator, e);
}

/* the same on a device of the catalogue; memory_bytes 0: all it has */
static inline enum error_code BASE_CHECKED subject_device(struct subject *s, const char *device,
                                                          int64_t memory_bytes, struct error *e)
{
    TRY(cost_machine_create(&s->mesh, device, memory_bytes, &s->machine, e));
    return subject_evaluator(s, e);
}

static inline void subject_close(struct subject *s)
{
    evaluator_destroy(s->evaluator);
    plan_context_destroy(s->context);
    nda_destroy(s->nda);
    ir_program_release(&s->program);
    ir_program_release(&s->read);
}

#endif
