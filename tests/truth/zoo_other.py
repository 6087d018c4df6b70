"""Vision, graphs, tables, numerics of the zoo."""
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from zoo_common import (bf16, cross_entropy, cross_entropy_one_hot, f32, i32, layer_norm, lowered, momentum, norm,
                        sgd, train, typed)

NHWC = ("NHWC", "HWIO", "NHWC")


def conv(x, w, stride=1, groups=1, dilation=1, padding="SAME"):
    return lax.conv_general_dilated(x, w, (stride, stride), padding, rhs_dilation=(dilation, dilation),
                                    dimension_numbers=NHWC, feature_group_count=groups)


def vit(k):
    """patches by convolution, class token, learned positions, exact gelu"""
    B, N, P, D, H, C = 8 * k, 16, 4, 16 * k, 4, 16
    S = (N // P) ** 2 + 1

    def loss(p, images, labels):
        x = conv(images, p["patch"], stride=P, padding="VALID").reshape(B, S - 1, D)
        x = jnp.concatenate([jnp.broadcast_to(p["token"], (B, 1, D)), x], 1) + p["position"]
        for w in p["layers"]:
            y = layer_norm(x, w["g1"], w["b1"])
            q, key, v = ((y @ w[n]).reshape(B, S, H, D // H) for n in ("q", "k", "v"))
            s = jax.nn.softmax(jnp.einsum("bqhk,bshk->bhqs", q, key) / np.sqrt(D // H))
            x = x + jnp.einsum("bhqs,bshk->bqhk", s, v).reshape(B, S, D) @ w["o"]
            x = x + jax.nn.gelu(layer_norm(x, w["g2"], w["b2"]) @ w["w1"] + w["c1"], approximate=False) @ w["w2"]
        return cross_entropy(x[:, 0] @ p["head"], labels)
    layer = {**{n: f32(D) for n in ("g1", "b1", "g2", "b2")}, **{n: f32(D, D) for n in "qkvo"}, "w1": f32(D, 4 * D),
             "c1": f32(4 * D), "w2": f32(4 * D, D)}
    params = {"patch": f32(P, P, 3, D), "token": f32(1, 1, D), "position": f32(S, D), "layers": [layer] * 2, "head": f32(D, C)}
    return train(loss, params, f32(B, N, N, 3), i32(B))


def resnet(k):
    """group, depthwise, dilated, strided convolutions, batch norm with running statistics, SGD momentum"""
    B, N, C = 8 * k, 8, 16 * k

    def bn(x, p, running):
        mean, var = x.mean((0, 1, 2)), x.var((0, 1, 2))
        kept = jax.tree.map(lambda r, n: 0.9 * r + 0.1 * n, running, {"mean": mean, "var": var})
        return (x - mean) * lax.rsqrt(var + 1e-5) * p["g"] + p["b"], kept

    def step(p, m, running, images, labels):
        def loss(p):
            kept = {}
            x = conv(images, p["stem"])
            for name, stride, groups, dilation in (("a", 1, 1, 1), ("b", 2, 8, 1), ("c", 1, C, 1), ("d", 1, 1, 2)):
                y = conv(jax.nn.relu(x), p[name]["w"], stride, groups, dilation)
                y, kept[name] = bn(y, p[name], running[name])
                x = y if stride > 1 else x + y
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").mean((1, 2))
            return cross_entropy_one_hot(x @ p["head"], labels), kept
        (value, kept), g = jax.value_and_grad(loss, has_aux=True)(p)
        return (*momentum(p, m, g), kept, value)
    block = {n: {"w": f32(3, 3, C // g, C), "g": f32(C), "b": f32(C)} for n, g in (("a", 1), ("b", 8), ("c", C), ("d", 1))}
    params = {"stem": f32(3, 3, 3, C), "head": f32(C, 16), **block}
    running = {n: {"mean": f32(C), "var": f32(C)} for n in "abcd"}
    return lowered(step, params, params, running, f32(B, N, N, 3), i32(B), donate=(0, 1, 2))


def conv_mixer(k):
    """depthwise and 1x1 convolutions, a mean over the image, labels picked by index vectors that count"""
    B, N, C, V = 8 * k, 16, 16 * k, 32

    def loss(p, images, labels):
        x = jax.nn.gelu(conv(images, p["stem"], stride=4, padding="VALID"))
        for w in p["layers"]:
            x = x + jax.nn.gelu(conv(x, w["depth"], groups=C)) * w["scale"]
            x = jax.nn.gelu(conv(x, w["point"]))
        logp = jax.nn.log_softmax(x.mean((1, 2)) @ p["head"])
        return -logp[jnp.arange(B), labels].mean()
    layer = {"depth": f32(3, 3, 1, C), "scale": f32(C), "point": f32(1, 1, C, C)}
    return train(loss, {"stem": f32(4, 4, 3, C), "head": f32(C, V), "layers": [layer] * 2}, f32(B, N, N, 3), i32(B))


def diffusion(k):
    """U-Net with time embedding, group norm, attention, transposed convolution; noise drawn in the step"""
    B, N, C = 8 * k, 8, 16 * k

    def group_norm(x):
        y = x.reshape(*x.shape[:-1], 4, x.shape[-1] // 4)
        m, v = y.mean((1, 2, 4), keepdims=True), y.var((1, 2, 4), keepdims=True)
        return ((y - m) * lax.rsqrt(v + 1e-5)).reshape(x.shape)

    def block(p, x, t):
        h = conv(jax.nn.silu(group_norm(x)), p["w1"]) + (t @ p["t"])[:, None, None]
        return conv(jax.nn.silu(group_norm(h)), p["w2"]) + (x if x.shape == h.shape else conv(x, p["skip"]))

    def loss(p, images, key):
        a, b = jax.random.split(jax.random.wrap_key_data(key))
        t, noise = jax.random.uniform(a, (B,)), jax.random.normal(b, images.shape)
        angle = t[:, None] * jnp.exp(-jnp.arange(8.0))
        t_embed = jax.nn.silu(jnp.concatenate([jnp.sin(angle), jnp.cos(angle)], -1) @ p["time"])
        rate = jnp.cos(t * 1.5)[:, None, None, None]
        x = conv(rate * images + jnp.sqrt(1 - rate * rate + 1e-6) * noise, p["stem"])
        x = first = block(p["down"], x, t_embed)
        x = block(p["middle"], conv(x, p["shrink"], stride=2), t_embed)
        y = group_norm(x).reshape(B, -1, C)
        s = jax.nn.softmax(jnp.einsum("bqc,bsc->bqs", y @ p["q"], y @ p["k"]) / np.sqrt(C))
        x = x + ((s @ y) @ p["v"]).reshape(x.shape)
        x = lax.conv_transpose(x, p["grow"], (2, 2), "SAME", dimension_numbers=NHWC)
        x = block(p["up"], jnp.concatenate([x, first], -1), t_embed)
        return ((conv(x, p["out"]) - noise) ** 2).mean()
    res = {"w1": f32(3, 3, C, C), "w2": f32(3, 3, C, C), "t": f32(C, C)}
    params = {"time": f32(16, C), "stem": f32(3, 3, 3, C), "down": res, "middle": res, "shrink": f32(3, 3, C, C),
              "grow": f32(3, 3, C, C), "q": f32(C, C), "k": f32(C, C), "v": f32(C, C), "out": f32(3, 3, C, 3),
              "up": {**res, "w1": f32(3, 3, 2 * C, C), "skip": f32(1, 1, 2 * C, C)}}
    return train(loss, params, f32(B, N, N, 3), typed(jnp.uint32, 2))


def conditioned(k):
    """a diffusion transformer deep enough to be folded: shifts, scales and gates of its norms are made of one embedding; steps are counted"""
    B, S, C, D, H, L = 8 * k, 8 * k, 8, 24 * k, 2, 6

    def plain_norm(x):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-6)

    def layer(x, c, p):
        shift, scale, gate, shift2, scale2, gate2 = jnp.split((jax.nn.silu(c) @ p["ada"])[:, None], 6, -1)
        q, key, v = (t.reshape(B, S, H, D // H) for t in jnp.split((plain_norm(x) * (1 + scale) + shift) @ p["qkv"], 3, -1))
        s = jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, key) / jnp.sqrt(D / H))
        x = x + gate * (jnp.einsum("bhqk,bkhd->bqhd", s, v).reshape(x.shape) @ p["o"])
        return x + gate2 * (jax.nn.gelu((plain_norm(x) * (1 + scale2) + shift2) @ p["up"]) @ p["down"])

    def loss(p, x, t, noise):
        c = jax.nn.silu(jnp.sin(t[:, None] * jnp.exp(-jnp.arange(D) / D)) @ p["t1"]) @ p["t2"]
        x = x @ p["in"]
        for q in p["layers"]:
            x = layer(x, c, q)
        return ((x @ p["out"] - noise) ** 2).mean()

    def step(state, x, t, noise):
        value, grads = jax.value_and_grad(loss)(state["params"], x, t, noise)
        count = state["count"] + 1
        params, m = momentum(state["params"], state["m"], grads)
        return {"params": params, "m": m, "count": count}, value
    each = {"ada": f32(D, 6 * D), "qkv": f32(D, 3 * D), "o": f32(D, D), "up": f32(D, 4 * D), "down": f32(4 * D, D)}
    params = {"t1": f32(D, D), "t2": f32(D, D), "in": f32(C, D), "out": f32(D, C), "layers": [each] * L}
    return lowered(step, {"params": params, "m": params, "count": f32()}, f32(B, S, C), f32(B), f32(B, S, C), donate=(0,))


def masked_autoencoder(k):
    """random masking: argsort of noise, take_along_axis, restored by the inverse permutation"""
    B, S, D = 8 * k, 16, 16 * k

    def loss(p, x, noise):
        order = jnp.argsort(noise, 1)
        back = jnp.argsort(order, 1)
        kept = jnp.take_along_axis(x, order[:, :S // 4, None], 1)
        h = jax.nn.gelu(kept @ p["enc"]) @ p["enc2"]
        full = jnp.concatenate([h, jnp.broadcast_to(p["mask"], (B, S - S // 4, D))], 1)
        y = jnp.take_along_axis(full, back[..., None], 1)
        gone = jnp.take_along_axis(jnp.arange(S)[None] >= S // 4, back, 1)
        return (((y @ p["dec"] - x) ** 2).mean(-1) * gone).sum() / gone.sum()
    return train(loss, {"enc": f32(D, 4 * D), "enc2": f32(4 * D, D), "mask": f32(1, 1, D), "dec": f32(D, D)}, f32(B, S, D), f32(B, S))


def contrastive(k):
    """two towers, similarities of every pair in the batch, symmetric loss, learned temperature (a scalar parameter)"""
    B, I, T, D = 16 * k, 32 * k, 24 * k, 16 * k

    def loss(p, images, texts):
        a, b = (norm(jax.nn.relu(x @ p[n]["w1"]) @ p[n]["w2"]) for n, x in (("image", images), ("text", texts)))
        s = (a @ b.T) * jnp.exp(p["temperature"])
        labels = jnp.arange(B)
        return (cross_entropy(s, labels) + cross_entropy(s.T, labels)) / 2
    params = {"temperature": f32(), "image": {"w1": f32(I, 2 * D), "w2": f32(2 * D, D)}, "text": {"w1": f32(T, 2 * D), "w2": f32(2 * D, D)}}
    return train(loss, params, f32(B, I), f32(B, T))


def vq(k):
    """nearest code by argmin, straight-through gradient, moving-average codebook by scatter-add"""
    B, D, M = 16 * k, 16 * k, 32 * k

    def step(p, m, book, counts, x):
        def loss(p):
            z = x @ p["enc"]
            distance = (z * z).sum(1)[:, None] - 2 * z @ book.T + (book * book).sum(1)
            code = jnp.argmin(distance, 1)
            q = z + lax.stop_gradient(book[code] - z)
            return ((q @ p["dec"] - x) ** 2).mean() + 0.25 * ((z - lax.stop_gradient(book[code])) ** 2).mean(), (z, code)
        (value, (z, code)), g = jax.value_and_grad(loss, has_aux=True)(p)
        counts = 0.9 * counts + 0.1 * jnp.zeros(M).at[code].add(1.0)
        book = 0.9 * book + 0.1 * jnp.zeros((M, D)).at[code].add(z) / (jnp.abs(counts) + 1.0)[:, None]
        return (*momentum(p, m, g), book, counts, value)
    params = {"enc": f32(D, D), "dec": f32(D, D)}
    return lowered(step, params, params, f32(M, D), f32(M), f32(B, D), donate=(0, 1, 2, 3))


def wavenet(k):
    """dilated causal convolutions in one dimension"""
    B, S, C = 8 * k, 32, 16 * k

    def loss(p, tokens):
        x = p["embed"][tokens]
        skip = 0.0
        for i, w in enumerate(p["layers"]):
            d = 2 ** i
            h = lax.conv_general_dilated(x, w["w"], (1,), [(d, 0)], rhs_dilation=(d,), dimension_numbers=("NWC", "WIO", "NWC"))
            a, b = jnp.split(h, 2, -1)
            h = jnp.tanh(a) * jax.nn.sigmoid(b)
            skip, x = skip + h @ w["skip"], x + h @ w["res"]
        return cross_entropy((jax.nn.relu(skip) @ p["head"])[:, :-1], tokens[:, 1:])
    layer = {"w": f32(2, C, 2 * C), "skip": f32(C, C), "res": f32(C, C)}
    return train(loss, {"embed": f32(64, C), "head": f32(C, 64), "layers": [layer] * 3}, i32(B, S))


def video(k):
    """three-dimensional convolution, factorised attention over time and space, inference"""
    B, T, N, C = 8 * k, 4, 4, 16 * k

    def step(p, x):
        x = lax.conv_general_dilated(x, p["stem"], (1, 1, 1), "SAME", dimension_numbers=("NDHWC", "DHWIO", "NDHWC"))
        for axis in ("time", "space"):
            y = x.reshape(B, T, N * N, C)
            y = y.transpose(0, 2, 1, 3) if axis == "time" else y
            s = jax.nn.softmax(jnp.einsum("bnqc,bnsc->bnqs", y @ p[axis]["q"], y @ p[axis]["k"]))
            y = (s @ y) @ p[axis]["v"]
            x = x + (y.transpose(0, 2, 1, 3) if axis == "time" else y).reshape(x.shape)
        return x.mean((1, 2, 3)) @ p["head"]
    a = {n: f32(C, C) for n in "qkv"}
    return lowered(step, {"stem": f32(3, 3, 3, 3, C), "time": a, "space": a, "head": f32(C, 16)}, f32(B, T, N, N, 3))


def gcn(k):
    """two graph convolutions by segment sums, then attention over edges by segment max; full-batch training"""
    V, E, D, H = 64 * k, 256 * k, 16 * k, 32 * k

    def loss(p, x, sender, receiver, labels, mask):
        degree = jax.ops.segment_sum(jnp.ones(E), receiver, V)
        for n in ("a", "b"):
            h = x @ p[n]
            x = jax.nn.relu(jax.ops.segment_sum(h[sender], receiver, V) / (degree + 1.0)[:, None] + h)
        score = jnp.sin(x[sender] @ p["s"] * (1.0 + x[receiver] @ p["r"]))
        top = jax.ops.segment_max(score, receiver, V)
        weight = jnp.exp(score - top[receiver])
        total = jax.ops.segment_sum(weight, receiver, V)
        x = jax.ops.segment_sum(x[sender] * (weight / (total[receiver] + 1e-6))[:, None], receiver, V)
        logp = jax.nn.log_softmax(x @ p["head"])
        return -(jnp.take_along_axis(logp, labels[:, None], 1)[:, 0] * mask).sum() / (mask * mask).sum()
    params = {"a": f32(D, H), "b": f32(H, H), "s": f32(H), "r": f32(H), "head": f32(H, 16)}
    return train(loss, params, f32(V, D), i32(E), i32(E), i32(V), f32(V))


def recommender(k):
    """embedding bags (sum of several rows a feature), pairwise interactions, two dense towers, binary loss"""
    B, F, V, D, L = 16 * k, 4, 64 * k, 8 * k, 3

    def loss(p, dense, bags, weights, clicked):
        low = jax.nn.relu(dense @ p["bottom"])
        rows = jnp.stack([(p["tables"][f][bags[:, f]] * weights[:, f, :, None]).sum(1) for f in range(F)] + [low], 1)
        pairs = jnp.einsum("bfd,bgd->bfg", rows, rows)
        i, j = np.tril_indices(F + 1, -1)
        logit = (jax.nn.relu(jnp.concatenate([pairs[:, i, j], low], 1) @ p["top1"]) @ p["top2"])[:, 0]
        return jnp.mean(jnp.logaddexp(0.0, logit) - clicked * logit)
    params = {"bottom": f32(13, D), "tables": [f32(V, D)] * F, "top1": f32(10 + D, 32 * k), "top2": f32(32 * k, 1)}
    return train(loss, params, f32(B, 13), i32(B, F, L), f32(B, F, L), f32(B), optimizer=momentum)


def dropout_rbg(k):
    """dropout by rng_bit_generator, keys split in the step and handed on"""
    B, D = 16 * k, 32 * k

    def step(p, m, key, x, y):
        keys = jax.random.split(jax.random.wrap_key_data(key, impl="rbg"), 3)

        def loss(p):
            h = x
            for i in range(2):
                h = jax.nn.relu(h @ p[f"w{i}"])
                h = jnp.where(jax.random.bernoulli(keys[i], 0.8, h.shape), h / 0.8, 0.0)
            return ((h - y) ** 2).mean()
        value, g = jax.value_and_grad(loss)(p)
        return (*momentum(p, m, g), jax.random.key_data(keys[2]), value)
    params = {"w0": f32(D, 2 * D), "w1": f32(2 * D, D)}
    return lowered(step, params, params, typed(jnp.uint32, 4), f32(B, D), f32(B, D), donate=(0, 1, 2))


def quantized(k):
    """int8 weights with scales and int32 sums, half floats, bf16, complex phases"""
    B, D, F = 16 * k, 32 * k, 64 * k

    def step(p, x):
        scale = jnp.abs(x).max(-1, keepdims=True) / 127.0
        q = jnp.clip(jnp.round(x / scale), -127, 127).astype(jnp.int8)
        h = lax.dot_general(q, p["w1"], (((1,), (0,)), ((), ())), preferred_element_type=jnp.int32)
        h = jax.nn.relu(h.astype(jnp.float32) * scale * p["s1"])
        g = h.astype(jnp.bfloat16) @ p["w2"]
        z = (lax.complex(x, -x) * p["c"]) @ p["unitary"]
        return z, (z * z.conj()).real.sum(-1), q, g, (g.astype(jnp.float16) * jnp.float16(0.01)), jnp.round(h).astype(jnp.int16)
    params = {"w1": typed(jnp.int8, D, F), "s1": f32(F), "w2": bf16(F, D), "c": typed(jnp.complex64, D), "unitary": typed(jnp.complex64, D, D)}
    return lowered(step, params, f32(B, D))


def tensor_network(k):
    """einsum with many letters, batch dimensions in the middle, outer products, traces"""
    def step(a, b, c, d, e):
        x = jnp.einsum("abcdef,cxdy->abxyef", a, b)
        y = jnp.einsum("abxyef,gxhy,gf->ahbe", x, c, d)
        z = jnp.einsum("ahbe,zeb->zah", y, e)
        return z, jnp.einsum("abab->a", x[:2, :2, :2, :2, 0, 0]), jnp.einsum("i,j->ij", d[0], e[:, 0, 0]), jnp.einsum("ijk->", e)
    return lowered(step, f32(8, 2, 4, 8, 2 * k, 8), f32(4, 8, 8, 4), f32(16 * k, 8, 8, 4), f32(16 * k, 8), f32(8 * k, 2 * k, 2))


def scans(k):
    """running sums, products, maxima, windows, reversed and along every dimension, with gradients"""
    B, S = 16 * k, 32

    def step(x):
        def all_of(x):
            return (jnp.cumsum(x, 1), lax.cummax(x, 1), jnp.cumprod(1.0 + 0.01 * x, 0), lax.cumlogsumexp(x, 1, reverse=True),
                    lax.reduce_window(x, 0.0, lax.add, (1, 4), (1, 2), "SAME"),
                    lax.reduce_window(x, -jnp.inf, lax.max, (2, 1), (2, 1), "VALID"), jnp.diff(x, axis=1))
        return all_of(x), jax.grad(lambda x: sum((y * y).sum() for y in all_of(x)))(x)
    return lowered(step, f32(B, S))


def gaussian_process(k):
    """marginal likelihood of batched kernels by cholesky and triangular solves, gradient of the hyperparameters"""
    B, N, D = 8 * k, 16, 8

    def loss(p, x, y):
        z = x * jnp.exp(p["scale"])
        distance = (z * z).sum(-1)[:, :, None] + (z * z).sum(-1)[:, None] - 2 * jnp.einsum("bnd,bmd->bnm", z, z)
        kernel = jnp.exp(-0.5 * distance) + (0.1 + jnp.exp(p["noise"])) * jnp.eye(N)
        factor = lax.linalg.cholesky(kernel)
        a = lax.linalg.triangular_solve(factor, y[..., None], left_side=True, lower=True)
        return (0.5 * (a * a).sum() + jnp.log(jnp.diagonal(factor, axis1=1, axis2=2)).sum()) / B
    return train(loss, {"scale": f32(D), "noise": f32()}, f32(B, N, D), f32(B, N), optimizer=sgd)


def odd_sizes(k):
    """primes, ones and empty dimensions"""
    def step(p, x, empty, one):
        h = jnp.tanh(x @ p["w"] + p["b"])
        joined = jnp.concatenate([h, empty @ p["w"]], 0)
        return (joined * one).sum(0), h.reshape(-1)[:143], jnp.zeros((0, 5)).sum(0) + 1.0, (one[..., None] * h[:1]).sum(-1), \
            h.T @ x, jnp.pad(h, ((0, 2), (1, 0)))
    return lowered(step, {"w": f32(7, 13), "b": f32(13)}, f32(11 * k, 7), f32(0, 7), f32(1, 1))


def scalars(k):
    """nothing but scalars and a loop over them"""
    def step(a, b, n):
        x = lax.fori_loop(0, n, lambda i, c: c * 0.5 + b * i, a)
        return x, jnp.where(n > 2, a, b), n + 1
    return lowered(step, f32(), f32(), i32())


def many_arguments(k):
    """two hundred and fifty weights without a tree"""
    n, D = 250, 8 * k

    def step(x, *weights):
        for w in weights:
            x = x + jnp.tanh(x @ w) * 0.05
        return x
    return lowered(step, f32(16 * k, D), *[f32(D, D)] * n)


def adafactor(k):
    """factored second moments (row and column means), relative steps"""
    B, D, F = 16 * k, 16 * k, 64 * k

    def step(p, rows, columns, x, y):
        value, g = jax.value_and_grad(lambda p: ((jax.nn.relu(x @ p["w1"]) @ p["w2"] - y) ** 2).mean())(p)
        square = jax.tree.map(lambda g: g * g + 1e-6, g)
        rows = jax.tree.map(lambda r, s: 0.9 * jnp.abs(r) + 0.1 * s.mean(1), rows, square)
        columns = jax.tree.map(lambda c, s: 0.9 * jnp.abs(c) + 0.1 * s.mean(0), columns, square)

        def update(p, g, r, c):
            u = g / jnp.sqrt(r[:, None] * c[None] / r.mean() + 1e-6)
            u = u / jnp.maximum(1.0, jnp.sqrt((u * u).mean()))
            return p - 0.01 * jnp.maximum(1e-3, jnp.sqrt((p * p).mean())) * u
        return jax.tree.map(update, p, g, rows, columns), rows, columns, value
    params = {"w1": f32(D, F), "w2": f32(F, D)}
    return lowered(step, params, {"w1": f32(D), "w2": f32(F)}, {"w1": f32(F), "w2": f32(D)}, f32(B, D), f32(B, D), donate=(0, 1, 2))


def orthogonal(k):
    """momentum orthogonalised by Newton-Schulz steps (Muon), transposed where tall"""
    B, D, F = 16 * k, 16 * k, 32 * k

    def step(p, m, x, y):
        value, g = jax.value_and_grad(lambda p: ((jax.nn.relu(x @ p["w1"]) @ p["w2"] - y) ** 2).mean())(p)
        m = jax.tree.map(lambda m, g: 0.9 * m + g, m, g)

        def direction(m):
            u = m.T if m.shape[0] > m.shape[1] else m
            u = u / (jnp.sqrt((u * u).sum()) + 1e-6)
            for a, b, c in ((3.4, -4.8, 2.0),) * 3:
                s = u @ u.T
                u = a * u + (b * s + c * s @ s) @ u
            return u.T if m.shape[0] > m.shape[1] else u
        return jax.tree.map(lambda p, m: p - 0.02 * direction(m), p, m), m, value
    params = {"w1": f32(D, F), "w2": f32(F, D)}
    return lowered(step, params, params, f32(B, D), f32(B, D), donate=(0, 1))


def adversarial(k):
    """two networks, two losses, two optimizers in one step"""
    B, Z, D, F = 16 * k, 8 * k, 16 * k, 32 * k

    def make(g, z):
        return jax.nn.relu(z @ g["w1"]) @ g["w2"]

    def judge(d, x):
        return (jax.nn.leaky_relu(x @ d["w1"]) @ d["w2"])[:, 0]

    def step(g, d, mg, md, z, real):
        dl, dg = jax.value_and_grad(lambda d: (jax.nn.softplus(-judge(d, real)) + jax.nn.softplus(judge(d, make(g, z)))).mean())(d)
        d2, md = momentum(d, md, dg)
        gl, gg = jax.value_and_grad(lambda g: jax.nn.softplus(-judge(d2, make(g, z))).mean())(g)
        g2, mg = momentum(g, mg, gg)
        return g2, d2, mg, md, {"generator": gl, "judge": dl}
    g, d = {"w1": f32(Z, F), "w2": f32(F, D)}, {"w1": f32(D, F), "w2": f32(F, 1)}
    return lowered(step, g, d, g, d, f32(B, Z), f32(B, D), donate=(0, 1, 2, 3))


def implicit(k):
    """fixed point by a while loop with data-dependent end, custom gradient, a Jacobian product inside"""
    B, D = 16 * k, 16 * k

    def f(w, z, x):
        return jnp.tanh(z @ w * (0.1 / k) + x)

    def solve(g, z):
        return lax.while_loop(lambda c: (jnp.abs(c[1] - c[0]).max() > 1e-6) & (c[2] < 40),
                              lambda c: (c[1], g(c[1]), c[2] + 1), (z, g(z), 0))[1]

    @jax.custom_vjp
    def root(w, x):
        return solve(lambda z: f(w, z, x), jnp.zeros_like(x))

    def forward(w, x):
        z = root(w, x)
        return z, (w, x, z)

    def backward(saved, g):
        w, x, z = saved
        _, pull_z = jax.vjp(lambda z: f(w, z, x), z)
        _, pull = jax.vjp(lambda w, x: f(w, z, x), w, x)
        return pull(solve(lambda u: pull_z(u)[0] + g, jnp.zeros_like(g)))
    root.defvjp(forward, backward)

    def loss(p, x, y):
        return ((root(p["w"], x @ p["in"]) - y) ** 2).sum() / B
    return train(loss, {"w": f32(D, D), "in": f32(D, D)}, f32(B, D), f32(B, D), optimizer=momentum)


def conjugate_gradient(k):
    """a linear solver with data-dependent end over a batch of systems; inference"""
    B, N = 8 * k, 16

    def step(a, b):
        m = jnp.einsum("bij,bkj->bik", a, a) + 4.0 * jnp.eye(N)
        def body(c):
            x, r, p, i = c
            ap = jnp.einsum("bij,bj->bi", m, p)
            rr = (r * r).sum(-1, keepdims=True)
            alpha = rr / (p * ap).sum(-1, keepdims=True)
            r2 = r - alpha * ap
            return x + alpha * p, r2, r2 + (r2 * r2).sum(-1, keepdims=True) / rr * p, i + 1
        return lax.while_loop(lambda c: ((c[1] ** 2).sum() > 1e-4) & (c[3] < 4), body, (jnp.zeros_like(b), b, b, 0))[0]
    return lowered(step, f32(B, N, N), f32(B, N))


def branches(k):
    """cond and switch around layers, with gradients through them; layers skipped by a switch in the input"""
    B, D = 16 * k, 16 * k

    def loss(p, x, y, which, hard):
        h = lax.switch(which, [lambda x: x @ p["a"], lambda x: jnp.tanh(x @ p["b"]), lambda x: x], x)
        h = lax.cond(hard, lambda h: jax.nn.relu(h @ p["c"]) @ p["d"], lambda h: h * 0.5, h)
        return ((h - y) ** 2).mean()
    params = {"a": f32(D, D), "b": f32(D, D), "c": f32(D, 2 * D), "d": f32(2 * D, D)}
    return train(loss, params, f32(B, D), f32(B, D), i32(), typed(jnp.bool_), optimizer=momentum)


def private_gradients(k):
    """per-example gradients by vmap, clipped each, summed with noise"""
    B, D, C = 16 * k, 16 * k, 8

    def step(p, x, y, noise):
        g = jax.vmap(jax.grad(lambda p, x, y: cross_entropy((jax.nn.relu(x @ p["w1"]) @ p["w2"])[None], y[None])), (None, 0, 0))(p, x, y)
        size = jnp.sqrt(sum((a * a).sum((1, 2)) for a in jax.tree.leaves(g)))
        g = jax.tree.map(lambda a: (a * jnp.minimum(1.0, 1.0 / (size + 1e-6))[:, None, None]).sum(0), g)
        return jax.tree.map(lambda p, g, n: p - 0.1 * (g + n) / B, p, g, noise)
    params = {"w1": f32(D, 2 * D), "w2": f32(2 * D, C)}
    return lowered(step, params, f32(B, D), i32(B), params, donate=(0,))


def physics(k):
    """second derivatives inside the loss (forward over reverse), custom_jvp activation, named private functions"""
    B, D = 16 * k, 16 * k

    @jax.custom_jvp
    def swish(x):
        return x * jax.nn.sigmoid(x)

    @swish.defjvp
    def _(primals, tangents):
        s = jax.nn.sigmoid(primals[0])
        return primals[0] * s, tangents[0] * (s + primals[0] * s * (1 - s))

    @jax.jit
    def dense(x, w, b):
        return swish(x @ w + b)

    def loss(p, points, values):
        def u(x):
            return (dense(dense(x, p["w1"], p["b1"]), p["w2"], p["b2"]) @ p["w3"])[0]
        def laplacian(x):
            return sum(jax.jvp(jax.grad(u), (x,), (e,))[1] @ e for e in jnp.eye(2))
        return (jax.vmap(laplacian)(points) ** 2).mean() + ((jax.vmap(u)(points) - values) ** 2).mean()
    params = {"w1": f32(2, D), "b1": f32(D), "w2": f32(D, D), "b2": f32(D), "w3": f32(D, 1)}
    return train(loss, params, f32(B, 2), f32(B))


def policy(k):
    """advantages by a reversed scan, clipped surrogate, entropy, value loss"""
    T, B, D, A = 8, 8 * k, 16 * k, 8

    def loss(p, states, actions, rewards, done, old):
        h = jnp.tanh(states @ p["w"])
        logp, value = jax.nn.log_softmax(h @ p["pi"]), (h @ p["v"])[..., 0]
        after = jnp.concatenate([value[1:], jnp.zeros((1, B))])

        def back(gae, at):
            r, d, v, n = at
            gae = r + 0.9 * n * (1 - d) - v + 0.8 * (1 - d) * gae
            return gae, gae
        _, advantage = lax.scan(back, jnp.zeros(B), (rewards, done.astype(jnp.float32), value, after), reverse=True)
        advantage = lax.stop_gradient((advantage - advantage.mean()) / (advantage.std() + 1e-3))
        ratio = jnp.exp(jnp.take_along_axis(logp, actions[..., None], -1)[..., 0] - old)
        surrogate = jnp.minimum(ratio * advantage, jnp.clip(ratio, 0.8, 1.2) * advantage).mean()
        return -surrogate + 0.5 * (value ** 2).mean() + 0.01 * (jnp.exp(logp) * logp).sum(-1).mean()
    params = {"w": f32(D, 4 * D), "pi": f32(4 * D, A), "v": f32(4 * D, 1)}
    return train(loss, params, f32(T, B, D), i32(T, B), f32(T, B), typed(jnp.bool_, T, B), f32(T, B))


def sinkhorn(k):
    """fixed-trip loop of alternating normalisations, nearest centres, histogram by scatter"""
    N, M, D = 32 * k, 16 * k, 8 * k

    def step(x, y):
        cost = ((x[:, None] - y[None]) ** 2).sum(-1) / D
        def body(_, c):
            f, g = c
            f = -jax.nn.logsumexp(g[None] - cost, 1)
            return f, -jax.nn.logsumexp(f[:, None] - cost, 0)
        f, g = lax.fori_loop(0, 5, body, (jnp.zeros(N), jnp.zeros(M)))
        plan = jnp.exp(f[:, None] + g[None] - cost)
        near = jnp.argmin(cost, 1)
        return plan, near, jnp.zeros(M).at[near].add(1.0), jnp.zeros((M, D)).at[near].add(x)
    return lowered(step, f32(N, D), f32(M, D))


def exported(k):
    """jax.export of an inference function, its module text as serialised"""
    def f(p, x):
        return jax.nn.softmax(jax.nn.relu(x @ p["w1"]) @ p["w2"])
    e = jax.export.export(jax.jit(f))({"w1": f32(16 * k, 64 * k), "w2": f32(64 * k, 16 * k)}, f32(16 * k, 16 * k))
    return str(e.mlir_module())


def with_mesh(k, manual=False):
    """the user's own mesh and shardings already in the module (and a shard_map, if manual)"""
    from jax.sharding import NamedSharding, PartitionSpec as P
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:8]).reshape(4, 2), ("dp", "tp"))
    B, D, F = 16 * k, 16 * k, 64 * k

    def middle(x, w):
        return jax.nn.relu(x @ w)

    def f(p, x):
        if manual:
            h = jax.shard_map(middle, mesh=mesh, in_specs=(P("dp", None), P(None, "tp")), out_specs=P("dp", "tp"))(x, p["w1"])
        else:
            h = lax.with_sharding_constraint(middle(x, p["w1"]), NamedSharding(mesh, P("dp", "tp")))
        return h @ p["w2"]
    shards = {"w1": NamedSharding(mesh, P(None, "tp")), "w2": NamedSharding(mesh, P("tp", None))}
    return lowered(f, {"w1": f32(D, F), "w2": f32(F, D)}, f32(B, D), in_shardings=(shards, NamedSharding(mesh, P("dp", None))))


def shard_map(k):
    return with_mesh(k, manual=True)


MODELS = {f.__name__: f for f in (vit, resnet, conv_mixer, diffusion, conditioned, masked_autoencoder, contrastive, vq, wavenet, video, gcn, recommender,
                                  dropout_rbg, quantized, tensor_network, scans, gaussian_process, odd_sizes, scalars, many_arguments,
                                  adafactor, orthogonal, adversarial, implicit, conjugate_gradient, branches, private_gradients,
                                  physics, policy, sinkhorn, exported, with_mesh, shard_map)}
