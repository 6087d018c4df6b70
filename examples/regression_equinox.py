#!/usr/bin/env python3
"""A regression in equinox with optax' momentum: the arrays of the model are partitioned off and planned as any tree.

    XLA_FLAGS=--xla_force_host_platform_device_count=8 JAX_PLATFORMS=cpu python examples/regression_equinox.py [--one-device] [--steps N]
"""
import argparse

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax

import toast

INPUTS, WIDTH, BATCH = 32, 512, 256


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=30)
    options.add_argument("--one-device", action="store_true")
    options = options.parse_args()
    rng = np.random.default_rng(0)
    arrays, rest = eqx.partition(eqx.nn.MLP(INPUTS, 1, WIDTH, 3, key=jax.random.key(0)), eqx.is_array)
    optimizer = optax.sgd(1e-2, momentum=0.9)

    def train_step(arrays, memory, x, y):
        def loss_of(a):
            return jnp.mean((jax.vmap(eqx.combine(a, rest))(x) - y) ** 2)
        loss, grads = jax.value_and_grad(loss_of)(arrays)
        updates, memory = optimizer.update(grads, memory, arrays)
        return optax.apply_updates(arrays, updates), memory, loss

    def batch():
        x = rng.standard_normal((BATCH, INPUTS)).astype(np.float32)
        return x, np.sin(x.sum(1, keepdims=True) / 4).astype(np.float32)

    memory = optimizer.init(arrays)
    step = jax.jit(train_step, donate_argnums=(0, 1))
    if not options.one_device:      # the plan
        x, y = jax.ShapeDtypeStruct((BATCH, INPUTS), jnp.float32), jax.ShapeDtypeStruct((BATCH, 1), jnp.float32)
        plan = toast.plan(step, arrays, memory, x, y, mesh={"data": 4, "model": 2}, device="a100-40", memory_limit="4MB")
        print(plan)
        step = plan.jit()
    for k in range(options.steps):
        arrays, memory, loss = step(arrays, memory, *batch())
        if k % 10 == 9 or k + 1 == options.steps:
            print(f"step {k + 1} loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
