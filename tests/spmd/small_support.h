/* What the tests of small programs share: opened, one dimension sharded, random plans proved by
 * interpretation. */
#ifndef TOAST_TESTS_SPMD_SMALL_SUPPORT_H
#define TOAST_TESTS_SPMD_SMALL_SUPPORT_H

#include "walk_support.h"

#include "emit/emit.h"
#include "verify/prove.h"

struct small_program {
    const char *name, *text;
};

static inline void open_small(struct model *model, const char *text, const char *mesh)
{
    model_text(model, text, strlen(text), mesh);
}

/* shards dimension `dim` of argument `argument`, and all that is named with it, over an axis */
static inline void shard(struct model *model, struct plan *plan, uint32_t argument, uint32_t dim,
                         uint8_t axis)
{
    struct plan_decision decision = {
        .group = model_group(model, argument, dim), .axis = axis, .scope = PLAN_SCOPE_ALL};

    assert_true(plan_apply(model->context, plan, decision) > 0);
}

static inline const struct spmd_step *only_step(const struct model *model, enum spmd_step_kind kind)
{
    const struct spmd_step *found = NULL;

    for (uint32_t i = 0; i < model->local.step_count; i++)
        if (model->local.steps[i].kind == kind) {
            assert_null(found);
            found = &model->local.steps[i];
        }
    assert_non_null(found);
    return found;
}

static inline int64_t count(const struct model *model, enum spmd_step_kind kind)
{
    int64_t n = 0;

    for (uint32_t i = 0; i < model->local.step_count; i++)
        n += model->local.steps[i].kind == kind;
    return n;
}

static inline void prove_random(struct model *model, const struct verify_reference *ref, const char *name,
                                uint64_t seed)
{
    struct error e = {0};
    struct plan plan = {0};
    struct rng rng = {seed};
    struct ir_program out = {0};
    struct verify_report report = {0};
    struct verify_options vo = {0};
    struct spmd_options options = spmd_default_options(&model->mesh);

    plan_init(&plan, model->nda, &model->mesh);
    plan_random(model->context, &rng, &plan);
    options.gather_everything = seed % 10 == 9;
    model_walk(model, &plan, &options);
    ASSERT_OK(spmd_emit(model->context, &plan, &model->local, EMIT_MANUAL, &out, &e), &e);
    ASSERT_OK(verify_prove(ref, &out, NULL, &vo, &report, &e), &e);
    if (report.status != VERIFY_PROOF_EQUAL) {
        struct text text = {0};
        spmd_local_text(&model->local, &text);
        fail_msg("%s, plan %llu: %s\n%s", name, (unsigned long long)seed, report.reason, text.at);
    }
    ir_program_release(&out);
    plan_release(&plan);
}

/* 20 random plans of each on three meshes */
static inline void prove_all(const struct small_program *programs, size_t program_count)
{
    static const char *const meshes[] = {"a=8", "a=4,b=2", "a=2,b=2,c=2"};

    for (size_t i = 0; i < program_count; i++) {
        struct model model;
        struct error e = {0};
        struct verify_reference *ref = NULL;
        struct verify_options vo = {0};
        open_small(&model, programs[i].text, meshes[0]);
        ASSERT_OK(verify_reference_create(&model.program, 5, &vo, &ref, &e), &e);
        for (size_t k = 0; k < 3; k++) {
            if (k) {
                spmd_local_release(&model.local);
                model_mesh(&model, meshes[k]);
            }
            for (uint64_t seed = 1; seed <= 20; seed++)
                prove_random(&model, ref, programs[i].name, seed);
        }
        verify_reference_destroy(ref);
        model_close(&model);
    }
}

#endif
