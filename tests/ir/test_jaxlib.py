#!/usr/bin/env python3
# label: truth
# timeout: 240
"""What `toast read` prints of a model, generic or pretty, is, for jaxlib, the same verified module as the original."""
import gzip
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "truth"))
import venv  # noqa: E402

venv.enter()
from jax._src.interpreters import mlir as jax_mlir  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402

FORMS = ("--generic", "--pretty")
# StableHLO prints these in generic form itself
WITHOUT_PRETTY_FORM = {"stablehlo." + op for op in (
    "gather", "scatter", "sort", "case", "if", "map", "reduce_window", "select_and_scatter", "all_reduce", "all_gather", "all_to_all",
    "reduce_scatter", "collective_permute", "batch_norm_training", "batch_norm_grad", "batch_norm_inference", "triangular_solve")}
LARGE = ["mlp.mlir", "paper_attention.mlir", "gpt_torch.mlir.gz", "itx.mlir.gz", "t2b_scan.mlir.gz", "t2b_remat.mlir.gz"]


def canonical(text):
    context = jax_mlir.make_ir_context()
    module = ir.Module.parse(text, context)
    module.operation.verify()
    return module.operation.get_asm(print_generic_op_form=True, enable_debug_info=False, assume_verified=True)


def main():
    small = os.path.join(venv.MODELS, "small")
    paths = [os.path.join(venv.MODELS, m) for m in LARGE] + [os.path.join(small, m) for m in sorted(os.listdir(small))]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            base = os.path.basename(path).removesuffix(".gz")
            opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
            with opened as original:
                expected = canonical(original.read())
            for form in FORMS:
                subprocess.run([os.path.join(venv.BIN, "toast"), "read", path, form, "-o", folder], check=True)
                with open(os.path.join(folder, base)) as file:
                    printed = file.read()
                quoted = set(re.findall(r'"((?:stablehlo|func|builtin|sdy)\.\w+)"\(', printed)) - WITHOUT_PRETTY_FORM
                equal = expected == canonical(printed) and (form == "--generic") == bool(quoted)
                print("%-9s %-9s %s" % ("equal" if equal else "DIFFERENT", form, os.path.relpath(path, venv.MODELS)))
                failed += not equal
        missing = os.path.join(folder, "broken.mlir")
        with open(missing, "w") as f:
            f.write("func.func @main() {\n  %0 = stablehlo.add %1, %1 : tensor<f32>\n  return\n}\n")
        out = os.path.join(folder, "out")
        run = subprocess.run([os.path.join(venv.BIN, "toast"), "read", missing, paths[0], "--generic", "-o", out],
                             stderr=subprocess.PIPE, text=True)
        assert run.returncode == 6, run
        assert run.stderr.startswith(missing + ":2:22: "), run.stderr
        assert sorted(os.listdir(out)) == [os.path.basename(paths[0])], os.listdir(out)
    print("%d of %d equal" % (len(paths) * len(FORMS) - failed, len(paths) * len(FORMS)))
    return failed


if __name__ == "__main__":
    sys.exit(main())
