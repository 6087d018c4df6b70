#!/usr/bin/env python3
"""usage: generate_twins.py jax|torch OUT.mlir

Writes one model, a GPT's forward pass to its logits with weights as arguments, as the framework that is named lowers it: the pair in
tests/models/twins with which tests/cli/test_twins.py asks whether both get one plan. Weights of torch are [out, in], of
JAX [in, out]; else the two say the same: layer norms, fused queries, keys and values, causal softmax, gelu, a head of its own.

Needs JAX (.venv) or torch with torch_xla (.venv-torch).
"""
import pathlib
import sys

VOCABULARY, WIDTH, HEADS, LENGTH, BATCH, LAYERS = 8192, 512, 8, 256, 32, 2
HIDDEN = 4 * WIDTH


def of_jax():
    import jax
    import jax.numpy as jnp

    def norm(x, p):
        mean = x.mean(-1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(((x - mean) ** 2).mean(-1, keepdims=True) + 1e-5) * p["scale"] + p["bias"]

    def attention(x, p):
        q, k, v = jnp.moveaxis((x @ p["qkv"] + p["qkv_bias"]).reshape(*x.shape[:2], 3, HEADS, WIDTH // HEADS), 2, 0)
        scores = jnp.einsum("bshd,bthd->bhst", q, k) / (WIDTH // HEADS) ** 0.5
        scores = jnp.where(jnp.tril(jnp.ones((LENGTH, LENGTH), bool)), scores, -1e9)
        return jnp.einsum("bhst,bthd->bshd", jax.nn.softmax(scores, -1), v).reshape(x.shape) @ p["out"] + p["out_bias"]

    def forward(params, tokens):
        x = params["embed"][tokens]
        for p in params["layers"]:
            x = x + attention(norm(x, p["norm1"]), p)
            x = x + jax.nn.gelu(norm(x, p["norm2"]) @ p["up"] + p["up_bias"], approximate=False) @ p["down"] + p["down_bias"]
        return norm(x, params["norm"]) @ params["head"]
    tensor = jax.ShapeDtypeStruct
    vector = {"scale": tensor((WIDTH,), jnp.float32), "bias": tensor((WIDTH,), jnp.float32)}
    shapes = {"qkv": (WIDTH, 3 * WIDTH), "qkv_bias": (3 * WIDTH,), "out": (WIDTH, WIDTH), "out_bias": (WIDTH,), "up": (WIDTH, HIDDEN),
              "up_bias": (HIDDEN,), "down": (HIDDEN, WIDTH), "down_bias": (WIDTH,)}
    layer = {name: tensor(shape, jnp.float32) for name, shape in shapes.items()} | {"norm1": vector, "norm2": vector}
    params = {"embed": tensor((VOCABULARY, WIDTH), jnp.float32), "head": tensor((WIDTH, VOCABULARY), jnp.float32), "norm": vector,
              "layers": [layer] * LAYERS}
    return jax.jit(forward).lower(params, tensor((BATCH, LENGTH), jnp.int32)).as_text()


def of_torch():
    import torch
    import torch_gpt
    from torch_xla.stablehlo import exported_program_to_stablehlo

    tokens = torch.zeros(BATCH, LENGTH, dtype=torch.int32)
    model = torch_gpt.Gpt(VOCABULARY, WIDTH, HEADS, LAYERS)
    return exported_program_to_stablehlo(torch.export.export(model, (tokens,))).get_stablehlo_text()


def main():
    if len(sys.argv) != 3 or sys.argv[1] not in ("jax", "torch"):
        print(__doc__.split("\n")[0], file=sys.stderr)
        return 2
    pathlib.Path(sys.argv[2]).write_text({"jax": of_jax, "torch": of_torch}[sys.argv[1]]())
    return 0


if __name__ == "__main__":
    sys.exit(main())
