/* What the tests of emission share: a module read, prepared, analysed and walked; its forms' texts. */
#ifndef TOAST_TESTS_EMIT_EMIT_SUPPORT_H
#define TOAST_TESTS_EMIT_EMIT_SUPPORT_H

#include "support.h"

#include "emit/emit.h"
#include "ir/attrs.h"
#include "ir/prepare.h"
#include "ir/print.h"
#include "ir/read.h"

#include <stdlib.h>
#include <string.h>

struct setup {
    struct ir_program read, prepared;
    struct nda *nda;
    struct mesh mesh;
    struct plan_context *context;
    struct plan plan;
    struct spmd_local local;
};

static inline void open_text(struct setup *setup, const char *text, const char *mesh)
{
    struct error e = {0};
    memset(setup, 0, sizeof *setup);
    ASSERT_OK(ir_read(text, strlen(text), NULL, &setup->read, &e), &e);
    ASSERT_OK(ir_prepare(&setup->read, &setup->prepared, &e), &e);
    ASSERT_OK(nda_create(&setup->prepared, NULL, &setup->nda, &e), &e);
    ASSERT_OK(mesh_parse(mesh, &setup->mesh, &e), &e);
    ASSERT_OK(plan_context_create(setup->nda, &setup->mesh, NULL, 0, &setup->context, &e), &e);
    plan_init(&setup->plan, setup->nda, &setup->mesh);
}

static inline void walk_with(struct setup *setup, const struct spmd_options *options)
{
    struct error e = {0};
    ASSERT_OK(spmd_walk(setup->context, &setup->plan, options, &setup->local, &e), &e);
    ASSERT_OK(spmd_local_check(&setup->local, &e), &e);
}

static inline void walk(struct setup *setup)
{
    struct spmd_options options = spmd_default_options(&setup->mesh);
    walk_with(setup, &options);
}

static inline void close_setup(struct setup *setup)
{
    spmd_local_release(&setup->local);
    plan_release(&setup->plan);
    plan_context_destroy(setup->context);
    nda_destroy(setup->nda);
    ir_program_release(&setup->prepared);
    ir_program_release(&setup->read);
}

/* the factor of the space of the op number `nth` with this code that holds dim of its operand (or result) */
static inline void shard_nth(struct setup *setup, enum ir_opcode code, uint32_t nth, bool result,
                             uint32_t which, uint32_t dim, uint32_t axis)
{
    const struct nda *n = setup->nda;
    for (uint32_t i = 0; i < n->space_count; i++) {
        const struct nda_space *space = &n->spaces[i];
        if (space->kind != NDA_SPACE_OP || setup->prepared.ops[space->op].code != code || nth-- > 0)
            continue;
        for (uint32_t k = 0; k < space->slot_count; k++) {
            const struct nda_slot *slot = &n->slots[space->slots + k];
            if (slot->is_result != result || slot->operand != which)
                continue;
            for (uint32_t a = 0; a < nda_atom_count(n, slot->value); a++)
                if (nda_atoms(n, slot->value)[a].dim == dim && n->factor_of[slot->map + a] != NDA_NO_FACTOR) {
                    assert_int_equal(
                        plan_apply_factor(setup->context, &setup->plan, i, n->factor_of[slot->map + a], axis),
                        1);
                    return;
                }
        }
    }
    fail_msg("no such factor");
}

/* .. of the first one */
static inline void shard(struct setup *setup, enum ir_opcode code, bool result, uint32_t which, uint32_t dim,
                         uint32_t axis)
{
    shard_nth(setup, code, 0, result, which, dim, axis);
}

static inline char *emit_text(const struct setup *setup, enum emit_output form)
{
    struct error e = {0};
    struct ir_program module = {0};
    struct text text = {0};
    ASSERT_OK(spmd_emit(setup->context, &setup->plan, &setup->local, form, &module, &e), &e);
    ASSERT_OK(ir_verify(&module, &e), &e);
    ir_print(&module, &text);
    ir_program_release(&module);
    return text.at;
}

static inline uint32_t occurrences(const char *text, const char *what)
{
    uint32_t n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at += strlen(what))
        n++;
    return n;
}

#define MAIN(arguments, results, body) "func.func @main(" arguments ") -> (" results ") {\n" body "\n}\n"

#endif
