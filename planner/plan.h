/* A plan that was written down (plan.json) and parsed, and what it means on a module: replaying it puts its
 * pins, decisions and factors on a context of its mesh and must reach the hash that it states.
 *
 * A parsed plan has been checked for shape alone: groups, axes and factors are names and numbers, looked up
 * when it is replayed. A replay either reaches the plan or refuses with ERROR_INVALID_PLAN; it never leaves
 * out what it does not understand. */
#ifndef TOAST_PLANNER_PLAN_H
#define TOAST_PLANNER_PLAN_H

#include "mcts/search.h"
#include "planner/request.h"
#include "spmd/local.h"

struct planner_decision {
    const char *group, *axis;
    const char *bits;  /* resolution of the group's conflicts, "01"; "" where it has none */
    const char *scope; /* "all", or the part of the program that it holds for */
};
struct planner_factor {
    uint32_t op, factor; /* number of the space, and of the factor in it */
    uint32_t axis_count;
    const char *axes[MESH_MAX_AXES]; /* names, major first */
};
/* what the file says that the plan comes to: for people, checked where the plan states its hash */
struct planner_stated {
    uint32_t index; /* argument's or result's number */
    bool is_result;
    struct plan_sharding sharding; /* axes of the plan's mesh */
    uint32_t place;                /* in the file's list, for messages */
};
struct planner_plan {
    struct mesh mesh;
    const struct planner_constraint *constraints; /* its pins */
    uint32_t constraint_count;
    bool no_module_pins;                 /* the module's own shardings are no pins of it */
    bool pins_completed;                 /* replays start from the pins completed by propagation */
    const struct nda_role_choice *roles; /* by number, of arguments whose name or request decided */
    uint32_t role_count;
    const struct nda_given_rule *rules; /* of custom calls, as the request gave them */
    uint32_t rule_count;
    struct spmd_options walk;
    char device[64];            /* "": none named */
    int64_t memory_limit_bytes; /* of one device; 0: none named */
    const char *found_by;       /* "": none named */
    bool has_hash;
    struct hash128 hash; /* of the plan, when it states one */
    const struct planner_decision *decisions;
    const struct planner_factor *factors;
    uint32_t decision_count, factor_count;
    const struct planner_stated *stated;
    uint32_t stated_count;
    struct arena *arena; /* owns the plan itself and all that it points to */
};
void planner_plan_destroy(struct planner_plan *plan); /* NULL is fine */

/* The plan that it describes, on a context that has its pins already; *out is initialised.
 * ERROR_INVALID_PLAN: a name or number that this context has not, an axis that cannot go where the plan
 * puts it, another hash than the plan states, or (pointer /arguments/3/dims) dims that are not what it
 * comes to, which somebody has edited. */
enum error_code planner_plan_replay(const struct planner_plan *plan, const struct plan_context *context,
                                    struct plan *out, struct error *e) BASE_CHECKED;
/* A plan without hash, whose decisions may have been edited: the first argument or result whose dims the
 * file states otherwise than `reached`, as "/arguments/3/dims"; false: there is none. */
bool planner_plan_differs(const struct planner_plan *plan, const struct plan_context *context,
                          const struct plan *reached, char *pointer, size_t room);
/* The context with the plan's pins and the plan on it, for a prepared program's analysis; both owned
 * and independent of *plan. ERROR_INVALID_CONSTRAINT (a pin), ERROR_INVALID_PLAN. */
enum error_code planner_plan_apply(const struct planner_plan *plan, const struct nda *n,
                                   struct plan_context **context, struct plan *out,
                                   struct error *e) BASE_CHECKED;
/* The decisions as the context numbers them, at most `room`. ERROR_INVALID_PLAN: there are more, or one is
 * not of this context. */
enum error_code planner_plan_decisions(const struct planner_plan *plan, const struct plan_context *context,
                                       struct plan_decision *out, uint32_t room, uint32_t *count,
                                       struct error *e) BASE_CHECKED;
/* The factors as the context numbers them, one axis each, in order, of a plan that planner_plan_replay
 * took. out->at: owned. */
void planner_plan_factors(const struct planner_plan *plan, const struct plan_context *context,
                          struct plan_factors *out);
/* Both of a plan that planner_plan_replay took: decisions into out, factors (owned by the caller:
 * beyond->at), to which out refers. ERROR_INVALID_PLAN as planner_plan_decisions. */
enum error_code planner_plan_list(const struct planner_plan *plan, const struct plan_context *context,
                                  struct search_plan *out, struct plan_factors *beyond,
                                  struct error *e) BASE_CHECKED;

#endif
