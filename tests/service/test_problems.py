#!/usr/bin/env python3
# label: service
# timeout: 200
"""POST /v1/problems:solve through the real service: answers at once, jobs when it takes longer, the same bytes whoever works
and whoever is killed meanwhile, cancel, verdicts, damage, gzip."""
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

SMALL = {"intervals": [[30, 70], [40, 70], [50, 120], [110, 140], [110, 150]],
         "costs": [[15], [55, 65], [25, 45, 35], [85, 75], [95]],
         "usages": [[10], [25, 25], [15, 20, 15], [10, 10], [15]],
         "edges": {"nodes": [[0, 1], [0, 2], [1, 3], [2, 4], [3, 4]],
                   "costs": [[30, 40], [50, 10, 40], [90, 10, 20, 80], [60, 20, 30], [70, 60]]},
         "usage_limit": 50}
TYPE = {"Content-Type": "application/json"}
AT_ONCE = dict(TYPE, Prefer="respond-async")


def generated(nodes, seed):
    return subprocess.run([harness.BIN / "bench_cfn_generate", "--nodes", str(nodes), "--seed", str(seed), "--shape", "random",
                           "--tightness", "1.03"], capture_output=True, check=True).stdout


def solve(service, problem, query="", headers=TYPE):
    status, headers, data = service.request("POST", "/v1/problems:solve" + query, problem, headers)
    return status, headers, json.loads(data)


def reference(problem, units, seed):
    """values and cost that `toast solve` gives in one process"""
    with tempfile.TemporaryDirectory() as folder:
        (path := harness.pathlib.Path(folder) / "problem.json").write_bytes(problem)
        out = subprocess.run([harness.BIN / "toast", "solve", path, "--units", str(units), "--seed", str(seed), "--threads", "1"],
                             capture_output=True, text=True, check=True).stdout.strip().split("\n")
        return json.loads(out[-1]), int(next(line for line in out if line.startswith("cost ")).split()[1])


def answers_at_once():
    service = harness.Service(workers=1)
    try:
        for body in (json.dumps(SMALL).encode(), gzip.compress(json.dumps(SMALL).encode())):
            status, headers, reply = solve(service, body)
            assert status == 200 and headers["content-type"] == "application/json", (status, headers)
            assert reply["status"] == "optimal" and reply["cost"] == 445 and reply["bound"] == 445, reply
            assert reply["values"] == [0, 0, 2, 1, 0] and reply["gap"] == 0 and reply["reproducible"], reply
        status, _, reply = solve(service, json.dumps(dict(SMALL, usage_limit=40)).encode())
        assert status == 200 and reply["status"] == "infeasible", (status, reply)
        assert reply["violated_time"] == 50 and reply["least_usage"] == 50 and reply["usage_limit"] == 40, reply
        damaged = json.dumps(SMALL).replace("[60, 20, 30]", "[60, 20]").encode()
        status, _, reply = solve(service, damaged)
        assert status == 422 and reply["errors"][0]["pointer"] == "/edges/costs/3" and "byte" in reply["detail"], (status, reply)
        status, _, reply = solve(service, b'{"intervals": [[1')
        assert status == 400 and reply["code"] == "invalid_json", (status, reply)
        status, _, reply = solve(service, b"")
        assert status in (411, 422), (status, reply)
        for query in ("?units=0", "?units=x", "?seed=-1", "?seconds=1e9"):
            status, _, reply = solve(service, json.dumps(SMALL).encode(), query)
            assert status == 400 and reply["code"] == "malformed_request", (query, status, reply)
    finally:
        service.close()


def job_of(service, problem, query):
    status, headers, job = solve(service, problem, query, AT_ONCE)
    assert status == 202 and headers["location"] == "/v1/jobs/" + job["id"], (status, job)
    return job["id"]


def solution(service, job):
    status, _, data = service.request("GET", f"/v1/jobs/{job}/artifacts/solution.json")
    assert status == 200, (status, data)
    return data


def same_bytes_whoever_works():
    """one worker; three, of which one is killed again and again; `toast solve`"""
    problem, units = generated(300, 4), 300
    found = []
    for workers in (1, 3):
        service = harness.Service(workers=workers)
        try:
            job = job_of(service, problem, f"?units={units}&seed=3")
            deadline = harness.deadline(100)
            while workers > 1 and time.monotonic() < deadline:
                time.sleep(0.5)
                if service.json("GET", f"/v1/jobs/{job}")[1]["state"] == "succeeded":
                    break
                victim = service.workers.pop(0)
                victim.kill()
                victim.wait()
                service.start_worker()
            body = service.wait(job, 120)
            assert body["state"] == "succeeded", body
            progress = body["progress"]
            assert progress["stage"] == "done" and progress["fraction"] == 1 and progress["cost"] >= progress["bound"] > 0, body
            found.append(solution(service, job))
        finally:
            service.close()
    assert found[0] == found[1]
    answer = json.loads(found[0])
    values, cost = reference(problem, units, 3)
    assert answer["values"] == values and answer["cost"] == cost and answer["reproducible"], answer["cost"]


def cancel_keeps_the_best():
    service = harness.Service(workers=2)
    try:
        job = job_of(service, generated(1000, 5), "?units=20000")
        for _ in range(600):
            body = service.json("GET", f"/v1/jobs/{job}")[1]
            if body["progress"].get("cost") and body["progress"]["stage"] == "search" and body["progress"]["fraction"] > 0.002:
                break
            time.sleep(0.1)
        assert body["progress"]["stage"] == "search", body
        status, body = service.json("POST", f"/v1/jobs/{job}:cancel")
        assert status in (200, 202), (status, body)
        body = service.wait(job)
        assert body["state"] == "cancelled" and body["stopped_by"] == "cancel", body
        answer = json.loads(solution(service, job))
        assert answer["status"] == "feasible" and not answer["reproducible"] and len(answer["values"]) == 1000
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([answers_at_once, same_bytes_whoever_works, cancel_keeps_the_best])
