/* The contest's problem (ASPLOS/EuroSys 2025, intra-operator parallelism): every node takes one value
 * ("strategy"); minimise the sum of node and edge costs; at every time the summed usage of the nodes alive
 * then is at most the limit.
 *
 *     node i    alive in [lower, upper), values 0..domain-1, each with a cost and a usage
 *     edge e    cost matrix indexed value[first] * domain(second) + value[second]; parallel edges both count,
 * a self-edge uses value * domain + value; an edge over one node is a further node cost
 *
 * Matrices with equal entries are stored once. Plain data, immutable after cfn_problem_read. */
#ifndef TOAST_CFN_PROBLEM_H
#define TOAST_CFN_PROBLEM_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

enum { CFN_NO_NODE = -1 };

struct cfn_node {
    int64_t lower, upper; /* half-open; equal = holds nothing */
    uint64_t first_value; /* into costs and usages */
    int32_t domain;       /* >= 1 */
};

struct cfn_edge {
    int32_t first, second; /* second = CFN_NO_NODE: an edge over one node */
    uint32_t matrix;
};

struct cfn_matrix {
    uint64_t start, count; /* into entries */
};

struct cfn_problem {
    char name[64];
    uint32_t node_count, edge_count, matrix_count;
    uint64_t value_count, entry_count;
    struct cfn_node *nodes;
    int64_t *costs, *usages; /* by value; usages >= 0 */
    struct cfn_edge *edges;
    struct cfn_matrix *matrices;
    int64_t *entries;
    int64_t limit; /* >= 0; INT64_MAX when the problem has none */
    int has_limit;
};

/* Reads contest JSON (keys in any order, unknown ones skipped; {"problem": ..} or the problem itself; "nodes"
 * may be left out around intervals, costs and usages). Owned by the caller: cfn_problem_release in any case.
 * ERROR_INVALID_JSON: not JSON. ERROR_INVALID_REQUEST: JSON, but no problem (ragged, out of range, negative
 * usage, an interval with lower > upper, an edge over three nodes or more ..). Both with a JSON pointer, and
 * the byte offset in the message. */
enum error_code cfn_problem_read(const char *text, size_t size, struct cfn_problem *out,
                                 struct error *e) BASE_CHECKED;

/* The same of a file: plain files are mapped, gzip is expanded (at most 2 GiB). Also ERROR_IO,
 * ERROR_TOO_LARGE. */
enum error_code cfn_problem_open(const char *path, struct cfn_problem *out, struct error *e) BASE_CHECKED;

void cfn_problem_release(struct cfn_problem *problem); /* zeroed is fine */

#endif
