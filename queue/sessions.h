/* Sessions of browsers in Redis: {t}:session:<SHA-256 of the cookie> -> the key it was traded for. The cookie
 * itself is not kept, so that who reads Redis cannot use it. */
#ifndef TOAST_QUEUE_SESSIONS_H
#define TOAST_QUEUE_SESSIONS_H

#include "queue/keys.h"

enum {
    QUEUE_SESSION_SIZE = 33,
    QUEUE_SESSION_S = 8 * 3600
}; /* 32 base-32 digits (160 random bits) and NUL */

bool queue_session_valid(const char *id); /* whether it looks like one */
/* Makes a session that lasts *seconds: QUEUE_SESSION_S or until the key expires. ERROR_UNAVAILABLE */
enum error_code queue_session_add(struct queue *queue, const struct queue_key *key,
                                  char id[QUEUE_SESSION_SIZE], long *seconds, struct error *e) BASE_CHECKED;
/* The id and digest of its key; the caller asks whether that is still valid. ERROR_NOT_FOUND (also expired),
 * ERROR_UNAVAILABLE */
enum error_code queue_session_find(struct queue *queue, const char *id, char key_id[QUEUE_KEY_ID_SIZE],
                                   unsigned char digest[32], struct error *e) BASE_CHECKED;
/* ERROR_UNAVAILABLE; one that is not there is no error */
enum error_code queue_session_end(struct queue *queue, const char *id, struct error *e) BASE_CHECKED;

#endif
