"""Many small jobs under kill -9 of workers, their children, readers, the server and Redis.

The schedule (whom, when, how long away) is a function of the seed alone; which instruction of which process it hits is not.
What must hold does not depend on that."""
import collections
import os
import pathlib
import random
import signal
import threading
import time

import faults
import harness

VICTIMS = ("worker", "worker", "child", "child", "reader", "reader", "reader", "server", "redis")


def schedule(seed):
    """yields (seconds to wait, victim, seconds until it is started again, which of several)"""
    r = random.Random(seed)
    while True:
        yield r.uniform(0.3, 3.0), r.choice(VICTIMS), r.choice([0.0, 0.0, r.uniform(0, 2.0)]), r.random()


def children(pid):
    """processes whose parent is pid"""
    found = []
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(status.parent.name))
    return sorted(found)


def family(pid, name=""):
    """pid's descendants of this name, nearest first; all of them without one"""
    found, next_ones = [], [pid]
    while next_ones:
        next_ones = [child for parent in next_ones for child in children(parent)]
        found += next_ones
    return [child for child in found if not name or command(child) == name]


def command(pid):
    """name of the program that the process runs; "" when it is gone"""
    try:
        return pathlib.Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


class Killer:
    """a thread that follows the schedule until stopped; counts what it killed"""

    def __init__(self, service, seed, threads=1):
        self.service, self.seed, self.threads = service, seed, threads
        self.kills = collections.Counter()
        self.stop = threading.Event()
        self.problem = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            for pause, victim, away, which in schedule(self.seed):
                if self.stop.wait(pause):
                    return
                self.strike(victim, away, which)
        except Exception as problem:   # shown by finish(); a killer that died quietly would make the test a lie
            self.problem = problem

    def strike(self, victim, away, which):
        service = self.service
        if victim == "child":
            worker = service.workers[int(which * len(service.workers))]
            slots = [pid for pid in children(worker.pid) if command(pid) == "toast-worker"]
            if not slots:
                return
            os.kill(slots[int(which * 1000) % len(slots)], signal.SIGKILL)
        elif victim == "reader":   # it lives for a tenth of a second: the next one that is seen
            worker, until, found = service.workers[int(which * len(service.workers))], time.monotonic() + 2, []
            while not found and time.monotonic() < until and not self.stop.is_set():
                found = [pid for child in [worker.pid, *children(worker.pid)] for pid in children(child)
                         if command(pid) == "toast-read"]
            if not found:
                return
            try:
                os.kill(found[0], signal.SIGKILL)
            except ProcessLookupError:
                return
        elif victim == "worker":
            at = int(which * len(service.workers))
            worker = service.workers[at]
            worker.kill()
            worker.wait()
            self.stop.wait(away)
            service.workers.pop(at)
            service.start_worker(self.threads)
        else:
            process = getattr(service, victim)
            process.kill()
            process.wait()
            self.stop.wait(away)
            getattr(service, "start_" + victim)()
        self.kills[victim] += 1

    def finish(self):
        self.stop.set()
        self.thread.join(60)
        if self.problem:
            raise self.problem


def run(jobs, seed, workers=2, distinct=None, rollouts=64, window=64, stuck_s=120, say=lambda text: None, least_kills=0):
    """at least so many jobs and kills -> figures: kills by kind, and what must be zero (lost, stuck, differing, violations ..)"""
    distinct = min(jobs, distinct or jobs)
    say(f"{distinct} reference answers by toast plan")
    expected = faults.references(range(distinct), rollouts)
    service = harness.Service(workers=workers)
    bad = collections.Counter(lost=0, stuck=0, not_succeeded=0, differing=0)
    try:
        killer = Killer(service, seed)
        began, acknowledged, open_jobs = time.monotonic(), [], collections.deque()

        def settle():
            number, job = open_jobs.popleft()
            try:
                body = faults.wait(service, job, stuck_s)
            except AssertionError as problem:
                say(str(problem))
                bad["lost" if "lost" in str(problem) else "stuck"] += 1
                return
            if body["state"] != "succeeded":
                say(f"{job} ended as {body['state']}: {body.get('error')}")
                bad["not_succeeded"] += 1
                return
            if different := faults.retried(lambda: faults.differences(service, job, expected[number % distinct])):
                say(f"{job} (request {number % distinct}): {different} differ")
                bad["differing"] += 1

        number = 0
        while number < jobs or (sum(killer.kills.values()) < least_kills and not killer.problem):
            job = faults.submit(service, *faults.request(number % distinct, rollouts))
            acknowledged.append(job)
            open_jobs.append((number, job))
            if len(open_jobs) > window:
                settle()
            number += 1
            if number % 500 == 0:
                say(f"{number} submitted, {time.monotonic() - began:.0f} s, kills {dict(killer.kills)}, bad {dict(bad)}")
        while open_jobs:
            settle()
        killer.finish()
        seconds = time.monotonic() - began
        faults.wait_idle(service)
        audit = faults.check(service, acknowledged, holds=False)
        for violation in audit["violations"][:20]:
            say(str(violation))
        bad["violations"] = len(audit["violations"])
        counters = faults.counters(service)
        bad["duplicates"] = counters["submitted"] - len(acknowledged)
        bad["nondeterminism"] = counters.get("nondeterminism", 0)
        return {"seed": seed, "jobs": len(acknowledged), "seconds": seconds, "kills": dict(killer.kills), "bad": dict(bad),
                "submitted": counters["submitted"], "lease_lost": counters.get("lease_lost", 0),
                "fenced": counters.get("fenced", 0),
                "repeated": sum(n for name, n in counters.items() if name.endswith((":stale", ":duplicate")))}
    finally:
        service.close()
