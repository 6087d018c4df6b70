/* Hashing and randomness: integer arithmetic only, so that the same input gives the same result on every CPU.
 * Nothing here but SHA-256 resists an adversary. No globals; thread-safe as far as the objects are not
 * shared. */
#ifndef TOAST_BASE_HASH_H
#define TOAST_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash128 {
    uint64_t hi, lo;
};

/* The odd number nearest 2^64 / golden ratio: adding it walks through all 64-bit words with well-spread
 * bits. */
#define HASH_GOLDEN 0x9e3779b97f4a7c15u

/* splitmix64's finaliser, a bijection of 64-bit words (Steele, Lea, Flood: Fast splittable pseudorandom
 * number generators, OOPSLA 2014, https://doi.org/10.1145/2660193.2660195) */
static inline uint64_t hash_mix(uint64_t x)
{
    x ^= x >> 30;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 27;
    x *= 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint64_t hash_combine(uint64_t h, uint64_t x)
{
    return hash_mix(h * HASH_GOLDEN + x + HASH_GOLDEN);
}

uint64_t hash_bytes(const void *bytes, size_t size, uint64_t seed);
/* A 128-bit word for a key, as Zobrist hashing needs it: two mixes of the key with different constants. */
struct hash128 hash_word(uint64_t key);
static inline struct hash128 hash128_xor(struct hash128 hash, struct hash128 b)
{
    return (struct hash128){hash.hi ^ b.hi, hash.lo ^ b.lo};
}
static inline int hash128_compare(struct hash128 hash, struct hash128 b)
{
    return hash.hi != b.hi ? (hash.hi < b.hi ? -1 : 1) : hash.lo != b.lo ? (hash.lo < b.lo ? -1 : 1) : 0;
}
void hash128_format(struct hash128 hash, char out[33]); /* 32 lower-case hex digits and NUL */
/* 0 on success, -1 when text is not 32 hex digits */
int hash128_parse(const char *text, struct hash128 *out);

/* SHA-256 (FIPS 180-4) by libcrypto, whole or streamed. */
struct sha256;
struct sha256 *sha256_create(void);
void sha256_add(struct sha256 *sha, const void *bytes, size_t size);
void sha256_finish(struct sha256 *sha, uint8_t out[32]); /* destroys sha */
void sha256_destroy(struct sha256 *sha);                 /* without finishing; NULL is fine */
void sha256_bytes(const void *bytes, size_t size, uint8_t out[32]);
/* HMAC (RFC 2104) with SHA-256 */
void sha256_hmac(const void *key, size_t key_size, const void *bytes, size_t size, uint8_t out[32]);
void sha256_format(const uint8_t digest[32], char out[65]);

/* A generator of random numbers: splitmix64. The seed (the first state) alone decides the sequence. */
struct rng {
    uint64_t state;
};
static inline uint64_t rng_next(struct rng *rng)
{
    return hash_mix(rng->state += HASH_GOLDEN);
}
/* uniform in [0, n); n > 0; by multiplication, bias below n / 2^64 */
static inline uint64_t rng_below(struct rng *rng, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)rng_next(rng) * n) >> 64);
}
/* uniform in [0, 1), 53 bits */
static inline double rng_unit(struct rng *rng)
{
    return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

#endif
