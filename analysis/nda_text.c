/* Rules and the names of spaces as text. For people and tests: nothing reads it back. */
#include "analysis/stages.h"

uint32_t nda_operation_count(const struct nda *n)
{
    uint32_t count = n->argument_count + n->result_count;
    for (uint32_t op = 0; op < n->program->op_count; op++)
        if (n->op_space[op] != NDA_NONE)
            count += n->program->ops[op].code == IR_WHILE ? 3 : 1; /* begin, predicate, end */
    return count;
}

static const char *kind_word(const struct nda_factor *nm)
{
    static const char *const reducers[] = {"", " add", " multiply", " max", " min", " and", " or"};
    switch ((enum nda_factor_kind)nm->kind) {
    case NDA_PARALLEL: return "";
    case NDA_CONTRACTING: return reducers[nm->reducer];
    case NDA_LOOKUP: return nm->reducer ? " lookup partial" : " lookup";
    case NDA_UPDATE: return " update";
    case NDA_WINDOWED: return " windowed";
    case NDA_REPLICATE: return " replicate";
    }
    return "";
}

static void factor_letter(uint32_t f, struct text *out)
{
    text_add_char(out, (char)('a' + (f + 8) % 26)); /* i, j, k .. */
    if (f >= 26)
        text_printf(out, "%u", f / 26);
}

/* [i, jk, 1]: a dimension is its atoms, major first; "_" is an atom without a factor */
static void slot_text(const struct nda *n, uint32_t slot, struct text *out)
{
    uint32_t value = n->slots[slot].value, atom = 0, count = nda_atom_count(n, value);
    const struct ir_type *type = ir_value_type(n->program, value);
    text_add_char(out, '[');
    for (uint32_t dim = 0; type->kind == IR_TYPE_TENSOR && dim < type->rank; dim++) {
        if (dim)
            text_add(out, ", ");
        if (atom == count || nda_atoms(n, value)[atom].dim != dim)
            text_printf(out, "%lld", (long long)ir_type_dims(n->program, type)[dim]);
        for (; atom < count && nda_atoms(n, value)[atom].dim == dim; atom++) {
            uint8_t f = n->factor_of[n->slots[slot].map + atom];
            if (f == NDA_NO_FACTOR)
                text_add_char(out, '_');
            else
                factor_letter(f, out);
        }
    }
    text_add_char(out, ']');
}

void nda_rule_text(const struct nda *n, uint32_t space, struct text *out)
{
    const struct nda_space *sp = &n->spaces[space];
    bool first = true;
    text_add_char(out, '(');
    for (uint32_t slot = sp->slots; slot < sp->slots + sp->slot_count; slot++) {
        if (n->slots[slot].is_result && (slot == sp->slots || !n->slots[slot - 1].is_result)) {
            text_add(out, ") -> (");
            first = true;
        }
        if (!first)
            text_add(out, ", ");
        first = false;
        slot_text(n, slot, out);
    }
    if (sp->slot_count == 0 || !n->slots[sp->slots + sp->slot_count - 1].is_result)
        text_add(out, ") -> (");
    text_add(out, ") {");
    for (uint32_t factor = 0; factor < sp->factor_count; factor++) {
        const struct nda_factor *nm = &n->factors[sp->factors + factor];
        if (factor)
            text_add(out, ", ");
        factor_letter(factor, out);
        text_printf(out, "=%lld%s", (long long)nm->size, kind_word(nm));
    }
    text_add_char(out, '}');
}

void nda_space_label(const struct nda *n, uint32_t space, struct text *out)
{
    const struct nda_space *sp = &n->spaces[space];
    switch ((enum nda_space_kind)sp->kind) {
    case NDA_SPACE_ARGUMENT: text_printf(out, "argument %u", sp->index); break;
    case NDA_SPACE_RESULT: text_printf(out, "result %u", sp->index); break;
    case NDA_SPACE_LOOP_BEGIN: text_printf(out, "loop begin %u", sp->index); break;
    case NDA_SPACE_LOOP_END: text_printf(out, "loop end %u", sp->index); break;
    case NDA_SPACE_OP:
    case NDA_SPACE_BRANCH:
    case NDA_SPACE_BARRIER: text_add(out, ir_op_name(n->program, sp->op)); break;
    }
}
