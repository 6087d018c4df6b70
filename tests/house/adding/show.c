/* What test_adding.py asks of a build with a new op: `show READER MODULE` reads and analyses the module and
 * prints each op with its factors, as `toast analyze --rules` does. Status 1, and the error, when it is
 * refused. */
#include "analysis/nda.h"
#include "base/file.h"
#include "ir/prepare.h"
#include "ir/read.h"

#include <stdio.h>

enum { MAX_BYTES = 1 << 20 };

int main(int argc, char **argv)
{
    struct error error = {0};
    struct ir_program image = {0}, program = {0};
    struct nda *nda = NULL;
    struct text rules = {0};
    char *text = NULL;
    size_t size = 0;
    if (argc != 3)
        return 2;
    ir_read_program(argv[1]);
    if (file_read(argv[2], MAX_BYTES, &text, &size, &error) != ERROR_OK ||
        ir_read(text, size, NULL, &image, &error) != ERROR_OK ||
        ir_prepare(&image, &program, &error) != ERROR_OK ||
        nda_create(&program, NULL, &nda, &error) != ERROR_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    for (uint32_t space = 0; space < nda->space_count; space++) {
        if (nda->spaces[space].kind != NDA_SPACE_OP)
            continue;
        text_printf(&rules, "%s ", ir_op_name(nda->program, nda->spaces[space].op));
        nda_rule_text(nda, space, &rules);
        text_add_char(&rules, '\n');
    }
    printf("%s", rules.at ? rules.at : "");
    for (uint32_t i = 0; i < nda->warning_count; i++)
        printf("warning: %s\n", nda->warnings[i]);
    return 0;
}
