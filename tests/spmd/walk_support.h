/* What the tests of the walk share: a model read, prepared and analysed, with a mesh; collectives counted. */
#ifndef TOAST_TESTS_SPMD_WALK_SUPPORT_H
#define TOAST_TESTS_SPMD_WALK_SUPPORT_H

#include "support.h"

#include "ir/prepare.h"
#include "ir/read.h"
#include "spmd/local.h"

#include <stdlib.h>
#include <string.h>

struct model {
    struct ir_program read, program;
    struct nda *nda;
    struct mesh mesh;
    struct plan_context *context;
    struct spmd_local local;
};

static inline void model_mesh(struct model *model, const char *mesh)
{
    struct error e = {0};

    plan_context_destroy(model->context);
    model->context = NULL;
    ASSERT_OK(mesh_parse(mesh, &model->mesh, &e), &e);
    ASSERT_OK(plan_context_create(model->nda, &model->mesh, NULL, 0, &model->context, &e), &e);
}

static inline void model_text(struct model *model, const char *text, size_t size, const char *mesh)
{
    struct error e = {0};

    memset(model, 0, sizeof *model);
    ASSERT_OK(ir_read(text, size, NULL, &model->read, &e), &e);
    ASSERT_OK(ir_prepare(&model->read, &model->program, &e), &e);
    ASSERT_OK(nda_create(&model->program, NULL, &model->nda, &e), &e);
    model_mesh(model, mesh);
}

static inline void model_open(struct model *model, const char *name, const char *mesh)
{
    size_t size;
    char *path = mem_printf("%s%s", SUPPORT_MODELS, name), *text = support_read(path, &size);

    model_text(model, text, size, mesh);
    free(text);
    free(path);
}

static inline void model_close(struct model *model)
{
    spmd_local_release(&model->local);
    plan_context_destroy(model->context);
    nda_destroy(model->nda);
    ir_program_release(&model->program);
    ir_program_release(&model->read);
}

static inline void model_walk(struct model *model, const struct plan *plan,
                              const struct spmd_options *options)
{
    struct error e = {0};

    ASSERT_OK(spmd_walk(model->context, plan, options, &model->local, &e), &e);
    if (spmd_local_check(&model->local, &e) != ERROR_OK)
        fail_msg("%s", e.message);
}

/* ops and bytes of one kind of collective, over all axes */
static inline int64_t model_count(const struct model *model, enum spmd_step_kind kind, int64_t *bytes)
{
    struct spmd_collective_sum sums[256];
    uint32_t n = spmd_collective_sums(&model->local, sums, 256);
    int64_t count = 0;

    if (bytes)
        *bytes = 0;
    for (uint32_t i = 0; i < n; i++)
        if (sums[i].kind == kind) {
            count += sums[i].count;
            if (bytes)
                *bytes += sums[i].bytes;
        }
    return count;
}

/* the group with an argument's dimension in it */
static inline uint32_t model_group(const struct model *model, uint32_t argument, uint32_t dim)
{
    const struct nda *n = model->nda;
    uint32_t value = n->arguments[argument].value;
    const struct nda_space *space = &n->spaces[n->arguments[argument].space];
    const uint8_t *map = n->factor_of + n->slots[space->slots].map;

    for (uint32_t i = 0; i < nda_atom_count(n, value); i++)
        if (nda_atoms(n, value)[i].dim == dim)
            return n->colors[n->factors[space->factors + map[i]].color].group;
    fail_msg("argument %u has no atom in dimension %u", argument, dim);
    return 0;
}

#endif
