/* Inside server/ui: one dimension of a job's plan cut otherwise (cut.c). */
#ifndef TOAST_SERVER_UI_CUT_H
#define TOAST_SERVER_UI_CUT_H

#include "server/ui/ui.h"

/* some argument of the plan (plan.json) has the dimension */
bool ui_cut_known(const struct look *plan, const char *dimension);
/* "cut":{NAME:[AXES]}, of the boxes of the posted form; nothing where no argument has the dimension */
void ui_cut_json(struct exchange *exchange, const struct look *plan, const char *dimension, struct text *out);
/* the form, posted to path; again: ticked as it was posted, else as the plan cuts it */
void ui_cut_card(struct ui_page *page, const struct look *plan, const char *path, const char *dimension,
                 bool again);

#endif
