#!/usr/bin/env python3
# label: service
# timeout: 300
"""The TypeScript client that openapi-typescript and openapi-fetch make of openapi.yaml runs README's journey (journey.ts) against a live service,
after tsc has found nothing in it. Needs npm and node; without them it is skipped (status 77) and says so."""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "service")]
import harness  # noqa: E402


def run(folder, *command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, (command, done.stdout[-3000:], done.stderr[-3000:])
    return done.stdout


def main():
    if not shutil.which("npm") or not shutil.which("node"):
        print("skipped: no npm, no node (apt-get install npm nodejs)")
        return 77
    with tempfile.TemporaryDirectory(prefix="toast-typescript-") as name:
        folder = pathlib.Path(name)
        for file in ("package.json", "package-lock.json", "tsconfig.json", "journey.ts"):
            shutil.copy(HERE / file, folder)
        run(folder, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
        run(folder, "npx", "--no-install", "openapi-typescript", str((harness.SOURCE / "docs/openapi.json").resolve()), "-o", "schema.ts",
            "--default-non-nullable=false")     # a member with a default may be left out of a request
        run(folder, "npx", "--no-install", "tsc")
        service = harness.Service(workers=1)
        try:
            model = (harness.SOURCE / "tests/models/small/t2b.mlir").resolve()
            saw = json.loads(run(folder, "node", "out/journey.js", f"http://127.0.0.1:{service.port}", str(model)))
        finally:
            service.close()
    print(saw)
    assert saw["state"] == "succeeded" and saw["arguments"] > 10 and saw["hash"] and saw["report"] > 1000, saw
    assert {"plan.json", "report.json", "annotated.mlir"} <= set(saw["artifacts"]) and saw["refused"] == "unknown_device", saw
    return 0


if __name__ == "__main__":
    sys.exit(main())
