/* Reading and writing of JSON values; see json.h. */
#include "api/json.h"

#include "analysis/nda.h"

#include "base/encode.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A parsed value takes some hundred bytes: values are counted before any is made. */
static enum error_code count_values(const char *text, size_t size, size_t max_keys, struct error *e)
{
    size_t keys = 0, values = 0, line_start = 0;
    int line = 1;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        char character = text[i];
        if (in_string && character == '\\') {
            i++;
        } else if (character == '"') {
            in_string = !in_string;
        } else if (character == '\n') {
            line++;
            line_start = i + 1;
        } else if (!in_string) {
            keys += character == ':';
            values += character == ',' || character == '[' || character == '{';
        }
        if (keys > max_keys || values > max_keys * JSON_VALUES_A_KEY)
            return error_set_at(e, ERROR_INVALID_JSON, line, (int)(i - line_start) + 1,
                                "one JSON document may have at most %zu members and %zu values", max_keys,
                                max_keys * JSON_VALUES_A_KEY);
    }
    return ERROR_OK;
}

enum error_code json_parse(const char *text, size_t size, size_t max_keys, json_t **out, struct error *e)
{
    json_error_t failure;
    enum error_code code = count_values(text, size, max_keys, e);
    if (code != ERROR_OK)
        return code;
    *out = json_loadb(text, size, JSON_REJECT_DUPLICATES, &failure);
    if (*out)
        return ERROR_OK;
    return error_set_at(e, ERROR_INVALID_JSON, failure.line > 0 ? failure.line : 1,
                        failure.column > 0 ? failure.column : 1, "not valid JSON: %s", failure.text);
}

struct json_at json_member(const struct json_at *object, const char *key)
{
    struct json_at at = {json_object_get(object->value, key), ""};
    snprintf(at.pointer, sizeof at.pointer, "%.100s/%.50s", object->pointer, key);
    return at;
}

struct json_at json_item(const struct json_at *array, size_t index)
{
    struct json_at at = {json_array_get(array->value, index), ""};
    snprintf(at.pointer, sizeof at.pointer, "%.130s/%zu", array->pointer, index);
    return at;
}

enum error_code json_refuse_to(struct error *e, struct json_at at, enum error_code code, const char *format,
                               ...)
{
    char message[700];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    return error_set_pointer(e, code, at.pointer, "%s", message);
}

enum error_code json_only(const struct json_at *object, const char *const *known, struct error *e)
{
    if (!json_is_object(object->value))
        return json_refuse_to(e, *object, ERROR_INVALID_REQUEST, "an object is needed here");
    const char *key;
    json_t *value;
    json_object_foreach(object->value, key, value)
    {
        bool found = false;
        for (int i = 0; known[i] && !found; i++)
            found = strcmp(known[i], key) == 0;
        if (found)
            continue;
        struct json_at member = *object;
        char safe[60];
        size_t n = 0;
        for (const char *at = key; *at && n < sizeof safe - 1; at++)
            safe[n++] = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z') ||
                                (*at >= '0' && *at <= '9') || *at == '_'
                            ? *at
                            : '?';
        safe[n] = 0;
        struct text list = {0};
        for (int i = 0; known[i]; i++)
            text_printf(&list, "%s%s", i ? ", " : "", known[i]);
        size_t at = strlen(member.pointer);
        snprintf(member.pointer + at, sizeof member.pointer - at, "/%s", safe);
        enum error_code code = json_refuse_to(e, member, ERROR_INVALID_REQUEST,
                                              "unknown field '%s'; known here: %s", safe, list.at);
        text_release(&list);
        return code;
    }
    return ERROR_OK;
}

enum error_code json_int(struct json_at at, int64_t low, int64_t high, int64_t *out, struct error *e)
{
    if (!at.value)
        return ERROR_OK;
    if (!json_is_integer(at.value))
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST,
                              "an integer is needed here (without '.' or exponent)");
    int64_t n = json_integer_value(at.value);
    if (n < low || n > high)
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST, "%lld is out of range: %lld to %lld",
                              (long long)n, (long long)low, (long long)high);
    *out = n;
    return ERROR_OK;
}

enum error_code json_number(struct json_at at, double low, double high, double *out, struct error *e)
{
    if (!at.value)
        return ERROR_OK;
    if (!json_is_number(at.value))
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST, "a number is needed here");
    double n = json_number_value(at.value);
    if (!(n >= low && n <= high))
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST, "%g is out of range: %g to %g", n, low, high);
    *out = n;
    return ERROR_OK;
}

enum error_code json_bool(struct json_at at, bool *out, struct error *e)
{
    if (!at.value)
        return ERROR_OK;
    if (!json_is_boolean(at.value))
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST, "true or false is needed here");
    *out = json_is_true(at.value);
    return ERROR_OK;
}

enum error_code json_text(struct json_at at, size_t max_size, const char **out, struct error *e)
{
    if (!at.value)
        return ERROR_OK;
    if (!json_is_string(at.value))
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST, "a string is needed here");
    if (json_string_length(at.value) > max_size)
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST, "a string of at most %zu bytes is needed here",
                              max_size);
    *out = json_string_value(at.value);
    return ERROR_OK;
}

enum error_code json_list(struct json_at at, size_t max, size_t *count, struct error *e)
{
    *count = 0;
    if (!at.value)
        return ERROR_OK;
    if (!json_is_array(at.value))
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST, "an array is needed here");
    if (json_array_size(at.value) > max)
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST, "at most %zu items are allowed here", max);
    *count = json_array_size(at.value);
    return ERROR_OK;
}

char *json_compact(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    BASE_CHECK(text);
    return text;
}

char *json_pretty(const json_t *value)
{
    char *text = json_dumps(value, JSON_INDENT(1) | JSON_ENCODE_ANY | JSON_REAL_PRECISION(9));
    BASE_CHECK(text);
    struct text out = {0};
    text_add(&out, text);
    text_add_char(&out, '\n');
    free(text);
    return out.at;
}

json_t *json_safe(const char *text)
{
    json_t *value = json_string(text);
    if (value)
        return value;
    struct text other_text = {0};
    for (const unsigned char *s = (const unsigned char *)text; *s;) {
        size_t n = encode_utf8_size(s, SIZE_MAX);
        text_add_n(&other_text, n ? (const char *)s : "?", n ? n : 1);
        s += n ? n : 1;
    }
    value = json_string(other_text.at ? other_text.at : "");
    text_release(&other_text);
    return value;
}

enum error_code json_given_rules(struct json_at at, struct arena *arena, const struct nda_given_rule **out,
                                 uint32_t *count, struct error *e)
{
    const char *key;
    json_t *value;
    *count = 0;
    if (!at.value)
        return ERROR_OK;
    if (!json_is_object(at.value))
        return json_refuse_to(
            e, at, ERROR_INVALID_REQUEST,
            "an object is needed: {\"target of the custom call\": \"([i, j])->([i, j]) {i=8, j=16}\"}");
    struct nda_given_rule *list = arena_alloc(arena, (json_object_size(at.value) + 1) * sizeof *list);
    json_object_foreach(at.value, key, value)
    {
        const char *text = "";
        struct json_at item = json_member(&at, key);
        TRY(json_text(item, 4000, &text, e));
        if (!strchr(text, '(') || !strstr(text, "->"))
            return json_refuse_to(
                e, item, ERROR_INVALID_REQUEST,
                "a rule is written as Shardy does: ([i, j], [j, k])->([i, k]) {i=8, j=4, k=2}");
        list[(*count)++] = (struct nda_given_rule){arena_strndup(arena, key, strlen(key)),
                                                   arena_strndup(arena, text, strlen(text))};
    }
    *out = list;
    return ERROR_OK;
}
