#!/usr/bin/env python3
"""The train steps that bench/referee holds the price against: four layers each, at widths that fill a GPU; or two, narrow ones.

Every one is loss, gradients and Adam (bfloat16 parameters, float32 moments, everything donated), as JAX prints it. They
differ in what a price can get wrong: normalisation, biases, gated or plain feed-forward, grouped heads, tied embeddings,
experts with routed tokens, attention without softmax, tables of rows, encoder and decoder, convolutions, messages in a graph. Sizes are arguments of the
family; no weights are made, only shapes.

Never a benchmark by itself: bench/referee asks for them by name.

Example:
    .venv/bin/python bench/referee_models.py models llama gpt      (needs JAX; without names: all)"""
import argparse
import functools
import pathlib

import referee_kinds
from referee_kinds import scans

SETS = {
    # name: (family, sizes)
    "gemma": ("gemma", {"width": 2048, "hidden": 16384, "heads": 8, "head": 256, "vocabulary": 256128, "batch": 32, "length": 2048}),
    "gpt": ("gpt", {"width": 2560, "hidden": 10240, "heads": 32, "head": 80, "vocabulary": 50304, "batch": 64, "length": 1024}),
    "encoder": ("gpt", {"width": 2048, "hidden": 8192, "heads": 16, "head": 128, "vocabulary": 32768, "batch": 64, "length": 1024,
                        "causal": False}),
    "llama": ("llama", {"width": 4096, "hidden": 14336, "heads": 32, "groups": 8, "head": 128, "vocabulary": 32768, "batch": 16,
                        "length": 2048}),
    "wide": ("llama", {"width": 8192, "hidden": 22016, "heads": 64, "groups": 8, "head": 128, "vocabulary": 32768, "batch": 16,
                       "length": 2048}),
    "vit": ("vit", {"width": 1536, "hidden": 6144, "heads": 16, "head": 96, "patches": 576, "pixels": 588, "classes": 1024,
                    "batch": 256}),
    "experts": ("experts", {"width": 2048, "hidden": 4096, "heads": 16, "head": 128, "experts": 16, "vocabulary": 32768, "batch": 32,
                            "length": 1024}),
    # two layers, narrow: for libtpu, which compiles slowly
    "gpt-s": ("gpt", {"layers": 2, "width": 1024, "hidden": 4096, "heads": 8, "head": 128, "vocabulary": 32768, "batch": 64, "length": 512}),
    "gemma-s": ("gemma", {"layers": 2, "width": 1024, "hidden": 8192, "heads": 4, "head": 256, "vocabulary": 65536, "batch": 32,
                          "length": 1024}),
    "llama-s": ("llama", {"layers": 2, "width": 2048, "hidden": 5632, "heads": 16, "groups": 4, "head": 128, "vocabulary": 16384,
                          "batch": 32, "length": 1024}),
    "deep-s": ("llama", {"layers": 2, "width": 4096, "hidden": 11008, "heads": 32, "groups": 8, "head": 128, "vocabulary": 32768,
                         "batch": 16, "length": 512}),
    "vit-s": ("vit", {"layers": 2, "width": 1024, "hidden": 4096, "heads": 16, "head": 64, "patches": 256, "pixels": 768,
                      "classes": 1024, "batch": 256}),
    "experts-s": ("experts", {"layers": 2, "width": 1024, "hidden": 2048, "heads": 8, "head": 128, "experts": 8, "vocabulary": 16384,
                              "batch": 32, "length": 512}),
    # kept apart: compiled when the memory rules were done
    "twin-s": ("seq2seq", {"layers": 2, "width": 1024, "hidden": 2816, "heads": 8, "head": 128, "vocabulary": 32768, "batch": 32,
                           "length": 512, "source": 512}),
    "query-s": ("grouped", {"layers": 2, "width": 1536, "hidden": 4096, "heads": 12, "groups": 4, "head": 128, "vocabulary": 24576,
                            "batch": 16, "length": 1024}),
    # .. and these when products with batches, softmax without bf16 arithmetic and results' memory were
    "small-s": ("gpt", {"layers": 2, "width": 768, "hidden": 3072, "heads": 12, "head": 64, "vocabulary": 50257, "batch": 32,
                        "length": 1024}),
    "mixture-s": ("experts", {"layers": 2, "width": 1024, "hidden": 4096, "heads": 8, "head": 128, "experts": 16, "vocabulary": 32000,
                              "batch": 16, "length": 1024}),
    "asked-s": ("grouped", {"layers": 2, "width": 2048, "hidden": 5504, "heads": 16, "groups": 8, "head": 128, "vocabulary": 32000,
                            "batch": 32, "length": 512}),
    "pair-s": ("seq2seq", {"layers": 2, "width": 768, "hidden": 2048, "heads": 12, "head": 64, "vocabulary": 32128, "batch": 64,
                           "length": 256, "source": 512}),
    "conv-s": ("convnet", {"width": 128, "pixels": 32, "classes": 1000, "batch": 512}),
    # .. and these when the scheduler's own way of counting orders and products' epilogues were
    "unet-s": ("unet", {"layers": 2, "width": 96, "pixels": 64, "batch": 128}),
    "biased-s": ("biased", {"layers": 2, "width": 1280, "hidden": 5120, "heads": 10, "groups": 2, "head": 128, "vocabulary": 40960,
                            "batch": 32, "length": 512}),
    "odd-s": ("seq2seq", {"layers": 2, "width": 1280, "hidden": 3328, "heads": 10, "head": 96, "vocabulary": 36864, "batch": 32,
                          "length": 384, "source": 768}),
    "state-s": ("state", {"layers": 2, "width": 1024, "heads": 16, "head": 128, "state": 64, "vocabulary": 32768, "batch": 32,
                          "length": 512}),
    "tables-s": ("tables", {"layers": 4, "width": 2048, "tables": 6, "rows": 400000, "entry": 128, "dense": 256, "batch": 32768}),
    "again-s": ("again", {"layers": 4, "width": 1536, "hidden": 6144, "heads": 12, "head": 128, "vocabulary": 32768, "batch": 32,
                          "length": 1024}),
    # .. and these when updates waited for readers, wide reductions were combined and rows of one array counted whole
    "blocks-s": ("blocks", {"layers": 2, "width": 1408, "hidden": 4352, "heads": 11, "head": 128, "block": 128, "vocabulary": 30080,
                            "batch": 16, "length": 1024}),
    "gates-s": ("gates", {"layers": 2, "width": 1024, "hidden": 3072, "tokens": 512, "vocabulary": 28672, "batch": 32}),
    "latents-s": ("latents", {"layers": 2, "width": 1280, "hidden": 3840, "heads": 10, "head": 128, "latents": 256, "length": 2048,
                              "features": 512, "classes": 2048, "batch": 32}),
    "seq2seq": ("seq2seq", {"width": 1536, "hidden": 4096, "heads": 12, "head": 128, "vocabulary": 65536, "batch": 64, "length": 512,
                            "source": 1024}),
    "grouped": ("grouped", {"width": 3072, "hidden": 8192, "heads": 24, "groups": 8, "head": 128, "vocabulary": 49152, "batch": 16,
                            "length": 4096}),
    "convnet": ("convnet", {"width": 256, "pixels": 64, "classes": 1024, "batch": 512}),
    "graph": ("graph", {"width": 1024, "hidden": 2048, "nodes": 65536, "edges": 524288, "features": 256, "classes": 128}),
    # nothing was fitted to these
    "narrow": ("llama", {"layers": 10, "width": 1024, "hidden": 4096, "heads": 16, "groups": 4, "head": 64, "vocabulary": 32768,
                         "batch": 64, "length": 1024}),
    "shared": ("gemma", {"width": 2048, "hidden": 8192, "heads": 16, "head": 128, "vocabulary": 32768, "batch": 32, "length": 1024}),
    "filters": ("filters", {"width": 2048, "inner": 4096, "hidden": 8192, "taps": 4, "vocabulary": 32768, "batch": 64, "length": 1024}),
    "routed": ("experts", {"width": 1536, "hidden": 6144, "heads": 12, "head": 128, "experts": 8, "vocabulary": 65536, "batch": 64,
                           "length": 512}),
    "translate": ("seq2seq", {"width": 2048, "hidden": 5632, "heads": 16, "head": 128, "vocabulary": 32768, "batch": 32, "length": 1024,
                              "source": 512}),
    # held out: made and compiled when the schedule from the end was done
    "blended": ("blended", {"layers": 2, "width": 1792, "hidden": 3584, "common": 4608, "heads": 14, "head": 128, "experts": 16,
                            "vocabulary": 40960, "batch": 32, "length": 1024}),
    "retained": ("retained", {"layers": 2, "width": 2048, "hidden": 5376, "heads": 16, "head": 128, "vocabulary": 50432, "batch": 32,
                              "length": 1024}),
    "captions": ("seq2seq", {"layers": 2, "width": 1280, "hidden": 3456, "heads": 10, "head": 128, "vocabulary": 50258, "batch": 48,
                             "length": 384, "source": 768}),
    "ranking": ("ranking", {"width": 128, "hidden": 2048, "tables": 12, "rows": 65536, "features": 256, "batch": 65536}),
    # held out of what orders, gathered rows and rematerialisation were fitted to: made and compiled when they were done
    "states": ("state", {"width": 2048, "heads": 16, "head": 128, "state": 64, "vocabulary": 32768, "batch": 64, "length": 1024}),
    "biased": ("biased", {"width": 2560, "hidden": 10240, "heads": 20, "groups": 4, "head": 128, "vocabulary": 50176, "batch": 32,
                          "length": 1024}),
    "tabled": ("tables", {"width": 2048, "tables": 8, "rows": 200000, "entry": 128, "dense": 256, "batch": 65536}),
    "again": ("again", {"width": 2560, "hidden": 10240, "heads": 20, "head": 128, "vocabulary": 32768, "batch": 64, "length": 1024}),
    # kinds that no rule came from, compiled on 2026-11-27 (referee_kinds)
    "dropped": ("dropped", {"layers": 2}), "normed": ("normed", {"layers": 6}), "depths": ("depths", {"layers": 3}),
    "crossed": ("crossed", {"layers": 4}),
    # layers under scan (referee_kinds.scans)
    "scan-s": ("scan", {"kind": "gated"}), "scan-all-s": ("scan", {"kind": "gated", "again": "all"}),
    "scan-dots-s": ("scan", {"kind": "gated", "again": "but products"}),
    "scan-plain-s": ("scan", {"kind": "plain", "again": "all, behind barriers", "layers": 6, "width": 1536, "heads": 12, "hidden": 6144,
                              "vocabulary": 50304, "length": 1024}),
    "scan-patches-s": ("scan", {"kind": "patches", "width": 1024, "hidden": 4096, "vocabulary": 1000, "batch": 128, "length": 256}),
    "scan-pieces-s": ("scan", {"kind": "plain", "again": "all", "pieces": 4, "layers": 6, "width": 1024, "heads": 8, "hidden": 4096,
                               "length": 1024}),
    "scan-routed-s": ("scan", {"kind": "routed", "again": "all", "layers": 6, "width": 1024, "heads": 16, "hidden": 2048, "length": 1024}),
    "scan-crossed-s": ("scan", {"kind": "crossed", "layers": 6, "width": 1024, "heads": 16, "hidden": 4096, "length": 512}),
    "mixer": ("mixer", {"width": 2048, "hidden": 8192, "tokens": 1024, "mixing": 4096, "pixels": 768, "classes": 1024, "batch": 256}),
}


def family(name, layers):
    """loss function and parameter shapes of a family; JAX is imported here, so that the list needs none"""
    import jax
    import jax.numpy as jnp

    bf16, f32 = jnp.bfloat16, jnp.float32
    einsum = jnp.einsum

    def rms(x, gain):
        wide = x.astype(f32)
        scale = jax.lax.rsqrt(jnp.mean(wide * wide, -1, keepdims=True) + 1e-6)
        return (wide * scale).astype(bf16) * (1 + gain)

    def layer_norm(x, gain, bias):
        wide = x.astype(f32)
        centred = wide - jnp.mean(wide, -1, keepdims=True)
        scale = jax.lax.rsqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5)
        return (centred * scale).astype(bf16) * gain + bias

    def rotate(x):
        """rotary positions on [batch, length, heads, head]"""
        half = x.shape[-1] // 2
        angle = jnp.arange(x.shape[1], dtype=f32)[:, None] * (1e4 ** (-jnp.arange(half, dtype=f32) / half))[None]
        sine, cosine = jnp.sin(angle)[:, None], jnp.cos(angle)[:, None]
        low, high = jnp.split(x.astype(f32), 2, -1)
        return jnp.concatenate([low * cosine - high * sine, high * cosine + low * sine], -1).astype(bf16)

    def attend(q, k, v, causal, wide):
        """q [batch, length, heads, head]; k, v alike; softmax in float32 where `wide`"""
        scores = einsum("bshk,bthk->bhst", q, k) * (q.shape[-1] ** -0.5)
        scores = scores.astype(f32) if wide else scores
        if causal:
            scores = jnp.where(jnp.tril(jnp.ones(scores.shape[-2:], bool)), scores, jnp.asarray(-1e9, scores.dtype))
        return einsum("bhst,bthk->bshk", jax.nn.softmax(scores).astype(bf16), v)

    def cross_entropy(logits, targets):
        logits = logits.astype(f32)
        return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, targets[..., None], -1)[..., 0])

    def names(count):
        return [f"layer_{i:02}" for i in range(count)]

    def gemma(z):
        layer = {"ln1": (z["width"],), "wq": (z["width"], z["heads"], z["head"]), "wk": (z["width"], z["head"]),
                 "wv": (z["width"], z["head"]), "wo": (z["heads"], z["head"], z["width"]), "ln2": (z["width"],),
                 "gate": (z["width"], z["hidden"]), "up": (z["width"], z["hidden"]), "down": (z["hidden"], z["width"])}

        def loss(p, tokens):
            x = p["embed"][tokens[:, :-1]]
            for n in names(layers):
                w = p[n]
                h = rms(x, w["ln1"])
                q = rotate(einsum("bsd,dhk->bshk", h, w["wq"]))
                k = rotate((h @ w["wk"])[:, :, None])
                scores = einsum("bshk,btk->bhst", q, k[:, :, 0]) * (z["head"] ** -0.5)
                mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
                a = jax.nn.softmax(jnp.where(mask, scores.astype(f32), -1e9)).astype(bf16)
                x = x + einsum("bshk,hkd->bsd", einsum("bhst,btk->bshk", a, h @ w["wv"]), w["wo"])
                h = rms(x, w["ln2"])
                x = x + (jax.nn.gelu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]
            return cross_entropy(rms(x, p["final"]) @ p["embed"].T, tokens[:, 1:])

        outer = {"embed": (z["vocabulary"], z["width"]), "final": (z["width"],)}
        return outer, layer, loss, [((z["batch"], z["length"] + 1), jnp.int32)]

    def gpt(z):
        d = z["heads"] * z["head"]
        layer = {"ln1": (z["width"],), "ln1b": (z["width"],), "qkv": (z["width"], 3 * d), "qkvb": (3 * d,), "out": (d, z["width"]),
                 "outb": (z["width"],), "ln2": (z["width"],), "ln2b": (z["width"],), "up": (z["width"], z["hidden"]),
                 "upb": (z["hidden"],), "down": (z["hidden"], z["width"]), "downb": (z["width"],)}

        def loss(p, tokens):
            x = p["embed"][tokens[:, :-1]] + p["position"]
            for n in names(layers):
                w = p[n]
                qkv = layer_norm(x, w["ln1"], w["ln1b"]) @ w["qkv"] + w["qkvb"]
                q, k, v = (t.reshape(*t.shape[:2], z["heads"], z["head"]) for t in jnp.split(qkv, 3, -1))
                a = attend(q, k, v, z.get("causal", True), True)
                x = x + a.reshape(*a.shape[:2], d) @ w["out"] + w["outb"]
                h = layer_norm(x, w["ln2"], w["ln2b"])
                x = x + jax.nn.gelu(h @ w["up"] + w["upb"]) @ w["down"] + w["downb"]
            return cross_entropy(layer_norm(x, p["final"], p["finalb"]) @ p["embed"].T, tokens[:, 1:])

        outer = {"embed": (z["vocabulary"], z["width"]), "position": (z["length"], z["width"]), "final": (z["width"],),
                 "finalb": (z["width"],)}
        return outer, layer, loss, [((z["batch"], z["length"] + 1), jnp.int32)]

    def llama(z):
        layer = {"ln1": (z["width"],), "wq": (z["width"], z["heads"], z["head"]), "wk": (z["width"], z["groups"], z["head"]),
                 "wv": (z["width"], z["groups"], z["head"]), "wo": (z["heads"], z["head"], z["width"]), "ln2": (z["width"],),
                 "gate": (z["width"], z["hidden"]), "up": (z["width"], z["hidden"]), "down": (z["hidden"], z["width"])}

        def loss(p, tokens):
            x = p["embed"][tokens[:, :-1]]
            for n in names(layers):
                w = p[n]
                h = rms(x, w["ln1"])
                q = rotate(einsum("bsd,dhk->bshk", h, w["wq"]))
                k = rotate(einsum("bsd,dgk->bsgk", h, w["wk"]))
                v = einsum("bsd,dgk->bsgk", h, w["wv"])
                k, v = (jnp.repeat(t, z["heads"] // z["groups"], 2) for t in (k, v))
                x = x + einsum("bshk,hkd->bsd", attend(q, k, v, True, False), w["wo"])
                h = rms(x, w["ln2"])
                x = x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]
            return cross_entropy(rms(x, p["final"]) @ p["head"], tokens[:, 1:])

        outer = {"embed": (z["vocabulary"], z["width"]), "head": (z["width"], z["vocabulary"]), "final": (z["width"],)}
        return outer, layer, loss, [((z["batch"], z["length"] + 1), jnp.int32)]

    def vit(z):
        d = (z["width"], z["heads"], z["head"])
        layer = {"ln1": (z["width"],), "ln1b": (z["width"],), "wq": d, "wk": d, "wv": d, "wo": (z["heads"], z["head"], z["width"]),
                 "ln2": (z["width"],), "ln2b": (z["width"],), "up": (z["width"], z["hidden"]), "upb": (z["hidden"],),
                 "down": (z["hidden"], z["width"]), "downb": (z["width"],)}

        def loss(p, images, labels):
            x = images @ p["patch"] + p["position"]
            for n in names(layers):
                w = p[n]
                h = layer_norm(x, w["ln1"], w["ln1b"])
                q, k, v = (einsum("bsd,dhk->bshk", h, w[t]) for t in ("wq", "wk", "wv"))
                x = x + einsum("bshk,hkd->bsd", attend(q, k, v, False, True), w["wo"])
                h = layer_norm(x, w["ln2"], w["ln2b"])
                x = x + jax.nn.gelu(h @ w["up"] + w["upb"]) @ w["down"] + w["downb"]
            return cross_entropy(jnp.mean(x, 1) @ p["head"], labels)

        outer = {"patch": (z["pixels"], z["width"]), "position": (z["patches"], z["width"]), "head": (z["width"], z["classes"])}
        return outer, layer, loss, [((z["batch"], z["patches"], z["pixels"]), bf16), ((z["batch"],), jnp.int32)]

    def experts(z):
        d = (z["width"], z["heads"], z["head"])
        layer = {"ln1": (z["width"],), "wq": d, "wk": d, "wv": d, "wo": (z["heads"], z["head"], z["width"]), "ln2": (z["width"],),
                 "router": (z["width"], z["experts"]), "up": (z["experts"], z["width"], z["hidden"]),
                 "down": (z["experts"], z["hidden"], z["width"])}
        room = 2 * z["length"] // z["experts"]

        def route(h, w):
            """each token to one expert that still has room in this row: dispatch and combine as two matmuls"""
            weight = jax.nn.softmax((h @ w["router"]).astype(f32))
            chosen = jax.nn.one_hot(jnp.argmax(weight, -1), z["experts"], dtype=f32)
            place = jnp.cumsum(chosen, 1) * chosen - 1
            slot = jax.nn.one_hot(place.astype(jnp.int32), room, dtype=bf16) * chosen.astype(bf16)[..., None]
            gate = jnp.sum(weight * chosen, -1).astype(bf16)
            inside = jax.nn.gelu(einsum("ebcd,edf->ebcf", einsum("bsec,bsd->ebcd", slot, h), w["up"]))
            return einsum("bsec,ebcd->bsd", slot * gate[..., None, None], einsum("ebcf,efd->ebcd", inside, w["down"]))

        def loss(p, tokens):
            x = p["embed"][tokens[:, :-1]]
            for n in names(layers):
                w = p[n]
                h = rms(x, w["ln1"])
                q, k, v = (einsum("bsd,dhk->bshk", h, w[t]) for t in ("wq", "wk", "wv"))
                x = x + einsum("bshk,hkd->bsd", attend(rotate(q), rotate(k), v, True, True), w["wo"])
                x = x + route(rms(x, w["ln2"]), w)
            return cross_entropy(rms(x, p["final"]) @ p["embed"].T, tokens[:, 1:])

        outer = {"embed": (z["vocabulary"], z["width"]), "final": (z["width"],)}
        return outer, layer, loss, [((z["batch"], z["length"] + 1), jnp.int32)]

    def blended(z):
        """each token to one expert, and all of them through one that is common, beside it"""
        outer, layer, _, inputs = experts(z)
        layer |= {"gate": (z["width"], z["common"]), "in": (z["width"], z["common"]), "out": (z["common"], z["width"])}
        room = 2 * z["length"] // z["experts"]

        def loss(p, tokens):
            x = p["embed"][tokens[:, :-1]]
            for n in names(layers):
                w = p[n]
                h = rms(x, w["ln1"])
                q, k, v = (einsum("bsd,dhk->bshk", h, w[t]) for t in ("wq", "wk", "wv"))
                x = x + einsum("bshk,hkd->bsd", attend(rotate(q), rotate(k), v, True, True), w["wo"])
                h = rms(x, w["ln2"])
                weight = jax.nn.softmax((h @ w["router"]).astype(f32))
                chosen = jax.nn.one_hot(jnp.argmax(weight, -1), z["experts"], dtype=f32)
                place = (jnp.cumsum(chosen, 1) * chosen - 1).astype(jnp.int32)
                slot = jax.nn.one_hot(place, room, dtype=bf16) * chosen.astype(bf16)[..., None]
                inside = jax.nn.gelu(einsum("ebcd,edf->ebcf", einsum("bsec,bsd->ebcd", slot, h), w["up"]))
                routed = einsum("bsec,ebcd->bsd", slot * jnp.sum(weight * chosen, -1).astype(bf16)[..., None, None],
                                einsum("ebcf,efd->ebcd", inside, w["down"]))
                x = x + routed + (jax.nn.silu(h @ w["gate"]) * (h @ w["in"])) @ w["out"]
            return cross_entropy(rms(x, p["final"]) @ p["embed"].T, tokens[:, 1:])

        return outer, layer, loss, inputs

    def retained(z):
        """attention without softmax: products of queries and keys fade with distance, heads are normalised and gated"""
        d = (z["width"], z["heads"], z["head"])
        layer = {"ln1": (z["width"],), "wq": d, "wk": d, "wv": d, "wg": d, "ln": (z["heads"], z["head"]),
                 "wo": (z["heads"], z["head"], z["width"]), "ln2": (z["width"],), "gate": (z["width"], z["hidden"]),
                 "up": (z["width"], z["hidden"]), "down": (z["hidden"], z["width"])}

        def loss(p, tokens):
            x = p["embed"][tokens[:, :-1]]
            place = jnp.arange(z["length"], dtype=f32)
            apart = place[:, None] - place[None]
            fade = jnp.log1p(-(2.0 ** (-5.0 - jnp.arange(z["heads"], dtype=f32) / 2)))
            decay = jnp.where(apart >= 0, jnp.exp(apart[None] * fade[:, None, None]), 0.0).astype(bf16)
            for n in names(layers):
                w = p[n]
                h = rms(x, w["ln1"])
                q, k, v, g = (einsum("bsd,dhk->bshk", h, w[t]) for t in ("wq", "wk", "wv", "wg"))
                scores = einsum("bshk,bthk->bhst", rotate(q), rotate(k)) * (z["head"] ** -0.5) * decay
                kept = rms(einsum("bhst,bthk->bshk", scores, v), w["ln"]) * jax.nn.silu(g)
                x = x + einsum("bshk,hkd->bsd", kept, w["wo"])
                h = rms(x, w["ln2"])
                x = x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]
            return cross_entropy(rms(x, p["final"]) @ p["embed"].T, tokens[:, 1:])

        outer = {"embed": (z["vocabulary"], z["width"]), "final": (z["width"],)}
        return outer, layer, loss, [((z["batch"], z["length"] + 1), jnp.int32)]

    def ranking(z):
        """rows of many tables and dense features, their products in pairs, and plain layers above"""
        pairs = (z["tables"] + 1) ** 2
        layer = {"ln": (z["hidden"],), "in": (z["hidden"], z["hidden"]), "out": (z["hidden"], z["hidden"]), "bias": (z["hidden"],)}

        def loss(p, features, rows, clicked):
            dense = jax.nn.relu(features @ p["dense"]) @ p["narrow"]
            looked = p["tables"].reshape(-1, z["width"])[rows + z["rows"] * jnp.arange(z["tables"])]
            vectors = jnp.concatenate([dense[:, None], looked], 1)
            products = einsum("bik,bjk->bij", vectors, vectors).reshape(-1, pairs)
            x = products @ p["wide"] + dense @ p["skip"]
            for n in names(layers):
                w = p[n]
                x = x + jax.nn.relu(rms(x, w["ln"]) @ w["in"] + w["bias"]) @ w["out"]
            said = (x @ p["head"]).astype(f32)[:, 0]
            return jnp.mean(jax.nn.softplus(said) - said * clicked)

        outer = {"dense": (z["features"], z["hidden"]), "narrow": (z["hidden"], z["width"]), "tables": (z["tables"], z["rows"], z["width"]),
                 "wide": (pairs, z["hidden"]), "skip": (z["width"], z["hidden"]), "head": (z["hidden"], 1)}
        return outer, layer, loss, [((z["batch"], z["features"]), bf16), ((z["batch"], z["tables"]), jnp.int32), ((z["batch"],), f32)]

    def mixer(z):
        layer = {"ln1": (z["width"],), "ln1b": (z["width"],), "mix": (z["tokens"], z["mixing"]), "unmix": (z["mixing"], z["tokens"]),
                 "ln2": (z["width"],), "ln2b": (z["width"],), "up": (z["width"], z["hidden"]), "down": (z["hidden"], z["width"])}

        def loss(p, images, labels):
            x = images @ p["patch"]
            for n in names(layers):
                w = p[n]
                h = jnp.swapaxes(layer_norm(x, w["ln1"], w["ln1b"]), 1, 2)
                x = x + jnp.swapaxes(jax.nn.gelu(h @ w["mix"]) @ w["unmix"], 1, 2)
                x = x + jax.nn.gelu(layer_norm(x, w["ln2"], w["ln2b"]) @ w["up"]) @ w["down"]
            return cross_entropy(jnp.mean(x, 1) @ p["head"], labels)

        outer = {"patch": (z["pixels"], z["width"]), "head": (z["width"], z["classes"])}
        return outer, layer, loss, [((z["batch"], z["tokens"], z["pixels"]), bf16), ((z["batch"],), jnp.int32)]

    def seq2seq(z):
        d = (z["width"], z["heads"], z["head"])
        block = {"ln": (z["width"],), "wq": d, "wk": d, "wv": d, "wo": (z["heads"], z["head"], z["width"])}
        forward = {"ln": (z["width"],), "gate": (z["width"], z["hidden"]), "up": (z["width"], z["hidden"]), "down": (z["hidden"], z["width"])}
        layer = {"own": block, "cross": block, "mlp": forward, "encoder": block, "encoder_mlp": forward}

        def attention(w, x, y, causal):
            """x asks y, which is x itself or the encoder's output"""
            h = rms(x, w["ln"])
            y = h if y is None else y
            q, k, v = einsum("bsd,dhk->bshk", h, w["wq"]), einsum("btd,dhk->bthk", y, w["wk"]), einsum("btd,dhk->bthk", y, w["wv"])
            return x + einsum("bshk,hkd->bsd", attend(q, k, v, causal, True), w["wo"])

        def feed(w, x):
            h = rms(x, w["ln"])
            return x + (jax.nn.gelu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]

        def loss(p, source, tokens):
            y = p["embed"][source]
            for n in names(layers):
                y = feed(p[n]["encoder_mlp"], attention(p[n]["encoder"], y, None, False))
            y = rms(y, p["encoded"])
            x = p["embed"][tokens[:, :-1]]
            for n in names(layers):
                x = feed(p[n]["mlp"], attention(p[n]["cross"], attention(p[n]["own"], x, None, True), y, False))
            return cross_entropy(rms(x, p["final"]) @ p["head"], tokens[:, 1:])

        outer = {"embed": (z["vocabulary"], z["width"]), "head": (z["width"], z["vocabulary"]), "final": (z["width"],),
                 "encoded": (z["width"],)}
        return outer, layer, loss, [((z["batch"], z["source"]), jnp.int32), ((z["batch"], z["length"] + 1), jnp.int32)]

    def grouped(z):
        """queries in groups that share keys, both normalised; no key is repeated"""
        each = z["heads"] // z["groups"]
        layer = {"ln1": (z["width"],), "wq": (z["width"], z["groups"], each, z["head"]), "wk": (z["width"], z["groups"], z["head"]),
                 "wv": (z["width"], z["groups"], z["head"]), "wo": (z["groups"], each, z["head"], z["width"]), "nq": (z["head"],),
                 "nk": (z["head"],), "ln2": (z["width"],), "gate": (z["width"], z["hidden"]), "up": (z["width"], z["hidden"]),
                 "down": (z["hidden"], z["width"])}

        def loss(p, tokens):
            x = p["embed"][tokens[:, :-1]]
            for n in names(layers):
                w = p[n]
                h = rms(x, w["ln1"])
                q = einsum("bsd,dghk->bsghk", h, w["wq"])
                q = rotate(rms(q, w["nq"]).reshape(*q.shape[:2], -1, z["head"])).reshape(q.shape)
                k = rotate(rms(einsum("bsd,dgk->bsgk", h, w["wk"]), w["nk"]))
                scores = einsum("bsghk,btgk->bghst", q, k).astype(f32) * (z["head"] ** -0.5)
                mask = jnp.tril(jnp.ones(scores.shape[-2:], bool))
                a = jax.nn.softmax(jnp.where(mask, scores, -1e30)).astype(bf16)
                x = x + einsum("bsghk,ghkd->bsd", einsum("bghst,btgk->bsghk", a, einsum("bsd,dgk->bsgk", h, w["wv"])), w["wo"])
                h = rms(x, w["ln2"])
                x = x + (jax.nn.silu(h @ w["gate"]) * (h @ w["up"])) @ w["down"]
            return cross_entropy(rms(x, p["final"]) @ p["embed"].T, tokens[:, 1:])

        outer = {"embed": (z["vocabulary"], z["width"]), "final": (z["width"],)}
        return outer, layer, loss, [((z["batch"], z["length"] + 1), jnp.int32)]

    def convnet(z):
        """residual blocks of two 3 x 3 convolutions with group norm, half as many pixels after every second"""
        layer = {"first": (3, 3, z["width"], z["width"]), "second": (3, 3, z["width"], z["width"]), "gain": (z["width"],),
                 "bias": (z["width"],), "wide": (z["width"], 4 * z["width"]), "narrow": (4 * z["width"], z["width"])}

        def convolve(x, kernel, stride=1):
            return jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

        def norm(x, gain, bias):
            wide = x.astype(f32).reshape(*x.shape[:3], 32, -1)
            centred = wide - jnp.mean(wide, (1, 2, 4), keepdims=True)
            scale = jax.lax.rsqrt(jnp.mean(centred * centred, (1, 2, 4), keepdims=True) + 1e-5)
            return (centred * scale).reshape(x.shape).astype(bf16) * gain + bias

        def loss(p, images, labels):
            x = convolve(images, p["stem"])
            for i, n in enumerate(names(layers)):
                w = p[n]
                h = jax.nn.relu(norm(convolve(x, w["first"], 1 + i % 2), w["gain"], w["bias"]))
                x = (x[:, ::2, ::2] if i % 2 else x) + convolve(h, w["second"])
                x = x + jax.nn.gelu(x @ w["wide"]) @ w["narrow"]
            return cross_entropy(jnp.mean(x, (1, 2)) @ p["head"], labels)

        outer = {"stem": (3, 3, 4, z["width"]), "head": (z["width"], z["classes"])}
        return outer, layer, loss, [((z["batch"], z["pixels"], z["pixels"], 4), bf16), ((z["batch"],), jnp.int32)]

    def filters(z):
        """a gated causal filter of each feature along the sequence instead of attention, as state space models have it"""
        layer = {"ln1": (z["width"],), "wide": (z["width"], z["inner"]), "gate": (z["width"], z["inner"]), "taps": (z["taps"], z["inner"]),
                 "narrow": (z["inner"], z["width"]), "ln2": (z["width"],), "up": (z["width"], z["hidden"]), "down": (z["hidden"], z["width"])}

        def loss(p, tokens):
            x = p["embed"][tokens[:, :-1]]
            for n in names(layers):
                w = p[n]
                h = rms(x, w["ln1"])
                wide = jnp.pad(h @ w["wide"], ((0, 0), (z["taps"] - 1, 0), (0, 0)))
                wide = sum(wide[:, i:i + z["length"]] * w["taps"][i] for i in range(z["taps"]))
                x = x + (jax.nn.silu(wide) * jax.nn.silu(h @ w["gate"])) @ w["narrow"]
                x = x + jax.nn.gelu(rms(x, w["ln2"]) @ w["up"]) @ w["down"]
            return cross_entropy(rms(x, p["final"]) @ p["head"], tokens[:, 1:])

        outer = {"embed": (z["vocabulary"], z["width"]), "head": (z["width"], z["vocabulary"]), "final": (z["width"],)}
        return outer, layer, loss, [((z["batch"], z["length"] + 1), jnp.int32)]

    def graph(z):
        """messages along edges by a small network, summed at the nodes, by which the nodes are updated"""
        layer = {"ln": (z["width"],), "sent": (z["width"], z["hidden"]), "got": (z["width"], z["hidden"]), "message": (z["hidden"], z["width"]),
                 "old": (z["width"], z["hidden"]), "new": (z["width"], z["hidden"]), "update": (z["hidden"], z["width"])}

        def loss(p, features, senders, receivers, labels):
            x = features @ p["encode"]
            for n in names(layers):
                w = p[n]
                h = rms(x, w["ln"])
                message = jax.nn.silu((h @ w["sent"])[senders] + (h @ w["got"])[receivers]) @ w["message"]
                summed = jax.ops.segment_sum(message, receivers, z["nodes"])
                x = x + jax.nn.silu(h @ w["old"] + summed @ w["new"]) @ w["update"]
            return cross_entropy(x @ p["head"], labels)

        outer = {"encode": (z["features"], z["width"]), "head": (z["width"], z["classes"])}
        return outer, layer, loss, [((z["nodes"], z["features"]), bf16), ((z["edges"],), jnp.int32), ((z["edges"],), jnp.int32),
                                    ((z["nodes"],), jnp.int32)]

    def unet(z):
        """convolutions down to a quarter of the pixels and up again, each level joined to its like; the layers stand at the bottom"""
        low = 4 * z["width"]
        layer = {"gain": (low,), "bias": (low,), "first": (3, 3, low, low), "second": (3, 3, low, low)}

        def convolve(x, kernel, stride=1):
            return jax.lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

        def larger(x):
            return jnp.repeat(jnp.repeat(x, 2, 1), 2, 2)

        def loss(p, images, noise):
            top = jax.nn.silu(convolve(images, p["stem"]))
            middle = jax.nn.silu(convolve(top, p["down_1"], 2))
            x = jax.nn.silu(convolve(middle, p["down_2"], 2))
            for n in names(layers):
                w = p[n]
                x = x + convolve(jax.nn.silu(convolve(layer_norm(x, w["gain"], w["bias"]), w["first"])), w["second"])
            x = jax.nn.silu(convolve(jnp.concatenate([larger(x), middle], -1), p["up_2"]))
            x = jax.nn.silu(convolve(jnp.concatenate([larger(x), top], -1), p["up_1"]))
            return jnp.mean((convolve(x, p["last"]) - noise).astype(f32) ** 2)

        w = z["width"]
        outer = {"stem": (3, 3, 4, w), "down_1": (3, 3, w, 2 * w), "down_2": (3, 3, 2 * w, low), "up_2": (3, 3, low + 2 * w, 2 * w),
                 "up_1": (3, 3, 3 * w, w), "last": (3, 3, w, 4)}
        image = (z["batch"], z["pixels"], z["pixels"], 4)
        return outer, layer, loss, [(image, bf16), (image, bf16)]

    def biased(z):
        """grouped queries whose projections have biases; squared rectifiers"""
        layer = {"ln1": (z["width"],), "ln1b": (z["width"],), "wq": (z["width"], z["heads"], z["head"]), "bq": (z["heads"], z["head"]),
                 "wk": (z["width"], z["groups"], z["head"]), "bk": (z["groups"], z["head"]), "wv": (z["width"], z["groups"], z["head"]),
                 "bv": (z["groups"], z["head"]), "wo": (z["heads"], z["head"], z["width"]), "ln2": (z["width"],), "ln2b": (z["width"],),
                 "up": (z["width"], z["hidden"]), "down": (z["hidden"], z["width"])}

        def loss(p, tokens):
            x = p["embed"][tokens[:, :-1]]
            for n in names(layers):
                w = p[n]
                h = layer_norm(x, w["ln1"], w["ln1b"])
                q = rotate(einsum("bsd,dhk->bshk", h, w["wq"]) + w["bq"])
                k, v = (einsum("bsd,dgk->bsgk", h, w[a]) + w[b] for a, b in (("wk", "bk"), ("wv", "bv")))
                k, v = (jnp.repeat(t, z["heads"] // z["groups"], 2) for t in (rotate(k), v))
                x = x + einsum("bshk,hkd->bsd", attend(q, k, v, True, True), w["wo"])
                x = x + jnp.square(jax.nn.relu(layer_norm(x, w["ln2"], w["ln2b"]) @ w["up"])) @ w["down"]
            return cross_entropy(layer_norm(x, p["final"], p["finalb"]) @ p["head"], tokens[:, 1:])

        outer = {"embed": (z["vocabulary"], z["width"]), "head": (z["width"], z["vocabulary"]), "final": (z["width"],),
                 "finalb": (z["width"],)}
        return outer, layer, loss, [((z["batch"], z["length"] + 1), jnp.int32)]

    def state(z):
        """a state space of each head, as one product with a matrix of decays instead of a scan; gated"""
        d = (z["width"], z["heads"], z["head"])
        layer = {"ln": (z["width"],), "value": d, "gate": d, "read": (z["width"], z["state"]), "write": (z["width"], z["state"]),
                 "decay": (z["width"], z["heads"]), "out": (z["heads"], z["head"], z["width"])}

        def loss(p, tokens):
            x = p["embed"][tokens[:, :-1]]
            for n in names(layers):
                w = p[n]
                h = rms(x, w["ln"])
                v, g = (einsum("bsd,dhk->bshk", h, w[t]) for t in ("value", "gate"))
                total = jnp.cumsum(-jax.nn.softplus((h @ w["decay"]).astype(f32)), 1)
                mask = jnp.tril(jnp.ones((z["length"], z["length"]), bool))[:, :, None]
                kept = jnp.exp(jnp.where(mask, total[:, :, None] - total[:, None], -1e9)).astype(bf16)
                mixed = kept * einsum("bsn,btn->bst", h @ w["read"], h @ w["write"])[..., None]
                x = x + einsum("bshk,hkd->bsd", einsum("bsth,bthk->bshk", mixed, v) * jax.nn.silu(g), w["out"])
            return cross_entropy(rms(x, p["final"]) @ p["embed"].T, tokens[:, 1:])

        outer = {"embed": (z["vocabulary"], z["width"]), "final": (z["width"],)}
        return outer, layer, loss, [((z["batch"], z["length"] + 1), jnp.int32)]

    def tables(z):
        """a recommender: one entry of each of several tables, and numbers, through a network to one probability"""
        layer = {"ln": (z["width"],), "weight": (z["width"], z["width"]), "bias": (z["width"],)}
        each = [f"table_{i}" for i in range(z["tables"])]

        def loss(p, numbers, keys, clicked):
            entries = jnp.concatenate([p[t][keys[:, i]] for i, t in enumerate(each)] + [numbers @ p["numbers"]], -1)
            x = entries @ p["first"]
            for n in names(layers):
                x = x + jax.nn.relu(rms(x, p[n]["ln"]) @ p[n]["weight"] + p[n]["bias"])
            score = (x @ p["last"])[:, 0].astype(f32)
            return jnp.mean(jax.nn.softplus(score) - score * clicked)

        outer = {**dict.fromkeys(each, (z["rows"], z["entry"])), "numbers": (z["dense"], z["entry"]),
                 "first": ((z["tables"] + 1) * z["entry"], z["width"]), "last": (z["width"], 1)}
        return outer, layer, loss, [((z["batch"], z["dense"]), bf16), ((z["batch"], z["tables"]), jnp.int32), ((z["batch"],), f32)]

    def again(z):
        """a decoder each of whose layers is computed again in the backward pass"""
        layer = {"ln1": (z["width"],), "qkv": (z["width"], 3, z["heads"], z["head"]), "wo": (z["heads"], z["head"], z["width"]),
                 "ln2": (z["width"],), "up": (z["width"], z["hidden"]), "down": (z["hidden"], z["width"])}

        @jax.checkpoint
        def block(x, w):
            q, k, v = (t[:, :, 0] for t in jnp.split(einsum("bsd,dthk->bsthk", rms(x, w["ln1"]), w["qkv"]), 3, 2))
            x = x + einsum("bshk,hkd->bsd", attend(rotate(q), rotate(k), v, True, True), w["wo"])
            return x + jax.nn.gelu(rms(x, w["ln2"]) @ w["up"]) @ w["down"]

        def loss(p, tokens):
            x = p["embed"][tokens[:, :-1]]
            for n in names(layers):
                x = block(x, p[n])
            return cross_entropy(rms(x, p["final"]) @ p["embed"].T, tokens[:, 1:])

        outer = {"embed": (z["vocabulary"], z["width"]), "final": (z["width"],)}
        return outer, layer, loss, [((z["batch"], z["length"] + 1), jnp.int32)]

    def blocks(z):
        """a decoder that attends within blocks of the sequence alone; squared rectifiers, one table of words"""
        d = (z["width"], z["heads"], z["head"])
        layer = {"ln1": (z["width"],), "wq": d, "wk": d, "wv": d, "wo": (z["heads"], z["head"], z["width"]), "ln2": (z["width"],),
                 "up": (z["width"], z["hidden"]), "down": (z["hidden"], z["width"])}

        def loss(p, tokens):
            x = p["embed"][tokens[:, :-1]]
            for n in names(layers):
                w = p[n]
                h = rms(x, w["ln1"]).reshape(-1, z["block"], z["width"])
                q, k, v = (einsum("bsd,dhk->bshk", h, w[t]) for t in ("wq", "wk", "wv"))
                mixed = einsum("bshk,hkd->bsd", attend(rotate(q), rotate(k), v, True, True), w["wo"])
                x = x + mixed.reshape(x.shape)
                x = x + jnp.square(jax.nn.relu(rms(x, w["ln2"]) @ w["up"])) @ w["down"]
            return cross_entropy(rms(x, p["final"]) @ p["embed"].T, tokens[:, 1:])

        outer = {"embed": (z["vocabulary"], z["width"]), "final": (z["width"],)}
        return outer, layer, loss, [((z["batch"], z["length"] + 1), jnp.int32)]

    def gates(z):
        """no attention: half of each feed-forward layer, mixed over the positions, gates the other half"""
        half = z["hidden"] // 2
        layer = {"ln": (z["width"],), "lnb": (z["width"],), "up": (z["width"], z["hidden"]), "inner": (half,), "innerb": (half,),
                 "mix": (z["tokens"], z["tokens"]), "lift": (z["tokens"],), "down": (half, z["width"])}

        def loss(p, tokens):
            x = p["embed"][tokens[:, :-1]]
            for n in names(layers):
                w = p[n]
                kept, gate = jnp.split(jax.nn.gelu(layer_norm(x, w["ln"], w["lnb"]) @ w["up"]), 2, -1)
                gate = einsum("ts,bsd->btd", jnp.tril(w["mix"]), layer_norm(gate, w["inner"], w["innerb"])) + w["lift"][:, None]
                x = x + (kept * gate) @ w["down"]
            return cross_entropy(layer_norm(x, p["final"], p["finalb"]) @ p["head"], tokens[:, 1:])

        outer = {"embed": (z["vocabulary"], z["width"]), "head": (z["width"], z["vocabulary"]), "final": (z["width"],),
                 "finalb": (z["width"],)}
        return outer, layer, loss, [((z["batch"], z["tokens"] + 1), jnp.int32)]

    def latents(z):
        """a few learned rows that read a long sequence, then themselves; one class of their mean"""
        d, back = (z["width"], z["heads"], z["head"]), (z["heads"], z["head"], z["width"])
        layer = {"ln1": (z["width"],), "wq": d, "wk": (z["features"], *d[1:]), "wv": (z["features"], *d[1:]), "wo": back,
                 "ln2": (z["width"],), "own_q": d, "own_k": d, "own_v": d, "own_o": back, "ln3": (z["width"],),
                 "up": (z["width"], z["hidden"]), "down": (z["hidden"], z["width"])}

        def loss(p, values, labels):
            x = jnp.broadcast_to(p["rows"], (z["batch"], *p["rows"].shape))
            for n in names(layers):
                w = p[n]
                q = einsum("bsd,dhk->bshk", rms(x, w["ln1"]), w["wq"])
                k, v = (einsum("btf,fhk->bthk", values, w[t]) for t in ("wk", "wv"))
                x = x + einsum("bshk,hkd->bsd", attend(q, k, v, False, True), w["wo"])
                h = rms(x, w["ln2"])
                q, k, v = (einsum("bsd,dhk->bshk", h, w[t]) for t in ("own_q", "own_k", "own_v"))
                x = x + einsum("bshk,hkd->bsd", attend(q, k, v, False, True), w["own_o"])
                x = x + jax.nn.gelu(rms(x, w["ln3"]) @ w["up"]) @ w["down"]
            return cross_entropy(jnp.mean(x, 1) @ p["head"], labels)

        outer = {"rows": (z["latents"], z["width"]), "head": (z["width"], z["classes"])}
        return outer, layer, loss, [((z["batch"], z["length"], z["features"]), bf16), ((z["batch"],), jnp.int32)]

    made = {"gemma": gemma, "gpt": gpt, "llama": llama, "vit": vit, "experts": experts, "mixer": mixer, "seq2seq": seq2seq,
            "grouped": grouped, "convnet": convnet, "graph": graph, "filters": filters, "blended": blended,
            "retained": retained, "ranking": ranking, "unet": unet, "biased": biased, "state": state, "tables": tables, "again": again,
            "blocks": blocks, "gates": gates, "latents": latents, **referee_kinds.families(layers)}
    return made[name], names(layers)


def train_step(gradients):
    """(parameters, first moments, second moments, count, inputs) -> the same, updated by Adam, and the loss, of
    (parameters, inputs) -> loss and gradients"""
    import jax
    import jax.numpy as jnp

    def step(params, first, second, count, *inputs):
        value, grads = gradients(params, *inputs)
        count = count + 1
        wide = jax.tree.map(lambda g: g.astype(jnp.float32), grads)
        first = jax.tree.map(lambda a, g: 0.9 * a + 0.1 * g, first, wide)
        second = jax.tree.map(lambda a, g: 0.95 * a + 0.05 * g * g, second, wide)
        low, high = 1 - 0.9 ** count.astype(jnp.float32), 1 - 0.95 ** count.astype(jnp.float32)
        params = jax.tree.map(lambda p, a, b: (p - 3e-4 * (a / low) / (jnp.sqrt(b / high) + 1e-8)).astype(p.dtype), params, first, second)
        return params, first, second, count, value

    return step


def unrolled(which, sizes, layers):
    """as scans.made"""
    import jax

    make, names = family(which, sizes.get("layers", layers))
    outer, layer, loss, inputs = make(sizes)
    return jax.value_and_grad(loss), {**outer, **{n: layer for n in names}}, inputs


@functools.cache
def lower(name, layers=4):
    """StableHLO text of a set's train step"""
    import jax
    import jax.numpy as jnp

    which, sizes = SETS[name]
    scanned = which == "scan"
    gradients, shapes, inputs = scans.made(**sizes) if scanned else unrolled(which, sizes, layers)

    def tree(dtype):
        return jax.tree.map(lambda s: jax.ShapeDtypeStruct(s, dtype), shapes, is_leaf=lambda s: isinstance(s, tuple))

    arguments = [tree(jnp.float32 if scanned else jnp.bfloat16), tree(jnp.float32), tree(jnp.float32), jax.ShapeDtypeStruct((), jnp.int32)]
    arguments += [jax.ShapeDtypeStruct(shape, dtype) for shape, dtype in inputs]
    return jax.jit(train_step(gradients), donate_argnums=(0, 1, 2, 3), keep_unused=True).lower(*arguments).as_text()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(SETS)}")
    parser.add_argument("--layers", type=int, default=4)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or SETS:
        path = options.folder / f"{name}.mlir"
        path.write_text(lower(name, options.layers))
        print(path)


if __name__ == "__main__":
    main()
