"""`plan.constrain`: the user's own function with the plan's constraints in it; `plan.constraints`: what to paste.

A plan names values by the op that makes them, its scope, its place in the source and its number among its like. Here the function's
jaxpr is run equation by equation (weaving.py), and the results of the equations that made those ops go through
jax.lax.with_sharding_constraint. A value that JAX makes when it lowers an equation (the sum inside logistic) is constrained as the
equation's result of that type. Promises: derivatives, remat and scans stay what they were; a constraint whose equation is
not found is an error, one that may be meant for another equation a warning; none is dropped.
"""
from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .errors import DoubtfulConstraintWarning, PlanMismatch
from .weaving import Run


@dataclasses.dataclass(frozen=True)
class Constraint:
    """One value that needs with_sharding_constraint."""
    op: str                     # "stablehlo.dot_general"; "argument"; "loop value" (carried), "loop input" (only read)
    location: str               # "model.py:33"; an argument's name
    name: str                   # "jit(step)/while/body/mul": scopes, then the primitive; "": unknown
    occurrence: int             # which of `alike`
    alike: int                  # values of this type by such ops of this place and primitive
    type: str                   # "f32[8,32,64]"
    spec: PartitionSpec
    arguments: tuple[str, ...]  # what the value is made of
    uses: tuple[tuple[str, str, str], ...]  # ("stablehlo.dot_general", "model.py:40", name): only these read it so; empty: all do

    def __str__(self) -> str:
        which = f", number {self.occurrence + 1} of {self.alike}" if self.alike > 1 else ""
        only = f"; only where {', '.join(f'{op} at {place}' for op, place, _ in sorted(set(self.uses)))} reads it" if self.uses else ""
        made = f", made of {', '.join(self.arguments)}" if self.arguments else ""
        return f"x = jax.lax.with_sharding_constraint(x, {self.spec})  # {self.type} of {self.op} at {self.location}{which}{made}{only}"


class Constraints(Sequence[Constraint]):
    """Printed: lines to paste, and whether they do what plan.jit() does. moved: the report's bytes, of XLA by our model."""

    def __init__(self, listed: Sequence[Constraint], moved: Mapping[str, int] | None = None) -> None:
        self._listed = tuple(listed)
        self._moved = moved

    def __getitem__(self, index: Any) -> Any:
        return self._listed[index]

    def __len__(self) -> int:
        return len(self._listed)

    def __str__(self) -> str:
        lines = [str(each) for each in self._listed]
        if self._moved and self._moved["constraints"] > 1.1 * self._moved["annotated"]:
            lines.append(f"# {'with these' if lines else 'no constraint helps: with the specs'} XLA moves {self._moved['constraints'] / 1e6:.1f} MB a device, "
                         f"with plan.jit() {self._moved['annotated'] / 1e6:.1f}: no PartitionSpec leaves a sum partial, be it over a loop's iterations or "
                         "with other sums")
        return "\n".join(lines) or "# the PartitionSpecs of arguments and results are enough"


def read(listed: Sequence[dict[str, Any]], specification: Callable[[Any], PartitionSpec],
         moved: Mapping[str, int] | None = None) -> Constraints:
    return Constraints([Constraint(
        each["op"], each["location"], each.get("name", ""), each["occurrence"], each["alike"], each["type"], specification(each["dims"]),
        tuple(each["arguments"]), tuple((use["op"], use["location"], use.get("name", "")) for use in each["uses"] or ())) for each in listed], moved)


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
        state = Run(constraints, mesh, closed.jaxpr)
        out, _ = state.evaluate(closed.jaxpr, closed.consts, leaves)
        unseen = frozenset(i for i, seen in enumerate(state.seen) if not seen)
        if unseen:
            state = Run(constraints, mesh, closed.jaxpr, lowered=unseen)
            out, _ = state.evaluate(closed.jaxpr, closed.consts, leaves)
        if state.several():
            state = Run(constraints, mesh, closed.jaxpr, state.several(), unseen)
            out, _ = state.evaluate(closed.jaxpr, closed.consts, leaves)
        missing = [each for each, found in zip(state.wanted, state.found, strict=True) if not found]
        if missing:
            raise PlanMismatch(f"{len(missing)} of {len(constraints)} constraints are of values that no equation of the function makes "
                               f"(JAX makes them when it lowers): paste these, or use plan.jit(). {missing[0]}")
        for i, (each, seen, ops) in enumerate(zip(state.wanted, state.seen, state.ops, strict=True)):
            if i not in state.alone and seen * ops != each.alike:
                warnings.warn(f"the module has {each.alike} values that look like this one, the function makes {seen}; the constraint may stand "
                              f"on another of them than was planned: {each}", DoubtfulConstraintWarning, stacklevel=2)
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shape), out)

    return run
