/* See mini_data.h. */
#include "mini_data.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256 };

int64_t mini_now_us;
static struct mini_value *buckets[BUCKETS];

/* ---- bytes ---- */

bool bytes_equal(struct bytes a, struct bytes b)
{
    return a.size == b.size && memcmp(a.at, b.at, a.size) == 0;
}

bool bytes_are(struct bytes bytes, const char *text)
{
    return bytes.size == strlen(text) && memcmp(bytes.at, text, bytes.size) == 0;
}

int bytes_compare(struct bytes a, struct bytes b)
{
    int order = memcmp(a.at, b.at, a.size < b.size ? a.size : b.size);
    return order ? order : (a.size > b.size) - (a.size < b.size);
}

struct bytes bytes_copy(struct bytes bytes)
{
    char *copy = mem_alloc(bytes.size + 1);
    memcpy(copy, bytes.at, bytes.size);
    copy[bytes.size] = 0;
    return (struct bytes){copy, bytes.size};
}

void bytes_free(struct bytes bytes)
{
    free((void *)(uintptr_t)bytes.at);
}

void bytes_replace(struct bytes *old, struct bytes with)
{
    struct bytes copy = bytes_copy(with);
    bytes_free(*old);
    *old = copy;
}

/* most of what printf does is not needed, and this is done a thousand times in a schedule */
struct bytes bytes_of_number(long long number, char room[BYTES_NUMBER])
{
    unsigned long long left = number < 0 ? 0 - (unsigned long long)number : (unsigned long long)number;
    char *at = room + BYTES_NUMBER - 1;
    *at = 0;
    do
        *--at = (char)('0' + left % 10);
    while (left /= 10);
    if (number < 0)
        *--at = '-';
    return (struct bytes){at, (size_t)(room + BYTES_NUMBER - 1 - at)};
}

/* ---- keys ---- */

static struct mini_value **bucket_of(struct bytes key)
{
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (size_t i = 0; i < key.size; i++)
        hash = (hash ^ (unsigned char)key.at[i]) * 16777619u;
    return &buckets[(hash ^ hash >> 15) % BUCKETS];
}

void mini_fields_release(mini_fields *fields)
{
    for (size_t i = 0; i < fields->count; i++) {
        bytes_free(fields->at[i].name);
        bytes_free(fields->at[i].value);
    }
    VEC_FREE(fields);
}

static void value_free(struct mini_value *value)
{
    bytes_free(value->key);
    bytes_free(value->string);
    mini_fields_release(&value->fields);
    for (size_t i = 0; i < value->sorted.count; i++)
        bytes_free(value->sorted.at[i].member);
    VEC_FREE(&value->sorted);
    for (size_t i = 0; i < value->entries.count; i++)
        mini_fields_release(&value->entries.at[i].fields);
    VEC_FREE(&value->entries);
    for (size_t i = 0; i < value->groups.count; i++)
        bytes_free(value->groups.at[i].name);
    VEC_FREE(&value->groups);
    free(value);
}

static bool expired(const struct mini_value *value)
{
    return value->expires_ms && mini_now_us / 1000 > value->expires_ms;
}

static bool unlink_key(struct bytes key)
{
    for (struct mini_value **at = bucket_of(key); *at; at = &(*at)->next)
        if (bytes_equal((*at)->key, key)) {
            struct mini_value *value = *at;
            bool was_there = !expired(value);
            *at = value->next;
            value_free(value);
            return was_there;
        }
    return false;
}

struct mini_value *mini_find(struct bytes key)
{
    for (struct mini_value *value = *bucket_of(key); value; value = value->next)
        if (bytes_equal(value->key, key)) {
            if (!expired(value))
                return value;
            unlink_key(key);
            return NULL;
        }
    return NULL;
}

struct mini_value *mini_find_or_make(struct bytes key, enum mini_kind kind)
{
    struct mini_value *value = mini_find(key), **bucket = bucket_of(key);
    if (value)
        return value;
    value = mem_zalloc(1, sizeof *value);
    value->key = bytes_copy(key);
    value->kind = kind;
    value->next = *bucket;
    *bucket = value;
    return value;
}

bool mini_delete(struct bytes key)
{
    return unlink_key(key);
}

void mini_drop_empty(struct mini_value *value)
{
    bool has = value->kind == MINI_STRING || value->kind == MINI_STREAM || value->fields.count ||
               value->sorted.count;
    if (!has)
        unlink_key(value->key);
}

void mini_each(void (*each)(struct mini_value *value, void *user), void *user)
{
    for (int i = 0; i < BUCKETS; i++)
        for (struct mini_value *value = buckets[i]; value; value = value->next)
            if (!expired(value))
                each(value, user);
}

void mini_delete_all(void)
{
    for (int i = 0; i < BUCKETS; i++)
        while (buckets[i]) {
            struct mini_value *value = buckets[i];
            buckets[i] = value->next;
            value_free(value);
        }
}

/* ---- fields ---- */

int mini_field_index(const struct mini_value *value, struct bytes name)
{
    for (size_t i = 0; i < value->fields.count; i++)
        if (bytes_equal(value->fields.at[i].name, name))
            return (int)i;
    return -1;
}

bool mini_field_set(struct mini_value *value, struct bytes name, struct bytes text)
{
    int index = mini_field_index(value, name);
    if (index >= 0) {
        bytes_replace(&value->fields.at[index].value, text);
        return false;
    }
    struct mini_field field = {bytes_copy(name), bytes_copy(text)};
    VEC_PUSH(&value->fields, field);
    return true;
}

bool mini_field_remove(struct mini_value *value, struct bytes name)
{
    int index = mini_field_index(value, name);
    if (index < 0)
        return false;
    struct mini_field *field = &value->fields.at[index];
    bytes_free(field->name);
    bytes_free(field->value);
    memmove(field, field + 1, (--value->fields.count - (size_t)index) * sizeof *field);
    return true;
}

/* ---- members with scores ---- */

int mini_member_index(const struct mini_value *value, struct bytes member)
{
    for (size_t i = 0; i < value->sorted.count; i++)
        if (bytes_equal(value->sorted.at[i].member, member))
            return (int)i;
    return -1;
}

void mini_member_remove(struct mini_value *value, size_t index)
{
    struct mini_scored *at = &value->sorted.at[index];
    bytes_free(at->member);
    memmove(at, at + 1, (--value->sorted.count - index) * sizeof *at);
}

static bool before(const struct mini_scored *one, const struct mini_scored *other)
{
    return one->score < other->score ||
           (one->score == other->score && bytes_compare(one->member, other->member) < 0);
}

bool mini_member_set(struct mini_value *value, struct bytes member, double score)
{
    int index = mini_member_index(value, member);
    if (index >= 0 && value->sorted.at[index].score == score)
        return false;
    struct mini_scored entry = {score, bytes_copy(member)};
    if (index >= 0)
        mini_member_remove(value, (size_t)index);
    VEC_RESERVE(&value->sorted, value->sorted.count + 1);
    size_t i = value->sorted.count++;
    for (; i > 0 && before(&entry, &value->sorted.at[i - 1]); i--)
        value->sorted.at[i] = value->sorted.at[i - 1];
    value->sorted.at[i] = entry;
    return index < 0;
}
