/* /ui/workers: which workers there are, what each computes, and since when one has not been heard of; an
 * administrator may ask one to take no more tasks. Nothing here ends a process. */
#include "server/ui/handlers.h"
#include "server/ui/ui.h"

/* the tasks that this worker holds: linked where the job is the caller's own */
static size_t write_tasks(struct ui_page *page, struct queue *queue, const struct queue_held_list *held,
                          const char *worker)
{
    size_t shown = 0;
    for (size_t i = 0; i < held->count; i++) {
        const struct queue_held *queue_held = &held->at[i];
        struct queue_fields job = {0};
        if (strcmp(queue_held->worker, worker) != 0)
            continue;
        bool own = queue_job(queue, queue_held->job, &job, NULL) == ERROR_OK &&
                   strcmp(queue_field(&job, "tenant"), page->exchange->tenant) == 0;
        html_add(&page->text, "<div>%s %u/%u ", queue_held->kind, queue_held->epoch, queue_held->index);
        if (own)
            ui_job_link(&page->text, queue_held->job);
        else
            text_add(&page->text, "<span class=\"muted\">another tenant's</span>");
        text_add(&page->text, "</div>");
        queue_fields_release(&job);
        shown++;
    }
    if (!shown)
        text_add(&page->text, "<span class=\"muted\">idle</span>");
    return shown;
}

static void write_worker(struct ui_page *page, struct queue *queue, const struct queue_worker *worker,
                         const struct queue_held_list *held, long long now_ms)
{
    struct text *text = &page->text;
    char rate[32], tasks[32], rollouts[32];
    long long beat = queue_number(&worker->fields, "beat");
    bool draining = worker->draining;
    html_add(text,
             "<tr><td data-name=\"Worker\" class=\"long mono\">%s</td><td data-name=\"Host\" "
             "class=\"long\">%s</td><td data-name=\"Build\" "
             "class=\"long mono\">%.24s</td>",
             worker->name, queue_field(&worker->fields, "host"), queue_field(&worker->fields, "build"));
    html_add(text, "<td data-name=\"Threads\" class=\"num\">%lld</td><td data-name=\"Tasks\">",
             queue_number(&worker->fields, "threads"));
    write_tasks(page, queue, held, worker->name);
    double seconds = (double)(beat - queue_number(&worker->fields, "began")) / 1000;
    long long done = queue_number(&worker->fields, "rollouts");
    html_count((uint64_t)queue_number(&worker->fields, "tasks"), tasks);
    html_count((uint64_t)done, rollouts);
    snprintf(rate, sizeof rate, queue_number(&worker->fields, "began") && seconds > 1 ? "%.3g" : "–",
             (double)done / (seconds > 1 ? seconds : 1));
    html_add(text,
             "</td><td data-name=\"Tasks done\" class=\"num\">%s</td><td data-name=\"Rollouts\" "
             "class=\"num\">%s</td><td "
             "data-name=\"Rollouts/s\" class=\"num\">%s</td><td data-name=\"Last beat\" class=\"num\">",
             tasks, rollouts, rate);
    ui_ago(text, beat, now_ms);
    text_add(text, "</td><td data-name=\"Drain\">");
    if (draining)
        text_add(text, "<span class=\"badge warn\">draining</span> ");
    if (ui_may(page->exchange, QUEUE_ROLE_ADMIN)) {
        ui_form(page, "/ui/workers", "inline");
        html_add(text,
                 "<input type=\"hidden\" name=\"worker\" value=\"%s\"><button class=\"quiet\" "
                 "name=\"action\" value=\"%s\" aria-label=\"%s "
                 "worker %s\">%s</button></form>",
                 worker->name, draining ? "resume" : "drain", draining ? "Resume" : "Drain", worker->name,
                 draining ? "Resume" : "Drain");
    }
    text_add(text, "</td></tr>\n");
}

static void write_table(struct ui_page *page, struct queue *queue, const struct queue_workers *workers,
                        const struct queue_held_list *held, long long now_ms)
{
    if (workers->count == 0) {
        text_add(
            &page->text,
            "<section class=\"card empty\"><h2>No worker has been heard of for 15 seconds</h2><p>Jobs wait. "
            "Start one "
            "anywhere that reaches Redis and this server:</p><pre><code>toast-worker --redis ADDRESS --store "
            "ADDRESS</code></pre></section>");
        return;
    }
    text_add(&page->text,
             "<div class=\"card flush\"><table "
             "class=\"stack\"><thead><tr><th>Worker</th><th>Host</th><th>Build</th><th class=\"num\">"
             "Threads</th><th>Tasks now</th><th class=\"num\">Tasks done</th><th "
             "class=\"num\">Rollouts</th><th class=\"num\">"
             "Rollouts/s</th><th class=\"num\">Last beat</th><th>Drain</th></tr></thead><tbody>\n");
    for (size_t i = 0; i < workers->count; i++)
        write_worker(page, queue, &workers->at[i], held, now_ms);
    text_add(&page->text, "</tbody></table></div>");
}

void handle_ui_workers(struct exchange *exchange)
{
    struct queue_workers workers = {0};
    struct queue_held_list held = {0};
    struct ui_page page;
    struct error e;
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_workers(queue, &workers, &e);
    if (code == ERROR_OK)
        code = queue_held_tasks(queue, NULL, &held, &e);
    if (code == ERROR_OK) {
        ui_begin(&page, exchange, UI_WORKERS, "Workers", 3);
        text_add(&page.text, "<header class=\"top\"><h1>Workers</h1></header>");
        ui_live(&page, NULL);
        write_table(&page, queue, &workers, &held, ui_now_ms());
        ui_live_end(&page);
        if (!exchange->replied)
            text_add(&page.text, "<p class=\"muted\">A draining worker takes no more tasks; what it holds it "
                                 "finishes. SIGTERM ends it.</p>");
    }
    pool_give(exchange->server, queue);
    queue_workers_release(&workers);
    queue_held_release(&held);
    if (code == ERROR_OK)
        ui_end(&page, 200);
    else
        ui_problem(exchange, NULL, &e);
}

/* drain and resume, for administrators only */
void handle_ui_workers_post(struct exchange *exchange)
{
    char *worker = ui_field(exchange, "worker", 0), *action = ui_field(exchange, "action", 0);
    struct error e;
    bool known = false, resume = action && strcmp(action, "resume") == 0;
    enum error_code code = ERROR_OK;
    if (!worker || !action || (!resume && strcmp(action, "drain") != 0)) {
        code =
            error_set_pointer(&e, ERROR_MALFORMED, "action", "the form must say worker, and drain or resume");
    } else {
        struct queue *queue = pool_take(exchange->server);
        code = queue_drain(queue, worker, !resume, &known, &e);
        pool_give(exchange->server, queue);
    }
    if (code == ERROR_OK && !known)
        code = error_set(&e, ERROR_NOT_FOUND, "no such worker has been heard of for 15 seconds");
    if (code == ERROR_OK)
        ui_redirect(exchange, "/ui/workers");
    else
        ui_problem(exchange, NULL, &e);
    free(worker);
    free(action);
}
