/* base64, hex, percent escapes and comparison of secrets by libcrypto (encode.h). Allocates nothing, keeps no
 * state. */
#include "base/encode.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <string.h>

void encode_base64(const void *bytes, size_t size, char *out)
{
    EVP_EncodeBlock((unsigned char *)out, bytes, (int)size);
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool encode_from_hex(const char *hex, unsigned char *out, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        int high = digit(hex[2 * i]), low = high < 0 ? -1 : digit(hex[2 * i + 1]);
        if (low < 0)
            return false;
        out[i] = (unsigned char)(high << 4 | low);
    }
    return hex[2 * size] == 0;
}

int encode_from_percent(const char *from, size_t n)
{
    int nibbles[2] = {-1, -1};
    for (size_t i = 0; i < 2 && i + 1 < n; i++)
        nibbles[i] =
            digit(from[i + 1] >= 'A' && from[i + 1] <= 'F' ? (char)(from[i + 1] - 'A' + 'a') : from[i + 1]);
    return nibbles[0] < 0 || nibbles[1] < 0 ? -1 : nibbles[0] << 4 | nibbles[1];
}

bool encode_equal_secret(const char *a, const char *b)
{
    size_t n = strlen(a);
    return n == strlen(b) && CRYPTO_memcmp(a, b, n) == 0;
}

bool encode_equal_bytes(const void *a, const void *b, size_t size)
{
    return CRYPTO_memcmp(a, b, size) == 0;
}
