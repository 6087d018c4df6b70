/* Pieces: which ops and values belong to one, and their copy; see piece.h. */
#include "segments/piece.h"

#include "base/memory.h"
#include "ir/build.h"

#include <stdlib.h>
#include <string.h>

typedef VEC(uint32_t) id_list;

struct cut {
    const struct nda *n;
    const struct ir_program *program;
    uint8_t *included; /* per op: of @main's own block, with what stands in its regions */
    uint8_t *seen;     /* per value: an argument already */
    uint8_t *used;     /* per value: by an op that is not included */
    uint8_t *constant; /* per op, of segments_is_constant */
    uint32_t *map;     /* program's value -> builder's; IR_NONE */
    id_list arguments, results, op_from;
    struct ir_builder *builder;
};

/* ---- what belongs to it ---- */

/* the op of @main's own block that makes the value, perhaps in a region; IR_NONE: an argument of @main */
static uint32_t main_op_of(const struct cut *cut, uint32_t value)
{
    uint32_t block = cut->program->values[value].block, op = cut->program->values[value].op;
    while (block != cut->n->block) {
        op = cut->program->regions[cut->program->blocks[block].region].op;
        block = cut->program->ops[op].block;
    }
    return op;
}

bool segments_is_constant(const struct nda *n, uint8_t *known, uint32_t op)
{
    const struct ir_op *it = &n->program->ops[op];
    if (known[op])
        return known[op] == 1;
    bool constant = it->block == n->block && !it->region_count && it->result_count == 1 &&
                    ir_opcode_family(it->code) != IR_FAMILY_RNG &&
                    ir_opcode_family(it->code) != IR_FAMILY_CUSTOM_CALL;
    for (uint32_t i = 0; constant && i < it->operand_count; i++) {
        uint32_t from = n->program->values[ir_operand(n->program, op, i)].op;
        constant = from != IR_NONE && segments_is_constant(n, known, from);
    }
    known[op] = constant ? 1 : 2;
    return constant;
}

static bool is_constant(const struct cut *cut, uint32_t op)
{
    return segments_is_constant(cut->n, cut->constant, op);
}

static void include_constant(struct cut *cut, uint32_t op)
{
    if (cut->included[op])
        return;
    cut->included[op] = 1;
    for (uint32_t i = 0; i < cut->program->ops[op].operand_count; i++)
        include_constant(cut, cut->program->values[ir_operand(cut->program, op, i)].op);
}

static void visit_operands(struct cut *cut, uint32_t op, void (*visit)(struct cut *cut, uint32_t value))
{
    const struct ir_program *program = cut->program;
    for (uint32_t i = 0; i < program->ops[op].operand_count; i++)
        visit(cut, ir_operand(program, op, i));
    for (uint32_t region = 0; region < program->ops[op].region_count; region++) {
        uint32_t block = ir_region_block(program, op, region);
        for (uint32_t i = 0; block != IR_NONE && i < program->blocks[block].op_count; i++)
            visit_operands(cut, program->block_ops[program->blocks[block].ops + i], visit);
    }
}

static void need(struct cut *cut, uint32_t value)
{
    uint32_t op = main_op_of(cut, value);
    if (op != IR_NONE && cut->included[op])
        return;
    if (op != IR_NONE && is_constant(cut, op)) {
        include_constant(cut, op);
    } else if (!cut->seen[value]) {
        cut->seen[value] = 1;
        VEC_PUSH(&cut->arguments, value);
    }
}

static void use(struct cut *cut, uint32_t value)
{
    cut->used[value] = 1;
}

static void find_boundary(struct cut *cut, const uint8_t *members)
{
    const struct ir_block *block = &cut->program->blocks[cut->n->block];
    const uint32_t *ops = cut->program->block_ops + block->ops;
    for (uint32_t i = 0; i < block->op_count; i++)
        cut->included[ops[i]] = members[ops[i]];
    for (uint32_t i = 0; i < block->op_count; i++)
        if (members[ops[i]])
            visit_operands(cut, ops[i], need);
    for (uint32_t i = 0; i < block->op_count; i++)
        if (!cut->included[ops[i]])
            visit_operands(cut, ops[i], use);
    for (uint32_t i = 0; i < block->op_count; i++)
        for (uint32_t k = 0; members[ops[i]] && k < cut->program->ops[ops[i]].result_count; k++)
            if (cut->used[ir_result(cut->program, ops[i], k)] && !is_constant(cut, ops[i]))
                VEC_PUSH(&cut->results, ir_result(cut->program, ops[i], k));
}

/* ---- the copy ---- */

static uint32_t begin_op(struct cut *cut, const struct ir_op_spec *spec, uint32_t from)
{
    uint32_t op = ir_build_begin(cut->builder, spec);
    while (cut->op_from.count <= op)
        VEC_PUSH(&cut->op_from, IR_NONE);
    cut->op_from.at[op] = from;
    return op;
}

static void copy_op(struct cut *cut, uint32_t op);

static void copy_region(struct cut *cut, uint32_t op, uint32_t region)
{
    const struct ir_program *program = cut->program;
    uint32_t block = ir_region_block(program, op, region);
    ir_build_region(cut->builder);
    if (block != IR_NONE) {
        const struct ir_block *it = &program->blocks[block];
        uint32_t *types = mem_alloc(((size_t)it->arg_count + 1) * sizeof *types);
        for (uint32_t i = 0; i < it->arg_count; i++)
            types[i] = ir_build_copy_type(cut->builder, program, program->values[it->args + i].type);
        uint32_t first = ir_build_block(cut->builder, types, it->arg_count);
        free(types);
        for (uint32_t i = 0; i < it->arg_count; i++)
            cut->map[it->args + i] = first + i;
        for (uint32_t i = 0; i < it->op_count; i++)
            copy_op(cut, program->block_ops[it->ops + i]);
        ir_build_end_block(cut->builder);
    }
    ir_build_end_region(cut->builder);
}

static void copy_op(struct cut *cut, uint32_t op)
{
    const struct ir_program *program = cut->program;
    const struct ir_op *it = &program->ops[op];
    uint32_t *values = mem_alloc(((size_t)it->operand_count + it->result_count + 1) * sizeof *values);
    uint32_t *types = values + it->operand_count;
    struct ir_attr *attrs = mem_alloc(((size_t)it->attr_count + 1) * sizeof *attrs);
    for (uint32_t i = 0; i < it->operand_count; i++)
        values[i] = cut->map[ir_operand(program, op, i)];
    for (uint32_t i = 0; i < it->result_count; i++)
        types[i] = ir_build_copy_type(cut->builder, program, program->values[it->results + i].type);
    for (uint32_t i = 0; i < it->attr_count; i++)
        attrs[i] = ir_build_copy_attr(cut->builder, program, &program->attrs[it->attrs + i]);
    struct ir_op_spec spec = {.name = ir_op_name(program, op),
                              .operands = values,
                              .operand_count = it->operand_count,
                              .result_types = types,
                              .result_count = it->result_count,
                              .attrs = attrs,
                              .attr_count = it->attr_count};
    uint32_t built = begin_op(cut, &spec, op);
    for (uint32_t region = 0; region < it->region_count; region++)
        copy_region(cut, op, region);
    ir_build_end(cut->builder);
    for (uint32_t i = 0; i < it->result_count; i++)
        cut->map[it->results + i] = ir_builder_result(cut->builder, built, i);
    free(values);
    free(attrs);
}

static void add_types(const struct cut *cut, const id_list *values, struct text *out)
{
    for (size_t i = 0; i < values->count; i++)
        text_printf(out, "%s%s", i ? ", " : "",
                    ir_string(cut->program, ir_value_type(cut->program, values->at[i])->text));
}

static uint32_t function_type(struct cut *cut)
{
    struct text text = {0};
    bool one = cut->results.count == 1; /* stands without parentheses */
    text_add(&text, "(");
    add_types(cut, &cut->arguments, &text);
    text_add(&text, one ? ") -> " : ") -> (");
    add_types(cut, &cut->results, &text);
    text_add(&text, one ? "" : ")");
    uint32_t type = ir_build_type(cut->builder, text.at, text.size);
    text_release(&text);
    return type;
}

static void begin_main(struct cut *cut)
{
    struct ir_attr name = ir_build_named(cut->builder, "sym_name", ir_build_str(cut->builder, "segment"));
    struct ir_op_spec module = {.name = "builtin.module", .attrs = &name, .attr_count = 1};
    begin_op(cut, &module, IR_NONE);
    ir_build_region(cut->builder);
    ir_build_block(cut->builder, NULL, 0);
    struct ir_attr attrs[3] = {
        ir_build_named(cut->builder, "sym_name", ir_build_str(cut->builder, "main")),
        ir_build_named(cut->builder, "function_type", ir_build_type_attr(cut->builder, function_type(cut))),
        ir_build_named(cut->builder, "sym_visibility", ir_build_str(cut->builder, "public"))};
    struct ir_op_spec function = {.name = "func.func", .attrs = attrs, .attr_count = 3};
    begin_op(cut, &function, IR_NONE);
    ir_build_region(cut->builder);
    uint32_t *types = mem_alloc((cut->arguments.count + 1) * sizeof *types);
    for (size_t i = 0; i < cut->arguments.count; i++)
        types[i] =
            ir_build_copy_type(cut->builder, cut->program, cut->program->values[cut->arguments.at[i]].type);
    uint32_t first = ir_build_block(cut->builder, types, (uint32_t)cut->arguments.count);
    for (uint32_t i = 0; i < cut->arguments.count; i++)
        cut->map[cut->arguments.at[i]] = first + i;
    free(types);
}

static void end_main(struct cut *cut)
{
    uint32_t *values = mem_alloc((cut->results.count + 1) * sizeof *values);
    for (size_t i = 0; i < cut->results.count; i++)
        values[i] = cut->map[cut->results.at[i]];
    struct ir_op_spec spec = {.name =
                                  ir_op_name(cut->program, ir_block_terminator(cut->program, cut->n->block)),
                              .operands = values,
                              .operand_count = (uint32_t)cut->results.count};
    begin_op(cut, &spec, IR_NONE);
    ir_build_end(cut->builder);
    free(values);
    for (int i = 0; i < 2; i++) { /* the function, the module */
        ir_build_end_block(cut->builder);
        ir_build_end_region(cut->builder);
        ir_build_end(cut->builder);
    }
}

static enum error_code build(struct cut *cut, struct segments_piece *out, struct error *e)
{
    const struct ir_block *block = &cut->program->blocks[cut->n->block];
    cut->builder = ir_builder_create();
    begin_main(cut);
    for (uint32_t i = 0; i < block->op_count; i++)
        if (cut->included[cut->program->block_ops[block->ops + i]])
            copy_op(cut, cut->program->block_ops[block->ops + i]);
    end_main(cut);
    ir_builder_finish(cut->builder, NULL, &out->program);
    out->op_from = cut->op_from.at;
    out->arguments = cut->arguments.at;
    out->argument_count = (uint32_t)cut->arguments.count;
    out->results = cut->results.at;
    out->result_count = (uint32_t)cut->results.count;
    return nda_create(&out->program, NULL, &out->nda, e);
}

static void start(struct cut *cut, const struct nda *n)
{
    *cut = (struct cut){.n = n, .program = n->program};
    cut->included = mem_zalloc((size_t)n->program->op_count + 1, 1);
    cut->seen = mem_zalloc((size_t)n->program->value_count + 1, 1);
    cut->used = mem_zalloc((size_t)n->program->value_count + 1, 1);
    cut->constant = mem_zalloc((size_t)n->program->op_count + 1, 1);
    cut->map = mem_alloc(((size_t)n->program->value_count + 1) * sizeof *cut->map);
    memset(cut->map, 0xff, ((size_t)n->program->value_count + 1) * sizeof *cut->map);
}

static enum error_code end(struct cut *cut, struct segments_piece *out, struct error *e)
{
    enum error_code code = build(cut, out, e);
    if (code != ERROR_OK)
        segments_piece_release(out);
    free(cut->included);
    free(cut->seen);
    free(cut->used);
    free(cut->constant);
    free(cut->map);
    return code;
}

enum error_code segments_piece_create(const struct nda *n, const uint8_t *members, struct segments_piece *out,
                                      struct error *e)
{
    struct cut cut;
    *out = (struct segments_piece){0};
    start(&cut, n);
    find_boundary(&cut, members);
    return end(&cut, out, e);
}

enum error_code segments_piece_values(const struct nda *n, const uint32_t *values, uint32_t count,
                                      struct segments_piece *out, struct error *e)
{
    struct cut cut;
    *out = (struct segments_piece){0};
    start(&cut, n);
    for (uint32_t i = 0; i < count; i++) {
        VEC_PUSH(&cut.arguments, values[i]);
        VEC_PUSH(&cut.results, values[i]);
    }
    return end(&cut, out, e);
}

void segments_piece_release(struct segments_piece *piece)
{
    nda_destroy(piece->nda);
    ir_program_release(&piece->program);
    free(piece->op_from);
    free(piece->arguments);
    free(piece->results);
    *piece = (struct segments_piece){0};
}
