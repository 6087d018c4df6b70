"""toast-referee: compiles plans with the compiler that will run them and ranks them anew.

    toast-referee --target h100 plan-a/ plan-b/                    folders that `toast plan` wrote
    toast-referee --target v5p:2x2x4 plan/ --module model.mlir.gz alternatives/*.json
    toast-referee --serve http://127.0.0.1:8080 --referee xla_gpu
    toast-referee --target h100 --module model.mlir.gz --mesh data=4,model=4 fsdp:data+megatron:model batch:data+fsdp:model

A plan is a folder of `toast plan` (manual.mlir, report.json), a plan.json, or an expert's name with --mesh; the last two
need --module and the toast program, which lowers them. Nothing runs: XLA:GPU and libtpu compile ahead of time, without a
GPU, a driver or a TPU; but --target here compiles for this machine's own devices and times a few steps there. Before a "nothing fits" is believed this says whether the compiler agrees.

With --serve it is a worker of a service (serve.py): it judges jobs that say "referee": "xla_gpu"; TOAST_WORKER_TOKEN lets it in.

exit status: 0 the best plan fits, 3 none fits, 5 the compiler is not installed or refused every plan, 2 usage
"""
import argparse
import json
import os
import pathlib
import sys
import tempfile

from . import compare, compilers, devices, plans, serve


def parser_of():
    parser = argparse.ArgumentParser(prog="toast-referee", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plans", nargs="*", metavar="PLAN")
    parser.add_argument("--target", help=f"{', '.join(devices.GPUS)}, a TPU topology such as v5p:2x2x4, or here; with --serve by default each job's device")
    parser.add_argument("--serve", metavar="URL", help="be a worker of this service; needs TOAST_WORKER_TOKEN")
    parser.add_argument("--referee", action="append", metavar="NAME", help="with --serve: xla_gpu (default), xla_tpu or xla_cpu; may be given again")
    parser.add_argument("--once", action="store_true", help="with --serve: end after one job")
    parser.add_argument("--module", help="the module that was planned")
    parser.add_argument("--mesh", help="for experts' names: axes, outermost first")
    parser.add_argument("--device", help="TOAST's name of the device, for experts' names; default: the target's")
    parser.add_argument("--toast", default=os.environ.get("TOAST", "toast"), help="the toast program; default: TOAST, or in PATH")
    parser.add_argument("--host", type=int, default=8, help="GPUs of a host")
    parser.add_argument("--memory-limit", type=int, help="bytes of a device; default: the price's")
    parser.add_argument("--flag", action="append", default=[], metavar="XLA_FLAG", help="one more flag of XLA; may be given again")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for logs and final modules")
    parser.add_argument("--json", action="store_true", help="rows and summary as JSON")
    return parser


def toast_device(target):
    """h100 -> h100, v5p:2x2x4 -> tpu-v5p"""
    return target if target in devices.GPUS else "tpu-" + target.split(":")[0]


def find_plan(text, options, folder):
    """the plan that an argument names; raises Unplannable with a message where it names none"""
    path = pathlib.Path(text)
    if path.is_dir():
        if (path / "manual.mlir").exists() and (path / "report.json").exists():
            return plans.from_folder(path)
        path = path / "plan.json"
    if not options.module:
        raise plans.Unplannable(f"{text}: --module is needed to lower it")
    if path.suffix == ".json":
        mesh = plans.mesh_of(json.loads(path.read_text()))
        name = path.parent.name if path.name == "plan.json" else path.stem
        return plans.from_toast(options.toast, options.module, name, ["--plan", path], mesh, folder)
    if options.target == "here" and not options.device:
        raise plans.Unplannable(f"{text}: an expert's name needs --device where the target is here")
    if not options.mesh:
        raise plans.Unplannable(f"{text} is no file or folder; an expert's name needs --mesh")
    selection = ["--mesh", options.mesh, "--device", options.device or toast_device(options.target), "--baseline", text]
    return plans.from_toast(options.toast, options.module, text, selection, options.mesh, folder)


def judge(options, folder):
    """(rows, refusals by plan)"""
    kind = "gpu" if options.target in devices.GPUS else "here" if options.target == "here" else "tpu"
    rows, refused = [], {}
    for text in options.plans:
        plan = find_plan(text, options, folder)
        work = options.keep / plan.name if options.keep else None
        try:
            said = compilers.compile_module(kind, plan.manual, plan.mesh, options.target, options.host, options.flag, work)
        except compilers.Refused as refusal:
            refused[plan.name] = str(refusal)
            continue
        rows.append({"plan": plan.name, "price": plan.price, "compiler": said})
        print(f"{plan.name}: compiled in {said['seconds']:.0f} s", file=sys.stderr)
    return rows, refused


def milliseconds(row):
    said = row["compiler"]
    return f"{said['step_us'] / 1e3:9.2f}" if "step_us" in said else "        -"


def show(rows, refused, limit):
    print(f"{'plan':40} {'step ms: price':>14} {'compiler':>9} {'exposed':>9} {'peak GB: price':>15} {'compiler':>9}  fits")
    for row in compare.ranked(rows, limit):
        price, said = row["price"], row["compiler"]
        exposed = f"{said['exposed_us'] / 1e3:9.2f}" if "exposed_us" in said else "        -"
        print(f"{row['plan'][:40]:40} {price['step_ps'] / 1e9:14.2f} {milliseconds(row)} {exposed} {price['peak_bytes'] / 1e9:15.2f} "
              f"{said['peak'] / 1e9:9.2f}  {'yes' if said['peak'] <= limit else 'no'}")
    for name, words in refused.items():
        print(f"{name[:40]:40} refused: {words.strip().splitlines()[-1][:200]}")
    found = compare.order(rows)
    if found and len(rows) > 1:
        print(f"\nprice puts {found['chosen']} first; by the compiler it is {100 * found['loss']:.1f} % slower than {found['best']}"
              if found["loss"] > 0 else f"\nprice and compiler put {found['chosen']} first")
        if found["tau"] is not None:
            print(f"Kendall's tau {found['tau']:.2f} over {found['pairs']} pairs that are more than 5 % apart")
    for term in [*compare.TERMS, "peak"]:
        values = compare.ratios(rows, term)
        if values:
            print(f"{term:12} price / compiler: {min(values):.2f} to {max(values):.2f}, median {compare.median(values):.2f}")
    for name in compare.misjudged(rows, limit):
        print(f"{name}: the price says it does not fit; it compiles with a tenth of the memory to spare")


def main():
    parser = parser_of()
    options = parser.parse_args()
    if options.serve:
        options.referee = options.referee or ["xla_gpu"]
        sys.exit(serve.serve(options))
    if not options.plans or not options.target:
        parser.error("plans and --target are needed, or --serve")
    with tempfile.TemporaryDirectory(prefix="toast-referee-plans-") as folder:
        try:
            rows, refused = judge(options, pathlib.Path(folder))
        except (plans.Unplannable, FileNotFoundError) as problem:
            parser.error(str(problem))
    limit = options.memory_limit or min((row["price"]["memory_limit_bytes"] for row in rows), default=0)
    if options.json:
        print(json.dumps({"limit_bytes": limit, "rows": compare.ranked(rows, limit), "refused": refused, "order": compare.order(rows)}))
    else:
        show(rows, refused, limit)
    if not rows:
        sys.exit(5)
    sys.exit(0 if any(row["compiler"]["peak"] <= limit for row in rows) else 3)


if __name__ == "__main__":
    main()
