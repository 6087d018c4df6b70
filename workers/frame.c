/* Frames over a socket pair, written and read whole. A frame that is damaged or too large is an error,
 * never a crash: the child that sends it has read a stranger's module. See frame.h. */
#include "workers/frame.h"

#include "base/host.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { FRAME_MAX_BYTES = 1 << 28, FRAME_MAX_FIELDS = 4096 };

void frame_add(struct frame *frame, const char *name, const void *value, size_t size)
{
    frame->fields.at = mem_realloc(frame->fields.at, frame->fields.count + 1, sizeof *frame->fields.at);
    struct queue_field *at = &frame->fields.at[frame->fields.count++];
    at->name = mem_strdup(name);
    at->value = mem_alloc(size + 1);
    memcpy(at->value, value, size);
    at->value[size] = 0;
    at->size = size;
}

void frame_add_text(struct frame *frame, const char *name, const char *value)
{
    frame_add(frame, name, value, strlen(value));
}

void frame_add_number(struct frame *frame, const char *name, unsigned long long value)
{
    char digits[24];
    snprintf(digits, sizeof digits, "%llu", value);
    frame_add_text(frame, name, digits);
}

void frame_release(struct frame *frame)
{
    queue_fields_release(&frame->fields);
}

static enum error_code send_all(int fd, const char *bytes, size_t size, struct error *e)
{
    int tries = 0;
    while (size) {
        ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);
        if (n < 0 && (errno == EINTR || host_pause(errno, &tries)))
            continue;
        if (n <= 0)
            return error_set(e, ERROR_UNAVAILABLE, "the other process is gone");
        bytes += n;
        size -= (size_t)n;
    }
    return ERROR_OK;
}

static enum error_code receive_all(int fd, void *bytes, size_t size, struct error *e)
{
    char *at = bytes;
    while (size) {
        ssize_t n = recv(fd, at, size, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return error_set(e, ERROR_UNAVAILABLE, "the other process is gone");
        at += n;
        size -= (size_t)n;
    }
    return ERROR_OK;
}

enum error_code frame_write(int fd, const struct frame *frame, struct error *e)
{
    struct text body = {0};
    for (size_t i = 0; i < frame->fields.count; i++) {
        const struct queue_field *at = &frame->fields.at[i];
        uint32_t sizes[2] = {(uint32_t)strlen(at->name), (uint32_t)at->size};
        text_add_n(&body, (char *)sizes, sizeof sizes);
        text_add_n(&body, at->name, sizes[0]);
        text_add_n(&body, at->value, at->size);
    }
    if (body.size > FRAME_MAX_BYTES || frame->fields.count > FRAME_MAX_FIELDS) {
        text_release(&body);
        return error_set(e, ERROR_INTERNAL, "a frame of %zu bytes is too large", body.size);
    }
    uint32_t head[2] = {(uint32_t)frame->fields.count, (uint32_t)body.size};
    enum error_code code = send_all(fd, (char *)head, sizeof head, e);
    if (code == ERROR_OK)
        code = send_all(fd, body.at, body.size, e);
    text_release(&body);
    return code;
}

enum error_code frame_read(int fd, struct frame *out, struct error *e)
{
    uint32_t head[2];
    *out = (struct frame){0};
    enum error_code code = receive_all(fd, head, sizeof head, e);
    if (code != ERROR_OK)
        return code;
    if (head[0] > FRAME_MAX_FIELDS || head[1] > FRAME_MAX_BYTES)
        return error_set(e, ERROR_INTERNAL, "a frame says that it is too large");
    char *body = mem_alloc(head[1]);
    code = receive_all(fd, body, head[1], e);
    size_t at = 0;
    for (uint32_t i = 0; code == ERROR_OK && i < head[0]; i++) {
        uint32_t sizes[2];
        if (head[1] - at < sizeof sizes) {
            code = error_set(e, ERROR_INTERNAL, "a frame is damaged");
            break;
        }
        memcpy(sizes, body + at, sizeof sizes);
        at += sizeof sizes;
        if (sizes[0] > head[1] - at || sizes[1] > head[1] - at - sizes[0]) {
            code = error_set(e, ERROR_INTERNAL, "a frame is damaged");
            break;
        }
        char *name = mem_strndup(body + at, sizes[0]);
        frame_add(out, name, body + at + sizes[0], sizes[1]);
        free(name);
        at += (size_t)sizes[0] + sizes[1];
    }
    free(body);
    if (code != ERROR_OK)
        frame_release(out);
    return code;
}
