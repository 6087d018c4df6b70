/* Tables on narrow screens: each cell of a wide table says its column's name (html.h). */
#include "report/html.h"

#include <stdlib.h>
#include <string.h>

enum { WIDE_COLUMNS = 5, MAX_COLUMNS = 32 }; /* four columns fit a phone */

struct columns {
    struct text names[MAX_COLUMNS]; /* as escaped text */
    uint32_t count;
};

/* the end of the element that begins at `at`: behind its </name>, or `end` */
static const char *behind(const char *at, const char *end, const char *closing)
{
    const char *found = strstr(at, closing);
    return found && found < end ? found + strlen(closing) : end;
}

/* the text of an element, markup left out */
static void add_content(const char *at, const char *end, struct text *out)
{
    text_add(out, "");
    for (bool inside = false; at < end; at++) {
        inside |= *at == '<';
        if (!inside)
            text_add_char(out, *at);
        inside &= *at != '>';
    }
}

/* the heads of a table that begins at `at` */
static void read_columns(const char *at, const char *end, struct columns *columns)
{
    columns->count = 0;
    for (const char *head = strstr(at, "<th"); head && head < end; head = strstr(head + 1, "<th")) {
        if (head[3] != '>' && head[3] != ' ') /* <thead> */
            continue;
        if (columns->count == MAX_COLUMNS) {
            columns->count = 0;
            return;
        }
        const char *content = strchr(head, '>') + 1;
        struct text *name = &columns->names[columns->count++];
        name->size = 0;
        add_content(content, strstr(content, "</th>"), name);
    }
}

/* the rows between `at` and `end`, their cells named */
static void add_rows(const char *at, const char *end, const struct columns *columns, struct text *out)
{
    uint32_t column = 0;
    while (at < end) {
        const char *next = strchr(at + 1, '<');
        if (!next || next > end)
            next = end;
        bool cell = strncmp(at, "<td", 3) == 0 && (at[3] == '>' || at[3] == ' ');
        column = strncmp(at, "<tr", 3) == 0 ? 0 : column;
        if (cell && column < columns->count && columns->names[column].size) {
            text_add(out, "<td data-column=\"");
            text_add_n(out, columns->names[column].at, columns->names[column].size);
            text_add_char(out, '"');
            at += 3;
        }
        column += cell;
        text_add_n(out, at, (size_t)(next - at));
        at = next;
    }
}

void html_name_cells(struct text *text, size_t from)
{
    struct text out = {0};
    struct columns columns = {.count = 0};
    const char *at = text->at + from, *end = text->at + text->size;
    for (const char *table; (table = strstr(at, "<table")) != NULL;) {
        const char *rows = behind(table, end, "</thead>"), *after = behind(table, end, "</table>");
        columns.count = 0;
        if (rows < after)
            read_columns(table, rows, &columns);
        if (columns.count < WIDE_COLUMNS) {
            text_add_n(&out, at, (size_t)(after - at));
        } else {
            text_add_n(&out, at, (size_t)(rows - at));
            add_rows(rows, after, &columns, &out);
        }
        at = after;
    }
    text_add_n(&out, at, (size_t)(end - at));
    text->size = from;
    text_add_n(text, out.at ? out.at : "", out.size);
    for (uint32_t i = 0; i < MAX_COLUMNS; i++)
        text_release(&columns.names[i]);
    text_release(&out);
}
