#!/usr/bin/env python3
# label: truth
# timeout: 300
"""bench/hardware.py as a dry run on a CPU: matmuls, kernels and three local modules without their collectives run and have figures; its
table says that nothing was measured of the device; without a GPU it says "not measured"; a CPU's figures never reach the page."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/truth"), str(ROOT / "bench")]
import venv  # noqa: E402

venv.enter()
import hardware  # noqa: E402

PROGRAM = ROOT / "bench/hardware.py"
ENVIRONMENT = dict(os.environ, JAX_PLATFORMS="cpu", TOAST_BIN=venv.BIN)

TEXT = '''    %1 = "stablehlo.all_gather"(%0) {all_gather_dim = 1 : i64} : (tensor<4x2xf32>) -> tensor<4x6xf32>
    %2:2 = "stablehlo.all_reduce"(%1, %0) ({
    ^bb0(%3: tensor<f32>, %4: tensor<f32>):
      %5 = "stablehlo.add"(%3, %4) : (tensor<f32>, tensor<f32>) -> tensor<f32>
      "stablehlo.return"(%5) : (tensor<f32>) -> ()
    }) {channel = 1 : i64} : (tensor<4x6xf32>, tensor<4x2xf32>) -> (tensor<4x6xf32>, tensor<4x2xf32>)
    %6 = "stablehlo.add"(%2#0, %1) : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
'''
text, taken = hardware.without_collectives(TEXT)
assert taken == 2 and '%1 = "stablehlo.concatenate"(%0, %0, %0) {dimension = 1 : i64}' in text, text
assert '"stablehlo.add"(%part2_0, %1)' in text and "all_reduce" not in text and "stablehlo.return" not in text, text
exchanged = hardware.local_op("%9", "%8", "8x2xbf16", "4x4xbf16")   # an all_to_all: one dimension cut, the other longer
assert len(exchanged) == 2 and "limit_indices = array<i64: 4, 2>" in exchanged[0] and exchanged[1].endswith("-> tensor<4x4xbf16>"), exchanged


def run(*arguments):
    return subprocess.run([sys.executable, str(PROGRAM), *arguments], env=ENVIRONMENT, capture_output=True, text=True)


done = run("--device", "cpu", "--json")
assert done.returncode == 0, done.stderr[-2000:]
said = json.loads(done.stdout)
assert said["measured"] and said["dry"] and said["target"] == "h100", said
assert len(said["modules"]) == 3 and all(row["collectives"] > 0 and row["measured_peak"] > 0 for row in said["modules"]), said["modules"]
assert any(row["what"].startswith("softmax") for row in said["kernels"]), said["kernels"]
for row in said["kernels"] + said["modules"]:
    assert row["measured_s"] > 0 and (row["priced_s"] is None or row["priced_s"] > 0), row
assert "a dry run" in hardware.table(said)
absent = run()
assert absent.returncode == 0 and absent.stdout.startswith("Not measured: no GPU"), absent
refused = run("--device", "cpu", "--page")
assert refused.returncode == 2 and "needs a GPU" in refused.stderr, refused
print("dry run, not measured, refused")
