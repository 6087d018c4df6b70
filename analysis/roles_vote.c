/* Roles: the vote about arguments. Dataflow and donation have spoken (roles_arguments.c); a name that
 * people give to weights, data, caches or optimizer state is heard where nothing is donated, and the
 * request decides. A state that is donated keeps what dataflow found: its name may be that of the tree that
 * it stands in. */
#include "analysis/roles.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *nda_role_name(enum nda_role role)
{
    switch (role) {
    case NDA_ROLE_PARAMETER: return "parameter";
    case NDA_ROLE_OPTIMIZER: return "optimizer";
    case NDA_ROLE_DATA: return "data";
    case NDA_ROLE_CACHE: return "cache";
    }
    return "";
}

const char *nda_voter_name(enum nda_voter voter)
{
    switch (voter) {
    case NDA_BY_DATAFLOW: return "dataflow";
    case NDA_BY_DONATION: return "donation";
    case NDA_BY_NAME: return "name";
    case NDA_BY_REQUEST: return "request";
    }
    return "";
}

/* what a part of a path says; the outermost part that says something holds */
static const struct {
    const char *word;
    enum nda_role role;
} words[] = {{"params", NDA_ROLE_PARAMETER},
             {"param", NDA_ROLE_PARAMETER},
             {"parameters", NDA_ROLE_PARAMETER},
             {"weights", NDA_ROLE_PARAMETER},
             {"opt_state", NDA_ROLE_OPTIMIZER},
             {"optimizer", NDA_ROLE_OPTIMIZER},
             {"opt", NDA_ROLE_OPTIMIZER},
             {"optimizer_state", NDA_ROLE_OPTIMIZER},
             {"batch", NDA_ROLE_DATA},
             {"inputs", NDA_ROLE_DATA},
             {"data", NDA_ROLE_DATA},
             {"labels", NDA_ROLE_DATA},
             {"images", NDA_ROLE_DATA},
             {"tokens", NDA_ROLE_DATA},
             {"targets", NDA_ROLE_DATA},
             {"cache", NDA_ROLE_CACHE},
             {"kv_cache", NDA_ROLE_CACHE}};

static bool role_of_name(const char *name, uint8_t *role)
{
    while (name && *name) {
        size_t size = strcspn(name, "/");
        for (size_t i = 0; i < sizeof words / sizeof *words; i++)
            if (strlen(words[i].word) == size && strncmp(words[i].word, name, size) == 0) {
                *role = (uint8_t)words[i].role;
                return true;
            }
        name += size + (name[size] == '/');
    }
    return false;
}

static bool chosen(const struct nda_role_choice *choice, uint32_t argument, const char *name)
{
    return choice->pattern ? name && fnmatch(choice->pattern, name, 0) == 0 : choice->argument == argument;
}

static bool role_of_request(const struct roles *roles, uint32_t argument, const char *name, uint8_t *role)
{
    bool found = false;
    for (uint32_t i = 0; roles->options && i < roles->options->role_count; i++)
        if (chosen(&roles->options->roles[i], argument, name)) {
            *role = roles->options->roles[i].role;
            found = true;
        }
    return found;
}

/* arrays of floats; a count or an index is no weight, whatever it is called */
static bool may_be_weight(const struct nda *n, uint32_t argument)
{
    const struct ir_type *type = ir_value_type(n->program, n->arguments[argument].value);
    return type->kind == IR_TYPE_TENSOR && type->rank > 0 &&
           ir_element_is_float((enum ir_element)type->element);
}

void roles_vote(struct roles *roles)
{
    struct nda *n = roles->n;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        struct nda_argument *argument = &n->arguments[i];
        const char *name = stage_given_name(n, i, roles->options);
        uint8_t said = argument->role;
        roles->dataflow[i] = argument->role;
        argument->role_by = argument->tied_result != NDA_NONE ? NDA_BY_DONATION : NDA_BY_DATAFLOW;
        if (role_of_request(roles, i, name, &said)) {
            argument->role = said;
            argument->role_by = NDA_BY_REQUEST;
        } else if (argument->becomes == NDA_NONE && role_of_name(name, &said) && said != argument->role &&
                   (said == NDA_ROLE_DATA || (said == NDA_ROLE_PARAMETER && may_be_weight(n, i)))) {
            argument->role = said;
            argument->role_by = NDA_BY_NAME;
        }
    }
}

static void tell(struct nda *n, const char *format, const char *what, const char *how, const char *than)
{
    char sentence[400];
    snprintf(sentence, sizeof sentence, format, what, how, than);
    nda_warn(n, n->function, sentence);
}

void roles_tell_votes(const struct roles *roles)
{
    struct nda *n = roles->n;
    for (uint32_t i = 0; i < n->argument_count; i++) {
        const struct nda_argument *argument = &n->arguments[i];
        const char *name = stage_given_name(n, i, roles->options);
        if (argument->role_by != NDA_BY_NAME)
            continue;
        tell(n, "%.150s is taken as %s by its name; by its use it is %s (\"roles\" in the request decides)",
             name, nda_role_name((enum nda_role)argument->role),
             nda_role_name((enum nda_role)roles->dataflow[i]));
    }
    for (uint32_t k = 0; roles->options && k < roles->options->role_count; k++) {
        const struct nda_role_choice *choice = &roles->options->roles[k];
        bool any = false;
        for (uint32_t i = 0; i < n->argument_count && !any; i++)
            any = chosen(choice, i, stage_given_name(n, i, roles->options));
        if (!any)
            tell(n, "\"roles\": %.150s matches no argument's name%s%s",
                 choice->pattern ? choice->pattern : "a number", "", "");
    }
}
