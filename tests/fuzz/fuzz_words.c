/* Small texts that come from outside: meshes of the command line, hashes, digests, ids, addresses, error
 * codes. */
/* links: queue store */
#include "fuzz.h"

#include "analysis/plan.h"
#include "base/encode.h"
#include "queue/events.h"
#include "queue/keys.h"
#include "queue/queue.h"
#include "queue/sessions.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_strndup((const char *)data, size), formatted[33];
    struct mesh mesh;
    struct hash128 hash;
    struct error e = {0};
    unsigned char raw[32];
    struct queue_event_id event, again;
    char event_id[QUEUE_EVENT_ID_SIZE], key_id[QUEUE_KEY_ID_SIZE];
    enum error_code code = mesh_parse(text, &mesh, &e);
    FUZZ_CHECK(code == ERROR_OK || (e.code == code && e.message[0]));
    for (uint32_t i = 0; code == ERROR_OK && i < mesh.axis_count; i++)
        FUZZ_CHECK(mesh.axes[i].size >= 1 && mesh_axis_find(&mesh, mesh.axes[i].name) == (int)i);
    if (hash128_parse(text, &hash) == 0) {
        hash128_format(hash, formatted);
        FUZZ_CHECK(strcmp(formatted, text) == 0);
    }
    if (store_digest_valid(text))
        FUZZ_CHECK(strlen(text) == 64 && encode_from_hex(text, raw, sizeof raw));
    if (queue_id_valid(text))
        FUZZ_CHECK(strlen(text) == QUEUE_ID_SIZE - 1 && !strpbrk(text, "/.: \n"));
    if (queue_event_id_parse(text, &event)) {
        queue_event_id_format(event, event_id);
        FUZZ_CHECK(queue_event_id_parse(event_id, &again) && queue_event_id_compare(event, again) == 0);
    }
    if (queue_session_valid(text))
        FUZZ_CHECK(strlen(text) == QUEUE_SESSION_SIZE - 1 && !strpbrk(text, "/.: \n"));
    if (queue_key_id(text, key_id))
        FUZZ_CHECK(strlen(key_id) == QUEUE_KEY_ID_SIZE - 1 && !strpbrk(key_id, "/.: \n"));
    if (queue_tenant_valid(text))
        FUZZ_CHECK(text[0] && strlen(text) < 64 && !strpbrk(text, "/{}: \n\"<"));
    (void)error_code_from_text(text);
    free(text);
    return 0;
}
