"""A plan: what `toast.plan` and `toast.load` return. Shardings, the planned function, the report, files.

Promises: shardings have the caller's own structure, arguments that JAX dropped included (replicated, or as pinned). A saved
plan is a folder that `toast price`, `toast lower` and the service read, too. Never plans.
"""
from __future__ import annotations

import json
import math
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from . import constraining, exporting
from .constraining import Constraints
from .errors import MeshError, PlanMismatch, RequestRefused
from .exporting import Planned, Step
from .names import Dims
from .report import PlanFiles

if TYPE_CHECKING:
    from .race import Tuned

_CLIENT = "client.json"


def specification(dims: Dims, rank: int | None = None) -> PartitionSpec:
    """A PartitionSpec without trailing Nones. An array of extended elements (a PRNG key) has fewer dimensions than its tensor."""
    kept = dims if rank is None else dims[:rank]
    entries = [None if not dim else dim[0] if len(dim) == 1 else tuple(dim) for dim in kept]
    while entries and entries[-1] is None:
        entries.pop()
    return PartitionSpec(*entries)


class Plan(PlanFiles):
    """See the module's head. `mesh` is made from the host's devices when it is first asked for."""

    def __init__(self, step: Step, files: Mapping[str, bytes], axes: Mapping[str, int], pinned: Mapping[int, Dims],
                 devices: Sequence[Any] | Mesh | None = None,
                 again: Callable[[int], Mapping[str, bytes]] | None = None) -> None:
        super().__init__(files)
        self.step = step
        self._again = again     # the same request with so many alternatives
        self.axes = dict(axes)
        self._pinned = dict(pinned)
        self._devices = devices
        self._mesh: Mesh | None = devices if isinstance(devices, Mesh) else None
        if len(self.json["arguments"]) != len(step.kept) or len(self.json["results"]) != len(step.exported.out_avals):
            raise PlanMismatch(f"the plan has {len(self.json['arguments'])} arguments and {len(self.json['results'])} results, the "
                               f"module of {step.name} {len(step.kept)} and {len(step.exported.out_avals)}")

    # ---- shardings
    def _argument_specs(self) -> list[PartitionSpec]:
        leaves = self.step.leaves
        specs = [specification(self._pinned.get(i) or [], len(leaf.shape)) for i, leaf in enumerate(leaves)]
        for place, argument in zip(self.step.kept, self.json["arguments"], strict=True):
            specs[place] = specification(argument["dims"], len(leaves[place].shape))
        return specs

    @property
    def in_specs(self) -> tuple[Any, ...]:
        """PartitionSpecs in the structure of the arguments; needs no devices."""
        args, _ = jax.tree_util.tree_unflatten(self.step.exported.in_tree, self._argument_specs())
        return tuple(args)

    @property
    def out_specs(self) -> Any:
        specs = [specification(result["dims"], len(aval.shape))
                 for result, aval in zip(self.json["results"], self.step.exported.out_avals, strict=True)]
        return jax.tree_util.tree_unflatten(self.step.exported.out_tree, specs)

    @property
    def specs_by_name(self) -> dict[str, PartitionSpec]:
        return {leaf.name: spec for leaf, spec in zip(self.step.leaves, self._argument_specs(), strict=True)}

    @property
    def mesh(self) -> Mesh:
        """The devices, as the mesh was planned. MeshError when the host has too few."""
        if self._mesh is None:
            count = math.prod(self.axes.values())
            devices = list(jax.devices()) if self._devices is None else list(np.asarray(self._devices, dtype=object).flat)
            if len(devices) < count:
                shape = " x ".join(f"{axis}={size}" for axis, size in self.axes.items())
                raise MeshError(f"the mesh {shape} needs {count} devices, this host has {len(devices)} "
                                f"({devices[0].platform if devices else 'none'}). plan.in_specs, plan.report and plan.save() work without; "
                                "to try it on a CPU set XLA_FLAGS=--xla_force_host_platform_device_count=" + str(count))
            self._mesh = Mesh(np.asarray(devices[:count], dtype=object).reshape(tuple(self.axes.values())), tuple(self.axes))
        return self._mesh

    def _named(self, tree: Any) -> Any:
        mesh = self.mesh
        return jax.tree_util.tree_map(lambda spec: NamedSharding(mesh, spec), tree,
                                      is_leaf=lambda x: isinstance(x, PartitionSpec))

    @property
    def in_shardings(self) -> tuple[Any, ...]:
        """NamedShardings in the structure of the arguments, as jax.jit(in_shardings=..) takes them."""
        return tuple(self._named(self.in_specs))

    @property
    def out_shardings(self) -> Any:
        return self._named(self.out_specs)

    # ---- running
    def jit(self) -> Planned:
        """The function under this plan: the annotated module with these shardings; what was donated still is."""
        annotated = self.files.get("annotated.mlir")
        if annotated is None:
            raise PlanMismatch("annotated.mlir is not among the plan's files: plan with 'annotated' among outputs")
        exported = exporting.runnable(self.step, annotated.decode(), self.axes)
        return Planned(self.step, exported, self.in_shardings, self.out_shardings)

    @property
    def constraints(self) -> Constraints:
        """What to write into the model besides the specs, as lines to paste when printed: with_sharding_constraint of the values that
        the specs of arguments and results leave to XLA. plan.report['constraints']['moved_bytes'] says what it saves."""
        said = self.report.get("constraints")
        return constraining.read(self.json.get("constraints", ()), specification, said and said["moved_bytes"], self.json.get("sums", ()))

    def constrain(self, step: Callable[..., Any]) -> Callable[..., Any]:
        """`step`, the function that was planned, with these constraints put in: for a jax.jit of your own with in_shardings and
        out_shardings. Unlike jit(), derivatives, remat and scans stay the function's own. Sums that the plan adds to others before it
        reduces them (the two gradients of a tied embedding, what a scan accumulates) are added so here, too."""
        listed = self.constraints
        return constraining.constrained(step, listed, self.mesh, [leaf.name for leaf in self.step.leaves], listed.sums, listed.moved)

    @property
    def alternatives(self) -> list[Plan]:
        """The best plans that really differ from this one and from one another, best first; each is a Plan of its own.

        As many as were asked for (toast.plan(.., alternatives=k)), or fewer where nothing else differs; report['alternatives']
        says in what: shardings, decisions, collectives, and the shares of bytes that are sharded otherwise."""
        out = []
        for number in range(1, 1 + sum(name.endswith("/plan.json") for name in self.files)):
            prefix = f"alternatives/{number}/"
            files = {name.removeprefix(prefix): data for name, data in self.files.items() if name.startswith(prefix)}
            out.append(Plan(self.step, files, self.axes, self._pinned, self._devices))
        return out

    def tune(self, k: int, *args: Any, repeats: int = 5) -> Tuned:
        """Compiles this plan and its best alternatives, k in all, with this host's XLA, runs them on its devices, says which is fastest.

        args: as the function takes them; abstract ones, or none at all, are taken as zeros. A plan that was made without
        (enough) alternatives is made once more with them."""
        from .race import tune
        k = max(k, 1)
        others = self.alternatives
        again = self._again
        if len(others) < k - 1 and again is not None:
            self._again = None
            self.files = {**self.files, **{name: data for name, data in again(k - 1).items() if "/" in name}}
            others = self.alternatives
        elif len(others) < k - 1 and not self.report.get("alternatives"):
            raise RequestRefused(f"this plan has no alternatives: toast.plan(.., alternatives={k - 1}) makes them")
        abstract = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in self.step.exported.in_avals]
        return tune([self, *others[:k - 1]], args or jax.tree_util.tree_unflatten(self.step.exported.in_tree, abstract)[0], repeats)

    # ---- files
    def save(self, path: str | pathlib.Path) -> pathlib.Path:
        """Writes every file and what toast.load needs into a folder."""
        folder = self.write(path)
        client = {"format": 1, "function": self.step.name, "digest": self.step.digest, "axes": self.axes,
                  "pinned": {str(i): dims for i, dims in self._pinned.items()},
                  "arguments": [[leaf.name, leaf.dtype, list(leaf.shape)] for leaf in self.step.leaves]}
        (folder / _CLIENT).write_text(json.dumps(client, indent=1) + "\n")
        return folder

    def __repr__(self) -> str:
        mesh = ",".join(f"{axis}={size}" for axis, size in self.axes.items())
        return (f"<toast.Plan of {self.step.name} on {mesh}: {self.step_time_s * 1e3:.3f} ms a step (estimated), "
                f"{self.peak_bytes / 1e6:.1f} MB a device, {'fits' if self.fits else 'DOES NOT FIT'}, found by {self.found_by}>")


def restore(path: str | pathlib.Path, step: Step, devices: Sequence[Any] | Mesh | None) -> Plan:
    """A saved plan for the same step; PlanMismatch says what is different."""
    folder = pathlib.Path(path)
    try:
        client = json.loads((folder / _CLIENT).read_text())
        files = {each.relative_to(folder).as_posix(): each.read_bytes() for each in folder.rglob("*")
                 if each.is_file() and each.name != _CLIENT}
        before = [(name, dtype, tuple(shape)) for name, dtype, shape in client["arguments"]]
        axes, pinned = dict(client["axes"]), {int(i): dims for i, dims in client["pinned"].items()}
        digest = client["digest"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlanMismatch(f"{folder} is no plan that plan.save() wrote: {error}") from error
    missing = [name for name in ("plan.json", "report.json") if name not in files]
    if missing:
        raise PlanMismatch(f"{folder} lacks {', '.join(missing)}")
    for name in ("plan.json", "report.json"):
        try:
            json.loads(files[name])
        except ValueError as error:
            raise PlanMismatch(f"{folder / name} is not what plan.save() wrote: {error}") from error
    if digest != step.digest:
        now = [(leaf.name, leaf.dtype, leaf.shape) for leaf in step.leaves]
        odd = next((f"argument {a[0]} was {a[1]}{list(a[2])}, now {b[0]} is {b[1]}{list(b[2])}"
                    for a, b in zip(before, now, strict=False) if a[1:] != b[1:]), None)
        if odd is None and len(before) != len(now):
            odd = f"{len(before)} arguments then, {len(now)} now"
        raise PlanMismatch(f"{folder} holds a plan of another module ({client['function']}): "
                           f"{odd or 'the arguments are the same, the computation (or the JAX that lowered it) is not'}. Plan again")
    return Plan(step, files, axes, pinned, devices)
