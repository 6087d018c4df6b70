/* label: proof */
/* timeout: 720 */
/* Random plans are equal to the original: seeded plans of every small model and of tiny programs of every
 * op family, on the meshes 8, 4x2 and 2x2x2, walked, checked, emitted (manual and local form, every eighth
 * through its text) and interpreted against the original. A table counts what was exercised: every
 * (family, factor kind, reducer) that a program offers and every change of form must occur at least
 * AT_LEAST times.
 *
 * TOAST_PLANS=N plans a program (default PLANS), TOAST_ONLY=name one program, TOAST_SEED. Two processes
 * share the work. */
#include "subject.h"
#include "support.h"

#include "emit/emit.h"
#include "ir/print.h"
#include "planner/proof.h"
#include "spmd/local.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PLANS = 80,
    PROCESSES = 2,
    AT_LEAST = 10,
    CHUNK = 25,
    MAX_PROGRAMS = 80,
    KINDS = NDA_REPLICATE + 1,
    REDUCERS = NDA_REDUCE_OR + 1
};

static const char *const meshes[] = {"a=8", "a=4,b=2", "a=2,b=2,c=2"};
static const char *const models[] = {"mlp.mlir",
                                     "paper_attention.mlir",
                                     "small/t2b.mlir",
                                     "small/t2b_flat.mlir",
                                     "small/t2b_remat.mlir",
                                     "small/t2b_scan.mlir",
                                     "small/gpt.mlir",
                                     "small/gpt_torch.mlir",
                                     "small/gns.mlir",
                                     "small/unet.mlir",
                                     "small/itx.mlir"};

struct shared {
    atomic_uint next; /* chunk to take */
    atomic_uint failures, proved, not_run, unchanged;
    atomic_uint used[IR_FAMILIES][KINDS][REDUCERS];    /* factor sharded in an op that ran */
    atomic_uint offered[IR_FAMILIES][KINDS][REDUCERS]; /* a program has such a shardable factor */
    atomic_uint change[SPMD_RESULT + 1][REDUCERS];     /* reshards by kind and reducer */
    double worst;
};
static struct shared *shared;

static struct {
    char name[80];
    char *text;
    size_t size;
} programs[MAX_PROGRAMS];
static uint32_t program_count;
static uint32_t plans;
static uint64_t seed;

/* ------------------------------------------------------------------ programs */
static void add_program(const char *name, size_t name_size, char *text, size_t size)
{
    const char *only = getenv("TOAST_ONLY");
    char full[80];
    snprintf(full, sizeof full, "%.*s", (int)name_size, name);
    if (only && !strstr(full, only))
        return;
    assert_true(program_count < MAX_PROGRAMS);
    memcpy(programs[program_count].name, full, sizeof full);
    programs[program_count].text = text;
    programs[program_count++].size = size;
}

static void load_programs(void)
{
    size_t size;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        char *path = mem_printf("%s%s", SUPPORT_MODELS, models[i]);
        char *text = support_read(path, &size);
        free(path);
        add_program(models[i], strlen(models[i]), text, size);
    }
    char *tiny = support_read(TOAST_SOURCE_DIR "/tests/verify/tiny.mlir", &size);
    for (char *piece = strstr(tiny, "// -----\n"); piece;) {
        char *start = piece + 9, *end = strstr(start, "// -----\n"), *name = start + 3;
        size_t n = end ? (size_t)(end - start) : strlen(start);
        add_program(name, strcspn(name, ":\n"), mem_strndup(start, n), n);
        piece = end;
    }
    free(tiny);
}

/* ------------------------------------------------------------------ coverage */
static enum ir_family space_family(const struct nda *n, const struct nda_space *space)
{
    return space->kind == NDA_SPACE_ARGUMENT || space->kind == NDA_SPACE_RESULT
               ? IR_FAMILY_STRUCTURE
               : ir_opcode_family((enum ir_opcode)n->program->ops[space->op].code);
}

static void count_offered(const struct nda *n)
{
    for (uint32_t space = 0; space < n->space_count; space++)
        for (uint32_t f = 0; f < n->spaces[space].factor_count; f++) {
            const struct nda_factor *factor = &n->factors[n->spaces[space].factors + f];
            if (factor->shardable && factor->size % 2 == 0 && n->spaces[space].kind == NDA_SPACE_OP)
                shared->offered[space_family(n, &n->spaces[space])][factor->kind][factor->reducer]++;
        }
}

static void count_used(const struct spmd_local *local)
{
    const struct nda *n = local->nda;
    for (uint32_t i = 0; i < local->step_count; i++) {
        const struct spmd_step *step = &local->steps[i];
        if (step->kind >= SPMD_ALL_GATHER && step->kind <= SPMD_MASK)
            shared->change[step->kind][step->reducer]++;
        if (step->kind != SPMD_OP || step->cells == SPMD_NONE || n->op_space[step->op] == NDA_NONE)
            continue;
        const struct nda_space *space = &n->spaces[n->op_space[step->op]];
        for (uint32_t axis = 0; axis < local->mesh->axis_count; axis++) {
            uint8_t f = local->cells[step->cells + axis].factor;
            if (f == NDA_NO_FACTOR)
                continue;
            const struct nda_factor *factor = &n->factors[space->factors + f];
            shared->used[space_family(n, space)][factor->kind][factor->reducer]++;
        }
    }
}

/* ------------------------------------------------------------------ one plan */
struct trial {
    const char *name;
    struct subject module;
    struct plan_context *contexts[3];
    struct mesh meshes[3];
    struct verify_reference *reference;
};

static void complain(const struct trial *trial, uint32_t plan, const char *stage, const char *what)
{
    shared->failures++;
    printf("FAILED %s plan %u mesh %s (seed %llu): %s: %s\n", trial->name, plan, meshes[plan % 3],
           (unsigned long long)seed, stage, what);
    fflush(stdout);
}

static void fill_boundary(const struct plan_context *context, const struct plan *plan, uint32_t space,
                          struct verify_sharding *out)
{
    struct plan_sharding sharding;
    plan_boundary_sharding(context, plan, space, &sharding);
    memset(out, 0, sizeof *out);
    out->rank = sharding.rank;
    for (uint32_t dim = 0; dim < sharding.rank; dim++)
        for (uint32_t axis = 0; axis < sharding.dims[dim].count; axis++)
            out->dims[dim].at[out->dims[dim].count++] =
                (struct verify_axis){sharding.dims[dim].axes[axis], 1,
                                     plan_context_mesh(context)->axes[sharding.dims[dim].axes[axis]].size};
}

/* the emitted module, or what its text is read back as */
static enum error_code emit(const struct plan_context *context, const struct plan *plan,
                            const struct spmd_local *local, enum emit_output form, bool through_text,
                            struct ir_program *out, struct error *e)
{
    struct ir_program made = {0};
    enum error_code code = spmd_emit(context, plan, local, form, &made, e);
    if (code != ERROR_OK || !through_text) {
        *out = made;
        return code;
    }
    struct text text = {0};
    ir_print(&made, &text);
    ir_program_release(&made);
    code = ir_read(text.at, text.size, NULL, out, e);
    text_release(&text);
    return code;
}

static void prove_plan(struct trial *trial, uint32_t index, const struct plan_context *context,
                       const struct plan *plan, const struct spmd_local *spmd_local)
{
    struct ir_program module = {0};
    struct verify_report report;
    struct error e = {0};
    struct verify_boundary boundary = {0};
    struct verify_mesh mesh = {0};
    int64_t sizes[MESH_MAX_AXES];
    bool local = index % 2;
    if (emit(context, plan, spmd_local, local ? EMIT_LOCAL : EMIT_MANUAL, index % 8 < 2, &module, &e) !=
        ERROR_OK) {
        complain(trial, index, "emit", e.message);
        return;
    }
    const struct nda *n = trial->module.nda;
    struct verify_sharding *cuts = mem_zalloc((size_t)n->argument_count + n->result_count + 1, sizeof *cuts);
    if (local) {
        for (uint32_t axis = 0; axis < plan_context_mesh(context)->axis_count; axis++)
            sizes[axis] = plan_context_mesh(context)->axes[axis].size;
        ASSERT_OK(verify_mesh_make(&mesh, plan_context_mesh(context)->axis_count, sizes, NULL, &e), &e);
        for (uint32_t i = 0; i < n->argument_count; i++)
            fill_boundary(context, plan, n->arguments[i].space, &cuts[i]);
        for (uint32_t i = 0; i < n->result_count; i++)
            fill_boundary(context, plan, n->result_spaces[i], &cuts[n->argument_count + i]);
        boundary = (struct verify_boundary){&mesh, cuts, cuts + n->argument_count};
    }
    /* the kinds of input take turns, within each form */
    struct verify_options options = {.only_run = 1 + index / 2};
    enum error_code code =
        verify_prove(trial->reference, &module, local ? &boundary : NULL, &options, &report, &e);
    if (code != ERROR_OK)
        complain(trial, index, "prove", e.message);
    else if (report.status == VERIFY_PROOF_DIFFERENT)
        complain(trial, index, local ? "local form differs" : "manual form differs", report.reason);
    else if (report.status == VERIFY_PROOF_NOT_RUN)
        complain(trial, index, "not run", report.reason);
    else
        shared->proved++;
    free(cuts);
    verify_mesh_release(&mesh);
    ir_program_release(&module);
}

static void try_plan(struct trial *trial, uint32_t index, struct spmd_local *local)
{
    const struct plan_context *context = trial->contexts[index % 3];
    struct rng rng = {
        hash_combine(hash_combine(seed, index), hash_bytes(trial->name, strlen(trial->name), 0))};
    struct spmd_options options = spmd_default_options(&trial->meshes[index % 3]);
    options.defer_partials = index % 5 != 0;
    options.regather = index % 7 == 0;
    options.combine_bytes = index % 4 ? 0 : 4096;
    struct error e = {0};
    struct plan plan;
    plan_init(&plan, trial->module.nda, &trial->meshes[index % 3]);
    plan_copy(&plan, plan_context_start(context));
    plan_random(context, &rng, &plan);
    uint32_t regathers = 0;
    const struct plan_decision *again = plan_context_regathers(context, &regathers);
    for (uint32_t i = index % 5; i < regathers && index % 3 == 0; i += 2)
        (void)plan_apply(context, &plan, again[i]);
    if (hash128_compare(plan.hash, plan_context_start(context)->hash) == 0)
        shared->unchanged++;
    if (hash128_compare(plan.hash, plan_hash_full(&plan, trial->module.nda)) != 0)
        complain(trial, index, "plan", "incremental hash differs from the full one");
    if (spmd_walk(context, &plan, &options, local, &e) != ERROR_OK)
        complain(trial, index, "walk", e.message);
    else if (spmd_local_check(local, &e) != ERROR_OK)
        complain(trial, index, "check", e.message);
    else {
        count_used(local);
        prove_plan(trial, index, context, &plan, local);
    }
    plan_release(&plan);
}

/* ------------------------------------------------------------------ one program */
static bool open_trial(struct trial *trial, uint32_t program)
{
    struct error e = {0};
    trial->name = programs[program].name;
    enum error_code code = subject_text(&trial->module, programs[program].text, programs[program].size, &e);
    for (int m = 0; m < 3 && code == ERROR_OK; m++) {
        code = mesh_parse(meshes[m], &trial->meshes[m], &e);
        if (code == ERROR_OK)
            code =
                plan_context_create(trial->module.nda, &trial->meshes[m], NULL, 0, &trial->contexts[m], &e);
    }
    if (code == ERROR_OK)
        code = verify_reference_create(&trial->module.program, seed, NULL, &trial->reference, &e);
    if (code != ERROR_OK) {
        printf("line %d column %d: ", e.line, e.column);
        complain(trial, 0, "program", e.message);
    } else if (verify_reference_runs(trial->reference) == 0) {
        complain(trial, 0, "program", "no run of the reference is conclusive");
        return false;
    }
    return code == ERROR_OK;
}

static void close_trial(struct trial *trial)
{
    verify_reference_destroy(trial->reference);
    for (int m = 0; m < 3; m++)
        plan_context_destroy(trial->contexts[m]);
    subject_close(&trial->module);
}

/* Chunks go round the programs, so that both processes end together. */
static void work(void)
{
    uint32_t chunks = (plans + CHUNK - 1) / CHUNK;
    for (uint32_t job; (job = shared->next++) < program_count * chunks;) {
        struct trial trial = {0};
        struct spmd_local local = {0};
        uint32_t first = job / program_count * CHUNK, program = job % program_count;
        if (open_trial(&trial, program)) {
            if (first == 0)
                count_offered(trial.module.nda);
            for (uint32_t i = first; i < first + CHUNK && i < plans; i++)
                try_plan(&trial, i, &local);
        }
        spmd_local_release(&local);
        close_trial(&trial);
    }
}

/* ------------------------------------------------------------------ the table */
static bool print_coverage(void)
{
    static const char *const kinds[KINDS] = {"parallel", "contracting", "lookup",
                                             "update",   "windowed",    "replicate"};
    static const char *const reducers[REDUCERS] = {"", "add", "multiply", "max", "min", "and", "or"};
    bool enough = true;
    printf("\n%-16s %-12s %-9s %10s\n", "family", "factor", "reducer", "sharded");
    for (int f = 0; f < IR_FAMILIES; f++)
        for (int k = 0; k < KINDS; k++)
            for (int r = 0; r < REDUCERS; r++) {
                if (!shared->offered[f][k][r])
                    continue;
                bool ok = shared->used[f][k][r] >= AT_LEAST;
                enough = enough && ok;
                printf("%-16s %-12s %-9s %10u%s\n", ir_family_name((enum ir_family)f), kinds[k], reducers[r],
                       shared->used[f][k][r], ok ? "" : "  TOO FEW");
            }
    printf("\n%-18s %-9s %10s\n", "change of form", "reducer", "times");
    for (int k = SPMD_ALL_GATHER; k <= SPMD_MASK; k++) {
        bool reduces = k == SPMD_ALL_REDUCE || k == SPMD_REDUCE_SCATTER || k == SPMD_MASK;
        for (int r = reduces ? 1 : 0; r < (reduces ? REDUCERS : 1); r++) {
            bool ok = shared->change[k][r] >= AT_LEAST;
            enough = enough && ok;
            printf("%-18s %-9s %10u%s\n", spmd_step_kind_name((enum spmd_step_kind)k), reducers[r],
                   shared->change[k][r], ok ? "" : "  TOO FEW");
        }
    }
    return enough;
}

static void random_plans_mean_the_same(void **state)
{
    (void)state;
    seed = support_seed(20261120);
    plans = getenv("TOAST_PLANS") ? (uint32_t)strtoul(getenv("TOAST_PLANS"), NULL, 10) : PLANS;
    load_programs();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(shared != MAP_FAILED);
    fflush(stdout);
    pid_t children[PROCESSES];
    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        assert_true(children[i] >= 0);
        if (children[i] == 0) {
            work();
            fflush(stdout);
            _exit(0);
        }
    }
    bool died = false;
    for (int i = 0; i < PROCESSES; i++) {
        int status = 0;
        waitpid(children[i], &status, 0);
        died = died || status != 0;
    }
    bool enough = print_coverage();
    printf("\n%u programs, %u plans each: %u proved, %u failures, %u plans changed nothing\n", program_count,
           plans, shared->proved, shared->failures, shared->unchanged);
    assert_false(died);
    assert_int_equal(shared->failures, 0);
    assert_int_equal(shared->proved, program_count * plans);
    if (plans >= PLANS && !getenv("TOAST_ONLY")) {
        assert_true(enough);
        assert_int_equal(shared->unchanged, 0);
    }
}

int main(void)
{
    ir_read_program(TOAST_BINARY_DIR "/toast-read");
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_plans_mean_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
