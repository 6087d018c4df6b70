#!/usr/bin/env python3
"""The long fault run: thousands of small jobs, and prices, while processes of every kind are killed (SIGKILL) and stopped
(SIGSTOP, then SIGCONT), picked from the live process tree.

With --syscalls nobody is killed: one in so many system calls of every process fails, with each error that may come.

Works in pieces, each with a service and a schedule of its own; with --state a run that was cut short, or had --minutes, goes on
where its last whole piece ended, until it has --jobs jobs and --strikes kills and as many stops of each kind.

Example:
  bench/faults.py --jobs 5000 --strikes 100 --seed 1 --state faults.json
  bench/faults.py --state faults.json --minutes 8      # some more pieces of it
  bench/faults.py --state faults.json --table          # only what there is so far
  bench/faults.py --syscalls --jobs 1000 --state syscalls.json

Prints a table for docs/reliability.md; exit status 1 when anything was lost, stuck, wrong, differing or violated, 3 when there is
more to do."""
import argparse
import collections
import datetime
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "faults"))
import chaos
import faults
import syscalls
import tree

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--jobs", type=int, default=5000)
parser.add_argument("--strikes", type=int, default=100, help="kills, and stops, of each kind of process")
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--workers", type=int, default=2)
parser.add_argument("--distinct", type=int, default=250, help="different requests; each has its own reference answer")
parser.add_argument("--rollouts", type=int, default=64)
parser.add_argument("--piece", type=float, default=3, help="minutes of a piece")
parser.add_argument("--minutes", type=float, default=1e9, help="begin no piece after these")
parser.add_argument("--state", type=pathlib.Path, help="a file that keeps what was done")
parser.add_argument("--syscalls", action="store_true", help="system calls fail")
parser.add_argument("--table", action="store_true", help="run nothing")


def say(text):
    print(text, file=sys.stderr, flush=True)


def empty(options):
    return {"seed": options.seed, "expected": {}, "pieces": []}


def total(state, name):
    """of a figure of all pieces: a number, or numbers by name"""
    values = [piece[name] for piece in state["pieces"]]
    if not values or not isinstance(values[0], dict):
        return sum(values)
    return sum((collections.Counter(value) for value in values), collections.Counter())


def over(state, options):
    strikes = total(state, "strikes") if state["pieces"] and not options.syscalls else {}
    return (total(state, "jobs") >= options.jobs and
            (options.syscalls or
             all(strikes.get(f"{kind} {act}", 0) >= options.strikes for kind in tree.KINDS for act in chaos.ACTS)))


def save(state, path):
    if path:
        scratch = path.with_suffix(".new")
        scratch.write_text(json.dumps(state))
        scratch.rename(path)


def struck(state):
    strikes = total(state, "strikes")
    return [(f"{kind}: killed, stopped", ", ".join(str(strikes[f"{kind} {act}"]) for act in chaos.ACTS)) for kind in tree.KINDS]


def failed(state):
    """calls that failed, by kind of process with the call and its errors"""
    rows, errors = [], total(state, "failed")
    for kind in syscalls.KINDS:
        of_calls = []
        for call in syscalls.CALLS:
            mine = {key.split()[2]: n for key, n in errors.items() if key.split()[:2] == [kind, call]}
            if mine:
                of_calls.append(f"{call} {sum(mine.values())} ({', '.join(f'{name} {n}' for name, n in sorted(mine.items()))})")
        rows.append((f"calls of {kind} that failed", "; ".join(of_calls) or "0"))
    return rows


def table(state, options):
    bad, deaths, refused = (total(state, name) for name in ("bad", "deaths", "prices_refused"))
    rows = [("date", datetime.date.today().isoformat()), ("seed", state["seed"]), ("pieces", len(state["pieces"])),
            ("minutes", f"{total(state, 'seconds') / 60:.1f}"), ("jobs acknowledged", total(state, "jobs")),
            ("prices right; refused with the true reason; cut off with their server",
             f"{total(state, 'prices')}; {sum(refused.values())}; {total(state, 'prices_cut')}"),
            *(failed(state) if options.syscalls else struck(state)),
            ("attempts lost, by reason", ", ".join(f"{reason} {n}" for reason, n in sorted(deaths.items()) if n)),
            ("leases that ran out", total(state, "lease_lost")), ("writes fenced off", total(state, "fenced")),
            ("tasks done twice", total(state, "repeated")), ("lost", bad["lost"]), ("stuck", bad["stuck"]),
            ("submitted twice (a lost answer, the same key again)", bad["duplicates"]),
            ("ended otherwise than succeeded", bad["not_succeeded"] + bad["wrong_reason"]),
            ("wrong reasons (of jobs, prices, lost attempts)",
             sum(bad[name] for name in bad if name in ("wrong_reason", "wrong_prices") or name.startswith("deaths by"))),
            ("artifacts that differ", bad["differing"]), ("results that differ when repeated", bad["nondeterminism"]),
            ("invariants violated", bad["violations"])]
    print("| | figure |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value} |")
    return any(bad.values())


def piece(state, options, expected):
    seed = state["seed"] * 1000 + len(state["pieces"])
    done = total(state, "jobs")
    say(f"piece {len(state['pieces'])}, seed {seed}, {done} jobs before it")
    left, seconds = max(1, options.jobs - done), 60 * options.piece
    if options.syscalls:
        return syscalls.run(left, seed, workers=options.workers, rollouts=options.rollouts, seconds=seconds, say=say, expected=expected)
    return chaos.run(left, seed, options.workers, rollouts=options.rollouts, least=options.strikes, seconds=seconds, say=say,
                     expected=expected)


def main():
    options = parser.parse_args()
    state = json.loads(options.state.read_text()) if options.state and options.state.exists() else empty(options)
    began = time.monotonic()
    if not state["expected"] and not options.table:
        say(f"{options.distinct} reference answers by toast plan")
        state["expected"] = faults.references(range(options.distinct), options.rollouts)
        save(state, options.state)
    expected = {int(number): digests for number, digests in state["expected"].items()}
    while not options.table and not over(state, options) and (time.monotonic() - began) / 60 < options.minutes:
        state["pieces"].append(piece(state, options, expected))
        save(state, options.state)
        if any(state["pieces"][-1]["bad"].values()):
            break
    bad = table(state, options)
    return 1 if bad else 0 if over(state, options) or options.table else 3


if __name__ == "__main__":
    sys.exit(main())
