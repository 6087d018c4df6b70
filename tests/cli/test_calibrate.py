#!/usr/bin/env python3
# label: unit
"""toast calibrate: nccl-tests' tables become a profile that `toast plan` prices with; held-out error; refusals."""
import json
import os
import pathlib
import subprocess
import tempfile

TOAST = os.path.join(os.environ["TOAST_BIN"], "toast")
MODULE = str(pathlib.Path(os.environ["TOAST_SOURCE"]) / "tests/models/small/gpt.mlir")
HEAD = """# nThread 1 nGpus 8 minBytes 1024 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""


def table(us):
    rows = [f"{1 << n:12d} {1 << n - 2:12d}     float     sum      -1 {us(1 << n) + 9:8.2f} 0.10 0.17 0 {us(1 << n):8.2f} 0.10 0.17 0\n"
            for n in range(10, 31)]
    return HEAD + "".join(rows) + "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 100.0\n"


def toast(*words):
    done = subprocess.run([TOAST, *words], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


with tempfile.TemporaryDirectory() as where:
    name = lambda file: os.path.join(where, file)  # noqa: E731
    pathlib.Path(name("ar.txt")).write_text(table(lambda size: 20 + size / 2e5))
    pathlib.Path(name("noise.txt")).write_text("nothing to see here\n")
    status, text = toast("calibrate", "--devices", "8", "--between-hosts", "no", "--all-reduce", name("ar.txt"), "--all-gather", name("ar.txt"),
                         "-o", name("machine.json"))
    assert status == 0 and "21 points, 7 held out: off by" in text, text
    middle = float(text.split("off by ")[1].split(" %")[0])
    assert middle < 0.1, text                                   # linear in bytes: as a table interpolates
    made = json.loads(pathlib.Path(name("machine.json")).read_text())
    assert [t["kind"] for t in made["collectives"]] == ["all_reduce", "all_gather"] and not made["collectives"][0]["between_hosts"]
    assert made["collectives"][0]["points"][0] == [1024, 20.01] and len(made["collectives"][0]["points"]) == 21
    status, text = toast("plan", MODULE, "--mesh", "data=8", "--device", "a100-40", "--planner", "baselines", "--quiet", "--outputs",
                         "report,plan", "-o", name("plan"), "--profile", name("machine.json"))
    assert status == 0, text
    pathlib.Path(name("list.json")).write_text(f"[{json.dumps(made)}]")
    status, text = toast("plan", MODULE, "--mesh", "data=8", "--device", "a100-40", "--quiet", "-o", name("plan"), "--profile", name("list.json"))
    assert status == 2 and "/device/profile: a profile's name, name@version, or a profile is needed" in text, text
    for words, said in ((["--all-reduce", name("ar.txt")], "--devices is needed before"), (["--devices", "1"], "2 or more"),
                        (["--devices", "8"], "at least one kind"), (["--devices", "8", "--broadcast", "x"], "no option --broadcast"),
                        (["--devices", "8", "--all-reduce", name("ar.txt"), "--all-reduce", name("ar.txt")], "there twice")):
        status, text = toast("calibrate", *words)
        assert status == 2 and said in text, (words, status, text)
    status, text = toast("calibrate", "--devices", "8", "--all-reduce", name("noise.txt"))
    assert status and "no table of nccl-tests" in text, text
print("calibrate answers")
