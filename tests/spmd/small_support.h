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

static inline void open_small(struct model *m, const char *text, const char *mesh)
{
    model_text(m, text, strlen(text), mesh);
}

/* shards dimension `dim` of argument `argument`, and all that is named with it, over an axis */
static inline void shard(struct model *m, struct plan *p, uint32_t argument, uint32_t dim, uint8_t axis)
{
    struct plan_decision d = {.group = model_group(m, argument, dim), .axis = axis, .scope = PLAN_SCOPE_ALL};

    assert_true(plan_apply(m->context, p, d) > 0);
}

static inline const struct spmd_step *only_step(const struct model *m, enum spmd_step_kind kind)
{
    const struct spmd_step *found = NULL;

    for (uint32_t i = 0; i < m->local.step_count; i++)
        if (m->local.steps[i].kind == kind) {
            assert_null(found);
            found = &m->local.steps[i];
        }
    assert_non_null(found);
    return found;
}

static inline int64_t count(const struct model *m, enum spmd_step_kind kind)
{
    int64_t n = 0;

    for (uint32_t i = 0; i < m->local.step_count; i++)
        n += m->local.steps[i].kind == kind;
    return n;
}

static inline void prove_random(struct model *m, const struct verify_reference *ref, const char *name,
                                uint64_t seed)
{
    struct error e = {0};
    struct plan p = {0};
    struct rng r = {seed};
    struct ir_program out = {0};
    struct verify_report report = {0};
    struct verify_options vo = {0};
    struct spmd_options o = spmd_default_options(&m->mesh);

    plan_init(&p, m->nda, &m->mesh);
    plan_random(m->context, &r, &p);
    o.gather_everything = seed % 10 == 9;
    model_walk(m, &p, &o);
    ASSERT_OK(spmd_emit(m->context, &p, &m->local, EMIT_MANUAL, &out, &e), &e);
    ASSERT_OK(verify_prove(ref, &out, NULL, &vo, &report, &e), &e);
    if (report.status != VERIFY_PROOF_EQUAL) {
        struct text t = {0};
        spmd_local_text(&m->local, &t);
        fail_msg("%s, plan %llu: %s\n%s", name, (unsigned long long)seed, report.reason, t.at);
    }
    ir_program_release(&out);
    plan_release(&p);
}

/* 20 random plans of each on three meshes */
static inline void prove_all(const struct small_program *programs, size_t program_count)
{
    static const char *const meshes[] = {"a=8", "a=4,b=2", "a=2,b=2,c=2"};

    for (size_t i = 0; i < program_count; i++) {
        struct model m;
        struct error e = {0};
        struct verify_reference *ref = NULL;
        struct verify_options vo = {0};
        open_small(&m, programs[i].text, meshes[0]);
        ASSERT_OK(verify_reference_create(&m.program, 5, &vo, &ref, &e), &e);
        for (size_t k = 0; k < 3; k++) {
            if (k) {
                spmd_local_release(&m.local);
                model_mesh(&m, meshes[k]);
            }
            for (uint64_t seed = 1; seed <= 20; seed++)
                prove_random(&m, ref, programs[i].name, seed);
        }
        verify_reference_destroy(ref);
        model_close(&m);
    }
}

#endif
