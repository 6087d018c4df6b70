#!/usr/bin/env python3
# label: service
# timeout: 240
"""The ends of a job: every key of Redis after it, cancel in each stage, the dead over HTTP, keys across restarts."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "faults"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tree
import harness

MODELS = harness.SOURCE / "tests" / "models"
MLP = (MODELS / "mlp.mlir").read_bytes()
SMALL = {"mesh": {"axes": [{"name": "data", "size": 2}]}, "device": "a100-40", "budget": {"rollouts": 100}}
HOUR, DAY = 3600, 86400


def submit(service, request, module=MLP, **headers):
    body, form = harness.multipart({"module": module, "request": json.dumps(request).encode()})
    status, reply, data = service.request("POST", "/v1/jobs", body, dict(form, **headers))
    assert status == 202, (status, data)
    return reply, json.loads(data)


def until(what, condition, seconds=90):
    end = harness.deadline(seconds)
    while not (value := condition()):
        assert time.monotonic() < end, what
        time.sleep(0.02)
    return value


def fsck(service):
    done = subprocess.run([harness.BIN / "toast", "fsck", "--redis", service.redis_address, "--store", service.store],
                          capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout, done.stderr)


# ---- keys ----

# kind of key -> longest time (s) that one may have left when no job is under way; None: it never expires and belongs to no
# job. What is not here must not be there.
KEYS = {"j": 8 * DAY, "ev": 8 * DAY, "tl": 30 * DAY, "o": 31 * DAY, "idem": DAY, "cache": 7 * DAY, "rate": 10, "w": 15, "c": DAY, "img": 7 * DAY,
        "moved": DAY, "es": 30, "collector": 60, "session": 8 * HOUR,
        "idx": None, "st": None, "arch": None, "purge": None, "dead": None, "q": None, "n": None, "builds": None, "workers": None,
        "blob": None, "blobs": None, "vts": None, "ms": None, "conf": None, "secret": None, "keys": None, "keysv": None}


def look_at_keys(service, forbidden):
    """-> kinds of keys there are; each is known and expires when it should"""
    kinds = set()
    for key in service.redis_cli("--scan", "--pattern", "*").split():
        kind = re.fullmatch(r"\{t\}:([a-z]+)(:.*)?", key).group(1)
        left = int(service.redis_cli("PTTL", key)) / 1000
        dead = kind in ("j", "ev") and service.redis_cli("HGET", "{t}:j:" + key.split(":")[2], "state") == "dead"
        assert kind in KEYS and kind not in forbidden, key
        if KEYS[kind] is None:
            assert left == -0.001, (key, left)
        else:
            assert left == -0.002 or 0 < left <= (31 * DAY if dead else KEYS[kind]), (key, left)
        kinds.add(kind)
    return kinds


def make_due(service, key):
    """the times of a set have come; until the server has done what was due"""
    for member in service.redis_cli("ZRANGE", key, "0", "-1").split():
        service.redis_cli("ZADD", key, "XX", "1", member)
    until(key, lambda: service.redis_cli("ZCARD", key) == "0")


def call(service, name, *words):
    """a function of the queue's library; -> the lines of its answer"""
    functions = service.redis_cli("FUNCTION", "LIST").split()
    version = next(word for word in functions if word.startswith("toast_claim_")).removeprefix("toast_claim_")
    return service.redis_cli("FCALL", f"toast_{name}_{version}", "1", "{t}", *words).split("\n")


def kill_thrice(service, job):
    """a worker whose child dies three times of the job; no other job waits"""
    worker = os.urandom(4).hex()
    for attempt in range(3):
        member, token = call(service, "claim", f"{worker}#0.{attempt}", "build", "")[:2]
        assert member.startswith(job), member
        call(service, "died", member, token, '{"code":"internal","message":"three times"}', "0")
        if attempt < 2:
            service.redis_cli("ZADD", "{t}:lease", "XX", "1", member)
            until("not reaped", lambda: service.redis_cli("ZCARD", "{t}:lease") == "0")


def test_keys_of_ended_jobs():
    """after the end, after the archive, after the purge: each key that is left expires or belongs to no job"""
    service = harness.Service(environment={"TOAST_SUBMITS_PER_S": "1000"})
    try:
        dead = submit(service, dict(SMALL, seed=9))[1]["id"]
        kill_thrice(service, dead)
        service.start_worker()
        jobs = [submit(service, SMALL, **{"Idempotency-Key": "one"})[1]["id"], submit(service, SMALL, b"nonsense")[1]["id"]]
        service.json("PUT", "/v1/jobs/mine", dict(SMALL, module={"inline": MLP.decode()}, seed=2, deadline_s=100))
        states = [service.wait(job)["state"] for job in (*jobs, "mine")]
        assert states == ["succeeded", "failed", "succeeded"], states
        assert submit(service, SMALL)[1]["cached_from"] == jobs[0]
        big = (MODELS / "small" / "t2b.mlir").read_bytes()
        long = submit(service, dict(SMALL, budget={"rollouts": 1000000}, parallelism=256), big)[1]["id"]
        until("no plan", lambda: service.request("GET", f"/v1/jobs/{long}/plan")[0] == 200)
        service.request("POST", f"/v1/jobs/{long}:cancel", b"")
        assert service.wait(long)["state"] == "cancelled"
        service.workers[0].terminate()
        service.workers[0].wait()
        running = {"p", "k", "d", "run", "r", "lease", "dl", "open", "vt"}
        kinds = look_at_keys(service, running)
        assert {"j", "ev", "tl", "idem", "cache", "arch", "purge", "dead", "idx", "st"} <= kinds, kinds
        for key in service.redis_cli("--scan", "--pattern", "{t}:j:*").split():
            fields = service.redis_cli("HKEYS", key).split()
            assert not [field for field in fields if field.startswith("b:")], (key, fields)   # the search's blobs are nobody's now
        fsck(service)
        make_due(service, "{t}:arch")
        kinds = look_at_keys(service, running | {"j", "ev", "tl"})
        assert "o" in kinds, kinds
        fsck(service)
        make_due(service, "{t}:purge")
        kinds = look_at_keys(service, running | {"j", "ev", "tl", "arch", "purge", "dead", "idx", "st"})
        assert "o" in kinds and service.json("GET", f"/v1/jobs/{jobs[0]}")[1]["code"] == "gone", kinds
        assert submit(service, dict(SMALL, seed=77))[1]["state"] == "queued"   # nothing of the old ones is in the way
        # the key of a job that is forgotten is remembered for its day, but makes no second job
        status, headers, _ = send_again(service, "one")
        assert status == 410, status
        for key in service.redis_cli("--scan", "--pattern", "{t}:o:*").split():
            service.redis_cli("PEXPIRE", key, "1")
        until("404 after it all", lambda: service.request("GET", f"/v1/jobs/{jobs[0]}")[0] == 404)
        fsck(service)
    finally:
        service.close()


# ---- keys across restarts ----

def send_again(service, key):
    body, form = harness.multipart({"module": MLP, "request": json.dumps(SMALL).encode()})
    return service.request("POST", "/v1/jobs", body, dict(form, **{"Idempotency-Key": key}))


def test_key_across_restarts():
    """an Idempotency-Key's answer survives the server's and Redis' death"""
    service = harness.Service()
    try:
        first = submit(service, SMALL, **{"Idempotency-Key": "k-1"})[1]["id"]
        for part in ("redis", "server"):
            process = getattr(service, part)
            process.kill()
            process.wait()
            getattr(service, "start_" + part)()
            until(part + " is not back", lambda: service.request("GET", "/readyz")[0] == 200)
            status, headers, data = send_again(service, "k-1")
            assert (status, headers["idempotency-replayed"], json.loads(data)["id"]) == (202, "true", first), data
        assert service.redis_cli("HGET", "{t}:n", "submitted") == "1"
        fsck(service)
    finally:
        service.close()


def test_retry_of_the_dead():
    """POST :retry brings a dead job back, out of Redis and out of the archive, once; its events tell all of it"""
    service = harness.Service()
    try:
        job = submit(service, SMALL)[1]["id"]
        at = f"/v1/jobs/{job}"
        kill_thrice(service, job)
        body = service.json("GET", at)[1]
        assert (body["state"], body["error"]["message"]) == ("dead", "three times"), body
        assert service.request("POST", at + ":retry", b"")[0] == 202
        body = service.json("GET", at)[1]
        assert (body["state"], body["error"], body["attempt"], body["progress"]["stage"]) == ("queued", None, 0, "queued"), body
        assert service.request("POST", at + ":retry", b"")[0] == 409   # it waits already
        fsck(service)
        kill_thrice(service, job)
        make_due(service, "{t}:arch")
        assert service.request("POST", at + ":retry", b"")[0] == 202
        fsck(service)
        service.start_worker()
        assert service.wait(job)["state"] == "succeeded"
        assert service.request("POST", at + ":retry", b"")[0] == 409
        events = service.json("GET", at + "/events?format=json")[1]["events"]
        told = [event["state"] for event in events if event["event"] == "state"]
        assert told == ["queued", "validating", "dead"] * 2 + ["queued", "validating", "succeeded"], told
        versions = [event["version"] for event in events]
        assert versions == sorted(set(versions)), versions
        fsck(service)
    finally:
        service.close()


def test_requeue_of_all_dead():
    """POST /v1/jobs:requeue starts every dead letter of the tenant again, and says which"""
    service = harness.Service()
    try:
        assert service.json("POST", "/v1/jobs:requeue") == (200, {"requeued": [], "more": False})
        jobs = []
        for i in range(3):
            jobs.append(submit(service, dict(SMALL, seed=100 + i))[1]["id"])
            kill_thrice(service, jobs[-1])
        assert service.json("POST", "/v1/jobs:requeue?state=failed")[1]["requeued"] == []
        status, body = service.json("POST", "/v1/jobs:requeue?limit=1")
        assert status == 200 and len(body["requeued"]) == 1 and body["more"] is True, body
        rest = service.json("POST", "/v1/jobs:requeue")[1]
        assert sorted(body["requeued"] + rest["requeued"]) == sorted(jobs) and rest["more"] is False, rest
        assert all(service.json("GET", f"/v1/jobs/{job}")[1]["state"] == "queued" for job in jobs)
        assert service.json("POST", "/v1/jobs:requeue")[1]["requeued"] == []
        for wrong in ("state=queued", "limit=0", "limit=101", "limit=x", "all=1"):
            assert service.json("POST", "/v1/jobs:requeue?" + wrong)[0] == 400, wrong
        fsck(service)
    finally:
        service.close()


# ---- cancel ----

BIG = {"mesh": {"axes": [{"name": "data", "size": 2}, {"name": "model", "size": 2}]}, "device": "a100-40", "planner": "cfn",
       "budget": {"rollouts": 64}, "parallelism": 4, "proof": True, "outputs": ["plan", "report", "local"]}


def hold_at(service, worker, kind):
    """-> a job whose task of this kind a stopped worker holds; tries again when the stage was over before the signal came"""
    module = (MODELS / "small" / "t2b.mlir").read_bytes()
    for attempt in range(20):
        job = submit(service, dict(BIG, seed=attempt + 1), module, **{"Cache-Control": "no-cache"})[1]["id"]
        child = until("no child", lambda: tree.children(worker.pid))[0]
        reply = ""
        while kind not in reply and not reply.startswith("succeeded"):
            reply = service.redis_cli("HMGET", "{t}:j:" + job, "state", "kind").replace("\n", " ")
        try:
            os.kill(child, signal.SIGSTOP)
        except ProcessLookupError:   # ended for the job before, whose cancel it did not hear in time
            service.request("POST", f"/v1/jobs/{job}:cancel", b"")
            service.wait(job)
            continue
        worker.send_signal(signal.SIGSTOP)
        if service.redis_cli("HGET", "{t}:j:" + job, "kind") == kind and service.redis_cli("ZCARD", "{t}:lease") != "0":
            return job, child
        os.kill(child, signal.SIGCONT)
        worker.send_signal(signal.SIGCONT)
        service.request("POST", f"/v1/jobs/{job}:cancel", b"")
        service.wait(job)
    raise AssertionError(f"no job could be stopped at {kind}")


def test_cancel_in_every_stage():
    """reading, analysing, searching, solving, finalising with proof: the job ends cancelled, with its best plan or nothing"""
    service = harness.Service(workers=1)
    try:
        worker = service.workers[0]
        for kind, has_plan in (("read", False), ("analyse", False), ("rollouts", True), ("network", True), ("emit", True)):
            for query in ("", "?discard=true"):
                job, child = hold_at(service, worker, kind)
                status, body = service.json("POST", f"/v1/jobs/{job}:cancel{query}", b"")
                waits = has_plan and not query
                assert (status, body["state"]) == ((202, "cancelling") if waits else (200, "cancelled")), (kind, query, body)
                again = service.json("POST", f"/v1/jobs/{job}:cancel{query}", b"")
                assert (again[0], again[1]["state"]) == (status, body["state"]), (kind, query, again)
                os.kill(child, signal.SIGCONT)
                worker.send_signal(signal.SIGCONT)
                body = service.wait(job, 20)
                assert (body["state"], body["stopped_by"], body["error"]) == ("cancelled", "cancel", None), (kind, query, body)
                names = {a["name"] for a in service.json("GET", f"/v1/jobs/{job}/artifacts")[1]["artifacts"]}
                assert names >= {"plan.json", "report.json", "local.mlir"} if waits else not names, (kind, query, names)
                assert service.request("GET", f"/v1/jobs/{job}/plan")[0] == (200 if waits else 404)
                states = [e["state"] for e in service.json("GET", f"/v1/jobs/{job}/events?format=json")[1]["events"]
                          if e["event"] == "state"]
                assert states.count("cancelled") == 1 and states[-1] == "cancelled", (kind, query, states)
        until("leases are left", lambda: service.redis_cli("ZCARD", "{t}:lease") == "0")
        fsck(service)
        assert service.wait(submit(service, SMALL)[1]["id"])["state"] == "succeeded"   # the worker goes on
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_keys_of_ended_jobs, test_key_across_restarts, test_retry_of_the_dead, test_requeue_of_all_dead, test_cancel_in_every_stage])
