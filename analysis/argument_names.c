/* Names of arguments and results, so that a person can pin `params/layer_00/wq` (docs/analysis.md, Argument
 * names).
 *
 * In order: the request's; the location of the argument when it is a path (`params['layer_00']['wq']`, what
 * JAX prints with debug_info, or `params/layer_00/wq`); `jax.result_info` of the result that the argument
 * becomes; `arg17`. A path is printed with slashes: result[0]['layer_00']['wq'] -> 0/layer_00/wq, and a
 * leading number is told by the argument's role: params/.., state/N/.., cache/... Names are unique: a second
 * one gets `@17`. */
#include "analysis/stages.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* root['a'][0].mu -> a/0/mu, root/a/0 -> root/a/0, with the root kept unless it is "result"; NULL when the
 * text is no such path */
static char *path_of(struct arena *arena, const char *text, bool *numbered)
{
    struct text out = {0};
    const char *at = text;
    char *path = NULL;
    size_t root = strcspn(at, "[.'\" ()/:");
    if (root == 0)
        return NULL;
    if (root != 6 || strncmp(at, "result", 6) != 0)
        text_add_n(&out, at, root);
    at += root;
    *numbered = out.size == 0 && at[0] == '[' && at[1] >= '0' && at[1] <= '9';
    while (*at) {
        size_t size;
        if (out.size)
            text_add_char(&out, '/');
        if (at[0] == '[' && (at[1] == '\'' || at[1] == '"')) {
            const char *end = strchr(at + 2, at[1]);
            if (!end || end[1] != ']' || end == at + 2)
                goto out;
            text_add_n(&out, at + 2, (size_t)(end - at - 2));
            at = end + 2;
        } else if (at[0] == '[' || at[0] == '.' || at[0] == '/') {
            size = strcspn(at + 1, at[0] == '[' ? "]" : "[./'\" ():");
            if (size == 0 || (at[0] == '[' && !at[1 + size]))
                goto out;
            text_add_n(&out, at + 1, size);
            at += 1 + size + (at[0] == '[');
        } else {
            goto out;
        }
    }
    if (out.size)
        path = arena_strndup(arena, out.at, out.size);
out:
    text_release(&out);
    return path;
}

static const char *result_info(const struct nda *n, uint32_t result)
{
    const struct ir_attr *attrs = ir_function_result_attrs(n->program, n->function, result);
    const struct ir_attr *info = attrs ? ir_attr_entry(n->program, attrs, "jax.result_info") : NULL;
    return info && info->kind == IR_ATTR_STRING ? ir_string(n->program, info->first) : NULL;
}

static char *role_path(struct nda *n, uint32_t argument, char *path)
{
    char *rest = strchr(path, '/');
    switch ((enum nda_role)n->arguments[argument].role) {
    case NDA_ROLE_PARAMETER: return arena_printf(n->arena, "params%s%s", rest ? "" : "/", rest ? rest : path);
    case NDA_ROLE_CACHE: return arena_printf(n->arena, "cache%s%s", rest ? "" : "/", rest ? rest : path);
    case NDA_ROLE_OPTIMIZER: return arena_printf(n->arena, "state/%s", path);
    case NDA_ROLE_DATA: break;
    }
    return path;
}

const char *stage_given_name(const struct nda *n, uint32_t i, const struct nda_options *options)
{
    const char *given = options && i < options->argument_name_count ? options->argument_names[i] : NULL;
    bool numbered = false;
    if (given && *given)
        return given;
    return path_of(n->arena, ir_value_location(n->program, n->arguments[i].value), &numbered);
}

static char *own_name(struct nda *n, uint32_t i, const struct nda_options *options)
{
    const struct nda_argument *argument = &n->arguments[i];
    const char *given = stage_given_name(n, i, options);
    bool numbered = false;
    char *path = NULL;
    if (given)
        return arena_strndup(n->arena, given, strlen(given));
    if (argument->becomes != NDA_NONE && result_info(n, argument->becomes))
        path = path_of(n->arena, result_info(n, argument->becomes), &numbered);
    if (path)
        return numbered ? role_path(n, i, path) : path;
    return arena_printf(n->arena, "arg%u", i);
}

/* open addressing over the names given so far */
static bool take_name(const char **table, size_t mask, const char *name)
{
    size_t at = hash_bytes(name, strlen(name), 1) & mask;
    while (table[at]) {
        if (strcmp(table[at], name) == 0)
            return false;
        at = (at + 1) & mask;
    }
    table[at] = name;
    return true;
}

void stage_argument_names(struct nda *n, const struct nda_options *options)
{
    size_t mask = 15;
    const char **table;
    while (mask < 4u * n->argument_count)
        mask = mask * 2 + 1;
    table = mem_zalloc(mask + 1, sizeof *table);
    for (uint32_t i = 0; i < n->argument_count; i++) {
        char *name = own_name(n, i, options);
        for (uint32_t k = i; !take_name(table, mask, name); k += n->argument_count)
            name = arena_printf(n->arena, "%s@%u", name, k);
        n->arguments[i].name = name;
    }
    free(table);
    n->result_names = arena_alloc(n->arena, sizeof *n->result_names * ((size_t)n->result_count + 1));
    for (uint32_t k = 0; k < n->result_count; k++) {
        bool numbered;
        char *path = result_info(n, k) ? path_of(n->arena, result_info(n, k), &numbered) : NULL;
        n->result_names[k] = path ? path : arena_printf(n->arena, "result%u", k);
    }
    for (uint32_t i = 0; i < n->argument_count; i++)
        if (n->arguments[i].updated)
            n->result_names[n->arguments[i].becomes] = n->arguments[i].name;
}
