/* Preloaded into toast-server by test_hostile.py: a disk on which making a large file durable takes three
 * seconds. Small files are as fast as they are, and other programs are left alone. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int fsync(int fd)
{
    struct stat st;
    if (strcmp(program_invocation_short_name, "toast-server") == 0 && fstat(fd, &st) == 0 &&
        st.st_size > 1 << 24)
        sleep(3);
    return (int)syscall(SYS_fsync, fd);
}
