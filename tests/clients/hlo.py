"""Bytes that the collectives of a compiled module move, by kind: results' bytes a device, times the trips of loops.

XLA for CPUs has no reduce-scatter of its own choice: it does an all-reduce and slices. `comparable` therefore counts a
reduce_scatter of the plan as the all_reduce that it is there. Never runs anything.
"""
import re

import numpy as np

_KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
_SIZES = {"pred": 1, "s8": 1, "u8": 1, "s16": 2, "u16": 2, "bf16": 2, "f16": 2, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8,
          "f64": 8}


def _result_bytes(text):
    return sum(_SIZES[kind] * int(np.prod([int(d) for d in dims.split(",") if d], dtype=np.int64))
               for kind, dims in re.findall(r"(\w+)\[([\d,]*)\]", text) if kind in _SIZES)


def collective_bytes(text):
    """kind -> bytes, of a compiled module's text"""
    bodies, name, entry = {}, None, None
    for line in text.splitlines():
        head = re.match(r"(ENTRY )?%?([\w.\-]+) .*\{$", line)
        if head and not line.startswith(" "):
            name = head.group(2)
            bodies[name] = []
            entry = name if head.group(1) else entry
        elif name:
            bodies[name].append(line)
    out = {}

    def visit(which, trips):
        for line in bodies.get(which, []):
            op = re.match(r"\s+(?:ROOT )?%?[\w.\-]+ = (\(.*?\)|\S+) ([\w\-]+)\(", line)
            if not op:
                continue
            kind = op.group(2).removesuffix("-start")
            if kind in _KINDS:
                out[kind] = out.get(kind, 0) + trips * _result_bytes(op.group(1))
            count = re.search(r'"known_trip_count":\{"n":"(\d+)"\}', line)
            for called in re.findall(r"(?:body|to_apply|calls|true_computation|false_computation)=%?([\w.\-]+)", line):
                if kind not in _KINDS and kind not in ("reduce", "scatter", "sort", "map", "reduce-window", "select-and-scatter"):
                    visit(called, trips * (int(count.group(1)) if count and kind == "while" else 1))
    visit(entry, 1)
    return out


def comparable(collectives, axes):
    """total bytes of a plan's collectives as XLA for CPUs moves them"""
    total = 0
    for each in collectives:
        group = int(np.prod([axes[axis] for axis in each["axes"]], dtype=np.int64))
        total += each["bytes"] * each["count"] * (group if each["kind"] == "reduce_scatter" else 1)
    return total
