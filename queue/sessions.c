/* See sessions.h. Plain commands: each is idempotent by itself. */
#include "queue/sessions.h"

#include "base/encode.h"
#include "base/hash.h"
#include "queue/call.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { NAME_SIZE = 12 + 64 + 1 };

static void key_name(const char *id, char out[NAME_SIZE])
{
    unsigned char digest[32];
    char hex[65];
    sha256_bytes(id, strlen(id), digest);
    sha256_format(digest, hex);
    snprintf(out, NAME_SIZE, "{t}:session:%s", hex);
}

bool queue_session_valid(const char *id)
{
    return strlen(id) == QUEUE_SESSION_SIZE - 1 &&
           strspn(id, "0123456789abcdefghjkmnpqrstvwxyz") == QUEUE_SESSION_SIZE - 1;
}

enum error_code queue_session_add(struct queue *queue, const struct queue_key *key,
                                  char id[QUEUE_SESSION_SIZE], long *seconds, struct error *e)
{
    char name[NAME_SIZE], hex[65], value[96];
    struct call call = {0};
    long long left = key->expires_ms / 1000 - (long long)time(NULL);
    *seconds = key->expires_ms && left < QUEUE_SESSION_S ? (left > 1 ? (long)left : 1) : QUEUE_SESSION_S;
    queue_random_digits(id, QUEUE_SESSION_SIZE - 1);
    key_name(id, name);
    sha256_format(key->digest, hex);
    snprintf(value, sizeof value, "%s %s", key->id, hex);
    /* a function, because SET is refused while Redis is out of memory: just when somebody wants to look */
    call_add(&call, name);
    call_add(&call, value);
    call_add_number(&call, *seconds);
    return call_plain(queue, "session_add", &call, e);
}

enum error_code queue_session_find(struct queue *queue, const char *id, char key_id[QUEUE_KEY_ID_SIZE],
                                   unsigned char digest[32], struct error *e)
{
    char name[NAME_SIZE];
    redisReply *reply = NULL;
    key_name(id, name);
    const char *argv[] = {"GET", name};
    enum error_code code = call_read(queue, 2, argv, &reply, e);
    if (code != ERROR_OK)
        return code;
    const char *value = reply_text(reply, 0);
    if (strlen(value) == QUEUE_KEY_ID_SIZE + 64 && encode_from_hex(value + QUEUE_KEY_ID_SIZE, digest, 32))
        snprintf(key_id, QUEUE_KEY_ID_SIZE, "%s", value);
    else
        code = error_set(e, ERROR_NOT_FOUND, "there is no such session");
    freeReplyObject(reply);
    return code;
}

enum error_code queue_session_end(struct queue *queue, const char *id, struct error *e)
{
    char name[NAME_SIZE];
    redisReply *reply = NULL;
    key_name(id, name);
    const char *argv[] = {"DEL", name};
    enum error_code code = call_read(queue, 2, argv, &reply, e);
    if (code == ERROR_OK)
        freeReplyObject(reply);
    return code;
}
