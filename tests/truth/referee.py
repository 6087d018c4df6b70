"""XLA on CPU devices as the referee of the modules we write.

Runs the original on one device and a candidate (annotated, manual or local form) on eight, feeds both the same inputs
and compares every device's part of every result. Library for the truth tests and bench/truth.py; as a program:

    referee.py ORIGINAL CANDIDATE --form manual --boundary MANUAL [--feeds A,B] [--permute]

What a verdict means
- equal         floats within TOLERANCE x the largest magnitude of the result, or within ROUNDINGS times what the original's
                own result moves where its inputs do by a unit in the last place (FORGIVEN tolerances at most);
                integers, booleans, types and shapes exactly; the boundary XLA took is the one the module states; donated arguments were taken.
- different     anything else.
- inconclusive  the reference itself has a NaN in some result: says nothing about that result, never a pass.

Feeds. Train steps (three equal groups of tied arguments: parameters, first and second moments) need two runs:
A first moments 0, second moments 1 (shows gradients, hides bias correction); B first moments random, second 0.0001.
C is A with two elements of each integer input out of range; JAX's gathers then give NaN, so a NaN must stand where the
reference has one, and nothing is concluded from those. Other modules: A, random inputs (P, positive ones, where a sum
divides); C the same.
"""
import argparse
import functools
import json
import os
import re
import sys

os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count=8 {os.environ.get('XLA_FLAGS', '')}"   # the last of a flag holds
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("NPROC", "64")   # XLA's threads, of which each may wait in another collective

import jax  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from jax._src.interpreters import mlir as jax_mlir  # noqa: E402
from jax._src.lib import xla_client  # noqa: E402
from jax._src.lib.mlir import ir  # noqa: E402
from jax._src.op_shardings import op_sharding_to_indices  # noqa: E402

jax.config.update("jax_enable_x64", True)   # device_put would narrow i64 and f64

# float32: results up to 1e-5 off were measured for correct programs (reassociated sums); bfloat16: 2.9e-2, logits of two layers
TOLERANCE = 2e-5
COARSE = {"bfloat16": 4e-2, "float16": 2e-3, "float64": 2e-5}
ROUNDINGS = 8   # inputs are rounded once here, what is computed of them again and again (up to 5 were measured for correct programs)
FORGIVEN = 10   # tolerances, of a result that the last places of its inputs move further than one

ELEMENTS = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i1": np.bool_,
            "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui16": np.uint16,
            "ui32": np.uint32, "ui64": np.uint64, "complex<f32>": np.complex64, "complex<f64>": np.complex128}


# ---------------------------------------------------------------- what a module's text says
class Module:
    """Signature, donation, stated shardings, collectives of a module's text."""

    def __init__(self, text):
        self.text = text
        self.precision = None   # type that the module computes in, where coarser than its results'
        self.matrices = 0.5     # standard deviation of inputs of two dimensions and more, where the feed says no more of them
        self.noise = {}         # feed -> how far each result moves, see moved()
        with jax_mlir.make_ir_context() as context:
            context.allow_unregistered_dialects = True
            module = ir.Module.parse(text)
            self.mesh = []
            for op in module.body.operations:
                if op.operation.name == "sdy.mesh":
                    self.mesh = [(n, int(s)) for n, s in re.findall(r'"(\w+)"=(\d+)', str(op.attributes["mesh"]))]
            self.main = next(op for op in module.body.operations if op.operation.name == "func.func" and
                             ir.StringAttr(op.attributes["sym_name"]).value == "main")
            kind = ir.FunctionType(ir.TypeAttr(self.main.attributes["function_type"]).value)
            self.inputs = [tensor_type(t) for t in kind.inputs]
            self.outputs = [tensor_type(t) for t in kind.results]
            self.input_attrs = dictionaries(self.main, "arg_attrs", len(self.inputs))
            self.output_attrs = dictionaries(self.main, "res_attrs", len(self.outputs))
            self.index_bound = smallest_index_range(module)
            self.collectives = collectives_of(self.main)
            self.divides_by_sum = divides_by_sum(module)
            self.main = None

    def donated(self):
        """argument -> result, as tf.aliasing_output says"""
        return {i: int(a["tf.aliasing_output"].split(":")[0]) for i, a in enumerate(self.input_attrs)
                if "tf.aliasing_output" in a}

    def shardings(self):
        """stated dims -> axes, of inputs and outputs"""
        def dims(attrs, kind):
            text = attrs.get("sdy.sharding")
            if text is None:
                return [[] for _ in kind[0]]
            inner = re.search(r"\[(.*)\]", text).group(1)
            return [re.findall(r'"(\w+)"', d) for d in re.findall(r"\{([^}]*)\}", inner)]
        return ([dims(a, t) for a, t in zip(self.input_attrs, self.inputs)],
                [dims(a, t) for a, t in zip(self.output_attrs, self.outputs)])


def tensor_type(t):
    text = str(t)
    body = re.fullmatch(r"tensor<(.*)>", text)
    if not body:
        raise ValueError(f"boundary value of type {text}")
    match = re.fullmatch(r"((?:\d+x)*)(.*)", body.group(1))
    dims = tuple(int(d) for d in match.group(1).split("x") if d)
    return dims, np.dtype(ELEMENTS[match.group(2)])


def dictionaries(op, name, count):
    if name not in op.attributes:
        return [{} for _ in range(count)]
    return [{entry.name: str(entry.attr).strip('"') for entry in ir.DictAttr(d)}
            for d in ir.ArrayAttr(op.attributes[name])]


def walk(op):
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                yield inner.operation
                yield from walk(inner.operation)


def ints_of(text):
    return [int(x) for x in re.findall(r"-?\d+", text)]


def smallest_index_range(module):
    """least size of a dim that some gather or scatter looks integers up in"""
    best = 1 << 30
    for op in walk(module.operation):
        if op.name in ("stablehlo.gather", "stablehlo.scatter"):
            name = "dimension_numbers" if op.name.endswith("gather") else "scatter_dimension_numbers"
            key = "start_index_map" if op.name.endswith("gather") else "scatter_dims_to_operand_dims"
            found = re.search(key + r" = \[([\d, ]*)\]", str(op.attributes[name]))
            shape = ir.RankedTensorType(op.operands[0].type).shape
            for d in ints_of(found.group(1)) if found else []:
                if shape[d] > 1:
                    best = min(best, shape[d])
    return best if best < 1 << 30 else 16


def divides_by_sum(module):
    """a module without exponentials that divides by a sum: random signs would make the quotient ill-conditioned"""
    names = {op.name for op in walk(module.operation)}
    return {"stablehlo.reduce", "stablehlo.divide"} <= names and not {"stablehlo.exponential", "stablehlo.rsqrt",
                                                                     "stablehlo.sqrt"} & names


COLLECTIVES = {"stablehlo." + k: k for k in ("all_gather", "all_reduce", "reduce_scatter", "all_to_all",
                                             "collective_permute")}


def trips_of(op):
    """iterations of a while whose condition compares a counter from 0 with a constant; 1 otherwise"""
    constants = {}
    for inner in op.regions[0].blocks[0].operations:
        if inner.operation.name == "stablehlo.constant" and re.search(r"tensor<u?i\d+>", str(inner.results[0].type)):
            constants[inner.results[0]] = str(inner.attributes["value"])
        if inner.operation.name == "stablehlo.compare" and inner.operands[1] in constants:
            return ints_of(constants[inner.operands[1]].split(":")[0])[0]
    return 1


def collectives_of(main):
    """[(kind, groups or pairs, bytes of all results, trips)]"""
    out = []

    def visit(op, trips):
        for region in op.regions:
            for block in region.blocks:
                for inner in block.operations:
                    o = inner.operation
                    if o.name in COLLECTIVES:
                        size = 0
                        for r in o.results:
                            dims, dtype = tensor_type(r.type)
                            size += int(np.prod(dims, dtype=np.int64)) * dtype.itemsize
                        name = "source_target_pairs" if o.name.endswith("permute") else "replica_groups"
                        groups = np.array(ir.DenseIntElementsAttr(o.attributes[name]), dtype=np.int64)
                        shape = ir.RankedTensorType(o.attributes[name].type).shape
                        out.append((COLLECTIVES[o.name], groups.reshape(shape), size, trips))
                    visit(o, trips * (trips_of(o) if o.name == "stablehlo.while" else 1))

    visit(main.operation, 1)
    return out


def axes_of_groups(groups, mesh):
    """the mesh axes that a table of replica groups spans, or a note that none do"""
    sizes = [s for _, s in mesh]
    coordinates = np.array(np.unravel_index(groups, sizes))       # [axis, group, member]
    varying = [i for i in range(len(sizes)) if (coordinates[i] != coordinates[i][:, :1]).any()]
    members = int(np.prod([sizes[i] for i in varying], dtype=np.int64))
    if groups.shape[1] != members or sorted(groups.ravel()) != list(range(int(np.prod(sizes)))):
        return ("not axes of the mesh",)
    return tuple(sorted(mesh[i][0] for i in varying))


def collective_sums(module, mesh):
    """{(kind, axes): (count, bytes)} of the emitted text, loops multiplied"""
    sums = {}
    for kind, groups, size, trips in module.collectives:
        axes = () if kind == "collective_permute" else axes_of_groups(groups, mesh)
        count, total = sums.get((kind, axes), (0, 0))
        sums[kind, axes] = (count + trips, total + size * trips)
    return sums


def stated_sums(path):
    """the same from the file of `toast lower --collectives`"""
    sums = {}
    for row in json.load(open(path)):
        kind = row["kind"] if row["kind"] != "permute" else "collective_permute"
        axes = () if kind == "collective_permute" else tuple(sorted(row["axes"]))
        count, total = sums.get((kind, axes), (0, 0))
        sums[kind, axes] = (count + row["count"], total + row["bytes"])
    return sums


# ---------------------------------------------------------------- inputs
def moments(module):
    """argument -> 1 or 2 for first and second moments of a train step: results [0], [1], [2] have the same leaves"""
    groups = {}
    for argument, result in module.donated().items():
        info = re.match(r"result\[(\d+)\](.*)", module.output_attrs[result].get("jax.result_info", ""))
        if info:
            groups.setdefault(int(info.group(1)), {})[info.group(2)] = argument
    if not {0, 1, 2} <= set(groups) or not set(groups[0]) == set(groups[1]) == set(groups[2]):
        return {}
    return {**{a: 1 for a in groups[1].values()}, **{a: 2 for a in groups[2].values()}}


def make_inputs(module, feed, seed):
    rng = np.random.default_rng(seed)
    which = moments(module)
    out = []
    for i, (dims, dtype) in enumerate(module.inputs):
        if dtype == np.bool_:
            x = rng.integers(0, 2, dims) if dims else np.array(1)   # a scalar is a switch: on
        elif dtype.kind in "iu" and not dims:
            x = np.array(3)
        elif dtype.kind in "iu":
            x = rng.integers(0, min(module.index_bound, np.iinfo(dtype).max), dims)
            if feed == "C" and dtype.kind == "i":
                x.flat[0], x.flat[-1] = -2, module.index_bound + 2
        elif which.get(i) == 1:
            x = rng.standard_normal(dims) * 0.01 if feed == "B" else np.zeros(dims)
        elif which.get(i) == 2:
            x = np.full(dims, 1e-4 if feed == "B" else 1.0)
        elif which and i in module.donated():
            scale = 0.1 if len(dims) > 1 else 0.2
            x = rng.standard_normal(dims) * scale + (1.0 if len(dims) == 1 else 0.0)
        else:
            x = rng.standard_normal(dims) * (1.0 if len(dims) < 2 else module.matrices)
            x = np.abs(x) if feed == "P" else x
        out.append(np.asarray(x).astype(dtype).reshape(dims))
    return out


def feeds_for(module, wide=False):
    feeds = ["A", "B"] if moments(module) else ["P"] if module.divides_by_sum else ["A"]
    has_indices = any(t[1].kind in "iu" and t[0] for t in module.inputs)
    return feeds + (["C"] if wide and has_indices else [])


# ---------------------------------------------------------------- running
def options(form, count, order):
    o = xla_client.CompileOptions()
    partitions = form in ("annotated", "manual")
    o.num_replicas, o.num_partitions = (1, count) if partitions else (count, 1)
    if partitions:
        b = o.executable_build_options
        b.use_spmd_partitioning = b.use_shardy_partitioner = True
    shape = (1, count) if partitions else (count, 1)
    o.device_assignment = xla_client.DeviceAssignment.create(np.array(order).reshape(shape))
    return o


class Executable:
    """A compiled module on devices in a given order (logical number -> device)."""

    def __init__(self, text, form, order):
        self.form, self.devices = form, [jax.devices()[d] for d in order]
        listed = xla_client.DeviceList(tuple(self.devices))
        self.exe = self.devices[0].client.compile_and_load(text, listed, options(form, len(order), order))
        mesh = jax.sharding.Mesh(np.array(self.devices), ("carrier",))
        self.carrier = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())

    def run(self, parts):
        """parts[argument][logical device] -> ([result][logical device], which arguments were taken)"""
        arrays = []
        for per_device in parts:
            buffers = [jax.device_put(x, d) for x, d in zip(per_device, self.devices)]
            arrays.append(jax.make_array_from_single_device_arrays(per_device[0].shape, self.carrier, buffers))
        raw = self.exe.execute_sharded(arrays).disassemble_into_single_device_arrays()
        logical = {d.id: i for i, d in enumerate(self.devices)}
        results = []
        for row in raw:
            by_device = [None] * len(self.devices)
            for x in row:
                by_device[logical[list(x.devices())[0].id]] = np.asarray(x)
            results.append(by_device)
        return results, [a.is_deleted() for a in arrays]


def block_indices(dims, axes_of_dims, mesh):
    """per logical device the slice of the whole that it holds"""
    sizes = dict(mesh)
    out = []
    for device in range(int(np.prod([s for _, s in mesh], dtype=np.int64))):
        at = dict(zip((n for n, _ in mesh), np.unravel_index(device, [s for _, s in mesh])))
        index = []
        for size, axes in zip(dims, axes_of_dims):
            block, parts = 0, 1
            for a in axes:
                block, parts = block * sizes[a] + int(at[a]), parts * sizes[a]
            if size % parts:
                raise ValueError(f"dimension of {size} in {parts} parts")
            index.append(slice(block * size // parts, (block + 1) * size // parts))
        out.append(tuple(index))
    return out


def real_boundary(exe, module, count):
    """what XLA took as shardings of arguments and results, as slices per logical device"""
    def indices(shardings, types):
        return [[tuple(slice(*s.indices(n)[:2]) for s, n in zip(index, t[0]))
                 for index in op_sharding_to_indices(xla_client.HloSharding.from_proto(s), t[0], count)] for s, t in zip(shardings, types)]
    return indices(exe.get_parameter_shardings(), module.inputs), indices(exe.get_output_shardings(), module.outputs)


# ---------------------------------------------------------------- comparing
class Verdict:
    def __init__(self):
        self.problems, self.unknown, self.error, self.compared = [], [], 0.0, 0

    def status(self):
        return "different" if self.problems else "inconclusive" if self.unknown else "equal"

    def line(self):
        text = f"{self.status()} (largest error {self.error:.1e} of the result's magnitude)"
        for p in self.problems[:4]:
            text += f"\n    {p}"
        if self.unknown:
            text += f"\n    NaN in the reference's results {self.unknown[:8]}"
        return text


def compare_result(verdict, name, reference, got):
    """one result (or one device's part of it) against the reference's"""
    reference, got = np.asarray(reference), np.asarray(got)
    if reference.dtype != got.dtype or reference.shape != got.shape:
        verdict.problems.append(f"{name}: {got.dtype}{list(got.shape)}, wanted {reference.dtype}{list(reference.shape)}")
        return
    verdict.compared += 1
    if reference.dtype.kind in "iub":
        wrong = int((reference != got).sum())
        if wrong:
            verdict.problems.append(f"{name}: {wrong} of {reference.size} integers differ")
        return


def compare_floats(verdict, name, whole, reference, got, nan_expected, precision=None, noise=None):
    """whole: the entire result, whose largest magnitude is the scale; noise() tells how far it moves by rounding alone"""
    wide = np.complex128 if np.iscomplexobj(whole) else np.float64
    if np.isnan(whole.astype(wide)).any() and not nan_expected:
        if name.split(" ")[0] not in verdict.unknown:
            verdict.unknown.append(name.split(" ")[0])
        return
    a, b = reference.astype(wide), got.astype(wide)
    if nan_expected:
        if (np.isnan(a) != np.isnan(b)).any():
            verdict.problems.append(f"{name}: NaN stands elsewhere than in the reference")
            return
        a, b = a[~np.isnan(a)], b[~np.isnan(a)]
    finite = np.isfinite(a)
    if not (finite == np.isfinite(b)).all() or (a[~finite] != b[~finite]).any():
        verdict.problems.append(f"{name}: NaN or infinity where the reference has none, or the reverse")
        return
    scale = float(np.abs(whole.astype(wide)[np.isfinite(whole.astype(wide))]).max(initial=0.0))
    error = float(np.abs(a[finite] - b[finite]).max(initial=0.0)) / max(scale, 1e-30)
    verdict.error = max(verdict.error, error)
    tolerance = COARSE.get(precision or whole.dtype.name, TOLERANCE)
    if tolerance < error <= FORGIVEN * tolerance and noise:
        tolerance = max(tolerance, ROUNDINGS * noise())
    if not error <= tolerance:
        verdict.problems.append(f"{name}: off by {error:.1e} of the largest magnitude {scale:.3g}")


def compare(verdict, reference, results, out_indices, feed, precision=None, noise=None):
    """noise(result): as compare_floats asks for it"""
    for r, whole in enumerate(reference):
        for d, part in enumerate(results[r]):
            name = f"{r} on device {d}, feed {feed}"
            want = whole[out_indices[r][d]]
            before = len(verdict.problems)
            compare_result(verdict, name, want, part)
            if len(verdict.problems) == before and whole.dtype.kind not in "iub":
                compare_floats(verdict, name, whole, want, part, feed == "C", precision, noise and functools.partial(noise, r))


def moved(original, feed, inputs, reference, result):
    """how far a result of the original goes, of its largest magnitude, when each float of its inputs goes up or down by one unit in its last place"""
    if feed not in original.noise:
        rng, near = np.random.default_rng(7), []
        for x in inputs:
            if x.dtype in (np.float32, np.float64):   # XLA's sums are no finer than these
                x = np.nextafter(x, np.where(rng.integers(0, 2, x.shape) == 1, np.inf, -np.inf).astype(x.dtype))
            near.append(x)
        results, _ = Executable(original.text, "single", [0]).run([[x] for x in near])
        original.noise[feed] = [distance(whole, r[0]) if whole.dtype.kind not in "iub" else 0.0 for whole, r in zip(reference, results)]
    return original.noise[feed][result]


def distance(whole, got):
    """largest difference of finite elements, of the whole's largest magnitude"""
    wide = np.complex128 if np.iscomplexobj(whole) else np.float64
    a, b = whole.astype(wide), got.astype(wide)
    both = np.isfinite(a) & np.isfinite(b)
    return float(np.abs(a[both] - b[both]).max(initial=0.0)) / max(float(np.abs(a[both]).max(initial=0.0)), 1e-30)


def reference_run(original, feed, seed, executable=None):
    exe = executable or Executable(original.text, "single", [0])
    inputs = make_inputs(original, feed, seed)
    results, _ = exe.run([[x] for x in inputs])
    return inputs, [r[0] for r in results], exe


def check_donation(verdict, original, candidate, form, parts_of, taken):
    """every argument that the original donates is donated; XLA took those whose result has its size"""
    want, have = original.donated(), candidate.donated()
    for argument, result in want.items():
        inputs, outputs = parts_of
        same = inputs[argument] == outputs[result]
        if have.get(argument) != result and (same or "jax.buffer_donor" not in candidate.input_attrs[argument]):
            verdict.problems.append(f"argument {argument} is donated to result {result} in the original only")
        elif have.get(argument) == result and not taken[argument]:
            verdict.problems.append(f"argument {argument} was not taken although it is donated")


def referee(original, candidate_text, form, boundary, references, order=None):
    """original: Module; boundary: Module that states shardings (annotated or manual; of the local form the manual one);
    references: [(feed, inputs, results)]. Returns a Verdict."""
    verdict = Verdict()
    candidate = Module(candidate_text)
    mesh = boundary.mesh
    count = int(np.prod([s for _, s in mesh], dtype=np.int64))
    in_dims, out_dims = boundary.shardings()
    in_indices = [block_indices(t[0], d, mesh) for t, d in zip(boundary.inputs, in_dims)]
    out_indices = [block_indices(t[0], d, mesh) for t, d in zip(boundary.outputs, out_dims)]
    if boundary.inputs != original.inputs or boundary.outputs != original.outputs:
        verdict.problems.append("the signature is not the original's")
        return verdict
    exe = Executable(candidate_text, form, list(range(count)) if order is None else order)
    if form != "local":
        got_in, got_out = real_boundary(exe.exe, boundary, count)
        for kind, stated, got in (("argument", in_indices, got_in), ("result", out_indices, got_out)):
            for i, (s, g) in enumerate(zip(stated, got)):
                if [tuple(x) for x in s] != [tuple(x) for x in g]:
                    verdict.problems.append(f"XLA takes {kind} {i} in another sharding than stated")
    shapes = [[s.stop - s.start for s in per[0]] for per in in_indices + out_indices]
    for feed, inputs, reference in references:
        parts = [[np.ascontiguousarray(x[ix]).reshape([s.stop - s.start for s in ix]) for ix in per]
                 for x, per in zip(inputs, in_indices)]
        results, taken = exe.run(parts)
        compare(verdict, reference, results, out_indices, feed, original.precision,
                functools.partial(moved, original, feed, inputs, reference))
    check_donation(verdict, original, candidate, form, (shapes[:len(in_indices)], shapes[len(in_indices):]), taken)
    return verdict


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("original")
    p.add_argument("candidate")
    p.add_argument("--form", required=True, choices=["annotated", "manual", "local"])
    p.add_argument("--boundary", help="module that states the shardings (the manual one), for the local form")
    p.add_argument("--feeds", default="")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--permute", action="store_true", help="devices in another order")
    a = p.parse_args()
    original = Module(open(a.original).read())
    text = open(a.candidate).read()
    boundary = Module(open(a.boundary or a.candidate).read())
    feeds = a.feeds.split(",") if a.feeds else feeds_for(original)
    references, exe = [], None
    for feed in feeds:
        inputs, results, exe = reference_run(original, feed, a.seed, exe)
        references.append((feed, inputs, results))
    count = int(np.prod([s for _, s in boundary.mesh], dtype=np.int64))
    order = list(np.random.default_rng(a.seed).permutation(count)) if a.permute else None
    verdict = referee(original, text, a.form, boundary, references, order)
    print(verdict.line())
    return 0 if verdict.status() == "equal" else 1


if __name__ == "__main__":
    sys.exit(main())
