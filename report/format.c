/* Names, sizes, times, types and PartitionSpecs as people read them: the same words in text, page, JSON
 * and command line. Every function writes into a buffer of the caller and cuts what does not fit. */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *report_kind_name(uint8_t kind)
{
    return kind == SPMD_PERMUTE ? "collective_permute" : spmd_step_kind_name((enum spmd_step_kind)kind);
}

const char *report_role_name(int role)
{
    return role >= 0 ? nda_role_name((enum nda_role)role) : "result";
}

/* whole: the first unit has no parts */
static void scaled(double value, bool whole, const char *const *units, int unit_count, char out[32])
{
    int u = 0;
    while (u + 1 < unit_count && value >= 1000) {
        value /= 1000;
        u++;
    }
    snprintf(out, 32,
             u == 0 && whole ? "%.0f %s"
             : value < 10    ? "%.2f %s"
             : value < 100   ? "%.1f %s"
                             : "%.0f %s",
             value, units[u]);
}

void report_bytes(int64_t bytes, char out[32])
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    scaled((double)bytes, true, units, 6, out);
}

void report_time(int64_t ps, char out[32])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    if (ps == 0)
        snprintf(out, 32, "0");
    else if (ps > 0 && ps < 1000) /* no estimate is as fine as that */
        snprintf(out, 32, "<1 ns");
    else
        scaled((double)ps / 1000, false, units, 4, out);
}

void report_cost_note(const struct report *report, char *out, size_t room)
{
    static const char beside[] = "the step time beside one device's";
    if (report->smallest_budget_bytes == 0) {
        snprintf(out, room, "%s", beside);
        return;
    }
    struct cost of_time =
        price_cost(&report->price, evaluator_unsharded(report->evaluator), report->price.peak_bytes);
    char over[32];
    report_bytes(report->price.peak_bytes - report->memory_limit_bytes, over);
    snprintf(out, room, "%.4f, %s, the rest for %s over the limit", cost_value(of_time), beside, over);
}

void report_worth(int64_t ps, char out[48])
{
    char time[32];
    report_time(ps < 0 ? -ps : ps, time);
    snprintf(out, 48, "%s %s", ps < 0 ? "costs" : "saves", ps ? time : "no time");
}

void report_type(const struct ir_program *program, uint32_t value, char *out, size_t room)
{
    const struct ir_type *type = ir_value_type(program, value);
    if (type->kind != IR_TYPE_TENSOR) {
        snprintf(out, room, "%s", ir_string(program, type->text));
        return;
    }
    size_t n = (size_t)snprintf(out, room, "%s[", ir_element_name((enum ir_element)type->element));
    for (uint32_t dim = 0; dim < type->rank && n < room; dim++)
        n += (size_t)snprintf(out + n, room - n, "%s%lld", dim ? "," : "",
                              (long long)ir_type_dims(program, type)[dim]);
    if (n < room)
        snprintf(out + n, room - n, "]");
}

void report_axes(const struct mesh *mesh, const uint8_t *axes, uint32_t count, char *out, size_t room)
{
    size_t n = 0;
    out[0] = 0;
    for (uint32_t axis = 0; axis < count && n < room; axis++)
        n += (size_t)snprintf(out + n, room - n, "%s%s", axis ? "," : "", mesh->axes[axes[axis]].name);
}

void report_spec(const struct plan_sharding *sharding, const struct mesh *mesh, char *out, size_t room)
{
    struct text text = {0};
    uint32_t rank = sharding->rank;
    while (rank > 0 && sharding->dims[rank - 1].count == 0)
        rank--; /* trailing replicated dimensions are left out, as JAX prints them */
    text_add(&text, "PartitionSpec(");
    for (uint32_t dim = 0; dim < rank; dim++) {
        text_add(&text, dim ? ", " : "");
        if (sharding->dims[dim].count == 0)
            text_add(&text, "None");
        else if (sharding->dims[dim].count == 1)
            text_printf(&text, "'%s'", mesh->axes[sharding->dims[dim].axes[0]].name);
        for (uint32_t axis = 0; sharding->dims[dim].count > 1 && axis < sharding->dims[dim].count; axis++)
            text_printf(&text, "%s'%s'%s", axis ? ", " : "(", mesh->axes[sharding->dims[dim].axes[axis]].name,
                        axis + 1u == sharding->dims[dim].count ? ")" : "");
    }
    text_add(&text, rank == 1 ? ",)" : ")");
    snprintf(out, room, "%s", text.at);
    text_release(&text);
}

void report_location(const struct ir_program *program, uint32_t op, char *out, size_t room)
{
    if (op == IR_NONE)
        snprintf(out, room, "function boundary");
    else if (program->ops[op].location != IR_NONE && *ir_string(program, program->ops[op].location))
        snprintf(out, room, "%s", ir_string(program, program->ops[op].location));
    else
        snprintf(out, room, "line %u", program->ops[op].line);
}

/* "file:line" in a location, what is called before who calls; false: none */
static bool find_file(const struct ir_program *program, uint32_t location, char *out, size_t room)
{
    const struct ir_location *at = &program->locations[location];
    if (at->kind == IR_LOCATION_FILE)
        snprintf(out, room, "%s:%u", ir_string(program, at->text), at->line);
    bool found = at->kind == IR_LOCATION_FILE;
    for (uint32_t i = 0; i < at->count && !found; i++)
        found = find_file(program, program->location_parts[at->first + i], out, room);
    return found;
}

void report_where(const struct ir_program *program, uint32_t op, char *out, size_t room)
{
    report_location(program, op, out, room);
    if (op != IR_NONE &&
        !strchr(out, ':')) /* a name alone: of an inlined function whose callers have files */
        find_file(program, program->ops[op].loc, out, room);
}

/* What tells a place from others: a path's last folders and file. Packages are named from their own folder
 * on, as nobody looks for where they are installed. */
void report_place(const char *location, char *out, size_t room)
{
    const char *package = strstr(location, "site-packages/"), *at = location;
    if (package)
        at = package + strlen("site-packages/");
    size_t size = strlen(at);
    if (size >= room) { /* the end, from a folder's name on */
        const char *slash = strchr(at + size - room + 1, '/');
        at = slash ? slash + 1 : at + size - room + 1;
    }
    snprintf(out, room, "%s", at);
}

const char *report_cut_name(uint32_t number)
{
#define NAME(bit, name) name,
    static const char *const names[] = {REPORT_CUTS(NAME)};
#undef NAME
    return number < REPORT_CUT_COUNT ? names[number] : "";
}

bool report_cut_short(struct report *report, const struct search_control *control, enum report_cut what)
{
    bool late = search_stops(control);
    report->cut |= late ? what : 0;
    return late;
}

void report_cuts_text(const struct report *report, char *out, size_t room)
{
    size_t at = 0;
    *out = 0;
    for (uint32_t i = 0; i < REPORT_CUT_COUNT; i++)
        if ((report->cut >> i & 1) && at < room)
            at += (size_t)snprintf(out + at, room - at, "%s%s", at ? ", " : "", report_cut_name(i));
}

bool report_same_place(const char *one, const char *other)
{
    static const char LINE[] = "line ";
    bool lines = strncmp(one, LINE, sizeof LINE - 1) == 0 && strncmp(other, LINE, sizeof LINE - 1) == 0;
    return lines || strcmp(one, other) == 0;
}

int report_compare_places(const char *one, const char *other)
{
    size_t size = strlen(one), other_size = strlen(other);
    if (size != other_size && report_same_place(one, other)) /* "line 9" before "line 10" */
        return size < other_size ? -1 : 1;
    return strcmp(one, other);
}

uint32_t report_dim_groups(const struct nda *n, uint32_t argument, uint32_t dim, const char **out,
                           uint32_t room)
{
    uint32_t value = n->arguments[argument].value, slot = n->value_def_slot[value], count = 0;
    const struct nda_atom *atoms = nda_atoms(n, value);
    for (uint32_t i = 0; slot != NDA_NONE && i < nda_atom_count(n, value) && count < room; i++) {
        uint32_t color = atoms[i].dim == dim ? nda_slot_color(n, slot, i) : (uint32_t)NDA_NONE;
        if (color != NDA_NONE)
            out[count++] = n->groups[n->colors[color].group].label;
    }
    return count;
}

void report_arguments(const struct plan_context *context, const struct plan *plan, struct arena *arena,
                      bool results, struct report_argument **out, uint32_t *count)
{
    const struct nda *n = plan_context_nda(context);
    const struct mesh *mesh = plan_context_mesh(context);
    *count = results ? n->result_count : n->argument_count;
    *out = arena_alloc(arena, (*count + 1) * sizeof **out);
    for (uint32_t i = 0; i < *count; i++) {
        struct report_argument *argument = &(*out)[i];
        uint32_t space = results ? n->result_spaces[i] : n->arguments[i].space;
        uint32_t value = results ? n->slots[n->spaces[space].slots].value : n->arguments[i].value;
        argument->index = i;
        argument->name = results ? n->result_names[i] : n->arguments[i].name;
        argument->role = results ? -1 : n->arguments[i].role;
        argument->role_by = results ? (uint8_t)NDA_BY_DATAFLOW : n->arguments[i].role_by;
        argument->regather = results ? 0 : plan->regather[i];
        report_type(n->program, value, argument->type, sizeof argument->type);
        plan_boundary_sharding(context, plan, space, &argument->sharding);
        report_spec(&argument->sharding, mesh, argument->spec, sizeof argument->spec);
        const struct ir_type *type = ir_value_type(n->program, value);
        argument->bytes_per_device = type->kind == IR_TYPE_TENSOR ? ir_type_bytes(n->program, type) : 0;
        for (uint32_t dim = 0; dim < argument->sharding.rank; dim++)
            for (uint32_t k = 0; k < argument->sharding.dims[dim].count; k++)
                argument->bytes_per_device /= mesh->axes[argument->sharding.dims[dim].axes[k]].size;
    }
}

/* the order of plans (cost_compare), which has no hash of a baseline: names instead, the shortest first, as
 * further words of a name that changes nothing say nothing */
static int by_plan_order(const void *left, const void *right)
{
    const struct report_baseline *one = left, *other = right;
    int order = cost_compare(one->cost, (struct hash128){0, 0}, other->cost, (struct hash128){0, 0});
    size_t length = strlen(one->name), other_length = strlen(other->name);
    return order                    ? order
           : length != other_length ? (length < other_length ? -1 : 1)
                                    : strcmp(one->name, other->name);
}

struct report_baseline *report_baselines_sorted(const struct report *report)
{
    struct report_baseline *sorted = mem_zalloc(report->baseline_count + 1, sizeof *sorted);
    if (report->baseline_count)
        memcpy(sorted, report->baselines, report->baseline_count * sizeof *sorted);
    qsort(sorted, report->baseline_count, sizeof *sorted, by_plan_order);
    return sorted;
}

/* To the picosecond and the byte, of plans that are named by strategies: other words, or axes exchanged that
 * are alike. What is named otherwise ("yours", another planner) is what a reader looks for. */
static bool told_again(const struct report_baseline *one, const struct report_baseline *other)
{
    return strchr(one->name, ':') && strchr(other->name, ':') && one->estimated == other->estimated &&
           one->price.step_ps == other->price.step_ps && one->price.peak_bytes == other->price.peak_bytes &&
           one->price.compute_ps == other->price.compute_ps &&
           one->price.exposed_ps == other->price.exposed_ps;
}

struct report_baseline *report_baselines_distinct(const struct report *report, uint32_t *count)
{
    struct report_baseline *sorted = report_baselines_sorted(report);
    *count = 0;
    for (uint32_t i = 0; i < report->baseline_count; i++) {
        bool again = false;
        for (uint32_t k = 0; k < *count && !again; k++)
            again = told_again(&sorted[i], &sorted[k]);
        if (!again)
            sorted[(*count)++] = sorted[i];
    }
    return sorted;
}

static bool undecided_alike(const struct report_conflict *one, const struct report_conflict *other)
{
    return one->decision < 0 && other->decision < 0 && one->by_choices == other->by_choices &&
           strcmp(one->group, other->group) == 0;
}

uint32_t report_conflicts_alike(const struct report *report, uint32_t i, struct report_conflict *sum)
{
    uint32_t bits = 1;
    *sum = report->conflicts[i];
    for (uint32_t k = 0; k < i; k++)
        if (undecided_alike(&report->conflicts[k], sum))
            return 0;
    for (uint32_t k = i + 1; k < report->conflict_count; k++)
        if (undecided_alike(&report->conflicts[k], sum)) {
            bits++;
            sum->conflicts += report->conflicts[k].conflicts;
            sum->sets += report->conflicts[k].sets;
        }
    return bits;
}
