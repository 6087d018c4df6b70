#!/usr/bin/env python3
"""Writes tests/models/shrunken/*.mlir.gz: train steps whose dimensions are tied by products and windows, at
sizes that no interpreter runs whole (tests/planner/test_proof_shrunken.c).

    generate_shrunken.py [-o DIR]       needs jax (scripts/truth-venv)
"""
import argparse
import gzip
import pathlib

import jax
import jax.numpy as jnp
from jax import lax

F32, BF16 = jnp.float32, jnp.bfloat16


def shape(*dims, dtype=BF16):
    return jax.ShapeDtypeStruct(dims, dtype)


def conv(x, kernel, stride=1, groups=1):
    return lax.conv_general_dilated(x, kernel, (stride, stride), 'SAME', feature_group_count=groups,
                                    dimension_numbers=('NHWC', 'HWIO', 'NHWC'))


def attend(x, weights):
    x = x * lax.rsqrt(jnp.mean(jnp.square(x.astype(F32)), 2, keepdims=True) + 1e-6).astype(x.dtype)
    query, key, value = (x @ weight for weight in weights)
    scores = jnp.einsum('bqd,bkd->bqk', query, key).astype(F32) / x.shape[2]**0.5
    return jnp.einsum('bqk,bkd->bqd', jax.nn.softmax(scores).astype(x.dtype), value)


def vision(params, images):
    """Strided and depthwise convolutions, max pooling, attention within windows of 4 x 4 and over the image
    flattened, pixels shuffled back to the size of the input."""
    x = conv(images, params['stem'], stride=2)
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), 'SAME')
    x = x + conv(jax.nn.relu(conv(x, params['depthwise'], groups=x.shape[3])), params['pointwise'])
    batch, height, width, depth = x.shape
    tiles = x.reshape(batch, height // 4, 4, width // 4, 4, depth).transpose(0, 1, 3, 2, 4, 5)
    tiles = attend(tiles.reshape(-1, 16, depth), params['local'])
    tiles = tiles.reshape(batch, height // 4, width // 4, 4, 4, depth).transpose(0, 1, 3, 2, 4, 5)
    x = x + tiles.reshape(x.shape)
    x = x + attend(x.reshape(batch, height * width, depth), params['global']).reshape(x.shape)
    x = conv(x, params['up']).reshape(batch, height, width, 4, 4, 4).transpose(0, 1, 3, 2, 4, 5)
    return x.reshape(batch, height * 4, width * 4, 4)


VISION = {'stem': shape(7, 7, 4, 512), 'depthwise': shape(5, 5, 1, 512), 'pointwise': shape(1, 1, 512, 512),
          'local': [shape(512, 512)] * 3, 'global': [shape(512, 512)] * 3, 'up': shape(3, 3, 512, 64)}


def routed(params, tokens):
    """Two experts of each token by top_k, places in their queues by a running sum over tokens x choices."""
    x = params['embed'][tokens].reshape(-1, params['embed'].shape[1])
    gates, chosen = lax.top_k(jax.nn.softmax((x @ params['router']).astype(F32)), 2)
    flat = jax.nn.one_hot(chosen.reshape(-1), params['router'].shape[1], dtype=F32)
    place = jnp.cumsum(flat, axis=0) * flat - 1
    slots = jax.nn.one_hot(place.astype(jnp.int32), 4096, dtype=BF16).reshape(*chosen.shape, flat.shape[1], -1)
    send = slots.sum(1)
    inside = jnp.einsum('tec,td->ecd', send, x)
    inside = jnp.einsum('ecf,efd->ecd', jax.nn.gelu(jnp.einsum('ecd,edf->ecf', inside, params['in'])),
                        params['out'])
    x = jnp.einsum('tec,ecd->td', jnp.einsum('tkec,tk->tec', slots, gates.astype(BF16)), inside)
    return x @ params['embed'].T


ROUTED = {'embed': shape(32000, 1024), 'router': shape(1024, 16), 'in': shape(16, 1024, 4096),
          'out': shape(16, 4096, 1024)}


def step(model):
    def loss(params, inputs, targets):
        return jnp.mean(jnp.square(model(params, inputs).astype(F32).reshape(targets.shape) - targets))

    def train(params, moments, inputs, targets):
        value, gradients = jax.value_and_grad(loss)(params, inputs, targets)
        moments = jax.tree.map(lambda m, g: F32(0.9) * m + g.astype(F32), moments, gradients)
        return value, jax.tree.map(lambda p, m: p - (F32(1e-3) * m).astype(p.dtype), params, moments), moments
    return train


def write(name, model, params, inputs, targets, folder):
    moments = jax.tree.map(lambda p: shape(*p.shape, dtype=F32), params)
    lowered = jax.jit(step(model), donate_argnums=(0, 1), keep_unused=True).lower(params, moments, inputs, targets)
    with gzip.GzipFile(folder / f'{name}.mlir.gz', 'wb', mtime=0) as file:
        file.write(lowered.as_text().encode())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('-o', default=pathlib.Path(__file__).parents[1] / 'models/shrunken', type=pathlib.Path)
    folder = parser.parse_args().o
    folder.mkdir(exist_ok=True)
    write('vision', vision, VISION, shape(64, 256, 256, 4), shape(64, 256, 256, 4, dtype=F32), folder)
    write('routed', routed, ROUTED, shape(8, 2048, dtype=jnp.int32), shape(8 * 2048, 32000, dtype=F32), folder)


if __name__ == '__main__':
    main()
