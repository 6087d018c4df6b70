/* Meshes and shardings as the proof needs them: which block of a global tensor a device holds.
 *
 * Written for the proof alone, and sharing no code with the planner's own shardings (spmd/), so that a
 * mistake there cannot hide itself here.
 *
 * Position i of a mesh counts its axes row-major (the last axis is innermost) and is device ids[i]. The
 * axes of a dimension cut it major first: ["data"=2, "model"=4] on {"data", "model"} makes 8 blocks, and
 * position 5 = (data 1, model 1) holds block 5; on {"model", "data"} it holds block 3. A sub-axis is
 * Shardy's "z":(before)size. (Shardy: https://openxla.org/shardy) */
#ifndef TOAST_VERIFY_SHARDING_H
#define TOAST_VERIFY_SHARDING_H

#include "verify/interpret.h"

/* The most axes of a mesh. Axes have sizes of 2 or more, so these are enough for 2^16 devices. */
enum { VERIFY_MAX_AXES = 16 };

struct verify_mesh {
    uint32_t axis_count, devices;
    int64_t sizes[VERIFY_MAX_AXES];
    char names[VERIFY_MAX_AXES][64]; /* "" where the caller has none */
    int64_t *ids;                    /* device of each position; owned; NULL = the position itself */
};

struct verify_axis {
    uint32_t axis;
    int64_t before, size; /* whole axis: 1 and its size */
};

struct verify_sharding {
    uint32_t rank;
    struct {
        struct verify_axis at[VERIFY_MAX_AXES];
        uint32_t count;
    } dims[IR_MAX_RANK];
};

void verify_mesh_release(struct verify_mesh *mesh);
/* sizes > 0, at most 2^20 devices. ERROR_INVALID_MESH. ids: device of each position (copied), NULL =
 * row-major */
enum error_code verify_mesh_make(struct verify_mesh *out, uint32_t axis_count, const int64_t *sizes,
                                 const int64_t *ids, struct error *e) BASE_CHECKED;
/* `#sdy.mesh<["data"=2, "model"=4], device_ids=[..]>`. ERROR_INVALID_MODULE. */
enum error_code verify_mesh_parse(const char *text, struct verify_mesh *out, struct error *e) BASE_CHECKED;
/* `#sdy.sharding_per_value<[<@mesh, [{"data"}, {}]>, ..]>` -> owned array. Replicated axes and priorities are
 * skipped; unreduced axes are refused (ERROR_NOT_AVAILABLE), as are inline meshes. */
enum error_code verify_shardings_parse(const char *text, const struct verify_mesh *mesh,
                                       struct verify_sharding **out, uint32_t *count,
                                       struct error *e) BASE_CHECKED;
/* name of the mesh symbol in such a text, "" when there is none */
void verify_sharding_mesh_name(const char *text, char out[64]);

int64_t verify_mesh_device(const struct verify_mesh *mesh, uint32_t position);
/* how many blocks dimension `dim` is cut into, and which one the device at `position` holds */
int64_t verify_sharding_blocks(const struct verify_sharding *sharding, uint32_t dim);
int64_t verify_sharding_block(const struct verify_sharding *sharding, const struct verify_mesh *mesh,
                              uint32_t position, uint32_t dim);

/* Cuts a global tensor for every device: out[device] owned (devices that hold the same block share nothing).
 * ERROR_INVALID_PLAN when a dimension does not divide or ranks differ. */
enum error_code verify_shard(const struct verify_mesh *mesh, const struct verify_sharding *sharding,
                             const struct verify_tensor *global, struct verify_tensor *out,
                             struct error *e) BASE_CHECKED;
/* Puts the devices' blocks together. *divergence: largest difference between copies of one block relative
 * to the tensor's largest magnitude (infinite for unequal integers or NaN against a number), 0 = bit for
 * bit equal. */
enum error_code verify_unshard(const struct verify_mesh *mesh, const struct verify_sharding *sharding,
                               const struct verify_tensor *local, struct verify_tensor *global,
                               double *divergence, struct error *e) BASE_CHECKED;

#endif
