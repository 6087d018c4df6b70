/* Affine expressions as mixed-radix digits; see affine.h. */
#include "segments/affine.h"

#include <string.h>

static void add_digit(struct affine_index *index, struct affine_digit digit)
{
    if (digit.size == 1)
        return;
    if (index->count) {
        struct affine_digit *last = &index->digits[index->count - 1];
        bool joins =
            digit.dim == last->dim && (digit.dim == AFFINE_ANY || last->divide == digit.divide * digit.size);
        if (joins || index->count == AFFINE_DIGITS) {
            /* too many digits: the last stands for all that follow */
            last->dim = joins ? digit.dim : AFFINE_ANY;
            last->divide = digit.divide;
            last->size *= digit.size;
            return;
        }
    }
    index->digits[index->count++] = digit;
}

void affine_identity(const int64_t *sizes, uint32_t rank, struct affine *out)
{
    *out = (struct affine){.result_rank = rank, .source_rank = rank};
    for (uint32_t dim = 0; dim < rank; dim++) {
        out->sizes[dim] = sizes[dim];
        add_digit(&out->at[dim], (struct affine_digit){(uint8_t)dim, 1, sizes[dim]});
    }
}

/* product of the atoms after this one in its dim */
static int64_t below(const struct nda *n, uint32_t value, uint32_t atom)
{
    int64_t product = 1;
    for (uint32_t k = atom + 1; k < nda_atom_count(n, value); k++)
        if (nda_atoms(n, value)[k].dim == nda_atoms(n, value)[atom].dim)
            product *= nda_atoms(n, value)[k].size;
    return product;
}

void affine_of_slots(const struct nda *n, uint32_t result_slot, uint32_t operand_slot, struct affine *out)
{
    uint32_t result = n->slots[result_slot].value, source = n->slots[operand_slot].value;
    const struct ir_type *type = ir_value_type(n->program, result);
    const struct ir_type *from = ir_value_type(n->program, source);
    *out = (struct affine){.result_rank = type->rank, .source_rank = from->rank};
    memcpy(out->sizes, ir_type_dims(n->program, type), type->rank * sizeof *out->sizes);
    for (uint32_t k = 0; k < nda_atom_count(n, source); k++) {
        const struct nda_atom *atom = &nda_atoms(n, source)[k];
        struct affine_digit digit = {AFFINE_ANY, 1, atom->size};
        uint32_t factor = nda_slot_factor(n, operand_slot, k);
        for (uint32_t r = 0; factor != NDA_NONE && r < nda_atom_count(n, result); r++)
            if (nda_slot_factor(n, result_slot, r) == factor && nda_atoms(n, result)[r].size == atom->size) {
                digit.dim = nda_atoms(n, result)[r].dim;
                digit.divide = below(n, result, r);
            }
        add_digit(&out->at[atom->dim], digit);
    }
}

/* the digits of `index` that make up (index / divide) mod size */
static void cut(const struct affine_index *index, int64_t divide, int64_t size, struct affine_index *out)
{
    int64_t low = 1, part[AFFINE_DIGITS][2];
    for (uint32_t i = index->count; i-- > 0;) { /* what each digit counts for */
        part[i][0] = low;
        low *= index->digits[i].size;
        part[i][1] = low;
    }
    int64_t top = divide * size, left = size;
    for (uint32_t i = 0; i < index->count && left > 1; i++) {
        int64_t from = part[i][0] > divide ? part[i][0] : divide;
        int64_t until = part[i][1] < top ? part[i][1] : top;
        if (from >= until)
            continue;
        struct affine_digit digit = index->digits[i];
        if (from % part[i][0] || until % from || part[i][1] % until)
            break; /* no whole digit */
        if (digit.dim != AFFINE_ANY)
            digit.divide *= from / part[i][0];
        digit.size = until / from;
        add_digit(out, digit);
        left /= digit.size;
    }
    if (left > 1)
        add_digit(out, (struct affine_digit){AFFINE_ANY, 1, left});
}

void affine_compose(const struct affine *later, const struct affine *earlier, struct affine *out)
{
    *out = (struct affine){.result_rank = later->result_rank, .source_rank = earlier->source_rank};
    memcpy(out->sizes, later->sizes, sizeof out->sizes);
    for (uint32_t dim = 0; dim < earlier->source_rank; dim++)
        for (uint32_t i = 0; i < earlier->at[dim].count; i++) {
            const struct affine_digit *digit = &earlier->at[dim].digits[i];
            struct affine_index piece = {0};
            if (digit->dim == AFFINE_ANY)
                add_digit(&piece, *digit);
            else
                cut(&later->at[digit->dim], digit->divide, digit->size, &piece);
            for (uint32_t k = 0; k < piece.count; k++)
                add_digit(&out->at[dim], piece.digits[k]);
        }
}

int affine_splits(const struct affine *expression, uint32_t index, int64_t devices)
{
    if (index >= expression->source_rank || !expression->at[index].count)
        return -1;
    const struct affine_digit *major = &expression->at[index].digits[0];
    if (major->dim == AFFINE_ANY || major->divide * major->size != expression->sizes[major->dim] ||
        major->size % devices != 0)
        return -1;
    return major->dim;
}

static void digit_text(const struct affine *expression, const struct affine_digit *digit, int64_t factor,
                       struct text *out)
{
    if (digit->dim == AFFINE_ANY) {
        text_add(out, "*");
        return;
    }
    bool whole = digit->divide * digit->size == expression->sizes[digit->dim];
    text_printf(out, "a%u", digit->dim);
    if (digit->divide > 1)
        text_printf(out, "/%lld", (long long)digit->divide);
    if (!whole)
        text_printf(out, "%%%lld", (long long)digit->size);
    if (factor > 1)
        text_printf(out, "*%lld", (long long)factor);
}

void affine_text(const struct affine *expression, struct text *out)
{
    for (uint32_t dim = 0; dim < expression->result_rank; dim++)
        text_printf(out, "%sa%u", dim ? ", " : "(", dim);
    text_add(out, expression->result_rank ? ") -> (" : "() -> (");
    for (uint32_t dim = 0; dim < expression->source_rank; dim++) {
        const struct affine_index *index = &expression->at[dim];
        int64_t factor = 1;
        for (uint32_t i = 0; i < index->count; i++)
            factor *= index->digits[i].size;
        text_add(out, dim ? ", " : "");
        for (uint32_t i = 0; i < index->count; i++) {
            factor /= index->digits[i].size;
            text_add(out, i ? " + " : "");
            digit_text(expression, &index->digits[i], factor, out);
        }
        text_add(out, index->count ? "" : "0");
    }
    text_add_char(out, ')');
}
