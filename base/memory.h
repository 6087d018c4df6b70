/* Allocation: an arena a job, growing vectors, text buffers. Sizes are in bytes, counts in elements.
 *
 * Running out of memory is not an error that callers handle: the process ends with a message. A job's lease
 * then runs out and another worker takes it; a planner process has its own memory limit, and its supervisor
 * judges how it ended. */
#ifndef TOAST_BASE_MEMORY_H
#define TOAST_BASE_MEMORY_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

void *mem_alloc(size_t bytes);                /* uninitialised; owned by the caller; free() */
void *mem_zalloc(size_t count, size_t bytes); /* zeroed; overflow of the product ends the process */
void *mem_realloc(void *old, size_t count, size_t bytes);
/* called instead of abort() when an allocation fails; must not return. Before threads exist. */
void mem_on_exhaustion(void (*handler)(size_t bytes));
char *mem_strdup(const char *text);
char *mem_strndup(const char *text, size_t size);
char *mem_printf(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Arena: everything freed at once. Not thread-safe. */
struct arena;
struct arena *arena_create(void);
void arena_destroy(struct arena *arena);              /* NULL is fine */
void *arena_alloc(struct arena *arena, size_t bytes); /* 16-byte aligned, zeroed */
char *arena_strndup(struct arena *arena, const char *text, size_t size);
char *arena_printf(struct arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Makes `array` hold at least `needed` elements; `room`, of any unsigned type, is how many it holds. Grows by
 * a share (small ones double), so that filling an array one by one costs a constant time an element. May
 * move the array. */
#define MEM_GROW(array, room, needed)                                                                        \
    do {                                                                                                     \
        if ((room) < (needed)) {                                                                             \
            __typeof__(room) room_ = (room) < 4096 ? (room) * 2 + 8 : (room) + (room) / 4;                   \
            if (room_ < (needed))                                                                            \
                room_ = (needed);                                                                            \
            (array) = mem_realloc((array), room_, sizeof *(array));                                          \
            (room) = room_;                                                                                  \
        }                                                                                                    \
    } while (0)

/* A growing array of T: zeroed is empty, `at` holds `count` elements and has room for `room`. VEC_PUSH and
 * VEC_RESERVE may move `at`, so pointers into it do not last. Owned; VEC_FREE makes it empty again.
 *
 *     VEC(int) v = {0};    VEC_PUSH(&v, 7);    v.at[0] == 7    VEC_FREE(&v); */
#define VEC(T)                                                                                               \
    struct {                                                                                                 \
        T *at;                                                                                               \
        size_t count, room;                                                                                  \
    }
#define VEC_RESERVE(v, n) MEM_GROW((v)->at, (v)->room, n)
#define VEC_PUSH(v, x)                                                                                       \
    do {                                                                                                     \
        VEC_RESERVE(v, (v)->count + 1);                                                                      \
        (v)->at[(v)->count++] = (x);                                                                         \
    } while (0)
#define VEC_FREE(v) (free((v)->at), (v)->at = NULL, (v)->count = (v)->room = 0)

/* Text buffer: zeroed is empty; `at` is NUL-terminated once something was added. */
struct text {
    char *at;
    size_t size, room;
};
void text_add(struct text *text, const char *string);
void text_add_n(struct text *text, const char *string, size_t size);
void text_add_char(struct text *text, char character);
void text_printf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_vprintf(struct text *text, const char *format, va_list args);
void text_release(struct text *text);

#endif
