#!/usr/bin/env python3
# label: unit
# timeout: 200
"""Roles by vote: names are heard where nothing is donated, the request decides, plan.json says who did and is read without names;
--annotations, --combine-bytes, rules of custom calls and trip counts reach the plan or are refused."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOAST = os.path.join(os.environ["TOAST_BIN"], "toast")
failures = []

ATTENTION = """
func.func @main(%q: tensor<8x32x4x16xf32> loc("params['q']"), %x: tensor<8x32x4x16xf32> loc("batch['k']"), %w: tensor<16x16xf32> loc("w"))
    -> tensor<8x32x4x16xf32> {
  %s = stablehlo.dot_general %q, %x, batching_dims = [0, 2] x [0, 2], contracting_dims = [3] x [3]
      : (tensor<8x32x4x16xf32>, tensor<8x32x4x16xf32>) -> tensor<8x4x32x32xf32>
  %o = stablehlo.dot_general %s, %x, batching_dims = [0, 1] x [0, 2], contracting_dims = [3] x [1]
      : (tensor<8x4x32x32xf32>, tensor<8x32x4x16xf32>) -> tensor<8x4x32x16xf32>
  %t = stablehlo.transpose %o, dims = [0, 2, 1, 3] : (tensor<8x4x32x16xf32>) -> tensor<8x32x4x16xf32>
  %y = stablehlo.dot_general %t, %w, contracting_dims = [3] x [0]
      : (tensor<8x32x4x16xf32>, tensor<16x16xf32>) -> tensor<8x32x4x16xf32>
  return %y : tensor<8x32x4x16xf32>
}
"""

CALL = """
func.func @main(%x: tensor<64x256xf32> loc("x")) -> tensor<64x256xf32> {
  %a = stablehlo.tanh %x : tensor<64x256xf32>
  %b = stablehlo.custom_call @mine(%a) : (tensor<64x256xf32>) -> tensor<64x256xf32>
  %c = stablehlo.tanh %b : tensor<64x256xf32>
  return %c : tensor<64x256xf32>
}
"""

LOOP = """
func.func @main(%x: tensor<8xf32>, %n: tensor<i32>) -> tensor<8xf32> {
  %c = stablehlo.constant dense<0> : tensor<i32>
  %0:3 = stablehlo.while(%a = %x, %i = %c, %m = %n) : tensor<8xf32>, tensor<i32>, tensor<i32>
  cond {
    %p = stablehlo.compare LT, %i, %m : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %j = stablehlo.add %i, %one : tensor<i32>
    %b = stablehlo.add %a, %a : tensor<8xf32>
    stablehlo.return %b, %j, %m : tensor<8xf32>, tensor<i32>, tensor<i32>
  }
  return %0#0 : tensor<8xf32>
}
"""


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


def plan(folder, module, *arguments, status=(0, 3)):
    run = subprocess.run([TOAST, "plan", str(module), "-o", folder, "--mesh", "data=4,model=2", "--device", "a100-40", "--quiet",
                          "--rollouts", "40", *arguments], capture_output=True, text=True)
    check(run.returncode in status, f"{arguments}: {run.returncode} {run.stderr}")
    if run.returncode not in (0, 3):
        return run.stderr, None
    return [json.loads((pathlib.Path(folder) / name).read_text()) for name in ("plan.json", "report.json")]


with tempfile.TemporaryDirectory() as scratch:
    module = pathlib.Path(scratch) / "attention.mlir"
    module.write_text(ATTENTION)
    made, report = plan(f"{scratch}/names", module)
    by = {a["name"]: (a["role"], a["role_by"]) for a in made["arguments"]}
    check(by["params/q"] == ("parameter", "name"), f"a query called params/q is a parameter: {by}")
    check(by["batch/k"][0] == "data", f"what is called batch/k is data: {by}")
    check(made["roles"] == [{"argument": 0, "role": "parameter"}], f"roles for who reads the plan: {made.get('roles')}")
    check(any("params/q is taken as parameter by its name" in w for w in report["warnings"]), f"the vote is told: {report['warnings']}")
    # the plan is read where names are not known
    run = subprocess.run([TOAST, "lower", str(module), "--plan", f"{scratch}/names/plan.json", "--form", "local", "-o", f"{scratch}/l.mlir"],
                         capture_output=True, text=True)
    check(run.returncode == 0, f"a plan with roles is lowered: {run.stderr}")

    made, report = plan(f"{scratch}/asked", module, "--roles", "params/*=data,nothing=cache", "--combine-bytes", "4096")
    by = {a["name"]: (a["role"], a["role_by"]) for a in made["arguments"]}
    check(by["params/q"] == ("data", "request"), f"the request decides: {by}")
    check(any("nothing" in w and "matches no argument" in w for w in report["warnings"]), f"a pattern that names nothing: {report['warnings']}")
    check(made["walk"]["combine_bytes"] == 4096, f"combine_bytes: {made['walk']}")

    for wrong, word in ((["--roles", "params/*=weight"], "roles"), (["--roles", "params"], "NAME=ROLE"), (["--combine-bytes", "0"], "combine_bytes"),
                        (["--annotations", "sometimes"], "annotations")):
        said, _ = plan(f"{scratch}/wrong", module, *wrong, status=(2,))
        check(word in str(said), f"{wrong}: {said}")
    _, report = plan(f"{scratch}/ignored", module, "--annotations", "ignore")
    check(report is not None, "annotations of a module without any")

    # a custom call of which nothing is known is taken whole; with a rule in the request its rows are split
    call = pathlib.Path(scratch) / "call.mlir"
    call.write_text(CALL)
    request = pathlib.Path(scratch) / "rules.json"
    request.write_text(json.dumps({"rules": {"mine": "([i, j])->([i, j]) {i=64, j=256}"}}))
    batch = ["--planner", "propagate", "--pin", "x=data,-"]
    plan(f"{scratch}/opaque", call, *batch)
    ruled, report = plan(f"{scratch}/ruled", call, *batch, "--request", str(request))
    gathers = {name: json.loads((pathlib.Path(scratch) / name / "report.json").read_text())["collectives"] for name in ("opaque", "ruled")}
    check(any(c["kind"] == "all_gather" for c in gathers["opaque"]), f"without a rule the operand is gathered: {gathers['opaque']}")
    check(not any(c["kind"] == "all_gather" for c in gathers["ruled"]), f"with a rule it is not: {gathers['ruled']}")
    check(ruled["rules"] == {"mine": "([i, j])->([i, j]) {i=64, j=256}"}, f"the plan says by which rule: {ruled.get('rules')}")
    run = subprocess.run([TOAST, "price", str(call), "--plan", f"{scratch}/ruled/plan.json"], capture_output=True, text=True)
    check(run.returncode in (0, 3), f"a plan with rules is priced: {run.stderr}")
    for rule, says in (({"mine": "([i, j])->([i, j]) {i=64, j=128}"}, "has a sharding rule of other tensors"),
                       ({"mine": "([i, j], [i])->([i, j])"}, "has a sharding rule of other tensors"),
                       ({"mine": "([i, j])->([i, j])", "theirs": "([i])->([i])"}, "no custom call has the target theirs")):
        request.write_text(json.dumps({"rules": rule}))
        _, report = plan(f"{scratch}/idle", call, *batch, "--request", str(request))
        check(sum(says in w for w in report["warnings"]) == 1, f"{rule}: {report['warnings']}")
    request.write_text(json.dumps({"rules": {"mine": "rows"}}))
    said, _ = plan(f"{scratch}/wrong", call, *batch, "--request", str(request), status=(2,))
    check("/rules/mine" in str(said), f"a rule that is none: {said}")

    # a location that is a path names its argument, however it is written; a place in a file does not
    for location, name in (("params['x'].w[0]", "params/x/w/0"), ("params/x.w/0", "params/x/w/0"), ("model/x.py:3", "arg0"), ("jit(f)/x", "arg0")):
        call.write_text(CALL.replace('loc("x")', f'loc("{location}")'))
        named, _ = plan(f"{scratch}/named", call)
        check(named["arguments"][0]["name"] == name, f"{location}: {named['arguments'][0]['name']}")

    # a count of iterations that would have no effect is refused by the loop's name
    endless, counted = pathlib.Path(scratch) / "endless.mlir", pathlib.Path(scratch) / "counted.mlir"
    endless.write_text(LOOP)
    counted.write_text(LOOP.replace("%p = stablehlo.compare LT, %i, %m", "%five = stablehlo.constant dense<5> : tensor<i32>\n"
                                    "    %p = stablehlo.compare LT, %i, %five"))
    for loop, where, count, says in ((endless, "while@4", 3, None), (endless, "while@99", 3, "no loop at 'while@99'"),
                                     (counted, "while@4", 5, None), (counted, "while@4", 3, "runs 5 times")):
        request.write_text(json.dumps({"trip_counts": {where: count}}))
        said, report = plan(f"{scratch}/loop", loop, "--request", str(request), status=(2,) if says else (0, 3))
        check(says in str(said) and "/trip_counts/" + where in str(said) if says else report is not None, f"{where} {count}: {said}")
print("failures:", len(failures))
sys.exit(1 if failures else 0)
