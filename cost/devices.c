/* The catalogue of devices. Peaks are per device as XLA counts devices: a GPU, a TPU core (v2, v3) or chip
 * (v4 on).
 *
 * Matrix rates are dense (no sparsity). An element type that the matrix units do not take is given the rate
 * at which it is emulated or run on the vector units; TF32 is what a float32 dot of default precision runs
 * at, F32 one of precision HIGHEST (on TPUs: one and six bfloat16 passes). The achievable shares are the same
 * for all devices: 55 % of the matrix peak, what the matmuls of training steps reach over all their shapes (a
 * single large one reaches 80 to 90 %), 90 % of the memory's and of a link's. A posted profile replaces them.
 *
 * Other names are the memory spelt out, and what JAX calls the device (`device_kind`: the driver's name of a
 * GPU, libtpu's of a TPU).
 */
#include "cost/machine.h"

#include <string.h>
#include <strings.h>

#define GIB (INT64_C(1) << 30)
#define TERA 1e12
#define GIGA 1e9
#define US INT64_C(1000000) /* picoseconds in a microsecond */

/* f64, f32, tf32, bf16, f16, f8, i8 in 10^12/s */
#define RATES(f64, f32, tf32, bf16, f16, f8, i8)                                                             \
    {(f64) * TERA, (f32) * TERA, (tf32) * TERA, (bf16) * TERA, (f16) * TERA, (f8) * TERA, (i8) * TERA}
/* NVLink inside a host of eight, one network port a GPU (or the host's ports divided by eight) outside */
#define GPU(nvlink, network)                                                                                 \
    .flops_fraction = 0.55, .memory_fraction = 0.9, .link_fraction = 0.9, .devices_per_host = 8,             \
    .host_link_bytes_per_s = nvlink * GIGA, .network_bytes_per_s = network * GIGA,                           \
    .host_latency_ps = 2 * US, .network_latency_ps = 5 * US, .host_topology = COST_SWITCH,                   \
    .network_topology = COST_SWITCH, .launch_ps = 2 * US, .compiler = COST_XLA_GPU
/* The interconnect of a pod does not end at the host: both links are one torus link. */
#define TPU(host, dimensions, link)                                                                          \
    .flops_fraction = 0.55, .memory_fraction = 0.9, .link_fraction = 0.9, .devices_per_host = host,          \
    .host_link_bytes_per_s = link * GIGA, .network_bytes_per_s = link * GIGA, .host_latency_ps = 1 * US,     \
    .network_latency_ps = 1 * US, .host_topology = COST_TORUS, .network_topology = COST_TORUS,               \
    .torus_dimensions = dimensions, .launch_ps = US / 2, .compiler = COST_XLA_TPU

static const struct cost_device devices[] = {
    /* A100 datasheet (2021): 312 TFLOPS bf16, 156 tf32, 19.5 f32 and f64 (tensor), 624 int8; 1,555 GB/s (40
     * GB SXM); NVLink 600 GB/s both ways. DGX A100: eight 200 Gb/s ports. No f8: run as bf16. */
    {.name = "a100-40",
     .also = {"NVIDIA A100-SXM4-40GB"},
     .memory_bytes = 40 * GIB,
     .rate_flops = RATES(19.5, 19.5, 156, 312, 312, 312, 624),
     .memory_bytes_per_s = 1555 * GIGA,
     GPU(300, 25),
     .no_bf16_arithmetic = true,
     .source = "NVIDIA A100 datasheet; DGX A100 datasheet"},
    /* the same, 2,039 GB/s (80 GB SXM) */
    {.name = "a100-80",
     .also = {"NVIDIA A100-SXM4-80GB"},
     .memory_bytes = 80 * GIB,
     .rate_flops = RATES(19.5, 19.5, 156, 312, 312, 312, 624),
     .memory_bytes_per_s = 2039 * GIGA,
     GPU(300, 25),
     .no_bf16_arithmetic = true,
     .source = "NVIDIA A100 datasheet; DGX A100 datasheet"},
    /* HGX B200 at 1,000 W: 2,250 TFLOPS bf16, 1,100 tf32, 4,500 f8 and int8, 80 f32, 40 f64; 8 TB/s;
     * NVLink 1.8 TB/s both ways. DGX B200: 1,440 GB over eight GPUs, eight 400 Gb/s ports. */
    {.name = "b200",
     .also = {"b200-180", "NVIDIA B200"},
     .memory_bytes = 180000000000,
     .rate_flops = RATES(40, 80, 1100, 2250, 2250, 4500, 4500),
     .memory_bytes_per_s = 8000 * GIGA,
     GPU(900, 50),
     .source = "NVIDIA HGX B200 and DGX B200 datasheets"},
    /* H100 SXM5 datasheet: 989.4 TFLOPS bf16, 494.7 tf32, 1,978.9 f8 and int8, 67 f32 and f64 (tensor); 3.35
     * TB/s; NVLink 900 GB/s both ways. DGX H100: eight 400 Gb/s ports. */
    {.name = "h100",
     .also = {"h100-80", "NVIDIA H100 80GB HBM3"},
     .memory_bytes = 80 * GIB,
     .rate_flops = RATES(67, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9),
     .memory_bytes_per_s = 3350 * GIGA,
     GPU(450, 50),
     .source = "NVIDIA H100 datasheet; DGX H100 datasheet"},
    /* H200: H100's compute, 141 GB at 4.8 TB/s */
    {.name = "h200",
     .also = {"h200-141", "NVIDIA H200"},
     .memory_bytes = 141000000000,
     .rate_flops = RATES(67, 67, 494.7, 989.4, 989.4, 1978.9, 1978.9),
     .memory_bytes_per_s = 4800 * GIGA,
     GPU(450, 50),
     .source = "NVIDIA H200 datasheet"},
    /* P100 SXM2 datasheet: 5.3 TFLOPS f64, 10.6 f32, 21.2 f16; 16 GB at 732 GB/s; four NVLinks of 20 GB/s
     * each way. DGX-1: four 100 Gb/s ports for eight GPUs. No tensor cores: bf16, f8 and int8 run at the f32
     * rate. */
    {.name = "p100",
     .also = {"p100-16", "Tesla P100-SXM2-16GB"},
     .memory_bytes = 16 * GIB,
     .rate_flops = RATES(5.3, 10.6, 10.6, 10.6, 21.2, 10.6, 10.6),
     .memory_bytes_per_s = 732 * GIGA,
     GPU(80, 6.25),
     .no_bf16_arithmetic = true,
     .source = "NVIDIA Tesla P100 datasheet; DGX-1 datasheet"},
    /* Cloud TPU v2: 45 TFLOPS bf16 a chip of two cores, 16 GiB at 700 GB/s; 2-D torus of four 496 Gb/s links
     * a chip
     * ('A domain-specific supercomputer for training deep neural networks', CACM 2020). Halves: a device is a
     * core. */
    {.name = "tpu-v2",
     .also = {"v2", "TPU v2"},
     .memory_bytes = 8 * GIB,
     .rate_flops = RATES(0.4, 3.75, 22.5, 22.5, 22.5, 22.5, 22.5),
     .memory_bytes_per_s = 350 * GIGA,
     TPU(8, 2, 31),
     .no_bf16_arithmetic = true,
     .source = "Cloud TPU documentation, TPU v2; CACM 63(7)"},
    /* Cloud TPU v3: 123 TFLOPS bf16 a chip of two cores, 32 GiB at 900 GB/s; four 656 Gb/s links a chip (same
       paper) */
    {.name = "tpu-v3",
     .also = {"v3", "TPU v3"},
     .memory_bytes = 16 * GIB,
     .rate_flops = RATES(1, 10.25, 61.5, 61.5, 61.5, 61.5, 61.5),
     .memory_bytes_per_s = 450 * GIGA,
     TPU(8, 2, 41),
     .no_bf16_arithmetic = true,
     .source = "Cloud TPU documentation, TPU v3; CACM 63(7)"},
    /* Cloud TPU v4: 275 TFLOPS bf16 or int8, 32 GiB at 1,200 GB/s; 3-D torus, six links of about 50 GB/s each
       way */
    {.name = "tpu-v4",
     .also = {"v4", "TPU v4"},
     .memory_bytes = 32 * GIB,
     .rate_flops = RATES(4.5, 45.8, 275, 275, 275, 275, 275),
     .memory_bytes_per_s = 1200 * GIGA,
     TPU(4, 3, 50),
     .no_bf16_arithmetic = true,
     .source = "Cloud TPU documentation, TPU v4; ISCA 2023"},
    /* Cloud TPU v5e: 197 TFLOPS bf16, 393 int8, 16 GB at 819 GB/s; 2-D torus, 1,600 Gb/s over four links */
    {.name = "tpu-v5e",
     .also = {"v5e", "TPU v5e", "TPU v5 lite"},
     .memory_bytes = 16 * GIB,
     .rate_flops = RATES(3.2, 32.8, 197, 197, 197, 197, 393),
     .memory_bytes_per_s = 819 * GIGA,
     TPU(8, 2, 50),
     .no_bf16_arithmetic = true,
     .source = "Cloud TPU documentation, TPU v5e"},
    /* Cloud TPU v5p: 459 TFLOPS bf16, 918 int8, 95 GiB at 2,765 GB/s; 3-D torus, 1,200 GB/s both ways over
       six links */
    {.name = "tpu-v5p",
     .also = {"v5p", "TPU v5p", "TPU v5"},
     .memory_bytes = 95 * GIB,
     .rate_flops = RATES(7.6, 76.5, 459, 459, 459, 459, 918),
     .memory_bytes_per_s = 2765 * GIGA,
     TPU(4, 3, 100),
     .no_bf16_arithmetic = true,
     .source = "Cloud TPU documentation, TPU v5p"},
    /* Cloud TPU v6e: 918 TFLOPS bf16, 1,836 int8, 32 GB at 1,640 GB/s; 2-D torus, 800 GB/s both ways over
       four links */
    {.name = "tpu-v6e",
     .also = {"v6e", "TPU v6e", "TPU v6 lite"},
     .memory_bytes = 32 * GIB,
     .rate_flops = RATES(15.3, 153, 918, 918, 918, 918, 1836),
     .memory_bytes_per_s = 1640 * GIGA,
     TPU(8, 2, 100),
     .source = "Cloud TPU documentation, TPU v6e"},
    /* V100 SXM2 datasheet (32 GB): 7.8 TFLOPS f64, 15.7 f32, 125 f16 (tensor); 900 GB/s; six NVLinks of 25
     * GB/s each way. DGX-1: four 100 Gb/s ports for eight GPUs. bf16 runs at the f32 rate; int8 by dp4a, four
     * a lane. */
    {.name = "v100",
     .also = {"v100-32", "Tesla V100-SXM2-32GB"},
     .memory_bytes = 32 * GIB,
     .rate_flops = RATES(7.8, 15.7, 15.7, 15.7, 125, 15.7, 62.8),
     .memory_bytes_per_s = 900 * GIGA,
     GPU(150, 6.25),
     .no_bf16_arithmetic = true,
     .source = "NVIDIA V100 datasheet; DGX-1 datasheet"},
};

const struct cost_device *cost_devices(uint32_t *count)
{
    *count = sizeof devices / sizeof devices[0];
    return devices;
}

const struct cost_device *cost_device_find(const char *name)
{
    for (size_t i = 0; i < sizeof devices / sizeof devices[0]; i++) {
        if (strcmp(devices[i].name, name) == 0)
            return &devices[i];
        for (int k = 0; k < COST_DEVICE_NAMES && devices[i].also[k]; k++)
            if (strcasecmp(devices[i].also[k], name) == 0)
                return &devices[i];
    }
    return NULL;
}
