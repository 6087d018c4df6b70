#!/usr/bin/env python3
# label: truth
# timeout: 300
"""The wheel with programs, installed into an environment of its own, plans and runs with nothing else of TOAST in sight."""
import os
import pathlib
import subprocess
import sys
import tempfile

import support

support.enter("truth")

PROGRAM = """
import jax, jax.numpy as jnp, toast, toast.binary
assert "bin/toast" in str(toast.binary.find()) and "site" in str(toast.binary.find()), toast.binary.find()
step = jax.jit(lambda w, x: (w - 0.1 * (x.T @ (x @ w)), jnp.sum(w)), donate_argnums=0)
w, x = jnp.ones((64, 64)), jnp.ones((128, 64))
plan = toast.plan(step, w, x, mesh={"data": 8}, device="a100-40", pins={"x": jax.sharding.PartitionSpec("data")}, rollouts=100)
assert abs(plan.jit()(w, x)[1] - 4096) < 1e-3
print("planned and ran", plan)
"""


def main():
    made = subprocess.run([os.path.join(support.SOURCE, "scripts", "wheel"), "--programs"], check=True, capture_output=True,
                          text=True).stdout.strip()
    with tempfile.TemporaryDirectory() as folder:
        site = pathlib.Path(folder, "site")
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-index",
                        "--target", str(site), os.path.join(support.SOURCE, made)], check=True)
        environment = {name: value for name, value in os.environ.items() if name not in ("TOAST_BIN", "PYTHONPATH")}
        environment.update(PYTHONPATH=str(site), PATH="/usr/bin:/bin")
        print(subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True, env=environment,
                             cwd=folder).stdout)
        print(made, os.path.getsize(os.path.join(support.SOURCE, made)), "bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
