#!/usr/bin/env python3
# label: service
# timeout: 240
"""`deadline_s` bounds every stage of a job: whatever hangs, and where, the job is over a tenth of it later (5 s at least), with what
was found by then, and says so."""
import json
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import faults
import harness
import tree

LARGE, SMALL = (harness.SOURCE / "tests" / "models" / name for name in ("t2b_flat.mlir.gz", "small/t2b.mlir"))
SEARCHED = harness.SOURCE / "tests" / "models" / "gpt_torch.mlir.gz"      # for 20 s on a quiet machine, and written in no time
SPAN_S, LONG_S, GRACE_S, LATE_S = 6, 25, 5, 4 * harness.SLOW   # LATE_S: how late what looks once a second may be, and this test
REQUEST = {"mesh": {"axes": [{"name": "data", "size": 4}, {"name": "model", "size": 2}]}, "device": "a100-40", "seed": 3,
           "deadline_s": SPAN_S, "memory_limit_bytes": 400_000_000_000}
FEW, MANY = {"rollouts": 16}, {"rollouts": 100_000_000}


def stopped(service):
    """a worker and all below it, which do nothing more"""
    worker = service.workers[0]
    pids = [worker.pid, *tree.family(worker.pid)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    return pids


def hang_at(stage, module, request):
    """the job's worker hangs once the job has come to this stage; -> the job's end, seconds from its begin, status of its plan"""
    service = harness.Service()
    pids = []
    try:
        began = time.monotonic()
        job = faults.submit(service, module, request)
        if stage != "queued":
            service.start_worker()
            faults.until(f"{stage} is not reached", lambda: faults.look(service, job)["progress"].get("stage") == stage,
                         request["deadline_s"])
            if stage == "read":
                faults.until("no reader", lambda: tree.family(service.workers[0].pid, "toast-read"))
            pids = stopped(service)
        body = faults.wait(service, job, request["deadline_s"] + GRACE_S + LATE_S)
        seconds = time.monotonic() - began
        faults.check(service, [job])
        return body, seconds, service.request("GET", f"/v1/jobs/{job}/plan")[0]
    finally:
        for pid in pids:
            if pathlib.Path(f"/proc/{pid}").exists():
                os.kill(pid, signal.SIGCONT)
        service.close()


def test_before_a_plan():
    """nothing was found: the job ends at its deadline, not later"""
    for stage in ("queued", "read", "analyse"):
        body, seconds, plan = hang_at(stage, LARGE, dict(REQUEST, budget=FEW))
        assert (body["state"], body["error"]["code"], plan) == ("expired", "deadline", 404), (stage, body, plan)
        assert "before a plan was ready" in body["error"]["detail"], body
        assert SPAN_S - 0.1 <= seconds <= SPAN_S + LATE_S, (stage, seconds)
        print(f"{stage}: {seconds:.1f} s", flush=True)


def test_with_a_plan():
    """the best plan by then is there, and the error says that it is all"""
    for stage, module, request in (("search", SMALL, dict(REQUEST, budget=MANY)),
                                   ("emit", LARGE, dict(REQUEST, budget=FEW, planner="mcts", deadline_s=LONG_S, proof=True))):
        body, seconds, plan = hang_at(stage, module, request)
        assert (body["state"], body["error"]["code"], body["stopped_by"], plan) == ("expired", "deadline", "deadline", 200), (stage, body)
        assert "best plan by then" in body["error"]["detail"], body
        assert request["deadline_s"] <= seconds <= request["deadline_s"] + GRACE_S + LATE_S, (stage, seconds)
        print(f"{stage}: {seconds:.1f} s", flush=True)


def test_written_in_time():
    """a search that its deadline cuts short, with a proof wanted: the artifacts are written without it, within the time for that"""
    service = harness.Service(workers=1)
    try:
        began = time.monotonic()
        job = faults.submit(service, SEARCHED, dict(REQUEST, budget=MANY, proof=True))
        body = faults.wait(service, job, SPAN_S + GRACE_S + LATE_S)
        assert (body["state"], body["stopped_by"]) == ("succeeded", "deadline"), body
        assert time.monotonic() - began <= SPAN_S + GRACE_S + LATE_S
        report = json.loads(service.request("GET", f"/v1/jobs/{job}/artifacts/report.json")[2])
        assert report["proof"]["status"] == "not_run" and "deadline" in json.dumps(report["proof"]), report["proof"]
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_before_a_plan, test_with_a_plan, test_written_in_time])
