/* Builds the report's structs. Everything is measured by walking and pricing again: the plan itself, for
 * every decision the plan without it, for every conflict the plan with the other side. */
#include "report/advice.h"
#include "report/causes.h"
#include "report/choices.h"
#include "report/whole.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMELINE_POINTS = 512 }; /* one for each pixel or so of the drawing's width */

/* What the parts share while the report is made. */
struct maker {
    struct report *report;
    const struct plan_context *context;
    const struct nda *n;
    const struct mesh *mesh;
    struct plan plan;
    int *cell_decision;    /* decision behind each (space, axis); -1 */
    int *cell_choice;      /* choice behind each (space, axis) that a factor shards; -1 */
    uint32_t *value_space; /* space that defines each value; NDA_NONE */
    struct spmd_local local;
    struct price_measured measured;
    int64_t *exposed; /* per step, of all trips: how long computation stands still for a collective */
    struct evaluator_session *session;
    const struct search_control *control; /* NULL: there is time for everything */
};

/* ---- decisions ---- */

/* Replays the plan and notes for each cell (space, axis) the decision that first put a factor there. */
static void attribute_cells(struct maker *maker)
{
    const struct plan *start = plan_context_start(maker->context);
    size_t cells = (size_t)start->space_count * start->axis_count;
    maker->cell_decision = mem_alloc((cells + 1) * sizeof *maker->cell_decision);
    for (size_t i = 0; i < cells; i++)
        maker->cell_decision[i] = -1;
    plan_copy(&maker->plan, start);
    for (uint32_t d = 0; d < maker->report->plan.count; d++) {
        plan_apply(maker->context, &maker->plan, maker->report->plan.decisions[d]);
        for (size_t i = 0; i < cells; i++)
            if (maker->cell_decision[i] < 0 && maker->plan.cells[i].factor != start->cells[i].factor)
                maker->cell_decision[i] = (int)d;
    }
    if (!plan_factors_apply(maker->context, maker->report->plan.factors, maker->report->plan.factor_count,
                            &maker->plan))
        BASE_CHECK(!"factors of a planner's plan apply to the decisions they were made for");
    maker->value_space = mem_alloc(((size_t)maker->n->program->value_count + 1) * sizeof *maker->value_space);
    for (uint32_t value = 0; value < maker->n->program->value_count; value++)
        maker->value_space[value] = NDA_NONE;
    for (uint32_t space = 0; space < maker->n->space_count; space++)
        for (uint32_t k = 0; k < maker->n->spaces[space].slot_count; k++) {
            const struct nda_slot *slot = &maker->n->slots[maker->n->spaces[space].slots + k];
            if (slot->is_result)
                maker->value_space[slot->value] = space;
        }
}

/* The price of a list of decisions; keeps the list whole (decisions without effect are skipped). */
static enum error_code price_list(struct maker *maker, const struct plan_decision *list, uint32_t count,
                                  struct price *price, struct error *e)
{
    struct plan plan;
    struct cost cost;
    plan_init(&plan, maker->n, maker->mesh);
    plan_copy(&plan, plan_context_start(maker->context));
    for (uint32_t i = 0; i < count; i++)
        plan_apply(maker->context, &plan, list[i]);
    for (uint32_t i = 0; i < maker->report->plan.factor_count; i++) {
        const struct plan_factor *factor = &maker->report->plan.factors[i];
        plan_apply_factor(maker->context, &plan, factor->space, factor->factor, factor->axis);
    }
    enum error_code code = evaluator_price_alike(maker->session, &plan, price, &cost, e);
    plan_release(&plan);
    return code;
}

static enum error_code make_decisions(struct maker *maker, struct error *e)
{
    struct report *report = maker->report;
    report->decision_count = report->plan.count;
    report->decisions = arena_alloc(report->arena, (report->plan.count + 1) * sizeof *report->decisions);
    for (uint32_t i = 0; i < report->plan.count; i++) {
        struct plan_decision list[SEARCH_MAX_LIST];
        struct text text = {0};
        struct price without;
        uint32_t count = 0;
        for (uint32_t k = 0; k < report->plan.count; k++)
            if (k != i)
                list[count++] = report->plan.decisions[k];
        TRY(price_list(maker, list, count, &without, e));
        plan_decision_text(maker->context, report->plan.decisions[i], &text);
        report->decisions[i].decision = report->plan.decisions[i];
        report->decisions[i].worth_ps = without.step_ps - report->price.step_ps;
        snprintf(report->decisions[i].text, sizeof report->decisions[i].text, "%s", text.at ? text.at : "");
        text_release(&text);
    }
    return ERROR_OK;
}

/* ---- conflicts ---- */

/* For every class of conflicts that the plan resolved: the price with its bit turned over in all
 * decisions of the group. */
static enum error_code make_conflicts(struct maker *maker, struct error *e)
{
    struct report *report = maker->report;
    const struct nda *n = maker->n;
    report->conflicts = arena_alloc(report->arena, (n->class_count + 1) * sizeof *report->conflicts);
    for (uint32_t k = 0; k < n->class_count; k++) {
        struct report_conflict *conflict = &report->conflicts[report->conflict_count++];
        uint32_t group = n->classes[k].color_group;
        snprintf(conflict->group, sizeof conflict->group, "%s", n->groups[group].label);
        conflict->bit = n->classes[k].bit;
        conflict->sets = n->classes[k].set_count;
        conflict->decision = -1;
        for (uint32_t i = 0; i < report->choice_count; i++)
            conflict->by_choices |= report->choices[i].group == group;
        for (uint32_t set = 0; set < n->set_count; set++)
            if (n->sets[set].class_index == k)
                conflict->conflicts += n->sets[set].conflict_count;
        struct plan_decision list[SEARCH_MAX_LIST];
        memcpy(list, report->plan.decisions, sizeof list);
        for (uint32_t d = 0; d < report->plan.count; d++) {
            if (list[d].group != group)
                continue;
            if (conflict->decision < 0) {
                conflict->decision = (int)d;
                conflict->side = list[d].bits >> conflict->bit & 1;
            }
            list[d].bits ^= 1u << conflict->bit;
        }
        if (conflict->decision < 0 || report_cut_short(maker->report, maker->control, REPORT_CUT_CONFLICTS))
            continue;
        struct price other;
        TRY(price_list(maker, list, report->plan.count, &other, e));
        conflict->priced = true;
        conflict->other_step_ps = other.step_ps;
        conflict->other_peak_bytes = other.peak_bytes;
    }
    return ERROR_OK;
}

/* ---- collectives ---- */

/* of a collective over a mesh axis: that of the use that needs it, else of the operand where it is defined */
static int own_cause(const struct maker *maker, const struct spmd_step *step, uint8_t axis,
                     const int *cell_cause)
{
    size_t axes = maker->mesh->axis_count;
    uint32_t origin = maker->local.values[maker->local.operands[step->operands]].origin;
    uint32_t spaces[2] = {step->decision_space, maker->value_space[origin]};
    for (int i = 0; cell_cause && i < 2; i++)
        if (spaces[i] != NDA_NONE && cell_cause[spaces[i] * axes + axis] >= 0)
            return cell_cause[spaces[i] * axes + axis];
    return -1;
}

/* What the walk scattered by itself, where a sum was to be reduced, and gathers for another use: the cause of
 * that sum's collective, a few steps before. */
static int made_cause(const struct maker *maker, const struct spmd_step *step, uint8_t axis,
                      const int *cell_cause, int hops)
{
    int cause = -1;
    for (uint32_t i = step->operands; i < step->operands + step->operand_count && cause < 0; i++) {
        uint32_t from = maker->local.values[maker->local.operands[i]].step;
        const struct spmd_step *made = from == SPMD_NONE ? NULL : &maker->local.steps[from];
        if (made && spmd_step_is_collective(made) && memchr(made->axes, axis, made->axis_count))
            cause = own_cause(maker, made, axis, cell_cause);
        if (made && cause < 0 && hops)
            cause = made_cause(maker, made, axis, cell_cause, hops - 1);
    }
    return cause;
}

enum { MADE_HOPS = 3 }; /* a convert, a sum. Chosen, not tuned */

/* The decision behind a collective over one of its axes, or the choice. -1: neither. */
static int axis_cause(const struct maker *maker, const struct spmd_step *step, uint32_t axis,
                      const int *cell_cause)
{
    int cause = own_cause(maker, step, step->axes[axis], cell_cause);
    return cause < 0 && cell_cause ? made_cause(maker, step, step->axes[axis], cell_cause, MADE_HOPS) : cause;
}

static void set_cause(const struct maker *maker, const struct spmd_step *step, struct report_collective *row)
{
    const struct report *report = maker->report;
    const char *names[MESH_MAX_AXES];
    uint32_t count = 0;
    bool decided = false;
    row->decision = -1;
    for (uint32_t axis = 0; axis < step->axis_count; axis++)
        decided |= axis_cause(maker, step, axis, maker->cell_decision) >= 0;
    for (uint32_t axis = 0; axis < step->axis_count; axis++) {
        int cause = axis_cause(maker, step, axis, decided ? maker->cell_decision : maker->cell_choice);
        if (cause < 0)
            continue;
        if (decided && row->decision < 0)
            row->decision = cause;
        names[count++] = decided ? report->decisions[cause].text : report->choices[cause].text;
    }
    row->cause = report_join_causes(report->arena, names, count);
}

/* collectives that differ in nothing but their place in the program are one row */
static bool same_row(const struct report_collective *one, const struct report_collective *other)
{
    return one->kind == other->kind && one->axis_count == other->axis_count &&
           memcmp(one->axes, other->axes, sizeof one->axes) == 0 && one->members == other->members &&
           memcmp(one->member_bytes, other->member_bytes, (size_t)one->members * sizeof *one->member_bytes) ==
               0 &&
           strcmp(one->cause, other->cause) == 0 && strcmp(one->location, other->location) == 0;
}

/* when the plan's kernels run, and what waits for them */
static void make_kernels(struct maker *maker)
{
    struct report *report = maker->report;
    const struct price_measured *measured = &maker->measured;
    maker->exposed = mem_zalloc((size_t)maker->local.step_count + 1, sizeof *maker->exposed);
    for (uint32_t i = 0; i < measured->trace_count; i++)
        maker->exposed[measured->trace[i].step] = measured->trace[i].exposed_ps;
    report->kernels =
        arena_alloc(report->arena, ((size_t)measured->trace_count + 1) * sizeof *report->kernels);
    report->kernel_count =
        report_kernels_find(&maker->local, measured->trace, measured->trace_count, report->kernels);
    report_lanes_make(&maker->local, measured->trace, measured->trace_count, &report->lanes);
}

/* The op that a reader looks for: what the collective is there for. What is returned in another form than it
 * has (a new weight that is gathered) is there for the op that makes it, as all returns are one line. */
static uint32_t op_behind(const struct maker *maker, const struct spmd_step *step)
{
    const struct ir_program *program = maker->n->program;
    uint32_t origin = maker->local.values[maker->local.operands[step->operands]].origin;
    bool returned = step->op != IR_NONE && program->ops[step->op].code == IR_FUNC_RETURN;
    return returned && program->values[origin].op != IR_NONE ? program->values[origin].op : step->op;
}

/* One collective op: the steps [i, end) that share a `combined` id, or one step. */
static struct report_collective measure_collective(const struct maker *maker, uint32_t i, uint32_t end)
{
    const struct spmd_step *step = &maker->local.steps[i];
    struct report_collective row = {.kind = step->kind, .axis_count = step->axis_count, .count = step->trips};
    memcpy(row.axes, step->axes, step->axis_count);
    for (uint32_t k = i; k < end; k++)
        row.members += maker->local.steps[k].result_count;
    row.member_bytes = arena_alloc(maker->report->arena, (size_t)row.members * sizeof *row.member_bytes);
    for (uint32_t k = i, member = 0; k < end; k++) {
        for (uint32_t result = 0; result < maker->local.steps[k].result_count; result++) {
            row.member_bytes[member] = maker->local.values[maker->local.steps[k].results + result].bytes;
            row.bytes += row.member_bytes[member++];
        }
        row.time_ps += maker->measured.step_times[k] * step->trips;
        row.exposed_ps += maker->exposed[k];
    }
    row.algorithm = price_algorithm(&maker->local, evaluator_machine(maker->report->evaluator), i);
    set_cause(maker, step, &row);
    report_where(maker->n->program, op_behind(maker, step), row.location, sizeof row.location);
    return row;
}

static void make_collectives(struct maker *maker)
{
    struct report *report = maker->report;
    VEC(struct report_collective) rows = {0};
    for (uint32_t i = 0, end; i < maker->local.step_count; i = end) {
        const struct spmd_step *step = &maker->local.steps[i];
        end = i + 1;
        if (!spmd_step_is_collective(step))
            continue;
        while (step->combined && end < maker->local.step_count &&
               maker->local.steps[end].combined == step->combined)
            end++;
        struct report_collective row = measure_collective(maker, i, end);
        report->time_by_kind[row.kind] += row.time_ps;
        size_t k = rows.count;
        while (k > 0 && !same_row(&rows.at[k - 1], &row))
            k--;
        if (k > 0) {
            rows.at[k - 1].count += row.count;
            rows.at[k - 1].time_ps += row.time_ps;
            rows.at[k - 1].exposed_ps += row.exposed_ps;
        } else {
            VEC_PUSH(&rows, row);
        }
    }
    report->collectives = arena_alloc(report->arena, (rows.count + 1) * sizeof *report->collectives);
    report->collective_count = (uint32_t)rows.count;
    if (rows.count)
        memcpy(report->collectives, rows.at, rows.count * sizeof *rows.at);
    VEC_FREE(&rows);
}

static int by_time(const void *left, const void *right)
{
    const struct report_collective *one = left, *other = right;
    if (one->time_ps != other->time_ps)
        return one->time_ps > other->time_ps ? -1 : 1;
    if (one->kind != other->kind)
        return one->kind < other->kind ? -1 : 1;
    if (one->bytes != other->bytes)
        return one->bytes > other->bytes ? -1 : 1;
    int place = strcmp(one->location, other->location);
    return place ? place : memcmp(one->axes, other->axes, sizeof one->axes);
}

/* ---- memory ---- */

/* over the kernels of the order whose memory counts */
static void make_memory(struct maker *maker)
{
    struct report *report = maker->report;
    const struct price_held *held = &maker->measured.held;
    uint32_t steps = held->count, points = steps < TIMELINE_POINTS ? steps : TIMELINE_POINTS;
    report->price.peak_step = held->peak;
    report->timeline = arena_alloc(report->arena, (points + 1) * sizeof *report->timeline);
    report->timeline_count = points;
    report->timeline_steps = steps;
    for (uint32_t i = 0; i < steps; i++) { /* a point is the highest of the steps it stands for */
        uint32_t k = (uint32_t)((uint64_t)i * points / steps);
        if (held->alive[i] > report->timeline[k])
            report->timeline[k] = held->alive[i];
    }
    report_find_peak(maker->n, &maker->local, held, report);
}

/* ---- all of it ---- */

static void make_warnings(struct maker *maker)
{
    struct report *report = maker->report;
    report->warnings =
        arena_alloc(report->arena, (maker->n->warning_count + maker->local.replicated_op_count + 1) *
                                       sizeof *report->warnings);
    for (uint32_t i = 0; i < maker->n->warning_count; i++)
        report->warnings[report->warning_count++] =
            arena_strndup(report->arena, maker->n->warnings[i], strlen(maker->n->warnings[i]));
    for (uint32_t i = 0; i < maker->local.replicated_op_count; i++) {
        struct text text = {0};
        spmd_warning_text(&maker->local, i, &text);
        report->warnings[report->warning_count++] =
            arena_strndup(report->arena, text.at ? text.at : "", text.size);
        text_release(&text);
    }
}

/* what was decided more coarsely than the module has it, or not at all */
static void warn_of_bounds(struct maker *maker)
{
    char line[300];
    if (maker->n->kind_count > maker->n->group_count) {
        snprintf(
            line, sizeof line,
            "the module has %u kinds of dimensions, too many to decide one by one: those that are used alike "
            "and differ in size are decided together, as %u",
            maker->n->kind_count, maker->n->group_count);
        report_add_warning(maker->report, line);
    }
    if (maker->report->decision_count == SEARCH_MAX_LIST) {
        snprintf(line, sizeof line,
                 "the plan has %d decisions, as many as one can: dimensions that more would split stay whole",
                 SEARCH_MAX_LIST);
        report_add_warning(maker->report, line);
    }
}

static void make_baselines(struct report *report, const struct search *search)
{
    uint32_t count = search ? search_baseline_count(search) : 0;
    report->baselines = arena_alloc(report->arena, (count + 1) * sizeof *report->baselines);
    report->baseline_count = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct search_plan *plan = search_baseline(search, i);
        snprintf(report->baselines[i].name, sizeof report->baselines[i].name, "%s", plan->found_by);
        report->baselines[i].price = plan->price;
        report->baselines[i].cost = plan->cost;
        report->baselines[i].estimated = plan->estimated;
    }
}

/* the part that plan.json needs */
static enum error_code make_plan(struct maker *maker, struct error *e)
{
    struct report *report = maker->report;
    attribute_cells(maker);
    TRY(evaluator_price_both(maker->session, &maker->plan, &report->price, &report->cost, e));
    report->memory_limit_bytes = evaluator_machine(report->evaluator)->memory_limit_bytes;
    report_arguments(maker->context, &maker->plan, report->arena, false, &report->arguments,
                     &report->argument_count);
    report_arguments(maker->context, &maker->plan, report->arena, true, &report->results,
                     &report->result_count);
    return make_decisions(maker, e);
}

/* what only a whole report has */
static enum error_code make_report(struct maker *maker, const struct search *search, struct error *e)
{
    struct report *report = maker->report;
    TRY(report_choices(maker->context, maker->session, &maker->plan, report, &maker->cell_choice, e));
    evaluator_session_rest(maker->session); /* what follows needs as much memory */
    TRY(spmd_walk(maker->context, &maker->plan, evaluator_options(report->evaluator), &maker->local, e));
    evaluator_measure(report->evaluator, &maker->local, (enum cost_order)report->price.peak_order,
                      &maker->measured);
    make_kernels(maker);
    make_baselines(report, search);
    make_collectives(maker);
    qsort(report->collectives, report->collective_count, sizeof *report->collectives, by_time);
    make_memory(maker);
    TRY(make_conflicts(maker, e));
    make_warnings(maker);
    warn_of_bounds(maker);
    TRY(report_find_whole(maker->context, maker->session, &maker->plan, &maker->local, &maker->measured.held,
                          maker->measured.step_times, search != NULL, maker->control, report, e));
    plan_context_decisions(maker->context, &report->offered);
    report->pruned = plan_context_pruned(maker->context);
    if (report->price.peak_bytes > report->memory_limit_bytes) {
        report->smallest_budget_bytes = report->price.peak_bytes;
        report_find_advice(maker->context, &maker->local, &maker->measured.held, report);
    }
    return ERROR_OK;
}

static void maker_open(struct maker *maker, const struct evaluator *evaluator, const struct search_plan *plan)
{
    struct arena *arena = arena_create();
    *maker = (struct maker){.report = arena_alloc(arena, sizeof *maker->report),
                            .context = evaluator_context(evaluator)};
    maker->n = plan_context_nda(maker->context);
    maker->mesh = plan_context_mesh(maker->context);
    maker->report->arena = arena;
    maker->report->evaluator = evaluator;
    maker->report->plan = *plan;
    if (plan->factor_count) {
        struct plan_factor *factors = arena_alloc(arena, plan->factor_count * sizeof *factors);
        memcpy(factors, plan->factors, plan->factor_count * sizeof *factors);
        maker->report->plan.factors = factors;
    }
    snprintf(maker->report->proof_status, sizeof maker->report->proof_status, "not_run");
    snprintf(maker->report->proof_reason, sizeof maker->report->proof_reason, "not_requested");
    maker->session = evaluator_session_create(evaluator);
    plan_init(&maker->plan, maker->n, maker->mesh);
}

/* the report to the caller, or nothing on failure */
static enum error_code maker_close(struct maker *maker, enum error_code code, struct report **out)
{
    plan_release(&maker->plan);
    spmd_local_release(&maker->local);
    evaluator_session_destroy(maker->session);
    evaluator_rest(maker->report->evaluator);
    free(maker->cell_decision);
    free(maker->cell_choice);
    free(maker->value_space);
    price_measured_release(&maker->measured);
    free(maker->exposed);
    if (code != ERROR_OK)
        report_destroy(maker->report);
    else
        *out = maker->report;
    return code;
}

enum error_code report_create(const struct evaluator *evaluator, const struct search *search,
                              const struct search_state *state, const struct search_plan *plan,
                              const struct search_control *control, struct report **out, struct error *e)
{
    struct maker maker;
    maker_open(&maker, evaluator, plan);
    maker.control = control;
    if (state)
        maker.report->search = *state;
    enum error_code code = make_plan(&maker, e);
    if (code == ERROR_OK)
        code = make_report(&maker, search, e);
    return maker_close(&maker, code, out);
}

enum error_code report_create_plan(const struct evaluator *evaluator, const struct search_plan *plan,
                                   struct report **out, struct error *e)
{
    struct maker maker;
    maker_open(&maker, evaluator, plan);
    return maker_close(&maker, make_plan(&maker, e), out);
}

bool report_is_planner(const char *name)
{
    return strcmp(name, "cfn") == 0 || strcmp(name, "segments") == 0;
}

void report_add_baseline(struct report *report, const char *name, const struct price *price, struct cost cost)
{
    struct report_baseline *more = arena_alloc(report->arena, (report->baseline_count + 1) * sizeof *more);
    if (report->baseline_count)
        memcpy(more, report->baselines, report->baseline_count * sizeof *more);
    snprintf(more[report->baseline_count].name, sizeof more->name, "%s", name);
    more[report->baseline_count].price = *price;
    more[report->baseline_count].cost = cost;
    more[report->baseline_count].estimated = false;
    report->baselines = more;
    report->baseline_count++;
}

void report_add_warning(struct report *report, const char *text)
{
    char **more = arena_alloc(report->arena, (report->warning_count + 1) * sizeof *more);
    if (report->warning_count)
        memcpy(more, report->warnings, report->warning_count * sizeof *more);
    more[report->warning_count++] = arena_strndup(report->arena, text, strlen(text));
    report->warnings = more;
}

void report_destroy(struct report *report)
{
    if (report)
        arena_destroy(report->arena);
}
