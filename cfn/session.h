/* Solving as a chain of searches that may be put aside: which reading of the costs is at work, its network
 * and search, the answer so far. solve.h runs one to its end in this process; workers/problems.c runs one
 * across processes.
 *
 *     begin -> (next -> work 0 and 1 -> join of s->search)* until over
 *
 * The first reading takes costs of CFN_LARGE and above as infinite; when it finds nothing below them, a
 * second takes all as finite. */
#ifndef TOAST_CFN_SESSION_H
#define TOAST_CFN_SESSION_H

#include "cfn/answer.h"
#include "cfn/search.h"

struct text;

struct cfn_session {
    const struct cfn_problem *problem; /* borrowed */
    const struct cfn_budget *budget;   /* borrowed */
    struct cfn_answer answer;
    __int128 large; /* no assignment with a cost of CFN_LARGE or above costs less */
    bool over, cut;
    int32_t reading; /* 0: large costs infinite; 1: all finite */
    /* when not over: */
    struct cfn_network *network;
    struct cfn_model model;
    struct cfn_search search;
};

/* Decides feasibility, then reduces the first reading's network. Errors as cfn_solve; cfn_session_release in
 * any case. */
enum error_code cfn_session_begin(struct cfn_session *session, const struct cfn_problem *problem,
                                  const struct cfn_budget *budget, struct error *e) BASE_CHECKED;
/* The search has ended (cfn_search_next said so): its result into the answer, then over or the next reading.
 * Also what a search that was put aside knows: early is true. */
enum error_code cfn_session_settle(struct cfn_session *session, bool early, struct error *e) BASE_CHECKED;
/* A phase of the search is at hand, or all is over: cfn_search_next, and cfn_session_settle where that says
 * no. */
enum error_code cfn_session_next(struct cfn_session *session, struct error *e) BASE_CHECKED;
void cfn_session_release(struct cfn_session *session); /* zeroed is fine */

/* The session between two phases as bytes (appended), and back: into one that was begun, of the same problem
 * and budget. ERROR_INVALID_REQUEST: not its bytes. */
void cfn_session_write(const struct cfn_session *session, struct text *out);
enum error_code cfn_session_read(struct cfn_session *session, const void *bytes, size_t size,
                                 struct error *e) BASE_CHECKED;

#endif
