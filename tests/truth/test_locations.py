#!/usr/bin/env python3
# label: truth
# timeout: 600
"""What profilers show of an emitted module is what they show of the input: XLA's op_name of every matrix product.

JAX lowers train steps with their locations; each form of several plans is compiled by XLA for eight CPU devices. A dot's op_name
must be one that XLA gives the input's dots (its own passes fold transposes into dots and name them so: these count as
the input's too), every name of the input's dots must be there (of what is computed twice, where XLA keeps one of the two, at least in
the text), collectives must be named after a value of the input, and arguments keep their names and attributes. A module without locations must come out without.
"""
import os
import re
import subprocess
import sys
import tempfile

import venv

venv.enter()
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import referee  # noqa: E402
from jax._src.lib import xla_client  # noqa: E402

jax.config.update("jax_enable_x64", False)
TOAST = os.path.join(venv.BIN, "toast")
FORMS = ("annotated", "manual", "local")


def mlp_step():
    """Named scopes, jit in jit, a scan over layers, an optimizer."""
    def layer(x, w):
        return jax.nn.relu(x @ w["up"]) @ w["down"] + x, None

    def loss(params, x, y):
        with jax.named_scope("embed"):
            x = jnp.tanh(x @ params["embed"])
        x, _ = jax.lax.scan(layer, x, params["layers"])
        with jax.named_scope("head"):
            return ((x @ params["head"] - y) ** 2).mean()

    def step(params, x, y):
        value, gradients = jax.value_and_grad(loss)(params, x, y)
        return jax.tree.map(lambda p, g: p - 0.1 * g, params, gradients), value

    params = {"embed": jnp.ones((64, 32)), "head": jnp.ones((32, 16)),
              "layers": {"up": jnp.ones((3, 32, 128)), "down": jnp.ones((3, 128, 32))}}
    return jax.jit(step, donate_argnums=0).lower(params, jnp.ones((64, 64)), jnp.ones((64, 16)))


def remat_step():
    """einsums with batch dimensions, checkpoint, calls that are made more than once."""
    @jax.checkpoint
    def block(w, x):
        q, k, v = (jnp.einsum("bsd,dhk->bshk", x, w[n]) for n in "qkv")
        weights = jax.nn.softmax(jnp.einsum("bqhk,bshk->bhqs", q, k), axis=-1)
        return x + jnp.einsum("bqhk,hkd->bqd", jnp.einsum("bhqs,bshk->bqhk", weights, v), w["o"])

    def loss(params, x):
        for w in params:
            x = block(w, x)
        return jnp.square(x).sum()

    weights = {"q": jnp.ones((64, 8, 16)), "k": jnp.ones((64, 8, 16)), "v": jnp.ones((64, 8, 16)), "o": jnp.ones((8, 16, 64))}
    return jax.jit(jax.grad(loss)).lower([weights, weights], jnp.ones((16, 32, 64)))


CASES = [("mlp_step", mlp_step, "fsdp:data+megatron:model"), ("mlp_step", mlp_step, "batch:data"),
         ("remat_step", remat_step, "batch:data+megatron:model")]


def compiled(text, form):
    devices = jax.devices()
    options = referee.options(form, 8, list(range(8))) if form else xla_client.CompileOptions()
    used = xla_client.DeviceList(tuple(devices if form else devices[:1]))
    return devices[0].client.compile_and_load(text, used, options).hlo_modules()[0].to_string()


def apart(name):
    """What XLA combines it calls root/(one:other)."""
    match = re.fullmatch(r"(.*?/)\((.*:.*)\)", name)
    return [match[1] + part for part in match[2].split(":")] if match else [name]


def names(hlo, ops):
    """op_names of the instructions of these kinds; products of one row that XLA makes itself have none"""
    found = re.findall(r"= [^=]*? (?:%s)\(.*?metadata=\{op_name=\"([^\"]*)\"" % ops, hlo)
    return {part for name in found for part in apart(name.replace("\\'", "'"))}


def signature(text):
    module = referee.Module(text)
    kept = [{k: v for k, v in attrs.items() if k not in ("sdy.sharding", "tf.aliasing_output", "jax.buffer_donor")}
            for attrs in module.input_attrs + module.output_attrs]
    named = re.findall(r"loc\(\"((?:params|x|y)[^\"]*)\"\)", text.split("sdy.manual_computation")[0])
    return kept, list(dict.fromkeys(named))   # as aliases they stand there once more


def dots_of(name):
    """XLA folds a transpose into the product before it, which it then names"""
    return re.sub(r"/transpose$", "/dot_general", name)


def check(name, original, path, baseline, folder):
    with open(path) as file:
        text = file.read()
    wanted = {dots_of(n) for n in names(compiled(original, None), "dot")}
    spoken = set(re.findall(r'loc\("([^"]*)"', original))
    failures = 0
    for form in FORMS:
        out = os.path.join(folder, f"{form}.mlir")
        subprocess.run([TOAST, "lower", path, "--mesh", "data=4,model=2", "--baseline", baseline, "--form", form, "-o", out],
                       check=True, stderr=subprocess.DEVNULL)
        with open(out) as file:
            emitted = file.read()
        hlo = compiled(emitted, form)
        dots = {dots_of(n) for n in names(hlo, "dot")}
        moves = names(hlo, "all-reduce|all-gather|all-to-all|reduce-scatter|collective-permute")
        strange = {m for m in moves if not any(m == s or m.endswith("/" + s) for s in spoken)}
        missing = wanted - dots - ({dots_of(n) for n in re.findall(r'loc\("([^"]*)"', emitted)} if "remat" in name else set())
        good = not missing and dots <= wanted and len(dots) >= len(wanted) / 2 and moves and not strange and signature(emitted) == signature(text)
        growth = len(emitted) / len(text)
        good = good and growth < 4
        failures += not good
        print(f"{'ok' if good else 'FAILED'} {name} {baseline} {form}: {len(dots)} names of products, {len(moves)} of collectives, "
              f"{growth:.1f} times the input's bytes", flush=True)
        if not good:
            print(f"  missing {missing}\n  new {dots - wanted}\n  collectives {strange}\n  {signature(emitted)}\n  {signature(text)}")
    return failures


def without(lowered, baseline, folder):
    path, out = os.path.join(folder, "plain.mlir"), os.path.join(folder, "plain.out.mlir")
    with open(path, "w") as file:
        file.write(lowered.as_text())
    subprocess.run([TOAST, "lower", path, "--mesh", "data=4,model=2", "--baseline", baseline, "--form", "manual", "-o", out],
                   check=True, stderr=subprocess.DEVNULL)
    with open(out) as file:
        good = "loc(" not in file.read()
    print(f"{'ok' if good else 'FAILED'} a module without locations comes out without")
    return not good


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, make, baseline in CASES:
            path = os.path.join(folder, f"{name}.mlir")
            lowered = make()
            with open(path, "w") as file:
                file.write(lowered.as_text(debug_info=True))
            failures += check(name, lowered.as_text(debug_info=True), path, baseline, folder)
        failures += without(lowered, baseline, folder)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
