#!/usr/bin/env python3
# label: truth
# timeout: 1500
"""Hugging Face's Flax Llama, Mistral, BART, ALBERT and GPT-Neo: XLA moves the plan's bytes for plan.jit() and, within a tenth, for
plan.constrain; their lookups and activations stand in functions that JAX shares, where scopes alone tell values apart, and the
gradients of tied embeddings are added before they are reduced. Arguments: words of their names."""
import sys

import support

support.enter("models")

import checks  # noqa: E402
import public  # noqa: E402

if __name__ == "__main__":
    sys.exit(checks.check_all_unseen(public.LISTED))
