#!/usr/bin/env python3
# label: service
# timeout: 120
"""Watching jobs: server-sent events (resuming, forged positions, keep-alives, many streams), the JSON form, Prefer: wait."""
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

MODEL = (harness.SOURCE / "tests" / "models" / "mlp.mlir").read_text()
REQUEST = {"module": {"inline": MODEL}, "mesh": {"axes": [{"name": "data", "size": 2}]}, "device": "a100-40",
           "budget": {"rollouts": 64}}


def submit(service, **changes):
    status, job = service.json("POST", "/v1/jobs", dict(REQUEST, **changes))
    assert status == 202, job
    return job["id"]


class Stream:
    """one open event stream; lines come with the time they arrived"""

    def __init__(self, service, path, headers=""):
        self.socket = socket.create_connection(("127.0.0.1", service.port), timeout=30)
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n{headers}\r\n".encode())
        self.data = b""
        while b"\r\n\r\n" not in self.data:
            chunk = self.socket.recv(4096)
            if not chunk:
                break
            self.data += chunk
        head, _, self.data = self.data.partition(b"\r\n\r\n")
        self.status = int(head.split()[1])
        self.headers = dict(line.lower().split(": ", 1) for line in head.decode().split("\r\n")[1:])
        self.chunked = self.headers.get("transfer-encoding") == "chunked"
        self.text = b""
        self.ended = False

    def unchunk(self):
        while self.chunked and b"\r\n" in self.data:
            size, _, rest = self.data.partition(b"\r\n")
            n = int(size, 16)
            if len(rest) < n + 2:
                return
            self.text += rest[:n]
            self.data = rest[n + 2:]
            self.ended |= n == 0

    def read(self, until=None, seconds=90):
        """-> events, once the stream has ended or until(events) holds"""
        limit = harness.deadline(seconds)
        while True:
            self.unchunk()
            events = self.events()
            if self.ended or (until and until(events)):
                return events
            assert time.monotonic() < limit, self.text
            chunk = self.socket.recv(65536)
            assert chunk, (self.data, self.text)
            self.data += chunk

    def events(self):
        out = []
        for block in self.text.decode().split("\n\n")[:-1]:
            fields = dict(line.split(": ", 1) for line in block.split("\n") if not line.startswith(":"))
            if "data" in fields:
                event = json.loads(fields["data"])
                assert event["id"] == fields["id"] and event["event"] == fields["event"], block
                out.append(event)
        return out

    def close(self):
        self.socket.close()


def test_whole_stream():
    service = harness.Service(workers=1)
    try:
        job = submit(service)
        stream = Stream(service, f"/v1/jobs/{job}/events")
        assert stream.status == 200 and stream.headers["content-type"] == "text/event-stream"
        assert stream.headers["cache-control"] == "no-store" and stream.headers["x-accel-buffering"] == "no"
        live = stream.read()
        assert b"retry: 3000\n" in stream.text
        assert live[0]["state"] == "queued" and live[-1]["state"] == "succeeded", live
        assert [e["state"] for e in live if e["event"] == "state"] == ["queued", "validating", "succeeded"]
        versions = [e["version"] for e in live]
        assert versions == sorted(set(versions)) and {e["job"] for e in live} == {job}
        best = [e["progress"]["best"]["step_ps"] for e in live if e.get("progress", {}).get("best")]
        assert best and best == sorted(best, reverse=True), live
        # replayed, whole and from every place, it is the same; the JSON form as well
        assert Stream(service, f"/v1/jobs/{job}/events").read() == live
        for at in (0, len(live) // 2, len(live) - 2):
            resumed = Stream(service, f"/v1/jobs/{job}/events", f"Last-Event-ID: {live[at]['id']}\r\n").read()
            assert resumed == live[at + 1:], at
            status, body = service.json("GET", f"/v1/jobs/{job}/events?format=json&after={live[at]['id']}")
            assert status == 200 and body == {"events": live[at + 1:], "last_event_id": live[-1]["id"], "ended": True}
        # nothing can follow the end: an EventSource is told not to come again
        status, _, data = service.request("GET", f"/v1/jobs/{job}/events", headers={"Last-Event-ID": live[-1]["id"]})
        assert (status, data) == (204, b"")
        status, headers, data = service.request("HEAD", f"/v1/jobs/{job}/events")
        assert (status, headers["content-type"], data) == (200, "text/event-stream", b"")
        assert service.json("GET", f"/v1/jobs/{job}")[1]["links"]["events"] == f"/v1/jobs/{job}/events"
    finally:
        service.close()


def test_positions():
    service = harness.Service()
    try:
        job, other = submit(service), submit(service, seed=2)
        own = service.json("GET", f"/v1/jobs/{job}/events?format=json")[1]["last_event_id"]
        foreign = service.json("GET", f"/v1/jobs/{other}/events?format=json")[1]["last_event_id"]
        ms, number = own.split("-")
        wrong = ["x", "", "-", "1-", "-1", "1--1", "+1-1", "01-1", "1-1 ", "1.0-1", "99999999999999999999-0", "1-1", foreign, f"{ms}-1",
                 f"{int(ms) + 1}-0", "18446744073709551615-18446744073709551615", f"{own}x", "0x1-0", "1" * 400, "%00", "1%2d1"]
        for at in wrong:
            status, problem = service.json("GET", f"/v1/jobs/{job}/events?after={at.replace('+', '%2B').replace(' ', '%20')}")
            assert status == 400 and problem["errors"][0]["pointer"] == "after", (at, status, problem)
            if at and "%" not in at and at == at.strip():
                status, problem = service.json("GET", f"/v1/jobs/{job}/events", headers={"Last-Event-ID": at})
                assert status == 400 and problem["errors"][0]["pointer"] == "Last-Event-ID", (at, status, problem)
                assert "Last-Event-ID" in problem["detail"], problem
        assert service.json("GET", f"/v1/jobs/{job}/events?format=xml")[0] == 400
        assert service.json("GET", f"/v1/jobs/{job[:-3]}000/events")[0] == 404
        status, body = service.json("GET", f"/v1/jobs/{job}/events?format=json&after={own}")
        assert (status, body) == (200, {"events": [], "last_event_id": own, "ended": False})
        # a client that lost its place in a trimmed stream gets what is left of it
        service.json("POST", f"/v1/jobs/{job}:cancel")
        service.redis_cli("XTRIM", f"{{t}}:ev:{job}", "MAXLEN", "1")
        status, body = service.json("GET", f"/v1/jobs/{job}/events?format=json&after={own}")
        assert status == 200 and [e["state"] for e in body["events"]] == ["cancelled"], body
        assert body["ended"]
    finally:
        service.close()


def test_keep_alive_and_goodbye():
    """a quiet stream says something every 15 s; a client that has gone is noticed; a server that ends takes its streams along"""
    service = harness.Service()
    try:
        job = submit(service)
        stays, goes = (Stream(service, f"/v1/jobs/{job}/events") for _ in range(2))
        for s in (stays, goes):
            s.read(until=lambda events: len(events) == 1)
        def open_streams():
            return int(re.search(r"^toast_event_streams (\d+)", service.request("GET", "/metrics")[2].decode(), re.M)[1])

        assert open_streams() == 2
        goes.close()
        until = harness.deadline(20)
        while open_streams() != 1 and time.monotonic() < until:
            time.sleep(0.1)
        assert open_streams() == 1
        began = time.monotonic()
        stays.read(until=lambda _: b": still here" in stays.text)
        assert time.monotonic() - began > 5
        service.json("POST", f"/v1/jobs/{job}:cancel")
        assert stays.read()[-1]["state"] == "cancelled"
        # a server that is told to end does not wait for its streams
        job = submit(service, seed=3)
        stays = Stream(service, f"/v1/jobs/{job}/events")
        answers = []
        waits = threading.Thread(target=lambda: answers.append(
            service.json("GET", f"/v1/jobs/{job}", headers={"Prefer": "wait=60"})[0]))
        waits.start()
        stays.read(until=lambda events: len(events) == 1)
        time.sleep(1)
        began = time.monotonic()
        service.server.terminate()
        stays.read()
        waits.join(10)
        service.server.wait(10)
        assert time.monotonic() - began < 10 and answers == [200], answers
    finally:
        service.close()


def test_many_streams():
    """200 streams of one tenant at once, over many jobs and one; the 201st is refused; memory stays bounded"""
    service = harness.Service()
    try:
        jobs = [submit(service, seed=i) for i in range(90)]
        watched = jobs + [jobs[0]] * (200 - len(jobs))

        def resident():
            return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{service.server.pid}/status").read())[1])

        before = resident()
        streams = [Stream(service, f"/v1/jobs/{job}/events") for job in watched]
        assert all(s.status == 200 for s in streams)
        for s in streams:
            s.read(until=lambda events: len(events) == 1)
        status, problem = service.json("GET", f"/v1/jobs/{jobs[1]}/events")
        assert status == 429 and "200" in problem["detail"], problem
        assert service.json("GET", f"/v1/jobs/{jobs[1]}/events?format=json")[0] == 200
        assert resident() - before < 64 << 10, (before, resident())
        for job in jobs:
            assert service.json("POST", f"/v1/jobs/{job}:cancel")[0] == 200
        for s in streams:
            assert s.read()[-1]["state"] == "cancelled"
            s.close()
        assert Stream(service, f"/v1/jobs/{jobs[1]}/events").status == 200
    finally:
        service.close()


def test_streams_at_two_servers():
    """a tenant's 200 streams are all servers' together, those of a server that died aside; a server has a limit of its own"""
    service = harness.Service(environment={"TOAST_EVENT_STREAMS": "150"})
    first = service.server
    try:
        path = f"/v1/jobs/{submit(service)}/events"
        here = [Stream(service, path) for _ in range(150)]
        assert {s.status for s in here} == {200}
        status, problem = service.json("GET", path)
        assert (status, problem["code"]) == (503, "unavailable") and "150" in problem["detail"], problem
        service.port = 0
        service.start_server()
        there = [Stream(service, path) for _ in range(50)]
        assert {s.status for s in there} == {200}
        status, problem = service.json("GET", path)
        assert (status, problem["code"]) == (429, "too_many_streams") and "200" in problem["detail"], problem
        there.pop().close()   # noticed within two seconds
        until = harness.deadline(20)
        while (more := Stream(service, path)).status != 200 and time.monotonic() < until:
            time.sleep(0.2)
        assert more.status == 200
        assert service.json("GET", path)[0] == 429
        first.kill()   # its streams are nobody's five seconds later
        first.wait()
        while (more := Stream(service, path)).status != 200 and time.monotonic() < until + 20:
            time.sleep(0.2)
        assert more.status == 200
        ttl = int(service.redis_cli("PTTL", "{t}:es:default"))
        assert 0 < ttl <= 30000, ttl
    finally:
        first.kill()
        first.wait()
        service.close()


def test_prefer_wait():
    service = harness.Service()
    try:
        # nobody works: the time runs out, the answer is the job as it is
        began = time.monotonic()
        status, headers, data = service.request("POST", "/v1/jobs", json.dumps(REQUEST),
                                                {"Content-Type": "application/json", "Prefer": "respond-async, wait=1"})
        job = json.loads(data)
        assert status == 202 and headers["preference-applied"] == "wait=1" and job["state"] == "queued"
        assert headers["location"] == f"/v1/jobs/{job['id']}" and 0.9 < time.monotonic() - began < 20
        for prefer in ("wait", "wait=", "wait=x", "wait=-1", "wait=0", "return=minimal", "awaiting=5"):
            status, headers, _ = service.request("GET", f"/v1/jobs/{job['id']}", headers={"Prefer": prefer})
            assert status == 200 and "preference-applied" not in headers, prefer
        # many wait at once, on few threads; others are answered meanwhile
        answers = []

        def wait():
            status, headers, data = service.request("GET", f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=999"}, timeout=70)
            answers.append((status, headers.get("preference-applied"), json.loads(data)["state"]))

        waiters = [threading.Thread(target=wait) for _ in range(50)]
        for w in waiters:
            w.start()
        time.sleep(0.5)
        assert service.request("GET", "/livez")[0] == 200 and not answers
        service.start_worker()
        for w in waiters:
            w.join(60)
        assert answers == [(200, "wait=60", "succeeded")] * 50, answers
        # submit and wait in one request
        status, headers, data = service.request("POST", "/v1/jobs", json.dumps(dict(REQUEST, seed=7)),
                                                {"Content-Type": "application/json", "Prefer": "wait=60"}, timeout=70)
        assert (status, json.loads(data)["state"]) == (200, "succeeded") and headers["preference-applied"] == "wait=60"
        # the command line waits the same way
        environment = dict(os.environ, TOAST_URL=f"http://127.0.0.1:{service.port}")
        late = submit(service, seed=8)
        for command in (["wait", late, "--quiet"], ["status", late, "--follow"]):
            done = subprocess.run([harness.BIN / "toast", *command], capture_output=True, text=True, env=environment, timeout=60)
            assert done.returncode == 0 and done.stdout.startswith(f"{late}  succeeded"), done
        # what has ended is answered at once
        began = time.monotonic()
        status, headers, _ = service.request("GET", f"/v1/jobs/{job['id']}", headers={"Prefer": "wait=60"})
        assert status == 200 and time.monotonic() - began < 5
    finally:
        service.close()


def test_redis_goes_away():
    """streams outlive an outage of Redis and go on where they were"""
    service = harness.Service()
    try:
        job = submit(service)
        stream = Stream(service, f"/v1/jobs/{job}/events")
        stream.read(until=lambda events: len(events) == 1)
        service.redis.kill()
        service.redis.wait()
        time.sleep(1)
        assert service.request("GET", f"/v1/jobs/{job}/events")[0] == 503
        service.start_redis()
        until = harness.deadline(20)
        while service.json("POST", f"/v1/jobs/{job}:cancel")[0] == 503 and time.monotonic() < until:
            time.sleep(0.1)
        assert [e.get("state") for e in stream.read()] == ["queued", "cancelled"]
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_whole_stream, test_positions, test_keep_alive_and_goodbye, test_many_streams, test_streams_at_two_servers, test_prefer_wait,
                  test_redis_goes_away])
