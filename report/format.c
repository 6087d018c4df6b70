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
    static const char *const names[] = {"parameter", "optimizer", "data", "cache"};
    return role >= 0 && role < 4 ? names[role] : "result";
}

static void scaled(double value, double step, const char *const *units, int unit_count, char out[32])
{
    int u = 0;
    while (u + 1 < unit_count && value >= step) {
        value /= step;
        u++;
    }
    snprintf(out, 32,
             u == 0        ? "%.0f %s"
             : value < 10  ? "%.2f %s"
             : value < 100 ? "%.1f %s"
                           : "%.0f %s",
             value, units[u]);
}

void report_bytes(int64_t bytes, char out[32])
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    scaled((double)bytes, 1000, units, 6, out);
}

void report_time(int64_t ps, char out[32])
{
    static const char *const units[] = {"ps", "ns", "us", "ms", "s"};
    scaled((double)ps, 1000, units, 5, out);
}

void report_worth(int64_t ps, char out[48])
{
    char time[32];
    report_time(ps < 0 ? -ps : ps, time);
    snprintf(out, 48, "%s %s", ps < 0 ? "costs" : "saves", ps ? time : "no time");
}

const char *report_cause(const struct report *r, const struct report_collective *c)
{
    if (c->decision >= 0)
        return r->decisions[c->decision].text;
    return r->plan.factor_count ? "a single sharding" : "a pin";
}

void report_type(const struct ir_program *p, uint32_t value, char *out, size_t room)
{
    const struct ir_type *t = ir_value_type(p, value);
    if (t->kind != IR_TYPE_TENSOR) {
        snprintf(out, room, "%s", ir_string(p, t->text));
        return;
    }
    size_t n = (size_t)snprintf(out, room, "%s[", ir_element_name((enum ir_element)t->element));
    for (uint32_t d = 0; d < t->rank && n < room; d++)
        n += (size_t)snprintf(out + n, room - n, "%s%lld", d ? "," : "", (long long)ir_type_dims(p, t)[d]);
    if (n < room)
        snprintf(out + n, room - n, "]");
}

void report_axes(const struct mesh *m, const uint8_t *axes, uint32_t count, char *out, size_t room)
{
    size_t n = 0;
    out[0] = 0;
    for (uint32_t a = 0; a < count && n < room; a++)
        n += (size_t)snprintf(out + n, room - n, "%s%s", a ? "," : "", m->axes[axes[a]].name);
}

void report_spec(const struct plan_sharding *s, const struct mesh *m, char *out, size_t room)
{
    struct text t = {0};
    uint32_t rank = s->rank;
    while (rank > 0 && s->dims[rank - 1].count == 0)
        rank--; /* trailing replicated dimensions are left out, as JAX prints them */
    text_add(&t, "PartitionSpec(");
    for (uint32_t d = 0; d < rank; d++) {
        text_add(&t, d ? ", " : "");
        if (s->dims[d].count == 0)
            text_add(&t, "None");
        else if (s->dims[d].count == 1)
            text_printf(&t, "'%s'", m->axes[s->dims[d].axes[0]].name);
        for (uint32_t a = 0; s->dims[d].count > 1 && a < s->dims[d].count; a++)
            text_printf(&t, "%s'%s'%s", a ? ", " : "(", m->axes[s->dims[d].axes[a]].name,
                        a + 1u == s->dims[d].count ? ")" : "");
    }
    text_add(&t, rank == 1 ? ",)" : ")");
    snprintf(out, room, "%s", t.at);
    text_release(&t);
}

void report_location(const struct ir_program *p, uint32_t op, char *out, size_t room)
{
    if (op == IR_NONE)
        snprintf(out, room, "function boundary");
    else if (p->ops[op].location != IR_NONE && *ir_string(p, p->ops[op].location))
        snprintf(out, room, "%s", ir_string(p, p->ops[op].location));
    else
        snprintf(out, room, "line %u", p->ops[op].line);
}

void report_arguments(const struct plan_context *c, const struct plan *p, struct arena *a, bool results,
                      struct report_argument **out, uint32_t *count)
{
    const struct nda *n = plan_context_nda(c);
    const struct mesh *m = plan_context_mesh(c);
    *count = results ? n->result_count : n->argument_count;
    *out = arena_alloc(a, (*count + 1) * sizeof **out);
    for (uint32_t i = 0; i < *count; i++) {
        struct report_argument *r = &(*out)[i];
        uint32_t space = results ? n->result_spaces[i] : n->arguments[i].space;
        uint32_t value = results ? n->slots[n->spaces[space].slots].value : n->arguments[i].value;
        r->index = i;
        r->name = results ? n->result_names[i] : n->arguments[i].name;
        r->role = results ? -1 : n->arguments[i].role;
        r->regather = results ? 0 : p->regather[i];
        report_type(n->program, value, r->type, sizeof r->type);
        plan_boundary_sharding(c, p, space, &r->sharding);
        report_spec(&r->sharding, m, r->spec, sizeof r->spec);
        const struct ir_type *t = ir_value_type(n->program, value);
        r->bytes_per_device = t->kind == IR_TYPE_TENSOR ? ir_type_bytes(n->program, t) : 0;
        for (uint32_t d = 0; d < r->sharding.rank; d++)
            for (uint32_t k = 0; k < r->sharding.dims[d].count; k++)
                r->bytes_per_device /= m->axes[r->sharding.dims[d].axes[k]].size;
    }
}

/* the order of plans (cost_compare), which has no hash of a baseline: names instead */
static int by_plan_order(const void *a, const void *b)
{
    const struct report_baseline *x = a, *y = b;
    int order = cost_compare(x->cost, (struct hash128){0, 0}, y->cost, (struct hash128){0, 0});
    return order ? order : strcmp(x->name, y->name);
}

struct report_baseline *report_baselines_sorted(const struct report *r)
{
    struct report_baseline *sorted = mem_zalloc(r->baseline_count + 1, sizeof *sorted);
    if (r->baseline_count)
        memcpy(sorted, r->baselines, r->baseline_count * sizeof *sorted);
    qsort(sorted, r->baseline_count, sizeof *sorted, by_plan_order);
    return sorted;
}
