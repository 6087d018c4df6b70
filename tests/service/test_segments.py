#!/usr/bin/env python3
# label: service
# timeout: 120
"""Segments through the service: the artifact segments.tar, a profile of its programs kept by name, planner `segments` and `auto` composing
from it, and jobs that fail by name where the profile does not fit."""
import io
import json
import os
import sys
import tarfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

MODEL = (harness.SOURCE / "tests" / "models" / "mlp.mlir").read_text()


def request(devices=4, **more):
    return {"module": {"inline": MODEL}, "mesh": {"axes": [{"name": "data", "size": devices}]}, "device": "a100-40", **more}


def ended(service, asked):
    job = service.json("POST", "/v1/jobs", asked)[1]
    return job["id"], service.wait(job["id"])


def made_up(manifest):
    """a time for every program; the first configuration of a kind is the fastest"""
    segments = {}
    for row in manifest["programs"]:
        segments.setdefault(row["segment"], {})[row["digest"]] = 10 + row.get("configuration", 0) + row["collectives"]
    return {"devices": manifest["devices"], "segments": [
        {"segment": segment, "configurations": [{"configuration": digest, "time_us": us, "peak_bytes": 1000} for digest, us in rows.items()]}
        for segment, rows in segments.items()]}


def test_segments():
    service = harness.Service(workers=1)
    try:
        job, state = ended(service, request(planner="baselines", outputs=["plan", "segments"], proof=True))
        assert state["state"] == "succeeded", state
        status, _, data = service.request("GET", f"/v1/jobs/{job}/artifacts/segments.tar")
        assert status == 200
        with tarfile.open(fileobj=io.BytesIO(data)) as tar:
            manifest = json.load(tar.extractfile("programs.json"))
        assert manifest["devices"] == 4 and manifest["equation_7"] == len(manifest["programs"]) > 0
        assert all(row["proof"] == "equal" for row in manifest["programs"]), manifest
        assert service.json("PUT", "/v1/profiles/ours", made_up(manifest))[0] == 201
        measured = {"base": "a100-40", "profile": "ours"}
        job, state = ended(service, request(planner="segments", **{"device": measured}))
        assert state["state"] == "succeeded", state
        report = service.json("GET", f"/v1/jobs/{job}/artifacts/report.json")[1]
        assert report["segments"]["measured"] == manifest["equation_7"] and report["segments"]["proved"], report["segments"]
        assert service.json("GET", f"/v1/jobs/{job}/plan")[1]["found_by"] == "segments"
        job, state = ended(service, request(planner="auto", budget={"rollouts": 20}, **{"device": measured}))
        assert state["state"] == "succeeded", state
        assert service.json("GET", f"/v1/jobs/{job}/artifacts/report.json")[1]["segments"]["measured"] == manifest["equation_7"]
        job, state = ended(service, request(2, planner="segments", **{"device": measured}))
        assert state["state"] == "failed" and "ran on 4 devices, the mesh has 2" in json.dumps(state), state
        less = made_up(manifest)
        less["segments"][0]["configurations"].pop()
        assert service.json("PUT", "/v1/profiles/ours", less)[0] == 200
        job, state = ended(service, request(planner="segments", **{"device": measured}))
        assert state["state"] == "failed" and "no time in the profile" in json.dumps(state), state
        job, state = ended(service, request(planner="auto", budget={"rollouts": 20}, **{"device": measured}))   # may serve other modules
        assert state["state"] == "succeeded", state
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_segments])
