#!/usr/bin/env python3
# label: truth
# timeout: 1800
"""From programs of segments to a plan of what was measured, on eight CPU devices: a small GPT train step of four layers, its programs timed
(and again after a stop: only what is left), composed and proved; the same times serve five layers; what does not fit is refused by name."""
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile

import support

support.enter("truth")

sys.path.insert(0, os.path.join(support.SOURCE, "tests", "support"))
import generate_segments  # noqa: E402

import toast_profile  # noqa: E402
from toast_profile.__main__ import main as command  # noqa: E402

TOAST = os.path.join(os.environ.get("TOAST_BIN", os.path.join(support.SOURCE, "build", "release", "bin")), "toast")
SIZES = {"BATCH": 8, "TOKENS": 4, "WIDTH": 16, "HEADS": 8, "HIDDEN": 16, "VOCABULARY": 16}
QUICK = ["--warm-up", "0", "--runs", "1", "--quiet"]


def plan(folder, module, *more):
    """(status, text) of toast plan; the files are in folder"""
    done = subprocess.run([TOAST, "plan", module, "--mesh", "data=8", "--device", "a100-40", "--quiet", "-o", folder, *more],
                          capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def programs(folder):
    with tarfile.open(os.path.join(folder, "segments.tar")) as tar:
        return json.load(tar.extractfile("programs.json"))


def model(where, layers):
    for name, size in SIZES.items():
        setattr(generate_segments, name, size)
    path = os.path.join(where, f"gpt_{layers}.mlir")
    pathlib.Path(path).write_text(generate_segments.lower("gpt", layers))
    folder = os.path.join(where, f"programs_{layers}")
    status, text = plan(folder, path, "--planner", "baselines", "--outputs", "segments")
    assert status == 0, text
    return path, folder


def changed(where, profile, change):
    other = json.loads(json.dumps(profile))
    change(other)
    path = os.path.join(where, "changed.json")
    pathlib.Path(path).write_text(json.dumps(other))
    return path


def refusals(where, module, profile):
    first = profile["segments"][1]["configurations"][0]

    def without_one(other):
        del other["segments"][1]["configurations"][0]

    def timed(us):
        return lambda other: other["segments"][1]["configurations"][0].update(time_us=us)
    cases = [(without_one, first["configuration"]),
             (lambda other: other.update(devices=4), "ran on 4 devices, the mesh has 8"),
             (lambda other: other.pop("devices"), "does not say on how many devices"),
             (timed(-1.0), "/segments/1/configurations/0/time_us: -1 is out of range"),
             (timed(float("nan")), "NaN"), (timed(float("inf")), "Infinity"), (timed("1"), "/segments/1/configurations/0/time_us")]
    for change, words in cases:
        status, text = plan(os.path.join(where, "refused"), module, "--planner", "segments", "--profile", changed(where, profile, change))
        assert status and words in text, (words, status, text)
    other = changed(where, profile, lambda other: [c.update(configuration="0" * 32) for s in other["segments"] for c in s["configurations"][:1]])
    status, text = plan(os.path.join(where, "refused"), module, "--planner", "segments", "--profile", other)
    assert status and "no time in the profile" in text, text


def donated():
    """two arguments alike, both given away: they are one array in every run, which XLA would not take twice"""
    import jax
    from toast_profile import running
    text = """module @donated attributes {mhlo.num_partitions = 4 : i32, mhlo.num_replicas = 1 : i32} {
      func.func public @main(%a: tensor<4xf32> {tf.aliasing_output = 0 : i32}, %b: tensor<4xf32> {jax.buffer_donor = true}) -> tensor<4xf32> {
        %sum = stablehlo.add %a, %b : tensor<4xf32>
        return %sum : tensor<4xf32>
      }
    }"""
    devices = list(jax.devices()[:4])
    compiled = running.Compiled(text, devices)
    arrays = running.Inputs(devices).of(compiled)
    assert arrays[0] is arrays[1]
    assert all(running.run(compiled, arrays) > 0 for _ in range(3)) and not arrays[0].is_deleted()


def main():
    with tempfile.TemporaryDirectory() as where:
        module, folder = model(where, 4)
        archive, out = os.path.join(folder, "segments.tar"), os.path.join(where, "profile.json")
        manifest = programs(folder)
        layers = [kind for kind in manifest["kinds"] if kind["blocks"] == 4]
        assert [kind["configurations"] for kind in layers] == [81, 81] and manifest["equation_7"] == len(manifest["programs"])
        assert command([archive, "-o", out, "--limit", "3", "--overlap", "yes", *QUICK]) == 0     # stopped after three
        assert len(toast_profile.Archive(archive).programs) > 3
        status, text = plan(os.path.join(where, "early"), module, "--planner", "segments", "--profile", out)
        assert status and "have no time in the profile" in text, text
        assert command([archive, "-o", out, *QUICK]) == 0                                          # the rest
        with open(out + ".log") as file:
            rows = [json.loads(line) for line in file][1:]
        assert len({row["digest"] for row in rows}) == len(rows) == len(toast_profile.Archive(archive).programs)
        profile = json.loads(pathlib.Path(out).read_text())
        for deeper in (module, model(where, 5)[0]):                                                # no new programs
            made = os.path.join(where, "plan")
            status, text = plan(made, deeper, "--planner", "segments", "--profile", out, "--proof", "--outputs", "plan,report")
            assert status == 0 and "measured times in tables" in text, text
            report = json.loads(pathlib.Path(made, "report.json").read_text())
            assert report["segments"]["measured"] == manifest["equation_7"] or deeper != module
            assert report["segments"]["proved"] and report["segments"]["composed_ps"] > 0, report["segments"]
            assert json.loads(pathlib.Path(made, "proof.json").read_text())["status"] == "equal"
            assert json.loads(pathlib.Path(made, "plan.json").read_text())["found_by"] == "segments"
        refusals(where, module, profile)
        try:                                                                                       # a log of other devices
            pathlib.Path(out + ".log").write_text(json.dumps({"platform": "gpu"}) + "\n")
            toast_profile.profile(archive, out)
        except toast_profile.ProfileError as error:
            assert "another" in str(error), error
        else:
            raise AssertionError("a log of other devices was taken")
    donated()
    print(f"{len(rows)} programs timed for {manifest['equation_7']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
