/* Disjoint sets of numbers (union-find with path halving): parent[i] == i at roots. A caller that keeps facts
 * of its sets at their roots may join them itself and use set_find alone. */
#ifndef TOAST_BASE_SETS_H
#define TOAST_BASE_SETS_H

#include <stdint.h>

uint32_t set_find(uint32_t *parent, uint32_t i);
/* the smaller root stays root, so roots are the first members */
void set_join(uint32_t *parent, uint32_t a, uint32_t b);
uint32_t *set_create(uint32_t count); /* each number alone; owned (free) */

#endif
