#!/usr/bin/env python3
# label: truth
# timeout: 300
"""Labels that a loss picks by index, in whatever way: split by examples, a step adds up its gradients and moves nothing else, under XLA, too.

`logits[arange(n), labels]` has index vectors that count (ir/counted.h); XLA itself gathers positions and adds up zeros where it does not
see that. Compiled for eight CPU devices, not run (the zoo's conv_mixer and masked_tokens are). Arguments: names of cases.
"""
import json
import os
import subprocess
import sys
import tempfile

import venv

venv.enter()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
import test_summands  # noqa: E402  bytes under XLA and of the plan
from zoo_common import f32, i32, train  # noqa: E402

B, T, D, V = 16, 8, 32, 128


def rows():
    return jnp.arange(B)


LOSSES = {   # logits [B, V], or [B, T, V] where labels are [B, T]
    "iota": lambda z, y: z[rows(), y],
    "constant": lambda z, y: z[np.arange(B), y],
    "clip": lambda z, y: z.at[rows(), y].get(mode="clip"),
    "fill": lambda z, y: z.at[rows(), y].get(mode="fill"),
    "in_bounds": lambda z, y: z.at[rows(), y].get(mode="promise_in_bounds"),
    "narrow": lambda z, y: z[jnp.arange(B, dtype=jnp.uint8), y],
    "along": lambda z, y: jnp.take_along_axis(z, y[:, None], -1),
    "mapped": lambda z, y: jax.vmap(lambda a, i: a[i])(z, y),
    "one_hot": lambda z, y: (z * jax.nn.one_hot(y, V)).sum(-1),
    "two_dims": lambda z, y: z[rows()[:, None], jnp.arange(T), y],
    "flat": lambda z, y: z.reshape(-1, V)[jnp.arange(B * T), y.reshape(-1)],
    "turned": lambda z, y: z.T[y, rows()],
}
SEQUENCES = ("two_dims", "flat")
GRADIENTS = 4 * (D * 4 * D + 4 * D * V) + 16   # bytes that have to be added up, with some scalars; a row's scores are 64 or more


def module(name):
    shape = (B, T) if name in SEQUENCES else (B,)

    def loss(p, x, y):
        return -LOSSES[name](jax.nn.log_softmax(jax.nn.relu(x @ p["w"]) @ p["head"]), y).mean()
    return train(loss, {"w": f32(D, 4 * D), "head": f32(4 * D, V)}, f32(*shape, D), i32(*shape))


def check(name, folder):
    path, annotated, sums = (os.path.join(folder, file) for file in ("module.mlir", "annotated.mlir", "sums.json"))
    with open(path, "w") as file:
        file.write(module(name))
    toast = os.path.join(venv.BIN, "toast")
    found = json.loads(subprocess.run([toast, "analyze", path, "--json"], check=True, stdout=subprocess.PIPE).stdout)
    sizes = [group["size"] for group in found["groups"] if group["label"] == "batch"]
    if sizes != [B]:
        return f"the batch has {sizes}, not {B}"
    for mesh, plan in (({"data": 8}, "batch:data"), ({"data": 4, "model": 2}, "batch:data+batch:model")):
        subprocess.run([toast, "lower", path, "--mesh", ",".join(f"{k}={v}" for k, v in mesh.items()), "--baseline", plan, "--form",
                        "annotated", "-o", annotated, "--collectives", sums], check=True)
        with open(annotated) as file:
            moved = test_summands.compiled_bytes(file.read())
        with open(sums) as file:
            wanted = test_summands.planned_bytes(file, mesh)
        if sum(moved.values()) > wanted or wanted > GRADIENTS:
            return f"{mesh} {plan}: XLA moves {moved}, the plan {wanted:,} bytes, the gradients have {GRADIENTS:,}"
    return ""


def main():
    failures = 0
    for name in sys.argv[1:] or LOSSES:
        with tempfile.TemporaryDirectory() as folder:
            wrong = check(name, folder)
        print(f"FAILED {name}: {wrong}" if wrong else f"ok {name}", flush=True)
        failures += bool(wrong)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
