#!/usr/bin/env python3
# label: unit
# timeout: 240
"""docs/op-status.md is what scripts/op-status writes from a run of this build."""
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ.setdefault("TOAST_BIN", str(ROOT / "build/release/bin"))
done = subprocess.run([ROOT / "scripts/op-status", "--check"], capture_output=True, text=True)
sys.exit(done.stdout + done.stderr if done.returncode else 0)
