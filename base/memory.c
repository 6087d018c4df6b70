/* Allocation that never fails (memory.h): exhaustion ends the process, through a handler that a worker may
 * set. Sizes that overflow count as exhaustion. */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void (*exhausted)(size_t bytes);

void mem_on_exhaustion(void (*handler)(size_t bytes))
{
    exhausted = handler;
}

static void *out_of_memory(size_t bytes)
{
    if (exhausted)
        exhausted(bytes);
    fprintf(stderr, "out of memory: %zu bytes could not be allocated\n", bytes);
    abort();
}

void *mem_alloc(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    return p ? p : out_of_memory(bytes);
}

void *mem_zalloc(size_t count, size_t bytes)
{
    void *p = calloc(count ? count : 1, bytes ? bytes : 1);
    return p ? p : out_of_memory(count * bytes);
}

void *mem_realloc(void *old, size_t count, size_t bytes)
{
    size_t total;
    if (__builtin_mul_overflow(count, bytes, &total))
        out_of_memory(SIZE_MAX);
    void *p = realloc(old, total ? total : 1);
    return p ? p : out_of_memory(total);
}

char *mem_strndup(const char *text, size_t size)
{
    char *at = mem_alloc(size + 1);
    memcpy(at, text, size);
    at[size] = 0;
    return at;
}

char *mem_strdup(const char *text)
{
    return mem_strndup(text, strlen(text));
}

char *mem_printf(const char *format, ...)
{
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    return text.at ? text.at : mem_strdup("");
}

/* Blocks double from 64 KiB to 4 MiB, so that a small job takes little and a large one asks seldom; a request
 * above a quarter of a block gets a block of its own, so that at most a quarter is left unused. In debug
 * builds every allocation is its own malloc, so that sanitizers see overruns. */
struct arena_block {
    struct arena_block *next;
    size_t used, size;
    _Alignas(16) unsigned char bytes[];
};

struct arena {
    struct arena_block *blocks;
    size_t next_size;
};

struct arena *arena_create(void)
{
    struct arena *arena = mem_zalloc(1, sizeof *arena);
    arena->next_size = 64 << 10;
    return arena;
}

void arena_destroy(struct arena *arena)
{
    if (!arena)
        return;
    for (struct arena_block *arena_block = arena->blocks, *next; arena_block; arena_block = next) {
        next = arena_block->next;
        free(arena_block);
    }
    free(arena);
}

static struct arena_block *block_new(size_t size)
{
    struct arena_block *arena_block = mem_alloc(sizeof *arena_block + size);
    arena_block->size = size;
    arena_block->used = 0;
    arena_block->next = NULL;
    return arena_block;
}

void *arena_alloc(struct arena *arena, size_t bytes)
{
#ifdef __SANITIZE_ADDRESS__
    struct arena_block *own = block_new(bytes ? bytes : 1);
    own->next = arena->blocks;
    arena->blocks = own;
    memset(own->bytes, 0, bytes);
    return own->bytes;
#else
    bytes = (bytes + 15) & ~(size_t)15;
    struct arena_block *arena_block = arena->blocks;
    if (!arena_block || arena_block->size - arena_block->used < bytes) {
        if (bytes > arena->next_size / 4) { /* its own block, behind the one still being filled */
            struct arena_block *own = block_new(bytes);
            own->used = bytes;
            if (arena_block) {
                own->next = arena_block->next;
                arena_block->next = own;
            } else {
                arena->blocks = own;
            }
            memset(own->bytes, 0, bytes);
            return own->bytes;
        }
        arena_block = block_new(arena->next_size);
        if (arena->next_size < (4 << 20))
            arena->next_size *= 2;
        arena_block->next = arena->blocks;
        arena->blocks = arena_block;
    }
    void *p = arena_block->bytes + arena_block->used;
    arena_block->used += bytes;
    memset(p, 0, bytes);
    return p;
#endif
}

char *arena_strndup(struct arena *arena, const char *text, size_t size)
{
    char *at = arena_alloc(arena, size + 1);
    memcpy(at, text, size);
    return at;
}

char *arena_printf(struct arena *arena, const char *format, ...)
{
    struct text text = {0};
    va_list args;
    va_start(args, format);
    text_vprintf(&text, format, args);
    va_end(args);
    char *at = arena_strndup(arena, text.at ? text.at : "", text.size);
    text_release(&text);
    return at;
}

static void text_room(struct text *text, size_t more)
{
    if (text->size + more + 1 <= text->room)
        return;
    size_t room = text->room ? text->room * 2 : 256;
    while (room < text->size + more + 1)
        room *= 2;
    text->at = mem_realloc(text->at, room, 1);
    text->room = room;
}

void text_add_n(struct text *text, const char *string, size_t size)
{
    text_room(text, size);
    memcpy(text->at + text->size, string, size);
    text->size += size;
    text->at[text->size] = 0;
}

void text_add(struct text *text, const char *string)
{
    text_add_n(text, string, strlen(string));
}

void text_add_char(struct text *text, char character)
{
    text_add_n(text, &character, 1);
}

void text_vprintf(struct text *text, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    /* never NULL; the test keeps gcc from warning of it in builds with sanitizers */
    int n = format ? vsnprintf(NULL, 0, format, args) : 0;
    if (n > 0) {
        text_room(text, (size_t)n);
        vsnprintf(text->at + text->size, (size_t)n + 1, format, again);
        text->size += (size_t)n;
    } else {
        text_room(text, 0);
        text->at[text->size] = 0;
    }
    va_end(again);
}

void text_printf(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vprintf(text, format, args);
    va_end(args);
}

void text_release(struct text *text)
{
    free(text->at);
    text->at = NULL;
    text->size = text->room = 0;
}
