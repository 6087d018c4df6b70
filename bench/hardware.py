#!/usr/bin/env python3
"""What an accelerator really does, against the price and the ahead-of-time compile for the same chip.

    prepare   writes modules of one device into FOLDER: kernels (products by shape, type and side; convolutions; kernels that move
              bytes), device-local modules of train steps with collectives taken out (gathers repeat what the device has, reductions
              pass it on, so that every kernel runs at the size it has in the plan), and programs of segments likewise
    measure   is a program of its own, hardware_measure.py: it needs JAX, an accelerator and FOLDER, not this repository
    collect   sums up FOLDER/measured into bench/hardware_log: device time by module, of products, of other kernels, and of what
              stands in for gathers
    ahead     compiles the modules ahead of time for the same chip: XLA:GPU's own estimate (bench/referee's compiler), into the log
    table     prints prices, measured times and estimates beside each other

Prices are always today's. `prepare`, `collect` and `ahead` need JAX (bench/referee's environment).

Examples:
    bench/hardware.py prepare build/hardware
    bench/hardware_measure.py build/hardware build/hardware/measured           on the machine with the accelerator
    bench/hardware.py collect build/hardware
    bench/hardware.py ahead build/hardware --device h200
    bench/hardware.py table build/hardware --device h200 --page                writes the tables of docs/price.md
"""
import argparse
import collections
import concurrent.futures
import gzip
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import hardware_modules

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs/price.md"
LOG = ROOT / "bench/hardware_log"
MARK = re.compile(r"(<!-- bench/hardware: table -->\n).*?(<!-- end -->)", re.S)
CATALOGUE = {"H100 80GB": "h100", "H200": "h200", "B200": "b200", "A100-SXM4-80GB": "a100-80", "A100-SXM4-40GB": "a100-40", "cpu": "cpu"}
PRODUCTS = re.compile("nvjet|gemm|cutlass|xmma|sm80_|sm90_|cudnn|implicit|wgrad|dgrad|splitK|cublas")   # kernels of products and convolutions


def index_of(folder):
    return json.loads((folder / "index.json").read_text())


def read(path):
    return json.loads(gzip.decompress(path.read_bytes()))


def write(path, said):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(json.dumps(said, indent=0, sort_keys=True).encode(), mtime=0))


def prepare(options):
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax

    jax.config.update("jax_enable_x64", True)
    options.folder.mkdir(parents=True, exist_ok=True)
    rows = hardware_modules.everything(options.small, options.held_out, options.folder)
    for number, row in enumerate(rows):
        row["file"] = f"{number:03}.mlir.gz"
        (options.folder / row["file"]).write_bytes(gzip.compress(row.pop("text").encode(), mtime=0))
    (options.folder / "index.json").write_text(json.dumps(rows, indent=1))
    print(f"{len(rows)} modules in {options.folder}")


# ---------------------------------------------------------------- what was measured
def computations(hlo):
    """{name: [(instruction, opcode, the rest of its line)]} of an HLO module's text"""
    found, inside = {}, None
    for line in hlo.split("\n"):
        if (begins := re.match(r"(?:ENTRY )?%?([\w.\-]+) \(", line)) and line.rstrip().endswith("{"):
            inside = found.setdefault(begins[1], [])
        elif inside is not None and (said := re.match(r"\s+(?:ROOT )?%?([\w.\-]+) = (?:\([^=]*?\)|\S+) ([\w\-]+)\((.*)$", line)):
            inside.append(said.groups())
    return found


def stand_ins(hlo):
    """kernels that only slice or only repeat one array: in the place of a collective (toast_profile/apart.py)"""
    every, found = computations(hlo), set()
    trivial = {"parameter", "concatenate", "slice", "bitcast", "constant", "reshape"}

    def repeats(ops):
        return any(code == "concatenate" and len(set(re.findall(r"%([\w.\-]+)", rest.split(")")[0]))) == 1 for _, code, rest in ops)
    for ops in every.values():
        for name, code, rest in ops:
            inner = every.get(re.search(r"calls=%?([\w.\-]+)", rest)[1], []) if code == "fusion" else [(name, code, rest)]
            codes = {code for _, code, _ in inner}
            if codes <= trivial and (repeats(inner) or "slice" in codes):
                found.add(re.sub(r"[.\-]", "_", name))
    return found


def collect(options):
    said, events, hlo = (read(options.folder / f"measured/{name}.json.gz") for name in ("measured", "events", "hlo"))
    busy = collections.defaultdict(collections.Counter)
    places = {hardware_modules.module_name(row["group"], row["name"]): row["name"] for row in index_of(options.folder)}
    apart = {name: stand_ins(text) for name, text in hlo.items()}
    for module, kernel, _, us in events:
        name = places.get(module)
        if name:
            what = "stand_in_us" if kernel in apart[name] else "products_us" if PRODUCTS.search(kernel) else "other_us"
            busy[name][what] += us / said["traced"]
    for row in said["modules"]:
        row.pop("runs_s", None)
        if not events and "wall_s" in row:   # a profiler that knows no kernels: all of a run
            busy[row["name"]]["other_us"] = row["wall_s"] * 1e6
        row |= {what: round(us, 3) for what, us in busy[row["name"]].items()}
    device = next(known for part, known in CATALOGUE.items() if part.lower() in said["device"].lower())
    path, new = options.log / f"{device}.json.gz", {row["name"] for row in said["modules"]}
    known = read(path)["modules"] if path.exists() else []   # of other folders, or not measured this time
    said["modules"] += [row for row in known if row["name"] not in new]
    write(path, said)
    print(f"{len(new)} modules of {said['device']} in {path}")


# ---------------------------------------------------------------- what others say of them
def price(module, *arguments):
    done = subprocess.run([str(part) for part in (hardware_modules.TOAST, "price", module, *arguments, "--json")], capture_output=True,
                          text=True, cwd=ROOT)
    if done.returncode not in (0, 3):
        return {"error": done.stderr.strip()[-300:]}
    return json.loads(done.stdout)


def text_of(row, folder, work):
    path = pathlib.Path(work) / "module.mlir"
    path.write_bytes(gzip.decompress((folder / row["file"]).read_bytes()))
    return path


def priced(row, folder, device):
    """today's price of a module; of a step that of its plan, whose computation is the module's"""
    with tempfile.TemporaryDirectory(prefix="toast-hardware-") as work:
        if "plan" in row:
            return price(*row["plan"], "--device", device)
        return price(text_of(row, folder, work), "--mesh", "x=1", "--device", device)


def ahead(options):
    from toast_referee import compilers

    path = options.log / f"{options.device}-ahead.json.gz"
    known = read(path) if path.exists() else {}
    for row in index_of(options.folder):
        if row["name"] in known or (options.only and row["group"] not in options.only):
            continue
        with tempfile.TemporaryDirectory(prefix="toast-hardware-") as work:
            try:
                said = compilers.compile_module("gpu", text_of(row, options.folder, work), "x=1", options.device,
                                                work=options.keep and options.keep / hardware_modules.module_name(row["group"], row["name"]))
                known[row["name"]] = {name: value for name, value in said.items() if name != "collectives"}
            except compilers.Refused as refusal:
                known[row["name"]] = {"error": str(refusal)[-300:]}
        write(path, known)
        print(row["name"], known[row["name"]].get("step_us", known[row["name"]].get("error")), flush=True)


# ---------------------------------------------------------------- the tables
def figure(value, form=".2f"):
    return "-" if value is None or not math.isfinite(value) else format(value, form)


def quotient(ours, theirs):
    return ours / theirs if theirs else None


def spread(values):
    return f"{min(values):.2f} | {statistics.median(values):.2f} | {max(values):.2f}" if values else "- | - | -"


def compared(rows, log, options, target):
    """[(row, measured, price, estimate)] of the modules that ran"""
    measured = {row["name"]: row for row in log["modules"] if "error" not in row and ("other_us" in row or "products_us" in row)}
    path = options.log / f"{options.device}-ahead.json.gz"
    estimates = read(path) if path.exists() else {}
    rows = [row for row in rows if row["name"] in measured]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        prices = list(pool.map(lambda row: priced(row, options.folder, target), rows))
    return [(row, measured[row["name"]], said, estimates.get(row["name"], {})) for row, said in zip(rows, prices, strict=True)
            if "error" not in said]


def took(said):
    """microseconds of a module's own kernels"""
    return said.get("products_us", 0) + said.get("other_us", 0)


def kernel_tables(found):
    lines = ["| kernels | measured | price / measured: least | median | most | ahead / measured: least | median | most |",
             "|---|---:|---:|---:|---:|---:|---:|---:|"]
    far = ["| kernel | measured us | price | ahead |", "|---|---:|---:|---:|"]
    for group in dict.fromkeys(row["group"] for row, *_ in found if row["group"] not in ("step", "segment")):
        of = [(row, took(said), said_price["compute_ps"] * 1e-6, estimate.get("step_us")) for row, said, said_price, estimate in found
              if row["group"] == group]
        lines.append(f"| {group} | {len(of)} | {spread([ours / us for _, us, ours, _ in of])} | "
                     f"{spread([theirs / us for _, us, _, theirs in of if theirs])} |")
        far += [f"| {row['name']} | {us:.1f} | {ours:.1f} | {figure(theirs, '.1f')} |" for row, us, ours, theirs in of
                if not 0.75 <= ours / us <= 1.33]
    return lines, far


def step_table(found):
    lines = ["| local module of a plan | measured ms: products | other | price / measured: products | other | all | ahead / measured | "
             "peak GB | price / peak |", "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    ratios = []
    for row, said, ours, estimate in found:
        if row["group"] == "step":
            products, other = ours["matmul_ps"] * 1e-6, (ours["compute_ps"] - ours["matmul_ps"]) * 1e-6
            peak = said["arguments"] + said["outputs"] - said["alias"] + said["temporaries"]
            ratios.append(ours["compute_ps"] * 1e-6 / took(said))
            theirs = estimate.get("step_us")
            lines.append(f"| {row['name']} | {said.get('products_us', 0) / 1e3:.2f} | {said['other_us'] / 1e3:.2f} | "
                         f"{figure(quotient(products, said.get('products_us')))} | {figure(other / said['other_us'])} | {ratios[-1]:.2f} | "
                         f"{figure(theirs and theirs / (took(said) + said.get('stand_in_us', 0)))} | {peak / 1e9:.2f} | "
                         f"{ours['peak_bytes'] / peak:.2f} |")
    lines += ["", f"Price / measured: {spread(ratios).replace(' |', ',')} (least, median, most); within 0.85 to 1.2: "
              f"{sum(0.85 <= ratio <= 1.2 for ratio in ratios)} of {len(ratios)}."]
    return lines


def segment_line(found):
    from toast_referee import compare

    rows = [found_row for found_row in found if found_row[0]["group"] == "segment"]
    of = [(took(said), ours["compute_ps"] * 1e-6) for _, said, ours, _ in rows]
    if len(of) < 2:
        return []
    module = ", ".join(rows[0][0]["name"].split(", ")[:2])
    theirs, mine = [us for us, _ in of], [us for _, us in of]
    tau, pairs = compare.kendall(mine, theirs)
    ratios = [ours / us for us, ours in of]
    scale = statistics.median(ratios)
    error = math.sqrt(statistics.mean((ratio / scale - 1) ** 2 for ratio in ratios))
    return [f"{len(of)} programs of segments ({module}): price / measured {spread(ratios).replace(' |', ',')}; "
            f"Kendall's tau {figure(tau)} over {pairs} pairs more than 5 % apart; error of relative time (root mean square) {100 * error:.0f} %."]


def table(options):
    path = options.log / f"{options.device}.json.gz"
    if not path.exists():
        sys.exit(f"not measured: {path} is not there (bench/hardware_measure.py on a machine with the accelerator, then collect)")
    log = read(path)
    dry = options.device == "cpu"
    found = compared(index_of(options.folder), log, options, "h100" if dry else options.device)
    lines, far = kernel_tables(found)
    text = [f"On {log['device']}, {log['date']}, jax {log['jax']}; prices for `{options.device}`, random data, times of the kernels alone."
            if not dry else "A dry run on a CPU against prices for an H100: nothing here is a measurement of that device.", "",
            *lines, "", "Off by more than a quarter:", "", *far, "", *step_table(found), "", *segment_line(found)]
    print("\n".join(text))
    if options.page:
        written, count = MARK.subn(lambda marks: f"{marks[1]}{chr(10).join(text)}\n{marks[2]}", PAGE.read_text())
        if not count:
            sys.exit(f"{PAGE} has no marks of bench/hardware")
        PAGE.write_text(written)


def parse():
    parser = argparse.ArgumentParser(prog="hardware.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("prepare", "collect", "ahead", "table"))
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--small", action="store_true", help="prepare: tiny modules, for a dry run on a CPU")
    parser.add_argument("--held-out", action="store_true", help="prepare: the steps and segments that nothing was fitted to")
    parser.add_argument("--device", default="h200", help="ahead, table: as toast price knows it; default: %(default)s")
    parser.add_argument("--only", nargs="+", metavar="GROUP", help="ahead: groups of modules")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIRECTORY", help="ahead: keeps the compiler's modules and logs there")
    parser.add_argument("--log", type=pathlib.Path, default=LOG, metavar="DIRECTORY", help="where what was measured is kept; default: %(default)s")
    parser.add_argument("--page", action="store_true", help="table: write it into docs/price.md")
    options = parser.parse_args()
    if options.page and options.device == "cpu":
        parser.error("a CPU's figures say nothing of an accelerator: --page needs one")
    return options


def main():
    options = parse()
    sys.path.insert(0, str(ROOT / "clients/python/src"))
    {"prepare": prepare, "collect": collect, "ahead": ahead, "table": table}[options.what](options)


if __name__ == "__main__":
    main()
