/* See queue.h: the life of a job as servers see it: submitted, looked at, deleted, started again, archived,
 * forgotten. One function of queue/library_jobs.lua each, which alone decides; nothing is kept here. Tasks of
 * jobs, as workers see them, are in work.c. */
#include "base/hash.h"
#include "queue/call.h"
#include "queue/ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SCAN_MAX = 5000 }; /* jobs that one page looks at: about 10 ms of Redis' time */

/* ---- submit ---- */

static enum error_code too_many(int open_limit, struct error *e)
{
    return error_set(e, ERROR_TOO_MANY_JOBS, "%d jobs are open already; wait for one to end or cancel one",
                     open_limit);
}

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

static void add_submission(const struct queue_submission *submission, struct call *call)
{
    const char *const texts[] = {submission->name,   submission->key,    submission->print,
                                 submission->digest, submission->source, submission->module};
    call_add(call, submission->id);
    call_add(call, submission->tenant);
    call_add(call, submission->first_kind);
    call_add_format(call, "%d:%d", submission->open_limit, submission->submits_per_s);
    call_add_number(call, submission->deadline_ms);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        call_add(call, or_empty(texts[i]));
    call_add_number(call, (long long)submission->field_count);
    call_add_pairs(call, submission->fields, submission->field_count);
    for (size_t i = 0; submission->source_fields && i < submission->source_fields->count; i++) {
        call_add(call, submission->source_fields->at[i].name);
        call_add_bytes(call, submission->source_fields->at[i].value, submission->source_fields->at[i].size);
    }
}

static enum error_code read_accepted(const redisReply *reply, struct queue_accepted *out, struct error *e)
{
    static const struct {
        const char *word;
        enum queue_outcome outcome;
    } words[] = {{"ok", QUEUE_ACCEPTED},     {"exists", QUEUE_EXISTS},     {"replay", QUEUE_REPLAYED},
                 {"other", QUEUE_OTHER},     {"gone", QUEUE_GONE},         {"full", QUEUE_FULL},
                 {"fast", QUEUE_FAST},       {"mismatch", QUEUE_MISMATCH}, {"archived", QUEUE_ARCHIVED},
                 {"module", QUEUE_NO_MODULE}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(reply_text(reply, 0), words[i].word) != 0)
            continue;
        out->outcome = words[i].outcome;
        snprintf(out->id, sizeof out->id, "%s", reply_text(reply, 1));
        snprintf(out->blob, sizeof out->blob, "%s", reply_text(reply, 2));
        if (reply->elements > 3)
            reply_fields(reply->element[3], &out->job);
        return ERROR_OK;
    }
    return error_set(e, ERROR_INTERNAL, "submit gave an answer that this build does not know");
}

void queue_accept_many(struct queue *queue, struct queue_accepting *const *items, size_t count)
{
    struct call *arguments = mem_zalloc(count, sizeof *arguments);
    struct redis_call *calls = mem_zalloc(count, sizeof *calls);
    for (size_t i = 0; i < count; i++) {
        add_submission(items[i]->submission, &arguments[i]);
        calls[i] = (struct redis_call){.argc = (int)arguments[i].values.count,
                                       .argv = arguments[i].values.at,
                                       .sizes = arguments[i].sizes.at};
    }
    redis_calls(queue->redis, "submit", calls, count);
    for (size_t i = 0; i < count; i++) {
        struct queue_accepting *accepting = items[i];
        accepting->accepted = (struct queue_accepted){0};
        accepting->code = calls[i].code;
        accepting->error = calls[i].error;
        if (accepting->code == ERROR_OK)
            accepting->code = read_accepted(calls[i].reply, &accepting->accepted, &accepting->error);
        freeReplyObject(calls[i].reply);
        VEC_FREE(&arguments[i].values);
        VEC_FREE(&arguments[i].sizes);
    }
    free(calls);
    free(arguments);
}

enum error_code queue_accept(struct queue *queue, const struct queue_submission *submission,
                             struct queue_accepted *out, struct error *e)
{
    struct queue_accepting one = {.submission = submission}, *const items[] = {&one};
    queue_accept_many(queue, items, 1);
    *out = one.accepted;
    if (one.code != ERROR_OK)
        *e = one.error;
    return one.code;
}

enum error_code queue_submit(struct queue *queue, const struct queue_submission *submission, bool *existed,
                             struct error *e)
{
    struct queue_accepted accepted;
    enum error_code code = queue_accept(queue, submission, &accepted, e);
    if (code != ERROR_OK)
        return code;
    queue_fields_release(&accepted.job);
    *existed = accepted.outcome != QUEUE_ACCEPTED;
    if (accepted.outcome == QUEUE_FULL)
        return too_many(submission->open_limit, e);
    if (accepted.outcome == QUEUE_FAST)
        return error_set(e, ERROR_TOO_FAST, "more than %d submissions a second", submission->submits_per_s);
    return ERROR_OK;
}

/* ---- look ---- */

enum error_code queue_job(struct queue *queue, const char *id, struct queue_fields *out, struct error *e)
{
    /* twice: between two reads a job may go into the archive or come out of it */
    for (int attempt = 0; attempt < 2; attempt++) {
        for (int archived = 0; archived < 2; archived++) {
            char key[64];
            snprintf(key, sizeof key, "{t}:%s:%s", archived ? "o" : "j", id);
            enum error_code code = call_hash(queue, key, out, e);
            if (code != ERROR_OK)
                return code;
            if (out->count)
                return ERROR_OK;
            queue_fields_release(out);
        }
    }
    return error_set(e, ERROR_NOT_FOUND, "there is no such job");
}

static void read_page(const redisReply *reply, struct queue_page *out)
{
    out->more = reply_number(reply, 0) == 1;
    out->last_ms = strtoll(reply_text(reply, 1), NULL, 10);
    snprintf(out->last_id, sizeof out->last_id, "%s", reply_text(reply, 2));
    out->at = mem_zalloc(reply->elements + 1, sizeof *out->at);
    for (size_t i = 3; i < reply->elements; i++) {
        const redisReply *one = reply->element[i];
        if (one->type != REDIS_REPLY_ARRAY || one->elements != 3)
            continue;
        struct queue_listed *listed = &out->at[out->count++];
        snprintf(listed->id, sizeof listed->id, "%s", reply_text(one, 0));
        reply_fields(one->element[2], &listed->fields);
    }
}

enum error_code queue_list(struct queue *queue, const struct queue_filter *filter, size_t limit,
                           struct queue_page *out, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    *out = (struct queue_page){0};
    call_add(&call, filter->tenant);
    call_add(&call, or_empty(filter->state));
    call_add_number(&call, filter->from_ms);
    call_add_number(&call, filter->until_ms);
    call_add_number(&call, filter->before_ms);
    call_add(&call, filter->before_id);
    call_add_number(&call, (long long)limit);
    call_add_number(&call, SCAN_MAX);
    call_add_pairs(&call, filter->labels, filter->label_count);
    enum error_code code = call_function(queue, "list", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements >= 3)
        read_page(reply, out);
    freeReplyObject(reply);
    return ERROR_OK;
}

void queue_page_release(struct queue_page *page)
{
    for (size_t i = 0; i < page->count; i++)
        queue_fields_release(&page->at[i].fields);
    free(page->at);
    *page = (struct queue_page){0};
}

/* ---- delete, retry ---- */

/* what both functions answer of a job that is not there; ERROR_OK: it is another word */
static enum error_code absent(const char *word, struct error *e)
{
    if (strcmp(word, "missing") == 0)
        return error_set(e, ERROR_NOT_FOUND, "there is no such job");
    if (strcmp(word, "gone") == 0)
        return error_set(e, ERROR_GONE, "this job was deleted, or its time was over");
    return ERROR_OK;
}

enum error_code queue_delete(struct queue *queue, const char *id, const char *const *tags, size_t tag_count,
                             struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, id);
    for (size_t i = 0; i < tag_count; i++)
        call_add(&call, tags[i]);
    enum error_code code = call_function(queue, "delete", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    const char *word = reply_text(reply, 0);
    code = absent(word, e);
    if (strcmp(word, "running") == 0)
        code = error_set(e, ERROR_CONFLICT, "the job has not ended; cancel it first");
    else if (strcmp(word, "changed") == 0)
        code = error_set(e, ERROR_PRECONDITION, "the job has another version than If-Match names");
    freeReplyObject(reply);
    return code;
}

static enum error_code retry_outcome(const redisReply *reply, int open_limit, char blob[65], struct error *e)
{
    const char *word = reply_text(reply, 0);
    if (strcmp(word, "archived") == 0)
        snprintf(blob, 65, "%s", reply_text(reply, 1));
    else if (strcmp(word, "state") == 0)
        return error_set(e, ERROR_CONFLICT, "only failed and dead jobs can start again; this one is %.32s",
                         reply_text(reply, 1));
    else if (strcmp(word, "full") == 0)
        return too_many(open_limit, e);
    return absent(word, e);
}

enum error_code queue_retry(struct queue *queue, const char *id, int open_limit,
                            const struct queue_fields *archived, char blob[65], struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    char token[QUEUE_ID_SIZE];
    queue_new_id(token); /* any unique text */
    blob[0] = 0;
    call_add(&call, id);
    call_add(&call, token);
    call_add_number(&call, open_limit);
    for (size_t i = 0; archived && i < archived->count; i++) {
        call_add(&call, archived->at[i].name);
        call_add_bytes(&call, archived->at[i].value, archived->at[i].size);
    }
    enum error_code code = call_function(queue, "retry", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    code = retry_outcome(reply, open_limit, blob, e);
    freeReplyObject(reply);
    return code;
}

/* ---- after the end ---- */

enum error_code queue_settings(struct queue *queue, const struct queue_times *queue_times, struct error *e)
{
    const struct {
        const char *name;
        long long ms;
    } times[] = {{"archive_ms", queue_times->archive_ms},
                 {"keep_ms", queue_times->keep_ms},
                 {"keep_dead_ms", queue_times->keep_dead_ms},
                 {"gone_ms", queue_times->gone_ms}};
    struct call call = {0};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        call_add(&call, times[i].name);
        call_add_number(&call, times[i].ms);
    }
    return call_plain(queue, "settings", &call, e);
}

enum error_code queue_due(struct queue *queue, size_t limit, char (**ids)[QUEUE_ID_SIZE], size_t *count,
                          struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    *ids = NULL;
    *count = 0;
    call_add_number(&call, (long long)limit);
    enum error_code code = call_function(queue, "due", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    reply_ids(reply, ids, count);
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_dead(struct queue *queue, char (**ids)[QUEUE_ID_SIZE], size_t *count, struct error *e)
{
    redisReply *reply = NULL;
    const char *argv[] = {"ZRANGE", "{t}:dead", "0", "-1"};
    *ids = NULL;
    *count = 0;
    enum error_code code = call_read(queue, 4, argv, &reply, e);
    if (code != ERROR_OK)
        return code;
    reply_ids(reply, ids, count);
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_archive(struct queue *queue, const char *id, const char *version, const char *blob,
                              struct error *e)
{
    struct call call = {0};
    call_add(&call, id);
    call_add(&call, version);
    call_add(&call, blob);
    return call_plain(queue, "archive", &call, e);
}

enum error_code queue_tidy(struct queue *queue, struct error *e)
{
    struct call call = {0};
    return call_plain(queue, "tidy", &call, e);
}

static enum error_code get_secret(struct queue *queue, char out[65], struct error *e)
{
    const char *argv[] = {"GET", "{t}:secret"};
    redisReply *reply = NULL;
    enum error_code code = call_read(queue, 2, argv, &reply, e);
    if (code != ERROR_OK)
        return code;
    snprintf(out, 65, "%s", reply_text(reply, 0));
    freeReplyObject(reply);
    return ERROR_OK;
}

/* read first: SET is refused while Redis is out of memory, also where it would set nothing */
enum error_code queue_secret(struct queue *queue, char out[65], struct error *e)
{
    uint8_t raw[32];
    char hex[65];
    redisReply *reply = NULL;
    enum error_code code = get_secret(queue, out, e);
    if (code != ERROR_OK || out[0])
        return code;
    ids_random(raw, sizeof raw);
    sha256_format(raw, hex);
    const char *make[] = {"SET", "{t}:secret", hex, "NX"};
    code = call_read(queue, 4, make, &reply, e);
    if (code != ERROR_OK)
        return code;
    freeReplyObject(reply);
    code = get_secret(queue, out, e);
    if (code != ERROR_OK)
        return code;
    return out[0] ? ERROR_OK : error_set(e, ERROR_INTERNAL, "the servers' common secret is missing");
}
