/* Commands of mini.h: sorted sets. */
#include "mini_reply.h"

#include "engine.h"

#include <stdlib.h>

static const struct mini_value *empty(void)
{
    static struct mini_value none = {.kind = MINI_SORTED};
    return &none;
}

static const struct mini_value *sorted_of(const struct mini_call *call)
{
    const struct mini_value *value = mini_find(call->argv[1]);
    return value ? value : empty();
}

/* ZADD key [XX] [LT] score member ... */
static void zadd(const struct mini_call *call)
{
    int i = 2;
    bool known_only = false, less_only = false;
    long long added = 0;
    for (; mini_is(call, i, "XX") || mini_is(call, i, "LT"); i++) {
        known_only |= mini_is(call, i, "XX");
        less_only |= mini_is(call, i, "LT");
    }
    struct mini_value *value = mini_find_or_make(call->argv[1], MINI_SORTED);
    for (; i + 1 < call->argc; i += 2) {
        char *end;
        double score = strtod(call->argv[i].at, &end);
        if (*end)
            engine_die("ZADD with option or score %s", call->argv[i].at);
        int index = mini_member_index(value, call->argv[i + 1]);
        if ((index < 0 && known_only) || (index >= 0 && less_only && score >= value->sorted.at[index].score))
            continue;
        added += mini_member_set(value, call->argv[i + 1], score);
    }
    mini_drop_empty(value);
    mini_put_integer(call->out, added);
}

static void zrem(const struct mini_call *call)
{
    struct mini_value *value = mini_find(call->argv[1]);
    long long gone = 0;
    for (int i = 2; value && i < call->argc; i++) {
        int index = mini_member_index(value, call->argv[i]);
        if (index >= 0) {
            mini_member_remove(value, (size_t)index);
            gone++;
        }
    }
    if (value)
        mini_drop_empty(value);
    mini_put_integer(call->out, gone);
}

static void zscore(const struct mini_call *call)
{
    const struct mini_value *value = sorted_of(call);
    int index = mini_member_index(value, call->argv[2]);
    if (index < 0)
        mini_put_nil(call->out);
    else
        mini_put_score(call->out, value->sorted.at[index].score);
}

static void zcard(const struct mini_call *call)
{
    mini_put_integer(call->out, (long long)sorted_of(call)->sorted.count);
}

static void zpopmin(const struct mini_call *call)
{
    struct mini_value *value = mini_find(call->argv[1]);
    mini_put_array(call->out, value ? 2 : 0);
    if (!value)
        return;
    mini_put_bytes(call->out, value->sorted.at[0].member);
    mini_put_score(call->out, value->sorted.at[0].score);
    mini_member_remove(value, 0);
    mini_drop_empty(value);
}

/* elements first .. last, backwards where last < first by `step` */
static void put_range(const struct mini_call *call, const struct mini_value *value, long long first,
                      long long count, int step, bool scores)
{
    mini_put_array(call->out, (size_t)count * (scores ? 2 : 1));
    for (long long i = 0; i < count; i++) {
        const struct mini_scored *at = &value->sorted.at[first + i * step];
        mini_put_bytes(call->out, at->member);
        if (scores)
            mini_put_score(call->out, at->score);
    }
}

/* ZRANGE key start stop [WITHSCORES] */
static void zrange(const struct mini_call *call)
{
    const struct mini_value *value = sorted_of(call);
    long long all = (long long)value->sorted.count;
    long long start = mini_number(call->argv[2]), stop = mini_number(call->argv[3]);
    bool scores = mini_is(call, 4, "WITHSCORES");
    if (call->argc > 4 + scores)
        engine_die("ZRANGE with another option");
    start = start < 0 ? start + all : start;
    stop = stop < 0 ? stop + all : stop;
    start = start < 0 ? 0 : start;
    stop = stop >= all ? all - 1 : stop;
    put_range(call, value, start, stop < start ? 0 : stop - start + 1, 1, scores);
}

struct bound {
    double score;
    bool without;
};

static struct bound bound_of(struct bytes text)
{
    struct bound bound = {.without = text.at[0] == '('};
    bound.score = strtod(text.at + bound.without, NULL); /* which knows -inf and +inf */
    return bound;
}

static bool within(double score, struct bound least, struct bound most)
{
    return (least.without ? score > least.score : score >= least.score) &&
           (most.without ? score < most.score : score <= most.score);
}

/* the part of the set within two bounds: *first, -> how many */
static long long find_range(const struct mini_value *value, struct bytes min, struct bytes max,
                            long long *first)
{
    struct bound least = bound_of(min), most = bound_of(max);
    long long count = 0;
    *first = 0;
    for (size_t i = 0; i < value->sorted.count; i++)
        if (within(value->sorted.at[i].score, least, most) && count++ == 0)
            *first = (long long)i;
    return count;
}

/* [WITHSCORES] [LIMIT offset count] from argument 4 on */
static void put_by_score(const struct mini_call *call, long long first, long long count, int step)
{
    bool scores = false;
    long long offset = 0, most = -1;
    for (int i = 4; i < call->argc; i++)
        if (mini_is(call, i, "WITHSCORES")) {
            scores = true;
        } else if (mini_is(call, i, "LIMIT") && i + 2 < call->argc) {
            offset = mini_number(call->argv[i + 1]);
            most = mini_number(call->argv[i + 2]);
            i += 2;
        } else {
            engine_die("a range by score with option %s", call->argv[i].at);
        }
    count = count > offset ? count - offset : 0;
    count = most >= 0 && count > most ? most : count;
    put_range(call, sorted_of(call), first + offset * step, count, step, scores);
}

static void zrangebyscore(const struct mini_call *call)
{
    long long first, count = find_range(sorted_of(call), call->argv[2], call->argv[3], &first);
    put_by_score(call, first, count, 1);
}

static void zrevrangebyscore(const struct mini_call *call)
{
    long long first, count = find_range(sorted_of(call), call->argv[3], call->argv[2], &first);
    put_by_score(call, first + count - 1, count, -1);
}

static void zremrangebyscore(const struct mini_call *call)
{
    struct mini_value *value = mini_find(call->argv[1]);
    long long first = 0, count = value ? find_range(value, call->argv[2], call->argv[3], &first) : 0;
    for (long long i = 0; i < count; i++)
        mini_member_remove(value, (size_t)first);
    if (value)
        mini_drop_empty(value);
    mini_put_integer(call->out, count);
}

const struct mini_command mini_sorted_commands[] = {{"ZADD", zadd},
                                                    {"ZREM", zrem},
                                                    {"ZSCORE", zscore},
                                                    {"ZCARD", zcard},
                                                    {"ZPOPMIN", zpopmin},
                                                    {"ZRANGE", zrange},
                                                    {"ZRANGEBYSCORE", zrangebyscore},
                                                    {"ZREVRANGEBYSCORE", zrevrangebyscore},
                                                    {"ZREMRANGEBYSCORE", zremrangebyscore},
                                                    {NULL, NULL}};
