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

static inline void model_mesh(struct model *m, const char *mesh)
{
    struct error e = {0};

    plan_context_destroy(m->context);
    m->context = NULL;
    ASSERT_OK(mesh_parse(mesh, &m->mesh, &e), &e);
    ASSERT_OK(plan_context_create(m->nda, &m->mesh, NULL, 0, &m->context, &e), &e);
}

static inline void model_text(struct model *m, const char *text, size_t size, const char *mesh)
{
    struct error e = {0};

    memset(m, 0, sizeof *m);
    ASSERT_OK(ir_read(text, size, NULL, &m->read, &e), &e);
    ASSERT_OK(ir_prepare(&m->read, &m->program, &e), &e);
    ASSERT_OK(nda_create(&m->program, NULL, &m->nda, &e), &e);
    model_mesh(m, mesh);
}

static inline void model_open(struct model *m, const char *name, const char *mesh)
{
    size_t size;
    char *path = mem_printf("%s%s", SUPPORT_MODELS, name), *text = support_read(path, &size);

    model_text(m, text, size, mesh);
    free(text);
    free(path);
}

static inline void model_close(struct model *m)
{
    spmd_local_release(&m->local);
    plan_context_destroy(m->context);
    nda_destroy(m->nda);
    ir_program_release(&m->program);
    ir_program_release(&m->read);
}

static inline void model_walk(struct model *m, const struct plan *p, const struct spmd_options *o)
{
    struct error e = {0};

    ASSERT_OK(spmd_walk(m->context, p, o, &m->local, &e), &e);
    if (spmd_local_check(&m->local, &e) != ERROR_OK)
        fail_msg("%s", e.message);
}

/* ops and bytes of one kind of collective, over all axes */
static inline int64_t model_count(const struct model *m, enum spmd_step_kind kind, int64_t *bytes)
{
    struct spmd_collective_sum sums[256];
    uint32_t n = spmd_collective_sums(&m->local, sums, 256);
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
static inline uint32_t model_group(const struct model *m, uint32_t argument, uint32_t dim)
{
    const struct nda *n = m->nda;
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
