#!/usr/bin/env python3
# label: service
# timeout: 180
"""scripts/backup of a running service and its restoration in another place: finished jobs keep their artifacts, waiting ones
run to the same bytes, fsck finds nothing."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

MODEL = (harness.SOURCE / "tests" / "models" / "mlp.mlir").read_bytes()
REQUEST = {"mesh": {"axes": [{"name": "x", "size": 4}]}, "device": "a100-40", "budget": {"rollouts": 200}}


def submit(service, seed):
    body, headers = harness.multipart({"module": MODEL, "request": json.dumps(dict(REQUEST, seed=seed)).encode()})
    status, _, data = service.request("POST", "/v1/jobs", body, headers)
    assert status == 202, (status, data)
    return json.loads(data)["id"]


def artifact(service, job, name):
    status, _, data = service.request("GET", f"/v1/jobs/{job}/artifacts/{name}")
    assert status == 200, (status, data)
    return data


def backup(service, target, environment=None):
    done = subprocess.run([harness.SOURCE / "scripts" / "backup", "--redis-dir", service.folder, "--blobs",
                           service.folder / "data", target, "-s", f"{service.folder}/redis.sock"], capture_output=True, text=True,
                          env=dict(os.environ, **(environment or {})))
    assert done.returncode == 0, done
    return done.stdout


def test_backup_and_restore():
    with tempfile.TemporaryDirectory(prefix="toast-backup-") as target:
        first = harness.Service(workers=1)
        try:
            done = submit(first, 1)
            first.wait(done)
            plan = artifact(first, done, "plan.json")
            backup(first, target)
            first.workers.pop().kill()              # what comes now waits
            waiting = submit(first, 1)
            other = submit(first, 2)
            text = backup(first, target)            # a second one into the same folder
            assert "blobs" in text, text
            submit(first, 3)                        # after the backup: lost with the machine
        finally:
            first.close()

        second = harness.Service()
        try:
            second.server.terminate()
            second.server.wait(8)
            second.redis.terminate()
            second.redis.wait(8)
            shutil.rmtree(second.folder / "appendonlydir")
            shutil.copytree(f"{target}/redis/appendonlydir", second.folder / "appendonlydir")
            shutil.copytree(f"{target}/blobs", second.folder / "data" / "blobs", dirs_exist_ok=True)
            second.start_redis()
            second.start_server()
            second.start_worker()
            assert artifact(second, done, "plan.json") == plan
            for job in (waiting, other):
                body = second.wait(job)
                assert body["state"] == "succeeded", body
            assert artifact(second, waiting, "plan.json") == plan
            assert artifact(second, other, "plan.json") != b""
            status, page = second.json("GET", "/v1/jobs")
            assert status == 200 and len(page["jobs"]) == 3, page
            fsck = subprocess.run([harness.BIN / "toast", "fsck", "--redis", second.redis_address, "--store", second.store],
                                  capture_output=True, text=True)
            assert fsck.returncode == 0, fsck
        finally:
            second.close()


def copies(target):
    return sorted(f for f in pathlib.Path(target, "blobs").rglob("*") if f.is_file())


def test_half_copies_and_removed_blobs():
    """what a backup that was cut short left is copied again, and what the collector removes meanwhile is in the copy"""
    with tempfile.TemporaryDirectory(prefix="toast-backup-") as target:
        service = harness.Service(workers=1)
        try:
            job = submit(service, 1)
            service.wait(job)
            backup(service, target)
            whole = {f: f.read_bytes() for f in copies(target)}
            half, gone = copies(target)[:2]
            for blob in (half, gone):
                blob.unlink()
            half.write_bytes(whole[half][:len(whole[half]) // 2])    # younger than its blob, too
            # redis-cli is asked when the blobs were looked through once: now a deleted job's blob goes
            tools = pathlib.Path(target, "tools")
            tools.mkdir()
            removed = pathlib.Path(service.folder, "data", gone.relative_to(target))
            (tools / "redis-cli").write_text(f"""#!/bin/sh
case "$*" in *persistence*) rm -f '{removed}';; esac
exec {shutil.which("redis-cli")} "$@"
""")
            (tools / "redis-cli").chmod(0o755)
            backup(service, target, {"PATH": f"{tools}:{os.environ['PATH']}"})
            assert not removed.exists()
            for blob, text in whole.items():
                assert blob.read_bytes() == text, blob
            assert not [f for f in os.listdir(target) if f.startswith("blobs.")], os.listdir(target)
        finally:
            service.close()


def test_refusals():
    """nothing is copied when Redis is away or a folder is wrong"""
    with tempfile.TemporaryDirectory(prefix="toast-backup-") as target:
        script = harness.SOURCE / "scripts" / "backup"
        for arguments in ([], ["--data", target, f"{target}/out"], ["--what", target]):
            done = subprocess.run([script, *arguments], capture_output=True, text=True)
            assert done.returncode in (1, 2) and done.stderr, (arguments, done)
        assert not os.path.exists(f"{target}/out")


harness.main([test_backup_and_restore, test_half_copies_and_removed_blobs, test_refusals])
