/* Keys and values of mini.h. Everything is a vector: worlds are small. Bytes of values are owned by them. */
#ifndef TOAST_TESTS_SIMULATION_MINI_DATA_H
#define TOAST_TESTS_SIMULATION_MINI_DATA_H

#include "base/memory.h"

#include <stdbool.h>
#include <stdint.h>

struct bytes {
    const char *at; /* with a NUL behind them */
    size_t size;
};
bool bytes_equal(struct bytes a, struct bytes b);
bool bytes_are(struct bytes bytes, const char *text);
int bytes_compare(struct bytes a, struct bytes b); /* as memcmp; a shorter one is less */
struct bytes bytes_copy(struct bytes bytes);       /* owned: bytes_free */
void bytes_free(struct bytes bytes);
void bytes_replace(struct bytes *old, struct bytes with);
enum { BYTES_NUMBER = 24 };
struct bytes bytes_of_number(long long number, char room[BYTES_NUMBER]); /* in room */

enum mini_kind { MINI_STRING, MINI_HASH, MINI_SET, MINI_SORTED, MINI_STREAM };

struct mini_field {
    struct bytes name, value; /* of a set: no value */
};
typedef VEC(struct mini_field) mini_fields;
struct mini_scored {
    double score;
    struct bytes member;
};
struct mini_id {
    unsigned long long ms, number;
};
struct mini_entry {
    struct mini_id id;
    mini_fields fields;
};
struct mini_group {
    struct bytes name;
    struct mini_id delivered;
};
struct mini_value {
    struct bytes key;
    struct mini_value *next; /* in its bucket */
    enum mini_kind kind;
    long long expires_ms; /* 0: never */
    struct bytes string;
    mini_fields fields;             /* hash, set: in the order of coming */
    VEC(struct mini_scored) sorted; /* by score, then member */
    VEC(struct mini_entry) entries; /* by id */
    VEC(struct mini_group) groups;
    struct mini_id last;
    long long added;
};

extern int64_t mini_now_us;

/* NULL: there is none, or it has expired */
struct mini_value *mini_find(struct bytes key);
struct mini_value *mini_find_or_make(struct bytes key, enum mini_kind kind);
bool mini_delete(struct bytes key);
/* nothing is left in it (streams stay): it goes */
void mini_drop_empty(struct mini_value *value);
void mini_each(void (*each)(struct mini_value *value, void *user), void *user); /* of those not expired */
void mini_delete_all(void);
void mini_fields_release(mini_fields *fields);

/* -1: none of this name */
int mini_field_index(const struct mini_value *value, struct bytes name);
/* -> whether it is new */
bool mini_field_set(struct mini_value *value, struct bytes name, struct bytes text);
bool mini_field_remove(struct mini_value *value, struct bytes name);

int mini_member_index(const struct mini_value *value, struct bytes member);
bool mini_member_set(struct mini_value *value, struct bytes member, double score);
void mini_member_remove(struct mini_value *value, size_t index);

#endif
