"""Plans side by side: `toast.compare` (the caller's own shardings as `yours`) and Plan.tune (a plan and its alternatives, timed here).

Prices are TOAST's; times are taken on this host's devices with the caller's own XLA, median of several runs after one that
compiles. Promises: arguments are copied before each run, so that donation takes none of the caller's. Never says that a plan
is faster without both times.
"""
from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from . import api, exporting
from .errors import PinError
from .names import axes_of, dims_of
from .plans import Plan


def seconds_of(function: Callable[..., Any], args: Sequence[Any], shardings: Any, repeats: int) -> float:
    """Median of `repeats` runs; abstract arguments are taken as zeros."""
    values = jax.tree_util.tree_map(_value, tuple(args))
    taken = []
    for k in range(repeats + 1):
        placed = jax.block_until_ready(jax.device_put(values, shardings, **_copying()))
        start = time.perf_counter()
        jax.block_until_ready(function(*placed))
        if k:
            taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def _copying() -> dict[str, bool]:
    return {"may_alias": False} if "may_alias" in (jax.device_put.__doc__ or "") else {}


def _value(leaf: Any) -> Any:
    if isinstance(leaf, jax.ShapeDtypeStruct):
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jax.random.split(jax.random.key(0), leaf.shape) if leaf.shape else jax.random.key(0)
        return np.zeros(leaf.shape, leaf.dtype)
    if isinstance(leaf, jax.Array) and jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
        return leaf
    return np.array(leaf)


@dataclasses.dataclass(frozen=True)
class Row:
    """One plan of a comparison. `seconds` is measured, None where it was not."""
    name: str
    step_time_s: float
    peak_bytes: int
    fits: bool
    seconds: float | None = None

    def __str__(self) -> str:
        measured = "" if self.seconds is None else f"  {self.seconds * 1e3:10.3f} ms"
        return f"{self.name:32}  {self.step_time_s * 1e3:10.3f} ms  {self.peak_bytes / 1e6:10.1f} MB  {'yes' if self.fits else 'no':>4}{measured}"


def table(rows: Sequence[Row]) -> str:
    head = f"{'plan':32}  {'step, est.':>13}  {'peak':>13}  {'fits':>4}" + ("  measured" if any(r.seconds is not None for r in rows) else "")
    return "\n".join([head, *map(str, rows)])


def row_of(name: str, plan: Plan, seconds: float | None = None) -> Row:
    return Row(name, plan.step_time_s, plan.peak_bytes, plan.fits, seconds)


# ---- compare
@dataclasses.dataclass(frozen=True)
class Comparison:
    """`yours` is what the caller's shardings are as a plan, `plan` what TOAST found; `rows` has both."""
    yours: Plan
    plan: Plan
    rows: list[Row]

    def __str__(self) -> str:
        return table(self.rows)


def _pins_of(step: Callable[..., Any], args: Sequence[Any], shardings: Any, axes: Mapping[str, int]) -> dict[str, Any]:
    """keystr -> sharding, of a tree (or a prefix of one) as jax.jit(in_shardings=..) takes it; None leaves open."""
    is_leaf = lambda x: x is None or isinstance(x, (NamedSharding, PartitionSpec))       # noqa: E731
    given = shardings if isinstance(shardings, tuple) else (shardings,) * len(args)
    try:
        trees = jax.tree_util.tree_map(lambda s, sub: [s] * len(jax.tree_util.tree_leaves(sub)), given, tuple(args), is_leaf=is_leaf)
    except ValueError as error:
        raise PinError(f"shardings have not the structure of the arguments: {error}") from error
    flat = jax.tree_util.tree_leaves(trees, is_leaf=is_leaf)
    leaves = exporting.leaves_of(step, args)
    for leaf, sharding in zip(leaves, flat, strict=True):
        if sharding is not None:
            dims_of(sharding, len(leaf.shape), axes, f"shardings, argument {leaf}")
    return {leaf.keystr: sharding for leaf, sharding in zip(leaves, flat, strict=True) if sharding is not None}


def compare(step: Callable[..., Any], *args: Any, shardings: Any, mesh: api.Mesh, device: str | Mapping[str, Any], race: bool = False,
            repeats: int = 5, **options: Any) -> Comparison:
    """Prices the caller's own shardings beside a plan; `race` also times both on this host's devices.

    shardings: as jax.jit(in_shardings=..) takes them (a prefix is enough, PartitionSpecs will do, None is open). What they leave
    open is propagated, nothing is searched. with_sharding_constraints in the step are read with the module, for both. options: as toast.plan has them.
    """
    axes = axes_of(mesh)
    pins = _pins_of(step, args, shardings, axes)
    yours = api.plan(step, *args, mesh=mesh, device=device, pins=pins, planner="propagate",
                     **{key: value for key, value in options.items() if key not in ("pins", "planner")})
    found = api.plan(step, *args, mesh=mesh, device=device, **options)
    times: list[float | None] = [None, None]
    if race:
        own = jax.jit(_plain(step), in_shardings=yours.in_shardings, donate_argnums=yours.step.donated)
        times = [seconds_of(own, args, yours.in_shardings, repeats), seconds_of(found.jit().jitted, args, found.in_shardings, repeats)]
    return Comparison(yours, found, [row_of("yours", yours, times[0]), row_of("toast", found, times[1])])


def _plain(step: Callable[..., Any]) -> Callable[..., Any]:
    """Without its jit, whose own in_shardings would be in the way."""
    return getattr(step, "__wrapped__", step)


# ---- tune
@dataclasses.dataclass(frozen=True)
class Tuned:
    """`best` is the function that was fastest here, `plan` the plan it has and `name` its row; `rows` has every time."""
    name: str
    best: exporting.Planned
    rows: list[Row]
    plan: Plan

    def __str__(self) -> str:
        return f"{table(self.rows)}\nfastest here: {self.name}"


def tune(plans: Sequence[Plan], args: Sequence[Any], repeats: int) -> Tuned:
    """The plans, the first one's alternatives behind it, compiled and timed on this host's devices."""
    best: tuple[float, str, exporting.Planned, Plan] | None = None
    rows = []
    for number, plan in enumerate(plans):
        name = f"alternative {number}: {plan.found_by}" if number else "this plan"
        function = plan.jit()
        seconds = seconds_of(function.jitted, args, function.in_shardings, repeats)
        rows.append(row_of(name, plan, seconds))
        if best is None or seconds < best[0]:
            best = (seconds, name, function, plan)
    assert best
    return Tuned(best[1], best[2], rows, best[3])
