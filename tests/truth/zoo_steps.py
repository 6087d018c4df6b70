"""Models of the zoo, third part: steps as people write them that donate nothing, return gradients, train within a loop."""
import jax
import jax.numpy as jnp
from jax import lax

from zoo_common import adam, bf16, cross_entropy, f32, i32, lowered, norm, train, typed


def block(h, w):
    """one layer: causal attention of four heads, feed-forward"""
    length = h.shape[1]
    q, k, v = [(norm(h) @ w[n]).reshape(*h.shape[:2], 4, -1) for n in "qkv"]
    scores = jnp.einsum("bqhd,bkhd->bhqk", q, k)
    p = jax.nn.softmax(jnp.where(jnp.tril(jnp.ones((length, length), bool)), scores, -1e9))
    h = h + jnp.einsum("bhqk,bkhd->bqhd", p, v).reshape(h.shape) @ w["o"]
    return h + jax.nn.gelu(norm(h) @ w["a"]) @ w["b"]


def weights(D, layers, stacked=False):
    n = (layers,) if stacked else ()
    layer = dict(q=f32(*n, D, D), k=f32(*n, D, D), v=f32(*n, D, D), o=f32(*n, D, D), a=f32(*n, D, 4 * D), b=f32(*n, 4 * D, D))
    return dict(e=f32(4 * D, D), l=layer if stacked else [layer] * layers)


def token_loss(p, x):
    h = p["e"][x]
    for w in p["l"]:
        h = block(h, w)
    return cross_entropy(h @ p["e"].T, x)


def norm_of(grads):
    return jnp.sqrt(sum((g * g).sum() for g in jax.tree.leaves(grads)))


def gradients(k):
    """loss, norm and gradients, nothing updated"""
    def step(p, x):
        loss, g = jax.value_and_grad(token_loss)(p, x)
        return loss, norm_of(g), g
    return lowered(step, weights(16 * k, 2), i32(8, 8))


def undonated(k):
    """Adam without donation; the norm of the gradient is returned"""
    def step(p, m, v, x, y):
        loss, g = jax.value_and_grad(lambda p: ((jnp.tanh(x @ p["a"]) @ p["b"] - y) ** 2).mean())(p)
        m = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, m, g)
        v = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, v, g)
        p = jax.tree.map(lambda p, m, v: p - 1e-3 * m / (jnp.sqrt(jnp.abs(v)) + 1e-3), p, m, v)
        return dict(loss=loss, norm=norm_of(g)), p, m, v
    p = dict(a=f32(16 * k, 32 * k), b=f32(32 * k, 8 * k))
    return lowered(step, p, p, p, f32(16, 16 * k), f32(16, 8 * k))


def class_token(k):
    """a row of the weights stands before the examples', and the one matrix for queries, keys and values meets both; plain SGD"""
    def loss(p, x, y):
        t = jnp.concatenate([jnp.broadcast_to(p["cls"], (x.shape[0], 1, 16 * k)), x @ p["embed"]], axis=1)
        q, key, v = jnp.moveaxis((t @ p["qkv"]).reshape(*t.shape[:2], 3, 2, 8 * k), 2, 0)
        scores = jax.nn.softmax(jnp.einsum("bihd,bjhd->bhij", q, key))
        out = jnp.einsum("bhij,bjhd->bihd", scores, v).reshape(t.shape) @ p["o"]
        return (((t + out)[:, 0] @ p["head"] - y) ** 2).mean()

    def step(p, x, y):
        value, g = jax.value_and_grad(loss)(p, x, y)
        return jax.tree.map(lambda w, d: w - 0.1 * d, p, g), value
    d = 16 * k
    return lowered(step, dict(cls=f32(1, 1, d), embed=f32(12, d), head=f32(d, 10), o=f32(d, d), qkv=f32(d, 3 * d)), f32(32, 9, 12), f32(32, 10))


def muon_scan(k):
    """scanned layers, all momenta orthogonalised at once: no moments that no contraction is fed with"""
    def orthogonal(g):
        x = g / (jnp.linalg.norm(g, axis=(-2, -1), keepdims=True) + 1e-7)
        for _ in range(3):
            a = x @ x.swapaxes(-1, -2)
            x = 1.5 * x - 0.5 * a @ x
        return x

    def step(p, m, x):
        def loss(p):
            return (lax.scan(lambda h, w: (jnp.tanh(h @ w) + h, None), x, p)[0] ** 2).mean()
        value, g = jax.value_and_grad(loss)(p)
        m = 0.9 * m + g
        return p - 0.02 * orthogonal(m), m, value
    return lowered(step, f32(4, 16 * k, 16 * k), f32(4, 16 * k, 16 * k), f32(8, 16 * k), donate=(0, 1))


def trained_in_loop(k):
    """several batches in one module, plain SGD"""
    def step(p, xs, ys):
        def one(p, batch):
            x, y = batch
            loss, g = jax.value_and_grad(lambda p: ((jnp.tanh(x @ p["a"]) @ p["b"] - y) ** 2).mean())(p)
            return jax.tree.map(lambda p, g: p - 0.1 * g, p, g), loss
        return lax.scan(one, p, (xs, ys))
    p = dict(a=f32(16 * k, 32 * k), b=f32(32 * k, 8 * k))
    return lowered(step, p, f32(4, 8, 16 * k), f32(4, 8, 8 * k), donate=(0,))


def moe_sorted(k):
    """experts without capacity: tokens sorted by expert, gathered, scattered back; between attention and logits"""
    E, D, F = 4, 16 * k, 32 * k

    def loss(p, x, y):
        h = block(p["e"][x], p["l"])
        t = h.reshape(-1, D)
        w, e = lax.top_k(jax.nn.softmax(t @ p["r"]), 2)
        order = jnp.argsort(e.reshape(-1))
        expert, token = e.reshape(-1)[order], order // 2
        position = jnp.arange(expert.size) - jnp.searchsorted(expert, jnp.arange(E))[expert]
        rows = jnp.zeros((E, expert.size, D)).at[expert, position].set(t[token])
        rows = jnp.einsum("ecf,efd->ecd", jax.nn.silu(jnp.einsum("ecd,edf->ecf", rows, p["up"])), p["down"])
        out = jnp.zeros_like(t).at[token].add(rows[expert, position] * w.reshape(-1)[order][:, None])
        return cross_entropy((h + out.reshape(h.shape)) @ p["e"].T, y)
    p = dict(e=f32(4 * D, D), l=weights(D, 1)["l"][0], r=f32(D, E), up=f32(E, D, F), down=f32(E, F, D))
    return train(loss, p, i32(8, 8), i32(8, 8))


def complex_layers(k):
    """weights in two real parts, complex activations, Adam"""
    def loss(p, x):
        z = lax.complex(x, jnp.sin(x))
        for re, im in p:
            z = jnp.tanh(z @ lax.complex(re, im))
        return (jnp.abs(z) ** 2).mean()
    return train(loss, [(f32(16 * k, 16 * k), f32(16 * k, 16 * k))] * 2, f32(8, 16 * k))


def dequantized(k):
    """int8 weights with scales of groups, unpacked nibbles, bfloat16; inference"""
    def step(x, w, s, packed, t):
        up = (w.reshape(2, -1, w.shape[-1]).astype(jnp.bfloat16) * s[:, None]).reshape(w.shape)
        low, high = packed & 15, packed >> 4
        down = (jnp.stack([low, high], 1).reshape(-1, packed.shape[-1]).astype(jnp.bfloat16) - 8) * t
        return jax.nn.silu(x @ up) @ down
    return lowered(step, bf16(16, 16 * k), typed(jnp.int8, 16 * k, 64 * k), bf16(2, 64 * k), typed(jnp.uint8, 32 * k, 16 * k),
                   bf16(1, 16 * k))


def coupling_flow(k):
    """affine couplings: halves exchanged, log-determinant, clipped gradients"""
    def loss(p, x):
        det = 0.0
        for a, b in p:
            left, right = jnp.split(x, 2, -1)
            s, t = jnp.split(jnp.tanh(left @ a) @ b, 2, -1)
            x, det = jnp.concatenate([right * jnp.exp(s) + t, left], -1), det + s.sum(-1)
        return (0.5 * (x ** 2).sum(-1) - det).mean()
    return train(loss, [(f32(8 * k, 32 * k), f32(32 * k, 16 * k))] * 2, f32(16, 16 * k), optimizer=adam, clip=True)


MODELS = {"gradients": gradients, "undonated": undonated, "class_token": class_token, "muon_scan": muon_scan, "trained_in_loop": trained_in_loop,
          "moe_sorted": moe_sorted, "complex_layers": complex_layers, "dequantized": dequantized, "coupling_flow": coupling_flow}
