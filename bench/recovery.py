#!/usr/bin/env python3
"""How long the service takes to get over things: cancel, a worker's death, SIGTERM, the server's death, Redis' death.

Example:
  bench/recovery.py --rounds 20

Prints a table of median, p99 (the largest of fewer than 100) and how many were measured."""
import argparse
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "faults"))
import tree
import faults
import harness

T2B = harness.SOURCE / "tests" / "models" / "small" / "t2b.mlir"


def long_job(seed):
    return {"mesh": {"axes": [{"name": "data", "size": 4}, {"name": "model", "size": 2}]}, "device": "a100-40", "seed": seed,
            "budget": {"rollouts": 100000000}, "parallelism": 256}


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "did not come"
        time.sleep(0.005)
    return value


def processor_time(pid):
    """in ticks of 10 ms"""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return int(fields[11]) + int(fields[12])
    except OSError:
        return 0


def cancels(service, rounds):
    """POST :cancel until no worker's child uses the processor any more (looked at every 10 ms)"""
    times = []
    for n in range(rounds):
        job = faults.submit(service, T2B, long_job(n + 1))
        until(lambda job=job: faults.look(service, job)["progress"].get("rollouts", 0) > 0)
        until(lambda: int(service.redis_cli("ZCARD", "{t}:lease")) >= len(service.workers))
        family = [child for worker in service.workers for child in tree.children(worker.pid)]
        began = last = time.monotonic()
        assert service.request("POST", f"/v1/jobs/{job}:cancel?discard=true", b"")[0] in (200, 202)
        before = [processor_time(child) for child in family]
        while time.monotonic() - last < 1.5:
            time.sleep(0.01)
            now = [processor_time(child) for child in family]
            if now != before:
                before, last = now, time.monotonic()
        times.append(last - began)
    return times


def held(service, worker):
    """members of leases that this worker holds"""
    found = []
    for member in service.redis_cli("ZRANGE", "{t}:lease", "0", "-1").split():
        job, _, epoch, index = member.split("/")
        owner = service.redis_cli("HGET", f"{{t}}:k:{job}:{epoch}", "o:" + index)
        if f":{worker.pid}:" in owner:
            found.append((member, job, epoch, index, owner))
    return found


def caught(service, worker):
    """the worker stopped in the middle of tasks; -> what it holds (nothing: it goes on)"""
    worker.send_signal(signal.SIGSTOP)
    tasks = held(service, worker)
    if not tasks:
        worker.send_signal(signal.SIGCONT)
        time.sleep(0.3)   # time to be scheduled and to take something
    return tasks


def deaths(service, rounds):
    """kill -9 of a worker until somebody else holds, or has done, each task that it held"""
    times = []
    for n in range(rounds):
        job = faults.submit(service, T2B, long_job(1000 + n))   # one of its own: a search ends when it gains nothing
        until(lambda job=job: faults.look(service, job)["progress"].get("rollouts", 0) > 0)
        worker = service.workers.pop(0)
        tasks = until(lambda worker=worker: caught(service, worker))
        worker.kill()
        worker.wait()
        began = time.monotonic()
        service.start_worker()
        for member, job_id, epoch, index, owner in tasks:
            key = f"{{t}}:k:{job_id}:{epoch}"
            until(lambda key=key, index=index, owner=owner: service.redis_cli("HGET", key, "o:" + index) != owner)
            times.append(time.monotonic() - began)
        service.request("POST", f"/v1/jobs/{job}:cancel?discard=true", b"")
    return times


def leaves(service, rounds):
    """SIGTERM of a worker at work until it is gone"""
    times = []
    job = faults.submit(service, T2B, long_job(998))
    until(lambda: faults.look(service, job)["progress"].get("rollouts", 0) > 0)
    for _ in range(rounds):
        worker = service.workers.pop(0)
        began = time.monotonic()
        worker.send_signal(signal.SIGTERM)
        worker.wait()
        times.append(time.monotonic() - began)
        service.start_worker()
    service.request("POST", f"/v1/jobs/{job}:cancel?discard=true", b"")
    return times


def restarts(service, rounds, name):
    """kill -9 and start at once, until /readyz says 200"""
    def ready():
        try:
            return service.request("GET", "/readyz", timeout=2)[0] == 200
        except OSError:
            return False

    times = []
    for _ in range(rounds):
        process = getattr(service, name)
        process.kill()
        process.wait()
        began = time.monotonic()
        getattr(service, "start_" + name)()
        until(ready)
        times.append(time.monotonic() - began)
    return times


parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rounds", type=int, default=20)
rounds = parser.parse_args().rounds
service = harness.Service(workers=2)
try:
    print("| what | median s | p99 s | times | goal |\n|---|---|---|---|---|")
    for name, measured, goal in (
            ("cancel -> all workers stopped", lambda: cancels(service, rounds), "p99 <= 3 s"),
            ("worker kill -> task leased again or done", lambda: deaths(service, rounds), "<= 12 s"),
            ("SIGTERM of a worker -> gone", lambda: leaves(service, rounds), "<= 5 s"),
            ("server kill -> ready again", lambda: restarts(service, rounds, "server"), "<= 1 s"),
            ("Redis kill -> ready again", lambda: restarts(service, rounds, "redis"), "")):
        times = sorted(measured())
        at = min(len(times) - 1, int(len(times) * 0.99))
        print(f"| {name} | {times[len(times) // 2]:.2f} | {times[at]:.2f} | {len(times)} | {goal} |", flush=True)
    faults.check(service)
finally:
    service.close()
