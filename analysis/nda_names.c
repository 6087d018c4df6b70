/* A program with the names of its dimensions, as the paper prints it (figures 4 and 5), and what its
 * dimension graph has of figure 6: boxes, and the paths that cross them. For people and tests: nothing reads
 * it back.
 *
 * A name is a place where an atom of a value stands: at its definition, or at one of its uses. Fresh names
 * are letters at definitions, and the definition's letters with the number of the use at uses (B -> B1, B2).
 * The identities I of an op join the names that are one factor of its space, M goes from a definition to its
 * uses. Joined by I, names are our factors; joined by I and M, they are our colors. Source: TOAST (Alabed et
 * al., 2025), sections 3.1 to 3.5. */
#include "analysis/nda_names.h"

#include "analysis/stages.h"

#include <stdlib.h>
#include <string.h>

enum { LETTERS = 26 };

struct names {
    const struct nda *n;
    enum nda_names_level level;
    uint32_t *letter,
        *use;        /* of each name (slot's map + atom): which fresh letter, which use; 0: definition */
    uint32_t *shown; /* the name that is printed for it at this level */
    uint32_t *value; /* of each value of the program: the number that is printed; NDA_NONE */
};

const char *nda_names_level_name(enum nda_names_level level)
{
    static const char *const words[] = {"fresh", "identities", "colors"};
    return words[level];
}

bool nda_names_level_find(const char *word, enum nda_names_level *out)
{
    for (int i = 0; i < NDA_NAMES_LEVELS; i++)
        if (strcmp(word, nda_names_level_name((enum nda_names_level)i)) == 0) {
            *out = (enum nda_names_level)i;
            return true;
        }
    return false;
}

/* ---------------------------------------------------------------- names */
static uint32_t name_total(const struct nda *n)
{
    uint32_t end = 0;
    for (uint32_t slot = 0; slot < n->slot_count; slot++) {
        uint32_t here = n->slots[slot].map + nda_atom_count(n, n->slots[slot].value);
        end = here > end ? here : end;
    }
    return end;
}

/* slots are in program order, so a definition is named before its uses (a loop's end aside: numbered
 * before) */
static void name_freshly(struct names *names)
{
    const struct nda *n = names->n;
    uint32_t letters = 0, values = 0, *uses = mem_zalloc((size_t)n->program->value_count + 1, sizeof *uses);
    for (uint32_t slot = 0; slot < n->slot_count; slot++) {
        uint32_t value = n->slots[slot].value;
        if (n->value_def_slot[value] != slot && n->value_def_slot[value] != NDA_NONE)
            continue;
        if (names->value[value] == NDA_NONE)
            names->value[value] = values++;
        for (uint32_t atom = 0; atom < nda_atom_count(n, value); atom++)
            names->letter[n->slots[slot].map + atom] = letters++;
    }
    for (uint32_t slot = 0; slot < n->slot_count; slot++) {
        uint32_t value = n->slots[slot].value, definition = n->value_def_slot[value];
        if (definition == slot || definition == NDA_NONE)
            continue;
        uses[value]++;
        for (uint32_t atom = 0; atom < nda_atom_count(n, value); atom++) {
            names->letter[n->slots[slot].map + atom] = names->letter[n->slots[definition].map + atom];
            names->use[n->slots[slot].map + atom] = uses[value];
        }
    }
    free(uses);
}

/* the first name of every factor, those of results before those of operands, as the paper's figure 4b does */
static void first_of_factors(const struct names *names, uint32_t *first)
{
    const struct nda *n = names->n;
    for (uint32_t i = 0; i < n->factor_count; i++)
        first[i] = NDA_NONE;
    for (int results = 1; results >= 0; results--)
        for (uint32_t slot = 0; slot < n->slot_count; slot++)
            for (uint32_t atom = 0;
                 n->slots[slot].is_result == results && atom < nda_atom_count(n, n->slots[slot].value);
                 atom++) {
                uint32_t factor = nda_slot_factor(n, slot, atom);
                if (factor != NDA_NONE && first[factor] == NDA_NONE)
                    first[factor] = n->slots[slot].map + atom;
            }
}

/* of a color the name of its first factor: an argument's, where it has one */
static void first_of_colors(const struct nda *n, uint32_t *first)
{
    for (uint32_t color = 0; color < n->color_count; color++) {
        const uint32_t *factors = n->color_factors + n->colors[color].factors;
        for (uint32_t i = 1; i < n->colors[color].factor_count; i++)
            first[factors[i]] = first[factors[0]];
    }
}

static void choose_shown(struct names *names)
{
    const struct nda *n = names->n;
    uint32_t *first = mem_alloc(sizeof *first * ((size_t)n->factor_count + 1));
    if (names->level != NDA_NAMES_FRESH)
        first_of_factors(names, first);
    if (names->level == NDA_NAMES_COLORS)
        first_of_colors(n, first);
    for (uint32_t slot = 0; slot < n->slot_count; slot++)
        for (uint32_t atom = 0; atom < nda_atom_count(n, n->slots[slot].value); atom++) {
            uint32_t name = n->slots[slot].map + atom, factor = nda_slot_factor(n, slot, atom);
            names->shown[name] = names->level == NDA_NAMES_FRESH || factor == NDA_NONE ? name : first[factor];
        }
    free(first);
}

static void names_init(struct names *names, const struct nda *n, enum nda_names_level level)
{
    uint32_t total = name_total(n);
    *names = (struct names){.n = n, .level = level};
    names->letter = mem_zalloc((size_t)total + 1, sizeof *names->letter);
    names->use = mem_zalloc((size_t)total + 1, sizeof *names->use);
    names->shown = mem_zalloc((size_t)total + 1, sizeof *names->shown);
    names->value = mem_alloc(sizeof *names->value * ((size_t)n->program->value_count + 1));
    for (uint32_t value = 0; value < n->program->value_count; value++)
        names->value[value] = NDA_NONE;
    name_freshly(names);
    choose_shown(names);
}

static void names_release(struct names *names)
{
    free(names->letter);
    free(names->use);
    free(names->shown);
    free(names->value);
}

/* ---------------------------------------------------------------- listing */
/* A .. Z, AA .. : bijective in base 26 */
static void add_letters(uint32_t letter, struct text *out)
{
    if (letter >= LETTERS)
        add_letters(letter / LETTERS - 1, out);
    text_add_char(out, (char)('A' + letter % LETTERS));
}

static void add_name(const struct names *names, uint32_t name, struct text *out)
{
    uint32_t shown = names->shown[name];
    add_letters(names->letter[shown], out);
    if (names->use[shown])
        text_printf(out, "%u", names->use[shown]);
}

static void add_value(const struct names *names, uint32_t slot, struct text *out)
{
    const struct nda *n = names->n;
    uint32_t value = n->slots[slot].value, atom = 0, count = nda_atom_count(n, value);
    const struct ir_type *type = ir_value_type(n->program, value);
    text_printf(out, "%%%u : [", names->value[value]);
    for (uint32_t dim = 0; type->kind == IR_TYPE_TENSOR && dim < type->rank; dim++) {
        text_add(out, dim ? ", " : "");
        if (atom == count || nda_atoms(n, value)[atom].dim != dim)
            text_printf(out, "%lld", (long long)ir_type_dims(n->program, type)[dim]);
        for (uint32_t first = atom; atom < count && nda_atoms(n, value)[atom].dim == dim; atom++) {
            text_add(out, atom > first ? "*" : "");
            add_name(names, n->slots[slot].map + atom, out);
        }
    }
    text_add_char(out, ']');
}

static void add_values(const struct names *names, const struct nda_space *space, bool results,
                       struct text *out)
{
    bool any = false;
    for (uint32_t slot = space->slots; slot < space->slots + space->slot_count; slot++)
        if (names->n->slots[slot].is_result == results) {
            text_add(out, any ? ", " : "");
            add_value(names, slot, out);
            any = true;
        }
}

/* from -> to where both are no more one name than they were; a list has each entry once */
static void add_entry(const struct names *names, uint32_t from, uint32_t to, const char *sign, bool *any,
                      const char *title, struct text *out)
{
    text_printf(out, "%s", *any ? ", " : title);
    add_name(names, from, out);
    text_add(out, sign);
    add_name(names, to, out);
    *any = true;
}

/* entries of M into this space: from definitions to uses */
static void add_map(const struct names *names, const struct nda_space *space, struct text *out)
{
    const struct nda *n = names->n;
    bool any = false;
    for (uint32_t slot = space->slots; slot < space->slots + space->slot_count; slot++) {
        uint32_t value = n->slots[slot].value, definition = n->value_def_slot[value];
        for (uint32_t atom = 0; !n->slots[slot].is_result && definition != NDA_NONE && definition != slot &&
                                atom < nda_atom_count(n, value);
             atom++)
            add_entry(names, n->slots[definition].map + atom, n->slots[slot].map + atom, " -> ", &any,
                      "    M: ", out);
    }
    text_add(out, any ? "\n" : "");
}

/* I of this space: each name of a factor with the factor's first one */
static void add_identities(const struct names *names, const struct nda_space *space, const uint32_t *first,
                           struct text *out)
{
    const struct nda *n = names->n;
    bool any = false;
    for (uint32_t slot = space->slots; slot < space->slots + space->slot_count; slot++)
        for (uint32_t atom = 0; atom < nda_atom_count(n, n->slots[slot].value); atom++) {
            uint32_t factor = nda_slot_factor(n, slot, atom), name = n->slots[slot].map + atom;
            if (factor != NDA_NONE && first[factor] != name)
                add_entry(names, first[factor], name, " = ", &any, "    I: ", out);
        }
    text_add(out, any ? "\n" : "");
}

static void add_space(const struct names *names, const struct nda_space *space, const uint32_t *first,
                      struct text *out)
{
    const struct nda *n = names->n;
    struct text label = {0};
    add_values(names, space, true, out);
    if (space->kind != NDA_SPACE_ARGUMENT) {
        nda_space_label(n, (uint32_t)(space - n->spaces), &label);
        text_printf(out, "%s%s(", space->kind == NDA_SPACE_RESULT ? "" : " = ", label.at);
        add_values(names, space, false, out);
        text_add_char(out, ')');
    }
    text_add_char(out, '\n');
    if (names->level != NDA_NAMES_COLORS)
        add_map(names, space, out);
    if (names->level == NDA_NAMES_FRESH)
        add_identities(names, space, first, out);
    text_release(&label);
}

static void add_listing(const struct names *names, struct text *out)
{
    const struct nda *n = names->n;
    uint32_t *first = mem_alloc(sizeof *first * ((size_t)n->factor_count + 1));
    first_of_factors(names, first);
    for (uint32_t i = 0; i < n->space_count; i++)
        add_space(names, &n->spaces[i], first, out);
    free(first);
}

/* ---------------------------------------------------------------- conflicts, boxes */
/* a name of a factor, by which it is printed */
static void add_factor(const struct names *names, const uint32_t *first, uint32_t factor, struct text *out)
{
    add_name(names, first[factor], out);
}

struct walk {
    uint32_t *out_first, *out; /* M by source */
    uint32_t *from;            /* of each factor that was reached: where from */
    uint32_t *queue;
};

static void walk_init(const struct nda *n, struct walk *walk)
{
    walk->out_first = mem_zalloc((size_t)n->factor_count + 2, sizeof *walk->out_first);
    walk->out = mem_alloc(sizeof *walk->out * ((size_t)n->edge_count + 1));
    walk->from = mem_alloc(sizeof *walk->from * ((size_t)n->factor_count + 1));
    walk->queue = mem_alloc(sizeof *walk->queue * ((size_t)n->factor_count + 1));
    for (uint32_t i = 0; i < n->edge_count; i++)
        walk->out_first[n->edge_from[i] + 2]++;
    for (uint32_t i = 2; i < n->factor_count + 2; i++)
        walk->out_first[i] += walk->out_first[i - 1];
    for (uint32_t i = 0; i < n->edge_count; i++)
        walk->out[walk->out_first[n->edge_from[i] + 1]++] = n->edge_to[i];
}

static void walk_release(struct walk *walk)
{
    free(walk->out_first);
    free(walk->out);
    free(walk->from);
    free(walk->queue);
}

/* a shortest way along M; from[] then leads back from the end. from == to never asked. */
static bool find_path(const struct nda *n, struct walk *walk, uint32_t from, uint32_t to)
{
    uint32_t head = 0, count = 0;
    for (uint32_t i = 0; i < n->factor_count; i++)
        walk->from[i] = NDA_NONE;
    walk->queue[count++] = from;
    walk->from[from] = from;
    while (head < count && walk->from[to] == NDA_NONE) {
        uint32_t here = walk->queue[head++];
        for (uint32_t i = walk->out_first[here]; i < walk->out_first[here + 1]; i++)
            if (walk->from[walk->out[i]] == NDA_NONE) {
                walk->from[walk->out[i]] = here;
                walk->queue[count++] = walk->out[i];
            }
    }
    return walk->from[to] != NDA_NONE;
}

static void add_path(const struct names *names, const uint32_t *first, const struct walk *walk, uint32_t to,
                     struct text *out)
{
    if (walk->from[to] != to) {
        add_path(names, first, walk, walk->from[to], out);
        text_add(out, " -> ");
    }
    add_factor(names, first, to, out);
}

static void add_box(const struct names *names, const uint32_t *first, struct walk *walk,
                    const struct nda_box *box, struct text *out)
{
    const uint32_t ends[2][2] = {{box->n, box->r}, {box->o, box->l}};
    text_printf(out, "  %s ", box->crossed ? "crossed   " : "compatible");
    add_factor(names, first, box->n, out);
    text_add(out, " -> ");
    add_factor(names, first, box->l, out);
    text_add(out, ", ");
    add_factor(names, first, box->o, out);
    text_add(out, " -> ");
    add_factor(names, first, box->r, out);
    for (int i = 0; box->crossed && i < 2; i++)
        if (find_path(names->n, walk, ends[i][0], ends[i][1])) {
            text_add(out, "; across ");
            add_path(names, first, walk, ends[i][1], out);
        }
    text_add_char(out, '\n');
}

static void add_conflict(const struct names *names, const uint32_t *first, const struct nda_conflict *k,
                         struct text *out)
{
    const struct nda *n = names->n;
    struct text label = {0};
    nda_space_label(n, n->factors[k->a].space, &label);
    text_printf(out, "  set %u: (", k->set);
    add_factor(names, first, k->a, out);
    text_add(out, ", ");
    add_factor(names, first, k->b, out);
    text_printf(out, ") on %%%u of %s, side 0 keeps ", names->value[n->slots[k->slot].value], label.at);
    add_factor(names, first, k->flipped ^ n->sets[k->set].flipped ? k->b : k->a, out);
    text_add_char(out, '\n');
    text_release(&label);
}

static void add_conflicts(const struct names *names, struct text *out)
{
    const struct nda *n = names->n;
    uint32_t *first = mem_alloc(sizeof *first * ((size_t)n->factor_count + 1));
    struct walk walk;
    first_of_factors(names, first);
    walk_init(n, &walk);
    text_printf(out, "%s", n->conflict_count ? "conflicts\n" : "no conflicts\n");
    for (uint32_t i = 0; i < n->conflict_count; i++)
        add_conflict(names, first, &n->conflicts[i], out);
    text_printf(out, "%s", n->box_count ? "boxes\n" : "");
    for (uint32_t i = 0; i < n->box_count; i++)
        add_box(names, first, &walk, &n->box_list[i], out);
    walk_release(&walk);
    free(first);
}

void nda_names_text(const struct nda *n, enum nda_names_level level, struct text *out)
{
    struct names names;
    names_init(&names, n, level);
    add_listing(&names, out);
    if (level == NDA_NAMES_IDENTITIES)
        add_conflicts(&names, out);
    names_release(&names);
}

/* ---------------------------------------------------------------- the dimension graph */
static bool drawn(const struct nda *n, uint32_t factor)
{
    return n->colors[n->factors[factor].color].set_count > 0;
}

static void draw_factor(const struct names *names, const uint32_t *first, uint32_t factor, struct text *out)
{
    const struct nda *n = names->n;
    text_printf(out, "  n%u [label=\"", factor);
    add_factor(names, first, factor, out);
    text_add(out, "\\n");
    nda_space_label(n, n->factors[factor].space, out);
    text_printf(out, "\\n%lld (%s)\"%s];\n", (long long)n->factors[factor].size,
                n->groups[n->colors[n->factors[factor].color].group].label,
                n->factors[factor].conflicted ? ", color=red" : "");
}

static void draw_conflict(const struct nda *n, const struct nda_conflict *k, struct text *out)
{
    uint8_t side = (uint8_t)(k->flipped ^ n->sets[k->set].flipped);
    text_printf(out,
                "  n%u -> n%u [dir=none, color=red, constraint=false, label=\"set %u\", "
                "taillabel=\"%u\", headlabel=\"%u\"];\n",
                k->a, k->b, k->set, side, 1 - side);
}

/* the two edges of a box, blue where it joins its conflicts, dashed where a path crosses it */
static void draw_box(const struct nda_box *box, struct text *out)
{
    const char *style = box->crossed ? "color=gray, style=dashed" : "color=blue, style=bold";
    text_printf(out, "  n%u -> n%u [%s, constraint=false];\n  n%u -> n%u [%s, constraint=false];\n", box->n,
                box->l, style, box->o, box->r, style);
}

/* The paths across crossed boxes, an edge at a time. */
static void draw_crossings(const struct nda *n, struct text *out)
{
    struct walk walk;
    walk_init(n, &walk);
    for (uint32_t i = 0; i < n->box_count; i++) {
        const struct nda_box *box = &n->box_list[i];
        const uint32_t ends[2][2] = {{box->n, box->r}, {box->o, box->l}};
        for (int k = 0; box->crossed && k < 2; k++)
            if (find_path(n, &walk, ends[k][0], ends[k][1]))
                for (uint32_t to = ends[k][1]; walk.from[to] != to; to = walk.from[to])
                    text_printf(out, "  n%u -> n%u [color=orange, style=bold, constraint=false];\n",
                                walk.from[to], to);
    }
    walk_release(&walk);
}

void nda_dot(const struct nda *n, struct text *out)
{
    struct names names;
    uint32_t *first = mem_alloc(sizeof *first * ((size_t)n->factor_count + 1));
    names_init(&names, n, NDA_NAMES_IDENTITIES);
    first_of_factors(&names, first);
    text_add(out, "digraph dimensions {\n  rankdir=TB;\n  node [shape=box, fontsize=10];\n");
    for (uint32_t i = 0; i < n->factor_count; i++)
        if (drawn(n, i))
            draw_factor(&names, first, i, out);
    for (uint32_t i = 0; i < n->edge_count; i++)
        if (drawn(n, n->edge_from[i]))
            text_printf(out, "  n%u -> n%u;\n", n->edge_from[i], n->edge_to[i]);
    for (uint32_t i = 0; i < n->conflict_count; i++)
        draw_conflict(n, &n->conflicts[i], out);
    for (uint32_t i = 0; i < n->box_count; i++)
        draw_box(&n->box_list[i], out);
    draw_crossings(n, out);
    text_add(out, "}\n");
    free(first);
    names_release(&names);
}
