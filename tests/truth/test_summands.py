#!/usr/bin/env python3
# label: truth
# timeout: 300
"""Sums that meet, and sums that a loop carries, are reduced once: XLA moves for the annotated module what the plan says.

Compiled for eight CPU devices, not run (test_programs.py runs the same program). Arguments: numbers of cases.
"""
import json
import math
import os
import subprocess
import sys
import tempfile

import venv

venv.enter()
sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "clients"))

import hlo  # noqa: E402
import jax  # noqa: E402
import programs  # noqa: E402
import referee  # noqa: E402
from jax._src.lib import xla_client  # noqa: E402

CASES = [("tied_embedding", {"data": 8}, "batch:data"), ("tied_embedding", {"data": 4, "model": 2}, "fsdp:data"),
         ("tied_embedding", {"data": 4, "model": 2}, "fsdp:data+fsdp:model"), ("accumulated_step", {"data": 8}, "batch:data"),
         ("accumulated_step", {"data": 4, "model": 2}, "batch:data+megatron:model"), ("mixed_accumulation", {"data": 8}, "batch:data"),
         ("nested_sums", {"data": 8}, "batch:data")]


def compiled_bytes(text):
    devices = jax.devices()
    compiled = devices[0].client.compile_and_load(text, xla_client.DeviceList(tuple(devices)),
                                                  referee.options("annotated", 8, list(range(8))))
    return hlo.collective_bytes(compiled.hlo_modules()[0].to_string())


def planned_bytes(file, mesh):
    """of toast lower --collectives, which gives the bytes of a kind together; XLA for CPUs reduces whole what the plan scatters"""
    return sum(each["bytes"] * (math.prod(mesh[axis] for axis in each["axes"]) if each["kind"] == "reduce_scatter" else 1)
               for each in json.load(file))


def check(name, mesh, plan, text, folder):
    module, annotated, sums = (os.path.join(folder, file) for file in ("module.mlir", "annotated.mlir", "sums.json"))
    with open(module, "w") as file:
        file.write(text)
    subprocess.run([os.path.join(venv.BIN, "toast"), "lower", module, "--mesh", ",".join(f"{k}={v}" for k, v in mesh.items()),
                    "--baseline", plan, "--form", "annotated", "-o", annotated, "--collectives", sums], check=True)
    with open(annotated) as file:
        moved = compiled_bytes(file.read())
    with open(sums) as file:
        wanted = planned_bytes(file, mesh)
    good = sum(moved.values()) <= wanted
    print(f"{'ok' if good else 'FAILED'} {name} {mesh} {plan}: XLA moves {moved}, the plan {wanted:,} bytes", flush=True)
    return good


def main():
    chosen = [CASES[int(i)] for i in sys.argv[1:]] or CASES
    texts, failures = programs.all_programs(), 0
    for name, mesh, plan in chosen:
        with tempfile.TemporaryDirectory() as folder:
            failures += not check(name, mesh, plan, texts[name], folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
