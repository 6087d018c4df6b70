#!/usr/bin/env python3
# label: service
# timeout: 120
"""GET /v1/compare and toast diff: jobs and files side by side."""
import json
import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

MODEL = (harness.SOURCE / "tests" / "models" / "mlp.mlir").read_text()
REQUEST = {"module": {"inline": MODEL}, "mesh": {"axes": [{"name": "data", "size": 2}, {"name": "model", "size": 2}]},
           "device": "a100-40", "budget": {"rollouts": 100}}


def test_compare():
    service = harness.Service(workers=1)
    try:
        ids = [service.json("POST", "/v1/jobs", dict(REQUEST, **more))[1]["id"] for more in (
            {}, {"device": "h100"}, {"constraints": [{"argument": "*", "dims": [[]]}], "planner": "propagate"},
            {"planner": "baselines", "outputs": ["plan"]})]
        for job in ids:
            assert service.wait(job)["state"] in ("succeeded", "failed"), service.wait(job)
        ids = [job for job in ids if service.wait(job)["state"] == "succeeded"]
        assert len(ids) >= 3
        plans = [service.json("GET", f"/v1/jobs/{job}/plan")[1] for job in ids]
        status, both = service.json("GET", "/v1/compare?jobs=" + ",".join(ids[:2]))
        assert status == 200 and [i["name"] for i in both["items"]] == ids[:2], both
        assert both["items"][1]["device"] == "h100" and both["items"][0]["plan_hash"] == plans[0]["hash"]
        reports = [service.json("GET", f"/v1/jobs/{job}/artifacts/report.json")[1] for job in ids[:2]]
        assert [i["summary"] for i in both["items"]] == [r["summary"] for r in reports]
        costs = [r["summary"]["cost"] for r in reports]
        assert costs[both["best"]] == min(costs)
        for at in range(2):
            rows = [r for r in both["decisions"] if r["values"][at]]
            rows.sort(key=lambda r: r["values"][at]["position"])
            assert [(r["group"], r["axis"], r["values"][at]["worth_ps"]) for r in rows] == [
                (d["group"], d["axis"], d["worth_ps"]) for d in plans[at]["decisions"]]
            times = sum(r["values"][at]["time_ps"] for r in both["collectives"] if r["values"][at])
            assert times == sum(c["time_ps"] for c in reports[at]["collectives"])
        differ = {(r["kind"], r["index"]) for r in both["tensors"]}
        for kind, name in (("argument", "arguments"), ("result", "results")):
            for a, b in zip(plans[0][name], plans[1][name]):
                assert ((kind, a["index"]) in differ) == (a["dims"] != b["dims"]), a
        # the same plan twice differs in nothing; a job without a report has no price
        status, whole = service.json("GET", "/v1/compare?jobs=" + ",".join(ids))
        assert status == 200 and len(whole["items"]) == len(ids) and all(len(r["values"]) == len(ids) for r in whole["tensors"])
        assert whole["items"][-1]["summary"] is None
        # refusals
        for jobs in ("", ids[0], ids[0] + "," + ids[0], ids[0] + ",-x", ",".join(ids[:2]) + ",", ",".join([ids[0]] * 9), "," * 300):
            status, problem = service.json("GET", f"/v1/compare?jobs={jobs}")
            assert status == 400 and problem["errors"][0]["pointer"] == "jobs", (jobs, problem)
        assert service.json("GET", "/v1/compare")[0] == 400
        assert service.json("GET", f"/v1/compare?jobs={ids[0]},{ids[1][:-3]}000")[0] == 404
        service.workers[0].terminate()
        service.workers[0].wait()
        waiting = service.json("POST", "/v1/jobs", dict(REQUEST, seed=9))[1]["id"]
        assert service.json("GET", f"/v1/compare?jobs={ids[0]},{waiting}")[0] == 409
        # the command line says the same, of jobs and of files
        environment = dict(os.environ, TOAST_URL=f"http://127.0.0.1:{service.port}")

        def toast(*arguments, status=0):
            done = subprocess.run([harness.BIN / "toast", *arguments], capture_output=True, text=True, env=environment)
            assert done.returncode == status, done
            return done.stdout

        assert json.loads(toast("diff", *ids[:2], "--json")) == both
        with tempfile.TemporaryDirectory() as folder:
            for name, job in zip("ab", ids):
                toast("fetch", job, "-o", f"{folder}/{name}")
            files = json.loads(toast("diff", f"{folder}/a", f"{folder}/b/plan.json", "--json"))
            for item, other in zip(files["items"], both["items"]):
                other.pop("state"), other.pop("name"), item.pop("name")
            assert files == both
            text = toast("diff", f"{folder}/a", f"{folder}/b")
            assert "found by" in text and plans[0]["decisions"][0]["group"] in text, text
            assert max(map(len, text.split("\n"))) <= 110
            same = json.loads(toast("diff", f"{folder}/a", f"{folder}/a", "--json"))
            assert same["tensors"] == []
            (open(f"{folder}/a/plan.json", "w")).write("[1]")
            toast("diff", f"{folder}/a", f"{folder}/b", status=2)
        toast("diff", ids[0], status=2)
        toast("diff", ids[0], "j_" + "0" * 26, status=2)
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_compare])
