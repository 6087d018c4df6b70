#!/usr/bin/env python3
"""Writes tests/models/shrunken/*.mlir.gz: train steps whose dimensions are tied by products, windows and sums, at
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


def chunked(params, tokens):
    """A state space as Mamba-2 has it: one projection for all, a causal convolution by pads and slices, sequences cut into chunks, states
    carried from chunk to chunk; tokens are one more than positions."""
    heads, states, chunk = 64, 128, 256
    x = params['embed'][tokens[:, :-1]] + params['embed'][tokens[:, 1:]]
    batch, length, width = x.shape
    inner = 2 * width
    gate, inside, keys, queries, rates = jnp.split(x @ params['in'], [inner, 2 * inner, 2 * inner + states, 2 * inner + 2 * states], 2)
    padded = jnp.pad(inside, ((0, 0), (3, 0), (0, 0)))
    inside = jax.nn.silu(sum(padded[:, i:i + length] * params['conv'][i] for i in range(4)))

    def cut(y, *dims):
        return y.reshape(batch, length // chunk, chunk, *dims)
    keys, queries, rates = cut(keys, states), cut(queries, states), cut(jax.nn.softplus(rates), heads)
    inside = cut(inside, heads, inner // heads) * rates[..., None]
    decay = jnp.cumsum(rates * params['decay'], 2)
    since = decay[:, :, :, None] - decay[:, :, None]
    mask = jnp.where(jnp.tril(jnp.ones((chunk, chunk), bool))[..., None], jnp.exp(since), 0)
    out = jnp.einsum('bcls,bclsh,bcshp->bclhp', jnp.einsum('bcln,bcsn->bcls', queries, keys), mask, inside)
    made = jnp.einsum('bcln,bclh,bclhp->bchpn', keys, jnp.exp(decay[:, :, -1:] - decay), inside)

    def carry(state, new):
        return state * new[1][..., None, None] + new[0], state
    passed = jnp.exp(decay[:, :, -1])
    before = lax.scan(carry, jnp.zeros_like(made[:, 0]), (made.swapaxes(0, 1), passed.swapaxes(0, 1)))[1]
    out = out + jnp.einsum('bcln,cbhpn,bclh->bclhp', queries, before, jnp.exp(decay))
    return (out.reshape(batch, length, inner) * jax.nn.silu(gate)) @ params['out']


CHUNKED = {'embed': shape(50288, 2048, dtype=F32), 'in': shape(2048, 8512, dtype=F32), 'conv': shape(4, 4096, dtype=F32),
           'decay': shape(64, dtype=F32), 'out': shape(4096, 2048, dtype=F32)}


def registers(params, images):
    """Patches behind a class token and four registers; queries, keys and values in one matrix."""
    batch, width = images.shape[0], params['class'].shape[1]
    x = lax.conv_general_dilated(images, params['patch'], (14, 14), 'VALID', dimension_numbers=('NHWC', 'HWIO', 'NHWC'))
    x = x.reshape(batch, -1, width) + params['places']
    x = jnp.concatenate([jnp.broadcast_to(params[name], (batch, *params[name].shape)) for name in ('class', 'registers')] + [x], 1)
    query, key, value = (y.reshape(batch, -1, 16, width // 16) for y in jnp.split(x @ params['all'], 3, 2))
    scores = jax.nn.softmax(jnp.einsum('bqhd,bkhd->bhqk', query, key))
    x = x + jnp.einsum('bhqk,bkhd->bqhd', scores, value).reshape(x.shape) @ params['out']
    return x[:, 0] @ params['head']


REGISTERS = {'patch': shape(14, 14, 3, 1024), 'places': shape(256, 1024), 'class': shape(1, 1024), 'registers': shape(4, 1024),
             'all': shape(1024, 3072), 'out': shape(1024, 1024), 'head': shape(1024, 1000)}


def spectral(params, x):
    """A convolution as long as the sequence, by Fourier transforms of twice its length."""
    length = x.shape[1]
    inside, gate = jnp.split(x @ params['in'], 2, 2)
    kernel = jnp.sin(params['places'] @ params['filter'])
    both = jnp.fft.rfft(inside, 2 * length, axis=1) * jnp.fft.rfft(kernel, 2 * length, axis=0)
    return (jnp.fft.irfft(both, 2 * length, axis=1)[:, :length] * gate) @ params['out']


SPECTRAL = {'in': shape(768, 1536, dtype=F32), 'places': shape(2048, 8, dtype=F32), 'filter': shape(8, 768, dtype=F32),
            'out': shape(768, 768, dtype=F32)}


def rows(params, inputs):
    """A recommender: tables of as many rows as there are, which nothing divides, numbers through layers of all widths, and the products of
    what is looked up."""
    numbers, features = inputs
    for weight in params['bottom']:
        numbers = jax.nn.relu(numbers @ weight)
    found = jnp.stack([numbers] + [table[features[:, i]] for i, table in enumerate(params['tables'])], 1)
    x = jnp.einsum('bfd,bgd->bfg', found, found).reshape(found.shape[0], -1)
    for weight in params['top']:
        x = jax.nn.relu(x @ weight)
    return x


def layers(*widths):
    return [shape(*pair, dtype=F32) for pair in zip(widths, widths[1:])]


ROWS = {'tables': [shape(count, 128, dtype=F32) for count in (1000003, 500009, 100003, 40000)], 'bottom': layers(13, 512, 256, 128),
        'top': layers(25, 1024, 768, 512, 1)}


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
    write('chunked', chunked, CHUNKED, shape(64, 2049, dtype=jnp.int32), shape(64, 2048, 2048, dtype=F32), folder)
    write('registers', registers, REGISTERS, shape(256, 224, 224, 3), shape(256, 1000, dtype=F32), folder)
    write('spectral', spectral, SPECTRAL, shape(32, 2048, 768, dtype=F32), shape(32, 2048, 768, dtype=F32), folder)
    write('rows', rows, ROWS, (shape(8192, 13, dtype=F32), shape(8192, 4, dtype=jnp.int32)), shape(8192, 1, dtype=F32), folder)
    write('routed', routed, ROUTED, shape(8, 2048, dtype=jnp.int32), shape(8 * 2048, 32000, dtype=F32), folder)


if __name__ == '__main__':
    main()
