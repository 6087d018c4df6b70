/* See secret.h. */
#include "base/secret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 4096 };

static enum error_code first_line(const char *variable, const char *path, char **out, struct error *e)
{
    char line[LINE_MAX_BYTES + 2] = "";
    FILE *file = fopen(path, "re");
    bool found = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    size_t size = strcspn(line, "\r\n");
    if (!found || !size || size > LINE_MAX_BYTES)
        return error_set(e, ERROR_USAGE, "%s: %s cannot be read, or has no first line", variable, path);
    *out = mem_strndup(line, size);
    explicit_bzero(line, sizeof line);
    return ERROR_OK;
}

enum error_code secret_read(const char *name, char **out, struct error *e)
{
    const char *given = getenv(name);
    char *variable = mem_printf("%s_FILE", name);
    const char *path = getenv(variable);
    enum error_code code = ERROR_OK;
    *out = given && *given ? mem_strdup(given) : NULL;
    if (!*out && path && *path)
        code = first_line(variable, path, out, e);
    free(variable);
    return code;
}

bool secret_in_address(const char *address)
{
    static const char scheme[] = "redis://";
    const char *user = address + sizeof scheme - 1, *at = strrchr(address, '@');
    return strncmp(address, scheme, sizeof scheme - 1) == 0 && at && at > user &&
           memchr(user, ':', (size_t)(at - user));
}
