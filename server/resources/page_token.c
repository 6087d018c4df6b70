/* Makes and reads page tokens: position, then a seal (HMAC-SHA256, RFC 2104) over position and scope.
 * Pure; compared in constant time. See page_token.h. */
#include "server/resources/page_token.h"

#include "base/encode.h"
#include "base/hash.h"
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SEAL = 32 }; /* hex digits: 128 bits */

static void seal(const char *secret, const char *scope, const char *position, char out[SEAL + 1])
{
    uint8_t raw[32];
    char hex[65];
    struct text text = {0};
    text_add_n(&text, scope, strlen(scope) + 1);
    text_add(&text, position);
    sha256_hmac(secret, strlen(secret), text.at, text.size, raw);
    text_release(&text);
    sha256_format(raw, hex);
    snprintf(out, SEAL + 1, "%.32s", hex);
}

void page_token_make(const char *secret, const char *scope, long long ms, const char *id,
                     char out[PAGE_TOKEN_SIZE])
{
    char position[64], mark[SEAL + 1];
    snprintf(position, sizeof position, "%llx.%.39s", (unsigned long long)ms, id);
    seal(secret, scope, position, mark);
    snprintf(out, PAGE_TOKEN_SIZE, "%s%s", mark, position);
}

bool page_token_read(const char *secret, const char *scope, const char *token, long long *ms,
                     char id[PAGE_ID_SIZE])
{
    char mark[SEAL + 1], given[SEAL + 1], *end;
    size_t n = strlen(token);
    if (n <= SEAL + 2 || n >= PAGE_TOKEN_SIZE)
        return false;
    snprintf(given, sizeof given, "%.32s", token);
    seal(secret, scope, token + SEAL, mark);
    if (!encode_equal_secret(given, mark))
        return false;
    *ms = strtoll(token + SEAL, &end, 16);
    if (*ms <= 0 || *end != '.' || strlen(end + 1) >= PAGE_ID_SIZE)
        return false;
    snprintf(id, PAGE_ID_SIZE, "%s", end + 1);
    return true;
}
