/* What a back end of the store provides: a table of calls. The front (store.c) checks every digest before it
 * calls, so a back end may put it into a path. Errors as in store.h. Only files of
 * store/ include this, and the simulator's store in memory. */
#ifndef TOAST_STORE_BACKEND_H
#define TOAST_STORE_BACKEND_H

#include "store/store.h"

struct store_calls {
    void (*destroy)(struct store *s);
    enum error_code (*put)(struct store *s, const void *bytes, size_t size, char digest[STORE_DIGEST_SIZE],
                           struct error *e);
    enum error_code (*get)(struct store *s, const char *digest, struct store_view *out, struct error *e);
    enum error_code (*open)(struct store *s, const char *digest, int *fd, size_t *size, struct error *e);
    double (*free_share)(const struct store *s);
    /* NULL: not this back end */
    enum error_code (*keep)(struct store *s, const char *digest, struct error *e);
    enum error_code (*sweep)(struct store *s, struct store_sweep *sweep, struct error *e);
};

/* the first member of each back end's own struct */
struct store {
    const struct store_calls *calls;
};

/* store/sweep.c: folder/blobs and folder/tmp */
enum error_code directory_sweep(const char *folder, struct store_sweep *sweep, struct error *e) BASE_CHECKED;
/* The lock between who keeps a blob and who removes one: shared for the first. -1: none, with
 * errno. */
int directory_lock(const char *folder, bool shared);
void directory_unlock(int lock);

enum error_code store_directory_create(const char *folder, struct store **out, struct error *e) BASE_CHECKED;
/* A directory back end of at most about limit_bytes: what was not used for longest leaves first. Several
 * processes may share the folder. A blob may leave at any time; whoever mapped it keeps it. */
enum error_code store_cache_create(const char *folder, long long limit_bytes, struct store **out,
                                   struct error *e) BASE_CHECKED;
enum error_code store_remote_create(const char *url, const struct store_options *options, struct store **out,
                                    struct error *e) BASE_CHECKED;

#endif
