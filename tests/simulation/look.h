/* What the judge looks at around a call: who holds the task that it names, before; what clients would see of
 * every job, after. Commands go out with the call (wire.h), replies are read here. */
#ifndef TOAST_TESTS_SIMULATION_LOOK_H
#define TOAST_TESTS_SIMULATION_LOOK_H

#include "world.h"

/* the task that a call names, or "" */
const char *look_member(const struct wire_call *call);
/* a function after which every job is as it was */
bool look_changes_nothing(const char *name);
bool look_terminal(const char *state);

/* wire_world's; user is the world. Before: two looks, for the holder of look_member and who does it a second
 * time, and for the end of its lease. After: two for each job, its hash and its entry in the archive. */
int look_before(void *user, const struct wire_call *call, struct wire_look *looks);
int look_after(void *user, const struct wire_call *call, struct wire_look *looks);
/* element i of a reply; "" when there is none */
const char *look_text(const redisReply *reply, size_t i);
/* the two replies about a job (entry may be NULL); last: what was known, for what the archive does not say */
void look_read(const redisReply *hash, const redisReply *entry, const struct job_seen *last,
               struct job_seen *out);

#endif
