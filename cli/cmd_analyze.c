/* toast analyze: what the analysis (analysis/) found in a module, as tables or JSON, and its dimension
 * graph for Graphviz. With --mesh also what would be offered to the search. Nothing is searched. */
#include "analysis/nda_names.h"
#include "analysis/plan.h"
#include "base/file.h"
#include "cli/output.h"
#include "ir/prepare.h"
#include "segments/segments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEVICES = 4 }; /* whose sides --blocks looks for without a mesh */

struct options {
    const char *module, *dot, *svg, *mesh, *entry;
    bool json, rules, blocks, names;
    enum nda_names_level level; /* with names */
};

struct analysis {
    struct ir_program read, prepared;
    struct nda *nda;
    struct mesh mesh;
    struct plan_context *context; /* NULL without --mesh */
    struct segments *segments;    /* NULL without --blocks */
};

static const char usage[] =
    "usage: toast analyze MODULE [--json] [--dot FILE] [--mesh a=4,b=2] [--rules] [--blocks]\n"
    "                     [--svg FILE] [--names LEVEL]\n\n"
    "  --json        counts, groups, arguments, classes (and decisions) as JSON\n"
    "  --dot FILE    the dimension graph of the colors with conflicts, for Graphviz: conflicts red, boxes\n"
    "                of compatible ones blue, crossed boxes dashed, the paths across orange\n"
    "  --mesh AXES   also the decisions that a search on this mesh is offered, and the baselines\n"
    "  --rules       each op with its factors\n"
    "  --names LEVEL the program with the names of its dimensions: fresh (one each definition and use, with\n"
    "                M and I), identities (joined by each op's rule, with M, conflicts and boxes) or colors\n"
    "                (joined by both), in place of the tables\n"
    "  --entry FUNC  the function that is analysed; default: @main, or the only public one\n"
    "  --blocks      the contractions in blocks and segments, for as many devices as the mesh's last axis "
    "of\n"
    "                several has (4 without --mesh); --dot then draws these\n"
    "  --svg FILE    with --blocks: these as a picture, a column a segment\n\n"
    "examples:\n  toast analyze model.mlir --mesh data=4,model=2\n"
    "  toast analyze model.mlir --mesh data=8 --blocks --svg blocks.svg\n";

/* ---------------------------------------------------------------- JSON */
static void json_string(struct text *text, const char *string)
{
    text_add_char(text, '"');
    for (; *string; string++) {
        unsigned char byte = (unsigned char)*string;
        if (byte == '"' || byte == '\\')
            text_printf(text, "\\%c", byte);
        else if (byte < 0x20 || byte == 0x7f)
            text_printf(text, "\\u%04x", byte);
        else
            text_add_char(text, (char)byte);
    }
    text_add_char(text, '"');
}

/* the groups of a dimension's atoms, major first */
static void json_dims(const struct nda *n, uint32_t slot, struct text *text)
{
    uint32_t value = n->slots[slot].value;
    const struct ir_type *type = ir_value_type(n->program, value);
    text_add_char(text, '[');
    for (uint32_t dim = 0; type->kind == IR_TYPE_TENSOR && dim < type->rank; dim++) {
        bool first = true;
        text_add(text, dim ? ", " : "");
        text_printf(text, "{\"size\": %lld, \"groups\": [", (long long)ir_type_dims(n->program, type)[dim]);
        for (uint32_t k = 0; k < nda_atom_count(n, value); k++) {
            uint32_t factor_index = nda_slot_factor(n, slot, k);
            if (nda_atoms(n, value)[k].dim != dim || factor_index == NDA_NONE)
                continue;
            text_add(text, first ? "" : ", ");
            json_string(text, n->groups[n->colors[n->factors[factor_index].color].group].label);
            first = false;
        }
        text_add(text, "]}");
    }
    text_add_char(text, ']');
}

static void json_groups(const struct nda *n, struct text *text)
{
    for (uint32_t g = 0; g < n->group_count; g++) {
        const struct nda_group *group = &n->groups[g];
        text_add(text, g ? ",\n  {\"label\": " : "\n  {\"label\": ");
        json_string(text, group->label);
        text_printf(
            text, ", \"size\": %lld, \"colors\": %u, \"names\": %u, \"bits\": %u, \"touches_argument\": %s}",
            (long long)group->size, group->color_count, group->factor_count, group->bits,
            group->touches_argument ? "true" : "false");
    }
}

static void json_arguments(const struct nda *n, struct text *text)
{
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_argument *argument = &n->arguments[i];
        text_printf(text, "%s\n  {\"index\": %u, \"name\": ", i ? "," : "", i);
        json_string(text, argument->name);
        text_printf(text, ", \"role\": \"%s\", \"type\": ", nda_role_name((enum nda_role)argument->role));
        json_string(text, ir_string(n->program, ir_value_type(n->program, argument->value)->text));
        if (argument->tied_result != NDA_NONE)
            text_printf(text, ", \"tied_result\": %u", argument->tied_result);
        text_add(text, ", \"dims\": ");
        json_dims(n, n->spaces[argument->space].slots, text);
        text_add_char(text, '}');
    }
}

static void json_decisions(const struct analysis *analysis, struct text *text)
{
    uint32_t count;
    const struct plan_decision *list = plan_context_decisions(analysis->context, &count);
    struct plan_baseline *baselines;
    text_add(text, ",\n\"decisions\": [");
    for (uint32_t i = 0; i < count; i++) {
        struct text word = {0};
        plan_decision_text(analysis->context, list[i], &word);
        text_add(text, i ? ", " : "");
        json_string(text, word.at);
        text_release(&word);
    }
    text_add(text, "],\n\"baselines\": [");
    baselines = plan_baselines(analysis->context, &count);
    for (uint32_t i = 0; i < count; i++) {
        text_add(text, i ? ", " : "");
        json_string(text, baselines[i].name);
    }
    text_add_char(text, ']');
    free(baselines);
}

static uint32_t value_total(const struct nda *n)
{
    uint32_t count = 0;
    for (uint32_t value = 0; value < n->program->value_count; value++)
        count += n->value_def_slot[value] != NDA_NONE;
    return count;
}

static void json(const struct analysis *analysis, struct text *text)
{
    const struct nda *n = analysis->nda;
    text_printf(text,
                "{\"operations\": %u, \"values\": %u, \"names\": %u, \"colors\": %u, \"conflicts\": %u, "
                "\"sets\": %u, "
                "\"boxes\": %u, \"crossed_boxes\": %u,\n\"classes\": [",
                nda_operation_count(n), value_total(n), n->factor_count, n->color_count, n->conflict_count,
                n->set_count, n->boxes, n->crossed_boxes);
    for (uint32_t class = 0; class < n->class_count; class ++) {
        text_add(text, class ? ", {\"group\": " : "{\"group\": ");
        json_string(text, n->groups[n->classes[class].color_group].label);
        text_printf(text, ", \"bit\": %u, \"sets\": %u}", n->classes[class].bit, n->classes[class].set_count);
    }
    text_add(text, "],\n\"groups\": [");
    json_groups(n, text);
    text_add(text, "],\n\"arguments\": [");
    json_arguments(n, text);
    text_add(text, "],\n\"warnings\": [");
    for (uint32_t i = 0; i < n->warning_count; i++) {
        text_add(text, i ? ",\n  " : "\n  ");
        json_string(text, n->warnings[i]);
    }
    text_add_char(text, ']');
    if (analysis->context)
        json_decisions(analysis, text);
    if (analysis->segments) {
        text_add(text, ",\n");
        segments_json(analysis->segments, text);
    }
    text_add(text, "}\n");
}

/* ---------------------------------------------------------------- for people */
static void dims_line(const struct nda *n, uint32_t slot, struct text *text)
{
    uint32_t value = n->slots[slot].value;
    const struct ir_type *type = ir_value_type(n->program, value);
    text_add_char(text, '[');
    for (uint32_t dim = 0; type->kind == IR_TYPE_TENSOR && dim < type->rank; dim++) {
        bool first = true;
        text_add(text, dim ? ", " : "");
        for (uint32_t k = 0; k < nda_atom_count(n, value); k++) {
            uint32_t factor_index = nda_slot_factor(n, slot, k);
            if (nda_atoms(n, value)[k].dim != dim)
                continue;
            text_add(text, first ? "" : "*");
            text_add(text, factor_index == NDA_NONE
                               ? "-"
                               : n->groups[n->colors[n->factors[factor_index].color].group].label);
            first = false;
        }
        if (first)
            text_add_char(text, '1');
    }
    text_add_char(text, ']');
}

static void table_groups(const struct nda *n, struct text *text)
{
    text_printf(text, "\ngroups%26s%10s%10s%10s%6s\n", "size", "colors", "names", "bits", "arg");
    for (uint32_t g = 0; g < n->group_count; g++) {
        const struct nda_group *group = &n->groups[g];
        text_printf(text, "  %-20s%10lld%10u%10u%10u%6s\n", group->label, (long long)group->size,
                    group->color_count, group->factor_count, group->bits,
                    group->touches_argument ? "yes" : "");
    }
}

static void table(const struct analysis *analysis, struct text *text)
{
    const struct nda *n = analysis->nda;
    text_printf(text, "operations %u  values %u  names %u  colors %u  groups %u\n", nda_operation_count(n),
                value_total(n), n->factor_count, n->color_count, n->group_count);
    text_printf(text, "conflicts %u  compatibility sets %u  classes (bits) %u  boxes %u  crossed %u\n",
                n->conflict_count, n->set_count, n->class_count, n->boxes, n->crossed_boxes);
    table_groups(n, text);
    text_printf(text, "\n%-40s %-10s %-28s dims\n", "arguments", "role", "type");
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_argument *arg = &n->arguments[i];
        text_printf(text, "  %-38s %-10s %-28s ", arg->name, nda_role_name((enum nda_role)arg->role),
                    ir_string(n->program, ir_value_type(n->program, arg->value)->text));
        dims_line(n, n->spaces[arg->space].slots, text);
        text_add_char(text, '\n');
    }
    if (analysis->context) {
        uint32_t count;
        const struct plan_decision *list = plan_context_decisions(analysis->context, &count);
        struct plan_baseline *baselines;
        text_printf(text, "\n%u decisions\n ", count);
        for (uint32_t i = 0; i < count; i++) {
            text_add_char(text, ' ');
            plan_decision_text(analysis->context, list[i], text);
        }
        baselines = plan_baselines(analysis->context, &count);
        text_printf(text, "\n\n%u baselines\n", count);
        for (uint32_t i = 0; i < count; i++) {
            text_printf(text, "  %-40s", baselines[i].name);
            for (uint32_t k = 0; k < baselines[i].count; k++) {
                text_add_char(text, ' ');
                plan_decision_text(analysis->context, baselines[i].decisions[k], text);
            }
            text_add_char(text, '\n');
        }
        free(baselines);
    }
    if (analysis->segments)
        segments_text(analysis->segments, text);
    for (uint32_t i = 0; i < n->warning_count; i++)
        text_printf(text, "%swarning: %s\n", i ? "" : "\n", n->warnings[i]);
}

static void rules(const struct nda *n, struct text *text)
{
    for (uint32_t space = 0; space < n->space_count; space++) {
        const struct nda_space *sp = &n->spaces[space];
        text_printf(text, "%6u %-34s ", space,
                    sp->kind == NDA_SPACE_ARGUMENT ? "argument"
                    : sp->kind == NDA_SPACE_RESULT ? "result"
                                                   : ir_op_name(n->program, sp->op));
        nda_rule_text(n, space, text);
        text_add_char(text, '\n');
    }
}

/* ---------------------------------------------------------------- main */
static enum error_code parse_level(const char *word, struct options *options, struct error *e)
{
    options->names = nda_names_level_find(word, &options->level);
    return options->names
               ? ERROR_OK
               : error_set(e, ERROR_USAGE, "--names is fresh, identities or colors, not '%s'", word);
}

static enum error_code parse(int argc, char **argv, struct options *options, struct error *e)
{
    for (int i = 1; i < argc; i++) {
        const char **value = strcmp(argv[i], "--dot") == 0     ? &options->dot
                             : strcmp(argv[i], "--svg") == 0   ? &options->svg
                             : strcmp(argv[i], "--mesh") == 0  ? &options->mesh
                             : strcmp(argv[i], "--entry") == 0 ? &options->entry
                                                               : NULL;
        if (value) {
            if (i + 1 == argc)
                return error_set(e, ERROR_USAGE, "%s needs a value", argv[i]);
            *value = argv[++i];
        } else if (strcmp(argv[i], "--names") == 0) {
            if (i + 1 == argc)
                return error_set(e, ERROR_USAGE, "%s needs a value", argv[i]);
            TRY(parse_level(argv[++i], options, e));
        } else if (strcmp(argv[i], "--json") == 0) {
            options->json = true;
        } else if (strcmp(argv[i], "--rules") == 0) {
            options->rules = true;
        } else if (strcmp(argv[i], "--blocks") == 0) {
            options->blocks = true;
        } else if (argv[i][0] == '-' && argv[i][1]) {
            return error_set(e, ERROR_USAGE, "there is no option %s; toast analyze --help lists them",
                             argv[i]);
        } else if (options->module) {
            return error_set(e, ERROR_USAGE, "one module, not two: '%s' and '%s'", options->module, argv[i]);
        } else {
            options->module = argv[i];
        }
    }
    if (options->svg && !options->blocks)
        return error_set(e, ERROR_USAGE, "--svg draws blocks: it needs --blocks");
    return options->module ? ERROR_OK
                           : error_set(e, ERROR_USAGE, "a module is needed; see toast analyze --help");
}

/* of the last axis of several: the one that strategies split over (segments/compose.h) */
static int64_t inner_devices(const struct mesh *mesh)
{
    for (uint32_t axis = mesh->axis_count; axis-- > 0;)
        if (mesh->axes[axis].size > 1)
            return mesh->axes[axis].size;
    return DEVICES;
}

static enum error_code analyze(const struct options *options, struct analysis *analysis, struct error *e)
{
    enum error_code code = cli_read_module(options->module, &analysis->read, e);
    if (code == ERROR_OK)
        code = ir_prepare_entry(&analysis->read, options->entry, &analysis->prepared, e);
    if (code == ERROR_OK)
        code = nda_create(&analysis->prepared, NULL, &analysis->nda, e);
    if (code == ERROR_OK && options->mesh) {
        code = mesh_parse(options->mesh, &analysis->mesh, e);
        if (code == ERROR_OK)
            code = plan_context_create(analysis->nda, &analysis->mesh, NULL, 0, &analysis->context, e);
    }
    if (code == ERROR_OK && options->blocks)
        segments_create(analysis->nda, options->mesh ? inner_devices(&analysis->mesh) : DEVICES,
                        SEGMENTS_MOST_CONFIGURATIONS, &analysis->segments);
    return code;
}

int cmd_analyze(int argc, char **argv)
{
    struct options options = {0};
    struct analysis analysis = {0};
    struct text out = {0};
    struct error e = {0};
    enum error_code code;
    if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)) {
        fputs(usage, stdout);
        return 0;
    }
    code = parse(argc, argv, &options, &e);
    if (code == ERROR_OK)
        code = analyze(&options, &analysis, &e);
    if (code == ERROR_OK && options.dot) {
        struct text dot = {0};
        if (analysis.segments)
            segments_dot(analysis.segments, &dot);
        else
            nda_dot(analysis.nda, &dot);
        code = file_write(options.dot, dot.at, dot.size, &e);
        text_release(&dot);
    }
    if (code == ERROR_OK && options.svg) {
        struct text svg = {0};
        segments_svg(analysis.segments, &svg);
        code = file_write(options.svg, svg.at, svg.size, &e);
        text_release(&svg);
    }
    if (code == ERROR_OK) {
        if (options.json)
            json(&analysis, &out);
        else if (options.names)
            nda_names_text(analysis.nda, options.level, &out);
        else
            table(&analysis, &out);
        if (options.rules)
            rules(analysis.nda, &out);
        fwrite(out.at, 1, out.size, stdout);
    } else {
        cli_fail("analyze", options.module, &e);
    }
    text_release(&out);
    segments_destroy(analysis.segments);
    plan_context_destroy(analysis.context);
    nda_destroy(analysis.nda);
    ir_program_release(&analysis.prepared);
    ir_program_release(&analysis.read);
    return error_code_exit_status(code);
}
