/* See audit.h: finds the keys, asks the library about each, gathers what it says. */
#include "queue/audit.h"

#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BATCH = 64, TRIES = 3, PAUSE_US = 200000 };

struct names {
    VEC(char *) list;
};

struct keys { /* what SCAN found, by kind */
    struct names jobs, others, tenants, archived, owners;
};

const char *queue_invariant_text(int invariant)
{
    static const char *const texts[] = {
        "every acknowledged job exists; its tasks are done, leased or claimable",
        "exactly one terminal transition and terminal event",
        "fences of commits strictly increase",
        "every blob is there, with its size and digest",
        "the version increases by 1 per visible change",
        "nothing without expiry outlives its job",
        "counters equal set sizes"};
    return invariant >= 1 && invariant <= QUEUE_INVARIANTS ? texts[invariant - 1] : "";
}

void queue_audit_add(struct queue_audit *audit, int invariant, const char *subject, const char *text)
{
    struct queue_violation violation = {invariant, mem_strdup(subject), mem_strdup(text)};
    VEC_PUSH(&audit->violations, violation);
}

static void forget_violations(struct queue_audit *audit, size_t from)
{
    for (size_t i = from; i < audit->violations.count; i++) {
        free(audit->violations.at[i].subject);
        free(audit->violations.at[i].text);
    }
    audit->violations.count = from;
}

void queue_audit_release(struct queue_audit *audit)
{
    forget_violations(audit, 0);
    VEC_FREE(&audit->violations);
    for (size_t i = 0; i < audit->blobs.count; i++) {
        free(audit->blobs.at[i].job);
        free(audit->blobs.at[i].name);
        free(audit->blobs.at[i].digest);
    }
    for (size_t i = 0; i < audit->archived.count; i++) {
        free(audit->archived.at[i].job);
        free(audit->archived.at[i].blob);
        free(audit->archived.at[i].state);
        free(audit->archived.at[i].version);
    }
    VEC_FREE(&audit->blobs);
    VEC_FREE(&audit->archived);
    *audit = (struct queue_audit){0};
}

static void names_release(struct names *n)
{
    for (size_t i = 0; i < n->list.count; i++)
        free(n->list.at[i]);
    VEC_FREE(&n->list);
}

static int by_text(const void *left, const void *right)
{
    return strcmp(*(char *const *)left, *(char *const *)right);
}

/* SCAN may give a key twice */
static void names_sort_unique(struct names *n)
{
    size_t kept = 0;
    if (n->list.count)
        qsort(n->list.at, n->list.count, sizeof *n->list.at, by_text);
    for (size_t i = 0; i < n->list.count; i++)
        if (kept && strcmp(n->list.at[kept - 1], n->list.at[i]) == 0)
            free(n->list.at[i]);
        else
            n->list.at[kept++] = n->list.at[i];
    n->list.count = kept;
}

static void sort_key(struct keys *k, const char *key)
{
    const struct {
        const char *prefix;
        struct names *list;
    } known[] = {
        {"{t}:j:", &k->jobs}, {"{t}:idx:", &k->tenants}, {"{t}:o:", &k->archived}, {"{t}:blob:", &k->owners}};
    static const char *const of_jobs[] = {"{t}:p:", "{t}:k:", "{t}:d:", "{t}:ev:", "{t}:tl:", "{t}:o:"};
    char *copy;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strncmp(key, known[i].prefix, strlen(known[i].prefix)) == 0) {
            copy = mem_strdup(key + strlen(known[i].prefix));
            VEC_PUSH(&known[i].list->list, copy);
        }
    for (size_t i = 0; i < sizeof of_jobs / sizeof *of_jobs; i++)
        if (strncmp(key, of_jobs[i], strlen(of_jobs[i])) == 0) {
            copy = mem_strdup(key);
            VEC_PUSH(&k->others.list, copy);
        }
}

static void keys_release(struct keys *k)
{
    names_release(&k->jobs);
    names_release(&k->others);
    names_release(&k->tenants);
    names_release(&k->archived);
    names_release(&k->owners);
}

static enum error_code find_keys(struct queue *queue, struct keys *out, struct error *e)
{
    char cursor[32] = "0";
    do {
        redisReply *reply = NULL;
        const char *argv[] = {"SCAN", cursor, "MATCH", "{t}:*", "COUNT", "1000"};
        enum error_code code = call_read(queue, 6, argv, &reply, e);
        if (code != ERROR_OK)
            return code;
        snprintf(cursor, sizeof cursor, "%s", reply_text(reply, 0));
        for (size_t i = 0; reply->elements == 2 && i < reply->element[1]->elements; i++)
            sort_key(out, reply_text(reply->element[1], i));
        freeReplyObject(reply);
    } while (strcmp(cursor, "0") != 0);
    names_sort_unique(&out->jobs);
    names_sort_unique(&out->others);
    names_sort_unique(&out->tenants);
    names_sort_unique(&out->archived);
    names_sort_unique(&out->owners);
    return ERROR_OK;
}

/* {number, subject, text ...} */
static void take_violations(struct queue_audit *audit, const redisReply *reply)
{
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i + 2 < reply->elements; i += 3)
        queue_audit_add(audit, atoi(reply_text(reply, i)), reply_text(reply, i + 1),
                        reply_text(reply, i + 2));
}

void queue_audit_add_blob(struct queue_audit *audit, const char *job, const char *name, const char *value)
{
    struct queue_audit_blob audit_blob = {.job = mem_strdup(job), .name = mem_strdup(name), .size = -1};
    const char *colon = strchr(value, ':');
    audit_blob.digest = colon ? mem_strndup(value, (size_t)(colon - value)) : mem_strdup(value);
    if (colon)
        audit_blob.size = strtoll(colon + 1, NULL, 10);
    VEC_PUSH(&audit->blobs, audit_blob);
}

static enum error_code audit_job(struct queue *queue, const char *id, struct queue_audit *audit,
                                 struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, id);
    enum error_code code = call_function(queue, "audit_job", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2) {
        const redisReply *blobs = reply->element[1];
        take_violations(audit, reply->element[0]);
        for (size_t i = 0; i + 1 < blobs->elements; i += 2)
            queue_audit_add_blob(audit, id, reply_text(blobs, i), reply_text(blobs, i + 1));
    }
    freeReplyObject(reply);
    return ERROR_OK;
}

/* `function` over the names, BATCH at a time; `each` takes the replies */
static enum error_code audit_names(struct queue *queue, const char *function, const char *const *names,
                                   size_t count, void (*each)(struct queue_audit *, const redisReply *),
                                   struct queue_audit *audit, struct error *e)
{
    for (size_t i = 0; i < count; i += BATCH) {
        struct call call = {0};
        redisReply *reply = NULL;
        for (size_t k = i; k < count && k < i + BATCH; k++)
            call_add(&call, names[k]);
        enum error_code code = call_function(queue, function, &call, &reply, e);
        if (code != ERROR_OK)
            return code;
        each(audit, reply);
        freeReplyObject(reply);
    }
    return ERROR_OK;
}

static void take_missing(struct queue_audit *audit, const redisReply *reply)
{
    for (size_t i = 0; reply->type == REDIS_REPLY_ARRAY && i < reply->elements; i++)
        queue_audit_add(audit, 1, reply_text(reply, i), "was acknowledged and is unknown");
}

/* one atomic look at sets and counters; the tenants were found before it and may have become more */
static enum error_code audit_sets(struct queue *queue, struct queue_audit *audit, struct error *e)
{
    size_t before = audit->violations.count;
    for (int attempt = 0; attempt < TRIES; attempt++) {
        struct keys k = {0};
        struct call call = {0};
        redisReply *reply = NULL;
        enum error_code code = find_keys(queue, &k, e);
        for (size_t i = 0; i < k.tenants.list.count; i++)
            call_add(&call, k.tenants.list.at[i]);
        if (code == ERROR_OK)
            code = call_function(queue, "audit_sets", &call, &reply, e);
        if (code == ERROR_OK) {
            forget_violations(audit, before);
            take_violations(audit, reply);
            freeReplyObject(reply);
        }
        keys_release(&k);
        if (code != ERROR_OK)
            return code;
        if (audit->violations.count == before)
            break;
        usleep(PAUSE_US);
    }
    return ERROR_OK;
}

/* which jobs are in the store: the caller reads them there */
static enum error_code find_archived(struct queue *queue, const struct names *ids, struct queue_audit *audit,
                                     struct error *e)
{
    for (size_t i = 0; i < ids->list.count; i++) {
        char key[QUEUE_ID_SIZE + 8];
        redisReply *reply = NULL;
        snprintf(key, sizeof key, "{t}:o:%s", ids->list.at[i]);
        const char *argv[] = {"HMGET", key, "blob", "state", "ver"};
        enum error_code code = call_read(queue, 5, argv, &reply, e);
        if (code != ERROR_OK)
            return code;
        struct queue_audit_archived found = {mem_strdup(ids->list.at[i]), mem_strdup(reply_text(reply, 0)),
                                             mem_strdup(reply_text(reply, 1)),
                                             mem_strdup(reply_text(reply, 2))};
        VEC_PUSH(&audit->archived, found);
        freeReplyObject(reply);
    }
    return ERROR_OK;
}

/* counters of the tenants' modules; one that changes meanwhile cannot differ, the function is atomic */
static enum error_code audit_modules(struct queue *queue, const struct names *tenants,
                                     struct queue_audit *audit, struct error *e)
{
    enum error_code code = ERROR_OK;
    for (size_t i = 0; code == ERROR_OK && i < tenants->list.count; i++)
        code = audit_names(queue, "audit_modules", (const char *const *)&tenants->list.at[i], 1,
                           take_violations, audit, e);
    return code;
}

enum error_code queue_audit_run(struct queue *queue, const char *const *expected, size_t expected_count,
                                struct queue_audit *out, struct error *e)
{
    struct keys k = {0};
    *out = (struct queue_audit){0};
    enum error_code code = find_keys(queue, &k, e);
    for (size_t i = 0; code == ERROR_OK && i < k.jobs.list.count; i++)
        code = audit_job(queue, k.jobs.list.at[i], out, e);
    if (code == ERROR_OK)
        code = audit_names(queue, "audit_keys", (const char *const *)k.others.list.at, k.others.list.count,
                           take_violations, out, e);
    if (code == ERROR_OK)
        code = audit_names(queue, "audit_known", expected, expected_count, take_missing, out, e);
    if (code == ERROR_OK)
        code = audit_sets(queue, out, e);
    if (code == ERROR_OK)
        code = find_archived(queue, &k.archived, out, e);
    if (code == ERROR_OK)
        code = audit_modules(queue, &k.owners, out, e);
    out->jobs = k.jobs.list.count;
    out->keys = k.others.list.count;
    keys_release(&k);
    if (code != ERROR_OK)
        queue_audit_release(out);
    return code;
}
