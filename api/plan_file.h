/* plan.json -> struct planner_plan. api/artifacts.h writes what is read here. */
#ifndef TOAST_API_PLAN_FILE_H
#define TOAST_API_PLAN_FILE_H

#include "planner/plan.h"

/* of one plan.json: its factors take four members each */
enum { API_PLAN_MAX_KEYS = 20000000 };

/* Text of a plan.json -> *out (owned; planner_plan_destroy), which refers to nothing of the text. Whether
 * it fits a module is found out by planner_plan_replay. ERROR_INVALID_JSON (line, column);
 * ERROR_INVALID_PLAN, ERROR_INVALID_REQUEST, ERROR_INVALID_MESH, ERROR_INVALID_CONSTRAINT with pointer. */
enum error_code api_plan_parse(const char *json, size_t size, struct planner_plan **out,
                               struct error *e) BASE_CHECKED;

#endif
