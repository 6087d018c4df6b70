#!/usr/bin/env python3
# label: service
# timeout: 300
"""Processes that die while they hold a job, and why: what is done to them is retried and never called a limit that was not
reached; every lost attempt is counted by its reason."""
import os
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chaos
import faults
import harness

T2B = harness.SOURCE / "tests" / "models" / "small" / "t2b.mlir"
REQUEST = {"mesh": {"axes": [{"name": "data", "size": 4}]}, "device": "a100-40", "seed": 3, "budget": {"rollouts": 16}}


def strike(service, name, times, seconds=30):
    """kill -9 of the next `times` processes of this name below the service's worker"""
    killed, until = set(), harness.deadline(seconds)
    while len(killed) < times:
        assert time.monotonic() < until, f"{name} was seen {len(killed)} times only"
        for pid in chaos.family(service.workers[0].pid, name):
            if pid not in killed:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)


def deaths(service):
    return {name.removeprefix("deaths:"): n for name, n in faults.counters(service).items() if name.startswith("deaths:")}


def test_killed_reader():
    """the job goes on with another reader; the command line says what happened and that it may be tried again"""
    expected = faults.reference(T2B, REQUEST)
    service = harness.Service(workers=1)
    try:
        job = faults.submit(service, T2B, REQUEST)
        strike(service, "toast-read", 2)
        body = faults.wait(service, job)
        assert body["state"] == "succeeded", body
        assert not faults.differences(service, job, expected)
        assert deaths(service) == {"host": 2}, deaths(service)
        metrics = service.request("GET", "/metrics")[2].decode()
        assert 'toast_task_deaths_total{reason="host"} 2' in metrics and 'toast_task_deaths_total{reason="oom"} 0' in metrics
        faults.check(service, [job])
    finally:
        service.close()


def test_killed_child():
    """kill -9 of the process that computes: counted, and the job ends as if nothing had been"""
    expected = faults.reference(T2B, REQUEST)
    service = harness.Service(workers=1)
    try:
        faults.until("no child", lambda: chaos.children(service.workers[0].pid))
        job = faults.submit(service, T2B, REQUEST)
        faults.until("not claimed", lambda: service.redis_cli("ZCARD", "{t}:lease") == "1")
        os.kill(chaos.children(service.workers[0].pid)[0], signal.SIGKILL)
        body = faults.wait(service, job)
        assert body["state"] == "succeeded", body
        assert not faults.differences(service, job, expected)
        assert sum(deaths(service).values()) == 1, deaths(service)
        faults.check(service, [job])
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_killed_reader, test_killed_child])
