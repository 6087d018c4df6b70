/* How the other files of this folder talk to Redis: arguments are gathered, one of our functions or a plain
 * command is called, the reply is taken apart. Knows no key and no function by name. See call.h. */
#include "queue/call.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void call_add_bytes(struct call *call, const void *bytes, size_t size)
{
    VEC_PUSH(&call->values, bytes);
    VEC_PUSH(&call->sizes, size);
}

void call_add(struct call *call, const char *text)
{
    call_add_bytes(call, text, strlen(text));
}

void call_add_format(struct call *call, const char *format, ...)
{
    va_list args;
    BASE_CHECK(call->number_count < 8);
    char *at = call->numbers[call->number_count++];
    va_start(args, format);
    vsnprintf(at, sizeof call->numbers[0], format, args);
    va_end(args);
    call_add(call, at);
}

void call_add_number(struct call *call, long long n)
{
    call_add_format(call, "%lld", n);
}

void call_add_pairs(struct call *call, const struct queue_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        call_add(call, pairs[i].name);
        call_add(call, pairs[i].value);
    }
}

enum error_code call_function(struct queue *queue, const char *name, struct call *call, redisReply **out,
                              struct error *e)
{
    enum error_code code =
        redis_call(queue->redis, name, (int)call->values.count, call->values.at, call->sizes.at, out, e);
    VEC_FREE(&call->values);
    VEC_FREE(&call->sizes);
    return code;
}

enum error_code call_read(struct queue *queue, int argc, const char **argv, redisReply **out, struct error *e)
{
    enum error_code code = redis_command(queue->redis, argc, argv, NULL, out, e);
    return code == ERROR_UNAVAILABLE ? redis_command(queue->redis, argc, argv, NULL, out, e) : code;
}

enum error_code call_plain(struct queue *queue, const char *name, struct call *call, struct error *e)
{
    redisReply *reply = NULL;
    enum error_code code = call_function(queue, name, call, &reply, e);
    if (code == ERROR_OK)
        freeReplyObject(reply);
    return code;
}

enum error_code call_hash(struct queue *queue, const char *key, struct queue_fields *out, struct error *e)
{
    const char *argv[] = {"HGETALL", key};
    redisReply *reply = NULL;
    *out = (struct queue_fields){0};
    enum error_code code = call_read(queue, 2, argv, &reply, e);
    if (code != ERROR_OK)
        return code;
    reply_fields(reply, out);
    freeReplyObject(reply);
    return ERROR_OK;
}

const char *reply_text(const redisReply *reply, size_t i)
{
    if (reply->type == REDIS_REPLY_ARRAY && i < reply->elements &&
        reply->element[i]->type != REDIS_REPLY_NIL && reply->element[i]->str)
        return reply->element[i]->str;
    return reply->type != REDIS_REPLY_ARRAY && i == 0 && reply->str ? reply->str : "";
}

long long reply_number(const redisReply *reply, size_t i)
{
    return reply->type == REDIS_REPLY_ARRAY && i < reply->elements ? reply->element[i]->integer : 0;
}

static char *copy(const char *bytes, size_t size)
{
    char *out = mem_alloc(size + 1);
    memcpy(out, bytes, size);
    out[size] = 0;
    return out;
}

void reply_ids(const redisReply *reply, char (**ids)[QUEUE_ID_SIZE], size_t *count)
{
    *ids = mem_zalloc(reply->elements + 1, sizeof **ids);
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
        snprintf((*ids)[(*count)++], QUEUE_ID_SIZE, "%s", reply_text(reply, i));
}

void reply_fields(const redisReply *reply, struct queue_fields *out)
{
    *out = (struct queue_fields){0};
    if (reply->type != REDIS_REPLY_ARRAY)
        return;
    out->at = mem_zalloc(reply->elements / 2 + 1, sizeof *out->at);
    for (size_t i = 0; i + 1 < reply->elements; i += 2) {
        const redisReply *name = reply->element[i], *value = reply->element[i + 1];
        if (!name->str || !value->str)
            continue;
        struct queue_field *field = &out->at[out->count++];
        field->name = copy(name->str, name->len);
        field->value = copy(value->str, value->len);
        field->size = value->len;
    }
}

const char *queue_field(const struct queue_fields *fields, const char *name)
{
    for (size_t i = 0; i < fields->count; i++)
        if (strcmp(fields->at[i].name, name) == 0)
            return fields->at[i].value;
    return "";
}

long long queue_number(const struct queue_fields *fields, const char *name)
{
    return strtoll(queue_field(fields, name), NULL, 10);
}

void queue_fields_release(struct queue_fields *fields)
{
    for (size_t i = 0; i < fields->count; i++) {
        free(fields->at[i].name);
        free(fields->at[i].value);
    }
    free(fields->at);
    *fields = (struct queue_fields){0};
}
