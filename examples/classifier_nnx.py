#!/usr/bin/env python3
"""A classifier of two-dimensional spirals in flax nnx with optax' adam: the model's state is split off and planned as any tree.

    XLA_FLAGS=--xla_force_host_platform_device_count=8 JAX_PLATFORMS=cpu python examples/classifier_nnx.py [--one-device] [--steps N]
"""
import argparse

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

import toast

WIDTH, ARMS, BATCH = 256, 4, 256


class Classifier(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(2, WIDTH, rngs=rngs)
        self.second = nnx.Linear(WIDTH, WIDTH, rngs=rngs)
        self.last = nnx.Linear(WIDTH, ARMS, rngs=rngs)

    def __call__(self, x):
        return self.last(nnx.gelu(self.second(nnx.gelu(self.first(x)))))


def spirals(rng):
    arm, along = rng.integers(0, ARMS, BATCH), rng.uniform(0.2, 1.0, BATCH)
    angle = 4.0 * along + 2 * np.pi * arm / ARMS + rng.normal(0, 0.1, BATCH)
    return (along[:, None] * np.stack([np.cos(angle), np.sin(angle)], 1)).astype(np.float32), arm.astype(np.int32)


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=30)
    options.add_argument("--one-device", action="store_true")
    options = options.parse_args()
    rng = np.random.default_rng(0)
    graph, params = nnx.split(Classifier(nnx.Rngs(0)))
    optimizer = optax.adam(3e-3, eps=1e-5)

    def train_step(params, memory, x, arm):
        def loss_of(p):
            return jnp.mean(optax.softmax_cross_entropy_with_integer_labels(nnx.merge(graph, p)(x), arm))
        loss, grads = jax.value_and_grad(loss_of)(params)
        updates, memory = optimizer.update(grads, memory, params)
        return optax.apply_updates(params, updates), memory, loss

    memory = optimizer.init(params)
    step = jax.jit(train_step, donate_argnums=(0, 1))
    if not options.one_device:      # the plan
        plan = toast.plan(step, params, memory, *spirals(rng), mesh={"data": 4, "model": 2}, device="a100-40", memory_limit="1.2MB")
        print(plan)
        step = plan.jit()
    rng = np.random.default_rng(1)
    for k in range(options.steps):
        params, memory, loss = step(params, memory, *spirals(rng))
        if k % 10 == 9 or k + 1 == options.steps:
            print(f"step {k + 1} loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
