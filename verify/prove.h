/* Proof that a sharded module means what the original means: the same inputs through both, results compared.
 *
 * It is a test by example, not a theorem: equal results on seeded inputs, for every element. Inputs are
 * shaped by what the module does with its arguments, so that the results depend on all of them. Rounding
 * hides what is small beside a result, so PLAIN and TURNED compute both programs in f64, whatever their own
 * types are (wide.c): there it hides a billionth of that. Every proof has a run in the module's own types.
 * Runs of one proof:
 *   MOMENTS  (train steps) first moments 0, second moments 1: the gradients show in the new first moments
 *   PLAIN    second moments about 1e-4, first moments random: shows bias correction and everything else.
 *            Where that gives NaN with every seed (roots and logarithms that the hints do not see),
 *            POSITIVE is run in its place:
 *   POSITIVE every float that is no moment lies in [1/4, 1/2]
 *   WILD     (modules with index arguments) as PLAIN, with a quarter of the indices out of range, also
 *            negative. Where the module answers such an index with NaN (JAX's take), NEGATIVE is
 *            run in its place:
 *   NEGATIVE a quarter of the indices lie in [-n, -1], which JAX counts from the end
 *   TURNED   (modules that choose by comparing two numbers: clipped gradients) as PLAIN, and both programs
 *            choose the other way round, so that a wrong norm shows (turned.c). It finds modules
 *            different, and has no other say: what it computes may be far from anything meant. Left out
 *            where the sharded module has another number of such choices
 * In f64 also the numbers of rank 0 that @main's choices compare are results (compared.c), where the sharded
 * module is a bare local one and has as many: a norm that nothing but `norm > 1e-3` reads is no less wrong.
 * A run that has nothing to show (no moments, no indices) is left out; where both are, PLAIN is run in the
 * module's own types, too. What is inconclusive in these is run once more in f64. What differs in f64 counts
 * only if all constants of the sharded module are the original's (or 0, 1, infinite): another tool that folds
 * constants rounds them, and then the module's own types decide. A caller's own inputs (GIVEN) are the only
 * run. A NaN in the reference is never a pass: other seeds are tried, then the run is given up, and a
 * proof that has no run left is `not_run`.
 *
 * A result that is off by more than verify_tolerance is judged by the original's own noise, its move when
 * every input and every rounded number moves by one unit in its last place (verify_noise):
 *   off by more than 8 x the noise           different (1000 x where that moves a result by a tenth of it)
 *   by less, and by 1e-2 at most             equal: no more than roundings do
 *   by less, and verify_tolerance holds
 *     beside what the result was summed from equal: a sum that cancels (verify_magnitudes)
 *   by less                                  inconclusive: the result is rounding
 * One that is off by less than verify_tolerance is judged once more, if it goes on from an argument: by the
 * sum of its errors beside that of what the step added (verify_added), as a parameter is large beside its
 * update. Off by more than a twentieth of that (wide types), and by more than noise and rounding of the
 * result come to: different.
 * A module is different when any result of any run is, and equal when all are.
 *
 * Tensors and their layout are interpret.h's. Pure: no clock, no globals, the same seed gives the same
 * verdict. */
#ifndef TOAST_VERIFY_PROVE_H
#define TOAST_VERIFY_PROVE_H

#include "verify/interpret.h"
#include "verify/sharding.h"

/* ---------------------------------------------------------------- inputs */
enum verify_inputs_mode {
    VERIFY_INPUTS_PLAIN,
    VERIFY_INPUTS_MOMENTS,
    VERIFY_INPUTS_WILD,
    VERIFY_INPUTS_NEGATIVE,
    VERIFY_INPUTS_POSITIVE,
    VERIFY_INPUTS_TURNED, /* PLAIN's numbers */
    VERIFY_INPUTS_GIVEN
};
struct verify_hint { /* what the module does with an argument */
    int64_t bound;   /* integers: smallest dimension looked up with it; 0 = none found */
    /* reaches a square root, a logarithm, or a sum that something is divided by */
    bool positive;
    /* Adam's moments: only scaled and added, then divided by / fed to a square root */
    bool first, second;
};
/* One hint for each argument of @main; owned, free(). Calls are not followed, so program must be prepared
 * (ir_prepare). */
struct verify_hint *verify_hints(const struct ir_program *program, uint32_t *count);
/* inputs of @main for one device, out[argument] owned. Same (program, seed, mode): same bytes.
 * ERROR_NOT_AVAILABLE: an argument that cannot be interpreted; ERROR_INVALID_MODULE: no @main. */
enum error_code verify_inputs(const struct ir_program *program, uint64_t seed, enum verify_inputs_mode mode,
                              struct verify_tensor *out, struct error *e) BASE_CHECKED;

/* ---------------------------------------------------------------- comparison */
/* INCONCLUSIVE: the reference holds NaN, and nothing else differs. */
enum verify_verdict { VERIFY_EQUAL, VERIFY_DIFFERENT, VERIFY_INCONCLUSIVE };
struct verify_difference {
    enum verify_verdict verdict;
    /* largest |a - b| / max |reference| over the results; infinite for unequal integers */
    double worst;
    /* where: the first failing result, else the one of `worst`; IR_NONE: none */
    uint32_t result;
    int64_t index; /* element in it, row-major */
    double reference, candidate;
    /* for people: "result 3[17] is 0.5 instead of 0.25"; verify_prove's: with the result's name, the place
     * by dimension and how many elements differ */
    char what[240];
};
/* Integers and booleans exactly. Floats: |a - b| <= tolerance x the largest finite magnitude of that
 * result in the reference (at least `floor`, 0 = none); equal infinities are equal. Another element type
 * or shape: different. NaN in the reference: inconclusive unless something else differs; NaN or infinity
 * in the candidate only: different. */
struct verify_difference verify_compare(const struct verify_tensor *reference,
                                        const struct verify_tensor *candidate, uint32_t count,
                                        double tolerance, double floor);
/* element i of a tensor of no complex numbers as a double */
double verify_element(const struct verify_tensor *tensor, int64_t i);
/* How far splitting sums may move a result, relative to its largest magnitude, by the narrowest float type
 * in the program (the table is in compare.c). */
double verify_tolerance(const struct ir_program *program);
/* noise[k]: how far result k moves, relative to its largest magnitude, when every input and every rounded
 * number of 16 bits or more is moved by one unit in its last place or not (outputs: the results without that;
 * infinite for integers that change), in a few samples. moved[k]: the largest sum of these moves over result
 * k, in its units. more: both are those of a call without, and become those of four times as many samples and
 * these. Errors are verify_run's. */
enum error_code verify_noise(const struct ir_program *program, const struct verify_tensor *inputs,
                             uint32_t arguments, const struct verify_tensor *outputs, uint32_t results,
                             const struct verify_options *options, bool more, double *noise, double *moved,
                             struct error *e) BASE_CHECKED;

/* magnitude[k]: the largest magnitude of what result k was summed from, in the result's units; at least about
 * its own. 0: not known. Errors are verify_run's. */
enum error_code verify_magnitudes(const struct ir_program *program, const struct verify_tensor *inputs,
                                  uint32_t results, const struct verify_options *options, double *magnitude,
                                  struct error *e) BASE_CHECKED;
/* Sum of the magnitudes of a - b over all elements, finite ones only; b NULL: of a. Same shapes. */
double verify_distance(const struct verify_tensor *a, const struct verify_tensor *b);
/* verify_distance of a result from the argument that it goes on from, or from the part of it that an average
 * keeps: what a step adds. INFINITY: it goes on from none. inputs: of @main; output: that result */
double verify_added(const struct ir_program *program, uint32_t result, const struct verify_tensor *inputs,
                    const struct verify_tensor *output);
/* one element, or a broadcast of one */
bool verify_scalar_like(const struct ir_program *program, uint32_t value);

/* ---------------------------------------------------------------- in f64 */
/* A program with f64 for every float and complex<f64> for every complex number. `program` is a view that
 * borrows all but types, attrs, constants and bytes from the program that it was made of. */
struct verify_wide {
    struct ir_program program;
    struct ir_type *types; /* owned, as those below */
    struct ir_attr *attrs;
    struct ir_constant *constants;
    unsigned char *bytes;
    struct ir_op *ops; /* these two NULL: the program's own */
    uint32_t *operands;
};
/* false: there is nothing to widen, and the view is the program itself. Released in either case. */
bool verify_wide_make(const struct ir_program *program, struct verify_wide *out);
void verify_wide_release(struct verify_wide *wide); /* zeroed is fine */
/* How many numbers @main's choices compare (compared.c); and makes it return these, too, behind its
 * results. */
uint32_t verify_compared_count(const struct ir_program *program);
void verify_wide_return_compared(struct verify_wide *wide);
/* What choices compare in loops, to be watched by runs of the program. */
void verify_watch_make(const struct ir_program *program, struct verify_watch *out);
void verify_watch_release(struct verify_watch *watch); /* zeroed is fine */
/* the same numbers, as an input of the wide program; owned */
struct verify_tensor verify_wide_tensor(const struct verify_tensor *from);
/* and back, rounded to the element type */
struct verify_tensor verify_narrow_tensor(const struct verify_tensor *from, enum ir_element element);
/* Has `lowered` a constant number that is none of the original's, nor 0, 1 or infinite? */
bool verify_constants_differ(const struct ir_program *original, const struct ir_program *lowered);

/* ---------------------------------------------------------------- proof */
/* DIFFERENT: at least one run differs, or the lowered module cannot be run as it is. INCONCLUSIVE: none does,
 * but a result is off by as much as its own rounding. NOT_RUN: nothing was compared. */
enum verify_status {
    VERIFY_PROOF_EQUAL,
    VERIFY_PROOF_DIFFERENT,
    VERIFY_PROOF_NOT_RUN,
    VERIFY_PROOF_INCONCLUSIVE
};
enum { VERIFY_STATUSES = VERIFY_PROOF_INCONCLUSIVE + 1 };
/* "equal", "different", "not_run", "inconclusive" */
const char *verify_status_text(enum verify_status s);
struct verify_report {
    enum verify_status status;
    /* largest error of a result, beside the result's largest magnitude; of results that are sums that cancel
     * (`cancelled` of them in a run) beside that of what they were summed from */
    double max_error;
    uint32_t cancelled;
    double divergence;
    /* verify_tolerance, or more where the original's own noise is more (at most 1e-2) */
    double tolerance;
    uint32_t runs; /* of the sharded module: how many inputs it was compared on */
    uint64_t operations, collectives;
    bool too_large;   /* not run to its end: more operations than the budget of options */
    char reason[400]; /* why not equal ("rounding: .." where inconclusive); "" when equal */
};

/* The original's inputs and results, computed once and compared with many sharded modules. Read-only
 * afterwards. */
struct verify_reference;
/* original: prepared (ir_prepare), borrowed until the reference is destroyed. Errors are verify_run's:
 * ERROR_TOO_LARGE (more than the budget of options), ERROR_NOT_AVAILABLE, .. */
enum error_code verify_reference_create(const struct ir_program *original, uint64_t seed,
                                        const struct verify_options *options, struct verify_reference **out,
                                        struct error *e) BASE_CHECKED;
void verify_reference_destroy(struct verify_reference *reference);        /* NULL is fine */
uint32_t verify_reference_runs(const struct verify_reference *reference); /* 0: every run was inconclusive */

/* how a bare device-local module's arguments and results are cut; NULL for modules of global signature */
struct verify_boundary {
    const struct verify_mesh *mesh;
    const struct verify_sharding *arguments, *results; /* one each */
};
/* lowered: annotated or manual (boundary NULL), or local (replica style). The report tells; an error of
 * the interpreter on the lowered module is status different (not_run for ERROR_NOT_AVAILABLE, TOO_LARGE),
 * ERROR_CANCELLED is returned. */
enum error_code verify_prove(const struct verify_reference *reference, const struct ir_program *lowered,
                             const struct verify_boundary *boundary, const struct verify_options *options,
                             struct verify_report *report, struct error *e) BASE_CHECKED;
/* verify_reference_create and verify_prove, for one module */
enum error_code verify_prove_modules(const struct ir_program *original, const struct ir_program *lowered,
                                     const struct verify_boundary *boundary, uint64_t seed,
                                     const struct verify_options *options, struct verify_report *report,
                                     struct error *e) BASE_CHECKED;

#endif
