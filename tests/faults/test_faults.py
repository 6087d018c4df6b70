#!/usr/bin/env python3
# label: soak
# timeout: 400
"""One fault at a time, each at the moment where it hurts: a worker that stops for longer than its lease, Redis out of memory,
a full disk, clocks that jump, a task over its memory limit, two builds at once. After each: every result byte for byte as
without the fault, and the invariants."""
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tree
import faults
import harness

until = faults.until
T2B = harness.SOURCE / "tests" / "models" / "small" / "t2b.mlir"
SCAN = harness.SOURCE / "tests" / "models" / "t2b_scan.mlir.gz"     # searched for some seconds
LONG = {"mesh": {"axes": [{"name": "data", "size": 4}, {"name": "model", "size": 2}]}, "device": "a100-40", "seed": 7,
        "budget": {"rollouts": 1000000}, "parallelism": 64}


def finish(service, jobs, expected):
    """all end well, with the bytes of `expected` (by request number), and nothing is broken"""
    for number, job in jobs:
        body = faults.wait(service, job)
        assert body["state"] == "succeeded", body
        assert not faults.retried(lambda job=job, number=number: faults.differences(service, job, expected[number])), job
    faults.check(service, [job for _, job in jobs])
    assert faults.counters(service).get("nondeterminism", 0) == 0


def searching(service, job):
    return faults.look(service, job)["progress"].get("rollouts", 0) > 0


def test_stopped_worker():
    """SIGSTOP for longer than the lease, then SIGCONT: what it brings is refused and counted"""
    expected = faults.references([0])
    service = harness.Service(workers=1)
    try:
        late = service.workers[0]
        child = until("no child", lambda: tree.children(late.pid))[0]
        os.kill(child, signal.SIGSTOP)   # so that the first task is surely in its hands when the worker stops
        job = faults.submit(service, *faults.request(0))
        until("not claimed", lambda: service.redis_cli("ZCARD", "{t}:lease") == "1")
        late.send_signal(signal.SIGSTOP)
        service.start_worker()
        finish(service, [(0, job)], expected)
        assert faults.counters(service)["lease_lost"] == 1 and not faults.counters(service).get("fenced")
        before = service.redis_cli("HGETALL", "{t}:j:" + job)
        os.kill(child, signal.SIGCONT)
        time.sleep(2)   # it ends the task and leaves the answer in the socket
        late.send_signal(signal.SIGCONT)
        until("the late write was not counted", lambda: faults.counters(service).get("fenced") == 1, 20)
        assert service.redis_cli("HGETALL", "{t}:j:" + job) == before
        finish(service, [(0, job), (1, faults.submit(service, *faults.request(1)))], expected | faults.references([1]))
    finally:
        for pid in [late.pid, child]:
            try:
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                pass
        service.close()


def test_redis_out_of_memory():
    """submissions are refused; what is under way ends, cancel works, and whoever wants to see it is let in"""
    expected = faults.references([0])
    service = harness.Service(workers=1)
    try:
        long = faults.submit(service, T2B, LONG)
        until("no rollouts", lambda: searching(service, long))
        job = faults.submit(service, *faults.request(0))
        assert service.request("GET", "/v1/jobs")[0] == 200   # the secret of page tokens is made by the first
        service.redis_cli("CONFIG", "SET", "maxmemory", "1mb")
        body, headers = harness.multipart({"module": faults.MODELS[0].read_bytes(), "request": json.dumps(faults.request(1)[1]).encode()})
        status, headers, data = service.request("POST", "/v1/jobs", body, headers)
        assert status == 503 and "retry-after" in headers, (status, data)
        assert service.request("POST", f"/v1/jobs/{long}:cancel", b"")[0] in (200, 202)
        body = faults.wait(service, long)
        assert body["state"] == "cancelled", body
        finish(service, [(0, job)], expected)
        service.server.kill()
        service.server.wait()
        service.start_server()   # one that has nothing of Redis in its memory yet
        assert service.request("GET", "/v1/jobs")[0] == 200

        def keys(*words):
            return subprocess.run([harness.BIN / "toast", "keys", *words, "--redis", service.redis_address], capture_output=True,
                                  text=True, check=True).stdout.strip()
        key = keys("add")
        until("nobody is asked for a key", lambda: service.request("GET", "/v1/jobs")[0] == 401)
        status, headers, _ = service.request("POST", "/ui/session", f"key={key}", {"Content-Type": "application/x-www-form-urlencoded"})
        assert status == 303 and "toast_session=" in headers.get("set-cookie", ""), (status, headers)
        keys("revoke", re.search(r"tk_([0-9a-z]{8})", key)[1], "--last")
        until("still asks for a key", lambda: service.request("GET", "/v1/jobs")[0] == 200)
        service.redis_cli("CONFIG", "SET", "maxmemory", "256mb")
        until("still refused", lambda: service.request("GET", "/readyz")[0] == 200)
        finish(service, [(0, faults.submit(service, *faults.request(0), seconds=15))], expected)
    finally:
        service.close()


def test_full_disk():
    """below a tenth free: 507, what is under way ends; full: Redis stops and nothing is lost"""
    if os.geteuid() != 0:
        print("SKIPPED test_full_disk: mounting a small tmpfs needs root")
        return
    expected = faults.references([0, 1])
    mount = pathlib.Path(tempfile.mkdtemp(prefix="toast-disk-"))
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=48m", "none", mount], check=True)
    tempfile.tempdir = str(mount)
    service = harness.Service(workers=1)
    tempfile.tempdir = None
    try:
        first = faults.submit(service, *faults.request(0))
        finish(service, [(0, first)], expected)
        long = faults.submit(service, T2B, LONG)
        until("no rollouts", lambda: searching(service, long))
        ballast = mount / "ballast"
        free = shutil.disk_usage(mount).free
        ballast.write_bytes(b"x" * (free - (3 << 20)))   # 3 of 48 MiB are left
        body, headers = harness.multipart({"module": faults.MODELS[0].read_bytes(), "request": json.dumps(faults.request(1)[1]).encode()})
        until("not refused with 507", lambda: service.request("POST", "/v1/jobs", body, headers)[0] == 507)
        assert service.request("POST", f"/v1/jobs/{long}:cancel", b"")[0] in (200, 202)
        body = faults.wait(service, long)
        assert body["state"] == "cancelled", body
        try:
            with open(mount / "rest", "wb", buffering=0) as rest:
                while True:
                    rest.write(b"x" * 4096)
        except OSError:
            pass
        until("Redis goes on without a disk", lambda: service.redis.poll() is not None)
        (mount / "rest").unlink(missing_ok=True)
        ballast.unlink()
        service.start_redis()
        second = faults.submit(service, *faults.request(1), seconds=30)
        finish(service, [(0, first), (1, second)], expected)
        faults.check(service, [first, second, long])
    finally:
        service.close()
        subprocess.run(["umount", "-l", mount], check=True)
        mount.rmdir()


def test_clocks():
    """the clocks of server and workers are irrelevant; Redis' own may jump an hour forward and back"""
    numbers = list(range(10))
    expected = faults.references(numbers)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="toast-clock-"))
    library, state = folder / "clock.so", folder / "clocks"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", library, pathlib.Path(__file__).with_name("clock.c"), "-ldl"], check=True)

    def clocks(**offsets):
        (folder / "new").write_text("".join(f"{name.replace('_', '-')} {seconds}\n" for name, seconds in offsets.items()))
        (folder / "new").rename(state)

    clocks(toast_server=3600, toast_worker=-7200)
    service = harness.Service(workers=2, environment={"LD_PRELOAD": str(library), "FAULT_CLOCK": str(state),
                                                      "ASAN_OPTIONS": "verify_asan_link_order=0"})
    try:
        jobs = [(n, faults.submit(service, *faults.request(n))) for n in numbers[:4]]
        clocks(toast_server=-86400, toast_worker=86400)
        jobs += [(n, faults.submit(service, *faults.request(n))) for n in numbers[4:6]]
        finish(service, jobs, expected)
        metrics = service.request("GET", "/metrics")[2].decode()
        age = [float(line.split()[1]) for line in metrics.split("\n") if line.startswith("toast_job_queue_age_seconds")]
        assert age and age[0] < 120, age
        created = int(service.redis_cli("HGET", "{t}:j:" + jobs[0][1], "created"))
        assert abs(created / 1000 - time.time()) < 120, "times of jobs are Redis' own"
        for at, offset in ((6, 3600), (8, 0)):
            jobs += [(n, faults.submit(service, *faults.request(n))) for n in numbers[at:at + 2]]
            clocks(redis_server=offset)
            until("the clock does not move", lambda offset=offset: abs(int(service.redis_cli("TIME").split("\n")[0]) - time.time() - offset) < 5, 5)
            # a worker dies just now: its leases, given by the other clock, must still end
            service.workers.pop(0).kill()
            service.start_worker()
            finish(service, jobs, expected)
    finally:
        service.close()
        shutil.rmtree(folder)


def test_memory_limit():
    """the job fails, the worker goes on"""
    expected = faults.references([0, 1])
    service = harness.Service()
    try:
        worker = service.start_worker(options=["--child-memory", str(16 << 20)])
        first = faults.submit(service, *faults.request(0))
        large = faults.submit(service, T2B, LONG)
        second = faults.submit(service, *faults.request(1))
        body = faults.wait(service, large)
        assert body["state"] == "failed" and body["error"]["code"] == "memory_limit" and "16 MiB" in body["error"]["message"], body
        finish(service, [(0, first), (1, second)], expected)
        assert worker.poll() is None
        assert not any(name.endswith(":died") for name in faults.counters(service))
    finally:
        service.close()


def test_hung_child():
    """a child that does not end its task in time is ended, which counts as one death; the next one does it"""
    expected = faults.references([0])
    service = harness.Service()
    try:
        worker = service.start_worker(options=["--task-limit", "2"])
        child = until("no child", lambda: tree.children(worker.pid))[0]
        os.kill(child, signal.SIGSTOP)
        finish(service, [(0, faults.submit(service, *faults.request(0)))], expected)
        assert faults.counters(service)["tasks:read:died"] == 1
        assert "time limit" in (service.folder / "log").read_text()
    finally:
        service.close()


def function(service, name, *words):
    """a function of the queue's library, called as a worker would; -> the lines of its answer"""
    functions = service.redis_cli("FUNCTION", "LIST").split()
    version = next(word for word in functions if word.startswith("toast_claim_")).removeprefix("toast_claim_")
    return service.redis_cli("FCALL", f"toast_{name}_{version}", "1", "{t}", *words).split("\n")


def test_incumbent():
    """a job that starts over, for a lost blob or on another build, keeps its best plan: it is shown, and written when the
    job is cancelled before the search has found one again"""
    service = harness.Service(workers=1)
    try:
        job = faults.submit(service, T2B, LONG)
        until("no rollouts", lambda: searching(service, job))
        service.workers[0].terminate()
        service.workers[0].wait()
        before, plan = faults.look(service, job), service.json("GET", f"/v1/jobs/{job}/plan")[1]
        assert before["state"] == "running" and plan["hash"], before

        def kept(build, attempt):
            body = faults.look(service, job)
            assert (body["state"], body["progress"]["stage"], body["build"]) == ("validating", "read", build), body
            assert body["attempt"] == attempt and body["progress"]["best"] == before["progress"]["best"], (body, before)
            assert service.json("GET", f"/v1/jobs/{job}/plan")[1] == plan
            event = service.json("GET", f"/v1/jobs/{job}/events?format=json")[1]["events"][-1]
            assert (event["event"], event["build"]) == ("restarted", build), event

        member, token = function(service, "claim", "a#0.1", before["build"], "")[:2]
        assert function(service, "reset", member, token, "{}") == ["restarted"]
        kept(before["build"], 2)
        assert function(service, "claim", "b#0.1", "another build", "") == [""]
        service.redis_cli("ZADD", "{t}:builds", "XX", "1", before["build"])
        member, token = function(service, "claim", "b#0.1", "another build", "")[:2]
        kept("another build", 3)
        function(service, "release", member, token)
        assert service.request("POST", f"/v1/jobs/{job}:cancel", b"")[0] == 202
        service.start_worker()   # nobody has that other build: this one does what is left
        body = faults.wait(service, job)
        assert (body["state"], body["build"]) == ("cancelled", before["build"]), body
        assert body["progress"]["best"] == before["progress"]["best"], (body, before)
        names = {a["name"] for a in service.json("GET", f"/v1/jobs/{job}/artifacts")[1]["artifacts"]}
        assert {"plan.json", "report.json", "local.mlir", "manual.mlir", "annotated.mlir"} <= names, names
        written = service.json("GET", f"/v1/jobs/{job}/plan")[1]
        assert (written["hash"], written["reproducible"]) == (plan["hash"], False)
        faults.check(service, [job])
    finally:
        service.close()


def stop_in_a_step(service, job):
    """a worker begins the job and ends where three tasks of a step or more are left: steps of rollouts have 16, those of a local search fewer"""
    def left():
        tasks, done = service.redis_cli("HMGET", "{t}:j:" + job, "tasks", "done").split()
        return int(tasks) - int(done)
    while True:
        worker = service.start_worker()
        until("no rollouts", lambda: searching(service, job) and left() >= 3)
        worker.terminate()
        worker.wait()
        service.workers.remove(worker)
        if left() >= 3:
            return


def test_step_with_holes():
    """what was done of a step that is given up does not reach what follows: cancel and a new start amid results out of order"""
    service = harness.Service()
    try:
        for end in ("cancel", "reset"):
            job = faults.submit(service, SCAN, dict(LONG, parallelism=16, budget={"rollouts": 4000}))
            stop_in_a_step(service, job)
            build = faults.look(service, job)["build"]
            first, second = (function(service, "claim", f"{end}#{n}.1", build, "")[:2] for n in range(2))
            assert int(second[0].split("/")[3]) > int(first[0].split("/")[3])
            assert function(service, "task_done", *second, "0" * 64, "inothing", "") == ["more"]
            if end == "cancel":
                assert service.request("POST", f"/v1/jobs/{job}:cancel", b"")[0] == 202
            else:
                assert function(service, "reset", *first, "{}") == ["restarted"]
            service.start_worker()
            body = faults.wait(service, job)
            assert (body["state"], body["error"]) == ("cancelled" if end == "cancel" else "succeeded", None), body
            assert service.request("GET", f"/v1/jobs/{job}/plan")[0] == 200
            faults.check(service, [job])
            service.workers.pop().terminate()
    finally:
        service.close()


def test_lost_blob():
    """what a running job stands on is gone or damaged: it starts over and gives the same bytes"""
    request = dict(LONG, budget={"rollouts": 20000}, parallelism=16)
    expected = {0: faults.reference(T2B, request)}
    service = harness.Service(workers=1)
    try:
        job = faults.submit(service, T2B, request)
        until("no rollouts", lambda: searching(service, job))
        for round, damage in enumerate((lambda path: path.unlink(), lambda path: (path.chmod(0o644), path.write_bytes(b"?")))):
            worker = service.workers.pop()
            worker.terminate()
            worker.wait()
            best, seen = faults.look(service, job)["progress"]["best"], []
            digest = service.redis_cli("HGET", "{t}:j:" + job, "b:snapshot")
            assert len(digest) == 64, faults.look(service, job)
            damage(service.folder / "data" / "blobs" / digest[:2] / digest[2:4] / digest)
            service.start_worker()
            until("does not start over", lambda round=round: faults.counters(service).get("resets") == round + 1)

            def again(seen=seen):   # what it had is shown meanwhile
                seen.append(faults.look(service, job)["progress"])
                assert service.request("GET", f"/v1/jobs/{job}/plan")[0] == 200
                return seen[-1].get("rollouts", 0) > 0

            until("no rollouts", again)
            assert all(progress["best"]["step_ps"] <= best["step_ps"] for progress in seen), (best, seen)
        finish(service, [(0, job)], expected)
        assert service.redis_cli("HGET", "{t}:j:" + job, "attempt") == "3"
    finally:
        service.close()


def test_drain():
    """a drained worker takes nothing, and takes tasks again when asked to"""
    expected = faults.references([0, 1])
    service = harness.Service(workers=1)
    drain = lambda *words: subprocess.run([harness.BIN / "toast", "drain", "--redis", service.redis_address, *words]).returncode
    try:
        finish(service, [(0, faults.submit(service, *faults.request(0)))], expected)
        name = service.redis_cli("ZRANGE", "{t}:workers", "0", "0")
        assert drain(name) == 0 and drain("nobody") == 2 and drain() == 2
        until("does not drain", lambda: "draining" in (service.folder / "log").read_text())
        job = faults.submit(service, *faults.request(1))
        time.sleep(1.5)
        assert faults.look(service, job)["state"] == "queued"
        assert drain("--undo", name) == 0
        finish(service, [(1, job)], expected)
    finally:
        service.close()


def test_two_builds():
    """a job stays with the build that began it; when that one is gone it starts again, and the result is that of one build"""
    build = f"toast {subprocess.run([harness.BIN / 'toast', '--version'], capture_output=True, text=True).stdout.split()[1]}"
    other = build[:-1] + chr(ord(build[-1]) + 1)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="toast-build-"))
    for name in ("toast", "toast-worker", "toast-read"):   # another build: the same code under another name
        program = (harness.BIN / name).read_bytes()
        assert name == "toast-read" or build.encode() in program
        (folder / name).write_bytes(program.replace(build.encode(), other.encode()))
        (folder / name).chmod(0o755)
    numbers = list(range(8))
    here = harness.BIN
    expected = {build: faults.references(numbers)}
    faults.BIN = folder
    expected[other] = faults.references(numbers)
    faults.BIN = here
    service = harness.Service()
    try:
        old = service.start_worker()
        long = faults.submit(service, T2B, LONG)
        until("no rollouts", lambda: searching(service, long))
        new = service.start_worker(program=folder / "toast-worker")   # beside each other
        jobs = [(n, faults.submit(service, *faults.request(n))) for n in numbers]
        builds = set()
        for n, job in jobs:
            body = faults.wait(service, job)
            assert body["state"] == "succeeded", body
            mine = service.redis_cli("HGET", "{t}:j:" + job, "build")
            builds.add(mine)
            assert not faults.differences(service, job, expected[mine][n]), (mine, job)
        assert other in builds, builds
        assert service.redis_cli("HGET", "{t}:j:" + long, "build") == build
        old.terminate()
        old.wait()
        time.sleep(1.5)
        assert service.redis_cli("HGET", "{t}:j:" + long, "build") == build   # a build may come back within a minute
        service.redis_cli("ZADD", "{t}:builds", str(int(time.time() * 1000) - 61000), build)   # the minute is over
        until("not taken over", lambda: service.redis_cli("HGET", "{t}:j:" + long, "build") == other)
        assert "restarted" in service.redis_cli("XRANGE", "{t}:ev:" + long, "-", "+")
        until("does not go on", lambda: searching(service, long))
        assert service.request("POST", f"/v1/jobs/{long}:cancel", b"")[0] in (200, 202)
        assert faults.wait(service, long)["state"] == "cancelled"
        assert new.poll() is None
        faults.check(service, [long] + [job for _, job in jobs])
    finally:
        service.close()
        shutil.rmtree(folder)


if __name__ == "__main__":
    harness.main([test_stopped_worker, test_redis_out_of_memory, test_full_disk, test_clocks, test_memory_limit, test_hung_child, test_lost_blob,
                  test_step_with_holes, test_incumbent, test_drain, test_two_builds])
