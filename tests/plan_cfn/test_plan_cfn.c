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

static uint32_t pick(struct writer *w, uint32_t n)
{
    return (uint32_t)rng_below(&w->rng, n);
}

static uint32_t add_value(struct writer *w, int64_t rows, int64_t columns)
{
    w->rows[w->count] = rows;
    w->columns[w->count] = columns;
    return w->count++;
}

static void type_text(const struct writer *w, uint32_t v, char out[48])
{
    snprintf(out, 48, "tensor<%lldx%lldxf32>", (long long)w->rows[v], (long long)w->columns[v]);
}

static bool write_dot(struct writer *w, uint32_t a, uint32_t b)
{
    char ta[48], tb[48], tr[48];
    if (w->columns[a] != w->rows[b])
        return false;
    type_text(w, a, ta);
    type_text(w, b, tb);
    uint32_t r = add_value(w, w->rows[a], w->columns[b]);
    type_text(w, r, tr);
    text_printf(
        &w->body,
        "  %%v%u = stablehlo.dot_general %%v%u, %%v%u, contracting_dims = [1] x [0] : (%s, %s) -> %s\n", r, a,
        b, ta, tb, tr);
    return true;
}

static bool write_binary(struct writer *w, uint32_t a, uint32_t b)
{
    static const char *const names[] = {"add", "multiply", "subtract", "maximum"};
    char t[48];
    if (w->rows[a] != w->rows[b] || w->columns[a] != w->columns[b])
        return false;
    type_text(w, a, t);
    uint32_t r = add_value(w, w->rows[a], w->columns[a]);
    text_printf(&w->body, "  %%v%u = stablehlo.%s %%v%u, %%v%u : %s\n", r, names[pick(w, 4)], a, b, t);
    return true;
}

static void write_unary(struct writer *w, uint32_t a)
{
    static const char *const names[] = {"tanh", "negate", "exponential"};
    char t[48], tr[48];
    type_text(w, a, t);
    if (pick(w, 2)) {
        uint32_t r = add_value(w, w->columns[a], w->rows[a]);
        type_text(w, r, tr);
        text_printf(&w->body, "  %%v%u = stablehlo.transpose %%v%u, dims = [1, 0] : (%s) -> %s\n", r, a, t,
                    tr);
        return;
    }
    uint32_t r = add_value(w, w->rows[a], w->columns[a]);
    text_printf(&w->body, "  %%v%u = stablehlo.%s %%v%u : %s\n", r, names[pick(w, 3)], a, t);
}

/* a sum over one dimension, broadcast back */
static void write_reduce(struct writer *w, uint32_t a)
{
    char t[48];
    uint32_t dim = pick(w, 2);
    long long kept = dim ? w->rows[a] : w->columns[a];
    type_text(w, a, t);
    uint32_t r = add_value(w, w->rows[a], w->columns[a]);
    text_printf(
        &w->body,
        "  %%z%u = stablehlo.constant dense<0.0> : tensor<f32>\n"
        "  %%s%u = stablehlo.reduce(%%v%u init: %%z%u) applies stablehlo.add across dimensions = [%u] : (%s, "
        "tensor<f32>) -> tensor<%lldxf32>\n"
        "  %%v%u = stablehlo.broadcast_in_dim %%s%u, dims = [%u] : (tensor<%lldxf32>) -> %s\n",
        r, r, a, r, dim, t, kept, r, r, 1 - dim, kept, t);
}

static char *write_program(uint64_t seed)
{
    static const int64_t sizes[] = {4, 8, 16, 64};
    struct writer w = {.rng = {seed}};
    struct text out = {0};
    char t[48], last[48];
    uint32_t arguments = 2 + pick(&w, 2), ops = 2 + pick(&w, 4);
    text_add(&out, "func.func @main(");
    for (uint32_t i = 0; i < arguments; i++) {
        int64_t rows = i ? w.columns[i - 1] : sizes[pick(&w, 4)];
        add_value(&w, rows, sizes[pick(&w, 4)]);
        type_text(&w, i, t);
        text_printf(&out, "%s%%v%u: %s", i ? ", " : "", i, t);
    }
    for (uint32_t i = 0; i < ops && w.count < MAX_VALUES - 1; i++) {
        uint32_t a = pick(&w, w.count), b = pick(&w, w.count), kind = pick(&w, 6);
        if ((kind < 3 && write_dot(&w, a, b)) || (kind < 5 && write_binary(&w, a, b)))
            continue;
        if (kind == 5)
            write_reduce(&w, a);
        else
            write_unary(&w, a);
    }
    type_text(&w, w.count - 1, last);
    text_printf(&out, ") -> %s {\n%s  return %%v%u : %s\n}\n", last, w.body.at ? w.body.at : "", w.count - 1,
                last);
    text_release(&w.body);
    return out.at;
}

/* ---- one program against all its plans ---- */
static void open_subject(struct subject *s, uint64_t seed)
{
    static const char *const meshes[] = {"x=2", "x=4", "x=2,y=2", "x=4,y=2"};
    struct error e;
    struct rng r = {seed ^ 0x6d657368};
    char *text = write_program(seed);
    if (subject_text(s, text, strlen(text), &e) != ERROR_OK)
        fail_msg("seed %llu: %s\n%s", (unsigned long long)seed, e.message, text);
    free(text);
    ASSERT_OK(subject_mesh(s, meshes[rng_below(&r, 4)], &e), &e);
    ASSERT_OK(cost_machine_create(&s->mesh, rng_below(&r, 2) ? "a100-40" : "h100", 0, &s->machine, &e), &e);
    if (rng_below(&r, 3) == 0) /* so slow that FLOPs count, or so slow to talk to */
        for (int i = 0; i < COST_RATES; i++)
            s->machine.device.rate_flops[i] *= 1e-4;
    if (rng_below(&r, 3) == 0)
        for (uint32_t a = 0; a < s->mesh.axis_count; a++)
            s->machine.links[a].bytes_per_s *= 1e-4;
    if (rng_below(&r, 3) == 0)
        s->machine.device.launch_ps = 1000;
    ASSERT_OK(subject_evaluator(s, &e), &e);
    if (rng_below(&r, 3) == 0) { /* memory that not every plan keeps */
        s->machine.memory_limit_bytes =
            evaluator_unsharded(s->evaluator)->peak_bytes * (int64_t)(4 + rng_below(&r, 6)) / 10;
        ASSERT_OK(subject_evaluator(s, &e), &e);
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

static void try_plan(const struct subject *s, struct evaluator_session *session, const struct plan *p,
                     const struct plan_cfn_answer *a, uint64_t seed, struct best *best)
{
    struct price price;
    struct cost cost;
    struct error e;
    ASSERT_OK(evaluator_price(session, p, &price, &cost, &e), &e);
    if (!cost.over_steps && a->has_bound && a->bound_ps > price.step_ps) {
        struct text t = {0};
        struct spmd_local l = {0};
        ASSERT_OK(spmd_walk(s->context, p, evaluator_options(s->evaluator), &l, &e), &e);
        spmd_local_text(&l, &t);
        fail_msg("seed %llu: the bound %lld is above a plan's %lld\n%s%s", (unsigned long long)seed,
                 (long long)a->bound_ps, (long long)price.step_ps, write_program(seed), t.at);
    }
    if (!best->any || cost_compare(cost, p->hash, best->cost, best->hash) < 0)
        *best = (struct best){cost, p->hash, price, true};
}

/* every combination of options when they are few (true), else a sample; and random plans */
static bool try_plans(const struct subject *s, const struct plan_cfn *n, const struct plan_cfn_answer *a,
                      uint64_t seed, struct best *best, struct tally *t)
{
    uint32_t nodes = plan_cfn_problem(n)->node_count;
    uint64_t product = 1, tries;
    int32_t *values = mem_zalloc(nodes + 1, sizeof *values);
    struct evaluator_session *session = evaluator_session_create(s->evaluator);
    struct rng r = {seed ^ 0x706c616e};
    struct plan p;
    plan_init(&p, s->nda, &s->mesh);
    for (uint32_t i = 0; i < nodes && product <= EXHAUSTIVE; i++)
        product *= plan_cfn_domain(n, i);
    bool all = product <= EXHAUSTIVE;
    tries = all ? product : SAMPLES;
    for (uint64_t k = 0; k < tries; k++) {
        uint64_t rest = k;
        for (uint32_t i = 0; i < nodes; i++) {
            uint64_t domain = plan_cfn_domain(n, i);
            values[i] = (int32_t)(all ? rest % domain : rng_below(&r, domain));
            rest /= domain;
        }
        plan_cfn_plan(n, values, &p);
        try_plan(s, session, &p, a, seed, best);
    }
    for (uint32_t k = 0; k < SAMPLES; k++) {
        plan_random(s->context, &r, &p);
        try_plan(s, session, &p, a, seed, best);
    }
    t->plans += tries + SAMPLES;
    t->exhausted += all;
    plan_release(&p);
    evaluator_session_destroy(session);
    free(values);
    return all;
}

static void one_program(uint64_t seed, struct tally *t)
{
    struct subject s;
    struct plan_cfn *n;
    struct plan_cfn_answer a, again;
    struct error e;
    struct best best = {.any = false};
    unsigned char *bytes;
    size_t size;
    open_subject(&s, seed);
    struct plan_cfn_budget budget = {.passes = 100, .seed = seed, .threads = 1};
    ASSERT_OK(plan_cfn_solve(s.evaluator, &budget, &a, &e), &e);
    ASSERT_OK(plan_cfn_create(s.evaluator, PLAN_CFN_SHARED, &n, &e), &e);
    bool all = try_plans(&s, n, &a, seed, &best, t);
    /* nothing is better than the best of all plans */
    if (all && cost_compare(a.cost, a.hash, best.cost, best.hash) < 0)
        fail_msg("seed %llu: the answer is better than every plan", (unsigned long long)seed);
    t->optimal += all && a.cost.c == best.cost.c && a.cost.over_steps == best.cost.over_steps;
    t->bounded += a.has_bound;
    if (all && a.has_bound && !best.cost.over_steps) {
        t->bound_over_optimum += (double)a.bound_ps / (double)best.price.step_ps;
        t->tight++;
    }
    plan_cfn_answer_write(&a, &bytes, &size);
    ASSERT_OK(plan_cfn_answer_read(s.evaluator, bytes, size, &again, &e), &e);
    assert_int_equal(again.price.step_ps, a.price.step_ps);
    assert_int_equal(hash128_compare(again.hash, a.hash), 0);
    assert_int_equal(again.bound_ps, a.bound_ps);
    plan_cfn_answer_release(&again);
    if (size > 80) {
        bytes[size - 8] ^= 1; /* a factor */
        assert_int_not_equal(plan_cfn_answer_read(s.evaluator, bytes, size, &again, &e), ERROR_OK);
    }
    free(bytes);
    plan_cfn_answer_release(&a);
    plan_cfn_destroy(n);
    subject_close(&s);
}

static void test_bound_optimum_plan(void **state)
{
    (void)state;
    struct tally t = {0};
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++)
        one_program(seed, &t);
    printf("%d programs, %llu plans; all plans of %u; bound given for %u, on average %.3f of the optimum "
           "(%u); the answer is "
           "optimal on %u\n",
           PROGRAMS, (unsigned long long)t.plans, t.exhausted, t.bounded,
           t.tight ? t.bound_over_optimum / t.tight : 0, t.tight, t.optimal);
    assert_true(t.exhausted >= PROGRAMS / 10);
    assert_true(t.bounded >= PROGRAMS / 5);
    assert_true(t.bound_over_optimum > 0.05 * t.tight); /* a bound of nothing would pass all else */
    assert_true(t.optimal * 2 >= t.exhausted);
}

/* a quick run gives no bound and seldom less; where its first plan is behind what is known it solves no
 * other network */
static void test_quick(void **state)
{
    (void)state;
    enum { TRIES = 100 };
    unsigned as_good = 0, shorter = 0;
    for (uint64_t seed = 1; seed <= TRIES; seed++) {
        struct subject s;
        struct plan_cfn_answer whole, quick, behind, level;
        struct error e;
        open_subject(&s, seed);
        struct cost perfect = {.c = 0};
        struct plan_cfn_budget budget = {.passes = 100, .seed = seed, .threads = 1};
        ASSERT_OK(plan_cfn_solve(s.evaluator, &budget, &whole, &e), &e);
        budget.quick = true;
        ASSERT_OK(plan_cfn_solve(s.evaluator, &budget, &quick, &e), &e);
        budget.known = &perfect;
        ASSERT_OK(plan_cfn_solve(s.evaluator, &budget, &behind, &e), &e);
        budget.known = &whole.cost;
        budget.threads = 2;
        ASSERT_OK(plan_cfn_solve(s.evaluator, &budget, &level, &e), &e);
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
        subject_close(&s);
    }
    printf("quick: as good on %u of %d, ended early on %u\n", as_good, TRIES, shorter);
    assert_true(as_good >= TRIES * 9 / 10);
    assert_true(shorter >= TRIES / 2);
}

/* the exported text is the problem that the solver gets */
static void test_export(void **state)
{
    (void)state;
    struct subject s;
    struct plan_cfn *n;
    struct error e;
    struct text t = {0};
    struct cfn_problem p;
    struct cfn_verdict mine, its;
    open_subject(&s, 7);
    ASSERT_OK(plan_cfn_create(s.evaluator, PLAN_CFN_FULL, &n, &e), &e);
    plan_cfn_write(n, "seven", &t);
    ASSERT_OK(cfn_problem_read(t.at, t.size, &p, &e), &e);
    assert_string_equal(p.name, "seven");
    int32_t *values = mem_zalloc(p.node_count + 1, sizeof *values);
    struct rng r = {7};
    for (int k = 0; k < 20; k++) {
        for (uint32_t i = 0; i < p.node_count; i++)
            values[i] = (int32_t)rng_below(&r, (uint64_t)p.nodes[i].domain);
        ASSERT_OK(cfn_evaluate(plan_cfn_problem(n), values, &mine, &e), &e);
        ASSERT_OK(cfn_evaluate(&p, values, &its, &e), &e);
        assert_true(mine.cost == its.cost && mine.peak == its.peak && mine.feasible == its.feasible);
    }
    free(values);
    cfn_problem_release(&p);
    text_release(&t);
    plan_cfn_destroy(n);
    subject_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bound_optimum_plan),
                                       cmocka_unit_test(test_quick), cmocka_unit_test(test_export)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
