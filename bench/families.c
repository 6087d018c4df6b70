/* The best named expert against lists of decisions of a single family: on every model and mesh a number of
 * lists drawn at random (one group of dimensions with what goes with it, any axes, any sides, regather),
 * each priced, and how far the race's best is behind the best of them. */
#include "bench/usage.h"
#include "mcts/search.h"
#include "tests/support/subject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: bench_families [--lists N] [--seed S] [MODEL ..]\n"
    "\n"
    "The best named expert beside the best of many lists of decisions of one family each, on three\n"
    "meshes: a row a model and mesh with the cost of both (1 is the unsharded module's).\n"
    "\n"
    "  --lists N   lists drawn for each model and mesh; default 200\n"
    "  --seed S    of what is drawn; default 1\n"
    "  MODEL       paths; default: twelve of tests/models\n"
    "\n"
    "example:\n"
    "  build/release/bin/bench_families --lists 50 tests/models/mlp.mlir\n";

static const char *const models[] = {"small/t2b.mlir",       "small/t2b_flat.mlir",
                                     "small/t2b_remat.mlir", "small/t2b_scan.mlir",
                                     "small/gpt.mlir",       "small/gpt_torch.mlir",
                                     "small/itx.mlir",       "small/gns.mlir",
                                     "small/unet.mlir",      "mlp.mlir",
                                     "paper_attention.mlir", "t2b_16k.mlir.gz"};
static const char *const meshes[] = {"data=4,model=2", "a=2,b=16,c=2", "data=8"};
enum { SHARE = 3 }; /* memory limit: a third of what the unsharded module takes, so that it binds for some */

/* one family: a group that decisions are offered for; on each axis it or nothing, a side at random, at
 * times with the batch beside it on other axes, at times gathered again */
static uint32_t draw(const struct plan_context *context, struct rng *rng, struct plan_decision *list)
{
    uint32_t offered, regathers, count = 0;
    const struct plan_decision *decisions = plan_context_decisions(context, &offered);
    const struct plan_decision *again = plan_context_regathers(context, &regathers);
    if (!offered)
        return 0;
    uint32_t group = decisions[rng_below(rng, offered)].group;
    for (uint32_t tries = 0; tries < 3 * plan_context_mesh(context)->axis_count; tries++) {
        const struct plan_decision *decision = &decisions[rng_below(rng, offered)];
        bool batch = plan_context_nda(context)->groups[decision->group].roles & NDA_COLOR_BATCH;
        if ((decision->group == group || batch) && count < PLAN_BASELINE_LIST - 1)
            list[count++] = *decision;
    }
    if (regathers && rng_below(rng, 4) == 0)
        list[count++] = again[rng_below(rng, regathers)];
    return count;
}

static enum error_code measure(struct subject *subject, const char *name, const char *mesh, uint32_t lists,
                               uint64_t seed, double *ratio, struct error *e)
{
    struct search_options options = {.seed = 1, .method = SEARCH_BASELINES};
    struct search *search = NULL;
    TRY(subject_mesh(subject, mesh, e));
    TRY(subject_device(subject, "a100-40", 0, e));
    TRY(subject_device(subject, "a100-40", evaluator_unsharded(subject->evaluator)->peak_bytes / SHARE, e));
    TRY(search_create(subject->evaluator, &options, &search, e));
    double best = 0, drawn = 0;
    for (uint32_t i = 0; i < search_baseline_count(search); i++) {
        double cost = cost_value(search_baseline(search, i)->cost);
        best = i == 0 || cost < best ? cost : best;
    }
    search_destroy(search);
    struct evaluator_session *session = evaluator_session_create(subject->evaluator);
    struct plan plan;
    struct rng rng = {.state = seed};
    enum error_code code = ERROR_OK;
    plan_init(&plan, subject->nda, &subject->mesh);
    for (uint32_t i = 0; i < lists && !code; i++) {
        struct plan_decision list[PLAN_BASELINE_LIST];
        uint32_t count = draw(subject->context, &rng, list);
        struct price price;
        struct cost cost;
        plan_copy(&plan, plan_context_start(subject->context));
        for (uint32_t k = 0; k < count; k++)
            plan_apply(subject->context, &plan, list[k]);
        code = evaluator_price(session, &plan, &price, &cost, e);
        drawn = !code && (i == 0 || cost_value(cost) < drawn) ? cost_value(cost) : drawn;
    }
    plan_release(&plan);
    evaluator_session_destroy(session);
    if (code)
        return code;
    *ratio = best / drawn;
    printf("%-28s %-16s %12.6f %12.6f %8.3f\n", name, mesh, best, drawn, *ratio);
    fflush(stdout);
    return ERROR_OK;
}

static enum error_code measure_model(const char *name, const char *path, uint32_t lists, uint64_t seed,
                                     double *worst, struct error *e)
{
    struct subject subject;
    enum error_code code = subject_file(&subject, path, e);
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes && !code; i++) {
        double ratio = 0;
        code = measure(&subject, name, meshes[i], lists, seed, &ratio, e);
        *worst = ratio > *worst ? ratio : *worst;
    }
    subject_close(&subject);
    return code;
}

int main(int argc, char **argv)
{
    uint32_t lists = 200, named = 0;
    uint64_t seed = 1;
    double worst = 0;
    struct error e = {0};
    usage_help(argc, argv, help);
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--lists") == 0)
            lists = (uint32_t)usage_number(argc, argv, &i, 1);
        else if (strcmp(argv[i], "--seed") == 0)
            seed = usage_number(argc, argv, &i, 1);
        else if (argv[i][0] == '-')
            usage_refuse(argv[i], "is no option");
        else
            argv[1 + named++] = argv[i];
    }
    printf("%-28s %-16s %12s %12s %8s\n", "model", "mesh", "best expert", "best list", "ratio");
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; i < (named ? named : sizeof models / sizeof *models) && !code; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s%s", named ? "" : "tests/models/", named ? argv[1 + i] : models[i]);
        code = measure_model(named ? argv[1 + i] : models[i], path, lists, seed, &worst, &e);
    }
    if (code)
        fprintf(stderr, "%s\n", e.message);
    else
        printf("worst ratio %.3f\n", worst);
    return code ? 1 : 0;
}
