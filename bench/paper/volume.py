#!/usr/bin/env python3
"""usage: volume.py [--models bert,gpt,llama,moe] [--layers 4] [--batch 64,64,64,128] [--mesh data=8] [--device a100-80] [--work FOLDER]

CFP's sections 2.2 and 5.7 by our price: which plan the volume of communication alone picks (Alpa's way), which the full price picks, and
what the full price says of both, on PCIe, NVLink and two nodes. Train steps of width 1024 by tests/support/generate_segments.py, lowered
and never run; the table is bench_volume's.

Needs JAX (scripts/truth-venv) and a release build. Example: bench/paper/volume.py --models moe --batch 64
"""
import argparse
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("TOAST_BIN", ROOT / "build" / "release" / "bin"))
SIZES = {"TOKENS": 512, "WIDTH": 1024, "HEADS": 16, "HIDDEN": 4096, "VOCABULARY": 8192, "EXPERTS": 8}


def main():
    parser = argparse.ArgumentParser(prog="volume.py", usage=__doc__.split("\n")[0].removeprefix("usage: "), description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="bert,gpt,llama,moe")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--batch", default="64,64,64,128", help="one a model")
    parser.add_argument("--mesh", default="data=8")
    parser.add_argument("--device", default="a100-80")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "volume")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    import generate_segments
    options.work.mkdir(parents=True, exist_ok=True)
    made = []
    for model, batch in zip(options.models.split(","), options.batch.split(","), strict=False):
        for name, size in {**SIZES, "BATCH": int(batch)}.items():
            setattr(generate_segments, name, size)
        made.append(options.work / f"{model}_b{batch}_l{options.layers}.mlir")
        made[-1].write_text(generate_segments.lower(model, options.layers))
    return subprocess.run([BIN / "bench_volume", "--mesh", options.mesh, "--device", options.device, *made]).returncode


if __name__ == "__main__":
    sys.exit(main())
