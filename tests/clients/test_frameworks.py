#!/usr/bin/env python3
# label: truth
# timeout: 400
"""toast.plan(..).jit() of flax (linen, nnx), equinox, haiku and optax (adam, adafactor): as test_jax.py asks of plain models."""
import sys

import support

support.enter("models")

import checks  # noqa: E402
import frameworks  # noqa: E402

if __name__ == "__main__":
    sys.exit(checks.check_all(frameworks.FRAMEWORKS))
