#!/usr/bin/env python3
# label: truth
# timeout: 300
"""plan.constrain(step): the function with the plan's constraints in it, each once; the same numbers; what cannot be found is said.

What XLA moves under such lists is tests/truth/test_constraints.py's matter. Argument `bytes`: compares it here, too.
"""
import sys

import support

support.enter("truth")

import hlo  # noqa: E402
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import models  # noqa: E402
import numpy as np  # noqa: E402

import toast  # noqa: E402

MESH = {"data": 4, "model": 2}


def planned(make, share):
    step, args, _ = make()
    free = toast.plan(step, *args, mesh=MESH, device="a100-40", planner="baselines", outputs=["plan"])
    unsharded = next(b["peak_bytes"] for b in free.report["baselines"] if b["name"] == "replicated")
    return step, args, toast.plan(step, *args, mesh=MESH, device="a100-40", planner="baselines", memory_limit=int(unsharded * share))


def same(wanted, got):
    for one, other in zip(jax.tree_util.tree_leaves(wanted), jax.tree_util.tree_leaves(got), strict=True):
        one, other = np.asarray(one), np.asarray(other)
        assert np.abs(one - other).max() <= 2e-4 * max(1e-6, np.abs(one).max()), np.abs(one - other).max()


def shardings(plan):
    return {"in_shardings": plan.in_shardings, "out_shardings": plan.out_shardings}


def test_numbers():
    step, args, plan = planned(models.mlp, 0.45)
    same(jax.jit(step)(*args), jax.jit(plan.constrain(step), **shardings(plan))(*jax.device_put(args, plan.in_shardings)))


def test_each_once():
    step, args, plan = planned(lambda: models.gpt(vocabulary=512), 0.3)
    assert len(plan.constraints) > 0 and "with_sharding_constraint" in str(plan.constraints), plan.constraints
    moved = plan.report["constraints"]["moved_bytes"]
    assert moved["constraints"] < moved["specs"], moved
    text = jax.jit(plan.constrain(step), **shardings(plan)).lower(*args).as_text()
    assert text.count("sdy.sharding_constraint") == len(plan.constraints), (text.count("sdy.sharding_constraint"), plan.constraints)


def test_not_found():
    step, args, plan = planned(lambda: models.gpt(vocabulary=512), 0.3)
    other = lambda *a: jax.tree_util.tree_map(jnp.copy, (a[0], jnp.float32(0)))      # noqa: E731  makes none of the values
    try:
        jax.make_jaxpr(plan.constrain(other))(*args)
    except toast.PlanMismatch as error:
        assert "constraints are of values" in str(error), error
    else:
        raise AssertionError("constraints that are nowhere are dropped")


def test_bytes():
    step, args, plan = planned(lambda: models.gpt(vocabulary=512), 0.3)
    specs, listed, annotated = (sum(hlo.collective_bytes(f.lower(*args).compile().as_text()).values()) for f in (
        jax.jit(step, **shardings(plan)), jax.jit(plan.constrain(step), **shardings(plan)), plan.jit()))
    print(f"{plan.found_by}: specs alone {specs:,}, {len(plan.constraints)} constraints {listed:,}, plan.jit() {annotated:,} bytes")


if __name__ == "__main__":
    sys.exit(support.run_all(*([test_bytes] if sys.argv[1:] == ["bytes"] else [test_numbers, test_each_once, test_not_found])))
