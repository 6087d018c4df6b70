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
    "usage: bench_families [--lists N] [--seed S] [--share N] [--most RATIO] [MODEL ..]\n"
    "\n"
    "The best named expert beside the best of many lists of decisions of one family each, on three\n"
    "meshes: a row a model and mesh with the cost of both (1 is the unsharded module's; where only one fits "
    "the\n"
    "memory, the ratio is of what they take), how many experts raced, and the two. One family: one group of "
    "dimensions, or all of one role, on axes in any order, "
    "with\n"
    "or without the batch, with any sides of conflicts, at times gathered again.\n"
    "\n"
    "  --lists N   lists drawn for each model and mesh; default 200\n"
    "  --seed S    of what is drawn; default 1\n"
    "  --share N   memory limit: what the unsharded module takes by N; 0: the device's; default 3\n"
    "  --most R    exit status 1 where the ratio of the two is above R\n"
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

struct family {
    uint32_t group, roles; /* one group, or NDA_NONE and all groups with one of these roles */
};

static const uint32_t roles[] = {NDA_COLOR_BATCH, NDA_COLOR_SEQUENCE, NDA_COLOR_MODEL | NDA_COLOR_VOCABULARY,
                                 NDA_COLOR_EDGE, NDA_COLOR_EXPERT};

static bool is_of(const struct nda *n, const struct family *family, uint32_t group)
{
    return family->group == NDA_NONE ? (n->groups[group].roles & family->roles) != 0 : group == family->group;
}

/* the decisions of a family on one axis, with sides that are drawn */
static void add_family(const struct plan_context *context, const struct family *family, uint8_t axis,
                       struct rng *rng, struct plan_decision *list, uint32_t *count)
{
    const struct nda *n = plan_context_nda(context);
    uint32_t sides = (uint32_t)rng_below(rng, UINT32_MAX);
    if (rng_below(rng, 2)) /* all to one side */
        sides = rng_below(rng, 2) ? UINT32_MAX : 0;
    for (uint32_t group = 0; group < n->group_count && *count < PLAN_BASELINE_LIST - 1; group++)
        if (is_of(n, family, group)) {
            uint32_t bits = n->groups[group].bits;
            uint32_t mask = bits >= 32 ? UINT32_MAX : (1u << bits) - 1;
            list[(*count)++] = (struct plan_decision){group, sides & mask, axis, PLAN_SCOPE_ALL};
        }
}

/* One family: a group that decisions are offered for, or the groups of a role. Axes in any order; on each of
 * them the family, the batch, both in either order, or nothing; at times gathered again. */
static uint32_t draw(const struct plan_context *context, struct rng *rng, struct plan_decision *list)
{
    const struct family batch = {NDA_NONE, NDA_COLOR_BATCH};
    uint32_t offered, regathers, count = 0, axes = plan_context_mesh(context)->axis_count;
    const struct plan_decision *decisions = plan_context_decisions(context, &offered);
    const struct plan_decision *again = plan_context_regathers(context, &regathers);
    if (!offered)
        return 0;
    struct family family = {decisions[rng_below(rng, offered)].group, 0};
    if (rng_below(rng, 2))
        family = (struct family){NDA_NONE, roles[rng_below(rng, sizeof roles / sizeof *roles)]};
    uint8_t order[MESH_MAX_AXES];
    for (uint32_t i = 0; i < axes; i++) {
        uint32_t k = (uint32_t)rng_below(rng, i + 1);
        order[i] = order[k];
        order[k] = (uint8_t)i;
    }
    for (uint32_t i = 0; i < axes; i++) {
        uint64_t what = rng_below(rng, 6); /* 0, 1: the family; 2: batch; 3, 4: both; 5: nothing */
        if (what == 2 || what == 3)
            add_family(context, &batch, order[i], rng, list, &count);
        if (what != 2 && what != 5)
            add_family(context, &family, order[i], rng, list, &count);
        if (what == 4)
            add_family(context, &batch, order[i], rng, list, &count);
    }
    if (regathers && rng_below(rng, 4) == 0)
        list[count++] = again[rng_below(rng, regathers)];
    return count;
}

struct options {
    uint32_t lists;
    uint64_t seed;
    int64_t share; /* memory limit: such a part of what the unsharded module takes; 0: the device's */
    double most;
};
struct winner {
    bool any;
    struct cost cost;
    struct text name;
};

/* true: the plan of the cost is better than what was best so far, and takes its place */
static bool wins(struct winner *best, struct cost cost)
{
    static const struct hash128 same;
    if (best->any && cost_compare(cost, same, best->cost, same) >= 0)
        return false;
    *best = (struct winner){true, cost, best->name};
    best->name.size = 0;
    return true;
}

/* of costs; where one takes more memory than it may and the other less than that, of what they take */
static double ratio_of(struct cost expert, struct cost drawn)
{
    if (expert.over_steps == drawn.over_steps)
        return cost_value(expert) / cost_value(drawn);
    return (100.0 + (double)expert.over_steps) / (100.0 + (double)drawn.over_steps);
}

static enum error_code race_experts(const struct subject *subject, struct winner *best, uint32_t *raced,
                                    struct error *e)
{
    struct search_options options = {.seed = 1, .method = SEARCH_BASELINES};
    struct search *search = NULL;
    TRY(search_create(subject->evaluator, &options, &search, e));
    *raced = search_baseline_count(search);
    for (uint32_t i = 0; i < *raced; i++) {
        if (wins(best, search_baseline(search, i)->cost))
            text_add(&best->name, search_baseline(search, i)->found_by);
    }
    search_destroy(search);
    return ERROR_OK;
}

static enum error_code price_list(const struct subject *subject, struct evaluator_session *session,
                                  const struct plan_decision *list, uint32_t count, struct plan *plan,
                                  struct winner *best, struct error *e)
{
    struct price price;
    struct cost cost;
    plan_copy(plan, plan_context_start(subject->context));
    for (uint32_t k = 0; k < count; k++)
        plan_apply(subject->context, plan, list[k]);
    TRY(evaluator_price(session, plan, &price, &cost, e));
    if (!wins(best, cost))
        return ERROR_OK;
    for (uint32_t k = 0; k < count; k++) {
        text_add(&best->name, k ? " " : "");
        plan_decision_text(subject->context, list[k], &best->name);
    }
    return ERROR_OK;
}

static enum error_code draw_lists(const struct subject *subject, const struct options *options,
                                  struct winner *best, struct error *e)
{
    struct evaluator_session *session = evaluator_session_create(subject->evaluator);
    struct plan plan;
    struct rng rng = {.state = options->seed};
    enum error_code code = ERROR_OK;
    plan_init(&plan, subject->nda, &subject->mesh);
    for (uint32_t i = 0; i < options->lists && !code; i++) {
        struct plan_decision list[PLAN_BASELINE_LIST];
        uint32_t count = draw(subject->context, &rng, list);
        code = price_list(subject, session, list, count, &plan, best, e);
    }
    plan_release(&plan);
    evaluator_session_destroy(session);
    return code;
}

static enum error_code measure(struct subject *subject, const char *name, const char *mesh,
                               const struct options *options, double *ratio, struct error *e)
{
    struct winner expert = {0}, drawn = {0};
    uint32_t raced = 0;
    TRY(subject_mesh(subject, mesh, e));
    TRY(subject_device(subject, "a100-40", 0, e));
    if (options->share) {
        int64_t peak = evaluator_unsharded(subject->evaluator)->peak_bytes;
        TRY(subject_device(subject, "a100-40", peak / options->share, e));
    }
    enum error_code code = race_experts(subject, &expert, &raced, e);
    if (!code)
        code = draw_lists(subject, options, &drawn, e);
    if (!code) {
        *ratio = ratio_of(expert.cost, drawn.cost);
        printf("%-22s %-15s %6u %11.6f %11.6f %7.3f  %s | %s\n", name, mesh, raced, cost_value(expert.cost),
               cost_value(drawn.cost), *ratio, expert.name.at, drawn.name.size ? drawn.name.at : "nothing");
        fflush(stdout);
    }
    text_release(&expert.name);
    text_release(&drawn.name);
    return code;
}

static enum error_code measure_model(const char *path, const struct options *options, double *worst,
                                     struct error *e)
{
    struct subject subject;
    enum error_code code = subject_file(&subject, path, e);
    const char *name = strstr(path, "small/") ? strstr(path, "small/")
                                              : (strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    for (size_t i = 0; i < sizeof meshes / sizeof *meshes && !code; i++) {
        double ratio = 0;
        code = measure(&subject, name, meshes[i], options, &ratio, e);
        *worst = ratio > *worst ? ratio : *worst;
    }
    subject_close(&subject);
    return code;
}

static void read_options(int argc, char **argv, struct options *options, uint32_t *named)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--lists") == 0)
            options->lists = (uint32_t)usage_number(argc, argv, &i, 1);
        else if (strcmp(argv[i], "--seed") == 0)
            options->seed = usage_number(argc, argv, &i, 1);
        else if (strcmp(argv[i], "--share") == 0)
            options->share = (int64_t)usage_number(argc, argv, &i, 0);
        else if (strcmp(argv[i], "--most") == 0)
            options->most = strtod(usage_value(argc, argv, &i), NULL);
        else
            argv[1 + (*named)++] = (char *)(uintptr_t)usage_operand(argv[i]);
    }
}

int main(int argc, char **argv)
{
    struct options options = {.lists = 200, .seed = 1, .share = SHARE};
    uint32_t named = 0;
    double worst = 0;
    struct error e = {0};
    enum error_code code = ERROR_OK;
    usage_help(argc, argv, help);
    read_options(argc, argv, &options, &named);
    printf("%-22s %-15s %6s %11s %11s %7s  %s\n", "model", "mesh", "raced", "best expert", "best list",
           "ratio", "the two");
    for (uint32_t i = 0; i < (named ? named : sizeof models / sizeof *models) && !code; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s%s", named ? "" : "tests/models/", named ? argv[1 + i] : models[i]);
        code = measure_model(path, &options, &worst, &e);
    }
    if (code)
        fprintf(stderr, "%s\n", e.message);
    else
        printf("worst ratio %.3f\n", worst);
    return code || (options.most > 0 && worst > options.most) ? 1 : 0;
}
