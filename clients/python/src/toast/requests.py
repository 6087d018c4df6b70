"""A job request, and the files that answer it: by the program on this machine or by a service. Knows no framework."""
from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from . import binary, names, progress as progress_of, service
from .errors import RequestRefused
from .names import Dims, Leaf

OUTPUTS = ("annotated", "plan", "report")
_SIZES = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def request_of(leaves: Sequence[Leaf], kept: Sequence[int], axes: Mapping[str, int], device: str | Mapping[str, Any],
               dims: Mapping[int, Dims], options: Mapping[str, Any]) -> dict[str, Any]:
    """The job request (openapi.yaml, JobRequest) without the module. kept: the leaves that the module has as arguments."""
    mesh: dict[str, Any] = {"axes": [{"name": axis, "size": size} for axis, size in axes.items()]}
    if options.get("devices_per_host"):
        mesh["devices_per_host"] = options["devices_per_host"]
    request: dict[str, Any] = {"mesh": mesh, "device": device if isinstance(device, str) else dict(device),
                               "argument_names": [leaves[i].name for i in kept],
                               "outputs": sorted({*OUTPUTS, *options.get("outputs", ())})}
    if dims:
        request["constraints"] = names.constraints_of(dims, leaves)
    budget = {key: options[key] for key in ("rollouts", "seconds") if options.get(key) is not None}
    if budget:
        request["budget"] = budget
    for key in ("memory_limit_bytes", "planner", "seed", "trip_counts", "proof", "annotations", "alternatives"):
        if options.get(key) is not None:
            request[key] = options[key]
    return request


def bytes_of(limit: int | str | None) -> int | None:
    """40e9, '38GB', '36 GiB' as bytes."""
    if limit is None or isinstance(limit, (int, float)):
        return None if limit is None else int(limit)
    match = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?i?)b?\s*", limit.lower())
    if not match or match.group(2) not in _SIZES:
        raise RequestRefused(f"memory_limit={limit!r} is no size; write bytes, or '38GB', '36GiB'")
    return int(float(match.group(1)) * _SIZES[match.group(2)])


def plan_files(text: str, request: Mapping[str, Any], url: str | None, key: str | None, patience_s: float,
               progress: progress_of.Progress) -> dict[str, bytes]:
    """Every file of the plan, by name."""
    with progress_of.shown(progress) as say:
        if url:
            return service.Client(url, key, patience_s, say).plan(text, request)
        return binary.plan(text, request, say)
