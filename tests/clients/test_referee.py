#!/usr/bin/env python3
# label: truth
# timeout: 300
"""A referee of a service: a real toast-referee --serve that compiles and times on eight CPU devices. Refused by name without one;
its result in the report; a worker that is killed, one that lies, a job that is cancelled, and one that nobody judges any more."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import uuid

import support

support.enter("truth")
sys.path.insert(0, os.path.join(support.SOURCE, "tests", "service"))

import harness  # noqa: E402

TOKEN = "a-token-of-workers"
MODEL = (pathlib.Path(support.SOURCE) / "tests/models/mlp.mlir").read_text()
REQUEST = {"module": {"inline": MODEL}, "mesh": {"axes": [{"name": "data", "size": 4}, {"name": "model", "size": 2}]}, "device": "a100-40",
           "budget": {"rollouts": 200}, "alternatives": 2, "referee": "xla_cpu"}


def referee(service, *options):
    return subprocess.Popen([sys.executable, "-m", "toast_referee", "--serve", f"http://127.0.0.1:{service.port}", "--referee", "xla_cpu",
                             "--target", "here", *options], env=dict(support.environment(), TOAST_WORKER_TOKEN=TOKEN),
                            stderr=open(service.folder / "referee.log", "ab"))


def call(service, verb, **members):
    body = {"worker": "test", "referees": ["xla_cpu"], "token": uuid.uuid4().hex, **members}
    status, _, data = service.request("POST", f"/internal/referee:{verb}", json.dumps(body),
                                      {"Content-Type": "application/json", "Authorization": f"Bearer {TOKEN}"})
    return status, json.loads(data) if data else None


def submit(service, **more):
    status, job = service.json("POST", "/v1/jobs", {**REQUEST, **more})
    assert status == 202, (status, job)
    return job["id"]


def report(service, job):
    status, _, data = service.request("GET", f"/v1/jobs/{job}/artifacts/report.json")
    assert status == 200, (status, data)
    return json.loads(data)


def fsck(service):
    done = subprocess.run([os.path.join(support.BIN, "toast"), "fsck", "--redis", service.redis_address, "--store", service.store],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def claimed(service, seconds=60):
    until = harness.deadline(seconds)
    while time.monotonic() < until:
        status, task = call(service, "claim")
        assert status in (200, 204), (status, task)
        if status == 200:
            return task
        time.sleep(0.1)
    raise AssertionError("nothing to claim")


def test_refused_without(service):
    status, problem = service.json("POST", "/v1/jobs", REQUEST)
    assert status == 422 and problem["code"] == "no_referee" and problem["errors"][0]["pointer"] == "/referee", problem
    for wrong, code in (({"referee": "xla_npu"}, "invalid_request"), ({"outputs": ["plan"]}, "invalid_request")):
        status, problem = service.json("POST", "/v1/jobs", {**REQUEST, **wrong})
        assert status == 422 and problem["code"] == code, problem
    assert service.request("POST", "/internal/referee:claim", "{}")[0] == 404, "without the token there is nothing"
    for wrong in ({"worker": ""}, {"referees": ["xla_npu"]}, {"extra": 1}, {"token": 7}):
        assert call(service, "claim", **wrong)[0] == 422, wrong
    assert call(service, "done", task="j_x/referee/1/0")[0] == 422, "a result is needed"
    assert call(service, "done", task="j_x/referee/1/0", result={"plans": [{"plan": 0}]})[0] == 422, "a peak is needed"
    assert call(service, "done", task="j_x/referee/1/0", result={"plans": []})[1] == {"late": True}


def test_judged(service):
    worker = referee(service)
    try:
        until = harness.deadline(30)
        while service.json("POST", "/v1/jobs", {**REQUEST, "dry_run": True})[0] != 200:
            assert time.monotonic() < until, (service.folder / "referee.log").read_text()
            time.sleep(0.2)
        job = submit(service)
        body = service.wait(job, 120)
        assert body["state"] == "succeeded" and not body.get("stopped_by"), body
        said = report(service, job)
        rows, count = said["referee"]["plans"], 1 + len(said["alternatives"]["plans"])
        assert said["referee"]["target"] == "here" and said["referee"]["not_judged"] is None, said["referee"]
        assert sorted(row["plan"] for row in rows) == list(range(count)) and count == 3, rows
        assert all(row["step_ps"] > 0 and row["peak_bytes"] > 0 and row["refused"] is None for row in rows), rows
        assert [row["step_ps"] for row in rows] == sorted(row["step_ps"] for row in rows), "in the compiler's order"
        assert {row["plan"]: row["price_step_ps"] for row in rows}[0] == said["summary"]["step_ps"]
        text = service.request("GET", f"/v1/jobs/{job}/artifacts/report.txt")[2].decode()
        assert "What the compiler says" in text and "alternative 2" in text, text
        assert said["provenance"]["reproducible"] is True
        status, listed = service.json("GET", f"/v1/jobs/{job}/artifacts")
        names = {each["name"] for each in listed["artifacts"]}
        assert {"plan.json", "alternatives/1/plan.json", "alternatives/2/manual.mlir"} <= names, names
        again = submit(service)
        assert service.wait(again)["state"] == "succeeded" and report(service, again) == said, "an equal request has its answer"
        fsck(service)
    finally:
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(30) == 0


def test_killed_worker(service):
    """its lease runs out, another one does the task"""
    call(service, "claim")
    job = submit(service, seed=2)
    task = claimed(service)
    assert task["job"] == job and [plan["plan"] for plan in task["plans"]] == [0, 1, 2], task
    assert call(service, "beat", task=task["task"], token=task["token"])[1] == {"held": True}
    assert call(service, "beat", task=task["task"], token="another")[1] == {"held": False}
    assert call(service, "claim")[0] == 204, "nobody else has it now"
    fsck(service)
    second = claimed(service, 30)                       # after 10 s without a beat
    assert second["task"] == task["task"] and second["token"] != task["token"]
    result = {"target": "here", "compiler": "test", "plans": [{"plan": 1, "peak_bytes": 5, "step_ps": 7}, {"plan": 0, "refused": "it says no"},
                                                              {"plan": 16, "peak_bytes": 1}]}
    assert call(service, "done", task=task["task"], token=task["token"], result=result)[1] == {"late": True}
    for _ in range(2):
        assert call(service, "done", task=second["task"], token=second["token"], result=result)[1] == {"late": False}, "may be repeated"
    assert service.wait(job)["state"] == "succeeded"
    rows = report(service, job)["referee"]["plans"]
    assert [row["plan"] for row in rows] == [1, 0] and rows[1]["refused"] == "it says no" and rows[0]["fits"], rows
    fsck(service)


def test_given_back_and_dead(service):
    call(service, "claim")
    job = submit(service, seed=3)
    task = claimed(service)
    call(service, "release", task=task["task"], token=task["token"])
    for _ in range(3):
        task = claimed(service)
        call(service, "died", task=task["task"], token=task["token"], reason="fault", message="it fell over")
    body = service.wait(job)
    assert body["state"] == "dead" and "fell over" in json.dumps(body["error"]), body
    fsck(service)


def test_cancelled_while_it_waits(service):
    call(service, "claim")
    job = submit(service, seed=4)
    task = claimed(service)
    assert service.json("POST", f"/v1/jobs/{job}:cancel")[0] in (200, 202)
    body = service.wait(job)
    assert body["state"] == "cancelled", body
    assert report(service, job)["referee"]["not_judged"] == "the job was to end before"
    assert call(service, "beat", task=task["task"], token=task["token"])[1] == {"held": False}
    fsck(service)


def test_nobody_left(service):
    """no referee for a minute: the job ends without"""
    call(service, "claim")
    job = submit(service, seed=5)
    until = harness.deadline(60)
    while service.redis_cli("zscore", "{t}:ref:xla_cpu", job) == "":
        assert time.monotonic() < until, "it never waits"
        time.sleep(0.1)
    fsck(service)
    long_ago = int(time.time() * 1000) - 61000
    for member in service.redis_cli("zrange", "{t}:referees", "0", "-1").split():
        service.redis_cli("zadd", "{t}:referees", str(long_ago), member)
    body = service.wait(job)
    assert body["state"] == "succeeded" and report(service, job)["referee"]["not_judged"] == "its workers were gone for a minute", body
    assert service.json("POST", "/v1/jobs", REQUEST | {"seed": 6})[0] == 422
    call(service, "claim")
    again = submit(service, seed=5)
    assert claimed(service)["job"] == again, "what nobody judged answers no equal request"
    service.json("POST", f"/v1/jobs/{again}:cancel?discard=true")
    fsck(service)


def main():
    service = harness.Service(workers=1, environment={"TOAST_WORKER_TOKEN": TOKEN})
    try:
        for test in (test_refused_without, test_judged, test_killed_worker, test_given_back_and_dead, test_cancelled_while_it_waits,
                     test_nobody_left):
            test(service)
            print(f"ok {test.__name__}", flush=True)
    except BaseException:
        print((service.folder / "log").read_text()[-3000:], (service.folder / "referee.log").read_text()[-3000:]
              if (service.folder / "referee.log").exists() else "")
        raise
    finally:
        service.close()


if __name__ == "__main__":
    main()
