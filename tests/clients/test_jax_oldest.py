#!/usr/bin/env python3
# label: truth
# timeout: 400
"""toast.plan(..).jit() on JAX 0.4.38, which partitions by GSPMD: plain models equal one device, move the plan's bytes, keep donation."""
import sys

import support

support.enter("oldest")

import checks  # noqa: E402
import models  # noqa: E402


def main():
    for name in sys.argv[1:] or models.MODELS:
        checks.check(name, models.MODELS[name])
    return 0


if __name__ == "__main__":
    sys.exit(main())
