/* /ui/compare?jobs=A,B: two to eight jobs side by side: price, decisions, and the shardings that differ.
 * Only shows; the comparison as JSON is resources/compare.c. */
#include "report/report.h"
#include "server/ui/handlers.h"
#include "server/ui/ui.h"

enum { MOST = 8, SHOWN_DIFFERENCES = 200 };

struct side {
    char name[80];
    struct queue_fields job;
    struct look *plan, *report;
};

/* ids separated by commas or blanks */
static size_t take_names(const char *list, struct side sides[MOST])
{
    size_t count = 0;
    while (*list && count < MOST) {
        size_t n = strcspn(list, ", \t\r\n");
        if (n > 0 && n < sizeof sides[0].name)
            snprintf(sides[count++].name, sizeof sides[0].name, "%.*s", (int)n, list);
        list += n;
        list += strspn(list, ", \t\r\n");
    }
    return count;
}

static enum error_code load(struct exchange *exchange, struct side *sides, size_t count, struct error *e)
{
    char id[QUEUE_ID_SIZE];
    for (size_t i = 0; i < count; i++) {
        enum error_code code = job_load(exchange, sides[i].name, id, &sides[i].job, e);
        if (code != ERROR_OK)
            return code;
        sides[i].plan = ui_artifact(exchange, &sides[i].job, "plan.json");
        sides[i].report = ui_artifact(exchange, &sides[i].job, "report.json");
    }
    return ERROR_OK;
}

enum cell { CELL_TIME, CELL_BYTES, CELL_NUMBER, CELL_TEXT, CELL_FITS };

static void write_cell(struct text *text, const struct look *look, enum cell kind, bool best)
{
    char value[32];
    html_add(text, best ? "<td class=\"num best\">" : "<td class=\"num\">");
    if (!look_there(look)) {
        text_add(text, "–</td>");
        return;
    }
    switch (kind) {
    case CELL_TIME:
        html_format_time(look_number(look), value);
        html_text(text, value);
        break;
    case CELL_BYTES:
        html_format_bytes(look_number(look), value);
        html_text(text, value);
        break;
    case CELL_NUMBER: html_add(text, "%.5g", look_number(look)); break;
    case CELL_TEXT: html_text(text, look_text(look)); break;
    case CELL_FITS:
        html_add(text, "<span class=\"badge %s\">%s</span>", look_true(look) ? "good" : "bad",
                 look_true(look) ? "yes" : "no");
        break;
    }
    text_add(text, best ? " <span class=\"note\">least</span></td>" : "</td>");
}

static void write_prices(struct text *text, const struct side *sides, size_t count)
{
    static const struct {
        const char *name, *path;
        enum cell kind;
        bool least;
    } rows[] = {{"Step time", "summary.step_ps", CELL_TIME, true},
                {"Peak memory a device", "summary.peak_bytes", CELL_BYTES, true},
                {"Memory limit", "summary.memory_limit_bytes", CELL_BYTES, false},
                {"Fits", "summary.fits", CELL_FITS, false},
                {"Cost", "summary.cost", CELL_NUMBER, true},
                {"Compute", "time.compute_ps", CELL_TIME, false},
                {"Communication", "time.communication_ps", CELL_TIME, true},
                {"of it exposed", "time.exposed_ps", CELL_TIME, true},
                {"Found by", "summary.found_by", CELL_TEXT, false},
                {"Rollouts", "search.rollouts", CELL_NUMBER, false},
                {"Device", "provenance.machine.device", CELL_TEXT, false},
                {"Proof", "proof.status", CELL_TEXT, false}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        double least = 0, most = 0;
        size_t there = 0;
        for (size_t i = 0; i < count; i++) {
            const struct look *look = look_get(sides[i].report, rows[r].path);
            if (look_there(look) && (there++ == 0 || look_number(look) < least))
                least = look_number(look);
            if (look_there(look) && look_number(look) > most)
                most = look_number(look);
        }
        html_add(text, "<tr><th scope=\"row\">%s</th>", rows[r].name);
        for (size_t i = 0; i < count; i++) {
            const struct look *look = look_get(sides[i].report, rows[r].path);
            write_cell(text, look, rows[r].kind,
                       rows[r].least && there > 1 && most > least && look_there(look) &&
                           look_number(look) <= least);
        }
        text_add(text, "</tr>");
    }
}

static void write_mesh(struct text *text, const struct side *sides, size_t count)
{
    text_add(text, "<tr><th scope=\"row\">Mesh</th>");
    for (size_t i = 0; i < count; i++) {
        const struct look *axes = look_get(sides[i].plan, "mesh.axes");
        text_add(text, "<td class=\"num\">");
        for (size_t axis = 0; axis < look_count(axes); axis++)
            html_add(text, "%s%s=%.0f", axis ? " × " : "", look_text(look_get(look_item(axes, axis), "name")),
                     look_number(look_get(look_item(axes, axis), "size")));
        text_add(text, look_count(axes) ? "</td>" : "–</td>");
    }
    text_add(text, "</tr><tr><th scope=\"row\">Decisions, in order</th>");
    for (size_t i = 0; i < count; i++) {
        const struct look *list = look_get(sides[i].report, "decisions");
        char worth[48];
        if (look_count(list) == 0) {
            text_add(text, "<td class=\"num muted\">none</td>");
            continue;
        }
        text_add(text, "<td class=\"decisions\"><ol>");
        for (size_t d = 0; d < look_count(list); d++) {
            double w = look_number(look_get(look_item(list, d), "worth_ps"));
            report_worth((int64_t)w, worth);
            html_add(text, "<li>%s <span class=\"note\">%s</span></li>",
                     look_text(look_get(look_item(list, d), "decision")), worth);
        }
        text_add(text, "</ol></td>");
    }
    text_add(text, "</tr>");
}

static const char *spec_of(const struct side *side, size_t i)
{
    return look_text(look_get(look_item(look_get(side->plan, "arguments"), i), "partition_spec"));
}

static void write_differences(struct text *text, const struct side *sides, size_t count)
{
    size_t shown = 0, more = 0, arguments = look_count(look_get(sides[0].plan, "arguments"));
    for (size_t i = 1; i < count; i++)
        if (strcmp(queue_field(&sides[i].job, "module"), queue_field(&sides[0].job, "module")) != 0) {
            text_add(text, "<p class=\"muted\">The jobs are of different modules: their arguments are not "
                           "compared.</p>");
            return;
        }
    ui_card(text, "differences", "Arguments whose sharding differs", true);
    for (size_t a = 0; a < arguments; a++) {
        bool same = true;
        for (size_t i = 1; i < count; i++)
            same &= strcmp(spec_of(&sides[i], a), spec_of(&sides[0], a)) == 0;
        if (same)
            continue;
        if (shown == SHOWN_DIFFERENCES) {
            more++;
            continue;
        }
        if (shown++ == 0)
            text_add(text, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" "
                           "aria-label=\"Differences\"><table><tbody>");
        html_add(text, "<tr><th scope=\"row\">%s</th>",
                 look_text(look_get(look_item(look_get(sides[0].plan, "arguments"), a), "name")));
        for (size_t i = 0; i < count; i++)
            html_add(text, "<td><code>%s</code></td>",
                     spec_of(&sides[i], a)[0] ? spec_of(&sides[i], a) : "–");
        text_add(text, "</tr>");
    }
    text_add(text, shown ? "</tbody></table></div>" : "<p class=\"empty\">None.</p>");
    if (more)
        html_add(text, "<p class=\"muted\">and %zu more</p>", more);
    ui_card_end(text);
}

static void write_form(struct text *text, const char *list)
{
    html_add(text,
             "<form class=\"filter\" method=\"get\" action=\"/ui/compare\"><label class=\"grow\">Jobs, "
             "separated by commas <input "
             "name=\"jobs\" value=\"%s\" spellcheck=\"false\" "
             "autocomplete=\"off\"></label><button>Compare</button></form>",
             list);
}

static void write_sides(struct text *text, const struct side *sides, size_t count)
{
    ui_card(text, "sides", "Side by side", true);
    text_add(text, "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Side by side\"><table "
                   "class=\"compare\"><thead><tr><td></td>");
    for (size_t i = 0; i < count; i++) {
        text_add(text, "<th scope=\"col\" class=\"num\">");
        ui_job_link(text, sides[i].name);
        text_add(text, " ");
        ui_state(text, queue_field(&sides[i].job, "state"));
        text_add(text, "</th>");
    }
    text_add(text, "</tr></thead><tbody>");
    write_prices(text, sides, count);
    write_mesh(text, sides, count);
    text_add(text, "</tbody></table></div>");
    ui_card_end(text);
}

void handle_ui_compare(struct exchange *exchange)
{
    struct side sides[MOST] = {0};
    struct ui_page page;
    struct error e;
    char list[700] = "";
    request_query(exchange, "jobs", list, sizeof list);
    size_t count = take_names(list, sides);
    enum error_code code = load(exchange, sides, count, &e);
    if (code == ERROR_OK) {
        ui_begin(&page, exchange, UI_COMPARE, "Compare", 0);
        text_add(&page.text, "<header class=\"top\"><h1>Compare</h1></header>");
        write_form(&page.text, list);
        if (count == 0)
            text_add(&page.text,
                     "<section class=\"card empty\"><h2>Two to eight jobs</h2><p>Their ids stand on "
                     "the list of jobs.</p></section>");
        else
            write_sides(&page.text, sides, count);
        if (count > 1)
            write_differences(&page.text, sides, count);
        ui_end(&page, 200);
    }
    for (size_t i = 0; i < count; i++) {
        queue_fields_release(&sides[i].job);
        look_release(sides[i].plan);
        look_release(sides[i].report);
    }
    if (code != ERROR_OK)
        ui_problem(exchange, NULL, &e);
}
