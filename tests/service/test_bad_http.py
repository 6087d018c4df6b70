#!/usr/bin/env python3
# label: service
# timeout: 150
"""Hostile and broken HTTP, row by row: what the server must answer, that it answers problem+json where the answer is
ours, and that it lives on with nothing left behind."""
import concurrent.futures
import gzip
import hashlib
import json
import os
import sys
import time
import zlib

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

H = b"Host: x\r\n"
JSON = b"Content-Type: application/json\r\n"
MODULE = b"module @m { func.func public @main() { return } }\n"
DIGEST = hashlib.sha256(MODULE).hexdigest()


def post(path, body, headers=b"", length=None):
    length = len(body) if length is None else length
    return (b"POST " + path.encode() + b" HTTP/1.1\r\n" + H + headers + b"Content-Length: %d\r\n\r\n" % length) + body


def get(path, headers=b""):
    return b"GET " + path + b" HTTP/1.1\r\n" + H + headers + b"Connection: close\r\n\r\n"


def job(body, kind=JSON):
    return post("/v1/jobs", body, kind + b"Connection: close\r\n")


def nested(depth):
    return b'{"mesh":' + b"[" * depth + b"]" * depth + b"}"


SMUGGLED = b"0\r\n\r\nGET /v1/limits HTTP/1.1\r\nHost: x\r\n\r\n"
TWICE = b"--b\r\nContent-Disposition: form-data; name=\"request\"\r\n\r\n{}\r\n"
FORM = b"Content-Type: multipart/form-data; boundary=b\r\n"
REQUEST = b'{"mesh":{"axes":[{"name":"d","size":8}]},"device":"a100-40","module":{"inline":"m"}'

# (name, bytes to send, statuses that are right, whether the answer must be problem+json)
ROWS = [
    ("length and coding", b"POST /v1/modules HTTP/1.1\r\n" + H + b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
     + SMUGGLED, {400}, True),
    ("two lengths", b"POST /v1/modules HTTP/1.1\r\n" + H + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde", {400}, True),
    ("gzip coding", b"POST /v1/modules HTTP/1.1\r\n" + H + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", {501}, True),
    ("negative length", b"POST /v1/modules HTTP/1.1\r\n" + H + b"Content-Length: -1\r\n\r\n", {400, 413}, False),
    ("signed length", b"POST /v1/modules HTTP/1.1\r\n" + H + b"Content-Length: +2\r\n\r\nab", {400, 413}, False),
    ("huge length", b"POST /v1/modules HTTP/1.1\r\n" + H + b"Content-Length: 10000000000000000000000\r\n\r\n", {400, 413}, False),
    ("NUL in path", get(b"/livez%00x"), {400}, True),
    ("dots", get(b"/v1/%2e%2e/livez"), {400, 404}, True),
    ("dots and slash", get(b"/v1/..%2flivez"), {400, 404}, True),
    ("empty segment", get(b"//livez"), {400, 404}, True),
    ("bad percent", get(b"/livez%zz"), {400}, True),
    ("cut percent", get(b"/livez%2"), {400}, True),
    ("overlong UTF-8", get(b"/livez%c0%af"), {400}, True),
    ("no Host", b"GET /livez HTTP/1.1\r\nConnection: close\r\n\r\n", {400}, False),
    ("two Hosts", b"GET /livez HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n", {400}, True),
    ("header of 20 kB", get(b"/livez", b"X: " + b"a" * 20000 + b"\r\n"), {431}, True),
    ("header of 100 kB", get(b"/livez", b"X: " + b"a" * 100000 + b"\r\n"), {431}, False),
    ("URL of 10 kB", get(b"/" + b"a" * 10000), {414}, True),
    ("URL of 100 kB", get(b"/" + b"a" * 100000), {414}, False),
    ("unknown version", b"GET /livez HTTP/3.7\r\n" + H + b"\r\n", {400, 505}, False),
    ("no HTTP at all", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", {400, 505, None}, False),
    ("unknown method", b"BREW /livez HTTP/1.1\r\n" + H + b"Connection: close\r\n\r\n", {405}, True),
    ("wrong method", b"DELETE /v1/jobs HTTP/1.1\r\n" + H + b"Connection: close\r\n\r\n", {405}, True),
    ("unknown path", get(b"/v2/jobs"), {404}, True),
    ("unknown encoding", post("/v1/modules", b"abc", b"Content-Encoding: br\r\n"), {415}, True),
    ("no length", b"POST /v1/modules HTTP/1.1\r\n" + H + b"\r\n", {411}, True),
    ("too large by header", post("/v1/modules", b"", length=600 << 20), {413}, True),
    ("empty module", post("/v1/modules", b"", b"Connection: close\r\n"), {422}, True),
    ("wrong digest", b"PUT /v1/modules/" + b"0" * 64 + b" HTTP/1.1\r\n" + H + b"Connection: close\r\nContent-Length: 3\r\n\r\nabc",
     {400}, True),
    ("no digest", b"PUT /v1/modules/..etc HTTP/1.1\r\n" + H + b"Connection: close\r\nContent-Length: 3\r\n\r\nabc", {400}, True),
    ("gzip that is none", post("/v1/modules", b"abc", b"Content-Encoding: gzip\r\nConnection: close\r\n"), {422}, True),
    ("gzip cut off", post("/v1/modules", gzip.compress(os.urandom(5000))[:-9], b"Connection: close\r\n"), {422}, True),
    ("gzip with a bad sum", post("/v1/modules", gzip.compress(b"abc")[:-8] + b"12345678", b"Connection: close\r\n"), {422}, True),
    ("gzip and more", post("/v1/modules", gzip.compress(b"abc") + b"more", b"Connection: close\r\n"), {422}, True),
    ("gzip in gzip", post("/v1/modules", gzip.compress(gzip.compress(b"abc")), b"Connection: close\r\n"), {422}, True),
    ("gzip bomb", post("/v1/modules", gzip.compress(bytes(64 << 20)), b"Connection: close\r\n"), {422}, True),
    ("JSON of 1 MiB and a byte", job(b" " * ((1 << 20) + 1)), {413}, True),
    ("no content type", post("/v1/jobs", b"{}", b"Connection: close\r\n"), {415}, True),
    ("form content type", job(b"a=b", b"Content-Type: application/x-www-form-urlencoded\r\n"), {415}, True),
    ("empty JSON", job(b""), {400}, True),
    ("scalar", job(b"3"), {400, 422}, True),
    ("deep JSON", job(nested(3000)), {400}, True),
    ("duplicate key", job(b'{"seed":1,"seed":2}'), {400}, True),
    ("NUL in JSON", job(b'{"a":"\x00"}'), {400}, True),
    ("escaped NUL in JSON", job(b'{"device":"\\u0000"}'), {400}, True),
    ("lone surrogate", job(b'{"device":"\\ud800"}'), {400}, True),
    ("bad UTF-8", job(b'{"device":"\xff"}'), {400}, True),
    ("byte order mark", job(b"\xef\xbb\xbf{}"), {400}, True),
    ("NaN", job(b'{"seed":NaN}'), {400}, True),
    ("1e400", job(b'{"deadline_s":1e400}'), {400}, True),
    ("2^63", job(b'{"seed":9223372036854775808}'), {400, 422}, True),
    ("trailing bytes", job(b"{} x"), {400}, True),
    ("100,000 keys", job(b"{" + b",".join(b'"%x":0' % i for i in range(100000)) + b"}"), {400}, True),
    ("no module", job(b'{"mesh":{"axes":[{"name":"d","size":8}]},"device":"a100-40"}'), {422}, True),
    ("unknown field", job(REQUEST + b',"sed":1}'), {422}, True),
    ("1.0 for an integer", job(REQUEST + b',"seed":1.0}'), {422}, True),
    ("negative budget", job(REQUEST + b',"budget":{"rollouts":-1}}'), {422}, True),
    ("axis of size 0", job(REQUEST.replace(b"8}", b"0}") + b"}"), {422}, True),
    ("mesh too large", job(REQUEST.replace(b"8}", b"8388608}") + b"}"), {422}, True),
    ("axis twice", job(REQUEST.replace(b"8}", b'8},{"name":"d","size":2}') + b"}"), {422}, True),
    ("unknown device", job(REQUEST.replace(b"a100-40", b"abacus") + b"}"), {422}, True),
    ("not available", job(REQUEST + b',"objective":"pareto"}'), {422}, True),
    ("unknown module", job(REQUEST.replace(b'{"inline":"m"}', b'"sha256:' + b"0" * 64 + b'"') + b"}"), {422}, True),
    ("multipart without boundary", job(b"x", b"Content-Type: multipart/form-data\r\n"), {400}, True),
    ("multipart without start", job(b"x", FORM), {400}, True),
    ("multipart without end", job(TWICE, FORM), {400}, True),
    ("multipart twice", job(TWICE + TWICE + b"--b--\r\n", FORM), {422}, True),
    ("multipart with a stranger", job(TWICE.replace(b"request", b"quest") + b"--b--\r\n", FORM), {422}, True),
    ("multipart and more", job(TWICE + b"--b--\r\nmore", FORM), {400}, True),
    ("forged page token", get(b"/v1/jobs?page_token=1-j_x"), {400}, True),
    ("bad page size", get(b"/v1/jobs?page_size=-1"), {400}, True),
    ("no such job", get(b"/v1/jobs/j_00000000000000000000000000"), {404}, True),
    ("no job id", get(b"/v1/jobs/%3Cscript%3E"), {404}, True),
    ("range outside", b"GET /v1/modules/" + DIGEST.encode() + b" HTTP/1.1\r\n" + H
     + b"Range: bytes=999-\r\nConnection: close\r\n\r\n", {416}, True),
    ("internal without token", get(b"/internal/blobs/" + DIGEST.encode()), {404}, True),
]


def check(service, row):
    name, data, statuses, ours = row
    answer = service.raw(data, timeout=10)
    head, _, body = answer.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    if not answer and None in statuses:
        return   # closed without a word
    assert lines[0].startswith(b"HTTP/1.1 "), (name, answer[:200])
    status = int(lines[0].split()[1])
    assert status in statuses, (name, status, body[:300])
    if ours:
        assert any(line.lower() == b"content-type: application/problem+json" for line in lines), (name, lines)
        problem = json.loads(body)
        assert problem["status"] == status and problem["code"] and problem["detail"], (name, problem)
        if status == 405:
            assert any(line.lower().startswith(b"allow:") for line in lines), (name, lines)
        if status == 422 and data.startswith(b"POST /v1/jobs") and b'"mesh"' in data:
            assert problem["errors"][0]["pointer"].startswith("/"), (name, problem)
    # libmicrohttpd 0.9.75 sends the head of its own refusals twice, and closes
    if ours or b"<html>" not in answer:
        assert answer.count(b"HTTP/1.1 ") == 1, (name, "a second request was answered", answer[:500])


def test_rows():
    service = harness.Service()
    try:
        assert service.request("PUT", "/v1/modules/" + DIGEST, MODULE)[0] == 201
        failures = []
        for row in ROWS:
            try:
                check(service, row)
            except AssertionError as problem:
                failures.append(problem.args[0])
            assert service.request("GET", "/livez")[0] == 200, (row[0], "the server is gone")
        assert not failures, "\n".join(map(str, failures))
        assert service.json("GET", "/v1/jobs")[1]["jobs"] == []
        assert not list((service.folder / "data" / "tmp").iterdir())
        assert service.redis_cli("DBSIZE") in ("0", "1"), "a refused request left something in Redis"
    finally:
        service.close()


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
    harness.main([test_rows, test_slow_clients, test_large_modules, test_worker_token])
