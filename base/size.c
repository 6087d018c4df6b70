#include "base/size.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static double unit_of(const char *text)
{
    static const char prefixes[] = "kmgt";
    double unit = 1;
    if (!*text || strcasecmp(text, "b") == 0)
        return 1;
    const char *prefix = strchr(prefixes, tolower((unsigned char)*text));
    bool binary = text[1] == 'i' || text[1] == 'I';
    if (!prefix || strcasecmp(text + 1 + binary, "b") != 0)
        return 0;
    for (const char *at = prefixes; at <= prefix; at++)
        unit *= binary ? 1024 : 1000;
    return unit;
}

bool size_parse(const char *text, int64_t *bytes)
{
    size_t digits = strspn(text, "0123456789"), size = digits;
    if (text[size] == '.')
        size += 1 + strspn(text + size + 1, "0123456789");
    double unit = unit_of(text + size), value = strtod(text, NULL) * unit;
    if (digits == 0 || size > 32 || unit == 0 || (size > digits && (unit == 1 || text[size - 1] == '.')) ||
        value > (double)(INT64_C(1) << 62))
        return false;
    *bytes = unit == 1 ? strtoll(text, NULL, 10) : (int64_t)value;
    return true;
}

enum error_code size_option(const char *option, const char *text, int64_t *bytes, struct error *e)
{
    if (size_parse(text, bytes))
        return ERROR_OK;
    return error_set(e, ERROR_USAGE, "%s needs bytes, as 1500000, 40GB or 37.5GiB, not '%.40s'", option,
                     text);
}
