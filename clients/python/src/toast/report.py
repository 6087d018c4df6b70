"""report.json, report.txt and report.html of a plan. Never computes: it says what the planner wrote."""
from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


class Report(Mapping[str, Any]):
    """report.json as a mapping; printed, it is report.txt."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._data: dict[str, Any] = json.loads(files["report.json"])
        self.text = files.get("report.txt", b"").decode()
        self.html = files.get("report.html", b"").decode()

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __iter__(self) -> Any:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __str__(self) -> str:
        return self.text
