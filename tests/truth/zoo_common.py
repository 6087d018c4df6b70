"""What the models of the zoo share: shapes, layers, optimizers, train steps.

A model is a function of a scale k (1: small enough to run; larger: wide enough that a plan pays) that returns StableHLO text.
"""
import jax
import jax.numpy as jnp
from jax import lax


def f32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.float32)


def bf16(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.bfloat16)


def i32(*shape):
    return jax.ShapeDtypeStruct(shape, jnp.int32)


def typed(dtype, *shape):
    return jax.ShapeDtypeStruct(shape, dtype)


def zeros_like(tree):
    return jax.tree.map(lambda s: jax.ShapeDtypeStruct(s.shape, s.dtype), tree)


def norm(x, g=None, eps=1e-5):
    y = x * lax.rsqrt((x * x).mean(-1, keepdims=True) + eps)
    return y if g is None else y * g


def layer_norm(x, g, b):
    m = x.mean(-1, keepdims=True)
    v = ((x - m) ** 2).mean(-1, keepdims=True)
    return (x - m) * lax.rsqrt(v + 1e-5) * g + b


def rope(x, position):
    half = x.shape[-1] // 2
    angle = position[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    sin, cos = jnp.sin(angle)[:, None], jnp.cos(angle)[:, None]
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], -1)


def cross_entropy(logits, labels):
    logp = jax.nn.log_softmax(logits.astype(jnp.float32))
    return -jnp.take_along_axis(logp, labels[..., None], -1).mean()


def cross_entropy_one_hot(logits, labels):
    return -(jax.nn.one_hot(labels, logits.shape[-1]) * jax.nn.log_softmax(logits)).sum(-1).mean()


# ---------------------------------------------------------------- optimizers: (params, state.., grads) -> (params, state..)
def adam(params, m, v, grads):
    m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, grads)
    v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, grads)
    return jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(v) + 1e-8), params, m, v), m, v


def momentum(params, m, grads):
    m = jax.tree.map(lambda m, g: 0.9 * m + g, m, grads)
    return jax.tree.map(lambda p, m: p - 0.01 * m, params, m), m


def lion(params, m, grads):
    update = jax.tree.map(lambda m, g: jnp.tanh(20.0 * (0.9 * m + 0.1 * g)), m, grads)   # a smooth sign: comparable
    return jax.tree.map(lambda p, u: p - 1e-3 * (u + 0.1 * p), params, update), \
        jax.tree.map(lambda m, g: 0.99 * m + 0.01 * g, m, grads)


def sgd(params, grads):
    return (jax.tree.map(lambda p, g: p - 0.01 * g, params, grads),)


STATES = {adam: 2, momentum: 1, lion: 1, sgd: 0}


def lowered(step, *arguments, donate=(), debug_info=False, **options):
    return jax.jit(step, donate_argnums=donate, keep_unused=True, **options).lower(*arguments).as_text(
        debug_info=debug_info)


def train(loss, params, *data, optimizer=adam, debug_info=False, clip=False):
    """Text of a donating train step of loss(params, *data)."""
    n = STATES[optimizer]

    def step(params, *rest):
        state, data = rest[:n], rest[n:]
        value, grads = jax.value_and_grad(loss)(params, *data)
        if clip:
            size = jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(grads)))
            grads = jax.tree.map(lambda g: g * jnp.minimum(1.0, 1.0 / (size + 1e-6)), grads)
        return (*optimizer(params, *state, grads), value)
    return lowered(step, params, *([zeros_like(params)] * n), *data, donate=tuple(range(n + 1)), debug_info=debug_info)
