/* The child that prices one request (what_if.h). It has the descriptors it needs and nothing else, and
 * is confined (base/confine.h) before it looks at any of them. */
#include "server/resources/what_if.h"

#include "api/what_if.h"
#include "base/confine.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/sanitizer.h"
#include "ir/read.h"
#include "server/resources/what_if_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* the whole of a descriptor, mapped; an empty one gives NULL */
static bool map_fd(int fd, const char **bytes, size_t *size)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return false;
    *bytes = NULL;
    *size = (size_t)st.st_size;
    if (st.st_size == 0)
        return true;
    void *map = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, fd, 0);
    *bytes = map;
    return map != MAP_FAILED;
}

static bool write_all(int fd, const void *bytes, size_t size)
{
    const char *at = bytes;
    while (size) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        at += n;
        size -= (size_t)n;
    }
    return true;
}

/* No module has been looked at before this: the reader, where there is one, is started first. */
static void confine(void)
{
    uint8_t digest[32];
    sha256_bytes("", 0, digest); /* the first use of a library opens files */
    if (confine_files(NULL) != 0 || confine_calls() != 0)
        _exit(WHAT_IF_BROKEN);
}

static enum error_code price(bool is_image, const char *digest, char **json, struct error *e)
{
    const char *request, *plan, *module;
    size_t request_size, plan_size, module_size;
    struct api_what_if *what_if = NULL;
    struct ir_program image = {0};
    int file = -1;
    if (!map_fd(WHAT_IF_REQUEST, &request, &request_size) || !map_fd(WHAT_IF_PLAN, &plan, &plan_size) ||
        !map_fd(WHAT_IF_MODULE, &module, &module_size))
        return error_set(e, ERROR_HOST, "there is no memory to map this request: try again");
    enum error_code code =
        is_image ? ERROR_OK : ir_read_file(module ? module : "", module_size, NULL, &file, e);
    confine();
    if (code == ERROR_OK)
        code = api_what_if_parse_forwarded(request ? request : "", request_size, plan, plan_size, digest,
                                           &what_if, e);
    if (code == ERROR_OK && is_image && ir_image_open(module, module_size, &image, e) != ERROR_OK)
        _exit(WHAT_IF_NO_IMAGE);
    if (code == ERROR_OK && !is_image)
        code = ir_read_map(file, &image, e);
    if (code == ERROR_OK && !is_image && !write_all(WHAT_IF_IMAGE, image.image, image.image_size))
        code = error_set(e, ERROR_HOST, "there is no memory for the module's image: try again");
    return code == ERROR_OK ? api_what_if_run(what_if, &image, json, e) : code;
}

static void limit(int resource, rlim_t value)
{
    struct rlimit rlimit = {value, value};
    if (setrlimit(resource, &rlimit) != 0)
        _exit(WHAT_IF_BROKEN);
}

static void exhausted(size_t bytes)
{
    _exit(WHAT_IF_MEMORY);
}

int what_if_child(int argc, char **argv)
{
    struct what_if_answer answer = {.magic = WHAT_IF_MAGIC};
    char *json = NULL;
    if (argc != 5)
        return WHAT_IF_BROKEN;
    for (int fd = WHAT_IF_REQUEST; fd < WHAT_IF_DESCRIPTORS; fd++)
        fcntl(fd, F_SETFD, FD_CLOEXEC); /* not for the reader, its child */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* it lives for a tenth of a second: memory is taken in large steps and never given back */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
    mallopt(M_TOP_PAD, 16 << 20);
    close_range(WHAT_IF_DESCRIPTORS, ~0u, 0);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    limit(RLIMIT_CORE, 0);
    mem_on_exhaustion(exhausted);
    if (!SANITIZED)
        limit(RLIMIT_AS, strtoull(argv[3], NULL, 10));
    answer.error.code = price(strcmp(argv[2], "image") == 0, argv[4], &json, &answer.error);
    /* memory is not given back, and that is no leak: the process ends here */
    _exit(write_all(WHAT_IF_ANSWER, &answer, sizeof answer) &&
                  (!json || write_all(WHAT_IF_ANSWER, json, strlen(json)))
              ? 0
              : WHAT_IF_BROKEN);
}
