#!/usr/bin/env python3
# label: service
# timeout: 600
"""POST /v1/problems:solve through the real service: answers at once, jobs when it takes longer, the same bytes whoever works
and whoever is killed meanwhile, cancel, verdicts, damage, gzip."""
import gzip
import json
import os
import re
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


def function(service, name, *words):
    """a function of the queue's library, called as a worker would; -> the lines of its answer"""
    version = re.search(r"toast_claim_(\w+)", service.redis_cli("FUNCTION", "LIST"))[1]
    return service.redis_cli("FCALL", f"toast_{name}_{version}", "1", "{t}", *words).split("\n")


def look(service, job):
    return service.json("GET", f"/v1/jobs/{job}")[1]


def until_searching(service, job, share):
    deadline = harness.deadline(100)
    while (body := look(service, job))["progress"]["stage"] != "search" or body["progress"]["fraction"] < share:
        assert body["state"] in ("queued", "validating", "running") and time.monotonic() < deadline, body
        time.sleep(0.02)
    return body


def stop_worker(service):
    worker = service.workers.pop()
    worker.terminate()
    worker.wait()


def start_over(service, job, build):
    """as a worker that finds a blob gone"""
    member, token = function(service, "claim", f"{os.urandom(4).hex()}#0.1", build, "")[:2]
    assert function(service, "reset", member, token, "{}") == ["restarted"]


def starting_over_keeps_the_best():
    """for a lost session or on another build: what was found is shown meanwhile, and is the answer of a search cut short"""
    problem = generated(1000, 5)
    service = harness.Service(workers=1)
    try:
        for build in None, "another build":
            job = job_of(service, problem, f"?units=20000&seed={2 if build else 1}")
            until_searching(service, job, 0.002)
            stop_worker(service)
            before = look(service, job)
            known = {name: before["progress"][name] for name in ("cost", "bound")}
            if build:
                service.redis_cli("ZADD", "{t}:builds", "XX", "1", before["build"])
                member, token = function(service, "claim", f"{os.urandom(4).hex()}#0.1", build, "")[:2]
                function(service, "release", member, token)
            else:
                start_over(service, job, before["build"])
            body = look(service, job)
            assert (body["state"], body["attempt"], body["build"]) == ("validating", 2, build or before["build"]), body
            assert body["progress"].items() >= {"stage": "read", **known}.items(), (body, before)
            assert service.json("POST", f"/v1/jobs/{job}:cancel")[0] == 202   # before it has a session again
            service.start_worker()
            body = service.wait(job)
            assert body["state"] == "cancelled" and {name: body["progress"][name] for name in known} == known, (body, before)
            answer = json.loads(solution(service, job))
            assert {name: answer[name] for name in known} == known and not answer["reproducible"], (answer["cost"], before)
            with tempfile.TemporaryDirectory() as folder:
                (path := harness.pathlib.Path(folder) / "problem.json").write_bytes(problem)
                (text := harness.pathlib.Path(folder) / "solution").write_text(json.dumps(answer["values"]))
                done = subprocess.run([harness.BIN / "toast", "evaluate", path, "--solution", text], capture_output=True, text=True)
            assert done.returncode == 0 and f"cost {known['cost']}\n" in done.stdout, done
    finally:
        service.close()


def starting_over_gives_the_same_bytes():
    """a search that runs to its end is what it would have been; nothing that was shown gets worse meanwhile"""
    problem, query, found = generated(300, 4), "?units=300&seed=3", []
    for times in 0, 2:
        service = harness.Service(workers=1)
        try:
            job, shown = job_of(service, problem, query), []
            for _ in range(times):
                until_searching(service, job, 0.2)
                stop_worker(service)
                body = look(service, job)
                shown.append(body["progress"])
                start_over(service, job, body["build"])
                service.start_worker()
            deadline = harness.deadline(100)
            while look(service, job)["state"] != "succeeded" and time.monotonic() < deadline:
                shown.append(look(service, job)["progress"])
                time.sleep(0.02)
            costs, bounds = ([p[name] for p in shown if name in p] for name in ("cost", "bound"))
            first = next((i for i, p in enumerate(shown) if "cost" in p), len(shown))
            assert all("cost" in p for p in shown[first:]), shown   # it is never forgotten
            assert costs == sorted(costs, reverse=True) and bounds == sorted(bounds), shown
            assert service.wait(job)["attempt"] == 1 + times
            found.append(solution(service, job))
        finally:
            service.close()
    assert found[0] == found[1] and json.loads(found[0])["reproducible"]


if __name__ == "__main__":
    harness.main([answers_at_once, same_bytes_whoever_works, cancel_keeps_the_best, starting_over_keeps_the_best,
                  starting_over_gives_the_same_bytes])
