#!/usr/bin/env python3
# label: truth
# timeout: 1200
"""The zoo (zoo.py): every model is read, its batch and weights are recognised, a short search's plan and random plans mean the same.

Interpreted, on meshes 8, 4x2, 2x2x2, 3 and 1; then under XLA in all three forms as many models as $TOAST_ZOO_SECONDS (60)
allow, at most $TOAST_ZOO_MODELS (20), in another order for each $TOAST_SEED. Arguments: names of models.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

import venv

venv.enter()

import candidates  # noqa: E402
import zoo  # noqa: E402

TOAST = os.path.join(venv.BIN, "toast")
UNWRITTEN = dict(os.environ, MALLOC_PERTURB_="165")     # memory that nobody has written is no zeros, and no number of a small table
MESHES = ("data=8", "a=4,b=2", "x=2,y=2,z=2", "data=3", "one=1")

TRAINED = {   # train steps -> how many parameters
    "moe_scatter": 4, "moe_einsum": 3, "mamba": 9, "rwkv": 11, "griffin": 24, "gqa_scan": 10, "gqa_accumulate": 20, "lstm": 8,
    "encoder_decoder": 16, "retention": 5, "lora": 6, "fnet": 3, "vit": 26, "resnet": 14, "conv_mixer": 8, "diffusion": 18, "conditioned": 34, "masked_autoencoder": 4,
    "masked_tokens": 4, "shared_layers": 4,
    "contrastive": 5, "vq": 3, "gcn": 5, "recommender": 7, "dropout_rbg": 2, "adafactor": 2, "orthogonal": 2, "adversarial": 4,
    "implicit": 2, "branches": 4, "private_gradients": 2, "physics": 5, "policy": 3, "wavenet": 10,
    "gradients": 13, "undonated": 2, "class_token": 5, "muon_scan": 1, "trained_in_loop": 2, "moe_sorted": 10, "complex_layers": 4, "coupling_flow": 4,
}
SERVED = {"dequantized": 4}                                   # inference -> how many parameters
NO_BATCH = {"scalars", "scans", "sinkhorn", "sampling"}      # no contraction of examples
NOT_INTERPRETED = set()                                      # under XLA only
REFUSED = {"shard_map": (6, "partitioned by hand")}
COMPUTES_IN = {"gqa_accumulate": "bfloat16", "shared_layers": "bfloat16"}                  # gradients in f32 that were rounded to bfloat16 on their way
MATRICES = {"conditioned": 0.25}                              # inputs so small: its layers multiply what each other rounds
OWN_MESH = {"with_mesh": ("dp=4,tp=2", "tp=2,dp=4"), "conditioned": ("a=4,b=2",)}      # shardings of its own: pins; where its fold reads ahead


def toast(*arguments):
    done = subprocess.run([TOAST, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300, env=UNWRITTEN)
    return done.returncode, done.stdout, done.stderr.strip()


def check_roles(name, path):
    _, out, _ = toast("analyze", path, "--json")
    found = json.loads(out)
    roles = [a["role"] for a in found["arguments"]]
    batch = any(g["label"] == "batch" for g in found["groups"])
    problems = []
    if name in TRAINED and (roles.count("parameter") != TRAINED[name] or "cache" in roles):
        problems.append(f"{roles.count('parameter')} parameters, {roles.count('cache')} caches; wanted {TRAINED[name]} and none")
    if name in SERVED and roles.count("parameter") != SERVED[name]:
        problems.append(f"{roles.count('parameter')} parameters; wanted {SERVED[name]}")
    if name not in TRAINED and "optimizer" in roles:
        problems.append("taken for a train step")
    if batch == (name in NO_BATCH):
        problems.append("a batch was found" if batch else "no batch was found")
    return problems


def check_plan(name, path, mesh, folder):
    status, out, err = toast("plan", path, "--mesh", mesh, "--device", "a100-40", "--rollouts", "100", "--proof", "--quiet",
                             "--json", "-o", folder)
    if status not in (0, 3):
        return [f"plan {mesh}: status {status}: {err[-300:]}"]
    report = json.loads(out)
    wanted = "not_run" if name in NOT_INTERPRETED else "equal"
    problems = [f"plan {mesh}: {w}" for w in report["warnings"] if "replicated" in w]
    if report["proof"]["status"] != wanted:
        problems.append(f"plan {mesh}: proof {report['proof']}")
    # of those that cost the same, as far as a report tells, the answer is the one with less memory
    if any(b["cost"] < report["summary"]["cost"] * (1 - 1e-5) for b in report["baselines"] if b["name"] not in ("cfn", "segments")):
        problems.append(f"plan {mesh}: worse than an expert")
    return problems


def check_random_plans(name, path, mesh, seed):
    if name in NOT_INTERPRETED:
        return []
    status, out, err = toast("prove", path, "--mesh", mesh, "--random-plans", "6", "--first", str(seed * 1000))
    return [] if status == 0 else [f"random plans on {mesh}: status {status}: {(out + err)[-300:]}"]


def check_model(name, path, folder, seed):
    status, _, err = toast("read", path, "--generic", "-o", os.path.join(folder, "read"))
    problems = [f"read: {err[-300:]}"] if status else []
    if name in REFUSED:
        status, _, err = toast("plan", path, "--mesh", "dp=4,tp=2", "--device", "a100-40", "-o", folder)
        want, says = REFUSED[name]
        return problems + ([] if status == want and says in err else [f"status {status}, {err[-300:]}; wanted {want}, {says}"])
    problems += check_roles(name, path)
    for mesh in OWN_MESH.get(name, MESHES):
        problems += check_plan(name, path, mesh, folder)
    for mesh in OWN_MESH.get(name, MESHES[:3]):
        problems += check_random_plans(name, path, mesh, seed)
    return problems


def under_xla(name, path, seed):
    mesh = OWN_MESH[name][0] if name in OWN_MESH else candidates.MESHES[seed % 3]
    arguments = ["--mesh", mesh, "--random-plan", str(seed)]
    try:
        subject = candidates.Subject(path, seed, wide=True, precision=COMPUTES_IN.get(name), matrices=MATRICES.get(name, 0.5))
        verdicts = candidates.try_plan(subject, arguments, permute=seed % 2 == 1)
    except Exception as e:
        return [f"XLA {' '.join(arguments)}: {str(e)[-300:]}"]
    return [f"XLA {' '.join(arguments)} --form {form}: {line}" for form, (status, line, _) in verdicts.items() if status != "equal"]


def main():
    seed, limit = int(os.environ.get("TOAST_SEED", "1")), float(os.environ.get("TOAST_ZOO_SECONDS", "60"))
    names, bad, most = sys.argv[1:] or list(zoo.MODELS), [], int(os.environ.get("TOAST_ZOO_MODELS", "20"))
    paths = {}
    print(f"seed {seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            paths[name] = os.path.join(folder, name + ".mlir")
            with open(paths[name], "w") as f:
                f.write(zoo.text(name))
            problems = check_model(name, paths[name], folder, seed)
            print(f"{name}: {'; '.join(problems) or 'fine'}", flush=True)
            bad += [f"{name}: {p}" for p in problems]
        order, start, ran = [n for n in names if n not in REFUSED], time.time(), []
        random.Random(seed).shuffle(order)
        for k, name in enumerate(order):
            if time.time() - start > limit or len(ran) == most:
                break
            problems = under_xla(name, paths[name], seed * 100 + k)
            ran.append(name)
            print(f"{name} under XLA: {'; '.join(problems) or 'equal'} ({time.time() - start:.0f} s)", flush=True)
            bad += [f"{name}: {p}" for p in problems]
    print(f"{len(names)} models, {len(ran)} of them under XLA")
    for line in bad:
        print(f"NOT FINE {line}")
    return 1 if bad or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
