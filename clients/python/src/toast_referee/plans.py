"""Plans as the compilers take them: a manual module and what the price says of it.

Two sources. A folder that `toast plan` wrote holds both (manual.mlir, report.json): no toast program is needed. A plan.json,
an expert's name or a decision list is lowered and priced by the toast program beside the module.

Writes only into the folder that it is given.
"""
import dataclasses
import json
import pathlib
import re
import subprocess


class Unplannable(Exception):
    """the toast program refused; the text is its message"""


@dataclasses.dataclass
class Plan:
    name: str
    mesh: str            # outermost axis first: data=4,model=4
    manual: pathlib.Path
    price: dict          # step_ps, compute_ps, matmul_ps, communication_ps, exposed_ps, peak_bytes, fits, memory_limit_bytes ..
    made: dict | None = None   # its plan.json, where something of it must be kept


def run_toast(toast, *arguments):
    """standard output; 3 (does not fit) and 4 (cut by time) are answers, too"""
    done = subprocess.run([toast, *map(str, arguments)], capture_output=True, text=True)
    if done.returncode not in (0, 3, 4):
        raise Unplannable(f"toast {arguments[0]}: {done.stderr.strip()[-400:]}")
    return done.stdout


def mesh_of(plan):
    """the mesh of a plan.json as text"""
    return ",".join(f"{axis['name']}={axis['size']}" for axis in plan["mesh"]["axes"])


def price_of_report(report):
    """the fields of `toast price --json` that compare.py asks for, from a report.json"""
    return {**report["time"], **report["summary"]}


def from_folder(folder):
    """the plan of a folder that `toast plan` wrote with manual.mlir and report.json"""
    folder = pathlib.Path(folder)
    plan = json.loads((folder / "plan.json").read_text())
    report = json.loads((folder / "report.json").read_text())
    return Plan(folder.name, mesh_of(plan), folder / "manual.mlir", price_of_report(report))


def from_toast(toast, module, name, selection, mesh, folder):
    """the plan that `selection` (arguments of toast price and toast lower) names, lowered into the folder"""
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    manual = folder / (re.sub(r"[^\w.+-]+", "_", name) + ".manual.mlir")
    price = json.loads(run_toast(toast, "price", module, *selection, "--json"))
    run_toast(toast, "lower", module, *selection, "--form", "manual", "-o", manual)
    return Plan(name, mesh, manual, price)
