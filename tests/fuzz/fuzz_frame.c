/* What a worker's child may say to its supervisor: frames. */
/* links: workers */
#include "fuzz.h"

#include "workers/frame.h"

#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    int pair[2];
    struct frame frame;
    struct error e = {0};
    if (size > 60000) /* what a socket takes without a reader */
        return 0;
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
    FUZZ_CHECK(send(pair[0], data, size, 0) == (ssize_t)size);
    close(pair[0]);
    enum error_code code;
    while ((code = frame_read(pair[1], &frame, &e)) == ERROR_OK) {
        for (size_t i = 0; i < frame.fields.count; i++)
            FUZZ_CHECK(queue_field(&frame.fields, frame.fields.at[i].name));
        frame_release(&frame);
    }
    FUZZ_CHECK(e.message[0]);
    close(pair[1]);
    return 0;
}
