/* Hashes and SHA-256 (hash.h). Only integer arithmetic, and words are read as little-endian memory, so the
 * same bytes give the same hash on every machine that this builds for. hash_bytes is fast and not for
 * secrets: whoever knows the seed can make collisions. */
#include "base/hash.h"

#include "base/error.h"
#include "base/memory.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

uint64_t hash_bytes(const void *bytes, size_t size, uint64_t seed)
{
    const unsigned char *p = bytes;
    uint64_t h = hash_mix(seed ^ (size * HASH_GOLDEN));
    while (size >= 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        h = hash_combine(h, word);
        p += 8;
        size -= 8;
    }
    uint64_t tail = 0;
    memcpy(&tail, p, size);
    return hash_combine(h, tail);
}

struct hash128 hash_word(uint64_t key)
{
    return (struct hash128){hash_mix(key + HASH_GOLDEN),
                            hash_mix(key * 0xd1342543de82ef95u + 0x2545f4914f6cdd1du)};
}

void hash128_format(struct hash128 hash, char out[33])
{
    snprintf(out, 33, "%016llx%016llx", (unsigned long long)hash.hi, (unsigned long long)hash.lo);
}

int hash128_parse(const char *text, struct hash128 *out)
{
    uint64_t words[2] = {0, 0};
    for (int i = 0; i < 32; i++) {
        char character = text[i];
        unsigned digit;
        if (character >= '0' && character <= '9')
            digit = (unsigned)(character - '0');
        else if (character >= 'a' && character <= 'f')
            digit = (unsigned)(character - 'a' + 10);
        else
            return -1;
        words[i / 16] = words[i / 16] << 4 | digit;
    }
    if (text[32])
        return -1;
    *out = (struct hash128){words[0], words[1]};
    return 0;
}

struct sha256 *sha256_create(void)
{
    EVP_MD_CTX *c = EVP_MD_CTX_new();
    BASE_CHECK(c && EVP_DigestInit_ex(c, EVP_sha256(), NULL) == 1);
    return (struct sha256 *)c;
}

void sha256_add(struct sha256 *sha, const void *bytes, size_t size)
{
    BASE_CHECK(EVP_DigestUpdate((EVP_MD_CTX *)sha, bytes, size) == 1);
}

void sha256_finish(struct sha256 *sha, uint8_t out[32])
{
    BASE_CHECK(EVP_DigestFinal_ex((EVP_MD_CTX *)sha, out, NULL) == 1);
    sha256_destroy(sha);
}

void sha256_destroy(struct sha256 *sha)
{
    EVP_MD_CTX_free((EVP_MD_CTX *)sha);
}

void sha256_bytes(const void *bytes, size_t size, uint8_t out[32])
{
    struct sha256 *sha = sha256_create();
    sha256_add(sha, bytes, size);
    sha256_finish(sha, out);
}

void sha256_hmac(const void *key, size_t key_size, const void *bytes, size_t size, uint8_t out[32])
{
    unsigned char block[64] = {0};
    if (key_size > sizeof block)
        sha256_bytes(key, key_size, block);
    else
        memcpy(block, key, key_size);
    for (int outer = 0; outer < 2; outer++) {
        unsigned char pad[64];
        struct sha256 *sha = sha256_create();
        for (size_t i = 0; i < sizeof pad; i++)
            pad[i] = (unsigned char)(block[i] ^ (outer ? 0x5c : 0x36));
        sha256_add(sha, pad, sizeof pad);
        sha256_add(sha, outer ? out : bytes, outer ? 32 : size);
        sha256_finish(sha, out);
    }
}

void sha256_format(const uint8_t digest[32], char out[65])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[64] = 0;
}
