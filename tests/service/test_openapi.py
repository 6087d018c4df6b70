#!/usr/bin/env python3
# label: service
# timeout: 90
"""openapi.yaml both ways: its paths are the server's routes, its request fields the decoder's, and real replies (status,
type, every field) are what it says."""
import gzip
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

SPEC = json.loads((harness.SOURCE / "docs" / "openapi.json").read_text())
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def resolve(schema):
    while "$ref" in schema:
        at = SPEC
        for name in schema["$ref"][2:].split("/"):
            at = at[name]
        schema = at
    return schema


def is_type(value, name):
    if name == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def check(schema, value, where):
    schema = resolve(schema)
    if "oneOf" in schema:
        assert sum(fits(s, value) for s in schema["oneOf"]) == 1, (where, value)
    if "const" in schema:
        assert value == schema["const"], (where, value)
    if "enum" in schema:
        assert value in schema["enum"], (where, value)
    if "type" in schema:
        names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        assert any(is_type(value, name) for name in names), (where, value)
    if "pattern" in schema:
        assert re.search(schema["pattern"], value), (where, value)
    if isinstance(value, dict):
        known = schema.get("properties", {})
        for name in schema.get("required", []):
            assert name in value, (where, name, "is missing")
        for name, member in value.items():
            if name in known:
                check(known[name], member, f"{where}/{name}")
            else:
                more = schema.get("additionalProperties", True)
                assert more is not False, (where, name, "is not described")
                if isinstance(more, dict):
                    check(more, member, f"{where}/{name}")
    if isinstance(value, list) and "items" in schema:
        for i, item in enumerate(value):
            check(schema["items"], item, f"{where}/{i}")


def fits(schema, value):
    try:
        check(schema, value, "")
        return True
    except AssertionError:
        return False


def exchange(service, path, method, address, body=None, headers=None):
    """one request; its reply must be described: -> (status, decoded body)"""
    status, headers, data = service.request(method, address, body, headers)
    described = SPEC["paths"][path][method.lower()]["responses"]
    assert str(status) in described, (method, path, status, data[:300])
    reply = resolve(described[str(status)])
    if status in (204, 304):
        return status, None
    kind = headers["content-type"].split(";")[0]
    assert kind in reply["content"], (method, path, status, kind)
    for name in reply.get("headers", {}):
        assert name == "Retry-After" or name.lower() in headers, (path, status, name)
    schema = reply["content"][kind].get("schema")
    value = json.loads(data) if kind.endswith("json") else data.decode()
    if schema:
        check(schema, value, f"{method} {path} {status}")
    return status, value


def test_committed():
    made = subprocess.run([sys.executable, harness.SOURCE / "scripts" / "openapi", "--print"], capture_output=True, text=True,
                          check=True).stdout
    assert made == (harness.SOURCE / "docs" / "openapi.json").read_text(), "run scripts/openapi and commit docs/openapi.json"


def test_routes():
    routes = re.findall(r'SERVER_ROUTE\("(\w+)", "([^"]+)"', (harness.SOURCE / "server" / "routes.def").read_text())
    served = {(method, pattern) for method, pattern in routes 
              if not re.match("/internal/|/ui(?!/session)|/$", pattern)}   # pages are for people
    described = {(method.upper(), re.sub(r"\{\w+\}", "*", path)) for path, item in SPEC["paths"].items() for method in item
                 if method in ("get", "put", "post", "delete")}
    assert served == described, served ^ described


def test_query_parameters():
    """every route's names and which of them may be repeated; csrf belongs to every method that writes"""
    routes = re.findall(r'SERVER_ROUTE\("(\w+)", "([^"]+)".*"([^"]*)"\)', (harness.SOURCE / "server" / "routes.def").read_text())
    served = {(method, pattern): set(names.split()) for method, pattern, names in routes
              if not re.match("/internal/|/ui(?!/session)|/$", pattern)}
    described = {}
    for path, item in SPEC["paths"].items():
        for method in ("get", "put", "post", "delete"):
            if method in item:
                parameters = [resolve(p) for p in item.get("parameters", []) + item[method].get("parameters", [])]
                described[method.upper(), re.sub(r"\{\w+\}", "*", path)] = {
                    p["name"] + "*" * (resolve(p["schema"]).get("type") == "array") for p in parameters if p["in"] == "query"}
    assert len(served) > 20 and served == described, [(k, served[k], described[k]) for k in served if served[k] != described[k]]


def test_codes():
    """the codes of problems are those of the table of errors"""
    table = set(re.findall(r'X\(\w+, "(\w+)"', (harness.SOURCE / "base" / "error.h").read_text())) - {"ok"}
    stated = set(re.findall(r"`(\w+)`", SPEC["components"]["schemas"]["Code"]["description"]))
    assert len(table) > 40 and stated == table, stated ^ table


def test_request_fields():
    text = (harness.SOURCE / "api" / "request.c").read_text()
    known = re.search(r'known\[\] = \{\s*("module",[^}]*)NULL\}', text)[1]
    assert set(re.findall(r'"(\w+)"', known)) == set(SPEC["components"]["schemas"]["JobRequest"]["properties"])


def test_price_fields():
    text = (harness.SOURCE / "api" / "what_if.c").read_text()
    known = re.search(r'known\[\] = \{\s*("module",[^}]*)NULL\}', text)[1]
    assert set(re.findall(r'"(\w+)"', known)) == set(SPEC["components"]["schemas"]["PriceRequest"]["properties"])


def test_replies():
    service = harness.Service(workers=1)
    model = (harness.SOURCE / "tests" / "models" / "mlp.mlir").read_bytes()
    request = {"mesh": {"axes": [{"name": "data", "size": 2}]}, "device": "a100-40", "budget": {"rollouts": 200},
               "labels": {"a": "b"}}
    try:
        def go(*arguments, **named):
            return exchange(service, *arguments, **named)

        for path in ("/livez", "/readyz", "/metrics", "/openapi.json", "/v1/devices", "/v1/presets", "/v1/limits"):
            assert go(path, "GET", path)[0] == 200
        assert go("/openapi.json", "GET", "/openapi.json")[1] == SPEC
        limits = go("/v1/limits", "GET", "/v1/limits")[1]
        assert (limits["module_bytes"], limits["problem_bytes"], limits["tenant_modules"]) == (512 << 20, 2 << 30, 100000), limits
        status, stored = go("/v1/modules", "POST", "/v1/modules", model)
        assert status == 201
        digest = stored["module"]
        packed = {"Content-Encoding": "gzip"}
        assert go("/v1/modules/{digest}", "PUT", f"/v1/modules/{digest}", gzip.compress(model), packed)[0] == 200
        assert go("/v1/modules/{digest}", "PUT", f"/v1/modules/{'0' * 64}", model)[0] == 400
        assert go("/v1/modules/{digest}", "GET", f"/v1/modules/{digest}")[1] == model.decode()
        assert go("/v1/modules/{digest}", "GET", f"/v1/modules/{'0' * 64}")[0] == 404
        request["module"] = digest
        check(SPEC["components"]["schemas"]["JobRequest"], request, "request")
        kind = {"Content-Type": "application/json"}
        status, job = go("/v1/jobs", "POST", "/v1/jobs", json.dumps(request), kind)
        assert status == 202
        assert go("/v1/jobs", "POST", "/v1/jobs", json.dumps(dict(request, seed=-1)), kind)[0] == 422
        assert go("/v1/jobs", "POST", "/v1/jobs", "{", kind)[0] == 400
        assert go("/v1/jobs", "POST", "/v1/jobs", "{}")[0] == 415
        at = f"/v1/jobs/{job['id']}"
        until = harness.deadline(30)
        while time.monotonic() < until and go("/v1/jobs/{id}", "GET", at)[1]["state"] != "succeeded":
            time.sleep(0.02)
        status, job = go("/v1/jobs/{id}", "GET", at)
        assert job["state"] == "succeeded", job
        assert go("/v1/jobs/{id}", "GET", at, None, {"If-None-Match": f'"v{job["version"]}"'})[0] == 304
        assert go("/v1/jobs", "GET", "/v1/jobs?state=succeeded")[1]["jobs"][0]["id"] == job["id"]
        assert go("/v1/jobs", "GET", "/v1/jobs?page_token=x")[0] == 400
        assert go("/v1/jobs/{id}/plan", "GET", at + "/plan")[0] == 200
        events = go("/v1/jobs/{id}/events", "GET", at + "/events?format=json")[1]
        assert events["ended"] and events["events"][-1]["state"] == "succeeded"
        assert go("/v1/jobs/{id}/events", "GET", at + "/events")[0] == 200
        assert go("/v1/jobs/{id}/events", "GET", at + "/events", None, {"Last-Event-ID": events["last_event_id"]})[0] == 204
        assert go("/v1/jobs/{id}/events", "GET", at + "/events?after=1-1")[0] == 400
        for artifact in go("/v1/jobs/{id}/artifacts", "GET", at + "/artifacts")[1]["artifacts"]:
            assert go("/v1/jobs/{id}/artifacts/{name}", "GET", artifact["href"])[0] == 200
        assert go("/v1/jobs/{id}/artifacts/{name}", "GET", at + "/artifacts/x")[0] == 404
        assert go("/v1/jobs/{id}:cancel", "POST", at + ":cancel", b"")[0] == 409
        assert go("/v1/jobs/{id}", "GET", at[:-3] + "000")[0] == 404
        status, second = go("/v1/jobs", "POST", "/v1/jobs", json.dumps(dict(request, seed=5)), dict(kind, Prefer="wait=30"))
        assert (status, second["state"]) == (200, "succeeded")
        assert go("/v1/compare", "GET", f"/v1/compare?jobs={job['id']},{second['id']}")[0] == 200
        assert go("/v1/compare", "GET", "/v1/compare?jobs=x")[0] == 400
        measured = {"collectives": [{"kind": "all_reduce", "devices": 2, "points": [[1024, 10.5], [4096, 12]]}]}
        assert go("/v1/profiles/{name}", "PUT", "/v1/profiles/pod", json.dumps(measured), kind)[0] == 201
        assert go("/v1/profiles/{name}", "PUT", "/v1/profiles/pod", json.dumps(measured), kind)[0] == 200
        assert go("/v1/profiles/{name}", "PUT", "/v1/profiles/pod", "[]", kind)[0] == 422
        assert go("/v1/profiles/{name}", "GET", "/v1/profiles/pod")[1]["profile"] == measured
        assert go("/v1/profiles/{name}", "GET", "/v1/profiles/pod", None, {"If-None-Match": '"v1"'})[0] == 304
        assert go("/v1/profiles/{name}", "GET", "/v1/profiles/nobody")[0] == 404
        assert go("/v1/profiles", "GET", "/v1/profiles")[1]["profiles"][0]["name"] == "pod"
        asked = {"module": digest, "mesh": request["mesh"], "device": "a100-40", "baseline": "batch:data"}
        check(SPEC["components"]["schemas"]["PriceRequest"], asked, "request")
        assert go("/v1/price", "POST", "/v1/price", json.dumps(asked), kind)[0] == 200
        assert go("/v1/price", "POST", "/v1/price", json.dumps(dict(asked, mesh=1)), kind)[0] == 422
        service.redis.kill()
        service.redis.wait()
        assert go("/livez", "GET", "/livez")[0] == 200
        assert go("/readyz", "GET", "/readyz")[0] == 503
        assert go("/v1/jobs/{id}", "GET", at)[0] == 503
        assert go("/v1/jobs", "POST", "/v1/jobs", json.dumps(request), kind)[0] == 503
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_committed, test_routes, test_query_parameters, test_codes, test_request_fields,
                  test_price_fields, test_replies])
