/* The machine model: a catalogue of devices, links of mesh axes, and overrides. Rates are doubles; times are
 * int64 picoseconds, sizes int64 bytes. A machine borrows its tables and strings and is otherwise a plain
 * value. Sources: the datasheets that struct cost_device names; docs/design/price.md. */
#ifndef TOAST_COST_MACHINE_H
#define TOAST_COST_MACHINE_H

#include "analysis/plan.h"
#include "cost/backend.h"
#include "spmd/local.h"

enum cost_rate {
    COST_RATE_F64,
    COST_RATE_F32,
    COST_RATE_TF32,
    COST_RATE_BF16,
    COST_RATE_F16,
    COST_RATE_F8,
    COST_RATE_I8,
    COST_RATES
};
enum cost_topology { COST_RING, COST_TORUS, COST_SWITCH };

#define COST_DEVICE_NAMES 3 /* other names of a device, at most */

struct cost_device {
    const char *name; /* "a100-40" */
    /* other names that requests may use, in any case; NULL after the last */
    const char *also[COST_DEVICE_NAMES];
    int64_t memory_bytes;
    double rate_flops[COST_RATES]; /* peak FLOP/s of matrix units by element type */
    double memory_bytes_per_s;
    double flops_fraction, memory_fraction, link_fraction; /* achievable share of the peaks */
    int64_t devices_per_host;
    double host_link_bytes_per_s; /* inside a host (NVLink, ICI), per device and direction */
    double network_bytes_per_s;   /* between hosts, per device */
    int64_t host_latency_ps, network_latency_ps;
    uint8_t host_topology, network_topology;
    uint8_t torus_dimensions; /* of a torus: rings through every device; 0 otherwise */
    int64_t launch_ps;        /* fixed time of one kernel */
    bool no_bf16_arithmetic;  /* elementwise units take none: compilers compute in f32 */
    uint8_t compiler;         /* enum cost_compiler: what runs its plans, unless a request names another */
    const char *source;       /* datasheet */
};
const struct cost_device *cost_devices(uint32_t *count);      /* the catalogue, sorted by name */
const struct cost_device *cost_device_find(const char *name); /* by any of its names; NULL: unknown */

/* Link of one mesh axis as the machine sees it: bandwidth of a group = link bandwidth / groups sharing it. */
struct cost_link {
    double bytes_per_s; /* per device and direction, achievable share and sharing applied */
    int64_t latency_ps;
    uint8_t topology;
    uint8_t spans_hosts;
};

/* A group of devices by where they stand (placement.c): devices in all, hosts that they stand on, devices of
 * the group on one host, and whether those are all that it has. */
struct cost_group {
    int64_t devices, hosts, on_host;
    bool whole_hosts;
};
/* the group that a set of axes (bit a: axis a) spans from device 0 */
struct cost_group cost_group_place(const struct mesh *mesh, int64_t devices_per_host, uint32_t axes);

/* Measured times of one kind of collective over groups of one size, by bytes as cost_collective_price
 * counts them (for all_gather and all_reduce that is nccl-tests' size). Bytes ascend strictly, times do
 * not fall. */
struct cost_point {
    int64_t bytes, time_ps;
};
struct cost_table {
    uint8_t kind;       /* enum spmd_step_kind */
    int8_t spans_hosts; /* 0 groups within a host, 1 across hosts, -1 either */
    int64_t devices;    /* of a group */
    const struct cost_point *points;
    uint32_t count; /* 1 or more */
};

/* In which order a device runs the steps. EITHER: time as the walk made them (what we emit); memory the
 * larger of that order and depth first from the results, in which XLA's CPU compiler runs whatever it is
 * given. Else one order for time and memory: as the walk made them; depth first; of the steps that are
 * ready what frees most memory. */
enum cost_order {
    COST_ORDER_EITHER,
    COST_ORDER_PROGRAM,
    COST_ORDER_DEPTH_FIRST,
    COST_ORDER_MEMORY,
    COST_ORDER_HIDING
};

struct cost_machine {
    struct cost_device device;          /* with overrides applied */
    const struct cost_backend *backend; /* of device.compiler */
    struct cost_link links[MESH_MAX_AXES];
    struct cost_group groups[1 << MESH_MAX_AXES]; /* by set of axes, of switched links */
    int64_t memory_limit_bytes;                   /* the request's, else the device's less 10 % */
    const struct cost_table *tables;              /* borrowed; what was measured wins over the closed forms */
    uint32_t table_count;
    const char *profile;  /* where they come from, "name@version"; NULL: nowhere. Borrowed. */
    bool asynchronous;    /* collectives run beside computation: the backend's, unless a request says not */
    uint8_t order;        /* enum cost_order; evaluators apply it */
    bool measured_flops;  /* the device's matrix rates come from a profile: what was achieved, not peaks */
    bool volume_only;     /* a request's "price": "volume"; what it changes is set already */
    double fusion_weight; /* 1; 0 reproduces the paper's 'matrix multiplications only' */
};
/* Derives links from axis order (last axis innermost), devices per host and the device; explicit links of
 * the mesh win. ERROR_UNKNOWN_DEVICE (message lists the names). memory_limit_bytes 0 = default. */
enum error_code cost_machine_create(const struct mesh *mesh, const char *device, int64_t memory_limit_bytes,
                                    struct cost_machine *out, struct error *e) BASE_CHECKED;
/* the same for a device described by the caller (a catalogue entry with overrides). ERROR_INVALID_REQUEST
 * when a rate, size or fraction is not positive or the fractions are above 1. *device is copied; its
 * strings stay borrowed. */
enum error_code cost_machine_create_device(const struct mesh *mesh, const struct cost_device *device,
                                           int64_t memory_limit_bytes, struct cost_machine *out,
                                           struct error *e) BASE_CHECKED;
/* Another compiler runs the plans, or collectives do not run beside computation: what depends on it is
 * derived anew. */
void cost_machine_set_backend(struct cost_machine *machine, const struct mesh *mesh,
                              enum cost_compiler compiler);
/* what of the walk's choices depends on the machine: axis_order, keep_layouts */
void cost_walk_options(const struct cost_machine *machine, const struct mesh *mesh,
                       struct spmd_options *walk);

/* From tables: between two points linearly, below the first one its time, above the last one in proportion
 * to the bytes. false: this kind and size of group was not measured. */
bool cost_measured_price(const struct cost_machine *machine, uint8_t kind, int64_t devices, bool spans_hosts,
                         double bytes, double *ps);

/* Longest time that a price says, about 46 days: more only says 'far too long', and sums of two stay in 64
 * bits. */
#define COST_LONGEST_PS INT64_C(4000000000000000000)
static inline int64_t cost_round_ps(double ps)
{
    return ps < (double)COST_LONGEST_PS ? (int64_t)(ps + 0.5) : COST_LONGEST_PS;
}

/* Price of one collective over a group. The cheapest algorithm that the topology allows, named. Monotone
 * in bytes and devices. bytes = result bytes per device for all_gather, operand bytes for all_reduce,
 * reduce_scatter, all_to_all, permute. Other kinds, and groups of one device, cost nothing ("none"). */
struct cost_collective {
    int64_t time_ps;
    const char *algorithm;
};
struct cost_collective cost_collective_price(const struct cost_machine *machine, const struct mesh *mesh,
                                             uint8_t kind /* enum spmd_step_kind */, const uint8_t *axes,
                                             uint32_t axis_count, int64_t bytes);

#endif
