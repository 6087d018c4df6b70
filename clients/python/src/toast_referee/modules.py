"""Reads the module that XLA leaves after its last pass: what runs as a matmul, what else runs, what is sent.

XLA:GPU writes its estimate of every kernel and collective beside it ("reification_cost", microseconds under the name
"sol"). Three readings of the same text:

    trips        how often the entry, and the bodies of loops whose trips XLA knows, run in a step
    times        sums of those: matmuls, other fusions, and what the estimate takes as free though it moves bytes
                 (copies; Triton fusions that are no matmul: softmax), priced here at 90 % of bandwidth
    collectives  of all computations: kind, group size, operations, tensors, bytes of results
    group_size   of a collective's replica_groups in each of XLA's three notations

The schedule takes a loop as free, whatever it runs: compilers.py adds the bodies' kernels to the step. A loop whose trips XLA
does not know counts once.
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
LOOP = re.compile(r" while\(.*?body=%([\w.\-]+)")
TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"')
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


def computations_of(text):
    """({name: lines of instructions, without the comments that number a tuple's parts}, the entry's name)"""
    found, here, entry = {}, None, None
    for line in COMMENT.sub("", text).splitlines():
        if head := COMPUTATION.match(line):
            here = found.setdefault(head[1], [])
            entry = head[1] if line.startswith("ENTRY ") else entry
        elif here is not None:
            here.append(line)
    return found, entry


def trips(text):
    """{computation: times that it runs in a step} of the entry and of the bodies of its loops"""
    lines, entry = computations_of(text)
    counts = collections.defaultdict(int)

    def run(name, times):
        counts[name] += times
        for line in lines[name]:
            if loop := LOOP.search(line):
                known = TRIPS.search(line)
                run(loop[1], times * (int(known[1]) if known else 1))

    run(entry, 1)
    return dict(counts)


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


def times_of(lines, dots, bandwidth_bytes):
    """times of one computation that runs once"""
    said = {"matmul_us": 0.0, "other_us": 0.0, "unpriced_us": 0.0, "matmuls": 0, "kernels": 0, "copies": 0}
    shapes, unpriced = {}, 0
    for line in lines:
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


def times(text, bandwidth_bytes, scheduled=()):
    """{matmul_us, other_us, unpriced_us, unscheduled_us, matmuls, kernels, copies} of a step; other_us without unpriced_us.
    unscheduled_us: matmuls and other kernels of loops that are not among the `scheduled` computations"""
    dots, (lines, entry) = computations_with_dots(text), computations_of(text)
    said = collections.Counter(unscheduled_us=0.0)
    for name, count in trips(text).items():
        one = times_of(lines[name], dots, bandwidth_bytes)
        for figure, value in one.items():
            said[figure] += value * count if figure.endswith("_us") else value
        if name != entry and name not in scheduled:
            said["unscheduled_us"] += count * (one["matmul_us"] + one["other_us"])
    return dict(said)


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
