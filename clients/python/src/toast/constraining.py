"""`plan.constrain`: the user's own function with the plan's constraints in it; `plan.constraints`: what to paste.

A plan names values by the op that makes them, its scope, its place in the source and its number among its like. Here the function's
jaxpr is run equation by equation (weaving.py), and the results of the equations that made those ops go through
jax.lax.with_sharding_constraint. A value that JAX makes when it lowers an equation (the sum inside logistic) is constrained as the
equation's result of that type. Promises: derivatives, remat and scans stay what they were; a constraint whose equation is
not found is an error, or a warning where the list is worth little less without it; one that may be meant for another equation is a
warning; none is dropped in silence. Sums that the plan adds to others
before it reduces them are kept as summands (summing.py), which no constraint can say; one that is not found is a warning.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax.sharding import Mesh, PartitionSpec

from . import summing
from .errors import DoubtfulConstraintWarning, PlanMismatch
from .listed import Constraint, Sum
from .weaving import Run


class Constraints(Sequence[Constraint]):
    """Printed: lines to paste, and whether they do what plan.jit() does. moved: the report's bytes, of XLA by our model.
    sums: what plan.constrain does besides."""

    def __init__(self, listed: Sequence[Constraint], moved: Mapping[str, int] | None = None, sums: Sequence[Sum] = ()) -> None:
        self._listed = tuple(listed)
        self._moved = moved
        self.sums = tuple(sums)

    def __getitem__(self, index: Any) -> Any:
        return self._listed[index]

    def __len__(self) -> int:
        return len(self._listed)

    @property
    def moved(self) -> int:
        """What plan.constrain moves a device, by the report; 0 where it does not say."""
        return (self._moved or {}).get("sums", 0)

    def __str__(self) -> str:
        lines = [str(each) for each in self._listed]
        if self._moved and self._moved["constraints"] > 1.1 * self._moved["annotated"]:
            moved = {way: f"{self._moved[way] / 1e6:.1f}" for way in ("constraints", "sums", "annotated") if way in self._moved}
            both = f"plan.constrain(step), which adds {len(self.sums)} sums before they are reduced, {moved['sums']}, with " if self.sums else ""
            lines.append(f"# {'with these' if lines else 'no constraint helps: with the specs'} XLA moves {moved['constraints']} MB a device, "
                         f"with {both}plan.jit() {moved['annotated']}: no PartitionSpec leaves a sum partial, be it over a loop's iterations or "
                         "with other sums")
        return "\n".join(lines) or "# the PartitionSpecs of arguments and results are enough"


def read(listed: Sequence[dict[str, Any]], specification: Callable[[Any], PartitionSpec],
         moved: Mapping[str, int] | None = None, sums: Sequence[dict[str, Any]] = ()) -> Constraints:
    return Constraints([Constraint.read(each, specification(each["dims"])) for each in listed], moved,
                       [Sum.read(each, specification(each["dims"])) for each in sums])


_SMALL = 0.1    # of the bytes that move: constraints that are worth less in all may be missing


def _complain(state: Run, moved: int) -> None:
    """Of what was not found: constraints are an error, but for such as are worth little of the bytes moved; a sum costs bytes. Of values
    that may be others than were meant."""
    missing, lost = ([each for each, found in zip(state.wanted, state.found, strict=True) if isinstance(each, Sum) == sums and not found]
                     for sums in (False, True))
    if missing:
        worth = [each.worth_bytes for each in missing if each.worth_bytes is not None]
        said = (f"{len(missing)} of {len(state.wanted) - len(state.sums)} constraints are of values that no equation of the function makes "
                "(JAX makes them when it lowers): ")
        if not moved or len(worth) < len(missing) or sum(worth) > _SMALL * moved:
            raise PlanMismatch(f"{said}paste these, or use plan.jit(). {missing[0]}")
        warnings.warn(f"{said}without them XLA moves some {sum(worth):,} bytes a device more than {moved:,}. plan.jit() moves no more. {missing[0]}",
                      DoubtfulConstraintWarning, stacklevel=3)
    for i, (each, seen, ops) in enumerate(zip(state.wanted, state.seen, state.ops, strict=True)):
        if i not in state.sums and i not in state.alone and seen * ops != each.alike:
            warnings.warn(f"the module has {each.alike} values that look like this one, the function makes {seen}; the constraint may stand "
                          f"on another of them than was planned: {each}", DoubtfulConstraintWarning, stacklevel=3)
    if lost:
        warnings.warn(f"{len(lost)} of {len(state.sums)} sums are reduced by themselves, as no equation of the function makes them so: "
                      f"{lost[0]}. plan.jit() adds them first", DoubtfulConstraintWarning, stacklevel=3)


def constrained(step: Callable[..., Any], constraints: Sequence[Constraint], mesh: Mesh, names: Sequence[str],
                sums: Sequence[Sum] = (), moved: int = 0) -> Callable[..., Any]:
    """`step` with the constraints in it, and these sums kept as summands until others were added, for jax.jit with the plan's
    shardings. names: of the leaves of its arguments. moved: the bytes that it moves, by the report."""
    inner = getattr(step, "__wrapped__", step)
    wanted = (*constraints, *sums)

    def run(*args: Any) -> Any:
        closed, shape = jax.make_jaxpr(inner, return_shape=True)(*args)

        def evaluated(*more: Any) -> tuple[Run, list[Any]]:
            state, leaves = Run(wanted, mesh, closed.jaxpr, *more), jax.tree_util.tree_leaves(args)
            uses = state.arguments(names, closed.jaxpr.invars, leaves)
            return state, state.evaluate(closed.jaxpr, closed.consts, leaves, uses)[0]

        state, out = evaluated()
        unseen = frozenset(i for i, seen in enumerate(state.seen) if not seen and wanted[i].op != "argument")
        if unseen:
            state, out = evaluated(None, unseen)
        if state.several():
            state, out = evaluated(state.several(), unseen)
        _complain(state, moved)
        return jax.tree_util.tree_unflatten(jax.tree_util.tree_structure(shape), [summing.whole(x) for x in out])

    return run
