/* Bodies of referees' calls; see referee.h. */
#include "api/referee.h"

#include "api/json.h"
#include "api/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool api_referee_known(const char *name)
{
    enum cost_compiler compiler;
    return cost_backend_find(name, &compiler);
}

static enum error_code copy(struct json_at at, char *out, size_t room, struct error *e)
{
    const char *text = NULL;
    TRY(json_text(at, room - 1, &text, e));
    snprintf(out, room, "%s", text ? text : "");
    return ERROR_OK;
}

/* ---- results ---- */

static enum error_code read_row(struct json_at at, struct report_judged *row, struct error *e)
{
    static const char *const known[] = {"plan", "refused", "peak_bytes", "step_ps", "exposed_ps", NULL};
    int64_t plan = -1;
    *row = (struct report_judged){.step_ps = -1, .exposed_ps = -1, .peak_bytes = -1};
    TRY(json_only(&at, known, e));
    TRY(json_int(json_member(&at, "plan"), 0, REPORT_REFEREE_ROWS - 1, &plan, e));
    TRY(copy(json_member(&at, "refused"), row->refused, sizeof row->refused, e));
    TRY(json_int(json_member(&at, "peak_bytes"), 0, INT64_MAX / 4, &row->peak_bytes, e));
    TRY(json_int(json_member(&at, "step_ps"), 0, INT64_MAX / 4, &row->step_ps, e));
    TRY(json_int(json_member(&at, "exposed_ps"), 0, INT64_MAX / 4, &row->exposed_ps, e));
    if (plan < 0)
        return json_refuse_to(e, json_member(&at, "plan"), ERROR_INVALID_REQUEST,
                              "0 is the plan, 1 its first alternative");
    if (row->peak_bytes < 0 && !row->refused[0])
        return json_refuse_to(e, json_member(&at, "peak_bytes"), ERROR_INVALID_REQUEST,
                              "a plan that was compiled has a peak");
    row->plan = (uint32_t)plan;
    return ERROR_OK;
}

static enum error_code read_result(struct json_at root, struct report_referee *out, struct error *e)
{
    static const char *const known[] = {"target", "compiler", "plans", NULL};
    size_t count;
    TRY(json_only(&root, known, e));
    TRY(copy(json_member(&root, "target"), out->target, sizeof out->target, e));
    TRY(copy(json_member(&root, "compiler"), out->compiler, sizeof out->compiler, e));
    struct json_at plans = json_member(&root, "plans");
    TRY(json_list(plans, REPORT_REFEREE_ROWS, &count, e));
    for (size_t i = 0; i < count; i++)
        TRY(read_row(json_item(&plans, i), &out->rows[i], e));
    out->count = (uint32_t)count;
    return ERROR_OK;
}

enum error_code api_referee_result(const char *json, size_t size, struct report_referee *out, struct error *e)
{
    json_t *value = NULL;
    TRY(json_parse(json, size, API_MAX_JSON_KEYS, &value, e));
    enum error_code code = read_result((struct json_at){value, ""}, out, e);
    json_decref(value);
    return code;
}

/* ---- calls ---- */

static enum error_code read_names(struct json_at at, struct api_referee_call *out, struct error *e)
{
    size_t count;
    TRY(json_list(at, API_REFEREE_NAMES, &count, e));
    for (size_t i = 0; i < count; i++) {
        TRY(copy(json_item(&at, i), out->referees[i], sizeof out->referees[i], e));
        if (!api_referee_known(out->referees[i]))
            return json_refuse_to(e, json_item(&at, i), ERROR_INVALID_REQUEST,
                                  "there is no such referee; known are %s", cost_backend_names());
    }
    out->referee_count = (uint32_t)count;
    return ERROR_OK;
}

static enum error_code read_call(struct json_at root, struct api_referee_call *out, struct error *e)
{
    static const char *const known[] = {"worker", "referees", "token",   "task",
                                        "result", "reason",   "message", NULL};
    TRY(json_only(&root, known, e));
    TRY(copy(json_member(&root, "worker"), out->worker, sizeof out->worker, e));
    TRY(copy(json_member(&root, "token"), out->token, sizeof out->token, e));
    TRY(copy(json_member(&root, "task"), out->task, sizeof out->task, e));
    TRY(copy(json_member(&root, "message"), out->message, sizeof out->message, e));
    TRY(copy(json_member(&root, "reason"), out->reason, sizeof out->reason, e));
    TRY(read_names(json_member(&root, "referees"), out, e));
    if (!out->worker[0] || strpbrk(out->worker, "/ \n") || !out->token[0])
        return json_refuse_to(e, root, ERROR_INVALID_REQUEST,
                              "\"worker\" (without a slash) and \"token\" are needed");
    if (out->reason[0] && strcmp(out->reason, "fault") && strcmp(out->reason, "exit") &&
        strcmp(out->reason, "host"))
        return json_refuse_to(e, json_member(&root, "reason"), ERROR_INVALID_REQUEST,
                              "one of these is needed: fault, exit, host");
    struct json_at result = json_member(&root, "result");
    struct report_referee unused = {0};
    if (!result.value)
        return ERROR_OK;
    TRY(read_result(result, &unused, e));
    out->result = json_compact(result.value);
    return ERROR_OK;
}

enum error_code api_referee_call_parse(const char *json, size_t size, struct api_referee_call *out,
                                       struct error *e)
{
    json_t *value = NULL;
    *out = (struct api_referee_call){0};
    TRY(json_parse(json, size, API_MAX_JSON_KEYS, &value, e));
    enum error_code code = read_call((struct json_at){value, ""}, out, e);
    json_decref(value);
    return code;
}

void api_referee_call_release(struct api_referee_call *call)
{
    free(call->result);
    call->result = NULL;
}
