/* ustar blocks: a header of 512 bytes with numbers in octal, the file's bytes, zeros to the next block. */
#include "base/tar.h"

#include "base/error.h"

#include <stdio.h>
#include <string.h>

enum { BLOCK = 512, NAME = 100, MODE = 100, OWNER = 108, GROUP = 116, SIZE = 124, TIME = 136, SUM = 148 };
enum { TYPE = 156, MAGIC = 257 };

static const char ZEROS[BLOCK];

void tar_add(struct text *archive, const char *name, const char *bytes, size_t size)
{
    char header[BLOCK + 1] = {0};
    unsigned sum = 0;
    BASE_CHECK(strlen(name) < NAME && size < (size_t)8 << 30);
    snprintf(header, NAME, "%s", name);
    snprintf(header + MODE, 8, "%07o", 0644u);
    snprintf(header + OWNER, 8, "%07o", 0u);
    snprintf(header + GROUP, 8, "%07o", 0u);
    snprintf(header + SIZE, 12, "%011llo", (unsigned long long)size);
    snprintf(header + TIME, 12, "%011o", 0u);
    memset(header + SUM, ' ', 8); /* counts as spaces in its own sum */
    header[TYPE] = '0';
    memcpy(header + MAGIC, "ustar\00000", 8);
    for (int i = 0; i < BLOCK; i++)
        sum += (unsigned char)header[i];
    snprintf(header + SUM, 8, "%06o", sum);
    text_add_n(archive, header, BLOCK);
    text_add_n(archive, bytes, size);
    text_add_n(archive, ZEROS, (BLOCK - size % BLOCK) % BLOCK);
}

void tar_end(struct text *archive)
{
    text_add_n(archive, ZEROS, BLOCK);
    text_add_n(archive, ZEROS, BLOCK);
}
