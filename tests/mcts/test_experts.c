/* timeout: 240 */
/* The best expert plan that races is never behind any plan that its families could make: every strategy on
 * every axis, both sides of the sequence's conflicts, with and without gathering again, on small models. */
#include "subject.h"
#include "support.h"

#include "mcts/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* what an axis does: a strategy, or one and then another */
static const char *const words[][2] = {{"", ""},
                                       {"batch", ""},
                                       {"fsdp", ""},
                                       {"fsdp-large", ""},
                                       {"zero1", ""},
                                       {"zero2", ""},
                                       {"megatron", ""},
                                       {"sequence", ""},
                                       {"megatron", "sequence"},
                                       {"sequence", "batch"},
                                       {"batch", "megatron"},
                                       {"edge", ""},
                                       {"edge", "batch"},
                                       {"expert", ""}};
enum { WORDS = sizeof words / sizeof *words, AXES = 3 };

struct trial {
    struct subject subject;
    struct evaluator_session *session;
    struct plan plan;
    struct cost best;
    char name[160];
    uint32_t tried;
};

/* as baselines are written */
static void add_word(char *name, size_t room, const char *word, const char *side, const char *axis)
{
    size_t size = strlen(name);
    if (*word)
        snprintf(name + size, room - size, "%s%s%s:%s", size ? "+" : "", word,
                 strcmp(word, "sequence") == 0 ? side : "", axis);
}

static void try_name(struct trial *trial, const char *name)
{
    struct plan_baseline baseline;
    struct error e = {0};
    struct price price;
    struct cost cost;
    if (!*name || plan_baseline_find(trial->subject.context, name, &baseline, &e) != ERROR_OK)
        return; /* the module has no dimension for it */
    plan_copy(&trial->plan, plan_context_start(trial->subject.context));
    for (uint32_t i = 0; i < baseline.count; i++)
        plan_apply(trial->subject.context, &trial->plan, baseline.decisions[i]);
    ASSERT_OK(evaluator_price(trial->session, &trial->plan, &price, &cost, &e), &e);
    if (!trial->tried++ || cost_compare(cost, trial->plan.hash, trial->best, trial->plan.hash) < 0) {
        trial->best = cost;
        snprintf(trial->name, sizeof trial->name, "%s", name);
    }
}

static void try_all(struct trial *trial)
{
    const struct mesh *mesh = plan_context_mesh(trial->subject.context);
    const struct nda *n = plan_context_nda(trial->subject.context);
    uint32_t bits = 0, total = 1, kinds = mesh->axis_count > 2 ? WORDS : WORDS * 4;
    for (uint32_t group = 0; group < n->group_count; group++)
        if (n->groups[group].roles & NDA_COLOR_SEQUENCE && n->groups[group].bits > bits)
            bits = n->groups[group].bits;
    char other[40] = "";
    if (bits)
        snprintf(other, sizeof other, "[%.*s]", (int)(bits < 32 ? bits : 32),
                 "11111111111111111111111111111111");
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        total *= kinds;
    for (uint32_t k = 0; k < total; k++) {
        char name[320] = "";
        uint32_t rest = k;
        for (uint32_t axis = 0; axis < mesh->axis_count; axis++, rest /= kinds) {
            uint32_t kind = rest % kinds;
            for (uint32_t i = 0; i < 2; i++)
                add_word(name, sizeof name, words[kind % WORDS][i], kind / WORDS % 2 ? other : "",
                         mesh->axes[axis].name);
            if (kind / WORDS / 2)
                add_word(name, sizeof name, "regather", "", mesh->axes[axis].name);
        }
        try_name(trial, name);
    }
}

/* share: the memory limit as a part of what the unsharded module takes; 0: none */
static void check(const char *model, const char *mesh, int64_t share)
{
    struct trial trial = {0};
    struct search *search = NULL;
    struct error e = {0};
    struct search_options options = {.seed = 1, .method = SEARCH_BASELINES};
    char path[512];
    snprintf(path, sizeof path, "%s%s", SUPPORT_MODELS, model);
    ASSERT_OK(subject_file(&trial.subject, path, &e), &e);
    ASSERT_OK(subject_mesh(&trial.subject, mesh, &e), &e);
    ASSERT_OK(subject_device(&trial.subject, "a100-40", 0, &e), &e);
    int64_t peak = evaluator_unsharded(trial.subject.evaluator)->peak_bytes;
    if (share)
        ASSERT_OK(subject_device(&trial.subject, "a100-40", peak / share, &e), &e);
    ASSERT_OK(search_create(trial.subject.evaluator, &options, &search, &e), &e);
    struct cost raced = {0};
    const char *name = "";
    for (uint32_t i = 0; i < search_baseline_count(search); i++) {
        const struct search_plan *plan = search_baseline(search, i);
        if (i == 0 || cost_compare(plan->cost, plan->hash, raced, plan->hash) < 0) {
            raced = plan->cost;
            name = plan->found_by;
        }
    }
    trial.session = evaluator_session_create(trial.subject.evaluator);
    plan_init(&trial.plan, plan_context_nda(trial.subject.context), plan_context_mesh(trial.subject.context));
    try_all(&trial);
    print_message("%s on %s, 1/%lld: %u raced, best %s %.6f; of %u tried %s %.6f\n", model, mesh,
                  (long long)share, search_baseline_count(search), name, cost_value(raced), trial.tried,
                  trial.name, cost_value(trial.best));
    assert_true(raced.over_steps <= trial.best.over_steps);
    /* at most 1 % behind */
    assert_true(cost_value(raced) <= 1.01 * cost_value(trial.best) ||
                raced.over_steps < trial.best.over_steps);
    plan_release(&trial.plan);
    evaluator_session_destroy(trial.session);
    search_destroy(search);
    subject_close(&trial.subject);
}

static void the_best_expert_races(void **state)
{
    (void)state;
    static const char *const models[] = {"small/t2b.mlir", "small/gpt.mlir", "small/itx.mlir",
                                         "small/t2b_scan.mlir", "small/unet.mlir"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        check(models[i], "data=4,model=2", 2);
        check(models[i], "data=4,model=2", 4);
        check(models[i], "a=2,b=2,c=2", 3);
    }
}

int main(void)
{
    ir_read_program(TOAST_BINARY_DIR "/toast-read");
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_best_expert_races)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
