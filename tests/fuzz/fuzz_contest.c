/* Contest JSON: a problem, and behind a NUL perhaps a solution. What is read can be evaluated. */
/* links: cfn */
#include "fuzz.h"

#include "cfn/evaluate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t length = end ? (size_t)(end - data) : size;
    char *text = mem_alloc(length);
    struct cfn_problem problem = {0};
    struct cfn_verdict verdict;
    struct error e = {0};
    int32_t *values;
    memcpy(text, data, length);
    enum error_code code = cfn_problem_read(text, length, &problem, &e);
    FUZZ_CHECK(code == ERROR_OK || (e.code == code && e.message[0]));
    FUZZ_CHECK(code == ERROR_OK || code == ERROR_INVALID_JSON || code == ERROR_INVALID_REQUEST);
    if (code == ERROR_OK) {
        values = mem_zalloc(problem.node_count, sizeof *values);
        FUZZ_CHECK(cfn_evaluate(&problem, values, &verdict, &e) == ERROR_OK);
        free(values);
        if (end &&
            cfn_solution_read(&problem, (const char *)end + 1, size - length - 1, &values, &e) == ERROR_OK) {
            code = cfn_evaluate(&problem, values, &verdict, &e);
            FUZZ_CHECK(code == ERROR_OK);
            free(values);
        }
    }
    cfn_problem_release(&problem);
    free(text);
    return 0;
}
