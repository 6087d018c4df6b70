#!/usr/bin/env python3
# label: service
# timeout: 300
"""schemathesis (pinned by hash, scripts/requirements-schema.txt) reads openapi.yaml and asks a live server what it says: every
status, header and body must be described, wrong requests refused, keys demanded, nothing may end in a 5xx. Seeded.

TOAST_SCHEMA_EXAMPLES sets the requests tried for each operation beside the systematic ones (3)."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness


def test_described():
    source = harness.SOURCE.resolve()
    python = subprocess.run([source / "scripts" / "truth-venv", source / "scripts" / "requirements-schema.txt"],
                            env=dict(os.environ, TOAST_VENV=str(source / ".venv-schema")), capture_output=True, text=True, check=True).stdout.strip()
    service = harness.Service(workers=1)
    try:
        key = subprocess.run([harness.BIN / "toast", "keys", "add", "--redis", service.redis_address, "--tenant", "t", "--role", "admin"],
                             capture_output=True, text=True, check=True).stdout.strip()
        service.server.terminate()   # it reads keys once a second; a fresh one knows this one at once
        service.server.wait()
        service.start_server()
        url = f"http://127.0.0.1:{service.port}"
        done = subprocess.run(
            [python, "-m", "schemathesis.cli", "--config-file", source / "tests" / "service" / "schemathesis.toml", "run",
             f"{url}/openapi.json", "--seed", "1", "--max-examples", os.environ.get("TOAST_SCHEMA_EXAMPLES", "3"), "--no-color",
             "--generation-database", "none"], cwd=service.folder, env=dict(os.environ, TOAST_KEY=key, TOAST_URL=url),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=280)
        assert done.returncode == 0, done.stdout[-12000:]
        print(done.stdout[done.stdout.index("= SUMMARY ="):])
        assert service.request("GET", "/livez")[0] == 200
    finally:
        service.close()


if __name__ == "__main__":
    harness.main([test_described])
