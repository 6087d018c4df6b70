"""Many small jobs and prices while processes are killed and stopped, picked from the service's live process tree (tree.py).

The schedule (what is done to which kind, and when) is a function of the seed alone; which instruction of which process it hits
is not. What must hold does not depend on that."""
import collections
import os
import random
import signal
import threading
import time

import faults
import harness
import load
import tree
from keeper import Keeper

ACTS = ("kill", "stop")
SEEN_S = 4.0                                                                       # how long a kind is waited for
LIFE_S = {"reader": 0.04, "price_reader": 0.04, "what_if": 0.02, "child": 0.2}     # how far into its life one is hit, at most
OUTAGE = ("redis", "server")                                                       # everything waits for these


class Striker:
    """a thread that kills (SIGKILL) and stops (SIGSTOP, then SIGCONT) what it finds in the tree; counts by kind and act"""

    def __init__(self, root, seed, least=0, pause_s=0.3, kinds=tree.KINDS):
        self.root, self.random, self.least, self.pause_s = root, random.Random(seed), least, pause_s
        self.kinds = kinds
        self.done = collections.Counter()
        self.others = set()   # kinds seen that nobody knows
        self.stop = threading.Event()
        self.stopped = []     # (when to continue, handle)
        self.problem = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def lacking(self):
        """(kind, act) that were done fewer times than wanted"""
        return [(kind, act) for kind in self.kinds for act in ACTS if self.done[kind, act] < self.least]

    def run(self):
        try:
            while not self.wait(self.random.uniform(0, 2 * self.pause_s)):
                wanted = self.lacking() or [(kind, act) for kind in self.kinds for act in ACTS]
                kind, act = self.random.choice(wanted)
                self.strike(kind, act, self.random.random(), self.random.random())
                if kind in OUTAGE:   # so that something goes on between two outages
                    self.wait(1.0)
        except Exception as problem:   # shown by finish(); a striker that died quietly would make the test a lie
            self.problem = problem
        finally:
            self.continue_stopped(time.monotonic() + 1e9)

    def wait(self, seconds):
        """continues meanwhile what was stopped for long enough; -> whether all is over"""
        until = time.monotonic() + seconds
        while not self.stop.is_set():
            self.continue_stopped(time.monotonic())
            if (left := until - time.monotonic()) <= 0:
                return False
            self.stop.wait(min(left, 0.02))
        return True

    def continue_stopped(self, now):
        for entry in [entry for entry in self.stopped if entry[0] <= now]:
            self.stopped.remove(entry)
            entry[1].send(signal.SIGCONT)
            entry[1].close()

    def find(self, kind, which):
        """a process of this kind that is there, or comes within SEEN_S, and is not stopped already; None"""
        until = time.monotonic() + SEEN_S
        held = {handle.pid for _, handle in self.stopped}
        while time.monotonic() < until and not self.stop.is_set():
            found = tree.look(self.root)
            self.others |= found.keys() - set(tree.KINDS) - {"starting", "redis_child"}
            if pids := [pid for pid in found.get(kind, []) if pid not in held]:
                return pids[int(which * len(pids))]
            self.continue_stopped(time.monotonic())
            time.sleep(0.002)
        return None

    def strike(self, kind, act, which, when):
        pid = self.find(kind, which)
        handle = tree.Handle.open(pid) if pid else None
        if not handle:
            return
        time.sleep(max(0.0, 1.5 * when - 0.5) * LIFE_S.get(kind, 0))   # one in three at once
        again = [found for found, pids in tree.look(self.root).items() if pid in pids]
        if again != [kind] or not handle.send(signal.SIGKILL if act == "kill" else signal.SIGSTOP):
            handle.close()
            return
        self.done[kind, act] += 1
        if act == "kill":
            handle.close()
        else:   # mostly for a moment; sometimes for longer than a lease lasts
            seconds = 11.5 if kind in ("worker", "child") and which > 0.9 else 0.05 + 1.2 * which * which
            self.stopped.append((time.monotonic() + seconds, handle))

    def finish(self):
        self.stop.set()
        self.thread.join(60)
        if self.problem:
            raise self.problem
        assert not self.others, f"processes of kinds that nobody knows: {self.others}"


def run(jobs, seed, workers=2, distinct=None, rollouts=64, window=64, stuck_s=180, say=lambda text: None, least=0, pause_s=0.15,
        seconds=None, expected=None):
    """at least so many jobs, and each kind killed and stopped at least so many times, or as many as `seconds` let -> figures:
    strikes by kind and act, and what must be zero (lost, stuck, differing, violations ..)"""
    if expected is None:
        expected = faults.references(range(min(jobs, distinct or jobs)), rollouts)
    service = harness.Service(workers=workers)
    parts = []
    try:
        prices = load.Prices(service, seed)
        keeper = Keeper(service, seed)
        striker = Striker(os.getpid(), seed, least, pause_s)
        parts = [striker, prices, keeper]
        began = time.monotonic()
        todo = load.Jobs(service, expected, seed * 1000, rollouts, window, stuck_s, say)
        while len(todo.acknowledged) < jobs or (striker.lacking() and not striker.problem):
            todo.submit()
            if seconds and time.monotonic() - began > seconds:
                break
            if len(todo.acknowledged) % 100 == 0:
                say(f"{len(todo.acknowledged)} submitted, {time.monotonic() - began:.0f} s, {shown(striker)}, bad {+todo.bad}")
        striker.finish()
        todo.settle_all()
        prices.finish()
        bad = load.audit(service, todo, prices)
        keeper.finish()
        parts = []
        return dict(load.figures(service, todo, prices, began), seed=seed, bad=bad, restarts=keeper.restarts,
                    strikes={f"{kind} {act}": striker.done[kind, act] for kind in tree.KINDS for act in ACTS},
                    not_started=keeper.failures)
    finally:
        for part in parts:
            part.stop.set()
            part.thread.join(30)
        service.close()


def shown(striker):
    return ", ".join(f"{kind} {striker.done[kind, 'kill']}+{striker.done[kind, 'stop']}" for kind in tree.KINDS)
