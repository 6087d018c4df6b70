#!/usr/bin/env python3
# label: truth
# timeout: 900
"""Random plans of small programs, one a group of op families (programs.py), under XLA: the first in all three forms, the others in one."""
import os
import sys
import tempfile
import time

import venv

venv.enter()

import candidates  # noqa: E402
import programs  # noqa: E402


def main():
    seed, plans = int(os.environ.get("TOAST_SEED", "1")), int(os.environ.get("TOAST_TRUTH_PLANS", "3"))
    names, bad, ran, start = sys.argv[1:], [], 0, time.time()
    print(f"seed {seed}, {plans} plans a program", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in programs.all_programs().items():
            if names and name not in names:
                continue
            path = os.path.join(folder, name + ".mlir")
            open(path, "w").write(text)
            subject, errors = candidates.Subject(path, seed, wide=True, precision=programs.COMPUTES_IN.get(name)), {}
            tries = [(candidates.MESHES[k % 3], "--random-plan", str(seed * 1000 + k)) for k in range(plans)]
            tries += [(mesh, "--baseline", plan) for mesh, plan in programs.EXPERT.get(name, [])]
            for k, (mesh, *plan) in enumerate(tries):
                arguments = ["--mesh", mesh, *plan]
                try:
                    verdicts = candidates.try_plan(subject, arguments, candidates.forms_of(k), permute=k % 2 == 1)
                except Exception as e:
                    verdicts = {"manual": ("refused", str(e), 0.0)}
                for form, (status, line, _) in verdicts.items():
                    ran += 1
                    errors[status] = errors.get(status, 0) + 1
                    if status != "equal":
                        bad.append(f"{name} {' '.join(arguments)} --form {form}: {line}")
            print(f"{name}: {errors}", flush=True)
    print(f"{ran} modules run in {time.time() - start:.0f} s")
    for line in bad:
        print(f"NOT EQUAL {line}")
    return 1 if bad or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
