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
static void position(struct walk *w, uint32_t at, struct ir_op_spec *spec)
{
    const char *text = w->s->text;
    if (at < w->line_at) {
        w->line_at = w->line_start = 0;
        w->line = 1;
    }
    const char *newline;
    while ((newline = memchr(text + w->line_at, '\n', at - w->line_at))) {
        w->line++;
        w->line_start = w->line_at = (uint32_t)(newline - text) + 1;
    }
    w->line_at = at;
    spec->line = (uint32_t)w->line;
    spec->column = at - w->line_start + 1;
}

/* The text of a location, remembered with its alias when it is one: thousands of ops share a location. */
static const char *location_text(struct walk *w, uint32_t loc, bool name_first, struct text *out)
{
    struct scan *s = w->s;
    s->at = loc + 3;
    scan_expect(s, "(");
    struct alias *a = NULL;
    if (scan_peek(s) == '#') {
        struct span name = {s->at++, 0};
        name.end = scan_word(s).end;
        a = scan_alias(s, name);
    }
    uint32_t *cached = !a ? NULL : name_first ? &a->arg_string : &a->op_string;
    if (cached && *cached == UINT32_MAX)
        return NULL;
    if (cached && *cached) {
        struct ir_program view = ir_builder_view(w->b);
        out->size = 0;
        text_add_n(out, ir_string(&view, *cached - 1), view.strings[*cached - 1].size);
        return out->at;
    }
    bool found = location_resolve(s, loc, name_first, out) && out->size;
    if (cached)
        *cached = found ? ir_build_string(w->b, out->at, out->size) + 1 : UINT32_MAX;
    return found ? out->at : NULL;
}

static void block_args(struct walk *w, MlirBlock block)
{
    intptr_t n = mlirBlockGetNumArguments(block);
    uint32_t *types = mem_zalloc((size_t)n, sizeof *types);
    for (intptr_t i = 0; i < n; i++)
        types[i] = walk_type(w, mlirValueGetType(mlirBlockGetArgument(block, i)));
    uint32_t first = ir_build_block(w->b, types, (uint32_t)n);
    for (intptr_t i = 0; i < n; i++, w->arg++) {
        map_put(&w->values, mlirBlockGetArgument(block, i).ptr, first + (uint32_t)i);
        if (w->arg_place < w->s->args.count && w->s->args.at[w->arg_place].arg == w->arg) {
            const char *text = location_text(w, w->s->args.at[w->arg_place].loc, true, &w->scratch);
            w->arg_place++;
            if (text)
                ir_build_value_location(w->b, first + (uint32_t)i, text, strlen(text));
        }
    }
    free(types);
}

static void walk_op(struct walk *w, MlirOperation op);

static void walk_regions(struct walk *w, MlirOperation op, intptr_t count)
{
    for (intptr_t r = 0; r < count; r++) {
        ir_build_region(w->b);
        for (MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
             !mlirBlockIsNull(block); block = mlirBlockGetNextInRegion(block)) {
            block_args(w, block);
            for (MlirOperation inner = mlirBlockGetFirstOperation(block); !mlirOperationIsNull(inner);
                 inner = mlirOperationGetNextInBlock(inner))
                walk_op(w, inner);
            ir_build_end_block(w->b);
        }
        ir_build_end_region(w->b);
    }
    ir_build_end(w->b);
}

/* Operands, result types and attributes of one op. One struct serves all ops in turn: none of it is needed
 * any more when the op's regions are walked. */
struct op_lists {
    VEC(uint32_t) operands;
    VEC(uint32_t) types;
    VEC(struct ir_attr) attrs;
};

static void fill_operands(struct walk *w, MlirOperation op, struct op_lists *l, uint32_t at)
{
    intptr_t n = mlirOperationGetNumOperands(op);
    for (intptr_t i = 0; i < n; i++) {
        struct map_slot *slot = map_find(&w->values, mlirOperationGetOperand(op, i).ptr);
        if (!slot->key)
            scan_fail(w->s, ERROR_INVALID_MODULE, at, "operand %d of this op is used before it is defined",
                      (int)i);
        VEC_PUSH(&l->operands, slot->value - 1);
    }
}

static void fill_attrs(struct walk *w, MlirOperation op, struct op_lists *l, bool root)
{
    MlirStringRef op_name = mlirIdentifierStr(mlirOperationGetName(op));
    intptr_t n = mlirOperationGetNumAttributes(op);
    for (intptr_t i = 0; i < n; i++) {
        MlirNamedAttribute named = mlirOperationGetAttribute(op, i);
        MlirStringRef name = mlirIdentifierStr(named.name);
        struct ir_attr a = walk_attr(w, op_name, name, named.attribute);
        a.name = ir_build_string(w->b, name.data, name.length);
        VEC_PUSH(&l->attrs, a);
    }
    if (root && w->s->resources.end) {
        struct span r = w->s->resources;
        struct ir_attr a = walk_string(w, IR_ATTR_TEXT, (MlirStringRef){w->s->text + r.at, r.end - r.at});
        VEC_PUSH(&l->attrs, ir_build_named(w->b, IR_RESOURCES, a));
    }
}

static void walk_op(struct walk *w, MlirOperation op)
{
    struct op_lists l = {0};
    struct text location = {0};
    struct ir_op_spec spec = {0};
    uint32_t at = 0;
    bool root = mlirOperationIsNull(mlirOperationGetParentOperation(op)), made = root && w->s->wrapped;
    if (!made) {
        BASE_CHECK(w->op < w->s->ops.count);
        struct op_place place = w->s->ops.at[w->op++];
        at = place.at;
        position(w, at, &spec);
        if (place.loc)
            spec.location = location_text(w, place.loc, false, &location);
    }
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
    char *name_text = mem_strndup(name.data, name.length);
    spec.name = name_text;
    fill_operands(w, op, &l, at);
    intptr_t results = mlirOperationGetNumResults(op), regions = mlirOperationGetNumRegions(op);
    for (intptr_t i = 0; i < results; i++)
        VEC_PUSH(&l.types, walk_type(w, mlirValueGetType(mlirOperationGetResult(op, i))));
    fill_attrs(w, op, &l, root);
    spec.operands = l.operands.at;
    spec.operand_count = (uint32_t)l.operands.count;
    spec.result_types = l.types.at;
    spec.result_count = (uint32_t)l.types.count;
    spec.attrs = l.attrs.at;
    spec.attr_count = (uint32_t)l.attrs.count;
    uint32_t index = regions ? ir_build_begin(w->b, &spec) : ir_build_op(w->b, &spec);
    for (intptr_t i = 0; i < results; i++)
        map_put(&w->values, mlirOperationGetResult(op, i).ptr, ir_builder_result(w->b, index, (uint32_t)i));
    VEC_FREE(&l.operands);
    VEC_FREE(&l.types);
    VEC_FREE(&l.attrs);
    text_release(&location);
    free(name_text);
    if (regions)
        walk_regions(w, op, regions);
}

/* ---------------------------------------------------------------- parsing */
struct complaint {
    char message[600];
    char place[200];
    bool seen;
};

static MlirLogicalResult complain(MlirDiagnostic diagnostic, void *user)
{
    struct complaint *c = user;
    if (!c->seen && mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError) {
        struct text t = {0};
        mlirDiagnosticPrint(diagnostic, walk_add_piece, &t);
        snprintf(c->message, sizeof c->message, "%s", t.at ? t.at : "");
        t.size = 0;
        mlirLocationPrint(mlirDiagnosticGetLocation(diagnostic), walk_add_piece, &t);
        snprintf(c->place, sizeof c->place, "%s", t.at ? t.at : "");
        text_release(&t);
        c->seen = true;
    }
    return mlirLogicalResultSuccess();
}

/* `loc("-":LINE:COLUMN)` in the rewritten text -> offset in it */
static size_t written_offset(const struct scan *s, const char *place)
{
    unsigned line = 1, column = 1;
    const char *colon = strstr(place, "\":");
    if (colon && sscanf(colon + 2, "%u:%u", &line, &column) != 2)
        return 0;
    const char *at = s->out.at, *end = at + s->out.size;
    for (; line > 1 && at < end; line--) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        at = newline ? newline + 1 : end;
    }
    return (size_t)(at - s->out.at) + (column ? column - 1 : 0);
}

void walk_start(void)
{
    mlirContextDestroy(mlirContextCreateWithThreading(false));
}

struct ir_builder *walk_text(struct scan *s)
{
    struct complaint complaint = {.seen = false};
    MlirContext context = mlirContextCreateWithThreading(false);
    mlirContextSetAllowUnregisteredDialects(context, true);
    mlirContextAttachDiagnosticHandler(context, complain, &complaint, NULL);
    MlirModule module = mlirModuleCreateParse(context, mlirStringRefCreate(s->out.at, s->out.size));
    if (mlirModuleIsNull(module)) {
        uint32_t at = rewrite_origin(s, written_offset(s, complaint.place));
        char quoted[64];
        scan_fail(s, ERROR_INVALID_MODULE, at, "%s, at %s",
                  complaint.seen ? complaint.message : "MLIR refuses this text without saying why",
                  scan_quote(s, at, quoted));
    }
    text_release(&s->out);
    struct walk w = {.s = s, .b = ir_builder_create(), .line = 1};
    walk_op(&w, mlirModuleGetOperation(module));
    BASE_CHECK(w.op == s->ops.count && w.arg == s->arg_count);
    return w.b;
}
