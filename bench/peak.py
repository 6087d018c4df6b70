#!/usr/bin/env python3
"""Our peak memory against XLA's: every small model under every baseline, the table of docs/performance.md.

Example:
    bench/peak.py --models t2b,gns --mesh data=4,model=2 --log peak.jsonl

XLA's figure is argument + temporary + output - alias of the `manual` form compiled for eight CPU devices (per device).
Every line of the log is one plan; a run that was stopped goes on where it ended (XLA's figures are taken from the log, ours
are priced anew). Ours is what report.json says, the larger of two orders' peaks; the orders alone stand beside it. Exit
status 1 when its ratio is further from 1 than the limit. --library leaves XLA's fusions with its matrix library on.
Rematerialised models are left out: XLA on CPU drops the barriers that keep them so.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "truth"))
import venv  # noqa: E402

MODELS = ["mlp", "paper_attention", "itx", "gpt_torch", "t2b", "t2b_flat", "gns", "gpt", "t2b_scan", "unet"]
p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--models", default=",".join(MODELS))
p.add_argument("--mesh", default="data=4,model=2")
p.add_argument("--log", default="")
p.add_argument("--seconds", type=float, default=1e9)
p.add_argument("--only", default="", help="baselines, separated by commas; default: all")
p.add_argument("--limit", type=float, default=0.15)
p.add_argument("--library", action="store_true", help="XLA as it is: fusions with its matrix library")
a = p.parse_args()

venv.enter()   # after the options: asking for help needs no referee
os.environ["JAX_PLATFORMS"] = "cpu"
# XLA orders CPU programs for parallelism between kernels by default, which gathers every weight at the start; ordered for
# memory it goes depth first from the results, whatever the order in the module (GPUs: the best of three orders). It also
# combines all_reduces that the module keeps apart: what the walk combined is combined already. And it hands dots with what
# follows them to a matrix library of its own, which wants what is added to a product (a mask) in full and in memory.
os.environ["XLA_FLAGS"] = (f"{os.environ.get('XLA_FLAGS', '')} "
                           "--xla_cpu_enable_concurrency_optimized_scheduler=false "
                           "--xla_disable_hlo_passes=cpu-all-reduce-combiner" +
                           ("" if a.library else " --xla_cpu_experimental_ynn_fusion_type="))

import referee  # noqa: E402

TOAST = os.path.join(venv.BIN, "toast")


def model_path(name):
    small = os.path.join(venv.MODELS, "small", name + ".mlir")
    return small if os.path.exists(small) else os.path.join(venv.MODELS, name + ".mlir")


def baselines(path, mesh, order="either"):
    """name -> price of every expert plan"""
    run = subprocess.run([TOAST, "price", path, "--mesh", mesh, "--device", "a100-40", "--backend", "xla_cpu",
                          "--baselines", "--json", "--order", order], stdout=subprocess.PIPE, check=True, text=True)
    return {row["name"]: row for row in json.loads(run.stdout)}


def xla_peak(path, mesh, baseline, folder):
    out = os.path.join(folder, "manual.mlir")
    subprocess.run([TOAST, "lower", path, "--mesh", mesh, "--device", "a100-40", "--baseline", baseline,
                    "--form", "manual", "-o", out],
                   check=True, stderr=subprocess.PIPE)
    count = 1
    for axis in mesh.split(","):
        count *= int(axis.split("=")[1])
    exe = referee.Executable(open(out).read(), "manual", list(range(count)))
    m = exe.exe.get_compiled_memory_stats()
    return {"argument": m.argument_size_in_bytes, "temp": m.temp_size_in_bytes, "output": m.output_size_in_bytes,
            "alias": m.alias_size_in_bytes,
            "peak": m.argument_size_in_bytes + m.temp_size_in_bytes + m.output_size_in_bytes - m.alias_size_in_bytes}


def table(rows, limit):
    print("| model | plans | smallest ours/XLA | largest ours/XLA | mean distance | outside the limit | program order: mean "
          "distance | outside | depth first: mean distance | outside |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for model in MODELS:
        mine = sorted((r for r in rows if r["model"] == model), key=lambda r: r["ours"] / r["xla"]["peak"])
        if not mine:
            continue
        cells = [f"{r['ours'] / r['xla']['peak']:.3f} ({r['plan']})" for r in (mine[0], mine[-1])]
        for key in ("ours", "program", "depth_first"):
            off = [abs(r[key] / r["xla"]["peak"] - 1) for r in mine]
            cells += [f"{sum(off) / len(off):.3f}", str(sum(x > limit for x in off))]
        print(f"| {model} | {len(mine)} | {' | '.join(cells)} |")


def main():
    rows = [json.loads(line) for line in open(a.log)] if a.log and os.path.exists(a.log) else []
    done = {(r["model"], r["mesh"], r["plan"]): r for r in rows}
    rows, start = [], time.time()
    with tempfile.TemporaryDirectory() as folder:
        for model in a.models.split(","):
            path = model_path(model)
            for name, price in baselines(path, a.mesh).items():
                if a.only and name not in a.only.split(","):
                    continue
                known = done.get((model, a.mesh, name))
                if not known and time.time() - start > a.seconds:
                    continue
                row = {"model": model, "mesh": a.mesh, "plan": name, "ours": price["peak_bytes"],
                       "program": price["program_peak_bytes"], "depth_first": price["depth_first_peak_bytes"],
                       "xla": known["xla"] if known else xla_peak(path, a.mesh, name, folder)}
                rows.append(row)
                if a.log and not known:
                    with open(a.log, "a") as log:
                        log.write(json.dumps(row) + "\n")
                ratio = row["ours"] / row["xla"]["peak"]
                print(f"{model:16} {name:44} ours {row['ours']:10} XLA {row['xla']['peak']:10} ratio {ratio:.3f}",
                      file=sys.stderr, flush=True)
    table(rows, a.limit)
    return int(any(abs(r["ours"] / r["xla"]["peak"] - 1) > a.limit for r in rows))


if __name__ == "__main__":
    sys.exit(main())
