/* toast fetch: a job's artifacts as files of one folder. A name that the service gives can never lead out
 * of it. */
#include "base/file.h"
#include "base/memory.h"
#include "cli/client.h"
#include "cli/output.h"

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: toast fetch JOB [-o DIR]\n\n"
    "Writes the job's artifacts (plan.json, report.json, modules ..) into DIR (default: the job's id).\n\n"
    "example:\n  toast fetch j_01... -o plan/\n";

/* a name from elsewhere must not lead out of the folder: parts of letters, digits, ._- that do not begin
 * with a dot, between single slashes */
static bool plain_name(const char *name)
{
    if (!*name)
        return false;
    while (*name) {
        size_t size = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");
        if (name[0] == '.' || size == 0 || (name[size] && name[size] != '/') ||
            (name[size] && !name[size + 1]))
            return false;
        name += size + (name[size] == '/');
    }
    return true;
}

/* the folders that a name has before its last part */
static enum error_code make_folders(char *file, const char *directory, struct error *e)
{
    enum error_code code = ERROR_OK;
    for (char *slash = file + strlen(directory) + 1; code == ERROR_OK && (slash = strchr(slash, '/'));) {
        *slash = 0;
        code = file_make_directory(file, e);
        *slash++ = '/';
    }
    return code;
}

static enum error_code fetch(const char *id, const char *directory, const json_t *artifact, struct error *e)
{
    const char *name = client_text(artifact, "name");
    char *bytes;
    size_t size;
    if (!plain_name(name))
        return error_set(e, ERROR_INTERNAL, "the service names an artifact that is no file name");
    char *path = mem_printf("/v1/jobs/%s/artifacts/%s", id, name),
         *file = mem_printf("%s/%s", directory, name);
    enum error_code code = make_folders(file, directory, e);
    if (code == ERROR_OK)
        code = client_bytes(path, &bytes, &size, e);
    if (code == ERROR_OK) {
        code = file_write(file, bytes, size, e);
        free(bytes);
    }
    if (code == ERROR_OK)
        printf("%s\n", file);
    free(path);
    free(file);
    return code;
}

int cmd_fetch(int argc, char **argv)
{
    struct client_arguments client_arguments = {0};
    struct error e = {0};
    json_t *list = NULL, *artifact;
    size_t i;
    int status = client_arguments_take("fetch", usage, argc, argv, &client_arguments);
    if (status >= 0)
        return status;
    const char *directory = client_arguments.directory ? client_arguments.directory : client_arguments.id;
    char *path = mem_printf("/v1/jobs/%s/artifacts", client_arguments.id);
    enum error_code code = client_json("GET", path, NULL, NULL, 0, &list, &e);
    free(path);
    if (code == ERROR_OK && json_array_size(json_object_get(list, "artifacts")) == 0)
        code = error_set(&e, ERROR_NOT_READY, "the job has no artifacts yet; toast wait %s",
                         client_arguments.id);
    if (code == ERROR_OK)
        code = file_make_directory(directory, &e);
    json_array_foreach(json_object_get(list, "artifacts"), i, artifact)
    {
        if (code == ERROR_OK)
            code = fetch(client_arguments.id, directory, artifact, &e);
    }
    json_decref(list);
    return code == ERROR_OK ? 0 : cli_fail("fetch", NULL, &e);
}
