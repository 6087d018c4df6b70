/* bench_http_load --port P --request FILE [--connections N] [--seconds S] [--hz H] [--first N] [--ids
 * FILE]
 *
 * One request over and over, on N connections that stay open: as fast as answers come, or (--hz) at H a
 * second on each connection, timed from when it was due, so that a server that falls behind does not hide
 * it. FILE holds the request's line without version, headers, an empty line and the body; {n} in it
 * becomes a number of twelve digits that no other request has. Prints one line of JSON: requests, per_s,
 * p50_ms, p99_ms, p999_ms, max_ms, status counts, broken connections. --ids: the "id" of every 202 goes
 * there, a line each. */
#include "base/file.h"
#include "base/memory.h"
#include "bench/usage.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { BUFFER = 1 << 18, DIGITS = 12, RETRY_MS = 20 };

struct connection {
    int fd;
    bool busy;
    double due, began; /* paced: when the next request is due; when the present one was */
    size_t sent, got;
    char *request, *reply;
    size_t request_size;
};

struct load {
    int port, epoll;
    long connections;
    double seconds, hz, end;
    char *template; /* with {n} replaced by zeros */
    size_t size;
    size_t marks[16], mark_count; /* where the numbers stand */
    unsigned long long next;
    VEC(float) times; /* milliseconds */
    unsigned long status[600], broken;
    FILE *ids;
};

static double now(void)
{
    struct timespec when;
    clock_gettime(CLOCK_MONOTONIC, &when);
    return (double)when.tv_sec + 1e-9 * (double)when.tv_nsec;
}

static void die(const char *what)
{
    fprintf(stderr, "bench_http_load: %s\n", what);
    exit(1);
}

/* the file as it goes over the wire: version, Host, Content-Length, CRLF */
static void build_template(struct load *load, const char *text, size_t size)
{
    struct text out = {0};
    const char *empty = strstr(text, "\n\n"), *line = strchr(text, '\n'),
               *body = empty ? empty + 2 : text + size;
    size_t body_size = size - (size_t)(body - text);
    if (!line)
        die("the request has no first line");
    for (const char *at = body; (at = strstr(at, "{n}")) != NULL; at += 3)
        body_size += DIGITS - 3;
    text_add_n(&out, text, (size_t)(line - text));
    text_printf(&out, " HTTP/1.1\r\nHost: localhost:%d\r\n", load->port);
    for (const char *at = line + 1; empty && at < empty + 1;) {
        const char *next = strchr(at, '\n');
        text_add_n(&out, at, (size_t)(next - at));
        text_add(&out, "\r\n");
        at = next + 1;
    }
    if (body_size || strncmp(text, "GET", 3) != 0)
        text_printf(&out, "Content-Length: %zu\r\n", body_size);
    text_add(&out, "\r\n");
    text_add(&out, body);
    struct text final = {0};
    for (const char *at = out.at; *at;) {
        if (strncmp(at, "{n}", 3) == 0 && load->mark_count < 16) {
            load->marks[load->mark_count++] = final.size;
            text_add(&final, "000000000000");
            at += 3;
        } else {
            text_add_char(&final, *at++);
        }
    }
    text_release(&out);
    load->template = final.at;
    load->size = final.size;
}

static void connect_again(struct load *load, struct connection *connection)
{
    struct sockaddr_in sockaddr_in = {.sin_family = AF_INET, .sin_port = htons((uint16_t)load->port)};
    int one = 1;
    sockaddr_in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connection->fd >= 0) {
        close(connection->fd);
        load->broken++;
    }
    connection->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    connection->busy = false;
    if (connect(connection->fd, (struct sockaddr *)&sockaddr_in, sizeof sockaddr_in) != 0) {
        close(connection->fd);
        connection->fd = -1;
        connection->due = now() + RETRY_MS * 1e-3;
        return;
    }
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    struct epoll_event e = {.events = EPOLLIN, .data.ptr = connection};
    epoll_ctl(load->epoll, EPOLL_CTL_ADD, connection->fd, &e);
}

static void send_request(struct load *load, struct connection *connection)
{
    char digits[DIGITS + 1];
    memcpy(connection->request, load->template, load->size);
    snprintf(digits, sizeof digits, "%0*llu", DIGITS, load->next++);
    for (size_t i = 0; i < load->mark_count; i++)
        memcpy(connection->request + load->marks[i], digits, DIGITS);
    connection->busy = true;
    connection->got = 0;
    connection->began = load->hz > 0 ? connection->due : now();
    for (size_t sent = 0; sent < load->size;) { /* requests are small: blocking until the kernel has them */
        ssize_t n = send(connection->fd, connection->request + sent, load->size - sent, MSG_NOSIGNAL);
        if (n <= 0) {
            connect_again(load, connection);
            return;
        }
        sent += (size_t)n;
    }
}

static void take_id(struct load *load, const char *body)
{
    const char *id = load->ids ? strstr(body, "\"id\":\"") : NULL;
    if (id)
        fprintf(load->ids, "%.*s\n", (int)strcspn(id + 6, "\""), id + 6);
}

/* true: the reply is whole */
static bool take_reply(struct load *load, struct connection *connection)
{
    connection->reply[connection->got] = 0;
    char *end = strstr(connection->reply, "\r\n\r\n"),
         *length = strcasestr(connection->reply, "\r\ncontent-length:");
    if (!end || (length && length < end &&
                 connection->got < (size_t)(end + 4 - connection->reply) + strtoul(length + 17, NULL, 10)))
        return false;
    long status = connection->got > 12 ? strtol(connection->reply + 9, NULL, 10) : 0;
    if (status > 0 && status < 600)
        load->status[status]++;
    if (status == 202)
        take_id(load, end + 4);
    VEC_PUSH(&load->times, (float)((now() - connection->began) * 1e3));
    connection->busy = false;
    return true;
}

static void on_readable(struct load *load, struct connection *connection)
{
    ssize_t n = connection->fd < 0 ? -1
                                   : recv(connection->fd, connection->reply + connection->got,
                                          BUFFER - 1 - connection->got, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR) && connection->fd >= 0)
        return;
    if (n <= 0) {
        connect_again(load, connection);
        return;
    }
    connection->got += (size_t)n;
    if (!take_reply(load, connection))
        return;
    bool closes = strcasestr(connection->reply, "\r\nconnection: close") != NULL;
    if (closes) {
        connect_again(load, connection);
        load->broken--;
    }
    if (load->hz > 0)
        connection->due += 1 / load->hz;
    else if (now() < load->end && connection->fd >= 0)
        send_request(load, connection);
}

static void run(struct load *load, struct connection *all)
{
    struct epoll_event events[256];
    double start = now();
    load->end = start + load->seconds;
    for (long i = 0; i < load->connections; i++) {
        connect_again(load, &all[i]);
        all[i].due = start + (load->hz > 0 ? (double)i / (double)load->connections / load->hz : 0);
    }
    for (double t = now(); t < load->end + 5; t = now()) {
        bool busy = false;
        for (long i = 0; i < load->connections; i++) {
            struct connection *connection = &all[i];
            if (t < load->end && !connection->busy && connection->due <= t) {
                if (connection->fd < 0)
                    connect_again(load, connection);
                if (connection->fd >= 0)
                    send_request(load, connection);
            }
            busy |= connection->busy;
        }
        if (t >= load->end && !busy)
            break;
        int n = epoll_wait(load->epoll, events, 256, 1);
        for (int i = 0; i < n; i++)
            on_readable(load, events[i].data.ptr);
    }
}

static int by_value(const void *left, const void *right)
{
    float x = *(const float *)left, y = *(const float *)right;
    return x < y ? -1 : x > y;
}

static double quantile(const struct load *load, double q)
{
    size_t at = (size_t)(q * (double)load->times.count);
    return load->times.count ? (double)load->times.at[at < load->times.count ? at : load->times.count - 1]
                             : 0;
}

static const char help[] =
    "usage: bench_http_load --port P --request FILE [--connections N] [--seconds S] [--hz H] [--first N] "
    "[--ids FILE]\n"
    "\n"
    "One request over and over, on N connections that stay open: as fast as answers come, or (--hz) at H a "
    "second on each, timed\n"
    "from when it was due. Prints one line of JSON: requests, rate, quantiles of the time, answers by "
    "status, broken connections.\n"
    "\n"
    "  --request FILE   request line without version, headers, an empty line, the body; {n} becomes a number "
    "of its own\n"
    "  --connections N  default 16         --seconds S  default 5\n"
    "  --first N        the first {n}      --ids FILE   the id of every 202 goes there\n"
    "\n"
    "example (with a server on port 8080):\n"
    "  printf 'GET /livez\\nHost: localhost\\n\\n' > get.txt\n"
    "  build/release/bin/bench_http_load --port 8080 --request get.txt --seconds 2\n";

int main(int argc, char **argv)
{
    struct load load = {.connections = 16, .seconds = 5};
    struct error e;
    char *text = NULL;
    size_t size = 0;
    usage_help(argc, argv, help);
    for (int i = 1; i < argc; i++) {
        const char *name = argv[i], *value = usage_value(argc, argv, &i);
        if (strcmp(name, "--port") == 0)
            load.port = atoi(value);
        else if (strcmp(name, "--connections") == 0)
            load.connections = atol(value);
        else if (strcmp(name, "--seconds") == 0)
            load.seconds = atof(value);
        else if (strcmp(name, "--hz") == 0)
            load.hz = atof(value);
        else if (strcmp(name, "--first") == 0)
            load.next = strtoull(value, NULL, 10);
        else if (strcmp(name, "--ids") == 0)
            load.ids = fopen(value, "w");
        else if (strcmp(name, "--request"))
            usage_refuse(name, "no such option");
        else if (file_read(value, 1 << 24, &text, &size, &e) != ERROR_OK)
            die(e.message);
    }
    if (!load.port || !text || load.connections < 1 || load.connections > 10000)
        die("--port and --request are needed, see the head of bench/http_load.c");
    build_template(&load, text, size);
    load.epoll = epoll_create1(EPOLL_CLOEXEC);
    struct connection *all = mem_zalloc((size_t)load.connections, sizeof *all);
    for (long i = 0; i < load.connections; i++) {
        all[i].fd = -1;
        all[i].request = mem_alloc(load.size + 1);
        all[i].reply = mem_alloc(BUFFER);
    }
    run(&load, all);
    if (load.ids)
        fclose(load.ids);
    if (load.times.count)
        qsort(load.times.at, load.times.count, sizeof *load.times.at, by_value);
    printf("{\"requests\": %zu, \"per_s\": %.1f, \"p50_ms\": %.3f, \"p99_ms\": %.3f, \"p999_ms\": %.3f, "
           "\"max_ms\": %.3f, "
           "\"broken\": %lu, \"status\": {",
           load.times.count, (double)load.times.count / load.seconds, quantile(&load, 0.5),
           quantile(&load, 0.99), quantile(&load, 0.999), quantile(&load, 1), load.broken);
    bool first = true;
    for (int s = 0; s < 600; s++)
        if (load.status[s]) {
            printf("%s\"%d\": %lu", first ? "" : ", ", s, load.status[s]);
            first = false;
        }
    printf("}}\n");
    return 0;
}
