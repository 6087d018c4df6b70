/* Counters of this process in the Prometheus text format; those of the service come from Redis
 * (server/resources/info.c). Any thread may count, without a lock. A job or a tenant is never a label. */
#include "server/http/watch.h"

#include <strings.h>

enum { CODES = 5, BUCKETS = 9 }; /* by class of status; upper bounds below and +Inf */
static const double bounds[BUCKETS - 1] = {0.001, 0.0025, 0.01, 0.025, 0.1, 0.5, 2, 10};

struct metrics {
    const struct route_table *routes;
    atomic_ulong (*requests)[CODES]; /* a row a route, and one more for what fits none */
    atomic_ulong buckets[BUCKETS], microseconds, count;
};

struct metrics *metrics_create(const struct route_table *routes)
{
    struct metrics *metrics = mem_zalloc(1, sizeof *metrics);
    metrics->routes = routes;
    metrics->requests = mem_zalloc(routes->count + 1, sizeof *metrics->requests);
    return metrics;
}

void metrics_destroy(struct metrics *metrics)
{
    free(metrics->requests);
    free(metrics);
}

/* HEAD counts as its route's GET */
void metrics_request(struct metrics *metrics, const struct route *route, int status, double seconds)
{
    size_t row = route ? (size_t)(route - metrics->routes->at) : metrics->routes->count, bucket = 0;
    while (bucket < BUCKETS - 1 && seconds > bounds[bucket])
        bucket++;
    atomic_fetch_add(&metrics->requests[row][status >= 100 && status < 600 ? status / 100 - 1 : 4], 1);
    if (seconds < 0) /* a stream: as long as its job */
        return;
    atomic_fetch_add(&metrics->buckets[bucket], 1);
    atomic_fetch_add(&metrics->microseconds, (unsigned long)(seconds * 1e6));
    atomic_fetch_add(&metrics->count, 1);
}

void metrics_head(struct text *out, const char *name, const char *type, const char *help)
{
    text_printf(out, "# HELP %s %s.\n# TYPE %s %s\n", name, help, name, type);
}

void metrics_write(struct metrics *metrics, struct text *out)
{
    const struct route *table = metrics->routes->at;
    size_t count = metrics->routes->count;
    metrics_head(out, "toast_build_info", "gauge", "The version of this server");
    text_add(out, "toast_build_info{version=\"" TOAST_VERSION "\"} 1\n");
    metrics_head(out, "toast_http_requests_total", "counter",
                 "Requests that this server answered, by class of status");
    for (size_t i = 0; i <= count; i++)
        for (int c = 0; c < CODES; c++) {
            unsigned long n = atomic_load(&metrics->requests[i][c]);
            if (n)
                text_printf(out, "toast_http_requests_total{route=\"%s\",method=\"%s\",code=\"%dxx\"} %lu\n",
                            i < count ? table[i].pattern : "none", i < count ? table[i].method : "none",
                            c + 1, n);
        }
    metrics_head(out, "toast_http_request_duration_seconds", "histogram",
                 "From request to answer, streams left out");
    unsigned long sum = 0;
    for (int b = 0; b < BUCKETS; b++) {
        sum += atomic_load(&metrics->buckets[b]);
        if (b < BUCKETS - 1)
            text_printf(out, "toast_http_request_duration_seconds_bucket{le=\"%g\"} %lu\n", bounds[b], sum);
        else
            text_printf(out, "toast_http_request_duration_seconds_bucket{le=\"+Inf\"} %lu\n", sum);
    }
    text_printf(
        out, "toast_http_request_duration_seconds_sum %.6f\ntoast_http_request_duration_seconds_count %lu\n",
        (double)atomic_load(&metrics->microseconds) * 1e-6, atomic_load(&metrics->count));
}
