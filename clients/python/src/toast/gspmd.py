"""An annotated module for JAX that partitions by GSPMD: Shardy's mesh, attributes and constraints as HLO shardings.

TOAST's annotated modules have three things of Shardy: one `sdy.mesh`, `sdy.sharding` on arguments and results of main, and
`sdy.sharding_constraint`. They are TOAST's own print, pretty or generic as the module was, one op a line, so lines are
rewritten, not parsed. Promises: every other line is left as it is. Never meets modules of other writers.
"""
from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence

_DIM = re.compile(r"\{([^}]*)\}")
_SHARDING = re.compile(r"#sdy\.sharding<@\w+, \[([^\]]*)\]>")
_CONSTRAINT = re.compile(r"\bsdy\.sharding_constraint (%[\w#]+) (<@\w+, \[[^\]]*\]>) : (.*?)(?= loc\(|$)", re.M)
_GENERIC = re.compile(r'"sdy\.sharding_constraint"\((%[\w#]+)\) \{sharding = #sdy\.sharding(<@\w+, \[[^\]]*\]>)\} : \((.*?)\) -> '
                      r"(.*?)(?= loc\(|$)", re.M)


def hlo_sharding(dims: Sequence[Sequence[str]], axes: Mapping[str, int]) -> str:
    """HLO's text of a sharding: dims -> axes, major first; axes in no dimension replicate."""
    used = [axis for dim in dims for axis in dim]
    if not any(axes[axis] > 1 for axis in used):
        return "{replicated}"
    names = list(axes)
    rest = [axis for axis in names if axis not in used]
    copies = math.prod(axes[axis] for axis in rest)
    tiles = [math.prod(axes[axis] for axis in dim) for dim in dims] + ([copies] if copies > 1 else [])
    order = [names.index(axis) for axis in used + rest]
    devices = ",".join(str(axes[axis]) for axis in names)
    turn = "" if order == sorted(order) else f"T({','.join(map(str, order))})"
    if not turn:
        devices = str(math.prod(axes.values()))
    tail = " last_tile_dim_replicate" if copies > 1 else ""
    return f"{{devices=[{','.join(map(str, tiles))}]<=[{devices}]{turn}{tail}}}"


def _parse(text: str, axes: Mapping[str, int]) -> tuple[str, list[int]]:
    """HLO sharding, and the open dimensions, of #sdy.sharding<..>."""
    match = _SHARDING.fullmatch(text)
    assert match, text
    bodies = _DIM.findall(match.group(1))
    dims = [re.findall(r'"([^"]+)"', body) for body in bodies]
    return hlo_sharding(dims, axes), [i for i, body in enumerate(bodies) if "?" in body]


# of an annotated module: what reads an argument as a weight, not as what an optimizer updates
_READS = re.compile(r"stablehlo\.(?:dot_general|dot|convolution|gather|transpose|reshape|broadcast_in_dim|convert)\b")


def gathered(text: str, stored: Sequence[Sequence[Sequence[str]]]) -> dict[int, list[list[str]]]:
    """Arguments that the annotated module reads gathered, and never as they are stored: number -> dims as read first.
    stored: dims of each argument. What an update of the argument reads does not count."""
    out: dict[int, list[list[str]]] = {}
    whole: set[int] = set()
    for line in text.splitlines():
        match = _CONSTRAINT.search(line) or _GENERIC.search(line)
        if match and match.group(1).startswith("%arg"):
            number = int(match.group(1)[4:])
            dims = [re.findall(r'"([^"]+)"', body) for body in _DIM.findall(match.group(2))]
            have = stored[number]
            if dims != [list(dim) for dim in have] and all(list(one[:len(dim)]) == dim for dim, one in zip(dims, have, strict=True)):
                out.setdefault(number, dims)
        elif _READS.search(line):
            whole.update(int(number) for number in re.findall(r"%arg(\d+)\b", line))
    return {number: dims for number, dims in out.items() if number not in whole}


def module(text: str, axes: Mapping[str, int]) -> str:
    """The annotated module in GSPMD's words."""
    def constraint(match: re.Match[str]) -> str:
        sharding, opened = _parse("#sdy.sharding" + match.group(2), axes)
        config = f'unspecified_dims=[{",".join(map(str, opened))}]' if opened else ""
        return (f'"stablehlo.custom_call"({match.group(1)}) {{call_target_name = "Sharding", backend_config = "{config}", '
                f'mhlo.sharding = "{sharding}"}} : ({match.group(3)}) -> {match.group(3)}')
    lines = [line for line in text.splitlines() if not line.lstrip().startswith(("sdy.mesh ", '"sdy.mesh"()'))]
    out = _GENERIC.sub(constraint, _CONSTRAINT.sub(constraint, "\n".join(lines)))
    return re.sub(r"sdy\.sharding = (#sdy\.sharding<@\w+, \[[^\]]*\]>)",
                  lambda match: f'mhlo.sharding = "{_parse(match.group(1), axes)[0]}"', out) + "\n"
