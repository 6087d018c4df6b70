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
    char *p = mem_alloc(size + 1);
    memcpy(p, text, size);
    p[size] = 0;
    return p;
}

char *mem_strdup(const char *text)
{
    return mem_strndup(text, strlen(text));
}

char *mem_printf(const char *format, ...)
{
    struct text t = {0};
    va_list args;
    va_start(args, format);
    text_vprintf(&t, format, args);
    va_end(args);
    return t.at ? t.at : mem_strdup("");
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
    struct arena *a = mem_zalloc(1, sizeof *a);
    a->next_size = 64 << 10;
    return a;
}

void arena_destroy(struct arena *a)
{
    if (!a)
        return;
    for (struct arena_block *b = a->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    free(a);
}

static struct arena_block *block_new(size_t size)
{
    struct arena_block *b = mem_alloc(sizeof *b + size);
    b->size = size;
    b->used = 0;
    b->next = NULL;
    return b;
}

void *arena_alloc(struct arena *a, size_t bytes)
{
#ifdef __SANITIZE_ADDRESS__
    struct arena_block *own = block_new(bytes ? bytes : 1);
    own->next = a->blocks;
    a->blocks = own;
    memset(own->bytes, 0, bytes);
    return own->bytes;
#else
    bytes = (bytes + 15) & ~(size_t)15;
    struct arena_block *b = a->blocks;
    if (!b || b->size - b->used < bytes) {
        if (bytes > a->next_size / 4) { /* its own block, behind the one still being filled */
            struct arena_block *own = block_new(bytes);
            own->used = bytes;
            if (b) {
                own->next = b->next;
                b->next = own;
            } else {
                a->blocks = own;
            }
            memset(own->bytes, 0, bytes);
            return own->bytes;
        }
        b = block_new(a->next_size);
        if (a->next_size < (4 << 20))
            a->next_size *= 2;
        b->next = a->blocks;
        a->blocks = b;
    }
    void *p = b->bytes + b->used;
    b->used += bytes;
    memset(p, 0, bytes);
    return p;
#endif
}

char *arena_strndup(struct arena *a, const char *text, size_t size)
{
    char *p = arena_alloc(a, size + 1);
    memcpy(p, text, size);
    return p;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
    struct text t = {0};
    va_list args;
    va_start(args, format);
    text_vprintf(&t, format, args);
    va_end(args);
    char *p = arena_strndup(a, t.at ? t.at : "", t.size);
    text_release(&t);
    return p;
}

static void text_room(struct text *t, size_t more)
{
    if (t->size + more + 1 <= t->room)
        return;
    size_t room = t->room ? t->room * 2 : 256;
    while (room < t->size + more + 1)
        room *= 2;
    t->at = mem_realloc(t->at, room, 1);
    t->room = room;
}

void text_add_n(struct text *t, const char *s, size_t size)
{
    text_room(t, size);
    memcpy(t->at + t->size, s, size);
    t->size += size;
    t->at[t->size] = 0;
}

void text_add(struct text *t, const char *s)
{
    text_add_n(t, s, strlen(s));
}

void text_add_char(struct text *t, char c)
{
    text_add_n(t, &c, 1);
}

void text_vprintf(struct text *t, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    /* never NULL; the test keeps gcc from warning of it in builds with sanitizers */
    int n = format ? vsnprintf(NULL, 0, format, args) : 0;
    if (n > 0) {
        text_room(t, (size_t)n);
        vsnprintf(t->at + t->size, (size_t)n + 1, format, again);
        t->size += (size_t)n;
    } else {
        text_room(t, 0);
        t->at[t->size] = 0;
    }
    va_end(again);
}

void text_printf(struct text *t, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    text_vprintf(t, format, args);
    va_end(args);
}

void text_release(struct text *t)
{
    free(t->at);
    t->at = NULL;
    t->size = t->room = 0;
}
