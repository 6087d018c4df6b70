/* toast-read: StableHLO text in descriptor 3 -> program image in descriptor 4, sandboxed (see protocol.h).
 * By hand: `toast-read --help`. */
#include "base/hash.h"
#include "ir/reader/rewrite.h"
#include "ir/reader/sandbox.h"
#include "ir/reader/walk.h"
#include "ir/reader_protocol.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct scan *scan_new(const char *text, size_t size, struct error *e, bool tracing)
{
    struct scan *s = mem_zalloc(1, sizeof *s);
    s->text = text;
    s->size = (uint32_t)size;
    s->error = e;
    s->tracing = tracing;
    VEC_RESERVE(&s->ops, size / 64 + 16);
    return s;
}

/* NULL with *e filled when the text is refused */
static struct ir_builder *read_text(const char *text, size_t size, bool tracing, struct error *e)
{
    struct scan *s = scan_new(text, size, e, tracing);
    if (setjmp(s->escape))
        return NULL;
    rewrite_text(s);
    return walk_text(s);
}

static int refuse(const struct error *e)
{
    struct reader_refusal r = {.magic = READER_REFUSAL_MAGIC, .code = (int32_t)e->code};
    r.line = e->line;
    r.column = e->column;
    memcpy(r.message, e->message, sizeof r.message);
    return pwrite(READER_ANSWER_FD, &r, sizeof r, 0) == (ssize_t)sizeof r ? READER_REFUSED : 1;
}

int main(int argc, char **argv)
{
    if (argc != 4) {
        fprintf(
            stderr,
            "toast-read is started by toast, toast-server and toast-worker to read modules in a sandbox;\n"
            "use `toast read FILE` instead.\n");
        return 2;
    }
    size_t size = strtoull(argv[1], NULL, 10), memory = strtoull(argv[2], NULL, 10);
    struct error e = {.code = ERROR_INTERNAL};
    uint8_t digest[32];
    const char *text = "";
    if (size >= UINT32_MAX)
        return 2;
    if (size) {
        text = mmap(NULL, size, PROT_READ, MAP_SHARED, READER_TEXT_FD, 0);
        if (text == MAP_FAILED)
            return 1;
    }
    /* the libraries' first use opens files and asks for the number of processors: before the door closes */
    sha256_bytes("", 0, digest);
    walk_start();
    if (sandbox_enter(memory, (unsigned)strtoul(argv[3], NULL, 10)) != 0)
        return 1;
    struct ir_builder *b = read_text(text, size, false, &e);
    if (!b) /* once more, remembering where everything comes from, for the message's line and column */
        b = read_text(text, size, true, &e);
    if (!b)
        _exit(refuse(&e));
    sha256_bytes(text, size, digest);
    _exit(ir_builder_write(b, digest, READER_ANSWER_FD) == 0 ? 0 : 1);
}
