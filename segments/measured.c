/* Tables from a profile: every program of the module is written, its digest looked up. */
#include "segments/programs.h"

#include <stdlib.h>
#include <string.h>

static const char POINTER[] = "/device/profile/segments";

static int by_digest(const void *key, const void *entry)
{
    return strcmp(key, ((const struct segments_timing *)entry)->digest);
}

static const struct segments_timing *find(const struct segments_timings *timings, const char *digest)
{
    return timings->count ? bsearch(digest, timings->at, timings->count, sizeof *timings->at, by_digest)
                          : NULL;
}

static void take(const struct segments_program *program, const struct segments_timing *timing,
                 struct segments_tables *tables)
{
    if (program->is_pair) {
        tables->reshard_ps[program->of][program->number] = timing->time_ps;
        return;
    }
    tables->time_ps[program->of][program->number] = timing->time_ps;
    tables->bytes[program->of][program->number] = timing->peak_bytes;
    tables->computation_ps[program->of][program->number] = timing->computation_ps;
    tables->has_parts &= timing->computation_ps >= 0;
}

struct missing {
    uint32_t count, first;
    char digest[SEGMENTS_DIGEST_SIZE]; /* of the first */
};

static enum error_code refuse(const struct segments_programs *programs, const struct missing *missing,
                              struct error *e)
{
    struct text name = {0};
    if (missing->count == programs->count)
        return error_set_pointer(e, ERROR_INVALID_REQUEST, POINTER,
                                 "none of the module's %u programs is in the profile: it was measured with "
                                 "another module, mesh or build",
                                 programs->count);
    segments_program_text(programs, missing->first, &name);
    error_set_pointer(e, ERROR_INVALID_REQUEST, POINTER,
                      "%u of the module's %u programs have no time in the profile, the first is %s: %.200s",
                      missing->count, programs->count, missing->digest, name.at);
    text_release(&name);
    return ERROR_INVALID_REQUEST;
}

static enum error_code fill(struct segments_programs *programs, const struct segments_timings *timings,
                            struct segments_tables *tables, struct error *e)
{
    struct missing missing = {0};
    tables->has_parts = true;
    for (uint32_t i = 0; i < programs->count; i++) {
        struct text text = {0};
        char digest[SEGMENTS_DIGEST_SIZE];
        enum error_code code = segments_program_write(programs, i, &text, digest, e);
        text_release(&text);
        if (code != ERROR_OK)
            return code;
        const struct segments_timing *timing = find(timings, digest);
        if (timing) {
            take(&programs->at[i], timing, tables);
        } else if (!missing.count++) {
            missing.first = i;
            memcpy(missing.digest, digest, sizeof digest);
        }
    }
    return missing.count ? refuse(programs, &missing, e) : ERROR_OK;
}

enum error_code segments_tables_measured(const struct plan_context *context,
                                         const struct segments_timings *timings,
                                         struct segments_tables *tables, struct error *e)
{
    struct segments_programs programs;
    int64_t devices = mesh_devices(plan_context_mesh(context));
    if (!timings->devices)
        return error_set_pointer(e, ERROR_INVALID_REQUEST, "/device/profile/devices",
                                 "the profile does not say on how many devices its segments ran");
    if (timings->devices != devices)
        return error_set_pointer(e, ERROR_INVALID_REQUEST, "/device/profile/devices",
                                 "the profile's segments ran on %lld devices, the mesh has %lld",
                                 (long long)timings->devices, (long long)devices);
    TRY(segments_programs_create(context, &programs, e));
    enum error_code code = fill(&programs, timings, tables, e);
    segments_programs_release(&programs);
    return code;
}
