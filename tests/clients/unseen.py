"""Train steps that nothing was tuned on when they were written, in plain JAX: experts with a capacity, grouped heads on three axes, an odd
vocabulary tied and factored, an encoder with a decoder, a recurrent network, convolutions by channel.

Each gives (step, args, donate) as models.py does; UNSEEN has the mesh and the share of the unsharded peak that it is to fit in. Plain
JAX, so that they run on the oldest JAX as on the newest. Never imports TOAST.
"""
import jax
import jax.numpy as jnp
import models
import numpy as np


def descend(loss_of, rate=0.05):
    """a step of gradient descent with momentum on loss_of(params, *batch)"""
    def step(state, *batch):
        params, momentum = state
        loss, grads = jax.value_and_grad(loss_of)(params, *batch)
        momentum = jax.tree_util.tree_map(lambda m, g: 0.9 * m + g, momentum, grads)
        return (jax.tree_util.tree_map(lambda p, m: p - rate * m, params, momentum), momentum), loss
    return step


def with_momentum(params):
    return params, jax.tree_util.tree_map(jnp.zeros_like, params)


def integers(seed, most, *shape):
    return jnp.asarray(np.random.default_rng(seed).integers(0, most, shape), jnp.int32)


def log_loss(logits, labels):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1))


# ---------------------------------------------------------------- two experts a token, a capacity that nothing divides
def experts():
    normal = models.random_of(21)
    width, hidden, count, capacity, layers = 64, 192, 8, 37, 2

    def layer(x, p):
        gates = jax.nn.softmax(x @ p["gate"])
        best, which = jax.lax.top_k(gates, 2)
        chosen = jax.nn.one_hot(which, count)                                             # token, choice, expert
        place = (jnp.cumsum(chosen.reshape(-1, count), 0) - 1).reshape(chosen.shape)
        kept = chosen * (place < capacity)
        slot = jax.nn.one_hot((place * chosen).sum(-1).astype(jnp.int32), capacity)       # token, choice, place
        sent = jnp.einsum("tke,tkc->tec", kept, slot)
        back = jnp.einsum("tk,tke,tkc->tec", best, kept, slot)
        inside = jnp.einsum("td,tec->ecd", x, sent)
        out = jnp.einsum("ecf,efd->ecd", jax.nn.silu(jnp.einsum("ecd,edf->ecf", inside, p["up"])), p["down"])
        return x + jnp.einsum("ecd,tec->td", out, back)

    def loss_of(params, x, y):
        for p in params["layers"]:
            x = layer(x, p)
        return log_loss(x @ params["head"], y)

    params = {"layers": [{"gate": normal(width, count), "up": normal(count, width, hidden), "down": normal(count, hidden, width)}
                         for _ in range(layers)], "head": normal(width, 100)}
    return descend(loss_of), (with_momentum(params), normal(128, width, scale=1.0), integers(22, 100, 128)), (0,)


# ---------------------------------------------------------------- rotary positions, grouped heads, gated units
def rotated(x):
    length, half = x.shape[1], x.shape[-1] // 2
    angle = jnp.arange(length)[:, None] * 10000.0 ** (-jnp.arange(half) / half)
    cos, sin = jnp.cos(angle)[None, :, None], jnp.sin(angle)[None, :, None]
    a, b = x[..., :half], x[..., half:]
    return jnp.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def grouped_heads():
    normal = models.random_of(23)
    width, heads, groups, size, layers, vocabulary, batch, length = 128, 8, 2, 16, 2, 768, 16, 48

    def attention(x, p):
        q = rotated((x @ p["q"]).reshape(*x.shape[:2], heads, size)).reshape(*x.shape[:2], groups, heads // groups, size)
        k, v = (y.reshape(*x.shape[:2], groups, size) for y in (x @ p["k"], x @ p["v"]))
        scores = jnp.einsum("bqghd,bkgd->bghqk", q, rotated(k)) / 4.0
        scores = jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9)
        return jnp.einsum("bghqk,bkgd->bqghd", jax.nn.softmax(scores), v).reshape(*x.shape[:2], heads * size) @ p["o"]

    def loss_of(params, tokens):
        x = params["embed"][tokens[:, :-1]]
        for p in params["layers"]:
            x = x + attention(models.norm(x, p["n1"]), p)
            y = models.norm(x, p["n2"])
            x = x + (jax.nn.silu(y @ p["gate"]) * (y @ p["up"])) @ p["down"]
        return log_loss(models.norm(x, params["n"]) @ params["head"], tokens[:, 1:])

    def layer():
        return {"q": normal(width, heads * size), "k": normal(width, groups * size), "v": normal(width, groups * size),
                "o": normal(heads * size, width), "gate": normal(width, 352), "up": normal(width, 352), "down": normal(352, width),
                "n1": jnp.ones(width), "n2": jnp.ones(width)}

    params = {"embed": normal(vocabulary, width), "layers": [layer() for _ in range(layers)], "n": jnp.ones(width),
              "head": normal(width, vocabulary)}

    def step(state, tokens):
        loss, grads = jax.value_and_grad(loss_of)(state["params"], tokens)
        params, m, v, count = models.adam(state["params"], grads, state["m"], state["v"], state["count"])
        return {"params": params, "m": m, "v": v, "count": count}, loss
    state = {"params": params, "m": jax.tree_util.tree_map(jnp.zeros_like, params), "v": jax.tree_util.tree_map(jnp.zeros_like, params),
             "count": jnp.zeros((), jnp.float32)}
    return step, (state, integers(24, vocabulary, batch, length + 1)), (0,)


# ---------------------------------------------------------------- the embedding is the output, moments by row and column
def factored(params, grads, rows, columns, rate=1e-2):
    """a step by second moments that are a row's times a column's mean; vectors by their own"""
    def one(p, g, r, c):
        square = g * g + 1e-30
        if p.ndim < 2:
            r = 0.9 * r + 0.1 * square
            return p - rate * g * jax.lax.rsqrt(r), r, c
        r, c = 0.9 * r + 0.1 * square.mean(-1), 0.9 * c + 0.1 * square.mean(-2)
        update = g * jax.lax.rsqrt(r / r.mean(-1, keepdims=True))[..., None] * jax.lax.rsqrt(c)[..., None, :]
        return p - rate * update / jnp.maximum(1.0, jnp.sqrt(jnp.mean(update * update))), r, c
    out = jax.tree_util.tree_map(one, params, grads, rows, columns)
    return jax.tree_util.tree_transpose(jax.tree_util.tree_structure(params), jax.tree_util.tree_structure((0, 0, 0)), out)


def tied_odd():
    normal = models.random_of(25)
    width, layers, vocabulary, batch, length = 96, 2, 50257, 8, 32
    params = models.gpt_params(normal, layers, width, vocabulary)
    del params["head"]

    def loss_of(params, tokens):
        return models.gpt_loss(dict(params, head=params["embed"].T), tokens, 4)

    def step(state, tokens):
        params, rows, columns = state
        loss, grads = jax.value_and_grad(loss_of)(params, tokens)
        return factored(params, grads, rows, columns), loss
    rows = jax.tree_util.tree_map(lambda p: jnp.zeros(p.shape[:1] if p.ndim > 1 else p.shape), params)
    columns = jax.tree_util.tree_map(lambda p: jnp.zeros(p.shape[1:] if p.ndim > 1 else ()), params)
    return step, ((params, rows, columns), integers(26, vocabulary, batch, length + 1)), (0,)


# ---------------------------------------------------------------- an encoder whose last layer a decoder reads
def encoder_decoder():
    normal = models.random_of(27)
    width, heads, layers, vocabulary, batch, source, target = 96, 6, 2, 600, 16, 40, 24

    def attention(x, y, p, mask=None):
        q, k, v = ((a @ p[w]).reshape(*a.shape[:2], heads, width // heads) for a, w in ((x, "q"), (y, "k"), (y, "v")))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width // heads)
        if mask is not None:
            scores = jnp.where(mask, scores, -1e9)
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores), v).reshape(x.shape) @ p["o"]

    def feed(x, p):
        return jax.nn.relu(x @ p["w1"] + p["b1"]) @ p["w2"] + p["b2"]

    def loss_of(params, source_tokens, target_tokens):
        x = params["embed"][source_tokens] + params["places"][:source]
        for p in params["encoder"]:
            y = models.norm(x, p["n1"])
            x = x + attention(y, y, p["self"])
            x = x + feed(models.norm(x, p["n2"]), p)
        z = params["embed"][target_tokens[:, :-1]] + params["places"][:target]
        for p in params["decoder"]:
            y = models.norm(z, p["n1"])
            z = z + attention(y, y, p["self"], jnp.tril(jnp.ones((target, target), bool)))
            z = z + attention(models.norm(z, p["n3"]), x, p["cross"])
            z = z + feed(models.norm(z, p["n2"]), p)
        return log_loss(z @ params["head"], target_tokens[:, 1:])

    def projections():
        return {name: normal(width, width) for name in "qkvo"}

    def layer(decoder):
        made = {"self": projections(), "w1": normal(width, 4 * width), "b1": jnp.zeros(4 * width), "w2": normal(4 * width, width),
                "b2": jnp.zeros(width), "n1": jnp.ones(width), "n2": jnp.ones(width)}
        return dict(made, cross=projections(), n3=jnp.ones(width)) if decoder else made

    params = {"embed": normal(vocabulary, width), "places": normal(source, width), "encoder": [layer(False) for _ in range(layers)],
              "decoder": [layer(True) for _ in range(layers)], "head": normal(width, vocabulary)}
    tokens = integers(28, vocabulary, batch, source), integers(29, vocabulary, batch, target + 1)
    return descend(loss_of), (with_momentum(params), *tokens), (0,)


# ---------------------------------------------------------------- two recurrent layers over time
def recurrent():
    normal = models.random_of(30)
    width, vocabulary, batch, length = 128, 320, 32, 20

    def cell(carry, x, p):
        h, c = carry
        i, f, g, o = jnp.split(x @ p["w"] + h @ p["u"] + p["b"], 4, -1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), h

    def loss_of(params, tokens):
        x = params["embed"][tokens[:, :-1]].swapaxes(0, 1)
        for p in params["layers"]:
            start = jnp.zeros((batch, width)), jnp.zeros((batch, width))
            _, x = jax.lax.scan(lambda carry, each, p=p: cell(carry, each, p), start, x)
        return log_loss(x.swapaxes(0, 1) @ params["head"], tokens[:, 1:])

    params = {"embed": normal(vocabulary, width), "head": normal(width, vocabulary),
              "layers": [{"w": normal(width, 4 * width), "u": normal(width, 4 * width), "b": jnp.zeros(4 * width)} for _ in range(2)]}
    return descend(loss_of), (with_momentum(params), integers(31, vocabulary, batch, length + 1)), (0,)


# ---------------------------------------------------------------- convolutions by channel, then over channels, and a hidden layer
def separable():
    normal = models.random_of(32)
    width, channels, hidden, classes, batch, side = 16, 64, 256, 10, 32, 16
    dims = ("NHWC", "HWIO", "NHWC")

    def by_channel(x, p, channels):
        y = jax.lax.conv_general_dilated(x, p["each"], (1, 1), "SAME", dimension_numbers=dims, feature_group_count=channels)
        return jax.nn.relu(jax.lax.conv_general_dilated(y, p["over"], (1, 1), "SAME", dimension_numbers=dims))

    def loss_of(params, x, y):
        for p, count in zip(params["blocks"], (width, channels), strict=True):
            x = by_channel(x, p, count)
        x = jax.nn.relu(x.mean((1, 2)) @ params["up"])
        return log_loss(x @ params["head"], y)

    params = {"blocks": [{"each": normal(3, 3, 1, i), "over": normal(1, 1, i, o)} for i, o in ((width, channels), (channels, 2 * channels))],
              "up": normal(2 * channels, hidden), "head": normal(hidden, classes)}
    return descend(loss_of), (with_momentum(params), normal(batch, side, side, width, scale=1.0), integers(33, classes, batch)), (0,)


FOUR_TWO = {"data": 4, "model": 2}
# Into 0.4 of the memory "tied 50257" fits with its arguments whole, and one use of the embedding reads it split; into 0.3 state has to be split.
UNSEEN = {"experts with a capacity": (experts, {"data": 2, "model": 4}, 0.4), "grouped heads, three axes": (grouped_heads, {"a": 2, "b": 2, "c": 2}, 0.4),
          "tied 50257, factored moments": (tied_odd, FOUR_TWO, 0.4), "encoder and decoder": (encoder_decoder, FOUR_TWO, 0.4, 1.1, 1.12),
          "recurrent": (recurrent, FOUR_TWO, 0.5), "convolutions by channel": (separable, FOUR_TWO, 0.4)}
