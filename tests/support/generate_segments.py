#!/usr/bin/env python3
"""Writes the train steps on which the segments of a model are tested: transformers with fused projections.

    generate_segments.py FOLDER [--layers 6,24] [--models bert,gpt,llama,moe]

Needs JAX. Each model is a loss, its gradients and Adam with everything donated, lowered without being run. The
sizes are small; batch, heads, model and hidden width can be divided by 2, 4 and 8.
"""
import argparse
import gzip
import os

import jax
import jax.numpy as jnp

BATCH, TOKENS, WIDTH, HEADS, HIDDEN, VOCABULARY, EXPERTS = 16, 32, 64, 8, 256, 512, 8


def layer_norm(x, p):
    mean = x.mean(-1, keepdims=True)
    var = ((x - mean) ** 2).mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(var + 1e-5) * p["scale"] + p["bias"]


def rms_norm(x, p):
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6) * p["scale"]


def rotate(x):
    """Rotary positions on [batch, tokens, heads, features]."""
    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None] / 10000.0 ** (jnp.arange(half)[None, :] / half)
    sin, cos = jnp.sin(angle)[None, :, None, :], jnp.cos(angle)[None, :, None, :]
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def attention(x, p, causal, rotary):
    """The projections to queries, keys and values are one matmul."""
    b, s, d = x.shape
    qkv = x @ p["qkv"] + (p["qkv_bias"] if "qkv_bias" in p else 0.0)
    q, k, v = (part.reshape(b, s, HEADS, d // HEADS) for part in jnp.split(qkv, 3, axis=-1))
    if rotary:
        q, k = rotate(q), rotate(k)
    scores = jnp.einsum("bshd,bthd->bhst", q, k) / (d // HEADS) ** 0.5
    if causal:
        scores = jnp.where(jnp.tril(jnp.ones((s, s), bool)), scores, -1e9)
    y = jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores, axis=-1), v).reshape(b, s, d)
    return y @ p["out"] + (p["out_bias"] if "out_bias" in p else 0.0)


def feed_forward(x, p):
    return jax.nn.gelu(x @ p["up"] + p["up_bias"]) @ p["down"] + p["down_bias"]


def gated(x, p):
    """Gate and up are one matmul."""
    gate, up = jnp.split(x @ p["gate_up"], 2, axis=-1)
    return (jax.nn.silu(gate) * up) @ p["down"]


def experts(x, p):
    """Every expert sees its own slice of the tokens: the dispatch is a reshape, what is left is the batched matmuls."""
    b, s, d = x.shape
    groups = x.reshape(b, EXPERTS, s // EXPERTS, d)
    y = jnp.einsum("bend,edf->benf", groups, p["up"])
    return jnp.einsum("benf,efd->bend", jax.nn.gelu(y), p["down"]).reshape(b, s, d)


def bert(x, p):
    x = layer_norm(x + attention(x, p["attention"], False, False), p["norm1"])
    return layer_norm(x + feed_forward(x, p["ffn"]), p["norm2"])


def gpt(x, p):
    x = x + attention(layer_norm(x, p["norm1"]), p["attention"], True, False)
    return x + feed_forward(layer_norm(x, p["norm2"]), p["ffn"])


def llama(x, p):
    x = x + attention(rms_norm(x, p["norm1"]), p["attention"], True, True)
    return x + gated(rms_norm(x, p["norm2"]), p["ffn"])


def moe(x, p):
    x = x + attention(layer_norm(x, p["norm1"]), p["attention"], True, False)
    ffn = experts if p["ffn"]["up"].ndim == 3 else feed_forward
    return x + ffn(layer_norm(x, p["norm2"]), p["ffn"])


LAYERS = {"bert": bert, "gpt": gpt, "llama": llama, "moe": moe}


def parameters(model, layers):
    def of(*shape):
        return jax.ShapeDtypeStruct(shape, jnp.float32)

    def norm():
        return {"scale": of(WIDTH)} if model == "llama" else {"scale": of(WIDTH), "bias": of(WIDTH)}

    def layer(i):
        attn = {"qkv": of(WIDTH, 3 * WIDTH), "out": of(WIDTH, WIDTH)}
        if model != "llama":
            attn |= {"qkv_bias": of(3 * WIDTH), "out_bias": of(WIDTH)}
        if model == "llama":
            ffn = {"gate_up": of(WIDTH, 2 * HIDDEN), "down": of(HIDDEN, WIDTH)}
        elif model == "moe" and i % 2:
            ffn = {"up": of(EXPERTS, WIDTH, HIDDEN), "down": of(EXPERTS, HIDDEN, WIDTH)}
        else:
            ffn = {"up": of(WIDTH, HIDDEN), "up_bias": of(HIDDEN), "down": of(HIDDEN, WIDTH), "down_bias": of(WIDTH)}
        return {"attention": attn, "ffn": ffn, "norm1": norm(), "norm2": norm()}

    return {"embedding": of(VOCABULARY, WIDTH), "head": of(WIDTH, VOCABULARY), "norm": norm(),
            "layers": [layer(i) for i in range(layers)]}


def step(model):
    layer = LAYERS[model]
    final = rms_norm if model == "llama" else layer_norm

    def loss(p, tokens, labels):
        x = p["embedding"][tokens]
        for q in p["layers"]:
            x = layer(x, q)
        logits = final(x, p["norm"]) @ p["head"]
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits, axis=-1), labels[..., None], axis=-1)
        return -picked.mean()

    def train(p, m, v, count, tokens, labels):
        value, grads = jax.value_and_grad(loss)(p, tokens, labels)
        count = count + 1
        tree = jax.tree_util.tree_map
        m = tree(lambda a, g: 0.9 * a + 0.1 * g, m, grads)
        v = tree(lambda a, g: 0.999 * a + 0.001 * g * g, v, grads)
        rate = 1e-3 * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
        p = tree(lambda w, a, b: w - rate * a / (jnp.sqrt(b) + 1e-8), p, m, v)
        return p, m, v, count, value

    return train


def lower(model, layers):
    p = parameters(model, layers)
    tokens = jax.ShapeDtypeStruct((BATCH, TOKENS), jnp.int32)
    count = jax.ShapeDtypeStruct((), jnp.float32)
    jitted = jax.jit(step(model), donate_argnums=(0, 1, 2, 3), keep_unused=True)
    return jitted.lower(p, p, p, count, tokens, tokens).as_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--layers", default="6,24")
    parser.add_argument("--models", default=",".join(LAYERS))
    options = parser.parse_args()
    for model in options.models.split(","):
        for layers in (int(n) for n in options.layers.split(",")):
            path = os.path.join(options.folder, f"{model}_{layers}.mlir.gz")
            with open(path, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as packed:
                packed.write(lower(model, layers).encode())


if __name__ == "__main__":
    main()
