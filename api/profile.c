/* Profiles: text -> struct planner_profile, canonical text; see profile.h. */
#include "api/profile.h"

#include "api/profile_read.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const api_rate_names[COST_RATES + 1] = {"f64", "f32", "tf32", "bf16", "f16", "f8", "i8", NULL};

bool api_profile_name_valid(const char *name)
{
    static const char known[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    size_t n = strlen(name);
    return n > 0 && n < API_PROFILE_NAME_SIZE && name[0] != '.' && strspn(name, known) == n;
}

bool api_profile_ref_parse(const char *ref, char name[API_PROFILE_NAME_SIZE], long long *version)
{
    size_t n = strcspn(ref, "@");
    *version = 0;
    if (n >= API_PROFILE_NAME_SIZE)
        return false;
    memcpy(name, ref, n);
    name[n] = 0;
    if (ref[n]) {
        char *end;
        if (ref[n + 1] < '1' || ref[n + 1] > '9' || strlen(ref + n + 1) > 9)
            return false;
        *version = strtoll(ref + n + 1, &end, 10);
        if (*end)
            return false;
    }
    return api_profile_name_valid(name);
}

/* [bytes, microseconds]; times that fall with more bytes are noise: the largest so far stands */
static enum error_code read_points(struct json_at at, struct arena *arena, struct cost_table *table,
                                   struct error *e)
{
    size_t count, two;
    TRY(json_list(at, API_PROFILE_MAX_POINTS, &count, e));
    if (count == 0)
        return json_refuse_to(e, at, ERROR_INVALID_REQUEST, "points are needed: [[bytes, microseconds], ..]");
    struct cost_point *points = arena_alloc(arena, count * sizeof *points);
    for (size_t i = 0; i < count; i++) {
        struct json_at item = json_item(&at, i);
        int64_t bytes = 0;
        double us = 0;
        TRY(json_list(item, 2, &two, e));
        if (two != 2)
            return json_refuse_to(e, item, ERROR_INVALID_REQUEST, "a point is [bytes, microseconds]");
        TRY(json_int(json_item(&item, 0), 1, INT64_C(1) << 50, &bytes, e));
        TRY(json_number(json_item(&item, 1), 1e-3, 1e10, &us, e));
        if (i && bytes <= points[i - 1].bytes)
            return json_refuse_to(e, item, ERROR_INVALID_REQUEST, "points must be sorted by bytes");
        points[i] = (struct cost_point){bytes, (int64_t)(us * 1e6 + 0.5)};
        if (i && points[i].time_ps < points[i - 1].time_ps)
            points[i].time_ps = points[i - 1].time_ps;
    }
    table->points = points;
    table->count = (uint32_t)count;
    return ERROR_OK;
}

static enum error_code read_table(struct json_at at, struct arena *arena, struct cost_table *table,
                                  struct error *e)
{
    static const char *const known[] = {"kind", "devices", "between_hosts", "points", NULL};
    static const uint8_t kinds[] = {SPMD_ALL_GATHER, SPMD_ALL_REDUCE, SPMD_REDUCE_SCATTER, SPMD_ALL_TO_ALL,
                                    SPMD_PERMUTE};
    const char *kind = NULL;
    bool found = false, between = false;
    TRY(json_only(&at, known, e));
    TRY(json_text(json_member(&at, "kind"), 40, &kind, e));
    for (size_t k = 0; kind && k < sizeof kinds; k++)
        if (strcmp(kind, report_kind_name(kinds[k])) == 0) {
            table->kind = kinds[k];
            found = true;
        }
    if (!found)
        return json_refuse_to(
            e, json_member(&at, "kind"), ERROR_INVALID_REQUEST,
            "kinds are all_gather, all_reduce, reduce_scatter, all_to_all, collective_permute");
    table->devices = 0;
    TRY(json_int(json_member(&at, "devices"), 2, MESH_MAX_DEVICES, &table->devices, e));
    if (!table->devices)
        return json_refuse_to(e, json_member(&at, "devices"), ERROR_INVALID_REQUEST,
                              "the number of devices in a group is needed");
    TRY(json_bool(json_member(&at, "between_hosts"), &between, e));
    table->spans_hosts = json_member(&at, "between_hosts").value ? (int8_t)between : -1;
    return read_points(json_member(&at, "points"), arena, table, e);
}

/* ---- timings of segments ---- */

typedef VEC(struct segments_timing) timing_list;

static bool stands_before(const struct json_at *list, size_t i, const char *member, const char *text)
{
    for (size_t k = 0; k < i; k++) {
        const char *other = json_string_value(json_object_get(json_item(list, k).value, member));
        if (other && strcmp(other, text) == 0)
            return true;
    }
    return false;
}

/* the text that names item i of a list, which no item before it has */
static enum error_code read_own_name(const struct json_at *list, size_t i, const char *member,
                                     struct error *e)
{
    struct json_at item = json_item(list, i), name = json_member(&item, member);
    const char *text = NULL;
    TRY(json_text(name, API_PROFILE_SEGMENT_NAME, &text, e));
    if (!text || !text[0])
        return json_refuse_to(e, name, ERROR_INVALID_REQUEST, "a text is needed, of at most %d bytes",
                              API_PROFILE_SEGMENT_NAME);
    if (stands_before(list, i, member, text))
        return json_refuse_to(e, name, ERROR_INVALID_REQUEST, "this one is there twice");
    return ERROR_OK;
}

/* A digest of another length names no program of this build: kept with the profile, found by nobody. */
static void add_timing(const char *digest, double us, double computation_us, int64_t bytes, timing_list *out)
{
    struct segments_timing timing = {
        .time_ps = (int64_t)(us * 1e6 + 0.5), .computation_ps = -1, .peak_bytes = bytes};
    if (strlen(digest) != SEGMENTS_DIGEST_SIZE - 1)
        return;
    if (computation_us >= 0)
        timing.computation_ps = (int64_t)(computation_us * 1e6 + 0.5);
    memcpy(timing.digest, digest, sizeof timing.digest);
    VEC_PUSH(out, timing);
}

static enum error_code read_configuration(const struct json_at *list, size_t i, timing_list *out,
                                          struct error *e)
{
    static const char *const known[] = {
        "configuration", "time_us", "computation_us", "communication_us", "peak_bytes", "runs", NULL};
    static const char *const times[] = {"time_us", "computation_us", "communication_us"};
    struct json_at at = json_item(list, i);
    int64_t bytes = 0, runs = 0;
    double us[3] = {0, -1, -1};
    const char *digest = NULL;
    TRY(json_only(&at, known, e));
    TRY(read_own_name(list, i, "configuration", e));
    if (!json_member(&at, "time_us").value)
        return json_refuse_to(e, json_member(&at, "time_us"), ERROR_INVALID_REQUEST,
                              "the time that was measured is needed");
    for (int k = 0; k < 3; k++)
        TRY(json_number(json_member(&at, times[k]), 0, 1e12, &us[k], e));
    if (us[1] > us[0])
        return json_refuse_to(e, json_member(&at, times[1]), ERROR_INVALID_REQUEST,
                              "a program's computation cannot take longer than the program (%g us)", us[0]);
    TRY(json_int(json_member(&at, "peak_bytes"), 0, INT64_C(1) << 50, &bytes, e));
    TRY(json_int(json_member(&at, "runs"), 1, 1000000, &runs, e));
    TRY(json_text(json_member(&at, "configuration"), API_PROFILE_SEGMENT_NAME, &digest, e));
    add_timing(digest, us[0], us[1], bytes, out);
    return ERROR_OK;
}

static enum error_code read_segments(struct json_at list, timing_list *out, struct error *e)
{
    static const char *const known[] = {"segment", "configurations", NULL};
    size_t segments, count;
    TRY(json_list(list, API_PROFILE_MAX_SEGMENTS, &segments, e));
    for (size_t i = 0; i < segments; i++) {
        struct json_at at = json_item(&list, i);
        TRY(json_only(&at, known, e));
        TRY(read_own_name(&list, i, "segment", e));
        struct json_at table = json_member(&at, "configurations");
        TRY(json_list(table, API_PROFILE_MAX_CONFIGURATIONS, &count, e));
        if (count == 0)
            return json_refuse_to(e, table, ERROR_INVALID_REQUEST,
                                  "configurations are needed, each with what was measured");
        for (size_t k = 0; k < count; k++)
            TRY(read_configuration(&table, k, out, e));
    }
    return ERROR_OK;
}

static int by_digest(const void *a, const void *b)
{
    return strcmp(((const struct segments_timing *)a)->digest, ((const struct segments_timing *)b)->digest);
}

/* one program may stand under two segments: the same text, the same time; the first one counts */
static enum error_code read_timings(const struct json_at *at, struct arena *arena,
                                    struct planner_profile *profile, struct error *e)
{
    timing_list list = {0};
    uint32_t kept = 0;
    TRY(json_int(json_member(at, "devices"), 1, MESH_MAX_DEVICES, &profile->timings.devices, e));
    enum error_code code = read_segments(json_member(at, "segments"), &list, e);
    struct segments_timing *timings = arena_alloc(arena, (list.count + 1) * sizeof *timings);
    if (list.count)
        qsort(list.at, list.count, sizeof *list.at, by_digest);
    for (size_t i = 0; i < list.count; i++)
        if (!kept || strcmp(timings[kept - 1].digest, list.at[i].digest) != 0)
            timings[kept++] = list.at[i];
    profile->timings.at = timings;
    profile->timings.count = kept;
    VEC_FREE(&list);
    return code;
}

enum error_code profile_read(struct json_at at, struct arena *arena, struct planner_profile **out,
                             struct error *e)
{
    static const char *const known[] = {
        "name",        "version", "description", "flops", "memory_bytes_per_s",
        "collectives", "devices", "segments",    NULL};
    struct planner_profile *profile = arena_alloc(arena, sizeof *profile);
    const char *name = NULL, *description = NULL;
    int64_t version = 0;
    size_t count;
    TRY(json_only(&at, known, e));
    TRY(json_text(json_member(&at, "name"), API_PROFILE_NAME_SIZE - 1, &name, e));
    if (name && !api_profile_name_valid(name))
        return json_refuse_to(e, json_member(&at, "name"), ERROR_INVALID_REQUEST,
                              "a profile's name is made of letters, digits, '.', '_' and '-'");
    TRY(json_int(json_member(&at, "version"), 1, INT32_MAX, &version, e));
    if (name && version)
        snprintf(profile->ref, sizeof profile->ref, "%.63s@%lld", name, (long long)version);
    else
        snprintf(profile->ref, sizeof profile->ref, "%s", name ? name : "");
    TRY(json_text(json_member(&at, "description"), 1000, &description, e));
    TRY(json_number(json_member(&at, "memory_bytes_per_s"), 1, 1e18, &profile->memory_bytes_per_s, e));
    struct json_at flops = json_member(&at, "flops"), tables = json_member(&at, "collectives");
    if (flops.value) {
        TRY(json_only(&flops, api_rate_names, e));
        for (int i = 0; i < COST_RATES; i++)
            TRY(json_number(json_member(&flops, api_rate_names[i]), 1, 1e21, &profile->rate_flops[i], e));
    }
    TRY(json_list(tables, API_PROFILE_MAX_TABLES, &count, e));
    profile->tables = arena_alloc(arena, (count + 1) * sizeof *profile->tables);
    for (; profile->table_count < count; profile->table_count++) {
        struct cost_table *table = &profile->tables[profile->table_count];
        struct json_at item = json_item(&tables, profile->table_count);
        TRY(read_table(item, arena, table, e));
        for (uint32_t k = 0; k < profile->table_count; k++)
            if (profile->tables[k].kind == table->kind && profile->tables[k].devices == table->devices &&
                profile->tables[k].spans_hosts == table->spans_hosts)
                return json_refuse_to(e, item, ERROR_INVALID_REQUEST,
                                      "this kind and size of group is there twice");
    }
    TRY(read_timings(&at, arena, profile, e));
    *out = profile;
    return ERROR_OK;
}

enum error_code api_profile_canonical(const char *json, size_t size, char **out, struct error *e)
{
    json_t *value = NULL;
    struct planner_profile *profile;
    TRY(json_parse(json, size, API_MAX_JSON_KEYS, &value, e));
    struct arena *arena = arena_create();
    enum error_code code = profile_read((struct json_at){value, ""}, arena, &profile, e);
    arena_destroy(arena);
    if (code == ERROR_OK && size > API_PROFILE_MAX_BYTES) /* what is wrong in it is said first */
        code = error_set(e, ERROR_TOO_LARGE, "a profile may have at most %d bytes", API_PROFILE_MAX_BYTES);
    if (code == ERROR_OK) {
        json_object_del(value, "name");
        json_object_del(value, "version");
        *out = json_compact(value);
    }
    json_decref(value);
    return code;
}

char *api_profile_named(const char *canonical, const char *name, long long version)
{
    json_t *value = json_loads(canonical, 0, NULL);
    json_object_set_new(value, "name", json_string(name));
    json_object_set_new(value, "version", json_integer(version));
    char *text = json_compact(value);
    json_decref(value);
    return text;
}

enum error_code api_request_with_profile(const char *json, size_t size, const char *profile, char **out,
                                         struct error *e)
{
    json_t *value = NULL;
    TRY(json_parse(json, size, API_MAX_JSON_KEYS, &value, e));
    json_object_set_new(json_object_get(value, "device"), "profile", json_loads(profile, 0, NULL));
    *out = json_compact(value);
    json_decref(value);
    return ERROR_OK;
}
