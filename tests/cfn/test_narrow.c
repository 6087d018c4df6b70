/* links: cfn */
/* label: unit */
/* Narrow models: on random networks with a random part of their values, relaxed by clusters that a phase has
 * moved, every entry is the whole model's; what clusters owe is given back, so that assignments of the part
 * within the limit cost no less than in the whole relaxed model, no more than in the model, and some more
 * than before; bounds certified there, of the part and of each value, stay at or below what assignments cost;
 * values and messages are told by the whole model's numbers; links of nodes with one value fold into
 * costs, and no assignment costs less or more for it. */
#include "tests/cfn/random_problem.h"

#include "cfn/load.h"
#include "cfn/reduce.h"
#include "cfn/tighten.h"

static const struct random_shape shape = {7, 4, 30, 0.05, 0.1, 0.1, 1000, 0, 1};

struct part { /* of a network */
    struct cfn_problem problem;
    struct cfn_network *n;
    struct cfn_model model;
    struct cfn_worker worker;
    uint8_t *mask;
    struct cfn_narrow narrow;
};

struct counts {
    int parts, relaxed, dearer, bounded, folded;
};

/* values of narrow models become the whole's */
static void tell(const struct part *part, const int32_t *value, int32_t *told)
{
    for (int32_t i = 0; i < part->model.node_count; i++)
        told[i] = part->narrow.value[part->narrow.model.offset[i] + (size_t)value[i]];
}

/* by costs and links of the model; INT64_MAX: forbidden */
static int64_t cost_of(const struct cfn_model *model, const int32_t *value)
{
    int64_t sum = model->constant;
    for (int32_t i = 0; i < model->node_count; i++) {
        sum = cfn_add(sum, model->unary[model->offset[i] + (size_t)value[i]]);
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++) {
            const struct cfn_arc *arc = &model->arcs[k];
            if (arc->other > i)
                sum = cfn_add(
                    sum, arc->exact[(size_t)value[i] * arc->own + (size_t)value[arc->other] * arc->step]);
        }
    }
    return cfn_infinite(sum) ? INT64_MAX : sum;
}

/* a clustered network, a mask; false: nothing is left, or nothing is possible */
static bool make(struct part *part, struct rng *rng)
{
    struct error e;
    struct cfn_point point;
    random_problem(rng, &shape, &part->problem);
    random_narrow(&part->problem, rng);
    ASSERT_OK(cfn_network_create(&part->problem, true, &part->n, &e), &e);
    cfn_reduce(part->n, CFN_RULE_CONSISTENCY | CFN_RULE_MEMORY, NULL, NULL);
    if (part->n->wiped)
        return false;
    cfn_model_create(part->n, &part->model);
    cfn_worker_create(&part->model, 0, 7, &part->worker);
    part->worker.phase_end = UINT64_MAX;
    part->worker.excludes = rng_below(rng, 2);
    cfn_point_create(&part->model, &point);
    do {
        cfn_point_evaluate(&part->model, &point, part->worker.profile);
        cfn_worker_record(&part->worker, &point);
    } while (next_assignment(part->model.size, (uint32_t)part->model.node_count, point.value));
    cfn_point_release(&point);
    for (int32_t time = 0; time < part->model.time_count; time++)
        part->worker.best_lambda[time] = rng_below(rng, 3) ? 0 : (double)rng_below(rng, 100);
    cfn_trws_price(&part->worker.trws, part->worker.best_lambda);
    part->worker.best_estimate = cfn_trws_iterate(&part->worker.trws);
    cfn_tighten_begin(&part->worker, 1e6);
    cfn_tighten_phase(&part->worker);
    part->mask = mem_zalloc(part->model.value_count + 1, 1);
    for (int32_t i = 0; i < part->model.node_count; i++) {
        int32_t stays = (int32_t)rng_below(rng, (uint64_t)part->model.size[i]);
        for (int32_t a = 0; a < part->model.size[i]; a++)
            part->mask[part->model.offset[i] + (size_t)a] = a != stays && rng_below(rng, 2);
    }
    return true;
}

static void release(struct part *part)
{
    cfn_narrow_release(&part->narrow);
    free(part->mask);
    if (part->model.node) {
        cfn_worker_release(&part->worker);
        cfn_model_release(&part->model);
    }
    cfn_network_destroy(part->n);
    cfn_problem_release(&part->problem);
}

/* all assignments of the part: entry by entry as in the whole */
static void entries_are_the_same(const struct part *part)
{
    struct cfn_point point;
    int32_t *told = mem_zalloc((size_t)part->model.node_count + 1, sizeof *told);
    cfn_point_create(&part->narrow.model, &point);
    do {
        tell(part, point.value, told);
        assert_true(cost_of(&part->narrow.model, point.value) == cost_of(part->narrow.of, told));
        for (int32_t i = 0; i < part->model.node_count; i++)
            assert_false(part->mask[part->model.offset[i] + (size_t)told[i]]);
    } while (next_assignment(part->narrow.model.size, (uint32_t)part->narrow.model.node_count, point.value));
    cfn_point_release(&point);
    free(told);
}

/* what is left to pass over: links between nodes that have a choice; all assignments cost what they did */
static void folding_keeps_costs(struct part *part, struct counts *counts)
{
    struct cfn_model *model = &part->narrow.model;
    const struct cfn_model before = *model;
    int64_t *unary = mem_alloc((model->value_count + 1) * sizeof *unary);
    struct cfn_arc *arcs = mem_alloc((2 * (size_t)model->link_count + 1) * sizeof *arcs);
    struct cfn_model unfolded = before;
    struct cfn_point point;
    memcpy(unary, model->unary, model->value_count * sizeof *unary);
    memcpy(arcs, model->arcs, 2 * (size_t)model->link_count * sizeof *arcs);
    unfolded.unary = unary;
    unfolded.arcs = arcs;
    cfn_narrow_fold(&part->narrow);
    cfn_point_create(model, &point);
    do
        assert_true(cost_of(model, point.value) == cost_of(&unfolded, point.value));
    while (next_assignment(model->size, (uint32_t)model->node_count, point.value));
    for (int32_t i = 0; i < model->node_count; i++)
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++)
            assert_true(model->size[i] > 1 && model->size[model->arcs[k].other] > 1);
    assert_true(model->table_work <= before.table_work && model->forest_work <= before.forest_work);
    counts->folded += model->first_arc[model->node_count] < before.first_arc[model->node_count];
    cfn_point_release(&point);
    free(unary);
    free(arcs);
}

/* floats, in both directions, are at or below the entries */
static void rows_are_rounded_down(const struct cfn_model *model)
{
    for (int32_t i = 0; i < model->node_count; i++)
        for (uint32_t k = model->first_arc[i]; k < model->first_arc[i + 1]; k++) {
            const struct cfn_arc *arc = &model->arcs[k];
            for (int32_t a = 0; a < model->size[i]; a++)
                for (int32_t b = 0; b < model->size[arc->other]; b++) {
                    int64_t entry = arc->exact[(size_t)a * arc->own + (size_t)b * arc->step];
                    float row = arc->rows[(size_t)a * (size_t)arc->row_width + (size_t)b];
                    assert_true(row == cfn_round_down(entry));
                    assert_true(row == arc->columns[(size_t)b * (size_t)arc->column_width + (size_t)a]);
                }
        }
}

/* least: by padded value of the whole, the cheapest assignment of the part with it; -> the cheapest of all */
static int64_t compare_costs(const struct part *part, int64_t *least, struct counts *counts)
{
    struct cfn_point point, whole;
    int64_t cheapest = INT64_MAX;
    cfn_point_create(&part->narrow.model, &point);
    cfn_point_create(&part->model, &whole);
    do {
        tell(part, point.value, whole.value);
        cfn_point_evaluate(&part->model, &whole, part->worker.profile);
        if (!cfn_point_feasible(&whole))
            continue;
        int64_t relaxed = cost_of(part->narrow.of, whole.value),
                here = cost_of(&part->narrow.model, point.value);
        assert_true(relaxed <= here && here <= whole.cost);
        counts->relaxed++;
        counts->dearer += here > relaxed;
        cheapest = whole.cost < cheapest ? whole.cost : cheapest;
        for (int32_t i = 0; i < part->model.node_count; i++) {
            int64_t *at = &least[part->model.offset[i] + (size_t)whole.value[i]];
            *at = whole.cost < *at ? whole.cost : *at;
        }
    } while (next_assignment(part->narrow.model.size, (uint32_t)part->narrow.model.node_count, point.value));
    cfn_point_release(&point);
    cfn_point_release(&whole);
    return cheapest;
}

static void bounds_hold(struct part *part, int64_t cheapest, const int64_t *least, struct counts *counts)
{
    struct cfn_trws *trws = &part->worker.trws;
    const struct cfn_model *model = &part->model;
    size_t messages = part->narrow.of->message_count;
    double *whole = mem_zalloc(messages + 1, sizeof *whole), *back = mem_zalloc(messages + 1, sizeof *back);
    int64_t *bound = mem_zalloc(model->value_count + 1, sizeof *bound);
    memcpy(whole, trws->message, messages * sizeof *whole);
    memcpy(back, whole, messages * sizeof *whole);
    cfn_trws_narrow(trws, &part->narrow);
    cfn_narrow_messages(&part->narrow, whole, trws->message);
    cfn_narrow_widen(&part->narrow, trws->message, back);
    assert_memory_equal(whole, back, messages * sizeof *whole);
    cfn_trws_price(trws, part->worker.best_lambda);
    (void)cfn_trws_iterate(trws);
    assert_true(cfn_trws_certify(trws) <= cheapest && cfn_trws_certify_quickly(trws) <= cheapest);
    (void)cfn_trws_certify_values(trws, bound);
    cfn_trws_round(trws, part->worker.point.value);
    for (int32_t i = 0; i < model->node_count; i++) {
        assert_false(part->mask[model->offset[i] + (size_t)part->worker.point.value[i]]);
        for (int32_t a = 0; a < model->size[i]; a++) {
            size_t at = model->offset[i] + (size_t)a;
            assert_true(part->mask[at] ? bound[at] == 0 : bound[at] <= least[at]);
        }
    }
    cfn_trws_narrow(trws, NULL);
    assert_ptr_equal(trws->model, part->narrow.of);
    counts->bounded++;
    free(whole);
    free(back);
    free(bound);
}

static void a_part_is_bounded_by_itself(void **state)
{
    uint64_t start = support_seed(2417);
    struct counts counts = {0};
    (void)state;
    for (int round = 0; round < 400; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct part part = {0};
        if (make(&part, &rng)) {
            int64_t *least = mem_alloc((part.model.value_count + 1) * sizeof *least);
            for (size_t k = 0; k < part.model.value_count; k++)
                least[k] = INT64_MAX;
            cfn_narrow_create(&part.worker.clusters->relaxed, part.mask, &part.narrow);
            entries_are_the_same(&part);
            cfn_narrow_complete(&part.narrow, part.worker.clusters);
            rows_are_rounded_down(&part.narrow.model);
            folding_keeps_costs(&part, &counts);
            bounds_hold(&part, compare_costs(&part, least, &counts), least, &counts);
            counts.parts++;
            free(least);
        }
        release(&part);
    }
    print_message("%d parts, %d assignments, %d dearer than relaxed\n", counts.parts, counts.relaxed,
                  counts.dearer);
    assert_true(counts.folded > counts.parts / 4);
    assert_true(counts.bounded > 200 && counts.dearer > counts.relaxed / 100);
}

/* With one value at each node nothing goes round any cycle: the part costs what the model says. */
static void what_clusters_owe_comes_back(void **state)
{
    uint64_t start = support_seed(99);
    int within = 0, exact = 0;
    (void)state;
    for (int round = 0; round < 200; round++) {
        struct rng rng = {start + (uint64_t)round};
        struct part part = {0};
        if (make(&part, &rng)) {
            for (int32_t i = 0; i < part.model.node_count; i++) /* one value each */
                for (int32_t a = 0, left = 0; a < part.model.size[i]; a++) {
                    uint8_t *gone = &part.mask[part.model.offset[i] + (size_t)a];
                    *gone |= left > 0;
                    left += !*gone;
                }
            struct cfn_point whole, only;
            cfn_narrow_create(&part.worker.clusters->relaxed, part.mask, &part.narrow);
            cfn_narrow_complete(&part.narrow, part.worker.clusters);
            cfn_point_create(&part.model, &whole);
            cfn_point_create(&part.model, &only); /* all values 0: the only one left */
            tell(&part, only.value, whole.value);
            cfn_point_evaluate(&part.model, &whole, part.worker.profile);
            within += cfn_point_feasible(&whole);
            exact += cfn_point_feasible(&whole) && cost_of(&part.narrow.model, only.value) == whole.cost;
            cfn_point_release(&whole);
            cfn_point_release(&only);
        }
        release(&part);
    }
    assert_int_equal(within, exact);
    assert_true(within > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_part_is_bounded_by_itself),
                                       cmocka_unit_test(what_clusters_owe_comes_back)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
