/* Candidates from the plan's forms, then leaving out.
 * A candidate says of a value's definition, or of some of its uses, the form that it has there under the
 * plan. Candidates that look alike (op, type, form, first use) are one class: what one layer needs the
 * others need. First classes are left out in halves, quarters .. single ones, then single candidates of
 * what is left. */
#include "spmd/constraints_find.h"

#include <stdlib.h>
#include <string.h>

enum { EFFORT = 1 << 19 };    /* ops visited: half a second */
enum { AFFORDED_RUNS = 200 }; /* of the model: what leaving out of all candidates takes, or less */
enum { SHORT_OF_RUNS = 8 };   /* fewer than that left: deep programs */
enum { DEEP_RUNS = 64 };      /* programs of which fewer are afforded are folded */
enum { MANY = 40, MORE = 3 }; /* a list that nobody writes by hand: as many efforts more to shorten it */
enum { SLACK = 100 };         /* a list may move 1/SLACK more than all candidates do, if it is shorter */

/* ---- forms ---- */

bool spmd_form_sharding(const struct nda *n, const struct mesh *mesh, uint32_t value,
                        const struct spmd_form *form, struct plan_sharding *out)
{
    const struct ir_type *type = ir_value_type(n->program, value);
    const struct nda_atom *atoms = nda_atoms(n, value);
    int64_t left[IR_MAX_RANK]; /* of the atoms before, what no axis has cut; > 1: nothing may follow */
    memset(out, 0, sizeof *out);
    out->rank = type->kind == IR_TYPE_TENSOR ? type->rank : 0;
    for (uint32_t dim = 0; dim < out->rank; dim++)
        left[dim] = 1;
    for (uint32_t i = 0; i < nda_atom_count(n, value); i++) {
        int64_t rest = atoms[i].size;
        for (uint32_t position = 0; position < mesh->axis_count; position++)
            for (uint32_t axis = 0; axis < mesh->axis_count; axis++) {
                if (form->at[axis] != i || form->position[axis] != position)
                    continue;
                if (left[atoms[i].dim] > 1)
                    return false;
                out->dims[atoms[i].dim].axes[out->dims[atoms[i].dim].count++] = (uint8_t)axis;
                rest /= mesh->axes[axis].size;
            }
        left[atoms[i].dim] *= rest;
    }
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        if (form->at[axis] != SPMD_REPLICATED && form->at[axis] >= SPMD_WHOLE)
            return false;
    return true;
}

/* Is a dim split in both, over other axes? */
static bool crosses(const struct plan_sharding *one, const struct plan_sharding *other)
{
    for (uint32_t dim = 0; dim < one->rank; dim++)
        if (one->dims[dim].count && other->dims[dim].count &&
            (one->dims[dim].count != other->dims[dim].count ||
             memcmp(one->dims[dim].axes, other->dims[dim].axes, one->dims[dim].count) != 0))
            return true;
    return false;
}

/* as a user can say it: partial sums are whole */
static void drop_partial(struct spmd_form *form)
{
    for (uint32_t axis = 0; axis < MESH_MAX_AXES; axis++)
        if (form->at[axis] >= SPMD_PARTIAL) {
            form->at[axis] = SPMD_REPLICATED;
            form->position[axis] = 0;
        }
}

static bool is_partial(const struct spmd_form *form)
{
    for (uint32_t axis = 0; axis < MESH_MAX_AXES; axis++)
        if (form->at[axis] >= SPMD_PARTIAL && form->at[axis] != SPMD_REPLICATED)
            return true;
    return false;
}

static void form_at(const struct finder *finder, uint32_t slot, struct spmd_form *form)
{
    uint32_t space = finder->slot_space[slot];
    spmd_forms_slot(finder->forms, space, slot, plan_space(finder->plan, space), form);
}

/* ---- candidates ---- */

static uint64_t mixed(uint64_t key, const void *data, size_t size)
{
    return hash_bytes(data, size, key);
}

static uint64_t class_of(const struct finder *finder, const struct propagate_constraint *constraint)
{
    const struct ir_program *program = finder->n->program;
    const struct ir_value *value = &program->values[constraint->value];
    uint32_t facts[4] = {value->type, value->op == IR_NONE ? IR_NONE : program->ops[value->op].code,
                         constraint->uses != NULL, 0};
    if (constraint->uses)
        facts[3] = program->ops[finder->n->spaces[finder->slot_space[constraint->uses[0]]].op].code;
    uint64_t key = mixed(1, facts, sizeof facts);
    if (value->op != IR_NONE && program->ops[value->op].location != IR_NONE) {
        const char *location = ir_string(program, program->ops[value->op].location);
        key = mixed(key, location, strlen(location));
    }
    return mixed(key, &constraint->form, sizeof constraint->form);
}

static void add_candidate(struct finder *finder, uint32_t value, const struct spmd_form *form,
                          const uint32_t *uses, uint32_t use_count)
{
    struct plan_sharding sharding;
    struct candidate candidate = {.constraint = {.value = value, .form = *form, .use_count = use_count}};
    if (!spmd_form_sharding(finder->n, finder->mesh, value, form, &sharding))
        return;
    if (uses) {
        uint32_t *kept = mem_alloc((use_count + 1) * sizeof *kept);
        memcpy(kept, uses, use_count * sizeof *kept);
        candidate.constraint.uses = kept;
    }
    candidate.class_key = class_of(finder, &candidate.constraint);
    VEC_PUSH(&finder->candidates, candidate);
}

/* an argument of a loop's condition: nobody writes a constraint there, the body has the same value */
static bool of_condition(const struct ir_program *program, uint32_t value)
{
    const struct ir_value *at = &program->values[value];
    uint32_t op = program->regions[program->blocks[at->block].region].op;
    return at->op == IR_NONE && program->ops[op].code == IR_WHILE &&
           at->block == ir_region_block(program, op, 0);
}

static bool is_in_loop(const struct ir_program *program, uint32_t value)
{
    uint32_t op = program->regions[program->blocks[program->values[value].block].region].op;
    return op != IR_NONE && program->ops[op].code == IR_WHILE;
}

/* A row that a loop stacks: [x] made [1, x] for a dynamic_update_slice alone. A framework makes it when it
 * lowers (jax.lax.scan), and its user has no name for it; x, which is a candidate, too, has the same
 * blocks. */
static bool is_stacked_row(const struct finder *finder, uint32_t value)
{
    const struct ir_program *program = finder->n->program;
    uint32_t op = program->values[value].op, first = finder->use_start[value];
    if (op == IR_NONE || !is_in_loop(program, value) || finder->use_start[value + 1] == first ||
        (program->ops[op].code != IR_BROADCAST_IN_DIM && program->ops[op].code != IR_RESHAPE))
        return false;
    const struct ir_type *row = ir_value_type(program, value),
                         *from = ir_value_type(program, ir_operand(program, op, 0));
    if (row->rank != from->rank + 1 || ir_type_dims(program, row)[0] != 1 ||
        memcmp(ir_type_dims(program, row) + 1, ir_type_dims(program, from), from->rank * sizeof(int64_t)) !=
            0)
        return false;
    for (uint32_t i = first; i < finder->use_start[value + 1]; i++)
        if (program->ops[finder->n->spaces[finder->slot_space[finder->uses[i]]].op].code !=
            IR_DYNAMIC_UPDATE_SLICE)
            return false;
    return true;
}

/* constants and what is made of them cost nothing in any form; scalars have none */
static bool worth_saying(const struct finder *finder, uint32_t value)
{
    uint32_t op = finder->n->program->values[value].op;
    if (!nda_atom_count(finder->n, value) || of_condition(finder->n->program, value) ||
        is_stacked_row(finder, value))
        return false;
    return op == IR_NONE || spmd_forms_freedom(finder->forms, op) != SPMD_FREE;
}

/* Is a dim of the value split by both, over other axes? */
static bool disagree(const struct finder *finder, uint32_t value, const struct spmd_form *form,
                     const struct spmd_form *other)
{
    struct plan_sharding one, two;
    (void)spmd_form_sharding(finder->n, finder->mesh, value, form, &one);
    (void)spmd_form_sharding(finder->n, finder->mesh, value, other, &two);
    return crosses(&one, &two);
}

/* Is a result partial because what is looked up in is split, over an axis that its reader wants it split by?
 * An op that looks up is split as its result says: the table, or logits, would be moved for it. */
static bool is_looked_up(const struct finder *finder, uint32_t slot, const struct spmd_form *form,
                         const struct spmd_form *wanted)
{
    uint32_t space = finder->slot_space[slot];
    const struct plan_cell *cells = plan_space(finder->plan, space);
    for (uint32_t axis = 0; axis < finder->mesh->axis_count; axis++)
        if (form->at[axis] >= SPMD_PARTIAL && form->at[axis] != SPMD_REPLICATED &&
            wanted->at[axis] != SPMD_REPLICATED && cells[axis].factor != NDA_NO_FACTOR &&
            finder->n->factors[finder->n->spaces[space].factors + cells[axis].factor].kind == NDA_LOOKUP)
            return true;
    return false;
}

/* The definition's form, then one candidate for each other form that uses want. A definition that is
 * partial is reduced into the form of its first use, where that adds no axis to a dim that the op splits and
 * it was not looked up over that axis: XLA's partitioner would not see the op's own split behind it. */
static void consider(struct finder *finder, uint32_t slot)
{
    const struct nda *n = finder->n;
    uint32_t value = n->slots[slot].value, count = finder->use_start[value + 1] - finder->use_start[value];
    const uint32_t *uses = finder->uses + finder->use_start[value];
    struct spmd_form own, *wanted = mem_alloc((count + 1) * sizeof *wanted);
    bool argument = n->spaces[finder->slot_space[slot]].kind == NDA_SPACE_ARGUMENT;
    uint32_t *same = mem_alloc((count + 1) * sizeof *same);
    if (argument)
        spmd_boundary_form(finder->context, finder->plan, finder->slot_space[slot], &own);
    else
        form_at(finder, slot, &own);
    for (uint32_t i = 0; i < count; i++) {
        form_at(finder, uses[i], &wanted[i]);
        drop_partial(&wanted[i]);
    }
    bool partial = is_partial(&own),
         found = count && !argument && is_looked_up(finder, slot, &own, &wanted[0]);
    drop_partial(&own);
    if (partial && count && !found && !disagree(finder, value, &own, &wanted[0]))
        own = wanted[0];
    if (!argument)
        add_candidate(finder, value, &own, NULL, 0);
    for (uint32_t i = 0; i < count; i++) {
        bool first = !spmd_form_equal(&wanted[i], &own);
        for (uint32_t k = 0; k < i && first; k++)
            first = !spmd_form_equal(&wanted[k], &wanted[i]);
        uint32_t alike = 0;
        for (uint32_t k = i; k < count && first; k++)
            if (spmd_form_equal(&wanted[k], &wanted[i]))
                same[alike++] = uses[k];
        if (alike)
            add_candidate(finder, value, &wanted[i], same, alike);
    }
    free(wanted);
    free(same);
}

static bool is_gone(const struct finder *finder, uint32_t slot)
{
    return finder->gone && finder->gone[finder->slot_space[slot]];
}

static void list_uses(struct finder *finder)
{
    const struct nda *n = finder->n;
    uint32_t values = n->program->value_count, total = 0;
    finder->slot_space = mem_alloc(((size_t)n->slot_count + 1) * sizeof *finder->slot_space);
    finder->use_start = mem_zalloc((size_t)values + 2, sizeof *finder->use_start);
    for (uint32_t space = 0; space < n->space_count; space++)
        for (uint32_t k = 0; k < n->spaces[space].slot_count; k++)
            finder->slot_space[n->spaces[space].slots + k] = space;
    /* results are the boundary's business; loops and branches carry what they are given */
    for (int fill = 0; fill < 2; fill++) {
        for (uint32_t slot = 0; slot < n->slot_count; slot++) {
            if (n->slots[slot].is_result || n->spaces[finder->slot_space[slot]].kind != NDA_SPACE_OP ||
                is_gone(finder, slot))
                continue;
            if (fill)
                finder->uses[finder->use_start[n->slots[slot].value]++] = slot;
            else
                finder->use_start[n->slots[slot].value + 1]++;
            total++;
        }
        if (!fill) {
            for (uint32_t value = 0; value < values; value++)
                finder->use_start[value + 1] += finder->use_start[value];
            finder->uses = mem_alloc(((size_t)total + 1) * sizeof *finder->uses);
        }
    }
    for (uint32_t value = values; value > 0; value--) /* filling has moved each start to its end */
        finder->use_start[value] = finder->use_start[value - 1];
    finder->use_start[0] = 0;
}

/* ---- what a choice of candidates moves ---- */

/* fold: NULL, or what it leaves out counts, too */
static int64_t bytes_moved(const struct spmd_local *local, const struct fold *fold)
{
    int64_t bytes = 0;
    for (uint32_t i = 0; i < local->step_count; i++) {
        const struct spmd_step *step = &local->steps[i];
        if (!spmd_step_is_collective(step))
            continue;
        const struct spmd_value *value = step->kind == SPMD_REDUCE_SCATTER
                                             ? spmd_operand_value(local, step, 0)
                                             : &local->values[step->results];
        int64_t layers = fold && fold->part[step->op] == 1 ? 1 + (int64_t)fold->copies : 1;
        bytes += value->bytes * step->trips * layers;
    }
    return bytes;
}

/* Is a dim of a product's operand or result split over some axes by the product and over others by the value,
 * as propagation leaves it? XLA's partitioner compares numbers of parts, takes the product's dims for
 * unrelated and gathers them whole. */
static bool blurs(const struct finder *finder, uint32_t slot)
{
    const struct nda *n = finder->n;
    uint32_t space = finder->slot_space[slot];
    struct spmd_form form;
    struct plan_sharding wanted, is;
    if (n->spaces[space].kind != NDA_SPACE_OP ||
        ir_opcode_family(n->program->ops[n->spaces[space].op].code) != (enum ir_family)IR_FAMILY_DOT)
        return false;
    spmd_forms_slot(finder->forms, space, slot, plan_space(&finder->made, space), &form);
    drop_partial(&form);
    propagate_slot_sharding(finder->propagate, slot, &is);
    return spmd_form_sharding(n, finder->mesh, n->slots[slot].value, &form, &wanted) && crosses(&is, &wanted);
}

static bool any_blurs(const struct finder *finder, uint32_t space)
{
    const struct nda_space *at = &finder->n->spaces[space];
    for (uint32_t slot = at->slots; slot < at->slots + at->slot_count; slot++)
        if (blurs(finder, slot))
            return true;
    return false;
}

/* ops that make much of much data, split otherwise than the plan does: what moves there, and what it takes in
 * memory, the model can only guess */
static void count_astray(const struct finder *finder, struct moved *moved)
{
    const struct nda *n = finder->n;
    for (uint32_t space = 0; space < n->space_count; space++) {
        if (n->spaces[space].kind != NDA_SPACE_OP || (finder->gone && finder->gone[space]))
            continue;
        enum ir_family family = ir_opcode_family(n->program->ops[n->spaces[space].op].code);
        if (family != IR_FAMILY_DOT && family != IR_FAMILY_CONVOLUTION && family != IR_FAMILY_GATHER &&
            family != IR_FAMILY_SCATTER)
            continue;
        const struct plan_cell *wanted = plan_space(finder->plan, space),
                               *is = plan_space(&finder->made, space);
        for (uint32_t axis = 0; axis < finder->mesh->axis_count; axis++)
            if (wanted[axis].factor != is[axis].factor) {
                moved->astray++;
                break;
            }
        moved->blurred += any_blurs(finder, space);
    }
    moved->astray += moved->blurred;
}

static enum error_code measure_deferred(struct finder *finder, int64_t *bytes, struct error *e)
{
    TRY(spmd_walk(finder->context, &finder->made, finder->options, &finder->local, e));
    *bytes = bytes_moved(&finder->local, finder->fold);
    return ERROR_OK;
}

bool constraints_good(const struct moved *moved, const struct moved *most)
{
    return moved->bytes <= most->bytes && moved->deferred <= most->deferred && moved->astray <= most->astray;
}

/* A run is counted as if it measured all, so that where effort ends depends on nothing that it found. */
enum error_code constraints_measure(struct finder *finder, const struct moved *most, struct moved *moved,
                                    struct error *e)
{
    propagate_run(finder->propagate, finder->plan, finder->list, finder->on,
                  (uint32_t)finder->candidates.count, &finder->made);
    finder->over |= finder->late && finder->late(finder->late_user);
    finder->left = finder->over ? 0 : finder->left - (finder->sums ? 2 : 1) * finder->run_ops;
    finder->runs++;
    *moved = (struct moved){0};
    count_astray(finder, moved);
    if (most && !constraints_good(moved, most))
        return ERROR_OK;
    TRY(spmd_walk(finder->context, &finder->made, &finder->compiler, &finder->local, e));
    moved->bytes = bytes_moved(&finder->local, finder->fold);
    bool known = most && !constraints_good(moved, most);
    return finder->sums && !known ? measure_deferred(finder, &moved->deferred, e) : ERROR_OK;
}

/* ---- leaving out ---- */

/* units: candidates by class (class_index), or each its own; leaves out units first .. first + count if
 * nothing is lost by it */
static enum error_code leave_out(struct finder *finder, const uint32_t *unit_of, uint32_t first,
                                 uint32_t count, const struct moved *most, struct error *e)
{
    uint32_t total = (uint32_t)finder->candidates.count, gone = 0;
    bool *before = mem_alloc(total + 1);
    struct moved now = {.bytes = 0};
    memcpy(before, finder->on, total);
    for (uint32_t i = 0; i < total; i++)
        if (finder->on[i] && unit_of[i] >= first && unit_of[i] < first + count) {
            finder->on[i] = false;
            gone++;
        }
    enum error_code code = gone ? constraints_measure(finder, most, &now, e) : ERROR_OK;
    if (gone && code == ERROR_OK) {
        if (constraints_good(&now, most))
            finder->now = now;
        else
            memcpy(finder->on, before, total);
    }
    free(before);
    return code;
}

static enum error_code shorten(struct finder *finder, const uint32_t *unit_of, uint32_t units,
                               bool last_first, const struct moved *most, struct error *e)
{
    for (uint32_t chunk = (units + 1) / 2; chunk > 0; chunk = chunk > 1 ? (chunk + 1) / 2 : 0) {
        uint32_t chunks = (units + chunk - 1) / chunk;
        for (uint32_t i = 0; i < chunks && finder->left > 0; i++)
            TRY(leave_out(finder, unit_of, (last_first ? chunks - 1 - i : i) * chunk, chunk, most, e));
    }
    return ERROR_OK;
}

static int by_key(const void *left, const void *right)
{
    const struct candidate *candidate = *(const struct candidate *const *)left;
    const struct candidate *other = *(const struct candidate *const *)right;
    if (candidate->class_key != other->class_key)
        return candidate->class_key < other->class_key ? -1 : 1;
    return candidate < other ? -1 : candidate > other;
}

/* classes are numbered by the first of their candidates */
static void number_classes(struct finder *finder)
{
    uint32_t count = (uint32_t)finder->candidates.count;
    struct candidate **sorted = mem_alloc((count + 1) * sizeof *sorted);
    for (uint32_t i = 0; i < count; i++) {
        sorted[i] = &finder->candidates.at[i];
        sorted[i]->class_index = UINT32_MAX;
    }
    qsort(sorted, count, sizeof *sorted, by_key);
    for (uint32_t i = 1; i < count; i++) /* the first of its class, by index */
        if (sorted[i]->class_key == sorted[i - 1]->class_key)
            sorted[i]->class_index = sorted[i - 1]->class_index == UINT32_MAX
                                         ? (uint32_t)(sorted[i - 1] - finder->candidates.at)
                                         : sorted[i - 1]->class_index;
    for (uint32_t i = 0; i < count; i++) {
        struct candidate *candidate = &finder->candidates.at[i];
        candidate->class_index = candidate->class_index == UINT32_MAX
                                     ? finder->class_count++
                                     : finder->candidates.at[candidate->class_index].class_index;
    }
    free(sorted);
}

static uint32_t count_on(const struct finder *finder)
{
    uint32_t count = 0;
    for (size_t i = 0; i < finder->candidates.count; i++)
        count += finder->on[i];
    return count;
}

/* numbers of the classes that stand, on end; how many there are */
static uint32_t number_standing(const struct finder *finder, uint32_t *units)
{
    uint32_t *number = mem_alloc(((size_t)finder->class_count + 1) * sizeof *number), count = 0;
    memset(number, 0xff, ((size_t)finder->class_count + 1) * sizeof *number);
    for (size_t i = 0; i < finder->candidates.count; i++) {
        uint32_t class_index = finder->candidates.at[i].class_index;
        units[i] = UINT32_MAX;
        if (!finder->on[i])
            continue;
        if (number[class_index] == UINT32_MAX)
            number[class_index] = count++;
        units[i] = number[class_index];
    }
    free(number);
    return count;
}

/* from the candidates that stand to a short list, classes first */
static enum error_code shorten_standing(struct finder *finder, bool last_first, const struct moved *most,
                                        struct error *e)
{
    uint32_t count = (uint32_t)finder->candidates.count, left = 0;
    uint32_t *units = mem_alloc((count + 1) * sizeof *units);
    uint32_t classes = number_standing(finder, units);
    enum error_code code = shorten(finder, units, classes, last_first, most, e);
    for (uint32_t i = 0; i < count; i++) {
        bool follows = finder->tied && finder->tied[i] < i && finder->on[finder->tied[i]];
        units[i] = !finder->on[i] ? UINT32_MAX : follows ? units[finder->tied[i]] : left++;
    }
    if (code == ERROR_OK)
        code = shorten(finder, units, left, last_first, most, e);
    free(units);
    return code;
}

static enum error_code list_from_all(struct finder *finder, bool last_first, const struct moved *most,
                                     struct error *e)
{
    memset(finder->on, 1, finder->candidates.count);
    return shorten_standing(finder, last_first, most, e);
}

/* is the op that a candidate speaks of split otherwise than the plan says? */
static bool deviates(const struct finder *finder, const struct propagate_constraint *constraint)
{
    uint32_t slot = constraint->uses ? constraint->uses[0] : finder->n->value_def_slot[constraint->value];
    const struct plan_cell *wanted = plan_space(finder->plan, finder->slot_space[slot]),
                           *is = plan_space(&finder->made, finder->slot_space[slot]);
    for (uint32_t axis = 0; axis < finder->mesh->axis_count; axis++)
        if (wanted[axis].factor != is[axis].factor)
            return true;
    return blurs(finder, slot);
}

/* the first classes that something is split otherwise for; how many there were */
static uint32_t add_deviating(struct finder *finder, uint32_t most)
{
    uint32_t added = 0, count = (uint32_t)finder->candidates.count;
    for (uint32_t i = 0; i < count && added < most; i++) {
        if (finder->on[i] || !deviates(finder, &finder->candidates.at[i].constraint))
            continue;
        added++;
        for (uint32_t k = i; k < count; k++)
            if (finder->candidates.at[k].class_index == finder->candidates.at[i].class_index)
                finder->on[k] = true;
    }
    return added;
}

/* From nothing: where propagation first leaves the plan, the user says what the plan does; one class, then
 * two, four .. at a time (four times as many where only a few runs are left). Few runs of the model, where
 * leaving out of all candidates takes hundreds. *found: as good a choice as all of them. */
static enum error_code grow(struct finder *finder, const struct moved *most, bool *found, struct error *e)
{
    struct moved now;
    memset(finder->on, 0, finder->candidates.count);
    for (uint32_t at_once = 1; finder->left > 0;
         at_once *= finder->left < SHORT_OF_RUNS * finder->run_ops ? 4 : 2) {
        TRY(constraints_measure(finder, most, &now, e));
        *found = constraints_good(&now, most);
        if (*found)
            finder->now = now;
        if (*found || !add_deviating(finder, at_once))
            break;
    }
    return ERROR_OK;
}

/* The shorter of two lists: what is late stays, or, as long as effort is left, what is early (a forward pass,
 * where a user can write it; of equal length it is preferred). */
static enum error_code shortest(struct finder *finder, const struct moved *most, struct error *e)
{
    size_t size = finder->candidates.count;
    TRY(list_from_all(finder, false, most, e));
    bool *late = mem_alloc(size + 1);
    struct moved of_late = finder->now;
    uint32_t count = count_on(finder);
    memcpy(late, finder->on, size);
    enum error_code code = list_from_all(finder, true, most, e);
    if (code == ERROR_OK && count < count_on(finder)) {
        memcpy(finder->on, late, size);
        finder->now = of_late;
    }
    free(late);
    return code;
}

/* What has grown, shortened; of small programs the shorter of that and what is left of all candidates. */
static enum error_code shorten_grown(struct finder *finder, const struct moved *most, struct error *e)
{
    size_t size = finder->candidates.count;
    TRY(shorten_standing(finder, true, most, e));
    if (finder->left < AFFORDED_RUNS * finder->run_ops)
        return ERROR_OK;
    bool *grown = mem_alloc(size + 1);
    struct moved of_grown = finder->now;
    uint32_t count = count_on(finder);
    memcpy(grown, finder->on, size);
    enum error_code code = shortest(finder, most, e);
    if (code == ERROR_OK && count <= count_on(finder)) {
        memcpy(finder->on, grown, size);
        finder->now = of_grown;
    }
    free(grown);
    return code;
}

static enum error_code shorten_from_none(struct finder *finder, const struct moved *most, struct error *e)
{
    bool found = false;
    TRY(grow(finder, most, &found, e));
    if (!found && finder->over)
        return error_set(e, ERROR_CANCELLED, "the time for a list of constraints is over");
    return found ? shorten_grown(finder, most, e) : shortest(finder, most, e);
}

static int64_t larger(int64_t one, int64_t other)
{
    return one > other ? one : other;
}

static bool is_deep(const struct finder *finder)
{
    return !finder->fold && finder->effort < DEEP_RUNS * finder->run_ops;
}

enum error_code constraints_search(struct finder *finder, struct spmd_constraints *out, struct error *e)
{
    uint32_t count = (uint32_t)finder->candidates.count;
    struct moved specs, all;
    out->candidates = count;
    TRY(spmd_walk(finder->context, finder->plan, finder->options, &finder->local, e));
    out->plan_bytes = bytes_moved(&finder->local, finder->fold);
    memset(finder->on, 1, count);
    TRY(constraints_measure(finder, NULL, &all, e));
    finder->left -= finder->run_ops;
    TRY(measure_deferred(finder, &out->all_bytes, e));
    struct moved most = {.bytes = larger(all.bytes, out->plan_bytes),
                         .deferred = larger(out->all_bytes, out->plan_bytes),
                         .astray = all.astray};
    finder->sums = all.bytes > most.deferred + most.deferred / SLACK;
    all.deferred = finder->sums ? out->all_bytes : 0;
    most.bytes += most.bytes / SLACK;
    most.deferred += most.deferred / SLACK;
    memset(finder->on, 0, count);
    TRY(constraints_measure(finder, NULL, &specs, e));
    memset(finder->on, 1, count);
    finder->now = all;
    if (constraints_good(&specs, &most)) {
        memset(finder->on, 0, count);
        finder->now = specs;
    } else {
        bool found = false;
        if (is_deep(finder))
            TRY(constraints_on_fold(finder, &most, &found, e));
        if (!found)
            TRY(shorten_from_none(finder, &most, e));
        if (!found && !finder->over && count_on(finder) > MANY) {
            finder->left += (int64_t)MORE * finder->effort;
            TRY(shorten_standing(finder, true, &most, e));
        }
    }
    out->reduced_bytes = all.bytes;
    out->specs_bytes = specs.bytes;
    out->list_bytes = finder->now.bytes;
    out->deferred_bytes = finder->sums ? finder->now.deferred : finder->now.bytes;
    return ERROR_OK;
}

/* the list takes over what stands */
static void hand_over(struct finder *finder, struct spmd_constraints *out)
{
    out->list = mem_alloc((finder->candidates.count + 1) * sizeof *out->list);
    for (size_t i = 0; i < finder->candidates.count; i++)
        if (finder->on[i])
            out->list[out->count++] = finder->list[i];
    out->runs = finder->runs;
}

/* ops and arguments that a run of the model visits */
static int64_t visited(const struct finder *finder)
{
    const struct nda *n = finder->n;
    int64_t count = 0;
    if (!finder->gone)
        return n->space_count;
    for (uint32_t space = 0; space < n->space_count; space++)
        count += !finder->gone[space];
    return count + n->argument_count + n->result_count;
}

enum error_code constraints_open(struct finder *finder, struct error *e)
{
    finder->n = plan_context_nda(finder->context);
    finder->mesh = plan_context_mesh(finder->context);
    finder->compiler = *finder->options;
    finder->compiler.defer_partials = 0;
    finder->left = finder->effort;
    finder->run_ops = visited(finder);
    TRY(spmd_forms_create(finder->context, finder->options, &finder->forms, e));
    spmd_forms_lend(finder->forms, &finder->local);
    finder->propagate = propagate_create(finder->context, finder->gone);
    plan_init(&finder->made, finder->n, finder->mesh);
    list_uses(finder);
    for (uint32_t slot = 0; slot < finder->n->slot_count; slot++)
        if (finder->n->slots[slot].is_result && !is_gone(finder, slot) &&
            worth_saying(finder, finder->n->slots[slot].value) &&
            finder->n->value_def_slot[finder->n->slots[slot].value] == slot)
            consider(finder, slot);
    size_t count = finder->candidates.count;
    finder->list = mem_alloc((count + 1) * sizeof *finder->list);
    finder->on = mem_zalloc(count + 1, sizeof *finder->on);
    for (size_t i = 0; i < count; i++)
        finder->list[i] = finder->candidates.at[i].constraint;
    number_classes(finder);
    return ERROR_OK;
}

void constraints_close(struct finder *finder)
{
    for (size_t i = 0; i < finder->candidates.count; i++)
        if (!finder->on[i])
            free((void *)(uintptr_t)finder->list[i].uses);
    spmd_local_release(&finder->local);
    spmd_forms_destroy(finder->forms);
    propagate_destroy(finder->propagate);
    plan_release(&finder->made);
    free(finder->slot_space);
    free(finder->use_start);
    free(finder->uses);
    VEC_FREE(&finder->candidates);
    free(finder->list);
    free(finder->on);
    free(finder->tied);
}

enum error_code spmd_constraints_find(const struct plan_context *context, const struct plan *plan,
                                      const struct spmd_options *options, const struct fold *fold,
                                      const struct spmd_constraints_limits *limits,
                                      struct spmd_constraints *out, struct error *e)
{
    static const struct spmd_constraints_limits none = {0};
    const struct spmd_constraints_limits *own = limits ? limits : &none;
    struct finder finder = {.context = context,
                            .plan = plan,
                            .options = options,
                            .known = fold,
                            .effort = own->effort ? own->effort : EFFORT,
                            .late = own->late,
                            .late_user = own->late_user};
    memset(out, 0, sizeof *out);
    TRY(constraints_open(&finder, e));
    enum error_code code = constraints_search(&finder, out, e);
    if (!code)
        code = constraints_weigh(&finder, e);
    hand_over(&finder, out);
    if (code != ERROR_OK)
        spmd_constraints_release(out);
    constraints_close(&finder);
    return code;
}

void spmd_constraints_release(struct spmd_constraints *constraints)
{
    for (uint32_t i = 0; i < constraints->count; i++)
        free((void *)(uintptr_t)constraints->list[i].uses);
    free(constraints->list);
    memset(constraints, 0, sizeof *constraints);
}
