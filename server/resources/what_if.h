/* Pricing without blocking an HTTP thread and without letting hostile input near the server: each request is
 * computed in a child process of its own (this program again, `toast-server --what-if`), which reads the
 * module in the sandboxed reader where there is no image yet, prices, answers and ends. A crash, a runaway or
 * a leak costs one request. */
#ifndef TOAST_SERVER_WHAT_IF_H
#define TOAST_SERVER_WHAT_IF_H

#include "server/resources/resources.h"

struct what_if_pool;
struct what_if_pool *what_if_create(struct server *server);
void what_if_end(
    struct what_if_pool *what_if_pool); /* answers what waits with "unavailable", kills what runs */
void what_if_destroy(struct what_if_pool *what_if_pool);

struct what_if_result {
    struct error error; /* code ERROR_OK: none */
    char *json;         /* owned; NULL after an error */
};
/* Suspends the exchange; afterwards again(x) finds the result in x->what_if (freed with the exchange). w:
 * decoded (borrowed during the call); module: digest of its text in the store. ERROR_UNAVAILABLE: too many
 * wait, or the server is ending. */
struct api_what_if;
enum error_code what_if_begin(struct exchange *exchange, const struct api_what_if *what_if,
                              const char *module, void (*again)(struct exchange *),
                              struct error *e) BASE_CHECKED;
/* price.c: what_if_begin for the JSON body of a POST /v1/price, with the errors of that */
enum error_code what_if_begin_json(struct exchange *exchange, const char *json, size_t size,
                                   void (*again)(struct exchange *), struct error *e) BASE_CHECKED;
/* Other work that takes longer than an HTTP thread may spend: run(server, user, result) is called on one of
 * the threads, then user (malloc; taken on success) is freed and what_if_reply answers. */
enum error_code what_if_begin_other(struct exchange *exchange,
                                    void (*run)(struct server *, void *, struct what_if_result *), void *user,
                                    struct error *e) BASE_CHECKED;
/* answers with x->what_if: its JSON or its error */
void what_if_reply(struct exchange *exchange);
void what_if_release(struct what_if_result *what_if_result); /* NULL is fine */

/* main of the child: --what-if text|image MEMORY-BYTES MODULE-DIGEST, descriptors of what_if_child.h */
int what_if_child(int argc, char **argv);

#endif
