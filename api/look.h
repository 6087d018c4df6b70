/* Looking into JSON that this build or an earlier one wrote (progress, plan.json, report.json), for pages
 * that show it: what is absent or of another type reads as empty. Only for showing: what somebody posts
 * is read strictly, by api/request.h and api/plan_file.h. */
#ifndef TOAST_API_LOOK_H
#define TOAST_API_LOOK_H

#include <stdbool.h>
#include <stddef.h>

struct look; /* a value; every function below takes NULL for "absent" */

struct look *look_parse(const char *text, size_t size); /* owned; NULL: no JSON */
void look_release(struct look *whole);

/* member of an object, also several steps deep: "best.step_ps"; borrowed */
const struct look *look_get(const struct look *look, const char *path);
size_t look_count(const struct look *look); /* of an array or object */
const struct look *look_item(const struct look *look, size_t i);
const char *look_key(const struct look *look, size_t i); /* of an object's i-th member, and its value: */
const struct look *look_value(const struct look *look, size_t i);

const char *look_text(const struct look *look); /* "" unless it is a string; borrowed */
double look_number(const struct look *look);    /* 0 unless it is a number */
bool look_true(const struct look *look);
bool look_there(const struct look *look);    /* present and not null */
char *look_pretty(const struct look *look);  /* as indented JSON; owned */
char *look_compact(const struct look *look); /* owned */

#endif
