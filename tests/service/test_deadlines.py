#!/usr/bin/env python3
# label: service
# timeout: 240
# processors: 2
"""`deadline_s` bounds every stage of a job: whatever hangs, and where, the job is over a tenth of it later (5 s at least), with what
was found by then, and says so."""
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "faults"))
import faults
import harness
import tree

LARGE, SMALL = (harness.SOURCE / "tests" / "models" / name for name in ("t2b_flat.mlir.gz", "small/t2b.mlir"))
SEARCHED = harness.SOURCE / "tests" / "models" / "gpt_torch.mlir.gz"      # over CUBE for 20 s on a quiet machine, and written in no time
CUBE = {"axes": [{"name": name, "size": 2} for name in ("data", "model", "rest")]}
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
    service, span = harness.Service(workers=1), 2 * SPAN_S   # the first plans, too, on a busy machine
    try:
        began = time.monotonic()
        job = faults.submit(service, SEARCHED, dict(REQUEST, mesh=CUBE, budget=MANY, proof=True, deadline_s=span))
        body = faults.wait(service, job, span + GRACE_S + LATE_S)
        assert (body["state"], body.get("stopped_by")) == ("succeeded", "deadline"), body
        assert time.monotonic() - began <= span + GRACE_S + LATE_S
        report = json.loads(service.request("GET", f"/v1/jobs/{job}/artifacts/report.json")[2])
        assert report["proof"]["status"] == "not_run" and "deadline" in json.dumps(report["proof"]), report["proof"]
    finally:
        service.close()


LOOP = """module @loop {
  func.func public @main(%x: tensor<128x128xf32>, %w: tensor<128x128xf32>) -> tensor<128x128xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0:3 = stablehlo.while(%i = %zero, %a = %x, %b = %w) : tensor<i32>, tensor<128x128xf32>, tensor<128x128xf32>
     cond {
      %n = stablehlo.constant dense<60000> : tensor<i32>
      %c = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %d = "stablehlo.sort"(%a) ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %less = stablehlo.compare LT, %p, %q : (tensor<f32>, tensor<f32>) -> tensor<i1>
        stablehlo.return %less : tensor<i1>
      }) {dimension = 1 : i64, is_stable = true} : (tensor<128x128xf32>) -> tensor<128x128xf32>
      %t = stablehlo.subtract %d, %a : tensor<128x128xf32>
      stablehlo.return %j, %t, %b : tensor<i32>, tensor<128x128xf32>, tensor<128x128xf32>
    }
    return %0#1 : tensor<128x128xf32>
  }
}
"""   # planned in no time; proved in minutes, as no compiler makes comparisons by a region fast: 2e10 operations are the most tried
PROOF = {"mesh": {"axes": [{"name": "data", "size": 2}]}, "device": "a100-40", "seed": 3, "budget": FEW, "proof": True}


def loop_of(service):
    path = service.folder / "loop.mlir"
    path.write_text(LOOP)
    return path


def source_of(pid):
    """the file of the source that a stopped process is in; "" in a library"""
    counter = int(pathlib.Path(f"/proc/{pid}/syscall").read_text().split()[-1], 16)
    for line in pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines():
        bounds, _, offset, _, _, *path = line.split()
        low, high = (int(word, 16) for word in bounds.split("-"))
        if low <= counter < high and path and "toast-worker" in path[0]:
            said = subprocess.run(["addr2line", "-e", harness.BIN / "toast-worker", hex(counter - low + int(offset, 16))],
                                  capture_output=True, text=True, check=True).stdout
            return said.partition(":")[0]
    return ""


def stop_if_proving(child):
    """-> whether it is now stopped where it interprets a module"""
    try:
        os.kill(child, signal.SIGSTOP)
        faults.until("it runs on", lambda: pathlib.Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        proves = "/verify/" in source_of(child)
        if not proves:
            os.kill(child, signal.SIGCONT)
            time.sleep(0.1)
        return proves
    except (FileNotFoundError, ProcessLookupError):   # it has ended meanwhile: a child of a stage before
        return False


def child_in_proof(service):
    """the worker's child, stopped where it interprets the module"""
    def found():
        children = [pid for pid in tree.children(service.workers[0].pid) if "--child" in tree.arguments(pid)]
        return next((child for child in children if stop_if_proving(child)), None)
    return faults.until("no child proves anything", found)


def hang_in_the_proof(how):
    service = harness.Service(workers=1)
    try:
        began = time.monotonic()
        job = faults.submit(service, loop_of(service), dict(PROOF, deadline_s=SPAN_S))
        child = child_in_proof(service)
        if how != "hangs":
            os.kill(child, signal.SIGCONT)
        body = faults.wait(service, job, SPAN_S + GRACE_S + LATE_S)
        seconds = time.monotonic() - began
        assert (body["state"], body["stopped_by"], body["attempt"]) == ("succeeded", "deadline", 1), (how, body)
        assert SPAN_S - 0.1 <= seconds <= SPAN_S + GRACE_S + LATE_S, (how, seconds)
        report = json.loads(service.request("GET", f"/v1/jobs/{job}/artifacts/report.json")[2])
        assert report["proof"]["status"] == "not_run" and "deadline" in json.dumps(report["proof"]), report["proof"]
        faults.until(f"{how}: it is still there", lambda: not tree.living(child), GRACE_S)
        faults.check(service, [job])
        print(f"{how}: {seconds:.1f} s", flush=True)
    finally:
        service.close()


def test_hang_in_the_proof():
    """the child that proves hangs, or proves on and on, and its worker lives: at the deadline it is told to stop, ended when it
    does not, and what was found is written without a proof"""
    for how in ("hangs", "proves on"):
        hang_in_the_proof(how)


def ended_by_its_limit(how):
    service = harness.Service()
    try:
        service.start_worker(options=["--task-limit", str(3 * harness.SLOW), "--nice", "7"])
        job = faults.submit(service, loop_of(service), PROOF)
        child = child_in_proof(service)
        assert os.getpriority(os.PRIO_PROCESS, child) == 7
        if how != "hangs":
            os.kill(child, signal.SIGCONT)
        faults.until(f"{how}: it is not ended", lambda: not tree.living(child))
        faults.until("nobody counts it", lambda: faults.counters(service).get("deaths:time_limit", 0) >= 1)
        body = faults.look(service, job)
        assert body["state"] == "finalizing", body
        assert service.request("GET", f"/v1/jobs/{job}/plan")[0] == 200   # what the search found is there meanwhile
        service.request("POST", f"/v1/jobs/{job}:cancel", b"")
    finally:
        service.close()


def test_limit_of_a_proof():
    """.. and without a deadline the limit of the task ends it, as a death of its own doing"""
    for how in ("hangs", "proves on"):
        ended_by_its_limit(how)


if __name__ == "__main__":
    harness.main([test_before_a_plan, test_with_a_plan, test_written_in_time, test_hang_in_the_proof, test_limit_of_a_proof])
