#!/usr/bin/env python3
"""Train steps of a small Gemma-like transformer at any depth (loss, gradients, Adam, everything donated), as JAX prints
them; with --llama at the sizes of Llama 8B (bfloat16, moments in float32; 32 layers are its depth). Needs JAX (scripts/truth-venv makes an
environment).

Example:
    .venv/bin/python bench/generate_layers.py layers 4 18 28"""
import argparse
import pathlib

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument('folder', type=pathlib.Path)
parser.add_argument('layers', type=int, nargs='+')
parser.add_argument('--remat', action='store_true')
parser.add_argument('--llama', action='store_true')
options = parser.parse_args()

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

D, F, H, G, K, V, B, S = (4096, 14336, 32, 8, 128, 128256, 64, 2048) if options.llama else (64, 128, 8, 1, 16, 256, 8, 32)
FLOAT = jnp.bfloat16 if options.llama else jnp.float32


def init(layers, kind):
    zeros = lambda *s: jax.ShapeDtypeStruct(s, kind)
    params = {'embed': zeros(V, D), 'final': zeros(D)}
    for i in range(layers):
        params[f'layer_{i:02}'] = {
            'ln1': zeros(D), 'wq': zeros(D, H, K), 'wk': zeros(D, G, K), 'wv': zeros(D, G, K), 'wo': zeros(H, K, D),
            'ln2': zeros(D), 'gate': zeros(D, F), 'up': zeros(D, F), 'down': zeros(F, D)}
    return params


def norm(x, g):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * (1 + g)


def block(p, x):
    h = norm(x, p['ln1'])
    q = jnp.einsum('bsd,dhk->bshk', h, p['wq'])
    k = jnp.repeat(jnp.einsum('bsd,dhk->bshk', h, p['wk']), H // G, 2)
    v = jnp.repeat(jnp.einsum('bsd,dhk->bshk', h, p['wv']), H // G, 2)
    a = jnp.einsum('bshk,bthk->bhst', q, k) / K ** 0.5
    mask = jnp.tril(jnp.ones((S, S), bool))
    a = jax.nn.softmax(jnp.where(mask, a, -1e9))
    x = x + jnp.einsum('bshk,hkd->bsd', jnp.einsum('bhst,bthk->bshk', a, v), p['wo'])
    h = norm(x, p['ln2'])
    return x + jnp.einsum('bsf,fd->bsd', jax.nn.gelu(h @ p['gate']) * (h @ p['up']), p['down'])


def step(params, m, v, count, tokens, remat):
    def loss(params):
        x = params['embed'][tokens[:, :-1]]
        for name in sorted(k for k in params if k.startswith('layer')):
            x = (jax.checkpoint(block) if remat else block)(params[name], x)
        logits = norm(x, params['final']) @ params['embed'].T
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1)
        return -jnp.mean(picked)

    value, grads = jax.value_and_grad(loss)(params)
    count = count + 1
    grads = jax.tree.map(lambda g: g.astype(jnp.float32), grads)
    m = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, m, grads)
    v = jax.tree.map(lambda a, g: 0.99 * a + 0.01 * g * g, v, grads)
    params = jax.tree.map(lambda p, a, b: (p - 1e-3 * a / (jnp.sqrt(b / (1 - 0.99 ** count)) + 1e-8)).astype(p.dtype), params, m, v)
    return params, m, v, count, value


options.folder.mkdir(parents=True, exist_ok=True)
for layers in options.layers:
    p, moments = init(layers, FLOAT), init(layers, jnp.float32)
    args = p, moments, moments, jax.ShapeDtypeStruct((), jnp.int32), jax.ShapeDtypeStruct((B, S + 1), jnp.int32)
    text = jax.jit(lambda *a: step(*a, options.remat), donate_argnums=(0, 1, 2, 3), keep_unused=True).lower(*args).as_text()
    (options.folder / f'layers_{layers}{"_remat" if options.remat else ""}{"_llama" if options.llama else ""}.mlir').write_text(text)
