#!/usr/bin/env python3
"""Golden cases of the interpreter: small modules, random inputs, and what XLA on one CPU device computes.

    python3 tests/verify/generate.py        (needs jax; rewrites tests/verify/golden/*.mlir)

A golden file is a module of functions @main0, @main1 ..; comments `// case N in I: numbers` and `// case N out I:
numbers` give the row-major elements of their arguments and results (complex numbers as two). test_golden.c runs them
without Python.
"""
import os, re, sys, pathlib
os.environ["JAX_PLATFORMS"] = "cpu"
import numpy as np
import jax
jax.config.update("jax_enable_x64", True)
from jax._src.lib import xla_client
import ml_dtypes

DTYPES = {"f32": np.float32, "f64": np.float64, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "i1": np.bool_,
          "i8": np.int8, "i16": np.int16, "i32": np.int32, "i64": np.int64, "ui8": np.uint8, "ui16": np.uint16,
          "ui32": np.uint32, "ui64": np.uint64, "complex<f32>": np.complex64, "complex<f64>": np.complex128}
rng = np.random.default_rng(20261120)


def parse(type_text):
    dims, element = re.fullmatch(r"((?:\d+x)*)(.*)", type_text).groups()
    return [int(d) for d in dims.split("x")[:-1]], element


def draw(type_text, low=-2.0, high=2.0):
    dims, element = parse(type_text)
    dtype = DTYPES[element]
    if element == "i1":
        return rng.integers(0, 2, dims).astype(dtype)
    if element.startswith(("i", "ui")):
        return rng.integers(int(max(low, 0)) if element[0] == "u" else int(low), int(high) + 1, dims).astype(dtype)
    if element.startswith("complex"):
        return (rng.uniform(low, high, dims) + 1j * rng.uniform(low, high, dims)).astype(dtype)
    return rng.uniform(low, high, dims).astype(dtype)


def run(text, inputs):
    device = jax.devices()[0]
    options = xla_client.CompileOptions()
    exe = device.client.compile_and_load(text, [device], options)
    out = exe.execute_sharded([jax.device_put(x, device) for x in inputs]).disassemble_into_single_device_arrays()
    return [np.asarray(r[0]) for r in out]


def numbers(x):
    flat = np.asarray(x).reshape(-1)
    if flat.dtype.kind == "c":
        flat = np.stack([flat.real, flat.imag], -1).reshape(-1)
    if flat.dtype == np.float64:
        return " ".join("%.17g" % v for v in flat)
    if flat.dtype.kind in "iub":
        return " ".join(str(int(v)) for v in flat)
    return " ".join("%.9g" % float(v) for v in flat)


class File:
    def __init__(self, name):
        self.name, self.cases = name, []

    def add(self, text, *inputs):
        """text: a module or the body of @main with %0.. as arguments; inputs: arrays"""
        outputs = run(text, inputs)
        case = len(self.cases)
        body = text.strip().removeprefix("module {\n").removesuffix("\n}")
        lines = [re.sub(r"@(main|twice)\b", r"@\g<1>%d" % case, body)]
        lines += ["  // case %d in %d: %s" % (case, i, numbers(x)) for i, x in enumerate(inputs)]
        lines += ["  // case %d out %d: %s" % (case, i, numbers(x)) for i, x in enumerate(outputs)]
        self.cases.append("\n".join(lines) + "\n")

    def op(self, op, ins, outs, **keys):
        """One op: `op` is text with %0, %1 ..; ins and outs type texts; values=[...] or low=, high= for inputs"""
        values = keys.get("values") or [None] * len(ins)
        drawn = [np.array(v, DTYPES[parse(t)[1]]).reshape(parse(t)[0]) if v is not None
                 else draw(t, keys.get("low", -2.0), keys.get("high", 2.0)) for t, v in zip(ins, values)]
        args = ", ".join("%%a%d: tensor<%s>" % (i, t) for i, t in enumerate(ins))
        types = ["tensor<%s>" % t for t in outs]
        body = re.sub(r"\$(\d+)", r"%a\1", op)
        names = "%r" if len(outs) == 1 else "%%r:%d" % len(outs)
        results = ", ".join("%r" if len(outs) == 1 else "%%r#%d" % i for i in range(len(outs)))
        signature = "(%s) -> %s" % (", ".join("tensor<%s>" % t for t in ins),
                                    types[0] if len(outs) == 1 else "(" + ", ".join(types) + ")")
        if " : " not in op:
            body += " : " + signature
        body = body.replace("$TYPES", signature)
        self.add("module {\n  func.func @main(%s) -> (%s) {\n    %s = %s\n    return %s : %s\n  }\n}"
                 % (args, ", ".join(types), names, body, results, ", ".join(types)), *drawn)

    def write(self, folder):
        text = "// Written by tests/verify/generate.py; expected values are XLA's on one CPU device.\n"
        (folder / (self.name + ".mlir")).write_text(text + "module {\n" + "".join(self.cases) + "}\n")
        print(self.name, len(self.cases))


SCALAR = lambda op, e: ('({\n    ^bb0(%%x: tensor<%s>, %%y: tensor<%s>):\n      %%z = stablehlo.%s %%x, %%y : tensor<%s>\n'
                        '      stablehlo.return %%z : tensor<%s>\n    })' % (e, e, op, e, e))
OVERWRITE = lambda e: ('({\n    ^bb0(%%x: tensor<%s>, %%y: tensor<%s>):\n      stablehlo.return %%y : tensor<%s>\n    })'
                       % (e, e, e))


def elementwise():
    f = File("elementwise")
    special = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 0.3]
    for name in ["abs", "ceil", "cosine", "exponential", "exponential_minus_one", "floor", "logistic", "negate",
                 "round_nearest_afz", "round_nearest_even", "sign", "sine", "tan", "tanh"]:
        f.op("stablehlo.%s $0" % name, ["2x5xf32"], ["2x5xf32"])
    f.op("stablehlo.sign $0", ["8xf32"], ["8xf32"], values=[special])
    f.op("stablehlo.abs $0", ["8xf32"], ["8xf32"], values=[special])
    for name in ["log", "log_plus_one", "rsqrt", "sqrt", "cbrt"]:
        f.op("stablehlo.%s $0" % name, ["7xf32"], ["7xf32"], low=0.1, high=9)
    f.op("stablehlo.is_finite $0", ["8xf32"], ["8xi1"], values=[special])
    f.op("stablehlo.tanh $0", ["3xf64"], ["3xf64"])
    f.op("stablehlo.exponential $0", ["4xbf16"], ["4xbf16"])
    f.op("stablehlo.exponential $0", ["4xf16"], ["4xf16"])
    for name in ["abs", "negate", "sign", "not", "popcnt", "count_leading_zeros"]:
        f.op("stablehlo.%s $0" % name, ["6xi32"], ["6xi32"], values=[[0, 1, -1, 2**31 - 1, -2**31, 77]])
        if name not in ("abs", "negate", "sign"):
            f.op("stablehlo.%s $0" % name, ["4xui8"], ["4xui8"], values=[[0, 1, 255, 128]])
    for name in ["add", "subtract", "multiply", "divide", "maximum", "minimum", "power", "remainder", "atan2"]:
        f.op("stablehlo.%s $0, $1" % name, ["2x4xf32", "2x4xf32"], ["2x4xf32"], low=0.2, high=5)
    for name in ["maximum", "minimum", "add", "remainder"]:
        f.op("stablehlo.%s $0, $1" % name, ["5xf32", "5xf32"], ["5xf32"],
             values=[[np.nan, 1, -np.inf, -7.5, 3], [1, np.nan, np.inf, 2, -2]])
    for name in ["add", "subtract", "multiply", "maximum", "minimum", "and", "or", "xor", "divide", "remainder"]:
        f.op("stablehlo.%s $0, $1" % name, ["6xi32", "6xi32"], ["6xi32"],
             values=[[7, -7, 2**31 - 1, -2**31, 5, -9], [2, 2, 2, 3, -3, -4]])
    for name in ["add", "multiply", "maximum", "divide", "subtract"]:
        f.op("stablehlo.%s $0, $1" % name, ["4xui8", "4xui8"], ["4xui8"], values=[[250, 3, 200, 17], [10, 200, 7, 18]])
    f.op("stablehlo.power $0, $1", ["5xi32", "5xi32"], ["5xi32"], values=[[2, -3, 5, 1, -1], [10, 3, 0, 7, 5]])
    for name in ["shift_left", "shift_right_arithmetic", "shift_right_logical"]:
        f.op("stablehlo.%s $0, $1" % name, ["6xi32", "6xi32"], ["6xi32"],
             values=[[1, -8, 2**31 - 1, -2**31, 5, -1], [3, 1, 31, 4, 32, 40]])
    for name in ["and", "or", "xor", "add", "multiply"]:
        f.op("stablehlo.%s $0, $1" % name, ["4xi1", "4xi1"], ["4xi1"], values=[[0, 0, 1, 1], [0, 1, 0, 1]])
    f.op("stablehlo.add $0, $1", ["8xbf16", "8xbf16"], ["8xbf16"], low=-100, high=100)
    f.op("stablehlo.multiply $0, $1", ["8xf16", "8xf16"], ["8xf16"], low=-300, high=300)
    for direction in ["EQ", "NE", "GE", "GT", "LE", "LT"]:
        f.op("stablehlo.compare %s, $0, $1, FLOAT : $TYPES" % direction, ["5xf32", "5xf32"], ["5xi1"],
             values=[[1, 2, np.nan, 0.0, 4], [1, 3, np.nan, -0.0, 2]])
        f.op("stablehlo.compare %s, $0, $1, UNSIGNED : $TYPES" % direction, ["4xui64", "4xui64"], ["4xi1"],
             values=[[1, 2**63 + 1, 5, 6], [2, 3, 5, 2**64 - 1]])
    f.op("stablehlo.compare LT, $0, $1, TOTALORDER : $TYPES", ["4xf32", "4xf32"], ["4xi1"],
         values=[[-0.0, np.nan, 1, -np.inf], [0.0, 1, np.nan, np.inf]])
    f.op("stablehlo.select $0, $1, $2", ["4xi1", "4xf32", "4xf32"], ["4xf32"])
    f.op("stablehlo.select $0, $1, $2", ["i1", "4xf32", "4xf32"], ["4xf32"])
    f.op("stablehlo.clamp $0, $1, $2", ["f32", "5xf32", "f32"], ["5xf32"], values=[-0.5, [-2, -0.2, 0, 3, np.nan], 0.5])
    f.op("stablehlo.clamp $0, $1, $2", ["3xi32", "3xi32", "3xi32"], ["3xi32"], values=[[0, 0, 0], [-4, 2, 9], [5, 5, 5]])
    f.op("stablehlo.reduce_precision $0, format = e5m2", ["6xf32"], ["6xf32"], values=[[1.1, 3e5, 1e-6, -7.3, np.inf, 60000]])
    for a, b, values in [("f32", "i32", [1.9, -1.9, 3e9, -3e9, np.nan, 0.5]), ("f32", "ui8", [1.9, -1.9, 300, 255, np.nan, 0.5]),
                         ("f32", "i1", [0, 1, -1, np.nan, 0.5, -0.0]), ("i32", "f32", [1, -1, 2**31 - 1, 5, 0, 7]),
                         ("i32", "i8", [127, 128, 255, 256, -129, 5]), ("i1", "f32", [0, 1, 1, 0, 1, 0]),
                         ("f32", "bf16", [1.00390625, 1.01171875, 3.3e38, 1e-40, -2.7, 3]), ("f64", "f32", [1e300, 0.1, 1, 2, 3, 4]),
                         ("f32", "f16", [65519, 65520, 6e-8, 1e-9, 2049, 0.1]), ("bf16", "f32", [1, 2, 3, 4.5, 5, 6]),
                         ("ui32", "f32", [2**32 - 1, 0, 1, 2, 3, 4]), ("i32", "ui32", [-1, 1, 2, 3, 4, 5])]:
        f.op("stablehlo.convert $0", ["6x" + a], ["6x" + b], values=[values])
    for name in ["add", "subtract", "multiply", "divide"]:
        f.op("stablehlo.%s $0, $1" % name, ["3xcomplex<f32>", "3xcomplex<f32>"], ["3xcomplex<f32>"])
    for name in ["exponential", "log", "sqrt", "tanh", "cosine", "negate"]:
        f.op("stablehlo.%s $0" % name, ["3xcomplex<f32>"], ["3xcomplex<f32>"])
    f.op("stablehlo.abs $0", ["3xcomplex<f32>"], ["3xf32"])
    f.op("stablehlo.real $0", ["3xcomplex<f64>"], ["3xf64"])
    f.op("stablehlo.imag $0", ["3xcomplex<f32>"], ["3xf32"])
    f.op("stablehlo.complex $0, $1", ["3xf32", "3xf32"], ["3xcomplex<f32>"])
    for name in ["acos", "asin", "atanh", "erf", "erfc", "erf_inv"]:
        f.op("chlo.%s $0 : tensor<6xf32> -> tensor<6xf32>" % name, ["6xf32"], ["6xf32"], low=-0.95, high=0.95)
    for name in ["asinh", "atan", "cosh", "sinh", "square", "tan", "erf"]:
        f.op("chlo.%s $0 : tensor<6xf32> -> tensor<6xf32>" % name, ["6xf32"], ["6xf32"])
    for name in ["acosh", "lgamma", "digamma"]:
        f.op("chlo.%s $0 : tensor<5xf32> -> tensor<5xf32>" % name, ["5xf32"], ["5xf32"], low=1.1, high=14)
    for name in ["is_inf", "is_neg_inf", "is_pos_inf"]:
        f.op("chlo.%s $0 : tensor<8xf32> -> tensor<8xi1>" % name, ["8xf32"], ["8xi1"], values=[special])
    f.op("chlo.next_after $0, $1 : tensor<3xf32>, tensor<3xf32> -> tensor<3xf32>", ["3xf32", "3xf32"], ["3xf32"])
    f.op('"stablehlo.map"($0, $1) <{dimensions = array<i64: 0, 1>}> %s : $TYPES' % SCALAR("multiply", "f32"),
         ["2x3xf32", "2x3xf32"], ["2x3xf32"])
    f.op("stablehlo.custom_call @mhlo.erf($0) {mhlo.attributes = {}, mhlo.version = 1 : i64} : $TYPES", ["5xf32"], ["5xf32"])
    return f


def movement():
    f = File("movement")
    for e in ["f32", "i32", "i1", "f64"]:
        f.op("stablehlo.transpose $0, dims = [2, 0, 1]", ["2x3x4x" + e], ["4x2x3x" + e])
    f.op("stablehlo.broadcast_in_dim $0, dims = [1]", ["3xf32"], ["2x3xf32"])
    f.op("stablehlo.broadcast_in_dim $0, dims = [0, 2]", ["2x1xf32"], ["2x3x4xf32"])
    f.op("stablehlo.broadcast_in_dim $0, dims = [2, 0]", ["4x2xf32"], ["2x3x4xf32"])
    f.op("stablehlo.broadcast_in_dim $0, dims = []", ["i32"], ["2x2xi32"])
    f.op("stablehlo.broadcast $0, sizes = [2, 2]", ["3xf32"], ["2x2x3xf32"])
    f.op("stablehlo.reshape $0", ["2x6xf32"], ["3x4xf32"])
    f.op("stablehlo.reverse $0, dims = [0, 2] : tensor<2x3x4xf32>", ["2x3x4xf32"], ["2x3x4xf32"])
    f.op("stablehlo.slice $0 [1:4:2, 0:3]", ["5x4xf32"], ["2x3xf32"])
    f.op("stablehlo.concatenate $0, $1, dim = 1", ["2x3xf32", "2x2xf32"], ["2x5xf32"])
    f.op("stablehlo.concatenate $0, $1, $2, dim = 0", ["2x3xi32", "1x3xi32", "3x3xi32"], ["6x3xi32"])
    f.op("stablehlo.pad $0, $1, low = [1, 0], high = [2, 1], interior = [0, 2]", ["2x3xf32", "f32"], ["5x8xf32"])
    f.op("stablehlo.pad $0, $1, low = [-1, 2], high = [0, -3], interior = [1, 0]", ["4x5xf32", "f32"], ["6x4xf32"])
    f.op("stablehlo.pad $0, $1, low = [-2], high = [-1], interior = [2]", ["4xi32", "i32"], ["7xi32"])
    for starts in [(1, 2), (-3, 9), (4, 0)]:
        f.op("stablehlo.dynamic_slice $0, $1, $2, sizes = [2, 3]", ["5x6xf32", "i32", "i32"], ["2x3xf32"],
             values=[None, starts[0], starts[1]])
        f.op("stablehlo.dynamic_update_slice $0, $1, $2, $3", ["5x6xf32", "2x3xf32", "i32", "i32"], ["5x6xf32"],
             values=[None, None, starts[0], starts[1]])
    for e in ["f32", "i32", "bf16", "complex<f32>"]:
        f.op("stablehlo.iota dim = 1 : tensor<2x4x%s>" % e, [], ["2x4x" + e])
    f.op("stablehlo.bitcast_convert $0", ["3xf32"], ["3xi32"])
    f.op("stablehlo.bitcast_convert $0", ["3xi32"], ["3x4xui8"], low=-2**30, high=2**30)
    f.op("stablehlo.bitcast_convert $0", ["3x2xui16"], ["3xui32"], high=60000)
    f.op("stablehlo.bitcast_convert $0", ["3xbf16"], ["3xi16"])
    f.op("stablehlo.bitcast_convert $0", ["2xf64"], ["2x2xui32"])
    f.add("""module {
  func.func @main() -> (tensor<2x2xf32>, tensor<3xbf16>, tensor<4xi1>, tensor<2xi8>, tensor<2xui64>, tensor<2xcomplex<f32>>) {
    %0 = stablehlo.constant dense<[[1.5, -2.0], [0.25, 0x7F800000]]> : tensor<2x2xf32>
    %1 = stablehlo.constant dense<[1.0, 2.5, -3.0]> : tensor<3xbf16>
    %2 = stablehlo.constant dense<[true, false, true, true]> : tensor<4xi1>
    %3 = stablehlo.constant dense<[-128, 127]> : tensor<2xi8>
    %4 = stablehlo.constant dense<[18446744073709551615, 3]> : tensor<2xui64>
    %5 = stablehlo.constant dense<[(1.0, 2.0), (3.0, -4.0)]> : tensor<2xcomplex<f32>>
    return %0, %1, %2, %3, %4, %5 : tensor<2x2xf32>, tensor<3xbf16>, tensor<4xi1>, tensor<2xi8>, tensor<2xui64>, tensor<2xcomplex<f32>>
  }
}""")
    return f


def contraction():
    f = File("contraction")
    f.op("stablehlo.dot_general $0, $1, contracting_dims = [1] x [0]", ["5x7xf32", "7x9xf32"], ["5x9xf32"])
    f.op("stablehlo.dot_general $0, $1, batching_dims = [0] x [1], contracting_dims = [2] x [0]", ["2x3x4xf32", "4x2x5xf32"], ["2x3x5xf32"])
    f.op("stablehlo.dot_general $0, $1, batching_dims = [0, 2] x [0, 1], contracting_dims = [1] x [3]",
         ["2x3x4x5xf32", "2x4x6x3xf32"], ["2x4x5x6xf32"])
    f.op("stablehlo.dot_general $0, $1, contracting_dims = [0, 2] x [1, 0]", ["2x3x4xf32", "4x2x5xf32"], ["3x5xf32"])
    f.op("stablehlo.dot_general $0, $1, contracting_dims = [] x []", ["2xf32", "3xf32"], ["2x3xf32"])
    f.op("stablehlo.dot_general $0, $1, contracting_dims = [0] x [0]", ["6xf32", "6xf32"], ["f32"])
    f.op("stablehlo.dot_general $0, $1, contracting_dims = [1] x [0]", ["3x4xi32", "4x2xi32"], ["3x2xi32"], low=-9, high=9)
    f.op("stablehlo.dot_general $0, $1, contracting_dims = [1] x [0]", ["3x4xf64", "4x2xf64"], ["3x2xf64"])
    f.op("stablehlo.dot_general $0, $1, contracting_dims = [1] x [0]", ["2x3xcomplex<f32>", "3x2xcomplex<f32>"], ["2x2xcomplex<f32>"])
    f.op("stablehlo.dot_general $0, $1, contracting_dims = [1] x [0]", ["4x8xbf16", "8x3xbf16"], ["4x3xf32"])
    f.op("stablehlo.dot $0, $1", ["3x4xf32", "4xf32"], ["3xf32"])
    f.op("stablehlo.dot $0, $1", ["4xf32", "4x2xf32"], ["2xf32"])
    convs = [
        ("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "", 1, 1, "2x5x6x3xf32", "3x2x3x4xf32", "2x3x5x4xf32"),
        ("[b, f, 0, 1]x[o, i, 0, 1]->[b, f, 0, 1]", "stride = [2, 1], pad = [[1, 1], [0, 2]]", 1, 1, "1x2x5x4xf32", "3x2x3x3xf32", "1x3x3x4xf32"),
        ("[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]", "pad = [[1, 2], [-1, 1]], lhs_dilate = [2, 1], rhs_dilate = [1, 2]", 1, 1, "1x3x6x2xf32", "2x2x2x3xf32", "1x7x4x3xf32"),
        ("[b, 0, f]x[0, i, o]->[b, 0, f]", "reverse = [true]", 1, 1, "2x6x2xf32", "3x2x2xf32", "2x4x2xf32"),
        ("[b, 0, f]x[0, i, o]->[b, 0, f]", "", 2, 1, "2x5x4xf32", "2x2x6xf32", "2x4x6xf32"),
        ("[b, 0, f]x[0, i, o]->[b, 0, f]", "", 1, 2, "4x5x3xf32", "2x3x4xf32", "2x4x4xf32"),
        ("[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", "pad = [[1, 1], [1, 1]]", 1, 1, "2x4x4x3xf32", "2x4x4x5xf32", "3x3x3x5xf32"),
        ("[b, f]x[i, o]->[b, f]", "", 1, 1, "2x3xf32", "3x4xf32", "2x4xf32"),
    ]
    for dims, window, fg, bg, a, b, c in convs:
        f.op("stablehlo.convolution($0, $1) dim_numbers = %s, window = {%s} {feature_group_count = %d : i64, "
             "batch_group_count = %d : i64} : $TYPES" % (dims, window, fg, bg), [a, b], [c])
    return f


def reduction():
    f = File("reduction")
    for op, e in [("add", "f32"), ("maximum", "f32"), ("minimum", "f32"), ("multiply", "f32"), ("add", "i32"), ("and", "i1"),
                  ("or", "i1"), ("xor", "i32"), ("minimum", "ui8"), ("add", "f64"), ("add", "bf16")]:
        for dims, out in [("0", "4x5x"), ("1", "3x5x"), ("2", "3x4x"), ("0, 2", "4x"), ("0, 1, 2", "")]:
            if e not in ("f32", "i1") and dims != "0, 2":
                continue
            f.op("stablehlo.reduce($0 init: $1) applies stablehlo.%s across dimensions = [%s]" % (op, dims),
                 ["3x4x5x" + e, e], [out + e], high=9 if e[0] in "iu" and e != "i1" else 2)
    f.op("stablehlo.reduce($0 init: $1) applies stablehlo.add across dimensions = [0]", ["0x3xf32", "f32"], ["3xf32"])
    f.op("stablehlo.reduce($0 init: $1) applies stablehlo.maximum across dimensions = [0]", ["3x2xf32", "f32"], ["2xf32"],
         values=[[1, np.nan, -5, 2, 3, 4], -np.inf])
    f.add("""module {
  func.func @main(%a: tensor<3x5xf32>, %i: tensor<3x5xi32>) -> (tensor<3xf32>, tensor<3xi32>) {
    %m = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %z = stablehlo.constant dense<0> : tensor<i32>
    %r:2 = stablehlo.reduce(%a init: %m), (%i init: %z) across dimensions = [1] : (tensor<3x5xf32>, tensor<3x5xi32>, tensor<f32>, tensor<i32>) -> (tensor<3xf32>, tensor<3xi32>)
     reducer(%x: tensor<f32>, %y: tensor<f32>) (%p: tensor<i32>, %q: tensor<i32>) {
      %0 = stablehlo.compare GT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %1 = stablehlo.compare NE, %x, %x, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %2 = stablehlo.or %0, %1 : tensor<i1>
      %3 = stablehlo.select %2, %x, %y : tensor<i1>, tensor<f32>
      %4 = stablehlo.select %2, %p, %q : tensor<i1>, tensor<i32>
      stablehlo.return %3, %4 : tensor<f32>, tensor<i32>
    }
    return %r#0, %r#1 : tensor<3xf32>, tensor<3xi32>
  }
}""", draw("3x5xf32"), np.tile(np.arange(5, dtype=np.int32), (3, 1)))
    windows = [("2, 2", "2, 1", "1, 1", "1, 1", "[0, 0], [0, 0]", "3x4xf32"), ("3, 2", "1, 2", "1, 1", "1, 1", "[1, 1], [0, 1]", "6x3xf32"),
               ("2, 2", "1, 1", "2, 1", "1, 2", "[1, 0], [2, 0]", "11x5xf32")]
    for size, stride, base, dilation, pad, out in windows:
        for op, init in [("add", 0.0), ("maximum", -np.inf)]:
            f.op('"stablehlo.reduce_window"($0, $1) <{window_dimensions = array<i64: %s>, window_strides = array<i64: %s>, '
                 'base_dilations = array<i64: %s>, window_dilations = array<i64: %s>, padding = dense<[%s]> : tensor<2x2xi64>}> %s : $TYPES'
                 % (size, stride, base, dilation, pad, SCALAR(op, "f32")), ["6x5xf32", "f32"], [out], values=[None, init])
    ge = SCALAR("add", "f32")
    select = ('({\n    ^bb0(%x: tensor<f32>, %y: tensor<f32>):\n      %z = stablehlo.compare GE, %x, %y : (tensor<f32>, tensor<f32>) -> tensor<i1>\n'
              '      stablehlo.return %z : tensor<i1>\n    }, ' + ge[1:])
    f.op('"stablehlo.select_and_scatter"($0, $1, $2) <{window_dimensions = array<i64: 2, 2>, window_strides = array<i64: 2, 1>, '
         'padding = dense<[[0, 0], [1, 0]]> : tensor<2x2xi64>}> %s : $TYPES' % select,
         ["4x5xf32", "2x5xf32", "f32"], ["4x5xf32"])
    f.op('"stablehlo.batch_norm_training"($0, $1, $2) <{epsilon = 0.001 : f32, feature_index = 1 : i64}> : $TYPES',
         ["3x4x2xf32", "4xf32", "4xf32"], ["3x4x2xf32", "4xf32", "4xf32"])
    f.op('"stablehlo.batch_norm_inference"($0, $1, $2, $3, $4) <{epsilon = 0.001 : f32, feature_index = 2 : i64}> : $TYPES',
         ["3x2x4xf32"] + ["4xf32"] * 4, ["3x2x4xf32"], low=0.1)
    f.op('"stablehlo.batch_norm_grad"($0, $1, $2, $3, $4) <{epsilon = 0.001 : f32, feature_index = 0 : i64}> : $TYPES',
         ["4x3x2xf32", "4xf32", "4xf32", "4xf32", "4x3x2xf32"], ["4x3x2xf32", "4xf32", "4xf32"], low=0.1)
    return f


def indexing():
    f = File("indexing")
    gather = '"stablehlo.gather"($0, $1) <{dimension_numbers = #stablehlo.gather<%s>, slice_sizes = array<i64: %s>, indices_are_sorted = false}> : $TYPES'
    f.op(gather % ("offset_dims = [2], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 2", "1, 4"),
         ["6x4xf32", "2x3x1xi32"], ["2x3x4xf32"], values=[None, [0, 5, 3, -2, 9, 1]])
    f.op(gather % ("offset_dims = [0, 2], start_index_map = [1, 0], index_vector_dim = 1", "2, 3"),
         ["4x6xf32", "3x2xi32"], ["2x3x3xf32"], values=[None, [1, 1, 5, 3, -1, 0]])
    f.op(gather % ("offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1", "1, 4"),
         ["6x4xf32", "3xui64"], ["3x4xf32"], values=[None, [2, 2**64 - 1, 0]])
    f.op(gather % ("offset_dims = [2], collapsed_slice_dims = [1], operand_batching_dims = [0], start_indices_batching_dims = [1], start_index_map = [1], index_vector_dim = 2", "1, 1, 2"),
         ["3x4x2xf32", "2x3x1xi64"], ["2x3x2xf32"], values=[None, [0, 3, 1, 2, 7, -1]])
    scatter = ('"stablehlo.scatter"(%s) <{scatter_dimension_numbers = #stablehlo.scatter<%s>, indices_are_sorted = false, '
               'unique_indices = false}> %s : $TYPES')
    rows = "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1"
    for op in ["add", "maximum", "multiply"]:
        f.op(scatter % ("$0, $1, $2", rows, SCALAR(op, "f32")), ["5x3xf32", "4x1xi32", "4x3xf32"], ["5x3xf32"],
             values=[None, [1, 4, 1, 9], None])
    f.op(scatter % ("$0, $1, $2", rows, SCALAR("add", "i32")), ["5x3xi32", "4x1xi32", "4x3xi32"], ["5x3xi32"],
         values=[None, [-1, 0, 0, 5], None])
    f.op(scatter % ("$0, $1, $2", rows, OVERWRITE("f32")), ["5x3xf32", "3x1xi32", "3x3xf32"], ["5x3xf32"], values=[None, [2, 0, 7], None])
    windows = "update_window_dims = [0, 1], scatter_dims_to_operand_dims = [1, 0], index_vector_dim = 1"
    f.op(scatter % ("$0, $1, $2", windows, SCALAR("add", "f32")), ["5x6xf32", "3x2xi32", "2x3x3xf32"], ["5x6xf32"],
         values=[None, [1, 1, 4, 3, 2, 4], None])
    batch = ("update_window_dims = [2], inserted_window_dims = [1], input_batching_dims = [0], scatter_indices_batching_dims = [1], "
             "scatter_dims_to_operand_dims = [1], index_vector_dim = 2")
    f.op(scatter % ("$0, $1, $2", batch, SCALAR("add", "f32")), ["3x4x2xf32", "2x3x1xi32", "2x3x2xf32"], ["3x4x2xf32"],
         values=[None, [0, 3, 1, 0, 7, 1], None])
    less = ('({\n    ^bb0(%x: tensor<f32>, %y: tensor<f32>, %p: tensor<i32>, %q: tensor<i32>):\n'
            '      %z = stablehlo.compare LT, %x, %y, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>\n      stablehlo.return %z : tensor<i1>\n    })')
    f.op('"stablehlo.sort"($0, $1) <{dimension = 1 : i64, is_stable = true}> %s : $TYPES' % less,
         ["2x6xf32", "2x6xi32"], ["2x6xf32", "2x6xi32"], values=[[3, 1, 2, 1, 5, 1, 0, 0, -1, 4, 4, 2], list(range(12))])
    f.op('"stablehlo.sort"($0, $1) <{dimension = 0 : i64, is_stable = true}> %s : $TYPES' % less, ["5x2xf32", "5x2xi32"], ["5x2xf32", "5x2xi32"])
    f.op("chlo.top_k($0, k = 3) : tensor<2x5xf32> -> (tensor<2x3xf32>, tensor<2x3xi32>)", ["2x5xf32"], ["2x3xf32", "2x3xi32"],
         values=[[1, 5, 5, 2, 3, -1, -2, -3, 0, -2]])
    f.op("chlo.top_k($0, k = 2) : tensor<5xi32> -> (tensor<2xi32>, tensor<2xi32>)", ["5xi32"], ["2xi32", "2xi32"])
    return f


def linear():
    f = File("linear")
    for kind, a, b, n in [("FFT", "2x6xcomplex<f32>", "2x6xcomplex<f32>", "6"), ("IFFT", "2x5xcomplex<f32>", "2x5xcomplex<f32>", "5"),
                          ("RFFT", "2x6xf32", "2x4xcomplex<f32>", "6"), ("IRFFT", "2x4xcomplex<f32>", "2x6xf32", "6"),
                          ("FFT", "3x4xcomplex<f64>", "3x4xcomplex<f64>", "3, 4"), ("RFFT", "3x4xf32", "3x3xcomplex<f32>", "3, 4")]:
        f.op("stablehlo.fft $0, type = %s, length = [%s]" % (kind, n), [a], [b])
    m = rng.uniform(-1, 1, (2, 4, 4))
    spd = np.einsum("bij,bkj->bik", m, m) + np.eye(4)
    f.op("stablehlo.cholesky $0, lower = true : tensor<2x4x4xf32>", ["2x4x4xf32"], ["2x4x4xf32"], values=[spd.reshape(-1)])
    well = np.tril(m) + 3 * np.eye(4)
    for left, lower, unit, transpose in [(1, 1, 0, "NO_TRANSPOSE"), (1, 1, 0, "TRANSPOSE"), (0, 1, 0, "NO_TRANSPOSE"), (1, 0, 1, "NO_TRANSPOSE"),
                                         (0, 0, 0, "TRANSPOSE")]:
        a = well if lower else np.swapaxes(well, 1, 2)
        b = "2x4x3xf32" if left else "2x3x4xf32"
        word = ["false", "true"]
        f.op('"stablehlo.triangular_solve"($0, $1) <{left_side = %s, lower = %s, unit_diagonal = %s, transpose_a = #stablehlo<transpose %s>}> : $TYPES'
             % (word[left], word[lower], word[unit], transpose), ["2x4x4xf32", b], [b], values=[a.reshape(-1), None])
    return f


def control():
    f = File("control")
    f.add("""module {
  func.func @main(%x: tensor<3xf32>, %n: tensor<i32>) -> (tensor<3xf32>, tensor<i32>, tensor<4xf32>) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %f = stablehlo.constant dense<0.0> : tensor<4xf32>
    %r:3 = stablehlo.while(%i = %z, %v = %x, %log = %f) : tensor<i32>, tensor<3xf32>, tensor<4xf32>
     cond {
      %c = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %w = stablehlo.multiply %v, %x : tensor<3xf32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %s = stablehlo.slice %w [0:1] : (tensor<3xf32>) -> tensor<1xf32>
      %l = stablehlo.dynamic_update_slice %log, %s, %i : (tensor<4xf32>, tensor<1xf32>, tensor<i32>) -> tensor<4xf32>
      stablehlo.return %j, %w, %l : tensor<i32>, tensor<3xf32>, tensor<4xf32>
    }
    return %r#1, %r#0, %r#2 : tensor<3xf32>, tensor<i32>, tensor<4xf32>
  }
}""", draw("3xf32"), np.int32(3))
    for index in [0, 1, 5]:
        f.add("""module {
  func.func private @twice(%x: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.add %x, %x : tensor<3xf32>
    return %0 : tensor<3xf32>
  }
  func.func @main(%x: tensor<3xf32>, %n: tensor<i32>, %p: tensor<i1>) -> (tensor<3xf32>, tensor<3xf32>) {
    %r = "stablehlo.case"(%n) ({
      %0 = stablehlo.negate %x : tensor<3xf32>
      stablehlo.return %0 : tensor<3xf32>
    }, {
      %1 = func.call @twice(%x) : (tensor<3xf32>) -> tensor<3xf32>
      stablehlo.return %1 : tensor<3xf32>
    }, {
      stablehlo.return %x : tensor<3xf32>
    }) : (tensor<i32>) -> tensor<3xf32>
    %s = "stablehlo.if"(%p) ({
      stablehlo.return %r : tensor<3xf32>
    }, {
      %2 = func.call @twice(%r) : (tensor<3xf32>) -> tensor<3xf32>
      stablehlo.return %2 : tensor<3xf32>
    }) : (tensor<i1>) -> tensor<3xf32>
    %t:2 = stablehlo.optimization_barrier %r, %s : tensor<3xf32>, tensor<3xf32>
    return %t#0, %t#1 : tensor<3xf32>, tensor<3xf32>
  }
}""", draw("3xf32"), np.int32(index), np.bool_(index == 1))
    return f


if __name__ == "__main__":
    folder = pathlib.Path(__file__).parent / "golden"
    folder.mkdir(exist_ok=True)
    wanted = sys.argv[1:]
    for make in [elementwise, movement, contraction, reduction, indexing, linear, control]:
        if not wanted or make.__name__ in wanted:
            make().write(folder)
