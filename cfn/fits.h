/* Which values of a part of the model still have room: beside the least that all other nodes use there, at
 * every time. What goes is in no assignment of that part within the limit. */
#ifndef TOAST_CFN_FITS_H
#define TOAST_CFN_FITS_H

#include "cfn/model.h"

/* Marks values in the mask (by padded value, not 0: gone) until all that are left fit; false: no assignment
 * does. least: scratch, time_count + 1. *work grows by the table entries that it counts as. */
bool cfn_fits_drop(const struct cfn_model *model, uint8_t *mask, int64_t *least, uint64_t *work);

#endif
