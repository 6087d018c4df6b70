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
