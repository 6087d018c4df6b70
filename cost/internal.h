/* What the parts of the price share: facts of the program's ops, and the working memory of one pricing.
 *
 * A pricing is a few passes, none of which allocates once the arrays have grown (but for lend.c's two
 * short lists). In the order of a pricing:
 *
 *   price.c      the passes put together
 *   makespan.c   the time of a step: kernels on two streams, in program order
 *   scratch.c    the working memory: made, grown, freed
 *   fusion.c     backward over the steps: how each value is used, hence what fuses; forward: the buffers that
 *                every kernel reads
 *   recompute.c  of a value that several kernels use: stored, or computed in each of them
 *   roofline.c   facts of ops, once a program; the time of each kernel from the bytes and FLOPs that remain
 *   order.c      facts of dots: what is turned in memory so that its elements lie far apart when read
 *   epilogue.c   facts of products: what is stored instead of their results
 *   updates.c    what is written into a part of a buffer, and when the rest is copied first
 *   siblings.c   kernels that read the same arrays, or that compute from a product's result, and run as one
 *   looped.c     loops that send nothing
 *   combine.c    reduce_scatters that the compiler makes one op of
 *   schedule.c   another order of the kernels: depth first, or by memory
 *   overwrites.c what is written over an argument runs behind its readers
 *   memory.c     live ranges of the buffers in one order; where loop carries and donated arguments share one
 *   counted.c    what a scheduler counts when it compares orders
 *   lend.c       temporaries in the memory of results that are not written yet
 *   gathered.c   what libtpu's gathers read
 *   rematerialise.c  what is computed again near the limit
 *   heap.c       places of the temporaries, and what lies idle between them
 *   blocks.c     copies that put gathered blocks in order
 *   hiding.c     the order that hides collectives
 *   hidden_time.c  .. and its makespan
 *   unfold.c     of a fold: the kernels of all layers, for the makespan
 *   unfold_memory.c  .. their peak, where the order hides collectives
 *   least.c      what a step takes at least, without a walk
 *   equal.c      what a price depends on, as a hash
 *
 *   use list of a value (fusion.c, backward)          pool of roots (forward)
 *   x --> kernel 7                                    [.. | x 64 B | y 32 B | ..]
 *     --> kernel 9       uses 2, kernel SEVERAL              ^ kernels[i].roots, root_count = 2
 */
#ifndef TOAST_COST_INTERNAL_H
#define TOAST_COST_INTERNAL_H

#include "cost/price.h"

/* room for `need` entries; what was there stays */
#define GROW(array, room, need)                                                                              \
    do {                                                                                                     \
        if ((room) < (size_t)(need)) {                                                                       \
            (room) = (size_t)(need) + (size_t)(need) / 4 + 64;                                               \
            (array) = mem_realloc((array), (room), sizeof *(array));                                         \
        }                                                                                                    \
    } while (0)

/* What an op costs, by how it treats its operands. */
enum op_class {
    OP_NOTHING, /* structure: not priced */
    OP_FREE,    /* constant, iota: no buffer, nothing read */
    OP_ALIAS,   /* reshape, barrier: the result is its operand's buffer */
    /* dots and fused kernels read through it: an alias, unless something else wants it in memory */
    OP_TRANSPOSE,
    OP_CHEAP,       /* broadcast, convert, compare, ..: fuses into any number of uses */
    OP_CUT,         /* slice: cheap, and reads no more than its result */
    OP_ELEMENTWISE, /* fuses when all its uses end in one kernel, or when it is repeatable */
    OP_REDUCE,      /* operands fuse into it; its result is a buffer */
    OP_GATHER,      /* reads as much of operand 0 as it writes */
    OP_UPDATE,      /* dynamic_update_slice, scatter: writes part of operand 0, in place on its last use */
    OP_MATMUL,      /* dot, convolution */
    OP_OTHER        /* reads its operands, writes its results */
};

/* innermost dimensions of a value, as bits, as it is read and as it is written; 0: none. between: the ones
 * outside of these, where they are the same in both orders */
struct price_turn {
    uint8_t from, to, between;
};
struct op_info {
    uint8_t class;      /* enum op_class */
    uint8_t rate;       /* enum cost_rate, of matmuls */
    uint8_t repeatable; /* elementwise, cheap and of one array: rather computed again than stored */
    uint8_t in_place;   /* may write its result over an operand that it reads */
    uint8_t update;     /* OP_UPDATE: the operand that is written into operand 0 */
    uint8_t outlived;   /* OP_UPDATE: what is computed from its result reads operand 0 as it was */
    uint32_t congruent; /* 1 + the first of the ops that compute the same from the same; 0: no other does */
    uint32_t added;     /* scatter into zeros: 1 + the sum that alone reads it; that sum: 1 + the scatter */
    uint8_t effort;     /* elementwise: bytes that an element counts where it may be computed again */
    uint8_t passes;     /* over its operands and results, at least 1; sorting takes several */
    uint8_t joins;      /* concatenation */
    uint8_t idle;       /* reduction over dimensions of one element: a reshape */
    uint8_t to_erfc;    /* computed of several arrays, and an erfc is taken of it */
    uint8_t picks;      /* scatter: of one element into each row */
    uint8_t scores;     /* exponential of float32 scores, not converted last; rows of at most SCORES_MOST */
    uint8_t pools;      /* reduces overlapping windows, or is the gradient of that */
    uint8_t row_mask;   /* a comparison of at most two dimensions */
    uint8_t short_row;  /* OP_REDUCE: of one array, along its last dimension, at most ROW_MOST elements */
    bool columns;       /* a reduction that leaves the innermost dimension */
    uint8_t centred;    /* elementwise: x less a short row's reduction of x, as in a softmax */
    uint8_t normal;     /* a row less its mean, over its deviation, or that in another element type */
    uint8_t barrier;    /* keeps what reads its results behind all of its operands */
    uint8_t repeats;    /* broadcast: a new dimension between two of its operand's; 0: none */
    uint8_t batch_dims; /* dots: so many dimensions of the result are batched over */
    uint8_t stacked;    /* dots: bits of operands 0, 1 and the result (4) that are a row of matrices */
    uint8_t windows;    /* WINDOW_* of a convolution; 0: none */
    uint8_t work;       /* elementwise: eighths of a byte that an H100 moves meanwhile, of each element */
    struct price_turn turns[3];  /* dots: of both operands and of the result (order.c) */
    struct price_turn thin_turn; /* .. of the right operand where one of its batch_bits has length 1 */
    uint8_t batch_bits, outer; /* .. the right operand's batch dimensions; dims that no tile has (tiles.c) */
    uint8_t anew, anew_bits;   /* dots: 1 + the operand that an earlier one has turned otherwise; its batch */
    uint32_t product;    /* 1 + the product's op that it is stored instead of (epilogue.c); 0: of none */
    uint8_t turned_wide; /* .. the result's reader wants it in float32 */
    bool dot, reshapes;  /* OP_MATMUL: a dot; one that reads an array of more dimensions than a matrix */
    double flops;        /* matmuls: of the whole op, on one device */
};
/* elements that a block of threads keeps; longer rows take a kernel of their own */
enum { ROW_MOST = 32768 };
enum { SCORES_MOST = 2048 }; /* of rows of 4,096 libtpu 0.0.51 stores other things */

/* An immutable table for one program; shared by threads. */
struct price_program {
    const struct nda *nda; /* borrowed */
    struct op_info *ops;
    uint32_t *alias_result;   /* per argument: the result that takes its buffer, or NDA_NONE */
    uint32_t *alias_argument; /* per result: the argument whose buffer it takes, or NDA_NONE */
    bool has_barriers;        /* an optimization_barrier: something is computed again (jax.checkpoint) */
    uint8_t *donated;         /* per argument: aliased, or a donor without a fixed result */
};
struct price_program *price_program_create(const struct nda *n);
void price_program_destroy(struct price_program *program);

static inline int64_t at_most(int64_t n, int64_t most)
{
    return n < most ? n : most;
}

/* of the order that counts or, if that is less, the program's, of which a fold errs least */
static inline int64_t price_least_peak(const struct price *price)
{
    return price->program_peak_bytes && price->program_peak_bytes < price->peak_bytes
               ? price->program_peak_bytes
               : price->peak_bytes;
}

/* least.c: of whole plans, or of the fold's, which may be thin. Immutable; owned. */
struct price_least;
struct fold;
struct price_least *price_least_create(const struct price_program *program,
                                       const struct cost_machine *machine, const struct fold *fold);
void price_least_destroy(struct price_least *least); /* NULL is fine */
int64_t price_least_ps(const struct price_least *least, const struct mesh *mesh, const struct plan *plan);
int64_t price_least_moved_ps(const struct spmd_local *local, const struct cost_machine *machine,
                             const struct price_fold *fold);

/* equal.c: of steps as they were walked, for one program, machine and order */
struct hash128 price_identity(const struct spmd_local *local);

enum value_state {
    VALUE_BUFFER, /* has memory of its own; its only root is itself */
    VALUE_ALIAS,  /* another name of one buffer: one root */
    VALUE_FUSED   /* computed inside its consumers' kernels: any number of roots */
};

struct root {
    uint32_t value;
    int64_t bytes;
}; /* bytes a kernel reads of it */

enum { HARD_MATMUL = 1, HARD_OTHER = 2, HARD_STACKED = 4 };
/* How a value is used, found backward. */
struct value_use {
    uint32_t uses;        /* by steps */
    uint32_t kernel;      /* 1 + the one kernel all uses end in; 0: no use yet, KERNEL_SEVERAL */
    uint8_t hard;         /* who wants it in memory: bits of HARD_* */
    uint8_t kept;         /* something repeated is computed from it: not repeated itself */
    uint8_t feeds_matmul; /* a matrix product is computed from it */
    uint8_t batched;      /* by COST_FUSE_BATCHES: products with batches read it: READ_BATCHED and more */
    uint8_t across;       /* bits: READ_ACROSS, what is computed of it alone is transposed; READ_ALONG, not */
    uint8_t windows;      /* by COST_FUSE_PRODUCTS: bits WINDOW_* of the convolutions that read it */
    uint8_t transposed;   /* a transpose reads it; this and the next two by COST_FUSE_BYTES alone */
    uint32_t user;        /* the last step that was seen to use it */
    uint32_t set;         /* of KERNEL_SEVERAL: in scratch.sets */
};
enum { KERNEL_SEVERAL = NDA_NONE };
/* .. few batches; a product without batches alone reads what one of them makes */
enum { READ_BATCHED = 1, READ_FEW = 2, READ_ENDS = 4, FEW_BATCHES = 7 };
enum { READ_ACROSS = 1, READ_ALONG = 2 };
/* of an op: it is a convolution, with strides; of a value: one reads it, with strides or joined to others */
enum { WINDOW_ANY = 1, WINDOW_APART = 2 };

/* What a value is, found forward; set when the step that defines it is reached. */
struct value_work {
    uint32_t roots;        /* in the pool; of a buffer what its kernel reads: it is its own root */
    uint32_t mark, slot;   /* last union it was put into, and its place there */
    uint32_t last;         /* last time something needs the buffer */
    uint32_t before;       /* .. and the one before that */
    uint32_t behind;       /* number of the last barrier it is read through; 0: none */
    uint32_t home_free;    /* homed: first time nothing needs what the place held before */
    uint8_t root_count;    /* at most ROOTS_MAX */
    uint8_t state;         /* enum value_state */
    uint8_t homed : 1;     /* its buffer is part of an output, a carry or a branch's result */
    uint8_t lent : 1;      /* the blocks it was ordered from lie in a result's memory */
    uint8_t wide : 1;      /* bf16 that is stored as f32 */
    uint8_t scattered : 1; /* a reduce_scatter is made of it */
    uint8_t reduced : 1;   /* computed from a reduce_scatter that may be combined */
    uint8_t whole : 1;     /* a reduce_scatter's result that is stored as its operand's sum */
    uint8_t twice : 1;     /* stored in two shapes (fusion.c) */
    uint8_t inner : 1;     /* read in the kernel that makes it alone: never in memory (siblings.c) */
    uint8_t turned : 1;    /* its memory is in the order of a transposed gradient (memory.c) */
    uint8_t chain : 1;     /* a product is computed of it of whose result one is (siblings.c) */
    uint8_t flat : 2; /* part of an array of one row, which takes 1 << flat times its elements (tiles.c) */
};
/* GPU compilers bound a kernel's parameters; beyond this a fused value goes to memory */
enum { ROOTS_MAX = 64 };

/* When a buffer is there: on the streams, and along the longest chain of dependencies. */
struct value_times {
    int64_t ready_ps, path_ps;
    uint8_t of_weights; /* computed from arguments without a matrix product: set by price_times */
};

enum step_fate {
    FATE_FREE,   /* nothing to do: constants */
    FATE_ALIAS,  /* another name of its operand, if that is a buffer */
    FATE_NAMED,  /* another name of what a like op made (congruent.c) */
    FATE_ADDED,  /* another name of the scatter's result that it adds (added.c) */
    FATE_FUSED,  /* computed in the kernels that use it */
    FATE_KERNEL, /* a kernel or a collective */
    FATE_MARK    /* opens, parts or closes a region, or ends the program */
};

/* What computing a value anew would read, and take beside (recompute.c). */
enum { RECOMPUTE_ROOTS = 4, RECOMPUTE_ITSELF = 255 };
struct recompute {
    int64_t total, effort; /* bytes of all roots; effort as bytes moved meanwhile */
    uint32_t roots;        /* first in again_roots */
    bool gathered;         /* it is a gather's result, which reads as much as it has */
    uint8_t gathers;       /* so many operands are */
    uint32_t count;        /* at most RECOMPUTE_ROOTS: what is beyond counts in total alone; or ITSELF */
};

/* Two or more kernels that a value's uses end in, each as 1 + its step. */
enum { KERNELS_KNOWN = 8 };
struct kernel_set {
    uint32_t at[KERNELS_KNOWN];
    uint32_t count; /* KERNELS_KNOWN + 1: more */
};

/* Kernels that run as one, led by the first (siblings.c). */
struct sibling_group {
    uint32_t leader, last;     /* kernels; last: of the leader's chain */
    uint32_t region;           /* of the program between two marks; 0: outside all loops and branches */
    int64_t elements, reduced; /* of the leader: what it goes over; bytes of its reductions' results */
    bool free;                 /* of the leader: it may run before all other kernels */
    bool aside;                /* of the leader: no product of the chain waits for its chain's results */
    bool late;                 /* computed from rows that wait (is_late) */
    uint32_t since;            /* of the leader: step that its chain may run behind */
    uint32_t product;          /* that the kernel's result is stored instead of; NDA_NONE: of none */
};

/* What passes over all kernels ask of a kernel's step. */
enum kernel_trait {
    KERNEL_SENDS = 1,      /* a collective */
    KERNEL_SCATTERS = 2,   /* .. a reduce_scatter */
    KERNEL_COMPUTES = 4,   /* as step_is_local says */
    KERNEL_MULTIPLIES = 8, /* .. a product or convolution */
    KERNEL_DOT = 16,       /* .. a product, */
    KERNEL_RESHAPES = 32,  /* .. which reads what is reshaped for it */
    KERNEL_SHARES = 64,    /* .. it may run as one with others (siblings.c) */
    KERNEL_REDUCES = 128,  /* .. a reduction */
    KERNEL_MARKS = 256,    /* opens, parts or closes a loop or branch, */
    KERNEL_OPENS = 512,    /* .. opens it */
    KERNEL_INSIDE = 1024,  /* of a loop or branch */
    KERNEL_ROWS = 2048     /* it keeps rows (softmax), as Triton's kernels: beside what it reads */
};

/* A step that does something, or that marks a region or the end: all but what is fused, free or an alias. */
struct kernel {
    uint32_t step;
    uint16_t traits;            /* bits of enum kernel_trait */
    bool follows;               /* it is the next of one */
    bool beside;                /* of the chain's all_reduces: it runs as one with the one before it */
    uint32_t roots, root_count; /* the buffers it reads, in the pool */
    uint32_t behind;            /* number of the last barrier that it reads through; 0: none */
    uint32_t joined;   /* of gradients' reductions: number (1 ..) of those that run as one; 0: none */
    uint32_t led_by;   /* of weights' gathers: 1 + the first of those that run as one; 0: it is the first */
    uint32_t together; /* combine.c: number (1 ..) of the reduce_scatter that it is part of; 0: none */
    uint32_t next;     /* what runs as one with it, in another place of the program; 0: it is the last */
    bool looped;       /* of a loop that sends nothing, its marks included: collectives pass it by */
    int64_t ps;        /* once, not x trips; 0 for marks */
    int64_t copy_ps;   /* of collectives: compute that puts their blocks in order; of dots, part of ps: what
                        * reads their turned operands and result */
    int64_t apart_ps;  /* of ps: what XLA's estimate takes as free, so that nothing hides behind it */
    int64_t elements;  /* of what may run as one with others: that it goes over */
    int64_t shared_bytes; /* siblings.c: what it need not read, as an earlier kernel does for it; 0: alone */
};

/* An optimization_barrier outside loops, where the compiler orders the program with it: the buffers of its
 * operands, in the pool, the barrier that those are read through, and its step. */
struct barrier {
    uint32_t roots, root_count, behind, step;
};

/* A reduce_scatter that may be combined with others (combine.c). */
struct scatter {
    uint32_t walk; /* its number in a walk from the first result (XLA:GPU); 0: it is not met */
    uint32_t kernel, op, origin;
    uint8_t element, reducer;
    uint8_t axes[MESH_MAX_AXES]; /* 0xff beyond the last */
};

/* An all_reduce that may be combined with others (reductions.c). */
struct reduction {
    uint32_t kernel, op, origin;
    uint32_t number; /* in the order of the program */
    uint32_t height; /* reductions of its kind on the longest way from it to a result */
    uint64_t early;  /* the more, the earlier the first result is that it comes to */
    uint8_t element, reducer;
    uint8_t axes[MESH_MAX_AXES]; /* 0xff beyond the last */
    bool taken;
};

/* What kernels take, of all trips. */
struct kernel_sums {
    int64_t matmul_ps, other_ps, communication_ps;
};

/* What hidden_time.c knows of a loop or branch whose end has not come. */
struct hidden_sums {
    struct kernel_sums kernels;
    int64_t waited_ps; /* that nothing is computed beside collectives */
};
struct hidden_region {
    uint32_t mark, first;             /* its first kernel, and that of the part which is open */
    bool sends;                       /* there are collectives in that part, but for regions in it */
    struct hidden_sums sums, slowest; /* slowest: of a branch's regions so far */
};

/* Where a buffer takes memory: during times from .. until - 1 of the line (memory.c). */
struct live_range {
    uint32_t from, until;
};

enum { COUNTED_PARTS = 3 };
struct price_graph;
struct price_heap;
struct price_hoists;
struct price_kept;
struct price_scratch {
    struct price_program *program; /* owned, unless shared */
    bool program_shared;
    int64_t far_bytes;              /* price_limits; 0: no limit */
    int64_t hopeless_ps, beaten_ps; /* those of price_limits, as steps of plans that fit; 0: no limit */
    /* of the pricing before: the peak in the order that hides collectives is the whole program's, or does not
     * matter */
    bool hiding_known;
    bool left_open; /* it does not, as the step is beyond hopeless_ps or beaten_ps */
    struct value_use *uses;
    size_t use_room; /* per value */
    struct value_work *values;
    size_t value_room;
    struct value_times *times;
    size_t time_room; /* per value; of buffers */
    uint8_t *fates;
    size_t fate_room; /* per step: enum step_fate */
    struct live_range *ranges;
    size_t range_room; /* per value; from == until: takes none */
    int64_t *deltas;
    size_t delta_room;      /* per time + 2; after price_memory: bytes alive */
    struct kernel *kernels; /* in program order */
    size_t kernel_count, kernel_room;
    VEC(uint32_t) walk;       /* kernels to be looked at (combine.c) */
    struct barrier *barriers; /* in program order */
    size_t barrier_count, barrier_room;
    const struct kernel *line; /* the kernels in the order whose memory is priced; borrowed */
    int64_t counted_peak;      /* in that order, by least_order: what its compiler compares orders by */
    bool by_memory;            /* that is the order of what frees most */
    /* per time + 2, by least_order: deltas of what is counted beyond what is there (counted.c); of a fold,
     * too, those of its parts 1 and 2 */
    int64_t *counted[COUNTED_PARTS];
    size_t counted_room[COUNTED_PARTS];
    int64_t *copied_bytes; /* per argument that has a range: of its copy */
    size_t copied_room;
    int64_t *growth;
    size_t growth_room; /* per kernel of the line, by memory alone: bytes that it makes less those it frees */
    int64_t kept_bytes; /* price_find_kept */
    struct price_kept *kept; /* owned; made by kept.c at first use; the next two by heap.c, hoisted.c */
    struct price_heap *heap;
    struct price_hoists *hoists;
    uint32_t *at;
    size_t at_room; /* per step of a kernel: its place in the line */
    uint32_t *named;
    size_t named_room; /* per value of such an op: that which it is another name of, or itself */
    uint32_t *congruent_step;
    size_t congruent_step_room; /* per op that is the first of congruent ones: the first of their steps */
    struct root *pool;
    size_t pool_count, pool_room;
    uint32_t *loop_end;
    size_t loop_room;                      /* per step: the step that closes the region it opens */
    uint32_t mark;                         /* of the union being built */
    uint32_t rules;                        /* enum cost_fusion_rule, of the machine that is priced */
    bool wide_bf16;                        /* its elementwise units take no bf16 */
    double effort_scale;                   /* its bytes moved during arithmetic, beside an H100's */
    struct cost_kernel_bytes kernel_bytes; /* the backend's, so scaled */
    int64_t *work;
    size_t work_room; /* per step; of kernels, by COST_FUSE_WORK: bytes an H100 moves during its arithmetic */
    struct recompute *again;
    size_t again_room; /* per value */
    struct root *again_roots;
    size_t again_root_count, again_root_room;
    struct kernel_set *sets;
    size_t set_count, set_room;
    struct sibling_group *groups;
    size_t group_room; /* per kernel */
    uint32_t *readers;
    size_t reader_room;    /* per value: 1 + the leader of the group that read or made it last */
    int64_t combine_bytes; /* of the backend: results of one combined reduce_scatter */
    int64_t reduce_bytes;  /* .. operands of one combined all_reduce (reductions.c); 0: not */
    bool best_fit;         /* of the backend; the next two, too */
    uint16_t idle_least, idle_most;
    bool results_apart; /* of the backend */
    bool tiled;         /* of the backend */
    int64_t *padding;
    size_t padding_room;   /* per value, where tiled: bytes that its tiles take beyond its elements */
    bool stores_softmax;   /* probabilities of stored scores, or for few batches; no bf16 arithmetic */
    bool reduces_in_place; /* of the backend */
    int64_t scatter_most;  /* devices of a reduce_scatter that is one; more: an all_reduce */
    bool least_order;      /* of the backend */
    bool hides;            /* of the backend */
    bool barriers_bind;    /* the backend orders the program with its barriers, and it has some */
    struct scatter *scatters;
    size_t scatter_room;
    struct reduction *reductions;
    size_t reduction_room;
    uint64_t
        *reached; /* sets of reductions: of each reduction, value and barrier those behind it, and more */
    size_t reached_room;
    uint32_t *combined_last, combined_count; /* place of the last member in the line */
    size_t combined_room;
    struct price_graph *graph;        /* owned; graph.h, made by schedule.c at first use */
    struct price_graph *region_graph; /* likewise, of a part of a loop or branch */
    bool of_buffers;                  /* operands name buffers (unfold_memory.c) */
    bool hidden_graph;                /* graph is of this pricing, in the order that hides collectives */
    VEC(struct hidden_region) regions;
    const struct price_fold
        *fold;               /* of the pricing that is under way; NULL: the program is whole. Borrowed */
    int64_t *part_deltas[2]; /* of a fold: deltas of what its parts 1 and 2 make */
    size_t part_delta_room[2];
    /* owned; made by unfold.c at first use: of all layers, and of fewer */
    struct price_unfolded *unfolded, *shorter;
};
struct price_scratch *
price_scratch_create(struct price_program *shared); /* NULL: makes its own at first use */

/* What a FLOP, a byte and a kernel's launch take on the machine; weight: of kernels that are no matmul. A
 * matmul takes the longer of its FLOPs and bytes, or, where the backend's products do not hide what they
 * move, both. */
struct price_rates {
    double matmul_bytes;     /* share of what a matmul moves that adds to its FLOPs; 0: none */
    int64_t matmul_fixed_ps; /* of one matmul: its launch, or filling and emptying of its pipeline */
    double ps_per_flop[COST_RATES];
    double ps_per_byte;
    double weight;
    int64_t launch_ps, columns_ps;
};
struct price_rates price_rates_of(const struct cost_machine *machine);
/* a matmul whose FLOPs and whose bytes take so long by themselves */
static inline int64_t price_matmul_ps(const struct price_rates *rates, double compute_ps, double memory_ps)
{
    double ps = compute_ps + rates->matmul_bytes * memory_ps;
    return cost_round_ps(ps > memory_ps ? ps : memory_ps) + rates->matmul_fixed_ps;
}

/* grows the arrays for local, takes the machine's rules and clears what a pricing accumulates */
/* tiles.c: scratch->padding; and op_info.outer, once a program */
void price_tile(struct price_scratch *scratch, const struct spmd_local *local);
void price_find_outer(struct price_program *program);
/* .. local size of a value's last dimension; the dimension that a reduce_scatter scatters; does it do so
 * along the last one, into blocks that do not fill words in all lanes? Then libtpu reduces the whole. */
int64_t price_innermost_size(const struct spmd_local *local, uint32_t value);
uint32_t price_scattered_dim(const struct spmd_local *local, const struct spmd_step *step);
bool price_scatters_lanes(const struct price_scratch *scratch, const struct spmd_local *local,
                          const struct spmd_step *step);
void price_prepare(struct price_scratch *scratch, const struct spmd_local *local,
                   const struct cost_machine *machine);
/* of a scratch that is not prepared: the machine's rules alone */
void price_take_rules(struct price_scratch *scratch, const struct cost_machine *machine);
/* fusion: states, roots, kernels */
void price_fuse(struct price_scratch *scratch, const struct spmd_local *local);
/* recompute.c, by COST_FUSE_BYTES. Before all else: what computing each value anew would take. */
void price_weigh(struct price_scratch *scratch, const struct spmd_local *local);
/* backward, after the step's fate is known: notes that the step uses its operands, and in which kernels */
void price_note_uses(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step,
                     enum step_fate fate);
/* What constants alone make and a loop hands on as it is, libtpu makes inside the loop, XLA:GPU a constant
 * that is broadcast: the body's value has no memory. loop: its first step, whose loop_end is known. */
bool price_is_sunk(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t loop,
                   uint32_t carried);
/* elementwise, cheap or reduce, of one result whose uses are all noted: computed where it is used? */
/* a bf16 result of an elementwise op, which a device without such arithmetic computes in f32, and keeps in
 * f32 where nothing wants it in memory as it is */
bool price_widens(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t value);
/* recompute.c, by COST_FUSE_WORK, after the step's fate is known: its arithmetic, in the kernels that do
 * it */
void price_add_work(struct price_scratch *scratch, const struct spmd_local *local, uint32_t step,
                    enum step_fate fate);
/* computed from two arrays as large as it and from something smaller: a softmax' gradient, of scores, of what
 * comes from behind and of statistics of the rows; by COST_FUSE_PRODUCTS */
bool price_is_of_rows(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t value);
/* by COST_FUSE_EPILOGUE: the result of the product that the step's result is stored instead of, where it is
 * as large; NDA_NONE: of none */
uint32_t price_epilogue_of(const struct price_scratch *scratch, const struct spmd_local *local,
                           const struct spmd_step *step);
bool price_rather_fused(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct spmd_step *step, const struct op_info *info);
/* ps of every kernel */
void price_times(struct price_scratch *scratch, const struct spmd_local *local,
                 const struct cost_machine *machine);
/* combine.c, after price_fuse: chains the kernels that are combined */
void price_combine(struct price_scratch *scratch, const struct spmd_local *local);
/* combine.c, after price_combine: may the kernels that make the two values not run as one, since a combined
 * reduction could come between? If they may the first value stands for both from now on. */
bool price_keeps_apart(const struct price_scratch *scratch, uint32_t leader, uint32_t value);
/* reductions.c, after price_siblings: chains the all_reduces that are combined */
void price_combine_reductions(struct price_scratch *scratch, const struct spmd_local *local);
/* schedule.c: the last kernel of the unit that begins with this one and whose kernels follow one another */
uint32_t price_unit_end(const struct price_scratch *scratch, const struct spmd_local *local, uint32_t kernel);
/* makespan.c: adds a kernel: what it computes, and what it sends */
void price_add_kernel(const struct spmd_local *local, const struct kernel *kernel, struct kernel_sums *sums);
/* looped.c: sets `looped` of all kernels */
void price_find_looped(struct price_scratch *scratch, const struct spmd_local *local);
/* price.c: evaluator_measure, of a fresh scratch */
void price_measure(struct price_scratch *scratch, const struct spmd_local *local,
                   const struct cost_machine *machine, enum cost_order order, struct price_measured *out);
/* unfold.c: the kernels of a fold as the whole program would run them */
struct price_unfolded {
    struct price_scratch *scratch; /* owned: kernels, pool, times, uses */
    struct spmd_local local;       /* a view: its steps are the kernels'; values have bytes */
    struct unfold *work;
    bool prepared;
};
/* after price_times, of a scratch with a fold, whose `at` says which kernel a step is; borrowed from it until
 * its next pricing. shorter: one of fold.shorter; NULL: all layers */
struct price_unfolded *price_unfold(struct price_scratch *scratch, const struct spmd_local *local,
                                    const struct cost_machine *machine, const struct fold_shorter *shorter);
void price_unfolded_destroy(struct price_unfolded *unfolded);
/* unfold_memory.c, of what price_unfold gave: what orders its kernels and prices their memory; once */
void price_unfolded_prepare(struct price_unfolded *unfolded);
/* .. puts the peak of the order that hides collectives in place of the fold's; kept_bytes of its scratch are
 * that peak's. false: there are loops or branches, of which it knows nothing. */
bool price_unfolded_peak(struct price_unfolded *unfolded, const struct cost_machine *machine,
                         struct price *out);
/* unfold_deep.c, of a scratch whose fold is deep: the same, told from shorter programs */
bool price_deep_peak(struct price_scratch *scratch, const struct spmd_local *local,
                     const struct cost_machine *machine, struct price *out);
/* siblings.c, after price_combine, by COST_FUSE_SIBLINGS: shared_bytes of the kernels, and chains */
void price_siblings(struct price_scratch *scratch, const struct spmd_local *local);
/* Live ranges when the kernels run in the order of line (a permutation of s->kernels that
 * price_depth_first or price_by_memory made, or s->kernels); fills peak_bytes, peak_step, argument_bytes,
 * output_bytes, alias_bytes. line stays borrowed; order says which one it is. */
void price_memory(struct price_scratch *scratch, const struct spmd_local *local, const struct kernel *line,
                  enum cost_order order, struct price *out);
/* counted.c: by least_order, else these do nothing. Bytes that are counted beyond what is there. */
void price_count_begin(struct price_scratch *scratch);
void price_count(struct price_scratch *scratch, uint8_t part, int64_t bytes, struct live_range live_range);
/* .. after the ranges are known: donated arguments that are gone, results that are not there */
void price_count_boundary(struct price_scratch *scratch, const struct spmd_local *local);
/* hoisted.c, after the times are known, by COST_FUSE_PRODUCTS: memory of what is made once before loops */
void price_place_hoisted(struct price_scratch *scratch, const struct spmd_local *local);
void price_hoists_destroy(struct price_hoists *hoists); /* NULL is fine */
/* lend.c, after the ranges are known: what fits into results' memory before they are written takes none of
 * its own. boundary_bytes: of arguments and results, what a result's size is compared with. */
void price_lend(struct price_scratch *scratch, const struct spmd_local *local, int64_t boundary_bytes);
/* heap.c: where the backend's best_fit is false these do nothing. Buffers are placed during their ranges at
 * the time of price_heap_extents, and what is added: memory that is no buffer, NDA_NONE, or a value's blocks,
 * which take none if they are lent. */
void price_heap_begin(struct price_scratch *scratch, const struct spmd_local *local);
void price_heap_add(struct price_scratch *scratch, uint32_t blocks_of, int64_t bytes,
                    struct live_range live_range);
/* value is written where donor lies, when donor's range ends */
void price_heap_inherit(struct price_scratch *scratch, uint32_t donor, uint32_t value);
/* of each time of the line: up to which byte the heap is in use; borrowed until the next begin */
const int64_t *price_heap_extents(struct price_scratch *scratch, const struct spmd_local *local);
void price_heap_destroy(struct price_heap *heap);
/* memory.c: bytes of a combined collective's member while operands are packed */
int64_t price_packed_bytes(const struct price_scratch *scratch, const struct spmd_local *local,
                           const struct spmd_step *step);
/* tiles.c: the `flat` of a combined all_reduce's results; 0 for other steps */
uint8_t price_flat(const struct price_scratch *scratch, const struct spmd_local *local,
                   const struct spmd_step *step);
/* twins.c, by COST_FUSE_BATCHED, for memory: flags gradients that lie as another's update wants it */
void price_find_twins(struct price_scratch *scratch, const struct spmd_local *local);
/* memory.c, by COST_FUSE_BATCHED, kernels in program order: bytes that move because arguments are copied for
 * it, and because it runs apart from its siblings */
int64_t price_turned_bytes(struct price_scratch *scratch, const struct spmd_local *local,
                           const struct kernel *kernel);
/* blocks.c: does a device hold more than one block of the value outside this atom (or SPMD_WHOLE + dim)? */
bool price_has_outer(const struct spmd_local *local, uint32_t value, uint8_t atom);
/* blocks.c: bytes of the blocks that a gather or scatter along an inner dimension orders by a copy; or 0 */
int64_t price_ordered_copy(const struct price_scratch *scratch, const struct spmd_local *local,
                           const struct spmd_step *step);
/* .. that is in memory beside operand and result while it runs. XLA:GPU makes what it scatters in the
 * order that it is sent in, and copies what the update reads instead (memory.c); the time of the one is
 * charged for that of the other. */
int64_t price_held_copy(const struct price_scratch *scratch, const struct spmd_local *local,
                        const struct spmd_step *step);
/* after price_fuse: the kernels depth first from the results; borrowed from the scratch until its next
 * call */
const struct kernel *price_depth_first(struct price_scratch *scratch, const struct spmd_local *local);
/* .. in that of a scheduler that hides collectives (hiding.c), after price_times */
const struct kernel *price_hiding(struct price_scratch *scratch, const struct spmd_local *local);
/* right after price_depth_first: the same by memory, of what is ready the kernel that frees most */
const struct kernel *price_by_memory(struct price_scratch *scratch);

/* a scatter that picks and a concatenation, where they are elementwise; a reduction of nothing */
extern const struct op_info price_pick_info, price_join_info, price_idle_info;
static inline const struct op_info *step_info(const struct price_scratch *scratch,
                                              const struct spmd_step *step)
{
    const struct op_info *info = &scratch->program->ops[step->op];
    if (info->joins && scratch->rules & COST_FUSE_JOINS)
        return &price_join_info;
    if (info->idle && scratch->rules & COST_FUSE_ROWS)
        return &price_idle_info;
    return info->picks && scratch->rules & COST_FUSE_PICKS ? &price_pick_info : info;
}
/* a barrier that the compiler orders the program with: what reads its results runs behind all of its
 * operands, which are in memory */
static inline bool price_is_barrier(const struct price_scratch *scratch, const struct spmd_step *step)
{
    return scratch->barriers_bind && step->kind == SPMD_OP && !step->depth &&
           step_info(scratch, step)->barrier;
}
/* Is what the kernel reads through a barrier there at a step? (Not where the barrier may wait for that.) */
static inline bool price_is_through(const struct price_scratch *scratch, const struct kernel *kernel,
                                    uint32_t step)
{
    return !kernel->behind || scratch->barriers[kernel->behind - 1].step < step;
}
enum { TILE_LANES = 128 }; /* of a TPU's tile: elements along its innermost dimension */
extern const struct op_info price_slice_info, price_masked_info, price_partial_info, price_mark_info;
/* facts of any step; what is no op is described as one */
static inline const struct op_info *price_info_of(const struct price_scratch *scratch,
                                                  const struct spmd_step *step)
{
    if (step->kind == SPMD_OP)
        return step_info(scratch, step);
    if (step->kind == SPMD_MASK)
        return step->mask_initial ? &price_masked_info : &price_partial_info;
    return step->kind == SPMD_SLICE ? &price_slice_info : &price_mark_info;
}
/* bytes of a value as it stands in memory, in its own type */
static inline int64_t price_held_bytes(const struct price_scratch *scratch, const struct spmd_local *local,
                                       uint32_t value)
{
    return local->values[value].bytes + (scratch->tiled ? scratch->padding[value] : 0);
}
/* the value whose elements stand in its buffer */
static inline uint32_t price_stands_for(const struct price_scratch *scratch, const struct spmd_local *local,
                                        uint32_t value)
{
    return scratch->values[value].whole ? local->operands[local->steps[local->values[value].step].operands]
                                        : value;
}
/* bytes of its buffer */
static inline int64_t stored_bytes(const struct price_scratch *scratch, const struct spmd_local *local,
                                   uint32_t value)
{
    if (scratch->values[value].flat)
        return local->values[value].bytes << scratch->values[value].flat;
    return price_held_bytes(scratch, local, price_stands_for(scratch, local, value))
           << (scratch->values[value].wide + scratch->values[value].twice);
}
/* .. and of the elements in it */
static inline int64_t price_unpadded_bytes(const struct price_scratch *scratch,
                                           const struct spmd_local *local, uint32_t value)
{
    return local->values[price_stands_for(scratch, local, value)].bytes
           << (scratch->values[value].wide + scratch->values[value].twice);
}
/* does operand o of a kernel have to be in memory? */
static inline uint8_t price_wants_buffer(const struct price_scratch *scratch, const struct op_info *info,
                                         uint32_t o)
{
    bool gathers = info->class == OP_GATHER && !(scratch->rules & COST_FUSE_GATHER);
    bool other = info->class == OP_OTHER || (gathers && o == 0) ||
                 (info->class == OP_UPDATE && (o == 0 || info->update == 2)) ||
                 (info->pools && o == 0 && scratch->rules & COST_FUSE_PRODUCTS);
    if (info->class == OP_MATMUL) {
        if (scratch->rules & COST_FUSE_PRODUCTS)
            return 0;
        return info->stacked >> o & 1 && scratch->rules & COST_FUSE_COPIES ? HARD_STACKED : HARD_MATMUL;
    }
    return other ? HARD_OTHER : 0;
}
/* on one device */
static inline int64_t value_elements(const struct spmd_local *local, uint32_t value)
{
    const struct ir_type *type = ir_value_type(local->nda->program, local->values[value].origin);
    unsigned bits = ir_element_bits((enum ir_element)type->element);
    return local->values[value].bytes * 8 / (bits ? bits : 8);
}
static inline bool step_is_local(uint8_t kind)
{
    return kind == SPMD_OP || kind == SPMD_SLICE || kind == SPMD_MASK;
}

/* how often the kernel runs: of what is in no loop nothing else is looked at */
static inline int64_t kernel_trips(const struct spmd_local *local, const struct kernel *kernel)
{
    return kernel->traits & KERNEL_INSIDE ? local->steps[kernel->step].trips : 1;
}

/* of all trips of a loop */
static inline int64_t times_trips(int64_t ps, int64_t trips)
{
    int64_t product;
    return __builtin_mul_overflow(ps, trips, &product) || product > COST_LONGEST_PS ? COST_LONGEST_PS
                                                                                    : product;
}

/* ---- what memory.c and lend.c both look at ---- */
/* the step whose kernel runs at this time of the line */
static inline const struct spmd_step *step_at(const struct price_scratch *scratch,
                                              const struct spmd_local *local, uint32_t time)
{
    return &local->steps[scratch->line[time].step];
}
static inline bool is_buffer(const struct price_scratch *scratch, uint32_t value)
{
    return scratch->values[value].state == VALUE_BUFFER;
}
/* the one buffer that a value is or names; NDA_NONE when it has none */
static inline uint32_t buffer_of(const struct price_scratch *scratch, uint32_t value)
{
    const struct value_work *work = &scratch->values[value];
    return work->state == VALUE_BUFFER  ? value
           : work->state == VALUE_ALIAS ? scratch->pool[work->roots].value
                                        : NDA_NONE;
}
/* Which part of a fold the step belongs to; 0: none. A reshard that something outside of all layers wants
 * (the function's result) belongs to the layer whose value it changes. */
static inline uint8_t price_fold_part(const struct price_fold *fold, const struct spmd_local *local,
                                      const struct spmd_step *step)
{
    uint8_t part = fold->part[step->op];
    return part || step->kind == SPMD_OP || !step->result_count
               ? part
               : fold->value_part[local->values[step->results].origin];
}
static inline uint8_t part_of(const struct price_scratch *scratch, const struct spmd_local *local,
                              const struct spmd_step *step)
{
    return scratch->fold ? price_fold_part(scratch->fold, local, step) : 0;
}
/* so many bytes more, of what a part of a fold makes (0: of none), during the range */
static inline void add_range(struct price_scratch *scratch, uint8_t part, int64_t bytes,
                             struct live_range live_range)
{
    if (live_range.from >= live_range.until)
        return;
    scratch->deltas[live_range.from] += bytes;
    scratch->deltas[live_range.until] -= bytes;
    if (part == 1 || part == 2) {
        scratch->part_deltas[part - 1][live_range.from] += bytes;
        scratch->part_deltas[part - 1][live_range.until] -= bytes;
    }
}

#include "cost/facts.h"

#endif
