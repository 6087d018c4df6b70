#!/usr/bin/env python3
# label: truth
# timeout: 600
"""toast.plan(..).jit() of Hugging Face's Flax BERT, GPT-2 and ViT and of Keras on JAX: as test_jax.py asks of plain models."""
import sys

import support

support.enter("models")

import checks  # noqa: E402
import public  # noqa: E402

if __name__ == "__main__":
    sys.exit(checks.check_all(public.PUBLIC))
