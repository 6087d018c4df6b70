#!/usr/bin/env python3
# label: service
# timeout: 120
"""Device profiles: versions, who sees them, and that what was measured really changes prices, digests and plans."""
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

MODEL = (harness.SOURCE / "tests" / "models" / "mlp.mlir").read_text()
MESH = {"axes": [{"name": "data", "size": 2}, {"name": "model", "size": 2}]}
KINDS = ("all_gather", "all_reduce", "reduce_scatter", "all_to_all", "collective_permute")


def profile(us, **more):
    """every collective over 2 and 4 devices takes `us` microseconds up to a megabyte"""
    return dict({"collectives": [{"kind": kind, "devices": n, "points": [[1, us], [1 << 20, us]]}
                                 for kind in KINDS for n in (2, 4)]}, **more)


def test_versions():
    service = harness.Service()
    try:
        assert service.json("GET", "/v1/profiles") == (200, {"profiles": []})
        assert service.json("GET", "/v1/profiles/our-pod")[0] == 404
        first, second = profile(10, description="before"), profile(20)
        status, body = service.json("PUT", "/v1/profiles/our-pod", first)
        assert status == 201 and (body["version"], body["profile"]) == (1, first), body
        assert service.json("PUT", "/v1/profiles/our-pod", dict(first, name="ignored", version=7))[1]["version"] == 1
        status, body = service.json("PUT", "/v1/profiles/our-pod", second)
        assert (status, body["version"]) == (200, 2)
        status, headers, data = service.request("GET", "/v1/profiles/our-pod")
        assert json.loads(data)["profile"] == second and headers["etag"] == '"v2"'
        assert service.request("GET", "/v1/profiles/our-pod", headers={"If-None-Match": '"v2"'})[0] == 304
        assert service.json("GET", "/v1/profiles/our-pod?version=1")[1]["profile"] == first
        for i in range(12):
            service.json("PUT", "/v1/profiles/our-pod", profile(100 + i))
        assert service.json("GET", "/v1/profiles/our-pod")[1]["version"] == 14
        assert service.json("GET", "/v1/profiles/our-pod?version=5")[0] == 200
        assert service.json("GET", "/v1/profiles/our-pod?version=4")[0] == 404
        for version in ("0", "x", "-1", "1.0", ""):
            assert service.json("GET", f"/v1/profiles/our-pod?version={version}")[0] == 400, version
        service.json("PUT", "/v1/profiles/another", {})
        assert service.json("GET", "/v1/profiles")[1]["profiles"] == [
            {"name": "another", "version": 1, "href": "/v1/profiles/another"},
            {"name": "our-pod", "version": 14, "href": "/v1/profiles/our-pod"}]
        # timings of segments are kept as they came, and are part of what a job's digest covers
        timed = {"segments": [{"segment": f"{s:032x}", "configurations": [
            {"configuration": f"{s}-{c}", "time_us": 10.5 * c + s, "computation_us": 8 * c, "communication_us": 2.5 * c + s, "peak_bytes": c << 20,
             "runs": 10} for c in range(60)]} for s in range(3)]}   # the paper's layer: some 180 programs
        status, body = service.json("PUT", "/v1/profiles/timed", timed)
        assert status == 201 and body["profile"] == timed, body
        assert service.json("GET", "/v1/profiles/timed")[1]["profile"] == timed
        asked = {"module": {"inline": MODEL}, "mesh": MESH, "device": {"base": "a100-40", "profile": "timed"}, "dry_run": True}
        digests = {service.json("POST", "/v1/jobs", asked)[1]["digest"]}
        timed["segments"][2]["configurations"][59]["time_us"] += 1
        assert service.json("PUT", "/v1/profiles/timed", timed)[1]["version"] == 2
        status, dry = service.json("POST", "/v1/jobs", asked)
        assert status == 200 and len(digests | {dry["digest"]}) == 2, dry
        for name in (".hidden", "a@1", "a:b", "x" * 64, "a%20b", "a%3Ab"):
            assert service.json("PUT", f"/v1/profiles/{name}", {})[0] in (400, 404), name
        for wrong, where in [([], ""), ({"x": 1}, "/x"), ({"flops": {"bf16": 0}}, "/flops/bf16"), ({"flops": {"b": 1}}, "/flops/b"),
                             ({"memory_bytes_per_s": "x"}, "/memory_bytes_per_s"), ({"collectives": {}}, "/collectives"),
                             ({"collectives": [{"kind": "gossip", "devices": 2, "points": [[1, 1]]}]}, "/collectives/0/kind"),
                             ({"collectives": [{"kind": "collective_permute", "points": [[1, 1]]}]}, "/collectives/0/devices"),
                             ({"collectives": [{"kind": "collective_permute", "devices": 2, "points": []}]}, "/collectives/0/points"),
                             ({"collectives": [{"kind": "collective_permute", "devices": 2, "points": [[2, 1], [2, 2]]}]}, "/collectives/0/points/1"),
                             ({"collectives": [{"kind": "collective_permute", "devices": 2, "points": [[1]]}]}, "/collectives/0/points/0"),
                             ({"collectives": [{"kind": "collective_permute", "devices": 2, "points": [[1, -1]]}]}, "/collectives/0/points/0/1"),
                             ({"collectives": [{"kind": "collective_permute", "devices": 2, "points": [[1, 1]]}] * 2}, "/collectives/1")]:
            status, problem = service.json("PUT", "/v1/profiles/wrong", wrong)
            assert status == 422 and problem.get("errors", [{"pointer": ""}])[0]["pointer"] == where, (wrong, problem)
        assert service.json("PUT", "/v1/profiles/large", {"description": "x" * (40 << 10)})[0] == 422
        assert service.json("PUT", "/v1/profiles/large", {"segments": [{"segment": f"{i}", "configurations": [
            {"configuration": "x" * 128, "time_us": 1}]} for i in range(64)], "description": "x" * 999})[0] == 201
        large = [{"segment": f"{i}", "configurations": [{"configuration": f"{c:0100}", "time_us": 1} for c in range(250)]} for i in range(2)]
        assert service.json("PUT", "/v1/profiles/large", {"segments": large})[0] == 413
        assert service.request("PUT", "/v1/profiles/a", "{", {"Content-Type": "application/json"})[0] == 400
        there = len(service.json("GET", "/v1/profiles")[1]["profiles"])
        for i in range(100 - there):
            assert service.json("PUT", f"/v1/profiles/more-{i}", {})[0] == 201
        status, problem = service.json("PUT", "/v1/profiles/one-too-many", {})
        assert (status, problem["code"]) == (429, "too_many_profiles") and "100" in problem["detail"], problem
        assert service.json("PUT", "/v1/profiles/more-0", {"description": "changed"})[0] == 200
        presets = service.json("GET", "/v1/presets")[1]["presets"]
        names = {d["name"] for d in service.json("GET", "/v1/devices")[1]["devices"]}
        assert len(presets) == 2 * len(names) and {p["request"]["device"] for p in presets} == names
        for preset in presets:   # every preset is a request as it is
            status, body = service.json("POST", "/v1/price", dict(preset["request"], module={"inline": MODEL}, report=False))
            assert status == 200, (preset, body)
    finally:
        service.close()


def test_prices():
    service = harness.Service(workers=1)
    try:
        for name, body in (("slow", profile(5000)), ("fast", profile(1)), ("weak", {"flops": {"f32": 1e9, "tf32": 1e9, "bf16": 1e9}}),
                           ("narrow", {"memory_bytes_per_s": 1e6})):
            assert service.json("PUT", f"/v1/profiles/{name}", body)[0] == 201

        def price(device, **more):
            status, body = service.json("POST", "/v1/price", dict({"module": {"inline": MODEL}, "mesh": MESH, "device": device,
                                                                   "baseline": "batch:data+megatron:model"}, **more))
            assert status == 200, body
            return body

        plain, slow, fast, weak, narrow = (price(d) for d in ["a100-40"] + [{"base": "a100-40", "profile": p} for p in
                                                                          ("slow", "fast", "weak", "narrow")])
        # communication is what was measured: so many collectives of 5 ms, or 1 us, each
        count = sum(c["count"] for c in slow["report"]["collectives"])
        assert count > 0 and slow["price"]["communication_ps"] == count * 5000 * 10**6, slow["price"]
        assert fast["price"]["communication_ps"] == count * 10**6
        assert {c["algorithm"] for c in slow["report"]["collectives"]} == {"measured"}
        assert slow["price"]["compute_ps"] == plain["price"]["compute_ps"] == fast["price"]["compute_ps"]
        assert weak["price"]["matmul_ps"] > 10 * plain["price"]["matmul_ps"]
        assert narrow["price"]["compute_ps"] > 10 * plain["price"]["compute_ps"]
        # the request's own numbers win over the profile's
        own = price({"base": "a100-40", "profile": "narrow", "memory_bytes_per_s": 1.555e12, "flops": {"bf16": 3.12e14}})
        assert own["price"]["compute_ps"] <= plain["price"]["compute_ps"] * 1.01
        # a plan remembers its profile; the profile itself may also stand in a request; a version may be named
        assert slow["plan"]["machine"]["profile"] == "slow@1"
        again = service.json("POST", "/v1/price", {"plan": slow["plan"], "module": {"inline": MODEL}})
        assert again[0] == 200 and again[1]["price"] == slow["price"]
        assert price({"base": "a100-40", "profile": profile(5000)})["price"] == slow["price"]
        service.json("PUT", "/v1/profiles/slow", profile(7000))
        assert price({"base": "a100-40", "profile": "slow@1"})["price"] == slow["price"]
        assert price({"base": "a100-40", "profile": "slow"})["price"]["communication_ps"] == count * 7000 * 10**6
        for wrong in ("nobody", "slow@3", "slow@0", "slow@", "@1", "", 7, {"x": 1}):
            status, problem = service.json("POST", "/v1/price", {"module": {"inline": MODEL}, "mesh": MESH,
                                                                 "device": {"base": "a100-40", "profile": wrong}})
            assert status == 422 and problem["errors"][0]["pointer"].startswith("/device/profile"), (wrong, problem)
        # jobs: the profile is part of the digest, by content
        jobs = {}
        for name in ("slow@1", "slow@2", "fast", "fast"):
            request = {"module": {"inline": MODEL}, "mesh": MESH, "device": {"base": "a100-40", "profile": name},
                       "budget": {"rollouts": 64}}
            status, job = service.json("POST", "/v1/jobs", request)
            assert status in (200, 202), job
            jobs.setdefault(name, []).append(job["digest"])
            last = service.wait(job["id"])
            assert last["state"] == "succeeded", last
            plan = service.json("GET", f"/v1/jobs/{job['id']}/plan")[1]
            assert plan["machine"]["profile"] == (name if "@" in name else name + "@1")
        assert len({d for digests in jobs.values() for d in digests}) == 3 and len(set(jobs["fast"])) == 1
        assert service.json("POST", "/v1/jobs", {"module": {"inline": MODEL}, "mesh": MESH,
                                                 "device": {"base": "a100-40", "profile": "nobody"}})[0] == 422
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_versions, test_prices])
