/* segments.tar; see archive.h. */
#include "planner/archive.h"

#include "base/tar.h"
#include "ir/print.h"
#include "planner/proof.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_SIZE = 80 };

struct archive {
    struct segments_programs programs;
    char (*digests)[SEGMENTS_DIGEST_SIZE]; /* one a program */
    enum verify_status *proofs;            /* likewise; where proved */
    uint32_t *collectives;
    bool proved;
    uint64_t seed;
    struct text files; /* what follows the manifest */
};

/* ---- programs ---- */

static uint32_t count_collectives(const struct spmd_local *local)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < local->step_count; i++)
        count += spmd_step_is_collective(&local->steps[i]);
    return count;
}

static enum error_code prove(struct archive *archive, uint32_t i, const struct plan *plan,
                             const struct spmd_local *local, struct error *e)
{
    const struct segments_original *original = segments_original_of(&archive->programs, i);
    struct planner_proof proof;
    TRY(planner_proof_run(&original->piece.program, original->context, plan, local, archive->seed, NULL,
                          &proof, e));
    archive->proofs[i] = proof.status;
    if (proof.status != VERIFY_PROOF_DIFFERENT)
        return ERROR_OK;
    struct text name = {0};
    segments_program_text(&archive->programs, i, &name);
    error_set(e, ERROR_INTERNAL, "the program of %.100s is not equal to its segment: %.300s", name.at,
              proof.reason);
    text_release(&name);
    return ERROR_INTERNAL;
}

/* collectives, and the proof where one is wanted */
static enum error_code look_at(struct archive *archive, uint32_t i, struct error *e)
{
    struct plan plan = {0};
    struct spmd_local local = {0};
    enum error_code code = segments_program_walk(&archive->programs, i, &plan, &local, e);
    if (code == ERROR_OK) {
        archive->collectives[i] = count_collectives(&local);
        if (archive->proved)
            code = prove(archive, i, &plan, &local, e);
    }
    spmd_local_release(&local);
    plan_release(&plan);
    return code;
}

static bool is_new(const struct archive *archive, uint32_t i)
{
    for (uint32_t k = 0; k < i; k++)
        if (strcmp(archive->digests[k], archive->digests[i]) == 0)
            return false;
    return true;
}

static enum error_code add_program(struct archive *archive, uint32_t i, struct error *e)
{
    struct text text = {0};
    char path[PATH_SIZE];
    TRY(look_at(archive, i, e));
    enum error_code code = segments_program_write(&archive->programs, i, &text, archive->digests[i], e);
    if (code == ERROR_OK && is_new(archive, i)) {
        snprintf(path, sizeof path, "programs/%s.mlir", archive->digests[i]);
        tar_add(&archive->files, path, text.at, text.size);
    }
    text_release(&text);
    return code;
}

static void add_original(struct archive *archive, const struct segments_original *original)
{
    struct text text = {0};
    char path[PATH_SIZE];
    ir_print(&original->piece.program, &text);
    snprintf(path, sizeof path, "originals/%s.mlir", original->digest);
    tar_add(&archive->files, path, text.at, text.size);
    text_release(&text);
}

/* ---- the manifest ---- */

static void write_values(const struct segments_original *original, bool results, struct text *out)
{
    const struct nda *n = original->piece.nda;
    const struct ir_program *program = n->program;
    uint32_t count = results ? original->piece.result_count : original->piece.argument_count;
    text_printf(out, "\"%s\": [", results ? "results" : "arguments");
    for (uint32_t i = 0; i < count; i++) {
        uint32_t value =
            results ? n->slots[n->spaces[n->result_spaces[i]].slots].value : n->arguments[i].value;
        text_printf(out, "%s\"%s\"", i ? ", " : "", ir_string(program, ir_value_type(program, value)->text));
    }
    text_add(out, "]");
}

static void write_axes(const struct mesh *mesh, uint32_t axes, struct text *out)
{
    const char *comma = "";
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        if (axes >> axis & 1) {
            text_printf(out, "%s\"%s\"", comma, mesh->axes[axis].name);
            comma = ", ";
        }
}

static void write_head(const struct archive *archive, const char *module_digest, struct text *out)
{
    const struct segments *segments = archive->programs.segments;
    const struct mesh *mesh = plan_context_mesh(archive->programs.context);
    text_printf(out, "{\"format\": \"toast-segments 1\",\n \"module\": \"%s\",\n \"mesh\": [", module_digest);
    for (uint32_t axis = 0; axis < mesh->axis_count; axis++)
        text_printf(out, "%s{\"name\": \"%s\", \"size\": %lld}", axis ? ", " : "", mesh->axes[axis].name,
                    (long long)mesh->axes[axis].size);
    text_printf(out, "],\n \"devices\": %lld,\n \"strategies_over\": [", (long long)mesh_devices(mesh));
    write_axes(mesh, archive->programs.inner, out);
    text_add(out, "],\n \"batch_over\": [");
    write_axes(mesh, archive->programs.outer, out);
    text_printf(out, "],\n \"equation_7\": %llu,\n \"kinds\": [", (unsigned long long)segments->programs);
    for (uint32_t i = 0; i < segments->kind_count; i++) {
        const struct segments_original *original = &archive->programs.kinds[i];
        text_printf(out, "%s\n  {\"segment\": \"%s\", \"instances\": %u, \"blocks\": %u, ", i ? "," : "",
                    original->digest, segments->kinds[i].instances,
                    segments->segments[original->segments[0]].count);
        text_printf(out, "\"configurations\": %llu, ", (unsigned long long)segments->kinds[i].configurations);
        write_values(original, false, out);
        text_add(out, ", ");
        write_values(original, true, out);
        text_add(out, "}");
    }
    text_add(out, "],\n \"pairs\": [");
    for (uint32_t i = 0; i < segments->pair_count; i++) {
        const struct segments_pair *pair = &segments->pairs[i];
        text_printf(out,
                    "%s\n  {\"segment\": \"%s\", \"instances\": %u, \"from\": {\"kind\": %u, \"block\": %u}, "
                    "\"to\": {\"kind\": %u, \"block\": %u}, ",
                    i ? "," : "", archive->programs.pairs[i].digest, pair->instances, pair->from_kind,
                    pair->from_block, pair->to_kind, pair->to_block);
        write_values(&archive->programs.pairs[i], false, out);
        text_add(out, "}");
    }
}

static void write_manifest(const struct archive *archive, const char *module_digest, struct text *out)
{
    write_head(archive, module_digest, out);
    text_add(out, "],\n \"programs\": [");
    for (uint32_t i = 0; i < archive->programs.count; i++) {
        const struct segments_program *program = &archive->programs.at[i];
        text_printf(out,
                    "%s\n  {\"digest\": \"%s\", \"segment\": \"%s\", \"%s\": %u, \"%s\": %u, \"name\": \"",
                    i ? "," : "", archive->digests[i], segments_original_of(&archive->programs, i)->digest,
                    program->is_pair ? "pair" : "kind", program->of,
                    program->is_pair ? "strategies" : "configuration", program->number);
        segments_program_text(&archive->programs, i, out);
        text_printf(out, "\", \"collectives\": %u%s%s%s}", archive->collectives[i],
                    archive->proved ? ", \"proof\": \"" : "",
                    archive->proved ? verify_status_text(archive->proofs[i]) : "",
                    archive->proved ? "\"" : "");
    }
    text_add(out, "]}\n");
}

/* ---- all ---- */

static enum error_code fill(struct archive *archive, struct error *e)
{
    const struct segments *segments = archive->programs.segments;
    archive->digests = mem_zalloc((size_t)archive->programs.count + 1, sizeof *archive->digests);
    archive->proofs = mem_zalloc((size_t)archive->programs.count + 1, sizeof *archive->proofs);
    archive->collectives = mem_zalloc((size_t)archive->programs.count + 1, sizeof *archive->collectives);
    for (uint32_t i = 0; i < archive->programs.count; i++)
        TRY(add_program(archive, i, e));
    for (uint32_t i = 0; i < segments->kind_count; i++)
        add_original(archive, &archive->programs.kinds[i]);
    for (uint32_t i = 0; i < segments->pair_count; i++)
        add_original(archive, &archive->programs.pairs[i]);
    tar_end(&archive->files);
    return ERROR_OK;
}

enum error_code planner_archive_write(const struct plan_context *context, const char module_digest[65],
                                      bool prove_all, uint64_t seed, struct text *out, struct error *e)
{
    struct archive archive = {.proved = prove_all, .seed = seed};
    struct text manifest = {0};
    TRY(segments_programs_create(context, &archive.programs, e));
    enum error_code code = fill(&archive, e);
    if (code == ERROR_OK) {
        write_manifest(&archive, module_digest, &manifest);
        tar_add(out, "programs.json", manifest.at, manifest.size);
        text_add_n(out, archive.files.at, archive.files.size);
    }
    text_release(&manifest);
    text_release(&archive.files);
    free(archive.digests);
    free(archive.proofs);
    free(archive.collectives);
    segments_programs_release(&archive.programs);
    return code;
}
