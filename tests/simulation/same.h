/* Whether two replies say the same, as far as Redis promises: members of a set and fields of a hash come in
 * any order, the text of an error is nobody's business but for what client code looks for. */
#ifndef TOAST_TESTS_SIMULATION_SAME_H
#define TOAST_TESTS_SIMULATION_SAME_H

#include <hiredis/hiredis.h>

/* Ends the process with both where they differ. */
void replies_same(const char *command, const redisReply *redis, const redisReply *mini);

#endif
