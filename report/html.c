/* Escaping, figures and number formats; see html.h. What goes into a page as text cannot become markup. */
#include "report/html.h"

#include "base/encode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

extern const unsigned char report_svg_style[];

void html_text(struct text *text, const char *string)
{
    const unsigned char *at = (const unsigned char *)string;
    while (*at) {
        size_t n = encode_utf8_size(at, SIZE_MAX);
        if (n != 1 || *at >= 0x20 || *at == '\n' || *at == '\t')
            switch (*at) {
            case '&': text_add(text, "&amp;"); break;
            case '<': text_add(text, "&lt;"); break;
            case '>': text_add(text, "&gt;"); break;
            case '"': text_add(text, "&quot;"); break;
            case '\'': text_add(text, "&#39;"); break;
            default:
                if (n && *at != 0x7f)
                    text_add_n(text, (const char *)at, n);
                else
                    text_add(text, "\xef\xbf\xbd");
            }
        else
            text_add(text, "\xef\xbf\xbd");
        at += n ? n : 1;
    }
}

/* one conversion other than %s: spec is "%..x" */
static void add_number(struct text *text, const char *spec, va_list *args)
{
    size_t n = strlen(spec);
    char conversion = spec[n - 1];
    bool wide = n > 3 && spec[n - 2] == 'l' && spec[n - 3] == 'l', longer = n > 2 && spec[n - 2] == 'l',
         size = spec[n - 2] == 'z';
    char out[400];
    if (strchr("fge", conversion))
        snprintf(out, sizeof out, spec, va_arg(*args, double));
    else if (wide)
        snprintf(out, sizeof out, spec, va_arg(*args, long long));
    else if (longer)
        snprintf(out, sizeof out, spec, va_arg(*args, long));
    else if (size)
        snprintf(out, sizeof out, spec, va_arg(*args, size_t));
    else
        snprintf(out, sizeof out, spec, va_arg(*args, int));
    text_add(text, out);
}

/* "%s", or "%.12s": the first bytes of it */
static void add_string(struct text *text, const char *spec, const char *string)
{
    if (spec[1] != '.') {
        html_text(text, string);
        return;
    }
    char *part = mem_strndup(string, strnlen(string, (size_t)strtoul(spec + 2, NULL, 10)));
    html_text(text, part);
    free(part);
}

void html_add(struct text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    for (const char *at = format; *at;) {
        size_t plain = strcspn(at, "%");
        text_add_n(text, at, plain);
        at += plain;
        if (!*at)
            break;
        size_t n = strcspn(at + 1, "sducfgex%") + 2;
        char spec[16];
        snprintf(spec, sizeof spec, "%.*s", (int)n, at);
        if (spec[n - 1] == '%')
            text_add_char(text, '%');
        else if (spec[n - 1] == 's')
            add_string(text, spec, va_arg(args, const char *));
        else
            add_number(text, spec, &args);
        at += n;
    }
    va_end(args);
}

/* a link that saves the picture: the same drawing with its own colours, in the address itself */
static void add_download(struct text *text, const char *id, const struct text *svg)
{
    struct text own = {0};
    const char *first = strchr(svg->at, '>') + 1;
    text_add_n(&own, svg->at, (size_t)(first - svg->at));
    text_printf(&own, "<style>%s</style><rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>%s",
                (const char *)report_svg_style, first);
    char *base64 = mem_alloc(4 * ((own.size + 2) / 3) + 1);
    encode_base64(own.at, own.size, base64);
    html_add(
        text,
        "<a class=\"save\" download=\"%s.svg\" aria-label=\"Save %s.svg\" href=\"data:image/svg+xml;base64,",
        id, id);
    text_add(text, base64);
    text_add(text, "\">SVG</a>");
    free(base64);
    text_release(&own);
}

void html_figure(struct text *text, const char *id, const char *title, const char *caption,
                 const struct text *svg)
{
    html_add(text, "<figure id=\"%s\" class=\"card\"><figcaption><h2>%s</h2>", id, title);
    add_download(text, id, svg);
    if (*caption)
        html_add(text, "<p>%s</p>", caption);
    html_add(text, "</figcaption><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"%s\">",
             title);
    text_add_n(text, svg->at, svg->size);
    text_add(text, "</div>");
}

void html_figure_end(struct text *text)
{
    text_add(text, "</figure>\n");
}

void html_details(struct text *text, const char *summary, uint32_t count)
{
    char number[32];
    html_add(text, "<details><summary>%s", summary);
    if (count) {
        html_count(count, number);
        html_add(text, " <span class=\"count\">%s</span>", number);
    }
    html_add(text, "</summary><div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"%s\">",
             summary);
}

void html_details_end(struct text *text)
{
    text_add(text, "</div></details>");
}

void html_count(uint64_t n, char out[32])
{
    char digits[24];
    int size = snprintf(digits, sizeof digits, "%llu", (unsigned long long)n);
    char *at = out;
    for (int i = 0; i < size; i++) {
        if (i && (size - i) % 3 == 0)
            *at++ = ',';
        *at++ = digits[i];
    }
    *at = 0;
}

void html_format_count(double value, char out[32])
{
    html_count(value > 0 ? (uint64_t)(value + 0.5) : 0, out);
}

static void scaled(double value, const char *const *units, int count, char out[32])
{
    int u = 0;
    while (u + 1 < count && value >= 1000) {
        value /= 1000;
        u++;
    }
    snprintf(out, 32, "%.4g %s", value, units[u]);
}

void html_format_bytes(double value, char out[32])
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
    scaled(value, units, 6, out);
}

void html_format_time(double value, char out[32])
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    if (value == 0)
        snprintf(out, 32, "0");
    else
        scaled(value / 1000, units, 4, out);
}

void html_format_number(double value, char out[32])
{
    snprintf(out, 32, "%.4g", value);
}
