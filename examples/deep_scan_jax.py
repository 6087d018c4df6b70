#!/usr/bin/env python3
"""Sixteen residual layers in a lax.scan, rematerialised, SGD with momentum; fits a function of 64 numbers. Plain JAX.

    XLA_FLAGS=--xla_force_host_platform_device_count=8 JAX_PLATFORMS=cpu python examples/deep_scan_jax.py [--one-device] [--steps N]
"""
import argparse

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec as P

import toast

WIDTH, LAYERS, BATCH = 64, 16, 128


def predict(params, x):
    @jax.checkpoint
    def layer(h, p):
        return h + jnp.tanh(h @ p["up"]) @ p["down"], None
    h, _ = jax.lax.scan(layer, x, params["layers"])
    return h @ params["out"]


def train_step(params, momentum, x, y):
    loss, grads = jax.value_and_grad(lambda p: jnp.mean((predict(p, x) - y) ** 2))(params)
    momentum = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, momentum, grads)
    params = jax.tree_util.tree_map(lambda p, m: p - 0.003 * m, params, momentum)
    return params, momentum, loss


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=30)
    options.add_argument("--one-device", action="store_true")
    options = options.parse_args()
    rng = np.random.default_rng(0)

    def normal(*shape, scale=0.05):
        return jnp.asarray(rng.standard_normal(shape) * scale, jnp.float32)

    params = {"layers": {"up": normal(LAYERS, WIDTH, 4 * WIDTH), "down": normal(LAYERS, 4 * WIDTH, WIDTH)},
              "out": normal(WIDTH, 8)}
    momentum = jax.tree_util.tree_map(jnp.zeros_like, params)
    target = rng.standard_normal((WIDTH, 8)).astype(np.float32) / 8

    step = jax.jit(train_step, donate_argnums=(0, 1))
    if not options.one_device:      # the plan; the batch is split over the axis `data`, the rest is TOAST's to decide
        x = jax.ShapeDtypeStruct((BATCH, WIDTH), jnp.float32)
        y = jax.ShapeDtypeStruct((BATCH, 8), jnp.float32)
        plan = toast.plan(step, params, momentum, x, y, mesh={"data": 4, "model": 2}, device="a100-40", pins={"x": P("data")})
        print(plan)
        step = plan.jit()
    for k in range(options.steps):
        x = rng.standard_normal((BATCH, WIDTH)).astype(np.float32)
        params, momentum, loss = step(params, momentum, x, np.tanh(x @ target))
        if k % 10 == 9 or k + 1 == options.steps:
            print(f"step {k + 1} loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
