"""Names of arguments, and what people call them: pins by pattern, with "did you mean".

A leaf of the arguments has two names: by the function's parameter, `params/layer_0/wq` (what reports show), and by
position as jax.tree_util.keystr says, `[0]['layer_0']['wq']`, which in slashes is `0/layer_0/wq`. Patterns (shell
wildcards, `*` also over slashes) are compared with both. Promises: names are unique. Never looks at values, nor imports a framework.
"""
from __future__ import annotations

import dataclasses
import difflib
import fnmatch
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from .errors import MeshError, PinError

Dims = list["list[str] | None"]
_BRACKET = re.compile(r"\['([^']*)'\]|\[\"([^\"]*)\"\]|\[([^\]\['\"]+)\]|\.([A-Za-z_]\w*)")


@dataclasses.dataclass(frozen=True)
class Leaf:
    """One array among the arguments."""
    name: str                  # params/layer_0/wq
    position: str              # 0/layer_0/wq
    keystr: str                # [0]['layer_0']['wq']
    shape: tuple[int, ...]
    dtype: str

    def __str__(self) -> str:
        return f"{self.name} ({self.dtype}[{','.join(map(str, self.shape))}])"


def parameter_names(function: Callable[..., Any], count: int) -> list[str]:
    """The names of the positional parameters that `count` arguments go to."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    names: list[str] = []
    for parameter in parameters:
        if parameter.kind == parameter.VAR_POSITIONAL:
            while len(names) < count:
                names.append(f"{parameter.name}/{len(names) - parameters.index(parameter)}")
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            names.append(parameter.name)
    return [names[i] if i < len(names) else str(i) for i in range(count)]


def slashes(pattern: str) -> str:
    """`[0]['embed']`, `params['embed']` or `.mu['w']` with slashes; what has slashes, or nothing of this, as it is."""
    if "/" in pattern or not re.search(r"\['|\[\"|\[[\d*?]+\]|^\.", pattern):
        return pattern
    text = _BRACKET.sub(lambda match: "/" + next(group for group in match.groups() if group is not None), pattern)
    return text.lstrip("/")


def axes_of(mesh: Any) -> dict[str, int]:
    """Names and sizes of a mesh's axes, major first: of a mapping, or of JAX's or torch_xla's Mesh."""
    shape = getattr(mesh, "shape", mesh)
    try:
        axes = dict(shape() if callable(shape) else shape)
    except (TypeError, ValueError):
        raise MeshError(f"mesh={mesh!r} is no mesh; write {{'data': 4, 'model': 2}}, or give a jax.sharding.Mesh") from None
    if not axes:
        raise MeshError("a mesh needs at least one axis, such as mesh={'data': 8}")
    for axis, size in axes.items():
        if not isinstance(axis, str) or not axis:
            raise MeshError(f"axes of a mesh have names; {axis!r} is none")
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise MeshError(f"axis '{axis}' needs a size of 1 or more, not {size!r}")
    return axes


def did_you_mean(text: str, names: Sequence[str]) -> str:
    close = difflib.get_close_matches(text, names, n=3, cutoff=0.5)
    return f"; did you mean {' or '.join(repr(name) for name in close)}?" if close else ""


def dims_of(spec: Any, rank: int, axes: Mapping[str, int], where: str) -> Dims:
    """A PartitionSpec (or NamedSharding, or a tuple of axes, or None: replicated) as a constraint's dims."""
    spec = getattr(spec, "spec", spec)
    if isinstance(spec, str):
        raise PinError(f"{where}: {spec!r} is no specification; one entry a dimension: ({spec!r},)")
    if spec is not None and not isinstance(spec, Iterable):
        raise PinError(f"{where}: {spec!r} is no specification; one entry a dimension, such as ('data', None)")
    entries = [] if spec is None else list(spec)
    if len(entries) > rank:
        raise PinError(f"{where}: {spec} has {len(entries)} dimensions, the argument {rank}")
    unconstrained = getattr(type(spec), "UNCONSTRAINED", ...)
    out: Dims = []
    used: dict[str, int] = {}
    for dim, entry in enumerate(entries):
        if entry is unconstrained:
            out.append(None)
            continue
        names = [] if entry is None else [entry] if isinstance(entry, str) else list(entry)
        for axis in names:
            if axis not in axes:
                raise PinError(f"{where}: dimension {dim} names the axis {axis!r}, which the mesh lacks (it has "
                               f"{', '.join(axes)}){did_you_mean(str(axis), list(axes))}")
            if axis in used:
                raise PinError(f"{where}: axis {axis!r} stands in dimensions {used[axis]} and {dim}; an axis splits one "
                               "dimension of a tensor")
            used[axis] = dim
        out.append(names)
    return out + [[] for _ in range(rank - len(out))]


def _candidates(pattern: str, leaves: Sequence[Leaf]) -> str:
    names = [leaf.name for leaf in leaves]
    inside = sum(any(name.startswith(pattern + "/") for name in (leaf.name, leaf.position)) for leaf in leaves)
    if inside:
        return f"; it is a tree of {inside}: {pattern + '/*'!r} names them all"
    hint = did_you_mean(pattern, names + [leaf.position for leaf in leaves])
    if not hint:
        tail = pattern.rsplit("/", 1)[-1]
        hint = did_you_mean(tail, sorted({name.rsplit("/", 1)[-1] for name in names}))
    shown = ", ".join(names[:5]) + (", .." if len(names) > 5 else "")
    return hint or f"; the first of {len(names)} arguments: {shown}"


def pinned(pins: Mapping[str, Any] | None, leaves: Sequence[Leaf], axes: Mapping[str, int]) -> dict[int, Dims]:
    """Leaf -> dims, of all leaves that some pattern names; where several do, the last one counts."""
    out: dict[int, Dims] = {}
    for pattern, spec in (pins or {}).items():
        text = slashes(pattern)
        found = [i for i, leaf in enumerate(leaves) if text in (leaf.name, leaf.position) or pattern == leaf.keystr or
                 fnmatch.fnmatchcase(leaf.name, text) or fnmatch.fnmatchcase(leaf.position, text)]
        if not found:
            raise PinError(f"pins[{pattern!r}]: no argument is named like this{_candidates(text, leaves)}")
        for i in found:
            out[i] = dims_of(spec, len(leaves[i].shape), axes, f"pins[{pattern!r}], argument {leaves[i]}")
    return out


def constraints_of(dims: Mapping[int, Dims], leaves: Sequence[Leaf]) -> list[dict[str, Any]]:
    """The request's `constraints`, one a leaf, by its exact name."""
    def literal(name: str) -> str:
        return re.sub(r"([\\*?\[])", r"\\\1", name)
    return [{"argument": literal(leaves[i].name), "dims": dims[i]} for i in sorted(dims)]
