/* label: proof */
/* timeout: 300 */
/* The admissible network's bound under every plan, the heuristic one's plan over the best, on tiny random
 * programs whose plans are tried one and all; answers as bytes; the problem as contest JSON. Seeds are
 * printed when something fails. */
#include "subject.h"
#include "support.h"

#include "plan_cfn/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROGRAMS = 1000, MAX_VALUES = 24, EXHAUSTIVE = 1500, SAMPLES = 60 };

/* ---- tiny programs: matrices through dots, sums, transposes, elementwise ops ---- */
struct writer {
    struct text body;
    struct rng rng;
    int64_t rows[MAX_VALUES], columns[MAX_VALUES];
    uint32_t count;
};

static uint32_t pick(struct writer *writer, uint32_t n)
{
    return (uint32_t)rng_below(&writer->rng, n);
}

static uint32_t add_value(struct writer *writer, int64_t rows, int64_t columns)
{
    writer->rows[writer->count] = rows;
    writer->columns[writer->count] = columns;
    return writer->count++;
}

static void type_text(const struct writer *writer, uint32_t v, char out[48])
{
    snprintf(out, 48, "tensor<%lldx%lldxf32>", (long long)writer->rows[v], (long long)writer->columns[v]);
}

static bool write_dot(struct writer *writer, uint32_t a, uint32_t b)
{
    char ta[48], tb[48], tr[48];
    if (writer->columns[a] != writer->rows[b])
        return false;
    type_text(writer, a, ta);
    type_text(writer, b, tb);
    uint32_t r = add_value(writer, writer->rows[a], writer->columns[b]);
    type_text(writer, r, tr);
    text_printf(
        &writer->body,
        "  %%v%u = stablehlo.dot_general %%v%u, %%v%u, contracting_dims = [1] x [0] : (%s, %s) -> %s\n", r, a,
        b, ta, tb, tr);
    return true;
}

static bool write_binary(struct writer *writer, uint32_t a, uint32_t b)
{
    static const char *const names[] = {"add", "multiply", "subtract", "maximum"};
    char t[48];
    if (writer->rows[a] != writer->rows[b] || writer->columns[a] != writer->columns[b])
        return false;
    type_text(writer, a, t);
    uint32_t r = add_value(writer, writer->rows[a], writer->columns[a]);
    text_printf(&writer->body, "  %%v%u = stablehlo.%s %%v%u, %%v%u : %s\n", r, names[pick(writer, 4)], a, b,
                t);
    return true;
}

static void write_unary(struct writer *writer, uint32_t a)
{
    static const char *const names[] = {"tanh", "negate", "exponential"};
    char t[48], tr[48];
    type_text(writer, a, t);
    if (pick(writer, 2)) {
        uint32_t r = add_value(writer, writer->columns[a], writer->rows[a]);
        type_text(writer, r, tr);
        text_printf(&writer->body, "  %%v%u = stablehlo.transpose %%v%u, dims = [1, 0] : (%s) -> %s\n", r, a,
                    t, tr);
        return;
    }
    uint32_t r = add_value(writer, writer->rows[a], writer->columns[a]);
    text_printf(&writer->body, "  %%v%u = stablehlo.%s %%v%u : %s\n", r, names[pick(writer, 3)], a, t);
}

/* a sum over one dimension, broadcast back */
static void write_reduce(struct writer *writer, uint32_t a)
{
    char t[48];
    uint32_t dim = pick(writer, 2);
    long long kept = dim ? writer->rows[a] : writer->columns[a];
    type_text(writer, a, t);
    uint32_t r = add_value(writer, writer->rows[a], writer->columns[a]);
    text_printf(
        &writer->body,
        "  %%z%u = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %%s%u = stablehlo.reduce(%%v%u init: %%z%u) applies stablehlo.add across dimensions = [%u] : (%s, "
        "tensor<f32>) -> tensor<%lldxf32>\n"
        "  %%v%u = stablehlo.broadcast_in_dim %%s%u, dims = [%u] : (tensor<%lldxf32>) -> %s\n",
        r, r, a, r, dim, t, kept, r, r, 1 - dim, kept, t);
}

static char *write_program(uint64_t seed)
{
    static const int64_t sizes[] = {4, 8, 16, 64};
    struct writer writer = {.rng = {seed}};
    struct text out = {0};
    char t[48], last[48];
    uint32_t arguments = 2 + pick(&writer, 2), ops = 2 + pick(&writer, 4);
    text_add(&out, "func.func @main(");
    for (uint32_t i = 0; i < arguments; i++) {
        int64_t rows = i ? writer.columns[i - 1] : sizes[pick(&writer, 4)];
        add_value(&writer, rows, sizes[pick(&writer, 4)]);
        type_text(&writer, i, t);
        text_printf(&out, "%s%%v%u: %s", i ? ", " : "", i, t);
    }
    for (uint32_t i = 0; i < ops && writer.count < MAX_VALUES - 1; i++) {
        uint32_t a = pick(&writer, writer.count), b = pick(&writer, writer.count), kind = pick(&writer, 6);
        if ((kind < 3 && write_dot(&writer, a, b)) || (kind < 5 && write_binary(&writer, a, b)))
            continue;
        if (kind == 5)
            write_reduce(&writer, a);
        else
            write_unary(&writer, a);
    }
    type_text(&writer, writer.count - 1, last);
    text_printf(&out, ") -> %s {\n%s  return %%v%u : %s\n}\n", last, writer.body.at ? writer.body.at : "",
                writer.count - 1, last);
    text_release(&writer.body);
    return out.at;
}

/* ---- one program against all its plans ---- */
static void open_subject(struct subject *subject, uint64_t seed)
{
    static const char *const meshes[] = {"x=2", "x=4", "x=2,y=2", "x=4,y=2"};
    struct error e;
    struct rng rng = {seed ^ 0x6d657368};
    char *text = write_program(seed);
    if (subject_text(subject, text, strlen(text), &e) != ERROR_OK)
        fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, e.message, text);
    free(text);
    ASSERT_OK(subject_mesh(subject, meshes[rng_below(&rng, 4)], &e), &e);
    ASSERT_OK(cost_machine_create(&subject->mesh, rng_below(&rng, 2) ? "a100-40" : "h100", 0,
                                  &subject->machine, &e),
              &e);
    if (rng_below(&rng, 3) == 0) /* so slow that FLOPs count, or so slow to talk to */
        for (int i = 0; i < COST_RATES; i++)
            subject->machine.device.rate_flops[i] *= 1e-4;
    if (rng_below(&rng, 3) == 0)
        for (uint32_t axis = 0; axis < subject->mesh.axis_count; axis++)
            subject->machine.links[axis].bytes_per_s *= 1e-4;
    if (rng_below(&rng, 3) == 0)
        subject->machine.device.launch_ps = 1000;
    ASSERT_OK(subject_evaluator(subject, &e), &e);
    if (rng_below(&rng, 3) == 0) { /* memory that not every plan keeps */
        subject->machine.memory_limit_bytes =
            evaluator_unsharded(subject->evaluator)->peak_bytes * (int64_t)(4 + rng_below(&rng, 6)) / 10;
        ASSERT_OK(subject_evaluator(subject, &e), &e);
    }
}

struct tally {
    uint32_t exhausted, bounded, tight, optimal;
    uint64_t plans;
    double bound_over_optimum;
};

struct best {
    struct cost cost;
    struct hash128 hash;
    struct price price;
    bool any;
};

static void try_plan(const struct subject *subject, struct evaluator_session *session,
                     const struct plan *plan, const struct plan_cfn_answer *cfn_answer, uint64_t seed,
                     struct best *best)
{
    struct price price;
    struct cost cost;
    struct error e;
    ASSERT_OK(evaluator_price(session, plan, &price, &cost, &e), &e);
    if (!cost.over_steps && cfn_answer->has_bound && cfn_answer->bound_ps > price.step_ps) {
        struct text text = {0};
        struct spmd_local local = {0};
        ASSERT_OK(spmd_walk(subject->context, plan, evaluator_options(subject->evaluator), &local, &e), &e);
        spmd_local_text(&local, &text);
        fail_msg("seed %llu: the bound %lld is above a plan's %lld\n%s%s", (unsigned long long)seed,
                 (long long)cfn_answer->bound_ps, (long long)price.step_ps, write_program(seed), text.at);
    }
    if (!best->any || cost_compare(cost, plan->hash, best->cost, best->hash) < 0)
        *best = (struct best){cost, plan->hash, price, true};
}

/* every combination of options when they are few (true), else a sample; and random plans */
static bool try_plans(const struct subject *subject, const struct plan_cfn *n,
                      const struct plan_cfn_answer *cfn_answer, uint64_t seed, struct best *best,
                      struct tally *tally)
{
    uint32_t nodes = plan_cfn_problem(n)->node_count;
    uint64_t product = 1, tries;
    int32_t *values = mem_zalloc(nodes + 1, sizeof *values);
    struct evaluator_session *session = evaluator_session_create(subject->evaluator);
    struct rng rng = {seed ^ 0x706c616e};
    struct plan plan;
    plan_init(&plan, subject->nda, &subject->mesh);
    for (uint32_t i = 0; i < nodes && product <= EXHAUSTIVE; i++)
        product *= plan_cfn_domain(n, i);
    bool all = product <= EXHAUSTIVE;
    tries = all ? product : SAMPLES;
    for (uint64_t k = 0; k < tries; k++) {
        uint64_t rest = k;
        for (uint32_t i = 0; i < nodes; i++) {
            uint64_t domain = plan_cfn_domain(n, i);
            values[i] = (int32_t)(all ? rest % domain : rng_below(&rng, domain));
            rest /= domain;
        }
        plan_cfn_plan(n, values, &plan);
        try_plan(subject, session, &plan, cfn_answer, seed, best);
    }
    for (uint32_t k = 0; k < SAMPLES; k++) {
        plan_random(subject->context, &rng, &plan);
        try_plan(subject, session, &plan, cfn_answer, seed, best);
    }
    tally->plans += tries + SAMPLES;
    tally->exhausted += all;
    plan_release(&plan);
    evaluator_session_destroy(session);
    free(values);
    return all;
}

static void one_program(uint64_t seed, struct tally *tally)
{
    struct subject subject;
    struct plan_cfn *n;
    struct plan_cfn_answer cfn_answer, again;
    struct error e;
    struct best best = {.any = false};
    unsigned char *bytes;
    size_t size;
    open_subject(&subject, seed);
    struct plan_cfn_budget budget = {.passes = 100, .seed = seed, .threads = 1};
    ASSERT_OK(plan_cfn_solve(subject.evaluator, &budget, &cfn_answer, &e), &e);
    ASSERT_OK(plan_cfn_create(subject.evaluator, PLAN_CFN_SHARED, &n, &e), &e);
    bool all = try_plans(&subject, n, &cfn_answer, seed, &best, tally);
    /* nothing is better than the best of all plans */
    if (all && cost_compare(cfn_answer.cost, cfn_answer.hash, best.cost, best.hash) < 0)
        fail_msg("seed %llu: the answer is better than every plan", (unsigned long long)seed);
    tally->optimal +=
        all && cfn_answer.cost.c == best.cost.c && cfn_answer.cost.over_steps == best.cost.over_steps;
    tally->bounded += cfn_answer.has_bound;
    if (all && cfn_answer.has_bound && !best.cost.over_steps) {
        tally->bound_over_optimum += (double)cfn_answer.bound_ps / (double)best.price.step_ps;
        tally->tight++;
    }
    plan_cfn_answer_write(&cfn_answer, &bytes, &size);
    ASSERT_OK(plan_cfn_answer_read(subject.evaluator, bytes, size, &again, &e), &e);
    assert_int_equal(again.price.step_ps, cfn_answer.price.step_ps);
    assert_int_equal(hash128_compare(again.hash, cfn_answer.hash), 0);
    assert_int_equal(again.bound_ps, cfn_answer.bound_ps);
    plan_cfn_answer_release(&again);
    if (size > 80) {
        bytes[size - 8] ^= 1; /* a factor */
        assert_int_not_equal(plan_cfn_answer_read(subject.evaluator, bytes, size, &again, &e), ERROR_OK);
    }
    free(bytes);
    plan_cfn_answer_release(&cfn_answer);
    plan_cfn_destroy(n);
    subject_close(&subject);
}

static void test_bound_optimum_plan(void **state)
{
    (void)state;
    struct tally tally = {0};
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++)
        one_program(seed, &tally);
    printf("%d programs, %llu plans; all plans of %u; bound given for %u, on average %.3f of the optimum "
           "(%u); the answer is "
           "optimal on %u\n",
           PROGRAMS, (unsigned long long)tally.plans, tally.exhausted, tally.bounded,
           tally.tight ? tally.bound_over_optimum / tally.tight : 0, tally.tight, tally.optimal);
    assert_true(tally.exhausted >= PROGRAMS / 10);
    assert_true(tally.bounded >= PROGRAMS / 5);
    assert_true(tally.bound_over_optimum > 0.05 * tally.tight); /* a bound of nothing would pass all else */
    assert_true(tally.optimal * 2 >= tally.exhausted);
}

/* a quick run gives no bound and seldom less; where its first plan is behind what is known it solves no
 * other network */
static void test_quick(void **state)
{
    (void)state;
    enum { TRIES = 100 };
    unsigned as_good = 0, shorter = 0;
    for (uint64_t seed = 1; seed <= TRIES; seed++) {
        struct subject subject;
        struct plan_cfn_answer whole, quick, behind, level;
        struct error e;
        open_subject(&subject, seed);
        struct cost perfect = {.c = 0};
        struct plan_cfn_budget budget = {.passes = 100, .seed = seed, .threads = 1};
        ASSERT_OK(plan_cfn_solve(subject.evaluator, &budget, &whole, &e), &e);
        budget.quick = true;
        ASSERT_OK(plan_cfn_solve(subject.evaluator, &budget, &quick, &e), &e);
        budget.known = &perfect;
        ASSERT_OK(plan_cfn_solve(subject.evaluator, &budget, &behind, &e), &e);
        budget.known = &whole.cost;
        budget.threads = 2;
        ASSERT_OK(plan_cfn_solve(subject.evaluator, &budget, &level, &e), &e);
        assert_false(quick.has_bound);
        assert_true(behind.rounds <= 3 && behind.rounds <= quick.rounds);
        shorter += behind.rounds < quick.rounds;
        as_good += cost_compare(quick.cost, quick.hash, whole.cost, quick.hash) <= 0;
        /* near what is known it is the same as without */
        if (level.rounds == quick.rounds)
            assert_int_equal(hash128_compare(level.hash, quick.hash), 0);
        plan_cfn_answer_release(&whole);
        plan_cfn_answer_release(&quick);
        plan_cfn_answer_release(&behind);
        plan_cfn_answer_release(&level);
        subject_close(&subject);
    }
    printf("quick: as good on %u of %d, ended early on %u\n", as_good, TRIES, shorter);
    assert_true(as_good >= TRIES * 9 / 10);
    assert_true(shorter >= TRIES / 2);
}

/* the exported text is the problem that the solver gets */
static void test_export(void **state)
{
    (void)state;
    struct subject subject;
    struct plan_cfn *n;
    struct error e;
    struct text text = {0};
    struct cfn_problem problem;
    struct cfn_verdict mine, its;
    open_subject(&subject, 7);
    ASSERT_OK(plan_cfn_create(subject.evaluator, PLAN_CFN_FULL, &n, &e), &e);
    plan_cfn_write(n, "seven", &text);
    ASSERT_OK(cfn_problem_read(text.at, text.size, &problem, &e), &e);
    assert_string_equal(problem.name, "seven");
    int32_t *values = mem_zalloc(problem.node_count + 1, sizeof *values);
    struct rng rng = {7};
    for (int k = 0; k < 20; k++) {
        for (uint32_t i = 0; i < problem.node_count; i++)
            values[i] = (int32_t)rng_below(&rng, (uint64_t)problem.nodes[i].domain);
        ASSERT_OK(cfn_evaluate(plan_cfn_problem(n), values, &mine, &e), &e);
        ASSERT_OK(cfn_evaluate(&problem, values, &its, &e), &e);
        assert_true(mine.cost == its.cost && mine.peak == its.peak && mine.feasible == its.feasible);
    }
    free(values);
    cfn_problem_release(&problem);
    text_release(&text);
    plan_cfn_destroy(n);
    subject_close(&subject);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bound_optimum_plan),
                                       cmocka_unit_test(test_quick), cmocka_unit_test(test_export)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
