/* HloSharding's text -> axes; see gspmd.h. The text is an array of tiles by device, as a list or as a
 * reshaped and transposed 0, 1, 2 .. An axis splits a dimension where the tile's place along it rises by a
 * constant with the device's place along the axis; several do where their steps nest. */
#include "planner/gspmd.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_DIMS = IR_MAX_RANK + 4, /* of an array of tiles: those of replicas behind the tensor's */
    MOST_DIGITS = 7              /* of a number: no mesh has more than 2^20 devices */
};

struct numbers {
    int64_t at[MOST_DIMS];
    uint32_t count;
};
struct tiles {
    struct numbers dims;  /* tiles along each dimension, replicas last */
    uint32_t rank;        /* dims that are the tensor's */
    int64_t *place_of;    /* [device]: number of its tile; owned */
    int64_t device_count; /* as many as tiles */
};

static const char NOT_READ[] = "it is written in a way that is not read";

/* "[4,1,2]": the place behind it, NULL when it is malformed */
static const char *read_numbers(const char *text, struct numbers *out)
{
    out->count = 0;
    if (*text != '[')
        return NULL;
    for (text++; *text != ']'; text += *text == ',') {
        char *end;
        int64_t number = strtoll(text, &end, 10);
        if (end == text || end - text > MOST_DIGITS || number < 0 || out->count == MOST_DIMS ||
            (*end != ',' && *end != ']'))
            return NULL;
        out->at[out->count++] = number;
        text = end;
    }
    return text + 1;
}

static int64_t product(const struct numbers *numbers)
{
    int64_t out = 1;
    for (uint32_t i = 0; i < numbers->count && out <= INT32_MAX; i++)
        out *= numbers->at[i];
    return out;
}

/* notes that a device has the tile; false: there is no such device, or it has one */
static bool place(struct tiles *tiles, int64_t device, int64_t tile)
{
    if (device < 0 || device >= tiles->device_count || tiles->place_of[device] >= 0)
        return false;
    tiles->place_of[device] = tile;
    return true;
}

/* "<=[4,2]T(1,0)": 0, 1, 2 .. of that shape, transposed */
static const char *read_iota(const char *text, struct tiles *tiles)
{
    struct numbers shape, turn = {.count = 0};
    text = read_numbers(text + 2, &shape);
    if (!text || product(&shape) != tiles->device_count)
        return NULL;
    for (uint32_t i = 0; i < shape.count; i++)
        turn.at[turn.count++] = i;
    if (text[0] == 'T' && text[1] == '(') {
        turn.count = 0;
        for (text += 2; isdigit((unsigned char)*text) && turn.count < shape.count; text += *text == ',')
            turn.at[turn.count++] = strtoll(text, (char **)(uintptr_t)&text, 10);
        if (*text++ != ')' || turn.count != shape.count)
            return NULL;
    }
    for (uint32_t i = 0; i < turn.count; i++)
        if (turn.at[i] >= shape.count)
            return NULL;
    for (int64_t tile = 0; tile < tiles->device_count; tile++) {
        int64_t rest = tile, device = 0, at[MOST_DIMS] = {0};
        for (uint32_t i = turn.count; i-- > 0; rest /= shape.at[turn.at[i]])
            at[turn.at[i]] = rest % shape.at[turn.at[i]];
        for (uint32_t i = 0; i < shape.count; i++)
            device = device * shape.at[i] + at[i];
        if (!place(tiles, device, tile))
            return NULL;
    }
    return text;
}

/* "0,2,1,3" */
static const char *read_list(const char *text, struct tiles *tiles)
{
    for (int64_t tile = 0; tile < tiles->device_count; tile++) {
        char *end;
        int64_t device = strtoll(text, &end, 10);
        if (end == text || !place(tiles, device, tile))
            return NULL;
        text = end + (*end == ',' && tile + 1 < tiles->device_count);
    }
    return text;
}

/* what stands behind the devices: which dims of the array are replicas */
static const char *read_tail(const char *text, uint32_t rank, struct tiles *tiles)
{
    static const char ONE[] = " last_tile_dim_replicate", SOME[] = " last_tile_dims={";
    uint32_t replicas = 0;
    if (strncmp(text, ONE, sizeof ONE - 1) == 0) {
        text += sizeof ONE - 1;
        replicas = 1;
    } else if (strncmp(text, SOME, sizeof SOME - 1) == 0) {
        for (text += sizeof SOME - 1; *text != '}' && replicas < MOST_DIMS; replicas++) {
            static const char WORD[] = "replicated";
            if (strncmp(text, WORD, sizeof WORD - 1) != 0)
                return "parts of it are partitioned by hand";
            text += sizeof WORD - 1;
            text += strspn(text, ", ");
        }
        text++;
    }
    if (*text != '}' && strncmp(text, " metadata=", 10) != 0)
        return NOT_READ;
    tiles->rank = tiles->dims.count - replicas;
    return replicas > tiles->dims.count || tiles->rank != rank ? "it has another rank than its tensor" : NULL;
}

/* the place along a dimension of the tile that a device has */
static int64_t along(const struct tiles *tiles, uint32_t dim, int64_t device)
{
    int64_t tile = tiles->place_of[device];
    for (uint32_t i = tiles->dims.count - 1; i > dim; i--)
        tile /= tiles->dims.at[i];
    return tile % tiles->dims.at[dim];
}

/* the steps of a dimension by axis, where they are all there is to it */
static bool find_steps(const struct tiles *tiles, const struct mesh *mesh, uint32_t dim,
                       int64_t steps[MESH_MAX_AXES])
{
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        steps[axis] = mesh->axes[axis].size > 1 ? along(tiles, dim, mesh_axis_stride(mesh, axis)) : 0;
    for (int64_t device = 0; device < tiles->device_count; device++) {
        int64_t sum = 0;
        for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
            sum += steps[axis] * (device / mesh_axis_stride(mesh, axis) % mesh->axes[axis].size);
        if (sum != along(tiles, dim, device))
            return false;
    }
    return true;
}

/* the axes of a dimension, the one with the longest step first, each step the next one's times its size */
static bool find_axes(const struct tiles *tiles, const struct mesh *mesh, uint32_t dim, struct plan_pin *pin)
{
    int64_t steps[MESH_MAX_AXES], next = tiles->dims.at[dim];
    if (!find_steps(tiles, mesh, dim, steps))
        return false;
    while (next > 1) {
        uint32_t longest = 0;
        for (uint32_t axis = 1; axis < mesh->axis_count; axis++)
            longest = steps[axis] > steps[longest] ? axis : longest;
        if (steps[longest] == 0 || steps[longest] * mesh->axes[longest].size != next)
            return false;
        pin->dims[dim].axes[pin->dims[dim].count++] = (uint8_t)longest;
        next = steps[longest];
        steps[longest] = 0;
    }
    return true;
}

static const char *find_all_axes(const struct tiles *tiles, const struct mesh *mesh, struct plan_pin *pin)
{
    for (uint32_t dim = 0; dim < tiles->rank; dim++)
        if (!find_axes(tiles, mesh, dim, pin))
            return "its tiles are not those of whole axes of the posted mesh";
    return NULL;
}

static const char *read_tiles(const char *text, uint32_t rank, const struct mesh *mesh, struct tiles *tiles,
                              struct plan_pin *pin)
{
    text = read_numbers(text, &tiles->dims);
    if (!text)
        return NOT_READ;
    tiles->device_count = product(&tiles->dims);
    if (tiles->device_count != mesh_devices(mesh))
        return "it is for another number of devices than the posted mesh has";
    tiles->place_of = mem_alloc((size_t)tiles->device_count * sizeof *tiles->place_of);
    memset(tiles->place_of, 0xff, (size_t)tiles->device_count * sizeof *tiles->place_of);
    text = text[0] == '<' && text[1] == '=' ? read_iota(text, tiles) : read_list(text, tiles);
    const char *why = text ? read_tail(text, rank, tiles) : NOT_READ;
    return why ? why : find_all_axes(tiles, mesh, pin);
}

/* the dimensions that config leaves open; without such a word none */
static struct numbers open_dims(const char *config)
{
    static const char WORD[] = "unspecified_dims=";
    struct numbers out = {.count = 0};
    const char *at = config ? strstr(config, WORD) : NULL;
    if (at && !read_numbers(at + sizeof WORD - 1, &out))
        out.count = 0;
    return out;
}

bool planner_gspmd_is_open(const char *config, uint32_t rank)
{
    struct numbers open = open_dims(config);
    return open.count && open.count == rank;
}

const char *planner_gspmd_read(const char *text, const char *config, uint32_t rank, const struct mesh *mesh,
                               struct plan_pin *pin)
{
    static const char WHOLE[] = "{replicated", TILES[] = "{devices=";
    struct tiles tiles = {.place_of = NULL};
    struct numbers open = open_dims(config);
    const char *why = NULL;
    pin->rank = rank;
    if (strncmp(text, TILES, sizeof TILES - 1) == 0)
        why = read_tiles(text + sizeof TILES - 1, rank, mesh, &tiles, pin);
    else if (strncmp(text, WHOLE, sizeof WHOLE - 1) != 0)
        why = strncmp(text, "{manual", 7) == 0    ? "it is partitioned by hand"
              : strncmp(text, "{maximal", 8) == 0 ? "it is on one device"
                                                  : NOT_READ;
    for (uint32_t i = 0; i < open.count; i++)
        if (open.at[i] < rank)
            pin->dims[open.at[i]].open = 1;
    free(tiles.place_of);
    return why;
}
