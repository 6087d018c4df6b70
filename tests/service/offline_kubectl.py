#!/usr/bin/env python3
"""Stands for `kubectl` and `docker` where the shell blocks of the pages are tried without cluster and engine: does what needs none, checks
that what a command names is in docker/kubernetes/, and refuses every command that it does not know."""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(os.environ["TOAST_SOURCE"])
MANIFESTS = ROOT / "docker" / "kubernetes"
loader = importlib.machinery.SourceFileLoader("plain_yaml", str(ROOT / "scripts" / "openapi"))
plain_yaml = importlib.util.module_from_spec(importlib.util.spec_from_loader("plain_yaml", loader))
loader.exec_module(plain_yaml)


def fail(said):
    sys.exit(f"offline {pathlib.Path(sys.argv[0]).name}: {said}: {' '.join(sys.argv[1:])}")


def listed():
    return plain_yaml.load(MANIFESTS / "kustomization.yaml")["resources"]


def kinds():
    """{("Deployment", "toast-server"), ..}"""
    items = [plain_yaml.load(MANIFESTS / name) for name in listed()]
    return {(item["kind"].lower(), item["metadata"]["name"]) for item in items}


def kustomize(folder):
    if pathlib.Path(folder).resolve() != MANIFESTS.resolve():
        fail("no such kustomization")
    print("\n---\n".join((MANIFESTS / name).read_text() for name in listed()))


def apply(path):
    documents = [text for text in re.split(r"^---$", pathlib.Path(path).read_text(), flags=re.M) if text.strip()]
    for text in documents:
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as one:
            one.write(text)
            one.flush()
            item = plain_yaml.load(pathlib.Path(one.name))
        if not all(isinstance(value, str) for value in (item["apiVersion"], item["kind"], item["metadata"]["name"])):
            fail("a document without apiVersion, kind and name")
        print(f"{item['kind'].lower()}/{item['metadata']['name']}")


def secret(name, *literals):
    example = plain_yaml.load(MANIFESTS / "secret.example.yaml")
    keys = {literal.removeprefix("--from-literal=").split("=")[0] for literal in literals if literal.split("=", 2)[2]}
    if name != example["metadata"]["name"] or keys != set(example["stringData"]):
        fail(f"the manifests want {example['metadata']['name']} with {sorted(example['stringData'])}")


def there(what):
    kind, name = what.split("/")
    if (kind, name) not in kinds():
        fail(f"no {kind} {name}")


def forward(what, ports):
    there(what)
    service = plain_yaml.load(MANIFESTS / f"{what.split('/toast-')[1]}-service.yaml")
    if int(ports.split(":")[1]) not in [port["port"] for port in service["spec"]["ports"]]:
        fail("the service has no such port")


def docker(arguments):
    if arguments[:2] == ["build", "-f"] and pathlib.Path(arguments[2]).exists():
        return
    if arguments[0] != "push":
        fail("what is this")


def kubectl(arguments):
    if arguments[:2] == ["-n", "toast"]:
        arguments = arguments[2:]
    for words, function in ((["kustomize"], kustomize), (["apply", "-f"], apply), (["create", "secret", "generic"], secret),
                            (["rollout", "status"], there), (["port-forward"], forward)):
        if arguments[:len(words)] == words:
            return function(*arguments[len(words):])
    fail("what is this")


if __name__ == "__main__":
    (docker if pathlib.Path(sys.argv[0]).name == "docker" else kubectl)(sys.argv[1:])
