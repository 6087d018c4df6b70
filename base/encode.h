/* Small encodings: base64, hex, percent escapes, UTF-8, and comparison of secrets. Nothing allocates; all
 * sizes are in bytes; all of it is thread-safe. */
#ifndef TOAST_BASE_ENCODE_H
#define TOAST_BASE_ENCODE_H

#include <stdbool.h>
#include <stddef.h>

/* base64 (RFC 4648, padded) of size bytes; out has room for 4 * ((size + 2) / 3) characters and a NUL */
void encode_base64(const void *bytes, size_t size, char *out);
/* bytes of hex digits; false: not `size` pairs of lower-case hex digits */
bool encode_from_hex(const char *hex, unsigned char *out, size_t size);
/* the byte (0 to 255) that a percent escape in either case stands for; from: its '%', with n characters
 * from there on. -1: the escape is not whole. */
int encode_from_percent(const char *from, size_t n);
/* Bytes (1 to 4) of the well-formed UTF-8 sequence at `text` (RFC 3629, section 4: nothing overlong, no
 * surrogates), of which `left` bytes are there; 0: there is none. left may be SIZE_MAX before a NUL,
 * which ends every sequence. */
size_t encode_utf8_size(const void *text, size_t left);
/* equality in time that depends on the lengths only */
bool encode_equal_secret(const char *a, const char *b);
/* equality of size bytes in time that depends on size only */
bool encode_equal_bytes(const void *left, const void *right, size_t size);

#endif
