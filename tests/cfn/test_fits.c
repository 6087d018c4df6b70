/* links: cfn */
/* label: unit */
/* What does not fit: on random networks under a narrow limit, of a random part of their values, what is
 * marked is in no assignment of the part within the limit, tried one by one, and "nothing fits" is said only
 * where none is. */
#include "tests/cfn/random_problem.h"

#include "cfn/fits.h"
#include "cfn/load.h"
#include "cfn/reduce.h"

static const struct random_shape shape = {7, 4, 4, 0.0, 0.0, 0.0, 50, 0, 1};

struct counts {
    int dropped, impossible, possible;
};

/* by padded value: whether an assignment of the part within the limit has it; -> whether there is one */
static bool find_used(const struct cfn_model *model, const uint8_t *mask, uint8_t *used)
{
    struct cfn_point point;
    bool any = false;
    int64_t *profile = mem_zalloc((size_t)model->time_count + 1, sizeof *profile);
    cfn_point_create(model, &point);
    do {
        bool inside = true;
        for (int32_t i = 0; i < model->node_count; i++)
            inside = inside && !mask[model->offset[i] + (size_t)point.value[i]];
        if (!inside)
            continue;
        cfn_point_evaluate(model, &point, profile);
        if (point.worst > 0)
            continue;
        any = true;
        for (int32_t i = 0; i < model->node_count; i++)
            used[model->offset[i] + (size_t)point.value[i]] = 1;
    } while (next_assignment(model->size, (uint32_t)model->node_count, point.value));
    free(profile);
    cfn_point_release(&point);
    return any;
}

static void check(const struct cfn_model *model, struct rng *rng, struct counts *counts)
{
    uint8_t *mask = mem_zalloc(model->value_count + 1, 1), *used = mem_zalloc(model->value_count + 1, 1);
    uint8_t *before = mem_zalloc(model->value_count + 1, 1);
    int64_t *least = mem_zalloc((size_t)model->time_count + 1, sizeof *least);
    uint64_t work = 0;
    for (int32_t i = 0; i < model->node_count; i++)
        for (int32_t a = 0; a < model->size[i]; a++)
            mask[model->offset[i] + (size_t)a] = rng_below(rng, a ? 4 : 16) == 0;
    memcpy(before, mask, model->value_count);
    bool any = find_used(model, mask, used), fits = cfn_fits_drop(model, mask, least, &work);
    assert_true(fits || !any);
    counts->possible += any;
    counts->impossible += !fits;
    for (size_t k = 0; k < model->value_count && fits; k++) {
        assert_false(mask[k] && used[k]);
        assert_true(mask[k] || !before[k]);
        counts->dropped += mask[k] && !before[k];
    }
    assert_true(work > 0 || !fits || !model->time_count);
    free(mask);
    free(used);
    free(before);
    free(least);
}

static void what_goes_is_in_nothing_within_the_limit(void **state)
{
    uint64_t start = support_seed(811);
    struct counts counts = {0};
    (void)state;
    for (int round = 0; round < 1000; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct cfn_problem problem;
        struct cfn_network *n;
        struct cfn_model model;
        struct error e;
        random_problem(&rng, &shape, &problem);
        random_narrow(&problem, &rng);
        ASSERT_OK(cfn_network_create(&problem, true, &n, &e), &e);
        cfn_reduce(n, CFN_RULE_CONSISTENCY, NULL, NULL);
        if (!n->wiped) {
            cfn_model_create(n, &model);
            check(&model, &rng, &counts);
            cfn_model_release(&model);
        }
        cfn_network_destroy(n);
        cfn_problem_release(&problem);
    }
    print_message("%d values dropped, %d parts possible, %d not\n", counts.dropped, counts.possible,
                  counts.impossible);
    assert_true(counts.dropped > 300 && counts.possible > 300 && counts.impossible > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_goes_is_in_nothing_within_the_limit)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
