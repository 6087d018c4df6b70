/* timeout: 240 */
/* Programs of segments: as many as CFP's equation 7 says, the same at any depth, each proved equal to the
 * segment that it stands for; tables made of their times, and times that do not fit refused by name. */
#include "support.h"

#include "planner/proof.h"
#include "segments/programs.h"
#include "subject.h"

#include <stdio.h>
#include <string.h>

static void open_programs(struct subject *subject, const char *name, const char *mesh,
                          struct segments_programs *programs)
{
    struct error e = {0};
    char *path = mem_printf(SUPPORT_MODELS "%s", name);
    ASSERT_OK(subject_file(subject, path, &e), &e);
    ASSERT_OK(subject_mesh(subject, mesh, &e), &e);
    ASSERT_OK(segments_programs_create(subject->context, programs, &e), &e);
    free(path);
}

static void close_programs(struct subject *subject, struct segments_programs *programs)
{
    segments_programs_release(programs);
    subject_close(subject);
}

/* of the segments of layers alone: without embedding and head, which are kinds of one block */
static uint32_t of_layers(const struct segments_programs *programs)
{
    const struct segments *segments = programs->segments;
    uint32_t count = 0;
    for (uint32_t i = 0; i < programs->count; i++) {
        const struct segments_original *original = segments_original_of(programs, i);
        count += segments->segments[original->segments[0]].count > 1 &&
                 segments->segments[original->segments[1]].count > 1;
    }
    return count;
}

static void check_count(const char *name)
{
    struct subject subject;
    struct segments_programs programs;
    open_programs(&subject, name, "data=4", &programs);
    assert_int_equal(programs.count, programs.segments->programs);
    assert_int_equal(of_layers(&programs), 180);
    close_programs(&subject, &programs);
}

static void equation_7(void **state)
{
    check_count("segments/bert_6.mlir.gz");
    check_count("segments/gpt_6.mlir.gz");
    check_count("segments/llama_6.mlir.gz");
    check_count("gpt.mlir.gz");
}

static void prove(struct segments_programs *programs, uint32_t i, uint32_t *sharded)
{
    struct error e = {0};
    struct plan plan = {0};
    struct spmd_local local = {0};
    struct planner_proof proof;
    struct text text = {0};
    const struct segments_original *original = segments_original_of(programs, i);
    segments_program_text(programs, i, &text);
    ASSERT_OK(segments_program_walk(programs, i, &plan, &local, &e), &e);
    ASSERT_OK(
        planner_proof_run(&original->piece.program, original->context, &plan, &local, 1, NULL, &proof, &e),
        &e);
    if (proof.status != VERIFY_PROOF_EQUAL)
        fail_msg("%s: %s %s", text.at, verify_status_text(proof.status), proof.reason);
    *sharded += plan.hash.lo != plan_context_start(original->context)->hash.lo;
    text_release(&text);
    spmd_local_release(&local);
    plan_release(&plan);
}

static void proved(void **state)
{
    struct subject subject;
    struct segments_programs programs;
    uint32_t sharded = 0;
    open_programs(&subject, "segments/gpt_6.mlir.gz", "data=4", &programs);
    for (uint32_t i = 0; i < programs.count; i += 9)
        prove(&programs, i, &sharded);
    assert_true(sharded > 0);
    close_programs(&subject, &programs);
}

/* the line that makes what `line` reads first, in a text in generic form; NULL: an argument */
static const char *made_by(const char *text, const char *line)
{
    char start[32];
    const char *value = strchr(strstr(line, "\"("), '%');
    snprintf(start, sizeof start, " %.*s = ", (int)strcspn(value, ",)"), value);
    return strstr(text, start);
}

static bool is_op(const char *line, const char *name)
{
    const char *at = line ? strchr(line, '"') : NULL;
    return at && strncmp(at + 1, name, strlen(name)) == 0;
}

/* what is summed and sent with something else, in one array, is summed in a kernel of its own */
static void sums_stand_apart(void **state)
{
    static const char barrier[] = "\"stablehlo.optimization_barrier\"";
    struct subject subject;
    struct segments_programs programs;
    uint32_t apart = 0;
    open_programs(&subject, "segments/gpt_6.mlir.gz", "data=4", &programs);
    for (uint32_t i = 0; i < programs.count; i++) {
        struct text text = {0};
        char digest[SEGMENTS_DIGEST_SIZE];
        struct error e = {0};
        ASSERT_OK(segments_program_write(&programs, i, &text, digest, &e), &e);
        for (const char *at = text.at; (at = strstr(at, barrier)); at++) {
            const char *rows = made_by(text.at, at);
            assert_true(is_op(rows, "stablehlo.reshape"));
            apart += is_op(made_by(text.at, rows), "stablehlo.reduce\"");
        }
        text_release(&text);
    }
    assert_true(apart > 0);
    close_programs(&subject, &programs);
}

/* ---- tables from times ---- */

static int by_digest(const void *a, const void *b)
{
    return strcmp(((const struct segments_timing *)a)->digest, ((const struct segments_timing *)b)->digest);
}

/* a time for every program, from its digest; owned */
static struct segments_timing *made_up(struct segments_programs *programs, struct segments_timings *out)
{
    struct error e = {0};
    struct segments_timing *at = mem_zalloc(programs->count, sizeof *at);
    uint32_t count = 0;
    for (uint32_t i = 0; i < programs->count; i++) {
        struct text text = {0};
        ASSERT_OK(segments_program_write(programs, i, &text, at[i].digest, &e), &e);
        text_release(&text);
        at[i].time_ps = 1000000 + at[i].digest[0] * 1000 + at[i].digest[1];
        at[i].peak_bytes = 1000 + at[i].digest[2];
    }
    qsort(at, programs->count, sizeof *at, by_digest);
    for (uint32_t i = 0; i < programs->count; i++)
        if (!count || strcmp(at[count - 1].digest, at[i].digest) != 0)
            at[count++] = at[i];
    *out = (struct segments_timings){at, count, 4};
    return at;
}

static void refused(const struct evaluator *evaluator, const struct segments_timings *timings,
                    const char *pointer, const char *words)
{
    struct segments_budget budget = {.seed = 1, .threads = 1, .timings = timings};
    struct segments_answer answer;
    struct error e = {0};
    assert_int_equal(segments_solve(evaluator, &budget, &answer, &e), ERROR_INVALID_REQUEST);
    assert_string_equal(e.pointer, pointer);
    if (!strstr(e.message, words))
        fail_msg("'%s' is not in: %s", words, e.message);
    segments_answer_release(&answer);
}

static void measured(void **state)
{
    struct subject subject;
    struct segments_programs programs;
    struct segments_timings timings;
    struct segments_answer answer;
    struct error e = {0};
    open_programs(&subject, "segments/gpt_6.mlir.gz", "data=4", &programs);
    ASSERT_OK(subject_device(&subject, "a100-40", 0, &e), &e);
    struct segments_timing *at = made_up(&programs, &timings);
    struct segments_budget budget = {.seed = 1, .threads = 1, .timings = &timings};
    ASSERT_OK(segments_solve(subject.evaluator, &budget, &answer, &e), &e);
    assert_int_equal(answer.measured, programs.count);
    assert_true(answer.proved);
    assert_true(answer.composed_ps > 8 * 1000000); /* eight segments */
    assert_true(answer.composed_ps < 30 * 1200000);
    segments_answer_release(&answer);
    timings.devices = 8;
    refused(subject.evaluator, &timings, "/device/profile/devices", "ran on 8 devices, the mesh has 4");
    timings.devices = 0;
    refused(subject.evaluator, &timings, "/device/profile/devices", "does not say");
    timings.devices = 4;
    timings.count--;
    refused(subject.evaluator, &timings, "/device/profile/segments", at[timings.count].digest);
    for (uint32_t i = 0; i <= timings.count; i++)
        at[i].digest[0] = 'x';
    refused(subject.evaluator, &timings, "/device/profile/segments", "none of the module's 204 programs");
    free(at);
    close_programs(&subject, &programs);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equation_7), cmocka_unit_test(proved),
                                       cmocka_unit_test(sums_stand_apart), cmocka_unit_test(measured)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
