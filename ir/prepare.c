/* From the module as read to the program that is planned, in two rebuilds:
 *
 *     as read --1. inline.c--> one function --2. clone.c--> live ops, clones
 *        |                        |    |
 *     find_entry            ir_verify  invariants.h, casts.h
 *
 *   1. inline: @main alone, with every call and composite replaced by the callee's body, and batch norms,
 *      einsums and the like by the ops that they are made of (expand.h);
 *   2. clone: only live ops, loops without what they carry unchanged, one cast of an argument to a type, and
 *      for each use its own copy of every broadcast and constant-derived value.
 *
 * This file has what both share: copying an op with its regions, the module around the function, and the
 * order. A failed preparation leaves no program behind. */
#include "ir/prepare.h"

#include "ir/casts.h"
#include "ir/invariants.h"
#include "ir/rebuild.h"

#include <stdlib.h>
#include <string.h>

/* Functions that call functions twice double at every level, so that 40 short functions could make 2^40
 * ops. A program may have GROWTH times the ops of its text, and GROWTH_FREE beside that, so that small
 * texts may grow by more. */
enum { GROWTH = 8, GROWTH_FREE = 1 << 20 };

/* of the functions that an error lists */
enum { MAX_NAMED = 8 };

/* ------------------------------------------------------------------ copying one op */
bool ir_rebuild_drops(const struct ir_rebuild *rebuild, uint32_t op, uint32_t i)
{
    return rebuild->same && ir_invariants_drop(rebuild->program, rebuild->same, op, i);
}

/* the block's arguments that stay, and their places in the map */
static void rebuild_arguments(struct ir_rebuild *rebuild, uint32_t op, const struct ir_block *block)
{
    const struct ir_program *program = rebuild->program;
    ir_id_list types = {0}, kept = {0};
    for (uint32_t arg = 0; arg < block->arg_count; arg++)
        if (program->ops[op].code != IR_WHILE || !ir_rebuild_drops(rebuild, op, arg)) {
            VEC_PUSH(&kept, block->args + arg);
            VEC_PUSH(&types,
                     ir_build_copy_type(rebuild->builder, program, program->values[block->args + arg].type));
        }
    uint32_t first = ir_build_block(rebuild->builder, types.at, (uint32_t)types.count);
    for (uint32_t a = 0; a < kept.count; a++) {
        ir_build_copy_value_location(rebuild->builder, first + a, program, kept.at[a]);
        rebuild->map[kept.at[a]] = first + a;
    }
    VEC_FREE(&types);
    VEC_FREE(&kept);
}

/* the rebuild that is under way decides what becomes of a block */
static enum error_code rebuild_block(struct ir_rebuild *rebuild, uint32_t block, struct error *e)
{
    return rebuild->live ? ir_clone_block(rebuild, block, e) : ir_inline_block(rebuild, block, true, e);
}

static enum error_code rebuild_regions(struct ir_rebuild *rebuild, uint32_t op, struct error *e)
{
    const struct ir_program *program = rebuild->program;
    for (uint32_t g = 0; g < program->ops[op].region_count; g++) {
        const struct ir_region *region = &program->regions[program->ops[op].regions + g];
        ir_build_region(rebuild->builder);
        if (region->block_count > 1)
            return error_set_at(
                e, ERROR_UNSUPPORTED_MODULE, (int)program->ops[op].line, (int)program->ops[op].column,
                "%s has a region of several blocks; only structured control flow can be planned",
                ir_op_name(program, op));
        if (region->block_count == 1) {
            rebuild_arguments(rebuild, op, &program->blocks[region->blocks]);
            TRY(rebuild_block(rebuild, region->blocks, e));
            ir_build_end_block(rebuild->builder);
        }
        ir_build_end_region(rebuild->builder);
    }
    return ERROR_OK;
}

struct ir_position ir_rebuild_position(struct ir_rebuild *rebuild, uint32_t op)
{
    struct ir_position position = ir_build_position(rebuild->builder, rebuild->program, op);
    if (rebuild->depth)
        position.loc =
            ir_build_inlined_location(rebuild->builder, position.loc, rebuild->calls[rebuild->depth - 1]);
    return position;
}

/* the entry's name becomes main, whatever it was */
static struct ir_attr copy_attr(struct ir_rebuild *rebuild, uint32_t op, const struct ir_attr *attr)
{
    const struct ir_program *program = rebuild->program;
    const char *name = attr->name == IR_NONE ? "" : ir_string(program, attr->name);
    if (op == rebuild->entry && strcmp(name, "sym_name") == 0)
        return ir_build_named(rebuild->builder, name, ir_build_str(rebuild->builder, "main"));
    if (op == rebuild->entry && strcmp(name, "sym_visibility") == 0)
        return ir_build_named(rebuild->builder, name, ir_build_str(rebuild->builder, "public"));
    return ir_build_copy_attr(rebuild->builder, program, attr);
}

enum error_code ir_rebuild_copy_op(struct ir_rebuild *rebuild, uint32_t op, const uint32_t *operands,
                                   struct error *e)
{
    const struct ir_program *program = rebuild->program;
    const struct ir_op *ir_op = &program->ops[op];
    ir_id_list types = {0}, kept = {0}, results = {0};
    ir_attr_list attrs = {0};
    if (++rebuild->made > GROWTH_FREE + (uint64_t)program->op_count * GROWTH)
        return error_set_at(e, ERROR_MODULE_TOO_LARGE, (int)ir_op->line, (int)ir_op->column,
                            "calls of calls make more than %llu ops of this module's %u",
                            (unsigned long long)rebuild->made - 1, program->op_count);
    for (uint32_t i = 0; i < ir_op->operand_count; i++)
        if (!ir_rebuild_drops(rebuild, op, i))
            VEC_PUSH(&kept, operands[i]);
    for (uint32_t i = 0; i < ir_op->result_count; i++)
        if (!ir_rebuild_drops(rebuild, op, i)) {
            VEC_PUSH(&results, ir_op->results + i);
            VEC_PUSH(&types,
                     ir_build_copy_type(rebuild->builder, program, program->values[ir_op->results + i].type));
        }
    for (uint32_t i = 0; i < ir_op->attr_count; i++)
        VEC_PUSH(&attrs, copy_attr(rebuild, op, &program->attrs[ir_op->attrs + i]));
    struct ir_op_spec spec = {.name = ir_op_name(program, op),
                              .operands = kept.at,
                              .operand_count = (uint32_t)kept.count,
                              .result_types = types.at,
                              .result_count = (uint32_t)types.count,
                              .attrs = attrs.at,
                              .attr_count = ir_op->attr_count,
                              .position = ir_rebuild_position(rebuild, op)};
    uint32_t made;
    enum error_code code = ERROR_OK;
    if (ir_op->region_count == 0) {
        made = ir_build_op(rebuild->builder, &spec);
    } else {
        made = ir_build_begin(rebuild->builder, &spec);
        code = rebuild_regions(rebuild, op, e);
        if (code == ERROR_OK)
            ir_build_end(rebuild->builder);
    }
    for (uint32_t i = 0; code == ERROR_OK && i < results.count; i++)
        rebuild->map[results.at[i]] = ir_builder_result(rebuild->builder, made, i);
    VEC_FREE(&types);
    VEC_FREE(&kept);
    VEC_FREE(&results);
    VEC_FREE(&attrs);
    return code;
}

/* ------------------------------------------------------------------ modules */
/* Copies the module op, its top-level ops that are not functions, and the entry function. */
static enum error_code rebuild_module(struct ir_rebuild *rebuild, uint32_t entry, struct error *e)
{
    const struct ir_program *program = rebuild->program;
    ir_attr_list attrs = {0};
    for (uint32_t i = 0; i < program->ops[0].attr_count; i++)
        VEC_PUSH(&attrs,
                 ir_build_copy_attr(rebuild->builder, program, &program->attrs[program->ops[0].attrs + i]));
    struct ir_op_spec spec = {.name = ir_op_name(program, 0),
                              .attrs = attrs.at,
                              .attr_count = (uint32_t)attrs.count,
                              .position = ir_build_position(rebuild->builder, program, 0)};
    ir_build_begin(rebuild->builder, &spec);
    VEC_FREE(&attrs);
    ir_build_region(rebuild->builder);
    ir_build_block(rebuild->builder, NULL, 0);
    uint32_t block = ir_region_block(program, 0, 0);
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; code == ERROR_OK && i < program->blocks[block].op_count; i++) {
        uint32_t op = program->block_ops[program->blocks[block].ops + i];
        if (program->ops[op].operand_count || program->ops[op].result_count)
            code = error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)program->ops[op].line,
                                (int)program->ops[op].column, "%s stands outside of any function",
                                ir_op_name(program, op));
        else if (op == entry || program->ops[op].code != IR_FUNC)
            code = ir_rebuild_copy_op(rebuild, op, NULL, e);
    }
    if (code != ERROR_OK)
        return code;
    ir_build_end_block(rebuild->builder);
    ir_build_end_region(rebuild->builder);
    ir_build_end(rebuild->builder);
    return ERROR_OK;
}

static const char *function_name(const struct ir_program *program, uint32_t func)
{
    const struct ir_attr *name = ir_attr_find(program, func, "sym_name");
    return name && name->kind == IR_ATTR_STRING ? ir_string(program, name->first) : "";
}

/* the functions that a module without @main offers: public ones with a body; their names in `names` */
static uint32_t offered(const struct ir_program *program, uint32_t *first, struct text *names)
{
    const struct ir_block *block = &program->blocks[ir_region_block(program, 0, 0)];
    uint32_t count = 0;
    for (uint32_t i = 0; i < block->op_count; i++) {
        uint32_t op = program->block_ops[block->ops + i];
        const struct ir_attr *visibility = ir_attr_find(program, op, "sym_visibility");
        if (program->ops[op].code != IR_FUNC || ir_region_block(program, op, 0) == IR_NONE ||
            (visibility && visibility->kind == IR_ATTR_STRING &&
             strcmp(ir_string(program, visibility->first), "public") != 0))
            continue;
        if (count++ == 0)
            *first = op;
        if (count <= MAX_NAMED)
            text_printf(names, "%s@%.60s", count == 1 ? "" : ", ", function_name(program, op));
    }
    return count;
}

static enum error_code choose_entry(const struct ir_program *program, const char *wanted, uint32_t *entry,
                                    struct error *e)
{
    bool empty = program->op_count == 0 || ir_region_block(program, 0, 0) == IR_NONE;
    *entry = empty ? IR_NONE : ir_function(program, wanted ? wanted : "main");
    if (*entry != IR_NONE)
        return ERROR_OK;
    struct text names = {0};
    text_add(&names, "");
    uint32_t count = empty ? 0 : offered(program, entry, &names);
    enum error_code code = ERROR_OK;
    if (wanted)
        code = error_set(e, ERROR_UNSUPPORTED_MODULE, "the module has no function @%.100s; it has %s", wanted,
                         count ? names.at : "none that is public and has a body");
    else if (count != 1)
        code = error_set_at(e, ERROR_UNSUPPORTED_MODULE, 1, 1,
                            "the module has no function @main, which is what is planned, and %s%s%s",
                            count ? "of the others none stands out: name one as the entry ("
                                  : "no other public "
                                    "function with "
                                    "a body",
                            names.at, count ? ")" : "");
    text_release(&names);
    return code;
}

/* why an argument of this type cannot be planned; NULL: it can */
static const char *refusal(const struct ir_type *type)
{
    if (type->flags & (IR_TYPE_DYNAMIC | IR_TYPE_UNRANKED | IR_TYPE_QUANTIZED))
        return "dynamic shapes and quantized types are not supported";
    if (type->kind == IR_TYPE_OTHER || type->kind == IR_TYPE_FUNCTION)
        return "an argument is a tensor";
    if (type->kind == IR_TYPE_TENSOR && type->element == IR_ELEMENT_OTHER)
        return "StableHLO has no such elements";
    return NULL;
}

static enum error_code find_entry(const struct ir_program *program, const char *wanted, uint32_t *entry,
                                  struct error *e)
{
    TRY(choose_entry(program, wanted, entry, e));
    uint32_t body = ir_region_block(program, *entry, 0);
    const struct ir_op *op = &program->ops[*entry];
    if (body == IR_NONE || ir_block_terminator(program, body) == IR_NONE)
        return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)op->line, (int)op->column,
                            "@%.100s needs a body of one block that ends in return",
                            function_name(program, *entry));
    for (uint32_t i = 0; i < program->blocks[body].arg_count; i++) {
        const struct ir_type *type = ir_value_type(program, program->blocks[body].args + i);
        const char *why = refusal(type);
        if (why)
            return error_set_at(e, ERROR_UNSUPPORTED_MODULE, (int)op->line, (int)op->column,
                                "argument %u has type %.100s: %s", i, ir_string(program, type->text), why);
    }
    return ERROR_OK;
}

static enum error_code run(struct ir_rebuild *rebuild, const char *wanted, struct ir_program *out,
                           struct error *e)
{
    uint32_t entry = IR_NONE;
    TRY(find_entry(rebuild->program, wanted, &entry, e));
    rebuild->entry = entry;
    rebuild->builder = ir_builder_create();
    rebuild->map = mem_zalloc((size_t)rebuild->program->value_count + 1, sizeof *rebuild->map);
    if (!rebuild->live)
        rebuild->stack[rebuild->depth++] = entry;
    enum error_code code = rebuild_module(rebuild, entry, e);
    if (code == ERROR_OK)
        ir_builder_finish(rebuild->builder, rebuild->program->digest, out);
    else
        ir_builder_destroy(rebuild->builder);
    free(rebuild->map);
    return code;
}

enum error_code ir_prepare(const struct ir_program *read, struct ir_program *out, struct error *e)
{
    return ir_prepare_entry(read, NULL, out, e);
}

enum error_code ir_prepare_entry(const struct ir_program *read, const char *entry, struct ir_program *out,
                                 struct error *e)
{
    struct ir_program inlined = {0};
    struct ir_rebuild first = {.program = read};
    TRY(run(&first, entry, &inlined, e));
    enum error_code code = ir_verify(&inlined, e);
    if (code == ERROR_OK) {
        struct ir_rebuild second = {.program = &inlined};
        second.live = mem_zalloc((size_t)inlined.op_count + 1, 1);
        second.clone = mem_zalloc((size_t)inlined.op_count + 1, 1);
        ir_clone_mark_clones(&second, second.clone);
        second.same = ir_invariants_find(&inlined, second.clone);
        ir_casts_share(&inlined, second.same);
        memset(second.clone, 0, inlined.op_count);
        ir_clone_mark_clones(
            &second, second.clone); /* once more: with `same` known, more values come from constants only */
        ir_clone_mark_live(&second, 0, second.live);
        code = run(&second, NULL, out, e);
        free(second.same);
        free(second.live);
        free(second.clone);
    }
    ir_program_release(&inlined);
    return code;
}
