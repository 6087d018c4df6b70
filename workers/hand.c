/* The hands of a worker: its clock, its children over a socket pair. Beside slot_step the only thing that a
 * slot's thread runs. Waits at most WORKER_TICK_MS for a child. See internal.h. */
#include "workers/internal.h"

#include "base/clock.h"

#include <poll.h>
#include <sys/random.h>

static long long now_ms(const struct supervisor *supervisor)
{
    return clock_ms();
}

static uint32_t random_number(struct slot *slot)
{
    uint32_t n = 0;
    if (getrandom(&n, sizeof n, 0) != sizeof n)
        n = (uint32_t)time(NULL);
    return n;
}

static bool ready(struct slot *slot)
{
    if (slot->child.fd < 0)
        process_start(&slot->child, slot->supervisor->options, &slot->supervisor->stopping);
    return slot->child.fd >= 0;
}

static enum error_code send_frame(struct slot *slot, const struct frame *frame, struct error *e)
{
    return frame_write(slot->child.fd, frame, e);
}

/* lends it blobs meanwhile */
static enum hand_event look(struct slot *slot, struct frame *answer)
{
    struct error e;
    struct pollfd polled[] = {{.fd = slot->child.fd, .events = POLLIN},
                              {.fd = slot->child.blobs, .events = POLLIN}};
    int got = poll(polled, 2, WORKER_TICK_MS);
    if (got <= 0)
        return HAND_BUSY;
    bool answered = polled[0].revents != 0;
    slot->child.broken =
        (answered ? frame_read(slot->child.fd, answer, NULL) : lend_answer(&slot->lend, &e)) != ERROR_OK;
    return slot->child.broken ? HAND_DEATH : answered ? HAND_ANSWER : HAND_BUSY;
}

static struct process_end end(struct slot *slot)
{
    return process_end(&slot->child, true); /* it may live, and send what is no frame */
}

const struct worker_hands worker_hands = {now_ms, random_number, ready, send_frame, look, end};
