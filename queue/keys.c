/* Keys of clients as records in Redis: made, listed, revoked. A secret leaves this file once, as the text of
 * a new key; Redis holds its digest only. See keys.h. */
#include "queue/keys.h"

#include "base/encode.h"
#include "base/hash.h"
#include "queue/call.h"
#include "queue/ids.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *const role_texts[] = {
#define X(name, text) text,
    QUEUE_ROLES(X)
#undef X
};
enum { ROLES = sizeof role_texts / sizeof *role_texts };

const char *queue_role_text(enum queue_role role)
{
    return (unsigned)role < ROLES ? role_texts[role] : "none";
}

enum queue_role queue_role_from_text(const char *text)
{
    for (int i = 0; i < ROLES; i++)
        if (strcmp(text, role_texts[i]) == 0)
            return (enum queue_role)i;
    return QUEUE_ROLE_NONE;
}

bool queue_tenant_valid(const char *tenant)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    size_t n = strlen(tenant);
    return n > 0 && n < QUEUE_TENANT_SIZE && strchr(letters, tenant[0]) &&
           strspn(tenant, "abcdefghijklmnopqrstuvwxyz0123456789._-") == n;
}

bool queue_key_id(const char *text, char id[QUEUE_KEY_ID_SIZE])
{
    enum { ID = QUEUE_KEY_ID_SIZE - 1 };
    if (strncmp(text, "tk_", 3) != 0 || strspn(text + 3, ids_digits) != ID || text[3 + ID] != '_')
        return false;
    memcpy(id, text + 3, ID);
    id[ID] = 0;
    return true;
}

void queue_keys_release(struct queue_keys *k)
{
    free(k->at);
    *k = (struct queue_keys){0};
}

static bool parse_record(const char *id, const char *record, struct queue_key *out)
{
    char digest[65], role[16];
    int used = 0;
    *out = (struct queue_key){0};
    if (strlen(id) != QUEUE_KEY_ID_SIZE - 1 ||
        sscanf(record, "%64s %63s %15s %lld %lld %n", digest, out->tenant, role, &out->created_ms,
               &out->expires_ms, &used) != 5)
        return false;
    memcpy(out->id, id, sizeof out->id);
    out->role = queue_role_from_text(role);
    snprintf(out->note, sizeof out->note, "%s", record + used);
    return out->role != QUEUE_ROLE_NONE && queue_tenant_valid(out->tenant) &&
           encode_from_hex(digest, out->digest, sizeof out->digest);
}

static int by_id(const void *left, const void *right)
{
    return strcmp(((const struct queue_key *)left)->id, ((const struct queue_key *)right)->id);
}

enum error_code queue_keys_version(struct queue *queue, long long *out, struct error *e)
{
    redisReply *reply = NULL;
    const char *argv[] = {"GET", "{t}:keysv"};
    enum error_code code = call_read(queue, 2, argv, &reply, e);
    if (code != ERROR_OK)
        return code;
    *out = strtoll(reply_text(reply, 0), NULL, 10);
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_keys_list(struct queue *queue, struct queue_keys *out, struct error *e)
{
    struct queue_fields fields;
    *out = (struct queue_keys){0};
    enum error_code code = call_hash(queue, "{t}:keys", &fields, e);
    if (code != ERROR_OK)
        return code;
    out->at = mem_zalloc(fields.count + 1, sizeof *out->at);
    for (size_t i = 0; i < fields.count; i++)
        out->count += parse_record(fields.at[i].name, fields.at[i].value, &out->at[out->count]);
    qsort(out->at, out->count, sizeof *out->at, by_id);
    queue_fields_release(&fields);
    return ERROR_OK;
}

void queue_random_digits(char *out, size_t n)
{
    unsigned char bytes[32];
    BASE_CHECK(n <= sizeof bytes);
    ids_random(bytes, n);
    for (size_t i = 0; i < n; i++)
        out[i] = ids_digits[bytes[i] & 31];
    out[n] = 0;
}

enum error_code queue_key_add(struct queue *queue, struct queue_key *key, char text[QUEUE_KEY_TEXT_SIZE],
                              struct error *e)
{
    struct timespec now;
    struct call call = {0};
    redisReply *reply = NULL;
    char secret[33], hex[65];
    clock_gettime(CLOCK_REALTIME, &now);
    queue_random_digits(key->id, QUEUE_KEY_ID_SIZE - 1);
    queue_random_digits(secret, sizeof secret - 1);
    snprintf(text, QUEUE_KEY_TEXT_SIZE, "tk_%s_%s", key->id, secret);
    sha256_bytes(text, strlen(text), key->digest);
    sha256_format(key->digest, hex);
    key->created_ms = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
    char *record = mem_printf("%s %s %s %lld %lld %s", hex, key->tenant, queue_role_text(key->role),
                              key->created_ms, key->expires_ms, key->note);
    call_add(&call, key->id);
    call_add(&call, record);
    enum error_code code = call_function(queue, "key_add", &call, &reply, e);
    free(record);
    if (code != ERROR_OK)
        return code;
    if (strcmp(reply_text(reply, 0), "ok") != 0)
        code = error_set(e, ERROR_CONFLICT, "a key with this id exists already; try again");
    freeReplyObject(reply);
    return code;
}

enum error_code queue_key_revoke(struct queue *queue, const char *id, bool last, struct error *e)
{
    struct call call = {0};
    redisReply *reply = NULL;
    call_add(&call, id);
    call_add(&call, last ? "1" : "0");
    enum error_code code = call_function(queue, "key_revoke", &call, &reply, e);
    if (code != ERROR_OK)
        return code;
    if (strcmp(reply_text(reply, 0), "missing") == 0)
        code = error_set(e, ERROR_NOT_FOUND, "there is no key with this id");
    else if (strcmp(reply_text(reply, 0), "last") == 0)
        code = error_set(e, ERROR_CONFLICT,
                         "this is the last key: without one, a server on a loopback address lets everybody "
                         "in. Add another "
                         "first, or say --last");
    freeReplyObject(reply);
    return code;
}
