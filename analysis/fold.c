/* The cut: which layers go, who reads what instead, and what stands for what (fold.h).
 *
 * Layers [from, until) go. An op that is left and read a value of a layer that is gone reads the value at the
 * same place of a layer that is left: an op beyond the cut as far down as layers went, one before it as far
 * up, one of no layer the last before the cut. What nobody reads after that goes too. The order of the ops
 * stays; where a value would then be read before it is made, nothing is folded. */
#include "analysis/fold_internal.h"

#include <stdlib.h>
#include <string.h>

struct cut {
    struct fold_map map;
    int32_t *layer; /* by node */
    int32_t from, until;
    struct fold *fold;
    uint8_t *live; /* by op */
};

static bool is_gone(const struct cut *cut, uint32_t node)
{
    return node != NDA_NONE && cut->layer[node] != FOLD_NO_LAYER && cut->layer[node] >= cut->from &&
           cut->layer[node] < cut->until;
}

/* the node of the same chain in that layer; NDA_NONE: it has none there */
static uint32_t in_layer(const struct cut *cut, uint32_t node, int32_t layer)
{
    while (node != NDA_NONE && cut->layer[node] > layer)
        node = cut->map.before[node];
    while (node != NDA_NONE && cut->layer[node] < layer)
        node = cut->map.next[node];
    return node;
}

/* what the reader reads in place of a node that is gone: an op before it, or an argument */
static uint32_t stand_in(const struct cut *cut, uint32_t node, uint32_t reader)
{
    int32_t own = cut->layer[reader], copies = cut->until - cut->from;
    uint32_t choices[] = {NDA_NONE, in_layer(cut, node, cut->from - 1), in_layer(cut, node, cut->until)};
    if (own != FOLD_NO_LAYER && own >= cut->until)
        choices[0] = in_layer(cut, node, cut->layer[node] - copies);
    else if (own != FOLD_NO_LAYER && own < cut->from)
        choices[0] = in_layer(cut, node, cut->layer[node] + copies);
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
        if (choices[i] != NDA_NONE && !is_gone(cut, choices[i]) &&
            (choices[i] < reader || choices[i] >= cut->map.op_count))
            return choices[i];
    return NDA_NONE;
}

/* operands of one op, which stands in the body or in a region of `reader` */
static bool patch_op(struct cut *cut, uint32_t op, uint32_t reader)
{
    const struct ir_program *program = cut->map.nda->program;
    const struct ir_op *ir_op = &program->ops[op];
    for (uint32_t i = 0; i < ir_op->operand_count; i++) {
        uint32_t value = ir_operand(program, op, i), node = fold_node_of(&cut->map, value);
        if (node == NDA_NONE || !is_gone(cut, node))
            continue;
        uint32_t other = stand_in(cut, node, reader);
        if (other == NDA_NONE)
            return false;
        cut->fold->operands[ir_op->operands + i] =
            node < cut->map.op_count ? program->ops[other].results + program->values[value].index
                                     : program->blocks[cut->map.nda->block].args + other - cut->map.op_count;
    }
    for (uint32_t region = 0; region < ir_op->region_count; region++) {
        uint32_t block = ir_region_block(program, op, region);
        for (uint32_t i = 0; block != IR_NONE && i < program->blocks[block].op_count; i++)
            if (!patch_op(cut, program->block_ops[program->blocks[block].ops + i], reader))
                return false;
    }
    return true;
}

/* marks the ops of the body that the op reads, also from its regions */
static void mark_read(struct cut *cut, uint32_t op)
{
    const struct ir_program *program = cut->map.nda->program;
    const struct ir_op *ir_op = &program->ops[op];
    for (uint32_t i = 0; i < ir_op->operand_count; i++) {
        uint32_t value = cut->fold->operands[ir_op->operands + i], def = program->values[value].op;
        if (def != IR_NONE && program->ops[def].block == cut->map.nda->block)
            cut->live[def] = 1;
    }
    for (uint32_t region = 0; region < ir_op->region_count; region++) {
        uint32_t block = ir_region_block(program, op, region);
        for (uint32_t i = 0; block != IR_NONE && i < program->blocks[block].op_count; i++)
            mark_read(cut, program->block_ops[program->blocks[block].ops + i]);
    }
}

/* Ops of the body that stay, in their order; false where one would be read before it is made. */
static bool keep_live(struct cut *cut)
{
    const struct ir_program *program = cut->map.nda->program;
    const struct ir_block *body = &program->blocks[cut->map.nda->block];
    struct fold *fold = cut->fold;
    uint32_t kept = 0;
    for (uint32_t i = body->op_count; i-- > 0;) {
        uint32_t op = program->block_ops[body->ops + i];
        bool last = i + 1 == body->op_count;
        if (is_gone(cut, op) && cut->live[op])
            return false;
        if (is_gone(cut, op) || (!last && !cut->live[op] && program->ops[op].result_count))
            continue;
        if (!patch_op(cut, op, op))
            return false;
        mark_read(cut, op);
        cut->live[op] = 2;
    }
    for (uint32_t i = 0; i < body->op_count; i++) {
        uint32_t op = program->block_ops[body->ops + i];
        if (cut->live[op] == 1)
            return false; /* read by what stands before it */
        if (cut->live[op] == 2)
            fold->block_ops[body->ops + kept++] = op;
    }
    fold->blocks[cut->map.nda->block].op_count = kept;
    return true;
}

/* ---- what stands for what ---- */

static bool alike(const struct nda *n, uint32_t space, uint32_t other)
{
    const struct nda_space *mine = &n->spaces[space], *its = &n->spaces[other];
    if (mine->factor_count != its->factor_count || mine->slot_count != its->slot_count)
        return false;
    for (uint32_t i = 0; i < mine->factor_count; i++)
        if (n->factors[mine->factors + i].size != n->factors[its->factors + i].size ||
            n->factors[mine->factors + i].kind != n->factors[its->factors + i].kind)
            return false;
    for (uint32_t i = 0; i < mine->slot_count; i++) {
        const struct nda_slot *slot = &n->slots[mine->slots + i], *its_slot = &n->slots[its->slots + i];
        uint32_t atoms = nda_atom_count(n, slot->value);
        if (atoms != nda_atom_count(n, its_slot->value) ||
            memcmp(n->factor_of + slot->map, n->factor_of + its_slot->map, atoms) != 0)
            return false;
        for (uint32_t k = 0; k < atoms; k++)
            if (nda_atoms(n, slot->value)[k].size != nda_atoms(n, its_slot->value)[k].size ||
                nda_atoms(n, slot->value)[k].dim != nda_atoms(n, its_slot->value)[k].dim)
                return false;
    }
    return true;
}

static bool add_space(struct fold *fold, const struct nda *n, uint32_t gone, uint32_t kept)
{
    fold->spaces[fold->space_count++] = (struct fold_pair){gone, kept};
    return alike(n, gone, kept);
}

/* The spaces of an op and of what stands in its regions: consecutive, and as many. */
static bool pair_ops(struct fold *fold, const struct nda *n, uint32_t gone, uint32_t kept)
{
    const struct ir_program *program = n->program;
    if (n->op_space_count[gone] != n->op_space_count[kept])
        return false;
    for (uint32_t i = 0; i < n->op_space_count[gone]; i++)
        if (!add_space(fold, n, n->op_space[gone] + i, n->op_space[kept] + i))
            return false;
    for (uint32_t region = 0; region < program->ops[gone].region_count; region++) {
        uint32_t block = ir_region_block(program, gone, region),
                 other = ir_region_block(program, kept, region);
        for (uint32_t i = 0; block != IR_NONE && i < program->blocks[block].op_count; i++)
            if (!pair_ops(fold, n, program->block_ops[program->blocks[block].ops + i],
                          program->block_ops[program->blocks[other].ops + i]))
                return false;
    }
    return true;
}

static bool pair_all(struct cut *cut)
{
    const struct nda *n = cut->map.nda;
    struct fold *fold = cut->fold;
    for (uint32_t node = 0; node < cut->map.node_count; node++) {
        bool other_end = cut->layer[node] == cut->until;
        if (!is_gone(cut, node) && !other_end)
            continue;
        uint32_t kept = in_layer(cut, node, cut->from - 1);
        if (kept == NDA_NONE)
            return false;
        if (node < cut->map.op_count) {
            if (!pair_ops(fold, n, node, kept))
                return false;
            continue;
        }
        uint32_t gone = node - cut->map.op_count;
        fold->arguments[fold->argument_count++] = (struct fold_pair){gone, kept - cut->map.op_count};
        if (!add_space(fold, n, n->arguments[gone].space, n->arguments[kept - cut->map.op_count].space))
            return false;
    }
    return true;
}

/* what is left reads in the place of a function result another value: its space stands for the result's */
static bool pair_results(struct cut *cut)
{
    const struct nda *n = cut->map.nda;
    uint32_t back = ir_block_terminator(n->program, n->block), first = n->program->ops[back].operands;
    for (uint32_t i = 0; i < n->result_count; i++) {
        uint32_t value = cut->fold->operands[first + i];
        if (value == n->program->operands[first + i])
            continue;
        for (uint32_t k = 0; k < n->result_count; k++)
            if (n->program->operands[first + k] == value &&
                !add_space(cut->fold, n, n->result_spaces[i], n->result_spaces[k]))
                return false;
    }
    return true;
}

/* ---- */

static void mark_parts(struct cut *cut)
{
    const struct ir_program *program = cut->map.nda->program;
    for (uint32_t value = 0; value < program->value_count; value++) {
        uint32_t node = fold_node_of(&cut->map, value);
        if (node == NDA_NONE || cut->layer[node] == FOLD_NO_LAYER)
            continue;
        cut->fold->value_part[value] = cut->layer[node] == cut->from - 1 ? 1
                                       : cut->layer[node] == cut->until  ? 2
                                                                         : FOLD_ELSEWHERE;
        if (node < cut->map.op_count)
            cut->fold->part[node] = cut->fold->value_part[value];
    }
}

static void start_view(struct fold *fold, const struct nda *n)
{
    const struct ir_program *program = n->program;
    fold->nda = *n;
    fold->program = *program;
    fold->program.owned = false;
    fold->operands = mem_alloc(((size_t)program->operand_count + 1) * sizeof *fold->operands);
    memcpy(fold->operands, program->operands, program->operand_count * sizeof *fold->operands);
    fold->block_ops = mem_alloc(((size_t)program->block_op_count + 1) * sizeof *fold->block_ops);
    memcpy(fold->block_ops, program->block_ops, program->block_op_count * sizeof *fold->block_ops);
    fold->blocks = mem_alloc(((size_t)program->block_count + 1) * sizeof *fold->blocks);
    memcpy(fold->blocks, program->blocks, program->block_count * sizeof *fold->blocks);
    fold->program.operands = fold->operands;
    fold->program.block_ops = fold->block_ops;
    fold->program.blocks = fold->blocks;
    fold->nda.program = &fold->program;
    fold->part = mem_zalloc((size_t)program->op_count + 1, 1);
    fold->value_part = mem_zalloc((size_t)program->value_count + 1, 1);
    fold->spaces = mem_zalloc((size_t)n->space_count * 2 + 1, sizeof *fold->spaces);
    fold->arguments = mem_zalloc((size_t)n->argument_count + 1, sizeof *fold->arguments);
}

/* the op stands where the op of the body around it does, and is of its part of the fold */
static void place_op(struct cut *cut, uint32_t op, uint32_t body_op, uint32_t position)
{
    const struct ir_program *program = cut->map.nda->program;
    struct fold_places *places = &cut->fold->places;
    places->layer[op] = cut->layer[body_op];
    places->position[op] = position;
    cut->fold->part[op] = cut->fold->part[body_op];
    for (uint32_t region = 0; region < program->ops[op].region_count; region++) {
        uint32_t block = ir_region_block(program, op, region);
        for (uint32_t i = 0; block != IR_NONE && i < program->blocks[block].op_count; i++)
            place_op(cut, program->block_ops[program->blocks[block].ops + i], body_op, position);
    }
}

static void find_places(struct cut *cut)
{
    const struct ir_program *program = cut->map.nda->program;
    const struct ir_block *body = &program->blocks[cut->map.nda->block];
    struct fold_places *places = &cut->fold->places;
    size_t nodes = (size_t)cut->map.node_count + 1, ops = (size_t)program->op_count + 1;
    *places = (struct fold_places){.op_count = cut->map.op_count,
                                   .block = cut->map.nda->block,
                                   .layer = mem_alloc(nodes * sizeof *places->layer),
                                   .next = mem_alloc(nodes * sizeof *places->next),
                                   .before = mem_alloc(nodes * sizeof *places->before),
                                   .position = mem_zalloc(ops, sizeof *places->position),
                                   .at = mem_alloc(((size_t)body->op_count + 1) * sizeof *places->at),
                                   .positions = body->op_count,
                                   .from = cut->from,
                                   .until = cut->until};
    memcpy(places->layer, cut->layer, cut->map.node_count * sizeof *places->layer);
    memcpy(places->next, cut->map.next, cut->map.node_count * sizeof *places->next);
    memcpy(places->before, cut->map.before, cut->map.node_count * sizeof *places->before);
    places->results = cut->map.nda->result_count;
    places->result = mem_alloc(((size_t)program->value_count + 1) * sizeof *places->result);
    for (uint32_t value = 0; value < program->value_count; value++)
        places->result[value] = NDA_NONE;
    uint32_t back = ir_block_terminator(program, cut->map.nda->block);
    places->returned = mem_alloc(((size_t)places->results + 1) * sizeof *places->returned);
    for (uint32_t i = places->results; i-- > 0;) {
        places->returned[i] = ir_operand(program, back, i);
        places->result[places->returned[i]] = i;
    }
    for (uint32_t i = 0; i < body->op_count; i++) {
        places->at[i] = program->block_ops[body->ops + i];
        place_op(cut, places->at[i], places->at[i], i);
    }
}

/* Does the program begin with its last layer? The longest repeat may be that of the backward pass. */
static bool begins_with_last(const struct cut *cut)
{
    const struct ir_block *body = &cut->map.nda->program->blocks[cut->map.nda->block];
    for (uint32_t i = 0; i < body->op_count; i++) {
        int32_t layer = cut->layer[cut->map.nda->program->block_ops[body->ops + i]];
        if (layer == 1 || layer == (int32_t)cut->map.layers - 2)
            return layer != 1;
    }
    return false;
}

/* layers count from the other end */
static void turn(struct cut *cut)
{
    uint32_t *next = cut->map.next;
    cut->map.next = cut->map.before;
    cut->map.before = next;
    for (uint32_t node = 0; node < cut->map.node_count; node++)
        if (cut->layer[node] != FOLD_NO_LAYER)
            cut->layer[node] = (int32_t)cut->map.layers - 1 - cut->layer[node];
}

struct fold *fold_create(const struct nda *n, uint32_t kept)
{
    struct cut cut = {0};
    struct fold *fold = NULL;
    if (fold_map_create(n, kept + 2, &cut.map)) {
        fold = mem_zalloc(1, sizeof *fold);
        cut.fold = fold;
        cut.layer = fold_layers(&cut.map);
        cut.live = mem_zalloc((size_t)cut.map.op_count + 1, 1);
        /* An odd one more stays where the program begins: what is before its layers (embeddings, whose
         * gradients' updates may be sharded) gives the first one other cells than inner ones have. */
        if (kept % 2 && begins_with_last(&cut))
            turn(&cut);
        cut.from = (int32_t)(kept - kept / 2);
        cut.until = (int32_t)(cut.map.layers - kept / 2);
        fold->layers = cut.map.layers;
        fold->kept = kept;
        fold->copies = cut.map.layers - kept;
        start_view(fold, n);
        mark_parts(&cut);
        find_places(&cut);
        if (!keep_live(&cut) || !pair_all(&cut) || !pair_results(&cut)) {
            fold_destroy(fold);
            fold = NULL;
        } else if (fold->copies > FOLD_DEEP) {
            fold_shorten(fold, cut.map.node_count);
        }
    }
    free(cut.layer);
    free(cut.live);
    fold_map_release(&cut.map);
    return fold;
}

void fold_destroy(struct fold *fold)
{
    if (!fold)
        return;
    free(fold->operands);
    free(fold->block_ops);
    free(fold->blocks);
    free(fold->part);
    free(fold->value_part);
    fold_shorter_release(fold);
    free(fold->places.layer);
    free(fold->places.next);
    free(fold->places.before);
    free(fold->places.position);
    free(fold->places.at);
    free(fold->places.result);
    free(fold->places.returned);
    free(fold->spaces);
    free(fold->arguments);
    free(fold);
}

bool fold_holds(const struct fold *fold, const struct plan *plan)
{
    size_t cells = plan->axis_count * sizeof(struct plan_cell);
    for (uint32_t i = 0; i < fold->space_count; i++)
        if (memcmp(plan_space(plan, fold->spaces[i].gone), plan_space(plan, fold->spaces[i].kept), cells) !=
            0)
            return false;
    return fold_arguments_hold(fold, plan);
}

bool fold_arguments_hold(const struct fold *fold, const struct plan *plan)
{
    for (uint32_t i = 0; i < fold->argument_count; i++)
        if (plan->regather[fold->arguments[i].gone] != plan->regather[fold->arguments[i].kept])
            return false;
    return true;
}
