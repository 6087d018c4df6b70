"""A program without its collectives: each is replaced by what a device can do alone, so that all other kernels run as they do beside it.

    all_reduce, collective_permute   -> the operand
    all_gather, all_to_all           -> copies of the operand side by side, after a slice where a dimension becomes smaller
    reduce_scatter                   -> a slice of the operand

behind a barrier, so that nothing is fused over the place where a kernel of its own was. Copies and slices are what remains of the
collective in the time of such a program: a device would write what it gathers, too. Values are meaningless; shapes and types are kept.
Source: CFP, section 4.2 (communication and computation of a program, measured apart).
"""
from __future__ import annotations

from typing import Any, cast

from jaxlib.mlir import ir

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "collective_permute", "collective_broadcast")


def _slice(value: Any, extents: list[int], element: Any) -> Any:
    rank = len(extents)
    numbers = {"start_indices": [0] * rank, "limit_indices": extents, "strides": [1] * rank}
    return ir.Operation.create("stablehlo.slice", results=[ir.RankedTensorType.get(extents, element)], operands=[value],
                               attributes={name: ir.DenseI64ArrayAttr.get(of) for name, of in numbers.items()}).result


def _repeat(value: Any, extents: list[int], dim: int, copies: int, element: Any) -> Any:
    extents[dim] *= copies
    return ir.Operation.create("stablehlo.concatenate", results=[ir.RankedTensorType.get(extents, element)], operands=[value] * copies,
                               attributes={"dimension": ir.IntegerAttr.get(ir.IntegerType.get_signless(64), dim)}).result


def stand_in(value: Any, wanted: Any) -> Any:
    """a value of the type `wanted` made of one of another shape; at the insertion point"""
    have, want = ir.RankedTensorType(value.type), ir.RankedTensorType(wanted)
    extents = [min(pair) for pair in zip(have.shape, want.shape, strict=True)]
    if extents != list(have.shape):
        value = _slice(value, extents, have.element_type)
    for dim, extent in enumerate(want.shape):
        if extent != extents[dim]:
            copies, rest = divmod(extent, extents[dim])
            assert not rest, f"no stand-in of type {wanted} for {have}"
            value = _repeat(value, extents, dim, copies, have.element_type)
    return value


def _replace(op: Any) -> None:
    with ir.InsertionPoint(op), op.location:
        made = [stand_in(operand, result.type) for operand, result in zip(op.operands, op.results, strict=True)]
        barrier = ir.Operation.create("stablehlo.optimization_barrier", results=[value.type for value in made], operands=made)
    for result, value in zip(op.results, barrier.results, strict=True):
        result.replace_all_uses_with(value)
    op.erase()


def without_collectives(module: Any) -> int:
    """Replaces all of a module's collectives, in its context; how many there were."""
    names = {f"stablehlo.{name}" for name in COLLECTIVES}
    found: list[Any] = []

    def look(op: Any) -> Any:
        if op.name in names:
            found.append(op)
        return ir.WalkResult.ADVANCE
    cast(Any, module.operation).walk(look)
    for op in found:
        _replace(op)
    return len(found)
