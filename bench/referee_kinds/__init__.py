"""Further train steps for bench/referee, of kinds that the rules of the price did not come from: dropout, batch norms, an image
model with registers and stochastic depth, a denoiser with long skips, adaptive norms and cross attention.

families(layers) gives, as family() of referee_models.py does, (parameters outside of layers, those of a layer, loss, inputs) of
each. Sizes are numbers here: these programs are only ever one size. JAX is imported when asked."""


def families(layers):
    import jax
    import jax.numpy as jnp

    bf16, f32, einsum = jnp.bfloat16, jnp.float32, jnp.einsum
    names = [f"layer_{i:02}" for i in range(layers)]

    def rms(x, gain):
        wide = x.astype(f32)
        return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)).astype(bf16) * (1 + gain)

    def norm(x, gain, bias):
        wide = x.astype(f32)
        centred = wide - jnp.mean(wide, -1, keepdims=True)
        return (centred * jax.lax.rsqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5)).astype(bf16) * gain + bias

    def attend(q, k, v, causal=True):
        scores = einsum("bshk,bthk->bhst", q, k).astype(f32) * q.shape[-1] ** -0.5
        if causal:
            scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
        return einsum("bhst,bthk->bshk", jax.nn.softmax(scores).astype(bf16), v)

    def heads(x, w, of=("wq", "wk", "wv")):
        return tuple(einsum("bsd,dhk->bshk", x, w[name]) for name in of)

    def together(mixed, w):
        return einsum("bshk,hkd->bsd", mixed, w)

    def cross_entropy(logits, targets):
        logits = logits.astype(f32)
        return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, targets[..., None], -1)[..., 0])

    def attention(width, count, head):
        return {"wq": (width, count, head), "wk": (width, count, head), "wv": (width, count, head), "wo": (count, head, width)}

    def dropped(z):
        """a decoder with dropout on embeddings, attention and feed-forward layers"""
        d, f, v = 1536, 6144, 32768
        layer = {**attention(d, 12, 128), "g1": (d,), "b1": (d,), "g2": (d,), "b2": (d,), "up": (d, f), "upb": (f,), "down": (f, d),
                 "downb": (d,)}

        def drop(key, x, rate=0.1):
            keep = jax.random.bernoulli(key, 1 - rate, x.shape)
            return jnp.where(keep, x / (1 - rate), jnp.zeros_like(x)).astype(x.dtype)

        def loss(p, tokens, key):
            keys = jax.random.split(key, 8)
            x = drop(keys[7], p["embed"][tokens[:, :-1]])
            for i, n in enumerate(names):
                w = p[n]
                q, k, v = heads(norm(x, w["g1"], w["b1"]), w)
                x = x + drop(keys[2 * i], together(attend(q, k, v), w["wo"]))
                x = x + drop(keys[2 * i + 1], jax.nn.gelu(norm(x, w["g2"], w["b2"]) @ w["up"] + w["upb"]) @ w["down"] + w["downb"])
            return cross_entropy(x @ p["head"], tokens[:, 1:])

        return {"embed": (v, d), "head": (d, v)}, layer, loss, [((32, 1025), jnp.int32), ((2,), jnp.uint32)]

    def normed(z):
        """pairs of products with batch norms between them, beside a residual stream"""
        d, f = 2048, 4096
        layer = {"a": (d, f), "ag": (f,), "ab": (f,), "c": (f, d), "cg": (d,), "cb": (d,)}

        def batch_norm(x, gain, bias):
            wide = x.astype(f32)
            mean = jnp.mean(wide, 0)
            variance = jnp.mean(wide * wide, 0) - mean * mean
            return ((wide - mean) * jax.lax.rsqrt(variance + 1e-5)).astype(bf16) * gain + bias

        def loss(p, x, labels):
            x = x @ p["in"]
            for n in names:
                w = p[n]
                h = jax.nn.relu(batch_norm(x @ w["a"], w["ag"], w["ab"]))
                x = jax.nn.relu(x + batch_norm(h @ w["c"], w["cg"], w["cb"]))
            return cross_entropy(x @ p["head"], labels)

        return {"in": (1024, d), "head": (d, 1000)}, layer, loss, [((16384, 1024), bf16), ((16384,), jnp.int32)]

    def depths(z):
        """an image model with registers, scaled branches that are left out at random, normed queries and keys"""
        d, f, b, s, registers = 1536, 4096, 128, 508, 4
        layer = {**attention(d, 12, 128), "g1": (d,), "b1": (d,), "g2": (d,), "b2": (d,), "qg": (128,), "kg": (128,), "s1": (d,),
                 "s2": (d,), "up": (d, 2 * f), "upb": (2 * f,), "down": (f, d), "downb": (d,)}

        def loss(p, images, labels, key):
            x = images @ p["patch"] + p["pos"]
            x = jnp.concatenate([jnp.broadcast_to(p["reg"], (b, registers, d)), x], 1)
            keys = jax.random.split(key, 6)

            def keep(key, branch):
                return jnp.where(jax.random.bernoulli(key, 0.9, (b, 1, 1)), branch / 0.9, 0).astype(bf16)

            for i, n in enumerate(names):
                w = p[n]
                q, k, v = heads(norm(x, w["g1"], w["b1"]), w)
                x = x + keep(keys[2 * i], w["s1"] * together(attend(rms(q, w["qg"]), rms(k, w["kg"]), v, False), w["wo"]))
                up, gate = jnp.split(norm(x, w["g2"], w["b2"]) @ w["up"] + w["upb"], 2, -1)
                x = x + keep(keys[2 * i + 1], w["s2"] * ((jax.nn.silu(gate) * up) @ w["down"] + w["downb"]))
            return cross_entropy(x[:, 0] @ p["head"], labels)

        outer = {"patch": (588, d), "pos": (s, d), "reg": (registers, d), "head": (d, 1000)}
        return outer, layer, loss, [((b, s, 588), bf16), ((b,), jnp.int32), ((2,), jnp.uint32)]

    def crossed(z):
        """a denoiser: norms adapted to the time, attention to words, the first layers' results beside the last ones'"""
        d, f, b, s, words = 1280, 5120, 64, 1024, 128
        layer = {**attention(d, 10, 128), "xq": (d, 10, 128), "xk": (768, 10, 128), "xv": (768, 10, 128), "xo": (10, 128, d),
                 "ada": (d, 6 * d), "g": (d,), "b": (d,), "up": (d, 2 * f), "down": (f, d), "skip": (2 * d, d)}

        def plain(x):
            return norm(x, jnp.ones((d,), bf16), jnp.zeros((d,), bf16))

        def loss(p, images, text, time, noise):
            def angle():
                return time[:, None] * jnp.exp(-jnp.arange(d // 2) / 100.0)

            t = jax.nn.silu(jnp.concatenate([jnp.sin(angle()), jnp.cos(angle())], -1).astype(bf16) @ p["t1"])
            x = (images + noise) @ p["patch"] + p["pos"]
            kept = []
            for i, n in enumerate(names):
                w = p[n]
                if 2 * i >= len(names):
                    x = jnp.concatenate([x, kept.pop()], -1) @ w["skip"]
                a = jnp.split((t @ w["ada"])[:, None], 6, -1)
                q, k, v = heads(plain(x) * (1 + a[0]) + a[1], w)
                x = x + a[2] * together(attend(q, k, v, False), w["wo"])
                h = norm(x, w["g"], w["b"])
                q, = heads(h, w, ("xq",))
                k, v = heads(text, w, ("xk", "xv"))
                x = x + together(attend(q, k, v, False), w["xo"])
                up, gate = jnp.split((plain(x) * (1 + a[3]) + a[4]) @ w["up"], 2, -1)
                x = x + a[5] * ((up * jax.nn.gelu(gate)) @ w["down"])
                if 2 * i < len(names):
                    kept.append(x)
            return jnp.mean(jnp.square((x @ p["out"]).astype(f32) - noise.astype(f32)))

        outer = {"t1": (d, d), "patch": (64, d), "pos": (s, d), "out": (d, 64)}
        return outer, layer, loss, [((b, s, 64), bf16), ((b, words, 768), bf16), ((b,), f32), ((b, s, 64), bf16)]

    return {"dropped": dropped, "normed": normed, "depths": depths, "crossed": crossed}
