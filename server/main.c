/* Options of toast-server: from the command line and the environment to struct server_options, or a help
 * text and status 2. Opens nothing and starts nothing itself. */
#include "server/resources/what_if.h"
#include "server/server.h"

#include "base/secret.h"
#include "base/size.h"

#include <getopt.h>

/* Defaults, as help says them, and what an option may be at most. */
enum {
    GRACE_MS = 3600000,  /* a job that names a blob was begun within the hour, or nobody waits for it */
    COLLECT_MS = 600000, /* a look walks all of Redis: a second of it in ten minutes */
    OPEN_JOBS = 100,
    SUBMITS_PER_S = 20,
    LIMIT_MAX = 1000000, /* of the two above */
};
static const char EVENT_STREAMS[] = "2000"; /* a descriptor each, of the 4096 that connections may have */
static const long long TENANT_BYTES = 10LL << 30, BUDGET_MIN = 16LL << 20, BUDGET_MAX = 1LL << 40;
static const size_t BUDGET = (size_t)256 << 20; /* 256 bodies of a MiB, or 512 large uploads */
static const double TIME_MIN_S = 0.001, TIME_MAX_S = 10 * 365 * 86400.0; /* ten years */

static void help(FILE *out)
{
    fprintf(
        out,
        "usage: toast-server [--redis ADDRESS] [--store dir:PATH] [--listen ADDRESS:PORT] "
        "[--require-keys]\n"
        "                    [--insecure-listen] [--host-name NAME].. [--cors-origin ORIGIN]..\n"
        "                    [--ready-file FILE] [--archive-after S] [--keep S] [--keep-dead S]\n"
        "                    [--keep-gone S] [--blob-grace S] [--collect-every S] [--open-jobs N]\n"
        "                    [--submits-per-s N] [--tenant-bytes N] [--event-streams N]\n"
        "                    [--health-listen ADDRESS:PORT] [--connections-per-address N] [--memory-budget "
        "N]\n"
        "                    [--quiet]\n\n"
        "  --redis            unix:PATH or redis://[USER@]HOST:PORT        (TOAST_REDIS, "
        "redis://127.0.0.1:6379)\n"
        "                     Its password never stands here, where every user of the machine can read it, "
        "but\n"
        "                     in TOAST_REDIS_PASSWORD or in the file that TOAST_REDIS_PASSWORD_FILE names.\n"
        "  --store            dir:PATH                                     (TOAST_STORE, dir:toast-data)\n"
        "  --listen           a numeric address and a port; 0: any port    (TOAST_LISTEN, 127.0.0.1:8080)\n"
        "  --require-keys     let nobody in without a key, even while there is none (TOAST_REQUIRE_KEYS=1)\n"
        "  --insecure-listen  allow an address that other hosts reach although there are no keys\n"
        "  --host-name        another name of this server: without keys it answers to localhost only\n"
        "  --cors-origin      https://HOST[:PORT] whose pages may use the API; none without this\n"
        "  --ready-file       a file that gets the port's number once the server listens\n"
        "  --archive-after    seconds after a job's end until it leaves Redis for the store (3600)\n"
        "  --keep             seconds after its end that a job is kept (604800)\n"
        "  --keep-dead        the same for a dead one (2592000)\n"
        "  --keep-gone        seconds after that, or after DELETE, that its id answers 410 (2592000)\n"
        "                     These times are kept in Redis and hold for all; who starts last sets them.\n"
        "  --blob-grace       seconds that a blob to which nothing refers is kept (3600)\n"
        "  --collect-every    seconds between two looks for such blobs (600)\n"
        "  --open-jobs        jobs of a tenant that have not ended, 0: any number   (TOAST_OPEN_JOBS, 100)\n"
        "  --submits-per-s    submissions of a tenant, five seconds' worth at once  (TOAST_SUBMITS_PER_S, "
        "20)\n"
        "  --tenant-bytes     of the modules that a tenant has                      (TOAST_TENANT_BYTES, "
        "10GiB)\n"
        "  --event-streams    open at this server at once, of all tenants (TOAST_EVENT_STREAMS, 2000);\n"
        "                     a tenant may have 200 at all servers together\n"
        "  --health-listen    /livez, /readyz and /metrics, without a key, on threads and connections of "
        "their "
        "own\n"
        "                     beside those of --listen                         (TOAST_HEALTH_LISTEN, none)\n"
        "  --connections-per-address  at once, 1 to 4096                       (2048; behind a proxy 4096)\n"
        "  --memory-budget    bytes that all bodies and replies may take in memory together; then 503\n"
        "                     (256MiB)\n"
        "  --webhook-host     HOST[:PORT] that jobs may have told of their end; may be given again (none)\n"
        "  --webhook-private  .. also where it is of a private network, and over http\n"
        "  --quiet            no line of JSON on stderr for every request, only for events\n\n"
        "Keys are made with toast keys add. While there are none, a loopback address is open to everybody "
        "who\n"
        "reaches it, and another one is refused.\n"
        "TOAST_WORKER_TOKEN, or the file that TOAST_WORKER_TOKEN_FILE names, opens /internal to workers on "
        "other\nhosts that send it.\n"
        "TOAST_WEBHOOK_SECRET signs webhooks; without it there are none.\n"
        "SIGTERM: answers what clients have sent, at most for 10 seconds, and ends.\n\n"
        "example:\n  toast-server --redis unix:/run/toast/redis.sock --store dir:/var/lib/toast\n");
}

/* seconds, 1 ms to 10 years */
static bool take_time(struct server_options *options, int option, const char *text)
{
    const struct {
        int option;
        long long *ms;
    } times[] = {{'A', &options->resources.times.archive_ms},   {'K', &options->resources.times.keep_ms},
                 {'D', &options->resources.times.keep_dead_ms}, {'G', &options->resources.times.gone_ms},
                 {'B', &options->resources.grace_ms},           {'C', &options->resources.collect_ms}};
    char *end;
    double seconds = strtod(text, &end);
    if (end == text || *end || !(seconds >= TIME_MIN_S && seconds <= TIME_MAX_S))
        return false;
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (times[i].option == option)
            *times[i].ms = (long long)(seconds * 1000);
    return true;
}

static bool whole_number(const char *text, long long least, long long most, long long *out)
{
    char *end;
    *out = strtoll(text, &end, 10);
    return text[0] && !*end && *out >= least && *out <= most;
}

/* a whole number from 0, or bytes; false: it is neither */
static bool take_limit(struct tenant_limits *tenant_limits, int option, const char *text)
{
    long long value;
    int64_t bytes;
    if (option == 't') {
        if (!size_parse(text, &bytes))
            return false;
        tenant_limits->tenant_bytes = bytes;
        return true;
    }
    if (!whole_number(text, 0, LIMIT_MAX, &value))
        return false;
    if (option == 'o')
        tenant_limits->open_jobs = (int)value;
    else
        tenant_limits->submits_per_s = (int)value;
    return true;
}

/* 1 to half of the connections that the server takes */
static bool take_streams(struct server_options *options, const char *text)
{
    long long value;
    bool good = whole_number(text, 1, SERVER_CONNECTIONS / 2, &value);
    options->resources.event_streams = (int)value;
    return good;
}

static bool take_connections(struct server_options *options, const char *text)
{
    long long value;
    bool good = whole_number(text, 1, SERVER_CONNECTIONS, &value);
    options->connections_per_address = (unsigned)value;
    return good;
}

/* 16 MiB to 1 TiB */
static bool take_budget(struct server_options *options, const char *text)
{
    int64_t bytes;
    if (!size_parse(text, &bytes))
        return false;
    options->memory_budget = (size_t)bytes;
    return bytes >= BUDGET_MIN && bytes <= BUDGET_MAX;
}

static bool take_name(struct access_names *names, const char *text)
{
    if (!text[0] || names->count == sizeof names->at / sizeof *names->at)
        return false;
    names->at[names->count++] = text;
    return true;
}

static bool take_webhook_host(struct webhook_options *webhooks, const char *text)
{
    if (!text[0] || webhooks->host_count == sizeof webhooks->hosts / sizeof *webhooks->hosts)
        return false;
    for (const char *at = text; *at; at++)
        if ((*at >= 'A' && *at <= 'Z') || *at == '/' || *at == '@' || *at <= ' ')
            return false;
    webhooks->hosts[webhooks->host_count++] = text;
    return true;
}

/* limits of the environment; false: one is not a number */
static bool take_limits(struct tenant_limits *tenant_limits)
{
    static const struct {
        const char *name;
        int option;
    } all[] = {{"TOAST_OPEN_JOBS", 'o'}, {"TOAST_SUBMITS_PER_S", 'p'}, {"TOAST_TENANT_BYTES", 't'}};
    bool good = true;
    *tenant_limits = (struct tenant_limits){
        .open_jobs = OPEN_JOBS, .submits_per_s = SUBMITS_PER_S, .tenant_bytes = TENANT_BYTES};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const char *text = getenv(all[i].name);
        good &= !text || !*text || take_limit(tenant_limits, all[i].option, text);
    }
    return good;
}

static const struct option names[] = {{"redis", 1, NULL, 'r'},
                                      {"store", 1, NULL, 's'},
                                      {"listen", 1, NULL, 'l'},
                                      {"host-name", 1, NULL, 'n'},
                                      {"insecure-listen", 0, NULL, 'i'},
                                      {"require-keys", 0, NULL, 'k'},
                                      {"cors-origin", 1, NULL, 'c'},
                                      {"ready-file", 1, NULL, 'f'},
                                      {"archive-after", 1, NULL, 'A'},
                                      {"keep", 1, NULL, 'K'},
                                      {"keep-dead", 1, NULL, 'D'},
                                      {"keep-gone", 1, NULL, 'G'},
                                      {"blob-grace", 1, NULL, 'B'},
                                      {"collect-every", 1, NULL, 'C'},
                                      {"open-jobs", 1, NULL, 'o'},
                                      {"submits-per-s", 1, NULL, 'p'},
                                      {"tenant-bytes", 1, NULL, 't'},
                                      {"event-streams", 1, NULL, 'e'},
                                      {"health-listen", 1, NULL, 'H'},
                                      {"connections-per-address", 1, NULL, 'a'},
                                      {"memory-budget", 1, NULL, 'm'},
                                      {"webhook-host", 1, NULL, 'w'},
                                      {"webhook-private", 0, NULL, 'W'},
                                      {"quiet", 0, NULL, 'q'},
                                      {"help", 0, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

/* false: there is no such option, or its value is not what it needs */
static bool take_option(struct server_options *options, int option, const char *value)
{
    switch (option) {
    case 'r': options->redis = value; return !secret_in_address(value);
    case 's': options->store = value; return true;
    case 'l': options->listen = value; return true;
    case 'f': options->ready_file = value; return true;
    case 'i': return options->insecure_listen = true;
    case 'k': return options->require_keys = true;
    case 'q': options->log_requests = false; return true;
    case 'W': return options->resources.webhooks.private_networks = true;
    case 'w': return take_webhook_host(&options->resources.webhooks, value);
    case 'n': return take_name(&options->access.host_names, value);
    case 'c': return origin_valid(value) && take_name(&options->access.cors_origins, value);
    case 'o':
    case 'p':
    case 't': return take_limit(&options->access.limits, option, value);
    case 'e': return take_streams(options, value);
    case 'H': options->health_listen = value; return true;
    case 'a': return take_connections(options, value);
    case 'm': return take_budget(options, value);
    case '?': return false;
    default: return take_time(options, option, value);
    }
}

static const char *environment(const char *name, const char *otherwise)
{
    const char *text = getenv(name);
    return text ? text : otherwise;
}

int server_main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "--what-if") == 0) /* a child of the server itself */
        return what_if_child(argc, argv);
    const char *secret = getenv("TOAST_WEBHOOK_SECRET");
    const char *streams = environment("TOAST_EVENT_STREAMS", "");
    struct server_options options = {.log_requests = true,
                                     .resources.grace_ms = GRACE_MS,
                                     .resources.collect_ms = COLLECT_MS,
                                     .resources.webhooks.secret = secret && *secret ? secret : NULL,
                                     .connections_per_address = SERVER_CONNECTIONS / 2,
                                     .memory_budget = BUDGET,
                                     .redis = environment("TOAST_REDIS", "redis://127.0.0.1:6379"),
                                     .store = environment("TOAST_STORE", "dir:toast-data"),
                                     .listen = environment("TOAST_LISTEN", "127.0.0.1:8080"),
                                     .health_listen = getenv("TOAST_HEALTH_LISTEN"),
                                     .require_keys = strcmp(environment("TOAST_REQUIRE_KEYS", ""), "1") == 0};
    bool good =
        take_limits(&options.access.limits) && take_streams(&options, *streams ? streams : EVENT_STREAMS);
    for (int c; (c = getopt_long(argc, argv, "h", names, NULL)) != -1;) {
        if (c == 'h') {
            help(stdout);
            return 0;
        }
        good &= take_option(&options, c, optarg);
    }
    if (optind < argc || !good) {
        help(stderr);
        return 2;
    }
    char *token;
    struct error e;
    if (secret_read("TOAST_WORKER_TOKEN", &token, &e) != ERROR_OK) {
        fprintf(stderr, "toast-server: %s\n", e.message);
        return error_code_exit_status(e.code);
    }
    options.access.worker_token = token;
    int status = server_run(&options);
    free(token);
    return status;
}
