/* tries: 60 */
/* The whole reader: text through the sandboxed child, the image it writes checked, prepared, analysed,
 * printed, and the printed text read again. The child must never die of anything but its limits. */
#include "reader.h"

#include "analysis/nda.h"
#include "ir/prepare.h"
#include "ir/print.h"

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_reader();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct ir_read_limits limits = {.memory_bytes = (size_t)1 << 30, .cpu_seconds = 5};
    struct ir_program program, again, prepared;
    struct nda *nda;
    struct error e = {0};
    enum error_code code = ir_read((const char *)data, size, &limits, &program, &e);
    fuzz_check_error(code, &e, data, size);
    if (code != ERROR_OK) {
        if (code == ERROR_INTERNAL)
            fprintf(stderr, "%s\n%.*s\n", e.message, (int)size, (const char *)data);
        FUZZ_CHECK(code != ERROR_INTERNAL);
        return 0;
    }
    struct text printed = {0};
    ir_print(&program, &printed);
    code = ir_read(printed.at, printed.size, &limits, &again, &e);
    if (code != ERROR_OK)
        fprintf(stderr, "%d:%d: %s\n%s\n", e.line, e.column, e.message, printed.at);
    FUZZ_CHECK(code == ERROR_OK && again.op_count == program.op_count &&
               again.value_count == program.value_count);
    ir_program_release(&again);
    text_release(&printed);
    if (ir_prepare(&program, &prepared, &e) == ERROR_OK) {
        if (nda_create(&prepared, NULL, &nda, &e) == ERROR_OK)
            nda_destroy(nda);
        ir_program_release(&prepared);
    }
    ir_program_release(&program);
    return 0;
}
