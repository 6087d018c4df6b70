/* See queue.h: each call gathers arguments, calls one function of queue/library.lua and reads its reply. */
#include "queue/queue.h"

#include "queue/redis.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

struct queue {
    struct redis *redis;
};

/* ---- arguments ---- */

struct arguments {
    VEC(const char *) values;
    VEC(size_t) sizes;
    char numbers[8][24];
    int number_count;
};

static void add_bytes(struct arguments *a, const void *bytes, size_t size)
{
    VEC_PUSH(&a->values, bytes);
    VEC_PUSH(&a->sizes, size);
}

static void add(struct arguments *a, const char *text)
{
    add_bytes(a, text, strlen(text));
}

static void add_number(struct arguments *a, long long n)
{
    BASE_CHECK(a->number_count < 8);
    char *at = a->numbers[a->number_count++];
    snprintf(at, sizeof a->numbers[0], "%lld", n);
    add(a, at);
}

static void add_pairs(struct arguments *a, const struct queue_pair *pairs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add(a, pairs[i].name);
        add(a, pairs[i].value);
    }
}

static enum error_code call(struct queue *q, const char *name, struct arguments *a, redisReply **out, struct error *e)
{
    enum error_code code =
        redis_call(q->redis, name, (int)a->values.count, a->values.at, a->sizes.at, out, e);
    VEC_FREE(&a->values);
    VEC_FREE(&a->sizes);
    return code;
}

static enum error_code command(struct queue *q, struct arguments *a, redisReply **out, struct error *e)
{
    enum error_code code = redis_command(q->redis, (int)a->values.count, a->values.at, a->sizes.at, out, e);
    VEC_FREE(&a->values);
    VEC_FREE(&a->sizes);
    return code;
}

/* commands that only read may be repeated once after the connection broke */
static enum error_code read_command(struct queue *q, int argc, const char **argv, redisReply **out, struct error *e)
{
    enum error_code code = redis_command(q->redis, argc, argv, NULL, out, e);
    return code == ERROR_UNAVAILABLE ? redis_command(q->redis, argc, argv, NULL, out, e) : code;
}

/* ---- replies ---- */

static const char *reply_text(const redisReply *r, size_t i)
{
    if (r->type == REDIS_REPLY_ARRAY && i < r->elements && r->element[i]->type != REDIS_REPLY_NIL && r->element[i]->str)
        return r->element[i]->str;
    return r->type != REDIS_REPLY_ARRAY && i == 0 && r->str ? r->str : "";
}

static long long reply_number(const redisReply *r, size_t i)
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

static void read_fields(const redisReply *r, struct queue_fields *out)
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

void queue_task_release(struct queue_task *t)
{
    free(t->member);
    free(t->token);
    queue_fields_release(&t->job);
    *t = (struct queue_task){0};
}

/* {member, token, epoch, index, fields} as library.lua's task_reply gives it */
static bool read_task(const redisReply *r, struct queue_task *out)
{
    *out = (struct queue_task){0};
    if (r->type != REDIS_REPLY_ARRAY || r->elements != 5)
        return false;
    const char *member = reply_text(r, 0), *slash = strchr(member, '/'), *end = slash ? strchr(slash + 1, '/') : NULL;
    if (!end || (size_t)(slash - member) >= sizeof out->id || (size_t)(end - slash - 1) >= sizeof out->kind)
        return false;
    memcpy(out->id, member, (size_t)(slash - member));
    memcpy(out->kind, slash + 1, (size_t)(end - slash - 1));
    out->member = mem_strdup(member);
    out->token = mem_strdup(reply_text(r, 1));
    out->epoch = (uint32_t)reply_number(r, 2);
    out->index = (uint32_t)reply_number(r, 3);
    read_fields(r->element[4], &out->job);
    return true;
}

static bool read_next(const redisReply *r, struct queue_task *next)
{
    return r->type == REDIS_REPLY_ARRAY && r->elements == 2 && strcmp(reply_text(r, 0), "next") == 0 &&
           read_task(r->element[1], next);
}

/* ---- life ---- */

enum error_code queue_create(const char *redis_address, struct queue **out, struct error *e)
{
    struct queue *q = mem_zalloc(1, sizeof *q);
    enum error_code code = redis_create(redis_address, &q->redis, e);
    if (code != ERROR_OK) {
        free(q);
        return code;
    }
    *out = q;
    return ERROR_OK;
}

void queue_destroy(struct queue *q)
{
    if (!q)
        return;
    redis_destroy(q->redis);
    free(q);
}

unsigned long queue_reconnects(const struct queue *q)
{
    return redis_reconnects(q->redis);
}

static const char id_digits[] = "0123456789abcdefghjkmnpqrstvwxyz";   /* Crockford's base 32 */

void queue_new_id(char out[QUEUE_ID_SIZE])
{
    struct timespec t;
    unsigned char random[16];
    clock_gettime(CLOCK_REALTIME, &t);
    uint64_t ms = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
    for (size_t have = 0; have < sizeof random;) {
        ssize_t n = getrandom(random + have, sizeof random - have, 0);
        have += n > 0 ? (size_t)n : 0;
    }
    memcpy(out, "j_", 2);
    for (int i = 0; i < 10; i++)
        out[2 + i] = id_digits[ms >> (5 * (9 - i)) & 31];
    for (int i = 0; i < 16; i++)
        out[12 + i] = id_digits[random[i] & 31];
    out[28] = 0;
}

bool queue_id_valid(const char *id)
{
    return strlen(id) == QUEUE_ID_SIZE - 1 && strncmp(id, "j_", 2) == 0 &&
           strspn(id + 2, id_digits) == QUEUE_ID_SIZE - 3;
}

/* ---- the server's side ---- */

enum error_code queue_submit(struct queue *q, const struct queue_submission *s, bool *existed, struct error *e)
{
    struct arguments a = {0};
    redisReply *r = NULL;
    add(&a, s->id);
    add(&a, s->tenant);
    add(&a, s->first_kind);
    add_number(&a, s->open_limit);
    add_number(&a, s->deadline_ms);
    add_pairs(&a, s->fields, s->field_count);
    enum error_code code = call(q, "submit", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *existed = strcmp(reply_text(r, 0), "exists") == 0;
    if (strcmp(reply_text(r, 0), "full") == 0)
        code = error_set(e, ERROR_CONFLICT, "%d jobs are open already; wait for one to end or cancel one", s->open_limit);
    freeReplyObject(r);
    return code;
}

enum error_code queue_job(struct queue *q, const char *id, struct queue_fields *out, struct error *e)
{
    char key[64];
    redisReply *r = NULL;
    snprintf(key, sizeof key, "{t}:j:%s", id);
    const char *argv[] = {"HGETALL", key};
    enum error_code code = read_command(q, 2, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    read_fields(r, out);
    freeReplyObject(r);
    if (out->count)
        return ERROR_OK;
    queue_fields_release(out);
    return error_set(e, ERROR_NOT_FOUND, "there is no job %s", id);
}

enum error_code queue_list(struct queue *q, const char *tenant, long long before_ms, const char *before_id, size_t limit,
                           struct queue_page *out, struct error *e)
{
    char key[160], from[32], count[24];
    redisReply *r = NULL;
    *out = (struct queue_page){0};
    snprintf(key, sizeof key, "{t}:idx:%s", tenant);
    snprintf(from, sizeof from, before_ms > 0 ? "%lld" : "+inf", before_ms);
    snprintf(count, sizeof count, "%zu", limit + 64);   /* some share the page's last millisecond */
    const char *argv[] = {"ZREVRANGEBYSCORE", key, from, "-inf", "WITHSCORES", "LIMIT", "0", count};
    enum error_code code = read_command(q, 8, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    out->ids = mem_zalloc(limit + 1, sizeof *out->ids);
    out->created_ms = mem_zalloc(limit + 1, sizeof *out->created_ms);
    for (size_t i = 0; r->type == REDIS_REPLY_ARRAY && i + 1 < r->elements && out->count < limit; i += 2) {
        long long created = strtoll(reply_text(r, i + 1), NULL, 10);
        if (before_ms > 0 && created == before_ms && strcmp(reply_text(r, i), before_id) >= 0)
            continue;
        snprintf(out->ids[out->count], QUEUE_ID_SIZE, "%s", reply_text(r, i));
        out->created_ms[out->count++] = created;
    }
    freeReplyObject(r);
    return ERROR_OK;
}

void queue_page_release(struct queue_page *p)
{
    free(p->ids);
    free(p->created_ms);
    *p = (struct queue_page){0};
}

enum error_code queue_cancel(struct queue *q, const char *id, bool discard, char state[32], bool *terminal,
                             struct error *e)
{
    struct arguments a = {0};
    redisReply *r = NULL;
    add(&a, id);
    add(&a, discard ? "1" : "0");
    enum error_code code = call(q, "cancel", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    snprintf(state, 32, "%s", reply_text(r, 1));
    *terminal = strcmp(reply_text(r, 0), "terminal") == 0;
    if (strcmp(reply_text(r, 0), "missing") == 0)
        code = error_set(e, ERROR_NOT_FOUND, "there is no job %s", id);
    freeReplyObject(r);
    return code;
}

/* ---- the workers' side ---- */

static enum error_code hello(struct queue *q, struct error *e)
{
    struct arguments a = {0};
    redisReply *r = NULL;
    enum error_code code = call(q, "hello", &a, &r, e);
    if (code == ERROR_OK)
        freeReplyObject(r);
    return code;
}

enum error_code queue_wait(struct queue *q, int wait_ms, struct error *e)
{
    char block[16];
    struct error scratch, *why = e ? e : &scratch;
    redisReply *r = NULL;
    snprintf(block, sizeof block, "%d", wait_ms > 1000 ? 1000 : wait_ms < 1 ? 1 : wait_ms);
    const char *argv[] = {"XREADGROUP", "GROUP", "w", "w", "NOACK", "COUNT", "1", "BLOCK", block, "STREAMS", "{t}:q", ">"};
    enum error_code code = redis_command(q->redis, 12, argv, NULL, &r, why);
    if (code == ERROR_INTERNAL && strstr(why->message, "NOGROUP"))
        return hello(q, e);
    if (code != ERROR_OK)
        return code;
    const char *message = NULL;
    if (r->type == REDIS_REPLY_ARRAY && r->elements && r->element[0]->elements == 2 &&
        r->element[0]->element[1]->elements && r->element[0]->element[1]->element[0]->elements)
        message = r->element[0]->element[1]->element[0]->element[0]->str;
    redisReply *deleted = NULL;
    const char *drop[] = {"XDEL", "{t}:q", message};
    if (message)
        code = redis_command(q->redis, 3, drop, NULL, &deleted, e);
    if (deleted)
        freeReplyObject(deleted);
    freeReplyObject(r);
    return code;
}

enum error_code queue_claim(struct queue *q, const char *token, const char *build, struct queue_task *out, bool *found,
                            struct error *e)
{
    struct arguments a = {0};
    redisReply *r = NULL;
    add(&a, token);
    add(&a, build);
    enum error_code code = call(q, "claim", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *found = read_task(r, out);
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_results(struct queue *q, const char *id, uint32_t epoch, struct queue_fields *out, struct error *e)
{
    char key[80];
    redisReply *r = NULL;
    *out = (struct queue_fields){0};
    if (epoch == 0)
        return ERROR_OK;
    snprintf(key, sizeof key, "{t}:d:%s:%u", id, epoch - 1);
    const char *argv[] = {"HGETALL", key};
    enum error_code code = read_command(q, 2, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    read_fields(r, out);
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_beat(struct queue *q, const char *worker, const char *build, const char *host, int threads,
                           struct queue_lease *leases, size_t count, struct error *e)
{
    struct arguments a = {0};
    redisReply *r = NULL;
    add(&a, worker);
    add(&a, build);
    add(&a, host);
    add_number(&a, threads);
    for (size_t i = 0; i < count; i++) {
        add(&a, leases[i].member);
        add(&a, leases[i].token);
    }
    enum error_code code = call(q, "beat", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    for (size_t i = 0; i < count; i++)
        leases[i].held = reply_number(r, i) == 1;
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_task_done(struct queue *q, const struct queue_task *t, const char *digest, const void *payload,
                                size_t size, const char *next_token, struct queue_task *next, bool *found,
                                struct error *e)
{
    struct arguments a = {0};
    redisReply *r = NULL;
    add(&a, t->member);
    add(&a, t->token);
    add(&a, digest);
    add_bytes(&a, payload, size);
    add(&a, next_token);
    enum error_code code = call(q, "task_done", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *found = read_next(r, next);
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_commit(struct queue *q, const struct queue_task *t, const struct queue_step *s,
                             const char *next_token, struct queue_task *next, bool *found, struct error *e)
{
    struct arguments a = {0};
    redisReply *r = NULL;
    add(&a, t->member);
    add(&a, t->token);
    add(&a, next_token);
    add(&a, s->kind);
    add_number(&a, s->tasks);
    add(&a, s->join);
    add(&a, s->wrap);
    add(&a, s->state);
    add(&a, s->progress);
    add_number(&a, (long long)s->rollouts);
    add_pairs(&a, s->fields, s->field_count);
    enum error_code code = call(q, "epoch_commit", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *found = read_next(r, next);
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_finish(struct queue *q, const struct queue_task *t, const char *state, const char *error_json,
                             const char *progress, const struct queue_pair *fields, size_t field_count, bool *fenced,
                             struct error *e)
{
    struct arguments a = {0};
    redisReply *r = NULL;
    add(&a, t->member);
    add(&a, t->token);
    add(&a, state);
    add(&a, error_json);
    add(&a, progress);
    add_pairs(&a, fields, field_count);
    enum error_code code = call(q, "finish", &a, &r, e);
    if (code != ERROR_OK)
        return code;
    *fenced = strcmp(reply_text(r, 0), "ok") != 0;
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_release(struct queue *q, const struct queue_task *t, struct error *e)
{
    struct arguments a = {0};
    redisReply *r = NULL;
    add(&a, t->member);
    add(&a, t->token);
    enum error_code code = call(q, "release", &a, &r, e);
    if (code == ERROR_OK)
        freeReplyObject(r);
    return code;
}

enum error_code queue_died(struct queue *q, const struct queue_task *t, const char *error_json, int backoff_ms,
                           struct error *e)
{
    struct arguments a = {0};
    redisReply *r = NULL;
    add(&a, t->member);
    add(&a, t->token);
    add(&a, error_json);
    add_number(&a, backoff_ms);
    enum error_code code = call(q, "died", &a, &r, e);
    if (code == ERROR_OK)
        freeReplyObject(r);
    return code;
}

enum error_code queue_reap(struct queue *q, struct error *e)
{
    struct arguments a = {0};
    redisReply *r = NULL;
    enum error_code code = call(q, "reap", &a, &r, e);
    if (code == ERROR_OK)
        freeReplyObject(r);
    return code;
}

/* ---- what operators see ---- */

static void add_counter(struct queue_fields *f, const char *name, long long value)
{
    f->at = mem_realloc(f->at, f->count + 1, sizeof *f->at);
    struct queue_field *at = &f->at[f->count++];
    at->name = mem_strdup(name);
    at->value = mem_printf("%lld", value);
    at->size = strlen(at->value);
}

static enum error_code cardinality(struct queue *q, const char *key, long long *out, struct error *e)
{
    redisReply *r = NULL;
    const char *argv[] = {"ZCARD", key};
    enum error_code code = read_command(q, 2, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    *out = r->integer;
    freeReplyObject(r);
    return ERROR_OK;
}

enum error_code queue_counters(struct queue *q, struct queue_fields *out, struct error *e)
{
    static const char *const sets[][2] = {{"run", "{t}:run"}, {"leases", "{t}:lease"}, {"workers", "{t}:workers"}};
    redisReply *r = NULL;
    const char *argv[] = {"HGETALL", "{t}:n"}, *oldest[] = {"ZRANGE", "{t}:run", "0", "0", "WITHSCORES"};
    enum error_code code = read_command(q, 2, argv, &r, e);
    if (code != ERROR_OK)
        return code;
    read_fields(r, out);
    freeReplyObject(r);
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        long long n = 0;
        code = cardinality(q, sets[i][1], &n, e);
        if (code != ERROR_OK)
            goto out;
        add_counter(out, sets[i][0], n);
    }
    code = read_command(q, 5, oldest, &r, e);
    if (code != ERROR_OK)
        goto out;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    long long age = r->elements == 2 ? now.tv_sec * 1000LL + now.tv_nsec / 1000000 - strtoll(reply_text(r, 1), NULL, 10) : 0;
    add_counter(out, "queue_age_ms", age > 0 ? age : 0);
    freeReplyObject(r);
out:
    if (code != ERROR_OK)
        queue_fields_release(out);
    return code;
}

/* value of "name:" in INFO's text; 0 when absent */
static long long info_number(const char *info, const char *name)
{
    const char *at = strstr(info, name);
    return at ? strtoll(at + strlen(name), NULL, 10) : 0;
}

enum error_code queue_check(struct queue *q, struct queue_health *out, struct error *e)
{
    struct arguments a = {0};
    redisReply *r = NULL;
    *out = (struct queue_health){0};
    const char *const sections[] = {"memory", "replication", "persistence"};
    for (size_t i = 0; i < 3; i++) {
        const char *argv[] = {"INFO", sections[i]};
        enum error_code code = read_command(q, 2, argv, &r, e);
        if (code != ERROR_OK)
            return code;
        const char *info = reply_text(r, 0);
        if (i == 0) {
            out->used_bytes = info_number(info, "used_memory:");
            out->limit_bytes = info_number(info, "maxmemory:");
            out->no_eviction = strstr(info, "maxmemory_policy:noeviction") != NULL;
        } else if (i == 1) {
            out->primary = strstr(info, "role:master") != NULL;
        } else {
            out->append_only = info_number(info, "aof_enabled:") == 1;
        }
        freeReplyObject(r);
    }
    out->memory_bounded = out->limit_bytes > 0;
    add(&a, "CONFIG");
    add(&a, "GET");
    add(&a, "appendfsync");
    enum error_code code = command(q, &a, &r, e);
    if (code != ERROR_OK)
        return code;
    out->append_always = strcmp(reply_text(r, 1), "always") == 0;
    freeReplyObject(r);
    return ERROR_OK;
}
