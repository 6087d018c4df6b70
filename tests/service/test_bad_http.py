#!/usr/bin/env python3
# label: service
# timeout: 120
"""Slow clients, clients that go away, large modules, the workers' token. Bad input as a table: test_bad_input.py."""
import concurrent.futures
import hashlib
import os
import sys
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

H = b"Host: localhost\r\n"
MODULE = b"module @m { func.func public @main() { return } }\n"
DIGEST = hashlib.sha256(MODULE).hexdigest()


def test_slow_clients():
    """drips and disconnects: 408 or a closed connection in time, others are served meanwhile, nothing stays behind"""
    service = harness.Service()

    def drip(start, piece, every, at_most):
        began = time.monotonic()
        import socket
        with socket.create_connection(("127.0.0.1", service.port), timeout=0.01) as s:
            s.sendall(start)
            while time.monotonic() - began < at_most:
                try:
                    s.sendall(piece)
                    got = s.recv(4096)
                    return time.monotonic() - began, got
                except TimeoutError:
                    time.sleep(every)
                except OSError:
                    return time.monotonic() - began, b""
        return at_most, None

    try:
        header = b"GET /livez HTTP/1.1\r\n" + H
        body = b"POST /v1/modules HTTP/1.1\r\n" + H + b"Content-Length: 100000\r\n\r\n"
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            jobs = [pool.submit(drip, b"GE", b"", 0.5, 20), pool.submit(drip, header, b"X: y\r\n", 0.5, 20),
                    pool.submit(drip, body, b"z" * 100, 0.5, 20)]
            while not all(j.done() for j in jobs):
                began = time.monotonic()
                assert service.request("GET", "/livez")[0] == 200
                assert time.monotonic() - began < 1
                time.sleep(0.5)
        for j in jobs:
            seconds, got = j.result()
            assert got is not None and seconds < 14, (seconds, got)
            assert got == b"" or b" 408 " in got, got
        service.raw(body + b"half", timeout=0.1)   # goes away in the middle
        time.sleep(0.5)
        assert not list((service.folder / "data" / "tmp").iterdir())
    finally:
        service.close()


def test_large_modules():
    """64 MiB come and go; memory stays, ranges and digests are right"""
    service = harness.Service()
    try:
        text = b"".join(b"line %d of a module\n" % i for i in range(200000)) * 16
        digest = hashlib.sha256(text).hexdigest()

        def resident():
            with open(f"/proc/{service.server.pid}/status") as status:
                return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

        before = resident()
        packed = zlib.compressobj(1, zlib.DEFLATED, 31)
        data = packed.compress(text) + packed.flush()
        for body, headers, status in ((text, {}, 201), (data, {"Content-Encoding": "gzip"}, 200), (data, {}, 200)):
            got = service.request("PUT", "/v1/modules/sha256:" + digest, body, headers)
            assert got[0] == status, got
        assert resident() - before < 24 << 10, (before, resident())
        status, headers, part = service.request("GET", "/v1/modules/" + digest, headers={"Range": "bytes=1000-1999"})
        assert status == 206 and part == text[1000:2000], (status, headers)
        assert service.request("GET", "/v1/modules/" + digest)[2] == text
        assert service.request("GET", "/v1/modules/" + digest, headers={"If-None-Match": f'"{digest}"'})[0] == 304
        status, headers, nothing = service.request("HEAD", "/v1/modules/" + digest)
        assert (status, nothing, headers["content-length"]) == (200, b"", str(len(text)))
    finally:
        service.close()


def test_worker_token():
    service = harness.Service(environment={"TOAST_WORKER_TOKEN": "secret-of-workers"})
    try:
        path, good = "/internal/blobs/" + DIGEST, {"Authorization": "Bearer secret-of-workers"}
        for bad in ({}, {"Authorization": "Bearer "}, {"Authorization": "Bearer secret-of-workerz"},
                    {"Authorization": "Bearer " + "a" * 10000}):
            assert service.request("PUT", path, MODULE, bad)[0] == 404
            assert service.request("GET", path, headers=bad)[0] == 404
        assert service.request("PUT", path, MODULE, good)[0] == 201
        assert service.request("GET", path, headers=good)[2] == MODULE
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_slow_clients, test_large_modules, test_worker_token])
