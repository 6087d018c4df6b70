/* A store at the other end of a socket pair (SOCK_SEQPACKET): for a process that may open nothing. Blobs come
 * and go as descriptors; the bytes are not copied.
 *
 *     here (store_lent_create)                 there (store_lend_answer)
 *       get: digest                 ->           is it lent? then its file
 *            <- a descriptor, checked here against the digest
 *       put: a sealed file in memory ->          maps it, stores it
 *            <- the digest
 *       read: digest                ->           store_lender.read: the text's program image
 *            <- a descriptor
 *
 * Of get and put what the host refuses (no descriptor, no memory, a full disk) is asked for again three times
 * within 60 ms: a task has dozens of blobs, and is lost whole with one of them.
 *
 * Who lends believes nothing: a message of another size, a digest that was not lent, a file that could still
 * change under it are refused. */
#ifndef TOAST_STORE_LENT_H
#define TOAST_STORE_LENT_H

#include "store/store.h"

/* A store (destroy with store_destroy) over the socket, which it does not own. get, put and store_lent_read
 * only; one thread at a time. */
void store_lent_create(int socket, struct store **out);
/* The program image of the module that has this digest, read by who lends; *image: an owned descriptor.
 * Errors as of ir_read, and of the store. */
enum error_code store_lent_read(struct store *store, const char *digest, int *image,
                                struct error *e) BASE_CHECKED;

struct store_lender {
    struct store *store;
    bool (*lent)(void *user, const char *digest); /* may this one be seen? */
    /* the image of a module's text as a descriptor (owned by the caller) */
    enum error_code (*read)(void *user, const char *digest, const void *text, size_t size, int *image,
                            struct error *e);
    void *user;
    size_t put_bytes; /* largest blob that is taken; 0: any */
};
/* Answers one message that poll has announced. ERROR_UNAVAILABLE: the other side is gone or sends what is no
 * message; it is to be ended. */
enum error_code store_lend_answer(const struct store_lender *lender, int socket,
                                  struct error *e) BASE_CHECKED;

#endif
