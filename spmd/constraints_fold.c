/* Lists of constraints of deep programs.
 *
 *   layers   0   1 | 2 .. L-3 | L-2 L-1     the list is sought on the fold, of which a run takes little,
 *   choice   a   b   b      b   b    c      and read off: what is gone is decided as the layer before the cut
 *
 * Equal layers are decided alike: on the fold the two layers at the cut are one unit. Whether the choice is
 * good is asked of the whole program, once; where it is not, the whole is searched (constraints.c). */
#include "spmd/constraints_find.h"

#include <stdlib.h>
#include <string.h>

enum { KEPT = 4 };

/* The program with its layers cut, as the model sees it. */
struct cut {
    const struct nda *n; /* of the whole */
    const struct fold *fold;
    struct fold *own; /* NULL: it was there */
    struct nda view;  /* the fold's, with slots that say what is read there */
    struct nda_slot *slots;
    uint8_t *live, *gone; /* by op, by space */
    struct plan_context *context;
};

static void mark_live(struct cut *cut, uint32_t block)
{
    const struct ir_program *program = &cut->fold->program;
    for (uint32_t i = 0; i < program->blocks[block].op_count; i++) {
        uint32_t op = program->block_ops[program->blocks[block].ops + i];
        cut->live[op] = 1;
        for (uint32_t region = 0; region < program->ops[op].region_count; region++) {
            uint32_t inner = ir_region_block(program, op, region);
            if (inner != IR_NONE)
                mark_live(cut, inner);
        }
    }
}

static void mark_gone(struct cut *cut)
{
    const struct nda *n = cut->n;
    const struct fold_places *places = &cut->fold->places;
    const struct ir_program *program = n->program;
    uint32_t back = program->ops[ir_block_terminator(program, n->block)].operands;
    mark_live(cut, n->block);
    for (uint32_t space = 0; space < n->space_count; space++)
        if (n->spaces[space].kind != NDA_SPACE_ARGUMENT && n->spaces[space].kind != NDA_SPACE_RESULT)
            cut->gone[space] = !cut->live[n->spaces[space].op];
    for (uint32_t i = 0; i < n->argument_count; i++) {
        int32_t layer = places->layer[places->op_count + i];
        cut->gone[n->arguments[i].space] =
            layer != FOLD_NO_LAYER && layer >= places->from && layer < places->until;
    }
    for (uint32_t i = 0; i < n->result_count; i++)
        cut->gone[n->result_spaces[i]] = cut->fold->operands[back + i] != program->operands[back + i];
}

/* operands across the cut */
static void patch_slots(struct cut *cut)
{
    const struct nda *n = cut->n;
    for (uint32_t space = 0; space < n->space_count; space++) {
        const struct nda_space *at = &n->spaces[space];
        if (cut->gone[space] || at->kind == NDA_SPACE_ARGUMENT || at->kind == NDA_SPACE_RESULT)
            continue;
        const struct ir_op *op = &n->program->ops[at->op];
        for (uint32_t k = 0; k < at->slot_count; k++) {
            struct nda_slot *slot = &cut->slots[at->slots + k];
            for (uint32_t i = op->operands; i < op->operands + op->operand_count && !slot->is_result; i++)
                if (n->program->operands[i] == n->slots[at->slots + k].value)
                    slot->value = cut->fold->operands[i];
        }
    }
}

/* false: nothing repeats, or the plan does not treat layers alike */
static bool open_cut(const struct finder *whole, struct cut *cut)
{
    const struct nda *n = whole->n;
    *cut = (struct cut){.n = n};
    if (!whole->known || whole->known->kept != KEPT)
        cut->own = fold_create(n, KEPT);
    cut->fold = cut->own ? cut->own : whole->known;
    if (cut->fold && cut->fold->kept != KEPT)
        cut->fold = NULL;
    if (!cut->fold || !fold_holds(cut->fold, whole->plan))
        return false;
    cut->live = mem_zalloc((size_t)n->program->op_count + 1, 1);
    cut->gone = mem_zalloc((size_t)n->space_count + 1, 1);
    cut->slots = mem_alloc(((size_t)n->slot_count + 1) * sizeof *cut->slots);
    memcpy(cut->slots, n->slots, n->slot_count * sizeof *cut->slots);
    mark_gone(cut);
    patch_slots(cut);
    cut->view = cut->fold->nda;
    cut->view.slots = cut->slots;
    cut->context = plan_context_view(whole->context, &cut->view);
    return true;
}

static void close_cut(struct cut *cut)
{
    fold_destroy(cut->own);
    free(cut->slots);
    free(cut->live);
    free(cut->gone);
    free(cut->context);
}

/* ---- candidates that are alike ---- */

/* a value's like in the layer before the cut, of one at the cut or between; else itself */
static uint32_t model_of(const struct cut *cut, uint32_t value)
{
    const struct fold_places *places = &cut->fold->places;
    uint32_t node = fold_maker(places, cut->n->program, value);
    int32_t layer = node == NDA_NONE ? FOLD_NO_LAYER : places->layer[node];
    if (layer == FOLD_NO_LAYER || layer < places->from || layer > places->until)
        return value;
    for (; layer >= places->from && node != NDA_NONE; layer--)
        node = places->before[node];
    return node == NDA_NONE ? value : fold_value(places, cut->n->program, node, value);
}

/* by value: its first candidate, and by candidate the next one of that value; UINT32_MAX: none */
struct by_value {
    uint32_t *first, *next;
};

static void list_by_value(const struct finder *finder, struct by_value *out)
{
    size_t values = finder->n->program->value_count, count = finder->candidates.count;
    out->first = mem_alloc((values + 1) * sizeof *out->first);
    out->next = mem_alloc((count + 1) * sizeof *out->next);
    memset(out->first, 0xff, (values + 1) * sizeof *out->first);
    for (size_t i = count; i-- > 0;) {
        out->next[i] = out->first[finder->list[i].value];
        out->first[finder->list[i].value] = (uint32_t)i;
    }
}

static void release_by_value(struct by_value *list)
{
    free(list->first);
    free(list->next);
}

/* the fold's candidate that says of the value what another says of its like; UINT32_MAX */
static uint32_t find_like(const struct finder *folded, const struct by_value *list, uint32_t value,
                          const struct propagate_constraint *other)
{
    uint32_t i = list->first[value];
    while (i != UINT32_MAX && ((folded->list[i].uses != NULL) != (other->uses != NULL) ||
                               !spmd_form_equal(&folded->list[i].form, &other->form)))
        i = list->next[i];
    return i;
}

/* the layer behind the cut is decided as the one before it */
static void tie(const struct cut *cut, struct finder *folded, const struct by_value *list)
{
    uint32_t count = (uint32_t)folded->candidates.count;
    folded->tied = mem_alloc(((size_t)count + 1) * sizeof *folded->tied);
    for (uint32_t i = 0; i < count; i++)
        folded->tied[i] = i;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t model = model_of(cut, folded->list[i].value),
                 like = find_like(folded, list, model, &folded->list[i]);
        if (model == folded->list[i].value || like == UINT32_MAX)
            continue;
        folded->tied[i > like ? i : like] = i > like ? like : i;
    }
}

static void read_off(const struct cut *cut, const struct finder *folded, const struct by_value *list,
                     struct finder *whole)
{
    for (size_t i = 0; i < whole->candidates.count; i++) {
        const struct propagate_constraint *at = &whole->list[i];
        uint32_t like = find_like(folded, list, at->value, at);
        if (like == UINT32_MAX)
            like = find_like(folded, list, model_of(cut, at->value), at);
        whole->on[i] = like != UINT32_MAX && folded->on[like];
    }
}

static enum error_code search_cut(const struct cut *cut, struct finder *folded, struct finder *whole,
                                  struct error *e)
{
    struct spmd_constraints ignored = {0};
    struct by_value list;
    list_by_value(folded, &list);
    tie(cut, folded, &list);
    enum error_code code = constraints_search(folded, &ignored, e);
    if (code == ERROR_OK)
        read_off(cut, folded, &list, whole);
    release_by_value(&list);
    memset(folded->on, 0, folded->candidates.count); /* so that closing frees all */
    whole->runs += folded->runs;
    return code;
}

enum error_code constraints_on_fold(struct finder *finder, const struct moved *most, bool *found,
                                    struct error *e)
{
    struct cut cut;
    struct moved now;
    enum error_code code = ERROR_OK;
    *found = false;
    spmd_local_release(&finder->local); /* of 96 layers 10 MB that nobody needs meanwhile */
    spmd_forms_lend(finder->forms, &finder->local);
    if (open_cut(finder, &cut)) {
        struct finder folded = {.context = cut.context,
                                .plan = finder->plan,
                                .options = finder->options,
                                .effort = finder->effort,
                                .late = finder->late,
                                .late_user = finder->late_user,
                                .fold = cut.fold,
                                .gone = cut.gone};
        code = constraints_open(&folded, e);
        if (code == ERROR_OK) {
            code = search_cut(&cut, &folded, finder, e);
            finder->over |= folded.over;
            constraints_close(&folded);
        }
        if (code == ERROR_OK)
            code = constraints_measure(finder, most, &now, e);
        *found = code == ERROR_OK && constraints_good(&now, most);
        if (*found)
            finder->now = now;
    }
    close_cut(&cut);
    return code;
}
