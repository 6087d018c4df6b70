#!/usr/bin/env python3
# label: service
# timeout: 120
"""The Redis users of scripts/redis-acl: each program does all it does with its own, and none can do what it need not.

A real Redis with the file that the script writes; a job, a price, an upload, pages, keys, drain and fsck go through it; then every
user tries what it must not."""
import json
import os
import socket
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

PASSWORDS = {"SERVER": "of-the-server", "WORKER": "of-the-worker", "OPERATOR": "of-the-operator"}
MODULE = (harness.SOURCE / "tests/models/mlp.mlir").read_bytes()
REQUEST = {"mesh": {"axes": [{"name": "data", "size": 4}]}, "device": "a100-40", "budget": {"rollouts": 64}}


class Guarded(harness.Service):
    """Redis on TCP with the users; every program has its own"""

    def start_redis(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.redis_port = s.getsockname()[1]
        secret = self.folder / "worker-password"
        secret.write_text(PASSWORDS["WORKER"] + "\n")
        subprocess.run([harness.SOURCE / "scripts/redis-acl", "--output", self.folder / "users.acl"], check=True,
                       env=dict(os.environ, TOAST_REDIS_SERVER_PASSWORD=PASSWORDS["SERVER"], TOAST_REDIS_WORKER_PASSWORD_FILE=str(secret),
                                TOAST_REDIS_OPERATOR_PASSWORD=PASSWORDS["OPERATOR"]))
        assert (self.folder / "users.acl").stat().st_mode & 0o77 == 0
        for password in PASSWORDS.values():
            assert password not in (self.folder / "users.acl").read_text()
        self.redis_address = self.address("server")
        self.redis_options += ["--port", str(self.redis_port), "--bind", "127.0.0.1", "--aclfile", str(self.folder / "users.acl")]
        super().start_redis()   # asks for PING without a password

    def start_server(self):
        """which takes no password on its command line either"""
        whole, plain = self.redis_address, self.environment
        self.redis_address = f"redis://toast-server@127.0.0.1:{self.redis_port}"
        self.environment = dict(plain, TOAST_REDIS_PASSWORD=PASSWORDS["SERVER"])
        super().start_server()
        self.redis_address, self.environment = whole, plain

    def address(self, role):
        return f"redis://toast-{role}:{PASSWORDS[role.upper()]}@127.0.0.1:{self.redis_port}"

    def as_user(self, role, *command):
        """-> the reply's text"""
        user = [] if role == "default" else ["--user", f"toast-{role}", "--pass", PASSWORDS[role.upper()], "--no-auth-warning"]
        return subprocess.run(["redis-cli", "-p", str(self.redis_port), *user, *command], capture_output=True, text=True).stdout.strip()

    def toast(self, *arguments):
        return subprocess.run([harness.BIN / "toast", *arguments, "--redis", self.address("operator")], capture_output=True, text=True)


def denied(service):
    """what was refused: nothing of ours may be, whatever the programs made of it"""
    log = subprocess.run(["redis-cli", "-s", f"{service.folder}/redis.sock", "--user", "toast-operator", "--pass", PASSWORDS["OPERATOR"],
                          "ACL", "LOG"], capture_output=True, text=True).stdout
    text = (service.folder / "log").read_text()
    return [line for line in text.split("\n") if "can't access" in line or "NOPERM" in line or "can't run" in line], log


def test_everything_works():
    service = Guarded()
    try:
        key = service.toast("keys", "add", "--tenant", "me", "--role", "admin")
        assert key.returncode == 0, key.stderr
        bearer = {"Authorization": "Bearer " + key.stdout.strip()}
        time.sleep(1.5)   # the server reads the keys again within a second
        # a worker takes no password on its command line
        servers, plain = service.redis_address, service.environment
        service.redis_address = f"redis://toast-worker@127.0.0.1:{service.redis_port}"
        service.environment = dict(plain, TOAST_REDIS_PASSWORD=PASSWORDS["WORKER"])
        service.start_worker()
        service.redis_address, service.environment = servers, plain
        status, _, data = service.request("GET", "/readyz")
        assert status == 200, data
        body, headers = harness.multipart({"module": MODULE, "request": json.dumps(REQUEST).encode()})
        ids = []
        for extra in ({}, {"Idempotency-Key": "k1"}):
            status, _, data = service.request("POST", "/v1/jobs", body.replace(b'"rollouts": 64', b'"rollouts": %d' % (64 + len(ids))),
                                              dict(headers, **bearer, **extra))
            assert status == 202, data
            ids.append(json.loads(data)["id"])
        for job in ids:
            status, _, data = service.request("GET", f"/v1/jobs/{job}", headers=dict(bearer, Prefer="wait=60"), timeout=70)
            assert json.loads(data)["state"] == "succeeded", data
            for path in ("/events?format=json", "/plan", "/artifacts"):
                assert service.request("GET", f"/v1/jobs/{job}{path}", headers=bearer)[0] == 200, path
        body, headers = harness.multipart({"module": MODULE, "request": json.dumps(dict(REQUEST, baseline="data_parallel:data")).encode()})
        for path, expected in (("/v1/jobs", 200), ("/ui", 200), ("/ui/jobs", 200), ("/ui/workers", 200), (f"/ui/jobs/{ids[0]}", 200),
                               ("/v1/profiles", 200), ("/metrics", 200), (f"/v1/compare?jobs={ids[0]},{ids[1]}", 200)):
            assert service.request("GET", path, headers=bearer)[0] == expected, path
        del REQUEST_PRICE["budget"]
        body, headers = harness.multipart({"module": MODULE, "request": json.dumps(REQUEST_PRICE).encode()})
        status, _, data = service.request("POST", "/v1/price", body, dict(headers, **bearer))
        assert status == 200, data
        profile = {"flops": {"bf16": 2e14}, "memory_bytes_per_s": 1e12}
        status, _, data = service.request("PUT", "/v1/profiles/p", json.dumps(profile), dict(bearer, **{"Content-Type": "application/json"}))
        assert status in (200, 201), data
        status, _, data = service.request("POST", "/ui/session", json.dumps({"key": bearer["Authorization"][7:]}),
                                          {"Content-Type": "application/json"})
        assert status == 204, data
        status, _, data = service.request("POST", f"/v1/jobs/{ids[0]}:cancel", headers=bearer)
        assert status in (200, 202, 409), data
        assert service.request("DELETE", f"/v1/jobs/{ids[1]}", headers=bearer)[0] == 204
        worker = service.as_user("operator", "ZRANGE", "{t}:workers", "0", "-1").split("\n")[0]
        assert service.toast("drain", worker).returncode == 0
        assert service.toast("dead", "list").returncode == 0
        done = subprocess.run([harness.BIN / "toast", "fsck", "--redis", service.address("operator"), "--store", service.store],
                              capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        time.sleep(2)   # reaping, janitor, beats
        assert not denied(service)[0], denied(service)[0][:10]
    finally:
        service.close()


REQUEST_PRICE = dict(REQUEST, baseline="fsdp:data")


def test_nothing_else_does():
    service = Guarded()
    refused = ("NOPERM", "ERR The user executing the script", "NOAUTH", "ERR This user has no permissions")
    try:
        everybody = (["FLUSHALL"], ["FLUSHDB"], ["CONFIG", "SET", "appendonly", "no"], ["ACL", "LIST"],
                     ["EVAL", "return 1", "0"], ["KEYS", "*"], ["SHUTDOWN", "NOSAVE"], ["REPLICAOF", "NO", "ONE"], ["SET", "other", "1"],
                     ["GET", "other"], ["MODULE", "LIST"], ["SCRIPT", "FLUSH"], ["FUNCTION", "FLUSH"], ["FUNCTION", "DELETE", "toast_x"],
                     ["MONITOR"], ["CLIENT", "KILL", "TYPE", "normal"], ["PUBLISH", "a", "b"], ["MIGRATE", "h", "1", "k", "0", "1"])
        for role in ("server", "worker", "operator", "default"):
            for command in everybody:
                got = service.as_user(role, *command)
                assert got.startswith(refused), (role, command, got)
        for command in (["HGETALL", "{t}:keys"], ["HSET", "{t}:keys", "a", "b"], ["GET", "{t}:secret"], ["GET", "{t}:session:a"],
                        ["GET", "{t}:idem:me:a"], ["FUNCTION", "LOAD", "REPLACE", "#!lua name=x\n"], ["CONFIG", "GET", "*"], ["INFO"],
                        ["SCAN", "0"], ["HSET", "{t}:weight", "me", "9"], ["HGETALL", "{t}:profs:me"]):
            assert service.as_user("worker", *command).startswith(refused), command
        for command in (["HSET", "{t}:keys", "a", "b"], ["INCR", "{t}:keysv"], ["DEL", "{t}:keys"]):
            assert service.as_user("server", *command).startswith(refused), command
        for command in (["GET", "{t}:n"], ["FCALL", "x", "0"], ["INFO"], ["FUNCTION", "LIST"]):
            assert service.as_user("default", *command).startswith(refused), command
        assert service.as_user("default", "PING") == "PONG"
        # through a function: the caller's rights hold inside
        service.request("GET", "/readyz")
        library = [line for line in service.as_user("server", "FUNCTION", "LIST").split("\n") if line.startswith("toast_key_add_")][0]
        got = service.as_user("worker", "FCALL", library, "1", "{t}", "id", "digest", "me", "3", "", "0")
        assert got.startswith(refused), got
        wrong = subprocess.run([harness.BIN / "toast", "keys", "list", "--redis",
                                f"redis://toast-operator:wrong@127.0.0.1:{service.redis_port}"], capture_output=True, text=True)
        assert wrong.returncode and "refuses the user or the password" in wrong.stderr, wrong
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_everything_works, test_nothing_else_does])
