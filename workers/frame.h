/* What a worker's supervisor and its children say to each other over a socket pair: frames of named byte
 * strings. u32 count, u32 total bytes; then count times u32 name size, u32 value size, name, value */
#ifndef TOAST_WORKERS_FRAME_H
#define TOAST_WORKERS_FRAME_H

#include "queue/queue.h"

struct frame {
    struct queue_fields fields; /* owned names and values */
};
void frame_add(struct frame *frame, const char *name, const void *value, size_t size);
void frame_add_text(struct frame *frame, const char *name, const char *value);
void frame_add_number(struct frame *frame, const char *name, unsigned long long value);
void frame_release(struct frame *frame);

/* Blocking. ERROR_UNAVAILABLE: the other side is gone. frame_read gives ERROR_INTERNAL for a damaged frame.
 */
enum error_code frame_write(int fd, const struct frame *frame, struct error *e) BASE_CHECKED;
enum error_code frame_read(int fd, struct frame *out, struct error *e) BASE_CHECKED;

#endif
