/* Page tokens: a position in a list, sealed (HMAC-SHA256) for one tenant and one filter, so that a token from
 * elsewhere or from nowhere is refused instead of showing an odd page. */
#ifndef TOAST_SERVER_PAGE_TOKEN_H
#define TOAST_SERVER_PAGE_TOKEN_H

#include <stdbool.h>

enum { PAGE_TOKEN_SIZE = 96, PAGE_ID_SIZE = 40 };

/* scope: tenant and filter, any text; id: letters, digits and '_', shorter than PAGE_ID_SIZE */
void page_token_make(const char *secret, const char *scope, long long ms, const char *id,
                     char out[PAGE_TOKEN_SIZE]);
/* false: not made by page_token_make with this secret and scope */
bool page_token_read(const char *secret, const char *scope, const char *token, long long *ms,
                     char id[PAGE_ID_SIZE]);

#endif
