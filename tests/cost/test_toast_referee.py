#!/usr/bin/env python3
# label: truth
# timeout: 300
"""toast-referee on the devices of this machine: two plans of a small module compiled and timed on eight CPU devices; both have a measured
step, the peak is XLA's, and a plan for more devices than there are is refused by name."""
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/truth"))
import venv  # noqa: E402

venv.enter()
ENVIRONMENT = dict(os.environ, JAX_PLATFORMS="cpu", XLA_FLAGS=f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=8",
                   PYTHONPATH=str(ROOT / "clients/python/src"))


def referee(mesh, *plans):
    return subprocess.run([sys.executable, "-m", "toast_referee", "--target", "here", "--device", "h100", "--toast", os.path.join(venv.BIN, "toast"),
                           "--module", os.path.join(venv.MODELS, "mlp.mlir"), "--mesh", mesh, "--json", *plans],
                          env=ENVIRONMENT, capture_output=True, text=True)


done = referee("data=4,model=2", "batch:data", "batch:data+megatron:model")
assert done.returncode == 0, done.stderr
said = json.loads(done.stdout)
assert len(said["rows"]) == 2 and not said["refused"], said
for row in said["rows"]:
    compiler = row["compiler"]
    assert compiler["step_us"] > 0 and len(compiler["runs_s"]) == 5 and compiler["peak"] > 0, row
steps = [row["compiler"]["step_us"] for row in said["rows"]]
assert steps == sorted(steps), "ranked by what was measured"
refused = referee("data=16", "batch:data")
assert refused.returncode == 5 and "this machine has 8" in json.loads(refused.stdout)["refused"]["batch:data"], refused
print("timed, ranked, refused")
