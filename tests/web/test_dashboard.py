#!/usr/bin/env python3
# label: web
# timeout: 240
"""The dashboard in headless Chromium: no complaint of the browser, live, without script, by keyboard, hostile text, sessions and
roles, narrow and wide, dark and light, axe-core. Screenshots go to the build folder's web/."""
import html
import json
import pathlib
import re
import subprocess
import sys
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "service")]
import harness
import webdriver

EVIL = "<script>window.hacked=1</script>\"'><img src=x onerror=window.hacked=1>"
MODEL = (harness.SOURCE / "tests/models/small/t2b.mlir").read_bytes()
PICTURES = harness.BIN.parent / "web"
TERMINAL = {"succeeded", "failed", "cancelled", "expired", "dead"}


def submit(service, model=MODEL, headers=None, **more):
    request = dict({"mesh": {"axes": [{"name": "data", "size": 4}, {"name": "model", "size": 2}]}, "device": "a100-40",
                    "budget": {"rollouts": 300}, "labels": {"team": "speech"}}, **more)
    body, kind = harness.multipart({"request": json.dumps(request).encode(), "module": model})
    status, _, data = service.request("POST", "/v1/jobs", body, dict(kind, **(headers or {})))
    assert status in (200, 202), (status, data)
    return json.loads(data)["id"]


class Shared:
    """one service and one browser for all tests but the last"""

    def __init__(self):
        self.service = harness.Service(workers=1)
        self.browser = webdriver.Browser()
        self.base = f"http://127.0.0.1:{self.service.port}"
        self.done = submit(self.service)
        self.other = submit(self.service, seed=7, mesh={"axes": [{"name": "data", "size": 8}]})
        self.evil = submit(self.service, labels={"name": EVIL, EVIL[:40]: "x"}, argument_names=[f"{EVIL}{i}" for i in range(63)])
        self.bad = submit(self.service, b"module @m { not a module }")
        self.tight = submit(self.service, memory_limit_bytes=1500000)
        for job in (self.done, self.other, self.evil, self.tight):
            assert self.service.wait(job, 90)["state"] == "succeeded"
        assert self.service.wait(self.bad)["state"] == "failed"
        self.pages = {"overview": "/ui", "jobs": "/ui/jobs", "job": f"/ui/jobs/{self.done}", "pictures": f"/ui/jobs/{self.tight}", "failed": f"/ui/jobs/{self.bad}",
                      "workers": "/ui/workers", "compare": f"/ui/compare?jobs={self.done},{self.other}",
                      "new": f"/ui/new?from={self.done}", "what-if": f"/ui/what-if?job={self.tight}", "cut": f"/ui/what-if?job={self.tight}&dimension=ffn", "login": "/ui/login",
                      "report": f"/v1/jobs/{self.done}/artifacts/report.html"}

    def close(self):
        self.browser.close()
        self.service.close()


shared = None


def test_headers():
    s = shared.service
    for name, path in shared.pages.items():
        status, headers, data = s.request("GET", path)
        assert status == 200 and headers["content-type"].startswith("text/html"), (name, status)
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe-eval" not in policy and headers["x-content-type-options"] == "nosniff", policy
        assert "script-src 'unsafe-inline'" not in policy and (name == "report" or "unsafe-inline" not in policy), policy
        text = data.decode()
        assert not re.search(r"<[^>]*\son\w+=|<[^>]*\sstyle=|<script>", text), name
        assert not re.search(r"(src|href)=\"(https?:)?//", text), name
    status, headers, _ = s.request("GET", "/ui/ui.js")
    again = s.request("GET", "/ui/ui.js", None, {"If-None-Match": headers["etag"]})
    assert status == 200 and headers["etag"].startswith('"') and again[0] == 304
    assert s.request("GET", "/")[1]["location"] == "/ui"
    status, headers, data = s.request("GET", "/ui/jobs/j_00000000000000000000000000")
    assert status == 404 and headers["content-type"].startswith("text/html") and b"<h1>" in data
    assert s.request("GET", "/ui/jobs?before=nonsense")[0] == 400


def edit_of(service, path):
    """the JSON that a page offers to edit"""
    page = service.request("GET", path)[2].decode()
    return json.loads(html.unescape(re.search(r"<textarea[^>]*>\n(.*?)</textarea>", page, re.S)[1]))


def test_forms():
    """what the forms do, as a browser without script would"""
    s = shared.service
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    jobs = [submit(s, seed=100 + i) for i in range(2)]
    for job in jobs:
        s.wait(job)
    body = "&".join(f"id={job}" for job in jobs) + "&action=delete"
    status, headers, _ = s.request("POST", "/ui/jobs", body, form)
    assert status == 303 and "done=2&refused=0&action=delete" in headers["location"], headers
    assert all(s.request("GET", f"/v1/jobs/{job}")[0] == 410 for job in jobs)
    before = s.json("GET", f"/v1/jobs/{shared.bad}")[1]["version"]
    status, headers, _ = s.request("POST", f"/ui/jobs/{shared.bad}", "action=retry", form)
    assert status == 303 and headers["location"] == f"/ui/jobs/{shared.bad}"
    assert s.wait(shared.bad)["version"] > before + 1
    status, _, data = s.request("POST", f"/ui/jobs/{shared.done}", "action=cancel", form)
    assert status == 409 and b"ended as succeeded" in data
    assert s.request("POST", f"/ui/jobs/{shared.done}", "action=explode", form)[0] == 400
    # two chosen jobs are compared, one alone cannot be
    status, headers, _ = s.request("POST", "/ui/jobs", f"id={shared.done}&id={shared.other}&action=compare", form)
    assert status == 303 and headers["location"] == f"/ui/compare?jobs={shared.done}%2C{shared.other}", headers
    assert s.request("GET", headers["location"])[0] == 200
    status, headers, _ = s.request("POST", "/ui/jobs", f"id={shared.done}&action=compare", form)
    assert status == 303 and b"Choose two jobs" in s.request("GET", headers["location"])[2]
    # the list is searched by words and put in order; a job's page has its step
    page = s.request("GET", "/ui/jobs?q=a100+model%3D2")[2].decode()
    assert shared.done in page and shared.other not in page and "data=4,model=2 a100-40" in page
    assert shared.other in s.request("GET", "/ui/jobs?q=DATA%3D8")[2].decode()
    page = s.request("GET", "/ui/jobs?q=" + urllib.parse.quote(EVIL))[2].decode()
    assert "<script>" not in page and html.escape(EVIL[:8], quote=False) in page
    steps = {job: s.json("GET", f"/v1/jobs/{job}")[1]["progress"]["best"]["step_ps"] for job in (shared.tight, shared.done)}
    page = s.request("GET", "/ui/jobs?sort=step")[2].decode()
    first, second = sorted(steps, key=steps.get)
    assert steps[first] < steps[second], steps
    assert page.index(f"/ui/jobs/{first}\"") < page.index(f"/ui/jobs/{second}\""), steps
    page = s.request("GET", "/ui/jobs?sort=about")[2].decode()
    assert page.index(f"/ui/jobs/{shared.done}\"") < page.index(f"/ui/jobs/{shared.other}\"")
    page = s.request("GET", f"/ui/jobs/{shared.tight}")[2].decode()
    assert 'id="lanes"' in page and 'id="memory"' in page and f"/v1/jobs/{shared.tight}/artifacts/trace.json" in page
    trace = s.json("GET", f"/v1/jobs/{shared.tight}/artifacts/trace.json")[1]
    assert {event["tid"] for event in trace if event["ph"] == "X"} == {1, 2}
    # another site's page may not
    status, _, _ = s.request("POST", f"/ui/jobs/{shared.done}", "action=delete", dict(form, Origin="http://evil.example"))
    assert status == 403 and s.request("GET", f"/v1/jobs/{shared.done}")[0] == 200
    # clone with edits: what is wrong is said beside the text, what is right becomes a job
    status, _, data = s.request("POST", "/ui/new", urllib.parse.urlencode({"request": '{"mesh": 1, "x": "</textarea><b>"}'}), form)
    assert status == 422 and b"/x" in data and b"&lt;/textarea&gt;&lt;b&gt;" in data, data[-1500:]
    request = edit_of(s, f"/ui/new?from={shared.done}")
    assert request["labels"] == {"team": "speech"} and request["mesh"]["axes"][0]["size"] == 4
    request["seed"] = 4242
    status, headers, _ = s.request("POST", "/ui/new", urllib.parse.urlencode({"request": json.dumps(request)}), form)
    assert status == 303, status
    made = s.wait(headers["location"].rsplit("/", 1)[1])
    assert made["state"] == "succeeded" and made["labels"] == {"team": "speech"}
    # what if: the plan is priced again as it is, and one that says nonsense is refused beside its text
    request = edit_of(s, f"/ui/what-if?job={shared.tight}")
    assert request["plan"]["decisions"] and "arguments" not in request["plan"], request
    def price(value):
        status, _, data = s.request("POST", f"/ui/what-if?job={shared.tight}", urllib.parse.urlencode({"request": json.dumps(value)}), form)
        return status, data.decode()
    status, page = price(request)
    assert status == 200 and page.count("+0.00 %") == 3, page[-3000:]
    request["plan"]["decisions"] = []
    status, page = price(request)
    assert status == 200 and "does not fit" in page and page.count("+0.00 %") < 3
    status, page = price(dict(request, plan={"format": 1}))
    assert status == 422 and 'role="alert"' in page
    assert s.request("GET", f"/ui/what-if?job={shared.bad}")[0] == 404
    # a worker is asked to take no more tasks, and to go on
    page = s.request("GET", "/ui/workers")[2].decode()
    worker = html.unescape(re.search(r'name="worker" value="([^"]+)"', page)[1])
    drain = urllib.parse.urlencode({"worker": worker, "action": "drain"})
    assert s.request("POST", "/ui/workers", drain, form)[0] == 303
    assert ">draining<" in s.request("GET", "/ui/workers")[2].decode()
    assert s.request("POST", "/ui/workers", drain.replace("drain", "resume"), form)[0] == 303
    assert ">draining<" not in s.request("GET", "/ui/workers")[2].decode()
    assert s.request("POST", "/ui/workers", "worker=nobody&action=drain", form)[0] == 404
    # a filter
    listed = s.request("GET", "/ui/jobs?state=failed")[2].decode()
    assert shared.bad in listed and shared.done not in listed
    assert shared.done in s.request("GET", "/ui/jobs?label=team%3Dspeech")[2].decode()
    assert "No job is like that" in s.request("GET", "/ui/jobs?label=team%3Dnobody")[2].decode()
    # .. by time: minutes in UTC as a browser's form sends them, a day, or as the API takes it
    created = s.json("GET", f"/v1/jobs/{shared.done}")[1]["created_at"]
    minute = urllib.parse.quote(created[:16])
    later = urllib.parse.quote(f"{int(created[:4]) + 1}{created[4:16]}")
    for query, there in ((f"created_after={minute}", True), (f"created_before={minute}", False), (f"created_after={later}", False),
                         (f"created_before={later}&created_after={created[:10]}", True), (f"created_after={created}", True),
                         (f"created_before={created}", False), ("state=&label=&created_after=&created_before=", True)):
        page = s.request("GET", "/ui/jobs?" + query)[2].decode()
        assert (shared.done in page) == there, (query, created)
    assert f'name="created_before" value="{urllib.parse.unquote(later)}"' in s.request("GET", f"/ui/jobs?created_before={later}")[2].decode()
    assert s.request("GET", "/ui/jobs?created_after=yesterday")[0] == 400


def test_pages_load():
    b = shared.browser
    b.errors()
    for name, path in shared.pages.items():
        b.go(shared.base + path)
        assert b.run("return document.title") and len(b.text()) > 40, name
        complaints = b.errors()
        assert not complaints, (name, complaints)
    b.go(f"{shared.base}/ui/jobs/{shared.done}")
    assert "succeeded" in b.text("#live") and "report.html" in b.text("#artifacts") and b.text("#events").count("step") >= 2
    assert b.run("return document.querySelector('#search path.line') !== null")
    assert "curl -X POST" in b.text("#curl") and '"rollouts":300' in b.text("#curl")
    b.go(f"{shared.base}/ui/compare?jobs={shared.done},{shared.other}")
    assert "data=4 × model=2" in b.text() and "data=8" in b.text() and "Step time" in b.text()
    b.go(f"{shared.base}/ui/jobs/{shared.bad}")
    assert "invalid_module" in b.text(".notice") and "line" in b.text(".notice"), b.text(".notice")


# pairs of a picture's texts whose boxes share more than a unit
COLLISIONS = """return [...document.querySelectorAll('#layer svg, #scatter svg, #lanes svg')].flatMap(svg => {
  const texts = [...svg.querySelectorAll('text')].map(text => [text.textContent, text.getBBox()]);
  return texts.flatMap(([a, p], i) => texts.slice(i + 1).filter(([, q]) => p.x + 1 < q.x + q.width && q.x + 1 < p.x + p.width &&
    p.y + 1 < q.y + q.height && q.y + 1 < p.y + p.height).map(([b]) => a + ' | ' + b)); })"""


def test_pictures_of_a_plan():
    """a layer as tiles and arrows, all plans seen, the timeline's parts: what they show is what the artifacts say; no label on another"""
    b, s = shared.browser, shared.service
    b.go(f"{shared.base}/ui/jobs/{shared.tight}")
    report = s.json("GET", f"/v1/jobs/{shared.tight}/artifacts/report.json")[1]
    plan = s.json("GET", f"/v1/jobs/{shared.tight}/plan")[1]
    layer = [a for a in plan["arguments"] if a["role"] == "parameter" and a["name"].startswith("params/layer_00/")]
    sizes = {axis["name"]: axis["size"] for axis in plan["mesh"]["axes"]}
    tiles = b.run("return [...document.querySelectorAll('#layer rect.c0 > title')].map(t => [t.textContent, "
                  "t.parentNode.width.baseVal.value * t.parentNode.height.baseVal.value, "
                  "t.parentNode.previousSibling.width.baseVal.value * t.parentNode.previousSibling.height.baseVal.value])")
    assert len(tiles) == len(layer) > 5, tiles
    for argument, (title, own, whole) in zip(layer, tiles, strict=True):
        cut = 1
        for axis in sum(argument["dims"], []):
            cut *= sizes[axis]
        assert title.startswith(argument["name"] + ":") and abs(whole / own - cut) < 0.1, (argument, own, whole)
    kinds = {(c["kind"], tuple(c["axes"])) for c in report["collectives"]}
    assert b.run("return document.querySelectorAll('#layer path.link').length") == min(len(kinds), 8)
    points = b.run("return [...document.querySelectorAll('#scatter circle > title')].map(t => t.textContent)")
    priced = [row for row in report["whole"] if row["best_try"]] + [row for row in report["conflicts"] if "other_side" in row]
    assert len(points) == 1 + len(report["baselines"]) + len(priced), (len(points), len(priced))
    labels = b.run("return [...document.querySelectorAll('#scatter svg text')].map(t => t.textContent)")
    assert "this plan" in labels and {row["name"] for row in report["baselines"]} <= set(points)
    assert b.run(COLLISIONS) == []
    whole = b.run("return document.querySelector('#lanes path.area').getAttribute('d')")
    b.click("#lanes .actions a:nth-child(2)")
    assert b.run("return location.search") == "?zoom=1.1" and "Earlier" in b.text("#lanes .actions")
    assert b.run("return document.querySelector('#lanes path.area').getAttribute('d')") != whole and b.run(COLLISIONS) == []
    b.go(f"{shared.base}/ui/jobs/{shared.tight}?zoom=9.9")
    assert b.run("return document.querySelector('#lanes path.area').getAttribute('d')") == whole, "nonsense shows all"
    # what if, by a click on a dimension: ticked as the plan cuts it; the answer is that of /v1/price
    argument = next(a for a in layer if a["name"].endswith("/up"))
    ffn = argument["groups"][1][0]
    b.go(f"{shared.base}/ui/jobs/{shared.tight}")
    b.run("[...document.querySelectorAll('#layer svg a')].find(a => a.href.baseVal.endsWith('dimension=' + arguments[0]))"
          ".dispatchEvent(new MouseEvent('click', {bubbles: true}))", ffn)
    b.wait(lambda: "Cut " + ffn in b.text(), "the page that asks for axes")
    boxes = "return [...document.querySelectorAll('input[name=axis]')].map(i => [i.value, i.checked])"
    assert b.run(boxes) == [[axis, axis in argument["dims"][1]] for axis in sizes]
    wanted = [axis for axis in sizes if axis not in argument["dims"][1]][:1]
    for axis in sizes:
        if (axis in wanted) != (axis in argument["dims"][1]):
            b.click(f"input[value={axis}]")
    b.click("form.card button.primary")
    b.wait(lambda: "edited" in b.text(), "the price of the edit")
    assert b.run(boxes) == [[axis, axis in wanted] for axis in sizes] and "change" in b.text()
    assert json.loads(b.run("return document.getElementById('request').value"))["cut"] == {ffn: wanted}
    b.go(f"{shared.base}/ui/jobs/{shared.tight}")
    b.look(390, False)
    b.run("document.querySelectorAll('#layer details, #scatter details').forEach(d => d.open = true)")
    assert all(argument["name"] in b.text("#layer table") for argument in layer) and "this plan" in b.text("#scatter table")
    b.look(1280, False)
    assert not b.errors()


def test_hostile_text():
    b = shared.browser
    for path in ("/ui/jobs", f"/ui/jobs/{shared.evil}", f"/ui/new?from={shared.evil}", f"/ui/compare?jobs={shared.evil},{shared.done}",
                 f"/v1/jobs/{shared.evil}/artifacts/report.html", "/ui/jobs?label=" + urllib.parse.quote("a=" + EVIL),
                 "/ui/jobs?action=" + urllib.parse.quote(EVIL), "/ui/compare?jobs=" + urllib.parse.quote(EVIL)):
        b.go(shared.base + path)
        assert b.run("return window.hacked") is None, path
        assert b.run("return document.querySelectorAll('main img').length") == 0, path
    b.go(f"{shared.base}/ui/jobs/{shared.evil}")
    assert "<script>window.hacked" in b.text(".summary")
    b.go(f"{shared.base}/v1/jobs/{shared.evil}/artifacts/report.html")
    assert "<script>window.hacked" in b.text("#shards")
    b.errors()


def test_live():
    """a page that is open follows its job without being loaded again; with the stream broken it asks"""
    b, s = shared.browser, shared.service
    worker = s.workers.pop()
    worker.terminate()
    worker.wait(20)
    job = submit(s, seed=501)
    b.go(f"{shared.base}/ui/jobs/{job}")
    assert "queued" in b.text("#live")
    b.run("window.mark = 1; document.querySelector('#live details')?.setAttribute('open', '')")
    s.start_worker()
    b.wait(lambda: "succeeded" in b.text(".summary") and "report.html" in b.text("#artifacts"), "the page shows the job's end")
    assert b.run("return window.mark") == 1 and not b.errors()
    # polling: without EventSource
    worker = s.workers.pop()
    worker.terminate()
    worker.wait(20)
    job = submit(s, seed=502)
    hook = b.cdp("Page.addScriptToEvaluateOnNewDocument", source="delete window.EventSource")
    b.go(f"{shared.base}/ui/jobs/{job}")
    b.run("window.mark = 2")
    s.start_worker()
    b.wait(lambda: "succeeded" in b.text(".summary"), "the page asks again")
    assert b.run("return window.mark") == 2
    b.cdp("Page.removeScriptToEvaluateOnNewDocument", identifier=hook["identifier"])
    # the list looks again by itself and keeps what was chosen; pausing stops it
    b.go(shared.base + "/ui/jobs")
    b.run("document.querySelector('input[name=id]').checked = true")
    chosen = b.run("return document.querySelector('input[name=id]').value")
    b.wait(lambda: b.run("return Number(document.getElementById('live').dataset.looks || 0)") >= 1, "the list looks again")
    assert b.run("return document.querySelector('input[name=id]:checked').value") == chosen
    b.click(".livebar button")
    assert b.text(".livebar").startswith("Paused")
    b.errors()


def test_without_script():
    b, s = shared.browser, shared.service
    worker = s.workers.pop()
    worker.terminate()
    worker.wait(20)
    job = submit(s, seed=503)
    b.cdp("Emulation.setScriptExecutionDisabled", value=True)
    try:
        b.go(f"{shared.base}/ui/jobs/{job}")
        assert "queued" in b.text("#live") and b.text(".livebar") == ""
        s.start_worker()
        b.wait(lambda: "succeeded" in b.text(".summary"), "the page loads itself again")
        b.click("nav.main a[href='/ui/jobs']")
        b.wait(lambda: b.text("h1") == "Jobs", "links work")
    finally:
        b.cdp("Emulation.setScriptExecutionDisabled", value=False)


def focused(b):
    return b.run("const e = document.activeElement; const s = getComputedStyle(e); "
                 "return {tag: e.tagName, text: (e.innerText || e.value || '').trim(), name: e.name || '', "
                 "outline: parseFloat(s.outlineWidth) > 0 && s.outlineStyle !== 'none'}")


def test_keyboard():
    """a job is chosen and deleted with keys alone; whoever has the focus shows it"""
    b, s = shared.browser, shared.service
    victim = submit(s, seed=601)
    s.wait(victim)
    b.look(1280, False)
    b.go(shared.base + "/ui")
    b.press("Tab")
    assert focused(b)["text"] == "Skip to content", focused(b)
    names = []
    for _ in range(5):
        b.press("Tab")
        at = focused(b)
        names.append(at["text"])
        assert at["outline"], at
    assert names == ["TOAST", "Overview", "Jobs", "Workers", "Compare"], names
    b.press("Tab")
    b.go(shared.base + "/ui/jobs")
    def tab_to(wanted, most=60):
        for _ in range(most):
            b.press("Tab")
            at = focused(b)
            if wanted(at):
                assert at["outline"], at
                return
        raise AssertionError("no such stop of Tab")

    tab_to(lambda at: at["text"] == "Pause")
    b.press("Enter")
    tab_to(lambda at: at["name"] == "id" and at["text"] == victim)
    b.press("Space")
    tab_to(lambda at: at["text"] == "Delete", 200)
    b.press("Enter")
    b.wait(lambda: "1 deleted" in b.text("main"), "the job is deleted")
    assert s.request("GET", f"/v1/jobs/{victim}")[0] == 410
    b.go(f"{shared.base}/ui/jobs/{shared.done}")
    tab_to(lambda at: at["tag"] == "SUMMARY")
    b.press("Enter")
    assert b.run("return document.activeElement.parentElement.open")
    b.errors()


def test_looks():
    """no overflow, screenshots of every page, and axe-core finds nothing"""
    b = shared.browser
    axe = pathlib.Path(subprocess.run([harness.SOURCE / "scripts/web-tools"], capture_output=True, text=True, check=True).stdout.strip())
    source = axe.read_text()
    PICTURES.mkdir(exist_ok=True)
    report = PICTURES / "report.html"   # as a file: the service serves it in a sandbox where axe-core's promises never end
    report.write_bytes(shared.service.request("GET", shared.pages["report"])[2])
    for name, path in dict(shared.pages, report=report.resolve().as_uri()).items():
        for width in (360, 1440):
            for dark in (False, True):
                b.look(width, dark)
                if (width, dark) == (360, False):
                    b.go(path if name == "report" else shared.base + path)
                b.picture(PICTURES / f"{name}-{width}-{'dark' if dark else 'light'}.png")
                wide = b.run("return document.documentElement.scrollWidth")
                assert wide <= width, (name, width, wide)
                if (name, width) == ("report", 360):   # tables as rows of named cells: nothing scrolls sideways, also in what is closed
                    sideways = b.run("document.querySelectorAll('details').forEach(d => d.open = true); const found = [...document.querySelectorAll("
                                     "'.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.getAttribute('aria-label'));"
                                     "document.querySelectorAll('details').forEach(d => d.open = false); return found")
                    assert sideways == [], (dark, sideways)
                if (width == 360) == dark:   # each layout and each palette once
                    continue
                b.run(source)
                found = b.run_async("const done = arguments[0]; document.querySelectorAll('details').forEach(d => d.open = true);"
                                    "axe.run(document, {resultTypes: ['violations']}).then(r => done(r.violations.map("
                                    "v => v.id + ': ' + v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(' | '))),"
                                    "e => done([String(e)]))")
                assert found == [], (name, width, dark, found)
                b.run("document.querySelectorAll('details').forEach(d => d.open = false)")
    b.errors()


def test_sessions():
    """a key traded for a session; a reader sees no actions; forms carry the token"""
    b, s = shared.browser, shared.service
    b.look(1280, False)

    def key(role):
        return subprocess.run([harness.BIN / "toast", "keys", "add", "--tenant", "default", "--role", role, "--redis", s.redis_address],
                              capture_output=True, text=True, check=True).stdout.strip().split()[-1]

    reader, submitter = key("read"), key("submit")
    b.wait(lambda: s.request("GET", "/v1/jobs")[0] == 401, "the server knows of the keys")
    b.go(shared.base + "/ui/jobs")
    assert b.run("return location.pathname") == "/ui/login"
    b.type("#key", "tk_00000000_nonsense")
    b.press("Enter")
    b.wait(lambda: "not known here" in b.text("main"), "a wrong key is refused")
    b.type("#key", reader)
    b.press("Enter")
    b.wait(lambda: b.run("return location.pathname") == "/ui", "signed in")
    assert "read only" in b.text(".who") and b.run("return document.cookie") == ""
    b.go(f"{shared.base}/ui/jobs/{shared.done}")
    buttons = b.run("return [...document.querySelectorAll('main button')].map(e => e.innerText)")
    assert not {"Delete", "Start again", "Cancel, keep the best plan"} & set(buttons) and "Clone" not in b.text("main"), buttons
    b.click(".who button")
    b.wait(lambda: b.run("return location.pathname") == "/ui/login", "signed out")
    b.type("#key", submitter)
    b.press("Enter")
    b.wait(lambda: b.run("return location.pathname") == "/ui", "signed in again")
    # a form without the token changes nothing; the page's own form does
    refused = b.run_async("const done = arguments[1]; fetch('/ui/jobs/' + arguments[0], {method: 'POST', body: new URLSearchParams("
                          "{action: 'delete'})}).then(r => done(r.status))", shared.other)
    assert refused == 403, refused
    b.errors()
    b.go(f"{shared.base}/ui/jobs/{shared.other}")
    b.click("main button[value=delete]")
    b.wait(lambda: "1 deleted" in b.text("main"), "the page's form is heard")
    assert not b.errors()
    # Redis away: a page says so and looks again by itself
    s.redis.kill()
    s.redis.wait()
    status, headers, data = s.request("GET", "/ui", None, {"Authorization": f"Bearer {reader}"})
    assert status == 503 and b"http-equiv=\"refresh\"" in data and b"cannot answer now" in data, (status, data)


if __name__ == "__main__":
    shared = Shared()
    try:
        harness.main([test_headers, test_forms, test_pages_load, test_pictures_of_a_plan, test_hostile_text, test_live, test_without_script, test_keyboard,
                      test_looks, test_sessions])
    finally:
        shared.close()
