/* toast fsck: do the service's invariants (queue/audit.h) hold, in Redis and in the store? Every blob
 * that a job names is read and its digest compared. Nothing is repaired. */
#include "base/file.h"
#include "base/memory.h"
#include "base/secret.h"
#include "cli/fsck_archive.h"
#include "cli/output.h"
#include "cli/service_address.h"
#include "queue/audit.h"
#include "queue/queue.h"
#include "store/store.h"

#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXPECT_MAX_BYTES = 64 << 20 }; /* of a file with the ids that have to be there */
enum { SHOWN = 100 };                 /* violations printed one by one; all are counted */

static const char usage[] =
    "usage: toast fsck [--data DIR | --redis ADDRESS --store ADDRESS] [--expect FILE] [--json]\n\n"
    "Checks the service's seven invariants: no job is lost or stuck, each ended once, fences, blobs, "
    "versions,\n"
    "expiry, counters; of jobs in Redis and of archived ones. It may run while the service works, and\n"
    "changes nothing but that a damaged blob is moved "
    "aside.\n\n" SERVICE_ADDRESS_DATA_HELP SERVICE_ADDRESS_REDIS_HELP
    "  --store   ADDRESS  dir:PATH or http://HOST:PORT (TOAST_STORE, dir:toast-data)\n"
    "  --expect  FILE     of job ids, one a line, that were acknowledged and must exist; those that clients "
    "chose (PUT) as\n"
    "                     TENANT/ID, or ID where the tenant is default\n"
    "  --json             the result as JSON\n\n"
    "Exit status: 0 all hold, 1 some do not, 5 Redis or the store cannot be reached.\n\n"
    "examples:\n"
    "  toast fsck --data /var/lib/toast\n"
    "  toast fsck --redis redis://10.0.0.5:6379 --store dir:/var/lib/toast\n";

struct fsck {
    struct service_address where;
    VEC(const char *) expected; /* owned */
    bool json;
};

/* the id in Redis of a job as its client knows it; c_ and 26 digits stand in logs. -> owned */
static char *known_as(char *line)
{
    char named[QUEUE_ID_SIZE], *slash = strchr(line, '/');
    if (!slash &&
        (strncmp(line, "j_", 2) == 0 || (strncmp(line, "c_", 2) == 0 && strlen(line) == QUEUE_ID_SIZE - 1)))
        return mem_printf("%s", line);
    if (slash)
        *slash = 0;
    queue_named_id(slash ? line : "default", slash ? slash + 1 : line, named);
    return mem_printf("%s", named);
}

static enum error_code take_expected(struct fsck *fsck, const char *path, struct error *e)
{
    char *text;
    size_t size;
    enum error_code code = file_read(path, EXPECT_MAX_BYTES, &text, &size, e);
    if (code != ERROR_OK)
        return code;
    for (char *save = NULL, *line = strtok_r(text, "\r\n", &save); line; line = strtok_r(NULL, "\r\n", &save))
        VEC_PUSH(&fsck->expected, known_as(line));
    free(text);
    return ERROR_OK;
}

static int by_digest(const void *left, const void *right)
{
    const struct queue_audit_blob *one = left, *other = right;
    int order = strcmp(one->digest, other->digest);
    return order ? order : (one->size > other->size) - (one->size < other->size);
}

/* each blob is read once, however many jobs name it */
static enum error_code check_blobs(struct store *store, struct queue_audit *audit, struct error *e)
{
    enum error_code code = ERROR_OK;
    if (audit->blobs.count)
        qsort(audit->blobs.at, audit->blobs.count, sizeof *audit->blobs.at, by_digest);
    struct error why = {0};
    enum error_code last = ERROR_OK;
    long long size = -1;
    for (size_t i = 0; i < audit->blobs.count; i++) {
        const struct queue_audit_blob *audit_blob = &audit->blobs.at[i];
        if (i == 0 || strcmp(audit->blobs.at[i - 1].digest, audit_blob->digest) != 0) {
            struct store_view view = {0};
            last = store_get(store, audit_blob->digest, &view, &why);
            size = (long long)view.size;
            store_view_release(&view);
        }
        if (last == ERROR_UNAVAILABLE) {
            *e = why;
            code = last;
            break;
        }
        char *text = last != ERROR_OK ? mem_printf("%s: %s", audit_blob->name, why.message)
                     : audit_blob->size >= 0 && audit_blob->size != size
                         ? mem_printf("%s: %lld bytes are stated, the blob has %lld", audit_blob->name,
                                      audit_blob->size, size)
                         : NULL;
        if (text)
            queue_audit_add(audit, 4, audit_blob->job, text);
        free(text);
    }
    return code;
}

static enum error_code check_store(struct fsck *fsck, struct queue_audit *audit, struct error *e)
{
    struct store *store;
    char *token;
    TRY(secret_read("TOAST_WORKER_TOKEN", &token, e));
    struct store_options options = {.token = token};
    char *where = service_address_store(&fsck->where);
    enum error_code code = store_create(where, &options, &store, e);
    free(where);
    free(token);
    if (code != ERROR_OK)
        return code;
    code = fsck_archived(store, audit, e);
    if (code == ERROR_OK)
        code = check_blobs(store, audit, e);
    store_destroy(store);
    return code;
}

static size_t violated(const struct queue_audit *audit, int invariant)
{
    size_t n = 0;
    for (size_t i = 0; i < audit->violations.count; i++)
        n += audit->violations.at[i].invariant == invariant;
    return n;
}

static void print_table(const struct fsck *fsck, const struct queue_audit *audit)
{
    printf("%zu jobs in Redis, %zu archived or forgotten, %zu keys of theirs, %zu blobs named, %zu jobs "
           "expected\n\n",
           audit->jobs, audit->archived.count, audit->keys, audit->blobs.count, fsck->expected.count);
    printf("invariant                                                                   violations\n");
    for (int i = 1; i <= QUEUE_INVARIANTS; i++)
        printf("%d %-73s %10zu\n", i, queue_invariant_text(i), violated(audit, i));
    if (audit->violations.count)
        putchar('\n');
    for (size_t i = 0; i < audit->violations.count && i < SHOWN; i++)
        printf("%d %s %s\n", audit->violations.at[i].invariant, audit->violations.at[i].subject,
               audit->violations.at[i].text);
    if (audit->violations.count > SHOWN)
        printf("and %zu more (--json shows all)\n", audit->violations.count - SHOWN);
}

static void print_json(const struct fsck *fsck, const struct queue_audit *audit)
{
    json_t *invariants = json_array(), *list = json_array();
    for (int i = 1; i <= QUEUE_INVARIANTS; i++)
        json_array_append_new(invariants,
                              json_pack("{s:i, s:s, s:I}", "invariant", i, "text", queue_invariant_text(i),
                                        "violations", (json_int_t)violated(audit, i)));
    for (size_t i = 0; i < audit->violations.count; i++) {
        const struct queue_violation *violation = &audit->violations.at[i];
        json_array_append_new(list, json_pack("{s:i, s:s, s:s}", "invariant", violation->invariant, "subject",
                                              violation->subject, "text", violation->text));
    }
    json_t *all =
        json_pack("{s:b, s:I, s:I, s:I, s:I, s:I, s:o, s:o}", "holds", audit->violations.count == 0, "jobs",
                  (json_int_t)audit->jobs, "archived", (json_int_t)audit->archived.count, "keys",
                  (json_int_t)audit->keys, "blobs", (json_int_t)audit->blobs.count, "expected",
                  (json_int_t)fsck->expected.count, "invariants", invariants, "violations", list);
    json_dumpf(all, stdout, JSON_INDENT(2));
    putchar('\n');
    json_decref(all);
}

/* -1: go on, else the exit status */
static int take_options(struct fsck *fsck, int argc, char **argv)
{
    static const struct option options[] = {
        {"redis", 1, NULL, 'r'}, {"store", 1, NULL, 's'}, {"data", 1, NULL, 'd'}, {"expect", 1, NULL, 'e'},
        {"json", 0, NULL, 'j'},  {"help", 0, NULL, 'h'},  {NULL, 0, NULL, 0}};
    struct error e = {0};
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;)
        if (c == 'h') {
            fputs(usage, stdout);
            return 0;
        } else if (c == 'r') {
            fsck->where.redis = optarg;
        } else if (c == 's') {
            fsck->where.store = optarg;
        } else if (c == 'd') {
            fsck->where.data = optarg;
        } else if (c == 'j') {
            fsck->json = true;
        } else if (c != 'e') {
            return cli_usage("fsck", "unknown option");
        } else if (take_expected(fsck, optarg, &e) != ERROR_OK) {
            return cli_fail("fsck", optarg, &e);
        }
    return optind < argc ? cli_usage("fsck", "it takes no arguments")
                         : service_address_check(&fsck->where, "fsck");
}

int cmd_fsck(int argc, char **argv)
{
    struct fsck fsck = {0};
    struct queue_audit audit = {0};
    struct queue *queue = NULL;
    struct error e = {0};
    int status = take_options(&fsck, argc, argv);
    if (status < 0) {
        char *where = service_address_redis(&fsck.where);
        enum error_code code = queue_create(where, &queue, &e);
        free(where);
        if (code == ERROR_OK)
            code = queue_audit_run(queue, fsck.expected.at, fsck.expected.count, &audit, &e);
        if (code == ERROR_OK)
            code = check_store(&fsck, &audit, &e);
        if (code != ERROR_OK)
            status = cli_fail("fsck", NULL, &e);
        else
            (fsck.json ? print_json : print_table)(&fsck, &audit);
        if (code == ERROR_OK)
            status = audit.violations.count ? 1 : 0;
    }
    queue_audit_release(&audit);
    queue_destroy(queue);
    for (size_t i = 0; i < fsck.expected.count; i++)
        free((char *)fsck.expected.at[i]);
    VEC_FREE(&fsck.expected);
    return status;
}
