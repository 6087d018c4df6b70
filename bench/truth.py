#!/usr/bin/env python3
"""An expert plan and many random plans of every small model under XLA, resumable: the table of docs/reliability.md.

Examples:
    bench/truth.py [--plans 20] [--models t2b,gns] [--log truth.jsonl] [--seconds N]     runs what the log lacks
    bench/truth.py --log truth.jsonl --table                                             prints the table

Every line of the log is one module: model, mesh, plan's seed, form, status (equal, different, inconclusive, refused),
largest error, seconds. A run that was stopped goes on where it ended.
"""
import argparse
import json
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "truth"))
import venv  # noqa: E402

p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
p.add_argument("--plans", type=int, default=20)
p.add_argument("--models", default="")
p.add_argument("--log", default="truth.jsonl")
p.add_argument("--seconds", type=float, default=1e9)
p.add_argument("--table", action="store_true")
a = p.parse_args()

venv.enter()   # after the options: asking for help needs no referee
import candidates  # noqa: E402


def table(rows):
    print("| model | plans | annotated | manual | local | largest error | seconds a module |")
    print("|---|---|---|---|---|---|---|")
    for model in sorted({r["model"] for r in rows}):
        mine = [r for r in rows if r["model"] == model]
        cells = []
        for form in candidates.FORMS:
            of_form = [r for r in mine if r["form"] == form]
            equal = sum(r["status"] == "equal" for r in of_form)
            others = sorted({r["status"] for r in of_form} - {"equal"})
            cells.append(f"{equal}/{len(of_form)}" + (f" ({', '.join(others)})" if others else ""))
        plans = len({(r["mesh"], r["plan"]) for r in mine})
        error = max((r["error"] for r in mine if r["status"] == "equal"), default=0.0)
        seconds = sum(r["seconds"] for r in mine) / len(mine)
        print(f"| {model} | {plans} | {' | '.join(cells)} | {error:.1e} | {seconds:.1f} |")


def main():
    rows = [json.loads(line) for line in open(a.log)] if os.path.exists(a.log) else []
    if a.table:
        table(rows)
        return 0
    done = {(r["model"], r["mesh"], r["plan"]) for r in rows}
    start = time.time()
    files = {candidates.model_name(f): f for f in sorted(candidates.model_files(), key=os.path.getsize)}
    models = a.models.split(",") if a.models else [m for m in files if m != "t2b.loc"]
    subjects = {}
    with open(a.log, "a") as log:
        for k in range(-1, a.plans):   # one plan of every model, then the next: a run cut short covers all models
            for name in models:
                mesh, plan = (candidates.MESHES[k % 3], 5000 + k) if k >= 0 else ("data=4,model=2", "expert")
                if (name, mesh, plan) in done or (k < 0 and name not in candidates.EXPERT):
                    continue
                if time.time() - start > a.seconds:
                    break
                if name not in subjects:
                    subjects[name] = candidates.Subject(files[name], wide=True)
                how = ["--random-plan", str(plan)] if k >= 0 else ["--baseline", candidates.EXPERT[name]]
                try:
                    verdicts = candidates.try_plan(subjects[name], ["--mesh", mesh, *how], permute=k % 2 == 1)
                except Exception as e:
                    verdicts = {f: ("refused", str(e)[:600], 0.0) for f in candidates.FORMS}
                for form, (status, line, seconds) in verdicts.items():
                    found = re.search(r"largest error ([\d.e+-]+)", line)
                    row = {"model": name, "mesh": mesh, "plan": plan, "form": form, "status": status, "line": line,
                           "error": float(found.group(1)) if found else 0.0, "seconds": round(seconds, 2)}
                    rows.append(row)
                    log.write(json.dumps(row) + "\n")
                    if status != "equal":
                        print(f"{name} {mesh} plan {plan} {form}: {line}", flush=True)
                log.flush()
    table(rows)
    return 0 if all(r["status"] == "equal" for r in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
