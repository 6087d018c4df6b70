"""The modules that bench/hardware.py has measured: kernels, train steps without collectives, programs of segments; each for one device."""
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tarfile
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOAST = pathlib.Path(os.environ.get("TOAST_BIN", ROOT / "build/release/bin")) / "toast"
FSDP, MEGATRON, BATCH, ZERO = "fsdp:data+fsdp:model", "fsdp:data+megatron:model", "batch:data+batch:model", "zero2:data+fsdp:model"
STEPS = (   # model of referee_models or tests/models, mesh, plans
    ("gpt", "data=2,model=4", (FSDP, MEGATRON)), ("llama", "data=2,model=4", (FSDP, MEGATRON)), ("gemma", "data=4,model=4", (MEGATRON, FSDP)),
    ("experts", "data=4,model=4", (FSDP, MEGATRON)), ("vit", "data=4,model=4", (FSDP, MEGATRON)), ("t2b", "data=4,model=4", (MEGATRON,)),
    ("encoder", "data=4,model=4", (BATCH,)), ("seq2seq", "data=4,model=4", (FSDP,)), ("mixer", "data=2,model=4", (FSDP,)),
    ("narrow", "data=8", ("fsdp:data",)), ("convnet", "data=8", ("batch:data",)), ("graph", "data=4,model=4", (FSDP,)),
    ("grouped", "data=2,model=8", (MEGATRON,)), ("states", "data=16", ("fsdp:data",)), ("again", "data=4,model=4", (FSDP,)),
    ("tabled", "data=16", ("fsdp:data",)), ("retained", "data=8,model=2", (FSDP,)), ("gpt", "data=8", ("batch:data",)),
    ("llama", "data=2,model=8", (MEGATRON,)), ("normed", "data=8", ("batch:data",)), ("dropped", "data=4,model=4", (FSDP,)),
    ("routed", "data=2,model=4", (FSDP, ZERO)))
GROUPS = ("matmul", "bytes", "reduction", "step", "batched", "segment", "rows", "order", "scans", "convolution")   # most wanted first
SEGMENTS = ("gpt", "data=8", 24)   # model, mesh, how many of its programs
HELD_OUT = {   # made and measured when the price's numbers of kernels were done
    "steps": (
        ("shared", "data=2,model=8", (MEGATRON,)), ("filters", "data=4,model=4", (FSDP,)), ("wide", "data=4,model=4", (MEGATRON,)),
        ("blended", "data=2,model=8", (FSDP,)), ("captions", "data=4,model=2", (FSDP,)), ("ranking", "data=8", ("batch:data",)),
        ("biased", "data=2,model=2", (FSDP,)), ("translate", "data=2,model=8", (MEGATRON,)), ("crossed", "data=4,model=4", (FSDP,)),
        ("depths", "data=2,model=8", (MEGATRON,)), ("latents-s", "data=2,model=4", (FSDP,)), ("gates-s", "data=4,model=4", (MEGATRON,)),
        ("unet-s", "data=8", ("batch:data",)), ("blocks-s", "data=4,model=2", (FSDP,))),
    "segments": ("llama", "data=2,model=4", 12)}
SMALL = {"steps": (("mlp", "data=2,model=2", (MEGATRON,)), ("small/t2b", "data=2,model=2", (FSDP,))), "segments": ("segments/gpt_6", "data=8", 2)}


def module_name(group, name):
    """how such a module is called in MLIR, and so in traces"""
    return re.sub(r"\W+", "_", f"{group} {name}")


# ---------------------------------------------------------------- kernels
def kernels(small):
    """[(group, name, function, [(shape, type)])]"""
    import jax
    import jax.numpy as jnp

    made = []

    def add(group, name, function, *arguments):
        if small:   # a dry run: extents cut down, whatever they are
            arguments = [([min(extent, 64) for extent in shape], kind) for shape, kind in arguments]
        made.append((group, name, function, arguments))

    def product(m, k, n, kind, sides="nn"):
        left, right = [(k, m) if sides[0] == "t" else (m, k), (n, k) if sides[1] == "t" else (k, n)]
        add("matmul", f"{m} x {k} x {n}{'' if sides == 'nn' else ' ' + sides} {kind}",
            lambda a, b: jnp.matmul(a.T if sides[0] == "t" else a, b.T if sides[1] == "t" else b), (left, kind), (right, kind))
    for shape in ((16384, 2048, 4096), (4096, 14336, 4096), (8192, 8192, 8192), (4096, 4096, 4096), (2048, 2048, 2048), (1024, 1024, 1024),
                  (512, 512, 512), (16384, 512, 2048), (16384, 256, 2048), (16384, 128, 2048), (2048, 256, 2048), (16384, 4096, 512),
                  (16384, 2048, 128), (1024, 4096, 4096), (512, 4096, 4096), (128, 4096, 4096), (16, 4096, 4096), (32768, 1024, 1024),
                  (8192, 2560, 7680), (8192, 640, 2560), (4096, 2048, 32768)):
        product(*shape, "bfloat16")
    for shape in ((2048, 16384, 4096), (4096, 4096, 4096), (2560, 8192, 640), (1024, 32768, 1024)):
        product(*shape, "bfloat16", "tn")
        product(*shape, "bfloat16", "nt")
    for shape in ((16384, 2048, 4096), (4096, 4096, 4096), (2048, 2048, 2048), (2048, 256, 2048)):
        product(*shape, "float16")
    for shape in ((16384, 2048, 4096), (8192, 8192, 8192), (4096, 4096, 4096), (2048, 2048, 2048), (16384, 512, 2048), (2048, 256, 2048),
                  (128, 4096, 4096)):
        product(*shape, "float32")
    for batch, length, head in ((64, 2048, 128), (256, 1024, 64), (16, 4096, 128), (512, 512, 80)):
        scores, heads = (batch, length, length), (batch, length, head)
        add("batched", f"scores {batch} x {length} x {head} bfloat16", lambda q, k: jnp.einsum("bsk,btk->bst", q, k), (heads, "bfloat16"), (heads, "bfloat16"))
        add("batched", f"values {batch} x {length} x {head} bfloat16", lambda p, v: jnp.einsum("bst,btk->bsk", p, v), (scores, "bfloat16"), (heads, "bfloat16"))

    def convolution(batch, pixels, inside, outside, taps, stride, kind, groups=1):
        add("convolution", f"{batch} x {pixels}^2 x {inside} -> {outside}, {taps}x{taps}{f' / {stride}' if stride > 1 else ''}"
            f"{f', {groups} groups' if groups > 1 else ''} {kind}",
            lambda x, w: jax.lax.conv_general_dilated(x, w, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"),
                                                      feature_group_count=1 if small else groups),
            ((batch, pixels, pixels, inside), kind), ((taps, taps, inside if small else inside // groups, outside), kind))
    for shape in ((64, 64, 256, 256, 3, 1), (256, 32, 128, 128, 3, 1), (256, 16, 512, 512, 3, 1), (64, 64, 256, 512, 1, 1),
                  (128, 64, 128, 256, 3, 2), (128, 224, 3, 64, 7, 2)):
        convolution(*shape, "bfloat16")
    convolution(64, 64, 256, 256, 3, 1, "float32")
    convolution(64, 64, 256, 256, 3, 1, "bfloat16", 256)

    for bits in (12, 16, 20, 22, 24, 26, 28):
        add("bytes", f"a * b + c, 2^{bits} bfloat16", lambda a, b, c: a * b + c, *[((1 << bits,), "bfloat16")] * 3)
    add("bytes", "a * b + c, 2^26 float32", lambda a, b, c: a * b + c, *[((1 << 26,), "float32")] * 3)
    for kind in ("bfloat16", "float32"):
        for name in ("exp", "tanh", "log1p", "sin", "rsqrt"):
            add("bytes", f"{name}, 2^26 {kind}", getattr(jax.lax, name), ((1 << 26,), kind))
        add("bytes", f"erf, 2^26 {kind}", jax.lax.erf, ((1 << 26,), kind))
        add("bytes", f"divide, 2^26 {kind}", jax.lax.div, ((1 << 26,), kind), ((1 << 26,), kind))
        add("bytes", f"gelu, 2^26 {kind}", jax.nn.gelu, ((1 << 26,), kind))
        for rows, row in ((65536, 2048), (16384, 8192), (1048576, 128)):
            add("reduction", f"softmax, {rows} rows of {row} {kind}", jax.nn.softmax, ((rows, row), kind))
        add("reduction", f"sums of rows, 32768 x 4096 {kind}", lambda x: jnp.sum(x.astype("float32"), 1), ((32768, 4096), kind))
        add("reduction", f"sums of columns, 32768 x 4096 {kind}", lambda x: jnp.sum(x.astype("float32"), 0), ((32768, 4096), kind))
        add("reduction", f"sum of all, 2^27 {kind}", lambda x: jnp.sum(x.astype("float32")), ((1 << 27,), kind))
        add("order", f"transpose, 8192 x 8192 {kind}", lambda x: x.T + 1, ((8192, 8192), kind))
        add("order", f"heads outwards, 16 x 2048 x 16 x 128 {kind}", lambda x: x.swapaxes(1, 2) + 1, ((16, 2048, 16, 128), kind))
        add("order", f"heads innermost, 16 x 16 x 2048 x 128 {kind}", lambda x: x.transpose(0, 2, 3, 1) + 1, ((16, 16, 2048, 128), kind))
        add("rows", f"rows read, 32768 of 32768 x 4096 {kind}", lambda t, i: t[i], ((32768, 4096), kind), ((32768,), "int32"))
        add("rows", f"rows added, 32768 into 32768 x 4096 {kind}", lambda i, x: jnp.zeros((64, 64) if small else (32768, 4096), x.dtype).at[i].add(x),
            ((32768,), "int32"), ((32768, 4096), kind))
        add("rows", f"rows added, 32768 into 512 x 4096 {kind}", lambda i, x: jnp.zeros((64, 64) if small else (512, 4096), x.dtype).at[i % 512].add(x),
            ((32768,), "int32"), ((32768, 4096), kind))

    def norm(x, gain):
        wide = x.astype("float32")
        centred = wide - jnp.mean(wide, -1, keepdims=True)
        return (centred * jax.lax.rsqrt(jnp.mean(centred * centred, -1, keepdims=True) + 1e-5)).astype(x.dtype) * gain

    def adam(p, g, m, v):
        m, v = 0.9 * m + 0.1 * g.astype("float32"), 0.99 * v + 0.01 * jnp.square(g.astype("float32"))
        return (p.astype("float32") - 1e-3 * m / (jnp.sqrt(v) + 1e-8)).astype(p.dtype), m, v

    def loss(logits, targets):
        wide = logits.astype("float32")
        return jnp.mean(jax.nn.logsumexp(wide, -1) - jnp.take_along_axis(wide, targets[:, None], -1)[:, 0])
    add("reduction", "layer norm, 16384 rows of 4096 bfloat16", norm, ((16384, 4096), "bfloat16"), ((4096,), "bfloat16"))
    add("reduction", "layer norm's gradient, 16384 rows of 4096 bfloat16", lambda x, g, d: jax.vjp(norm, x, g)[1](d), ((16384, 4096), "bfloat16"),
        ((4096,), "bfloat16"), ((16384, 4096), "bfloat16"))
    add("reduction", "cross entropy, 8192 x 32768 bfloat16", loss, ((8192, 32768), "bfloat16"), ((8192,), "int32"))
    add("reduction", "cross entropy's gradient, 8192 x 32768 bfloat16", jax.grad(loss), ((8192, 32768), "bfloat16"), ((8192,), "int32"))
    add("bytes", "Adam, 2^26", adam, *[((1 << 26,), "bfloat16")] * 2, *[((1 << 26,), "float32")] * 2)
    add("bytes", "convert, 2^27 bfloat16 to float32", lambda x: x.astype("float32"), ((1 << 27,), "bfloat16"))
    add("bytes", "select of a mask, 64 x 2048^2 bfloat16", lambda x: jnp.where(jnp.tril(jnp.ones(x.shape[-2:], bool)), x, -1e9), ((64, 2048, 2048), "bfloat16"))
    add("order", "concatenate, 2 of 16384 x 4096 bfloat16", lambda a, b: jnp.concatenate([a, b], -1) * 2, *[((16384, 4096), "bfloat16")] * 2)
    add("order", "slice of columns, 16384 x 8192 bfloat16", lambda x: x[:, x.shape[1] // 2:] * 2, ((16384, 8192), "bfloat16"))
    add("order", "pad, 16384 x 4096 bfloat16", lambda x: jnp.pad(x, ((0, 0), (1, 1))) * 2, ((16384, 4096), "bfloat16"))
    add("scans", "cumsum, 4096 x 8192 float32", lambda x: jnp.cumsum(x, 1), ((4096, 8192), "float32"))
    add("scans", "cumsum of columns, 8192 x 4096 float32", lambda x: jnp.cumsum(x, 0), ((8192, 4096), "float32"))
    add("scans", "sort, 4096 x 4096 float32", lambda x: jnp.sort(x, -1), ((4096, 4096), "float32"))
    add("scans", "top 2 of 64, 65536 float32", lambda x: jax.lax.top_k(x, 2), ((65536, 64), "float32"))
    add("scans", "argmax, 65536 x 64 float32", lambda x: jnp.argmax(x, -1), ((65536, 64), "float32"))
    add("scans", "random bits, threefry, 2^26", lambda k: jax.random.bits(jax.random.wrap_key_data(k), (64,) if small else (1 << 26,)), ((2,), "uint32"))
    add("scans", "loop of 1000 additions of 2^16", lambda x: jax.lax.fori_loop(0, 1000, lambda _, y: y + 1, x), ((1 << 16,), "float32"))
    add("scans", "pooling 2x2, 64 x 64^2 x 256 bfloat16", lambda x: jax.lax.reduce_window(x, jnp.array(-jnp.inf, x.dtype), jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID"),
        ((64, 64, 64, 256), "bfloat16"))
    return made


# ---------------------------------------------------------------- modules
def one_device(text, name):
    """(module of one device called `name`, how many collectives it had), of a local one or of a manual one without its mesh"""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from toast_profile import apart

    with mlir.make_ir_context() as context, ir.Location.unknown(context):
        module = ir.Module.parse(text)
        main = next(op.operation for op in module.body.operations
                    if op.operation.name == "func.func" and ir.StringAttr(op.attributes["sym_name"]).value == "main")
        block = main.regions[0].blocks[0]
        if block.operations[0].operation.name == "sdy.manual_computation":
            unwrap(ir, main, block)
            next(op for op in module.body.operations if op.operation.name == "sdy.mesh").operation.erase()
        taken = apart.without_collectives(module)
        for attribute in ("mhlo.num_replicas", "mhlo.num_partitions"):
            if attribute in module.operation.attributes:
                del module.operation.attributes[attribute]
        module.operation.attributes["sym_name"] = ir.StringAttr.get(name)
        module.operation.verify()
        return str(module), taken


def unwrap(ir, main, block):
    """a function whose body is one manual computation becomes what one device does in it"""
    inside = block.operations[0].operation.regions[0].blocks[0]
    end = inside.operations[len(inside.operations) - 1].operation
    results = [value.type for value in end.operands]
    ir.Operation.create("func.return", operands=list(end.operands), ip=ir.InsertionPoint(end))
    end.erase()
    types = [argument.type for argument in inside.arguments]
    inside.append_to(main.regions[0])
    for op in reversed(list(block.operations)):
        op.operation.erase()
    new = main.regions[0].blocks[1]
    function = ir.Operation.create("func.func", regions=1, ip=ir.InsertionPoint(main), attributes={
        "sym_name": ir.StringAttr.get("main"), "function_type": ir.TypeAttr.get(ir.FunctionType.get(types, results)),
        "sym_visibility": ir.StringAttr.get("public")})
    new.append_to(function.regions[0])
    main.erase()


def model_path(model, folder):
    for path in (ROOT / f"tests/models/{model}.mlir", ROOT / f"tests/models/{model}.mlir.gz"):
        if path.exists():
            return path
    path = folder / f"models/{model}.mlir"
    if not path.exists():
        subprocess.run([sys.executable, ROOT / "bench/referee_models.py", path.parent, model], check=True, stdout=subprocess.DEVNULL,
                       env=dict(os.environ, JAX_PLATFORMS="cpu"))
    return path


def steps(cases, folder):
    """{"group", "name", "text", "plan": arguments of toast price} of local modules without their collectives"""
    for model, mesh, plans in cases:
        source = model_path(model, folder)
        for plan in plans:
            with tempfile.TemporaryDirectory(prefix="toast-hardware-") as work:
                local = pathlib.Path(work) / "local.mlir"
                done = subprocess.run([TOAST, "lower", source, "--mesh", mesh, "--baseline", plan, "--form", "local", "-o", local])
                if done.returncode:
                    print(f"{model}, {mesh}, {plan}: not planned", file=sys.stderr)
                    continue
                text, taken = one_device(local.read_text(), module_name("step", f"{model}, {mesh}, {plan}"))
            yield {"group": "step", "name": f"{model}, {mesh}, {plan}", "text": text, "collectives": taken,
                   "plan": [os.path.relpath(source, ROOT), "--mesh", mesh, "--baseline", plan]}


def segments(case, folder):
    """a sample of a model's programs of segments, without their collectives"""
    model, mesh, count = case
    with tempfile.TemporaryDirectory(prefix="toast-hardware-") as work:
        subprocess.run([TOAST, "plan", model_path(model, folder), "--mesh", mesh, "--device", "h100", "--planner", "baselines",
                        "--outputs", "segments", "--quiet", "-o", work], check=True, stdout=subprocess.DEVNULL)
        with tarfile.open(pathlib.Path(work) / "segments.tar") as tar:
            listed = json.load(tar.extractfile("programs.json"))["programs"]
            distinct = {row["digest"]: row for row in reversed(listed) if "pair" not in row}
            for digest in random.Random(1).sample(sorted(distinct), count):
                name = f"{model}, {mesh}, {distinct[digest]['name']}"
                text, taken = one_device(tar.extractfile(f"programs/{digest}.mlir").read().decode(), module_name("segment", name))
                yield {"group": "segment", "name": name, "text": text, "collectives": taken}


def signature(text):
    """[(shape, numpy's name of the type)] of a module's arguments"""
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir
    from toast_referee import timing

    with mlir.make_ir_context() as context, ir.Location.unknown(context):
        return [(shape, kind.name) for shape, kind in timing.signature(ir.Module.parse(text))]


def everything(small, held_out, folder):
    """all of them or those that are held out, most wanted first: {"group", "name", "text", "arguments": their shapes and types, "collectives": how many were
    taken out, "plan": arguments of toast price}"""
    import jax

    rows = []
    for group, name, function, arguments in kernels(small):
        text = jax.jit(function).lower(*(jax.ShapeDtypeStruct(shape, kind) for shape, kind in arguments)).as_text()
        rows.append({"group": group, "name": name, "text": re.sub(r"module @\w+", f"module @{module_name(group, name)}", text, count=1)})
    chosen = SMALL if small else HELD_OUT if held_out else {"steps": STEPS, "segments": SEGMENTS}
    rows += steps(chosen["steps"], folder)
    rows += segments(chosen["segments"], folder)
    for row in rows:
        row["arguments"] = signature(row["text"])
    return sorted(rows, key=lambda row: GROUPS.index(row["group"]))
