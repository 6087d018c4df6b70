/* What is found in a program, as the paper prints and draws it: the listing with the names of dimensions
 * (figures 4a, 4b, 4c and 5a, 5c) and the dimension graph (figures 5d and 6). For people and tests. */
#ifndef TOAST_ANALYSIS_NDA_NAMES_H
#define TOAST_ANALYSIS_NDA_NAMES_H

#include "analysis/nda.h"

/* What names are joined by before they are printed. */
enum nda_names_level {
    NDA_NAMES_FRESH,      /* nothing: each definition and use has its own; the paper, figure 4a */
    NDA_NAMES_IDENTITIES, /* I, each op's rule; the paper, figures 4b, 5c */
    NDA_NAMES_COLORS      /* I and M; the paper, figures 4c, 5a */
};
enum { NDA_NAMES_LEVELS = 3 };
const char *nda_names_level_name(enum nda_names_level level);           /* "fresh", "identities", "colors" */
bool nda_names_level_find(const char *word, enum nda_names_level *out); /* false: no such word */

/* The program, a line a space (arguments, ops with regions before their end, results), each tensor with its
 * names: `%3 : [G, H] = stablehlo.dot_general(%0 : [A1, B1], %1 : [C1, D1])`. A definition's names are
 * letters, a use's are its definition's with the number of the use. Several atoms of a dimension stand as
 * A*B, a dimension of size 1 as 1. Below each line are its entries of M (`A -> A1`) and, of fresh names, its
 * identities (`G = A1`). With identities conflicts and boxes follow, of crossed ones the path. */
void nda_names_text(const struct nda *n, enum nda_names_level level, struct text *out);

/* The factors of colors with conflicts, named as in the listing of identities, and the edges of M among them
 * (black), conflicts (red), boxes (blue; dashed when crossed) and paths across (orange), for Graphviz. */
void nda_dot(const struct nda *n, struct text *out);

#endif
