/* Dimensions that look alike are one group, so a group is what a reader calls a dimension. How much of the
 * memory at the peak has it whole, how much of the time is spent in ops over all of it: then why, also where
 * it is split in other tensors (`partly`). The last reason is measured: the plan with the best decision for
 * it is walked and priced. */
#include "report/whole.h"
#include "report/taken.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HUNDREDTH = 100 }; /* from which share on a dimension has to be explained */
enum { PRICED = 24 };     /* dimensions whose best try is priced: those with most memory or time */
#define LARGE 0.05        /* share from which on twice as many are */
#define TRIFLE 0.1        /* of the places that are whole: a try that splits less is no try of them */

struct finder {
    const struct plan_context *context;
    const struct nda *n;
    const struct mesh *mesh;
    struct evaluator_session *session;
    const struct plan *plan;
    const struct spmd_local *local;
    const struct price_held *held;
    const int64_t *step_times;
    struct report *report;
    bool priced;
    const struct search_control *control; /* NULL: there is time for all tries */
    int64_t *bytes, *time_ps;             /* by group: of what has it whole */
    int64_t *most;                        /* by group: bytes of the largest of these tensors */
    uint32_t *example;                    /* by group: that tensor, a local value; NDA_NONE */
    bool *split;
    struct plan trial;
};

static uint32_t group_at(const struct nda *n, uint32_t factor_index)
{
    return n->colors[n->factors[factor_index].color].group;
}

/* ---- how much depends on each group ---- */

/* the groups that an op or a tensor has, each once, and whether an axis splits it there */
struct groups {
    uint32_t at[NDA_MAX_FACTORS], count;
    bool split[NDA_MAX_FACTORS];
};

static void add_group(struct groups *groups, uint32_t group, bool split)
{
    uint32_t i = 0;
    while (i < groups->count && groups->at[i] != group)
        i++;
    if (i == NDA_MAX_FACTORS)
        return;
    if (i == groups->count) {
        groups->at[groups->count++] = group;
        groups->split[i] = false;
    }
    groups->split[i] |= split;
}

/* groups of a value's atoms, as the space that defines it has them */
static void weigh_value(struct finder *finder, uint32_t value, int64_t bytes)
{
    const struct nda *n = finder->n;
    uint32_t origin = finder->local->values[value].origin, slot = n->value_def_slot[origin];
    struct groups groups = {.count = 0};
    for (uint32_t i = 0; slot != NDA_NONE && i < nda_atom_count(n, origin); i++) {
        uint32_t factor = nda_slot_factor(n, slot, i);
        if (factor != NDA_NONE)
            add_group(&groups, group_at(n, factor), spmd_atom_devices(finder->local, value, i) > 1);
    }
    for (uint32_t i = 0; i < groups.count; i++) {
        uint32_t group = groups.at[i];
        if (groups.split[i])
            continue;
        finder->bytes[group] += bytes;
        if (bytes > finder->most[group]) {
            finder->most[group] = bytes;
            finder->example[group] = value;
        }
    }
}

static bool factor_is_split(const struct finder *finder, const struct spmd_step *step, uint32_t factor)
{
    for (uint32_t axis = 0; step->cells != SPMD_NONE && axis < finder->mesh->axis_count; axis++)
        if (finder->mesh->axes[axis].size > 1 && finder->local->cells[step->cells + axis].factor == factor)
            return true;
    return false;
}

static void weigh_step(struct finder *finder, const struct spmd_step *step, int64_t time_ps)
{
    const struct nda *n = finder->n;
    uint32_t space = step->kind == SPMD_OP ? n->op_space[step->op] : NDA_NONE;
    struct groups groups = {.count = 0};
    for (uint32_t k = 0; space != NDA_NONE && k < n->spaces[space].factor_count; k++)
        add_group(&groups, group_at(n, n->spaces[space].factors + k), factor_is_split(finder, step, k));
    for (uint32_t i = 0; i < groups.count; i++)
        finder->time_ps[groups.at[i]] += groups.split[i] ? 0 : time_ps * step->trips;
}

static void weigh(struct finder *finder)
{
    const struct nda *n = finder->n;
    const struct spmd_local *local = finder->local;
    for (uint32_t i = 0; i < finder->held->live_count; i++)
        weigh_value(finder, finder->held->live[i].value, finder->held->live[i].bytes);
    for (uint32_t i = 0; i < local->step_count; i++)
        weigh_step(finder, &local->steps[i], finder->step_times[i]);
    for (uint32_t space = 0; space < n->space_count; space++)
        for (uint32_t axis = 0; axis < finder->mesh->axis_count; axis++) {
            uint8_t factor = plan_space(finder->plan, space)[axis].factor;
            if (factor != NDA_NO_FACTOR && finder->mesh->axes[axis].size > 1)
                finder->split[group_at(n, n->spaces[space].factors + factor)] = true;
        }
}

/* ---- what is in the way ---- */

static bool some_axis_divides(const struct finder *finder, int64_t size)
{
    for (uint32_t axis = 0; axis < finder->mesh->axis_count; axis++)
        if (finder->mesh->axes[axis].size > 1 && size % finder->mesh->axes[axis].size == 0)
            return true;
    return false;
}

/* Where the group is a part of the dimension of its example (heads of heads x keys): elements of that
 * dimension, else of the group. Nobody can pad a part alone. */
static int64_t whole_dimension(const struct finder *finder, uint32_t group)
{
    const struct nda *n = finder->n;
    uint32_t value = finder->example[group];
    int64_t size = 1;
    uint32_t origin = value == NDA_NONE ? NDA_NONE : finder->local->values[value].origin;
    uint32_t slot = origin == NDA_NONE ? NDA_NONE : n->value_def_slot[origin];
    if (slot == NDA_NONE)
        return n->groups[group].size;
    const struct nda_atom *atoms = nda_atoms(n, origin);
    uint32_t count = nda_atom_count(n, origin), found = 0;
    while (found < count && (nda_slot_factor(n, slot, found) == NDA_NONE ||
                             group_at(n, nda_slot_factor(n, slot, found)) != group))
        found++;
    if (found == count || atoms[found].size != n->groups[group].size)
        return n->groups[group].size;
    for (uint32_t i = 0; i < count; i++)
        size *= atoms[i].dim == atoms[found].dim ? atoms[i].size : 1;
    return size;
}

/* what the reader of a dimension can do whose parts are arrays of their own */
static void tell_apart(int64_t size, int64_t times, char *out, size_t room)
{
    size_t at = (size_t)snprintf(
        out, room, "; each of the %lld is sliced out by itself, so no padding helps: ", (long long)size);
    if (at < room && times > 1)
        at += (size_t)snprintf(out + at, room - at, "split the %lld that each is made of, or ",
                               (long long)times);
    if (at < room)
        snprintf(out + at, room - at, "have %lld arrays", (long long)size);
}

/* "12 of 1536 = 12 x 128" of a part of a dimension */
static size_t tell_part(int64_t size, int64_t times, char *out, size_t room)
{
    int64_t whole = size * times;
    size_t at = (size_t)snprintf(out, room, "%lld", (long long)size);
    if (times > 1)
        at += (size_t)snprintf(out + at, room - at, " of %lld = %lld x %lld", (long long)whole,
                               (long long)size, (long long)times);
    return at;
}

/* "50257 is divided by none of data=4, model=8; the nearest sizes that are: 50256, 50260"; of a part of a
 * dimension of `whole` elements the sizes that this would have. apart: as report_sliced_apart */
static void tell_sizes(const struct finder *finder, int64_t size, int64_t whole, bool apart, char *out,
                       size_t room)
{
    int64_t least = 0, times = whole / size;
    size_t at = tell_part(size, times, out, room);
    at += (size_t)snprintf(out + at, room - at, " is divided by none of ");
    for (uint32_t axis = 0, shown = 0; axis < finder->mesh->axis_count; axis++) {
        int64_t devices = finder->mesh->axes[axis].size;
        if (devices < 2)
            continue;
        least = least == 0 || devices < least ? devices : least;
        if (at < room)
            at += (size_t)snprintf(out + at, room - at, "%s%s=%lld", shown++ ? ", " : "",
                                   finder->mesh->axes[axis].name, (long long)devices);
    }
    if (apart) {
        if (at < room)
            tell_apart(size, times, out + at, room - at);
        return;
    }
    int64_t below = size / least * least * times, above = below + least * times;
    if (at < room && below > 0)
        at += (size_t)snprintf(out + at, room - at, "; the nearest sizes that are: %lld, %lld",
                               (long long)below, (long long)above);
    else if (at < room)
        at += (size_t)snprintf(out + at, room - at, "; the nearest size that is: %lld", (long long)above);
    int64_t devices = mesh_devices(finder->mesh), padded = (size / devices + 1) * devices * times;
    if (at < room && devices > least && size > devices)
        snprintf(out + at, room - at, "; by all %lld devices: %lld", (long long)devices, (long long)padded);
}

/* Where some axis divides but not the largest one (a batch of 12 on data=8, model=2): "12 is not divided by
 * data=8; the nearest sizes that are: 8, 16"; of a part as tell_sizes. false: that one does, or the others
 * are as large. */
static bool tell_largest_axis(const struct finder *finder, int64_t size, int64_t whole, char *out,
                              size_t room)
{
    const struct mesh_axis *largest = &finder->mesh->axes[0];
    uint32_t alike = 1;
    for (uint32_t axis = 1; axis < finder->mesh->axis_count; axis++) {
        const struct mesh_axis *other = &finder->mesh->axes[axis];
        alike = other->size > largest->size ? 1 : alike + (other->size == largest->size);
        largest = other->size > largest->size ? other : largest;
    }
    if (alike > 1 || largest->size < 2 || size % largest->size == 0)
        return false;
    int64_t times = whole / size, step = largest->size * times;
    int64_t below = size / largest->size * step, above = below + step;
    size_t at = tell_part(size, times, out, room);
    if (at < room)
        at += (size_t)snprintf(out + at, room - at,
                               " is not divided by %s=%lld; the nearest size%s: ", largest->name,
                               (long long)largest->size, below > 0 ? "s that are" : " that is");
    if (at < room && below > 0)
        at += (size_t)snprintf(out + at, room - at, "%lld, ", (long long)below);
    if (at < room)
        snprintf(out + at, room - at, "%lld", (long long)above);
    return true;
}

/* the op that keeps most of the group's factors whole, and whether none of them could be split */
static bool no_rule(const struct finder *finder, uint32_t group, struct report_whole *whole)
{
    const struct nda *n = finder->n;
    int64_t largest = -1;
    bool some = false;
    for (uint32_t space = 0; space < n->space_count; space++)
        for (uint32_t k = 0; k < n->spaces[space].factor_count; k++) {
            const struct nda_factor *factor = &n->factors[n->spaces[space].factors + k];
            if (group_at(n, n->spaces[space].factors + k) != group)
                continue;
            some |= factor->shardable && n->spaces[space].kind == NDA_SPACE_OP;
            if (factor->shardable || n->spaces[space].kind != NDA_SPACE_OP || factor->size <= largest)
                continue;
            largest = factor->size;
            snprintf(whole->op, sizeof whole->op, "%s", ir_op_name(n->program, n->spaces[space].op));
            report_where(n->program, n->spaces[space].op, whole->location, sizeof whole->location);
        }
    if (some)
        whole->op[0] = whole->location[0] = 0;
    return !some && largest >= 0;
}

/* the first op that slides a window over the group's dimensions, or slides them; false: none does */
static bool find_window(const struct finder *finder, uint32_t group, struct report_whole *whole)
{
    const struct nda *n = finder->n;
    uint32_t found = NDA_NONE;
    for (uint32_t space = 0; space < n->space_count && found == NDA_NONE; space++)
        for (uint32_t k = 0; k < n->spaces[space].factor_count; k++)
            if (n->spaces[space].kind == NDA_SPACE_OP &&
                n->factors[n->spaces[space].factors + k].kind == NDA_WINDOWED &&
                group_at(n, n->spaces[space].factors + k) == group)
                found = n->spaces[space].op;
    if (found == NDA_NONE)
        return false;
    snprintf(whole->op, sizeof whole->op, "%s", ir_op_name(n->program, found));
    report_where(n->program, found, whole->location, sizeof whole->location);
    return true;
}

/* trial: the plan with a decision before or behind all others. false: it changes nothing */
static bool apply_try(struct finder *finder, struct plan_decision decision, bool first)
{
    const struct search_plan *plan = &finder->report->plan;
    uint32_t changed = 0;
    plan_copy(&finder->trial, plan_context_start(finder->context));
    if (first)
        changed = plan_apply(finder->context, &finder->trial, decision);
    for (uint32_t i = 0; i < plan->count; i++)
        plan_apply(finder->context, &finder->trial, plan->decisions[i]);
    for (uint32_t i = 0; i < plan->factor_count; i++)
        plan_apply_factor(finder->context, &finder->trial, plan->factors[i].space, plan->factors[i].factor,
                          plan->factors[i].axis);
    if (!first)
        changed = plan_apply(finder->context, &finder->trial, decision);
    return changed && hash128_compare(finder->trial.hash, finder->plan->hash) != 0;
}

static bool better_try(const struct report_try *one, const struct report_try *other)
{
    return !other->text[0] || cost_compare(one->cost, one->hash, other->cost, other->hash) < 0;
}

/* best: of those that split more than a trifle; trifle: of the others */
static enum error_code try_decision(struct finder *finder, struct plan_decision decision, bool first,
                                    struct report_whole *whole, struct report_try *trifle, struct error *e)
{
    struct report_try made = {.first = first, .decision = decision};
    struct price price;
    if (!apply_try(finder, decision, first))
        return ERROR_OK;
    TRY(evaluator_price_alike(finder->session, &finder->trial, &price, &made.cost, e));
    made.hash = finder->trial.hash;
    made.step_ps = price.step_ps;
    made.peak_bytes = price.peak_bytes;
    made.reach = report_reach(finder->n, finder->mesh, finder->plan, &finder->trial, whole->group);
    bool real = made.reach.ops >= TRIFLE || made.reach.stored >= TRIFLE;
    struct report_try *best = real ? &whole->best : trifle;
    whole->takes_turn |= !first && real;
    struct text text = {0};
    plan_decision_text(finder->context, decision, &text);
    snprintf(made.text, sizeof made.text, "%s", text.at ? text.at : "");
    text_release(&text);
    if (!better_try(&made, best))
        return ERROR_OK;
    report_displaced(finder->n, finder->mesh, finder->plan, &finder->trial, decision.axis, made.displaced,
                     sizeof made.displaced);
    *best = made;
    return ERROR_OK;
}

static bool better_than_plan(const struct finder *finder, const struct report_try *made)
{
    const struct cost cost = finder->report->cost;
    return made->text[0] && cost_compare(made->cost, made->hash, cost, finder->plan->hash) < 0 &&
           made->cost.c < cost.c && !report_costs_the_same(cost, made->cost);
}

static bool could_have(const struct finder *finder, int64_t size, uint32_t axes)
{
    for (uint32_t axis = 0; axis < finder->mesh->axis_count; axis++)
        if ((axes >> axis & 1) && size % finder->mesh->axes[axis].size == 0)
            return true;
    return false;
}

static void judge_tries(const struct finder *finder, const struct report_try *trifle,
                        struct report_whole *whole)
{
    if (!whole->best.text[0] || (better_than_plan(finder, trifle) && better_try(trifle, &whole->best)))
        whole->best = *trifle;
    whole->tried = whole->best.text[0] != 0;
    if (better_than_plan(finder, &whole->best))
        whole->reason = REPORT_MISSED;
    else if (!whole->tried)
        whole->reason = REPORT_NO_RULE;
    else
        whole->reason = whole->takes_turn ? REPORT_NO_GAIN : REPORT_CONFLICT_LOST;
    uint32_t free_axes = 0;
    if (whole->reason == REPORT_CONFLICT_LOST || whole->reason == REPORT_NO_RULE)
        free_axes = report_taken_by(finder->n, finder->mesh, finder->plan, whole->group, whole->taken,
                                    sizeof whole->taken);
    if (whole->reason == REPORT_CONFLICT_LOST && could_have(finder, whole->size, free_axes)) {
        whole->reason = REPORT_NO_GAIN; /* nobody has the axis: what it splits, it splits in its turn */
        whole->taken[0] = 0;
    }
}

static enum error_code try_group(struct finder *finder, struct report_whole *whole, struct error *e)
{
    const struct nda_group *group = &finder->n->groups[whole->group];
    struct report_try trifle = {0};
    uint32_t sides = group->bits ? 2 : 1;
    for (uint8_t axis = 0; axis < finder->mesh->axis_count; axis++)
        for (uint32_t side = 0; side < sides && finder->mesh->axes[axis].size > 1; side++)
            for (int first = 0; first < 2; first++) {
                struct plan_decision decision = {.group = whole->group,
                                                 .bits = side ? (1u << group->bits) - 1 : 0,
                                                 .axis = axis,
                                                 .scope = PLAN_SCOPE_ALL};
                TRY(try_decision(finder, decision, first, whole, &trifle, e));
            }
    judge_tries(finder, &trifle, whole);
    return ERROR_OK;
}

static int by_share(const void *left, const void *right)
{
    const struct report_whole *whole = left, *other = right;
    double share = whole->memory > whole->time ? whole->memory : whole->time;
    double than = other->memory > other->time ? other->memory : other->time;
    if (share != than)
        return share > than ? -1 : 1;
    return whole->group < other->group ? -1 : whole->group > other->group;
}

/* Of a local value's dimension that is cut into parts (heads x keys, groups x channels): " (dimension 3 is
 * 32 x 40)". */
static void tell_parts(const struct finder *finder, uint32_t group, uint32_t value, struct text *out)
{
    const struct nda *n = finder->n;
    uint32_t origin = finder->local->values[value].origin, found = 0, parts = 0;
    const struct nda_atom *atoms = nda_atoms(n, origin);
    uint32_t slot = n->value_def_slot[origin], count = nda_atom_count(n, origin);
    for (uint32_t factor; slot != NDA_NONE && found < count; found++) {
        factor = nda_slot_factor(n, slot, found);
        if (factor != NDA_NONE && group_at(n, factor) == group &&
            spmd_atom_devices(finder->local, value, found) <= 1)
            break;
    }
    for (uint32_t i = 0; found < count && i < count; i++)
        parts += atoms[i].dim == atoms[found].dim;
    if (parts < 2)
        return;
    text_printf(out, " (dimension %u is ", (unsigned)atoms[found].dim);
    for (uint32_t i = 0, shown = 0; i < count; i++)
        if (atoms[i].dim == atoms[found].dim)
            text_printf(out, "%s%lld", shown++ ? " x " : "", (long long)atoms[i].size);
    text_add_char(out, ')');
}

/* "f32[8,32,256] of stablehlo.dot_general at line 52", "params/w" */
static void tell_example(const struct finder *finder, uint32_t group, char *out, size_t room)
{
    const struct ir_program *program = finder->n->program;
    char type[64], location[160], place[100];
    out[0] = 0;
    if (finder->example[group] == NDA_NONE)
        return;
    const struct spmd_local *local = finder->local;
    const struct spmd_value *example = &local->values[finder->example[group]];
    /* a copy that collectives made of the value */
    bool gathered = example->step != SPMD_NONE && spmd_step_is_collective(&local->steps[example->step]);
    uint32_t value = example->origin;
    const struct ir_value *origin = &program->values[value];
    struct text parts = {0};
    report_type(program, value, type, sizeof type);
    tell_parts(finder, group, finder->example[group], &parts);
    if (origin->op == IR_NONE) {
        bool argument = origin->block == finder->n->block;
        snprintf(out, room, "%s%s of %s%s", gathered ? "the gathered " : "", type,
                 argument ? finder->report->arguments[origin->index].name : "a loop",
                 parts.at ? parts.at : "");
    } else {
        report_where(program, origin->op, location, sizeof location);
        report_place(location, place, sizeof place);
        snprintf(out, room, "%s of %s at %s%s", type, ir_op_name(program, origin->op), place,
                 parts.at ? parts.at : "");
    }
    text_release(&parts);
}

static void list(struct finder *finder)
{
    struct report *report = finder->report;
    report->whole = arena_alloc(report->arena, (finder->n->group_count + 1) * sizeof *report->whole);
    for (uint32_t group = 0; group < finder->n->group_count; group++) {
        double memory = (double)finder->bytes[group] /
                        (double)(report->price.peak_bytes > 0 ? report->price.peak_bytes : 1);
        double time =
            (double)finder->time_ps[group] / (double)(report->price.step_ps > 0 ? report->price.step_ps : 1);
        if (finder->n->groups[group].size < 2 || (memory * HUNDREDTH <= 1 && time * HUNDREDTH <= 1))
            continue;
        struct report_whole *whole = &report->whole[report->whole_count++];
        whole->group = group;
        whole->size = finder->n->groups[group].size;
        whole->partly = finder->split[group];
        whole->memory = memory < 1 ? memory : 1;
        whole->time = time < 1 ? time : 1;
        snprintf(whole->label, sizeof whole->label, "%s", finder->n->groups[group].label);
        tell_example(finder, group, whole->example, sizeof whole->example);
    }
    qsort(report->whole, report->whole_count, sizeof *report->whole, by_share);
}

static void warn_of_batch(struct finder *finder)
{
    const struct nda *n = finder->n;
    for (uint32_t group = 0; group < n->group_count; group++) {
        char sizes[300], line[400];
        int64_t size = n->groups[group].size;
        bool some = some_axis_divides(finder, size);
        if (!(n->groups[group].roles & NDA_COLOR_BATCH) || size < 2 || mesh_devices(finder->mesh) < 2 ||
            (some && !tell_largest_axis(finder, size, size, sizes, sizeof sizes)))
            continue;
        if (!some)
            tell_sizes(finder, size, size, false, sizes, sizeof sizes);
        snprintf(line, sizeof line, "the batch (%s) is not split%s: %s", n->groups[group].label,
                 some ? " over the largest axis" : "", sizes);
        report_add_warning(finder->report, line);
    }
}

/* the best expert that uses the axis, by the names of its parts ("batch:data+ffn:model"); NULL: none fits */
static const struct report_baseline *best_over(const struct finder *finder, const char *axis)
{
    const struct report *report = finder->report;
    const struct report_baseline *best = NULL;
    for (uint32_t i = 0; i < report->baseline_count; i++) {
        const struct report_baseline *expert = &report->baselines[i];
        bool uses = false;
        for (const char *at = strchr(expert->name, ':'); at && !uses; at = strchr(at + 1, ':'))
            uses = strncmp(at + 1, axis, strlen(axis)) == 0 && strchr("+", at[1 + strlen(axis)]);
        if (uses && expert->price.peak_bytes <= report->memory_limit_bytes && !expert->estimated &&
            (!best || expert->price.step_ps < best->price.step_ps))
            best = expert;
    }
    return best;
}

/* Axes over which nothing at all is split: their devices do the same work, which is either a loss that the
 * network between them explains, or a mesh that is larger than the model needs. */
static void warn_of_idle_axes(struct finder *finder)
{
    const struct plan *plan = finder->plan;
    for (uint32_t axis = 0; axis < finder->mesh->axis_count; axis++) {
        const struct mesh_axis *idle = &finder->mesh->axes[axis];
        bool used = idle->size < 2;
        for (uint32_t space = 0; space < finder->n->space_count && !used; space++)
            used = plan_space(plan, space)[axis].factor != NDA_NO_FACTOR;
        char line[600], step[32];
        if (used)
            continue;
        const struct report_baseline *best = finder->priced ? best_over(finder, idle->name) : NULL;
        size_t size = (size_t)snprintf(
            line, sizeof line, "the axis %.60s splits nothing: its %lld devices do the same work%s",
            idle->name, (long long)idle->size,
            finder->priced ? "; every use of it that was tried is slower, or does not fit" : "");
        if (best) {
            report_time(best->price.step_ps, step);
            snprintf(line + size, sizeof line - size, " (of experts the best that uses it is %s: %s)",
                     best->name, step);
        }
        report_add_warning(finder->report, line);
    }
}

/* how many rows may be tried before this one */
static uint32_t most_tried(const struct report_whole *whole)
{
    double share = whole->memory > whole->time ? whole->memory : whole->time;
    return share >= LARGE ? 2 * PRICED : PRICED;
}

static enum error_code explain(struct finder *finder, struct error *e)
{
    struct report *report = finder->report;
    uint32_t tried = 0;
    for (uint32_t i = 0; i < report->whole_count; i++) {
        struct report_whole *whole = &report->whole[i];
        bool divides = mesh_devices(finder->mesh) < 2 || some_axis_divides(finder, whole->size);
        if (divides && mesh_devices(finder->mesh) > 1 && !report_sliced_apart(finder->n, whole->group))
            (void)tell_largest_axis(finder, whole->size, whole_dimension(finder, whole->group), whole->sizes,
                                    sizeof whole->sizes);
        if (!divides && find_window(finder, whole->group, whole)) {
            whole->reason = REPORT_NO_RULE; /* another size would not help */
        } else if (!divides) {
            tell_sizes(finder, whole->size, whole_dimension(finder, whole->group),
                       report_sliced_apart(finder->n, whole->group), whole->sizes, sizeof whole->sizes);
        } else if (no_rule(finder, whole->group, whole)) {
            whole->reason = REPORT_NO_RULE;
        } else if (finder->priced && tried < most_tried(whole) &&
                   !report_cut_short(finder->report, finder->control, REPORT_CUT_WHOLE)) {
            tried++;
            TRY(try_group(finder, whole, e));
        } else {
            whole->reason = REPORT_NOT_TRIED;
        }
    }
    return ERROR_OK;
}

enum error_code report_find_whole(const struct plan_context *context, struct evaluator_session *session,
                                  const struct plan *plan, const struct spmd_local *local,
                                  const struct price_held *held, const int64_t *step_times, bool priced,
                                  const struct search_control *control, struct report *report,
                                  struct error *e)
{
    struct finder finder = {.context = context,
                            .n = plan_context_nda(context),
                            .mesh = plan_context_mesh(context),
                            .session = session,
                            .plan = plan,
                            .local = local,
                            .held = held,
                            .step_times = step_times,
                            .report = report,
                            .priced = priced,
                            .control = control};
    finder.bytes = mem_zalloc(finder.n->group_count + 1, sizeof *finder.bytes);
    finder.time_ps = mem_zalloc(finder.n->group_count + 1, sizeof *finder.time_ps);
    finder.most = mem_zalloc(finder.n->group_count + 1, sizeof *finder.most);
    finder.example = mem_zalloc(finder.n->group_count + 1, sizeof *finder.example);
    for (uint32_t i = 0; i < finder.n->group_count; i++)
        finder.example[i] = NDA_NONE;
    finder.split = mem_zalloc(finder.n->group_count + 1, sizeof *finder.split);
    plan_init(&finder.trial, finder.n, finder.mesh);
    weigh(&finder);
    list(&finder);
    enum error_code code = explain(&finder, e);
    warn_of_batch(&finder);
    warn_of_idle_axes(&finder);
    plan_release(&finder.trial);
    free(finder.bytes);
    free(finder.time_ps);
    free(finder.most);
    free(finder.example);
    free(finder.split);
    return code;
}

const char *report_reason_name(enum report_reason reason)
{
    switch (reason) {
    case REPORT_DOES_NOT_DIVIDE: return "does_not_divide";
    case REPORT_CONFLICT_LOST: return "conflict_lost";
    case REPORT_NO_RULE: return "no_rule";
    case REPORT_NO_GAIN: return "no_gain";
    case REPORT_MISSED: return "missed";
    case REPORT_NOT_TRIED: return "not_tried";
    }
    return "";
}
