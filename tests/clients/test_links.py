#!/usr/bin/env python3
# label: truth
# timeout: 300
"""The links decide how a mixture of experts is split (CFP's sections 2.2 and 5.7): by planner `segments` experts are spread over devices that
PCIe joins, where every other split sends more; over NVLink, and over two hosts of four, they are not."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import support

support.enter("truth")

sys.path.insert(0, os.path.join(support.SOURCE, "tests", "support"))
import generate_segments as models  # noqa: E402

SIZES = {"BATCH": 128, "TOKENS": 512, "WIDTH": 1024, "HEADS": 16, "HIDDEN": 4096, "VOCABULARY": 8192, "EXPERTS": 8}
PCIE = {"gigabytes_per_s": 16, "latency_us": 8}


def plan(where, module, mesh):
    """whether both weights of the experts are split by expert; the report"""
    request = os.path.join(where, "request.json")
    pathlib.Path(request).write_text(json.dumps({"mesh": mesh, "device": "a100-80"}))
    done = subprocess.run([os.path.join(support.BIN, "toast"), "plan", module, "--request", request, "--planner", "segments", "--quiet",
                           "--outputs", "plan,report", "-o", where], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found, report = (json.loads(pathlib.Path(where, name).read_text()) for name in ("plan.json", "report.json"))
    experts = [row["dims"] for row in found["arguments"] if row["type"] in ("f32[8,1024,4096]", "f32[8,4096,1024]") and row["role"] == "parameter"]
    assert len(experts) == 2, found["arguments"]
    return all(dims[0] == ["data"] for dims in experts), report


def main():
    for name, size in SIZES.items():
        setattr(models, name, size)
    with tempfile.TemporaryDirectory() as where:
        module = os.path.join(where, "moe.mlir")
        pathlib.Path(module).write_text(models.lower("moe", 2))
        axis = {"name": "data", "size": 8}
        meshes = {"PCIe": {"axes": [axis | {"link": PCIE}]}, "NVLink": {"axes": [axis]}, "two hosts": {"axes": [axis], "devices_per_host": 4}}
        spread, steps = {}, {}
        for name, mesh in meshes.items():
            spread[name], report = plan(where, module, mesh)
            steps[name] = report["summary"]["step_ps"] / 1e9
        print(spread, steps)
        assert spread == {"PCIe": True, "NVLink": False, "two hosts": False}
        assert steps["NVLink"] < steps["two hosts"] < steps["PCIe"]
    return 0


if __name__ == "__main__":
    sys.exit(main())
