"""A plan by the service: POST /v1/jobs, wait, fetch the artifacts. Standard library only.

A connection that fails, 429 and 503 are tried again with back-off (Retry-After where it is said) for `patience_s`, under
one idempotency key, so that no try makes a second job. Promises: what the service refuses is raised with its detail and
pointer. Never leaves a job running when the caller is interrupted: it is cancelled.
"""
from __future__ import annotations

import gzip
import json
import os
import random
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from .errors import ModuleRefused, PlanningFailed, RequestRefused, ServiceUnreachable

_AGAIN = {429, 502, 503, 504}
_WAIT_S = 20
_ENDED = {"succeeded", "failed", "expired", "cancelled", "dead"}
_ABOUT_MODULES = {"invalid_module", "unsupported_module", "module_too_large", "invalid_gzip"}


class Client:
    """One service. `key` (or $TOAST_KEY) where it wants one."""

    def __init__(self, url: str, key: str | None = None, patience_s: float = 60.0,
                 say: Callable[[str], None] | None = None) -> None:
        self.url = url.rstrip("/")
        self.key = key or os.environ.get("TOAST_KEY")
        self.patience_s = patience_s
        self.say = say or (lambda text: None)
        if urllib.parse.urlsplit(self.url).scheme not in ("http", "https"):
            raise ServiceUnreachable(f"url={url!r} is no address of a service; one looks like http://127.0.0.1:8080")

    def _once(self, method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> bytes:
        request = urllib.request.Request(self.url + path, data=body, method=method, headers=dict(headers))
        if self.key:
            request.add_header("Authorization", f"Bearer {self.key}")
        with urllib.request.urlopen(request, timeout=_WAIT_S + 40) as reply:
            data: bytes = reply.read()
            return data

    def call(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> bytes:
        """The reply's body; tried again while that may help."""
        start, tries = time.monotonic(), 0
        while True:
            tries += 1
            pause = min(0.25 * 2 ** tries, 8.0) * random.uniform(0.5, 1.0)
            try:
                return self._once(method, path, body, headers or {})
            except urllib.error.HTTPError as error:
                said = error.read()
                if error.code not in _AGAIN:
                    raise _refusal(error.code, said) from None
                what = f"answered {error.code}"
                after = error.headers.get("Retry-After", "")
                pause = max(pause, min(float(after), 30.0)) if after.isdigit() else pause
            except (urllib.error.URLError, ConnectionError, TimeoutError) as error:
                what = str(getattr(error, "reason", error))
            if time.monotonic() - start + pause > self.patience_s:
                raise ServiceUnreachable(f"{self.url}{path}: {what}; tried {tries} times in {time.monotonic() - start:.0f} s. "
                                         "Is the service running (toast serve) and the address right?") from None
            self.say(f"{self.url}: {what}; again in {pause:.1f} s")
            time.sleep(pause)

    def json(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> dict[str, Any]:
        out: dict[str, Any] = json.loads(self.call(method, path, body, headers))
        return out

    def plan(self, module: str, request: Mapping[str, Any]) -> dict[str, bytes]:
        """The artifacts of a new job (or of an equal one that succeeded), by name."""
        body, kind = _form({"module": gzip.compress(module.encode(), mtime=0), "request": json.dumps(request).encode()})
        job = self.json("POST", "/v1/jobs", body, {"Content-Type": kind, "Idempotency-Key": uuid.uuid4().hex})
        path = f"/v1/jobs/{urllib.parse.quote(job['id'])}"
        try:
            while job["state"] not in _ENDED:
                self.say(_progress(job))
                job = self.json("GET", path, headers={"Prefer": f"wait={2 if job['state'] == 'queued' else 5}"})
        except BaseException as error:
            if not isinstance(error, ServiceUnreachable):
                self.patience_s = 2.0
                try:
                    self.call("POST", path + ":cancel?discard=true", b"")
                except Exception as lost:
                    self.say(f"{job['id']} could not be cancelled: {lost}")
            raise
        if job["state"] != "succeeded":
            raise _failed(job)
        listed = self.json("GET", path + "/artifacts")["artifacts"]
        return {each["name"]: self.call("GET", f"{path}/artifacts/{urllib.parse.quote(each['name'], safe='/')}") for each in listed}


def _form(parts: Mapping[str, bytes]) -> tuple[bytes, str]:
    edge = uuid.uuid4().hex
    out = b"".join(f"--{edge}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n".encode() + data + b"\r\n"
                   for name, data in parts.items())
    return out + f"--{edge}--\r\n".encode(), f"multipart/form-data; boundary={edge}"


def _progress(job: Mapping[str, Any]) -> str:
    progress = job.get("progress") or {}
    best = progress.get("best") or {}
    text = f"{job['id']} {progress.get('stage', job['state'])}"
    if "rollouts" in progress:
        text += f": {progress['rollouts']} rollouts"
    if "step_ps" in best:
        text += f", best {best['step_ps'] / 1e9:.3f} ms ({best.get('found_by', '?')})"
    return text


def _class(code: str | None) -> type[PlanningFailed]:
    return ModuleRefused if code in _ABOUT_MODULES else RequestRefused


def _refusal(status: int, said: bytes) -> PlanningFailed:
    try:
        problem = json.loads(said)
    except ValueError:
        return PlanningFailed(f"the service answered {status}: {said[:200]!r}")
    text = problem.get("detail") or problem.get("title") or str(status)
    where = "; ".join(each["pointer"] + (f": {each['reason']}" if each["reason"] != text else "") for each in problem.get("errors") or [])
    code = problem.get("code")
    kind = _class(code) if status in (400, 413, 422) else PlanningFailed
    return kind(f"{text} ({where})" if where else f"{text} ({code})", code=code)


def _failed(job: Mapping[str, Any]) -> PlanningFailed:
    error = job.get("error") or {}
    code = error.get("code")
    text = error.get("message") or error.get("detail") or code or "no reason given"
    where = error.get("pointer") or (f"line {error['line']}, column {error.get('column')}" if error.get("line") else "")
    kind = _class(code) if job["state"] == "failed" and code != "internal" else PlanningFailed
    return kind(f"{job['id']} {job['state']}: {text}{f' ({where})' if where else ''}", code=code)
