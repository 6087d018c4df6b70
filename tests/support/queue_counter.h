/* One of the queue's counters. */
#ifndef TOAST_TESTS_QUEUE_COUNTER_H
#define TOAST_TESTS_QUEUE_COUNTER_H

#include "support.h"

#include "queue/queue.h"

static inline long long counter(struct queue *queue, const char *name)
{
    struct error e;
    struct queue_fields n;
    ASSERT_OK(queue_counters(queue, &n, &e), &e);
    long long value = queue_number(&n, name);
    queue_fields_release(&n);
    return value;
}

#endif
