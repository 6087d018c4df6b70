/* How a grouped convolution is split otherwise than the plan says. XLA's partitioner (jaxlib 0.4.38 to
 * 0.10.2, found by the truth tests) ends itself where features within a group are split, and adds up too much
 * where a sum over the batch in groups (the weights' gradient) is split over some axes and others do nothing
 * there:
 *
 *     batch over data=4, model=2 idle     the gradient is added over all 8 devices: twice what it is
 *
 * Such idle axes split the batch, too (each device keeps a part of what it has), where they divide it; else
 * the batch is whole. */
#ifndef TOAST_EMIT_GROUPED_H
#define TOAST_EMIT_GROUPED_H

#include "emit/build.h"
#include "emit/emit.h"

struct grouped {
    struct emit_axes whole, added; /* along these it is not split; these split the batch as well */
    uint8_t batch;                 /* an axis that does already, where there are added ones */
};

/* of any step: of what is no grouped convolution, nothing is otherwise */
struct grouped grouped_of(const struct emit *e, const struct spmd_step *step);
static inline bool grouped_is_other(const struct grouped *grouped)
{
    return grouped->whole.count || grouped->added.count;
}
/* the form of an operand or result of the step */
struct spmd_form grouped_form(const struct emit *e, uint32_t value, const struct grouped *grouped);
/* spmd_emit_add_grouped; how many were added */
uint32_t grouped_add(const struct emit *e, struct spmd_constraints *list);

#endif
