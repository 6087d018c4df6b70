#!/usr/bin/env python3
"""A transformer that sorts digits, in flax linen with optax' adamw.

    XLA_FLAGS=--xla_force_host_platform_device_count=8 JAX_PLATFORMS=cpu python examples/transformer_flax.py [--one-device] [--steps N]
"""
import argparse

import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax

import toast

WIDTH, LENGTH, BATCH, DIGITS = 128, 16, 64, 10


class Sorter(nn.Module):
    @nn.compact
    def __call__(self, tokens):
        x = nn.Embed(DIGITS, WIDTH)(tokens) + self.param("position", nn.initializers.normal(0.02), (LENGTH, WIDTH))
        for _ in range(2):
            x = x + nn.SelfAttention(num_heads=4)(nn.LayerNorm()(x))
            x = x + nn.Dense(WIDTH)(nn.gelu(nn.Dense(4 * WIDTH)(nn.LayerNorm()(x))))
        return nn.Dense(DIGITS)(nn.LayerNorm()(x))


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=30)
    options.add_argument("--one-device", action="store_true")
    options = options.parse_args()
    rng = np.random.default_rng(0)
    model, optimizer = Sorter(), optax.adamw(1e-3, eps=1e-5)

    def train_step(params, memory, tokens):
        def loss_of(p):
            return optax.softmax_cross_entropy_with_integer_labels(model.apply(p, tokens), jnp.sort(tokens, -1)).mean()
        loss, grads = jax.value_and_grad(loss_of)(params)
        updates, memory = optimizer.update(grads, memory, params)
        return optax.apply_updates(params, updates), memory, loss

    tokens = rng.integers(0, DIGITS, (BATCH, LENGTH)).astype(np.int32)
    params = model.init(jax.random.key(0), tokens)
    memory = optimizer.init(params)

    step = jax.jit(train_step, donate_argnums=(0, 1))
    if not options.one_device:      # the plan
        plan = toast.plan(step, params, memory, tokens, mesh={"data": 4, "model": 2}, device="a100-40", memory_limit="12MB")
        print(plan)
        step = plan.jit()
    for k in range(options.steps):
        params, memory, loss = step(params, memory, rng.integers(0, DIGITS, (BATCH, LENGTH)).astype(np.int32))
        if k % 10 == 9 or k + 1 == options.steps:
            print(f"step {k + 1} loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
