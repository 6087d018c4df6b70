/* See host.h. A cgroup of version 2 stands as "0::/path" in /proc/self/cgroup, one of version 1 as
 * "4:memory:/path"; in a container the path may be one that only the host sees: the root counts then. */
#include "base/host.h"

#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool host_fault(int error_number)
{
    return error_number == EAGAIN || error_number == ENOMEM || error_number == EMFILE ||
           error_number == ENFILE || error_number == ENOSPC || error_number == EDQUOT;
}

bool host_pause(int error_number, int *tries)
{
    enum { PAUSE_NS = 10000000, TRIES_MAX = 100 };
    if ((error_number != ENOMEM && error_number != ENOBUFS) || ++*tries >= TRIES_MAX)
        return false;
    nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    return true;
}

/* the file's first 4 KiB as text; false: it cannot be read */
static bool read_small(const char *path, char text[4096])
{
    FILE *file = fopen(path, "re");
    size_t size = file ? fread(text, 1, 4095, file) : 0;
    text[size] = 0;
    if (file)
        fclose(file);
    return file && size;
}

/* the number after `name` at a line's begin; -1: none */
static int64_t number_of(const char *text, const char *name)
{
    size_t size = strlen(name);
    for (const char *line = text; line; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
        if (strncmp(line, name, size) == 0)
            return strtoll(line + size, NULL, 10);
    return -1;
}

/* path of this process' cgroup below the mount of the memory controller; *mount: where that is */
static bool find_cgroup(char path[4096], const char **mount, bool *first_version)
{
    char text[4096];
    if (!read_small("/proc/self/cgroup", text))
        return false;
    for (char *save = NULL, *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        char *controllers = strchr(line, ':'), *at = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!at)
            continue;
        *at = 0;
        *first_version = strstr(controllers, "memory") != NULL;
        bool second_version = controllers[1] == 0;
        if (*first_version || (second_version && access("/sys/fs/cgroup/cgroup.controllers", R_OK) == 0)) {
            *mount = *first_version ? "/sys/fs/cgroup/memory" : "/sys/fs/cgroup";
            snprintf(path, 4096, "%s", strcmp(at + 1, "/") == 0 ? "" : at + 1);
            return true;
        }
    }
    return false;
}

static bool read_of(const char *mount, const char *path, const char *file, char text[4096])
{
    char *name = mem_printf("%s%s/%s", mount, path, file);
    bool found = read_small(name, text);
    free(name);
    return found;
}

int64_t host_memory_bytes(void)
{
    char text[4096], path[4096];
    const char *mount;
    bool first;
    int64_t least = read_small("/proc/meminfo", text) ? number_of(text, "MemTotal:") * 1024 : 0;
    if (!find_cgroup(path, &mount, &first))
        return least;
    for (;;) {
        if (read_of(mount, path, first ? "memory.limit_in_bytes" : "memory.max", text)) {
            int64_t limit = strtoll(text, NULL, 10); /* "max" gives 0 */
            if (limit > 0 && (least <= 0 || limit < least))
                least = limit;
        }
        char *slash = strrchr(path, '/');
        if (!slash)
            return least;
        *slash = 0;
    }
}

int64_t host_oom_kills(void)
{
    char text[4096], path[4096];
    const char *mount, *events;
    bool first;
    if (find_cgroup(path, &mount, &first)) {
        events = first ? "memory.oom_control" : "memory.events";
        if ((read_of(mount, path, events, text) || read_of(mount, "", events, text)) &&
            number_of(text, "oom_kill ") >= 0)
            return number_of(text, "oom_kill ");
    }
    FILE *all = fopen("/proc/vmstat", "re");
    int64_t kills = -1;
    for (char line[128]; all && fgets(line, sizeof line, all);)
        if (strncmp(line, "oom_kill ", 9) == 0)
            kills = strtoll(line + 9, NULL, 10);
    if (all)
        fclose(all);
    return kills;
}
