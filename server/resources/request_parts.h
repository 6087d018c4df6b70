/* The body of POST /v1/jobs, PUT /v1/jobs/{id} and POST /v1/price: JSON alone (perhaps gzip), or
 * multipart/form-data with a module beside it. Both say the same; here they become one thing. */
#ifndef TOAST_SERVER_RESOURCES_REQUEST_PARTS_H
#define TOAST_SERVER_RESOURCES_REQUEST_PARTS_H

#include "server/resources/resources.h"

struct request_parts {                           /* borrowed while take runs */
    const char *request, *plan, *module;         /* NULL: it was not sent; request never is */
    size_t request_size, plan_size, module_size; /* bytes */
};

/* Reads x's body and calls take with what it is made of. with_plan: a part `plan` may stand beside or in
 * place of the request, which is "{}" then. ERROR_INVALID_GZIP, ERROR_TOO_LARGE, ERROR_MALFORMED (empty, or
 * no multipart), ERROR_INVALID_REQUEST (a part too many or too few), ERROR_IO; take's own. */
enum error_code request_parts_read(struct exchange *exchange, bool with_plan,
                                   enum error_code (*take)(struct exchange *other_exchange,
                                                           const struct request_parts *request_parts,
                                                           void *user, struct error *e),
                                   void *user, struct error *e) BASE_CHECKED;

/* The digest of the module of a request whose module came in its own JSON: stored now when it is inline, else
 * what /module names, which `find` must find. */
struct api_request;
enum error_code request_module(struct exchange *exchange, const struct api_request *request,
                               enum error_code (*find)(struct exchange *other_exchange, const char *digest,
                                                       struct error *e),
                               char digest[STORE_DIGEST_SIZE], struct error *e) BASE_CHECKED;

#endif
