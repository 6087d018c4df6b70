/* What each problem is called for people: `title` of a problem (RFC 9457: the same for all problems of one
 * type). One sentence each, without full stop; a code without a title does not compile. */
#include "api/bodies.h"

const char *api_problem_title(enum error_code code)
{
    switch (code) {
    case ERROR_OK: return "No problem";
    case ERROR_INTERNAL: return "A fault of the service";
    case ERROR_USAGE: return "The command or address is used wrongly";
    case ERROR_INVALID_JSON: return "The text is no JSON that is taken here";
    case ERROR_INVALID_REQUEST: return "A member of the request is wrong";
    case ERROR_INVALID_MODULE: return "The module cannot be read";
    case ERROR_UNSUPPORTED_MODULE: return "The module has what is not planned";
    case ERROR_INVALID_GZIP: return "The compressed part is damaged";
    case ERROR_MODULE_TOO_LARGE: return "The module is too large";
    case ERROR_INVALID_PLAN: return "The plan is none of this module, or contradicts itself";
    case ERROR_INVALID_CONSTRAINT: return "A constraint cannot be kept";
    case ERROR_INVALID_MESH: return "The mesh is none";
    case ERROR_UNKNOWN_DEVICE: return "The device is not in the catalogue";
    case ERROR_MEMORY_LIMIT_TOO_SMALL: return "The memory limit is below what every plan needs";
    case ERROR_NOT_AVAILABLE: return "This build cannot do that";
    case ERROR_NO_REFEREE: return "No worker here judges with that compiler";
    case ERROR_NOT_FOUND: return "There is no such thing";
    case ERROR_CONFLICT: return "Its state does not allow that";
    case ERROR_TOO_LARGE: return "The body is too large";
    case ERROR_CANCELLED: return "It was cancelled";
    case ERROR_DEADLINE: return "The deadline has passed";
    case ERROR_RESOURCE: return "It takes more than one request may";
    case ERROR_MEMORY_LIMIT: return "A task needs more memory than its worker allows";
    case ERROR_IO: return "A disk or file failed";
    case ERROR_UNAVAILABLE: return "A part of the service does not answer now";
    case ERROR_HOST: return "The hosts lost every attempt";
    case ERROR_MALFORMED: return "The request is no proper HTTP request for this path";
    case ERROR_UNKNOWN_PARAMETER: return "The path has no such parameter";
    case ERROR_MISDIRECTED: return "The request is for another host";
    case ERROR_NO_PLAN_YET: return "The job has no plan";
    case ERROR_METHOD: return "The path does not have this method";
    case ERROR_TIMEOUT: return "The request came too slowly";
    case ERROR_NOT_READY: return "The job has not ended";
    case ERROR_LENGTH: return "The body's length is missing";
    case ERROR_URI_TOO_LONG: return "The address is too long";
    case ERROR_MEDIA_TYPE: return "The body's media type is not taken here";
    case ERROR_RANGE: return "The range lies outside";
    case ERROR_TOO_MANY_JOBS: return "Too many jobs are open";
    case ERROR_TOO_MANY_STREAMS: return "Too many event streams are open";
    case ERROR_TOO_MANY_PROFILES: return "There are too many profiles";
    case ERROR_HEADERS_TOO_LARGE: return "The headers are too large";
    case ERROR_NOT_IMPLEMENTED: return "This part of HTTP is not served";
    case ERROR_HTTP_VERSION: return "This version of HTTP is not served";
    case ERROR_NO_SPACE: return "The disk is nearly full";
    case ERROR_UNAUTHORIZED: return "A key is needed";
    case ERROR_FORBIDDEN: return "The key may not do that";
    case ERROR_TOO_FAST: return "Submissions come too fast";
    case ERROR_QUOTA: return "The tenant's modules take all of its room";
    case ERROR_GONE: return "It was there and was deleted";
    case ERROR_PRECONDITION: return "It has changed meanwhile";
    case ERROR_KEY_REUSED: return "The idempotency key was used for another request";
    case ERROR_IN_FLIGHT: return "A request with this idempotency key is under way";
    case ERROR_CODES: break;
    }
    return "A problem";
}
