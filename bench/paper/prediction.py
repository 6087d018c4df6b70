#!/usr/bin/env python3
"""usage: prediction.py [--models gpt] [--layers 2,4] [--configurations 10] [--mesh data=8] [--work FOLDER] [--runs 5]

CFP's figure 10 on the devices at hand: the time composed of measured segments against the measured time of the whole module, for
configurations that all layers take alike, spread over the composed times. Prints a row a configuration, then the root mean square error of
relative times (each over its mean) and Kendall's tau. What was measured stays in FOLDER: run again, it goes on.

Needs JAX (scripts/truth-venv), a release build, and as many devices as the mesh; without accelerators it makes CPU devices of this host.

Example: bench/paper/prediction.py --layers 2,4 --work build/prediction
"""
import argparse
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("TOAST_BIN", ROOT / "build" / "release" / "bin"))


def parser_of():
    parser = argparse.ArgumentParser(prog="prediction.py", usage=__doc__.split("\n")[0].removeprefix("usage: "), description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="gpt")
    parser.add_argument("--layers", default="2,4")
    parser.add_argument("--configurations", type=int, default=10)
    parser.add_argument("--mesh", default="data=8")
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "prediction")
    parser.add_argument("--warm-up", type=int, default=1)
    parser.add_argument("--runs", type=int, default=5)
    return parser


def lines_of(*command):
    return [json.loads(line) for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()]


def composed(row, times):
    return sum(times[digest] * count for digest, count in row["programs"])


def spread(rows, count):
    """rows at equal distances in the order of composed times, the first and the last among them"""
    rows = sorted(rows, key=lambda row: row["composed_us"])
    if count >= len(rows):
        return rows
    return [rows[round(i * (len(rows) - 1) / (count - 1))] for i in range(count)]


def tau(pairs):
    """Kendall's, without a correction for ties"""
    signs = [math.copysign(1, (a[0] - b[0]) * (a[1] - b[1])) if (a[0] - b[0]) * (a[1] - b[1]) else 0
             for i, a in enumerate(pairs) for b in pairs[:i]]
    return sum(signs) / max(1, len(signs))


def rmse(pairs):
    means = [statistics.mean(column) for column in zip(*pairs, strict=True)]
    return math.sqrt(statistics.mean((a / means[0] - b / means[1]) ** 2 for a, b in pairs))


def measured_whole(text, devices, options):
    from toast_profile import running
    compiled = running.Compiled(text, devices)
    arrays = running.Inputs(devices).of(compiled)
    for _ in range(options.warm_up):
        running.run(compiled, arrays)
    return statistics.median(running.run(compiled, arrays) for _ in range(options.runs)) * 1e6


def one_model(model, layers, options, devices):
    import generate_segments

    import toast_profile
    name = f"{model}_{layers}"
    module, folder = options.work / f"{name}.mlir", options.work / name
    module.write_text(generate_segments.lower(model, layers))
    subprocess.run([BIN / "toast", "plan", module, "--mesh", options.mesh, "--device", "a100-40", "--planner", "baselines", "--outputs",
                    "segments", "--quiet", "-o", folder], check=True, stdout=subprocess.DEVNULL)
    log = str(options.work / f"{model}.log")
    profile = toast_profile.profile(folder / "segments.tar", str(folder / "profile.json"),
                                    toast_profile.Options(options.warm_up, options.runs, log=log),
                                    lambda text: print(text, file=sys.stderr, flush=True))
    times = {row["configuration"]: row["time_us"] for segment in profile["segments"] for row in segment["configurations"]}
    rows = lines_of(BIN / "bench_segments", module, "--mesh", options.mesh)
    for row in rows:
        row["composed_us"] = composed(row, times)
    chosen = spread(rows, options.configurations)
    subprocess.run([BIN / "bench_segments", module, "--mesh", options.mesh, "--write", folder / "whole", "--only",
                    ",".join(str(row["configuration"]) for row in chosen)], check=True, stdout=subprocess.DEVNULL)
    done_path = folder / "whole.json"
    done = json.loads(done_path.read_text()) if done_path.exists() else {}
    print(f"\n{name}, {options.mesh}\n{'strategies of a layer':48} {'composed ms':>12} {'measured ms':>12} {'price ms':>9}")
    for row in chosen:
        key = str(row["configuration"])
        if key not in done:
            done[key] = measured_whole((folder / "whole" / f"{key}.mlir").read_text(), devices, options)
            done_path.write_text(json.dumps(done))
        print(f"{', '.join(row['strategies']):48} {row['composed_us'] / 1e3:12.3f} {done[key] / 1e3:12.3f} {row['price_us'] / 1e3:9.3f}",
              flush=True)
    pairs = [(row["composed_us"], done[str(row["configuration"])]) for row in chosen]
    prices = [(row["price_us"], done[str(row["configuration"])]) for row in chosen]
    print(f"composed: RMSE of relative time {rmse(pairs):.4f}, tau {tau(pairs):.3f}; price on a100-40: tau {tau(prices):.3f}")


def main():
    options = parser_of().parse_args()
    sys.path[:0] = [str(ROOT / "clients" / "python" / "src"), str(ROOT / "tests" / "support")]
    count = math.prod(int(axis.split("=")[1]) for axis in options.mesh.split(","))
    if "device_count" not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={count}".strip()
    import jax
    options.work.mkdir(parents=True, exist_ok=True)
    for model in options.models.split(","):
        for layers in options.layers.split(","):
            one_model(model, int(layers), options, list(jax.devices()[:count]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
