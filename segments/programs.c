/* Programs of segments and of pairs; see programs.h. */
#include "segments/programs.h"

#include "base/memory.h"
#include "emit/emit.h"
#include "ir/print.h"

#include <stdlib.h>
#include <string.h>

void segments_digest(const char *text, size_t size, char digest[SEGMENTS_DIGEST_SIZE])
{
    uint8_t bytes[32];
    char whole[65];
    sha256_bytes(text, size, bytes);
    sha256_format(bytes, whole);
    memcpy(digest, whole, SEGMENTS_DIGEST_SIZE - 1);
    digest[SEGMENTS_DIGEST_SIZE - 1] = 0;
}

/* ---- originals ---- */

/* segment of an op of @main's block: of the first contraction in it, else of its first space with an owner */
static uint32_t segment_of_op(const struct segments *segments, uint32_t op)
{
    const struct ir_program *program = segments->nda->program;
    uint32_t block = NDA_NONE;
    for (uint32_t region = 0; region < program->ops[op].region_count; region++) {
        uint32_t body = ir_region_block(program, op, region);
        for (uint32_t i = 0; body != IR_NONE && i < program->blocks[body].op_count; i++) {
            uint32_t segment = segment_of_op(segments, program->block_ops[program->blocks[body].ops + i]);
            if (segment != NDA_NONE)
                return segment;
        }
    }
    uint32_t first = segments->nda->op_space[op];
    for (uint32_t i = 0; first != NDA_NONE && block == NDA_NONE && i < segments->nda->op_space_count[op]; i++)
        block = segments->owner[first + i];
    return block == NDA_NONE ? NDA_NONE : segments->segment_of[block];
}

static enum error_code finish_original(const struct segments_programs *programs,
                                       struct segments_original *original, struct error *e)
{
    struct text text = {0};
    ir_print(&original->piece.program, &text);
    segments_digest(text.at, text.size, original->digest);
    text_release(&text);
    return plan_context_create(original->piece.nda, plan_context_mesh(programs->context), NULL, 0,
                               &original->context, e);
}

static enum error_code make_kind(struct segments_programs *programs, uint32_t kind, struct error *e)
{
    const struct segments *segments = programs->segments;
    const struct nda *n = segments->nda;
    const struct ir_block *block = &n->program->blocks[n->block];
    struct segments_original *original = &programs->kinds[kind];
    uint8_t *members = mem_zalloc((size_t)n->program->op_count + 1, 1);
    original->segments[0] = original->segments[1] = segments->kinds[kind].example;
    for (uint32_t i = 0; i < block->op_count; i++) {
        uint32_t op = n->program->block_ops[block->ops + i];
        members[op] = segment_of_op(segments, op) == original->segments[0];
    }
    enum error_code code = segments_piece_create(n, members, &original->piece, e);
    free(members);
    return code == ERROR_OK ? finish_original(programs, original, e) : code;
}

/* block that makes the value; NDA_NONE: an argument, or nobody's */
static uint32_t maker_of(const struct segments_programs *programs, uint32_t value)
{
    const struct nda *n = programs->segments->nda;
    uint32_t slot = n->value_def_slot[value];
    if (slot == NDA_NONE || n->spaces[programs->readers.space_of_slot[slot]].kind == NDA_SPACE_ARGUMENT)
        return NDA_NONE;
    return programs->segments->owner[programs->readers.space_of_slot[slot]];
}

/* the first operand slot of a value in a space of the block; NDA_NONE */
static uint32_t reader_in_block(const struct segments_programs *programs, uint32_t value, uint32_t block)
{
    const struct segments_readers *readers = &programs->readers;
    for (uint32_t i = readers->start[value]; i < readers->start[value + 1]; i++)
        if (programs->segments->owner[readers->space_of_slot[readers->slots[i]]] == block)
            return readers->slots[i];
    return NDA_NONE;
}

/* the same in a segment, of the block that a pair of its kind names where one reads it */
static uint32_t reader_in_segment(const struct segments_programs *programs, uint32_t value, uint32_t segment)
{
    const struct segments *segments = programs->segments;
    const struct segments_segment *it = &segments->segments[segment];
    uint32_t best = NDA_NONE;
    for (uint32_t i = 0; i < segments->pair_count; i++) {
        const struct segments_pair *pair = &segments->pairs[i];
        uint32_t slot = NDA_NONE;
        if (pair->to_kind == it->kind)
            slot = reader_in_block(programs, value, it->first + pair->to_block);
        if (slot == NDA_NONE && pair->from_kind == it->kind)
            slot = reader_in_block(programs, value, it->first + pair->from_block);
        best = slot < best ? slot : best; /* NDA_NONE is the largest */
    }
    for (uint32_t i = 0; best == NDA_NONE && i < it->count; i++)
        best = reader_in_block(programs, value, it->first + i);
    return best;
}

static enum error_code make_pair(struct segments_programs *programs, uint32_t pair, struct error *e)
{
    const struct segments *segments = programs->segments;
    const struct segments_dependence *it = &segments->dependences[segments->pairs[pair].example];
    struct segments_original *original = &programs->pairs[pair];
    VEC(uint32_t) values = {0};
    for (int end = 0; end < 2; end++) {
        original->blocks[end] = segments->contractions[end ? it->to : it->from].block;
        original->segments[end] = segments->segment_of[original->blocks[end]];
    }
    for (uint32_t value = 0; value < segments->nda->program->value_count; value++)
        for (int end = 0; end < 2; end++)
            if (maker_of(programs, value) == original->blocks[end] &&
                reader_in_block(programs, value, original->blocks[!end]) != NDA_NONE)
                VEC_PUSH(&values, value);
    enum error_code code =
        segments_piece_values(segments->nda, values.at, (uint32_t)values.count, &original->piece, e);
    VEC_FREE(&values);
    return code == ERROR_OK ? finish_original(programs, original, e) : code;
}

/* ---- all of them ---- */

static void index_readers(const struct nda *n, struct segments_readers *out)
{
    out->space_of_slot = mem_zalloc((size_t)n->slot_count + 1, sizeof *out->space_of_slot);
    out->slots = mem_zalloc((size_t)n->slot_count + 1, sizeof *out->slots);
    out->start = mem_zalloc((size_t)n->program->value_count + 2, sizeof *out->start);
    for (uint32_t space = 0; space < n->space_count; space++)
        for (uint32_t k = 0; k < n->spaces[space].slot_count; k++) {
            uint32_t slot = n->spaces[space].slots + k;
            out->space_of_slot[slot] = space;
            if (!n->slots[slot].is_result)
                out->start[n->slots[slot].value + 1]++;
        }
    for (uint32_t value = 0; value < n->program->value_count; value++)
        out->start[value + 1] += out->start[value];
    for (uint32_t slot = 0; slot < n->slot_count; slot++) /* slots are in the order of spaces */
        if (!n->slots[slot].is_result)
            out->slots[out->start[n->slots[slot].value]++] = slot;
    for (uint32_t value = n->program->value_count; value > 0; value--)
        out->start[value] = out->start[value - 1];
    out->start[0] = 0;
}

static void list_programs(struct segments_programs *programs)
{
    const struct segments *segments = programs->segments;
    programs->at = mem_zalloc(segments->programs + 1, sizeof *programs->at);
    for (uint32_t kind = 0; kind < segments->kind_count; kind++)
        for (uint32_t i = 0; i < segments->kinds[kind].configurations; i++)
            programs->at[programs->count++] = (struct segments_program){false, kind, i};
    for (uint32_t pair = 0; pair < segments->pair_count; pair++) {
        uint32_t rows = segments_strategy_count(segments, programs->pairs[pair].blocks[0]);
        uint32_t columns = segments_strategy_count(segments, programs->pairs[pair].blocks[1]);
        for (uint32_t i = 0; i < (rows ? rows : 1) * (columns ? columns : 1); i++)
            programs->at[programs->count++] = (struct segments_program){true, pair, i};
    }
    BASE_CHECK(programs->count == segments->programs);
}

enum error_code segments_programs_create(const struct plan_context *context, struct segments_programs *out,
                                         struct error *e)
{
    const struct nda *n = plan_context_nda(context);
    const struct mesh *mesh = plan_context_mesh(context);
    uint32_t all, layouts[SEGMENTS_LAYOUTS];
    *out = (struct segments_programs){.context = context};
    if (segments_layouts(mesh, &all, layouts) == 0)
        return error_set(e, ERROR_NOT_AVAILABLE, "segments have no programs on a mesh of one device");
    out->inner = layouts[0];
    out->outer = all & ~layouts[0];
    segments_of_layout(n, mesh, out->inner, 0, 0, &out->segments);
    const struct segments *segments = out->segments;
    out->base = mem_zalloc((size_t)segments->segment_count + 1, sizeof *out->base);
    out->now = mem_zalloc((size_t)segments->segment_count + 1, sizeof *out->now);
    out->kinds = mem_zalloc((size_t)segments->kind_count + 1, sizeof *out->kinds);
    out->pairs = mem_zalloc((size_t)segments->pair_count + 1, sizeof *out->pairs);
    plan_init(&out->whole, n, mesh);
    segments_base(segments, out->base);
    memcpy(out->now, out->base, segments->segment_count * sizeof *out->now);
    index_readers(n, &out->readers);
    enum error_code code = ERROR_OK;
    if (!segments->block_count)
        code = error_set(e, ERROR_NOT_AVAILABLE,
                         "the module has no contractions: it has no segments to measure");
    for (uint32_t kind = 0; kind < segments->kind_count && code == ERROR_OK; kind++)
        code = make_kind(out, kind, e);
    for (uint32_t pair = 0; pair < segments->pair_count && code == ERROR_OK; pair++)
        code = make_pair(out, pair, e);
    if (code == ERROR_OK)
        list_programs(out);
    else
        segments_programs_release(out);
    return code;
}

static void release_original(struct segments_original *original)
{
    plan_context_destroy(original->context);
    segments_piece_release(&original->piece);
}

void segments_programs_release(struct segments_programs *programs)
{
    for (uint32_t i = 0; programs->segments && i < programs->segments->kind_count; i++)
        release_original(&programs->kinds[i]);
    for (uint32_t i = 0; programs->segments && i < programs->segments->pair_count; i++)
        release_original(&programs->pairs[i]);
    free(programs->kinds);
    free(programs->pairs);
    free(programs->at);
    free(programs->base);
    free(programs->now);
    free(programs->readers.space_of_slot);
    free(programs->readers.start);
    free(programs->readers.slots);
    plan_release(&programs->whole);
    segments_destroy(programs->segments);
    *programs = (struct segments_programs){0};
}

const struct segments_original *segments_original_of(const struct segments_programs *programs, uint32_t i)
{
    return programs->at[i].is_pair ? &programs->pairs[programs->at[i].of]
                                   : &programs->kinds[programs->at[i].of];
}

/* ---- plans ---- */

/* A factor by where it stands: the atom of another slot of the same tensor that begins at the same place. */
static uint32_t same_atom(const struct nda *from, uint32_t slot, uint32_t atom, const struct nda *to,
                          uint32_t other)
{
    const struct nda_atom *atoms = nda_atoms(from, from->slots[slot].value);
    const struct nda_atom *others = nda_atoms(to, to->slots[other].value);
    int64_t before = 1;
    for (uint32_t k = 0; k < atom; k++)
        before *= atoms[k].dim == atoms[atom].dim ? atoms[k].size : 1;
    for (uint32_t k = 0; k < nda_atom_count(to, to->slots[other].value); k++) {
        if (others[k].dim != atoms[atom].dim)
            continue;
        if (before == 1)
            return nda_slot_factor(to, other, k);
        if (before % others[k].size)
            return NDA_NONE;
        before /= others[k].size;
    }
    return NDA_NONE;
}

struct transfer {
    const struct nda *from, *to;
    const struct plan *whole;
    const struct plan_context *context;
    struct plan *plan;
};

/* the axes of one slot's factors in the whole plan to those of a slot in the piece's space */
static void transfer_slot(const struct transfer *transfer, uint32_t slot, uint32_t from_space, uint32_t other,
                          uint32_t to_space)
{
    const struct plan_cell *cells = plan_space(transfer->whole, from_space);
    const struct nda *from = transfer->from, *to = transfer->to;
    for (uint32_t position = 0; position < transfer->whole->axis_count; position++)
        for (uint32_t axis = 0; axis < transfer->whole->axis_count; axis++) {
            if (cells[axis].factor == NDA_NO_FACTOR || cells[axis].position != position)
                continue;
            uint32_t wanted = from->spaces[from_space].factors + cells[axis].factor;
            for (uint32_t atom = 0; atom < nda_atom_count(from, from->slots[slot].value); atom++) {
                if (nda_slot_factor(from, slot, atom) != wanted)
                    continue;
                uint32_t factor_index = same_atom(from, slot, atom, to, other);
                if (factor_index != NDA_NONE)
                    plan_apply_factor(transfer->context, transfer->plan, to_space,
                                      factor_index - to->spaces[to_space].factors, axis);
            }
        }
}

static void transfer_space(const struct transfer *transfer, uint32_t from_space, uint32_t to_space)
{
    const struct nda_space *from = &transfer->from->spaces[from_space], *to = &transfer->to->spaces[to_space];
    for (uint32_t k = 0; k < from->slot_count && k < to->slot_count; k++)
        transfer_slot(transfer, from->slots + k, from_space, to->slots + k, to_space);
}

static void transfer_ops(const struct transfer *transfer, const struct segments_piece *piece)
{
    const struct nda *from = transfer->from, *to = transfer->to;
    for (uint32_t op = 0; op < piece->program.op_count; op++) {
        uint32_t whole = piece->op_from[op];
        if (whole == IR_NONE || from->op_space[whole] == NDA_NONE || to->op_space[op] == NDA_NONE)
            continue;
        for (uint32_t i = 0; i < from->op_space_count[whole] && i < to->op_space_count[op]; i++)
            transfer_space(transfer, from->op_space[whole] + i, to->op_space[op] + i);
    }
}

static void transfer_boundary(const struct transfer *transfer, const struct segments_programs *programs,
                              const struct segments_original *original, bool is_pair)
{
    const struct segments_piece *piece = &original->piece;
    const struct nda *from = transfer->from, *to = transfer->to;
    const uint32_t *space_of_slot = programs->readers.space_of_slot;
    for (uint32_t i = 0; i < piece->argument_count; i++) {
        uint32_t value = piece->arguments[i], slot = from->value_def_slot[value];
        if (!is_pair && from->program->values[value].op != IR_NONE)
            slot = reader_in_segment(programs, value, original->segments[0]);
        if (slot != NDA_NONE)
            transfer_slot(transfer, slot, space_of_slot[slot], to->spaces[to->arguments[i].space].slots,
                          to->arguments[i].space);
    }
    for (uint32_t i = 0; i < piece->result_count; i++) {
        uint32_t value = piece->results[i], slot = from->value_def_slot[value];
        if (is_pair) {
            slot = reader_in_block(programs, value, original->blocks[0]);
            if (slot == NDA_NONE || maker_of(programs, value) == original->blocks[0])
                slot = reader_in_block(programs, value, original->blocks[1]);
        }
        if (slot != NDA_NONE)
            transfer_slot(transfer, slot, space_of_slot[slot], to->spaces[to->result_spaces[i]].slots,
                          to->result_spaces[i]);
    }
}

static void make_whole_plan(struct segments_programs *programs, uint32_t i)
{
    const struct segments *segments = programs->segments;
    const struct segments_program *program = &programs->at[i];
    const struct segments_original *original = segments_original_of(programs, i);
    if (program->is_pair) {
        uint32_t columns = segments_strategy_count(segments, original->blocks[1]);
        uint32_t digits[2] = {program->number / (columns ? columns : 1),
                              program->number % (columns ? columns : 1)};
        for (int end = 0; end < 2; end++) {
            uint32_t segment = original->segments[end];
            programs->now[segment] =
                segments_with_digit(segments, segment, programs->base[segment],
                                    original->blocks[end] - segments->segments[segment].first, digits[end]);
        }
    } else {
        programs->now[original->segments[0]] = program->number;
    }
    segments_plan(segments, programs->context, programs->outer, programs->inner, programs->now,
                  &programs->whole);
    for (int end = 0; end < 2; end++)
        programs->now[original->segments[end]] = programs->base[original->segments[end]];
}

enum error_code segments_program_walk(struct segments_programs *programs, uint32_t i, struct plan *plan,
                                      struct spmd_local *local, struct error *e)
{
    const struct segments_original *original = segments_original_of(programs, i);
    const struct mesh *mesh = plan_context_mesh(programs->context);
    struct spmd_options options = spmd_default_options(mesh);
    make_whole_plan(programs, i);
    plan_init(plan, original->piece.nda, mesh);
    plan_copy(plan, plan_context_start(original->context));
    struct transfer transfer = {programs->segments->nda, original->piece.nda, &programs->whole,
                                original->context, plan};
    transfer_ops(&transfer, &original->piece);
    transfer_boundary(&transfer, programs, original, programs->at[i].is_pair);
    return spmd_walk(original->context, plan, &options, local, e);
}

enum error_code segments_program_write(struct segments_programs *programs, uint32_t i, struct text *text,
                                       char digest[SEGMENTS_DIGEST_SIZE], struct error *e)
{
    struct plan plan = {0};
    struct spmd_local local = {0};
    struct ir_program module = {0};
    size_t start = text->size;
    enum error_code code = segments_program_walk(programs, i, &plan, &local, e);
    if (code == ERROR_OK)
        code = spmd_emit(segments_original_of(programs, i)->context, &plan, &local, EMIT_MANUAL, &module, e);
    if (code == ERROR_OK) {
        ir_print(&module, text);
        segments_digest(text->at + start, text->size - start, digest);
        ir_program_release(&module);
    }
    spmd_local_release(&local);
    plan_release(&plan);
    return code;
}

/* ---- names ---- */

static void add_side(const struct segments *segments, uint32_t block, uint32_t digit, struct text *out)
{
    const struct segments_block *it = &segments->blocks[block];
    text_add(out, digit < it->strategy_count
                      ? segments_side_name(segments->strategies[it->strategies + digit].side)
                      : "none");
}

void segments_program_text(const struct segments_programs *programs, uint32_t i, struct text *out)
{
    const struct segments *segments = programs->segments;
    const struct segments_program *program = &programs->at[i];
    const struct segments_original *original = segments_original_of(programs, i);
    if (program->is_pair) {
        uint32_t columns = segments_strategy_count(segments, original->blocks[1]);
        text_printf(out, "pair %u, strategies ", program->of);
        add_side(segments, original->blocks[0], program->number / (columns ? columns : 1), out);
        text_add(out, " x ");
        add_side(segments, original->blocks[1], program->number % (columns ? columns : 1), out);
        return;
    }
    const struct segments_segment *segment = &segments->segments[original->segments[0]];
    text_printf(out, "kind %u, configuration %u (", program->of, program->number);
    for (uint32_t k = 0; k < segment->count; k++) {
        text_add(out, k ? ", " : "");
        add_side(segments, segment->first + k,
                 segments_digit(segments, original->segments[0], program->number, k), out);
    }
    text_add(out, ")");
}
