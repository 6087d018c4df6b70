"""What starts again whatever has ended of a service, as an orchestrator would."""
import random
import threading


class Keeper:
    """a thread that starts Redis, the server and workers again when they have ended; counts what it started"""

    def __init__(self, service, seed, threads=1, away_s=1.0):
        self.service, self.threads, self.away_s = service, threads, away_s
        self.random = random.Random(seed)
        self.restarts = {"redis": 0, "server": 0, "worker": 0}
        self.failures = []   # starts that did not come up; they are tried again
        self.stop = threading.Event()
        self.problem = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            while not self.stop.wait(0.02):
                self.look()
        except Exception as problem:   # shown by finish(); a keeper that died quietly would make the test a lie
            self.problem = problem

    def look(self):
        service = self.service
        for name in ("redis", "server"):
            process = getattr(service, name)
            if process.poll() is not None:
                self.start(name, getattr(service, "start_" + name))
        for at, worker in enumerate(service.workers):
            if worker.poll() is not None:
                service.workers.pop(at)
                self.start("worker", lambda: service.start_worker(self.threads))
                return

    def start(self, name, start):
        """at once every second time, else after a while; what does not come up is started again at the next look"""
        self.stop.wait(self.random.choice((0.0, self.random.uniform(0, self.away_s))))
        if self.stop.is_set():
            return
        self.restarts[name] += 1
        try:
            start()
        except RuntimeError as problem:
            self.failures.append(f"{name}: {problem}")

    def finish(self):
        self.stop.set()
        self.thread.join(60)
        if self.problem:
            raise self.problem
