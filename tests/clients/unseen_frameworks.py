"""Train steps that nothing was tuned on when they were written, of frameworks: a linen convnet with batch norms, scanned linen blocks under
remat with adafactor, an nnx transformer, equinox's own attention, a haiku mixer.

Each gives (step, args, donate) as models.py does; UNSEEN as unseen.py's. Never imports TOAST.
"""
import equinox
import flax.linen as linen
import frameworks
import haiku
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from unseen import FOUR_TWO, integers


def images(batch=32, side=16, classes=50):
    rng = np.random.default_rng(41)
    return jnp.asarray(rng.standard_normal((batch, side, side, 3)), jnp.float32), integers(42, classes, batch)


# ---------------------------------------------------------------- convolutions and batch norms
class Residual(linen.Module):
    features: int
    stride: int = 1

    @linen.compact
    def __call__(self, x):
        y = linen.Conv(self.features, (3, 3), self.stride, use_bias=False)(x)
        y = linen.relu(linen.BatchNorm(use_running_average=False)(y))
        y = linen.BatchNorm(use_running_average=False)(linen.Conv(self.features, (3, 3), use_bias=False)(y))
        if x.shape != y.shape:
            x = linen.Conv(self.features, (1, 1), self.stride, use_bias=False)(x)
        return linen.relu(x + y)


class Convnet(linen.Module):
    @linen.compact
    def __call__(self, x):
        x = linen.Conv(32, (3, 3))(x)
        for features, stride in ((32, 1), (64, 2), (128, 2)):
            x = Residual(features, stride)(x)
        return linen.Dense(50)(x.mean((1, 2)))


def convnet():
    model, (x, y) = Convnet(), images()
    made = jax.jit(model.init)(jax.random.key(0), x)
    optimizer = optax.sgd(1e-2, momentum=0.9, nesterov=True)

    def step(state, x, y):
        params, statistics, memory = state

        def loss_of(params):
            logits, rest = model.apply({"params": params, "batch_stats": statistics}, x, mutable=["batch_stats"])
            return frameworks.cross_entropy(logits, y), rest["batch_stats"]
        (loss, statistics), grads = jax.value_and_grad(loss_of, has_aux=True)(params)
        updates, memory = optimizer.update(grads, memory, params)
        return (optax.apply_updates(params, updates), statistics, memory), loss
    return step, ((made["params"], made["batch_stats"], optimizer.init(made["params"])), x, y), (0,)


# ---------------------------------------------------------------- blocks in nn.scan, remat, adafactor
class Block(linen.Module):
    @linen.compact
    def __call__(self, x, _):
        y = linen.LayerNorm()(x)
        x = x + linen.MultiHeadDotProductAttention(4)(y, y)
        return x + linen.Dense(x.shape[-1])(linen.gelu(linen.Dense(3 * x.shape[-1])(linen.RMSNorm()(x)))), None


class Deep(linen.Module):
    @linen.compact
    def __call__(self, tokens):
        x = linen.Embed(400, 64)(tokens)
        blocks = linen.scan(linen.remat(Block, prevent_cse=False), variable_axes={"params": 0}, split_rngs={"params": True}, length=4)
        x, _ = blocks()(x, None)
        return linen.Dense(400)(linen.LayerNorm()(x))


def tokens_step(apply, params, optimizer, vocabulary, batch=16, length=32):
    """(step, args, donate): next tokens' log loss of apply(params, tokens)"""
    def step(state, tokens):
        params, memory = state
        loss, grads = jax.value_and_grad(lambda p: frameworks.cross_entropy(apply(p, tokens[:, :-1]), tokens[:, 1:]))(params)
        updates, memory = optimizer.update(grads, memory, params)
        return (optax.apply_updates(params, updates), memory), loss
    return step, ((params, optimizer.init(params)), integers(43, vocabulary, batch, length + 1)), (0,)


def deep_adafactor():
    model = Deep()
    params = jax.jit(model.init)(jax.random.key(1), jnp.zeros((1, 32), jnp.int32))
    return tokens_step(model.apply, params, optax.adafactor(1e-3, min_dim_size_to_factor=32), 400)


# ---------------------------------------------------------------- flax nnx
class NnxBlock(nnx.Module):
    def __init__(self, width, rngs):
        self.norm = nnx.RMSNorm(width, rngs=rngs)
        self.attention = nnx.MultiHeadAttention(4, width, decode=False, rngs=rngs)
        self.other = nnx.LayerNorm(width, rngs=rngs)
        self.up = nnx.Linear(width, 4 * width, rngs=rngs)
        self.down = nnx.Linear(4 * width, width, rngs=rngs)

    def __call__(self, x):
        x = x + self.attention(self.norm(x), mask=nnx.make_causal_mask(x[..., 0]))
        return x + self.down(jax.nn.silu(self.up(self.other(x))))


class NnxNetwork(nnx.Module):
    def __init__(self, rngs):
        self.embed = nnx.Embed(640, 96, rngs=rngs)
        self.first, self.second = NnxBlock(96, rngs), NnxBlock(96, rngs)

    def __call__(self, tokens):
        return self.embed.attend(self.second(self.first(self.embed(tokens))))


def nnx_attention():
    graph, params = nnx.split(NnxNetwork(nnx.Rngs(2)))
    return tokens_step(lambda p, tokens: nnx.merge(graph, p)(tokens), params, optax.adamw(1e-3, eps=1e-5), 640)


# ---------------------------------------------------------------- equinox
class EquinoxBlock(equinox.Module):
    attention: equinox.nn.MultiheadAttention
    norm: equinox.nn.LayerNorm
    mlp: equinox.nn.MLP

    def __init__(self, width, key):
        first, second = jax.random.split(key)
        self.attention = equinox.nn.MultiheadAttention(4, width, key=first)
        self.norm = equinox.nn.LayerNorm(width)
        self.mlp = equinox.nn.MLP(width, width, 4 * width, 1, activation=jax.nn.gelu, key=second)

    def __call__(self, x):
        y = jax.vmap(self.norm)(x)
        x = x + self.attention(y, y, y)
        return x + jax.vmap(self.mlp)(x)


def equinox_attention():
    keys = jax.random.split(jax.random.key(3), 4)
    model = (equinox.nn.Embedding(512, 64, key=keys[0]), EquinoxBlock(64, keys[1]), EquinoxBlock(64, keys[2]),
             equinox.nn.Linear(64, 512, key=keys[3]))
    params, rest = equinox.partition(model, equinox.is_array)

    def apply(params, tokens):
        embed, first, second, head = equinox.combine(params, rest)
        return jax.vmap(lambda line: jax.vmap(head)(second(first(jax.vmap(embed)(line)))))(tokens)
    return tokens_step(apply, params, optax.adamw(1e-3, eps=1e-5), 512)


# ---------------------------------------------------------------- haiku: rows and columns of patches mixed in turn
def mixer():
    def network(x):
        batch = x.shape[0]
        x = haiku.Conv2D(96, 4, 4)(x).reshape(batch, -1, 96)
        for _ in range(2):
            y = haiku.LayerNorm(-1, True, True)(x).swapaxes(1, 2)
            x = x + haiku.Linear(y.shape[-1])(jax.nn.gelu(haiku.Linear(64)(y))).swapaxes(1, 2)
            y = haiku.LayerNorm(-1, True, True)(x)
            x = x + haiku.Linear(96)(jax.nn.gelu(haiku.Linear(384)(y)))
        return haiku.Linear(50)(x.mean(1))

    model, (x, y) = haiku.without_apply_rng(haiku.transform(network)), images(side=32)
    params = jax.jit(model.init)(jax.random.PRNGKey(4), x)
    optimizer = optax.adamw(1e-3, eps=1e-5)

    def step(state, x, y):
        params, memory = state
        loss, grads = jax.value_and_grad(lambda p: frameworks.cross_entropy(model.apply(p, x), y))(params)
        updates, memory = optimizer.update(grads, memory, params)
        return (optax.apply_updates(params, updates), memory), loss
    return step, ((params, optimizer.init(params)), x, y), (0,)


# The gradients of the convnet's two branches are convolutions that leave partial sums: XLA reduces each. With the list alone XLA computes
# in parts with layers' weights that the plan gathers in every turn of a scan, which our model of it does not see (docs/forms.md, both).
UNSEEN = {"linen convnet, batch norms": (convnet, FOUR_TWO, 0.4, 1.3),
          "linen scan, remat, adafactor": (deep_adafactor, FOUR_TWO, 0.3, 1.1, 2.6),
          "nnx attention, tied": (nnx_attention, {"data": 2, "model": 4}, 0.4),
          "equinox attention": (equinox_attention, FOUR_TWO, 0.4), "haiku mixer": (mixer, FOUR_TWO, 0.4)}
