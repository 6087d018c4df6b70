"""Sequence models of the zoo: experts, recurrences, attention of many kinds, decoding."""
import jax
import jax.numpy as jnp
from jax import lax

from zoo_common import (adam, bf16, cross_entropy, cross_entropy_one_hot, f32, i32, lion, lowered, momentum, norm, rope, train,
                        typed)


def causal(scores):
    n = scores.shape[-1]
    return jnp.where(jnp.tril(jnp.ones((n, n), bool)), scores, -1e9)


def moe_scatter(k):
    """top-2 routing, tokens scattered into expert buffers of fixed capacity, gathered back"""
    B, S, D, F, E, V = 8 * k, 8 * k, 16 * k, 32 * k, 8, 64 * k
    T, C = B * S, B * S // 2

    def loss(p, tokens, labels):
        x = p["embed"][tokens].reshape(T, D)
        gate = jax.nn.softmax(x @ p["router"])
        weight, expert = lax.top_k(gate, 2)
        one = jax.nn.one_hot(expert.reshape(-1), E, dtype=jnp.int32)
        slot = (jnp.cumsum(one, 0) * one).sum(-1) - 1
        where = jnp.where(slot < C, expert.reshape(-1) * C + slot, E * C)
        buffers = jnp.zeros((E * C, D)).at[where].add(jnp.repeat(x, 2, 0), mode="drop").reshape(E, C, D)
        h = jax.nn.silu(jnp.einsum("ecd,edf->ecf", buffers, p["w1"]))
        out = jnp.einsum("ecf,efd->ecd", h, p["w2"]).reshape(E * C, D)
        back = out.at[where].get(mode="fill", fill_value=0.0).reshape(T, 2, D)
        y = x + (back * weight[..., None]).sum(1)
        balance = (gate.mean(0) * (one.reshape(T, 2, E).sum(1).astype(jnp.float32).mean(0))).sum() * E
        return cross_entropy((y @ p["embed"].T).reshape(B, S, V), labels) + 0.01 * balance
    params = {"embed": f32(V, D), "router": f32(D, E), "w1": f32(E, D, F), "w2": f32(E, F, D)}
    return train(loss, params, i32(B, S), i32(B, S))


def moe_einsum(k):
    """dispatch and combine tensors contracted (the way of mesh TensorFlow)"""
    G, S, D, F, E, C = 8, 16 * k, 16 * k, 32 * k, 8, 4 * k

    def loss(p, x):
        gate = jax.nn.softmax(jnp.einsum("gsd,de->gse", x, p["router"]))
        chosen = jax.nn.one_hot(jnp.argmax(gate, -1), E)
        slot = (jnp.cumsum(chosen, 1) - 1.0) * chosen
        dispatch = chosen[..., None] * jax.nn.one_hot(slot.sum(-1).astype(jnp.int32), C)[:, :, None]
        combine = dispatch * gate[..., None]
        inside = jnp.einsum("gsec,gsd->egcd", dispatch, x)
        h = jax.nn.gelu(jnp.einsum("egcd,edf->egcf", inside, p["w1"]))
        out = jnp.einsum("egcf,efd->egcd", h, p["w2"])
        return ((jnp.einsum("gsec,egcd->gsd", combine, out) + x) ** 2).mean()
    return train(loss, {"router": f32(D, E), "w1": f32(E, D, F), "w2": f32(E, F, D)}, f32(G, S, D))


def mamba(k):
    """selective state space, associative_scan over time"""
    B, S, D, N = 8 * k, 16 * k, 16 * k, 4

    def loss(p, x, y):
        h = norm(x, p["g"]) @ p["in"]
        u, z = jnp.split(h, 2, -1)
        u = jax.nn.silu(sum(jnp.pad(u, ((0, 0), (i, 0), (0, 0)))[:, :S] * p["conv"][i] for i in range(3)))
        delta = jax.nn.softplus(u @ p["delta"] + p["bias"])
        b, c = jnp.split(u @ p["bc"], 2, -1)
        decay = jnp.exp(-delta[..., None] * jnp.exp(p["a"]))
        drive = (delta * u)[..., None] * b[:, :, None]
        _, state = lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (decay, drive), axis=1)
        out = (state * c[:, :, None]).sum(-1) + u * p["skip"]
        return (((out * jax.nn.silu(z)) @ p["out"] + x - y) ** 2).mean()
    inner = 2 * D
    params = {"g": f32(D), "in": f32(D, 2 * inner), "conv": f32(3, inner), "delta": f32(inner, inner), "bias": f32(inner),
              "bc": f32(inner, 2 * N), "a": f32(inner, N), "skip": f32(inner), "out": f32(inner, D)}
    return train(loss, params, f32(B, S, D), f32(B, S, D), optimizer=momentum)


def rwkv(k):
    """time mixing as a scan over positions with a matrix state per head; Lion"""
    B, S, H, K = 8 * k, 8 * k, 4, 8 * k
    D = H * K

    def loss(p, tokens):
        x = p["embed"][tokens]
        before = jnp.pad(x, ((0, 0), (1, 0), (0, 0)))[:, :-1]
        mixed = x * p["mix"] + before * (1 - p["mix"])
        r, kk, v = (jnp.einsum("bsd,dhk->sbhk", mixed, p[n]) for n in ("r", "k", "v"))
        w = jnp.exp(-jnp.exp(jnp.einsum("bsd,dhk->sbhk", mixed, p["w"]) * 0.1))

        def cell(state, at):
            r, kk, v, w = at
            kv = kk[..., None] * v[..., None, :]
            return state * w[..., None] + kv, jnp.einsum("bhk,bhkj->bhj", r, state + p["u"][..., None] * kv)
        _, out = lax.scan(cell, jnp.zeros((B, H, K, K)), (r, kk, v, w))
        y = x + jnp.einsum("sbhk,hkd->bsd", out, p["o"])
        hidden = jax.nn.relu(norm(y) @ p["ffn_k"]) ** 2
        return cross_entropy((y + hidden @ p["ffn_v"])[:, :-1] @ p["head"], tokens[:, 1:])
    V = 32 * k
    params = {"embed": f32(V, D), "mix": f32(D), "u": f32(H, K), "o": f32(H, K, D), "ffn_k": f32(D, 2 * D),
              "ffn_v": f32(2 * D, D), "head": f32(D, V), **{n: f32(D, H, K) for n in ("r", "k", "v", "w")}}
    return train(loss, params, i32(B, S), optimizer=lion)


def griffin(k):
    """gated linear recurrence and local attention in turn, layers unrolled, checkpointed"""
    B, S, D, W = 8 * k, 16 * k, 16 * k, 8

    @jax.checkpoint
    def recurrent(x, p):
        y = norm(x, p["g"])
        u, gate = y @ p["wx"], jax.nn.gelu(y @ p["wy"])
        r, i = jax.nn.sigmoid(u @ p["wr"]), jax.nn.sigmoid(u @ p["wi"])
        log_a = -8.0 * r * jax.nn.softplus(p["a"])
        a = jnp.exp(log_a)
        _, h = lax.associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]),
                                    (a, jnp.sqrt(1 - jnp.exp(2 * log_a) + 1e-6) * i * u), axis=1)
        return x + (h * gate) @ p["wo"]

    @jax.checkpoint
    def local(x, p):
        y = norm(x, p["g"]).reshape(B, S // W, W, D)
        q, key, v = y @ p["wq"], y @ p["wk"], y @ p["wv"]
        key, v = (jnp.concatenate([jnp.pad(t, ((0, 0), (1, 0), (0, 0), (0, 0)))[:, :-1], t], 2) for t in (key, v))
        s = jnp.einsum("bnqd,bnkd->bnqk", q, key) / jnp.sqrt(1.0 * D)
        return x + (jax.nn.softmax(s) @ v).reshape(B, S, D) @ p["wo"]

    def loss(p, x, y):
        for i in range(2):
            x = local(recurrent(x, p[f"r{i}"]), p[f"l{i}"])
        return ((x - y) ** 2).mean()
    r = {"g": f32(D), "a": f32(D), **{n: f32(D, D) for n in ("wx", "wy", "wr", "wi", "wo")}}
    a = {"g": f32(D), **{n: f32(D, D) for n in ("wq", "wk", "wv", "wo")}}
    return train(loss, {f"{n}{i}": t for i in range(2) for n, t in (("r", r), ("l", a))}, f32(B, S, D), f32(B, S, D))


def gqa_layer(x, p, position):
    H, G = p["wq"].shape[1], p["wk"].shape[1]
    y = norm(x, p["g1"])
    q, key, v = (jnp.einsum("bsd,dhk->bshk", y, p[n]) for n in ("wq", "wk", "wv"))
    q, key = rope(q, position), rope(key, position)
    q = q.reshape(*q.shape[:2], G, H // G, q.shape[-1])
    s = causal(jnp.einsum("bqghk,bsgk->bghqs", q, key) / jnp.sqrt(1.0 * q.shape[-1]))
    o = jnp.einsum("bghqs,bsgk->bqghk", jax.nn.softmax(s), v).reshape(*x.shape[:2], H, -1)
    x = x + jnp.einsum("bshk,hkd->bsd", o, p["wo"])
    y = norm(x, p["g2"])
    return x + (jax.nn.silu(y @ p["w1"]) * (y @ p["w3"])) @ p["w2"]


def gqa_params(L, D, H, G, K, F):
    lead = (L,) if L else ()
    shapes = {"g1": (D,), "g2": (D,), "wq": (D, H, K), "wk": (D, G, K), "wv": (D, G, K), "wo": (H, K, D), "w1": (D, F),
              "w3": (D, F), "w2": (F, D)}
    return {n: f32(*lead, *s) for n, s in shapes.items()}


def gqa_scan(k):
    """grouped-query attention with rope, scan over checkpointed layers, tied embedding, one-hot loss, gradient clipping"""
    B, S, D, H, G, V = 8 * k, 8 * k, 16 * k, 8, 2, 64 * k

    def loss(p, tokens):
        x, _ = lax.scan(lambda x, w: (jax.checkpoint(gqa_layer)(x, w, jnp.arange(1.0 * S)), None), p["embed"][tokens],
                        p["layers"])
        return cross_entropy_one_hot(x[:, :-1] @ p["embed"].T, tokens[:, 1:])
    params = {"embed": f32(V, D), "layers": gqa_params(3, D, H, G, 4 * k, 32 * k)}
    return train(loss, params, i32(B, S), clip=True, debug_info=True)


def gqa_accumulate(k):
    """gradient accumulation: scan over microbatches, parameters in bf16, states in f32"""
    M, B, S, D, H, G, V = 4, 8 * k, 8 * k, 16 * k, 4, 2, 64 * k

    def loss(p, tokens):
        low = jax.tree.map(lambda a: a.astype(jnp.bfloat16), p)
        x = low["embed"][tokens]
        for i in range(2):
            x = gqa_layer(x, low[f"layer{i}"], jnp.arange(S, dtype=jnp.bfloat16))
        return cross_entropy((x @ low["head"])[:, :-1], tokens[:, 1:])

    def step(p, m, v, batches):
        def one(carry, tokens):
            value, g = jax.value_and_grad(loss)(p, tokens)
            return (carry[0] + value, jax.tree.map(jnp.add, carry[1], g)), None
        (value, g), _ = lax.scan(one, (0.0, jax.tree.map(jnp.zeros_like, p)), batches)
        return (*adam(p, m, v, jax.tree.map(lambda a: a / M, g)), value / M)
    params = {"embed": f32(V, D), "head": f32(D, V), **{f"layer{i}": gqa_params(0, D, H, G, 4 * k, 32 * k) for i in range(2)}}
    return lowered(step, params, params, params, i32(M, B, S), donate=(0, 1, 2))


def decode(k):
    """one decoding step: rope, grouped heads, caches updated in place, layers unrolled, greedy token"""
    B, S, D, H, G, K, V = 8 * k, 32 * k, 16 * k, 8, 2, 4 * k, 64 * k

    def step(p, cache, tokens, position):
        x = p["embed"][tokens]
        out = []
        for w, (ck, cv) in zip(p["layers"], cache):
            y = norm(x, w["g1"])
            q, key, v = (jnp.einsum("bd,dhk->bhk", y, w[n]) for n in ("wq", "wk", "wv"))
            at = position.astype(jnp.float32)[None]
            q, key = rope(q[:, None], at)[:, 0], rope(key[:, None], at)[:, 0]
            ck = lax.dynamic_update_slice(ck, key[:, None], (0, position, 0, 0))
            cv = lax.dynamic_update_slice(cv, v[:, None], (0, position, 0, 0))
            s = jnp.einsum("bghk,bsgk->bghs", q.reshape(B, G, H // G, K), ck)
            s = jnp.where(jnp.arange(S) <= position, s, -1e9)
            o = jnp.einsum("bghs,bsgk->bghk", jax.nn.softmax(s), cv).reshape(B, H, K)
            x = x + jnp.einsum("bhk,hkd->bd", o, w["wo"])
            y = norm(x, w["g2"])
            x = x + (jax.nn.silu(y @ w["w1"]) * (y @ w["w3"])) @ w["w2"]
            out.append((ck, cv))
        logits = x @ p["head"]
        return out, logits, jnp.argmax(logits, -1).astype(jnp.int32)
    params = {"embed": f32(V, D), "head": f32(D, V), "layers": [gqa_params(0, D, H, G, K, 32 * k) for _ in range(2)]}
    return lowered(step, params, [(f32(B, S, G, K), f32(B, S, G, K))] * 2, i32(B), i32(), donate=(1,))


def decode_scan(k):
    """several tokens in a fori_loop, layers and caches stacked, per-sequence positions (scatter into the cache)"""
    B, S, D, H, G, K, V, L = 8 * k, 16 * k, 16 * k, 4, 2, 8, 64 * k, 2

    def token(p, cache, tokens, lengths):
        def layer(x, at):
            w, ck, cv = at
            y = norm(x, w["g1"])
            q, key, v = (jnp.einsum("bd,dhk->bhk", y, w[n]) for n in ("wq", "wk", "wv"))
            ck, cv = (c.at[jnp.arange(B), lengths].set(t) for c, t in ((ck, key), (cv, v)))
            s = jnp.einsum("bghk,bsgk->bghs", q.reshape(B, G, H // G, K), ck)
            s = jnp.where(jnp.arange(S)[None, None, None] <= lengths[:, None, None, None], s, -1e9)
            o = jnp.einsum("bghs,bsgk->bghk", jax.nn.softmax(s), cv).reshape(B, H, K)
            x = x + jnp.einsum("bhk,hkd->bd", o, w["wo"])
            y = norm(x, w["g2"])
            return x + (jax.nn.silu(y @ w["w1"]) * (y @ w["w3"])) @ w["w2"], (ck, cv)
        x, cache = lax.scan(layer, p["embed"][tokens], (p["layers"], *cache))
        return cache, jnp.argmax(x @ p["head"], -1).astype(jnp.int32)

    def step(p, cache, tokens, lengths):
        def one(i, c):
            cache, t, done = c
            cache, t = token(p, cache, t, lengths + i)
            return cache, t, done.at[:, i].set(t)
        return lax.fori_loop(0, 3, one, (cache, tokens, jnp.zeros((B, 3), jnp.int32)))
    params = {"embed": f32(V, D), "head": f32(D, V), "layers": gqa_params(L, D, H, G, K, 32 * k)}
    return lowered(step, params, (f32(L, B, S, G, K), f32(L, B, S, G, K)), i32(B), i32(B), donate=(1,))


def prefill(k):
    """prompts of different lengths, mask from lengths, caches written, bf16"""
    B, S, D, H, K, V = 8 * k, 16 * k, 16 * k, 4, 8, 64 * k

    def step(p, tokens, lengths):
        x = p["embed"][tokens]
        valid = jnp.arange(S) < lengths[:, None]
        caches = []
        for w in p["layers"]:
            y = norm(x, w["g"])
            qkv = (y @ w["qkv"]).reshape(B, S, 3, H, K)
            q, key, v = qkv[:, :, 0], qkv[:, :, 1], qkv[:, :, 2]
            s = causal(jnp.einsum("bqhk,bshk->bhqs", q, key)).astype(jnp.float32)
            s = jnp.where(valid[:, None, None], s, -1e9)
            o = jnp.einsum("bhqs,bshk->bqhk", jax.nn.softmax(s).astype(jnp.bfloat16), v).reshape(B, S, H * K)
            x = x + o @ w["o"]
            x = x + jax.nn.gelu(norm(x) @ w["w1"]) @ w["w2"]
            caches.append((key, v))
        last = jnp.take_along_axis(x, (lengths - 1)[:, None, None], 1)[:, 0]
        return caches, last @ p["embed"].T
    layer = {"g": bf16(D), "qkv": bf16(D, 3 * H * K), "o": bf16(H * K, D), "w1": bf16(D, 4 * D), "w2": bf16(4 * D, D)}
    return lowered(step, {"embed": bf16(V, D), "layers": [layer, layer]}, i32(B, S), i32(B))


def beam_search(k):
    """a while loop with data-dependent end, top_k over beams x words, sequences regathered"""
    B, W, T, D, V = 8 * k, 4, 8, 16 * k, 32 * k

    def step(p, start):
        def go(c):
            t, _, score, alive, _ = c
            return (t < T - 1) & alive.any() & (score.max() < 1e8)

        def body(c):
            t, words, score, alive, state = c
            last = lax.dynamic_index_in_dim(words, t, 2, keepdims=False)
            state = jnp.tanh(state @ p["w"] + p["embed"][last])
            logp = jax.nn.log_softmax(state @ p["head"])
            score2, pick = lax.top_k((score[..., None] + logp).reshape(B, W * V), W)
            beam, word = pick // V, (pick % V).astype(jnp.int32)
            words = jnp.take_along_axis(words, beam[..., None], 1)
            state = jnp.take_along_axis(state, beam[..., None], 1)
            alive = jnp.take_along_axis(alive, beam, 1) & (word != 0)
            return t + 1, lax.dynamic_update_index_in_dim(words, word, t + 1, 2), score2, alive, state
        words = jnp.zeros((B, W, T), jnp.int32).at[:, :, 0].set(start[:, None])
        return lax.while_loop(go, body, (jnp.int32(0), words, jnp.tile(jnp.arange(W) * -1.0, (B, 1)),
                                         jnp.ones((B, W), bool), jnp.zeros((B, W, D))))[:4]
    return lowered(step, {"embed": f32(V, D), "w": f32(D, D), "head": f32(D, V)}, i32(B))


def sampling(k):
    """temperature, top-k and nucleus filtering, gumbel draws by threefry: sort, cumsum, private functions"""
    B, V = 8 * k, 64 * k

    def step(key, logits, temperature):
        x = logits / temperature[:, None]
        kth = lax.top_k(x, 16)[0][:, -1:]
        x = jnp.where(x < kth, -1e9, x)
        ordered = jnp.sort(x, -1)[:, ::-1]
        mass = jnp.cumsum(jax.nn.softmax(ordered), -1)
        cut = jnp.take_along_axis(ordered, jnp.argmax(mass > 0.9, -1)[:, None], -1)
        x = jnp.where(x < cut, -1e9, x)
        word = jax.random.categorical(jax.random.wrap_key_data(key), x)
        return word, jnp.take_along_axis(jax.nn.log_softmax(x), word[:, None], -1)[:, 0]
    return lowered(step, typed(jnp.uint32, 2), f32(B, V), f32(B))


def lstm(k):
    """two layers by scan over time, sequences masked by length, cross entropy by gather, gradient clipping, SGD momentum"""
    B, S, D, V = 8 * k, 8 * k, 16 * k, 32 * k

    def layer(p, x, mask):
        def cell(c, at):
            (h, s), (x, m) = c, at
            i, f, g, o = jnp.split(x @ p["wx"] + h @ p["wh"] + p["b"], 4, -1)
            s2 = jax.nn.sigmoid(f + 1.0) * s + jax.nn.sigmoid(i) * jnp.tanh(g)
            h2 = jax.nn.sigmoid(o) * jnp.tanh(s2)
            m = m[:, None]
            return (jnp.where(m, h2, h), jnp.where(m, s2, s)), h2
        return lax.scan(cell, (jnp.zeros((B, D)), jnp.zeros((B, D))), (x, mask))[1]

    def loss(p, tokens, lengths):
        mask = jnp.arange(S)[:, None] < lengths
        x = p["embed"][tokens.T]
        for n in ("a", "b"):
            x = layer(p[n], x, mask)
        logp = jax.nn.log_softmax(x[:-1] @ p["head"])
        picked = jnp.take_along_axis(logp, tokens.T[1:, :, None], -1)[..., 0]
        return -(picked * mask[1:]).sum() / (mask.sum() + 1.0)
    cell = {"wx": f32(D, 4 * D), "wh": f32(D, 4 * D), "b": f32(4 * D)}
    return train(loss, {"embed": f32(V, D), "head": f32(D, V), "a": cell, "b": cell}, i32(B, S), i32(B), optimizer=momentum,
                 clip=True)


def encoder_decoder(k):
    """relative position buckets, cross attention, two inputs of different length"""
    B, S, T, D, H, V = 8 * k, 16 * k, 8 * k, 16 * k, 4, 32 * k
    K = D // H

    def attend(p, x, y, bias, mask=None):
        q, key, v = (jnp.einsum("bsd,dhk->bhsk", t, p[n]) for n, t in (("q", x), ("k", y), ("v", y)))
        s = jnp.einsum("bhqk,bhsk->bhqs", q, key) + (0 if bias is None else bias)
        return x + jnp.einsum("bhqs,bhsk,hkd->bqd", jax.nn.softmax(s if mask is None else jnp.where(mask, s, -1e9)), v, p["o"])

    def buckets(table, n):
        d = jnp.arange(n)[:, None] - jnp.arange(n)
        return table[jnp.clip(d + 4, 0, 8)].transpose(2, 0, 1)

    def loss(p, source, target):
        x = p["embed"][source]
        x = attend(p["enc"], x, x, buckets(p["bias"], S))
        x = x + jax.nn.relu(norm(x) @ p["w1"]) @ p["w2"]
        y = p["embed"][target]
        y = attend(p["dec"], y, y, buckets(p["bias"], T), jnp.tril(jnp.ones((T, T), bool)))
        y = attend(p["cross"], y, x, None)
        return cross_entropy(norm(y)[:, :-1] @ p["embed"].T, target[:, 1:])
    a = {"q": f32(D, H, K), "k": f32(D, H, K), "v": f32(D, H, K), "o": f32(H, K, D)}
    params = {"embed": f32(V, D), "bias": f32(9, H), "enc": a, "dec": a, "cross": a, "w1": f32(D, 2 * D), "w2": f32(2 * D, D)}
    return train(loss, params, i32(B, S), i32(B, T))


def retention(k):
    """chunked linear attention: a scan over chunks with a matrix state"""
    B, S, H, K, C = 8 * k, 32 * k, 4, 8, 8 * k
    D = H * K

    def loss(p, x, y):
        q, key, v = (jnp.einsum("bsd,dhk->bhsk", norm(x), p[n]).reshape(B, H, S // C, C, K) for n in "qkv")
        decay = jnp.exp(-2.0 ** (-5.0 - jnp.arange(H)))
        d = jnp.arange(C)[:, None] - jnp.arange(C)
        mask = jnp.where(d >= 0, decay[:, None, None] ** jnp.maximum(d, 0), 0.0)

        def chunk(state, at):
            q, key, v = at
            inner = jnp.einsum("bhck,bhsk,hcs,bhsv->bhcv", q, key, mask, v)
            cross = jnp.einsum("bhck,bhkv->bhcv", q, state) * decay[:, None, None] ** jnp.arange(C)[:, None]
            return state * (decay ** C)[:, None, None] + jnp.einsum("bhck,bhcv->bhkv", key, v), inner + cross
        _, out = lax.scan(chunk, jnp.zeros((B, H, K, K)), tuple(t.transpose(2, 0, 1, 3, 4) for t in (q, key, v)))
        out = out.transpose(1, 0, 3, 2, 4).reshape(B, S, D)
        return ((jax.nn.swish(x @ p["g"]) * out) @ p["o"] + x - y).__pow__(2).mean()
    params = {n: f32(D, H, K) for n in "qkv"} | {"g": f32(D, D), "o": f32(D, D)}
    return train(loss, params, f32(B, S, D), f32(B, S, D))


def lora(k):
    """frozen weights, low-rank adapters trained; dropout by threefry"""
    B, S, D, F, R = 8 * k, 8 * k, 16 * k, 32 * k, 8

    def loss(adapters, frozen, x, y, key):
        keep = jax.random.bernoulli(jax.random.wrap_key_data(key), 0.9, x.shape)
        h = jnp.where(keep, x / 0.9, 0.0)
        for n in ("w1", "w2"):
            h = jax.nn.gelu(h @ frozen[n] + (h @ adapters[n]["a"]) @ adapters[n]["b"] * 2.0)
        return ((h - y) ** 2).mean()
    adapters = {"w1": {"a": f32(D, R), "b": f32(R, F)}, "w2": {"a": f32(F, R), "b": f32(R, D)}}
    return train(loss, adapters, {"w1": f32(D, F), "w2": f32(F, D)}, f32(B, S, D), f32(B, S, D), typed(jnp.uint32, 2))


def fnet(k):
    """mixing by fft over positions and features, real part kept"""
    B, S, D = 8 * k, 16, 16

    def loss(p, x, y):
        x = norm(x + jnp.fft.fft2(x).real * 0.05, p["g"])
        return ((x + jax.nn.gelu(x @ p["w1"]) @ p["w2"] - y) ** 2).mean()
    return train(loss, {"g": f32(D), "w1": f32(D, 4 * D), "w2": f32(4 * D, D)}, f32(B, S, D), f32(B, S, D))


def masked_tokens(k):
    """BERT's loss: chosen positions of each row, gathered and scored by index vectors that count in two dimensions"""
    B, S, M, D, V = 8 * k, 16 * k, 4, 16 * k, 64 * k

    def loss(p, tokens, at, labels):
        x = p["embed"][tokens]
        x = x + jax.nn.softmax(jnp.einsum("bqd,bsd->bqs", x @ p["q"], x) / D ** 0.5) @ (x @ p["v"])
        chosen = jax.nn.gelu(x @ p["w"])[jnp.arange(B)[:, None], at]
        scores = jax.nn.log_softmax(chosen @ p["embed"].T)
        return -scores.at[jnp.arange(B)[:, None], jnp.arange(M), labels].get(mode="clip").mean()
    params = {"embed": f32(V, D), **{n: f32(D, D) for n in "qvw"}}
    return train(loss, params, i32(B, S), i32(B, M), i32(B, M))


def shared_layers(k):
    """one layer twice, over two halves of the batch in turn; computes in bf16 with weights that each use casts: a gradient has four terms"""
    B, S, D, V = 16 * k, 8 * k, 16 * k, 64 * k

    def low(w):
        return w.astype(jnp.bfloat16)

    def loss(p, tokens):
        x = low(p["embed"])[tokens]
        for _ in range(2):
            x = x + jax.nn.relu((x * low(p["g"])) @ low(p["up"])) @ low(p["down"])
        return cross_entropy((x @ low(p["embed"]).T)[:, :-1], tokens[:, 1:])

    def step(p, m, tokens):
        values, grads = zip(*(jax.value_and_grad(loss)(p, t) for t in jnp.split(tokens, 2)))
        return (*momentum(p, m, jax.tree.map(lambda a, b: (a + b) / 2, *grads)), sum(values) / 2)
    params = {"embed": f32(V, D), "g": f32(D), "up": f32(D, 4 * D), "down": f32(4 * D, D)}
    return lowered(step, params, params, i32(B, S), donate=(0, 1))


MODELS = {f.__name__: f for f in (moe_scatter, moe_einsum, mamba, rwkv, griffin, gqa_scan, gqa_accumulate, decode, decode_scan,
                                  prefill, beam_search, sampling, lstm, encoder_decoder, retention, lora, fnet, masked_tokens, shared_layers)}
