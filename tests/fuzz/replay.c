/* Drives a fuzz target without libFuzzer: every file of a folder, then `tries` damaged copies of them
 * (seeded). */
#include "fuzz.h"

#include <dirent.h>

struct input {
    uint8_t *bytes;
    size_t size;
};
static VEC(struct input) inputs;

__attribute__((weak)) int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    return 0;
}

static int by_name(const struct dirent **dirent, const struct dirent **other_dirent)
{
    return strcmp((*dirent)->d_name, (*other_dirent)->d_name);
}

static void load(const char *folder)
{
    struct dirent **names;
    int count = scandir(folder, &names, NULL, by_name);
    FUZZ_CHECK(count > 0);
    for (int i = 0; i < count; i++) {
        char *path = mem_printf("%s/%s", folder, names[i]->d_name);
        FILE *file = names[i]->d_name[0] == '.' ? NULL : fopen(path, "rb");
        if (file) {
            struct input in = {mem_alloc(1 << 20), 0};
            in.size = fread(in.bytes, 1, 1 << 20, file);
            in.bytes = mem_realloc(in.bytes, in.size ? in.size : 1, 1); /* exact: sanitizers see the end */
            VEC_PUSH(&inputs, in);
            fclose(file);
        }
        free(path);
        free(names[i]);
    }
    free(names);
}

/* changes some bytes, cuts, repeats or joins */
static struct input damage(struct rng *rng)
{
    const struct input *input = &inputs.at[rng_below(rng, inputs.count)],
                       *other_input = &inputs.at[rng_below(rng, inputs.count)];
    struct input x = {mem_alloc(input->size + other_input->size + 1), input->size};
    memcpy(x.bytes, input->bytes, input->size);
    for (uint64_t n = 1 + rng_below(rng, 4); n && x.size; n--) {
        size_t at = rng_below(rng, x.size), length = 1 + rng_below(rng, x.size - at);
        switch (rng_below(rng, 5)) {
        case 0: x.bytes[at] ^= (uint8_t)(1u << rng_below(rng, 8)); break;
        case 1: x.bytes[at] = (uint8_t)rng_next(rng); break;
        case 2:
            memmove(x.bytes + at, x.bytes + at + length, x.size - at - length);
            x.size -= length;
            break;
        case 3: x.bytes[at] = x.bytes[rng_below(rng, x.size)]; break;
        default:
            if (at < other_input->size && x.size == input->size) {
                memcpy(x.bytes + at, other_input->bytes + at, other_input->size - at);
                x.size = other_input->size;
            }
        }
    }
    x.bytes = mem_realloc(x.bytes, x.size ? x.size : 1, 1);
    return x;
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: %s CORPUS TRIES\n", argv[0]);
        return 2;
    }
    unsigned long tries = strtoul(argv[2], NULL, 10);
    const char *seed = getenv("TOAST_SEED");
    struct rng rng = {seed ? strtoull(seed, NULL, 10) : 20261121};
    LLVMFuzzerInitialize(&argc, &argv);
    load(argv[1]);
    FUZZ_CHECK(inputs.count);
    for (size_t i = 0; i < inputs.count; i++)
        LLVMFuzzerTestOneInput(inputs.at[i].bytes, inputs.at[i].size);
    for (unsigned long i = 0; i < tries; i++) {
        struct input input = damage(&rng);
        LLVMFuzzerTestOneInput(input.bytes, input.size);
        free(input.bytes);
    }
    printf("%zu inputs and %lu damaged copies\n", inputs.count, tries);
    for (size_t i = 0; i < inputs.count; i++)
        free(inputs.at[i].bytes);
    VEC_FREE(&inputs);
    return 0;
}
