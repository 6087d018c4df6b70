#!/usr/bin/env python3
"""Times single-device StableHLO modules on this machine's accelerator; needs JAX and nothing else of this repository.

FOLDER holds index.json, a list of {"name", "group", "file", "arguments"}, most important first, as bench/hardware.py prepare writes it. Modules are
compiled by threads, a batch at a time, with the compiler's defaults (a GPU's kernels are tuned on it), and timed when the batch is
compiled, so that nothing else runs on the device. Inputs are made on the device: floats between -0.05 and 0.05 (float32: from 0, as an
optimizer's second moments are), integers below 4,096; made anew for each run of a module that donates them.

OUT gets, renewed after every batch, so that a run that is stopped keeps what it has:
    measured.json.gz   device, versions, and for each module: wall_s (one run, the host waits), chain_s (one of several started behind
                       each other; where nothing is donated), compile_s, memory by the compiler; or its error
    events.json.gz     [module, kernel, HLO op, microseconds] of every kernel of three traced runs of each module
    hlo.json.gz        each module as it was compiled

Example:
    python bench/hardware_measure.py build/hardware build/hardware/measured --seconds 400
"""
import argparse
import concurrent.futures
import gzip
import itertools
import json
import math
import os
import pathlib
import statistics
import tempfile
import time

WARM_UP, RUNS, CHAIN, TRACED = 2, 6, 20, 3
BATCH, THREADS = 12, 12


def pack(path, said):
    with gzip.open(path.with_suffix(".new"), "wt") as file:
        json.dump(said, file)
    path.with_suffix(".new").replace(path)


# ---------------------------------------------------------------- one module
class Module:
    """a compiled module and its inputs"""

    def __init__(self, entry, text, device):
        import numpy
        from jax._src.interpreters import mlir
        from jaxlib import xla_client
        from jaxlib.mlir import ir

        self.name, self.device, start = entry["name"], device, time.perf_counter()
        with mlir.make_ir_context() as context, ir.Location.unknown(context):
            module = ir.Module.parse(text)
            self.executable = device.client.compile_and_load(module, xla_client.DeviceList((device,)), options_for(device.id))
        self.arguments = [(tuple(shape), numpy.dtype(kind)) for shape, kind in entry["arguments"]]
        self.donates = "tf.aliasing_output" in text or "jax.buffer_donor" in text
        stats = self.executable.get_compiled_memory_stats()
        self.said = {"name": self.name, "compile_s": time.perf_counter() - start, "donates": self.donates,
                     "arguments": stats.argument_size_in_bytes, "outputs": stats.output_size_in_bytes,
                     "alias": stats.alias_size_in_bytes, "temporaries": stats.temp_size_in_bytes}
        self.inputs = None

    def hlo(self):
        return self.executable.hlo_modules()[0].to_string()

    def prepare(self):
        import jax

        if self.inputs is None or self.donates:
            self.inputs = None
            self.inputs = jax.block_until_ready([filled(shape, kind, number) for number, (shape, kind) in enumerate(self.arguments)])

    def run(self):
        return self.executable.execute_sharded(self.inputs).disassemble_into_single_device_arrays()

    def time(self):
        import jax

        seconds = []
        for _ in range(WARM_UP + RUNS):
            self.prepare()
            start = time.perf_counter()
            jax.block_until_ready(self.run())
            seconds.append(time.perf_counter() - start)
        self.said["runs_s"] = seconds[WARM_UP:]
        self.said["wall_s"] = statistics.median(seconds[WARM_UP:])
        if not self.donates and self.said["wall_s"] < 0.01:
            start = time.perf_counter()
            for _ in range(CHAIN):
                last = self.run()
            jax.block_until_ready(last)
            self.said["chain_s"] = (time.perf_counter() - start) / CHAIN

    def trace(self):
        import jax

        for _ in range(TRACED):
            self.prepare()
            jax.block_until_ready(self.run())
        self.inputs = None


def options_for(device):
    import numpy
    from jaxlib import xla_client

    options = xla_client.CompileOptions()
    options.num_replicas = options.num_partitions = 1
    options.device_assignment = xla_client.DeviceAssignment.create(numpy.array([[device]]))
    return options


MAKERS = {}


def filled(shape, kind, seed):
    """an array of made-up data on the first device"""
    import jax
    import jax.numpy as jnp
    import numpy

    def make(seed):
        count = max(1, math.prod(shape))
        bits = (jax.lax.iota(jnp.uint32, count) + seed) * jnp.uint32(2654435761)
        bits = (bits ^ (bits >> 15)) * jnp.uint32(2246822519)
        bits = bits ^ (bits >> 13)
        if kind == numpy.bool_:
            made = bits & 1
        elif numpy.issubdtype(kind, numpy.integer):
            made = bits % (128 if kind.itemsize == 1 else 4096)
        else:
            made = (bits >> 8).astype(jnp.float32) * (0.1 / 2**24)
            made = made if kind == numpy.float32 else made - 0.05
        return made.astype(kind).reshape(shape)
    made = MAKERS.setdefault((shape, kind.name), jax.jit(make))
    return made(numpy.uint32(seed * 7919))


# ---------------------------------------------------------------- kernels, from the profiler
def kernels_of(folder):
    """[module, kernel, HLO op, microseconds] of all events on the device's streams"""
    from jax.profiler import ProfileData

    found = []
    for path in pathlib.Path(folder).rglob("*.xplane.pb"):
        for plane in ProfileData.from_file(str(path)).planes:
            if not plane.name.startswith("/device:GPU"):
                continue
            for line in plane.lines:
                if line.name.startswith("Stream"):
                    for event in line.events:
                        stats = dict(event.stats)
                        found.append([str(stats.get("hlo_module", "")), event.name, str(stats.get("hlo_op", "")), event.duration_ns / 1e3])
    return found


def trace_all(modules):
    import jax

    with tempfile.TemporaryDirectory(prefix="trace-") as folder:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = options.host_tracer_level = 0
        jax.profiler.start_trace(folder, profiler_options=options)
        for module in modules:
            attempt(module, module.trace)
        jax.profiler.stop_trace()
        return kernels_of(folder)


# ---------------------------------------------------------------- all of them
def attempt(module, what):
    try:
        what()
    except Exception as problem:   # a module that fails (memory, a kernel that is refused) must not cost the others
        module.said["error"] = f"{type(problem).__name__}: {problem}"[:500]
        module.inputs = None


def batches(entries):
    """one group after the other, at most BATCH modules together"""
    for _, group in itertools.groupby(entries, key=lambda entry: entry["group"]):
        group = list(group)
        for at in range(0, len(group), BATCH):
            yield group[at:at + BATCH]


def compile_batch(pool, batch, folder, device):
    """([modules], [what is said of those that were refused])"""
    def compile_one(entry):
        path = folder / entry["file"]
        return Module(entry, gzip.decompress(path.read_bytes()).decode(), device)
    modules, refused = [], []
    jobs = [(entry, pool.submit(compile_one, entry)) for entry in batch]
    for entry, job in jobs:
        try:
            modules.append(job.result())
        except Exception as problem:
            refused.append({"name": entry["name"], "error": f"{type(problem).__name__}: {problem}"[:500]})
    return modules, refused


def measure(options, device, said):
    entries = json.loads((options.folder / "index.json").read_text())
    entries = [entry for entry in entries if not options.only or entry["group"] in options.only]
    events, texts, start = [], {}, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        for batch in batches(entries):
            spent = time.monotonic() - start
            if spent > options.seconds:
                break
            modules, refused = compile_batch(pool, batch, options.folder, device)
            compiled = time.monotonic() - start - spent
            for module in modules:
                attempt(module, module.time)
                texts[module.name] = module.hlo()
            try:
                events += trace_all([module for module in modules if "error" not in module.said])
            except Exception as problem:
                said["trace_error"] = f"{type(problem).__name__}: {problem}"[:500]
            said["modules"] += [module.said for module in modules] + refused
            for name, what in (("measured", said), ("events", events), ("hlo", texts)):
                pack(options.out / f"{name}.json.gz", what)
            print(f"{batch[0]['group']}: {len(modules)} of {len(batch)}, compiled in {compiled:.0f} s, "
                  f"{time.monotonic() - start:.0f} s in all, events {len(events)}", flush=True)
            for entry in refused:
                print(f"    {entry['name']}: {entry['error'][:200]}", flush=True)
            del modules


def parse():
    parser = argparse.ArgumentParser(prog="hardware_measure.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("out", type=pathlib.Path, metavar="OUT")
    parser.add_argument("--seconds", type=float, default=1e9, help="start no batch after so long")
    parser.add_argument("--only", nargs="+", metavar="GROUP", help="groups of the index")
    parser.add_argument("--platform", choices=("gpu", "cpu"), default="gpu", help="cpu: a dry run; default: gpu")
    parser.add_argument("--threads", type=int, default=min(THREADS, os.cpu_count() or 1), help="that compile; default: %(default)s")
    return parser.parse_args()


def main():
    options = parse()
    options.out.mkdir(parents=True, exist_ok=True)
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.92")
    if options.platform == "cpu":
        os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    import jaxlib

    jax.config.update("jax_enable_x64", True)
    device = jax.devices(options.platform)[0]
    said = {"device": device.device_kind, "platform": options.platform, "jax": jax.__version__, "jaxlib": jaxlib.__version__,
            "version": device.client.platform_version, "date": time.strftime("%Y-%m-%d"), "traced": TRACED, "modules": []}
    print(said, flush=True)
    measure(options, device, said)


if __name__ == "__main__":
    main()
