/* Of /ui/what-if?job=ID&dimension=NAME: one dimension of the plan (a group, as plan.json's arguments name
 * theirs) and the axes that it may be cut over, as boxes to tick; and what was ticked, as the "cut" of
 * POST /v1/price. */
#include "server/ui/cut.h"

enum { MEMBERS = 6 }; /* tensors that are named */

/* the group's name among those of an argument's dimension; NULL: it has it not */
static const struct look *group_in(const struct look *argument, size_t dim, const char *dimension)
{
    const struct look *names = look_item(look_get(argument, "groups"), dim);
    for (size_t i = 0; i < look_count(names); i++)
        if (strcmp(look_text(look_item(names, i)), dimension) == 0)
            return look_item(names, i);
    return NULL;
}

/* the first place that has the dimension; NULL: no argument has it */
static const struct look *find(const struct look *plan, const char *dimension, const struct look **axes)
{
    const struct look *arguments = look_get(plan, "arguments");
    for (size_t i = 0; i < look_count(arguments); i++) {
        const struct look *argument = look_item(arguments, i), *dims = look_get(argument, "dims");
        for (size_t dim = 0; dim < look_count(dims); dim++) {
            const struct look *name = group_in(argument, dim, dimension);
            if (name) {
                *axes = look_item(dims, dim);
                return name;
            }
        }
    }
    return NULL;
}

bool ui_cut_known(const struct look *plan, const char *dimension)
{
    const struct look *axes;
    return find(plan, dimension, &axes) != NULL;
}

static bool posted(struct exchange *exchange, const char *axis)
{
    char *value;
    bool found = false;
    for (size_t i = 0; !found && (value = ui_field(exchange, "axis", i)); i++) {
        found = strcmp(value, axis) == 0;
        free(value);
    }
    return found;
}

void ui_cut_json(struct exchange *exchange, const struct look *plan, const char *dimension, struct text *out)
{
    const struct look *mesh = look_get(plan, "mesh.axes"), *axes;
    const struct look *name = find(plan, dimension, &axes);
    size_t count = 0;
    if (!name)
        return;
    char *group = look_compact(name);
    text_printf(out, "\"cut\":{%s:[", group);
    for (size_t i = 0; i < look_count(mesh); i++) {
        const struct look *axis = look_get(look_item(mesh, i), "name");
        char *json = look_compact(axis);
        if (posted(exchange, look_text(axis)))
            text_printf(out, "%s%s", count++ ? "," : "", json);
        free(json);
    }
    text_add(out, "]},");
    free(group);
}

static void write_members(struct text *text, const struct look *plan, const char *dimension)
{
    const struct look *arguments = look_get(plan, "arguments");
    size_t count = 0;
    text_add(text, "<p class=\"muted\">It is a dimension of ");
    for (size_t i = 0; i < look_count(arguments); i++) {
        const struct look *argument = look_item(arguments, i);
        bool has = false;
        for (size_t dim = 0; dim < look_count(look_get(argument, "groups")); dim++)
            has |= group_in(argument, dim, dimension) != NULL;
        if (has && count++ < MEMBERS)
            html_add(text, "%s<code>%s</code>", count > 1 ? ", " : "", look_text(look_get(argument, "name")));
    }
    if (count > MEMBERS)
        html_add(text, " and %zu more arguments", count - MEMBERS);
    text_add(text, ". What else the plan says follows where it still can.</p>");
}

static bool has_axis(const struct look *axes, const char *axis)
{
    for (size_t i = 0; i < look_count(axes); i++)
        if (strcmp(look_text(look_item(axes, i)), axis) == 0)
            return true;
    return false;
}

void ui_cut_card(struct ui_page *page, const struct look *plan, const char *path, const char *dimension,
                 bool again)
{
    const struct look *mesh = look_get(plan, "mesh.axes"), *axes = NULL;
    struct text *text = &page->text;
    find(plan, dimension, &axes);
    ui_form(page, path, "card");
    html_add(text, "<h2>Cut <code>%s</code></h2>", dimension);
    write_members(text, plan, dimension);
    html_add(text,
             "<input type=\"hidden\" name=\"dimension\" value=\"%s\"><fieldset class=\"filter\">"
             "<legend>Over the axes</legend>",
             dimension);
    for (size_t i = 0; i < look_count(mesh); i++) {
        const char *axis = look_text(look_get(look_item(mesh, i), "name"));
        bool ticked = again ? posted(page->exchange, axis) : has_axis(axes, axis);
        html_add(text, "<label><input type=\"checkbox\" name=\"axis\" value=\"%s\"%s> %s (%.0f)</label>",
                 axis, ticked ? " checked" : "", axis, look_number(look_get(look_item(mesh, i), "size")));
    }
    text_add(text, "</fieldset><div class=\"actions\"><button class=\"primary\">Price</button><span "
                   "class=\"muted\">None ticked: it stays whole.</span></div></form>");
}
