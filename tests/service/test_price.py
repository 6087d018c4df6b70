#!/usr/bin/env python3
# label: service
# timeout: 120
"""POST /v1/price: plans, experts' plans and constraints priced without a search, in a process of their own each."""
import gzip
import json
import os
import pathlib
import signal
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

MODELS = harness.SOURCE / "tests" / "models"
MODEL = (MODELS / "mlp.mlir").read_text()
MESH = {"axes": [{"name": "data", "size": 2}, {"name": "model", "size": 2}]}
REQUEST = {"module": {"inline": MODEL}, "mesh": MESH, "device": "a100-40"}


def price(service, request, status=200):
    got, body = service.json("POST", "/v1/price", request)
    assert got == status, (got, body)
    return body


def pointer(problem):
    return problem.get("errors", [{"pointer": problem}])[0]["pointer"]


def test_prices():
    service = harness.Service(workers=1)
    try:
        job = service.json("POST", "/v1/jobs", dict(REQUEST, budget={"rollouts": 200}))[1]
        assert service.wait(job["id"])["state"] == "succeeded"
        plan = service.json("GET", f"/v1/jobs/{job['id']}/plan")[1]
        report = service.json("GET", f"/v1/jobs/{job['id']}/artifacts/report.json")[1]
        # a job's plan, posted back, has the price the job found for it, and the same decisions
        whole = price(service, {"plan": plan})
        assert whole["price"]["step_ps"] == report["summary"]["step_ps"] and whole["plan_hash"] == plan["hash"]
        assert whole["price"]["peak_bytes"] == report["summary"]["peak_bytes"]
        assert whole["plan"]["decisions"] == plan["decisions"] and whole["plan"]["arguments"] == plan["arguments"]
        assert whole["report"]["collectives"] == report["collectives"]
        assert price(service, {"plan": whole["plan"]}) == whole      # and what comes back may be posted again
        short = price(service, {"plan": plan, "report": False})
        assert short == {"price": whole["price"], "plan_hash": plan["hash"]}
        # every expert's plan of the job's report has the same price here
        assert len(report["baselines"]) > 3
        for b in report["baselines"][:6]:
            got = price(service, dict(REQUEST, baseline=b["name"], report=False))["price"]
            assert (got["step_ps"], got["peak_bytes"]) == (b["step_ps"], b["peak_bytes"]), b
        # edited and priced again: without its first decision it costs what that decision is worth
        edited = dict(plan, decisions=plan["decisions"][1:])
        del edited["hash"]
        got = price(service, {"plan": edited})
        assert got["price"]["step_ps"] - report["summary"]["step_ps"] == plan["decisions"][0]["worth_ps"], (got["price"], plan)
        assert got["plan_hash"] != plan["hash"]
        # edited dims are no edit of the plan: refused by name, with the hash and without
        wrong = json.loads(json.dumps(plan))
        place = next(i for i, a in enumerate(wrong["arguments"]) if any(a["dims"]))
        wrong["arguments"][place]["dims"] = [[] for _ in wrong["arguments"][place]["dims"]]
        for gone in ((), ("hash",)):
            wrong = {k: v for k, v in wrong.items() if k not in gone}
            status, problem = service.json("POST", "/v1/price", {"plan": wrong})
            assert status == 422 and problem["code"] == "invalid_plan" and pointer(problem) == f"/plan/arguments/{place}/dims", problem
        wrong = json.loads(json.dumps(plan))
        for result in wrong["results"]:
            result.pop("partition_spec")
        edited = next(r for r in wrong["results"] if any(r["dims"]))
        edited["dims"] = [[] for _ in edited["dims"]]
        status, problem = service.json("POST", "/v1/price", {"plan": wrong})
        assert status == 422 and pointer(problem).endswith(f"/results/{edited['index']}/dims"), problem
        # with their spec edited, too, and no hash, they are not priced and the report says so
        wrong = json.loads(json.dumps(plan))
        edited = next(a for a in wrong["arguments"] if any(a["dims"]))
        edited.update(dims=[[] for _ in edited["dims"]], partition_spec="PartitionSpec()")
        del wrong["hash"]
        got = price(service, {"plan": wrong})
        assert got["plan_hash"] == plan["hash"] and f"/arguments/{edited['index']}/dims" in got["report"]["warnings"][-1], got["report"]["warnings"]
        assert not any("/dims" in warning for warning in whole["report"]["warnings"])
        # nothing said is unsharded; another device and limit are the request's to say
        alone = price(service, dict(REQUEST, module=job["module"]))
        assert alone["price"]["step_ps"] == alone["price"]["unsharded_step_ps"] and alone["plan"]["decisions"] == []
        faster = price(service, {"plan": plan, "device": "h100", "memory_limit_bytes": 1})["price"]
        assert faster["step_ps"] < whole["price"]["step_ps"] and not faster["fits"]
        # constraints, alone and completed
        name = plan["arguments"][0]["name"]
        rank = len(plan["arguments"][0]["dims"])
        pins = [{"argument": name, "dims": [["model"]] + [None] * (rank - 1)}]
        pinned = price(service, dict(REQUEST, constraints=pins))
        assert pinned["plan"]["pins"] == pins and pinned["plan"]["arguments"][0]["dims"][0] == ["model"]
        completed = price(service, dict(REQUEST, constraints=pins, planner="propagate"))
        assert completed["plan"]["pins_completed"] and completed["plan_hash"] != pinned["plan_hash"]
        assert price(service, {"plan": completed["plan"]})["price"] == completed["price"]
        # a plan's shardings as the constraints of another search: they stand, and with nothing left to decide it costs the same
        fixed = {"module": job["module"], "device": "a100-40", "constraints_from_plan": plan, "budget": {"rollouts": 50}}
        status, again = service.json("POST", "/v1/jobs", fixed)
        assert status in (200, 202), again
        assert service.wait(again["id"])["state"] == "succeeded"
        kept = service.json("GET", f"/v1/jobs/{again['id']}/plan")[1]
        assert [a["dims"] for a in kept["arguments"] + kept["results"]] == [a["dims"] for a in plan["arguments"] + plan["results"]]
        assert len(kept["pins"]) == len(plan["arguments"]) + len(plan["results"])
        assert price(service, {"plan": kept})["plan_hash"] == kept["hash"]
        found = service.json("GET", f"/v1/jobs/{again['id']}/artifacts/report.json")[1]["summary"]
        assert found["step_ps"] <= report["summary"]["step_ps"], (found, report["summary"])
        # completed by propagation: the same plan, unless propagation alone is better
        status, same = service.json("POST", "/v1/jobs", {**fixed, "planner": "propagate"})
        assert status == 202 and service.wait(same["id"])["state"] == "succeeded", same
        got = service.json("GET", f"/v1/jobs/{same['id']}/plan")[1]
        assert got["hash"] == plan["hash"] or got["found_by"] != "constraints_from_plan", (got["hash"], plan["hash"], got["found_by"])
        got = service.json("GET", f"/v1/jobs/{same['id']}/artifacts/report.json")[1]["summary"]
        assert got["step_ps"] <= report["summary"]["step_ps"] and got["peak_bytes"] <= max(report["summary"]["peak_bytes"], got["memory_limit_bytes"])
        fixed["constraints_from_plan"] = dict(plan, arguments=[1])
        status, problem = service.json("POST", "/v1/jobs", fixed)
        assert status == 422 and pointer(problem) == "/constraints_from_plan/arguments/0", problem
        # as parts
        body, headers = harness.multipart({"module": gzip.compress(MODEL.encode()), "plan": json.dumps(plan).encode()})
        status, _, data = service.request("POST", "/v1/price", body, headers)
        assert status == 200 and json.loads(data) == whole
        body, headers = harness.multipart({"module": MODEL.encode(), "request": json.dumps(
            {"mesh": MESH, "device": "a100-40", "baseline": report["baselines"][0]["name"]}).encode()})
        status, _, data = service.request("POST", "/v1/price", body, headers)
        assert status == 200 and json.loads(data)["report"]["summary"]["found_by"] == f"baseline {report['baselines'][0]['name']}"
    finally:
        service.close()


def shards(plan, group):
    """over which axes the plan's arguments have the dimension, each way once"""
    return {tuple(axes) for a in plan["arguments"] for axes, groups in zip(a["dims"], a["groups"], strict=True) if groups == [group]}


def test_cuts():
    """a dimension of a given plan cut otherwise: by that, nothing else said, and what is answered is a plan again"""
    service = harness.Service(workers=1)
    try:
        request = dict(REQUEST, module={"inline": (MODELS / "small/t2b.mlir").read_text()})
        base = price(service, dict(request, baseline="fsdp:data+megatron:model"))
        plan = base["plan"]
        groups = {name for a in plan["arguments"] for dim in a["groups"] for name in dim}
        assert {"batch", "embed", "ffn", "heads", "vocab"} <= groups, groups
        assert ("model",) in shards(plan, "ffn")
        for cut, wanted in (([], ()), (["data"], ("data",)), (["model", "data"], ("model", "data"))):
            got = price(service, {"plan": plan, "module": request["module"], "cut": {"ffn": cut}})
            assert shards(got["plan"], "ffn") == {wanted}, (cut, got["plan"]["arguments"])
            assert got["price"]["step_ps"] != base["price"]["step_ps"] and got["plan_hash"] != plan["hash"]
            again = price(service, {"plan": got["plan"], "module": request["module"]})
            assert (again["price"], again["plan_hash"]) == (got["price"], got["plan_hash"])
        # as it is: the same plan, from an expert's name as well; several at once; none of the plan's own
        same = price(service, {"plan": plan, "module": request["module"], "cut": {"ffn": ["model"]}})
        named = price(service, dict(request, baseline="fsdp:data+megatron:model", cut={"ffn": ["model"]}))
        assert same["price"] == named["price"] and shards(same["plan"], "ffn") == {("model",)}
        both = price(service, dict(request, cut={"batch": ["data"], "vocab": ["model"]}))["plan"]
        assert shards(both, "vocab") == {("model",)} and [d["group"] for d in both["decisions"]] == ["batch", "vocab"]
        for cut, where, says in (({"nothing": ["data"]}, "/cut/nothing", "no dimension named"), ({"ffn": ["pipe"]}, "/cut/ffn/0", "no axis"),
                                 ({"ffn": "data"}, "/cut/ffn", "array"), (["ffn"], "/cut", "object"), ({"ffn": ["data", "data"]}, "/cut/ffn/1", "cannot be cut")):
            problem = price(service, {"plan": plan, "module": request["module"], "cut": cut}, 422)
            assert pointer(problem) == where and says in json.dumps(problem), problem
    finally:
        service.close()


def test_factors():
    """plans with factors that no decision gives (another planner's, a person's) have their report as well"""
    service = harness.Service(workers=1)
    try:
        job = service.json("POST", "/v1/jobs", dict(REQUEST, planner="segments", no_baselines=True, budget={"rollouts": 1}))[1]
        assert service.wait(job["id"])["state"] == "succeeded"
        plan = service.json("GET", f"/v1/jobs/{job['id']}/plan")[1]
        report = service.json("GET", f"/v1/jobs/{job['id']}/artifacts/report.json")[1]
        assert plan["factors"] and not plan["decisions"], plan
        whole = price(service, {"plan": plan})
        assert whole["plan_hash"] == plan["hash"] and whole["plan"]["factors"] == plan["factors"]
        assert whole["plan"]["arguments"] == plan["arguments"] and whole["report"]["collectives"] == report["collectives"]
        assert whole["report"]["summary"]["step_ps"] == report["summary"]["step_ps"] == whole["price"]["step_ps"]
        assert price(service, {"plan": whole["plan"]}) == whole
        # a person's edit: one factor less; a factor beside decisions, each still worth what leaving it out costs
        edited = dict(plan, factors=plan["factors"][:-1])
        del edited["hash"]
        less = price(service, {"plan": edited})
        assert less["report"]["summary"]["step_ps"] == less["price"]["step_ps"] and less["plan"]["hash"] == less["plan_hash"] != plan["hash"]
        decided = price(service, dict(REQUEST, baseline="batch:data"))["plan"]
        mixed = 0
        for factor in [{"op": f["op"], "factor": k, "axes": ["model"]} for f in plan["factors"][:3] for k in range(2)]:
            beside = dict(decided, factors=[factor])
            del beside["hash"]
            status, got = service.json("POST", "/v1/price", {"plan": beside})
            assert status == 200 or got["code"] == "invalid_plan", got     # it may not divide
            if status == 200:
                mixed += 1
                assert got["plan"]["factors"] == [factor] and got["plan"]["hash"] == got["plan_hash"]
                without = price(service, {"plan": dict(beside, decisions=decided["decisions"][1:])})
                assert (without["price"]["step_ps"] - got["price"]["step_ps"] == got["plan"]["decisions"][0]["worth_ps"]
                        == got["report"]["decisions"][0]["worth_ps"]), got["plan"]["decisions"]
        assert mixed, plan["factors"]
        # a dimension left whole: its factors go, the others stay
        group = next(g for a in plan["arguments"] for axes, groups in zip(a["dims"], a["groups"], strict=True) if axes for g in groups)
        got = price(service, {"plan": plan, "cut": {group: []}})["plan"]
        assert shards(got, group) == {()} and len(got["factors"]) < len(plan["factors"])
        assert price(service, {"plan": got})["plan_hash"] == got["hash"]
    finally:
        service.close()


def test_refusals():
    service = harness.Service()
    try:
        plan = price(service, dict(REQUEST, baseline="batch:data"))["plan"]
        for request, code, where in [
                ({}, 422, "/module"),
                (dict(REQUEST, mesh=None), 422, "/mesh"),
                (dict(REQUEST, seed=1), 422, "/seed"),
                (dict(REQUEST, planner="mcts"), 422, "/planner"),
                (dict(REQUEST, baseline="nobody:data"), 422, "/baseline"),
                (dict(REQUEST, baseline=1), 422, "/baseline"),
                (dict(REQUEST, report="yes"), 422, "/report"),
                (dict(REQUEST, module="sha256:" + "0" * 64), 422, "/module"),
                (dict(REQUEST, constraints=[{"argument": "nothing*", "dims": []}]), 422, "/constraints/0"),
                (dict(REQUEST, plan=plan), 422, "/mesh"),
                ({"plan": plan, "baseline": "batch:data"}, 422, "/baseline"),
                ({"plan": []}, 422, "/plan"),
                ({"plan": dict(plan, decisions=7)}, 422, "/plan/decisions"),
                ({"plan": dict(plan, mesh={"axes": [{"name": "data", "size": 0}]})}, 422, "/plan/mesh/axes"),
                ({"plan": dict(plan, extra=1)}, 422, "/plan/extra")]:
            problem = price(service, request, code)
            assert pointer(problem) == where, (request, problem)
        assert price(service, {"plan": dict(plan, hash="0" * 32)}, 422)["code"] == "invalid_plan"
        # what is wrong in the module has its line and column
        broken = MODEL.replace("stablehlo.", "stablehlo.no_such_", 1)
        line = 1 + broken[:broken.index("no_such_")].count("\n")
        problem = price(service, dict(REQUEST, module={"inline": broken}), 422)
        assert (problem["code"], problem["line"]) in (("invalid_module", line), ("unsupported_module", line)), problem
        assert problem["column"] > 0
        for text in ("x", "module {", "\x01", MODEL[:len(MODEL) // 2], "(" * 100000, "module @m { " * 2000):
            assert price(service, dict(REQUEST, module={"inline": text}), 422)["line"] > 0, text[:20]
        assert service.request("POST", "/v1/price", "{", {"Content-Type": "application/json"})[0] == 400
        assert service.request("POST", "/v1/price", "{}", {"Content-Type": "text/plain"})[0] == 415
        for parts in ({"module": b"x"}, {"request": b"{}", "other": b""}):
            body, headers = harness.multipart(parts)
            assert service.request("POST", "/v1/price", body, headers)[0] == 422
        assert service.request("GET", "/livez")[0] == 200
    finally:
        service.close()


def children(pid):
    """processes whose parent is pid"""
    out = []
    for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            out.append(int(stat.parent.name))
    return out


def test_processes():
    """many at once; a child that dies costs one request; a server that ends takes its children along; the second time needs no
    reading"""
    service = harness.Service()
    try:
        digest = json.loads(service.request("POST", "/v1/modules", gzip.decompress((MODELS / "t2b.mlir.gz").read_bytes()))[2])["module"]
        request = {"module": digest, "mesh": {"axes": [{"name": "data", "size": 8}, {"name": "model", "size": 8}]},
                   "device": "a100-40", "baseline": "fsdp:data"}
        answers = []

        def ask():
            answers.append(service.json("POST", "/v1/price", request)[0])

        def ask_and(action):
            asks = threading.Thread(target=ask)
            asks.start()
            until = harness.deadline(20)
            while not (running := children(service.server.pid)) and time.monotonic() < until:
                time.sleep(0.002)
            action(running)
            asks.join(30)

        ask_and(lambda running: [os.kill(pid, signal.SIGKILL) for pid in running])
        assert answers == [503] and service.request("GET", "/livez")[0] == 200
        ask_and(lambda running: [os.kill(pid, signal.SIGSEGV) for pid in running])
        assert answers == [503, 500], answers   # no limit was reached by either
        ask()
        images = service.redis_cli("KEYS", "{t}:img:*").split("\n")
        assert answers[-1] == 200 and len(images) == 1, (answers, images)
        # the image may be gone, or be something else: it is made again, never believed
        for image in ("0" * 64, digest[7:]):
            service.redis_cli("SET", images[0], image)
            ask()
            assert answers.pop() == 200
            assert service.redis_cli("GET", images[0]) != image
        threads = [threading.Thread(target=ask) for _ in range(12)]
        for t in threads:
            t.start()
        assert service.request("GET", "/livez")[0] == 200
        for t in threads:
            t.join(60)
        assert answers[3:] == [200] * 12, answers
        ask_and(lambda running: service.server.terminate())
        service.server.wait(10)
        assert answers[-1] in (200, 503) and len(answers) == 16
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_prices, test_cuts, test_factors, test_refusals, test_processes])
