#!/usr/bin/env python3
# label: service
# timeout: 150
"""The life of a job over HTTP: idempotency keys, chosen ids, conditional requests, pages, answers from finished jobs,
retry, delete, archive, purge."""
import collections
import concurrent.futures
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

MODEL = (harness.SOURCE / "tests" / "models" / "mlp.mlir").read_bytes()
DIGEST = "sha256:" + hashlib.sha256(MODEL).hexdigest()
REQUEST = {"module": DIGEST, "mesh": {"axes": [{"name": "data", "size": 2}]}, "device": "a100-40", "seed": 1,
           "budget": {"rollouts": 100}}
BIG = (harness.SOURCE / "tests" / "models" / "small" / "t2b.mlir").read_bytes()
LONG = {"module": "sha256:" + hashlib.sha256(BIG).hexdigest(), "device": "a100-40", "budget": {"rollouts": 1000000},
        "mesh": {"axes": [{"name": "data", "size": 4}, {"name": "model", "size": 2}]}, "parallelism": 256}   # does not end soon
JSON = {"Content-Type": "application/json"}


def send(service, method, path, request, headers=None):
    """-> (status, headers, decoded body)"""
    status, reply, data = service.request(method, path, json.dumps(request), dict(JSON, **(headers or {})))
    return status, reply, json.loads(data)


def submit(service, request=REQUEST, **headers):
    status, reply, body = send(service, "POST", "/v1/jobs", request, headers)
    assert status == 202, (status, body)
    return body["id"]


def jobs_of(service, query):
    """every job of a listing, page by page"""
    jobs, token, pages = [], "", 0
    while True:
        status, page = service.json("GET", f"/v1/jobs?{query}" + (f"&page_token={token}" if token else ""))
        assert status == 200, page
        jobs += [job["id"] for job in page["jobs"]]
        token, pages = page["next_page_token"], pages + 1
        if not token:
            return jobs, pages


def states(service):
    lines = service.request("GET", "/metrics")[2].decode().splitlines()
    counts = {line[len('toast_jobs{state="'):line.index('"}')]: int(line.split()[-1]) for line in lines
              if line.startswith("toast_jobs{")}
    for state, count in counts.items():   # counters equal set sizes
        assert count == int(service.redis_cli("ZCARD", "{t}:st:default:" + state)), (state, counts)
    return {state: count for state, count in counts.items() if count}


def history(service, job):
    """-> events, what a page shows of the job but for how long ago that was"""
    status, page, = service.request("GET", f"/ui/jobs/{job}")[::2]
    assert status == 200
    return (service.json("GET", f"/v1/jobs/{job}/events?format=json")[1]["events"],
            re.sub(r"<time[^>]*>[^<]*</time>", "", page.decode()))


def make_due(service, key):
    """everything in a set of times is due now; waits until the server has done it"""
    for member in service.redis_cli("ZRANGE", key, "0", "-1").split():
        service.redis_cli("ZADD", key, "XX", "1", member)
    until(lambda: service.redis_cli("ZCARD", key) == "0")


def no_key_left(service):
    """no job is left: what does not expire belongs to none"""
    for key in service.redis_cli("--scan", "--pattern", "{t}:*").split():
        assert service.redis_cli("PTTL", key) != "-1" or key.split(":")[1] not in (
            "j", "o", "ev", "p", "k", "d", "cache", "idem", "idx", "st", "open", "arch", "purge", "dead", "run", "lease", "dl"), key
    done = subprocess.run([harness.BIN / "toast", "fsck", "--redis", service.redis_address, "--store", service.store],
                          capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout, done.stderr)


def until(condition, seconds=90):
    end = harness.deadline(seconds)
    while not (value := condition()):
        assert time.monotonic() < end, "never came"
        time.sleep(0.05)
    return value


def test_idempotency():
    """50 parallel requests with one key: one job; another body 422; under way 409; also after the server's death"""
    service = harness.Service()
    try:
        service.request("POST", "/v1/modules", MODEL)
        key = {"Idempotency-Key": "5f1c8e0a-7a0e"}

        def one(i):
            if i % 2:   # the same request in another order of members
                return send(service, "POST", "/v1/jobs", dict(reversed(REQUEST.items())), key)
            return send(service, "POST", "/v1/jobs", REQUEST, key)

        with concurrent.futures.ThreadPoolExecutor(50) as pool:
            replies = list(pool.map(one, range(50)))
        assert {status for status, _, _ in replies} <= {202, 409}, replies
        made = [(headers.get("idempotency-replayed"), body["id"]) for status, headers, body in replies if status == 202]
        assert len({id for _, id in made}) == 1 and sum(replayed is None for replayed, _ in made) == 1, made
        assert all(body["code"] == "request_in_flight" and headers["retry-after"] for status, headers, body in replies
                   if status == 409)
        assert service.redis_cli("HGET", "{t}:n", "submitted") == "1"
        service.server.kill()
        service.server.wait()
        service.start_server()
        status, headers, body = send(service, "POST", "/v1/jobs", REQUEST, {"Idempotency-Key": '"5f1c8e0a-7a0e"'})
        assert (status, headers["idempotency-replayed"], body["id"]) == (202, "true", made[0][1]), body
        assert headers["location"] == "/v1/jobs/" + body["id"]
        for other in (dict(REQUEST, seed=2), dict(REQUEST, labels={"a": "b"})):
            status, _, body = send(service, "POST", "/v1/jobs", other, key)
            assert (status, body["code"]) == (422, "idempotency_key_reused"), body
        for bad in ("", "a b", "x" * 256, '"', "ü"):
            status, _, body = send(service, "POST", "/v1/jobs", REQUEST, {"Idempotency-Key": bad.encode()})
            assert status == 400 and body["errors"][0]["pointer"] == "Idempotency-Key", body
        # a refused request leaves nothing behind its key
        key = {"Idempotency-Key": "second"}
        assert send(service, "POST", "/v1/jobs", dict(REQUEST, seed=-1), key)[0] == 422
        assert send(service, "POST", "/v1/jobs", REQUEST, key)[0] == 202
        # while the first one's body is on its way
        text = json.dumps(REQUEST).encode()
        with socket.create_connection(("127.0.0.1", service.port)) as slow:
            slow.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nIdempotency-Key: third\r\n"
                         b"Content-Length: %d\r\n\r\n" % len(text) + text[:10])
            third = {"Idempotency-Key": "third"}
            until(lambda: send(service, "POST", "/v1/jobs", dict(REQUEST, seed=-1), third)[0] == 409)
        until(lambda: send(service, "POST", "/v1/jobs", REQUEST, third)[0] == 202)
        assert service.redis_cli("HGET", "{t}:n", "submitted") == "3"
    finally:
        service.close()


def test_redis_slow():
    """submissions wait for Redis together: they hold no HTTP thread meanwhile, and each gets its own answer"""
    service = harness.Service()
    try:
        service.request("POST", "/v1/modules", MODEL)
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            service.redis.send_signal(signal.SIGSTOP)
            try:
                waiting = [pool.submit(send, service, "POST", "/v1/jobs", dict(REQUEST, labels={"n": str(i % 16)}),
                                       {"Idempotency-Key": f"slow-{i}", "Cache-Control": "no-cache"}) for i in range(32)]
                time.sleep(0.5)
                assert not any(w.done() for w in waiting)
                began = time.monotonic()
                assert service.request("GET", "/livez", timeout=3)[0] == 200   # more submissions wait than there are threads
                assert time.monotonic() - began < 1
            finally:
                service.redis.send_signal(signal.SIGCONT)
            replies = [w.result() for w in waiting]
        assert {status for status, _, _ in replies} == {202}, replies
        assert len({body["id"] for _, _, body in replies}) == 32
        for i, (_, headers, body) in enumerate(replies):
            assert body["labels"] == {"n": str(i % 16)} and headers["location"] == "/v1/jobs/" + body["id"], body
            assert (body["state"], body["version"], headers["etag"]) == ("queued", 1, '"v1"'), body
            assert json.loads(service.request("GET", headers["location"])[2]) == body
        # the server ends while some wait: they get their answers
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            service.redis.send_signal(signal.SIGSTOP)
            try:
                waiting = [pool.submit(send, service, "POST", "/v1/jobs", REQUEST, {"Idempotency-Key": f"end-{i}"})
                           for i in range(8)]
                time.sleep(0.5)
                service.server.send_signal(signal.SIGTERM)
                time.sleep(0.5)
            finally:
                service.redis.send_signal(signal.SIGCONT)
            assert {w.result()[0] for w in waiting} == {202}
        assert service.server.wait(20) == 0
        assert service.redis_cli("HGET", "{t}:n", "submitted") == "40"
    finally:
        service.close()


def test_redis_silent():
    """a Redis that takes connections and answers nothing is waited for once: requests are refused meanwhile, /livez lives"""
    service = harness.Service()

    def timed(method, path, body=None):
        began = time.monotonic()
        status, headers, _ = service.request(method, path, body, {"Content-Type": "application/json"} if body else None, timeout=60)
        return status, headers, time.monotonic() - began

    try:
        text = json.dumps(dict(REQUEST, module={"inline": MODEL.decode()}))
        with concurrent.futures.ThreadPoolExecutor(100) as pool:
            service.redis.send_signal(signal.SIGSTOP)
            try:
                replies = [w.result() for w in [pool.submit(timed, *("POST", "/v1/jobs", text) if i % 4 else ("GET", "/v1/jobs"))
                                                for i in range(100)]]
                assert {status for status, _, _ in replies} == {503}, collections.Counter(r[0] for r in replies)
                assert all(int(headers["retry-after"]) > 0 for _, headers, _ in replies)
                assert max(seconds for _, _, seconds in replies) < 12 * harness.SLOW, max(r[2] for r in replies)
                for path, expected in (("/livez", 200), ("/v1/jobs", 503), ("/readyz", 503)) * 3:
                    status, _, seconds = timed("GET", path)
                    assert status == expected and seconds < 2 * harness.SLOW, (path, status, seconds)
            finally:
                service.redis.send_signal(signal.SIGCONT)
        began = time.monotonic()
        until(lambda: timed("POST", "/v1/jobs", text)[0] == 202)
        assert time.monotonic() - began < 4 * harness.SLOW
    finally:
        service.close()


def test_terminated_while_redis_is_silent():
    """SIGTERM of a server that waits for a Redis that answers nothing: all that clients have sent is answered (503, when to come
    back) before it ends, whether or not anybody has read it; the same, and sooner, with a Redis that works"""
    text = json.dumps(dict(REQUEST, module={"inline": MODEL.decode()})).encode()
    head = f"Host: x\r\nContent-Type: application/json\r\nContent-Length: {len(text)}\r\n\r\n".encode()
    requests = [b"POST /v1/jobs HTTP/1.1\r\n" + head + text if i % 2 else b"GET /v1/jobs HTTP/1.1\r\nHost: x\r\n\r\n" for i in range(120)]
    for silent in (True, False):
        service = harness.Service(server_options=["--host-name", "x"])
        try:
            if silent:
                service.redis.send_signal(signal.SIGSTOP)
            clients = [socket.create_connection(("127.0.0.1", service.port), timeout=30 * harness.SLOW) for _ in requests]
            for client, request in zip(clients, requests):
                client.sendall(request)
            began = time.monotonic()
            service.server.send_signal(signal.SIGTERM)
            replies = collections.Counter()
            for client in clients:
                reply = b""
                try:
                    while chunk := client.recv(65536):
                        reply += chunk
                except ConnectionResetError:
                    reply += b" reset"
                status = int(reply.split()[1]) if reply.startswith(b"HTTP/1.1 ") and not reply.endswith(b" reset") else reply
                assert status != 503 or (b'"code":"unavailable"' in reply and b"\r\nRetry-After: " in reply), reply
                assert not silent or b"\r\nConnection: close\r\n" in reply, reply   # else it may have been answered before the signal
                replies[status] += 1
            assert replies == ({503: 120} if silent else {202: 60, 200: 60}), replies
            service.server.wait(20 * harness.SLOW)
            seconds = time.monotonic() - began
            assert seconds < (10 if silent else 5) * harness.SLOW and service.server.returncode == 0, seconds
        finally:
            service.redis.send_signal(signal.SIGCONT)
            service.close()


def test_chosen_ids():
    service = harness.Service()
    try:
        service.request("POST", "/v1/modules", MODEL)
        at = "/v1/jobs/nightly-t7b.2026_11"
        status, headers, first = send(service, "PUT", at, REQUEST)
        assert (status, headers["location"], first["id"]) == (202, at, "nightly-t7b.2026_11"), first
        status, headers, again = send(service, "PUT", at, REQUEST)
        assert status == 202 and again == first, again
        assert send(service, "PUT", at, dict(REQUEST, seed=2))[0] == 409
        events = service.json("GET", at + "/events?format=json")[1]["events"]
        assert [event["job"] for event in events] == ["nightly-t7b.2026_11"], events
        assert service.json("GET", at)[1] == first and first["links"]["self"] == at
        assert jobs_of(service, "page_size=5")[0] == ["nightly-t7b.2026_11"]
        assert service.json("POST", at + ":cancel", b"")[0] == 200
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            replies = list(pool.map(lambda _: send(service, "PUT", "/v1/jobs/B", REQUEST), range(16)))
        assert {status for status, _, _ in replies} == {202} and service.redis_cli("HGET", "{t}:n", "submitted") == "2"
        for bad in ("j_" + "0" * 26, "j_x", "-a", ".a", "a" * 65, "a~b"):
            assert send(service, "PUT", "/v1/jobs/" + bad, REQUEST)[0] == 400, bad
        # a deleted id is used up: a late repeat does not bring its job back
        assert service.request("DELETE", at)[0] == 204
        assert send(service, "PUT", at, REQUEST)[0] == 410
        # another tenant's job is not there, whatever it is asked for with
        hidden = submit(service)
        service.redis_cli("HSET", "{t}:j:" + hidden, "tenant", "other")
        for method, path in (("GET", ""), ("GET", "/plan"), ("GET", "/artifacts"), ("POST", ":cancel"), ("POST", ":retry"),
                             ("DELETE", "")):
            status, _, data = service.request(method, f"/v1/jobs/{hidden}{path}", b"" if method == "POST" else None)
            assert (status, json.loads(data)["code"]) == (404, "not_found"), (method, path, data)
    finally:
        service.close()


def test_pages():
    service = harness.Service()
    try:
        service.request("POST", "/v1/modules", MODEL)
        jobs = [submit(service, dict(REQUEST, seed=i, labels={"n": str(i % 3), "näme": "a b/c&d"})) for i in range(23)]
        for job in jobs[::4]:
            assert service.request("POST", f"/v1/jobs/{job}:cancel", b"")[0] == 200
        newest = jobs[::-1]
        assert jobs_of(service, "page_size=10") == (newest, 3)
        assert jobs_of(service, "page_size=23") == (newest, 1)   # the last page says so itself
        assert jobs_of(service, "page_size=4000") == (newest, 1)
        assert jobs_of(service, "state=cancelled&page_size=2")[0] == jobs[::4][::-1]
        assert jobs_of(service, "state=dead") == ([], 1)
        wanted = [job for i, job in enumerate(jobs) if i % 3 == 1][::-1]
        assert jobs_of(service, "label=n%3D1&page_size=3")[0] == wanted
        assert jobs_of(service, "label=n=1&label=n%C3%A4me=a+b%2Fc%26d")[0] == wanted
        assert jobs_of(service, "label=n=1&label=n=2")[0] == []
        created = service.json("GET", f"/v1/jobs/{jobs[7]}")[1]["created_at"]
        later = jobs_of(service, f"created_after={created}")[0]
        earlier = jobs_of(service, f"created_before={created}")[0]
        assert jobs[7] in later and jobs[7] not in earlier and later + earlier == newest
        assert jobs_of(service, "created_after=2000-01-01T00:00:00%2B01:00&created_before=2000-01-02T00:00:00Z")[0] == []
        token = service.json("GET", "/v1/jobs?page_size=3")[1]["next_page_token"]
        changed = token[:-1] + ("0" if token[-1] != "0" else "1")
        future = token[:32] + "ffffffffff" + token[token.index("."):]
        for bad in (f"page_token={changed}", f"page_token={future}", "page_token=x", f"page_token={token}&state=queued",
                    "page_token=" + "0" * 5000, f"page_token={token}0", "page_size=0", "page_size=x", "page_size=+1",
                    "state=odd", "label=n", "label=%zz=1", "label=" + "x" * 2000 + "=1", "created_after=yesterday",
                    "created_before=2026-13-01T00:00:00Z", "&".join(["label=a=b"] * 9)):
            assert service.json("GET", "/v1/jobs?" + bad)[0] == 400, bad
        # servers share what seals tokens
        service.server.kill()
        service.server.wait()
        service.start_server()
        assert service.json("GET", f"/v1/jobs?page_size=3&page_token={token}")[0] == 200
        first = service.json("GET", "/v1/jobs?page_size=3")[1]
        assert service.json("GET", "/v1/jobs?page_size=3&page_token=") == (200, first)   # as a loop over pages begins
    finally:
        service.close()


def test_end():
    """answers from finished jobs, retry, delete, archive, purge; invariants: keys expire, counters equal set sizes"""
    service = harness.Service(workers=1, server_options=["--keep-gone", "600"])
    try:
        service.request("POST", "/v1/modules", MODEL)
        first = submit(service, dict(REQUEST, labels={"run": "1"}))
        assert service.wait(first)["state"] == "succeeded"
        cached = send(service, "POST", "/v1/jobs", dict(REQUEST, labels={"run": "2"}))[2]
        assert (cached["state"], cached["cached_from"], cached["labels"]) == ("succeeded", first, {"run": "2"}), cached

        def artifacts(job):
            status, body = service.json("GET", f"/v1/jobs/{job}/artifacts")
            assert status == 200 and body["complete"], body
            return {a["name"]: service.request("GET", a["href"])[2] for a in body["artifacts"]}

        kept = artifacts(first)
        assert kept and artifacts(cached["id"]) == kept
        fresh = send(service, "POST", "/v1/jobs", REQUEST, {"Cache-Control": "no-cache"})[2]
        assert "cached_from" not in fresh and fresh["state"] != "succeeded"
        # stopped early: never the answer to another
        service.request("POST", "/v1/modules", BIG)
        early = dict(LONG, budget={"rollouts": 1000000, "seconds": 0.3})
        assert service.wait(submit(service, early))["stopped_by"] == "seconds"
        again = send(service, "POST", "/v1/jobs", early)[2]
        assert "cached_from" not in again
        assert service.wait(again["id"])["state"] == "succeeded"
        # failed: retry
        failed = submit(service, dict(REQUEST, module={"inline": "nonsense"}))
        body = service.wait(failed)
        assert body["state"] == "failed"
        status, headers, data = service.request("POST", f"/v1/jobs/{failed}:retry", b"")
        assert status == 202 and headers["location"] == "/v1/jobs/" + failed
        retried = json.loads(data)
        assert retried["version"] > body["version"] and retried["error"] is None or retried["state"] == "failed"
        until(lambda: service.json("GET", f"/v1/jobs/{failed}")[1]["version"] > body["version"] + 1)
        body = service.wait(failed)
        assert body["state"] == "failed" and body["error"]["line"] == 1
        assert service.request("POST", f"/v1/jobs/{first}:retry", b"")[0] == 409
        assert service.redis_cli("ZCARD", "{t}:lease") == "0"
        # archived: shown as before
        before = {job: service.request("GET", f"/v1/jobs/{job}") for job in (first, cached["id"], failed)}
        told = {job: history(service, job) for job in before}
        assert 'id="gantt"' in told[first][1] and len(told[first][0]) > 5 and len(told[failed][0]) == 6, told
        make_due(service, "{t}:arch")
        assert service.redis_cli("--scan", "--pattern", "{t}:j:*") == ""
        for job, (status, headers, data) in before.items():
            now = service.request("GET", f"/v1/jobs/{job}")
            assert (now[0], now[1]["etag"], now[2]) == (status, headers["etag"], data), (now, data)
            assert history(service, job) == told[job]   # its events, and the page: who did what when
            at = f"/v1/jobs/{job}/events?format=json&after="
            ids = [event["id"] for event in told[job][0]]
            for i, event in enumerate(ids):
                assert [e["id"] for e in service.json("GET", at + event)[1]["events"]] == ids[i + 1:]
            assert service.json("GET", at + "1-1")[0] == 400
        assert artifacts(first) == kept
        entry = int(service.redis_cli("MEMORY", "USAGE", "{t}:o:" + first))
        assert entry < 500, entry
        assert jobs_of(service, "label=run=1")[0] == [first] and failed in jobs_of(service, "state=failed")[0]
        assert states(service) == {"succeeded": 5, "failed": 1}
        assert send(service, "POST", "/v1/jobs", REQUEST)[2]["cached_from"]   # from the archive
        status, headers, data = service.request("POST", f"/v1/jobs/{failed}:retry", b"")
        assert status == 202, data
        body = service.wait(failed)
        assert body["state"] == "failed" and body["module"] == json.loads(before[failed][2])["module"]
        for _ in range(2):   # what it went through before is still told, also once it is archived again
            events = history(service, failed)[0]
            assert events[:6] == told[failed][0] and len(events) == 9 and events[-1]["state"] == "failed", events
            make_due(service, "{t}:arch")
        fsck = subprocess.run([harness.BIN / "toast", "fsck", "--redis", service.redis_address, "--store", service.store],
                              capture_output=True, text=True)
        assert fsck.returncode == 0, (fsck.stdout, fsck.stderr)
        # delete
        at = f"/v1/jobs/{first}"
        version = service.json("GET", at)[1]["version"]
        for tag, status in ((f'"v{version + 1}"', 412), (f'W/"v{version}"', 412), ("v1", 400),
                            (f'"v0", "v{version}"', 204)):
            assert service.request("DELETE", at, headers={"If-Match": tag})[0] == status, tag
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/artifacts"), ("GET", "/plan"), ("POST", ":cancel")):
            status, _, data = service.request(method, at + path, b"" if method == "POST" else None)
            assert (status, json.loads(data)["code"]) == (410, "gone"), (method, path, data)
        assert artifacts(cached["id"]) == kept
        # purge
        make_due(service, "{t}:purge")
        assert jobs_of(service, "page_size=50")[0] == [] and states(service) == {}
        assert service.json("GET", f"/v1/jobs/{cached['id']}")[0] == 410
        no_key_left(service)
    finally:
        service.close()


def test_times():
    """archive, purge and the memory that there was a job come by themselves, at the times the server was told"""
    service = harness.Service(server_options=["--archive-after", "0.5", "--keep", "2", "--keep-gone", "2"])
    try:
        service.request("POST", "/v1/modules", MODEL)
        job = submit(service)
        assert service.request("POST", f"/v1/jobs/{job}:cancel", b"")[0] == 200
        until(lambda: service.redis_cli("EXISTS", "{t}:j:" + job) == "0")
        until(lambda: service.json("GET", f"/v1/jobs/{job}")[0] == 404, 60)
        no_key_left(service)
    finally:
        service.close()


def test_unarchivable():
    """a job that cannot be archived (its events are damaged) holds up no other; it is archived when that is mended"""
    service = harness.Service(server_options=["--archive-after", "1", "--keep", "600"])
    try:
        service.request("POST", "/v1/modules", MODEL)
        damaged, others = submit(service), [submit(service, dict(REQUEST, seed=seed)) for seed in (2, 3)]
        for job in (damaged, *others):
            assert service.request("POST", f"/v1/jobs/{job}:cancel", b"")[0] == 200
        service.redis_cli("DEL", "{t}:ev:" + damaged)
        service.redis_cli("SET", "{t}:ev:" + damaged, "damaged")
        until(lambda: all(service.redis_cli("EXISTS", "{t}:j:" + job) == "0" for job in others))
        assert service.redis_cli("EXISTS", "{t}:j:" + damaged) == "1"
        service.redis_cli("DEL", "{t}:ev:" + damaged)
        until(lambda: service.redis_cli("EXISTS", "{t}:j:" + damaged) == "0")
        assert all(service.json("GET", f"/v1/jobs/{job}")[1]["state"] == "cancelled" for job in (damaged, *others))
    finally:
        service.close()


def test_what_is_left():
    """the pace is that of this search: what came before it, or an earlier search of a job that starts over, does not count"""
    service = harness.Service()
    try:
        service.request("POST", "/v1/modules", MODEL)
        job = submit(service)
        key = "{t}:j:" + job
        look = lambda: service.json("GET", f"/v1/jobs/{job}")[1]["progress"].get("eta_s")
        assert look() is None
        service.redis_cli("HSET", key, "started", "1000000", "updated", "1200000", "progress", '{"stage":"search","fraction":0.5}')
        assert look() == 200, look()
        service.redis_cli("HSET", key, "search_started", "1190000")
        assert look() == 10, look()
    finally:
        service.close()


def test_dry_run():
    """says what the job would be, or what is wrong where; nothing is queued"""
    service = harness.Service()
    try:
        service.request("POST", "/v1/modules", MODEL)
        status, _, body = send(service, "POST", "/v1/jobs", dict(REQUEST, dry_run=True, labels={"a": "b"}))
        assert status == 200 and body["dry_run"] is True and body["module"] == DIGEST and body["devices"] == 2, body
        job = send(service, "POST", "/v1/jobs", dict(REQUEST, dry_run=False))[2]
        assert job["digest"] == body["digest"] and body["request"]["seed"] == 1, (job, body)
        assert send(service, "PUT", "/v1/jobs/tried", dict(REQUEST, dry_run=True))[0] == 200
        assert service.request("GET", "/v1/jobs/tried")[0] == 404
        for bad, pointer in ((dict(REQUEST, module={"inline": "module {\n  nonsense\n}"}), None),
                             (dict(REQUEST, constraints=[{"argument": "nothing*", "dims": [["data"]]}]), "/constraints/0"),
                             (dict(REQUEST, memory_limit_bytes=1), "/memory_limit_bytes")):
            status, _, body = send(service, "POST", "/v1/jobs", dict(bad, dry_run=True))
            assert status == 422, body
            assert body.get("line") == 2 if pointer is None else body["errors"][0]["pointer"].startswith(pointer), body
        assert service.redis_cli("HGET", "{t}:n", "submitted") == "1"
    finally:
        service.close()


def test_dead():
    """toast dead: list, requeue (also from the archive), discard"""
    service = harness.Service()

    def dead(*arguments):
        return subprocess.run([harness.BIN / "toast", "dead", *arguments, "--redis", service.redis_address, "--store",
                               service.store], capture_output=True, text=True, timeout=60)

    try:
        service.request("POST", "/v1/modules", MODEL)
        jobs = [submit(service, dict(REQUEST, seed=i, labels={"i": str(i)})) for i in range(3)]
        functions = service.redis_cli("FUNCTION", "LIST").split()
        version = next(name for name in functions if name.startswith("toast_died_")).removeprefix("toast_died_")
        service.redis_cli("HSET", "{t}:n", "reaped", "0")
        for n, job in enumerate(jobs):   # a worker whose child dies three times; the pause between is the test's to end
            for attempt in range(3):
                got = service.redis_cli("FCALL", "toast_claim_" + version, "1", "{t}", f"t{n}.{attempt}", "build").split("\n")
                member, token = got[0], got[1]
                service.redis_cli("FCALL", "toast_died_" + version, "1", "{t}", member, token, '{"code":"internal"}', "0")
                if attempt < 2:
                    service.redis_cli("ZADD", "{t}:lease", "XX", "1", member)
                    service.redis_cli("FCALL", "toast_reap_" + version, "1", "{t}")
        assert states(service) == {"dead": 3}
        listed = json.loads(dead("list", "--json").stdout)["jobs"]
        assert [job["id"] for job in listed] == jobs and listed[0]["error"] == {"code": "internal"}, listed
        assert jobs[1] in dead("list").stdout
        make_due(service, "{t}:arch")
        assert [job["id"] for job in json.loads(dead("list", "--json").stdout)["jobs"]] == jobs
        assert dead("requeue", "j_" + "0" * 26).returncode == 2 and dead("requeue").returncode == 2
        assert dead("requeue", jobs[0]).returncode == 0
        assert service.json("GET", f"/v1/jobs/{jobs[0]}")[1]["state"] == "queued"
        assert dead("discard", jobs[1]).returncode == 0 and service.request("GET", f"/v1/jobs/{jobs[1]}")[0] == 410
        assert dead("requeue", "--all").returncode == 0 and states(service) == {"queued": 2}
        service.start_worker()
        assert service.wait(jobs[0])["state"] == service.wait(jobs[2])["state"] == "succeeded"
    finally:
        service.close()


def test_running():
    """what a job that has not ended refuses; discard leaves nothing; the dead come back"""
    service = harness.Service()
    try:
        service.request("POST", "/v1/modules", MODEL)
        job = submit(service)
        at = f"/v1/jobs/{job}"
        assert service.request("DELETE", at)[0] == 409 and service.request("POST", at + ":retry", b"")[0] == 409
        etag = service.request("GET", at)[1]["etag"]
        assert service.request("GET", at, headers={"If-None-Match": etag})[0] == 304
        service.request("POST", "/v1/modules", BIG)
        service.start_worker()
        assert service.wait(job)["state"] == "succeeded"
        dropped, kept = submit(service, LONG), submit(service, dict(LONG, seed=2))
        for job, query in ((dropped, "?discard=true"), (kept, "")):
            until(lambda job=job: service.request("GET", f"/v1/jobs/{job}/plan")[0] == 200)
            assert service.request("POST", f"/v1/jobs/{job}:cancel{query}", b"")[0] in (200, 202)
            assert service.wait(job)["state"] == "cancelled"
        assert service.json("GET", f"/v1/jobs/{dropped}/plan")[1]["code"] == "no_plan_yet"
        assert service.json("GET", f"/v1/jobs/{dropped}/artifacts")[1] == {"complete": True, "artifacts": []}
        assert service.json("GET", f"/v1/jobs/{kept}/plan")[1]["reproducible"] is False
        assert len(service.json("GET", f"/v1/jobs/{kept}/artifacts")[1]["artifacts"]) > 3
        assert states(service) == {"succeeded": 1, "cancelled": 2}
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_idempotency, test_redis_slow, test_redis_silent, test_terminated_while_redis_is_silent,
                  test_chosen_ids, test_pages, test_end, test_times, test_unarchivable,
                  test_what_is_left, test_dry_run, test_dead, test_running])
