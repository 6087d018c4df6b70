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
static void atom_text(const struct spmd_local *local, const struct spmd_form *form, uint32_t atom,
                      bool *first, struct text *out)
{
    for (uint32_t position = 0; position < local->mesh->axis_count; position++)
        for (uint32_t axis = 0; axis < local->mesh->axis_count; axis++)
            if (form->at[axis] == atom && form->position[axis] == position) {
                text_printf(out, "%s%s", *first ? "" : ",", local->mesh->axes[axis].name);
                *first = false;
            }
}

/* A dim of several atoms, some inner one sharded, prints them apart: {a|b}: a on the outer atom, b on the
 * next. Axes on the whole dim stand behind a slash: {a/b}. */
void spmd_form_text(const struct spmd_local *local, uint32_t value, struct text *out)
{
    const struct spmd_value *spmd_value = &local->values[value];
    const struct nda_atom *atoms = nda_atoms(local->nda, spmd_value->origin);
    uint32_t count = nda_atom_count(local->nda, spmd_value->origin);
    const struct ir_type *type = ir_value_type(local->nda->program, spmd_value->origin);

    text_add_char(out, '[');
    for (uint32_t dim = 0; type->kind == IR_TYPE_TENSOR && dim < type->rank; dim++) {
        text_add(out, dim ? ", {" : "{");
        uint32_t bars = 0;
        for (uint32_t i = 0; i < count; i++) {
            bool first = true, any = false;
            if (atoms[i].dim != dim)
                continue;
            for (uint32_t axis = 0; axis < local->mesh->axis_count; axis++)
                any |= spmd_value->form.at[axis] == i;
            if (any)
                for (; bars < atoms[i].level; bars++)
                    text_add_char(out, '|');
            atom_text(local, &spmd_value->form, i, &first, out);
        }
        bool first = true, whole = false;
        for (uint32_t axis = 0; axis < local->mesh->axis_count; axis++)
            whole |= spmd_value->form.at[axis] == SPMD_WHOLE + dim;
        text_add(out, whole ? "/" : "");
        atom_text(local, &spmd_value->form, SPMD_WHOLE + dim, &first, out);
        text_add_char(out, '}');
    }
    text_add_char(out, ']');
    for (uint32_t reducer = NDA_REDUCE_ADD; reducer <= NDA_REDUCE_OR; reducer++) {
        bool first = true;
        for (uint32_t axis = 0; axis < local->mesh->axis_count; axis++)
            if (spmd_value->form.at[axis] == SPMD_PARTIAL + reducer) {
                if (first)
                    text_printf(out, " partial %s {", reducer_name((uint8_t)reducer));
                text_printf(out, "%s%s", first ? "" : ",", local->mesh->axes[axis].name);
                first = false;
            }
        if (!first)
            text_add_char(out, '}');
    }
}

static void value_text(const struct spmd_local *local, uint32_t value, struct text *out)
{
    const struct ir_type *type = ir_value_type(local->nda->program, local->values[value].origin);
    int64_t dims[IR_MAX_RANK];

    text_printf(out, "%%%u", value);
    if (type->kind != IR_TYPE_TENSOR || type->rank > IR_MAX_RANK)
        return;
    spmd_local_dims(local->nda, local->mesh, local->values[value].origin, &local->values[value].form, dims);
    text_add(out, ":");
    for (uint32_t dim = 0; dim < type->rank; dim++)
        text_printf(out, "%lldx", (long long)dims[dim]);
    text_add(out, ir_element_name((enum ir_element)type->element));
    for (uint32_t axis = 0; axis < local->mesh->axis_count; axis++)
        if (local->values[value].form.at[axis] != SPMD_REPLICATED) {
            text_add_char(out, ' ');
            spmd_form_text(local, value, out);
            return;
        }
}

static void step_text(const struct spmd_local *local, const struct spmd_step *step, struct text *out)
{
    static const char indent[] = "                                ";
    const struct ir_program *program = local->nda->program;

    text_printf(out, "%.*s", (int)(step->depth < 16 ? 2 * step->depth : 32), indent);
    for (uint32_t i = 0; i < step->result_count; i++) {
        if (i)
            text_add(out, ", ");
        value_text(local, step->results + i, out);
    }
    text_add(out, step->result_count ? " = " : "");
    if (step->kind == SPMD_OP) {
        const char *name = ir_op_name(program, step->op), *dot = strchr(name, '.');
        text_add(out, dot ? dot + 1 : name);
    } else {
        text_add(out, spmd_step_kind_name((enum spmd_step_kind)step->kind));
    }
    if (step->reducer)
        text_printf(out, " %s", reducer_name(step->reducer));
    for (uint32_t i = 0; i < step->axis_count; i++)
        text_printf(out, "%s%s", i ? "," : " {", local->mesh->axes[step->axes[i]].name);
    text_add(out, step->axis_count ? "}" : "");
    for (uint32_t i = 0; i < step->operand_count; i++)
        text_printf(out, "%s%%%u", i ? ", " : " ", spmd_operand(local, step, i));
    if (step->mask_initial)
        text_add(out, " mask_initial");
    if (step->rematerialised)
        text_add(out, " again");
    if (step->combined)
        text_printf(out, " combined %u", step->combined);
    if (step->kind == SPMD_LOOP_BODY || step->kind == SPMD_LOOP)
        text_printf(out, " trips %lld", (long long)step->trips);
    text_add_char(out, '\n');
}

void spmd_local_text(const struct spmd_local *local, struct text *out)
{
    for (uint32_t i = 0; i < local->argument_count; i++) {
        text_add(out, "argument ");
        value_text(local, i, out);
        text_add_char(out, '\n');
    }
    for (uint32_t i = 0; i < local->step_count; i++)
        step_text(local, &local->steps[i], out);
}

void spmd_warning_text(const struct spmd_local *local, uint32_t i, struct text *out)
{
    const struct ir_program *program = local->nda->program;
    uint32_t op = local->replicated_ops[i];

    text_printf(out, "%s", ir_op_name(program, op));
    if (program->ops[op].line)
        text_printf(out, " at line %u", program->ops[op].line);
    text_add(out, " cannot be sharded in this way: its operands are gathered first and every device computes "
                  "it whole.");
}

uint32_t spmd_collective_sums(const struct spmd_local *local, struct spmd_collective_sum *out, uint32_t room)
{
    uint32_t count = 0, last_combined = 0;

    for (uint32_t i = 0; i < local->step_count; i++) {
        const struct spmd_step *step = &local->steps[i];
        if (!spmd_step_is_collective(step))
            continue;
        uint32_t k = 0;
        while (k < count && !(out[k].kind == step->kind && out[k].axis_count == step->axis_count &&
                              memcmp(out[k].axes, step->axes, step->axis_count) == 0))
            k++;
        if (k == count) {
            if (count == room)
                continue;
            out[count++] = (struct spmd_collective_sum){.kind = step->kind, .axis_count = step->axis_count};
            memcpy(out[k].axes, step->axes, sizeof step->axes);
        }
        if (!step->combined || step->combined != last_combined)
            out[k].count += step->trips;
        last_combined = step->combined;
        out[k].bytes += local->values[step->results].bytes * step->trips;
    }
    return count;
}
