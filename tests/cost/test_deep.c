/* timeout: 120 */
/* Deep programs: near the limit a fold's peak, told from two shorter programs, is that of all layers. */
#include "subject.h"
#include "support.h"

#include "analysis/fold.h"

enum { LAYERS = 60, PLANS = 20, MOST = 64 };

/* forward and backward through equal layers, each of which keeps what it made until the way back */
static void deep_text(struct text *text)
{
    text_add(text, "func.func @main(%h0: tensor<1024x512xf32>");
    for (int i = 0; i < LAYERS; i++)
        text_printf(text, ", %%w%d: tensor<512x512xf32>", i);
    text_add(text, ") -> tensor<1024x512xf32> {\n");
    for (int i = 0; i < LAYERS; i++)
        text_printf(text,
                    "  %%y%d = stablehlo.dot_general %%h%d, %%w%d, contracting_dims = [1] x [0] : "
                    "(tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>\n"
                    "  %%h%d = stablehlo.tanh %%y%d : tensor<1024x512xf32>\n",
                    i, i, i, i + 1, i);
    text_printf(text, "  %%g%d = stablehlo.negate %%h%d : tensor<1024x512xf32>\n", LAYERS, LAYERS);
    for (int i = LAYERS; i-- > 0;)
        text_printf(text,
                    "  %%m%d = stablehlo.multiply %%g%d, %%h%d : tensor<1024x512xf32>\n"
                    "  %%g%d = stablehlo.dot_general %%m%d, %%w%d, contracting_dims = [1] x [1] : "
                    "(tensor<1024x512xf32>, tensor<512x512xf32>) -> tensor<1024x512xf32>\n",
                    i, i + 1, i + 1, i, i, i);
    text_add(text, "  return %g0 : tensor<1024x512xf32>\n}\n");
}

/* decisions that treat layers alike: all but those of one layer's weights */
static uint32_t list_alike(const struct subject *subject, struct plan_decision out[MOST])
{
    uint32_t count, alike = 0;
    const struct fold *fold = evaluator_fold_of(subject->evaluator);
    const struct plan_decision *decisions = plan_context_decisions(subject->context, &count);
    struct plan plan;
    plan_init(&plan, subject->nda, &subject->mesh);
    for (uint32_t i = 0; i < count && alike < MOST; i++) {
        plan_copy(&plan, plan_context_start(subject->context));
        if (plan_apply(subject->context, &plan, decisions[i]) && fold_holds(fold, &plan))
            out[alike++] = decisions[i];
    }
    plan_release(&plan);
    return alike;
}

struct counted {
    uint32_t near, same;
};

static void compare(const struct subject *subject, int64_t limit_bytes, struct counted *counted)
{
    struct plan plan;
    struct plan_decision decisions[MOST];
    struct error e;
    struct rng rng = {5};
    uint32_t count = list_alike(subject, decisions);
    struct evaluator_session *session = evaluator_session_create(subject->evaluator);
    plan_init(&plan, subject->nda, &subject->mesh);
    assert_true(count > 0);
    for (uint32_t k = 0; k < PLANS; k++) {
        struct price told, all;
        bool priced;
        plan_copy(&plan, plan_context_start(subject->context));
        for (uint64_t n = rng_below(&rng, 4); n-- > 0;)
            plan_apply(subject->context, &plan, decisions[rng_below(&rng, count)]);
        ASSERT_OK(evaluator_price_folded(session, &plan, NULL, &told, NULL, &e), &e);
        ASSERT_OK(evaluator_price_unfolded(session, &plan, false, &priced, &all, NULL, &e), &e);
        if (!priced || !price_near_limit(&told, limit_bytes)) /* else nobody asks for all layers */
            continue;
        counted->near++;
        counted->same += told.peak_bytes == all.peak_bytes && told.step_ps == all.step_ps;
    }
    plan_release(&plan);
    evaluator_session_destroy(session);
}

static void peaks_are_told(void **state)
{
    (void)state;
    struct subject subject;
    struct error e;
    struct text text = {0};
    struct counted counted = {0, 0};
    deep_text(&text);
    ASSERT_OK(subject_text(&subject, text.at, text.size, &e), &e);
    ASSERT_OK(subject_mesh(&subject, "a=2,b=2,c=2", &e), &e);
    for (int64_t limit_bytes = 50000000; limit_bytes < 300000000; limit_bytes += limit_bytes / 4) {
        ASSERT_OK(subject_device(&subject, "h100", limit_bytes, &e), &e);
        assert_true(evaluator_fold(subject.evaluator, 4));
        const struct fold *fold = evaluator_fold_of(subject.evaluator);
        assert_true(fold->deep);
        for (int i = 0; i < FOLD_SHORTER; i++)
            assert_true(fold->shorter[i].copies < fold->copies);
        compare(&subject, limit_bytes, &counted);
    }
    print_message("%u of %u plans near the limit are as of all layers\n", counted.same, counted.near);
    assert_true(counted.near >= PLANS / 4);
    assert_true(counted.same * 10 >= counted.near * 9);
    subject_close(&subject);
    text_release(&text);
}

static void price_lists(const struct subject *subject, const struct plan_decision *decisions, uint32_t count,
                        struct price prices[PLANS], bool backward)
{
    struct evaluator_session *session = evaluator_session_create(subject->evaluator);
    struct plan plan;
    struct error e;
    plan_init(&plan, subject->nda, &subject->mesh);
    for (uint32_t k = 0; k < PLANS; k++) {
        uint32_t at = backward ? PLANS - 1 - k : k;
        plan_copy(&plan, plan_context_start(subject->context));
        plan_apply(subject->context, &plan, decisions[at % count]);
        plan_apply(subject->context, &plan, decisions[at * 7 % count]);
        ASSERT_OK(evaluator_price_folded(session, &plan, NULL, &prices[at], NULL, &e), &e);
    }
    plan_release(&plan);
    evaluator_session_destroy(session);
}

/* What a session leaves to the next changes no price, whatever that one asks, and another fold has nothing
 * of it. */
static void sessions_follow_each_other(void **state)
{
    (void)state;
    struct subject subject;
    struct error e;
    struct text text = {0};
    struct plan_decision decisions[MOST];
    struct price first[PLANS], again[PLANS];
    deep_text(&text);
    ASSERT_OK(subject_text(&subject, text.at, text.size, &e), &e);
    ASSERT_OK(subject_mesh(&subject, "a=2,b=2,c=2", &e), &e);
    ASSERT_OK(subject_device(&subject, "h100", 100000000, &e), &e);
    for (uint32_t kept = 4; kept <= 6; kept += 2) {
        assert_true(evaluator_fold(subject.evaluator, kept));
        uint32_t count = list_alike(&subject, decisions);
        price_lists(&subject, decisions, count, first, false);
        price_lists(&subject, decisions, count, again, true);
        assert_memory_equal(first, again, sizeof first);
    }
    subject_close(&subject);
    text_release(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(peaks_are_told),
                                       cmocka_unit_test(sessions_follow_each_other)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
