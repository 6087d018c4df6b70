/* Looking up formats of pretty forms, and reading their words and braces (forms.h). */
#include "ir/forms.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct {
    const char *dialects, *names, *format;
} table[] = {
#define IR_FORM(dialects, names, format) {dialects, names, format},
#include "ir/forms.def"
#undef IR_FORM
};

/* is `word` one of the space-separated words? */
static bool listed(const char *words, const char *word, size_t size)
{
    for (const char *at = words; *at;) {
        size_t n = strcspn(at, " ");
        if (n == size && memcmp(at, word, n) == 0)
            return true;
        at += n + (at[n] == ' ');
    }
    return false;
}

const char *ir_form_find(const char *name)
{
    const char *dot = strchr(name, '.');
    for (unsigned i = 0; dot && i < sizeof table / sizeof *table; i++)
        if (listed(table[i].dialects, name, (size_t)(dot - name)) &&
            listed(table[i].names, dot + 1, strlen(dot + 1)))
            return table[i].format;
    return NULL;
}

const char *ir_form_keyword(const char *format, char word[32])
{
    size_t n = 0;
    for (format++; *format != '\''; format++)
        if (n < 31)
            word[n++] = *format;
    word[n] = 0;
    return format;
}

const char *ir_form_braces(const char *format, struct ir_form_item *item)
{
    char *parts[3] = {item->attr, item->second, item->third};
    size_t sizes[3] = {sizeof item->attr, sizeof item->second, sizeof item->third}, n = 0;
    memset(item, 0, sizeof *item);
    for (unsigned k = 0; *++format != '}';) {
        if (*format == '|') {
            k++;
            n = 0;
        } else if (n + 1 < sizes[k]) {
            parts[k][n++] = *format;
        }
    }
    return format;
}
