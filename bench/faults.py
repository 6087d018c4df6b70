#!/usr/bin/env python3
"""The long fault run: thousands of small jobs while workers, their children, the server and Redis are killed with SIGKILL.

Example:
  bench/faults.py --jobs 5000 --seed 1 --distinct 250 --workers 2

Prints a table for docs/reliability.md; exit status 1 when anything was lost, stuck, wrong, differing or violated."""
import argparse
import datetime
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "faults"))
import chaos

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--jobs", type=int, default=5000)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--workers", type=int, default=2)
parser.add_argument("--distinct", type=int, default=250, help="different requests; each has its own reference answer")
parser.add_argument("--rollouts", type=int, default=64)
arguments = parser.parse_args()
figures = chaos.run(arguments.jobs, arguments.seed, arguments.workers, arguments.distinct, arguments.rollouts,
                    say=lambda text: print(text, file=sys.stderr, flush=True))
kills, bad = figures["kills"], figures["bad"]
rows = [("date", datetime.date.today().isoformat()), ("seed", figures["seed"]), ("jobs acknowledged", figures["jobs"]),
        ("minutes", f"{figures['seconds'] / 60:.1f}"),
        *((f"kill -9 of {victim}", kills.get(victim, 0)) for victim in ("worker", "child", "server", "redis")),
        ("leases that ran out", figures["lease_lost"]), ("writes fenced off", figures["fenced"]),
        ("tasks done twice", figures["repeated"]), ("lost", bad["lost"]), ("stuck", bad["stuck"]),
        ("submitted twice (a lost answer, the same key again)", bad["duplicates"]),
        ("ended otherwise than succeeded", bad["not_succeeded"]), ("artifacts that differ", bad["differing"]),
        ("results that differ when repeated", bad["nondeterminism"]), ("invariants violated", bad["violations"])]
print("| | |\n|---|---|")
for name, value in rows:
    print(f"| {name} | {value} |")
sys.exit(1 if any(bad.values()) else 0)
