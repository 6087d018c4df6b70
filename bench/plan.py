#!/usr/bin/env python3
"""From module to plan: what `toast plan` finds for the modules of the papers and for Llama 8B at several depths, against the best expert
plan, and how long it takes.

Example:
    bench/plan.py --runs 3

Columns: cost (by which plans are ordered), step and peak of the plan; the same of the best expert plan; how much dearer that is; wall
seconds of the whole command (median of the runs) and their goal; seconds of processors (median); megabytes of the largest process; of the last run's
wall seconds the search and what follows it. The goal of 96 layers is 1.3 times what 18 take. Llama's modules are lowered first, with JAX
(TOAST_PYTHON, else scripts/truth-venv's)."""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("TOAST_BIN", ROOT / "build/release/bin"))
PYTHON = os.environ.get("TOAST_PYTHON", ROOT / ".venv/bin/python")
SHALLOW, DEEP = "Llama 8B, 18 layers", "Llama 8B, 96 layers"
WORK = [("t2b", "data=8,model=8", "a100-40", 1.5), ("t2b_flat", "data=8,model=8", "a100-40", None), ("t2b", "data=4,model=4", "a100-40", None),
        ("t7b", "data=4,model=4", "a100-40", 2), ("gpt", "data=8,model=8", "a100-40", None), ("gns", "data=4,model=4", "a100-40", None),
        ("unet", "data=4,model=4", "a100-40", None), (SHALLOW, "data=8,model=8", "h100", None),
        ("Llama 8B, 32 layers", "data=8,model=8", "h100", 2.5), (DEEP, "data=8,model=8", "h100", None)]


def module(model, folder):
    if not model.startswith("Llama"):
        return ROOT / "tests/models" / f"{model}.mlir.gz"
    layers = model.split()[2]
    path = pathlib.Path(folder) / f"layers_{layers}_llama.mlir"
    if not path.exists():
        subprocess.run([PYTHON, ROOT / "bench/generate_layers.py", folder, layers, "--llama"], check=True, stdout=subprocess.DEVNULL)
    return path


def plan(path, mesh, device, folder):
    """-> report, timing, wall seconds, the process' resources"""
    began = time.monotonic()
    child = subprocess.Popen([BIN / "toast", "plan", path, "--mesh", mesh, "--device", device, "-o", folder, "--quiet"],
                             stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 3):   # 3: no plan fits, and the best one is written
        sys.exit(f"{path}, {mesh}: toast plan ended with status {child.returncode}")
    wall = time.monotonic() - began
    return *(json.loads((pathlib.Path(folder) / name).read_text()) for name in ("report.json", "timing.json")), wall, used


def figure(row):
    return f"{row['step_ps'] * 1e-9:.0f} ms, {row['peak_bytes'] * 1e-9:.1f} GB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1, help="of each row; default 1")
    runs = parser.parse_args().runs
    print("| model, mesh, device | C | step, peak | best expert's C | its step, peak | dearer | all s | goal s | processor s | MB | search s | "
          "finish s |\n|---|---|---|---|---|---|---|---|---|---|---|---|", flush=True)
    walls = {}
    with tempfile.TemporaryDirectory() as modules:
        for model, mesh, device, goal in WORK:
            path = module(model, modules)
            with tempfile.TemporaryDirectory() as folder:
                seen = [plan(path, mesh, device, folder) for _ in range(runs)]
            report, timing, _, used = seen[-1]
            mine = report["summary"]
            expert = min((row for row in report["baselines"] if row["name"] not in ("cfn", "segments")), key=lambda row: row["cost"])
            walls[model] = statistics.median(run[2] for run in seen)
            goal = 1.3 * walls[SHALLOW] if model == DEEP else goal
            processor = statistics.median(run[3].ru_utime + run[3].ru_stime for run in seen)
            print(f"| {model}, {mesh}, {device} | {mine['cost']:.6f} | {figure(mine)} | {expert['cost']:.6f} | {figure(expert)} ({expert['name']}) | "
                  f"{100 * (expert['cost'] / mine['cost'] - 1):+.1f} % | {walls[model]:.2f} | {f'{goal:.2g}' if goal else ''} | {processor:.2f} | "
                  f"{used.ru_maxrss / 1024:.0f} | {timing['search_s']:.2f} | {timing['finish_s']:.2f} |", flush=True)


if __name__ == "__main__":
    main()
