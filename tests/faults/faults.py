"""What the fault tests share: many small jobs with known answers, and the invariant checker over what is left of them.

A job is given by its number alone (`request`), its answer by `toast plan` in one process that nobody disturbs."""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "service"))
import harness
from harness import BIN, SOURCE

MODELS = [SOURCE / "tests" / "models" / name for name in ("mlp.mlir", "paper_attention.mlir")]
ENDED = ("succeeded", "failed", "cancelled", "expired", "dead")


def request(number, rollouts=64):
    """-> (module, request) of small job `number`; all differ in their seed"""
    axes = [[("data", 4)], [("data", 2), ("model", 2)], [("model", 2)]][number % 3]
    return MODELS[number % len(MODELS)], {
        "mesh": {"axes": [{"name": name, "size": size} for name, size in axes]}, "device": "a100-40", "seed": number + 1,
        "budget": {"rollouts": rollouts}, "parallelism": 4}


def reference(module, job):
    """-> {artifact: SHA-256} of `toast plan` with the same request, on one thread"""
    with tempfile.TemporaryDirectory(prefix="toast-reference-") as folder:
        folder = pathlib.Path(folder)
        (folder / "request.json").write_text(json.dumps(job))
        done = subprocess.run([BIN / "toast", "plan", module, "--request", folder / "request.json", "--threads", "1",
                               "--quiet", "-o", folder / "out"], capture_output=True)
        assert done.returncode == 0, done
        return {f.name: hashlib.sha256(f.read_bytes()).hexdigest() for f in (folder / "out").iterdir()
                if f.name != "timing.json"}


def references(numbers, rollouts=64, threads=2):
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return dict(zip(numbers, pool.map(lambda n: reference(*request(n, rollouts)), numbers)))


def submit(service, module, job, seconds=60):
    """posts until the service has acknowledged; the same key again and again makes it one job whatever answers were lost"""
    body, headers = harness.multipart({"module": module.read_bytes(), "request": json.dumps(job).encode()})
    headers["Cache-Control"] = "no-cache"   # work, not the answer of an equal job
    headers["Idempotency-Key"] = os.urandom(16).hex()
    until = harness.deadline(seconds)
    while True:
        try:
            status, _, data = service.request("POST", "/v1/jobs", body, headers, timeout=10)
            if status == 202:
                return json.loads(data)["id"]
            last = (status, data)
        except (OSError, harness.http.client.HTTPException) as problem:
            last = problem
        assert time.monotonic() < until, last
        time.sleep(0.1)


def look(service, job, seconds=60):
    """GET of the job; -> its body, whatever is restarted meanwhile"""
    until = harness.deadline(seconds)
    while True:
        try:
            status, body = service.json("GET", f"/v1/jobs/{job}")
            if status == 200:
                return body
            last = (status, body)
            assert status != 404, f"{job} was acknowledged and is lost"
        except (OSError, ValueError, harness.http.client.HTTPException) as problem:
            last = problem
        assert time.monotonic() < until, last
        time.sleep(0.1)


def wait(service, job, seconds=240):
    """-> the job's body once it has ended"""
    until = harness.deadline(seconds)
    while (body := look(service, job))["state"] not in ENDED:
        assert time.monotonic() < until, f"{job} is stuck: {body}"
        time.sleep(0.05)
    return body


def differences(service, job, expected):
    """names of artifacts that are not byte for byte the reference's; digests are of the bytes, which fsck reads again"""
    status, body = service.json("GET", f"/v1/jobs/{job}/artifacts")
    assert status == 200 and body["complete"], (status, body)
    found = {a["name"]: a["digest"].removeprefix("sha256:") for a in body["artifacts"]}
    return sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))


def check(service, jobs=(), holds=True):
    """runs the invariant checker; -> its result"""
    with tempfile.NamedTemporaryFile("w", suffix=".ids") as expected:
        expected.write("".join(job + "\n" for job in jobs))
        expected.flush()
        done = subprocess.run([pathlib.Path(__file__).with_name("check_invariants"), "--redis", service.redis_address,
                               "--store", service.store, "--expect", expected.name, "--json"], capture_output=True, text=True)
    assert done.returncode in (0, 1), done
    result = json.loads(done.stdout)
    assert result["holds"] == (done.returncode == 0)
    if holds:
        assert result["holds"], result["violations"][:20]
    return result


def until(what, condition, seconds=120):
    end = harness.deadline(seconds)
    while not (value := condition()):
        assert time.monotonic() < end, what
        time.sleep(0.05)
    return value


def counters(service):
    lines = service.redis_cli("HGETALL", "{t}:n").split("\n")
    return {name: int(float(value)) for name, value in zip(lines[::2], lines[1::2])}


def retried(what, seconds=60):
    """-> what() once the service answers it"""
    until = harness.deadline(seconds)
    while True:
        try:
            return what()
        except (OSError, ValueError, AssertionError, subprocess.CalledProcessError, harness.http.client.HTTPException):
            if time.monotonic() > until:
                raise
            time.sleep(0.1)


def wait_idle(service, seconds=60):
    """until no job is open: submissions whose answer was lost are jobs too"""
    until = harness.deadline(seconds)
    while True:
        open_jobs = [int(n) for name, n in retried(lambda: counters(service)).items()
                     if name.startswith("jobs:") and name[5:] not in ENDED]
        if sum(open_jobs) == 0:
            return
        assert time.monotonic() < until, f"{sum(open_jobs)} jobs do not end"
        time.sleep(0.1)
