#!/usr/bin/env python3
# label: unit
"""Parameters of convolutions stored over two axes (a U-Net of 3.6 B parameters whose norms part the channels into eight groups): each device's part is
a block of the parameter, so that nothing is exchanged before a use and behind an update; each kernel is gathered once, for the forward pass and,
reversed where it lies, for the backward pass: as many bytes as its gradients have, which are scattered over the same axes."""
import json
import os
import subprocess
import sys

MODEL = os.path.join(os.environ["TOAST_SOURCE"], "tests/models/unet.mlir.gz")
done = subprocess.run([os.path.join(os.environ["TOAST_BIN"], "toast"), "price", MODEL, "--mesh", "data=4,model=4", "--device", "h100",
                       "--baseline", "fsdp:data+fsdp:model", "--json"], capture_output=True, text=True)
if done.returncode:
    sys.exit(done.stderr)
moved = {(row["kind"], *row["axes"]): row["bytes"] for row in json.loads(done.stdout)["collectives"]}
print(moved)
if any(kind[0] in ("all_to_all", "collective_permute") for kind in moved):
    sys.exit("parts of parameters are exchanged")
for axis in ("data", "model"):   # a gather's result is as large as a reduce_scatter's operand
    gathered, scattered = moved["all_gather", axis], 4 * moved["reduce_scatter", axis]
    if not scattered <= gathered <= 1.01 * scattered:
        sys.exit(f"{axis}: {gathered} bytes are gathered, {scattered} scattered")
