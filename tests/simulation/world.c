/* See world.h: time, and the story of a run. */
#include "world.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void tell(struct world *world, const char *format, ...)
{
    va_list values;
    if (!world->telling)
        return;
    world->story = world->story ? world->story : mem_zalloc(1, STORY_MAX);
    size_t room = STORY_MAX - world->told;
    va_start(values, format);
    int count = snprintf(world->story + world->told, room, "%9.3f ", (double)world->mono_ms * 1e-3);
    if (count > 0 && (size_t)count < room)
        count += vsnprintf(world->story + world->told + count, room - (size_t)count, format, values);
    va_end(values);
    if (count > 0 && (size_t)count + 1 < room) {
        world->told += (size_t)count;
        world->story[world->told++] = '\n';
        world->story[world->told] = 0;
    }
}

void blame(struct world *world, const char *format, ...)
{
    va_list values;
    if (world->failure[0])
        return;
    va_start(values, format);
    vsnprintf(world->failure, sizeof world->failure, format, values);
    va_end(values);
    tell(world, "WRONG: %s", world->failure);
}

void advance(struct world *world, long long ms)
{
    world->mono_ms += ms;
    world->now_us += ms * 1000;
}

void jump(struct world *world, long long ms)
{
    world->now_us += ms * 1000;
    world->jumped = true;
    tell(world, "Redis' clock jumps by %.0f s", (double)ms * 1e-3);
}

struct job *job_of(struct world *world, const char *id)
{
    for (int i = 0; i < world->job_count; i++)
        if (strcmp(world->jobs[i].id, id) == 0)
            return &world->jobs[i];
    return NULL;
}
