"""What the planner wrote of a plan, whatever framework it is for: its files, its report, what it costs. Never computes."""
from __future__ import annotations

import json
import pathlib
import warnings
from collections.abc import Mapping
from typing import Any

from .errors import DoesNotFitWarning


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


class PlanFiles:
    """A plan's files by name, plan.json and the report parsed. Base of toast.Plan and toast.torch.Plan."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self.files = dict(files)
        self.json: dict[str, Any] = json.loads(files["plan.json"])
        self.report = Report(files)

    @property
    def step_time_s(self) -> float:
        """Estimated."""
        return float(self.report["summary"]["step_ps"]) * 1e-12

    @property
    def peak_bytes(self) -> int:
        """On one device."""
        return int(self.report["summary"]["peak_bytes"])

    @property
    def fits(self) -> bool:
        return bool(self.report["summary"]["fits"])

    @property
    def found_by(self) -> str:
        return str(self.json["found_by"])

    @property
    def collectives(self) -> list[dict[str, Any]]:
        """kind, axes, count, bytes .. as report.json has them."""
        return list(self.report["collectives"])

    def write(self, path: str | pathlib.Path) -> pathlib.Path:
        """Every file into a folder, which is made."""
        folder = pathlib.Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(data)
        return folder

    def warn_unless_it_fits(self, step: str) -> None:
        """DoesNotFitWarning, at whoever called plan()."""
        if not self.fits:
            warnings.warn(f"no plan of {step} fits into the memory limit: the one that needs least takes {self.peak_bytes / 1e9:.2f} GB a "
                          "device. plan.report['if_nothing_fits'] says more", DoesNotFitWarning, stacklevel=3)
