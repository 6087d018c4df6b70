/* A look is a jansson value under another name, so that who looks needs no jansson; see look.h. */
#include "api/look.h"

#include "api/json.h"

#include <string.h>

static json_t *value_of(const struct look *look)
{
    return (json_t *)(uintptr_t)look;
}

static const struct look *look_of(const json_t *json)
{
    return (const struct look *)json;
}

struct look *look_parse(const char *text, size_t size)
{
    return (struct look *)json_loadb(text, size, JSON_DECODE_ANY, NULL);
}

void look_release(struct look *whole)
{
    json_decref(value_of(whole));
}

const struct look *look_get(const struct look *look, const char *path)
{
    json_t *at = value_of(look);
    while (at && *path) {
        char step[64]; /* longer than any member's name that is written */
        size_t n = strcspn(path, ".");
        if (n >= sizeof step)
            return NULL;
        memcpy(step, path, n);
        step[n] = 0;
        at = json_object_get(at, step);
        path += n + (path[n] == '.');
    }
    return look_of(at);
}

size_t look_count(const struct look *look)
{
    const json_t *at = value_of(look);
    return json_is_object(at) ? json_object_size(at) : json_array_size(at);
}

const struct look *look_item(const struct look *look, size_t i)
{
    return look_of(json_array_get(value_of(look), i));
}

static void *member(const struct look *look, size_t i)
{
    void *at = json_object_iter(value_of(look));
    while (at && i--)
        at = json_object_iter_next(value_of(look), at);
    return at;
}

const char *look_key(const struct look *look, size_t i)
{
    void *at = member(look, i);
    return at ? json_object_iter_key(at) : "";
}

const struct look *look_value(const struct look *look, size_t i)
{
    void *at = member(look, i);
    return at ? look_of(json_object_iter_value(at)) : NULL;
}

const char *look_text(const struct look *look)
{
    const char *text = json_string_value(value_of(look));
    return text ? text : "";
}

double look_number(const struct look *look)
{
    return json_number_value(value_of(look));
}

bool look_true(const struct look *look)
{
    return json_is_true(value_of(look));
}

bool look_there(const struct look *look)
{
    return look && !json_is_null(value_of(look));
}

char *look_pretty(const struct look *look)
{
    return look ? json_dumps(value_of(look), JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_ENCODE_ANY)
                : mem_strdup("");
}

char *look_compact(const struct look *look)
{
    return look ? json_compact(value_of(look)) : mem_strdup("");
}
