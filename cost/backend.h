/* Backends: the compilers that run a plan, as far as its price depends on them.
 *
 * One record a compiler, and nothing else in cost/ knows compilers by name: what fuses and what is computed
 * again instead of stored (fusion.c, memory.c), how fast matrix products run (roofline.c), how collectives
 * run beside computation (price.c) and how fast they are (collectives.c). Each number states where it comes
 * from; docs/design/price.md has the measurements. A device of the catalogue names its backend; a request may
 * name another. Records are constant and never freed. */
#ifndef TOAST_COST_BACKEND_H
#define TOAST_COST_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

enum cost_compiler { COST_XLA_CPU, COST_XLA_GPU, COST_XLA_TPU, COST_COMPILERS };

/* What fuses, apart for ablation (fusion.c explains each). None of them: a value that several kernels use
 * is stored unless it is cheap, as XLA does for CPUs. */
enum cost_fusion_rule {
    COST_FUSE_BYTES = 1,    /* a value that several kernels use is stored only where that moves fewer bytes */
    COST_FUSE_EFFORT = 2,   /* .. and what computing it again takes counts, as bytes */
    COST_FUSE_ROWS = 4,     /* reduce and broadcast along a short row stay in the kernel (softmax) */
    COST_FUSE_SIBLINGS = 8, /* kernels that read the same arrays run as one with several results */
    COST_FUSE_LAUNCH = 16,  /* what is small is computed again rather than launched for */
    COST_FUSE_GATHER = 32,  /* what is gathered from need not be in memory */
    COST_FUSE_COPIES = 64,  /* putting blocks of a collective in order takes time */
    COST_FUSE_TURNED = 128, /* arguments of an update whose stacked gradient comes turned are copied first */
    COST_FUSE_BATCHED = 256,      /* .. where they are first used: libtpu and XLA:GPU differ in when */
    COST_FUSE_PADDED = 512,       /* x - max(x) along a row that pads badly to a power of two is stored */
    COST_FUSE_PRODUCTS = 1024,    /* what a product or convolution reads may be computed in its kernel */
    COST_FUSE_PICKS = 2048,       /* a scatter of one element a row compares each element's place */
    COST_FUSE_SCORES = 4096,      /* exponentials of masked float32 scores along a short row are stored */
    COST_FUSE_JOINS = 8192,       /* a concatenation fuses as elementwise ops do */
    COST_FUSE_STRIDED = 16384,    /* elements that are read far apart take a transaction of the memory each */
    COST_FUSE_WORK = 32768,       /* a kernel takes the longer of its bytes and its arithmetic */
    COST_FUSE_NORMS = 65536,      /* a normalised row is stored before a gathered gain, too */
    COST_FUSE_REPEATS = 131072,   /* what a product reads and repeats inner rows of something is stored */
    COST_FUSE_BATCHES = 262144,   /* products with batches read some elementwise values from memory */
    COST_FUSE_ZEROS = 524288,     /* of many rows scattered into zeros, the scatter makes the zeros */
    COST_FUSE_EPILOGUE = 1048576, /* what is computed of a product's result alone is stored instead of it */
    COST_FUSE_GATHERED = 2097152, /* kernels read gathered rows from where they lie; zeros are made at once */
    COST_FUSE_COLUMNS = 4194304,  /* a sum of columns takes a kernel of its own */
    COST_FUSE_ADDED = 8388608,    /* rows scattered into zeros and added to an array go into that */
    COST_FUSE_POLYNOMIALS = 16777216 /* erf, sine and the like are stored where several kernels read them */
};

/* Bandwidth of one collective inside a host as a share of a device's link peak, and its time beside that: of
 * next to no bytes, and from share_knee_bytes on, linearly in between (libraries have a protocol for small
 * messages). By the number of devices; between two rows linearly, beyond the last one its share. */
struct cost_collective_share {
    uint8_t kind; /* enum spmd_step_kind */
    uint8_t devices;
    double share;
    double small_us, fixed_us;
};

/* What kernels that are no matrix product take beside their bytes, as bytes that an H100 moves meanwhile:
 * other devices move as many as their ratio of bandwidth to f32 arithmetic has it. 0: nothing. */
struct cost_kernel_bytes {
    double rows;    /* of each byte that arithmetic counts, in a kernel that keeps rows (softmax, norms) */
    double element; /* of each element that a kernel makes, at least */
    double apart;   /* of each element that is read far from the one before it */
};

struct cost_backend {
    const char *name;       /* "xla_gpu" */
    uint32_t fusion;        /* bits of enum cost_fusion_rule */
    double matmul_fraction; /* of the peak, of large products; 0: the device's flops_fraction */
    /* of the time of moving a product's operands and result, what does not hide behind its FLOPs; 0: the
     * longer of the two counts */
    double matmul_bytes;
    int64_t matmul_fixed_ps;
    struct cost_kernel_bytes kernel_bytes; /* by COST_FUSE_WORK, COST_FUSE_STRIDED */
    int64_t columns_ps;                    /* of a sum of columns beside its bytes, by COST_FUSE_COLUMNS */
    /* collectives run beside computation, in program order on one stream; false: they block it */
    bool asynchronous;
    uint16_t blocking; /* bits of enum spmd_step_kind: collectives that block it all the same */
    /* Where temporaries take more than a part of memory, what they hold is computed again instead. Of a
     * device's memory so many hundredths, less arguments and results, of that so many are left to
     * temporaries; what they take then is less, in hundredths, since the compiler counts more than there is;
     * so many hundredths of temporaries stay at least (wide: on a device without bf16 arithmetic). 0: it
     * never does. Each byte less takes as long as moving so many. */
    uint8_t remat_memory, remat_temporaries, remat_counted, remat_least, remat_least_wide, remat_moves;
    /* It lays arrays out as its collectives and reductions want them and passes that on to what their
     * operands are computed of: emitted modules ask for nothing (spmd_options.keep_layouts). */
    bool lays_out;
    /* it orders the program to hide collectives: time and memory are those of that order (hiding.c) */
    bool hides;
    bool least_order; /* it tries several orders of the program and keeps the one of the least peak */
    bool best_fit;    /* temporaries are placed in the order of the program, what lies idle
                                  * between them counts (heap.c); false: no more than what is alive */
    /* .. at least and at most so many thousandths of what is alive; best_fit */
    uint16_t idle_least, idle_most;
    bool tiled;            /* arrays stand in tiles of 8 x 128 elements (tiles.c) */
    bool results_apart;    /* no temporary lies in a result's memory before it is written */
    bool reduces_in_place; /* an all_reduce of its own writes over its operand */
    bool scatters_in_host; /* a wider reduce_scatter is an all_reduce; its readers read their slices */
    int64_t
        combine_bytes; /* gathers of weights, reductions of gradients: combined up to so many bytes; 0: not */
    /* all_reduces, also those that reduce_scatters are (scatters_in_host), are combined up to so many bytes
     * of operands, where they do not wait for each other; 0: not. Of memory alone. */
    int64_t reduce_bytes;
    /* Inside a host; none: latency and bandwidth of the device (closed forms). */
    const struct cost_collective_share *shares;
    uint32_t share_count;
    int64_t share_knee_bytes;
    /* Between hosts, by chunks; 0: latency and bandwidth of the device (closed forms). Of a device's network
     * port the share that collectives reach, what preparing a chunk, a round and a collective take beside. */
    int64_t network_chunk_bytes;
    double network_fraction;
    int64_t network_chunk_ps, network_round_ps, network_fixed_ps;
    const char *source;
};

const struct cost_backend *cost_backend(enum cost_compiler compiler);
/* false: there is no backend of this name */
bool cost_backend_find(const char *name, enum cost_compiler *out);
/* "xla_cpu, xla_gpu, xla_tpu": for messages */
const char *cost_backend_names(void);

#endif
