/* Advice that was tried: where nothing fits, the largest of some smaller batches with which the plan does.
 *
 * The batch is cut to its divisors as a proof's dimensions are (planner/shrunken.h), and the plan is
 * walked and priced over the smaller program: at the peak there may be gradients and other things that a
 * batch has no part in, so that scaling the bytes that have it promises too much. */
#include "planner/parts.h"
#include "planner/shrunken.h"

#include <stdlib.h>

/* the first atom of an argument that has the batch; NDA_NONE: none has */
static uint32_t batch_atom(const struct nda *n)
{
    for (uint32_t i = 0; i < n->argument_count; i++) {
        uint32_t value = n->arguments[i].value, slot = n->value_def_slot[value];
        for (uint32_t k = 0; slot != NDA_NONE && k < nda_atom_count(n, value); k++) {
            uint32_t color = nda_slot_color(n, slot, k);
            if (color != NDA_NONE && n->colors[color].roles & NDA_COLOR_BATCH)
                return n->value_atoms[value] + k;
        }
    }
    return NDA_NONE;
}

struct batches {
    const struct planner_job *j;
    const struct plan *plan;
    const struct spmd_local *local; /* its */
    struct nda_shrink shrink;
    struct price_scratch *scratch;
    int64_t *sizes; /* by class */
    uint32_t class; /* of the batch */
};

/* the plan's price with the batch divided; false: the program cannot be cut like this */
static bool price_divided(struct batches *batches, int64_t divisor, struct price *out)
{
    const struct nda_shrink *shrink = &batches->shrink;
    struct planner_shrunken smaller;
    struct error e = {0};
    for (uint32_t i = 0; i < shrink->class_count; i++) {
        bool with = shrink->classes[i].group == shrink->classes[batches->class].group;
        batches->sizes[i] = shrink->classes[i].size / (with ? divisor : 1);
    }
    if (planner_shrunken_create(shrink, batches->sizes, false, batches->j->context, batches->local, &smaller,
                                &e) != ERROR_OK)
        return false;
    struct spmd_local local = {.values = NULL};
    bool walked = spmd_walk(smaller.context, batches->plan, evaluator_options(batches->j->evaluator), &local,
                            &e) == ERROR_OK;
    if (walked)
        price_local(&local, &batches->j->machine, &batches->scratch, NULL, out);
    spmd_local_release(&local);
    planner_shrunken_release(&smaller);
    return walked;
}

/* divisors of the batch that leave every device a part, smallest first; how many (at most room) */
static uint32_t list_divisors(const struct batches *batches, int64_t *out, uint32_t room)
{
    const struct nda_shrink_class *class = &batches->shrink.classes[batches->class];
    int64_t divides = batches->shrink.divides[class->group];
    uint32_t count = 0;
    for (int64_t divisor = 2; divisor <= class->size / class->shards && count < room; divisor++)
        if (divides % divisor == 0 && class->size / divisor % class->shards == 0)
            out[count++] = divisor;
    return count;
}

enum { DIVISORS = 64 };

/* The smallest divisor that fits, as memory falls with the batch: of the middle one, then of a half. */
static void search_divisors(struct batches *batches, struct report *report)
{
    int64_t divisors[DIVISORS];
    uint32_t count = list_divisors(batches, divisors, DIVISORS), low = 0, high = count;
    struct report_advice *advice = &report->advice;
    struct price price, best = {.peak_bytes = 0}, least = {.peak_bytes = 0};
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (!price_divided(batches, divisors[middle], &price))
            return;
        if (price.peak_bytes <= report->memory_limit_bytes) {
            high = middle;
            best = price;
        } else {
            low = middle + 1;
            least = price;
        }
    }
    if (count == 0)
        return;
    advice->batch_tried = true;
    advice->smaller_batch = low < count ? advice->batch / divisors[low] : 0;
    advice->batch_step_ps = low < count ? best.step_ps : least.step_ps;
    advice->batch_peak_bytes = low < count ? best.peak_bytes : least.peak_bytes;
    if (low == count)
        advice->batch_least = advice->batch / divisors[count - 1];
}

static bool prepare(struct batches *batches)
{
    int64_t *shards = planner_shrink_shards(batches->local);
    uint32_t atom = batch_atom(batches->j->nda);
    nda_shrink_create(batches->j->nda, shards, &batches->shrink);
    free(shards);
    if (atom == NDA_NONE)
        return false;
    batches->class = batches->shrink.class_of[atom];
    batches->sizes = mem_alloc((batches->shrink.class_count + 1) * sizeof *batches->sizes);
    return batches->shrink.kept_by[batches->shrink.classes[batches->class].group] == NDA_NONE;
}

enum error_code planner_find_smaller(const struct planner_job *j, struct report *report, struct error *e)
{
    struct plan plan;
    struct spmd_local local = {.values = NULL};
    if (!report->smallest_budget_bytes || !report->advice.batch)
        return ERROR_OK;
    plan_init(&plan, j->nda, &j->request->mesh);
    struct batches batches = {.j = j, .plan = &plan, .local = &local};
    enum error_code code = search_plan_replay(j->context, &report->plan, &plan)
                               ? spmd_walk(j->context, &plan, evaluator_options(j->evaluator), &local, e)
                               : error_set(e, ERROR_INTERNAL, "the plan does not replay to its hash");
    if (code == ERROR_OK && prepare(&batches))
        search_divisors(&batches, report);
    if (code == ERROR_OK)
        nda_shrink_release(&batches.shrink);
    free(batches.sizes);
    price_scratch_destroy(batches.scratch);
    spmd_local_release(&local);
    plan_release(&plan);
    return code;
}
