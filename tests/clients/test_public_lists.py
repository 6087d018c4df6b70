#!/usr/bin/env python3
# label: truth
# timeout: 900
"""Hugging Face's Flax Llama, Mistral and BART: XLA moves the plan's bytes for plan.jit() and, within a tenth, for specs and constraints; their lookups and
activations stand in functions that JAX shares, where scopes alone tell values apart. Arguments: words of their names."""
import sys

import support

support.enter("models")

import checks  # noqa: E402
import public  # noqa: E402

if __name__ == "__main__":
    sys.exit(checks.check_all_unseen(public.LISTED))
