/* Requests and answers of contest problems; see problem.h. */
#include "api/problem.h"

#include "base/memory.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 10^9 units are days of work, a day is as long as a problem may run; 2^53 is the largest whole number up
 * to which every JSON reader is exact */
static const double most_units = 1e9, most_seconds = 86400, most_seed = 9007199254740992.0;

void api_problem_request_init(struct api_problem_request *problem_request)
{
    *problem_request = (struct api_problem_request){.units = API_PROBLEM_UNITS, .seed = 1};
}

enum error_code api_problem_request_set(struct api_problem_request *problem_request, const char *name,
                                        const char *value, struct error *e)
{
    char *end;
    bool seconds = strcmp(name, "seconds") == 0, units = strcmp(name, "units") == 0;
    double most = seconds ? most_seconds : units ? most_units : most_seed, x = strtod(value, &end);
    if (!*value || *end || !(x >= (units ? 1 : 0) && x <= most) || (!seconds && x != floor(x)) ||
        strspn(value, " \t"))
        return error_set_pointer(e, ERROR_MALFORMED, name, "%s must be %s from %d to %.0f", name,
                                 seconds ? "a number" : "a whole number", units ? 1 : 0, most);
    if (seconds)
        problem_request->seconds = x;
    else if (units)
        problem_request->units = (uint64_t)x;
    else
        problem_request->seed = (uint64_t)x;
    return ERROR_OK;
}

char *api_problem_request_json(const struct api_problem_request *problem_request)
{
    json_t *json = json_pack("{s:I, s:f, s:I}", "seed", (json_int_t)problem_request->seed, "seconds",
                             problem_request->seconds, "units", (json_int_t)problem_request->units);
    char *text = json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
    json_decref(json);
    BASE_CHECK(text);
    return text;
}

enum error_code api_problem_request_parse(const char *json, size_t size, struct api_problem_request *out,
                                          struct error *e)
{
    json_t *object = json_loadb(json, size, 0, NULL);
    json_int_t units, seed;
    int status = object ? json_unpack(object, "{s:I, s:F, s:I}", "seed", &seed, "seconds", &out->seconds,
                                      "units", &units)
                        : -1;
    json_decref(object);
    if (status != 0)
        return error_set(e, ERROR_INTERNAL, "the request of a problem's job is damaged");
    out->units = (uint64_t)units;
    out->seed = (uint64_t)seed;
    return ERROR_OK;
}

static double gap_of(const struct cfn_answer *answer)
{
    double cost = (double)answer->verdict.cost, bound = (double)answer->bound;
    return answer->status == CFN_STATUS_OPTIMAL ? 0
           : cost != 0                          ? (cost - bound) / fabs(cost)
           : cost == bound                      ? 0
                                                : 1;
}

/* numbers may pass 64 bits, which JSON allows and jansson does not write */
char *api_solution_json(const struct cfn_problem *problem, const struct cfn_answer *answer, uint64_t seed)
{
    static const char *const names[] = {"feasible", "optimal", "infeasible"};
    char number[48];
    struct text text = {0};
    text_printf(&text, "{\"status\":\"%s\"", names[answer->status]);
    if (answer->status == CFN_STATUS_INFEASIBLE) {
        text_printf(&text, ",\"violated_time\":%lld,\"least_usage\":%s,\"usage_limit\":%lld}\n",
                    (long long)answer->verdict.violated_time,
                    cfn_format_wide(answer->verdict.violated_usage, number), (long long)problem->limit);
        return text.at;
    }
    text_printf(&text, ",\"cost\":%s", cfn_format_wide(answer->verdict.cost, number));
    if (answer->has_bound)
        text_printf(&text, ",\"bound\":%s,\"gap\":%.9f", cfn_format_wide(answer->bound, number),
                    gap_of(answer));
    text_printf(&text, ",\"peak_usage\":%s,\"peak_time\":%lld", cfn_format_wide(answer->verdict.peak, number),
                (long long)answer->verdict.peak_time);
    text_printf(&text, ",\"reproducible\":%s,\"units\":%llu,\"seed\":%llu,\"values\":[",
                answer->reproducible ? "true" : "false", (unsigned long long)answer->units,
                (unsigned long long)seed);
    for (uint32_t i = 0; i < problem->node_count; i++)
        text_printf(&text, i ? ",%d" : "%d", answer->values[i]);
    text_add(&text, "]}\n");
    return text.at;
}

char *api_problem_progress_json(const struct cfn_session *session, const struct cfn_best *best,
                                const char *stage)
{
    char number[48];
    struct text text = {0};
    text_printf(&text, "{\"stage\":\"%s\",\"fraction\":%.4f", stage,
                session->over           ? 1
                : session->search.model ? cfn_search_spent(&session->search)
                                        : 0);
    if (best->values)
        text_printf(&text, ",\"cost\":%s", cfn_format_wide(best->cost, number));
    if (best->has_bound)
        text_printf(&text, ",\"bound\":%s", cfn_format_wide(best->bound, number));
    text_add(&text, "}");
    return text.at;
}

void api_error_parse(const char *json, struct error *e)
{
    const char *code = "", *message = "", *pointer = "";
    json_t *object = json_loads(json, 0, NULL);
    if (!object ||
        json_unpack(object, "{s:s, s?s, s?s}", "code", &code, "message", &message, "pointer", &pointer) != 0)
        error_set(e, ERROR_INTERNAL, "the job's error is damaged");
    else
        error_set_pointer(e, error_code_from_text(code), pointer, "%s", message);
    json_decref(object);
}
