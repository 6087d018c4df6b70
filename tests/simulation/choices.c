/* See choices.h. The generator is splitmix64; shrinking leaves out ever smaller runs of numbers and then
 * sets and halves what is left. */
#include "choices.h"

#include <stdlib.h>

uint32_t choices_random(struct choices *choices)
{
    choices->state += 0x9e3779b97f4a7c15u;
    uint64_t bits = choices->state;
    bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9u;
    bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebu;
    return (uint32_t)((bits ^ (bits >> 31)) >> 16);
}

bool choices_over(const struct choices *choices)
{
    return choices->taken >= (choices->replay ? choices->list.count : choices->most);
}

uint32_t choose(struct choices *choices, uint32_t n)
{
    if (choices_over(choices))
        return 0;
    if (choices->replay)
        return choices->list.at[choices->taken++] % n;
    uint32_t value = choices_random(choices) % n;
    VEC_PUSH(&choices->list, value);
    choices->taken++;
    return value;
}

bool choose_rarely(struct choices *choices, uint32_t n)
{
    return choose(choices, n) == n - 1;
}

static void copy_without(choice_list *to, const choice_list *from, size_t without, size_t count)
{
    to->count = 0;
    for (size_t i = 0; i < from->count; i++)
        if (i < without || i >= without + count)
            VEC_PUSH(to, from->at[i]);
}

static bool try_list(choice_list *list, const choice_list *candidate, choices_fail *fails, void *user,
                     int *runs)
{
    --*runs;
    if (!fails(candidate, user))
        return false;
    copy_without(list, candidate, 0, 0);
    return true;
}

static bool leave_out(choice_list *list, choice_list *scratch, choices_fail *fails, void *user, int *runs)
{
    bool better = false;
    for (size_t size = list->count / 2 + 1; size > 0 && *runs > 0; size /= 2)
        for (size_t i = 0; i < list->count && *runs > 0;) {
            copy_without(scratch, list, i, size);
            if (try_list(list, scratch, fails, user, runs))
                better = true;
            else
                i += size;
        }
    return better;
}

static bool make_smaller(choice_list *list, choice_list *scratch, choices_fail *fails, void *user, int *runs)
{
    bool better = false;
    for (size_t i = 0; i < list->count; i++) {
        const uint32_t tries[] = {0, list->at[i] / 2};
        for (int k = 0; k < 2 && i < list->count && *runs > 0; k++) {
            if (tries[k] >= list->at[i])
                continue;
            copy_without(scratch, list, 0, 0);
            scratch->at[i] = tries[k];
            better |= try_list(list, scratch, fails, user, runs);
        }
    }
    return better;
}

void choices_shrink(choice_list *list, choices_fail *fails, void *user, int runs)
{
    choice_list scratch = {0};
    bool better = true;
    while (better && runs > 0) {
        better = leave_out(list, &scratch, fails, user, &runs);
        better |= make_smaller(list, &scratch, fails, user, &runs);
        while (list->count && !list->at[list->count - 1])
            list->count--;
    }
    VEC_FREE(&scratch);
}

char *choices_text(const choice_list *list)
{
    struct text text = {0};
    text_add(&text, "");
    for (size_t i = 0; i < list->count; i++)
        text_printf(&text, "%s%u", i ? "." : "", list->at[i]);
    return text.at ? text.at : mem_strdup("");
}

void choices_parse(const char *text, choice_list *out)
{
    for (char *end; *text; text = *end ? end + 1 : end) {
        uint32_t value = (uint32_t)strtoul(text, &end, 10);
        if (end == text)
            break;
        VEC_PUSH(out, value);
    }
}
