/* Meshes and shardings (sharding.h): reading Shardy's text, and cutting and joining tensors by it. */
#include "verify/sharding.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "verify/value.h"

/* ---------------------------------------------------------------- text */
static void blank(const char **at)
{
    while (isspace((unsigned char)**at))
        (*at)++;
}

static bool take(const char **at, const char *word)
{
    blank(at);
    size_t n = strlen(word);
    if (strncmp(*at, word, n) != 0)
        return false;
    *at += n;
    return true;
}

static bool take_int(const char **at, int64_t *out)
{
    char *end;
    blank(at);
    *out = strtoll(*at, &end, 10);
    if (end == *at)
        return false;
    *at = end;
    return true;
}

static bool take_string(const char **at, char out[64])
{
    if (!take(at, "\""))
        return false;
    size_t n = strcspn(*at, "\"");
    if ((*at)[n] != '"' || n >= 64)
        return false;
    memcpy(out, *at, n);
    out[n] = 0;
    *at += n + 1;
    return true;
}

void verify_mesh_release(struct verify_mesh *mesh)
{
    free(mesh->ids);
    mesh->ids = NULL;
}

static enum error_code finish(struct verify_mesh *mesh, struct error *e)
{
    uint64_t devices = 1;
    for (uint32_t i = 0; i < mesh->axis_count; i++) {
        if (mesh->sizes[i] < 1 || mesh->sizes[i] > 1 << 20 || (devices *= (uint64_t)mesh->sizes[i]) > 1 << 20)
            return error_set(e, ERROR_INVALID_MESH,
                             "mesh axes must have sizes from 1 and at most 2^20 devices in all");
    }
    mesh->devices = (uint32_t)devices;
    return ERROR_OK;
}

/* ids must be a permutation of 0 .. devices - 1 */
static enum error_code check_ids(const struct verify_mesh *mesh, struct error *e)
{
    unsigned char *seen = mem_zalloc(mesh->devices + 1, 1);
    bool fits = true;
    for (uint32_t i = 0; mesh->ids && i < mesh->devices; i++) {
        fits = fits && mesh->ids[i] >= 0 && mesh->ids[i] < mesh->devices && !seen[mesh->ids[i]];
        if (fits)
            seen[mesh->ids[i]] = 1;
    }
    free(seen);
    return fits ? ERROR_OK
                : error_set(e, ERROR_INVALID_MESH, "device ids must hold each of %u devices once",
                            mesh->devices);
}

enum error_code verify_mesh_make(struct verify_mesh *out, uint32_t axis_count, const int64_t *sizes,
                                 const int64_t *ids, struct error *e)
{
    memset(out, 0, sizeof *out);
    if (axis_count > VERIFY_MAX_AXES)
        return error_set(e, ERROR_INVALID_MESH, "a mesh has at most %d axes", VERIFY_MAX_AXES);
    out->axis_count = axis_count;
    memcpy(out->sizes, sizes, axis_count * sizeof *sizes);
    enum error_code code = finish(out, e);
    if (code || !ids)
        return code;
    out->ids = mem_alloc((out->devices + 1) * sizeof *ids);
    memcpy(out->ids, ids, out->devices * sizeof *ids);
    return check_ids(out, e);
}

static bool parse_ids(const char **at, struct verify_mesh *mesh)
{
    uint32_t n = 0;
    mesh->ids = mem_zalloc(mesh->devices + 1, sizeof *mesh->ids);
    if (!take(at, "device_ids") || !take(at, "=") || !take(at, "["))
        return false;
    while (n < mesh->devices && take_int(at, &mesh->ids[n])) {
        n++;
        if (!take(at, ","))
            break;
    }
    return n == mesh->devices && take(at, "]");
}

enum error_code verify_mesh_parse(const char *text, struct verify_mesh *out, struct error *e)
{
    const char *at = text;
    memset(out, 0, sizeof *out);
    bool fits = take(&at, "#sdy.mesh") && take(&at, "<") && take(&at, "[");
    while (fits && !take(&at, "]")) {
        uint32_t i = out->axis_count++;
        fits = i < VERIFY_MAX_AXES && take_string(&at, out->names[i]) && take(&at, "=") &&
               take_int(&at, &out->sizes[i]);
        if (fits)
            take(&at, ",");
    }
    if (!fits)
        return error_set(e, ERROR_INVALID_MODULE, "malformed mesh %.80s", text);
    enum error_code code = finish(out, e);
    if (code)
        return code;
    if (take(&at, ",") && !parse_ids(&at, out))
        return error_set(e, ERROR_INVALID_MODULE, "malformed device ids in mesh %.80s", text);
    return check_ids(out, e);
}

void verify_sharding_mesh_name(const char *text, char out[64])
{
    const char *at = strchr(text, '@');
    size_t n = 0;
    out[0] = 0;
    if (!at)
        return;
    at++;
    if (*at == '"') {
        take_string(&at, out);
        return;
    }
    while (n < 63 && (isalnum((unsigned char)at[n]) || strchr("_$.-", at[n]) != NULL) && at[n])
        n++;
    memcpy(out, at, n);
    out[n] = 0;
}

static bool parse_axis(const char **at, const struct verify_mesh *mesh, struct verify_axis *out)
{
    char name[64];
    if (!take_string(at, name))
        return false;
    for (uint32_t i = 0; i < mesh->axis_count; i++)
        if (strcmp(mesh->names[i], name) == 0) {
            *out = (struct verify_axis){i, 1, mesh->sizes[i]};
            if (!take(at, ":"))
                return true;
            return take(at, "(") && take_int(at, &out->before) && take(at, ")") && take_int(at, &out->size) &&
                   out->before > 0 && out->size > 0 && mesh->sizes[i] % (out->before * out->size) == 0;
        }
    return false;
}

static bool parse_dims(const char **at, const struct verify_mesh *mesh, struct verify_sharding *out)
{
    if (!take(at, "["))
        return false;
    while (!take(at, "]")) {
        uint32_t dim = out->rank++;
        if (dim >= IR_MAX_RANK || !take(at, "{"))
            return false;
        while (!take(at, "}")) {
            uint32_t n = out->dims[dim].count;
            if (take(at, "?") || take(at, ","))
                continue;
            if (n >= VERIFY_MAX_AXES || !parse_axis(at, mesh, &out->dims[dim].at[n]))
                return false;
            out->dims[dim].count++;
        }
        blank(at);
        if (**at == 'p') /* a priority */
            while (isalnum((unsigned char)**at))
                (*at)++;
        take(at, ",");
    }
    return true;
}

enum error_code verify_shardings_parse(const char *text, const struct verify_mesh *mesh,
                                       struct verify_sharding **out, uint32_t *count, struct error *e)
{
    const char *at = text;
    VEC(struct verify_sharding) list = {0};
    bool fits = take(&at, "#sdy.sharding_per_value") && take(&at, "<") && take(&at, "[");
    *out = NULL;
    while (fits && !take(&at, "]")) {
        struct verify_sharding one = {0};
        fits = take(&at, "<") && take(&at, "@");
        at += fits ? strcspn(at, ",>") : 0;
        fits = fits && take(&at, ",") && parse_dims(&at, mesh, &one);
        size_t rest = fits ? strcspn(at, ">") : 0;
        if (fits && memmem(at, rest, "unreduced", 9)) {
            VEC_FREE(&list);
            return error_set(e, ERROR_NOT_AVAILABLE, "unreduced axes are not interpreted: %.80s", text);
        }
        at += rest;
        fits = fits && take(&at, ">");
        take(&at, ",");
        VEC_PUSH(&list, one);
    }
    if (!fits) {
        VEC_FREE(&list);
        return error_set(e, ERROR_INVALID_MODULE, "malformed shardings %.120s", text);
    }
    *out = list.at;
    *count = (uint32_t)list.count;
    return ERROR_OK;
}

/* ---------------------------------------------------------------- blocks */
int64_t verify_mesh_device(const struct verify_mesh *mesh, uint32_t position)
{
    return mesh->ids ? mesh->ids[position] : position;
}

int64_t verify_sharding_blocks(const struct verify_sharding *sharding, uint32_t dim)
{
    int64_t n = 1;
    for (uint32_t i = 0; i < sharding->dims[dim].count; i++)
        n *= sharding->dims[dim].at[i].size;
    return n;
}

int64_t verify_sharding_block(const struct verify_sharding *sharding, const struct verify_mesh *mesh,
                              uint32_t position, uint32_t dim)
{
    int64_t block = 0;
    for (uint32_t i = 0; i < sharding->dims[dim].count; i++) {
        const struct verify_axis *axis = &sharding->dims[dim].at[i];
        int64_t inner = 1;
        for (uint32_t k = axis->axis + 1; k < mesh->axis_count; k++)
            inner *= mesh->sizes[k];
        int64_t coordinate = position / inner % mesh->sizes[axis->axis];
        int64_t after = mesh->sizes[axis->axis] / (axis->before * axis->size);
        block = block * axis->size + coordinate / after % axis->size;
    }
    return block;
}

static enum error_code local_dims(const struct verify_mesh *mesh, const struct verify_sharding *sharding,
                                  uint32_t rank, const int64_t *global, int64_t *local, struct error *e)
{
    if (sharding->rank != rank)
        return error_set(e, ERROR_INVALID_PLAN, "a sharding of %u dimensions for a tensor of %u",
                         sharding->rank, rank);
    for (uint32_t i = 0; i < rank; i++) {
        for (uint32_t k = 0; k < sharding->dims[i].count; k++)
            if (sharding->dims[i].at[k].axis >= mesh->axis_count)
                return error_set(e, ERROR_INVALID_PLAN, "a sharding names axis %u of %u",
                                 sharding->dims[i].at[k].axis, mesh->axis_count);
        int64_t blocks = verify_sharding_blocks(sharding, i);
        if (global[i] % blocks)
            return error_set(e, ERROR_INVALID_PLAN, "dimension %u of size %lld does not divide into %lld", i,
                             (long long)global[i], (long long)blocks);
        local[i] = global[i] / blocks;
    }
    return ERROR_OK;
}

/* element offset of a position's block in the global tensor */
static int64_t offset_of(const struct verify_mesh *mesh, const struct verify_sharding *sharding,
                         uint32_t position, const int64_t *local, const int64_t *strides)
{
    int64_t offset = 0;
    for (uint32_t i = 0; i < sharding->rank; i++)
        offset += verify_sharding_block(sharding, mesh, position, i) * local[i] * strides[i];
    return offset;
}

enum error_code verify_shard(const struct verify_mesh *mesh, const struct verify_sharding *sharding,
                             const struct verify_tensor *global, struct verify_tensor *out, struct error *e)
{
    int64_t local[IR_MAX_RANK], strides[IR_MAX_RANK], own[IR_MAX_RANK];
    enum error_code code = local_dims(mesh, sharding, global->rank, global->dims, local, e);
    if (code)
        return code;
    size_t size = verify_element_size(global->element);
    verify_strides(global->rank, global->dims, strides);
    verify_strides(global->rank, local, own);
    for (uint32_t i = 0; i < mesh->devices; i++) {
        struct verify_tensor *tensor = &out[verify_mesh_device(mesh, i)];
        *tensor = *global;
        memcpy(tensor->dims, local, sizeof local);
        tensor->data = mem_alloc((size_t)verify_tensor_count(tensor) * size + IR_ELEMENT_BYTES);
        verify_copy(size, tensor->rank, local, tensor->data, own,
                    (char *)global->data + offset_of(mesh, sharding, i, local, strides) * (int64_t)size,
                    strides);
    }
    return ERROR_OK;
}

static double largest(const struct verify_tensor *tensor)
{
    double most = 0;
    int64_t n = verify_tensor_count(tensor) * (verify_store_of(tensor->element) >= VERIFY_C64 ? 2 : 1);
    bool wide = tensor->element == IR_F64 || tensor->element == IR_C128;
    for (int64_t i = 0; i < n; i++) {
        double x = fabs(wide ? ((double *)tensor->data)[i] : (double)((float *)tensor->data)[i]);
        most = x > most ? x : most;
    }
    return most;
}

/* of two tensors of one shape; see verify_unshard */
static double difference(const struct verify_tensor *one, const struct verify_tensor *other, double magnitude)
{
    int64_t n = verify_tensor_count(one);
    size_t bytes = (size_t)n * verify_element_size(one->element);
    if (memcmp(one->data, other->data, bytes) == 0)
        return 0;
    enum verify_store store = verify_store_of(one->element);
    if (store == VERIFY_U8 || store == VERIFY_I64)
        return INFINITY;
    bool wide = one->element == IR_F64 || one->element == IR_C128;
    double worst = 0;
    for (int64_t i = 0; i < n * (store >= VERIFY_C64 ? 2 : 1); i++) {
        double x = wide ? ((double *)one->data)[i] : (double)((float *)one->data)[i];
        double y = wide ? ((double *)other->data)[i] : (double)((float *)other->data)[i];
        if (isnan(x) != isnan(y))
            return INFINITY;
        double d = x == y || isnan(x) ? 0 : fabs(x - y) / (magnitude > 0 ? magnitude : 1);
        worst = d > worst ? d : worst;
    }
    return worst;
}

enum error_code verify_unshard(const struct verify_mesh *mesh, const struct verify_sharding *sharding,
                               const struct verify_tensor *local, struct verify_tensor *global,
                               double *divergence, struct error *e)
{
    int64_t strides[IR_MAX_RANK], own[IR_MAX_RANK], dims[IR_MAX_RANK] = {0};
    struct verify_tensor whole = local[0];
    if (sharding->rank != whole.rank)
        return error_set(e, ERROR_INVALID_PLAN, "a sharding of %u dimensions for a tensor of %u",
                         sharding->rank, whole.rank);
    for (uint32_t i = 0; i < whole.rank; i++)
        whole.dims[i] *= verify_sharding_blocks(sharding, i);
    enum error_code code = local_dims(mesh, sharding, whole.rank, whole.dims, dims, e);
    if (code)
        return code;
    size_t size = verify_element_size(whole.element);
    verify_strides(whole.rank, whole.dims, strides);
    verify_strides(whole.rank, dims, own);
    whole.data = mem_alloc((size_t)verify_tensor_count(&whole) * size + IR_ELEMENT_BYTES);
    int64_t *offsets = mem_alloc((mesh->devices + 1) * sizeof *offsets);
    uint32_t *copy_of = mem_alloc((mesh->devices + 1) * sizeof *copy_of);
    for (uint32_t i = 0; i < mesh->devices; i++) {
        offsets[i] = offset_of(mesh, sharding, i, dims, strides);
        for (copy_of[i] = 0; offsets[copy_of[i]] != offsets[i];)
            copy_of[i]++;
        if (copy_of[i] == i)
            verify_copy(size, whole.rank, dims, (char *)whole.data + offsets[i] * (int64_t)size, strides,
                        local[verify_mesh_device(mesh, i)].data, own);
    }
    double magnitude = ir_element_is_float(whole.element) || verify_store_of(whole.element) >= VERIFY_C64
                           ? largest(&whole)
                           : 1;
    *divergence = 0;
    for (uint32_t i = 0; i < mesh->devices; i++) {
        if (copy_of[i] == i)
            continue;
        const struct verify_tensor *tensor = &local[verify_mesh_device(mesh, copy_of[i])];
        double d = difference(tensor, &local[verify_mesh_device(mesh, i)], magnitude);
        *divergence = d > *divergence ? d : *divergence;
    }
    free(offsets);
    free(copy_of);
    *global = whole;
    return ERROR_OK;
}
