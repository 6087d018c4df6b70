/* timeout: 240 */
/* Plans of the network split equal layers equally, weights and activations, unless that costs more; and what
 * it would cost is known. Judged by types alone: of the contractions with operands and result of one type in
 * a model of six layers, the inner four lie alike. */
#include "subject.h"
#include "support.h"

#include "plan_cfn/plan_cfn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 6, ENDS = 2, MAX_KINDS = 4000 };

struct kind { /* contractions of one type, and how many lie so */
    char type[300], layout[160];
    uint32_t count;
};
struct kinds {
    struct kind at[MAX_KINDS];
    uint32_t count;
};

static void add_kind(struct kinds *kinds, const char *type, const char *layout)
{
    uint32_t i = 0;
    while (i < kinds->count && (strcmp(kinds->at[i].type, type) || strcmp(kinds->at[i].layout, layout)))
        i++;
    assert_true(i < MAX_KINDS);
    if (i == kinds->count) {
        snprintf(kinds->at[i].type, sizeof kinds->at[i].type, "%s", type);
        snprintf(kinds->at[i].layout, sizeof kinds->at[i].layout, "%s", layout);
        kinds->at[i].count = 0;
        kinds->count++;
    }
    kinds->at[i].count++;
}

static void layout_of(const struct subject *subject, const struct plan *plan, uint32_t space, uint32_t slot,
                      char out[160])
{
    struct plan_sharding sharding;
    size_t size = 0;
    plan_slot_sharding(subject->context, plan, space, slot, &sharding);
    out[0] = 0;
    for (uint32_t dim = 0; dim < sharding.rank && size < 120; dim++) {
        size += (size_t)snprintf(out + size, 160 - size, "|");
        for (uint32_t k = 0; k < sharding.dims[dim].count && size < 120; k++)
            size += (size_t)snprintf(out + size, 160 - size, "%u", sharding.dims[dim].axes[k]);
    }
}

static void collect(const struct subject *subject, const struct plan *plan, struct kinds *kinds)
{
    const struct nda *n = subject->nda;
    const struct ir_program *program = n->program;
    char type[300], layout[160];
    kinds->count = 0;
    for (uint32_t op = 0; op < program->op_count; op++) {
        if (!nda_is_contraction(n, op) || n->op_space[op] == NDA_NONE)
            continue;
        size_t size = 0;
        for (uint32_t i = 0; i < 2; i++)
            size += (size_t)snprintf(
                type + size, sizeof type - size, "%.80s ",
                ir_string(program, ir_value_type(program, ir_operand(program, op, i))->text));
        uint32_t value = ir_result(program, op, 0);
        snprintf(type + size, sizeof type - size, "%.80s",
                 ir_string(program, ir_value_type(program, value)->text));
        layout_of(subject, plan, n->op_space[op], n->value_def_slot[value], layout);
        add_kind(kinds, type, layout);
    }
}

/* how many contractions lie otherwise than most of their kind, beyond those of first and last layers */
static uint32_t inner_unlike(const struct kinds *kinds)
{
    uint32_t unlike = 0;
    for (uint32_t i = 0; i < kinds->count; i++) {
        uint32_t all = 0, most = 0;
        bool first = true;
        for (uint32_t k = 0; k < kinds->count; k++)
            if (strcmp(kinds->at[k].type, kinds->at[i].type) == 0) {
                first = first && k >= i;
                all += kinds->at[k].count;
                most = kinds->at[k].count > most ? kinds->at[k].count : most;
            }
        /* several contractions of a layer may have one type: each may lie in its own way */
        if (first && all == LAYERS && all - most > ENDS)
            unlike += all - most - ENDS;
    }
    return unlike;
}

struct seen {
    uint32_t plans, alike, dearer;
};

static void check_model(const char *name, const char *mesh, int64_t limit, struct seen *seen)
{
    struct subject subject;
    struct error e = {0};
    struct plan_cfn_answer answer;
    struct plan_cfn_alike alike;
    struct plan plan;
    static struct kinds kinds;
    char *path = mem_printf(SUPPORT_MODELS "segments/%s.mlir.gz", name);
    memset(&subject, 0, sizeof subject);
    ASSERT_OK(subject_file(&subject, path, &e), &e);
    ASSERT_OK(subject_mesh(&subject, mesh, &e), &e);
    ASSERT_OK(subject_device(&subject, "a100-40", limit, &e), &e);
    struct plan_cfn_budget budget = {.passes = 200, .seed = 1, .threads = 2, .quick = true};
    ASSERT_OK(plan_cfn_solve(subject.evaluator, &budget, &answer, &e), &e);
    plan_init(&plan, subject.nda, &subject.mesh);
    plan_copy(&plan, plan_context_start(subject.context));
    for (uint32_t i = 0; i < answer.factors.count; i++)
        plan_apply_factor(subject.context, &plan, answer.factors.at[i].space, answer.factors.at[i].factor,
                          answer.factors.at[i].axis);
    assert_int_equal(hash128_compare(plan.hash, answer.hash), 0);
    struct evaluator_session *session = evaluator_session_create(subject.evaluator);
    ASSERT_OK(plan_cfn_alike(subject.context, session, &plan, &alike, &e), &e);
    evaluator_session_destroy(session);
    collect(&subject, &plan, &kinds);
    if (alike.others && cost_compare(alike.cost, plan.hash, answer.cost, plan.hash) < 0)
        fail_msg("%s %s: %u lie otherwise for nothing: alike it is cheaper", name, mesh, alike.others);
    if (!alike.others && inner_unlike(&kinds))
        fail_msg("%s %s: %u inner contractions lie otherwise", name, mesh, inner_unlike(&kinds));
    seen->plans++;
    seen->alike += alike.others == 0;
    seen->dearer += alike.others > 0;
    plan_release(&plan);
    plan_cfn_answer_release(&answer);
    subject_close(&subject);
    free(path);
}

static void equal_layers_lie_alike(void **state)
{
    static const char *const models[] = {"gpt_6", "llama_6", "bert_6", "moe_6"};
    struct seen seen = {0};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (int64_t limit = 8000000; limit <= 32000000; limit *= 4) {
            check_model(models[i], "data=4,model=2", limit, &seen);
            check_model(models[i], "data=2,model=4", limit, &seen);
        }
    printf("%u plans: %u alike, %u where that costs more\n", seen.plans, seen.alike, seen.dearer);
    assert_true(seen.alike > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equal_layers_lie_alike)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
