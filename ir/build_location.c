/* Locations in the builder (build.h): interned by what they say, copied from other programs one by one, and
 * joined where a call is replaced by what it calls. Interning keeps a program's locations as few as the
 * text's:
 * thousands of ops share a stack of calls. */
#include "ir/builder.h"

#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* Calls in calls make names of names. XLA's own are some hundreds of characters; what would be longer than
 * this keeps the callee's. */
enum { LONGEST_NAME = 4096 };

/* ---------------------------------------------------------------- interning */
static size_t location_hash(const struct ir_location *location, const uint32_t *parts)
{
    struct ir_location key = *location;
    key.first = 0;
    return hash_bytes(parts, location->count * sizeof *parts, hash_bytes(&key, sizeof key, 3));
}

static bool same_location(const struct ir_builder *builder, const struct ir_location *have,
                          const struct ir_location *want, const uint32_t *parts)
{
    struct ir_location key = *want;
    key.first = have->first;
    return memcmp(&key, have, sizeof key) == 0 &&
           memcmp(builder->location_parts.at + have->first, parts, have->count * sizeof *parts) == 0;
}

static size_t entry_hash(const struct ir_builder *builder, uint32_t entry)
{
    const struct ir_location *location = &builder->locations.at[entry];
    return location_hash(location, builder->location_parts.at + location->first);
}

uint32_t ir_build_location(struct ir_builder *builder, const struct ir_location *location,
                           const uint32_t *parts, uint32_t count)
{
    static const uint32_t none;
    struct ir_location made = *location;
    if (made.kind == IR_LOCATION_UNKNOWN)
        return 0;
    if (builder->locations.count * 2 >= builder->location_slots.count)
        builder_slots_grow(builder, &builder->location_slots, 1, (uint32_t)builder->locations.count - 1,
                           entry_hash); /* number 0 is in no table */
    made.count = count;
    parts = count ? parts : &none;
    VEC_RESERVE(&builder->location_parts, builder->location_parts.count + count + 1);
    size_t mask = builder->location_slots.count - 1, slot = location_hash(&made, parts) & mask;
    for (; builder->location_slots.at[slot]; slot = (slot + 1) & mask) {
        uint32_t found = builder->location_slots.at[slot] - 1;
        if (same_location(builder, &builder->locations.at[found], &made, parts))
            return found;
    }
    made.first = (uint32_t)builder->location_parts.count;
    for (uint32_t i = 0; i < count; i++) {
        BASE_CHECK(parts[i] < builder->locations.count);
        VEC_PUSH(&builder->location_parts, parts[i]);
    }
    VEC_PUSH(&builder->locations, made);
    builder->location_slots.at[slot] = (uint32_t)builder->locations.count;
    return (uint32_t)builder->locations.count - 1;
}

/* ---------------------------------------------------------------- copies */
uint32_t ir_build_copy_location(struct ir_builder *builder, const struct ir_program *from, uint32_t location)
{
    if (!location)
        return 0;
    builder_copies_from(builder, from);
    if (builder->copies.locations.at[location])
        return builder->copies.locations.at[location];
    struct ir_location copy = from->locations[location];
    uint32_t *parts = mem_alloc((copy.count + 1) * sizeof *parts);
    for (uint32_t i = 0; i < copy.count; i++) /* nested no deeper than the image was checked to be */
        parts[i] = ir_build_copy_location(builder, from, from->location_parts[copy.first + i]);
    copy.text = builder_copy_string(builder, from, copy.text);
    uint32_t made = ir_build_location(builder, &copy, parts, copy.count);
    builder->copies.locations.at[location] = made;
    free(parts);
    return made;
}

struct ir_position ir_build_position(struct ir_builder *builder, const struct ir_program *from, uint32_t op)
{
    const struct ir_op *ir_op = &from->ops[op];
    return (struct ir_position){ir_op->line, ir_op->column,
                                ir_op->location == IR_NONE ? NULL : ir_string(from, ir_op->location),
                                ir_build_copy_location(builder, from, ir_op->loc)};
}

void ir_build_copy_value_location(struct ir_builder *builder, uint32_t value, const struct ir_program *from,
                                  uint32_t argument)
{
    const char *text = ir_value_location(from, argument);
    uint32_t loc = ir_build_copy_location(builder, from, ir_value_loc(from, argument));
    if (*text || loc)
        ir_build_value_location(builder, value, text, strlen(text), loc);
}

/* ---------------------------------------------------------------- inlining */
/* Does the callee's name begin at the call's root, `jit(step)`? Then it is whole as it is. */
static bool is_whole(const char *callee, const char *call)
{
    size_t root = strcspn(call, "/");
    return strncmp(callee, call, root) == 0 && (callee[root] == '/' || callee[root] == 0);
}

/* `call` / `callee` */
static uint32_t joined(struct ir_builder *builder, uint32_t callee, uint32_t call)
{
    if (callee == IR_NONE || call == IR_NONE)
        return callee == IR_NONE ? call : callee;
    struct ir_program view = ir_builder_view(builder);
    const char *inner = ir_string(&view, callee), *outer = ir_string(&view, call);
    size_t size = builder->strings.at[call].size;
    if (is_whole(inner, outer) || size + builder->strings.at[callee].size >= LONGEST_NAME)
        return callee;
    char *both = mem_printf("%s/%s", outer, inner);
    uint32_t made = ir_build_cstring(builder, both);
    free(both);
    return made;
}

uint32_t ir_build_inlined_location(struct ir_builder *builder, uint32_t callee, uint32_t call)
{
    uint32_t parts[2];
    if (!callee || !call)
        return callee ? callee : call;
    struct ir_location named = {.kind = IR_LOCATION_NAME},
                       site = {.kind = IR_LOCATION_CALLSITE, .text = IR_NONE};
    struct ir_program view = ir_builder_view(builder);
    uint32_t inner = ir_location_name(&view, callee, &parts[0]);
    uint32_t outer = ir_location_name(&view, call, &parts[1]);
    named.text = joined(builder, inner, outer);
    uint32_t behind =
        parts[0] && parts[1] ? ir_build_location(builder, &site, parts, 2) : parts[parts[0] ? 0 : 1];
    if (named.text == IR_NONE)
        return behind;
    return ir_build_location(builder, &named, &behind, behind ? 1 : 0);
}
