/* The store as a slot lends it to its child, which may open nothing itself. The child sees the blobs of its
 * task and no others, whatever it has become by reading a stranger's module; the module's text is read here,
 * by a reader in a sandbox of its own. See internal.h and store/lent.h. */
#include "workers/internal.h"

#include "http/client.h"
#include "ir/read.h"
#include "store/lent.h"

#include <string.h>

bool lend_late(const struct lend *lend)
{
    const struct supervisor *supervisor = lend->slot->supervisor;
    int limit_s = supervisor->options->task_limit_s;
    return limit_s && supervisor->hands->now_ms(supervisor) - lend->began_ms > limit_s * 1000LL;
}

/* fields module, request, b:<name> and a:<name>, whose values begin with a digest, and parts that are one */
static bool lent(void *user, const char *digest)
{
    const struct lend *lend = user;
    const struct queue_fields *job = &lend->task->job;
    const size_t size = STORE_DIGEST_SIZE - 1;
    for (size_t i = 0; i < job->count; i++) {
        const char *name = job->at[i].name;
        bool blob = strcmp(name, "module") == 0 || strcmp(name, "request") == 0 ||
                    strncmp(name, "b:", 2) == 0 || strncmp(name, "a:", 2) == 0;
        if (blob && job->at[i].size >= size && memcmp(job->at[i].value, digest, size) == 0)
            return true;
    }
    for (size_t i = 0; i < lend->parts.count; i++) {
        const struct queue_field *part = &lend->parts.at[i];
        if (part->size == size + 1 && part->value[0] == 'b' && memcmp(part->value + 1, digest, size) == 0)
            return true;
    }
    return false;
}

/* nobody waits for what is being read */
static bool give_up(void *user)
{
    const struct lend *lend = user;
    return worker_must_leave(lend->slot->supervisor) || slot_lost(lend->slot) || lend_late(lend);
}

/* A reader is allowed what a child is, where that is less than what its text asks for: they do not work at
 * the same time. */
static enum error_code read_text(void *user, const char *digest, const void *text, size_t size, int *image,
                                 struct error *e)
{
    struct lend *lend = user;
    size_t asked = (size_t)IR_READ_MEMORY_BYTES + IR_READ_MEMORY_FACTOR * size;
    size_t most = (size_t)lend->slot->supervisor->options->memory_bytes;
    if (most && most < IR_READ_MEMORY_BYTES)
        most = IR_READ_MEMORY_BYTES;
    struct ir_read_limits limits = {
        .memory_bytes = most && most < asked ? most : asked, .cancelled = give_up, .user = lend};
    if (strcmp(digest, queue_field(&lend->task->job, "module")) != 0)
        return error_set(e, ERROR_INTERNAL, "what is to be read is not the job's module");
    return ir_read_file(text, size, &limits, image, e);
}

enum error_code lend_answer(struct lend *lend, struct error *e)
{
    struct store_lender lender = {.store = lend->slot->store, .lent = lent, .read = read_text, .user = lend};
    http_client_trace(queue_field(&lend->task->job, "trace"));
    enum error_code code = store_lend_answer(&lender, lend->slot->child.blobs, e);
    http_client_trace(NULL); /* it was borrowed from the task */
    return code;
}
