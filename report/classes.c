/* Weights and activations by class: how this plan lays them out, how the best other expert does, how the
 * module's own shardings do (report.h).
 *
 * Weights are one class whose names differ in numbers alone (`h/0/mlp/kernel`, `h/1/mlp/kernel`), activations
 * (what contractions make) whose names or places do; within a class all have one type and are laid out alike
 * in each of the plans. So a class that falls apart shows by rows that differ in nothing but their layouts.
 * Largest first, bytes of all its tensors together. */
#include "report/classes.h"

#include "plan_cfn/plan_cfn.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct maker {
    struct report *report;
    const struct plan_context *context;
    const struct nda *n;
    struct plan plans[REPORT_LAYOUTS];
    bool has[REPORT_LAYOUTS];
    VEC(struct report_layout_row) classes;
};

/* `[data, -, model]`: the axes of each dimension */
static void layout_text(const struct plan_sharding *sharding, const struct mesh *mesh, char *out, size_t room)
{
    size_t size = (size_t)snprintf(out, room, "[");
    for (uint32_t dim = 0; dim < sharding->rank && size < room; dim++) {
        size += (size_t)snprintf(out + size, room - size, "%s%s", dim ? ", " : "",
                                 sharding->dims[dim].count ? "" : "-");
        for (uint32_t k = 0; k < sharding->dims[dim].count && size < room; k++)
            size += (size_t)snprintf(out + size, room - size, "%s%s", k ? "+" : "",
                                     mesh->axes[sharding->dims[dim].axes[k]].name);
    }
    if (size < room)
        snprintf(out + size, room - size, "]");
}

/* the same axes of each dimension, in whatever order */
static bool same_axes(const struct plan_sharding *one, const struct plan_sharding *other)
{
    for (uint32_t dim = 0; dim < one->rank; dim++) {
        uint32_t axes = 0, other_axes = 0;
        for (uint32_t k = 0; k < one->dims[dim].count; k++)
            axes |= 1u << one->dims[dim].axes[k];
        for (uint32_t k = 0; k < other->dims[dim].count; k++)
            other_axes |= 1u << other->dims[dim].axes[k];
        if (axes != other_axes)
            return false;
    }
    return true;
}

static void add(struct maker *maker, struct report_layout_row *class, uint32_t space, uint32_t slot)
{
    struct plan_sharding ours, sharding;
    plan_slot_sharding(maker->context, &maker->plans[REPORT_OURS], space, slot, &ours);
    for (unsigned i = 0; i < REPORT_LAYOUTS; i++) {
        if (!maker->has[i])
            continue;
        plan_slot_sharding(maker->context, &maker->plans[i], space, slot, &sharding);
        layout_text(&sharding, plan_context_mesh(maker->context), class->layouts[i],
                    sizeof class->layouts[i]);
        class->same_axes[i] = same_axes(&ours, &sharding);
    }
    for (size_t k = 0; k < maker->classes.count; k++) {
        struct report_layout_row *other = &maker->classes.at[k];
        if (other->weight == class->weight && strcmp(other->name, class->name) == 0 &&
            strcmp(other->type, class->type) == 0 &&
            memcmp(other->layouts, class->layouts, sizeof class->layouts) == 0) {
            other->count += class->count;
            other->only = NULL;
            other->bytes += class->bytes;
            return;
        }
    }
    VEC_PUSH(&maker->classes, *class);
}

static void add_weights(struct maker *maker)
{
    const struct nda *n = maker->n;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        struct report_layout_row class = {.weight = true, .count = 1};
        if (n->arguments[i].role != NDA_ROLE_PARAMETER ||
            ir_value_type(n->program, n->arguments[i].value)->kind != IR_TYPE_TENSOR)
            continue;
        class.only = n->arguments[i].name;
        report_pattern(class.only, class.name, sizeof class.name);
        report_type(n->program, n->arguments[i].value, class.type, sizeof class.type);
        class.bytes = ir_type_bytes(n->program, ir_value_type(n->program, n->arguments[i].value));
        add(maker, &class, n->arguments[i].space, n->spaces[n->arguments[i].space].slots);
    }
}

/* the op's name without its function, "jvp(Net)/mlp/dot_general", numbers as *; without a name its place */
static void activation_name(const struct ir_program *program, uint32_t op, char *out, size_t room)
{
    uint32_t name = ir_location_name(program, program->ops[op].loc, NULL);
    char place[100];
    const char *text = name == IR_NONE ? "" : ir_string(program, name), *slash = strchr(text, '/');
    if (!*text) {
        char location[160];
        report_where(program, op, location, sizeof location);
        report_place(location, place, sizeof place);
        bool line = strncmp(place, "line ", 5) == 0; /* of the module's own text: tells nobody a class */
        snprintf(out, room, "%s%s%s", ir_op_name(program, op), line ? "" : " at ", line ? "" : place);
        return;
    }
    report_pattern(slash ? slash + 1 : text, out, room);
}

static void add_activations(struct maker *maker)
{
    const struct nda *n = maker->n;
    const struct ir_program *program = n->program;
    for (uint32_t op = 0; op < program->op_count; op++) {
        enum ir_family family = ir_opcode_family((enum ir_opcode)program->ops[op].code);
        if (family != IR_FAMILY_DOT && family != IR_FAMILY_CONVOLUTION)
            continue;
        uint32_t value = ir_result(program, op, 0), slot = n->value_def_slot[value];
        struct report_layout_row class = {.count = 1};
        if (slot == NDA_NONE || n->op_space[op] == NDA_NONE)
            continue;
        activation_name(program, op, class.name, sizeof class.name);
        report_type(program, value, class.type, sizeof class.type);
        class.bytes = ir_type_bytes(program, ir_value_type(program, value));
        add(maker, &class, n->op_space[op], slot);
    }
}

/* A weight that is like no other has its name (not `tables/` and a star of one table). */
static void name_single(struct maker *maker)
{
    struct report_layout_row *rows = maker->classes.at;
    for (size_t i = 0; i < maker->classes.count; i++)
        for (size_t k = 0; rows[i].only && k < maker->classes.count; k++)
            if (k != i && rows[k].weight && strcmp(rows[k].name, rows[i].name) == 0 &&
                strcmp(rows[k].type, rows[i].type) == 0)
                rows[i].only = NULL;
    for (size_t i = 0; i < maker->classes.count; i++)
        if (rows[i].only)
            snprintf(rows[i].name, sizeof rows[i].name, "%s", rows[i].only);
}

/* weights first, then the larger; ties by text */
static int by_size(const void *left, const void *right)
{
    const struct report_layout_row *one = left, *other = right;
    if (one->weight != other->weight)
        return one->weight ? -1 : 1;
    if (one->bytes != other->bytes)
        return one->bytes > other->bytes ? -1 : 1;
    int order = strcmp(one->name, other->name);
    return order ? order : memcmp(one->layouts, other->layouts, sizeof one->layouts);
}

/* to the picosecond and the byte: the same but for the order of axes */
static bool priced_alike(const struct price *one, const struct price *other)
{
    return one->step_ps == other->step_ps && one->peak_bytes == other->peak_bytes;
}

/* The best expert's plan that is not this plan, nor this plan with its axes in another order if there is one
 * that differs more. */
static bool find_expert(struct maker *maker)
{
    struct report *report = maker->report;
    struct report_baseline *sorted = report_baselines_sorted(report);
    bool found = false;
    for (uint32_t k = 0; k < 2 * report->baseline_count && !found; k++) {
        uint32_t i = k % report->baseline_count;
        struct plan_baseline baseline;
        struct error ignored;
        if (priced_alike(&sorted[i].price, &report->price) != (k >= report->baseline_count))
            continue;
        if (report_is_planner(sorted[i].name) || strcmp(sorted[i].name, "yours") == 0 ||
            plan_baseline_find(maker->context, sorted[i].name, &baseline, &ignored) != ERROR_OK)
            continue;
        plan_copy(&maker->plans[REPORT_EXPERT], plan_context_start(maker->context));
        for (uint32_t d = 0; d < baseline.count; d++)
            plan_apply(maker->context, &maker->plans[REPORT_EXPERT], baseline.decisions[d]);
        found = hash128_compare(maker->plans[REPORT_EXPERT].hash, maker->plans[REPORT_OURS].hash) != 0;
        if (found)
            snprintf(report->class_expert, sizeof report->class_expert, "%s", sorted[i].name);
    }
    free(sorted);
    return found;
}

/* a plan of decisions does the same in all layers */
static enum error_code add_unlike(struct maker *maker, struct error *e)
{
    struct plan_cfn_alike alike;
    if (!maker->report->plan.factor_count || !maker->has[REPORT_OURS])
        return ERROR_OK;
    struct evaluator_session *session = evaluator_session_create(maker->report->evaluator);
    enum error_code code = plan_cfn_alike(maker->context, session, &maker->plans[REPORT_OURS], &alike, e);
    evaluator_session_destroy(session);
    if (code != ERROR_OK)
        return code;
    maker->report->unlike = alike.others;
    maker->report->alike_step_ps = alike.price.step_ps;
    maker->report->alike_peak_bytes = alike.price.peak_bytes;
    return ERROR_OK;
}

enum error_code report_add_classes(struct report *report, const struct search_plan *yours, struct error *e)
{
    struct maker maker = {.report = report, .context = evaluator_context(report->evaluator)};
    maker.n = plan_context_nda(maker.context);
    for (unsigned i = 0; i < REPORT_LAYOUTS; i++)
        plan_init(&maker.plans[i], maker.n, plan_context_mesh(maker.context));
    maker.has[REPORT_OURS] = search_plan_replay(maker.context, &report->plan, &maker.plans[REPORT_OURS]);
    maker.has[REPORT_EXPERT] = maker.has[REPORT_OURS] && find_expert(&maker);
    maker.has[REPORT_YOURS] = yours && search_plan_replay(maker.context, yours, &maker.plans[REPORT_YOURS]);
    if (maker.has[REPORT_OURS]) {
        add_weights(&maker);
        add_activations(&maker);
    }
    name_single(&maker);
    if (maker.classes.count)
        qsort(maker.classes.at, maker.classes.count, sizeof *maker.classes.at, by_size);
    report->class_count = (uint32_t)maker.classes.count;
    report->classes = arena_alloc(report->arena, (maker.classes.count + 1) * sizeof *report->classes);
    if (maker.classes.count)
        memcpy(report->classes, maker.classes.at, maker.classes.count * sizeof *report->classes);
    report->has_yours = maker.has[REPORT_YOURS];
    enum error_code code = add_unlike(&maker, e);
    VEC_FREE(&maker.classes);
    for (unsigned i = 0; i < REPORT_LAYOUTS; i++)
        plan_release(&maker.plans[i]);
    return code;
}

/* ---------------------------------------------------------------- as text */
enum { SHOWN_CLASSES = 12 }; /* of either kind */

/* what a plan made op by op makes of equal layers */
void report_unlike_text(const struct report *report, struct text *text)
{
    char step[32], peak[32];
    if (!report->plan.factor_count)
        return;
    if (!report->unlike) {
        text_add(text, "Equal layers are split alike.\n");
        return;
    }
    report_time(report->alike_step_ps, step);
    report_bytes(report->alike_peak_bytes, peak);
    text_printf(
        text,
        "%u argument%s and contraction%s lie otherwise than most of their like (first and last layers, "
        "mostly):\nwith all alike a step takes %s (%+.1f %%), %s%s\n",
        report->unlike, report->unlike == 1 ? "" : "s", report->unlike == 1 ? "" : "s", step,
        100 *
            ((double)report->alike_step_ps / (double)(report->price.step_ps > 0 ? report->price.step_ps : 1) -
             1),
        peak, report->alike_peak_bytes > report->memory_limit_bytes ? ", which does not fit" : "");
}

/* a layout beside ours */
static const char *layout_words(const struct report_layout_row *class, unsigned which)
{
    if (strcmp(class->layouts[which], class->layouts[REPORT_OURS]) == 0)
        return "the same";
    return class->same_axes[which] ? "the same in another order" : class->layouts[which];
}

void report_text_classes(const struct report *report, struct text *text)
{
    static const char *const titles[] = {"Activations (what contractions make)", "Weights"};
    if (!report->class_count)
        return;
    text_add(text, "\nHow weights and activations lie, by class\n"
                   "-----------------------------------------\n"
                   "Axes of each dimension, - where it is whole. ");
    text_printf(text, "expert: %s%s\n", *report->class_expert ? report->class_expert : "all are this plan",
                report->has_yours ? "; yours: the module's own shardings" : "");
    report_unlike_text(report, text);
    for (int weight = 1; weight >= 0; weight--) {
        uint32_t shown = 0, all = 0;
        for (uint32_t i = 0; i < report->class_count; i++) {
            const struct report_layout_row *class = &report->classes[i];
            if (class->weight != (weight == 1) || all++ >= SHOWN_CLASSES)
                continue;
            if (!shown++)
                text_printf(text, "%s\n", titles[weight]);
            text_printf(text, "  %s %s", class->name, class->type);
            text_printf(text, class->count > 1 ? " (%u)\n" : "\n", class->count);
            text_printf(text, "      ours %s", class->layouts[REPORT_OURS]);
            if (*report->class_expert)
                text_printf(text, "   expert %s", layout_words(class, REPORT_EXPERT));
            if (report->has_yours)
                text_printf(text, "   yours %s", layout_words(class, REPORT_YOURS));
            text_add_char(text, '\n');
        }
        if (all > shown)
            text_printf(text, "  … and %u more in report.json\n", all - shown);
    }
}
