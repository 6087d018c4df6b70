#!/usr/bin/env python3
# label: service
# timeout: 300
"""The Python client that openapi-python-client makes of openapi.yaml has every operation and runs README's journey against a live service: submit,
wait, fetch plan and report, a refusal."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "service")]
import harness  # noqa: E402

ENDED = {"succeeded", "failed", "cancelled", "expired", "dead"}


def python():
    """with the generator and what its clients use (scripts/requirements-generator.txt)"""
    if os.environ.get("TOAST_GENERATOR_PYTHON"):
        return os.environ["TOAST_GENERATOR_PYTHON"]
    scripts = harness.SOURCE.resolve() / "scripts"
    return subprocess.run([scripts / "truth-venv", scripts / "requirements-generator.txt"], check=True, stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, TOAST_VENV=str(harness.SOURCE.resolve() / ".venv-generator"))).stdout.strip()


def generate(folder):
    specification = (harness.SOURCE / "docs/openapi.json").resolve()
    settings = pathlib.Path(folder, "settings.json")
    settings.write_text(json.dumps({"post_hooks": []}))     # it would format its own output
    done = subprocess.run([sys.executable, "-m", "openapi_python_client", "generate", "--path", str(specification), "--meta", "none",
                           "--config", str(settings), "--output-path", f"{folder}/toast_client"], capture_output=True, text=True)
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    # a body that has several media types is generated for one of them; nothing else may be left out
    for warning in said.split("WARNING")[1:]:
        assert warning.split("\n\n")[1].startswith("Unsupported content type"), warning
    assert "Unable to process schema" not in said and "will not be generated" not in said, said
    wanted = {operation["operationId"] for path in json.loads(specification.read_text())["paths"].values()
              for method, operation in path.items() if method != "parameters"}
    made = {path.stem.replace("_", "") for path in pathlib.Path(folder, "toast_client/api/default").glob("*.py")}
    assert {name.lower() for name in wanted} <= made, {name.lower() for name in wanted} - made
    return len(wanted)


def journey(base):
    from toast_client import Client, models
    from toast_client.api.default import get_artifact, get_job, get_plan, list_artifacts, submit_job

    def request(device):
        mesh = models.RequestedMesh(axes=[models.RequestedMeshAxesItem(name="data", size=4), models.RequestedMeshAxesItem(name="model", size=2)])
        text = (harness.SOURCE / "tests/models/small/t2b.mlir").read_text()
        return models.JobRequest(mesh=mesh, device=device, module=models.RequestedModuleType1(inline=text),
                                 budget=models.JobRequestBudget(rollouts=200))
    client = Client(base_url=base, timeout=60)
    job = submit_job.sync(client=client, body=request("a100-40"))
    assert isinstance(job, models.Job), job
    while job.state.value not in ENDED:
        job = get_job.sync(job.id, client=client, prefer="wait=5")
    assert job.state.value == "succeeded", job
    plan = get_plan.sync(job.id, client=client)
    assert isinstance(plan, models.Plan) and len(plan.arguments) > 10 and plan.hash_, plan
    names = {artifact.name for artifact in list_artifacts.sync(job.id, client=client).artifacts}
    assert {"plan.json", "report.json", "annotated.mlir"} <= names, names
    report = get_artifact.sync_detailed(job.id, "report.txt", client=client)
    assert report.status_code == 200 and len(report.content) > 1000
    refused = submit_job.sync(client=client, body=request("no-such-device"))
    assert isinstance(refused, models.Problem) and refused.code == "unknown_device", refused
    return len(plan.arguments)


def main():
    if os.environ.get("TOAST_GENERATED") != "1":
        os.execve(python(), [python(), *sys.argv], dict(os.environ, TOAST_GENERATED="1"))
    with tempfile.TemporaryDirectory(prefix="toast-python-") as folder:
        count = generate(folder)
        sys.path.insert(0, folder)
        service = harness.Service(workers=1)
        try:
            arguments = journey(f"http://127.0.0.1:{service.port}")
        finally:
            service.close()
    print(f"{count} operations generated; a plan of {arguments} arguments")
    return 0


if __name__ == "__main__":
    sys.exit(main())
