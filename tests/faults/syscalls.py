"""Jobs and prices while one in so many system calls of every process of the service fails: syscalls.c, preloaded.

An error number is drawn for each failure, of those that the kernel may give for that call."""
import errno
import pathlib
import struct
import subprocess
import tempfile
import time

import faults
import harness
import load
from keeper import Keeper

KINDS = ("server", "what_if", "worker", "child", "reader", "redis")              # as in syscalls.c, all four lines
CALLS = ("fork", "mmap", "open", "write", "fsync", "rename", "send")
ERRNOS = 160
NUMBERS = 1 + len(KINDS) * len(CALLS) * ERRNOS
# one in so many: what a process does often fails seldom, so that of what is begun most ends
RATES = {"server": 400, "what_if": 25, "worker": 250, "child": 60, "reader": 12, "redis": 3000}


class Preload:
    """the library, built, and the file that counts; environment() is for processes that it is to be loaded into"""

    def __init__(self, seed, rates=None, calls=()):
        self.folder = tempfile.TemporaryDirectory(prefix="toast-syscalls-")
        self.library = pathlib.Path(self.folder.name, "syscalls.so")
        self.counts = pathlib.Path(self.folder.name, "counts")
        self.seed, self.rates, self.calls = seed, RATES if rates is None else rates, calls
        source = pathlib.Path(__file__).with_name("syscalls.c")
        subprocess.run(["cc", "-std=gnu17", "-shared", "-fPIC", "-O1", "-o", self.library, source, "-ldl"], check=True)
        self.counts.write_bytes(bytes(8 * NUMBERS))

    def environment(self):
        return {"LD_PRELOAD": str(self.library), "FAULT_COUNTS": str(self.counts), "FAULT_SEED": str(self.seed),
                "FAULT_CALLS": ",".join(self.calls), "FAULT_RATES": ",".join(f"{k}={n}" for k, n in self.rates.items())}

    def failed(self):
        """-> {(kind, call, name of the error): how often}"""
        numbers, found = struct.unpack(f"{NUMBERS}Q", self.counts.read_bytes()), {}
        for place, number in enumerate(numbers[1:]):
            if number:
                kind, call, error = place // ERRNOS // len(CALLS), place // ERRNOS % len(CALLS), place % ERRNOS
                found[KINDS[kind], CALLS[call], errno.errorcode[error]] = number
        return found

    def close(self):
        self.folder.cleanup()


def run(jobs, seed, rates=None, calls=(), workers=2, distinct=20, rollouts=64, stuck_s=240, say=lambda text: None, seconds=None,
        expected=None, keep_log=None):
    """-> figures as of chaos.run, and `failed`: how often each kind's calls failed with each error"""
    if expected is None:
        expected = faults.references(range(min(jobs, distinct)), rollouts)
    preload = Preload(seed, rates, calls)
    service = harness.Service()
    parts = []
    try:
        prices = load.Prices(service, seed)
        for process in (service.server, service.redis):
            process.kill()
            process.wait()
        service.environment.update(preload.environment())
        for _ in range(workers):
            service.start_worker()
        keeper = Keeper(service, seed, away_s=0.2)
        parts = [prices, keeper]
        began = time.monotonic()
        todo = load.Jobs(service, expected, seed * 1000, rollouts, 32, stuck_s, say)
        while len(todo.acknowledged) < jobs and not (seconds and time.monotonic() - began > seconds):
            todo.submit()
            if len(todo.acknowledged) % 50 == 0:
                say(f"{len(todo.acknowledged)} submitted, {time.monotonic() - began:.0f} s, bad {+todo.bad}, "
                    f"{sum(preload.failed().values())} calls failed")
        todo.settle_all()
        prices.finish()
        failed = preload.failed()
        for name in preload.environment():   # what is started from now on is left alone
            service.environment.pop(name)
        for process in (service.server, service.redis):
            process.kill()
        bad = load.audit(service, todo, prices, ("time_limit", "memory_limit", "oom"))
        keeper.finish()
        parts = []
        return dict(load.figures(service, todo, prices, began), seed=seed, bad=bad, restarts=keeper.restarts,
                    failed={" ".join(key): n for key, n in failed.items()}, not_started=len(keeper.failures))
    finally:
        for part in parts:
            part.stop.set()
            part.thread.join(30)
        if keep_log:
            pathlib.Path(keep_log).write_bytes((service.folder / "log").read_bytes())
        service.close()
        preload.close()
