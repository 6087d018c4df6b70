/* Sends what the outbox has (queue/library_webhooks.lua), signed as Standard Webhooks has it: HMAC-SHA256
 * over "id.timestamp.body" with the operator's secret. A body names job, state and where to look, nothing
 * else; any 2xx answer within 15 s is taken, 410 and refused addresses end it, all else is tried again.
 * Redirects are not followed, the address that is really dialled is checked, and what comes back is read
 * no further than 64 KiB and thrown away. */
#include "server/resources/webhook.h"

#include "server/resources/resources.h"

#include "base/encode.h"
#include "base/hash.h"
#include "base/log.h"
#include "http/address.h"
#include "http/client.h"
#include "queue/webhooks.h"

#include <time.h>

enum { EVERY_MS = 500, TIMEOUT_S = 15, REPLY_MOST = 64 << 10 };

static bool host_allowed(const struct webhook_options *options, const struct http_address *address)
{
    char with_port[300];
    int usual = strcmp(address->scheme, "https") == 0 ? 443 : 80;
    snprintf(with_port, sizeof with_port, "%s:%d", address->host, address->port);
    for (size_t i = 0; i < options->host_count; i++)
        if (strcmp(options->hosts[i], with_port) == 0 ||
            (address->port == usual && strcmp(options->hosts[i], address->host) == 0))
            return true;
    return false;
}

enum error_code webhook_check(const struct webhook_options *options, const char *url, struct error *e)
{
    struct http_address address;
    struct error why;
    if (!options->host_count || !options->secret)
        return error_set_pointer(
            e, ERROR_NOT_AVAILABLE, "/webhook",
            "the operator of this service allows no webhooks (toast-server --webhook-host, "
            "TOAST_WEBHOOK_SECRET)");
    if (http_address_parse(url, &address, &why) != ERROR_OK)
        return error_set_pointer(e, ERROR_INVALID_REQUEST, "/webhook", "%s", why.message);
    if (strcmp(address.scheme, "https") != 0 && !options->private_networks)
        return error_set_pointer(e, ERROR_INVALID_REQUEST, "/webhook", "only https:// is called here");
    if (!host_allowed(options, &address))
        return error_set_pointer(e, ERROR_INVALID_REQUEST, "/webhook",
                                 "the operator does not allow webhooks to this host");
    return ERROR_OK;
}

/* ---- one message ---- */

struct message {
    char id[64], timestamp[24], signature[64];
    struct text body;
};

static void make_body(const char *id, const struct queue_fields *fields, struct text *out)
{
    const char *name = queue_field(fields, "name");
    name = name[0] ? name : id;
    text_add(out, "{\"type\":\"job.ended\",\"data\":{\"job\":");
    log_json_string(out, name, strlen(name));
    text_printf(out, ",\"state\":\"%s\",\"ended_ms\":%lld,\"href\":", queue_field(fields, "state"),
                queue_number(fields, "ended"));
    char *href = mem_printf("/v1/jobs/%s", name);
    log_json_string(out, href, strlen(href));
    free(href);
    text_add(out, "}}");
}

static void make_message(const char *secret, const char *id, const struct queue_fields *fields,
                         struct message *out)
{
    uint8_t seal[32];
    char code[48];
    *out = (struct message){0};
    make_body(id, fields, &out->body);
    /* the same for every try, another one for another end of the job */
    snprintf(out->id, sizeof out->id, "msg_%s_%lld", id, queue_number(fields, "ended"));
    snprintf(out->timestamp, sizeof out->timestamp, "%lld", (long long)time(NULL));
    char *signed_text = mem_printf("%s.%s.%s", out->id, out->timestamp, out->body.at);
    sha256_hmac(secret, strlen(secret), signed_text, strlen(signed_text), seal);
    encode_base64(seal, sizeof seal, code);
    snprintf(out->signature, sizeof out->signature, "v1,%s", code);
    free(signed_text);
}

static const char *outcome_of(int status)
{
    if (status >= 200 && status < 300)
        return "sent";
    return status == 410 ? "refused" : "again";
}

static const char *deliver(const struct webhook_options *options, const char *id,
                           const struct queue_fields *fields, char *said, size_t room)
{
    struct message message;
    struct error e = {0};
    struct http_reply reply = {0};
    /* the list may have changed since the job was taken */
    if (webhook_check(options, queue_field(fields, "url"), &e) != ERROR_OK) {
        snprintf(said, room, "%.200s", e.message);
        return "refused";
    }
    make_message(options->secret, id, fields, &message);
    const struct http_header headers[] = {{"webhook-id", message.id},
                                          {"webhook-timestamp", message.timestamp},
                                          {"webhook-signature", message.signature},
                                          {NULL, NULL}};
    struct http_request request = {.method = "POST",
                                   .url = queue_field(fields, "url"),
                                   .content_type = "application/json",
                                   .body = message.body.at,
                                   .body_size = message.body.size,
                                   .headers = headers,
                                   .public_only = !options->private_networks,
                                   .max_reply_bytes = REPLY_MOST,
                                   .timeout_s = TIMEOUT_S};
    enum error_code code = http_exchange(&request, &reply, &e);
    text_release(&message.body);
    if (code == ERROR_OK)
        snprintf(said, room, "%d", reply.status);
    else
        snprintf(said, room, "%.200s", e.message);
    const char *outcome = code == ERROR_OK          ? outcome_of(reply.status)
                          : code == ERROR_FORBIDDEN ? "refused"
                                                    : "again";
    http_reply_release(&reply);
    return outcome;
}

/* false: nothing was due, or Redis is away */
static bool send_next(struct server *server, struct queue *queue)
{
    char id[QUEUE_ID_SIZE], said[256] = "", became[16] = "";
    struct queue_fields fields;
    struct error e;
    bool found = false;
    if (queue_webhook_due(queue, id, &fields, &found, &e) != ERROR_OK || !found)
        return false;
    const char *outcome = deliver(&server->resources->options->webhooks, id, &fields, said, sizeof said);
    enum error_code code = queue_webhook_done(queue, id, outcome, became, &e);
    log_event("webhook", "job", id, "became", code == ERROR_OK ? became : "unknown", "answer", said, NULL);
    queue_fields_release(&fields);
    return code == ERROR_OK;
}

void *webhook_run(void *user)
{
    struct server *server = user;
    const struct webhook_options *options = &server->resources->options->webhooks;
    if (!options->host_count || !options->secret)
        return NULL;
    struct queue *queue = pool_take(server);
    while (!atomic_load(&server->stopped))
        if (!send_next(server, queue))
            serve_pause(server, EVERY_MS);
    pool_give(server, queue);
    return NULL;
}
