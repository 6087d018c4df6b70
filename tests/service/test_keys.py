#!/usr/bin/env python3
# label: service
# timeout: 120
"""Who may do what: keys with tenant, role and expiry; nothing of another tenant is seen or changed."""
import calendar
import email.utils
import hashlib
import json
import os
import re
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness

MODEL = (harness.SOURCE / "tests" / "models" / "mlp.mlir").read_bytes()
REQUEST = {"mesh": {"axes": [{"name": "data", "size": 2}]}, "device": "a100-40", "budget": {"rollouts": 100}}
TOAST = harness.BIN / "toast"


def keys(service, *arguments, good=True):
    """toast keys .. -> its standard output"""
    done = subprocess.run([TOAST, "keys", *arguments, "--redis", service.redis_address], capture_output=True, text=True)
    assert (done.returncode == 0) == good, done
    return done.stdout.strip()


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def status(service, method, path, key, body=None):
    return service.request(method, path, body, bearer(key) if key else {})[0]


def until(condition, seconds=30):
    """-> seconds that it took"""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < seconds
        time.sleep(0.05)
    return time.monotonic() - began


def settled(service, *valid):
    """waits until the server knows these keys"""
    until(lambda: status(service, "GET", "/v1/jobs", None) == 401
          and all(status(service, "GET", "/v1/jobs", key) == 200 for key in valid))


def submit(service, key, **more):
    body, headers = harness.multipart({"request": json.dumps(dict(REQUEST, **more)).encode(), "module": MODEL})
    answer, _, data = service.request("POST", "/v1/jobs", body, dict(headers, **bearer(key)))
    assert answer == 202, (answer, data)
    return json.loads(data)["id"]


def test_credentials():
    service = harness.Service()
    try:
        assert status(service, "GET", "/v1/jobs", None) == 200      # no keys, loopback: open
        assert status(service, "GET", "/v1/jobs", "anything") == 200
        good = keys(service, "add", "--role", "read")
        stored = service.redis_cli("HGETALL", "{t}:keys")
        assert good not in stored and good.split("_")[2] not in stored   # only a digest is kept
        settled(service, good)
        for bad in ("", "x", good[:-1], good + "0", good[:-1] + ("0" if good[-1] != "0" else "1"), good[:12], "tk_", good.upper(),
                    "tk_00000000_" + good[12:], "a" * 15000):
            answer, headers, data = service.request("GET", "/v1/jobs", None, bearer(bad))
            assert answer == 401, (bad[:60], answer)
            assert headers["www-authenticate"].startswith("Bearer"), headers
            assert json.loads(data)["code"] == "unauthorized"
        assert b" 401 " in service.raw(b"GET /v1/jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer \xff\xfe\x80tk_"
                                       + good.encode() + b"\r\n\r\n")
        for scheme in (f"Basic {good}", good, f"Bearer{good}", "Bearer"):
            assert service.request("GET", "/v1/jobs", None, {"Authorization": scheme})[0] == 401, scheme
        assert service.request("GET", "/v1/jobs", None, {"Authorization": f"bearer   {good}"})[0] == 200
        assert service.request("GET", "/v1/jobs", None, bearer("a" * 1000000))[0] in (401, 431)
        for path in ("/livez", "/readyz", "/openapi.json"):
            assert status(service, "GET", path, None) == 200, path
        for path in ("/metrics", "/v1/devices", "/v1/limits", "/v1/jobs/j_" + "0" * 26):
            assert status(service, "GET", path, None) == 401, path
        # a body is not read before the key was checked
        head = service.raw(b"POST /v1/modules HTTP/1.1\r\nHost: localhost\r\nContent-Length: 500000000\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 401 "), head
    finally:
        service.close()


def test_roles():
    service = harness.Service()
    try:
        by_role = {role: keys(service, "add", "--role", role) for role in ("read", "submit", "admin")}
        settled(service, *by_role.values())
        job = submit(service, by_role["submit"])
        answer, headers, data = service.request("POST", "/v1/modules", MODEL, bearer(by_role["read"]))
        assert answer == 403 and json.loads(data)["code"] == "forbidden", data
        for method, path, body in (("PUT", "/v1/modules/" + "0" * 64, MODEL), ("POST", "/v1/jobs", "{}"),
                                   ("POST", f"/v1/jobs/{job}:cancel", b"")):
            assert status(service, method, path, by_role["read"], body) == 403, path
        # a reader may price what its tenant has, not bring something new
        own = {"module": json.loads(service.request("GET", f"/v1/jobs/{job}", None, bearer(by_role["read"]))[2])["module"]}
        kind = {"Content-Type": "application/json"}
        for module, expected in ((own, 200), ({"module": {"inline": "// new"}}, 403)):
            price = json.dumps({k: v for k, v in dict(REQUEST, **module).items() if k != "budget"})
            answer, _, data = service.request("POST", "/v1/price", price, dict(kind, **bearer(by_role["read"])))
            assert answer == expected, data
        for role, key in by_role.items():
            assert status(service, "GET", f"/v1/jobs/{job}", key) == 200, role
            assert status(service, "GET", "/metrics", key) == 200, role
        assert status(service, "POST", f"/v1/jobs/{job}:cancel", by_role["admin"], b"") in (200, 202)
    finally:
        service.close()


def test_every_route():
    """each route of routes.def asks for what its row says, and openapi.json says so"""
    rows = re.findall(r'SERVER_ROUTE\("(\w+)", "([^"]+)", \w+, \w+, ACCESS_(\w+),',
                      (harness.SOURCE / "server" / "routes.def").read_text())
    spec = json.loads((harness.SOURCE / "docs" / "openapi.json").read_text())["paths"]
    described = {re.sub(r"\{\w+\}", "*", path): item for path, item in spec.items()}
    open_rows = [row for row in rows if row[2] == "PUBLIC"]
    assert len(rows) > 25 and len(open_rows) < len(rows) / 2, rows
    service = harness.Service(environment={"TOAST_REQUIRE_KEYS": "1"})
    try:
        by_role = {role.upper(): keys(service, "add", "--role", role) for role in ("read", "submit", "admin")}
        settled(service, *by_role.values())
        for method, pattern, access in rows:
            path = pattern.replace("*", "x")
            if access == "WORKER":
                assert all(status(service, method, path, key) == 404 for key in (None, *by_role.values())), pattern
            elif access == "PUBLIC":
                assert pattern.startswith("/ui") or pattern in ("/", "/livez", "/readyz", "/openapi.json"), pattern
            else:
                page = method == "GET" and pattern.startswith("/ui") and pattern != "/ui/session"
                for key in (None, "x"):   # a page leads to the login
                    assert status(service, method, path, key) in ((401, 303) if page else (401,)), (pattern, key)
                roles = list(by_role)
                for role in roles[:roles.index(access)]:
                    assert status(service, method, path, by_role[role]) == 403, (pattern, role)
                answers = described.get(pattern, {}).get(method.lower(), {}).get("responses")
                if answers is not None:
                    assert "401" in answers, (method, pattern)
                    assert access == "READ" or "403" in answers, (method, pattern)
                else:
                    assert pattern.startswith("/ui"), (method, pattern)
    finally:
        service.close()


def test_rotation_and_expiry():
    service = harness.Service()
    try:
        first = keys(service, "add", "--note", "first")
        assert "is the last" in subprocess.run([TOAST, "keys", "revoke", first[3:11], "--redis", service.redis_address],
                                               capture_output=True, text=True).stderr
        second = keys(service, "add", "--note", "second")
        settled(service, first, second)
        keys(service, "revoke", first[3:11])
        took = until(lambda: status(service, "GET", "/v1/jobs", first) == 401)
        assert took < 5, took
        assert status(service, "GET", "/v1/jobs", second) == 200
        listed = json.loads(keys(service, "list", "--json"))
        assert [(k["id"], k["note"], k["role"], k["tenant"]) for k in listed] == [(second[3:11], "second", "submit", "default")]
        assert second[3:11] in keys(service, "list")
        keys(service, "revoke", first[3:11], good=False)
        keys(service, "weight", "default", "3")
        assert service.redis_cli("HGET", "{t}:weight", "default") == "3"
        for wrong in (("weight", "default"), ("weight", "default", "0"), ("weight", "X", "1"), ("add", "x"), ("revoke",), ("steal",)):
            keys(service, *wrong, good=False)
        # a key whose time has come, as the clock would bring it there: the record says so, the server follows
        record = service.redis_cli("HGET", "{t}:keys", second[3:11]).split(" ")
        record[4] = str(int(time.time() * 1000) + 2500)
        service.redis_cli("HSET", "{t}:keys", second[3:11], " ".join(record))
        service.redis_cli("INCR", "{t}:keysv")
        until(lambda: status(service, "GET", "/v1/jobs", second) == 401)
        assert status(service, "GET", "/v1/jobs", None) == 401   # an expired key is still one: the service stays closed
        keys(service, "revoke", second[3:11], "--last")
        until(lambda: status(service, "GET", "/v1/jobs", None) == 200)
    finally:
        service.close()


def test_tenants_apart():
    service = harness.Service(workers=1)
    try:
        a, b = (keys(service, "add", "--tenant", name) for name in ("apples", "bananas"))
        b_admin = keys(service, "add", "--tenant", "bananas", "--role", "admin")
        settled(service, a, b, b_admin)
        job = submit(service, a)
        until(lambda: json.loads(service.request("GET", f"/v1/jobs/{job}", None, bearer(a))[2])["state"] == "succeeded", 60)
        paths = [f"/v1/jobs/{job}", f"/v1/jobs/{job}/plan", f"/v1/jobs/{job}/artifacts", f"/v1/jobs/{job}/artifacts/plan.json"]
        for path in paths:
            assert status(service, "GET", path, a) == 200, path
            for other in (b, b_admin):
                answer, _, data = service.request("GET", path, None, bearer(other))
                assert answer == 404 and json.loads(data)["code"] == "not_found", path
        assert status(service, "POST", f"/v1/jobs/{job}:cancel", b, b"") == 404
        assert json.loads(service.request("GET", "/v1/jobs", None, bearer(b))[2])["jobs"] == []
        assert [j["id"] for j in json.loads(service.request("GET", "/v1/jobs", None, bearer(a))[2])["jobs"]] == [job]
        # the command line with TOAST_KEY
        for key, good in ((a, True), (b, False)):
            environment = dict(os.environ, TOAST_URL=f"http://127.0.0.1:{service.port}", TOAST_KEY=key)
            done = subprocess.run([TOAST, "status", job], env=environment, capture_output=True, text=True)
            assert (done.returncode == 0) == good, done
    finally:
        service.close()


def test_modules_apart():
    """a module is the tenant's that sent it, though equal bytes are stored once; 10 GiB a tenant, here little"""
    text = MODEL + b"// " + b"x" * 2000
    limit = len(text) + 10
    service = harness.Service(environment={"TOAST_TENANT_BYTES": str(limit)})
    try:
        a, b = (keys(service, "add", "--tenant", name) for name in ("apples", "bananas"))
        settled(service, a, b)
        digest = hashlib.sha256(text).hexdigest()
        assert status(service, "POST", "/v1/modules", a, text) == 201
        assert status(service, "POST", "/v1/modules", a, text) == 200
        for method in ("GET", "HEAD"):
            assert status(service, method, f"/v1/modules/{digest}", a) == 200
            assert status(service, method, f"/v1/modules/{digest}", b) == 404
        assert status(service, "DELETE", f"/v1/modules/{digest}", b) == 404
        kind = {"Content-Type": "application/json"}
        named = json.dumps(dict(REQUEST, module=f"sha256:{digest}"))
        absent = json.dumps(dict(REQUEST, module=f"sha256:{'0' * 64}"))
        refused = []
        for request in (named, absent):   # another tenant's module and none at all are told apart by nothing but the name
            answer, _, data = service.request("POST", "/v1/jobs", request, dict(kind, **bearer(b)))
            assert answer == 422, data
            refused.append({k: v for k, v in json.loads(data.replace(digest.encode(), b"0" * 64)).items() if k != "request_id"})
        assert refused[0] == refused[1]
        assert service.request("POST", "/v1/price", named, dict(kind, **bearer(b)))[0] == 422
        assert service.request("POST", "/v1/jobs", named, dict(kind, **bearer(a)))[0] == 202
        assert status(service, "PUT", f"/v1/modules/{digest}", b, text) == 201
        assert status(service, "GET", f"/v1/modules/{digest}", b) == 200
        # an inline module and one beside the request are the tenant's as well
        inline = MODEL + b"// inline"
        answer, _, data = service.request("POST", "/v1/jobs", json.dumps(dict(REQUEST, module={"inline": inline.decode()})),
                                          dict(kind, **bearer(a)))
        assert answer == 202, data
        assert status(service, "GET", f"/v1/modules/{hashlib.sha256(inline).hexdigest()}", a) == 200
        # full: the limit was exceeded by what was sent last; nothing more is taken until something is deleted
        answer, _, data = service.request("POST", "/v1/modules", b"// more", bearer(a))
        assert answer == 507 and json.loads(data)["code"] == "quota_exceeded", data
        answer, _, data = service.request("POST", "/v1/jobs", json.dumps(dict(REQUEST, module={"inline": "// other"})),
                                          dict(kind, **bearer(a)))
        assert answer == 507, data
        assert status(service, "PUT", f"/v1/modules/{digest}", a, text) == 200   # this one it has
        assert status(service, "DELETE", f"/v1/modules/{digest}", a) == 204
        assert status(service, "GET", f"/v1/modules/{digest}", a) == 404
        assert status(service, "GET", f"/v1/modules/{digest}", b) == 200
        assert status(service, "DELETE", f"/v1/modules/{digest}", a) == 404
        answer, headers, data = service.request("POST", "/v1/modules", b"// more", bearer(a))
        assert answer == 201
        # until when it is kept, unless it is used before: 30 days
        until_text = json.loads(data)["expires_at"]
        left = calendar.timegm(time.strptime(until_text, "%Y-%m-%dT%H:%M:%SZ")) - time.time()
        assert 30 * 86400 - 60 < left <= 30 * 86400 + 1, until_text
        assert email.utils.parsedate_to_datetime(headers["sunset"]).strftime("%Y-%m-%dT%H:%M:%SZ") == until_text
        more = hashlib.sha256(b"// more").hexdigest()
        service.redis_cli("HSET", "{t}:blob:apples", more, f"7 {int(time.time() * 1000) - 29 * 86400000} {more}")
        answer, headers, _ = service.request("HEAD", f"/v1/modules/{more}", None, bearer(a))   # reading it is a use
        assert email.utils.parsedate_to_datetime(headers["sunset"]).timestamp() > time.time() + 29 * 86400
        # a contest problem is in the quota as a module is, and given up like one
        problem = json.dumps({"intervals": [[0, 4]], "costs": [[1, 2]], "usages": [[5, 6]], "edges": {"nodes": [], "costs": []},
                              "usage_limit": 99, "name": "x" * 3000}).encode()
        ask = dict(kind, Prefer="respond-async", **bearer(a))
        answer, _, data = service.request("POST", "/v1/problems:solve", problem, ask)
        assert answer == 202, data
        named = hashlib.sha256(problem).hexdigest()
        assert status(service, "GET", f"/v1/modules/{named}", a) == 200 and status(service, "GET", f"/v1/modules/{named}", b) == 404
        answer, _, data = service.request("POST", "/v1/problems:solve", problem + b" ", ask)
        assert answer == 507 and json.loads(data)["code"] == "quota_exceeded", data
        assert status(service, "DELETE", f"/v1/modules/{named}", a) == 204
        assert service.request("POST", "/v1/problems:solve", problem + b" ", ask)[0] == 202
        assert status(service, "DELETE", f"/v1/modules/{hashlib.sha256(problem + b' ').hexdigest()}", a) == 204
        assert json.loads(service.request("GET", "/v1/limits", None, bearer(a))[2])["tenant_module_bytes"] == limit
        # forgotten when it was not used for a month; what was is not
        size = len(text)
        service.redis_cli("HSET", "{t}:blob:bananas", digest, f"{size} 1000000000000 {digest}")
        until(lambda: service.redis_cli("HEXISTS", "{t}:blob:bananas", digest) == "0", 30)
        assert status(service, "GET", f"/v1/modules/{digest}", b) == 404
        assert service.redis_cli("HGET", "{t}:blobs", "bananas") == ""
        assert int(service.redis_cli("HLEN", "{t}:blob:apples")) == 2
    finally:
        service.close()


def test_limits():
    service = harness.Service(environment={"TOAST_OPEN_JOBS": "30", "TOAST_SUBMITS_PER_S": "2"})
    try:
        a, b = (keys(service, "add", "--tenant", name) for name in ("apples", "bananas"))
        settled(service, a, b)
        status(service, "POST", "/v1/modules", a, MODEL)
        request = json.dumps(dict(REQUEST, module=f"sha256:{hashlib.sha256(MODEL).hexdigest()}"))
        kind = {"Content-Type": "application/json"}
        codes = []
        began = time.monotonic()
        while len(codes) < 200 and "too_many_requests" not in codes:   # 10 at once, then 2 a second
            answer, headers, data = service.request("POST", "/v1/jobs", request, dict(kind, **bearer(a)))
            codes.append(json.loads(data).get("code", answer))
        assert answer == 429 and int(headers["retry-after"]) >= 1, codes
        assert 10 <= codes.count(202) <= 11 + 2 * (time.monotonic() - began), codes
        submit(service, b)   # another tenant is not slowed
        shown = json.loads(service.request("GET", "/v1/limits", None, bearer(b))[2])
        assert (shown["tenant_open_jobs"], shown["tenant_submits_per_s"]) == (30, 2), shown
        service.server.terminate()
        service.server.wait()
        service.environment["TOAST_SUBMITS_PER_S"] = "0"
        service.start_server()
        settled(service, a, b)
        for _ in range(40):
            answer, headers, data = service.request("POST", "/v1/jobs", request, dict(kind, **bearer(a)))
            if answer == 429:
                break
        assert answer == 429 and json.loads(data)["code"] == "too_many_jobs" and "retry-after" in headers
        assert len(json.loads(service.request("GET", "/v1/jobs", None, bearer(a))[2])["jobs"]) == 30
        submit(service, b)
    finally:
        service.close()


def test_start():
    service = harness.Service()
    try:
        def start(*options, environment=None):
            ready = service.folder / "second"
            ready.unlink(missing_ok=True)
            server = subprocess.Popen([harness.BIN / "toast-server", "--redis", service.redis_address, "--store", service.store,
                                       "--ready-file", str(ready), *options], stderr=subprocess.PIPE, text=True,
                                      env=dict(os.environ, **(environment or {})))
            began = time.monotonic()
            while server.poll() is None and not ready.exists() and time.monotonic() - began < 20:
                time.sleep(0.02)
            return server, int(ready.read_text()) if ready.exists() else 0

        def stop(server):
            server.terminate()
            server.communicate(timeout=20)

        server, port = start("--listen", "0.0.0.0:0")
        assert port == 0 and server.wait(10) == 2
        assert "toast keys add" in server.communicate()[1]
        first_port = service.port
        for options, environment, expected in ((["--listen", "0.0.0.0:0", "--require-keys"], {}, 401),
                                               (["--listen", "0.0.0.0:0", "--insecure-listen"], {}, 200),
                                               (["--listen", "127.0.0.1:0"], {"TOAST_REQUIRE_KEYS": "1"}, 401)):
            server, service.port = start(*options, environment=environment)
            assert service.port, options
            assert status(service, "GET", "/v1/jobs", None) == expected, options
            stop(server)
        service.port = first_port
        key = keys(service, "add")
        server, service.port = start("--listen", "0.0.0.0:0")
        assert status(service, "GET", "/v1/jobs", None) == 401
        assert status(service, "GET", "/v1/jobs", key) == 200
        keys(service, "revoke", key[3:11], "--last")
        until(lambda: status(service, "GET", "/v1/jobs", key) == 401)
        time.sleep(1.2)
        assert status(service, "GET", "/v1/jobs", None) == 401   # never open on an address that others reach
        stop(server)
    finally:
        service.close()


def test_sessions():
    service = harness.Service()
    try:
        key, other = keys(service, "add", "--tenant", "apples"), keys(service, "add", "--tenant", "bananas")
        settled(service, key, other)
        as_json, as_form = {"Content-Type": "application/json"}, {"Content-Type": "application/x-www-form-urlencoded"}
        for wrong in ("", "x", "a" * 3000, key[:-1], "\u00e9" * 40):
            answer, headers, _ = service.request("POST", "/ui/session", json.dumps({"key": wrong}), as_json)
            assert answer == 401 and "set-cookie" not in headers, wrong[:20]
        assert service.request("POST", "/ui/session", b"", {})[0] == 401
        assert service.request("POST", "/ui/session", '{"key": 1}', as_json)[0] == 422
        assert service.request("POST", "/ui/session", '{"key"', as_json)[0] == 400
        answer, headers, _ = service.request("POST", "/ui/session", "key=nonsense", as_form)
        assert answer == 303 and "failed" in headers["location"] and "set-cookie" not in headers
        answer, headers, _ = service.request("POST", "/ui/session", f"a=b&key={key.replace('_', '%5F')}", as_form)
        assert answer == 303 and headers["location"] == "/ui", headers
        answer, headers, _ = service.request("POST", "/ui/session", json.dumps({"key": key}),
                                             dict(as_json, Origin="https://elsewhere.example"))
        assert answer == 403
        answer, headers, _ = service.request("POST", "/ui/session", json.dumps({"key": key}), as_json)
        assert answer == 204
        cookie, *attributes = headers["set-cookie"].split("; ")
        assert {"HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=28800"} == set(attributes), attributes
        csrf = headers["x-csrf-token"]
        name, value = cookie.split("=")
        stored = service.redis_cli("KEYS", "{t}:session:*")
        assert stored and value not in stored
        assert 0 < int(service.redis_cli("TTL", stored.split("\n")[0])) <= 28800
        with_cookie = {"Cookie": cookie}
        answer, _, data = service.request("GET", "/ui/session", None, with_cookie)
        assert json.loads(data) == {"tenant": "apples", "role": "submit", "key_id": key[3:11], "csrf": csrf}
        assert service.request("GET", "/v1/jobs", None, with_cookie)[0] == 200
        assert service.request("GET", "/v1/jobs", None, {"Cookie": f"{name}={value[:-1]}0"})[0] in (401, 200 if value[-1] == "0" else 401)
        body, kind = harness.multipart({"request": json.dumps(REQUEST).encode(), "module": MODEL})

        def post(path="/v1/jobs", **more):
            headers = dict(kind, **with_cookie, **{k.replace("_", "-"): v for k, v in more.items()})
            return service.request("POST", path, body, headers)[0]

        assert post() == 403
        assert post(X_CSRF_Token="x") == 403
        assert post(X_CSRF_Token=csrf, Sec_Fetch_Site="cross-site") == 403
        assert post(X_CSRF_Token=csrf, Origin="http://elsewhere.example") == 403
        assert post(X_CSRF_Token=csrf, Origin="null") == 403
        assert post(X_CSRF_Token=csrf, Origin=f"http://127.0.0.1:{service.port}", Sec_Fetch_Site="same-origin") == 202
        assert post(f"/v1/jobs?csrf={csrf}") == 202
        # a key that is given counts, not the cookie beside it
        answer, _, data = service.request("GET", "/ui/session", None, dict(with_cookie, **bearer(other)))
        assert json.loads(data)["tenant"] == "bananas"
        assert service.request("GET", "/v1/jobs", None, dict(with_cookie, **bearer("x")))[0] == 401
        assert service.request("DELETE", "/ui/session", None, with_cookie)[0] == 403
        answer, headers, _ = service.request("DELETE", "/ui/session", None, dict(with_cookie, **{"X-CSRF-Token": csrf}))
        assert answer == 204 and "Max-Age=0" in headers["set-cookie"]
        assert service.request("GET", "/v1/jobs", None, with_cookie)[0] == 401
        # a session is no more than its key
        _, headers, _ = service.request("POST", "/ui/session", None, bearer(other))
        with_cookie = {"Cookie": headers["set-cookie"].split("; ")[0]}
        assert service.request("GET", "/v1/jobs", None, with_cookie)[0] == 200
        keys(service, "revoke", other[3:11])
        until(lambda: service.request("GET", "/v1/jobs", None, with_cookie)[0] == 401)
        _, headers, _ = service.request("POST", "/ui/session", None, bearer(key))
        with_cookie = {"Cookie": headers["set-cookie"].split("; ")[0]}
        answer, headers, _ = service.request("POST", f"/ui/session/end?csrf={headers['x-csrf-token']}", b"", with_cookie)
        assert answer == 303 and headers["location"] == "/ui/login"
        assert service.request("GET", "/v1/jobs", None, with_cookie)[0] == 401
        # without Redis nobody is told to sign in again: the session lasts
        _, headers, _ = service.request("POST", "/ui/session", None, bearer(key))
        with_cookie = {"Cookie": headers["set-cookie"].split("; ")[0]}
        service.redis.kill()
        service.redis.wait()
        for path in ("/ui/jobs", "/v1/jobs", "/ui/session"):
            answer, headers, _ = service.request("GET", path, None, with_cookie)
            assert answer == 503 and "location" not in headers and int(headers["retry-after"]) >= 1, (path, answer, headers)
        assert service.request("GET", "/ui/login", None, with_cookie)[0] == 200
        service.start_redis()
        until(lambda: service.request("GET", "/ui/jobs", None, with_cookie)[0] == 200)
    finally:
        service.close()


def test_open_and_browsers():
    """without keys, another site's page in this machine's browser may not change anything"""
    service = harness.Service()
    try:
        body, kind = harness.multipart({"request": json.dumps(REQUEST).encode(), "module": MODEL})
        for more, expected in (({}, 202), ({"Origin": "http://evil.example"}, 403), ({"Sec-Fetch-Site": "cross-site"}, 403),
                               ({"Origin": f"http://127.0.0.1:{service.port}"}, 202), ({"Sec-Fetch-Site": "none"}, 202)):
            assert service.request("POST", "/v1/jobs", body, dict(kind, **more))[0] == expected, more
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_credentials, test_roles, test_every_route, test_rotation_and_expiry, test_tenants_apart, test_modules_apart,
                  test_limits, test_start, test_sessions,
                  test_open_and_browsers])
