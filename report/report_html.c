/* report.html: the report as one file that needs nothing else. Most important first, as in report.txt; every
 * picture has its numbers in a table below it. Equal reports give equal bytes. */
#include "report/report_html.h"
#include "report/advice.h"
#include "report/classes.h"
#include "report/whole.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char report_style[];

enum { SHOWN_WARNINGS = 200 }; /* the page says how many more report.json has */

bool report_html_fits(const struct report *report, const struct price *price)
{
    return price->peak_bytes <= report->memory_limit_bytes;
}

static void mesh_text(const struct mesh *mesh, struct text *text)
{
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        html_add(text, "%s%s=%lld", axis ? " × " : "", mesh->axes[axis].name,
                 (long long)mesh->axes[axis].size);
}

static void write_head(const struct report *report, struct text *text)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    bool fits = report_html_fits(report, &report->price);
    text_add(text, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                   "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                   "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                   "'unsafe-inline'; img-src data:; "
                   "base-uri 'none'; form-action 'none'\"><title>TOAST plan: ");
    mesh_text(mesh, text);
    html_add(text, " of %s</title><style>", evaluator_machine(report->evaluator)->device.name);
    text_add(text, (const char *)report_style);
    text_add(text, "</style></head>\n<body><main><header class=\"top\"><h1>Plan for ");
    mesh_text(mesh, text);
    html_add(text, " of %s</h1><span class=\"badge %s\">%s</span>",
             evaluator_machine(report->evaluator)->device.name, fits ? "good" : "bad",
             fits ? "fits" : "does not fit");
    if (strcmp(report->proof_status, "not_run") != 0)
        html_add(text, "<span class=\"badge %s\">proof: %s</span>",
                 strcmp(report->proof_status, "equal") == 0 ? "good" : "bad", report->proof_status);
    char cuts[160];
    report_cuts_text(report, cuts, sizeof cuts);
    if (!report->reproducible)
        html_add(text, "<span class=\"badge warn\">cut by time%s%s</span>", *cuts ? ": " : "", cuts);
    html_add(text, "<p>Module <code>%.12s</code></p></header>\n", report->module_digest);
}

static void tile(struct text *text, const char *name, const char *value, const char *note)
{
    html_add(text, "<div class=\"tile\"><dt>%s</dt><dd%s", name,
             strlen(value) > 14 ? " class=\"small\"" : "");
    html_add(text, ">%s<span class=\"note\">%s</span></dd></div>", value, note);
}

static void write_tiles(const struct report *report, struct text *text)
{
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    char value[64], note[240], one[32], two[32], parts[REPORT_PARTS_SIZE];
    struct report_baseline *sorted = report_baselines_sorted(report);
    text_add(text, "<dl class=\"tiles\">");
    report_time(report->price.step_ps, value);
    tile(text, "Step time", value, "estimated");
    report_bytes(report->price.peak_bytes, value);
    report_bytes(report->memory_limit_bytes, one);
    snprintf(note, sizeof note, "%.0f %% of the limit, %s",
             100.0 * (double)report->price.peak_bytes / (double)report->memory_limit_bytes, one);
    tile(text, "Peak memory a device", value, note);
    uint32_t best = 0; /* other planners' plans race as well: they are no experts' */
    while (best < report->baseline_count && report_is_planner(sorted[best].name))
        best++;
    if (best < report->baseline_count) {
        bool fits = report_html_fits(report, &sorted[best].price);
        snprintf(value, sizeof value, "%.2f×",
                 (double)sorted[best].price.step_ps /
                     (double)(report->price.step_ps ? report->price.step_ps : 1));
        snprintf(note, sizeof note, "%s%s", sorted[best].name, fits ? "" : " (which does not fit)");
        tile(text, "Speed against the best expert plan", value, note);
    }
    if (report->has_bound) {
        report_time(report->bound_ps, one);
        snprintf(note, sizeof note, "no plan that fits takes less: within a factor of %.3f",
                 (double)report->price.step_ps / (double)(report->bound_ps > 0 ? report->bound_ps : 1));
        tile(text, "Certified bound", one, note);
    }
    if (report->segments.present && report->segments.blocks) {
        report_time(report->segments.composed_ps, one);
        report_time(report->segments.step_ps, two);
        report_segments_parts(&report->segments, parts);
        snprintf(note, sizeof note,
                 "composed of %u segments of %u kinds%s; the whole price of that plan is %s",
                 report->segments.segments, report->segments.kinds, parts, two);
        tile(text, "Segments", one, note);
    }
    const struct price *alone = evaluator_unsharded(report->evaluator);
    report_time(alone->step_ps, one);
    report_bytes(alone->peak_bytes, two);
    snprintf(value, sizeof value, "%.3g×",
             (double)alone->step_ps / (double)(report->price.step_ps ? report->price.step_ps : 1));
    snprintf(note, sizeof note, "%s, %s on one", one, two);
    tile(text, "Speed against one device", value, note);
    html_count((uint64_t)mesh_devices(mesh), value);
    tile(text, "Devices", value, evaluator_machine(report->evaluator)->device.name);
    snprintf(value, sizeof value, "%.4f", cost_value(report->cost));
    report_cost_note(report, note, sizeof note);
    tile(text, "Cost", value, note);
    tile(text, "Found by", report->plan.found_by,
         report->reproducible ? "reproducible" : "cut by time: not reproducible");
    tile(text, "Proof", strcmp(report->proof_status, "not_run") == 0 ? "not run" : report->proof_status,
         report->proof_reason);
    text_add(text, "</dl>\n");
    free(sorted);
}

static void write_nothing_fits(const struct report *report, struct text *text)
{
    char need[32], over[32];
    struct text lines = {0};
    if (!report->smallest_budget_bytes)
        return;
    report_bytes(report->smallest_budget_bytes, need);
    report_bytes(report->smallest_budget_bytes - report->memory_limit_bytes, over);
    html_add(text,
             "<section class=\"notice\"><h2>Nothing fits</h2><p>The best plan found needs %s a device, %s "
             "over the limit. Ways out, estimated, one at a time:</p><ul>",
             need, over);
    report_advice_lines(report, &lines);
    for (char *line = strtok(lines.at, "\n"); line; line = strtok(NULL, "\n"))
        html_add(text, "<li>%s</li>", line);
    text_add(text, "</ul></section>\n");
    text_release(&lines);
}

/* a section of report.txt as it stands there, without its heading and the line under it */
static void write_as_text(const char *id, const char *title, const struct text *section, struct text *text)
{
    const char *body = section->at ? strchr(section->at + 1, '\n') : NULL;
    body = body ? strchr(body + 1, '\n') : NULL;
    if (!body)
        return;
    html_add(text,
             "<section class=\"card wide\" id=\"%s\"><h2>%s</h2><div class=\"scroll\" tabindex=\"0\" "
             "role=\"group\" aria-label=\"%s\"><pre>%s</pre></div></section>\n",
             id, title, title, body + 1);
}

static void write_explanations(const struct report *report, struct text *text)
{
    struct text constraints = {0}, classes = {0};
    report_html_whole(report, text);
    report_text_classes(report, &classes);
    report_text_constraints(report, &constraints);
    write_as_text("classes", "How weights and activations lie", &classes, text);
    write_as_text("constraints", "What to write into the model", &constraints, text);
    text_release(&classes);
    text_release(&constraints);
}

static void write_conflicts(const struct report *report, struct text *text)
{
    char step[32], peak[32];
    if (report->conflict_count == 0)
        return;
    text_add(text, "<section class=\"card wide\" id=\"conflicts\"><h2>Conflicts</h2><p "
                   "class=\"muted\">Dimensions that cannot be split "
                   "alike everywhere; the price of the side that was not taken.</p><div class=\"scroll\" "
                   "tabindex=\"0\" role=\"group\" "
                   "aria-label=\"Conflicts\"><table><thead><tr><th>Group</th><th class=\"num\">Bit</th><th "
                   "class=\"num\">Conflicts</th>"
                   "<th class=\"num\">Sets</th><th>Side</th><th class=\"num\">Other side's step</th><th "
                   "class=\"num\">Other side's "
                   "peak</th></tr></thead><tbody>");
    for (uint32_t i = 0; i < report->conflict_count; i++) {
        struct report_conflict sum;
        const struct report_conflict *conflict = &sum;
        uint32_t bits = report_conflicts_alike(report, i, &sum);
        if (bits == 0)
            continue;
        html_add(text, "<tr><td class=\"long\">%s</td><td class=\"num\">%u%s</td>", sum.group,
                 bits > 1 ? bits : sum.bit, bits > 1 ? " bits" : "");
        html_add(text, "<td class=\"num\">%u</td><td class=\"num\">%u</td>", sum.conflicts, sum.sets);
        if (conflict->decision < 0) {
            html_add(text, "<td class=\"muted\">%s</td><td class=\"num\">–</td><td class=\"num\">–</td></tr>",
                     conflict->by_choices ? "op by op" : "not sharded");
            continue;
        }
        if (!conflict->priced) {
            html_add(text, "<td>%u</td><td class=\"num\">not priced</td><td class=\"num\">–</td></tr>",
                     (unsigned)conflict->side);
            continue;
        }
        report_time(conflict->other_step_ps, step);
        report_bytes(conflict->other_peak_bytes, peak);
        html_add(text, "<td>%u</td><td class=\"num\">%s</td><td class=\"num\">%s</td></tr>",
                 (unsigned)conflict->side, step, peak);
    }
    text_add(text, "</tbody></table></div></section>\n");
}

static void write_warnings(const struct report *report, struct text *text)
{
    if (report->warning_count == 0)
        return;
    text_add(text, "<section class=\"card wide\" id=\"warnings\"><h2>Warnings</h2><ul class=\"plain\">");
    for (uint32_t i = 0; i < report->warning_count && i < SHOWN_WARNINGS; i++)
        html_add(text, "<li>%s</li>", report->warnings[i]);
    text_add(text, "</ul>");
    if (report->warning_count > SHOWN_WARNINGS)
        html_add(text, "<p class=\"muted\">and %u more in report.json</p>",
                 report->warning_count - SHOWN_WARNINGS);
    text_add(text, "</section>\n");
}

static void write_foot(const struct report *report, struct text *text)
{
    char hash[33];
    hash128_format(report->plan.hash, hash);
    html_add(text,
             "<footer>Module sha256:%s · plan %s · seed %llu · TOAST " TOAST_VERSION
             "</footer></main></body></html>\n",
             report->module_digest, hash, (unsigned long long)report->seed);
}

void report_html(const struct report *report, struct text *text)
{
    size_t from = text->size;
    write_head(report, text);
    write_tiles(report, text);
    write_nothing_fits(report, text);
    text_add(text, "<div class=\"columns\"><div class=\"column\">");
    report_html_against(report, text);
    report_html_memory(report, text);
    text_add(text, "</div><div class=\"column\">");
    report_html_time(report, text);
    report_html_lanes(report, text);
    report_html_peak(report, text);
    text_add(text, "</div>");
    report_html_shards(report, text);
    text_add(text, "<div class=\"column\">");
    report_html_decisions(report, text);
    text_add(text, "</div><div class=\"column\">");
    report_html_search(report, text);
    report_html_mesh(report, text);
    text_add(text, "</div>");
    report_html_alternatives(report, text);
    report_html_referee(report, text);
    report_html_communication(report, text);
    write_conflicts(report, text);
    write_explanations(report, text);
    write_warnings(report, text);
    report_html_boundary(report, text);
    text_add(text, "</div>");
    write_foot(report, text);
    html_name_cells(text, from);
}
