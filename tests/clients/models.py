"""Models of the clients' tests, in plain JAX: an MLP, a GPT with Adam by hand, a scanned and a rematerialised network.

Each entry gives (step, args, donate): step(*args) -> (new state .., loss). Promises: the same seed gives the same numbers.
Never imports TOAST.
"""
import functools

import jax
import jax.numpy as jnp
import numpy as np


def random_of(seed=0):
    rng = np.random.default_rng(seed)
    return lambda *shape, scale=0.1: jnp.asarray(rng.standard_normal(shape) * scale, jnp.float32)


# ---------------------------------------------------------------- MLP, SGD, an argument that nobody uses
def mlp():
    normal = random_of(1)

    def step(params, unused, x, y):
        def loss_of(p):
            hidden = jnp.tanh(x @ p["w1"] + p["b1"])
            return jnp.mean((hidden @ p["w2"] - y) ** 2)
        loss, grads = jax.value_and_grad(loss_of)(params)
        return jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads), loss

    params = {"w1": normal(64, 512), "b1": normal(512), "w2": normal(512, 64)}
    return step, (params, normal(3), normal(256, 64), normal(256, 64)), (0,)


# ---------------------------------------------------------------- GPT, Adam by hand
def attention(x, p, heads):
    batch, length, width = x.shape
    split = lambda y: y.reshape(batch, length, heads, width // heads)      # noqa: E731
    q, k, v = split(x @ p["wq"]), split(x @ p["wk"]), split(x @ p["wv"])
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width // heads)
    scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
    mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v)
    return mixed.reshape(batch, length, width) @ p["wo"]


def norm(x, scale):
    return x * jax.lax.rsqrt(jnp.mean(x * x, -1, keepdims=True) + 1e-6) * scale


def block(x, p, heads):
    x = x + attention(norm(x, p["n1"]), p, heads)
    return x + jax.nn.gelu(norm(x, p["n2"]) @ p["up"]) @ p["down"]


def gpt_params(normal, layers, width, vocabulary):
    def layer():
        return {"wq": normal(width, width), "wk": normal(width, width), "wv": normal(width, width), "wo": normal(width, width),
                "up": normal(width, 4 * width), "down": normal(4 * width, width), "n1": jnp.ones(width), "n2": jnp.ones(width)}
    return {"embed": normal(vocabulary, width), "layers": [layer() for _ in range(layers)], "head": normal(width, vocabulary)}


def gpt_loss(params, tokens, heads, run=block):
    x = params["embed"][tokens[:, :-1]]
    for p in params["layers"]:
        x = run(x, p, heads)
    logits = jax.nn.log_softmax(x @ params["head"])
    return -jnp.mean(jnp.take_along_axis(logits, tokens[:, 1:, None], -1))


def adam(params, grads, m, v, count):
    count = count + 1
    m = jax.tree_util.tree_map(lambda a, g: 0.9 * a + 0.1 * g, m, grads)
    v = jax.tree_util.tree_map(lambda a, g: 0.99 * a + 0.01 * g * g, v, grads)
    rate = 1e-2 * jnp.sqrt(1 - 0.99 ** count) / (1 - 0.9 ** count)
    params = jax.tree_util.tree_map(lambda p, a, b: p - rate * a / (jnp.sqrt(b) + 1e-6), params, m, v)
    return params, m, v, count


def gpt(layers=2, width=128, vocabulary=1024, batch=16, length=64, run=block):
    normal = random_of(2)
    params = gpt_params(normal, layers, width, vocabulary)
    tokens = jnp.asarray(np.random.default_rng(3).integers(0, vocabulary, (batch, length + 1)), jnp.int32)

    def step(state, tokens):
        loss, grads = jax.value_and_grad(gpt_loss)(state["params"], tokens, 4, run)
        params, m, v, count = adam(state["params"], grads, state["m"], state["v"], state["count"])
        return {"params": params, "m": m, "v": v, "count": count}, loss

    zeros = jax.tree_util.tree_map(jnp.zeros_like, params)
    state = {"params": params, "m": zeros, "v": jax.tree_util.tree_map(jnp.copy, zeros), "count": jnp.zeros((), jnp.float32)}
    return step, (state, tokens), (0,)


def gpt_remat():
    return gpt(run=jax.checkpoint(block, static_argnums=2))


# ---------------------------------------------------------------- layers in a scan, a PRNG key as an argument
def scanned():
    normal = random_of(4)
    width, layers = 128, 4

    def step(params, key, x):
        mask = jax.random.bernoulli(key, 0.9, x.shape)

        def loss_of(p):
            def layer(h, w):
                return jnp.tanh(h @ w["a"]) @ w["b"] + h, None
            h, _ = jax.lax.scan(layer, jnp.where(mask, x, 0.0), p)
            return jnp.mean(h * h)
        loss, grads = jax.value_and_grad(loss_of)(params)
        return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), loss

    params = {"a": normal(layers, width, 4 * width), "b": normal(layers, 4 * width, width)}
    return step, (params, jax.random.key(7), normal(64, width, scale=1.0)), (0,)


# ---------------------------------------------------------------- the layers of a GPT in a scan
def gpt_scanned(remat):
    normal = random_of(5)
    layers, width, batch, length = 4, 64, 8, 64
    shapes = {"wq": (width, width), "wk": (width, width), "wv": (width, width), "wo": (width, width), "up": (width, 4 * width),
              "down": (4 * width, width)}
    params = {name: normal(layers, *shape) for name, shape in shapes.items()} | {name: jnp.ones((layers, width)) for name in ("n1", "n2")}

    def step(params, x):
        def loss_of(p):
            layer = lambda h, w: (block(h, w, 4), None)     # noqa: E731
            h, _ = jax.lax.scan(jax.checkpoint(layer) if remat else layer, x, p)
            return jnp.mean(h * h)
        loss, grads = jax.value_and_grad(loss_of)(params)
        return jax.tree_util.tree_map(lambda p, g: p - 0.01 * g, params, grads), loss

    return step, (params, normal(batch, length, width)), (0,)


MODELS = {"mlp": mlp, "gpt": functools.partial(gpt), "gpt_remat": gpt_remat, "scanned": scanned}
