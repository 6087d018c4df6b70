#!/usr/bin/env python3
"""What an accelerator really does, against the price and the ahead-of-time compile for the same chip.

Measured on one device, each the median of several runs after two that are not counted:
    matmuls       rate by shape and element type, in 10^12 FLOP/s
    kernels       bytes a second of a fused elementwise kernel and of a softmax, by element type
    modules       time and peak of the device-local module of three train steps with its collectives taken out: gathers repeat
                  what the device has, reductions pass it on, so that every kernel runs at the size it has in the plan
Beside each figure stands the price (toast price; of modules the computation without collectives) and, with --aot, the time that
XLA:GPU's own cost model gives the module for this chip (bench/referee's compiler).

Without a GPU it says "not measured" and ends with status 0. --device cpu is a dry run on small shapes: it shows that the program
works and its table says so; --page refuses it. Zeros are multiplied, which costs a GPU less power than data: clocks may be higher
than in training.

Examples:
    .venv-referee/bin/python bench/hardware.py --page        measures this machine's GPU, writes the table of docs/price.md
    bench/hardware.py --device cpu                           the dry run
"""
import argparse
import datetime
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/price.md"
MARK = re.compile(r"(<!-- bench/hardware: table -->\n).*?(<!-- end -->)", re.S)
TOAST = pathlib.Path(os.environ.get("TOAST_BIN", ROOT / "build/release/bin")) / "toast"
CATALOGUE = {"H100 80GB": "h100", "H200": "h200", "B200": "b200", "A100-SXM4-80GB": "a100-80", "A100-SXM4-40GB": "a100-40"}
SIZES = {   # matmuls (m, k, n), elements of kernels and rows of a softmax, (model, mesh, plan)
    "gpu": {"matmuls": [(16384, 2048, 4096), (4096, 14336, 4096), (2048, 2048, 2048), (16384, 512, 2048), (16384, 256, 2048),
                        (2048, 256, 2048)],
            "elements": 1 << 28, "row": 2048,
            "modules": [("gemma", "data=4,model=4", "fsdp:data+megatron:model"), ("gpt", "data=2,model=4", "fsdp:data+fsdp:model"),
                        ("llama", "data=2,model=4", "fsdp:data+megatron:model")]},
    "cpu": {"matmuls": [(256, 256, 256), (512, 64, 128)], "elements": 1 << 16, "row": 256,
            "modules": [("mlp", "data=2,model=2", "fsdp:data+megatron:model"), ("small/t2b", "data=2,model=2", "zero2:data+megatron:model"),
                        ("small/gpt", "data=4", "fsdp:data")]}}
DTYPES = {"gpu": ("bf16", "f16", "f32"), "cpu": ("bf16", "f32")}
BYTES = {"bf16": 2, "f16": 2, "f32": 4}
RUNS = {"gpu": 10, "cpu": 3}


# ---------------------------------------------------------------- the price's word
def price(module, *arguments):
    done = subprocess.run([str(part) for part in (TOAST, "price", module, *arguments, "--json")], capture_output=True, text=True)
    if done.returncode not in (0, 3):
        sys.exit(f"toast price {' '.join(map(str, arguments))}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def price_of_text(text, device, folder):
    path = pathlib.Path(folder) / "kernel.mlir"
    path.write_text(text)
    return price(path, "--mesh", "x=1", "--device", device)["compute_ps"] * 1e-12


def matmul_text(shape, kind):
    m, k, n = shape
    left, right, out = f"tensor<{m}x{k}x{kind}>", f"tensor<{k}x{n}x{kind}>", f"tensor<{m}x{n}x{kind}>"
    return (f"func.func @main(%a: {left}, %b: {right}) -> {out} {{\n    %c = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] "
            f": ({left}, {right}) -> {out}\n    return %c : {out}\n}}\n")


def elementwise_text(elements, kind):
    t = f"tensor<{elements}x{kind}>"
    return (f"func.func @main(%a: {t}, %b: {t}, %c: {t}) -> {t} {{\n    %d = stablehlo.multiply %a, %b : {t}\n"
            f"    %e = stablehlo.add %d, %c : {t}\n    return %e : {t}\n}}\n")


# ---------------------------------------------------------------- measuring
def median_seconds(run, runs):
    """of one call that blocks until it is done"""
    seconds = []
    for _ in range(runs + 2):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[2:])


def measure_kernels(jax, device, kind, target, folder):
    """rows of matmuls and of kernels that only move bytes"""
    import jax.numpy as jnp

    sizes, rows = SIZES[kind], []
    types = {"bf16": jnp.bfloat16, "f16": jnp.float16, "f32": jnp.float32}
    product, mixed, softmax = jax.jit(jnp.matmul), jax.jit(lambda a, b, c: a * b + c), jax.jit(jax.nn.softmax)
    for name in DTYPES[kind]:
        def zeros(*shape, element=types[name]):
            return jax.device_put(jnp.zeros(shape, element), device)
        for m, k, n in sizes["matmuls"]:
            a, b = zeros(m, k), zeros(k, n)
            seconds = median_seconds(lambda a=a, b=b: product(a, b).block_until_ready(), RUNS[kind])
            priced = price_of_text(matmul_text((m, k, n), name), target, folder)
            rows.append({"what": f"matmul {m} x {k} x {n}", "type": name, "measured_s": seconds, "priced_s": priced,
                         "rate": 2 * m * k * n / seconds * 1e-12, "unit": "TFLOP/s"})
        count, row = sizes["elements"], sizes["row"]
        a = zeros(count)
        seconds = median_seconds(lambda a=a: mixed(a, a + 0, a + 0).block_until_ready(), RUNS[kind])
        seconds -= median_seconds(lambda a=a: (a + 0).block_until_ready(), RUNS[kind]) * 2
        priced = price_of_text(elementwise_text(count, name), target, folder)
        if seconds > 0:
            rows.append({"what": f"a * b + c, {count} elements", "type": name, "measured_s": seconds, "priced_s": priced,
                         "rate": 4 * count * BYTES[name] / seconds * 1e-9, "unit": "GB/s"})
        table = zeros(count // row, row)
        seconds = median_seconds(lambda t=table: softmax(t).block_until_ready(), RUNS[kind])
        rows.append({"what": f"softmax, rows of {row}", "type": name, "measured_s": seconds, "priced_s": None,
                     "rate": 2 * count * BYTES[name] / seconds * 1e-9, "unit": "GB/s"})
    return rows


def model_path(model, kind, folder):
    if kind == "cpu":
        found = [path for path in (ROOT / f"tests/models/{model}.mlir", ROOT / f"tests/models/{model}.mlir.gz") if path.exists()]
        return found[0]
    subprocess.run([sys.executable, ROOT / "bench/referee_models.py", folder, model], check=True, stdout=subprocess.DEVNULL,
                   env=dict(os.environ, JAX_PLATFORMS="cpu"))
    return pathlib.Path(folder) / f"{model}.mlir"


def alone(text):
    """(module of one device of its own, how many collectives it had), of one that toast lower --form local wrote"""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from toast_profile import apart

    with mlir.make_ir_context() as context, ir.Location.unknown(context):
        module = ir.Module.parse(text)
        taken = apart.without_collectives(module)
        for name in ("mhlo.num_replicas", "mhlo.num_partitions"):
            if name in module.operation.attributes:
                del module.operation.attributes[name]
        return str(module), taken


def run_module(jax, device, path, runs):
    """(median seconds of a step, bytes of its peak by XLA) of a module of one device; arguments are zeros, made anew where donated"""
    import numpy
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir
    from toast_referee import compilers, timing

    with mlir.make_ir_context() as context, ir.Location.unknown(context):
        module = ir.Module.parse(path.read_text())
        arguments = timing.signature(module)
        executable = device.client.compile_and_load(module, xla_client.DeviceList((device,)), compilers.options_for([device.id]))
    said = compilers.memory_of(executable)
    seconds = []
    for _ in range(runs + 2):
        inputs = jax.block_until_ready([jax.device_put(numpy.zeros(shape, element), device) for shape, element in arguments])
        start = time.perf_counter()
        jax.block_until_ready(executable.execute_sharded(inputs).disassemble_into_single_device_arrays())
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[2:]), said["arguments"] + said["outputs"] - said["alias"] + said["temporaries"]


def measure_modules(jax, device, kind, target, folder, aot):
    rows = []
    for model, mesh, plan in SIZES[kind]["modules"]:
        source = model_path(model, kind, folder)
        path = pathlib.Path(folder) / f"{model.replace('/', '_')}.local.mlir"
        subprocess.run([TOAST, "lower", source, "--mesh", mesh, "--baseline", plan, "--form", "local", "-o", path], check=True)
        text, taken = alone(path.read_text())
        path.write_text(text)
        seconds, peak = run_module(jax, device, path, RUNS[kind])
        priced = price(source, "--mesh", mesh, "--device", target, "--baseline", plan)
        row = {"what": f"{model}, {mesh}, {plan}", "collectives": taken, "measured_s": seconds, "measured_peak": peak,
               "priced_s": priced["compute_ps"] * 1e-12, "priced_peak": priced["peak_bytes"]}
        if aot:
            from toast_referee import compilers
            said = compilers.compile_module("gpu", path, "x=1", target)
            row |= {"aot_s": said["step_us"] * 1e-6, "aot_peak": said["peak"]}
        rows.append(row)
    return rows


# ---------------------------------------------------------------- the table
def figure(value, scale, form=".2f"):
    return "-" if value is None else format(value * scale, form)


def table(said):
    lines = [f"On {said['device']}, {said['date']}, prices for `{said['target']}`" +
             ("; a dry run: nothing here is a measurement of that device." if said["dry"] else "."), "",
             "| kernel | type | measured ms | price ms | price / measured | reached |", "|---|---|---:|---:|---:|---:|"]
    for row in said["kernels"]:
        ratio = None if row["priced_s"] is None else row["priced_s"] / row["measured_s"]
        lines.append(f"| {row['what']} | {row['type']} | {figure(row['measured_s'], 1e3, '.3f')} | {figure(row['priced_s'], 1e3, '.3f')} | "
                     f"{figure(ratio, 1)} | {row['rate']:.3g} {row['unit']} |")
    lines += ["", "| module, collectives taken out | measured ms | price ms | compiled ahead ms | peak GB measured | price | ahead |",
              "|---|---:|---:|---:|---:|---:|---:|"]
    for row in said["modules"]:
        lines.append(f"| {row['what']} | {figure(row['measured_s'], 1e3)} | {figure(row['priced_s'], 1e3)} | {figure(row.get('aot_s'), 1e3)} | "
                     f"{figure(row['measured_peak'], 1e-9)} | {figure(row['priced_peak'], 1e-9)} | {figure(row.get('aot_peak'), 1e-9)} |")
    return "\n".join(lines)


def catalogue_name(device):
    for part, name in CATALOGUE.items():
        if part.lower() in device.device_kind.lower():
            return name
    sys.exit(f"{device.device_kind} is not in the catalogue of bench/hardware.py: --price-as names a device of `toast price`")


def write_page(text):
    written, count = MARK.subn(lambda found: f"{found[1]}{text}\n{found[2]}", PAGE.read_text())
    if not count:
        sys.exit(f"{PAGE} has no marks of bench/hardware")
    PAGE.write_text(written)


def find_device(jax, kind):
    try:
        return jax.devices(kind)[0]
    except RuntimeError:
        return None


def parse():
    parser = argparse.ArgumentParser(prog="hardware.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("gpu", "cpu"), default="gpu", help="cpu: a dry run; default: gpu")
    parser.add_argument("--price-as", metavar="NAME", help="device of the price; default: the GPU's, h100 in a dry run")
    parser.add_argument("--aot", action="store_true", help="compile the modules ahead of time, too, for H100 and H200")
    parser.add_argument("--json", action="store_true", help="all figures, for programs")
    parser.add_argument("--page", action="store_true", help="write the table into docs/price.md")
    options = parser.parse_args()
    if options.page and options.device == "cpu":
        parser.error("a CPU's figures say nothing of an accelerator: --page needs a GPU")
    return options


def main():
    options = parse()
    if options.device == "cpu":
        os.environ["JAX_PLATFORMS"] = "cpu"
    try:
        import jax
    except ImportError:
        sys.path.insert(0, str(ROOT / "tests/truth"))
        import venv
        venv.enter()
        import jax
    sys.path.insert(0, str(ROOT / "clients/python/src"))
    jax.config.update("jax_enable_x64", True)
    device = find_device(jax, options.device)
    if device is None:
        text = f"Not measured: no GPU on the machine that ran `bench/hardware.py` ({datetime.date.today()})."
        print(json.dumps({"measured": False}) if options.json else text)
        if options.page:
            write_page(text)
        return
    target = options.price_as or ("h100" if options.device == "cpu" else catalogue_name(device))
    with tempfile.TemporaryDirectory(prefix="toast-hardware-") as folder:
        said = {"measured": True, "dry": options.device == "cpu", "device": device.device_kind, "target": target,
                "date": str(datetime.date.today()), "kernels": measure_kernels(jax, device, options.device, target, folder),
                "modules": measure_modules(jax, device, options.device, target, folder, options.aot)}
    assert all(math.isfinite(row["measured_s"]) for row in said["kernels"] + said["modules"])
    print(json.dumps(said) if options.json else table(said))
    if options.page:
        write_page(table(said))


if __name__ == "__main__":
    main()
