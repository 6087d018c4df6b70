#!/usr/bin/env python3
# label: service
# timeout: 120
"""The invariant checker finds what it is for: each violation is planted by hand, found, and taken back."""
import hashlib
import json
import os
import signal
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults
import harness


def planted(service, jobs, invariant, about, plant, restore):
    """`plant` and `restore`: lists of redis commands"""
    for command in plant:
        service.redis_cli(*command)
    found = faults.check(service, jobs, holds=False)["violations"]
    assert any(v["invariant"] == invariant and about in v["text"] for v in found), (invariant, about, found)
    for command in restore:
        service.redis_cli(*command)
    faults.check(service, jobs)


def blob(service, digest):
    return service.folder / "data" / "blobs" / digest[:2] / digest[2:4] / digest


def store(service, data):
    """-> digest of bytes that are put into the store by hand"""
    digest = hashlib.sha256(data).hexdigest()
    path = blob(service, digest)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    return digest


def test_every_violation_is_found():
    service = harness.Service(workers=1)
    try:
        ended = [faults.submit(service, *faults.request(n)) for n in range(3)]
        for job in ended:
            assert faults.wait(service, job)["state"] == "succeeded"
        service.workers[0].terminate()
        service.workers[0].wait()
        waiting = [faults.submit(service, *faults.request(n)) for n in range(3, 5)]
        jobs = ended + waiting
        service.server.send_signal(signal.SIGSTOP)   # it would mend some of what is broken here
        result = faults.check(service, jobs)
        assert result["jobs"] == 5 and result["expected"] == 5 and result["blobs"] > 20
        a, w = "{t}:j:" + ended[0], "{t}:j:" + waiting[0]
        cli = service.redis_cli

        # 1: lost, stuck, unwatched
        found = faults.check(service, jobs + ["j_" + 26 * "0"], holds=False)["violations"]
        assert [v["invariant"] for v in found] == [1], found
        cli("RENAME", w, "kept")
        found = faults.check(service, jobs, holds=False)["violations"]
        assert any(v["invariant"] == 1 and "unknown" in v["text"] for v in found), found
        assert any(v["invariant"] == 1 and "is in run but the job is gone" in v["text"] for v in found), found
        cli("RENAME", "kept", w)
        p = "{t}:p:" + waiting[0]
        planted(service, jobs, 1, "not done, not leased and not claimable", [("RENAME", p, "kept")], [("RENAME", "kept", p)])
        created = cli("HGET", w, "created")
        planted(service, jobs, 1, "not in run", [("ZREM", "{t}:run", waiting[0])], [("ZADD", "{t}:run", created, waiting[0])])
        turns = "{t}:r:default"
        rank = cli("ZSCORE", turns, waiting[0])
        planted(service, jobs, 1, "turn does not find it", [("ZREM", turns, waiting[0])], [("ZADD", turns, rank, waiting[0])])
        member = waiting[0] + "/read/0/0"
        planted(service, jobs, 1, "2 places", [("ZADD", "{t}:lease", "9999999999999", member)], [("ZREM", "{t}:lease", member)])
        planted(service, jobs, 1, "no task of a present step", [("ZADD", "{t}:lease", "9999999999999", ended[0] + "/read/0/0")],
                [("ZREM", "{t}:lease", ended[0] + "/read/0/0")])
        planted(service, jobs, 1, "will expire", [("EXPIRE", w, "1000")], [("PERSIST", w)])

        # 2: once and only once
        events = "{t}:ev:" + ended[0]
        ver = int(cli("HGET", a, "ver"))
        last = cli("XREVRANGE", events, "+", "-", "COUNT", "1").split("\n")[0]
        again = f"{int(last.split('-')[0]) + 1}-0"
        planted(service, jobs, 2, "ended twice",
                [("XADD", events, again, "event", "state", "ver", str(ver + 1), "data", "succeeded"), ("HSET", a, "ver", str(ver + 1))],
                [("XDEL", events, again)])
        ver += 1
        planted(service, jobs, 2, "is failed", [("HSET", a, "state", "failed"), ("HINCRBY", "{t}:n", "jobs:failed", "1"),
                                                ("HINCRBY", "{t}:n", "jobs:succeeded", "-1")],
                [("HSET", a, "state", "succeeded"), ("HINCRBY", "{t}:n", "jobs:failed", "-1"),
                 ("HINCRBY", "{t}:n", "jobs:succeeded", "1")])
        planted(service, jobs, 2, "events are gone", [("RENAME", events, "kept")], [("RENAME", "kept", events)])

        # 3: a commit under an older fence, one that was never given out
        fence = int(cli("HGET", a, "fence"))
        for bad, text in ((fence, "has fence"), (fence + 7, "the job only")):
            ver += 1
            at = f"{int(last.split('-')[0]) + 2 + bad}-0"
            planted(service, jobs, 3, text,
                    [("XADD", events, at, "event", "step", "ver", str(ver), "data", "emit", "fence", str(bad)),
                     ("HSET", a, "ver", str(ver))], [("XDEL", events, at)])

        # 4: bytes that are missing, damaged, or of another size
        digest = cli("HGET", a, "a:report.json").split(":")[0]
        path = blob(service, digest)
        good = path.read_bytes()
        path.unlink()
        found = faults.check(service, jobs, holds=False)["violations"]
        assert [v["invariant"] for v in found] == [4] and "no blob" in found[0]["text"], found
        path.write_bytes(good[:-1] + b"?")
        found = faults.check(service, jobs, holds=False)["violations"]
        assert [v["invariant"] for v in found] == [4] and "damaged" in found[0]["text"], found
        path.write_bytes(good)
        value = cli("HGET", a, "a:report.json")
        planted(service, jobs, 4, "bytes are stated", [("HSET", a, "a:report.json", f"{digest}:1:application/json")],
                [("HSET", a, "a:report.json", value)])

        # 5: a version that skips, or goes back
        planted(service, jobs, 5, "visible changes", [("HINCRBY", a, "ver", "1")], [("HINCRBY", a, "ver", "-1")])
        now = f"{int(last.split('-')[0]) + 10 ** 6}-0"
        planted(service, jobs, 5, "has version 1 after", [("XADD", events, now, "event", "step", "ver", "1", "data", "x")],
                [("XDEL", events, now), ("HINCRBY", a, "ver", "1")])

        # 6: leftovers
        planted(service, jobs, 6, "never expires", [("PERSIST", a)], [("EXPIRE", a, "604800")])
        planted(service, jobs, 6, "belongs to no job", [("SET", "{t}:d:j_" + 26 * "0" + ":3", "x")],
                [("DEL", "{t}:d:j_" + 26 * "0" + ":3")])
        planted(service, jobs, 6, "left p:", [("ZADD", "{t}:p:" + ended[0], "0", "0")], [("DEL", "{t}:p:" + ended[0])])
        planted(service, jobs, 6, "belongs to no step", [("HSET", f"{{t}}:k:{waiting[0]}:7", "o:0", "x")],
                [("DEL", f"{{t}}:k:{waiting[0]}:7")])
        planted(service, jobs, 6, "has ended but is in run", [("ZADD", "{t}:run", "1", ended[0])], [("ZREM", "{t}:run", ended[0])])

        planted(service, jobs, 6, "turn finds it", [("ZADD", turns, "1", ended[0])], [("ZREM", turns, ended[0])])

        planted(service, jobs, 6, "nobody will archive it", [("ZREM", "{t}:arch", ended[0])], [("ZADD", "{t}:arch", "9999999999999", ended[0])])

        # 7: counters
        planted(service, jobs, 7, "the modules have", [("HINCRBY", "{t}:blobs", "default", "1")], [("HINCRBY", "{t}:blobs", "default", "-1")])
        planted(service, jobs, 7, "turns have 3", [("ZADD", "{t}:r:default", "1", "nobody")], [("ZREM", "{t}:r:default", "nobody")])
        planted(service, jobs, 7, "in the set of the dead", [("ZADD", "{t}:dead", "1", ended[0])], [("ZREM", "{t}:dead", ended[0])])
        planted(service, jobs, 7, "jobs in this state are 2", [("HINCRBY", "{t}:n", "jobs:queued", "1"), ("HINCRBY", "{t}:n", "submitted", "1")],
                [("HINCRBY", "{t}:n", "jobs:queued", "-1"), ("HINCRBY", "{t}:n", "submitted", "-1")])
        planted(service, jobs, 7, "submitted were", [("HINCRBY", "{t}:n", "submitted", "1")], [("HINCRBY", "{t}:n", "submitted", "-1")])
        planted(service, jobs, 7, "counted as open", [("SADD", "{t}:open:default", ended[0])], [("SREM", "{t}:open:default", ended[0])])
        planted(service, jobs, 7, "not counted as open", [("SREM", "{t}:open:default", waiting[0])], [("SADD", "{t}:open:default", waiting[0])])
        planted(service, jobs, 7, "results are 0", [("HSET", w, "done", "1")], [("HSET", w, "done", "0")])

        # and the jobs that waited end well
        service.server.send_signal(signal.SIGCONT)
        service.start_worker()
        for job in waiting:
            assert faults.wait(service, job)["state"] == "succeeded"
        faults.check(service, jobs)
    finally:
        service.server.send_signal(signal.SIGCONT)
        service.close()


def test_archived():
    """jobs that left Redis: their blobs, how they ended, and that somebody will forget them"""
    service = harness.Service(workers=1)
    try:
        cli = service.redis_cli
        jobs = [faults.submit(service, *faults.request(n)) for n in range(2)]
        for job in jobs:
            assert faults.wait(service, job)["state"] == "succeeded"
            cli("ZADD", "{t}:arch", "XX", "1", job)
        faults.until("not archived", lambda: cli("ZCARD", "{t}:arch") == "0")
        service.server.send_signal(signal.SIGSTOP)
        result = faults.check(service, jobs)
        assert (result["jobs"], result["archived"]) == (0, 2), result
        key = "{t}:o:" + jobs[0]
        kept = json.loads(blob(service, cli("HGET", key, "blob")).read_bytes())["job"]
        # 4: each of the blobs, and the archive's own
        for name in sorted(name for name in kept if name.startswith("a:") or name in ("module", "request", "history")):
            path = blob(service, kept[name].split(":")[0])
            hidden = path.rename(path.with_suffix(".hidden"))
            found = faults.check(service, jobs, holds=False)["violations"]
            assert any(v["subject"] == jobs[0] and v["invariant"] == 4 and v["text"].startswith(name + ": ") for v in found), (name, found)
            hidden.rename(path)
        planted(service, jobs, 4, "archive: ", [("HSET", key, "blob", "0" * 64)], [("HSET", key, "blob", cli("HGET", key, "blob"))])
        history = blob(service, kept["history"])
        for change, invariant, text in (
                (lambda events: events.append(["9999999999999-0", "state", 99, "succeeded", ""]), 2, "after the end"),
                (lambda events: events.pop(), 2, "without an event that says so"),
                (lambda events: events[1].__setitem__(2, 1), 5, "has version 1 after 1")):
            told = json.loads(history.read_bytes())
            change(told["events"])
            changed = json.dumps(told).encode()
            archive = json.dumps({"archive": 1, "job": dict(kept, history=store(service, changed))}).encode()
            planted(service, jobs, invariant, text, [("HSET", key, "blob", store(service, archive))],
                    [("HSET", key, "blob", cli("HGET", key, "blob"))])
        # what Redis says of it
        version = cli("HGET", key, "ver")
        planted(service, jobs, 5, "in the archive", [("HSET", key, "ver", "1")], [("HSET", key, "ver", version)])
        planted(service, jobs, 2, "but archived as succeeded", [("HSET", key, "state", "failed")], [("HSET", key, "state", "succeeded")])
        planted(service, jobs, 6, "never expires", [("PERSIST", key)], [("EXPIRE", key, "604800")])
        created = cli("ZSCORE", "{t}:idx:default", jobs[0])
        planted(service, jobs, 1, "not in the index of its tenant", [("ZREM", "{t}:idx:default", jobs[0])],
                [("ZADD", "{t}:idx:default", created, jobs[0])])
        planted(service, jobs, 7, "not in the index of this state", [("ZREM", "{t}:st:default:succeeded", jobs[0])],
                [("ZADD", "{t}:st:default:succeeded", created, jobs[0])])
        member = f"{jobs[0]}/default/succeeded"
        when = cli("ZSCORE", "{t}:purge", member)
        planted(service, jobs, 6, "nobody will forget it", [("ZREM", "{t}:purge", member)], [("ZADD", "{t}:purge", when, member)])
        planted(service, jobs, 7, "in the set of the dead", [("ZADD", "{t}:dead", "1", jobs[0])], [("ZREM", "{t}:dead", jobs[0])])
    finally:
        service.server.send_signal(signal.SIGCONT)
        service.close()


def test_table_and_exit_status():
    service = harness.Service()
    try:
        run = lambda *more: harness.subprocess.run(
            [harness.BIN / "toast", "fsck", "--redis", service.redis_address, "--store", service.store, *more],
            capture_output=True, text=True)
        done = run()
        assert done.returncode == 0 and done.stdout.count("\n") >= 9, done
        # a client's own ids are known by its tenant
        module, request = faults.request(0)
        body, headers = harness.multipart({"module": module.read_bytes(), "request": json.dumps(request).encode()})
        assert service.request("PUT", "/v1/jobs/nightly", body, headers)[0] == 202
        expected = service.folder / "expected"
        for known, unknown in ((["nightly", "default/nightly"], 0), (["weekly", "speech/nightly"], 2)):
            expected.write_text("".join(name + "\n" for name in known))
            done = run("--expect", str(expected))
            assert done.stdout.count("acknowledged and is unknown") == unknown and done.returncode == (unknown > 0), done
        service.redis_cli("SET", "{t}:k:nobody:0", "x")
        done = run()
        assert done.returncode == 1 and "6 {t}:k:nobody:0 belongs to no job" in done.stdout, done
        assert run("--nonsense").returncode == 2
        service.redis.kill()
        service.redis.wait()
        assert run().returncode == 5
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_every_violation_is_found, test_archived, test_table_and_exit_status])
