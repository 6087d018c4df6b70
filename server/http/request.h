/* The head of a request: its line, headers and query, checked before anything is done. */
#ifndef TOAST_SERVER_HTTP_REQUEST_H
#define TOAST_SERVER_HTTP_REQUEST_H

#include "server/http/http.h"

/* ---- request.c ---- */
/* Checks the request line and headers and finds the route; fills exchange. ERROR_NOT_FOUND; ERROR_METHOD
 * (x->route is one of the path's then, for Allow); ERROR_HTTP_VERSION, ERROR_HEADERS_TOO_LARGE,
 * ERROR_URI_TOO_LONG, ERROR_MALFORMED, ERROR_MEDIA_TYPE, ERROR_NOT_IMPLEMENTED. */
enum error_code request_check(struct exchange *exchange, const char *method, const char *version,
                              struct error *e) BASE_CHECKED;
const char *request_header(const struct exchange *exchange, const char *name); /* borrowed; NULL: absent */

/* ---- query.c ---- */
/* Percent-decodes n bytes into out. false: a damaged escape, anything but printable ASCII, an escaped '/',
 * '\\' or '%', or more than fits. */
bool query_decode(const char *from, size_t n, char *out, size_t room);
/* Every parameter is one that x's route has, has a value with whole escapes, and comes once (see
 * server/routes.def). ERROR_UNKNOWN_PARAMETER: unknown or repeated; ERROR_MALFORMED: no value, damaged
 * escape. */
enum error_code query_check(const struct exchange *exchange, struct error *e) BASE_CHECKED;
/* value of a parameter into out; false: absent. What query_decode refuses gives an empty value. */
bool request_query(const struct exchange *exchange, const char *name, char *out, size_t room);
bool request_query_empty(const struct exchange *exchange,
                         const char *name); /* there, with nothing behind '=' */
/* the same for one that is true or false; *out stays when it is absent. ERROR_MALFORMED: anything else */
enum error_code request_query_flag(const struct exchange *exchange, const char *name, bool *out,
                                   struct error *e) BASE_CHECKED;

/* ---- trace.c ---- */
/* Fills request_id and trace: the client's X-Request-Id and traceparent where they are well-formed, else new
 * ones. */
void trace_begin(struct exchange *exchange);
/* one line of the log for a request that is over */
void trace_log(const struct exchange *exchange, double seconds);

#endif
