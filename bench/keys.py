#!/usr/bin/env python3
"""What keys cost and whether tenants share alike, with a real server, Redis and workers:

Example:
    bench/keys.py 8

Reads: `wrk` (a Debian package) against one status (GET /v1/jobs/{id}), open, with a key among 1 and among 1,000, and with a session's cookie
(which asks Redis once more). Fairness: tenant a sends ten times as many jobs as b, all of them before; the share of the
workers' time that each gets while both wait, by the tenants' virtual times."""
import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
os.environ.setdefault("TOAST_BIN", str(ROOT / "build/release/bin"))
os.environ.setdefault("TOAST_SOURCE", str(ROOT))
sys.path.insert(0, str(ROOT / "tests" / "service"))
import harness  # noqa: E402

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("seconds", type=int, nargs="?", default=5, help="of each row; default 5")
SECONDS = parser.parse_args().seconds
MODEL = (ROOT / "tests" / "models" / "mlp.mlir").read_bytes()
REQUEST = {"mesh": {"axes": [{"name": "data", "size": 4}, {"name": "model", "size": 2}]}, "device": "a100-40",
           "budget": {"rollouts": 4000}}


def keys(service, *arguments):
    return subprocess.run([harness.BIN / "toast", "keys", *arguments, "--redis", service.redis_address], capture_output=True,
                          text=True, check=True).stdout.strip()


def submit(service, headers, seed):
    body, more = harness.multipart({"request": json.dumps(dict(REQUEST, seed=seed)).encode(), "module": MODEL})
    status, _, data = service.request("POST", "/v1/jobs", body, dict(headers, **more))
    assert status == 202, data
    return json.loads(data)["id"]


def wrk(service, path, headers):
    flags = [part for name, value in headers.items() for part in ("-H", f"{name}: {value}")]
    out = subprocess.run(["wrk", "-t1", "-c32", f"-d{SECONDS}s", "--latency", *flags, f"http://127.0.0.1:{service.port}{path}"],
                         capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in out, out
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1]), re.search(r"^\s+99%\s+(\S+)", out, re.M)[1]


def reads():
    """-> rows (who asks, requests a second, p99)"""
    service = harness.Service()
    try:
        path = f"/v1/jobs/{submit(service, {}, 1)}"
        rows = [("open, no keys", *wrk(service, path, {}))]
        key = keys(service, "add")
        bearer = {"Authorization": f"Bearer {key}"}
        time.sleep(1.5)   # the server looks once a second
        rows.append(("a key, of 1", *wrk(service, path, bearer)))
        record = service.redis_cli("HGET", "{t}:keys", key[3:11])
        service.redis_cli("HSET", "{t}:keys", *[part for i in range(999) for part in (f"{i:08d}", record)])
        service.redis_cli("INCR", "{t}:keysv")
        time.sleep(1.5)
        rows.append(("a key, of 1,000", *wrk(service, path, bearer)))
        cookie = service.request("POST", "/ui/session", None, bearer)[1]["set-cookie"].split(";")[0]
        rows.append(("a session's cookie", *wrk(service, path, {"Cookie": cookie})))
        return rows
    finally:
        service.close()


def fairness(a_jobs, b_jobs):
    """-> share of the workers' time that a got while both had jobs waiting, and jobs ended of each"""
    service = harness.Service(environment={"TOAST_OPEN_JOBS": "0"})
    try:
        bearers = [{"Authorization": f"Bearer {keys(service, 'add', '--tenant', name)}"} for name in "ab"]
        time.sleep(1.5)
        [[submit(service, headers, i) for i in range(count)] for headers, count in zip(bearers, (a_jobs, b_jobs))]
        service.start_worker(threads=2)
        while service.redis_cli("ZSCORE", "{t}:vt", "b") and service.redis_cli("SCARD", "{t}:open:b") != "0":
            time.sleep(0.2)
        spent = [int(service.redis_cli("HGET", "{t}:vts", name)) for name in "ab"]
        ended = [count - int(service.redis_cli("SCARD", "{t}:open:" + name)) for name, count in zip("ab", (a_jobs, b_jobs))]
        assert int(service.redis_cli("SCARD", "{t}:open:a")) > 0, "a's backlog must outlast b's"
        return spent[0] / sum(spent), ended
    finally:
        service.close()


if __name__ == "__main__":
    print(f"{'status GET, 32 connections':<28} {'requests/s':>12} {'p99':>10} {'of open':>8}")
    table = reads()
    for name, rate, p99 in table:
        print(f"{name:<28} {rate:>12,.0f} {p99:>10} {rate / table[0][1]:>8.2f}")
    share, ended = fairness(200, 20)
    print(f"\n10:1 load from two tenants, 2 slots: a had {share:.1%} of the time while b had jobs; ended: a {ended[0]}, b {ended[1]}")
