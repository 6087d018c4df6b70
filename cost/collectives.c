/* Alpha-beta prices of collectives: p devices, n bytes, latency a and bandwidth B of a link (per direction)
 *
 *                   ring                    bidirectional ring      recursive           tree
 *   all_gather      (p-1) a + (p-1)/p n/B   p/2 a + (p-1)/p n/2B    L a + (p-1)/p n/B   L a + (p-1)/p n/B
 *   reduce_scatter  as all_gather           as all_gather           as all_gather       as all_gather
 *   all_reduce      twice that              twice that              twice that          2 L a + 2 n/B
 *   all_to_all      (p-1) a + (p-1)/2 n/B   p/2 a + p/8 n/B         L a + L/2 n/B       -
 *   permute         a + n/B (direct)
 *
 * with L = ceil(log2 p). (Thakur, Rabenseifner, Gropp 2005, 'Optimization of collective communication
 * operations in MPICH'; all_to_all by Bruck et al. 1997; pipelined trees as in Sanders, Speck, Traeff 2009.)
 * On a switch, all_to_all is also pairwise: (p-1) a + (p-1)/p n/B. Rings and tori allow the two rings,
 * switches in a host ring, recursive and pairwise, switches between hosts ring, tree and pairwise. Groups
 * that are no power of two are charged ceil(log2 p) rounds, which keeps every row monotone in p. A group over
 * several axes is flat (one ring or tree at its slowest link) or hierarchical: one axis after another, so
 * that the slowest link carries the smallest piece. A group whose size and kind the machine's tables have is
 * priced from them instead (measured.c). */
#include "cost/machine.h"
#include "spmd/local.h"

#include <string.h>

struct group {
    int64_t devices;
    double ps_per_byte; /* of its link, one direction */
    double latency_ps;
    uint8_t topology, spans_hosts;
};

static struct group axis_group(const struct cost_machine *machine, const struct mesh *mesh, uint32_t axis)
{
    const struct cost_link *link = &machine->links[axis];
    return (struct group){mesh->axes[axis].size, 1e12 / link->bytes_per_s, (double)link->latency_ps,
                          link->topology, link->spans_hosts};
}

static double log2_ceil(int64_t p)
{
    int bits = 0;
    while (((int64_t)1 << bits) < p)
        bits++;
    return bits;
}

struct offer {
    double ps;
    const char *name;
};

static void consider(struct offer *best, double ps, const char *name)
{
    if (!best->name || ps < best->ps)
        *best = (struct offer){ps, name};
}

/* all_gather or reduce_scatter of n bytes (the whole, not the shard); passes = 2 gives all_reduce */
static struct offer price_gather(const struct group *group, double n, int passes, bool reduce)
{
    struct offer best = {0};
    double p = (double)group->devices, wire = n * (p - 1) / p * group->ps_per_byte,
           rounds = log2_ceil(group->devices);
    consider(&best, passes * ((p - 1) * group->latency_ps + wire), "ring");
    if (group->topology != COST_SWITCH) {
        int64_t hops = group->devices / 2;
        consider(&best, passes * ((double)hops * group->latency_ps + wire / 2), "bidirectional_ring");
    } else if (!group->spans_hosts) {
        consider(&best, passes * (rounds * group->latency_ps + wire),
                 passes == 2 ? "halving_doubling"
                 : reduce    ? "recursive_halving"
                             : "recursive_doubling");
    } else {
        double tree_wire = passes == 2 ? n * group->ps_per_byte : wire;
        consider(&best, passes * (rounds * group->latency_ps + tree_wire), "tree");
    }
    return best;
}

static struct offer price_exchange(const struct group *group, double n)
{
    struct offer best = {0};
    double p = (double)group->devices, byte = n * group->ps_per_byte, rounds = log2_ceil(group->devices);
    if (group->topology != COST_SWITCH) {
        /* every block travels its distance: sum of 1 .. p-1, or of the shorter way on both rings, over p
         * blocks */
        consider(&best, (p - 1) * group->latency_ps + byte * (p - 1) / 2, "ring");
        int64_t distances = group->devices * group->devices / 4, hops = group->devices / 2;
        double both = (double)distances / p / 2;
        consider(&best, (double)hops * group->latency_ps + byte * both, "bidirectional_ring");
        return best;
    }
    consider(&best, (p - 1) * group->latency_ps + byte * (p - 1) / p, "pairwise");
    consider(&best, rounds * group->latency_ps + byte * rounds / 2, "bruck");
    return best;
}

static struct offer price_group(const struct cost_machine *machine, const struct group *group, uint8_t kind,
                                double n)
{
    double measured_ps;
    if (group->devices < 2)
        return (struct offer){0, "none"};
    if (machine->table_count &&
        cost_measured_price(machine, kind, group->devices, group->spans_hosts, n, &measured_ps))
        return (struct offer){measured_ps, "measured"};
    switch ((enum spmd_step_kind)kind) {
    case SPMD_ALL_GATHER: return price_gather(group, n, 1, false);
    case SPMD_REDUCE_SCATTER: return price_gather(group, n, 1, true);
    case SPMD_ALL_REDUCE: return price_gather(group, n, 2, true);
    case SPMD_ALL_TO_ALL: return price_exchange(group, n);
    case SPMD_PERMUTE: return (struct offer){group->latency_ps + n * group->ps_per_byte, "direct"};
    case SPMD_OP:
    case SPMD_SLICE:
    case SPMD_MASK:
    case SPMD_LOOP:
    case SPMD_LOOP_BODY:
    case SPMD_LOOP_END:
    case SPMD_BRANCH:
    case SPMD_BRANCH_NEXT:
    case SPMD_BRANCH_END:
    case SPMD_RESULT: break;
    }
    return (struct offer){0, "none"};
}

/* the group of all axes at once: as fast as its slowest link */
static struct group flat_group(const struct group *groups, uint32_t count)
{
    struct group flat = groups[0];
    for (uint32_t i = 1; i < count; i++) {
        flat.devices *= groups[i].devices;
        if (groups[i].ps_per_byte > flat.ps_per_byte)
            flat.ps_per_byte = groups[i].ps_per_byte;
        if (groups[i].latency_ps > flat.latency_ps)
            flat.latency_ps = groups[i].latency_ps;
        flat.spans_hosts |= groups[i].spans_hosts;
        if (groups[i].topology != COST_SWITCH)
            flat.topology = groups[i].topology;
    }
    return flat;
}

/* Groups are sorted fastest first. A scatter goes down the list with ever smaller pieces, a gather comes back
 * up. */
static double price_hierarchy(const struct cost_machine *machine, const struct group *groups, uint32_t count,
                              uint8_t kind, double n)
{
    double ps = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool last = i + 1 == count;
        if (kind == SPMD_ALL_TO_ALL) {
            ps += price_group(machine, &groups[i], kind, n).ps;
            continue;
        }
        if (kind == SPMD_ALL_REDUCE && !last)
            ps += price_group(machine, &groups[i], SPMD_REDUCE_SCATTER, n).ps +
                  price_group(machine, &groups[i], SPMD_ALL_GATHER, n).ps;
        else
            ps += price_group(machine, &groups[i], kind, n).ps;
        n /= (double)groups[i].devices;
    }
    return ps;
}

/* Is the group reached through switches alone, with no link of an axis given by the mesh? Then only where its
 * devices stand counts. */
static bool is_switched(const struct cost_machine *machine, const struct mesh *mesh, const uint8_t *axes,
                        uint32_t axis_count)
{
    const struct cost_device *device = &machine->device;
    for (uint32_t i = 0; i < axis_count; i++)
        if (mesh->axes[axes[i]].link_bytes_per_s > 0 || mesh->axes[axes[i]].link_latency_ps > 0 ||
            machine->links[axes[i]].topology != COST_SWITCH)
            return false;
    return device->host_topology == COST_SWITCH && device->network_topology == COST_SWITCH;
}

/* Bandwidth share of a collective of n bytes inside a host and its time beside that, from the backend's
 * table; false: it has none of this kind. */
static bool host_share(const struct cost_backend *backend, uint8_t kind, int64_t devices, double n,
                       double *share, double *fixed_ps)
{
    const struct cost_collective_share *below = NULL, *above = NULL;
    for (uint32_t i = 0; i < backend->share_count; i++) {
        const struct cost_collective_share *row = &backend->shares[i];
        if (row->kind != kind)
            continue;
        if (row->devices <= devices)
            below = row;
        else if (!above)
            above = row;
    }
    if (!below && !above)
        return false;
    const struct cost_collective_share *first = below ? below : above, *second = above ? above : below;
    double part =
        first == second ? 0 : (double)(devices - first->devices) / (second->devices - first->devices);
    double knee = (double)backend->share_knee_bytes, large = n < knee ? n / knee : 1,
           first_us = first->small_us + large * (first->fixed_us - first->small_us),
           second_us = second->small_us + large * (second->fixed_us - second->small_us);
    *share = first->share + part * (second->share - first->share);
    *fixed_ps = (first_us + part * (second_us - first_us)) * 1e6;
    return true;
}

/* what the devices of a group send in the direct way: each its share of n to every other */
static double exchange_ps(const struct cost_group *group, uint8_t kind, double n, double host_rate,
                          double port_rate)
{
    double devices = (double)group->devices, on_host = (double)group->on_host;
    if (kind == SPMD_PERMUTE)
        return n / (group->hosts > 1 ? port_rate : host_rate) * 1e12;
    double inside = n * (on_host - 1) / devices / host_rate,
           outside = n * (devices - on_host) / devices / port_rate;
    return (inside > outside ? inside : outside) * 1e12;
}

/* A ring between hosts as a backend with network_chunk_bytes has it: pieces go round one after the other,
 * each with its transfer, the preparation of its chunks and a round trip; as many rings run side by side as
 * the group has devices on a host. Where a group has some devices of each host, every one of them is taken
 * for a host of its own. An all_to_all sends a piece to every device of another host, a permute one. */
static double ring_ps(const struct cost_machine *machine, const struct cost_group *group, uint8_t kind,
                      double n, double host_rate)
{
    const struct cost_backend *backend = machine->backend;
    double rails = (double)group->on_host, devices = (double)group->devices,
           nodes = group->whole_hosts ? (double)group->hosts : devices, members = nodes * rails,
           port_rate = machine->device.network_bytes_per_s * backend->network_fraction,
           rate = rails * port_rate < host_rate ? port_rate : host_rate / rails, pieces = members,
           rounds = (members - 1) / rails, moved = 3 - 1 / devices;
    if (kind == SPMD_ALL_REDUCE) {
        rounds *= 2;
        moved = 1;
    } else if (kind == SPMD_ALL_TO_ALL) {
        pieces = members - 1;
        rounds = rails * (nodes - 1);
        moved = 2;
    } else if (kind == SPMD_PERMUTE) {
        pieces = rounds = 1;
        moved = 2;
    }
    double piece = n / pieces, chunk = (double)backend->network_chunk_bytes,
           chunks = (double)(int64_t)((piece + chunk - 1) / chunk);
    return (double)backend->network_fixed_ps +
           rounds * (piece / rate * 1e12 + chunks * (double)backend->network_chunk_ps +
                     (double)backend->network_round_ps) +
           moved * n / machine->device.memory_bytes_per_s * 1e12;
}

/* Between hosts every device of the group brings its own port: a ring over all of them, on_host of which run
 * side by side (the rails), or a hierarchy, which moves as much over the ports. n as in the table above. */
static struct offer price_between_hosts(const struct cost_machine *machine, const struct cost_group *group,
                                        uint8_t kind, double n)
{
    const struct cost_device *device = &machine->device;
    double port_rate = device->network_bytes_per_s * device->link_fraction,
           host_rate = device->host_link_bytes_per_s * device->link_fraction,
           round_ps = (double)device->network_latency_ps, devices = (double)group->devices,
           rails = (double)group->on_host * port_rate, rate = rails < host_rate ? rails : host_rate;
    if (machine->backend->network_chunk_bytes)
        return (struct offer){ring_ps(machine, group, kind, n, host_rate),
                              kind == SPMD_ALL_TO_ALL || kind == SPMD_PERMUTE ? "direct" : "rails"};
    if (kind == SPMD_ALL_TO_ALL || kind == SPMD_PERMUTE)
        return (struct offer){log2_ceil(group->hosts) * round_ps +
                                  (double)((group->on_host - 1) * device->host_latency_ps) +
                                  exchange_ps(group, kind, n, host_rate, port_rate),
                              "direct"};
    int passes = kind == SPMD_ALL_REDUCE ? 2 : 1;
    double rounds =
        log2_ceil(group->hosts) * round_ps + log2_ceil(group->on_host) * (double)device->host_latency_ps;
    return (struct offer){passes * (rounds + n * (devices - 1) / devices / rate * 1e12), "rails"};
}

static struct offer price_placed(const struct cost_machine *machine, const struct cost_group *placed,
                                 uint8_t kind, double n)
{
    const struct cost_device *device = &machine->device;
    struct group group = {placed->devices, 1e12 / (device->host_link_bytes_per_s * device->link_fraction),
                          (double)device->host_latency_ps, COST_SWITCH, placed->hosts > 1};
    double measured_ps, share, fixed_ps;
    if (placed->devices < 2)
        return (struct offer){0, "none"};
    if (machine->table_count &&
        cost_measured_price(machine, kind, placed->devices, placed->hosts > 1, n, &measured_ps))
        return (struct offer){measured_ps, "measured"};
    if (placed->hosts > 1)
        return price_between_hosts(machine, placed, kind, n);
    if (!host_share(machine->backend, kind, placed->devices, n, &share, &fixed_ps))
        return price_group(machine, &group, kind, n);
    double rate = device->host_link_bytes_per_s * share, devices = (double)placed->devices,
           passes = kind == SPMD_ALL_REDUCE ? 2 : 1,
           wire = kind == SPMD_PERMUTE ? n : passes * n * (devices - 1) / devices;
    return (struct offer){fixed_ps + wire / rate * 1e12, "table"};
}

struct cost_collective cost_collective_price(const struct cost_machine *machine, const struct mesh *mesh,
                                             uint8_t kind, const uint8_t *axes, uint32_t axis_count,
                                             int64_t bytes)
{
    struct group groups[MESH_MAX_AXES];
    uint32_t count = 0;
    for (uint32_t i = 0; i < axis_count; i++) {
        struct group group = axis_group(machine, mesh, axes[i]);
        if (group.devices < 2)
            continue;
        uint32_t at = count++;
        for (; at > 0 && groups[at - 1].ps_per_byte > group.ps_per_byte; at--)
            groups[at] = groups[at - 1];
        groups[at] = group;
    }
    if (count == 0 || bytes <= 0)
        return (struct cost_collective){0, "none"};
    struct offer best;
    if (is_switched(machine, mesh, axes, axis_count)) {
        uint32_t mask = 0;
        for (uint32_t i = 0; i < axis_count; i++)
            mask |= 1u << axes[i];
        best = price_placed(machine, &machine->groups[mask], kind, (double)bytes);
    } else if (count == 1) {
        best = price_group(machine, &groups[0], kind, (double)bytes);
    } else {
        struct group flat = flat_group(groups, count);
        best = price_group(machine, &flat, kind, (double)bytes);
        /* what was measured for the whole group is what the library chooses by itself */
        if (kind != SPMD_PERMUTE && strcmp(best.name, "measured") != 0)
            consider(&best, price_hierarchy(machine, groups, count, kind, (double)bytes), "hierarchical");
    }
    return (struct cost_collective){cost_round_ps(best.ps), best.name};
}
