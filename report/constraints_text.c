/* What to write into the model, for people. Constraints that are the same of every layer are one entry: of
 * one op, place, type and sharding, with arguments that are named alike up to numbers. plan.json has each. */
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_ENTRIES = 20, MOST_BY_HAND = 40, SHOWN_NUMBERS = 6 };
enum { NAME_ROOM = 512, PLACE_ROOM = 100 }; /* of texts that are compared or shown */

/* of a constraint, what it has in common with those that are one entry with it */
struct entry {
    struct text key;
    uint32_t number; /* the constraint's */
};

static void add_pattern(struct text *key, const char *name)
{
    char pattern[NAME_ROOM];
    report_pattern(name, pattern, sizeof pattern);
    text_printf(key, "%s\n", pattern);
}

/* lines of the module's own text are one place (report_same_place) */
static void add_place(struct text *key, const char *location)
{
    text_printf(key, "%s\n", report_same_place(location, "line 1") ? "line" : location);
}

static void add_key(struct text *key, const struct report_constraint *constraint)
{
    text_printf(key, "%s\n%s\n%s\n%u %u %u\n", constraint->op, constraint->type, constraint->spec,
                constraint->alike, constraint->argument_count, constraint->use_count);
    if (strcmp(constraint->op, "argument") == 0) /* its place is its name */
        add_pattern(key, constraint->location);
    else
        add_place(key, constraint->location);
    add_pattern(key, constraint->name);
    for (uint32_t i = 0; i < constraint->argument_count; i++)
        add_pattern(key, constraint->arguments[i]);
    for (uint32_t i = 0; i < constraint->use_count; i++) {
        text_printf(key, "%s\n", constraint->uses[i].op);
        add_place(key, constraint->uses[i].location);
    }
}

static int by_key(const void *left, const void *right)
{
    const struct entry *one = left, *other = right;
    int order = strcmp(one->key.at, other->key.at);
    return order ? order : (one->number > other->number) - (one->number < other->number);
}

/* next: of each constraint the next of its entry, if any; size: of an entry's first how many there are, 0 of
 * the others. By sorted keys: a module of a thousand towers has 12,000 constraints */
static void find_entries(const struct report *report, uint32_t *next, uint32_t *size)
{
    uint32_t count = report->constraint_count;
    struct entry *entries = mem_zalloc((size_t)count + 1, sizeof *entries);
    for (uint32_t i = 0; i < count; i++) {
        entries[i].number = i;
        add_key(&entries[i].key, &report->constraints[i]);
    }
    qsort(entries, count, sizeof *entries, by_key);
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && strcmp(entries[first].key.at, entries[end].key.at) == 0; end++)
            next[entries[end - 1].number] = entries[end].number;
        size[entries[first].number] = end - first;
    }
    for (uint32_t i = 0; i < count; i++)
        text_release(&entries[i].key);
    free(entries);
}

static void write_numbers(const struct report_constraint *const *same, uint32_t count, struct text *text)
{
    bool run = count > 1;
    for (uint32_t i = 1; i < count; i++)
        run &= same[i]->occurrence == same[i - 1]->occurrence + 1;
    if (same[0]->alike < 2)
        return;
    text_printf(text, ", number%s %u", count > 1 ? "s" : "", same[0]->occurrence + 1);
    for (uint32_t i = 1; i < count && i < SHOWN_NUMBERS && !run; i++)
        text_printf(text, ", %u", same[i]->occurrence + 1);
    if (run)
        text_printf(text, " to %u", same[count - 1]->occurrence + 1);
    else if (count > SHOWN_NUMBERS)
        text_add(text, " ..");
    text_printf(text, " of %u", same[0]->alike);
}

/* as a pattern where it stands for several */
static void write_name(const char *name, uint32_t count, struct text *text)
{
    char pattern[NAME_ROOM];
    report_pattern(name, pattern, sizeof pattern);
    text_add(text, count > 1 ? pattern : name);
}

/* with it the like of other layers */
static void write_worth(const struct report_constraint *const *same, uint32_t count, struct text *text)
{
    int64_t worth = 0;
    char bytes[32];
    for (uint32_t i = 0; i < count && worth >= 0; i++)
        worth = same[i]->worth_bytes < 0 ? -1 : worth + same[i]->worth_bytes;
    if (worth <= 0)
        return;
    report_bytes(worth, bytes);
    text_printf(text, "\n    %s more without %s", bytes, count > 1 ? "them" : "it");
}

static void write_entry(const struct report_constraint *const *same, uint32_t count, uint32_t number,
                        struct text *text)
{
    const struct report_constraint *first = same[0];
    char place[PLACE_ROOM], last[PLACE_ROOM];
    report_place(first->location, place, sizeof place);
    report_place(same[count - 1]->location, last, sizeof last);
    text_printf(text, "%2u. with_sharding_constraint(%s, %s)", number, first->type, first->spec);
    if (count > 1)
        text_printf(text, "  x %u", count);
    text_printf(text, "\n    %s at ", first->op);
    if (strcmp(first->op, "argument") == 0)
        write_name(first->location, count, text);
    else
        text_add(text, place);
    if (count > 1 && strcmp(first->op, "argument") != 0 && strcmp(place, last) != 0)
        text_printf(text, " to %s", last);
    if (*first->name) {
        text_add(text, " (");
        write_name(first->name, count, text);
        text_add(text, ")");
    }
    write_numbers(same, count, text);
    uint32_t made_of = strcmp(first->op, "argument") == 0 ? 0 : first->argument_count;
    for (uint32_t k = 0; k < made_of; k++) {
        text_add(text, k ? ", " : "; made of ");
        write_name(first->arguments[k], count, text);
    }
    if (first->at_uses) {
        report_place(first->uses[0].location, place, sizeof place);
        text_printf(text, "\n    only where %s at %s reads it", first->uses[0].op, place);
        if (first->use_count > 1)
            text_printf(text, ", and %u more", first->use_count - 1);
    }
    write_worth(same, count, text);
    text_add_char(text, '\n');
}

/* -> how many entries there are; the first SHOWN_ENTRIES are written, by the first of each */
static uint32_t write_entries(const struct report *report, struct text *text)
{
    uint32_t number = 0, said = 0, count = report->constraint_count;
    uint32_t *next = mem_zalloc((size_t)count + 1, sizeof *next),
             *size = mem_zalloc((size_t)count + 1, sizeof *size);
    const struct report_constraint **same = mem_zalloc((size_t)count + 1, sizeof(void *));
    find_entries(report, next, size);
    bool silent = false;
    for (uint32_t i = 0; i < count; i++) {
        if (!size[i] || ++number > SHOWN_ENTRIES)
            continue;
        silent |= report->constraints[i].worth_bytes <= 0;
        for (uint32_t k = 0, at = i; k < size[i]; k++, at = next[at])
            same[k] = &report->constraints[at];
        write_entry(same, size[i], number, text);
        said += size[i];
    }
    if (count > said)
        text_printf(text, "… and %u more in plan.json\n", count - said);
    if (silent)
        text_add(text,
                 "An entry without bytes is there as XLA would split computation otherwise without it; what "
                 "moves then\nis not known, or nothing\n");
    free(same);
    free(next);
    free(size);
    return number;
}

/* a tenth more: what the model of XLA is good for */
static bool is_more(int64_t bytes, int64_t than)
{
    return bytes > than + than / 10;
}

void report_text_constraints(const struct report *report, struct text *text)
{
    char specs[32], list[32], annotated[32], plan[32];
    if (!report->has_constraints)
        return;
    report_bytes(report->moved_specs_bytes, specs);
    report_bytes(report->moved_list_bytes, list);
    report_bytes(report->moved_annotated_bytes, annotated);
    text_add(text, "\nWhat to write into the model (PartitionSpecs of arguments and results do not say it)\n"
                   "-------------------------------------------------------------------------------------\n");
    report_bytes(report->moved_plan_bytes, plan);
    text_printf(
        text,
        "XLA moves, by our model of it: %s with the specs alone, %s with these, %s annotated;\nthe plan "
        "itself %s (a reduce_scatter counts as an all_reduce of its operand, which XLA may make of it)\n",
        specs, list, annotated, plan);
    if (is_more(report->moved_plan_bytes, report->moved_specs_bytes))
        text_printf(
            text,
            "With the specs alone XLA moves less, as it chooses another plan than this one, whose time and\n"
            "memory are not known here; %s this one of it\n",
            report->constraint_count ? "the list makes" : "the annotated module makes");
    else if (report->constraint_count && is_more(report->moved_plan_bytes, report->moved_list_bytes))
        text_printf(
            text,
            "The list moves %.2f of the plan's bytes: what it does not name XLA splits in its own way, by "
            "our\nmodel of it with fewer exchanges; that plan's time and memory are not known here. The "
            "annotated\nmodule (plan.jit() in Python) makes this one of it\n",
            (double)report->moved_list_bytes / (double)report->moved_plan_bytes);
    if (report->constraint_count == 0 && !is_more(report->moved_specs_bytes, report->moved_annotated_bytes))
        text_add(text, "nothing: the specs of arguments and results are enough\n");
    if (is_more(report->moved_list_bytes, report->moved_annotated_bytes))
        text_printf(text,
                    "%s %.1f times what annotated does: sums that meet before they are reduced, sums over a\n"
                    "loop's iterations, and parts of a dimension, no PartitionSpec can say. Take the "
                    "annotated module (plan.jit() in Python)\n",
                    report->constraint_count ? "The list moves" : "No list was found: specs move",
                    (double)report->moved_list_bytes /
                        (double)(report->moved_annotated_bytes > 0 ? report->moved_annotated_bytes : 1));
    if (is_more(report->moved_list_bytes, report->moved_sums_bytes)) {
        report_bytes(report->moved_sums_bytes, list);
        text_printf(
            text,
            "or plan.constrain(step) in Python, which adds %u partial sums before they are reduced: %s\n",
            report->sum_count, list);
    }
    if (is_more(report->moved_annotated_bytes, report->moved_plan_bytes))
        text_add(text, "The annotated module moves more than the plan (at most so much), as XLA reduces each "
                       "partial sum\n"
                       "where it is made, in every iteration of a loop; manual.mlir and local.mlir move what "
                       "the plan says\n");
    struct text entries = {0};
    if (write_entries(report, &entries) > MOST_BY_HAND)
        text_add(text, "too many to write by hand: take the annotated module (plan.jit() in Python), or\n"
                       "plan.constrain(step), which puts them in\n");
    if (entries.size)
        text_add_n(text, entries.at, entries.size);
    text_release(&entries);
}
