#!/usr/bin/env python3
# label: service
# timeout: 120
"""Webhooks: signed, told once for each end, tried again when the receiver fails, ended by 410; only hosts that the operator names, no
private network unless it says so. And what is no address that way: users, other schemes, short and mapped addresses."""
import base64
import hashlib
import hmac
import http.server
import json
import os
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

MODEL = (harness.SOURCE / "tests" / "models" / "mlp.mlir").read_text()
REQUEST = {"module": {"inline": MODEL}, "mesh": {"axes": [{"name": "data", "size": 2}]}, "device": "a100-40", "budget": {"rollouts": 50}}
SECRET = "a secret of the operator, longer than one block of SHA-256 so that it is hashed first"


class Receiver(http.server.BaseHTTPRequestHandler):
    answers, got = [], []

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        type(self).got.append((dict((k.lower(), v) for k, v in self.headers.items()), body))
        status = type(self).answers.pop(0) if type(self).answers else 204
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/elsewhere")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def receiver():
    Receiver.answers, Receiver.got = [], []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def wait_for(condition, seconds=60):
    until = harness.deadline(seconds)
    while not condition():
        assert time.monotonic() < until, Receiver.got
        time.sleep(0.05)


def got(count):
    wait_for(lambda: len(Receiver.got) == count)


def submit(service, url, **more):
    return service.json("POST", "/v1/jobs", {**REQUEST, "webhook": url, **more})


def test_sent_and_signed():
    target = receiver()
    port = target.server_port
    service = harness.Service(workers=1, environment={"TOAST_WEBHOOK_SECRET": SECRET},
                              server_options=["--webhook-host", f"127.0.0.1:{port}", "--webhook-host", "localhost", "--webhook-private"])
    try:
        url = f"http://127.0.0.1:{port}/hook?x=1"
        status, job = submit(service, url)
        assert status == 202, job
        assert service.wait(job["id"])["state"] == "succeeded"
        wait_for(lambda: Receiver.got)
        headers, body = Receiver.got[0]
        said = json.loads(body)
        assert said["type"] == "job.ended" and said["data"]["job"] == job["id"] and said["data"]["state"] == "succeeded", said
        assert said["data"]["href"] == f"/v1/jobs/{job['id']}"
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        seal = base64.b64encode(hmac.new(SECRET.encode(), signed, hashlib.sha256).digest()).decode()
        assert headers["webhook-signature"] == f"v1,{seal}" and abs(int(headers["webhook-timestamp"]) - time.time()) < 60, headers
        assert headers["content-type"] == "application/json" and SECRET not in str(headers)
        # an equal request answers at once, and its end is told, too; the address is no part of the digest
        status, again = submit(service, url + "2")
        assert status == 202 and again["state"] == "succeeded" and again["digest"] == job["digest"], again
        wait_for(lambda: len(Receiver.got) == 2)
        # tried again: refused, moved (not followed), then taken; the same id each time
        Receiver.answers = [500, 302, 204]
        status, third = submit(service, url, seed=2)
        for count in (3, 4, 5):
            got(count)
            service.redis_cli("zadd", "{t}:wh", "XX", "1", third["id"])
        wait_for(lambda: service.redis_cli("zcard", "{t}:wh") == "0")
        assert len({h["webhook-id"] for h, _ in Receiver.got[2:]}) == 1 and len(Receiver.got) == 5
        assert service.redis_cli("exists", "{t}:whd:" + third["id"]) == "0"
        # 410: not again
        Receiver.answers = [410]
        status, fourth = submit(service, url, seed=3)
        wait_for(lambda: len(Receiver.got) == 6)
        wait_for(lambda: service.redis_cli("zcard", "{t}:wh") == "0")
        # ten tries, then it is given up
        Receiver.answers = [503] * 20
        status, fifth = submit(service, url, seed=4)
        for count in range(7, 17):
            got(count)
            service.redis_cli("zadd", "{t}:wh", "XX", "1", fifth["id"])
        wait_for(lambda: service.redis_cli("zcard", "{t}:wh") == "0")
        assert len(Receiver.got) == 16
        # a cancelled job's end is told as well
        Receiver.answers = []
        status, last = submit(service, url, seed=5, deadline_s=1000, budget={"rollouts": 1000000})
        service.request("POST", f"/v1/jobs/{last['id']}:cancel?discard=true", b"")
        wait_for(lambda: len(Receiver.got) == 17)
        assert json.loads(Receiver.got[16][1])["data"]["state"] == "cancelled"
    finally:
        service.close()
        target.shutdown()


def test_refused():
    service = harness.Service(environment={"TOAST_WEBHOOK_SECRET": SECRET},
                              server_options=["--webhook-host", "hooks.example.com", "--webhook-host", "hooks.example.com:8443"])
    try:
        for url in ("https://hooks.example.com/a", "https://HOOKS.example.com:443/", "https://hooks.example.com:8443/x?y=z"):
            assert submit(service, url, dry_run=True)[0] == 200, url
        for url in ("http://hooks.example.com/", "https://hooks.example.com:444/", "https://example.com/", "https://hooks.example.com.evil.org/",
                    "https://user@hooks.example.com/", "https://hooks.example.com@evil.org/", "https://hooks.example.com#@evil.org/",
                    "file:///etc/passwd", "gopher://hooks.example.com/", "https://", "", "hooks.example.com", "https://127.1/", "https://2130706433/",
                    "https://[::ffff:10.0.0.1]/", "https://169.254.169.254/", "https://localhost/", "https://hooks.example.com\n.evil.org/"):
            status, problem = submit(service, url)
            assert status == 422 and problem["errors"][0]["pointer"] == "/webhook", (url, problem)
        assert submit(service, 7)[0] == 422 and submit(service, "https://hooks.example.com/" + "a" * 1000)[0] == 422
    finally:
        service.close()


def test_private_addresses():
    """a host that the operator named, whose name leads into the own network: not dialled, not tried again"""
    target = receiver()
    service = harness.Service(workers=1, environment={"TOAST_WEBHOOK_SECRET": SECRET},
                              server_options=["--webhook-host", f"localhost:{target.server_port}", "--webhook-host", "127.0.0.1:9"])
    try:
        status, job = submit(service, f"https://localhost:{target.server_port}/")
        assert status == 202, job
        assert service.wait(job["id"])["state"] == "succeeded"
        wait_for(lambda: '"became":"given_up"' in (service.folder / "log").read_text())
        assert service.redis_cli("zcard", "{t}:wh") == "0" and not Receiver.got
    finally:
        service.close()
        target.shutdown()


def test_none_allowed():
    for environment, options in (({}, ["--webhook-host", "localhost"]), ({"TOAST_WEBHOOK_SECRET": SECRET}, [])):
        service = harness.Service(environment=environment, server_options=options)
        try:
            status, problem = submit(service, "https://localhost/")
            assert status == 422 and problem["code"] == "not_available" and problem["title"] == "This build cannot do that", problem
        finally:
            service.close()


if __name__ == "__main__":
    harness.main([test_sent_and_signed, test_refused, test_private_addresses, test_none_allowed])
