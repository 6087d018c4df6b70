"""`plan.constrain`: the user's own function with the plan's constraints in it; `plan.constraints`: what to paste.

A plan names values by the op that makes them, its place in the source and its number among its like. Here the function's
jaxpr is run equation by equation, and the results of the equations that made those ops go through
jax.lax.with_sharding_constraint. Promises: derivatives, remat and scans stay what they were; a constraint whose equation is
not found is an error, never dropped. Equations inside jit, remat and custom derivatives are followed; those in scans, loops
and conditionals are not.
"""
from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .errors import PlanMismatch

_FOLLOWED = ("jit", "pjit", "closed_call", "core_call", "custom_jvp_call", "custom_vjp_call", "custom_vjp_call_jaxpr")
_REMADE = ("remat", "remat2", "checkpoint")


@dataclasses.dataclass(frozen=True)
class Constraint:
    """One value that needs with_sharding_constraint."""
    op: str                     # "stablehlo.dot_general"; "argument"
    location: str               # "model.py:33"; an argument's name
    occurrence: int             # which of `alike` ops of this name, type and place
    alike: int
    type: str                   # "f32[8,32,64]"
    spec: PartitionSpec
    arguments: tuple[str, ...]  # what the value is made of
    uses: tuple[tuple[str, str], ...]   # ("stablehlo.dot_general", "model.py:40"): only these read it so; empty: all do

    def __str__(self) -> str:
        which = f", number {self.occurrence + 1} of {self.alike}" if self.alike > 1 else ""
        only = f"; only where {', '.join(f'{op} at {place}' for op, place in sorted(set(self.uses)))} reads it" if self.uses else ""
        made = f", made of {', '.join(self.arguments)}" if self.arguments else ""
        return f"x = jax.lax.with_sharding_constraint(x, {self.spec})  # {self.type} of {self.op} at {self.location}{which}{made}{only}"


class Constraints(Sequence[Constraint]):
    """Printed: lines to paste."""

    def __init__(self, listed: Sequence[Constraint]) -> None:
        self._listed = tuple(listed)

    def __getitem__(self, index: Any) -> Any:
        return self._listed[index]

    def __len__(self) -> int:
        return len(self._listed)

    def __str__(self) -> str:
        return "\n".join(str(each) for each in self._listed) or "# the PartitionSpecs of arguments and results are enough"


def read(listed: Sequence[dict[str, Any]], specification: Callable[[Any], PartitionSpec]) -> Constraints:
    return Constraints([Constraint(
        each["op"], each["location"], each["occurrence"], each["alike"], each["type"], specification(each["dims"]),
        tuple(each["arguments"]), tuple((use["op"], use["location"]) for use in each["uses"] or ())) for each in listed])


_NAMES = {"float32": "f32", "float64": "f64", "bfloat16": "bf16", "float16": "f16", "int32": "i32", "int64": "i64", "int8": "i8",
          "uint8": "ui8", "uint32": "ui32", "bool": "i1", "complex64": "complex<f32>"}


def _type_of(aval: Any) -> str:
    return f"{_NAMES.get(str(aval.dtype), str(aval.dtype))}[{','.join(map(str, aval.shape))}]"


def _place(eqn: Any) -> str:
    from jax._src import source_info_util
    frame = source_info_util.user_frame(getattr(eqn.source_info, "traceback", eqn.source_info))
    return f"{frame.file_name}:{frame.start_line}" if frame else ""


def _same_place(place: str, location: str) -> bool:
    file, _, line = place.rpartition(":")
    wanted, _, number = re.sub(r":\d+:\d+$", lambda m: m.group(0).rpartition(":")[0], location).rpartition(":")
    return bool(file) and line == number and (file.endswith(wanted) or wanted.endswith(file))


def _primitive(op: str) -> str:
    name = op.removeprefix("stablehlo.")
    return {"multiply": "mul", "subtract": "sub", "divide": "div", "exponential": "exp", "add": "add", "convert": "convert_element_type",
            "maximum": "max", "minimum": "min", "negate": "neg", "select": "select_n", "logistic": "logistic",
            "reduce": "reduce_", "broadcast_in_dim": "broadcast_in_dim", "convolution": "conv_general_dilated"}.get(name, name)


def _is(eqn: Any, op: str, location: str) -> bool:
    return eqn.primitive.name.startswith(_primitive(op)) and _same_place(_place(eqn), location)


def _alone(eqn: Any, given: Sequence[Any]) -> list[Any]:
    """The results of one equation."""
    from jax.extend.core import Jaxpr
    variables = [atom for atom in eqn.invars if not hasattr(atom, "val")]
    read = dict(zip(eqn.invars, given, strict=True)) if len(variables) == len(eqn.invars) else {
        atom: value for atom, value in zip(eqn.invars, given, strict=True) if not hasattr(atom, "val")}
    known = list(dict.fromkeys(variables))
    single = Jaxpr((), known, eqn.outvars, [eqn], effects=eqn.effects)
    return list(jax.core.eval_jaxpr(single, (), *[read[atom] for atom in known]))


class _Run:
    """One evaluation of the jaxpr with constraints put in."""

    def __init__(self, constraints: Sequence[Constraint], mesh: Mesh) -> None:
        self.wanted = [each for each in constraints if each.op != "argument"]
        self.mesh = mesh
        self.seen = [0] * len(self.wanted)
        self.found = [False] * len(self.wanted)

    def constrain(self, eqn: Any, values: list[Any]) -> dict[Any, list[tuple[Constraint, Any]]]:
        """Constrains results that all uses read so, in place; those for some uses come back, by variable."""
        for_uses: dict[Any, list[tuple[Constraint, Any]]] = {}
        for i, each in enumerate(self.wanted):
            for k, variable in enumerate(eqn.outvars):
                if not _is(eqn, each.op, each.location) or _type_of(variable.aval) != each.type:
                    continue
                if self.seen[i] == each.occurrence:
                    made = jax.lax.with_sharding_constraint(values[k], NamedSharding(self.mesh, each.spec))
                    self.found[i] = True
                    if each.uses:
                        for_uses.setdefault(variable, []).append((each, made))
                    else:
                        values[k] = made
                self.seen[i] += 1
        return for_uses

    def evaluate(self, jaxpr: Any, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True)) | dict(zip(jaxpr.invars, args, strict=True))

        for_uses: dict[Any, list[tuple[Constraint, Any]]] = {}

        def of(atom: Any, eqn: Any = None) -> Any:
            if hasattr(atom, "val"):
                return atom.val
            for each, made in for_uses.get(atom, ()) if eqn is not None else ():
                if any(_is(eqn, op, place) for op, place in each.uses):
                    return made
            return values[atom]

        for eqn in jaxpr.eqns:
            given = [of(atom, eqn) for atom in eqn.invars]
            inner = next((eqn.params[key] for key in ("jaxpr", "call_jaxpr", "fun_jaxpr") if key in eqn.params), None)
            if inner is not None and eqn.primitive.name in _FOLLOWED:
                results = self.evaluate(getattr(inner, "jaxpr", inner), getattr(inner, "consts", ()), given)
            else:
                if inner is not None and eqn.primitive.name in _REMADE:      # stays one equation, so that it is computed again
                    again = jax.make_jaxpr(lambda *a, body=inner: self.evaluate(body, (), a))(*given)
                    eqn = eqn if again.consts else eqn.replace(params=dict(eqn.params, jaxpr=again.jaxpr))
                results = _alone(eqn, given)
            for_uses.update(self.constrain(eqn, results))
            values.update(zip(eqn.outvars, results, strict=True))
        return [of(atom) for atom in jaxpr.outvars]


def constrained(step: Callable[..., Any], constraints: Sequence[Constraint], mesh: Mesh, names: Sequence[str]) -> Callable[..., Any]:
    """`step` with the constraints in it, for jax.jit with the plan's shardings. names: of the leaves of its arguments."""
    inner = getattr(step, "__wrapped__", step)

    def run(*args: Any) -> Any:
        closed, shape = jax.make_jaxpr(inner, return_shape=True)(*args)
        leaves = jax.tree_util.tree_leaves(args)
        for each in constraints:
            if each.op == "argument" and each.location in names:
                at = list(names).index(each.location)
                leaves[at] = jax.lax.with_sharding_constraint(leaves[at], NamedSharding(mesh, each.spec))
        state = _Run(constraints, mesh)
        out = state.evaluate(closed.jaxpr, closed.consts, leaves)
        missing = [each for each, found in zip(state.wanted, state.found, strict=True) if not found]
        if missing:
            raise PlanMismatch(f"{len(missing)} of {len(constraints)} constraints are of values that the function does not make in the open "
                               f"(in a scan, a loop or a conditional, or made by JAX): paste these, or use plan.jit(). {missing[0]}")
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shape), out)

    return run
