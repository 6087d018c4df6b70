#!/usr/bin/env python3
# label: unit
# timeout: 120
"""constraints_from_plan with an edited plan.json: what is written in it is planned with, what cannot be is refused where it stands in
that file, and a plan of another mesh is told."""
import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile

TOAST = os.path.join(os.environ["TOAST_BIN"], "toast")
MODULE = "tests/models/mlp.mlir"
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


with tempfile.TemporaryDirectory() as scratch:
    request = pathlib.Path(scratch) / "request.json"

    def toast_plan(**members):
        """status, stderr, plan.json, report.json"""
        request.write_text(json.dumps(dict(device="a100-40", **members)))
        run = subprocess.run([TOAST, "plan", MODULE, "--request", str(request), "-o", f"{scratch}/out", "--quiet", "--rollouts", "200"],
                             capture_output=True, text=True)
        if run.returncode != 0:
            return run.returncode, run.stderr, None, None
        return 0, run.stderr, *[json.loads((pathlib.Path(scratch) / "out" / f).read_text()) for f in ("plan.json", "report.json")]

    mesh = {"axes": [{"name": "a", "size": 4}, {"name": "b", "size": 2}]}
    _, _, made, _ = toast_plan(mesh=mesh)
    names = [a["name"] for a in made["arguments"]]
    status, said, again, report = toast_plan(constraints_from_plan=made)
    check(status == 0 and again["arguments"] == made["arguments"] and not report["warnings"], f"a plan as it is: {said}")

    edited = copy.deepcopy(made)
    edited["arguments"][1]["dims"] = [["b"], []] if made["arguments"][1]["dims"] != [["b"], []] else [[], ["b"]]
    status, said, again, _ = toast_plan(constraints_from_plan=edited)
    check(status == 0 and [a["dims"] for a in again["arguments"]] == [a["dims"] for a in edited["arguments"]], f"edited dims: {said}")
    own = [{"argument": names[1], "dims": made["arguments"][1]["dims"]}]
    status, said, again, _ = toast_plan(constraints_from_plan={"arguments": edited["arguments"][:2]}, mesh=mesh, constraints=own)
    check(status == 2 and "/constraints/0" in said or again["arguments"][1]["dims"] == own[0]["dims"], f"the request's own: {said}")

    def refused(change, where, what):
        wrong = copy.deepcopy(made)
        change(wrong["arguments"][1])
        status, said, _, _ = toast_plan(constraints_from_plan=wrong)
        check(status == 2 and f"/constraints_from_plan/arguments/1{where}: " in said and what in said, f"{where} {what}: {status} {said}")

    refused(lambda a: a.update(dims=[["a"], ["a"]]), "", "an axis twice")
    refused(lambda a: a.update(dims=[["c"], []]), "/dims/0/0", "no axis of this name")
    refused(lambda a: a.update(dims=[[]]), "", "has 2 dimensions, the constraint 1")
    refused(lambda a: a.update(name="nobody"), "", "no argument is named like this")
    refused(lambda a: a.update(dims="a"), "", '"name" and "dims" are needed')
    status, said, _, _ = toast_plan(constraints_from_plan=made, constraints=[{"argument": "nobody", "dims": []}])
    check(status == 2 and "/constraints/0: " in said, f"one's own constraint is counted by itself: {said}")

    other = {"axes": [{"name": "a", "size": 2}, {"name": "b", "size": 4}]}
    status, said, _, report = toast_plan(constraints_from_plan=made, mesh=other)
    check(status == 0 and sum("made for another module, mesh or build" in w for w in report["warnings"]) == 1, f"another mesh: {said} {report}")
print("failures:", len(failures))
sys.exit(1 if failures else 0)
