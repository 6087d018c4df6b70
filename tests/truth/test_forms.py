#!/usr/bin/env python3
# label: truth
# timeout: 1200
"""Random plans and one expert plan of every small model, run by XLA on eight CPU devices against the unsharded run: a random one and the
expert in all three forms, the others in one of them in turn.

Few plans a model (bench/truth.py runs many, each in all forms), seeded, on meshes 8, 4x2 and 2x2x2 in turn; one plan with
devices in another order, one with out-of-range indices where the model has any. $TOAST_TRUTH_SECONDS bounds the time (480): models
that it leaves out are named and fail the test only if nothing ran.
"""
import os
import sys
import time

import venv

venv.enter()

import candidates  # noqa: E402

PLANS = {"mlp": 6, "paper_attention": 6, "itx": 3, "gpt_torch": 3, "t2b_flat": 1, "t2b_remat": 1, "unet": 1, "t2b.loc": 0}


def main():
    limit = float(os.environ.get("TOAST_TRUTH_SECONDS", "480"))
    seed = int(os.environ.get("TOAST_SEED", "1"))
    names = sys.argv[1:]
    start, bad, ran, left_out = time.time(), [], 0, []
    print(f"seed {seed}, limit {limit:.0f} s", flush=True)
    for path in sorted(candidates.model_files(), key=os.path.getsize):
        name = candidates.model_name(path)
        plans = PLANS.get(name, 2)
        if (names and name not in names) or not plans:
            continue
        if time.time() - start > limit:
            left_out.append(name)
            continue
        subject = candidates.Subject(path, seed, wide=True)
        tries = [(candidates.MESHES[(k + seed) % 3], ["--random-plan", str(seed * 1000 + k)], candidates.forms_of(k)) for k in range(plans)]
        if name in candidates.EXPERT:
            tries.append(("data=4,model=2", ["--baseline", candidates.EXPERT[name]], candidates.FORMS))
        for k, (mesh, plan, forms) in enumerate(tries):
            arguments = ["--mesh", mesh, *plan]
            try:
                verdicts = candidates.try_plan(subject, arguments, forms, permute=k % 2 == 1)
            except Exception as e:
                verdicts = {"manual": ("refused", str(e), 0.0)}
            for form, (status, line, seconds) in verdicts.items():
                print(f"{name} {mesh} {plan[1]} {form}: {line} ({seconds:.1f} s)", flush=True)
                ran += 1
                if status != "equal":
                    bad.append(f"{name} {' '.join(arguments)} --form {form}: {line}")
    print(f"{ran} modules run in {time.time() - start:.0f} s; left out for time: {', '.join(left_out) or 'none'}")
    for line in bad:
        print(f"NOT EQUAL {line}")
    return 1 if bad or not ran else 0


if __name__ == "__main__":
    sys.exit(main())
