/* A whole session in this process: begin, search, settle, until it is over. */
#include "cfn/solve.h"

#include "cfn/session.h"

enum error_code cfn_solve(const struct cfn_problem *problem, const struct cfn_budget *budget,
                          struct cfn_answer *out, struct error *e)
{
    struct cfn_session session;
    enum error_code code = cfn_session_begin(&session, problem, budget, e);
    while (code == ERROR_OK && !session.over) {
        cfn_search_run(&session.search);
        code = cfn_session_settle(&session, false, e);
    }
    *out = session.answer;
    session.answer = (struct cfn_answer){0};
    cfn_session_release(&session);
    return code;
}
