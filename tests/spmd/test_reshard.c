/* The reshard planner alone: random forms of a value of three atoms on a mesh of four axes. Every sequence
 * must be made of legal moves, end in the target, and move no more than gathering everything and cutting
 * it again. */
#include "support.h"

#include "spmd/walk.h"

#include <string.h>

static struct nda_atom atoms[3] = {{16, 0, 0}, {8, 0, 1}, {24, 1, 0}};
static uint32_t value_atoms[2] = {0, 3};
static struct nda nda;
static int64_t bytes = 16 * 8 * 24 * 4;
static struct walk_table table;
static struct walk w;

static void prepare(void)
{
    static const int64_t sizes[4] = {2, 4, 2, 3};

    nda.atoms = atoms;
    nda.value_atoms = value_atoms;
    table.value_bytes = &bytes;
    w = (struct walk){.nda = &nda, .table = &table, .axes = 4};
    memcpy(w.size, sizes, sizeof sizes);
    for (uint8_t a = 0; a < 4; a++)
        w.slow_first[a] = a;
}

/* puts every axis on a random atom with room, or nowhere, or (from) makes it a partial sum */
static struct spmd_form random_form(struct rng *rng, bool partial)
{
    struct spmd_form form = spmd_form_none;
    uint32_t order[4] = {0, 1, 2, 3};

    for (uint32_t i = 3; i > 0; i--) {
        uint32_t k = (uint32_t)rng_below(rng, i + 1), t = order[i];
        order[i] = order[k];
        order[k] = t;
    }
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t a = order[i], choice = (uint32_t)rng_below(rng, partial ? 6 : 4);
        if (choice >= 4)
            form.at[a] = SPMD_PARTIAL + NDA_REDUCE_ADD;
        if (choice >= 3)
            continue;
        int64_t left = atoms[choice].size;
        uint8_t here = 0;
        for (uint32_t b = 0; b < 4; b++)
            if (form.at[b] == choice) {
                left /= w.size[b];
                here++;
            }
        if (left % w.size[a])
            continue;
        form.at[a] = (uint8_t)choice;
        form.position[a] = here;
    }
    return form;
}

/* Function boundary: some free axes go on the whole first dim, 16 x 8, when the atoms' axes leave one
 * block of it. */
static bool add_whole(struct rng *rng, struct spmd_form *form)
{
    int64_t left = 16 * 8, outer = 16;
    uint8_t here = 0;

    for (uint32_t a = 0; a < 4; a++) {
        left /= form->at[a] < 2 ? w.size[a] : 1;
        outer /= form->at[a] == 0 ? w.size[a] : 1;
        if (walk_partial_mask(form, 4))
            return false;
    }
    for (uint32_t a = 0; a < 4; a++)
        if (form->at[a] == 1 && outer > 1)
            return false;
    for (uint32_t a = 4; a-- > 0;)
        if (form->at[a] == SPMD_REPLICATED && left % w.size[a] == 0 && rng_below(rng, 2)) {
            left /= w.size[a];
            form->at[a] = SPMD_WHOLE;
            form->position[a] = here++;
        }
    return here > 0;
}

static int64_t local_bytes(const struct spmd_form *form)
{
    int64_t b = bytes;

    for (uint32_t a = 0; a < 4; a++)
        if (form->at[a] < SPMD_PARTIAL)
            b /= w.size[a];
    return b;
}

static void check_legal(const struct spmd_form *form)
{
    for (uint8_t atom = 0; atom < 3; atom++) {
        int64_t shards = 1;
        uint32_t seen = 0, count = 0;
        for (uint32_t a = 0; a < 4; a++)
            if (form->at[a] == atom) {
                shards *= w.size[a];
                seen |= 1u << form->position[a];
                count++;
            }
        assert_int_equal(seen, (1u << count) - 1);
        assert_int_equal(atoms[atom].size % shards, 0);
    }
}

/* applies a step by its own description; returns bytes received */
static int64_t apply(struct spmd_form *form, const struct reshard_step *reshard_step)
{
    int64_t before = local_bytes(form), at_most = 0;

    if (reshard_step->kind == SPMD_PERMUTE) {
        assert_int_equal(local_bytes(&reshard_step->after), before);
        *form = reshard_step->after;
        return before;
    }
    for (uint32_t k = reshard_step->axis_count; k-- > 0;) {
        uint8_t a = reshard_step->axes[k];
        if (reshard_step->kind == SPMD_ALL_GATHER || reshard_step->kind == SPMD_ALL_TO_ALL) {
            assert_int_equal(form->at[a], reshard_step->atom);
            for (uint32_t b = 0; b < 4; b++)
                assert_true(form->at[b] != reshard_step->atom || form->position[b] <= form->position[a]);
        } else {
            assert_int_equal(form->at[a], reshard_step->kind == SPMD_SLICE
                                              ? SPMD_REPLICATED
                                              : SPMD_PARTIAL + reshard_step->reducer);
        }
        form->at[a] = SPMD_REPLICATED;
        form->position[a] = 0;
    }
    if (reshard_step->kind == SPMD_ALL_TO_ALL || reshard_step->kind == SPMD_REDUCE_SCATTER ||
        reshard_step->kind == SPMD_SLICE)
        for (uint32_t k = 0; k < reshard_step->axis_count; k++) {
            uint8_t here = 0;
            for (uint32_t b = 0; b < 4; b++)
                here += form->at[b] == reshard_step->to_atom;
            form->at[reshard_step->axes[k]] = reshard_step->to_atom;
            form->position[reshard_step->axes[k]] = here;
        }
    assert_true(spmd_form_equal(form, &reshard_step->after));
    if (reshard_step->kind == SPMD_ALL_GATHER)
        at_most = local_bytes(form);
    else if (reshard_step->kind == SPMD_ALL_REDUCE)
        at_most = 2 * before;
    else if (reshard_step->kind != SPMD_SLICE)
        at_most = before;
    return at_most;
}

static void test_random_forms(void **state)
{
    struct rng rng = {support_seed(7)};
    uint32_t kinds[SPMD_RESULT + 1] = {0};

    (void)state;
    prepare();
    for (int i = 0; i < 200000; i++) {
        struct spmd_form from = random_form(&rng, true), to = random_form(&rng, false), form = from;
        struct reshard plan;
        if (i % 4 == 0) /* some partials stay */
            for (uint32_t a = 0; a < 4; a++)
                if (walk_partial_mask(&from, 4) >> a & 1) {
                    walk_form_drop(&to, 4, a);
                    to.at[a] = from.at[a];
                }
        walk_reshard(&w, 0, &from, &to, &plan);
        int64_t moved = 0;
        for (uint32_t k = 0; k < plan.count; k++) {
            moved += apply(&form, &plan.steps[k]);
            check_legal(&form);
            kinds[plan.steps[k].kind]++;
        }
        assert_true(spmd_form_equal(&form, &to));
        assert_true(plan.count <= 10);
        assert_true(moved <= 4 * bytes);
    }
    for (int k = SPMD_ALL_GATHER; k <= SPMD_SLICE; k++)
        assert_true(kinds[k] > 100);
}

static void test_whole_dims(void **state)
{
    struct rng rng = {support_seed(9)};
    uint32_t both = 0, one = 0;

    (void)state;
    prepare();
    for (int i = 0; i < 100000; i++) {
        struct spmd_form from = random_form(&rng, i % 4 == 0), to = random_form(&rng, false), form = from;
        struct reshard plan;
        bool stored = add_whole(&rng, &from), wanted = add_whole(&rng, &to);
        form = from;
        walk_reshard(&w, 0, &from, &to, &plan);
        for (uint32_t k = 0; k < plan.count; k++) {
            apply(&form, &plan.steps[k]);
            check_legal(&form);
        }
        assert_true(spmd_form_equal(&form, &to));
        both += stored && wanted;
        one += stored != wanted;
    }
    assert_true(both > 1000 && one > 1000);
}

/* per axis: '-' or "01" atom and position, "+ " partial */
static struct spmd_form form(const char *spec)
{
    struct spmd_form form = spmd_form_none;

    for (uint32_t a = 0; a < 4; a++, spec += 2) {
        if (spec[0] == '+')
            form.at[a] = SPMD_PARTIAL + NDA_REDUCE_ADD;
        else if (spec[0] != '-') {
            form.at[a] = (uint8_t)(spec[0] - '0');
            form.position[a] = (uint8_t)(spec[1] - '0');
        }
    }
    return form;
}

static void expect(const char *from, const char *to, uint32_t count, const enum spmd_step_kind *kinds)
{
    struct spmd_form spmd_form = form(from), other_form = form(to);
    struct reshard plan;

    walk_reshard(&w, 0, &spmd_form, &other_form, &plan);
    assert_int_equal(plan.count, count);
    for (uint32_t i = 0; i < count; i++)
        assert_int_equal(plan.steps[i].kind, kinds[i]);
}

#define EXPECT(from, to, ...)                                                                                \
    do {                                                                                                     \
        enum spmd_step_kind kinds_[] = {__VA_ARGS__};                                                        \
        expect(from, to, sizeof kinds_ / sizeof *kinds_, kinds_);                                            \
    } while (0)

static void test_known_forms(void **state)
{
    (void)state;
    prepare();
    EXPECT("00------", "--------", SPMD_ALL_GATHER);
    EXPECT("--------", "00------", SPMD_SLICE);
    EXPECT("+ ------", "--------", SPMD_ALL_REDUCE);
    EXPECT("+ ------", "20------", SPMD_REDUCE_SCATTER);
    EXPECT("+ + ----", "--------", SPMD_ALL_REDUCE);
    EXPECT("+ + ----", "0001----", SPMD_REDUCE_SCATTER); /* one step over both */
    EXPECT("00------", "20------", SPMD_ALL_TO_ALL);
    EXPECT("0001----", "0100----", SPMD_PERMUTE);    /* another order of blocks */
    EXPECT("0001----", "--------", SPMD_ALL_GATHER); /* both at once */
    EXPECT("0001----", "00------", SPMD_ALL_GATHER); /* the minor one */
    EXPECT("0001----", "--00----", SPMD_PERMUTE, SPMD_ALL_GATHER);
    EXPECT("00--20--", "20--00--", SPMD_PERMUTE); /* axes of equal size change places */
    EXPECT("+ 00----", "0100----", SPMD_REDUCE_SCATTER);
}

/* Two axes on two dims: the slow one is gathered first and scattered last, whatever the atoms' order. */
static void test_axis_order(void **state)
{
    struct spmd_form sharded = form("0020----"), whole = form("--------"), partial = form("+ + ----");
    struct reshard plan;

    (void)state;
    prepare();
    for (uint8_t slow = 0; slow < 2; slow++) {
        w.slow_first[0] = slow;
        w.slow_first[1] = !slow;
        walk_reshard(&w, 0, &sharded, &whole, &plan);
        assert_int_equal(plan.count, 2);
        assert_int_equal(plan.steps[0].axes[0], slow);
        walk_reshard(&w, 0, &partial, &sharded, &plan);
        assert_int_equal(plan.count, 2);
        assert_int_equal(plan.steps[0].kind, SPMD_REDUCE_SCATTER);
        assert_int_equal(plan.steps[0].axes[0], !slow);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_forms),
        cmocka_unit_test(test_whole_dims),
        cmocka_unit_test(test_known_forms),
        cmocka_unit_test(test_axis_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
