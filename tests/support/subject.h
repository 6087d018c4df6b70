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

/* zeroes *subject; text is borrowed */
static inline enum error_code BASE_CHECKED subject_text(struct subject *subject, const char *text,
                                                        size_t size, struct error *e)
{
    *subject = (struct subject){0};
    TRY(ir_read(text, size, NULL, &subject->read, e));
    TRY(ir_prepare(&subject->read, &subject->program, e));
    return nda_create(&subject->program, NULL, &subject->nda, e);
}

/* zeroes *subject; a file, decompressed when it ends in .gz */
static inline enum error_code BASE_CHECKED subject_file(struct subject *subject, const char *path,
                                                        struct error *e)
{
    char *text;
    size_t size;
    *subject = (struct subject){0};
    TRY(file_read(path, (size_t)1 << 30, &text, &size, e));
    enum error_code code = subject_text(subject, text, size, e);
    free(text);
    return code;
}

/* the plans of a mesh (data=4,model=2), which take the place of another mesh's */
static inline enum error_code BASE_CHECKED subject_mesh(struct subject *subject, const char *mesh,
                                                        struct error *e)
{
    plan_context_destroy(subject->context);
    subject->context = NULL;
    TRY(mesh_parse(mesh, &subject->mesh, e));
    return plan_context_create(subject->nda, &subject->mesh, NULL, 0, &subject->context, e);
}

/* prices of plans of that mesh on s->machine, as the planner walks them */
static inline enum error_code BASE_CHECKED subject_evaluator(struct subject *subject, struct error *e)
{
    struct spmd_options walk = spmd_default_options(&subject->mesh);
    cost_walk_options(&subject->machine, &subject->mesh, &walk);
    evaluator_destroy(subject->evaluator);
    subject->evaluator = NULL;
    return evaluator_create(subject->context, &subject->machine, &walk, &subject->evaluator, e);
}

/* the same on a device of the catalogue; memory_bytes 0: all it has */
static inline enum error_code BASE_CHECKED subject_device(struct subject *subject, const char *device,
                                                          int64_t memory_bytes, struct error *e)
{
    TRY(cost_machine_create(&subject->mesh, device, memory_bytes, &subject->machine, e));
    return subject_evaluator(subject, e);
}

static inline void subject_close(struct subject *subject)
{
    evaluator_destroy(subject->evaluator);
    plan_context_destroy(subject->context);
    nda_destroy(subject->nda);
    ir_program_release(&subject->program);
    ir_program_release(&subject->read);
}

#endif
