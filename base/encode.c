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

static int digit(char character)
{
    return character >= '0' && character <= '9'   ? character - '0'
           : character >= 'a' && character <= 'f' ? character - 'a' + 10
                                                  : -1;
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

bool encode_equal_bytes(const void *left, const void *right, size_t size)
{
    return CRYPTO_memcmp(left, right, size) == 0;
}

size_t encode_utf8_size(const void *text, size_t left)
{
    /* rows of RFC 3629, section 4: the first byte, and what the second may be after it */
    static const struct {
        unsigned char low, high, second_low, second_high;
        size_t size;
    } rows[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
                {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
                {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    const unsigned char *at = text;
    if (left == 0)
        return 0;
    if (at[0] < 0x80)
        return 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (at[0] < rows[i].low || at[0] > rows[i].high)
            continue;
        if (rows[i].size > left || at[1] < rows[i].second_low || at[1] > rows[i].second_high)
            return 0;
        for (size_t k = 2; k < rows[i].size; k++)
            if ((at[k] & 0xc0) != 0x80)
                return 0;
        return rows[i].size;
    }
    return 0;
}
