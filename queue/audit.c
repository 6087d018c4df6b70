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

void queue_audit_add(struct queue_audit *a, int invariant, const char *subject, const char *text)
{
    struct queue_violation v = {invariant, mem_strdup(subject), mem_strdup(text)};
    VEC_PUSH(&a->violations, v);
}

static void forget_violations(struct queue_audit *a, size_t from)
{
    for (size_t i = from; i < a->violations.count; i++) {
        free(a->violations.at[i].subject);
        free(a->violations.at[i].text);
    }
    a->violations.count = from;
}

void queue_audit_release(struct queue_audit *a)
{
    forget_violations(a, 0);
    VEC_FREE(&a->violations);
    for (size_t i = 0; i < a->blobs.count; i++) {
        free(a->blobs.at[i].job);
        free(a->blobs.at[i].name);
        free(a->blobs.at[i].digest);
    }
    for (size_t i = 0; i < a->archived.count; i++) {
        free(a->archived.at[i].job);
        free(a->archived.at[i].blob);
        free(a->archived.at[i].state);
        free(a->archived.at[i].version);
    }
    VEC_FREE(&a->blobs);
    VEC_FREE(&a->archived);
    *a = (struct queue_audit){0};
}

static void names_release(struct names *n)
{
    for (size_t i = 0; i < n->list.count; i++)
        free(n->list.at[i]);
    VEC_FREE(&n->list);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
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

static enum error_code find_keys(struct queue *q, struct keys *out, struct error *e)
{
    char cursor[32] = "0";
    do {
        redisReply *r = NULL;
        const char *argv[] = {"SCAN", cursor, "MATCH", "{t}:*", "COUNT", "1000"};
        enum error_code code = call_read(q, 6, argv, &r, e);
        if (code != ERROR_OK)
            return code;
        snprintf(cursor, sizeof cursor, "%s", reply_text(r, 0));
        for (size_t i = 0; r->elements == 2 && i < r->element[1]->elements; i++)
            sort_key(out, reply_text(r->element[1], i));
        freeReplyObject(r);
    } while (strcmp(cursor, "0") != 0);
    names_sort_unique(&out->jobs);
    names_sort_unique(&out->others);
    names_sort_unique(&out->tenants);
    names_sort_unique(&out->archived);
    names_sort_unique(&out->owners);
    return ERROR_OK;
}

/* {number, subject, text ...} */
static void take_violations(struct queue_audit *a, const redisReply *r)
{
    for (size_t i = 0; r->type == REDIS_REPLY_ARRAY && i + 2 < r->elements; i += 3)
        queue_audit_add(a, atoi(reply_text(r, i)), reply_text(r, i + 1), reply_text(r, i + 2));
}

void queue_audit_add_blob(struct queue_audit *a, const char *job, const char *name, const char *value)
{
    struct queue_audit_blob b = {.job = mem_strdup(job), .name = mem_strdup(name), .size = -1};
    const char *colon = strchr(value, ':');
    b.digest = colon ? mem_strndup(value, (size_t)(colon - value)) : mem_strdup(value);
    if (colon)
        b.size = strtoll(colon + 1, NULL, 10);
    VEC_PUSH(&a->blobs, b);
}

static enum error_code audit_job(struct queue *q, const char *id, struct queue_audit *a, struct error *e)
{
    struct call c = {0};
    redisReply *r = NULL;
    call_add(&c, id);
    enum error_code code = call_function(q, "audit_job", &c, &r, e);
    if (code != ERROR_OK)
        return code;
    if (r->type == REDIS_REPLY_ARRAY && r->elements == 2) {
        const redisReply *blobs = r->element[1];
        take_violations(a, r->element[0]);
        for (size_t i = 0; i + 1 < blobs->elements; i += 2)
            queue_audit_add_blob(a, id, reply_text(blobs, i), reply_text(blobs, i + 1));
    }
    freeReplyObject(r);
    return ERROR_OK;
}

/* `function` over the names, BATCH at a time; `each` takes the replies */
static enum error_code audit_names(struct queue *q, const char *function, const char *const *names,
                                   size_t count, void (*each)(struct queue_audit *, const redisReply *),
                                   struct queue_audit *a, struct error *e)
{
    for (size_t i = 0; i < count; i += BATCH) {
        struct call c = {0};
        redisReply *r = NULL;
        for (size_t k = i; k < count && k < i + BATCH; k++)
            call_add(&c, names[k]);
        enum error_code code = call_function(q, function, &c, &r, e);
        if (code != ERROR_OK)
            return code;
        each(a, r);
        freeReplyObject(r);
    }
    return ERROR_OK;
}

static void take_missing(struct queue_audit *a, const redisReply *r)
{
    for (size_t i = 0; r->type == REDIS_REPLY_ARRAY && i < r->elements; i++)
        queue_audit_add(a, 1, reply_text(r, i), "was acknowledged and is unknown");
}

/* one atomic look at sets and counters; the tenants were found before it and may have become more */
static enum error_code audit_sets(struct queue *q, struct queue_audit *a, struct error *e)
{
    size_t before = a->violations.count;
    for (int attempt = 0; attempt < TRIES; attempt++) {
        struct keys k = {0};
        struct call c = {0};
        redisReply *r = NULL;
        enum error_code code = find_keys(q, &k, e);
        for (size_t i = 0; i < k.tenants.list.count; i++)
            call_add(&c, k.tenants.list.at[i]);
        if (code == ERROR_OK)
            code = call_function(q, "audit_sets", &c, &r, e);
        if (code == ERROR_OK) {
            forget_violations(a, before);
            take_violations(a, r);
            freeReplyObject(r);
        }
        keys_release(&k);
        if (code != ERROR_OK)
            return code;
        if (a->violations.count == before)
            break;
        usleep(PAUSE_US);
    }
    return ERROR_OK;
}

/* which jobs are in the store: the caller reads them there */
static enum error_code find_archived(struct queue *q, const struct names *ids, struct queue_audit *a,
                                     struct error *e)
{
    for (size_t i = 0; i < ids->list.count; i++) {
        char key[QUEUE_ID_SIZE + 8];
        redisReply *r = NULL;
        snprintf(key, sizeof key, "{t}:o:%s", ids->list.at[i]);
        const char *argv[] = {"HMGET", key, "blob", "state", "ver"};
        enum error_code code = call_read(q, 5, argv, &r, e);
        if (code != ERROR_OK)
            return code;
        struct queue_audit_archived found = {mem_strdup(ids->list.at[i]), mem_strdup(reply_text(r, 0)),
                                             mem_strdup(reply_text(r, 1)), mem_strdup(reply_text(r, 2))};
        VEC_PUSH(&a->archived, found);
        freeReplyObject(r);
    }
    return ERROR_OK;
}

/* counters of the tenants' modules; one that changes meanwhile cannot differ, the function is atomic */
static enum error_code audit_modules(struct queue *q, const struct names *tenants, struct queue_audit *a,
                                     struct error *e)
{
    enum error_code code = ERROR_OK;
    for (size_t i = 0; code == ERROR_OK && i < tenants->list.count; i++)
        code = audit_names(q, "audit_modules", (const char *const *)&tenants->list.at[i], 1, take_violations,
                           a, e);
    return code;
}

enum error_code queue_audit_run(struct queue *q, const char *const *expected, size_t expected_count,
                                struct queue_audit *out, struct error *e)
{
    struct keys k = {0};
    *out = (struct queue_audit){0};
    enum error_code code = find_keys(q, &k, e);
    for (size_t i = 0; code == ERROR_OK && i < k.jobs.list.count; i++)
        code = audit_job(q, k.jobs.list.at[i], out, e);
    if (code == ERROR_OK)
        code = audit_names(q, "audit_keys", (const char *const *)k.others.list.at, k.others.list.count,
                           take_violations, out, e);
    if (code == ERROR_OK)
        code = audit_names(q, "audit_known", expected, expected_count, take_missing, out, e);
    if (code == ERROR_OK)
        code = audit_sets(q, out, e);
    if (code == ERROR_OK)
        code = find_archived(q, &k.archived, out, e);
    if (code == ERROR_OK)
        code = audit_modules(q, &k.owners, out, e);
    out->jobs = k.jobs.list.count;
    out->keys = k.others.list.count;
    keys_release(&k);
    if (code != ERROR_OK)
        queue_audit_release(out);
    return code;
}
