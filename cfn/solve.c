/* A whole session in this process: begin, search, settle, until it is over. */
#include "cfn/solve.h"

#include "cfn/session.h"

enum error_code cfn_solve(const struct cfn_problem *p, const struct cfn_budget *budget,
                          struct cfn_answer *out, struct error *e)
{
    struct cfn_session s;
    enum error_code code = cfn_session_begin(&s, p, budget, e);
    while (code == ERROR_OK && !s.over) {
        cfn_search_run(&s.search);
        code = cfn_session_settle(&s, false, e);
    }
    *out = s.answer;
    s.answer = (struct cfn_answer){0};
    cfn_session_release(&s);
    return code;
}
