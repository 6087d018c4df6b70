/* A store (store/store.h) in memory, for one simulated run: put and get, and blobs that are lost on
 * purpose. */
#ifndef TOAST_TESTS_SIMULATION_MEMORY_STORE_H
#define TOAST_TESTS_SIMULATION_MEMORY_STORE_H

#include "store/store.h"

struct store *memory_store_create(void); /* store_destroy */
/* false: it was not there */
bool memory_store_lose(struct store *store, const char *digest);
bool memory_store_has(struct store *store, const char *digest);

#endif
