/* Which result an argument becomes, where donation says it. `tf.aliasing_output` names the result; with
 * `jax.buffer_donor` the donors of a type take the results of that type in order, as JAX does, when there are
 * as many of either. What donation does not say is left to roles_state.c. */
#include "analysis/stages.h"

#include <stdio.h>
#include <stdlib.h>

static bool entry_is_true(const struct ir_program *program, const struct ir_attr *dictionary,
                          const char *name)
{
    const struct ir_attr *attr = dictionary ? ir_attr_entry(program, dictionary, name) : NULL;
    return attr && (attr->kind == IR_ATTR_UNIT || (attr->kind == IR_ATTR_BOOL && attr->value != 0));
}

static uint32_t result_type(const struct nda *n, uint32_t i)
{
    return n->program->values[n->slots[n->spaces[n->result_spaces[i]].slots].value].type;
}

static uint32_t argument_type(const struct nda *n, uint32_t i)
{
    return n->program->values[n->arguments[i].value].type;
}

/* donors without a named result: in order within a type, when the numbers agree */
static void tie_donors(struct nda *n, const uint8_t *donor, uint8_t *taken)
{
    uint32_t *surplus = mem_zalloc((size_t)n->program->type_count + 1, sizeof *surplus);
    uint32_t *next = mem_zalloc((size_t)n->program->type_count + 1, sizeof *next);
    for (uint32_t k = 0; k < n->result_count; k++)
        surplus[result_type(n, k)] += !taken[k];
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (donor[i])
            surplus[argument_type(n, i)]--; /* wraps and stays away from 0 when there are too many */
    for (uint32_t i = 0; i < n->argument_count; i++) {
        uint32_t t = argument_type(n, i), k;
        if (!donor[i] || surplus[t] != 0)
            continue;
        for (k = next[t]; k < n->result_count && (taken[k] || result_type(n, k) != t); k++)
            ;
        next[t] = k + 1;
        if (k < n->result_count) {
            taken[k] = 1;
            n->arguments[i].tied_result = k;
        }
    }
    free(surplus);
    free(next);
}

/* Argument i becomes result k, where it can. */
static void tie_named(struct nda *n, uint32_t i, int64_t k, uint8_t *taken)
{
    const char *why = k < 0 || k >= n->result_count                        ? "which there is not"
                      : taken[k]                                           ? "which another argument becomes"
                      : result_type(n, (uint32_t)k) != argument_type(n, i) ? "which has another type"
                                                                           : NULL;
    if (!why) {
        taken[k] = 1;
        n->arguments[i].tied_result = (uint32_t)k;
        return;
    }
    char sentence[200];
    snprintf(sentence, sizeof sentence,
             "gives the memory of argument %u to result %lld (tf.aliasing_output), %s: taken as not donated",
             i, (long long)k, why);
    nda_warn(n, n->function, sentence);
}

void stage_ties(struct nda *n)
{
    const struct ir_program *program = n->program;
    uint8_t *taken = mem_zalloc((size_t)n->result_count + 1, 1);
    uint8_t *donor = mem_zalloc((size_t)n->argument_count + 1, 1);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct ir_attr *attrs = ir_function_arg_attrs(program, n->function, i);
        const struct ir_attr *alias = attrs ? ir_attr_entry(program, attrs, "tf.aliasing_output") : NULL;
        if (alias && alias->kind == IR_ATTR_INT) {
            tie_named(n, i, alias->value, taken);
        } else {
            donor[i] = entry_is_true(program, attrs, "jax.buffer_donor");
        }
    }
    tie_donors(n, donor, taken);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        n->arguments[i].becomes = n->arguments[i].tied_result;
        n->arguments[i].updated = n->arguments[i].tied_result != NDA_NONE;
    }
    free(taken);
    free(donor);
}
