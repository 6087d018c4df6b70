/* The server's end: whatever a client has sent is answered before its connection is closed, also what the
 * kernel has taken in our name and nobody has read.
 *
 * While Redis answers that is a matter of milliseconds. A Redis that is silent holds the threads up for as
 * long as the first calls wait for it (queue/redis.c: at most 2 s to connect, 5 s for a reply, 1 s for a
 * PING); after that all calls are refused at once, and everything that waited behind is answered with 503.
 * DRAIN_MS is above the sum, so that only clients that are slow themselves, in the middle of an upload,
 * are cut off. */
#include "server/drain.h"
#include "server/http/watch.h"
#include "server/resources/accept.h"
#include "server/resources/follow.h"
#include "server/resources/what_if.h"

#include "base/log.h"

#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum {
    DRAIN_MS = 10000,
    LOOK_MS = 20,
    QUIET_LOOKS = 2 /* a request may be between its socket and its beginning */
};

/* Connections that wait in the kernel go to the library, which has stopped to take any by itself. -> how
 * many */
static size_t hand_over(struct server *server, int listening)
{
    size_t count = 0;
    struct sockaddr_storage from;
    socklen_t size = sizeof from;
    for (int fd;
         (fd = accept4(listening, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0;
         size = sizeof from)
        /* closes it where it cannot */
        count += MHD_add_connection(server->daemon, fd, (struct sockaddr *)&from, size) == MHD_YES;
    return count;
}

void server_drain(struct server *server)
{
    int quiet = 0, waited = 0;
    size_t expected = watch_started(server->watch);
    atomic_store(&server->draining, true); /* replies say Connection: close */
    int listening = MHD_quiesce_daemon(server->daemon);
    if (listening >= 0) {
        expected += hand_over(server, listening);
        close(listening);
    }
    follow_end(server->resources->follow);
    what_if_end(server->resources->what_ifs);
    for (; waited < DRAIN_MS && quiet < QUIET_LOOKS; waited += LOOK_MS) {
        struct timespec pause = {0, LOOK_MS * 1000000};
        bool busy = atomic_load(&server->under_way) > 0 || watch_unread(server->watch) > 0 ||
                    watch_started(server->watch) < expected;
        quiet = busy ? 0 : quiet + 1;
        nanosleep(&pause, NULL);
    }
    if (quiet < QUIET_LOOKS) {
        char left[16];
        snprintf(left, sizeof left, "%d", atomic_load(&server->under_way));
        log_event("requests_cut_off", "requests", left, NULL);
    }
    offload_end(server->offload); /* before whom its work hands exchanges on to */
    acceptor_end(server->resources->acceptor);
    MHD_stop_daemon(server->daemon);
    if (server->health)
        MHD_stop_daemon(server->health);
}
