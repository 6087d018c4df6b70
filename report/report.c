/* Builds the report's structs. Everything is measured by walking and pricing again: the plan itself, for
 * every decision the plan without it, for every conflict the plan with the other side. */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TIMELINE_POINTS = 512 }; /* one for each pixel or so of the drawing's width */
enum { PEAK_TENSORS = 20 };     /* what a person looks through */

/* What the parts share while the report is made. */
struct maker {
    struct report *r;
    const struct plan_context *c;
    const struct nda *n;
    const struct mesh *mesh;
    struct plan plan;
    int *cell_decision;    /* decision behind each (space, axis); -1 */
    uint32_t *value_space; /* space that defines each value; NDA_NONE */
    struct spmd_local local;
    int64_t *step_times;
    struct evaluator_session *session;
};

/* ---- decisions ---- */

/* Replays the plan and notes for each cell (space, axis) the decision that first put a factor there. */
static void attribute_cells(struct maker *m)
{
    const struct plan *start = plan_context_start(m->c);
    size_t cells = (size_t)start->space_count * start->axis_count;
    m->cell_decision = mem_alloc((cells + 1) * sizeof *m->cell_decision);
    for (size_t i = 0; i < cells; i++)
        m->cell_decision[i] = -1;
    plan_copy(&m->plan, start);
    for (uint32_t d = 0; d < m->r->plan.count; d++) {
        plan_apply(m->c, &m->plan, m->r->plan.decisions[d]);
        for (size_t i = 0; i < cells; i++)
            if (m->cell_decision[i] < 0 && m->plan.cells[i].factor != start->cells[i].factor)
                m->cell_decision[i] = (int)d;
    }
    if (!plan_factors_apply(m->c, m->r->plan.factors, m->r->plan.factor_count, &m->plan))
        BASE_CHECK(!"factors of a planner's plan apply to the decisions they were made for");
    m->value_space = mem_alloc(((size_t)m->n->program->value_count + 1) * sizeof *m->value_space);
    for (uint32_t v = 0; v < m->n->program->value_count; v++)
        m->value_space[v] = NDA_NONE;
    for (uint32_t s = 0; s < m->n->space_count; s++)
        for (uint32_t k = 0; k < m->n->spaces[s].slot_count; k++) {
            const struct nda_slot *slot = &m->n->slots[m->n->spaces[s].slots + k];
            if (slot->is_result)
                m->value_space[slot->value] = s;
        }
}

/* The price of a list of decisions; keeps the list whole (decisions without effect are skipped). */
static enum error_code price_list(struct maker *m, const struct plan_decision *list, uint32_t count,
                                  struct price *price, struct error *e)
{
    struct plan p;
    struct cost cost;
    plan_init(&p, m->n, m->mesh);
    plan_copy(&p, plan_context_start(m->c));
    for (uint32_t i = 0; i < count; i++)
        plan_apply(m->c, &p, list[i]);
    for (uint32_t i = 0; i < m->r->plan.factor_count; i++) {
        const struct plan_factor *f = &m->r->plan.factors[i];
        plan_apply_factor(m->c, &p, f->space, f->factor, f->axis);
    }
    enum error_code code = evaluator_price(m->session, &p, price, &cost, e);
    plan_release(&p);
    return code;
}

static enum error_code make_decisions(struct maker *m, struct error *e)
{
    struct report *r = m->r;
    r->decision_count = r->plan.count;
    r->decisions = arena_alloc(r->arena, (r->plan.count + 1) * sizeof *r->decisions);
    for (uint32_t i = 0; i < r->plan.count; i++) {
        struct plan_decision list[SEARCH_MAX_LIST];
        struct text t = {0};
        struct price without;
        uint32_t count = 0;
        for (uint32_t k = 0; k < r->plan.count; k++)
            if (k != i)
                list[count++] = r->plan.decisions[k];
        TRY(price_list(m, list, count, &without, e));
        plan_decision_text(m->c, r->plan.decisions[i], &t);
        r->decisions[i].decision = r->plan.decisions[i];
        r->decisions[i].worth_ps = without.step_ps - r->price.step_ps;
        snprintf(r->decisions[i].text, sizeof r->decisions[i].text, "%s", t.at ? t.at : "");
        text_release(&t);
    }
    return ERROR_OK;
}

/* ---- conflicts ---- */

/* For every class of conflicts that the plan resolved: the price with its bit turned over in all
 * decisions of the group. */
static enum error_code make_conflicts(struct maker *m, struct error *e)
{
    struct report *r = m->r;
    const struct nda *n = m->n;
    r->conflicts = arena_alloc(r->arena, (n->class_count + 1) * sizeof *r->conflicts);
    for (uint32_t k = 0; k < n->class_count; k++) {
        struct report_conflict *c = &r->conflicts[r->conflict_count++];
        uint32_t group = n->classes[k].color_group;
        snprintf(c->group, sizeof c->group, "%s", n->groups[group].label);
        c->bit = n->classes[k].bit;
        c->sets = n->classes[k].set_count;
        c->decision = -1;
        for (uint32_t s = 0; s < n->set_count; s++)
            if (n->sets[s].class_index == k)
                c->conflicts += n->sets[s].conflict_count;
        struct plan_decision list[SEARCH_MAX_LIST];
        memcpy(list, r->plan.decisions, sizeof list);
        for (uint32_t d = 0; d < r->plan.count; d++) {
            if (list[d].group != group)
                continue;
            if (c->decision < 0) {
                c->decision = (int)d;
                c->side = list[d].bits >> c->bit & 1;
            }
            list[d].bits ^= 1u << c->bit;
        }
        if (c->decision < 0)
            continue;
        struct price other;
        TRY(price_list(m, list, r->plan.count, &other, e));
        c->other_step_ps = other.step_ps;
        c->other_peak_bytes = other.peak_bytes;
    }
    return ERROR_OK;
}

/* ---- collectives ---- */

/* The decision behind a collective: the one that sharded the use that needs it, else the one that sharded
 * the operand where it is defined. -1: neither, a pin or a factor of its own. */
static int step_decision(const struct maker *m, const struct spmd_step *s)
{
    if (s->axis_count == 0)
        return -1;
    size_t axes = m->mesh->axis_count;
    uint32_t origin = m->local.values[m->local.operands[s->operands]].origin;
    uint32_t spaces[2] = {s->decision_space, m->value_space[origin]};
    for (int i = 0; i < 2; i++)
        if (spaces[i] != NDA_NONE && m->cell_decision[spaces[i] * axes + s->axes[0]] >= 0)
            return m->cell_decision[spaces[i] * axes + s->axes[0]];
    return -1;
}

/* collectives that differ in nothing but their place in the program are one row */
static bool same_row(const struct report_collective *a, const struct report_collective *b)
{
    return a->kind == b->kind && a->axis_count == b->axis_count &&
           memcmp(a->axes, b->axes, sizeof a->axes) == 0 && a->members == b->members &&
           memcmp(a->member_bytes, b->member_bytes, (size_t)a->members * sizeof *a->member_bytes) == 0 &&
           a->decision == b->decision && strcmp(a->location, b->location) == 0;
}

/* One collective op: the steps [i, end) that share a `combined` id, or one step. */
static struct report_collective measure_collective(const struct maker *m, uint32_t i, uint32_t end)
{
    const struct spmd_step *s = &m->local.steps[i];
    struct report_collective row = {.kind = s->kind, .axis_count = s->axis_count, .count = s->trips};
    memcpy(row.axes, s->axes, s->axis_count);
    for (uint32_t k = i; k < end; k++)
        row.members += m->local.steps[k].result_count;
    row.member_bytes = arena_alloc(m->r->arena, (size_t)row.members * sizeof *row.member_bytes);
    for (uint32_t k = i, member = 0; k < end; k++) {
        for (uint32_t v = 0; v < m->local.steps[k].result_count; v++) {
            row.member_bytes[member] = m->local.values[m->local.steps[k].results + v].bytes;
            row.bytes += row.member_bytes[member++];
        }
        row.time_ps += m->step_times[k] * s->trips;
    }
    price_step(&m->local, evaluator_machine(m->r->evaluator), i, &row.algorithm);
    row.decision = step_decision(m, s);
    report_location(m->n->program, s->op, row.location, sizeof row.location);
    return row;
}

static void make_collectives(struct maker *m)
{
    struct report *r = m->r;
    r->collectives = arena_alloc(r->arena, (m->local.step_count + 1) * sizeof *r->collectives);
    for (uint32_t i = 0, end; i < m->local.step_count; i = end) {
        const struct spmd_step *s = &m->local.steps[i];
        end = i + 1;
        if (!spmd_step_is_collective(s))
            continue;
        while (s->combined && end < m->local.step_count && m->local.steps[end].combined == s->combined)
            end++;
        struct report_collective row = measure_collective(m, i, end);
        r->time_by_kind[row.kind] += row.time_ps;
        uint32_t k = r->collective_count;
        while (k > 0 && !same_row(&r->collectives[k - 1], &row))
            k--;
        if (k > 0) {
            r->collectives[k - 1].count += row.count;
            r->collectives[k - 1].time_ps += row.time_ps;
        } else {
            r->collectives[r->collective_count++] = row;
        }
    }
}

static int by_time(const void *a, const void *b)
{
    const struct report_collective *x = a, *y = b;
    if (x->time_ps != y->time_ps)
        return x->time_ps > y->time_ps ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    int place = strcmp(x->location, y->location);
    return place ? place : memcmp(x->axes, y->axes, sizeof x->axes);
}

/* ---- memory ---- */

static int by_bytes(const void *a, const void *b)
{
    const struct price_live *x = a, *y = b;
    if (x->bytes != y->bytes)
        return x->bytes > y->bytes ? -1 : 1;
    return x->value < y->value ? -1 : x->value > y->value;
}

static void describe_live(const struct maker *m, const struct price_live *live, struct report_tensor *t)
{
    uint32_t origin = m->local.values[live->value].origin;
    const struct ir_program *p = m->n->program;
    uint32_t op = p->values[origin].op;
    t->bytes = live->bytes;
    report_type(p, origin, t->type, sizeof t->type);
    if (op != IR_NONE) {
        snprintf(t->name, sizeof t->name, "%s", ir_op_name(p, op));
        report_location(p, op, t->location, sizeof t->location);
        return;
    }
    snprintf(t->name, sizeof t->name, "loop value");
    for (uint32_t a = 0; a < m->n->argument_count; a++)
        if (m->n->arguments[a].value == origin)
            snprintf(t->name, sizeof t->name, "%s", m->n->arguments[a].name);
}

/* Puts the steps into the order that takes more memory, so that timeline and peak are of that order.
 * Nothing may look at the steps after it. */
static void make_memory(struct maker *m)
{
    struct report *r = m->r;
    const struct cost_machine *machine = evaluator_machine(r->evaluator);
    r->peak_depth_first = price_reorder_to_peak(&m->local, machine, &r->price);
    int64_t *timeline = price_timeline(&m->local, machine);
    uint32_t steps = m->local.step_count, points = steps < TIMELINE_POINTS ? steps : TIMELINE_POINTS;
    r->timeline = arena_alloc(r->arena, (points + 1) * sizeof *r->timeline);
    r->timeline_count = points;
    r->timeline_steps = steps;
    for (uint32_t i = 0; i < steps; i++) { /* a point is the highest of the steps it stands for */
        uint32_t k = (uint32_t)((uint64_t)i * points / steps);
        if (timeline[i] > r->timeline[k])
            r->timeline[k] = timeline[i];
    }
    free(timeline);
    uint32_t count = 0;
    struct price_live *live = price_live_at(&m->local, machine, r->price.peak_step, &count);
    qsort(live, count, sizeof *live, by_bytes);
    r->at_peak_count = count < PEAK_TENSORS ? count : PEAK_TENSORS;
    r->at_peak = arena_alloc(r->arena, (r->at_peak_count + 1) * sizeof *r->at_peak);
    for (uint32_t i = 0; i < r->at_peak_count; i++)
        describe_live(m, &live[i], &r->at_peak[i]);
    free(live);
}

/* ---- all of it ---- */

static void make_warnings(struct maker *m)
{
    struct report *r = m->r;
    r->warnings =
        arena_alloc(r->arena, (m->n->warning_count + m->local.replicated_op_count + 1) * sizeof *r->warnings);
    for (uint32_t i = 0; i < m->n->warning_count; i++)
        r->warnings[r->warning_count++] =
            arena_strndup(r->arena, m->n->warnings[i], strlen(m->n->warnings[i]));
    for (uint32_t i = 0; i < m->local.replicated_op_count; i++) {
        struct text t = {0};
        spmd_warning_text(&m->local, i, &t);
        r->warnings[r->warning_count++] = arena_strndup(r->arena, t.at ? t.at : "", t.size);
        text_release(&t);
    }
}

static void make_baselines(struct report *r, const struct search *s)
{
    uint32_t count = s ? search_baseline_count(s) : 0;
    r->baselines = arena_alloc(r->arena, (count + 1) * sizeof *r->baselines);
    r->baseline_count = count;
    for (uint32_t i = 0; i < count; i++) {
        const struct search_plan *b = search_baseline(s, i);
        snprintf(r->baselines[i].name, sizeof r->baselines[i].name, "%s", b->found_by);
        r->baselines[i].price = b->price;
        r->baselines[i].cost = b->cost;
    }
}

/* the part that plan.json needs */
static enum error_code make_plan(struct maker *m, struct error *e)
{
    struct report *r = m->r;
    attribute_cells(m);
    TRY(evaluator_price(m->session, &m->plan, &r->price, &r->cost, e));
    r->memory_limit_bytes = evaluator_machine(r->evaluator)->memory_limit_bytes;
    report_arguments(m->c, &m->plan, r->arena, false, &r->arguments, &r->argument_count);
    report_arguments(m->c, &m->plan, r->arena, true, &r->results, &r->result_count);
    return make_decisions(m, e);
}

/* what only a whole report has */
static enum error_code make_report(struct maker *m, const struct search *s, struct error *e)
{
    struct report *r = m->r;
    TRY(spmd_walk(m->c, &m->plan, evaluator_options(r->evaluator), &m->local, e));
    m->step_times = price_step_times(&m->local, evaluator_machine(r->evaluator));
    make_baselines(r, s);
    make_collectives(m);
    qsort(r->collectives, r->collective_count, sizeof *r->collectives, by_time);
    make_memory(m);
    TRY(make_conflicts(m, e));
    make_warnings(m);
    plan_context_decisions(m->c, &r->offered);
    r->pruned = plan_context_pruned(m->c);
    if (r->price.peak_bytes > r->memory_limit_bytes)
        r->smallest_budget_bytes = r->price.peak_bytes;
    return ERROR_OK;
}

static void maker_open(struct maker *m, const struct evaluator *v, const struct search_plan *plan)
{
    struct arena *arena = arena_create();
    *m = (struct maker){.r = arena_alloc(arena, sizeof *m->r), .c = evaluator_context(v)};
    m->n = plan_context_nda(m->c);
    m->mesh = plan_context_mesh(m->c);
    m->r->arena = arena;
    m->r->evaluator = v;
    m->r->plan = *plan;
    if (plan->factor_count) {
        struct plan_factor *factors = arena_alloc(arena, plan->factor_count * sizeof *factors);
        memcpy(factors, plan->factors, plan->factor_count * sizeof *factors);
        m->r->plan.factors = factors;
    }
    snprintf(m->r->proof_status, sizeof m->r->proof_status, "not_run");
    snprintf(m->r->proof_reason, sizeof m->r->proof_reason, "not_requested");
    m->session = evaluator_session_create(v);
    plan_init(&m->plan, m->n, m->mesh);
}

/* the report to the caller, or nothing on failure */
static enum error_code maker_close(struct maker *m, enum error_code code, struct report **out)
{
    plan_release(&m->plan);
    spmd_local_release(&m->local);
    evaluator_session_destroy(m->session);
    free(m->cell_decision);
    free(m->value_space);
    free(m->step_times);
    if (code != ERROR_OK)
        report_destroy(m->r);
    else
        *out = m->r;
    return code;
}

enum error_code report_create(const struct evaluator *v, const struct search *s,
                              const struct search_state *state, const struct search_plan *plan,
                              struct report **out, struct error *e)
{
    struct maker m;
    maker_open(&m, v, plan);
    if (state)
        m.r->search = *state;
    enum error_code code = make_plan(&m, e);
    if (code == ERROR_OK)
        code = make_report(&m, s, e);
    return maker_close(&m, code, out);
}

enum error_code report_create_plan(const struct evaluator *v, const struct search_plan *plan,
                                   struct report **out, struct error *e)
{
    struct maker m;
    maker_open(&m, v, plan);
    return maker_close(&m, make_plan(&m, e), out);
}

void report_add_baseline(struct report *r, const char *name, const struct price *price, struct cost cost)
{
    struct report_baseline *more = arena_alloc(r->arena, (r->baseline_count + 1) * sizeof *more);
    if (r->baseline_count)
        memcpy(more, r->baselines, r->baseline_count * sizeof *more);
    snprintf(more[r->baseline_count].name, sizeof more->name, "%s", name);
    more[r->baseline_count].price = *price;
    more[r->baseline_count].cost = cost;
    r->baselines = more;
    r->baseline_count++;
}

void report_destroy(struct report *r)
{
    if (r)
        arena_destroy(r->arena);
}
