/* toast lower: the module that a plan makes, in one text form (annotated, manual, local). The plan comes
 * from plan.json, from decisions, from a named baseline, or from a seed (as the proof draws them):
 * cli/choose.h. */
#include "base/file.h"
#include "cli/choose.h"
#include "cli/output.h"
#include "emit/emit.h"
#include "ir/print.h"
#include "spmd/constraints.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    struct cli_choice choice;
    const char *module, *form, *output, *collectives, *steps;
    bool gather_everything;
    bool propagated;
    bool own; /* a form of ours, not the user's module */
};

static const char usage[] =
    "usage: toast lower MODULE --plan plan.json --form annotated|manual|local|constrained|specs [-o FILE]\n"
    "       toast lower MODULE --mesh data=4,model=2 [--decisions LIST | --baseline NAME | --random-plan "
    "SEED] --form F\n\n"
    "  --plan FILE           plan.json of `toast plan` (brings its own mesh)\n"
    "  --mesh AXES           mesh axes, major first\n"
    "  --decisions LIST      e.g. \"batch@data,ffn@model,sequence[1]@model,update:embed@data\", in order of "
    "priority;\n"
    "                        regather:GROUP@AXIS: its weights are gathered again, not kept;\n"
    "                        whole:GROUP@AXIS: its gradients are reduced whole, not scattered;\n"
    "                        stacked:GROUP@AXIS: only where it stacks weights (experts)\n"
    "  --baseline NAME       an expert plan, e.g. fsdp:data+megatron:model\n"
    "  --cut LIST            the plan edited: \"ffn@model,embed@data+model,heads@\" cuts ffn over model and\n"
    "                        embed over both, leaves heads whole; what else it says follows where it can\n"
    "  --entry FUNC          the function that is meant; default: @main, or the only public one\n"
    "  --random-plan SEED    a seeded random plan\n"
    "  --device NAME         whose links order the collectives over several axes; default: all links alike\n"
    "  --devices-per-host N  how many devices share a host's fast links, beside --device\n"
    "  --memory-limit SIZE   as toast price takes it; changes no module\n"
    "  --form F              annotated, manual or local; constrained: the module as it is with the shardings "
    "of\n"
    "                        arguments and results and plan.json's `constraints`; specs: without these\n"
    "  --propagated          with these two: beside each op what our model says that Shardy makes of it "
    "(tests)\n"
    "  -o FILE               standard output when absent\n"
    "  --collectives FILE    the local program's collectives as JSON: kind, axes, count, bytes on one "
    "device\n"
    "  --steps FILE          the local program as text\n"
    "  --gather-everything   every operand replicated before every op (tests)\n\n"
    "example:\n  toast lower model.mlir --mesh data=4,model=2 --baseline fsdp:data --form manual -o "
    "manual.mlir\n";

static const char **option(struct options *options, const char *name)
{
    const struct {
        const char *name;
        const char **at;
    } table[] = {{"--form", &options->form},
                 {"-o", &options->output},
                 {"--collectives", &options->collectives},
                 {"--steps", &options->steps}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(name, table[i].name) == 0)
            return table[i].at;
    return cli_choice_option(&options->choice, name);
}

static enum error_code parse(int argc, char **argv, struct options *options, struct error *e)
{
    for (int i = 1; i < argc; i++) {
        const char **value = option(options, argv[i]);
        if (value) {
            if (i + 1 == argc)
                return error_set(e, ERROR_USAGE, "%s needs a value", argv[i]);
            *value = argv[++i];
        } else if (strcmp(argv[i], "--gather-everything") == 0) {
            options->gather_everything = true;
        } else if (strcmp(argv[i], "--propagated") == 0) {
            options->propagated = true;
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return error_set(e, ERROR_USAGE, "there is no option %s; toast lower --help lists them", argv[i]);
        } else if (options->module) {
            return error_set(e, ERROR_USAGE, "one module, not two: '%s' and '%s'", options->module, argv[i]);
        } else {
            options->module = argv[i];
        }
    }
    if (!options->module || !options->form)
        return error_set(e, ERROR_USAGE, "a module and --form are needed; see toast lower --help");
    return ERROR_OK;
}

static enum error_code write_text(const char *path, const struct text *text, struct error *e)
{
    if (path && strcmp(path, "-") != 0)
        return file_write(path, text->at, text->size, e);
    if (fwrite(text->at, 1, text->size, stdout) != text->size || fflush(stdout) != 0)
        return error_set(e, ERROR_IO, "cannot write to standard output: %s", strerror(errno));
    return ERROR_OK;
}

static enum error_code write_collectives(const char *path, const struct spmd_local *local, struct error *e)
{
    enum { ROOM = 4096 };
    struct spmd_collective_sum *sums = mem_alloc(ROOM * sizeof *sums);
    uint32_t count = spmd_collective_sums(local, sums, ROOM);
    struct text text = {0};
    text_add(&text, "[");
    for (uint32_t i = 0; i < count && i < ROOM; i++) {
        text_printf(&text, "%s{\"kind\": \"%s\", \"axes\": [", i ? ",\n " : "",
                    spmd_step_kind_name((enum spmd_step_kind)sums[i].kind));
        for (uint8_t axis = 0; axis < sums[i].axis_count; axis++)
            text_printf(&text, "%s\"%s\"", axis ? ", " : "", local->mesh->axes[sums[i].axes[axis]].name);
        text_printf(&text, "], \"count\": %lld, \"bytes\": %lld}", (long long)sums[i].count,
                    (long long)sums[i].bytes);
    }
    text_add(&text, "]\n");
    enum error_code code = write_text(path, &text, e);
    text_release(&text);
    free(sums);
    return code;
}

/* the user's own module, with what the plan tells the user to write */
static enum error_code emit_user(const struct options *options, const struct plan_context *context,
                                 const struct plan *plan, const struct spmd_local *local,
                                 struct ir_program *module, struct error *e)
{
    struct spmd_constraints constraints = {0};
    struct propagate *propagate = NULL;
    struct plan made;
    uint32_t grouped;
    if (strcmp(options->form, "constrained") == 0) {
        TRY(spmd_constraints_find(context, plan, &options->choice.walk, NULL, NULL, &constraints, e));
        TRY(spmd_emit_add_grouped(context, local, &constraints, &grouped, e));
    }
    if (options->propagated) {
        propagate = propagate_create(context, NULL);
        plan_init(&made, plan_context_nda(context), plan_context_mesh(context));
        propagate_run(propagate, plan, constraints.list, NULL, constraints.count, &made);
        plan_release(&made);
    }
    enum error_code code = spmd_emit_constrained(context, local, constraints.list, constraints.count,
                                                 propagate ? propagate_forms(propagate) : NULL, module, e);
    propagate_destroy(propagate);
    if (!code && strcmp(options->form, "constrained") == 0)
        fprintf(stderr,
                "toast lower: %u constraints of %u; bytes moved, by the model: plan %lld, specs alone %lld, "
                "with these "
                "%lld, with all %lld\n",
                constraints.count, constraints.candidates, (long long)constraints.plan_bytes,
                (long long)constraints.specs_bytes, (long long)constraints.list_bytes,
                (long long)constraints.all_bytes);
    spmd_constraints_release(&constraints);
    return code;
}

static enum error_code write_outputs(const struct options *options, const struct plan_context *context,
                                     const struct plan *plan, const struct spmd_local *local,
                                     enum emit_output form, struct error *e)
{
    struct ir_program module = {0};
    struct text text = {0};
    enum error_code code = ERROR_OK;
    if (options->steps) {
        spmd_local_text(local, &text);
        code = write_text(options->steps, &text, e);
        text_release(&text);
        text = (struct text){0};
    }
    if (!code && options->collectives)
        code = write_collectives(options->collectives, local, e);
    if (!code && options->own)
        code = spmd_emit(context, plan, local, form, &module, e);
    else if (!code)
        code = emit_user(options, context, plan, local, &module, e);
    if (!code) {
        ir_print_as_read(&module, &text);
        code = write_text(options->output, &text, e);
    }
    for (uint32_t i = 0; i < local->replicated_op_count && !code; i++) {
        struct text warning = {0};
        spmd_warning_text(local, i, &warning);
        fprintf(stderr, "toast lower: warning: %s\n", warning.at ? warning.at : "");
        text_release(&warning);
    }
    text_release(&text);
    ir_program_release(&module);
    return code;
}

static enum error_code lower(struct options *options, struct error *e)
{
    enum emit_output form = EMIT_ANNOTATED;
    struct ir_program prepared = {0};
    struct spmd_local local = {0};
    struct cli_choice *choice = &options->choice;
    if (strcmp(options->form, "manual") == 0)
        form = EMIT_MANUAL;
    else if (strcmp(options->form, "local") == 0)
        form = EMIT_LOCAL;
    options->own = strcmp(options->form, "constrained") != 0 && strcmp(options->form, "specs") != 0;
    if (options->own && form == EMIT_ANNOTATED && strcmp(options->form, "annotated") != 0)
        return error_set(e, ERROR_USAGE, "--form is annotated, manual, local, constrained or specs, not '%s'",
                         options->form);
    enum error_code code = cli_prepare_module(options->module, options->choice.entry, &prepared, e);
    if (!code)
        code = cli_choose(choice, &prepared, e);
    choice->walk.gather_everything = options->gather_everything;
    if (!code)
        code = spmd_walk(choice->context, &choice->chosen, &choice->walk, &local, e);
    if (!code)
        code = write_outputs(options, choice->context, &choice->chosen, &local, form, e);
    spmd_local_release(&local);
    cli_choice_release(choice);
    ir_program_release(&prepared);
    return code;
}

int cmd_lower(int argc, char **argv)
{
    struct options options = {0};
    struct error e = {0};
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
    enum error_code code = parse(argc, argv, &options, &e);
    if (!code)
        code = lower(&options, &e);
    if (!code)
        return 0;
    return cli_fail("lower", code == ERROR_USAGE ? NULL : options.module, &e);
}
