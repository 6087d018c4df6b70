#!/usr/bin/env python3
"""usage: slider.py MODULE --mesh AXES --device NAME [--rollouts N] [--steps 8] [--factor 0.8] [--json]

Speed against memory: plans under limits that go down by a factor from what the fastest plan takes until nothing fits, and of these the plan
that a weight of memory picks (C(s) = step / step unsharded + weight x peak / peak unsharded; the paper's section 4.5 with a limit of 0).
Our search holds a limit as a limit, whatever it costs; so a weight's plan is taken from those of the limits.

Needs a release build. Example: bench/paper/slider.py tests/models/t2b_scan.mlir.gz --mesh data=4,model=4 --device a100-40 --rollouts 500
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("TOAST_BIN", ROOT / "build" / "release" / "bin"))
WEIGHTS = [0, 0.1, 0.2, 0.5, 1, 2, 5, 10]
NO_LIMIT = 1 << 50
NOTHING_FITS = 3


def plan(options, limit):
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run([BIN / "toast", "plan", options.module, "--mesh", options.mesh, "--device", options.device, "--rollouts",
                               str(options.rollouts), "--memory-limit", str(limit), "--outputs", "plan,report", "--quiet", "-o", scratch],
                              capture_output=True, text=True)
        if done.returncode not in (0, NOTHING_FITS):
            sys.exit(done.stderr)
        report = json.loads((pathlib.Path(scratch) / "report.json").read_text())
    unsharded = next(row for row in report["baselines"] if row["name"] == "replicated")
    return {"limit_bytes": limit, "step_ps": report["summary"]["step_ps"], "peak_bytes": report["summary"]["peak_bytes"],
            "fits": done.returncode == 0, "decisions": [d["decision"] for d in report["decisions"]] or [f"of {report['summary']['found_by']}"],
            "unsharded": [unsharded["step_ps"], unsharded["peak_bytes"]]}


def sweep(options):
    rows = [plan(options, NO_LIMIT)]
    rows[0]["limit_bytes"] = rows[0]["peak_bytes"]
    while len(rows) < options.steps and rows[-1]["fits"]:
        # a plan that stays below the next limit is that limit's plan, too
        rows.append(plan(options, int(min(rows[-1]["limit_bytes"], rows[-1]["peak_bytes"]) * options.factor)))
    return rows


def weighed(rows, weight):
    step, peak = rows[0]["unsharded"]
    return min((row for row in rows if row["fits"]), key=lambda row: row["step_ps"] / step + weight * row["peak_bytes"] / peak)


def main():
    parser = argparse.ArgumentParser(prog="slider.py", usage=__doc__.split("\n")[0].removeprefix("usage: "), description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module")
    parser.add_argument("--mesh", required=True)
    parser.add_argument("--device", required=True)
    parser.add_argument("--rollouts", type=int, default=1000)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--factor", type=float, default=0.8)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not 0 < options.factor < 1:
        parser.error("--factor is between 0 and 1")
    rows = sweep(options)
    chosen = [{"weight": weight, **weighed(rows, weight)} for weight in WEIGHTS]
    if options.json:
        print(json.dumps({"limits": rows, "weights": chosen}))
        return 0
    print("| limit GiB | step ms | peak GiB | fits |\n|---|---|---|---|")
    for row in rows:
        print(f"| {row['limit_bytes'] / 2**30:.2f} | {row['step_ps'] / 1e9:.2f} | {row['peak_bytes'] / 2**30:.2f} | {'yes' if row['fits'] else 'no'} |")
    print("\n| weight of memory | step ms | peak GiB | decisions |\n|---|---|---|---|")
    for row in chosen:
        print(f"| {row['weight']:g} | {row['step_ps'] / 1e9:.2f} | {row['peak_bytes'] / 2**30:.2f} | {' '.join(row['decisions'])} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
