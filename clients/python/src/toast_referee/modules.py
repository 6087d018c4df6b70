"""Reads the module that XLA leaves after its last pass: what runs as a matmul, what else runs, what is sent.

XLA:GPU writes its estimate of every kernel and collective beside it ("reification_cost", microseconds under the name
"sol"). Three readings of the same text:

    times        sums of the entry computation: matmuls, other fusions, and what the estimate takes as free though it
                 moves bytes (copies; Triton fusions that are no matmul: softmax), priced here at 90 % of bandwidth
    collectives  of all computations: kind, group size, operations, tensors, bytes of results
    group_size   of a collective's replica_groups in each of XLA's three notations

Bodies of loops are not in `times`: the schedule does not multiply them by their trips either.
"""
import collections
import re

INSTRUCTION = re.compile(r"\s*(?:ROOT )?%([\w.\-]+) = (\([^=]*?\)|\S+) ([a-z\-]+)\((.*)")
COMPUTATION = re.compile(r"(?:ENTRY )?%?([\w.\-]+) \(.*\) -> .* \{$")
ESTIMATE = re.compile(r'"exec_time_us":([\d.e+\-]+)[^}]*"name":"sol"')
TYPED = re.compile(r"\b(pred|bf16|[a-z]+\d+\w*)\[([\d,]*)\]")
KINDS = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "collective-permute")
COLLECTIVE = re.compile(r"\s*(?:ROOT )?%[\w.\-]+ = (.*?) (" + "|".join(KINDS) + r")(-start)?\(")
GROUPS = re.compile(r"replica_groups=(\{\{.*?\}\}|\[[\d,]+\]<=\[[\d,]+\](?:T\([\d,]+\))?|mesh\[[^\]]*\][^{]*\{[^}]*\})")
COMMENT = re.compile(r"/\*.*?\*/")
BANDWIDTH_FRACTION = 0.9   # of the datasheet's, reached by kernels that only copy


def bytes_of(shape):
    """bytes of a shape or of all parts of a tuple, in text"""
    total = 0
    for kind, extents in TYPED.findall(shape):
        bits = 8 if kind == "pred" else int(re.search(r"\d+", kind).group())
        count = 1
        for extent in filter(None, extents.split(",")):
            count *= int(extent)
        total += bits * count // 8
    return total


def entry_of(text):
    """the entry computation, without the comments that number a tuple's parts"""
    return COMMENT.sub("", text[text.index("\nENTRY "):])


def computations_with_dots(text):
    """names of computations that hold a dot or a convolution"""
    found, here = set(), None
    for line in text.splitlines():
        if head := COMPUTATION.match(line):
            here = head[1]
        elif " dot(" in line or " convolution(" in line:
            found.add(here)
    return found


def operands_of(rest):
    """names of an instruction's operands"""
    return re.findall(r"%([\w.\-]+)", rest.split("), ")[0])


def times(text, bandwidth_bytes):
    """{matmul_us, other_us, unpriced_us, matmuls, kernels, copies} of the entry; other_us without unpriced_us"""
    dots = computations_with_dots(text)
    said = {"matmul_us": 0.0, "other_us": 0.0, "matmuls": 0, "kernels": 0, "copies": 0}
    shapes, unpriced = {}, 0
    for line in entry_of(text).splitlines():
        found = INSTRUCTION.match(line)
        if not found:
            continue
        name, shape, op, rest = found.groups()
        shapes[name] = shape
        if op not in ("fusion", "custom-call", "copy"):
            continue
        us = sum(map(float, ESTIMATE.findall(line)))
        called = re.search(r"calls=%([\w.\-]+)", line)
        if (called and called[1] in dots) or "gemm_fusion" in name or "__cublas" in line:
            said["matmuls"] += 1
            said["matmul_us"] += us
        elif op != "custom-call":
            said["copies" if op == "copy" else "kernels"] += 1
            said["other_us"] += us if op == "fusion" else 0
        if op == "copy" or (op == "fusion" and '"kind":"__triton"' in line):
            unpriced += bytes_of(shape) + sum(bytes_of(shapes.get(operand, "")) for operand in operands_of(rest))
    return said | {"unpriced_us": unpriced / (BANDWIDTH_FRACTION * bandwidth_bytes) * 1e6}


def results_of(shape):
    """the results in the tuple of an asynchronous start: (operands, results, ..), its second part"""
    depth, parts, begin = 0, [], 1
    for i, character in enumerate(shape):
        depth += character in "([{"
        depth -= character in ")]}"
        if (character == "," and depth == 1) or (character == ")" and depth == 0):
            parts.append(shape[begin:i])
            begin = i + 1
    return parts[1]


def group_size(text):
    """{{0,1},{2,3}} -> 2; [4,2]<=[8] -> 2; mesh['a'=2,'b'=4] {'b'} -> 4"""
    if text.startswith("{"):
        return len(re.match(r"\{\{([\d,]*)\}", text)[1].split(","))
    if text.startswith("["):
        return int(re.match(r"\[(?:\d+,)*(\d+)\]", text)[1])
    axes = dict(re.findall(r"'([^']+)'=(\d+)", text[:text.index("]")]))
    size = 1
    for name, part in re.findall(r"'([^']+)'(?::\(\d+\)(\d+))?", text[text.rindex("{"):]):
        size *= int(part or axes[name])
    return size


def collectives(text):
    """[{kind, group, operations, tensors, bytes}], bytes of results on one device, in any computation, each once"""
    rows = collections.defaultdict(lambda: [0, 0, 0])
    for line in text.splitlines():
        found = COLLECTIVE.match(line)
        if not found:
            continue
        shape, kind, start = found.groups()
        shape = re.sub(r"\{[^{}]*\}", "", COMMENT.sub("", shape))
        if start and kind != "all-reduce" and shape.startswith("("):
            shape = results_of(shape)
        groups = GROUPS.search(line)
        row = rows[kind.replace("-", "_"), group_size(groups[1]) if groups else 0]
        row[0] += 1
        row[1] += len(TYPED.findall(shape))
        row[2] += bytes_of(shape)
    return [{"kind": kind, "group": group, "operations": row[0], "tensors": row[1], "bytes": row[2]}
            for (kind, group), row in sorted(rows.items())]
