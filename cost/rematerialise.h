/* What a compiler computes again near the limit (rematerialise.c). */
#ifndef TOAST_COST_REMATERIALISE_H
#define TOAST_COST_REMATERIALISE_H

#include "cost/internal.h"

/* After price_memory, of the line's peak as it stands in *out: sets scratch->kept_bytes, what is still held
 * there when all that is worth it is computed again; nothing where the peak is far from the limit. */
void price_find_kept(struct price_scratch *scratch, const struct spmd_local *local,
                     const struct cost_machine *machine, const struct price *out);
/* kept.c: .. at the time `now` of the line, of values that are no arguments */
int64_t price_kept_least(struct price_scratch *scratch, const struct spmd_local *local, uint32_t now);
void price_kept_destroy(struct price_kept *kept); /* NULL is fine */
/* Near the limit: takes from peak_bytes what is computed again, rematerialised_bytes. */
void price_rematerialise(const struct price_scratch *scratch, const struct cost_machine *machine,
                         struct price *out);
/* adds what computing that takes */
void price_add_rematerialised(const struct cost_machine *machine, struct price *out);

#endif
