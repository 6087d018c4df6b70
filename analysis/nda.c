/* The analysis, stage after stage (stages.h). Reads as its table of contents.
 *
 * Everything that the result needs is in its arena; on an error nothing is left. */
#include "analysis/stages.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void keep_rules(struct nda *n, const struct nda_options *options)
{
    n->given_rule_count = options ? options->rule_count : 0;
    n->given_rules = arena_alloc(n->arena, ((size_t)n->given_rule_count + 1) * sizeof *n->given_rules);
    for (uint32_t i = 0; i < n->given_rule_count; i++) {
        const struct nda_given_rule *rule = &options->rules[i];
        n->given_rules[i] =
            (struct nda_given_rule){arena_strndup(n->arena, rule->target, strlen(rule->target)),
                                    arena_strndup(n->arena, rule->text, strlen(rule->text))};
    }
}

static bool is_called(const struct ir_program *program, const char *target)
{
    for (uint32_t op = 0; op < program->op_count; op++) {
        if (program->ops[op].code != IR_CUSTOM_CALL)
            continue;
        const struct ir_attr *attr = ir_attr_find(program, op, "call_target_name");
        if (attr && attr->kind == IR_ATTR_STRING && strcmp(ir_string(program, attr->first), target) == 0)
            return true;
    }
    return false;
}

static void tell_idle_rules(struct nda *n)
{
    char sentence[200];
    for (uint32_t i = 0; i < n->given_rule_count; i++) {
        if (is_called(n->program, n->given_rules[i].target))
            continue;
        snprintf(sentence, sizeof sentence, "\"rules\": no custom call has the target %.120s",
                 n->given_rules[i].target);
        nda_warn(n, n->function, sentence);
    }
}

enum error_code nda_create(const struct ir_program *prepared, const struct nda_options *options,
                           struct nda **out, struct error *e)
{
    struct nda *n = mem_zalloc(1, sizeof *n);
    uint8_t *flow_off = NULL;
    enum error_code code;
    n->program = prepared;
    n->arena = arena_create();
    keep_rules(n, options);
    code = stage_spaces(n, e);
    if (code != ERROR_OK)
        goto out;
    code = stage_trip_counts(n, options, e);
    if (code != ERROR_OK)
        goto out;
    stage_ties(n);
    flow_off = stage_atoms(n);
    code = stage_factors(n, flow_off, e);
    if (code != ERROR_OK)
        goto out;
    stage_colors(n);
    stage_conflicts(n);
    stage_groups(n);
    stage_classes(n);
    stage_roles(n, options);
    stage_argument_names(n, options);
    tell_idle_rules(n);
    *out = n;
out:
    free(flow_off);
    if (code != ERROR_OK)
        nda_destroy(n);
    return code;
}

void nda_destroy(struct nda *n)
{
    if (!n)
        return;
    arena_destroy(n->arena);
    free(n);
}
