/* Device profiles: what was measured on somebody's own machines, as JSON, instead of a catalogue's peaks
 * and closed forms. The text is checked and kept here; planner/machine.h uses it.
 *
 *   {"name": "our-pod", "version": 3, "description": "..",           name and version are set by the service
 *    "flops": {"bf16": 2.4e14}, "memory_bytes_per_s": 1.3e12,        achieved, not peak
 *    "collectives": [{"kind": "all_reduce", "devices": 8, "between_hosts": false,
 *                     "points": [[1048576, 61.2], [16777216, 310.5]]}],   bytes (as nccl-tests), microseconds
 *    "devices": 8,                                                    that the segments' programs ran on
 *    "segments": [{"segment": "9c..", "configurations": [{"configuration": "a3..", "time_us": 412.5}]}]}
 *
 * Timings of segments (pieces of a program that repeat, each in every way it may be sharded; CFP's
 * tables) are what planner `segments` composes (segments/programs.h): a configuration is the digest of the
 * program that ran, a segment that of its original. Other names are kept, and found by no planner.
 *
 * A request names one in device.profile, or has it inline; a canonical request always has it inline, so
 * that a job's digest covers what it was priced with. */
#ifndef TOAST_API_PROFILE_H
#define TOAST_API_PROFILE_H

#include "api/request.h"

/* A profile stands in every request that names it, so it has to be small beside LIMIT_JSON: 64 KiB hold
 * some 4000 points in all, at 16 bytes each, or 600 programs of segments, at 100. */
enum {
    API_PROFILE_MAX_BYTES = 64 << 10,
    API_PROFILE_MAX_TABLES = 128, /* of collectives */
    API_PROFILE_MAX_POINTS = 256, /* of one table */
    API_PROFILE_NAME_SIZE = 64,
    API_PROFILE_MAX_SEGMENTS = 64,
    API_PROFILE_MAX_CONFIGURATIONS = 256,
    API_PROFILE_SEGMENT_NAME = 128
};

/* letters, digits, '.', '_' and '-', the first no '.'; 1 to 63 bytes */
bool api_profile_name_valid(const char *name);
/* A profile's text checked and brought into canonical form (owned) without name and version.
 * ERROR_INVALID_JSON, ERROR_INVALID_REQUEST with pointer, ERROR_TOO_LARGE. */
enum error_code api_profile_canonical(const char *json, size_t size, char **out,
                                      struct error *e) BASE_CHECKED;
/* canonical text with name and version in it (owned) */
char *api_profile_named(const char *canonical, const char *name, long long version);
/* the same with the given name and version taken apart from "name@version"; version 0: the latest. false:
 * no such form */
bool api_profile_ref_parse(const char *ref, char name[API_PROFILE_NAME_SIZE], long long *version);
/* Text of a job or price request whose device.profile is a name -> the same with the profile (named text)
 * inline (owned). ERROR_INVALID_JSON. */
enum error_code api_request_with_profile(const char *json, size_t size, const char *profile, char **out,
                                         struct error *e) BASE_CHECKED;

#endif
