/* Constraints and the module's own shardings -> pins; see pins.h. */
#include "planner/pins.h"

#include "planner/gspmd.h"

#include <ctype.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef VEC(struct plan_pin) pin_list;

struct pins { /* arguments are tensors 0 .., results stand behind them */
    pin_list list;
    uint32_t *of_tensor; /* number of the pin on it, plus 1; 0: none */
    uint32_t *tied;      /* the tensor that shares its buffer; NDA_NONE */
};

enum { NAMES_SHOWN = 5 }; /* in a message: enough to see how names look here, few enough for one line */

/* ---- the request's constraints ---- */

static void pins_init(struct pins *pins, const struct nda *n)
{
    size_t count = (size_t)n->argument_count + n->result_count;
    *pins = (struct pins){.of_tensor = mem_zalloc(count + 1, sizeof *pins->of_tensor),
                          .tied = mem_alloc((count + 1) * sizeof *pins->tied)};
    memset(pins->tied, 0xff, (count + 1) * sizeof *pins->tied);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        uint32_t result = n->arguments[i].tied_result;
        if (result == NDA_NONE)
            continue;
        pins->tied[i] = n->argument_count + result;
        pins->tied[n->argument_count + result] = i;
    }
}

static void set_pin(struct pins *pins, uint32_t tensor, const struct plan_pin *pin)
{
    if (!pins->of_tensor[tensor]) {
        VEC_PUSH(&pins->list, *pin);
        pins->of_tensor[tensor] = (uint32_t)pins->list.count;
    }
    pins->list.at[pins->of_tensor[tensor] - 1] = *pin;
}

/* The last one on a tensor wins, and over an earlier one on the tensor that shares its buffer. */
static void add_pin(struct pins *pins, const struct nda *n, struct plan_pin pin)
{
    uint32_t tensor = pin.is_result ? n->argument_count + pin.index : pin.index, tied = pins->tied[tensor];
    set_pin(pins, tensor, &pin);
    if (tied == NDA_NONE || !pins->of_tensor[tied])
        return;
    pin.is_result = !pin.is_result;
    pin.index = pin.is_result ? tied - n->argument_count : tied;
    set_pin(pins, tied, &pin);
}

static bool is_named(const struct planner_constraint *constraint, const char *name)
{
    return name && (strcmp(name, constraint->pattern) == 0 ||
                    (!constraint->exact && fnmatch(constraint->pattern, name, 0) == 0));
}

/* pins what the constraint means, by the module's names or the file's; how many */
static enum error_code add_meant(struct pins *pins, const struct planner_constraint *constraint,
                                 const struct nda *n, const struct mesh *mesh, bool by_file,
                                 uint32_t *matched, struct error *e)
{
    uint32_t count = constraint->is_result ? n->result_count : n->argument_count;
    if (by_file && constraint->name_count < count)
        count = constraint->name_count;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = by_file                 ? constraint->names[i]
                           : constraint->is_result ? n->result_names[i]
                                                   : n->arguments[i].name;
        if (!is_named(constraint, name))
            continue;
        uint32_t value = constraint->is_result ? n->slots[n->spaces[n->result_spaces[i]].slots].value
                                               : n->arguments[i].value;
        uint32_t rank = ir_value_type(n->program, value)->rank;
        if (rank != constraint->rank)
            return error_set_pointer(e, ERROR_INVALID_CONSTRAINT, constraint->pointer,
                                     "%s has %u dimensions, the constraint %u", name, rank, constraint->rank);
        struct plan_pin pin = {.is_result = constraint->is_result,
                               .index = i,
                               .value = NDA_NONE,
                               .rank = rank,
                               .pointer = constraint->pointer};
        for (uint32_t dim = 0; dim < rank; dim++) {
            pin.dims[dim].open = constraint->dims[dim].open;
            pin.dims[dim].count = constraint->dims[dim].count;
            for (uint32_t axis = 0; axis < constraint->dims[dim].count; axis++)
                pin.dims[dim].axes[axis] = (uint8_t)mesh_axis_find(mesh, constraint->dims[dim].axes[axis]);
        }
        add_pin(pins, n, pin);
        ++*matched;
    }
    return ERROR_OK;
}

static enum error_code add_constraint(struct pins *pins, const struct planner_constraint *constraint,
                                      const struct nda *n, const struct mesh *mesh, struct error *e)
{
    uint32_t count = constraint->is_result ? n->result_count : n->argument_count, matched = 0;
    TRY(add_meant(pins, constraint, n, mesh, false, &matched, e));
    if (!matched)
        TRY(add_meant(pins, constraint, n, mesh, true, &matched, e));
    if (matched)
        return ERROR_OK;
    struct text some = {0};
    for (uint32_t i = 0; i < count && i < NAMES_SHOWN; i++)
        text_printf(&some, "%s%s", i ? ", " : "",
                    constraint->is_result ? n->result_names[i] : n->arguments[i].name);
    enum error_code code =
        error_set_pointer(e, ERROR_INVALID_CONSTRAINT, constraint->pointer,
                          "no %s is named like this; the first of %u names: %s",
                          constraint->is_result ? "result" : "argument", count, some.at ? some.at : "none");
    text_release(&some);
    return code;
}

/* ---- shardings in the module: #sdy.sharding<@mesh, [{"data"}, {"model", ?}, {}]>
 * An inline mesh instead of @mesh is skipped, and so is `replicated` behind the list. ---- */

static const char *skip_blank(const char *string)
{
    while (isspace((unsigned char)*string))
        string++;
    return string;
}

enum { AXIS_NAME_SIZE = 64 }; /* as mesh_axis.name */

/* One dimension, from its '{' on, into the pin's dimension `rank`: the place behind its '}', or NULL when
 * it is malformed or has an axis that cannot be taken over (its name in bad). */
static const char *parse_dim(const char *string, const struct mesh *mesh, struct plan_pin *pin,
                             char bad[AXIS_NAME_SIZE])
{
    string = skip_blank(string + 1);
    while (*string && *string != '}') {
        if (*string == '?') {
            pin->dims[pin->rank].open = 1;
            string++;
        } else if (*string == '"') {
            const char *end = strchr(string + 1, '"');
            if (!end || end - string - 1 >= AXIS_NAME_SIZE - 1)
                return NULL;
            snprintf(bad, AXIS_NAME_SIZE, "%.*s", (int)(end - string - 1), string + 1);
            int axis = mesh_axis_find(mesh, bad);
            if (axis < 0 || end[1] == ':') /* "axis":(1)2 is a part of an axis: not built */
                return NULL;
            if (pin->dims[pin->rank].count < MESH_MAX_AXES)
                pin->dims[pin->rank].axes[pin->dims[pin->rank].count++] = (uint8_t)axis;
            string = end + 1;
        } else {
            return NULL;
        }
        string = skip_blank(string);
        if (*string == ',')
            string = skip_blank(string + 1);
    }
    return *string == '}' ? string + 1 : NULL;
}

/* The whole attribute: the place behind its list of dimensions, NULL as above. */
static const char *parse_sharding(const char *string, const struct mesh *mesh, struct plan_pin *pin,
                                  char bad[AXIS_NAME_SIZE])
{
    string = strstr(string, ", [");
    if (!string)
        return NULL;
    string = skip_blank(string + 3);
    pin->rank = 0;
    while (*string == '{' && pin->rank < IR_MAX_RANK) {
        string = parse_dim(string, mesh, pin, bad);
        if (!string)
            return NULL;
        pin->rank++;
        while (*string && *string != ',' && *string != ']') /* a priority: p1 */
            string++;
        if (*string == ',')
            string = skip_blank(string + 1);
    }
    return *string == ']' ? string + 1 : NULL;
}

/* the pin of a sharding, whoever wrote it */
static enum error_code add_read(struct pins *pins, const struct nda *n, struct plan_pin pin, uint32_t rank,
                                const struct ir_op *op, struct error *e)
{
    if (pin.rank != rank)
        return error_set_at(e, ERROR_INVALID_CONSTRAINT, (int)op->line, (int)op->column,
                            "a sharding of the module has %u dimensions, its tensor %u", pin.rank, rank);
    pin.line = op->line;
    pin.column = op->column;
    if (pin.value == NDA_NONE)
        add_pin(pins, n, pin);
    else
        VEC_PUSH(&pins->list, pin);
    return ERROR_OK;
}

static enum error_code add_text(struct pins *pins, const struct nda *n, const char *text, struct plan_pin pin,
                                uint32_t rank, const struct mesh *mesh, const struct ir_op *op,
                                struct error *e)
{
    char bad[AXIS_NAME_SIZE] = "";
    const char *rest = parse_sharding(text, mesh, &pin, bad);
    if (rest && strstr(rest, "unreduced={\""))
        return error_set_at(
            e, ERROR_INVALID_CONSTRAINT, (int)op->line, (int)op->column,
            "a sharding of the module leaves a sum unreduced: remove it, where sums are reduced "
            "is planned");
    if (!rest)
        return error_set_at(e, ERROR_INVALID_CONSTRAINT, (int)op->line, (int)op->column,
                            "a sharding of the module cannot be taken over%s%s: use axes of the posted mesh, "
                            "whole, or remove it",
                            bad[0] ? "; axis " : "", bad);
    return add_read(pins, n, pin, rank, op, e);
}

static enum error_code add_gspmd(struct pins *pins, const struct nda *n, const char *text, const char *config,
                                 struct plan_pin pin, uint32_t rank, const struct mesh *mesh,
                                 const struct ir_op *op, struct error *e)
{
    const char *why = planner_gspmd_read(text, config, rank, mesh, &pin);
    if (why)
        return error_set_at(
            e, ERROR_INVALID_CONSTRAINT, (int)op->line, (int)op->column,
            "the sharding %.120s of the module cannot be taken over: %s; use the mesh that it "
            "was written for, or remove it",
            text, why);
    return add_read(pins, n, pin, rank, op, e);
}

/* what GSPMD writes, where Shardy says nothing; NULL: nothing */
static const char *gspmd_text(const struct ir_program *program, const struct ir_attr *sharding)
{
    return sharding && sharding->kind == IR_ATTR_STRING ? ir_string(program, sharding->first) : NULL;
}

static enum error_code add_signature(struct pins *pins, const struct nda *n, const struct mesh *mesh,
                                     bool results, struct error *e)
{
    const struct ir_program *program = n->program;
    uint32_t count = results ? n->result_count : n->argument_count;
    for (uint32_t i = 0; i < count; i++) {
        const struct ir_attr *attrs = results ? ir_function_result_attrs(program, n->function, i)
                                              : ir_function_arg_attrs(program, n->function, i);
        const struct ir_attr *sharding = attrs ? ir_attr_entry(program, attrs, "sdy.sharding") : NULL;
        const char *tiles =
            attrs ? gspmd_text(program, ir_attr_entry(program, attrs, "mhlo.sharding")) : NULL;
        const struct ir_op *function = &program->ops[n->function];
        uint32_t value =
            results ? n->slots[n->spaces[n->result_spaces[i]].slots].value : n->arguments[i].value;
        uint32_t rank = ir_value_type(program, value)->rank;
        struct plan_pin pin = {.is_result = results, .index = i, .value = NDA_NONE};
        if (sharding && sharding->kind == IR_ATTR_TEXT)
            TRY(add_text(pins, n, ir_string(program, sharding->first), pin, rank, mesh, function, e));
        else if (tiles)
            TRY(add_gspmd(pins, n, tiles, NULL, pin, rank, mesh, function, e));
    }
    return ERROR_OK;
}

/* Does a sharding say nothing, as its mesh has no axes? JAX writes such constraints around random keys
 * (`sdy.mesh @empty_mesh = <[]>`) and such attributes on calls of the host; nobody chose them. */
static bool says_nothing(const struct ir_program *program, const char *sharding)
{
    static const char NO_AXES[] = "#sdy.mesh<[]";
    const char *name = strchr(sharding, '@');
    size_t size = name ? strcspn(name + 1, ",>") : 0;
    for (uint32_t op = 0; name && op < program->op_count; op++) {
        const struct ir_attr *symbol = ir_attr_find(program, op, "sym_name"),
                             *mesh = ir_attr_find(program, op, "mesh");
        if (strcmp(ir_op_name(program, op), "sdy.mesh") == 0 && symbol && mesh &&
            symbol->kind == IR_ATTR_STRING && mesh->kind == IR_ATTR_TEXT &&
            program->strings[symbol->first].size == size &&
            strncmp(ir_string(program, symbol->first), name + 1, size) == 0)
            return strncmp(ir_string(program, mesh->first), NO_AXES, sizeof NO_AXES - 1) == 0;
    }
    return false;
}

/* What an op says of its results: sharding_constraint and reshard of their one, any other op of each, in
 * `sdy.sharding` (#sdy.sharding_per_value<[<@mesh, [{"data"}, {}]>, ..]>). NULL: nothing. */
static const char *stated_of(const struct ir_program *program, uint32_t op)
{
    bool one = program->ops[op].code == IR_SDY_SHARDING_CONSTRAINT || program->ops[op].code == IR_SDY_RESHARD;
    const struct ir_attr *sharding = ir_attr_find(program, op, one ? "sharding" : "sdy.sharding");
    bool says = sharding && sharding->kind == IR_ATTR_TEXT && program->ops[op].result_count > 0;
    return says ? ir_string(program, sharding->first) : NULL;
}

/* what GSPMD says of a constraint's result, and in *config which of its dimensions are open; NULL: nothing */
static const char *tiles_of(const struct ir_program *program, uint32_t op, const char **config)
{
    const char *tiles = program->ops[op].code == IR_SDY_SHARDING_CONSTRAINT
                            ? gspmd_text(program, ir_attr_find(program, op, "mhlo.sharding"))
                            : NULL;
    *config = gspmd_text(program, ir_attr_find(program, op, "backend_config"));
    uint32_t rank = tiles ? ir_value_type(program, ir_result(program, op, 0))->rank : 0;
    return planner_gspmd_is_open(*config, rank) ? NULL : tiles;
}

/* The next sharding of a list, from its '<' to its '>', copied: *text is then behind it. NULL: no more. */
static const char *next_sharding(const char **text, struct text *copy)
{
    const char *start = strchr(*text, '<');
    uint32_t open = 0;
    copy->size = 0;
    for (const char *at = start; at && *at; at++) {
        open += *at == '<';
        open -= *at == '>';
        if (open)
            continue;
        text_printf(copy, "%.*s", (int)(at + 1 - start), start);
        *text = at + 1;
        return copy->at;
    }
    return NULL;
}

/* the list of shardings, one a result, that a text holds */
static const char *list_of(const char *stated)
{
    static const char EACH[] = "#sdy.sharding_per_value<";
    return strncmp(stated, EACH, sizeof EACH - 1) == 0 ? stated + sizeof EACH - 1 : stated;
}

static enum error_code add_stated(struct pins *pins, const struct nda *n, uint32_t op, const char *stated,
                                  const struct mesh *mesh, struct text *copy, struct error *e)
{
    const struct ir_program *program = n->program;
    const char *list = list_of(stated);
    for (uint32_t i = 0; i < program->ops[op].result_count; i++) {
        const char *sharding = next_sharding(&list, copy);
        if (!sharding)
            return error_set_at(e, ERROR_INVALID_CONSTRAINT, (int)program->ops[op].line,
                                (int)program->ops[op].column, "sdy.sharding says %u of %u results", i,
                                program->ops[op].result_count);
        uint32_t value = ir_result(program, op, i);
        struct plan_pin pin = {.value = value};
        if (!says_nothing(program, sharding))
            TRY(add_text(pins, n, sharding, pin, ir_value_type(program, value)->rank, mesh, &program->ops[op],
                         e));
    }
    return ERROR_OK;
}

static enum error_code add_body(struct pins *pins, const struct nda *n, const struct mesh *mesh,
                                struct error *e)
{
    struct text copy = {0};
    enum error_code code = ERROR_OK;
    for (uint32_t i = 0; code == ERROR_OK && i < n->program->op_count; i++) {
        const char *stated = stated_of(n->program, i), *config;
        const char *tiles = stated ? NULL : tiles_of(n->program, i, &config);
        uint32_t value = stated || tiles ? ir_result(n->program, i, 0) : NDA_NONE;
        if (stated)
            code = add_stated(pins, n, i, stated, mesh, &copy, e);
        else if (tiles)
            code = add_gspmd(pins, n, tiles, config, (struct plan_pin){.value = value},
                             ir_value_type(n->program, value)->rank, mesh, &n->program->ops[i], e);
    }
    text_release(&copy);
    return code;
}

enum error_code planner_pins_create(const struct planner_constraint *constraints, uint32_t count,
                                    bool module_pins, const struct nda *n, const struct mesh *mesh,
                                    struct plan_pin **out, uint32_t *pin_count, struct error *e)
{
    struct pins pins;
    pins_init(&pins, n);
    enum error_code code = module_pins ? add_signature(&pins, n, mesh, false, e) : ERROR_OK;
    if (code == ERROR_OK && module_pins)
        code = add_signature(&pins, n, mesh, true, e);
    if (code == ERROR_OK && module_pins)
        code = add_body(&pins, n, mesh, e);
    for (uint32_t i = 0; code == ERROR_OK && i < count; i++)
        code = add_constraint(&pins, &constraints[i], n, mesh, e);
    free(pins.of_tensor);
    free(pins.tied);
    if (code != ERROR_OK) {
        VEC_FREE(&pins.list);
        return code;
    }
    *out = pins.list.at;
    *pin_count = (uint32_t)pins.list.count;
    return ERROR_OK;
}

enum error_code planner_context_create(const struct planner_constraint *constraints, uint32_t count,
                                       bool module_pins, bool complete, const struct nda *n,
                                       const struct mesh *mesh, struct plan_context **out, struct error *e)
{
    struct plan_pin *pins = NULL;
    uint32_t pin_count = 0;
    TRY(planner_pins_create(constraints, count, module_pins, n, mesh, &pins, &pin_count, e));
    enum error_code code = plan_context_create(n, mesh, pins, pin_count, out, e);
    free(pins);
    if (code == ERROR_OK && complete)
        plan_context_complete(*out);
    return code;
}

/* priorities stand behind a dimension's axes: {"data"}p1 */
static uint32_t count_priorities(const char *text)
{
    uint32_t count = 0;
    for (text = strstr(text, "}p"); text; text = strstr(text + 1, "}p"))
        count += isdigit((unsigned char)text[2]) != 0;
    return count;
}

static void count_signature(const struct nda *n, bool results, struct planner_annotation_counts *out)
{
    const struct ir_program *program = n->program;
    for (uint32_t i = 0; i < (results ? n->result_count : n->argument_count); i++) {
        const struct ir_attr *attrs = results ? ir_function_result_attrs(program, n->function, i)
                                              : ir_function_arg_attrs(program, n->function, i);
        const struct ir_attr *sharding = attrs ? ir_attr_entry(program, attrs, "sdy.sharding") : NULL;
        if (!sharding || sharding->kind != IR_ATTR_TEXT) {
            out->pins += attrs && gspmd_text(program, ir_attr_entry(program, attrs, "mhlo.sharding"));
            continue;
        }
        out->pins++;
        out->priorities += count_priorities(ir_string(program, sharding->first));
    }
}

/* of one op: shardings that say something, and what else it says */
static void count_op(const struct ir_program *program, uint32_t op, struct planner_annotation_counts *out)
{
    const char *stated = stated_of(program, op), *list = stated ? list_of(stated) : NULL, *sharding, *config;
    struct text copy = {0};
    out->pins += !stated && tiles_of(program, op, &config);
    for (uint32_t i = 0; list && i < program->ops[op].result_count; i++) {
        if (!(sharding = next_sharding(&list, &copy)) || says_nothing(program, sharding))
            continue;
        out->pins++;
        out->priorities += count_priorities(sharding);
    }
    text_release(&copy);
    out->unused +=
        program->ops[op].code == IR_SDY_SHARDING_GROUP || program->ops[op].code == IR_SDY_PROPAGATION_BARRIER;
}

struct planner_annotation_counts planner_count_annotations(const struct nda *n)
{
    struct planner_annotation_counts out = {0};
    count_signature(n, false, &out);
    count_signature(n, true, &out);
    for (uint32_t i = 0; i < n->program->op_count; i++)
        count_op(n->program, i, &out);
    return out;
}
