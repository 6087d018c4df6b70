/* API keys in Redis: who may use the service, as whom. Only the SHA-256 of a key is kept; the key itself is
 * shown once, when it is made. {t}:keys is a hash: key id -> "digest tenant role created_ms expires_ms note";
 * {t}:keysv counts its changes, so that servers read the table only when it has changed. */
#ifndef TOAST_QUEUE_KEYS_H
#define TOAST_QUEUE_KEYS_H

#include "queue/queue.h"

/* A key's text is "tk_<id>_<secret>": 8 and 32 base-32 digits (160 random bits). The id is no secret. */
enum { QUEUE_KEY_ID_SIZE = 9, QUEUE_KEY_TEXT_SIZE = 3 + 8 + 1 + 32 + 1, QUEUE_TENANT_SIZE = 64 };

/* each may also do what the one before may */
#define QUEUE_ROLES(X) X(NONE, "none") X(READ, "read") X(SUBMIT, "submit") X(ADMIN, "admin")
enum queue_role {
#define X(name, text) QUEUE_ROLE_##name,
    QUEUE_ROLES(X)
#undef X
};
const char *queue_role_text(enum queue_role role);
enum queue_role queue_role_from_text(const char *text); /* QUEUE_ROLE_NONE: no role's name */

/* 1 to 63 of a-z 0-9 . _ -, the first a letter or digit */
bool queue_tenant_valid(const char *tenant);

/* n random base-32 digits (at most 32) and NUL */
void queue_random_digits(char *out, size_t n);

struct queue_key {
    char id[QUEUE_KEY_ID_SIZE];
    unsigned char digest[32]; /* SHA-256 of the key's text */
    char tenant[QUEUE_TENANT_SIZE];
    enum queue_role role;
    long long created_ms, expires_ms; /* since 1970; expires 0: never */
    char note[64];                    /* what an operator wrote, printable ASCII */
};
struct queue_keys {
    struct queue_key *at; /* owned, sorted by id */
    size_t count;
};
void queue_keys_release(struct queue_keys *k);

/* the id in a key's text; false: this is no key's text */
bool queue_key_id(const char *text, char id[QUEUE_KEY_ID_SIZE]);

/* ERROR_UNAVAILABLE */
enum error_code queue_keys_version(struct queue *queue, long long *out, struct error *e) BASE_CHECKED;
/* records that cannot be read are left out. ERROR_UNAVAILABLE */
enum error_code queue_keys_list(struct queue *queue, struct queue_keys *out, struct error *e) BASE_CHECKED;
/* Makes a key: tenant, role, expires_ms and note are given in `key`, the rest is filled in. text: shown once.
 */
enum error_code queue_key_add(struct queue *queue, struct queue_key *key, char text[QUEUE_KEY_TEXT_SIZE],
                              struct error *e) BASE_CHECKED;
/* ERROR_NOT_FOUND; ERROR_CONFLICT: it is the last one, and `last` is false */
enum error_code queue_key_revoke(struct queue *queue, const char *id, bool last,
                                 struct error *e) BASE_CHECKED;

#endif
