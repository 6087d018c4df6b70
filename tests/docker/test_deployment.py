#!/usr/bin/env python3
# label: unit
# timeout: 60
"""What stands in docker/ without an engine or a cluster: the Dockerfile's habits and packages, compose and Kubernetes files that
parse, refer to what exists and drop what they do not need, alerts and dashboard that ask for metrics the server has."""
import importlib.machinery
import importlib.util
import json
import os
import pathlib
import re
import subprocess

ROOT = pathlib.Path(os.environ.get("TOAST_SOURCE", "."))
loader = importlib.machinery.SourceFileLoader("plain_yaml", str(ROOT / "scripts" / "openapi"))
plain_yaml = importlib.util.module_from_spec(importlib.util.spec_from_loader("plain_yaml", loader))
loader.exec_module(plain_yaml)
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)
        print("FAILED", what)


def dockerfile():
    text = (ROOT / "docker" / "Dockerfile").read_text()
    text = re.sub(r"\\\n", " ", text)
    instructions = [line.split(None, 1) for line in text.split("\n") if line.strip() and not line.startswith("#")]
    stages = [argument for word, argument in instructions if word == "FROM"]
    check(len(stages) >= 2, "several stages")
    check(all(re.match(r"debian:12-slim\b", s) for s in stages), f"Debian 12 slim in every stage: {stages}")
    for word, argument in instructions:
        if word == "RUN" and "apt-get install" in argument:
            check("--no-install-recommends" in argument and "rm -rf /var/lib/apt/lists" in argument, f"lean apt-get: {argument}")
            check("apt-get update" in argument, "update and install in one layer")
        check(word != "ADD", "COPY, not ADD")
        check(not (word == "RUN" and "sudo" in argument), "no sudo")
    last = instructions[max(i for i, x in enumerate(instructions) if x[0] == "FROM"):]
    users = [a for w, a in last if w == "USER"]
    check(users and users[-1] not in ("root", "0"), "the image runs as a user of its own")
    for word in ("HEALTHCHECK", "EXPOSE", "CMD"):
        check(any(w == word for w, _ in last), f"the image says {word}")
    # what scripts/install installs to build with is what the image builds with
    wanted = set(re.findall(r"\blib[a-z0-9.+-]+-dev\b", (ROOT / "scripts" / "install").read_text()))
    have = set(re.findall(r"\blib[a-z0-9.+-]+-dev\b", text))
    check(wanted <= have, f"packages that scripts/install has and the Dockerfile lacks: {sorted(wanted - have)}")


def containers(pod):
    return pod.get("initContainers", []) + pod["containers"]


def kubernetes():
    folder = ROOT / "docker" / "kubernetes"
    files = {p.name: plain_yaml.load(p) for p in sorted(folder.glob("*.yaml"))}
    listed = set(files["kustomization.yaml"]["resources"])
    check(listed == set(files) - {"kustomization.yaml", "secret.example.yaml"}, f"kustomization lists every resource: {listed}")
    kinds = {}
    for name, item in files.items():
        check(isinstance(item.get("apiVersion"), str) and isinstance(item.get("kind"), str), f"{name}: apiVersion and kind")
        if item["kind"] == "Kustomization":
            continue
        check(re.fullmatch(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?", item["metadata"]["name"]), f"{name}: a DNS label as name")
        kinds.setdefault(item["kind"], {})[item["metadata"]["name"]] = item
    keys = {name: set(s["stringData"]) for name, s in kinds["Secret"].items()}
    labels = []
    for kind in ("Deployment", "StatefulSet"):
        for name, item in kinds[kind].items():
            check(item["apiVersion"] == "apps/v1", f"{name}: apps/v1")
            template = item["spec"]["template"]
            labels.append(template["metadata"]["labels"])
            wanted = item["spec"]["selector"]["matchLabels"].items()
            check(wanted <= template["metadata"]["labels"].items(), f"{name}: the selector fits its pods")
            pod = template["spec"]
            check(pod["securityContext"]["runAsNonRoot"] is True, f"{name}: not root")
            check(pod["automountServiceAccountToken"] is False and pod["serviceAccountName"] in kinds["ServiceAccount"],
                  f"{name}: a service account without token")
            volumes = {v["name"]: v for v in pod.get("volumes", [])}
            volumes.update({v["metadata"]["name"]: v for v in item["spec"].get("volumeClaimTemplates", [])})
            for v in volumes.values():
                check(v.get("configMap", {}).get("name", "toast-redis") in kinds["ConfigMap"], f"{name}: {v}")
                claim = v.get("persistentVolumeClaim", {}).get("claimName")
                check(claim is None or claim in kinds["PersistentVolumeClaim"], f"{name}: {v}")
            for c in containers(pod):
                where = f"{name}/{c['name']}"
                check(":" in c["image"] and not c["image"].endswith(":latest"), f"{where}: a version of the image")
                security = c["securityContext"]
                check(security["allowPrivilegeEscalation"] is False and security["readOnlyRootFilesystem"] is True and
                      security["capabilities"]["drop"] == ["ALL"], f"{where}: the restricted profile")
                check("memory" in c["resources"]["limits"] and "cpu" in c["resources"]["requests"], f"{where}: resources")
                for m in c.get("volumeMounts", []):
                    check(m["name"] in volumes, f"{where}: volume {m['name']}")
                environment = {e["name"]: e for e in c.get("env", [])}
                for e in environment.values():
                    reference = e.get("valueFrom", {}).get("secretKeyRef")
                    check(reference is None or reference["key"] in keys.get(reference["name"], ()), f"{where}: {e}")
                for used in re.findall(r"\$\(([A-Z_]+)\)", " ".join(c.get("args", []))):
                    check(used in environment, f"{where}: $({used}) is in the environment")
                program = c["args"][0]
                if program.startswith("toast"):
                    known = subprocess.run([pathlib.Path(os.environ["TOAST_BIN"]) / program, "--help"], capture_output=True, text=True)
                    text = known.stdout + known.stderr
                    for argument in c["args"]:
                        check(not argument.startswith("--") or argument in text, f"{where}: {argument} is an option of {program}")
                ports = {p["name"] for p in c.get("ports", [])}
                for probe in ("readinessProbe", "livenessProbe"):
                    port = c.get(probe, {}).get("httpGet", {}).get("port")
                    check(port is None or port in ports, f"{where}: {probe} asks a port that is there")

    def some_pod(selector):
        return any(selector.items() <= each.items() for each in labels)

    for name, item in kinds["Service"].items():
        check(some_pod(item["spec"]["selector"]), f"service {name}: some pod is selected")
    for name, item in kinds["PodDisruptionBudget"].items():
        check(some_pod(item["spec"]["selector"]["matchLabels"]), f"budget {name}: some pod is selected")
    for name, item in kinds["NetworkPolicy"].items():
        selector = item["spec"]["podSelector"].get("matchLabels", {})
        check(some_pod(selector), f"policy {name}: some pod is selected")
        for rule in item["spec"].get("ingress", []) + item["spec"].get("egress", []):
            for peer in rule.get("from", []) + rule.get("to", []):
                check(some_pod(peer.get("podSelector", {}).get("matchLabels", {})), f"policy {name}: {peer}")
    scaled = kinds["ScaledObject"]["toast-worker"]["spec"]
    check(scaled["scaleTargetRef"]["name"] in kinds["Deployment"], "KEDA scales a deployment that is there")
    settings = dict(line.split(None, 1) for line in kinds["ConfigMap"]["toast-redis"]["data"]["redis.conf"].strip().split("\n"))
    check(settings["appendonly"] == "yes" and settings["appendfsync"] == "always" and
          settings["maxmemory-policy"] == "noeviction" and "maxmemory" in settings, f"Redis keeps what it acknowledged: {settings}")
    return scaled["triggers"][0]["metadata"]["query"]


def compose():
    """the file uses anchors, so only its text is looked at"""
    text = (ROOT / "docker" / "compose.yaml").read_text()
    for word in ("appendfsync, always", '--save, ""', "noeviction", "no-new-privileges", "cap_drop: [ALL]", "read_only: true", "replicas: 2"):
        check(word in text, f"compose.yaml has {word}")
    check(re.search(r"ports: \[\"127\.0\.0\.1:", text), "the server is published on loopback only")


def metrics(query):
    source = "".join(p.read_text() for folder in ("server", "queue") for p in (ROOT / folder).rglob("*.[ch]"))
    known = set(re.findall(r"toast_[a-z_]+", source))
    asked = {"the ScaledObject": query}
    rules = plain_yaml.load(ROOT / "docker" / "prometheus" / "alerts.yaml")
    names = []
    for rule in rules["groups"][0]["rules"]:
        asked[rule["alert"]] = rule["expr"]
        names.append(rule["alert"])
        check(rule["labels"]["severity"] in ("page", "ticket") and rule["annotations"]["summary"], f"{rule['alert']}: how bad, and what")
    guide = (ROOT / "docs" / "operations.md").read_text()
    for name in names:
        check(name in guide, f"docs/operations.md explains {name}")
    for name in sorted(set(re.findall(r'"(toast_[a-z_]+)"[^;]*?"(?:counter|gauge|summary|histogram)"', source))):
        check(re.search(rf"`{name}[`{{]", guide), f"docs/operations.md says what {name} means")
    dashboard = json.loads((ROOT / "docker" / "grafana" / "toast.json").read_text())
    ids = [p["id"] for p in dashboard["panels"]]
    check(len(set(ids)) == len(ids) >= 8, "panels have ids of their own")
    for panel in dashboard["panels"]:
        for i, target in enumerate(panel["targets"]):
            asked[f"panel {panel['title']}, query {i}"] = target["expr"]
    for who, expression in asked.items():
        wanted = set(re.findall(r"toast_[a-z_]+", expression))
        check(wanted, f"{who}: asks for a metric of ours")
        for name in wanted:
            check(re.sub(r"_(bucket|sum|count)$", "", name) in known or name in known, f"{who}: the server has no {name}")


dockerfile()
compose()
metrics(kubernetes())
print(f"{len(failures)} failures")
raise SystemExit(1 if failures else 0)
