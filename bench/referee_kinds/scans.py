"""Train steps whose layers run under `scan`, for bench/referee: float32 parameters stacked over layers and multiplied with in
bfloat16.

Kinds: a decoder with rotations and gated feed-forward ("gated"), one with biases and GELU ("plain"), an encoder of patches
("patches"). `again`: what the backward pass computes anew, of jax.checkpoint: None, "all", "all, behind barriers", "but products".
`pieces`: microbatches whose gradients are summed up, a scan around the scan."""
AGAIN = (None, "all", "all, behind barriers", "but products")


def norm(x, gain, shift=None):
    import jax
    import jax.numpy as jnp

    wide = x.astype(jnp.float32)
    wide = wide - wide.mean(-1, keepdims=True) if shift is not None else wide
    scaled = wide * jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-5)
    return scaled.astype(x.dtype) * gain if shift is None else (scaled * gain + shift).astype(x.dtype)


def turned(x):
    """x [batch, position, head, feature] with its two halves rotated by the position"""
    import jax.numpy as jnp

    half = x.shape[-1] // 2
    angle = jnp.arange(x.shape[1])[:, None] / 10000 ** (jnp.arange(half) / half)
    cosine, sine = jnp.cos(angle)[None, :, None], jnp.sin(angle)[None, :, None]
    left, right = jnp.split(x.astype(jnp.float32), 2, -1)
    return jnp.concatenate([left * cosine - right * sine, right * cosine + left * sine], -1).astype(x.dtype)


def attention(queries, keys, values, masked):
    import jax
    import jax.numpy as jnp

    scores = jnp.einsum("bqhk,bshk->bhqs", queries, keys).astype(jnp.float32) * queries.shape[-1] ** -0.5
    if masked:
        scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, -1e9)
    return jnp.einsum("bhqs,bshk->bqhk", jax.nn.softmax(scores, -1).astype(jnp.bfloat16), values)


def gated_layer(x, w, _heads):
    import jax
    import jax.numpy as jnp

    w = jax.tree.map(lambda array: array.astype(jnp.bfloat16), w)
    inner = norm(x, w["norm1"])
    queries, keys, values = (jnp.einsum("bsd,dhk->bshk", inner, w[name]) for name in ("query", "key", "value"))
    x = x + jnp.einsum("bqhk,hkd->bqd", attention(turned(queries), turned(keys), values, True), w["out"])
    inner = norm(x, w["norm2"])
    return x + (jax.nn.silu(inner @ w["gate"]) * (inner @ w["up"])) @ w["down"], None


def plain_layer(x, w, heads, masked=True):
    import jax
    import jax.numpy as jnp

    def affine(value, name):
        return value @ w[name].astype(jnp.bfloat16) + w[f"{name}_bias"].astype(jnp.bfloat16)

    both = affine(norm(x, w["gain1"], w["shift1"]), "projection").reshape(*x.shape[:2], 3, heads, x.shape[-1] // heads)
    x = x + affine(attention(both[:, :, 0], both[:, :, 1], both[:, :, 2], masked).reshape(x.shape), "out")
    return x + affine(jax.nn.gelu(affine(norm(x, w["gain2"], w["shift2"]), "up")), "down"), None


def layer_shapes(kind, width, heads, hidden):
    if kind == "gated":
        head = width // heads
        return {"norm1": (width,), "norm2": (width,), "query": (width, heads, head), "key": (width, heads, head),
                "value": (width, heads, head), "out": (heads, head, width), "gate": (width, hidden), "up": (width, hidden),
                "down": (hidden, width)}
    sizes = {"projection": (width, 3 * width), "out": (width, width), "up": (width, hidden), "down": (hidden, width)}
    return {**{name: (width,) for name in ("gain1", "shift1", "gain2", "shift2")}, **sizes,
            **{f"{name}_bias": shape[1:] for name, shape in sizes.items()}}


def scanned(kind, heads, again):
    """(x, stacked weights) -> x behind all layers"""
    import functools

    import jax

    layer = gated_layer if kind == "gated" else functools.partial(plain_layer, masked=kind == "plain")
    layer = functools.partial(layer, _heads=heads) if kind == "gated" else functools.partial(layer, heads=heads)
    if again:
        policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable if again == "but products" else None
        layer = jax.checkpoint(layer, policy=policy, prevent_cse=again == "all, behind barriers")
    return lambda x, w: jax.lax.scan(layer, x, w)[0]


def made(kind, again=None, pieces=1, layers=8, width=2048, heads=16, hidden=5632, vocabulary=32000, batch=32, length=2048):
    """(parameters, inputs) -> loss and gradients, the parameters' shapes, the inputs' shapes and element types"""
    import jax
    import jax.numpy as jnp

    run, patches = scanned(kind, heads, again), kind == "patches"

    def loss(params, inputs, labels):
        x = params["in"].astype(jnp.bfloat16)[inputs] if not patches else inputs.astype(jnp.bfloat16) @ params["in"].astype(jnp.bfloat16)
        x = norm(run(x, params["layers"]), params["norm"].astype(jnp.bfloat16))
        logits = ((x.mean(1) if patches else x) @ params["head"].astype(jnp.bfloat16)).astype(jnp.float32)
        picked = jnp.take_along_axis(logits, labels[..., None], -1)[..., 0]
        return (jax.nn.logsumexp(logits, -1) - picked).mean()

    def gradients(params, inputs, labels):
        if pieces == 1:
            return jax.value_and_grad(loss)(params, inputs, labels)

        def add(sums, piece):
            value, grads = jax.value_and_grad(loss)(params, *piece)
            return jax.tree.map(jnp.add, sums, grads), value

        sums, values = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, params), (inputs, labels))
        return values.mean(), jax.tree.map(lambda grad: grad / pieces, sums)

    stacked = {name: (layers, *dims) for name, dims in layer_shapes(kind, width, heads, hidden).items()}
    shapes = {"in": (768 if patches else vocabulary, width), "layers": stacked, "norm": (width,), "head": (width, vocabulary)}
    outer = (pieces, batch) if pieces > 1 else (batch,)
    inputs = ((*outer, length, 768), jnp.float32) if patches else ((*outer, length), jnp.int32)
    return gradients, shapes, (inputs, ((*outer, *(() if patches else (length,))), jnp.int32))
