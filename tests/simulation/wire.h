/* What stands between the queue's client code and Redis in a simulation: hiredis' calls, wrapped by the
 * linker (CMakeLists.txt). Contexts are made of nothing, so that breaking one costs nothing; what they
 * carry goes over the one undisturbed connection (engine.h), together with what the judge wants to see
 * before and after each call. At each flight of requests the world decides what becomes of it. The
 * library's text may be changed on its way into Redis: that is how bugs are planted. */
#ifndef TOAST_TESTS_SIMULATION_WIRE_H
#define TOAST_TESTS_SIMULATION_WIRE_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum wire_fault {
    WIRE_GOOD,
    WIRE_REPLY_LOST,   /* done, and nobody hears */
    WIRE_REQUEST_LOST, /* not done */
    WIRE_DOUBLED,      /* done twice, the second answer is heard */
    WIRE_LATE,         /* not done now, and nobody hears; done when wire_deliver says so */
};

/* One request. name: of a function of the library without its version, else of the command. */
struct wire_call {
    int argc;
    const char **argv;
    size_t *sizes;
    char name[24];
    bool function;
};
const char *wire_argument(const struct wire_call *call,
                          int i); /* of a function, from 0; "" beyond the last */

enum { WIRE_LOOKS = 8 };
struct wire_look { /* a command that only reads; argc 0: none, and its reply is NULL */
    int argc;
    const char *argv[16];
    char text[4][96]; /* room for what argv points to */
};
struct wire_world {
    enum wire_fault (*weather)(void *user, const struct wire_call *call);
    /* -> how many looks to take before (after) the call */
    int (*before)(void *user, const struct wire_call *call, struct wire_look *looks);
    int (*after)(void *user, const struct wire_call *call, struct wire_look *looks);
    void (*seen)(void *user, const struct wire_call *call, const redisReply *reply, redisReply *const *before,
                 redisReply *const *after);
    void *user;
    const int64_t *now_us; /* Redis' clock */
    bool loses;            /* wire_lose may come: what is done is kept */
};
/* For the running lane (engine.h), borrowed. NULL: calls go through undisturbed and unseen. Forgets requests
 * that are late. */
void wire_attach(const struct wire_world *wire_world);
/* a text that stands once in the library, and what stands there instead; NULL: the library as it ships */
struct wire_plant {
    const char *name, *from, *to;
};
/* The function library is removed from Redis and will be loaded as changed by the plant. */
void wire_plant(const struct wire_plant *plant);

size_t wire_late_count(void);
/* The i-th of the late requests is done now. */
void wire_deliver(size_t i);

/* Redis ends and starts again without what was done at or after since_us, as with `appendfsync everysec`. The
 * clock must not have been set back since. -> calls that are lost */
size_t wire_lose(int64_t since_us);

unsigned long long wire_calls_total(void);

#endif
