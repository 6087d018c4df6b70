#!/usr/bin/env python3
# label: service
# timeout: 120
"""Collection of blobs: what jobs, copies of their answers and archived jobs need stays, whatever is killed; the rest goes."""
import hashlib
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness
from test_job_life import MODEL, REQUEST, make_due, submit, until

TOKEN = "token-of-the-test"
ADMIT = {"Authorization": "Bearer " + TOKEN}


def blobs(service):
    return {path.name for path in (service.folder / "data" / "blobs").glob("??/??/*")}


def put(service, text):
    digest = hashlib.sha256(text).hexdigest()
    assert service.request("PUT", "/internal/blobs/" + digest, text, ADMIT)[0] in (200, 201)
    return digest


def age(service, digests=None):
    """as if they had been written two hours ago"""
    for path in (service.folder / "data" / "blobs").glob("??/??/*"):
        if digests is None or path.name in digests:
            try:
                os.utime(path, (time.time() - 7200, time.time() - 7200))
            except FileNotFoundError:
                pass   # collected meanwhile


def collections(service):
    return int(service.redis_cli("HGET", "{t}:n", "collections") or 0)


def collected(service):
    """waits for a collection that begins after now"""
    seen = collections(service)
    until(lambda: collections(service) >= seen + 2)


def artifacts(service, job):
    status, body = service.json("GET", f"/v1/jobs/{job}/artifacts")
    assert status == 200, body
    files = {a["name"]: service.request("GET", a["href"]) for a in body["artifacts"]}
    assert files and all(reply[0] == 200 for reply in files.values()), files
    return {name: reply[2] for name, reply in files.items()}


def test_collection():
    service = harness.Service(workers=1, environment={"TOAST_WORKER_TOKEN": TOKEN},
                              server_options=["--collect-every", "0.2"])
    try:
        service.request("POST", "/v1/modules", MODEL)
        first = submit(service)
        assert service.wait(first)["state"] == "succeeded"
        copy = submit(service, dict(REQUEST, labels={"a": "b"}))
        kept = artifacts(service, first)
        uploaded = MODEL + b"\n"
        assert service.request("POST", "/v1/modules", uploaded)[0] == 201
        young, orphan, again = put(service, b"young"), put(service, b"nobody's"), put(service, b"written twice")
        old = blobs(service) - {young}
        (service.folder / "data" / "tmp" / "XYZ").write_text("an upload that a crash cut")
        os.utime(service.folder / "data" / "tmp" / "XYZ", (1, 1))
        (service.folder / "data" / "tmp" / "new").write_text("one that goes on")
        age(service, old - {again})
        put(service, b"written twice")
        collected(service)
        left = blobs(service)
        assert orphan not in left and young in left and again in left
        assert [path.name for path in (service.folder / "data" / "tmp").iterdir()] == ["new"]
        assert artifacts(service, first) == kept == artifacts(service, copy)
        assert hashlib.sha256(uploaded).hexdigest() in left   # a reference of the tenant, of no job
        # archived: its blob names the others
        make_due(service, "{t}:arch")
        age(service)
        collected(service)
        assert artifacts(service, first) == kept and young not in blobs(service)
        # the server dies while it collects, again and again
        for _ in range(5):
            for i in range(20):
                put(service, b"%d" % i)
            age(service)
            time.sleep(0.25)
            service.server.kill()
            service.server.wait()
            service.redis_cli("DEL", "{t}:collector")   # a minute in which nobody collects
            service.start_server()
        assert artifacts(service, copy) == kept
        assert service.request("DELETE", f"/v1/jobs/{first}")[0] == 204
        age(service)
        collected(service)
        assert artifacts(service, copy) == kept
        metrics = service.request("GET", "/metrics")[2].decode()
        assert f"toast_blobs {len(blobs(service))}\n" in metrics and "toast_blobs_removed_total " in metrics
        assert service.request("DELETE", f"/v1/jobs/{copy}")[0] == 204
        other = submit(service, dict(REQUEST, seed=5))
        assert service.wait(other)["state"] == "succeeded"
        age(service)
        collected(service)
        assert hashlib.sha256(kept["report.json"]).hexdigest() not in blobs(service)
        assert hashlib.sha256(MODEL).hexdigest() in blobs(service)   # the tenant's own
        need = artifacts(service, other)
        # an empty Redis is no reason to empty the store: it may be about to be restored
        service.redis_cli("FLUSHALL")
        age(service)
        collected(service)
        assert {hashlib.sha256(data).hexdigest() for data in need.values()} <= blobs(service)
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_collection])
