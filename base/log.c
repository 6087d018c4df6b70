/* One JSON object a line on standard error (log.h). The line is built first and written with one write(), so
 * that lines of several processes do not mix; a failed write is ignored, as there is nobody left to tell. */
#include "base/log.h"

#include "base/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

void log_json_string(struct text *text, const char *string, size_t size)
{
    const unsigned char *p = (const unsigned char *)string;
    text_add_char(text, '"');
    for (size_t i = 0; i < size;) {
        if (p[i] == '"' || p[i] == '\\') {
            text_add_char(text, '\\');
            text_add_char(text, (char)p[i++]);
        } else if (p[i] < 0x20 || p[i] == 0x7f) {
            text_printf(text, "\\u%04x", p[i++]);
        } else if (p[i] < 0x80) {
            text_add_char(text, (char)p[i++]);
        } else {
            size_t n = encode_utf8_size(p + i, size - i);
            text_add_n(text, n ? string + i : "?", n ? n : 1);
            i += n ? n : 1;
        }
    }
    text_add_char(text, '"');
}

static void begin_line(struct text *line, const char *event)
{
    struct timespec now;
    struct tm parts;
    char when[32];
    clock_gettime(CLOCK_REALTIME, &now);
    gmtime_r(&now.tv_sec, &parts);
    strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%S", &parts);
    text_printf(line, "{\"time\":\"%s.%03ldZ\",\"event\":\"%s\"", when, now.tv_nsec / 1000000, event);
}

static void end_line(struct text *line)
{
    text_add(line, "}\n");
    ssize_t written = write(2, line->at, line->size);
    (void)written; /* nobody to tell */
    text_release(line);
}

void log_members(const char *event, const char *members)
{
    struct text line = {0};
    begin_line(&line, event);
    text_printf(&line, ",%s", members);
    end_line(&line);
}

void log_event(const char *event, ...)
{
    struct text line = {0};
    va_list args;
    begin_line(&line, event);
    va_start(args, event);
    for (const char *name; (name = va_arg(args, const char *));) {
        const char *value = va_arg(args, const char *);
        if (!value)
            break;
        text_printf(&line, ",\"%s\":", name);
        log_json_string(&line, value, strlen(value));
    }
    va_end(args);
    end_line(&line);
}
