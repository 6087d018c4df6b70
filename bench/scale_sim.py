#!/usr/bin/env python3
"""How the root-parallel search scales beyond this machine: a simulation fed with times measured on it.

Example:
  bench/scale_sim.py --measure inputs.json      (again with the same inputs: --inputs inputs.json)

Measured on one worker: seconds a rollout, seconds a merge and how much of it grows with the number of deltas (a job of 16 and one
of 256 tasks an epoch), bytes of snapshots and deltas, seconds of a queue function in Redis, seconds of a blob through the server. Simulated: workers of one thread that claim, load the epoch's snapshot, compute, report;
the last one merges and commits. Redis is one server with a queue, the blobs' link another. One job alone has up to 256
tasks an epoch; many jobs share the workers. Columns: rollouts a second, how much of what the workers could do at best, share
of the time in which a job merges, how busy Redis and the blobs' link are, and what bounds it first.

A rollouts task of epoch e has R0 x 2^min(e, 5) rollouts, as in mcts/."""
import argparse
import heapq
import json
import os
import pathlib
import random
import re
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "service"))
import harness  # noqa: E402

LINK_BYTES_PER_S = 1.25e9   # the server's network: 10 Gbit/s
RING_S = 0.0005             # from XADD to a waiting worker's claim


def metrics(s):
    found = {}
    for line in s.request("GET", "/metrics")[2].decode().split("\n"):
        m = re.match(r"(toast_(?:task_seconds_(?:sum|count)|rollouts_total))(?:\{kind=\"(\w+)\"\})? (\S+)", line)
        if m:
            found[m[1], m[2]] = float(m[3])
    return found


def run(s, model, parallelism, rollouts, look=lambda job, body: None):
    """one job to its end; -> what the metrics grew by"""
    request = {"mesh": {"axes": [{"name": "data", "size": 8}, {"name": "model", "size": 8}]}, "device": "a100-40",
               "planner": "mcts", "budget": {"rollouts": rollouts}, "parallelism": parallelism}
    body, headers = harness.multipart({"module": model, "request": json.dumps(request).encode()})
    before = metrics(s)
    status, _, data = s.request("POST", "/v1/jobs", body, headers)
    assert status == 202, data
    job = json.loads(data)["id"]
    while (body := json.loads(s.request("GET", f"/v1/jobs/{job}")[2]))["state"] != "succeeded":
        assert body["error"] is None, body
        look(job, body)
        time.sleep(0.1)
    return {name: value - before.get(name, 0) for name, value in metrics(s).items()}


def seconds_each(grown, kind):
    return grown["toast_task_seconds_sum", kind] / max(1, grown["toast_task_seconds_count", kind])


def measure():
    import gzip
    model = gzip.open(ROOT / "tests" / "models" / "t2b.mlir.gz").read()
    s = harness.Service(workers=1)
    seen = {"first": 0, "snapshot_bytes": 0, "blob_s": 0.0}

    def look(job, body):
        progress = body["progress"]
        if progress.get("stage") != "search" or progress.get("epoch", 0) < 5:
            return
        seen["first"] = progress["rollouts"] / 16 / (2 ** 5 - 1 + 32 * (progress["epoch"] - 5))
        digest = s.redis_cli("hget", "{t}:j:" + job, "b:snapshot").split(":")[0]
        path = s.folder / "data" / "blobs" / digest[:2] / digest[2:4] / digest
        if digest and path.exists():
            seen["snapshot_bytes"] = max(seen["snapshot_bytes"], path.stat().st_size)
            began = time.monotonic()
            path.read_bytes()
            seen["blob_s"] = time.monotonic() - began

    try:
        s.redis_cli("config", "resetstat")
        few = run(s, model, 16, 30000, look)
        fcall = re.search(r"cmdstat_fcall:calls=(\d+),usec=(\d+)", s.redis_cli("info", "commandstats"))
        many = run(s, model, 256, 20000)
        each = max(0.0, seconds_each(many, "merge") - seconds_each(few, "merge")) / (256 - 16)
        return {"rollout_s": few["toast_task_seconds_sum", "rollouts"] / few["toast_rollouts_total", None],
                "first_rollouts": round(seen["first"]), "merge_s": seconds_each(few, "merge") - 16 * each, "merge_delta_s": each,
                "script_s": int(fcall[2]) / int(fcall[1]) * 1e-6, "snapshot_bytes": seen["snapshot_bytes"],
                "delta_bytes": 24 * 1024, "blob_s": seen["blob_s"], "spread": 0.1, "model": "t2b, 8x8, one worker of one thread"}
    finally:
        s.close()


class Station:
    """first come, first served"""

    def __init__(self):
        self.free = self.busy = 0.0

    def serve(self, at, seconds):
        self.free = max(self.free, at) + seconds
        self.busy += seconds
        return self.free


class Job:
    def __init__(self, tasks):
        self.tasks, self.epoch, self.pending, self.done, self.merging_since, self.merging = tasks, 0, tasks, 0, None, 0.0


class Simulation:
    def __init__(self, inputs, workers, jobs, tasks, seconds, seed=1):
        self.inputs, self.seconds, self.random = inputs, seconds, random.Random(seed)
        self.redis, self.link = Station(), Station()
        self.jobs = [Job(tasks) for _ in range(jobs)]
        self.events, self.serial, self.idle = [], 0, []
        self.has = [None] * workers      # the snapshot that a worker has: (job, epoch)
        self.rollouts, self.computing = 0, 0.0
        for w in range(workers):
            self.at(0, self.claim, w)
        while self.events and self.events[0][0] < seconds:
            now, _, f, arguments = heapq.heappop(self.events)
            f(now, *arguments)

    def at(self, when, f, *arguments):
        self.serial += 1
        heapq.heappush(self.events, (when, self.serial, f, arguments))

    def claim(self, now, worker, brought=False):
        """brought: with the answer to a result, another task of the same job"""
        if not brought:
            now = self.redis.serve(now, self.inputs["script_s"])
        last = self.has[worker]
        order = sorted(range(len(self.jobs)), key=lambda j: (last is None or j != last[0]))
        job = next((j for j in order if self.jobs[j].pending), None)
        if job is None:
            self.idle.append(worker)
            return
        self.jobs[job].pending -= 1
        if last != (job, self.jobs[job].epoch):
            now = self.link.serve(now, self.inputs["snapshot_bytes"] / LINK_BYTES_PER_S) + self.inputs["blob_s"]
            self.has[worker] = (job, self.jobs[job].epoch)
        rollouts = self.inputs["first_rollouts"] * 2 ** min(self.jobs[job].epoch, 5)
        compute = rollouts * self.inputs["rollout_s"] * self.random.lognormvariate(0, self.inputs["spread"])
        self.computing += compute
        self.at(now + compute, self.report, worker, job, rollouts)

    def report(self, now, worker, job, rollouts):
        j = self.jobs[job]
        now = self.redis.serve(now, self.inputs["script_s"] + self.inputs["delta_bytes"] / 1e9)
        self.rollouts += rollouts
        j.done += 1
        if j.done < j.tasks:
            self.at(now, self.claim, worker, j.pending > 0)
            return
        j.merging_since = now
        read = j.tasks * self.inputs["delta_bytes"] / 1e9   # the deltas come out of Redis
        now = self.redis.serve(now, read)
        self.at(now + self.inputs["merge_s"] + self.inputs["merge_delta_s"] * j.tasks, self.commit, worker, job)

    def commit(self, now, worker, job):
        j = self.jobs[job]
        now = self.link.serve(now, self.inputs["snapshot_bytes"] / LINK_BYTES_PER_S) + self.inputs["blob_s"]
        now = self.redis.serve(now, self.inputs["script_s"])
        j.merging += now - j.merging_since
        j.epoch, j.pending, j.done = j.epoch + 1, j.tasks, 0
        self.has[worker] = (job, j.epoch)
        self.at(now, self.claim, worker)
        woken, self.idle = self.idle, []
        for w in woken:
            self.at(now + RING_S, self.claim, w)


def bound(share, merge, redis, link, waiting):
    if share > 0.85:
        return "nothing: the workers compute"
    return max((redis, "Redis: queue functions"), (link, "the server's link: snapshots"), (merge, "merging"),
               (waiting, "too few tasks, and waiting for the last of them"))[1]


def table(inputs, seconds):
    print("measured: " + ", ".join(f"{k} {v:.6g}" if isinstance(v, float) else f"{k} {v}" for k, v in inputs.items()) + "\n")
    print("| workers | jobs x tasks | rollouts/s | of ideal | merging | Redis busy | link busy | bound by |\n|---|---|---|---|---|---|---|---|")
    for workers in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000):
        for jobs, tasks in sorted({(1, 16), (1, 256), (max(1, workers // 16), 16), (max(1, workers // 8), 64)}):
            if (jobs, tasks) == (1, 16) and workers > 64 or (jobs > 1 and workers < 32) or (jobs == 1 and tasks == 64):
                continue
            s = Simulation(inputs, workers, jobs, tasks, seconds)
            share = s.computing / (workers * seconds)
            merge = sum(j.merging for j in s.jobs) / len(s.jobs) / seconds
            redis, link = s.redis.busy / seconds, s.link.busy / seconds
            waiting = max(0.0, 1 - share - merge - redis)
            print(f"| {workers} | {jobs} x {tasks} | {s.rollouts / seconds:,.0f} | {min(1, share):.2f} | {merge:.2f} | {redis:.2f} | "
                  f"{link:.2f} | {bound(share, merge, redis, link, waiting)} |")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--measure", metavar="FILE", help="measure and write the inputs")
    p.add_argument("--inputs", metavar="FILE", help="inputs of an earlier measurement")
    a = p.parse_args()
    os.environ.setdefault("TOAST_BIN", str(ROOT / "build" / "release" / "bin"))
    if a.inputs:
        inputs = json.loads(pathlib.Path(a.inputs).read_text())
    else:
        inputs = measure()
        if a.measure:
            pathlib.Path(a.measure).write_text(json.dumps(inputs, indent=1) + "\n")
    table(inputs, 60.0)
    return 0


if __name__ == "__main__":
    sys.exit(main())
