#!/usr/bin/env python3
"""usage: prediction.py [--models gpt] [--layers 2,4] [--configurations 10] [--mesh data=8] [--work FOLDER] [--rounds 5]

CFP's figure 10 on the devices at hand: the time composed of measured segments against the measured time of the whole module, for
configurations that all layers take alike, spread over the priced times. Prints a row a configuration, then the root mean square error of
relative times (each over its mean) and Kendall's tau.

Only the programs of these configurations are compiled. In every round each of them and each whole module runs once, in another order, and of all
rounds the least time counts: what else the host does then lengthens some runs of all, not all runs of some. Least times stay in FOLDER: run
again, it compiles again and adds rounds. --compile-only says how long that takes.

Needs JAX (scripts/truth-venv), a release build, and as many devices as the mesh; without accelerators it makes CPU devices of this host.

Example: bench/paper/prediction.py --layers 2,4 --work build/prediction
"""
import argparse
import json
import math
import os
import pathlib
import random
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
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--width", type=int, default=128, help="of the model; four times that in the feed-forward layer")
    parser.add_argument("--compile-only", action="store_true")
    return parser


def lines_of(*command):
    return [json.loads(line) for line in subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()]


def composed(row, times):
    return sum(times[digest] * count for digest, count in row["programs"])


def spread(rows, count):
    """rows at equal distances in the order of priced times, the first and the last among them"""
    rows = sorted(rows, key=lambda row: row["price_us"])
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


class Timed:
    """least times by key, kept in a file"""

    def __init__(self, path):
        self.path = path
        self.least_us = json.loads(path.read_text()) if path.exists() else {}

    def rounds(self, programs, count, inputs):
        from toast_profile import running
        order = list(programs)
        for _ in range(count):
            random.shuffle(order)
            for key in order:
                us = running.run(programs[key], inputs.of(programs[key])) * 1e6
                self.least_us[key] = min(us, self.least_us.get(key, math.inf))
            self.path.write_text(json.dumps(self.least_us))


def texts_of(archive, rows, folder):
    """the programs of these configurations and what a pair's are compared with, and their whole modules"""
    wanted = {digest for row in rows for digest, _ in row["programs"]}
    pairs = {program.segment for program in archive.programs if program.is_pair and program.digest in wanted}
    texts = {program.digest: archive.text(program) for program in archive.programs
             if program.digest in wanted or program.is_pair and not program.collectives and program.segment in pairs}
    return texts | {f"whole {row['configuration']}": (folder / "whole" / f"{row['configuration']}.mlir").read_text() for row in rows}


def prepared(model, layers, options):
    """-> segments.tar, the configurations that are compared, folder"""
    import generate_segments
    import toast_profile.archive
    module, folder = options.work / f"{model}_{layers}.mlir", options.work / f"{model}_{layers}"
    for name, size in (("WIDTH", options.width), ("HIDDEN", 4 * options.width)):
        setattr(generate_segments, name, size)
    if not module.exists():
        module.write_text(generate_segments.lower(model, layers))
    subprocess.run([BIN / "toast", "plan", module, "--mesh", options.mesh, "--device", "a100-40", "--planner", "baselines", "--outputs",
                    "segments", "--quiet", "-o", folder], check=True, stdout=subprocess.DEVNULL)
    rows = spread(lines_of(BIN / "bench_segments", module, "--mesh", options.mesh), options.configurations)
    subprocess.run([BIN / "bench_segments", module, "--mesh", options.mesh, "--write", folder / "whole", "--only",
                    ",".join(str(row["configuration"]) for row in rows)], check=True, stdout=subprocess.DEVNULL)
    return toast_profile.archive.Archive(folder / "segments.tar"), rows, folder


def report(name, rows, archive, least_us, idle_of):
    """idle_of: program -> the one that does nothing with as many arguments and results"""
    from toast_profile import session
    log = {digest: {"raw_us": us, "launch_us": least_us[idle_of[digest]]} for digest, us in least_us.items() if " " not in digest}
    times = session.take_off(archive, log)
    print(f"\n{name}\n{'strategies of a layer':48} {'composed ms':>12} {'measured ms':>12} {'price ms':>9}")
    pairs, prices = [], []
    for row in rows:
        key = f"whole {row['configuration']}"
        whole = least_us[key] - least_us[idle_of[key]]
        pairs.append((composed(row, times), whole))
        prices.append((row["price_us"], whole))
        print(f"{', '.join(row['strategies']):48} {pairs[-1][0] / 1e3:12.3f} {whole / 1e3:12.3f} {row['price_us'] / 1e3:9.3f}", flush=True)
    print(f"composed: RMSE of relative time {rmse(pairs):.4f}, tau {tau(pairs):.3f}; price on a100-40: tau {tau(prices):.3f}")


def one_model(model, layers, options, devices):
    from toast_profile import running
    archive, rows, folder = prepared(model, layers, options)
    texts = texts_of(archive, rows, folder)
    programs, seconds = {}, 0.0
    for number, (key, text) in enumerate(texts.items()):
        programs[key] = running.Compiled(text, devices)
        seconds += programs[key].seconds
        print(f"{number + 1}/{len(texts)} compiled, {seconds:.0f} s", file=sys.stderr, flush=True)
    if options.compile_only:
        return
    idle_of = {}
    for key, program in list(programs.items()):
        idle_of[key] = f"idle {len(program.signature)} {program.results}"
        if idle_of[key] not in programs:
            programs[idle_of[key]] = running.Compiled(running.idle(len(devices), len(program.signature), program.results), devices)
    timed = Timed(folder / "least.json")
    timed.rounds(programs, 1 + options.rounds, running.Inputs(devices))
    report(f"{model}_{layers}, {options.mesh}", rows, archive, timed.least_us, idle_of)


def main():
    options = parser_of().parse_args()
    sys.path[:0] = [str(ROOT / "clients" / "python" / "src"), str(ROOT / "tests" / "support")]
    count = math.prod(int(axis.split("=")[1]) for axis in options.mesh.split(","))
    if "device_count" not in os.environ.get("XLA_FLAGS", ""):
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count={count}".strip()
    os.environ.setdefault("NPROC", str(8 * count))   # XLA's threads on CPUs: collectives hold one each
    import jax
    options.work.mkdir(parents=True, exist_ok=True)
    for model in options.models.split(","):
        for layers in options.layers.split(","):
            one_model(model, int(layers), options, list(jax.devices()[:count]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
