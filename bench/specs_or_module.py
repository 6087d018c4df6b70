#!/usr/bin/env python3
"""Bytes that XLA moves under a plan: its PartitionSpecs given to jax.jit alone, with its constraints (plan.constrain()), annotated (plan.jit()).

Beside them those of the plan itself, and how many constraints there are.

    bench/specs_or_module.py [NAME..] [--rollouts N]

Compiles only (abstract arguments, eight CPU devices); no result is computed. Prints a row a model; docs/clients.md quotes them.
"""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "tests", "clients"))

import support  # noqa: E402


def cases():
    import models
    out = {f"{name}": (make, {"data": 4, "model": 2}, 0.45) for name, make in models.MODELS.items()}
    for remat in (False, True):
        out[f"gpt in a scan{', remat' if remat else ''}"] = (lambda r=remat: models.gpt_scanned(r), {"data": 4, "model": 2}, 0.15)
    for vocabulary in (8192, 50257):
        for mesh in ({"data": 4, "model": 2}, {"data": 2, "model": 4}):
            name = f"gpt vocabulary {vocabulary}, {mesh['data']} x {mesh['model']}"
            out[name] = (lambda v=vocabulary: models.gpt(layers=4, width=256, vocabulary=v, batch=16, length=128), mesh, 0.35)
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0], epilog="example: specs_or_module.py gpt --rollouts 2000")
    parser.add_argument("names", nargs="*", help="of models; all when absent")
    parser.add_argument("--rollouts", type=int, default=5000, help="of the search")
    options = parser.parse_args()
    support.enter("truth")
    import hlo
    import jax

    import toast
    print(f"{'model':32} {'specs alone':>14} {'list':>4} {'with the list':>14} {'annotated':>14} {'plan':>14} {'specs/plan':>11} {'list/plan':>10} "
          f"{'module/plan':>12}", flush=True)
    for name, (make, mesh, share) in cases().items():
        if options.names and not any(word in name for word in options.names):
            continue
        step, args, donate = make()
        args = jax.tree_util.tree_map(lambda a: jax.ShapeDtypeStruct(a.shape, a.dtype), args)
        jitted = jax.jit(step, donate_argnums=donate)
        free = toast.plan(jitted, *args, mesh=mesh, device="a100-40", planner="baselines", outputs=["plan"])
        unsharded = next(b["peak_bytes"] for b in free.report["baselines"] if b["name"] == "replicated")
        plan = toast.plan(jitted, *args, mesh=mesh, device="a100-40", memory_limit=int(unsharded * share), rollouts=options.rollouts)
        specs, listed = (jax.jit(f, in_shardings=plan.in_shardings, out_shardings=plan.out_shardings, donate_argnums=donate)
                         for f in (step, plan.constrain(step)))
        bytes_of = [sum(hlo.collective_bytes(f.lower(*args).compile().as_text()).values()) for f in (specs, listed, plan.jit())]
        wanted = hlo.comparable(plan.collectives, plan.axes)
        ratios = [each / wanted for each in bytes_of]
        print(f"{name:32} {bytes_of[0]:14,} {len(plan.constraints):4} {bytes_of[1]:14,} {bytes_of[2]:14,} {wanted:14,} {ratios[0]:11.2f} "
              f"{ratios[1]:10.2f} {ratios[2]:12.2f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
