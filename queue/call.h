/* Inside queue/: gathering arguments, calling our functions or plain commands, reading replies. */
#ifndef TOAST_QUEUE_CALL_H
#define TOAST_QUEUE_CALL_H

#include "queue/queue.h"
#include "queue/redis.h"

struct queue {
    struct redis *redis;
};

/* Arguments of one call: texts are borrowed, numbers kept here. Zeroed is empty; call_function frees the
 * lists. */
struct call {
    VEC(const char *) values;
    VEC(size_t) sizes;
    char numbers[8][24];
    int number_count;
};
void call_add_bytes(struct call *call, const void *bytes, size_t size);
void call_add(struct call *call, const char *text);
void call_add_number(struct call *call, long long n);
/* 23 characters */
void call_add_format(struct call *call, const char *format, ...) __attribute__((format(printf, 2, 3)));
void call_add_pairs(struct call *call, const struct queue_pair *pairs, size_t count);

/* a function of queue/library.lua; reply owned */
enum error_code call_function(struct queue *queue, const char *name, struct call *call, redisReply **out,
                              struct error *e) BASE_CHECKED;
/* a command that only reads: repeated once after the connection broke */
enum error_code call_read(struct queue *queue, int argc, const char **argv, redisReply **out,
                          struct error *e) BASE_CHECKED;

/* the same where the answer says nothing: only whether it was done */
enum error_code call_plain(struct queue *queue, const char *name, struct call *call,
                           struct error *e) BASE_CHECKED;
/* all fields of the hash at key (owned; empty on an error or when there is none) */
enum error_code call_hash(struct queue *queue, const char *key, struct queue_fields *out,
                          struct error *e) BASE_CHECKED;

/* element i of an array, or the reply itself as element 0; "" and 0 for anything else */
const char *reply_text(const redisReply *reply, size_t i);
long long reply_number(const redisReply *reply, size_t i);
/* {member, token, epoch, index, fields} as library.lua's task_reply gives it; false: no task (work.c) */
bool reply_task(const redisReply *reply, struct queue_task *out);
/* an array of job ids -> owned array */
void reply_ids(const redisReply *reply, char (**ids)[QUEUE_ID_SIZE], size_t *count);
/* flat names and values -> owned fields */
void reply_fields(const redisReply *reply, struct queue_fields *out);

#endif
