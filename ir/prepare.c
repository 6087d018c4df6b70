/* From the module as read to the program that is planned, in two rebuilds:
 *   1. inline: @main alone, with every call and composite replaced by the callee's body, batch norms by
 *     their parts;
 *   2. clone: only live ops, loops without what they carry unchanged, and for each use its own copy of
 *     every broadcast and constant-derived value. Both walk blocks in order with a map from old values to
 *     new ones. */
#include "ir/prepare.h"

#include "ir/expand.h"
#include "ir/invariants.h"
#include "ir/simplify.h"

#include <stdlib.h>
#include <string.h>

/* A constant-derived value made of more ops than this (with repetition) is computed once instead of at
 * each use. */
enum { CLONE_LIMIT = 64, CALL_DEPTH = 64 };

/* Functions that call functions twice double at every level: a program is at most this much larger than
 * its text. */
enum { GROWTH = 8, GROWTH_FREE = 1 << 20 };

struct rebuild {
    const struct ir_program *p;
    struct ir_builder *b;
    uint32_t *map; /* old value -> new value */
    uint64_t made; /* ops so far */
    /* inline */
    uint32_t stack[CALL_DEPTH], depth; /* functions being inlined */
    /* clone */
    uint32_t *same; /* by value: what it always equals (invariants.h) */
    uint8_t *live;  /* by op */
    uint8_t *clone; /* by op: its value is copied for each use */
};

static enum error_code rebuild_block(struct rebuild *r, uint32_t block, struct error *e);

/* ------------------------------------------------------------------ copying one op */
typedef VEC(uint32_t) ids;
typedef VEC(struct ir_attr) attr_list;

/* does the op lose operand, result and block argument i? */
static bool is_dropped(const struct rebuild *r, uint32_t op, uint32_t i)
{
    return r->same && ir_invariants_drop(r->p, r->same, op, i);
}

/* the block's arguments that stay, and their places in the map */
static void rebuild_arguments(struct rebuild *r, uint32_t op, const struct ir_block *block)
{
    const struct ir_program *p = r->p;
    ids types = {0}, kept = {0};
    for (uint32_t a = 0; a < block->arg_count; a++)
        if (p->ops[op].code != IR_WHILE || !is_dropped(r, op, a)) {
            VEC_PUSH(&kept, block->args + a);
            VEC_PUSH(&types, ir_build_copy_type(r->b, p, p->values[block->args + a].type));
        }
    uint32_t first = ir_build_block(r->b, types.at, (uint32_t)types.count);
    for (uint32_t a = 0; a < kept.count; a++) {
        const char *name = ir_value_location(p, kept.at[a]);
        if (*name)
            ir_build_value_location(r->b, first + a, name, strlen(name));
        r->map[kept.at[a]] = first + a;
    }
    VEC_FREE(&types);
    VEC_FREE(&kept);
}

static enum error_code rebuild_regions(struct rebuild *r, uint32_t op, struct error *e)
{
    const struct ir_program *p = r->p;
    for (uint32_t g = 0; g < p->ops[op].region_count; g++) {
        const struct ir_region *region = &p->regions[p->ops[op].regions + g];
        ir_build_region(r->b);
        if (region->block_count > 1)
            return error_set_at(
                e, ERROR_UNSUPPORTED_MODULE, (int)p->ops[op].line, (int)p->ops[op].column,
                "%s has a region of several blocks; only structured control flow can be planned",
                ir_op_name(p, op));
        if (region->block_count == 1) {
            rebuild_arguments(r, op, &p->blocks[region->blocks]);
            TRY(rebuild_block(r, region->blocks, e));
            ir_build_end_block(r->b);
        }
        ir_build_end_region(r->b);
    }
    return ERROR_OK;
}

/* The op with these operands (new values); its results enter the map. */
static enum error_code copy_op(struct rebuild *r, uint32_t op, const uint32_t *operands, struct error *e)
{
    const struct ir_program *p = r->p;
    const struct ir_op *o = &p->ops[op];
    ids types = {0}, kept = {0}, results = {0};
    attr_list attrs = {0};
    if (++r->made > GROWTH_FREE + (uint64_t)p->op_count * GROWTH)
        return error_set_at(e, ERROR_MODULE_TOO_LARGE, (int)o->line, (int)o->column,
                            "calls of calls make more than %llu ops of this module's %u",
                            (unsigned long long)r->made - 1, p->op_count);
    for (uint32_t i = 0; i < o->operand_count; i++)
        if (!is_dropped(r, op, i))
            VEC_PUSH(&kept, operands[i]);
    for (uint32_t i = 0; i < o->result_count; i++)
        if (!is_dropped(r, op, i)) {
            VEC_PUSH(&results, o->results + i);
            VEC_PUSH(&types, ir_build_copy_type(r->b, p, p->values[o->results + i].type));
        }
    for (uint32_t i = 0; i < o->attr_count; i++)
        VEC_PUSH(&attrs, ir_build_copy_attr(r->b, p, &p->attrs[o->attrs + i]));
    struct ir_op_spec spec = {.name = ir_op_name(p, op),
                              .operands = kept.at,
                              .operand_count = (uint32_t)kept.count,
                              .result_types = types.at,
                              .result_count = (uint32_t)types.count,
                              .attrs = attrs.at,
                              .attr_count = o->attr_count,
                              .line = o->line,
                              .column = o->column,
                              .location = o->location == IR_NONE ? NULL : ir_string(p, o->location)};
    uint32_t made;
    enum error_code code = ERROR_OK;
    if (o->region_count == 0) {
        made = ir_build_op(r->b, &spec);
    } else {
        made = ir_build_begin(r->b, &spec);
        code = rebuild_regions(r, op, e);
        if (code == ERROR_OK)
            ir_build_end(r->b);
    }
    for (uint32_t i = 0; code == ERROR_OK && i < results.count; i++)
        r->map[results.at[i]] = ir_builder_result(r->b, made, i);
    VEC_FREE(&types);
    VEC_FREE(&kept);
    VEC_FREE(&results);
    VEC_FREE(&attrs);
    return code;
}

/* ------------------------------------------------------------------ 1. inline */
static enum error_code refuse_op(const struct ir_program *p, uint32_t op, struct error *e)
{
    const struct ir_op *o = &p->ops[op];
    if (o->code == IR_SDY_MANUAL_COMPUTATION)
        return error_set_at(
            e, ERROR_UNSUPPORTED_MODULE, (int)o->line, (int)o->column,
            "%s: a part that is partitioned by hand already (JAX's shard_map) cannot be planned: plan the "
            "module that has the function without shard_map",
            ir_op_name(p, op));
    for (uint32_t i = 0; i < o->operand_count + o->result_count; i++) {
        uint32_t v = i < o->operand_count ? ir_operand(p, op, i) : o->results + i - o->operand_count;
        const struct ir_type *t = ir_value_type(p, v);
        const char *why = t->flags & IR_TYPE_QUANTIZED ? "quantized types are not supported"
                          : t->flags & (IR_TYPE_DYNAMIC | IR_TYPE_UNRANKED)
                              ? "dynamic shapes are not supported: lower the module with static shapes"
                              : NULL;
        if (why)
            return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)o->line, (int)o->column,
                                "%s: type %.100s: %s", ir_op_name(p, op), ir_string(p, t->text), why);
    }
    return ERROR_OK;
}

static const char *callee_of(const struct ir_program *p, uint32_t op)
{
    const char *name = p->ops[op].code == IR_CALL        ? "callee"
                       : p->ops[op].code == IR_COMPOSITE ? "decomposition"
                                                         : NULL;
    const struct ir_attr *a = name ? ir_attr_find(p, op, name) : NULL;
    return a && a->kind == IR_ATTR_SYMBOL ? ir_string(p, a->first) : NULL;
}

static enum error_code inline_block(struct rebuild *r, uint32_t block, bool keep_terminator, struct error *e);

/* Shardy's way of naming a part: a call of the function that stands right there */
static bool is_named_part(const struct ir_program *p, uint32_t op)
{
    return strcmp(ir_op_name(p, op), "sdy.named_computation") == 0;
}

static enum error_code inline_call(struct rebuild *r, uint32_t op, const char *symbol, struct error *e)
{
    const struct ir_program *p = r->p;
    const struct ir_op *o = &p->ops[op];
    uint32_t function = is_named_part(p, op) ? op : ir_function(p, symbol);
    uint32_t body = function == IR_NONE ? IR_NONE : ir_region_block(p, function, 0);
    if (body == IR_NONE)
        return error_set_at(e, ERROR_INVALID_MODULE, (int)o->line, (int)o->column,
                            "there is no function @%.100s with one block to call", symbol);
    for (uint32_t i = 0; i < r->depth; i++)
        if (r->stack[i] == function)
            return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)o->line, (int)o->column,
                                "@%.100s calls itself", symbol);
    if (r->depth == CALL_DEPTH)
        return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)o->line, (int)o->column,
                            "calls nest deeper than %d", CALL_DEPTH);
    uint32_t end = ir_block_terminator(p, body);
    if (p->blocks[body].arg_count != o->operand_count || end == IR_NONE ||
        p->ops[end].operand_count != o->result_count)
        return error_set_at(e, ERROR_INVALID_MODULE, (int)o->line, (int)o->column,
                            "the call of @%.100s does not fit its signature", symbol);
    for (uint32_t i = 0; i < o->operand_count; i++) {
        if (p->values[ir_operand(p, op, i)].type != p->values[p->blocks[body].args + i].type)
            return error_set_at(e, ERROR_INVALID_MODULE, (int)o->line, (int)o->column,
                                "argument %u of the call of @%.100s has another type than the function's", i,
                                symbol);
        r->map[p->blocks[body].args + i] = r->map[ir_operand(p, op, i)];
    }
    r->stack[r->depth++] = function;
    TRY(inline_block(r, body, false, e));
    r->depth--;
    for (uint32_t i = 0; i < o->result_count; i++) {
        if (p->values[ir_operand(p, end, i)].type != p->values[o->results + i].type)
            return error_set_at(e, ERROR_INVALID_MODULE, (int)o->line, (int)o->column,
                                "result %u of the call of @%.100s has another type than the function's", i,
                                symbol);
        r->map[o->results + i] = r->map[ir_operand(p, end, i)];
    }
    return ERROR_OK;
}

static enum error_code inline_block(struct rebuild *r, uint32_t block, bool keep_terminator, struct error *e)
{
    const struct ir_program *p = r->p;
    ids operands = {0};
    enum error_code code = ERROR_OK;
    uint32_t count = p->blocks[block].op_count - (keep_terminator || p->blocks[block].op_count == 0 ? 0 : 1);
    for (uint32_t i = 0; code == ERROR_OK && i < count; i++) {
        uint32_t op = p->block_ops[p->blocks[block].ops + i];
        const char *callee = is_named_part(p, op) ? "named_computation" : callee_of(p, op);
        code = refuse_op(p, op, e);
        if (code != ERROR_OK)
            break;
        if (callee) {
            code = inline_call(r, op, callee, e);
            continue;
        }
        operands.count = 0;
        for (uint32_t k = 0; k < p->ops[op].operand_count; k++)
            VEC_PUSH(&operands, r->map[ir_operand(p, op, k)]);
        uint32_t parts[3];
        if (!ir_expand_op(r->b, p, op, operands.at, parts)) {
            code = copy_op(r, op, operands.at, e);
            continue;
        }
        r->made += 32; /* about what a batch norm is made of */
        for (uint32_t k = 0; k < 3; k++)
            r->map[p->ops[op].results + k] = parts[k];
    }
    VEC_FREE(&operands);
    return code;
}

/* ------------------------------------------------------------------ 2. live ops and clones */
static bool has_effect(const struct ir_program *p, uint32_t op)
{
    const struct ir_op *o = &p->ops[op];
    if (o->code == IR_CUSTOM_CALL && ir_attr_find(p, op, "has_side_effect") &&
        ir_attr_find(p, op, "has_side_effect")->value != 0)
        return true;
    if (o->result_count == 0)
        return true; /* terminators, sdy.sharding_group, unknown effects */
    for (uint32_t i = 0; i < o->result_count; i++)
        if (ir_value_type(p, o->results + i)->kind == IR_TYPE_TOKEN)
            return true;
    for (uint32_t g = 0; g < o->region_count; g++) {
        uint32_t block = ir_region_block(p, op, g);
        /* all but the terminator */
        for (uint32_t i = 0; block != IR_NONE && i + 1 < p->blocks[block].op_count; i++)
            if (has_effect(p, p->block_ops[p->blocks[block].ops + i]))
                return true;
    }
    return false;
}

static void mark_live(const struct rebuild *r, uint32_t root, uint8_t *live)
{
    const struct ir_program *p = r->p;
    ids work = {0};
    VEC_PUSH(&work, root);
    live[root] = 1;
    while (work.count) {
        uint32_t op = work.at[--work.count];
        for (uint32_t i = 0; i < p->ops[op].operand_count; i++) {
            uint32_t def = p->values[r->same[ir_operand(p, op, i)]].op;
            if (def != IR_NONE && !live[def] && !ir_drops_operand(p, op, i) && !is_dropped(r, op, i)) {
                live[def] = 1;
                VEC_PUSH(&work, def);
            }
        }
        for (uint32_t g = 0; g < p->ops[op].region_count; g++) {
            uint32_t block = ir_region_block(p, op, g);
            for (uint32_t i = 0; block != IR_NONE && i < p->blocks[block].op_count; i++) {
                uint32_t inner = p->block_ops[p->blocks[block].ops + i];
                if (!live[inner] && (i + 1 == p->blocks[block].op_count || has_effect(p, inner))) {
                    live[inner] = 1;
                    VEC_PUSH(&work, inner);
                }
            }
        }
    }
    VEC_FREE(&work);
}

/* Pure, cheap, without regions: what a constant-derived value may be made of. */
static bool is_plain(enum ir_family family)
{
    switch (family) {
    case IR_FAMILY_ELEMENTWISE:
    case IR_FAMILY_CONSTANT:
    case IR_FAMILY_IOTA:
    case IR_FAMILY_BROADCAST:
    case IR_FAMILY_TRANSPOSE:
    case IR_FAMILY_RESHAPE:
    case IR_FAMILY_SLICE:
    case IR_FAMILY_PAD:
    case IR_FAMILY_CONCATENATE:
    case IR_FAMILY_REVERSE:
    case IR_FAMILY_BITCAST: return true;
    case IR_FAMILY_UNKNOWN:
    case IR_FAMILY_STRUCTURE:
    case IR_FAMILY_DOT:
    case IR_FAMILY_CONVOLUTION:
    case IR_FAMILY_REDUCE:
    case IR_FAMILY_REDUCE_WINDOW:
    case IR_FAMILY_BATCH_NORM:
    case IR_FAMILY_GATHER:
    case IR_FAMILY_SCATTER:
    case IR_FAMILY_DYNAMIC_SLICE:
    case IR_FAMILY_DYNAMIC_UPDATE:
    case IR_FAMILY_SORT:
    case IR_FAMILY_RNG:
    case IR_FAMILY_LINALG:
    case IR_FAMILY_CONTROL:
    case IR_FAMILY_BARRIER:
    case IR_FAMILY_CUSTOM_CALL:
    case IR_FAMILY_COLLECTIVE:
    case IR_FAMILY_SHARDY:
    case IR_FAMILIES: return false;
    }
    return false;
}

/* Ops are in program order, so operands come first. A value cloned for each use takes `size` ops (with
 * repetition); above CLONE_LIMIT it is computed once: hostile chains would grow quadratically and recurse
 * without end. */
static void mark_clones(const struct rebuild *r, uint8_t *clone)
{
    const struct ir_program *p = r->p;
    uint16_t *size = mem_zalloc((size_t)p->op_count + 1, sizeof *size);
    uint8_t *constant = mem_zalloc((size_t)p->op_count + 1, 1);
    for (uint32_t op = 0; op < p->op_count; op++) {
        const struct ir_op *o = &p->ops[op];
        enum ir_family family = ir_opcode_family((enum ir_opcode)o->code);
        if (o->result_count != 1 || (!ir_is_empty(p, op) && (o->region_count || !is_plain(family))))
            continue;
        uint32_t total = 1;
        bool derived = true;
        for (uint32_t i = 0; i < o->operand_count && total <= CLONE_LIMIT; i++) {
            uint32_t value = ir_operand(p, op, i), def = p->values[r->same ? r->same[value] : value].op;
            if (ir_drops_operand(p, op, i)) {
                total++; /* use_value has room for so many operands */
                continue;
            }
            derived = derived && def != IR_NONE && constant[def];
            total += def != IR_NONE && clone[def] ? size[def] : 0;
        }
        if (total > CLONE_LIMIT || !(derived || (family == IR_FAMILY_BROADCAST && o->operand_count == 1)))
            continue;
        size[op] = (uint16_t)total;
        constant[op] = derived;
        clone[op] = 1;
    }
    free(size);
    free(constant);
}

static enum error_code copy_live_op(struct rebuild *r, uint32_t op, const uint32_t *operands, struct error *e)
{
    return ir_simplify_op(r->b, r->p, op, operands, &r->map[r->p->ops[op].results])
               ? ERROR_OK
               : copy_op(r, op, operands, e);
}

static enum error_code use_value(struct rebuild *r, uint32_t value, uint32_t *out, struct error *e);

static enum error_code use_operand(struct rebuild *r, uint32_t op, uint32_t operand, uint32_t *out,
                                   struct error *e)
{
    *out = IR_NONE;
    if (ir_drops_operand(r->p, op, operand) || is_dropped(r, op, operand))
        return ERROR_OK;
    return use_value(r, r->same[ir_operand(r->p, op, operand)], out, e);
}

static enum error_code use_value(struct rebuild *r, uint32_t value, uint32_t *out, struct error *e)
{
    uint32_t op = r->p->values[value].op;
    if (op == IR_NONE || !r->clone[op]) {
        *out = r->map[value];
        return ERROR_OK;
    }
    const struct ir_op *o = &r->p->ops[op];
    uint32_t operands[CLONE_LIMIT + 1];
    uint32_t count = ir_is_empty(r->p, op) ? 0 : o->operand_count;
    for (uint32_t i = 0; i < count; i++) /* fewer than CLONE_LIMIT: each counts one or more */
        TRY(use_operand(r, op, i, &operands[i], e));
    TRY(copy_live_op(r, op, operands, e));
    *out = r->map[value];
    return ERROR_OK;
}

static enum error_code clone_block(struct rebuild *r, uint32_t block, struct error *e)
{
    const struct ir_program *p = r->p;
    ids operands = {0};
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; code == ERROR_OK && i < p->blocks[block].op_count; i++) {
        uint32_t op = p->block_ops[p->blocks[block].ops + i];
        if (!r->live[op] || r->clone[op])
            continue;
        operands.count = 0;
        VEC_RESERVE(&operands, p->ops[op].operand_count);
        for (uint32_t k = 0; code == ERROR_OK && k < p->ops[op].operand_count; k++)
            code = use_operand(r, op, k, &operands.at[k], e);
        if (code == ERROR_OK)
            code = copy_live_op(r, op, operands.at, e);
    }
    VEC_FREE(&operands);
    return code;
}

static enum error_code rebuild_block(struct rebuild *r, uint32_t block, struct error *e)
{
    return r->live ? clone_block(r, block, e) : inline_block(r, block, true, e);
}

/* ------------------------------------------------------------------ modules */
/* Copies the module op, its top-level ops that are not functions, and the entry function. */
static enum error_code rebuild_module(struct rebuild *r, uint32_t entry, struct error *e)
{
    const struct ir_program *p = r->p;
    attr_list attrs = {0};
    for (uint32_t i = 0; i < p->ops[0].attr_count; i++)
        VEC_PUSH(&attrs, ir_build_copy_attr(r->b, p, &p->attrs[p->ops[0].attrs + i]));
    struct ir_op_spec spec = {.name = ir_op_name(p, 0),
                              .attrs = attrs.at,
                              .attr_count = (uint32_t)attrs.count,
                              .line = p->ops[0].line,
                              .column = p->ops[0].column};
    ir_build_begin(r->b, &spec);
    VEC_FREE(&attrs);
    ir_build_region(r->b);
    ir_build_block(r->b, NULL, 0);
    uint32_t block = ir_region_block(p, 0, 0);
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; code == ERROR_OK && i < p->blocks[block].op_count; i++) {
        uint32_t op = p->block_ops[p->blocks[block].ops + i];
        if (p->ops[op].operand_count || p->ops[op].result_count)
            code = error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)p->ops[op].line, (int)p->ops[op].column,
                                "%s stands outside of any function", ir_op_name(p, op));
        else if (op == entry || p->ops[op].code != IR_FUNC)
            code = copy_op(r, op, NULL, e);
    }
    if (code != ERROR_OK)
        return code;
    ir_build_end_block(r->b);
    ir_build_end_region(r->b);
    ir_build_end(r->b);
    return ERROR_OK;
}

static enum error_code find_entry(const struct ir_program *p, uint32_t *entry, struct error *e)
{
    uint32_t block = p->op_count ? ir_region_block(p, 0, 0) : IR_NONE;
    *entry = block == IR_NONE ? IR_NONE : ir_function(p, "main");
    if (*entry == IR_NONE)
        return error_set_at(e, ERROR_UNSUPPORTED_MODULE, 1, 1,
                            "the module has no function @main: that is what is planned");
    uint32_t body = ir_region_block(p, *entry, 0);
    const struct ir_op *o = &p->ops[*entry];
    if (body == IR_NONE || ir_block_terminator(p, body) == IR_NONE)
        return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)o->line, (int)o->column,
                            "@main needs a body of one block that ends in return");
    for (uint32_t i = 0; i < p->blocks[body].arg_count; i++) {
        const struct ir_type *t = ir_value_type(p, p->blocks[body].args + i);
        if (t->flags & (IR_TYPE_DYNAMIC | IR_TYPE_UNRANKED | IR_TYPE_QUANTIZED))
            return error_set_at(
                e, ERROR_UNSUPPORTED_MODULE, (int)o->line, (int)o->column,
                "argument %u has type %.100s: dynamic shapes and quantized types are not supported", i,
                ir_string(p, t->text));
    }
    return ERROR_OK;
}

static enum error_code run(struct rebuild *r, struct ir_program *out, struct error *e)
{
    uint32_t entry;
    TRY(find_entry(r->p, &entry, e));
    r->b = ir_builder_create();
    r->map = mem_zalloc((size_t)r->p->value_count + 1, sizeof *r->map);
    if (!r->live)
        r->stack[r->depth++] = entry;
    enum error_code code = rebuild_module(r, entry, e);
    if (code == ERROR_OK)
        ir_builder_finish(r->b, r->p->digest, out);
    else
        ir_builder_destroy(r->b);
    free(r->map);
    return code;
}

enum error_code ir_prepare(const struct ir_program *read, struct ir_program *out, struct error *e)
{
    struct ir_program inlined = {0};
    struct rebuild first = {.p = read};
    TRY(run(&first, &inlined, e));
    enum error_code code = ir_verify(&inlined, e);
    if (code == ERROR_OK) {
        struct rebuild second = {.p = &inlined};
        second.live = mem_zalloc((size_t)inlined.op_count + 1, 1);
        second.clone = mem_zalloc((size_t)inlined.op_count + 1, 1);
        mark_clones(&second, second.clone);
        second.same = ir_invariants_find(&inlined, second.clone);
        memset(second.clone, 0, inlined.op_count);
        mark_clones(&second, second.clone); /* also what loops made of constants that they carried */
        mark_live(&second, 0, second.live);
        code = run(&second, out, e);
        free(second.same);
        free(second.live);
        free(second.clone);
    }
    ir_program_release(&inlined);
    return code;
}
