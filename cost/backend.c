/* The backends' records. Their numbers are facts about the compilers named, taken from the sources that each
 * states; none was fitted to a model's step time. Nothing here computes. */
#include "cost/backend.h"

#include "spmd/local.h"

#include <string.h>

#define MIB (INT64_C(1) << 20)
#define NS INT64_C(1000)    /* picoseconds in a nanosecond */
#define US INT64_C(1000000) /* .. in a microsecond */

/* XLA's collective tables of an H100 host (float32, 64 KiB to 512 MiB in powers of two, as its estimator gave
 * them for one collective of each kind, size and group): least squares of the relative error of bus bandwidth
 * over 450 GB/s, what is left at no bytes, and from 8 MiB on. */
static const struct cost_collective_share gpu_shares[] = {
    {SPMD_ALL_GATHER, 2, 0.57, 13, 28},     {SPMD_ALL_GATHER, 4, 0.73, 15, 39},
    {SPMD_ALL_GATHER, 8, 0.77, 21, 44},     {SPMD_ALL_REDUCE, 2, 0.52, 15, 38},
    {SPMD_ALL_REDUCE, 4, 0.66, 21, 59},     {SPMD_ALL_REDUCE, 8, 0.87, 33, 72},
    {SPMD_REDUCE_SCATTER, 2, 0.39, 18, 20}, {SPMD_REDUCE_SCATTER, 4, 0.61, 17, 31},
    {SPMD_REDUCE_SCATTER, 8, 0.69, 24, 31}, {SPMD_ALL_TO_ALL, 2, 0.615, 22, 45},
    {SPMD_ALL_TO_ALL, 4, 0.71, 31, 53},     {SPMD_ALL_TO_ALL, 8, 0.74, 26, 48},
    {SPMD_PERMUTE, 2, 0.54, 16, 123},
};

static const struct cost_backend backends[COST_COMPILERS] = {
    [COST_XLA_CPU] = {.name = "xla_cpu", .source = "as measured with jaxlib 0.10.2; collectives block"},
    [COST_XLA_GPU] = {.name = "xla_gpu",
                      .fusion = COST_FUSE_BYTES | COST_FUSE_EFFORT | COST_FUSE_ROWS | COST_FUSE_SIBLINGS |
                                COST_FUSE_LAUNCH | COST_FUSE_GATHER | COST_FUSE_COPIES | COST_FUSE_BATCHED |
                                COST_FUSE_PADDED | COST_FUSE_STRIDED | COST_FUSE_WORK | COST_FUSE_NORMS |
                                COST_FUSE_GATHERED | COST_FUSE_COLUMNS | COST_FUSE_ADDED,
                      .matmul_fraction = 0.88, /* 48 products on an H200 (bench/hardware_log) */
                      .matmul_bytes = 0.4,
                      .matmul_fixed_ps = 5700 * NS, /* 4 us of it on the device, the rest between kernels */
                      .kernel_bytes = {.rows = 3.4, .element = 3.6, .apart = 16}, /* measured there, too */
                      .columns_ps = 7 * US,
                      .asynchronous = true,
                      .lays_out = true,
                      .hides = true,
                      .remat_memory = 80,
                      .remat_temporaries = 95, /* xla_gpu_memory_limit_slop_factor */
                      .remat_counted = 93,     /* t2b, four plans: 87 to 93 */
                      .remat_least = 53,       /* the most that was seen: 109.1 to 57.3 GiB */
                      .remat_least_wide = 70,  /* t2b for A100, three plans: 64, 66, 70 */
                      .remat_moves = 4,        /* t2b: 1.0 to 1.2 ms a GB, in products and kernels */
                      .combine_bytes = 30 * MIB,
                      .shares = gpu_shares,
                      .share_count = sizeof gpu_shares / sizeof *gpu_shares,
                      .share_knee_bytes = 8 * MIB,
                      .network_chunk_bytes = 4 * MIB,
                      .network_fraction = 0.4878,    /* 55.56 x 0.45 GB/s of 50, less a header's 2.5 % */
                      .network_chunk_ps = 6003 * NS, /* 13.34 x 0.45 us */
                      .network_round_ps = 31 * US,   /* 68.89 x 0.45 us */
                      .network_fixed_ps = 45 * US,   /* 100 x 0.45 us */
                      .source = "kernels: measured on an H200; openxla/xla: collective tables of an H100, "
                                "sol_gpu_cost_model, latency hiding scheduler"},
    [COST_XLA_TPU] = {.name = "xla_tpu",
                      .fusion = COST_FUSE_BYTES | COST_FUSE_SIBLINGS | COST_FUSE_GATHER | COST_FUSE_TURNED |
                                COST_FUSE_PRODUCTS | COST_FUSE_PICKS | COST_FUSE_SCORES | COST_FUSE_JOINS |
                                COST_FUSE_REPEATS | COST_FUSE_BATCHES | COST_FUSE_ZEROS | COST_FUSE_EPILOGUE |
                                COST_FUSE_POLYNOMIALS,
                      .least_order = true,
                      .best_fit = true,
                      .idle_least = 15,
                      .idle_most = 200,
                      .tiled = true,
                      .results_apart = true,
                      .reduces_in_place = true,
                      .scatters_in_host = true,
                      .asynchronous = true,
                      .blocking = 1 << SPMD_ALL_GATHER | 1 << SPMD_ALL_REDUCE | 1 << SPMD_REDUCE_SCATTER |
                                  1 << SPMD_ALL_TO_ALL,
                      .reduce_bytes = 120 * MIB, /* xla_jf_crs_combiner_threshold_in_bytes */
                      .source = "libtpu 0.0.51 compiled ahead of time: memory; its overlap is not measured"},
};

const struct cost_backend *cost_backend(enum cost_compiler compiler)
{
    return &backends[compiler];
}

bool cost_backend_find(const char *name, enum cost_compiler *out)
{
    for (int i = 0; i < COST_COMPILERS; i++)
        if (strcmp(backends[i].name, name) == 0) {
            *out = (enum cost_compiler)i;
            return true;
        }
    return false;
}

const char *cost_backend_names(void)
{
    return "xla_cpu, xla_gpu, xla_tpu";
}
