#!/usr/bin/env python3
# label: service
# timeout: 90
"""Browsers' pages: a name that is not the server's (DNS rebinding), and the origins that the operator named (CORS)."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

PAGE = "https://launcher.example:8443"


def asked(service, host, path="/v1/jobs", method="GET", body=None, headers=None):
    return service.request(method, path, body, dict(headers or {}, Host=host))


def test_host():
    """while everybody is let in, a server on a loopback address answers to its own names only"""
    service = harness.Service(server_options=["--host-name", "build-17", "--host-name", "toast.internal"],
                              environment={"TOAST_WORKER_TOKEN": "t"})
    try:
        for host in ("localhost", f"LOCALHOST:{service.port}", "127.0.0.1", "127.8.9.1:80", "[::1]:8080", "[::1]", "build-17:9",
                     "TOAST.internal"):
            assert asked(service, host)[0] == 200, host
        for host in ("evil.example", f"evil.example:{service.port}", "localhost.evil.example", "localhost.", "10.0.0.1", "[::2]",
                     "127.0.0.1.evil.example", "build-17.evil.example", "build-1", "x" * 300, "::1", "2130706433", "0.0.0.0",
                     "[::1", "[::1].evil.example", "localhost:80@evil.example", "127.0.0.1:80x"):
            for path in ("/v1/jobs", "/ui/session", "/metrics", "/livez"):
                status, headers, data = asked(service, host, path)
                assert status == 421 and headers["connection"] == "close", (host, path, status)
            problem = json.loads(data)
            assert problem["code"] == "misdirected_request" and problem["errors"][0]["pointer"] == "Host"
            assert "--host-name" in problem["detail"] and "toast keys add" in problem["detail"]
        assert asked(service, "evil.example", "/internal/blobs/" + "0" * 64)[0] == 404    # workers have a token, no browser has
        made = subprocess.run([harness.BIN / "toast", "keys", "add", "--redis", service.redis_address], capture_output=True, text=True,
                              check=True).stdout.strip()
        until = harness.deadline(10)
        while asked(service, "evil.example")[0] == 421 and time.monotonic() < until:
            time.sleep(0.1)
        assert asked(service, "evil.example")[0] == 401                # a page has no key; a proxy may use any name
        assert asked(service, "evil.example", headers={"Authorization": f"Bearer {made}"})[0] == 200
    finally:
        service.close()


def cors(headers):
    return {name for name in headers if name.startswith("access-control-")}


def test_off():
    service = harness.Service()
    try:
        status, headers, _ = service.request("OPTIONS", "/v1/jobs", None, {"Origin": PAGE, "Access-Control-Request-Method": "POST"})
        assert status == 405 and not cors(headers), headers
        status, headers, _ = service.request("GET", "/v1/jobs", None, {"Origin": PAGE})
        assert status == 200 and not cors(headers) and "vary" not in headers, headers
    finally:
        service.close()


def test_named_origins():
    service = harness.Service(server_options=["--cors-origin", PAGE, "--cors-origin", "http://localhost:3000"])
    try:
        ask = {"Origin": PAGE, "Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": "authorization,idempotency-key"}
        for path, methods in (("/v1/jobs", {"GET", "HEAD", "POST"}), ("/v1/jobs/mine", {"GET", "HEAD", "PUT", "DELETE"}),
                              ("/v1/jobs/mine:cancel", {"POST"})):
            status, headers, data = service.request("OPTIONS", path, None, ask)
            assert (status, data) == (204, b""), (path, status)
            assert headers["access-control-allow-origin"] == PAGE and headers["vary"] == "Origin"
            assert set(headers["access-control-allow-methods"].split(", ")) == methods, headers
            assert {"authorization", "idempotency-key", "content-type", "last-event-id"} <= set(
                headers["access-control-allow-headers"].lower().split(", "))
            assert int(headers["access-control-max-age"]) > 0 and "access-control-allow-credentials" not in headers
        # replies, refusals among them, name the origin that asked; whoever is not named sees nothing of it
        for path, expected in (("/v1/jobs", 200), ("/v1/jobs/none", 404), ("/v1/jobs?x=1", 400), ("/nowhere", 404), ("/livez", 200)):
            for origin in (PAGE, "http://localhost:3000"):
                status, headers, _ = service.request("GET", path, None, {"Origin": origin})
                assert (status, headers["access-control-allow-origin"], headers["vary"]) == (expected, origin, "Origin"), (path, headers)
                assert "X-Request-Id" in headers["access-control-expose-headers"]
                assert "access-control-allow-credentials" not in headers
            for origin in ("https://launcher.example", PAGE + "1", PAGE.upper(), "http" + PAGE[5:], "null", "*", "", f"{PAGE} {PAGE}"):
                status, headers, _ = service.request("GET", path, None, {"Origin": origin})
                assert status == expected and not cors(headers) and headers["vary"] == "Origin", (path, origin, headers)
        status, headers, _ = service.request("OPTIONS", "/v1/jobs", None, dict(ask, Origin="https://evil.example"))
        assert status == 405 and not cors(headers)
        for path in ("/ui", "/ui/jobs", "/ui/session", "/nowhere"):
            status, headers, _ = service.request("OPTIONS", path, None, ask)
            assert status in (404, 405) and not headers.get("access-control-allow-methods"), (path, headers)
        assert not cors(service.request("GET", "/ui", None, {"Origin": PAGE})[1])
        # without keys its pages may write as this machine's user may; others still may not
        profile = json.dumps({"memory_bytes_per_s": 1e12})
        kind = {"Content-Type": "application/json", "Sec-Fetch-Site": "cross-site"}
        assert service.request("PUT", "/v1/profiles/p", profile, dict(kind, Origin=PAGE))[0] == 201
        assert service.request("PUT", "/v1/profiles/p", profile, dict(kind, Origin="https://evil.example"))[0] == 403
        assert service.request("POST", "/ui/jobs", b"", dict(kind, Origin=PAGE))[0] == 403
    finally:
        service.close()


def test_options():
    """what is no origin is refused at the start; toast serve hands both options on"""
    for origin in ("*", "null", "launcher.example", "https://", "https://a/", "https://a/b", "https://a*", "https://*.a", "ftp://a",
                   "HTTPS://a", "https://u@a", "", "https://a b"):
        done = subprocess.run([harness.BIN / "toast-server", "--cors-origin", origin, "--redis", "unix:/nonexistent"],
                              capture_output=True, timeout=10)
        assert done.returncode == 2 and b"usage:" in done.stderr, origin
    with tempfile.TemporaryDirectory() as folder:
        serve = subprocess.Popen([harness.BIN / "toast", "serve", "--workers", "0", "--data", folder, "--listen", "127.0.0.1:0",
                                  "--host-name", "build-17", "--cors-origin", PAGE], stderr=subprocess.DEVNULL)
        try:
            port = harness.pathlib.Path(folder) / "port"
            until = harness.deadline(20)
            while not (port.exists() and port.read_text()) and time.monotonic() < until:
                time.sleep(0.05)
            service = harness.Service.__new__(harness.Service)   # its requests alone
            service.port = int(port.read_text())
            status, headers, _ = asked(service, "build-17", headers={"Origin": PAGE})
            assert (status, headers["access-control-allow-origin"]) == (200, PAGE)
            assert asked(service, "build-18")[0] == 421
        finally:
            serve.send_signal(signal.SIGTERM)
            serve.wait(30)


if __name__ == "__main__":
    harness.main([test_host, test_off, test_named_origins, test_options])
