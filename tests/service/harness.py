"""What the service's tests share: a real redis-server, toast-server and workers in a scratch folder, raw HTTP.

Python's standard library only."""
import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

BIN = pathlib.Path(os.environ.get("TOAST_BIN", "build/release/bin"))
SOURCE = pathlib.Path(os.environ.get("TOAST_SOURCE", "."))
SLOW = int(os.environ.get("TOAST_TEST_SLOW", "1"))   # how much longer than on an idle machine without sanitizers all may take


def deadline(seconds):
    """on time.monotonic(): when a test that waits gives up"""
    return time.monotonic() + SLOW * seconds


class Service:
    """redis + server + workers; close() ends them all and removes the folder."""

    def __init__(self, workers=0, environment=None, redis_options=(), server_options=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="toast-service-"))
        # tests send faster than a tenant may; what tests the limit sets it
        self.environment = dict(os.environ, **{"TOAST_SUBMITS_PER_S": "0", **(environment or {})})
        self.redis_options, self.server_options = list(redis_options), list(server_options)
        self.redis_address = f"unix:{self.folder}/redis.sock"
        self.store = f"dir:{self.folder}/data"
        self.redis = self.server = None
        self.port = 0
        self.workers = []
        self.log = open(self.folder / "log", "ab")
        try:
            self.start_redis()
            self.start_server()
            for _ in range(workers):
                self.start_worker()
        except BaseException:
            self.close()
            raise

    def start_redis(self):
        self.redis = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", f"{self.folder}/redis.sock", "--dir", str(self.folder),
             "--appendonly", "yes", "--appendfsync", "always", "--maxmemory", "256mb", "--maxmemory-policy", "noeviction",
             "--save", "", *self.redis_options], stdout=self.log, stderr=self.log, env=self.environment)
        for _ in range(500 * SLOW):
            if self.redis.poll() is not None:
                break
            probe = socket.socket(socket.AF_UNIX)
            try:
                probe.connect(f"{self.folder}/redis.sock")
                probe.sendall(b"PING\r\n")
                if probe.recv(64).startswith((b"+PONG", b"-NOAUTH")):
                    return
            except OSError:
                pass
            finally:
                probe.close()
            time.sleep(0.01)
        raise RuntimeError("redis-server did not start")

    def start_server(self):
        ready = self.folder / "port"
        ready.unlink(missing_ok=True)
        listen = f"127.0.0.1:{self.port}"
        self.server = subprocess.Popen(
            [BIN / "toast-server", "--redis", self.redis_address, "--store", self.store, "--listen", listen,
             "--ready-file", str(ready), *self.server_options], stdout=self.log, stderr=self.log, env=self.environment)
        for _ in range(1000 * SLOW):
            if ready.exists():
                self.port = int(ready.read_text())
                return
            if self.server.poll() is not None:
                break
            time.sleep(0.01)
        raise RuntimeError("toast-server did not start: " + (self.folder / "log").read_text()[-2000:])

    def start_worker(self, threads=1, program=BIN / "toast-worker", options=()):
        """`options` come last, so that they may name another Redis or store. At nice 19, the default, children get next to nothing
        where other tests keep all cores busy."""
        worker = subprocess.Popen(
            [program, "--redis", self.redis_address, "--store", self.store, "--threads", str(threads), "--nice", "0", *options],
            stdout=self.log, stderr=self.log, env=self.environment)
        self.workers.append(worker)
        return worker

    def redis_cli(self, *arguments):
        return subprocess.run(["redis-cli", "-s", f"{self.folder}/redis.sock", *arguments], capture_output=True, text=True,
                              check=True).stdout.strip()

    def request(self, method, path, body=None, headers=None, timeout=30):
        """-> (status, headers with lower-case names, bytes)"""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SLOW * timeout)
        try:
            connection.request(method, path, body, headers or {})
            reply = connection.getresponse()
            return reply.status, {k.lower(): v for k, v in reply.getheaders()}, reply.read()
        finally:
            connection.close()

    def json(self, method, path, body=None, headers=None):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers = dict({"Content-Type": "application/json"}, **(headers or {}))
        status, _, data = self.request(method, path, body, headers)
        return status, json.loads(data)

    def raw(self, data, timeout=5, wait=None):
        """sends bytes as they are; -> everything that comes back until the server closes or is silent for `timeout`

        A server that answers and closes before it has read everything resets the connection, which may lose its answer on
        the way: then the same bytes are sent again, at most three times."""
        for _ in range(3):
            got, reset = self.raw_once(data, timeout, wait)
            if got or not reset:
                break
        return got

    def raw_once(self, data, timeout, wait):
        """-> what came back, whether the connection was reset"""
        got, reset = b"", False
        with socket.create_connection(("127.0.0.1", self.port), timeout=timeout) as s:
            try:
                for piece in data if isinstance(data, list) else [data]:
                    s.sendall(piece)
                    if wait:
                        time.sleep(wait)
            except (BrokenPipeError, ConnectionResetError):
                reset = True
            try:
                while chunk := s.recv(65536):
                    got += chunk
            except TimeoutError:
                pass
            except ConnectionResetError:
                reset = True
        return got, reset

    def wait(self, job, seconds=180):
        """-> the job's body once it has ended"""
        until = deadline(seconds)
        while time.monotonic() < until:
            status, body = self.json("GET", f"/v1/jobs/{job}")
            assert status == 200, (status, body)
            if body["state"] in ("succeeded", "failed", "cancelled", "expired", "dead"):
                return body
            time.sleep(0.05)
        raise AssertionError(f"job {job} did not end in {seconds} s: {body}")

    def close(self):
        for process in [*self.workers, self.server, self.redis]:
            if process and process.poll() is None:
                process.send_signal(signal.SIGTERM)
                try:
                    process.wait(8)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def multipart(parts, boundary="toast-boundary"):
    """{name: bytes} -> (body, headers)"""
    body = b""
    for name, value in parts.items():
        body += (f"--{boundary}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"x\"\r\n\r\n").encode()
        body += value + b"\r\n"
    return body + f"--{boundary}--\r\n".encode(), {"Content-Type": f"multipart/form-data; boundary={boundary}"}


def main(tests):
    """runs the functions; exit status for ctest"""
    failed = 0
    wanted = sys.argv[1:]
    for test in tests:
        if wanted and test.__name__ not in wanted:
            continue
        began = time.monotonic()
        try:
            test()
            print(f"ok   {test.__name__} {time.monotonic() - began:.1f} s", flush=True)
        except Exception as problem:   # every failure is shown; the others still run
            failed += 1
            import traceback
            traceback.print_exc()
            print(f"FAIL {test.__name__}: {problem}", flush=True)
    sys.exit(1 if failed else 0)
