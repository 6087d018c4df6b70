"""Train steps of the frameworks' tests: flax linen, flax nnx, equinox, haiku, optax with adam and adafactor.

Each gives (step, args, donate) as models.py does. Small networks, random tokens or vectors. Never imports TOAST.
"""
import equinox
import flax.linen as linen
import haiku
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

WIDTH, CLASSES, BATCH = 128, 512, 64


def batch():
    rng = np.random.default_rng(5)
    return jnp.asarray(rng.standard_normal((BATCH, WIDTH)), jnp.float32), jnp.asarray(rng.integers(0, CLASSES, BATCH), jnp.int32)


def cross_entropy(logits, labels):
    return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()


def train(loss_of, params, optimizer):
    """(step, args, donate) of a loss of (params, x, y)"""
    def step(state, x, y):
        params, memory = state
        loss, grads = jax.value_and_grad(loss_of)(params, x, y)
        updates, memory = optimizer.update(grads, memory, params)
        return (optax.apply_updates(params, updates), memory), loss
    return step, ((params, optimizer.init(params)), *batch()), (0,)


class Linen(linen.Module):
    @linen.compact
    def __call__(self, x):
        for k in range(2):
            y = linen.gelu(linen.Dense(4 * WIDTH, name=f"up_{k}")(linen.LayerNorm()(x)))
            x = x + linen.Dense(WIDTH, name=f"down_{k}")(y)
        return linen.Dense(CLASSES, name="head")(x)


def flax_linen(optimizer=None):
    model = Linen()
    params = jax.jit(model.init)(jax.random.key(0), batch()[0])
    return train(lambda p, x, y: cross_entropy(model.apply(p, x), y), params, optimizer or optax.adam(1e-3, eps=1e-5))


def optax_adafactor():
    return flax_linen(optax.adafactor(1e-3, min_dim_size_to_factor=32))


class Nnx(nnx.Module):
    def __init__(self, rngs):
        self.up = nnx.Linear(WIDTH, 4 * WIDTH, rngs=rngs)
        self.down = nnx.Linear(4 * WIDTH, WIDTH, rngs=rngs)
        self.norm = nnx.LayerNorm(WIDTH, rngs=rngs)
        self.head = nnx.Linear(WIDTH, CLASSES, rngs=rngs)

    def __call__(self, x):
        return self.head(x + self.down(nnx.gelu(self.up(self.norm(x)))))


def flax_nnx():
    graph, params = nnx.split(Nnx(nnx.Rngs(0)))
    return train(lambda p, x, y: cross_entropy(nnx.merge(graph, p)(x), y), params, optax.adam(1e-3, eps=1e-5))


def equinox_mlp():
    model = equinox.nn.MLP(WIDTH, CLASSES, 4 * WIDTH, 2, key=jax.random.key(1))
    params, rest = equinox.partition(model, equinox.is_array)
    return train(lambda p, x, y: cross_entropy(jax.vmap(equinox.combine(p, rest))(x), y), params, optax.sgd(1e-2, momentum=0.9))


def haiku_mlp():
    model = haiku.without_apply_rng(haiku.transform(lambda x: haiku.nets.MLP([4 * WIDTH, WIDTH, CLASSES])(x)))
    params = jax.jit(model.init)(jax.random.PRNGKey(2), batch()[0])
    return train(lambda p, x, y: cross_entropy(model.apply(p, x), y), params, optax.adamw(1e-3, eps=1e-5))


FRAMEWORKS = {"flax_linen": flax_linen, "optax_adafactor": optax_adafactor, "flax_nnx": flax_nnx, "equinox": equinox_mlp,
              "haiku": haiku_mlp}
