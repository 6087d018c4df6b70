/* Page tokens: "scope\nms\nid\ntoken". A token is read only where and as it was made; no other text is one.
 */
/* links: server/resources */
#include "fuzz.h"

#include "server/resources/page_token.h"

static const char secret[] = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

static char *line(char **at)
{
    char *start = *at, *end = strchr(start, '\n');
    *at = end ? end + 1 : start + strlen(start);
    if (end)
        *end = 0;
    return start;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_strndup((const char *)data, size), *at = text, made[PAGE_TOKEN_SIZE], back[PAGE_ID_SIZE];
    const char *scope = line(&at);
    long long ms = llabs(strtoll(line(&at), NULL, 10) / 2) + 1, got;
    char *id = line(&at), *token = line(&at);
    size_t n = strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    id[n < PAGE_ID_SIZE - 1 ? n : PAGE_ID_SIZE - 1] = 0;
    page_token_make(secret, scope, ms, id, made);
    bool good = page_token_read(secret, scope, made, &got, back);
    FUZZ_CHECK(!good || (got == ms && strcmp(back, id) == 0));
    FUZZ_CHECK(good || !id[0]);
    if (page_token_read(secret, scope, token, &got, back))
        FUZZ_CHECK(strcmp(token, made) == 0); /* 128 bits were guessed, or the seal is none */
    if (size) {
        made[data[0] % strlen(made)] ^= 1;
        FUZZ_CHECK(!page_token_read(secret, scope, made, &got, back));
    }
    free(text);
    return 0;
}
