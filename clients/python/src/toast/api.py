"""`toast.plan`, `toast.load`: a function and arguments to a Plan, by the program on this machine or by a service."""
from __future__ import annotations

import pathlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax

from . import exporting, names, progress as progress_of, requests
from .errors import MeshError, PlanMismatch, ToastError
from .exporting import Step
from .names import Dims
from .plans import Plan, restore

Mesh = Mapping[str, int] | jax.sharding.Mesh


def _full_rank(step: Step, leaf: int, dims: Dims) -> Dims:
    """Arrays of extended elements (PRNG keys) are tensors with more dimensions: none of those is split."""
    dtype = step.exported.in_avals[leaf].dtype
    shape = getattr(getattr(dtype, "_impl", None), "key_shape", ())
    return dims + [[] for _ in shape]


def plan(step: Callable[..., Any], *args: Any, mesh: Mesh, device: str | Mapping[str, Any], memory_limit: int | str | None = None,
         pins: Mapping[str, Any] | None = None, url: str | None = None, key: str | None = None, patience_s: float = 60.0,
         devices: Sequence[Any] | None = None, platform: str | None = None, devices_per_host: int | None = None,
         rollouts: int | None = None, seconds: float | None = None, seed: int | None = None, planner: str | None = None,
         trip_counts: Mapping[str, int] | None = None, proof: bool = False, outputs: Sequence[str] = (), alternatives: int = 0,
         progress: progress_of.Progress = None) -> Plan:
    """Plans `step(*args)` on `mesh` of `device`s.

    step      a function or jax.jit of one; what its jit donates stays donated. Static arguments: bind them with functools.partial
    args      as it is called, or jax.ShapeDtypeStruct in their places: only shapes and types are looked at
    mesh      {"data": 8, "model": 8}, outermost first, or a jax.sharding.Mesh
    device    a name of `toast price`'s catalogue ("a100-40", "h100") or one with changes: {"base": "h100", ..}
    memory_limit  bytes a device, or "38GB"; default: the device's less 10 %
    pins      {"params/*/wq": P(None, "model")}: names by parameter or as jax.tree_util.keystr says, shell wildcards in both;
              P.UNCONSTRAINED leaves a dimension open
    url, key  a service instead of the program on this machine; patience_s: how long it is tried while it does not answer
    devices   which of the host's devices make the mesh; default jax.devices(). platform: to lower for another one ("cuda", "tpu")
    alternatives  how many further plans that really differ are wanted, 0 to 16: plan.alternatives
    rollouts, seconds, seed, planner, trip_counts, proof, outputs  as `toast plan` has them
    progress  None: on a terminal; True, False, or a function of a line
    """
    axes = names.axes_of(mesh)
    lowered = exporting.lower(step, args, platform)
    dims = names.pinned(pins, lowered.leaves, axes)
    options = {"memory_limit_bytes": requests.bytes_of(memory_limit), "devices_per_host": devices_per_host, "rollouts": rollouts,
               "seconds": seconds, "seed": seed, "planner": planner, "trip_counts": dict(trip_counts) if trip_counts else None,
               "proof": proof or None, "outputs": tuple(outputs), "alternatives": alternatives or None}
    kept = {i: _full_rank(lowered, i, each) for i, each in dims.items() if i in lowered.kept}
    request = requests.request_of(lowered.leaves, lowered.kept, axes, device, kept, options)
    if isinstance(mesh, jax.sharding.Mesh) and devices is not None:
        raise MeshError("mesh has devices of its own; leave devices= out")
    files = requests.plan_files(lowered.text, request, url, key, patience_s, progress)

    def again(count: int) -> Mapping[str, bytes]:
        return requests.plan_files(lowered.text, {**request, "alternatives": count}, url, key, patience_s, progress)

    out = Plan(lowered, files, axes, dims, mesh if isinstance(mesh, jax.sharding.Mesh) else devices, again)
    out.warn_unless_it_fits(lowered.name)
    return out


def load(path: str | pathlib.Path, step: Callable[..., Any], *args: Any, devices: Sequence[Any] | jax.sharding.Mesh | None = None,
         platform: str | None = None) -> Plan:
    """What plan.save(path) wrote, for the same step and arguments; PlanMismatch when the module is another one."""
    if not pathlib.Path(path).is_dir():
        raise PlanMismatch(f"{path} is no folder that plan.save() wrote")
    return restore(path, exporting.lower(step, args, platform), devices)


def profile(step: Callable[..., Any], *args: Any, mesh: Mesh, device: str | Mapping[str, Any], out: str = "profile.json",
            pins: Mapping[str, Any] | None = None, url: str | None = None, key: str | None = None, patience_s: float = 60.0,
            platform: str | None = None, trip_counts: Mapping[str, int] | None = None, progress: progress_of.Progress = None,
            **options: Any) -> dict[str, Any]:
    """Times the segments of `step(*args)` on jax.devices() and returns the profile, which stands in `out`, too.

        measured = toast.profile(step, params, batch, mesh={"data": 8}, device="h100")
        plan = toast.plan(step, params, batch, mesh={"data": 8}, device={"base": "h100", "profile": measured}, planner="segments")

    Arguments are plan()'s; options are toast_profile.Options' (runs=10, give_up=8.0, ..). What `out` + ".log" has is not timed again.
    """
    import toast_profile
    axes = names.axes_of(mesh)
    lowered = exporting.lower(step, args, platform)
    given = {"planner": "baselines", "trip_counts": dict(trip_counts) if trip_counts else None, "outputs": ("segments",)}
    pinned = names.pinned(pins, lowered.leaves, axes)
    dims = {i: _full_rank(lowered, i, each) for i, each in pinned.items() if i in lowered.kept}
    request = requests.request_of(lowered.leaves, lowered.kept, axes, device, dims, given)
    files = requests.plan_files(lowered.text, request, url, key, patience_s, progress)
    with tempfile.TemporaryDirectory() as folder, progress_of.shown(progress) as say:
        archive = pathlib.Path(folder, "segments.tar")
        archive.write_bytes(files["segments.tar"])
        measured: dict[str, Any] = toast_profile.profile(archive, out, toast_profile.Options(**options), say)
        return measured


__all__ = ["plan", "profile", "load", "ToastError"]
