#!/usr/bin/env python3
# label: truth
# timeout: 600
"""Errors planted into emitted modules must be found by the referee, and the same modules without them must pass.

Planted: a wrong replica group, an all_reduce dropped, an initial value counted twice, a NaN, an integer off by one, a
result of another type; and in made-up results a NaN and a wrong element on one device only.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

import venv

venv.enter()

import numpy as np  # noqa: E402

import candidates  # noqa: E402
import referee  # noqa: E402

PROGRAM = """
module @planted {
  func.func public @main(%x: tensor<16x8xf32>, %w: tensor<8x12xf32>, %t: tensor<16xi32>) -> (tensor<16x12xf32>, tensor<12xf32>, tensor<16xi32>) {
    %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x12xf32>) -> tensor<16x12xf32>
    %init = stablehlo.constant dense<1.500000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %init) applies stablehlo.add across dimensions = [0] : (tensor<16x12xf32>, tensor<f32>) -> tensor<12xf32>
    %2 = stablehlo.iota dim = 0 : tensor<16xi32>
    %3 = stablehlo.add %2, %t : tensor<16xi32>
    return %0, %1, %3 : tensor<16x12xf32>, tensor<12xf32>, tensor<16xi32>
  }
}
"""
GROUPS = re.compile(r"(replica_groups = dense<)(\[\[[^>]*\]\])(>)")


def swap_groups(form, text):
    """the first two groups exchange their last members"""
    def edit(m):
        rows = [[int(x) for x in re.findall(r"\d+", r)] for r in re.findall(r"\[[\d, ]+\]", m.group(2))]
        if len(rows) > 1:
            rows[0][-1], rows[1][-1] = rows[1][-1], rows[0][-1]
        return m.group(1) + str(rows) + m.group(3)
    return GROUPS.sub(edit, text)


def drop_reduction(form, text):
    """every device alone in its group: the reduction does nothing"""
    def edit(line):
        if "all_reduce" not in line:
            return line
        return re.sub(r"dense<\[\[.*?\]\]> : tensor<\d+x\d+xi64>", "dense<%s> : tensor<8x1xi64>" %
                      [[d] for d in range(8)], line)
    # the attributes follow the region: join each op's lines first
    joined = re.sub(r'("stablehlo\.all_reduce"\([^\n]*\n)((?:.*\n)*?)(\s*\}\)[^\n]*)',
                    lambda m: m.group(1) + m.group(2) + edit("all_reduce" + m.group(3))[len("all_reduce"):], text)
    return joined


def count_twice(form, text):
    """every device believes that it is the first of its group"""
    return text.replace("comparison_direction EQ", "comparison_direction GE")


def divide_by_zero(form, text):
    """0 / 0 added to the product"""
    return re.sub(r'(%\d+) = "stablehlo.dot_general"\((.*)\) (\{.*\}) : \((.*)\) -> (tensor<.*>)',
                  lambda m: f'%z = "stablehlo.constant"() {{value = dense<0.0> : {m[5]}}} : () -> {m[5]}\n'
                            f'%n = "stablehlo.divide"(%z, %z) : ({m[5]}, {m[5]}) -> {m[5]}\n'
                            f'%d = "stablehlo.dot_general"({m[2]}) {m[3]} : ({m[4]}) -> {m[5]}\n'
                            f'{m[1]} = "stablehlo.add"(%d, %n) : ({m[5]}, {m[5]}) -> {m[5]}', text, count=1)


def off_by_one(form, text):
    """blocks of the iota begin one late: 1 more on every device but the first"""
    return re.sub(r'(value = dense<)(2)(> : tensor<i32>)', r"\g<1>3\g<3>", text)


PLANTS = [  # (what, edit, arguments, forms in which the text has what is edited)
    ("wrong replica group", swap_groups, "mesh2", ("manual", "local")),
    ("all_reduce dropped", drop_reduction, "mesh2", ("manual", "local")),
    ("initial value counted twice", count_twice, "mesh2", ("manual", "local")),
    ("NaN", divide_by_zero, "mesh2", ("annotated", "manual", "local")),
    ("integer off by one", off_by_one, "mesh1", ("manual", "local")),
]


def find_plan(subject, mesh, wanted):
    """the first random plan whose manual module has all of `wanted`"""
    for seed in range(1, 400):
        arguments = ["--mesh", mesh, "--random-plan", str(seed)]
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "m.mlir")
            candidates.lower(subject.path, arguments, "manual", path, os.path.join(folder, "c.json"))
            text = candidates.read(path)
        if all(re.search(w, text) for w in wanted):
            return arguments
    raise RuntimeError(f"no random plan on {mesh} has {wanted}")


def made_up_results():
    """comparison alone: one device's part wrong; a NaN in the reference"""
    whole = np.linspace(1, 2, 8, dtype=np.float32)
    indices = [[(slice(0, 4),), (slice(4, 8),)]]
    failures = []

    def status(reference, parts, noise=None):
        v = referee.Verdict()
        referee.compare(v, [reference], [parts], indices, "A", noise=noise)
        return v.status()

    wrong, nan, late = whole[4:].copy(), whole[4:].copy(), np.arange(5, 9, dtype=np.int32)
    wrong[2] += 1e-3
    nan[1] = np.nan
    expected = [("as it is", whole, whole[4:], "equal"), ("one element", whole, wrong, "different"),
                ("NaN", whole, nan, "different"), ("dtype", whole, whole[4:].astype(np.float64), "different"),
                ("shape", whole, whole[3:], "different"),
                ("integers", np.arange(8, dtype=np.int32), late, "different"),
                ("NaN in the reference", np.concatenate([whole[:7], [np.float32("nan")]]).astype(np.float32),
                 whole[4:], "inconclusive")]
    for what, reference, part, want in expected:
        got = status(reference, [reference[:4], part])
        print(f"made up, {what}: {got}")
        if got != want:
            failures.append(f"made up, {what}: {got}, not {want}")
    near = whole[4:] * np.float32(1 + 1e-4)
    for what, part, noise, want in [("nearby", near, None, "different"), ("nearby, by rounding", near, 1.5e-5, "equal"),
                                    ("nearby, by less rounding", near, 1e-5, "different"), ("far, by rounding", wrong, 1.0, "different")]:
        got = status(whole, [whole[:4], part], noise and {0: noise}.get)
        print(f"made up, {what}: {got}")
        if got != want:
            failures.append(f"made up, {what}: {got}, not {want}")
    return failures


def main():
    failures = made_up_results()
    with tempfile.NamedTemporaryFile("w", suffix=".mlir") as f:
        f.write(PROGRAM)
        f.flush()
        # errors are planted by text: into generic form, which comes of a module in generic form
        generic = subprocess.run([os.path.join(venv.BIN, "toast"), "read", f.name, "--generic"], check=True, stdout=subprocess.PIPE).stdout
        pathlib.Path(f.name).write_bytes(generic)
        subject = candidates.Subject(f.name)
        plans = {
            "mesh2": find_plan(subject, "data=4,model=2", ["all_reduce", "comparison_direction EQ"]),
            "mesh1": find_plan(subject, "data=8", [r"iota", r"value = dense<2> : tensor<i32>", r"partition_id"]),
        }
        for name, arguments in plans.items():
            for form, (status, line, _) in candidates.try_plan(subject, arguments).items():
                print(f"untouched {name} {form}: {line}")
                if status != "equal":
                    failures.append(f"untouched {name} {form}: {line}")
        for what, edit, name, forms in PLANTS:
            for form in forms:
                status, line, _ = candidates.try_plan(subject, plans[name], (form,), edit=edit)[form]
                print(f"planted {what}, {form}: {line}")
                if status != "different" or "magnitude" not in line:
                    failures.append(f"planted {what}, {form}: {line}")
    for line in failures:
        print(f"FAILED {line}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
