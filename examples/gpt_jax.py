#!/usr/bin/env python3
"""A character-level GPT in plain JAX, Adam by hand, trained on this file. Three lines plan it: see "the plan".

    XLA_FLAGS=--xla_force_host_platform_device_count=8 JAX_PLATFORMS=cpu python examples/gpt_jax.py [--one-device] [--steps N]
"""
import argparse

import jax
import jax.numpy as jnp
import numpy as np

import toast

WIDTH, HEADS, LAYERS, LENGTH, BATCH = 128, 4, 2, 64, 16
TEXT = np.frombuffer(open(__file__, "rb").read(), np.uint8).astype(np.int32) % 128


def attention(x, p):
    split = (*x.shape[:2], HEADS, WIDTH // HEADS)
    q, k, v = (jnp.reshape(x @ p[name], split) for name in ("wq", "wk", "wv"))
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(WIDTH // HEADS)
    scores = jnp.where(jnp.tril(jnp.ones((x.shape[1], x.shape[1]), bool)), scores, -1e9)
    return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape) @ p["wo"]


def norm(x):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6)


def loss_of(params, tokens):
    x = params["embed"][tokens[:, :-1]] + params["position"]
    for p in params["layers"]:
        x = x + attention(norm(x), p)
        x = x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]
    logits = jax.nn.log_softmax(norm(x) @ params["head"])
    return -jnp.mean(jnp.take_along_axis(logits, tokens[:, 1:, None], -1))


def train_step(state, tokens):
    params, m, v, count = state
    loss, grads = jax.value_and_grad(loss_of)(params, tokens)
    count = count + 1
    m = jax.tree_util.tree_map(lambda a, g: 0.9 * a + 0.1 * g, m, grads)
    v = jax.tree_util.tree_map(lambda a, g: 0.99 * a + 0.01 * g * g, v, grads)
    rate = 3e-3 * jnp.sqrt(1 - 0.99 ** count) / (1 - 0.9 ** count)
    params = jax.tree_util.tree_map(lambda p, a, b: p - rate * a / (jnp.sqrt(b) + 1e-5), params, m, v)
    return (params, m, v, count), loss


def initial_state(rng):
    def normal(*shape):
        return jnp.asarray(rng.standard_normal(shape) * 0.05, jnp.float32)
    layers = [{"wq": normal(WIDTH, WIDTH), "wk": normal(WIDTH, WIDTH), "wv": normal(WIDTH, WIDTH), "wo": normal(WIDTH, WIDTH),
               "up": normal(WIDTH, 4 * WIDTH), "down": normal(4 * WIDTH, WIDTH)} for _ in range(LAYERS)]
    params = {"embed": normal(128, WIDTH), "position": normal(LENGTH, WIDTH), "layers": layers, "head": normal(WIDTH, 128)}
    return params, jax.tree_util.tree_map(jnp.zeros_like, params), jax.tree_util.tree_map(jnp.zeros_like, params), jnp.zeros(())


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--steps", type=int, default=30)
    options.add_argument("--one-device", action="store_true")
    options = options.parse_args()
    rng = np.random.default_rng(0)

    def batch():
        starts = rng.integers(0, len(TEXT) - LENGTH - 1, BATCH)
        return np.stack([TEXT[s:s + LENGTH + 1] for s in starts])

    state = initial_state(rng)
    step = jax.jit(train_step, donate_argnums=0)
    if not options.one_device:      # the plan
        tokens = jax.ShapeDtypeStruct((BATCH, LENGTH + 1), jnp.int32)
        plan = toast.plan(step, state, tokens, mesh={"data": 4, "model": 2}, device="a100-40", memory_limit="8MB")
        print(plan)
        step = plan.jit()
    for k in range(options.steps):
        state, loss = step(state, batch())
        if k % 10 == 9 or k + 1 == options.steps:
            print(f"step {k + 1} loss {float(loss):.4f}")


if __name__ == "__main__":
    main()
