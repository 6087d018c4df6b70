/* Forms of arguments and results, found once for all that are alike.
 *
 *   class     f32[4096,14336], atom 0 of factor 0, atom 1 of factor 1     gate of layers 0 .. 95
 *   forms     of the cells that its members had last, BOUNDARY_WAYS of them
 *
 * A form (form.c) depends on dimensions and atoms of the value, on the factors of its atoms, on the cells of
 * its space and on the sizes of the axes, and on nothing else. So a program of many layers has as few forms
 * as one of two. */
#include "spmd/walk.h"

#include <stdlib.h>
#include <string.h>

static const struct ir_type *type_of(const struct nda *n, uint32_t value)
{
    return ir_value_type(n->program, value);
}

static uint32_t value_of(const struct nda *n, uint32_t space)
{
    return n->slots[n->spaces[space].slots].value;
}

static const uint8_t *factors_of(const struct nda *n, uint32_t space)
{
    return n->factor_of + n->slots[n->spaces[space].slots].map;
}

static uint32_t rank_of(const struct ir_type *type)
{
    return type->kind == IR_TYPE_TENSOR ? type->rank : 0;
}

static uint64_t key_of(const struct nda *n, uint32_t space)
{
    uint32_t value = value_of(n, space), atoms = nda_atom_count(n, value);
    const struct ir_type *type = type_of(n, value);
    uint64_t key = hash_combine(rank_of(type), atoms);
    for (uint32_t dim = 0; dim < rank_of(type); dim++)
        key = hash_combine(key, (uint64_t)ir_type_dims(n->program, type)[dim]);
    for (uint32_t atom = 0; atom < atoms; atom++)
        key = hash_combine(key, (uint64_t)factors_of(n, space)[atom] << 8 | nda_atoms(n, value)[atom].dim);
    return key;
}

static bool is_alike(const struct nda *n, uint32_t space, uint32_t other_space)
{
    uint32_t value = value_of(n, space), other = value_of(n, other_space), atoms = nda_atom_count(n, value);
    const struct ir_type *type = type_of(n, value), *other_type = type_of(n, other);
    uint32_t rank = rank_of(type);
    if (rank != rank_of(other_type) || atoms != nda_atom_count(n, other) ||
        memcmp(factors_of(n, space), factors_of(n, other_space), atoms) != 0)
        return false;
    for (uint32_t dim = 0; dim < rank; dim++)
        if (ir_type_dims(n->program, type)[dim] != ir_type_dims(n->program, other_type)[dim])
            return false;
    for (uint32_t atom = 0; atom < atoms; atom++)
        if (nda_atoms(n, value)[atom].dim != nda_atoms(n, other)[atom].dim ||
            nda_atoms(n, value)[atom].size != nda_atoms(n, other)[atom].size)
            return false;
    return true;
}

static uint32_t boundary_space(const struct nda *n, uint32_t index)
{
    return index < n->argument_count ? n->arguments[index].space
                                     : n->result_spaces[index - n->argument_count];
}

/* an open table of one member a class */
struct classes {
    uint32_t *first; /* 1 + boundary index; 0: free */
    uint32_t mask;
};

/* the first of those that are alike: itself, if it is */
static uint32_t first_alike(const struct nda *n, struct classes *classes, uint32_t index)
{
    uint32_t space = boundary_space(n, index);
    for (uint64_t at = key_of(n, space);; at++) {
        uint32_t *first = &classes->first[at & classes->mask];
        if (!*first)
            *first = index + 1;
        if (is_alike(n, space, boundary_space(n, *first - 1)))
            return *first - 1;
    }
}

static void find_classes(const struct nda *n, struct walk_boundary *boundary)
{
    uint32_t count = n->argument_count + n->result_count, room = 2;
    while (room < 2 * count)
        room *= 2;
    struct classes classes = {mem_zalloc(room, sizeof *classes.first), room - 1};
    boundary->class_of = mem_alloc(((size_t)count + 1) * sizeof *boundary->class_of);
    boundary->class_count = 0;
    for (uint32_t index = 0; index < count; index++) {
        uint32_t first = first_alike(n, &classes, index);
        boundary->class_of[index] = first == index ? boundary->class_count++ : boundary->class_of[first];
    }
    free(classes.first);
}

/* forms that are known are those of axes of the same sizes */
void walk_ready_boundary(struct walk *walk)
{
    struct walk_boundary *boundary = &walk->scratch->boundary;
    if (!boundary->class_of)
        find_classes(walk->nda, boundary);
    if (boundary->forms && memcmp(boundary->sizes, walk->size, sizeof walk->size) == 0)
        return;
    free(boundary->forms);
    boundary->forms = mem_zalloc((size_t)boundary->class_count * BOUNDARY_WAYS + 1, sizeof *boundary->forms);
    memcpy(boundary->sizes, walk->size, sizeof walk->size);
}

/* which of a class's places has the form of such cells */
static uint32_t way_of(const struct plan_cell *cells, uint32_t axes)
{
    uint32_t sum = 0;
    for (uint32_t axis = 0; axis < axes; axis++)
        sum = sum * 3 + cells[axis].factor + 5u * cells[axis].position;
    return sum % BOUNDARY_WAYS;
}

void walk_boundary_form(const struct walk *walk, uint32_t space, struct spmd_form *form)
{
    const struct walk_boundary *boundary = &walk->scratch->boundary;
    const struct nda_space *at = &walk->nda->spaces[space];
    uint32_t index = at->index + (at->kind == NDA_SPACE_RESULT ? walk->nda->argument_count : 0);
    const struct plan_cell *cells = plan_space(walk->plan, space);
    struct walk_boundary_form *known =
        &boundary->forms[boundary->class_of[index] * BOUNDARY_WAYS + way_of(cells, walk->axes)];
    size_t size = walk->axes * sizeof *cells;
    if (!known->known || memcmp(known->cells, cells, size) != 0) {
        spmd_boundary_form(walk->context, walk->plan, space, &known->form);
        memcpy(known->cells, cells, size);
        known->known = true;
    }
    *form = known->form;
}

void walk_boundary_release(struct walk_boundary *boundary)
{
    free(boundary->class_of);
    free(boundary->forms);
}
