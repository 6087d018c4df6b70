/* Request headers that are small languages of their own: text in, numbers out, no exchange. */
#ifndef TOAST_SERVER_HEADERS_H
#define TOAST_SERVER_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

/* Range (RFC 9110, 14.2), one range of bytes: 0 none, several or not understood (all is sent), 1 *from and
 * *length lie inside of size, -1 outside. text may be NULL. */
int header_range(const char *text, size_t size, size_t *from, size_t *length);
/* Whether If-Range still holds for a strong entity tag; NULL holds. A date never does: no Last-Modified is
 * sent. */
bool header_if_range(const char *text, const char *etag);
/* The seconds of "wait=N" in a list of preferences (RFC 7240), at most max; 0: none. What is not understood
 * is not preferred. text may be NULL. */
int header_wait_s(const char *text, int max);
/* A Content-Type of this media type, with parameters or without. */
bool header_is_type(const char *text, const char *wanted);
/* traceparent: "00-<32>-<16>-<2>", or a later version that begins like it. text may be NULL. */
bool header_traceparent_valid(const char *text);

#endif
