/* toast lower: one module of a plan. The plan comes from plan.json, from decisions, from a named baseline, or from a
 * seed (as the proof draws them). */
#include "api/job.h"
#include "base/file.h"
#include "ir/prepare.h"
#include "ir/print.h"
#include "ir/read.h"
#include "spmd/emit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *module, *plan, *mesh, *decisions, *baseline, *seed, *form, *output, *collectives, *steps;
    bool gather_everything;
    struct mesh axes;   /* --mesh, parsed; a context may refer to it */
};

static const char usage[] =
    "usage: toast lower MODULE --plan plan.json --form annotated|manual|local [-o FILE]\n"
    "       toast lower MODULE --mesh data=4,model=2 [--decisions LIST | --baseline NAME | --random-plan SEED] --form F\n\n"
    "  --plan FILE           plan.json of `toast plan` (brings its own mesh)\n"
    "  --mesh AXES           mesh axes, major first\n"
    "  --decisions LIST      e.g. \"batch@data,ffn@model,seq[1]@model,update:embed@data\", in order of priority\n"
    "  --baseline NAME       an expert plan, e.g. fsdp:data+megatron:model\n"
    "  --random-plan SEED    a seeded random plan\n"
    "  --form F              annotated, manual or local\n"
    "  -o FILE               standard output when absent\n"
    "  --collectives FILE    the local program's collectives as JSON: kind, axes, count, bytes on one device\n"
    "  --steps FILE          the local program as text\n"
    "  --gather-everything   every operand replicated before every op (tests)\n\n"
    "example:\n  toast lower model.mlir --mesh data=4,model=2 --baseline fsdp:data --form manual -o manual.mlir\n";

static const char **option(struct options *o, const char *name)
{
    const struct {
        const char *name;
        const char **at;
    } table[] = {{"--plan", &o->plan},         {"--mesh", &o->mesh},           {"--decisions", &o->decisions},
                 {"--decision", &o->decisions}, {"--baseline", &o->baseline},   {"--random-plan", &o->seed},
                 {"--form", &o->form},          {"-o", &o->output},             {"--collectives", &o->collectives},
                 {"--steps", &o->steps}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(name, table[i].name) == 0)
            return table[i].at;
    return NULL;
}

static enum error_code parse(int argc, char **argv, struct options *o, struct error *e)
{
    for (int i = 1; i < argc; i++) {
        const char **value = option(o, argv[i]);
        if (value) {
            if (i + 1 == argc)
                return error_set(e, ERROR_USAGE, "%s needs a value", argv[i]);
            *value = argv[++i];
        } else if (strcmp(argv[i], "--gather-everything") == 0) {
            o->gather_everything = true;
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return error_set(e, ERROR_USAGE, "there is no option %s; toast lower --help lists them", argv[i]);
        } else if (o->module) {
            return error_set(e, ERROR_USAGE, "one module, not two: '%s' and '%s'", o->module, argv[i]);
        } else {
            o->module = argv[i];
        }
    }
    int sources = !!o->decisions + !!o->baseline + !!o->seed;
    if (!o->module || !o->form || !(o->plan || o->mesh))
        return error_set(e, ERROR_USAGE, "a module, --form, and --plan or --mesh are needed; see toast lower --help");
    if (sources + !!o->plan > 1 || (o->plan && o->mesh))
        return error_set(e, ERROR_USAGE, "give one of --plan, --decisions, --baseline and --random-plan; --plan brings "
                         "its own mesh");
    return ERROR_OK;
}

/* "update:seq[10]@model" */
static enum error_code parse_decision(const struct plan_context *c, char *text, struct plan_decision *out,
                                      struct error *e)
{
    char *at = strrchr(text, '@');
    if (!at)
        return error_set(e, ERROR_INVALID_PLAN, "decision '%s' is not group@axis", text);
    *at = 0;
    const char *scope = "all", *group = text, *bits = "";
    if (strncmp(group, "update:", 7) == 0) {
        scope = "update";
        group += 7;
    }
    char *bracket = strrchr(text, '[');
    if (bracket && at[-1] == ']') {
        *bracket = 0;
        at[-1] = 0;
        bits = bracket + 1;
    }
    return plan_decision_find(c, group, at + 1, bits, scope, out, e);
}

static enum error_code apply_decisions(const struct plan_context *c, const char *list, struct plan *p, struct error *e)
{
    char *copy = mem_strdup(list), *rest = copy, *item;
    enum error_code code = ERROR_OK;
    while (!code && (item = strsep(&rest, ",")) != NULL) {
        struct plan_decision d;
        code = parse_decision(c, item, &d, e);
        if (!code && plan_apply(c, p, d) == 0)
            fprintf(stderr, "toast lower: a decision has no effect: %s\n", list);
    }
    free(copy);
    return code;
}

static enum error_code apply_baseline(const struct plan_context *c, const char *name, struct plan *p, struct error *e)
{
    struct plan_baseline b;
    enum error_code code = plan_baseline_find(c, name, &b, e);
    for (uint32_t i = 0; i < b.count && !code; i++)
        (void)plan_apply(c, p, b.decisions[i]);
    return code;
}

static enum error_code apply_seed(const struct plan_context *c, const char *seed, struct plan *p, struct error *e)
{
    char *end;
    errno = 0;
    unsigned long long n = strtoull(seed, &end, 10);
    if (errno || *end || end == seed)
        return error_set(e, ERROR_USAGE, "--random-plan needs a number, not '%s'", seed);
    struct rng r = {.state = n};
    plan_random(c, &r, p);
    return ERROR_OK;
}

/* plan and context from the options, given the analysis */
static enum error_code make_plan(struct options *o, const struct nda *n, struct plan_context **c,
                                 struct plan *p, struct spmd_options *walk, struct error *e)
{
    enum error_code code;
    if (o->plan) {
        struct api_plan_file *file = NULL;
        char *json = NULL;
        size_t size = 0;
        code = file_read(o->plan, (size_t)256 << 20, &json, &size, e);
        if (!code)
            code = api_plan_parse(json, size, &file, e);
        if (!code)
            code = api_plan_apply(file, n, c, p, e);
        if (!code)
            *walk = *api_plan_walk(file);
        api_plan_file_destroy(file);
        free(json);
        return code;
    }
    code = mesh_parse(o->mesh, &o->axes, e);
    if (!code)
        code = plan_context_create(n, &o->axes, NULL, 0, c, e);
    if (code)
        return code;
    *walk = spmd_default_options(plan_context_mesh(*c));
    plan_init(p, n, plan_context_mesh(*c));
    plan_copy(p, plan_context_start(*c));
    if (o->decisions)
        return apply_decisions(*c, o->decisions, p, e);
    if (o->baseline)
        return apply_baseline(*c, o->baseline, p, e);
    return o->seed ? apply_seed(*c, o->seed, p, e) : ERROR_OK;
}

static enum error_code write_text(const char *path, const struct text *t, struct error *e)
{
    if (path && strcmp(path, "-") != 0)
        return file_write(path, t->at, t->size, e);
    if (fwrite(t->at, 1, t->size, stdout) != t->size || fflush(stdout) != 0)
        return error_set(e, ERROR_IO, "cannot write to standard output: %s", strerror(errno));
    return ERROR_OK;
}

static enum error_code write_collectives(const char *path, const struct spmd_local *l, struct error *e)
{
    enum { ROOM = 4096 };
    struct spmd_collective_sum *sums = mem_alloc(ROOM * sizeof *sums);
    uint32_t count = spmd_collective_sums(l, sums, ROOM);
    struct text t = {0};
    text_add(&t, "[");
    for (uint32_t i = 0; i < count && i < ROOM; i++) {
        text_printf(&t, "%s{\"kind\": \"%s\", \"axes\": [", i ? ",\n " : "",
                    spmd_step_kind_name((enum spmd_step_kind)sums[i].kind));
        for (uint8_t a = 0; a < sums[i].axis_count; a++)
            text_printf(&t, "%s\"%s\"", a ? ", " : "", l->mesh->axes[sums[i].axes[a]].name);
        text_printf(&t, "], \"count\": %lld, \"bytes\": %lld}", (long long)sums[i].count, (long long)sums[i].bytes);
    }
    text_add(&t, "]\n");
    enum error_code code = write_text(path, &t, e);
    text_release(&t);
    free(sums);
    return code;
}

static enum error_code write_outputs(const struct options *o, const struct plan_context *c, const struct plan *p,
                                     const struct spmd_local *l, enum spmd_output form, struct error *e)
{
    struct ir_program module = {0};
    struct text t = {0};
    enum error_code code = ERROR_OK;
    if (o->steps) {
        spmd_local_text(l, &t);
        code = write_text(o->steps, &t, e);
        text_release(&t);
        t = (struct text){0};
    }
    if (!code && o->collectives)
        code = write_collectives(o->collectives, l, e);
    if (!code)
        code = spmd_emit(c, p, l, form, &module, e);
    if (!code) {
        ir_print(&module, &t);
        code = write_text(o->output, &t, e);
    }
    for (uint32_t i = 0; i < l->replicated_op_count && !code; i++) {
        struct text warning = {0};
        spmd_warning_text(l, i, &warning);
        fprintf(stderr, "toast lower: warning: %s\n", warning.at ? warning.at : "");
        text_release(&warning);
    }
    text_release(&t);
    ir_program_release(&module);
    return code;
}

static enum error_code lower(struct options *o, struct error *e)
{
    enum spmd_output form = SPMD_ANNOTATED;
    struct ir_program read = {0}, prepared = {0};
    struct nda *n = NULL;
    struct plan_context *c = NULL;
    struct plan p = {0};
    struct spmd_local l = {0};
    struct spmd_options walk = {0};
    char *text = NULL;
    size_t size = 0;
    if (strcmp(o->form, "manual") == 0)
        form = SPMD_MANUAL;
    else if (strcmp(o->form, "local") == 0)
        form = SPMD_LOCAL;
    else if (strcmp(o->form, "annotated") != 0)
        return error_set(e, ERROR_USAGE, "--form is annotated, manual or local, not '%s'", o->form);
    enum error_code code = file_read(o->module, (size_t)512 << 20, &text, &size, e);
    if (!code)
        code = ir_read(text, size, NULL, &read, e);
    free(text);
    if (!code)
        code = ir_prepare(&read, &prepared, e);
    if (!code)
        code = nda_create(&prepared, NULL, &n, e);
    if (!code)
        code = make_plan(o, n, &c, &p, &walk, e);
    walk.gather_everything = o->gather_everything;
    if (!code)
        code = spmd_walk(c, &p, &walk, &l, e);
    if (!code)
        code = write_outputs(o, c, &p, &l, form, e);
    spmd_local_release(&l);
    plan_release(&p);
    plan_context_destroy(c);
    nda_destroy(n);
    ir_program_release(&prepared);
    ir_program_release(&read);
    return code;
}

int cmd_lower(int argc, char **argv)
{
    struct options o = {0};
    struct error e = {0};
    for (int i = 1; i < argc; i++)
        if (strcmp(argv[i], "--help") == 0) {
            fputs(usage, stdout);
            return 0;
        }
    enum error_code code = parse(argc, argv, &o, &e);
    if (!code)
        code = lower(&o, &e);
    if (!code)
        return 0;
    const char *where = o.module && code != ERROR_USAGE ? o.module : "toast lower";
    if (e.line)
        fprintf(stderr, "%s:%d:%d: %s\n", where, e.line, e.column, e.message);
    else
        fprintf(stderr, "%s: %s\n", where, e.message);
    return error_code_exit_status(code);
}
