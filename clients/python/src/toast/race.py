"""Plans side by side: `toast.compare` (the caller's own shardings as `yours`) and Plan.tune (experts' plans, timed here).

Prices are TOAST's; times are taken on this host's devices with the caller's own XLA, median of several runs after one that
compiles. Promises: arguments are copied before each run, so that donation takes none of the caller's. Never says that a plan
is faster without both times.
"""
from __future__ import annotations

import dataclasses
import pathlib
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from . import api, binary, exporting
from .errors import PinError, PlanningFailed
from .names import axes_of, dims_of
from .plans import Plan, specification


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


# ---- alternatives
def alternatives(plan: Plan) -> list[Row]:
    """The plan, then the experts' plans of its report that fit, by estimated step time."""
    rows = [Row(each["name"], each["step_ps"] * 1e-12, each["peak_bytes"], each["fits"]) for each in plan.report["baselines"]]
    return [row_of("this plan", plan), *sorted((row for row in rows if row.fits), key=lambda row: row.step_time_s)]


def expert(plan: Plan, name: str) -> exporting.Planned:
    """An expert's plan by name, ready to run; lowered by the program on this machine."""
    mesh = ",".join(f"{axis}={size}" for axis, size in plan.axes.items())
    device = plan.json["machine"]["device"]
    with tempfile.TemporaryDirectory(prefix="toast-") as folder:
        module, out = pathlib.Path(folder, "module.mlir"), pathlib.Path(folder, "annotated.mlir")
        module.write_text(plan.step.text)
        status, _, lines = binary.run(["lower", str(module), "--mesh", mesh, "--device", device, "--baseline", name, "--form", "annotated",
                                       "-o", str(out)])
        if status:
            raise PlanningFailed(f"toast lower --baseline {name}: {lines[-1] if lines else status}", status=status)
        text = out.read_text()
    args, results = (_stated(text, which) for which in ("arg_attrs", "res_attrs"))
    specs = [PartitionSpec()] * len(plan.step.leaves)
    for place, dims in zip(plan.step.kept, args, strict=True):
        specs[place] = specification(dims, len(plan.step.leaves[place].shape))
    ins, _ = jax.tree_util.tree_unflatten(plan.step.exported.in_tree, [NamedSharding(plan.mesh, spec) for spec in specs])
    outs = [NamedSharding(plan.mesh, specification(dims, len(aval.shape)))
            for dims, aval in zip(results, plan.step.exported.out_avals, strict=True)]
    return exporting.Planned(plan.step, exporting.runnable(plan.step, text, plan.axes), ins,
                             jax.tree_util.tree_unflatten(plan.step.exported.out_tree, outs))


def _stated(text: str, which: str) -> list[Any]:
    """dims of main's arguments or results, as the annotated module (our own print, generic form) states them"""
    found = re.search(which + r" = \[(.*?)\](?=, (?:function_type|res_attrs|arg_attrs|sym_name|sym_visibility)|\})", text)
    shardings = re.findall(r"#sdy\.sharding<@\w+, \[([^\]]*)\]>", found.group(1)) if found else []
    return [[re.findall(r'"([^"]+)"', dim) for dim in re.findall(r"\{([^}]*)\}", each)] for each in shardings]


@dataclasses.dataclass(frozen=True)
class Tuned:
    """`best` is the function that was fastest here, `name` whose plan it has; `rows` has every time."""
    name: str
    best: exporting.Planned
    rows: list[Row]

    def __str__(self) -> str:
        return f"{table(self.rows)}\nfastest here: {self.name}"


def tune(plan: Plan, k: int, args: Sequence[Any], repeats: int) -> Tuned:
    """The k best of `alternatives`, compiled and timed on this host's devices."""
    best: tuple[float, str, exporting.Planned] | None = None
    rows = []
    for row in alternatives(plan)[:max(k, 1)]:
        function = plan.jit() if row.name == "this plan" else expert(plan, row.name)
        seconds = seconds_of(function.jitted, args, function.in_shardings, repeats)
        rows.append(dataclasses.replace(row, seconds=seconds))
        if best is None or seconds < best[0]:
            best = (seconds, row.name, function)
    assert best
    return Tuned(best[1], best[2], rows)
