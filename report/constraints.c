/* What a user writes into the model besides the plan's shardings: the constraints of spmd/constraints.h, said
 * by the op that makes the value, its place in the source, and the arguments that it is made of. */
#include "base/hash.h"
#include "emit/emit.h"
#include "report/report.h"

#include <stdlib.h>
#include <string.h>

/* How far back, and over how many values, arguments are looked for: without a contraction in between, and
 * where there are none so near (attention's own products), through them. */
enum { NEAR_DEPTH = 6, NEAR_VALUES = 64, FAR_DEPTH = 32, FAR_VALUES = 1024 };
enum { LOCATION_ROOM = 160, TYPE_ROOM = 96, SPEC_ROOM = 256 }; /* of texts in a report */

static bool said(const struct report_constraint *constraint, const char *name)
{
    for (uint32_t i = 0; i < constraint->argument_count; i++)
        if (strcmp(constraint->arguments[i], name) == 0)
            return true;
    return false;
}

/* the while whose body has this value as an argument; IR_NONE of others */
static uint32_t loop_of(const struct ir_program *program, uint32_t value)
{
    const struct ir_value *at = &program->values[value];
    if (at->op != IR_NONE)
        return IR_NONE;
    uint32_t op = program->regions[program->blocks[at->block].region].op;
    return program->ops[op].code == IR_WHILE ? op : (uint32_t)IR_NONE;
}

/* what the body gives for the next time */
static uint32_t returned(const struct ir_program *program, const struct ir_value *carried)
{
    const struct ir_block *block = &program->blocks[carried->block];
    return ir_operand(program, program->block_ops[block->ops + block->op_count - 1], carried->index);
}

struct near {
    const struct nda *n;
    struct report_constraint *constraint;
    uint32_t most_depth, most_values;
    bool through;                              /* contractions */
    const char *others[REPORT_NEAR_ARGUMENTS]; /* arguments that are no parameters */
    uint32_t other_count;
    uint32_t values[FAR_VALUES], depths[FAR_VALUES], count;
};

static void add_near(struct near *near, uint32_t value, uint32_t depth)
{
    if (near->count == near->most_values)
        return;
    near->values[near->count] = value;
    near->depths[near->count++] = depth;
}

static void note_argument(struct near *near, const struct nda_argument *argument)
{
    struct report_constraint *constraint = near->constraint;
    if (argument->role != NDA_ROLE_PARAMETER && near->other_count < REPORT_NEAR_ARGUMENTS)
        near->others[near->other_count++] = argument->name;
    else if (argument->role == NDA_ROLE_PARAMETER && constraint->argument_count < REPORT_NEAR_ARGUMENTS &&
             !said(constraint, argument->name))
        constraint->arguments[constraint->argument_count++] = argument->name;
}

/* what the value at that place is made of; of what a loop carries, its beginning, and what the body gives */
static void look_behind(struct near *near, uint32_t at)
{
    const struct ir_program *program = near->n->program;
    const struct ir_value *from = &program->values[near->values[at]];
    uint32_t loop = loop_of(program, near->values[at]), depth = near->depths[at];
    if (loop != IR_NONE && depth < near->most_depth) {
        add_near(near, ir_operand(program, loop, from->index), depth + 1);
        if (!at)
            add_near(near, returned(program, from), 0);
    }
    if (from->op == IR_NONE || depth == near->most_depth ||
        (at && !near->through && nda_is_contraction(near->n, from->op)))
        return;
    for (uint32_t i = 0; i < program->ops[from->op].operand_count; i++)
        add_near(near, ir_operand(program, from->op, i), depth + 1);
}

static void look_for_arguments(struct near *near, uint32_t value)
{
    near->count = 0;
    add_near(near, value, 0);
    for (uint32_t at = 0; at < near->count; at++) {
        const struct ir_value *from = &near->n->program->values[near->values[at]];
        if (from->op == IR_NONE && from->block == near->n->block)
            note_argument(near, &near->n->arguments[from->index]);
        else
            look_behind(near, at);
    }
}

/* Arguments that a value is made of, nearest first, without another contraction in between where there are
 * any, parameters before others: what tells the fifth layer's product from the fourth's. */
static void name_arguments(const struct nda *n, uint32_t value, struct report_constraint *constraint)
{
    struct near near = {
        .n = n, .constraint = constraint, .most_depth = NEAR_DEPTH, .most_values = NEAR_VALUES};
    look_for_arguments(&near, value);
    if (constraint->argument_count == 0 && near.other_count == 0) {
        near.through = true;
        near.most_depth = FAR_DEPTH;
        near.most_values = FAR_VALUES;
        look_for_arguments(&near, value);
    }
    for (uint32_t i = 0; constraint->argument_count == 0 && i < near.other_count; i++)
        if (!said(constraint, near.others[i]))
            constraint->arguments[constraint->argument_count++] = near.others[i];
}

/* an argument of a loop's body that the body returns as it is: what the loop only reads */
static bool only_read(const struct ir_program *program, uint32_t value)
{
    return returned(program, &program->values[value]) == value;
}

/* of the name that compilers give an op ("jit(step)/mul") its last part: what the framework calls it */
static const char *called(const struct ir_program *program, uint32_t op)
{
    const char *name = ir_string(program, ir_location_name(program, program->ops[op].loc, NULL));
    const char *last = strrchr(name, '/');
    return last ? last + 1 : name;
}

/* what makes a value, in the program's order; IR_NONE of the function's arguments */
static uint32_t maker_of(const struct ir_program *program, uint32_t value)
{
    return program->values[value].op == IR_NONE ? loop_of(program, value) : program->values[value].op;
}

static bool in_condition(const struct ir_program *program, uint32_t value)
{
    uint32_t region = program->blocks[program->values[value].block].region;
    return region == program->ops[program->regions[region].op].regions;
}

/* Values that a reader may take for one another have one key: of loops' bodies of the same kind, or of ops of
 * this name; of one type and place. What conditions of loops take is none of them. */
static struct hash128 key_of(const struct ir_program *program, uint32_t value)
{
    const struct ir_value *at = &program->values[value];
    char location[LOCATION_ROOM];
    uint64_t kind = at->op == IR_NONE ? in_condition(program, value) ? 2u : only_read(program, value)
                                      : program->ops[at->op].code;
    const char *name = at->op == IR_NONE ? "" : called(program, at->op);
    report_location(program, maker_of(program, value), location, sizeof location);
    struct hash128 key = {1, 2};
    for (int i = 0; i < 2; i++) {
        uint64_t *half = i ? &key.lo : &key.hi;
        uint64_t hash = hash_combine(hash_combine(*half, at->type), kind);
        hash = hash_combine(hash, at->op == IR_NONE);
        hash = hash_combine(hash, hash_bytes(name, strlen(name), *half));
        *half = hash_combine(hash, hash_bytes(location, strlen(location), *half));
    }
    return key;
}

struct keyed {
    struct hash128 key;
    uint32_t value;
};

/* What constraints are said by, found once for all of them. */
struct places {
    const struct nda *n;
    VEC(struct keyed) values; /* that something makes, by key, then in the program's order */
    uint32_t *slot_space;
};

static int by_key(const void *left, const void *right)
{
    const struct keyed *one = left, *other = right;
    int order = hash128_compare(one->key, other->key);
    return order ? order : (one->value > other->value) - (one->value < other->value);
}

static void find_places(const struct nda *n, struct places *out)
{
    const struct ir_program *program = n->program;
    *out = (struct places){.n = n};
    for (uint32_t value = 0; value < program->value_count; value++) {
        uint32_t op = maker_of(program, value);
        if (op != IR_NONE && n->op_space[op] != NDA_NONE)
            VEC_PUSH(&out->values, ((struct keyed){key_of(program, value), value}));
    }
    if (out->values.count)
        qsort(out->values.at, out->values.count, sizeof *out->values.at, by_key);
    out->slot_space = mem_alloc(((size_t)n->slot_count + 1) * sizeof *out->slot_space);
    for (uint32_t space = 0; space < n->space_count; space++)
        for (uint32_t k = 0; k < n->spaces[space].slot_count; k++)
            out->slot_space[n->spaces[space].slots + k] = space;
}

static void release_places(struct places *places)
{
    VEC_FREE(&places->values);
    free(places->slot_space);
}

/* which of the values that it looks like it is, and how many there are */
static void count_alike(const struct places *places, uint32_t value, struct report_constraint *constraint)
{
    struct keyed wanted = {key_of(places->n->program, value), 0};
    size_t low = 0, high = places->values.count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (by_key(&places->values.at[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < places->values.count && hash128_compare(places->values.at[low].key, wanted.key) == 0;
         low++) {
        constraint->occurrence += places->values.at[low].value < value;
        constraint->alike++;
    }
}

/* a text that as many constraints share as follow each other: of one layer, or one kind */
static const char *keep(struct report *report, const char *before, const char *text)
{
    return before && strcmp(before, text) == 0 ? before : arena_strndup(report->arena, text, strlen(text));
}

static const char *name_of(const struct ir_program *program, uint32_t op)
{
    return ir_string(program, ir_location_name(program, program->ops[op].loc, NULL));
}

static const char *place_of(struct report *report, uint32_t op, const char *before)
{
    char location[LOCATION_ROOM];
    report_location(plan_context_nda(evaluator_context(report->evaluator))->program, op, location,
                    sizeof location);
    return keep(report, before, location);
}

static bool names_use(const struct report_constraint *constraint, const struct report_use *use)
{
    for (uint32_t i = 0; i < constraint->use_count; i++)
        if (strcmp(constraint->uses[i].op, use->op) == 0 &&
            strcmp(constraint->uses[i].name, use->name) == 0 &&
            strcmp(constraint->uses[i].location, use->location) == 0)
            return true;
    return false;
}

/* each once: those that look alike are read alike */
static void describe_uses(struct report *report, const struct places *places,
                          const struct propagate_constraint *from, struct report_constraint *constraint)
{
    const struct nda *n = places->n;
    uint32_t most = from->use_count < REPORT_NAMED_USES ? from->use_count : REPORT_NAMED_USES;
    constraint->uses = arena_alloc(report->arena, (most + 1) * sizeof *constraint->uses);
    for (uint32_t i = 0; i < from->use_count && constraint->use_count < most; i++) {
        const struct nda_space *space = &n->spaces[places->slot_space[from->uses[i]]];
        if (space->kind != NDA_SPACE_OP)
            continue;
        const struct report_use use = {keep(report, NULL, ir_op_name(n->program, space->op)),
                                       place_of(report, space->op, NULL),
                                       keep(report, NULL, name_of(n->program, space->op))};
        if (!names_use(constraint, &use))
            constraint->uses[constraint->use_count++] = use;
    }
    constraint->at_uses = true;
}

static const char *maker_name(const struct ir_program *program, uint32_t value, uint32_t loop)
{
    return program->values[value].op != IR_NONE ? ir_op_name(program, program->values[value].op)
           : loop == IR_NONE                    ? "argument"
           : only_read(program, value)          ? "loop input"
                                                : "loop value";
}

/* constraint->sharding is set; before: the constraint before it, whose texts may be the same */
static void describe(struct report *report, const struct places *places, uint32_t number,
                     const struct report_constraint *before, struct report_constraint *constraint)
{
    const struct plan_context *context = evaluator_context(report->evaluator);
    const struct nda *n = plan_context_nda(context);
    const struct ir_value *value = &n->program->values[number];
    uint32_t loop = loop_of(n->program, number), op = loop == IR_NONE ? value->op : loop;
    char text[SPEC_ROOM];
    constraint->value = number;
    constraint->op = keep(report, before->op, maker_name(n->program, number, loop));
    constraint->location = value->op == IR_NONE && value->block == n->block
                               ? keep(report, before->location, n->arguments[value->index].name)
                               : place_of(report, op, before->location);
    constraint->name = op != IR_NONE ? keep(report, before->name, name_of(n->program, op)) : "";
    constraint->result = value->op == IR_NONE && loop == IR_NONE ? 0 : value->index;
    report_type(n->program, number, text, TYPE_ROOM);
    constraint->type = keep(report, before->type, text);
    report_spec(&constraint->sharding, plan_context_mesh(context), text, sizeof text);
    constraint->spec = keep(report, before->spec, text);
    name_arguments(n, number, constraint);
    if (op != IR_NONE)
        count_alike(places, number, constraint);
}

/* With a list, and with all constraints, the model reduces each partial sum where it is made; the annotated
 * module writes sums that meet as summands, where it can, and then moves what the plan does. Where it cannot
 * write some (a loop over layers that stacks their gradients in a loop over microbatches), it moves what all
 * of them would at most. */
static void find_sums(const struct evaluator *evaluator, const struct spmd_local *local,
                      struct report_unsaid *found, struct error *e)
{
    if (spmd_emit_list_sums(evaluator_context(evaluator), local, &found->sums, e) == ERROR_OK)
        found->list.all_bytes = found->sums.all ? found->list.plan_bytes : found->list.reduced_bytes;
    if (!found->sums.all || !found->sums.count)
        found->list.deferred_bytes = found->list.list_bytes;
}

/* what the annotated module says and the list does not yet */
static enum error_code find_more(const struct evaluator *evaluator, const struct plan *plan, bool sums,
                                 struct report_unsaid *found, struct error *e)
{
    const struct plan_context *context = evaluator_context(evaluator);
    struct spmd_local local = {0};
    enum error_code code = spmd_walk(context, plan, evaluator_options(evaluator), &local, e);
    if (!code && sums)
        find_sums(evaluator, &local, found, e);
    if (!code)
        code = spmd_emit_add_grouped(context, &local, &found->list, &found->grouped, e);
    spmd_local_release(&local);
    return code;
}

void report_unsaid_release(struct report_unsaid *found)
{
    spmd_constraints_release(&found->list);
    spmd_emit_sums_release(&found->sums);
}

enum error_code report_find_constraints(const struct evaluator *evaluator, const struct search_plan *plan,
                                        const struct spmd_constraints_limits *limits,
                                        struct report_unsaid *out, struct error *e)
{
    const struct plan_context *context = evaluator_context(evaluator);
    struct plan replayed;
    plan_init(&replayed, plan_context_nda(context), plan_context_mesh(context));
    memset(out, 0, sizeof *out);
    enum error_code code =
        search_plan_replay(context, plan, &replayed)
            ? spmd_constraints_find(context, &replayed, evaluator_options(evaluator),
                                    evaluator_fold_of(evaluator), limits, &out->list, e)
            : error_set(e, ERROR_INTERNAL, "the plan's decisions do not replay to its hash");
    bool sums =
             out->list.all_bytes != out->list.plan_bytes || out->list.deferred_bytes < out->list.list_bytes,
         groups = spmd_emit_has_groups(plan_context_nda(context)->program);
    if (!code && (sums || groups))
        code = find_more(evaluator, &replayed, sums, out, e);
    plan_release(&replayed);
    return code;
}

static void add_list(struct report *report, const struct places *places, const struct spmd_constraints *found)
{
    const struct plan_context *context = evaluator_context(report->evaluator);
    const struct report_constraint none = {0};
    report->constraints = arena_alloc(report->arena, (found->count + 1) * sizeof *report->constraints);
    report->constraint_count = found->count;
    for (uint32_t i = 0; i < found->count; i++) {
        const struct propagate_constraint *from = &found->list[i];
        struct report_constraint *constraint = &report->constraints[i];
        (void)spmd_form_sharding(plan_context_nda(context), plan_context_mesh(context), from->value,
                                 &from->form, &constraint->sharding);
        describe(report, places, from->value, i ? &report->constraints[i - 1] : &none, constraint);
        constraint->worth_bytes = from->worth_bytes;
        if (from->uses)
            describe_uses(report, places, from, constraint);
    }
}

static void add_sums(struct report *report, const struct places *places, const struct emit_sums *found)
{
    const struct report_constraint none = {0};
    report->sums = arena_alloc(report->arena, (found->count + 1) * sizeof *report->sums);
    report->sum_count = found->count;
    for (uint32_t i = 0; i < found->count; i++) {
        struct report_sum *sum = &report->sums[i];
        sum->sum = found->at[i];
        sum->value.sharding = found->at[i].sharding;
        describe(report, places, found->at[i].value, i ? &report->sums[i - 1].value : &none, &sum->value);
    }
}

void report_add_constraints(struct report *report, const struct report_unsaid *found)
{
    const struct spmd_constraints *list = &found->list;
    report->has_constraints = true;
    report->constraint_candidates = list->candidates;
    report->moved_plan_bytes = list->plan_bytes;
    report->moved_specs_bytes = list->specs_bytes;
    report->moved_list_bytes = list->list_bytes;
    report->moved_sums_bytes = list->deferred_bytes;
    report->moved_annotated_bytes = list->all_bytes;
    struct places places;
    find_places(plan_context_nda(evaluator_context(report->evaluator)), &places);
    if (found->grouped)
        report_add_warning(report,
                           "with the shardings of arguments and results alone XLA (jaxlib 0.4.38 to 0.10.2) "
                           "computes gradients of grouped convolutions that are too large: it adds them over "
                           "idle axes, too; annotated and manual modules, plan.constrain and the lines of "
                           "`constraints` at convolutions prevent that");
    add_list(report, &places, list);
    add_sums(report, &places, &found->sums);
    release_places(&places);
}
