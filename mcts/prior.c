/* Which action first. An action's weight comes from what it did so far, wherever it was taken: its gain
 * alone at the root, and for every edge of the tree whose two ends are priced the gain from one to the
 * other. Counting how often an action gained, not how much, keeps first steps (halving the time) and last
 * steps (one percent) on one scale. */
#include "mcts/core.h"

#include <stdlib.h>

/* Chosen, not tuned one by one. Together they keep priors flat: sharp ones walk into the trap of t2b_scan,
 * 3.3 % behind at every seed (docs/performance.md, What each part is worth). */
static const double believed_unknown = 0.5, believed_loss = 0.25; /* chance of a gain before any try */
static const double believed_weight = 2;                          /* tries that this belief counts as */
static const double first_place = 0.7;                            /* `first` against `last` */
static const double floor_weight = 0.3;                           /* of an action that never gained */
static const double least_noise = 0.5;                            /* weights are multiplied by 0.5 .. 1.5 */

struct record {
    uint32_t tries, gains;
};
struct ranked {
    double key;
    uint32_t action;
};

static void count_edges(const struct core_task *task, struct record *records)
{
    const struct tree *tree = &task->snapshot->tree;
    for (size_t i = 0; i < tree->edges.count; i++) {
        const struct tree_edge *edge = &tree->edges.at[i];
        const struct tree_node *from = &tree->nodes.at[edge->node];
        if (edge->action == TREE_STOP || edge->child == from->state || from->value == TREE_UNKNOWN)
            continue;
        uint32_t child = tree_find(tree, edge->child);
        if (child == TREE_NONE || tree->nodes.at[child].value == TREE_UNKNOWN)
            continue;
        records[edge->action].tries++;
        records[edge->action].gains += tree->nodes.at[child].value - REWARD_DEPTH > from->value;
    }
}

static int by_key(const void *left, const void *right)
{
    const struct ranked *ranked = left, *other_ranked = right;
    if (ranked->key != other_ranked->key)
        return ranked->key > other_ranked->key ? -1 : 1;
    return ranked->action < other_ranked->action ? -1 : ranked->action > other_ranked->action;
}

void core_prior_fill(struct core_task *task)
{
    uint32_t actions = core_action_count(task->search);
    struct record *records = mem_zalloc(actions, sizeof *records);
    struct ranked *ranked = mem_zalloc(actions, sizeof *ranked);
    count_edges(task, records);
    int32_t most = 1;
    for (uint32_t i = 0; i < task->search->domain->decision_count; i++)
        if (task->snapshot->gains[i] > most)
            most = task->snapshot->gains[i];
    double sum = 0;
    for (uint32_t a = 0; a < actions; a++) {
        int32_t gain = task->snapshot->gains[a / 2];
        double believed = gain == TREE_UNKNOWN ? believed_unknown
                          : gain > 0           ? 0.5 + 0.5 * gain / most
                                               : believed_loss;
        double often = (records[a].gains + believed_weight * believed) / (records[a].tries + believed_weight);
        double place = a % 2 == TREE_FIRST ? first_place : 1;
        if (task->search->tuning.last_only && a % 2 == TREE_FIRST)
            place = 0;
        if (task->search->tuning.uniform_prior)
            often = 1;
        double weight = (floor_weight + often) * place * (least_noise + rng_unit(&task->rng));
        task->prior[a] = weight;
        sum += weight;
    }
    for (uint32_t a = 0; a < actions; a++) {
        task->prior[a] /= sum;
        ranked[a] = (struct ranked){task->prior[a], a};
    }
    if (actions)
        qsort(ranked, actions, sizeof *ranked, by_key);
    for (uint32_t i = 0; i < actions; i++)
        task->order[i] = ranked[i].action;
    free(records);
    free(ranked);
}

uint32_t core_prior_draw(struct core_task *task)
{
    double u = rng_unit(&task->rng);
    uint32_t actions = core_action_count(task->search);
    for (uint32_t i = 0; i < actions; i++) {
        u -= task->prior[task->order[i]];
        if (u < 0)
            return task->order[i];
    }
    return task->order[0];
}
