"""The program `toast`: where it is, and a plan by it in a process of its own.

Looked for in this order: $TOAST_BIN (the program, or the folder that it is in), the wheel's own, PATH, the build of the
source tree that this file lies in. Promises: the child does not outlive the call. Never downloads anything.
"""
from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from typing import Any

from .errors import BinaryNotFound, ModuleRefused, PlanningFailed, RequestRefused

_HERE = pathlib.Path(__file__).resolve().parent


def _is_program(path: pathlib.Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def find() -> pathlib.Path:
    """The program; BinaryNotFound names where it was looked for."""
    named = os.environ.get("TOAST_BIN")
    if named:
        path = pathlib.Path(named)
        path = path / "toast" if path.is_dir() else path
        if _is_program(path):
            return path
        raise BinaryNotFound(f"TOAST_BIN is {named!r}: there is no program {path}")
    if _is_program(_HERE / "bin" / "toast"):
        return _HERE / "bin" / "toast"
    found = shutil.which("toast")
    if found:
        return pathlib.Path(found)
    for folder in _HERE.parents:
        if _is_program(folder / "build" / "release" / "bin" / "toast"):
            return folder / "build" / "release" / "bin" / "toast"
    raise BinaryNotFound("the program 'toast' is neither in this package nor on PATH: set TOAST_BIN to it (scripts/build makes "
                         "build/release/bin/toast), or use a service with url='http://..'")


def _environment(program: pathlib.Path) -> dict[str, str]:
    """The wheel's own programs find their libraries beside them."""
    environment = dict(os.environ)
    libraries = program.parent / "lib"
    if program.parent == _HERE / "bin" and libraries.is_dir():
        environment["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, [str(libraries), environment.get("LD_LIBRARY_PATH")]))
    return environment


def _failure(status: int, lines: list[str], folder: str) -> PlanningFailed:
    said = [line for line in lines if line.strip()] or ["it said nothing"]
    text = said[-1].replace(folder + os.sep, "").removeprefix("toast plan: ")
    if status in (2, 4):
        return RequestRefused(text, status=status)
    if status == 6:
        return ModuleRefused(text, status=status)
    return PlanningFailed(f"toast plan ended with status {status}: {text}", status=status)


def run(arguments: list[str], line: Callable[[str], None] | None = None) -> tuple[int, str, list[str]]:
    """Exit status, standard output and the lines of standard error, which `line` gets as they come."""
    lines: list[str] = []
    program = find()
    with tempfile.TemporaryFile("w+") as out, subprocess.Popen(
            [str(program), *arguments], env=_environment(program), stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.PIPE, text=True,
            errors="replace") as child:
        try:
            assert child.stderr is not None
            for text in child.stderr:
                lines.append(text.rstrip("\n"))
                if line:
                    line(lines[-1])
            status = child.wait()
        except BaseException:
            child.kill()
            raise
        out.seek(0)
        return status, out.read(), lines


def plan(module: str, request: Mapping[str, Any], line: Callable[[str], None] | None = None) -> dict[str, bytes]:
    """The files of `toast plan`, by name. Nothing fits is no error (the report says so)."""
    with tempfile.TemporaryDirectory(prefix="toast-") as folder:
        where = pathlib.Path(folder)
        (where / "module.mlir").write_text(module)
        (where / "request.json").write_text(json.dumps(request))
        status, _, lines = run(["plan", str(where / "module.mlir"), "--request", str(where / "request.json"),
                                "-o", str(where / "out")], line)
        out = where / "out"
        files = {path.relative_to(out).as_posix(): path.read_bytes() for path in out.rglob("*") if path.is_file()}
        if "plan.json" not in files:
            raise _failure(status, lines, folder)
        if status == 1:     # the files are there and a proof failed
            raise PlanningFailed("toast plan: the proof failed: original and sharded module differ", status=status)
        return files
