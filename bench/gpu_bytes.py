#!/usr/bin/env python3
"""Bytes by kind that XLA:GPU moves for the annotated module of a plan, beside the plan's own; compiled ahead of time, without a GPU.

    bench/gpu_bytes.py MODULE --mesh data=2,model=4 --baseline fsdp:data+megatron:model [--baseline ..] [--plan plan.json]
        [--gpu h100] [--form annotated] [--python PYTHON]

PYTHON has `jax[cuda12]==0.10.2` (bench/referee says how to make it); TOAST_BIN names the folder of toast. Counted are result bytes of
collectives on a device, so a reduce_scatter counts as what a device keeps; of XLA's those in loops once, so use modules without
loops. Prints a row a plan and a kind; docs/forms.md quotes the table.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "clients/python/src"))
from toast_referee import compilers  # noqa: E402


def by_kind(collectives):
    """kind -> bytes; those of an entry are of all its ops together"""
    out = {}
    for each in collectives:
        out[each["kind"]] = out.get(each["kind"], 0) + each["bytes"]
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0],
                                     epilog="example: gpu_bytes.py gpt2.mlir --mesh data=2,model=4 --baseline fsdp:data+megatron:model")
    parser.add_argument("module")
    parser.add_argument("--mesh", required=True, help="axes, outermost first")
    parser.add_argument("--baseline", action="append", default=[], help="an expert's name; may be given again")
    parser.add_argument("--plan", action="append", default=[], help="a plan.json; may be given again")
    parser.add_argument("--gpu", default="h100", help="of toast_referee's devices")
    parser.add_argument("--form", default="annotated", help="annotated, manual or constrained")
    parser.add_argument("--python", default=sys.executable, help="whose JAX has the CUDA plugin")
    options = parser.parse_args()
    toast = os.path.join(os.environ.get("TOAST_BIN", str(ROOT / "build/release/bin")), "toast")
    for name in [*options.baseline, *options.plan]:
        which = ["--plan", name] if name in options.plan else ["--mesh", options.mesh, "--baseline", name]
        with tempfile.TemporaryDirectory() as folder:
            text, sums = os.path.join(folder, "module.mlir"), os.path.join(folder, "sums.json")
            subprocess.run([toast, "lower", options.module, *which, "--form", options.form, "-o", text, "--collectives", sums], check=True,
                           stdout=subprocess.DEVNULL)
            said = compilers.compile_module("gpu", text, options.mesh, options.gpu, python=options.python)
            ours, theirs = by_kind(json.loads(pathlib.Path(sums).read_text())), by_kind(said["collectives"])
        print(f"{name}: plan {sum(ours.values()):,}, XLA:GPU {sum(theirs.values()):,} bytes", flush=True)
        for kind in sorted(ours.keys() | theirs.keys()):
            print(f"  {kind:20} {ours.get(kind, 0):14,} {theirs.get(kind, 0):14,}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
