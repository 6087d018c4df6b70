#!/usr/bin/env python3
# label: unit
# timeout: 300
"""No finding in any tracked file: scripts/format --check, clang-tidy (.clang-tidy), ruff (ruff.toml), shellcheck (.shellcheckrc);
no test function that nobody calls. The environment of the linters is what scripts/lint-venv makes; clang-tidy reads the commands of the
build under test."""
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TOAST_BIN", ROOT / "build/release/bin")).parent
FILES_A_RUN = 12   # of clang-tidy: its start takes as long as a file


def run(*command):
    done = subprocess.run([str(part) for part in command], cwd=ROOT, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def scripts(*interpreters):
    """tracked files whose first line names one of the interpreters"""
    found = []
    for name in tracked:
        with open(ROOT / name, "rb") as file:
            first = file.readline(80).decode(errors="replace").split()
        if first and first[0].startswith("#!") and any(pathlib.Path(word.removeprefix("#!")).name in interpreters for word in first[:2]):
            found.append(name)
    return found


def c_files():
    """what the build compiles: tracked, and not made for another build (a fuzzer's driver)"""
    commands = json.loads((BUILD / "compile_commands.json").read_text())
    compiled = {os.path.relpath(entry["file"], ROOT) for entry in commands}
    return [name for name in tracked if name.endswith(".c") and name in compiled]


def tidy(tool, names):
    status, text = run(tool, "-p", BUILD, "--quiet", *names)
    findings = [line for line in text.split("\n") if ": error: " in line or ": warning: " in line]
    return findings or ([text] if status else [])


listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
tracked = [name for name in listed if name and (ROOT / name).is_file() and not (ROOT / name).is_symlink()]
status, where = run("scripts/lint-venv")
if status:
    sys.exit(f"scripts/lint-venv failed:\n{where}")
tools = pathlib.Path(where.strip().split("\n")[-1])
if not shutil.which("shellcheck"):
    sys.exit("shellcheck is not there: scripts/install installs it")

problems = []
shell, python, c = scripts("sh", "bash"), sorted({*scripts("python3"), *(n for n in tracked if n.endswith(".py"))}), c_files()
assert len(shell) > 10 and len(python) > 50 and len(c) > 300, (len(shell), len(python), len(c))
for command in (("scripts/format", "--check"), ("shellcheck", "-f", "gcc", *shell), (tools / "ruff", "check", "--no-cache", "-q", *python)):
    status, text = run(*command)
    if status:
        problems.append(text)
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    pieces = [c[i:i + FILES_A_RUN] for i in range(0, len(c), FILES_A_RUN)]
    found = pool.map(lambda names: tidy(tools / "clang-tidy", names), pieces)
    problems += sorted({line for piece in found for line in piece})
for name in python:   # a test that nobody calls passes for ever
    text = (ROOT / name).read_text()
    called = set(re.findall(r"\btest_\w+", re.sub(r"^def test_\w+", "", text, flags=re.M)))
    problems += [f"{name}: {test} is never called" for test in re.findall(r"^def (test_\w+)\(", text, re.M) if test not in called]
print("\n".join(problems) if problems else f"{len(c)} C files, {len(python)} in Python, {len(shell)} shell scripts: no finding")
sys.exit(1 if problems else 0)
