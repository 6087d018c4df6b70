#!/usr/bin/env python3
# label: truth
# timeout: 900
"""Segments of models written otherwise than tests/support/generate_segments.py writes them: a GPT without biases, with tied embeddings and
queries, keys and values as an axis of their own has CFP's 180 programs of layers at 6, 24 and 96 layers, a LLaMA with grouped queries, fused or
not, equally many at any depth, as have layers that all read something of the network's beginning (a conditioned diffusion transformer, a decoder
over an encoder's result, one bias by relative position for all); no block holds the layers behind a product whose columns the devices do
not divide (a router's, a gate's); and whatever else comes (scans, loops, convolutions, graphs, FFTs, sorting) gets a plan that is proved, never a failure."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import support

support.enter("truth")

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

TOAST = os.path.join(support.BIN, "toast")


def of(*shape, kind=jnp.float32):
    return jax.ShapeDtypeStruct(shape, kind)


def ids(*shape):
    return of(*shape, kind=jnp.int32)


def lowered(loss, *arguments):
    def step(p, *data):
        value, grads = jax.value_and_grad(loss)(p, *data)
        return jax.tree_util.tree_map(lambda w, g: w - 0.01 * g, p, grads), value
    return jax.jit(step).lower(*arguments).as_text()


def norm(x):
    return x / jnp.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def cross_entropy(logits, labels):
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[..., None], -1).mean()


def square(y, target):
    return ((y - target) ** 2).mean()


def gpt(layers, relative=False, b=24, t=20, d=96, h=4, f=160, v=300):
    def layer(x, p, bias):
        z = (norm(x) @ p["qkv"]).reshape(b, t, 3, h, d // h)
        scores = jnp.einsum("bqhd,bkhd->bhqk", z[:, :, 0], z[:, :, 1]) / (d // h) ** 0.5 + bias
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), scores, -jnp.inf)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(scores, -1), z[:, :, 2]).reshape(b, t, d) @ p["out"]
        return x + jax.nn.relu(norm(x) @ p["up"]) @ p["down"]

    def loss(p, tokens, labels):
        x = p["table"][tokens]
        bias = p["bias"][jnp.arange(t)[:, None] - jnp.arange(t) + t - 1].transpose(2, 0, 1) if relative else 0.0
        for q in p["layers"]:
            x = layer(x, q, bias)
        return cross_entropy(x @ p["table"].T, labels)
    weights = {"qkv": of(d, 3 * d), "out": of(d, d), "up": of(d, f), "down": of(f, d)}
    return lowered(loss, {"table": of(v, d), "bias": of(2 * t, h), "layers": [weights] * layers}, ids(b, t), ids(b, t))


def llama(layers, fused, b=8, t=16, d=64, h=8, groups=4, f=128, v=128):
    wide, narrow = d // h, groups * (d // h)

    def layer(x, p):
        y = norm(x)
        q, k, w = jnp.split(y @ p["qkv"], [d, d + narrow], -1) if fused else (y @ p["q"], y @ p["k"], y @ p["v"])
        q = q.reshape(b, t, groups, h // groups, wide)
        k, w = k.reshape(b, t, groups, wide), w.reshape(b, t, groups, wide)
        scores = jnp.where(jnp.tril(jnp.ones((t, t), bool)), jnp.einsum("btkgd,bskd->bkgts", q, k) / wide ** 0.5, -1e30)
        x = x + jnp.einsum("bkgts,bskd->btkgd", jax.nn.softmax(scores, -1), w).reshape(b, t, d) @ p["out"]
        y = norm(x)
        gate, up = jnp.split(y @ p["gate_up"], 2, -1) if fused else (y @ p["gate"], y @ p["up"])
        return x + (jax.nn.silu(gate) * up) @ p["down"]

    def loss(p, tokens, labels):
        x = p["table"][tokens]
        for q in p["layers"]:
            x = layer(x, q)
        return cross_entropy(norm(x) @ p["head"], labels)
    weights = {"out": of(d, d), "down": of(f, d)}
    weights |= ({"qkv": of(d, d + 2 * narrow), "gate_up": of(d, 2 * f)} if fused else
                {"q": of(d, d), "k": of(d, narrow), "v": of(d, narrow), "gate": of(d, f), "up": of(d, f)})
    return lowered(loss, {"table": of(v, d), "head": of(d, v), "layers": [weights] * layers}, ids(b, t), ids(b, t))


def conditioned(layers, b=16, t=16, d=64, h=4, f=128):
    """every layer is scaled and shifted by what the network's first products make of the condition"""
    def layer(x, c, p):
        scale, shift = jnp.split((c @ p["change"])[:, None], 2, -1)
        z = (norm(x) * (1 + scale) + shift) @ p["qkv"]
        q, k, v = jnp.split(z.reshape(b, t, h, 3 * d // h), 3, -1)
        mixed = jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k)), v)
        x = x + mixed.reshape(b, t, d) @ p["out"]
        return x + jax.nn.gelu(norm(x) @ p["up"]) @ p["down"]

    def loss(p, x, c, target):
        c, x = jax.nn.silu(c @ p["first"]) @ p["second"], x @ p["in"]
        for q in p["layers"]:
            x = layer(x, c, q)
        return square(x, target)
    weights = {"change": of(d, 2 * d), "qkv": of(d, 3 * d), "out": of(d, d), "up": of(d, f), "down": of(f, d)}
    return lowered(loss, {"first": of(d, d), "second": of(d, d), "in": of(d, d), "layers": [weights] * layers}, of(b, t, d), of(b, d), of(b, t, d))


def translated(layers, b=16, t=16, d=64, h=4, f=128):
    """every layer of the decoder reads the encoder's last"""
    def mix(x, y, p):
        q, k, v = ((z @ p[name]).reshape(b, t, h, d // h) for z, name in ((x, "q"), (y, "k"), (y, "v")))
        return jnp.einsum("bhqk,bkhd->bqhd", jax.nn.softmax(jnp.einsum("bqhd,bkhd->bhqk", q, k)), v).reshape(b, t, d) @ p["out"]

    def loss(p, source, x, labels):
        source, x = p["table"][source], p["table"][x]
        for q in p["encoder"]:
            source = source + mix(norm(source), norm(source), q["self"])
            source = source + jax.nn.relu(norm(source) @ q["up"]) @ q["down"]
        for q in p["decoder"]:
            x = x + mix(norm(x), norm(x), q["self"])
            x = x + mix(norm(x), norm(source), q["other"])
            x = x + jax.nn.relu(norm(x) @ q["up"]) @ q["down"]
        return cross_entropy(x @ p["head"], labels)
    attention, wide = {"q": of(d, d), "k": of(d, d), "v": of(d, d), "out": of(d, d)}, {"up": of(d, f), "down": of(f, d)}
    return lowered(loss, {"table": of(160, d), "head": of(d, 160), "encoder": [{"self": attention} | wide] * layers,
                          "decoder": [{"self": attention, "other": attention} | wide] * layers}, ids(b, t), ids(b, t), ids(b, t))


# ---------------------------------------------------------------- whatever comes
def weighed(layers, columns, b=16, t=16, d=64, f=128):
    """feed-forwards under weights of each token that no four devices divide: a router's two, a gate's one"""
    def loss(p, x, y):
        for q in p:
            chance = jax.nn.softmax(x @ q["router"]) if columns > 1 else jax.nn.sigmoid(x @ q["router"])
            for i in range(columns):
                x = x + chance[..., i:i + 1] * (jax.nn.gelu(norm(x) @ q["up"][i]) @ q["down"][i])
        return square(x, y)
    weights = {"router": of(d, columns), "up": [of(d, f)] * columns, "down": [of(f, d)] * columns}
    return lowered(loss, [weights] * layers, of(b, t, d), of(b, t, d))


def scanned():
    def loss(p, x, y):
        return square(jax.lax.scan(jax.checkpoint(lambda x, q: (x + jax.nn.gelu(x @ q["up"]) @ q["down"], None)), x, p)[0], y)
    return lowered(loss, {"up": of(6, 32, 64), "down": of(6, 64, 32)}, of(16, 8, 32), of(16, 8, 32))


def recurrent():
    def loss(p, x, y):
        def cell(carry, now):
            h, c = carry
            i, f, g, o = jnp.split(now @ p["x"] + h @ p["h"] + p["b"], 4, -1)
            c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
            h = jax.nn.sigmoid(o) * jnp.tanh(c)
            return (h, c), h
        zero = jnp.zeros((x.shape[1], 32))
        return square(jax.lax.scan(cell, (zero, zero), x)[1] @ p["o"], y)
    return lowered(loss, {"x": of(16, 128), "h": of(32, 128), "b": of(128), "o": of(32, 8)}, of(8, 16, 16), of(8, 16, 8))


def selective():
    def loss(p, x, y):
        for q in p:
            u = x @ q["in"]
            dt = jax.nn.softplus(u @ q["dt"])
            a, b = jnp.exp(-dt[..., None] * jnp.exp(q["a"])), (dt * u)[..., None] * (u @ q["b"])[:, :, None, :]
            h = jax.lax.associative_scan(lambda one, two: (one[0] * two[0], two[0] * one[1] + two[1]), (a, b), axis=1)[1]
            x = x + ((h * (u @ q["c"])[:, :, None, :]).sum(-1) * jax.nn.silu(u)) @ q["out"]
        return square(x, y)
    weights = {"in": of(16, 32), "dt": of(32, 32), "a": of(32, 4), "b": of(32, 4), "c": of(32, 4), "out": of(32, 16)}
    return lowered(loss, [weights] * 2, of(8, 8, 16), of(8, 8, 16))


def image():
    def conv(x, w):
        return jax.lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def loss(p, x, y):
        x = conv(x, p["first"])
        for q in p["blocks"]:
            x = jax.nn.relu(x + conv(jax.nn.relu(conv(x, q["a"])), q["b"]))
        return cross_entropy(jax.lax.reduce_window(x, 0.0, jax.lax.add, (1, 2, 2, 1), (1, 2, 2, 1), "VALID").mean((1, 2)) @ p["head"], y)
    blocks = [{"a": of(3, 3, 16, 16), "b": of(3, 3, 16, 16)}] * 2
    return lowered(loss, {"first": of(3, 3, 3, 16), "blocks": blocks, "head": of(16, 12)}, of(16, 8, 8, 3), ids(16))


def graph():
    def loss(p, n, e, s, r):
        for q in p:
            e = e + jax.nn.relu(jnp.concatenate([e, n[s], n[r]], -1) @ q["edge"])
            n = n + jax.nn.relu(jnp.concatenate([n, jax.ops.segment_sum(e, r, n.shape[0])], -1) @ q["node"])
        return (n ** 2).mean()
    return lowered(loss, [{"edge": of(48, 16), "node": of(32, 16)}] * 3, of(32, 16), of(128, 16), ids(128), ids(128))


def routed(b=8, t=16, d=32, experts=4, f=64):
    room = b * t // experts * 2

    def loss(p, x, y):
        for q in p:
            flat = x.reshape(b * t, d)
            chance = jax.nn.softmax(flat @ q["router"])
            one = jax.nn.one_hot(chance.argmax(-1), experts)
            place = ((jnp.cumsum(one, 0) - 1) * one).sum(-1).astype(jnp.int32)
            mask = one[:, :, None] * jax.nn.one_hot(place, room)[:, None, :]
            z = jax.nn.gelu(jnp.einsum("ecd,edf->ecf", jnp.einsum("nec,nd->ecd", mask, flat), q["up"]))
            z = jnp.einsum("nec,ecd->nd", mask * chance.max(-1)[:, None, None], jnp.einsum("ecf,efd->ecd", z, q["down"]))
            x = x + z.reshape(b, t, d)
        return square(x, y)
    weights = {"router": of(d, experts), "up": of(experts, d, f), "down": of(experts, f, d)}
    return lowered(loss, [weights] * 2, of(b, t, d), of(b, t, d))


def fourier():
    def loss(p, x, y):
        for q in p:
            x = x + jnp.fft.fft2(x).real
            x = x + jax.nn.gelu(x @ q["up"]) @ q["down"]
        return square(x, y)
    return lowered(loss, [{"up": of(32, 64), "down": of(64, 32)}] * 3, of(8, 16, 32), of(8, 16, 32))


def adapters():
    def loss(p, frozen, x, y, key):
        for q, w in zip(p, frozen, strict=True):
            key, mine = jax.random.split(key)
            h = jax.nn.relu(x @ w.astype(jnp.float32) * 0.01 + (x @ q["a"]) @ q["b"])
            x = x + jnp.where(jax.random.bernoulli(mine, 0.9, h.shape), h, 0)
        return square(x, y)
    return lowered(loss, [{"a": of(32, 4), "b": of(4, 32)}] * 3, [of(32, 32, kind=jnp.int8)] * 3, of(16, 32), of(16, 32),
                   of(2, kind=jnp.uint32))


def relaxation():
    def run(a, b):
        def body(carry):
            x, i = carry
            return x + 0.1 * (b - a @ x), i + 1
        return jax.lax.while_loop(lambda c: (c[1] < 50) & (jnp.abs(b - a @ c[0]).sum() > 1e-3), body, (b, 0))[0]
    return jax.jit(run).lower(of(32, 32), of(32, 16)).as_text()


def sorting():
    def run(p, x):
        values, at = jax.lax.top_k(x @ p["w"], 4)
        return jnp.sort(x @ p["v"], -1) + jnp.take_along_axis(x, at[..., :1], -1), jnp.argsort(values, -1)
    return jax.jit(run).lower({"w": of(32, 16), "v": of(32, 16)}, of(64, 32)).as_text()


def branches():
    def run(w, x):
        x = jax.lax.fori_loop(0, 3, lambda i, x: jnp.tanh(x @ w), x)
        return jax.lax.cond(x.sum() > 0, lambda v: v @ w, lambda v: v - 1, x)
    return jax.jit(run).lower(of(16, 16), of(8, 16)).as_text()


def nothing():
    return jax.jit(lambda x: x * 2 + 1).lower(of()).as_text()


def blocks_of(where, text):
    path = os.path.join(where, "module.mlir")
    pathlib.Path(path).write_text(text)
    done = subprocess.run([TOAST, "analyze", path, "--blocks", "--json", "--mesh", "data=4"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def of_layers(found):
    """configurations of the kinds of several blocks"""
    size = {segment["kind"]: segment["blocks"] for segment in found["segments"]}
    return [kind["configurations"] for i, kind in enumerate(found["kinds"]) if size[i] > 1]


def count(where):
    for layers in (6, 24, 96):
        found = blocks_of(where, gpt(layers))
        assert len(found["blocks"]) == 4 * layers + 2 and of_layers(found) == [81, 81], (layers, of_layers(found))
        assert found["programs"] - 6 - 18 == 180, found["programs"]            # embedding, head, and what joins them to layers
    for layers in (6, 24):      # one bias by relative position for all layers
        found = blocks_of(where, gpt(layers, relative=True))
        assert len(found["blocks"]) == 4 * layers + 2 and of_layers(found) == [81, 81], (layers, of_layers(found))
    for fused in (True, False):
        few, many = (blocks_of(where, llama(layers, fused)) for layers in (6, 24))
        assert len(many["blocks"]) - len(few["blocks"]) == 18 * (len(few["blocks"]) - 2) // 6, fused
        assert few["programs"] == many["programs"] and [k["configurations"] for k in few["kinds"]] == [k["configurations"] for k in many["kinds"]]
        print(f"llama, fused {fused}: {len(few['blocks'])} blocks of 6 layers, {few['programs']} programs", flush=True)
    for make in (conditioned, translated):
        few, many = (blocks_of(where, make(layers)) for layers in (4, 12))
        assert few["programs"] == many["programs"] and len(many["blocks"]) > 2 * len(few["blocks"]), (make, few["programs"], many["programs"])
        print(f"{make.__name__}: {len(few['blocks'])} blocks of 4 layers, {few['programs']} programs", flush=True)


    for columns in (1, 2):
        few, many = (blocks_of(where, weighed(layers, columns)) for layers in (4, 12))
        assert [len(found["blocks"]) for found in (few, many)] == [(2 * columns + 1) * layers for layers in (4, 12)], columns
        assert few["programs"] == many["programs"], (columns, few["programs"], many["programs"])
        print(f"weights of {columns} columns: {len(few['blocks'])} blocks of 4 layers, {few['programs']} programs", flush=True)


def planned(where, name, text):
    path = os.path.join(where, f"{name}.mlir")
    pathlib.Path(path).write_text(text)
    for mesh in ("data=4", "data=2,model=3"):
        done = subprocess.run([TOAST, "plan", path, "--mesh", mesh, "--device", "a100-40", "--planner", "segments", "--proof", "--quiet",
                               "--outputs", "plan,report", "-o", where], capture_output=True, text=True)
        assert done.returncode == 0, (name, mesh, done.stderr)
        proof = json.loads(pathlib.Path(where, "proof.json").read_text())
        assert proof["status"] == "equal", (name, mesh, proof)
        report = json.loads(pathlib.Path(where, "report.json").read_text())
        assert report["summary"]["fits"] and report["segments"], (name, mesh)


def main():
    sys.setrecursionlimit(100000)
    with tempfile.TemporaryDirectory() as where:
        count(where)
        planned(where, "conditioned", conditioned(3))
        planned(where, "translated", translated(2))
        planned(where, "weighed", weighed(2, 2))
        for make in (scanned, recurrent, selective, image, graph, routed, fourier, adapters, relaxation, sorting, branches, nothing):
            planned(where, make.__name__, make())
            print(f"ok {make.__name__}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
