#!/usr/bin/env python3
# label: truth
# timeout: 600
"""Our model of propagation says what Shardy says, value by value.

`toast lower --form specs --propagated` writes beside each op the shardings that our model gives its results. They are taken away, Shardy's
own passes (which jaxlib has) propagate what arguments, results and constraints say, and every value is compared. Experts' plans and random
ones. Arguments: numbers of cases.
"""
import os
import re
import subprocess
import sys

import venv

venv.enter()

from jax._src.interpreters import mlir  # noqa: E402
from jaxlib.mlir import ir  # noqa: E402
from jaxlib.mlir.passmanager import PassManager  # noqa: E402

CASES = [(name, mesh, ["--baseline", plan], form) for name, mesh, plan, form in [
    ("t2b", "data=4,model=2", "fsdp:data+megatron:model", "specs"),
    ("t2b", "data=4,model=2", "fsdp:data+megatron:model", "constrained"),
    ("t2b_flat", "data=2,model=4", "fsdp:data+megatron:model", "specs"),
    ("t2b_scan", "data=4,model=2", "fsdp:data+megatron:model", "specs"),
    ("gpt", "data=4,model=2", "fsdp:data+megatron:model", "specs"),
    ("gpt_torch", "data=4,model=2", "fsdp:data+megatron:model", "specs"),
    ("itx", "data=4,model=2", "fsdp:data+megatron:model", "specs"),
    ("gns", "data=4,model=2", "fsdp:data+edge:model", "specs"),
    ("unet", "data=4,model=2", "fsdp:data+megatron:model", "specs"),
    ("../t2b.mlir.gz", "data=4,model=4", "fsdp:data+fsdp:model", "constrained"),   # 18 layers: a list that is found on the fold
]] + [(name, "a=2,b=2,c=2", ["--random-plan", str(seed)], "specs")
      for name in ("t2b_remat", "gpt_torch", "gns") for seed in (1, 2)]
# these have no sharding rule of their own in Shardy: XLA takes them apart before, or Shardy asks for their bodies
NOT_COMPARED = re.compile(r"chlo\.|sdy\.|func\.|stablehlo\.(constant|iota|while|case|return|optimization_barrier)")


def operations(module):
    def walk(block):
        for op in block.operations:
            yield op.operation
            for region in op.operation.regions:
                for inner in region.blocks:
                    yield from walk(inner)

    for function in module.body.operations:
        if function.operation.name == "func.func":
            for region in function.operation.regions:
                for block in region.blocks:
                    yield from walk(block)


def shardings(op):
    """[[axes of each dim] of each result], nothing where nothing is split"""
    if "sdy.sharding" not in op.attributes:
        return None
    values = [[re.findall(r'"(\w+)"', dim) for dim in re.findall(r"\{([^}]*)\}", dims)]
              for dims in re.findall(r"<@mesh, \[(.*?)\](?:, replicated=\{[^}]*\})?>", str(op.attributes["sdy.sharding"]))]
    return values if any(axes for value in values for axes in value) else None


def compare(text):
    with mlir.make_ir_context():
        module = ir.Module.parse(text)
        ours = []
        for number, op in enumerate(operations(module)):
            ours.append(shardings(op) if not NOT_COMPARED.match(op.name) else None)
            if "sdy.sharding" in op.attributes and op.name != "sdy.sharding_constraint":
                del op.attributes["sdy.sharding"]
            op.attributes["toast.number"] = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
        PassManager.parse("builtin.module(sdy-propagation-pipeline)").run(module.operation)
        compared, split, different = 0, 0, []
        for op in operations(module):
            if "toast.number" not in op.attributes or NOT_COMPARED.match(op.name):
                continue
            mine, theirs = ours[ir.IntegerAttr(op.attributes["toast.number"]).value], shardings(op)
            compared += 1
            split += theirs is not None
            if mine != theirs:
                different.append(f"{op.name} {op.results[0].type if op.results else ''}: ours {mine}, Shardy's {theirs}")
        return compared, split, different


def main():
    failures = 0
    for name, mesh, plan, form in [CASES[int(i)] for i in sys.argv[1:]] or CASES:
        model = os.path.join(venv.SOURCE, "tests", "models", "small", name if "." in name else f"{name}.mlir")
        text = subprocess.run([os.path.join(venv.BIN, "toast"), "lower", model, "--mesh", mesh, *plan, "--form", form, "--propagated"],
                              check=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True).stdout
        compared, split, different = compare(text)
        failures += bool(different) or split < 20
        print(f"{'FAILED' if different else 'ok'} {name} {mesh} {plan[1]} {form}: {len(different)} of {compared} ops differ, {split} are split",
              *different[:5], sep="\n    ", flush=True)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
