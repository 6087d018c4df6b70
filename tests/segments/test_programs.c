/* timeout: 240 */
/* Programs of segments: as many as CFP's equation 7 says, the same at any depth, each proved equal to the segment
 * that it stands for. */
#include "support.h"

#include "planner/proof.h"
#include "segments/programs.h"
#include "subject.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(equation_7), cmocka_unit_test(proved)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
