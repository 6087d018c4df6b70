/* Parses the rewritten text with MLIR, with nothing but the builtin dialect registered, and walks the
 * result into the builder. The only user of the MLIR C API besides attribute.c.
 *
 * Ops and block arguments are met in the order in which the rewriter wrote them, so the k-th op of the walk
 * is the k-th of scan.ops: positions and locations never pass through MLIR. When MLIR complains, its line
 * and column in the rewritten text are mapped back to the user's text. */
#include "ir/reader/attribute.h"
#include "ir/reader/rewrite.h"

#include <mlir-c/Diagnostics.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---------------------------------------------------------------- ops */
static void position(struct walk *walk, uint32_t at, struct ir_position *position)
{
    const char *text = walk->scan->text;
    if (at < walk->line_at) {
        walk->line_at = walk->line_start = 0;
        walk->line = 1;
    }
    const char *newline;
    while ((newline = memchr(text + walk->line_at, '\n', at - walk->line_at))) {
        walk->line++;
        walk->line_start = walk->line_at = (uint32_t)(newline - text) + 1;
    }
    walk->line_at = at;
    position->line = (uint32_t)walk->line;
    position->column = at - walk->line_start + 1;
}

/* The text of a location, remembered with its alias when it is one: thousands of ops share a location. */
static const char *location_text(struct walk *walk, uint32_t loc, bool name_first, struct text *out)
{
    struct scan *scan = walk->scan;
    scan->at = loc + 3;
    scan_expect(scan, "(");
    struct alias *alias = NULL;
    if (scan_peek(scan) == '#') {
        struct span name = {scan->at++, 0};
        name.end = scan_word(scan).end;
        alias = scan_alias(scan, name);
    }
    uint32_t *cached = !alias ? NULL : name_first ? &alias->arg_string : &alias->op_string;
    if (cached && *cached == UINT32_MAX)
        return NULL;
    if (cached && *cached) {
        struct ir_program view = ir_builder_view(walk->builder);
        out->size = 0;
        text_add_n(out, ir_string(&view, *cached - 1), view.strings[*cached - 1].size);
        return out->at;
    }
    bool found = location_resolve(scan, loc, name_first, out) && out->size;
    if (cached)
        *cached = found ? ir_build_string(walk->builder, out->at, out->size) + 1 : UINT32_MAX;
    return found ? out->at : NULL;
}

static void block_args(struct walk *walk, MlirBlock block)
{
    intptr_t n = mlirBlockGetNumArguments(block);
    uint32_t *types = mem_zalloc((size_t)n, sizeof *types);
    for (intptr_t i = 0; i < n; i++)
        types[i] = walk_type(walk, mlirValueGetType(mlirBlockGetArgument(block, i)));
    uint32_t first = ir_build_block(walk->builder, types, (uint32_t)n);
    for (intptr_t i = 0; i < n; i++, walk->arg++) {
        map_put(&walk->values, mlirBlockGetArgument(block, i).ptr, first + (uint32_t)i);
        if (walk->arg_place < walk->scan->args.count &&
            walk->scan->args.at[walk->arg_place].arg == walk->arg) {
            uint32_t loc = walk->scan->args.at[walk->arg_place++].loc;
            const char *text = location_text(walk, loc, true, &walk->scratch);
            uint32_t whole = location_whole(walk->scan, walk->builder, loc);
            if (text || whole)
                ir_build_value_location(walk->builder, first + (uint32_t)i, text ? text : "",
                                        text ? strlen(text) : 0, whole);
        }
    }
    free(types);
}

static void walk_op(struct walk *walk, MlirOperation op);

static void walk_regions(struct walk *walk, MlirOperation op, intptr_t count)
{
    for (intptr_t r = 0; r < count; r++) {
        ir_build_region(walk->builder);
        for (MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
             !mlirBlockIsNull(block); block = mlirBlockGetNextInRegion(block)) {
            block_args(walk, block);
            for (MlirOperation inner = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(inner);
                 inner = mlirOperationGetNextInBlock(inner))
                walk_op(walk, inner);
            ir_build_end_block(walk->builder);
        }
        ir_build_end_region(walk->builder);
    }
    ir_build_end(walk->builder);
}

/* Operands, result types and attributes of one op. One struct serves all ops in turn: none of it is needed
 * any more when the op's regions are walked. */
struct op_lists {
    VEC(uint32_t) operands;
    VEC(uint32_t) types;
    VEC(struct ir_attr) attrs;
};

static void fill_operands(struct walk *walk, MlirOperation op, struct op_lists *op_lists, uint32_t at)
{
    intptr_t n = mlirOperationGetNumOperands(op);
    for (intptr_t i = 0; i < n; i++) {
        struct map_slot *slot = map_find(&walk->values, mlirOperationGetOperand(op, i).ptr);
        if (!slot->key)
            scan_fail(walk->scan, ERROR_INVALID_MODULE, at,
                      "operand %d of this op is used before it is defined", (int)i);
        VEC_PUSH(&op_lists->operands, slot->value - 1);
    }
}

static void fill_attrs(struct walk *walk, MlirOperation op, struct op_lists *op_lists, bool root)
{
    MlirStringRef op_name = mlirIdentifierStr(mlirOperationGetName(op));
    intptr_t n = mlirOperationGetNumAttributes(op);
    for (intptr_t i = 0; i < n; i++) {
        MlirNamedAttribute named = mlirOperationGetAttribute(op, i);
        MlirStringRef name = mlirIdentifierStr(named.name);
        struct ir_attr attr = walk_attr(walk, op_name, name, named.attribute);
        attr.name = ir_build_string(walk->builder, name.data, name.length);
        VEC_PUSH(&op_lists->attrs, attr);
    }
    if (root && walk->scan->resources.end) {
        struct span span = walk->scan->resources;
        struct ir_attr attr =
            walk_string(walk, IR_ATTR_TEXT, (MlirStringRef){walk->scan->text + span.at, span.end - span.at});
        VEC_PUSH(&op_lists->attrs, ir_build_named(walk->builder, IR_RESOURCES, attr));
    }
    if (root && walk->scan->pretty > walk->scan->quoted) {
        struct ir_attr attr = ir_build_unit(walk->builder);
        VEC_PUSH(&op_lists->attrs, ir_build_named(walk->builder, IR_PRETTY, attr));
    }
}

static void walk_op(struct walk *walk, MlirOperation op)
{
    struct op_lists op_lists = {0};
    struct text location = {0};
    struct ir_op_spec spec = {0};
    uint32_t at = 0;
    bool root = mlirOperationIsNull(mlirOperationGetParentOperation(op)), made = root && walk->scan->wrapped;
    if (!made) {
        BASE_CHECK(walk->op < walk->scan->ops.count);
        struct op_place place = walk->scan->ops.at[walk->op++];
        at = place.at;
        position(walk, at, &spec.position);
        if (place.loc) {
            spec.position.location = location_text(walk, place.loc, false, &location);
            spec.position.loc = location_whole(walk->scan, walk->builder, place.loc);
        }
    }
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
    char *name_text = mem_strndup(name.data, name.length);
    spec.name = name_text;
    fill_operands(walk, op, &op_lists, at);
    intptr_t results = mlirOperationGetNumResults(op), regions = mlirOperationGetNumRegions(op);
    for (intptr_t i = 0; i < results; i++)
        VEC_PUSH(&op_lists.types, walk_type(walk, mlirValueGetType(mlirOperationGetResult(op, i))));
    fill_attrs(walk, op, &op_lists, root);
    spec.operands = op_lists.operands.at;
    spec.operand_count = (uint32_t)op_lists.operands.count;
    spec.result_types = op_lists.types.at;
    spec.result_count = (uint32_t)op_lists.types.count;
    spec.attrs = op_lists.attrs.at;
    spec.attr_count = (uint32_t)op_lists.attrs.count;
    uint32_t index = regions ? ir_build_begin(walk->builder, &spec) : ir_build_op(walk->builder, &spec);
    for (intptr_t i = 0; i < results; i++)
        map_put(&walk->values, mlirOperationGetResult(op, i).ptr,
                ir_builder_result(walk->builder, index, (uint32_t)i));
    VEC_FREE(&op_lists.operands);
    VEC_FREE(&op_lists.types);
    VEC_FREE(&op_lists.attrs);
    text_release(&location);
    free(name_text);
    if (regions)
        walk_regions(walk, op, regions);
}

/* ---------------------------------------------------------------- parsing */
struct complaint {
    char message[600];
    char place[200];
    bool seen;
};

static MlirLogicalResult complain(MlirDiagnostic diagnostic, void *user)
{
    struct complaint *complaint = user;
    if (!complaint->seen && mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError) {
        struct text text = {0};
        mlirDiagnosticPrint(diagnostic, walk_add_piece, &text);
        snprintf(complaint->message, sizeof complaint->message, "%s", text.at ? text.at : "");
        text.size = 0;
        mlirLocationPrint(mlirDiagnosticGetLocation(diagnostic), walk_add_piece, &text);
        snprintf(complaint->place, sizeof complaint->place, "%s", text.at ? text.at : "");
        text_release(&text);
        complaint->seen = true;
    }
    return mlirLogicalResultSuccess();
}

/* `loc("-":LINE:COLUMN)` in the rewritten text -> offset in it */
static size_t written_offset(const struct scan *scan, const char *place)
{
    unsigned line = 1, column = 1;
    const char *colon = strstr(place, "\":");
    if (colon && sscanf(colon + 2, "%u:%u", &line, &column) != 2)
        return 0;
    const char *at = scan->out.at, *end = at + scan->out.size;
    for (; line > 1 && at < end; line--) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return (size_t)(at - scan->out.at) + (column ? column - 1 : 0);
}

void walk_start(void)
{
    mlirContextDestroy(mlirContextCreateWithThreading(false));
}

struct ir_builder *walk_text(struct scan *scan)
{
    struct complaint complaint = {.seen = false};
    MlirContext context = mlirContextCreateWithThreading(false);
    mlirContextSetAllowUnregisteredDialects(context, true);
    mlirContextAttachDiagnosticHandler(context, complain, &complaint, NULL);
    MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreate(scan->out.at, scan->out.size));
    if (mlirModuleIsNull(module)) {
        uint32_t at = rewrite_origin(scan, written_offset(scan, complaint.place));
        char quoted[64];
        scan_fail(scan, ERROR_INVALID_MODULE, at, "%s, at %s",
                  complaint.seen ? complaint.message : "MLIR refuses this text without saying why",
                  scan_quote(scan, at, quoted));
    }
    text_release(&scan->out);
    struct walk walk = {.scan = scan, .builder = ir_builder_create(), .line = 1};
    location_aliases(scan, walk.builder);
    walk_op(&walk, mlirModuleGetOperation(module));
    BASE_CHECK(walk.op == scan->ops.count && walk.arg == scan->arg_count);
    return walk.builder;
}
