/* The peak by what it is made of, and three estimates: how many devices if everything that is held were
 * split further, how much rematerialisation could take away at most, which batch would do. Each scales a
 * part of the peak and leaves the rest as it is, so they are where to look next, not promises; a way that
 * cannot be enough says so. */
#include "report/advice.h"

#include <stdlib.h>
#include <string.h>

static uint32_t batch_color(const struct nda *n, int64_t *size)
{
    for (uint32_t color = 0; color < n->color_count; color++)
        if (n->colors[color].roles & NDA_COLOR_BATCH) {
            *size = n->factors[n->color_factors[n->colors[color].factors]].size;
            return color;
        }
    return NDA_NONE;
}

static bool has_batch(const struct nda *n, uint32_t value)
{
    uint32_t slot = n->value_def_slot[value];
    for (uint32_t i = 0; slot != NDA_NONE && i < nda_atom_count(n, value); i++) {
        uint32_t color = nda_slot_color(n, slot, i);
        if (color != NDA_NONE && n->colors[color].roles & NDA_COLOR_BATCH)
            return true;
    }
    return false;
}

/* devices over which the plan splits the batch where it splits it most */
static int64_t batch_shards(const struct plan_context *context, const struct spmd_local *local)
{
    const struct nda *n = plan_context_nda(context);
    const struct mesh *mesh = plan_context_mesh(context);
    int64_t most = 1;
    for (uint32_t i = 0; i < local->value_count; i++) {
        const struct spmd_value *value = &local->values[i];
        uint32_t slot = n->value_def_slot[value->origin];
        int64_t shards = 1;
        for (uint32_t axis = 0; slot != NDA_NONE && axis < mesh->axis_count; axis++) {
            if (value->form.at[axis] >= nda_atom_count(n, value->origin))
                continue;
            uint32_t color = nda_slot_color(n, slot, value->form.at[axis]);
            if (color != NDA_NONE && n->colors[color].roles & NDA_COLOR_BATCH)
                shards *= mesh->axes[axis].size;
        }
        most = shards > most ? shards : most;
    }
    return most;
}

/* what holds the bytes of a value alive at the peak */
static enum report_part part_of(const struct nda *n, const struct spmd_local *local, uint32_t value)
{
    const struct ir_value *origin = &n->program->values[local->values[value].origin];
    bool boundary = value < local->argument_count;
    if (origin->op == IR_NONE && origin->block == n->block) {
        enum nda_role role = (enum nda_role)n->arguments[origin->index].role;
        if (!boundary)
            return REPORT_PART_GATHERED; /* another version of an argument */
        return role == NDA_ROLE_PARAMETER   ? REPORT_PART_PARAMETERS
               : role == NDA_ROLE_OPTIMIZER ? REPORT_PART_OPTIMIZER
                                            : REPORT_PART_DATA;
    }
    return REPORT_PART_MADE;
}

void report_find_advice(const struct plan_context *context, const struct spmd_local *local,
                        const struct price_held *held, struct report *report)
{
    const struct nda *n = plan_context_nda(context);
    const struct cost_machine *machine = evaluator_machine(report->evaluator);
    struct report_advice *advice = &report->advice;
    /* what the compiler computes again near the limit it computes because of what it has to hold: less of
     * that, and it computes less again */
    int64_t limit = report->memory_limit_bytes,
            peak = report->price.peak_bytes + report->price.rematerialised_bytes;
    const struct price_live *live = held->live;
    for (uint32_t i = 0; i < held->live_count; i++) {
        enum report_part part = part_of(n, local, live[i].value);
        advice->parts[part] += live[i].bytes;
        if (part != REPORT_PART_PARAMETERS && part != REPORT_PART_OPTIMIZER && part != REPORT_PART_GATHERED &&
            has_batch(n, local->values[live[i].value].origin))
            advice->batch_bytes += live[i].bytes;
    }
    int64_t kept = advice->parts[REPORT_PART_PARAMETERS] + advice->parts[REPORT_PART_OPTIMIZER] +
                   advice->parts[REPORT_PART_DATA];
    advice->kept_bytes = kept;
    advice->device_bytes = machine->device.memory_bytes;
    /* twice as many devices, and again, until what is held would fit if all of it were split over them */
    int64_t devices = mesh_devices(plan_context_mesh(context));
    advice->devices = devices;
    for (int64_t split = report->price.peak_bytes; split > limit && advice->devices < MESH_MAX_DEVICES;
         split /= 2)
        advice->devices *= 2;
    int64_t batch = 0, without = peak - advice->batch_bytes;
    if (batch_color(n, &batch) != NDA_NONE && advice->batch_bytes > 0) {
        int64_t shards = batch_shards(context, local), most = 0;
        if (without < limit)
            most = (int64_t)((double)batch * (double)(limit - without) / (double)advice->batch_bytes);
        advice->batch = batch;
        advice->smaller_batch =
            most / shards * shards; /* 0: no batch that the plan could split is small enough */
        advice->batch_shards = shards;
    }
}

static const char *part_name(enum report_part part)
{
    switch (part) {
    case REPORT_PART_PARAMETERS: return "parameters";
    case REPORT_PART_OPTIMIZER: return "optimizer state";
    case REPORT_PART_DATA: return "data and caches";
    case REPORT_PART_GATHERED: return "arguments in other forms (gathered)";
    case REPORT_PART_MADE: return "activations, gradients, temporaries";
    case REPORT_PARTS: break;
    }
    return "";
}

static void add_devices(const struct report_advice *advice, int64_t now, struct text *text)
{
    const struct report_larger *larger = &advice->larger;
    char step[32], peak[32];
    if (larger->mesh[0]) {
        report_time(larger->step_ps, step);
        report_bytes(larger->peak_bytes, peak);
        text_printf(text, "devices: %lld instead of %lld, as %s: %s fits there with %s and takes %s\n",
                    (long long)larger->devices, (long long)now, larger->mesh,
                    larger->plan[0] ? larger->plan : "a plan of these decisions", peak, step);
        return;
    }
    text_printf(
        text, "devices: %lld instead of %lld are the fewest that could hold it, if all of it splits further",
        (long long)advice->devices, (long long)now);
    if (larger->devices)
        text_printf(text, "; no expert's plan that was tried fits on up to %lld either",
                    (long long)larger->devices);
    text_add(text, "\n");
}

static void add_batch(const struct report_advice *advice, struct text *text)
{
    char step[32], peak[32];
    report_time(advice->batch_step_ps, step);
    report_bytes(advice->batch_peak_bytes, peak);
    if (!advice->batch)
        return;
    if (advice->batch_tried && advice->smaller_batch)
        text_printf(text, "a smaller batch: %lld instead of %lld: this plan fits then with %s and takes %s\n",
                    (long long)advice->smaller_batch, (long long)advice->batch, peak, step);
    else if (advice->batch_tried)
        text_printf(text, "a smaller batch is not enough: with %lld instead of %lld it still takes %s\n",
                    (long long)advice->batch_least, (long long)advice->batch, peak);
    else if (advice->smaller_batch)
        text_printf(text, "a smaller batch: some %lld instead of %lld, not tried\n",
                    (long long)advice->smaller_batch, (long long)advice->batch);
    else
        text_printf(
            text,
            "a smaller batch is not enough: not even one example on each of the %lld devices that share it\n",
            (long long)advice->batch_shards);
}

void report_advice_lines(const struct report *report, struct text *text)
{
    const struct report_advice *advice = &report->advice;
    const struct mesh *mesh = plan_context_mesh(evaluator_context(report->evaluator));
    char bytes[32], kept[32], device[32];
    int64_t over = report->price.peak_bytes + report->price.rematerialised_bytes - report->memory_limit_bytes,
            need = report->smallest_budget_bytes;
    int64_t made = advice->parts[REPORT_PART_MADE] + advice->parts[REPORT_PART_GATHERED];
    if (need <= advice->device_bytes) {
        report_bytes(advice->device_bytes, device);
        text_printf(text, "the limit: with --memory-limit %lld this plan fits; a device has %s\n",
                    (long long)need, device);
    }
    add_devices(advice, mesh_devices(mesh), text);
    report_bytes(made, bytes);
    report_bytes(advice->kept_bytes, kept);
    if (advice->kept_bytes >= report->memory_limit_bytes)
        text_printf(
            text, "rematerialisation (jax.checkpoint) is not enough: what is kept from step to step is %s\n",
            kept);
    else
        text_printf(text,
                    "rematerialisation (jax.checkpoint) of the layers: %.0f %% of the %s that are made on "
                    "the way have "
                    "to go\n",
                    100 * (double)over / (double)(made > over ? made : over), bytes);
    add_batch(advice, text);
    char confirm[300];
    report_confirming(report, "DIR/", confirm, sizeof confirm);
    text_printf(text,
                "the compiler's own word, as all of this is an estimate: %s (DIR: where these files are)\n",
                confirm);
}

void report_text_advice(const struct report *report, struct text *text)
{
    char need[32], over[32], bytes[32];
    if (!report->smallest_budget_bytes)
        return;
    report_bytes(report->smallest_budget_bytes, need);
    report_bytes(report->smallest_budget_bytes - report->memory_limit_bytes, over);
    text_add(text, "\nNothing fits\n------------\n");
    text_printf(text, "The best plan found needs %s a device, %s over the limit. Its peak is made of\n", need,
                over);
    for (int part = 0; part < REPORT_PARTS; part++) {
        if (report->advice.parts[part] == 0)
            continue;
        report_bytes(report->advice.parts[part], bytes);
        text_printf(text, "%12s  %s\n", bytes, part_name((enum report_part)part));
    }
    if (report->price.rematerialised_bytes) {
        report_bytes(report->price.rematerialised_bytes, bytes);
        text_printf(text, "%12s  less: what the compiler computes again near the limit\n", bytes);
    }
    text_add(text, "(the largest tensors are listed below). Ways out, estimated, one at a time:\n");
    struct text lines = {0};
    report_advice_lines(report, &lines);
    for (char *line = strtok(lines.at, "\n"); line; line = strtok(NULL, "\n"))
        text_printf(text, "- %s\n", line);
    text_release(&lines);
}
