/* report.html: the report as one file that needs nothing else. Most important first, as in report.txt; every
 * picture has its numbers in a table below it. Equal reports give equal bytes. */
#include "report/report_html.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char report_style[];

enum { SHOWN_WARNINGS = 200 }; /* the page says how many more report.json has */

bool report_html_fits(const struct report *r, const struct price *p)
{
    return p->peak_bytes <= r->memory_limit_bytes;
}

static void mesh_text(const struct mesh *m, struct text *t)
{
    for (uint32_t a = 0; a < m->axis_count; a++)
        html_add(t, "%s%s=%lld", a ? " × " : "", m->axes[a].name, (long long)m->axes[a].size);
}

static void write_head(const struct report *r, struct text *t)
{
    const struct mesh *m = plan_context_mesh(evaluator_context(r->evaluator));
    bool fits = report_html_fits(r, &r->price);
    text_add(t, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">"
                "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                "'unsafe-inline'; img-src data:; "
                "base-uri 'none'; form-action 'none'\"><title>TOAST plan: ");
    mesh_text(m, t);
    html_add(t, " of %s</title><style>", evaluator_machine(r->evaluator)->device.name);
    text_add(t, (const char *)report_style);
    text_add(t, "</style></head>\n<body><main><header class=\"top\"><h1>Plan for ");
    mesh_text(m, t);
    html_add(t, " of %s</h1><span class=\"badge %s\">%s</span>", evaluator_machine(r->evaluator)->device.name,
             fits ? "good" : "bad", fits ? "fits" : "does not fit");
    if (strcmp(r->proof_status, "not_run") != 0)
        html_add(t, "<span class=\"badge %s\">proof: %s</span>",
                 strcmp(r->proof_status, "equal") == 0 ? "good" : "bad", r->proof_status);
    if (!r->reproducible)
        text_add(t, "<span class=\"badge warn\">cut by time</span>");
    html_add(t, "<p>Module <code>%.12s</code></p></header>\n", r->module_digest);
}

static void tile(struct text *t, const char *name, const char *value, const char *note)
{
    html_add(t, "<div class=\"tile\"><dt>%s</dt><dd%s", name, strlen(value) > 14 ? " class=\"small\"" : "");
    html_add(t, ">%s<span class=\"note\">%s</span></dd></div>", value, note);
}

static void write_tiles(const struct report *r, struct text *t)
{
    const struct mesh *m = plan_context_mesh(evaluator_context(r->evaluator));
    char value[64], note[240], one[32], two[32];
    struct report_baseline *sorted = report_baselines_sorted(r);
    text_add(t, "<dl class=\"tiles\">");
    report_time(r->price.step_ps, value);
    tile(t, "Step time", value, "estimated");
    report_bytes(r->price.peak_bytes, value);
    report_bytes(r->memory_limit_bytes, one);
    snprintf(note, sizeof note, "%.0f %% of the limit, %s",
             100.0 * (double)r->price.peak_bytes / (double)r->memory_limit_bytes, one);
    tile(t, "Peak memory a device", value, note);
    uint32_t best = 0; /* other planners' plans race as well: they are no experts' */
    while (best < r->baseline_count && strcmp(sorted[best].name, "cfn") == 0)
        best++;
    if (best < r->baseline_count) {
        bool fits = report_html_fits(r, &sorted[best].price);
        snprintf(value, sizeof value, "%.2f×",
                 (double)sorted[best].price.step_ps / (double)(r->price.step_ps ? r->price.step_ps : 1));
        snprintf(note, sizeof note, "%s%s", sorted[best].name, fits ? "" : " (which does not fit)");
        tile(t, "Speed against the best expert plan", value, note);
    }
    if (r->has_bound) {
        report_time(r->bound_ps, one);
        snprintf(note, sizeof note, "no plan that fits takes less: within a factor of %.3f",
                 (double)r->price.step_ps / (double)(r->bound_ps > 0 ? r->bound_ps : 1));
        tile(t, "Certified bound", one, note);
    }
    const struct price *alone = evaluator_unsharded(r->evaluator);
    report_time(alone->step_ps, one);
    report_bytes(alone->peak_bytes, two);
    snprintf(value, sizeof value, "%.3g×",
             (double)alone->step_ps / (double)(r->price.step_ps ? r->price.step_ps : 1));
    snprintf(note, sizeof note, "%s, %s on one", one, two);
    tile(t, "Speed against one device", value, note);
    html_count((uint64_t)mesh_devices(m), value);
    tile(t, "Devices", value, evaluator_machine(r->evaluator)->device.name);
    snprintf(value, sizeof value, "%.4f", cost_value(r->cost));
    tile(t, "Cost", value, "of the unsharded module's");
    tile(t, "Found by", r->plan.found_by, r->reproducible ? "reproducible" : "cut by time: not reproducible");
    tile(t, "Proof", strcmp(r->proof_status, "not_run") == 0 ? "not run" : r->proof_status, r->proof_reason);
    text_add(t, "</dl>\n");
    free(sorted);
}

static void write_nothing_fits(const struct report *r, struct text *t)
{
    char need[32], over[32];
    if (!r->smallest_budget_bytes)
        return;
    report_bytes(r->smallest_budget_bytes, need);
    report_bytes(r->smallest_budget_bytes - r->memory_limit_bytes, over);
    html_add(t,
             "<section class=\"notice\"><h2>Nothing fits</h2><p>The best plan found needs %s a device, %s "
             "over the limit; with "
             "<code>--memory-limit %lld</code> it fits. More devices, a smaller batch, or rematerialisation "
             "(<code>jax.checkpoint</code>) of the largest tensors at the peak are the usual ways "
             "out.</p></section>\n",
             need, over, (long long)r->smallest_budget_bytes);
}

static void write_conflicts(const struct report *r, struct text *t)
{
    char step[32], peak[32];
    if (r->conflict_count == 0)
        return;
    text_add(t, "<section class=\"card wide\" id=\"conflicts\"><h2>Conflicts</h2><p "
                "class=\"muted\">Dimensions that cannot be split "
                "alike everywhere; the price of the side that was not taken.</p><div class=\"scroll\" "
                "tabindex=\"0\" role=\"group\" "
                "aria-label=\"Conflicts\"><table><thead><tr><th>Group</th><th class=\"num\">Bit</th><th "
                "class=\"num\">Conflicts</th>"
                "<th class=\"num\">Sets</th><th>Side</th><th class=\"num\">Other side's step</th><th "
                "class=\"num\">Other side's "
                "peak</th></tr></thead><tbody>");
    for (uint32_t i = 0; i < r->conflict_count; i++) {
        const struct report_conflict *c = &r->conflicts[i];
        html_add(t,
                 "<tr><td class=\"long\">%s</td><td class=\"num\">%u</td><td class=\"num\">%u</td><td "
                 "class=\"num\">%u</td>",
                 c->group, c->bit, c->conflicts, c->sets);
        if (c->decision < 0) {
            text_add(
                t,
                "<td class=\"muted\">not sharded</td><td class=\"num\">–</td><td class=\"num\">–</td></tr>");
            continue;
        }
        report_time(c->other_step_ps, step);
        report_bytes(c->other_peak_bytes, peak);
        html_add(t, "<td>%u</td><td class=\"num\">%s</td><td class=\"num\">%s</td></tr>", (unsigned)c->side,
                 step, peak);
    }
    text_add(t, "</tbody></table></div></section>\n");
}

static void write_warnings(const struct report *r, struct text *t)
{
    if (r->warning_count == 0)
        return;
    text_add(t, "<section class=\"card wide\" id=\"warnings\"><h2>Warnings</h2><ul class=\"plain\">");
    for (uint32_t i = 0; i < r->warning_count && i < SHOWN_WARNINGS; i++)
        html_add(t, "<li>%s</li>", r->warnings[i]);
    text_add(t, "</ul>");
    if (r->warning_count > SHOWN_WARNINGS)
        html_add(t, "<p class=\"muted\">and %u more in report.json</p>", r->warning_count - SHOWN_WARNINGS);
    text_add(t, "</section>\n");
}

static void write_foot(const struct report *r, struct text *t)
{
    char hash[33];
    hash128_format(r->plan.hash, hash);
    html_add(t,
             "<footer>Module sha256:%s · plan %s · seed %llu · TOAST " TOAST_VERSION
             "</footer></main></body></html>\n",
             r->module_digest, hash, (unsigned long long)r->seed);
}

void report_html(const struct report *r, struct text *t)
{
    write_head(r, t);
    write_tiles(r, t);
    write_nothing_fits(r, t);
    text_add(t, "<div class=\"columns\"><div class=\"column\">");
    report_html_against(r, t);
    report_html_memory(r, t);
    text_add(t, "</div><div class=\"column\">");
    report_html_time(r, t);
    report_html_peak(r, t);
    text_add(t, "</div>");
    report_html_shards(r, t);
    text_add(t, "<div class=\"column\">");
    report_html_decisions(r, t);
    text_add(t, "</div><div class=\"column\">");
    report_html_search(r, t);
    report_html_mesh(r, t);
    text_add(t, "</div>");
    report_html_communication(r, t);
    write_conflicts(r, t);
    write_warnings(r, t);
    report_html_boundary(r, t);
    text_add(t, "</div>");
    write_foot(r, t);
}
