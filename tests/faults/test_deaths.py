#!/usr/bin/env python3
# label: service
# timeout: 300
"""Processes that die while they hold a job, and why: what is done to them is retried and never called a limit that was not
reached; every lost attempt is counted by its reason."""
import concurrent.futures
import gzip
import http.client
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults
import harness
import load
import syscalls
import tree
from keeper import Keeper

T2B = harness.SOURCE / "tests" / "models" / "t2b_flat.mlir.gz"   # read in a second or two
REQUEST = {"mesh": {"axes": [{"name": "data", "size": 4}]}, "device": "a100-40", "seed": 3, "budget": {"rollouts": 16},
           "memory_limit_bytes": 400_000_000_000}


def strike(service, name, times, seconds=90):
    """kill -9 of the next `times` processes of this name below the service's worker"""
    killed, until = set(), harness.deadline(seconds)
    while len(killed) < times:
        assert time.monotonic() < until, f"{name} was seen {len(killed)} times only"
        for pid in tree.family(service.workers[0].pid, name):
            if pid not in killed:
                os.kill(pid, signal.SIGKILL)
                killed.add(pid)


def deaths(service):
    return {name.removeprefix("deaths:"): n for name, n in faults.counters(service).items() if name.startswith("deaths:")}


def test_killed_reader():
    """the job goes on with another reader; the command line says what happened and that it may be tried again"""
    expected = faults.reference(T2B, REQUEST)
    service = harness.Service(workers=1)
    try:
        job = faults.submit(service, T2B, REQUEST)
        strike(service, "toast-read", 2)
        body = faults.wait(service, job)
        assert body["state"] == "succeeded", body
        assert not faults.differences(service, job, expected)
        assert deaths(service) == {"host": 2}, deaths(service)
        metrics = service.request("GET", "/metrics")[2].decode()
        assert 'toast_task_deaths_total{reason="host"} 2' in metrics and 'toast_task_deaths_total{reason="oom"} 0' in metrics
        faults.check(service, [job])
    finally:
        service.close()


def test_killed_child():
    """kill -9 of the process that computes: counted, and the job ends as if nothing had been"""
    expected = faults.reference(T2B, REQUEST)
    service = harness.Service(workers=1)
    try:
        faults.until("no child", lambda: tree.children(service.workers[0].pid))
        job = faults.submit(service, T2B, REQUEST)
        faults.until("not claimed", lambda: service.redis_cli("ZCARD", "{t}:lease") == "1")
        os.kill(tree.children(service.workers[0].pid)[0], signal.SIGKILL)
        body = faults.wait(service, job)
        assert body["state"] == "succeeded", body
        assert not faults.differences(service, job, expected)
        assert sum(deaths(service).values()) == 1, deaths(service)
        faults.check(service, [job])
    finally:
        service.close()


def test_killed_prices():
    """a pricing child that is ended from outside is the host's fault (503), one that crashes is ours (500): never a limit of the
    module's; its image, if it had begun one, is not kept"""
    service = harness.Service()
    text = gzip.decompress(T2B.read_bytes()).decode()
    try:
        for number, (ending, status, code) in enumerate(((signal.SIGTERM, 503, "unavailable"), (signal.SIGKILL, 503, "unavailable"),
                                                         (signal.SIGUSR1, 503, "unavailable"), (signal.SIGSEGV, 500, "internal"),
                                                         (signal.SIGABRT, 500, "internal"))):
            body, headers = harness.multipart({"module": text.encode() + b"// %d\n" % number,
                                               "request": json.dumps(load.PRICES[0]).encode()})
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                answer = pool.submit(service.json, "POST", "/v1/price", body, headers)
                faults.until("no reader", lambda: tree.family(service.server.pid, "toast-read"))
                os.kill(tree.look(os.getpid())["what_if"][0], ending)
                got, problem = answer.result()
            assert (got, problem["code"]) == (status, code), (ending, got, problem)
    finally:
        service.close()


def test_no_descriptors_for_prices():
    """a server out of descriptors, processes or memory says so (503); it never prices without what the child needs"""
    for call, rates in (("open", {"server": 40}), ("fork", {"server": 8}), ("mmap", {"server": 10, "what_if": 4})):
        preload = syscalls.Preload(3, rates, (call,))
        service = harness.Service()
        right = [load.price(service, number, False) for number in range(len(load.PRICES))]
        service.server.kill()
        service.server.wait()
        service.environment.update(preload.environment())
        keeper = Keeper(service, 1, away_s=0)   # it may itself not start
        try:
            answers, until = [], harness.deadline(60)
            while len(answers) < 40 and time.monotonic() < until:
                number = len(answers)
                try:
                    answers.append((number, *load.price(service, number, number % 2 == 0, timeout=5)))
                except (OSError, ValueError, http.client.HTTPException):   # no thread, no descriptor for the connection
                    time.sleep(0.05)
            wrong = [(n, status, body) for n, status, body in answers if (status, body) != right[n % len(right)] and
                     not (status >= 500 and body.get("code") in load.TRUE_REFUSALS)]
            assert not wrong and len(answers) == 40, (wrong, len(answers))
            assert any(key[1] == call for key in preload.failed()), preload.failed()
        finally:
            keeper.finish()
            service.close()
            preload.close()


def test_sandbox():
    """every process that touches a module: no new privileges, a filter, nothing of the worker's environment, no descriptors but
    its own; passwords stand in no command line"""
    secret = "5ecret"
    service = harness.Service(environment={"TOAST_WORKER_TOKEN": secret})
    try:
        worker = service.start_worker()
        child = faults.until("no child", lambda: tree.children(worker.pid))[0]
        faults.until("not confined", lambda: status(child, "Seccomp") == "2", 10)
        job = faults.submit(service, T2B, REQUEST)
        faults.until("no reader", lambda: any(reader_is_confined(pid) for pid in tree.family(worker.pid, "toast-read")))
        assert faults.wait(service, job)["state"] == "succeeded"
        assert status(child, "NoNewPrivs") == "1"
        assert secret.encode() not in pathlib.Path(f"/proc/{child}/environ").read_bytes()
        assert sorted(os.listdir(f"/proc/{child}/fd")) == ["0", "1", "2", "3", "4"], os.listdir(f"/proc/{child}/fd")
        for program in ("toast-worker", "toast-server"):
            refused = subprocess.run([harness.BIN / program, "--redis", "redis://:word@127.0.0.1:1"], capture_output=True)
            assert refused.returncode == 2 and b"TOAST_REDIS_PASSWORD" in refused.stderr
        log = (service.folder / "log").read_text()
        assert all(f'"{event}"' in line and '"landlock":"' in line for event in ("worker_started", "server_started")
                   for line in log.split("\n") if f'"{event}"' in line) and log.count('"landlock":"') == 2, log
    finally:
        service.close()


def test_password_file():
    """Redis' password from a file: it is in no command line"""
    word = "pa55w0rd"
    with tempfile.NamedTemporaryFile("w", suffix=".password") as file:
        file.write(word + "\n")
        file.flush()
        service = harness.Service()
        try:
            service.redis_cli("CONFIG", "SET", "requirepass", word)
            service.environment["TOAST_REDIS_PASSWORD_FILE"] = file.name
            worker = service.start_worker()
            time.sleep(1)
            workers = subprocess.run(["redis-cli", "-s", f"{service.folder}/redis.sock", "-a", word, "ZCARD", "{t}:workers"],
                                     capture_output=True, text=True).stdout.strip()
            assert workers == "1", workers
            for pid in [worker.pid, *tree.family(worker.pid)]:
                assert word.encode() not in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        finally:
            service.close()


def test_token_file():
    """the workers' token from a file, at the server and at a worker: blobs go through, no command line or environment has it; a
    file that is not there is said at once"""
    word = "t0ken-0f-the-w0rkers"
    with tempfile.NamedTemporaryFile("w", suffix=".token") as file:
        file.write(word + "\n")
        file.flush()
        service = harness.Service(environment={"TOAST_WORKER_TOKEN_FILE": file.name})
        try:
            worker = service.start_worker(options=["--store", f"http://127.0.0.1:{service.port}"])
            job = faults.submit(service, *faults.request(0))
            assert faults.wait(service, job)["state"] == "succeeded"
            for pid in [service.server.pid, worker.pid, *tree.family(worker.pid)]:
                for name in ("cmdline", "environ"):
                    assert word.encode() not in pathlib.Path(f"/proc/{pid}/{name}").read_bytes()
            for program in ("toast-worker", "toast-server"):
                refused = subprocess.run([harness.BIN / program], capture_output=True,
                                         env=dict(os.environ, TOAST_WORKER_TOKEN_FILE="/nonexistent"))
                assert refused.returncode == 2 and b"TOAST_WORKER_TOKEN_FILE" in refused.stderr, refused
        finally:
            service.close()


def test_private_folders():
    """nobody else of the machine can read modules, plans or keys: folders 0700, files 0600 at most"""
    mask = os.umask(0o022)
    service = harness.Service(workers=1)
    try:
        job = faults.submit(service, *faults.request(0))
        assert faults.wait(service, job)["state"] == "succeeded"
        data = service.folder / "data"
        open_ones = [str(path) for path in data.rglob("*") if path.stat().st_mode & 0o077]
        assert not open_ones, open_ones[:5]
    finally:
        os.umask(mask)
        service.close()


def status(pid, field):
    """a line of /proc/PID/status; "" when the process is gone"""
    try:
        lines = pathlib.Path(f"/proc/{pid}/status").read_text().split("\n")
    except OSError:
        return ""
    return next((line.split()[1] for line in lines if line.startswith(field + ":")), "")


def reader_is_confined(pid):
    return status(pid, "Seccomp") == "2" and status(pid, "NoNewPrivs") == "1"


if __name__ == "__main__":
    harness.main([test_killed_reader, test_killed_child, test_killed_prices, test_no_descriptors_for_prices, test_sandbox,
                  test_password_file, test_token_file,
                  test_private_folders])
