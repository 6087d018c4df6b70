/* Which program image (a blob) belongs to a tenant's module, as one build read it:
 * {t}:img:<tenant>:<module>:<build>, forgotten after a week without use. Only a hint: the blob may be
 * gone. Of one tenant each, so that how long a price takes tells nobody what others have sent. Errors as
 * in queue.h. */
#ifndef TOAST_QUEUE_IMAGES_H
#define TOAST_QUEUE_IMAGES_H

#include "queue/queue.h"

/* image: 64 hex digits, or "" */
enum error_code queue_image_find(struct queue *queue, const char *tenant, const char *module,
                                 const char *build, char image[65], struct error *e) BASE_CHECKED;
enum error_code queue_image_keep(struct queue *queue, const char *tenant, const char *module,
                                 const char *build, const char *image, struct error *e) BASE_CHECKED;

#endif
