#!/usr/bin/env python3
# label: service
# timeout: 120
"""What operators see: a line of JSON for every request, request ids and trace context through to the workers, metrics."""
import json
import os
import re
import socket
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

MODEL = (harness.SOURCE / "tests" / "models" / "mlp.mlir").read_text()
REQUEST = {"module": {"inline": MODEL}, "mesh": {"axes": [{"name": "data", "size": 2}]}, "device": "a100-40",
           "budget": {"rollouts": 64}}
TRACE = "0af7651916cd43dd8448eb211c80319c"


def lines(service, event, **wanted):
    """log lines of an event that have these members"""
    out = []
    for line in (service.folder / "log").read_text().split("\n"):
        if line.startswith("{"):
            entry = json.loads(line)
            if entry["event"] == event and all(entry.get(k) == v for k, v in wanted.items()):
                out.append(entry)
    return out


def soon(look):
    """a line is written after its reply was sent"""
    until = harness.deadline(10)
    while not (found := look()) and time.monotonic() < until:
        time.sleep(0.02)
    return found


def test_requests():
    service = harness.Service(workers=1)
    try:
        parent = f"00-{TRACE}-b7ad6b7169203331-01"
        status, headers, data = service.request("POST", "/v1/jobs", json.dumps(REQUEST), {
            "Content-Type": "application/json", "traceparent": parent, "X-Request-Id": "launcher-17"})
        assert status == 202 and headers["x-request-id"] == "launcher-17"
        job = json.loads(data)["id"]
        line, = soon(lambda: lines(service, "request", request_id="launcher-17"))
        assert line["trace_id"] == TRACE and line["method"] == "POST" and line["route"] == "/v1/jobs" and line["status"] == 202
        assert line["tenant"] == "default" and line["bytes"] == len(data) and line["received_bytes"] > len(MODEL) and line["ms"] > 0
        assert service.wait(job)["state"] == "succeeded"
        trace = service.redis_cli("HGET", f"{{t}}:j:{job}", "trace")
        assert re.fullmatch(f"00-{TRACE}-[0-9a-f]{{16}}-01", trace) and trace != parent, trace
        assert soon(lambda: lines(service, "job_ended", job=job, trace_id=TRACE)), "the worker's line"
        # what is no trace context or request id is replaced, never echoed
        for name, value in ([("traceparent", "00-" + "0" * 32 + "-b7ad6b7169203331-01"), ("traceparent", parent[:-1]),
                                           ("traceparent", parent.upper()), ("traceparent", "ff" + parent[2:]), ("traceparent", "x" * 55),
                                           ("traceparent", f"00-{TRACE}-{'0' * 16}-01"), ("X-Request-Id", "a b"), ("X-Request-Id", "x" * 200),
                                           ("X-Request-Id", "<script>"), ("X-Request-Id", "")]):
            status, headers, _ = service.request("GET", f"/v1/jobs/{job}", headers={name: value})
            assert status == 200 and re.fullmatch("[0-9a-f]{32}", headers["x-request-id"]), (name, value)
            line, = soon(lambda headers=headers: lines(service, "request", request_id=headers["x-request-id"]))
            assert line["trace_id"] != TRACE and re.fullmatch("[0-9a-f]{32}", line["trace_id"]) and line["route"] == "/v1/jobs/*"
        # errors, wrong paths and clients that go away have their lines, too
        status, headers, data = service.request("GET", "/nowhere\"x")
        line, = soon(lambda: lines(service, "request", request_id=headers["x-request-id"]))
        assert (line["status"], line["route"]) == (status, "none")
        with socket.create_connection(("127.0.0.1", service.port)) as s:
            s.sendall(b"PUT /v1/modules/" + b"0" * 64 + b" HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: gone\r\nContent-Length: 100\r\n\r\nabc")
            time.sleep(0.2)
        line, = soon(lambda: lines(service, "request", request_id="gone"))
        assert line["status"] == 499
        assert not lines(service, "request", method=None)
    finally:
        service.close()


def values(service):
    text = service.request("GET", "/metrics")[2].decode()
    found = {}
    for line in text.split("\n"):
        if line and not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            assert name not in found, name
            found[name] = float(value)
    types = re.findall(r"^# TYPE (\w+) ", text, re.M)
    assert len(types) == len(set(types)), types
    return found, text


def test_metrics():
    service = harness.Service(workers=1)
    try:
        ids = [service.json("POST", "/v1/jobs", dict(REQUEST, seed=i))[1]["id"] for i in range(3)]
        for job in ids:
            assert service.wait(job)["state"] == "succeeded"
        asked = threading.Thread(target=service.request, args=("GET", f"/v1/jobs/{ids[0]}/events"))
        asked.start()
        asked.join()
        found, text = values(service)
        for name in ("toast_http_requests_total", "toast_http_request_duration_seconds", "toast_jobs", "toast_job_queue_age_seconds",
                     "toast_tasks_total", "toast_task_seconds", "toast_slots_wanted", "toast_edges_dropped_total", "toast_rollouts_total",
                     "toast_lease_lost_total", "toast_fenced_writes_total", "toast_nondeterminism_total", "toast_redis_reconnects_total",
                     "toast_build_info"):   # the design's list
            assert f"# TYPE {name} " in text and re.search(rf"^{name}\w*({{|\s)", text, re.M), name
        assert found['toast_jobs{state="succeeded"}'] == 3 and found["toast_rollouts_total"] > 0
        for kind in ("read", "rollouts", "emit"):
            done = found[f'toast_tasks_total{{kind="{kind}",result="ok"}}']
            assert found[f'toast_task_seconds_count{{kind="{kind}"}}'] == done >= 3, kind
            assert 0 <= found[f'toast_task_seconds_sum{{kind="{kind}"}}'] < 60 * done
        assert found["toast_slots_wanted"] == 0
        assert found["toast_edges_dropped_total"] == 0   # 64 rollouts leave nothing out
        labels = {n: set(re.findall(rf'^{n}{{([^}}]*)}}', text, re.M)) for n in ("toast_http_requests_total", "toast_jobs", "toast_tasks_total",
                                                                                 "toast_task_seconds_sum", "toast_build_info")}
        names = {n: {tuple(re.findall(r'(\w+)="', one)) for one in found_in} for n, found_in in labels.items()}
        assert names == {"toast_http_requests_total": {("route", "method", "code")}, "toast_jobs": {("state",)},
                         "toast_tasks_total": {("kind", "result")}, "toast_task_seconds_sum": {("kind",)}, "toast_build_info": {("version",)}}
        assert not re.search(r"j_[0-9a-z]{26}", text), "never a job as label"
        assert not re.search(r"_(ms|us|kb|mb)\b", text), "base units"
        buckets = [v for k, v in found.items() if k.startswith("toast_http_request_duration_seconds_bucket")]
        assert buckets == sorted(buckets) and buckets[-1] == found["toast_http_request_duration_seconds_count"]
        # what waits is wanted: one task of each job that nobody has claimed
        service.workers[0].terminate()
        service.workers[0].wait()
        for i in range(4):
            service.json("POST", "/v1/jobs", dict(REQUEST, seed=100 + i))
        assert values(service)[0]["toast_slots_wanted"] == 4
        # connections made again are counted
        before = found["toast_redis_reconnects_total"]
        service.redis.kill()
        service.redis.wait()
        service.start_redis()
        until = harness.deadline(20)
        while service.request("GET", f"/v1/jobs/{ids[0]}")[0] != 200 and time.monotonic() < until:
            time.sleep(0.1)
        assert values(service)[0]["toast_redis_reconnects_total"] > before
    finally:
        service.close()


def functions_check(service):
    status, ready = service.json("GET", "/readyz")
    check, = [c for c in ready["checks"] if c["name"] == "redis_functions"]
    return status, check


def test_functions():
    """ready is who has this build's functions, whoever else has others: an upgrade rolls; which build is newer is said"""
    service = harness.Service()
    try:
        status, check = functions_check(service)
        assert status == 200 and check["ok"] and "note" not in check and re.fullmatch("[0-9a-f]{12}", check["version"]), check
        noted = service.redis_cli("HGET", "{t}:libs", check["version"])
        assert re.fullmatch(r"\d{13} \S+", noted), noted
        for name, when, expected in (("a" * 12, "1 0.0.1", "functions of 1 older build are loaded"),
                                     ("b" * 12, "9999999999999 9.9.9+next", "build 9.9.9+next, which is newer")):
            service.redis_cli("FUNCTION", "LOAD", f"#!lua name=toast_{name}\nredis.register_function('toast_x_{name}', function() end)")
            service.redis_cli("HSET", "{t}:libs", name, when)
            status, check = functions_check(service)
            assert status == 200 and check["ok"] and check["note"].startswith(expected), check
        service.redis_cli("FUNCTION", "DELETE", "toast_" + "b" * 12)
        service.redis_cli("FUNCTION", "DELETE", "toast_" + check["version"])   # comes back by itself
        status, check = functions_check(service)
        assert status == 200 and check["note"].startswith("functions of 1 older"), check
        # a user that may not load them: not ready, and what to allow
        service.redis_cli("ACL", "SETUSER", "default", "-function|load")
        service.redis_cli("FUNCTION", "FLUSH")   # after it: the server's thread that keeps house loads them every second
        status, check = functions_check(service)
        assert status == 503 and not check["ok"] and "FUNCTION LOAD" in check["fix"], check
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_requests, test_metrics, test_functions])
