/* toast analyze: what the analysis (analysis/) found in a module, as tables or JSON, and its dimension
 * graph for Graphviz. With --mesh also what would be offered to the search. Nothing is searched. */
#include "analysis/plan.h"
#include "base/file.h"
#include "cli/output.h"
#include "ir/prepare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
    const char *module, *dot, *mesh;
    bool json, rules;
};

struct analysis {
    struct ir_program read, prepared;
    struct nda *nda;
    struct mesh mesh;
    struct plan_context *context; /* NULL without --mesh */
};

static const char usage[] =
    "usage: toast analyze MODULE [--json] [--dot FILE] [--mesh a=4,b=2] [--rules]\n\n"
    "  --json        counts, groups, arguments, classes (and decisions) as JSON\n"
    "  --dot FILE    the dimension graph of the colors with conflicts, for Graphviz\n"
    "  --mesh AXES   also the decisions that a search on this mesh is offered, and the baselines\n"
    "  --rules       each op with its factors\n\n"
    "example:\n  toast analyze model.mlir --mesh data=4,model=2\n";

static const char *role_name(uint8_t role)
{
    static const char *const names[] = {"parameter", "optimizer", "data", "cache"};
    return names[role];
}

/* ---------------------------------------------------------------- JSON */
static void json_string(struct text *t, const char *s)
{
    text_add_char(t, '"');
    for (; *s; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\')
            text_printf(t, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            text_printf(t, "\\u%04x", c);
        else
            text_add_char(t, (char)c);
    }
    text_add_char(t, '"');
}

/* the groups of a dimension's atoms, major first */
static void json_dims(const struct nda *n, uint32_t slot, struct text *t)
{
    uint32_t value = n->slots[slot].value;
    const struct ir_type *type = ir_value_type(n->program, value);
    text_add_char(t, '[');
    for (uint32_t d = 0; type->kind == IR_TYPE_TENSOR && d < type->rank; d++) {
        bool first = true;
        text_add(t, d ? ", " : "");
        text_printf(t, "{\"size\": %lld, \"groups\": [", (long long)ir_type_dims(n->program, type)[d]);
        for (uint32_t k = 0; k < nda_atom_count(n, value); k++) {
            uint32_t factor_index = nda_slot_factor(n, slot, k);
            if (nda_atoms(n, value)[k].dim != d || factor_index == NDA_NONE)
                continue;
            text_add(t, first ? "" : ", ");
            json_string(t, n->groups[n->colors[n->factors[factor_index].color].group].label);
            first = false;
        }
        text_add(t, "]}");
    }
    text_add_char(t, ']');
}

static void json_groups(const struct nda *n, struct text *t)
{
    for (uint32_t g = 0; g < n->group_count; g++) {
        const struct nda_group *group = &n->groups[g];
        text_add(t, g ? ",\n  {\"label\": " : "\n  {\"label\": ");
        json_string(t, group->label);
        text_printf(
            t, ", \"size\": %lld, \"colors\": %u, \"names\": %u, \"bits\": %u, \"touches_argument\": %s}",
            (long long)group->size, group->color_count, group->factor_count, group->bits,
            group->touches_argument ? "true" : "false");
    }
}

static void json_arguments(const struct nda *n, struct text *t)
{
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_argument *a = &n->arguments[i];
        text_printf(t, "%s\n  {\"index\": %u, \"name\": ", i ? "," : "", i);
        json_string(t, a->name);
        text_printf(t, ", \"role\": \"%s\", \"type\": ", role_name(a->role));
        json_string(t, ir_string(n->program, ir_value_type(n->program, a->value)->text));
        if (a->tied_result != NDA_NONE)
            text_printf(t, ", \"tied_result\": %u", a->tied_result);
        text_add(t, ", \"dims\": ");
        json_dims(n, n->spaces[a->space].slots, t);
        text_add_char(t, '}');
    }
}

static void json_decisions(const struct analysis *a, struct text *t)
{
    uint32_t count;
    const struct plan_decision *list = plan_context_decisions(a->context, &count);
    struct plan_baseline *baselines;
    text_add(t, ",\n\"decisions\": [");
    for (uint32_t i = 0; i < count; i++) {
        struct text word = {0};
        plan_decision_text(a->context, list[i], &word);
        text_add(t, i ? ", " : "");
        json_string(t, word.at);
        text_release(&word);
    }
    text_add(t, "],\n\"baselines\": [");
    baselines = plan_baselines(a->context, &count);
    for (uint32_t i = 0; i < count; i++) {
        text_add(t, i ? ", " : "");
        json_string(t, baselines[i].name);
    }
    text_add_char(t, ']');
    free(baselines);
}

static uint32_t value_total(const struct nda *n)
{
    uint32_t count = 0;
    for (uint32_t v = 0; v < n->program->value_count; v++)
        count += n->value_def_slot[v] != NDA_NONE;
    return count;
}

static void json(const struct analysis *a, struct text *t)
{
    const struct nda *n = a->nda;
    text_printf(t,
                "{\"operations\": %u, \"values\": %u, \"names\": %u, \"colors\": %u, \"conflicts\": %u, "
                "\"sets\": %u, "
                "\"boxes\": %u, \"crossed_boxes\": %u,\n\"classes\": [",
                nda_operation_count(n), value_total(n), n->factor_count, n->color_count, n->conflict_count,
                n->set_count, n->boxes, n->crossed_boxes);
    for (uint32_t c = 0; c < n->class_count; c++) {
        text_add(t, c ? ", {\"group\": " : "{\"group\": ");
        json_string(t, n->groups[n->classes[c].color_group].label);
        text_printf(t, ", \"bit\": %u, \"sets\": %u}", n->classes[c].bit, n->classes[c].set_count);
    }
    text_add(t, "],\n\"groups\": [");
    json_groups(n, t);
    text_add(t, "],\n\"arguments\": [");
    json_arguments(n, t);
    text_add(t, "],\n\"warnings\": [");
    for (uint32_t i = 0; i < n->warning_count; i++) {
        text_add(t, i ? ",\n  " : "\n  ");
        json_string(t, n->warnings[i]);
    }
    text_add_char(t, ']');
    if (a->context)
        json_decisions(a, t);
    text_add(t, "}\n");
}

/* ---------------------------------------------------------------- for people */
static void dims_line(const struct nda *n, uint32_t slot, struct text *t)
{
    uint32_t value = n->slots[slot].value;
    const struct ir_type *type = ir_value_type(n->program, value);
    text_add_char(t, '[');
    for (uint32_t d = 0; type->kind == IR_TYPE_TENSOR && d < type->rank; d++) {
        bool first = true;
        text_add(t, d ? ", " : "");
        for (uint32_t k = 0; k < nda_atom_count(n, value); k++) {
            uint32_t factor_index = nda_slot_factor(n, slot, k);
            if (nda_atoms(n, value)[k].dim != d)
                continue;
            text_add(t, first ? "" : "*");
            text_add(t, factor_index == NDA_NONE
                            ? "-"
                            : n->groups[n->colors[n->factors[factor_index].color].group].label);
            first = false;
        }
        if (first)
            text_add_char(t, '1');
    }
    text_add_char(t, ']');
}

static void table_groups(const struct nda *n, struct text *t)
{
    text_printf(t, "\ngroups%26s%10s%10s%10s%6s\n", "size", "colors", "names", "bits", "arg");
    for (uint32_t g = 0; g < n->group_count; g++) {
        const struct nda_group *group = &n->groups[g];
        text_printf(t, "  %-20s%10lld%10u%10u%10u%6s\n", group->label, (long long)group->size,
                    group->color_count, group->factor_count, group->bits,
                    group->touches_argument ? "yes" : "");
    }
}

static void table(const struct analysis *a, struct text *t)
{
    const struct nda *n = a->nda;
    text_printf(t, "operations %u  values %u  names %u  colors %u  groups %u\n", nda_operation_count(n),
                value_total(n), n->factor_count, n->color_count, n->group_count);
    text_printf(t, "conflicts %u  compatibility sets %u  classes (bits) %u  boxes %u  crossed %u\n",
                n->conflict_count, n->set_count, n->class_count, n->boxes, n->crossed_boxes);
    table_groups(n, t);
    text_printf(t, "\n%-40s %-10s %-28s dims\n", "arguments", "role", "type");
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_argument *arg = &n->arguments[i];
        text_printf(t, "  %-38s %-10s %-28s ", arg->name, role_name(arg->role),
                    ir_string(n->program, ir_value_type(n->program, arg->value)->text));
        dims_line(n, n->spaces[arg->space].slots, t);
        text_add_char(t, '\n');
    }
    if (a->context) {
        uint32_t count;
        const struct plan_decision *list = plan_context_decisions(a->context, &count);
        struct plan_baseline *baselines;
        text_printf(t, "\n%u decisions\n ", count);
        for (uint32_t i = 0; i < count; i++) {
            text_add_char(t, ' ');
            plan_decision_text(a->context, list[i], t);
        }
        baselines = plan_baselines(a->context, &count);
        text_printf(t, "\n\n%u baselines\n", count);
        for (uint32_t i = 0; i < count; i++) {
            text_printf(t, "  %-40s", baselines[i].name);
            for (uint32_t k = 0; k < baselines[i].count; k++) {
                text_add_char(t, ' ');
                plan_decision_text(a->context, baselines[i].decisions[k], t);
            }
            text_add_char(t, '\n');
        }
        free(baselines);
    }
    for (uint32_t i = 0; i < n->warning_count; i++)
        text_printf(t, "%swarning: %s\n", i ? "" : "\n", n->warnings[i]);
}

static void rules(const struct nda *n, struct text *t)
{
    for (uint32_t s = 0; s < n->space_count; s++) {
        const struct nda_space *sp = &n->spaces[s];
        text_printf(t, "%6u %-34s ", s,
                    sp->kind == NDA_SPACE_ARGUMENT ? "argument"
                    : sp->kind == NDA_SPACE_RESULT ? "result"
                                                   : ir_op_name(n->program, sp->op));
        nda_rule_text(n, s, t);
        text_add_char(t, '\n');
    }
}

/* ---------------------------------------------------------------- main */
static enum error_code parse(int argc, char **argv, struct options *o, struct error *e)
{
    for (int i = 1; i < argc; i++) {
        const char **value = strcmp(argv[i], "--dot") == 0    ? &o->dot
                             : strcmp(argv[i], "--mesh") == 0 ? &o->mesh
                                                              : NULL;
        if (value) {
            if (i + 1 == argc)
                return error_set(e, ERROR_USAGE, "%s needs a value", argv[i]);
            *value = argv[++i];
        } else if (strcmp(argv[i], "--json") == 0) {
            o->json = true;
        } else if (strcmp(argv[i], "--rules") == 0) {
            o->rules = true;
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return error_set(e, ERROR_USAGE, "there is no option %s; toast analyze --help lists them",
                             argv[i]);
        } else if (o->module) {
            return error_set(e, ERROR_USAGE, "one module, not two: '%s' and '%s'", o->module, argv[i]);
        } else {
            o->module = argv[i];
        }
    }
    return o->module ? ERROR_OK : error_set(e, ERROR_USAGE, "a module is needed; see toast analyze --help");
}

static enum error_code analyze(const struct options *o, struct analysis *a, struct error *e)
{
    enum error_code code = cli_read_module(o->module, &a->read, e);
    if (code == ERROR_OK)
        code = ir_prepare(&a->read, &a->prepared, e);
    if (code == ERROR_OK)
        code = nda_create(&a->prepared, NULL, &a->nda, e);
    if (code == ERROR_OK && o->mesh) {
        code = mesh_parse(o->mesh, &a->mesh, e);
        if (code == ERROR_OK)
            code = plan_context_create(a->nda, &a->mesh, NULL, 0, &a->context, e);
    }
    return code;
}

int cmd_analyze(int argc, char **argv)
{
    struct options o = {0};
    struct analysis a = {0};
    struct text out = {0};
    struct error e = {0};
    enum error_code code;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(usage, stdout);
        return 0;
    }
    code = parse(argc, argv, &o, &e);
    if (code == ERROR_OK)
        code = analyze(&o, &a, &e);
    if (code == ERROR_OK && o.dot) {
        struct text dot = {0};
        nda_dot(a.nda, &dot);
        code = file_write(o.dot, dot.at, dot.size, &e);
        text_release(&dot);
    }
    if (code == ERROR_OK) {
        if (o.json)
            json(&a, &out);
        else
            table(&a, &out);
        if (o.rules)
            rules(a.nda, &out);
        fwrite(out.at, 1, out.size, stdout);
    } else {
        cli_fail("analyze", o.module, &e);
    }
    text_release(&out);
    plan_context_destroy(a.context);
    nda_destroy(a.nda);
    ir_program_release(&a.prepared);
    ir_program_release(&a.read);
    return error_code_exit_status(code);
}
