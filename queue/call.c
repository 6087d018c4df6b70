/* How the other files of this folder talk to Redis: arguments are gathered, one of our functions or a plain
 * command is called, the reply is taken apart. Knows no key and no function by name. See call.h. */
#include "queue/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void call_add_bytes(struct call *c, const void *bytes, size_t size)
{
    VEC_PUSH(&c->values, bytes);
    VEC_PUSH(&c->sizes, size);
}

void call_add(struct call *c, const char *text)
{
    call_add_bytes(c, text, strlen(text));
}

void call_add_format(struct call *c, const char *format, ...)
{
    va_list args;
    BASE_CHECK(c->number_count < 8);
    char *at = c->numbers[c->number_count++];
    va_start(args, format);
    vsnprintf(at, sizeof c->numbers[0], format, args);
    va_end(args);
    call_add(c, at);
}

void call_add_number(struct call *c, long long n)
{
    call_add_format(c, "%lld", n);
}

void call_add_pairs(struct call *c, const struct queue_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        call_add(c, pairs[i].name);
        call_add(c, pairs[i].value);
    }
}

enum error_code call_function(struct queue *q, const char *name, struct call *c, redisReply **out,
                              struct error *e)
{
    enum error_code code =
        redis_call(q->redis, name, (int)c->values.count, c->values.at, c->sizes.at, out, e);
    VEC_FREE(&c->values);
    VEC_FREE(&c->sizes);
    return code;
}

enum error_code call_read(struct queue *q, int argc, const char **argv, redisReply **out, struct error *e)
{
    enum error_code code = redis_command(q->redis, argc, argv, NULL, out, e);
    return code == ERROR_UNAVAILABLE ? redis_command(q->redis, argc, argv, NULL, out, e) : code;
}

enum error_code call_plain(struct queue *q, const char *name, struct call *c, struct error *e)
{
    redisReply *r = NULL;
    enum error_code code = call_function(q, name, c, &r, e);
    if (code == ERROR_OK)
        freeReplyObject(r);
    return code;
}

enum error_code call_hash(struct queue *q, const char *key, struct queue_fields *out, struct error *e)
{
    const char *argv[] = {"HGETALL", key};
    redisReply *r = NULL;
    *out = (struct queue_fields){0};
    enum error_code code = call_read(q, 2, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    reply_fields(r, out);
    freeReplyObject(r);
    return ERROR_OK;
}

const char *reply_text(const redisReply *r, size_t i)
{
    if (r->type == REDIS_REPLY_ARRAY && i < r->elements && r->element[i]->type != REDIS_REPLY_NIL &&
        r->element[i]->str)
        return r->element[i]->str;
    return r->type != REDIS_REPLY_ARRAY && i == 0 && r->str ? r->str : "";
}

long long reply_number(const redisReply *r, size_t i)
{
    return r->type == REDIS_REPLY_ARRAY && i < r->elements ? r->element[i]->integer : 0;
}

static char *copy(const char *bytes, size_t size)
{
    char *out = mem_alloc(size + 1);
    memcpy(out, bytes, size);
    out[size] = 0;
    return out;
}

void reply_ids(const redisReply *r, char (**ids)[QUEUE_ID_SIZE], size_t *count)
{
    *ids = mem_zalloc(r->elements + 1, sizeof **ids);
    for (size_t i = 0; r->type == REDIS_REPLY_ARRAY && i < r->elements; i++)
        snprintf((*ids)[(*count)++], QUEUE_ID_SIZE, "%s", reply_text(r, i));
}

void reply_fields(const redisReply *r, struct queue_fields *out)
{
    *out = (struct queue_fields){0};
    if (r->type != REDIS_REPLY_ARRAY)
        return;
    out->at = mem_zalloc(r->elements / 2 + 1, sizeof *out->at);
    for (size_t i = 0; i + 1 < r->elements; i += 2) {
        const redisReply *name = r->element[i], *value = r->element[i + 1];
        if (!name->str || !value->str)
            continue;
        struct queue_field *f = &out->at[out->count++];
        f->name = copy(name->str, name->len);
        f->value = copy(value->str, value->len);
        f->size = value->len;
    }
}

const char *queue_field(const struct queue_fields *f, const char *name)
{
    for (size_t i = 0; i < f->count; i++)
        if (strcmp(f->at[i].name, name) == 0)
            return f->at[i].value;
    return "";
}

long long queue_number(const struct queue_fields *f, const char *name)
{
    return strtoll(queue_field(f, name), NULL, 10);
}

void queue_fields_release(struct queue_fields *f)
{
    for (size_t i = 0; i < f->count; i++) {
        free(f->at[i].name);
        free(f->at[i].value);
    }
    free(f->at);
    *f = (struct queue_fields){0};
}
