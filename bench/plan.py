#!/usr/bin/env python3
"""From module to plan: what `toast plan` finds for the modules of the papers, against the best expert, and how long it takes.

Example:
    bench/plan.py --runs 3

Columns: cost (by which plans are ordered), step and peak of the plan; the same of the best expert plan; how much dearer that is; wall
seconds of the whole command (median of the runs) and its goal, of it the search and what follows it; megabytes of the largest process."""
import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
BIN = pathlib.Path(os.environ.get("TOAST_BIN", ROOT / "build/release/bin"))
WORK = [("t2b", "data=8,model=8", 6), ("t2b_flat", "data=8,model=8", None), ("t2b", "data=4,model=4", 6),
        ("t2b_flat", "data=4,model=4", None), ("t7b", "data=4,model=4", 10)]


def plan(model, mesh, folder):
    """-> report, timing, wall seconds"""
    began = time.monotonic()
    done = subprocess.run([BIN / "toast", "plan", ROOT / "tests/models" / f"{model}.mlir.gz", "--mesh", mesh, "--device", "a100-40", "-o", folder,
                    "--quiet"], stdout=subprocess.DEVNULL)
    if done.returncode not in (0, 3):   # 3: no plan fits, and the best one is written
        sys.exit(f"{model}, {mesh}: toast plan ended with status {done.returncode}")
    wall = time.monotonic() - began
    return *(json.loads((pathlib.Path(folder) / name).read_text()) for name in ("report.json", "timing.json")), wall


def figure(row):
    return f"{row['step_ps'] * 1e-9:.0f} ms, {row['peak_bytes'] * 1e-9:.1f} GB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1, help="of each row; default 1")
    runs = parser.parse_args().runs
    print("| model, mesh | C | step, peak | best expert's C | its step, peak | dearer | all s | goal s | search s | finish s | MB |\n"
          "|---|---|---|---|---|---|---|---|---|---|---|")
    for model, mesh, goal in WORK:
        with tempfile.TemporaryDirectory() as folder:
            seen = [plan(model, mesh, folder) for _ in range(runs)]
        report, timing, _ = seen[-1]
        mine = report["summary"]
        expert = min((row for row in report["baselines"] if row["name"] not in ("cfn", "segments")), key=lambda row: row["cost"])
        wall = statistics.median(s[2] for s in seen)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024   # of all rows so far
        print(f"| {model}, {mesh} | {mine['cost']:.6f} | {figure(mine)} | {expert['cost']:.6f} | {figure(expert)} ({expert['name']}) | "
              f"{100 * (expert['cost'] / mine['cost'] - 1):+.1f} % | {wall:.1f} | {goal or ''} | {timing['search_s']:.1f} | "
              f"{timing['finish_s']:.1f} | {peak:.0f} |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
