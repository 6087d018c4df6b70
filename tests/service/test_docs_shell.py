#!/usr/bin/env python3
# label: service
# timeout: 300
"""The shell blocks of README.md and of docs/ that a user types first run against a real service, each in a folder of its own, with `set -eu`.
Blocks and lines that build or install are left to scripts/check; kubectl and docker are offline ones that check what is named."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import harness

PAGES = {"README.md": 2, "docs/quickstarts.md": 4, "docs/troubleshooting.md": 1}      # and how many blocks are run of each at least
LATER = re.compile(r"^(scripts/|toast serve)")     # what installs, builds, or does not end


def blocks(page):
    found = re.findall(r"^```sh\n(.*?)^```$", (harness.SOURCE / page).read_text(), re.S | re.M)
    kept = ["\n".join(line for line in block.split("\n") if not LATER.match(line)) for block in found]
    return [block for block in kept if block.strip()]


def tree(folder):
    """what the blocks name by path: the repository's files and the programs, where nothing that a block writes gets into it"""
    for name in ("tests", "docker", "examples"):
        (folder / name).symlink_to((harness.SOURCE / name).resolve())
    (folder / "build" / "release").mkdir(parents=True)
    (folder / "build" / "release" / "bin").symlink_to(harness.BIN.resolve())
    (folder / "offline").mkdir()
    for name in ("kubectl", "docker"):
        (folder / "offline" / name).symlink_to((harness.SOURCE / "tests/service/offline_kubectl.py").resolve())


def run(service, block):
    url = f"http://127.0.0.1:{service.port}"
    with tempfile.TemporaryDirectory(prefix="toast-docs-") as name:
        folder = pathlib.Path(name)
        tree(folder)
        path = os.pathsep.join([str(folder / "offline"), str(harness.BIN.resolve()), os.environ["PATH"]])
        environment = dict(os.environ, TOAST_URL=url, PATH=path, TOAST_SOURCE=str(harness.SOURCE.resolve()))
        done = subprocess.run(["bash", "-euo", "pipefail", "-c", block.replace("http://127.0.0.1:8080", url)], cwd=folder, env=environment,
                              capture_output=True, text=True, timeout=harness.SLOW * 200)
        assert done.returncode == 0, (block, done.stdout[-2000:], done.stderr[-2000:])
        return done.stdout, {path.name for path in folder.rglob("*") if path.is_file() and not path.is_symlink()}


def main():
    service = harness.Service(workers=1)
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
