/* Arguments by kind: named alike up to numbers, of one type, role and sharding (report.h). */
#include "report/report.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Is the digit at `at` the first of a number that counts like tensors? Not in `w1` and `w2` of one layer;
 * in `layer_07`, `h/0`, `layers[3]` and in the names of arguments that have none, `arg12`. */
static bool counts(const char *name, const char *at)
{
    return at == name || !isalnum((unsigned char)at[-1]) || (at == name + 3 && strncmp(name, "arg", 3) == 0);
}

/* Is a number that counts the layer's? Not the place of a part of the optimizer's state, `state/1/l0/wq`. */
static bool counts_layers(const char *name, const char *at)
{
    const char *slash = strchr(name, '/');
    return at > name && (at[-1] != '/' || slash < at - 1);
}

/* Do the digits end a folder's name or its first word, as a layer's do in `l0/wq`, `block3.conv1.weight`,
 * `h10_mlp_fc/w`? */
static bool ends_word(const char *name, const char *at)
{
    while (isdigit((unsigned char)*at))
        at++;
    return at > name && (*at == '/' || *at == '.' || *at == '_') && at[1];
}

/* "params/layer_07/wq" -> "params/layer_*\/wq", "params/l7/w1" -> "params/l*\/w1", "h1_fc/w" -> "h*_fc/w" */
void report_pattern(const char *name, char *out, size_t room)
{
    size_t n = 0;
    bool counted = false;
    for (const char *at = name; *at && n + 2 < room;) {
        bool begins = isdigit((unsigned char)*at) && (at == name || !isdigit((unsigned char)at[-1]));
        bool alone = begins && counts(name, at);
        if (alone || (begins && !counted && ends_word(name, at))) {
            counted |= !alone || counts_layers(name, at);
            out[n++] = '*';
            while (isdigit((unsigned char)*at))
                at++;
        } else {
            out[n++] = *at++;
        }
    }
    out[n] = 0;
}

static int by_bytes(const void *left, const void *right)
{
    const struct report_kind *kind = left, *other_kind = right;
    if (kind->bytes != other_kind->bytes)
        return kind->bytes > other_kind->bytes ? -1 : 1;
    return kind->order < other_kind->order ? -1 : 1;
}

struct report_kind *report_kinds(const struct report *report, uint32_t *count)
{
    struct report_kind *kinds = mem_zalloc(report->argument_count + 1u, sizeof *kinds);
    *count = 0;
    for (uint32_t i = 0; i < report->argument_count; i++) {
        const struct report_argument *argument = &report->arguments[i];
        char pattern[sizeof kinds->pattern];
        uint32_t k = 0;
        report_pattern(argument->name, pattern, sizeof pattern);
        while (k < *count &&
               (kinds[k].first->role != argument->role || strcmp(kinds[k].pattern, pattern) != 0 ||
                strcmp(kinds[k].first->type, argument->type) != 0 ||
                strcmp(kinds[k].first->spec, argument->spec) != 0))
            k++;
        if (k == *count) {
            kinds[k].first = argument;
            kinds[k].order = k;
            memcpy(kinds[k].pattern, pattern, sizeof pattern);
            ++*count;
        }
        kinds[k].count++;
        kinds[k].bytes += argument->bytes_per_device;
    }
    qsort(kinds, *count, sizeof *kinds, by_bytes);
    return kinds;
}
