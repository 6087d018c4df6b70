/* One item at a time: what several items of a value need together is not looked at. The sum of everyone's
 * least is made anew in each round, until a round drops nothing. */
#include "cfn/fits.h"

#include <string.h>

static int64_t least_use(const struct cfn_model *model, int32_t i, const struct cfn_model_item *item,
                         const uint8_t *mask)
{
    int64_t least = INT64_MAX;
    for (int32_t a = 0; a < model->size[i]; a++)
        if (!mask[model->offset[i] + (size_t)a] && item->use[a] < least)
            least = item->use[a];
    return least;
}

/* false: a node has nothing left */
static bool sum_least(const struct cfn_model *model, const uint8_t *mask, int64_t *least)
{
    int64_t sum = 0;
    memset(least, 0, ((size_t)model->time_count + 1) * sizeof *least);
    for (int32_t i = 0; i < model->node_count; i++)
        for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++) {
            int64_t use = least_use(model, i, &model->items[k], mask);
            if (use == INT64_MAX)
                return false;
            least[model->items[k].left] += use;
            least[model->items[k].right] -= use;
        }
    for (int32_t time = 0; time < model->time_count; time++) {
        sum += least[time];
        least[time] = model->base[time] + sum;
    }
    return true;
}

static bool item_fits(const struct cfn_model *model, const int64_t *least, const struct cfn_model_item *item,
                      int64_t more)
{
    for (int32_t t = item->left; t < item->right; t++)
        if (least[t] + more > model->limit)
            return false;
    return true;
}

/* of the item's values beyond its least; -> whether any went */
static bool drop_of_item(const struct cfn_model *model, int32_t i, const struct cfn_model_item *item,
                         int64_t item_least, const int64_t *least, uint8_t *mask)
{
    int64_t worst = INT64_MAX; /* what fits, everything below it fits, too */
    bool any = false;
    for (int32_t a = 0; a < model->size[i]; a++) {
        uint8_t *gone = &mask[model->offset[i] + (size_t)a];
        int64_t use = item->use[a];
        if (*gone || use == item_least)
            continue;
        if (use >= worst || !item_fits(model, least, item, use - item_least)) {
            worst = use < worst ? use : worst;
            *gone = 1;
            any = true;
        }
    }
    return any;
}

bool cfn_fits_drop(const struct cfn_model *model, uint8_t *mask, int64_t *least, uint64_t *work)
{
    bool any = true;
    while (any) {
        any = false;
        if (!sum_least(model, mask, least))
            return false;
        for (int32_t i = 0; i < model->node_count; i++)
            for (uint32_t k = model->first_item[i]; k < model->first_item[i + 1]; k++) {
                int64_t item_least = least_use(model, i, &model->items[k], mask);
                any |= drop_of_item(model, i, &model->items[k], item_least, least, mask);
            }
        *work += (uint64_t)model->time_count + 8ull * model->first_item[model->node_count];
    }
    for (int32_t time = 0; time < model->time_count; time++)
        if (least[time] > model->limit)
            return false;
    return true;
}
