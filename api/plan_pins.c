/* constraints_from_plan without what does not count; see plan_pins.h. */
#include "api/plan_pins.h"

#include <string.h>

/* dims are checked where every constraint's are */
static enum error_code keep_list(struct json_at list, json_t *plan, const char *name, struct error *e)
{
    size_t count;
    TRY(json_list(list, PLAN_PINS_MAX, &count, e));
    json_t *out = json_array();
    json_object_set_new(plan, name, out);
    for (size_t i = 0; i < count; i++) {
        struct json_at item = json_item(&list, i), dims = json_member(&item, "dims");
        const char *tensor = NULL;
        if (!json_is_object(item.value))
            return json_refuse_to(e, item, ERROR_INVALID_PLAN, "an object is needed here");
        TRY(json_text(json_member(&item, "name"), 1000, &tensor, e));
        if (!tensor || !json_is_array(dims.value))
            return json_refuse_to(e, item, ERROR_INVALID_PLAN, "\"name\" and \"dims\" are needed");
        json_array_append_new(out, json_pack("{s:s, s:O}", "name", tensor, "dims", dims.value));
    }
    return ERROR_OK;
}

json_t *plan_pins_made_by(const json_t *plan)
{
    static const char *const kept[] = {"format",      "mesh",      "pins",    "pins_completed",
                                       "module_pins", "decisions", "factors", "hash"};
    if (!json_is_string(json_object_get(plan, "hash")))
        return NULL;
    json_t *out = json_object();
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (json_object_get(plan, kept[i]))
            json_object_set(out, kept[i], json_object_get(plan, kept[i]));
    return out;
}

enum error_code plan_pins_keep(json_t *request, struct error *e)
{
    struct json_at root = {request, ""}, plan = json_member(&root, "constraints_from_plan");
    if (!plan.value)
        return ERROR_OK;
    if (!json_is_object(plan.value))
        return json_refuse_to(e, plan, ERROR_INVALID_PLAN, "a plan.json is needed here");
    json_t *kept = plan_pins_made_by(plan.value);
    if (!kept)
        kept = json_object();
    enum error_code code = keep_list(json_member(&plan, "arguments"), kept, "arguments", e);
    if (code == ERROR_OK)
        code = keep_list(json_member(&plan, "results"), kept, "results", e);
    if (code != ERROR_OK) {
        json_decref(kept);
        return code;
    }
    if (!json_object_get(request, "mesh") && json_object_get(plan.value, "mesh"))
        json_object_set(request, "mesh", json_object_get(plan.value, "mesh"));
    json_object_set_new(request, "constraints_from_plan", kept);
    return ERROR_OK;
}

/* a name as a pattern that only this name fits */
static json_t *exactly(const char *name)
{
    struct text text = {0};
    for (; *name; name++) {
        if (strchr("*?[\\", *name))
            text_add_char(&text, '\\');
        text_add_char(&text, *name);
    }
    json_t *out = json_string(text.at ? text.at : "");
    text_release(&text);
    return out;
}

json_t *plan_pins_of(const json_t *request)
{
    static const char *const lists[][2] = {{"arguments", "argument"}, {"results", "result"}};
    json_t *out = json_array(), *item;
    size_t index;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const json_t *list = json_object_get(json_object_get(request, "constraints_from_plan"), lists[i][0]);
        json_array_foreach(list, index, item)
        {
            json_array_append_new(out, json_pack("{s:o, s:O}", lists[i][1],
                                                 exactly(json_string_value(json_object_get(item, "name"))),
                                                 "dims", json_object_get(item, "dims")));
        }
    }
    json_array_foreach(json_object_get(request, "constraints"), index, item)
    {
        json_array_append(out, item);
    }
    return out;
}
