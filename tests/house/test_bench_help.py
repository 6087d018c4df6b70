#!/usr/bin/env python3
# label: unit
"""Every program of bench/ says with --help how it is used, what it measures and an example, and refuses an option that it does not
know with status 2, before it measures anything."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("TOAST_BIN", ROOT / "build/release/bin"))
# generate_layers.py and referee_models.py are for whoever has JAX; options are read before JAX is looked for
programs = [BIN / f"bench_{source.stem}" for source in sorted((ROOT / "bench").glob("*.c"))]
programs += sorted((ROOT / "bench").glob("*.py")) + [ROOT / "bench" / name for name in ("all", "referee", "simulate")]
programs += [path for path in sorted((ROOT / "bench/paper").iterdir()) if path.is_file()]
problems = []
for program in programs:
    asked = subprocess.run([program, "--help"], capture_output=True, text=True, timeout=20)
    name = program.name
    if asked.returncode or asked.stderr:
        problems.append(f"{name} --help: status {asked.returncode} {asked.stderr[-200:]}")
    if "usage: " + name not in asked.stdout:
        problems.append(f"{name} --help names no usage")
    if "xample" not in asked.stdout or len(asked.stdout.split("\n")) < 6:
        problems.append(f"{name} --help says too little")
    refused = subprocess.run([program, "--no-such-option"], capture_output=True, text=True, timeout=20)
    if refused.returncode != 2 or not refused.stderr or refused.stdout:
        problems.append(f"{name} --no-such-option: status {refused.returncode}, {refused.stdout[:100]!r} {refused.stderr[-200:]!r}")
assert len(programs) > 15
print("\n".join(problems) if problems else f"{len(programs)} programs answer")
sys.exit(1 if problems else 0)
