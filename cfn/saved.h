/* A search between two phases as bytes: what its workers know and where the schedule is. The same build on
 * the same model and budget goes on from them as if it had never stopped. */
#ifndef TOAST_CFN_SAVED_H
#define TOAST_CFN_SAVED_H

#include "base/memory.h"
#include "cfn/search.h"

/* appended to out */
void cfn_saved_write(const struct cfn_search *search, struct text *out); /* schedule and both workers */
/* one worker, after its phase */
void cfn_saved_write_worker(const struct cfn_worker *worker, struct text *out);
/* into a created search, or worker of one. ERROR_INVALID_REQUEST: not the bytes of such a search;
 * those of an earlier build are named as such. */
enum error_code cfn_saved_read(const void *bytes, size_t size, struct cfn_search *search,
                               struct error *e) BASE_CHECKED;
enum error_code cfn_saved_read_worker(const void *bytes, size_t size, struct cfn_worker *worker,
                                      struct error *e) BASE_CHECKED;

#endif
