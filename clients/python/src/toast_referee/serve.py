"""toast-referee --serve URL: a worker of a service that compiles jobs' plans with the compiler that will run them.

    claim  ->  read the plans' modules and reports  ->  compile each  ->  say what the compiler said  ->  claim ..
       \\-- a thread renews the lease every 2 s; who has lost it stops and says nothing

It needs the service's worker token (TOAST_WORKER_TOKEN) and what compilers.py needs. A plan that the compiler refuses is an
answer; a failure of this program's own is reported as a lost attempt, and the service lets somebody try again. SIGTERM gives
the task back. What is compiled are modules that the service made; with target `here` they are run, too.
"""
import itertools
import json
import os
import pathlib
import signal
import socket
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request
import uuid

from . import compilers, devices

BEAT_S, IDLE_S, AGAIN_S = 2.0, 1.0, 2.0


class Lost(Exception):
    """the task is another's by now, or the job has ended"""


class Service:
    """The five calls of server/resources/referee.c. Repeated while the service is away: all of them may be."""

    def __init__(self, url, token, referees):
        self.url, self.key, self.referees = url.rstrip("/"), token, referees
        self.worker = f"{socket.gethostname()[:40]}:referee:{os.getpid()}"

    def once(self, method, path, body=None):
        request = urllib.request.Request(self.url + path, data=body, method=method, headers={"Authorization": f"Bearer {self.key}"})
        if body is not None:
            request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=30) as reply:
            return reply.status, reply.read()

    def call(self, verb, tries=None, **members):
        """the reply's JSON, None for 204; `tries` None: until it answers"""
        body = json.dumps({"worker": self.worker, "referees": self.referees, **members}).encode()
        while True:
            try:
                status, data = self.once("POST", f"/internal/referee:{verb}", body)
                return None if status == 204 else json.loads(data)
            except urllib.error.HTTPError as error:
                if error.code not in (429, 502, 503, 504):
                    raise
                problem = f"answered {error.code}"
            except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
                problem = str(getattr(error, "reason", error))
            if tries is not None and (tries := tries - 1) <= 0:
                raise ConnectionError(f"{self.url}: {problem}")
            time.sleep(AGAIN_S)

    def blob(self, digest):
        return self.once("GET", f"/internal/blobs/{digest}")[1]


class Lease(threading.Thread):
    """renews it until `ended`; `lost` is set when the task is this worker's no more"""

    def __init__(self, service, task):
        super().__init__(daemon=True)
        self.service, self.task = service, task
        self.ended, self.lost = threading.Event(), threading.Event()

    def run(self):
        while not self.ended.wait(BEAT_S):
            try:
                said = self.service.call("beat", tries=1, task=self.task["task"], token=self.task["token"])
            except (ConnectionError, urllib.error.HTTPError):
                continue      # an outage is not a loss: the service says which it was
            if not said["held"]:
                self.lost.set()
                return


def target_of(report, referee, target):
    """(kind of compile, target): what was asked for on the command line, else this machine for XLA:CPU, the plan's device for others"""
    name = target or ("here" if referee == "xla_cpu" else report["provenance"]["machine"]["device"])
    if name == "here":
        return "here", name
    if name in devices.GPUS:
        return "gpu", name
    if ":" in name:
        return "tpu", name
    raise compilers.Refused(f"no compile ahead of time for {name}: start the referee with --target")


def judge_plan(service, referee, plan, options, folder):
    """one row of the result, and the target it was compiled for"""
    if "manual" not in plan or "report" not in plan:
        return {"plan": plan["plan"], "refused": "the job has no manual.mlir of this plan"}, ""
    report = json.loads(service.blob(plan["report"]))
    mesh = ",".join(f"{axis['name']}={axis['size']}" for axis in report["provenance"]["mesh"]["axes"])
    module = pathlib.Path(folder) / f"{plan['plan']}.mlir"
    module.write_bytes(service.blob(plan["manual"]))
    try:
        kind, target = target_of(report, referee, options.target)
        said = compilers.compile_module(kind, module, mesh, target, options.host, options.flag)
    except compilers.Refused as refusal:
        last = [line for line in str(refusal).splitlines() if line.strip()] or ["no reason given"]
        return {"plan": plan["plan"], "refused": last[-1].strip()[:190]}, options.target or ""
    row = {"plan": plan["plan"], "peak_bytes": int(said["peak"])}
    for ours, theirs in (("step_ps", "step_us"), ("exposed_ps", "exposed_us")):
        if theirs in said:
            row[ours] = int(said[theirs] * 1e6)
    return row, target


def judge(service, task, options, lease):
    """the result of a task; Lost where the lease went meanwhile"""
    rows, targets = [], []
    with tempfile.TemporaryDirectory(prefix="toast-referee-") as folder:
        for plan in task["plans"]:
            if lease.lost.is_set():
                raise Lost
            row, target = judge_plan(service, task["referee"], plan, options, folder)
            rows.append(row)
            targets.append(target)
            print(f"{task['job']}: plan {plan['plan']}: {row.get('refused') or 'compiled'}", file=sys.stderr)
    return {"target": next(filter(None, targets), ""), "compiler": compiler_name(), "plans": rows}


def compiler_name():
    try:
        import importlib.metadata as packages
        return "XLA of jaxlib " + packages.version("jaxlib")
    except packages.PackageNotFoundError:
        return "no jaxlib"


def work(service, task, options):
    """one task from claim to report; never raises but at SIGTERM"""
    lease = Lease(service, task)
    lease.start()
    held = {"task": task["task"], "token": task["token"]}
    try:
        result = judge(service, task, options, lease)
        if not lease.lost.is_set():
            service.call("done", **held, result=result)
    except Lost:
        pass
    except SystemExit:
        service.call("release", tries=2, **held)
        raise
    except Exception as problem:                  # a bug here, or a blob that is gone: counted, and tried again
        print(f"{task['job']}: {type(problem).__name__}: {problem}", file=sys.stderr)
        service.call("died", tries=5, **held, reason="fault", message=f"the referee failed: {type(problem).__name__}: {problem}"[:390])
    finally:
        lease.ended.set()


def serve(options):
    """until SIGTERM or SIGINT; exit status 2: the service does not know this worker"""
    token = os.environ.get("TOAST_WORKER_TOKEN")
    if not token:
        print("toast-referee: TOAST_WORKER_TOKEN is not set: the service's, as its workers on other hosts have it", file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    service = Service(options.serve, token, options.referee)
    print(f"toast-referee: {', '.join(options.referee)} for {service.url}", file=sys.stderr)
    slot, claims = uuid.uuid4().hex, itertools.count(1)   # repeated with the same token a claim gives the same task
    while True:
        try:
            task = service.call("claim", token=f"{slot}.{next(claims)}")
        except urllib.error.HTTPError as error:
            print(f"toast-referee: {service.url} answered {error.code}: is TOAST_WORKER_TOKEN the service's?", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            return 0
        if task is None:
            time.sleep(IDLE_S)
        else:
            work(service, task, options)
        if options.once and task is not None:
            return 0
