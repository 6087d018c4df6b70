/* Blocks and segments as tables, as JSON and as a graph. */
#include "segments/internal.h"

#include "base/memory.h"

static void type_text(const struct nda *n, uint32_t value, struct text *out)
{
    const struct ir_type *type = ir_value_type(n->program, value);
    text_add_char(out, '[');
    for (uint32_t dim = 0; type->kind == IR_TYPE_TENSOR && dim < type->rank; dim++)
        text_printf(out, "%s%lld", dim ? ", " : "", (long long)ir_type_dims(n->program, type)[dim]);
    text_add_char(out, ']');
}

void segments_contraction_text(const struct segments *segments, uint32_t contraction, struct text *out)
{
    const struct nda *n = segments->nda;
    const struct nda_space *space = &n->spaces[segments->contractions[contraction].space];
    const char *name = ir_op_name(n->program, space->op);
    for (const char *at = name; *at; at++) /* without the dialect */
        if (*at == '.')
            name = at + 1;
    text_printf(out, "%s ", name);
    type_text(n, n->slots[space->slots].value, out);
    text_add(out, " x ");
    type_text(n, n->slots[space->slots + 1].value, out);
}

static void strategies_text(const struct segments *segments, uint32_t block, struct text *out)
{
    for (uint32_t i = 0; i < segments->blocks[block].strategy_count; i++) {
        const struct segments_strategy *strategy =
            &segments->strategies[segments->blocks[block].strategies + i];
        text_printf(out, "%s%s", i ? " " : "", segments_side_name((enum segments_side)strategy->side));
    }
}

enum { LETTERS = 26 };
void segments_kind_text(uint32_t kind, struct text *out)
{
    text_add_char(out, (char)('A' + kind % LETTERS));
    if (kind >= LETTERS)
        text_printf(out, "%u", kind / LETTERS);
}

static void end_of_pair_text(uint32_t kind, uint32_t block, struct text *out)
{
    segments_kind_text(kind, out);
    text_printf(out, " block %u", block);
}

static uint32_t configurations_of(const struct segments *segments, uint32_t block)
{
    uint32_t count = segments_strategy_count(segments, block);
    return count ? count : 1; /* nothing to choose is one configuration, as in the number of programs */
}

static void blocks_table(const struct segments *segments, struct text *out)
{
    text_printf(out, "\nblocks %u  contractions %u  (of sides that %lld devices divide)\n",
                segments->block_count, segments->contraction_count, (long long)segments->devices);
    for (uint32_t block = 0; block < segments->block_count; block++) {
        const struct segments_block *it = &segments->blocks[block];
        const struct segments_segment *segment = &segments->segments[segments->segment_of[block]];
        struct text entry = {0};
        segments_contraction_text(segments, it->entry, &entry);
        text_printf(out, "%6u  segment %u ", block, segments->segment_of[block]);
        segments_kind_text(segment->kind, out);
        text_printf(out, "  %-44s %3u forward %3u in all %5u spaces  ", entry.at, it->forward_count,
                    it->contraction_count, it->space_count);
        strategies_text(segments, block, out);
        text_add_char(out, '\n');
        text_release(&entry);
    }
}

void segments_text(const struct segments *segments, struct text *out)
{
    blocks_table(segments, out);
    text_printf(out, "\nsegments %u  kinds %u  programs %llu\n", segments->segment_count,
                segments->kind_count, (unsigned long long)segments->programs);
    for (uint32_t kind = 0; kind < segments->kind_count; kind++) {
        const struct segments_segment *example = &segments->segments[segments->kinds[kind].example];
        text_add(out, "  ");
        segments_kind_text(kind, out);
        text_printf(out, "  %u of %u blocks, such as %u to %u: %llu configurations\n",
                    segments->kinds[kind].instances, example->count, example->first,
                    example->first + example->count - 1,
                    (unsigned long long)segments->kinds[kind].configurations);
    }
    for (uint32_t i = 0; i < segments->pair_count; i++) {
        const struct segments_pair *pair = &segments->pairs[i];
        const struct segments_dependence *it = &segments->dependences[pair->example];
        uint32_t from = segments->contractions[it->from].block, to = segments->contractions[it->to].block;
        text_add(out, "  ");
        end_of_pair_text(pair->from_kind, pair->from_block, out);
        text_add(out, " -> ");
        end_of_pair_text(pair->to_kind, pair->to_block, out);
        text_printf(out, ", %u times: %u x %u reshards\n", pair->instances, configurations_of(segments, from),
                    configurations_of(segments, to));
    }
}

void segments_json(const struct segments *segments, struct text *out)
{
    text_printf(out, "\"blocks\": [");
    for (uint32_t block = 0; block < segments->block_count; block++) {
        const struct segments_block *it = &segments->blocks[block];
        text_printf(out, "%s\n  {\"entry\": \"", block ? "," : "");
        segments_contraction_text(segments, it->entry, out);
        text_printf(
            out,
            "\", \"segment\": %u, \"forward\": %u, \"contractions\": %u, \"spaces\": %u, \"strategies\": [",
            segments->segment_of[block], it->forward_count, it->contraction_count, it->space_count);
        for (uint32_t i = 0; i < it->strategy_count; i++)
            text_printf(
                out, "%s\"%s\"", i ? ", " : "",
                segments_side_name((enum segments_side)segments->strategies[it->strategies + i].side));
        text_add(out, "]}");
    }
    text_add(out, "],\n\"segments\": [");
    for (uint32_t i = 0; i < segments->segment_count; i++)
        text_printf(out, "%s{\"first\": %u, \"blocks\": %u, \"kind\": %u}", i ? ", " : "",
                    segments->segments[i].first, segments->segments[i].count, segments->segments[i].kind);
    text_add(out, "],\n\"kinds\": [");
    for (uint32_t i = 0; i < segments->kind_count; i++)
        text_printf(out, "%s{\"instances\": %u, \"configurations\": %llu}", i ? ", " : "",
                    segments->kinds[i].instances, (unsigned long long)segments->kinds[i].configurations);
    text_add(out, "],\n\"pairs\": [");
    for (uint32_t i = 0; i < segments->pair_count; i++) {
        const struct segments_pair *pair = &segments->pairs[i];
        text_printf(
            out,
            "%s{\"from_kind\": %u, \"from_block\": %u, \"to_kind\": %u, \"to_block\": %u, \"instances\": %u}",
            i ? ", " : "", pair->from_kind, pair->from_block, pair->to_kind, pair->to_block, pair->instances);
    }
    text_printf(out, "],\n\"programs\": %llu", (unsigned long long)segments->programs);
}

void segments_dot(const struct segments *segments, struct text *out)
{
    text_add(out, "digraph segments {\n  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n");
    for (uint32_t i = 0; i < segments->segment_count; i++) {
        const struct segments_segment *segment = &segments->segments[i];
        text_printf(out, "  subgraph cluster_%u {\n    label=\"segment %u, ", i, i);
        segments_kind_text(segment->kind, out);
        text_add(out, "\";\n");
        for (uint32_t block = segment->first; block < segment->first + segment->count; block++) {
            text_printf(out, "    subgraph cluster_b%u {\n      label=\"block %u: ", block, block);
            strategies_text(segments, block, out);
            text_add(out, "\";\n");
            for (uint32_t k = 0; k < segments->contraction_count; k++) {
                const struct segments_contraction *it = &segments->contractions[k];
                if (it->block != block || it->forward != NDA_NONE)
                    continue;
                text_printf(out, "      c%u [label=\"", k);
                segments_contraction_text(segments, k, out);
                text_add(out, "\"];\n");
            }
            text_add(out, "    }\n");
        }
        text_add(out, "  }\n");
    }
    for (uint32_t i = 0; i < segments->dependence_count; i++)
        text_printf(out, "  c%u -> c%u;\n", segments->dependences[i].from, segments->dependences[i].to);
    text_add(out, "}\n");
}
