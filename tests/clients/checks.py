"""toast.plan(..).jit() of a model against one device: results of three steps, bytes moved, donation, structure.

check(name, make) raises AssertionError, else returns a row (name, specs alone, annotated, the plan) of bytes. The memory
limit is a share of the unsharded peak, so that a plan has to shard; prices are of a GPU, runs on eight CPU devices.
"""
import sys

import hlo
import jax
import numpy as np

import toast

MESH = {"data": 4, "model": 2}
TOLERANCE = 2e-4      # of the largest magnitude after three steps of Adam; sums are added in another order
ROLLOUTS = 2000


def is_key(x):
    return isinstance(x, jax.Array) and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key)


def host(tree):
    """copies that no donation can take"""
    return jax.tree_util.tree_map(lambda x: x if is_key(x) else np.array(x), tree)


def distance(a, b):
    """largest difference of two trees' leaves, relative to each leaf's largest magnitude"""
    worst = 0.0
    for x, y in zip(jax.tree_util.tree_leaves(a), jax.tree_util.tree_leaves(b), strict=True):
        if not is_key(x):
            x, y = np.asarray(x, np.float64), np.asarray(y, np.float64)
            assert x.shape == y.shape and np.isfinite(x).all()
            worst = max(worst, float(np.abs(x - y).max() / max(np.abs(x).max(), 1e-3)) if x.size else 0.0)
    return worst


def planned(jitted, args, share, mesh=None, rollouts=ROLLOUTS, **more):
    mesh = mesh or MESH
    free = toast.plan(jitted, *args, mesh=mesh, device="a100-40", planner="baselines", outputs=["plan"])
    unsharded = next(b["peak_bytes"] for b in free.report["baselines"] if b["name"] == "replicated")
    return toast.plan(jitted, *args, mesh=mesh, device="a100-40", memory_limit=int(unsharded * share), rollouts=rollouts, **more)


def compiled(function, args):
    """once, to be run and to be read"""
    return function.lower(*args).compile()


def moved_bytes(executable):
    """what its collectives move"""
    return sum(hlo.collective_bytes(executable.as_text()).values())


def check(name, make, share=0.45, steps=3, factor=1.1):
    step, args, donate = make()
    jitted = jax.jit(step, donate_argnums=donate)
    plan = planned(jitted, args, share)
    assert plan.fits, plan
    args = host(args)
    same = jax.tree_util.tree_structure
    assert same(plan.in_shardings) == same(args), "in_shardings have the structure of the arguments"
    one = jax.jit(step)
    assert same(plan.out_shardings) == same(jax.eval_shape(one, *args)), "out_shardings have the structure of the results"

    fast = plan.jit()
    annotated = compiled(fast, args)
    if donate:
        assert "input_output_alias" in annotated.as_text(), "donation is kept"
    reference, state = args, args
    for _ in range(steps):
        reference_out, out = one(*reference), fast(*state)
        # what a step returns first goes back in as its first argument
        reference, state = (reference_out[0], *reference[1:]), (out[0], *state[1:])
    off = distance(reference_out, out)
    assert off < TOLERANCE, f"{name}: results differ by {off:.2e}"

    moved = moved_bytes(annotated)
    wanted = hlo.comparable(plan.collectives, plan.axes)
    specs = jax.jit(step, donate_argnums=donate, in_shardings=plan.in_shardings, out_shardings=plan.out_shardings)
    row = (name, moved_bytes(compiled(specs, args)), moved, wanted)
    print(f"{name}: off {off:.1e}; bytes: specs {row[1]:,}, annotated {moved:,}, plan {wanted:,}; {plan}", flush=True)
    assert moved <= wanted * factor + 1024, f"{name}: XLA moves {moved} bytes, the plan {wanted}"
    return row


def check_all(models):
    """those that the command line names, else all; returns the exit status"""
    for name in sys.argv[1:] or models:
        check(name, models[name])
    return 0


def nudged(tree, seed):
    """floats moved by a unit in the last place or so"""
    rng = np.random.default_rng(seed)

    def one(x):
        if is_key(x) or not np.issubdtype(np.asarray(x).dtype, np.floating):
            return x
        return (np.asarray(x) * (1 + rng.uniform(-1, 1, np.shape(x)) * 1.2e-7)).astype(np.asarray(x).dtype)
    return jax.tree_util.tree_map(one, tree)


def after(function, args, steps=3):
    """what the step returns last; what it returns first goes back in as its first argument, by way of the host"""
    for _ in range(steps):
        out = function(*args)
        args = (host(out[0]), *args[1:])
    return out


def check_unseen(name, make, mesh, share, most=1.1, list_most=1.1):
    """Results of plan.jit() equal one device's up to what a unit in the last place of the inputs does to these; XLA moves the plan's bytes
    (`most` of them) for it, and for specs and list no more than the report says, a tenth apart (or as
    list_most says)."""
    step, args, donate = make()
    jitted, args = jax.jit(step, donate_argnums=donate), host(args)
    plan = planned(jitted, args, share, mesh, 1000)
    assert plan.fits, plan
    one, wanted = jax.jit(step), hlo.comparable(plan.collectives, plan.axes)
    reference, fast = after(one, args), compiled(plan.jit(), args)
    off = distance(reference, after(fast, args))
    noise = max(distance(reference, after(one, nudged(args, seed))) for seed in range(4))     # whether a relu is on may depend on it
    assert off < max(TOLERANCE, 8 * noise), f"{name}: results differ by {off:.2e}, by {noise:.2e} of their own"
    shardings = {"in_shardings": plan.in_shardings, "out_shardings": plan.out_shardings, "donate_argnums": donate}
    specs, annotated = moved_bytes(compiled(jax.jit(step, **shardings), args)), moved_bytes(fast)
    said = plan.report["constraints"]["moved_bytes"]["sums"]
    print(f"{name}: off {off:.1e} (own {noise:.1e}); bytes: specs {specs:,}, annotated {annotated:,}, plan {wanted:,}: "
          f"{specs / wanted:.2f} {annotated / wanted:.2f}", flush=True)
    assert annotated <= most * wanted + 1024, f"{name}: XLA moves {annotated} bytes, the plan {wanted}"
    said_annotated = plan.report["constraints"]["moved_bytes"]["annotated"]   # neither too little nor, as if sums that meet were lost, too much
    assert annotated <= 1.1 * said_annotated + 1024 and said_annotated <= 1.1 * max(annotated, wanted) + 1024, \
        f"{name}: XLA moves {annotated} bytes, the report says {said_annotated} of the annotated module"
    constrained = compiled(jax.jit(plan.constrain(step), **shardings), args)
    off = distance(reference, after(constrained, args))
    assert off < max(TOLERANCE, 8 * noise), f"{name}: results of plan.constrain differ by {off:.2e}, by {noise:.2e} of their own"
    listed = moved_bytes(constrained)
    print(f"{name}: off {off:.1e}; {len(plan.constraints)} constraints, {len(plan.constraints.sums)} sums {listed:,} (said {said:,}): "
          f"{listed / wanted:.2f}", flush=True)
    assert listed <= list_most * max(said, wanted) + 1024, f"{name}: with the list XLA moves {listed} bytes, the report says {said}"


def check_all_unseen(models):
    """those of which the command line has a word, else all; returns the exit status"""
    for name, case in models.items():
        if not sys.argv[1:] or any(word in name for word in sys.argv[1:]):
            check_unseen(name, *case)
    return 0
