/* The local program as text, its collectives in sums, and names of steps. For goldens, reports and
 * debugging. */
#include "spmd/local.h"

#include "ir/attrs.h"

#include <string.h>

const char *spmd_step_kind_name(enum spmd_step_kind k)
{
    switch (k) {
    case SPMD_OP: return "op";
    case SPMD_ALL_GATHER: return "all_gather";
    case SPMD_ALL_REDUCE: return "all_reduce";
    case SPMD_REDUCE_SCATTER: return "reduce_scatter";
    case SPMD_ALL_TO_ALL: return "all_to_all";
    case SPMD_PERMUTE: return "collective_permute";
    case SPMD_SLICE: return "slice";
    case SPMD_MASK: return "mask";
    case SPMD_LOOP: return "loop";
    case SPMD_LOOP_BODY: return "loop_body";
    case SPMD_LOOP_END: return "loop_end";
    case SPMD_BRANCH: return "branch";
    case SPMD_BRANCH_NEXT: return "branch_next";
    case SPMD_BRANCH_END: return "branch_end";
    case SPMD_RESULT: return "result";
    }
    return "?";
}

static const char *reducer_name(uint8_t reducer)
{
    switch ((enum nda_reducer)reducer) {
    case NDA_REDUCE_NONE: return "none";
    case NDA_REDUCE_ADD: return "add";
    case NDA_REDUCE_MULTIPLY: return "multiply";
    case NDA_REDUCE_MAX: return "max";
    case NDA_REDUCE_MIN: return "min";
    case NDA_REDUCE_AND: return "and";
    case NDA_REDUCE_OR: return "or";
    }
    return "?";
}

/* the axes on one atom, in order; "" when none */
static void atom_text(const struct spmd_local *l, const struct spmd_form *f, uint32_t atom, bool *first,
                      struct text *out)
{
    for (uint32_t position = 0; position < l->mesh->axis_count; position++)
        for (uint32_t a = 0; a < l->mesh->axis_count; a++)
            if (f->at[a] == atom && f->position[a] == position) {
                text_printf(out, "%s%s", *first ? "" : ",", l->mesh->axes[a].name);
                *first = false;
            }
}

/* A dim of several atoms, some inner one sharded, prints them apart: {a|b}: a on the outer atom, b on the
 * next. Axes on the whole dim stand behind a slash: {a/b}. */
void spmd_form_text(const struct spmd_local *l, uint32_t value, struct text *out)
{
    const struct spmd_value *v = &l->values[value];
    const struct nda_atom *atoms = nda_atoms(l->nda, v->origin);
    uint32_t count = nda_atom_count(l->nda, v->origin);
    const struct ir_type *type = ir_value_type(l->nda->program, v->origin);

    text_add_char(out, '[');
    for (uint32_t d = 0; type->kind == IR_TYPE_TENSOR && d < type->rank; d++) {
        text_add(out, d ? ", {" : "{");
        uint32_t bars = 0;
        for (uint32_t i = 0; i < count; i++) {
            bool first = true, any = false;
            if (atoms[i].dim != d)
                continue;
            for (uint32_t a = 0; a < l->mesh->axis_count; a++)
                any |= v->form.at[a] == i;
            if (any)
                for (; bars < atoms[i].level; bars++)
                    text_add_char(out, '|');
            atom_text(l, &v->form, i, &first, out);
        }
        bool first = true, whole = false;
        for (uint32_t a = 0; a < l->mesh->axis_count; a++)
            whole |= v->form.at[a] == SPMD_WHOLE + d;
        text_add(out, whole ? "/" : "");
        atom_text(l, &v->form, SPMD_WHOLE + d, &first, out);
        text_add_char(out, '}');
    }
    text_add_char(out, ']');
    for (uint32_t reducer = NDA_REDUCE_ADD; reducer <= NDA_REDUCE_OR; reducer++) {
        bool first = true;
        for (uint32_t a = 0; a < l->mesh->axis_count; a++)
            if (v->form.at[a] == SPMD_PARTIAL + reducer) {
                if (first)
                    text_printf(out, " partial %s {", reducer_name((uint8_t)reducer));
                text_printf(out, "%s%s", first ? "" : ",", l->mesh->axes[a].name);
                first = false;
            }
        if (!first)
            text_add_char(out, '}');
    }
}

static void value_text(const struct spmd_local *l, uint32_t value, struct text *out)
{
    const struct ir_type *type = ir_value_type(l->nda->program, l->values[value].origin);
    int64_t dims[IR_MAX_RANK];

    text_printf(out, "%%%u", value);
    if (type->kind != IR_TYPE_TENSOR || type->rank > IR_MAX_RANK)
        return;
    spmd_local_dims(l->nda, l->mesh, l->values[value].origin, &l->values[value].form, dims);
    text_add(out, ":");
    for (uint32_t d = 0; d < type->rank; d++)
        text_printf(out, "%lldx", (long long)dims[d]);
    text_add(out, ir_element_name((enum ir_element)type->element));
    for (uint32_t a = 0; a < l->mesh->axis_count; a++)
        if (l->values[value].form.at[a] != SPMD_REPLICATED) {
            text_add_char(out, ' ');
            spmd_form_text(l, value, out);
            return;
        }
}

static void step_text(const struct spmd_local *l, const struct spmd_step *s, struct text *out)
{
    static const char indent[] = "                                ";
    const struct ir_program *p = l->nda->program;

    text_printf(out, "%.*s", (int)(s->depth < 16 ? 2 * s->depth : 32), indent);
    for (uint32_t i = 0; i < s->result_count; i++) {
        if (i)
            text_add(out, ", ");
        value_text(l, s->results + i, out);
    }
    text_add(out, s->result_count ? " = " : "");
    if (s->kind == SPMD_OP) {
        const char *name = ir_op_name(p, s->op), *dot = strchr(name, '.');
        text_add(out, dot ? dot + 1 : name);
    } else {
        text_add(out, spmd_step_kind_name((enum spmd_step_kind)s->kind));
    }
    if (s->reducer)
        text_printf(out, " %s", reducer_name(s->reducer));
    for (uint32_t i = 0; i < s->axis_count; i++)
        text_printf(out, "%s%s", i ? "," : " {", l->mesh->axes[s->axes[i]].name);
    text_add(out, s->axis_count ? "}" : "");
    for (uint32_t i = 0; i < s->operand_count; i++)
        text_printf(out, "%s%%%u", i ? ", " : " ", spmd_operand(l, s, i));
    if (s->mask_initial)
        text_add(out, " mask_initial");
    if (s->rematerialised)
        text_add(out, " again");
    if (s->combined)
        text_printf(out, " combined %u", s->combined);
    if (s->kind == SPMD_LOOP_BODY || s->kind == SPMD_LOOP)
        text_printf(out, " trips %lld", (long long)s->trips);
    text_add_char(out, '\n');
}

void spmd_local_text(const struct spmd_local *l, struct text *out)
{
    for (uint32_t i = 0; i < l->argument_count; i++) {
        text_add(out, "argument ");
        value_text(l, i, out);
        text_add_char(out, '\n');
    }
    for (uint32_t i = 0; i < l->step_count; i++)
        step_text(l, &l->steps[i], out);
}

void spmd_warning_text(const struct spmd_local *l, uint32_t i, struct text *out)
{
    const struct ir_program *p = l->nda->program;
    uint32_t op = l->replicated_ops[i];

    text_printf(out, "%s", ir_op_name(p, op));
    if (p->ops[op].line)
        text_printf(out, " at line %u", p->ops[op].line);
    text_add(out, " cannot be sharded in this way: its operands are gathered first and every device computes "
                  "it whole.");
}

uint32_t spmd_collective_sums(const struct spmd_local *l, struct spmd_collective_sum *out, uint32_t room)
{
    uint32_t count = 0, last_combined = 0;

    for (uint32_t i = 0; i < l->step_count; i++) {
        const struct spmd_step *s = &l->steps[i];
        if (!spmd_step_is_collective(s))
            continue;
        uint32_t k = 0;
        while (k < count && !(out[k].kind == s->kind && out[k].axis_count == s->axis_count &&
                              memcmp(out[k].axes, s->axes, s->axis_count) == 0))
            k++;
        if (k == count) {
            if (count == room)
                continue;
            out[count++] = (struct spmd_collective_sum){.kind = s->kind, .axis_count = s->axis_count};
            memcpy(out[k].axes, s->axes, sizeof s->axes);
        }
        if (!s->combined || s->combined != last_combined)
            out[k].count += s->trips;
        last_combined = s->combined;
        out[k].bytes += l->values[s->results].bytes * s->trips;
    }
    return count;
}
