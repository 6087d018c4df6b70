"""Makes candidates with `toast lower` and puts them before the referee: what the truth tests and bench/truth.py share."""
import gzip
import os
import subprocess
import tempfile
import time

import venv

import referee

FORMS = ("annotated", "manual", "local")
MESHES = ("data=8", "data=4,model=2", "a=2,b=2,c=2")

EXPERT = {   # an expert plan each, on data=4,model=2: what people write by hand
    "gns": "fsdp:data+edge:model", "gpt": "zero2:data+megatron:model",
    "gpt_torch": "batch:data+megatron:model+sequence:model", "itx": "batch:data+megatron:model",
    "t2b": "fsdp:data+megatron:model+sequence:model", "t2b_flat": "fsdp:data+megatron:model",
    "t2b_remat": "zero2:data+sequence:model", "t2b_scan": "fsdp:data+fsdp:model", "unet": "zero2:data+megatron:model",
}


def forms_of(k):
    """of a model's k-th plan: the first in every form, the others in each in turn"""
    return (FORMS[k % len(FORMS)],) if k else FORMS


def read(path):
    data = open(path, "rb").read()
    return (gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode()


def model_files():
    small = os.path.join(venv.MODELS, "small")
    files = [os.path.join(venv.MODELS, f) for f in ("mlp.mlir", "paper_attention.mlir")]
    return files + sorted(os.path.join(small, f) for f in os.listdir(small))


def model_name(path):
    return os.path.basename(path).split(".mlir")[0]


class Subject:
    """One model: its reference results for every feed, computed once."""

    def __init__(self, path, seed=1, wide=False, precision=None, matrices=0.5):
        self.path, self.original, self.references = path, referee.Module(read(path)), []
        self.original.precision, self.original.matrices = precision, matrices
        exe = None
        for feed in referee.feeds_for(self.original, wide):
            inputs, results, exe = referee.reference_run(self.original, feed, seed, exe)
            self.references.append((feed, inputs, results))


def lower(path, arguments, form, out, collectives):
    """writes one form; raises with the tool's message when it refuses"""
    command = [os.path.join(venv.BIN, "toast"), "lower", path, *arguments, "--form", form, "-o", out,
               "--collectives", collectives]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: status {done.returncode}: {done.stderr.strip()[-600:]}")


def try_plan(subject, arguments, forms=FORMS, permute=False, edit=None):
    """{form: (status, line, seconds)} of one plan. edit(form, text) -> text plants an error."""
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        manual, sums = os.path.join(folder, "manual.mlir"), os.path.join(folder, "collectives.json")
        lower(subject.path, arguments, "manual", manual, sums)
        boundary, stated = referee.Module(read(manual)), referee.stated_sums(sums)
        for form in forms:
            start = time.time()
            path = os.path.join(folder, form + ".mlir")
            try:
                if form != "manual":
                    lower(subject.path, arguments, form, path, sums)
                text = read(path)
                if edit:
                    text = edit(form, text)
                count = 1
                for _, size in boundary.mesh:
                    count *= size
                order = [(3 * d + 5) % count for d in range(count)] if permute and form != "local" else None
                candidate = boundary if form == "manual" and not edit else referee.Module(text)
                states = candidate if form == "annotated" else boundary
                verdict = referee.referee(subject.original, text, form, states, subject.references, order)
                if form == "annotated" and candidate.shardings() != boundary.shardings():
                    verdict.problems.append("annotated and manual state different shardings at the boundary")
                if form != "annotated":
                    found = referee.collective_sums(candidate, boundary.mesh)
                    if found != stated:
                        verdict.problems.append(f"collectives in the text {found}, in the local program {stated}")
                out[form] = (verdict.status(), verdict.line(), time.time() - start)
            except Exception as e:   # a module that XLA refuses is a finding, not the end of the run
                text = str(e).strip().split("\n")
                out[form] = ("refused", "refused: " + " | ".join(text[:3])[:600], time.time() - start)
    return out
