/* toast prove: the original module and the device-local modules of a plan, run by the interpreter on the
 * same inputs and compared (planner/proof.h); one plan, or many random ones. */
#include "api/artifacts.h"
#include "base/file.h"
#include "base/hash.h"
#include "cli/choose.h"
#include "cli/output.h"
#include "ir/prepare.h"
#include "verify/npz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: toast prove MODULE --plan plan.json\n"
    "       toast prove MODULE --mesh data=4,model=2 [--decisions LIST | --baseline NAME | --random-plan "
    "SEED]\n"
    "       toast prove MODULE --mesh data=4,model=2 --random-plans N [--first SEED]\n"
    "       toast prove MODULE --plan plan.json --lowered FILE\n\n"
    "  --plan FILE           plan.json of `toast plan` (brings its own mesh)\n"
    "  --mesh AXES           mesh axes, outermost first\n"
    "  --decisions LIST      e.g. \"batch@data,ffn@model\", in order of priority\n"
    "  --baseline NAME       an expert plan, e.g. fsdp:data+megatron:model\n"
    "  --cut LIST            the plan edited: \"ffn@model,embed@data+model,heads@\" cuts ffn over model and\n"
    "                        embed over both, leaves heads whole; what else it says follows where it can\n"
    "  --entry FUNC          the function that is meant; default: @main, or the only public one\n"
    "  --random-plan SEED    a seeded random plan\n"
    "  --device NAME, --devices-per-host N, --memory-limit SIZE\n"
    "                        as toast price takes them; they change no result\n"
    "  --random-plans N      N of them, seeds from --first (1) on; prints the ones that are not equal\n"
    "  --lowered FILE        instead of what the plan is lowered to: a module that was edited, or lowered "
    "by\n"
    "                        another tool, annotated, manual or local (by the plan's arguments and results)\n"
    "  --inputs SEED         seed of the inputs; default 1\n"
    "  --inputs FILE.npz     the inputs themselves: numpy.savez of one array an argument, by the argument's\n"
    "                        path (toast analyze prints it), or in order; numbers of another type are\n"
    "                        converted where the argument's has each of them exactly\n"
    "  --json                proof.json on standard output\n\n"
    "Both the manual and the local form are run, all devices in this process. Where the module is too large, "
    "the same\n"
    "lowering is run with its dimensions cut; what was cut is said.\n"
    "exit status: 0 equal, 1 different, 2 usage or not run (too large, an op that is not interpreted), 6 "
    "module refused,\n7 inconclusive (what differs is as small as the original's own rounding)\n\n"
    "example:\n"
    "  toast prove model.mlir --plan plan/plan.json\n";

struct command {
    struct cli_choice choice;
    const char *module, *inputs, *plans, *first, *lowered;
    const char *failed; /* the file that an error is of */
    bool json;
};

static const char **option(struct command *command, const char *name)
{
    if (strcmp(name, "--inputs") == 0)
        return &command->inputs;
    if (strcmp(name, "--random-plans") == 0)
        return &command->plans;
    if (strcmp(name, "--lowered") == 0)
        return &command->lowered;
    return strcmp(name, "--first") == 0 ? &command->first : cli_choice_option(&command->choice, name);
}

static enum error_code parse(struct command *command, int argc, char **argv, struct error *e)
{
    for (int i = 1; i < argc; i++) {
        const char **value = option(command, argv[i]);
        if (value && i + 1 == argc)
            return error_set(e, ERROR_USAGE, "%s needs a value", argv[i]);
        if (value)
            *value = argv[++i];
        else if (strcmp(argv[i], "--json") == 0)
            command->json = true;
        else if (argv[i][0] == '-' && argv[i][1])
            return error_set(e, ERROR_USAGE, "there is no option %.60s; toast prove --help lists them",
                             argv[i]);
        else if (command->module)
            return error_set(e, ERROR_USAGE, "one module, not two: '%.200s' and '%.200s'", command->module,
                             argv[i]);
        else
            command->module = argv[i];
    }
    command->failed = command->module;
    if (command->lowered && command->plans)
        return error_set(e, ERROR_USAGE, "--lowered is one module; --random-plans lowers many");
    return command->module ? ERROR_OK
                           : error_set(e, ERROR_USAGE, "a module is needed; see toast prove --help");
}

static uint64_t number(const char *text, uint64_t absent)
{
    return text ? strtoull(text, NULL, 10) : absent;
}

static int status_of(enum verify_status s)
{
    return s == VERIFY_PROOF_EQUAL ? 0 : s == VERIFY_PROOF_DIFFERENT ? 1 : s == VERIFY_PROOF_NOT_RUN ? 2 : 7;
}

/* ---- inputs from a file */
enum { MAX_INPUT_BYTES = INT32_MAX };

static bool is_file(const char *inputs)
{
    size_t size = inputs ? strlen(inputs) : 0;
    return size > 4 && strcmp(inputs + size - 4, ".npz") == 0;
}

/* *given: NULL where the inputs are seeded; else owned with what it holds */
static enum error_code read_inputs(const struct command *command, const struct ir_program *prepared,
                                   struct verify_tensor **given, struct error *e)
{
    const struct nda *nda = command->choice.nda;
    char *bytes = NULL;
    size_t size = 0;
    *given = NULL;
    if (!is_file(command->inputs))
        return ERROR_OK;
    TRY(file_read(command->inputs, MAX_INPUT_BYTES, &bytes, &size, e));
    const char **names = mem_zalloc((size_t)nda->argument_count + 1, sizeof *names);
    for (uint32_t i = 0; i < nda->argument_count; i++)
        names[i] = nda->arguments[i].name;
    *given = mem_zalloc((size_t)nda->argument_count + 1, sizeof **given);
    enum error_code code = verify_inputs_npz(prepared, names, bytes, size, *given, e);
    if (code) {
        free(*given);
        *given = NULL;
    }
    free(names);
    free(bytes);
    return code;
}

static void inputs_free(const struct command *command, struct verify_tensor *given)
{
    for (uint32_t i = 0; given && i < command->choice.nda->argument_count; i++)
        verify_tensor_release(&given[i]);
    free(given);
}

static enum error_code prove_plan(struct command *command, const struct ir_program *prepared,
                                  const struct verify_options *options, struct planner_proof *proof,
                                  struct error *e)
{
    struct spmd_local local = {0};
    enum error_code code =
        spmd_walk(command->choice.context, &command->choice.chosen, &command->choice.walk, &local, e);
    if (!code)
        code = planner_proof_any_size(prepared, command->choice.context, &command->choice.chosen, &local,
                                      number(command->inputs, 1), options, proof, e);
    spmd_local_release(&local);
    return code;
}

static enum error_code prove_file(struct command *command, const struct ir_program *prepared,
                                  const struct verify_options *options, struct planner_proof *proof,
                                  struct error *e)
{
    struct ir_program lowered = {0};
    command->failed = command->lowered;
    enum error_code code = cli_read_module(command->lowered, &lowered, e);
    if (!code)
        code = ir_verify(&lowered, e);
    if (!code)
        command->failed = command->module;
    if (!code)
        code = planner_proof_lowered(prepared, command->choice.context, &command->choice.chosen, &lowered,
                                     number(command->inputs, 1), options, proof, e);
    ir_program_release(&lowered);
    return code;
}

static enum error_code prove_one(struct command *command, const struct ir_program *prepared, int *status,
                                 struct error *e)
{
    struct planner_proof proof;
    struct verify_tensor *given = NULL;
    enum error_code code = read_inputs(command, prepared, &given, e);
    struct verify_options options = {.given = given};
    if (!code)
        code = (command->lowered ? prove_file : prove_plan)(command, prepared, &options, &proof, e);
    inputs_free(command, given);
    if (code)
        return code;
    *status = status_of(proof.status);
    if (command->json) {
        char *json = api_proof_json(&proof);
        puts(json);
        free(json);
        return ERROR_OK;
    }
    const struct verify_report *ran = proof.manual.runs ? &proof.manual : &proof.local;
    double worst =
        proof.manual.max_error > proof.local.max_error ? proof.manual.max_error : proof.local.max_error;
    printf("%s: largest error %.3g of the result's magnitude, tolerance %.3g; %u runs%s, %llu "
           "collectives%s%s\n",
           verify_status_text(proof.status), worst, ran->tolerance, ran->runs,
           command->lowered ? "" : " of each form",
           (unsigned long long)proof.manual.collectives + proof.local.collectives,
           proof.reason[0] ? "\n" : "", proof.reason);
    if (ran->cancelled)
        printf("%u results are sums that cancel: their error is that beside what was summed\n",
               ran->cancelled);
    if (planner_proof_is_smaller(&proof)) {
        struct text sizes = {0};
        planner_proof_sizes_text(&proof, &sizes);
        printf("%s%s\n", sizes.at, proof.shrunken.widened ? "; in f32" : "");
        text_release(&sizes);
    }
    return ERROR_OK;
}

/* what random plans came to */
struct tally {
    uint32_t counts[VERIFY_STATUSES];
    uint32_t smaller; /* of them at smaller sizes */
    double worst;
};

/* One random plan against the kept results, or at smaller sizes where there are none or the plan's devices
 * compute too much; prints what is not equal. */
static enum error_code prove_seed(struct command *command, const struct ir_program *prepared,
                                  const struct verify_reference *reference, uint64_t seed,
                                  struct spmd_local *local, struct tally *tally, struct error *e)
{
    struct rng rng = {.state = seed};
    struct plan plan = {0};
    struct planner_proof proof = {0};
    plan_init(&plan, command->choice.nda, plan_context_mesh(command->choice.context));
    plan_copy(&plan, plan_context_start(command->choice.context));
    plan_random(command->choice.context, &rng, &plan);
    enum error_code code = spmd_walk(command->choice.context, &plan, &command->choice.walk, local, e);
    if (!code && reference)
        code = planner_proof_against(reference, command->choice.context, &plan, local, NULL, &proof, e);
    if (!code && (!reference || proof.too_large) && !is_file(command->inputs))
        code = planner_proof_any_size(prepared, command->choice.context, &plan, local,
                                      number(command->inputs, 1), NULL, &proof, e);
    plan_release(&plan);
    if (code)
        return code;
    tally->counts[proof.status]++;
    tally->smaller += planner_proof_is_smaller(&proof);
    if (proof.manual.max_error > tally->worst && proof.status == VERIFY_PROOF_EQUAL)
        tally->worst = proof.manual.max_error;
    if (proof.status != VERIFY_PROOF_EQUAL)
        printf("random plan %llu: %s: %s\n", (unsigned long long)seed, verify_status_text(proof.status),
               proof.reason);
    return ERROR_OK;
}

static enum error_code prove_many(struct command *command, const struct ir_program *prepared, int *status,
                                  struct error *e)
{
    struct verify_reference *reference = NULL;
    struct spmd_local local = {0};
    struct tally tally = {0};
    uint64_t first = number(command->first, 1), plans = number(command->plans, 0);
    double start = clock_seconds();
    struct verify_tensor *given = NULL;
    enum error_code code = read_inputs(command, prepared, &given, e);
    struct verify_options options = {.given = given};
    if (!code && (given || !planner_proof_is_large(prepared, command->choice.context)))
        code = verify_reference_create(prepared, number(command->inputs, 1), &options, &reference, e);
    if (code == ERROR_TOO_LARGE && !given)
        code = ERROR_OK; /* each at sizes of its own */
    inputs_free(command, given);
    for (uint64_t seed = first; seed < first + plans && !code; seed++) {
        struct error own = {0};
        enum error_code one = prove_seed(command, prepared, reference, seed, &local, &tally, &own);
        if (one) {
            tally.counts[VERIFY_PROOF_DIFFERENT]++;
            printf("random plan %llu: %s: line %d: %s\n", (unsigned long long)seed, error_code_text(one),
                   own.line, own.message);
        }
    }
    spmd_local_release(&local);
    verify_reference_destroy(reference);
    if (code)
        return code;
    const uint32_t *counts = tally.counts;
    printf("%s: %u equal, %u different, %u inconclusive, %u not run; largest error %.3g; %.1f s\n",
           command->module, counts[VERIFY_PROOF_EQUAL], counts[VERIFY_PROOF_DIFFERENT],
           counts[VERIFY_PROOF_INCONCLUSIVE], counts[VERIFY_PROOF_NOT_RUN], tally.worst,
           clock_seconds() - start);
    if (tally.smaller)
        printf("%u of them at smaller sizes, as the module is too large\n", tally.smaller);
    *status = counts[VERIFY_PROOF_DIFFERENT]      ? 1
              : counts[VERIFY_PROOF_NOT_RUN]      ? 2
              : counts[VERIFY_PROOF_INCONCLUSIVE] ? 7
                                                  : 0;
    return ERROR_OK;
}

int cmd_prove(int argc, char **argv)
{
    struct command command = {0};
    struct error e = {0};
    struct ir_program prepared = {0};
    int status = 0;
    if (cli_help(argc, argv, usage))
        return 0;
    enum error_code code = parse(&command, argc, argv, &e);
    if (!code)
        code = cli_prepare_module(command.module, command.choice.entry, &prepared, &e);
    if (!code)
        code = cli_choose(&command.choice, &prepared, &e);
    if (!code)
        code = command.plans ? prove_many(&command, &prepared, &status, &e)
                             : prove_one(&command, &prepared, &status, &e);
    if (code)
        status = cli_fail("prove", code == ERROR_USAGE ? NULL : command.failed, &e);
    cli_choice_release(&command.choice);
    ir_program_release(&prepared);
    return status;
}
