"""What plan.json lists of a function's values: constraints, and sums that are kept as their summands. Never looks for them."""
from __future__ import annotations

import dataclasses
from typing import Any

from jax.sharding import PartitionSpec


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
    worth_bytes: int | None = None  # what XLA moves more without it, by the model; None: not known

    @classmethod
    def read(cls, each: dict[str, Any], spec: PartitionSpec) -> Constraint:
        """Of plan.json's entry."""
        uses = tuple((use["op"], use["location"], use.get("name", "")) for use in each.get("uses") or ())
        return cls(each["op"], each["location"], each.get("name", ""), each["occurrence"], each["alike"], each["type"], spec,
                   tuple(each["arguments"]), uses, each.get("worth_bytes"))

    def __str__(self) -> str:
        which = f", number {self.occurrence + 1} of {self.alike}" if self.alike > 1 else ""
        only = f"; only where {', '.join(f'{op} at {place}' for op, place, _ in sorted(set(self.uses)))} reads it" if self.uses else ""
        made = f", made of {', '.join(self.arguments)}" if self.arguments and self.op != "argument" else ""
        return f"x = jax.lax.with_sharding_constraint(x, {self.spec})  # {self.type} of {self.op} at {self.location}{which}{made}{only}"


@dataclasses.dataclass(frozen=True)
class Cut:
    """An operand from whose dimensions leading ones are cut."""
    operand: int
    dims: tuple[tuple[str, ...], ...]       # its axes
    leading: tuple[tuple[int, ...], ...]    # of each of its dimensions: those cut from it, the outermost first


@dataclasses.dataclass(frozen=True)
class Sum(Constraint):
    """One value that plan.constrain keeps as its summands until others were added (summing.py); spec: of its own dimensions."""
    leading: tuple[tuple[str, ...], ...] = ()   # axes of each dimension of summands
    cuts: tuple[Cut, ...] = ()

    @classmethod
    def read(cls, each: dict[str, Any], spec: PartitionSpec) -> Sum:
        value = Constraint.read(each, spec)
        cuts = tuple(Cut(cut["operand"], tuple(tuple(axes) for axes in cut["dims"]), tuple(tuple(leads) for leads in cut["leading"]))
                     for cut in each["cuts"])
        return cls(**{field.name: getattr(value, field.name) for field in dataclasses.fields(value)},
                   leading=tuple(tuple(axes) for axes in each["leading"]), cuts=cuts)

    def __str__(self) -> str:
        return f"{self.type} of {self.op} at {self.location}, a sum over {' and '.join('+'.join(axes) for axes in self.leading)}"
