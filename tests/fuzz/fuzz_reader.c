/* The reader's own front: StableHLO text -> generic text, in this process, without MLIR;
 * then the locations of what was taken, which MLIR never sees. */
#include "fuzz.h"

#include "ir/reader/rewrite.h"
#include "ir/reader/walk.h"

/* The reader's process ends after an error, so what its functions hold then is not freed. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

static void scan_free(struct scan *scan)
{
    text_release(&scan->out);
    text_release(&scan->attrs);
    text_release(&scan->aliases_text);
    VEC_FREE(&scan->traces);
    VEC_FREE(&scan->attr_traces);
    VEC_FREE(&scan->aliases);
    VEC_FREE(&scan->alias_slots);
    VEC_FREE(&scan->ops);
    VEC_FREE(&scan->args);
    VEC_FREE(&scan->hexes);
    VEC_FREE(&scan->operands);
    free(scan);
}

/* -> taken? The generic text is then s->out. */
static bool rewrite(struct scan **out, const uint8_t *text, size_t size, bool tracing, struct error *e)
{
    struct scan *volatile scan = mem_zalloc(1, sizeof *scan);
    scan->text = (const char *)text;
    scan->size = (uint32_t)size;
    scan->error = e;
    scan->tracing = tracing;
    *out = scan;
    if (setjmp(scan->escape))
        return false;
    rewrite_text(scan);
    return true;
}

/* Every location is of the builder, its parts before it. */
static void read_locations(struct scan *scan)
{
    struct ir_builder *volatile builder = ir_builder_create();
    struct text short_text = {0};
    if (!setjmp(scan->escape)) {
        location_aliases(scan, builder);
        for (size_t i = 0; i < scan->ops.count + scan->args.count; i++) {
            uint32_t loc = i < scan->ops.count ? scan->ops.at[i].loc : scan->args.at[i - scan->ops.count].loc;
            if (!loc)
                continue;
            location_resolve(scan, loc, i % 2 == 0, &short_text);
            uint32_t whole = location_whole(scan, builder, loc);
            struct ir_program view = ir_builder_view(builder);
            FUZZ_CHECK(whole < view.location_count);
            for (uint32_t k = 0; k < view.locations[whole].count; k++)
                FUZZ_CHECK(view.location_parts[view.locations[whole].first + k] < whole);
        }
    }
    text_release(&short_text);
    ir_builder_destroy(builder);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct scan *plain, *traced;
    struct error e = {0}, again = {0};
    bool taken = rewrite(&plain, data, size, false, &e), second = rewrite(&traced, data, size, true, &again);
    FUZZ_CHECK(taken == second && e.code == again.code && e.line == again.line && e.column == again.column);
    if (taken) {
        FUZZ_CHECK(plain->out.size == traced->out.size &&
                   (!plain->out.size || memcmp(plain->out.at, traced->out.at, plain->out.size) == 0));
        for (size_t at = 0; at < traced->out.size; at += 1 + at / 8)
            FUZZ_CHECK(rewrite_origin(traced, at) <= size);
        read_locations(plain);
    } else {
        FUZZ_CHECK(e.line >= 1 && e.column >= 1);
        fuzz_check_error(e.code, &e, data, size);
    }
    scan_free(plain);
    scan_free(traced);
    return 0;
}
