/* What referees send and get over HTTP (server/resources/referee.c), and what they found as a struct of the
 * report. Texts that are returned are owned by the caller. */
#ifndef TOAST_API_REFEREE_H
#define TOAST_API_REFEREE_H

#include "base/error.h"
#include "report/referee.h"

enum { API_REFEREE_NAMES = 8 };

/* one call: {"worker", "referees", "token", "task", "result", "reason", "message"}; "" for what is absent */
struct api_referee_call {
    char worker[96], token[96], task[160], reason[16], message[400];
    char referees[API_REFEREE_NAMES][16];
    uint32_t referee_count;
    char *result; /* JSON text of the member, checked as api_referee_result does; NULL: none */
};
/* ERROR_INVALID_JSON; ERROR_INVALID_REQUEST with pointer: a member of another type or length, an unknown
 * referee or reason ("fault", "exit", "host") */
enum error_code api_referee_call_parse(const char *json, size_t size, struct api_referee_call *out,
                                       struct error *e) BASE_CHECKED;
void api_referee_call_release(struct api_referee_call *call);

/* {"target", "compiler", "plans": [{"plan", "peak_bytes", "step_ps", "exposed_ps"} or {"plan",
 * "refused"}]} -> target, compiler, rows of *out. ERROR_INVALID_JSON, ERROR_INVALID_REQUEST with pointer. */
enum error_code api_referee_result(const char *json, size_t size, struct report_referee *out,
                                   struct error *e) BASE_CHECKED;

/* "xla_gpu", "xla_tpu", "xla_cpu" */
bool api_referee_known(const char *name);

#endif
