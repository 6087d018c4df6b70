/* From a path's segment to a job: ids and names that clients chose, archived jobs included. A job of
 * another tenant is never found: the answer is the same as for one that does not exist. */
#include "server/resources/archive.h"
#include "server/resources/resources.h"

#include <ctype.h>

bool job_name_valid(const char *name)
{
    size_t n = strlen(name);
    return n >= 1 && n <= JOB_NAME_MAX && isalnum((unsigned char)name[0]) && strncmp(name, "j_", 2) != 0 &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == n;
}

bool job_resolve(const struct exchange *exchange, const char *name, char id[QUEUE_ID_SIZE])
{
    if (queue_id_valid(name))
        snprintf(id, QUEUE_ID_SIZE, "%s", name);
    else if (job_name_valid(name))
        queue_named_id(exchange->tenant, name, id);
    else
        return false;
    return true;
}

enum error_code job_load(struct exchange *exchange, const char *name, char id[QUEUE_ID_SIZE],
                         struct queue_fields *job, struct error *e)
{
    *job = (struct queue_fields){0};
    if (!job_resolve(exchange, name, id))
        return error_set(e, ERROR_NOT_FOUND, "there is no such job");
    struct queue *queue = pool_take(exchange->server);
    enum error_code code = queue_job(queue, id, job, e);
    pool_give(exchange->server, queue);
    if (code == ERROR_OK && strcmp(queue_field(job, "tenant"), exchange->tenant) != 0)
        code = error_set(e, ERROR_NOT_FOUND, "there is no such job");
    if (code == ERROR_OK)
        code = archive_expand(exchange->server->store, job, e);
    if (code != ERROR_OK)
        queue_fields_release(job);
    return code;
}
