#!/usr/bin/env python3
"""usage: models.py gemma|itx SIZE OUT.mlir

Modules at the sizes that the TOAST paper names (section 5.1), lowered by JAX and never run: `gemma TOKENS` is T2B's train step (18 layers of
width 2048, feed-forward 16384 twice, 8 heads of 256 on one key-value head, vocabulary 256128) on two sequences of so many tokens; `itx prefill`
and `itx decode` are the inference transformer (32 layers of width 2048, 32 heads on one key-value head, feed-forward 4096, rotary positions,
vocabulary 50257) that reads a prompt of 1024 tokens into its cache, or adds one token to it.

The printed sizes give ITX 0.9 billion parameters; the paper says 5 billion.

Needs JAX. Example: bench/paper/models.py gemma 4096 t2b_4096.mlir
"""
import os
import pathlib
import sys

os.environ.setdefault("JAX_PLATFORMS", "cpu")

GEMMA = {"layers": 18, "width": 2048, "hidden": 16384, "heads": 8, "key": 256, "vocabulary": 256128, "batch": 2}
ITX = {"layers": 32, "width": 2048, "hidden": 4096, "heads": 32, "key": 64, "vocabulary": 50257, "batch": 16, "tokens": 1024, "prompt": 1024}


def shapes_of(sizes):
    d, h, k, f = sizes["width"], sizes["heads"], sizes["key"], sizes["hidden"]
    layer = {"norm": (d,), "q": (d, h, k), "k": (d, k), "v": (d, k), "out": (h, k, d), "norm2": (d,), "up": (d, f), "down": (f, d)}
    if sizes is GEMMA:
        layer["gate"] = (d, f)
    return {"embed": (sizes["vocabulary"], d), "last": (d,), **{f"layer_{i:02}": dict(layer) for i in range(sizes["layers"])}}


def norm(x, scale):
    import jax
    import jax.numpy as jnp
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + 1e-6)).astype(x.dtype) * scale


def rotate(x, positions):
    """Rotary positions on [batch, tokens, .., features]."""
    import jax.numpy as jnp
    half = x.shape[-1] // 2
    angle = positions[:, None] / 10000.0 ** (jnp.arange(half)[None, :] / half)
    angle = angle.reshape((1, x.shape[1]) + (1,) * (x.ndim - 3) + (half,))
    sin, cos = jnp.sin(angle).astype(x.dtype), jnp.cos(angle).astype(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def attend(p, x, cache, start, positions):
    """Multi-query attention of the tokens x on all keys so far; cache: (keys, values) or None. -> output, cache"""
    import jax
    import jax.numpy as jnp
    q = rotate(jnp.einsum("bsd,dhk->bshk", x, p["q"]), positions)
    k, v = rotate(x @ p["k"], positions), x @ p["v"]
    if cache is not None:
        k, v = (jax.lax.dynamic_update_slice(old, new, (0, start, 0)) for old, new in zip(cache, (k, v), strict=True))
        cache = (k, v)
    scores = jnp.einsum("bshk,btk->bhst", q, k).astype(jnp.float32) / q.shape[-1] ** 0.5
    scores = jnp.where(positions[:, None] >= jnp.arange(k.shape[1])[None, :], scores, -1e30)
    y = jnp.einsum("bhst,btk->bshk", jax.nn.softmax(scores, -1).astype(x.dtype), v)
    return jnp.einsum("bshk,hkd->bsd", y, p["out"]), cache


def forward(params, tokens, caches, start, layers):
    import jax
    import jax.numpy as jnp
    x = params["embed"][tokens]
    positions, kept = start + jnp.arange(tokens.shape[1]), []
    for i in range(layers):
        p = params[f"layer_{i:02}"]
        y, cache = attend(p, norm(x, p["norm"]), caches[i] if caches else None, start, positions)
        kept.append(cache)
        x = x + y
        y = norm(x, p["norm2"])
        y = jax.nn.gelu(y @ p["gate"]) * (y @ p["up"]) if "gate" in p else jax.nn.gelu(y @ p["up"])
        x = x + y @ p["down"]
    return norm(x, params["last"]) @ params["embed"].T, kept


def train(params, m, v, count, tokens, targets):
    """Loss, gradients and Adam."""
    import jax
    import jax.numpy as jnp

    def loss(params):
        logits = forward(params, tokens, None, 0, GEMMA["layers"])[0].astype(jnp.float32)
        return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1))
    value, grads = jax.value_and_grad(loss)(params)
    count = count + 1
    m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g.astype(a.dtype), m, grads)
    v = jax.tree.map(lambda a, g: 0.99 * a + 0.01 * jnp.square(g.astype(a.dtype)), v, grads)
    params = jax.tree.map(lambda p, a, b: (p - 1e-3 * a / (jnp.sqrt(b) + 1e-8)).astype(p.dtype), params, m, v)
    return params, m, v, count, value


def tensors(sizes, dtype):
    import jax
    return jax.tree.map(lambda shape: jax.ShapeDtypeStruct(shape, dtype), shapes_of(sizes), is_leaf=lambda x: isinstance(x, tuple))


def gemma(tokens):
    import jax
    import jax.numpy as jnp
    ids = jax.ShapeDtypeStruct((GEMMA["batch"], int(tokens)), jnp.int32)
    moments = tensors(GEMMA, jnp.float32)
    arguments = tensors(GEMMA, jnp.bfloat16), moments, moments, jax.ShapeDtypeStruct((), jnp.int32), ids, ids
    return jax.jit(train, donate_argnums=(0, 1, 2, 3), keep_unused=True).lower(*arguments).as_text()


def itx(phase):
    import jax
    import jax.numpy as jnp
    if phase not in ("prefill", "decode"):
        sys.exit(f"itx prefill or itx decode, not {phase}")
    room = ITX["prompt"] + ITX["tokens"]
    cache = [tuple(jax.ShapeDtypeStruct((ITX["batch"], room, ITX["key"]), jnp.bfloat16) for _ in range(2)) for _ in range(ITX["layers"])]
    ids = jax.ShapeDtypeStruct((ITX["batch"], ITX["prompt"] if phase == "prefill" else 1), jnp.int32)

    def step(params, tokens, caches, start):
        logits, caches = forward(params, tokens, caches, start, ITX["layers"])
        return jnp.argmax(logits[:, -1], -1), caches
    arguments = tensors(ITX, jnp.bfloat16), ids, cache, jax.ShapeDtypeStruct((), jnp.int32)
    return jax.jit(step, donate_argnums=(2,), keep_unused=True).lower(*arguments).as_text()


def lower(model, size):
    return {"gemma": gemma, "itx": itx}[model](size)


def main():
    if len(sys.argv) == 2 and sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return 0
    if len(sys.argv) != 4 or sys.argv[1] not in ("gemma", "itx"):
        print(__doc__.split("\n")[0], file=sys.stderr)
        return 2
    pathlib.Path(sys.argv[3]).write_text(lower(sys.argv[1], sys.argv[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
