#!/usr/bin/env python3
"""usage: depth.py [--models bert,gpt,llama] [--layers 6,24,96] [--mesh data=8] [--work FOLDER]

CFP's figure 13 and its count of programs: seconds of the processor that finding blocks and segments takes (`toast analyze --blocks`, reading
and analysis included), that composing a plan from measured times takes (`toast plan --planner segments --profile`, everything included; the
times are made up), by depth; and how many programs there are of layers (CFP's equation 7: 180) and of them new beside the model before.
Train steps by tests/support/generate_segments.py. What was made stays in FOLDER.

Needs JAX (scripts/truth-venv) and a release build. Example: bench/paper/depth.py --models gpt --layers 6,24
"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tarfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("TOAST_BIN", ROOT / "build" / "release" / "bin"))


def seconds_of(*command):
    """of the processor, the reader's process included"""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def made_up(manifest, path):
    segments = {}
    for row in manifest["programs"]:
        segments.setdefault(row["segment"], {})[row["digest"]] = 100 + int(row["digest"][:4], 16) / 100
    path.write_text(json.dumps({"devices": manifest["devices"], "segments": [
        {"segment": segment, "configurations": [{"configuration": digest, "time_us": us, "peak_bytes": 1} for digest, us in rows.items()]}
        for segment, rows in segments.items()]}))


def main():
    parser = argparse.ArgumentParser(prog="depth.py", usage=__doc__.split("\n")[0].removeprefix("usage: "), description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="bert,gpt,llama")
    parser.add_argument("--layers", default="6,24,96")
    parser.add_argument("--mesh", default="data=8")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "depth")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    sys.setrecursionlimit(100000)
    import generate_segments
    options.work.mkdir(parents=True, exist_ok=True)
    print("| model | layers | analysis s | plan from a profile s | programs of layers | new ones |\n|---|---|---|---|---|---|")
    for model in options.models.split(","):
        known = set()
        for layers in options.layers.split(","):
            module, folder = options.work / f"{model}_{layers}.mlir", options.work / f"{model}_{layers}"
            if not module.exists():
                module.write_text(generate_segments.lower(model, int(layers)))
            common = [module, "--mesh", options.mesh, "--device", "a100-40", "--quiet", "-o", folder]
            subprocess.run([BIN / "toast", "plan", *common, "--planner", "propagate", "--outputs", "segments"], check=True,
                           stdout=subprocess.DEVNULL)
            with tarfile.open(folder / "segments.tar") as tar:
                manifest = json.load(tar.extractfile("programs.json"))
            wide = {i for i, kind in enumerate(manifest["kinds"]) if kind["blocks"] > 1}
            pairs = {i for i, pair in enumerate(manifest["pairs"]) if {pair["from"]["kind"], pair["to"]["kind"]} <= wide}
            count = sum(row["kind"] in wide if "kind" in row else row["pair"] in pairs for row in manifest["programs"])
            digests = {row["digest"] for row in manifest["programs"]}
            made_up(manifest, folder / "profile.json")
            analysis = seconds_of(BIN / "toast", "analyze", module, "--blocks", "--mesh", options.mesh)
            plan = seconds_of(BIN / "toast", "plan", *common, "--planner", "segments", "--outputs", "plan", "--profile", folder / "profile.json")
            print(f"| {model} | {layers} | {analysis:.2f} | {plan:.2f} | {count} | {len(digests - known)} |", flush=True)
            known |= digests
    return 0


if __name__ == "__main__":
    sys.exit(main())
