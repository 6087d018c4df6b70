"""What the service is given to do while it is hurt: jobs and prices with known answers, and what came of them.

A job must succeed with the bytes of `toast plan`; a price must be the undisturbed one, or be refused with a reason that is
true (the host's fault, or not available now)."""
import collections
import http.client
import json
import threading
import time

import faults

PRICES = [{"mesh": {"axes": [{"name": "data", "size": 4}]}, "device": "a100-40", "report": False, **more}
          for more in ({}, {"baseline": "batch:data"}, {"baseline": "fsdp:data"})]
TRUE_REFUSALS = {"unavailable", "host_fault", "no_space", "io", "request_timeout"}


def price(service, number, renewed, timeout=20):
    """-> (status, body) of price `number`; renewed: of a module that nobody has posted, so that it is read first"""
    text = faults.MODELS[0].read_text() + (f"// {number}\n" if renewed else "")
    body = dict(PRICES[number % len(PRICES)], module={"inline": text})
    status, _, data = service.request("POST", "/v1/price", json.dumps(body), {"Content-Type": "application/json"}, timeout)
    return status, json.loads(data)


class Prices:
    """a thread that asks for prices until it is stopped, every second one of a new module"""

    def __init__(self, service, seed, pause_s=0.0):
        self.service, self.seed, self.pause_s = service, seed, pause_s
        self.expected = [price(service, number, False) for number in range(len(PRICES))]
        assert all(status == 200 for status, _ in self.expected), self.expected
        self.good, self.refused, self.cut, self.wrong = 0, collections.Counter(), 0, []
        self.stop = threading.Event()
        self.problem = None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        number = 0
        try:
            while not self.stop.wait(self.pause_s):
                self.ask(number)
                number += 1
        except Exception as problem:   # shown by finish()
            self.problem = problem

    def ask(self, number):
        try:
            status, body = price(self.service, self.seed * 1_000_000 + number, number % 2 == 0)
        except (OSError, ValueError, http.client.HTTPException):   # the server was killed, or stopped for long
            self.cut += 1
            self.stop.wait(0.02)
            return
        right = self.expected[(self.seed * 1_000_000 + number) % len(PRICES)][1]
        if status == 200 and body == right:
            self.good += 1
        elif status >= 500 and body.get("code") in TRUE_REFUSALS:
            self.refused[body["code"]] += 1
            self.stop.wait(0.02)
        else:
            self.wrong.append((status, body))

    def finish(self):
        self.stop.set()
        self.thread.join(120)
        if self.problem:
            raise self.problem


class Jobs:
    """submits job after job, at most `window` of them open; counts what came of each"""

    def __init__(self, service, expected, first=0, rollouts=64, window=32, stuck_s=120, say=lambda text: None):
        self.service, self.expected, self.rollouts, self.window = service, expected, rollouts, window
        self.number, self.stuck_s, self.say = first, stuck_s, say
        self.acknowledged, self.open = [], collections.deque()
        self.bad = collections.Counter(lost=0, stuck=0, wrong_reason=0, not_succeeded=0, differing=0)

    def submit(self):
        number = self.number % len(self.expected)
        job = faults.submit(self.service, *faults.request(number, self.rollouts), seconds=120)
        self.acknowledged.append(job)
        self.open.append((number, job))
        self.number += 1
        while len(self.open) > self.window:
            self.settle()

    def settle(self):
        number, job = self.open.popleft()
        try:
            body = faults.wait(self.service, job, self.stuck_s)
        except AssertionError as problem:
            self.say(str(problem))
            self.bad["lost" if "lost" in str(problem) else "stuck"] += 1
            return
        if body["state"] != "succeeded":
            self.say(f"{job} ended as {body['state']}: {body.get('error')}")
            true = (body.get("error") or {}).get("code") in TRUE_REFUSALS
            self.bad["not_succeeded" if true else "wrong_reason"] += 1
        elif different := faults.retried(lambda: faults.differences(self.service, job, self.expected[number])):
            self.say(f"{job} (request {number}): {different} differ")
            self.bad["differing"] += 1

    def settle_all(self):
        while self.open:
            self.settle()


def audit(service, jobs, prices, forbidden_deaths=("fault", "time_limit", "memory_limit")):
    """the invariants, and the counters that say why attempts were lost; -> what must be zero, by name"""
    faults.wait_idle(service, 120)
    result = faults.retried(lambda: faults.check(service, jobs.acknowledged, holds=False))
    for violation in result["violations"][:20]:
        jobs.say(str(violation))
    for status, body in prices.wrong[:5]:
        jobs.say(f"a price was answered with {status}: {body}")
    counters = faults.counters(service)
    bad = dict(jobs.bad, violations=len(result["violations"]), wrong_prices=len(prices.wrong),
               duplicates=counters["submitted"] - len(jobs.acknowledged), nondeterminism=counters.get("nondeterminism", 0))
    for reason in forbidden_deaths:
        bad["deaths by " + reason] = counters.get("deaths:" + reason, 0)
    return bad


def figures(service, jobs, prices, began):
    counters = faults.counters(service)
    return {"jobs": len(jobs.acknowledged), "seconds": time.monotonic() - began, "prices": prices.good,
            "prices_refused": dict(prices.refused), "prices_cut": prices.cut,
            "submitted": counters["submitted"], "lease_lost": counters.get("lease_lost", 0), "fenced": counters.get("fenced", 0),
            "deaths": {name[7:]: n for name, n in counters.items() if name.startswith("deaths:")},
            "repeated": sum(n for name, n in counters.items() if name.endswith((":stale", ":duplicate")))}
