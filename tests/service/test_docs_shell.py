#!/usr/bin/env python3
# label: service
# timeout: 300
"""The shell blocks of README.md and of docs/ that a user types run against a real service, each in a folder of its own, with `set -eu` and a curl
for which an HTTP error is one. Lines that build, install, need a compiler or do not end are left to scripts/check and to tests of their own; kubectl
and docker are offline ones that check what is named. What a page leaves to the reader (a job's number, a folder) is put in its place."""
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

import harness

# and how many blocks are run of each at least
PAGES = {"README.md": 2, "docs/quickstarts.md": 4, "docs/troubleshooting.md": 1, "docs/clients.md": 2, "docs/cfn.md": 3, "docs/service.md": 6,
         "docs/operations.md": 1, "docs/segments.md": 3, "docs/price.md": 1}
# what installs, builds, does not end, or needs JAX, a compiler or a GPU's tools: tests/docker, tests/clients, test_redis_acl.py, test_calibrate.py
LATER = re.compile(r"^(scripts/|toast serve|pip |python3 -m|bench/|TOAST_\w+=.*(toast-referee|toast-server|toast-worker|\\$)|    toast-worker|"
                   r"toast-referee|PYTHONPATH=|.*--profile |all_reduce_perf|toast calibrate|docker build .*push|\(cd .*kustomize)")
REDIS_SET_UP = "openssl rand"       # blocks with it set up a Redis, a cluster: test_redis_acl.py, docs/quickstarts.md
PASSWORD = "of-the-pages"
CURL = 'curl() { case " $* " in *" -sSf "*) command curl "$@" ;; *) command curl --fail-with-body "$@" ;; esac; }\n'
MODEL = "tests/models/mlp.mlir"
REQUEST = {"mesh": {"axes": [{"name": "data", "size": 2}]}, "device": "a100-40"}


def blocks(page):
    found = re.findall(r"^```sh\n(.*?)^```$", (harness.SOURCE / page).read_text(), re.S | re.M)
    kept = ["\n".join(line for line in block.split("\n") if not LATER.match(line)) for block in found
            if page == "docs/quickstarts.md" or REDIS_SET_UP not in block]
    return [block for block in kept if block.strip()]


def job(service, model, rollouts):
    """-> the number of a job, sent just now"""
    text = (harness.SOURCE / model).read_text()
    status, body = service.json("POST", "/v1/jobs", dict(REQUEST, module={"inline": text}, budget={"rollouts": rollouts}))
    assert status in (200, 202), body
    return body["id"]


def fill(service, block, folder):
    """the block with what it takes for granted: files beside it, jobs that there are, the service's own addresses"""
    block = block.replace("http://127.0.0.1:8080", f"http://127.0.0.1:{service.port}").replace("--seconds 60", "--seconds 1")
    for name, text in (("model.mlir", MODEL), ("step.mlir", MODEL)):
        (folder / name).write_text((harness.SOURCE / text).read_text().replace("@main", "@train" if name == "step.mlir" else "@main"))
    (folder / "model.mlir.gz").write_bytes(gzip.compress((folder / "model.mlir").read_bytes()))
    (folder / "request.json").write_text(json.dumps(REQUEST))
    if "j_01…" in block or "sha256:" in block or "plan.json" in block:
        done = job(service, MODEL, 20)
        assert service.wait(done)["state"] == "succeeded"
        (folder / "plan.json").write_text(json.dumps(service.json("GET", f"/v1/jobs/{done}/plan")[1]))
        module = service.json("GET", f"/v1/jobs/{done}")[1]["module"]
        (folder / "nightly.json").write_text(json.dumps(dict(REQUEST, module=module)))
        block = block.replace("sha256:…", module)
        if ":retry" in block:
            failed = job(service, "README.md", 20)
            assert service.wait(failed)["state"] == "failed"
            block = block.replace("j_01…:retry", f"{failed}:retry")
        first = service.json("GET", f"/v1/jobs/{done}/events?format=json")[1]["events"][0]["id"]
        block = block.replace("1795226400123-0", first)
        etag = service.request("GET", f"/v1/jobs/{done}")[1].get("etag", "")
        block = block.replace('"v41"', etag).replace("j_01…", done)
    if "problem" in block.lower():
        made = subprocess.run([harness.BIN / "bench_cfn_generate", "--shape", "core", "--nodes", "30", "--seed", "1"], capture_output=True, check=True)
        for name in ("problem.json", "PROBLEM.json"):
            (folder / name).write_bytes(made.stdout)
            (folder / f"{name}.gz").write_bytes(gzip.compress(made.stdout))
    (folder / "served" / "redis").mkdir(parents=True)
    (folder / "served" / "redis" / "redis.sock").symlink_to(service.folder / "redis.sock")
    (folder / "operator").write_text(PASSWORD)
    block = block.replace("/etc/toast/redis-operator", str(folder / "operator")).replace("/var/lib/toast", str(folder / "served"))
    block = block.replace("redis://toast-operator@redis:6379", service.redis_address).replace("--redis ..", f"--redis {service.redis_address}")
    return block.replace("3k9m2x7q ", '"$(toast keys list --json --redis ' + service.redis_address + ' | grep -o \'"id": *"[^"]*"\' | head -1 | cut -d\\" -f4)" --last ')


def tree(folder):
    """what the blocks name by path: the repository's files and the programs, where nothing that a block writes gets into it"""
    for name in ("tests", "docker", "examples"):
        (folder / name).symlink_to((harness.SOURCE / name).resolve())
    (folder / "build" / "release").mkdir(parents=True)
    (folder / "build" / "release" / "bin").symlink_to(harness.BIN.resolve())
    (folder / "offline").mkdir()
    for name in ("kubectl", "docker"):
        (folder / "offline" / name).symlink_to((harness.SOURCE / "tests/service/offline_kubectl.py").resolve())


def without_keys(service):
    """a page's keys were revoked when its block ended; the server looks every few seconds, and on a busy machine may have seen them"""
    end = time.monotonic() + 30 * harness.SLOW
    while service.json("GET", "/v1/jobs")[0] == 401 and time.monotonic() < end:
        time.sleep(0.2)


def run(service, block):
    without_keys(service)
    url = f"http://127.0.0.1:{service.port}"
    with tempfile.TemporaryDirectory(prefix="toast-docs-") as name:
        folder = pathlib.Path(name)
        tree(folder)
        path = os.pathsep.join([str(folder / "offline"), str(harness.BIN.resolve()), os.environ["PATH"]])
        environment = dict(os.environ, TOAST_REDIS_PASSWORD=PASSWORD, TOAST_URL=url, PATH=path, TOAST_SOURCE=str(harness.SOURCE.resolve()))
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", CURL + fill(service, block, folder)], cwd=folder, env=environment,
                              capture_output=True, text=True, timeout=harness.SLOW * 400)
        assert done.returncode == 0, (block, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout, {path.name for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}


def main():
    service = harness.Service(workers=2, redis_options=["--requirepass", PASSWORD], environment={"TOAST_REDIS_PASSWORD": PASSWORD})
    try:
        made = {}
        for page, least in PAGES.items():
            found = blocks(page)
            assert len(found) >= least, (page, len(found))
            for i, block in enumerate(found):
                made[page, i] = run(service, block)
                print(f"ok {page}, block {i + 1}: {block.strip().splitlines()[-1][:90]}", flush=True)
        files = set().union(*(names for _, names in made.values()))
        assert {"plan.json", "annotated.mlir", "report.html", "toast.yaml"} <= files, files
    finally:
        service.close()
    real = shutil.which("kubectl")
    if not real:
        print("skipped: no kubectl, so docker/kubernetes is not put together by the real one")
        return 0
    text = subprocess.run([real, "kustomize", harness.SOURCE / "docker/kubernetes"], capture_output=True, text=True, check=True).stdout
    listed = re.findall(r"^  - .*\.yaml$", (harness.SOURCE / "docker/kubernetes/kustomization.yaml").read_text(), re.M)
    assert text.count("\nkind: ") == len(listed), "kustomize gives every resource"
    return 0


if __name__ == "__main__":
    sys.exit(main())
