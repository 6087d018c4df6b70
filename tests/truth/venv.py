"""Runs the calling script with the referees' Python (scripts/truth-venv makes it), whichever Python started it."""
import os
import subprocess
import sys

SOURCE = os.environ.get("TOAST_SOURCE") or os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.environ.get("TOAST_BIN") or os.path.join(SOURCE, "build", "release", "bin")
MODELS = os.path.join(SOURCE, "tests", "models")


def enter():
    if os.environ.get("TOAST_TRUTH_PYTHON") == sys.executable:
        return
    python = subprocess.run([os.path.join(SOURCE, "scripts", "truth-venv")], check=True, stdout=subprocess.PIPE,
                            text=True).stdout.strip()
    if os.path.realpath(sys.prefix) == os.path.realpath(os.path.dirname(os.path.dirname(python))):
        return
    os.environ["TOAST_TRUTH_PYTHON"] = python
    os.execv(python, [python] + sys.argv)
