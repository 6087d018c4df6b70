/* toast-read: StableHLO text in descriptor 3 -> program image in descriptor 4 (ir/reader_protocol.h).
 *
 *     map the text -> enter the sandbox -> rewrite -> MLIR -> walk -> write the image, or a refusal
 *                                          rewrite.h  walk.h         exit 0      exit READER_REFUSED
 *
 * The process reads one text and ends; nothing is freed. After the sandbox is entered it opens nothing and
 * starts nothing. By hand: `toast-read --help`. */
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
    struct scan *scan = mem_zalloc(1, sizeof *scan);
    scan->text = text;
    scan->size = (uint32_t)size;
    scan->error = e;
    scan->tracing = tracing;
    VEC_RESERVE(&scan->ops, size / 64 + 16);
    return scan;
}

/* NULL with *e filled when the text is refused */
static struct ir_builder *read_text(const char *text, size_t size, bool tracing, struct error *e)
{
    struct scan *scan = scan_new(text, size, e, tracing);
    if (setjmp(scan->escape))
        return NULL;
    rewrite_text(scan);
    return walk_text(scan);
}

static int refuse(const struct error *e)
{
    struct reader_refusal reader_refusal = {.magic = READER_REFUSAL_MAGIC, .code = (int32_t)e->code};
    reader_refusal.line = e->line;
    reader_refusal.column = e->column;
    memcpy(reader_refusal.message, e->message, sizeof reader_refusal.message);
    return pwrite(READER_ANSWER_FD, &reader_refusal, sizeof reader_refusal, 0) ==
                   (ssize_t)sizeof reader_refusal
               ? READER_REFUSED
               : 1;
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
            return READER_HOST;
    }
    /* once before the sandbox: the first use of these libraries opens files and counts processors */
    sha256_bytes("", 0, digest);
    walk_start();
    if (sandbox_enter(memory, (unsigned)strtoul(argv[3], NULL, 10)) != 0)
        return READER_HOST;
    struct ir_builder *builder = read_text(text, size, false, &e);
    /* refused: once more with tracing on, which maps places in the written text to line and column */
    if (!builder)
        builder = read_text(text, size, true, &e);
    if (!builder)
        _exit(refuse(&e));
    sha256_bytes(text, size, digest);
    _exit(ir_builder_write(builder, digest, READER_ANSWER_FD) == 0 ? 0 : READER_HOST);
}
