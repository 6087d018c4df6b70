"""Sums kept as their summands until others were added: what a PartitionSpec has no word for.

The gradient of an embedding that is the output layer too is a dot plus a scatter, each a sum over what the batch's axes split.
XLA reduces both; a plan adds what each device has and reduces once. Here a maker of such a sum (a dot, a scatter into zeros, a
sum over dimensions) cuts what it sums over into (n, rest), n over the axes: its result has n summands, one on each device, in
leading dimensions. Ops that pass sums on are mapped over these; one sum over them stands where anything else reads the value.
In the function's ordinary meaning that is a reshape and a sum in another order. Never decides what is kept so: plan.json does.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from .listed import Cut, Sum

_ALL_SUMS = ("add", "add_any", "sub")                           # whose operands all have to be summands
_OF_ONE = ("neg", "transpose", "reshape", "squeeze", "copy", "slice", "reduce_sum")
_BY_OTHERS = ("mul", "div")                                     # the first operand, or of a product either


class Summands:
    """A value as the sum of an array over its first dimensions, one for each of `leading`, split over these axes."""

    def __init__(self, array: Any, leading: Sequence[tuple[str, ...]], mesh: Mesh, spec: PartitionSpec | None = None) -> None:
        """spec: of the whole sum, once it is made"""
        self.array, self.leading, self.mesh, self._spec = array, tuple(leading), mesh, spec
        self._whole: Any = None

    def whole(self) -> Any:
        """The sum; made once."""
        if self._whole is None:
            self._whole = jnp.sum(self.array, axis=tuple(range(len(self.leading))), dtype=self.array.dtype)
            if self._spec is not None:
                self._whole = jax.lax.with_sharding_constraint(self._whole, NamedSharding(self.mesh, self._spec))
        return self._whole

    def constrained(self, spec: PartitionSpec) -> Summands:
        """The summands so where their own axes are not in it; the whole sum in any case."""
        used = {axis for entry in spec for axis in ((entry,) if isinstance(entry, str) else entry or ())}
        if used & {axis for axes in self.leading for axis in axes}:
            return Summands(self.array, self.leading, self.mesh, spec)
        return Summands(_constrained(self.array, (*self.leading, *spec), self.mesh), self.leading, self.mesh, spec)


def whole(value: Any) -> Any:
    return value.whole() if isinstance(value, Summands) else value


def sizes(each: Sum, mesh: Mesh) -> tuple[int, ...]:
    """How many summands, along each leading dimension."""
    return tuple(math.prod(mesh.shape[axis] for axis in axes) for axes in each.leading)


def _constrained(array: Any, dims: Iterable[Any], mesh: Mesh) -> Any:
    """dims: axes, or what a PartitionSpec has, of each dimension"""
    spec = PartitionSpec(*((each[0] if len(each) == 1 else each or None) if isinstance(each, tuple) else each for each in dims))
    return jax.lax.with_sharding_constraint(array, NamedSharding(mesh, spec))


def _mapped(function: Callable[..., Any], count: int, over: Sequence[bool]) -> Callable[..., Any]:
    """function over `count` leading dimensions of the operands in `over`"""
    for _ in range(count):
        function = jax.vmap(function, in_axes=[0 if each else None for each in over])
    return function


def _cut(array: Any, cut: Cut, each: Sum, mesh: Mesh) -> Any:
    """The operand with its leading dimensions in front."""
    counts = sizes(each, mesh)
    shape: list[int] = []
    places: dict[int, int] = {}
    for size, leads in zip(array.shape, cut.leading, strict=True):
        for lead in leads:
            places[lead] = len(shape)
            shape.append(counts[lead])
        shape.append(size // math.prod(counts[lead] for lead in leads))
    whole = _constrained(array, cut.dims, mesh)      # the form that its other uses want, too: gathered once for all
    moved = jnp.moveaxis(whole.reshape(shape), [places[lead] for lead in range(len(counts))], range(len(counts)))
    return _constrained(moved, (*each.leading, *(() if leads else axes for axes, leads in zip(cut.dims, cut.leading, strict=True))), mesh)


def can_be_made(each: Sum, given: Sequence[Any], mesh: Mesh) -> bool:
    """Whether operands of these sizes can be cut so: an equation that looks like another may have others."""
    counts = sizes(each, mesh)
    return all(cut.operand < len(given) and len(cut.leading) == given[cut.operand].ndim and
               all(size % math.prod(counts[lead] for lead in leads) == 0 for size, leads in zip(given[cut.operand].shape, cut.leading, strict=True))
               for cut in each.cuts)


def made(each: Sum, function: Callable[..., Any], given: Sequence[Any], mesh: Mesh) -> Summands:
    """What `function` of these operands sums over, as summands."""
    cuts = {cut.operand: cut for cut in each.cuts}
    operands = [_cut(x, cuts[k], each, mesh) if k in cuts else x for k, x in enumerate(given)]
    array = _mapped(function, len(each.leading), [k in cuts for k in range(len(given))])(*operands)
    return Summands(_constrained(array, (*each.leading, *each.spec), mesh), each.leading, mesh)


def begun(each: Sum, value: Any, mesh: Mesh) -> Summands:
    """A value that a loop begins with: in the first place, zeros in the others."""
    if isinstance(value, Summands) and value.leading == tuple(each.leading):
        return value
    array, counts = whole(value), sizes(each, mesh)
    place = sum(jax.lax.broadcasted_iota(jnp.int32, (*counts, *(1,) * array.ndim), k) for k in range(len(counts)))
    array = jnp.where(place == 0, array[(None,) * len(counts)], jnp.zeros((), array.dtype))
    return Summands(_constrained(array, (*each.leading, *each.spec), mesh), each.leading, mesh)


def carried(each: Sum, array: Any, mesh: Mesh) -> Summands:
    """The array that a loop carries of such a sum."""
    return Summands(_constrained(array, (*each.leading, *each.spec), mesh), each.leading, mesh)


def _widens(eqn: Any) -> bool:
    old, new = eqn.invars[0].aval.dtype, eqn.outvars[0].aval.dtype
    return bool(jnp.issubdtype(old, jnp.floating) and jnp.issubdtype(new, jnp.floating) and new.itemsize >= old.itemsize)


def adds(eqn: Any) -> bool:
    return eqn.primitive.name in _ALL_SUMS


def may_pass(eqn: Any, variable: Any) -> bool:
    """Whether this equation passes on summands of a variable that it reads, as far as its operation says."""
    name, at = eqn.primitive.name, [k for k, atom in enumerate(eqn.invars) if atom is variable]
    if name in _BY_OTHERS:
        return len(at) == 1 and (name == "mul" or at == [0])
    return name in _ALL_SUMS or name in _OF_ONE or (name == "convert_element_type" and _widens(eqn))


def passed(eqn: Any, function: Callable[..., Any], given: Sequence[Any]) -> Summands | None:
    """The summands of an equation's result from those of its operands; None: it wants whole sums."""
    name, sums = eqn.primitive.name, [x for x in given if isinstance(x, Summands)]
    if not all(may_pass(eqn, atom) for atom, x in zip(eqn.invars, given, strict=True) if isinstance(x, Summands)):
        return None
    if len({x.leading for x in sums}) > 1 or len(sums) != (len(given) if name in _ALL_SUMS else 1):
        return None
    over = [isinstance(x, Summands) for x in given]
    array = _mapped(function, len(sums[0].leading), over)(*(x.array if isinstance(x, Summands) else x for x in given))
    return Summands(array, sums[0].leading, sums[0].mesh)
