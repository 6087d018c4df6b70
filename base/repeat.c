/* See repeat.h. */
#include "base/repeat.h"

struct repeat repeat_best(const uint64_t *keys, uint32_t count, uint32_t longest)
{
    struct repeat best = {0};
    uint32_t gain = 0;
    for (uint32_t period = 1; period <= longest && 2 * period <= count; period++)
        for (uint32_t i = period, run = 0; i <= count; i++) {
            if (i < count && keys[i] == keys[i - period]) {
                run++;
                continue;
            }
            uint32_t saved = run / period * period;
            if (saved > gain) {
                gain = saved;
                best = (struct repeat){i - run - period, period, run / period + 1};
            }
            run = 0;
        }
    return best;
}
