"""What compilers said of plans: JSON lines in the folder of bench/referee, and rows that came with the repository.

A row is {"target", "mesh", "model", "plan", "module", "compiler"}: whom was asked, of which plan, the SHA-256 of the manual module
that was compiled, and the figures of compilers.compile_module or {"error"}. A plan that is no expert's also has "made": its
plan.json without what can be computed from it, so that it can be lowered again. Rows are the same for GPUs and TPUs; in
this folder each has a file of its own, packed (gpu.jsonl.gz, tpu.jsonl.gz), of which only the rows that today's
tables rest on are kept.

Never read as a result: a row counts where today's plan gives the same module.
"""
import gzip
import json
import pathlib
import re

KEPT = pathlib.Path(__file__).resolve().parent
COMPUTED = ("arguments", "results", "constraints")   # of a plan.json


BARRIER = re.compile(r'^ *(%\d+) = "stablehlo.optimization_barrier"\((%\d+)\) : \(tensor<\d+x\d+x\w+>\) -> .*\n', re.M)


def without_barriers(text):
    """A manual module in generic form as it was before sums that are sent with other arrays stood behind barriers (emit/collective.c): the
    same plan, of which the compilers say the same but for a kernel of microseconds; so what they said then is still known."""
    same = dict(BARRIER.findall(text))
    if not same:
        return text
    text, number = BARRIER.sub("", text), {}
    return re.sub(r"%\d+", lambda name: number.setdefault(same.get(name[0], name[0]), f"%{len(number)}"), text)


def key_of(row):
    return row["target"], row["mesh"], row["module"]


def shortened(plan):
    """a plan.json's text as a dictionary, without what follows from the rest"""
    return {name: value for name, value in json.loads(plan).items() if name not in COMPUTED}


def lines_of(path):
    if not path.exists():
        return []
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    return [json.loads(line) for line in text.splitlines()]


class Log:
    """rows by (target, mesh, module): those of the repository, then those of the folder's file, which is only appended to"""

    def __init__(self, path, kept=KEPT):
        self.path, self.kept = path, kept
        known = [row for file in sorted(kept.glob("*.jsonl.gz")) for row in lines_of(file)]
        self.rows = {key_of(row): row for row in known + lines_of(path)}

    def get(self, case, module):
        """what the compiler said of a module, or None"""
        row = self.rows.get((case.target, case.mesh, module))
        return row and row["compiler"]

    def found(self, case):
        """rows of a case's plans that are no experts'"""
        return [row for row in self.rows.values() if (row.get("model"), row["mesh"], row["target"]) == (case.model, case.mesh, case.target)
                and row.get("made")]

    def add(self, row):
        self.rows[key_of(row)] = row
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with open(self.path, "a") as out:
            out.write(json.dumps(row) + "\n")

    def keep(self, kind, used, cases):
        """writes the repository's rows of a kind: `used` for the (model, mesh, target) in `cases`, the others as they are"""
        path = self.kept / f"{kind}.jsonl.gz"
        rows = [row for row in lines_of(path) if (row["model"], row["mesh"], row["target"]) not in cases] + used
        rows.sort(key=lambda row: (row["model"], row["mesh"], row["target"], row["plan"], row["module"]))
        path.parent.mkdir(parents=True, exist_ok=True)
        packed = gzip.compress("".join(json.dumps(row, sort_keys=True) + "\n" for row in rows).encode(), 9, mtime=0)
        path.write_bytes(packed)
