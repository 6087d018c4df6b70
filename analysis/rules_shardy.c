/* Custom calls that bring their own rule, as JAX prints for its linear algebra and `custom_partitioning`
 * users for theirs:
 *
 *   sdy.sharding_rule = #sdy.op_sharding_rule<([i, j, k])->([i, l, m], [i]) {i=8, j=16, ..},
 *   reduction={k}, custom>
 *
 * A letter is a factor. One that stands in an operand and in every result is parallel, unless the rule
 * says that it is reduced, permuted or wanted whole; dimensions of several letters are replicated. Source:
 * Shardy's OpShardingRuleAttr. */
#include "analysis/rule.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_LETTERS = 26 * 16, NO_LETTER = -1 };

/* one letter, `i` or `z_3`, as a number; NO_LETTER when there is none. *at goes past it */
static int take_letter(const char **at)
{
    int letter = **at - 'a';
    long number = 0;
    if (letter < 0 || letter >= 26)
        return NO_LETTER;
    ++*at;
    if (**at == '_') {
        char *end;
        number = strtol(*at + 1, &end, 10);
        *at = end;
    }
    return number < 0 || number >= MOST_LETTERS / 26 ? NO_LETTER : (int)number * 26 + letter;
}

static void skip_blanks(const char **at)
{
    *at += strspn(*at, " ,");
}

/* `i, jk, l]` of one tensor into letters[]; false when the ranks differ or the text is another */
static bool take_dims(const char **at, uint32_t rank, int *letters)
{
    uint32_t d = 0;
    for (skip_blanks(at); **at && **at != ']'; skip_blanks(at)) {
        int letter = take_letter(at);
        if (d == rank || letter == NO_LETTER)
            return false;
        if (**at >= 'a' && **at <= 'z') { /* several letters: replicated */
            while (**at && !strchr(" ,]", **at))
                ++*at;
            letter = NO_LETTER;
        }
        letters[d++] = letter;
    }
    return *(*at)++ == ']' && d == rank;
}

/* letters[slot * IR_MAX_RANK + dim] */
static bool take_tensors(const struct rule *rule, const char *text, int *letters)
{
    const char *at = strchr(text, '(');
    if (!at)
        return false;
    for (uint32_t s = 0; s < rule->slots.count; s++) {
        at += strcspn(at, "[{");
        if (*at++ != '[' || !take_dims(&at, rule->slots.at[s].rank, letters + (size_t)s * IR_MAX_RANK))
            return false;
    }
    at += strcspn(at, "[{");
    return *at != '[';
}

/* letters in `reduction={..}` and the like, which are not parallel */
static void take_exceptions(const char *text, uint8_t *except)
{
    static const char *const kinds[] = {"reduction={", "need_replication={", "permutation={"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *at = strstr(text, kinds[i]);
        at = at ? at + strlen(kinds[i]) : "";
        for (skip_blanks(&at); *at && *at != '}'; skip_blanks(&at)) {
            int letter = take_letter(&at);
            if (letter == NO_LETTER)
                break;
            except[letter] = 1;
        }
    }
}

static bool is_parallel(const struct rule *rule, const int *letters, int letter)
{
    bool in_operand = false;
    for (uint32_t operand = 0; operand < rule->slots.count; operand++) {
        bool found = false;
        for (uint32_t dim = 0; dim < rule->slots.at[operand].rank; dim++)
            found |= letters[(size_t)operand * IR_MAX_RANK + dim] == letter;
        in_operand |= found && operand < rule->operand_count;
        if (!found && operand >= rule->operand_count)
            return false;
    }
    return in_operand && rule_result_count(rule) > 0;
}

/* the op's own rule, else the one given for its target; NULL: neither */
static const char *text_of(const struct rule *rule)
{
    const struct ir_attr *attr = ir_attr_find(rule->program, rule->op, "sdy.sharding_rule");
    const struct ir_attr *target = ir_attr_find(rule->program, rule->op, "call_target_name");
    if (attr && attr->kind == IR_ATTR_TEXT)
        return ir_string(rule->program, attr->first);
    for (uint32_t i = 0; target && target->kind == IR_ATTR_STRING && i < rule->nda->given_rule_count; i++)
        if (strcmp(rule->nda->given_rules[i].target, ir_string(rule->program, target->first)) == 0)
            return rule->nda->given_rules[i].text;
    return NULL;
}

/* `{i=64, j=32}` behind the tensors: each of a letter's dimensions has its size. Without it any sizes fit. */
static bool sizes_fit(const struct rule *rule, const char *text, const int *letters)
{
    const char *at = strstr(text, "->");
    at = at ? strchr(at, ')') : NULL;
    at = at ? at + 1 + strspn(at + 1, " ") : "";
    if (*at != '{')
        return true;
    for (at++; *at && *at != '}'; skip_blanks(&at)) {
        int letter = take_letter(&at);
        char *end;
        if (letter == NO_LETTER || *at != '=')
            return false;
        long long size = strtoll(at + 1, &end, 10);
        at = end;
        for (uint32_t s = 0; s < rule->slots.count; s++)
            for (uint32_t dim = 0; dim < rule->slots.at[s].rank; dim++)
                if (letters[(size_t)s * IR_MAX_RANK + dim] == letter && rule_size(rule, s, dim) != size)
                    return false;
    }
    return true;
}

enum rule_fit rule_given(struct rule *rule)
{
    const char *text = text_of(rule);
    uint8_t except[MOST_LETTERS] = {0};
    if (!text || rule->slots.count == 0)
        return RULE_NONE;
    int *letters = mem_alloc(sizeof *letters * rule->slots.count * IR_MAX_RANK);
    bool understood = take_tensors(rule, text, letters) && sizes_fit(rule, text, letters);
    if (understood)
        take_exceptions(text, except);
    for (int letter = 0; understood && letter < MOST_LETTERS; letter++) {
        uint32_t factor = RULE_NO_FACTOR;
        if (except[letter] || !is_parallel(rule, letters, letter))
            continue;
        for (uint32_t s = 0; s < rule->slots.count; s++)
            for (uint32_t dim = 0; dim < rule->slots.at[s].rank; dim++) {
                if (letters[(size_t)s * IR_MAX_RANK + dim] != letter)
                    continue;
                if (factor == RULE_NO_FACTOR)
                    factor = rule_factor(rule, NDA_PARALLEL, NDA_REDUCE_NONE, rule_size(rule, s, dim));
                rule_put(rule, factor, s, dim);
            }
    }
    free(letters);
    return understood ? RULE_FITS : RULE_MISFITS;
}
