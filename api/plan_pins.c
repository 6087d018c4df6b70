/* constraints_from_plan -> constraints; see plan_pins.h. */
#include "api/plan_pins.h"

#include <stdlib.h>
#include <string.h>

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

/* dims are checked where every constraint's are */
static enum error_code add_list(struct json_at list, const char *what, json_t *out, struct error *e)
{
    size_t count;
    TRY(json_list(list, PLAN_PINS_MAX, &count, e));
    for (size_t i = 0; i < count; i++) {
        struct json_at item = json_item(&list, i), dims = json_member(&item, "dims");
        const char *name = NULL;
        if (!json_is_object(item.value))
            return json_refuse_to(e, item, ERROR_INVALID_PLAN, "an object is needed here");
        TRY(json_text(json_member(&item, "name"), 1000, &name, e));
        if (!name || !json_is_array(dims.value))
            return json_refuse_to(e, item, ERROR_INVALID_PLAN, "\"name\" and \"dims\" are needed");
        json_array_append_new(out, json_pack("{s:o, s:O}", what, exactly(name), "dims", dims.value));
    }
    return ERROR_OK;
}

/* The plan without what is only read: what makes it again. NULL: it says no more than its shardings. */
static json_t *what_makes_it(const json_t *plan)
{
    static const char *const kept[] = {
        "format", "mesh", "pins", "pins_completed", "module_pins", "decisions", "factors", "hash", NULL};
    if (!json_is_string(json_object_get(plan, "hash")))
        return NULL;
    json_t *out = json_object();
    for (int i = 0; kept[i]; i++)
        if (json_object_get(plan, kept[i]))
            json_object_set(out, kept[i], json_object_get(plan, kept[i]));
    return out;
}

enum error_code plan_pins_expand(json_t *request, struct error *e)
{
    struct json_at root = {request, ""}, plan = json_member(&root, "constraints_from_plan");
    if (!plan.value)
        return ERROR_OK;
    if (!json_is_object(plan.value))
        return json_refuse_to(e, plan, ERROR_INVALID_PLAN, "a plan.json is needed here");
    json_t *all = json_array();
    enum error_code code = add_list(json_member(&plan, "arguments"), "argument", all, e);
    if (code == ERROR_OK)
        code = add_list(json_member(&plan, "results"), "result", all, e);
    if (code != ERROR_OK) {
        json_decref(all);
        return code;
    }
    json_t *own = json_object_get(request, "constraints");
    if (own && !json_is_array(own)) {
        json_decref(all); /* refused where constraints are decoded */
        return ERROR_OK;
    }
    if (own)
        json_array_extend(all, own);
    json_object_set_new(request, "constraints", all);
    if (!json_object_get(request, "mesh") && json_object_get(plan.value, "mesh"))
        json_object_set(request, "mesh", json_object_get(plan.value, "mesh"));
    json_t *rest = what_makes_it(plan.value);
    if (rest)
        json_object_set_new(request, "constraints_from_plan", rest);
    else
        json_object_del(request, "constraints_from_plan");
    return ERROR_OK;
}
