/* Which program image a build made of a tenant's module. A hint that may be lost at any time: without it
 * the module is read again. See images.h. */
#include "queue/images.h"

#include "queue/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEEP_S "604800"

static char *image_key(const char *tenant, const char *module, const char *build)
{
    return mem_printf("{t}:img:%s:%s:%s", tenant, module, build);
}

enum error_code queue_image_find(struct queue *queue, const char *tenant, const char *module,
                                 const char *build, char image[65], struct error *e)
{
    redisReply *reply = NULL;
    char *key = image_key(tenant, module, build);
    const char *argv[] = {"GETEX", key, "EX", KEEP_S};
    enum error_code code = call_read(queue, 4, argv, &reply, e);
    free(key);
    if (code != ERROR_OK)
        return code;
    snprintf(image, 65, "%s", reply_text(reply, 0));
    freeReplyObject(reply);
    return ERROR_OK;
}

enum error_code queue_image_keep(struct queue *queue, const char *tenant, const char *module,
                                 const char *build, const char *image, struct error *e)
{
    redisReply *reply = NULL;
    char *key = image_key(tenant, module, build);
    const char *argv[] = {"SET", key, image, "EX", KEEP_S};
    enum error_code code = call_read(queue, 5, argv, &reply, e); /* may be repeated: it is idempotent */
    free(key);
    if (code == ERROR_OK)
        freeReplyObject(reply);
    return code;
}
