/* /ui/workers: which workers there are, what each computes, and since when one has not been heard of; an
 * administrator may ask one to take no more tasks. Nothing here ends a process. */
#include "server/ui/handlers.h"
#include "server/ui/ui.h"

/* the tasks that this worker holds: linked where the job is the caller's own */
static size_t write_tasks(struct ui_page *p, struct queue *q, const struct queue_held_list *held,
                          const char *worker)
{
    size_t shown = 0;
    for (size_t i = 0; i < held->count; i++) {
        const struct queue_held *h = &held->at[i];
        struct queue_fields job = {0};
        if (strcmp(h->worker, worker) != 0)
            continue;
        bool own = queue_job(q, h->job, &job, NULL) == ERROR_OK &&
                   strcmp(queue_field(&job, "tenant"), p->x->tenant) == 0;
        html_add(&p->t, "<div>%s %u/%u ", h->kind, h->epoch, h->index);
        if (own)
            ui_job_link(&p->t, h->job);
        else
            text_add(&p->t, "<span class=\"muted\">another tenant's</span>");
        text_add(&p->t, "</div>");
        queue_fields_release(&job);
        shown++;
    }
    if (!shown)
        text_add(&p->t, "<span class=\"muted\">idle</span>");
    return shown;
}

static void write_worker(struct ui_page *p, struct queue *q, const struct queue_worker *w,
                         const struct queue_held_list *held, long long now_ms)
{
    struct text *t = &p->t;
    char rate[32], tasks[32], rollouts[32];
    long long beat = queue_number(&w->fields, "beat");
    bool draining = w->draining;
    html_add(t,
             "<tr><td data-name=\"Worker\" class=\"long mono\">%s</td><td data-name=\"Host\" "
             "class=\"long\">%s</td><td data-name=\"Build\" "
             "class=\"long mono\">%.24s</td>",
             w->name, queue_field(&w->fields, "host"), queue_field(&w->fields, "build"));
    html_add(t, "<td data-name=\"Threads\" class=\"num\">%lld</td><td data-name=\"Tasks\">",
             queue_number(&w->fields, "threads"));
    write_tasks(p, q, held, w->name);
    double seconds = (double)(beat - queue_number(&w->fields, "began")) / 1000;
    long long done = queue_number(&w->fields, "rollouts");
    html_count((uint64_t)queue_number(&w->fields, "tasks"), tasks);
    html_count((uint64_t)done, rollouts);
    snprintf(rate, sizeof rate, queue_number(&w->fields, "began") && seconds > 1 ? "%.3g" : "–",
             (double)done / (seconds > 1 ? seconds : 1));
    html_add(t,
             "</td><td data-name=\"Tasks done\" class=\"num\">%s</td><td data-name=\"Rollouts\" "
             "class=\"num\">%s</td><td "
             "data-name=\"Rollouts/s\" class=\"num\">%s</td><td data-name=\"Last beat\" class=\"num\">",
             tasks, rollouts, rate);
    ui_ago(t, beat, now_ms);
    text_add(t, "</td><td data-name=\"Drain\">");
    if (draining)
        text_add(t, "<span class=\"badge warn\">draining</span> ");
    if (ui_may(p->x, QUEUE_ROLE_ADMIN)) {
        ui_form(p, "/ui/workers", "inline");
        html_add(t,
                 "<input type=\"hidden\" name=\"worker\" value=\"%s\"><button class=\"quiet\" "
                 "name=\"action\" value=\"%s\" aria-label=\"%s "
                 "worker %s\">%s</button></form>",
                 w->name, draining ? "resume" : "drain", draining ? "Resume" : "Drain", w->name,
                 draining ? "Resume" : "Drain");
    }
    text_add(t, "</td></tr>\n");
}

static void write_table(struct ui_page *p, struct queue *q, const struct queue_workers *workers,
                        const struct queue_held_list *held, long long now_ms)
{
    if (workers->count == 0) {
        text_add(
            &p->t,
            "<section class=\"card empty\"><h2>No worker has been heard of for 15 seconds</h2><p>Jobs wait. "
            "Start one "
            "anywhere that reaches Redis and this server:</p><pre><code>toast-worker --redis ADDRESS --store "
            "ADDRESS</code></pre></section>");
        return;
    }
    text_add(&p->t, "<div class=\"card flush\"><table "
                    "class=\"stack\"><thead><tr><th>Worker</th><th>Host</th><th>Build</th><th class=\"num\">"
                    "Threads</th><th>Tasks now</th><th class=\"num\">Tasks done</th><th "
                    "class=\"num\">Rollouts</th><th class=\"num\">"
                    "Rollouts/s</th><th class=\"num\">Last beat</th><th>Drain</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < workers->count; i++)
        write_worker(p, q, &workers->at[i], held, now_ms);
    text_add(&p->t, "</tbody></table></div>");
}

void handle_ui_workers(struct exchange *x)
{
    struct queue_workers workers = {0};
    struct queue_held_list held = {0};
    struct ui_page p;
    struct error e;
    struct queue *q = pool_take(x->server);
    enum error_code code = queue_workers(q, &workers, &e);
    if (code == ERROR_OK)
        code = queue_held_tasks(q, NULL, &held, &e);
    if (code == ERROR_OK) {
        ui_begin(&p, x, UI_WORKERS, "Workers", 3);
        text_add(&p.t, "<header class=\"top\"><h1>Workers</h1></header>");
        ui_live(&p, NULL);
        write_table(&p, q, &workers, &held, ui_now_ms());
        ui_live_end(&p);
        if (!x->replied)
            text_add(&p.t, "<p class=\"muted\">A draining worker takes no more tasks; what it holds it "
                           "finishes. SIGTERM ends it.</p>");
    }
    pool_give(x->server, q);
    queue_workers_release(&workers);
    queue_held_release(&held);
    if (code == ERROR_OK)
        ui_end(&p, 200);
    else
        ui_problem(x, NULL, &e);
}

/* drain and resume, for administrators only */
void handle_ui_workers_post(struct exchange *x)
{
    char *worker = ui_field(x, "worker", 0), *action = ui_field(x, "action", 0);
    struct error e;
    bool known = false, resume = action && strcmp(action, "resume") == 0;
    enum error_code code = ERROR_OK;
    if (!worker || !action || (!resume && strcmp(action, "drain") != 0)) {
        code =
            error_set_pointer(&e, ERROR_MALFORMED, "action", "the form must say worker, and drain or resume");
    } else {
        struct queue *q = pool_take(x->server);
        code = queue_drain(q, worker, !resume, &known, &e);
        pool_give(x->server, q);
    }
    if (code == ERROR_OK && !known)
        code = error_set(&e, ERROR_NOT_FOUND, "no such worker has been heard of for 15 seconds");
    if (code == ERROR_OK)
        ui_redirect(x, "/ui/workers");
    else
        ui_problem(x, NULL, &e);
    free(worker);
    free(action);
}
