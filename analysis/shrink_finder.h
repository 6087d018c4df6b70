/* Inside shrink.c and its families of ops: two union-finds over atoms, what each op demands of them, and the
 * words that families say it in. Every function is of the space that is looked at (finder->space), whose
 * slots are numbered from 0. */
#ifndef TOAST_ANALYSIS_SHRINK_FINDER_H
#define TOAST_ANALYSIS_SHRINK_FINDER_H

#include "analysis/shrink_shifts.h"

struct shrink_range { /* an atom that stands for a dimension, of nda->atoms */
    uint32_t first, last;
};
struct shrink_finder {
    const struct nda *n;
    const struct nda_space *space;
    uint32_t *parent, *group;
    uint32_t *kept;   /* by atom: the op for whose sake it stays as it is; NDA_NONE: it need not */
    int64_t *divides; /* by atom: what the divisor must divide besides sizes; 0: anything */
    int64_t *least;   /* by atom: the fewest elements that it may have */
    bool *divided;    /* by atom: some op has it in a ratio to another */
    VEC(struct nda_shrink_shift) shifts;
    VEC(struct shrink_range) dims;
    VEC(struct nda_shrink_product) products; /* of atoms, until groups are numbered */
    VEC(uint32_t) members;
};

const struct ir_type *shrink_slot_type(const struct shrink_finder *finder, uint32_t k);
int64_t shrink_dim_size(const struct shrink_finder *finder, uint32_t k, uint32_t dim);
/* the atoms of a dim of slot k; false: none (a dim of one element) */
bool shrink_dim_atoms(const struct shrink_finder *finder, uint32_t k, uint32_t dim, struct shrink_range *out);
/* no factor that can be told to be one with another's is behind the atom */
bool shrink_is_loose(const struct shrink_finder *finder, uint32_t k, uint32_t atom);
/* stays whole for the op's sake; all: also what factors tie */
void shrink_keep_atom(struct shrink_finder *finder, uint32_t at);
void shrink_keep_dim(struct shrink_finder *finder, uint32_t k, uint32_t dim);
void shrink_keep_space(struct shrink_finder *finder, bool all);
/* one dimension of two slots, although the rule leaves it to each */
void shrink_join_dims(struct shrink_finder *finder, uint32_t k, uint32_t l, uint32_t dim);
/* dimensions of one divisor: between begin and end each is named. false: the dim is one element and cannot be
 * divided, so that its partners stay whole. offset: the divisor divides it, too. */
void shrink_relate_begin(struct shrink_finder *finder);
bool shrink_relate_dim(struct shrink_finder *finder, uint32_t k, uint32_t dim);
void shrink_relate_end(struct shrink_finder *finder, bool possible, int64_t offset);
/* families */
void shrink_find_convolution(struct shrink_finder *finder);
void shrink_find_reduce_window(struct shrink_finder *finder);

#endif
