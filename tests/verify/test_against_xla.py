#!/usr/bin/env python3
# label: truth
# timeout: 600
"""The interpreter against XLA on one CPU device: every small model, the inputs of the proof, all results.

    TOAST_BIN=build/release/bin python3 tests/verify/test_against_xla.py [MODEL...]

Floats: largest error / largest magnitude per result.
"""
import os, re, subprocess, sys, tempfile, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "truth"))
import venv   # tests/truth/venv.py: the referees' Python
venv.enter()
os.environ["JAX_PLATFORMS"] = "cpu"
import numpy as np
import jax
jax.config.update("jax_enable_x64", True)
from jax._src.lib import xla_client
from jaxlib import lapack
lapack._lapack.initialize()   # SciPy's LAPACK, which jaxlib's calls go to

source = pathlib.Path(os.environ.get("TOAST_SOURCE", pathlib.Path(__file__).parents[2]))
toast = pathlib.Path(os.environ.get("TOAST_BIN", source / "build/release/bin")) / "toast"
MODELS = ["mlp", "paper_attention", "small/itx", "small/gpt_torch", "small/t2b", "small/t2b_flat", "small/t2b_remat",
          "small/t2b_scan", "small/gpt", "small/gns", "small/unet", "../verify/steps/lapack_solves", "../verify/steps/lapack_factors",
          "../verify/steps/lapack_singular"]
TOLERANCE = 2e-5   # of the largest magnitude of a result: f32 sums in another order


def compile_module(text):
    device = jax.devices()[0]
    return device.client.compile_and_load(text, [device], xla_client.CompileOptions())


def main_types(text):
    """element types of @main's arguments: integers come as int64 from the interpreter"""
    signature = re.search(r"func\.func (?:public )?@main\((.*?)\) -> ", text, re.S).group(1)
    return re.findall(r"%\w+: tensor<(?:\d+x)*(\w+)>", signature)


NUMPY = {"i1": np.bool_, "i8": np.int8, "i32": np.int32, "i64": np.int64, "ui32": np.uint32, "f32": np.float32, "f64": np.float64}


def worst(reference, ours, wild):
    """(largest relative error, result): infinite where integers, shapes or NaN differ"""
    most = (0.0, -1)
    for i, (a, b) in enumerate(zip(reference, ours)):
        if a.shape != b.shape or (a.dtype.kind in "iub") != (b.dtype.kind in "iub"):
            return (np.inf, i)
        if a.dtype.kind in "iub":
            error = 0.0 if np.array_equal(a, b) else np.inf
        elif not np.array_equal(np.isnan(a), np.isnan(b)) or np.isinf(a).any() or (np.isnan(a).all() and not wild):
            error = np.inf
        else:   # JAX's take gives NaN for wild indices: NaN at the same places, the rest is compared
            a, b = np.nan_to_num(a), np.nan_to_num(b)
            error = float(np.abs(a - b).max(initial=0)) / max(float(np.abs(a).max(initial=0)), 1e-300)
        if not error <= most[0]:
            most = (error, i)
    return most


def check(name, kind):
    path = source / "tests/models" / (name + ".mlir")
    text = path.read_text()
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([toast, "interpret", path, "--seed", "7", "--inputs", kind, "-o", folder], check=True,
                       stdout=subprocess.DEVNULL)
        types = main_types(text)
        inputs = [np.load("%s/in%d.npy" % (folder, i)).astype(NUMPY[t]) for i, t in enumerate(types)]
        exe = compiled.setdefault(name, None) or compile_module(text)
        compiled[name] = exe
        out = exe.execute_sharded([jax.device_put(x, jax.devices()[0]) for x in inputs])
        reference = [np.asarray(r[0]) for r in out.disassemble_into_single_device_arrays()]
        ours = [np.load("%s/out%d.npy" % (folder, i)) for i in range(len(reference))]
    error, result = worst(reference, ours, kind == "wild")
    print("%-32s %-8s %3d results, largest error %.2g (result %d)" % (name, kind, len(reference), error, result), flush=True)
    return error <= TOLERANCE


compiled = {}
if __name__ == "__main__":
    good = all([check(name, kind) for name in sys.argv[1:] or MODELS for kind in ["plain", "moments", "wild", "negative"]])
    sys.exit(0 if good else 1)
