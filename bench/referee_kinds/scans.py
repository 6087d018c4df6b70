"""Train steps whose layers run under `scan`, for bench/referee: float32 parameters stacked over layers and multiplied with in
bfloat16.

Kinds: a decoder with rotations and gated feed-forward ("gated"), one with biases and GELU ("plain"), an encoder of patches
("patches"), a decoder whose keys and values are shared by four heads each and whose tokens go to one of eight experts
("routed"), a decoder that reads what an encoder under a scan of its own has made of the same tokens ("crossed"). `again`: what the backward pass computes anew, of jax.checkpoint: None, "all", "all, behind barriers", "but products".
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


EXPERTS = 8


def routed(x, w):
    """the gated feed-forward of the one expert of a token; each expert takes a quarter more tokens of a row than its share"""
    import jax
    import jax.numpy as jnp

    room = x.shape[1] * 5 // (4 * EXPERTS)
    chances = jax.nn.softmax((x @ w["router"]).astype(jnp.float32), -1)
    chosen = jax.nn.one_hot(chances.argmax(-1), EXPERTS)
    place = jnp.cumsum(chosen, 1) * chosen - 1
    sent = (jax.nn.one_hot(place, room) * chosen[..., None]).astype(x.dtype)
    tokens = jnp.einsum("bsec,bsd->ebcd", sent, x)
    inner = jax.nn.silu(jnp.einsum("ebcd,edf->ebcf", tokens, w["gate"])) * jnp.einsum("ebcd,edf->ebcf", tokens, w["up"])
    outputs = jnp.einsum("ebcf,efd->ebcd", inner, w["down"])
    return jnp.einsum("bsec,ebcd->bsd", sent * (chances * chosen).sum(-1)[..., None, None].astype(x.dtype), outputs)


def routed_layer(x, w, _heads):
    import jax
    import jax.numpy as jnp

    w = jax.tree.map(lambda array: array.astype(jnp.bfloat16), w)
    inner = norm(x, w["norm1"])
    queries, keys, values = (jnp.einsum("bsd,dhk->bshk", inner, w[name]) for name in ("query", "key", "value"))
    keys, values = (jnp.repeat(array, queries.shape[2] // array.shape[2], 2) for array in (keys, values))
    x = x + jnp.einsum("bqhk,hkd->bqd", attention(turned(queries), turned(keys), values, True), w["out"])
    return x + routed(norm(x, w["norm2"]), w), None


def crossed_layer(x, w, heads, read=None):
    """of the decoder; without what the encoder made the encoder's"""
    import jax
    import jax.numpy as jnp

    w = jax.tree.map(lambda array: array.astype(jnp.bfloat16), w)

    def attends(x, name, of, masked):
        inner = norm(x, w[f"{name}_norm"])
        of = inner if of is None else of
        queries, keys, values = (jnp.einsum("bsd,dhk->bshk", rows, w[f"{name}_{part}"])
                                 for rows, part in ((inner, "query"), (of, "key"), (of, "value")))
        return x + jnp.einsum("bqhk,hkd->bqd", attention(queries, keys, values, masked), w[f"{name}_out"])

    x = attends(x, "self", None, read is not None)
    x = attends(x, "cross", read, False) if read is not None else x
    return x + jax.nn.gelu(norm(x, w["norm2"]) @ w["up"]) @ w["down"], None


def layer_shapes(kind, width, heads, hidden):
    if kind == "routed":
        head = width // heads
        return {"norm1": (width,), "norm2": (width,), "query": (width, heads, head), "key": (width, heads // 4, head),
                "value": (width, heads // 4, head), "out": (heads, head, width), "router": (width, EXPERTS),
                **{name: (EXPERTS, width, hidden) for name in ("gate", "up")}, "down": (EXPERTS, hidden, width)}
    if kind == "crossed":
        head, names = width // heads, ("self", "cross")
        return {"norm2": (width,), "up": (width, hidden), "down": (hidden, width), **{f"{name}_norm": (width,) for name in names},
                **{f"{name}_{part}": (width, heads, head) for name in names for part in ("query", "key", "value")},
                **{f"{name}_out": (heads, head, width) for name in names}}
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

    layers = {"gated": gated_layer, "routed": routed_layer, "crossed": crossed_layer}
    layer = layers.get(kind) or functools.partial(plain_layer, masked=kind == "plain")
    layer = functools.partial(layer, **{"_heads" if kind in ("gated", "routed") else "heads": heads})
    if again:
        policy = jax.checkpoint_policies.dots_with_no_batch_dims_saveable if again == "but products" else None
        layer = jax.checkpoint(layer, policy=policy, prevent_cse=again == "all, behind barriers")
    if kind == "crossed":
        return lambda x, w: jax.lax.scan(functools.partial(layer, read=jax.lax.scan(layer, x, w["encoder"])[0]), x, w["decoder"])[0]
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
    if kind == "crossed":
        stacked = {"encoder": {name: dims for name, dims in stacked.items() if "cross" not in name}, "decoder": stacked}
    shapes = {"in": (768 if patches else vocabulary, width), "layers": stacked, "norm": (width,), "head": (width, vocabulary)}
    outer = (pieces, batch) if pieces > 1 else (batch,)
    inputs = ((*outer, length, 768), jnp.float32) if patches else ((*outer, length), jnp.int32)
    return gradients, shapes, (inputs, ((*outer, *(() if patches else (length,))), jnp.int32))
