/* Pretty forms with regions, printed: module, func.func, while, reduce, manual_computation. Each function
 * says first whether the op can be said so (false: it stands in generic form, nothing was printed), then
 * prints. */
#include "ir/printer.h"

#include <string.h>

/* the only block of region `r`, IR_NONE when there are more or none */
static uint32_t only_block(const struct printer *printer, const struct ir_op *op, uint32_t r)
{
    const struct ir_region *region = &printer->program->regions[op->regions + r];
    return region->block_count == 1 ? region->blocks : IR_NONE;
}

static uint32_t type_of(const struct printer *printer, uint32_t value)
{
    return printer->program->values[value].type;
}

static uint32_t operand_of(const struct printer *printer, const struct ir_op *op, uint32_t i)
{
    return printer->program->operands[op->operands + i];
}

/* an attribute of the op and its bit; NULL: it has none */
static const struct ir_attr *take(const struct printer *printer, const struct ir_op *op, const char *name,
                                  uint64_t *used)
{
    uint32_t i = printer_attr(printer, op, name);
    if (i == IR_NONE)
        return NULL;
    *used |= UINT64_C(1) << i;
    return &printer->program->attrs[op->attrs + i];
}

/* ` {`, the ops, `}` */
static void body(struct printer *printer, uint32_t block, unsigned depth)
{
    text_add(printer->out, " {\n");
    printer_ops(printer, block, depth + 1);
    printer_indent(printer, depth);
    text_add_char(printer->out, '}');
}

/* `%arg0: T` */
static void argument(struct printer *printer, uint32_t value)
{
    printer_value(printer, value);
    text_add(printer->out, ": ");
    printer_type(printer, value);
}

/* ---------------------------------------------------------------- module and functions */
static bool module(struct printer *printer, const struct ir_op *op, unsigned depth)
{
    uint64_t used = 0;
    uint32_t block = op->region_count == 1 ? only_block(printer, op, 0) : IR_NONE;
    if (block == IR_NONE || printer->program->blocks[block].arg_count)
        return false;
    const struct ir_attr *name = take(printer, op, "sym_name", &used);
    if (name && name->kind != IR_ATTR_STRING)
        return false;
    text_add(printer->out, "module");
    if (name) {
        text_add_char(printer->out, ' ');
        printer_symbol(printer, name->first);
    }
    printer_dictionary(printer, op, used, "attributes ");
    body(printer, block, depth);
    return true;
}

/* is `(arguments) -> results` the function's type? */
static bool is_type(const struct printer *printer, const struct ir_block *block, const struct ir_op *end,
                    uint32_t type)
{
    struct text text = {0};
    text_add_char(&text, '(');
    for (uint32_t i = 0; i < block->arg_count; i++) {
        text_add(&text, i ? ", " : "");
        ir_print_type(printer->program, type_of(printer, block->args + i), &text);
    }
    text_add(&text, end->operand_count == 1 ? ") -> " : ") -> (");
    for (uint32_t i = 0; i < end->operand_count; i++) {
        text_add(&text, i ? ", " : "");
        ir_print_type(printer->program, type_of(printer, operand_of(printer, end, i)), &text);
    }
    text_add(&text, end->operand_count == 1 ? "" : ")");
    bool same = strcmp(text.at, ir_string(printer->program, printer->program->types[type].text)) == 0;
    text_release(&text);
    return same;
}

/* ` {jax.result_info = ".."}`, the i-th dictionary; nothing when it is empty */
static void nth_dictionary(struct printer *printer, const struct ir_attr *list, uint32_t i)
{
    const struct ir_attr *attr = list ? &printer->program->attrs[list->first + i] : NULL;
    if (!attr || !attr->count)
        return;
    text_add_char(printer->out, ' ');
    ir_print_attr(printer->program, attr, printer->out);
}

static bool are_dictionaries(const struct printer *printer, const struct ir_attr *list, uint32_t count)
{
    bool ok = !list || (list->kind == IR_ATTR_ARRAY && list->count == count);
    for (uint32_t i = 0; ok && list && i < count; i++)
        ok = printer->program->attrs[list->first + i].kind == IR_ATTR_DICTIONARY;
    return ok;
}

struct function {
    const struct ir_attr *name, *type, *visibility, *arguments, *results;
    uint64_t used;
    const struct ir_block *block;
    const struct ir_op *end;
};

static bool open_function(const struct printer *printer, const struct ir_op *op, uint32_t block,
                          struct function *function)
{
    const struct ir_program *program = printer->program;
    function->name = take(printer, op, "sym_name", &function->used);
    function->type = take(printer, op, "function_type", &function->used);
    function->visibility = take(printer, op, "sym_visibility", &function->used);
    function->arguments = take(printer, op, "arg_attrs", &function->used);
    function->results = take(printer, op, "res_attrs", &function->used);
    uint32_t end = ir_block_terminator(program, block);
    if (end == IR_NONE || !function->name || function->name->kind != IR_ATTR_STRING || !function->type ||
        function->type->kind != IR_ATTR_TYPE ||
        (function->visibility && function->visibility->kind != IR_ATTR_STRING))
        return false;
    function->block = &program->blocks[block];
    function->end = &program->ops[end];
    return is_type(printer, function->block, function->end, function->type->type) &&
           are_dictionaries(printer, function->arguments, function->block->arg_count) &&
           are_dictionaries(printer, function->results, function->end->operand_count);
}

static void function_results(struct printer *printer, const struct function *function)
{
    uint32_t count = function->end->operand_count;
    bool bare = count == 1 && !(function->results && printer->program->attrs[function->results->first].count);
    if (!count)
        return;
    text_add(printer->out, bare ? " -> " : " -> (");
    for (uint32_t i = 0; i < count; i++) {
        text_add(printer->out, i ? ", " : "");
        printer_type(printer, operand_of(printer, function->end, i));
        nth_dictionary(printer, function->results, i);
    }
    text_add(printer->out, bare ? "" : ")");
}

static bool function(struct printer *printer, const struct ir_op *op, unsigned depth)
{
    struct function function = {0};
    uint32_t block = op->region_count == 1 ? only_block(printer, op, 0) : IR_NONE;
    if (block == IR_NONE || !open_function(printer, op, block, &function))
        return false;
    printer->next = printer->next_argument = 0;
    printer_number_arguments(printer, block);
    text_add(printer->out, "func.func ");
    if (function.visibility)
        text_printf(printer->out, "%s ", ir_string(printer->program, function.visibility->first));
    printer_symbol(printer, function.name->first);
    text_add_char(printer->out, '(');
    for (uint32_t i = 0; i < function.block->arg_count; i++) {
        text_add(printer->out, i ? ", " : "");
        argument(printer, function.block->args + i);
        nth_dictionary(printer, function.arguments, i);
        printer_value_location(printer, function.block->args + i);
    }
    text_add_char(printer->out, ')');
    function_results(printer, &function);
    printer_dictionary(printer, op, function.used, "attributes ");
    body(printer, block, depth);
    return true;
}

/* ---------------------------------------------------------------- while */
/* Both regions take what the loop carries, whose names stand once; their arguments have no locations. */
static bool carries(const struct printer *printer, const struct ir_op *op, uint32_t block)
{
    if (block == IR_NONE || printer->program->blocks[block].arg_count != op->operand_count)
        return false;
    for (uint32_t i = 0; i < op->operand_count; i++) {
        uint32_t value = printer->program->blocks[block].args + i,
                 type = type_of(printer, operand_of(printer, op, i));
        if (type_of(printer, value) != type || type_of(printer, op->results + i) != type ||
            ir_value_loc(printer->program, value))
            return false;
    }
    return true;
}

static bool while_loop(struct printer *printer, const struct ir_op *op, unsigned depth)
{
    const struct ir_program *program = printer->program;
    if (op->region_count != 2 || op->result_count != op->operand_count)
        return false;
    uint32_t test = only_block(printer, op, 0), block = only_block(printer, op, 1);
    if (!carries(printer, op, test) || !carries(printer, op, block))
        return false;
    printer_number_arguments(printer, test);
    text_add(printer->out, "stablehlo.while(");
    for (uint32_t i = 0; i < op->operand_count; i++) {
        uint32_t value = program->blocks[test].args + i;
        printer->numbers[program->blocks[block].args + i] = printer->numbers[value];
        text_add(printer->out, i ? ", " : "");
        printer_value(printer, value);
        text_add(printer->out, " = ");
        printer_value(printer, operand_of(printer, op, i));
    }
    text_add_char(printer->out, ')');
    for (uint32_t i = 0; i < op->operand_count; i++) {
        text_add(printer->out, i ? ", " : " : ");
        printer_type(printer, operand_of(printer, op, i));
    }
    printer_dictionary(printer, op, 0, "attributes ");
    text_add_char(printer->out, '\n');
    printer_indent(printer, depth);
    text_add(printer->out, "cond");
    body(printer, test, depth);
    text_add(printer->out, " do");
    body(printer, block, depth);
    return true;
}

/* ---------------------------------------------------------------- reduce */
/* May `applies OP` stand for the body? One op of both arguments and its return, all of the reduce's element
 * and location. */
static const struct ir_op *applied(const struct printer *printer, const struct ir_op *op, uint32_t block)
{
    const struct ir_program *program = printer->program;
    const struct ir_block *ir_block = &program->blocks[block];
    if (op->operand_count != 2 || ir_block->arg_count != 2 || ir_block->op_count != 2)
        return NULL;
    uint32_t inner = program->block_ops[ir_block->ops], end = program->block_ops[ir_block->ops + 1];
    const struct ir_op *of = &program->ops[inner], *last = &program->ops[end];
    if (of->operand_count != 2 || of->result_count != 1 || of->region_count || of->attr_count ||
        last->code != IR_RETURN || last->operand_count != 1 || operand_of(printer, last, 0) != of->results ||
        of->loc != op->loc || last->loc != op->loc)
        return NULL;
    const struct ir_type *type = ir_value_type(program, of->results);
    if (type->rank || type->kind != IR_TYPE_TENSOR ||
        type->element != ir_value_type(program, operand_of(printer, op, 0))->element)
        return NULL;
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t value = ir_block->args + i;
        if (operand_of(printer, of, i) != value || type_of(printer, value) != type_of(printer, of->results) ||
            ir_value_loc(program, value) != op->loc)
            return NULL;
    }
    return of;
}

/* `reducer(%a: T, %p: T) (%b: U, %q: U)`: elements beside accumulators */
static void reducer(struct printer *printer, const struct ir_op *op, uint32_t block, unsigned depth)
{
    uint32_t count = op->operand_count / 2, first = printer->program->blocks[block].args;
    printer_number_arguments(printer, block);
    text_add_char(printer->out, '\n');
    printer_indent(printer, depth);
    text_add(printer->out, " reducer");
    for (uint32_t i = 0; i < count; i++) {
        text_add(printer->out, i ? " (" : "(");
        for (uint32_t side = 0; side < 2; side++) {
            text_add(printer->out, side ? ", " : "");
            argument(printer, first + i + side * count);
            printer_value_location(printer, first + i + side * count);
        }
        text_add_char(printer->out, ')');
    }
    body(printer, block, depth);
}

static bool reduce(struct printer *printer, const struct ir_op *op, unsigned depth)
{
    const struct ir_program *program = printer->program;
    uint64_t used = 0;
    uint32_t block = op->region_count == 1 ? only_block(printer, op, 0) : IR_NONE,
             count = op->operand_count / 2;
    const struct ir_attr *dims = take(printer, op, "dimensions", &used);
    if (block == IR_NONE || !count || op->operand_count % 2 || !dims || dims->kind != IR_ATTR_INTS ||
        program->blocks[block].arg_count != op->operand_count)
        return false;
    const struct ir_op *inner = applied(printer, op, block);
    text_add(printer->out, "stablehlo.reduce");
    for (uint32_t i = 0; i < count; i++) {
        text_add(printer->out, i ? ", (" : "(");
        printer_value(printer, operand_of(printer, op, i));
        text_add(printer->out, " init: ");
        printer_value(printer, operand_of(printer, op, count + i));
        text_add_char(printer->out, ')');
    }
    if (inner)
        text_printf(printer->out, " applies %s", ir_string(program, inner->name));
    text_add(printer->out, " across dimensions = [");
    for (uint32_t i = 0; i < dims->count; i++)
        text_printf(printer->out, "%s%lld", i ? ", " : "", (long long)program->ints[dims->first + i]);
    text_add_char(printer->out, ']');
    printer_dictionary(printer, op, used, "");
    printer_signature(printer, op);
    if (!inner)
        reducer(printer, op, block, depth);
    return true;
}

/* ---------------------------------------------------------------- manual_computation */
/* what a text has behind `before`, but for its last character; NULL when it does not begin so */
static const char *behind(const struct printer *printer, const struct ir_attr *attr, const char *before,
                          int *size)
{
    if (!attr || attr->kind != IR_ATTR_TEXT)
        return NULL;
    const char *text = ir_string(printer->program, attr->first);
    size_t skip = strlen(before);
    *size = (int)(printer->program->strings[attr->first].size - skip) - 1;
    return strncmp(text, before, skip) == 0 && *size >= 0 ? text + skip : NULL;
}

static bool manual(struct printer *printer, const struct ir_op *op, unsigned depth)
{
    static const char *const names[] = {"in_shardings", "out_shardings", "manual_axes"};
    static const char *const before[] = {"#sdy.sharding_per_value<", "#sdy.sharding_per_value<",
                                         "#sdy<manual_axes"};
    const char *texts[3];
    int sizes[3];
    uint64_t used = 0;
    uint32_t block = op->region_count == 1 ? only_block(printer, op, 0) : IR_NONE;
    for (unsigned i = 0; i < 3; i++)
        if (!(texts[i] = behind(printer, take(printer, op, names[i], &used), before[i], &sizes[i])))
            return false;
    if (block == IR_NONE)
        return false;
    const struct ir_block *ir_block = &printer->program->blocks[block];
    text_add(printer->out, "sdy.manual_computation(");
    printer_operands(printer, op);
    text_add_char(printer->out, ')');
    for (unsigned i = 0; i < 3; i++)
        text_printf(printer->out, " %s=%.*s", names[i], sizes[i], texts[i]);
    printer_number_arguments(printer, block);
    text_add(printer->out, " (");
    for (uint32_t i = 0; i < ir_block->arg_count; i++) {
        text_add(printer->out, i ? ", " : "");
        argument(printer, ir_block->args + i);
        printer_value_location(printer, ir_block->args + i);
    }
    text_add_char(printer->out, ')');
    body(printer, block, depth);
    printer_dictionary(printer, op, used, "");
    printer_signature(printer, op);
    return true;
}

bool printer_special(struct printer *printer, uint32_t op, unsigned depth)
{
    static const struct {
        const char *name;
        bool (*print)(struct printer *, const struct ir_op *, unsigned);
    } table[] = {{"builtin.module", module},
                 {"func.func", function},
                 {"stablehlo.while", while_loop},
                 {"stablehlo.reduce", reduce},
                 {"sdy.manual_computation", manual}};
    const struct ir_op *ir_op = &printer->program->ops[op];
    if (!ir_op->region_count || ir_op->attr_count > PRINTER_ATTRS)
        return false;
    const char *name = ir_string(printer->program, ir_op->name);
    for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(name, table[i].name) == 0)
            return table[i].print(printer, ir_op, depth);
    return false;
}
