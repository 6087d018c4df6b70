#!/usr/bin/env python3
# label: service
# timeout: 500
"""Planning jobs through the real service: every way to submit, the same bytes as `toast plan` whatever is killed,
started or restarted meanwhile, cancel, deadlines, modules that are refused, the clients."""
import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

MODELS = harness.SOURCE / "tests" / "models"
MODEL = MODELS / "small" / "t2b.mlir"
REQUEST = {"mesh": {"axes": [{"name": "data", "size": 4}, {"name": "model", "size": 2}]}, "device": "a100-40", "seed": 7,
           "budget": {"rollouts": 4000}}
FRESH = {"Cache-Control": "no-cache"}   # plan, whatever equal job has ended
LONG = dict(REQUEST, budget={"rollouts": 1000000}, parallelism=256)   # epochs of many tasks: does not end by itself soon


def submit(service, request, module=None):
    body, headers = harness.multipart({"module": module or MODEL.read_bytes(), "request": json.dumps(request).encode()})
    status, headers, data = service.request("POST", "/v1/jobs", body, dict(headers, **FRESH))
    assert status == 202, (status, data)
    job = json.loads(data)
    assert headers["location"] == "/v1/jobs/" + job["id"] and job["state"] in ("queued", "validating", "running")
    return job["id"]


def artifacts(service, job):
    status, body = service.json("GET", f"/v1/jobs/{job}/artifacts")
    assert status == 200 and body["complete"], (status, body)
    files = {}
    for artifact in body["artifacts"]:
        status, headers, data = service.request("GET", artifact["href"])
        assert status == 200 and len(data) == artifact["size_bytes"], (artifact, headers)
        assert artifact["digest"] == "sha256:" + hashlib.sha256(data).hexdigest()
        assert headers["x-content-type-options"] == "nosniff"
        page = artifact["name"] == "report.html"
        assert ("inline" if page else "attachment") in headers["content-disposition"]
        assert not page or "default-src 'none'" in headers["content-security-policy"]
        files[artifact["name"]] = data
    return files


def reference(request):
    """what `toast plan` writes for the same request, in one process with one thread"""
    with tempfile.TemporaryDirectory() as folder:
        (path := harness.pathlib.Path(folder) / "request.json").write_text(json.dumps(request))
        done = subprocess.run([harness.BIN / "toast", "plan", MODEL, "--request", path, "--threads", "1", "--quiet", "-o",
                               f"{folder}/out"], capture_output=True)
        assert done.returncode == 0, done
        return {f.name: f.read_bytes() for f in harness.pathlib.Path(folder, "out").iterdir() if f.name != "timing.json"}


def wait_for(service, job, condition, seconds=180):
    until = harness.deadline(seconds)
    while time.monotonic() < until:
        status, body = service.json("GET", f"/v1/jobs/{job}")
        assert status == 200, (status, body)
        if condition(body):
            return body
        time.sleep(0.02)
    raise AssertionError(f"never came: {body}")


def searching(body):
    return body["progress"].get("rollouts", 0) > 0 or body["state"] in ("succeeded", "failed")


def test_planner_cfn():
    """the search, then the network as a task of its own: the bytes of `toast plan`, the problem among them"""
    request = dict(REQUEST, planner="cfn", budget={"rollouts": 200}, memory_limit_bytes=1500000,
                   outputs=["plan", "report", "problem"])
    expected = reference(request)
    assert "problem.json" in expected
    service = harness.Service(workers=2)
    try:
        body = service.wait(job := submit(service, request), 100)
        assert body["state"] == "succeeded", body
        assert artifacts(service, job) == expected
    finally:
        service.close()


def test_ways_to_submit():
    """multipart, gzip, inline and by digest, one worker and four: one digest and the bytes of `toast plan`"""
    expected = reference(REQUEST)
    service = harness.Service(workers=1)
    try:
        text = MODEL.read_bytes()
        name = "sha256:" + hashlib.sha256(text).hexdigest()
        jobs = [submit(service, REQUEST)]
        service.wait(jobs[0], 60)
        for _ in range(3):
            service.start_worker()
        jobs.append(submit(service, REQUEST, gzip.compress(text)))
        assert service.request("HEAD", "/v1/modules/" + name)[0] == 200
        inline = dict(REQUEST, module={"inline": text.decode()})
        for body in (dict(REQUEST, module=name), dict(REQUEST, labels={"team": "x"}, module=name)):
            status, job = service.json("POST", "/v1/jobs", body, FRESH)
            assert status == 202, job
            jobs.append(job["id"])
        packed = gzip.compress(json.dumps(inline).encode())
        status, job = service.json("POST", "/v1/jobs", packed,
                                   dict(FRESH, **{"Content-Type": "application/json", "Content-Encoding": "gzip"}))
        assert status == 202, job
        jobs.append(job["id"])
        bodies = [service.wait(job, 100) for job in jobs]
        assert all(body["state"] == "succeeded" for body in bodies), bodies
        assert len({body["digest"] for body in bodies}) == 1, [body["digest"] for body in bodies]
        assert bodies[3]["labels"] == {"team": "x"}
        for job in jobs:
            got = artifacts(service, job)
            assert got.keys() == expected.keys(), (got.keys(), expected.keys())
            for name in expected:
                assert got[name] == expected[name], name
        body = bodies[0]
        assert body["progress"]["stage"] == "done" and body["progress"]["best"]["step_ps"] > 0 and body["error"] is None
        assert json.loads(service.request("GET", f"/v1/jobs/{jobs[0]}/plan")[2])["reproducible"] is True
        # conditional requests, paging, metrics
        status, headers, _ = service.request("GET", f"/v1/jobs/{jobs[0]}")
        assert service.request("GET", f"/v1/jobs/{jobs[0]}", headers={"If-None-Match": headers["etag"]})[0] == 304
        assert "retry-after" not in headers
        seen, token = [], ""
        while True:
            status, page = service.json("GET", f"/v1/jobs?page_size=2&page_token={token}" if token else "/v1/jobs?page_size=2")
            assert status == 200 and len(page["jobs"]) <= 2
            seen += [job["id"] for job in page["jobs"]]
            token = page["next_page_token"]
            if not token:
                break
        assert sorted(seen) == sorted(jobs) and seen[0] == jobs[-1]
        metrics = service.request("GET", "/metrics")[2].decode()
        assert 'toast_jobs{state="succeeded"} 5' in metrics and "\ntoast_nondeterminism_total 0\n" in metrics, metrics
        status, ready = service.json("GET", "/readyz")
        assert status == 200 and all(check["ok"] for check in ready["checks"]), ready
        assert service.request("POST", f"/v1/jobs/{jobs[0]}:cancel", b"")[0] == 409
        assert service.request("GET", f"/v1/jobs/{jobs[0]}/artifacts/nothing")[0] == 404
    finally:
        service.close()


def test_kill_everything():
    """kill -9 of workers, server and Redis in mid-job, workers that join: the bytes of an undisturbed run"""
    request = dict(REQUEST, budget={"rollouts": 12000}, parallelism=32)
    expected = reference(request)
    service = harness.Service(workers=1)
    try:
        job = submit(service, request)
        wait_for(service, job, searching)
        service.workers[0].kill()
        service.start_worker(threads=2)   # joins; the dead one's task comes back when its lease ends
        service.server.kill()
        service.server.wait()
        service.start_server()
        service.redis.kill()
        service.redis.wait()
        time.sleep(0.3)
        service.start_redis()
        service.start_worker()
        service.workers[1].send_signal(signal.SIGTERM)
        assert service.workers[1].wait(6) == 0
        body = service.wait(job, 90)
        assert body["state"] == "succeeded", body
        got = artifacts(service, job)
        assert got.keys() == expected.keys()
        for name in expected:
            assert got[name] == expected[name], name
        assert service.redis_cli("HGET", "{t}:n", "nondeterminism") in ("", "0")
        assert service.redis_cli("ZCARD", "{t}:lease") == "0"
    finally:
        service.close()


def test_stop_early():
    """cancel keeps the best plan so far, discard does not; deadlines; queued jobs end at once"""
    service = harness.Service(workers=0)
    try:
        queued = submit(service, LONG)
        assert service.json("GET", f"/v1/jobs/{queued}/plan")[1]["code"] == "no_plan_yet"
        status, body = service.json("POST", f"/v1/jobs/{queued}:cancel", b"")
        assert (status, body["state"]) == (200, "cancelled"), body
        expired = submit(service, dict(LONG, deadline_s=0.2))
        assert service.wait(expired, 10)["error"]["code"] == "deadline"
        service.start_worker()
        kept, dropped = submit(service, LONG), submit(service, LONG)
        wait_for(service, kept, searching)
        plan = json.loads(service.request("GET", f"/v1/jobs/{kept}/plan")[2])
        assert plan["format"] == 1
        assert service.request("GET", f"/v1/jobs/{kept}/artifacts/report.json")[0] == 409
        began = time.monotonic()
        status, body = service.json("POST", f"/v1/jobs/{kept}:cancel", b"")
        assert (status, body["state"]) == (202, "cancelling"), body
        body = service.wait(kept, 20)
        assert body["state"] == "cancelled" and body["stopped_by"] == "cancel"
        print(f"     cancelled in {time.monotonic() - began:.1f} s")
        assert json.loads(artifacts(service, kept)["plan.json"])["reproducible"] is False
        wait_for(service, dropped, searching)
        status, body = service.json("POST", f"/v1/jobs/{dropped}:cancel?discard=true", b"")
        assert (status, body["state"]) == (200, "cancelled"), body
        late = submit(service, dict(LONG, deadline_s=6 * harness.SLOW))
        body = service.wait(late, 40)
        assert body["state"] == "succeeded" and body["stopped_by"] == "deadline", body
        seconds = submit(service, dict(LONG, budget={"rollouts": 1000000, "seconds": 1}))
        body = service.wait(seconds, 40)
        assert body["state"] == "succeeded" and body["stopped_by"] == "seconds", body
        assert json.loads(artifacts(service, seconds)["plan.json"])["reproducible"] is False
    finally:
        service.close()


def test_bad_modules():
    """each is refused with code and position as the job's error, and the job after it is unaffected"""
    text = MODEL.read_text()
    bad = {
        "truncated": text[: len(text) // 2],
        "binary": "\x01\x02\x03ML\xef",
        "not StableHLO": "hello, world\n",
        "undefined value": "module { func.func public @main() -> tensor<f32> { return %x : tensor<f32> } }",
        "dynamic dimension": "module { func.func public @main(%a: tensor<?xf32>) -> tensor<?xf32> { return %a : tensor<?xf32> } }",
        "nested types": "module { func.func public @main(%a: " + "tuple<" * 100000 + ">" * 100000 + ") { return } }",
        "nested regions": "module { func.func public @main() { " + '"x.y"() ({ ' * 100000 + "}) : () -> () " * 100000 + "} }",
        "10 MB identifier": "module @" + "a" * 10_000_000 + " { func.func public @main() { return } }",
        "no main": "module { func.func private @other() { return } }",
    }
    service = harness.Service(workers=1)
    try:
        jobs = {name: submit(service, REQUEST, module.encode("latin-1")) for name, module in bad.items()}
        pin = submit(service, dict(REQUEST, constraints=[{"argument": "no/such/*", "dims": [["model"]]}]))
        odd = submit(service, dict(REQUEST, mesh={"axes": [{"name": "three", "size": 3}]},
                                   constraints=[{"argument": "params/final", "dims": [["three"]]}]))
        small = submit(service, dict(REQUEST, memory_limit_bytes=1000))
        good = submit(service, REQUEST)
        for name, job in jobs.items():
            body = service.wait(job, 60)
            error = body["error"]
            assert body["state"] == "failed" and error["code"] in ("invalid_module", "unsupported_module"), (name, body)
            assert error["message"] and (error.get("line") or name == "no main"), (name, error)
            print(f"     {name}: {error['code']} {error.get('line')}:{error.get('column')} {error['message'][:80]}")
        assert service.wait(pin)["error"]["pointer"].startswith("/constraints/0")
        error = service.wait(odd)["error"]
        assert error["code"] == "invalid_constraint" and error["pointer"].startswith("/constraints/0"), error
        print(f"     indivisible: {error['message'][:100]}")
        assert service.wait(small)["error"]["code"] == "memory_limit_too_small"
        assert service.wait(good)["state"] == "succeeded"
    finally:
        service.close()


def test_worker_elsewhere():
    """a worker that shares nothing with the server but Redis and an address"""
    expected = reference(REQUEST)
    service = harness.Service(environment={"TOAST_WORKER_TOKEN": "token-of-the-test", "TOAST_CACHE": ""})
    try:
        with tempfile.TemporaryDirectory() as cache:
            service.environment["TOAST_CACHE"] = cache
            service.store = f"http://127.0.0.1:{service.port}"
            service.start_worker(threads=2)
            job = submit(service, REQUEST)
            assert service.wait(job, 60)["state"] == "succeeded"
            assert artifacts(service, job) == expected
            service.workers[0].terminate()
            service.workers[0].wait(6)
    finally:
        service.close()


def test_clients():
    """toast submit, status, wait, fetch, cancel against toast serve; exit statuses"""
    above = tempfile.mkdtemp(prefix="toast-serve-")
    folder = f"{above}/toast-data"
    environment = dict(os.environ)
    toast = str(harness.BIN / "toast")

    def run(*arguments, stdin=subprocess.DEVNULL):
        return subprocess.run([toast, *map(str, arguments)], env=environment, capture_output=True, text=True, timeout=100, stdin=stdin)

    environment["TOAST_URL"] = "http://127.0.0.1:1"
    assert run("status").returncode == 5
    assert run("serve", "--listen", "0.0.0.0:0", "--data", folder).returncode == 5
    with open(f"{folder}/log", "wb") as log:
        serve = subprocess.Popen([toast, "serve", "--workers", "2", "--data", folder, "--listen", "127.0.0.1:0"], stderr=log)
    try:
        port = harness.pathlib.Path(folder, "port")
        for _ in range(500):
            if port.exists():
                break
            time.sleep(0.02)
        environment["TOAST_URL"] = f"http://127.0.0.1:{port.read_text()}"
        flags = ["--mesh", "data=4,model=2", "--device", "a100-40", "--rollouts", "2000"]
        done = run("submit", MODEL, *flags, "--wait")
        assert done.returncode == 0, done
        job = run("submit", MODELS / "t2b.mlir.gz", "--mesh", "data=8,model=8", "--device", "a100-40").stdout.strip()
        assert job.startswith("j_"), job
        done = run("cancel", job)
        assert done.returncode == 0 and "cancel" in done.stdout, done
        assert run("wait", job, "--quiet").returncode == 4
        done = run("submit", MODEL, "--mesh", "data=0", "--device", "a100-40")
        assert done.returncode == 2 and "size 0" in done.stderr, done
        harness.pathlib.Path(folder, "bad.mlir").write_text("nonsense\n")
        done = run("submit", f"{folder}/bad.mlir", *flags, "--wait")
        assert done.returncode == 6 and "line 1" in done.stdout, done
        listed = run("status", "--json")
        newest = json.loads(listed.stdout)["jobs"]
        assert [j["state"] for j in newest] == ["failed", "cancelled", "succeeded"], newest
        done = run("fetch", newest[2]["id"], "-o", f"{folder}/out")
        assert done.returncode == 0 and os.path.exists(f"{folder}/out/plan.json"), done
        # whatever dies is started again
        children = subprocess.run(["pgrep", "-P", str(serve.pid)], capture_output=True, text=True).stdout.split()
        assert len(children) == 4, children
        for child in children:
            os.kill(int(child), signal.SIGKILL)
        for _ in range(400):
            done = run("status", "--json")
            if done.returncode == 0:
                break
            time.sleep(0.05)
        assert [j["id"] for j in json.loads(done.stdout)["jobs"]] == [j["id"] for j in newest]
        assert run("submit", MODEL, *flags, "--wait").returncode == 0
        # operators' commands find Redis and the store of toast serve by its folder
        done = run("fsck", "--data", folder, "--json")
        assert done.returncode == 0 and json.loads(done.stdout)["holds"] and json.loads(done.stdout)["jobs"] == 4, done
        done = run("dead", "list", "--data", folder, "--json")
        assert done.returncode == 0 and json.loads(done.stdout) == {"jobs": []}, done
        def started():   # whose last one may not have beaten yet
            lines = harness.pathlib.Path(folder, "log").read_text().splitlines()
            return [e["worker"] for e in map(json.loads, filter(lambda line: line.startswith("{"), lines)) if e["event"] == "worker_started"][-1]

        until = harness.deadline(20)
        while (done := run("drain", "--data", folder, worker := started())).returncode and time.monotonic() < until:
            time.sleep(0.1)
        assert done.returncode == 0, done
        assert run("drain", "--data", folder, "--undo", worker).returncode == 0
        assert run("drain", "--data", folder, "nobody").returncode == 2
        for command in ("fsck",), ("dead", "list"), ("drain", "w"), ("keys", "list"):
            done = run(*command, "--data", folder, "--redis", "unix:/nonexistent")
            assert done.returncode == 2 and "--data" in done.stderr, done
        embedded = subprocess.run([os.path.abspath(toast), "fsck"], cwd=os.path.dirname(folder), capture_output=True, text=True,
                                  env={k: v for k, v in environment.items() if not k.startswith("TOAST_")})
        assert embedded.returncode == 0, embedded   # toast-data is where one looks first
        with open(MODEL, "rb") as text:
            done = run("submit", "-", *flags, "--wait", stdin=text)
        assert done.returncode == 0, done
        began = time.monotonic()
        serve.terminate()
        assert serve.wait(15) == 0
        print(f"     stopped in {time.monotonic() - began:.1f} s")
        left = subprocess.run(["pgrep", "-f", folder], capture_output=True, text=True).stdout
        assert not left, left
    finally:
        if serve.poll() is None:
            serve.terminate()
            serve.wait(20)
        harness.shutil.rmtree(above, ignore_errors=True)


def test_progress():
    """progress says which stage a job is in or failed in, and its best is the plan's that was written"""
    service = harness.Service()
    try:
        small = {"mesh": {"axes": [{"name": "data", "size": 4}]}, "device": "a100-40", "budget": {"rollouts": 10}}
        text = (MODELS / "mlp.mlir").read_bytes()
        jobs = {planner: submit(service, dict(small, planner=planner), text) for planner in ("auto", "cfn", "baselines")}
        less = submit(service, dict(small, outputs=["report"]), text)
        wrong = submit(service, small, b"module {\n  nonsense\n}")
        big = submit(service, dict(small, memory_limit_bytes=1), text)
        long = submit(service, dict(small, mesh={"axes": [{"name": "data", "size": 4}, {"name": "model", "size": 4}]},
                                    budget={"rollouts": 4000}), (MODELS / "t2b.mlir.gz").read_bytes())
        waiting = service.json("GET", f"/v1/jobs/{wrong}")[1]["progress"]
        assert waiting["stage"] == "queued" and "best" not in waiting, waiting
        service.start_worker()
        for planner, job in jobs.items():
            assert service.wait(job)["state"] == "succeeded"
            best = service.json("GET", f"/v1/jobs/{job}")[1]["progress"]["best"]
            summary = json.loads(artifacts(service, job)["report.json"])["summary"]
            assert best == {key: summary[key] for key in ("step_ps", "peak_bytes", "fits", "found_by")}, (planner, best, summary)
            last = service.json("GET", f"/v1/jobs/{job}/events?format=json")[1]["events"][-2:]
            assert json.loads(artifacts(service, job)["plan.json"])["found_by"] == best["found_by"]
            assert planner != "cfn" or last[0]["progress"]["best"]["found_by"] == best["found_by"], last
        # what it had while it ran is not what it was asked for
        assert service.wait(less)["state"] == "succeeded"
        assert set(artifacts(service, less)) == {"report.json", "report.txt", "report.html", "trace.json"}, artifacts(service, less).keys()
        status, body = service.json("GET", f"/v1/jobs/{less}/plan")
        assert (status, body["code"]) == (404, "no_plan_yet") and "outputs" in body["detail"], body
        # what is left is said while it runs
        for _ in range(2000):
            body = service.json("GET", f"/v1/jobs/{long}")[1]
            if 0 < body["progress"].get("fraction", 0) < 1:
                break
            time.sleep(0.02)
        assert body["progress"]["eta_s"] >= 0 and body["links"]["ui"] == f"/ui/jobs/{long}", body
        service.request("POST", f"/v1/jobs/{long}:cancel", b"")
        assert "eta_s" not in service.wait(long)["progress"]
        for job, stage in ((wrong, "read"), (big, "analyse")):
            body = service.wait(job)
            assert (body["state"], body["progress"]["stage"]) == ("failed", stage), body
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_ways_to_submit, test_planner_cfn, test_progress, test_kill_everything, test_stop_early, test_bad_modules,
                  test_worker_elsewhere, test_clients])
