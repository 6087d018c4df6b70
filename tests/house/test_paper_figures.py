#!/usr/bin/env python3
# label: unit
"""bench/paper/all keeps what it ran: a second time runs nothing, a line that was cut short is run again; unknown figures are refused; every figure
has its place in docs/paper.md; what figure 9 cuts by the clock is more than so many times as slow."""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RESULT = '{"hash": "0123456789abcdef0123456789abcdef", "evaluations": 7}'


# a search by argument is cut at 90 s, above the cost that the other one ends with in 3
CUT = """#!/bin/sh
case "$*" in
*--replays*) echo '{"cpu_s": 1, "replays": 10, "actions": 4, "offered": 5}' ;;
*argument*--seconds*) echo '{"cpu_s": 90, "c": 0.5, "over_steps": 0, "rollouts": 40, "stop_reason": "seconds", "curve": [[40, 0.5, 0]]}' ;;
*) echo '{"cpu_s": 3, "c": 0.25, "over_steps": 0, "rollouts": 200, "stop_reason": "budget", "curve": [[200, 0.25, 0]]}' ;;
esac
"""


def check(ok, what):
    if not ok:
        sys.exit(f"failed: {what}")


def run(*arguments, **environment):
    return subprocess.run([sys.executable, ROOT / "bench/paper/all", *map(str, arguments)], capture_output=True, text=True,
                          env={**os.environ, **environment})


with tempfile.TemporaryDirectory() as scratch:
    folder = pathlib.Path(scratch)
    calls, state = folder / "calls", folder / "state"
    program = folder / "bench_rollouts"
    program.write_text(f"#!/bin/sh\necho \"$@\" >> {calls}\necho '{RESULT}'\n")
    program.chmod(0o755)
    for cut in (False, False, True):
        before = len(calls.read_text().splitlines()) if calls.exists() else 0
        if cut:
            runs = state / "runs.jsonl"
            runs.write_text(runs.read_text()[:-20])
        done = run("--state", state, "--only", "workers", TOAST_BIN=scratch)
        check(done.returncode == 0 and done.stdout.count("| one |") == 3, done.stdout + done.stderr)
        made = len(calls.read_text().splitlines()) - before
        check(made == (1 if cut else 9 if before == 0 else 0), f"{made} runs, {before} before")
    check("| one |" in (state / "workers.md").read_text(), "the table is kept")
    refused = run("--state", state, "--only", "figure99")
    check(refused.returncode == 2 and "figure99" in refused.stderr, refused.stderr)
    check(run("--only", "workers").returncode == 2, "a folder is needed")
with tempfile.TemporaryDirectory() as scratch:
    program = pathlib.Path(scratch) / "bench_rollouts"
    program.write_text(CUT)
    program.chmod(0o755)
    done = run("--state", pathlib.Path(scratch) / "state", "--only", "figure9", TOAST_BIN=scratch)
    check(done.returncode == 0 and done.stdout.count("| 3.00 s | > 90.00 s | > 30 |") == 4, done.stdout + done.stderr)
figures = set(re.findall(r"^(\w+)", run("--list").stdout, re.M))
marks = set(re.findall(r"<!-- bench/paper/all: ([\w-]+) -->", (ROOT / "docs/paper.md").read_text()))
check(figures == marks, f"figures and docs/paper.md differ: {sorted(figures ^ marks)}")
