/* Inside a proof: what its four files hand each other.
 *
 *   reference.c  the original's inputs and results: a run for each kind of inputs that gave no NaN
 *   prove.c      a sharded module on the inputs of each run: a trial
 *   judge.c      what a trial's results are beside the original's (prove.h has the rules)
 *   verdict.c    what a trial adds to the report, in words */
#ifndef TOAST_VERIFY_TRIAL_H
#define TOAST_VERIFY_TRIAL_H

#include "verify/prove.h"

enum { VERIFY_RUNS = 5 };
/* A result is never off by more than this, relative to its largest magnitude, and right: a wrong plan (a
 * forgotten sum, a wrong block) is off by far more than a hundredth. */
#define VERIFY_MOST_NOISE 1e-2

/* the original on inputs of one mode */
struct verify_trial_run {
    enum verify_inputs_mode mode;
    bool wide;                        /* in f64 */
    const struct ir_program *program; /* the original, or that of the reference's `wide` */
    double tolerance;
    uint32_t results;  /* of the program: in f64 also the numbers that it compares */
    uint32_t returned; /* of these; the others are watched */
    struct verify_tensor *inputs, *outputs;
};

struct verify_reference {
    const struct ir_program *original; /* borrowed */
    struct verify_wide wide;           /* of it */
    bool widens;                       /* that is another program */
    uint32_t arguments, results, runs;
    uint32_t compared;         /* numbers that the wide one returns more */
    struct verify_watch watch; /* and numbers that its loops compare */
    struct verify_trial_run run[VERIFY_RUNS];
    double tolerance;
};

struct verify_judgement {
    enum verify_status status;
    double tolerance;                    /* the widest that was used */
    struct verify_difference difference; /* of the result that decided */
    double noise;                        /* of that result */
    double worst;                        /* error over all results, each by what it is judged by */
    double off;                          /* of what the step added, where that decided; 0: it did not */
    uint32_t cancelled;                  /* results judged by what they were summed from */
    uint32_t results;                    /* judged */
};

/* one run of a sharded module: its joined results, what the run did, and what they are */
struct verify_trial {
    const struct verify_trial_run *run;
    struct verify_tensor *outputs;
    uint32_t results; /* the original's, or, in f64 where both compare as many numbers, these, too */
    struct verify_statistics statistics;
    struct verify_judgement judgement;
};

/* ---- reference.c */
/* the caller's options, for one of the run's programs; narrow: that program in its own types; watch: what it
 * watches in f64 */
struct verify_options verify_run_options(const struct verify_trial_run *run, const struct ir_program *narrow,
                                         const struct verify_watch *watch,
                                         const struct verify_options *given);
/* The run's results of its inputs; *usable is false when they hold NaN, and both are freed then. Errors are
 * verify_run's. */
enum error_code verify_run_original(const struct verify_reference *reference,
                                    const struct verify_options *options, struct verify_trial_run *run,
                                    bool *usable, struct error *e) BASE_CHECKED;
void verify_tensors_free(struct verify_tensor *tensor, size_t count); /* NULL is fine */

/* ---- judge.c */
/* trial->judgement, of its outputs. Where noise cannot be had, a difference stands. */
void verify_judge(const struct verify_reference *reference, const struct verify_options *given,
                  struct verify_trial *trial);

/* ---- verdict.c */
/* What the trial adds to the report: turned choices only find errors. */
void verify_report_trial(const struct verify_reference *reference, const struct verify_options *options,
                         struct verify_trial *trial, struct verify_report *report);

#endif
