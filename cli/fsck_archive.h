/* The part of toast fsck that looks at archived jobs, in the store. Their blobs join those that fsck
 * checks; how each ended is checked against the history that was kept with it. Nothing is changed. */
#ifndef TOAST_CLI_FSCK_ARCHIVE_H
#define TOAST_CLI_FSCK_ARCHIVE_H

#include "queue/audit.h"
#include "store/store.h"

/* Adds to a->violations (invariants 2, 4 and 5 of queue/audit.h) and a->blobs. ERROR_UNAVAILABLE: the
 * store does not answer. */
enum error_code fsck_archived(struct store *store, struct queue_audit *audit, struct error *e) BASE_CHECKED;

#endif
