#!/usr/bin/env python3
# label: service
# timeout: 240
"""Clients without a key that want the server's memory, connections, threads and disk: others are served meanwhile.

Bad input as a table is in test_bad_input.py, slow senders in test_bad_http.py. What this shows of a build: bodies before a key
are 4 KiB, all bodies and replies share one budget of memory, slow readers are cut, health has a listener of its own, an address
has its share of the connections, large uploads hold up nobody, a full disk is 507."""
import concurrent.futures
import hashlib
import http.client
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

H = b"Host: localhost\r\n"


def resident_kib(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


def connect(port, address="127.0.0.1", buffer=None):
    s = socket.socket()
    if buffer:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
    s.bind((address, 0))
    s.settimeout(10)
    s.connect(("127.0.0.1", port))
    return s


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answer_of(s):
    """what comes until the other side closes"""
    got = b""
    try:
        while chunk := s.recv(65536):
            got += chunk
    except OSError:
        pass
    return got


def test_bodies_without_a_key():
    """1,000 bodies of 1 MiB without their last byte to the one route that takes one from anybody"""
    service = harness.Service(server_options=["--require-keys"])
    sockets = []
    try:
        before = resident_kib(service.server.pid)
        begin = b"POST /ui/session HTTP/1.1\r\n" + H + b"Content-Type: application/json\r\n"
        got = service.raw(begin + b"Content-Length: 1048576\r\n\r\n" + b"x" * 100000)
        assert got.startswith(b"HTTP/1.1 413 ") and b"4096" in got, got[:300]
        for _ in range(1000):
            s = connect(service.port)
            sockets.append(s)
            try:
                s.sendall(begin + b"Transfer-Encoding: chunked\r\n\r\nfffff\r\n" + b"x" * 0xffffe)
            except OSError:
                pass   # it was refused and closed
        assert service.request("GET", "/livez")[0] == 200
        grown = resident_kib(service.server.pid) - before
        assert grown < 200 << 10, f"{grown} KiB"
    finally:
        for s in sockets:
            s.close()
        service.close()


def test_memory_budget():
    """bodies that together exceed the budget: 503 with Retry-After; small requests are answered; when they are gone all is as before"""
    service = harness.Service(server_options=["--memory-budget", str(16 << 20)])
    sockets = []
    try:
        body = b'{"mesh":' + b" " * 900000
        for _ in range(12):   # each takes twice what has come
            s = connect(service.port)
            sockets.append(s)
            s.sendall(b"POST /v1/jobs HTTP/1.1\r\n" + H + b"Content-Type: application/json\r\nContent-Length: 1000000\r\n\r\n" + body)
        time.sleep(0.5)
        status, headers, data = service.request("POST", "/v1/jobs", body + b"}", {"Content-Type": "application/json"})
        assert (status, json.loads(data)["code"], "retry-after" in headers) == (503, "unavailable", True), (status, data)
        assert service.request("GET", "/livez")[0] == 200
        assert service.request("GET", "/v1/jobs")[0] == 200
        for s in sockets:
            s.close()
        until = harness.deadline(10)
        while service.request("POST", "/v1/jobs", body + b"}", {"Content-Type": "application/json"})[0] == 503:
            assert time.monotonic() < until, "what the budget gave does not come back"
            time.sleep(0.1)
    finally:
        for s in sockets:
            s.close()
        service.close()


def test_memory_of_a_tenant():
    """a tenant's requests take half of the budget at most: then it is told to come again, and another is served"""
    service = harness.Service(server_options=["--memory-budget", str(16 << 20), "--require-keys"])
    add = [harness.BIN / "toast", "keys", "add", "--role", "submit", "--redis", service.redis_address, "--tenant"]
    keys = {name: subprocess.run([*add, name], capture_output=True, text=True, check=True).stdout.strip() for name in "ab"}
    sockets, body = [], b'{"mesh":' + b" " * 900000

    def post(tenant):
        return service.request("POST", "/v1/jobs", body + b"}", {"Content-Type": "application/json", "Authorization": "Bearer " + keys[tenant]})

    try:
        until = harness.deadline(10)
        for key in keys.values():   # a server looks for new keys each second
            while service.request("GET", "/v1/jobs", headers={"Authorization": "Bearer " + key})[0] == 401:
                assert time.monotonic() < until
                time.sleep(0.1)
        for _ in range(4):   # each takes twice what has come
            s = connect(service.port)
            sockets.append(s)
            s.sendall(b"POST /v1/jobs HTTP/1.1\r\n" + H + b"Content-Type: application/json\r\nContent-Length: 1000000\r\n"
                      b"Authorization: Bearer " + keys["a"].encode() + b"\r\n\r\n" + body)
        time.sleep(0.5)
        status, headers, data = post("a")
        assert (status, json.loads(data)["code"], "retry-after" in headers) == (503, "unavailable", True), (status, data)
        assert "your requests" in json.loads(data)["detail"], data
        assert post("b")[0] == 400   # its JSON is looked at
        for s in sockets:
            s.close()
        until = harness.deadline(10)
        while post("a")[0] == 503:
            assert time.monotonic() < until, "what the share gave does not come back"
            time.sleep(0.1)
    finally:
        for s in sockets:
            s.close()
        service.close()


def test_slow_readers():
    """who does not read its reply, or a byte a second, is cut off within half a minute; who reads slowly but steadily is not"""
    service = harness.Service()
    try:
        module = os.urandom(1 << 20).hex().encode() * 4
        digest = hashlib.sha256(module).hexdigest()
        assert service.request("PUT", "/v1/modules/" + digest, module)[0] == 201
        get = b"GET /v1/modules/" + digest.encode() + b" HTTP/1.1\r\n" + H + b"\r\n"

        def read(size, pause, seconds):
            """-> seconds until the connection was cut (None: it was not), bytes read"""
            s = connect(service.port, buffer=4096)
            s.sendall(get)
            began, count = time.monotonic(), 0
            while time.monotonic() - began < seconds and count < len(module):
                if s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == 7:   # TCP_CLOSE, whatever is left to read
                    return time.monotonic() - began, count
                if size:
                    count += len(s.recv(size))
                time.sleep(pause)
            s.close()
            return None, count

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            none = pool.submit(read, 0, 0.2, 50)
            drip = pool.submit(read, 1, 1, 50)
            steady = pool.submit(read, 16384, 0.25, 30)
            assert none.result()[0] is not None and none.result()[0] < 45, none.result()
            assert drip.result()[0] is not None and drip.result()[0] < 45, drip.result()
            assert steady.result()[0] is None, steady.result()
    finally:
        service.close()


def test_health_listener():
    """every connection is taken by readers that do not read: the listener for health answers"""
    port = free_port()
    service = harness.Service(server_options=["--health-listen", f"127.0.0.1:{port}", "--require-keys", "--connections-per-address", "500"])
    sockets = []
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192), hard))

    def ask(path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        connection.request("GET", path)
        reply = connection.getresponse()
        return reply.status, reply.read()

    try:
        assert ask("/livez")[0] == 200 and ask("/readyz")[0] == 200
        assert b"toast_redis_up 1" in ask("/metrics")[1]
        for other in ("/v1/limits", "/ui", "/openapi.json", "/v1/jobs", "/internal/blobs/" + "0" * 64):
            assert ask(other)[0] == 404, other
        for i in range(4400):   # ten addresses with less than 500 each
            try:
                s = connect(service.port, f"127.0.1.{1 + i // 440}", 4096)
                s.settimeout(2)
                sockets.append(s)
                s.sendall(b"GET /openapi.json HTTP/1.1\r\n" + H + b"\r\n")
            except OSError:
                break
        assert len(sockets) >= 4000, len(sockets)
        for _ in range(20):
            began = time.monotonic()
            assert ask("/livez")[0] == 200
            assert time.monotonic() - began < 1
        assert ask("/readyz")[0] == 200
    finally:
        for s in sockets:
            s.close()
        service.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_connections_per_address():
    service = harness.Service(server_options=["--connections-per-address", "20"])
    sockets = []
    try:
        for _ in range(40):
            sockets.append(connect(service.port, "127.0.2.1"))
        time.sleep(0.5)
        closed = 0
        for s in sockets:
            s.setblocking(False)
            try:
                closed += s.recv(1) == b""
            except BlockingIOError:
                pass
            except OSError:
                closed += 1
        assert closed == 20, closed
        assert service.request("GET", "/livez")[0] == 200   # from another address
    finally:
        for s in sockets:
            s.close()
        service.close()


def test_large_uploads():
    """eight uploads of 32 MiB to a disk that takes three seconds for each: meanwhile /livez, a list of jobs and a submission that
    waits for a disk itself answer within half a second, each time"""
    folder = tempfile.mkdtemp(prefix="toast-slow-disk-")
    library = os.path.join(folder, "slow_disk.so")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, os.path.join(os.path.dirname(os.path.abspath(__file__)), "slow_disk.c")], check=True)
    service = harness.Service(environment={"LD_PRELOAD": library})
    try:
        def upload(seed):
            piece = hashlib.sha256(b"%d" % seed).hexdigest().encode() * (1 << 14)   # 1 MiB
            connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=harness.SLOW * 120)
            connection.request("POST", "/v1/modules", iter([piece] * 32), {"Content-Length": str(32 << 20)})
            reply = connection.getresponse()
            reply.read()
            return reply.status

        slowest = 0
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            uploads = [pool.submit(upload, i) for i in range(8)]
            while not all(u.done() for u in uploads):
                began = time.monotonic()
                assert service.request("GET", "/livez")[0] == 200
                assert service.request("GET", "/v1/jobs")[0] == 200
                assert service.json("POST", "/v1/jobs", {"module": "sha256:" + "0" * 64, "device": "a100-40",
                                                         "mesh": {"axes": [{"name": "d", "size": 8}]}})[0] == 422
                slowest = max(slowest, time.monotonic() - began)
                time.sleep(0.02)
        assert [u.result() for u in uploads] == [201] * 8
        assert slowest < 0.5 * harness.SLOW, f"{slowest * 1e3:.0f} ms"
    finally:
        service.close()
        shutil.rmtree(folder)


FULL = """
import json, os, subprocess, sys
sys.path.insert(0, {folder!r})
import harness
service = harness.Service()
disk = service.folder / "data"
os.environ["PYTHONUNBUFFERED"] = "1"
try:
    service.server.terminate(); service.server.wait()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "none", str(disk)], check=True)
    service.start_server()
    kept = []
    for kind, headers in (("whole", dict()), ("json", {{"Content-Type": "application/json"}}), ("multipart", None)):
        big = os.urandom(20 << 20)
        if kind == "json":      # the disk is full to the last byte when the request is to be kept
            ballast = os.open(disk / "ballast", os.O_WRONLY | os.O_CREAT)
            try:
                while os.write(ballast, b"x" * 4096):
                    pass
            except OSError:
                os.close(ballast)
            got = service.request("POST", "/v1/jobs", json.dumps({{"mesh": {{"axes": [{{"name": "d", "size": 8}}]}},
                 "device": "a100-40", "module": {{"inline": "module {{}}"}}}}), headers)
            os.unlink(disk / "ballast")
        elif kind == "multipart":
            body, headers = harness.multipart({{"module": big + big, "request": b"{{}}"}})
            got = service.request("POST", "/v1/jobs", body, headers)
        else:
            got = service.request("POST", "/v1/modules", big + big, headers)
        print(kind, got[0], json.loads(got[2])["code"], flush=True)
finally:
    service.close()
    subprocess.run(["umount", "-l", str(disk)])
"""


def test_full_disk():
    """a disk that fills up in the middle of a body, or at its end: 507 and a problem, in a mount namespace of its own"""
    probe = subprocess.run(["unshare", "-rm", "true"], capture_output=True)
    if probe.returncode:
        print("no mount namespaces here: not tried")
        return
    folder = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run(["unshare", "-rm", sys.executable, "-c", FULL.format(folder=folder)], capture_output=True, text=True, timeout=120)
    lines = done.stdout.split("\n")
    assert [l for l in lines if l] == ["whole 507 no_space", "json 507 no_space",
                                       "multipart 507 no_space"], (done.stdout, done.stderr[-3000:])


if __name__ == "__main__":
    harness.main([test_bodies_without_a_key, test_memory_budget, test_memory_of_a_tenant, test_slow_readers, test_health_listener, test_connections_per_address,
                  test_large_uploads, test_full_disk])
