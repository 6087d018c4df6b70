/* Tasks of kind `referee` as the server passes them on to referees, workers that come over HTTP: they
 * compile a job's plans with the compiler that will run them (queue/library_referee.lua). Errors as of
 * queue.h. */
#ifndef TOAST_QUEUE_REFEREE_H
#define TOAST_QUEUE_REFEREE_H

#include "queue/queue.h"

enum { QUEUE_REFEREES_MAX = 8 }; /* names that one worker serves */

struct queue_referee { /* who asks; borrowed texts */
    const char *worker;
    const char *names[QUEUE_REFEREES_MAX]; /* "xla_gpu" .. */
    size_t count;
};
/* token: of the claim, new for each; a call that is repeated with the same one gets the same task */
enum error_code queue_referee_claim(struct queue *queue, const struct queue_referee *who, const char *token,
                                    struct queue_task *out, bool *found, struct error *e) BASE_CHECKED;
/* *held: the task is still this token's, and its lease was renewed */
enum error_code queue_referee_beat(struct queue *queue, const struct queue_referee *who,
                                   const struct queue_task *task, bool *held, struct error *e) BASE_CHECKED;
/* blob: digest of what it found. *late: the task was another's by then, nothing changed */
enum error_code queue_referee_done(struct queue *queue, const struct queue_task *task, const char *blob,
                                   bool *late, struct error *e) BASE_CHECKED;
/* names of referees that were heard of lately, one a line; owned by the caller */
enum error_code queue_referees(struct queue *queue, struct text *out, struct error *e) BASE_CHECKED;

#endif
