#!/usr/bin/env python3
# label: truth
# timeout: 600
"""Computation and communication of a program, timed apart: what stands in a collective's place has its shape, every other op stays; a few
programs of a small GPT train step are timed on eight CPU devices, first whole, then what lacks its parts."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import support

support.enter("truth")

sys.path.insert(0, os.path.join(support.SOURCE, "tests", "support"))
import generate_segments  # noqa: E402
from jax._src.interpreters import mlir as jax_mlir  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402

import toast_profile  # noqa: E402
from toast_profile import apart  # noqa: E402
from toast_profile.__main__ import main as command  # noqa: E402

SIZES = {"BATCH": 8, "TOKENS": 4, "WIDTH": 16, "HEADS": 8, "HIDDEN": 16, "VOCABULARY": 16}
KINDS = """
func.func @main(%x: tensor<8x4xbf16>, %y: tensor<4x4xf32>) -> (tensor<8x12xbf16>, tensor<4x8xbf16>, tensor<2x4xbf16>, tensor<8x4xbf16>, tensor<4x4xf32>) {
  %gathered = "stablehlo.all_gather"(%x) {all_gather_dim = 1 : i64, replica_groups = dense<[[0, 1, 2]]> : tensor<1x3xi64>} :
    (tensor<8x4xbf16>) -> tensor<8x12xbf16>
  %exchanged = "stablehlo.all_to_all"(%x) {split_dimension = 0 : i64, concat_dimension = 1 : i64, split_count = 2 : i64,
    replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<8x4xbf16>) -> tensor<4x8xbf16>
  %scattered = "stablehlo.reduce_scatter"(%x) ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %c = stablehlo.add %a, %b : tensor<bf16>
      stablehlo.return %c : tensor<bf16>
    }) {scatter_dimension = 0 : i64, replica_groups = dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>} : (tensor<8x4xbf16>) -> tensor<2x4xbf16>
  %reduced:2 = "stablehlo.all_reduce"(%x, %x) ({
    ^bb0(%a: tensor<bf16>, %b: tensor<bf16>):
      %c = stablehlo.add %a, %b : tensor<bf16>
      stablehlo.return %c : tensor<bf16>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<8x4xbf16>, tensor<8x4xbf16>) -> (tensor<8x4xbf16>, tensor<8x4xbf16>)
  %sum = stablehlo.add %reduced#0, %reduced#1 : tensor<8x4xbf16>
  %passed = "stablehlo.collective_permute"(%y) {source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %gathered, %exchanged, %scattered, %sum, %passed :
    tensor<8x12xbf16>, tensor<4x8xbf16>, tensor<2x4xbf16>, tensor<8x4xbf16>, tensor<4x4xf32>
}
"""


def kinds():
    """one of each collective: none is left, types are, and the module is still one"""
    with jax_mlir.make_ir_context() as context, ir.Location.unknown(context):
        module = ir.Module.parse(KINDS)
        assert apart.without_collectives(module) == 5
        module.operation.verify()
        text = str(module)
        assert apart.without_collectives(module) == 0 and str(module) == text
    assert not any(f"stablehlo.{name}" in text for name in apart.COLLECTIVES), text
    for line in ("stablehlo.concatenate %arg0, %arg0, %arg0, dim = 1", "stablehlo.slice %arg0 [0:4, 0:4]", "stablehlo.slice %arg0 [0:2, 0:4]"):
        assert line in text, (line, text)
    assert text.count("stablehlo.optimization_barrier") == 5 and "optimization_barrier %arg0, %arg0" in text, text


def rows_of(out):
    with open(out + ".log") as file:
        return {row["digest"]: row for row in map(json.loads, list(file)[1:])}


def timed(where):
    for name, size in SIZES.items():
        setattr(generate_segments, name, size)
    module, folder, out = (os.path.join(where, name) for name in ("gpt.mlir", "programs", "profile.json"))
    pathlib.Path(module).write_text(generate_segments.lower("gpt", 4))
    subprocess.run([os.path.join(support.BIN, "toast"), "plan", module, "--mesh", "data=8", "--device", "a100-40", "--quiet", "--planner", "baselines",
                    "--outputs", "segments", "-o", folder], check=True)
    archive = toast_profile.Archive(os.path.join(folder, "segments.tar"))
    quick = [archive.path, "-o", out, "--warm-up", "1", "--runs", "3", "--quiet"]
    assert command([*quick, "--limit", "6"]) == 0                       # whole
    whole = rows_of(out)
    assert len(whole) == 6 and not any("alone_us" in row for row in whole.values()), whole
    assert command([*quick, "--limit", "4", "--parts"]) == 0            # the same programs first: they lack their parts
    rows = rows_of(out)
    programs = {program.digest: program for program in archive.programs}
    with_parts = {digest for digest, row in rows.items() if "alone_us" in row}
    assert with_parts and all(programs[digest].collectives and not programs[digest].is_pair for digest in with_parts), rows
    profile = json.loads(pathlib.Path(out).read_text())
    found = {row["configuration"]: row for segment in profile["segments"] for row in segment["configurations"]}
    for digest, row in found.items():
        parts = [row[name] for name in ("computation_us", "communication_us") if name in row]
        assert len(parts) == (2 if digest in with_parts or programs[digest].is_pair or not programs[digest].collectives else 0), row
        assert not parts or (min(parts) >= 0 and abs(sum(parts) - row["time_us"]) < 0.01), row
    print(f"{len(with_parts)} programs timed in parts, of {len(found)}")


def main():
    kinds()
    with tempfile.TemporaryDirectory() as where:
        timed(where)
    return 0


if __name__ == "__main__":
    sys.exit(main())
