#!/usr/bin/env python3
# label: truth
# timeout: 300
"""bench/hardware.py as a dry run on a CPU: kernels, local modules without their collectives and programs of segments are made, run and summed
up; the table says that it measured nothing of the device; what a GPU's log has is compared with today's prices; a CPU's figures never reach the page."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/truth"), str(ROOT / "bench")]
import venv  # noqa: E402

venv.enter()
import hardware  # noqa: E402

ENVIRONMENT = dict(os.environ, JAX_PLATFORMS="cpu", TOAST_BIN=venv.BIN)


def run(program, *arguments):
    return subprocess.run([sys.executable, str(ROOT / "bench" / program), *map(str, arguments)], env=ENVIRONMENT, capture_output=True, text=True)


def succeed(*arguments):
    done = run(*arguments)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


with tempfile.TemporaryDirectory() as made:
    folder, log = pathlib.Path(made, "modules"), pathlib.Path(made, "log")
    succeed("hardware.py", "prepare", "--small", folder)
    index = json.loads((folder / "index.json").read_text())
    assert all(row["collectives"] > 0 for row in index if row["group"] == "step"), index
    assert {row["group"] for row in index} == set(hardware.hardware_modules.GROUPS), index
    succeed("hardware_measure.py", folder, folder / "measured", "--platform", "cpu", "--only", "matmul", "rows", "step", "segment")
    succeed("hardware.py", "collect", folder, "--log", log)
    said = hardware.read(log / "cpu.json.gz")
    assert len(said["modules"]) == sum(row["group"] in ("matmul", "rows", "step", "segment") for row in index), said
    for row in said["modules"]:
        assert "error" not in row and row["other_us"] > 0 and row["arguments"] + row["outputs"] > 0, row
    table = succeed("hardware.py", "table", folder, "--log", log, "--device", "cpu")
    assert "A dry run" in table and "| mlp, data=2,model=2, " in table and "programs of segments" in table, table
    absent = run("hardware.py", "table", folder, "--log", log, "--device", "b200")
    assert absent.returncode == 1 and "not measured" in absent.stderr, absent
refused = run("hardware.py", "table", ".", "--device", "cpu", "--page")
assert refused.returncode == 2 and "needs one" in refused.stderr, refused

HLO = """%repeated (param_0: f32[4]) -> f32[8] {
  %param_0 = f32[4]{0} parameter(0)
  ROOT %concatenate.1 = f32[8]{0} concatenate(%param_0, %param_0), dimensions={0}
}
%joined (param_0: f32[4], param_1: f32[4]) -> f32[8] {
  %param_0 = f32[4]{0} parameter(0)
  %param_1 = f32[4]{0} parameter(1)
  ROOT %concatenate.2 = f32[8]{0} concatenate(%param_0, %param_1), dimensions={0}
}
ENTRY %main (a: f32[4], b: f32[4]) -> f32[8] {
  %a = f32[4]{0} parameter(0)
  %b = f32[4]{0} parameter(1)
  %twice.1 = f32[8]{0} fusion(%a), kind=kLoop, calls=%repeated
  ROOT %both.1 = f32[8]{0} fusion(%a, %b), kind=kLoop, calls=%joined
}
"""
assert hardware.stand_ins(HLO) >= {"twice_1"} and "both_1" not in hardware.stand_ins(HLO), hardware.stand_ins(HLO)
print("dry run, sums, stand-ins, refusals")
