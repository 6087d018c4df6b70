/* What toast fsck looks at in the store: jobs that were archived. Their blobs join those to be checked;
 * how they ended is read from the history that was kept. */
#ifndef TOAST_CLI_FSCK_ARCHIVE_H
#define TOAST_CLI_FSCK_ARCHIVE_H

#include "queue/audit.h"
#include "store/store.h"

/* Adds to a->violations (2, 4, 5) and a->blobs. ERROR_UNAVAILABLE: the store does not answer. */
enum error_code fsck_archived(struct store *store, struct queue_audit *a, struct error *e) BASE_CHECKED;

#endif
