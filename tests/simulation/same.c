/* See same.h. */
#include "same.h"

#include "base/memory.h"
#include "engine.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static bool same(const redisReply *a, const redisReply *b);

/* groups of `size` elements, in any order */
static bool same_groups(const redisReply *a, const redisReply *b, size_t size)
{
    bool *taken = mem_zalloc(a->elements + 1, sizeof *taken), all = a->elements % size == 0;
    for (size_t i = 0; all && i < a->elements; i += size) {
        size_t k = 0;
        for (bool found = false; k < b->elements; k += size) {
            found = !taken[k];
            for (size_t n = 0; found && n < size; n++)
                found = same(a->element[i + n], b->element[k + n]);
            if (found)
                break;
        }
        all = k < b->elements;
        if (all)
            taken[k] = true;
    }
    free(taken);
    return all;
}

static bool same_order(const redisReply *a, const redisReply *b)
{
    for (size_t i = 0; i < a->elements; i++)
        if (!same(a->element[i], b->element[i]))
            return false;
    return true;
}

static bool same_error(const char *a, const char *b)
{
    static const char *const texts[] = {"Function not found", "NOGROUP", "BUSYGROUP"};
    for (int i = 0; i < 3; i++)
        if ((strstr(a, texts[i]) != NULL) != (strstr(b, texts[i]) != NULL))
            return false;
    return true;
}

static bool same(const redisReply *a, const redisReply *b)
{
    if (a->type != b->type)
        return false;
    switch (a->type) {
    case REDIS_REPLY_INTEGER: return a->integer == b->integer;
    case REDIS_REPLY_ERROR: return same_error(a->str, b->str);
    case REDIS_REPLY_ARRAY:
        /* a job's fields are an array of pairs */
        return a->elements == b->elements && (same_order(a, b) || same_groups(a, b, 2));
    case REDIS_REPLY_NIL: return true;
    default: return a->len == b->len && memcmp(a->str, b->str, a->len) == 0;
    }
}

static void show(struct text *out, const redisReply *reply)
{
    if (reply->type == REDIS_REPLY_INTEGER)
        text_printf(out, "%lld", reply->integer);
    else if (reply->type == REDIS_REPLY_NIL)
        text_add(out, "nil");
    else if (reply->type != REDIS_REPLY_ARRAY)
        text_printf(out, "%d'%s'", reply->type, reply->str);
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++) {
        text_add(out, i ? ", " : "[");
        show(out, reply->element[i]);
    }
    if (reply->type == REDIS_REPLY_ARRAY)
        text_add(out, reply->elements ? "]" : "[]");
}

void replies_same(const char *command, const redisReply *redis, const redisReply *mini)
{
    bool set = strcmp(command, "SMEMBERS") == 0, scan = strcmp(command, "SCAN") == 0;
    struct text one = {0}, other = {0};
    if (same(redis, mini) || strcmp(command, "FUNCTION") == 0 ||
        (set && redis->elements == mini->elements && same_groups(redis, mini, 1)) ||
        (scan && redis->element[1]->elements == mini->element[1]->elements &&
         same_groups(redis->element[1], mini->element[1], 1)))
        return;
    show(&one, redis);
    show(&other, mini);
    engine_die("%s: Redis says\n%s\nthe stand-in\n%s", command, one.at, other.at);
}
