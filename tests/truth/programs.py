"""Small programs of the op families that the models have little of, lowered by JAX or written out.

Sizes divide by 8 so that random plans find something to shard; integer inputs index the smallest looked-up dimension.
"""
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

f32 = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.float32)
i32 = functools.partial(jax.ShapeDtypeStruct, dtype=jnp.int32)


def typed(shape, dtype):
    return jax.ShapeDtypeStruct(shape, dtype)


def iota_and_constants(x, w):
    ramp = jnp.arange(32, dtype=jnp.float32)
    table = jnp.asarray(np.random.default_rng(0).standard_normal(32), dtype=jnp.float32)
    y = (x + ramp * table).reshape(4, 8) * w + jnp.arange(8, dtype=jnp.bfloat16).astype(jnp.float32)
    return y.reshape(32) * jnp.arange(32, 0, -1, dtype=jnp.float32), y.sum(0), y.sum(1)


def flattened_mask(x, w):
    h = (x.reshape(16 * 8, 32) @ w).reshape(16, 8, 24)
    position = lax.broadcasted_iota(jnp.int32, (16, 8, 24), 1)
    order = lax.iota(jnp.int32, 16 * 8).reshape(16, 8)
    return jnp.where(position % 3 == 0, h, -h), (h * order[..., None]).sum(2), h.reshape(128, 24).max(0)


def scatter_kinds(x, i, u):
    return (x.at[i].add(u), x.at[i].max(u), x.at[i].min(u), x.at[i].multiply(u), x.at[i, 3].add(u[:, 0]),
            x.at[i, i % 8].add(u[:, 0]), x.at[:, 2:4].add(1.5))


def scatter_set(x, u):
    i = jnp.asarray([3, 1, 9, 30, 17, 16, 5, 8], jnp.int32)
    return x.at[i].set(u, mode="drop", unique_indices=True), x.at[i + 24].set(u, mode="drop")


def gather_kinds(x, i, j):
    return (x[i], jnp.take(x, i, axis=0, mode="clip"), x[i, j % 8], jnp.take(x, i, axis=0, mode="wrap"),
            jnp.take_along_axis(x, (j[:16, None] + jnp.arange(8)) % 8, axis=1), x[:, j % 8].sum(1), x[jnp.int32(3)])


def narrow_indices(x, i, j, k):
    return x[i], x[j], x[k], x.at[i].add(1.0), x.at[k].add(2.0)


def dynamic_slices(x, u, v, k):
    return (lax.dynamic_slice_in_dim(x, k + 4, 1, 0), lax.dynamic_slice_in_dim(x, k, 8, 1),
            lax.dynamic_update_slice(x, u, (k + 9, 0)), lax.dynamic_update_slice(x, v, (k + 2, k - 1)),
            lax.dynamic_update_slice_in_dim(x, v[:, :1] * jnp.ones((3, 1)), k + 20, 0),
            lax.dynamic_index_in_dim(x, k - 7, 0, keepdims=False), lax.dynamic_index_in_dim(x, k + 99, 0))


def loops(x, w):
    def body(i, c):
        a, s = c
        a = jnp.tanh(a @ w)
        return a, s + a.sum(0)
    a, s = lax.fori_loop(0, 5, body, (x, jnp.ones(16)))

    def scanned(c, row):
        c = c * 0.9 + row @ w
        return c, (c * c, c.sum())
    last, (squares, sums) = lax.scan(scanned, jnp.zeros(16), x)
    n, _ = lax.while_loop(lambda c: c[1].sum() < 40.0, lambda c: (c[0] + 1, c[1] * 1.5 + 0.1), (0, jnp.ones(8)))
    return a, s, last, squares, sums, n


def nested_loop(x, w):
    def inner(_, c):
        return jnp.sin(c @ w + x)
    return lax.fori_loop(0, 3, lambda _, c: lax.fori_loop(0, 2, inner, c) + 0.5, x)


def accumulated_step(state, x, y):
    """A train step with gradient accumulation: a scan over microbatches adds their gradients, then momentum."""
    parameters, momentum = state

    def loss(p, x, y):
        h = jnp.tanh(x @ p["w1"] + p["b1"])
        return ((h @ p["w2"] - y) ** 2).mean()

    def microbatch(sums, xy):
        value, gradient = jax.value_and_grad(loss)(parameters, *xy)
        return jax.tree.map(jnp.add, sums, (value, gradient)), None
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    (total, gradient), _ = lax.scan(microbatch, (jnp.zeros(()), zeros), (x, y))
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g / x.shape[0], momentum, gradient)
    return (jax.tree.map(lambda p, m: p - 0.1 * m, parameters, momentum), momentum), total / x.shape[0]


def mixed_accumulation(parameters, first, second, x, y):
    """The usual mixed precision: f32 weights and moments, dots in bfloat16, gradients added up in f32; Adam after it."""
    def loss(p, x, y):
        h = jnp.tanh(x @ p["w1"] + p["b1"])
        return (((h @ p["w2"]).astype(jnp.float32) - y) ** 2).mean()

    def microbatch(sums, xy):
        value, gradient = jax.value_and_grad(loss)(jax.tree.map(lambda p: p.astype(jnp.bfloat16), parameters), *xy)
        return (sums[0] + value, jax.tree.map(lambda a, g: a + g.astype(jnp.float32), sums[1], gradient)), None
    zeros = jax.tree.map(jnp.zeros_like, parameters)
    (total, gradient), _ = lax.scan(microbatch, (jnp.zeros(()), zeros), (x, y))
    gradient = jax.tree.map(lambda g: g / x.shape[0], gradient)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradient)
    second = jax.tree.map(lambda v, g: 0.99 * v + 0.01 * g * g, second, gradient)
    parameters = jax.tree.map(lambda p, m, v: p - 0.1 * m / (jnp.sqrt(v) + 1e-3), parameters, first, second)
    return parameters, first, second, total / x.shape[0]


def accumulated_layers(w, x, y):
    """Gradient accumulation of layers that are scanned: the inner loop stacks what the outer one adds."""
    def loss(w, x, y):
        h, _ = lax.scan(lambda h, wi: (jnp.tanh(h @ wi), None), x, w)
        return ((h - y) ** 2).mean()

    def microbatch(sums, xy):
        return sums + jax.grad(loss)(w, *xy), None
    return w - 0.1 * lax.scan(microbatch, jnp.zeros_like(w), (x, y))[0]


def mixed_layers(w, x, y):
    """The same over scanned layers, whose f32 weights are made bfloat16 in each: gradients are stacked in f32 and added."""
    def loss(w, x, y):
        h, _ = lax.scan(lambda h, wi: (jnp.tanh(0.1 * (h @ wi.astype(jnp.bfloat16))), None), x, w)
        return ((h.astype(jnp.float32) - y) ** 2).mean()

    def microbatch(sums, xy):
        return sums + jax.grad(loss)(w, *xy), None
    gradient = lax.scan(microbatch, jnp.zeros_like(w), (x, y))[0]
    return w - 0.1 * gradient, gradient


def nested_sums(x, w, s, t):
    """Two loops of sums: the inner one goes on from s; t is added to what the inner one makes of zeros."""
    def inner(c, xi):
        g = xi.T @ jnp.tanh(xi @ w)
        return (c[0] + g, jnp.where(g.shape[0] > 4, c[1] - xi.sum(0), c[1])), None

    def outer(c, xs):
        (a, b), _ = lax.scan(inner, (c[0], jnp.zeros_like(t)), xs)
        return (a, c[1] + 0.5 * b), None
    (s, t), _ = lax.scan(outer, (s, t), x)
    return jnp.sin(s), t * 2.0


def tied_embedding(table, ids, targets):
    """the output layer is the embedding: its gradient is a dot plus a scatter"""
    def loss(table):
        logits = jnp.tanh(table[ids]) @ table.T
        return jnp.mean(jax.nn.logsumexp(logits, -1) - jnp.take_along_axis(logits, targets[..., None], -1)[..., 0])
    return table - 0.1 * jax.grad(loss)(table)


def meeting_sums(x, y, z, k):
    """sums over the rows that meet: of a reduce, dots, a scatter, through what is linear in them"""
    total = jnp.sum(x[:, :, None] * y[:, None, :], 0)                   # [8, 4]
    product = (y.T @ (x @ z)).T                                         # [8, 4]
    placed = jnp.zeros((8, 4)).at[k].add(y)
    widened = jnp.pad(jnp.zeros((1, 4)), ((0, 7), (0, 0))) + placed
    return (total - 3.0 * product)[2:6], jnp.reshape(jnp.where(z[0, 0] > 0, placed - total, 0.0), (32,)), widened


def running_extrema(x, high, low, count):
    """Largest and smallest so far, a sum of integers, a flag; every one from a value that counts."""
    def body(c, xi):
        high, low, count, any_large = c
        return (jnp.maximum(high, xi.max(0)), jnp.minimum(xi.min(0), low), count + (xi > 0).sum(0, dtype=jnp.int32),
                any_large | (xi > 1.5).any(0)), None
    return lax.scan(body, (high, low, count, high > 1.0), x)[0]


def kept_products(x, take, start):
    """The newest product where `take` says so, else what was there before: the loop carries partial products."""
    return lax.scan(lambda c, xi: (jnp.where(take, xi.prod(0), c), None), start, x)[0]


def branches(x, w, k):
    y = lax.switch(k, [lambda a: a @ w, lambda a: jnp.sin(a @ w) + 1.0, lambda a: (a @ w).sum(0) + a,
                       lambda a: a * 2.0], x)
    z = lax.cond(x.sum() > 0.0, lambda: (x @ w).sum(1), lambda: x.sum(1) * 0.5)
    return y, z


def convolutions(x, k, g, h):
    dims = ("NHWC", "HWIO", "NHWC")
    a = lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=dims)
    b = lax.conv_general_dilated(a, g, (2, 2), "SAME", dimension_numbers=dims, feature_group_count=8)
    c = lax.conv_general_dilated(x, h, (1, 1), "VALID", dimension_numbers=dims, batch_group_count=4)
    return a, b, c


def convolution_gradients(x, k):
    def loss(x, k):
        y = lax.conv_general_dilated(x, k, (2, 2), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return (jnp.tanh(y) ** 2).sum()
    return jax.grad(loss, (0, 1))(x, k)


def grouped_gradients(x, g, d):
    def loss(x, g, d):
        dims = ("NHWC", "HWIO", "NHWC")
        y = lax.conv_general_dilated(x, g, (2, 2), "SAME", dimension_numbers=dims, feature_group_count=8)
        z = lax.conv_general_dilated(x, d, (1, 1), "SAME", dimension_numbers=dims, feature_group_count=16)
        return (jnp.tanh(y) ** 2).sum() + (jnp.tanh(z) ** 2).sum()
    return jax.grad(loss, (0, 1, 2))(x, g, d)


def pooling(x):
    pooled = lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")
    mean = lax.reduce_window(x, 0.0, lax.add, (1, 3, 3, 1), (1, 1, 1, 1), "SAME")
    gradient = jax.grad(lambda x: (lax.reduce_window(x, -jnp.inf, lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID") ** 2)
                        .sum())(x)
    return pooled, mean, gradient, lax.cumsum(x[:, 0], 1)


def sorts(x, t):
    keys, values = lax.sort((x, x * 2.0), dimension=1, num_keys=1)
    best, where = lax.top_k(x, 4)
    return keys, values, jnp.argsort(t, axis=0), best, where, jnp.argmax(x, 1), jnp.argmin(x, 0), jnp.sort(x, 0)


def reductions(x, b, t):
    def with_init(op, init, operand, dims):
        return lax.reduce(operand, np.asarray(init, operand.dtype), op, dims)
    return (with_init(lax.add, 1.5, x, (0,)), with_init(lax.mul, 1.25, x, (0,)), with_init(lax.max, 0.25, x, (1,)),
            with_init(lax.min, -0.25, x, (0, 1)), with_init(lax.bitwise_and, True, b, (0,)),
            with_init(lax.bitwise_or, False, b, (0,)), with_init(lax.bitwise_or, True, b, (1,)),
            with_init(lax.add, 7, t, (0,)), with_init(lax.max, 5, t, (0, 1)), with_init(lax.min, 2, t, (1,)),
            with_init(lax.bitwise_and, 1023, t, (0,)), with_init(lax.bitwise_or, 64, t, (0,)))


def movement(x, w):
    qkv = x @ w                                        # [16, 3 x 16], split afterwards
    q, k, v = jnp.split(qkv, 3, axis=1)
    joined = jnp.concatenate([k, q, v, x[:, :8]], axis=1)
    padded = lax.pad(q, 0.5, ((1, 2, 0), (0, 0, 1)))
    return (q @ k.T) @ v, joined, padded, jnp.flip(x, 0), jnp.flip(x, 1), x[::2, 3:9], x.T.reshape(4, 8, 16), jnp.roll(x, 3, 0)


def heads(x, wq, wo):
    q = (x @ wq).reshape(8, 16, 4, 8).transpose(0, 2, 1, 3)
    s = jax.nn.softmax(jnp.einsum("bhqd,bhkd->bhqk", q, q) * 0.3, axis=-1)
    o = jnp.einsum("bhqk,bhkd->bhqd", s, q).transpose(0, 2, 1, 3).reshape(8, 16, 32)
    return (o.reshape(128, 32) @ wo).reshape(8, 16, 32) + x, s.sum((0, 1))


def linear_algebra(x):
    spd = jnp.einsum("bij,bkj->bik", x, x) + 8.0 * jnp.eye(8)
    factor = lax.linalg.cholesky(spd)
    solved = lax.linalg.triangular_solve(factor, x, left_side=True, lower=True)
    return factor, solved   # no fft: XLA's CPU runtime fails on layouts that its own compiler chose


def types(b, t, h, d):
    u = t.astype(jnp.uint8)
    return (jnp.where(b, t, -t), u + u * 3, (h * 2).astype(jnp.float32).sum(0), h.astype(jnp.int8), d.sum(1),
            lax.population_count(t), jnp.clip(t, 2, 9), b.astype(jnp.float32).sum(0), t.astype(jnp.float16),
            lax.bitcast_convert_type(t, jnp.float32).view(jnp.int32), lax.dot(h, h.T), (t > 4) ^ b,
            lax.bitcast_convert_type(t, jnp.uint8), lax.complex(d, d + 1.0).imag)


def random_bits(x):
    state, bits = lax.rng_bit_generator(jnp.arange(4, dtype=jnp.uint32), (16, 8), dtype=jnp.uint32)
    return x + (bits >> 8).astype(jnp.float32) * 2.0**-24, state, lax.optimization_barrier((x * 2.0, x.sum(0)))


BATCH_NORM = """
func.func public @main(%x: tensor<16x4x4x8xf32>, %s: tensor<8xf32>, %o: tensor<8xf32>, %m: tensor<8xf32>, %g: tensor<16x4x4x8xf32>) -> (tensor<16x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<16x4x4x8xf32>, tensor<16x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %one = stablehlo.constant dense<1.000000e+00> : tensor<8xf32>
  %square = stablehlo.multiply %m, %m : tensor<8xf32>
  %v = stablehlo.add %square, %one : tensor<8xf32>
  %0:3 = "stablehlo.batch_norm_training"(%x, %s, %o) <{epsilon = 1.000000e-03 : f32, feature_index = 3 : i64}> : (tensor<16x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<16x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  %1 = "stablehlo.batch_norm_inference"(%x, %s, %o, %m, %v) <{epsilon = 1.000000e-03 : f32, feature_index = 3 : i64}> : (tensor<16x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<16x4x4x8xf32>
  %2:3 = "stablehlo.batch_norm_grad"(%x, %s, %0#1, %0#2, %g) <{epsilon = 1.000000e-03 : f32, feature_index = 3 : i64}> : (tensor<16x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<16x4x4x8xf32>) -> (tensor<16x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>)
  return %0#0, %0#1, %0#2, %1, %2#0, %2#1, %2#2 : tensor<16x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<16x4x4x8xf32>, tensor<16x4x4x8xf32>, tensor<8xf32>, tensor<8xf32>
}
"""

DONATED = """
func.func public @main(%x: tensor<16x8xf32> {tf.aliasing_output = 1 : i32}, %y: tensor<16x8xf32> {jax.buffer_donor = true}, %w: tensor<8x8xf32>) -> (tensor<8xf32> {jax.result_info = "sum"}, tensor<16x8xf32> {jax.result_info = "x"}) {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<16x8xf32>, tensor<8x8xf32>) -> tensor<16x8xf32>
  %1 = stablehlo.add %0, %y : tensor<16x8xf32>
  %c = stablehlo.constant dense<5.000000e-01> : tensor<f32>
  %2 = stablehlo.reduce(%1 init: %c) applies stablehlo.add across dimensions = [0] : (tensor<16x8xf32>, tensor<f32>) -> tensor<8xf32>
  return %2, %1 : tensor<8xf32>, tensor<16x8xf32>
}
"""

# weights and the bound carried unchanged, one weight donated and returned
CARRIED_WEIGHTS = """
func.func public @main(%x: tensor<16x32xf32>, %w: tensor<32x32xf32> {tf.aliasing_output = 1 : i32}, %b: tensor<32xf32>) -> (tensor<16x32xf32>, tensor<32x32xf32>, tensor<32xf32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %0:5 = stablehlo.while(%i = %zero, %n = %three, %a = %x, %m = %w, %c = %b) : tensor<i32>, tensor<i32>, tensor<16x32xf32>, tensor<32x32xf32>, tensor<32xf32>
    cond {
    %1 = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %1 : tensor<i1>
  } do {
    %one = stablehlo.constant dense<1> : tensor<i32>
    %1 = stablehlo.dot_general %a, %m, contracting_dims = [1] x [0] : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
    %2 = stablehlo.broadcast_in_dim %c, dims = [1] : (tensor<32xf32>) -> tensor<16x32xf32>
    %3 = stablehlo.add %1, %2 : tensor<16x32xf32>
    %4 = stablehlo.tanh %3 : tensor<16x32xf32>
    %5 = stablehlo.dot_general %4, %m, contracting_dims = [1] x [1] : (tensor<16x32xf32>, tensor<32x32xf32>) -> tensor<16x32xf32>
    %6 = stablehlo.add %i, %one : tensor<i32>
    stablehlo.return %6, %n, %5, %m, %c : tensor<i32>, tensor<i32>, tensor<16x32xf32>, tensor<32x32xf32>, tensor<32xf32>
  }
  return %0#2, %0#3, %0#4 : tensor<16x32xf32>, tensor<32x32xf32>, tensor<32xf32>
}
"""

WEIGHTS = {"w1": f32((32, 16)), "b1": f32((16,)), "w2": f32((16, 8))}

DONATED_ARGUMENTS = {"accumulated_step": 0, "mixed_accumulation": (0, 1, 2), "mixed_layers": 0}

COMPUTES_IN = {"mixed_accumulation": "bfloat16", "mixed_layers": "bfloat16"}   # results in f32 are no more exact

EXPERT = {   # (mesh, expert plan) beside the random ones
    "accumulated_step": [("data=8", "batch:data"), ("data=4,model=2", "batch:data+megatron:model"), ("data=8", "zero2:data"), ("data=8", "zero1:data"),
                         ("data=4,model=2", "fsdp:data")],
    "mixed_accumulation": [("data=8", "batch:data"), ("data=4,model=2", "batch:data+megatron:model"), ("data=8", "zero2:data"),
                           ("data=4,model=2", "fsdp:data")],
    "tied_embedding": [("data=8", "batch:data"), ("data=4,model=2", "fsdp:data"), ("data=4,model=2", "fsdp:data+fsdp:model")],
    "meeting_sums": [("data=8", "batch:data")],
    "carried_weights": [("data=8", "fsdp:data"), ("data=4,model=2", "fsdp:data+fsdp:model")],
}

JAX = {
    "iota_and_constants": (iota_and_constants, f32((32,)), f32((4, 8))),
    "flattened_mask": (flattened_mask, f32((16, 8, 32)), f32((32, 24))),
    "scatter_kinds": (scatter_kinds, f32((16, 8)), i32((24,)), f32((24, 8))),
    "scatter_set": (scatter_set, f32((32, 8)), f32((8, 8))),
    "gather_kinds": (gather_kinds, f32((16, 8)), i32((24,)), i32((24,))),
    "narrow_indices": (narrow_indices, f32((16, 8)), typed((24,), jnp.uint8), typed((16,), jnp.int64),
                       typed((8,), jnp.uint32)),
    "dynamic_slices": (dynamic_slices, f32((32, 16)), f32((1, 16)), f32((3, 2)), i32(())),
    "loops": (loops, f32((8, 16)), f32((16, 16))),
    "nested_loop": (nested_loop, f32((8, 16)), f32((16, 16))),
    "accumulated_step": (accumulated_step, (WEIGHTS, WEIGHTS), f32((4, 16, 32)), f32((4, 16, 8))),
    "mixed_accumulation": (mixed_accumulation, WEIGHTS, WEIGHTS, WEIGHTS, typed((4, 16, 32), jnp.bfloat16), f32((4, 16, 8))),
    "accumulated_layers": (accumulated_layers, f32((3, 16, 16)), f32((4, 16, 16)), f32((4, 16, 16))),
    "mixed_layers": (mixed_layers, f32((3, 16, 16)), typed((4, 16, 16), jnp.bfloat16), f32((4, 16, 16))),
    "nested_sums": (nested_sums, f32((3, 2, 16, 8)), f32((8, 8)), f32((8, 8)), f32((8,))),
    "tied_embedding": (tied_embedding, f32((32, 16)), i32((16, 8)), i32((16, 8))),
    "meeting_sums": (meeting_sums, f32((16, 8)), f32((16, 4)), f32((8, 8)), i32((16,))),
    "running_extrema": (running_extrema, f32((4, 16, 8)), f32((8,)), f32((8,)), i32((8,))),
    "kept_products": (kept_products, f32((4, 16, 32)), typed((32,), jnp.bool_), f32((32,))),
    "branches": (branches, f32((8, 16)), f32((16, 16)), i32(())),
    "convolutions": (convolutions, f32((8, 8, 8, 8)), f32((3, 3, 8, 16)), f32((3, 3, 2, 16)), f32((3, 3, 8, 16))),
    "convolution_gradients": (convolution_gradients, f32((8, 8, 8, 8)), f32((3, 3, 8, 16))),
    "grouped_gradients": (grouped_gradients, f32((8, 4, 4, 16)), f32((3, 3, 2, 16)), f32((3, 3, 1, 16))),
    "pooling": (pooling, f32((8, 8, 8, 8))),
    "sorts": (sorts, f32((16, 8)), i32((16, 8))),
    "reductions": (reductions, f32((16, 8)), typed((16, 8), jnp.bool_), i32((16, 8))),
    "movement": (movement, f32((16, 32)), f32((32, 48))),
    "heads": (heads, f32((8, 16, 32)), f32((32, 32)), f32((32, 32))),
    "linear_algebra": (linear_algebra, f32((16, 8, 8))),
    "types": (types, typed((16, 8), jnp.bool_), i32((16, 8)), typed((16, 8), jnp.bfloat16), f32((16, 8))),
    "random_bits": (random_bits, f32((16, 8))),
}
TEXT = {"batch_norm": BATCH_NORM, "donated": DONATED, "carried_weights": CARRIED_WEIGHTS}


def all_programs():
    """{name: StableHLO text}"""
    out = dict(TEXT)
    for name, (function, *arguments) in JAX.items():
        wide = any(a.dtype == np.int64 for a in jax.tree.leaves(arguments))   # else constants would be 64 bits wide
        with jax.enable_x64(wide):
            out[name] = jax.jit(function, keep_unused=True, donate_argnums=DONATED_ARGUMENTS.get(name, ())).lower(
                *arguments).as_text()
    return out
