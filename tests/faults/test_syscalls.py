#!/usr/bin/env python3
# label: service
# timeout: 240
"""Small jobs and prices while one in so many system calls of every process fails with each error that may come: none lost, none
stuck, every plan byte for byte that of `toast plan`, no reason that is not true.

TOAST_SEED chooses other failures, TOAST_JOBS makes it longer; bench/faults.py --syscalls is the long run."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults
import harness
import syscalls

SEED, JOBS = int(os.environ.get("TOAST_SEED", "1")), int(os.environ.get("TOAST_JOBS", "40"))


def test_all_calls():
    figures = syscalls.run(JOBS, SEED, distinct=20, say=lambda text: print(text, flush=True))
    print(figures, flush=True)
    assert not any(figures["bad"].values()), figures
    kinds = {key.split()[0] for key in figures["failed"]}
    assert kinds >= {"server", "what_if", "worker", "child", "reader"} and sum(figures["failed"].values()) > 50, figures


def test_library_is_everywhere():
    """a rate of none changes nothing, and the children of children have it loaded, though they are given no environment"""
    preload = syscalls.Preload(1, {})
    service = harness.Service(environment=preload.environment(), workers=1)
    try:
        job = faults.submit(service, *faults.request(0))
        body = faults.wait(service, job)
        assert body["state"] == "succeeded" and not faults.differences(service, job, faults.references([0])[0])
        begun = int.from_bytes(preload.counts.read_bytes()[:8], "little")
        assert begun >= 5, begun   # redis, server, worker, child, reader
    finally:
        service.close()
        preload.close()


if __name__ == "__main__":
    harness.main([test_all_calls, test_library_is_everywhere])
