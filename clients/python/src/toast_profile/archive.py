"""segments.tar, as `toast plan --outputs segments` writes it: the manifest and the programs' texts.

Promises: a file is looked at before it is believed: format, digests, names. Never unpacks anything to disk.
"""
from __future__ import annotations

import dataclasses
import hashlib
import json
import os
import tarfile
from typing import Any

FORMAT = "toast-segments 1"


class BadArchive(Exception):
    """no segments.tar of this format, or a damaged one"""


@dataclasses.dataclass(frozen=True)
class Program:
    """One module to time; equal ones stand in the archive once."""
    digest: str
    segment: str            # digest of its original
    name: str               # what it stands for, the first of the names
    is_pair: bool
    collectives: int


class Archive:
    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        try:
            with tarfile.open(self.path) as tar:
                files = {entry.name: tar.extractfile(entry) for entry in tar.getmembers() if entry.isfile()}
                self._texts = {name: file.read() for name, file in files.items() if file}
        except (tarfile.TarError, EOFError) as error:
            raise BadArchive(f"{self.path} is no tar archive: {error}") from error
        try:
            self.manifest: dict[str, Any] = json.loads(self._texts["programs.json"])
            said = self.manifest["format"]
        except (KeyError, ValueError, TypeError) as error:
            raise BadArchive(f"{self.path} has no programs.json that can be read: {error!r}") from error
        if said != FORMAT:
            raise BadArchive(f"{self.path} has the format {said!r}, this is for {FORMAT!r}")
        self.devices: int = self.manifest["devices"]
        self.programs = self._distinct()

    def _distinct(self) -> list[Program]:
        found: dict[str, Program] = {}
        for row in self.manifest["programs"]:
            if row["digest"] not in found:
                found[row["digest"]] = Program(row["digest"], row["segment"], row["name"], "pair" in row, row["collectives"])
        return list(found.values())

    def text(self, program: Program) -> str:
        data = self._texts.get(f"programs/{program.digest}.mlir")
        if data is None:
            raise BadArchive(f"{self.path} lacks the program {program.digest} ({program.name})")
        if hashlib.sha256(data).hexdigest()[:len(program.digest)] != program.digest:
            raise BadArchive(f"{self.path}: the program {program.digest} ({program.name}) is not what its digest says")
        return data.decode()
