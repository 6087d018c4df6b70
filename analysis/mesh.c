/* Meshes: parsing ("data=4,model=2") and checking. A mesh that mesh_check takes has axes of distinct names
 * and sizes of 1 or more, and at most MESH_MAX_DEVICES devices; everything after it relies on that. */
#include "analysis/plan.h"

#include <stdlib.h>
#include <string.h>

int64_t mesh_devices(const struct mesh *mesh)
{
    int64_t product = 1;
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        product *= mesh->axes[axis].size;
    return product;
}

int64_t mesh_axis_stride(const struct mesh *mesh, uint32_t axis)
{
    int64_t stride = 1;
    for (uint32_t a = axis + 1; a < mesh->axis_count; a++)
        stride *= mesh->axes[a].size;
    return stride;
}

int mesh_axis_find(const struct mesh *mesh, const char *name)
{
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        if (strcmp(mesh->axes[axis].name, name) == 0)
            return (int)axis;
    return -1;
}

static bool letter(char character)
{
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           character == '_';
}

static bool name_ok(const char *name, size_t size)
{
    if (size == 0 || !letter(name[0]))
        return false;
    for (size_t i = 1; i < size; i++)
        if (!letter(name[i]) && !(name[i] >= '0' && name[i] <= '9'))
            return false;
    return true;
}

enum error_code mesh_check(const struct mesh *mesh, struct error *e)
{
    int64_t product = 1;
    if (mesh->axis_count == 0 || mesh->axis_count > MESH_MAX_AXES)
        return error_set(e, ERROR_INVALID_MESH, "a mesh has 1 to %d axes, this one has %u", MESH_MAX_AXES,
                         mesh->axis_count);
    for (uint32_t a = 0; a < mesh->axis_count; a++) {
        const struct mesh_axis *axis = &mesh->axes[a];
        size_t size = strnlen(axis->name, sizeof axis->name);
        if (size == sizeof axis->name || !name_ok(axis->name, size))
            return error_set(e, ERROR_INVALID_MESH,
                             "axis %u of the mesh needs a name of letters, digits and _ that "
                             "does not begin with a digit (at most 63)",
                             a);
        if (mesh_axis_find(mesh, axis->name) != (int)a)
            return error_set(e, ERROR_INVALID_MESH, "axis '%s' stands twice in the mesh", axis->name);
        if (axis->size < 1)
            return error_set(e, ERROR_INVALID_MESH, "axis '%s' of the mesh has size %lld; sizes are positive",
                             axis->name, (long long)axis->size);
        if (axis->size > MESH_MAX_DEVICES || product * axis->size > MESH_MAX_DEVICES)
            return error_set(e, ERROR_INVALID_MESH, "the mesh has more than %d devices", MESH_MAX_DEVICES);
        product *= axis->size;
        if (axis->link_bytes_per_s < 0 || axis->link_latency_ps < 0)
            return error_set(e, ERROR_INVALID_MESH,
                             "the link of axis '%s' has a negative bandwidth or latency", axis->name);
    }
    if (mesh->devices_per_host < 0)
        return error_set(e, ERROR_INVALID_MESH, "devices_per_host of the mesh is negative");
    return ERROR_OK;
}

enum error_code mesh_parse(const char *text, struct mesh *out, struct error *e)
{
    struct mesh mesh = {.axis_count = 0};
    const char *at = text;
    while (*at) {
        size_t name = strcspn(at, "=,"), digits;
        struct mesh_axis *axis = &mesh.axes[mesh.axis_count < MESH_MAX_AXES ? mesh.axis_count : 0];
        if (at[name] != '=')
            return error_set(e, ERROR_INVALID_MESH,
                             "a mesh is written axis=size,axis=size (data=4,model=2); after "
                             "character %zu there is no '='",
                             (size_t)(at - text));
        if (!name_ok(at, name) || name >= sizeof axis->name)
            return error_set(e, ERROR_INVALID_MESH,
                             "axis %u of the mesh needs a name of letters, digits and _ that "
                             "does not begin with a digit (at most 63)",
                             mesh.axis_count);
        if (mesh.axis_count == MESH_MAX_AXES)
            return error_set(e, ERROR_INVALID_MESH, "a mesh has at most %d axes", MESH_MAX_AXES);
        memcpy(axis->name, at, name);
        axis->name[name] = 0;
        at += name + 1;
        digits = strspn(at, "-0123456789");
        if (digits == 0 || digits > 18 || (at[digits] && at[digits] != ','))
            return error_set(e, ERROR_INVALID_MESH, "the size of axis '%s' is no integer", axis->name);
        axis->size = strtoll(at, NULL, 10);
        mesh.axis_count++;
        at += digits;
        if (*at == ',' && !*++at)
            return error_set(e, ERROR_INVALID_MESH, "the mesh ends in a comma");
    }
    enum error_code code = mesh_check(&mesh, e);
    if (code == ERROR_OK)
        *out = mesh;
    return code;
}
