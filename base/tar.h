/* A tar archive (POSIX ustar) in memory: regular files of mode 0644, owner 0, time 0, so that equal files
 * in equal order give equal bytes. Never reads one. */
#ifndef TOAST_BASE_TAR_H
#define TOAST_BASE_TAR_H

#include "base/memory.h"

/* appends a file; name: a relative path below 100 bytes (checked), size below 8 GiB */
void tar_add(struct text *archive, const char *name, const char *bytes, size_t size);
/* after the last file: two empty blocks */
void tar_end(struct text *archive);

#endif
