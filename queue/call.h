/* Inside queue/: gathers the arguments of a call, calls a function of the library or a plain command, reads
 * the reply. A reply that a function gives is owned by its caller (freeReplyObject), and is set only on
 * ERROR_OK. Errors as in queue.h. No other folder includes this. */
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
void call_add_bytes(struct call *c, const void *bytes, size_t size);
void call_add(struct call *c, const char *text);
void call_add_number(struct call *c, long long n);
/* at most 23 characters of text; at most 8 numbers and formats a call */
void call_add_format(struct call *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
void call_add_pairs(struct call *c, const struct queue_pair *pairs, size_t count);

/* a function of queue/library.lua; reply owned */
enum error_code call_function(struct queue *q, const char *name, struct call *c, redisReply **out,
                              struct error *e) BASE_CHECKED;
/* a function whose reply says nothing beyond its success */
enum error_code call_plain(struct queue *q, const char *name, struct call *c, struct error *e) BASE_CHECKED;
/* all fields of the hash `key`; none when there is no such key. Owned by the caller. */
enum error_code call_read_hash(struct queue *q, const char *key, struct queue_fields *out,
                               struct error *e) BASE_CHECKED;
/* a command that only reads: repeated once after the connection broke */
enum error_code call_read(struct queue *q, int argc, const char **argv, redisReply **out,
                          struct error *e) BASE_CHECKED;

/* element i of an array, or the reply itself as element 0; "" and 0 for anything else */
const char *reply_text(const redisReply *r, size_t i);
long long reply_number(const redisReply *r, size_t i);
/* flat names and values -> owned fields */
void reply_fields(const redisReply *r, struct queue_fields *out);

#endif
